//! Systems of linear equations: elimination with partial pivoting, and substitution.
//!
//! Both go by halves, so that nearly all of the work is products of matrices: S. Toledo, "Locality of reference in LU
//! decomposition with partial pivoting", SIAM Journal on Matrix Analysis and Applications 18 (1997). Products add; so multipliers, and
//! the rows that substitution has solved, are kept as their negatives until the end.

#![expect(unsafe_code, reason = "parts of one matrix are read and written side by side")]

use std::ops::{Add, Mul, Neg};
use std::ptr;
use std::slice;

use penstock_data::memory::scratch;
use penstock_data::{C64, C128};

use crate::arch::dispatch;
use crate::matmul::{Mat, Update, has_size, pieces};
use crate::pack::Packed;
use crate::pool::{Shared, parallel_parts};

/// Columns that are eliminated, and rows that are solved for, one by one.
const FEW: usize = 16;
/// Right-hand sides that are solved for at a time, by rows that stay in the nearest cache.
const STRIP: usize = 64;

/// Element types of systems of equations.
pub trait Field:
    Update + PartialEq + Add<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + std::fmt::Debug
{
    /// 0.
    const ZERO: Self;
    /// The type of sizes.
    type Size: PartialOrd + Copy;
    /// The size of 0.
    const NO_SIZE: Self::Size;
    /// What is greatest for a pivot: the sum of the absolute values of both parts.
    fn size(self) -> Self::Size;
    /// The quotient; of complex numbers without squares, which may overflow.
    fn divided(self, divisor: Self) -> Self;
    /// The conjugate.
    fn conjugate(self) -> Self;
}

macro_rules! fields {
    ($($real:ident $complex:ident),*) => {$(
        impl Field for $real {
            const ZERO: $real = 0.0;
            type Size = $real;
            const NO_SIZE: $real = 0.0;
            #[inline(always)]
            fn size(self) -> $real {
                self.abs()
            }
            #[inline(always)]
            fn divided(self, divisor: $real) -> $real {
                self / divisor
            }
            #[inline(always)]
            fn conjugate(self) -> $real {
                self
            }
        }

        impl Field for $complex {
            const ZERO: $complex = $complex::new(0.0, 0.0);
            type Size = $real;
            const NO_SIZE: $real = 0.0;
            #[inline(always)]
            fn size(self) -> $real {
                self.re.abs() + self.im.abs()
            }
            #[inline(always)]
            fn divided(self, divisor: $complex) -> $complex {
                self.fdiv(divisor)
            }
            #[inline(always)]
            fn conjugate(self) -> $complex {
                self.conj()
            }
        }
    )*};
}

fields!(f32 C64, f64 C128);

/// Elements that are worked at side by side; a power of two.
const LANES: usize = 16;

/// The place of the first of the greatest elements. NaN is one only where all others are 0.
#[inline(always)]
fn greatest<T: Field>(column: &[T]) -> usize {
    let greater = |a: T::Size, size: T::Size| if size > a { size } else { a };
    let mut most = [T::NO_SIZE; LANES];
    let (chunks, rest) = column.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            most[l] = greater(most[l], chunk[l].size());
        }
    }
    for (most, x) in most.iter_mut().zip(rest) {
        *most = greater(*most, x.size());
    }
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            most[l] = greater(most[l], most[l + width]);
        }
        width /= 2;
    }
    let most = most[0];
    if most == T::NO_SIZE {
        return column.iter().position(|&x| x != T::ZERO).unwrap_or(0);
    }
    let is = |x: &T| x.size() == most;
    let before =
        LANES * chunks.iter().position(|chunk| chunk.iter().fold(false, |any, x| any | is(x))).unwrap_or(chunks.len());
    before + column[before..].iter().position(is).unwrap_or(0)
}

/// Copies an element `(i, j)` of a row-major matrix to the place `(j, i)` of another one.
///
/// # Safety
/// `from` is readable as `rows` by `columns`, whose rows are `from_row` elements apart; `to` is writable as `columns` by `rows`,
/// and disjoint.
#[inline(always)]
unsafe fn transpose<T: Copy>(from: *const T, from_row: usize, rows: usize, columns: usize, to: *mut T, to_row: usize) {
    const SIDE: usize = 8;
    // SAFETY: the caller's contract.
    unsafe {
        let (down, across) = (rows - rows % SIDE, columns - columns % SIDE);
        for i in (0..down).step_by(SIDE) {
            for j in (0..across).step_by(SIDE) {
                let block: [[T; SIDE]; SIDE] =
                    std::array::from_fn(|r| from.add((i + r) * from_row + j).cast::<[T; SIDE]>().read_unaligned());
                for c in 0..SIDE {
                    let column: [T; SIDE] = std::array::from_fn(|r| block[r][c]);
                    to.add((j + c) * to_row + i).cast::<[T; SIDE]>().write_unaligned(column);
                }
            }
        }
        for i in 0..rows {
            for j in if i < down { across } else { 0 }..columns {
                *to.add(j * to_row + i) = *from.add(i * from_row + j);
            }
        }
    }
}

