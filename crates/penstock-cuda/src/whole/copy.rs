//! Copies of elements from place to place.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};
use penstock_ir::{BoxCopy, CopyDim, Rest};
use smallvec::SmallVec;

use super::{INDICES, Operands, Width, at_least_one, launch_moving};
use crate::kernel::Arg;
use crate::opened::Opened;
use crate::queue::Command;

/// Bytes that a thread copies at a time where memory allows.
const WIDEST: usize = 16;
/// The side of a tile of a transposition.
const TILE: usize = 32;

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn moved(
    device: &Arc<Opened>,
    dtype: DType,
    dims: &[usize],
    rest: Rest<'_>,
    copies: &[BoxCopy<'_>],
) -> Result<Option<Tensor>> {
    if dtype.size() == 0 {
        return Ok(None);
    }
    let memory = device.allocate(dtype, dims)?;
    let len: usize = dims.iter().product();
    let mut operands = Operands::new(device);
    match rest {
        Rest::Element(value) if len > 0 => {
            let source = operands.address(value)?;
            let everywhere = [CopyDim { extent: len, from: 0, to: 1 }];
            // SAFETY: the memory has `len` elements, and the value is one.
            unsafe { copy(device, dtype.size(), memory.address, len, source, 1, &everywhere, (0, 0)) }?;
        }
        Rest::Zeros if len > 0 => {
            // SAFETY: the memory has as many bytes.
            unsafe { zero(device, memory.address, len * dtype.size()) }?;
        }
        _ => {}
    }
    for part in copies {
        let source = operands.address(part.source)?;
        // SAFETY: the caller's promise: each copy lies within its source and the result.
        unsafe {
            copy(device, dtype.size(), memory.address, len, source, part.source.len(), &part.dims, (part.from, part.to))
        }?;
    }
    operands.result(dtype, dims, memory).map(Some)
}

/// Queues zeros.
///
/// # Safety
/// The address is of memory of this device for as many bytes.
pub(super) unsafe fn zero(device: &Opened, at: u64, bytes: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { device.queue.push(device, Command::Fill { to: at, byte: 0, count: bytes }) }
}

/// Dimensions without those of one entry, merged where both sides step through two as through one.
fn merged(dims: &[CopyDim]) -> SmallVec<[CopyDim; 6]> {
    let mut out: SmallVec<[CopyDim; 6]> = SmallVec::new();
    for &dim in dims.iter().rev().filter(|d| d.extent != 1) {
        match out.last_mut() {
            Some(inner)
                if dim.from == inner.from * inner.extent as isize && dim.to == inner.to * inner.extent as isize =>
            {
                inner.extent *= dim.extent;
            }
            _ => out.push(dim),
        }
    }
    out.reverse();
    out
}

/// How many elements can be copied as one: the innermost dimension lies side by side on both sides, and everything else steps by whole
/// numbers of so many.
fn pack(size: usize, dims: &[CopyDim], (from, to): (usize, usize)) -> usize {
    let Some((inner, outer)) = dims.split_last() else { return 1 };
    if inner.from != 1 || inner.to != 1 {
        return 1;
    }
    let mut pack = (WIDEST / size).max(1);
    let fits = |pack: usize| {
        let whole = |n: usize| n.is_multiple_of(pack);
        let steps = outer.iter().all(|d| whole(d.from.unsigned_abs()) && whole(d.to.unsigned_abs()));
        whole(inner.extent) && whole(from) && whole(to) && steps
    };
    while pack > 1 && !fits(pack) {
        pack /= 2;
    }
    pack
}

pub(super) fn element(size: usize) -> &'static str {
    match size {
        1 => "unsigned char",
        2 => "unsigned short",
        4 => "unsigned int",
        8 => "unsigned long long",
        _ => "penstock_pack<unsigned long long, 2>",
    }
}

