//! Reductions of rows by segment, and elements by index along an axis.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::any::TypeId;

use num_complex::Complex;
use penstock_data::memory::{scratch, scratch_room};
use penstock_data::{DType, DTypeSet, Element, bf16, f16, with_dtype};

use crate::arch::dispatch_v3;
use crate::complex::Part;
use crate::gather::{Index, Indices, Run, run_of, runs, with_indices};
use crate::num::{Int, Real};
use crate::pool::{Shared, grain, parallel_for, parallel_parts, threads};
use crate::reduce::{Fold, FoldComplex, FoldFloat, FoldInt, Mean, MeanInt, Reduce, fold_run};

/// What a segment without rows becomes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Empty {
    /// 0.
    Zero,
    /// 1.
    One,
    /// The least finite value.
    Lowest,
    /// The greatest finite value.
    Highest,
}

/// Numbers that segments are filled with.
trait Filler: Element + PartialEq {
    fn filler(empty: Empty) -> Self;
}

macro_rules! fillers {
    ($($ty:ty: $zero:expr, $one:expr, $low:expr, $high:expr;)*) => {$(
        impl Filler for $ty {
            fn filler(empty: Empty) -> $ty {
                match empty {
                    Empty::Zero => $zero,
                    Empty::One => $one,
                    Empty::Lowest => $low,
                    Empty::Highest => $high,
                }
            }
        }
    )*};
}

fillers! {
    i8: 0, 1, i8::MIN, i8::MAX; i16: 0, 1, i16::MIN, i16::MAX; i32: 0, 1, i32::MIN, i32::MAX; i64: 0, 1, i64::MIN, i64::MAX;
    u8: 0, 1, u8::MIN, u8::MAX; u16: 0, 1, u16::MIN, u16::MAX; u32: 0, 1, u32::MIN, u32::MAX; u64: 0, 1, u64::MIN, u64::MAX;
    f16: f16::ZERO, f16::ONE, f16::MIN, f16::MAX; bf16: bf16::ZERO, bf16::ONE, bf16::MIN, bf16::MAX;
    f32: 0.0, 1.0, f32::MIN, f32::MAX; f64: 0.0, 1.0, f64::MIN, f64::MAX;
}

impl<T: Part> Filler for Complex<T>
where
    Complex<T>: Element,
{
    fn filler(empty: Empty) -> Complex<T> {
        let re = match empty {
            Empty::Zero => T::zero(),
            Empty::One => T::one(),
            Empty::Lowest => T::min_value(),
            Empty::Highest => T::max_value(),
        };
        Complex::new(re, T::zero())
    }
}

/// Rows and the segments that they belong to.
#[derive(Clone, Copy)]
pub struct Segments {
    /// The segment of each row; a negative one drops it.
    pub ids: Indices,
    /// The number of segments.
    pub n: usize,
    /// The number of elements of a row.
    pub width: usize,
    /// The number of blocks of rows that have these segments, each with segments of its own.
    pub blocks: usize,
    /// Whether the segments ascend from 0 or above.
    pub sorted: bool,
}

impl Segments {
    /// The first row whose segment is not below `id`, where they ascend.
    ///
    /// # Safety
    /// The ids are aligned and readable.
    unsafe fn first_of(self, id: usize) -> usize {
        // SAFETY: the caller's contract.
        unsafe { with_indices!(self.ids, list => list.partition_point(|i| i.at() < id)) }
    }
}

/// Joins single elements to the accumulators of their segments, of which the first is number `first`; others are left out.
/// `counts`, where it is not empty, counts the elements of each.
#[inline(always)]
fn elements<F: Fold, I: Index>(ids: &[I], x: &[F::T], first: usize, acc: &mut [F::Acc], counts: &mut [usize])
where
    F::T: Sync,
{
    let mut next = 0;
    while next < x.len() {
        let (i, id) = (next, ids[next].at());
        next += 1;
        let at = id.wrapping_sub(first);
        let Some(to) = acc.get_mut(at) else { continue };
        if ids.get(next).is_some_and(|other| other.at() == id) {
            // Elements side by side of one segment.
            next += run_of(&ids[next..], id);
            *to = F::join(*to, fold_run::<F::Steps>(&x[i..next]));
        } else {
            *to = F::join(*to, F::load(x[i]));
        }
        if let Some(count) = counts.get_mut(at) {
            *count += next - i;
        }
    }
}

