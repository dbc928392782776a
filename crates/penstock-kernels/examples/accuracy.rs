//! Measures elementwise functions: those of one `f32` at every `f32`, the others at many arguments. Prints a page in
//! Markdown:
//!
//!     cargo run --release -p penstock-kernels --example accuracy > docs/accuracy.md

#![expect(unsafe_code, reason = "kernels take raw memory")]

#[path = "../tests/ulps/mod.rs"]
mod ulps;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use penstock_data::DType;
use penstock_kernels::{Binary, Unary, binary, unary};
use ulps::{EDGES, apply, model, model2, pairs, spread, ulps32, ulps64};

/// Functions that IEEE 754 defines to the last bit, that are one step from a listed one, or that `libm` has not.
const LEFT_OUT: &[Unary] = &[
    Unary::Neg,
    Unary::Abs,
    Unary::Sign,
    Unary::Square,
    Unary::Sqrt,
    Unary::Reciprocal,
    Unary::Relu,
    Unary::Relu6,
    Unary::Step,
    Unary::Floor,
    Unary::Ceil,
    Unary::Round,
    Unary::Rint,
    Unary::Trunc,
    Unary::Softsign,
    Unary::Elu,
    Unary::Selu,
    Unary::Lgamma,
];

/// Functions whose value at `-x` is, to the bit, minus that at `x`, or that at `x`. The rest is measured for positive numbers.
const ODD: &[Unary] = &[
    Unary::Sin,
    Unary::Tan,
    Unary::Asin,
    Unary::Atan,
    Unary::Sinh,
    Unary::Tanh,
    Unary::Asinh,
    Unary::Atanh,
    Unary::Erf,
];
const EVEN: &[Unary] = &[Unary::Cos, Unary::Cosh];

/// The arguments that are taken at a time.
const CHUNK: usize = 1 << 12;

/// Of the chunks of huge arguments of trigonometric functions, which go through scalar code of `libm` in both widths, one
/// in so many is taken.
const HUGE_STEP: u64 = 61;

/// The greatest distance so far, and where.
#[derive(Clone, Copy, Default)]
struct Worst {
    ulps: f64,
    at: f64,
}

impl Worst {
    fn see(&mut self, ulps: f64, at: f64) {
        if ulps > self.ulps {
            *self = Worst { ulps, at };
        }
    }
}

/// [`ulps32`] without branches; infinite where that needs a closer look, at least wherever it is infinite.
#[inline(always)]
fn quick_ulps32(got: f32, want: f64) -> f64 {
    const LEAST: u64 = (1023 - 126) << 52;
    let rounded = want as f32;
    let exponent = want.to_bits() & 0x7ff0_0000_0000_0000;
    let exponent = if exponent < LEAST { LEAST } else { exponent };
    let per_unit = f64::from_bits(((2 * 1023 + 23) << 52) - exponent);
    let distance = (f64::from(got) - want).abs() * per_unit;
    let finite = (got.abs() < f32::INFINITY) & (rounded.abs() < f32::INFINITY);
    let alike = (got == rounded) | (got.is_nan() & rounded.is_nan());
    let signs_differ = (got == 0.0) & (rounded == 0.0) & ((got.to_bits() ^ rounded.to_bits()) >> 31 == 1);
    let distance = if finite { distance } else { f64::INFINITY };
    let distance = if !finite & alike { 0.0 } else { distance };
    if signs_differ { f64::INFINITY } else { distance }
}

