//! Convolutions over up to three spatial dimensions, channels last, and their two transposes.
//!
//! With `x` of `[batch, input.., groups * in_channels]`, a filter of `[window.., in_channels, groups * out_channels]`
//! and `y` of `[batch, output.., groups * out_channels]`, the three functions contract the one trilinear form `sum x[n,
//! o * stride + w * dilation - before, i] filter[w, i, c] y[n, o, c]` with two of its arguments.
//!
//! Each is a product of matrices. Where results are neighbours, what they read is multiplied where it lies (`padded_rows.rs`); else
//! it is gathered a tile at a time. The cotangent of the filter has a module of its own (`filter_grad.rs`). Memory beside the result is a
//! tile or a band a thread and a copy of the filter, or of the cotangents that belong to a band.
//! Convolutions with one input channel a group go through loops over channels instead. 16-bit floats accumulate in `f32`.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::ops::Range;

use penstock_data::memory::{scratch, scratch_of};
use penstock_data::{Buffer, DType, DTypeSet, Element, Result, with_dtype};

use crate::algebra::Algebra;
use crate::arch::dispatch;
use crate::conv_index::{ConvIndex, Line, Results};
use crate::cost;
use crate::depthwise::depthwise;
use crate::filter_grad::filter_grad;
pub use crate::geometry::{Axis, Geometry};
use crate::math::Math;
use crate::matmul::{Mat, Update};
use crate::num::Real;
use crate::pack::{Packed, copy_matrix, is_own};
use crate::padded_rows::{Cut, Matrices};
use crate::pool::{Shared, grain, parallel_for, threads};
use crate::register_tile::Float;

/// The dtypes that convolutions take.
pub const CONV_DTYPES: DTypeSet = DTypeSet::FLOAT;

/// Elements that a tile has room for, if a row is not longer.
const TILE: usize = 128 << 10;
/// Fewest rows of a tile.
const MIN_ROWS: usize = 32;

/// `out = a b`, or `out += a b`, on the calling thread; `k` may be 0.
///
/// # Safety
/// As for [`Update::update`]; where `add` is set, `out` is readable.
unsafe fn multiply<W: Update + Math>(
    m: usize,
    k: usize,
    n: usize,
    a: Mat<W>,
    b: Mat<W>,
    out: *mut W,
    out_row: usize,
    add: bool,
) {
    if k > 0 {
        // SAFETY: the caller's contract.
        return unsafe { W::update(m, k, n, a, b, out, out_row, 1, add) };
    }
    for i in 0..if add { 0 } else { m } {
        // SAFETY: inside of `out`.
        (0..n).for_each(|j| unsafe { *out.add(i * out_row + j) = W::ZERO });
    }
}

/// Rows of a tile for rows of `k` elements.
fn tile_rows(k: usize, pixels: usize, pieces: usize) -> usize {
    (TILE / k.max(1)).max(MIN_ROWS).min(pixels.div_ceil(pieces).max(MIN_ROWS))
}

