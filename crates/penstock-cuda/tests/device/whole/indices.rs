//! Rows and elements by index, and rows in groups.

use penstock_data::{Class, DType, Tensor};
use penstock_exec::Device;
use penstock_filetests::same_tensor;
use penstock_ir::{Attr, Attrs};

use super::{Numbers, agree, attributes, cast, host, wished};
use crate::common::op;
use crate::gpu;

#[test]
fn rows_by_index_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(7);
    for dtype in [DType::F32, DType::I8, DType::F16, DType::I64, DType::C128] {
        let x = numbers.tensor(dtype, &[6, 11, 5]);
        let mut named = |n: usize, dims: &[usize]| {
            let values: Vec<i64> = (0..dims.iter().product()).map(|_| numbers.below(n) as i64).collect();
            Tensor::from_slice(dims, &values).expect("memory")
        };
        agree(op("gather"), &[&x, &named(6, &[40])], &[]);
        agree(op("gather"), &[&x, &cast(&named(11, &[3, 4]), DType::I32)], &[("axis", 1i64.into())]);
        agree(op("gather"), &[&x, &named(5, &[6, 9])], &[("axis", 2i64.into()), ("batch_dims", 1i64.into())]);
        agree(op("gather"), &[&x, &Tensor::vector(&[1i64, -1])], &[]);
        agree(op("gather"), &[&x, &Tensor::vector(&[1i64, -1, 6])], &[("drop_negative", true.into())]);
    }
}

#[test]
fn rows_in_segments_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(10);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I32, DType::U8] {
        let x = numbers.tensor(dtype, &[60, 3, 5]);
        let ids: Vec<i32> = (0..60).map(|_| numbers.below(9) as i32 - 1).collect();
        let (ids, n) = (Tensor::vector(&ids), Tensor::from(12i32));
        for name in ["unsorted_segment_sum", "unsorted_segment_mean", "unsorted_segment_prod", "unsorted_segment_max"] {
            agree(op(name), &[&x, &ids, &n], &[]);
        }
        agree(op("unsorted_segment_sum"), &[&x, &ids, &Tensor::from(3i32)], &[]);
        let mut named = |n: usize, dims: &[usize]| {
            let values: Vec<i64> = (0..dims.iter().product()).map(|_| numbers.below(n) as i64).collect();
            Tensor::from_slice(dims, &values).expect("memory")
        };
        let (rows, columns) = (named(20, &[60]), named(3, &[60, 4]));
        agree(op("gather_grad"), &[&Tensor::vector(&[20i64, 3, 5]), &rows, &x], &[]);
        let dy = host(op("gather"), &[&x, &columns], &attributes(op("gather"), &BATCHED)).expect("a result").remove(0);
        agree(op("gather_grad"), &[&Tensor::vector(&[60i64, 3, 5]), &columns, &dy], &BATCHED);
    }
}

#[test]
fn many_ids_are_sorted_into_segments_by_the_device() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(15);
    for (count, n) in [(4096, 9), (5001, 3000), (20_011, 1)] {
        for dtype in [DType::I32, DType::I64] {
            let x = numbers.tensor(DType::F32, &[count, 3]);
            let ids: Vec<i64> = (0..count).map(|_| numbers.below(n + 2) as i64 - 2).collect();
            let ids = cast(&Tensor::vector(&ids), dtype);
            for name in ["unsorted_segment_sum", "unsorted_segment_mean"] {
                agree(op(name), &[&x, &ids, &Tensor::from(n as i64)], &[]);
            }
            // Ids that the device has computed, and one of which is too great.
            let there = wished(|| host(op("neg"), &[&host(op("neg"), &[&ids], &Attrs::EMPTY)?[0]], &Attrs::EMPTY));
            let there = there.expect("ids").remove(0);
            for most in [n as i64, n as i64 - 1] {
                let (sum, most) = (op("unsorted_segment_sum"), Tensor::from(most));
                let got = wished(|| host(sum, &[&x, &there, &most], &Attrs::EMPTY));
                let due = host(sum, &[&x, &ids, &most], &Attrs::EMPTY);
                match (got, due) {
                    (Ok(got), Ok(due)) => assert!(same_tensor(&got[0].on_host().expect("a copy"), &due[0])),
                    (got, due) => assert_eq!(got.err().map(|e| e.class()), due.err().map(|e| e.class())),
                }
            }
            let rows: Vec<i64> = (0..count).map(|_| numbers.below(n) as i64).collect();
            agree(op("gather_grad"), &[&Tensor::vector(&[n as i64, 3]), &cast(&Tensor::vector(&rows), dtype), &x], &[]);
        }
    }
}

