//! Moving elements without looking at them: the kernels behind a safe face, and the way by which
//! string tensors take part in all of it.

#![expect(unsafe_code, reason = "calls of kernels on the memory of tensors; each contract is checked before")]

use penstock_data::{Bytes, DType, Result, Tensor, memory, num_elements};
use penstock_ir::{BoxCopy, ByPlace, Call, CopyDim, Rest};
use penstock_kernels::gather::Indices;
use penstock_kernels::positions::{self, Nonzero};
use penstock_kernels::segment::{AlongAxis, Empty, Segments};
use penstock_kernels::{Binary, Reduce, copy, gather as rows, segment};
use smallvec::SmallVec;

use crate::groups;

/// A box in an array: for each dimension the first index, the step and the number of indices.
pub(crate) struct Window<'a> {
    /// The first index; of no use where nothing is counted.
    pub(crate) begin: &'a [usize],
    /// From one index to the next, not 0.
    pub(crate) step: &'a [isize],
    /// The number of indices.
    pub(crate) counts: &'a [usize],
}

impl Window<'_> {
    /// Checks that the box lies inside `dims`.
    ///
    /// # Panics
    /// Where it does not: whoever makes one has clamped it.
    fn check(&self, dims: &[usize]) {
        let Window { begin, step, counts } = *self;
        assert!(begin.len() == dims.len() && step.len() == dims.len() && counts.len() == dims.len());
        if counts.contains(&0) {
            return;
        }
        for i in 0..dims.len() {
            let last = begin[i] as i128 + (counts[i] as i128 - 1) * step[i] as i128;
            let inside = |at: i128| at >= 0 && at < dims[i] as i128;
            assert!(inside(begin[i] as i128) && inside(last), "a window outside of its array");
        }
    }
}

/// Elements from one index of each dimension to the next, in a row-major array of these extents.
fn strides(dims: &[usize]) -> SmallVec<[isize; 6]> {
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, dims.len());
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i].max(1) as isize;
    }
    strides
}

/// The dimensions of a copy by extents and by the steps on both sides.
fn copy_dims(extents: &[usize], from: &[isize], to: &[isize]) -> SmallVec<[CopyDim; 6]> {
    let sides = from.iter().zip(to);
    extents.iter().zip(sides).map(|(&extent, (&from, &to))| CopyDim { extent, from, to }).collect()
}

/// The number of the element of an array with these steps at which a box begins, and the steps within the box.
fn entered(steps: &[isize], window: &Window<'_>) -> (usize, SmallVec<[isize; 6]>) {
    let first: isize = steps.iter().zip(window.begin).map(|(s, &b)| s * b as isize).sum();
    (first as usize, steps.iter().zip(window.step).map(|(s, step)| s * step).collect())
}

/// Has the device put result `index` together, where one works in the host's place and has a kernel for it.
///
/// # Errors
/// Those of the device.
pub(crate) fn by_device<'a, const N: usize>(
    call: &mut Call<'_>,
    index: usize,
    (dtype, dims): (DType, &[usize]),
    rest: Rest<'_>,
    copies: impl FnOnce() -> [BoxCopy<'a>; N],
) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    let (copies, len) = (copies(), num_elements(dims).unwrap_or(0));
    assert!(copies.iter().all(|copy| copy.fits(len)), "a copy outside of its tensors");
    // SAFETY: the copies lie within their sources and the result, and whatever is left is one element, or zeros.
    let made = unsafe { device.moved(dtype, dims, rest, &copies) }?;
    Ok(made.map(|tensor| call.set(index, tensor)).is_some())
}

/// Has the device make result 0 of elements that follow from where they are, where one works in the host's place and has a kernel for it.
///
/// # Errors
/// Those of the device.
pub(crate) fn by_place(call: &mut Call<'_>, what: &ByPlace<'_>, dtype: DType, dims: &[usize]) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    let len = num_elements(dims);
    assert!(match *what {
        ByPlace::Band { x, .. } => x.dims() == dims && x.dtype() == dtype && dims.len() >= 2,
        ByPlace::OneHot { indices, on, off, extents: [outer, depth, inner] } => {
            let scalars = [on, off].iter().all(|t| t.len() == 1 && t.dtype() == dtype);
            scalars && indices.len() == outer * inner && len == Some(outer * depth * inner)
        }
        ByPlace::Range { start, step } => [start, step].iter().all(|t| t.len() == 1 && t.dtype() == dtype),
    });
    // SAFETY: the extents and dtypes are as they were found to be.
    let made = unsafe { device.by_place(what, dtype, dims) }?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// Makes the result `x` with its dimensions permuted: dimension `i` is dimension `perm[i]` of `x`.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
