//! Results whose size depends on the values: places of what is not zero, distinct elements, counts, sorted segments.

use penstock_data::{Class, DType, DTypeSet, Tensor};
use penstock_filetests::same_tensor;
use penstock_ir::{Attr, Attrs, OpDef};

use super::{Numbers, agree, attributes, cast, complex, host, stays, wished};
use crate::common::op;
use crate::gpu;

/// Elements below, at and above the sizes of warps and tiles, and many of both.
const SIZES: [usize; 10] = [1, 2, 31, 33, 1023, 1024, 1025, 2049, 5000, 40_003];

/// Whole numbers between -4 and 4, with NaN, both zeros and infinities among the first where the dtype has them.
fn whole(numbers: &mut Numbers, dtype: DType, dims: &[usize]) -> Tensor {
    let count = dims.iter().product();
    let mut values: Vec<f64> = (0..count).map(|_| numbers.below(9) as f64 - 4.0).collect();
    if !dtype.is_integer() && dtype != DType::Bool {
        let edges = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NAN, f64::NEG_INFINITY, -0.0, 3.0];
        values.iter_mut().skip(1).step_by(3).zip(edges).for_each(|(value, edge)| *value = edge);
    }
    cast(&Tensor::from_slice(dims, &values).expect("memory"), dtype)
}

/// A tensor that the device has computed, and of which the host has no copy.
fn computed(x: &Tensor) -> Tensor {
    let neg = |x: &Tensor| host(op("neg"), &[x], &Attrs::EMPTY).expect("a result").remove(0);
    wished(|| neg(&neg(x)))
}

/// Fails where the device gives something else of operands that it has computed itself.
#[track_caller]
fn agree_far(op: &'static OpDef, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = attributes(op, attrs);
    let there: Vec<Tensor> = inputs.iter().map(|t| if t.rank() > 0 { computed(t) } else { (*t).clone() }).collect();
    let got = wished(|| host(op, &there.iter().collect::<Vec<_>>(), &attrs));
    match (got, host(op, inputs, &attrs)) {
        (Ok(got), Ok(due)) => {
            for (got, due) in got.iter().zip(&due) {
                assert!(same_tensor(&got.on_host().expect("a copy"), due), "{} of {inputs:?}", op.name);
            }
        }
        (got, due) => assert_eq!(got.err().map(|e| e.to_string()), due.err().map(|e| e.to_string())),
    }
}

#[test]
fn places_of_what_is_not_zero_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(51);
    for (i, n) in SIZES.into_iter().enumerate() {
        for dtype in [DTypeSet::PLAIN.iter().nth(i).expect("a dtype"), DType::Bool, DType::F32] {
            agree(op("where_indices"), &[&whole(&mut numbers, dtype, &[n])], &[]);
        }
    }
    for dims in [&[3, 50, 7][..], &[2, 2, 2, 2, 300], &[4000, 1], &[0], &[5, 0], &[]] {
        for dtype in [DType::F32, DType::I8, DType::C128, DType::F16] {
            agree(op("where_indices"), &[&whole(&mut numbers, dtype, dims)], &[]);
        }
    }
    // All, and none.
    for value in [0.0f32, 1.0] {
        agree(op("where_indices"), &[&Tensor::vector(&vec![value; 3000])], &[]);
    }
    agree_far(op("where_indices"), &[&whole(&mut numbers, DType::F32, &[60, 50])], &[]);
    assert!(stays(op("where_indices"), &Tensor::vector(&[1.0f32; 100]), &[]));
}

#[test]
fn distinct_elements_come_in_the_order_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(52);
    for (i, n) in SIZES.into_iter().enumerate() {
        let others = [DType::F64, DType::I8, DType::U16, DType::I64, DType::F16, DType::U64, DType::Bf16, DType::I32];
        for dtype in [DType::F32, others[i % 8]] {
            let positions = [("dtype", Attr::from([DType::I32, DType::I64][i % 2]))];
            agree(op("unique"), &[&whole(&mut numbers, dtype, &[n])], &positions);
        }
        // Many kinds.
        agree(op("unique"), &[&numbers.tensor(DType::F32, &[n])], &[]);
    }
    for dtype in [DType::Bool, DType::C64, DType::F32] {
        agree(op("unique"), &[&whole(&mut numbers, dtype, &[100])], &[]);
        agree(op("unique"), &[&whole(&mut numbers, dtype, &[0])], &[]);
    }
    // All alike, none alike, and nothing but what is equal to nothing.
    agree(op("unique"), &[&Tensor::vector(&[7i32; 3000])], &[]);
    agree(op("unique"), &[&Tensor::vector(&(0..3000i64).rev().collect::<Vec<_>>())], &[]);
    agree(op("unique"), &[&Tensor::vector(&[f32::NAN; 2500])], &[]);
    agree_far(op("unique"), &[&whole(&mut numbers, DType::F32, &[3000])], &[]);
    assert!(stays(op("unique"), &Tensor::vector(&[1.0f32; 100]), &[]));
}

