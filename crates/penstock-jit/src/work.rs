//! Work on small arrays, which machine code asks for: kernels on memory that is laid out ahead.

#![expect(unsafe_code, reason = "hands raw memory to kernels")]

use std::sync::Mutex;

use penstock_data::{DType, Dims, Tensor};
use penstock_kernels::matmul::matmul;
use penstock_kernels::{Lane, LoopFn, Reduce, elementwise, reduce};
use smallvec::SmallVec;

/// The number of a place: an entry of the table of addresses.
pub(crate) type Place = u32;

/// What a place stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// Memory of the run's own, from this line on.
    Own(usize),
    /// The array that this parameter is.
    Param(usize),
    /// A constant array.
    Constant(usize),
    /// Where the code has found a part of another array.
    Part,
}

/// The memory that a run has for arrays.
#[derive(Default, Debug)]
pub(crate) struct Layout {
    pub(crate) slots: Vec<Slot>,
    pub(crate) constants: Vec<Tensor>,
    /// The number of lines.
    lines: usize,
}

/// What memory is cut into: arrays start as aligned as buffers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Layout {
    /// A new place.
    pub(crate) fn place(&mut self, slot: Slot) -> Place {
        self.slots.push(slot);
        self.slots.len() as Place - 1
    }

    /// A new place with memory of its own.
    pub(crate) fn own(&mut self, bytes: usize) -> Place {
        let first = self.lines;
        self.lines += bytes.div_ceil(size_of::<Line>());
        self.place(Slot::Own(first))
    }

    /// The bytes from the start of a run's own memory to a line.
    pub(crate) fn offset(line: usize) -> usize {
        line * size_of::<Line>()
    }

    /// Whether there are arrays other than those from outside.
    pub(crate) fn has_own(&self) -> bool {
        self.slots.iter().any(|slot| !matches!(slot, Slot::Param(_)))
    }

    /// The bytes of a run's own memory.
    pub(crate) fn bytes(&self) -> usize {
        self.lines * size_of::<Line>()
    }
}

/// Memory of one run, and the address of each place.
pub(crate) struct RunMemory {
    lines: Vec<Line>,
    table: Vec<*const u8>,
}

// SAFETY: the addresses are of the memory's own lines, or set anew by each run.
unsafe impl Send for RunMemory {}

/// Memory of earlier runs. Nobody waits for it: a child that was forked while it was taken makes its own.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Option<RunMemory>>);

impl Spare {
    pub(crate) fn take(&self, layout: &Layout) -> RunMemory {
        let kept = self.0.try_lock().ok().and_then(|mut kept| kept.take());
        kept.unwrap_or_else(|| RunMemory::new(layout))
    }

    pub(crate) fn put(&self, memory: RunMemory) {
        if let Ok(mut kept) = self.0.try_lock() {
            *kept = Some(memory);
        }
    }
}

impl RunMemory {
    fn new(layout: &Layout) -> RunMemory {
        let mut lines = vec![Line([0; 64]); layout.lines];
        let start = lines.as_mut_ptr();
        let address = |slot: &Slot| match slot {
            // SAFETY: lines were counted as places were made.
            Slot::Own(first) => unsafe { start.add(*first) }.cast_const().cast(),
            Slot::Constant(k) => layout.constants[*k].as_ptr(),
            Slot::Param(_) | Slot::Part => std::ptr::null(),
        };
        let table = layout.slots.iter().map(address).collect();
        RunMemory { lines, table }
    }

    /// The table of addresses, for arguments that lie at these.
    pub(crate) fn table(&mut self, layout: &Layout, ins: &[*const u8]) -> *mut *const u8 {
        for (to, slot) in self.table.iter_mut().zip(&layout.slots) {
            if let Slot::Param(k) = slot {
                *to = ins[*k];
            }
        }
        self.table.as_mut_ptr()
    }

    pub(crate) fn start(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    pub(crate) fn at(&self, place: Place) -> *const u8 {
        self.table[place as usize]
    }
}

/// One piece of work. Places hold as much as it reads and writes there, results are no operands.
#[derive(Debug)]
pub(crate) enum Work {
    /// An elementwise loop; each operand with the bytes between its elements.
    Map { f: LoopFn, n: usize, ins: SmallVec<[(Place, usize); 4]>, out: Place },
    /// An elementwise loop over operands of these extents and sizes of elements.
    Broadcast { f: LoopFn, dims: Dims, size: usize, ins: Vec<(Place, Dims, usize)>, out: Place },
    /// A reduction of rows.
    Rows { fold: unsafe fn(*const u8, usize, usize, *mut u8), rows: usize, n: usize, from: Place, out: Place },
    /// A reduction of the marked dimensions.
    Reduce { how: Reduce, dtype: DType, dims: Dims, marked: SmallVec<[bool; 4]>, from: Place, out: Place },
    /// A product of matrices.
    Product { dtype: DType, m: usize, k: usize, n: usize, ins: [Place; 2], transposed: [bool; 2], out: Place },
    /// An element everywhere.
    Fill { size: usize, n: usize, from: Place, out: Place },
    /// Zeros.
    Clear { bytes: usize, out: Place },
    /// Pieces: where from, at which byte, to which byte, how many.
    Moves { pieces: Vec<(Place, usize, usize, usize)>, out: Place },
    /// Whole arrays, all at once: from, to, how many bytes. By way of a place where one is read that another one is written to.
    Copies { copies: Vec<(Place, Place, usize)>, by: Option<Place> },
}

impl Work {
    /// About how many nanoseconds it takes.
    pub(crate) fn nanoseconds(&self) -> u32 {
        let ns = match self {
            Work::Map { n, .. } => 8 + n / 2,
            Work::Broadcast { dims, .. } => 60 + dims.iter().product::<usize>() / 2,
            Work::Rows { rows, n, .. } => 10 + rows * (5 + n / 4),
            Work::Reduce { dims, .. } => 60 + dims.iter().product::<usize>(),
            Work::Product { m, k, n, .. } => 50 + m * k * n / 8,
            Work::Fill { size, n, .. } => 8 + size * n / 16,
            Work::Clear { bytes, .. } => 8 + bytes / 16,
            Work::Moves { pieces, .. } => 4 + pieces.iter().map(|p| 4 + p.3 / 16).sum::<usize>(),
            Work::Copies { copies, .. } => 4 + copies.iter().map(|c| 8 + c.2 / 8).sum::<usize>(),
        };
        u32::try_from(ns).unwrap_or(u32::MAX)
    }