/// For each group, `result = gathered(source) * matrix`, over all pixels of the index.
///
/// # Safety
/// `source` is readable for `groups * k_channels` elements a pixel, `results`, if they are not only handed on, are writable for
/// `groups * n_channels`; the matrices are those of such a contraction, of readable memory. Results that are handed on are of one group
/// of `f32` or `f64`, and all lines have them in order.
unsafe fn contract<T: Real>(
    index: &ConvIndex,
    groups: usize,
    k_channels: usize,
    n_channels: usize,
    source: *const T,
    matrices: &Matrices<T>,
    results: &Results<'_, T>,
) where
    T::Wide: Float + Update,
{
    let (taps, pixels) = (index.taps(), index.pixels());
    let (k, wide_k, wide_n) = (taps * k_channels, groups * k_channels, groups * n_channels);
    if pixels == 0 || n_channels == 0 {
        return;
    }
    if let Some(cut) = Cut::of::<T::Wide>(index, groups, k_channels, n_channels) {
        let mut memory = Packed::<T::Wide, 1024>::new();
        let packed = memory.room(cut.room());
        // SAFETY: the caller's contract; the cut is that of the index, and packs into its own room.
        return unsafe {
            cut.pack(matrices, packed);
            cut.run(index, index.batch, source, packed, results);
        };
    }
    let own = is_own::<T, T::Wide>();
    let lies_whole = own && matrices.starts.len() == 1;
    // SAFETY: the caller's contract.
    let copies = (!lies_whole).then(|| unsafe { copied(matrices, groups, n_channels) });
    let matrix = |group: usize| match &copies {
        None => matrices.part(group, 0).cast(),
        Some(copies) => Mat { ptr: copies[group * k * n_channels..].as_ptr(), row: n_channels as isize, col: 1 },
    };
    let dense = own && index.lines.iter().all(Line::is_dense) && !results.first.is_null();
    let direct = own && index.lines.iter().all(Line::is_identity);
    let rows = tile_rows(k, pixels, 2 * threads());
    let tiles = pixels.div_ceil(rows);
    let ns = cost::product(<T::Wide as Element>::DTYPE, rows as f64 * k as f64 * n_channels as f64);
    let (source, result, then) = (Shared(source.cast_mut()), Shared(results.first), results.then);
    parallel_for(groups * tiles, grain(ns), |range| {
        let mut tile = scratch(T::Wide::ZERO, if direct { 0 } else { rows * k });
        let mut product = scratch(T::Wide::ZERO, if dense { 0 } else { rows * n_channels });
        for i in range {
            let (group, first) = (i / tiles, i % tiles * rows);
            let count = rows.min(pixels - first);
            let (from, to) = (source.get().cast_const(), result.get());
            // SAFETY: the pixels of the tile are inside of the result and the source, as are the channels of the group;
            // tiles and groups are disjoint. Where memory is used as it is, both types are the same.
            unsafe {
                let a = if direct {
                    let at = from.add(first * wide_k + group * k_channels);
                    Mat { ptr: at.cast::<T::Wide>(), row: wide_k as isize, col: 1 }
                } else {
                    let channels = group * k_channels..(group + 1) * k_channels;
                    let at = tile.as_mut_ptr();
                    dispatch(
                        #[inline(always)]
                        || index.gather(from, wide_k, channels, first..first + count, at),
                    );
                    Mat { ptr: at, row: k as isize, col: 1 }
                };
                let (out, out_row) = if dense {
                    (to.add(first * wide_n + group * n_channels).cast::<T::Wide>(), wide_n)
                } else {
                    (product.as_mut_ptr(), n_channels)
                };
                multiply(count, k, n_channels, a, matrix(group), out, out_row, false);
                if let Some(then) = then {
                    then(first..first + count, out.cast_const().cast());
                }
                if !dense && !to.is_null() {
                    let mut at = index.unravel(first);
                    for row in product[..count * n_channels].chunks_exact(n_channels) {
                        let to = to.add(index.place(at) * wide_n + group * n_channels);
                        for (j, &x) in row.iter().enumerate() {
                            *to.add(j) = T::narrow(x);
                        }
                        index.next(&mut at);
                    }
                }
            }
        }
    });
}

/// The matrices of all groups, one after the other, in the type of computation.
///
/// # Safety
/// The memory of the matrices is readable. Each of them has `columns` columns.
unsafe fn copied<T: Real>(matrices: &Matrices<T>, groups: usize, columns: usize) -> Vec<T::Wide>
where
    T::Wide: Float,
{
    let (parts, each) = (matrices.starts.len(), matrices.rows * columns);
    let mut copies = scratch(T::Wide::ZERO, groups * parts * each);
    let to = Shared(copies.as_mut_ptr());
    parallel_for(groups * parts, grain(0.1 * each as f64), |range| {
        for i in range {
            // SAFETY: the caller's contract; each part is copied to a place of its own.
            unsafe {
                let (part, to) = (matrices.part(i / parts, i % parts), to.get().add(i * each));
                copy_matrix(part, matrices.rows, columns, to, columns);
            }
        }
    });
    copies
}

/// The matrices by which the windows of `x` are multiplied.
fn matrices_of_windows<T>(g: &Geometry, filter: *const T) -> Matrices<T> {
    let width = g.groups * g.out_channels;
    let (rows, first) = (g.window() * g.in_channels, Shared(filter.cast_mut()));
    Matrices { first, starts: scratch_of([0]), rows, group: g.out_channels, row: width, col: 1 }
}

/// A filter in the type of computation, for loops over channels: where it lies, or a copy.
///
/// # Safety
/// `filter` is readable for the elements that the geometry tells.
unsafe fn widened<T: Real>(g: &Geometry, filter: *const T) -> Option<Vec<T::Wide>> {
    let len = g.window() * g.in_channels * g.groups * g.out_channels;
    // SAFETY: the caller's contract.
    (!is_own::<T, T::Wide>()).then(|| scratch_of((0..len).map(|i| unsafe { (*filter.add(i)).widen() })))
}

