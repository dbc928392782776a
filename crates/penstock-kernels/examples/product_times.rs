//! Prints the rates of products of matrices of many shapes, in 10⁹ multiplications and additions a second:
//! `cargo run --release --example product_times -- [f32|f64 [THREADS [SHAPE...]]]`.
//!
//! A shape is `MxKxN`; behind it, two letters say which matrices are stored transposed: `nt` the right one, `tn` the left one.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use std::time::Instant;

use penstock_data::{Buffer, DType};
use penstock_kernels::{matmul, pool};

/// Square, long, of few rows or columns, and those of convolutions and dense layers; rows of whole pages, and others.
const SHAPES: [&str; 32] = [
    "10x10x10",
    "32x32x32",
    "64x64x64",
    "128x128x128",
    "192x192x192",
    "256x256x256",
    "384x384x384",
    "512x512x512",
    "768x768x768",
    "1000x1000x1000",
    "1024x1024x1024",
    "2048x2048x2048",
    "64x4096x64",
    "4096x64x4096",
    "64x784x256",
    "10x1024x1024",
    "32x1024x1024",
    "1024x1024x32",
    "4000x64x64",
    "64x64x4000",
    "1024x27x64",
    "50000x27x32",
    "3136x576x64",
    "4x1024x1024nt",
    "16x256x1024nt",
    "64x1024x1024nt",
    "512x512x512nt",
    "1024x1024x1024nt",
    "1000x300x4nt",
    "64x784x256tn",
    "512x512x512tn",
    "1024x1024x1024tn",
];

fn matrix(dtype: DType, elements: usize) -> Buffer {
    let mut memory = Buffer::new(elements * dtype.size()).expect("memory");
    let start = memory.as_mut_ptr().expect("a buffer of one owner");
    for i in 0..elements {
        let value = (i * 7919 % 1000) as f64 * 0.001 - 0.5;
        // SAFETY: the buffer has so many elements of this size.
        unsafe {
            if dtype == DType::F32 {
                start.cast::<f32>().add(i).write(value as f32);
            } else {
                start.cast::<f64>().add(i).write(value);
            }
        }
    }
    memory
}

/// The best time of calls in a quarter of a second.
fn best(mut f: impl FnMut()) -> f64 {
    f();
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    while begin.elapsed().as_secs_f64() < 0.25 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let dtype = if args.first().is_some_and(|name| name == "f64") { DType::F64 } else { DType::F32 };
    pool::set_threads(args.get(1).map_or(0, |n| n.parse().expect("a number of threads")));
    let shapes = if args.len() > 2 { args[2..].iter().map(String::as_str).collect() } else { SHAPES.to_vec() };
    for shape in shapes {
        let sizes = shape.trim_end_matches(['n', 't']);
        let (a_trans, b_trans) = (shape[sizes.len()..].starts_with('t'), shape.ends_with('t'));
        let sizes: Vec<usize> = sizes.split('x').map(|size| size.parse().expect("a size")).collect();
        let [m, k, n] = sizes[..] else { panic!("{shape} is not MxKxN") };
        let (a, b, mut out) = (matrix(dtype, m * k), matrix(dtype, k * n), matrix(dtype, m * n));
        let to = out.as_mut_ptr().expect("a buffer of one owner");
        // SAFETY: the matrices have these sizes.
        let seconds = best(|| unsafe { matmul(dtype, m, k, n, a.as_ptr(), a_trans, b.as_ptr(), b_trans, to) });
        println!("{dtype} {shape:20} {:8.2}", 2e-9 * (m * k * n) as f64 / seconds);
    }
}
