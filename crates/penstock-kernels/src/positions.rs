//! Positions of elements, from rows of indices and of what is not zero, and counts of them.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::memory::scratch;
use penstock_data::{Bool8, C64, C128, DType, Element, bf16, f16, with_dtype};
use smallvec::SmallVec;

use crate::arch::dispatch_v3;
use crate::gather::{Index, Indices, with_indices};
use crate::num::Int;
use crate::pool::{Shared, grain, parallel_for};

/// Writes for each row of `dims.len()` indices, of which there is at least one, the row-major position that they name in an
/// array of extents `dims`.
///
/// # Errors
/// The first row with an index outside of its dimension; the output is then unspecified.
///
/// # Safety
/// The indices are aligned and readable, whole rows; `out` is aligned, disjoint and writable for as many elements as rows.
pub unsafe fn linear(indices: Indices, dims: &[usize], out: *mut i64) -> Result<(), usize> {
    /// # Safety
    /// `out` is writable for as many elements as rows.
    unsafe fn typed<I: Index>(rows: &[I], dims: &[usize], out: *mut i64) -> Result<(), usize> {
        for (r, row) in rows.chunks_exact(dims.len()).enumerate() {
            let (mut at, mut inside) = (0usize, true);
            for (index, &d) in row.iter().zip(dims) {
                inside &= index.at() < d;
                at = at.wrapping_mul(d).wrapping_add(index.at());
            }
            if !inside {
                return Err(r);
            }
            // SAFETY: `r` is a row.
            unsafe { out.add(r).write(at as i64) };
        }
        Ok(())
    }
    assert!(!dims.is_empty());
    // SAFETY: the caller's contract.
    unsafe { with_indices!(indices, list => typed(list, dims, out)) }
}

/// Elements that are counted at a time by one thread.
const PART: usize = 1 << 16;
/// Elements that are compared at a time.
const BLOCK: usize = 256;
/// Columns that are counted at a time.
const COLUMNS: usize = 1024;

/// An element that may be zero.
trait Zero: Element {
    fn is_zero(self) -> bool;
}

macro_rules! zeros {
    ($($ty:ident)*) => {$(
        impl Zero for $ty {
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0 as $ty }
        }
    )*};
}

zeros!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

macro_rules! complex {
    ($($ty:ident)*) => {$(
        impl Zero for $ty {
            #[inline(always)]
            fn is_zero(self) -> bool { (self.re == 0.0) & (self.im == 0.0) }
        }
    )*};
}

complex!(C64 C128);

impl Zero for Bool8 {
    #[inline(always)]
    fn is_zero(self) -> bool {
        !self.get()
    }
}

macro_rules! halves {
    ($($ty:ty)*) => {$(
        impl Zero for $ty {
            #[inline(always)]
            fn is_zero(self) -> bool { self.to_bits() & 0x7fff == 0 }
        }
    )*};
}

halves!(f16 bf16);

/// How many elements of an array are not zero. NaN is not zero, -0 is.
pub struct Nonzero {
    /// For each part of the array, the number in front of it; then the total.
    before: Vec<usize>,
}

impl Nonzero {
    /// Counts.
    ///
    /// # Panics
    /// If `dtype` is `str`.
    ///
    /// # Safety
    /// `x` is aligned and readable for `n` elements of `dtype`.
    pub unsafe fn count(dtype: DType, x: *const u8, n: usize) -> Nonzero {
        fn typed<T: Zero>(x: &[T]) -> Vec<usize> {
            let mut counts = scratch(0, x.len().div_ceil(PART) + 1);
            let out = Shared(counts.as_mut_ptr());
            parallel_for(x.len().div_ceil(PART), grain(PART as f64 * 0.1), |range| {
                for p in range {
                    let part = &x[p * PART..x.len().min((p + 1) * PART)];
                    let count = dispatch_v3(
                        #[inline(always)]
                        || count_of(part),
                    );
                    // SAFETY: `p + 1` is below the length of `counts`, and no other range has it.
                    unsafe { out.get().add(p + 1).write(count) };
                }
            });
            counts
        }
        // SAFETY: the caller's contract.
        let mut before = with_dtype!(plain, dtype, T => typed(unsafe { std::slice::from_raw_parts(x.cast::<T>(), n) }),
            else panic!("no {dtype} is zero"));
        for i in 1..before.len() {
            before[i] += before[i - 1];
        }
        Nonzero { before }
    }

