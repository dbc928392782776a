//! Reductions of what is computed piece by piece: the steps of [`crate::reduce`], as functions over raw memory.
//!
//! A program that computes the elements of a row in pieces and folds each gets what [`crate::reduce`] gives for the whole
//! row, bit for bit: the order of accumulation is the same.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::mem::MaybeUninit;
use std::slice;

use num_complex::Complex;
use penstock_data::{DType, Element, bf16, f16, with_dtype};

use crate::arch::dispatch_v3;
use crate::complex::Part;
use crate::num::{Int, Real};
use crate::reduce::{self, Fold, FoldBool, FoldComplex, FoldFloat, FoldInt, LANES, Mean, MeanInt, Reduce};

/// Elements of a row that one set of accumulators takes.
pub const BLOCK: usize = reduce::BLOCK;
/// Elements of a row whose blocks join before they join those of other parts.
pub const PART: usize = reduce::PART;
/// Rows that are folded in sequence, column by column, before they join the rows above.
pub const ROWS: usize = reduce::ROWS;

pub use crate::reduce::{Axis, collapsed, rows_of_part};

/// Memory for one accumulator of any reduction.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Acc([MaybeUninit<u8>; 16]);

impl Acc {
    /// An accumulator that nothing was written to.
    pub const EMPTY: Acc = Acc([MaybeUninit::uninit(); 16]);

    fn get<F: Fold>(&self) -> F::Acc {
        const { assert!(size_of::<F::Acc>() <= 16 && align_of::<F::Acc>() <= 16) };
        // SAFETY: only called on what `set` of the same reduction wrote, by the contracts of the functions in `Folds`.
        unsafe { std::ptr::from_ref(self).cast::<F::Acc>().read() }
    }

    fn set<F: Fold>(&mut self, acc: F::Acc) {
        // SAFETY: as large and as aligned as any accumulator, as `get` asserts.
        unsafe { std::ptr::from_mut(self).cast::<F::Acc>().write(acc) };
    }
}

/// The accumulators of a block of a row.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Lanes([Acc; LANES]);

impl Lanes {
    /// Accumulators that nothing was written to.
    pub const EMPTY: Lanes = Lanes([Acc::EMPTY; LANES]);

    fn typed<F: Fold>(&mut self) -> *mut [F::Acc; LANES] {
        std::ptr::from_mut(self).cast()
    }
}

/// The steps of one reduction of one dtype.
///
/// Each function's accumulators are those that functions of the same value wrote.
#[derive(Clone, Copy, Debug)]
pub struct Folds {
    /// Bytes of an accumulator of a column.
    pub size: usize,
    /// Folds each of `rows` rows of `n` elements, one after the other in memory, to an element of `out`.
    pub rows: unsafe fn(src: *const u8, rows: usize, n: usize, out: *mut u8),
    /// Starts a block.
    pub open: fn(&mut Lanes),
    /// Takes up to [`BLOCK`] elements into a block, a multiple of 64 but for the last of the row.
    pub add: unsafe fn(&mut Lanes, src: *const u8, n: usize),
    /// Ends a block.
    pub close: fn(&mut Lanes) -> Acc,
    /// Joins the accumulators of blocks, or of parts; there is at least one.
    pub tree: fn(&mut [Acc]) -> Acc,
    /// The result of `count` elements.
    pub finish: unsafe fn(acc: &Acc, count: usize, out: *mut u8),
    /// Starts `width` columns at `acc`.
    pub open_columns: unsafe fn(acc: *mut u8, width: usize),
    /// Takes `rows` rows of `width` elements, one after the other in memory.
    pub add_rows: unsafe fn(acc: *mut u8, src: *const u8, rows: usize, width: usize),
    /// Joins columns at `other` to those at `acc`.
    pub join_columns: unsafe fn(acc: *mut u8, other: *const u8, width: usize),
    /// The results of columns of `count` elements.
    pub finish_columns: unsafe fn(acc: *const u8, width: usize, count: usize, out: *mut u8),
}

