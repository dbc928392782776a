//! Transforms by the `rustfft` and `realfft` crates.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use penstock_data::memory::{probe, scratch};
use penstock_data::{C64, C128};
use realfft::RealFftPlanner;
use rustfft::{FftDirection, FftPlanner};

use crate::Real;

/// The coefficients of `n` real elements that stand for another one too.
fn paired(n: usize) -> std::ops::Range<usize> {
    1..n.div_ceil(2).max(1)
}

/// How many lengths a planner keeps what it has computed for.
const KEPT: usize = 64;

/// What is computed for a length takes no more than so many times the elements: it holds the roots of unity of a transform of less than
/// four times the length, and what that is computed from.
const PLANNED: usize = 16;

/// A planner, and for which lengths it has planned.
struct Planner<P> {
    planner: P,
    lengths: Vec<usize>,
}

impl<P> Planner<P> {
    /// The planner, to plan for `n` elements of so many bytes; a new one where this has planned for many lengths.
    fn at(&mut self, n: usize, bytes: usize, new: fn() -> P) -> &mut P {
        if !self.lengths.contains(&n) {
            probe(n.saturating_mul(bytes).saturating_mul(PLANNED));
            if self.lengths.len() == KEPT {
                self.planner = new();
                self.lengths.clear();
            }
            self.lengths.push(n);
        }
        &mut self.planner
    }
}

type Shared<P> = LazyLock<Mutex<Planner<P>>>;

fn locked<P>(planner: &Mutex<Planner<P>>) -> MutexGuard<'_, Planner<P>> {
    // A planner that panicked holds whole plans all the same.
    planner.lock().unwrap_or_else(PoisonError::into_inner)
}

macro_rules! reals {
    ($($real:ident $complex:ident $plans:ident $real_plans:ident;)*) => {$(
        static $plans: Shared<FftPlanner<$real>> =
            LazyLock::new(|| Mutex::new(Planner { planner: FftPlanner::new(), lengths: Vec::new() }));
        static $real_plans: Shared<RealFftPlanner<$real>> =
            LazyLock::new(|| Mutex::new(Planner { planner: RealFftPlanner::new(), lengths: Vec::new() }));

        impl Real for $real {
            type Complex = $complex;

            fn fft(n: usize, inverse: bool, scaled: bool, rows: &mut [$complex]) {
                if rows.is_empty() {
                    return;
                }
                let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
                let plan = locked(&$plans).at(n, size_of::<$complex>(), FftPlanner::new).plan_fft(n, direction);
                plan.process_with_scratch(rows, &mut scratch($complex::default(), plan.get_inplace_scratch_len()));
                if scaled {
                    let factor = 1.0 / n as $real;
                    rows.iter_mut().for_each(|z| *z *= factor);
                }
            }

            fn rfft(n: usize, scaled: bool, mirrored: bool, x: &[$real], out: &mut [$complex]) {
                if n == 0 {
                    return out.fill($complex::default());
                }
                assert_eq!(x.len() / n * (n / 2 + 1), out.len(), "as many rows");
                let plan = locked(&$real_plans).at(n, size_of::<$complex>(), RealFftPlanner::new).plan_fft_forward(n);
                let mut row = scratch(0.0, n);
                let mut memory = scratch($complex::default(), plan.get_scratch_len());
                let factor = if scaled { 1.0 / n as $real } else { 1.0 };
                for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n / 2 + 1)) {
                    row.copy_from_slice(x);
                    plan.process_with_scratch(&mut row, out, &mut memory).expect("buffers of the plan's lengths");
                    if scaled {
                        out.iter_mut().for_each(|z| *z *= factor);
                    }
                    if mirrored {
                        out[paired(n)].iter_mut().for_each(|z| *z *= 2.0);
                    }
                }
            }

            fn irfft(n: usize, scaled: bool, mirrored: bool, x: &[$complex], out: &mut [$real]) {
                if out.is_empty() {
                    return;
                }
                let width = n / 2 + 1;
                assert_eq!(x.len() / width * n, out.len(), "as many rows");
                let plan = locked(&$real_plans).at(n, size_of::<$complex>(), RealFftPlanner::new).plan_fft_inverse(n);
                let mut row = scratch($complex::default(), width);
                let mut memory = scratch($complex::default(), plan.get_scratch_len());
                let factor = if scaled { 1.0 / n as $real } else { 1.0 };
                for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(n)) {
                    row.copy_from_slice(x);
                    row[0].im = 0.0;
                    if n % 2 == 0 {
                        row[width - 1].im = 0.0;
                    }
                    if !mirrored {
                        row[paired(n)].iter_mut().for_each(|z| *z *= 0.5);
                    }
                    plan.process_with_scratch(&mut row, out, &mut memory).expect("a row that a real one has");
                    if scaled {
                        out.iter_mut().for_each(|v| *v *= factor);
                    }
                }
            }
        }
    )*};
}

