//! Mathematics of `f32` and `f64`, written so that loops over it vectorise.
//!
//! [`Functions`] are branch-free arithmetic over an [`Algebra`], so a value does not depend on the position in a loop. Fused
//! multiply-adds are asked for where they are meant, and the compiler makes none by itself, so the value does not
//! depend on the instruction set either: an x86 processor without FMA computes them in software. Huge arguments of `sin`,
//! `cos` and `tan`, and the functions of [`Math`], go through scalar code, which is as deterministic.
//!
//! `docs/accuracy.md` has the measured error bounds, `tests/accuracy.rs` holds them. In units of the last place, of `f32`:
//! at most 1.6 for `exp`, `log`, `log1p`, `sin`, `cos`, `tan`, `erf`, `erfc`, `pow` and `cosh`, and 2.5 for the other functions
//! of the list there; of `f64`, 6 for `erfc` and 4 for the others. Beyond the list: `erfinv` and `ndtri` 1 and 8; `lgamma`
//! and `digamma` 4 away from their zeros; `zeta` and `polygamma` of positive arguments 1 and 16.

use std::ops::Rem;

use crate::algebra::{Algebra, Double, Single};
use crate::formula::Traced;
use crate::{complex, erf, gamma, hyperbolic, inverse, math32 as narrow, math64 as wide, power, special, trig};

/// Functions that have a formula.
pub(crate) trait Functions: Algebra {
    fn exp(self) -> Self;
    /// e^x / 2, which overflows later.
    fn exp_halved(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log1p(self) -> Self;
    /// Accurate where not [`Math::trig_rare`], as are `cos` and `tan`.
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn tanh(self) -> Self;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    fn pow(self, y: Self) -> Self;
    fn erfinv(self) -> Self;
    fn ndtri(self) -> Self;
    /// The magnitude of the complex number of these parts.
    fn norm(self, im: Self) -> Self;
    /// π, and what its rounding took off.
    fn pi() -> (Self, Self);
    /// (atan t - t) / t^3 of z = t^2, for |t| <= tan(π/8).
    fn atan_tail(self) -> Self;
    /// (asin s - s) / s^3 of z = s^2, for |s| <= 1/2.
    fn asin_tail(self) -> Self;

    /// 1 / (1 + e^-x), accurate in both tails.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp();
        Self::select(Algebra::lt(self, Self::ZERO), e, Self::ONE) / (Self::ONE + e)
    }
    #[inline(always)]
    fn asin(self) -> Self {
        inverse::asin(self)
    }
    #[inline(always)]
    fn acos(self) -> Self {
        inverse::acos(self)
    }
    #[inline(always)]
    fn atan(self) -> Self {
        inverse::atan(self)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        inverse::atan2(self, x)
    }
    #[inline(always)]
    fn sinh(self) -> Self {
        hyperbolic::sinh(self)
    }
    #[inline(always)]
    fn cosh(self) -> Self {
        hyperbolic::cosh(self)
    }
    #[inline(always)]
    fn asinh(self) -> Self {
        hyperbolic::asinh(self)
    }
    #[inline(always)]
    fn acosh(self) -> Self {
        hyperbolic::acosh(self)
    }
    #[inline(always)]
    fn atanh(self) -> Self {
        hyperbolic::atanh(self)
    }
    #[inline(always)]
    fn softplus(self) -> Self {
        hyperbolic::softplus(self)
    }
}

/// A floating-point type that kernels compute in: `f32` or `f64`.
pub(crate) trait Math: Functions<Mask = bool> + PartialOrd + Rem<Output = Self> {
    /// Whether `sin`, `cos` and `tan` need their `_rare` form: a huge argument.
    fn trig_rare(self) -> bool;
    fn sin_rare(self) -> Self;
    fn cos_rare(self) -> Self;
    fn tan_rare(self) -> Self;
    fn lgamma(self) -> Self;
    fn digamma(self) -> Self;
    /// [`Math::lgamma`] of a positive number, as the loops have it.
    fn lgamma_of_positive(self) -> Self;
    /// [`Math::digamma`] of a positive number, as the loops have it.
    fn digamma_of_positive(self) -> Self;
    fn zeta(self, q: Self) -> Self;
    fn polygamma(self, x: Self) -> Self;
    fn gamma_slope(self, x: Self) -> Self;
    /// The lower and the upper incomplete gamma function.
    fn incomplete_gamma(self, x: Self) -> (Self, Self);
}

