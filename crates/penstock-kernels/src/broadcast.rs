//! Elementwise loops over broadcast inputs.

#![expect(unsafe_code, reason = "walks raw memory by strides")]

use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use crate::loops::{Fault, Lane, LoopFn};
use crate::pool::{Shared, parallel_for};
use crate::rows;

/// The shape that NumPy's rules give for operands of these shapes; none if they do not match.
pub fn broadcast_dims(shapes: &[&[usize]]) -> Option<SmallVec<[usize; 6]>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut dims: SmallVec<[usize; 6]> = SmallVec::from_elem(1, rank);
    for shape in shapes {
        let offset = rank - shape.len();
        for (dim, &d) in dims[offset..].iter_mut().zip(*shape) {
            if *dim == 1 {
                *dim = d;
            } else if d != 1 && d != *dim {
                return None;
            }
        }
    }
    Some(dims)
}

/// The most inputs that an elementwise loop has.
const MAX_INS: usize = 4;
/// Elements from which work is split over threads, and the least that a thread is given.
const SPLIT: usize = 1 << 18;
const PIECE: usize = 1 << 16;
/// Runs shorter than this are gathered into buffers, to call the loop on longer ones.
const SHORT_RUN: usize = 48;
/// Bytes of one such buffer.
const GATHER: usize = 8192;

/// One collapsed dimension: its size and the bytes between its elements, for each input.
#[derive(Clone, Copy)]
struct Dim {
    size: usize,
    steps: [usize; MAX_INS],
}

/// Merges adjacent dimensions that every input walks evenly, dropping those of size 1. The last
/// dimension comes last; there is at least one.
fn collapse(out_dims: &[usize], ins: &[(*const u8, &[usize], usize)]) -> SmallVec<[Dim; 6]> {
    let mut dims: SmallVec<[Dim; 6]> = SmallVec::new();
    let mut running: [usize; MAX_INS] = [0; MAX_INS];
    for (r, i) in running.iter_mut().zip(ins) {
        *r = i.2;
    }
    for back in 0..out_dims.len() {
        let size = out_dims[out_dims.len() - 1 - back];
        let mut dim = Dim { size, steps: [0; MAX_INS] };
        for (j, (_, shape, _)) in ins.iter().enumerate() {
            let own = if back < shape.len() { shape[shape.len() - 1 - back] } else { 1 };
            debug_assert!(own == 1 || own == size, "input {shape:?} does not broadcast to {out_dims:?}");
            if own != 1 {
                dim.steps[j] = running[j];
                running[j] *= own;
            }
        }
        if size == 1 {
            continue;
        }
        if let Some(inner) = dims.last_mut()
            && (0..ins.len()).all(|j| dim.steps[j] == inner.steps[j] * inner.size)
        {
            inner.size *= size;
            continue;
        }
        dims.push(dim);
    }
    if dims.is_empty() {
        dims.push(Dim { size: 1, steps: [0; MAX_INS] });
    }
    dims.reverse();
    dims
}

#[repr(C, align(64))]
struct Gather([std::mem::MaybeUninit<u8>; GATHER]);

/// What is the same for every piece of a call.
struct Walk<'a> {
    f: LoopFn,
    dims: &'a [Dim],
    ptrs: [*const u8; MAX_INS],
    sizes: [usize; MAX_INS],
    count: usize,
    out: *mut u8,
    out_size: usize,
}

// SAFETY: the pointers are used for reading the inputs, and for writing disjoint ranges of the output.
unsafe impl Sync for Walk<'_> {}

