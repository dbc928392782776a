//! What the results promise beside the equations, which the tests of the operators check.

use penstock_data::C128;
use penstock_linalg::{Failure, Matrix};

#[test]
fn determinants_count_the_exchanges_of_rows() {
    assert_eq!(f64::det(0, &[]), 1.0);
    assert_eq!(f64::det(2, &[0.0, 1.0, 1.0, 0.0]), -1.0);
    assert_eq!(f64::det(3, &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), 1.0);
    assert_eq!(f64::slogdet(2, &[0.0, 2.0, 2.0, 0.0]), (-1.0, 2.0 * 2f64.ln()));
    assert_eq!(f64::slogdet(1, &[0.0]), (0.0, f64::NEG_INFINITY));
}

#[test]
fn rows_are_listed_in_the_order_of_the_factors() {
    let (mut packed, mut order) = ([0.0; 4], [9; 2]);
    f64::lu(2, 2, &[1.0, 2.0, 4.0, 4.0], &mut packed, &mut order);
    assert_eq!((packed, order), ([4.0, 4.0, 0.25, 1.0], [1, 0]));
    let mut order = [9; 2];
    f64::lu(2, 0, &[], &mut [], &mut order);
    assert_eq!(order, [0, 1]);
}

#[test]
fn diagonals_of_triangles_are_real() {
    let a = [C128::new(0.0, 2.0), C128::new(1.0, -1.0), C128::new(3.0, 1.0), C128::new(-1.0, 0.5)];
    let (mut q, mut r) = ([C128::default(); 4], [C128::default(); 4]);
    C128::qr(2, 2, true, &a, &mut q, &mut r);
    assert!(r[0].im.abs() < 1e-14 && r[3].im.abs() < 1e-14 && r[2] == C128::default());
    for (i, x) in a.iter().enumerate() {
        let product = q[i / 2 * 2] * r[i % 2] + q[i / 2 * 2 + 1] * r[2 + i % 2];
        assert!((product - x).norm() < 1e-14);
    }
}

#[test]
fn singular_vectors_have_fixed_signs() {
    let a = [0.0, -2.0, -3.0, 0.0];
    let (mut s, mut u, mut v) = ([0.0; 2], [0.0; 4], [0.0; 4]);
    f64::svd(2, 2, false, &a, &mut s, Some((&mut u, &mut v))).unwrap();
    let near = |got: &[f64], due: &[f64]| got.iter().zip(due).all(|(a, b)| (a - b).abs() < 1e-14);
    assert!(near(&s, &[3.0, 2.0]) && near(&u, &[0.0, 1.0, 1.0, 0.0]) && near(&v, &[-1.0, 0.0, 0.0, -1.0]));
}

#[test]
fn many_right_hand_sides_have_the_solutions_that_they_have_alone() {
    let (n, k) = (5, 60_000);
    let element = |i: usize| C128::new((i * 7 % 11) as f64 - 3.0, (i * 5 % 13) as f64 - 6.0);
    let a: Vec<C128> = (0..n * n).map(element).collect();
    let b: Vec<C128> = (0..n * k).map(|i| element(i + 3)).collect();
    let entry = |i: usize, j: usize, adjoint: bool| if adjoint { a[j * n + i].conj() } else { a[i * n + j] };
    for (adjoint, triangle) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut x = b.clone();
        match triangle {
            true => C128::triangular_solve(n, k, &a, true, adjoint, &mut x),
            false => C128::solve(n, k, &a, adjoint, &mut x).unwrap(),
        }
        for column in (0..k).step_by(997) {
            for i in 0..n {
                let within = |j: &usize| !triangle || if adjoint { *j >= i } else { *j <= i };
                let terms = (0..n).filter(within).map(|j| entry(i, j, adjoint) * x[j * k + column]);
                assert!((terms.sum::<C128>() - b[i * k + column]).norm() < 1e-9, "{adjoint} {triangle} {i} {column}");
            }
        }
    }
}

#[test]
fn what_has_no_result_is_said() {
    assert_eq!(f64::inverse(1, &[0.0], &mut [0.0]), Err(Failure::Singular));
    assert_eq!(f64::eigh(1, &[f64::INFINITY], &mut [0.0], None), Err(Failure::NoConvergence));
    let mut s = [0.0];
    f64::svd(1, 1, false, &[f64::NAN], &mut s, None).unwrap();
    assert!(s[0].is_nan());
}

#[test]
fn eigenvectors_have_length_one_and_a_positive_element() {
    let a = [0.0, 1.0, -9.0, 0.0];
    let (mut e, mut v) = ([C128::default(); 2], [C128::default(); 4]);
    f64::eig(2, &a, &mut e, Some(&mut v)).unwrap();
    let mut alone = [C128::default(); 2];
    f64::eig(2, &a, &mut alone, None).unwrap();
    for j in 0..2 {
        assert!((e[j].norm() - 3.0).abs() < 1e-14 && (alone[j].norm() - 3.0).abs() < 1e-14);
        let (x, y) = (v[j], v[2 + j]);
        assert!((x.norm_sqr() + y.norm_sqr() - 1.0).abs() < 1e-14);
        // The first element that is at least half as great as the other is the second here.
        assert!(y.re > 0.0 && y.im.abs() < 1e-14);
        assert!((y - e[j] * x).norm() < 1e-14 && (x * -9.0 - e[j] * y).norm() < 1e-14);
    }
    assert_eq!(f64::eig(1, &[f64::NAN], &mut [C128::default()], None), Err(Failure::NoConvergence));
    assert_eq!(f64::eig(0, &[], &mut [], Some(&mut [])), Ok(()));
}

#[test]
fn singular_values_of_any_scale() {
    for power in [-1070, -300, 0, 300, 1020] {
        let scale = 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
        let (mut s, mut u, mut v) = ([0.0; 2], [0.0; 4], [0.0; 4]);
        f64::svd(2, 2, false, &[0.0, 2.0 * scale, 3.0 * scale, 0.0], &mut s, Some((&mut u, &mut v))).unwrap();
        assert!((s[0] / scale - 3.0).abs() < 1e-14 && (s[1] / scale - 2.0).abs() < 1e-14, "{power}: {s:?}");
    }
    let mut s = [1.0; 2];
    f64::svd(2, 2, false, &[0.0; 4], &mut s, None).unwrap();
    assert_eq!(s, [0.0; 2]);
}

#[test]
fn the_factor_of_what_is_not_positive_definite_is_not_a_number() {
    for a in [[1.0, 0.0, 2.0, 1.0], [-1.0, 0.0, 0.0, 1.0], [0.0; 4], [1.0, 0.0, 1.0, f64::NAN]] {
        let mut l = [7.0; 4];
        f64::cholesky(2, &a, &mut l);
        assert!(l[0].is_nan() && l[2].is_nan() && l[3].is_nan() && l[1] == 0.0, "{a:?} {l:?}");
    }
}

#[test]
fn a_zero_on_the_diagonal_of_a_triangle_divides() {
    let mut x = [1.0, 1.0];
    f64::triangular_solve(2, 1, &[0.0, 0.0, 1.0, 1.0], true, false, &mut x);
    assert_eq!(x, [f64::INFINITY, f64::NEG_INFINITY]);
}
