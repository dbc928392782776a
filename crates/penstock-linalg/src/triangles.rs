//! Elimination with partial pivoting, and substitution, by halves: nearly all of the work is products of matrices.

use std::sync::{Mutex, PoisonError};

use penstock_kernels::matmul::add_product;

use crate::{Scalar, Share};

/// Columns that are eliminated one by one.
const FEW: usize = 8;

/// Replaces a row-major matrix of `m` by `n` by its factors in one, and exchanges elements of `order` as rows.
pub(crate) fn factorise<T: Scalar>(m: usize, n: usize, a: &mut [T], order: &mut [usize]) {
    let p = m.min(n);
    let mut lu = Elimination { m, n, a, order, column: vec![T::ZERO; FEW * m], left: Vec::new(), upper: Vec::new() };
    lu.columns(0, p);
    lu.beside(0, p, n);
}

struct Elimination<'a, T> {
    m: usize,
    n: usize,
    a: &'a mut [T],
    order: &'a mut [usize],
    /// Some columns, each of neighbours.
    column: Vec<T>,
    left: Vec<T>,
    upper: Vec<T>,
}

impl<T: Scalar> Elimination<'_, T> {
    /// Eliminates the columns `from..to`, below the rows of these numbers.
    fn columns(&mut self, from: usize, to: usize) {
        if to - from <= FEW {
            return self.one_by_one(from, to);
        }
        let middle = from + ((to - from) / 2).next_multiple_of(FEW);
        self.columns(from, middle);
        self.beside(from, middle, to);
        self.below(from, middle, to);
        self.columns(middle, to);
    }

    /// The columns `middle..to` of the rows `from..middle`, which are eliminated.
    fn beside(&mut self, from: usize, middle: usize, to: usize) {
        let (n, width) = (self.n, to - middle);
        if width == 0 || middle == from {
            return;
        }
        let mut upper = std::mem::take(&mut self.upper);
        upper.clear();
        for i in from..middle {
            upper.extend_from_slice(&self.a[i * n + middle..i * n + to]);
        }
        let rows = middle - from;
        let l = Triangle { a: &self.a[from * n + from..], row: n, n: rows, is_lower: true, is_unit: true, adjoint: false };
        l.solve(width, &mut upper, &mut self.left);
        for (i, row) in upper.chunks_exact(width).enumerate() {
            self.a[(from + i) * n + middle..][..width].copy_from_slice(row);
        }
        self.upper = upper;
    }

    /// Subtracts from the columns `middle..to` of the rows from `middle` on what the columns `from..middle` contribute. The
    /// rows above have been left in `self.upper`.
    fn below(&mut self, from: usize, middle: usize, to: usize) {
        let (m, n) = (self.m, self.n);
        if to == middle || m == middle {
            return;
        }
        self.left.clear();
        for i in middle..m {
            self.left.extend(self.a[i * n + from..i * n + middle].iter().map(|x| x.negative()));
        }
        add_product(middle - from, to - middle, &self.left, &self.upper, &mut self.a[middle * n + middle..], n);
    }

    fn one_by_one(&mut self, from: usize, to: usize) {
        let (m, n) = (self.m, self.n);
        let high = m - from;
        for i in 0..high {
            for j in from..to {
                self.column[(j - from) * high + i] = self.a[(from + i) * n + j];
            }
        }
        for j in 0..to - from {
            let (done, rest) = self.column.split_at_mut((j + 1) * high);
            let column = &mut done[j * high..];
            let mut pivot = j;
            let mut greatest = column[j].pivot_size();
            for (i, x) in column.iter().enumerate().skip(j + 1) {
                let size = x.pivot_size();
                if size > greatest {
                    (pivot, greatest) = (i, size);
                }
            }
            if pivot != j {
                column.swap(j, pivot);
                rest.chunks_exact_mut(high).take(to - from - 1 - j).for_each(|c| c.swap(j, pivot));
                done[..j * high].chunks_exact_mut(high).for_each(|c| c.swap(j, pivot));
                self.order.swap(from + j, from + pivot);
                let (above, below) = self.a.split_at_mut((from + pivot) * n);
                above[(from + j) * n..][..n].swap_with_slice(&mut below[..n]);
            }
            let column = &mut done[j * high..];
            let divisor = column[j];
            if divisor == T::ZERO {
                continue;
            }
            let below = &mut column[j + 1..];
            below.iter_mut().for_each(|x| *x = x.divided(divisor));
            for other in rest.chunks_exact_mut(high).take(to - from - 1 - j) {
                let factor = other[j];
                for (x, &l) in other[j + 1..].iter_mut().zip(&*below) {
                    *x = *x - l * factor;
                }
            }
        }
        for i in 0..high {
            for j in from..to {
                self.a[(from + i) * n + j] = self.column[(j - from) * high + i];
            }
        }
    }
}

