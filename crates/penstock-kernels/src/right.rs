//! Right matrices of products that are packed once, and then multiply rows as often as these come.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::{Buffer, DType, Result, with_dtype};

use crate::matmul::{Mat, pieces, product_narrowed};
use crate::num::Real;
use crate::pack::{Packed, is_own, narrow};
use crate::product::{Kept, Panels};

/// A matrix of floats, packed as the right one of products.
pub struct Right {
    dtype: DType,
    k: usize,
    n: usize,
    memory: Buffer,
}

impl Right {
    /// Packs a row-major matrix of `k` by `n`, or the transpose of a stored one of `n` by `k`; threads share that. 16-bit floats are
    /// widened.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory.
    ///
    /// # Panics
    /// If `dtype` is not a type of floats.
    ///
    /// # Safety
    /// `b` is readable for `k * n` elements of `dtype`.
    pub unsafe fn pack(dtype: DType, k: usize, n: usize, b: *const u8, transposed: bool) -> Result<Right> {
        let mut right = Right { dtype, k, n, memory: Buffer::new(Right::bytes(dtype, k, n))? };
        let room = right.memory.as_mut_ptr().expect("a buffer of one owner");
        with_dtype!(float, dtype, T => {
            let panels = Panels::<T>::packed(k, n, room.cast());
            // SAFETY: the caller's contract; the buffer has room for all panels.
            unsafe { panels.pack(Mat::row_major(b.cast::<T>(), k, n, transposed)) }
        }, else panic!("matrices of {dtype} are not packed"));
        Ok(right)
    }

    /// The bytes that a packed matrix takes.
    ///
    /// # Panics
    /// If `dtype` is not a type of floats.
    pub fn bytes(dtype: DType, k: usize, n: usize) -> usize {
        with_dtype!(float, dtype, T => {
            Panels::<T>::room(k, n) * size_of::<<T as Real>::Wide>()
        }, else panic!("matrices of {dtype} are not packed"))
    }

    /// The dtype, the rows and the columns of the matrix.
    pub fn sizes(&self) -> (DType, usize, usize) {
        (self.dtype, self.k, self.n)
    }

    /// `out = a b` on the calling thread, where `self` is `b` and `a` has `m` rows, which start `a_row` elements apart, those of `out`
    /// `out_row` elements. An element is the same bit for bit however many rows are multiplied at a time.
    ///
    /// # Safety
    /// `a` is readable for `m` rows of as many elements as the matrix has rows, `out` writable for `m` of as many as it has columns,
    /// and disjoint.
    pub unsafe fn multiply(&self, m: usize, a: *const u8, a_row: usize, out: *mut u8, out_row: usize) {
        let (k, n) = (self.k, self.n);
        with_dtype!(float, self.dtype, T => {
            let right = Panels::<T>::packed(k, n, self.memory.as_ptr().cast_mut().cast());
            let (a, out) = (Mat { ptr: a.cast::<T>(), row: a_row as isize, col: 1 }, out.cast::<T>());
            // SAFETY: the caller's contract; the panels were packed. Memory is used as it is only if the types are the same.
            unsafe {
                if k == 0 {
                    (0..m).for_each(|i| std::ptr::write_bytes(out.add(i * out_row), 0, n));
                } else if is_own::<T, <T as Real>::Wide>() {
                    right.multiply(m, a, 0..right.count(), out.cast(), out_row, false, &mut Kept::new(0));
                } else {
                    let mut wide = Packed::<<T as Real>::Wide, 1024>::new();
                    let wide = wide.room(m * n);
                    right.multiply(m, a, 0..right.count(), wide, n, false, &mut Kept::new(0));
                    (0..m).for_each(|i| narrow(wide.add(i * n), out.add(i * out_row), n));
                }
            }
        }, else panic!("matrices of {} are not packed", self.dtype));
    }

    /// `out = a b` by as many threads as that is worth, `a` having `m` rows. An element is that of [`Right::multiply`] bit for bit.
    ///
    /// # Safety
    /// `a` is readable as `m` rows of as many elements as the matrix has rows, `out` writable as `m` of as many as it has columns, and
    /// disjoint.
    pub unsafe fn product(&self, m: usize, a: *const u8, out: *mut u8) {
        let (k, n) = (self.k, self.n);
        with_dtype!(float, self.dtype, T => {
            let right = Panels::<T>::packed(k, n, self.memory.as_ptr().cast_mut().cast());
            let (a, out) = (Mat::row_major(a.cast::<T>(), m, k, false), out.cast::<T>());
            // SAFETY: the caller's contract; the panels were packed. Memory is used as it is only if the types are the same.
            unsafe {
                if k == 0 || m == 0 {
                    std::ptr::write_bytes(out, 0, m * n);
                } else if is_own::<T, <T as Real>::Wide>() {
                    right.share(m, a, out.cast(), n, pieces::<T>(m, k, n), false);
                } else {
                    product_narrowed(m, n, out, |wide| right.share(m, a, wide, n, pieces::<T>(m, k, n), false));
                }
            }
        }, else panic!("matrices of {} are not packed", self.dtype));
    }
}