impl Walk<'_> {
    /// The offsets of the inputs at linear output index `at` of the outer dimensions `dims`.
    fn offsets(dims: &[Dim], mut at: usize, index: &mut [usize]) -> [usize; MAX_INS] {
        let mut offsets = [0; MAX_INS];
        for (d, dim) in dims.iter().enumerate().rev() {
            index[d] = at % dim.size;
            at /= dim.size;
            for (o, s) in offsets.iter_mut().zip(dim.steps) {
                *o += index[d] * s;
            }
        }
        offsets
    }

    /// Moves `index` one on, odometer style, keeping `offsets` in step.
    #[inline]
    fn advance(dims: &[Dim], index: &mut [usize], offsets: &mut [usize; MAX_INS]) {
        for (d, dim) in dims.iter().enumerate().rev() {
            index[d] += 1;
            for (o, s) in offsets.iter_mut().zip(dim.steps) {
                *o = o.wrapping_add(s);
            }
            if index[d] < dim.size {
                return;
            }
            for (o, s) in offsets.iter_mut().zip(dim.steps) {
                *o = o.wrapping_sub(dim.size * s);
            }
            index[d] = 0;
        }
    }

    /// Runs the loop once per row, for rows `from..to`.
    ///
    /// # Safety
    /// As for [`elementwise`], on the rows given.
    unsafe fn rows(&self, from: usize, to: usize) -> Result<(), Fault> {
        let (inner, outer) = self.dims.split_last().expect("at least one dimension");
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
        let mut offsets = Self::offsets(outer, from, &mut index);
        let mut lanes = [Lane::fixed(self.out); MAX_INS];
        for row in from..to {
            for j in 0..self.count {
                // SAFETY: the offsets stay inside the input by construction of the steps.
                lanes[j] = Lane { ptr: unsafe { self.ptrs[j].add(offsets[j]) }, step: inner.steps[j] };
            }
            // SAFETY: rows are disjoint, of `inner.size` elements; the inputs are readable.
            unsafe { (self.f)(inner.size, &lanes[..self.count], self.out.add(row * inner.size * self.out_size))? };
            Self::advance(outer, &mut index, &mut offsets);
        }
        Ok(())
    }

    /// Gathers rows `from..to` of the inputs that are not walked evenly into buffers, and runs the
    /// loop on several rows at a time.
    ///
    /// # Safety
    /// As for [`elementwise`], on the rows given.
    unsafe fn gathered(&self, from: usize, to: usize) -> Result<(), Fault> {
        let (inner, outer) = self.dims.split_last().expect("at least one dimension");
        let widest = self.sizes[..self.count].iter().copied().max().unwrap_or(1);
        let rows_per = (GATHER / widest / inner.size).max(1);
        let mut buffers: [Gather; 3] = [const { Gather([std::mem::MaybeUninit::uninit(); GATHER]) }; 3];
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
        let mut offsets = Self::offsets(outer, from, &mut index);
        let mut lanes = [Lane::fixed(self.out); MAX_INS];
        let even: SmallVec<[bool; 4]> = (0..self.count)
            .map(|j| {
                let mut expected = self.sizes[j];
                self.dims.iter().rev().all(|d| {
                    let ok = d.steps[j] == expected;
                    expected *= d.size;
                    ok
                })
            })
            .collect();
        let mut row = from;
        while row < to {
            let rows = rows_per.min(to - row);
            for j in 0..self.count {
                if even[j] {
                    // SAFETY: an evenly walked input has the layout of the output.
                    lanes[j] = Lane::new(unsafe { self.ptrs[j].add(offsets[j]) }, self.sizes[j]);
                } else {
                    lanes[j] = Lane::new(buffers[j].0.as_ptr().cast(), self.sizes[j]);
                }
            }
            let mut done = 0;
            while done < rows {
                // Rows along the innermost of the outer dimensions are equally far apart.
                let line = outer.last().map_or(1, |dim| dim.size - index[outer.len() - 1]).min(rows - done);
                for j in (0..self.count).filter(|&j| !even[j]) {
                    let (size, step) = (self.sizes[j], outer.last().map_or(0, |dim| dim.steps[j] as isize));
                    let pitch = inner.size * size;
                    // SAFETY: the source offsets are inside the input; the buffer holds `rows_per` rows of the widest
                    // element.
                    unsafe {
                        let from = self.ptrs[j].add(offsets[j]);
                        let to = buffers[j].0.as_mut_ptr().cast::<u8>().add(done * pitch);
                        if inner.steps[j] == 0 {
                            rows::spread(size, from, step, line, inner.size, to);
                        } else {
                            rows::copy_rows(from, step, to, pitch as isize, pitch, line);
                        }
                    }
                }
                done += line;
                if let Some(dim) = outer.last() {
                    index[outer.len() - 1] += line - 1;
                    offsets.iter_mut().zip(dim.steps).for_each(|(o, step)| *o += (line - 1) * step);
                }
                Self::advance(outer, &mut index, &mut offsets);
            }
            // SAFETY: the lanes hold `rows * inner.size` elements, and the output as many from there.
            unsafe {
                let out = self.out.add(row * inner.size * self.out_size);
                (self.f)(rows * inner.size, &lanes[..self.count], out)?;
            }
            row += rows;
        }
        Ok(())
    }
}

