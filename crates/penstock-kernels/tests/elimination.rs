//! Factors and solutions, by what they are the factors and solutions of.

use num_complex::ComplexFloat;
use penstock_data::{C64, C128};
use penstock_kernels::elimination::{Field, factorise, solve, solve_triangular};
use penstock_kernels::pool;

/// A field whose numbers are also complex numbers of twice the precision at most.
trait Number: Field {
    const EPSILON: f64;
    fn of(x: C128) -> Self;
    fn wide(self) -> C128;
}

macro_rules! numbers {
    ($($ty:ident: $epsilon:expr, $of:expr, $wide:expr;)*) => {$(
        impl Number for $ty {
            const EPSILON: f64 = $epsilon;
            fn of(x: C128) -> $ty {
                $of(x)
            }
            fn wide(self) -> C128 {
                $wide(self)
            }
        }
    )*};
}

numbers! {
    f32: f32::EPSILON as f64, |x: C128| x.re as f32, |x: f32| C128::new(f64::from(x), 0.0);
    f64: f64::EPSILON, |x: C128| x.re, |x: f64| C128::new(x, 0.0);
    C64: f32::EPSILON as f64, |x: C128| C64::new(x.re as f32, x.im as f32), |x: C64| C128::new(x.re.into(), x.im.into());
    C128: f64::EPSILON, |x: C128| x, |x: C128| x;
}

/// Numbers between -1 and 1 without a pattern.
fn random<T: Number>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    (0..count).map(|_| T::of(C128::new(next(), next()))).collect()
}

const SIZES: [usize; 11] = [0, 1, 2, 7, 15, 16, 17, 33, 64, 100, 150];

/// That `l u` is `a` with its rows exchanged, to rounding.
fn check_factors<T: Number>(m: usize, n: usize, a: &[T]) {
    let (p, mut swaps, mut factors) = (m.min(n), vec![usize::MAX; m.min(n)], a.to_vec());
    factorise(m, n, &mut factors, &mut swaps);
    let mut rows: Vec<&[T]> = a.chunks_exact(n.max(1)).collect();
    for (i, &other) in swaps.iter().enumerate() {
        assert!(i <= other && other < m);
        rows.swap(i, other);
    }
    let at = |i: usize, j: usize| factors[i * n + j].wide();
    for (i, row) in rows.iter().enumerate() {
        for j in 0..i.min(p) {
            assert!(at(i, j).abs() < 1.5, "the pivot {j} is the greatest of its column");
        }
        for (j, &due) in row.iter().enumerate() {
            let below = (0..i.min(j + 1)).map(|q| -at(i, q) * at(q, j)).sum::<C128>();
            let product = below + if i <= j { at(i, j) } else { C128::default() };
            // Elements of factors of such matrices stay near 1.
            let bound = 8.0 * T::EPSILON * (p as f64 + 4.0);
            assert!((product - due.wide()).abs() <= bound, "{m} {n} {i} {j}: {product} {due:?}");
        }
    }
}

fn check_all_factors<T: Number>() {
    pool::set_threads(3);
    for (i, &m) in SIZES.iter().enumerate() {
        for (j, &n) in SIZES.iter().enumerate() {
            check_factors::<T>(m, n, &random(m * n, (20 * i + j) as u64));
        }
    }
}

#[test]
fn factors_multiply_to_the_matrix() {
    check_all_factors::<f32>();
    check_all_factors::<f64>();
    check_all_factors::<C64>();
    check_all_factors::<C128>();
}

#[test]
fn singular_matrices_have_factors_with_a_pivot_of_zero() {
    for n in [1, 2, 17, 40, 90] {
        // Rows that are multiples of one, zeros, and a column that is 0 when its turn comes.
        let multiples: Vec<f64> = (0..n * n).map(|i| ((1 << (i / n % 5)) * (i % n + 1)) as f64).collect();
        let mut column = random::<f64>(n * n, 3);
        column.iter_mut().skip(n - 1).step_by(n).for_each(|x| *x = 0.0);
        for a in [multiples, vec![0.0; n * n], column] {
            check_small_pivots(n, &a);
            assert_eq!(solve(n, 1, &a, false, &mut vec![1.0; n]), n == 1 && a[0] != 0.0);
            assert_eq!(solve(n, 3, &a, true, &mut vec![1.0; 3 * n]), n == 1 && a[0] != 0.0);
        }
    }
}

fn check_small_pivots(n: usize, a: &[f64]) {
    let (mut factors, mut swaps) = (a.to_vec(), vec![0; n]);
    factorise(n, n, &mut factors, &mut swaps);
    assert_eq!(factors.iter().step_by(n + 1).any(|&x| x == 0.0), n > 1 || a[0] == 0.0);
    assert!(factors.iter().all(|x| x.is_finite()));
}

