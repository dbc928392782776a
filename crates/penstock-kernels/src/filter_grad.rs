//! The cotangent of a convolution's filter.
//!
//! The rows of the filter, one for each tap and input channel, are those of a product whose inner dimension is the pixels of the
//! result. A block of pixels at a time, what they read is copied to a band, where the elements of all rows are at the same
//! distances, and the cotangents of the block are packed to panels.

#![expect(unsafe_code, reason = "kernels over raw memory")]

use penstock_data::Element;
use penstock_data::memory::{scratch, scratch_of};

use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::conv_index::{ConvIndex, Line};
use crate::cost;
use crate::depthwise::depthwise_filter_grad;
use crate::geometry::Geometry;
use crate::matmul::{Mat, Update};
use crate::num::Real;
use crate::pack::{Packed, is_own, pack_panel};
use crate::padded_rows::{BAND, Span, copy_band, hops, spacing};
use crate::pool::{PIECE_NS, Shared, parallel_for, threads};
use crate::register_tile::{Ahead, Float, Left, Tile};

/// A block of pixels of the result: planes, rows of each, columns of each. A block of several rows has whole ones, and one of several
/// planes too.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block {
    planes: usize,
    rows: usize,
    columns: usize,
}

impl Block {
    /// The greatest of at most `pixels`.
    fn of(index: &ConvIndex, pixels: usize) -> Block {
        let [a, b, c] = &index.lines;
        let columns = c.count.min(pixels);
        let rows = if columns == c.count { b.count.min(pixels / columns) } else { 1 };
        let planes = if rows == b.count { (index.batch * a.count).min(pixels / (rows * columns)) } else { 1 };
        Block { planes, rows, columns }
    }

    fn pixels(&self) -> usize {
        self.planes * self.rows * self.columns
    }

    /// Pixels of its band.
    fn band(&self, index: &ConvIndex) -> usize {
        let [a, b, c] = &index.lines;
        self.planes * a.taps.len() * Span::of(b, &(0..self.rows)).len() * Span::of(c, &(0..self.columns)).len()
    }
}

