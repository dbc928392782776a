//! The rules by which operators are mapped over many examples.

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, BatchCx, BatchResults, Example, Examples, Value};
use smallvec::{SmallVec, smallvec};

type Batched = Result<Option<BatchResults>>;

/// An axis that is counted from the front moves by the leading one.
fn moved(axis: i64) -> i64 {
    if axis < 0 { axis } else { axis + 1 }
}

fn with(attrs: &Attrs, index: usize, value: impl Into<Attr>) -> Attrs {
    let mut attrs = attrs.clone();
    attrs.0[index] = value.into();
    attrs
}

fn perm(rank: usize) -> Vec<i64> {
    [1, 0].into_iter().chain(2..=rank as i64).collect()
}

/// The operator itself, which does any leading axes alike, where its first operand alone differs between the examples.
pub(crate) fn first(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    cx.again(&cx.values(), cx.attrs.clone())
}

/// As [`first`], along an axis that is attribute `index`.
pub(crate) fn along(cx: &mut BatchCx<'_>, index: usize) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    cx.again(&cx.values(), with(cx.attrs, index, moved(cx.attrs.int(index))))
}

/// As [`first`], along axes that are attribute `index`; none stand for all.
pub(crate) fn along_all(cx: &mut BatchCx<'_>, index: usize) -> Batched {
    let axes: Vec<i64> = match (&cx.attrs.0[index], cx.inputs[0].rank()) {
        (Attr::Ints(axes), _) => axes.iter().map(|&a| moved(a)).collect(),
        (_, Some(rank)) => (1..=rank as i64).collect(),
        _ => return Ok(None),
    };
    cx.again(&cx.values(), with(cx.attrs, index, axes))
}

/// The operator itself, which does any leading axes alike where all its operands have them.
pub(crate) fn all(cx: &mut BatchCx<'_>) -> Batched {
    let operands = cx.all_full()?;
    cx.again(&operands, cx.attrs.clone())
}

/// As [`all`], along an axis that is attribute `index`.
pub(crate) fn all_along(cx: &mut BatchCx<'_>, index: usize) -> Batched {
    let operands = cx.all_full()?;
    cx.again(&operands, with(cx.attrs, index, moved(cx.attrs.int(index))))
}

pub(crate) fn ensure_shape(cx: &mut BatchCx<'_>) -> Batched {
    let Attr::Shape(shape) = &cx.attrs.0[0] else { return Ok(None) };
    let dims = shape.dims().map(|dims| std::iter::once(Dim::Unknown).chain(dims.iter().copied()));
    cx.again(&cx.values(), with(cx.attrs, 0, dims.map_or(Shape::UNRANKED, Shape::new)))
}

pub(crate) fn transpose(cx: &mut BatchCx<'_>) -> Batched {
    let Some(rank) = cx.inputs[0].rank() else { return Ok(None) };
    let perm: Vec<i64> = match &cx.attrs.0[0] {
        Attr::Ints(perm) => perm.iter().map(|&p| if p < 0 { p + rank as i64 } else { p }).collect(),
        _ => (0..rank as i64).rev().collect(),
    };
    let perm: Vec<i64> = std::iter::once(0).chain(perm.iter().map(|p| p + 1)).collect();
    cx.again(&cx.values(), with(cx.attrs, 0, perm))
}

pub(crate) fn squeeze(cx: &mut BatchCx<'_>) -> Batched {
    let axes: Vec<i64> = match &cx.attrs.0[0] {
        Attr::Ints(axes) if !axes.is_empty() => axes.iter().map(|&a| moved(a)).collect(),
        _ => {
            let Some(dims) = cx.inputs[0].ty.shape().extents() else { return Ok(None) };
            dims.iter().enumerate().filter(|(_, d)| **d == 1).map(|(i, _)| i as i64 + 1).collect()
        }
    };
    if axes.is_empty() {
        return Ok(Some(smallvec![cx.inputs[0].value]));
    }
    cx.again(&cx.values(), with(cx.attrs, 0, axes))
}

fn cast(ex: &mut Examples<'_>, value: Value, dtype: DType) -> Batched {
    let cast = ex.ops.cast;
    let out = if ex.ty(value).dtype() == dtype { value } else { ex.emit(cast, &[value], &[("dtype", dtype.into())])? };
    Ok(Some(smallvec![out]))
}

