//! Scalar mathematics of `f32` and `f64`, written so that loops over it vectorise.
//!
//! Every function is branch-free arithmetic, so its value does not depend on the position in a loop. Fused
//! multiply-adds are asked for where they are meant, and the compiler makes none by itself, so the value does not
//! depend on the instruction set either: an x86 processor without FMA computes them in software. Huge arguments of `sin`,
//! `cos` and `tan`, and the functions of the modules below that say so, go through scalar code, which is as deterministic.
//!
//! `docs/accuracy.md` has the measured error bounds, `tests/accuracy.rs` holds them. In units of the last place, of `f32`:
//! at most 1.6 for `exp`, `log`, `log1p`, `sin`, `cos`, `tan`, `erf`, `erfc`, `pow` and `cosh`, and 2.5 for the other functions
//! of the list there; of `f64`, 6 for `erfc` and 4 for the others. Beyond the list: `erfinv` and `ndtri` 1 and 8; `lgamma`
//! and `digamma` 4 away from their zeros; `zeta` and `polygamma` of positive arguments 1 and 16.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use crate::{erf, hyperbolic, inverse, math64 as wide, power, special, trig};

/// A floating-point type that kernels compute in: `f32` or `f64`.
pub(crate) trait Math:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    /// The greatest finite value.
    const MAX: Self;
    fn of(v: f64) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    /// `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round_even(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn exp(self) -> Self;
    /// e^x / 2, which overflows later.
    fn exp_halved(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log1p(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    /// Whether `sin`, `cos` and `tan` need their `_rare` form: a huge argument.
    fn trig_rare(self) -> bool;
    fn sin_rare(self) -> Self;
    fn cos_rare(self) -> Self;
    fn tan_rare(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, x: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn softplus(self) -> Self;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    fn lgamma(self) -> Self;
    fn digamma(self) -> Self;
    fn pow(self, y: Self) -> Self;
    fn erfinv(self) -> Self;
    fn ndtri(self) -> Self;
    fn next_after(self, y: Self) -> Self;
    fn zeta(self, q: Self) -> Self;
    fn polygamma(self, x: Self) -> Self;
    fn gamma_slope(self, x: Self) -> Self;

    #[inline(always)]
    #[expect(clippy::eq_op, reason = "the vectorisable NaN test")]
    fn is_nan(self) -> bool {
        self != self
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.abs() < Self::INFINITY
    }
    /// The greater operand, NaN if either is; the first of equal ones (so of -0 and 0).
    #[inline(always)]
    fn max_nan(self, b: Self) -> Self {
        let pick_b = self < b || b.is_nan();
        if self.is_nan() || !pick_b { self } else { b }
    }
    /// The lesser operand, NaN if either is; the first of equal ones (so of -0 and 0).
    #[inline(always)]
    fn min_nan(self, b: Self) -> Self {
        let pick_b = self > b || b.is_nan();
        if self.is_nan() || !pick_b { self } else { b }
    }
    /// 1 / (1 + e^-x), accurate in both tails.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp();
        let numerator = if self < Self::ZERO { e } else { Self::ONE };
        numerator / (Self::ONE + e)
    }
}

/// Evaluates a polynomial whose coefficients are listed from the highest degree down.
#[inline(always)]
pub(crate) fn horner32<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut acc = coefficients[0];
    let mut i = 1;
    while i < N {
        acc = acc.mul_add(x, coefficients[i]);
        i += 1;
    }
    acc
}

/// e^r - 1 and n, for x = n ln 2 + r with |r| <= ln 2 / 2.
#[inline(always)]
pub(crate) fn exp_minus_one32(x: f32) -> (f32, i32) {
    const MAGIC: f32 = 12_582_912.0;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, MAGIC);
    let n = shifted - MAGIC;
    let r = n.mul_add(2.121_944_4e-4, n.mul_add(-0.693_359_4, x));
    let p = horner32(r, [0.001_392_648_4, 0.008_363_42, 0.041_666_552, 0.166_665_76, 0.5]);
    (p.mul_add(r * r, r), shifted.to_bits().wrapping_sub(MAGIC.to_bits()) as i32)
}

