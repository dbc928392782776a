//! Powers, by the exponential of a product with a logarithm.

use crate::algebra::{Algebra, Double, Single, Word as _, horner, power_of_two, split};
use crate::math64::{exp_of_sum, split_positive};

/// The power of `x` with its sign and the special values of IEEE 754 `pow`, given that of its magnitude.
#[inline(always)]
fn signed<A: Algebra>(x: A, y: A, magnitude: A) -> A {
    let size = x.abs();
    let magnitude = A::select(size.eq(A::ONE), A::ONE, magnitude);
    let whole = y.trunc().eq(y);
    let half = y * A::of(0.5);
    let odd = whole & half.trunc().ne(half);
    let negative = A::ONE.copysign(x).lt(A::ZERO);
    let value = A::select(negative & odd, -magnitude, magnitude);
    let undefined = negative & !whole & x.ne(A::ZERO) & size.ne(A::INFINITY);
    let value = A::select(undefined, A::of(f64::NAN), value);
    let value = A::select(x.is_nan() | y.is_nan(), x + y, value);
    A::select(y.eq(A::ZERO) | x.eq(A::ONE), A::ONE, value)
}

/// x to the y, by way of base 2 in `f64`.
#[inline(always)]
pub(crate) fn pow32<N: Single>(x: N, y: N) -> N {
    signed(x, y, power_for32(x.abs().to_double(), y.to_double()).to_single())
}

/// The power of a magnitude that an `f32` has, which is not subnormal here.
#[inline(always)]
fn power_for32<A: Double>(a: A, y: A) -> A {
    let (k, m) = split(a);
    let s = (m - A::ONE) / (m + A::ONE);
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
    let log2 = A::select(a.eq(A::ZERO), -A::INFINITY, log2);
    let log2 = A::select(a.eq(A::INFINITY), A::INFINITY, log2);
    let exponent = y * log2;
    // Where the result is 0 nothing underflows on the way, which is slow.
    let (nought, most) = (exponent.lt(A::of(-151.0)), A::of(200.0));
    let c = A::select(exponent.gt(most), most, exponent);
    let c = A::select(nought, A::ZERO, c);
    let magic = A::of(A::MAGIC);
    let shifted = c + magic;
    let r = c - (shifted - magic);
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
    A::select(nought, A::ZERO, p * power_of_two(shifted.bits().sub(magic.bits())))
}

/// The product, and what its rounding took off.
#[inline(always)]
fn two_product<A: Double>(a: A, b: A) -> (A, A) {
    let p = a * b;
    (p, a.mul_add(b, -p))
}

/// The sum of a number and one that is not greater, and what its rounding took off.
#[inline(always)]
fn two_sum<A: Double>(greater: A, less: A) -> (A, A) {
    let s = greater + less;
    (s, (greater - s) + less)
}

/// The natural logarithm of a positive finite number as a sum of two, of about 100 bits.
///
/// log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1); the terms from the third on need no second part.
#[inline(always)]
fn log_of_two_parts<A: Double>(x: A) -> (A, A) {
    let (k, m) = split_positive(x);
    let f = m - A::ONE;
    let (d, d_low) = two_sum(A::of(2.0), f);
    let inverse = A::ONE / d;
    let s = f * inverse;
    let (sd, sd_low) = two_product(s, d);
    let s_low = s.mul_add(-d_low, (f - sd) - sd_low) * inverse;
    let (z, z_low) = two_product(s, s);
    let z_low = (A::of(2.0) * s).mul_add(s_low, z_low);
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
    let (c, c_low) = two_sum(A::of(1.0 / 3.0), rest);
    let (t, t_low) = two_product(z, c);
    let t_low = t_low + z.mul_add(c_low + A::of(1.850_371_707_708_594_2e-17), z_low * c);
    let (p, p_low) = two_product(s, t);
    let (h, low) = two_sum(s, p);
    let low = low + (s_low + (p_low + s.mul_add(t_low, s_low * t)));
    let (hi, hi_low) = two_sum(k * A::of(6.931_471_803_691_238e-1), A::of(2.0) * h);
    (hi, hi_low + k.mul_add(A::of(1.908_214_929_270_587_7e-10), A::of(2.0) * low))
}

/// x to the y.
#[inline(always)]
pub(crate) fn pow64<A: Double>(x: A, y: A) -> A {
    let a = x.abs();
    let proper = a.gt(A::ZERO) & a.lt(A::INFINITY);
    let (log, log_low) = log_of_two_parts(A::select(proper, a, A::ONE));
    // Beyond this the power of any number but 1 is 0 or infinite.
    let most = A::of(36_893_488_147_419_103_232.0);
    let exponent = A::select(y.gt(most), most, y);
    let exponent = A::select(exponent.lt(-most), -most, exponent);
    let (p, p_low) = two_product(exponent, log);
    let p_low = exponent.mul_add(log_low, p_low);
    let p_low = A::select(p.abs().gt(A::of(750.0)), A::ZERO, p_low);
    let magnitude = exp_of_sum(p, p_low);
    let end = A::select(a.eq(A::ZERO) ^ y.lt(A::ZERO), A::ZERO, A::INFINITY);
    signed(x, y, A::select(proper, magnitude, end))
}