/// `y` from `x` and the filter.
///
/// # Panics
/// If `dtype` is none of [`CONV_DTYPES`].
///
/// # Safety
/// The memory is row-major, contiguous and aligned, of the sizes of `geometry`; `x` and `filter` are readable, `y` is
/// writable and disjoint from both.
pub unsafe fn conv(dtype: DType, geometry: &Geometry, x: *const u8, filter: *const u8, y: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe {
        forward::<T>(&geometry.lean(), x.cast(), filter.cast(), &Results { first: y.cast(), then: None })
    }, else panic!("conv does not take {dtype}"))
}

/// A filter that is packed once, and then convolves images as often as these come.
pub struct Filter {
    dtype: DType,
    index: ConvIndex,
    cut: Cut,
    panels: Buffer,
}

impl Filter {
    /// Packs a filter; threads share that. `None` where convolutions of this geometry do not multiply by packed filters.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory.
    ///
    /// # Panics
    /// If `dtype` is none of [`CONV_DTYPES`].
    ///
    /// # Safety
    /// `filter` is readable for the elements that `geometry` tells.
    pub unsafe fn pack(dtype: DType, geometry: &Geometry, filter: *const u8) -> Result<Option<Filter>> {
        let g = geometry.lean();
        if g.is_depthwise() {
            return Ok(None);
        }
        let index = ConvIndex { batch: 1, lines: g.axes.each_ref().map(Line::forward) };
        with_dtype!(float, dtype, T => {
            type W<T> = <T as Real>::Wide;
            let Some(cut) = Cut::of::<W<T>>(&index, g.groups, g.in_channels, g.out_channels) else { return Ok(None) };
            let mut panels = Buffer::new(cut.room().saturating_mul(size_of::<W<T>>()))?;
            let room = panels.as_mut_ptr().expect("a buffer of one owner").cast::<W<T>>();
            // SAFETY: the caller's contract; the buffer has the room of the cut.
            unsafe { cut.pack(&matrices_of_windows(&g, filter.cast::<T>()), room) };
            Ok(Some(Filter { dtype, index, cut, panels }))
        }, else panic!("conv does not take {dtype}"))
    }

    /// `y` from `batch` images. An element is that of [`conv`] bit for bit.
    ///
    /// # Safety
    /// As for [`conv`], with the geometry of the filter but for the number of images.
    pub unsafe fn convolve(&self, batch: usize, x: *const u8, y: *mut u8) {
        // SAFETY: the caller's contract.
        with_dtype!(float, self.dtype, T => unsafe {
            self.run::<T>(batch, x, &Results { first: y.cast(), then: None })
        }, else panic!("conv does not take {}", self.dtype));
    }

    /// The pixels from `batch` images, which are handed to `then` as by [`conv_then`], and are nowhere else.
    ///
    /// # Panics
    /// If the dtype is neither `f32` nor `f64`, or there are several groups.
    ///
    /// # Safety
    /// As for [`conv`], with the geometry of the filter but for the number of images.
    pub unsafe fn convolve_then(&self, batch: usize, x: *const u8, then: &(dyn Fn(Range<usize>, *const u8) + Sync)) {
        assert!(self.cut.groups() == 1, "pixels of one group are handed on");
        // SAFETY: the caller's contract.
        unsafe {
            match self.dtype {
                DType::F32 => {
                    self.run::<f32>(batch, x, &Results::handed_on(&|pixels, at: *const f32| then(pixels, at.cast())))
                }
                DType::F64 => {
                    self.run::<f64>(batch, x, &Results::handed_on(&|pixels, at: *const f64| then(pixels, at.cast())))
                }
                dtype => panic!("pixels of {dtype} are not handed on"),
            }
        }
    }

