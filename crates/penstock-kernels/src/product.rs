//! Products of matrices of floats by blocks that stay in the caches, made of the tiles of [`crate::register_tile`].
//!
//! The right matrix is packed once, by all threads, into panels of columns; then each task multiplies some rows by some panels.
//! An element is a sum of sums of at most `Kernels::depth` products each, one after the other, so neither blocks nor tiles
//! nor the number of threads change it.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use crate::matmul::Mat;
use crate::num::Real;
use crate::pack::{Packed, is_own, pack_panel, pack_rows};
use crate::pool::{Shared, grain, parallel_each, parallel_for};
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
/// Columns of the right matrix that are packed at a time, and the bytes of them, if that is a stretch of the inner dimension.
const COLUMNS: usize = 4096;
const BYTES: usize = 32 << 20;
/// Estimated nanoseconds to pack an element.
const PACK_NS: f64 = 0.3;
/// Tasks for each thread, so that one that is held up does not hold up the others.
const TASKS: usize = 8;
/// The least tiles, one below the other, of a task.
const TILES: usize = 4;
/// Rows that lie so many bytes apart share the same few places of a cache.
const PAGE: usize = 4096;
/// Elements that are packed on the stack.
const FEW: usize = 2048;

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
        let mut memory = Packed::<S::Wide, FEW>::new();
        for first in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - first);
            let (panels, panel) = (width.div_ceil(kernels.panel()), kernels.panel());
            let most = BYTES / (panels * panel * size_of::<S::Wide>()) / kernels.depth * kernels.depth;
            // Panels that are read where they lie come first. One that has a vector of columns is read no further.
            let few = own && b.col == 1 && m <= UNPACKED_ROWS;
            let unpacked = if few { width / panel + usize::from(width % panel == kernels.lanes) } else { 0 };
            for p in (0..k).step_by(most.max(kernels.depth)) {
                let (k, part) = (most.max(kernels.depth).min(k - p), b.at(p, first));
                let packed = Shared(memory.room((panels - unpacked) * panel * k));
                let (lying, row) = (Shared(part.ptr.cast_mut().cast()), part.row);
                let right = Panels { k, n: width, unpacked, lying, row, packed };
                right.pack(part);
                right.share(m, a.at(0, p), out.add(first), ldo, pieces, add || p > 0);
            }
        }
    }
}

/// A right matrix of `k` by `n` as panels of columns: some where they lie, then others that are packed, by stretches of the inner
/// dimension.
#[derive(Clone, Copy)]
pub(crate) struct Panels<W> {
    k: usize,
    n: usize,
    /// How many panels are read where they lie.
    unpacked: usize,
    lying: Shared<W>,
    /// Elements from a row of those to the next.
    row: isize,
    /// Room for [`Panels::room`] elements.
    packed: Shared<W>,
}

impl<W: Float> Panels<W> {
    /// All of a matrix, with [`Panels::room`] at `packed`.
    pub(crate) fn packed(k: usize, n: usize, packed: Shared<W>) -> Panels<W> {
        Panels { k, n, unpacked: 0, lying: packed, row: 0, packed }
    }

    /// Elements of the packed panels of all of a matrix.
    pub(crate) fn room(k: usize, n: usize) -> usize {
        n.next_multiple_of(W::kernels().panel()) * k
    }

    /// The number of panels.
    pub(crate) fn count(&self) -> usize {
        self.n.div_ceil(W::kernels().panel())
    }

    /// A panel from the row `p` on, which starts a stretch of `depth` rows, and the elements between its rows.
    ///
    /// # Safety
    /// There is such a panel.
    unsafe fn at(&self, p: usize, depth: usize, i: usize) -> (*mut W, usize) {
        let panel = W::kernels().panel();
        // SAFETY: the panel is inside of its memory.
        unsafe {
            if i < self.unpacked {
                return (self.lying.get().offset(p as isize * self.row + (i * panel) as isize), self.row as usize);
            }
            let (i, packed) = (i - self.unpacked, self.count() - self.unpacked);
            (self.packed.get().add((p * packed + i * depth) * panel), panel)
        }
    }