/// Rows that runs of ascending segments have on average where they are joined as such.
const RUN: usize = 4;
/// Elements of a row from which on it is long enough by itself.
const WIDE: usize = 64;

/// [`run`] where the segments of many rows follow each other: whole runs are joined, block by block. Nothing is done where there are few.
///
/// # Safety
/// As for [`run`], with an operator for which the number of rows of a segment does not matter.
unsafe fn run_runs<F: Fold>(s: Segments, input: *const u8, out: *mut u8) -> bool
where
    F::T: Sync,
    F::Acc: 'static,
{
    let Segments { ids, n, width, blocks, .. } = s;
    if width == 0 || ids.count < RUN || (width >= WIDE && blocks == 1) {
        return false;
    }
    // SAFETY: the caller's contract.
    let Some(mut runs) = (unsafe { with_indices!(ids, list => runs(list, RUN)) }) else { return false };
    let last = |run: Run| run.index.wrapping_add(run.len - 1);
    if width == 1 && runs.windows(2).any(|pair| last(pair[0]) == pair[1].index) {
        // Elements side by side of one segment are joined before.
        return false;
    }
    // Runs do not go on from -1 to 0, so that all of a run is negative, or nothing.
    runs.retain(|run| run.index < n);
    let (src, dst) = (Shared(input.cast::<F::T>().cast_mut()), Shared(out.cast::<F::T>()));
    let (made, rows) = (n * width, ids.count * width);
    let in_place = TypeId::of::<F::Acc>() == TypeId::of::<F::T>();
    parallel_for(blocks, grain(0.1 * (made + rows) as f64 * size_of::<F::T>() as f64), |range| {
        let mut own = scratch(F::init(), if in_place { 0 } else { made });
        for block in range {
            dispatch_v3(
                #[inline(always)]
                || {
                    let to = dst.get().wrapping_add(block * made);
                    // Where an accumulator is an element, the segments themselves accumulate.
                    let acc: *mut F::Acc = if in_place { to.cast() } else { own.as_mut_ptr() };
                    // SAFETY: a block of the result, or the scratch memory, has room for as many accumulators; runs are inside of
                    // the segments and of the rows of the block.
                    unsafe {
                        (0..made).for_each(|i| acc.add(i).write(F::init()));
                        for run in &runs {
                            let len = run.len * width;
                            let from = src.get().add(block * rows + run.first * width).cast_const();
                            let row = std::slice::from_raw_parts(from, len);
                            let acc = std::slice::from_raw_parts_mut(acc.add(run.index * width), len);
                            for (a, &x) in acc.iter_mut().zip(row) {
                                *a = F::join(*a, F::load(x));
                            }
                        }
                        if !in_place {
                            (0..made).for_each(|i| to.add(i).write(F::finish(acc.add(i).read(), 1)));
                        }
                    }
                },
            );
        }
    });
    true
}

/// # Safety
/// As for [`segment_reduce`], with a fold of its operator and dtype. Segments are below `n`.
unsafe fn run<F: Fold>(s: Segments, input: *const u8, empty: Empty, out: *mut u8)
where
    F::T: Filler + Sync,
    F::Acc: 'static,
{
    let (one, filler) = (F::T::filler(Empty::One), F::T::filler(empty));
    // Whether a result depends on whether there are rows, or on their number.
    let counted = F::finish(F::init(), 0) != filler || F::finish(F::load(one), 2) != one;
    // SAFETY: the same contract.
    if !counted && unsafe { run_runs::<F>(s, input, out) } {
        return;
    }
    let size = size_of::<F::T>() * s.width;
    for block in 0..s.blocks {
        // SAFETY: the rows and the segments of the block.
        unsafe {
            let (from, to) = (input.add(block * s.ids.count * size), out.add(block * s.n * size));
            run_block::<F>(s, counted, from, filler, to);
        }
    }
}

