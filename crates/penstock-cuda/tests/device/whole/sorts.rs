//! Selections and searches.

use penstock_data::{DType, Tensor};
use penstock_ir::Attr;

use super::{Numbers, agree, attributes, cast, host};
use crate::common::op;
use crate::gpu;

/// Extents of rows along an axis: short ones, alone and side by side, and those that are sorted by digits.
const SORTED: [(&[usize], i64); 14] = [
    (&[0], 0),
    (&[1], 0),
    (&[31], 0),
    (&[32], 0),
    (&[33], 0),
    (&[300, 5], 1),
    (&[7, 40], 0),
    (&[3, 700, 4], 1),
    (&[2, 2047], 1),
    (&[3, 2049], 1),
    (&[4095], 0),
    (&[4096], 0),
    (&[4097, 2], 0),
    (&[100_003], 0),
];

/// Numbers of few values, among them the odd ones of floats.
fn repeated(numbers: &mut Numbers, dtype: DType, dims: &[usize]) -> Tensor {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -f64::NAN];
    let value = |n: u64| if n < 6 { odd[n as usize] } else { n as f64 - 40.0 };
    let values: Vec<f64> = (0..dims.iter().product()).map(|_| value(numbers.next() % 90)).collect();
    cast(&Tensor::from_slice(dims, &values).expect("memory"), dtype)
}

#[test]
fn rows_are_sorted_as_on_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(13);
    const DTYPES: [DType; 8] =
        [DType::F64, DType::I8, DType::F16, DType::U32, DType::I64, DType::Bf16, DType::U16, DType::I32];
    for (i, (dims, axis)) in SORTED.into_iter().enumerate() {
        // 64-bit keys of many elements take the emulation long.
        let other = if dims[0] > 10_000 { DType::I16 } else { DTYPES[i % 8] };
        for (d, dtype) in [DType::F32, other].into_iter().enumerate() {
            let x = if (i + d) % 3 == 0 { numbers.tensor(dtype, dims) } else { repeated(&mut numbers, dtype, dims) };
            let descending = (i + d) % 2 == 1;
            let attrs = [("axis", Attr::from(axis)), ("descending", descending.into())];
            if d == 0 || dims[0] <= 10_000 {
                agree(op("sort"), &[&x], &attrs);
            }
            let dtype = if i % 2 == 0 { DType::I32 } else { DType::I64 };
            agree(op("argsort"), &[&x], &[attrs[0].clone(), attrs[1].clone(), ("dtype", dtype.into())]);
            let n = *dims.last().expect("a row");
            for k in [0, 1, n / 3, n.min(20)] {
                if k <= n && (k < 2 || n < 10_000) {
                    agree(op("top_k"), &[&x, &Tensor::from(k as i64)], &[("dtype", dtype.into())]);
                }
            }
            for (axis, &n) in dims.iter().enumerate() {
                if n > 0 {
                    let attrs = [("axis", Attr::from(axis as i64)), ("dtype", dtype.into())];
                    agree(op("argmax"), &[&x], &attrs);
                    agree(op("argmin"), &[&x], &attrs);
                }
            }
        }
    }
}

#[test]
fn places_in_sorted_rows_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(16);
    for (i, (rows, n, count)) in [(1, 1, 33), (3, 4097, 40), (40, 31, 5), (2, 1000, 4096)].into_iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::I64, DType::U8] {
            let row = repeated(&mut numbers, dtype, &[rows, n]);
            let sorted = host(op("sort"), &[&row], &attributes(op("sort"), &[])).expect("rows").remove(0);
            let values = repeated(&mut numbers, dtype, &[rows, count]);
            let dtype = if i % 2 == 0 { DType::I32 } else { DType::I64 };
            for right in [false, true] {
                agree(op("searchsorted"), &[&sorted, &values], &[("right", right.into()), ("dtype", dtype.into())]);
            }
        }
    }
}
