//! Products of matrices of `f32` and `f64`, a tile of the result in registers at a time.
//!
//! A tile is some rows by a *panel*, one or two vectors of columns. Its elements accumulate in the order of the inner
//! dimension, so which tile has an element does not change it.

#![expect(unsafe_code, reason = "vectors over raw memory")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ptr;

use crate::algebra::Algebra;
use crate::arch::{FUSED_BASE, level, prefetch};
#[cfg(target_arch = "x86_64")]
use crate::arch::{Level, at_v3, at_v4};
use crate::channel_tile::{ChannelSums, Channels, channel_sums, channels};
use crate::few_rows::{Rows, SUMS, few_rows};
use crate::math::Math;
use crate::num::Real;

/// A vector of one instruction set.
///
/// # Safety
/// All methods need that instruction set; those that take a pointer, that so many elements are there.
pub(crate) trait Vector: Copy {
    type Of: Float;
    /// The number of elements.
    const LANES: usize;
    unsafe fn splat(x: Self::Of) -> Self;
    unsafe fn load(from: *const Self::Of) -> Self;
    unsafe fn store(self, to: *mut Self::Of);
    /// The first `n` elements, and zeros.
    unsafe fn load_part(from: *const Self::Of, n: usize) -> Self;
    /// Stores the first `n` elements.
    unsafe fn store_part(self, to: *mut Self::Of, n: usize);
    unsafe fn add(self, other: Self) -> Self;
    /// `self * b + c`.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The sum of all elements.
    unsafe fn sum(self) -> Self::Of;
}

/// Defines vectors by what their methods do with registers.
#[cfg(target_arch = "x86_64")]
macro_rules! vectors {
    ($($name:ident($register:ty): $n:literal of $of:ident, $set:ident, $loadu:ident, $storeu:ident, $add:ident, $fma:ident;
        sum($v:ident) => $sum:expr;
        part($from:ident, $count:ident) => $load:expr;
        put($kept:ident, $to:ident, $left:ident) => $store:expr;
    )*) => {$(
        #[derive(Clone, Copy)]
        struct $name($register);

        impl Vector for $name {
            type Of = $of;
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(x: $of) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $set(x) })
            }
            #[inline(always)]
            unsafe fn load(from: *const $of) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $loadu(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $of) {
                // SAFETY: the contract of the trait.
                unsafe { $storeu(to, self.0) }
            }
            #[inline(always)]
            unsafe fn load_part($from: *const $of, $count: usize) -> Self {
                // SAFETY: the contract of the trait; the other lanes are not read.
                Self(unsafe { $load })
            }
            #[inline(always)]
            unsafe fn store_part(self, $to: *mut $of, $left: usize) {
                let $kept = self.0;
                // SAFETY: the contract of the trait; the other lanes are not written.
                unsafe { $store }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                // SAFETY: the contract of the trait.
                Self(unsafe { $fma(self.0, b.0, c.0) })
            }
            #[inline(always)]
            unsafe fn sum(self) -> $of {
                let $v = self.0;
                // SAFETY: the contract of the trait.
                unsafe { $sum }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
vectors! {
    F32x16(__m512): 16 of f32, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_fmadd_ps;
    sum(v) => _mm512_reduce_add_ps(v);
    part(from, n) => _mm512_maskz_loadu_ps(((1u32 << n) - 1) as u16, from);
    put(v, to, n) => _mm512_mask_storeu_ps(to, ((1u32 << n) - 1) as u16, v);

    F64x8(__m512d): 8 of f64, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_fmadd_pd;
    sum(v) => _mm512_reduce_add_pd(v);
    part(from, n) => _mm512_maskz_loadu_pd(((1u32 << n) - 1) as u8, from);
    put(v, to, n) => _mm512_mask_storeu_pd(to, ((1u32 << n) - 1) as u8, v);

    F32x8(__m256): 8 of f32, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_fmadd_ps;
    sum(v) => {
        let halves = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
        _mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs)))
    };
    part(from, n) => _mm256_maskload_ps(from, _mm256_loadu_si256(MASKS32.as_ptr().add(8 - n).cast()));
    put(v, to, n) => _mm256_maskstore_ps(to, _mm256_loadu_si256(MASKS32.as_ptr().add(8 - n).cast()), v);

    F64x4(__m256d): 4 of f64, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_fmadd_pd;
    sum(v) => {
        let halves = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(halves, _mm_unpackhi_pd(halves, halves)))
    };
    part(from, n) => _mm256_maskload_pd(from, _mm256_loadu_si256(MASKS64.as_ptr().add(4 - n).cast()));
    put(v, to, n) => _mm256_maskstore_pd(to, _mm256_loadu_si256(MASKS64.as_ptr().add(4 - n).cast()), v);
}

