//! Updates of rows and boxes, sums of lists, parts.

use penstock_data::{DType, Tensor};
use penstock_ir::Attr;

use super::{Numbers, agree, cast, complex};
use crate::common::{mock, op};
use crate::gpu;

const DTYPES: [DType; 7] = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::I32, DType::I8, DType::U64];

/// The tensor with NaN, infinities and both zeros among its first elements, where its dtype has them.
fn with_edges(x: &Tensor) -> Tensor {
    if x.dtype().is_integer() || x.is_empty() {
        return x.clone();
    }
    let mut values = cast(x, DType::F64).as_slice::<f64>().to_vec();
    let edges = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0];
    values.iter_mut().zip(edges).for_each(|(value, edge)| *value = edge);
    cast(&Tensor::from_slice(x.dims(), &values).expect("memory"), x.dtype())
}

#[test]
fn rows_that_others_are_combined_into_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(31);
    let sizes: [(&[usize], usize, usize); 6] =
        [(&[7, 40], 1, 9), (&[3, 5, 33], 2, 50), (&[31, 5], 2, 5000), (&[1], 1, 1), (&[1], 1, 4100), (&[4, 3], 1, 0)];
    for (dims, depth, count) in sizes {
        // Many indices are sorted by the device, whatever the dtype of the rows.
        for &dtype in &DTYPES[..if count > 1000 { 1 } else { DTYPES.len() }] {
            let named: Vec<i32> =
                (0..count).flat_map(|_| dims[..depth].to_vec()).map(|n| numbers.below(n) as i32).collect();
            let indices = Tensor::from_slice(&[count, depth], &named).expect("memory");
            let slices = [&[count], &dims[depth..]].concat();
            let (x, updates) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, &slices));
            let (x, updates) = (with_edges(&x), with_edges(&updates));
            for name in ["update", "add", "sub", "min", "max"] {
                agree(op(&format!("tensor_scatter_nd_{name}")), &[&x, &indices, &updates], &[]);
            }
            let wrong = Tensor::from_slice(&[1, 1], &[dims[0] as i64]).expect("memory");
            let slice = numbers.tensor(dtype, &[&[1], &dims[1..]].concat());
            agree(op("tensor_scatter_nd_add"), &[&x, &wrong, &slice], &[]);
            if depth == 1 {
                let rows = cast(&indices.reshaped(&[count]).expect("a vector"), DType::I64);
                agree(op("gather_accumulate"), &[&x, &rows, &updates], &[]);
            }
        }
    }
    // Bytes alone are moved, of any size.
    for dtype in [DType::Bool, DType::C64, DType::C128] {
        let x = numbers.tensor(dtype, &[6, 5]);
        let indices = Tensor::from_slice(&[4, 1], &[5i32, 0, 5, 2]).expect("memory");
        let updates = numbers.tensor(dtype, &[4, 5]);
        agree(op("tensor_scatter_nd_update"), &[&x, &indices, &updates], &[]);
    }
    for dtype in [DType::C64, DType::C128] {
        let rows = Tensor::from_slice(&[300, 1], &(0..300).map(|i| i * i % 7).collect::<Vec<i32>>()).expect("memory");
        let (x, updates) = (complex(&mut numbers, dtype, &[9, 5]), complex(&mut numbers, dtype, &[300, 5]));
        for name in ["update", "add", "sub"] {
            agree(op(&format!("tensor_scatter_nd_{name}")), &[&x, &rows, &updates], &[]);
        }
        let rows = rows.reshaped(&[300]).expect("a vector");
        agree(op("unsorted_segment_sum"), &[&updates, &rows, &Tensor::from(7i32)], &[]);
        agree(op("add_n"), &[&updates, &updates, &updates], &[]);
    }
    let (x, columns) = (numbers.tensor(DType::F32, &[30, 20]), Tensor::vector(&[3i32, 0, 3, 19]));
    let dy = numbers.tensor(DType::F32, &[30, 4]);
    agree(op("gather_accumulate"), &[&x, &columns, &dy], &[("axis", 1i64.into())]);
}

