//! Parts of matrices copied to where tiles read them in order, and converted to the type that they are computed in.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::any::TypeId;
use std::mem::MaybeUninit;

use penstock_data::Buffer;

use crate::algebra::Algebra;
use crate::arch::dispatch;
#[cfg(target_arch = "x86_64")]
use crate::arch::{Level, level};
use crate::matmul::Mat;
use crate::num::Real;
use crate::register_tile::Float;

/// Copies a matrix so that element `(i, j)` is at `to + i * to_row + j`, converted.
///
/// # Safety
/// `a` is readable as `rows` by `cols`; `to` is writable there, and disjoint.
#[inline(always)]
unsafe fn copy_converted<S: Real>(a: Mat<S>, rows: usize, cols: usize, to: *mut S::Wide, to_row: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if a.col == 1 {
            return match cols {
                32 => (0..rows).for_each(|i| copy_few::<S, 32>(a.at(i, 0).ptr, to.add(i * to_row))),
                16 => (0..rows).for_each(|i| copy_few::<S, 16>(a.at(i, 0).ptr, to.add(i * to_row))),
                8.. => (0..rows).for_each(|i| copy_by::<S, 8>(a.at(i, 0).ptr, cols, to.add(i * to_row))),
                4.. => (0..rows).for_each(|i| copy_by::<S, 4>(a.at(i, 0).ptr, cols, to.add(i * to_row))),
                _ => {
                    for i in 0..rows {
                        (0..cols).for_each(|j| *to.add(i * to_row + j) = (*a.at(i, j).ptr).widen());
                    }
                }
            };
        }
        if a.row == 1 && rows >= SIDE && cols >= SIDE {
            return transpose(a, rows, cols, to, to_row);
        }
        for i in 0..rows {
            (0..cols).for_each(|j| *to.add(i * to_row + j) = (*a.at(i, j).ptr).widen());
        }
    }
}

/// Copies elements `N` at a time; the last ones overlap those before.
///
/// # Safety
/// `from` is readable, and `to` writable and disjoint, for `len` elements, which are at least `N`.
#[inline(always)]
unsafe fn copy_by<S: Real, const N: usize>(from: *const S, len: usize, to: *mut S::Wide) {
    for j in (0..len).step_by(N) {
        let j = j.min(len - N);
        // SAFETY: inside of the elements.
        unsafe { copy_few::<S, N>(from.add(j), to.add(j)) };
    }
}

/// # Safety
/// `from` is readable, and `to` writable and disjoint.
#[inline(always)]
unsafe fn copy_few<S: Real, const N: usize>(from: *const S, to: *mut S::Wide) {
    // SAFETY: the caller's contract.
    unsafe {
        let x = from.cast::<[S; N]>().read_unaligned();
        let mut wide = [S::Wide::ZERO; N];
        for l in 0..N {
            wide[l] = x[l].widen();
        }
        to.cast::<[S::Wide; N]>().write_unaligned(wide);
    }
}

/// Rows and columns of a square that is transposed in registers.
const SIDE: usize = 8;

/// [`copy_converted`] for a matrix whose columns are of neighbours, in squares; the last ones overlap those before.
///
/// # Safety
/// As there; there are at least [`SIDE`] rows and columns.
#[inline(always)]
unsafe fn transpose<S: Real>(a: Mat<S>, rows: usize, cols: usize, to: *mut S::Wide, to_row: usize) {
    for down in (0..rows).step_by(2 * SIDE) {
        for j in (0..cols).step_by(SIDE) {
            let j = j.min(cols - SIDE);
            // Two squares of a stretch of neighbours that is often a cache line.
            for i in [down, down + SIDE] {
                if i >= rows {
                    continue;
                }
                let i = i.min(rows - SIDE);
                // SAFETY: the square is inside of the matrix.
                unsafe { square(a.at(i, j), SIDE, to.add(i * to_row + j), to_row) };
            }
        }
    }
}

/// [`transpose`] of fewer columns than a square has: each row that is written runs into what follows it, which is written after it.
///
/// # Safety
/// As there; there are at least [`SIDE`] rows, and 1 to [`SIDE`] columns. `to` is writable for [`SIDE`] elements of the last row.
#[inline(always)]
unsafe fn transpose_few<S: Real>(a: Mat<S>, rows: usize, cols: usize, to: *mut S::Wide, to_row: usize) {
    for i in (0..rows).step_by(SIDE) {
        let i = i.min(rows - SIDE);
        // SAFETY: the square's columns are inside of the matrix.
        unsafe { square(a.at(i, 0), cols, to.add(i * to_row), to_row) };
    }
}

