//! Products of small matrices: no heap, no packing of the left operand.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use std::mem::MaybeUninit;

use crate::arch::{Level, level};
use crate::matmul::Mat;

/// The most multiplications, and the greatest depth, for which this path is taken.
const MAX_VOLUME: usize = 40 * 40 * 40;
const MAX_DEPTH: usize = 64;

/// The types that the kernel is written for.
trait Small: Copy {
    const ZERO: Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn mul_add_unfused(self, b: Self, c: Self) -> Self;
}

macro_rules! small {
    ($($ty:ident)*) => {$(
        impl Small for $ty {
            const ZERO: $ty = 0.0;
            #[inline(always)]
            fn fma(self, b: $ty, c: $ty) -> $ty { self.mul_add(b, c) }
            #[inline(always)]
            fn mul_add_unfused(self, b: $ty, c: $ty) -> $ty { self * b + c }
        }
    )*};
}

small!(f32 f64);

/// `MR` rows of the result times a panel of `NR` columns, of which `width` are wanted.
///
/// # Safety
/// `a` is readable as `MR` by `k`, the panel for `k * NR` elements, and `out` writable for `MR` rows of `width`, `ldo` apart.
#[inline(always)]
unsafe fn micro<T: Small, const MR: usize, const NR: usize, const FMA: bool>(
    k: usize,
    a: Mat<T>,
    panel: *const T,
    out: *mut T,
    ldo: usize,
    width: usize,
) {
    let mut acc = [[T::ZERO; NR]; MR];
    for p in 0..k {
        // SAFETY: by the caller's contract.
        let b = unsafe { &*panel.add(p * NR).cast::<[T; NR]>() };
        for i in 0..MR {
            // SAFETY: by the caller's contract.
            let x = unsafe { *a.ptr.offset(i as isize * a.row + p as isize * a.col) };
            for j in 0..NR {
                acc[i][j] = if FMA { x.fma(b[j], acc[i][j]) } else { x.mul_add_unfused(b[j], acc[i][j]) };
            }
        }
    }
    for (i, row) in acc.iter().enumerate() {
        // SAFETY: by the caller's contract.
        unsafe {
            let out = out.add(i * ldo);
            if width == NR {
                out.cast::<[T; NR]>().write_unaligned(*row);
            } else {
                for (j, &x) in row.iter().enumerate().take(width) {
                    out.add(j).write(x);
                }
            }
        }
    }
}

/// Columns `first..first + width` of the product.
///
/// # Safety
/// As for [`crate::matmul::Gemm::serial`], with `k <= MAX_DEPTH` and `width <= NR`.
#[inline(always)]
unsafe fn columns<T: Small, const NR: usize, const FMA: bool>(
    m: usize,
    k: usize,
    a: Mat<T>,
    b: Mat<T>,
    out: *mut T,
    ldo: usize,
    width: usize,
) {
    #[repr(C, align(64))]
    struct Panel<T, const NR: usize>([[MaybeUninit<T>; NR]; MAX_DEPTH]);
    let mut panel = Panel::<T, NR>([[const { MaybeUninit::uninit() }; NR]; MAX_DEPTH]);
    for p in 0..k {
        // SAFETY: row `p` of `b` has `width` columns; `p < MAX_DEPTH`.
        unsafe {
            let src = b.ptr.offset(p as isize * b.row);
            let dst = &mut panel.0[p];
            if width == NR && b.col == 1 {
                *dst = src.cast::<[MaybeUninit<T>; NR]>().read_unaligned();
            } else {
                for (j, d) in dst.iter_mut().enumerate() {
                    d.write(if j < width { *src.offset(j as isize * b.col) } else { T::ZERO });
                }
            }
        }
    }
    let panel = panel.0.as_ptr().cast::<T>();
    let mut i = 0;
    // SAFETY: rows `i..` of `a` and of the result are inside; the panel was written for `k` rows.
    unsafe {
        let rows = |i: usize| Mat { ptr: a.ptr.offset(i as isize * a.row), ..a };
        while i + 4 <= m {
            micro::<T, 4, NR, FMA>(k, rows(i), panel, out.add(i * ldo), ldo, width);
            i += 4;
        }
        if i + 2 <= m {
            micro::<T, 2, NR, FMA>(k, rows(i), panel, out.add(i * ldo), ldo, width);
            i += 2;
        }
        if i < m {
            micro::<T, 1, NR, FMA>(k, rows(i), panel, out.add(i * ldo), ldo, width);
        }
    }
}

/// # Safety
/// As for [`crate::matmul::Gemm::serial`], with `k <= MAX_DEPTH`.
#[inline(always)]
unsafe fn product<T: Small, const NARROW: usize, const WIDE: usize, const FMA: bool>(
    m: usize,
    k: usize,
    n: usize,
    a: Mat<T>,
    b: Mat<T>,
    out: *mut T,
    ldo: usize,
) {
    let mut first = 0;
    while first < n {
        // SAFETY: columns from `first` on are inside.
        unsafe {
            let b = Mat { ptr: b.ptr.offset(first as isize * b.col), ..b };
            let out = out.add(first);
            if n - first <= NARROW {
                columns::<T, NARROW, FMA>(m, k, a, b, out, ldo, n - first);
                first += NARROW;
            } else {
                columns::<T, WIDE, FMA>(m, k, a, b, out, ldo, WIDE.min(n - first));
                first += WIDE;
            }
        }
    }
}

macro_rules! entry {
    ($ty:ident, $narrow:expr, $wide:expr) => {
        /// Computes the product if it is small; says whether it did.
        ///
        /// # Safety
        /// As for [`crate::matmul::Gemm::serial`].
        pub(crate) unsafe fn $ty(
            m: usize,
            k: usize,
            n: usize,
            a: Mat<$ty>,
            b: Mat<$ty>,
            out: *mut $ty,
            ldo: usize,
        ) -> bool {
            /// # Safety
            /// As for [`product`], on a machine of `Level::V4`.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt"
            )]
            unsafe fn v4(m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, ldo: usize) {
                // SAFETY: the same contract.
                unsafe { product::<$ty, $narrow, $wide, true>(m, k, n, a, b, out, ldo) }
            }
            /// # Safety
            /// As for [`product`], on a machine of `Level::V3`.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,popcnt")]
            unsafe fn v3(m: usize, k: usize, n: usize, a: Mat<$ty>, b: Mat<$ty>, out: *mut $ty, ldo: usize) {
                // SAFETY: the same contract.
                unsafe { product::<$ty, $narrow, $wide, true>(m, k, n, a, b, out, ldo) }
            }
            if k > MAX_DEPTH || m * n * k > MAX_VOLUME {
                return false;
            }
            // SAFETY: the caller's contract, on a machine of the level.
            unsafe {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => v4(m, k, n, a, b, out, ldo),
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => v3(m, k, n, a, b, out, ldo),
                    _ => product::<$ty, $narrow, $wide, false>(m, k, n, a, b, out, ldo),
                }
            }
            true
        }
    };
}

entry!(f32, 16, 32);
entry!(f64, 8, 16);