/// `p` times 2^`k` in two factors, so that neither leaves the normal range.
#[inline(always)]
fn scaled32(p: f32, k: i32) -> f32 {
    let half = k >> 1;
    let scale = |k: i32| f32::from_bits((k.wrapping_add(127) << 23) as u32);
    p * scale(half) * scale(k.wrapping_sub(half))
}

/// e^x 2^`more`, for -1 <= `more` <= 0.
#[inline(always)]
fn exp32(x: f32, more: i32) -> f32 {
    // The clamp keeps n in range and lets NaN pass. Where the result is 0 nothing underflows on the way, which is slow.
    let nought = x < -104.0;
    let c = if x > 90.5 { 90.5 } else { x };
    let c = if nought { 0.0 } else { c };
    let (p, k) = exp_minus_one32(c);
    let power = scaled32(p + 1.0, k.wrapping_add(more));
    if nought { 0.0 } else { power }
}

/// 2^n (1 + p) - 1 = 2^n p + (2^n - 1).
#[inline(always)]
fn expm1_32(x: f32) -> f32 {
    let c = if x > 89.0 { 89.0 } else { x };
    let c = if c < -20.0 { -20.0 } else { c };
    let (p, k) = exp_minus_one32(c);
    let power = scaled32(1.0, k);
    let near = p.mul_add(power, power - 1.0);
    (if k > 60 { scaled32(p + 1.0, k) } else { near }).copysign(x)
}

/// `k` ln 2 + log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt 2; `low` are the small parts of the sum, that of `k` ln 2 among them.
///
/// log(1 + f) = f - f^2 / 2 + f^3 p(f), with p off by 6e-9 of the logarithm.
#[inline(always)]
fn log_sum32(k: f32, f: f32, low: f32) -> f32 {
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
    let tail = (f * f).mul_add(f.mul_add(p, -0.5), low);
    k.mul_add(0.693_138_1, f + tail)
}

#[inline(always)]
fn log32(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 33_554_432.0 } else { x };
    let bits = scaled.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let k = ((bits >> 23) as i32 - 0x7f - if tiny { 25 } else { 0 }) as f32;
    let f = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3) - 1.0;
    let y = log_sum32(k, f, k * 9.058_000_6e-6);
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f32::NAN }
}

/// log(1 + x): of the rounded sum, and of what its rounding took off.
#[inline(always)]
fn log1p32(x: f32) -> f32 {
    let u = 1.0 + x;
    let bits = u.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let k = ((bits >> 23) as i32 - 0x7f) as f32;
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let f = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3) - 1.0;
    let (f, low) = if k == 0.0 { (x, 0.0) } else { (f, lost / u + k * 9.058_000_6e-6) };
    let y = log_sum32(k, f, low);
    let y = if x == f32::INFINITY || x == 0.0 { x } else { y };
    let y = if x == -1.0 { f32::NEG_INFINITY } else { y };
    if x >= -1.0 { y } else { f32::NAN }
}

#[inline(always)]
fn tanh32(x: f32) -> f32 {
    let a = x.abs();
    let u = x * x;
    let p = horner32(u, [0.002_269_501_7, -0.008_323_187, 0.021_762_503, -0.053_958_46, 0.133_333, -0.333_333_34]);
    let small = a.mul_add(u * p, a);
    let large = 1.0 - 2.0 / (exp32(2.0 * a, 0) + 1.0);
    (if a < 0.625 { small } else { large }).copysign(x)
}

