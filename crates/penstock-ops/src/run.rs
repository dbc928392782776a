//! Runs of elementwise loops over whole tensors, for kernels that are made of several.

#![expect(unsafe_code, reason = "hands the memory of tensors to loops over raw memory")]

use penstock_data::{DType, Error, Result, Tensor};
use penstock_kernels::{Binary, Fault, LoopFn, Unary};

/// `f` over `inputs`, which broadcast, into `out`, whose memory is reused where it suffices.
///
/// # Safety
/// `f` takes elements of the dtypes of `inputs` and gives elements of `dtype`.
unsafe fn elementwise(f: LoopFn, inputs: &[&Tensor], dtype: DType, out: &mut Tensor) -> Result<()> {
    let shapes: Vec<&[usize]> = inputs.iter().map(|t| t.dims()).collect();
    let dims = penstock_kernels::broadcast_dims(&shapes)
        .ok_or_else(|| Error::invalid(format!("Incompatible shapes: {shapes:?}, which do not broadcast")))?;
    let to = out.prepare(dtype, &dims)?;
    let lanes: Vec<_> = inputs.iter().map(|t| (t.as_ptr(), t.dims(), t.dtype().size())).collect();
    // SAFETY: tensors are row-major, contiguous and aligned, and their dimensions broadcast to `dims`, of
    // which `to` holds the elements; `out` is borrowed mutably, so it is none of the inputs, and memory that it
    // shared with one would have been replaced. The dtypes are the caller's promise.
    unsafe { penstock_kernels::elementwise(f, &dims, to, dtype.size(), &lanes) }.map_err(fault)
}

fn fault(fault: Fault) -> Error {
    Error::invalid(fault.to_string())
}

fn unsupported(dtype: DType) -> Error {
    Error::dtype(format!("dtype {} is not supported", dtype.tf_name()))
}

/// `op x` into `out`.
///
/// # Errors
/// `DType` where the operator does not take the dtype; `ResourceExhausted`.
pub(crate) fn unary_into(op: Unary, x: &Tensor, out: &mut Tensor) -> Result<()> {
    let f = penstock_kernels::unary(op, x.dtype()).ok_or_else(|| unsupported(x.dtype()))?;
    // SAFETY: the loop is the one for this dtype.
    unsafe { elementwise(f, &[x], penstock_kernels::unary_output(op, x.dtype()), out) }
}

/// `x op y` into `out`.
///
/// # Errors
/// `DType` where the dtypes differ or the operator does not take them; `InvalidArgument` where the shapes do not
/// broadcast; `ResourceExhausted`.
pub(crate) fn binary_into(op: Binary, x: &Tensor, y: &Tensor, out: &mut Tensor) -> Result<()> {
    let f = penstock_kernels::binary(op, x.dtype()).filter(|_| x.dtype() == y.dtype());
    let f = f.ok_or_else(|| unsupported(y.dtype()))?;
    // SAFETY: the loop is the one for this dtype, which both have.
    unsafe { elementwise(f, &[x, y], penstock_kernels::binary_output(op, x.dtype()), out) }
}

/// `x` as `dtype` into `out`.
///
/// # Errors
/// `DType` for strings; `ResourceExhausted`.
pub(crate) fn cast_into(x: &Tensor, dtype: DType, out: &mut Tensor) -> Result<()> {
    let f = penstock_kernels::cast(x.dtype(), dtype).ok_or_else(|| unsupported(x.dtype()))?;
    // SAFETY: the loop is the one for these dtypes.
    unsafe { elementwise(f, &[x], dtype, out) }
}

/// `x` where `condition`, else `y`, into `out`.
///
/// # Errors
/// `DType` where `condition` is not boolean, or `x` and `y` differ or are strings; `InvalidArgument` where the shapes
/// do not broadcast; `ResourceExhausted`.
pub(crate) fn select_into(condition: &Tensor, x: &Tensor, y: &Tensor, out: &mut Tensor) -> Result<()> {
    let dtype = x.dtype();
    if condition.dtype() != DType::Bool || dtype != y.dtype() || dtype.size() == 0 {
        return Err(unsupported(dtype));
    }
    // SAFETY: the loop takes a boolean and two elements of this dtype.
    unsafe { elementwise(penstock_kernels::select(dtype), &[condition, x, y], dtype, out) }
}
