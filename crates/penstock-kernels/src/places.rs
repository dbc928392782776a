//! Moves of a few elements whose places are known before they run: no sizes, strides or axes are left to work out.

#![expect(unsafe_code, reason = "copies raw memory")]

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

/// Copies runs out of operands, of which `start` gives the first byte.
///
/// # Safety
/// Every run is readable in its operand and writable in the result, which overlaps no operand.
#[inline(always)]
pub unsafe fn copy_runs(runs: &[Run], start: impl Fn(usize) -> *const u8, out: *mut u8) {
    for run in runs {
        // SAFETY: the caller's contract.
        unsafe {
            let (from, to) = (start(run.operand as usize).add(run.from as usize), out.add(run.to as usize));
            copy_run(from, to, run.bytes as usize);
        }
    }
}

/// Copies a run by moves of the greatest size that it has; the last may overlap the one before.
///
/// # Safety
/// As for [`copy_runs`].
#[inline(always)]
unsafe fn copy_run(from: *const u8, to: *mut u8, bytes: usize) {
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
    fn runs_of_every_length_are_copied_and_nothing_beside_them() {
        let operands: [Vec<u8>; 2] = [0u8, 128].map(|first| (0..100).map(|i| first + i).collect());
        for bytes in 0..70 {
            let run = |operand, from, to| Run { operand, from, to, bytes };
            let runs = [run(1, 30, 1), run(0, 5, bytes + 2)];
            let mut out = vec![255u8; 2 * bytes as usize + 3];
            // SAFETY: the operands have 100 bytes, and the result has room for both runs with a byte around each.
            unsafe { copy_runs(&runs, |i| operands[i].as_ptr(), out.as_mut_ptr()) };
            let due =
                [&[255], &operands[1][30..][..bytes as usize], &[255], &operands[0][5..][..bytes as usize], &[255]];
            assert_eq!(out, due.concat(), "{bytes}");
        }
    }
}
