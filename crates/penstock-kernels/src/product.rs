//! Products of matrices of floats by blocks that stay in the caches, made of the tiles of [`crate::register_tile`].
//!
//! The right matrix is packed once, by all threads, into panels of columns; then each task multiplies some rows by some panels. Where
//! all rows are one task's, it packs a panel when it comes to it.
//! An element is a sum of sums of at most `Kernels::depth` products each, one after the other, so neither blocks nor tiles
//! nor the number of threads change it.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;
use std::ptr;

use crate::cost;
use crate::matmul::Mat;
use crate::num::Real;
use crate::pack::{Packed, is_own, pack_panel, pack_rows};
use crate::pool::{Shared, grain, parallel_each, parallel_for};
use crate::register_tile::{Ahead, Dots, Float, Kernels, Row, Tile};

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
/// Tasks for each thread, so that one that is held up does not hold up the others.
const TASKS: usize = 8;
/// The least tiles, one below the other, of a task.
const TILES: usize = 4;
/// Rows that lie so many bytes apart share the same few places of a cache.
const PAGE: usize = 4096;
/// Panels of columns up to which rows of the left matrix are read where they lie.
const DIRECT: usize = 16;
/// Panels of a task, of which there are no more than threads if they have fewer: each task has its own copy of the rows.
const PANELS: usize = 8;
/// Bytes of a right matrix that need not be brought near.
const SMALL: usize = 128 << 10;
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
        for first in (0..n).step_by(COLUMNS) {
            let (width, panel) = (COLUMNS.min(n - first), kernels.panel());
            let most = BYTES / (width.next_multiple_of(panel) * size_of::<S::Wide>()) / kernels.depth * kernels.depth;
            // Panels that are read where they lie come first. One that has a vector of columns is read no further.
            let few = own && b.col == 1 && m <= UNPACKED_ROWS;
            let lying = if few { width / panel + usize::from(width % panel == kernels.lanes) } else { 0 };
            for p in (0..k).step_by(most.max(kernels.depth)) {
                let (k, b) = (most.max(kernels.depth).min(k - p), b.at(p, first));
                let right = Panels { k, n: width, lying, b, packed: ptr::null_mut() };
                right.share(m, a.at(0, p), out.add(first), ldo, pieces, add || p > 0);
            }
        }
    }
}

/// A part of a matrix that is wanted soon.
fn ahead<T>(a: Mat<T>, rows: usize, cols: usize) -> Ahead {
    let (a, rows, cols) = if a.col == 1 { (a, rows, cols) } else { (a.transposed(), cols, rows) };
    let size = size_of::<T>();
    Ahead { ptr: a.ptr.cast(), bytes: cols * size, pitch: a.row * size as isize, rows }
}

/// A right matrix of `k` by `n` as panels of columns, in stretches of the inner dimension.
#[derive(Clone, Copy)]
pub(crate) struct Panels<S: Real> {
    k: usize,
    n: usize,
    /// How many panels are read where they lie.
    lying: usize,
    b: Mat<S>,
    /// Where the others are packed; null where each is packed when it is needed.
    packed: *mut S::Wide,
}

// SAFETY: `b` is only read, and different panels are written by `pack` alone.
unsafe impl<S: Real> Sync for Panels<S> {}