///
/// # Panics
/// Where `perm` is no permutation.
pub(crate) fn transpose(call: &mut Call<'_>, x: &Tensor, perm: &[usize]) -> Result<()> {
    let mut sorted: SmallVec<[usize; 6]> = perm.into();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(0..x.rank()));
    let dims: SmallVec<[usize; 6]> = perm.iter().map(|&p| x.dims()[p]).collect();
    let copies = || {
        let steps = strides(x.dims());
        let from: SmallVec<[isize; 6]> = perm.iter().map(|&p| steps[p]).collect();
        [BoxCopy { source: x, from: 0, to: 0, dims: copy_dims(&dims, &from, &strides(&dims)) }]
    };
    if by_device(call, 0, (x.dtype(), &dims), Rest::None, copies)? {
        return Ok(());
    }
    let out = call.out(0, x.dtype(), &dims)?;
    // SAFETY: `perm` is a permutation; `out` is a fresh array of as many elements.
    unsafe { copy::transpose(x.dtype().size(), x.as_ptr(), x.dims(), perm, out) };
    Ok(())
}

/// Makes result `index` the elements of a box of `x`, with the extents `dims`, which hold as many.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn slice(call: &mut Call<'_>, index: usize, x: &Tensor, window: &Window<'_>, dims: &[usize]) -> Result<()> {
    window.check(x.dims());
    assert_eq!(num_elements(dims), num_elements(window.counts));
    let copies = || {
        let (from, steps) = entered(&strides(x.dims()), window);
        [BoxCopy { source: x, from, to: 0, dims: copy_dims(window.counts, &steps, &strides(window.counts)) }]
    };
    if by_device(call, index, (x.dtype(), dims), Rest::None, copies)? {
        return Ok(());
    }
    let out = call.out(index, x.dtype(), dims)?;
    let Window { begin, step, counts } = *window;
    // SAFETY: the box lies inside `x`; `out` is a fresh array of as many elements as the box.
    unsafe { copy::strided_slice(x.dtype().size(), x.as_ptr(), x.dims(), begin, step, counts, out) };
    Ok(())
}

/// Makes the result an array of zeros of extents `dims`, with the elements of `from` in a box.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn embed(call: &mut Call<'_>, from: &Tensor, window: &Window<'_>, dims: &[usize]) -> Result<()> {
    window.check(dims);
    assert_eq!(Some(from.len()), num_elements(window.counts));
    let copies = || {
        let (to, steps) = entered(&strides(dims), window);
        [BoxCopy { source: from, from: 0, to, dims: copy_dims(window.counts, &strides(window.counts), &steps) }]
    };
    if by_device(call, 0, (from.dtype(), dims), Rest::Zeros, copies)? {
        return Ok(());
    }
    let out = call.out(0, from.dtype(), dims)?;
    call.outputs[0].bytes_mut().fill(0);
    let Window { begin, step, counts } = *window;
    // SAFETY: the box lies inside the result, which is a fresh array; `from` holds as many elements as the box.
    unsafe { copy::strided_assign(from.dtype().size(), from.as_ptr(), dims, begin, step, counts, out) };
    Ok(())
}

/// Has the device make result 0 `x` with the elements of `from` in a box, where one works in the host's place and has a kernel for it.
///
/// # Errors
/// Those of the device.
pub(crate) fn replace(call: &mut Call<'_>, x: &Tensor, from: &Tensor, window: &Window<'_>) -> Result<bool> {
    window.check(x.dims());
    assert!(from.dtype() == x.dtype() && Some(from.len()) == num_elements(window.counts));
    by_device(call, 0, (x.dtype(), x.dims()), Rest::None, || {
        let (to, steps) = entered(&strides(x.dims()), window);
        let dims = copy_dims(window.counts, &strides(window.counts), &steps);
        [BoxCopy::whole(x, 0), BoxCopy { source: from, from: 0, to, dims }]
    })
}

