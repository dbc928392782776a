//! Reductions over any axes.
//!
//! The order of accumulation is fixed by the shape alone: not by the instruction set, not by the
//! number of threads. Sums of floats add blocks in a balanced tree.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use num_complex::Complex;
use penstock_data::memory::{scratch, scratch_small};
use penstock_data::{DType, DTypeSet, Element, bf16, f16, with_dtype};
use smallvec::SmallVec;

use crate::algebra::Algebra;
use crate::arch::{dispatch_v3, prefetch};
use crate::complex::Part;
use crate::copy::with_width;
use crate::num::{Int, Real};
use crate::pool::{Shared, grain, parallel_for};

/// What a reduction computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Reduce {
    /// The sum; 0 of nothing. Integers wrap.
    Sum,
    /// The product; 1 of nothing. Integers wrap.
    Prod,
    /// The greatest, NaN if there is one; the lowest value (-inf) of nothing.
    Max,
    /// The least, NaN if there is one; the highest value (inf) of nothing.
    Min,
    /// Whether any is true; false of nothing.
    Any,
    /// Whether all are true; true of nothing.
    All,
    /// The mean; NaN of nothing. The sum of integers is taken in 64 bits, wraps, and its quotient is
    /// truncated; 0 of nothing.
    Mean,
}

impl Reduce {
    /// Every reduction, in the order of the discriminants.
    pub const ALL: &[Reduce] =
        &[Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min, Reduce::Any, Reduce::All, Reduce::Mean];

    /// The name, in snake case.
    pub const fn name(self) -> &'static str {
        ["sum", "prod", "max", "min", "any", "all", "mean"][self as usize]
    }
}

/// The dtypes that a reduction takes; its result has the same.
pub const fn reduce_dtypes(op: Reduce) -> DTypeSet {
    match op {
        Reduce::Sum | Reduce::Prod | Reduce::Mean => DTypeSet::NUMERIC,
        Reduce::Max | Reduce::Min => DTypeSet::REAL,
        Reduce::Any | Reduce::All => DTypeSet::BOOL,
    }
}

/// One reduction of one element type.
pub(crate) trait Fold: 'static {
    type T: Copy;
    type Acc: Copy + Send;
    /// The reduction that starts and joins the same way, with one name for all that differ in [`Fold::finish`] alone.
    type Steps: Fold<T = Self::T, Acc = Self::Acc>;
    fn init() -> Self::Acc;
    fn load(x: Self::T) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn finish(acc: Self::Acc, count: usize) -> Self::T;
    /// Whether no further element changes the result.
    #[inline(always)]
    fn settled(_: Self::Acc) -> bool {
        false
    }
}

pub(crate) struct FoldFloat<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Real> Fold for FoldFloat<OP, T> {
    type T = T;
    type Acc = T::Wide;
    type Steps = Self;
    #[inline(always)]
    fn init() -> T::Wide {
        match const { Reduce::ALL[OP as usize] } {
            Reduce::Prod => T::Wide::ONE,
            Reduce::Max => -T::Wide::INFINITY,
            Reduce::Min => T::Wide::INFINITY,
            _ => T::Wide::ZERO,
        }
    }
    #[inline(always)]
    fn load(x: T) -> T::Wide {
        x.widen()
    }
    #[inline(always)]
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        match const { Reduce::ALL[OP as usize] } {
            Reduce::Prod => a * b,
            Reduce::Max => a.max_nan(b),
            Reduce::Min => a.min_nan(b),
            _ => a + b,
        }
    }
    #[inline(always)]
    fn finish(acc: T::Wide, _: usize) -> T {
        T::narrow(acc)
    }
}

/// The mean of elements whose sum is `F`.
pub(crate) struct Mean<F>(PhantomData<F>);

/// A sum that can be divided by a number of elements.
pub(crate) trait Sum: Fold {
    fn over(acc: Self::Acc, count: usize) -> Self::Acc;
}

