//! Reductions, softmax and cross-entropies.

use penstock_data::{DType, Tensor};
use penstock_ir::{Attr, Attrs};

use super::{Numbers, agree, attributes, cast, complex, host};
use crate::common::op;
use crate::gpu;

const REDUCTIONS: [&str; 5] = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean"];

/// Runs shorter and longer than blocks and parts; rows in blocks and parts; several axes that are not neighbours.
const REDUCED: [(&[usize], &[i64]); 16] = [
    (&[31], &[0]),
    (&[33], &[0]),
    (&[4097], &[0]),
    (&[65_537], &[0]),
    (&[200_003], &[0]),
    (&[3, 70_000], &[1]),
    (&[50, 7], &[1]),
    (&[5, 40, 9], &[1]),
    (&[100, 6], &[0]),
    (&[1, 63, 5], &[1]),
    (&[9000, 12], &[0]),
    (&[130, 1030], &[0]),
    (&[6, 40, 3, 50], &[1, 3]),
    (&[4, 6, 70, 3], &[0, 2]),
    (&[3, 2, 5, 4, 40], &[0, 2, 4]),
    (&[1, 40, 1], &[0, 2]),
];

#[test]
fn reductions_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(1);
    const DTYPES: [DType; 7] = [DType::F64, DType::F16, DType::Bf16, DType::I32, DType::I8, DType::U16, DType::I64];
    for (i, (dims, axes)) in REDUCED.into_iter().enumerate() {
        // Each reduction and dtype is a kernel of its own to compile, so that each shape gets some.
        let axes: Attr = axes.to_vec().into();
        let x = numbers.tensor(DType::F32, dims);
        for name in [REDUCTIONS[0], REDUCTIONS[1 + i % 4]] {
            agree(op(name), &[&x], &[("axes", axes.clone())]);
        }
        let other = numbers.tensor(DTYPES[i % 7], dims);
        agree(op(REDUCTIONS[i / 2 % 5]), &[&other], &[("axes", axes.clone())]);
        let flags = cast(&numbers.tensor(DType::I8, dims), DType::Bool);
        let name = if i % 2 == 0 { "reduce_any" } else { "reduce_all" };
        agree(op(name), &[&flags], &[("axes", axes), ("keepdims", true.into())]);
    }
}

#[test]
fn counts_of_what_is_not_zero_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(41);
    for (i, (dims, axes)) in REDUCED.into_iter().enumerate() {
        let dtype = [DType::F32, DType::Bool, DType::F16, DType::I64, DType::U8, DType::Bf16, DType::F64][i % 7];
        // Whole numbers, of which many are 0, or -0; and NaN.
        let whole = host(op("round"), &[&numbers.tensor(DType::F64, dims)], &Attrs::EMPTY).expect("numbers").remove(0);
        let mut values = whole.as_slice::<f64>().to_vec();
        values[0] = f64::NAN;
        let x = cast(&Tensor::from_slice(dims, &values).expect("memory"), dtype);
        agree(op("count_nonzero"), &[&x], &[("axes", axes.to_vec().into()), ("keepdims", (i % 2 == 0).into())]);
        agree(op("count_nonzero"), &[&x], &[]);
    }
    for dims in [&[0][..], &[3, 0], &[1], &[]] {
        agree(op("count_nonzero"), &[&Tensor::zeros(DType::F32, dims).expect("memory")], &[]);
    }
}

#[test]
fn reductions_of_complex_numbers_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(42);
    for (i, (dims, axes)) in REDUCED.into_iter().enumerate() {
        let x = complex(&mut numbers, [DType::C64, DType::C128][i % 2], dims);
        for name in ["reduce_sum", ["reduce_mean", "reduce_prod"][i / 2 % 2]] {
            agree(op(name), &[&x], &[("axes", axes.to_vec().into())]);
        }
        agree(op("count_nonzero"), &[&x], &[("axes", axes.to_vec().into())]);
    }
    // Columns in hundreds of parts.
    let x = complex(&mut numbers, DType::C128, &[64 * 70 + 5, 1028]);
    agree(op("reduce_sum"), &[&x], &[("axes", vec![0i64].into())]);
}

#[test]
fn sums_of_columns_in_hundreds_of_parts_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    // 16-bit floats are added up in single precision, so that the order shows.
    let x = Numbers(12).tensor(DType::F16, &[64 * 230 + 5, 1028]);
    agree(op("reduce_sum"), &[&x], &[("axes", vec![0i64].into())]);
}

#[test]
fn extremes_and_sums_of_odd_floats_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, f32::MIN_POSITIVE, 1e-40];
    for &value in &odd {
        for &other in &odd {
            let mut values = vec![other; 40];
            values[17] = value;
            let x = Tensor::from_slice(&[2, 20], &values).expect("memory");
            for name in REDUCTIONS {
                agree(op(name), &[&x], &[("axes", vec![1i64].into())]);
                agree(op(name), &[&x], &[("axes", vec![0i64].into())]);
            }
        }
    }
}

#[test]
fn softmax_and_cross_entropies_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(6);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16] {
        for dims in [&[40, 10][..], &[3, 33], &[2, 1000], &[7, 4, 31], &[5, 1, 32], &[9, 1]] {
            let x = numbers.tensor(dtype, dims);
            for name in ["softmax", "log_softmax"] {
                agree(op(name), &[&x], &[]);
            }
            let labels = host(op("softmax"), &[&numbers.tensor(dtype, dims)], &attributes(op("softmax"), &[]));
            agree(op("softmax_cross_entropy"), &[&x, &labels.expect("labels")[0]], &[]);
            let (&classes, leading) = dims.split_last().expect("a rank");
            let classes: Vec<i32> = (0..leading.iter().product()).map(|_| numbers.below(classes) as i32).collect();
            let classes = Tensor::from_slice(leading, &classes).expect("memory");
            agree(op("sparse_softmax_cross_entropy"), &[&x, &classes], &[]);
            agree(op("sparse_softmax_cross_entropy"), &[&x, &cast(&classes, DType::I64)], &[]);
        }
    }
    let x = numbers.tensor(DType::F32, &[3, 20]);
    agree(op("sparse_softmax_cross_entropy"), &[&x, &Tensor::vector(&[0i32, 20, 3])], &[]);
}

#[test]
fn logarithms_of_sums_of_exponentials_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(19);
    let shapes: [(&[usize], &[i64]); 7] = [
        (&[31], &[0]),
        (&[5, 33], &[1]),
        (&[4, 33, 3], &[1]),
        (&[40, 70], &[0]),
        (&[3, 4, 5, 6], &[1, 3]),
        (&[2, 70_001], &[1]),
        (&[4097, 2], &[0, 1]),
    ];
    for (dims, axes) in shapes {
        for dtype in [DType::F32, DType::F64, DType::Bf16] {
            let attrs = [("axes", Attr::from(axes.to_vec()))];
            agree(op("reduce_logsumexp"), &[&numbers.tensor(dtype, dims)], &attrs);
        }
    }
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, 1e-40];
    let pairs = odd.iter().flat_map(|&value| odd.iter().map(move |&other| (value, other)));
    let rows: Vec<f32> =
        pairs.flat_map(|(value, other)| (0..40).map(move |i| if i == 17 { value } else { other })).collect();
    let x = Tensor::from_slice(&[odd.len() * odd.len(), 40], &rows).expect("memory");
    agree(op("reduce_logsumexp"), &[&x], &[("axes", vec![1i64].into())]);
    agree(op("reduce_logsumexp"), &[&x], &[("axes", vec![0i64].into())]);
}