/// Transposes a square of [`SIDE`] by [`SIDE`], of which `cols` columns are there; the last one stands for the others.
///
/// # Safety
/// As for [`copy_converted`]; rows are written in order.
#[inline(always)]
unsafe fn square<S: Real>(from: Mat<S>, cols: usize, to: *mut S::Wide, to_row: usize) {
    // SAFETY: the caller's contract; casts are to the same type.
    unsafe {
        let columns: [*const S; SIDE] = std::array::from_fn(|c| from.at(0, c.min(cols - 1)).ptr);
        #[cfg(target_arch = "x86_64")]
        if level() >= Level::V3 && is_own::<S, f32>() {
            return square32(columns.map(|c| c.cast()), to.cast(), to_row);
        } else if level() >= Level::V3 && is_own::<S, f64>() {
            return square64(columns.map(|c| c.cast()), to.cast(), to_row);
        }
        let mut square = [[S::Wide::ZERO; SIDE]; SIDE];
        for c in 0..SIDE {
            square[c] = columns[c].cast::<[S; SIDE]>().read_unaligned().map(Real::widen);
        }
        for r in 0..SIDE {
            to.add(r * to_row).cast::<[S::Wide; SIDE]>().write_unaligned(square.map(|column| column[r]));
        }
    }
}

/// [`square`] for `f32`.
///
/// # Safety
/// `columns` are readable, `to` writable for rows `to_row` elements apart; the machine has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn square32(columns: [*const f32; SIDE], to: *mut f32, to_row: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's contract.
    unsafe {
        for half in [0, 4] {
            // Columns of four elements, two in a register, are transposed within its halves.
            let pair = |c: usize| {
                let (low, high) = (columns[c].add(half), columns[c + 4].add(half));
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high))
            };
            let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab2, cd2) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            let to = to.add(half * to_row);
            _mm256_storeu_ps(to, _mm256_shuffle_ps::<0x44>(ab, cd));
            _mm256_storeu_ps(to.add(to_row), _mm256_shuffle_ps::<0xee>(ab, cd));
            _mm256_storeu_ps(to.add(2 * to_row), _mm256_shuffle_ps::<0x44>(ab2, cd2));
            _mm256_storeu_ps(to.add(3 * to_row), _mm256_shuffle_ps::<0xee>(ab2, cd2));
        }
    }
}

/// [`square`] for `f64`.
///
/// # Safety
/// As for [`square32`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn square64(columns: [*const f64; SIDE], to: *mut f64, to_row: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's contract.
    unsafe {
        for down in [0, 2, 4, 6] {
            let quarter = |right: usize| {
                let pair = |c: usize| {
                    let (low, high) = (columns[right + c].add(down), columns[right + c + 2].add(down));
                    _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high))
                };
                let (a, b) = (pair(0), pair(1));
                (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))
            };
            let (left, right, to) = (quarter(0), quarter(4), to.add(down * to_row));
            _mm256_storeu_pd(to, left.0);
            _mm256_storeu_pd(to.add(4), right.0);
            _mm256_storeu_pd(to.add(to_row), left.1);
            _mm256_storeu_pd(to.add(to_row + 4), right.1);
        }
    }
}

/// Copies a matrix, converted, to rows `to_row` elements apart.
///
/// # Safety
/// `a` is readable as `rows` by `cols`; `to` is writable there, and disjoint.
pub(crate) unsafe fn copy_matrix<S: Real>(a: Mat<S>, rows: usize, cols: usize, to: *mut S::Wide, to_row: usize) {
    dispatch(
        #[inline(always)]
        || {
            // SAFETY: the caller's contract.
            unsafe { copy_converted(a, rows, cols, to, to_row) }
        },
    );
}

/// Elements behind packed rows that [`pack_rows`] may write.
pub(crate) const BEHIND: usize = SIDE;

/// Packs some rows of a left matrix: its columns one after the other, `pitch` elements apart. What lies behind them is not kept.
///
/// # Safety
/// `a` is readable as `rows` by `k`, of at least one row; `to` is writable for `k * pitch + BEHIND` elements, and disjoint; there are at
/// most `pitch` rows.
pub(crate) unsafe fn pack_rows<S: Real>(a: Mat<S>, rows: usize, k: usize, pitch: usize, to: *mut S::Wide) {
    dispatch(
        #[inline(always)]
        || {
            // SAFETY: the caller's contract.
            unsafe {
                if a.col == 1 && rows < SIDE && k >= SIDE {
                    transpose_few(a.transposed(), k, rows, to, pitch)
                } else {
                    copy_converted(a.transposed(), k, rows, to, pitch)
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
    inline: MaybeUninit<Aligned<T, N>>,
    many: Option<Buffer>,
}

#[repr(C, align(64))]
struct Aligned<T, const N: usize>([T; N]);

impl<T, const N: usize> Packed<T, N> {
    #[inline(always)]
    pub(crate) fn new() -> Packed<T, N> {
        Packed { inline: MaybeUninit::uninit(), many: None }
    }

    /// Room for `n` elements, until the next call.
    ///
    /// Unwinds by [`penstock_data::Error::unwind`] where there is no memory.
    #[inline(always)]
    pub(crate) fn room(&mut self, n: usize) -> *mut T {
        if n <= N {
            return self.inline.as_mut_ptr().cast();
        }
        if self.many.as_ref().is_none_or(|b| b.capacity() < n * size_of::<T>()) {
            self.many = Some(Buffer::new(n.saturating_mul(size_of::<T>())).unwrap_or_else(|e| e.unwind()));
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
