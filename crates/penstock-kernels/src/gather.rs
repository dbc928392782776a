//! Kernels that move rows by index.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::sync::atomic::{AtomicUsize, Ordering};

use num_complex::Complex;
use penstock_data::{DType, DTypeSet, Element, bf16, f16, with_dtype};
use smallvec::SmallVec;

use crate::arch::dispatch_v3;
use crate::binary::Binary;
use crate::binary::{Cplx, Float, Integer};
use crate::complex::Part;
use crate::copy::fill;
use crate::cost;
use crate::loops::Map2;
use crate::num::{Int, Real};
use crate::pool::{Shared, grain, parallel_for, parallel_parts, threads};
use crate::rows::copy_rows;

/// Indices of dtype `i32` or `i64`.
#[derive(Clone, Copy)]
pub struct Indices {
    /// The first index.
    pub ptr: *const u8,
    /// `i32` or `i64`.
    pub dtype: DType,
    /// How many there are.
    pub count: usize,
}

// SAFETY: the indices are only read, under the contracts of the functions that take them.
unsafe impl Sync for Indices {}

/// An index as it lies in memory.
pub(crate) trait Index: Copy + Send + Sync + 'static {
    /// The index; one that is negative is above every extent.
    fn at(self) -> usize;
}

/// How many indices at the start of a list are `index`.
#[inline(always)]
pub(crate) fn run_of<I: Index>(list: &[I], index: usize) -> usize {
    let (blocks, _) = list.as_chunks::<16>();
    let same = blocks.iter().take_while(|b| b.iter().fold(true, |all, i| all & (i.at() == index))).count() * 16;
    same + list[same..].iter().take_while(|i| i.at() == index).count()
}

impl Index for i32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as isize as usize
    }
}

impl Index for i64 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

/// Runs `$body` with `$list` bound to the slice of the indices, of `i32` or `i64`.
///
/// The indices must be aligned and readable.
macro_rules! with_indices {
    ($indices:expr, $list:ident => $body:expr) => {{
        let of: $crate::gather::Indices = $indices;
        of.check_dtype();
        if of.dtype == penstock_data::DType::I32 {
            let $list: &[i32] = std::slice::from_raw_parts(of.ptr.cast(), of.count);
            $body
        } else {
            let $list: &[i64] = std::slice::from_raw_parts(of.ptr.cast(), of.count);
            $body
        }
    }};
}
pub(crate) use with_indices;

/// A run of consecutive indices. The list has the indices `index`, `index + 1`, … at the positions `first`, `first + 1`, …; there are `len`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) index: usize,
    pub(crate) len: usize,
}

/// Splits a list of indices into runs. Gives `None` if a run has fewer than `least` indices on average.
pub(crate) fn runs<I: Index>(list: &[I], least: usize) -> Option<SmallVec<[Run; 8]>> {
    let goes_on = |a: I, b: I| (b.at() == a.at().wrapping_add(1)) & (b.at() != 0);
    let most = list.len() / least.max(1);
    let mut breaks = 1;
    // Lists without runs are given up early.
    for (a, b) in list.chunks(BLOCK).zip(list[list.len().min(1)..].chunks(BLOCK)) {
        breaks += dispatch_v3(
            #[inline(always)]
            || a.iter().zip(b).map(|(&a, &b)| usize::from(!goes_on(a, b))).sum::<usize>(),
        );
        if breaks > most {
            return None;
        }
    }
    let mut runs: SmallVec<[Run; 8]> = SmallVec::new();
    for (first, &index) in list.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if goes_on(list[first - 1], index) => run.len += 1,
            _ => runs.push(Run { first, index: index.at(), len: 1 }),
        }
    }
    Some(runs)
}

/// Indices that are looked at together.
const BLOCK: usize = 1024;

/// The first position of which `found` holds: a block is looked through only where it has one.
fn first_block<I: Index>(indices: &[I], found: impl Fn(&I) -> bool) -> Option<usize> {
    dispatch_v3(
        #[inline(always)]
        || {
            for (b, block) in indices.chunks(BLOCK).enumerate() {
                if block.iter().fold(false, |any, i| any | found(i)) {
                    return block.iter().position(&found).map(|i| b * BLOCK + i);
                }
            }
            None
        },
    )
}

