//! Rows that others are combined into.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};
use penstock_ir::CopyDim;
use penstock_kernels::Binary;

use super::copy::{copy, element};
use super::{Operands, Width, launch};
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// How an update is joined to what a row has, as a function of the kernel's text; `None` where there is none for the dtype.
fn text(op: Option<Binary>, dtype: DType) -> Option<String> {
    let Some(op) = op else {
        let stored = element(dtype.size());
        return Some(format!(
            "typedef {stored} E;\n#define OVERWRITES 1\n__device__ inline E penstock_joined(E, E b) {{ return b; }}\n"
        ));
    };
    let (stored, computed) = (storage_type(dtype)?, compute_type(dtype)?);
    let value = match op {
        Binary::Add => "x + y",
        Binary::Sub => "x - y",
        // NaN if there is one, and the first of equal ones.
        Binary::Max => "!(x >= y) && x == x ? y : x",
        Binary::Min => "!(x <= y) && x == x ? y : x",
        _ => return None,
    };
    Some(format!(
        "typedef {stored} E;\n#define OVERWRITES 0\n__device__ inline E penstock_joined(E a, E b) {{\n    \
         const {computed} x = penstock_load(a), y = penstock_load(b);\n    penstock_store(a, {computed}({value}));\n    return a;\n}}\n"
    ))
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn rows(
    device: &Arc<Opened>,
    op: Option<Binary>,
    x: &Tensor,
    updates: &Tensor,
    [into, which]: [&Tensor; 2],
    width: usize,
) -> Result<Option<Tensor>> {
    let (dtype, count) = (x.dtype(), which.len());
    if dtype.size() == 0 || count * width == 0 {
        return Ok(None);
    }
    let Some(joined) = text(op, dtype) else { return Ok(None) };
    let index = Width::of(x.len().max(updates.len()));
    let label = if into.dtype() == DType::I64 { "long long" } else { "int" };
    let function = device.function("update", "penstock_update_rows", (op, dtype, label, index.name()), || {
        let own = include_str!("update.cuh");
        format!("typedef {} I;\ntypedef {label} L;\n{joined}{own}", index.name())
    })?;
    let memory = device.allocate(dtype, x.dims())?;
    let mut operands = Operands::new(device);
    let [from, more, into, which] =
        [operands.address(x)?, operands.address(updates)?, operands.address(into)?, operands.address(which)?];
    let all = [CopyDim { extent: x.len(), from: 1, to: 1 }];
    // SAFETY: both have the elements of `x`.
    unsafe { copy(device, dtype.size(), memory.address, x.len(), from, x.len(), &all, (0, 0)) }?;
    let args = [memory.address, more, into, which].map(Arg::Pointer).into_iter();
    let args: Vec<Arg> = args.chain([count, width].map(|v| index.number(v))).collect();
    // SAFETY: the arguments are those of the kernel. The caller's promise: the order names rows of `x` and of the updates.
    unsafe { launch(device, &function, count * width, &args) }?;
    operands.result(dtype, x.dims(), memory).map(Some)
}
