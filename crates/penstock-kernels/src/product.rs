//! Products of matrices of floats by blocks that stay in the cache, made of the tiles of [`crate::register_tile`].
//!
//! 16-bit floats are widened where matrices are packed. Sums of blocks are of at most `Kernels::depth` products each, one after
//! the other, so neither threads nor tiles change an element of a product that is made by blocks.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::any::TypeId;
use std::mem::MaybeUninit;
use std::ops::Range;

use penstock_data::Buffer;

use crate::arch::dispatch;
use crate::math::Math;
use crate::matmul::Mat;
use crate::num::Real;
use crate::pool::{Shared, parallel_for};
use crate::register_tile::{Dots, Float, Kernels, Row, Tile};

/// Rows of the left matrix up to which a panel of the right one is read where it lies: packing it would take longer.
const UNPACKED_ROWS: usize = 64;
/// Rows of the left matrix up to which rows of a transposed right one are multiplied where they lie.
const DOT_ROWS: usize = 16;
/// Columns of a right matrix that is stored transposed up to which they are multiplied by rows of any number.
const DOT_COLUMNS: usize = 4;
/// The least inner dimension for that, and for a single row.
const LONG: usize = 32;
const LONG_OF_ONE: usize = 8;
/// Columns of the right matrix that are packed at a time.
const COLUMNS: usize = 4096;

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
unsafe fn pack_rows<S: Real>(a: Mat<S>, rows: usize, k: usize, height: usize, to: *mut S::Wide) {
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

/// Rows that lie so many bytes apart share the same few places of a cache.
const PAGE: usize = 4096;
/// Elements that are packed on the stack.
const FEW: usize = 2048;

/// Whether elements are computed in their own type, so that memory can be used as it is.
pub(crate) fn is_own<T: 'static, W: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<W>()
}

/// `out = a b`, or `out += a b`, `out` having rows `ldo` elements apart, shared by up to `pieces` threads.
///
/// # Safety
/// `a` is readable as `m` by `k`, `b` as `k` by `n`; `out` is writable as `m` by `n` and disjoint. None of `m`, `k` and `n` is 0.
pub(crate) unsafe fn product<S: Real>(
    m: usize,
    k: usize,
    n: usize,
    a: Mat<S>,
    b: Mat<S>,
    out: *mut S::Wide,
    ldo: usize,
    pieces: usize,
    add: bool,
) where
    S::Wide: Float,
{
    let kernels = <S::Wide as Float>::kernels();
    let own = is_own::<S, S::Wide>();
    // SAFETY: the caller's contract; memory is used as it is only if the types are the same.
    unsafe {
        if own && are_dots(m, k, n, a, b) {
            let (a, b) = (a.cast(), b.cast());
            let (a_row, b_row) = (a.row, b.col);
            let dots =
                Dots { a: a.ptr, a_row, b: b.ptr, b_row, hops: &[0], run: k, n, out, out_row: ldo, out_col: 1, add };
            return if m <= DOT_ROWS {
                shared_dots(kernels, m, &dots, pieces)
            } else {
                let swapped =
                    Dots { a: b.ptr, a_row: b_row, b: a.ptr, b_row: a_row, n: m, out_row: 1, out_col: ldo, ..dots };
                shared_dots(kernels, n, &swapped, pieces)
            };
        }
        if own && m == 1 && a.col == 1 && b.col == 1 && pieces == 1 {
            let (a, b, b_row) = (a.ptr.cast(), b.ptr.cast(), b.row);
            return kernels.row(&Row { a, b, b_row, k, n, out, add });
        }
        for first in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - first);
            for p in (0..k).step_by(kernels.depth) {
                let depth = kernels.depth.min(k - p);
                let block = Block { m, k: depth, n: width, a: a.at(0, p), b: b.at(p, first), add: add || p > 0 };
                block.run(kernels, out.add(first), ldo, pieces);
            }
        }
    }
}

/// Whether rows of the left matrix are multiplied by columns of the right one, both long and of neighbours, and one of them few.
pub(crate) fn are_dots<S>(m: usize, k: usize, n: usize, a: Mat<S>, b: Mat<S>) -> bool {
    let long = k >= if m == 1 { LONG_OF_ONE } else { LONG };
    a.col == 1 && b.row == 1 && (b.col != 1 || n == 1) && long && (m <= DOT_ROWS || n <= DOT_COLUMNS)
}

