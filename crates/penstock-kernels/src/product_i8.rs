//! Products of matrices of 8-bit integers, in 32 bits that wrap: packing, blocks for the caches, threads.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::Buffer;
use penstock_data::memory::scratch;

use crate::arch::dispatch;
use crate::integer_tile::{Block, Form, Kernel, LINES, kernel};
use crate::matmul::batch_strides;
use crate::pool::{Shared, grain, parallel_for, threads};

/// Chunks of the inner dimension, and lines of either matrix, that are packed at a time.
const DEPTH: usize = 16;
const PACKED_LINES: usize = 4096;
/// Stripes that are packed together: bytes of as many columns fill a line of the cache.
const TOGETHER: usize = 4;
/// Rows and columns of a task: both packed parts stay in a second-level cache.
const ROWS: usize = 128;
const COLUMNS: usize = 256;

/// Matrices of bytes, one after the other, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    /// The first element.
    pub ptr: *const u8,
    /// Whether the bytes are signed.
    pub signed: bool,
    /// Whether each matrix is stored transposed.
    pub transposed: bool,
    /// The dimensions that count the matrices.
    pub batch: &'a [usize],
}

/// `out = a b` in 32 bits that wrap, for every index of `batch`, to which the batch dimensions of the operands broadcast by
/// NumPy's rules; `a` has matrices of `m` by `k`, `b` of `k` by `n`. A `k` of 0 gives zeros.
///
/// # Panics
/// If the batch dimensions do not broadcast to `batch`. Unwinds by [`penstock_data::Error::unwind`] where there is no memory
/// for packed matrices.
///
/// # Safety
/// Both operands are readable, `out` is writable as so many matrices of `m` by `n`, aligned and disjoint.
pub unsafe fn bytes_batched(batch: &[usize], m: usize, k: usize, n: usize, a: Bytes<'_>, b: Bytes<'_>, out: *mut i32) {
    let count: usize = batch.iter().product();
    if k == 0 {
        // SAFETY: `out` has so many elements.
        return unsafe { out.write_bytes(0, count * m * n) };
    }
    if m == 0 || n == 0 {
        return;
    }
    let kernel = kernel();
    // Elements of a row are neighbours, of a transposed matrix those of a column.
    let lines = |of: Bytes<'_>, by_line: bool, pitch: usize| {
        let (line, step) = if by_line { (pitch, 1) } else { (1, pitch) };
        Lines { ptr: of.ptr, line, step, signed: of.signed }
    };
    let of_a = lines(a, !a.transposed, if a.transposed { m } else { k });
    let of_b = lines(b, b.transposed, if b.transposed { k } else { n });
    // A right operand that all share makes one tall product.
    let shared = b.batch.iter().all(|&d| d == 1);
    if count == 1 || shared && !a.transposed && a.batch.iter().product::<usize>() == count {
        // SAFETY: the matrices of `a` and of the result are adjacent.
        return unsafe { product(kernel, count * m, k, n, of_a, of_b, out) };
    }
    let (a_strides, b_strides) = (batch_strides(batch, a.batch), batch_strides(batch, b.batch));
    let (pa, pb, po) = (Shared(a.ptr.cast_mut()), Shared(b.ptr.cast_mut()), Shared(out));
    let one = |i: usize| {
        let (mut at_a, mut at_b, mut rest) = (0, 0, i);
        for (d, &extent) in batch.iter().enumerate().rev() {
            at_a += rest % extent * a_strides[d];
            at_b += rest % extent * b_strides[d];
            rest /= extent;
        }
        // SAFETY: these are the matrices of this index; results are disjoint.
        unsafe {
            let of_a = Lines { ptr: pa.get().add(at_a * m * k), ..of_a };
            let of_b = Lines { ptr: pb.get().add(at_b * k * n), ..of_b };
            product(kernel, m, k, n, of_a, of_b, po.get().add(i * m * n));
        }
    };
    if count < threads() {
        return (0..count).for_each(one);
    }
    let ns = (m * n) as f64 * k as f64 / kernel.per_ns;
    parallel_for(count, grain(ns), |range| range.for_each(one));
}