/// A matrix that is eliminated in place.
struct Elimination<'a, T> {
    m: usize,
    n: usize,
    a: *mut T,
    swaps: &'a mut [usize],
    /// Memory for [`FEW`] columns of `m` and [`LANES`] elements.
    panel: *mut T,
}

impl<T: Field> Elimination<'_, T> {
    /// Eliminates the columns `from..to`, below the rows of these numbers.
    ///
    /// # Safety
    /// The matrix is writable, as is the panel; there is a row for each of the columns.
    unsafe fn columns(&mut self, from: usize, to: usize) {
        // SAFETY: the same contract; the parts of the matrix are disjoint.
        unsafe {
            if to - from <= FEW {
                return self.one_by_one(from, to);
            }
            let middle = from + ((to - from) / 2).next_multiple_of(FEW);
            self.columns(from, middle);
            self.beside(from, middle, to);
            let (m, k, width) = (self.m - middle, middle - from, to - middle);
            if m > 0 {
                let left = Mat { ptr: self.at(middle, from).cast_const(), row: self.n as isize, col: 1 };
                let upper = Mat { ptr: self.at(from, middle).cast_const(), ..left };
                let pieces = pieces::<T>(m, k, width);
                T::update(m, k, width, left, upper, self.at(middle, middle), self.n, pieces, true);
            }
            self.columns(middle, to);
        }
    }

    /// # Safety
    /// The element is inside of the matrix, or one past its end.
    unsafe fn at(&self, i: usize, j: usize) -> *mut T {
        // SAFETY: the caller's contract.
        unsafe { self.a.add(i * self.n + j) }
    }

    /// Solves for the columns `middle..to` of the rows `from..middle`, of which the columns before are eliminated.
    ///
    /// # Safety
    /// As for [`Elimination::columns`].
    unsafe fn beside(&mut self, from: usize, middle: usize, to: usize) {
        // SAFETY: the triangle is on the left of what is written.
        unsafe {
            let a = Mat { ptr: self.at(from, from).cast_const(), row: self.n as isize, col: 1 };
            let triangle = Triangle { a, n: middle - from, downward: true, unit: true };
            by_columns(triangle.n, to - middle, self.at(from, middle), self.n, |x, k, row| triangle.solve(k, x, row));
        }
    }

    /// # Safety
    /// As for [`Elimination::columns`].
    unsafe fn one_by_one(&mut self, from: usize, to: usize) {
        let (high, width, n) = (self.m - from, to - from, self.n);
        let (a, panel, swaps) = (self.a, self.panel, &mut *self.swaps);
        // Columns are worked at in whole chunks, the last of which may reach beyond the last row.
        let pitch = high + LANES;
        dispatch(
            #[inline(always)]
            || {
                // SAFETY: columns and chunks are inside of the panel, and rows inside of the matrix.
                unsafe {
                    let corner = a.add(from * n + from);
                    transpose(corner.cast_const(), n, high, width, panel, pitch);
                    for c in 0..width {
                        slice::from_raw_parts_mut(panel.add(c * pitch + high), LANES).fill(T::ZERO);
                    }
                    for j in 0..width {
                        let column = panel.add(j * pitch);
                        let pivot = j + greatest(slice::from_raw_parts(column.add(j), high - j));
                        swaps[from + j] = from + pivot;
                        if pivot != j {
                            for c in 0..width {
                                ptr::swap(panel.add(c * pitch + j), panel.add(c * pitch + pivot));
                            }
                            ptr::swap_nonoverlapping(a.add((from + j) * n), a.add((from + pivot) * n), n);
                        }
                        let divisor = *column.add(j);
                        if divisor == T::ZERO {
                            continue;
                        }
                        let chunk = |column: *mut T, i: usize| &mut *column.add(j + 1 + i * LANES).cast::<[T; LANES]>();
                        let chunks = (high - j - 1).div_ceil(LANES);
                        for i in 0..chunks {
                            *chunk(column, i) = chunk(column, i).map(|x| -x.divided(divisor));
                        }
                        for c in j + 1..width {
                            let other = panel.add(c * pitch);
                            let factor = *other.add(j);
                            for i in 0..chunks {
                                let (x, l) = (*chunk(other, i), *chunk(column, i));
                                *chunk(other, i) = std::array::from_fn(|e| x[e] + l[e] * factor);
                            }
                        }
                    }
                    transpose(panel.cast_const(), pitch, width, high, corner, n);
                }
            },
        );
    }
}

