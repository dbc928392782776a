//! Elements that follow from where they are: bands of matrices, one-hot rows, ranges.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};
use penstock_ir::ByPlace;

use super::copy::element;
use super::{Operands, Width, launch};
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::program::storage_type;

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn by_place(
    device: &Arc<Opened>,
    what: &ByPlace<'_>,
    dtype: DType,
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let all: usize = dims.iter().product();
    if all == 0 || dtype.size() == 0 {
        return Ok(None);
    }
    let width = Width::of(all);
    // Each operand is at most as long as the result.
    let (name, operands, numbers): (_, &[&Tensor], _) = match *what {
        ByPlace::Band { x, lower, upper } => {
            let Some(&[m, n]) = dims.last_chunk::<2>() else { return Ok(None) };
            ("penstock_band", &[x], vec![m, n, lower.min(m), upper.min(n)])
        }
        ByPlace::OneHot { indices, on, off, extents: [_, depth, inner] } => {
            ("penstock_one_hot", &[indices, on, off], vec![depth, inner])
        }
        ByPlace::Range { start, step } => ("penstock_range", &[start, step], vec![]),
    };
    let is_range = matches!(what, ByPlace::Range { .. });
    let stored = if is_range { storage_type(dtype) } else { Some(element(dtype.size())) };
    let Some(stored) = stored else { return Ok(None) };
    let label = if operands[0].dtype() == DType::I64 { "long long" } else { "int" };
    let function = device.function("place", name, (stored, label, width.name(), is_range), || {
        let own = if is_range { include_str!("range.cuh") } else { include_str!("place.cuh") };
        format!("typedef {} I;\ntypedef {stored} E;\ntypedef {label} L;\n{own}", width.name())
    })?;
    let memory = device.allocate(dtype, dims)?;
    let mut held = Operands::new(device);
    let mut args = vec![Arg::Pointer(memory.address)];
    for operand in operands {
        args.push(Arg::Pointer(held.address(operand)?));
    }
    args.push(width.number(all));
    args.extend(numbers.into_iter().map(|v| width.number(v)));
    // SAFETY: the arguments are those of the kernel. The caller's promise: the operands have the extents that go with the result.
    unsafe { launch(device, &function, all, &args) }?;
    held.result(dtype, dims, memory).map(Some)
}