impl<F: Sum> Fold for Mean<F> {
    type T = F::T;
    type Acc = F::Acc;
    type Steps = F;
    #[inline(always)]
    fn init() -> F::Acc {
        F::init()
    }
    #[inline(always)]
    fn load(x: F::T) -> F::Acc {
        F::load(x)
    }
    #[inline(always)]
    fn join(a: F::Acc, b: F::Acc) -> F::Acc {
        F::join(a, b)
    }
    #[inline(always)]
    fn finish(acc: F::Acc, count: usize) -> F::T {
        F::finish(F::over(acc, count), count)
    }
}

impl<T: Real> Sum for FoldFloat<{ Reduce::Sum as u8 }, T> {
    #[inline(always)]
    fn over(acc: T::Wide, count: usize) -> T::Wide {
        acc / T::Wide::of(count as f64)
    }
}

impl<T: Part + Send> Sum for FoldComplex<{ Reduce::Sum as u8 }, T> {
    #[inline(always)]
    fn over(acc: Complex<T>, count: usize) -> Complex<T> {
        let n = T::from(count).unwrap_or_else(T::nan);
        Complex::new(acc.re / n, acc.im / n)
    }
}

pub(crate) struct FoldInt<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Int> Fold for FoldInt<OP, T> {
    type T = T;
    type Acc = T;
    type Steps = Self;
    #[inline(always)]
    fn init() -> T {
        match const { Reduce::ALL[OP as usize] } {
            Reduce::Prod => T::ONE,
            Reduce::Max => T::LOWEST,
            Reduce::Min => T::HIGHEST,
            _ => T::ZERO,
        }
    }
    #[inline(always)]
    fn load(x: T) -> T {
        x
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        match const { Reduce::ALL[OP as usize] } {
            Reduce::Prod => a.mul(b),
            Reduce::Max => a.max(b),
            Reduce::Min => a.min(b),
            _ => a.add(b),
        }
    }
    #[inline(always)]
    fn finish(acc: T, _: usize) -> T {
        acc
    }
}

pub(crate) struct MeanInt<T>(PhantomData<T>);

