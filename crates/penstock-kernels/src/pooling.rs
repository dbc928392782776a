//! The greatest element and the mean of windows over up to three spatial dimensions, channels last, and their transposes.
//!
//! What lies in the padding takes no part: it is neither greatest nor counted.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use penstock_data::memory::scratch;
use penstock_data::{DType, DTypeSet, bf16, f16, with_dtype};

use crate::arch::dispatch_v3;
use crate::geometry::Axis;
use crate::num::Real;
use crate::pack::narrow;
use crate::pool::{Shared, grain, parallel_for};

/// The dtypes of which windows have a greatest element.
pub const MAX_POOL_DTYPES: DTypeSet = DTypeSet::FLOAT.or(DTypeSet::INTEGER);

/// The dtypes of which windows have a mean.
pub const AVG_POOL_DTYPES: DTypeSet = DTypeSet::FLOAT;

/// Estimated time of the conversion of an element.
const CONVERSION_NS: f64 = 0.2;

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
    fn inputs(&self) -> usize {
        self.axes.iter().map(|a| a.input).product()
    }

    fn outputs(&self) -> usize {
        self.axes.iter().map(|a| a.output).product()
    }

    /// Whether there is nothing to compute: any number of pixels may have nothing in them.
    fn is_empty(&self) -> bool {
        self.batch == 0 || self.channels == 0
    }

    /// Estimated time of a window.
    fn ns(&self) -> f64 {
        (self.axes.iter().map(|a| a.window).product::<usize>() * self.channels) as f64 * 0.3
    }

    /// The pixels of the input in the window of an output, along one dimension: the first, and how many.
    #[inline(always)]
    fn span(&self, d: usize, output: usize) -> Range<usize> {
        let a = &self.axes[d];
        let start = output * a.stride;
        start.saturating_sub(a.before)..(start + a.window).saturating_sub(a.before).min(a.input)
    }

    /// Calls `f` with each output of a range over all images: the number of its image, its own, and its place along each dimension.
    #[inline(always)]
    fn each(&self, range: Range<usize>, mut f: impl FnMut(usize, usize, [usize; 3])) {
        if range.is_empty() {
            return;
        }
        let [a, b, c] = self.axes.map(|axis| axis.output);
        let first = range.start;
        let (mut image, mut at) = (first / (a * b * c), [first / (b * c) % a, first / c % b, first % c]);
        for output in range {
            f(image, output, at);
            at[2] += 1;
            if at[2] == c {
                (at[1], at[2]) = (at[1] + 1, 0);
            }
            if at[1] == b {
                (at[0], at[1]) = (at[0] + 1, 0);
            }
            if at[0] == a {
                (image, at[0]) = (image + 1, 0);
            }
        }
    }

    /// Calls `f` with each pixel of the input in the window of the output at a place, in order.
    #[inline(always)]
    fn visit(&self, at: [usize; 3], mut f: impl FnMut(usize)) {
        let [_, b, c] = &self.axes;
        let [rows, columns, pixels] = [0, 1, 2].map(|d| self.span(d, at[d]));
        for i in rows {
            for j in columns.clone() {
                let line = (i * b.input + j) * c.input;
                for k in pixels.clone() {
                    f(line + k);
                }
            }
        }
    }

    /// The first pixel of the input in the window of the output at a place.
    #[inline(always)]
    fn first(&self, at: [usize; 3]) -> usize {
        let [i, j, k] = [0, 1, 2].map(|d| self.span(d, at[d]).start);
        (i * self.axes[1].input + j) * self.axes[2].input + k
    }

    /// The number of pixels of the input in the window of the output at a place.
    #[inline(always)]
    fn count(&self, at: [usize; 3]) -> usize {
        (0..3).map(|d| self.span(d, at[d]).len()).product()
    }
}

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
    // SAFETY: the same contract, with the element type of `dtype`, or of copies in the type that it is computed in.
    unsafe {
        match dtype {
            DType::F16 => wide_greatest::<f16>(windows, x.cast(), y.cast()),
            DType::Bf16 => wide_greatest::<bf16>(windows, x.cast(), y.cast()),
            _ => with_dtype!(real, dtype, T => greatest::<T>(windows, x.cast(), y.cast()),
                else panic!("max_pool does not take {dtype}")),
        }
    }
}

