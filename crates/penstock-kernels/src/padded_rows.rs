//! Contractions of a convolution whose left matrix is read where it lies: neighbouring pixels of a line of results read
//! pixels at equal distances, which the tiles of [`crate::register_tile`] step over.
//!
//! What a block of results reads is first copied to a *band*, with zeros where the source ends, unless it is inside of the
//! source as a whole.

#![expect(unsafe_code, reason = "kernels over raw memory")]

use std::ops::Range;

use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::conv_index::{ConvIndex, Line, Results};
use crate::cost;
use crate::matmul::{Gemm, Mat};
use crate::num::Real;
use crate::pack::{Packed, copy_matrix, is_own, pack_panel};
use crate::pool::{Shared, grain, parallel_for, threads};
use crate::register_tile::{Ahead, Dots, Float, Left, Tile};
use penstock_data::{Element, memory::scratch_room};

/// Elements of a band: it stays in a cache beside a panel of the filter.
pub(crate) const BAND: usize = 128 << 10;
/// Bytes of a panel that are used at a time: they stay in the nearest cache.
const PANEL: usize = 40 << 10;

/// Bytes of results that are handed on at a time: they stay in the nearest cache.
const HANDED_ON: usize = 16 << 10;
/// Neighbouring pixels from which on they are multiplied where they lie, rather than gathered.
const LINE: usize = 4;
/// Vectors of channels from which on columns of a filter are multiplied one by one, where few are left.
const COLUMN_VECTORS: usize = 3;

/// The pixels that a range of results reads along one dimension: a stretch of neighbours for all of them, or, where there are
/// pixels between two windows that nothing reads, one for each.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    first: isize,
    stretch: usize,
    count: usize,
    /// Pixels from a stretch to the next.
    step: usize,
}

impl Span {
    /// Of a line that has taps.
    pub(crate) fn of(line: &Line, results: &Range<usize>) -> Span {
        let (reach, count) = (reach(line), results.len());
        let first = line.taps[0].1 + (results.start * line.advance) as isize;
        if line.advance > reach {
            return Span { first, stretch: reach, count, step: line.advance };
        }
        Span { first, stretch: (count - 1) * line.advance + reach, count: 1, step: 0 }
    }

    /// The pixels of a band for it.
    pub(crate) fn len(&self) -> usize {
        self.stretch * self.count
    }

    fn is_inside(&self, line: &Line) -> bool {
        self.first >= 0 && self.first as usize + (self.count - 1) * self.step + self.stretch <= line.source
    }
}

/// The pixels from the first that a result reads to the last.
fn reach(line: &Line) -> usize {
    (line.taps[line.taps.len() - 1].1 - line.taps[0].1 + 1) as usize
}

/// The pixels of a band from what a result reads to what the next one does.
pub(crate) fn spacing(line: &Line) -> usize {
    line.advance.min(reach(line))
}

/// How many results of a line a band of `room` pixels serves, at least 1.
fn served(line: &Line, room: usize) -> usize {
    (room.saturating_sub(reach(line)) / spacing(line) + 1).clamp(1, line.count)
}

/// Copies the pixels of a band, with zeros for those that the source does not have.
///
/// # Safety
/// `source` is readable for as many pixels of `pitch` elements as the index has; `to` is writable for the band.
#[inline(always)]
pub(crate) unsafe fn copy_band<T: Real>(
    index: &ConvIndex,
    at: (usize, usize),
    spans: (Span, Span),
    source: *const T,
    pitch: usize,
    channels: usize,
    mut to: *mut T::Wide,
) {
    let [a, b, c] = &index.lines;
    let (rows, row) = spans;
    let inside = |i: isize, line: &Line| usize::try_from(i).ok().filter(|&i| i < line.source);
    // SAFETY: pixels that are read are inside of the source; what is written is inside of the band.
    unsafe {
        let zeros = |to: *mut T::Wide, pixels: usize| (0..pixels * channels).for_each(|i| *to.add(i) = T::Wide::ZERO);
        for &(_, i) in &a.taps {
            let i = inside(i + (at.1 * a.advance) as isize, a).map(|i| at.0 * a.source + i);
            for j in 0..rows.len() {
                let j = rows.first + (j / rows.stretch * rows.step + j % rows.stretch) as isize;
                let line = i.and_then(|i| inside(j, b).map(|j| (i * b.source + j) * c.source));
                let Some(line) = line else {
                    zeros(to, row.len());
                    to = to.add(row.len() * channels);
                    continue;
                };
                for k in 0..row.count {
                    let first = row.first + (k * row.step) as isize;
                    let skip = usize::try_from(-first).unwrap_or(0).min(row.stretch);
                    let end = usize::try_from(c.source as isize - first).unwrap_or(0).clamp(skip, row.stretch);
                    zeros(to, skip);
                    let from = source.wrapping_offset((line as isize + first + skip as isize) * pitch as isize);
                    let copied = to.add(skip * channels);
                    if pitch == channels {
                        (0..(end - skip) * channels).for_each(|i| *copied.add(i) = (*from.add(i)).widen());
                    } else {
                        for p in 0..end - skip {
                            let (from, to) = (from.add(p * pitch), copied.add(p * channels));
                            (0..channels).for_each(|i| *to.add(i) = (*from.add(i)).widen());
                        }
                    }
                    zeros(to.add(end * channels), row.stretch - end);
                    to = to.add(row.stretch * channels);
                }
            }
        }
    }
}

