//! Special functions of `f64` that are computed element by element.

use std::f64::consts::PI;

use libm::log;

use crate::arch::dispatch_v3;
use crate::gamma;

/// The logarithmic derivative of the gamma function; NaN at its poles, except that -inf at +0 and +inf at -0.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        // The distance to the nearest pole is exact, and so is what is left of the tangent's argument.
        let r = x - x.round();
        return if r == 0.0 { f64::NAN } else { digamma(1.0 - x) - PI / libm::tan(PI * r) };
    }
    dispatch_v3(
        #[inline(always)]
        || gamma::digamma(x),
    )
}

/// The Hurwitz zeta function, the sum of `(q + k)^-s` over k from 0: inf for `s` = 1 and at the poles of whole `q` that are
/// not positive, NaN for `s` < 1, for negative `q` with a fractional `s`, and for fractional `q` below -10^6.
///
/// Euler-Maclaurin summation.
pub(crate) fn zeta(s: f64, q: f64) -> f64 {
    // (2k)! / B(2k) for k from 1.
    const TERMS: [f64; 12] = [
        12.0,
        -720.0,
        30_240.0,
        -1_209_600.0,
        47_900_160.0,
        -1_307_674_368_000.0 / 691.0,
        74_724_249_600.0,
        -10_670_622_842_880_000.0 / 3617.0,
        5_109_094_217_170_944_000.0 / 43_867.0,
        -802_857_662_698_291_200_000.0 / 174_611.0,
        14_101_100_039_391_805_440_000.0 / 77_683.0,
        -1_693_824_136_731_743_669_452_800_000.0 / 236_364_091.0,
    ];
    /// The most factors of a power that are multiplied one by one.
    const FACTORS: f64 = 8.0;
    if s == 1.0 {
        return f64::INFINITY;
    }
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q.floor() == q {
            return f64::INFINITY;
        }
        if s.floor() != s || q < -1e6 {
            return f64::NAN;
        }
    }
    if q > 1e8 {
        // The first terms of the asymptotic series.
        return (1.0 / (s - 1.0) + 0.5 / q) * q.powf(1.0 - s);
    }
    // Multiplied, where that is less work.
    let power = |x: f64| {
        if s <= FACTORS && s.floor() == s {
            1.0 / (0..s as u32).fold(1.0, |product, _| product * x)
        } else {
            x.powf(-s)
        }
    };
    let mut sum = power(q);
    let (mut at, mut term, mut steps) = (q, 0.0f64, 0);
    while steps < 9 || at <= 9.0 {
        steps += 1;
        at += 1.0;
        term = power(at);
        sum += term;
        if (term / sum).abs() < f64::EPSILON / 2.0 {
            return sum;
        }
    }
    sum += term * at / (s - 1.0) - 0.5 * term;
    let (mut factor, mut k) = (1.0, 0.0);
    for divisor in TERMS {
        factor *= s + k;
        term /= at;
        let correction = factor * term / divisor;
        sum += correction;
        if (correction / sum).abs() < f64::EPSILON / 2.0 {
            break;
        }
        k += 1.0;
        factor *= s + k;
        term /= at;
        k += 1.0;
    }
    sum
}

/// The derivative of order `n` of [`digamma`] at `x`; NaN where `n` is no whole number from 0.
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n < 0.0 || !n.is_finite() || n.floor() != n {
        return f64::NAN;
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * libm::tgamma(n + 1.0) * zeta(n + 1.0, x)
}

/// Terms after which rounding alone changes a result: its arguments are so large.
const TERMS: u32 = 10_000;

