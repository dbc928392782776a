//! Rows by index.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};

use super::copy::element;
use super::{Operands, Width, launch};
use crate::kernel::Arg;
use crate::opened::Opened;

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn gather(
    device: &Arc<Opened>,
    x: &Tensor,
    indices: &Tensor,
    [batches, outer, n, bytes]: [usize; 4],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let count = indices.len() / batches.max(1);
    if x.dtype().size() == 0 || bytes * count * batches * outer == 0 {
        return Ok(None);
    }
    // Rows are copied in the widest pieces that they consist of.
    let size = [16, 8, 4, 2, 1].into_iter().find(|&size| bytes.is_multiple_of(size)).unwrap_or(1);
    let width = Width::of((x.byte_len() / size).max(batches * outer * count * (bytes / size)));
    let label = if indices.dtype() == DType::I64 { "long long" } else { "int" };
    let function = device.function("gather", "penstock_gather", (size, label, width.name()), || {
        let (index, own) = (width.name(), include_str!("gather.cuh"));
        format!("typedef {index} I;\ntypedef {} E;\ntypedef {label} L;\n{own}", element(size))
    })?;
    let memory = device.allocate(x.dtype(), dims)?;
    let mut operands = Operands::new(device);
    let (from, at) = (operands.address(x)?, operands.address(indices)?);
    let pieces = bytes / size;
    let args = [memory.address, from, at].map(Arg::Pointer).into_iter();
    let args: Vec<Arg> = args.chain([batches, outer, n, count, pieces].map(|v| width.number(v))).collect();
    // SAFETY: the arguments are those of the kernel. `x` is `batches` × `outer` × `n` rows of `bytes` bytes, the result as many blocks of
    // `count` rows, and the caller has checked the indices.
    unsafe { launch(device, &function, batches * outer * count * pieces, &args) }?;
    operands.result(x.dtype(), dims, memory).map(Some)
}
