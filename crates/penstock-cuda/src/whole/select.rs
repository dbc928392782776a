//! The first elements of rows in some order: sorting, selection, extreme places.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::sync::Arc;

use cudarc::driver::CudaFunction;
use penstock_data::{DType, Result, Tensor};
use penstock_ir::Selection;
use penstock_kernels::sort::{Direction, Rows, Side};
use smallvec::SmallVec;

use super::{Operands, Width, launch, scan, table};
use crate::device::CudaMemory;
use crate::faults;
use crate::kernel::{Arg, BLOCK};
use crate::memory::Memory;
use crate::opened::Opened;
use crate::program::storage_type;

/// Elements of short rows that a block of threads sorts at once, as in the kernels' text.
const SHORT: usize = 2048;
/// Elements of which a warp finds the first, as there.
const STRETCH: usize = 4096;
/// The elements of a tile, a part of a long row, where an element has `size` bytes; as in the kernels' text.
fn tile(size: usize) -> usize {
    BLOCK as usize * if size == 8 { 8 } else { 16 }
}

/// The bits of a digit, and the numbers that it has.
const DIGIT: usize = 8;
const DIGITS: usize = 1 << DIGIT;

/// A kernel for one order of one dtype, with positions of another.
fn function(
    device: &Arc<Opened>,
    name: &'static str,
    dtype: DType,
    (direction, nan_first): (Direction, bool),
    positions: Option<DType>,
    width: Width,
) -> Result<CudaFunction> {
    let descends = u8::from(direction == Direction::Descending);
    let nan_first = u8::from(nan_first && direction == Direction::Ascending);
    let label = if positions == Some(DType::I64) { "long long" } else { "int" };
    device.function("select", name, (dtype, descends, nan_first, label, width.name()), || {
        let (index, stored) = (width.name(), storage_type(dtype).unwrap_or_default());
        let own = include_str!("select.cuh");
        format!(
            "typedef {index} I;\ntypedef {stored} E;\ntypedef {label} L;\n#define DESCENDING {descends}\n\
             #define NAN_FIRST {nan_first}\n{own}"
        )
    })
}

/// Whether there are kernels for a dtype.
fn is_ordered(dtype: DType) -> bool {
    storage_type(dtype).is_some() && dtype != DType::Bool && !dtype.is_complex()
}

/// The kernels for one order of one dtype.
struct Kernels<'d> {
    device: &'d Arc<Opened>,
    selection: &'d Selection,
    dtype: DType,
    width: Width,
    /// Where the elements and the positions go; 0 where they are not asked for.
    results: [u64; 2],
    from: u64,
}