    /// How many there are.
    pub fn total(&self) -> usize {
        *self.before.last().unwrap_or(&0)
    }

    /// Writes for each of them, in row-major order, its index along every dimension.
    ///
    /// # Safety
    /// `x` is the array that was counted, of extents `dims`; `out` is aligned, disjoint and writable for the total times
    /// the rank.
    pub unsafe fn write(&self, dtype: DType, x: *const u8, dims: &[usize], out: *mut i64) {
        let n: usize = dims.iter().product();
        if dims.is_empty() || n == 0 {
            return;
        }
        let out = Shared(out);
        with_dtype!(plain, dtype, T => {
            // SAFETY: the caller's contract.
            let x = unsafe { std::slice::from_raw_parts(x.cast::<T>(), n) };
            parallel_for(n.div_ceil(PART), grain(PART as f64), |range| {
                for p in range {
                    let part = &x[p * PART..n.min((p + 1) * PART)];
                    // SAFETY: there is room for those in front of this part, and for those in it.
                    let to = unsafe { out.get().add(self.before[p] * dims.len()) };
                    // SAFETY: there is room for those in front of this part, and for those in it.
                    dispatch_v3(#[inline(always)] || unsafe { write_part(part, p * PART, dims, to) });
                }
            });
        }, else panic!("no {dtype} is zero"));
    }
}

/// The number of elements of each row of an (outer, n, inner) array that are not zero, as `outer` times `inner` numbers.
///
/// # Panics
/// If `dtype` is `str`.
///
/// # Safety
/// `x` is aligned and readable for `outer * n * inner` elements of `dtype`, `out` aligned, disjoint and writable.
pub unsafe fn count_nonzero(dtype: DType, x: *const u8, [outer, n, inner]: [usize; 3], out: *mut i64) {
    if outer * inner == 1 {
        // SAFETY: the caller's contract.
        unsafe { out.write(Nonzero::count(dtype, x, n).total() as i64) };
        return;
    }
    let out = Shared(out);
    with_dtype!(plain, dtype, T => {
        // SAFETY: the caller's contract.
        let x = unsafe { std::slice::from_raw_parts(x.cast::<T>(), outer * n * inner) };
        let blocks = inner.div_ceil(COLUMNS);
        parallel_for(outer * blocks, grain(0.2 * (n * inner.min(COLUMNS)) as f64), |range| {
            for task in range {
                let (o, first) = (task / blocks, task % blocks * COLUMNS);
                let width = COLUMNS.min(inner - first);
                // SAFETY: these numbers are this task's.
                let counts = unsafe { std::slice::from_raw_parts_mut(out.get().add(o * inner + first), width) };
                dispatch_v3(#[inline(always)] || {
                    counts.fill(0);
                    let block = &x[o * n * inner..(o + 1) * n * inner];
                    if inner == 1 {
                        counts[0] = count_of(block) as i64;
                        return;
                    }
                    for row in block.chunks_exact(inner) {
                        for (to, v) in counts.iter_mut().zip(&row[first..]) {
                            *to += i64::from(!v.is_zero());
                        }
                    }
                });
            }
        });
    }, else panic!("no {dtype} is zero"));
}

/// How many elements are not zero.
#[inline(always)]
fn count_of<T: Zero>(x: &[T]) -> usize {
    x.chunks(BLOCK).map(|block| block.iter().map(|v| u32::from(!v.is_zero())).sum::<u32>() as usize).sum()
}

/// [`range_of`] elements.
#[inline(always)]
fn extremes<T: Int>(x: &[T]) -> Option<(i64, i64)> {
    let (first, rest) = x.split_first()?;
    let (low, high) = rest.iter().fold((*first, *first), |(low, high), &v| (low.min(v), high.max(v)));
    let wide = |v: T| if v < T::ZERO || v.to_i64() >= 0 { v.to_i64() } else { i64::MAX };
    Some((wide(low), wide(high)))
}

