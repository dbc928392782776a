//! Which pixels of a source the pixels of a result read in a convolution.

#![expect(unsafe_code, reason = "gathers from raw memory")]

use std::ops::Range;

use crate::algebra::Algebra;
use crate::geometry::Axis;
use crate::num::Real;
use penstock_data::memory::{scratch_of, scratch_room};

/// How pixels of a result read pixels of a source along one dimension: result `k` of `count`, at `first + k * step`,
/// reads for each tap the source at `tap + k * advance`, where that is inside of `0 .. source`.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) count: usize,
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) result: usize,
    pub(crate) source: usize,
    pub(crate) advance: usize,
    /// The index in the window, and where the first result reads. What is read ascends.
    pub(crate) taps: Vec<(usize, isize)>,
}

impl Line {
    /// All outputs, reading the input.
    pub(crate) fn forward(axis: &Axis) -> Line {
        Line {
            count: axis.output,
            first: 0,
            step: 1,
            result: axis.output,
            source: axis.input,
            advance: axis.stride,
            taps: scratch_of((0..axis.window).map(|w| (w, (w * axis.dilation) as isize - axis.before as isize))),
        }
    }

    /// The inputs, reading the outputs: those at one place between two strides read through the same elements of the
    /// filter, so each place is a line.
    pub(crate) fn backward(axis: &Axis) -> Vec<Line> {
        let (stride, before) = (axis.stride, axis.before);
        let line = |first: usize| {
            let reached = |&w: &usize| (first + before) as isize - (w * axis.dilation) as isize;
            let taps = (0..axis.window).rev().filter(|w| reached(w).rem_euclid(stride as isize) == 0);
            Line {
                count: (axis.input - first).div_ceil(stride),
                first,
                step: stride,
                result: axis.input,
                source: axis.output,
                advance: 1,
                taps: scratch_of(taps.map(|w| (w, reached(&w).div_euclid(stride as isize)))),
            }
        };
        scratch_of((0..stride.min(axis.input)).map(line))
    }

    /// Whether the results are all there are, in order.
    pub(crate) fn is_dense(&self) -> bool {
        self.step == 1 && self.count == self.result
    }

    /// Whether each result reads the source at its own place alone.
    pub(crate) fn is_identity(&self) -> bool {
        self.is_dense() && self.advance == 1 && self.source == self.result && matches!(self.taps[..], [(_, 0)])
    }

    /// What a result reads through a tap, if it is there.
    #[inline(always)]
    pub(crate) fn read(&self, tap: isize, result: usize) -> Option<usize> {
        usize::try_from(tap + (result * self.advance) as isize).ok().filter(|&place| place < self.source)
    }

    /// Whether taps read neighbours.
    pub(crate) fn is_run(&self) -> bool {
        self.taps.windows(2).all(|t| t[1].1 == t[0].1 + 1)
    }
}

/// Where the pixels of a result go.
pub(crate) struct Results<'a, T> {
    /// The first pixel; null where those of a block are gone once they were handed on.
    pub(crate) first: *mut T,
    /// Is handed pixels, by their numbers, and where the first of them is, as soon as they are made.
    pub(crate) then: Option<&'a (dyn Fn(Range<usize>, *const T) + Sync)>,
}

impl<'a, T> Results<'a, T> {
    /// Those that are only handed on.
    pub(crate) fn handed_on(then: &'a (dyn Fn(Range<usize>, *const T) + Sync)) -> Results<'a, T> {
        Results { first: std::ptr::null_mut(), then: Some(then) }
    }
}

/// Lines of three dimensions.
pub(crate) struct ConvIndex {
    pub(crate) batch: usize,
    pub(crate) lines: [Line; 3],
}

impl ConvIndex {
    pub(crate) fn pixels(&self) -> usize {
        self.batch * self.lines.iter().map(|l| l.count).product::<usize>()
    }

    pub(crate) fn taps(&self) -> usize {
        self.lines.iter().map(|l| l.taps.len()).product()
    }

    /// Where the taps lie in the window, whose extents are given, in the order of a gathered row.
    pub(crate) fn window_indices(&self, window: [usize; 3]) -> Vec<usize> {
        let [a, b, c] = &self.lines;
        let mut out = scratch_room(self.taps());
        for &(i, _) in &a.taps {
            for &(j, _) in &b.taps {
                out.extend(c.taps.iter().map(|&(k, _)| (i * window[1] + j) * window[2] + k));
            }
        }
        out
    }

    /// The indices of a pixel along batch and lines.
    pub(crate) fn unravel(&self, pixel: usize) -> [usize; 4] {
        let [a, b, c] = self.lines.each_ref().map(|l| l.count);
        [pixel / (a * b * c), pixel / (b * c) % a, pixel / c % b, pixel % c]
    }

    /// The pixel of the result that an index stands for.
    pub(crate) fn place(&self, at: [usize; 4]) -> usize {
        (0..3).fold(at[0], |p, d| p * self.lines[d].result + self.lines[d].first + at[d + 1] * self.lines[d].step)
    }

