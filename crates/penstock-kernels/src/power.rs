//! Powers, by the exponential of a product with a logarithm.

use crate::math::Math;
use crate::math64::{MAGIC, exp_of_sum, horner};

/// The power of `x` with its sign and the special values of IEEE 754 `pow`, given that of its magnitude.
#[inline(always)]
fn signed<M: Math>(x: M, y: M, magnitude: M) -> M {
    let magnitude = if x.abs() == M::ONE { M::ONE } else { magnitude };
    let whole = y.trunc() == y;
    let half = y * M::of(0.5);
    let odd = whole && half.trunc() != half;
    let negative = M::ONE.copysign(x) < M::ZERO;
    let value = if negative && odd { -magnitude } else { magnitude };
    let undefined = negative && !whole && x != M::ZERO && x.abs() != M::INFINITY;
    let value = if undefined { M::of(f64::NAN) } else { value };
    let value = if x.is_nan() || y.is_nan() { x + y } else { value };
    if y == M::ZERO || x == M::ONE { M::ONE } else { value }
}

/// x to the y, by way of base 2 in `f64`.
#[inline(always)]
pub(crate) fn pow32(x: f32, y: f32) -> f32 {
    // As `f64` no `f32` is subnormal.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let a = f64::from(x.abs());
    let bits = a.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF);
    let k = f64::from_bits((bits >> 52).wrapping_add(MAGIC.to_bits())) - (MAGIC + 1023.0);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + SQRT_HALF);
    let s = (m - 1.0) / (m + 1.0);
    // log2((1 + s) / (1 - s)) / s, off by 1.3e-11.
    let series = horner(
        s * s,
        [
            0.340_714_136_651_911_97,
            0.411_673_658_400_816,
            0.577_083_567_703_489_2,
            0.961_796_673_443_228_3,
            2.885_390_081_789_993,
        ],
    );
    let log2 = s.mul_add(series, k);
    let log2 = if a == 0.0 { f64::NEG_INFINITY } else { log2 };
    let log2 = if a == f64::INFINITY { f64::INFINITY } else { log2 };
    let exponent = f64::from(y) * log2;
    // Where the result is 0 nothing underflows on the way, which is slow.
    let nought = exponent < -151.0;
    let c = if exponent > 200.0 { 200.0 } else { exponent };
    let c = if nought { 0.0 } else { c };
    let shifted = c + MAGIC;
    let r = c - (shifted - MAGIC);
    // 2^r, off by 2e-9.
    let p = horner(
        r,
        [
            1.546_144_469_856_913e-4,
            1.340_042_817_761_583_8e-3,
            9.618_056_678_524_637e-3,
            5.550_327_226_670_302e-2,
            0.240_226_509_222_887_57,
            0.693_147_206_702_832_6,
            1.0,
        ],
    );
    let scale = f64::from_bits(shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(1023) << 52);
    let magnitude = if nought { 0.0 } else { (p * scale) as f32 };
    signed(x, y, magnitude)
}

/// The product, and what its rounding took off.
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    (p, a.mul_add(b, -p))
}

/// The sum of a number and one that is not greater, and what its rounding took off.
#[inline(always)]
fn two_sum(greater: f64, less: f64) -> (f64, f64) {
    let s = greater + less;
    (s, (greater - s) + less)
}

/// The natural logarithm of a positive finite number as a sum of two, of about 100 bits.
///
/// log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1); the terms from the third on need no second part.
#[inline(always)]
fn log_of_two_parts(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let bits = scaled.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF);
    let k = f64::from_bits((bits >> 52).wrapping_add(MAGIC.to_bits())) - (MAGIC + 1023.0);
    let k = k - if tiny { 54.0 } else { 0.0 };
    let f = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + SQRT_HALF) - 1.0;
    let (d, d_low) = two_sum(2.0, f);
    let inverse = 1.0 / d;
    let s = f * inverse;
    let (sd, sd_low) = two_product(s, d);
    let s_low = s.mul_add(-d_low, (f - sd) - sd_low) * inverse;
    let (z, z_low) = two_product(s, s);
    let z_low = (2.0 * s).mul_add(s_low, z_low);
    let rest = z * horner(
        z,
        [
            0.053_812_128_657_809_946,
            0.052_281_635_526_963_06,
            0.058_834_065_647_421_92,
            0.066_666_482_671_010_3,
            0.076_923_078_805_868_82,
            0.090_909_090_898_284_47,
            0.111_111_111_111_142_15,
            0.142_857_142_857_142_82,
            0.2,
        ],
    );
    let (c, c_low) = two_sum(1.0 / 3.0, rest);
    let (t, t_low) = two_product(z, c);
    let t_low = t_low + z.mul_add(c_low + 1.850_371_707_708_594_2e-17, z_low * c);
    let (p, p_low) = two_product(s, t);
    let (h, low) = two_sum(s, p);
    let low = low + (s_low + (p_low + s.mul_add(t_low, s_low * t)));
    let (hi, hi_low) = two_sum(k * 6.931_471_803_691_238e-1, 2.0 * h);
    (hi, hi_low + k.mul_add(1.908_214_929_270_587_7e-10, 2.0 * low))
}

/// x to the y.
#[inline(always)]
pub(crate) fn pow64(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let proper = a > 0.0 && a < f64::INFINITY;
    let (log, log_low) = log_of_two_parts(if proper { a } else { 1.0 });
    // Beyond this the power of any number but 1 is 0 or infinite.
    const MOST: f64 = 36_893_488_147_419_103_232.0;
    let exponent = if y > MOST { MOST } else { y };
    let exponent = if exponent < -MOST { -MOST } else { exponent };
    let (p, p_low) = two_product(exponent, log);
    let p_low = exponent.mul_add(log_low, p_low);
    let p_low = if p.abs() > 750.0 { 0.0 } else { p_low };
    let magnitude = exp_of_sum(p, p_low);
    let end = if (a == 0.0) == (y < 0.0) { f64::INFINITY } else { 0.0 };
    let magnitude = if proper { magnitude } else { end };
    signed(x, y, magnitude)
}