impl<T: Int> Fold for MeanInt<T> {
    type T = T;
    type Acc = i64;
    type Steps = Self;
    #[inline(always)]
    fn init() -> i64 {
        0
    }
    #[inline(always)]
    fn load(x: T) -> i64 {
        x.to_i64()
    }
    #[inline(always)]
    fn join(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn finish(acc: i64, count: usize) -> T {
        let quotient = match (count, T::SIGNED) {
            (0, _) => 0,
            (n, true) => acc / n as i64,
            (n, false) => (acc as u64 / n as u64) as i64,
        };
        T::from_i64(quotient)
    }
}

pub(crate) struct FoldComplex<const OP: u8, T>(PhantomData<T>);

impl<const OP: u8, T: Part + Send> Fold for FoldComplex<OP, T> {
    type T = Complex<T>;
    type Acc = Complex<T>;
    type Steps = Self;
    #[inline(always)]
    fn init() -> Complex<T> {
        Complex::new(if OP == Reduce::Prod as u8 { T::one() } else { T::zero() }, T::zero())
    }
    #[inline(always)]
    fn load(x: Complex<T>) -> Complex<T> {
        x
    }
    #[inline(always)]
    fn join(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        if OP == Reduce::Prod as u8 { a * b } else { a + b }
    }
    #[inline(always)]
    fn finish(acc: Complex<T>, _: usize) -> Complex<T> {
        acc
    }
}

pub(crate) struct FoldBool<const OP: u8>;

/// Bytes, of which any but 0 is true: `Any` joins their bits, `All` takes the least.
impl<const OP: u8> Fold for FoldBool<OP> {
    type T = u8;
    type Acc = u8;
    type Steps = Self;
    #[inline(always)]
    fn init() -> u8 {
        if OP == Reduce::All as u8 { u8::MAX } else { 0 }
    }
    #[inline(always)]
    fn load(x: u8) -> u8 {
        x
    }
    #[inline(always)]
    fn join(a: u8, b: u8) -> u8 {
        if OP == Reduce::All as u8 { a.min(b) } else { a | b }
    }
    #[inline(always)]
    fn finish(acc: u8, _: usize) -> u8 {
        u8::from(acc != 0)
    }
    #[inline(always)]
    fn settled(acc: u8) -> bool {
        (acc != 0) == (OP == Reduce::Any as u8)
    }
}

/// Accumulators side by side; a power of two.
pub(crate) const LANES: usize = 32;
/// Elements that one set of accumulators takes before the tree starts.
pub(crate) const BLOCK: usize = 4096;
/// Blocks of a part of a long run; parts may go to different threads.
pub(crate) const PART: usize = 16 * BLOCK;

/// Bytes that are asked for ahead in a long run: a machine by itself does not look beyond a page.
const AHEAD: usize = 8192;

/// Folds a run of at most [`BLOCK`] elements. Where it is `LONG`, more follow.
#[inline(always)]
fn fold_block<F: Fold, const LONG: bool>(run: &[F::T]) -> F::Acc {
    let mut acc = [F::init(); LANES];
    fold_lanes::<F, LONG>(run, &mut acc);
    fold_across::<F>(&mut acc)
}

/// Takes a run into accumulators side by side. Where it is `LONG`, asks for what follows it in memory.
#[inline(always)]
pub(crate) fn fold_lanes<F: Fold, const LONG: bool>(run: &[F::T], acc: &mut [F::Acc; LANES]) {
    let (chunks, rest) = run.as_chunks::<LANES>();
    for chunk in chunks {
        if LONG {
            prefetch::<1, _>(chunk.as_ptr().wrapping_byte_add(AHEAD), size_of_val(chunk));
        }
        for l in 0..LANES {
            acc[l] = F::join(acc[l], F::load(chunk[l]));
        }
    }
    for (a, &x) in acc.iter_mut().zip(rest) {
        *a = F::join(*a, F::load(x));
    }
}

/// Folds accumulators side by side.
#[inline(always)]
pub(crate) fn fold_across<F: Fold>(acc: &mut [F::Acc; LANES]) -> F::Acc {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            acc[l] = F::join(acc[l], acc[l + width]);
        }
        width /= 2;
    }
    acc[0]
}

/// Folds accumulators in a balanced tree.
pub(crate) fn fold_tree<F: Fold>(parts: &mut [F::Acc]) -> F::Acc {
    let mut n = parts.len();
    if n == 0 {
        return F::init();
    }
    while n > 1 {
        for i in 0..n / 2 {
            parts[i] = F::join(parts[2 * i], parts[2 * i + 1]);
        }
        if n % 2 == 1 {
            parts[n / 2] = parts[n - 1];
        }
        n = n.div_ceil(2);
    }
    parts[0]
}

/// Folds a run of at most [`PART`] elements.
fn fold_part<F: Fold>(run: &[F::T]) -> F::Acc {
    dispatch_v3(
        #[inline(always)]
        || {
            if run.len() <= BLOCK {
                return fold_block::<F, false>(run);
            }
            let mut parts: SmallVec<[F::Acc; PART / BLOCK]> = SmallVec::new();
            for block in run.chunks(BLOCK) {
                let part = fold_block::<F, true>(block);
                if F::settled(part) {
                    return part;
                }
                parts.push(part);
            }
            fold_tree::<F>(&mut parts)
        },
    )
}

