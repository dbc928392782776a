//! Positions of elements, from rows of indices and of what is not zero.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::{Bool8, C64, C128, DType, Element, bf16, f16, with_dtype};
use smallvec::SmallVec;

use crate::arch::dispatch_v3;
use crate::gather::{Index, Indices, with_indices};
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
            let mut counts = vec![0; x.len().div_ceil(PART) + 1];
            let out = Shared(counts.as_mut_ptr());
            parallel_for(x.len().div_ceil(PART), grain(PART as f64 * 0.1), |range| {
                for p in range {
                    let part = &x[p * PART..x.len().min((p + 1) * PART)];
                    let count = dispatch_v3(
                        #[inline(always)]
                        || {
                            let of = |block: &[T]| block.iter().map(|v| u32::from(!v.is_zero())).sum::<u32>() as usize;
                            part.chunks(BLOCK).map(of).sum::<usize>()
                        },
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
                    // SAFETY: as above.
                    dispatch_v3(#[inline(always)] || unsafe { write_part(part, p * PART, dims, to) });
                }
            });
        }, else panic!("no {dtype} is zero"));
    }
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
