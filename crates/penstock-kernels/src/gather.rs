//! Kernels that move rows by index.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::sync::atomic::{AtomicUsize, Ordering};

use penstock_data::{DType, DTypeSet, Element, bf16, f16, with_dtype};

use crate::binary::binary;
use crate::copy::fill;
use crate::loops::Lane;
use crate::ops::Binary;
use crate::pool::{Shared, grain, parallel_for, threads};

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

    /// The first position whose index is not in `0..limit`.
    ///
    /// # Safety
    /// The indices are aligned and readable.
    pub unsafe fn first_outside(self, limit: usize) -> Option<usize> {
        self.check_dtype();
        // SAFETY: positions below the count.
        (0..self.count).find(|&i| unsafe { self.get(i) } as usize >= limit)
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
    indices.check_dtype();
    let count = indices.count;
    let (src, dst) = (Shared(input.cast_mut()), Shared(out));
    let bad = AtomicUsize::new(usize::MAX);
    parallel_for(outer * count, grain(bytes as f64 * 0.1 + 4.0), |range| {
        for task in range {
            let (o, i) = (task / count, task % count);
            // SAFETY: `i` is below the count.
            let index = unsafe { indices.get(i) } as usize;
            if index >= n {
                bad.fetch_min(i, Ordering::Relaxed);
                break;
            }
            // SAFETY: `index < n`, `o < outer` and `i < count`; `out` overlaps nothing.
            unsafe {
                let (from, to) = (src.get().add((o * n + index) * bytes), dst.get().add(task * bytes));
                match bytes {
                    4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
                    8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
                    _ => from.copy_to_nonoverlapping(to, bytes),
                }
            }
        }
    });
    match bad.into_inner() {
        usize::MAX => Ok(()),
        position => Err(position),
    }
}

/// Combines row `i` of `updates` into row `indices[i]` of `out`, in the order of `i`: by `op`, one of `Add`, `Sub`,
/// `Mul`, `Max`, `Min`; or by overwriting, if none. Rows have `width` elements of `dtype`.
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
    let size = dtype.size();
    let bytes = width * size;
    let f = op.map(|op| binary(op, dtype).unwrap_or_else(|| panic!("{} does not take {dtype}", op.name())));
    // Each task takes a stretch of the output and looks through all indices for it, so that the updates of one row are
    // made in order by one thread.
    let tasks = if indices.count as f64 * (bytes as f64 * 0.1) < 400_000.0 { 1 } else { threads().clamp(1, n.max(1)) };
    let stretch = n.div_ceil(tasks);
    let (src, dst) = (Shared(updates.cast_mut()), Shared(out));
    parallel_for(tasks, 1, |range| {
        let (first, last) = (range.start * stretch, n.min(range.end * stretch));
        for i in 0..indices.count {
            // SAFETY: `i` is below the count.
            let index = unsafe { indices.get(i) } as usize;
            if index < first || index >= last {
                continue;
            }
            // SAFETY: indices were checked to be below `n`; a row of `out`, which no other range has, is combined in place.
            unsafe {
                let row = dst.get().add(index * bytes);
                let update = src.get().add(i * bytes).cast_const();
                match f {
                    None => update.copy_to_nonoverlapping(row, bytes),
                    // These loops report no fault.
                    Some(f) => {
                        let lanes = [Lane::new(row, size), Lane::new(update, size)];
                        let _ = f(width, &lanes, row);
                    }
                }
            }
        }
    });
    Ok(())
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
    indices.check_dtype();
    // SAFETY: the caller's contract.
    unsafe { fill(size, off, outer * depth * inner, out) };
    for i in 0..outer * inner {
        // SAFETY: there are as many indices; the position is inside the output.
        unsafe {
            let index = indices.get(i);
            if index >= 0 && (index as usize) < depth {
                let at = (i / inner * depth + index as usize) * inner + i % inner;
                on.copy_to_nonoverlapping(out.add(at * size), size);
            }
        }
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
        at: impl Fn(T, T, usize) -> T,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            let (start, step) = (start.cast::<T>().read(), step.cast::<T>().read());
            for i in 0..n {
                out.cast::<T>().add(i).write(at(start, step, i));
            }
        }
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