pub(crate) fn shape(cx: &mut BatchCx<'_>) -> Batched {
    let extents = cx.examples.example_extents(&cx.inputs[0])?;
    cast(&mut cx.examples, extents, cx.results[0].dtype())
}

pub(crate) fn size(cx: &mut BatchCx<'_>) -> Batched {
    let extents = cx.examples.example_extents(&cx.inputs[0])?;
    let size = cx.examples.emit(cx.examples.ops.reduce_prod, &[extents], &[])?;
    cast(&mut cx.examples, size, cx.results[0].dtype())
}

pub(crate) fn rank(cx: &mut BatchCx<'_>) -> Batched {
    let extents = cx.examples.example_extents(&cx.inputs[0])?;
    let rank = cx.examples.emit(cx.examples.ops.size, &[extents], &[("dtype", DType::I32.into())])?;
    Ok(Some(smallvec![rank]))
}

pub(crate) fn reshape(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    let shape = match cx.results[0].shape().extents() {
        Some(dims) => cx.examples.ints(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>())?,
        None => cx.inputs[1].value,
    };
    let shape = cx.examples.leading(shape)?;
    cx.examples.one(cx.op, &[cx.inputs[0].value, shape])
}

pub(crate) fn broadcast_to(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() { Ok(None) } else { spread(cx, 0, 1) }
}

pub(crate) fn fill(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[0].mapped { Ok(None) } else { spread(cx, 1, 0) }
}

/// Operand `x` broadcast to the extents that operand `to` is.
fn spread(cx: &mut BatchCx<'_>, x: usize, to: usize) -> Batched {
    let Some(rank) = cx.inputs[to].length() else { return Ok(None) };
    let Some(x) = cx.aligned(x, rank)? else { return Ok(None) };
    let shape = cx.examples.leading(cx.inputs[to].value)?;
    cx.examples.one(cx.examples.ops.broadcast_to, &[x, shape])
}

pub(crate) fn sum_to_shape(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    let (Some(from), Some(to)) = (cx.inputs[0].rank(), cx.inputs[1].length()) else { return Ok(None) };
    let Some(lead) = from.checked_sub(to) else { return Ok(None) };
    let (x, shape, ex) = (cx.inputs[0].value, cx.inputs[1].value, &mut cx.examples);
    let padded = ex.prepend(&vec![1; lead], shape)?;
    let padded = ex.leading(padded)?;
    let sum = ex.emit(cx.op, &[x, padded], &[])?;
    let shape = ex.leading(shape)?;
    ex.one(ex.ops.reshape, &[sum, shape])
}

pub(crate) fn tile(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    let multiples = cx.examples.prepend(&[1], cx.inputs[1].value)?;
    cx.examples.one(cx.op, &[cx.inputs[0].value, multiples])
}

pub(crate) fn pad(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    let ex = &mut cx.examples;
    let none = ex.emit.constant(Tensor::from_slice(&[1, 2], &[0i64, 0])?)?;
    let paddings = ex.wide(cx.inputs[1].value)?;
    let paddings = ex.emit(ex.ops.concat, &[none, paddings], &[("axis", 0i64.into())])?;
    ex.one(cx.op, &[cx.inputs[0].value, paddings, cx.inputs[2].value])
}

pub(crate) fn slice(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    let begin = cx.examples.prepend(&[0], cx.inputs[1].value)?;
    let size = cx.examples.prepend(&[-1], cx.inputs[2].value)?;
    cx.examples.one(cx.op, &[cx.inputs[0].value, begin, size])
}

pub(crate) fn slice_grad(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only(2) {
        return Ok(None);
    }
    let shape = cx.examples.leading(cx.inputs[0].value)?;
    let begin = cx.examples.prepend(&[0], cx.inputs[1].value)?;
    cx.examples.one(cx.op, &[shape, begin, cx.inputs[2].value])
}

pub(crate) fn strided_slice(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only_first() {
        return Ok(None);
    }
    strided(cx, cx.inputs[0].value, None)
}

pub(crate) fn strided_slice_grad(cx: &mut BatchCx<'_>) -> Batched {
    if !cx.only(4) {
        return Ok(None);
    }
    let shape = cx.examples.leading(cx.inputs[0].value)?;
    strided(cx, shape, Some(cx.inputs[4].value))
}