/// Lines of bytes in memory: rows of a left matrix, or columns of a right one.
#[derive(Clone, Copy)]
struct Lines {
    ptr: *const u8,
    /// Bytes from a line to the next, and along a line.
    line: usize,
    step: usize,
    signed: bool,
}

// SAFETY: an address, which threads only read from.
unsafe impl Sync for Lines {}

impl Lines {
    /// These from a line and a place along it on.
    ///
    /// # Safety
    /// It is inside of the matrix.
    unsafe fn at(self, line: usize, place: usize) -> Lines {
        // SAFETY: the caller's contract.
        Lines { ptr: unsafe { self.ptr.add(line * self.line + place * self.step) }, ..self }
    }
}

/// `out = a b`.
///
/// # Safety
/// There are `m` and `n` lines of `k` bytes; `out` is writable as `m` by `n` and disjoint. None of these is 0.
unsafe fn product(kernel: &Kernel, m: usize, k: usize, n: usize, a: Lines, b: Lines, out: *mut i32) {
    let bytes = kernel.form.bytes();
    let chunks = k.div_ceil(bytes).min(DEPTH);
    let (mut left, mut right) = (Packed::new(m.min(PACKED_LINES), chunks), Packed::new(n.min(PACKED_LINES), chunks));
    for first in (0..n).step_by(PACKED_LINES) {
        let columns = PACKED_LINES.min(n - first);
        for place in (0..k).step_by(DEPTH * bytes) {
            let depth = (DEPTH * bytes).min(k - place);
            // SAFETY: the parts are inside of the matrices.
            unsafe {
                right.fill(kernel.form, Side::Right, b.at(first, place), columns, depth, a.signed);
                for row in (0..m).step_by(PACKED_LINES) {
                    let rows = PACKED_LINES.min(m - row);
                    left.fill(kernel.form, Side::Left, a.at(row, place), rows, depth, b.signed);
                    let out = out.add(row * n + first);
                    multiply(kernel, &left, &right, (a.signed, b.signed), rows, columns, depth, out, n, place > 0);
                }
            }
        }
    }
}

/// The product of packed matrices, by tasks that threads share.
///
/// # Safety
/// Both are filled with so many lines of `depth` bytes; `out` is writable for as many elements, and readable if `add`.
unsafe fn multiply(
    kernel: &Kernel,
    left: &Packed,
    right: &Packed,
    signed: (bool, bool),
    rows: usize,
    columns: usize,
    depth: usize,
    out: *mut i32,
    ldo: usize,
    add: bool,
) {
    let across = columns.div_ceil(COLUMNS);
    let out = Shared(out);
    let task = |i: usize| {
        let (row, column) = (i / across * ROWS, i % across * COLUMNS);
        // SAFETY: tasks begin with stripes, and write to disjoint parts of the result.
        unsafe {
            (kernel.run)(&Block {
                a: left.stripe(row / LINES),
                b: right.stripe(column / LINES),
                chunks: left.chunks,
                groups: depth.div_ceil(kernel.form.bytes() / LINES),
                signed,
                rows: ROWS.min(rows - row),
                columns: COLUMNS.min(columns - column),
                out: out.get().add(row * ldo + column),
                ldo,
                add,
                of_rows: left.sums.as_ptr().add(row),
                of_columns: right.sums.as_ptr().add(column),
            });
        }
    };
    let ns = (ROWS.min(rows) * COLUMNS.min(columns) * depth) as f64 / kernel.per_ns;
    parallel_for(rows.div_ceil(ROWS) * across, grain(ns), |range| range.for_each(task));
}

/// Which matrix of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Form {
    /// Elements of a line in a chunk.
    fn bytes(self) -> usize {
        LINES * if self == Form::Halves { 2 } else { 4 }
    }
}

