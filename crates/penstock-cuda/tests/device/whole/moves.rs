//! Copies, and elements by place.

use penstock_data::{DType, Tensor};
use penstock_ir::Attr;

use super::{Numbers, agree, agree_where_it_matters, cast};
use crate::common::op;
use crate::gpu;

#[test]
fn transpositions_of_every_order_reach_every_element() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(2);
    let orders: [&[i64]; 8] =
        [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0], &[1, 0, 2], &[2, 1, 0]];
    let extents: [[usize; 3]; 8] =
        [[3, 5, 7], [2, 33, 65], [70, 3, 4], [40, 3, 50], [1, 64, 32], [17, 20, 90], [33, 34, 8], [16, 1, 16]];
    for (perm, dims) in orders.into_iter().zip(extents) {
        for dtype in [DType::I8, DType::F16, DType::F32, DType::F64, DType::C128] {
            let x = numbers.tensor(dtype, &dims);
            agree(op("transpose"), &[&x], &[("perm", perm.to_vec().into())]);
        }
    }
}

#[test]
fn what_is_put_together_is_what_the_host_puts_together() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(3);
    let ints = |values: &[i32]| Tensor::vector(values);
    for round in 0..40 {
        let dtype = [DType::F32, DType::I8, DType::F16, DType::I64, DType::C128][round % 5];
        let dims: [usize; 3] = std::array::from_fn(|_| 1 + numbers.below(24));
        let (x, y) = (numbers.tensor(dtype, &dims), numbers.tensor(dtype, &dims));
        let axis = numbers.below(3) as i64;
        agree(op("concat"), &[&x, &y, &x], &[("axis", axis.into())]);
        agree(op("stack"), &[&x, &y], &[("axis", axis.into())]);
        agree(op("unstack"), &[&x], &[("axis", axis.into())]);
        let first = numbers.below(dims[axis as usize] + 1) as i64;
        agree(op("split"), &[&x], &[("sizes", vec![first, -1].into()), ("axis", axis.into())]);
        agree(op("reverse"), &[&x], &[("axes", vec![axis, (axis + 1) % 3].into())]);
        let pads = Tensor::from_slice(&[3, 2], &[0i32, 1, 2, 0, 4, 4]).expect("memory");
        let value = cast(&Tensor::from(3.0f64), dtype);
        agree(op("pad"), &[&x, &pads, &value], &[]);
        agree(op("tile"), &[&x, &ints(&[2, 1, 3])], &[]);
        let row = numbers.tensor(dtype, &[dims[1], 1]);
        let wide = [dims[0] as i32, dims[1] as i32, dims[2] as i32];
        agree(op("broadcast_to"), &[&row, &ints(&wide)], &[]);
        agree(op("fill"), &[&ints(&[50, 50]), &value], &[]);
        let (begin, end) = (ints(&[-1, 0, 1]), ints(&[-100, 100, 100]));
        agree(op("strided_slice"), &[&x, &begin, &end, &ints(&[-2, 1, 3])], &[]);
        agree(op("reshape"), &[&x, &ints(&[-1, dims[0] as i32])], &[]);
    }
}

#[test]
fn bands_diagonals_one_hot_rows_and_ranges_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(14);
    for round in 0..20 {
        let dtype = [DType::F32, DType::I8, DType::F16, DType::I64, DType::C128][round % 5];
        let dims: [usize; 3] = std::array::from_fn(|i| 1 + numbers.below([4, 40, 40][i]));
        let x = numbers.tensor(dtype, &dims);
        let lower = numbers.below(30) as i64 - 5;
        let attrs = [("lower", Attr::from(lower)), ("upper", Attr::from(numbers.below(30) as i64 - 5))];
        agree(op("matrix_band_part"), &[&x], &attrs);
        agree(op("matrix_diag_part"), &[&x], &[]);
        let diagonal = numbers.tensor(dtype, &[dims[0], dims[1].min(dims[2])]);
        agree(op("matrix_set_diag"), &[&x, &diagonal], &[]);
        let indices: Vec<i64> = (0..dims[0] * dims[1]).map(|_| numbers.below(30) as i64 - 3).collect();
        let indices = cast(
            &Tensor::from_slice(&dims[..2], &indices).expect("memory"),
            [DType::I32, DType::I64, DType::I8][round % 3],
        );
        let [on, off] = [1.5f64, -2.0].map(|v| cast(&Tensor::from(v), dtype));
        let axis = round as i64 % 4 - 1;
        agree(op("one_hot"), &[&indices, &Tensor::from(25i32), &on, &off], &[("axis", axis.min(2).into())]);
    }
    for (dtype, start, limit, step) in [
        (DType::F32, 0.1, 900.0, 0.3),
        (DType::F64, 5.0, -300.0, -0.1),
        (DType::F16, 0.0, 30.0, 0.01),
        (DType::Bf16, 1.0, 60.0, 0.02),
        (DType::I32, 0.0, 5000.0, 1.0),
        (DType::I64, 9e17, -9e17, -7e13),
        (DType::I16, -30_000.0, 30_000.0, 7.0),
    ] {
        let [start, limit, step] = [start, limit, step].map(|v| cast(&Tensor::from(v), dtype));
        agree_where_it_matters(op("range"), &[&start, &limit, &step], &[]);
    }
}
