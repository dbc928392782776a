//! Sorting of unsigned integers: of one row by vectors or by its digits, of many short rows side by side by a network.

#![expect(unsafe_code, reason = "words with positions are words")]

use penstock_data::memory::reserve_scratch;

use crate::arch::dispatch_v3;
#[cfg(target_arch = "x86_64")]
use crate::vector_sort::sort as sort_vectors;

/// There are no vectors to sort by.
#[cfg(not(target_arch = "x86_64"))]
fn sort_vectors<W>(_words: &mut [W]) -> bool {
    false
}

/// An unsigned integer that is sorted by its bits from a place on; what is below them stays in order.
pub(crate) trait Word: Copy + Ord + Send + Sync + Default {
    /// The bits that are compared: all above the others.
    const BITS: u32;
    /// The lowest of them.
    const LOW: u32;
    /// The `DIGIT` bits from `shift` on.
    fn digit(self, shift: u32) -> usize;
    /// Sorts words by vectors, positions included, where that is possible, and says whether it is.
    fn sort_vectors(_words: &mut [Self]) -> bool {
        false
    }
}

/// The bits of a digit.
const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;

macro_rules! words {
    ($($ty:ident: $bits:literal from $low:literal;)*) => {$(
        impl Word for $ty {
            const BITS: u32 = $bits;
            const LOW: u32 = $low;
            #[inline(always)]
            fn digit(self, shift: u32) -> usize {
                (self >> shift) as usize & (BUCKETS - 1)
            }
            fn sort_vectors(words: &mut [$ty]) -> bool {
                sort_vectors(words)
            }
        }
    )*};
}

/// A word whose low half is the position of an element in its row, in which words come before they are sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
#[repr(transparent)]
pub(crate) struct Placed<W>(pub(crate) W);

words! {
    u32: 32 from 0;
    u64: 64 from 0;
}

impl Word for Placed<u64> {
    const BITS: u32 = 32;
    const LOW: u32 = 32;
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self.0 >> shift) as usize & (BUCKETS - 1)
    }
    fn sort_vectors(words: &mut [Placed<u64>]) -> bool {
        // SAFETY: `Placed` is the word in it.
        sort_vectors(unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u64>(), words.len()) })
    }
}

impl Word for Placed<u128> {
    const BITS: u32 = 64;
    const LOW: u32 = 64;
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self.0 >> shift) as usize & (BUCKETS - 1)
    }
}

/// Sorts a row; `scratch` is memory that is used again from row to row.
///
/// Where words have more bits than are compared, they come in the order of the others.
pub(crate) fn sort_words<W: Word>(words: &mut [W], scratch: &mut Vec<W>) {
    if merge_runs(words, scratch) || W::sort_vectors(words) {
        return;
    }
    // Counting takes time for every bucket.
    if words.len() < 350 * W::BITS.div_ceil(DIGIT) as usize || words.len() > u32::MAX as usize {
        words.sort_unstable();
    } else {
        by_digits(words, scratch);
    }
}

/// The most runs that are merged: with more of them there are more than two passes over the words.
const RUNS: usize = 4;

/// Sorts words that are a few runs in order, such as sorted rows that were joined, or one run in the opposite order; gives whether
/// they are. Words in any other order are not looked at for long.
fn merge_runs<W: Word>(words: &mut [W], scratch: &mut Vec<W>) -> bool {
    let n = words.len();
    // Where each run starts, and the end.
    let (mut starts, mut runs) = ([n; RUNS + 1], 1);
    starts[0] = 0;
    for i in 1..n {
        if words[i] < words[i - 1] {
            if runs == RUNS {
                let reversed = words.is_sorted_by(|a, b| a >= b);
                if reversed {
                    words.reverse();
                }
                return reversed;
            }
            starts[runs] = i;
            runs += 1;
        }
    }
    if runs > 1 {
        scratch.clear();
        reserve_scratch(scratch, n);
        scratch.resize(n, W::default());
        merge(&words[..starts[1]], &words[starts[1]..starts[2]], &mut scratch[..starts[2]]);
        merge(&words[starts[2]..starts[3]], &words[starts[3]..], &mut scratch[starts[2]..]);
        let (first, second) = scratch.split_at(starts[2]);
        merge(first, second, words);
    }
    true
}

/// Merges two runs that are as long together as `out`.
fn merge<W: Word>(first: &[W], second: &[W], out: &mut [W]) {
    let (mut i, mut j) = (0, 0);
    while i < first.len() && j < second.len() {
        let (a, b) = (first[i], second[j]);
        let behind = b < a;
        out[i + j] = std::hint::select_unpredictable(behind, b, a);
        i += usize::from(!behind);
        j += usize::from(behind);
    }
    let rest = &mut out[i + j..];
    rest.copy_from_slice(if i < first.len() { &first[i..] } else { &second[j..] });
}