/// A packed matrix, and what is added to the results of its lines.
struct Packed {
    memory: Buffer,
    /// The chunks of a stripe.
    chunks: usize,
    sums: Vec<i32>,
}

impl Packed {
    /// Room for so many lines and chunks.
    fn new(lines: usize, chunks: usize) -> Packed {
        let stripes = lines.div_ceil(LINES);
        let bytes = stripes * chunks * size_of::<Chunk>();
        Packed { memory: Buffer::new(bytes).unwrap_or_else(|e| e.unwind()), chunks, sums: scratch(0, stripes * LINES) }
    }

    fn stripe(&self, index: usize) -> *const u32 {
        self.memory.as_ptr().wrapping_add(index * self.chunks * size_of::<Chunk>()).cast()
    }

    /// Packs `count` lines of `depth` bytes.
    ///
    /// # Safety
    /// They are readable; there is room for them.
    unsafe fn fill(&mut self, form: Form, side: Side, lines: Lines, count: usize, depth: usize, other_signed: bool) {
        self.chunks = depth.div_ceil(form.bytes());
        let packing = Packing {
            form,
            side,
            lines,
            count,
            depth,
            flip: match (form, side) {
                (Form::Bytes, _) => 0,
                (Form::Mixed, Side::Left) => sign_bit(!lines.signed),
                (Form::Mixed, Side::Right) | (Form::Halves, _) => sign_bit(lines.signed),
            },
            // With a = a' + s and b = b' - t, s and t being 128 or 0: sum(a b) = sum(a' b') - t sum(a') + s sum(b).
            with_sums: form == Form::Mixed && (side == Side::Left) == other_signed,
            chunks: self.chunks,
            to: Shared(self.memory.as_mut_ptr().expect("a buffer of one owner").cast::<Chunk>()),
            sums: Shared(self.sums.as_mut_ptr().cast::<[i32; LINES]>()),
        };
        let tasks = count.div_ceil(TOGETHER * LINES);
        let ns = (TOGETHER * LINES * depth) as f64 * 0.05;
        parallel_for(tasks, grain(ns), |range| {
            dispatch(
                #[inline(always)]
                || {
                    // SAFETY: the caller's contract; the tasks' stripes are disjoint.
                    range.for_each(|i| unsafe { packing.stripes(i * TOGETHER) });
                },
            );
        });
    }
}

/// How a matrix is packed, and where.
struct Packing {
    form: Form,
    side: Side,
    lines: Lines,
    count: usize,
    depth: usize,
    /// What bytes are changed by.
    flip: u8,
    with_sums: bool,
    chunks: usize,
    to: Shared<Chunk>,
    sums: Shared<[i32; LINES]>,
}

impl Packing {
    /// Packs [`TOGETHER`] stripes, and sums up their lines.
    ///
    /// # Safety
    /// The lines are readable; there is room for these stripes and their sums.
    #[inline(always)]
    unsafe fn stripes(&self, first: usize) {
        let Packing { form, side, lines, count, depth, flip, chunks, .. } = *self;
        let stripes = first..count.div_ceil(LINES).min(first + TOGETHER);
        // SAFETY: the caller's contract.
        unsafe {
            for c in 0..chunks {
                for i in stripes.clone() {
                    let part = Part {
                        lines: lines.at(i * LINES, c * form.bytes()),
                        count: LINES.min(count - i * LINES),
                        places: form.bytes().min(depth - c * form.bytes()),
                    };
                    let by_lines = side == Side::Left;
                    let to = self.to.get().add(i * chunks + c);
                    match form {
                        Form::Halves => part.pack::<i16, 32, 2>(by_lines, flip, to),
                        Form::Bytes | Form::Mixed => part.pack::<u8, 64, 4>(by_lines, flip, to),
                    }
                }
            }
            if !self.with_sums {
                return;
            }
            for i in stripes {
                let packed = std::slice::from_raw_parts(self.to.get().add(i * chunks), chunks);
                *self.sums.get().add(i) = match side {
                    Side::Left => sums_of_rows(packed).map(|sum| sum.wrapping_mul(-128)),
                    Side::Right => {
                        let added = i32::from(flip) * depth as i32;
                        sums_of_columns(packed).map(|sum| (sum - added).wrapping_mul(128))
                    }
                };
            }
        }
    }
}

