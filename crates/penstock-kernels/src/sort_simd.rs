//! Sorting of rows of unsigned integers by AVX-512: quicksort whose partition compresses vectors.

#![expect(unsafe_code, reason = "intrinsics of a detected instruction set")]

use std::arch::x86_64::{
    _mm512_cmple_epu32_mask, _mm512_cmple_epu64_mask, _mm512_cmplt_epu32_mask, _mm512_cmplt_epu64_mask,
    _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_storeu_si512,
};

use crate::pool::{Shared, parallel_for};
use crate::sort_keys::Placed;

/// Rows up to which the standard library's networks are faster.
const SHORT: usize = 32;
/// Rows from which both sides of a partition are worth a thread.
const SPLIT: usize = 1 << 17;

/// An unsigned integer of which registers hold several.
pub(crate) trait Packed: Copy + Ord + Send + Sync + Default {
    /// How many.
    const WIDTH: usize;

    /// Moves what is below the pivot (or equal to it, if `EQUAL`) to the front, in order, and the rest behind it. Returns how
    /// many are in front.
    ///
    /// # Safety
    /// The machine has AVX-512 F. `scratch` is writable for [`Packed::WIDTH`] elements more than `data` has.
    unsafe fn partition<const EQUAL: bool>(data: &mut [Self], pivot: Self, scratch: *mut Self) -> usize;
}

macro_rules! packed {
    ($($ty:ident of $width:literal: $set:ident as $signed:ident, $less:ident, $less_equal:ident, $compress:ident;)*) => {$(
        impl Packed for $ty {
            const WIDTH: usize = $width;

            #[target_feature(enable = "avx512f,popcnt")]
            unsafe fn partition<const EQUAL: bool>(data: &mut [$ty], pivot: $ty, scratch: *mut $ty) -> usize {
                let n = data.len();
                let data = data.as_mut_ptr();
                let pivots = $set(pivot as $signed);
                let (mut below, mut above) = (0, 0);
                let mut i = 0;
                while i + $width <= n {
                    // SAFETY: `below <= i`, so that a whole vector is written over what has been read; `above <= i`, and
                    // the scratch memory is longer than the data by a vector.
                    unsafe {
                        let v = _mm512_loadu_si512(data.add(i).cast());
                        let mask = if EQUAL { $less_equal(v, pivots) } else { $less(v, pivots) };
                        _mm512_storeu_si512(data.add(below).cast(), $compress(mask, v));
                        _mm512_storeu_si512(scratch.add(above).cast(), $compress(!mask, v));
                        let count = mask.count_ones() as usize;
                        below += count;
                        above += $width - count;
                    }
                    i += $width;
                }
                while i < n {
                    // SAFETY: as above, one by one.
                    unsafe {
                        let x = data.add(i).read();
                        if x < pivot || (EQUAL && x == pivot) {
                            data.add(below).write(x);
                            below += 1;
                        } else {
                            scratch.add(above).write(x);
                            above += 1;
                        }
                    }
                    i += 1;
                }
                // SAFETY: `below + above` is the length of the data.
                unsafe { data.add(below).copy_from_nonoverlapping(scratch, above) };
                below
            }
        }
    )*};
}

packed! {
    u32 of 16: _mm512_set1_epi32 as i32, _mm512_cmplt_epu32_mask, _mm512_cmple_epu32_mask, _mm512_maskz_compress_epi32;
    u64 of 8: _mm512_set1_epi64 as i64, _mm512_cmplt_epu64_mask, _mm512_cmple_epu64_mask, _mm512_maskz_compress_epi64;
}

impl Packed for Placed<u64> {
    const WIDTH: usize = u64::WIDTH;

    #[inline]
    unsafe fn partition<const EQUAL: bool>(data: &mut [Self], pivot: Self, scratch: *mut Self) -> usize {
        // SAFETY: the same contract; a word with a position is transparent.
        unsafe {
            let data = std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<u64>(), data.len());
            u64::partition::<EQUAL>(data, pivot.0, scratch.cast())
        }
    }
}

/// Sorts a row; `scratch` is memory that is used again from row to row. The machine is of [`crate::Level::V4`].
pub(crate) fn sort<W: Packed>(words: &mut [W], scratch: &mut Vec<W>) {
    assert_eq!(crate::level(), crate::Level::V4, "sorted by AVX-512");
    if words.len() <= SHORT {
        return words.sort_unstable();
    }
    scratch.resize(words.len() + 2 * W::WIDTH, W::default());
    let levels = 2 * words.len().ilog2();
    // SAFETY: the machine has the instructions; the scratch memory is long enough.
    unsafe { quicksort(words, Shared(scratch.as_mut_ptr()), levels) }
}

