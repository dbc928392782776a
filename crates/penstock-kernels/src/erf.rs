//! The error function and its complement.

use crate::algebra::{Double, Single, horner, horner32, power_of_two};
use crate::math32::exp_minus_one;
use crate::math64::{exp, exp_of_sum};

/// erf x = 1 - e^q(|x|), for |x| >= 1, where q approximates log erfc.
#[inline(always)]
pub(crate) fn erf32<A: Single>(x: A) -> A {
    let a = x.abs();
    // (erf x - x) / x of x^2: less is rounded than of erf x / x.
    let p = horner32(
        x * x,
        [7.875_875e-5, -8.016_864e-4, 0.005_189_087, -0.026_854_211, 0.112_835_94, -0.376_126_26, 0.128_379_13],
    );
    // From 4 on the result is 1.
    let most = A::of32(4.0);
    let c = A::select(a.gt(most), most, a);
    let q = horner32(
        c,
        [1.855_834_7e-4, -0.002_939_699_5, 0.021_805_685, -0.103_038_13, -0.638_224_8, -1.127_040_5, -3.535_908_8e-4],
    );
    let (rest, k) = exp_minus_one(q);
    let large = A::ONE - (rest + A::ONE) * power_of_two(k);
    A::select(a.lt(A::ONE), a.mul_add(p, a), large).copysign(x)
}

/// erfc |x| = t e^(g(t) - x^2) with t = 1 / (1 + |x| / 2).
#[inline(always)]
fn erfc_positive_for32<A: Double>(a: A) -> A {
    let most = A::of(10.4);
    let a = A::select(a.gt(most), most, a);
    let t = A::ONE / (A::ONE + A::of(0.5) * a);
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
    t * exp(a.mul_add(-a, g))
}

#[inline(always)]
pub(crate) fn erfc_for32<A: Double>(x: A) -> A {
    let y = erfc_positive_for32(x.abs());
    A::select(x.lt(A::ZERO), A::of(2.0) - y, y)
}

/// erfc a = t e^(g(t) - a^2) with t = 1 / (1 + a / 2), for a >= 0. In the exponential, a relative error is the absolute
/// one of the exponent, so the square is of two parts.
#[inline(always)]
fn erfc_positive<A: Double>(a: A) -> A {
    let most = A::of(28.0);
    let a = A::select(a.gt(most), most, a);
    let t = A::ONE / (A::ONE + A::of(0.5) * a);
    // t in [1/16, 1], stretched to [-1, 1]: there the coefficients fall fast.
    let u = (t - A::of(17.0 / 32.0)) * A::of(32.0 / 15.0);
    let g = horner(
        u,
        [
            8.428_691_864_591_299e-10,
            -2.749_592_164_142_668_5e-9,
            -3.184_378_676_819_281_3e-9,
            2.603_952_481_139_094e-8,
            -2.484_993_794_647_387_8e-8,
            -9.473_836_620_875_514e-8,
            2.733_906_107_409_173e-7,
            1.713_134_165_995_596_6e-9,
            -1.214_093_099_028_938_9e-6,
            1.766_189_326_904_161_9e-6,
            2.644_858_089_901_621e-6,
            -1.077_059_997_218_813_6e-5,
            2.782_423_726_135_091_7e-6,
            3.996_408_208_761_957e-5,
            -5.591_675_189_340_73e-5,
            -0.000_101_431_062_301_172_66,
            0.000_325_456_675_799_680_06,
            0.000_125_175_061_937_717_07,
            -0.001_481_625_415_409_437,
            0.000_495_681_321_697_300_5,
            0.006_728_782_345_932_391,
            -0.005_432_017_831_474_277,
            -0.040_384_418_735_250_73,
            0.033_698_047_394_368_026,
            0.635_627_456_694_989_7,
            -0.629_580_539_022_419,
        ],
    );
    let square = -a * a;
    let rest = g - a.mul_add(a, square);
    let exponent = square + rest;
    let low = A::select(a.lt(A::of(1.5)), square - (exponent - rest), rest - (exponent - square));
    t * exp_of_sum(exponent, low)
}

/// erf x / x of z = x^2, for |x| <= 1.
#[inline(always)]
fn erf_slope<A: Double>(z: A) -> A {
    horner(
        z,
        [
            -4.230_945_824_295_338e-12,
            8.709_045_129_053_106e-11,
            -1.216_456_005_728_345e-9,
            1.479_240_120_940_481_3e-8,
            -1.636_464_215_816_761_6e-7,
            1.646_204_544_146_841_8e-6,
            -1.492_564_756_751_933_2e-5,
            0.000_120_553_329_028_887_36,
            -0.000_854_832_702_193_483,
            0.005_223_977_625_423_298_5,
            -0.026_866_170_645_129_84,
            0.112_837_916_709_551_2,
            -0.376_126_389_031_837_54,
            std::f64::consts::FRAC_2_SQRT_PI,
        ],
    )
}

#[inline(always)]
pub(crate) fn erfc<A: Double>(x: A) -> A {
    let a = x.abs();
    let large = erfc_positive(a);
    let large = A::select(x.lt(A::ZERO), A::of(2.0) - large, large);
    A::select(a.lt(A::of(0.5)), A::ONE - x * erf_slope(x * x), large)
}

#[inline(always)]
pub(crate) fn erf<A: Double>(x: A) -> A {
    let a = x.abs();
    // From 6 on the result is 1.
    let most = A::of(6.0);
    let c = A::select(a.gt(most), most, a);
    A::select(a.lt(A::ONE), a * erf_slope(x * x), A::ONE - erfc_positive(c)).copysign(x)
}
