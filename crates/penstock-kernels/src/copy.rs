//! Kernels that move elements without looking at them: by the size of an element, not its dtype.

#![expect(unsafe_code, reason = "walks raw memory by strides")]

use smallvec::SmallVec;

use crate::arch::dispatch_v3;
use crate::cost;
use crate::pool::{Shared, grain, parallel_for};
use crate::rows::copy_rows;

/// Runs `$body` with `$T` bound to a type of `$size` bytes.
macro_rules! with_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            16 => {
                type $T = [u64; 2];
                $body
            }
            other => panic!("no elements have {other} bytes"),
        }
    };
}

/// Runs `$call` with `$W` as a constant where `$width` is one of those listed; else `$other`.
macro_rules! with_width {
    ($width:expr, $W:ident => $call:expr, else $other:expr) => {
        with_width!(@ $width, $W, $call, $other, 2 3 4 5 6 7 8)
    };
    (@ $width:expr, $W:ident, $call:expr, $other:expr, $($n:literal)*) => {
        match $width {
            $($n => {
                const $W: usize = $n;
                $call
            })*
            _ => $other,
        }
    };
}
pub(crate) use with_width;

/// One dimension of a strided copy: its size and the elements between its entries on either side.
#[derive(Clone, Copy, Debug)]
struct Dim {
    size: usize,
    from: isize,
    to: isize,
}

/// Drops dimensions of size 1 and merges those that both sides walk evenly.
fn collapse(dims: impl DoubleEndedIterator<Item = Dim>) -> SmallVec<[Dim; 6]> {
    let mut merged: SmallVec<[Dim; 6]> = SmallVec::new();
    for d in dims.rev().filter(|d| d.size != 1) {
        match merged.last_mut() {
            Some(inner) if d.from == inner.from * inner.size as isize && d.to == inner.to * inner.size as isize => {
                inner.size *= d.size;
            }
            _ => merged.push(d),
        }
    }
    merged.reverse();
    merged
}

/// The offsets on either side of linear index `at`.
#[inline]
fn offsets(dims: &[Dim], mut at: usize) -> (isize, isize) {
    let (mut from, mut to) = (0, 0);
    for d in dims.iter().rev() {
        let i = (at % d.size) as isize;
        from += i * d.from;
        to += i * d.to;
        at /= d.size;
    }
    (from, to)
}

/// Bytes of rows that are copied with their neighbours, and how many of these make a task.
const SHORT_ROW: usize = 512;
const ROWS: usize = 256;
/// The side of the square blocks that a transposition goes by.
pub(crate) const SQUARE: usize = 16;
/// Columns of the source that a task of a transposition turns where they are shorter than a square.
const FLAT: usize = 256;
/// Rows of the source that a task of a transposition turns.
const PIECE: usize = 1 << 14;