/// The operator of `first`, the specification of a slice, and `last`.
fn strided(cx: &mut BatchCx<'_>, first: Value, last: Option<Value>) -> Batched {
    let mut operands: SmallVec<[Value; 5]> = smallvec![first];
    for (k, input) in cx.inputs[1..4].iter().enumerate() {
        operands.push(cx.examples.prepend(&[i64::from(k == 2)], input.value)?);
    }
    operands.extend(last);
    // The masks have a bit for each entry; the first two say "from the start" and "to the end".
    let masks = (0..5).map(|i| Attr::Int(cx.attrs.int(i) << 1 | i64::from(i < 2)));
    cx.again(&operands, Attrs(masks.collect()))
}

pub(crate) fn matmul(cx: &mut BatchCx<'_>) -> Batched {
    let (Some(a), Some(b)) = (cx.inputs[0].rank(), cx.inputs[1].rank()) else { return Ok(None) };
    let rank = a.max(b);
    let (Some(a), Some(b)) = (cx.aligned(0, rank)?, cx.aligned(1, rank)?) else { return Ok(None) };
    cx.again(&[a, b], cx.attrs.clone())
}

pub(crate) fn bias_add(cx: &mut BatchCx<'_>) -> Batched {
    let Some(rank) = cx.inputs[0].rank() else { return Ok(None) };
    let (x, Some(bias)) = (cx.full(0)?, cx.aligned(1, rank)?) else { return Ok(None) };
    cx.examples.one(cx.examples.ops.add, &[x, bias])
}

/// `axis` and `batch_dims` of a gather from `rank` dimensions, counted from the front.
fn gather_axes(rank: usize, indices: &Example, attrs: &Attrs) -> Option<(i64, i64)> {
    let axis = if attrs.int(0) < 0 { attrs.int(0) + rank as i64 } else { attrs.int(0) };
    let batch = attrs.int(1);
    Some((axis, if batch < 0 { batch + indices.rank()? as i64 } else { batch }))
}

pub(crate) fn gather(cx: &mut BatchCx<'_>) -> Batched {
    let (params, indices) = (&cx.inputs[0], &cx.inputs[1]);
    let Some(rank) = params.rank() else { return Ok(None) };
    let Some((axis, batch)) = gather_axes(rank, indices, cx.attrs) else { return Ok(None) };
    let (values, moved) = (cx.values(), |axis: i64, batch: i64| with(&with(cx.attrs, 0, axis), 1, batch));
    match (params.mapped, indices.mapped) {
        (true, false) if batch == 0 => cx.again(&values, moved(axis + 1, 0)),
        (false, true) if axis == 0 => cx.again(&values, moved(0, 0)),
        _ => {
            let attrs = moved(axis + 1, batch + 1);
            let values = cx.all_full()?;
            cx.again(&values, attrs)
        }
    }
}

pub(crate) fn gather_grad(cx: &mut BatchCx<'_>) -> Batched {
    let (shape, indices) = (&cx.inputs[0], &cx.inputs[1]);
    let Some(rank) = shape.length().filter(|_| !shape.mapped) else { return Ok(None) };
    let Some((axis, batch)) = gather_axes(rank, indices, cx.attrs) else { return Ok(None) };
    let shape = cx.examples.leading(shape.value)?;
    let dy = cx.full(2)?;
    let (indices, batch) = if indices.mapped || batch > 0 { (cx.full(1)?, batch + 1) } else { (cx.inputs[1].value, 0) };
    cx.again(&[shape, indices, dy], with(&with(cx.attrs, 0, axis + 1), 1, batch))
}

pub(crate) fn gather_nd(cx: &mut BatchCx<'_>) -> Batched {
    let params = cx.inputs[0].value;
    if !cx.inputs[0].mapped {
        return cx.again(&cx.values(), cx.attrs.clone());
    }
    let Some(indices) = numbered(cx, 1)? else { return Ok(None) };
    cx.again(&[params, indices], cx.attrs.clone())
}

pub(crate) fn scatter_nd(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[2].mapped {
        return Ok(None);
    }
    let Some(indices) = numbered(cx, 0)? else { return Ok(None) };
    let updates = cx.full(1)?;
    let shape = cx.examples.leading(cx.inputs[2].value)?;
    cx.examples.one(cx.op, &[indices, updates, shape])
}

