//! Complex functions where the textbook formula overflows, cancels or misses a branch cut.

use num_complex::Complex;
use num_traits::{Float, FloatConst};
use penstock_data::{C64, C128};

use crate::algebra::{Algebra, Double, Single};
use crate::math::Functions;

/// The type of the parts of a complex element: `f32` or `f64`.
pub(crate) trait Part: Functions<Mask = bool> + Float + FloatConst + std::fmt::Debug + 'static {
    /// `f(z)`, computed in `f64`.
    fn in_f64(z: Complex<Self>, f: impl Fn(C128) -> C128) -> Complex<Self>;
    /// `f(x, y)`, computed in `f64`.
    fn in_f64_2(x: Complex<Self>, y: Complex<Self>, f: impl Fn(C128, C128) -> C128) -> Complex<Self>;
}

#[inline(always)]
fn wider(z: C64) -> C128 {
    C128::new(f64::from(z.re), f64::from(z.im))
}

impl Part for f32 {
    fn in_f64(z: C64, f: impl Fn(C128) -> C128) -> C64 {
        let w = f(wider(z));
        C64::new(w.re as f32, w.im as f32)
    }
    fn in_f64_2(x: C64, y: C64, f: impl Fn(C128, C128) -> C128) -> C64 {
        let w = f(wider(x), wider(y));
        C64::new(w.re as f32, w.im as f32)
    }
}

impl Part for f64 {
    fn in_f64(z: C128, f: impl Fn(C128) -> C128) -> C128 {
        f(z)
    }
    fn in_f64_2(x: C128, y: C128, f: impl Fn(C128, C128) -> C128) -> C128 {
        f(x, y)
    }
}

// Functions that have a formula for each part of their results.

/// The magnitude, by double precision: infinite if a part is, else NaN if one is.
#[inline(always)]
pub(crate) fn norm_for32<A: Single>(re: A, im: A) -> A {
    let (x, y) = (re.to_double(), im.to_double());
    let norm = (x * x + y * y).sqrt().to_single();
    A::select(re.abs().eq(A::INFINITY) | im.abs().eq(A::INFINITY), A::INFINITY, norm)
}

/// The magnitude: infinite if a part is, else NaN if one is; neither over- nor underflows before the result does.
#[inline(always)]
pub(crate) fn norm<A: Double>(re: A, im: A) -> A {
    // Powers of two, between which squares are neither too great nor too small.
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let (a, b) = (re.abs(), im.abs());
    let (great, small) = (a.gt(A::of(1e150)) | b.gt(A::of(1e150)), a.lt(A::of(1e-140)) & b.lt(A::of(1e-140)));
    let choose = |if_great: f64, if_small: f64| {
        let scale = A::select(great, A::of(if_great), A::ONE);
        A::select(small, A::of(if_small), scale)
    };
    let (scale, back) = (choose(DOWN, UP), choose(UP, DOWN));
    let (c, d) = (a * scale, b * scale);
    let norm = (c * c + d * d).sqrt() * back;
    A::select(a.eq(A::INFINITY) | b.eq(A::INFINITY), A::INFINITY, norm)
}

#[inline(always)]
pub(crate) fn zero<A: Algebra>() -> Complex<A> {
    Complex { re: A::ZERO, im: A::ZERO }
}

#[inline(always)]
pub(crate) fn is_equal<A: Algebra>(a: Complex<A>, b: Complex<A>) -> A::Mask {
    a.re.eq(b.re) & a.im.eq(b.im)
}

/// `a` where the mask is true, else `b`.
#[inline(always)]
pub(crate) fn select<A: Algebra>(mask: A::Mask, a: Complex<A>, b: Complex<A>) -> Complex<A> {
    Complex { re: A::select(mask, a.re, b.re), im: A::select(mask, a.im, b.im) }
}

#[inline(always)]
pub(crate) fn add<A: Algebra>(a: Complex<A>, b: Complex<A>) -> Complex<A> {
    Complex { re: a.re + b.re, im: a.im + b.im }
}

#[inline(always)]
pub(crate) fn sub<A: Algebra>(a: Complex<A>, b: Complex<A>) -> Complex<A> {
    Complex { re: a.re - b.re, im: a.im - b.im }
}