/// # Safety
/// As for [`crate::conv::conv_filter_grad`].
pub(crate) unsafe fn filter_grad<T: Real>(g: &Geometry, x: *const T, dy: *const T, df: *mut T)
where
    T::Wide: Float + Update,
{
    let index = ConvIndex { batch: g.batch, lines: g.axes.each_ref().map(Line::forward) };
    let (ins, outs, pixels) = (g.in_channels, g.out_channels, index.pixels());
    let (wide_in, wide_out) = (g.groups * ins, g.groups * outs);
    let k = index.taps() * ins;
    if k * wide_out == 0 {
        return;
    }
    if pixels == 0 {
        // SAFETY: `df` has `k * wide_out` elements.
        return (0..k * wide_out).for_each(|i| unsafe { *df.add(i) = T::narrow(T::Wide::ZERO) });
    }
    if ins == 1 && g.groups > 1 {
        // SAFETY: the caller's contract.
        return unsafe { depthwise_filter_grad(&index, g.groups, outs, x, dy, df) };
    }
    let kernels = <T::Wide as Float>::kernels();
    let panel = kernels.panel();
    let [a, b, c] = &index.lines;
    let planes = index.batch * a.count;
    let mut block = Block::of(&index, kernels.depth);
    while block.band(&index) * ins > BAND && block.pixels() > 1 {
        block = Block::of(&index, block.pixels() / 2);
    }
    // Each thread has some rows of the filter.
    let ns = cost::product(<T::Wide as Element>::DTYPE, g.flops() / 2.0);
    let parts = if ns < 2.0 * PIECE_NS { 1 } else { threads().div_ceil(g.groups).min(k) };
    let own = is_own::<T, T::Wide>();
    let (px, py, pf) = (Shared(x.cast_mut()), Shared(dy.cast_mut()), Shared(df));
    parallel_for(g.groups * parts, 1, |range| {
        let (mut band, mut panels) = (Packed::<T::Wide, 16>::new(), Packed::<T::Wide, 16>::new());
        for i in range {
            let (group, part) = (i / parts, i % parts);
            let piece = k * part / parts..k * (part + 1) / parts;
            let mut sums = scratch(T::Wide::ZERO, if own { 0 } else { piece.len() * outs });
            // SAFETY: the columns of the group and the rows of the piece are inside of `df`; memory is used as it is only if both
            // types are the same.
            let (out, out_row) = unsafe {
                let to = pf.get().add(piece.start * wide_out + group * outs);
                if own { (to.cast::<T::Wide>(), wide_out) } else { (sums.as_mut_ptr(), outs) }
            };
            // Where taps and rows are in the band of a block of such extents.
            let (mut known, mut starts, mut distances, mut run) = (None, Vec::new(), Vec::new(), 0);
            let mut add = false;
            let rows =
                (0..planes).step_by(block.planes).flat_map(|p| (0..b.count).step_by(block.rows).map(move |r| (p, r)));
            for (plane, row, column) in
                rows.flat_map(|(p, r)| (0..c.count).step_by(block.columns).map(move |c| (p, r, c)))
            {
                let block = Block {
                    planes: block.planes.min(planes - plane),
                    rows: block.rows.min(b.count - row),
                    columns: block.columns.min(c.count - column),
                };
                let spans = (Span::of(b, &(row..row + block.rows)), Span::of(c, &(column..column + block.columns)));
                let (tall, long) = (spans.0.len(), spans.1.len());
                let of_plane = a.taps.len() * tall * long * ins;
                if known != Some(block) {
                    known = Some(block);
                    (starts, run) = hops(&index, true, tall, long, ins, ins);
                    let down = spacing(b) * long * ins;
                    let rows = (0..block.planes).flat_map(|p| (0..block.rows).map(move |r| p * of_plane + r * down));
                    distances = scratch_of(rows.map(|row| row as isize));
                }
                let inner = distances.len() * block.columns;
                let band = band.room(block.planes * of_plane);
                let panels = panels.room(outs.div_ceil(panel) * panel * inner);
                // SAFETY: what is read is inside of the source and the cotangents, or of the band and the panels, which are filled
                // first; rows of the filter are this piece's.
                unsafe {
                    let from = px.get().cast_const().add(group * ins);
                    for p in 0..block.planes {
                        let at = ((plane + p) / a.count, (plane + p) % a.count);
                        let to = band.add(p * of_plane);
                        dispatch(
                            #[inline(always)]
                            || copy_band(&index, at, spans, from, wide_in, ins, to),
                        );
                    }
                    let pixel = (plane * b.count + row) * c.count + column;
                    let dy = py.get().cast_const().add(pixel * wide_out + group * outs);
                    for first in (0..outs).step_by(panel) {
                        let width = panel.min(outs - first);
                        let b = panels.add(first * inner);
                        pack_panel(Mat { ptr: dy.add(first), row: wide_out as isize, col: 1 }, inner, width, b);
                        let mut at = piece.start;
                        while at < piece.end {
                            let (start, within) = (starts[at / run], at % run);
                            let rows = (run - within).min(piece.end - at);
                            let a_col = spacing(c) * ins;
                            let tile = Tile {
                                left: if a_col == 1 { Left::Rows } else { Left::Apart },
                                a: band.cast_const().offset(start).add(within),
                                a_row: 1,
                                hops: &distances,
                                run: block.columns,
                                a_col,
                                b: b.cast_const(),
                                b_row: panel,
                                out: out.add((at - piece.start) * out_row + first),
                                out_row,
                                width,
                                add,
                                ahead: Ahead::NOTHING,
                            };
                            kernels.column(rows, &tile);
                            at += rows;
                        }
                    }
                }
                add = true;
            }
            for (r, row) in sums.chunks_exact(outs).enumerate() {
                for (o, &sum) in row.iter().enumerate() {
                    // SAFETY: inside of `df`, and this piece's own.
                    unsafe { *pf.get().add((piece.start + r) * wide_out + group * outs + o) = T::narrow(sum) };
                }
            }
        }
    });
}