pub(crate) fn tensor_scatter(cx: &mut BatchCx<'_>) -> Batched {
    let Some(indices) = numbered(cx, 1)? else { return Ok(None) };
    let (tensor, updates) = (cx.full(0)?, cx.full(2)?);
    cx.examples.one(cx.op, &[tensor, indices, updates])
}

/// Operand `index`, rows of indices, with the number of their example before each.
fn numbered(cx: &mut BatchCx<'_>, index: usize) -> Result<Option<Value>> {
    let Some(rank) = cx.inputs[index].rank() else { return Ok(None) };
    let full = cx.full(index)?;
    let ex = &mut cx.examples;
    let dtype = ex.ty(full).dtype();
    let numbers = numbers(ex, dtype, rank)?;
    // One column of the extents of the indices.
    let extents = ex.extents(full)?;
    let (begin, size) = (ex.ints(&[0])?, ex.ints(&[rank as i64])?);
    let rows = ex.emit(ex.ops.slice, &[extents, begin, size], &[])?;
    let one = ex.ints(&[1])?;
    let column = ex.emit(ex.ops.concat, &[rows, one], &[("axis", 0i64.into())])?;
    let column = ex.emit(ex.ops.broadcast_to, &[numbers, column], &[])?;
    ex.emit(ex.ops.concat, &[column, full], &[("axis", (-1i64).into())]).map(Some)
}

/// The numbers of the examples, as a tensor of extents `[count, 1, …]` of rank `rank + 1`.
fn numbers(ex: &mut Examples<'_>, dtype: DType, rank: usize) -> Result<Value> {
    let (zero, one) = (ex.emit.constant(Tensor::scalar(0i64))?, ex.emit.constant(Tensor::scalar(1i64))?);
    let mut numbers = ex.emit(ex.ops.range, &[zero, ex.count, one], &[])?;
    if dtype != DType::I64 {
        numbers = ex.emit(ex.ops.cast, &[numbers], &[("dtype", dtype.into())])?;
    }
    for _ in 0..rank {
        numbers = ex.emit(ex.ops.expand_dims, &[numbers], &[("axis", (-1i64).into())])?;
    }
    Ok(numbers)
}

/// The segments of all examples in one row: example `e` has the segments from `e * n` on.
pub(crate) fn segment_sum(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[2].mapped {
        return Ok(None);
    }
    let (Some(rank), Some(own)) = (cx.inputs[0].rank(), cx.inputs[1].rank()) else { return Ok(None) };
    let (data, ids) = (cx.full(0)?, cx.full(1)?);
    let ops = cx.examples.ops;
    let ex = &mut cx.examples;
    let (ids, n) = (ex.wide(ids)?, ex.wide(cx.inputs[2].value)?);
    let numbers = numbers(ex, DType::I64, own)?;
    let offset = ex.emit(ops.mul, &[numbers, n], &[])?;
    let moved = ex.emit(ops.add, &[ids, offset], &[])?;
    // A negative segment drops its row.
    let zero = ex.emit.constant(Tensor::scalar(0i64))?;
    let dropped = ex.emit(ops.less, &[ids, zero], &[])?;
    let ids = ex.emit(ops.select, &[dropped, ids, moved], &[])?;
    let total = ex.emit(ops.mul, &[n, ex.count], &[])?;
    let sums = ex.emit(cx.op, &[data, ids, total], &[])?;
    let extents = ex.extents(data)?;
    let (begin, size) = (ex.ints(&[own as i64 + 1])?, ex.ints(&[(rank - own) as i64])?);
    let rest = ex.emit(ops.slice, &[extents, begin, size], &[])?;
    let one = ex.ints(&[1])?;
    let n = ex.emit(ops.reshape, &[n, one], &[])?;
    let shape = ex.emit(ops.concat, &[ex.extent, n, rest], &[("axis", 0i64.into())])?;
    ex.one(ops.reshape, &[sums, shape])
}

/// Random numbers of the shape that operand 0 is: others for each example.
pub(crate) fn drawn(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs.iter().any(|input| input.mapped) {
        return Ok(None);
    }
    let mut operands = cx.values();
    operands[0] = cx.examples.leading(operands[0])?;
    cx.again(&operands, cx.attrs.clone())
}