/// Copies over `dims`, choosing a walk by the innermost dimension.
///
/// # Safety
/// All offsets that `dims` span are readable from `src` and writable from `dst`, which do not overlap.
unsafe fn strided<T: Copy>(src: *const T, dst: *mut T, dims: &[Dim]) {
    if dims.iter().any(|d| d.size == 0) {
        return;
    }
    let mut dims = collapse(dims.iter().copied());
    let (src, dst) = (Shared(src.cast_mut()), Shared(dst));
    let inner = dims.pop().unwrap_or(Dim { size: 1, from: 1, to: 1 });
    let bytes = cost::moved((inner.size * size_of::<T>()) as f64, 0.0);
    // A transposition: some other dimension is contiguous in the source.
    let across = dims.iter().position(|d| d.from == 1 && d.size > 1);
    if let (Some(across), true, 1) = (across, inner.from != 1 && inner.size > 1, inner.to) {
        let wide = dims.remove(across);
        let outer: usize = dims.iter().map(|d| d.size).product();
        let stripe = if inner.size < SQUARE { FLAT } else { SQUARE }.min(wide.size);
        let strips = wide.size.div_ceil(stripe);
        let pieces = inner.size.div_ceil(PIECE);
        let piece = inner.size.min(PIECE);
        let ns = 4.0 * cost::moved((size_of::<T>() * piece * stripe) as f64, 0.0);
        parallel_for(outer * strips * pieces, grain(ns), |range| {
            dispatch_v3(
                #[inline(always)]
                || {
                    for task in range {
                        let (from, to) = offsets(&dims, task / (strips * pieces));
                        let first = task / pieces % strips * stripe;
                        let start = task % pieces * PIECE;
                        let (width, length) = (stripe.min(wide.size - first), PIECE.min(inner.size - start));
                        // SAFETY: offsets that `dims` span.
                        unsafe {
                            let src = src.get().offset(from + first as isize + start as isize * inner.from);
                            let dst = dst.get().offset(to + first as isize * wide.to + start as isize);
                            transpose_rows(src.cast_const(), inner.from, dst, wide.to, length, width);
                        }
                    }
                },
            );
        });
        return;
    }
    let outer: usize = dims.iter().map(|d| d.size).product();
    if outer == 1 && inner.size > 1 && inner.to == 1 {
        // One run: split it by elements.
        parallel_for(inner.size, grain(cost::moved(size_of::<T>() as f64, 0.0)), |range| {
            dispatch_v3(
                #[inline(always)]
                || {
                    // SAFETY: offsets that `dims` span.
                    unsafe {
                        let src = src.get().offset(range.start as isize * inner.from);
                        line(src, inner.from, dst.get().add(range.start), 1, range.len());
                    }
                },
            );
        });
        return;
    }
    // Elements that are repeated where they stand: streams of them, side by side.
    if let (Some(&Dim { size, from: 1, to }), 0, 1) = (dims.last(), inner.from, inner.to)
        && to == inner.size as isize
        && (2..=8).contains(&inner.size)
    {
        dims.pop();
        let outer: usize = dims.iter().map(|d| d.size).product();
        return parallel_for(outer, grain(bytes * size as f64), |range| {
            for i in range {
                let (from, to) = offsets(&dims, i);
                // SAFETY: offsets that `dims` span.
                unsafe {
                    let (src, dst) = (src.get().offset(from).cast_const(), dst.get().offset(to));
                    with_width!(inner.size, W => interleave::<T, W>([src; W], dst, size), else unreachable!("checked"));
                }
            }
        });
    }
    // Short rows, side by side.
    if let (Some(&rows), 1, 1) = (dims.last(), inner.from, inner.to)
        && inner.size * size_of::<T>() <= SHORT_ROW
    {
        dims.pop();
        let (pieces, bytes) = (rows.size.div_ceil(ROWS), inner.size * size_of::<T>());
        let outer: usize = dims.iter().map(|d| d.size).product();
        let (step, pitch) = (rows.from * size_of::<T>() as isize, rows.to * size_of::<T>() as isize);
        return parallel_for(
            outer * pieces,
            grain((cost::moved(bytes as f64, 0.0) + 1.0) * rows.size.min(ROWS) as f64),
            |range| {
                for task in range {
                    let (from, to) = offsets(&dims, task / pieces);
                    let first = task % pieces * ROWS;
                    let count = ROWS.min(rows.size - first);
                    // SAFETY: offsets that `dims` and both inner dimensions span.
                    unsafe {
                        let (from, to) = (src.get().offset(from).cast::<u8>(), dst.get().offset(to).cast::<u8>());
                        let (from, to) = (from.offset(first as isize * step), to.offset(first as isize * pitch));
                        copy_rows(from, step, to, pitch, bytes, count);
                    }
                }
            },
        );
    }
    parallel_for(outer, grain(bytes + cost::rates().run), |range| {
        let (mut from, mut to) = offsets(&dims, range.start);
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, dims.len());
        let mut at = range.start;
        for (i, d) in index.iter_mut().zip(&dims).rev() {
            *i = at % d.size;
            at /= d.size;
        }
        dispatch_v3(
            #[inline(always)]
            || {
                for _ in range {
                    // SAFETY: offsets that `dims` span.
                    unsafe { line(src.get().offset(from), inner.from, dst.get().offset(to), inner.to, inner.size) };
                    for (i, d) in index.iter_mut().zip(&dims).rev() {
                        *i += 1;
                        from += d.from;
                        to += d.to;
                        if *i < d.size {
                            break;
                        }
                        *i = 0;
                        from -= d.size as isize * d.from;
                        to -= d.size as isize * d.to;
                    }
                }
            },
        );
    });
}

