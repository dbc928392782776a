//! Measures the rates of the machine by instruction set, and prints the table of `src/cost.rs` anew: `make calibrate`.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use std::env;
use std::hint::black_box;
use std::iter::repeat_n;
use std::process::Command;
use std::time::{Duration, Instant};

use penstock_data::{DType, bf16};
use penstock_kernels::{Binary, Lane, Level, binary, level, matmul, pool, softmax};

/// How long each rate is measured.
const TIME: Duration = Duration::from_millis(300);
/// The extents of a product.
const SIDE: usize = 512;
/// The bytes of what is moved.
const MOVED: usize = 8 << 20;
/// The bytes of a short run.
const RUN: usize = 64;
/// The elements of an array in the cache, and of a row.
const CACHED: usize = 4096;
const ROW: usize = 1000;

/// The nanoseconds of the fastest of many runs.
fn best(mut f: impl FnMut()) -> f64 {
    f();
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < TIME {
        let begin = Instant::now();
        f();
        best = best.min(begin.elapsed().as_secs_f64() * 1e9);
    }
    best
}

/// Multiplications and additions a nanosecond of a product of ones.
fn product<T: Copy>(dtype: DType, one: T) -> f64 {
    let ones: Vec<T> = repeat_n(one, SIDE * SIDE).collect();
    let mut out = vec![one; SIDE * SIDE];
    let (from, to): (*const u8, *mut u8) = (ones.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: all three matrices have these extents and elements of the dtype.
    let ns = best(|| unsafe { matmul(dtype, SIDE, SIDE, SIDE, from, false, black_box(from), false, to) });
    2.0 * (SIDE * SIDE * SIDE) as f64 / ns
}

fn rates() {
    pool::set_threads(1);
    let mut from = vec![1f32; MOVED / 4];
    let mut out = vec![0f32; MOVED / 4];
    let bytes = |x: &mut [f32]| x.as_mut_ptr().cast::<u8>();
    let (x, y) = (bytes(&mut from), bytes(&mut out));
    // SAFETY: both arrays have at least this number of bytes.
    let byte = best(|| unsafe { black_box(x).copy_to_nonoverlapping(black_box(y), MOVED) }) / MOVED as f64;
    let all = CACHED * 4;
    let runs = all / RUN;
    // SAFETY: both arrays have at least this number of bytes.
    let whole = best(|| unsafe { black_box(x).copy_to_nonoverlapping(black_box(y), all) });
    let cut = best(|| {
        for i in 0..runs {
            let at = black_box(i) * RUN;
            // SAFETY: the run is inside of both arrays.
            unsafe { black_box(x).add(at).copy_to_nonoverlapping(black_box(y).add(at), black_box(RUN)) };
        }
    });
    let run = (cut - whole) / runs as f64;
    // What is copied is read and written.
    let traffic = (byte - whole / all as f64) / 2.0;
    let Some(add) = binary(Binary::Add, DType::F32) else { return };
    let lanes = [Lane::new(x, 4), Lane::new(x, 4)];
    // SAFETY: the arrays have this number of elements.
    let element = best(|| unsafe { assert!(black_box(add)(CACHED, black_box(&lanes), y).is_ok()) }) / CACHED as f64;
    // SAFETY: the arrays have a row of this number of elements.
    let exponential = best(|| unsafe { softmax::softmax(DType::F32, black_box(x), 1, ROW, y) }) / ROW as f64;
    println!("    Rates {{");
    println!("        f32_product: {:.1},", product(DType::F32, 1f32));
    println!("        f64_product: {:.1},", product(DType::F64, 1f64));
    println!("        half_product: {:.1},", product(DType::Bf16, bf16::from_f32(1.0)));
    println!("        byte_product: {:.1},", product(DType::I32, 1i32) * 4.0);
    println!("        byte: {byte:.3},");
    println!("        traffic: {traffic:.3},");
    println!("        run: {run:.1},");
    println!("        element: {element:.2},");
    println!("        exponential: {exponential:.2},");
    println!("    }},");
}

fn main() {
    let levels = [("base", Level::Base), ("v3", Level::V3), ("v4", Level::V4)];
    if let Some((_, due)) = env::args().nth(1).and_then(|name| levels.into_iter().find(|(own, _)| *own == name)) {
        if level() == due {
            rates();
        } else {
            println!("    // this machine has no {due:?}");
        }
        return;
    }
    println!("const TABLE: [Rates; {}] = [", levels.len());
    for (name, _) in levels {
        let own = env::current_exe().expect("a program has a path");
        let status = Command::new(own).arg(name).env("PENSTOCK_SIMD", name).status();
        assert!(status.is_ok_and(|status| status.success()), "the rates of {name} were not measured");
    }
    println!("];");
}
