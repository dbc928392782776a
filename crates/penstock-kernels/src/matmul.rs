//! Matrix products.
//!
//! Those of floats are made by `product.rs`; 16-bit floats are widened to `f32` and rounded once at the end. Those of complex numbers are
//! the `gemm` crate's. Integers wrap.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::cell::Cell;
use std::ptr;

use gemm_common::cache::CACHE_INFO;
use gemm_common::gemm::L2_SLAB;
use penstock_data::memory::{probe, scratch};
use penstock_data::{C64, C128, DType, DTypeSet, Element, bf16, f16, with_dtype};
use smallvec::SmallVec;

use crate::arch::dispatch;
use crate::copy::fill;
use crate::cost;
use crate::num::{Int, Real};
use crate::pack::{Packed, narrow};
use crate::pool::{PIECE_NS, Shared, grain, parallel_for, parallel_parts, threads};
use crate::product::product;

/// The dtypes that [`matmul`] takes.
pub const MATMUL_DTYPES: DTypeSet = DTypeSet::NUMERIC;

/// A matrix in memory: its first element, and the elements between rows and between columns.
#[derive(Clone, Copy, Debug)]
pub struct Mat<T> {
    /// The first element.
    pub ptr: *const T,
    /// Elements from a row to the next.
    pub row: isize,
    /// Elements from a column to the next.
    pub col: isize,
}

impl<T> Mat<T> {
    /// A row-major matrix of `rows` by `cols`, or the transpose of a stored one of `cols` by `rows`.
    pub fn row_major(ptr: *const T, rows: usize, cols: usize, transposed: bool) -> Mat<T> {
        let (row, col) = if transposed { (1, rows as isize) } else { (cols as isize, 1) };
        Mat { ptr, row, col }
    }

    /// The transpose.
    pub(crate) fn transposed(self) -> Mat<T> {
        Mat { ptr: self.ptr, row: self.col, col: self.row }
    }

    /// The same memory, of another type of element.
    pub(crate) fn cast<U>(self) -> Mat<U> {
        Mat { ptr: self.ptr.cast(), row: self.row, col: self.col }
    }

    /// The part from an element on.
    ///
    /// # Safety
    /// The element is inside the matrix (or one past its end).
    pub(crate) unsafe fn at(self, i: usize, j: usize) -> Mat<T> {
        // SAFETY: the caller's contract.
        let ptr = unsafe { self.ptr.offset(i as isize * self.row + j as isize * self.col) };
        Mat { ptr, ..self }
    }
}

/// Element types with a matrix product.
pub trait Gemm: Element + Send + Sync {
    /// `out = a b`, `out` being row-major, shared by up to `pieces` threads.
    ///
    /// # Safety
    /// `a` is readable as `m` by `k`, `b` as `k` by `n`; `out` is writable as `m` by `n` and disjoint. None of `m`, `k` and `n`
    /// is 0.
    unsafe fn product(m: usize, k: usize, n: usize, a: Mat<Self>, b: Mat<Self>, out: *mut Self, pieces: usize);
}

/// A product on the calling thread, whose rows are `ldo` elements apart: `(m, k, n, a, b, out, ldo)`.
type Serial<T> = unsafe fn(usize, usize, usize, Mat<T>, Mat<T>, *mut T, usize);

