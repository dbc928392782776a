//! Logarithms of sums of exponentials.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::slice;

use penstock_data::memory::scratch;
use penstock_data::{DType, with_dtype};

use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::cost;
use crate::math::{Functions, Math};
use crate::num::Real;
use crate::pool::{Shared, grain, parallel_for};
use crate::softmax::{BLOCK, LANES, accumulate, exps, folded, row_max};

/// Elements of a row that one task takes.
const PIECE: usize = 1 << 15;
/// Columns that are taken together, whose accumulators stay in registers or in the first-level cache.
const COLUMNS: usize = 64;

/// What is subtracted where the greatest element is `max`: with an infinite one, nothing overflows that does not anyway.
#[inline(always)]
fn shift_of<W: Math>(max: W) -> W {
    // Neither an infinity nor NaN times 0 is 0.
    if max * W::ZERO == W::ZERO { max } else { W::ZERO }
}

/// The sum of e^(x - shift).
#[inline(always)]
fn row_sum<T: Real>(row: &[T], shift: T::Wide) -> T::Wide {
    let (mut acc, mut block) = ([T::Wide::ZERO; LANES], [T::Wide::ZERO; BLOCK]);
    for x in row.chunks(BLOCK) {
        let to = &mut block[..x.len()];
        exps(x, shift, to, 0);
        accumulate(&mut acc, to);
    }
    folded(acc)
}

/// The greatest elements of pieces of a row, and sums of e^(x - shift), joined.
#[inline(always)]
fn joined<W: Math>(pieces: &[(W, W)]) -> W {
    let max = pieces.iter().fold(-W::INFINITY, |max, piece| max.max_nan(piece.0));
    let shift = shift_of(max);
    let mut sum = W::ZERO;
    for &(own, part) in pieces {
        // Nothing comes of a piece of which all is -inf, also where what it would be scaled by overflows.
        if own != -W::INFINITY {
            sum = sum + part * (shift_of(own) - shift).exp();
        }
    }
    sum.log() + shift
}

/// # Safety
/// As for [`logsumexp`], with elements of `T` and `inner` 1.
unsafe fn rows<T: Real>(input: *const u8, count: usize, n: usize, out: *mut u8) {
    let (src, dst) = (Shared(input.cast::<T>().cast_mut()), Shared(out.cast::<T>()));
    let pieces = n.div_ceil(PIECE).max(1);
    let mut parts = scratch((T::Wide::ZERO, T::Wide::ZERO), count * pieces);
    let to = Shared(parts.as_mut_ptr());
    parallel_for(count * pieces, grain(cost::rates().exponential * n.min(PIECE) as f64), |range| {
        dispatch(
            #[inline(always)]
            || {
                for i in range {
                    let from = i % pieces * PIECE;
                    // SAFETY: row `i / pieces` is readable for `n` elements, and part `i` is of this task alone.
                    unsafe {
                        let row = src.get().add(i / pieces * n + from).cast_const();
                        let row = slice::from_raw_parts(row, PIECE.min(n - from));
                        let max = row_max(row);
                        to.get().add(i).write((max, row_sum(row, shift_of(max))));
                    }
                }
            },
        );
    });
    for (i, parts) in parts.chunks_exact(pieces).enumerate() {
        // SAFETY: as many elements as rows are writable.
        unsafe { dst.get().add(i).write(T::narrow(joined(parts))) };
    }
}

/// # Safety
/// As for [`logsumexp`], with elements of `T`.
unsafe fn columns<T: Real>(input: *const u8, [outer, n, inner]: [usize; 3], out: *mut u8) {
    let (src, dst) = (Shared(input.cast::<T>().cast_mut()), Shared(out.cast::<T>()));
    let blocks = inner.div_ceil(COLUMNS);
    parallel_for(outer * blocks, grain(cost::rates().exponential * (n * COLUMNS.min(inner)) as f64), |range| {
        dispatch(
            #[inline(always)]
            || {
                for i in range {
                    let (at, from) = (i / blocks, i % blocks * COLUMNS);
                    let width = COLUMNS.min(inner - from);
                    // SAFETY: row `r` of array `at` is readable for `inner` elements.
                    let row = |r: usize| unsafe {
                        slice::from_raw_parts(src.get().add((at * n + r) * inner + from).cast_const(), width)
                    };
                    let (mut max, mut sum) = ([-T::Wide::INFINITY; COLUMNS], [T::Wide::ZERO; COLUMNS]);
                    for r in 0..n {
                        for (m, &x) in max.iter_mut().zip(row(r)) {
                            *m = m.max_nan(x.widen());
                        }
                    }
                    let shift = max.map(shift_of);
                    let mut powers = [T::Wide::ZERO; COLUMNS];
                    for r in 0..n {
                        for ((e, &shift), &x) in powers.iter_mut().zip(&shift).zip(row(r)) {
                            *e = (x.widen() - shift).exp();
                        }
                        for (s, &e) in sum.iter_mut().zip(&powers) {
                            *s = *s + e;
                        }
                    }
                    for j in 0..width {
                        // SAFETY: these results are of this task alone.
                        unsafe { dst.get().add(at * inner + from + j).write(T::narrow(sum[j].log() + shift[j])) };
                    }
                }
            },
        );
    });
}

/// `log(sum(e^x))` along the middle of three dimensions, without overflow; -inf where that is of size 0. The shape alone
/// determines the order of the additions.
///
/// # Panics
/// If `dtype` is not a real float.
///
/// # Safety
/// `input` is aligned and readable for the product of the extents, `out` aligned and writable for the product of the first and
/// the last, in elements of `dtype`; they do not overlap.
pub unsafe fn logsumexp(dtype: DType, input: *const u8, extents: [usize; 3], out: *mut u8) {
    let [outer, n, inner] = extents;
    with_dtype!(float, dtype, T => {
        // SAFETY: the same contract, with the element type of `dtype`.
        unsafe { if inner == 1 { rows::<T>(input, outer, n, out) } else { columns::<T>(input, extents, out) } }
    }, else panic!("logsumexp does not take {dtype}"))
}