/// # Safety
/// As for [`run`], for one block.
unsafe fn run_block<F: Fold>(s: Segments, counted: bool, input: *const u8, filler: F::T, out: *mut u8)
where
    F::T: Filler + Sync,
    F::Acc: 'static,
{
    let Segments { ids, n, width, sorted, .. } = s;
    let (src, dst) = (Shared(input.cast::<F::T>().cast_mut()), Shared(out.cast::<F::T>()));
    // Each task takes a stretch of segments and looks through all rows for them, or through theirs where they are known, so
    // that every segment gets its rows in order on one thread.
    let in_place = TypeId::of::<F::Acc>() == TypeId::of::<F::T>();
    let row_ns = 2.0 + 0.3 * width as f64;
    let brief = ids.count as f64 * row_ns < 200_000.0 || (width < 8 && !sorted);
    let tasks = if brief { 1 } else { threads().clamp(1, n.max(1)) };
    parallel_parts(n, 1, tasks, |part| {
        let (first, last) = (part.start, part.end);
        // SAFETY: the caller's contract.
        let of = |id: usize| unsafe { s.first_of(id) };
        let rows = if sorted && tasks > 1 { of(first)..of(last) } else { 0..ids.count };
        dispatch_v3(
            #[inline(always)]
            || {
                let len = (last - first) * width;
                let mut own: Vec<F::Acc> = scratch_room(if in_place { 0 } else { len });
                // Where an accumulator is an element, the segments themselves accumulate.
                let acc: *mut F::Acc = if in_place {
                    // SAFETY: segment `first` is below `n`.
                    unsafe { dst.get().add(first * width).cast() }
                } else {
                    own.as_mut_ptr()
                };
                // SAFETY: there is room for `len` accumulators: these segments of `out`, which no other task has, or the
                // scratch memory.
                (0..len).for_each(|i| unsafe { acc.add(i).write(F::init()) });
                let mut counts = scratch(0usize, if counted { last - first } else { 0 });
                let mut next = rows.start;
                if width == 1 {
                    // SAFETY: the ids are readable, and so are as many elements; the accumulators have been written.
                    unsafe {
                        let x = std::slice::from_raw_parts(src.get().add(next).cast_const(), rows.len());
                        let acc = std::slice::from_raw_parts_mut(acc, len);
                        with_indices!(ids, list => elements::<F, _>(&list[rows.clone()], x, first, acc, &mut counts));
                    }
                    next = rows.end;
                }
                while next < rows.end {
                    let i = next;
                    // SAFETY: `i` is below the count.
                    let id = unsafe { ids.get(i) };
                    next += 1;
                    if id < first as i64 || id >= last as i64 {
                        continue;
                    }
                    let at = id as usize - first;
                    if counted {
                        counts[at] += 1;
                    }
                    // SAFETY: row `i` has `width` elements, and segment `at` as many accumulators, which have been written.
                    let (row, to) = unsafe {
                        (
                            std::slice::from_raw_parts(src.get().add(i * width).cast_const(), width),
                            std::slice::from_raw_parts_mut(acc.add(at * width), width),
                        )
                    };
                    for (a, &x) in to.iter_mut().zip(row) {
                        *a = F::join(*a, F::load(x));
                    }
                }
                if in_place && !counted {
                    return;
                }
                for at in 0..last - first {
                    let count = if counted { counts[at] } else { 1 };
                    for j in at * width..(at + 1) * width {
                        // SAFETY: accumulator and element `j` of this task; the one is read before the other, which may be
                        // the same memory, is written.
                        unsafe {
                            let value = if count == 0 { filler } else { F::finish(acc.add(j).read(), count) };
                            dst.get().add(first * width + j).write(value);
                        }
                    }
                }
            },
        );
    });
}

/// # Safety
/// As for [`run`].
unsafe fn run_float<T: Real + Filler>(op: Reduce, s: Segments, input: *const u8, empty: Empty, out: *mut u8) -> bool {
    // SAFETY: the same contract.
    unsafe {
        match op {
            Reduce::Sum => run::<FoldFloat<{ Reduce::Sum as u8 }, T>>(s, input, empty, out),
            Reduce::Prod => run::<FoldFloat<{ Reduce::Prod as u8 }, T>>(s, input, empty, out),
            Reduce::Max => run::<FoldFloat<{ Reduce::Max as u8 }, T>>(s, input, empty, out),
            Reduce::Min => run::<FoldFloat<{ Reduce::Min as u8 }, T>>(s, input, empty, out),
            Reduce::Mean => run::<Mean<FoldFloat<{ Reduce::Sum as u8 }, T>>>(s, input, empty, out),
            Reduce::Any | Reduce::All => return false,
        }
    }
    true
}

