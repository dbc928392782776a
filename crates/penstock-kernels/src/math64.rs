//! Vectorisable functions in `f64` arithmetic.
//!
//! [`exp`] and [`log`] are accurate to `f64`. The `_for32` functions take the exact value of an
//! `f32` and are accurate enough (relative error below 1e-9) for their result, rounded to `f32`, to be within 1
//! unit in the last place.

/// Evaluates a polynomial whose coefficients are listed from the highest degree down.
#[inline(always)]
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut acc = coefficients[0];
    let mut i = 1;
    while i < N {
        acc = acc * x + coefficients[i];
        i += 1;
    }
    acc
}

/// Adding and subtracting this rounds an `f64` below 2^51 to an integer, which is then in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let c = if x > 710.0 { 710.0 } else { x };
    let c = if c < -746.0 { -746.0 } else { c };
    let shifted = c * std::f64::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (c - n * 6.931_471_803_691_238e-1) - n * 1.908_214_929_270_587_7e-10;
    // The remainder of the Taylor series is below 5e-18 for |r| <= ln 2 / 2.
    let p = horner(
        r,
        [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ],
    );
    let p = (p * (r * r) + r) + 1.0;
    let k = shifted.to_bits().wrapping_sub(MAGIC.to_bits()) as i32;
    let half = k >> 1;
    let scale = |k: i32| f64::from_bits((k as i64 as u64).wrapping_add(1023) << 52);
    p * scale(half) * scale(k.wrapping_sub(half))
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let bits = scaled.to_bits().wrapping_add(ONE - SQRT_HALF);
    let k = f64::from_bits((bits >> 52).wrapping_add(MAGIC.to_bits())) - (MAGIC + 1023.0);
    let k = k - if tiny { 54.0 } else { 0.0 };
    let f = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + SQRT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * (3.999_999_999_940_942e-1 + w * (2.222_219_843_214_978_4e-1 + w * 1.531_383_769_920_937_3e-1));
    let t2 = z
        * (6.666_666_666_666_735e-1
            + w * (2.857_142_874_366_239e-1 + w * (1.818_357_216_161_805e-1 + w * 1.479_819_860_511_658_6e-1)));
    let r = t2 + t1;
    let hfsq = 0.5 * f * f;
    let y = s * (hfsq + r) + k * 1.908_214_929_270_587_7e-10 - hfsq + f + k * 6.931_471_803_691_238e-1;
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

#[inline(always)]
pub(crate) fn log1p_for32(x: f64) -> f64 {
    let small = x - 0.5 * x * x;
    if x.abs() < 1e-5 { small } else { log(1.0 + x) }
}

#[inline(always)]
pub(crate) fn sinh_for32(x: f64) -> f64 {
    let e = exp(x);
    let small = x + x * x * x * (1.0 / 6.0);
    if x.abs() < 1e-3 { small } else { 0.5 * (e - 1.0 / e) }
}

#[inline(always)]
pub(crate) fn cosh_for32(x: f64) -> f64 {
    let e = exp(x.abs());
    0.5 * (e + 1.0 / e)
}

#[inline(always)]
pub(crate) fn asinh_for32(x: f64) -> f64 {
    let a = x.abs();
    let small = a - a * a * a * (1.0 / 6.0);
    let large = log(a + (a * a + 1.0).sqrt());
    (if a < 1e-3 { small } else { large }).copysign(x)
}

#[inline(always)]
pub(crate) fn acosh_for32(x: f64) -> f64 {
    let y = log(x + (x * x - 1.0).sqrt());
    if x >= 1.0 { y } else { f64::NAN }
}

#[inline(always)]
pub(crate) fn atanh_for32(x: f64) -> f64 {
    let small = x + x * x * x * (1.0 / 3.0);
    if x.abs() < 1e-3 { small } else { 0.5 * log((1.0 + x) / (1.0 - x)) }
}

#[inline(always)]
pub(crate) fn softplus_for32(x: f64) -> f64 {
    let positive = if x < 0.0 { 0.0 } else { x };
    positive + log1p_for32(exp(-x.abs()))
}

