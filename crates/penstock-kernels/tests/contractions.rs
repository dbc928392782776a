//! Products and convolutions that are made of several blocks, against plain models.

#![expect(unsafe_code, reason = "kernels take raw memory")]

use penstock_data::{DType, Element, bf16, f16};
use penstock_kernels::conv::{Axis, Geometry, conv, conv_filter_grad, conv_input_grad};
use penstock_kernels::matmul::add_product;
use penstock_kernels::right::Right;
use penstock_kernels::{matmul, pool};

/// An element that small whole numbers are converted to without rounding; integers wrap.
trait Number: Element {
    fn of(x: i32) -> Self;
}

impl Number for f32 {
    fn of(x: i32) -> f32 {
        x as f32
    }
}

impl Number for f64 {
    fn of(x: i32) -> f64 {
        f64::from(x)
    }
}

impl Number for f16 {
    fn of(x: i32) -> f16 {
        f16::from_f32(x as f32)
    }
}

impl Number for bf16 {
    fn of(x: i32) -> bf16 {
        bf16::from_f32(x as f32)
    }
}

impl Number for u8 {
    fn of(x: i32) -> u8 {
        x as u8
    }
}

impl Number for i32 {
    fn of(x: i32) -> i32 {
        x
    }
}

impl Number for i64 {
    fn of(x: i32) -> i64 {
        i64::from(x)
    }
}

