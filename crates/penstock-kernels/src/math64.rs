//! Vectorisable functions in `f64` arithmetic.
//!
//! The `_for32` functions take the exact value of an `f32` and are accurate enough (relative error below 1e-9) for
//! their result, rounded to `f32`, to be within 1 unit in the last place; the others are accurate to `f64`.

/// Evaluates a polynomial whose coefficients are listed from the highest degree down.
#[inline(always)]
pub(crate) fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut acc = coefficients[0];
    let mut i = 1;
    while i < N {
        acc = acc.mul_add(x, coefficients[i]);
        i += 1;
    }
    acc
}

/// Adding and subtracting this rounds an `f64` below 2^51 to an integer, which is then in the low bits.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The multiple of ln 2 that is nearest to `x`, as an integer in the low bits of the first result, and the rest in two
/// steps: less its greater part, which is exact, and the lesser part to take off.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, f64) {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, MAGIC);
    let n = shifted - MAGIC;
    (shifted, n.mul_add(-6.931_471_803_691_238e-1, x), n * 1.908_214_929_270_587_7e-10)
}

/// (e^r - 1 - r) / r^2. The remainder of the Taylor series is below 5e-18 for |r| <= ln 2 / 2.
#[inline(always)]
fn exp_tail(r: f64) -> f64 {
    horner(
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
    )
}

/// `p` times 2 to the power of the integer in the low bits of `shifted` plus `more`, in two factors, so that neither
/// leaves the normal range.
#[inline(always)]
fn scaled(p: f64, shifted: f64, more: i32) -> f64 {
    let k = (shifted.to_bits().wrapping_sub(MAGIC.to_bits()) as i32).wrapping_add(more);
    let half = k >> 1;
    let scale = |k: i32| f64::from_bits((k as i64 as u64).wrapping_add(1023) << 52);
    p * scale(half) * scale(k.wrapping_sub(half))
}

/// e^x 2^`more`, for -4 <= `more` <= 0.
#[inline(always)]
fn exp_scaled(x: f64, more: i32) -> f64 {
    // Where the result is 0 nothing underflows on the way, which is slow.
    let nought = x < -745.2;
    let c = if x > 712.0 { 712.0 } else { x };
    let c = if nought { 0.0 } else { c };
    let (shifted, near, low) = reduced(c);
    let r = near - low;
    let power = scaled(exp_tail(r).mul_add(r * r, r) + 1.0, shifted, more);
    if nought { 0.0 } else { power }
}

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    exp_scaled(x, 0)
}

/// e^x / 2, which overflows later.
#[inline(always)]
pub(crate) fn exp_halved(x: f64) -> f64 {
    exp_scaled(x, -1)
}

/// e^(x + low) for a `low` that is small beside 1, to 0.6 units in the last place.
#[inline(always)]
pub(crate) fn exp_of_sum(x: f64, low: f64) -> f64 {
    let nought = x < -745.2;
    let c = if x > 712.0 { 712.0 } else { x };
    let c = if nought { 0.0 } else { c };
    let (shifted, near, less) = reduced(c);
    let move_by = low - less;
    let r = near + move_by;
    let r_low = (near - r) + move_by;
    let sum = 1.0 + r;
    let power = scaled(sum + ((1.0 - sum) + r + exp_tail(r).mul_add(r * r, r_low)), shifted, 0);
    if nought { 0.0 } else { power }
}

/// e^x - 1 = 2^n p + (2^n - 1), with p = e^r - 1.
#[inline(always)]
pub(crate) fn expm1(x: f64) -> f64 {
    let c = if x > 712.0 { 712.0 } else { x };
    let c = if c < -50.0 { -50.0 } else { c };
    let (shifted, near, low) = reduced(c);
    let r = near - low;
    let p = exp_tail(r).mul_add(r * r, r);
    let power = scaled(1.0, shifted, 0);
    let near = p.mul_add(power, power - 1.0);
    (if c > 100.0 { scaled(p + 1.0, shifted, 0) } else { near }).copysign(x)
}

/// `k` ln 2 + log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt 2, by the polynomial of fdlibm; `low` are the small parts of the
/// sum, that of `k` ln 2 among them.
#[inline(always)]
fn log_sum(k: f64, f: f64, low: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * horner(w, [1.531_383_769_920_937_3e-1, 2.222_219_843_214_978_4e-1, 3.999_999_999_940_942e-1]);
    let even = horner(
        w,
        [1.479_819_860_511_658_6e-1, 1.818_357_216_161_805e-1, 2.857_142_874_366_239e-1, 6.666_666_666_666_735e-1],
    );
    let r = z.mul_add(even, t1);
    let hfsq = 0.5 * f * f;
    k.mul_add(6.931_471_803_691_238e-1, s.mul_add(hfsq + r, low) - hfsq + f)
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
    let y = log_sum(k, f, k * 1.908_214_929_270_587_7e-10);
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

/// log(1 + x): of the rounded sum, and of what its rounding took off.
#[inline(always)]
pub(crate) fn log1p(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let u = 1.0 + x;
    let bits = u.to_bits().wrapping_add(ONE - SQRT_HALF);
    let k = f64::from_bits((bits >> 52).wrapping_add(MAGIC.to_bits())) - (MAGIC + 1023.0);
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let f = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + SQRT_HALF) - 1.0;
    let (f, low) = if k == 0.0 { (x, 0.0) } else { (f, lost / u + k * 1.908_214_929_270_587_7e-10) };
    let y = log_sum(k, f, low);
    let y = if x == f64::INFINITY || x == 0.0 { x } else { y };
    let y = if x == -1.0 { f64::NEG_INFINITY } else { y };
    if x >= -1.0 { y } else { f64::NAN }
}

/// Splits `x` into `q * pi / 2 + r` with |r| <= pi / 4: `r` and the two low bits of `q`.
#[inline(always)]
fn quadrant(x: f64) -> (f64, u64) {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, MAGIC);
    let n = shifted - MAGIC;
    let r = n.mul_add(-1.589_325_477_352_819_6e-8, n.mul_add(-1.570_796_310_901_641_8, x));
    (r, shifted.to_bits() & 3)
}

#[inline(always)]
fn sin_part(r: f64) -> f64 {
    let z = r * r;
    let p = horner(
        z,
        [2.718_311_493_989_822e-6, -1.983_933_483_609_663_2e-4, 8.333_329_385_889_463e-3, -0.166_666_666_416_265_24],
    );
    (r * z).mul_add(p, r)
}

#[inline(always)]
fn cos_part(r: f64) -> f64 {
    let z = r * r;
    let p = horner(
        z,
        [2.439_044_879_627_741e-5, -1.388_676_377_460_993e-3, 4.166_662_332_373_906_3e-2, -0.499_999_997_251_031_1],
    );
    z.mul_add(p, 1.0)
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
    let y = (if q & 1 == 0 { s } else { -c }) / if q & 1 == 0 { c } else { s };
    if x == 0.0 { x } else { y }
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