/// Runs an elementwise loop over inputs that broadcast to the dimensions of the output.
///
/// Each input is `(pointer, dimensions, bytes per element)`. Work above a threshold is split over
/// the threads of the pool. When a fault is reported, some outputs are not written.
///
/// # Safety
/// `f` is a loop of `ins.len()` operands (at most 4) with these element sizes and `out_size`. The inputs
/// are row-major and contiguous, aligned to their elements, and their dimensions broadcast to
/// `out_dims`; `out` is writable for the product of `out_dims`. `out` may be equal to an input that has the
/// dimensions of the output and elements of `out_size` bytes; else it overlaps none.
pub unsafe fn elementwise(
    f: LoopFn,
    out_dims: &[usize],
    out: *mut u8,
    out_size: usize,
    ins: &[(*const u8, &[usize], usize)],
) -> Result<(), Fault> {
    assert!(ins.len() <= MAX_INS, "an elementwise loop has at most {MAX_INS} inputs");
    let total: usize = out_dims.iter().product();
    if total == 0 {
        return Ok(());
    }
    let mut lanes = [Lane::fixed(out); MAX_INS];
    let mut flat = true;
    for (lane, &(ptr, dims, size)) in lanes.iter_mut().zip(ins) {
        let count: usize = dims.iter().product();
        flat &= count == total || count == 1;
        *lane = Lane { ptr, step: if count == 1 { 0 } else { size } };
    }
    if flat {
        // An input of one element in an output of one is the same either way.
        // SAFETY: the inputs have as many elements as the output, or one.
        return unsafe { elementwise_flat(f, total, &lanes[..ins.len()], out, out_size) };
    }
    let dims = collapse(out_dims, ins);
    let mut walk = Walk {
        f,
        dims: &dims,
        ptrs: [std::ptr::null(); MAX_INS],
        sizes: [0; MAX_INS],
        count: ins.len(),
        out,
        out_size,
    };
    for (j, &(ptr, _, size)) in ins.iter().enumerate() {
        walk.ptrs[j] = ptr;
        walk.sizes[j] = size;
    }
    let inner = dims[dims.len() - 1].size;
    let rows = total / inner;
    let gather = inner < SHORT_RUN && rows > 4 && ins.len() <= 3;
    let run = |range: std::ops::Range<usize>| {
        // SAFETY: the caller's contract; the ranges of rows are disjoint.
        unsafe { if gather { walk.gathered(range.start, range.end) } else { walk.rows(range.start, range.end) } }
    };
    if total < SPLIT {
        return run(0..rows);
    }
    split(rows, PIECE.div_ceil(inner), run)
}

/// Runs `f` over ranges in parallel, and reports whether any reported a fault.
fn split(
    tasks: usize,
    grain: usize,
    f: impl Fn(std::ops::Range<usize>) -> Result<(), Fault> + Sync,
) -> Result<(), Fault> {
    let failed = Mutex::new(Ok(()));
    parallel_for(tasks, grain, |range| {
        let done = f(range);
        if done.is_err() {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = done;
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an elementwise loop over `n` elements, split over threads above a threshold.
///
/// # Safety
/// As for [`LoopFn`]; `out_size` is the size of an output element.
pub unsafe fn elementwise_flat(f: LoopFn, n: usize, ins: &[Lane], out: *mut u8, out_size: usize) -> Result<(), Fault> {
    if n < SPLIT {
        // SAFETY: the same contract.
        return unsafe { f(n, ins, out) };
    }
    let mut shared = [Shared(out); MAX_INS];
    for (s, lane) in shared.iter_mut().zip(ins) {
        *s = Shared(lane.ptr.cast_mut());
    }
    let mut steps = [0; MAX_INS];
    for (s, lane) in steps.iter_mut().zip(ins) {
        *s = lane.step;
    }
    let count = ins.len();
    let out = Shared(out);
    split(n, PIECE, |range| {
        let mut lanes = [Lane::fixed(out.get()); MAX_INS];
        for j in 0..count {
            let lane = Lane { ptr: shared[j].get(), step: steps[j] };
            // SAFETY: the range is inside `0..n`.
            lanes[j] = unsafe { lane.at(range.start) };
        }
        // SAFETY: the caller's contract on a part of the elements; parts are disjoint.
        unsafe { f(range.len(), &lanes[..count], out.get().add(range.start * out_size)) }
    })
}
