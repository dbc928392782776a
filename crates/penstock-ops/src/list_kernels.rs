//! Kernels on lists of tensors.
//!
//! Those of [`penstock_ir::Cpu::Update`] operators find the list in the place of the first result.

use std::sync::{Mutex, PoisonError};

use penstock_data::{Bytes, DType, Dim, Dims, Error, List, Result, Shape, Tensor, memory};
use penstock_ir::{Attr, Call};
use penstock_kernels::Binary;
use penstock_kernels::pool::{grain, parallel_for};

use crate::operands::{int_scalar, int_vector, size, sizes_of};
use crate::run::binary_into;

/// What an `element_shape` operand says: -1 for an unknown size, a scalar for an unknown rank.
///
/// # Errors
/// `InvalidArgument` where it is of higher rank.
pub(crate) fn element_shape(tensor: &Tensor) -> Result<Shape> {
    if tensor.rank() == 0 {
        return Ok(Shape::UNRANKED);
    }
    let dims = int_vector(tensor, "element_shape")?;
    Ok(Shape::new(dims.iter().map(|&n| usize::try_from(n).map_or(Dim::Unknown, Dim::Known))))
}

fn list_of(tensor: &Tensor) -> Result<&List> {
    tensor.list().ok_or_else(|| Error::internal("a variant tensor is not a list"))
}

/// The list in the place of the first result.
fn list_in<'a>(call: &'a mut Call<'_>) -> Result<&'a mut List> {
    call.outputs[0].list_mut().ok_or_else(|| Error::internal("a variant tensor is not a list"))
}

fn index(value: i64, len: usize, what: &str) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::out_of_range(format!("tried to {what} index {value} of a list of {len} elements")))
}

fn checked(value: i64, len: usize, what: &str) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|&i| i < len)
        .ok_or_else(|| Error::out_of_range(format!("tried to {what} index {value} of a list of {len} elements")))
}

fn check_dtype(tensor: &Tensor, dtype: DType) -> Result<()> {
    if tensor.dtype() == dtype {
        return Ok(());
    }
    let (got, due) = (tensor.dtype().tf_name(), dtype.tf_name());
    Err(Error::dtype(format!("the list holds elements of dtype {got}, not {due}")))
}

/// An element that is set, of this dtype and of a shape of this type.
fn fitting(tensor: Tensor, dtype: DType, shape: &Shape) -> Result<Tensor> {
    check_dtype(&tensor, dtype)?;
    if dtype != DType::Variant && !shape.compatible(&Shape::known(tensor.dims())) {
        let got = Shape::known(tensor.dims());
        return Err(Error::invalid(format!("the element has shape {got}, not {shape}")).argument("element_shape"));
    }
    Ok(tensor)
}

/// What an unset element stands for: zeros, for a list as many zeros as the only entry of `shape` says.
fn blank(dtype: DType, shape: &Shape) -> Result<Tensor> {
    let Some(dims) = shape.extents() else {
        return Err(Error::invalid(format!(
            "tried to read an element that is not set; there are no zeros of shape {shape}, which is not fully known"
        ))
        .argument("element_shape"));
    };
    match dtype {
        DType::Variant => Ok(Tensor::from_list(List::zeros(dims.first().copied().unwrap_or(0)))),
        _ => Tensor::zeros(dtype, &dims),
    }
}

/// The shape of unset elements of a list: `due`, as far as the list knows it better.
fn unset_shape(list: &List, due: &Shape, dtype: DType) -> Shape {
    if dtype == DType::Variant || due.is_static() {
        return due.clone();
    }
    let known = due.merge(list.shape()).unwrap_or_else(|| due.clone());
    if known.is_static() {
        return known;
    }
    let first = list.elements().first().map(|(_, t)| Shape::known(t.dims()));
    first.and_then(|s| known.merge(&s)).unwrap_or(known)
}

/// Element `i`, zeros where it is unset.
fn read(list: &List, i: usize, dtype: DType, shape: &Shape) -> Result<Tensor> {
    match list.get(i) {
        Some(t) => fitting(t.clone(), dtype, shape),
        None => blank(dtype, &unset_shape(list, shape, dtype)),
    }
}

