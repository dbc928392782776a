//! The greatest elements of windows, and what is moved from and to their places.
//!
//! The greatest of a window is that of the greatest of its lines, which windows below and above share. So a line of pixels is gone through
//! once, for all windows along it, side by side whatever the number of channels; only then do lines meet.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use penstock_data::memory::{scratch, scratch_room};
use penstock_data::{DType, DTypeSet, bf16, f16, with_dtype};

use crate::algebra::Algebra;
use crate::arch::{dispatch, dispatch_v3};
use crate::geometry::Axis;
use crate::num::Real;
use crate::pack::is_own;
use crate::pool::{Shared, grain, parallel_for};
use crate::pooling::Windows;

/// The dtypes of which windows have a greatest element.
pub const MAX_POOL_DTYPES: DTypeSet = DTypeSet::FLOAT.or(DTypeSet::INTEGER);

/// Elements that are compared by keys, of which that of NaN is the greatest.
trait Order: Copy + Send + Sync {
    type Key: Copy + Default;
    fn key(self) -> Self::Key;
    /// The key where only the place matters: that of both zeros is the same.
    #[inline(always)]
    fn place_key(self) -> Self::Key {
        self.key()
    }
    fn of_key(key: Self::Key) -> Self;
    /// Whether the first takes the place of the second: it is greater, or NaN and the other is a number.
    fn beats(a: Self::Key, b: Self::Key) -> bool;
}

macro_rules! own_order {
    ($($ty:ty)*) => {$(
        impl Order for $ty {
            type Key = $ty;
            #[inline(always)]
            fn key(self) -> $ty { self }
            #[inline(always)]
            fn of_key(key: $ty) -> $ty { key }
            #[inline(always)]
            #[allow(clippy::eq_op, clippy::neg_cmp_op_on_partial_ord, reason = "the tests for NaN that vectorise")]
            fn beats(a: $ty, b: $ty) -> bool { !(a <= b) & (b == b) }
        }
    )*};
}

own_order! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

macro_rules! half_order {
    ($($ty:ty: $infinity:literal)*) => {$(
        impl Order for $ty {
            type Key = i16;
            #[inline(always)]
            fn key(self) -> i16 {
                // Negative numbers in the order of integers, NaN without its sign.
                let bits = self.to_bits() as i16;
                let magnitude = bits & 0x7fff;
                if magnitude > $infinity { magnitude } else { bits ^ ((bits >> 15) & 0x7fff) }
            }
            #[inline(always)]
            fn place_key(self) -> i16 {
                let key = self.key();
                key - (key >> 15)
            }
            #[inline(always)]
            fn of_key(key: i16) -> $ty { <$ty>::from_bits((key ^ ((key >> 15) & 0x7fff)) as u16) }
            #[inline(always)]
            fn beats(a: i16, b: i16) -> bool { a > b }
        }
    )*};
}

half_order! { f16: 0x7c00 bf16: 0x7f80 }