    /// # Safety
    /// As for [`Cut::run`]; `T` is the dtype.
    unsafe fn run<T: Real>(&self, batch: usize, x: *const u8, results: &Results<'_, T>)
    where
        T::Wide: Float + Update,
    {
        // SAFETY: the caller's contract; the panels are those of the cut.
        unsafe { self.cut.run(&self.index, batch, x.cast(), self.panels.as_ptr().cast(), results) }
    }
}

/// [`conv`] of one group of channels, which hands the pixels of `y` to `then` as soon as they are made: ranges of their numbers, which
/// partition all, each on the thread that made them and with the place of the first. Where `y` is null, pixels are nowhere else.
///
/// # Panics
/// If `dtype` is neither `f32` nor `f64`, or there are several groups.
///
/// # Safety
/// As for [`conv`], but that `y` may be null.
pub unsafe fn conv_then(
    dtype: DType,
    geometry: &Geometry,
    x: *const u8,
    filter: *const u8,
    y: *mut u8,
    then: &(dyn Fn(Range<usize>, *const u8) + Sync),
) {
    assert!(geometry.groups == 1, "pixels of one group are handed on");
    // SAFETY: the same contract, with the element type of `dtype`.
    unsafe {
        match dtype {
            DType::F32 => forward_then::<f32>(geometry, x.cast(), filter.cast(), y.cast(), then),
            DType::F64 => forward_then::<f64>(geometry, x.cast(), filter.cast(), y.cast(), then),
            _ => panic!("pixels of {dtype} are not handed on"),
        }
    }
}

/// # Safety
/// As for [`conv_then`].
unsafe fn forward_then<T: Real<Wide = T> + Float + Update>(
    g: &Geometry,
    x: *const T,
    filter: *const T,
    y: *mut T,
    then: &(dyn Fn(Range<usize>, *const u8) + Sync),
) {
    let then = |pixels: Range<usize>, at: *const T| then(pixels, at.cast());
    // SAFETY: the same contract.
    unsafe { forward::<T>(g, x, filter, &Results { first: y, then: Some(&then) }) }
}

/// # Safety
/// As for [`conv`].
unsafe fn forward<T: Real>(g: &Geometry, x: *const T, filter: *const T, y: &Results<'_, T>)
where
    T::Wide: Float + Update,
{
    let index = ConvIndex { batch: g.batch, lines: g.axes.each_ref().map(Line::forward) };
    if g.is_depthwise() {
        let order = scratch_of(0..g.window());
        // SAFETY: the caller's contract; the filter is a row of all outputs for each place in the window.
        return unsafe {
            let copy = widened(g, filter);
            let filter = copy.as_ref().map_or(filter.cast(), |copy| copy.as_ptr());
            depthwise(&index, &order, g.groups, g.out_channels, true, x, filter, y.first)
        };
    }
    // SAFETY: the caller's contract.
    unsafe { contract(&index, g.groups, g.in_channels, g.out_channels, x, &matrices_of_windows(g, filter), y) }
}

/// The cotangent of `x` from the filter and that of `y`; also what a transposed convolution computes.
///
/// # Panics
/// If `dtype` is none of [`CONV_DTYPES`].
///
/// # Safety
/// As for [`conv`], with `dx` writable and the others readable.
pub unsafe fn conv_input_grad(dtype: DType, geometry: &Geometry, filter: *const u8, dy: *const u8, dx: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe {
        input_grad::<T>(&geometry.lean(), filter.cast(), dy.cast(), dx.cast())
    }, else panic!("conv does not take {dtype}"))
}

/// # Safety
/// As for [`conv_input_grad`].
unsafe fn input_grad<T: Real>(g: &Geometry, filter: *const T, dy: *const T, dx: *mut T)
where
    T::Wide: Float + Update,
{
    let [a, b, c] = g.axes.each_ref().map(Line::backward);
    let window = g.axes.each_ref().map(|a| a.window);
    let (ins, outs) = (g.in_channels, g.out_channels);
    let width = g.groups * outs;
    for a in &a {
        for b in &b {
            for c in &c {
                let index = ConvIndex { batch: g.batch, lines: [a.clone(), b.clone(), c.clone()] };
                let taps = index.window_indices(window);
                if g.is_depthwise() {
                    // SAFETY: the caller's contract; the filter is a row of all outputs for each place in the window.
                    unsafe {
                        let copy = widened(g, filter);
                        let filter = copy.as_ref().map_or(filter.cast(), |copy| copy.as_ptr());
                        depthwise(&index, &taps, g.groups, outs, false, dy, filter, dx);
                    }
                    continue;
                }
                // For each group a row for each tap and output and a column for each input.
                let first = Shared(filter.cast_mut());
                let starts = scratch_of(taps.iter().map(|tap| tap * ins * width));
                let matrices = Matrices { first, starts, rows: outs, group: outs, row: 1, col: width };
                // SAFETY: the caller's contract.
                unsafe { contract(&index, g.groups, outs, ins, dy, &matrices, &Results { first: dx, then: None }) }
            }
        }
    }
}

/// The cotangent of the filter from `x` and the cotangent of `y`.
///
/// # Panics
/// If `dtype` is none of [`CONV_DTYPES`].
///
/// # Safety
/// As for [`conv`], with `df` writable and the others readable.
pub unsafe fn conv_filter_grad(dtype: DType, geometry: &Geometry, x: *const u8, dy: *const u8, df: *mut u8) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(float, dtype, T => unsafe {
        filter_grad::<T>(&geometry.lean(), x.cast(), dy.cast(), df.cast())
    }, else panic!("conv does not take {dtype}"))
}