/// Tensors of one shape side by side along a new first dimension; `None` stands for zeros.
fn joined(dtype: DType, shape: &Shape, parts: &[Option<Tensor>]) -> Result<Tensor> {
    let mut shape = shape.clone();
    for part in parts.iter().flatten() {
        check_dtype(part, dtype)?;
        let got = Shape::known(part.dims());
        shape = shape.merge(&got).ok_or_else(|| {
            Error::invalid(format!("an element has shape {got}, not {shape}")).argument("element_shape")
        })?;
    }
    let Some(inner) = shape.extents() else {
        return Err(Error::invalid(format!(
            "{} elements that are not set have no shape; {shape} is not fully known",
            parts.len()
        ))
        .argument("element_shape"));
    };
    if let Some(all) = parts.iter().map(Option::as_ref).collect::<Option<Vec<_>>>()
        && let Some(stacked) = Tensor::stacked_in_place(all.into_iter())
    {
        return Ok(stacked);
    }
    let mut dims: Dims = inner.clone();
    dims.insert(0, parts.len());
    concatenated(dtype, &dims, parts.iter().map(|p| (p.as_ref(), inner.iter().product())))
}

/// The elements of tensors one after the other, with so many zeros where there is none.
fn concatenated<'a>(
    dtype: DType,
    dims: &[usize],
    parts: impl Iterator<Item = (Option<&'a Tensor>, usize)>,
) -> Result<Tensor> {
    if dtype == DType::Str {
        let mut all: Vec<Bytes> = Vec::new();
        for (part, count) in parts {
            memory::reserve(&mut all, count)?;
            match part {
                Some(t) => all.extend_from_slice(t.strings()),
                None => all.extend(std::iter::repeat_n(Bytes::from([]), count)),
            }
        }
        return Tensor::from_strings(dims, all);
    }
    let mut out = Tensor::empty(dtype, dims)?;
    let mut rest = out.bytes_mut();
    let size = rest.len();
    let places = parts.map(|(part, count)| {
        let (to, after) = std::mem::take(&mut rest).split_at_mut(count * dtype.size());
        rest = after;
        (part, to)
    });
    let places: Vec<_> = places.collect();
    // Memory is copied at about ten bytes a nanosecond; whoever is free takes the next part.
    let (count, ns) = (places.len(), size as f64 / 10.0);
    let next = Mutex::new(places.into_iter());
    parallel_for(count, grain(ns / count.max(1) as f64), |range| {
        for _ in range {
            let place = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            match place {
                Some((Some(t), to)) => to.copy_from_slice(t.bytes()),
                Some((None, to)) => to.fill(0),
                None => {}
            }
        }
    });
    Ok(out)
}

/// Row `i` of a tensor, without that dimension. It shares the memory.
fn row(tensor: &Tensor, i: usize) -> Result<Tensor> {
    tensor.rows(i, 1)?.reshaped(&tensor.dims()[1..])
}

fn sum(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if let (Some(_), Some(more)) = (a.list(), b.list()) {
        let mut out = a.clone();
        if let Some(list) = out.list_mut() {
            add_all(list, more)?;
        }
        return Ok(out);
    }
    if a.dims() != b.dims() {
        return Err(Error::invalid(format!("elements of shapes {:?} and {:?} do not add", a.dims(), b.dims())));
    }
    let mut out = Tensor::default();
    binary_into(Binary::Add, a, b, &mut out)?;
    Ok(out)
}

fn add_at(list: &mut List, i: usize, value: &Tensor) -> Result<()> {
    let value = match list.take(i) {
        Some(old) => sum(&old, value)?,
        None => value.clone(),
    };
    list.set(i, value, true)
}

fn add_all(list: &mut List, more: &List) -> Result<()> {
    if more.len() > list.len() {
        list.resize(more.len());
    }
    more.elements().into_iter().try_for_each(|(i, t)| add_at(list, i, t))
}

/// The list of `length` unset elements.
pub(crate) fn new(call: &mut Call<'_>) -> Result<()> {
    let len = size(int_scalar(call.inputs[0], "length")?, "length")?;
    let shape = if call.attrs.0[1] == Attr::None { Shape::UNRANKED } else { call.attrs.shape(1).clone() };
    let list = match call.attrs.opt_dtype(0) {
        Some(dtype) => List::new(dtype, shape, len),
        None => List::zeros(len),
    };
    call.set(0, Tensor::from_list(list));
    Ok(())
}

/// The rows of operand 0.
pub(crate) fn from_tensor(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let Some((&len, inner)) = x.dims().split_first() else {
        return Err(Error::invalid("a scalar has no rows").argument("tensor"));
    };
    let mut list = List::new(x.dtype(), Shape::known(inner), len);
    for i in 0..len {
        list.set(i, row(x, i)?, false)?;
    }
    call.set(0, Tensor::from_list(list));
    Ok(())
}

/// The number of elements.
pub(crate) fn length(call: &mut Call<'_>) -> Result<()> {
    let len = list_of(call.inputs[0])?.len();
    let len = match call.attrs.dtype(0) {
        DType::I32 => Tensor::from(
            i32::try_from(len).map_err(|_| Error::out_of_range(format!("the length {len} does not fit an int32")))?,
        ),
        _ => Tensor::from(len as i64),
    };
    call.set(0, len);
    Ok(())
}

