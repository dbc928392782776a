//! Prints the times of representative kernels: `cargo run --release --example kernel_times`.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use std::hint::black_box;
use std::time::Instant;

use penstock_data::DType;
use penstock_kernels::gather::Indices;
use penstock_kernels::product_i8::{Bytes, bytes_batched};
use penstock_kernels::segment::{Empty, Segments, segment_reduce};
use penstock_kernels::sort::{Direction, Rows, sort};
use penstock_kernels::{
    Binary, Lane, Reduce, Unary, binary, cast, copy, elementwise, matmul, pool, reduce, softmax, unary,
};

/// Prints the best time of several batches of calls.
fn time(name: &str, mut f: impl FnMut()) {
    f();
    let start = Instant::now();
    f();
    let once = start.elapsed().as_nanos().max(1);
    let calls = (20_000_000 / once).clamp(1, 1_000_000);
    let best = (0..7)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                f();
            }
            start.elapsed().as_nanos() as f64 / calls as f64
        })
        .fold(f64::INFINITY, f64::min);
    if best < 10_000.0 {
        println!("{name:40} {best:10.1} ns");
    } else {
        println!("{name:40} {:10.1} us", best / 1000.0);
    }
}

fn main() {
    let n = 1 << 20;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 * 0.01 - 4.0).collect();
    let y: Vec<f32> = x.iter().map(|v| v * 0.5 + 3.0).collect();
    let mut out = vec![0f32; n];
    let d = DType::F32;
    let o: *mut u8 = out.as_mut_ptr().cast();
    let (px, py): (*const u8, *const u8) = (x.as_ptr().cast(), y.as_ptr().cast());
    // SAFETY: every call below reads and writes within buffers made for it.
    unsafe {
        let add = binary(Binary::Add, d).unwrap();
        for len in [1, 2, 10, 100, 1000, 4096] {
            let lanes = [Lane::new(px, 4), Lane::new(py, 4)];
            time(&format!("loop add f32 n={len}"), || black_box(add)(len, black_box(&lanes), o).unwrap());
        }
        let exp = unary(Unary::Exp, d).unwrap();
        for len in [1, 10, 4096] {
            let lanes = [Lane::new(px, 4)];
            time(&format!("loop exp f32 n={len}"), || black_box(exp)(len, black_box(&lanes), o).unwrap());
        }
        for threads in [1, 2] {
            pool::set_threads(threads);
            println!("-- {threads} thread(s)");
            time("add f32 1M", || elementwise(add, &[n], o, 4, &[(px, &[n], 4), (py, &[n], 4)]).unwrap());
            time("add f32 1M in place", || elementwise(add, &[n], o, 4, &[(o, &[n], 4), (py, &[n], 4)]).unwrap());
            out.fill(0.0);
            time("add f32 1Mx bias 10", || {
                elementwise(add, &[n / 16, 16], o, 4, &[(px, &[n / 16, 16], 4), (py, &[16], 4)]).unwrap();
            });
            for op in Unary::ALL {
                if let (Some(f), true) = (unary(*op, d), penstock_kernels::unary_output(*op, d) == d) {
                    time(&format!("{} f32 1M", op.name()), || elementwise(f, &[n], o, 4, &[(px, &[n], 4)]).unwrap());
                }
            }
            let pow = binary(Binary::Pow, d).unwrap();
            time("pow f32 1M", || elementwise(pow, &[n], o, 4, &[(py, &[n], 4), (px, &[n], 4)]).unwrap());
            for (name, op) in [("sum", Reduce::Sum), ("max", Reduce::Max)] {
                time(&format!("{name} f32 1M"), || reduce(op, d, px, &[n], &[true], o));
                time(&format!("{name} f32 1024x1024 axis 0"), || reduce(op, d, px, &[1024, 1024], &[true, false], o));
                time(&format!("{name} f32 1024x1024 axis 1"), || reduce(op, d, px, &[1024, 1024], &[false, true], o));
            }
            time("sum f32 1000", || reduce(Reduce::Sum, d, px, &[1000], &[true], o));
            time("transpose f32 1024x1024", || {
                penstock_kernels::copy::transpose(4, px, &[1024, 1024], &[1, 0], o);
            });
            time("memcpy f32 1M", || px.copy_to_nonoverlapping(o, n * 4));
            time("uniform f32 1M", || penstock_kernels::Philox::new(1, 0).uniform(d, n, o));
            time("normal f32 1M", || penstock_kernels::Philox::new(1, 0).normal(d, n, o));
            for m in [2, 4, 10, 16, 32, 64, 128, 512, 1024] {
                time(&format!("matmul f32 {m}"), || matmul(d, m, m, m, px, false, py, false, o));
            }
            time("matmul f32 10 (b transposed)", || matmul(d, 10, 10, 10, px, false, py, true, o));
            time("matmul f64 10", || matmul(DType::F64, 10, 10, 10, px, false, py, false, o));
            time("matmul f32 32x128 128x128", || matmul(d, 32, 128, 128, px, false, py, false, o));
            time("matmul f32 64x784 784x256", || matmul(d, 64, 784, 256, px, false, py, false, o));
            let bytes = Bytes { ptr: px, signed: true, transposed: false, batch: &[] };
            for m in [16, 128, 1024] {
                time(&format!("matmul i8 to i32 {m}"), || bytes_batched(&[], m, m, m, bytes, bytes, o.cast()));
            }
            time("matmul i32 128", || matmul(DType::I32, 128, 128, 128, px, false, py, false, o));
            let big: Vec<f32> = (0..4000 * 4000).map(|i| (i % 1000) as f32 * 0.01).collect();
            let mut to = vec![0f32; 4000 * 4000];
            time("softmax f32 4000x4000", || {
                softmax::softmax(d, big.as_ptr().cast(), 4000, 4000, to.as_mut_ptr().cast());
            });
        }
    }
    moved_and_ordered();
}

