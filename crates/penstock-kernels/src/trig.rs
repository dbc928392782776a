//! Sine, cosine and tangent of `f64`.

use crate::math64::{MAGIC, horner};

/// Arguments beyond this are left to `libm`: of their quotient by π/2, more than 20 bits are whole.
pub(crate) const ORDINARY: f64 = 1.6e6;

/// The difference, and what its rounding took off (Knuth).
#[inline(always)]
fn two_difference(a: f64, b: f64) -> (f64, f64) {
    let d = a - b;
    let v = d - a;
    (d, (a - (d - v)) - (b + v))
}

/// Splits `x` into `q * π/2 + r` with |r| <= π/4: `r` in two parts and the two low bits of `q`. |x| <= [`ORDINARY`].
///
/// π/2 in three parts of 33 bits, whose products with `q` are exact, and a fourth (Cody and Waite 1980).
#[inline(always)]
fn quadrant(x: f64) -> (f64, f64, u64) {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, MAGIC);
    let q = shifted - MAGIC;
    let first = q.mul_add(-1.570_796_326_734_125_6, x);
    let (second, low2) = two_difference(first, q * 6.077_100_506_303_966e-11);
    let (third, low3) = two_difference(second, q * 2.022_266_248_711_166_5e-21);
    let low = q.mul_add(-8.478_427_660_368_9e-32, low2 + low3);
    let r = third + low;
    (r, (third - r) + low, shifted.to_bits() & 3)
}

/// sin(r + low), by the polynomial of fdlibm.
#[inline(always)]
fn sin_part(r: f64, low: f64) -> f64 {
    let z = r * r;
    let tail = horner(
        z,
        [
            1.589_690_995_211_55e-10,
            -2.505_076_025_340_686_3e-8,
            2.755_731_370_707_006_8e-6,
            -1.984_126_982_985_795e-4,
            8.333_333_333_322_49e-3,
        ],
    );
    let cube = z * r;
    let less = 0.5f64.mul_add(low, -(cube * tail));
    r + cube.mul_add(-0.166_666_666_666_666_32, z.mul_add(-less, low))
}

/// cos(r + low), by the polynomial of fdlibm.
#[inline(always)]
fn cos_part(r: f64, low: f64) -> f64 {
    let z = r * r;
    let tail = horner(
        z,
        [
            -1.135_964_755_778_819_5e-11,
            2.087_572_321_298_175e-9,
            -2.755_731_435_139_066_3e-7,
            2.480_158_728_947_673e-5,
            -1.388_888_888_887_411e-3,
            4.166_666_666_666_66e-2,
        ],
    );
    let half = 0.5 * z;
    let w = 1.0 - half;
    w + (((1.0 - w) - half) + z.mul_add(z * tail, -(r * low)))
}

/// sin x for |x| <= [`ORDINARY`].
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    let (r, low, q) = quadrant(x);
    let (s, c) = (sin_part(r, low), cos_part(r, low));
    let y = if q & 1 == 0 { s } else { c };
    let y = f64::from_bits(y.to_bits() ^ (q & 2) << 62);
    if x == 0.0 { x } else { y }
}

/// cos x for |x| <= [`ORDINARY`].
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    let (r, low, q) = quadrant(x);
    let (s, c) = (sin_part(r, low), cos_part(r, low));
    let y = if q & 1 == 0 { c } else { s };
    f64::from_bits(y.to_bits() ^ (q.wrapping_add(1) & 2) << 62)
}

/// tan x for |x| <= [`ORDINARY`].
#[inline(always)]
pub(crate) fn tan(x: f64) -> f64 {
    let (r, low, q) = quadrant(x);
    let (s, c) = (sin_part(r, low), cos_part(r, low));
    let y = (if q & 1 == 0 { s } else { -c }) / if q & 1 == 0 { c } else { s };
    if x == 0.0 { x } else { y }
}