/// Sorts by one digit after the other, the lowest first: Knuth, The Art of Computer Programming, volume 3, algorithm R.
fn by_digits<W: Word>(words: &mut [W], scratch: &mut Vec<W>) {
    let digits = W::BITS.div_ceil(DIGIT) as usize;
    let mut counts = vec![[0u32; BUCKETS]; digits];
    for w in words.iter() {
        for (d, counts) in counts.iter_mut().enumerate() {
            counts[w.digit(W::LOW + d as u32 * DIGIT)] += 1;
        }
    }
    scratch.clear();
    reserve_scratch(scratch, words.len());
    scratch.resize(words.len(), W::default());
    let mut moved = false;
    for (d, counts) in counts.iter_mut().enumerate() {
        let (from, to) = if moved { (&scratch[..], &mut *words) } else { (&*words, &mut scratch[..]) };
        let shift = W::LOW + d as u32 * DIGIT;
        if counts[from[0].digit(shift)] as usize == from.len() {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            (*count, start) = (start, start + *count);
        }
        for &w in from {
            let place = &mut counts[w.digit(shift)];
            to[*place as usize] = w;
            *place += 1;
        }
        moved = !moved;
    }
    if moved {
        words.copy_from_slice(scratch);
    }
}

/// Sorts `L` rows side by side: element `i` of each is in `rows[i]`. It is Batcher's merge exchange: Knuth, volume 3,
/// algorithm 5.2.2 M.
pub(crate) fn sort_columns<W: Copy + Ord, const L: usize>(rows: &mut [[W; L]]) {
    dispatch_v3(
        #[inline(always)]
        || {
            let n = rows.len();
            let half = n.next_power_of_two() / 2;
            let mut p = half;
            while p > 0 {
                let (mut q, mut r, mut d) = (half, 0, p);
                loop {
                    let mut run = r;
                    while run + d < n {
                        for i in run..(run + p).min(n - d) {
                            let (a, b) = (rows[i], rows[i + d]);
                            for l in 0..L {
                                rows[i][l] = a[l].min(b[l]);
                                rows[i + d][l] = a[l].max(b[l]);
                            }
                        }
                        run += 2 * p;
                    }
                    if q == p {
                        break;
                    }
                    (d, r) = (q - p, p);
                    q /= 2;
                }
                p /= 2;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrambled(n: usize) -> impl Iterator<Item = u64> {
        (0..n as u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn words_are_sorted_by_their_digits() {
        for n in [0, 1, 2, 100, 2000, 5000, 70_000] {
            for shift in [0, 20, 50, 63] {
                let mut words: Vec<u64> = scrambled(n).map(|w| w >> shift).collect();
                let mut want = words.clone();
                want.sort_unstable();
                let mut digits = words.clone();
                sort_words(&mut words, &mut Vec::new());
                assert_eq!(words, want);
                if n > 0 {
                    by_digits(&mut digits, &mut Vec::new());
                    assert_eq!(digits, want);
                }
                let mut words: Vec<u32> = scrambled(n).map(|w| (w >> 32 >> (shift / 2)) as u32).collect();
                let mut want = words.clone();
                want.sort_unstable();
                sort_words(&mut words, &mut Vec::new());
                assert_eq!(words, want);
            }
        }
    }

    #[test]
    fn runs_are_merged_and_turned_round() {
        for n in [0, 1, 2, 3, 7, 100, 1000] {
            for runs in 1..=6 {
                let mut words: Vec<u64> = scrambled(n).map(|w| w >> 60).collect();
                let mut want = words.clone();
                want.sort_unstable();
                let length = n.div_ceil(runs).max(1);
                words.chunks_mut(length).for_each(|run| run.sort_unstable());
                let few = words.windows(2).filter(|pair| pair[1] < pair[0]).count() < RUNS;
                let mut merged = words.clone();
                assert_eq!(merge_runs(&mut merged, &mut Vec::new()), few, "{n} {runs}");
                assert!(!few || merged == want, "{n} {runs}");
            }
            let mut words: Vec<u64> = (0..n as u64).rev().map(|w| w / 3).collect();
            assert!(merge_runs(&mut words, &mut Vec::new()));
            assert!(words.is_sorted());
        }
    }

    #[test]
    fn equal_keys_stay_in_the_order_of_their_positions() {
        let mut narrow: Vec<_> = scrambled(5000).enumerate().map(|(i, w)| Placed(w >> 58 << 32 | i as u64)).collect();
        let mut wide: Vec<_> =
            scrambled(5000).enumerate().map(|(i, w)| Placed(u128::from(w >> 58) << 64 | i as u128)).collect();
        let mut digits = narrow.clone();
        sort_words(&mut narrow, &mut Vec::new());
        by_digits(&mut digits, &mut Vec::new());
        sort_words(&mut wide, &mut Vec::new());
        assert!(narrow.is_sorted() && digits.is_sorted() && wide.is_sorted());
    }

    #[test]
    fn networks_sort_rows_of_any_length() {
        for n in (0..70).chain([127, 128, 129, 300, 512]) {
            let mut words = scrambled(n * 8);
            let mut rows: Vec<[u64; 8]> =
                (0..n).map(|_| std::array::from_fn(|_| words.next().unwrap() >> 55)).collect();
            let mut want: Vec<Vec<u64>> = (0..8).map(|l| rows.iter().map(|row| row[l]).collect()).collect();
            want.iter_mut().for_each(|row| row.sort_unstable());
            sort_columns(&mut rows);
            for (l, want) in want.iter().enumerate() {
                assert!(rows.iter().map(|row| row[l]).eq(want.iter().copied()), "{n} {l}");
            }
        }
    }
}