impl<S: Real> Panels<S>
where
    S::Wide: Float,
{
    /// A matrix that lies packed, or is to be, in room for [`Panels::room`] elements.
    pub(crate) fn packed(k: usize, n: usize, packed: *mut S::Wide) -> Panels<S> {
        let b = Mat { ptr: ptr::null(), row: 0, col: 0 };
        Panels { k, n, lying: 0, b, packed }
    }

    /// Elements of the packed panels of all of a matrix.
    pub(crate) fn room(k: usize, n: usize) -> usize {
        n.next_multiple_of(S::Wide::kernels().panel()) * k
    }

    /// The number of panels.
    pub(crate) fn count(&self) -> usize {
        self.n.div_ceil(S::Wide::kernels().panel())
    }

    /// The rows of the stretch that starts with row `p`.
    fn depth(&self, p: usize) -> usize {
        S::Wide::kernels().depth.min(self.k - p)
    }

    /// Where panel `i` is packed, from row `p` on, which starts a stretch.
    fn place(&self, p: usize, i: usize) -> *mut S::Wide {
        let packed = self.count() - self.lying;
        self.packed.wrapping_add((p * packed + (i - self.lying) * self.depth(p)) * S::Wide::kernels().panel())
    }

    /// # Safety
    /// There is such a panel of the matrix; `to` has room for it.
    unsafe fn pack_at(&self, p: usize, i: usize, to: *mut S::Wide) {
        let panel = S::Wide::kernels().panel();
        // SAFETY: the caller's contract.
        unsafe { pack_panel(self.b.at(p, i * panel), self.depth(p), panel.min(self.n - i * panel), to) }
    }

    /// Packs all panels of `b`, which threads share.
    ///
    /// # Safety
    /// `b` is readable as `k` by `n`; there is room for its panels.
    pub(crate) unsafe fn pack(&self, b: Mat<S>) {
        let (kernels, count, all) = (S::Wide::kernels(), self.count(), Panels { b, ..*self });
        let ns = cost::moved((size_of::<S::Wide>() * kernels.panel() * kernels.depth.min(self.k)) as f64, 0.0);
        parallel_for(count * self.k.div_ceil(kernels.depth), grain(ns), |range| {
            for i in range {
                let (p, i) = (i / count * kernels.depth, i % count);
                // SAFETY: the panel is inside of the matrix, and of the room.
                unsafe { all.pack_at(p, i, all.place(p, i)) };
            }
        });
    }

    /// A panel from the row `p` on, and the elements between its rows; where it is not packed yet, it is in `own`.
    ///
    /// # Safety
    /// There is such a panel.
    unsafe fn panel(&self, p: usize, i: usize, own: &mut Packed<S::Wide, FEW>) -> (*const S::Wide, usize) {
        let kernels = S::Wide::kernels();
        // SAFETY: the panel is inside of the matrix, and of its room.
        unsafe {
            if i < self.lying {
                return (self.b.at(p, i * kernels.panel()).ptr.cast(), self.b.row as usize);
            }
            if !self.packed.is_null() {
                return (self.place(p, i), kernels.panel());
            }
            let room = own.room(self.depth(p) * kernels.panel());
            self.pack_at(p, i, room);
            (room, kernels.panel())
        }
    }

    /// The memory of a panel that is wanted soon.
    fn ahead(&self, p: usize, i: usize) -> Ahead {
        let (panel, depth, size) = (S::Wide::kernels().panel(), self.depth(p), size_of::<S::Wide>());
        if i >= self.lying && !self.packed.is_null() {
            return Ahead {
                ptr: self.place(p, i).cast(),
                bytes: panel * size,
                pitch: (panel * size) as isize,
                rows: depth,
            };
        }
        let offset = p as isize * self.b.row + (i * panel) as isize * self.b.col;
        ahead(Mat { ptr: self.b.ptr.wrapping_offset(offset), ..self.b }, depth, panel.min(self.n - i * panel))
    }

    /// `out = a b`, or `out += a b`, where `self` is `b`, shared by up to `pieces` threads.
    ///
    /// # Safety
    /// `b` is readable, `a` as `m` by `self.k`; `out` is writable as `m` by `self.n`, its rows being `ldo` apart.
    pub(crate) unsafe fn share(&self, m: usize, a: Mat<S>, out: *mut S::Wide, ldo: usize, pieces: usize, add: bool) {
        let (kernels, count) = (S::Wide::kernels(), self.count());
        let tasks = if pieces < 2 { 1 } else { TASKS * pieces };
        let least = (TILES * kernels.rows()).min(m);
        let blocks = (m / least).clamp(1, tasks).max(m.div_ceil(kernels.block));
        let groups = tasks.div_ceil(blocks).min(count.div_ceil(PANELS).next_multiple_of(pieces)).min(count);
        let mut right = *self;
        let mut memory = Packed::<S::Wide, FEW>::new();
        if blocks > 1 && right.packed.is_null() {
            (right.lying, right.packed) = (0, memory.room(count * kernels.panel() * self.k));
            // SAFETY: the caller's contract; there is room.
            unsafe { right.pack(self.b) };
        }
        let (from, row, col, out) = (Shared(a.ptr.cast_mut()), a.row, a.col, Shared(out));
        let one = |task: usize| {
            let (block, group) = (task / groups, task % groups);
            let (first, end) = (m * block / blocks, m * (block + 1) / blocks);
            let panels = count * group / groups..count * (group + 1) / groups;
            // SAFETY: tasks are of different rows or columns, which are inside of the matrices.
            unsafe {
                let a = Mat { ptr: from.get().cast_const(), row, col }.at(first, 0);
                right.multiply(end - first, a, panels, out.get().add(first * ldo), ldo, add);
            }
        };
        if pieces < 2 {
            (0..blocks * groups).for_each(one);
        } else {
            parallel_each(blocks * groups, one);
        }
    }

    /// `out = a b`, or `out += a b`, for some panels of columns, where `self` is `b`.
    ///
    /// # Safety
    /// As for [`Panels::share`].
    pub(crate) unsafe fn multiply(
        &self,
        m: usize,
        a: Mat<S>,
        panels: Range<usize>,
        out: *mut S::Wide,
        ldo: usize,
        add: bool,
    ) {
        let kernels = S::Wide::kernels();
        let (panel, most) = (kernels.panel(), kernels.rows());
        let pitch = a.row.unsigned_abs() * size_of::<S>();
        let there = is_own::<S, S::Wide>() && a.col == 1;
        let direct = there && (m <= most || panels.len() < DIRECT && !pitch.is_multiple_of(PAGE));
        let (mut left, mut own) = (Packed::<S::Wide, FEW>::new(), Packed::<S::Wide, FEW>::new());
        // A small matrix is near.
        let far = !self.packed.is_null() || self.k * self.n * size_of::<S>() > SMALL;
        let blocks = m.div_ceil(kernels.block);
        for block in 0..blocks {
            let (from, end) = (m * block / blocks, m * (block + 1) / blocks);
            let parts = (end - from).div_ceil(most);
            // Tiles of nearly the same height, none of which is low.
            let (low, high) = ((end - from) / parts, (end - from) % parts);
            let cut = |part: usize| from + part * low + part.min(high);
            for p in (0..self.k).step_by(kernels.depth) {
                let depth = self.depth(p);
                let packed = if direct { ptr::null_mut() } else { left.room(parts * most * depth) };
                for i in panels.clone() {
                    let mut next = match (i + 1 < panels.end, p + depth < self.k) {
                        _ if !far => Ahead::NOTHING,
                        (true, _) => self.ahead(p, i + 1),
                        (false, true) => self.ahead(p + depth, panels.start),
                        (false, false) => Ahead::NOTHING,
                    };
                    let each = next.rows.div_ceil(parts);
                    let (column, width) = (i * panel, panel.min(self.n - i * panel));
                    // SAFETY: the caller's contract. Memory is used as it is only if the types are the same.
                    unsafe {
                        let (b, b_row) = self.panel(p, i, &mut own);
                        for part in 0..parts {
                            let mut ahead = next.take(each);
                            let (row, rows) = (cut(part), cut(part + 1) - cut(part));
                            let lying = a.at(row, p);
                            let (a, a_row) = if direct {
                                (lying.ptr.cast(), lying.row)
                            } else {
                                let to = packed.add(part * most * depth);
                                if i == panels.start {
                                    pack_rows(lying, rows, depth, most, to);
                                    if part + 1 < parts {
                                        ahead = self::ahead(lying.at(rows, 0), cut(part + 2) - cut(part + 1), depth);
                                    }
                                }
                                (to.cast_const(), 1)
                            };
                            let out = out.add(row * ldo + column);
                            let add = add || p > 0;
                            let tile = Tile {
                                a,
                                a_row,
                                hops: &[0],
                                run: depth,
                                a_col: 1,
                                b,
                                b_row,
                                out,
                                out_row: ldo,
                                width,
                                add,
                                ahead,
                            };
                            kernels.tile(rows, !direct, &tile);
                        }
                    }
                }
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
