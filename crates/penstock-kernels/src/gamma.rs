//! The logarithm of the gamma function and its derivative, at positive numbers, written so that loops over them vectorise.

use crate::algebra::{Double, horner};
use crate::math64::log;

/// From here on both go by their asymptotic series in Bernoulli numbers (NIST Digital Library of Mathematical Functions, 5.11.1 and
/// 5.11.2).
const FAR: f64 = 8.0;

/// The logarithm of the gamma function at `u` + 1 for `u` in [0, 3/2]: u (u - 1) times a rational function, which is off by 4e-17 of it and
/// whose coefficients (`tools/gamma_coefficients.py`) are positive: from 1/2 on nothing cancels.
#[inline(always)]
fn near<A: Double>(u: A) -> A {
    let t = u - A::of(0.5);
    let p = horner(
        t,
        [
            2.977_168_793_012_260_68e-7,
            1.177_629_902_037_601_05e-4,
            3.881_158_864_214_815_3e-3,
            4.606_721_412_911_863_25e-2,
            2.655_144_570_170_955_97e-1,
            8.302_966_236_920_947_31e-1,
            1.441_566_257_210_907_54,
            1.307_280_464_459_997_55,
            4.831_289_505_409_808_89e-1,
        ],
    );
    let q = horner(
        t,
        [
            3.087_913_879_343_472_61e-5,
            1.612_474_782_260_184_62e-3,
            2.747_610_535_584_436_63e-2,
            2.220_402_782_359_891_87e-1,
            9.836_634_741_530_719_87e-1,
            2.528_353_946_882_238_52,
            3.762_346_967_199_894_53,
            3.007_976_149_529_118_1,
            1.0,
        ],
    );
    u * (u - A::ONE) * (p / q)
}

/// The logarithm of the gamma function at `x` > 0, to about 5 units in the last place of `f64`.
#[inline(always)]
pub(crate) fn lgamma<A: Double>(x: A) -> A {
    let (low, far) = (x.lt(A::of(1.2)), x.ge(A::of(FAR)));
    // Below the interval Γ(x) = Γ(x + 1) / x. Above it Γ(x) is Γ(u + 1) times a product of the numbers x - 1, x - 2, and so on.
    // All of these differences are exact. The sum 1 + x would not be.
    let (mut u, mut product) = (A::select(low, x, x - A::ONE), A::ONE);
    for _ in 0..6 {
        let above = u.gt(A::of(1.5));
        product = A::select(above, product * u, product);
        u = A::select(above, u - A::ONE, u);
    }
    let of = A::select(low | far, x, product);
    let log = log(of);
    let beside = near(u) + A::select(low, -log, log);
    let r = A::ONE / x;
    let tail = r * horner(
        r * r,
        [
            -3617.0 / 122_400.0,
            1.0 / 156.0,
            -691.0 / 360_360.0,
            1.0 / 1188.0,
            -1.0 / 1680.0,
            1.0 / 1260.0,
            -1.0 / 360.0,
            1.0 / 12.0,
        ],
    );
    // log(2 π) / 2 - 1 / 2.
    let rest = A::of(0.418_938_533_204_672_74) + tail;
    A::select(far, (x - A::of(0.5)).mul_add(log - A::ONE, rest), beside)
}

/// The logarithmic derivative of the gamma function at `x` > 0.
#[inline(always)]
pub(crate) fn digamma<A: Double>(x: A) -> A {
    // ψ(x) = ψ(x + 1) - 1 / x; the reciprocals but the first are one quotient.
    let far = A::of(FAR);
    let is_low = x.lt(far);
    let first = A::select(is_low, A::ONE / x, A::ZERO);
    let mut y = A::select(is_low, x + A::ONE, x);
    let (mut above, mut below) = (A::ZERO, A::ONE);
    for _ in 0..7 {
        let is_low = y.lt(far);
        above = A::select(is_low, above.mul_add(y, below), above);
        below = A::select(is_low, below * y, below);
        y = A::select(is_low, y + A::ONE, y);
    }
    let r = A::ONE / y;
    let z = r * r;
    let tail = z * horner(
        z,
        [
            43_867.0 / 14_364.0,
            -3617.0 / 8160.0,
            1.0 / 12.0,
            -691.0 / 32_760.0,
            1.0 / 132.0,
            -1.0 / 240.0,
            1.0 / 252.0,
            -1.0 / 120.0,
            1.0 / 12.0,
        ],
    );
    log(y) - A::of(0.5) * r - tail - above / below - first
}
