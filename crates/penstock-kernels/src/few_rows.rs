//! Products of few rows, without tiles: rows of the right matrix are read as they lie, and added to sums in the fastest cache.
//!
//! An element accumulates in the order of the inner dimension, as in tiles, so that its bits are the same.

#![expect(unsafe_code, reason = "vectors over raw memory")]

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::algebra::Algebra;
use crate::register_tile::Vector;

/// The bytes of sums that few rows have at a time.
pub(crate) const SUMS: usize = 16 << 10;

/// Few rows of a product: those of a left matrix of neighbours by a right matrix whose rows are of neighbours.
#[derive(Clone, Copy)]
pub(crate) struct Rows<T> {
    /// The number of rows.
    pub(crate) m: usize,
    /// The inner dimension.
    pub(crate) k: usize,
    /// The columns.
    pub(crate) n: usize,
    pub(crate) a: *const T,
    /// Elements from a row of the left matrix to the next.
    pub(crate) a_row: isize,
    pub(crate) b: *const T,
    /// Elements from a row of the right matrix to the next.
    pub(crate) b_row: isize,
    pub(crate) out: *mut T,
    /// Elements from a row of the result to the next.
    pub(crate) out_row: usize,
    /// Whether it is added to what is there.
    pub(crate) add: bool,
}

/// Makes `C` vectors of columns of one row. If `left` is not 0, it makes that many columns of one vector.
///
/// # Safety
/// There is the instruction set of `V`; the matrices are as said, and have so many columns.
#[inline(always)]
unsafe fn row_tile<V: Vector, const C: usize>(t: &Rows<V::Of>, left: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let load = |from: *const V::Of| if left == 0 { V::load(from) } else { V::load_part(from, left) };
        let mut acc = [V::splat(V::Of::ZERO); C];
        let mut b = t.b;
        for p in 0..t.k {
            let x = V::splat(*t.a.add(p));
            for c in 0..C {
                acc[c] = x.fma(load(b.add(c * V::LANES)), acc[c]);
            }
            b = b.wrapping_offset(t.b_row);
        }
        for c in 0..C {
            let to = t.out.add(c * V::LANES);
            let sum = if t.add { load(to).add(acc[c]) } else { acc[c] };
            if left == 0 { sum.store(to) } else { sum.store_part(to, left) }
        }
    }
}

/// Few columns of one row.
///
/// # Safety
/// As for [`row_tile`].
#[inline(always)]
unsafe fn few_columns<V: Vector>(t: &Rows<V::Of>) {
    let mut at = *t;
    // SAFETY: the caller's contract, for the columns from `t.n - at.n` on.
    unsafe {
        while at.n > 0 {
            let taken = if at.n >= 4 * V::LANES {
                row_tile::<V, 4>(&at, 0);
                4 * V::LANES
            } else if at.n >= V::LANES {
                row_tile::<V, 1>(&at, 0);
                V::LANES
            } else {
                row_tile::<V, 1>(&at, at.n);
                at.n
            };
            (at.b, at.out, at.n) = (at.b.add(taken), at.out.add(taken), at.n - taken);
        }
    }
}

/// The sums of few rows: where they are, the elements from a row to the next, and whether nothing is there yet.
#[derive(Clone, Copy)]
struct Sums<T> {
    to: *mut T,
    row: usize,
    fresh: bool,
}

/// Adds the products of `M` elements of the columns `p..p + R` of the left matrix, from row `i` on, by `R` rows of the right one.
///
/// # Safety
/// As for [`row_tile`]; the sums are writable, and readable unless they are fresh.
#[inline(always)]
unsafe fn rank_update<V: Vector, const M: usize, const R: usize>(
    t: &Rows<V::Of>,
    i: usize,
    p: usize,
    sums: Sums<V::Of>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let a = t.a.wrapping_offset(i as isize * t.a_row).wrapping_add(p);
        let x: [[V; R]; M] = std::array::from_fn(|m| {
            let a = a.wrapping_offset(m as isize * t.a_row);
            std::array::from_fn(|r| V::splat(*a.add(r)))
        });
        let b: [*const V::Of; R] = std::array::from_fn(|r| t.b.wrapping_offset((p + r) as isize * t.b_row));
        let to: [*mut V::Of; M] = std::array::from_fn(|m| sums.to.wrapping_add((i + m) * sums.row));
        for c in (0..t.n).step_by(V::LANES) {
            let left = t.n - c;
            let load = |from: *const V::Of| if left >= V::LANES { V::load(from) } else { V::load_part(from, left) };
            let mut acc: [V; M] =
                std::array::from_fn(|m| if sums.fresh { V::splat(V::Of::ZERO) } else { load(to[m].add(c)) });
            for r in 0..R {
                let row = load(b[r].add(c));
                for m in 0..M {
                    acc[m] = x[m][r].fma(row, acc[m]);
                }
            }
            for m in 0..M {
                let to = to[m].add(c);
                if left >= V::LANES { acc[m].store(to) } else { acc[m].store_part(to, left) }
            }
        }
    }
}

/// Adds the products of `M` rows, from row `i` on, `R` rows of the right matrix at a time.
///
/// # Safety
/// As for [`rank_update`].
#[inline(always)]
unsafe fn rank_updates<V: Vector, const M: usize, const R: usize>(
    t: &Rows<V::Of>,
    i: usize,
    stretch: Range<usize>,
    mut sums: Sums<V::Of>,
) {
    let mut p = stretch.start;
    // SAFETY: the caller's contract.
    unsafe {
        while p + R <= stretch.end {
            rank_update::<V, M, R>(t, i, p, sums);
            sums.fresh = false;
            p += R;
        }
        while p < stretch.end {
            rank_update::<V, M, 1>(t, i, p, sums);
            sums.fresh = false;
            p += 1;
        }
    }
}

/// Few rows by a stretch of the inner dimension. Rows of the right matrix are read as they lie, some side by side, since memory is fastest so;
/// the sums stay in the fastest cache.
///
/// # Safety
/// As for [`row_tile`], for at most [`SUMS`] bytes of the result.
#[inline(always)]
pub(crate) unsafe fn few_rows<V: Vector>(t: &Rows<V::Of>) {
    // SAFETY: the caller's contract.
    unsafe {
        if t.m == 1 && t.n < 8 * V::LANES {
            return few_columns::<V>(t);
        }
        let mut own = MaybeUninit::<[u64; SUMS / 8]>::uninit();
        let (to, row) = if t.add { (own.as_mut_ptr().cast(), t.n) } else { (t.out, t.out_row) };
        for p in (0..t.k).step_by(8) {
            let (stretch, sums) = (p..t.k.min(p + 8), Sums { to, row, fresh: p == 0 });
            let pairs = t.m / 2 * 2;
            for i in (0..pairs).step_by(2) {
                rank_updates::<V, 2, 4>(t, i, stretch.clone(), sums);
            }
            if pairs < t.m {
                rank_updates::<V, 1, 8>(t, pairs, stretch, sums);
            }
        }
        for i in 0..if t.add { t.m } else { 0 } {
            let (to, sums) = (t.out.add(i * t.out_row), to.add(i * row));
            (0..t.n).for_each(|c| *to.add(c) = *to.add(c) + *sums.add(c));
        }
    }
}
