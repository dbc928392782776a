//! Short rows: copies of them, and elements that are repeated over them.
//!
//! A row of a few elements is over before a loop over them has found its pace. So the end of a row is one masked move where
//! there are those, which touch no memory that is masked out.

#![expect(unsafe_code, reason = "moves of raw memory, and instructions of a detected instruction set")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm_loadu_si128, _mm256_mask_storeu_epi8, _mm256_maskz_loadu_epi8, _mm512_broadcast_i32x4, _mm512_loadu_si512,
    _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_storeu_si512,
};

use crate::arch::dispatch_v3;
#[cfg(target_arch = "x86_64")]
use crate::arch::{Level, level};

/// Bytes of a vector.
#[cfg(target_arch = "x86_64")]
const VECTOR: usize = 64;
/// Rows of more bytes are copied each by a call.
const LONG: usize = 512;

/// Copies `rows` rows of `bytes` bytes, on this thread: from where they start `step` bytes apart to where they start `pitch` bytes
/// apart.
///
/// # Safety
/// Every row is readable in the source and writable in the destination; they do not overlap.
#[inline]
pub unsafe fn copy_rows(from: *const u8, step: isize, to: *mut u8, pitch: isize, bytes: usize, rows: usize) {
    // SAFETY: the caller's contract; `level` returns `V4` only after detecting its features.
    unsafe {
        match bytes {
            1 => copy_elements::<u8>(from, step, to, pitch, rows),
            2 => copy_elements::<u16>(from, step, to, pitch, rows),
            4 => copy_elements::<u32>(from, step, to, pitch, rows),
            8 => copy_elements::<u64>(from, step, to, pitch, rows),
            #[cfg(target_arch = "x86_64")]
            0..=LONG if level() == Level::V4 => copy_v4(from, step, to, pitch, bytes, rows),
            0 => {}
            3 => copy_blocks::<2>(from, step, to, pitch, bytes, rows),
            5..8 => copy_blocks::<4>(from, step, to, pitch, bytes, rows),
            9..16 => copy_blocks::<8>(from, step, to, pitch, bytes, rows),
            16..32 => copy_blocks::<16>(from, step, to, pitch, bytes, rows),
            32..=LONG => copy_blocks::<32>(from, step, to, pitch, bytes, rows),
            _ => (0..rows as isize)
                .for_each(|r| from.offset(r * step).copy_to_nonoverlapping(to.offset(r * pitch), bytes)),
        }
    }
}

/// [`copy_rows`], `N` bytes at a time, of which a row has at least so many; the last of these blocks may overlap the one before.
///
/// # Safety
/// As for [`copy_rows`].
unsafe fn copy_blocks<const N: usize>(
    from: *const u8,
    step: isize,
    to: *mut u8,
    pitch: isize,
    bytes: usize,
    rows: usize,
) {
    dispatch_v3(
        #[inline(always)]
        || {
            for r in 0..rows as isize {
                // SAFETY: the caller's contract: `at + N` is at most `bytes`.
                unsafe {
                    let (from, to) = (from.offset(r * step), to.offset(r * pitch));
                    let block = |at: usize| {
                        to.add(at).cast::<[u8; N]>().write_unaligned(from.add(at).cast::<[u8; N]>().read_unaligned());
                    };
                    (0..bytes / N).for_each(|b| block(b * N));
                    block(bytes - N);
                }
            }
        },
    );
}

/// [`copy_rows`] of rows of one `T`.
///
/// # Safety
/// As for [`copy_rows`].
#[inline(always)]
unsafe fn copy_elements<T: Copy>(from: *const u8, step: isize, to: *mut u8, pitch: isize, rows: usize) {
    for r in 0..rows as isize {
        // SAFETY: the caller's contract.
        unsafe {
            let element = from.offset(r * step).cast::<T>().read_unaligned();
            to.offset(r * pitch).cast::<T>().write_unaligned(element);
        }
    }
}

/// # Safety
/// As for [`copy_rows`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn copy_v4(from: *const u8, step: isize, to: *mut u8, pitch: isize, bytes: usize, rows: usize) {
    let (whole, mask) = (bytes / VECTOR * VECTOR, (1u64 << (bytes % VECTOR)) - 1);
    let (mut from, mut to) = (from, to);
    // Of half a vector less lies across two lines of the cache.
    if bytes <= VECTOR / 2 {
        let mask = ((1u64 << bytes) - 1) as u32;
        for _ in 0..rows {
            // SAFETY: what the mask leaves is inside of the row.
            unsafe { _mm256_mask_storeu_epi8(to.cast(), mask, _mm256_maskz_loadu_epi8(mask, from.cast())) };
            (from, to) = (from.wrapping_offset(step), to.wrapping_offset(pitch));
        }
        return;
    }
    for _ in 0..rows {
        // SAFETY: whole vectors are inside of the row, and so is what the mask leaves of the last.
        unsafe {
            let mut at = 0;
            while at < whole {
                _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast()));
                at += VECTOR;
            }
            // Of nothing, at the end of what may be touched, no address is made.
            let (last, end) = (from.wrapping_add(whole), to.wrapping_add(whole));
            _mm512_mask_storeu_epi8(end.cast(), mask, _mm512_maskz_loadu_epi8(mask, last.cast()));
        }
        (from, to) = (from.wrapping_offset(step), to.wrapping_offset(pitch));
    }
}

