//! Softmax over rows, and the cross-entropies that go with it.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::iter::repeat_n;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use penstock_data::memory::scratch_small;
use penstock_data::{DType, DTypeSet, with_dtype};
use smallvec::SmallVec;

use crate::algebra::Algebra;
use crate::arch::{dispatch, fence_stores, prefetch, stream};
use crate::cost;
use crate::math::{Functions, Math};
use crate::num::Real;
use crate::pool::{Shared, grain, parallel_for};

/// The dtypes that the functions of this module take.
pub const SOFTMAX_DTYPES: DTypeSet = DTypeSet::FLOAT;

/// Accumulators side by side.
pub(crate) const LANES: usize = 32;

/// The greatest element, NaN if there is one.
#[inline(always)]
pub(crate) fn row_max<T: Real>(row: &[T]) -> T::Wide {
    let mut acc = [-T::Wide::INFINITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            acc[l] = acc[l].max_nan(chunk[l].widen());
        }
    }
    for (a, &x) in acc.iter_mut().zip(rest) {
        *a = a.max_nan(x.widen());
    }
    halved(acc, Algebra::max_nan)
}

/// Bytes of a row up to which the next one is fetched while this one is in the cache.
const FETCHED: usize = 64 << 10;

/// Elements whose exponentials are computed before they are added: a loop that does both is not made of vectors as well.
pub(crate) const BLOCK: usize = 32 * LANES;

/// Writes e^(x - shift) to `to`, and fetches what lies `ahead` elements further.
#[inline(always)]
pub(crate) fn exps<T: Real>(x: &[T], shift: T::Wide, to: &mut [T::Wide], ahead: usize) {
    let n = x.len();
    let one = |x: &[T; LANES], e: &mut [T::Wide; LANES]| {
        for l in 0..LANES {
            e[l] = (x[l].widen() - shift).exp();
        }
    };
    for (e, x) in to.as_chunks_mut::<LANES>().0.iter_mut().zip(x.as_chunks::<LANES>().0) {
        if ahead > 0 {
            prefetch::<1, _>(x.as_ptr().wrapping_add(ahead), size_of_val(x));
        }
        one(x, e);
    }
    if n.is_multiple_of(LANES) {
        return;
    }
    // The last ones, with some of those before: one by one they would take as long as many chunks.
    if let (Some(x), Some(e)) = (x.last_chunk::<LANES>(), to[..n].last_chunk_mut::<LANES>()) {
        one(x, e);
    } else {
        for (e, &x) in to.iter_mut().zip(x) {
            *e = (x.widen() - shift).exp();
        }
    }
}

/// Adds elements to accumulators, in turn.
#[inline(always)]
pub(crate) fn accumulate<W: Math>(acc: &mut [W; LANES], x: &[W]) {
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            acc[l] = acc[l] + chunk[l];
        }
    }
    for (a, &x) in acc.iter_mut().zip(rest) {
        *a = *a + x;
    }
}

/// Writes e^(x - max) to `scratch` and returns the sum, in the order of [`row_sum`].
#[inline(always)]
fn row_exp<T: Real>(row: &[T], max: T::Wide, scratch: &mut [T::Wide]) -> T::Wide {
    let mut acc = [T::Wide::ZERO; LANES];
    let ahead = if size_of_val(row) <= FETCHED { row.len() } else { 0 };
    for (to, x) in scratch.chunks_mut(BLOCK).zip(row.chunks(BLOCK)) {
        exps(x, max, to, ahead);
        accumulate(&mut acc, to);
    }
    folded(acc)
}

/// The sum, in an order that depends on the length alone.
#[inline(always)]
fn row_sum<W: Math>(row: &[W]) -> W {
    let mut acc = [W::ZERO; LANES];
    accumulate(&mut acc, row);
    folded(acc)
}

/// The sum of the accumulators.
#[inline(always)]
pub(crate) fn folded<W: Math>(acc: [W; LANES]) -> W {
    halved(acc, |a, b| a + b)
}

/// What an operation makes of all accumulators, half of them at a time. All indices are constants, so that accumulators stay in registers.
#[inline(always)]
fn halved<W: Copy>(acc: [W; LANES], f: impl Fn(W, W) -> W) -> W {
    let acc: [W; 16] = std::array::from_fn(|l| f(acc[l], acc[l + 16]));
    let acc: [W; 8] = std::array::from_fn(|l| f(acc[l], acc[l + 8]));
    let acc: [W; 4] = std::array::from_fn(|l| f(acc[l], acc[l + 4]));
    let acc: [W; 2] = std::array::from_fn(|l| f(acc[l], acc[l + 2]));
    f(acc[0], acc[1])
}

/// Bytes of a result from which on it is written past the caches, which would not keep it.
const PASSES: usize = 16 << 20;