/// A condition that has to hold for all.
pub(crate) fn assert(cx: &mut BatchCx<'_>) -> Batched {
    let mut operands = cx.values();
    if cx.inputs[0].mapped {
        operands[0] = cx.examples.emit(cx.examples.ops.reduce_all, &[operands[0]], &[])?;
    }
    cx.again(&operands, cx.attrs.clone())
}

// A mapped list has the examples' elements of one index in one element, with the leading axis. So the examples' lists have one length
// and the same elements set, and the places where they are read and written are the same.

pub(crate) fn list_from_tensor(cx: &mut BatchCx<'_>) -> Batched {
    let rows = swapped(&mut cx.examples, cx.inputs[0].value, cx.inputs[0].rank())?;
    cx.again(&[rows], cx.attrs.clone())
}

pub(crate) fn list_stack(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[1].mapped {
        return Ok(None);
    }
    let shape = element_shape(cx, 1)?;
    let list = cx.full(0)?;
    let out = cx.examples.emit_attrs(cx.op, &[list, shape], cx.attrs.clone())?[0];
    Ok(Some(smallvec![swapped(&mut cx.examples, out, cx.results[0].shape().rank())?]))
}

/// Elements of a list at places: the last result.
pub(crate) fn list_get(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[1].mapped || cx.inputs[2].mapped {
        return Ok(None);
    }
    let shape = element_shape(cx, 2)?;
    let list = cx.full(0)?;
    let places = &cx.inputs[1];
    let mut outs = cx.examples.emit_attrs(cx.op, &[list, places.value, shape], cx.attrs.clone())?;
    if let (Some(out), Some(ty)) = (outs.last_mut(), cx.results.last()) {
        *out = at_places(&mut cx.examples, places, *out, ty.shape().rank())?;
    }
    Ok(Some(outs))
}

pub(crate) fn list_pop(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[1].mapped {
        return Ok(None);
    }
    let shape = element_shape(cx, 1)?;
    let list = cx.full(0)?;
    cx.again(&[list, shape], cx.attrs.clone())
}

/// Writes to a list at places.
pub(crate) fn list_set(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[1].mapped {
        return Ok(None);
    }
    let values = cx.full(2)?;
    let values = at_places(&mut cx.examples, &cx.inputs[1], values, cx.inputs[2].rank())?;
    let list = cx.full(0)?;
    cx.again(&[list, cx.inputs[1].value, values], cx.attrs.clone())
}

pub(crate) fn list_resize(cx: &mut BatchCx<'_>) -> Batched {
    if cx.inputs[1].mapped {
        return Ok(None);
    }
    let list = cx.full(0)?;
    cx.again(&[list, cx.inputs[1].value], cx.attrs.clone())
}

/// What operand `index` says of the last result, an element of a list, with the number of examples before it.
fn element_shape(cx: &mut BatchCx<'_>, index: usize) -> Result<Value> {
    let shape = &cx.inputs[index];
    // The elements of a list of lists have no axis; a scalar says that nothing is known.
    if cx.results.last().is_some_and(|ty| ty.dtype() == DType::Variant) || shape.rank() == Some(0) {
        return Ok(shape.value);
    }
    if shape.rank() != Some(1) {
        return Err(Error::unimplemented("the rank of the elements' shape is not known"));
    }
    cx.examples.leading(shape.value)
}

/// Values at `places` between the order that lists have, the elements first, and that of batches, the examples first.
fn at_places(ex: &mut Examples<'_>, places: &Example, values: Value, rank: Option<usize>) -> Result<Value> {
    match places.rank() {
        Some(0) => Ok(values),
        Some(_) => swapped(ex, values, rank),
        None => Err(Error::unimplemented("needs to know whether the indices are a scalar or a vector")),
    }
}

/// A value with its first two dimensions in the other order. `rank` is that of one example.
fn swapped(ex: &mut Examples<'_>, value: Value, rank: Option<usize>) -> Result<Value> {
    let Some(rank) = rank else { return Err(Error::unimplemented("the rank of the elements is not known")) };
    ex.emit(ex.ops.transpose, &[value], &[("perm", perm(rank).into())])
}