/// The lower and the upper regularised incomplete gamma function of shape `a` at `x`, up to `precision`; NaN where `a` is not
/// positive or `x` is negative.
///
/// The lower one by its power series below the mean, the upper one by Legendre's continued fraction above it and by an alternating
/// series where both arguments are small (NIST Digital Library of Mathematical Functions, 8.11.4, 8.9.2 and 8.7.1); the other is 1
/// less it.
pub(crate) fn incomplete_gamma(a: f64, x: f64, precision: f64) -> (f64, f64) {
    if a.is_nan() || x.is_nan() || a <= 0.0 || x < 0.0 {
        return (f64::NAN, f64::NAN);
    }
    if x == 0.0 || x == f64::INFINITY || a == f64::INFINITY {
        let lower = if x == f64::INFINITY { 1.0 } else { 0.0 };
        return if x == a { (f64::NAN, f64::NAN) } else { (lower, 1.0 - lower) };
    }
    if x < 1.1 && a <= if x > 0.5 { 1.1 * x } else { -0.4 / log(x) } {
        // x^a / gamma(a + 1) is near 1, and 1 less it near the result.
        let exponent = a * log(x) - lgamma_of_1_and(a);
        let (mut term, mut sum, mut n) = (1.0, 0.0, 0);
        while n < TERMS {
            n += 1;
            term *= -x / f64::from(n);
            sum += term / (a + f64::from(n));
            if term.abs() <= precision * f64::abs(sum) {
                break;
            }
        }
        let upper = -libm::expm1(exponent) - libm::exp(exponent) * a * sum;
        return (1.0 - upper, upper);
    }
    // x^a exp(-x) / gamma(a)
    let scale = libm::exp(a * log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, 0);
        while term > sum * precision && n < TERMS {
            n += 1;
            term *= x / (a + f64::from(n));
            sum += term;
        }
        return (sum * scale, 1.0 - sum * scale);
    }
    // The convergents p / q of 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))).
    let mut b = x + 1.0 - a;
    let (mut p, mut q) = ([0.0, 1.0], [1.0, b]);
    let mut value = 1.0 / b;
    for n in 1..TERMS {
        let n = f64::from(n);
        let factor = n * (a - n);
        b += 2.0;
        p = [p[1], b * p[1] + factor * p[0]];
        q = [q[1], b * q[1] + factor * q[0]];
        let last = std::mem::replace(&mut value, p[1] / q[1]);
        if (value - last).abs() <= precision * value.abs() {
            break;
        }
        if q[1].abs() > 1e200 {
            (p, q) = (p.map(|p| p * 1e-200), q.map(|q| q * 1e-200));
        }
    }
    (1.0 - value * scale, value * scale)
}

/// The logarithm of the gamma function at `1 + a`, also where that is 1 but for rounding.
fn lgamma_of_1_and(a: f64) -> f64 {
    if a > 1e-3 {
        return libm::lgamma(1.0 + a);
    }
    // Its power series: Euler's constant, and zeta(k) / k.
    a * (-0.577_215_664_901_532_9
        + a * (0.822_467_033_424_113_2 + a * (-0.400_685_634_386_531_4 + a * 0.270_580_808_427_784_5)))
}

/// How a number of the gamma distribution of shape `alpha` moves with the shape, at a fixed quantile: minus the
/// derivative of the distribution function by `alpha`, divided by the density, at `x`. NaN where `alpha` is not
/// positive or `x` is negative.
///
/// Implicit reparameterisation (Figurnov et al. 2018), of the power series below the mean and of Legendre's continued
/// fraction above it; shapes above 10^4 by the approximation of Wilson and Hilferty.
pub(crate) fn gamma_slope(alpha: f64, x: f64) -> f64 {
    if alpha.is_nan() || x.is_nan() || alpha <= 0.0 || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    if alpha > 1e4 {
        // x = alpha (1 - 1 / (9 alpha) + z / (3 sqrt alpha))^3 for a standard normal z.
        let root = (x / alpha).cbrt();
        let third = 1.0 / (9.0 * alpha);
        let z = (root - 1.0 + third) * 3.0 * alpha.sqrt();
        return x / alpha + 3.0 * alpha * root * root * (third / alpha - z / (6.0 * alpha * alpha.sqrt()));
    }
    let level = log(x) - digamma(alpha);
    if x < alpha + 1.0 {
        // P(alpha, x) is x times the density times the sum of x^n / (alpha (alpha + 1) ... (alpha + n)).
        let (mut term, mut harmonic, mut n) = (1.0 / alpha, 1.0 / alpha, 0.0);
        let (mut sum, mut slope) = (term, term * harmonic);
        while term > sum * 1e-17 && n < 1e5 {
            n += 1.0;
            term *= x / (alpha + n);
            harmonic += 1.0 / (alpha + n);
            sum += term;
            slope += term * harmonic;
        }
        return -x * (level * sum - slope);
    }
    // 1 - P(alpha, x) is x times the density divided by the fraction, taken backwards together with its derivative.
    let steps = 60 + (8.0 * alpha.sqrt()) as u32;
    let at = |k: f64| x + 2.0 * k + 1.0 - alpha;
    let (mut fraction, mut slope) = (at(f64::from(steps)), -1.0);
    for k in (1..=steps).rev() {
        let k = f64::from(k);
        let factor = -k * (k - alpha);
        slope = -1.0 + (k * fraction - factor * slope) / (fraction * fraction);
        fraction = at(k - 1.0) + factor / fraction;
    }
    let ratio = x / fraction;
    -ratio * slope / fraction + ratio * level
}