/// Kernels that move, convert, order and combine elements.
fn moved_and_ordered() {
    let n = 1 << 20;
    let scrambled = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let narrow: Vec<f32> = (0..n).map(|i| (scrambled(i) >> 40) as f32).collect();
    let wide: Vec<f64> = (0..n).map(|i| (scrambled(i) >> 11) as f64).collect();
    let ids: Vec<i64> = (0..n as i64).map(|i| i / 100).collect();
    let mut raw = vec![0f64; 3 * n];
    let out: *mut u8 = raw.as_mut_ptr().cast();
    let (x, y): (*const u8, *const u8) = (narrow.as_ptr().cast(), wide.as_ptr().cast());
    // SAFETY: every call below reads and writes within buffers made for it.
    unsafe {
        for threads in [1, 2] {
            pool::set_threads(threads);
            println!("-- {threads} thread(s)");
            for (name, dtype, from, width) in [
                ("f32", DType::F32, x, n),
                ("f64", DType::F64, y, n),
                ("f32 rows of 1024", DType::F32, x, 1024),
                ("f32 rows of 16", DType::F32, x, 16),
            ] {
                let rows = Rows { outer: n / width, n: width, inner: 1 };
                time(&format!("sort 1M {name}"), || sort(dtype, rows, Direction::Ascending, from, out));
            }
            let indices = Indices { ptr: ids.as_ptr().cast(), dtype: DType::I64, count: n };
            let segments = Segments { ids: indices, n: n / 100 + 1, width: 1, blocks: 1, sorted: false };
            time("segment sum f32 1M of 100", || {
                segment_reduce(Reduce::Sum, DType::F32, x, segments, Empty::Zero, out).unwrap();
            });
            time("repeat f32 1M x3", || copy::broadcast_to(4, x, &[n, 1], &[n, 3], out));
            time("tile f32 256Kx4 x3", || copy::tile(4, x, &[n / 4, 4], &[1, 3], out));
            for to in [DType::I32, DType::F16, DType::U8, DType::F64] {
                let lanes = [(x, &[n][..], 4)];
                let convert = cast(DType::F32, to).unwrap();
                time(&format!("cast f32 to {to} 1M"), || elementwise(convert, &[n], out, to.size(), &lanes).unwrap());
            }
        }
    }
}
