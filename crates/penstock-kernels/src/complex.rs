//! Complex functions where the textbook formula overflows, cancels or misses a branch cut.

use num_complex::{Complex, ComplexFloat};
use num_traits::{Float, FloatConst};

/// The type of the parts of a complex element: `f32` or `f64`.
pub(crate) trait Part: Float + FloatConst + std::fmt::Debug + 'static {}

impl Part for f32 {}
impl Part for f64 {}

/// Division by Smith's method, as NumPy's: no overflow of intermediate squares.
#[inline(always)]
pub(crate) fn div<T: Part>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if b.re.abs() >= b.im.abs() {
        if b.re.is_zero() && b.im.is_zero() {
            return Complex::new(a.re / b.re.abs(), a.im / b.re.abs());
        }
        let ratio = b.im / b.re;
        let scale = T::one() / (b.re + b.im * ratio);
        Complex::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
    } else {
        let ratio = b.re / b.im;
        let scale = T::one() / (b.im + b.re * ratio);
        Complex::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
    }
}

/// `z / |z|`, 0 at 0.
pub(crate) fn sign<T: Part>(z: Complex<T>) -> Complex<T> {
    let norm = z.norm();
    if norm.is_zero() { Complex::new(T::zero(), T::zero()) } else { z.unscale(norm) }
}

pub(crate) fn exp<T: Part>(z: Complex<T>) -> Complex<T> {
    if z.im.is_zero() {
        return Complex::new(z.re.exp(), z.im);
    }
    z.exp()
}

pub(crate) fn log<T: Part>(z: Complex<T>) -> Complex<T> {
    Complex::new(z.norm().ln(), z.arg())
}

/// e^z - 1 without cancellation near 0.
pub(crate) fn expm1<T: Part>(z: Complex<T>) -> Complex<T> {
    if z.im.is_zero() {
        return Complex::new(z.re.exp_m1(), z.im);
    }
    let half = (z.im / (T::one() + T::one())).sin();
    let re = z.re.exp_m1() * z.im.cos() - (half * half + half * half);
    Complex::new(re, z.re.exp() * z.im.sin())
}

/// log(1 + z) without cancellation near 0.
pub(crate) fn log1p<T: Part>(z: Complex<T>) -> Complex<T> {
    let two = T::one() + T::one();
    let small = z.re.abs() < T::one() && z.im.abs() < T::one();
    let re = if small { (z.re * (two + z.re) + z.im * z.im).ln_1p() / two } else { (z.re + T::one()).hypot(z.im).ln() };
    Complex::new(re, z.im.atan2(z.re + T::one()))
}

/// Tangent hyperbolic; ±1 where the quotient would overflow.
pub(crate) fn tanh<T: Part>(z: Complex<T>) -> Complex<T> {
    let limit = T::from(20).unwrap_or_else(T::one);
    if z.re.abs() > limit && ComplexFloat::is_finite(z) {
        let decay = (-(z.re.abs() + z.re.abs())).exp();
        let im = (z.im + z.im).sin() * (decay + decay);
        return Complex::new(T::one().copysign(z.re), im);
    }
    z.tanh()
}

/// Tangent; ±i where the quotient would overflow.
pub(crate) fn tan<T: Part>(z: Complex<T>) -> Complex<T> {
    let t = tanh(Complex::new(-z.im, z.re));
    Complex::new(t.im, -t.re)
}

pub(crate) fn sigmoid<T: Part>(z: Complex<T>) -> Complex<T> {
    let one = Complex::new(T::one(), T::zero());
    if z.re < T::zero() {
        let e = exp(z);
        div(e, one + e)
    } else {
        div(one, one + exp(-z))
    }
}

/// `x` to the `y`: 1 if `y` is 0; if `x` is 0, 0 for a positive real part of `y` and NaN otherwise.
pub(crate) fn pow<T: Part>(x: Complex<T>, y: Complex<T>) -> Complex<T> {
    if y.re.is_zero() && y.im.is_zero() {
        return Complex::new(T::one(), T::zero());
    }
    if x.re.is_zero() && x.im.is_zero() {
        return if y.re > T::zero() && y.im.is_zero() {
            Complex::new(T::zero(), T::zero())
        } else {
            Complex::new(T::nan(), T::nan())
        };
    }
    let whole = y.im.is_zero() && y.re.trunc() == y.re;
    if let (true, Some(n)) = (whole, y.re.to_i32())
        && n.unsigned_abs() <= 100
    {
        return if n < 0 { div(Complex::new(T::one(), T::zero()), x.powi(-n)) } else { x.powi(n) };
    }
    exp(log(x) * y)
}