/// Replaces a row-major matrix of `m` by `n` by its factors in one: `u` above the diagonal and on it, below it the negative of `l`,
/// whose diagonal is 1. Row `i` was exchanged with row `swaps[i]`, in this order; there are as many as the smaller of `m` and `n`.
///
/// # Panics
/// If `a` has not `m * n` elements, or `swaps` not so many.
pub fn factorise<T: Field>(m: usize, n: usize, a: &mut [T], swaps: &mut [usize]) {
    assert!(has_size(a, m, n) && swaps.len() == m.min(n), "sizes of factors");
    if a.is_empty() {
        return;
    }
    let mut memory = Packed::<T, 256>::new();
    let mut lu = Elimination { m, n, a: a.as_mut_ptr(), panel: memory.room(FEW * (m + LANES)), swaps };
    let p = m.min(n);
    // SAFETY: the matrix is borrowed alone; `p` is at most `m`.
    unsafe {
        lu.columns(0, p);
        lu.beside(0, p, n);
    }
}

/// A triangle of a matrix of `n` by `n`.
#[derive(Clone, Copy)]
struct Triangle<T> {
    a: Mat<T>,
    n: usize,
    /// Whether it is the lower one, so that rows are solved for from the first on.
    downward: bool,
    /// Whether the diagonal counts as 1 and the elements are negative; else solutions become negative.
    unit: bool,
}

// SAFETY: it is only read.
unsafe impl<T: Sync> Sync for Triangle<T> {}

impl<T: Field> Triangle<T> {
    /// Replaces `x`, of `n` by `k`, by the solution for it, or by its negative unless `unit`. Rows of `x` are `row` elements apart.
    ///
    /// # Safety
    /// The triangle is readable, and `x` writable and disjoint.
    unsafe fn solve(&self, k: usize, x: *mut T, row: usize) {
        // SAFETY: the same contract; the triangles are parts of this one, and parts of `x` are disjoint.
        unsafe {
            if self.n <= FEW {
                return self.one_by_one(k, x, row);
            }
            let middle = (self.n / 2).next_multiple_of(FEW);
            let first = Triangle { n: middle, ..*self };
            let second = Triangle { n: self.n - middle, a: self.a.at(middle, middle), ..*self };
            let below = x.add(middle * row);
            let rows = |x: *mut T| Mat { ptr: x.cast_const(), row: row as isize, col: 1 };
            if self.downward {
                first.solve(k, x, row);
                T::update(second.n, middle, k, self.a.at(middle, 0), rows(x), below, row, 1, true);
                second.solve(k, below, row);
            } else {
                second.solve(k, below, row);
                T::update(middle, second.n, k, self.a.at(0, middle), rows(below), x, row, 1, true);
                first.solve(k, x, row);
            }
        }
    }

    /// # Safety
    /// As for [`Triangle::solve`]; `n` is at most [`FEW`].
    unsafe fn one_by_one(&self, k: usize, x: *mut T, row: usize) {
        let (n, mut a) = (self.n, [[T::ZERO; FEW]; FEW]);
        for i in 0..n {
            for j in if self.downward { 0..i + 1 } else { i..n } {
                // SAFETY: inside of the triangle.
                a[i][j] = unsafe { *self.a.at(i, j).ptr };
            }
        }
        dispatch(
            #[inline(always)]
            || {
                for first in (0..k).step_by(LANES) {
                    let width = LANES.min(k - first);
                    let mut strip = [[T::ZERO; LANES]; FEW];
                    // SAFETY: the strip is inside of `x`.
                    let rows: [_; FEW] = std::array::from_fn(|i| unsafe { x.add(i.min(n - 1) * row + first) });
                    for i in 0..n {
                        if width == LANES {
                            // SAFETY: the strip is inside of `x`.
                            strip[i] = unsafe { rows[i].cast::<[T; LANES]>().read_unaligned() };
                        } else {
                            // SAFETY: the strip is inside of `x`.
                            (0..width).for_each(|j| strip[i][j] = unsafe { *rows[i].add(j) });
                        }
                    }
                    for step in 0..n {
                        let i = if self.downward { step } else { n - 1 - step };
                        if !self.unit {
                            strip[i] = strip[i].map(|x| -x.divided(a[i][i]));
                        }
                        let solved = strip[i];
                        for j in if self.downward { i + 1..n } else { 0..i } {
                            let factor = a[j][i];
                            for e in 0..LANES {
                                strip[j][e] = strip[j][e] + factor * solved[e];
                            }
                        }
                    }
                    for i in 0..n {
                        if width == LANES {
                            // SAFETY: the strip is inside of `x`.
                            unsafe { rows[i].cast::<[T; LANES]>().write_unaligned(strip[i]) };
                        } else {
                            // SAFETY: the strip is inside of `x`.
                            (0..width).for_each(|j| unsafe { *rows[i].add(j) = strip[i][j] });
                        }
                    }
                }
            },
        );
    }
}