const BATCHED: [(&str, Attr); 2] = [("axis", Attr::Int(1)), ("batch_dims", Attr::Int(1))];

#[test]
fn elements_along_an_axis_and_their_sums_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(17);
    for (dims, k) in [(&[7usize, 40][..], 9usize), (&[3, 33], 50), (&[2, 5, 31], 4), (&[4100], 100)] {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I64, DType::U8] {
            let (n, mut by) = (*dims.last().expect("a row"), dims.to_vec());
            *by.last_mut().expect("a row") = k;
            let mut named: Vec<i64> = (0..by.iter().product()).map(|_| numbers.below(n) as i64).collect();
            let indices = Tensor::from_slice(&by, &named).expect("memory");
            let shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
            let (x, updates) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, &by));
            let attrs = [("axis", Attr::from(-1i64))];
            agree(op("take_along_axis"), &[&x, &indices], &attrs);
            agree(op("scatter_along_axis"), &[&Tensor::vector(&shape), &indices, &updates], &attrs);
            named[k / 2] = n as i64;
            let indices = Tensor::from_slice(&by, &named).expect("memory");
            agree(op("take_along_axis"), &[&x, &indices], &attrs);
            agree(op("scatter_along_axis"), &[&Tensor::vector(&shape), &indices, &updates], &attrs);
        }
    }
}

#[test]
fn slices_by_rows_of_indices_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(20);
    for (dims, depth, count) in [(&[7usize, 40][..], 1usize, 9usize), (&[3, 5, 33], 2, 50), (&[31, 5], 2, 5000)] {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I64, DType::U8] {
            let named: Vec<i32> =
                (0..count).flat_map(|_| dims[..depth].to_vec()).map(|n| numbers.below(n) as i32).collect();
            let indices = Tensor::from_slice(&[count, depth], &named).expect("memory");
            let slices = [&[count], &dims[depth..]].concat();
            let (x, updates) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, &slices));
            let shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
            agree(op("gather_nd"), &[&x, &indices], &[]);
            agree(op("scatter_nd"), &[&indices, &updates, &Tensor::vector(&shape)], &[]);
            let wrong = Tensor::from_slice(&[1, 1], &[dims[0] as i32]).expect("memory");
            agree(op("gather_nd"), &[&x, &wrong], &[]);
        }
    }
}

#[test]
fn indices_that_the_device_has_computed_are_checked() {
    if gpu().is_none() {
        return;
    }
    let x = Numbers(18).tensor(DType::F32, &[60, 5]);
    let there = gpu().expect("a GPU").upload(&Tensor::vector(&[3.0f32; 50])).expect("a copy");
    for (limit, fits) in [(50.0f32, true), (80.0, false)] {
        // Numbers of the device's own: they are not on the host as well.
        let wide = wished(|| host(op("mul"), &[&there, &Tensor::from(limit / 3.0)], &Attrs::EMPTY)).expect("numbers");
        let attrs = attributes(op("cast"), &[("dtype", DType::I32.into())]);
        let indices = host(op("cast"), &[&wide[0]], &attrs).expect("indices").remove(0);
        assert!(!indices.is_at_hand());
        let rows = host(op("gather"), &[&x, &indices], &attributes(op("gather"), &[]));
        assert_eq!(rows.as_ref().err().map(|e| e.class()), (!fits).then_some(Class::InvalidArgument));
        assert_eq!(indices.is_at_hand(), !fits);
    }
}
