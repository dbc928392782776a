//! Tiles of convolutions whose channels have a filter each: vectors of channels of a few neighbouring pixels, or of a few taps.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use crate::algebra::Algebra;
use crate::register_tile::Vector;

/// Neighbouring pixels of a convolution whose channels have a filter each: `out[p][c] = sum of x[taps[t].0 + p * x_row + c] *
/// filter[taps[t].1 + c]` over the taps.
#[derive(Clone, Copy)]
pub(crate) struct Channels<'a, T> {
    pub(crate) x: *const T,
    /// Elements from what a pixel reads to what the next does.
    pub(crate) x_row: usize,
    /// Where the first pixel reads, and where the filter's elements are.
    pub(crate) taps: &'a [(usize, usize)],
    pub(crate) filter: *const T,
    pub(crate) out: *mut T,
    pub(crate) out_row: usize,
    pub(crate) channels: usize,
}

/// A whole vector, or its first `left` elements where that is not 0.
///
/// # Safety
/// As for [`Vector::load_part`].
#[inline(always)]
unsafe fn load_first<V: Vector>(from: *const V::Of, left: usize) -> V {
    // SAFETY: the caller's contract.
    unsafe { if left == 0 { V::load(from) } else { V::load_part(from, left) } }
}

/// `P` pixels by a vector of channels from channel `c` on, or by its first `left` channels where that is not 0.
///
/// # Safety
/// There is the instruction set of `V`; what the taps and the pixels read is there, and `out` is writable.
#[inline(always)]
unsafe fn channel_tile<V: Vector, const P: usize>(t: &Channels<'_, V::Of>, c: usize, left: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut acc = [V::splat(V::Of::ZERO); P];
        let (x, filter, out) = (t.x.add(c), t.filter.add(c), t.out.add(c));
        for &(from, by) in t.taps {
            let (x, f) = (x.add(from), load_first::<V>(filter.add(by), left));
            for p in 0..P {
                acc[p] = load_first::<V>(x.add(p * t.x_row), left).fma(f, acc[p]);
            }
        }
        for p in 0..P {
            let to = out.add(p * t.out_row);
            if left == 0 { acc[p].store(to) } else { acc[p].store_part(to, left) }
        }
    }
}

/// The most pixels of a [`channel_tile`].
pub(crate) const PIXELS: usize = 8;

/// [`channel_tile`] for a number of pixels up to [`PIXELS`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn few_pixels<V: Vector>(n: usize, t: &Channels<'_, V::Of>, c: usize, left: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match n {
            1 => channel_tile::<V, 1>(t, c, left),
            2 => channel_tile::<V, 2>(t, c, left),
            3 => channel_tile::<V, 3>(t, c, left),
            4 => channel_tile::<V, 4>(t, c, left),
            5 => channel_tile::<V, 5>(t, c, left),
            6 => channel_tile::<V, 6>(t, c, left),
            7 => channel_tile::<V, 7>(t, c, left),
            _ => channel_tile::<V, PIXELS>(t, c, left),
        }
    }
}

/// `n` pixels.
///
/// # Safety
/// As for [`channel_tile`].
#[inline(always)]
pub(crate) unsafe fn channels<V: Vector>(n: usize, t: &Channels<'_, V::Of>) {
    let left = t.channels % V::LANES;
    let mut at = *t;
    for first in (0..n).step_by(PIXELS) {
        let pixels = PIXELS.min(n - first);
        // SAFETY: the caller's contract.
        unsafe {
            for c in (0..t.channels - left).step_by(V::LANES) {
                few_pixels::<V>(pixels, &at, c, 0);
            }
            if left > 0 {
                few_pixels::<V>(pixels, &at, t.channels - left, left);
            }
        }
        at.x = at.x.wrapping_add(PIXELS * t.x_row);
        at.out = at.out.wrapping_add(PIXELS * t.out_row);
    }
}

/// Neighbouring pixels in the cotangents of the filters of [`Channels`]: to `sums[taps[t].1 + c]` is added the sum of `x[taps[t].0 + p *
/// x_row + c] * dy[p * dy_row + c]` over the pixels.
#[derive(Clone, Copy)]
pub(crate) struct ChannelSums<'a, T> {
    pub(crate) x: *const T,
    /// Elements from what a pixel reads to what the next does.
    pub(crate) x_row: usize,
    /// Where the first pixel reads, and where the sums are.
    pub(crate) taps: &'a [(usize, usize)],
    pub(crate) dy: *const T,
    pub(crate) dy_row: usize,
    pub(crate) sums: *mut T,
    pub(crate) channels: usize,
}

/// The most taps of a [`tap_tile`].
const TAPS: usize = 8;

/// `T` taps by a vector of channels from channel `c` on, or by its first `left` channels where that is not 0, over `n` pixels.
///
/// # Safety
/// There is the instruction set of `V`; what the taps and the pixels read is there, and the sums are writable. There are `T` taps.
#[inline(always)]
unsafe fn tap_tile<V: Vector, const T: usize>(
    n: usize,
    t: &ChannelSums<'_, V::Of>,
    taps: &[(usize, usize)],
    c: usize,
    left: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let from: [*const V::Of; T] = std::array::from_fn(|i| t.x.add(taps[i].0 + c));
        let to: [*mut V::Of; T] = std::array::from_fn(|i| t.sums.add(taps[i].1 + c));
        let mut acc: [V; T] = std::array::from_fn(|i| load_first::<V>(to[i], left));
        for p in 0..n {
            let dy = load_first::<V>(t.dy.add(p * t.dy_row + c), left);
            for i in 0..T {
                acc[i] = load_first::<V>(from[i].add(p * t.x_row), left).fma(dy, acc[i]);
            }
        }
        for i in 0..T {
            if left == 0 { acc[i].store(to[i]) } else { acc[i].store_part(to[i], left) }
        }
    }
}

/// `n` pixels.
///
/// # Safety
/// As for [`tap_tile`].
#[inline(always)]
pub(crate) unsafe fn channel_sums<V: Vector>(n: usize, t: &ChannelSums<'_, V::Of>) {
    let left = t.channels % V::LANES;
    let parts = t.taps.len().div_ceil(TAPS);
    for c in (0..t.channels).step_by(V::LANES) {
        let left = if c + V::LANES > t.channels { left } else { 0 };
        for part in 0..parts {
            // Parts of nearly the same size.
            let taps = &t.taps[t.taps.len() * part / parts..t.taps.len() * (part + 1) / parts];
            // SAFETY: the caller's contract.
            unsafe {
                match taps.len() {
                    1 => tap_tile::<V, 1>(n, t, taps, c, left),
                    2 => tap_tile::<V, 2>(n, t, taps, c, left),
                    3 => tap_tile::<V, 3>(n, t, taps, c, left),
                    4 => tap_tile::<V, 4>(n, t, taps, c, left),
                    5 => tap_tile::<V, 5>(n, t, taps, c, left),
                    6 => tap_tile::<V, 6>(n, t, taps, c, left),
                    7 => tap_tile::<V, 7>(n, t, taps, c, left),
                    _ => tap_tile::<V, TAPS>(n, t, taps, c, left),
                }
            }
        }
    }
}