/// The greatest element of each window and channel; NaN where the window has one.
///
/// # Panics
/// If `dtype` is none of [`MAX_POOL_DTYPES`].
///
/// # Safety
/// `x` is readable for `channels` elements a pixel of the inputs, `y` is writable for those of the outputs, and both
/// are disjoint.
pub unsafe fn max_pool(dtype: DType, windows: &Windows, x: *const u8, y: *mut u8) {
    if windows.is_empty() {
        return;
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(real, dtype, T => unsafe { greatest::<T>(windows, x.cast(), y.cast()) },
        else panic!("max_pool does not take {dtype}"));
}

/// Candidates for the greatest of windows: keys and, where they are asked for, how many pixels behind the first of its window each lies.
#[derive(Clone, Copy)]
struct Line<K> {
    keys: *mut K,
    places: *mut u32,
}

/// Calls `$f` with taps `$from..$taps`, up to three at a time: their number is a constant, which vectorises. Whether there are some
/// before is one as well.
macro_rules! by_taps {
    ($from:expr, $taps:expr, |$first:ident, $W:ident, $JOINED:ident| $body:expr) => {{
        let (mut $first, taps) = ($from, $taps);
        while $first < taps {
            by_taps!(@ $first, taps, $first == 0, |$W, $JOINED| $body);
            $first += 3;
        }
    }};
    (@ $first:ident, $taps:ident, $start:expr, |$W:ident, $JOINED:ident| $body:expr) => {
        match (($taps - $first).min(3), $start) {
            (1, true) => { const $W: usize = 1; const $JOINED: bool = false; $body }
            (2, true) => { const $W: usize = 2; const $JOINED: bool = false; $body }
            (_, true) => { const $W: usize = 3; const $JOINED: bool = false; $body }
            (1, false) => { const $W: usize = 1; const $JOINED: bool = true; $body }
            (2, false) => { const $W: usize = 2; const $JOINED: bool = true; $body }
            (_, false) => { const $W: usize = 3; const $JOINED: bool = true; $body }
        }
    };
}
pub(crate) use by_taps;

/// The greatest of `taps` elements for each of `len` places: of `x` from the place on, `step` apart, the first of which is `place` pixels
/// behind that of its window.
///
/// # Safety
/// The elements are readable, `to` is writable for `len`.
#[inline(always)]
unsafe fn of_taps<T: Order, const PLACES: bool>(
    x: *const T,
    step: usize,
    taps: usize,
    place: usize,
    len: usize,
    to: Line<T::Key>,
) {
    let key = |x: T| if PLACES { x.place_key() } else { x.key() };
    by_taps!(0, taps, |first, W, JOINED| {
        let start = usize::from(!JOINED);
        for f in 0..len {
            // SAFETY: the caller's contract.
            unsafe {
                let x = x.add(f + first * step);
                let mut best = if JOINED { *to.keys.add(f) } else { key(*x) };
                let mut at = if JOINED && PLACES { *to.places.add(f) } else { (place + first) as u32 };
                for t in start..W {
                    let key = key(*x.add(t * step));
                    let beats = T::beats(key, best);
                    best = if beats { key } else { best };
                    at = if beats { (place + first + t) as u32 } else { at };
                }
                *to.keys.add(f) = best;
                if PLACES {
                    *to.places.add(f) = at;
                }
            }
        }
    });
}

/// The greatest of each window of a line of pixels.
///
/// # Safety
/// `x` is readable for the elements of the line, `to` writable for those of a line of outputs.
#[inline(always)]
unsafe fn of_line<T: Order, const PLACES: bool>(c: &Axis, n: usize, x: *const T, to: Line<T::Key>) {
    let Range { start: first, end: last } = c.inside();
    let at = |k: usize| Line { keys: to.keys.wrapping_add(k * n), places: to.places.wrapping_add(k * n) };
    // SAFETY: the pixels of a window are inside of the line.
    unsafe {
        for k in (0..first).chain(last..c.output) {
            let begin = (k * c.stride).saturating_sub(c.before);
            let end = (k * c.stride + c.window).saturating_sub(c.before).min(c.input);
            of_taps::<T, PLACES>(x.add(begin * n), n, end - begin, begin + c.before - k * c.stride, n, at(k));
        }
        if c.stride == 1 && first < last {
            let from = x.add((first - c.before) * n);
            of_taps::<T, PLACES>(from, n, c.window, 0, (last - first) * n, at(first));
            return;
        }
        for k in first..last {
            of_taps::<T, PLACES>(x.add((k * c.stride - c.before) * n), n, c.window, 0, n, at(k));
        }
    }
}

/// The greatest of lines, each with its distance behind the first pixel of the window.
///
/// # Safety
/// The lines are readable and `to` is writable for `len` places.
#[inline(always)]
unsafe fn of_lines<T: Order, const PLACES: bool>(lines: &[(Line<T::Key>, u32)], len: usize, to: Line<T::Key>) {
    by_taps!(0, lines.len(), |first, W, JOINED| {
        let lines: [(Line<T::Key>, u32); W] = std::array::from_fn(|i| lines[first + i]);
        let start = usize::from(!JOINED);
        for f in 0..len {
            // SAFETY: the caller's contract.
            unsafe {
                let place = |i: usize| if PLACES { (*lines[i].0.places.add(f)).wrapping_add(lines[i].1) } else { 0 };
                let mut best = if JOINED { *to.keys.add(f) } else { *lines[0].0.keys.add(f) };
                let mut at = if JOINED && PLACES { *to.places.add(f) } else { place(0) };
                for t in start..W {
                    let key = *lines[t].0.keys.add(f);
                    let beats = T::beats(key, best);
                    best = if beats { key } else { best };
                    at = if beats { place(t) } else { at };
                }
                *to.keys.add(f) = best;
                if PLACES {
                    *to.places.add(f) = at;
                }
            }
        }
    });
}

/// Calls `f` with the number and the place of each line of outputs of an image, and the greatest elements of its windows: of each line of
/// pixels first, which all outputs then have that need it.
///
/// # Safety
/// `image` is readable for the elements of an image.
unsafe fn greatest_of<T: Order, const PLACES: bool>(
    windows: &Windows,
    image: *const T,
    lines: Range<usize>,
    mut f: impl FnMut(usize, [usize; 2], Line<T::Key>),
) {
    let [a, b, c] = &windows.axes;
    let n = windows.channels;
    let len = c.output * n;
    // Lines of pixels are kept until no output needs them.
    let kept = if a.window.min(a.input) == 1 { b.window.min(b.input) } else { a.window.min(a.input) * b.input };
    let mut keys = scratch(T::Key::default(), (kept + 1) * len);
    let mut places = scratch(0u32, if PLACES { (kept + 1) * len } else { 0 });
    let mut made = scratch(usize::MAX, kept);
    let (keys, places) = (keys.as_mut_ptr(), places.as_mut_ptr());
    let room = |slot: usize| Line { keys: keys.wrapping_add(slot * len), places: places.wrapping_add(slot * len) };
    let mut of_window: Vec<(Line<T::Key>, u32)> = scratch_room(kept);
    dispatch(
        #[inline(always)]
        || {
            for number in lines {
                let at = [number / b.output, number % b.output];
                of_window.clear();
                for i in windows.span(0, at[0]) {
                    for j in windows.span(1, at[1]) {
                        let line = i * b.input + j;
                        let slot = line % kept;
                        if made[slot] != line {
                            made[slot] = line;
                            // SAFETY: the line is inside of the image.
                            unsafe { of_line::<T, PLACES>(c, n, image.add(line * c.input * n), room(slot)) };
                        }
                        let (down, over) = (i + a.before - at[0] * a.stride, j + b.before - at[1] * b.stride);
                        of_window.push((room(slot), ((down * b.input + over) * c.input) as u32));
                    }
                }
                if let ([(line, _)], true) = (&of_window[..], !PLACES) {
                    f(number, at, *line);
                    continue;
                }
                // SAFETY: all lines have room for as many outputs.
                unsafe { of_lines::<T, PLACES>(&of_window, len, room(kept)) };
                f(number, at, room(kept));
            }
        },
    );
}

/// # Safety
/// As for [`max_pool`].
unsafe fn greatest<T: Order>(windows: &Windows, x: *const T, y: *mut T) {
    let [a, b, c] = &windows.axes;
    let (n, inputs, lines) = (windows.channels, windows.inputs(), a.output * b.output);
    let len = c.output * n;
    let (px, py) = (Shared(x.cast_mut()), Shared(y));
    parallel_for(windows.batch * lines, grain(windows.ns() * c.output as f64), |range| {
        each_image(range, lines, |image, range| {
            // SAFETY: the image is inside of `x`; the lines of `y` are this range's own.
            unsafe {
                greatest_of::<T, false>(
                    windows,
                    px.get().add(image * inputs * n),
                    range,
                    #[inline(always)]
                    |line, _, found| {
                        let to = py.get().add((image * lines + line) * len);
                        (0..len).for_each(|f| to.add(f).write(T::of_key(*found.keys.add(f))));
                    },
                );
            }
        });
    });
}

/// Calls `f` with each image that a range of what all images have `each` of reaches into, and the part of it.
fn each_image(range: Range<usize>, each: usize, mut f: impl FnMut(usize, Range<usize>)) {
    let mut at = range.start;
    while at < range.end {
        let image = at / each;
        let end = range.end.min((image + 1) * each);
        f(image, at - image * each..end - image * each);
        at = end;
    }
}

/// What to do with the places of the greatest elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtMax {
    /// Each result is the element of `v`, of the extents of `x`, at the place of its window's greatest element of `x`.
    Take,
    /// Each element of `v`, one for each window, is added to the place of the greatest element of `x`; the results have
    /// the extents of `x`.
    Give,
}

