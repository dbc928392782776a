//! Inverse trigonometric functions, in the arithmetic of their operands.

use crate::math::{Math, horner32};
use crate::math64::horner;

/// What the inverse functions need of a width.
pub(crate) trait Inverse: Math {
    /// π, and what its rounding took off.
    const PI: (Self, Self);
    /// (atan t - t) / t^3 of z = t^2, for |t| <= tan(π/8).
    fn atan_tail(z: Self) -> Self;
    /// (asin s - s) / s^3 of z = s^2, for |s| <= 1/2.
    fn asin_tail(z: Self) -> Self;
}

// The polynomials interpolate at Chebyshev's nodes, where they deviate least.

impl Inverse for f32 {
    const PI: (f32, f32) = (std::f32::consts::PI, -8.742_278e-8);
    #[inline(always)]
    fn atan_tail(z: f32) -> f32 {
        horner32(z, [-0.064_517_185, 0.107_436_69, -0.142_639_5, 0.199_995_4, -0.333_333_3])
    }
    #[inline(always)]
    fn asin_tail(z: f32) -> f32 {
        horner32(z, [0.033_690_847, 0.017_149_238, 0.031_100_662, 0.044_599_403, 0.075_000_94, 0.166_666_66])
    }
}

impl Inverse for f64 {
    const PI: (f64, f64) = (std::f64::consts::PI, 1.224_646_799_147_353_2e-16);
    #[inline(always)]
    fn atan_tail(z: f64) -> f64 {
        horner(
            z,
            [
                -0.013_916_943_217_800_841,
                0.030_634_433_239_014_52,
                -0.041_043_814_178_076_43,
                0.047_193_814_578_951_37,
                -0.052_580_394_289_794_816,
                0.058_819_250_338_777_32,
                -0.066_666_420_049_965_45,
                0.076_923_067_353_214_75,
                -0.090_909_090_669_906_7,
                0.111_111_111_107_544_06,
                -0.142_857_142_857_115_17,
                0.199_999_999_999_999_93,
                -0.333_333_333_333_333_3,
            ],
        )
    }
    #[inline(always)]
    fn asin_tail(z: f64) -> f64 {
        horner(
            z,
            [
                0.029_612_011_264_955_12,
                -0.019_241_671_746_743_04,
                0.019_554_513_336_123_378,
                0.003_044_879_909_455_677_3,
                0.009_319_560_794_767_446,
                0.009_621_842_970_100_282,
                0.011_566_459_612_121_669,
                0.013_963_780_012_203_57,
                0.017_352_816_540_325_496,
                0.022_372_157_443_507_22,
                0.030_381_944_475_532_46,
                0.044_642_857_142_551_895,
                0.075_000_000_000_001_18,
                0.166_666_666_666_666_66,
            ],
        )
    }
}

/// The angle, in [0, π/2], of a point in the first quadrant that is neither the origin nor at infinity in both parts.
///
/// Turned by 0, π/4 or π/2, so that the tangent of the rest is at most tan(π/8).
#[inline(always)]
fn first_quadrant<M: Inverse>(y: M, x: M) -> M {
    let (below, above) = (y <= x * M::of(0.414_213_562_373_095), y > x * M::of(2.414_213_562_373_095));
    let (numerator, denominator) = (y - x, y + x);
    let numerator = if below { y } else { numerator };
    let denominator = if below { x } else { denominator };
    let numerator = if above { -x } else { numerator };
    let denominator = if above { y } else { denominator };
    let turn = if below { M::ZERO } else { M::of(0.25) };
    let turn = if above { M::of(0.5) } else { turn };
    let t = numerator / denominator;
    let z = t * t;
    turn.mul_add(M::PI.0, t + t.mul_add(z * M::atan_tail(z), turn * M::PI.1))
}

#[inline(always)]
pub(crate) fn atan<M: Inverse>(x: M) -> M {
    let angle = first_quadrant(x.abs(), M::ONE);
    (if x.is_nan() { x } else { angle }).copysign(x)
}

/// The angle of the point (`x`, `y`), with the special values of C99.
#[inline(always)]
pub(crate) fn atan2<M: Inverse>(y: M, x: M) -> M {
    let (b, a) = (y.abs(), x.abs());
    // An infinite part outweighs a finite one, and a nought weighs nothing.
    let endless = a == M::INFINITY || b == M::INFINITY;
    let finite = |v: M| if v == M::INFINITY { M::ONE } else { v * M::ZERO };
    let (b, a) = (if endless { finite(b) } else { b }, if endless { finite(a) } else { a });
    let a = if a == M::ZERO && b == M::ZERO { M::ONE } else { a };
    // Neither the sum of the parts may overflow nor the quotient's numerator lose bits.
    let huge = a > M::MAX * M::of(0.25) || b > M::MAX * M::of(0.25);
    let scale = if huge { M::of(0.125) } else { M::ONE };
    let angle = first_quadrant(b * scale, a * scale);
    let left = x.copysign(M::ONE) != x || (x == M::ZERO && M::ONE.copysign(x) < M::ZERO);
    let angle = if left { M::PI.0 - (angle - M::PI.1) } else { angle };
    (if x.is_nan() || y.is_nan() { x + y } else { angle }).copysign(y)
}

/// The square of the half angle's sine or of the angle's, the sine's tail beyond it, and whether it is of the half angle.
#[inline(always)]
fn halved<M: Inverse>(a: M) -> (M, M, bool) {
    let half = a > M::of(0.5);
    let z = if half { (M::ONE - a) * M::of(0.5) } else { a * a };
    (z, z * M::asin_tail(z), half)
}

#[inline(always)]
pub(crate) fn asin<M: Inverse>(x: M) -> M {
    let a = x.abs();
    let (z, tail, half) = halved(a);
    let s = if half { z.sqrt() } else { a };
    let angle = s.mul_add(tail, s);
    let turned = M::of(0.5) * M::PI.0 - (M::of(2.0) * angle - M::of(0.5) * M::PI.1);
    (if half { turned } else { angle }).copysign(x)
}

#[inline(always)]
pub(crate) fn acos<M: Inverse>(x: M) -> M {
    let (z, tail, half) = halved(x.abs());
    let s = z.sqrt();
    let near = M::of(2.0) * s.mul_add(tail, s);
    let far = M::PI.0 - (near - M::PI.1);
    let middle = M::of(0.5) * M::PI.0 - (x - x.mul_add(-tail, M::of(0.5) * M::PI.1));
    let outer = if x < M::ZERO { far } else { near };
    if half { outer } else { middle }
}