/// Runs `$body` for all channels, `$lanes` at a time, the first of them being `$first`. The last group may overlap the one before it: then
/// its first `$known` channels were already done.
macro_rules! by_lanes {
    ($channels:expr, |$first:ident, $known:ident, $lanes:ident| $body:expr) => {{
        let n = $channels;
        let mut done = 0;
        by_lanes!(@ n, done, 32, |$first, $known, $lanes| $body);
        by_lanes!(@ n, done, 8, |$first, $known, $lanes| $body);
        by_lanes!(@ n, done, 4, |$first, $known, $lanes| $body);
        by_lanes!(@ n, done, 2, |$first, $known, $lanes| $body);
        by_lanes!(@ n, done, 1, |$first, $known, $lanes| $body);
    }};
    (@ $n:ident, $done:ident, $most:literal, |$first:ident, $known:ident, $lanes:ident| $body:expr) => {
        while $n - $done >= $most || ($n >= $most && $n > $done && $most <= 8) {
            const $lanes: usize = $most;
            let $first = $done.min($n - $lanes);
            let $known = $done - $first;
            $body;
            $done = $first + $lanes;
        }
    };
}

/// # Safety
/// As for [`max_pool`].
unsafe fn greatest<T: Copy + Default + PartialOrd + Sync>(windows: &Windows, x: *const T, y: *mut T) {
    let (n, inputs) = (windows.channels, windows.inputs());
    let (px, py) = (Shared(x.cast_mut()), Shared(y));
    parallel_for(windows.batch * windows.outputs(), grain(windows.ns()), |range| {
        dispatch_v3(
            #[inline(always)]
            || {
                windows.each(range, |image, output, at| {
                    by_lanes!(n, |c, _known, L| {
                        // SAFETY: the channels are inside of the image and of the output, which is this range's own.
                        unsafe {
                            let best = greatest_of::<T, L>(windows, at, px.get().add(image * inputs * n + c));
                            py.get().add(output * n + c).cast::<[T; L]>().write_unaligned(best);
                        }
                    });
                });
            },
        );
    });
}

/// The greatest elements of `L` channels of a window: NaN where it has one.
///
/// # Safety
/// `image` is readable for `L` channels of each pixel of the inputs.
#[inline(always)]
unsafe fn greatest_of<T: Copy + Default + PartialOrd, const L: usize>(
    windows: &Windows,
    at: [usize; 3],
    image: *const T,
) -> [T; L] {
    let load = |pixel: usize| -> [T; L] {
        // SAFETY: the pixel is inside of the image.
        unsafe { image.add(pixel * windows.channels).cast::<[T; L]>().read_unaligned() }
    };
    let mut best = load(windows.first(at));
    windows.visit(at, |pixel| {
        let x = load(pixel);
        for i in 0..L {
            // A NaN takes any place, which vectorises, and no number takes its.
            best[i] = if (x[i] > best[i]) | x[i].partial_cmp(&x[i]).is_none() { x[i] } else { best[i] };
        }
    });
    best
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
    // SAFETY: the same contract, with the element type of `dtype`, or of copies in the type that it is computed in.
    unsafe {
        match dtype {
            DType::F16 => wide_at_max::<f16>(what, windows, x.cast(), v.cast(), out.cast()),
            DType::Bf16 => wide_at_max::<bf16>(what, windows, x.cast(), v.cast(), out.cast()),
            DType::F32 => move_at_max::<f32>(what, windows, x.cast(), v.cast(), out.cast()),
            DType::F64 => move_at_max::<f64>(what, windows, x.cast(), v.cast(), out.cast()),
            _ => panic!("at_max does not take {dtype}"),
        }
    }
}

/// [`greatest`] of elements that are compared in `f32`.
///
/// # Safety
/// As for [`max_pool`].
unsafe fn wide_greatest<T: Real<Wide = f32>>(windows: &Windows, x: *const T, y: *mut T) {
    // SAFETY: the caller's contract, with copies of as many elements.
    unsafe {
        let x = widened(x, windows.batch * windows.inputs() * windows.channels);
        let mut out = scratch(0.0, windows.batch * windows.outputs() * windows.channels);
        greatest(windows, x.as_ptr(), out.as_mut_ptr());
        narrowed(&out, y);
    }
}

