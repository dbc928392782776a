//! Sine, cosine and tangent of `f64`.

use crate::algebra::{Double, Word as _, horner};
use crate::math64::{cos_in, sin_in, tan_in};

/// Arguments beyond this are left to `libm`: of their quotient by π/2, more than 20 bits are whole.
pub(crate) const ORDINARY: f64 = 1.6e6;

/// The difference, and what its rounding took off (Knuth).
#[inline(always)]
fn two_difference<A: Double>(a: A, b: A) -> (A, A) {
    let d = a - b;
    let v = d - a;
    (d, (a - (d - v)) - (b + v))
}

/// Splits `x` into `q * π/2 + r` with |r| <= π/4: `r` in two parts and the two low bits of `q`. |x| <= [`ORDINARY`].
///
/// π/2 in three parts of 33 bits, whose products with `q` are exact, and a fourth (Cody and Waite 1980).
#[inline(always)]
fn quadrant<A: Double>(x: A) -> (A, A, A::Word) {
    let magic = A::of(A::MAGIC);
    let shifted = x.mul_add(A::of(std::f64::consts::FRAC_2_PI), magic);
    let q = shifted - magic;
    let first = q.mul_add(A::of(-1.570_796_326_734_125_6), x);
    let (second, low2) = two_difference(first, q * A::of(6.077_100_506_303_966e-11));
    let (third, low3) = two_difference(second, q * A::of(2.022_266_248_711_166_5e-21));
    let low = q.mul_add(A::of(-8.478_427_660_368_9e-32), low2 + low3);
    let r = third + low;
    (r, (third - r) + low, shifted.bits().and(A::Word::of(3)))
}

/// sin(r + low), by the polynomial of fdlibm.
#[inline(always)]
fn sin_part<A: Double>(r: A, low: A) -> A {
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
    let less = A::of(0.5).mul_add(low, -(cube * tail));
    r + cube.mul_add(A::of(-0.166_666_666_666_666_32), z.mul_add(-less, low))
}

/// cos(r + low), by the polynomial of fdlibm.
#[inline(always)]
fn cos_part<A: Double>(r: A, low: A) -> A {
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
    let half = A::of(0.5) * z;
    let w = A::ONE - half;
    w + (((A::ONE - w) - half) + z.mul_add(z * tail, -(r * low)))
}

/// sin x for |x| <= [`ORDINARY`].
#[inline(always)]
pub(crate) fn sin<A: Double>(x: A) -> A {
    let (r, low, q) = quadrant(x);
    A::select(x.eq(A::ZERO), x, sin_in(q, sin_part(r, low), cos_part(r, low)))
}

/// cos x for |x| <= [`ORDINARY`].
#[inline(always)]
pub(crate) fn cos<A: Double>(x: A) -> A {
    let (r, low, q) = quadrant(x);
    cos_in(q, sin_part(r, low), cos_part(r, low))
}

/// tan x for |x| <= [`ORDINARY`].
#[inline(always)]
pub(crate) fn tan<A: Double>(x: A) -> A {
    let (r, low, q) = quadrant(x);
    A::select(x.eq(A::ZERO), x, tan_in(q, sin_part(r, low), cos_part(r, low)))
}
