//! Complex functions where formulas break: at infinities and NaN (C99, annex G, which the array API standard takes over),
//! near branch points, and where squares of the parts over- or underflow.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{C128, DType};
use penstock_kernels::{Lane, Unary, unary};

/// A unary operator on one number.
fn at(op: Unary, z: C128) -> C128 {
    let mut out = C128::new(0.0, 0.0);
    // SAFETY: one operand and one result of the dtype.
    unsafe {
        let lane = Lane::fixed((&raw const z).cast());
        unary(op, DType::C128).unwrap()(1, &[lane], (&raw mut out).cast()).unwrap();
    }
    out
}

/// Whether two parts are the same, signs of zeros included.
fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a == b && a.is_sign_negative() == b.is_sign_negative())
}

#[test]
fn special_values_are_those_of_c99() {
    use std::f64::consts::FRAC_PI_2;
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    for (op, re, im, want_re, want_im) in [
        (Unary::Acos, 0.0, NAN, FRAC_PI_2, NAN),
        (Unary::Acos, -0.0, NAN, FRAC_PI_2, NAN),
        (Unary::Acosh, 0.0, NAN, NAN, FRAC_PI_2),
        (Unary::Asinh, NAN, 0.0, NAN, 0.0),
        (Unary::Asinh, NAN, -0.0, NAN, -0.0),
        (Unary::Atanh, 0.0, NAN, 0.0, NAN),
        (Unary::Atanh, INF, NAN, 0.0, NAN),
        (Unary::Atanh, -INF, NAN, -0.0, NAN),
        (Unary::Atanh, 1.0, 0.0, INF, 0.0),
        (Unary::Sinh, 0.0, INF, 0.0, NAN),
        (Unary::Sinh, 0.0, NAN, 0.0, NAN),
        (Unary::Sinh, INF, INF, INF, NAN),
        (Unary::Sinh, INF, NAN, INF, NAN),
        (Unary::Cosh, 0.0, INF, NAN, 0.0),
        (Unary::Cosh, 0.0, NAN, NAN, 0.0),
        (Unary::Cosh, INF, INF, INF, NAN),
        (Unary::Cosh, -INF, NAN, INF, NAN),
        (Unary::Tanh, 0.0, INF, 0.0, NAN),
        (Unary::Tanh, 0.0, NAN, 0.0, NAN),
        (Unary::Tanh, INF, NAN, 1.0, 0.0),
        (Unary::Expm1, -0.0, 0.0, 0.0, 0.0),
        (Unary::Expm1, -INF, INF, -1.0, 0.0),
        (Unary::Expm1, -INF, NAN, -1.0, 0.0),
        (Unary::Exp, INF, NAN, INF, NAN),
        (Unary::Log1p, -1.0, 0.0, -INF, 0.0),
        (Unary::Sqrt, -0.0, -0.0, 0.0, -0.0),
    ] {
        let got = at(op, C128::new(re, im));
        assert!(same(got.re, want_re) && same(got.im, want_im), "{op:?} {re} {im}: {got}");
    }
}

#[test]
fn cuts_are_continuous_from_the_side_of_the_zeros_sign() {
    for (op, re) in
        [(Unary::Sqrt, -4.0), (Unary::Log, -2.0), (Unary::Acos, 2.0), (Unary::Asin, -3.0), (Unary::Atanh, 2.0)]
    {
        let (above, below) = (at(op, C128::new(re, 0.0)), at(op, C128::new(re, -0.0)));
        let near = at(op, C128::new(re, 1e-12));
        assert!((above - near).norm() < 1e-11, "{op:?}: {above} {near}");
        assert!((above - below.conj()).norm() < 1e-15, "{op:?}: {above} {below}");
    }
}

#[test]
fn logarithms_near_the_branch_point_keep_their_digits() {
    let got = at(Unary::Log1p, C128::new(-0.9999999995506421, -9.9999999986554e-13));
    assert!((got - C128::new(-21.523_198_999_918_91, -0.002_225_394_021_455_661_4)).norm() < 1e-13, "{got}");
}

#[test]
fn magnitudes_neither_overflow_nor_vanish() {
    let of = |dtype: DType, z: C128| {
        let narrow = penstock_data::C64::new(z.re as f32, z.im as f32);
        let (mut single, mut double) = (0f32, 0f64);
        // SAFETY: one operand and one result of the dtype.
        unsafe {
            if dtype == DType::C64 {
                let lane = Lane::fixed((&raw const narrow).cast());
                unary(Unary::Abs, dtype).unwrap()(1, &[lane], (&raw mut single).cast()).unwrap();
                f64::from(single)
            } else {
                let lane = Lane::fixed((&raw const z).cast());
                unary(Unary::Abs, dtype).unwrap()(1, &[lane], (&raw mut double).cast()).unwrap();
                double
            }
        }
    };
    for (re, im, want) in [
        (3.0, -4.0, 5.0),
        (3e200, 4e200, 5e200),
        (3e-200, 4e-200, 5e-200),
        (5e-324, 0.0, 5e-324),
        (1e300, 1e-300, 1e300),
        (f64::INFINITY, f64::NAN, f64::INFINITY),
        (f64::NAN, f64::NEG_INFINITY, f64::INFINITY),
        (0.0, -0.0, 0.0),
    ] {
        let got = of(DType::C128, C128::new(re, im));
        assert!(got == want || (got / want - 1.0).abs() < 3e-16, "{re} {im}: {got}");
    }
    assert!(of(DType::C128, C128::new(f64::NAN, 1.0)).is_nan());
    assert_eq!(of(DType::C64, C128::new(3e30, 4e30)), f64::from(5e30f32));
    assert_eq!(of(DType::C64, C128::new(3e-30, 4e-30)), f64::from(5e-30f32));
}