    pub(crate) fn next(&self, at: &mut [usize; 4]) {
        for d in (0..3).rev() {
            at[d + 1] += 1;
            if at[d + 1] < self.lines[d].count {
                return;
            }
            at[d + 1] = 0;
        }
        at[0] += 1;
    }

    /// Calls `f` with each tap of a pixel, by its position among all, and the pixel of the source that it reads, if
    /// there is one.
    #[inline(always)]
    pub(crate) fn reads(&self, at: [usize; 4], mut f: impl FnMut(usize, Option<usize>)) {
        let inside = |d: usize, tap: isize| self.lines[d].read(tap, at[d + 1]);
        let [a, b, c] = &self.lines;
        let mut position = 0;
        for &(_, i) in &a.taps {
            let i = inside(0, i).map(|i| at[0] * a.source + i);
            for &(_, j) in &b.taps {
                let j = i.and_then(|i| inside(1, j).map(|j| i * b.source + j));
                for &(_, k) in &c.taps {
                    f(position, j.and_then(|j| inside(2, k).map(|k| j * c.source + k)));
                    position += 1;
                }
            }
        }
    }

    /// Calls `f` with each tap that a pixel reads through, those `across` alone along the last dimension, which are inside of the
    /// source, and with the pixel of the source that it reads.
    pub(crate) fn reads_of_stretch(&self, at: [usize; 4], across: &Range<usize>, mut f: impl FnMut(usize, usize)) {
        let [a, b, c] = &self.lines;
        for (n, &(_, i)) in a.taps.iter().enumerate() {
            let Some(i) = a.read(i, at[1]) else { continue };
            for (m, &(_, j)) in b.taps.iter().enumerate() {
                let Some(j) = b.read(j, at[2]) else { continue };
                let line = ((at[0] * a.source + i) * b.source + j) * c.source + at[3] * c.advance;
                for l in across.clone() {
                    f((n * b.taps.len() + m) * c.taps.len() + l, (line as isize + c.taps[l].1) as usize);
                }
            }
        }
    }

    /// Writes a row for each pixel of a range: for each tap the elements `channels` of the pixel that it reads, or zeros.
    ///
    /// # Safety
    /// `source` is readable for as many pixels of `width` elements as the index has; `tile` is writable for the rows.
    #[inline(always)]
    pub(crate) unsafe fn gather<T: Real>(
        &self,
        source: *const T,
        width: usize,
        channels: Range<usize>,
        pixels: Range<usize>,
        tile: *mut T::Wide,
    ) {
        let n = channels.len();
        let row = self.taps() * n;
        let mut at = self.unravel(pixels.start);
        let copy = |from: Option<usize>, count: usize, to: *mut T::Wide| match from {
            // SAFETY: the pixels are inside of the source, and the elements inside of the row.
            Some(pixel) => unsafe {
                let from = source.add(pixel * width + channels.start);
                for i in 0..count {
                    *to.add(i) = (*from.add(i)).widen();
                }
            },
            // SAFETY: the elements are inside of the row.
            None => (0..count).for_each(|i| unsafe { *to.add(i) = T::Wide::ZERO }),
        };
        let [a, b, c] = &self.lines;
        let whole_runs = !c.taps.is_empty() && c.is_run() && n == width;
        let across = c.taps.len();
        for r in 0..pixels.len() {
            // SAFETY: row `r` is inside of the tile.
            let to = unsafe { tile.add(r * row) };
            if whole_runs {
                // Neighbours in the source are neighbours in the row: one copy for all taps of the last dimension.
                let start = c.taps[0].1 + (at[3] * c.advance) as isize;
                let skip = usize::try_from(-start).unwrap_or(0).min(across);
                let end = usize::try_from(c.source as isize - start).unwrap_or(0).min(across).max(skip);
                let mut to = to;
                for &(_, i) in &a.taps {
                    let i = a.read(i, at[1]);
                    for &(_, j) in &b.taps {
                        let j = b.read(j, at[2]);
                        let line = i.zip(j).map(|(i, j)| ((at[0] * a.source + i) * b.source + j) * c.source);
                        match line {
                            Some(line) => {
                                copy(None, skip * n, to);
                                if end > skip {
                                    let first = (line as isize + start + skip as isize) as usize;
                                    // SAFETY: inside of the row.
                                    copy(Some(first), (end - skip) * n, unsafe { to.add(skip * n) });
                                }
                                // SAFETY: inside of the row.
                                copy(None, (across - end) * n, unsafe { to.add(end * n) });
                            }
                            None => copy(None, across * n, to),
                        }
                        // SAFETY: to the next taps, or one past the end of the row.
                        to = unsafe { to.add(across * n) };
                    }
                }
            } else {
                // SAFETY: inside of the row.
                self.reads(at, |tap, pixel| copy(pixel, n, unsafe { to.add(tap * n) }));
            }
            self.next(&mut at);
        }
    }
}
