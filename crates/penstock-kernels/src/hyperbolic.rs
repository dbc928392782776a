//! Hyperbolic functions and their inverses, of the exponential and the logarithm that are accurate near 0.

use crate::math::Functions;

/// sinh x = (t + t / (t + 1)) / 2 with t = e^|x| - 1.
#[inline(always)]
pub(crate) fn sinh<M: Functions>(x: M) -> M {
    let a = x.abs();
    let t = a.expm1();
    let near = M::of(0.5) * (t + t / (t + M::ONE));
    let far = a.exp_halved();
    M::select(a.gt(M::of(22.0)), far, near).copysign(x)
}

#[inline(always)]
pub(crate) fn cosh<M: Functions>(x: M) -> M {
    let half = x.abs().exp_halved();
    half + M::of(0.25) / half
}

/// tanh x = -t / (t + 2) with t = e^(-2 |x|) - 1.
#[inline(always)]
pub(crate) fn tanh<M: Functions>(x: M) -> M {
    let t = (M::of(-2.0) * x.abs()).expm1();
    (-t / (t + M::of(2.0))).copysign(x)
}

/// Beyond this `x ± 1` and the root of `x² ± 1` are `x`, to the last place of an `f64`.
const LARGE: f64 = 36_028_797_018_963_968.0;

/// asinh x = log1p(|x| + x² / (1 + √(1 + x²))).
#[inline(always)]
pub(crate) fn asinh<M: Functions>(x: M) -> M {
    let a = x.abs();
    let large = a.gt(M::of(LARGE));
    let square = a * a;
    let argument = a + square / (M::ONE + (M::ONE + square).sqrt());
    let y = M::select(large, a, argument).log1p();
    (y + M::select(large, M::of(std::f64::consts::LN_2), M::ZERO)).copysign(x)
}

/// acosh x = log1p(t + √(t (t + 2))) with t = x - 1.
#[inline(always)]
pub(crate) fn acosh<M: Functions>(x: M) -> M {
    let large = x.gt(M::of(LARGE));
    let t = x - M::ONE;
    let argument = t + (t * (t + M::of(2.0))).sqrt();
    let y = M::select(large, x, argument).log1p();
    let y = y + M::select(large, M::of(std::f64::consts::LN_2), M::ZERO);
    M::select(x.ge(M::ONE), y, M::of(f64::NAN))
}

/// atanh x = log1p(2 |x| / (1 - |x|)) / 2.
#[inline(always)]
pub(crate) fn atanh<M: Functions>(x: M) -> M {
    let a = x.abs();
    (M::of(0.5) * ((a + a) / (M::ONE - a)).log1p()).copysign(x)
}

/// log(1 + e^x) = max(x, 0) + log1p(e^-|x|).
#[inline(always)]
pub(crate) fn softplus<M: Functions>(x: M) -> M {
    let positive = M::select(x.lt(M::ZERO), M::ZERO, x);
    positive + (-x.abs()).exp().log1p()
}