/// Cuts the longer side of the result into one piece a thread, in multiples of a cache line.
///
/// # Safety
/// As for [`Gemm::product`]; that is also the contract of `serial`.
unsafe fn in_pieces<T: Copy>(
    serial: Serial<T>,
    m: usize,
    k: usize,
    n: usize,
    a: Mat<T>,
    b: Mat<T>,
    out: *mut T,
    ldo: usize,
    pieces: usize,
) {
    if pieces < 2 {
        // SAFETY: the same contract.
        return unsafe { serial(m, k, n, a, b, out, ldo) };
    }
    let (pa, pb, po) = (Shared(a.ptr.cast_mut()), Shared(b.ptr.cast_mut()), Shared(out));
    let (ra, ca, rb, cb) = (a.row, a.col, b.row, b.col);
    let by_rows = m >= n;
    let long = if by_rows { m } else { n };
    parallel_parts(long, 16, pieces, |part| {
        let (first, len) = (part.start, part.len());
        let (a, b) = (
            Mat { ptr: pa.get().cast_const(), row: ra, col: ca },
            Mat { ptr: pb.get().cast_const(), row: rb, col: cb },
        );
        // SAFETY: the pieces partition the rows or the columns of the result.
        unsafe {
            if by_rows {
                serial(len, k, n, a.at(first, 0), b, po.get().add(first * ldo), ldo);
            } else {
                serial(m, k, len, a, b.at(0, first), po.get().add(first), ldo);
            }
        }
    });
}

/// The bytes that the `gemm` crate may take to pack parts of both matrices, which are as large as its part of the caches and no larger
/// than the matrices; it ends the process where it cannot have them.
fn bytes_of_crate(m: usize, k: usize, n: usize, size: usize) -> usize {
    const TILE: usize = 64;
    const MOST: usize = 64 << 20;
    m.saturating_add(n).saturating_add(2 * TILE).saturating_mul(k).saturating_mul(size).min(MOST)
}

thread_local! {
    static HAS_SLAB: Cell<bool> = const { Cell::new(false) };
}

/// Has the `gemm` crate take what it keeps for each thread.
fn keep_slab() {
    if !HAS_SLAB.get() {
        probe(CACHE_INFO[1].cache_bytes);
        L2_SLAB.with(|_| HAS_SLAB.set(true));
    }
}

/// The bytes of the last cache, as `gemm` and `faer` take them to be.
pub fn bytes_of_last_cache() -> usize {
    CACHE_INFO[2].cache_bytes
}

macro_rules! gemm_crate {
    ($($ty:ty as $name:ident: $one:expr;)*) => {$(
        /// # Safety
        /// As for [`in_pieces`].
        unsafe fn $name<const ADD: bool>(
            m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, ldo: usize,
        ) {
            keep_slab();
            probe(bytes_of_crate(m, k, n, size_of::<$ty>()));
            // SAFETY: the caller's contract.
            unsafe {
                gemm::gemm(
                    m, n, k, out, 1, ldo as isize, ADD, a.ptr, a.col, a.row, b.ptr, b.col, b.row,
                    $one, $one, false, false, false, gemm::Parallelism::None,
                );
            }
        }
    )*};
}

gemm_crate! {
    C64 as crate_c64: C64::new(1.0, 0.0);
    C128 as crate_c128: C128::new(1.0, 0.0);
}

macro_rules! gemm_float {
    ($($ty:ty)*) => {$(
        impl Gemm for $ty {
            #[inline]
            unsafe fn product(m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, pieces: usize) {
                // SAFETY: the caller's contract.
                unsafe { <$ty>::update(m, k, n, a, b, out, n, pieces, false) }
            }
        }

        impl Update for $ty {
            #[inline]
            unsafe fn update(
                m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, ldo: usize, pieces: usize, add: bool,
            ) {
                // SAFETY: the caller's contract.
                unsafe {
                    // A column is a row of the transposed product: its elements are neighbours as well.
                    if n == 1 && m > 1 && ldo == 1 && b.row == 1 {
                        return <$ty>::update(1, k, m, b.transposed(), a.transposed(), out, m, pieces, add);
                    }
                    product(m, k, n, a, b, out, ldo, pieces, add);
                }
            }
        }
    )*};
}

gemm_float!(f32 f64);