/// From the place `8 - n` on, `n` lanes that are set.
#[cfg(target_arch = "x86_64")]
static MASKS32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
#[cfg(target_arch = "x86_64")]
static MASKS64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// A vector for any machine.
#[derive(Clone, Copy)]
struct Portable<T>([T; 4]);

impl<T: Float> Vector for Portable<T> {
    type Of = T;
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Self([x; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the contract of the trait.
        Self(unsafe { from.cast::<[T; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the contract of the trait.
        unsafe { to.cast::<[T; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const T, n: usize) -> Self {
        let mut all = [T::ZERO; 4];
        for (i, x) in all.iter_mut().enumerate().take(n) {
            // SAFETY: the contract of the trait.
            *x = unsafe { *from.add(i) };
        }
        Self(all)
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut T, n: usize) {
        for (i, &x) in self.0.iter().enumerate().take(n) {
            // SAFETY: the contract of the trait.
            unsafe { *to.add(i) = x };
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|i| {
            if FUSED_BASE { self.0[i].mul_add(b.0[i], c.0[i]) } else { self.0[i] * b.0[i] + c.0[i] }
        }))
    }
    #[inline(always)]
    unsafe fn sum(self) -> T {
        (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
    }
}

/// How the left matrix of a tile lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// Rows of neighbours.
    Rows,
    /// Rows of elements that are `a_col` apart.
    Apart,
    /// Packed: the columns of a tile are [`Kernels::rows`] apart, their elements neighbours, and the tiles follow each other.
    Packed,
}

/// A tile of a product, the first of some that lie one below the other. Element `(i, p)` of the left matrix is at
/// `a + hops[p / run] + i * a_row + p % run * a_col`, unless it is packed.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a, T> {
    pub(crate) left: Left,
    pub(crate) a: *const T,
    /// Elements from a row to the next.
    pub(crate) a_row: isize,
    /// Where each stretch of the inner dimension starts in a row.
    pub(crate) hops: &'a [isize],
    /// The length of a stretch, and elements from one of its elements to the next: 1, but for a left matrix of rows apart.
    pub(crate) run: usize,
    pub(crate) a_col: usize,
    /// The panel of the right matrix, and the elements between its rows.
    pub(crate) b: *const T,
    pub(crate) b_row: usize,
    pub(crate) out: *mut T,
    pub(crate) out_row: usize,
    /// The columns that are wanted, at least 1.
    pub(crate) width: usize,
    /// Whether the product is added to what is there.
    pub(crate) add: bool,
    /// What is brought near meanwhile.
    pub(crate) ahead: Ahead,
}

/// Memory that is wanted soon: rows of so many bytes, `pitch` bytes apart.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) ptr: *const u8,
    pub(crate) bytes: usize,
    pub(crate) pitch: isize,
    pub(crate) rows: usize,
    /// Rows that are asked for at a time.
    pub(crate) each: usize,
}

impl Ahead {
    pub(crate) const NOTHING: Ahead = Ahead { ptr: ptr::null(), bytes: 0, pitch: 0, rows: 0, each: 0 };

    /// Takes the first rows of it, if so many are left.
    #[inline(always)]
    fn take(&mut self, rows: usize) -> Ahead {
        let taken = Ahead { rows: rows.min(self.rows), ..*self };
        self.ptr = self.ptr.wrapping_offset(taken.rows as isize * self.pitch);
        self.rows -= taken.rows;
        taken
    }

    /// Brings it near.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        for i in 0..self.rows {
            prefetch::<2, _>(self.ptr.wrapping_offset(i as isize * self.pitch), self.bytes);
        }
    }
}

/// Elements of the inner dimension between which a little of what is wanted soon is asked for: more at once would hold up what
/// is wanted now.
const STRETCH: usize = 16;

impl<T> Tile<'_, T> {
    /// How often what is wanted soon is asked for in a tile.
    fn stretches(&self) -> usize {
        self.hops.len() * self.run.div_ceil(STRETCH)
    }
}

