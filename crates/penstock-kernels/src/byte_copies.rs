//! Moves of a few elements whose places are known before they run: no sizes, strides or axes are left to work out.

#![expect(unsafe_code, reason = "copies raw memory")]

use penstock_data::num_elements;

use crate::broadcast::broadcast_dims;
use crate::copy::broadcast_to;

/// Bytes that lie side by side in an operand and in the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Which operand they come from.
    pub operand: u32,
    /// Where they begin in the operand.
    pub from: u32,
    /// Where they begin in the result.
    pub to: u32,
    /// How many they are.
    pub bytes: u32,
}

/// The runs that a result consists of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runs {
    /// Any.
    Several(Box<[Run]>),
    /// Of one operand and one length: where each begins in the operand and in the result.
    Alike {
        /// The operand.
        operand: u32,
        /// The bytes of each.
        bytes: u32,
        /// Where they begin.
        places: Box<[[u32; 2]]>,
    },
}

impl From<Vec<Run>> for Runs {
    fn from(list: Vec<Run>) -> Runs {
        match list[..] {
            [Run { operand, bytes, .. }, ..] if list.iter().all(|r| r.operand == operand && r.bytes == bytes) => {
                Runs::Alike { operand, bytes, places: list.iter().map(|r| [r.from, r.to]).collect() }
            }
            _ => Runs::Several(list.into()),
        }
    }
}

/// The most bytes of a result that is made by runs; larger ones are better made by loops, or shared.
pub const MOST_BYTES: usize = 1024;
/// The most runs that a result is made of.
const MOST_RUNS: usize = 64;

/// The runs of a result of elements of `size` bytes that have these numbers in the operands: elements of the operand at position `i`
/// are numbered from `firsts[i].1` on, the least first; `firsts[i].0` is what runs call it. Those of a lower number than any are in no run.
/// `None` where there are too many.
pub fn runs_of(numbers: &[i64], firsts: &[(usize, i64)], size: usize) -> Option<Runs> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, &number) in numbers.iter().enumerate() {
        let Some(&(operand, first)) = firsts.iter().rfind(|&&(_, first)| first <= number) else { continue };
        let place = |n: usize| u32::try_from(n * size).ok();
        let (from, to, bytes) = (place((number - first) as usize)?, place(at)?, size as u32);
        let run = Run { operand: u32::try_from(operand).ok()?, from, to, bytes };
        match runs.last_mut() {
            Some(last)
                if last.operand == run.operand && last.from + last.bytes == from && last.to + last.bytes == to =>
            {
                last.bytes += bytes;
            }
            _ => runs.push(run),
        }
    }
    (runs.len() <= MOST_RUNS).then(|| runs.into())
}

/// The runs of operand 0, of extents `dims`, repeated to extents that it broadcasts to; `None` where it does not, or there are too many.
pub fn repeated(dims: &[usize], out_dims: &[usize], size: usize) -> Option<Runs> {
    let (n, made) = (num_elements(dims)?, num_elements(out_dims)?);
    if n > MOST_BYTES || made > MOST_BYTES || broadcast_dims(&[dims, out_dims])?[..] != *out_dims {
        return None;
    }
    let numbers: Vec<i64> = (0..n as i64).collect();
    let mut out = vec![0i64; made];
    // SAFETY: the arrays have `n` and `made` elements of 8 bytes and do not overlap; the extents broadcast, as was checked above.
    unsafe { broadcast_to(8, numbers.as_ptr().cast(), dims, out_dims, out.as_mut_ptr().cast()) };
    runs_of(&out, &[(0, 0)], size)
}

/// Copies runs out of operands, of which `start` gives the first byte.
///
/// # Safety
/// Every run is readable in its operand and writable in the result, which overlaps no operand.
#[inline(always)]
pub unsafe fn copy_runs(runs: &Runs, start: impl Fn(usize) -> *const u8, out: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        match *runs {
            Runs::Several(ref list) => list.iter().for_each(|run| {
                let from = start(run.operand as usize).add(run.from as usize);
                copy_run(from, out.add(run.to as usize), run.bytes as usize);
            }),
            Runs::Alike { operand, bytes, ref places } => {
                let from = start(operand as usize);
                match bytes {
                    4 => copy_places::<4>(places, from, out),
                    8 => copy_places::<8>(places, from, out),
                    16 => copy_places::<16>(places, from, out),
                    _ => places.iter().for_each(|&[at, to]| {
                        copy_run(from.add(at as usize), out.add(to as usize), bytes as usize);
                    }),
                }
            }
        }
    }
}