/// Gives a tensor that is changed in place memory that nobody else sees.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn own(tensor: &mut Tensor) -> Result<()> {
    if tensor.as_mut_ptr().is_none() {
        let mut copy = Tensor::empty(tensor.dtype(), tensor.dims())?;
        copy.bytes_mut().copy_from_slice(tensor.bytes());
        *tensor = copy;
    }
    Ok(())
}

/// Puts the elements of `from` into a box of `to`, which nobody else sees.
pub(crate) fn assign(to: &mut Tensor, from: &Tensor, window: &Window<'_>) {
    window.check(to.dims());
    assert!(from.dtype() == to.dtype() && Some(from.len()) == num_elements(window.counts));
    let dims: SmallVec<[usize; 4]> = to.dims().into();
    let (size, out) = (to.dtype().size(), to.bytes_mut().as_mut_ptr());
    let Window { begin, step, counts } = *window;
    // SAFETY: the box lies inside `to`, whose elements only it sees; `from` holds as many elements as the box.
    unsafe { copy::strided_assign(size, from.as_ptr(), &dims, begin, step, counts, out) };
}

/// Makes the result `x` with the marked dimensions reversed.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn reverse(call: &mut Call<'_>, x: &Tensor, axes: &[bool]) -> Result<()> {
    assert_eq!(axes.len(), x.rank());
    let copies = || {
        let (dims, steps) = (x.dims(), strides(x.dims()));
        let last = |i: usize| if axes[i] { dims[i].saturating_sub(1) * steps[i] as usize } else { 0 };
        let from: SmallVec<[isize; 6]> = axes.iter().zip(&steps).map(|(&back, &s)| if back { -s } else { s }).collect();
        [BoxCopy { source: x, from: (0..dims.len()).map(last).sum(), to: 0, dims: copy_dims(dims, &from, &steps) }]
    };
    if by_device(call, 0, (x.dtype(), x.dims()), Rest::None, copies)? {
        return Ok(());
    }
    let out = call.out(0, x.dtype(), x.dims())?;
    // SAFETY: `out` is a fresh array of the extents of `x`.
    unsafe { copy::reverse(x.dtype().size(), x.as_ptr(), x.dims(), axes, out) };
    Ok(())
}

/// Makes the result `x` repeated to extents that it broadcasts to.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn broadcast_to(call: &mut Call<'_>, x: &Tensor, dims: &[usize]) -> Result<()> {
    let lead = dims.len() - x.rank();
    assert!(x.dims().iter().zip(&dims[lead..]).all(|(&a, &b)| a == b || a == 1));
    let copies = || {
        let mut from: SmallVec<[isize; 6]> = SmallVec::from_elem(0, lead);
        from.extend(strides(x.dims()).iter().zip(x.dims()).map(|(&s, &d)| if d == 1 { 0 } else { s }));
        [BoxCopy { source: x, from: 0, to: 0, dims: copy_dims(dims, &from, &strides(dims)) }]
    };
    if by_device(call, 0, (x.dtype(), dims), Rest::None, copies)? {
        return Ok(());
    }
    let out = call.out(0, x.dtype(), dims)?;
    // SAFETY: the extents of `x` broadcast to `dims`; `out` is a fresh array of those.
    unsafe { copy::broadcast_to(x.dtype().size(), x.as_ptr(), x.dims(), dims, out) };
    Ok(())
}

/// Makes the result `x` repeated `multiples[i]` times along dimension `i`; `dims` are the products.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn tile(call: &mut Call<'_>, x: &Tensor, multiples: &[usize], dims: &[usize]) -> Result<()> {
    assert_eq!(multiples.len(), x.rank());
    assert!((0..x.rank()).all(|i| x.dims()[i].checked_mul(multiples[i]) == Some(dims[i])));
    let copies = || {
        let (from, to) = (strides(x.dims()), strides(dims));
        let pair = |i: usize| {
            let extent = x.dims()[i];
            let repetition = CopyDim { extent: multiples[i], from: 0, to: to[i] * extent as isize };
            [repetition, CopyDim { extent, from: from[i], to: to[i] }]
        };
        [BoxCopy { source: x, from: 0, to: 0, dims: (0..x.rank()).flat_map(pair).collect() }]
    };
    if by_device(call, 0, (x.dtype(), dims), Rest::None, copies)? {
        return Ok(());
    }
    let out = call.out(0, x.dtype(), dims)?;
    if dims.contains(&0) {
        return Ok(());
    }
    // SAFETY: `out` is a fresh array of the product of the extents and the multiples.
    unsafe { copy::tile(x.dtype().size(), x.as_ptr(), x.dims(), multiples, out) };
    Ok(())
}