/// The [`tiles`] of any distance between the elements of a row.
const ANY: usize = usize::MAX;

/// `count` tiles, one below the other, each of `R` rows of a product by `C` vectors of columns. If `STEP` is 0, the elements of a row of
/// the left matrix are neighbours; if it is [`ANY`], they are `a_col` apart; else it is packed, and they are `STEP` apart.
///
/// # Safety
/// There is the instruction set of `V`. The left matrix is readable as said; for each element of the inner dimension the
/// right one for `C` vectors; `out` is writable.
#[inline(always)]
unsafe fn tiles<V: Vector, const R: usize, const C: usize, const STEP: usize>(t: &Tile<'_, V::Of>, count: usize) {
    let is_packed = STEP != 0 && STEP != ANY;
    let down = if is_packed { (STEP * t.run) as isize } else { R as isize * t.a_row };
    // Where nothing is far, the result is near as well.
    let far = t.ahead.each > 0;
    let stretch = if far { STRETCH } else { t.run };
    let at_once = if far { (2 * R).div_ceil(t.stretches().max(1)) } else { 0 };
    let (mut first, mut out, mut ahead) = (t.a, t.out, t.ahead);
    for tile in 0..count {
        // SAFETY: the caller's contract.
        unsafe {
            let mut acc = [[V::splat(V::Of::ZERO); C]; R];
            let mut b = t.b;
            // Rows of the result are asked for that are not near: those of the first tile, and of the next.
            let (mut row, end) = (if tile == 0 { 0 } else { R }, if tile + 1 < count { 2 * R } else { R });
            for &hop in t.hops {
                let mut a = first.offset(hop);
                let mut left = t.run;
                while left > 0 {
                    if far {
                        for _ in 0..at_once.min(end - row) {
                            prefetch::<1, _>(
                                out.wrapping_add(row * t.out_row).cast_const(),
                                t.width * size_of::<V::Of>(),
                            );
                            row += 1;
                        }
                        ahead.take(ahead.each).fetch();
                    }
                    let now = left.min(stretch);
                    left -= now;
                    for _ in 0..now {
                        let mut row = [V::splat(V::Of::ZERO); C];
                        for c in 0..C {
                            row[c] = V::load(b.add(c * V::LANES));
                        }
                        for i in 0..R {
                            let x = V::splat(*if is_packed { a.add(i) } else { a.offset(i as isize * t.a_row) });
                            for c in 0..C {
                                acc[i][c] = x.fma(row[c], acc[i][c]);
                            }
                        }
                        a = a.wrapping_add(match STEP {
                            0 => 1,
                            ANY => t.a_col,
                            _ => STEP,
                        });
                        b = b.wrapping_add(t.b_row);
                    }
                }
            }
            put::<V, R, C>(&acc, out, t);
        }
        first = first.wrapping_offset(down);
        out = out.wrapping_add(R * t.out_row);
    }
}