#[inline(always)]
pub(crate) fn mul<A: Algebra>(a: Complex<A>, b: Complex<A>) -> Complex<A> {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

/// Division by Smith's method, as NumPy's: no overflow of intermediate squares.
#[inline(always)]
pub(crate) fn div<A: Algebra>(a: Complex<A>, b: Complex<A>) -> Complex<A> {
    let turned = b.re.abs().lt(b.im.abs());
    let (greater, less) = (A::select(turned, b.im, b.re), A::select(turned, b.re, b.im));
    let ratio = less / greater;
    let scale = A::ONE / (greater + less * ratio);
    let (straight, across) = (a.re * ratio, a.im * ratio);
    let re = A::select(turned, straight + a.im, a.re + across);
    let im = A::select(turned, across - a.re, a.im - straight);
    let nought = is_equal(b, zero());
    Complex {
        re: A::select(nought, a.re / b.re.abs(), re * scale),
        im: A::select(nought, a.im / b.re.abs(), im * scale),
    }
}

/// `z / |z|`, 0 at 0.
#[inline(always)]
pub(crate) fn sign<M: Functions>(z: Complex<M>) -> Complex<M> {
    let norm = M::norm(z.re, z.im);
    let nought = norm.eq(M::ZERO);
    let share = |part: M| M::select(nought, M::ZERO, part / norm);
    Complex { re: share(z.re), im: share(z.im) }
}

/// Square root: the principal branch, cut along the negative real axis, on which the sign of zero tells the side.
pub(crate) fn sqrt(z: C128) -> C128 {
    let (re, im) = (z.re, z.im);
    if im.is_infinite() {
        return C128::new(f64::INFINITY, im);
    }
    if re.is_infinite() {
        let other = if im.is_nan() { im } else { 0.0 };
        return if re > 0.0 {
            C128::new(re, other.copysign(im))
        } else {
            C128::new(other.abs(), f64::INFINITY.copysign(im))
        };
    }
    if re == 0.0 && im == 0.0 {
        return C128::new(0.0, im);
    }
    let (a, b) = (re.abs(), im.abs());
    // The greater part of the root, of a number scaled so that nothing overflows or loses bits.
    let s = if a < f64::MIN_POSITIVE && b < f64::MIN_POSITIVE {
        const UP: f64 = 18_014_398_509_481_984.0;
        (a * UP + (a * UP).hypot(b * UP)).sqrt() / 134_217_728.0
    } else {
        2.0 * (a / 8.0 + (a / 8.0).hypot(b / 8.0)).sqrt()
    };
    let d = b / (2.0 * s);
    if re >= 0.0 { C128::new(s, d.copysign(im)) } else { C128::new(d, s.copysign(im)) }
}

pub(crate) fn exp(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(z.re.exp(), z.im);
    }
    if z.re == f64::NEG_INFINITY && !z.im.is_finite() {
        return C128::new(0.0, 0.0);
    }
    if z.re == f64::INFINITY && !z.im.is_finite() {
        return C128::new(f64::INFINITY, f64::NAN);
    }
    // In two factors, so that a large one may meet a small sine.
    let half = (0.5 * z.re).exp();
    let (sin, cos) = z.im.sin_cos();
    if half.is_finite() && half > 0.0 {
        C128::new(half * cos * half, half * sin * half)
    } else {
        let e = z.re.exp();
        C128::new(e * cos, e * sin)
    }
}

/// log |z|, without overflow, and without cancellation near the unit circle.
fn log_norm(z: C128) -> f64 {
    use std::f64::consts::LN_2;
    let (a, b) = (z.re.abs(), z.im.abs());
    if a > LARGE || b > LARGE {
        return (a / 2.0).hypot(b / 2.0).ln() + LN_2;
    }
    if a < f64::MIN_POSITIVE && b < f64::MIN_POSITIVE {
        const UP: f64 = 9_007_199_254_740_992.0;
        return (a * UP).hypot(b * UP).ln() - 53.0 * LN_2;
    }
    let norm = a.hypot(b);
    if (0.71..=1.73).contains(&norm) {
        let (greater, less) = (a.max(b), a.min(b));
        return ((greater - 1.0) * (greater + 1.0) + less * less).ln_1p() / 2.0;
    }
    norm.ln()
}

pub(crate) fn log(z: C128) -> C128 {
    C128::new(log_norm(z), z.arg())
}