/// The elements at the indices of operand 1.
pub(crate) fn get(call: &mut Call<'_>) -> Result<()> {
    let (list, dtype) = (list_of(call.inputs[0])?, call.attrs.dtype(0));
    let (indices, shape) = (call.inputs[1], element_shape(call.inputs[2])?);
    let at = |i: i64| checked(i, list.len(), "read from");
    let found = if indices.rank() == 0 {
        read(list, at(int_scalar(indices, "indices")?)?, dtype, &shape)?
    } else {
        let parts = int_vector(indices, "indices")?
            .iter()
            .map(|&i| Ok(list.get(at(i)?).cloned()))
            .collect::<Result<Vec<_>>>()?;
        joined(dtype, &unset_shape(list, &shape, dtype), &parts)?
    };
    call.set(0, found);
    Ok(())
}

/// The values at the indices: one for a scalar, else the rows.
fn pairs(indices: &Tensor, values: &Tensor) -> Result<Vec<(i64, Tensor)>> {
    if indices.rank() == 0 {
        return Ok(vec![(int_scalar(indices, "indices")?, values.clone())]);
    }
    let indices = int_vector(indices, "indices")?;
    if values.dims().first() != Some(&indices.len()) {
        return Err(Error::invalid(format!("{} indices for values of shape {:?}", indices.len(), values.dims()))
            .argument("values"));
    }
    indices.iter().enumerate().map(|(k, &i)| Ok((i, row(values, k)?))).collect()
}

/// Sets the elements at the indices.
pub(crate) fn set(call: &mut Call<'_>) -> Result<()> {
    let (pairs, grow) = (pairs(call.inputs[0], call.inputs[1])?, call.attrs.flag(0));
    let list = list_in(call)?;
    pairs.into_iter().try_for_each(|(i, value)| list.set(index(i, list.len(), "write to")?, value, grow))
}

/// Adds to the elements at the indices.
pub(crate) fn accumulate(call: &mut Call<'_>) -> Result<()> {
    let pairs = pairs(call.inputs[0], call.inputs[1])?;
    let list = list_in(call)?;
    pairs.iter().try_for_each(|(i, value)| add_at(list, checked(*i, list.len(), "add to")?, value))
}

/// Unsets the elements at the indices, and gives what they were. Of equal indices the last has the element.
pub(crate) fn take(call: &mut Call<'_>) -> Result<()> {
    let (indices, dtype, shape) = (call.inputs[0], call.attrs.dtype(0), element_shape(call.inputs[1])?);
    let list = list_in(call)?;
    let zeros = unset_shape(list, &shape, dtype);
    let found = if indices.rank() == 0 {
        match list.take(checked(int_scalar(indices, "indices")?, list.len(), "take")?) {
            Some(t) => fitting(t, dtype, &shape)?,
            None => blank(dtype, &zeros)?,
        }
    } else {
        let indices = int_vector(indices, "indices")?;
        let mut parts = vec![None; indices.len()];
        for (part, &i) in parts.iter_mut().zip(&indices).rev() {
            *part = list.take(checked(i, list.len(), "take")?);
        }
        joined(dtype, &zeros, &parts)?
    };
    call.set(1, found);
    Ok(())
}

/// Adds an element at the end.
pub(crate) fn push(call: &mut Call<'_>) -> Result<()> {
    let value = call.inputs[0].clone();
    list_in(call)?.push(value)
}

/// Removes the last element.
pub(crate) fn pop(call: &mut Call<'_>) -> Result<()> {
    let (dtype, shape) = (call.attrs.dtype(0), element_shape(call.inputs[0])?);
    let list = list_in(call)?;
    let last = match list.pop()? {
        Some(t) => fitting(t, dtype, &shape)?,
        None => blank(dtype, &unset_shape(list, &shape, dtype))?,
    };
    call.set(1, last);
    Ok(())
}

/// Gives the list another length.
pub(crate) fn resize(call: &mut Call<'_>) -> Result<()> {
    let len = size(int_scalar(call.inputs[0], "length")?, "length")?;
    list_in(call)?.resize(len);
    Ok(())
}