/// The methods of [`Functions`] that are this or that of a width.
macro_rules! functions {
    ($pi:expr; $($name:ident($x:ident $(, $y:ident)?) $value:expr;)*) => {
        #[inline(always)]
        fn pi() -> (Self, Self) {
            let (near, rest) = $pi;
            (Self::of(f64::from(near)), Self::of(f64::from(rest)))
        }
        $(
            #[inline(always)]
            fn $name(self $(, $y: Self)?) -> Self {
                let $x = self;
                $value
            }
        )*
    };
}

macro_rules! single {
    () => {
        functions! {
            (std::f32::consts::PI, -8.742_278e-8f32);
            exp(x) narrow::exp(x, 0);
            exp_halved(x) narrow::exp(x, -1);
            expm1(x) narrow::expm1(x);
            log(x) narrow::log(x);
            log1p(x) narrow::log1p(x);
            sin(x) wide::sin_for32(x.to_double()).to_single();
            cos(x) wide::cos_for32(x.to_double()).to_single();
            tan(x) wide::tan_for32(x.to_double()).to_single();
            tanh(x) narrow::tanh(x);
            erf(x) erf::erf32(x);
            erfc(x) erf::erfc_for32(x.to_double()).to_single();
            pow(x, y) power::pow32(x, y);
            erfinv(x) wide::erfinv(x.to_double()).to_single();
            ndtri(x) wide::ndtri(x.to_double()).to_single();
            norm(re, im) complex::norm_for32(re, im);
            atan_tail(z) inverse::atan_tail32(z);
            asin_tail(z) inverse::asin_tail32(z);
        }
    };
}

macro_rules! double {
    () => {
        functions! {
            (std::f64::consts::PI, 1.224_646_799_147_353_2e-16f64);
            exp(x) wide::exp(x);
            exp_halved(x) wide::exp_halved(x);
            expm1(x) wide::expm1(x);
            log(x) wide::log(x);
            log1p(x) wide::log1p(x);
            sin(x) trig::sin(x);
            cos(x) trig::cos(x);
            tan(x) trig::tan(x);
            tanh(x) hyperbolic::tanh(x);
            erf(x) erf::erf(x);
            erfc(x) erf::erfc(x);
            pow(x, y) power::pow64(x, y);
            erfinv(x) wide::erfinv(x);
            ndtri(x) wide::ndtri(x);
            norm(re, im) complex::norm(re, im);
            atan_tail(z) inverse::atan_tail(z);
            asin_tail(z) inverse::asin_tail(z);
        }
    };
}

impl Functions for f32 {
    single!();
}

impl Functions for Traced<'_, f32> {
    single!();
}

impl Functions for f64 {
    double!();
}

impl Functions for Traced<'_, f64> {
    double!();
}

impl Math for f32 {
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
    fn lgamma(self) -> f32 {
        libm::lgamma(f64::from(self)) as f32
    }
    fn digamma(self) -> f32 {
        special::digamma(f64::from(self)) as f32
    }
    #[inline(always)]
    fn lgamma_of_positive(self) -> f32 {
        gamma::lgamma(f64::from(self)) as f32
    }
    #[inline(always)]
    fn digamma_of_positive(self) -> f32 {
        gamma::digamma(f64::from(self)) as f32
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
    fn incomplete_gamma(self, x: f32) -> (f32, f32) {
        let (lower, upper) = special::incomplete_gamma(f64::from(self), f64::from(x), 1e-9);
        (lower as f32, upper as f32)
    }
}

impl Math for f64 {
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
    fn lgamma(self) -> f64 {
        libm::lgamma(self)
    }
    fn digamma(self) -> f64 {
        special::digamma(self)
    }
    #[inline(always)]
    fn lgamma_of_positive(self) -> f64 {
        libm::lgamma(self)
    }
    #[inline(always)]
    fn digamma_of_positive(self) -> f64 {
        gamma::digamma(self)
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
    fn incomplete_gamma(self, x: f64) -> (f64, f64) {
        special::incomplete_gamma(self, x, f64::EPSILON / 2.0)
    }
}
