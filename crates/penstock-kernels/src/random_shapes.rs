//! Random numbers of distributions that need a varying number of tries: gamma and Poisson.
//!
//! Each element has the blocks of its own position: try `t` reads the block whose counter has `t` in its top 32 bits.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::{DType, bf16, f16};

use crate::math64::{exp, log};
use crate::pool::{Shared, grain, parallel_for};
use crate::random::Philox;

/// The tries of one element.
struct Tries {
    stream: Philox,
    position: u64,
    next: u32,
}

impl Tries {
    fn new(stream: Philox, position: u64) -> Tries {
        Tries { stream, position, next: 0 }
    }

    /// Four words that no other try or element has.
    fn words(&mut self) -> [u32; 4] {
        let counter = self.stream.counter.wrapping_add(u128::from(self.next) << 96);
        self.next = self.next.wrapping_add(1);
        Philox { counter, ..self.stream }.block(self.position)
    }
}

/// Uniform in (0, 1), of 64 bits.
fn open_unit(low: u32, high: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 12;
    (bits as f64 + 0.5) / (1u64 << 52) as f64
}

/// Uniform in (0, 1), of 32 bits.
fn short_unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 4_294_967_296.0
}

/// One number of the gamma distribution of shape `alpha` and rate 1; NaN where `alpha` is not positive.
///
/// The method of Marsaglia and Tsang (2000); shapes below 1 by a power of a uniform number.
fn gamma(mut tries: Tries, alpha: f64) -> f64 {
    if alpha.is_nan() || alpha <= 0.0 {
        return f64::NAN;
    }
    if alpha == f64::INFINITY {
        return alpha;
    }
    let raised = if alpha < 1.0 { alpha + 1.0 } else { alpha };
    let d = raised - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    let log_cube = loop {
        let [a, b, angle, accept] = tries.words();
        let radius = (-2.0 * log(open_unit(a, b))).sqrt();
        let x = radius * libm::cos(std::f64::consts::TAU * short_unit(angle));
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let log_cube = 3.0 * log(root);
        if log(short_unit(accept)) < 0.5 * x * x + d * (1.0 - root * root * root + log_cube) {
            break log_cube;
        }
    };
    if alpha >= 1.0 {
        return d * exp(log_cube);
    }
    let [a, b, ..] = tries.words();
    // As a logarithm, which does not underflow before the result does.
    exp(log(d) + log_cube + log(open_unit(a, b)) / alpha)
}

/// One number of the Poisson distribution of mean `rate`; NaN where that is negative.
///
/// Small means by products of uniform numbers (Knuth), large ones by transformed rejection (Hörmann 1993, PTRS).
fn poisson(mut tries: Tries, rate: f64) -> f64 {
    if rate.is_nan() || rate < 0.0 {
        return f64::NAN;
    }
    if rate == f64::INFINITY {
        return rate;
    }
    if rate < 10.0 {
        let least = exp(-rate);
        let (mut product, mut count) = (1.0, 0.0);
        loop {
            let [a, b, c, d] = tries.words();
            for unit in [open_unit(a, b), open_unit(c, d)] {
                product *= unit;
                if product <= least {
                    return count;
                }
                count += 1.0;
            }
        }
    }
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let quick = 0.9277 - 3.6224 / (b - 2.0);
    let log_rate = log(rate);
    loop {
        let [w0, w1, w2, w3] = tries.words();
        let (u, v) = (open_unit(w0, w1) - 0.5, open_unit(w2, w3));
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + rate + 0.43).floor();
        if edge >= 0.07 && v <= quick {
            return k;
        }
        if k < 0.0 || (edge < 0.013 && v > edge) {
            continue;
        }
        let density = k * log_rate - rate - libm::lgamma(k + 1.0);
        if log(v) + log(inverse_alpha) - log(a / (edge * edge) + b) <= density {
            return k;
        }
    }
}

/// A distribution that [`fill`] draws from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shaped {
    /// Gamma, of rate 1; the parameter is the shape.
    Gamma,
    /// Poisson; the parameter is the mean.
    Poisson,
}

/// Fills `out` with numbers, element `i` of the parameter `parameter(i)`. Integers saturate, and are 0 for NaN.
///
/// # Panics
/// If `dtype` is neither a float nor an integer of 32 or 64 bits.
///
/// # Safety
/// `out` is aligned and writable for `n` elements of `dtype`.
pub unsafe fn fill(
    kind: Shaped,
    stream: Philox,
    dtype: DType,
    n: usize,
    parameter: impl Fn(usize) -> f64 + Sync,
    out: *mut u8,
) {
    let out = Shared(out);
    parallel_for(n, grain(80.0), |range| {
        for i in range {
            let tries = Tries::new(stream, i as u64);
            let value = match kind {
                Shaped::Gamma => gamma(tries, parameter(i)),
                Shaped::Poisson => poisson(tries, parameter(i)),
            };
            // SAFETY: `i` is below `n`, and no other range has it.
            unsafe {
                match dtype {
                    DType::F16 => out.get().cast::<f16>().add(i).write(f16::from_f64(value)),
                    DType::Bf16 => out.get().cast::<bf16>().add(i).write(bf16::from_f64(value)),
                    DType::F32 => out.get().cast::<f32>().add(i).write(value as f32),
                    DType::F64 => out.get().cast::<f64>().add(i).write(value),
                    DType::I32 => out.get().cast::<i32>().add(i).write(value as i32),
                    DType::I64 => out.get().cast::<i64>().add(i).write(value as i64),
                    _ => panic!("{kind:?} gives no {dtype}"),
                }
            }
        }
    });
}