/// Copies a line of `n` elements with these steps.
///
/// # Safety
/// The offsets are readable and writable.
#[inline(always)]
unsafe fn line<T: Copy>(src: *const T, from: isize, dst: *mut T, to: isize, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if from == 1 && to == 1 {
            if n * size_of::<T>() <= 64 {
                for i in 0..n {
                    dst.add(i).write(src.add(i).read());
                }
            } else {
                src.copy_to_nonoverlapping(dst, n);
            }
        } else if from == 0 && to == 1 {
            let value = src.read();
            for i in 0..n {
                dst.add(i).write(value);
            }
        } else if from == -1 && to == 1 {
            // Known steps vectorise.
            for i in 0..n {
                dst.add(i).write(src.sub(i).read());
            }
        } else if from == 2 && to == 1 {
            for i in 0..n {
                dst.add(i).write(src.add(2 * i).read());
            }
        } else {
            for i in 0..n as isize {
                dst.offset(i * to).write(src.offset(i * from).read());
            }
        }
    }
}

/// Writes `width` rows of `length` elements from as many columns: row `j` of `dst` is column `j` of `src`.
///
/// # Safety
/// The offsets are readable and writable.
#[inline(always)]
unsafe fn transpose_rows<T: Copy>(
    src: *const T,
    src_row: isize,
    dst: *mut T,
    dst_row: isize,
    length: usize,
    width: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if length < SQUARE && dst_row == length as isize {
            // Few rows, which end up side by side.
            with_width!(length, W => {
                return interleave::<T, W>(std::array::from_fn(|i| src.offset(i as isize * src_row)), dst, width);
            }, else ());
        }
        if width < SQUARE && src_row == width as isize {
            with_width!(width, W => {
                return deinterleave::<T, W>(src, std::array::from_fn(|j| dst.offset(j as isize * dst_row)), length);
            }, else ());
        }
        square(src, src_row, dst, dst_row, length, width);
    }
}

/// Writes element `i` of stream `j` to place `i * W + j`.
///
/// # Safety
/// Each stream is readable for `n` elements; `dst` is writable for `n * W`. Neither need be aligned.
unsafe fn interleave<T: Copy, const W: usize>(srcs: [*const T; W], dst: *mut T, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { weave(srcs, dst, W, n) }
}

/// Writes element `i` of stream `j` to place `i * pitch + j`.
///
/// # Safety
/// Each stream is readable for `n` elements; these places are writable. None need be aligned.
#[inline(never)]
unsafe fn weave<T: Copy, const W: usize>(srcs: [*const T; W], dst: *mut T, pitch: usize, n: usize) {
    dispatch_v3(
        #[inline(always)]
        move || {
            let blocks = n / SQUARE;
            // SAFETY: the caller's contract; the rest begins behind the blocks.
            unsafe {
                for b in 0..blocks {
                    let columns: [[T; SQUARE]; W] =
                        std::array::from_fn(|j| srcs[j].add(b * SQUARE).cast::<[T; SQUARE]>().read_unaligned());
                    let block: [[T; W]; SQUARE] = std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i]));
                    let to = dst.add(b * SQUARE * pitch);
                    if pitch == W {
                        to.cast::<[[T; W]; SQUARE]>().write_unaligned(block);
                        continue;
                    }
                    for (i, row) in block.into_iter().enumerate() {
                        to.add(i * pitch).cast::<[T; W]>().write_unaligned(row);
                    }
                }
                for i in blocks * SQUARE..n {
                    for (j, src) in srcs.iter().enumerate() {
                        dst.add(i * pitch + j).write_unaligned(src.add(i).read_unaligned());
                    }
                }
            }
        },
    );
}

