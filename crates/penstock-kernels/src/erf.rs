//! The error function and its complement.

use crate::math::{exp_minus_one32, horner32};
use crate::math64::{exp, exp_of_sum, horner};

/// erf x = 1 - e^q(|x|), for |x| >= 1, where q approximates log erfc.
#[inline(always)]
pub(crate) fn erf32(x: f32) -> f32 {
    let a = x.abs();
    // (erf x - x) / x of x^2: less is rounded than of erf x / x.
    let p = horner32(
        x * x,
        [7.875_875e-5, -8.016_864e-4, 0.005_189_087, -0.026_854_211, 0.112_835_94, -0.376_126_26, 0.128_379_13],
    );
    // From 4 on the result is 1.
    let c = if a > 4.0 { 4.0 } else { a };
    let q = horner32(
        c,
        [1.855_834_7e-4, -0.002_939_699_5, 0.021_805_685, -0.103_038_13, -0.638_224_8, -1.127_040_5, -3.535_908_8e-4],
    );
    let (rest, power) = exp_minus_one32(q);
    let large = 1.0 - (rest + 1.0) * f32::from_bits((power.wrapping_add(127) << 23) as u32);
    (if a < 1.0 { a + a * p } else { large }).copysign(x)
}

/// erfc |x| = t e^(g(t) - x^2) with t = 1 / (1 + |x| / 2).
#[inline(always)]
fn erfc_positive_for32(a: f64) -> f64 {
    let a = if a > 10.4 { 10.4 } else { a };
    let t = 1.0 / (1.0 + 0.5 * a);
    let g = horner(
        t,
        [
            -0.209_257_919_016_972_58,
            2.153_677_629_899_547,
            -10.117_343_468_287_059,
            28.604_335_605_212_17,
            -54.024_251_749_286_07,
            71.604_448_362_161_72,
            -68.383_156_066_619_38,
            48.111_305_949_934_67,
            -25.821_331_876_313_916,
            10.961_651_090_198_684,
            -3.490_621_245_005_006,
            0.797_327_201_584_813_5,
            -0.316_439_657_014_714_55,
            -0.060_658_702_426_004_324,
            0.080_638_405_009_097_82,
            0.375_197_228_888_231_9,
            0.999_991_151_301_403_1,
            -1.265_511_940_221_347_7,
        ],
    );
    t * exp(g - a * a)
}

#[inline(always)]
pub(crate) fn erfc_for32(x: f64) -> f64 {
    let y = erfc_positive_for32(x.abs());
    if x < 0.0 { 2.0 - y } else { y }
}

/// erfc a = t e^(g(t) - a^2) with t = 1 / (1 + a / 2), for a >= 0. In the exponential, a relative error is the absolute
/// one of the exponent, so the square is of two parts.
#[inline(always)]
fn erfc_positive(a: f64) -> f64 {
    let a = if a > 28.0 { 28.0 } else { a };
    let t = 1.0 / (1.0 + 0.5 * a);
    // t in [1/16, 1], stretched to [-1, 1]: there the coefficients fall fast.
    let u = (t - 17.0 / 32.0) * (32.0 / 15.0);
    let g = horner(
        u,
        [
            8.428691864591299e-10,
            -2.7495921641426685e-09,
            -3.1843786768192813e-09,
            2.603952481139094e-08,
            -2.4849937946473878e-08,
            -9.473836620875514e-08,
            2.733906107409173e-07,
            1.7131341659955966e-09,
            -1.2140930990289389e-06,
            1.7661893269041619e-06,
            2.644858089901621e-06,
            -1.0770599972188136e-05,
            2.7824237261350917e-06,
            3.996408208761957e-05,
            -5.59167518934073e-05,
            -0.00010143106230117266,
            0.00032545667579968006,
            0.00012517506193771707,
            -0.001481625415409437,
            0.0004956813216973005,
            0.006728782345932391,
            -0.005432017831474277,
            -0.04038441873525073,
            0.033698047394368026,
            0.6356274566949897,
            -0.629580539022419,
        ],
    );
    let upper = f64::from_bits(a.to_bits() & 0xffff_ffff_f800_0000);
    let square = -upper * upper;
    let rest = g - (a - upper) * (a + upper);
    let exponent = square + rest;
    let low = if a < 1.5 { square - (exponent - rest) } else { rest - (exponent - square) };
    t * exp_of_sum(exponent, low)
}

/// erf x / x of z = x^2, for |x| <= 1.
#[inline(always)]
fn erf_slope(z: f64) -> f64 {
    horner(
        z,
        [
            -4.230945824295338e-12,
            8.709045129053106e-11,
            -1.216456005728345e-09,
            1.4792401209404813e-08,
            -1.6364642158167616e-07,
            1.6462045441468418e-06,
            -1.4925647567519332e-05,
            0.00012055332902888736,
            -0.000854832702193483,
            0.0052239776254232985,
            -0.02686617064512984,
            0.1128379167095512,
            -0.37612638903183754,
            1.1283791670955126,
        ],
    )
}

#[inline(always)]
pub(crate) fn erfc(x: f64) -> f64 {
    let a = x.abs();
    let large = erfc_positive(a);
    let large = if x < 0.0 { 2.0 - large } else { large };
    if a < 0.5 { 1.0 - x * erf_slope(x * x) } else { large }
}

#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    let a = x.abs();
    // From 6 on the result is 1.
    let c = if a > 6.0 { 6.0 } else { a };
    (if a < 1.0 { a * erf_slope(x * x) } else { 1.0 - erfc_positive(c) }).copysign(x)
}