/// All elements along a new first dimension.
pub(crate) fn stack(call: &mut Call<'_>) -> Result<()> {
    let (list, dtype) = (list_of(call.inputs[0])?, call.attrs.dtype(0));
    if let Some(num) = call.attrs.opt_int(1)
        && num != list.len() as i64
    {
        return Err(Error::invalid(format!("expected a list of {num} elements, got {}", list.len())).argument("num"));
    }
    let shape = unset_shape(list, &element_shape(call.inputs[1])?, dtype);
    if list.is_blank() {
        // A list that is not of numbers at hand may be long without memory behind it.
        let mut dims = shape.extents().ok_or_else(|| {
            Error::invalid(format!("a list of nothing that is set has no shape; {shape} is not fully known"))
                .argument("element_shape")
        })?;
        dims.insert(0, list.len());
        call.set(0, Tensor::zeros(dtype, &dims)?);
        return Ok(());
    }
    let parts: Vec<Option<Tensor>> = memory::collected((0..list.len()).map(|i| list.get(i).cloned()))?;
    call.set(0, joined(dtype, &shape, &parts)?);
    Ok(())
}

/// The sizes of the elements along their first dimension.
pub(crate) fn lengths(call: &mut Call<'_>) -> Result<()> {
    let list = list_of(call.inputs[0])?;
    let zeros = unset_shape(list, &element_shape(call.inputs[1])?, DType::F32);
    let blank = zeros.dims().and_then(|d| d.first()).and_then(|d| d.known());
    let of = |i: usize| match list.get(i) {
        Some(t) => t
            .dims()
            .first()
            .map(|&n| n as i64)
            .ok_or_else(|| Error::invalid(format!("element {i} is a scalar, which has no rows"))),
        None => blank.map(|n| n as i64).ok_or_else(|| {
            Error::invalid(format!("element {i} is not set, and {zeros} does not tell its size"))
                .argument("element_shape")
        }),
    };
    let all = (0..list.len()).map(of).collect::<Result<Vec<i64>>>()?;
    call.set(0, Tensor::from_slice(&[all.len()], &all)?);
    Ok(())
}

/// All elements along their first dimension.
pub(crate) fn concat(call: &mut Call<'_>) -> Result<()> {
    let (list, dtype) = (list_of(call.inputs[0])?, call.attrs.dtype(0));
    let lengths = sizes_of(call, 1, "lengths")?;
    if lengths.len() != list.len() {
        return Err(
            Error::invalid(format!("{} lengths for {} elements", lengths.len(), list.len())).argument("lengths")
        );
    }
    let mut shape = element_shape(call.inputs[2])?;
    let rest = |s: &Shape| s.dims().map_or(Shape::UNRANKED, |d| Shape::new(d.iter().skip(1).copied()));
    shape = rest(&shape);
    for (i, t) in list.elements() {
        check_dtype(t, dtype)?;
        let got = Shape::known(t.dims());
        if t.dims().first() != Some(&lengths[i]) {
            return Err(
                Error::invalid(format!("element {i} has shape {got}, not {} rows", lengths[i])).argument("lengths")
            );
        }
        shape = shape.merge(&rest(&got)).ok_or_else(|| {
            Error::invalid(format!("element {i} has shape {got}, others have rows of shape {shape}"))
                .argument("element_shape")
        })?;
    }
    let Some(inner) = shape.extents() else {
        return Err(Error::invalid(format!("elements that are not set have rows of unknown shape {shape}"))
            .argument("element_shape"));
    };
    let width: usize = inner.iter().product();
    let mut dims = inner;
    dims.insert(0, lengths.iter().sum());
    let all = concatenated(dtype, &dims, lengths.iter().enumerate().map(|(i, n)| (list.get(i), n * width)))?;
    call.set(0, all);
    Ok(())
}

/// The list of the pieces of operand 0 of so many rows.
pub(crate) fn split(call: &mut Call<'_>) -> Result<()> {
    let (x, lengths) = (call.inputs[0], sizes_of(call, 1, "lengths")?);
    let Some(&rows) = x.dims().first() else {
        return Err(Error::invalid("a scalar has no rows").argument("tensor"));
    };
    let total = lengths.iter().try_fold(0usize, |a, &b| a.checked_add(b));
    if total != Some(rows) {
        return Err(Error::invalid(format!(
            "the lengths must sum to {rows}, the number of rows; they are {lengths:?}"
        ))
        .argument("lengths"));
    }
    let mut shape = Shape::known(&x.dims()[1..]).dims().unwrap_or(&[]).to_vec();
    shape.insert(0, Dim::Unknown);
    let mut list = List::new(x.dtype(), Shape::new(shape), lengths.len());
    let mut start = 0;
    for (i, &n) in lengths.iter().enumerate() {
        list.set(i, x.rows(start, n)?, false)?;
        start += n;
    }
    call.set(0, Tensor::from_list(list));
    Ok(())
}

/// The sums of the elements of two lists.
pub(crate) fn add(call: &mut Call<'_>) -> Result<()> {
    let more = call.inputs[0].clone();
    add_all(list_in(call)?, list_of(&more)?)
}
