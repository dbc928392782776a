//! Products of small matrices whose sizes are known before they run: what decides how they are made is decided once.
//!
//! An element is what [`crate::matmul`] makes, the products being added in the order of the inner dimension.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::DType;

use crate::arch::{FUSED_BASE, Level, dispatch_v3, level};
use crate::few_rows::Rows;
use crate::register_tile::{Ahead, Dots, Float, Left, Tile};

/// The most multiplications.
const MOST: usize = 16 * 16 * 16;
/// The inner dimension from which a product with a column is one of rows, whose elements are added side by side.
const LONG: usize = 8;

/// How the product of two matrices of known sizes is made.
#[derive(Clone, Copy, Debug)]
pub struct FewProduct {
    m: usize,
    k: usize,
    n: usize,
    /// Elements between rows and between columns of the left matrix.
    a_row: usize,
    a_col: usize,
    run: unsafe fn(&FewProduct, *const u8, *const u8, *mut u8),
}

impl FewProduct {
    /// The product of an `m` by `k` matrix, stored transposed or not, and one of `k` by `n`; `None` where another way is as good.
    pub fn new(dtype: DType, m: usize, k: usize, n: usize, transposed: bool) -> Option<FewProduct> {
        let run = match dtype {
            DType::F32 => way::<f32>(m, k, n, transposed)?,
            DType::F64 => way::<f64>(m, k, n, transposed)?,
            _ => return None,
        };
        let (a_row, a_col) = if transposed { (1, m) } else { (k, 1) };
        Some(FewProduct { m, k, n, a_row, a_col, run })
    }

    /// Makes the product.
    ///
    /// # Safety
    /// `a` and `b` are matrices of these sizes and the dtype, `out` is writable as one of `m` by `n` and overlaps neither.
    #[inline(always)]
    pub unsafe fn run(&self, a: *const u8, b: *const u8, out: *mut u8) {
        // SAFETY: the caller's contract.
        unsafe { (self.run)(self, a, b, out) }
    }
}

type Way = unsafe fn(&FewProduct, *const u8, *const u8, *mut u8);

fn way<T: Element>(m: usize, k: usize, n: usize, transposed: bool) -> Option<Way> {
    if m == 0 || k == 0 || n == 0 || m.saturating_mul(k).saturating_mul(n) > MOST || k > T::kernels().depth {
        return None;
    }
    let panel = T::kernels().panel();
    Some(match n {
        1 if k >= LONG && !transposed => column::<T>,
        1 => narrow::<T, 1>,
        2 => narrow::<T, 2>,
        3 => narrow::<T, 3>,
        4 => narrow::<T, 4>,
        5 => narrow::<T, 5>,
        6 => narrow::<T, 6>,
        7 => narrow::<T, 7>,
        8 => narrow::<T, 8>,
        _ if m == 1 => row::<T>,
        _ if (n == panel || n == panel / 2) && !transposed => tiles::<T>,
        _ => return None,
    })
}

/// An element type, with what the tiles of its products do to it.
trait Element: Float {
    fn multiply_add<const FUSED: bool>(self, b: Self, c: Self) -> Self;
}

macro_rules! element {
    ($($ty:ty)*) => {$(
        impl Element for $ty {
            #[inline(always)]
            fn multiply_add<const FUSED: bool>(self, b: $ty, c: $ty) -> $ty {
                if FUSED { self.mul_add(b, c) } else { self * b + c }
            }
        }
    )*};
}

element! { f32 f64 }

/// A product with `N` columns.
///
/// # Safety
/// As for [`FewProduct::run`].
unsafe fn narrow<T: Element, const N: usize>(s: &FewProduct, a: *const u8, b: *const u8, out: *mut u8) {
    let (a, b, out) = (a.cast::<T>(), b.cast::<[T; N]>(), out.cast::<[T; N]>());
    if level() == Level::Base && !FUSED_BASE {
        // SAFETY: the caller's contract.
        return unsafe { rows::<T, N, false>(s, a, b, out) };
    }
    dispatch_v3(
        #[inline(always)]
        // SAFETY: the caller's contract.
        || unsafe { rows::<T, N, true>(s, a, b, out) },
    );
}