/// The greatest distance of `op` on any `f32` from its result in `f64`.
fn every_f32(op: Unary) -> Worst {
    let (narrow, wide) = (unary(op, DType::F32).unwrap(), unary(op, DType::F64).unwrap());
    let (next, worst) = (AtomicU64::new(0), Mutex::new(Worst::default()));
    let (odd, even) = (ODD.contains(&op), EVEN.contains(&op));
    let end = if odd || even { 1 << 31 } else { 1 << 32 };
    let work = || {
        let (mut x, mut y) = (vec![0f32; CHUNK], vec![0f32; CHUNK]);
        let mut mirrored = vec![0f32; CHUNK];
        let (mut exact_x, mut exact) = (vec![0f64; CHUNK], vec![0f64; CHUNK]);
        let mut mine = Worst::default();
        loop {
            let start = next.fetch_add(CHUNK as u64, Ordering::Relaxed);
            if start >= end {
                break;
            }
            let huge = f32::from_bits(start as u32).abs() > 1.6e6 && matches!(op, Unary::Sin | Unary::Cos | Unary::Tan);
            if huge && !(start / CHUNK as u64).is_multiple_of(HUGE_STEP) {
                continue;
            }
            for i in 0..CHUNK {
                x[i] = f32::from_bits(start as u32 + i as u32);
                exact_x[i] = f64::from(x[i]);
            }
            apply(narrow, &[&x], &mut y);
            apply(wide, &[&exact_x], &mut exact);
            if odd || even {
                x.iter_mut().for_each(|x| *x = -*x);
                apply(narrow, &[&x], &mut mirrored);
                for i in 0..CHUNK {
                    let want = if odd { -y[i] } else { y[i] };
                    let same = mirrored[i].to_bits() == want.to_bits() || (want.is_nan() && mirrored[i].is_nan());
                    mine.see(if same { 0.0 } else { f64::INFINITY }, f64::from(x[i]));
                }
            }
            // The distances are not negative, so they are in the order of their bits.
            let mut most = 0;
            for i in 0..CHUNK {
                most = most.max(quick_ulps32(y[i], exact[i]).to_bits());
            }
            if f64::from_bits(most) > mine.ulps {
                for i in 0..CHUNK {
                    mine.see(ulps32(y[i], exact[i]), exact_x[i]);
                }
            }
        }
        let mut worst = worst.lock().unwrap();
        worst.see(mine.ulps, mine.at);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    worst.into_inner().unwrap()
}

/// The greatest distance of `op` on `f64` from the result of `libm`.
fn many_f64(op: Unary, inputs: &[f64]) -> Worst {
    let mut out = vec![0f64; inputs.len()];
    apply(unary(op, DType::F64).unwrap(), &[inputs], &mut out);
    let mut worst = Worst::default();
    for (&x, &y) in inputs.iter().zip(&out) {
        worst.see(ulps64(y, model(op, x).unwrap()), x);
    }
    worst
}

fn main() {
    println!("# Accuracy of elementwise functions\n");
    println!("Written by `cargo run --release -p penstock-kernels --example accuracy > docs/accuracy.md`.\n");
    println!(
        "The greatest distance from the exact result, in units of the last place (0.5 is the best that rounding can"
    );
    println!(
        "do), and where it is reached. `float32`: at all 2^32 arguments, beside the result in `float64`. `float64`:"
    );
    println!(
        "at 4 million arguments of all magnitudes and at the edges, beside `libm`, which is off by less than 1 itself;"
    );
    println!(
        "so this is a whole number. 16-bit floats are computed in `float32` and rounded once. Of the arguments of sine,"
    );
    println!("cosine and tangent beyond 1.6 million, one in {HUGE_STEP} is taken.\n");
    println!("| function | `float32` | at | `float64` | at |");
    println!("|---|---|---|---|---|");
    let mut inputs = spread(4_000_000, 2);
    inputs.extend(EDGES);
    for &op in Unary::ALL {
        if LEFT_OUT.contains(&op) || model(op, 0.5).is_none() {
            continue;
        }
        let (narrow, wide) = (every_f32(op), many_f64(op, &inputs));
        println!(
            "| `{}` | {:.2} | {:e} | {:.0} | {:e} |",
            op.name(),
            narrow.ulps,
            narrow.at as f32,
            wide.ulps,
            wide.at
        );
    }
    println!("\nOf two operands, at 4 million pairs, beside `libm` in `float64`:\n");
    println!("| function | `float32` | `float64` |");
    println!("|---|---|---|");
    let (x, y) = pairs(4_000_000, 3);
    let (x32, y32): (Vec<f32>, Vec<f32>) = x.iter().zip(&y).map(|(&x, &y)| (x as f32, y as f32)).unzip();
    for op in [Binary::Pow, Binary::Atan2] {
        let (mut out, mut out32) = (vec![0f64; x.len()], vec![0f32; x.len()]);
        apply(binary(op, DType::F64).unwrap(), &[&x, &y], &mut out);
        apply(binary(op, DType::F32).unwrap(), &[&x32, &y32], &mut out32);
        let (mut narrow, mut wide) = (Worst::default(), Worst::default());
        for i in 0..x.len() {
            narrow.see(ulps32(out32[i], model2(op, f64::from(x32[i]), f64::from(y32[i]))), x[i]);
            wide.see(ulps64(out[i], model2(op, x[i], y[i])), x[i]);
        }
        println!("| `{}` | {:.2} | {:.0} |", op.name(), narrow.ulps, wide.ulps);
    }
    println!(
        "\n`erfinv` and `ndtri` are within 1 unit of `float32` and 8 of `float64`; `lgamma` and `digamma` within 4 away from"
    );
    println!("their zeros; `zeta` and `polygamma` of positive arguments within 1 and 16.");
}
