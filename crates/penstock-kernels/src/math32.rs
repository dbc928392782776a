//! Vectorisable functions in `f32` arithmetic.

use crate::algebra::{Single, Word as _, horner32, scaled, split};

/// e^r - 1 and n, for x = n ln 2 + r with |r| <= ln 2 / 2.
#[inline(always)]
pub(crate) fn exp_minus_one<A: Single>(x: A) -> (A, A::Word) {
    let magic = A::of(A::MAGIC);
    let shifted = x.mul_add(A::of32(std::f32::consts::LOG2_E), magic);
    let n = shifted - magic;
    let r = n.mul_add(A::of32(2.121_944_4e-4), n.mul_add(A::of32(-0.693_359_4), x));
    let p = horner32(r, [0.001_392_648_4, 0.008_363_42, 0.041_666_552, 0.166_665_76, 0.5]);
    (p.mul_add(r * r, r), shifted.bits().sub(magic.bits()))
}

/// e^x 2^`more`, for -1 <= `more` <= 0.
#[inline(always)]
pub(crate) fn exp<A: Single>(x: A, more: i64) -> A {
    // The clamp keeps n in range and lets NaN pass. Where the result is 0 nothing underflows on the way, which is slow.
    let nought = x.lt(A::of32(-104.0));
    let most = A::of32(90.5);
    let c = A::select(x.gt(most), most, x);
    let c = A::select(nought, A::ZERO, c);
    let (p, k) = exp_minus_one(c);
    let power = scaled(p + A::ONE, k.add(A::Word::of(more)));
    A::select(nought, A::ZERO, power)
}

/// 2^n (1 + p) - 1 = 2^n p + (2^n - 1).
#[inline(always)]
pub(crate) fn expm1<A: Single>(x: A) -> A {
    let (least, most) = (A::of32(-20.0), A::of32(89.0));
    let c = A::select(x.gt(most), most, x);
    let c = A::select(c.lt(least), least, c);
    let (p, k) = exp_minus_one(c);
    let power = scaled(A::ONE, k);
    let near = p.mul_add(power, power - A::ONE);
    A::select(k.gt(A::Word::of(60)), scaled(p + A::ONE, k), near).copysign(x)
}

/// `k` ln 2 + log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt 2; `low` are the small parts of the sum, that of `k` ln 2 among them.
///
/// log(1 + f) = f - f^2 / 2 + f^3 p(f), with p off by 6e-9 of the logarithm.
#[inline(always)]
fn log_sum<A: Single>(k: A, f: A, low: A) -> A {
    let p = horner32(
        f,
        [
            -0.076_344_93,
            0.127_615_75,
            -0.131_601_83,
            0.142_017_59,
            -0.166_233_57,
            0.200_012_27,
            -0.250_008_2,
            0.333_333_3,
        ],
    );
    let tail = (f * f).mul_add(f.mul_add(p, A::of32(-0.5)), low);
    k.mul_add(A::of32(0.693_138_1), f + tail)
}

#[inline(always)]
pub(crate) fn log<A: Single>(x: A) -> A {
    let tiny = x.lt(A::MIN_POSITIVE);
    let (k, m) = split(A::select(tiny, x * A::of32(33_554_432.0), x));
    let k = k - A::select(tiny, A::of32(25.0), A::ZERO);
    let y = log_sum(k, m - A::ONE, k * A::of32(9.058_000_6e-6));
    let y = A::select(x.eq(A::INFINITY), x, y);
    let y = A::select(x.eq(A::ZERO), -A::INFINITY, y);
    A::select(x.ge(A::ZERO), y, A::of32(f32::NAN))
}

/// log(1 + x): of the rounded sum, and of what its rounding took off.
#[inline(always)]
pub(crate) fn log1p<A: Single>(x: A) -> A {
    let u = A::ONE + x;
    let (k, m) = split(u);
    let lost = A::select(x.lt(A::ONE), x - (u - A::ONE), A::ONE - (u - x));
    let whole = k.eq(A::ZERO);
    let f = A::select(whole, x, m - A::ONE);
    let low = A::select(whole, A::ZERO, lost / u + k * A::of32(9.058_000_6e-6));
    let y = log_sum(k, f, low);
    let y = A::select(x.eq(A::INFINITY) | x.eq(A::ZERO), x, y);
    let y = A::select(x.eq(-A::ONE), -A::INFINITY, y);
    A::select(x.ge(-A::ONE), y, A::of32(f32::NAN))
}

#[inline(always)]
pub(crate) fn tanh<A: Single>(x: A) -> A {
    let a = x.abs();
    let u = x * x;
    let p = horner32(u, [0.002_269_501_7, -0.008_323_187, 0.021_762_503, -0.053_958_46, 0.133_333, -0.333_333_34]);
    let small = a.mul_add(u * p, a);
    let large = A::ONE - A::of32(2.0) / (exp(A::of32(2.0) * a, 0) + A::ONE);
    A::select(a.lt(A::of32(0.625)), small, large).copysign(x)
}