/// Repeats an element for each row, of `size` bytes, over its `width` columns, on this thread: those of the rows are `step` bytes apart,
/// and the rows lie one behind the other.
///
/// # Safety
/// Every element is readable, and has 1, 2, 4, 8 or 16 bytes; `out` is writable for all rows. They do not overlap.
pub unsafe fn spread(size: usize, from: *const u8, step: isize, rows: usize, width: usize, out: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::V4 {
        // SAFETY: the caller's contract; `level` returns `V4` only after detecting its features.
        return unsafe { spread_v4(size, from, step, rows, width, out) };
    }
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            1 => spread_elements::<u8>(from, step, rows, width, out),
            2 => spread_elements::<u16>(from, step, rows, width, out),
            4 => spread_elements::<u32>(from, step, rows, width, out),
            8 => spread_elements::<u64>(from, step, rows, width, out),
            _ => spread_elements::<u128>(from, step, rows, width, out),
        }
    }
}

/// # Safety
/// As for [`spread`], with elements of `T`.
unsafe fn spread_elements<T: Copy>(from: *const u8, step: isize, rows: usize, width: usize, out: *mut u8) {
    for r in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let value = from.offset(r as isize * step).cast::<T>().read_unaligned();
            let row = out.cast::<T>().add(r * width);
            (0..width).for_each(|j| row.add(j).write_unaligned(value));
        }
    }
}

/// # Safety
/// As for [`spread`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn spread_v4(size: usize, from: *const u8, step: isize, rows: usize, width: usize, out: *mut u8) {
    let bytes = size * width;
    let (whole, mask) = (bytes / VECTOR * VECTOR, (1u64 << (bytes % VECTOR)) - 1);
    let (mut from, mut out) = (from, out);
    for _ in 0..rows {
        // SAFETY: the element is readable; whole vectors are inside of the row, and so is what the mask leaves of the last.
        unsafe {
            let value = match size {
                1 => _mm512_set1_epi8(from.cast::<i8>().read()),
                2 => _mm512_set1_epi16(from.cast::<i16>().read_unaligned()),
                4 => _mm512_set1_epi32(from.cast::<i32>().read_unaligned()),
                8 => _mm512_set1_epi64(from.cast::<i64>().read_unaligned()),
                _ => _mm512_broadcast_i32x4(_mm_loadu_si128(from.cast())),
            };
            let mut at = 0;
            while at < whole {
                _mm512_storeu_si512(out.add(at).cast(), value);
                at += VECTOR;
            }
            _mm512_mask_storeu_epi8(out.wrapping_add(whole).cast(), mask, value);
        }
        (from, out) = (from.wrapping_offset(step), out.wrapping_add(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that differ from their neighbours.
    fn bytes(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i * 37 + i / 256) as u8).collect()
    }

    #[test]
    fn rows_of_every_length_are_copied_and_nothing_beside_them() {
        for width in (0..140).chain([191, 192, 500, 512, 513, 700]) {
            for (gap, space, rows) in [(0, 0, 5), (3, 0, 4), (0, 9, 3), (64, 1, 1)] {
                let (step, pitch) = (width + gap, width + space);
                let from = bytes(step * rows);
                let before = bytes(pitch * rows + 1);
                let mut to = before.clone();
                // SAFETY: both have so many rows.
                unsafe {
                    copy_rows(from.as_ptr(), step as isize, to.as_mut_ptr(), pitch as isize, width, rows);
                }
                let mut due = before.clone();
                for r in 0..rows {
                    due[r * pitch..r * pitch + width].copy_from_slice(&from[r * step..r * step + width]);
                }
                assert_eq!(to, due, "{width} {gap} {space}");
                // What machines without masks do.
                to = before;
                let (from, into, step, pitch) = (from.as_ptr(), to.as_mut_ptr(), step as isize, pitch as isize);
                // SAFETY: both have so many rows; no block is longer than a row.
                unsafe {
                    match width {
                        0 => {}
                        1 => copy_blocks::<1>(from, step, into, pitch, width, rows),
                        2..32 => copy_blocks::<2>(from, step, into, pitch, width, rows),
                        _ => copy_blocks::<32>(from, step, into, pitch, width, rows),
                    }
                }
                assert_eq!(to, due, "{width} {gap} {space}");
            }
        }
    }

    #[test]
    fn rows_may_go_backwards() {
        let from = bytes(40);
        let mut to = vec![0; 40];
        // SAFETY: rows 3, 2, 1 and 0 of ten bytes.
        unsafe { copy_rows(from[30..].as_ptr(), -10, to.as_mut_ptr(), 10, 10, 4) };
        let due: Vec<u8> = from.chunks(10).rev().flatten().copied().collect();
        assert_eq!(to, due);
    }

    #[test]
    fn elements_of_every_size_are_repeated_over_rows_of_every_length() {
        for size in [1, 2, 4, 8, 16] {
            for width in (0..40).chain([63, 64, 65, 200]) {
                for (step, rows) in [(size, 4), (0, 3), (size + 5, 2)] {
                    let from = bytes(step * rows + size);
                    let mut out = vec![0xab; size * width * rows + 1];
                    // SAFETY: there are so many elements, and rows of so many.
                    unsafe { spread(size, from.as_ptr(), step as isize, rows, width, out.as_mut_ptr()) };
                    let mut due: Vec<u8> = Vec::new();
                    for r in 0..rows {
                        (0..width).for_each(|_| due.extend(&from[r * step..r * step + size]));
                    }
                    due.push(0xab);
                    assert_eq!(out, due, "{size} {width} {step}");
                }
            }
        }
    }
}
