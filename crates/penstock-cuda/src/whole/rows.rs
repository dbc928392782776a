//! Softmax, cross-entropies and logarithms of sums of exponentials.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use cudarc::driver::CudaFunction;
use penstock_data::{DType, Result, Tensor};
use penstock_ir::ElementFn;
use penstock_kernels::Unary;

use super::{Operands, Width, launch, table};
use crate::device::CudaMemory;
use crate::faults;
use crate::formula::Text;
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// The most elements of a row that a lane keeps.
const KEPT: usize = 32;

/// Elements of a row of which a warp adds up the exponentials, as in the kernels' text, and on the host.
const PIECE: usize = 1 << 15;

/// The kernels for rows of `n` elements of a dtype, with labels of another.
fn function(
    device: &Arc<Opened>,
    name: &'static str,
    dtype: DType,
    labels: DType,
    (n, width): (usize, Width),
) -> Result<Option<CudaFunction>> {
    let (Some(stored), Some(computed)) = (storage_type(dtype), compute_type(dtype)) else { return Ok(None) };
    let (of, largest) = match computed {
        "f32" => (DType::F32, "penstock_f32_of_bits(0x7f800000u)"),
        "f64" => (DType::F64, "penstock_f64_of_bits(0x7ff0000000000000ull)"),
        _ => return Ok(None),
    };
    let formula = |op: Unary| ElementFn::Unary(op).formula(of);
    let (Some(exp), Some(log)) = (formula(Unary::Exp), formula(Unary::Log)) else { return Ok(None) };
    let label = if labels == DType::I64 { "long long" } else { "int" };
    // The elements of a lane, where a warp keeps a row in registers.
    let count = Some(n.div_ceil(32).next_power_of_two()).filter(|&count| count <= KEPT).unwrap_or(0);
    let key = (stored, label, width.name(), count);
    let text = || {
        let (exp, log) = (Text::new(exp, computed).function("exp"), Text::new(log, computed).function("log"));
        let own = include_str!("rows.cuh");
        format!(
            "typedef {} I;\ntypedef {stored} E;\ntypedef {computed} A;\ntypedef {label} L;\n#define LARGEST {largest}\n#define COUNT {count}\n\
             struct functions {{\n{exp}{log}}};\n{own}",
            width.name()
        )
    };
    device.function("rows", name, key, text).map(Some)
}

/// The number of rows of `n` elements, and the width of indices.
fn rows_of(x: &Tensor, n: usize) -> (usize, Width) {
    (x.len() / n.max(1), Width::of(x.len()))
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn softmax(device: &Arc<Opened>, log: bool, x: &Tensor, n: usize) -> Result<Option<Tensor>> {
    if x.is_empty() {
        return Ok(None);
    }
    let (rows, width) = rows_of(x, n);
    let name = if log { "penstock_log_softmax" } else { "penstock_softmax" };
    let Some(function) = function(device, name, x.dtype(), DType::I32, (n, width))? else { return Ok(None) };
    let memory = device.allocate(x.dtype(), x.dims())?;
    let mut operands = Operands::new(device);
    let from = operands.address(x)?;
    let args = [Arg::Pointer(memory.address), Arg::Pointer(from), width.number(rows), width.number(n)];
    // SAFETY: the arguments are those of the kernel; both sides have the extents of `x`.
    unsafe { launch(device, &function, rows * 32, &args) }?;
    operands.result(x.dtype(), x.dims(), memory).map(Some)
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn cross_entropy(
    device: &Arc<Opened>,
    logits: &Tensor,
    labels: &Tensor,
    n: usize,
) -> Result<Option<[Tensor; 2]>> {
    if logits.is_empty() {
        return Ok(None);
    }
    let ((rows, width), dtype) = (rows_of(logits, n), logits.dtype());
    let is_dense = labels.dtype() == dtype;
    let name = if is_dense { "penstock_cross_entropy" } else { "penstock_sparse_cross_entropy" };
    let Some(function) = function(device, name, dtype, labels.dtype(), (n, width))? else { return Ok(None) };
    let leading = &logits.dims()[..logits.rank() - 1];
    let (loss, back) = (device.allocate(dtype, leading)?, device.allocate(dtype, logits.dims())?);
    let mut operands = Operands::new(device);
    let (x, t) = (operands.address(logits)?, operands.address(labels)?);
    let args = [loss.address, back.address, x, t].map(Arg::Pointer);
    let args: Vec<Arg> = args.into_iter().chain([width.number(rows), width.number(n)]).collect();
    // SAFETY: the arguments are those of the kernel: a loss for each row, the extents of the logits, and labels that the caller has
    // checked.
    unsafe { launch(device, &function, rows * 32, &args) }?;
    let origins = faults::joined(operands.origins.iter().copied(), None);
    let loss = Tensor::on_device(dtype, leading, Box::new(CudaMemory { memory: loss, origins: origins.clone() }))?;
    Ok(Some([loss, operands.result(dtype, logits.dims(), back)?]))
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn logsumexp(
    device: &Arc<Opened>,
    x: &Tensor,
    [outer, n, inner]: [usize; 3],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    if x.is_empty() {
        return Ok(None);
    }
    let (dtype, width) = (x.dtype(), Width::of(x.len()));
    // Those kernels keep no row in registers.
    let function = |name| function(device, name, dtype, DType::I32, (usize::MAX / 2, width));
    let (name, pieces) =
        if inner == 1 { ("penstock_logsumexp_pieces", n.div_ceil(PIECE)) } else { ("penstock_logsumexp_columns", 0) };
    let Some(first) = function(name)? else { return Ok(None) };
    let memory = device.allocate(dtype, dims)?;
    let mut operands = Operands::new(device);
    let (out, from) = (Arg::Pointer(memory.address), Arg::Pointer(operands.address(x)?));
    let numbers = |values: [usize; 3]| values.map(|v| width.number(v));
    let Some(second) = function("penstock_logsumexp_rows")?.filter(|_| inner == 1) else {
        let columns = outer * inner;
        let args: Vec<Arg> = [out, from].into_iter().chain(numbers([columns, n, inner])).collect();
        // SAFETY: the arguments are those of the kernel; the caller's promise of the extents.
        unsafe { launch(device, &first, columns, &args) }?;
        return operands.result(dtype, dims, memory).map(Some);
    };
    let parts = table(device, outer * pieces, 2 * size_of::<f64>())?;
    let at = Arg::Pointer(parts.address);
    let args: Vec<Arg> = [at.clone(), from].into_iter().chain(numbers([outer, n, pieces])).collect();
    // SAFETY: the arguments are those of the kernels; each piece has two numbers of the type of computing.
    unsafe {
        launch(device, &first, (outer * pieces).saturating_mul(32), &args)?;
        let args = [out, at, width.number(outer), width.number(pieces)];
        launch(device, &second, outer, &args)?;
    }
    operands.result(dtype, dims, memory).map(Some)
}