/// Splits `x` into `q * pi / 2 + r` with |r| <= pi / 4: `r` and the two low bits of `q`.
#[inline(always)]
fn quadrant(x: f64) -> (f64, u64) {
    let shifted = x * std::f64::consts::FRAC_2_PI + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * 1.570_796_310_901_641_8) - n * 1.589_325_477_352_819_6e-8;
    (r, shifted.to_bits() & 3)
}

#[inline(always)]
fn sin_part(r: f64) -> f64 {
    let z = r * r;
    let p = horner(
        z,
        [2.718_311_493_989_822e-6, -1.983_933_483_609_663_2e-4, 8.333_329_385_889_463e-3, -0.166_666_666_416_265_24],
    );
    r + r * z * p
}

#[inline(always)]
fn cos_part(r: f64) -> f64 {
    let z = r * r;
    let p = horner(
        z,
        [2.439_044_879_627_741e-5, -1.388_676_377_460_993e-3, 4.166_662_332_373_906_3e-2, -0.499_999_997_251_031_1],
    );
    1.0 + z * p
}

/// sin x for |x| <= 1e5.
#[inline(always)]
pub(crate) fn sin_for32(x: f64) -> f64 {
    let (r, q) = quadrant(x);
    let y = if q & 1 == 0 { sin_part(r) } else { cos_part(r) };
    let y = f64::from_bits(y.to_bits() ^ (q & 2) << 62);
    if x == 0.0 { x } else { y }
}

/// cos x for |x| <= 1e5.
#[inline(always)]
pub(crate) fn cos_for32(x: f64) -> f64 {
    let (r, q) = quadrant(x);
    let y = if q & 1 == 0 { cos_part(r) } else { sin_part(r) };
    f64::from_bits(y.to_bits() ^ (q.wrapping_add(1) & 2) << 62)
}

/// tan x for |x| <= 1e5.
#[inline(always)]
pub(crate) fn tan_for32(x: f64) -> f64 {
    let (r, q) = quadrant(x);
    let (s, c) = (sin_part(r), cos_part(r));
    let y = if q & 1 == 0 { s / c } else { -c / s };
    if x == 0.0 { x } else { y }
}

/// erfc |x| = t e^(g(t) - x^2) with t = 1 / (1 + |x| / 2).
#[inline(always)]
fn erfc_positive(a: f64) -> f64 {
    let a = if a > 10.4 { 10.4 } else { a };
    let t = 1.0 / (1.0 + 0.5 * a);
    let g = horner(
        t,
        [
            -0.209_257_919_016_972_58,
            2.153_677_629_899_547,
            -10.117_343_468_287_059,
            28.604_335_605_212_17,
            -54.024_251_749_286_07,
            71.604_448_362_161_72,
            -68.383_156_066_619_38,
            48.111_305_949_934_67,
            -25.821_331_876_313_916,
            10.961_651_090_198_684,
            -3.490_621_245_005_006,
            0.797_327_201_584_813_5,
            -0.316_439_657_014_714_55,
            -0.060_658_702_426_004_324,
            0.080_638_405_009_097_82,
            0.375_197_228_888_231_9,
            0.999_991_151_301_403_1,
            -1.265_511_940_221_347_7,
        ],
    );
    t * exp(g - a * a)
}

#[inline(always)]
pub(crate) fn erfc_for32(x: f64) -> f64 {
    let y = erfc_positive(x.abs());
    if x < 0.0 { 2.0 - y } else { y }
}

#[inline(always)]
pub(crate) fn erf_for32(x: f64) -> f64 {
    let a = x.abs();
    let p = horner(
        x * x,
        [
            1.058_938_064_107_502e-6,
            -1.390_934_002_187_46e-5,
            1.195_656_256_820_733e-4,
            -8.542_637_997_087_229e-4,
            5.223_783_477_189_248e-3,
            -2.686_613_323_509_559_3e-2,
            0.112_837_913_086_045_82,
            -0.376_126_388_896_353_1,
            1.128_379_167_094_676_8,
        ],
    );
    let small = a * p;
    (if a < 1.0 { small } else { 1.0 - erfc_positive(a) }).copysign(x)
}