#[test]
fn boxes_that_are_added_to_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(32);
    let ints = |values: &[i32]| Tensor::vector(values);
    for dtype in DTYPES {
        let x = with_edges(&numbers.tensor(dtype, &[30, 41]));
        let dy = with_edges(&numbers.tensor(dtype, &[10, 14]));
        let box_of = [ints(&[1, 40]), ints(&[30, -42]), ints(&[3, -3])];
        agree(op("strided_slice_accumulate"), &[&x, &box_of[0], &box_of[1], &box_of[2], &dy], &[]);
        let none = numbers.tensor(dtype, &[0, 41]);
        agree(op("strided_slice_accumulate"), &[&x, &ints(&[3]), &ints(&[3]), &ints(&[1]), &none], &[]);
    }
}

#[test]
fn sums_of_lists_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(33);
    for dtype in DTYPES {
        for (count, dims) in [(1, &[1000][..]), (2, &[33, 65]), (7, &[4099]), (70, &[257]), (3, &[])] {
            let list: Vec<Tensor> = (0..count).map(|_| with_edges(&numbers.tensor(dtype, dims))).collect();
            agree(op("add_n"), &list.iter().collect::<Vec<_>>(), &[]);
        }
    }
}

#[test]
fn parts_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(34);
    for dtype in [DType::F32, DType::I8, DType::C128, DType::Bool] {
        let x = numbers.tensor(dtype, &[5, 6, 33]);
        for indices in [&[][..], &[-1], &[4, 0], &[2, -6], &[0, 5, 32], &[5], &[0, -7]] {
            let indices: Vec<Tensor> = indices.iter().map(|&i: &i32| Tensor::from(i)).collect();
            agree(op("part"), &std::iter::once(&x).chain(&indices).collect::<Vec<_>>(), &[]);
        }
    }
}

#[test]
fn products_of_bytes_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(35);
    for round in 0..8 {
        let [m, k, n] = std::array::from_fn(|_| 1 + numbers.below(90));
        let (signed, other) = ([DType::I8, DType::U8][round % 2], [DType::I8, DType::U8][round / 2 % 2]);
        let (ta, tb) = (round % 4 / 2 == 1, round / 4 == 1);
        let turned = |rows: usize, columns: usize, turned: bool| if turned { [columns, rows] } else { [rows, columns] };
        // All numbers that a byte has.
        let mut bytes = |dtype: DType, dims: [usize; 3]| {
            let values: Vec<i32> = (0..dims.iter().product()).map(|_| numbers.below(256) as i32).collect();
            cast(&Tensor::from_slice(&dims, &values).expect("memory"), dtype)
        };
        let ([a, b], [c, d]) = (turned(m, k, ta), turned(k, n, tb));
        let (x, y) = (bytes(signed, [3, a, b]), bytes(other, [1, c, d]));
        let attrs: [(&str, Attr); 2] = [("transpose_a", ta.into()), ("transpose_b", tb.into())];
        agree(op("matmul_int32"), &[&x, &y], &attrs);
    }
}

#[test]
fn a_product_of_signed_bytes_is_one_call_of_a_library_where_that_takes_its_sizes() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(36);
    let calls = || mock::get().map_or(0, |mock| mock.count("cublasLtMatmul"));
    // The batch dimensions, the sizes, and whether the library takes them.
    let cases: [(&[usize], &[usize], [usize; 3], bool); 7] = [
        (&[], &[], [5, 8, 12], true),
        (&[3], &[3], [1, 64, 4], true),
        (&[3], &[1], [33, 20, 40], true),
        (&[2, 3], &[2, 3], [7, 4, 8], true),
        (&[2, 1], &[1, 3], [7, 4, 8], false),
        (&[], &[], [8, 6, 8], false),
        (&[], &[], [8, 8, 6], false),
    ];
    for (batch_a, batch_b, [m, k, n], is_taken) in cases {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut bytes = |batch: &[usize], rows: usize, columns: usize, turned: bool| {
                let own = if turned { [columns, rows] } else { [rows, columns] };
                let dims = [batch, &own[..]].concat();
                let values: Vec<i32> = (0..dims.iter().product()).map(|_| numbers.below(256) as i32).collect();
                cast(&Tensor::from_slice(&dims, &values).expect("memory"), DType::I8)
            };
            let (x, y) = (bytes(batch_a, m, k, ta), bytes(batch_b, k, n, tb));
            let before = calls();
            agree(op("matmul_int32"), &[&x, &y], &[("transpose_a", ta.into()), ("transpose_b", tb.into())]);
            let due = u64::from(is_taken && mock::get().is_some());
            assert_eq!(calls() - before, due, "{batch_a:?} {batch_b:?} {m} {k} {n} {ta} {tb}");
        }
    }
}
