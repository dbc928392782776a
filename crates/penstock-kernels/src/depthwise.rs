//! Convolutions with one input channel a group, and their transposes.
//!
//! Where each channel has one filter and elements are computed in their own type, a vector of channels of a few neighbouring pixels is in
//! registers while all taps are added; else a pixel is made at a time, its sums in memory.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use penstock_data::memory::{scratch, scratch_room};

use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::conv_index::{ConvIndex, Line};
use crate::cost;
use crate::matmul::Update;
use crate::num::Real;
use crate::pack::is_own;
use crate::pool::{Shared, grain, parallel_for};
use crate::register_tile::{Channels, Float};

/// Stretches of the results of a line that read through the same taps, and these taps.
fn stretches(line: &Line) -> Vec<(Range<usize>, Range<usize>)> {
    // The first tap that reads at the place or behind it.
    let reached = |k: usize, place: isize| {
        line.taps.partition_point(|&(_, tap)| tap + ((k * line.advance) as isize) < place)
    };
    let mut out: Vec<(Range<usize>, Range<usize>)> = scratch_room(2 * line.taps.len() + 1);
    for k in 0..line.count {
        let taps = reached(k, 0)..reached(k, line.source as isize);
        match out.last_mut() {
            Some((results, same)) if *same == taps => results.end = k + 1,
            _ => out.push((k..k + 1, taps)),
        }
    }
    out
}

/// [`depthwise`] with one filter a channel, in the type of the elements.
///
/// # Safety
/// As there.
unsafe fn by_channels<T: Float>(
    index: &ConvIndex,
    order: &[usize],
    channels: usize,
    source: *const T,
    filter: *const T,
    result: *mut T,
) {
    let [a, b, c] = &index.lines;
    let stretches = stretches(c);
    let (source, filter, result) = (Shared(source.cast_mut()), Shared(filter.cast_mut()), Shared(result));
    let ns = 2.0 * cost::product(T::DTYPE, (order.len() * channels) as f64);
    parallel_for(index.pixels(), grain(ns), |range| {
        let mut taps = scratch_room(order.len());
        let mut pixel = range.start;
        while pixel < range.end {
            let at = index.unravel(pixel);
            // What is left of the line and of the range.
            let due = at[3]..c.count.min(at[3] + range.end - pixel);
            pixel += due.len();
            for (results, across) in &stretches {
                let (first, end) = (results.start.max(due.start), results.end.min(due.end));
                if first >= end {
                    continue;
                }
                taps.clear();
                for (n, &(_, i)) in a.taps.iter().enumerate() {
                    let Some(i) = a.read(i, at[1]) else { continue };
                    for (m, &(_, j)) in b.taps.iter().enumerate() {
                        let Some(j) = b.read(j, at[2]) else { continue };
                        let line = ((at[0] * a.source + i) * b.source + j) * c.source + first * c.advance;
                        for l in across.clone() {
                            let from = (line as isize + c.taps[l].1) as usize * channels;
                            taps.push((from, order[(n * b.taps.len() + m) * c.taps.len() + l] * channels));
                        }
                    }
                }
                // SAFETY: the taps are those that are inside of the source for all pixels of the stretch; the pixels are this
                // range's.
                unsafe {
                    let out = result.get().add(index.place([at[0], at[1], at[2], first]) * channels);
                    let tile = Channels {
                        x: source.get().cast_const(),
                        x_row: c.advance * channels,
                        taps: &taps,
                        filter: filter.get().cast_const(),
                        out,
                        out_row: c.step * channels,
                        channels,
                    };
                    T::kernels().channels(end - first, &tile);
                }
            }
        }
    });
}