/// Numbers from -2 to 2, without a short period.
fn whole(n: usize, seed: usize) -> Vec<i32> {
    let hash = |i: usize| ((i + seed * 7919) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (0..n).map(|i| (hash(i) % 5) as i32 - 2).collect()
}

fn numbers<T: Number>(x: &[i32]) -> Vec<T> {
    x.iter().map(|&x| T::of(x)).collect()
}

fn check_product<T: Number>(m: usize, k: usize, n: usize, a_trans: bool, b_trans: bool) {
    let (a, b) = (whole(m * k, 1), whole(k * n, 2));
    let mut due = vec![0; m * n];
    for i in 0..m {
        for p in 0..k {
            let x = a[if a_trans { p * m + i } else { i * k + p }];
            for j in 0..n {
                due[i * n + j] += x * b[if b_trans { j * k + p } else { p * n + j }];
            }
        }
    }
    let (a, b, mut out) = (numbers::<T>(&a), numbers::<T>(&b), numbers::<T>(&vec![77; m * n]));
    let (pa, pb) = (a.as_ptr().cast(), b.as_ptr().cast());
    // SAFETY: buffers of these dimensions.
    unsafe { matmul(T::DTYPE, m, k, n, pa, a_trans, pb, b_trans, out.as_mut_ptr().cast()) };
    assert_eq!(out, numbers::<T>(&due), "{} {m} {k} {n} {a_trans} {b_trans}", T::DTYPE);
}

#[test]
fn products_of_several_blocks_agree_with_the_model() {
    pool::set_threads(3);
    let sizes = [
        (1, 1, 1),
        (2, 600, 37),
        (15, 513, 33),
        (16, 40, 70),
        (17, 64, 1),
        (1, 700, 300),
        (29, 1024, 65),
        (70, 1030, 130),
        (3, 30, 4200),
        (2, 513, 2101),
        (450, 50, 66),
        (1000, 7, 40),
        (300, 600, 1),
        (61, 70, 3),
    ];
    for (m, k, n) in sizes {
        for (a_trans, b_trans) in [(false, false), (false, true), (true, false), (true, true)] {
            check_product::<f32>(m, k, n, a_trans, b_trans);
            check_product::<f64>(m, k, n, a_trans, b_trans);
            check_product::<f16>(m, k, n, a_trans, b_trans);
            check_product::<bf16>(m, k, n, a_trans, b_trans);
            check_product::<u8>(m, k, n, a_trans, b_trans);
            check_product::<i32>(m, k, n, a_trans, b_trans);
            check_product::<i64>(m, k, n, a_trans, b_trans);
        }
    }
}

#[test]
fn what_is_not_a_number_stays_in_its_row_and_column() {
    for (m, k, n) in [(5, 9, 7), (40, 600, 50), (90, 300, 33)] {
        for b_trans in [false, true] {
            let (mut a, mut b) = (vec![1f32; m * k], vec![1f32; k * n]);
            a[3 * k + 4] = f32::NAN;
            b[if b_trans { 6 * k + 2 } else { 2 * n + 6 }] = f32::NEG_INFINITY;
            let mut out = vec![0f32; m * n];
            let (pa, pb) = (a.as_ptr().cast(), b.as_ptr().cast());
            // SAFETY: buffers of these dimensions.
            unsafe { matmul(DType::F32, m, k, n, pa, false, pb, b_trans, out.as_mut_ptr().cast()) };
            for (at, &x) in out.iter().enumerate() {
                match (at / n, at % n) {
                    (3, _) => assert!(x.is_nan()),
                    (_, 6) => assert_eq!(x, f32::NEG_INFINITY),
                    _ => assert_eq!(x, k as f32),
                }
            }
        }
    }
}

#[test]
fn products_are_added_to_what_is_there() {
    let few = [(1, 300, 5000, 5001), (2, 260, 70, 70), (3, 20, 1500, 1501), (1, 300, 20, 20)];
    for (m, k, n, ldo) in [(1, 1, 1, 1), (5, 8, 3, 9), (70, 300, 1, 3), (100, 600, 40, 44)].into_iter().chain(few) {
        let (a, b) = (numbers::<f64>(&whole(m * k, 3)), numbers::<f64>(&whole(k * n, 4)));
        let mut out = vec![0.5; (m - 1) * ldo + n];
        add_product(k, n, &a, &b, &mut out, ldo);
        for (at, &x) in out.iter().enumerate() {
            let (i, j) = (at / ldo, at % ldo);
            let product: f64 = if j < n { (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum() } else { 0.0 };
            assert_eq!(x, 0.5 + product);
        }
    }
}

/// Numbers between -1 and 1 of which sums are rounded.
fn fractions<T: Number + std::ops::Div<Output = T>>(n: usize, seed: usize) -> Vec<T> {
    let hash = |i: usize| ((i + seed * 7919) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (0..n).map(|i| T::of((hash(i) % 2001) as i32 - 1000) / T::of(1000)).collect()
}

fn check_packed<T: Number + std::ops::Div<Output = T>>(m: usize, k: usize, n: usize, transposed: bool) {
    let (a, b) = (fractions::<T>(m * k, 1), fractions::<T>(k * n, 2));
    let stored = if transposed { (0..k * n).map(|i| b[i % k * n + i / k]).collect() } else { b.clone() };
    let (mut due, mut out) = (vec![T::of(7); m * n], vec![T::of(7); m * (n + 3)]);
    let (pa, pb) = (a.as_ptr().cast::<u8>(), b.as_ptr().cast());
    // Few rows at a time are a small product, which is made by blocks.
    let few = (64 * 64 * 64 / (k * n)).max(1);
    for first in (0..m).step_by(few) {
        let (rows, size) = (few.min(m - first), size_of::<T>());
        let out = due[first * n..].as_mut_ptr().cast();
        // SAFETY: rows of these buffers.
        unsafe { matmul(T::DTYPE, rows, k, n, pa.add(first * k * size), false, pb, false, out) };
    }
    // SAFETY: buffers of these dimensions.
    let right = unsafe { Right::pack(T::DTYPE, k, n, stored.as_ptr().cast(), transposed).unwrap() };
    assert_eq!(right.sizes(), (T::DTYPE, k, n));
    for step in [1, 5, 14, 33, m] {
        out.fill(T::of(7));
        for first in (0..m).step_by(step) {
            let (rows, size) = (step.min(m - first), size_of::<T>());
            // SAFETY: rows of these buffers.
            unsafe {
                let out = out.as_mut_ptr().add(first * (n + 3));
                right.multiply(rows, pa.add(first * k * size), k, out.cast(), n + 3);
            }
        }
        for (row, due) in out.chunks(n + 3).zip(due.chunks(n)) {
            assert_eq!((&row[..n], &row[n..]), (due, &[T::of(7); 3][..]), "{} {m} {k} {n} {step}", T::DTYPE);
        }
    }
    for rows in [0, 1, 5, m] {
        out.fill(T::of(7));
        // SAFETY: rows of these buffers.
        unsafe { right.product(rows, pa, out.as_mut_ptr().cast()) };
        assert_eq!((&out[..rows * n], out[rows * n]), (&due[..rows * n], T::of(7)), "{} {rows} {k} {n}", T::DTYPE);
    }
}

#[test]
fn rows_by_a_packed_matrix_are_those_of_products_by_blocks_bit_for_bit() {
    pool::set_threads(3);
    for (m, k, n) in [(70, 1, 1), (66, 300, 33), (90, 600, 48), (100, 530, 130), (65, 600, 16), (20, 9, 4200)] {
        for transposed in [false, true] {
            check_packed::<f32>(m, k, n, transposed);
            check_packed::<f64>(m, k, n, transposed);
            check_packed::<f16>(m, k, n, transposed);
            check_packed::<bf16>(m, k, n, transposed);
        }
    }
}

#[test]
fn packed_matrices_without_rows_give_zeros() {
    // SAFETY: nothing is read.
    let right = unsafe { Right::pack(DType::F32, 0, 3, std::ptr::NonNull::dangling().as_ptr(), false).unwrap() };
    let mut out = [1f32; 8];
    // SAFETY: two rows of three elements, four elements apart.
    unsafe { right.multiply(2, std::ptr::NonNull::dangling().as_ptr(), 0, out.as_mut_ptr().cast(), 4) };
    assert_eq!(out, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
}

fn check_threads<T: Number + std::ops::Div<Output = T>>(m: usize, k: usize, n: usize) {
    let (a, b) = (fractions::<T>(m * k, 1), fractions::<T>(k * n, 2));
    for (a_trans, b_trans) in [(false, false), (false, true), (true, false), (true, true)] {
        let results = [1, 2, 5].map(|threads| {
            pool::set_threads(threads);
            let mut out = vec![T::of(7); m * n];
            let (pa, pb) = (a.as_ptr().cast(), b.as_ptr().cast());
            // SAFETY: buffers of these dimensions.
            unsafe { matmul(T::DTYPE, m, k, n, pa, a_trans, pb, b_trans, out.as_mut_ptr().cast()) };
            out
        });
        assert!(results.iter().all(|r| *r == results[0]), "{} {m} {k} {n} {a_trans} {b_trans}", T::DTYPE);
    }
}

#[test]
fn products_by_blocks_do_not_depend_on_the_number_of_threads() {
    check_threads::<f16>(300, 700, 90);
    check_threads::<bf16>(600, 300, 5);
    // Each thread packs the right matrix for itself, or all pack one that is large, or of which each has few rows.
    for (m, k, n) in [
        (500, 300, 64),
        (333, 270, 45),
        (90, 1100, 1000),
        (70, 600, 500),
        (1030, 30, 1024),
        (12, 512, 1024),
        (1, 700, 5000),
        (3, 700, 1500),
    ] {
        check_threads::<f32>(m, k, n);
        check_threads::<f64>(m, k, n);
    }
}

#[test]
fn products_of_any_sizes_agree_with_the_model() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 0..120 {
        pool::set_threads(1 + round % 4);
        let mut draw = |n: usize| drawn(&mut state, n);
        let mut size = |most: usize| match draw(4) {
            0 => 1 + draw(8),
            1 => 64 << draw(2),
            _ => 1 + draw(most),
        };
        let (m, k, n) = (size(400), size(600), size(300));
        let (a_trans, b_trans) = (draw(2) == 0, draw(2) == 0);
        check_product::<f32>(m, k, n, a_trans, b_trans);
        check_product::<f64>(m, k, n, a_trans, b_trans);
        check_product::<bf16>(m, k, n, a_trans, b_trans);
    }
}

/// Each product of the trilinear form, as indices of input, filter and output.
fn terms(g: &Geometry, mut f: impl FnMut(usize, usize, usize)) {
    let [a, b, c] = &g.axes;
    let inside = |axis: &Axis, o: usize, w: usize| {
        (o * axis.stride + w * axis.dilation).checked_sub(axis.before).filter(|&i| i < axis.input)
    };
    let (ins, outs) = (g.in_channels, g.out_channels);
    for n in 0..g.batch {
        for y in 0..a.output * b.output * c.output {
            for w in 0..a.window * b.window * c.window {
                let (yc, yb, ya) = (y % c.output, y / c.output % b.output, y / (c.output * b.output));
                let (wc, wb, wa) = (w % c.window, w / c.window % b.window, w / (c.window * b.window));
                let x = inside(a, ya, wa).zip(inside(b, yb, wb)).zip(inside(c, yc, wc));
                let Some(((xa, xb), xc)) = x else { continue };
                let x = ((n * a.input + xa) * b.input + xb) * c.input + xc;
                let y = n * a.output * b.output * c.output + y;
                for group in 0..g.groups {
                    for i in 0..ins {
                        for o in 0..outs {
                            let (x, y) = (x * g.groups * ins + group * ins + i, y * g.groups * outs + group * outs + o);
                            f(x, (w * ins + i) * g.groups * outs + group * outs + o, y);
                        }
                    }
                }
            }
        }
    }
}

fn check_convolution<T: Number>(g: &Geometry) {
    let size = |of: fn(&Axis) -> usize| g.axes.iter().map(of).product::<usize>();
    let inputs = g.batch * size(|a| a.input) * g.groups * g.in_channels;
    let filters = size(|a| a.window) * g.in_channels * g.groups * g.out_channels;
    let outputs = g.batch * size(|a| a.output) * g.groups * g.out_channels;
    let (x, w, y) = (whole(inputs, 5), whole(filters, 6), whole(outputs, 7));
    let (mut due_y, mut due_x, mut due_w) = (vec![0; outputs], vec![0; inputs], vec![0; filters]);
    terms(g, |i, f, o| {
        due_y[o] += x[i] * w[f];
        due_x[i] += w[f] * y[o];
        due_w[f] += x[i] * y[o];
    });
    let (x, w, y) = (numbers::<T>(&x), numbers::<T>(&w), numbers::<T>(&y));
    let (px, pw, py) = (x.as_ptr().cast(), w.as_ptr().cast(), y.as_ptr().cast());
    let (mut to_x, mut to_w, mut to_y) = (x.clone(), w.clone(), y.clone());
    // SAFETY: buffers of the sizes of the geometry.
    unsafe {
        conv(T::DTYPE, g, px, pw, to_y.as_mut_ptr().cast());
        conv_input_grad(T::DTYPE, g, pw, py, to_x.as_mut_ptr().cast());
        conv_filter_grad(T::DTYPE, g, px, py, to_w.as_mut_ptr().cast());
    }
    assert_eq!(to_y, numbers::<T>(&due_y), "the result of {g:?}");
    assert_eq!(to_x, numbers::<T>(&due_x), "the cotangent of the input of {g:?}");
    assert_eq!(to_w, numbers::<T>(&due_w), "the cotangent of the filter of {g:?}");
}

fn axis(input: usize, window: usize, stride: usize, dilation: usize, before: usize) -> Axis {
    let reach = (window - 1) * dilation + 1;
    // As many zeros behind as before.
    let output = (input + 2 * before).checked_sub(reach).map_or(0, |room| room / stride + 1);
    Axis { input, window, output, stride, dilation, before }
}

#[test]
fn convolutions_of_several_blocks_agree_with_the_model() {
    pool::set_threads(3);
    let cases = [
        // Lines, of which some are shorter than a tile and some are longer than a band.
        (2, [Axis::NONE, Axis::NONE, axis(300, 5, 2, 3, 4)], 1, 40, 33),
        (1, [Axis::NONE, Axis::NONE, axis(6000, 3, 1, 1, 1)], 1, 64, 3),
        // Images: of some bands, without and with zeros around, of groups, and with a stride beyond the window.
        (2, [Axis::NONE, axis(30, 3, 1, 1, 1), axis(50, 3, 1, 1, 1)], 1, 60, 35),
        (1, [Axis::NONE, axis(20, 3, 1, 1, 0), axis(33, 2, 1, 1, 0)], 1, 17, 70),
        (2, [Axis::NONE, axis(12, 3, 2, 1, 1), axis(15, 3, 2, 2, 2)], 3, 5, 7),
        (1, [Axis::NONE, axis(20, 2, 3, 1, 0), axis(21, 2, 3, 1, 1)], 2, 6, 9),
        (1, [Axis::NONE, axis(9, 1, 1, 1, 0), axis(9, 1, 1, 1, 0)], 2, 8, 8),
        // Channels of which some are beyond the last whole vector.
        (2, [Axis::NONE, axis(9, 3, 1, 2, 2), axis(20, 3, 2, 2, 1)], 2, 50, 36),
        (1, [axis(4, 2, 1, 1, 0), axis(6, 1, 1, 1, 0), axis(30, 4, 1, 1, 0)], 1, 70, 41),
        // Channels of more than a panel.
        (1, [Axis::NONE, axis(5, 3, 1, 1, 1), axis(6, 3, 1, 1, 1)], 1, 300, 40),
        (3, [axis(5, 2, 1, 2, 1), axis(6, 3, 1, 1, 1), axis(7, 2, 2, 1, 0)], 2, 3, 4),
    ];
    for (batch, axes, groups, in_channels, out_channels) in cases {
        let g = Geometry { batch, axes, groups, in_channels, out_channels };
        check_convolution::<f32>(&g);
        check_convolution::<f64>(&g);
        check_convolution::<bf16>(&g);
    }
}

/// A generator of numbers below others: the same in every run.
fn drawn(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize % below
}

#[test]
fn convolutions_of_any_sizes_agree_with_the_model() {
    pool::set_threads(3);
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..80 {
        let mut draw = |n: usize| drawn(&mut state, n);
        let mut line = |most: usize| axis(1 + draw(most), 1 + draw(4), 1 + draw(5), 1 + draw(3), draw(4));
        let axes = [line(4), line(12), line(30)];
        let axes = if draw(3) > 0 { [Axis::NONE, axes[1], axes[2]] } else { axes };
        let channels = [1, 2, 3, 8, 16, 17, 33];
        let (groups, in_channels, out_channels) = (1 + draw(4) / 3, channels[draw(7)], channels[draw(7)]);
        let g = Geometry { batch: 1 + draw(3), axes, groups, in_channels, out_channels };
        check_convolution::<f32>(&g);
        check_convolution::<bf16>(&g);
    }
}

#[test]
fn convolutions_of_channels_with_filters_of_their_own_agree_with_the_model() {
    pool::set_threads(3);
    let none = Axis::NONE;
    let mut cases = vec![
        // Lines longer and shorter than a tile, without and with zeros around; channels below, of and beyond whole vectors.
        (1, [none, none, axis(5000, 3, 1, 1, 1)], 16, 1),
        (2, [none, axis(12, 5, 1, 1, 2), axis(20, 5, 1, 1, 2)], 40, 1),
        (1, [none, axis(6, 5, 1, 1, 2), axis(10, 5, 1, 1, 2)], 200, 1),
        (1, [none, axis(15, 3, 2, 1, 1), axis(31, 3, 2, 1, 1)], 7, 1),
        (1, [none, axis(7, 2, 3, 1, 0), axis(8, 2, 3, 1, 0)], 17, 1),
        // A window larger than the image, and several filters a channel.
        (1, [none, axis(2, 5, 1, 1, 2), axis(3, 7, 1, 1, 3)], 33, 1),
        (2, [none, axis(6, 3, 1, 1, 1), axis(7, 3, 2, 1, 1)], 6, 3),
        (1, [axis(4, 3, 1, 1, 1), axis(5, 3, 2, 1, 1), axis(9, 3, 1, 2, 2)], 18, 1),
    ];
    let mut state = 0x2545_f491_4f6c_dd1d;
    for _ in 0..60 {
        let mut draw = |n: usize| drawn(&mut state, n);
        let mut line = || axis(1 + draw(30), 1 + draw(5), 1 + draw(3), 1 + draw(2), draw(4));
        let axes = [none, line(), line()];
        cases.push((1 + draw(2), axes, 2 + draw(60), 1 + draw(5) / 4));
    }
    for (batch, axes, groups, out_channels) in cases {
        let g = Geometry { batch, axes, groups, in_channels: 1, out_channels };
        check_convolution::<f32>(&g);
        check_convolution::<f64>(&g);
        check_convolution::<bf16>(&g);
    }
}