/// 16 groups of 16 lines, by lines or by groups.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Chunk([[u32; LINES]; LINES]);

impl Chunk {
    #[inline(always)]
    fn transposed(self) -> Chunk {
        Chunk(std::array::from_fn(|i| std::array::from_fn(|j| self.0[j][i])))
    }
}

fn sign_bit(set: bool) -> u8 {
    if set { 0x80 } else { 0 }
}

/// The part of a matrix that a chunk holds.
struct Part {
    lines: Lines,
    count: usize,
    places: usize,
}

impl Part {
    /// Writes a chunk of `P` elements of each line, `Q` to a group, with zeros beyond the part.
    ///
    /// # Safety
    /// The part is readable, `to` is writable.
    #[inline(always)]
    unsafe fn pack<T: Element, const P: usize, const Q: usize>(&self, by_lines: bool, flip: u8, to: *mut Chunk) {
        const { assert!(P * size_of::<T>() == 64 && Q * size_of::<T>() == 4) };
        let Lines { ptr, line, step, .. } = self.lines;
        // SAFETY: the caller's contract; `P` elements are a row of a chunk.
        unsafe {
            if self.count < LINES || self.places < P {
                to.write(Chunk([[0; LINES]; LINES]));
            }
            if step == 1 {
                for i in 0..self.count {
                    let (from, row) = (ptr.add(i * line), to.cast::<[T; P]>().add(i));
                    if self.places == P {
                        row.write(from.cast::<[u8; P]>().read().map(|x| T::of(x, flip)));
                    } else {
                        (0..self.places).for_each(|p| *row.cast::<T>().add(p) = T::of(*from.add(p), flip));
                    }
                }
            } else {
                for g in 0..self.places.div_ceil(Q) {
                    let (from, group) = (ptr.add(g * Q * step), to.cast::<[u32; LINES]>().add(g));
                    if self.count == LINES && (g + 1) * Q <= self.places {
                        let rows: [[u8; LINES]; Q] =
                            std::array::from_fn(|q| from.add(q * step).cast::<[u8; LINES]>().read());
                        group.write(std::array::from_fn(|i| {
                            (0..Q).fold(0, |word, q| word | T::of(rows[q][i], flip).bits() << (32 / Q * q))
                        }));
                    } else {
                        for i in 0..self.count {
                            let places = Q.min(self.places - g * Q);
                            (*group)[i] = (0..places)
                                .fold(0, |word, q| word | T::of(*from.add(q * step + i), flip).bits() << (32 / Q * q));
                        }
                    }
                }
            }
            if by_lines != (step == 1) {
                to.write(to.read().transposed());
            }
        }
    }
}

/// What bytes are packed as.
trait Element: Copy {
    /// The byte, changed by the sign bit where `flip` has it: a signed one becomes unsigned, or the other way around, where
    /// elements are bytes; wider ones keep its value.
    fn of(x: u8, flip: u8) -> Self;
    /// The bits, in those of a group.
    fn bits(self) -> u32;
}

impl Element for u8 {
    #[inline(always)]
    fn of(x: u8, flip: u8) -> u8 {
        x ^ flip
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        u32::from(self)
    }
}

impl Element for i16 {
    #[inline(always)]
    fn of(x: u8, flip: u8) -> i16 {
        i16::from(x ^ flip) - i16::from(flip)
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        u32::from(self as u16)
    }
}

/// The sums of signed bytes of each line, in chunks by lines.
#[inline(always)]
fn sums_of_rows(chunks: &[Chunk]) -> [i32; LINES] {
    let mut sums = [0; LINES];
    for chunk in chunks {
        for (sum, row) in sums.iter_mut().zip(&chunk.0) {
            let bytes = row.iter().flat_map(|word| word.to_ne_bytes());
            *sum += bytes.map(|x| i32::from(x as i8)).sum::<i32>();
        }
    }
    sums
}