/// The reverse of [`interleave`].
///
/// # Safety
/// `src` is readable for `n * W` elements, each stream writable for `n`. Neither need be aligned.
unsafe fn deinterleave<T: Copy, const W: usize>(src: *const T, dsts: [*mut T; W], n: usize) {
    // SAFETY: the caller's contract.
    unsafe { unweave(src, W, dsts, n) }
}

/// The reverse of [`weave`].
///
/// # Safety
/// The places are readable, each stream is writable for `n` elements. None need be aligned.
#[inline(never)]
unsafe fn unweave<T: Copy, const W: usize>(src: *const T, pitch: usize, dsts: [*mut T; W], n: usize) {
    dispatch_v3(
        #[inline(always)]
        move || {
            let blocks = n / SQUARE;
            // SAFETY: the caller's contract; the rest begins behind the blocks.
            unsafe {
                for b in 0..blocks {
                    let from = src.add(b * SQUARE * pitch);
                    let block: [[T; W]; SQUARE] = if pitch == W {
                        from.cast::<[[T; W]; SQUARE]>().read_unaligned()
                    } else {
                        std::array::from_fn(|i| from.add(i * pitch).cast::<[T; W]>().read_unaligned())
                    };
                    for (j, dst) in dsts.iter().enumerate() {
                        let column: [T; SQUARE] = std::array::from_fn(|i| block[i][j]);
                        dst.add(b * SQUARE).cast::<[T; SQUARE]>().write_unaligned(column);
                    }
                }
                for i in blocks * SQUARE..n {
                    for (j, dst) in dsts.iter().enumerate() {
                        dst.add(i).write_unaligned(src.add(i * pitch + j).read_unaligned());
                    }
                }
            }
        },
    );
}

/// [`transpose_rows`], in square blocks.
///
/// # Safety
/// The offsets are readable and writable.
#[inline(always)]
pub(crate) unsafe fn square<T: Copy>(
    src: *const T,
    src_row: isize,
    dst: *mut T,
    dst_row: isize,
    length: usize,
    width: usize,
) {
    let mut start = 0;
    while start < length {
        let len = SQUARE.min(length - start);
        // SAFETY: the caller's contract; `start + len <= length`.
        unsafe {
            if len == SQUARE && width == SQUARE {
                let mut block = [[src.read(); SQUARE]; SQUARE];
                for (i, row) in block.iter_mut().enumerate() {
                    let from = src.offset((start + i) as isize * src_row);
                    *row = from.cast::<[T; SQUARE]>().read_unaligned();
                }
                for j in 0..SQUARE {
                    let mut column = [block[0][0]; SQUARE];
                    for i in 0..SQUARE {
                        column[i] = block[i][j];
                    }
                    let to = dst.offset(j as isize * dst_row + start as isize);
                    to.cast::<[T; SQUARE]>().write_unaligned(column);
                }
            } else {
                for i in start as isize..(start + len) as isize {
                    for j in 0..width as isize {
                        dst.offset(j * dst_row + i).write(src.offset(i * src_row + j).read());
                    }
                }
            }
        }
        start += len;
    }
}

/// Row-major strides in elements.
fn strides(dims: &[usize]) -> SmallVec<[isize; 6]> {
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, dims.len());
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i] as isize;
    }
    strides
}

