//! Windows over up to three spatial dimensions, channels last: their greatest elements (`greatest.rs`), their means, and the transposes of
//! both.
//!
//! What lies in the padding takes no part: it is neither greatest nor counted.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use penstock_data::memory::scratch;
use penstock_data::{DType, DTypeSet, with_dtype};

use crate::arch::dispatch;
use crate::geometry::Axis;
use crate::greatest::by_taps;
pub use crate::greatest::{AtMax, MAX_POOL_DTYPES, at_max, max_pool};
use crate::num::Real;
use crate::pack::is_own;
use crate::pool::{Shared, grain, parallel_for};

/// The dtypes of which windows have a mean.
pub const AVG_POOL_DTYPES: DTypeSet = DTypeSet::FLOAT;

/// The sizes of a pooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The number of images.
    pub batch: usize,
    /// The spatial dimensions; those missing come first and are [`Axis::NONE`]. Each window has an element of the input.
    pub axes: [Axis; 3],
    /// The number of channels.
    pub channels: usize,
}

impl Windows {
    pub(crate) fn inputs(&self) -> usize {
        self.axes.iter().map(|a| a.input).product()
    }

    /// Whether there is nothing to compute: any number of pixels may have nothing in them.
    pub(crate) fn is_empty(&self) -> bool {
        self.batch == 0 || self.channels == 0
    }

    /// Estimated time of a window.
    pub(crate) fn ns(&self) -> f64 {
        (self.axes.iter().map(|a| a.window).product::<usize>() * self.channels) as f64 * 0.3
    }

    /// The pixels of the input in the window of an output, along one dimension: the first, and how many.
    #[inline(always)]
    pub(crate) fn span(&self, d: usize, output: usize) -> Range<usize> {
        let a = &self.axes[d];
        let start = output * a.stride;
        start.saturating_sub(a.before)..(start + a.window).saturating_sub(a.before).min(a.input)
    }
}

/// The mean of each window and channel.
///
/// # Panics
/// If `dtype` is none of [`AVG_POOL_DTYPES`].
///
/// # Safety
/// As for [`max_pool`].
pub unsafe fn avg_pool(dtype: DType, windows: &Windows, x: *const u8, y: *mut u8) {
    if windows.is_empty() {
        return;
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe { means::<T>(windows, x.cast(), y.cast()) },
        else panic!("avg_pool does not take {dtype}"));
}

/// Numbers that a mean is taken of.
trait Mean: Copy + Default + std::ops::AddAssign + Send + Sync {
    fn over(self, count: usize) -> Self;
}

impl Mean for f32 {
    #[inline(always)]
    fn over(self, count: usize) -> f32 {
        self / count as f32
    }
}

impl Mean for f64 {
    #[inline(always)]
    fn over(self, count: usize) -> f64 {
        self / count as f64
    }
}

/// Calls `f` with each line of outputs of a range over all images: its image, its number, and the lines of pixels in its windows.
#[inline(always)]
fn each_line(windows: &Windows, range: Range<usize>, mut f: impl FnMut(usize, usize, [Range<usize>; 2])) {
    let [a, b, _] = &windows.axes;
    for number in range {
        let of_image = number % (a.output * b.output);
        let lines = [windows.span(0, of_image / b.output), windows.span(1, of_image % b.output)];
        f(number / (a.output * b.output), number, lines);
    }
}

/// To each of `len` places are added `taps` elements, one after the other: of `x` from the place on, `step` apart.
///
/// # Safety
/// The elements are readable, `sums` is writable for `len`, and disjoint.
#[inline(always)]
unsafe fn add_taps<T: Real>(x: *const T, step: usize, taps: usize, len: usize, sums: *mut T::Wide)
where
    T::Wide: Mean,
{
    by_taps!(0, taps, |first, W, JOINED| {
        let _ = JOINED;
        for f in 0..len {
            // SAFETY: the caller's contract.
            unsafe {
                let mut sum = *sums.add(f);
                for t in 0..W {
                    sum += (*x.add(f + (first + t) * step)).widen();
                }
                *sums.add(f) = sum;
            }
        }
    });
}

/// # Safety
/// As for [`avg_pool`].
unsafe fn means<T: Real>(windows: &Windows, x: *const T, y: *mut T)
where
    T::Wide: Mean,
{
    let [a, b, c] = windows.axes.each_ref();
    let n = windows.channels;
    let (inside, len) = (c.inside(), c.output * n);
    let (px, py) = (Shared(x.cast_mut()), Shared(y));
    parallel_for(windows.batch * a.output * b.output, grain(windows.ns() * c.output as f64), |range| {
        let mut sums = scratch(T::Wide::default(), len);
        dispatch(
            #[inline(always)]
            || {
                each_line(windows, range, |image, number, [planes, rows]| {
                    sums.fill(T::Wide::default());
                    let count = planes.len() * rows.len();
                    let sums = sums.as_mut_ptr();
                    for i in planes {
                        for j in rows.clone() {
                            // SAFETY: the line is inside of `x`, and the windows are inside of the line.
                            unsafe {
                                let line =
                                    px.get().cast_const().add(((image * a.input + i) * b.input + j) * c.input * n);
                                for k in (0..inside.start).chain(inside.end..c.output) {
                                    let span = windows.span(2, k);
                                    add_taps(line.add(span.start * n), n, span.len(), n, sums.add(k * n));
                                }
                                if c.stride == 1 && !inside.is_empty() {
                                    let first = line.add((inside.start - c.before) * n);
                                    add_taps(first, n, c.window, inside.len() * n, sums.add(inside.start * n));
                                    continue;
                                }
                                for k in inside.clone() {
                                    let first = line.add((k * c.stride - c.before) * n);
                                    add_taps(first, n, c.window, n, sums.add(k * n));
                                }
                            }
                        }
                    }
                    // SAFETY: the line of outputs is this range's own.
                    let to = unsafe { py.get().add(number * len) };
                    over_counts(windows, count, |k, count| {
                        for f in k.start * n..k.end * n {
                            // SAFETY: as above.
                            unsafe { to.add(f).write(T::narrow((*sums.add(f)).over(count))) };
                        }
                    });
                });
            },
        );
    });
}