    /// Packs the panels of `b` that are to be packed.
    ///
    /// # Safety
    /// `b` is readable as `k` by `n`; there is room for its panels.
    pub(crate) unsafe fn pack<S: Real<Wide = W>>(&self, b: Mat<S>) {
        let kernels = W::kernels();
        let (panel, packed, k) = (kernels.panel(), self.count() - self.unpacked, self.k);
        let (from, row, col) = (Shared(b.ptr.cast_mut()), b.row, b.col);
        let pack = |range: Range<usize>| {
            for i in range {
                let (p, i) = (i / packed * kernels.depth, self.unpacked + i % packed);
                let (depth, first) = (kernels.depth.min(k - p), i * panel);
                // SAFETY: the panel is inside of the matrix, and of the room.
                unsafe {
                    let b = Mat { ptr: from.get().cast_const(), row, col }.at(p, first);
                    pack_panel(b, depth, panel.min(self.n - first), self.at(p, depth, i).0);
                }
            }
        };
        parallel_for(packed * k.div_ceil(kernels.depth), grain(PACK_NS * (panel * kernels.depth.min(k)) as f64), pack);
    }

    /// `out = a b`, or `out += a b`, where `self` is `b`, shared by up to `pieces` threads.
    ///
    /// # Safety
    /// The panels are packed; `a` is readable as `m` by `self.k`; `out` is writable as `m` by `self.n`, its rows being `ldo` apart.
    unsafe fn share<S: Real<Wide = W>>(&self, m: usize, a: Mat<S>, out: *mut W, ldo: usize, pieces: usize, add: bool) {
        let (kernels, panels) = (W::kernels(), self.count());
        if pieces < 2 {
            // SAFETY: the same contract.
            return unsafe { self.multiply(m, a, 0..panels, out, ldo, add) };
        }
        let tasks = TASKS * pieces;
        let rows = m.div_ceil(tasks).next_multiple_of(kernels.rows()).clamp(TILES * kernels.rows(), kernels.block);
        let blocks = m.div_ceil(rows);
        let groups = tasks.div_ceil(blocks).min(panels);
        let (from, row, col, out) = (Shared(a.ptr.cast_mut()), a.row, a.col, Shared(out));
        parallel_each(blocks * groups, |task| {
            let (first, group) = (task / groups * rows, task % groups);
            let panels = panels * group / groups..panels * (group + 1) / groups;
            // SAFETY: tasks are of different rows or columns, which are inside of the matrices.
            unsafe {
                let a = Mat { ptr: from.get().cast_const(), row, col }.at(first, 0);
                self.multiply(rows.min(m - first), a, panels, out.get().add(first * ldo), ldo, add);
            }
        });
    }

    /// `out = a b`, or `out += a b`, for some panels of columns, where `self` is `b`.
    ///
    /// # Safety
    /// As for [`Panels::share`].
    pub(crate) unsafe fn multiply<S: Real<Wide = W>>(
        &self,
        m: usize,
        a: Mat<S>,
        panels: Range<usize>,
        out: *mut W,
        ldo: usize,
        add: bool,
    ) {
        let (kernels, panel) = (W::kernels(), W::kernels().panel());
        let pitch = a.row.unsigned_abs() * size_of::<S>();
        let direct = is_own::<S, W>() && a.col == 1 && (m <= kernels.rows() || !pitch.is_multiple_of(PAGE));
        let mut left = Packed::<W, FEW>::new();
        for first in (0..m).step_by(kernels.block) {
            let rows = kernels.block.min(m - first);
            for p in (0..self.k).step_by(kernels.depth) {
                let depth = kernels.depth.min(self.k - p);
                // SAFETY: the caller's contract. Memory is used as it is only if the types are the same.
                unsafe {
                    let from = a.at(first, p);
                    let (a, a_row): (*const W, _) = if direct {
                        (from.ptr.cast(), a.row)
                    } else {
                        let room = left.room(rows.next_multiple_of(kernels.rows()) * depth);
                        pack_rows(from, rows, depth, kernels.rows(), room);
                        (room, 1)
                    };
                    for i in panels.clone() {
                        let (b, b_row) = self.at(p, depth, i);
                        let (out, width) = (out.add(first * ldo + i * panel), panel.min(self.n - i * panel));
                        let add = add || p > 0;
                        let tile = Tile { a, a_row, hops: &[0], run: depth, b, b_row, out, out_row: ldo, width, add };
                        if direct {
                            kernels.column(rows, &tile);
                        } else {
                            kernels.packed_column(rows, &tile);
                        }
                    }
                }
            }
        }
    }
}

/// Whether rows of the left matrix are multiplied by columns of the right one, both long and of neighbours, and one of them few.
fn are_dots<S>(m: usize, k: usize, n: usize, a: Mat<S>, b: Mat<S>) -> bool {
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