/// [`move_at_max`] of elements that are compared and summed in `f32`.
///
/// # Safety
/// As for [`at_max`].
unsafe fn wide_at_max<T: Real<Wide = f32>>(what: AtMax, windows: &Windows, x: *const T, v: *const T, out: *mut T) {
    let [inputs, outputs] = [windows.inputs(), windows.outputs()].map(|n| windows.batch * n * windows.channels);
    let (of_v, of_out) = if what == AtMax::Give { (outputs, inputs) } else { (inputs, outputs) };
    // SAFETY: the caller's contract, with copies of as many elements.
    unsafe {
        let (x, v, mut sums) = (widened(x, inputs), widened(v, of_v), scratch(0.0, of_out));
        move_at_max(what, windows, x.as_ptr(), v.as_ptr(), sums.as_mut_ptr());
        narrowed(&sums, out);
    }
}

/// Elements in the type that they are computed in.
///
/// # Safety
/// `from` is readable for `n` elements.
unsafe fn widened<T: Real<Wide = f32>>(from: *const T, n: usize) -> Vec<f32> {
    let mut out = scratch(0.0, n);
    let (from, to) = (Shared(from.cast_mut()), Shared(out.as_mut_ptr()));
    parallel_for(n, grain(CONVERSION_NS), |range| {
        dispatch_v3(
            #[inline(always)]
            || {
                // SAFETY: inside of both; each element is one range's own.
                range.for_each(|i| unsafe { *to.get().add(i) = (*from.get().add(i)).widen() });
            },
        );
    });
    out
}

/// Writes elements in the type of memory.
///
/// # Safety
/// `to` is writable for as many elements.
unsafe fn narrowed<T: Real<Wide = f32>>(from: &[f32], to: *mut T) {
    let to = Shared(to);
    parallel_for(from.len(), grain(CONVERSION_NS), |range| {
        // SAFETY: inside of the memory; each element is one range's own.
        unsafe { narrow::<T>(from.as_ptr().add(range.start), to.get().add(range.start), range.len()) };
    });
}

/// # Safety
/// As for [`at_max`].
unsafe fn move_at_max<T>(what: AtMax, windows: &Windows, x: *const T, v: *const T, out: *mut T)
where
    T: Copy + PartialOrd + Default + std::ops::AddAssign + Send + Sync,
{
    let (n, outputs, inputs) = (windows.channels, windows.outputs(), windows.inputs());
    let (px, pv, po) = (Shared(x.cast_mut()), Shared(v.cast_mut()), Shared(out));
    parallel_for(windows.batch, grain(windows.ns() * outputs as f64), |range| {
        for image in range {
            dispatch_v3(
                #[inline(always)]
                || {
                    // SAFETY: the pixels are inside of `x`, `v` and the result; each image is one range's own.
                    unsafe {
                        let x = px.get().cast_const().add(image * inputs * n);
                        if what == AtMax::Give {
                            (0..inputs * n).for_each(|i| *po.get().add(image * inputs * n + i) = T::default());
                        }
                        windows.each(image * outputs..(image + 1) * outputs, |_, output, at| {
                            by_lanes!(n, |c, known, L| match what {
                                AtMax::Take => {
                                    let v = pv.get().cast_const().add(image * inputs * n + c);
                                    let mut taken = [T::default(); L];
                                    each_first::<T, L>(windows, at, x.add(c), |pixel, is_here| {
                                        let v: [T; L] = v.add(pixel * n).cast::<[T; L]>().read_unaligned();
                                        taken = std::array::from_fn(|i| if is_here[i] { v[i] } else { taken[i] });
                                    });
                                    po.get().add(output * n + c).cast::<[T; L]>().write_unaligned(taken);
                                }
                                AtMax::Give => {
                                    let v = pv.get().cast_const().add(output * n + c);
                                    let mut v: [T; L] = v.cast::<[T; L]>().read_unaligned();
                                    v[..known].fill(T::default());
                                    let sums = po.get().add(image * inputs * n + c);
                                    each_first::<T, L>(windows, at, x.add(c), |pixel, is_here| {
                                        let to = sums.add(pixel * n).cast::<[T; L]>();
                                        let mut sum = to.read_unaligned();
                                        for i in 0..L {
                                            sum[i] += if is_here[i] { v[i] } else { T::default() };
                                        }
                                        to.write_unaligned(sum);
                                    });
                                }
                            });
                        });
                    }
                },
            );
        }
    });
}