/// Calls `f` with stretches of a line of outputs whose windows have the same number of pixels, and this number; `count` is that of the lines
/// of the windows.
#[inline(always)]
fn over_counts(windows: &Windows, count: usize, mut f: impl FnMut(Range<usize>, usize)) {
    let c = &windows.axes[2];
    let inside = c.inside();
    for k in (0..inside.start).chain(inside.end..c.output) {
        f(k..k + 1, count * windows.span(2, k).len());
    }
    f(inside, count * c.window);
}

/// The cotangent of the operand of [`avg_pool`] from that of its result.
///
/// # Panics
/// If `dtype` is none of [`AVG_POOL_DTYPES`].
///
/// # Safety
/// `dy` is readable for `channels` elements a pixel of the outputs, `dx` writable for those of the inputs, and both are
/// disjoint.
pub unsafe fn avg_pool_grad(dtype: DType, windows: &Windows, dy: *const u8, dx: *mut u8) {
    if windows.is_empty() {
        return;
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe { spread::<T>(windows, dy.cast(), dx.cast()) },
        else panic!("avg_pool does not take {dtype}"));
}

/// # Safety
/// As for [`avg_pool_grad`].
unsafe fn spread<T: Real>(windows: &Windows, dy: *const T, dx: *mut T)
where
    T::Wide: Mean,
{
    let [a, b, c] = windows.axes.each_ref();
    let (n, inputs, lines) = (windows.channels, windows.inputs(), a.output * b.output);
    let (py, px) = (Shared(dy.cast_mut()), Shared(dx));
    let (own, len) = (is_own::<T, T::Wide>(), c.output * n);
    parallel_for(windows.batch, grain(windows.ns() * (lines * c.output) as f64), |range| {
        let mut room = scratch(T::Wide::default(), if own { 0 } else { inputs * n });
        let mut shares = scratch(T::Wide::default(), len);
        for image in range {
            let shares = shares.as_mut_ptr();
            // SAFETY: the image is inside of `dx`, and this range's own. Where no memory was made for sums, both types are the same.
            let to = unsafe { px.get().add(image * inputs * n) };
            let sums: *mut T::Wide = if own { to.cast() } else { room.as_mut_ptr() };
            dispatch(
                #[inline(always)]
                || {
                    // SAFETY: as above.
                    (0..inputs * n).for_each(|i| unsafe { sums.add(i).write(T::Wide::default()) });
                    each_line(windows, image * lines..(image + 1) * lines, |_, number, [planes, rows]| {
                        // SAFETY: the line of outputs is inside of `dy`.
                        let from = unsafe { py.get().cast_const().add(number * len) };
                        over_counts(windows, planes.len() * rows.len(), |k, count| {
                            for f in k.start * n..k.end * n {
                                // SAFETY: as above.
                                unsafe { shares.add(f).write((*from.add(f)).widen().over(count)) };
                            }
                        });
                        for i in planes {
                            for j in rows.clone() {
                                // SAFETY: the line is inside of the image.
                                unsafe { spread_line(c, n, shares, sums.add((i * b.input + j) * c.input * n)) };
                            }
                        }
                    });
                    if !own {
                        // SAFETY: as above.
                        (0..inputs * n).for_each(|i| unsafe { to.add(i).write(T::narrow(*sums.add(i))) });
                    }
                },
            );
        }
    });
}

/// Adds what belongs to each output of a line to the pixels of its window along it: to each pixel in the order of the outputs.
///
/// # Safety
/// `shares` is readable for the outputs, `sums` readable and writable for the pixels of a line, and disjoint.
#[inline(always)]
unsafe fn spread_line<W: Mean>(c: &Axis, n: usize, shares: *const W, sums: *mut W) {
    for tap in (0..c.window).rev() {
        // Outputs of which this tap is inside.
        let first = c.before.saturating_sub(tap).div_ceil(c.stride);
        let last = (c.input + c.before).checked_sub(tap + 1).map_or(0, |at| at / c.stride + 1).min(c.output);
        let add = |k: usize, len: usize| {
            for f in 0..len {
                // SAFETY: the pixel of this tap is inside of the line.
                unsafe { *sums.add((k * c.stride + tap - c.before) * n + f) += *shares.add(k * n + f) };
            }
        };
        if c.stride == 1 && first < last {
            add(first, (last - first) * n);
            continue;
        }
        (first..last).for_each(|k| add(k, n));
    }
}
