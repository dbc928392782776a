//! Inverse trigonometric functions, in the arithmetic of their operands.

use crate::algebra::{Double, Single, horner, horner32};
use crate::math::Functions;

// The polynomials interpolate at Chebyshev's nodes, where they deviate least: see `Functions` for what they are of.

#[inline(always)]
pub(crate) fn atan_tail32<A: Single>(z: A) -> A {
    horner32(z, [-0.064_517_185, 0.107_436_69, -0.142_639_5, 0.199_995_4, -0.333_333_3])
}

#[inline(always)]
pub(crate) fn asin_tail32<A: Single>(z: A) -> A {
    horner32(z, [0.033_690_847, 0.017_149_238, 0.031_100_662, 0.044_599_403, 0.075_000_94, 0.166_666_66])
}

#[inline(always)]
pub(crate) fn atan_tail<A: Double>(z: A) -> A {
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
pub(crate) fn asin_tail<A: Double>(z: A) -> A {
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

/// The angle, in [0, π/2], of a point in the first quadrant that is neither the origin nor at infinity in both parts.
///
/// Turned by 0, π/4 or π/2, so that the tangent of the rest is at most tan(π/8).
#[inline(always)]
fn first_quadrant<M: Functions>(y: M, x: M) -> M {
    let below = y.le(x * M::of(0.414_213_562_373_095));
    let above = y.gt(x * M::of(2.414_213_562_373_095));
    let numerator = M::select(above, -x, M::select(below, y, y - x));
    let denominator = M::select(above, y, M::select(below, x, y + x));
    let turn = M::select(above, M::of(0.5), M::select(below, M::ZERO, M::of(0.25)));
    let t = numerator / denominator;
    let z = t * t;
    let (pi, rest) = M::pi();
    turn.mul_add(pi, t + t.mul_add(z * z.atan_tail(), turn * rest))
}

#[inline(always)]
pub(crate) fn atan<M: Functions>(x: M) -> M {
    let angle = first_quadrant(x.abs(), M::ONE);
    M::select(x.is_nan(), x, angle).copysign(x)
}

/// The angle of the point (`x`, `y`), with the special values of C99.
#[inline(always)]
pub(crate) fn atan2<M: Functions>(y: M, x: M) -> M {
    let (b, a) = (y.abs(), x.abs());
    // An infinite part outweighs a finite one, and a nought weighs nothing.
    let endless = a.eq(M::INFINITY) | b.eq(M::INFINITY);
    let finite = |v: M| M::select(endless, M::select(v.eq(M::INFINITY), M::ONE, v * M::ZERO), v);
    let (b, a) = (finite(b), finite(a));
    let a = M::select(a.eq(M::ZERO) & b.eq(M::ZERO), M::ONE, a);
    // Neither the sum of the parts may overflow nor the quotient's numerator lose bits.
    let most = M::MAX * M::of(0.25);
    let scale = M::select(a.gt(most) | b.gt(most), M::of(0.125), M::ONE);
    let angle = first_quadrant(b * scale, a * scale);
    let left = x.copysign(M::ONE).ne(x) | (x.eq(M::ZERO) & M::ONE.copysign(x).lt(M::ZERO));
    let (pi, rest) = M::pi();
    let angle = M::select(left, pi - (angle - rest), angle);
    M::select(x.is_nan() | y.is_nan(), x + y, angle).copysign(y)
}

/// The square of the half angle's sine or of the angle's, the sine's tail beyond it, and whether it is of the half angle.
#[inline(always)]
fn halved<M: Functions>(a: M) -> (M, M, M::Mask) {
    let half = a.gt(M::of(0.5));
    let z = M::select(half, (M::ONE - a) * M::of(0.5), a * a);
    (z, z * z.asin_tail(), half)
}

#[inline(always)]
pub(crate) fn asin<M: Functions>(x: M) -> M {
    let a = x.abs();
    let (z, tail, half) = halved(a);
    let s = M::select(half, z.sqrt(), a);
    let angle = s.mul_add(tail, s);
    let (pi, rest) = M::pi();
    let turned = M::of(0.5) * pi - (M::of(2.0) * angle - M::of(0.5) * rest);
    M::select(half, turned, angle).copysign(x)
}

#[inline(always)]
pub(crate) fn acos<M: Functions>(x: M) -> M {
    let (z, tail, half) = halved(x.abs());
    let s = z.sqrt();
    let near = M::of(2.0) * s.mul_add(tail, s);
    let (pi, rest) = M::pi();
    let far = pi - (near - rest);
    let middle = M::of(0.5) * pi - (x - x.mul_add(-tail, M::of(0.5) * rest));
    M::select(half, M::select(x.lt(M::ZERO), far, near), middle)
}