/// # Safety
/// As for [`run`].
unsafe fn run_int<T: Int + Filler>(op: Reduce, s: Segments, input: *const u8, empty: Empty, out: *mut u8) -> bool {
    // SAFETY: the same contract.
    unsafe {
        match op {
            Reduce::Sum => run::<FoldInt<{ Reduce::Sum as u8 }, T>>(s, input, empty, out),
            Reduce::Prod => run::<FoldInt<{ Reduce::Prod as u8 }, T>>(s, input, empty, out),
            Reduce::Max => run::<FoldInt<{ Reduce::Max as u8 }, T>>(s, input, empty, out),
            Reduce::Min => run::<FoldInt<{ Reduce::Min as u8 }, T>>(s, input, empty, out),
            Reduce::Mean => run::<MeanInt<T>>(s, input, empty, out),
            Reduce::Any | Reduce::All => return false,
        }
    }
    true
}

/// # Safety
/// As for [`run`].
unsafe fn run_complex<T: Part + Send + Sync>(
    op: Reduce,
    s: Segments,
    input: *const u8,
    empty: Empty,
    out: *mut u8,
) -> bool
where
    Complex<T>: Element,
{
    // SAFETY: the same contract.
    unsafe {
        match op {
            Reduce::Sum => run::<FoldComplex<{ Reduce::Sum as u8 }, T>>(s, input, empty, out),
            Reduce::Prod => run::<FoldComplex<{ Reduce::Prod as u8 }, T>>(s, input, empty, out),
            Reduce::Mean => run::<Mean<FoldComplex<{ Reduce::Sum as u8 }, T>>>(s, input, empty, out),
            _ => return false,
        }
    }
    true
}

/// Reduces rows by segment, in each block of rows: row `s` of a block of `out` is the reduction of its rows `i` with `ids[i] == s`,
/// or `empty` where there is none. Rows are taken in order, single elements side by side of one segment as [`crate::reduce`] takes them.
/// Floats of 16 bits accumulate in `f32`. Segments may come in any order, unless they are said to be sorted; a negative one
/// drops its row.
///
/// # Errors
/// The first position whose segment is not below `n`; nothing is then written.
///
/// # Panics
/// If `op` does not take `dtype` (see [`crate::reduce_dtypes`]), or it is boolean.
///
/// # Safety
/// `input` is aligned and readable for `blocks` times `ids.count` rows of `width` elements of `dtype`, `out` aligned and writable for
/// `blocks` times `n` rows; the ids are aligned and readable; nothing overlaps `out`.
pub unsafe fn segment_reduce(
    op: Reduce,
    dtype: DType,
    input: *const u8,
    segments: Segments,
    empty: Empty,
    out: *mut u8,
) -> Result<(), usize> {
    segments.ids.check_dtype();
    let limit = segments.n.min(i64::MAX as usize) as i64;
    // SAFETY: the ids are readable; where they ascend, the last is the greatest.
    let last = segments.sorted.then(|| segments.ids.count.checked_sub(1).map(|i| unsafe { segments.ids.get(i) }));
    if last.is_none_or(|last| last.is_some_and(|id| id >= limit)) {
        // SAFETY: the ids are readable; where they ascend, the last is the greatest.
        if let Some(position) = unsafe { segments.ids.first_not_less(limit) } {
            return Err(position);
        }
    }
    // SAFETY: the same contract, with the element type of `dtype`; segments have been checked.
    let taken = unsafe {
        match dtype {
            DType::F16 => run_float::<f16>(op, segments, input, empty, out),
            DType::Bf16 => run_float::<bf16>(op, segments, input, empty, out),
            DType::F32 => run_float::<f32>(op, segments, input, empty, out),
            DType::F64 => run_float::<f64>(op, segments, input, empty, out),
            DType::C64 => run_complex::<f32>(op, segments, input, empty, out),
            DType::C128 => run_complex::<f64>(op, segments, input, empty, out),
            _ => {
                with_dtype!(integer, dtype, T => run_int::<T>(op, segments, input, empty, out), else false)
            }
        }
    };
    assert!(taken, "{} of segments does not take {dtype}", op.name());
    Ok(())
}

/// An array of (outer, n, inner) elements, of which (outer, k, inner) are named by as many indices along the axis.
#[derive(Clone, Copy, Debug)]
pub struct AlongAxis {
    /// The product of the extents before the axis.
    pub outer: usize,
    /// The extent of the axis.
    pub n: usize,
    /// The number of indices along the axis.
    pub k: usize,
    /// The product of the extents after the axis.
    pub inner: usize,
}