/// Permutes dimensions: dimension `i` of the result is dimension `perm[i]` of the input.
///
/// # Safety
/// `perm` is a permutation. Both buffers are contiguous, aligned and disjoint, of the product of `dims` elements of
/// `size` bytes.
pub unsafe fn transpose(size: usize, input: *const u8, dims: &[usize], perm: &[usize], out: *mut u8) {
    let from = strides(dims);
    let out_dims: SmallVec<[usize; 6]> = perm.iter().map(|&p| dims[p]).collect();
    let to = strides(&out_dims);
    let walk: SmallVec<[Dim; 6]> =
        (0..dims.len()).map(|i| Dim { size: out_dims[i], from: from[perm[i]], to: to[i] }).collect();
    // SAFETY: the strides of both sides span their buffers.
    with_size!(size, T => unsafe { strided::<T>(input.cast(), out.cast(), &walk) });
}

/// Copies a strided box out of the input: `counts[i]` entries of dimension `i` from `begin[i]` on, `step[i]`
/// (of either sign, not 0) apart.
///
/// # Safety
/// The box lies inside `dims`. Buffers are contiguous, aligned and disjoint, of the products of `dims` and of
/// `counts` elements of `size` bytes.
pub unsafe fn strided_slice(
    size: usize,
    input: *const u8,
    dims: &[usize],
    begin: &[usize],
    step: &[isize],
    counts: &[usize],
    out: *mut u8,
) {
    let (from, to) = (strides(dims), strides(counts));
    if counts.contains(&0) {
        return;
    }
    let first: usize = begin.iter().zip(&from).map(|(&b, &f)| b * f as usize).sum();
    let walk: SmallVec<[Dim; 6]> =
        (0..dims.len()).map(|i| Dim { size: counts[i], from: from[i] * step[i], to: to[i] }).collect();
    // SAFETY: the box lies inside the input, and the result spans the output.
    with_size!(size, T => unsafe { strided::<T>(input.cast::<T>().add(first), out.cast(), &walk) });
}

/// The reverse of [`strided_slice`]: writes a contiguous block into a strided box of `out`, leaving the
/// rest of it as it is.
///
/// # Safety
/// The box lies inside `dims`, the dimensions of `out`. Buffers are contiguous, aligned and disjoint, `input` of the
/// product of `counts` elements of `size` bytes.
pub unsafe fn strided_assign(
    size: usize,
    input: *const u8,
    dims: &[usize],
    begin: &[usize],
    step: &[isize],
    counts: &[usize],
    out: *mut u8,
) {
    let (from, to) = (strides(counts), strides(dims));
    if counts.contains(&0) {
        return;
    }
    let first: usize = begin.iter().zip(&to).map(|(&b, &t)| b * t as usize).sum();
    let walk: SmallVec<[Dim; 6]> =
        (0..dims.len()).map(|i| Dim { size: counts[i], from: from[i], to: to[i] * step[i] }).collect();
    // SAFETY: the box lies inside the output, and the input spans it.
    with_size!(size, T => unsafe { strided::<T>(input.cast(), out.cast::<T>().add(first), &walk) });
}

/// Reverses the marked dimensions.
///
/// # Safety
/// Buffers are contiguous, aligned and disjoint, of the product of `dims` elements of `size` bytes.
pub unsafe fn reverse(size: usize, input: *const u8, dims: &[usize], axes: &[bool], out: *mut u8) {
    let begin: SmallVec<[usize; 6]> =
        dims.iter().zip(axes).map(|(&d, &a)| if a { d.saturating_sub(1) } else { 0 }).collect();
    let step: SmallVec<[isize; 6]> = axes.iter().map(|&a| if a { -1 } else { 1 }).collect();
    // SAFETY: the box is the whole input.
    unsafe { strided_slice(size, input, dims, &begin, &step, dims, out) }
}

