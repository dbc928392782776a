//! Vectorisable functions in `f64` arithmetic.
//!
//! The `_for32` functions take the exact value of an `f32` and are accurate enough (relative error below 1e-9) for
//! their result, rounded to `f32`, to be within 1 unit in the last place; the others are accurate to `f64`.

use crate::algebra::{Double, Word as _, horner, scaled, split};

/// The multiple of ln 2 that is nearest to `x`, and the rest in two steps: less its greater part, which is exact, and the
/// lesser part to take off.
#[inline(always)]
fn reduced<A: Double>(x: A) -> (A::Word, A, A) {
    let magic = A::of(A::MAGIC);
    let shifted = x.mul_add(A::of(std::f64::consts::LOG2_E), magic);
    let n = shifted - magic;
    let near = n.mul_add(A::of(-6.931_471_803_691_238e-1), x);
    (shifted.bits().sub(magic.bits()), near, n * A::of(1.908_214_929_270_587_7e-10))
}

/// (e^r - 1 - r) / r^2. The remainder of the Taylor series is below 5e-18 for |r| <= ln 2 / 2.
#[inline(always)]
fn exp_tail<A: Double>(r: A) -> A {
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

/// `x` where its exponential is finite and not 0 or barely beyond, and whether it is less, where the exponential is 0: nothing then
/// underflows on the way, which is slow.
#[inline(always)]
fn clamped<A: Double>(x: A) -> (A, A::Mask) {
    let (nought, most) = (x.lt(A::of(-745.2)), A::of(712.0));
    let c = A::select(x.gt(most), most, x);
    (A::select(nought, A::ZERO, c), nought)
}

/// e^x 2^`more`, for -4 <= `more` <= 0.
#[inline(always)]
fn exp_scaled<A: Double>(x: A, more: i64) -> A {
    let (c, nought) = clamped(x);
    let (k, near, low) = reduced(c);
    let r = near - low;
    let power = scaled(exp_tail(r).mul_add(r * r, r) + A::ONE, k.add(A::Word::of(more)));
    A::select(nought, A::ZERO, power)
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<A: Double>(x: A) -> A {
    exp_scaled(x, 0)
}

/// e^x / 2, which overflows later.
#[inline(always)]
pub(crate) fn exp_halved<A: Double>(x: A) -> A {
    exp_scaled(x, -1)
}

/// e^(x + low) for a `low` that is small beside 1, to 0.6 units in the last place.
#[inline(always)]
pub(crate) fn exp_of_sum<A: Double>(x: A, low: A) -> A {
    let (c, nought) = clamped(x);
    let (k, near, less) = reduced(c);
    let move_by = low - less;
    let r = near + move_by;
    let r_low = (near - r) + move_by;
    let sum = A::ONE + r;
    let power = scaled(sum + ((A::ONE - sum) + r + exp_tail(r).mul_add(r * r, r_low)), k);
    A::select(nought, A::ZERO, power)
}

/// e^x - 1 = 2^n p + (2^n - 1), with p = e^r - 1.
#[inline(always)]
pub(crate) fn expm1<A: Double>(x: A) -> A {
    let (least, most) = (A::of(-50.0), A::of(712.0));
    let c = A::select(x.gt(most), most, x);
    let c = A::select(c.lt(least), least, c);
    let (k, near, low) = reduced(c);
    let r = near - low;
    let p = exp_tail(r).mul_add(r * r, r);
    let power = scaled(A::ONE, k);
    let near = p.mul_add(power, power - A::ONE);
    A::select(c.gt(A::of(100.0)), scaled(p + A::ONE, k), near).copysign(x)
}

/// `k` ln 2 + log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt 2, by the polynomial of fdlibm; `low` are the small parts of the
/// sum, that of `k` ln 2 among them.
#[inline(always)]
fn log_sum<A: Double>(k: A, f: A, low: A) -> A {
    let s = f / (A::of(2.0) + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * horner(w, [1.531_383_769_920_937_3e-1, 2.222_219_843_214_978_4e-1, 3.999_999_999_940_942e-1]);
    let even = horner(
        w,
        [1.479_819_860_511_658_6e-1, 1.818_357_216_161_805e-1, 2.857_142_874_366_239e-1, 6.666_666_666_666_735e-1],
    );
    let r = z.mul_add(even, t1);
    let hfsq = A::of(0.5) * f * f;
    k.mul_add(A::of(6.931_471_803_691_238e-1), s.mul_add(hfsq + r, low) - hfsq + f)
}

/// `k` and `m` of a positive number, which is 2^k m with √½ <= m <= √2.
#[inline(always)]
pub(crate) fn split_positive<A: Double>(x: A) -> (A, A) {
    let tiny = x.lt(A::MIN_POSITIVE);
    let (k, m) = split(A::select(tiny, x * A::of(18_014_398_509_481_984.0), x));
    (k - A::select(tiny, A::of(54.0), A::ZERO), m)
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log<A: Double>(x: A) -> A {
    let (k, m) = split_positive(x);
    let y = log_sum(k, m - A::ONE, k * A::of(1.908_214_929_270_587_7e-10));
    let y = A::select(x.eq(A::INFINITY), x, y);
    let y = A::select(x.eq(A::ZERO), -A::INFINITY, y);
    A::select(x.ge(A::ZERO), y, A::of(f64::NAN))
}

/// log(1 + x): of the rounded sum, and of what its rounding took off.
#[inline(always)]
pub(crate) fn log1p<A: Double>(x: A) -> A {
    let u = A::ONE + x;
    let (k, m) = split(u);
    let lost = A::select(x.lt(A::ONE), x - (u - A::ONE), A::ONE - (u - x));
    let whole = k.eq(A::ZERO);
    let f = A::select(whole, x, m - A::ONE);
    let low = A::select(whole, A::ZERO, lost / u + k * A::of(1.908_214_929_270_587_7e-10));
    let y = log_sum(k, f, low);
    let y = A::select(x.eq(A::INFINITY) | x.eq(A::ZERO), x, y);
    let y = A::select(x.eq(-A::ONE), -A::INFINITY, y);
    A::select(x.ge(-A::ONE), y, A::of(f64::NAN))
}

/// Splits `x` into `q * pi / 2 + r` with |r| <= pi / 4: `r` and the two low bits of `q`.
#[inline(always)]
fn quadrant<A: Double>(x: A) -> (A, A::Word) {
    let magic = A::of(A::MAGIC);
    let shifted = x.mul_add(A::of(std::f64::consts::FRAC_2_PI), magic);
    let n = shifted - magic;
    let r = n.mul_add(A::of(-1.589_325_477_352_819_6e-8), n.mul_add(A::of(-1.570_796_310_901_641_8), x));
    (r, shifted.bits().and(A::Word::of(3)))
}

/// The sine, cosine or tangent of an angle in quadrant `q`, of which `s` and `c` are sine and cosine of the angle's rest.
#[inline(always)]
pub(crate) fn sin_in<A: Double>(q: A::Word, s: A, c: A) -> A {
    let y = A::select(q.and(A::Word::of(1)).eq(A::Word::of(0)), s, c);
    A::from_bits(y.bits().xor(q.and(A::Word::of(2)).shl(62)))
}

/// As [`sin_in`].
#[inline(always)]
pub(crate) fn cos_in<A: Double>(q: A::Word, s: A, c: A) -> A {
    sin_in(q.add(A::Word::of(1)), s, c)
}

/// As [`sin_in`].
#[inline(always)]
pub(crate) fn tan_in<A: Double>(q: A::Word, s: A, c: A) -> A {
    let even = q.and(A::Word::of(1)).eq(A::Word::of(0));
    A::select(even, s, -c) / A::select(even, c, s)
}

#[inline(always)]
fn sin_part<A: Double>(r: A) -> A {
    let z = r * r;
    let p = horner(
        z,
        [2.718_311_493_989_822e-6, -1.983_933_483_609_663_2e-4, 8.333_329_385_889_463e-3, -0.166_666_666_416_265_24],
    );
    (r * z).mul_add(p, r)
}

#[inline(always)]
fn cos_part<A: Double>(r: A) -> A {
    let z = r * r;
    let p = horner(
        z,
        [2.439_044_879_627_741e-5, -1.388_676_377_460_993e-3, 4.166_662_332_373_906_3e-2, -0.499_999_997_251_031_1],
    );
    z.mul_add(p, A::ONE)
}

/// sin x for |x| <= 1e5.
#[inline(always)]
pub(crate) fn sin_for32<A: Double>(x: A) -> A {
    let (r, q) = quadrant(x);
    A::select(x.eq(A::ZERO), x, sin_in(q, sin_part(r), cos_part(r)))
}

/// cos x for |x| <= 1e5.
#[inline(always)]
pub(crate) fn cos_for32<A: Double>(x: A) -> A {
    let (r, q) = quadrant(x);
    cos_in(q, sin_part(r), cos_part(r))
}

/// tan x for |x| <= 1e5.
#[inline(always)]
pub(crate) fn tan_for32<A: Double>(x: A) -> A {
    let (r, q) = quadrant(x);
    A::select(x.eq(A::ZERO), x, tan_in(q, sin_part(r), cos_part(r)))
}

/// The quantile of the standard normal distribution at `0.5 + q`, whose distance to the nearer of 0 and 1 is `tail`.
///
/// Algorithm AS 241 (Wichura, 1988), PPND16.
#[inline(always)]
fn normal_quantile<A: Double>(q: A, tail: A) -> A {
    let r = A::of(0.180_625) - q * q;
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
    let near = s - A::of(1.6);
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
    let far = s - A::of(5.0);
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
    let outer = A::select(s.le(A::of(5.0)), near, far);
    let outer = A::select(tail.eq(A::ZERO), A::INFINITY, outer).copysign(q);
    A::select(q.abs().le(A::of(0.425)), middle, outer)
}

/// The number whose error function is `x`: infinite at -1 and 1, NaN beyond.
#[inline(always)]
pub(crate) fn erfinv<A: Double>(x: A) -> A {
    let half = A::of(0.5);
    normal_quantile(half * x, half * (A::ONE - x.abs())) * A::of(std::f64::consts::FRAC_1_SQRT_2)
}

/// The number below which the share `p` of the standard normal distribution lies: infinite at 0 and 1, NaN beyond.
#[inline(always)]
pub(crate) fn ndtri<A: Double>(p: A) -> A {
    let q = p - A::of(0.5);
    normal_quantile(q, A::select(q.lt(A::ZERO), p, A::ONE - p))
}