impl AlongAxis {
    /// The position in the array of the element that index `index`, at position `i` among the indices, names.
    #[inline(always)]
    fn place(self, i: usize, index: usize) -> usize {
        (i / self.inner / self.k * self.n + index) * self.inner + i % self.inner
    }
}

/// Copies the elements of `size` bytes that the indices name, to the places of the indices.
///
/// # Errors
/// The first position whose index is not in `0..n`; nothing is then written.
///
/// # Safety
/// `input` is readable for `outer * n * inner` elements, `out` writable for `outer * k * inner`, which is also the number
/// of indices, aligned and readable; nothing overlaps `out`.
pub unsafe fn take_along(
    size: usize,
    along: AlongAxis,
    input: *const u8,
    indices: Indices,
    out: *mut u8,
) -> Result<(), usize> {
    // SAFETY: the caller's contract.
    if let Some(position) = unsafe { indices.first_outside(along.n) } {
        return Err(position);
    }
    let (src, dst) = (Shared(input.cast_mut()), Shared(out));
    parallel_for(indices.count, grain(4.0), |range| {
        for i in range {
            // SAFETY: indices were checked to be below `n`; `i` is below the count, and no other range has it.
            unsafe {
                let from = src.get().add(along.place(i, indices.get(i) as usize) * size);
                let to = dst.get().add(i * size);
                match size {
                    4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
                    8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
                    _ => from.copy_to_nonoverlapping(to, size),
                }
            }
        }
    });
    Ok(())
}

/// Zeros, with each update added at the place that the index beside it names, in order.
///
/// # Errors
/// The first position whose index is not in `0..n`; nothing is then written.
///
/// # Panics
/// If `dtype` is not numeric.
///
/// # Safety
/// `updates` is aligned and readable for `outer * k * inner` elements of `dtype`, which is also the number of indices,
/// aligned and readable; `out` is aligned and writable for `outer * n * inner`; nothing overlaps it.
pub unsafe fn add_along(
    dtype: DType,
    along: AlongAxis,
    updates: *const u8,
    indices: Indices,
    out: *mut u8,
) -> Result<(), usize> {
    assert!(DTypeSet::NUMERIC.contains(dtype), "add_along does not take {dtype}");
    // SAFETY: the caller's contract.
    if let Some(position) = unsafe { indices.first_outside(along.n) } {
        return Err(position);
    }
    /// # Safety
    /// As for [`add_along`], with elements of `T`, and indices that were checked.
    unsafe fn typed<F: Fold>(along: AlongAxis, updates: *const u8, indices: Indices, out: *mut u8)
    where
        F::T: Element,
    {
        let (src, dst) = (updates.cast::<F::T>(), out.cast::<F::T>());
        // SAFETY: `out` is writable for the array; indices were checked to be below `n`.
        unsafe {
            dst.write_bytes(0, along.outer * along.n * along.inner);
            for i in 0..indices.count {
                let to = dst.add(along.place(i, indices.get(i) as usize));
                to.write(F::finish(F::join(F::load(to.read()), F::load(src.add(i).read())), 1));
            }
        }
    }
    const SUM: u8 = Reduce::Sum as u8;
    // SAFETY: the same contract, with the element type of `dtype`.
    unsafe {
        match dtype {
            DType::C64 => typed::<FoldComplex<SUM, f32>>(along, updates, indices, out),
            DType::C128 => typed::<FoldComplex<SUM, f64>>(along, updates, indices, out),
            DType::F16 => typed::<FoldFloat<SUM, f16>>(along, updates, indices, out),
            DType::Bf16 => typed::<FoldFloat<SUM, bf16>>(along, updates, indices, out),
            DType::F32 => typed::<FoldFloat<SUM, f32>>(along, updates, indices, out),
            DType::F64 => typed::<FoldFloat<SUM, f64>>(along, updates, indices, out),
            _ => with_dtype!(integer, dtype, T => typed::<FoldInt<SUM, T>>(along, updates, indices, out), else ()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beyond_32_bits() {
        let along = AlongAxis { outer: 2, n: 1 << 33, k: 4, inner: 3 };
        // The index at (1, 2, 1).
        assert_eq!(along.place(12 + 6 + 1, (1 << 33) - 1), (1 << 33) * 3 + ((1 << 33) - 1) * 3 + 1);
    }
}