/// Repeats the input to dimensions that it broadcasts to by NumPy's rules.
///
/// # Safety
/// `dims` broadcast to `out_dims`. Buffers are contiguous, aligned and disjoint, of the products of their dimensions.
pub unsafe fn broadcast_to(size: usize, input: *const u8, dims: &[usize], out_dims: &[usize], out: *mut u8) {
    let (from, to) = (strides(dims), strides(out_dims));
    let missing = out_dims.len() - dims.len();
    let walk: SmallVec<[Dim; 6]> = (0..out_dims.len())
        .map(|i| {
            let from = if i < missing || dims[i - missing] == 1 { 0 } else { from[i - missing] };
            Dim { size: out_dims[i], from, to: to[i] }
        })
        .collect();
    // SAFETY: dimensions that are repeated do not advance in the input.
    with_size!(size, T => unsafe { strided::<T>(input.cast(), out.cast(), &walk) });
}

/// Repeats the input `multiples[i]` times along dimension `i`.
///
/// # Safety
/// Buffers are contiguous, aligned and disjoint; `out` has the product of `dims` and `multiples` elements.
pub unsafe fn tile(size: usize, input: *const u8, dims: &[usize], multiples: &[usize], out: *mut u8) {
    let from = strides(dims);
    let mut walk: SmallVec<[Dim; 6]> = SmallVec::new();
    let mut stride: isize = 1;
    for i in (0..dims.len()).rev() {
        walk.push(Dim { size: dims[i], from: from[i], to: stride });
        stride *= dims[i] as isize;
        walk.push(Dim { size: multiples[i], from: 0, to: stride });
        stride *= multiples[i] as isize;
    }
    walk.reverse();
    // SAFETY: the walk spans both buffers.
    with_size!(size, T => unsafe { strided::<T>(input.cast(), out.cast(), &walk) });
}

/// Writes `n` copies of a value of `size` bytes.
///
/// # Safety
/// `value` is readable for `size` bytes, `out` aligned and writable for `n` elements.
pub unsafe fn fill(size: usize, value: *const u8, n: usize, out: *mut u8) {
    with_size!(size, T => {
        // SAFETY: the caller's contract.
        let value = unsafe { value.cast::<T>().read_unaligned() };
        let out = Shared(out.cast::<T>());
        parallel_for(n, grain(cost::moved(size as f64, 0.0)), |range| {
            dispatch_v3(
                #[inline(always)]
                || {
                    // Copies, which are seen to be what no write changes.
                    let (value, out) = (value, out.get());
                    for i in range {
                        // SAFETY: `i < n`, for which `out` is writable.
                        unsafe { out.add(i).write(value) };
                    }
                },
            );
        });
    });
}

/// Bytes from which a run of elements is copied by a call.
const SHORT_RUN: usize = 64;