/// Puts the elements of a tile to `out`.
///
/// # Safety
/// As for [`tiles`].
#[inline(always)]
unsafe fn put<V: Vector, const R: usize, const C: usize>(acc: &[[V; C]; R], out: *mut V::Of, t: &Tile<'_, V::Of>) {
    // SAFETY: the caller's contract.
    unsafe {
        // Simple loops, which are unrolled: the accumulators are registers only if all their indices are constants.
        if t.width == C * V::LANES {
            for i in 0..R {
                for c in 0..C {
                    let to = out.add(i * t.out_row + c * V::LANES);
                    if t.add { V::load(to).add(acc[i][c]).store(to) } else { acc[i][c].store(to) }
                }
            }
            return;
        }
        let mut sums = [[MaybeUninit::<V>::uninit(); C]; R];
        for i in 0..R {
            for c in 0..C {
                sums[i][c].write(acc[i][c]);
            }
        }
        for (i, row) in sums.iter().enumerate() {
            let out = out.add(i * t.out_row);
            for (c, sum) in row.iter().enumerate() {
                let (sum, to, left) = (sum.assume_init(), out.add(c * V::LANES), t.width.saturating_sub(c * V::LANES));
                if left >= V::LANES {
                    let sum = if t.add { V::load(to).add(sum) } else { sum };
                    sum.store(to);
                } else if left > 0 {
                    let sum = if t.add { V::load_part(to, left).add(sum) } else { sum };
                    sum.store_part(to, left);
                }
            }
        }
    }
}

/// The products of rows of the left matrix and rows of the right one: `out[i][j] = a[i] . b[j]`, or `+=`. Rows of the right one are of
/// neighbours; element `p` of row `i` of the left one is at `a + hops[p / run] + i * a_row + p % run`.
#[derive(Clone, Copy)]
pub(crate) struct Dots<'a, T> {
    pub(crate) a: *const T,
    pub(crate) a_row: isize,
    pub(crate) hops: &'a [isize],
    pub(crate) run: usize,
    pub(crate) b: *const T,
    pub(crate) b_row: isize,
    /// The number of rows of the right matrix.
    pub(crate) n: usize,
    /// Element `(i, j)` of the result is at `out + i * out_row + j * out_col`.
    pub(crate) out: *mut T,
    pub(crate) out_row: usize,
    pub(crate) out_col: usize,
    /// Whether the products are added to what is there.
    pub(crate) add: bool,
}

/// `R` rows of the left matrix by `S` of the right one.
///
/// # Safety
/// There is the instruction set of `V`; the matrices are as said, and have so many rows.
#[inline(always)]
unsafe fn dot_tile<V: Vector, const R: usize, const S: usize>(t: &Dots<'_, V::Of>) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut acc = [[V::splat(V::Of::ZERO); S]; R];
        let (whole, left) = (t.run - t.run % V::LANES, t.run % V::LANES);
        let mut b = t.b;
        for &hop in t.hops {
            let a = t.a.offset(hop);
            for p in (0..whole).step_by(V::LANES) {
                let mut right = [V::splat(V::Of::ZERO); S];
                for j in 0..S {
                    right[j] = V::load(b.offset(j as isize * t.b_row).add(p));
                }
                for i in 0..R {
                    let x = V::load(a.offset(i as isize * t.a_row).add(p));
                    for j in 0..S {
                        acc[i][j] = x.fma(right[j], acc[i][j]);
                    }
                }
            }
            if left > 0 {
                let mut right = [V::splat(V::Of::ZERO); S];
                for j in 0..S {
                    right[j] = V::load_part(b.offset(j as isize * t.b_row).add(whole), left);
                }
                for i in 0..R {
                    let x = V::load_part(a.offset(i as isize * t.a_row).add(whole), left);
                    for j in 0..S {
                        acc[i][j] = x.fma(right[j], acc[i][j]);
                    }
                }
            }
            b = b.wrapping_add(t.run);
        }
        let mut sums = [[MaybeUninit::<V>::uninit(); S]; R];
        for i in 0..R {
            for j in 0..S {
                sums[i][j].write(acc[i][j]);
            }
        }
        for (i, row) in sums.iter().enumerate() {
            for (j, sum) in row.iter().enumerate() {
                let (to, sum) = (t.out.add(i * t.out_row + j * t.out_col), sum.assume_init().sum());
                *to = if t.add { *to + sum } else { sum };
            }
        }
    }
}