impl Math for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const INFINITY: f32 = f32::INFINITY;
    const MAX: f32 = f32::MAX;
    #[inline(always)]
    fn of(v: f64) -> f32 {
        v as f32
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn mul_add(self, b: f32, c: f32) -> f32 {
        f32::mul_add(self, b, c)
    }
    #[inline(always)]
    fn floor(self) -> f32 {
        f32::floor(self)
    }
    #[inline(always)]
    fn ceil(self) -> f32 {
        f32::ceil(self)
    }
    #[inline(always)]
    fn trunc(self) -> f32 {
        f32::trunc(self)
    }
    #[inline(always)]
    fn round_even(self) -> f32 {
        f32::round_ties_even(self)
    }
    #[inline(always)]
    fn copysign(self, sign: f32) -> f32 {
        f32::copysign(self, sign)
    }
    #[inline(always)]
    fn exp(self) -> f32 {
        exp32(self, 0)
    }
    #[inline(always)]
    fn exp_halved(self) -> f32 {
        exp32(self, -1)
    }
    #[inline(always)]
    fn expm1(self) -> f32 {
        expm1_32(self)
    }
    #[inline(always)]
    fn log(self) -> f32 {
        log32(self)
    }
    #[inline(always)]
    fn log1p(self) -> f32 {
        log1p32(self)
    }
    #[inline(always)]
    fn sin(self) -> f32 {
        wide::sin_for32(f64::from(self)) as f32
    }
    #[inline(always)]
    fn cos(self) -> f32 {
        wide::cos_for32(f64::from(self)) as f32
    }
    #[inline(always)]
    fn tan(self) -> f32 {
        wide::tan_for32(f64::from(self)) as f32
    }
    #[inline(always)]
    fn trig_rare(self) -> bool {
        self.abs() > 1e5
    }
    fn sin_rare(self) -> f32 {
        libm::sinf(self)
    }
    fn cos_rare(self) -> f32 {
        libm::cosf(self)
    }
    fn tan_rare(self) -> f32 {
        libm::tanf(self)
    }
    #[inline(always)]
    fn asin(self) -> f32 {
        inverse::asin(self)
    }
    #[inline(always)]
    fn acos(self) -> f32 {
        inverse::acos(self)
    }
    #[inline(always)]
    fn atan(self) -> f32 {
        inverse::atan(self)
    }
    #[inline(always)]
    fn atan2(self, x: f32) -> f32 {
        inverse::atan2(self, x)
    }
    #[inline(always)]
    fn sinh(self) -> f32 {
        hyperbolic::sinh(self)
    }
    #[inline(always)]
    fn cosh(self) -> f32 {
        hyperbolic::cosh(self)
    }
    #[inline(always)]
    fn tanh(self) -> f32 {
        tanh32(self)
    }
    #[inline(always)]
    fn asinh(self) -> f32 {
        hyperbolic::asinh(self)
    }
    #[inline(always)]
    fn acosh(self) -> f32 {
        hyperbolic::acosh(self)
    }
    #[inline(always)]
    fn atanh(self) -> f32 {
        hyperbolic::atanh(self)
    }
    #[inline(always)]
    fn softplus(self) -> f32 {
        hyperbolic::softplus(self)
    }
    #[inline(always)]
    fn erf(self) -> f32 {
        erf::erf32(self)
    }
    #[inline(always)]
    fn erfc(self) -> f32 {
        erf::erfc_for32(f64::from(self)) as f32
    }
    fn lgamma(self) -> f32 {
        libm::lgamma(f64::from(self)) as f32
    }
    fn digamma(self) -> f32 {
        special::digamma(f64::from(self)) as f32
    }
    #[inline(always)]
    fn pow(self, y: f32) -> f32 {
        power::pow32(self, y)
    }
    #[inline(always)]
    fn erfinv(self) -> f32 {
        wide::erfinv(f64::from(self)) as f32
    }
    #[inline(always)]
    fn ndtri(self) -> f32 {
        wide::ndtri(f64::from(self)) as f32
    }
    fn next_after(self, y: f32) -> f32 {
        libm::nextafterf(self, y)
    }
    fn zeta(self, q: f32) -> f32 {
        special::zeta(f64::from(self), f64::from(q)) as f32
    }
    fn polygamma(self, x: f32) -> f32 {
        special::polygamma(f64::from(self), f64::from(x)) as f32
    }
    fn gamma_slope(self, x: f32) -> f32 {
        special::gamma_slope(f64::from(self), f64::from(x)) as f32
    }
}