/// Hoare's quicksort, in at most `levels` steps; what then is left is sorted by the standard library.
///
/// # Safety
/// The machine has AVX-512 F. `scratch` is writable for [`Packed::WIDTH`] elements more than there are words.
unsafe fn quicksort<W: Packed>(mut words: &mut [W], scratch: Shared<W>, mut levels: u32) {
    while words.len() > SHORT {
        if levels == 0 {
            break;
        }
        levels -= 1;
        let pivot = pivot(words);
        // SAFETY: the caller's contract.
        let mut below = unsafe { W::partition::<false>(words, pivot, scratch.get()) };
        if below == 0 {
            // The pivot is the least: what equals it is in its place.
            // SAFETY: the caller's contract.
            below = unsafe { W::partition::<true>(words, pivot, scratch.get()) };
            words = &mut words[below..];
            continue;
        }
        let (front, back) = words.split_at_mut(below);
        if front.len().min(back.len()) >= SPLIT {
            let mut spare = vec![W::default(); front.len() + W::WIDTH];
            let sides = [
                (Shared(front.as_mut_ptr()), front.len(), Shared(spare.as_mut_ptr())),
                (Shared(back.as_mut_ptr()), back.len(), scratch),
            ];
            parallel_for(2, 1, |range| {
                for (data, n, scratch) in &sides[range] {
                    // SAFETY: the sides are disjoint, as is their scratch memory, which is as long as either needs.
                    unsafe { quicksort(std::slice::from_raw_parts_mut(data.get(), *n), *scratch, levels) }
                }
            });
            return;
        }
        // SAFETY: the caller's contract.
        unsafe { quicksort(front, scratch, levels) };
        words = back;
    }
    words.sort_unstable();
}

/// The median of three medians of words that are spread over the row.
fn pivot<W: Packed>(words: &[W]) -> W {
    let median = |a: W, b: W, c: W| a.min(b).max(a.max(b).min(c));
    let step = words.len() / 9;
    let of = |i: usize| median(words[i * step], words[(i + 3) * step + step / 2], words[(i + 6) * step + step / 3]);
    median(of(0), of(1), of(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> Vec<Vec<u64>> {
        let random = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        vec![
            (0..n).map(random).collect(),
            (0..n).map(|i| random(i) >> 61).collect(),
            (0..n).map(|i| i as u64).collect(),
            (0..n).rev().map(|i| i as u64).collect(),
            (0..n).map(|i| i.min(n - i) as u64).collect(),
            (0..n).map(|i| (i % 100) as u64).collect(),
            vec![u64::MAX; n],
            (0..n).map(|i| if i % 7 == 0 { u64::MAX } else { 0 }).collect(),
        ]
    }

    #[test]
    fn rows_of_any_order_are_sorted() {
        if crate::level() < crate::Level::V4 {
            return;
        }
        for n in [0, 1, 31, 32, 33, 47, 48, 64, 100, 1000, 5000, 400_000] {
            for row in rows(n) {
                let mut want = row.clone();
                want.sort_unstable();
                let mut got = row.clone();
                sort(&mut got, &mut Vec::new());
                assert_eq!(got, want);
                let mut narrow: Vec<u32> = row.iter().map(|w| (w >> 32 ^ w) as u32).collect();
                let mut want = narrow.clone();
                want.sort_unstable();
                sort(&mut narrow, &mut Vec::new());
                assert_eq!(narrow, want);
            }
        }
    }

    #[test]
    fn a_partition_keeps_all_words() {
        if crate::level() < crate::Level::V4 {
            return;
        }
        for n in 0..70usize {
            let row: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 28).collect();
            let mut scratch = vec![0; n + 16];
            for pivot in [0, 5, 15, 16] {
                let mut words = row.clone();
                // SAFETY: the level was asked for; the scratch memory is longer by a vector.
                let below = unsafe { u32::partition::<false>(&mut words, pivot, scratch.as_mut_ptr()) };
                assert!(words[..below].iter().all(|&w| w < pivot) && words[below..].iter().all(|&w| w >= pivot));
                let mut sorted = row.clone();
                sorted.sort_unstable();
                words.sort_unstable();
                assert_eq!(words, sorted);
            }
        }
    }
}