reals! {
    f32 C64 PLANS_32 REAL_PLANS_32;
    f64 C128 PLANS_64 REAL_PLANS_64;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(x: &[C128], inverse: bool) -> Vec<C128> {
        let n = x.len();
        let angle = |j: usize, k: usize| std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
        let turn = |a: f64| C128::from_polar(1.0, if inverse { a } else { -a });
        (0..n).map(|k| x.iter().enumerate().map(|(j, z)| z * turn(angle(j, k))).sum()).collect()
    }

    fn signal(n: usize) -> Vec<C128> {
        (0..n).map(|i| C128::new((i * i % 7) as f64 - 2.5, (i % 5) as f64 * 0.5)).collect()
    }

    fn near(a: &[C128], b: &[C128]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-9 * (1.0 + b.norm()))
    }

    #[test]
    fn transforms_are_their_definition() {
        for n in [1, 2, 3, 4, 7, 8, 12, 17, 30, 64] {
            let x = signal(n);
            for inverse in [false, true] {
                let mut got = [&x[..], &x].concat();
                f64::fft(n, inverse, false, &mut got);
                assert!(near(&got[..n], &direct(&x, inverse)) && near(&got[n..], &got[..n]), "{n} {inverse}");
            }
            let mut there = x.clone();
            f64::fft(n, false, false, &mut there);
            f64::fft(n, true, true, &mut there);
            assert!(near(&there, &x), "{n}");
        }
    }

    #[test]
    fn real_transforms_are_half_of_complex_ones() {
        for n in [1, 2, 3, 4, 5, 8, 9, 16, 31] {
            let x: Vec<f64> = signal(n).iter().map(|z| z.re).collect();
            let whole = direct(&x.iter().map(|&v| C128::new(v, 0.0)).collect::<Vec<_>>(), false);
            let mut half = vec![C128::default(); n / 2 + 1];
            f64::rfft(n, false, false, &x, &mut half);
            assert!(near(&half, &whole[..n / 2 + 1]), "{n}");
            let mut back = vec![0.0; n];
            f64::irfft(n, true, true, &half, &mut back);
            assert!(back.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-9), "{n}");
        }
    }

    #[test]
    fn the_two_real_transforms_are_adjoint() {
        for n in [1, 2, 5, 8] {
            let x: Vec<f64> = signal(n).iter().map(|z| z.re).collect();
            let z = signal(n / 2 + 1);
            for mirrored in [false, true] {
                let (mut of_x, mut of_z) = (vec![C128::default(); n / 2 + 1], vec![0.0; n]);
                f64::rfft(n, false, mirrored, &x, &mut of_x);
                f64::irfft(n, false, mirrored, &z, &mut of_z);
                let left: f64 = of_x.iter().zip(&z).map(|(a, b)| a.re * b.re + a.im * b.im).sum();
                let right: f64 = of_z.iter().zip(&x).map(|(a, b)| a * b).sum();
                assert!((left - right).abs() < 1e-9 * (1.0 + left.abs()), "{n} {mirrored}: {left} {right}");
            }
        }
    }

    #[test]
    fn nothing_has_a_transform() {
        f32::fft(0, false, true, &mut []);
        let mut out = [C64::new(1.0, 1.0); 2];
        f32::rfft(0, true, false, &[], &mut out);
        assert_eq!(out, [C64::default(); 2]);
        f32::irfft(0, true, true, &out, &mut []);
    }

    #[test]
    fn many_lengths_are_planned_for() {
        for n in 1..3 * KEPT {
            let mut x = vec![C64::new(1.0, 0.0); n];
            f32::fft(n, false, false, &mut x);
            assert!((x[0].re - n as f32).abs() < 1e-3);
        }
    }
}
