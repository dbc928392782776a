//! Hyperbolic functions and their inverses, of the exponential and the logarithm that are accurate near 0.

use crate::math::Math;

/// sinh x = (t + t / (t + 1)) / 2 with t = e^|x| - 1.
#[inline(always)]
pub(crate) fn sinh<M: Math>(x: M) -> M {
    let a = x.abs();
    let t = a.expm1();
    let near = M::of(0.5) * (t + t / (t + M::ONE));
    let far = a.exp_halved();
    (if a > M::of(22.0) { far } else { near }).copysign(x)
}

#[inline(always)]
pub(crate) fn cosh<M: Math>(x: M) -> M {
    let half = x.abs().exp_halved();
    half + M::of(0.25) / half
}

/// tanh x = -t / (t + 2) with t = e^(-2 |x|) - 1.
#[inline(always)]
pub(crate) fn tanh<M: Math>(x: M) -> M {
    let t = (M::of(-2.0) * x.abs()).expm1();
    (-t / (t + M::of(2.0))).copysign(x)
}

/// Beyond this `x ± 1` and the root of `x² ± 1` are `x`, to the last place of an `f64`.
const LARGE: f64 = 36_028_797_018_963_968.0;

/// asinh x = log1p(|x| + x² / (1 + √(1 + x²))).
#[inline(always)]
pub(crate) fn asinh<M: Math>(x: M) -> M {
    let a = x.abs();
    let large = a > M::of(LARGE);
    let square = a * a;
    let argument = a + square / (M::ONE + (M::ONE + square).sqrt());
    let y = (if large { a } else { argument }).log1p();
    (y + if large { M::of(std::f64::consts::LN_2) } else { M::ZERO }).copysign(x)
}

/// acosh x = log1p(t + √(t (t + 2))) with t = x - 1.
#[inline(always)]
pub(crate) fn acosh<M: Math>(x: M) -> M {
    let large = x > M::of(LARGE);
    let t = x - M::ONE;
    let argument = t + (t * (t + M::of(2.0))).sqrt();
    let y = (if large { x } else { argument }).log1p();
    let y = y + if large { M::of(std::f64::consts::LN_2) } else { M::ZERO };
    if x >= M::ONE { y } else { M::of(f64::NAN) }
}

/// atanh x = log1p(2 |x| / (1 - |x|)) / 2.
#[inline(always)]
pub(crate) fn atanh<M: Math>(x: M) -> M {
    let a = x.abs();
    (M::of(0.5) * ((a + a) / (M::ONE - a)).log1p()).copysign(x)
}

/// log(1 + e^x) = max(x, 0) + log1p(e^-|x|).
#[inline(always)]
pub(crate) fn softplus<M: Math>(x: M) -> M {
    let positive = if x < M::ZERO { M::ZERO } else { x };
    positive + (-x.abs()).exp().log1p()
}