/// A convolution with one input channel a group, or the cotangent of its input: `filter` has a row of `groups *
/// multiplier` elements for each place in the window, and `order` says which belongs to each tap.
///
/// # Safety
/// Source and result are a pixel of `groups` elements for the input and `groups * multiplier` for the output, as many
/// as the index has; the result is writable and disjoint from the others, which are readable.
pub(crate) unsafe fn depthwise<T: Real>(
    index: &ConvIndex,
    order: &[usize],
    groups: usize,
    multiplier: usize,
    is_forward: bool,
    source: *const T,
    filter: *const T::Wide,
    result: *mut T,
) where
    T::Wide: Float + Update,
{
    if is_own::<T, T::Wide>() && multiplier == 1 {
        // SAFETY: the same contract; both types are the same.
        return unsafe { by_channels::<T::Wide>(index, order, groups, source.cast(), filter, result.cast()) };
    }
    let outs = groups * multiplier;
    let (source_width, result_width) = if is_forward { (groups, outs) } else { (outs, groups) };
    let (source, result) = (Shared(source.cast_mut()), Shared(result));
    let filter = Shared(filter.cast_mut());
    let ns = order.len() as f64 * outs as f64 * 0.15;
    parallel_for(index.pixels(), grain(ns), |range| {
        let mut sums = scratch(T::Wide::ZERO, result_width);
        let mut at = index.unravel(range.start);
        for _ in range {
            dispatch(
                #[inline(always)]
                || {
                    sums.fill(T::Wide::ZERO);
                    index.reads(at, |tap, pixel| {
                        let Some(pixel) = pixel else { return };
                        // SAFETY: the pixel is inside of the source, the place inside of the window.
                        let (from, filter) = unsafe {
                            (
                                std::slice::from_raw_parts(source.get().add(pixel * source_width), source_width),
                                std::slice::from_raw_parts(filter.get().add(order[tap] * outs), outs),
                            )
                        };
                        if multiplier == 1 {
                            for ((sum, &x), &f) in sums.iter_mut().zip(from).zip(filter) {
                                *sum = x.widen() * f + *sum;
                            }
                        } else if is_forward {
                            for (o, sum) in sums.iter_mut().enumerate() {
                                *sum = from[o / multiplier].widen() * filter[o] + *sum;
                            }
                        } else {
                            for (o, &x) in from.iter().enumerate() {
                                let sum = &mut sums[o / multiplier];
                                *sum = x.widen() * filter[o] + *sum;
                            }
                        }
                    });
                    // SAFETY: the place is inside of the result, and this pixel's own.
                    let to = unsafe { result.get().add(index.place(at) * result_width) };
                    for (i, &sum) in sums.iter().enumerate() {
                        // SAFETY: the place is inside of the result, and this pixel's own.
                        unsafe { *to.add(i) = T::narrow(sum) };
                    }
                },
            );
            index.next(&mut at);
        }
    });
}

/// The cotangent of the filter of a convolution with one input channel a group.
///
/// # Safety
/// As for [`conv_filter_grad`].
pub(crate) unsafe fn depthwise_filter_grad<T: Real>(
    index: &ConvIndex,
    groups: usize,
    multiplier: usize,
    x: *const T,
    dy: *const T,
    df: *mut T,
) where
    T::Wide: Float + Update,
{
    let outs = groups * multiplier;
    let (taps, pixels) = (index.taps(), index.pixels());
    let (px, py, pf) = (Shared(x.cast_mut()), Shared(dy.cast_mut()), Shared(df));
    parallel_for(taps, grain(pixels as f64 * outs as f64 * 0.3), |range| {
        let mut sums = scratch(T::Wide::ZERO, range.len() * outs);
        let mut at = [0; 4];
        for pixel in 0..pixels {
            dispatch(
                #[inline(always)]
                || {
                    // SAFETY: the pixel is inside of `dy`.
                    let dy = unsafe { std::slice::from_raw_parts(py.get().add(pixel * outs), outs) };
                    index.reads(at, |tap, from| {
                        let (true, Some(from)) = (range.contains(&tap), from) else { return };
                        // SAFETY: the pixel is inside of `x`.
                        let x = unsafe { std::slice::from_raw_parts(px.get().add(from * groups), groups) };
                        let sums = &mut sums[(tap - range.start) * outs..][..outs];
                        if multiplier == 1 {
                            for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(dy) {
                                *sum = x.widen() * y.widen() + *sum;
                            }
                        } else {
                            for (o, sum) in sums.iter_mut().enumerate() {
                                *sum = x[o / multiplier].widen() * dy[o].widen() + *sum;
                            }
                        }
                    });
                },
            );
            index.next(&mut at);
        }
        for (i, &sum) in sums.iter().enumerate() {
            // SAFETY: the rows of these taps are inside of `df`, and no other range's.
            unsafe { *pf.get().add(range.start * outs + i) = T::narrow(sum) };
        }
    });
}