/// # Safety
/// As for [`copy_runs`].
#[inline(always)]
unsafe fn copy_places<const N: usize>(places: &[[u32; 2]], from: *const u8, out: *mut u8) {
    for &[at, to] in places {
        // SAFETY: the caller's contract.
        unsafe { from.add(at as usize).cast::<[u8; N]>().copy_to_nonoverlapping(out.add(to as usize).cast(), 1) };
    }
}

/// Copies the rows of `bytes` bytes, of `n` in each of `outer` blocks, that indices name; whether all of these are in `0..n`. Else not all
/// is written.
///
/// # Safety
/// The indices are readable, `from` is readable for the blocks, and `out` is writable for `outer` times as many rows as there are
/// indices; it overlaps neither.
#[inline(always)]
pub unsafe fn copy_rows_at<I: Copy + TryInto<usize>>(
    from: *const u8,
    [outer, n, bytes]: [usize; 3],
    indices: &[I],
    out: *mut u8,
) -> bool {
    let mut to = out;
    for block in 0..outer {
        for &index in indices {
            let Some(row) = index.try_into().ok().filter(|&row: &usize| row < n) else { return false };
            // SAFETY: the row is inside of its block; there is a row of the result for each.
            unsafe {
                copy_run(from.add((block * n + row) * bytes), to, bytes);
                to = to.add(bytes);
            }
        }
    }
    true
}

/// Copies a run by moves of the greatest size that it has; the last may overlap the one before.
///
/// # Safety
/// `from` is readable and `to` writable for so many bytes; they do not overlap.
#[inline(always)]
pub unsafe fn copy_run(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract; what is moved ends at `bytes` at the latest.
    unsafe {
        match bytes {
            0 => {}
            1 => ends::<1>(from, to, bytes),
            2..4 => ends::<2>(from, to, bytes),
            4 => from.cast::<[u8; 4]>().copy_to_nonoverlapping(to.cast(), 1),
            5..8 => ends::<4>(from, to, bytes),
            8 => from.cast::<[u8; 8]>().copy_to_nonoverlapping(to.cast(), 1),
            9..16 => ends::<8>(from, to, bytes),
            16..=32 => ends::<16>(from, to, bytes),
            _ => from.copy_to_nonoverlapping(to, bytes),
        }
    }
}

/// Copies the first `N` bytes and the last.
///
/// # Safety
/// As for [`copy_runs`]; there are at least `N`.
#[inline(always)]
unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let (first, last) = (from.cast::<[u8; N]>().read(), from.add(bytes - N).cast::<[u8; N]>().read());
        to.cast::<[u8; N]>().write(first);
        to.add(bytes - N).cast::<[u8; N]>().write(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_repeat_only_to_what_they_broadcast_to() {
        let runs = repeated(&[3], &[2, 3], 4).unwrap();
        assert_eq!(runs, Runs::Alike { operand: 0, bytes: 12, places: [[0, 0], [0, 12]].into() });
        for (dims, out_dims) in [(&[3][..], &[2, 4][..]), (&[2, 3], &[3]), (&[4], &[1]), (&[5, 1], &[2, 7])] {
            assert_eq!(repeated(dims, out_dims, 4), None, "{dims:?} to {out_dims:?}");
        }
    }

    #[test]
    fn runs_of_every_length_are_copied_and_nothing_beside_them() {
        let operands: [Vec<u8>; 2] = [0u8, 128].map(|first| (0..100).map(|i| first + i).collect());
        for bytes in 0..70 {
            let run = |operand, from, to| Run { operand, from, to, bytes };
            let runs = Runs::from(vec![run(1, 30, 1), run(0, 5, bytes + 2)]);
            let mut out = vec![255u8; 2 * bytes as usize + 3];
            // SAFETY: the operands have 100 bytes, and the result has room for both runs with a byte around each.
            unsafe { copy_runs(&runs, |i| operands[i].as_ptr(), out.as_mut_ptr()) };
            let due =
                [&[255], &operands[1][30..][..bytes as usize], &[255], &operands[0][5..][..bytes as usize], &[255]];
            assert_eq!(out, due.concat(), "{bytes}");
            // Of one operand.
            let runs = Runs::from(vec![run(1, 30, 1), run(1, 5, bytes + 2)]);
            // SAFETY: the operands have 100 bytes, and the result has room for both runs with a byte around each.
            unsafe { copy_runs(&runs, |i| operands[i].as_ptr(), out.as_mut_ptr()) };
            let due =
                [&[255], &operands[1][30..][..bytes as usize], &[255], &operands[1][5..][..bytes as usize], &[255]];
            assert_eq!(out, due.concat(), "{bytes}");
        }
    }
}