/// # Safety
/// As for [`FewProduct::run`].
#[inline(always)]
unsafe fn rows<T: Element, const N: usize, const FUSED: bool>(
    s: &FewProduct,
    a: *const T,
    b: *const [T; N],
    out: *mut [T; N],
) {
    for i in 0..s.m {
        let mut sums = [T::ZERO; N];
        for p in 0..s.k {
            // SAFETY: inside of the matrices.
            let (x, row) = unsafe { (*a.add(i * s.a_row + p * s.a_col), &*b.add(p)) };
            for j in 0..N {
                sums[j] = x.multiply_add::<FUSED>(row[j], sums[j]);
            }
        }
        // SAFETY: inside of the result.
        unsafe { out.add(i).write(sums) };
    }
}

/// A product with a long column: of the rows of the left matrix by it.
///
/// # Safety
/// As for [`FewProduct::run`].
unsafe fn column<T: Element>(s: &FewProduct, a: *const u8, b: *const u8, out: *mut u8) {
    let (hops, run) = (&[0][..], s.k);
    let dots = Dots {
        a: b.cast::<T>(),
        a_row: 1,
        hops,
        run,
        b: a.cast(),
        b_row: s.a_row as isize,
        n: s.m,
        out: out.cast(),
        out_row: s.m,
        out_col: 1,
        add: false,
    };
    // SAFETY: the caller's contract.
    unsafe { T::kernels().dots(1, &dots) };
}

/// # Safety
/// As for [`FewProduct::run`].
unsafe fn row<T: Element>(s: &FewProduct, a: *const u8, b: *const u8, out: *mut u8) {
    let FewProduct { k, n, .. } = *s;
    let (a, b, out) = (a.cast::<T>(), b.cast(), out.cast());
    let row = Rows { m: 1, k, n, a, a_row: 0, b, b_row: n as isize, out, out_row: n, add: false };
    // SAFETY: the caller's contract.
    unsafe { T::kernels().few_rows(&row) };
}

/// A product with one or two vectors of columns.
///
/// # Safety
/// As for [`FewProduct::run`].
unsafe fn tiles<T: Element>(s: &FewProduct, a: *const u8, b: *const u8, out: *mut u8) {
    let tile = Tile {
        left: Left::Rows,
        a: a.cast::<T>(),
        a_row: s.a_row as isize,
        hops: &[0],
        run: s.k,
        a_col: 1,
        b: b.cast(),
        b_row: s.n,
        out: out.cast(),
        out_row: s.n,
        width: s.n,
        add: false,
        ahead: Ahead::NOTHING,
    };
    // SAFETY: the caller's contract; the right matrix is whole vectors wide.
    unsafe { T::kernels().column(s.m, &tile) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::matmul;

    #[test]
    fn products_have_the_bits_that_products_of_any_size_have() {
        let value = |i: usize| [0.1, -3.75, 1e-3, 7.3, -0.0, 1e10, -0.7, 2.0 / 3.0, f64::INFINITY][i * 5 % 9];
        let mut made = 0;
        let sizes = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32];
        for (m, k, n) in sizes.iter().flat_map(|&m| sizes.iter().flat_map(move |&k| sizes.map(|n| (m, k, n)))) {
            for (dtype, transposed) in
                [(DType::F32, false), (DType::F32, true), (DType::F64, false), (DType::F64, true)]
            {
                let Some(few) = FewProduct::new(dtype, m, k, n, transposed) else { continue };
                made += 1;
                let single = |n: usize, by: usize| (0..n).map(|i| value(i * by + n) as f32).collect::<Vec<f32>>();
                let double = |n: usize, by: usize| (0..n).map(|i| value(i * by + n)).collect::<Vec<f64>>();
                let (a32, b32) = (single(m * k, 1), single(k * n, 2));
                let (a64, b64) = (double(m * k, 1), double(k * n, 2));
                let (a, b): (*const u8, *const u8) = match dtype {
                    DType::F32 => (a32.as_ptr().cast(), b32.as_ptr().cast()),
                    _ => (a64.as_ptr().cast(), b64.as_ptr().cast()),
                };
                let mut outs = [vec![0u64; m * n], vec![0u64; m * n]];
                // SAFETY: matrices of these sizes, and room for elements of 8 bytes.
                unsafe {
                    matmul(dtype, m, k, n, a, transposed, b, false, outs[0].as_mut_ptr().cast());
                    few.run(a, b, outs[1].as_mut_ptr().cast());
                }
                assert_eq!(outs[0], outs[1], "{dtype} {m} {k} {n} {transposed}");
            }
        }
        assert!(made > 1000, "{made}");
    }
}
