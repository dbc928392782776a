//! Operands that say what to do rather than what to do it to: shapes, sizes, axes, indices.

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, MAX_RANK, Result, Shape, Tensor};
use penstock_ir::{ArgDef, ArgType, Call, Emitter, InferCx, Type, Value, VjpCx, arg_of};
use smallvec::SmallVec;

/// An operand of integers that says what to do.
pub(crate) const fn index_arg(name: &'static str) -> ArgDef {
    arg_of(name, ArgType::In(DTypeSet::INDEX))
}

/// Checks that operand `index` may have rank `rank`.
///
/// # Errors
/// `InvalidArgument` naming the operand.
pub(crate) fn require_rank(cx: &InferCx<'_>, index: usize, rank: usize, name: &str) -> Result<()> {
    match cx.shape(index).rank() {
        Some(r) if r != rank => Err(wrong_rank(r, rank).argument(name)),
        _ => Ok(()),
    }
}

fn wrong_rank(got: usize, due: usize) -> Error {
    let due = match due {
        0 => "a scalar".to_string(),
        1 => "a vector".to_string(),
        n => format!("rank {n}"),
    };
    Error::invalid(format!("expected {due}, got rank {got}"))
}

/// The elements of a vector of integers.
///
/// # Errors
/// `InvalidArgument` where it is none.
pub(crate) fn int_vector(tensor: &Tensor, name: &str) -> Result<SmallVec<[i64; 6]>> {
    if tensor.rank() != 1 {
        return Err(wrong_rank(tensor.rank(), 1).argument(name));
    }
    tensor.to_ints().map_err(|e| e.argument(name))
}

/// The value of an integer scalar.
///
/// # Errors
/// `InvalidArgument` where it is none.
pub(crate) fn int_scalar(tensor: &Tensor, name: &str) -> Result<i64> {
    if tensor.rank() != 0 {
        return Err(wrong_rank(tensor.rank(), 0).argument(name));
    }
    Ok(tensor.to_ints().map_err(|e| e.argument(name))?[0])
}

/// A size that may not be negative.
///
/// # Errors
/// `InvalidArgument` where it is.
pub(crate) fn size(value: i64, name: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::invalid(format!("must not be negative, got {value}")).argument(name))
}

/// A vector of sizes that may not be negative.
///
/// # Errors
/// `InvalidArgument` where it is no vector or one is negative.
pub(crate) fn sizes(tensor: &Tensor, name: &str) -> Result<Dims> {
    int_vector(tensor, name)?
        .iter()
        .enumerate()
        .map(|(i, &n)| {
            usize::try_from(n)
                .map_err(|_| Error::invalid(format!("Dimension {n} must be >= 0: entry {i}")).argument(name))
        })
        .collect()
}

/// The sizes that operand `index` of a run holds.
///
/// # Errors
/// As [`sizes`].
pub(crate) fn sizes_of(call: &Call<'_>, index: usize, name: &str) -> Result<Dims> {
    sizes(call.inputs[index], name)
}

/// The shape that operand `index`, a vector of sizes, describes.
///
/// # Errors
/// As [`sizes`], where its value is known.
pub(crate) fn described_shape(cx: &InferCx<'_>, index: usize, name: &str) -> Result<Shape> {
    require_rank(cx, index, 1, name)?;
    if let Some(tensor) = cx.values.constant(index) {
        return Ok(Shape::known(&sizes(&tensor, name)?));
    }
    Ok(match cx.values.dims(index) {
        Some(dims) => Shape::new(dims),
        None => cx.shape(index).extents().map_or(Ok(Shape::UNRANKED), |n| Shape::of_rank(n[0]))?,
    })
}

/// What is known of the elements of operand `index`, a vector of integers: `None` where not even
/// their number is, or where they are more than a tensor has dimensions.
pub(crate) fn known_ints(cx: &InferCx<'_>, index: usize) -> Option<SmallVec<[Option<i64>; 6]>> {
    if let Some(tensor) = cx.values.constant(index) {
        return Some(tensor.to_ints().ok()?.into_iter().map(Some).collect());
    }
    if let Some(dims) = cx.values.dims(index) {
        return Some(dims.iter().map(|d| d.known().and_then(|n| i64::try_from(n).ok())).collect());
    }
    let n = cx.shape(index).extents()?;
    (n.len() == 1 && n[0] <= MAX_RANK).then(|| SmallVec::from_elem(None, n[0]))
}

/// What is known of operand `index`, an integer scalar, as a size.
///
/// # Errors
/// `InvalidArgument` where it is no scalar, or known and negative.
pub(crate) fn described_size(cx: &InferCx<'_>, index: usize, name: &str) -> Result<Dim> {
    require_rank(cx, index, 0, name)?;
    if let Some(tensor) = cx.values.constant(index) {
        return size(int_scalar(&tensor, name)?, name).map(Dim::Known);
    }
    Ok(match cx.values.dims(index).as_deref() {
        Some(&[dim]) => dim,
        _ => Dim::Unknown,
    })
}

/// The dimensions as known sizes.
pub(crate) fn known_dims(dims: &[usize]) -> SmallVec<[Dim; 4]> {
    dims.iter().map(|&d| Dim::Known(d)).collect()
}

/// Checks that an attribute is one of some dtypes.
///
/// # Errors
/// `DType` where it is not.
pub(crate) fn require_dtype(dtype: DType, set: DTypeSet, name: &str) -> Result<DType> {
    if set.contains(dtype) {
        return Ok(dtype);
    }
    Err(Error::dtype(format!("dtype {} is not supported; expected one of: {set}", dtype.tf_name())).argument(name))
}

/// The extents of a value as an `i64` vector: a constant where all are known.
///
/// # Errors
/// Whatever the emitter reports.
pub(crate) fn shape_of(cx: &mut VjpCx<'_>, value: Value) -> Result<Value> {
    match cx.emit.type_of(value).shape().extents() {
        Some(dims) => {
            let dims: SmallVec<[i64; 6]> = dims.iter().map(|&d| d as i64).collect();
            cx.emit.constant(Tensor::vector(&dims))
        }
        None => cx.emit.emit(cx.ops.shape, &[value], &[("dtype", DType::I64.into())]),
    }
}

/// The type of the operand at `index` with another shape.
pub(crate) fn like(cx: &InferCx<'_>, index: usize, shape: Shape) -> Type {
    Type::tensor(cx.dtype(index), shape)
}

/// Writes integers into a tensor of `i32` or `i64` of as many elements.
///
/// # Panics
/// Where its dtype or length differs.
pub(crate) fn write_ints(to: &mut Tensor, values: &[i64]) {
    match to.dtype() {
        DType::I32 => to.as_mut_slice::<i32>().iter_mut().zip(values).for_each(|(t, &v)| *t = v as i32),
        _ => to.as_mut_slice::<i64>().copy_from_slice(values),
    }
}

/// The rank of `value`, which is also the length of the vector `entries`, where either tells.
pub(crate) fn rank_of(emit: &dyn Emitter, value: Value, entries: Value) -> Option<usize> {
    let length = || emit.type_of(entries).shape().extents().and_then(|n| n.first().copied());
    emit.type_of(value).shape().rank().or_else(length)
}

/// `value` as integers of another dtype, where it is not that already.
///
/// # Errors
/// Whatever the emitter reports.
pub(crate) fn as_ints(cx: &mut VjpCx<'_>, value: Value, dtype: DType) -> Result<Value> {
    if cx.emit.type_of(value).dtype() == dtype {
        return Ok(value);
    }
    cx.emit.emit(cx.ops.cast, &[value], &[("dtype", dtype.into())])
}