#[test]
fn counts_of_integers_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(53);
    let scalar = |v: i64| Tensor::from(v);
    for (i, n) in SIZES.into_iter().enumerate() {
        let dtype = DTypeSet::INTEGER.iter().nth(i % 8).expect("a dtype");
        let values: Vec<i64> = (0..n).map(|_| numbers.below(100) as i64).collect();
        let x = cast(&Tensor::vector(&values), dtype);
        for (least, most) in [(0, -1), (120, -1), (0, 50), (7, 0)] {
            agree(op("bincount"), &[&x, &scalar(least), &scalar(most)], &[]);
        }
        if n < 6000 {
            let rows = x.reshaped(&[1, n]).expect("a row");
            let rows = host(op("concat"), &[&rows, &rows], &attributes(op("concat"), &[("axis", 0i64.into())]));
            let rows = rows.expect("rows").remove(0);
            agree(op("bincount"), &[&rows, &scalar(0), &scalar(-1)], &[("rows", true.into())]);
        }
    }
    let none = Tensor::zeros(DType::I32, &[0]).expect("memory");
    agree(op("bincount"), &[&none, &scalar(3), &scalar(-1)], &[]);
    let greatest = cast(&Tensor::vector(&vec![u64::MAX; 3000]), DType::U64);
    agree_far(op("bincount"), &[&greatest, &scalar(0), &scalar(5)], &[]);
    for wrong in [-1i32, 3] {
        let mut values = vec![2i32; 5000];
        values[4000] = wrong;
        agree_far(op("bincount"), &[&Tensor::vector(&values), &scalar(0), &scalar(-1)], &[]);
    }
}

#[test]
fn rows_in_sorted_segments_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(54);
    let names = ["segment_sum", "segment_mean", "segment_max", "segment_min", "segment_prod"];
    for (i, n) in SIZES.into_iter().enumerate() {
        // Segments of none, of one, of a few and of many elements.
        let mut ids: Vec<i64> = (0..n).map(|_| numbers.below(6) as i64 * 2).collect();
        ids.sort_unstable();
        let few: Vec<i64> = (0..n).map(|at| (at / 9 + at / 20 * 2) as i64).collect();
        for (k, ids) in [ids, few, vec![0; n]].into_iter().enumerate() {
            let ids = cast(&Tensor::vector(&ids), [DType::I32, DType::I64][(i + k) % 2]);
            let others = [DType::F64, DType::F16, DType::I32, DType::U8, DType::Bf16, DType::I64];
            for (dtype, row) in
                [(DType::F32, &[][..]), (others[(i + k) % 6], &[]), (DType::F32, &[3]), (DType::F32, &[2, 5])]
            {
                let dims = [&[n], row].concat();
                let x = numbers.tensor(dtype, &dims);
                agree(op(names[(i + k) % 5]), &[&x, &ids], &[]);
                agree(op(names[0]), &[&x, &ids], &[]);
            }
            let z = complex(&mut numbers, [DType::C64, DType::C128][k % 2], &[n]);
            agree(op(["segment_sum", "segment_mean", "segment_prod"][i % 3]), &[&z, &ids], &[]);
        }
    }
    let x = whole(&mut numbers, DType::F32, &[3000, 2]);
    let ids: Vec<i32> = (0..3000).map(|at| at / 7).collect();
    agree_far(op("segment_max"), &[&x, &Tensor::vector(&ids)], &[]);
    agree_far(op("segment_sum"), &[&whole(&mut numbers, DType::F32, &[3000]), &Tensor::vector(&ids)], &[]);
    // What is wrong with ids is told as the host tells it.
    for (at, wrong) in [(0, -1), (1500, 3), (2999, 0)] {
        let mut ids = ids.clone();
        ids[at] = wrong;
        agree_far(op("segment_sum"), &[&x, &Tensor::vector(&ids)], &[]);
    }
    let short = Tensor::vector(&ids[..5]);
    let got = wished(|| host(op("segment_sum"), &[&x, &short], &Attrs::EMPTY));
    assert_eq!(got.err().map(|e| e.class()), Some(Class::InvalidArgument));
}