/// The first position whose index is not below `limit`.
pub(crate) fn first_not_below<I: Index>(indices: &[I], limit: usize) -> Option<usize> {
    first_block(
        indices,
        #[inline(always)]
        |i| i.at() >= limit,
    )
}

impl Indices {
    pub(crate) fn check_dtype(self) {
        assert!(DTypeSet::INDEX.contains(self.dtype), "indices are i32 or i64, not {}", self.dtype);
    }

    /// # Safety
    /// `i` is below the count, and the memory is readable.
    #[inline(always)]
    pub(crate) unsafe fn get(self, i: usize) -> i64 {
        // SAFETY: the caller's contract.
        unsafe {
            match self.dtype {
                DType::I32 => i64::from(self.ptr.cast::<i32>().add(i).read()),
                _ => self.ptr.cast::<i64>().add(i).read(),
            }
        }
    }

    /// The first position whose index is not below `limit`; negative ones are.
    ///
    /// # Safety
    /// The indices are aligned and readable.
    pub(crate) unsafe fn first_not_less(self, limit: i64) -> Option<usize> {
        fn typed<I: Index>(list: &[I], limit: i64) -> Option<usize> {
            first_block(
                list,
                #[inline(always)]
                |i| (i.at() as i64) >= limit,
            )
        }
        // SAFETY: the caller's contract.
        unsafe { with_indices!(self, list => typed(list, limit)) }
    }