    /// Does the work; false where an operator rejects what it is given.
    ///
    /// # Safety
    /// `table` has the addresses of the places that it names, which hold what the work was made for.
    unsafe fn run(&self, table: *const *const u8) -> bool {
        // SAFETY: the caller's promise.
        let from = |place: Place| unsafe { *table.add(place as usize) };
        let to = |place: Place| from(place).cast_mut();
        match self {
            Work::Map { f, n, ins, out } => {
                let mut lanes = [Lane::fixed(std::ptr::null()); 4];
                for (lane, &(place, step)) in lanes.iter_mut().zip(ins) {
                    *lane = Lane { ptr: from(place), step };
                }
                // SAFETY: the caller's promise.
                unsafe { f(*n, &lanes[..ins.len()], to(*out)) }.is_ok()
            }
            Work::Broadcast { f, dims, size, ins, out } => {
                let ins: SmallVec<[(*const u8, &[usize], usize); 4]> =
                    ins.iter().map(|(place, dims, size)| (from(*place), &dims[..], *size)).collect();
                // SAFETY: the caller's promise.
                unsafe { elementwise(*f, dims, to(*out), *size, &ins) }.is_ok()
            }
            Work::Rows { fold, rows, n, from: place, out } => {
                // SAFETY: the caller's promise.
                unsafe { fold(from(*place), *rows, *n, to(*out)) };
                true
            }
            Work::Reduce { how, dtype, dims, marked, from: place, out } => {
                // SAFETY: the caller's promise.
                unsafe { reduce(*how, *dtype, from(*place), dims, marked, to(*out)) };
                true
            }
            Work::Product { dtype, m, k, n, ins: [a, b], transposed, out } => {
                // SAFETY: the caller's promise.
                unsafe { matmul(*dtype, *m, *k, *n, from(*a), transposed[0], from(*b), transposed[1], to(*out)) };
                true
            }
            Work::Fill { size, n, from: place, out } => {
                for i in 0..*n {
                    // SAFETY: the caller's promise.
                    unsafe { from(*place).copy_to_nonoverlapping(to(*out).add(i * size), *size) };
                }
                true
            }
            Work::Clear { bytes, out } => {
                // SAFETY: the caller's promise.
                unsafe { to(*out).write_bytes(0, *bytes) };
                true
            }
            Work::Moves { pieces, out } => {
                for &(place, at, behind, bytes) in pieces {
                    // SAFETY: the caller's promise.
                    unsafe { from(place).add(at).copy_to_nonoverlapping(to(*out).add(behind), bytes) };
                }
                true
            }
            Work::Copies { copies, by } => {
                let mut at = 0;
                for &(source, target, bytes) in copies {
                    // SAFETY: the caller's promise; what goes by way of a place has room there for all.
                    unsafe {
                        match by {
                            Some(by) => from(source).copy_to_nonoverlapping(to(*by).add(at), bytes),
                            None => from(source).copy_to(to(target), bytes),
                        }
                    }
                    at += bytes;
                }
                let Some(by) = by else { return true };
                at = 0;
                for &(_, target, bytes) in copies {
                    // SAFETY: the caller's promise; what goes by way of a place has room there for all.
                    unsafe { from(*by).add(at).copy_to_nonoverlapping(to(target), bytes) };
                    at += bytes;
                }
                true
            }
        }
    }
}

/// Does a piece of work for machine code: 0 where it went well.
///
/// # Safety
/// As for [`Work::run`].
pub(crate) unsafe extern "C" fn run_work(work: *const Work, table: *const *const u8) -> i64 {
    // SAFETY: the caller's promise.
    i64::from(!unsafe { (*work).run(table) })
}

/// Copies bytes for machine code.
///
/// # Safety
/// Both are there for so many bytes and do not overlap.
pub(crate) unsafe extern "C" fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { from.copy_to_nonoverlapping(to, bytes) };
}
