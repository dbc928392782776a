//! Products of matrices of floats by blocks that stay in the caches, made of the tiles of [`crate::register_tile`].
//!
//! A task multiplies some rows by some panels of columns of the right matrix. A thread packs a panel when it first comes to it, and keeps
//! it where it has more rows to multiply by it. A large right matrix, or one of few rows for each thread, is packed before, by all. Up to
//! three rows are multiplied by rows of the right matrix where they lie, which is read once, as fast as memory is.
//! An element is a sum of sums of at most `Kernels::depth` products each, one after the other, so neither blocks nor tiles
//! nor the number of threads change it.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;
use std::ptr;

use penstock_data::memory::scratch;

use crate::cost;
use crate::few_rows::Rows;
use crate::matmul::Mat;
use crate::num::Real;
use crate::pack::{BEHIND, Packed, is_own, pack_panel, pack_rows};
use crate::pool::{PerThread, Shared, grain, parallel_each, parallel_for, parallel_parts};
use crate::register_tile::{Ahead, Dots, Float, Kernels, Left, Tile, heights};

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
const TASKS: usize = 4;
/// The least tiles, one below the other, of a task.
const TILES: usize = 8;
/// The bytes of a packed right matrix up to which each thread packs it for itself, and the least rows for each: to pack takes less time
/// than to wait for all threads, and then for what lies in the caches of other cores.
const OWN: usize = 4 << 20;
const OWN_ROWS: usize = 32;
/// Rows that lie so many bytes apart share the same few places of a cache.
const PAGE: usize = 4096;
/// Panels of columns up to which rows of the left matrix are read where they lie.
const DIRECT: usize = 16;
const DIRECT_OF_PAGES: usize = 5;
/// Rows that are multiplied by a right matrix as it lies, without tiles.
const FEW_ROWS: usize = 3;
/// The least columns of a task of few rows. Memory is slow if it is read in short stretches.
const RUN: usize = 512;
/// The least panels of a task, for the same reason, and since each task packs its own copy of the rows of the left matrix. If there are fewer
/// for each thread, there are no more tasks than threads.
const PANELS: usize = 32;
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
        // Rows a multiple of a page apart would take each other's place in the cache.
        let in_page = (b.row.unsigned_abs() * size_of::<S>()).is_multiple_of(PAGE);
        if own && m <= if in_page { 1 } else { FEW_ROWS } && a.col == 1 && b.col == 1 {
            let (a, b): (Mat<S::Wide>, Mat<S::Wide>) = (a.cast(), b.cast());
            let all = Rows { m, k, n, a: a.ptr, a_row: a.row, b: b.ptr, b_row: b.row, out, out_row: ldo, add };
            if pieces < 2 {
                return kernels.few_rows(&all);
            }
            let (a, b, out) = (Shared(a.ptr.cast_mut()), Shared(b.ptr.cast_mut()), Shared(out));
            let (a_row, b_row) = (all.a_row, all.b_row);
            return parallel_parts(n, kernels.panel(), (n / RUN).clamp(pieces, TASKS * pieces), |part| {
                let (a, b, out) = (a.get(), b.get().wrapping_add(part.start), out.get().wrapping_add(part.start));
                kernels.few_rows(&Rows { m, k, n: part.len(), a, a_row, b, b_row, out, out_row: ldo, add });
            });
        }
        for first in (0..n).step_by(COLUMNS) {
            let (width, panel) = (COLUMNS.min(n - first), kernels.panel());
            let most = BYTES / (width.next_multiple_of(panel) * size_of::<S::Wide>()) / kernels.depth * kernels.depth;
            // Panels that are read where they lie come first. One that has a vector of columns is read no further.
            let few = own && b.col == 1 && m <= if in_page { 2 * kernels.rows() } else { UNPACKED_ROWS };
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
    Ahead { ptr: a.ptr.cast(), bytes: cols * size, pitch: a.row * size as isize, rows, each: 0 }
}

/// What a thread packs for itself: the panel that it is at or, where rows of several tasks need it, each one that it comes to.
pub(crate) struct Kept<T> {
    memory: Packed<T, FEW>,
    /// Which panels are packed; none where they are not kept.
    is_packed: Vec<bool>,
}