/// Surrounds the input with a constant: `before[i]` and `after[i]` elements along dimension `i`.
///
/// # Safety
/// Buffers are contiguous, aligned and disjoint; `out` has the product of the padded dimensions; `value` is
/// readable for `size` bytes.
pub unsafe fn pad(
    size: usize,
    input: *const u8,
    dims: &[usize],
    before: &[usize],
    after: &[usize],
    value: *const u8,
    out: *mut u8,
) {
    let out_dims: SmallVec<[usize; 6]> = (0..dims.len()).map(|i| before[i] + dims[i] + after[i]).collect();
    let total: usize = out_dims.iter().product();
    // What lies behind the last dimension with padding is whole runs of elements.
    let last = (0..dims.len()).rfind(|&i| before[i] + after[i] > 0).unwrap_or(0);
    let run: usize = dims.iter().skip(last).product();
    let outer = &dims[..last];
    let runs: usize = outer.iter().product();
    if run * size < SHORT_RUN || runs == 0 {
        let step: SmallVec<[isize; 6]> = SmallVec::from_elem(1, dims.len());
        // SAFETY: the input is a box inside the output.
        unsafe {
            fill(size, value, total, out);
            strided_assign(size, input, &out_dims, before, &step, dims, out);
        }
        return;
    }
    let stride = |i: usize| out_dims[i + 1..].iter().product::<usize>();
    let strides: SmallVec<[usize; 6]> = (0..dims.len()).map(stride).collect();
    let first: usize = (0..=last).map(|i| before[i] * strides[i]).sum();
    let (input, out) = (Shared(input.cast_mut()), Shared(out));
    with_size!(size, T => {
        // SAFETY: the caller's contract.
        let value = unsafe { value.cast::<T>().read_unaligned() };
        let place = |mut r: usize| {
            let mut at = first;
            for (i, &d) in outer.iter().enumerate().rev() {
                at += r % d * strides[i];
                r /= d;
            }
            at
        };
        parallel_for(runs, grain(cost::moved(((total / runs) * size) as f64, 1.0)), |range| {
            dispatch_v3(
                #[inline(always)]
                || {
                    let (from, to, value) = (input.get().cast::<T>().cast_const(), out.get().cast::<T>(), value);
                    // SAFETY: runs, and what is between them, are inside of the output and do not overlap.
                    let around = |range: std::ops::Range<usize>| unsafe {
                        (0..range.len()).for_each(|i| to.add(range.start + i).write(value));
                    };
                    // What comes before a run goes with it.
                    let mut end = if range.start == 0 { 0 } else { place(range.start - 1) + run };
                    for r in range.clone() {
                        let at = place(r);
                        around(end..at);
                        end = at + run;
                        // SAFETY: run `r` of the input is readable, and its place is writable.
                        unsafe { from.add(r * run).copy_to_nonoverlapping(to.add(at), run) };
                    }
                    if range.end == runs {
                        around(end..total);
                    }
                },
            );
        });
    });
}

/// Copies adjacent bytes, on several threads where there are many.
///
/// # Safety
/// `src` is readable and `dst` writable for `bytes`; they do not overlap.
unsafe fn copy_bytes(src: *const u8, dst: *mut u8, bytes: usize) {
    let (src, dst) = (Shared(src.cast_mut()), Shared(dst));
    parallel_for(bytes, grain(cost::rates().byte), |range| {
        // SAFETY: `range` is inside of both.
        unsafe { src.get().add(range.start).copy_to_nonoverlapping(dst.get().add(range.start), range.len()) };
    });
}

/// The most streams that are interleaved, or taken apart, at a time.
const STREAMS: usize = 8;
/// Bytes of joined rows that stay in the cache while one input after the other is copied into them.
const JOINED: usize = 1 << 14;

/// Calls `f` with stretches of the `outer` rows of `pitch` bytes that a join or a cut goes by, on several threads where
/// there are many.
fn stretches(outer: usize, pitch: usize, parts: usize, f: impl Fn(std::ops::Range<usize>) + Sync) {
    let rows = (JOINED / pitch.max(1)).max(1).next_multiple_of(SQUARE);
    let ns = cost::moved(pitch as f64, parts as f64) * rows as f64;
    parallel_for(outer.div_ceil(rows), grain(ns), |range| {
        dispatch_v3(
            #[inline(always)]
            || range.for_each(|i| f(i * rows..outer.min((i + 1) * rows))),
        );
    });
}