macro_rules! gemm_complex {
    ($($ty:ty: $crate_product:ident;)*) => {$(
        impl Gemm for $ty {
            unsafe fn product(m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, pieces: usize) {
                // SAFETY: the caller's contract.
                unsafe { <$ty>::update(m, k, n, a, b, out, n, pieces, false) }
            }
        }

        impl Update for $ty {
            unsafe fn update(
                m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, ldo: usize, pieces: usize, add: bool,
            ) {
                let serial = if add { $crate_product::<true> } else { $crate_product::<false> };
                // SAFETY: the caller's contract.
                unsafe { in_pieces(serial, m, k, n, a, b, out, ldo, pieces) }
            }
        }
    )*};
}

gemm_complex! {
    C64: crate_c64;
    C128: crate_c128;
}

/// Element types of which products may be added to what is there.
pub trait Update: Gemm {
    /// `out = a b`, or `out += a b` if `add`, `out` having rows `ldo` elements apart, shared by up to `pieces` threads.
    ///
    /// # Safety
    /// As for [`Gemm::product`]; where `add` is set, `out` is readable as well.
    unsafe fn update(
        m: usize,
        k: usize,
        n: usize,
        a: Mat<Self>,
        b: Mat<Self>,
        out: *mut Self,
        ldo: usize,
        pieces: usize,
        add: bool,
    );
}

/// Whether the elements are those of a matrix of `m` by `n`.
pub(crate) fn has_size<T>(elements: &[T], m: usize, n: usize) -> bool {
    m.checked_mul(n) == Some(elements.len())
}

/// `out += a b`, with `a` and `b` row-major and contiguous, of as many columns and rows as `k`, and `b` of `n` columns; rows of
/// `out` are `ldo` elements apart.
///
/// # Panics
/// If `b` has not `k * n` elements, `a` not a multiple of `k`, or `out` not as many rows as `a`.
pub fn add_product<T: Update>(k: usize, n: usize, a: &[T], b: &[T], out: &mut [T], ldo: usize) {
    if k == 0 || n == 0 || a.is_empty() {
        return;
    }
    let m = a.len() / k;
    let end = (m - 1).checked_mul(ldo).and_then(|last| last.checked_add(n));
    let fits = has_size(a, m, k) && has_size(b, k, n) && n <= ldo && end.is_some_and(|end| out.len() >= end);
    assert!(fits, "sizes of a product");
    let (a, b) = (Mat::row_major(a.as_ptr(), m, k, false), Mat::row_major(b.as_ptr(), k, n, false));
    // SAFETY: the slices have these sizes, none of which is 0; `out` is borrowed alone.
    unsafe { T::update(m, k, n, a, b, out.as_mut_ptr(), ldo, pieces::<T>(m, k, n), true) }
}

/// The threads that a product is worth.
pub(crate) fn pieces<T: Gemm>(m: usize, k: usize, n: usize) -> usize {
    let ns = cost::product(T::DTYPE, m as f64 * n as f64 * k as f64);
    ((ns / PIECE_NS) as usize).clamp(1, threads())
}

/// Has `f` write `m` by `n` elements of the type in which they are computed, and rounds them into `out`.
///
/// # Safety
/// `out` is writable for as many elements; `f` writes all of them.
pub(crate) unsafe fn product_narrowed<S: Real>(m: usize, n: usize, out: *mut S, f: impl FnOnce(*mut S::Wide)) {
    let mut wide = Packed::<S::Wide, 1024>::new();
    let wide = Shared(wide.room(m * n));
    f(wide.get());
    let out = Shared(out);
    parallel_for(m * n, grain(0.1), |range| {
        // SAFETY: both have so many elements, and all wide ones are written.
        unsafe { narrow(wide.get().add(range.start), out.get().add(range.start), range.len()) };
    });
}

macro_rules! gemm_half {
    ($($ty:ty)*) => {$(
        impl Gemm for $ty {
            unsafe fn product(m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, pieces: usize) {
                // SAFETY: the caller's contract.
                unsafe { product_narrowed(m, n, out, |wide| product(m, k, n, a, b, wide, n, pieces, false)) }
            }
        }
    )*};
}

gemm_half!(f16 bf16);