/// The steps of a reduction; `None` where it does not take the dtype.
pub fn folds(op: Reduce, dtype: DType) -> Option<Folds> {
    match dtype {
        DType::Bool if op == Reduce::Any => Some(of::<FoldBool<{ Reduce::Any as u8 }>>()),
        DType::Bool if op == Reduce::All => Some(of::<FoldBool<{ Reduce::All as u8 }>>()),
        DType::F16 => of_float::<f16>(op),
        DType::Bf16 => of_float::<bf16>(op),
        DType::F32 => of_float::<f32>(op),
        DType::F64 => of_float::<f64>(op),
        DType::C64 => of_complex::<f32>(op),
        DType::C128 => of_complex::<f64>(op),
        _ => with_dtype!(integer, dtype, T => of_int::<T>(op), else None),
    }
}

fn of_float<T: Real + Sync>(op: Reduce) -> Option<Folds> {
    Some(match op {
        Reduce::Sum => of::<FoldFloat<{ Reduce::Sum as u8 }, T>>(),
        Reduce::Prod => of::<FoldFloat<{ Reduce::Prod as u8 }, T>>(),
        Reduce::Max => of::<FoldFloat<{ Reduce::Max as u8 }, T>>(),
        Reduce::Min => of::<FoldFloat<{ Reduce::Min as u8 }, T>>(),
        Reduce::Mean => of::<Mean<FoldFloat<{ Reduce::Sum as u8 }, T>>>(),
        Reduce::Any | Reduce::All => return None,
    })
}

fn of_int<T: Int + Sync>(op: Reduce) -> Option<Folds> {
    Some(match op {
        Reduce::Sum => of::<FoldInt<{ Reduce::Sum as u8 }, T::Signed>>(),
        Reduce::Prod => of::<FoldInt<{ Reduce::Prod as u8 }, T::Signed>>(),
        Reduce::Max => of::<FoldInt<{ Reduce::Max as u8 }, T>>(),
        Reduce::Min => of::<FoldInt<{ Reduce::Min as u8 }, T>>(),
        Reduce::Mean => of::<MeanInt<T>>(),
        Reduce::Any | Reduce::All => return None,
    })
}

fn of_complex<T: Part + Send + Sync>(op: Reduce) -> Option<Folds>
where
    Complex<T>: Element,
{
    Some(match op {
        Reduce::Sum => of::<FoldComplex<{ Reduce::Sum as u8 }, T>>(),
        Reduce::Prod => of::<FoldComplex<{ Reduce::Prod as u8 }, T>>(),
        Reduce::Mean => of::<Mean<FoldComplex<{ Reduce::Sum as u8 }, T>>>(),
        _ => return None,
    })
}

fn of<F: Fold>() -> Folds
where
    F::T: Sync,
{
    Folds {
        size: size_of::<F::Acc>(),
        rows: rows::<F>,
        open: open::<F::Steps>,
        add: add::<F::Steps>,
        close: close::<F::Steps>,
        tree: tree::<F::Steps>,
        finish: finish::<F>,
        open_columns: open_columns::<F::Steps>,
        add_rows: add_rows::<F::Steps>,
        join_columns: join_columns::<F::Steps>,
        finish_columns: finish_columns::<F>,
    }
}

/// # Safety
/// `src` is aligned and readable for `rows * n` elements, `out` aligned and writable for `rows`; they are disjoint.
unsafe fn rows<F: Fold>(src: *const u8, rows: usize, n: usize, out: *mut u8)
where
    F::T: Sync,
{
    for r in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let row = slice::from_raw_parts(src.cast::<F::T>().add(r * n), n);
            out.cast::<F::T>().add(r).write(F::finish(reduce::fold_run::<F::Steps>(row), n));
        }
    }
}