    /// The first position whose index is negative or less than the one before.
    ///
    /// # Safety
    /// The indices are aligned and readable.
    pub unsafe fn first_descent(self) -> Option<usize> {
        fn typed<I: Index>(list: &[I]) -> Option<usize> {
            let first = list.first()?;
            if (first.at() as i64) < 0 {
                return Some(0);
            }
            let pairs = list[1..].chunks(BLOCK).zip(list.chunks(BLOCK));
            for (b, (after, before)) in pairs.enumerate() {
                let fell = |(a, b): (&I, &I)| (a.at() as i64) < b.at() as i64;
                if after.iter().zip(before).fold(false, |any, pair| any | fell(pair)) {
                    return after.iter().zip(before).position(fell).map(|i| b * BLOCK + i + 1);
                }
            }
            None
        }
        // SAFETY: the caller's contract.
        unsafe { with_indices!(self, list => dispatch_v3(#[inline(always)] || typed(list))) }
    }

    /// The first position whose index is not in `0..limit`.
    ///
    /// # Safety
    /// The indices are aligned and readable.
    pub unsafe fn first_outside(self, limit: usize) -> Option<usize> {
        // SAFETY: the caller's contract.
        unsafe { with_indices!(self, list => first_not_below(list, limit)) }
    }
}

/// Copies row `indices[i]` of each outer block of the input to row `i` of the same block of the output: `outer` blocks
/// of `n` rows of `bytes` bytes.
///
/// # Errors
/// The first position whose index is not in `0..n`; the output is then unspecified.
///
/// # Safety
/// `input` is readable for `outer * n` rows, `out` writable for `outer * indices.count`; indices are aligned and
/// readable; nothing overlaps `out`.
pub unsafe fn gather(
    input: *const u8,
    outer: usize,
    n: usize,
    bytes: usize,
    indices: Indices,
    out: *mut u8,
) -> Result<(), usize> {
    let (src, dst) = (Shared(input.cast_mut()), Shared(out));
    // SAFETY: the caller's contract.
    let done = unsafe { with_indices!(indices, list => gather_runs(input, outer, n, bytes, list, out)) };
    if let Some(result) = done {
        return result;
    }
    // SAFETY: the caller's contract; `gather_by` names rows of the input and of the output.
    unsafe {
        with_indices!(indices, list => match bytes {
            1 => gather_elements::<u8, _>(input, outer, n, list, out),
            2 => gather_elements::<u16, _>(input, outer, n, list, out),
            4 => gather_elements::<u32, _>(input, outer, n, list, out),
            8 => gather_elements::<u64, _>(input, outer, n, list, out),
            12 => gather_elements::<[u32; 3], _>(input, outer, n, list, out),
            16 => gather_elements::<[u64; 2], _>(input, outer, n, list, out),
            17..=32 => gather_ends::<[u64; 2], _>(bytes, input, outer, n, list, out),
            33..=64 => gather_ends::<[u64; 4], _>(bytes, input, outer, n, list, out),
            65..=128 => gather_ends::<[u64; 8], _>(bytes, input, outer, n, list, out),
            _ => gather_by(bytes, outer, n, list, |from, to| {
                src.get().add(from * bytes).copy_to_nonoverlapping(dst.get().add(to * bytes), bytes);
            }),
        })
    }
}

/// Bytes that runs have on average where they are copied as such, and those of a result from which on they are looked for.
const RUN: usize = 32;
const SOUGHT: usize = 512;
/// Bytes of the rows that are made while one run after the other is copied.
const NEAR: usize = 1 << 14;

/// [`gather`] where many indices follow each other: whole runs are copied. Nothing is done where there are few.
///
/// # Safety
/// As for [`gather`].
unsafe fn gather_runs<I: Index>(
    input: *const u8,
    outer: usize,
    n: usize,
    bytes: usize,
    list: &[I],
    out: *mut u8,
) -> Option<Result<(), usize>> {
    let count = list.len();
    let made = outer.saturating_mul(count).saturating_mul(bytes);
    if made < SOUGHT || (outer == 1 && bytes >= SOUGHT) {
        return None;
    }
    let runs = runs(list, RUN.div_ceil(bytes).max(2))?;
    if let Some(position) = first_not_below(list, n) {
        return Some(Err(position));
    }
    let (src, dst) = (Shared(input.cast_mut()), Shared(out));
    let ns = cost::moved((count * bytes) as f64, runs.len() as f64);
    if outer < threads() {
        // Stretches of the result, wherever they begin.
        parallel_for(made / bytes, grain(ns / count as f64), |range| {
            let mut at = range.start;
            while at < range.end {
                let (block, position) = (at / count, at % count);
                let run = runs[runs.partition_point(|run| run.first <= position) - 1];
                let skipped = position - run.first;
                let len = (run.len - skipped).min(range.end - at);
                // SAFETY: the run is inside of the block of the input; the places are this range's own.
                unsafe {
                    let from = src.get().add((block * n + run.index + skipped) * bytes);
                    from.copy_to_nonoverlapping(dst.get().add(at * bytes), len * bytes);
                }
                at += len;
            }
        });
        return Some(Ok(()));
    }
    let (step, pitch) = (n * bytes, count * bytes);
    let rows = (NEAR / pitch).max(1);
    parallel_for(outer.div_ceil(rows), grain(ns * rows as f64), |range| {
        for stretch in range {
            let blocks = stretch * rows..outer.min((stretch + 1) * rows);
            for run in &runs {
                // SAFETY: the run is inside of each block of the input; these blocks of the result are this range's own.
                unsafe {
                    let from = src.get().add(blocks.start * step + run.index * bytes);
                    let to = dst.get().add(blocks.start * pitch + run.first * bytes);
                    copy_rows(from, step as isize, to, pitch as isize, run.len * bytes, blocks.len());
                }
            }
        }
    });
    Some(Ok(()))
}

/// # Safety
/// As for [`gather`], with rows of the size of `T`, which need not be aligned.
unsafe fn gather_elements<T: Copy, I: Index>(
    input: *const u8,
    outer: usize,
    n: usize,
    indices: &[I],
    out: *mut u8,
) -> Result<(), usize> {
    let (src, dst) = (Shared(input.cast::<T>().cast_mut()), Shared(out.cast::<T>()));
    gather_by(
        size_of::<T>(),
        outer,
        n,
        indices,
        #[inline(always)]
        // SAFETY: `gather_by` names rows of the input and of the output.
        |from, to| unsafe { dst.get().add(to).write_unaligned(src.get().add(from).read_unaligned()) },
    )
}

/// [`gather_elements`] of rows of at least one `T` and at most two: the first and the last, which may overlap.
///
/// # Safety
/// As for [`gather`].
unsafe fn gather_ends<T: Copy, I: Index>(
    bytes: usize,
    input: *const u8,
    outer: usize,
    n: usize,
    indices: &[I],
    out: *mut u8,
) -> Result<(), usize> {
    let (src, dst, last) = (Shared(input.cast_mut()), Shared(out), bytes - size_of::<T>());
    gather_by(
        bytes,
        outer,
        n,
        indices,
        #[inline(always)]
        // SAFETY: `gather_by` names rows of the input and of the output.
        |from, to| unsafe {
            let (from, to) = (src.get().add(from * bytes), dst.get().add(to * bytes));
            let [head, tail] = [0, last].map(|at| from.add(at).cast::<T>().read_unaligned());
            to.cast::<T>().write_unaligned(head);
            to.add(last).cast::<T>().write_unaligned(tail);
        },
    )
}

/// Calls `copy` with each row of the input and its place in the output. Rows have `bytes` bytes.
fn gather_by<I: Index>(
    bytes: usize,
    outer: usize,
    n: usize,
    indices: &[I],
    copy: impl Fn(usize, usize) + Sync,
) -> Result<(), usize> {
    let count = indices.len();
    let bad = AtomicUsize::new(usize::MAX);
    parallel_for(outer * count, grain(bytes as f64 * 0.1 + 2.0), |range| {
        dispatch_v3(
            #[inline(always)]
            || {
                let mut at = range.start;
                while at < range.end {
                    let (o, first) = (at / count, at % count);
                    let last = count.min(first + (range.end - at));
                    for (i, index) in indices[first..last].iter().enumerate() {
                        let index = index.at();
                        if index >= n {
                            bad.fetch_min(first + i, Ordering::Relaxed);
                            return;
                        }
                        copy(o * n + index, at + i);
                    }
                    at += last - first;
                }
            },
        );
    });
    match bad.into_inner() {
        usize::MAX => Ok(()),
        position => Err(position),
    }
}

/// Combines row `i` of `updates` into row `indices[i]` of `out`, in the order of `i`: by `op`, one of `Add`, `Sub`,
/// `Mul`, `Div` (not of integers), `Max`, `Min` (of real numbers); or by overwriting, if none. Rows have `width` elements of `dtype`.
///
/// # Errors
/// The first position whose index is not in `0..n`; nothing is then written.
///
/// # Panics
/// If `op` does not take `dtype`.
///
/// # Safety
/// `updates` is aligned and readable for `indices.count` rows, `out` aligned, readable and writable for `n`; nothing overlaps
/// `out`.
pub unsafe fn scatter(
    op: Option<Binary>,
    dtype: DType,
    updates: *const u8,
    indices: Indices,
    width: usize,
    n: usize,
    out: *mut u8,
) -> Result<(), usize> {
    // SAFETY: the caller's contract.
    if let Some(position) = unsafe { indices.first_outside(n) } {
        return Err(position);
    }
    // SAFETY: the same contract, with the element type of `dtype`; indices were checked.
    unsafe {
        with_indices!(indices, list => {
            let s = Scatter { indices: list, width, n };
            let Some(op) = op else {
                overwrite(s, dtype.size(), updates, out);
                return Ok(());
            };
            match dtype {
                DType::F16 => scatter_floats::<f16, _>(s, op, updates, out),
                DType::Bf16 => scatter_floats::<bf16, _>(s, op, updates, out),
                DType::F32 => scatter_floats::<f32, _>(s, op, updates, out),
                DType::F64 => scatter_floats::<f64, _>(s, op, updates, out),
                DType::C64 => scatter_complex::<f32, _>(s, op, updates, out),
                DType::C128 => scatter_complex::<f64, _>(s, op, updates, out),
                _ if matches!(op, Binary::Max | Binary::Min) => {
                    with_dtype!(integer, dtype, T => scatter_extremes::<T, _>(s, op, updates, out),
                        else panic!("{} does not take {dtype}", op.name()))
                }
                // What wraps does not depend on the sign.
                _ if !dtype.is_integer() => panic!("{} does not take {dtype}", op.name()),
                _ => match dtype.size() {
                    1 => scatter_integers::<i8, _>(s, op, updates, out),
                    2 => scatter_integers::<i16, _>(s, op, updates, out),
                    4 => scatter_integers::<i32, _>(s, op, updates, out),
                    _ => scatter_integers::<i64, _>(s, op, updates, out),
                },
            }
        });
    }
    Ok(())
}

/// Rows of `width` elements that are combined into `n` rows by index.
#[derive(Clone, Copy)]
struct Scatter<'a, I> {
    indices: &'a [I],
    width: usize,
    n: usize,
}

impl<I: Index> Scatter<'_, I> {
    /// Calls `f` with each update and the row of its index, both as the position of their first element; the updates of a
    /// row in order, on one thread. `bytes` is the size of an element.
    #[inline(always)]
    fn visit(self, bytes: usize, f: impl Fn(usize, usize) + Sync) {
        let Scatter { indices, width, n } = self;
        // Each task takes a stretch of the output and looks through all indices for it.
        let ns = indices.len() as f64 * (1.0 + (width * bytes) as f64 * 0.1);
        let tasks = if ns < 400_000.0 || width < 4 { 1 } else { threads().clamp(1, n.max(1)) };
        parallel_parts(n, 1, tasks, |part| {
            dispatch_v3(
                #[inline(always)]
                || {
                    for (i, index) in indices.iter().enumerate() {
                        let index = index.at();
                        if part.contains(&index) {
                            f(i * width, index * width);
                        }
                    }
                },
            );
        });
    }
}

/// # Safety
/// As for [`scatter`], with elements of `M::R`, which are those of both operands; indices are below `n`.
#[inline(always)]
unsafe fn combine<T: Copy, M: Map2<A = T, B = T, R = T>, I: Index>(
    s: Scatter<'_, I>,
    updates: *const u8,
    out: *mut u8,
) {
    let (src, dst) = (Shared(updates.cast::<T>().cast_mut()), Shared(out.cast::<T>()));
    s.visit(
        size_of::<T>(),
        #[inline(always)]
        |from, to| {
            for j in 0..s.width {
                // SAFETY: an update is a row of `src`, and `to` is one of `out`, which no other task combines into.
                unsafe {
                    let at = dst.get().add(to + j);
                    at.write(M::eval(at.read(), src.get().add(from + j).read()));
                }
            }
        },
    );
}

/// # Safety
/// As for [`scatter`], with elements of `size` bytes; indices are below `n`.
unsafe fn overwrite<I: Index>(s: Scatter<'_, I>, size: usize, updates: *const u8, out: *mut u8) {
    let (src, dst) = (Shared(updates.cast_mut()), Shared(out));
    macro_rules! each {
        ($T:ty) => {
            s.visit(
                size_of::<$T>(),
                #[inline(always)]
                // SAFETY: an update of one element, and a row of `out`, which no other task writes.
                |from, to| unsafe {
                    let value = src.get().cast::<$T>().add(from).read_unaligned();
                    dst.get().cast::<$T>().add(to).write_unaligned(value);
                },
            )
        };
    }
    match (s.width, size) {
        (1, 1) => each!(u8),
        (1, 2) => each!(u16),
        (1, 4) => each!(u32),
        (1, 8) => each!(u64),
        _ => s.visit(size, |from, to| {
            // SAFETY: an update of one element, and a row of `out`, which no other task writes; with rows of `width` elements.
            unsafe { src.get().add(from * size).copy_to_nonoverlapping(dst.get().add(to * size), s.width * size) };
        }),
    }
}

macro_rules! scatters {
    ($($(#[$doc:meta])* $name:ident<$T:ident: $bound:path>: $map:ident of $element:ty: $($op:ident)*;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for [`combine`].
        unsafe fn $name<$T, I: Index>(s: Scatter<'_, I>, op: Binary, updates: *const u8, out: *mut u8)
        where
            $T: $bound,
            $element: Element,
        {
            match op {
                // SAFETY: the same contract.
                $(Binary::$op => unsafe {
                    combine::<$element, $map<{ Binary::$op as u8 }, $T>, I>(s, updates, out)
                },)*
                _ => panic!("{} does not take {}", op.name(), <$element>::DTYPE),
            }
        }
    )*};
}

scatters! {
    /// Combines floats.
    scatter_floats<T: Real>: Float of T: Add Sub Mul Div Max Min;
    /// Combines integers of a width.
    scatter_integers<T: Int>: Integer of T: Add Sub Mul;
    /// Keeps the greater or the lesser integer.
    scatter_extremes<T: Int>: Integer of T: Max Min;
    /// Combines complex numbers.
    scatter_complex<T: Part>: Cplx of Complex<T>: Add Sub Mul Div;
}

/// Writes `on` where the position along an axis of size `depth` is the index, and `off` elsewhere: for `outer` blocks of
/// `inner` indices, the output is (outer, depth, inner). An index outside of `0..depth` gives only `off`.
///
/// # Safety
/// There are `outer * inner` indices, aligned and readable; `on` and `off` are readable for `size` bytes; `out` is aligned and
/// writable for `outer * depth * inner` elements of `size` bytes.
pub unsafe fn one_hot(
    size: usize,
    indices: Indices,
    outer: usize,
    depth: usize,
    inner: usize,
    on: *const u8,
    off: *const u8,
    out: *mut u8,
) {
    // SAFETY: the caller's contract; places are inside the output.
    unsafe {
        fill(size, off, outer * depth * inner, out);
        with_indices!(indices, list => {
            for (o, row) in list.chunks_exact(inner.max(1)).enumerate() {
                for (j, index) in row.iter().enumerate() {
                    let index = index.at();
                    if index < depth {
                        let at = (o * depth + index) * inner + j;
                        match size {
                            4 => out.cast::<u32>().add(at).write(on.cast::<u32>().read()),
                            8 => out.cast::<u64>().add(at).write(on.cast::<u64>().read()),
                            _ => on.copy_to_nonoverlapping(out.add(at * size), size),
                        }
                    }
                }
            }
        });
    }
}

/// Writes `start + i * step` for `i` in `0..n`: computed in the type of the dtype, integers wrapping; floats of 16 bits and
/// `f32` in `f64`, rounded once.
///
/// # Panics
/// If `dtype` is not real.
///
/// # Safety
/// `start` and `step` are aligned and readable elements of `dtype`; `out` is aligned and writable for `n`.
pub unsafe fn range(dtype: DType, start: *const u8, step: *const u8, n: usize, out: *mut u8) {
    /// # Safety
    /// As for [`range`].
    unsafe fn typed<T: Element>(
        start: *const u8,
        step: *const u8,
        n: usize,
        out: *mut u8,
        at: impl Fn(T, T, usize) -> T + Sync,
    ) {
        // SAFETY: the caller's contract.
        let (start, step) = unsafe { (start.cast::<T>().read(), step.cast::<T>().read()) };
        let out = Shared(out.cast::<T>());
        parallel_for(n, grain(0.5), |range| {
            dispatch_v3(
                #[inline(always)]
                || {
                    for i in range {
                        // SAFETY: `i` is below `n`, and no other range has it.
                        unsafe { out.get().add(i).write(at(start, step, i)) };
                    }
                },
            );
        });
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    unsafe {
        match dtype {
            DType::F16 => {
                typed::<f16>(start, step, n, out, |a, s, i| f16::from_f64(a.to_f64() + i as f64 * s.to_f64()))
            }
            DType::Bf16 => {
                typed::<bf16>(start, step, n, out, |a, s, i| bf16::from_f64(a.to_f64() + i as f64 * s.to_f64()))
            }
            DType::F32 => {
                typed::<f32>(start, step, n, out, |a, s, i| (f64::from(a) + i as f64 * f64::from(s)) as f32);
            }
            DType::F64 => typed::<f64>(start, step, n, out, |a, s, i| a + i as f64 * s),
            _ => with_dtype!(integer, dtype, T => {
                typed::<T>(start, step, n, out, |a, s, i| a.wrapping_add((i as T).wrapping_mul(s)))
            }, else panic!("range does not take {dtype}")),
        }
    }
}