macro_rules! gemm_int {
    ($($ty:ty)*) => {$(
        impl Gemm for $ty {
            unsafe fn product(m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, pieces: usize) {
                // SAFETY: the caller's contract.
                unsafe { in_pieces(integers, m, k, n, a, b, out, n, pieces) }
            }
        }
    )*};
}

gemm_int!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Columns and rows that are accumulated at a time.
const COLUMNS: usize = 64;
const ROWS: usize = 4;

/// A product by some columns at a time, which are copied to neighbours.
///
/// # Safety
/// As for [`in_pieces`].
unsafe fn integers<T: Int>(m: usize, k: usize, n: usize, a: Mat<T>, b: Mat<T>, out: *mut T, ldo: usize) {
    let mut block = scratch([T::ZERO; COLUMNS], k);
    dispatch(
        #[inline(always)]
        || {
            for first in (0..n).step_by(COLUMNS) {
                let width = COLUMNS.min(n - first);
                // SAFETY: the indices are inside of the matrices.
                unsafe {
                    for (p, row) in block.iter_mut().enumerate() {
                        let from = b.at(p, first);
                        if from.col == 1 && width == COLUMNS {
                            *row = from.ptr.cast::<[T; COLUMNS]>().read_unaligned();
                        } else {
                            (0..width).for_each(|j| row[j] = *from.at(0, j).ptr);
                        }
                    }
                    let whole = m - m % ROWS;
                    for i in (0..whole).step_by(ROWS) {
                        integer_rows::<T, ROWS>(a.at(i, 0), &block, width, out.add(i * ldo + first), ldo);
                    }
                    for i in whole..m {
                        integer_rows::<T, 1>(a.at(i, 0), &block, width, out.add(i * ldo + first), ldo);
                    }
                }
            }
        },
    );
}

/// `R` rows by `width` of [`COLUMNS`].
///
/// # Safety
/// `a` is readable for these rows and as many columns as the block has rows; `out` is writable.
#[inline(always)]
unsafe fn integer_rows<T: Int, const R: usize>(
    a: Mat<T>,
    block: &[[T; COLUMNS]],
    width: usize,
    out: *mut T,
    ldo: usize,
) {
    let mut acc = [[T::ZERO; COLUMNS]; R];
    // SAFETY: the caller's contract.
    unsafe {
        for (p, row) in block.iter().enumerate() {
            for r in 0..R {
                let x = *a.at(r, p).ptr;
                if width == COLUMNS {
                    for j in 0..COLUMNS {
                        acc[r][j] = acc[r][j].add(x.mul(row[j]));
                    }
                } else {
                    for j in 0..width {
                        acc[r][j] = acc[r][j].add(x.mul(row[j]));
                    }
                }
            }
        }
        for (r, row) in acc.iter().enumerate() {
            ptr::copy_nonoverlapping(row.as_ptr(), out.add(r * ldo), width);
        }
    }
}

/// `out = a b`, split over threads when it is worth it.
///
/// # Safety
/// As for [`Gemm::product`], but sizes may be 0.
pub unsafe fn gemm<T: Gemm>(m: usize, k: usize, n: usize, a: Mat<T>, b: Mat<T>, out: *mut T) {
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        // SAFETY: `out` is writable for `m * n` elements; all zero bytes are 0 in every type.
        return unsafe { ptr::write_bytes(out, 0, m * n) };
    }
    // SAFETY: the same contract; no size is 0.
    unsafe { T::product(m, k, n, a, b, out, pieces::<T>(m, k, n)) }
}