/// Folds a run of any length, on several threads if it is long.
pub(crate) fn fold_run<F: Fold>(run: &[F::T]) -> F::Acc
where
    F::T: Sync,
{
    if run.len() < LANES {
        // Sequential: what the accumulators side by side would do, but for neutral elements.
        let mut acc = F::init();
        for &x in run {
            acc = F::join(acc, F::load(x));
        }
        return acc;
    }
    if run.len() <= PART {
        return fold_part::<F::Steps>(run);
    }
    // What settles the result is often near the start: no thread is woken for it.
    let first = fold_part::<F::Steps>(&run[..PART]);
    if F::settled(first) {
        return first;
    }
    let parts = run.len().div_ceil(PART);
    let mut accs = scratch(F::init(), parts);
    accs[0] = first;
    let out = Shared(accs.as_mut_ptr());
    let settled = AtomicBool::new(false);
    parallel_for(parts - 1, grain(PART as f64 * size_of::<F::T>() as f64 * 0.05), |range| {
        for i in range.start + 1..range.end + 1 {
            if settled.load(Ordering::Relaxed) {
                break;
            }
            let part = &run[i * PART..run.len().min((i + 1) * PART)];
            let acc = fold_part::<F::Steps>(part);
            // SAFETY: `i` is below the length of `accs`, and no other range has it.
            unsafe { out.get().add(i).write(acc) };
            if F::settled(acc) {
                settled.store(true, Ordering::Relaxed);
            }
        }
    });
    fold_tree::<F::Steps>(&mut accs)
}

/// Folds each of `rows` runs of `W` elements, or of `width` where `W` is 0, that lie side by side.
///
/// # Safety
/// `src` is readable for all runs, `dst` writable for an element each.
unsafe fn fold_short<S: Fold<T = F::T, Acc = F::Acc>, F: Fold, const W: usize>(
    src: *const F::T,
    width: usize,
    rows: usize,
    dst: *mut F::T,
) {
    let width = if W == 0 { width } else { W };
    dispatch_v3(
        #[inline(always)]
        move || {
            for row in 0..rows {
                // SAFETY: the caller's contract.
                unsafe {
                    let mut acc = S::init();
                    for i in 0..width {
                        acc = S::join(acc, S::load(src.add(row * width + i).read()));
                    }
                    dst.add(row).write(F::finish(acc, width));
                }
            }
        },
    );
}

/// Columns of a block of a reduction over rows.
const COLUMNS: usize = 1024;
/// Rows that are added in sequence before their sum joins the total.
pub(crate) const ROWS: usize = 64;

/// Rows that are folded before they join those of other parts, for rows of so many columns: by the shape alone, so that
/// results do not depend on the number of threads.
pub fn rows_of_part(columns: usize) -> usize {
    (PART / columns.max(1)).next_multiple_of(ROWS).max(ROWS)
}

/// The first `width` accumulators, of nothing.
#[inline(always)]
fn opened<F: Fold>(room: &mut [MaybeUninit<F::Acc>; COLUMNS], width: usize) -> &mut [F::Acc] {
    let room = &mut room[..width];
    room.iter_mut().for_each(|acc| _ = acc.write(F::init()));
    // SAFETY: all of them were written.
    unsafe { slice::from_raw_parts_mut(room.as_mut_ptr().cast(), width) }
}

/// Folds `rows` rows, of at most [`COLUMNS`] columns and `stride` elements apart, into `acc`, which has an accumulator for each column.
///
/// # Safety
/// Every row is readable for as many elements as there are accumulators.
#[inline(always)]
unsafe fn fold_rows<F: Fold>(src: *const F::T, rows: usize, stride: usize, acc: &mut [F::Acc]) {
    let (width, mut start) = (acc.len(), 0);
    let mut room = [const { MaybeUninit::uninit() }; COLUMNS];
    while start < rows {
        let block = opened::<F>(&mut room, width);
        let last = rows.min(start + ROWS);
        // SAFETY: row `r` is readable for `width` elements.
        let row = |r: usize| unsafe { slice::from_raw_parts(src.add(r * stride), width) };
        // Four rows join an accumulator while it is in a register, one after the other.
        let whole = start + (last - start) / 4 * 4;
        for r in (start..whole).step_by(4) {
            let rows = [row(r), row(r + 1), row(r + 2), row(r + 3)];
            for (j, a) in block.iter_mut().enumerate() {
                *a = rows.iter().fold(*a, |a, row| F::join(a, F::load(row[j])));
            }
        }
        for r in whole..last {
            for (a, &x) in block.iter_mut().zip(row(r)) {
                *a = F::join(*a, F::load(x));
            }
        }
        for (a, &b) in acc.iter_mut().zip(block.iter()) {
            *a = F::join(*a, b);
        }
        if acc.iter().all(|&a| F::settled(a)) {
            return;
        }
        start += ROWS;
    }
}