/// Where the taps of a result lie behind its first, and how many elements are neighbours there, for lines of `row` pixels of
/// `pitch` elements. There are `rows` of them for each place in the first dimension, or for each tap of it in a band.
pub(crate) fn hops(
    index: &ConvIndex,
    is_band: bool,
    rows: usize,
    row: usize,
    pitch: usize,
    channels: usize,
) -> (Vec<isize>, usize) {
    let [a, b, c] = &index.lines;
    let merged = c.is_run() && pitch == channels;
    let across = if merged { &c.taps[..1] } else { &c.taps[..] };
    let mut hops = scratch_room(index.taps());
    for (n, &(_, i)) in a.taps.iter().enumerate() {
        let i = if is_band { n as isize } else { i - a.taps[0].1 };
        for &(_, j) in &b.taps {
            for &(_, k) in across {
                let (j, k) = (j - b.taps[0].1, k - c.taps[0].1);
                hops.push(((i * rows as isize + j) * row as isize + k) * pitch as isize);
            }
        }
    }
    (hops, channels * if merged { c.taps.len() } else { 1 })
}

/// The right matrices of a contraction, where they lie in a filter: for each group, one with a row for each tap and channel of the source
/// and a column for each channel of the result. Their rows lie in stretches, in each of which they are at equal distances.
pub(crate) struct Matrices<T> {
    pub(crate) first: Shared<T>,
    /// Elements from the first to where each stretch starts.
    pub(crate) starts: Vec<usize>,
    /// The rows of a stretch.
    pub(crate) rows: usize,
    /// Elements from a group to the next, from a row to the next, and from a column to the next.
    pub(crate) group: usize,
    pub(crate) row: usize,
    pub(crate) col: usize,
}

impl<T: Copy> Matrices<T> {
    /// A stretch of a group's matrix.
    pub(crate) fn part(&self, group: usize, number: usize) -> Mat<T> {
        let ptr = self.first.get().wrapping_add(group * self.group + self.starts[number]);
        Mat { ptr: ptr.cast_const(), row: self.row as isize, col: self.col as isize }
    }
}

/// How a contraction is cut: results into blocks, whose bands stay in a cache, and the matrices into panels.
pub(crate) struct Cut {
    groups: usize,
    k_channels: usize,
    n_channels: usize,
    /// The rows of a matrix.
    k: usize,
    /// Results of a block along the last dimension and the one before, at most.
    across: usize,
    down: usize,
    /// Columns of a panel, and the panels of a matrix.
    panel: usize,
    panels: usize,
    /// The panel that is packed by columns, and multiplied by them: a last one that is mostly empty.
    by_columns: Option<usize>,
}