/// `out = a b`, with `a` of `m` by `k` and `b` of `k` by `n`; `a_trans` says that `a` is stored as `k` by `m`, `b_trans` that `b` is
/// stored as `n` by `k`. A `k` of 0 gives zeros.
///
/// # Panics
/// If `dtype` is not numeric.
///
/// # Safety
/// Matrices are row-major, contiguous and aligned; `a` and `b` are readable, `out` is writable as `m` by `n` and disjoint.
pub unsafe fn matmul(
    dtype: DType,
    m: usize,
    k: usize,
    n: usize,
    a: *const u8,
    a_trans: bool,
    b: *const u8,
    b_trans: bool,
    out: *mut u8,
) {
    // SAFETY: the same contract, with the element type of `dtype`.
    with_dtype!(numeric, dtype, T => unsafe {
        let (a, b) = (Mat::row_major(a.cast::<T>(), m, k, a_trans), Mat::row_major(b.cast::<T>(), k, n, b_trans));
        gemm::<T>(m, k, n, a, b, out.cast::<T>());
    }, else panic!("matmul does not take {dtype}"))
}

/// A product for every index of `batch`, to which the batch dimensions of the operands, `a_batch` and `b_batch`, broadcast by NumPy's rules.
/// The other parameters are those of [`matmul`].
///
/// # Panics
/// If `dtype` is not numeric, or the batch dimensions do not broadcast to `batch`.
///
/// # Safety
/// As for [`matmul`], with as many matrices as the products of the batch dimensions, one after the other.
pub unsafe fn matmul_batched(
    dtype: DType,
    batch: &[usize],
    a_batch: &[usize],
    b_batch: &[usize],
    m: usize,
    k: usize,
    n: usize,
    a: *const u8,
    a_trans: bool,
    b: *const u8,
    b_trans: bool,
    out: *mut u8,
) {
    let count: usize = batch.iter().product();
    if count == 1 {
        // SAFETY: the same contract.
        return unsafe { matmul(dtype, m, k, n, a, a_trans, b, b_trans, out) };
    }
    if m == 0 || n == 0 {
        return;
    }
    let size = dtype.size();
    if k == 0 {
        // SAFETY: the output has this many elements.
        return unsafe { fill(size, [0u8; 16].as_ptr(), count * m * n, out) };
    }
    // A shared right operand of untransposed rows makes one tall product.
    let b_shared = b_batch.iter().all(|&d| d == 1);
    let a_full = a_batch.iter().product::<usize>() == count;
    if b_shared && a_full && !a_trans {
        // SAFETY: the matrices of `a` and of the result are adjacent.
        return unsafe { matmul(dtype, count * m, k, n, a, false, b, b_trans, out) };
    }
    let (sa, sb) = (batch_strides(batch, a_batch), batch_strides(batch, b_batch));
    let (pa, pb, po) = (Shared(a.cast_mut()), Shared(b.cast_mut()), Shared(out));
    let offsets = |mut i: usize| {
        let (mut oa, mut ob) = (0, 0);
        for (d, &dim) in batch.iter().enumerate().rev() {
            oa += i % dim * sa[d];
            ob += i % dim * sb[d];
            i /= dim;
        }
        (oa * m * k * size, ob * k * n * size)
    };
    let one = |i: usize| {
        let (oa, ob) = offsets(i);
        // SAFETY: the offsets are of matrix `i`; results are disjoint.
        unsafe {
            matmul(
                dtype,
                m,
                k,
                n,
                pa.get().add(oa),
                a_trans,
                pb.get().add(ob),
                b_trans,
                po.get().add(i * m * n * size),
            );
        }
    };
    if count < threads() {
        return (0..count).for_each(one);
    }
    parallel_for(count, grain(m as f64 * n as f64 * k as f64 * 0.05), |range| range.for_each(one));
}

/// The matrices to advance by in an operand, for each dimension of the batch.
pub(crate) fn batch_strides(batch: &[usize], own: &[usize]) -> SmallVec<[usize; 6]> {
    let mut strides: SmallVec<[usize; 6]> = SmallVec::from_elem(0, batch.len());
    let missing = batch.len() - own.len();
    let mut stride = 1;
    for i in (0..own.len()).rev() {
        assert!(own[i] == 1 || own[i] == batch[missing + i], "batch {own:?} does not broadcast to {batch:?}");
        if own[i] != 1 {
            strides[missing + i] = stride;
        }
        stride *= own[i];
    }
    strides
}