/// Calls `f` with each pixel of a window, and which of `L` channels have their first greatest element there.
///
/// # Safety
/// As for [`greatest_of`].
#[inline(always)]
unsafe fn each_first<T: Copy + Default + PartialOrd, const L: usize>(
    windows: &Windows,
    at: [usize; 3],
    image: *const T,
    mut f: impl FnMut(usize, [bool; L]),
) {
    // SAFETY: the caller's contract.
    let best = unsafe { greatest_of::<T, L>(windows, at, image) };
    let mut is_open = [true; L];
    windows.visit(at, |pixel| {
        // SAFETY: the pixel is inside of the image.
        let x: [T; L] = unsafe { image.add(pixel * windows.channels).cast::<[T; L]>().read_unaligned() };
        let is_here: [bool; L] = std::array::from_fn(|i| {
            let both_nan = x[i].partial_cmp(&x[i]).is_none() & best[i].partial_cmp(&best[i]).is_none();
            ((x[i] == best[i]) | both_nan) & is_open[i]
        });
        is_open = std::array::from_fn(|i| is_open[i] & !is_here[i]);
        f(pixel, is_here);
    });
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

/// # Safety
/// As for [`avg_pool`].
unsafe fn means<T: Real>(windows: &Windows, x: *const T, y: *mut T)
where
    T::Wide: Mean,
{
    let (n, outputs, inputs) = (windows.channels, windows.outputs(), windows.inputs());
    let (px, py) = (Shared(x.cast_mut()), Shared(y));
    parallel_for(windows.batch * outputs, grain(windows.ns()), |range| {
        let mut sums = scratch(T::Wide::default(), n);
        dispatch_v3(
            #[inline(always)]
            || {
                windows.each(range, |image, output, at| {
                    sums.fill(T::Wide::default());
                    windows.visit(at, |pixel| {
                        // SAFETY: the pixel is inside of `x`.
                        let from = unsafe { px.get().cast_const().add((image * inputs + pixel) * n) };
                        for (c, sum) in sums.iter_mut().enumerate() {
                            // SAFETY: the pixel is inside of `x`.
                            *sum += unsafe { *from.add(c) }.widen();
                        }
                    });
                    let count = windows.count(at);
                    for (c, sum) in sums.iter().enumerate() {
                        // SAFETY: the output is this range's own.
                        unsafe { *py.get().add(output * n + c) = T::narrow(sum.over(count)) };
                    }
                });
            },
        );
    });
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
    let (n, outputs, inputs) = (windows.channels, windows.outputs(), windows.inputs());
    let (py, px) = (Shared(dy.cast_mut()), Shared(dx));
    parallel_for(windows.batch, grain(windows.ns() * outputs as f64), |range| {
        let mut sums = scratch(T::Wide::default(), inputs * n);
        let mut shares = scratch(T::Wide::default(), n);
        for image in range {
            dispatch_v3(
                #[inline(always)]
                || {
                    sums.fill(T::Wide::default());
                    windows.each(image * outputs..(image + 1) * outputs, |_, output, at| {
                        let count = windows.count(at);
                        // SAFETY: the pixel is inside of `dy`.
                        let from = unsafe { py.get().cast_const().add(output * n) };
                        for (c, share) in shares.iter_mut().enumerate() {
                            // SAFETY: the pixel is inside of `dy`.
                            *share = unsafe { *from.add(c) }.widen().over(count);
                        }
                        windows.visit(at, |pixel| {
                            for (sum, &share) in sums[pixel * n..][..n].iter_mut().zip(&shares) {
                                *sum += share;
                            }
                        });
                    });
                    for (i, &sum) in sums.iter().enumerate() {
                        // SAFETY: the image is inside of `dx`, and this range's own.
                        unsafe { *px.get().add(image * inputs * n + i) = T::narrow(sum) };
                    }
                },
            );
        }
    });
}