/// A triangular matrix of `n` by `n`, or the adjoint of one, in memory whose rows are `row` elements apart.
#[derive(Clone, Copy)]
pub(crate) struct Triangle<'a, T> {
    pub(crate) a: &'a [T],
    pub(crate) row: usize,
    pub(crate) n: usize,
    /// Of the matrix in memory, of which the other triangle is not read.
    pub(crate) is_lower: bool,
    /// Whether its diagonal is not read either, but counts as 1.
    pub(crate) is_unit: bool,
    pub(crate) adjoint: bool,
}

impl<T: Scalar> Triangle<'_, T> {
    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> T {
        if self.adjoint { self.a[j * self.row + i].conjugate() } else { self.a[i * self.row + j] }
    }

    /// Replaces `x`, row-major of `n` by `k`, by the solution for it; `left` is memory to work in.
    pub(crate) fn solve(&self, k: usize, x: &mut [T], left: &mut Vec<T>) {
        self.range(0, self.n, k, x, left);
    }

    /// The rows `from..to`, which `x` has, all others that they need having been subtracted.
    fn range(&self, from: usize, to: usize, k: usize, x: &mut [T], left: &mut Vec<T>) {
        let n = to - from;
        let forward = self.is_lower != self.adjoint;
        if n <= FEW {
            return self.one_by_one(from, n, k, x);
        }
        let middle = from + (n / 2).next_multiple_of(FEW);
        let (top, bottom) = x.split_at_mut((middle - from) * k);
        let block = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>, left: &mut Vec<T>| {
            left.clear();
            for i in rows {
                left.extend(columns.clone().map(|j| self.at(i, j).negative()));
            }
        };
        if forward {
            self.range(from, middle, k, top, left);
            block(middle..to, from..middle, left);
            add_product(middle - from, k, left, top, bottom, k);
            self.range(middle, to, k, bottom, left);
        } else {
            self.range(middle, to, k, bottom, left);
            block(from..middle, middle..to, left);
            add_product(to - middle, k, left, bottom, top, k);
            self.range(from, middle, k, top, left);
        }
    }

    fn one_by_one(&self, from: usize, n: usize, k: usize, x: &mut [T]) {
        let forward = self.is_lower != self.adjoint;
        for step in 0..n {
            let i = if forward { step } else { n - 1 - step };
            let (before, rest) = x.split_at_mut(i * k);
            let (row, after) = rest.split_at_mut(k);
            if !self.is_unit {
                let divisor = self.at(from + i, from + i);
                row.iter_mut().for_each(|x| *x = x.divided(divisor));
            }
            let (first, others) = if forward { (i + 1, after) } else { (0, before) };
            for (j, other) in others.chunks_exact_mut(k).enumerate() {
                let factor = self.at(from + first + j, from + i);
                for (x, &y) in other.iter_mut().zip(&*row) {
                    *x = *x - factor * y;
                }
            }
        }
    }
}

/// Multiplications below which right-hand sides stay together.
const PANEL_WORK: usize = 1 << 18;

/// Calls `solve` for panels of the columns of the row-major `x` of `n` by `k`, which the shape alone determines: with the
/// number of its columns, and its elements.
pub(crate) fn in_panels<T: Scalar>(
    n: usize,
    k: usize,
    x: &mut [T],
    share: Share<'_>,
    solve: impl Fn(usize, &mut [T]) + Sync,
) {
    // Narrower panels waste the registers of products, and there is no use for many more than there are threads.
    let width = (PANEL_WORK / (n * n)).max(k / 16).max(128);
    if k <= width {
        return solve(k, x);
    }
    let panels: Vec<Mutex<Vec<T>>> = (0..k.div_ceil(width)).map(|_| Mutex::default()).collect();
    let columns = |i: usize| i * width..k.min((i + 1) * width);
    let from = &*x;
    share(panels.len(), &|i| {
        let columns = columns(i);
        let mut panel = Vec::with_capacity(n * columns.len());
        from.chunks_exact(k).for_each(|row| panel.extend_from_slice(&row[columns.clone()]));
        solve(columns.len(), &mut panel);
        *panels[i].lock().unwrap_or_else(PoisonError::into_inner) = panel;
    });
    for (i, panel) in panels.into_iter().enumerate() {
        let (columns, panel) = (columns(i), panel.into_inner().unwrap_or_else(PoisonError::into_inner));
        for (to, row) in x.chunks_exact_mut(k).zip(panel.chunks_exact(columns.len())) {
            to[columns.clone()].copy_from_slice(row);
        }
    }
}
