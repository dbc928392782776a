//! Random numbers.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, DTypeSet, Result, Tensor};
use penstock_ir::Draw;
use penstock_kernels::Philox;
use penstock_kernels::random::{Polar, TRIES, polar_formula};

use super::{Operands, launch};
use crate::formula::Text;
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::program::{compute_type, storage_type};

/// The functions of normals, in floats of 4 or 8 bytes.
fn functions(wide: bool) -> String {
    let computed = if wide { "f64" } else { "f32" };
    let parts = [(Polar::Radius, "radius"), (Polar::Sine, "sine"), (Polar::Cosine, "cosine")];
    let text = |(part, name)| Text::new(&polar_formula(part, wide), computed).function(name);
    format!("struct functions {{\n{}}};\n", parts.map(text).concat())
}

/// Random numbers of a stream; see [`penstock_ir::DeviceKernels::random`].
pub(super) fn random(
    device: &Arc<Opened>,
    draw: Draw,
    stream: Philox,
    dtype: DType,
    dims: &[usize],
) -> Result<Option<Tensor>> {
    let (Some(stored), Some(computed)) = (storage_type(dtype), compute_type(dtype)) else { return Ok(None) };
    let is_float = DTypeSet::FLOAT.contains(dtype);
    let wide = dtype.size() == 8;
    let (name, own) = match draw {
        Draw::Uniform => ("penstock_random_uniform", vec![]),
        Draw::Normal => ("penstock_random_normal", vec![]),
        // A group of half as many numbers has half as many blocks.
        Draw::TruncatedNormal => ("penstock_random_truncated", vec![Arg::U32(if wide { TRIES / 2 } else { TRIES })]),
        Draw::Integers { low, high } => {
            let span = (high as u64).wrapping_sub(low as u64) & (u64::MAX >> (64 - 8 * dtype.size()));
            ("penstock_random_integers", vec![Arg::U64(low as u64), Arg::U64(span)])
        }
    };
    let n: usize = dims.iter().product();
    if is_float == matches!(draw, Draw::Integers { .. }) || n == 0 {
        return Ok(None);
    }
    let per: usize = if wide { 2 } else { 4 };
    let function = device.function("random", name, stored, || {
        let functions = if is_float { functions(wide) } else { String::new() };
        let own = if is_float { include_str!("random_floats.cuh") } else { include_str!("random_integers.cuh") };
        let text = include_str!("random.cuh");
        format!("typedef {stored} E;\ntypedef {computed} A;\n#define PER {per}\n{functions}{text}{own}")
    })?;
    let memory = device.allocate(dtype, dims)?;
    let counter = [stream.counter as u64, (stream.counter >> 64) as u64];
    let mut args = vec![Arg::Pointer(memory.address), Arg::U64(n as u64), Arg::U64(stream.key)];
    args.extend(counter.map(Arg::U64));
    args.extend(own);
    // SAFETY: the arguments are those of the kernel, which writes `n` elements of `dtype`; memory of the device is aligned to 256 bytes,
    // and so for a group of elements.
    unsafe { launch(device, &function, n.div_ceil(per), &args) }?;
    Operands::new(device).result(dtype, dims, memory).map(Some)
}