impl Cut {
    /// That of a contraction in elements of `W`; `None` where results read nothing, or a single one too much, or are too few in a line.
    pub(crate) fn of<W: Float>(index: &ConvIndex, groups: usize, k_channels: usize, n_channels: usize) -> Option<Cut> {
        let [a, b, c] = &index.lines;
        let k = index.taps() * k_channels;
        if k == 0 || n_channels == 0 || c.count < LINE {
            return None;
        }
        let one_row = a.taps.len() * reach(b) * k_channels;
        let across = served(c, BAND / one_row);
        let width = Span::of(c, &(0..across)).len();
        let down = served(b, BAND / (a.taps.len() * width * k_channels));
        let size = a.taps.len() * Span::of(b, &(0..down)).len() * width * k_channels;
        if size > 8 * BAND {
            return None;
        }
        let kernels = W::kernels();
        let panel = kernels.panel();
        let (panels, last) = (n_channels.div_ceil(panel), n_channels % panel);
        let few = last > 0 && 2 * last <= kernels.lanes && k_channels >= COLUMN_VECTORS * kernels.lanes;
        let by_columns = few.then(|| panels - 1);
        Some(Cut { groups, k_channels, n_channels, k, across, down, panel, panels, by_columns })
    }

    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Elements of all packed panels.
    pub(crate) fn room(&self) -> usize {
        self.groups * self.panels * self.panel * self.k
    }

    /// Columns of the last panel, where it is not full.
    fn last(&self) -> usize {
        self.n_channels % self.panel
    }

    /// Packs the matrices; threads share that.
    ///
    /// # Safety
    /// The matrices are those of the contraction, of readable memory; `to` is writable for [`Cut::room`] elements.
    pub(crate) unsafe fn pack<T: Real>(&self, matrices: &Matrices<T>, to: *mut T::Wide)
    where
        T::Wide: Float,
    {
        let &Cut { k, panel, panels, n_channels, .. } = self;
        let (to, last) = (Shared(to), self.last());
        parallel_for(self.groups * panels, grain(0.1 * (panel * k) as f64), |range| {
            for i in range {
                let (group, first) = (i / panels, i % panels * panel);
                for number in 0..matrices.starts.len() {
                    let at = number * matrices.rows;
                    // SAFETY: the panel is inside of the matrix of the group, and of the room.
                    unsafe {
                        let (from, to) = (matrices.part(group, number).at(0, first), to.get().add(i * panel * k));
                        if self.by_columns == Some(i % panels) {
                            copy_matrix(from.transposed(), last, matrices.rows, to.add(at), k);
                        } else {
                            pack_panel(from, matrices.rows, panel.min(n_channels - first), to.add(at * panel));
                        }
                    }
                }
            }
        });
    }