/// Makes the result an array of extents `dims` of the only element of `value`.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn fill(call: &mut Call<'_>, value: &Tensor, dims: &[usize]) -> Result<()> {
    assert_eq!(value.len(), 1);
    if by_device(call, 0, (value.dtype(), dims), Rest::Element(value), || [])? {
        return Ok(());
    }
    let out = call.out(0, value.dtype(), dims)?;
    let n = call.outputs[0].len();
    // SAFETY: `value` is one element; `out` is a fresh array of `n`.
    unsafe { copy::fill(value.dtype().size(), value.as_ptr(), n, out) };
    Ok(())
}

/// Makes the result `x` surrounded by `value`: `before[i]` elements in front of it along dimension `i`,
/// and as many behind it as fill `dims`.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn pad(call: &mut Call<'_>, x: &Tensor, before: &[usize], value: &Tensor, dims: &[usize]) -> Result<()> {
    assert!(value.len() == 1 && value.dtype() == x.dtype() && before.len() == x.rank() && dims.len() == x.rank());
    let copies = || {
        let steps = strides(dims);
        let to = steps.iter().zip(before).map(|(&s, &b)| s as usize * b).sum();
        [BoxCopy { source: x, from: 0, to, dims: copy_dims(x.dims(), &strides(x.dims()), &steps) }]
    };
    if by_device(call, 0, (x.dtype(), dims), Rest::Element(value), copies)? {
        return Ok(());
    }
    let after: SmallVec<[usize; 6]> = (0..x.rank()).map(|i| dims[i] - before[i] - x.dims()[i]).collect();
    let out = call.out(0, x.dtype(), dims)?;
    // SAFETY: `out` is a fresh array of the padded extents; `value` is one element.
    unsafe { copy::pad(x.dtype().size(), x.as_ptr(), x.dims(), before, &after, value.as_ptr(), out) };
    Ok(())
}

