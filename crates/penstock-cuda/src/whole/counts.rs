//! Counts of integers, whether they ascend, and reductions of rows next to each other.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};
use penstock_kernels::Reduce;
use penstock_kernels::segment::Empty;

use super::copy::zero;
use super::fold::{self, Fold};
use super::{Operands, Width, launch, read_back, table};
use crate::faults;
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::program::storage_type;

fn function(
    device: &Arc<Opened>,
    name: &'static str,
    dtype: DType,
    width: Width,
) -> Result<Option<cudarc::driver::CudaFunction>> {
    let Some(stored) = storage_type(dtype).filter(|_| dtype.is_integer()) else { return Ok(None) };
    let text = || format!("typedef {} I;\ntypedef {stored} E;\n{}", width.name(), include_str!("counts.cuh"));
    device.function("counts", name, (stored, width.name()), text).map(Some)
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn values(
    device: &Arc<Opened>,
    x: &Tensor,
    n: usize,
    length: usize,
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let width = Width::of(x.len());
    if x.is_empty() || dims.contains(&0) {
        return Ok(None);
    }
    let Some(function) = function(device, "penstock_count_values", x.dtype(), width)? else { return Ok(None) };
    let memory = device.allocate(DType::I64, dims)?;
    let mut operands = Operands::new(device);
    let from = operands.address(x)?;
    let bytes = dims.iter().product::<usize>() * DType::I64.size();
    let args = [Arg::Pointer(memory.address), Arg::Pointer(from), width.number(x.len()), width.number(n)];
    let args: Vec<Arg> = args.into_iter().chain([Arg::U64(length as u64)]).collect();
    // SAFETY: the arguments are those of the kernel; the result has `length` numbers for each row of `n` elements.
    unsafe {
        zero(device, memory.address, bytes)?;
        launch(device, &function, x.len(), &args)?;
    }
    operands.result(DType::I64, dims, memory).map(Some)
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn descent(device: &Arc<Opened>, x: &Tensor) -> Result<Option<(Option<usize>, i64)>> {
    let (n, width) = (x.len(), Width::of(x.len()));
    if n == 0 {
        return Ok(None);
    }
    let Some(function) = function(device, "penstock_find_descent", x.dtype(), width)? else { return Ok(None) };
    let mut operands = Operands::new(device);
    let from = operands.address(x)?;
    faults::check_all(&operands.origins, device)?;
    let found = table(device, 2, size_of::<u64>())?;
    let args = [found.address, found.address + size_of::<u64>() as u64, from].map(Arg::Pointer);
    let args: Vec<Arg> = args.into_iter().chain([width.number(n)]).collect();
    let mut bytes = [0; 2 * size_of::<u64>()];
    // SAFETY: the arguments are those of the kernel, and the table has two numbers, of which the first is the greatest there is.
    unsafe {
        let command = crate::queue::Command::Fill { to: found.address, byte: u8::MAX, count: size_of::<u64>() };
        device.queue.push(device, command)?;
        launch(device, &function, n, &args)?;
        read_back(device, found.address, &mut bytes)?;
    }
    let (first, last) = bytes.split_at(size_of::<u64>());
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    let first = usize::try_from(number(first)).ok().filter(|&at| at < n);
    Ok(Some((first, number(last) as i64)))
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn segments(
    device: &Arc<Opened>,
    (op, empty): (Reduce, Empty),
    x: &Tensor,
    offsets: &Tensor,
    [n, row]: [usize; 2],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let dtype = x.dtype();
    let none = match empty {
        Empty::Zero => 0,
        Empty::One => 1,
        _ => return Ok(None),
    };
    let Some(what) = fold::text(Fold::Of(op), dtype).filter(|_| n * row > 0) else { return Ok(None) };
    let index = Width::of((n * row).max(x.len()));
    let name = if row == 1 { "penstock_fold_element_segments" } else { "penstock_fold_segments" };
    let function = device.function("segments", name, (op, none, dtype, index.name()), || {
        format!("typedef {} I;\n#define NONE {none}\n{what}{}", index.name(), include_str!("segments.cuh"))
    })?;
    let memory = device.allocate(dtype, dims)?;
    let mut operands = Operands::new(device);
    let addresses = [memory.address, operands.address(x)?, operands.address(offsets)?];
    let mut args: Vec<Arg> = addresses.into_iter().map(Arg::Pointer).collect();
    args.push(index.number(n));
    args.extend((row > 1).then(|| index.number(row)));
    let threads = if row == 1 { n.saturating_mul(32) } else { n * row };
    // SAFETY: the arguments are those of the kernel. The caller's promise: the offsets are those of `n` segments of the rows of `x`.
    unsafe { launch(device, &function, threads, &args) }?;
    operands.result(dtype, dims, memory).map(Some)
}