/// Moves elements of `v` from or to the place of each window's greatest element of `x`: the first of those that are
/// equal.
///
/// # Panics
/// If `dtype` is not float.
///
/// # Safety
/// `x`, `v` and `out` hold `channels` elements a pixel of inputs or outputs, as `what` says; `out` is writable and
/// disjoint from the others.
pub unsafe fn at_max(dtype: DType, what: AtMax, windows: &Windows, x: *const u8, v: *const u8, out: *mut u8) {
    if windows.is_empty() {
        return;
    }
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe {
        match what {
            AtMax::Take => take_at_max::<T>(windows, x.cast(), v.cast(), out.cast()),
            AtMax::Give => give_at_max::<T>(windows, x.cast(), v.cast(), out.cast()),
        }
    }, else panic!("at_max does not take {dtype}"));
}

/// Calls `f` with each line of outputs of an image: its number, that of the first pixel of its first window, which may lie in the padding,
/// and, for each element, how many pixels behind the first of its window the greatest is.
///
/// # Safety
/// As for [`greatest_of`].
unsafe fn places_of<T: Order>(
    windows: &Windows,
    image: *const T,
    lines: Range<usize>,
    mut f: impl FnMut(usize, isize, *const u32),
) {
    assert!(u32::try_from(windows.inputs()).is_ok(), "images have less than 2^32 pixels");
    let [a, b, c] = windows.axes.each_ref();
    // SAFETY: the same contract.
    unsafe {
        greatest_of::<T, true>(
            windows,
            image,
            lines,
            #[inline(always)]
            |line, [i, j], found| {
                let first = |axis: &Axis, at: usize| (at * axis.stride) as isize - axis.before as isize;
                let row = first(a, i) * b.input as isize + first(b, j);
                f(line, row * c.input as isize + first(c, 0), found.places);
            },
        );
    }
}