/// Some rows of the left matrix by all of the right one, `S` at a time, of which there are 3 or 4.
///
/// # Safety
/// As for [`dot_tile`].
#[inline(always)]
unsafe fn dots<V: Vector, const R: usize, const S: usize>(t: &Dots<'_, V::Of>) {
    let mut at = *t;
    for j in (0..t.n).step_by(S) {
        // SAFETY: rows `j..` of the right matrix are there.
        unsafe {
            at.b = t.b.offset(j as isize * t.b_row);
            at.out = t.out.add(j * t.out_col);
            match t.n - j {
                1 => dot_tile::<V, R, 1>(&at),
                2 => dot_tile::<V, R, 2>(&at),
                3 => dot_tile::<V, R, 3>(&at),
                _ => dot_tile::<V, R, S>(&at),
            }
        }
    }
}

type TileFn<T> = unsafe fn(&Tile<'_, T>, usize);

/// What an instruction set has for products of `T`.
pub(crate) struct Kernels<T: 'static> {
    /// Columns of one vector; a panel has two.
    pub(crate) lanes: usize,
    /// Tiles of 1, 2, … rows by one and by two vectors, by how the left matrix lies.
    tiles: [[&'static [TileFn<T>]; 2]; 3],
    /// [`Dots`] of 1, 2, … rows.
    dots: &'static [unsafe fn(&Dots<'_, T>)],
    /// [`Rows`].
    few_rows: unsafe fn(&Rows<T>),
    /// [`Channels`] of a number of pixels.
    channels: unsafe fn(usize, &Channels<'_, T>),
    /// [`ChannelSums`] over a number of pixels.
    channel_sums: unsafe fn(usize, &ChannelSums<'_, T>),
    /// The inner dimension, and the rows, of a block whose matrices stay in the cache.
    pub(crate) depth: usize,
    pub(crate) block: usize,
}

impl<T: Float> Kernels<T> {
    /// The most rows of a tile.
    pub(crate) fn rows(&self) -> usize {
        self.tiles[0][1].len()
    }

    /// The columns of a panel.
    pub(crate) fn panel(&self) -> usize {
        2 * self.lanes
    }

    /// Some rows by one panel: `t` is the first tile's, but for how many rows there are. Where the left matrix is packed, its tiles are
    /// those of [`heights`].
    ///
    /// # Safety
    /// The left matrix is readable for `m` rows, each stretch for neighbours; the panel, two vectors wide, is readable for the inner
    /// dimension (one vector, if not more columns are wanted); `out` is writable.
    #[inline]
    pub(crate) unsafe fn column(&self, m: usize, t: &Tile<'_, T>) {
        let tiles = self.tiles[t.left as usize][usize::from(t.width > self.lanes)];
        let (rows, higher, count) = heights(m, self.rows());
        let mut at = *t;
        if at.ahead.rows > 0 {
            at.ahead.each = at.ahead.rows.div_ceil((t.stretches() * count).max(1));
        }
        // SAFETY: the caller's contract; there are functions for so many rows.
        unsafe {
            if higher > 0 {
                tiles[rows](&at, higher);
                let done = higher * (rows + 1);
                at.a = at.a.wrapping_offset(match t.left {
                    Left::Packed => (higher * self.rows() * t.run) as isize,
                    _ => done as isize * t.a_row,
                });
                at.out = at.out.wrapping_add(done * t.out_row);
                at.ahead.take(higher * t.stretches() * at.ahead.each);
            }
            if higher < count {
                tiles[rows - 1](&at, count - higher);
            }
        }
    }

    /// Few rows of a product, each element a sum of sums over as long stretches as in blocks.
    ///
    /// # Safety
    /// The matrices are as [`Rows`] says. [`SUMS`] bytes hold at least one sum of each row.
    pub(crate) unsafe fn few_rows(&self, t: &Rows<T>) {
        let sums = SUMS / size_of::<T>();
        let most = if t.m.saturating_mul(t.n) <= sums { t.n } else { sums / t.m };
        let mut c = 0;
        while c < t.n {
            let (mut p, n) = (0, most.min(t.n - c));
            while p < t.k {
                let k = self.depth.min(t.k - p);
                // SAFETY: the caller's contract; the part is inside of the matrices.
                unsafe {
                    let (a, b, out) = (t.a.add(p), t.b.offset(p as isize * t.b_row).add(c), t.out.add(c));
                    (self.few_rows)(&Rows { k, n, a, b, out, add: t.add || p > 0, ..*t });
                }
                p += k;
            }
            c += n;
        }
    }

    /// `m` rows of the left matrix by all of the right one.
    ///
    /// # Safety
    /// The matrices are as [`Dots`] says.
    pub(crate) unsafe fn dots(&self, m: usize, t: &Dots<'_, T>) {
        let parts = m.div_ceil(self.dots.len());
        let mut at = *t;
        for part in 0..parts {
            let rows = m * (part + 1) / parts - m * part / parts;
            // SAFETY: the caller's contract; `rows` is at most what there are functions for.
            unsafe {
                self.dots[rows - 1](&at);
                at.a = at.a.wrapping_offset(rows as isize * at.a_row);
                at.out = at.out.wrapping_add(rows * at.out_row);
            }
        }
    }

    /// `n` pixels of a convolution whose channels have a filter each.
    ///
    /// # Safety
    /// The memory is as [`Channels`] says.
    pub(crate) unsafe fn channels(&self, n: usize, t: &Channels<'_, T>) {
        // SAFETY: the caller's contract.
        unsafe { (self.channels)(n, t) }
    }

    /// The part of `n` pixels in the cotangents of filters of one channel each.
    ///
    /// # Safety
    /// The memory is as [`ChannelSums`] says.
    pub(crate) unsafe fn channel_sums(&self, n: usize, t: &ChannelSums<'_, T>) {
        // SAFETY: the caller's contract.
        unsafe { (self.channel_sums)(n, t) }
    }
}

/// Cuts `m` rows into tiles of nearly the same height, none of which is low: the least rows of one, how many have one more, which come
/// first, and how many there are.
#[inline]
pub(crate) fn heights(m: usize, most: usize) -> (usize, usize, usize) {
    let count = m.div_ceil(most);
    if count < 2 { (m, 0, count) } else { (m / count, m % count, count) }
}

/// The element types that there are tiles for.
pub(crate) trait Float: Real<Wide = Self> + Math {
    /// The tiles of this machine's instruction set.
    fn kernels() -> &'static Kernels<Self>;
}

/// The entry points of one instruction set. The last number is how many columns four rows of [`Dots`] are multiplied by at a time: as many
/// as there are registers for.
macro_rules! entries {
    ($name:ident, $at:ident, $vector:ty, $of:ty, $lanes:literal, $depth:literal, $block:literal, $most:literal: $($rows:literal)*; $dots:literal) => {
        static $name: Kernels<$of> = {
            /// # Safety
            /// As for [`tiles`], on a machine that has the instruction set.
            unsafe fn entry<const R: usize, const C: usize, const STEP: usize>(t: &Tile<'_, $of>, count: usize) {
                // SAFETY: the same contract.
                unsafe { $at(#[inline(always)] || tiles::<$vector, R, C, STEP>(t, count)) }
            }
            /// # Safety
            /// As for [`dots`], on a machine that has the instruction set.
            unsafe fn dot_entry<const R: usize, const S: usize>(t: &Dots<'_, $of>) {
                // SAFETY: the same contract.
                unsafe { $at(#[inline(always)] || dots::<$vector, R, S>(t)) }
            }
            /// # Safety
            /// As for [`row`], on a machine that has the instruction set.
            unsafe fn rows_entry(t: &Rows<$of>) {
                // SAFETY: the same contract.
                unsafe { $at(#[inline(always)] || few_rows::<$vector>(t)) }
            }
            /// # Safety
            /// As for [`channels`], on a machine that has the instruction set.
            unsafe fn channel_entry(n: usize, t: &Channels<'_, $of>) {
                // SAFETY: the same contract.
                unsafe { $at(#[inline(always)] || channels::<$vector>(n, t)) }
            }
            /// # Safety
            /// As for [`channel_sums`], on a machine that has the instruction set.
            unsafe fn sums_entry(n: usize, t: &ChannelSums<'_, $of>) {
                // SAFETY: the same contract.
                unsafe { $at(#[inline(always)] || channel_sums::<$vector>(n, t)) }
            }
            Kernels {
                lanes: $lanes,
                tiles: [
                    [&[$(entry::<$rows, 1, 0>),*], &[$(entry::<$rows, 2, 0>),*]],
                    [&[$(entry::<$rows, 1, ANY>),*], &[$(entry::<$rows, 2, ANY>),*]],
                    [&[$(entry::<$rows, 1, $most>),*], &[$(entry::<$rows, 2, $most>),*]],
                ],
                dots: &[dot_entry::<1, 4>, dot_entry::<2, 4>, dot_entry::<3, 4>, dot_entry::<4, $dots>],
                few_rows: rows_entry,
                channels: channel_entry,
                channel_sums: sums_entry,
                depth: $depth,
                block: $block,
            }
        };
    };
}

/// # Safety
/// None needed.
unsafe fn at_base<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
entries!(F32_V4, at_v4, F32x16, f32, 16, 256, 224, 14: 1 2 3 4 5 6 7 8 9 10 11 12 13 14; 4);
#[cfg(target_arch = "x86_64")]
entries!(F64_V4, at_v4, F64x8, f64, 8, 256, 168, 14: 1 2 3 4 5 6 7 8 9 10 11 12 13 14; 4);
#[cfg(target_arch = "x86_64")]
entries!(F32_V3, at_v3, F32x8, f32, 8, 256, 192, 6: 1 2 3 4 5 6; 3);
#[cfg(target_arch = "x86_64")]
entries!(F64_V3, at_v3, F64x4, f64, 4, 256, 96, 6: 1 2 3 4 5 6; 3);
// There are twice as many registers.
#[cfg(target_arch = "aarch64")]
entries!(F32_BASE, at_base, Portable<f32>, f32, 4, 256, 192, 8: 1 2 3 4 5 6 7 8; 4);
#[cfg(not(target_arch = "aarch64"))]
entries!(F32_BASE, at_base, Portable<f32>, f32, 4, 256, 192, 4: 1 2 3 4; 3);
entries!(F64_BASE, at_base, Portable<f64>, f64, 4, 256, 96, 4: 1 2 3 4; 3);

macro_rules! floats {
    ($($of:ident: $base:ident $v3:ident $v4:ident;)*) => {$(
        impl Float for $of {
            #[inline]
            fn kernels() -> &'static Kernels<$of> {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => &$v4,
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => &$v3,
                    _ => &$base,
                }
            }
        }
    )*};
}

floats! {
    f32: F32_BASE F32_V3 F32_V4;
    f64: F64_BASE F64_V3 F64_V4;
}