/// e^z - 1 without cancellation near 0.
pub(crate) fn expm1(z: C128) -> C128 {
    if z.im == 0.0 {
        // Nought is +0, of either sign of the argument.
        return C128::new(z.re.exp_m1() + 0.0, z.im);
    }
    if z.re == f64::NEG_INFINITY && !z.im.is_finite() {
        return C128::new(-1.0, 0.0);
    }
    if z.re > 40.0 {
        return exp(z);
    }
    let half = (z.im / 2.0).sin();
    let re = z.re.exp_m1() * z.im.cos() - (half * half + half * half);
    C128::new(re, z.re.exp() * z.im.sin())
}

/// log(1 + z) without cancellation near 0.
pub(crate) fn log1p(z: C128) -> C128 {
    // Below -1/2 the sum is exact.
    let small = z.re > -0.5 && z.re < 1.0 && z.im.abs() < 1.0;
    let moved = C128::new(z.re + 1.0, z.im);
    let re = if small { (z.re * (2.0 + z.re) + z.im * z.im).ln_1p() / 2.0 } else { log_norm(moved) };
    C128::new(re, moved.arg())
}

pub(crate) fn sinh(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(z.re.sinh(), z.im);
    }
    if !z.im.is_finite() && (z.re == 0.0 || z.re.is_infinite()) {
        return C128::new(z.re, f64::NAN);
    }
    let (sin, cos) = z.im.sin_cos();
    if z.re.abs() > 40.0 && z.re.is_finite() {
        // Both hyperbolic functions are half of e^|x|.
        let half = (0.5 * z.re.abs()).exp();
        return C128::new((0.5 * half * cos * half).copysign(z.re * cos), 0.5 * half * sin * half);
    }
    C128::new(z.re.sinh() * cos, z.re.cosh() * sin)
}

pub(crate) fn cosh(z: C128) -> C128 {
    if z.im == 0.0 {
        // The sign of zero is that of the product.
        return C128::new(z.re.cosh(), if z.re.is_nan() { 0.0 } else { z.im * 1f64.copysign(z.re) });
    }
    if !z.im.is_finite() && z.re == 0.0 {
        return C128::new(f64::NAN, 0.0);
    }
    if !z.im.is_finite() && z.re.is_infinite() {
        return C128::new(f64::INFINITY, f64::NAN);
    }
    let (sin, cos) = z.im.sin_cos();
    if z.re.abs() > 40.0 && z.re.is_finite() {
        let half = (0.5 * z.re.abs()).exp();
        return C128::new(0.5 * half * cos * half, 0.5 * half * sin.copysign(sin * z.re) * half);
    }
    C128::new(z.re.cosh() * cos, z.re.sinh() * sin)
}

/// Tangent hyperbolic; ±1 where the quotient would overflow.
pub(crate) fn tanh(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(z.re.tanh(), z.im);
    }
    if z.re == 0.0 && !z.im.is_finite() {
        return C128::new(z.re, f64::NAN);
    }
    if z.re.abs() > 20.0 && z.im.is_finite() {
        let decay = (-2.0 * z.re.abs()).exp();
        return C128::new(1f64.copysign(z.re), 4.0 * z.im.sin() * z.im.cos() * decay);
    }
    if z.re.is_infinite() {
        return C128::new(1f64.copysign(z.re), 0.0);
    }
    // Kahan's form, in the tangent of the imaginary part.
    let (t, s) = (z.im.tan(), z.re.sinh());
    let (beta, rho) = (1.0 + t * t, (1.0 + s * s).sqrt());
    if t.is_infinite() {
        return C128::new(rho / s, 1.0 / t);
    }
    let scale = 1.0 / (1.0 + beta * s * s);
    C128::new(beta * rho * s * scale, t * scale)
}

/// `f(z) = -i g(iz)`.
fn turned(g: fn(C128) -> C128, z: C128) -> C128 {
    let w = g(C128::new(-z.im, z.re));
    C128::new(w.im, -w.re)
}

pub(crate) fn sin(z: C128) -> C128 {
    turned(sinh, z)
}

pub(crate) fn cos(z: C128) -> C128 {
    cosh(C128::new(-z.im, z.re))
}

pub(crate) fn tan(z: C128) -> C128 {
    turned(tanh, z)
}

/// Beyond this, `z² ± 1` is `z²`, and twice a square may overflow.
const LARGE: f64 = f64::MAX / 4.0;

/// log |2z| of a large number.
fn log_twice(z: C128) -> f64 {
    (z.re / 2.0).hypot(z.im / 2.0).ln() + 2.0 * std::f64::consts::LN_2
}

// The inverse functions are Kahan's (1987): their cuts are along the axes, and on a cut the sign of zero tells the side.

