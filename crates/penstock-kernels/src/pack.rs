//! Parts of matrices copied to where tiles read them in order, and converted to the type that they are computed in.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::any::TypeId;
use std::mem::MaybeUninit;

use penstock_data::Buffer;

use crate::arch::dispatch;
use crate::math::Math;
use crate::matmul::Mat;
use crate::num::Real;
use crate::register_tile::Float;

/// Copies a matrix so that element `(i, j)` is at `to + i * to_row + j`, converted.
///
/// # Safety
/// `a` is readable as `rows` by `cols`; `to` is writable there, and disjoint.
#[inline(always)]
unsafe fn copy_converted<S: Real>(a: Mat<S>, rows: usize, cols: usize, to: *mut S::Wide, to_row: usize) {
    const WIDE: usize = 16;
    // SAFETY: the caller's contract.
    unsafe {
        if a.col == 1 {
            for i in 0..rows {
                let (from, to) = (a.ptr.offset(i as isize * a.row), to.add(i * to_row));
                let mut j = 0;
                while j + WIDE <= cols {
                    let x = from.add(j).cast::<[S; WIDE]>().read_unaligned();
                    let mut wide = [S::Wide::ZERO; WIDE];
                    for l in 0..WIDE {
                        wide[l] = x[l].widen();
                    }
                    to.add(j).cast::<[S::Wide; WIDE]>().write_unaligned(wide);
                    j += WIDE;
                }
                while j < cols {
                    *to.add(j) = (*from.add(j)).widen();
                    j += 1;
                }
            }
            return;
        }
        let at = |i: usize, j: usize| a.ptr.offset(i as isize * a.row + j as isize * a.col);
        let mut i = 0;
        if a.row == 1 {
            while i + 4 <= rows {
                let mut j = 0;
                while j + 4 <= cols {
                    let x = [0, 1, 2, 3].map(|d| at(i, j + d).cast::<[S; 4]>().read_unaligned().map(Real::widen));
                    for d in 0..4 {
                        let row = [x[0][d], x[1][d], x[2][d], x[3][d]];
                        to.add((i + d) * to_row + j).cast::<[S::Wide; 4]>().write_unaligned(row);
                    }
                    j += 4;
                }
                for j in j..cols {
                    (0..4).for_each(|d| *to.add((i + d) * to_row + j) = (*at(i + d, j)).widen());
                }
                i += 4;
            }
        }
        for i in i..rows {
            (0..cols).for_each(|j| *to.add(i * to_row + j) = (*at(i, j)).widen());
        }
    }
}

/// Packs the rows of a left matrix in stretches of `height` rows, each with its columns one after the other.
///
/// # Safety
/// `a` is readable as `rows` by `k`; `to` is writable for `rows`, rounded up to stretches, times `k` elements.
pub(crate) unsafe fn pack_rows<S: Real>(a: Mat<S>, rows: usize, k: usize, height: usize, to: *mut S::Wide) {
    dispatch(
        #[inline(always)]
        || {
            for first in (0..rows).step_by(height) {
                // SAFETY: the caller's contract.
                unsafe {
                    let part = Mat { ptr: a.ptr.offset(first as isize * a.row), row: a.col, col: a.row };
                    copy_converted(part, k, height.min(rows - first), to.add(first * k), height);
                }
            }
        },
    );
}

/// Packs a panel of a right matrix, with zeros beyond its columns: in the second vector only if columns are in it.
///
/// # Safety
/// `b` is readable as `k` by `width`; `to` is writable for `k` times the elements of a panel.
pub(crate) unsafe fn pack_panel<S: Real>(b: Mat<S>, k: usize, width: usize, to: *mut S::Wide)
where
    S::Wide: Float,
{
    let kernels = <S::Wide as Float>::kernels();
    let panel = kernels.panel();
    let end = if width <= kernels.lanes { kernels.lanes } else { panel };
    dispatch(
        #[inline(always)]
        || {
            // SAFETY: the caller's contract.
            unsafe {
                copy_converted(b, k, width, to, panel);
                for p in 0..if width < end { k } else { 0 } {
                    (width..end).for_each(|j| *to.add(p * panel + j) = S::Wide::ZERO);
                }
            }
        },
    );
}

/// Memory for packed elements: on the stack, if there are few.
pub(crate) struct Packed<T, const N: usize> {
    few: MaybeUninit<Aligned<T, N>>,
    many: Option<Buffer>,
}

#[repr(C, align(64))]
struct Aligned<T, const N: usize>([T; N]);

impl<T, const N: usize> Packed<T, N> {
    #[inline(always)]
    pub(crate) fn new() -> Packed<T, N> {
        Packed { few: MaybeUninit::uninit(), many: None }
    }

    /// Room for `n` elements, until the next call.
    ///
    /// # Panics
    /// If there is no memory.
    #[inline(always)]
    pub(crate) fn room(&mut self, n: usize) -> *mut T {
        if n <= N {
            return self.few.as_mut_ptr().cast();
        }
        if self.many.as_ref().is_none_or(|b| b.capacity() < n * size_of::<T>()) {
            self.many = Some(Buffer::new(n * size_of::<T>()).expect("memory for packed matrices"));
        }
        self.many.as_mut().and_then(Buffer::as_mut_ptr).expect("a buffer of one owner").cast()
    }
}

/// Whether elements are computed in their own type, so that memory can be used as it is.
pub(crate) fn is_own<T: 'static, W: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<W>()
}

/// Rounds `n` elements to the type of memory.
///
/// # Safety
/// `from` is readable, and `to` writable and disjoint.
pub(crate) unsafe fn narrow<S: Real>(from: *const S::Wide, to: *mut S, n: usize) {
    dispatch(
        #[inline(always)]
        || {
            for i in 0..n {
                // SAFETY: the caller's contract.
                unsafe { to.add(i).write(S::narrow(*from.add(i))) };
            }
        },
    );
}