/// Writes a row that is in the cache, past the caches if `passes`.
///
/// # Safety
/// `to` is writable for as many elements.
#[inline(always)]
unsafe fn write_row<T: Real>(row: &[T::Wide], to: *mut T, passes: bool) {
    // SAFETY: the caller's contract.
    unsafe {
        if passes && size_of::<T>() == size_of::<T::Wide>() {
            return stream(row.as_ptr().cast(), to.cast(), size_of_val(row));
        }
        for (i, &x) in row.iter().enumerate() {
            to.add(i).write(T::narrow(x));
        }
    }
}

/// A scratch row, on the stack if it is short.
type Scratch<W> = SmallVec<[W; 256]>;

/// # Safety
/// As for [`softmax`], with elements of `T`.
unsafe fn rows<T: Real, const LOG: bool>(input: *const u8, rows: usize, n: usize, out: *mut u8) {
    if n == 0 {
        return;
    }
    let (src, dst) = (Shared(input.cast::<T>().cast_mut()), Shared(out.cast::<T>()));
    let passes = input != out.cast_const() && rows * n * size_of::<T>() >= PASSES;
    parallel_for(rows, grain(cost::rates().exponential * n as f64), |range| {
        let mut scratch: Scratch<T::Wide> = scratch_small(repeat_n(T::Wide::ZERO, n));
        dispatch(
            #[inline(always)]
            || {
                for r in range {
                    // SAFETY: row `r` of the input is readable for `n` elements.
                    let x = unsafe { slice::from_raw_parts(src.get().add(r * n), n) };
                    let max = row_max(x);
                    let sum = row_exp(x, max, &mut scratch);
                    if LOG {
                        let shift = sum.log();
                        for (e, &x) in scratch.iter_mut().zip(x) {
                            *e = x.widen() - max - shift;
                        }
                    } else {
                        let scale = T::Wide::ONE / sum;
                        for e in &mut scratch {
                            *e = *e * scale;
                        }
                    }
                    // SAFETY: row `r` of the output is writable for `n` elements, and no other range
                    // has it. The input row, which it may be, has been read.
                    unsafe { write_row(&scratch, dst.get().add(r * n), passes) };
                }
                if passes {
                    fence_stores();
                }
            },
        );
    });
}

/// `e^x / sum e^x` of each of `rows` rows of `n` elements.
///
/// # Panics
/// If `dtype` is not a real float.
///
/// # Safety
/// `input` is aligned and readable, and `out` aligned and writable, for `rows * n` elements of `dtype`; they are
/// equal or disjoint.
pub unsafe fn softmax(dtype: DType, input: *const u8, rows: usize, n: usize, out: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe { self::rows::<T, false>(input, rows, n, out) },
        else panic!("softmax does not take {dtype}"))
}

/// `x - log sum e^x` of each of `rows` rows of `n` elements.
///
/// # Panics
/// If `dtype` is not a real float.
///
/// # Safety
/// As for [`softmax`].
pub unsafe fn log_softmax(dtype: DType, input: *const u8, rows: usize, n: usize, out: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe { self::rows::<T, true>(input, rows, n, out) },
        else panic!("log_softmax does not take {dtype}"))
}

/// # Safety
/// As for [`softmax_cross_entropy`], with elements of `T`.
unsafe fn dense<T: Real>(logits: *const u8, labels: *const u8, rows: usize, n: usize, loss: *mut u8, back: *mut u8) {
    let (x, t) = (Shared(logits.cast::<T>().cast_mut()), Shared(labels.cast::<T>().cast_mut()));
    let (loss, back) = (Shared(loss.cast::<T>()), Shared(back.cast::<T>()));
    parallel_for(rows, grain(2.0 * cost::rates().exponential * n as f64), |range| {
        let mut scratch: Scratch<T::Wide> = scratch_small(repeat_n(T::Wide::ZERO, n));
        let mut terms: Scratch<T::Wide> = scratch_small(repeat_n(T::Wide::ZERO, n));
        dispatch(
            #[inline(always)]
            || {
                for r in range {
                    // SAFETY: row `r` of the inputs is readable for `n` elements.
                    let (x, t) = unsafe {
                        (slice::from_raw_parts(x.get().add(r * n), n), slice::from_raw_parts(t.get().add(r * n), n))
                    };
                    let max = row_max(x);
                    let sum = row_exp(x, max, &mut scratch);
                    let shift = sum.log();
                    for ((term, &x), &t) in terms.iter_mut().zip(x).zip(t) {
                        let weighted = t.widen() * (shift - (x.widen() - max));
                        // A label of 0 ignores a logit of -inf.
                        *term = if t.widen() == T::Wide::ZERO { T::Wide::ZERO } else { weighted };
                    }
                    // SAFETY: element `r` of the losses is writable, and no other range has it.
                    unsafe { loss.get().add(r).write(T::narrow(row_sum(&terms))) };
                    if !back.get().is_null() {
                        let scale = T::Wide::ONE / sum;
                        for (i, (&e, &t)) in scratch.iter().zip(t).enumerate() {
                            // SAFETY: row `r` is writable for `n` elements, and no other range has it.
                            unsafe { back.get().add(r * n + i).write(T::narrow(e * scale - t.widen())) };
                        }
                    }
                }
            },
        );
    });
}