pub(crate) fn acos(z: C128) -> C128 {
    if z.re == 0.0 && z.im.is_nan() {
        return C128::new(std::f64::consts::FRAC_PI_2, z.im);
    }
    if z.re.abs() > LARGE || z.im.abs() > LARGE {
        return C128::new(z.im.abs().atan2(z.re), log_twice(z).copysign(-z.im));
    }
    let (s1, s2) = (sqrt(C128::new(1.0 - z.re, -z.im)), sqrt(C128::new(1.0 + z.re, z.im)));
    C128::new(2.0 * s1.re.atan2(s2.re), (s2.re * s1.im - s2.im * s1.re).asinh())
}

pub(crate) fn acosh(z: C128) -> C128 {
    if z.re == 0.0 && z.im.is_nan() {
        return C128::new(z.im, std::f64::consts::FRAC_PI_2);
    }
    if z.re.abs() > LARGE || z.im.abs() > LARGE {
        return C128::new(log_twice(z), z.im.atan2(z.re));
    }
    let (s1, s2) = (sqrt(C128::new(z.re - 1.0, z.im)), sqrt(C128::new(z.re + 1.0, z.im)));
    C128::new((s1.re * s2.re + s1.im * s2.im).asinh(), 2.0 * s1.im.atan2(s2.re))
}

pub(crate) fn asinh(z: C128) -> C128 {
    if z.re.is_nan() && z.im == 0.0 {
        return z;
    }
    if z.re.abs() > LARGE || z.im.abs() > LARGE {
        return C128::new(log_twice(z).copysign(z.re), z.im.atan2(z.re.abs()));
    }
    let (s1, s2) = (sqrt(C128::new(1.0 + z.im, -z.re)), sqrt(C128::new(1.0 - z.im, z.re)));
    C128::new((s1.re * s2.im - s2.re * s1.im).asinh(), z.im.atan2(s1.re * s2.re - s1.im * s2.im))
}

pub(crate) fn asin(z: C128) -> C128 {
    turned(asinh, z)
}

pub(crate) fn atanh(z: C128) -> C128 {
    use std::f64::consts::FRAC_PI_2;
    if z.re.is_sign_negative() {
        return -atanh(-z);
    }
    let (x, b) = (z.re, z.im.abs());
    if z.im.is_nan() && (x == 0.0 || x.is_infinite()) {
        return C128::new(0.0, z.im);
    }
    if x > LARGE.sqrt() || b > LARGE.sqrt() {
        let h = (x / 2.0).hypot(z.im / 2.0);
        let re = if h.is_infinite() { 0.0 } else { x / 4.0 / h / h };
        return C128::new(re, FRAC_PI_2.copysign(z.im));
    }
    if x == 1.0 && b < f64::MIN_POSITIVE.sqrt() {
        if b == 0.0 {
            return C128::new(f64::INFINITY, z.im);
        }
        return C128::new(-(b.sqrt() / b.hypot(2.0).sqrt()).ln(), (2f64.atan2(-b) / 2.0).copysign(z.im));
    }
    let re = (4.0 * x / ((1.0 - x) * (1.0 - x) + b * b)).ln_1p() / 4.0;
    C128::new(re, -(-2.0 * z.im).atan2((1.0 - x) * (1.0 + x) - b * b) / 2.0)
}

pub(crate) fn atan(z: C128) -> C128 {
    turned(atanh, z)
}

pub(crate) fn sigmoid(z: C128) -> C128 {
    let one = C128::new(1.0, 0.0);
    if z.re < 0.0 {
        let e = exp(z);
        div(e, one + e)
    } else {
        div(one, one + exp(-z))
    }
}

/// `x` to the `y`: 1 if `y` is 0; if `x` is 0, 0 for a positive real part of `y` and NaN otherwise.
pub(crate) fn pow(x: C128, y: C128) -> C128 {
    if y.re == 0.0 && y.im == 0.0 {
        return C128::new(1.0, 0.0);
    }
    if x.re == 0.0 && x.im == 0.0 {
        return if y.re > 0.0 { C128::new(0.0, 0.0) } else { C128::new(f64::NAN, f64::NAN) };
    }
    if y.im == 0.0 && y.re.trunc() == y.re && y.re.abs() <= 100.0 {
        let n = y.re as i32;
        return if n < 0 { div(C128::new(1.0, 0.0), x.powi(-n)) } else { x.powi(n) };
    }
    exp(log(x) * y)
}