/// The least and the greatest of integers, `None` of none. What is above `i64` counts as its greatest.
///
/// # Panics
/// If `dtype` is no integer.
///
/// # Safety
/// `x` is aligned and readable for `n` elements of `dtype`.
pub unsafe fn range_of(dtype: DType, x: *const u8, n: usize) -> Option<(i64, i64)> {
    // SAFETY: the caller's contract.
    with_dtype!(integer, dtype, T => unsafe {
        let x = std::slice::from_raw_parts(x.cast::<T>(), n);
        dispatch_v3(#[inline(always)] || extremes(x))
    }, else panic!("{dtype} is no integer"))
}

/// How often each of the integers from 0 to below `length` occurs in each of `rows` rows of `n`; other ones are left out.
///
/// # Panics
/// If `dtype` is no integer.
///
/// # Safety
/// `x` is aligned and readable for `rows * n` elements of `dtype`, `out` aligned, disjoint and writable for `rows * length`.
pub unsafe fn bin_counts(dtype: DType, x: *const u8, [rows, n]: [usize; 2], length: usize, out: *mut i64) {
    /// Tables that take turns, so that equal neighbours do not wait for each other.
    const TABLES: usize = 4;
    let (src, out) = (Shared(x.cast_mut()), Shared(out));
    with_dtype!(integer, dtype, T => parallel_for(rows, grain(n as f64 + length as f64), |range| {
        let mut tables = scratch([0u32; TABLES], if length <= 1 << 14 { length } else { 0 });
        for r in range {
            // SAFETY: the caller's contract; a row of the results is one task's.
            let (row, counts) = unsafe {
                (
                    std::slice::from_raw_parts(src.get().cast::<T>().add(r * n).cast_const(), n),
                    std::slice::from_raw_parts_mut(out.get().add(r * length), length),
                )
            };
            counts.fill(0);
            if tables.is_empty() {
                for v in row {
                    if let Some(count) = counts.get_mut(v.to_i64() as usize) {
                        *count += 1;
                    }
                }
                continue;
            }
            // A count of a part fits its number.
            for part in row.chunks(1 << 31) {
                tables.fill([0; TABLES]);
                for quad in part.chunks(TABLES) {
                    for (t, v) in quad.iter().enumerate() {
                        if let Some(counts) = tables.get_mut(v.to_i64() as usize) {
                            counts[t] += 1;
                        }
                    }
                }
                for (to, counts) in counts.iter_mut().zip(&tables) {
                    *to += counts.iter().map(|&c| i64::from(c)).sum::<i64>();
                }
            }
        }
    }), else panic!("{dtype} is no integer"));
}

/// Writes the indices of what is not zero in a part of an array of extents `dims` that starts at position `start`.
///
/// # Safety
/// `out` is writable for as many rows of indices.
#[inline(always)]
unsafe fn write_part<T: Zero>(part: &[T], start: usize, dims: &[usize], mut out: *mut i64) {
    let (inner, rank) = (dims[dims.len() - 1], dims.len());
    // The indices of the line that the last position was in, along all dimensions but the last, and its first position.
    let mut lines: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank - 1);
    let mut at = start / inner;
    for (index, d) in lines.iter_mut().zip(dims).rev() {
        *index = (at % d) as i64;
        at /= d;
    }
    let mut line = start - start % inner;
    let mut found = [0u32; BLOCK];
    for (b, block) in part.chunks(BLOCK).enumerate() {
        let mut count = 0;
        for (i, x) in block.iter().enumerate() {
            // There are at most `i` of them before element `i`.
            found[count & (BLOCK - 1)] = i as u32;
            count += usize::from(!x.is_zero());
        }
        for &i in &found[..count] {
            let position = start + b * BLOCK + i as usize;
            while position - line >= inner {
                line += inner;
                for (index, &d) in lines.iter_mut().zip(dims).rev() {
                    *index += 1;
                    if *index < d as i64 {
                        break;
                    }
                    *index = 0;
                }
            }
            // SAFETY: the caller's contract: one more row.
            unsafe {
                for (k, &index) in lines.iter().enumerate() {
                    out.add(k).write(index);
                }
                out.add(rank - 1).write((position - line) as i64);
                out = out.add(rank);
            }
        }
    }
}