/// A collapsed dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The number of entries.
    pub size: usize,
    /// Elements from one to the next.
    pub stride: usize,
}

/// The dimensions of an array that are kept and those that are reduced, without those of one entry, neighbours of a kind as one.
pub fn collapsed(dims: &[usize], axes: &[bool]) -> (SmallVec<[Axis; 6]>, SmallVec<[Axis; 6]>) {
    let (mut kept, mut reduced): (SmallVec<[Axis; 6]>, SmallVec<[Axis; 6]>) = (SmallVec::new(), SmallVec::new());
    let mut last: Option<bool> = None;
    let mut stride = 1;
    for (&size, &axis) in dims.iter().zip(axes).rev() {
        if size == 1 {
            continue;
        }
        let list = if axis { &mut reduced } else { &mut kept };
        match list.last_mut() {
            Some(d) if last == Some(axis) => d.size *= size,
            _ => list.push(Axis { size, stride }),
        }
        last = Some(axis);
        stride *= size;
    }
    kept.reverse();
    reduced.reverse();
    (kept, reduced)
}

/// The offsets of all index tuples over `dims`, in row-major order.
fn offset(dims: &[Axis], mut at: usize) -> usize {
    let mut offset = 0;
    for d in dims.iter().rev() {
        offset += at % d.size * d.stride;
        at /= d.size;
    }
    offset
}