/// Makes the result the inputs joined along an axis: each is `outer` rows of its length / `outer` elements.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn concat(call: &mut Call<'_>, inputs: &[&Tensor], outer: usize, dims: &[usize]) -> Result<()> {
    let dtype = inputs[0].dtype();
    assert!(inputs.iter().all(|t| t.dtype() == dtype));
    assert_eq!(num_elements(dims), inputs.iter().map(|t| t.len()).try_fold(0, usize::checked_add));
    if let Some(device) = call.env.kernels() {
        let row: usize = inputs.iter().map(|t| t.len() / outer.max(1)).sum();
        let copies = inputs.iter().scan(0, |to, &source| {
            let width = source.len() / outer.max(1);
            let dims = copy_dims(&[outer, width], &[width as isize, 1], &[row as isize, 1]);
            let copy = BoxCopy { source, from: 0, to: *to, dims };
            *to += width;
            Some(copy)
        });
        let copies: SmallVec<[BoxCopy<'_>; 8]> = copies.collect();
        let len = num_elements(dims).unwrap_or(0);
        assert!(copies.iter().all(|copy| copy.fits(len)), "a copy outside of its tensors");
        // SAFETY: the copies lie within their sources and the result.
        if let Some(made) = unsafe { device.moved(dtype, dims, Rest::None, &copies) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let out = call.out(0, dtype, dims)?;
    if dims.contains(&0) {
        return Ok(());
    }
    let parts: SmallVec<[(*const u8, usize); 8]> = inputs.iter().map(|t| (t.as_ptr(), t.byte_len() / outer)).collect();
    // SAFETY: each input is readable for its `outer` rows; `out` is a fresh array of all their elements.
    unsafe { copy::concat(&parts, outer, out) };
    Ok(())
}

/// Makes the results the pieces of `x` along an axis, of the extents `dims`; `x` is `outer` rows.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn split(call: &mut Call<'_>, x: &Tensor, outer: usize, dims: &[SmallVec<[usize; 4]>]) -> Result<()> {
    if call.env.kernels().is_some() && split_by_device(call, x, outer, dims)? {
        return Ok(());
    }
    let mut parts: SmallVec<[(*mut u8, usize); 8]> = SmallVec::new();
    let mut total = 0;
    for (i, dims) in dims.iter().enumerate() {
        let out = call.out(i, x.dtype(), dims)?;
        total += call.outputs[i].byte_len();
        parts.push((out, call.outputs[i].byte_len() / outer.max(1)));
    }
    assert_eq!(total, x.byte_len());
    if total > 0 {
        // SAFETY: the results are fresh arrays, which hold as many elements as `x` in all.
        unsafe { copy::split(x.as_ptr(), outer, &parts) };
    }
    Ok(())
}

/// As [`split`], by the device that works in the host's place; whether it has kernels for it.
fn split_by_device(call: &mut Call<'_>, x: &Tensor, outer: usize, dims: &[SmallVec<[usize; 4]>]) -> Result<bool> {
    let (row, mut from) = (x.len() / outer.max(1), 0);
    for (i, dims) in dims.iter().enumerate() {
        let width = num_elements(dims).unwrap_or(0) / outer.max(1);
        let copy = BoxCopy {
            source: x,
            from,
            to: 0,
            dims: copy_dims(&[outer, width], &[row as isize, 1], &[width as isize, 1]),
        };
        if !by_device(call, i, (x.dtype(), dims), Rest::None, || [copy])? {
            return Ok(false);
        }
        from += width;
    }
    Ok(true)
}

/// Indices, as the kernels take them.
fn indices_of(tensor: &Tensor, range: std::ops::Range<usize>) -> Indices {
    assert!(range.end <= tensor.len());
    let ptr = tensor.bytes()[range.start * tensor.dtype().size()..].as_ptr();
    Indices { ptr, dtype: tensor.dtype(), count: range.len() }
}

/// The index at position `i`.
pub(crate) fn index_at(tensor: &Tensor, i: usize) -> i64 {
    let size = tensor.dtype().size();
    let bytes = &tensor.bytes()[i * size..(i + 1) * size];
    match (<[u8; 4]>::try_from(bytes), <[u8; 8]>::try_from(bytes)) {
        (Ok(narrow), _) => i64::from(i32::from_ne_bytes(narrow)),
        (_, Ok(wide)) => i64::from_ne_bytes(wide),
        _ => unreachable!("indices are i32 or i64"),
    }
}

/// The first position whose index is negative or less than the one before.
pub(crate) fn first_descent(tensor: &Tensor) -> Option<usize> {
    // SAFETY: the memory of a tensor is readable and aligned.
    unsafe { indices_of(tensor, 0..tensor.len()).first_descent() }
}

/// Makes the result the indexed rows of `x`. `x` is `batch` × `outer` × `n` rows of `bytes` bytes, `indices` is as many
/// indices for each batch, and the result has the extents `dims`.
///
/// # Errors
/// `Err(Ok(position))` for the first position in `indices` that is not in `0..n`; `Err(Err(_))` where the memory cannot be had.
pub(crate) fn gather(
    call: &mut Call<'_>,
    x: &Tensor,
    indices: &Tensor,
    [batch, outer, n, bytes]: [usize; 4],
    dims: &[usize],
) -> Result<(), Result<usize>> {
    if let Some(device) = call.env.kernels() {
        if let Some(position) = groups::first_outside(device, indices, n).map_err(Err)? {
            return Err(Ok(position));
        }
        let count = indices.len() / batch.max(1);
        assert_eq!(x.byte_len(), batch * outer * n * bytes);
        assert_eq!(num_elements(dims).map(|n| n * x.dtype().size()), Some(batch * outer * count * bytes));
        // SAFETY: the indices were checked, and `x` and the result are as many rows as this says.
        if let Some(made) = unsafe { device.gather(x, indices, [batch, outer, n, bytes], dims) }.map_err(Err)? {
            call.set(0, made);
            return Ok(());
        }
    }
    let out = call.out(0, x.dtype(), dims).map_err(Err)?;
    let count = indices.len() / batch.max(1);
    let made = call.outputs[0].byte_len();
    assert_eq!(made, batch * outer * count * bytes);
    assert_eq!(x.byte_len(), batch * outer * n * bytes);
    if made == 0 {
        // Nothing is copied, but every index is checked.
        return match first_outside(indices, n) {
            Some(position) => Err(Ok(position)),
            None => Ok(()),
        };
    }
    for b in 0..batch {
        let part = indices_of(indices, b * count..(b + 1) * count);
        let (from, to) = (b * outer * n * bytes, b * outer * count * bytes);
        // SAFETY: batch `b` of `x` starts at `from` and has `outer * n` rows, that of the result starts at `to` and
        // has `outer * count`.
        unsafe { rows::gather(x.as_ptr().add(from), outer, n, bytes, part, out.add(to)) }
            .map_err(|position| Ok(b * count + position))?;
    }
    Ok(())
}

/// The first position in `indices` that is not in `0..n`.
pub(crate) fn first_outside(indices: &Tensor, n: usize) -> Option<usize> {
    let all = indices_of(indices, 0..indices.len());
    // SAFETY: a tensor's elements are aligned and readable.
    unsafe { all.first_outside(n) }
}

/// The numbers of the rows that `indices`, `count` rows of `dims.len()` each, name in an array of extents `dims`.
///
/// # Errors
/// `Err(Ok(row))` for the first row of indices with one that is outside; `Err(Err(_))` where the memory cannot be had.
pub(crate) fn rows_named(indices: &Tensor, dims: &[usize], count: usize) -> Result<Tensor, Result<usize>> {
    assert_eq!(indices.len(), count * dims.len());
    match dims {
        [] => Tensor::zeros(DType::I64, &[count]).map_err(Err),
        // They are the rows.
        [n] => match first_outside(indices, *n) {
            Some(row) => Err(Ok(row)),
            None => indices.reshaped(&[count]).map_err(Err),
        },
        _ => {
            let mut rows = Tensor::empty(DType::I64, &[count]).map_err(Err)?;
            let out = rows.as_mut_slice::<i64>().as_mut_ptr();
            // SAFETY: the indices are whole rows; `rows` is a fresh array with an element for each.
            unsafe { positions::linear(indices_of(indices, 0..indices.len()), dims, out) }.map_err(Ok)?;
            Ok(rows)
        }
    }
}

/// Counts the elements of `x` that are not zero.
pub(crate) fn nonzero(x: &Tensor) -> Nonzero {
    // SAFETY: a tensor's elements are aligned and readable.
    unsafe { Nonzero::count(x.dtype(), x.as_ptr(), x.len()) }
}

/// Makes the result the indices of the elements of `x` that are not zero, a row each.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn where_indices(call: &mut Call<'_>, x: &Tensor) -> Result<()> {
    if let Some(device) = call.env.kernels() {
        // SAFETY: it relies on nothing but the tensor.
        if let Some(made) = unsafe { device.nonzero(x) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let found = nonzero(x);
    let out = call.out(0, DType::I64, &[found.total(), x.rank()])?;
    // SAFETY: `out` is a fresh array with a row for each element that was counted in `x`.
    unsafe { found.write(x.dtype(), x.as_ptr(), x.dims(), out.cast()) };
    Ok(())
}

/// Combines row `i` of `updates` into row `indices[i]` of result 0, which is `n` rows: by adding, subtracting, …, or by
/// overwriting where `op` is none.
///
/// # Errors
/// The first position whose index is not in `0..n`.
pub(crate) fn scatter(
    call: &mut Call<'_>,
    op: Option<Binary>,
    updates: &Tensor,
    indices: &Tensor,
    n: usize,
) -> Result<(), usize> {
    let out = &mut call.outputs[0];
    assert_eq!(out.dtype(), updates.dtype());
    let count = indices.len();
    let width = updates.len().checked_div(count).unwrap_or(0);
    assert_eq!(width * count, updates.len());
    if width == 0 || n == 0 {
        return first_outside(indices, n).map_or(Ok(()), Err);
    }
    assert_eq!(out.len(), n * width);
    let part = indices_of(indices, 0..count);
    let dtype = updates.dtype();
    let to = out.bytes_mut().as_mut_ptr();
    // SAFETY: `updates` is `count` rows and the result `n` rows of `width` elements of this dtype; only this call sees
    // the result.
    unsafe { rows::scatter(op, dtype, updates.as_ptr(), part, width, n, to) }
}

/// Makes the result the reductions of rows of `x` by segment. `x` is `batch` × `outer` blocks of as many rows of `width` elements
/// as there are segments for each batch; the result, of extents `dims`, is as many blocks of `n` rows. Rows of negative
/// segments are dropped; a segment without rows becomes `empty`.
///
/// # Errors
/// `Err(Ok(position))` for the first segment not below `n`; `Err(Err(_))` where the memory cannot be had.
pub(crate) fn segment_reduce(
    call: &mut Call<'_>,
    (op, empty): (Reduce, Empty),
    x: &Tensor,
    (segments, sorted): (&Tensor, bool),
    [batch, outer, n, width]: [usize; 4],
    dims: &[usize],
) -> Result<(), Result<usize>> {
    if call.env.kernels().is_some()
        && groups::by_device(call, (op, empty), x, segments, [batch, outer, n, width], dims)?
    {
        return Ok(());
    }
    let out = call.out(0, x.dtype(), dims).map_err(Err)?;
    let count = segments.len() / batch.max(1);
    assert_eq!(call.outputs[0].len(), batch * outer * n * width);
    assert_eq!(x.len(), batch * outer * count * width);
    let size = x.dtype().size();
    for b in 0..batch {
        let ids = indices_of(segments, b * count..(b + 1) * count);
        let first = b * outer;
        // SAFETY: each of these blocks of `x` has `count` rows and that of the result `n` rows of `width` elements.
        unsafe {
            let from = x.as_ptr().add(first * count * width * size);
            let to = out.add(first * n * width * size);
            let segments = Segments { ids, n, width, blocks: outer, sorted };
            segment::segment_reduce(op, x.dtype(), from, segments, empty, to)
        }
        .map_err(|position| Ok(b * count + position))?;
    }
    Ok(())
}

/// What is indexed along an axis, and by how many indices.
fn along_axis(dims: &[usize], axis: usize, indices: &Tensor) -> AlongAxis {
    assert!(dims.len() == indices.rank() && (0..dims.len()).all(|i| i == axis || dims[i] == indices.dims()[i]));
    let product = |dims: &[usize]| dims.iter().product();
    AlongAxis {
        outer: product(&dims[..axis]),
        n: dims[axis],
        k: indices.dims()[axis],
        inner: product(&dims[axis + 1..]),
    }
}

/// Makes the result the elements of `x` that `indices` name along an axis; the other extents are the same.
///
/// # Errors
/// `Err(Ok(position))` for the first index outside; `Err(Err(_))` where the memory cannot be had.
pub(crate) fn take_along(call: &mut Call<'_>, x: &Tensor, indices: &Tensor, axis: usize) -> Result<(), Result<usize>> {
    let along = along_axis(x.dims(), axis, indices);
    if call.env.kernels().is_some() && along.inner == 1 {
        return gather(call, x, indices, [along.outer, 1, along.n, x.dtype().size()], indices.dims());
    }
    let out = call.out(0, x.dtype(), indices.dims()).map_err(Err)?;
    let all = indices_of(indices, 0..indices.len());
    // SAFETY: `x` has the extents of `along`; `out` is a fresh array of as many elements as there are indices.
    unsafe { segment::take_along(x.dtype().size(), along, x.as_ptr(), all, out) }.map_err(Ok)
}

/// Makes the result zeros of extents `dims`, to which `updates` are added at the places that `indices` name along an axis.
///
/// # Errors
/// `Err(Ok(position))` for the first index outside; `Err(Err(_))` where the memory cannot be had.
pub(crate) fn add_along(
    call: &mut Call<'_>,
    updates: &Tensor,
    indices: &Tensor,
    axis: usize,
    dims: &[usize],
) -> Result<(), Result<usize>> {
    let along = along_axis(dims, axis, indices);
    assert_eq!(updates.dims(), indices.dims());
    if along.inner == 1 && groups::sums_by_device(call, updates, indices, [along.outer, along.n, 1], dims)? {
        return Ok(());
    }
    let out = call.out(0, updates.dtype(), dims).map_err(Err)?;
    let all = indices_of(indices, 0..indices.len());
    // SAFETY: there are as many updates as indices; `out` is a fresh array of the extents of `along`.
    unsafe { segment::add_along(updates.dtype(), along, updates.as_ptr(), all, out) }.map_err(Ok)
}

/// Makes the result the one-hot rows of `indices`: `outer` × `depth` × the rest, of extents `dims`.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn one_hot(
    call: &mut Call<'_>,
    indices: &Tensor,
    [outer, depth, inner]: [usize; 3],
    [on, off]: [&Tensor; 2],
    dims: &[usize],
) -> Result<()> {
    assert!(on.len() == 1 && off.len() == 1 && on.dtype() == off.dtype());
    if by_place(call, &ByPlace::OneHot { indices, on, off, extents: [outer, depth, inner] }, on.dtype(), dims)? {
        return Ok(());
    }
    let out = call.out(0, on.dtype(), dims)?;
    assert!(indices.len() == outer * inner && call.outputs[0].len() == outer * depth * inner);
    let all = indices_of(indices, 0..indices.len());
    // SAFETY: there are `outer * inner` indices; `out` is a fresh array of `outer * depth * inner` elements.
    unsafe { rows::one_hot(on.dtype().size(), all, outer, depth, inner, on.as_ptr(), off.as_ptr(), out) };
    Ok(())
}

/// Makes the result `start + i * step` for `i` in `0..n`.
///
/// # Errors
/// `ResourceExhausted` where the memory cannot be had.
pub(crate) fn range(call: &mut Call<'_>, start: &Tensor, step: &Tensor, n: usize) -> Result<()> {
    assert!(start.len() == 1 && step.len() == 1 && start.dtype() == step.dtype());
    if by_place(call, &ByPlace::Range { start, step }, start.dtype(), &[n])? {
        return Ok(());
    }
    let out = call.out(0, start.dtype(), &[n])?;
    // SAFETY: both are one element of a dtype that is real by declaration; `out` is a fresh array of `n`.
    unsafe { rows::range(start.dtype(), start.as_ptr(), step.as_ptr(), n, out) };
    Ok(())
}

/// Runs a kernel that only moves elements. Strings are moved by proxy: the kernel moves the
/// positions of the strings in a table, as `i64`, in which position 0 is the empty string.
///
/// # Errors
/// Whatever the kernel reports; `ResourceExhausted` where the memory cannot be had.
pub(crate) fn moving(call: &mut Call<'_>, kernel: fn(&mut Call<'_>) -> Result<()>) -> Result<()> {
    if call.inputs.iter().all(|t| t.dtype() != DType::Str) {
        return kernel(call);
    }
    let empty = Bytes::from([]);
    let mut table: Vec<&Bytes> = vec![&empty];
    let mut positions: Vec<Option<Tensor>> = Vec::with_capacity(call.inputs.len());
    for input in call.inputs {
        positions.push(if input.dtype() == DType::Str {
            let first = table.len() as i64;
            memory::reserve(&mut table, input.len())?;
            table.extend(input.strings());
            let list: Vec<i64> = memory::collected(first..table.len() as i64)?;
            Some(Tensor::from_slice(input.dims(), &list)?)
        } else {
            None
        });
    }
    let inputs: SmallVec<[&Tensor; 4]> =
        positions.iter().zip(call.inputs).map(|(p, &input)| p.as_ref().unwrap_or(input)).collect();
    let mut outputs = vec![Tensor::default(); call.outputs.len()];
    kernel(&mut Call { inputs: &inputs, attrs: call.attrs, outputs: &mut outputs, env: call.env })?;
    for (i, moved) in outputs.iter().enumerate() {
        let strings = memory::collected(moved.as_slice::<i64>().iter().map(|&p| table[p as usize].clone()))?;
        call.set(i, Tensor::from_strings(moved.dims(), strings)?);
    }
    Ok(())
}
