//! What is kept of many elements: places of those that are not zero, distinct ones.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use penstock_data::{DType, Result, Tensor};
use penstock_ir::Selection;
use penstock_kernels::sort::{Direction, Rows};

use super::copy::element;
use super::{Operands, Width, launch, read_back, scan, select, table};
use crate::faults;
use crate::kernel::Arg;
use crate::memory::Memory;
use crate::opened::Opened;
use crate::program::storage_type;

/// Elements of a tile, as in the kernels' text.
const TILE: usize = 1024;

/// Elements of which some are kept.
struct Compaction<'d> {
    device: &'d Arc<Opened>,
    width: Width,
    n: usize,
    tiles: usize,
    /// The type of the elements.
    stored: &'static str,
    /// What stands in front of the kernels' text, what follows it, and what tells both.
    more: [String; 2],
    key: (&'static str, usize),
}

impl<'d> Compaction<'d> {
    /// Of `n` elements of the type `stored`, those that are not zero.
    fn new(
        device: &'d Arc<Opened>,
        n: usize,
        stored: &'static str,
        key: (&'static str, usize),
        more: [String; 2],
    ) -> Compaction<'d> {
        Compaction { device, width: Width::of(n), n, tiles: n.div_ceil(TILE), stored, more, key }
    }

    /// Queues a kernel of these addresses, of `n` and the number of tiles, and of what follows.
    ///
    /// # Safety
    /// As [`launch`]: these are its arguments.
    unsafe fn run(&self, name: &'static str, addresses: &[u64], rest: Option<Arg>) -> Result<()> {
        let function = self.device.function("compact", name, (self.stored, self.key, self.width.name()), || {
            let (index, stored, [before, behind]) = (self.width.name(), self.stored, &self.more);
            format!("typedef {index} I;\ntypedef {stored} E;\n{before}{}{behind}", include_str!("compact.cuh"))
        })?;
        let mut args: Vec<Arg> = addresses.iter().map(|&a| Arg::Pointer(a)).collect();
        args.extend([self.n, self.tiles].map(|v| self.width.number(v)));
        args.extend(rest);
        // SAFETY: the caller's promise.
        unsafe { launch(self.device, &function, self.tiles.saturating_mul(32), &args) }
    }

    /// For each tile, and behind them all, how many elements before are kept, and how many are kept in all.
    ///
    /// # Safety
    /// The address is of memory of this device for the elements.
    unsafe fn places(&self, from: u64) -> Result<(Memory, usize)> {
        let size = if matches!(self.width, Width::Wide) { size_of::<u64>() } else { size_of::<u32>() };
        let (counts, before) = (table(self.device, self.tiles + 1, size)?, table(self.device, self.tiles + 1, size)?);
        // SAFETY: the arguments are those of the kernels; the tables have an entry for each tile, and one more.
        unsafe {
            self.run("penstock_count_kept", &[counts.address, from], None)?;
            scan::sums_before(self.device, self.width, before.address, counts.address, self.tiles + 1)?;
        }
        let mut total = [0; size_of::<u64>()];
        // SAFETY: the last entry of the table.
        unsafe { read_back(self.device, before.address + (self.tiles * size) as u64, &mut total[..size]) }?;
        Ok((before, u64::from_ne_bytes(total) as usize))
    }
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn nonzero(device: &Arc<Opened>, x: &Tensor) -> Result<Option<Tensor>> {
    let (Some(stored), rank) = (storage_type(x.dtype()), x.rank()) else { return Ok(None) };
    if x.is_empty() || rank == 0 {
        return Ok(None);
    }
    let mut operands = Operands::new(device);
    let from = operands.address(x)?;
    faults::check_all(&operands.origins, device)?;
    let more = [format!("#define RANK {rank}\n"), include_str!("nonzero.cuh").to_string()];
    let what = Compaction::new(device, x.len(), stored, ("", rank), more);
    // SAFETY: `x` has as many elements.
    let (before, total) = unsafe { what.places(from) }?;
    let dims = [total, rank];
    let memory = device.allocate(DType::I64, &dims)?;
    if total > 0 {
        let extents = what.width.list(x.dims().iter().map(|&d| d as isize));
        // SAFETY: the arguments are those of the kernel; there is a row for each element that is kept.
        unsafe { what.run("penstock_write_indices", &[memory.address, before.address, from], Some(extents)) }?;
    }
    operands.result(DType::I64, &dims, memory).map(Some)
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn unique(device: &Arc<Opened>, x: &Tensor, positions: DType) -> Result<Option<[Tensor; 3]>> {
    let (n, dtype) = (x.len(), x.dtype());
    let order = Selection {
        rows: Rows { outer: 1, n, inner: 1 },
        k: n,
        direction: Direction::Ascending,
        nan_first: false,
        elements: true,
        positions: Some(DType::I32),
    };
    let Some(stored) = storage_type(dtype).filter(|_| n <= i32::MAX as usize) else { return Ok(None) };
    // SAFETY: `x` is one row, and the results have an element for each of its elements.
    let Some(sorted) = unsafe { select::select(device, &order, x, &[n]) }? else { return Ok(None) };
    let [sorted, places] = &sorted[..] else { return Ok(None) };
    let mut operands = Operands::new(device);
    let [values, sorted, places] = [operands.address(x)?, operands.address(sorted)?, operands.address(places)?];
    faults::check_all(&operands.origins, device)?;
    let label = if positions == DType::I64 { "long long" } else { "int" };
    let run = |name: &'static str, addresses: &[u64]| {
        let function = device.function("unique", name, (stored, label), || {
            format!("typedef {stored} V;\ntypedef {label} L;\n{}", include_str!("unique.cuh"))
        })?;
        let mut args: Vec<Arg> = addresses.iter().map(|&a| Arg::Pointer(a)).collect();
        args.push(Arg::U32(n as u32));
        // SAFETY: the arguments are those of the kernels: tables and results have an entry for each element, or each kind.
        unsafe { launch(device, &function, n, &args) }
    };
    let (heads, numbers) = (table(device, n, size_of::<u32>())?, table(device, n, size_of::<u32>())?);
    let marks = table(device, n, 1)?;
    run("penstock_find_heads", &[heads.address, marks.address, sorted, places])?;
    let moved = element(dtype.size());
    let more = [format!("typedef {moved} V;\n"), include_str!("distinct.cuh").to_string()];
    let what = Compaction::new(device, n, "u8", (moved, 0), more);
    // SAFETY: there is a mark for each element.
    let (before, total) = unsafe { what.places(marks.address) }?;
    let memory =
        [device.allocate(dtype, &[total])?, device.allocate(positions, &[n])?, device.allocate(positions, &[total])?];
    let [out, kinds, counts] = [0, 1, 2].map(|i| memory[i].address);
    // SAFETY: the arguments are those of the kernel: there is a result for each mark.
    unsafe {
        let addresses = [out, numbers.address, before.address, marks.address, values];
        what.run("penstock_write_distinct", &addresses, None)?;
    }
    run("penstock_number_kinds", &[kinds, counts, sorted, places, heads.address, numbers.address])?;
    let [out, kinds, counts] = memory;
    Ok(Some([
        operands.made(dtype, &[total], out)?,
        operands.made(positions, &[n], kinds)?,
        operands.result(positions, &[total], counts)?,
    ]))
}