/// Cross-entropy of the softmax of `logits` with the distributions `labels`, a loss for each row; and, unless
/// `back` is null, its gradient by the logits, `softmax - labels`.
///
/// # Panics
/// If `dtype` is not a real float.
///
/// # Safety
/// `logits` and `labels` are aligned and readable for `rows * n` elements of `dtype`; `loss` is aligned and writable
/// for `rows`, `back` (if not null) for `rows * n`; the outputs overlap nothing else.
pub unsafe fn softmax_cross_entropy(
    dtype: DType,
    logits: *const u8,
    labels: *const u8,
    rows: usize,
    n: usize,
    loss: *mut u8,
    back: *mut u8,
) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe { dense::<T>(logits, labels, rows, n, loss, back) },
        else panic!("softmax_cross_entropy does not take {dtype}"))
}

/// # Safety
/// As for [`sparse_softmax_cross_entropy`], with elements of `T` and labels that `label` reads.
unsafe fn sparse<T: Real>(
    logits: *const u8,
    label: impl Fn(usize) -> i64 + Sync,
    rows: usize,
    n: usize,
    loss: *mut u8,
    back: *mut u8,
) -> Result<(), usize> {
    let x = Shared(logits.cast::<T>().cast_mut());
    let (loss, back) = (Shared(loss.cast::<T>()), Shared(back.cast::<T>()));
    let bad = AtomicUsize::new(usize::MAX);
    parallel_for(rows, grain(1.5 * cost::rates().exponential * n as f64), |range| {
        let mut scratch: Scratch<T::Wide> = scratch_small(repeat_n(T::Wide::ZERO, n));
        dispatch(
            #[inline(always)]
            || {
                for r in range {
                    let index = label(r) as usize;
                    if index >= n {
                        bad.fetch_min(r, Ordering::Relaxed);
                        break;
                    }
                    // SAFETY: row `r` of the logits is readable for `n` elements.
                    let x = unsafe { slice::from_raw_parts(x.get().add(r * n), n) };
                    let max = row_max(x);
                    let sum = row_exp(x, max, &mut scratch);
                    let value = sum.log() - (x[index].widen() - max);
                    // SAFETY: element `r` of the losses is writable, and no other range has it.
                    unsafe { loss.get().add(r).write(T::narrow(value)) };
                    if !back.get().is_null() {
                        let scale = T::Wide::ONE / sum;
                        for (i, &e) in scratch.iter().enumerate() {
                            // SAFETY: row `r` is writable for `n` elements, and no other range has it.
                            unsafe { back.get().add(r * n + i).write(T::narrow(e * scale)) };
                        }
                        let at = scratch[index] * scale - T::Wide::ONE;
                        // SAFETY: row `r` is writable for `n` elements, and no other range has it; and `index < n`.
                        unsafe { back.get().add(r * n + index).write(T::narrow(at)) };
                    }
                }
            },
        );
    });
    match bad.into_inner() {
        usize::MAX => Ok(()),
        row => Err(row),
    }
}

/// As [`softmax_cross_entropy`], for labels that are class indices of dtype `label_dtype`, one a row.
///
/// # Errors
/// The first row whose label is not in `0..n`; outputs are then unspecified.
///
/// # Panics
/// If `dtype` is not a real float, or `label_dtype` is neither `i32` nor `i64`.
///
/// # Safety
/// As for [`softmax_cross_entropy`], with `labels` aligned and readable for `rows` elements of `label_dtype`.
pub unsafe fn sparse_softmax_cross_entropy(
    dtype: DType,
    logits: *const u8,
    label_dtype: DType,
    labels: *const u8,
    rows: usize,
    n: usize,
    loss: *mut u8,
    back: *mut u8,
) -> Result<(), usize> {
    assert!(DTypeSet::INDEX.contains(label_dtype), "labels are i32 or i64, not {label_dtype}");
    let labels = Shared(labels.cast_mut());
    let label = move |r: usize| {
        // SAFETY: `r < rows`, for which labels are readable.
        unsafe {
            match label_dtype {
                DType::I32 => i64::from(labels.get().cast::<i32>().add(r).read()),
                _ => labels.get().cast::<i64>().add(r).read(),
            }
        }
    };
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe { sparse::<T>(logits, label, rows, n, loss, back) },
        else panic!("sparse_softmax_cross_entropy does not take {dtype}"))
}