/// # Safety
/// `input` is readable for the product of `dims`, `out` writable for the product of those kept.
unsafe fn run<F: Fold>(input: *const u8, dims: &[usize], axes: &[bool], out: *mut u8)
where
    F::T: Sync,
{
    assert_eq!(dims.len(), axes.len());
    let (input, out) = (input.cast::<F::T>(), out.cast::<F::T>());
    let kept_count: usize = dims.iter().zip(axes).filter(|(_, a)| !**a).map(|(d, _)| d).product();
    let count: usize = dims.iter().zip(axes).filter(|(_, a)| **a).map(|(d, _)| d).product();
    if kept_count == 0 {
        return;
    }
    if count == 0 {
        let value = F::finish(F::init(), 0);
        for i in 0..kept_count {
            // SAFETY: `out` is writable for `kept_count`.
            unsafe { out.add(i).write(value) };
        }
        return;
    }
    let (mut kept, mut reduced) = collapsed(dims, axes);
    let (source, dest) = (Shared(input.cast_mut()), Shared(out));
    let ns = 0.1 * size_of::<F::T>() as f64;
    let inner_reduced = reduced.last().is_some_and(|d| d.stride == 1);
    if inner_reduced || reduced.is_empty() {
        // The runs to fold are contiguous (or single elements).
        let run = reduced.pop().unwrap_or(Axis { size: 1, stride: 1 });
        let runs: usize = reduced.iter().map(|d| d.size).product();
        if let ([Axis { size, stride }], 1, true) = (&kept[..], runs, run.size < LANES)
            && *stride == run.size
        {
            // Short runs side by side, each in sequence as by itself.
            return parallel_for(*size, grain(ns * count as f64 + 0.2), |range| {
                // SAFETY: the runs of the range and their results, which no other range has.
                unsafe {
                    let (src, dst) = (source.get().add(range.start * run.size), dest.get().add(range.start));
                    with_width!(run.size, W => fold_short::<F::Steps, F, W>(src, W, range.len(), dst),
                        else fold_short::<F::Steps, F, 0>(src, run.size, range.len(), dst));
                }
            });
        }
        let fold_one = |k: usize| {
            let base = offset(&kept, k);
            let one = |i: usize| {
                // SAFETY: the offsets are inside the input, and `run.size` elements follow.
                let run = unsafe { slice::from_raw_parts(source.get().add(base + offset(&reduced, i)), run.size) };
                fold_run::<F::Steps>(run)
            };
            let acc = if runs == 1 {
                one(0)
            } else {
                let mut parts: SmallVec<[F::Acc; 16]> = scratch_small((0..runs).map(one));
                fold_tree::<F::Steps>(&mut parts)
            };
            // SAFETY: `k` is below `kept_count`, and no other range has it.
            unsafe { dest.get().add(k).write(F::finish(acc, count)) };
        };
        if kept_count == 1 {
            fold_one(0);
        } else {
            parallel_for(kept_count, grain(ns * count as f64 + 2.0), |range| range.for_each(fold_one));
        }
        return;
    }
    // The innermost dimension is kept: fold rows of it.
    let row = kept.pop().expect("the innermost dimension is kept");
    let rows = reduced.pop().expect("not empty");
    let others: usize = reduced.iter().map(|d| d.size).product();
    let blocks = row.size.div_ceil(COLUMNS);
    let part = rows_of_part(row.size);
    let parts = rows.size.div_ceil(part);
    let lines = kept_count / row.size * parts;
    let mut table = scratch(F::init(), if parts > 1 { lines * row.size } else { 0 });
    let shared = Shared(table.as_mut_ptr());
    let ns = ns * (others * rows.size.min(part) * row.size.min(COLUMNS)) as f64;
    parallel_for(lines * blocks, grain(ns), |range| {
        for task in range {
            let (line, block) = (task / blocks, task % blocks);
            let (k, start) = (line / parts, line % parts * part);
            let count_rows = part.min(rows.size - start);
            let first = block * COLUMNS;
            let width = COLUMNS.min(row.size - first);
            let base = offset(&kept, k) + first + start * rows.stride;
            let mut room = [const { MaybeUninit::uninit() }; COLUMNS];
            let acc = opened::<F>(&mut room, width);
            dispatch_v3(
                #[inline(always)]
                || {
                    for i in 0..others {
                        // SAFETY: the offsets are inside the input; rows have `width` more elements.
                        unsafe {
                            let src = source.get().add(base + offset(&reduced, i));
                            fold_rows::<F::Steps>(src, count_rows, rows.stride, acc);
                        }
                    }
                },
            );
            for (j, &a) in acc.iter().enumerate() {
                // SAFETY: inside the table or the output, in columns that no other task has.
                unsafe {
                    if parts > 1 {
                        shared.get().add(line * row.size + first + j).write(a);
                    } else {
                        dest.get().add(k * row.size + first + j).write(F::finish(a, count));
                    }
                }
            }
        }
    });
    for (k, lines) in table.chunks_exact(parts * row.size).enumerate() {
        for j in 0..row.size {
            let first = lines[j];
            let acc = (1..parts).fold(first, |acc, p| F::join(acc, lines[p * row.size + j]));
            // SAFETY: inside the output.
            unsafe { dest.get().add(k * row.size + j).write(F::finish(acc, count)) };
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn run_float<T: Real>(op: Reduce, input: *const u8, dims: &[usize], axes: &[bool], out: *mut u8) {
    // SAFETY: the same contract.
    unsafe {
        match op {
            Reduce::Sum => run::<FoldFloat<{ Reduce::Sum as u8 }, T>>(input, dims, axes, out),
            Reduce::Prod => run::<FoldFloat<{ Reduce::Prod as u8 }, T>>(input, dims, axes, out),
            Reduce::Max => run::<FoldFloat<{ Reduce::Max as u8 }, T>>(input, dims, axes, out),
            Reduce::Min => run::<FoldFloat<{ Reduce::Min as u8 }, T>>(input, dims, axes, out),
            Reduce::Mean => run::<Mean<FoldFloat<{ Reduce::Sum as u8 }, T>>>(input, dims, axes, out),
            Reduce::Any | Reduce::All => unsupported(op, T::DTYPE),
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn run_int<T: Int>(op: Reduce, input: *const u8, dims: &[usize], axes: &[bool], out: *mut u8) {
    // SAFETY: the same contract.
    unsafe {
        match op {
            Reduce::Sum => run::<FoldInt<{ Reduce::Sum as u8 }, T::Signed>>(input, dims, axes, out),
            Reduce::Prod => run::<FoldInt<{ Reduce::Prod as u8 }, T::Signed>>(input, dims, axes, out),
            Reduce::Max => run::<FoldInt<{ Reduce::Max as u8 }, T>>(input, dims, axes, out),
            Reduce::Min => run::<FoldInt<{ Reduce::Min as u8 }, T>>(input, dims, axes, out),
            Reduce::Mean => run::<MeanInt<T>>(input, dims, axes, out),
            Reduce::Any | Reduce::All => unsupported(op, T::DTYPE),
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn run_complex<T: Part + Send + Sync>(op: Reduce, input: *const u8, dims: &[usize], axes: &[bool], out: *mut u8)
where
    Complex<T>: Element,
{
    // SAFETY: the same contract.
    unsafe {
        match op {
            Reduce::Sum => run::<FoldComplex<{ Reduce::Sum as u8 }, T>>(input, dims, axes, out),
            Reduce::Prod => run::<FoldComplex<{ Reduce::Prod as u8 }, T>>(input, dims, axes, out),
            Reduce::Mean => run::<Mean<FoldComplex<{ Reduce::Sum as u8 }, T>>>(input, dims, axes, out),
            _ => unsupported(op, <Complex<T> as Element>::DTYPE),
        }
    }
}

#[cold]
fn unsupported(op: Reduce, dtype: DType) -> ! {
    panic!("{} does not take {dtype}", op.name())
}

/// Reduces the axes marked in `axes`. Floats of 16 bits accumulate in `f32` and are rounded once.
///
/// # Panics
/// If `op` does not take `dtype` (see [`reduce_dtypes`]).
///
/// # Safety
/// `input` is row-major, contiguous, aligned and readable for the product of `dims`; `out` is aligned, does not
/// overlap it and is writable for the product of the dimensions not marked.
pub unsafe fn reduce(op: Reduce, dtype: DType, input: *const u8, dims: &[usize], axes: &[bool], out: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    unsafe {
        match dtype {
            DType::Bool if op == Reduce::Any => run::<FoldBool<{ Reduce::Any as u8 }>>(input, dims, axes, out),
            DType::Bool if op == Reduce::All => run::<FoldBool<{ Reduce::All as u8 }>>(input, dims, axes, out),
            DType::F16 => run_float::<f16>(op, input, dims, axes, out),
            DType::Bf16 => run_float::<bf16>(op, input, dims, axes, out),
            DType::F32 => run_float::<f32>(op, input, dims, axes, out),
            DType::F64 => run_float::<f64>(op, input, dims, axes, out),
            DType::C64 => run_complex::<f32>(op, input, dims, axes, out),
            DType::C128 => run_complex::<f64>(op, input, dims, axes, out),
            _ => {
                with_dtype!(integer, dtype, T => run_int::<T>(op, input, dims, axes, out), else unsupported(op, dtype))
            }
        }
    }
}
