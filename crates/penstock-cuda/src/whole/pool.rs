//! Pooling, and its transposes.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{Result, Tensor};
use penstock_ir::Pooling;
use penstock_kernels::pooling::{AtMax, Windows};

use super::{Operands, Width, launch, table};
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn pool(
    device: &Arc<Opened>,
    kind: Pooling,
    windows: &Windows,
    operands: &[&Tensor],
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let [first, rest @ ..] = operands else { return Ok(None) };
    let dtype = first.dtype();
    let (Some(stored), Some(computed)) = (storage_type(dtype), compute_type(dtype)) else { return Ok(None) };
    if dims.contains(&0) || operands.iter().any(|t| t.is_empty()) {
        return Ok(None);
    }
    let pixels = |input: bool| {
        let axes = windows.axes.iter().map(|a| if input { a.input } else { a.output });
        windows.batch * axes.product::<usize>() * windows.channels
    };
    let width = Width::of(pixels(true).max(pixels(false)));
    let memory = device.allocate(dtype, dims)?;
    let mut held = Operands::new(device);
    let x = held.address(first)?;
    let values = rest.first().map(|v| held.address(v)).transpose()?;
    let run = |name: &'static str, at: &[u64], threads: usize| {
        let function = device.function("pool", name, (stored, width.name()), || {
            let (index, own) = (width.name(), include_str!("pool.cuh"));
            format!("typedef {index} I;\ntypedef {stored} E;\ntypedef {computed} A;\n{own}")
        })?;
        let mut args: Vec<Arg> = at.iter().map(|&a| Arg::Pointer(a)).collect();
        args.extend([windows.batch, windows.channels].map(|v| width.number(v)));
        let axes = windows.axes.iter().flat_map(|a| [a.input, a.window, a.output, a.stride, a.dilation, a.before]);
        args.push(width.list(axes.map(|v| v as isize)));
        // SAFETY: the arguments are those of the kernel, of which the last is 18 numbers in a row. The windows are those of the operands
        // and of the result, as the host's kernels rely on; the places have room for one of each output.
        unsafe { launch(device, &function, threads, &args) }
    };
    let out = memory.address;
    match (kind, values) {
        (Pooling::Max, _) => run("penstock_max_pool", &[out, x], pixels(false))?,
        (Pooling::Mean, _) => run("penstock_mean_pool", &[out, x], pixels(false))?,
        (Pooling::MeanGrad, _) => run("penstock_mean_pool_grad", &[out, x], pixels(true))?,
        (Pooling::AtMax(what), Some(values)) => {
            let places = table(device, pixels(false), size_of::<u64>())?;
            run("penstock_max_places", &[places.address, x], pixels(false))?;
            let (name, threads) = match what {
                AtMax::Take => ("penstock_take_max", pixels(false)),
                AtMax::Give => ("penstock_give_max", pixels(true)),
            };
            run(name, &[out, values, places.address], threads)?;
        }
        (Pooling::AtMax(_), None) => return Ok(None),
    }
    held.result(dtype, dims, memory).map(Some)
}