/// Joins inputs along an axis: each is `(pointer, bytes of one outer row)`; there are `outer` rows.
///
/// # Safety
/// Each input is readable for `outer` rows; `out` is writable for all of them and disjoint.
pub unsafe fn concat(ins: &[(*const u8, usize)], outer: usize, out: *mut u8) {
    let pitch: usize = ins.iter().map(|i| i.1).sum();
    if outer == 1 {
        let mut at = 0;
        for &(src, bytes) in ins {
            // SAFETY: the bytes `at..at + bytes` of the output are this input's.
            unsafe { copy_bytes(src, out.add(at), bytes) };
            at += bytes;
        }
        return;
    }
    let sources: SmallVec<[Shared<u8>; 8]> = ins.iter().map(|i| Shared(i.0.cast_mut())).collect();
    let sizes: SmallVec<[usize; 8]> = ins.iter().map(|i| i.1).collect();
    let out = Shared(out);
    let alike = sizes.iter().all(|&n| n == sizes[0] && matches!(n, 1 | 2 | 4 | 8 | 16));
    if alike && ins.len() >= 2 {
        return stretches(outer, pitch, 0, |rows| {
            with_size!(sizes[0], T => for first in (0..sources.len()).step_by(STREAMS) {
                let width = STREAMS.min(sources.len() - first);
                // SAFETY: these rows of each input are readable, and those of the output writable, for an element each.
                unsafe {
                    let from = |j: usize| sources[first + j].get().cast::<T>().add(rows.start).cast_const();
                    let to = out.get().cast::<T>().add(rows.start * sources.len() + first);
                    with_width!(width, W => {
                        weave::<T, W>(std::array::from_fn(from), to, sources.len(), rows.len())
                    }, else weave::<T, 1>([from(0)], to, sources.len(), rows.len()));
                }
            });
        });
    }
    stretches(outer, pitch, ins.len(), |rows| {
        let mut at = 0;
        for (src, &bytes) in sources.iter().zip(&sizes) {
            // SAFETY: the columns `at..at + bytes` of these rows of the output are this input's.
            unsafe {
                let (from, to) = (src.get().add(rows.start * bytes), out.get().add(rows.start * pitch + at));
                copy_rows(from, bytes as isize, to, pitch as isize, bytes, rows.len());
            }
            at += bytes;
        }
    });
}

/// The reverse of [`concat`]: cuts each outer row into pieces, each `(pointer, bytes of one outer row)`.
///
/// # Safety
/// The input is readable for `outer` rows of all pieces; the outputs are writable for `outer` rows and disjoint.
pub unsafe fn split(input: *const u8, outer: usize, outs: &[(*mut u8, usize)]) {
    let pitch: usize = outs.iter().map(|o| o.1).sum();
    if outer == 1 {
        let mut at = 0;
        for &(dst, bytes) in outs {
            // SAFETY: the bytes `at..at + bytes` of the input are this output's.
            unsafe { copy_bytes(input.add(at), dst, bytes) };
            at += bytes;
        }
        return;
    }
    let dests: SmallVec<[Shared<u8>; 8]> = outs.iter().map(|o| Shared(o.0)).collect();
    let sizes: SmallVec<[usize; 8]> = outs.iter().map(|o| o.1).collect();
    let input = Shared(input.cast_mut());
    let alike = sizes.iter().all(|&n| n == sizes[0] && matches!(n, 1 | 2 | 4 | 8 | 16));
    if alike && outs.len() >= 2 {
        return stretches(outer, pitch, 0, |rows| {
            with_size!(sizes[0], T => for first in (0..dests.len()).step_by(STREAMS) {
                let width = STREAMS.min(dests.len() - first);
                // SAFETY: these rows of the input are readable, and those of each output writable, for an element each.
                unsafe {
                    let to = |j: usize| dests[first + j].get().cast::<T>().add(rows.start);
                    let from = input.get().cast::<T>().add(rows.start * dests.len() + first).cast_const();
                    with_width!(width, W => {
                        unweave::<T, W>(from, dests.len(), std::array::from_fn(to), rows.len())
                    }, else unweave::<T, 1>(from, dests.len(), [to(0)], rows.len()));
                }
            });
        });
    }
    stretches(outer, pitch, outs.len(), |rows| {
        let mut at = 0;
        for (dst, &bytes) in dests.iter().zip(&sizes) {
            // SAFETY: the columns `at..at + bytes` of these rows of the input are this output's.
            unsafe {
                let (from, to) = (input.get().add(rows.start * pitch + at), dst.get().add(rows.start * bytes));
                copy_rows(from, pitch as isize, to, bytes as isize, bytes, rows.len());
            }
            at += bytes;
        }
    });
}