fn open<F: Fold>(lanes: &mut Lanes) {
    // SAFETY: there is room for as many accumulators of any type.
    unsafe { lanes.typed::<F>().write([F::init(); LANES]) };
}

/// # Safety
/// `src` is aligned and readable for `n` elements; the lanes were opened.
unsafe fn add<F: Fold>(lanes: &mut Lanes, src: *const u8, n: usize) {
    // SAFETY: the caller's contract.
    let (run, acc) = unsafe { (slice::from_raw_parts(src.cast::<F::T>(), n), &mut *lanes.typed::<F>()) };
    dispatch_v3(
        #[inline(always)]
        || {
            let mut local = *acc;
            reduce::fold_lanes::<F, false>(run, &mut local);
            *acc = local;
        },
    );
}

fn close<F: Fold>(lanes: &mut Lanes) -> Acc {
    // SAFETY: the lanes were opened, by the contract of `Folds`.
    let mut acc = unsafe { lanes.typed::<F>().read() };
    let mut out = Acc::EMPTY;
    out.set::<F>(reduce::fold_across::<F>(&mut acc));
    out
}

fn tree<F: Fold>(accs: &mut [Acc]) -> Acc {
    let mut n = accs.len();
    while n > 1 {
        for i in 0..n / 2 {
            let joined = F::join(accs[2 * i].get::<F>(), accs[2 * i + 1].get::<F>());
            accs[i].set::<F>(joined);
        }
        if n % 2 == 1 {
            accs[n / 2] = accs[n - 1];
        }
        n = n.div_ceil(2);
    }
    accs[0]
}

/// # Safety
/// `out` is aligned and writable for one element.
unsafe fn finish<F: Fold>(acc: &Acc, count: usize, out: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe { out.cast::<F::T>().write(F::finish(acc.get::<F>(), count)) };
}

/// # Safety
/// `acc` is aligned and writable for `width` accumulators.
unsafe fn open_columns<F: Fold>(acc: *mut u8, width: usize) {
    for j in 0..width {
        // SAFETY: the caller's contract.
        unsafe { acc.cast::<F::Acc>().add(j).write(F::init()) };
    }
}

/// # Safety
/// `acc` is aligned and holds `width` accumulators; `src` is aligned and readable for `rows * width` elements.
unsafe fn add_rows<F: Fold>(acc: *mut u8, src: *const u8, rows: usize, width: usize) {
    // SAFETY: the caller's contract.
    let acc = unsafe { slice::from_raw_parts_mut(acc.cast::<F::Acc>(), width) };
    dispatch_v3(
        #[inline(always)]
        || {
            for r in 0..rows {
                // SAFETY: the caller's contract.
                let row = unsafe { slice::from_raw_parts(src.cast::<F::T>().add(r * width), width) };
                for (a, &x) in acc.iter_mut().zip(row) {
                    *a = F::join(*a, F::load(x));
                }
            }
        },
    );
}

/// # Safety
/// `acc` and `other` are aligned, disjoint and hold `width` accumulators.
unsafe fn join_columns<F: Fold>(acc: *mut u8, other: *const u8, width: usize) {
    // SAFETY: the caller's contract.
    let (acc, other) = unsafe {
        (slice::from_raw_parts_mut(acc.cast::<F::Acc>(), width), slice::from_raw_parts(other.cast::<F::Acc>(), width))
    };
    dispatch_v3(
        #[inline(always)]
        || {
            for (a, &b) in acc.iter_mut().zip(other) {
                *a = F::join(*a, b);
            }
        },
    );
}

/// # Safety
/// `acc` is aligned and holds `width` accumulators; `out` is aligned and writable for `width` elements.
unsafe fn finish_columns<F: Fold>(acc: *const u8, width: usize, count: usize, out: *mut u8) {
    for j in 0..width {
        // SAFETY: the caller's contract.
        unsafe { out.cast::<F::T>().add(j).write(F::finish(acc.cast::<F::Acc>().add(j).read(), count)) };
    }
}
