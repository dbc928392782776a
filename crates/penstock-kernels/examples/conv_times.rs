//! Prints the times of convolutions and their gradients beside what the machine can do, and of poolings and theirs:
//! `cargo run --release -p penstock-kernels --example conv_times [FILE]`.
//!
//! Each line of the file is a name, the height and the width of the input, the groups, the channels of the input and of the output in a
//! group, the height and the width of the window, those of the output, the two strides, the zeros before, and, if known, how often the
//! convolution occurs and the microseconds that another library takes.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use std::time::Instant;

use penstock_data::{DType, f16};
use penstock_kernels::conv::{Axis, Geometry, conv, conv_filter_grad, conv_input_grad};
use penstock_kernels::pooling::{AtMax, Windows, at_max, avg_pool, avg_pool_grad, max_pool};
use penstock_kernels::{matmul, pool};

/// The least microseconds of a call, of many short stretches: other programs run as well.
fn least(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let calls = (100_000 / start.elapsed().as_nanos().max(1)).clamp(1, 1000);
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed().as_millis() < 100 {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        best = best.min(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    best / 1e3
}

/// Representative convolutions of networks for images.
const CASES: &str = "\
first 224 224 1 3 32 3 3 112 112 2 2 0 0
early 112 112 1 16 32 1 1 112 112 1 1 0 0
depthwise 112 112 32 1 1 3 3 112 112 1 1 1 1
strided 112 112 96 1 1 3 3 56 56 2 2 0 0
late 14 14 480 1 1 5 5 14 14 1 1 2 2
few_channels 96 96 12 1 1 3 3 96 96 1 1 1 1
wide 7 7 1 160 960 1 1 7 7 1 1 0 0
narrow 7 7 1 960 160 1 1 7 7 1 1 0 0
square 28 28 1 128 128 3 3 28 28 1 1 1 1
pixel 1 1 1 96 24 1 1 1 1 1 1 0 0
odd 12 96 1 20 52 1 1 12 96 1 1 0 0
";

fn main() {
    pool::set_threads(1);
    let text = std::env::args().nth(1).map(|path| std::fs::read_to_string(path).expect("a file of convolutions"));
    let size = 512;
    let (a, b) = (vec![1f32; size * size], vec![0.5f32; size * size]);
    let mut c = vec![0f32; size * size];
    let of_product = least(|| {
        let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
        // SAFETY: matrices of this size.
        unsafe { matmul(DType::F32, size, size, size, a, false, b, false, c.as_mut_ptr().cast()) }
    });
    let peak = 2.0 * (size * size * size) as f64 / of_product;
    println!("a product of {size} by {size}: {:.1} GFLOP/s\n", peak / 1e3);
    let (mut all, mut others) = (0.0, 0.0);
    for line in text.as_deref().unwrap_or(CASES).lines() {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a name");
        let n: Vec<usize> = words.map(|word| word.parse::<f64>().expect("a number") as usize).collect();
        let axis = |i: usize| Axis {
            input: n[i],
            window: n[5 + i],
            output: n[7 + i],
            stride: n[9 + i],
            dilation: 1,
            before: n[11 + i],
        };
        let g = Geometry {
            batch: 1,
            axes: [Axis::NONE, axis(0), axis(1)],
            groups: n[2],
            in_channels: n[3],
            out_channels: n[4],
        };
        // On the lines of the cache, as in the engine.
        let room = |n: usize| {
            let all = vec![0.5f32; n + 16];
            let first = all.as_ptr().align_offset(64);
            (all, first)
        };
        let (x, first_x) = room(n[0] * n[1] * n[2] * n[3]);
        let (filter, first_filter) = room(n[5] * n[6] * n[2] * n[3] * n[4]);
        let (mut y, first_y) = room(n[7] * n[8] * n[2] * n[4]);
        let took = least(|| {
            // SAFETY: memory of the sizes of the geometry.
            unsafe {
                let (x, filter) = (x.as_ptr().add(first_x), filter.as_ptr().add(first_filter));
                conv(DType::F32, &g, x.cast(), filter.cast(), y.as_mut_ptr().add(first_y).cast());
            }
        });
        let [of_input, of_filter] = [true, false].map(|is_input| {
            let (mut gradient, first) = if is_input { room(x.len()) } else { room(filter.len()) };
            least(|| {
                // SAFETY: memory of the sizes of the geometry.
                unsafe {
                    let (dy, to) = (y.as_ptr().add(first_y).cast(), gradient.as_mut_ptr().add(first).cast());
                    if is_input {
                        conv_input_grad(DType::F32, &g, filter.as_ptr().add(first_filter).cast(), dy, to);
                    } else {
                        conv_filter_grad(DType::F32, &g, x.as_ptr().add(first_x).cast(), dy, to);
                    }
                }
            })
        });
        let beside = n.get(14).map_or(String::new(), |&other| {
            let times = n[13] as f64;
            (all, others) = (all + times * took, others + times * other as f64);
            format!("{:3} times, other {other:4} us, {:5.2} as long", n[13], took / other as f64)
        });
        println!(
            "{name:12} {:3}x{:<3} {:3} groups of {:3} to {:3}, window {}x{}, stride {}x{} {took:8.1} us {:5.1} %, gradients {:5.1} % \
             and {:5.1} % {beside}",
            n[0],
            n[1],
            n[2],
            n[3],
            n[4],
            n[5],
            n[6],
            n[9],
            n[10],
            100.0 * g.flops() / took / peak,
            100.0 * g.flops() / of_input / peak,
            100.0 * g.flops() / of_filter / peak,
        );
    }
    if others > 0.0 {
        println!("all: {all:.0} us, other {others:.0} us, {:.2} as long", all / others);
    }
    println!();
    for dtype in [DType::F32, DType::F16, DType::F64] {
        for (size, channels, window, stride) in [
            (32, 32, 2, 2),
            (32, 32, 3, 1),
            (32, 32, 3, 2),
            (26, 32, 2, 2),
            (32, 3, 3, 1),
            (64, 64, 3, 1),
            (32, 12, 3, 2),
            (32, 5, 2, 2),
        ] {
            let output = (size - window) / stride + 1;
            let axis = Axis { input: size, window, output, stride, dilation: 1, before: 0 };
            let windows = Windows { batch: 4, axes: [Axis::NONE, axis, axis], channels };
            // Values in no order.
            let values: Vec<f64> = (0..4 * size * size * channels).map(|i| (i as f64 * 12.9898).sin()).collect();
            let x: Vec<u8> = match dtype {
                DType::F16 => values.iter().flat_map(|&v| f16::from_f64(v).to_ne_bytes()).collect(),
                DType::F32 => values.iter().flat_map(|&v| (v as f32).to_ne_bytes()).collect(),
                _ => values.iter().flat_map(|&v| v.to_ne_bytes()).collect(),
            };
            let (mut y, mut dx) = (vec![0u8; 4 * output * output * channels * dtype.size()], vec![0u8; x.len()]);
            let took = [0, 1, 2, 3].map(|which| {
                least(|| {
                    let (x, y, dx) = (x.as_ptr(), y.as_mut_ptr(), dx.as_mut_ptr());
                    // SAFETY: memory of the sizes of the windows.
                    unsafe {
                        match which {
                            0 => max_pool(dtype, &windows, x, y),
                            1 => at_max(dtype, AtMax::Give, &windows, x, y, dx),
                            2 => avg_pool(dtype, &windows, x, y),
                            _ => avg_pool_grad(dtype, &windows, y, dx),
                        }
                    }
                })
            });
            println!(
                "pooling of {dtype} {size}x{size}, {channels} channels, window {window}, stride {stride}: greatest {:.0} us, \
                 its gradient {:.0} us, mean {:.0} us, its gradient {:.0} us",
                took[0], took[1], took[2], took[3],
            );
        }
    }
}
