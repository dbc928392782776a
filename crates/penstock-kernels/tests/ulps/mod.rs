//! Distances in units of the last place, and the functions of `libm` that results are compared with.

#![allow(dead_code, reason = "the test and the example use different parts")]

use penstock_kernels::{Binary, Lane, LoopFn, Unary};

/// Values at which things go wrong, then where formulas change.
pub(crate) const EDGES: [f64; 44] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    1e-310,
    1e-300,
    1e-40,
    1e-45,
    6e-8,
    0.5,
    -0.5,
    1.5,
    2.0,
    -2.0,
    2.5,
    3.0,
    -3.0,
    7.0,
    22.0,
    88.8,
    89.5,
    -87.5,
    -103.9,
    709.9,
    710.4,
    -708.5,
    -745.2,
    1e5,
    1.6e6,
    1e19,
    -1e19,
    1e300,
    0.414_213_56,
    2.414_213_56,
    std::f64::consts::FRAC_1_SQRT_2,
    0.999_999_9,
];

/// The distance of `got` from `want`, in units of the last place of a number of the size of `want`, of which `digits` bits
/// follow the first and the least normal exponent is `least`; infinite where one is NaN, infinite or negative and the
/// other is not, but for overflow one step early or late.
#[inline(always)]
fn distance(got: f64, want: f64, greatest: f64, digits: i32, least: i32) -> f64 {
    let special = |v: f64| v.is_nan() || v.abs() > greatest;
    if special(got) || special(want) {
        let near = got.abs() >= greatest && want.abs() >= greatest && (got > 0.0) == (want > 0.0);
        let same = got.is_nan() && want.is_nan() || got == want;
        return if same {
            0.0
        } else if near {
            0.5
        } else {
            f64::INFINITY
        };
    }
    if want == 0.0 && got == 0.0 {
        return if got.is_sign_negative() == want.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let exponent = ((want.to_bits() >> 52 & 2047) as i32 - 1023).max(least) - digits;
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    // In two steps, since the unit of a subnormal number is no normal one.
    ((got - want) * power(-exponent / 2)).abs() * power(-exponent - -exponent / 2)
}

/// The distance of an `f32` from the exact result.
#[inline(always)]
pub(crate) fn ulps32(got: f32, want: f64) -> f64 {
    distance(f64::from(got), want, f64::from(f32::MAX), 23, -126)
}

/// The distance of an `f64` from another.
pub(crate) fn ulps64(got: f64, want: f64) -> f64 {
    distance(got, want, f64::MAX, 52, -1022)
}

/// Runs a loop on slices of one length.
pub(crate) fn apply<T: Copy + Default>(f: LoopFn, operands: &[&[T]], out: &mut [T]) {
    let lanes: Vec<Lane> = operands.iter().map(|x| Lane::new(x.as_ptr().cast(), size_of::<T>())).collect();
    assert!(operands.iter().all(|x| x.len() == out.len()));
    // SAFETY: the callers pass loops on as many operands of `T`, with a result of `T`.
    unsafe { f(out.len(), &lanes, out.as_mut_ptr().cast()).unwrap() };
}

/// Finite numbers of all magnitudes, and as many of ordinary ones.
pub(crate) fn spread(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    let scales = [0.1, 1.0, 2.0, 10.0, 30.0, 700.0, 1e5];
    (0..n)
        .map(|i| match i % 2 {
            0 => f64::from_bits(next()),
            _ => ((next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * scales[i / 2 % 7],
        })
        .collect()
}

/// Pairs for `op`: of [`EDGES`], of small halves, of all magnitudes, and such that powers neither over- nor underflow.
pub(crate) fn pairs(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let halves = (-20..=20).map(|i| f64::from(i) / 2.0);
    let mut ends: Vec<f64> = halves.chain(EDGES).collect();
    ends.dedup();
    let grid = ends.iter().flat_map(|&x| ends.iter().map(move |&y| (x, y)));
    let (a, b) = (spread(n, seed), spread(n, !seed));
    let random = a.iter().zip(&b).enumerate().map(|(i, (&x, &y))| {
        let base = x.abs();
        if i % 4 == 0 || !base.is_normal() || base == 1.0 {
            (x, y)
        } else {
            (base, y.signum() * (y.abs() % 1.0) * 710.0 / base.ln().abs())
        }
    });
    grid.chain(random).unzip()
}

/// A binary operator by `libm`.
pub(crate) fn model2(op: Binary, x: f64, y: f64) -> f64 {
    match op {
        Binary::Pow => libm::pow(x, y),
        Binary::Atan2 => libm::atan2(x, y),
        _ => unreachable!(),
    }
}

/// A unary operator by `libm`, whose functions are off by less than 1 unit in the last place; none where it has no such function.
pub(crate) fn model(op: Unary, x: f64) -> Option<f64> {
    Some(match op {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sign => {
            if x.is_nan() {
                x
            } else if x == 0.0 {
                0.0
            } else {
                x.signum()
            }
        }
        Unary::Square => x * x,
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => 1.0 / x.sqrt(),
        Unary::Reciprocal => 1.0 / x,
        Unary::Exp => libm::exp(x),
        Unary::Expm1 => libm::expm1(x),
        Unary::Log => libm::log(x),
        Unary::Log1p => libm::log1p(x),
        Unary::Sin => libm::sin(x),
        Unary::Cos => libm::cos(x),
        Unary::Tan => libm::tan(x),
        Unary::Asin => libm::asin(x),
        Unary::Acos => libm::acos(x),
        Unary::Atan => libm::atan(x),
        Unary::Sinh => libm::sinh(x),
        Unary::Cosh => libm::cosh(x),
        Unary::Tanh => libm::tanh(x),
        Unary::Asinh => libm::asinh(x),
        Unary::Acosh => {
            if x < 1.0 {
                f64::NAN
            } else {
                libm::acosh(x)
            }
        }
        Unary::Atanh => libm::atanh(x),
        Unary::Sigmoid => {
            if x < 0.0 {
                libm::exp(x) / (1.0 + libm::exp(x))
            } else {
                1.0 / (1.0 + libm::exp(-x))
            }
        }
        Unary::Softplus => x.max(0.0) + libm::log1p(libm::exp(-x.abs())) + if x.is_nan() { x } else { 0.0 },
        Unary::Relu => {
            if x <= 0.0 {
                0.0
            } else {
                x
            }
        }
        Unary::Relu6 => x.clamp(0.0, 6.0) + 0.0,
        Unary::Elu => {
            if x < 0.0 {
                libm::expm1(x)
            } else {
                x
            }
        }
        Unary::Selu => 1.0507009873554805 * if x < 0.0 { 1.6732632423543772 * libm::expm1(x) } else { x },
        Unary::Softsign => x / (1.0 + x.abs()),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round | Unary::Rint => x.round_ties_even(),
        Unary::Step => f64::from(u8::from(x > 0.0)),
        Unary::Trunc => x.trunc(),
        Unary::Erf => libm::erf(x),
        Unary::Erfc => libm::erfc(x),
        Unary::Lgamma => libm::lgamma(x),
        _ => return None,
    })
}