/// Queues a copy from a tensor of `from_len` elements to one of `to_len`.
///
/// # Safety
/// Both addresses are of memory of this device for as many elements of `size` bytes, and the copy stays within.
#[expect(clippy::too_many_arguments, reason = "two arrays and what goes between them")]
pub(crate) unsafe fn copy(
    device: &Arc<Opened>,
    size: usize,
    to: u64,
    to_len: usize,
    from: u64,
    from_len: usize,
    dims: &[CopyDim],
    (first, target): (usize, usize),
) -> Result<()> {
    if dims.iter().any(|d| d.extent == 0) {
        return Ok(());
    }
    let mut dims = merged(dims);
    let pack = pack(size, &dims, (first, target));
    if pack > 1
        && let Some((inner, outer)) = dims.split_last_mut()
    {
        inner.extent /= pack;
        for dim in outer {
            dim.from /= pack as isize;
            dim.to /= pack as isize;
        }
    }
    let size = size * pack;
    let (first, target) = (first / pack, target / pack);
    let n: usize = dims.iter().map(|d| d.extent).product();
    let bytes = 2 * n * size;
    let width = Width::of(n.max(to_len).max(from_len));
    if let Some((a, b)) = turned(&dims) {
        let (along_a, along_b) = (dims[a], dims[b]);
        let outer: SmallVec<[CopyDim; 6]> =
            dims.iter().enumerate().filter(|&(i, _)| i != a && i != b).map(|(_, &d)| d).collect();
        let outer = at_least_one(outer, CopyDim { extent: 1, from: 0, to: 0 });
        let count: usize = outer.iter().map(|d| d.extent).product();
        let function = device.function("transpose", "penstock_transpose", (size, outer.len(), width.name()), || {
            text(size, outer.len(), width) + include_str!("transpose.cuh")
        })?;
        let number = |n: usize| width.number(n);
        let mut args = vec![Arg::Pointer(to), Arg::Pointer(from), number(first), number(target)];
        args.extend([number(along_a.extent), number(along_b.extent)]);
        args.extend([number(along_a.to as usize), number(along_b.from as usize), number(count)]);
        args.extend(lists(width, &outer));
        let tiles = count * along_a.extent.div_ceil(TILE) * along_b.extent.div_ceil(TILE);
        let threads = tiles.saturating_mul(crate::kernel::BLOCK as usize);
        // SAFETY: the arguments are those of the kernel; the caller's promise.
        return unsafe { launch_moving(device, &function, threads, &args, bytes) };
    }
    let dims = at_least_one(dims, CopyDim { extent: 1, from: 0, to: 0 });
    let function = device.function("copy", "penstock_copy", (size, dims.len(), width.name()), || {
        text(size, dims.len(), width) + include_str!("copy.cuh")
    })?;
    let number = |n: usize| width.number(n);
    let mut args = vec![Arg::Pointer(to), Arg::Pointer(from), number(n), number(first), number(target)];
    args.extend(lists(width, &dims));
    // SAFETY: the arguments are those of the kernel; the caller's promise.
    unsafe { launch_moving(device, &function, n, &args, bytes) }
}

/// The dimension along which the source lies side by side, and that along which the result does, where they are two, and long.
fn turned(dims: &[CopyDim]) -> Option<(usize, usize)> {
    let long = |d: &CopyDim| d.extent >= TILE / 2;
    let a = dims.iter().position(|d| d.from == 1 && d.to > 1 && long(d))?;
    let b = dims.iter().position(|d| d.to == 1 && d.from > 1 && long(d))?;
    Some((a, b))
}

fn text(size: usize, rank: usize, width: Width) -> String {
    format!("typedef {} I;\ntypedef {} E;\n#define RANK {rank}\n{INDICES}", width.name(), element(size))
}

fn lists(width: Width, dims: &[CopyDim]) -> [Arg; 3] {
    [
        width.list(dims.iter().map(|d| d.extent as isize)),
        width.list(dims.iter().map(|d| d.from)),
        width.list(dims.iter().map(|d| d.to)),
    ]
}