/// The element `(i, j)` of the matrix, of its triangle, or of the adjoint of either.
fn entry<T: Number>(n: usize, a: &[T], triangle: Option<bool>, adjoint: bool, i: usize, j: usize) -> C128 {
    let (row, column) = if adjoint { (j, i) } else { (i, j) };
    let within = triangle.is_none_or(|lower| if lower { column <= row } else { column >= row });
    let x = if within { a[row * n + column].wide() } else { C128::default() };
    if adjoint { x.conj() } else { x }
}

fn check_solution<T: Number>(n: usize, k: usize, triangle: Option<bool>, adjoint: bool) {
    let mut a = random::<T>(n * n, (n + k) as u64);
    for x in a.iter_mut().step_by(n + 1) {
        *x = *x + T::of(C128::new(n as f64, 1.0));
    }
    let b = random::<T>(n * k, n as u64);
    let mut x = b.clone();
    match triangle {
        None => assert!(solve(n, k, &a, adjoint, &mut x)),
        Some(lower) => solve_triangular(n, k, &a, lower, adjoint, &mut x),
    }
    for i in 0..n {
        for j in (0..k).step_by(1 + k / 20) {
            let due = b[i * k + j].wide();
            let got = (0..n).map(|p| entry(n, &a, triangle, adjoint, i, p) * x[p * k + j].wide()).sum::<C128>();
            assert!(
                (got - due).abs() <= 8.0 * T::EPSILON * (n as f64 + 4.0),
                "{n} {k} {triangle:?} {adjoint}: {got} {due}"
            );
        }
    }
}

fn check_solutions<T: Number>() {
    pool::set_threads(3);
    for n in SIZES {
        for k in [0, 1, 2, 5, 16, 17, 70, 400] {
            for adjoint in [false, true] {
                for triangle in [None, Some(true), Some(false)] {
                    check_solution::<T>(n, k, triangle, adjoint);
                }
            }
        }
    }
}

#[test]
fn solutions_satisfy_the_equations() {
    check_solutions::<f32>();
    check_solutions::<f64>();
    check_solutions::<C64>();
    check_solutions::<C128>();
}

#[test]
fn what_is_not_a_number_is_no_pivot_while_there_is_another() {
    let nan = f64::NAN;
    let mut swaps = [9; 2];
    factorise(2, 2, &mut [nan, 1.0, 2.0, 1.0], &mut swaps);
    assert_eq!(swaps, [1, 1]);
    factorise(2, 2, &mut [0.0, 1.0, nan, 1.0], &mut swaps);
    assert_eq!(swaps, [1, 1]);
    for a in [[nan, 1.0, 0.0, 1.0], [0.0, nan, nan, 0.0], [1.0, 1.0, 1.0, nan]] {
        let mut x = [1.0, 1.0];
        assert!(solve(2, 1, &a, false, &mut x) && x.iter().any(|x| x.is_nan()), "{a:?}: {x:?}");
    }
}

#[test]
fn what_is_not_finite_stays_in_its_right_hand_side() {
    let (n, k) = (50, 40);
    let mut a = vec![0.0f32; n * n];
    (0..n * n).for_each(|i| a[i] = if i / n == i % n { 2.0 } else { 0.01 });
    let mut x = vec![1.0f32; n * k];
    x[20 * k + 3] = f32::NAN;
    x[30 * k + 17] = f32::INFINITY;
    assert!(solve(n, k, &a, false, &mut x));
    for (i, x) in x.iter().enumerate() {
        assert_eq!(x.is_finite(), i % k != 3 && i % k != 17, "{i}");
    }
}

#[test]
fn quotients_of_diagonals_are_exact() {
    let (n, k) = (40, 33);
    let mut a = vec![0.0f32; n * n];
    (0..n).for_each(|i| a[i * n + i] = (2 * i + 3) as f32);
    let b: Vec<f32> = (0..n * k).map(|i| (2 * (i / k) + 3) as f32 * (i % k) as f32).collect();
    let (mut x, mut y) = (b.clone(), b);
    assert!(solve(n, k, &a, false, &mut x));
    solve_triangular(n, k, &a, false, true, &mut y);
    for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
        assert_eq!((x, y), ((i % k) as f32, (i % k) as f32));
    }
}

#[test]
#[should_panic(expected = "sizes of a system")]
fn sizes_whose_product_overflows_are_not_those_of_nothing() {
    solve_triangular::<f32>(1 << 32, 1 << 32, &[], true, false, &mut []);
}