/// Calls `solve` for parts of the columns of `x`, of `n` by `k` with rows `row` elements apart, on several threads where that is worth
/// it: with where a part starts, its columns, and `row`.
///
/// # Safety
/// `x` is writable; `solve` writes to its part alone.
unsafe fn by_columns<T: Field>(n: usize, k: usize, x: *mut T, row: usize, solve: impl Fn(*mut T, usize, usize) + Sync) {
    if k == 0 || n == 0 {
        return;
    }
    let x = Shared(x);
    parallel_parts(k, STRIP, pieces::<T>(n, n.div_ceil(2), k), |part| {
        // SAFETY: the columns are inside of `x`.
        solve(unsafe { x.get().add(part.start) }, part.len(), row);
    });
}

/// Solves `a x = b`, or `a^H x = b` where `adjoint`, for the row-major matrix `a` of `n` by `n`; `x` holds `b`, of `n` by `k`, and then
/// the solution. False, and nothing of use in `x`, where a pivot is 0.
///
/// # Panics
/// If `a` has not `n * n` elements, or `x` not `n * k`.
pub fn solve<T: Field>(n: usize, k: usize, a: &[T], adjoint: bool, x: &mut [T]) -> bool {
    assert!(has_size(a, n, n) && has_size(x, n, k), "sizes of a system");
    let (mut memory, mut swaps) = (Packed::<T, 256>::new(), scratch(0, n));
    // SAFETY: there is room for as many elements, all of which are written.
    let factors = unsafe {
        let room = memory.room(n * n);
        room.copy_from_nonoverlapping(a.as_ptr(), n * n);
        slice::from_raw_parts_mut(room, n * n)
    };
    factorise(n, n, factors, &mut swaps);
    if factors.iter().step_by(n + 1).any(|x| *x == T::ZERO) {
        return false;
    }
    let (row, col) = if adjoint { (1, n as isize) } else { (n as isize, 1) };
    let l = Triangle { a: Mat { ptr: factors.as_ptr(), row, col }, n, downward: !adjoint, unit: true };
    let u = Triangle { downward: adjoint, unit: false, ..l };
    // SAFETY: `x` is borrowed alone, and parts of its columns are disjoint.
    unsafe {
        by_columns(n, k, x.as_mut_ptr(), k, |x, k, row| {
            let exchange = |i: usize| {
                if i != swaps[i] {
                    ptr::swap_nonoverlapping(x.add(i * row), x.add(swaps[i] * row), k);
                }
            };
            if adjoint {
                each(n, k, x, row, |x| -x.conjugate());
                u.solve(k, x, row);
                l.solve(k, x, row);
                each(n, k, x, row, T::conjugate);
                (0..n).rev().for_each(exchange);
            } else {
                (0..n).for_each(exchange);
                each(n, k, x, row, T::neg);
                l.solve(k, x, row);
                u.solve(k, x, row);
            }
        });
    }
    true
}

/// Solves `a x = b`, or `a^H x = b` where `adjoint`, where `a` of `n` by `n` is the lower or upper triangle of what is given; `x`
/// holds `b`, of `n` by `k`, and then the solution.
///
/// # Panics
/// If `a` has not `n * n` elements, or `x` not `n * k`.
pub fn solve_triangular<T: Field>(n: usize, k: usize, a: &[T], lower: bool, adjoint: bool, x: &mut [T]) {
    assert!(has_size(a, n, n) && has_size(x, n, k), "sizes of a system");
    let (row, col) = if adjoint { (1, n as isize) } else { (n as isize, 1) };
    let triangle = Triangle { a: Mat { ptr: a.as_ptr(), row, col }, n, downward: lower != adjoint, unit: false };
    // SAFETY: `x` is borrowed alone, and parts of its columns are disjoint.
    unsafe {
        by_columns(n, k, x.as_mut_ptr(), k, |x, k, row| {
            each(n, k, x, row, |x| if adjoint { -x.conjugate() } else { -x });
            triangle.solve(k, x, row);
            if adjoint {
                each(n, k, x, row, T::conjugate);
            }
        });
    }
}

/// Replaces each element of `x`, of `n` by `k` with rows `row` elements apart.
///
/// # Safety
/// `x` is writable.
unsafe fn each<T: Copy>(n: usize, k: usize, x: *mut T, row: usize, f: impl Fn(T) -> T) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        let row = unsafe { slice::from_raw_parts_mut(x.add(i * row), k) };
        row.iter_mut().for_each(|x| *x = f(*x));
    }
}