/// Products of `m` rows by others that threads share.
///
/// # Safety
/// The matrices are as [`Dots`] says.
unsafe fn shared_dots<T: Float>(kernels: &Kernels<T>, m: usize, dots: &Dots<'_, T>, pieces: usize) {
    let Dots { a_row, hops, run, b_row, n, out_row, out_col, add, .. } = *dots;
    let (a, b, out) = (Shared(dots.a.cast_mut()), Shared(dots.b.cast_mut()), Shared(dots.out));
    let piece = n.div_ceil(pieces).next_multiple_of(4);
    parallel_for(n.div_ceil(piece), 1, |range| {
        let (first, end) = (range.start * piece, n.min(range.end * piece));
        // SAFETY: the caller's contract; the columns of the result are this range's.
        unsafe {
            let (a, b) = (a.get().cast_const(), b.get().offset(first as isize * b_row).cast_const());
            let (n, out) = (end - first, out.get().add(first * out_col));
            kernels.dots(m, &Dots { a, a_row, hops, run, b, b_row, n, out, out_row, out_col, add });
        }
    });
}

/// Some columns of a product, and a part of its inner dimension.
struct Block<S> {
    m: usize,
    k: usize,
    n: usize,
    a: Mat<S>,
    b: Mat<S>,
    /// Whether it is added to what is there.
    add: bool,
}

impl<S: Real> Block<S>
where
    S::Wide: Float,
{
    /// # Safety
    /// As for [`product`], with sizes of the block.
    unsafe fn run(&self, kernels: &Kernels<S::Wide>, out: *mut S::Wide, ldo: usize, pieces: usize) {
        let own = is_own::<S, S::Wide>();
        let (m, k, n, panel) = (self.m, self.k, self.n, kernels.panel());
        let panels = n.div_ceil(panel);
        let mut memory = Packed::<S::Wide, FEW>::new();
        // Panels that are read where they lie come first. One that has a vector of columns is read no further.
        let few = own && self.b.col == 1 && m <= UNPACKED_ROWS;
        let unpacked = if few { n / panel + usize::from(n % panel == kernels.lanes) } else { 0 };
        let packed = Shared(memory.room((panels - unpacked) * panel * k));
        let (pa, pb, po) = (Shared(self.a.ptr.cast_mut()), Shared(self.b.ptr.cast_mut()), Shared(out));
        let (a_row, a_col, b_row, b_col) = (self.a.row, self.a.col, self.b.row, self.b.col);
        let by_panels = |range: Range<usize>| {
            for i in range {
                let first = (unpacked + i) * panel;
                // SAFETY: the panel is inside of the matrix, and of the room.
                unsafe {
                    let from = pb.get().cast_const().offset(first as isize * b_col);
                    let from = Mat { ptr: from, row: b_row, col: b_col };
                    pack_panel(from, k, panel.min(n - first), packed.get().add(i * panel * k));
                }
            }
        };
        if pieces < 2 {
            by_panels(0..panels - unpacked);
        } else {
            parallel_for(panels - unpacked, (panels - unpacked).div_ceil(4 * pieces), by_panels);
        }
        // Rows are shared, if there are enough of them.
        let high = 2 * kernels.rows();
        let blocks = m.div_ceil(kernels.block).next_multiple_of(if m >= high * pieces { pieces } else { 1 });
        let groups = if m >= high * pieces { 1 } else { pieces.min(panels) };
        let pitch = a_row.unsigned_abs() * size_of::<S>();
        let direct = own && a_col == 1 && (m <= kernels.rows() || !pitch.is_multiple_of(PAGE));
        let add = self.add;
        let one = |task: usize| {
            let (block, group) = (task / groups, task % groups);
            let (row, end) = (m * block / blocks, m * (block + 1) / blocks);
            let rows = end - row;
            let mut left = Packed::<S::Wide, FEW>::new();
            // SAFETY: rows and panels are inside of the matrices; tasks are disjoint. Memory is used as it is only if the
            // types are the same.
            unsafe {
                let from = Mat { ptr: pa.get().cast_const().offset(row as isize * a_row), row: a_row, col: a_col };
                let a: *const S::Wide = if direct {
                    from.ptr.cast()
                } else {
                    let room = left.room(rows.next_multiple_of(kernels.rows()) * k);
                    pack_rows(from, rows, k, kernels.rows(), room);
                    room
                };
                for i in panels * group / groups..panels * (group + 1) / groups {
                    let first = i * panel;
                    let (b, b_row) = if i < unpacked {
                        (pb.get().add(first).cast_const().cast(), b_row as usize)
                    } else {
                        (packed.get().add((i - unpacked) * panel * k).cast_const(), panel)
                    };
                    let (out, width) = (po.get().add(row * ldo + first), panel.min(n - first));
                    let a_row = if direct { a_row } else { 1 };
                    let tile = Tile { a, a_row, hops: &[0], run: k, b, b_row, out, out_row: ldo, width, add };
                    if direct {
                        kernels.column(rows, &tile);
                    } else {
                        kernels.packed_column(rows, &tile);
                    }
                }
            }
        };
        if pieces < 2 {
            (0..blocks * groups).for_each(one);
        } else {
            parallel_for(blocks * groups, 1, |range| range.for_each(&one));
        }
    }
}