impl Kernels<'_> {
    /// Queues a kernel of these addresses, numbers and, where it has one, shift.
    ///
    /// # Safety
    /// As [`launch`]: these are its arguments.
    unsafe fn run(
        &self,
        name: &'static str,
        threads: usize,
        addresses: &[u64],
        numbers: &[usize],
        shift: Option<u32>,
    ) -> Result<()> {
        let mut args: Vec<Arg> = addresses.iter().map(|&a| Arg::Pointer(a)).collect();
        args.extend(numbers.iter().map(|&n| self.width.number(n)));
        args.extend(shift.map(Arg::U32));
        let Selection { direction, nan_first, positions, .. } = *self.selection;
        let function = function(self.device, name, self.dtype, (direction, nan_first), positions, self.width)?;
        // SAFETY: the caller's promise.
        unsafe { launch(self.device, &function, threads, &args) }
    }

    /// Bytes of a key.
    fn key(&self) -> usize {
        self.dtype.size().max(4)
    }

    /// Rows that a block of threads sorts at once.
    ///
    /// # Safety
    /// The addresses are of memory of this device for the extents of the selection.
    unsafe fn short(&self) -> Result<()> {
        let Selection { rows: Rows { n, inner, .. }, k, .. } = *self.selection;
        let (rows, room) = (self.rows(), n.next_power_of_two());
        let threads = rows.div_ceil(SHORT / room).saturating_mul(BLOCK as usize);
        let [elements, positions] = self.results;
        // SAFETY: the arguments are those of the kernel; a row fits its room, and that a block's.
        unsafe {
            let addresses = [elements, positions, self.from];
            self.run("penstock_select_short", threads, &addresses, &[rows, n, k, inner, room], None)
        }
    }

    /// The first element of each row.
    ///
    /// # Safety
    /// As [`Kernels::short`], where one element of each row is asked for.
    unsafe fn first(&self) -> Result<()> {
        let Rows { outer, n, inner } = self.selection.rows;
        let stretches = n.div_ceil(STRETCH);
        let all = outer * stretches * inner;
        let (keys, places) = (table(self.device, all, self.key())?, table(self.device, all, size_of::<u64>())?);
        let [elements, positions] = self.results;
        let threads = if inner == 1 { all.saturating_mul(32) } else { all };
        // SAFETY: the arguments are those of the kernels; each stretch has a key and a place.
        unsafe {
            let addresses = [elements, positions, keys.address, places.address, self.from];
            self.run("penstock_first_of_stretches", threads, &addresses, &[all, n, inner, stretches], None)?;
            if stretches == 1 {
                return Ok(());
            }
            let addresses = [elements, positions, self.from, keys.address, places.address];
            let numbers = [self.rows(), n, inner, stretches];
            self.run("penstock_first_of_rows", self.rows().saturating_mul(32), &addresses, &numbers, None)
        }
    }

    /// Long rows, by one digit of the keys after the other.
    ///
    /// # Safety
    /// As [`Kernels::short`]; positions have 32 bits.
    unsafe fn long(&self) -> Result<()> {
        let Selection { rows: Rows { n, inner, .. }, k, .. } = *self.selection;
        let rows = self.rows();
        let (all, tiles) = (rows * n, n.div_ceil(tile(self.dtype.size())));
        let counted = rows * tiles * DIGITS;
        let [elements, positions] = self.results;
        // Equal integers are the same, so that no places are needed to tell elements.
        let needs_places = positions != 0 || !self.dtype.is_integer();
        let lists = || -> Result<_> {
            let places = needs_places.then(|| table(self.device, all, size_of::<u32>())).transpose()?;
            Ok((table(self.device, all, self.key())?, places))
        };
        let places_of = |places: &Option<Memory>| places.as_ref().map_or(0, |memory| memory.address);
        let (mut now, mut next) = (lists()?, lists()?);
        let (counts, starts) =
            (table(self.device, counted, size_of::<u64>())?, table(self.device, counted, size_of::<u64>())?);
        let threads = (rows * tiles).saturating_mul(BLOCK as usize);
        // SAFETY: the arguments are those of the kernels: there is a key, and a place where one is asked for, for each element, and a count for each digit of each
        // tile, of which the sums before it are places among all keys.
        unsafe {
            let addresses = [now.0.address, places_of(&now.1), self.from];
            self.run("penstock_keys", all, &addresses, &[all, n, inner], None)?;
            for digit in 0..self.dtype.size() {
                let shift = Some((digit * DIGIT) as u32);
                let addresses = [counts.address, now.0.address];
                self.run("penstock_count_digits", threads, &addresses, &[rows, n, tiles], shift)?;
                scan::sums_before(self.device, self.width, starts.address, counts.address, counted)?;
                let [(to_keys, to_places), (keys, places)] =
                    [&next, &now].map(|lists| (lists.0.address, places_of(&lists.1)));
                let addresses = [to_keys, to_places, keys, places, starts.address];
                self.run("penstock_move_by_digit", threads, &addresses, &[rows, n, tiles], shift)?;
                std::mem::swap(&mut now, &mut next);
            }
            let addresses = [elements, positions, self.from, now.0.address, places_of(&now.1)];
            self.run("penstock_take_first", rows * k, &addresses, &[rows, n, k, inner], None)
        }
    }

    fn rows(&self) -> usize {
        self.selection.rows.outer * self.selection.rows.inner
    }
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn select(
    device: &Arc<Opened>,
    selection: &Selection,
    x: &Tensor,
    dims: &[usize],
) -> Result<Option<SmallVec<[Tensor; 2]>>> {
    let Selection { rows, k, elements, positions, .. } = *selection;
    if !is_ordered(x.dtype()) || x.is_empty() || k == 0 || rows.n > u32::MAX as usize {
        return Ok(None);
    }
    let mut made: SmallVec<[_; 2]> = SmallVec::new();
    let mut results = [0; 2];
    for (to, dtype) in results.iter_mut().zip([elements.then_some(x.dtype()), positions]) {
        if let Some(dtype) = dtype {
            let memory = device.allocate(dtype, dims)?;
            *to = memory.address;
            made.push((dtype, memory));
        }
    }
    let mut operands = Operands::new(device);
    let from = operands.address(x)?;
    let width = Width::of(x.len());
    let kernels = Kernels { device, selection, dtype: x.dtype(), width, results, from };
    // SAFETY: the caller's promise: `x` has the rows of the selection, and the results have `k` elements for each.
    unsafe {
        if k == 1 {
            kernels.first()?;
        } else if rows.n <= SHORT {
            kernels.short()?;
        } else {
            kernels.long()?;
        }
    }
    let origins = faults::joined(operands.origins.iter().copied(), None);
    let tensor =
        |(dtype, memory)| Tensor::on_device(dtype, dims, Box::new(CudaMemory { memory, origins: origins.clone() }));
    made.into_iter().map(tensor).collect::<Result<_>>().map(Some)
}

/// # Safety
/// As for [`penstock_ir::DeviceKernels`].
pub(super) unsafe fn search(
    device: &Arc<Opened>,
    side: Side,
    sorted: &Tensor,
    n: usize,
    values: &Tensor,
    dtype: DType,
) -> Result<Option<Tensor>> {
    if !is_ordered(values.dtype()) || sorted.is_empty() || values.is_empty() {
        return Ok(None);
    }
    let (all, rows, width) = (values.len(), sorted.len() / n, Width::of(sorted.len().max(values.len())));
    let order = (Direction::Ascending, false);
    let function = function(device, "penstock_search", values.dtype(), order, Some(dtype), width)?;
    let memory = device.allocate(dtype, values.dims())?;
    let mut operands = Operands::new(device);
    let addresses = [memory.address, operands.address(sorted)?, operands.address(values)?];
    let mut args: Vec<Arg> = addresses.into_iter().map(Arg::Pointer).collect();
    args.extend([all, n, all / rows].map(|v| width.number(v)));
    args.push(Arg::U32(u32::from(side == Side::Right)));
    // SAFETY: the arguments are those of the kernel; the caller's promise: there are as many values for each row.
    unsafe { launch(device, &function, all, &args) }?;
    operands.result(dtype, values.dims(), memory).map(Some)
}
