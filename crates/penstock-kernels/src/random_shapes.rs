//! Random numbers of distributions that need a varying number of tries: gamma and Poisson.
//!
//! Each element has the blocks of its own position: try `t` reads the block whose counter has `t` in its top 32 bits.

#![expect(unsafe_code, reason = "typed loops over raw memory")]

use penstock_data::{DType, bf16, f16};

use crate::arch::dispatch;
use crate::math64::{exp, log};
use crate::pool::{Shared, grain, parallel_for};
use crate::random::{Philox, WIDTH};
use crate::trig::cos;

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
        let stream = self.stream.of_try(self.next);
        self.next = self.next.wrapping_add(1);
        stream.block(self.position)
    }
}

/// Uniform in (0, 1), of 64 bits.
#[inline(always)]
fn open_unit(low: u32, high: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 12;
    (bits as f64 + 0.5) / (1u64 << 52) as f64
}

/// Uniform in (0, 1), of 32 bits.
#[inline(always)]
fn short_unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 4_294_967_296.0
}

/// A try at a number of the gamma distribution of shape 1/3 + `d` >= 1, divided by `d`: its logarithm, and whether it is taken.
///
/// The method of Marsaglia and Tsang (2000): the cube of a normal number, rejected in a few of a hundred tries.
#[inline(always)]
fn gamma_try([a, b, angle, accept]: [u32; 4], d: f64) -> (f64, bool) {
    let c = 1.0 / (9.0 * d).sqrt();
    let radius = (-2.0 * log(open_unit(a, b))).sqrt();
    let x = radius * cos(std::f64::consts::TAU * short_unit(angle));
    let root = 1.0 + c * x;
    let log_cube = 3.0 * log(root);
    // The logarithm of a negative root is NaN, which is below nothing.
    (log_cube, log(short_unit(accept)) < 0.5 * x * x + d * (1.0 - root * root * root + log_cube))
}

/// The `d` of [`gamma_try`] for a shape; shapes below 1 are raised by 1 first.
#[inline(always)]
fn gamma_scale(alpha: f64) -> f64 {
    (if alpha < 1.0 { alpha + 1.0 } else { alpha }) - 1.0 / 3.0
}

/// Numbers of the gamma distributions of rate 1 and shapes `alpha`, of the blocks from block `first` on; NaN where a shape is
/// not positive.
///
/// The first tries are made side by side; shapes below 1 by a power of a uniform number of the try after the one taken.
#[inline(always)]
fn gammas(stream: Philox, first: u64, alpha: &[f64; WIDTH]) -> [f64; WIDTH] {
    let words = stream.blocks(first);
    let (mut log_cube, mut taken) = ([0.0; WIDTH], [false; WIDTH]);
    let mut value = [0.0; WIDTH];
    for i in 0..WIDTH {
        let of_block = [words[0][i], words[1][i], words[2][i], words[3][i]];
        let d = gamma_scale(alpha[i]);
        (log_cube[i], taken[i]) = gamma_try(of_block, d);
        value[i] = d * exp(log_cube[i]);
    }
    if alpha.iter().fold(false, |any, &alpha| any | (alpha < 1.0)) {
        let words = stream.of_try(1).blocks(first);
        for i in 0..WIDTH {
            let raised = lowered(log_cube[i], gamma_scale(alpha[i]), alpha[i], words[0][i], words[1][i]);
            value[i] = if alpha[i] < 1.0 { raised } else { value[i] };
        }
    }
    for i in 0..WIDTH {
        if !(alpha[i] > 0.0 && alpha[i] < f64::INFINITY) {
            value[i] = if alpha[i] == f64::INFINITY { f64::INFINITY } else { f64::NAN };
        } else if !taken[i] {
            value[i] = gamma_after(Tries { next: 1, ..Tries::new(stream, first + i as u64) }, alpha[i]);
        }
    }
    value
}