/// x to the y, with the special values of IEEE 754 `pow`.
#[inline(always)]
pub(crate) fn pow_for32(x: f32, y: f32) -> f32 {
    let a = x.abs();
    let magnitude = exp(f64::from(y) * log(f64::from(a))) as f32;
    let magnitude = if a == 1.0 && !y.is_nan() { 1.0 } else { magnitude };
    let whole = y.trunc() == y;
    let half = y * 0.5;
    let odd = whole && half.trunc() != half;
    let negative = x.is_sign_negative();
    let signed = if negative && odd { -magnitude } else { magnitude };
    let undefined = negative && !whole && a != 0.0 && a != f32::INFINITY;
    let value = if undefined { f32::NAN } else { signed };
    if y == 0.0 || x == 1.0 { 1.0 } else { value }
}

/// The quantile of the standard normal distribution at `0.5 + q`, whose distance to the nearer of 0 and 1 is `tail`.
///
/// Algorithm AS 241 (Wichura, 1988), PPND16.
#[inline(always)]
fn normal_quantile(q: f64, tail: f64) -> f64 {
    let r = 0.180_625 - q * q;
    let middle = q * horner(
        r,
        [
            2.509_080_928_730_122_7e3,
            3.343_057_558_358_813e4,
            6.726_577_092_700_87e4,
            4.592_195_393_154_987e4,
            1.373_169_376_550_946_1e4,
            1.971_590_950_306_551_3e3,
            1.331_416_678_917_843_8e2,
            3.387_132_872_796_366_5,
        ],
    ) / horner(
        r,
        [
            5.226_495_278_852_854e3,
            2.872_908_573_572_194_3e4,
            3.930_789_580_009_271e4,
            2.121_379_430_158_659_7e4,
            5.394_196_021_424_751e3,
            6.871_870_074_920_579e2,
            4.231_333_070_160_091e1,
            1.0,
        ],
    );
    let s = (-log(tail)).sqrt();
    let near = s - 1.6;
    let near = horner(
        near,
        [
            7.745_450_142_783_414e-4,
            2.272_384_498_926_918_4e-2,
            2.417_807_251_774_506e-1,
            1.270_458_252_452_368_4,
            3.647_848_324_763_204_5,
            5.769_497_221_460_691,
            4.630_337_846_156_546,
            1.423_437_110_749_683_5,
        ],
    ) / horner(
        near,
        [
            1.050_750_071_644_416_9e-9,
            5.475_938_084_995_345e-4,
            1.519_866_656_361_645_7e-2,
            1.481_039_764_274_800_8e-1,
            6.897_673_349_851e-1,
            1.676_384_830_183_803_8,
            2.053_191_626_637_758_8,
            1.0,
        ],
    );
    let far = s - 5.0;
    let far = horner(
        far,
        [
            2.010_334_399_292_288_1e-7,
            2.711_555_568_743_487_6e-5,
            1.242_660_947_388_078_4e-3,
            2.653_218_952_657_612_4e-2,
            2.965_605_718_285_048_7e-1,
            1.784_826_539_917_291_3,
            5.463_784_911_164_114,
            6.657_904_643_501_103,
        ],
    ) / horner(
        far,
        [
            2.044_263_103_389_939_8e-15,
            1.421_511_758_316_446e-7,
            1.846_318_317_510_054_8e-5,
            7.868_691_311_456_133e-4,
            1.487_536_129_085_061_5e-2,
            1.369_298_809_227_358e-1,
            5.998_322_065_558_88e-1,
            1.0,
        ],
    );
    let outer = if s <= 5.0 { near } else { far };
    let outer = if tail == 0.0 { f64::INFINITY } else { outer }.copysign(q);
    if q.abs() <= 0.425 { middle } else { outer }
}

/// The number whose error function is `x`: infinite at -1 and 1, NaN beyond.
#[inline(always)]
pub(crate) fn erfinv(x: f64) -> f64 {
    normal_quantile(0.5 * x, 0.5 * (1.0 - x.abs())) * std::f64::consts::FRAC_1_SQRT_2
}

/// The number below which the share `p` of the standard normal distribution lies: infinite at 0 and 1, NaN beyond.
#[inline(always)]
pub(crate) fn ndtri(p: f64) -> f64 {
    let q = p - 0.5;
    normal_quantile(q, if q < 0.0 { p } else { 1.0 - p })
}
