//! Convolutions with one input channel a group, and their transposes.
//!
//! Where each channel has one filter and elements are computed in their own type, a vector of channels of a few neighbouring pixels is in
//! registers while all taps are added; else a pixel is made at a time, its sums in memory.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use penstock_data::memory::{scratch, scratch_room};

use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::channel_tile::{ChannelSums, Channels, PIXELS};
use crate::conv_index::{ConvIndex, Line};
use crate::cost;
use crate::matmul::Update;
use crate::num::Real;
use crate::pack::is_own;
use crate::pool::{Shared, grain, parallel_for};
use crate::register_tile::Float;

/// Taps of a block of results, all of its stretches together.
const MOST: usize = 1024;
/// Bytes of a line of the cache, and those that stay in the nearest cache.
const LINE: usize = 64;
const NEAR: usize = 24 << 10;

/// Stretches of the results of a line that read through the same taps, and these taps.
fn stretches(line: &Line) -> Vec<(Range<usize>, Range<usize>)> {
    // The first tap that reads at the place or behind it.
    let reached =
        |k: usize, place: isize| line.taps.partition_point(|&(_, tap)| tap + ((k * line.advance) as isize) < place);
    let mut out: Vec<(Range<usize>, Range<usize>)> = scratch_room(line.count.min(2 * line.taps.len() + 1));
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
    // As many channels at a time as of which all that a tile reads stays near, and whole lines of the cache.
    let (line, size) = (LINE / size_of::<T>(), size_of::<T>());
    let read = a.taps.len() * b.taps.len() * (PIXELS * c.advance + c.taps.len()) * size;
    let some = (NEAR / read.max(1) / line * line).max(line);
    parallel_for(index.pixels(), grain(ns), |range| {
        let (mut spans, mut taps) = (Vec::new(), scratch_room(MOST + order.len()));
        let mut pixel = range.start;
        while pixel < range.end {
            spans.clear();
            taps.clear();
            while pixel < range.end && spans.len() + taps.len() < MOST {
                let (at, first) = (index.unravel(pixel), taps.len());
                let (results, across) = &stretches[stretches.partition_point(|(results, _)| results.end <= at[3])];
                index.reads_of_stretch(at, across, |tap, from| taps.push((from * channels, order[tap] * channels)));
                let count = (results.end - at[3]).min(range.end - pixel);
                spans.push((count, index.place(at) * channels, first..taps.len()));
                pixel += count;
            }
            for first in (0..channels).step_by(some) {
                for (count, out, due) in &spans {
                    // SAFETY: the taps are those that are inside of the source for all pixels of the stretch; the pixels are
                    // this range's.
                    unsafe {
                        let tile = Channels {
                            x: source.get().add(first).cast_const(),
                            x_row: c.advance * channels,
                            taps: &taps[due.clone()],
                            filter: filter.get().add(first).cast_const(),
                            out: result.get().add(out + first),
                            out_row: c.step * channels,
                            channels: some.min(channels - first),
                        };
                        T::kernels().channels(*count, &tile);
                    }
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

/// [`depthwise_filter_grad`] with one filter a channel, in the type of the elements.
///
/// # Safety
/// As there.
unsafe fn sums_by_channels<T: Float>(index: &ConvIndex, channels: usize, x: *const T, dy: *const T, df: *mut T) {
    let c = &index.lines[2];
    let stretches = stretches(c);
    let (x, dy, df) = (Shared(x.cast_mut()), Shared(dy.cast_mut()), Shared(df));
    let line = LINE / size_of::<T>();
    let ns = 2.0 * cost::product(T::DTYPE, (index.pixels() * index.taps() * line.min(channels)) as f64);
    // Each thread has some channels.
    parallel_for(channels.div_ceil(line), grain(ns), |range| {
        let first = range.start * line;
        let channels_here = channels.min(range.end * line) - first;
        let mut taps: Vec<(usize, usize)> = scratch_room(index.taps());
        // SAFETY: the channels are inside of each row of `df`, and this range's own.
        let sums = unsafe { df.get().add(first) };
        for tap in 0..index.taps() {
            // SAFETY: as above.
            (0..channels_here).for_each(|i| unsafe { sums.add(tap * channels + i).write(T::ZERO) });
        }
        let mut pixel = 0;
        while pixel < index.pixels() {
            let at = index.unravel(pixel);
            let (results, across) = &stretches[stretches.partition_point(|(results, _)| results.end <= at[3])];
            let count = results.end - at[3];
            taps.clear();
            index.reads_of_stretch(at, across, |tap, from| taps.push((from * channels, tap * channels)));
            // SAFETY: the taps are those that are inside of the source for all pixels of the stretch.
            unsafe {
                let tile = ChannelSums {
                    x: x.get().add(first).cast_const(),
                    x_row: c.advance * channels,
                    taps: &taps,
                    dy: dy.get().add(pixel * channels + first).cast_const(),
                    dy_row: channels,
                    sums,
                    channels: channels_here,
                };
                T::kernels().channel_sums(count, &tile);
            }
            pixel += count;
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
    if is_own::<T, T::Wide>() && multiplier == 1 {
        // SAFETY: the same contract; both types are the same.
        return unsafe { sums_by_channels::<T::Wide>(index, groups, x.cast(), dy.cast(), df.cast()) };
    }
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