/// # Safety
/// As for [`at_max`].
unsafe fn take_at_max<T: Order>(windows: &Windows, x: *const T, v: *const T, out: *mut T) {
    let [a, b, c] = windows.axes.each_ref();
    let (n, inputs, lines) = (windows.channels, windows.inputs(), a.output * b.output);
    let (px, pv, po) = (Shared(x.cast_mut()), Shared(v.cast_mut()), Shared(out));
    parallel_for(windows.batch * lines, grain(windows.ns() * c.output as f64), |range| {
        each_image(range, lines, |image, range| {
            // SAFETY: the image is inside of `x` and `v`, and so are the places; the lines of the result are this range's own.
            unsafe {
                let (x, v) = (px.get().add(image * inputs * n), pv.get().add(image * inputs * n));
                places_of(
                    windows,
                    x,
                    range,
                    #[inline(always)]
                    |line, first, places| {
                        let to = po.get().add((image * lines + line) * c.output * n);
                        for k in 0..c.output {
                            for channel in 0..n {
                                let place = first + (k * c.stride) as isize + *places.add(k * n + channel) as isize;
                                *to.add(k * n + channel) = *v.offset(place * n as isize + channel as isize);
                            }
                        }
                    },
                );
            }
        });
    });
}

/// # Safety
/// As for [`at_max`].
unsafe fn give_at_max<T: Order + Real>(windows: &Windows, x: *const T, v: *const T, out: *mut T) {
    let [a, b, c] = windows.axes.each_ref();
    let (n, inputs, lines) = (windows.channels, windows.inputs(), a.output * b.output);
    let (px, pv, po) = (Shared(x.cast_mut()), Shared(v.cast_mut()), Shared(out));
    let own = is_own::<T, T::Wide>();
    parallel_for(windows.batch, grain(windows.ns() * (lines * c.output) as f64), |range| {
        let mut room = scratch(T::Wide::ZERO, if own { 0 } else { inputs * n });
        let mut wide = scratch(T::Wide::ZERO, c.output * n);
        for image in range {
            let wide = wide.as_mut_ptr();
            // SAFETY: the image is inside of `x` and of the result, and so are the places; each image is one range's own. Where no memory
            // was made for sums, both types are the same.
            unsafe {
                let (x, to) = (px.get().add(image * inputs * n), po.get().add(image * inputs * n));
                let sums: *mut T::Wide = if own { to.cast() } else { room.as_mut_ptr() };
                (0..inputs * n).for_each(|i| sums.add(i).write(T::Wide::ZERO));
                places_of(
                    windows,
                    x,
                    0..lines,
                    #[inline(always)]
                    |line, first, places| {
                        let v = pv.get().add((image * lines + line) * c.output * n);
                        (0..c.output * n).for_each(|f| wide.add(f).write((*v.add(f)).widen()));
                        for k in 0..c.output {
                            let base = sums.wrapping_offset((first + (k * c.stride) as isize) * n as isize);
                            for channel in 0..n {
                                let to = base.wrapping_add(*places.add(k * n + channel) as usize * n + channel);
                                *to = *to + *wide.add(k * n + channel);
                            }
                        }
                    },
                );
                if !own {
                    dispatch_v3(
                        #[inline(always)]
                        || (0..inputs * n).for_each(|i| to.add(i).write(T::narrow(*sums.add(i)))),
                    );
                }
            }
        }
    });
}