/// The sums of unsigned bytes of each line, in chunks by groups.
#[inline(always)]
fn sums_of_columns(chunks: &[Chunk]) -> [i32; LINES] {
    let mut sums = [0; LINES];
    for row in chunks.iter().flat_map(|chunk| &chunk.0) {
        for (sum, word) in sums.iter_mut().zip(row) {
            *sum += word.to_ne_bytes().into_iter().map(i32::from).sum::<i32>();
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integer_tile::all_kernels;

    /// Bytes that repeat late, or one extreme value throughout.
    fn bytes(n: usize, seed: u64) -> Vec<u8> {
        let extremes = [0x80, 0x7f, 0xff, 0];
        if let Some(&x) = extremes.get(seed as usize) {
            return vec![x; n];
        }
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..n).map(|_| next()).collect()
    }

    fn wide(x: u8, signed: bool) -> i64 {
        if signed { i64::from(x as i8) } else { i64::from(x) }
    }

    /// One product by every kernel, beside sums of 64 bits.
    fn check(m: usize, k: usize, n: usize, signed: (bool, bool), transposed: (bool, bool), seeds: (u64, u64)) {
        let (a, b) = (bytes(m * k, seeds.0), bytes(k * n, seeds.1));
        let of_a = if transposed.0 { (1, m) } else { (k, 1) };
        let of_b = if transposed.1 { (k, 1) } else { (1, n) };
        let lines = |x: &[u8], (line, step), signed| Lines { ptr: x.as_ptr(), line, step, signed };
        for kernel in all_kernels() {
            let mut out = vec![-1; m * n];
            let (la, lb) = (lines(&a, of_a, signed.0), lines(&b, of_b, signed.1));
            // SAFETY: vectors of these sizes.
            unsafe { product(kernel, m, k, n, la, lb, out.as_mut_ptr()) };
            for i in 0..m {
                for j in 0..n {
                    let terms = (0..k).map(|p| {
                        let (x, y) = (a[i * of_a.0 + p * of_a.1], b[j * of_b.0 + p * of_b.1]);
                        wide(x, signed.0) * wide(y, signed.1)
                    });
                    let due = terms.sum::<i64>() as i32;
                    assert_eq!(
                        out[i * n + j],
                        due,
                        "{kernel:?} {m} {k} {n} {signed:?} {transposed:?} {seeds:?} at {i} {j}"
                    );
                }
            }
        }
    }

    const FLAGS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

    #[test]
    fn every_kernel_gives_the_sums_at_any_sizes() {
        let sizes =
            [(1, 1, 1), (1, 5, 3), (3, 2, 17), (16, 64, 16), (17, 63, 33), (31, 65, 15), (70, 9, 64), (2, 130, 100)];
        for (m, k, n) in sizes {
            for signed in FLAGS {
                for transposed in FLAGS {
                    check(m, k, n, signed, transposed, (11, 12));
                }
            }
        }
    }

    #[test]
    fn extreme_bytes_do_not_saturate() {
        for signed in FLAGS {
            for a in 0..4 {
                for b in 0..4 {
                    check(5, 150, 20, signed, (false, false), (a, b));
                }
            }
        }
    }

    #[test]
    fn blocks_along_every_dimension_come_together() {
        for signed in FLAGS {
            check(150, 70, 300, signed, (false, false), (21, 22));
            check(5, 2500, 9, signed, (true, false), (23, 24));
            check(1, 3, PACKED_LINES + 20, signed, (false, true), (25, 26));
            check(PACKED_LINES + 20, 3, 2, signed, (false, true), (27, 28));
        }
    }

    #[test]
    fn sums_beyond_32_bits_wrap() {
        check(1, 140_000, 1, (true, true), (false, false), (0, 0));
    }
}