    /// For each group, `result = read(source) * matrix`, over all pixels of `batch` images, by the packed matrices.
    ///
    /// # Safety
    /// It is that of the index. `source` is readable for `groups * k_channels` elements a pixel; `results` are writable for `groups *
    /// n_channels`, if they are not only handed on; those that are handed on are of one group, and all lines have them in order.
    pub(crate) unsafe fn run<T: Real>(
        &self,
        index: &ConvIndex,
        batch: usize,
        source: *const T,
        packed: *const T::Wide,
        results: &Results<'_, T>,
    ) where
        T::Wide: Float + Gemm,
    {
        let &Cut { groups, k_channels, n_channels, k, across, down, panel, panels, by_columns } = self;
        let [a, b, c] = &index.lines;
        let (kernels, last) = (<T::Wide as Float>::kernels(), self.last());
        // Where memory is used as it is, and in a band, whose lines are as long as the longest.
        let own = is_own::<T, T::Wide>();
        let (wide_k, wide_n) = (groups * k_channels, groups * n_channels);
        let (there, there_run) = hops(index, false, b.source, c.source, wide_k, k_channels);
        let packed = Shared(packed.cast_mut());
        // Few enough results for each thread to have some blocks.
        let ns = cost::product(<T::Wide as Element>::DTYPE, (k * n_channels) as f64);
        let lines = groups * batch * a.count * b.count;
        let down = down.min(lines.div_ceil(4 * threads()));
        let line = c.count.min(across) * n_channels * size_of::<T>();
        let down = if results.then.is_some() { down.min(HANDED_ON / line.max(1)) } else { down }.max(1);
        let (high, wide) = (b.count.div_ceil(down), c.count.div_ceil(across));
        let blocks = groups * batch * a.count * high * wide;
        let (source, result, then) = (Shared(source.cast_mut()), Shared(results.first), results.then);
        let in_place = own && !results.first.is_null();
        parallel_for(blocks, grain(ns * (down * across) as f64), |range| {
            let (mut band, mut sums) = (Packed::<T::Wide, 16>::new(), Packed::<T::Wide, 16>::new());
            for block in range {
                let (block, column) = (block / wide, block % wide);
                let (block, row) = (block / high, block % high);
                let (block, slice) = (block / a.count, block % a.count);
                let (group, image) = (block / batch, block % batch);
                let columns = c.count * column / wide..c.count * (column + 1) / wide;
                let rows = b.count * row / high..b.count * (row + 1) / high;
                let (tall, long) = (Span::of(b, &rows), Span::of(c, &columns));
                let deep = Span::of(a, &(slice..slice + 1));
                let direct = own && deep.is_inside(a) && tall.is_inside(b) && long.is_inside(c);
                // SAFETY: what is read is inside of the source, or was copied; what is written is this block's. Memory is used
                // as it is only if the types are the same.
                unsafe {
                    let mut copied = Vec::new();
                    let (start, hops, run, steps): (*const T::Wide, &[isize], _, _) = if direct {
                        let (i, j) = (image * a.source + deep.first as usize, tall.first as usize);
                        let pixel = (i * b.source + j) * c.source + long.first as usize;
                        let start = source.get().add(pixel * wide_k + group * k_channels);
                        let steps = (c.advance * wide_k, b.advance * c.source * wide_k);
                        (start.cast_const().cast(), &there, there_run, steps)
                    } else {
                        let to = band.room(a.taps.len() * tall.len() * long.len() * k_channels);
                        let from = source.get().cast_const().add(group * k_channels);
                        let spans = (tall, long);
                        dispatch(
                            #[inline(always)]
                            || copy_band(index, (image, slice), spans, from, wide_k, k_channels, to),
                        );
                        let (list, run) = self::hops(index, true, tall.len(), long.len(), k_channels, k_channels);
                        copied = list;
                        let steps = (spacing(c) * k_channels, spacing(b) * long.len() * k_channels);
                        (to.cast_const(), &copied, run, steps)
                    };
                    let place = |i: usize| index.place([image, slice, rows.start + i, columns.start]) * wide_n;
                    let (out, out_line, out_row) = if in_place {
                        let out: *mut T = result.get().add(place(0) + group * n_channels);
                        (out.cast::<T::Wide>(), b.step * c.result * wide_n, c.step * wide_n)
                    } else {
                        (sums.room(rows.len() * columns.len() * n_channels), columns.len() * n_channels, n_channels)
                    };
                    let part = (PANEL / size_of::<T::Wide>() / panel / run).max(1);
                    for i in 0..panels {
                        let (first, mut b_at) =
                            (i * panel, packed.get().add((group * panels + i) * panel * k).cast_const());
                        let a_row = steps.0 as isize;
                        if by_columns == Some(i) {
                            for j in 0..rows.len() {
                                let (a, out) = (start.add(j * steps.1), out.add(first + j * out_line));
                                let (b, b_row) = (b_at, k as isize);
                                let (n, out_col, add) = (last, 1, false);
                                kernels.dots(
                                    columns.len(),
                                    &Dots { a, a_row, hops, run, b, b_row, n, out, out_row, out_col, add },
                                );
                            }
                            continue;
                        }
                        for (n, hops) in hops.chunks(part).enumerate() {
                            let mut tile = Tile {
                                left: Left::Rows,
                                a: start,
                                a_row,
                                hops,
                                run,
                                a_col: 1,
                                b: b_at,
                                b_row: panel,
                                out: out.add(first),
                                out_row,
                                width: panel.min(n_channels - first),
                                add: n > 0,
                                ahead: Ahead::NOTHING,
                            };
                            for j in 0..rows.len() {
                                tile.a = start.add(j * steps.1);
                                tile.out = out.add(first + j * out_line);
                                kernels.column(columns.len(), &tile);
                            }
                            b_at = b_at.add(hops.len() * run * panel);
                        }
                    }
                    if !own && !result.get().is_null() {
                        for i in 0..rows.len() {
                            let to = result.get().add(place(i) + group * n_channels);
                            for j in 0..columns.len() {
                                let (from, to) = (out.add(i * out_line + j * out_row), to.add(j * c.step * wide_n));
                                (0..n_channels).for_each(|p| *to.add(p) = T::narrow(*from.add(p)));
                            }
                        }
                    }
                    drop(copied);
                    if let Some(then) = then {
                        // Lines that are here as a whole follow each other.
                        let (count, lines) = if wide == 1 { (rows.len(), 1) } else { (1, rows.len()) };
                        for i in 0..lines {
                            let (first, pixels) = (place(i) / wide_n, count * columns.len());
                            then(first..first + pixels, out.add(i * out_line).cast_const().cast());
                        }
                    }
                }
            }
        });
    }
}