/// The number of a shape below 1, of the logarithm of that of the raised shape divided by `d`, and of a uniform number.
#[inline(always)]
fn lowered(log_cube: f64, d: f64, alpha: f64, low: u32, high: u32) -> f64 {
    // As a logarithm, which does not underflow before the result does.
    exp(log(d) + log_cube + log(open_unit(low, high)) / alpha)
}

/// The number of a positive shape, of the remaining tries.
fn gamma_after(mut tries: Tries, alpha: f64) -> f64 {
    let d = gamma_scale(alpha);
    let log_cube = loop {
        let (log_cube, taken) = gamma_try(tries.words(), d);
        if taken {
            break log_cube;
        }
    };
    if alpha >= 1.0 {
        return d * exp(log_cube);
    }
    let [a, b, ..] = tries.words();
    lowered(log_cube, d, alpha, a, b)
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
    let write = |i: usize, value: f64| {
        // SAFETY: `i` is below `n` in the calls below, each of which is the only one for its `i`.
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
    };
    match kind {
        Shaped::Gamma => parallel_for(n.div_ceil(WIDTH), grain(40.0 * WIDTH as f64), |range| {
            dispatch(
                #[inline(always)]
                || {
                    for group in range {
                        let first = group * WIDTH;
                        let mut alpha = [1.0; WIDTH];
                        for (i, alpha) in alpha.iter_mut().enumerate().take(n - first) {
                            *alpha = parameter(first + i);
                        }
                        let values = gammas(stream, first as u64, &alpha);
                        for (i, &value) in values.iter().enumerate().take(n - first) {
                            write(first + i, value);
                        }
                    }
                },
            );
        }),
        Shaped::Poisson => parallel_for(n, grain(80.0), |range| {
            for i in range {
                write(i, poisson(Tries::new(stream, i as u64), parameter(i)));
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gammas_of(n: usize, parameter: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        let mut out = vec![0f64; n];
        // SAFETY: room for `n` elements of `f64`.
        unsafe { fill(Shaped::Gamma, Philox::new(5, 9), DType::F64, n, parameter, out.as_mut_ptr().cast()) };
        out
    }

    #[test]
    fn gamma_numbers_have_the_moments_of_their_shapes() {
        let n = 200_000;
        for alpha in [0.2, 0.5, 1.0, 3.0, 100.0] {
            let v = gammas_of(n, |_| alpha);
            let mean = v.iter().sum::<f64>() / n as f64;
            let variance = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            let third = v.iter().map(|x| (x - mean).powi(3)).sum::<f64>() / n as f64;
            assert!((mean / alpha - 1.0).abs() < 0.02, "{alpha}: mean {mean}");
            assert!((variance / alpha - 1.0).abs() < 0.04, "{alpha}: variance {variance}");
            assert!((third / (2.0 * alpha) - 1.0).abs() < 0.4, "{alpha}: third moment {third}");
            assert!(v.iter().all(|x| *x >= 0.0));
        }
    }

    #[test]
    fn a_gamma_number_depends_on_its_position_and_shape_alone() {
        let shape = |i: usize| [0.3, 1.0, 7.5][i % 3];
        let long = gammas_of(10_001, shape);
        assert_eq!(long[..77], gammas_of(77, shape)[..]);
        // One by one, without the first tries that are made side by side.
        for i in 0..3000 {
            let stream = Philox::new(5, 9);
            assert_eq!(long[i], gamma_after(Tries::new(stream, i as u64), shape(i)), "{i}");
        }
    }

    #[test]
    fn shapes_at_the_edges() {
        let v = gammas_of(6, |i| [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300][i]);
        assert!(v[0].is_nan() && v[1].is_nan() && v[2].is_nan());
        assert!(v[3] == f64::INFINITY && v[4] == 0.0 && (v[5] / 1e300 - 1.0).abs() < 1e-6, "{v:?}");
    }
}