impl<T> Kept<T> {
    /// Nothing yet, of so many panels that are kept.
    pub(crate) fn new(panels: usize) -> Kept<T> {
        Kept { memory: Packed::new(), is_packed: scratch(false, panels) }
    }
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

    /// The number of panel `i`, from row `p` on, among those that are packed.
    fn number(&self, p: usize, i: usize) -> usize {
        p / S::Wide::kernels().depth * (self.count() - self.lying) + i - self.lying
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

    /// A panel from the row `p` on, and the elements between its rows; where it is not packed for all threads, it is in `kept`.
    ///
    /// # Safety
    /// There is such a panel.
    unsafe fn panel(&self, p: usize, i: usize, kept: &mut Kept<S::Wide>) -> (*const S::Wide, usize) {
        let kernels = S::Wide::kernels();
        // SAFETY: the panel is inside of the matrix, and of its room.
        unsafe {
            if i < self.lying {
                return (self.b.at(p, i * kernels.panel()).ptr.cast(), self.b.row as usize);
            }
            if !self.packed.is_null() {
                return (self.place(p, i), kernels.panel());
            }
            let all = self.count() - self.lying;
            if kept.is_packed.is_empty() {
                let room = kept.memory.room(self.depth(p) * kernels.panel());
                self.pack_at(p, i, room);
                return (room, kernels.panel());
            }
            let packed = kept.memory.room(all * kernels.panel() * self.k);
            let place = Panels { packed, ..*self }.place(p, i);
            let is_packed = &mut kept.is_packed[self.number(p, i)];
            if !*is_packed {
                self.pack_at(p, i, place);
                *is_packed = true;
            }
            (place, kernels.panel())
        }
    }

    /// The memory of a panel that is wanted soon.
    fn ahead(&self, p: usize, i: usize, kept: &mut Kept<S::Wide>) -> Ahead {
        let (kernels, depth, size) = (S::Wide::kernels(), self.depth(p), size_of::<S::Wide>());
        let (panel, all) = (kernels.panel(), self.count() - self.lying);
        let packed = if i < self.lying {
            ptr::null_mut()
        } else if kept.is_packed.get(self.number(p, i)).is_some_and(|&is_packed| is_packed) {
            kept.memory.room(all * panel * self.k)
        } else {
            self.packed
        };
        if !packed.is_null() {
            let ptr = Panels { packed, ..*self }.place(p, i).cast();
            return Ahead { ptr, bytes: panel * size, pitch: (panel * size) as isize, rows: depth, each: 0 };
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
        let tile = kernels.rows();
        let least = (TILES * tile).min(m);
        let blocks = (m / least).clamp(1, tasks).max(m.div_ceil(kernels.block));
        // As many tasks for each thread leave none to wait for.
        let blocks = if blocks > pieces { blocks - blocks % pieces } else { blocks };
        let mut right = *self;
        let mut memory = Packed::<S::Wide, FEW>::new();
        let room = count * kernels.panel() * self.k;
        let own = pieces < 2 || room * size_of::<S::Wide>() <= OWN && m >= OWN_ROWS * pieces;
        let groups = if own && blocks >= pieces {
            1
        } else {
            tasks.div_ceil(blocks).min(count.div_ceil(PANELS).next_multiple_of(pieces)).min(count)
        };
        if !own && blocks > 1 && right.packed.is_null() {
            (right.lying, right.packed) = (0, memory.room(room));
            // SAFETY: the caller's contract; there is room.
            unsafe { right.pack(self.b) };
        }
        let again = blocks > pieces.max(1) || m > blocks * kernels.block;
        let panels = if again { (count - right.lying) * self.k.div_ceil(kernels.depth) } else { 0 };
        let (from, row, col, out) = (Shared(a.ptr.cast_mut()), a.row, a.col, Shared(out));
        let one = |task: usize, kept: &mut Kept<S::Wide>| {
            let (block, group) = (task / groups, task % groups);
            let cut = |block: usize| if block == blocks { m } else { m * block / blocks / tile * tile };
            let (first, end) = (cut(block), cut(block + 1));
            let panels = count * group / groups..count * (group + 1) / groups;
            // SAFETY: tasks are of different rows or columns, which are inside of the matrices.
            unsafe {
                let a = Mat { ptr: from.get().cast_const(), row, col }.at(first, 0);
                right.multiply(end - first, a, panels, out.get().add(first * ldo), ldo, add, kept);
            }
        };
        if pieces < 2 {
            let mut kept = Kept::new(panels);
            (0..blocks * groups).for_each(|task| one(task, &mut kept));
        } else {
            let kept = PerThread::new();
            parallel_each(blocks * groups, |task| kept.with(|| Kept::new(panels), |kept| one(task, kept)));
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
        kept: &mut Kept<S::Wide>,
    ) {
        let kernels = S::Wide::kernels();
        let (panel, most) = (kernels.panel(), kernels.rows());
        let pitch = a.row.unsigned_abs() * size_of::<S>();
        let there = is_own::<S, S::Wide>() && a.col == 1;
        let direct =
            there && (m <= most || panels.len() < if pitch.is_multiple_of(PAGE) { DIRECT_OF_PAGES } else { DIRECT });
        let mut left = Packed::<S::Wide, FEW>::new();
        // A small matrix is near.
        let far = !self.packed.is_null() || self.k * self.n * size_of::<S>() > SMALL;
        let blocks = m.div_ceil(kernels.block);
        for block in 0..blocks {
            let (from, end) = (m * block / blocks, m * (block + 1) / blocks);
            for p in (0..self.k).step_by(kernels.depth) {
                let depth = self.depth(p);
                // SAFETY: the caller's contract. Memory is used as it is only if the types are the same.
                let (left, start) = unsafe {
                    let lying = a.at(from, p);
                    if direct {
                        (Left::Rows, lying.ptr.cast::<S::Wide>())
                    } else {
                        let room = left.room((end - from).div_ceil(most) * most * depth + BEHIND);
                        pack_block(lying, end - from, depth, most, room);
                        (Left::Packed, room.cast_const())
                    }
                };
                for i in panels.clone() {
                    let next = match (i + 1 < panels.end, p + depth < self.k) {
                        _ if !far => Ahead::NOTHING,
                        (true, _) => self.ahead(p, i + 1, kept),
                        (false, true) => self.ahead(p + depth, panels.start, kept),
                        (false, false) => Ahead::NOTHING,
                    };
                    let (column, width) = (i * panel, panel.min(self.n - i * panel));
                    // SAFETY: as before.
                    unsafe {
                        let (b, b_row) = self.panel(p, i, kept);
                        let tile = Tile {
                            left,
                            a: start,
                            a_row: a.row,
                            hops: &[0],
                            run: depth,
                            a_col: 1,
                            b,
                            b_row,
                            out: out.add(from * ldo + column),
                            out_row: ldo,
                            width,
                            add: add || p > 0,
                            ahead: next,
                        };
                        kernels.column(end - from, &tile);
                    }
                }
            }
        }
    }
}

/// Packs rows of a left matrix as tiles of at most `most`, one after the other.
///
/// # Safety
/// `a` is readable as `m` by `depth`; `to` is writable for tiles of `most` rows, and [`BEHIND`] elements behind them.
unsafe fn pack_block<S: Real>(a: Mat<S>, m: usize, depth: usize, most: usize, to: *mut S::Wide) {
    let (low, higher, count) = heights(m, most);
    let mut from = 0;
    for tile in 0..count {
        let rows = low + usize::from(tile < higher);
        // SAFETY: the caller's contract; what is written behind a tile is that of the next.
        unsafe {
            ahead(a.at(from + rows, 0), low.min(m - from - rows), depth).fetch();
            pack_rows(a.at(from, 0), rows, depth, most, to.add(tile * most * depth));
        }
        from += rows;
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
    parallel_parts(n, 4, pieces, |part| {
        let first = part.start;
        // SAFETY: the caller's contract; the columns of the result are this part's.
        unsafe {
            let (a, b) = (a.get().cast_const(), b.get().offset(first as isize * b_row).cast_const());
            let (n, out) = (part.len(), out.get().add(first * out_col));
            kernels.dots(m, &Dots { a, a_row, hops, run, b, b_row, n, out, out_row, out_col, add });
        }
    });
}