impl Math for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const INFINITY: f64 = f64::INFINITY;
    const MAX: f64 = f64::MAX;
    #[inline(always)]
    fn of(v: f64) -> f64 {
        v
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn mul_add(self, b: f64, c: f64) -> f64 {
        f64::mul_add(self, b, c)
    }
    #[inline(always)]
    fn floor(self) -> f64 {
        f64::floor(self)
    }
    #[inline(always)]
    fn ceil(self) -> f64 {
        f64::ceil(self)
    }
    #[inline(always)]
    fn trunc(self) -> f64 {
        f64::trunc(self)
    }
    #[inline(always)]
    fn round_even(self) -> f64 {
        f64::round_ties_even(self)
    }
    #[inline(always)]
    fn copysign(self, sign: f64) -> f64 {
        f64::copysign(self, sign)
    }
    #[inline(always)]
    fn exp(self) -> f64 {
        wide::exp(self)
    }
    #[inline(always)]
    fn exp_halved(self) -> f64 {
        wide::exp_halved(self)
    }
    #[inline(always)]
    fn expm1(self) -> f64 {
        wide::expm1(self)
    }
    #[inline(always)]
    fn log(self) -> f64 {
        wide::log(self)
    }
    #[inline(always)]
    fn log1p(self) -> f64 {
        wide::log1p(self)
    }
    #[inline(always)]
    fn sin(self) -> f64 {
        trig::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> f64 {
        trig::cos(self)
    }
    #[inline(always)]
    fn tan(self) -> f64 {
        trig::tan(self)
    }
    #[inline(always)]
    fn trig_rare(self) -> bool {
        self.abs() > trig::ORDINARY
    }
    fn sin_rare(self) -> f64 {
        libm::sin(self)
    }
    fn cos_rare(self) -> f64 {
        libm::cos(self)
    }
    fn tan_rare(self) -> f64 {
        libm::tan(self)
    }
    #[inline(always)]
    fn asin(self) -> f64 {
        inverse::asin(self)
    }
    #[inline(always)]
    fn acos(self) -> f64 {
        inverse::acos(self)
    }
    #[inline(always)]
    fn atan(self) -> f64 {
        inverse::atan(self)
    }
    #[inline(always)]
    fn atan2(self, x: f64) -> f64 {
        inverse::atan2(self, x)
    }
    #[inline(always)]
    fn sinh(self) -> f64 {
        hyperbolic::sinh(self)
    }
    #[inline(always)]
    fn cosh(self) -> f64 {
        hyperbolic::cosh(self)
    }
    #[inline(always)]
    fn tanh(self) -> f64 {
        hyperbolic::tanh(self)
    }
    #[inline(always)]
    fn asinh(self) -> f64 {
        hyperbolic::asinh(self)
    }
    #[inline(always)]
    fn acosh(self) -> f64 {
        hyperbolic::acosh(self)
    }
    #[inline(always)]
    fn atanh(self) -> f64 {
        hyperbolic::atanh(self)
    }
    #[inline(always)]
    fn softplus(self) -> f64 {
        hyperbolic::softplus(self)
    }
    #[inline(always)]
    fn erf(self) -> f64 {
        erf::erf(self)
    }
    #[inline(always)]
    fn erfc(self) -> f64 {
        erf::erfc(self)
    }
    fn lgamma(self) -> f64 {
        libm::lgamma(self)
    }
    fn digamma(self) -> f64 {
        special::digamma(self)
    }
    #[inline(always)]
    fn pow(self, y: f64) -> f64 {
        power::pow64(self, y)
    }
    #[inline(always)]
    fn erfinv(self) -> f64 {
        wide::erfinv(self)
    }
    #[inline(always)]
    fn ndtri(self) -> f64 {
        wide::ndtri(self)
    }
    fn next_after(self, y: f64) -> f64 {
        libm::nextafter(self, y)
    }
    fn zeta(self, q: f64) -> f64 {
        special::zeta(self, q)
    }
    fn polygamma(self, x: f64) -> f64 {
        special::polygamma(self, x)
    }
    fn gamma_slope(self, x: f64) -> f64 {
        special::gamma_slope(self, x)
    }
}
