//! Products of matrices.

use penstock_data::{DType, Tensor};
use penstock_ir::Attrs;

use super::{Numbers, agree, attributes, cast, host, on_device};
use crate::common::op;
use crate::gpu;

/// How far sums of products may be apart: twice the bound of each side.
fn bound(a: &Tensor, b: &Tensor, attrs: &Attrs, dtype: DType) -> Tensor {
    let wide = |t: &Tensor| host(op("abs"), &[&cast(t, DType::F64)], &Attrs::EMPTY).expect("abs").remove(0);
    let sums = host(op("matmul"), &[&wide(a), &wide(b)], attrs).expect("a product").remove(0);
    let (eps, rounded) = match dtype {
        DType::F64 => (f64::EPSILON, 0.0),
        DType::F16 => (f64::from(f32::EPSILON), 1e-3),
        DType::Bf16 => (f64::from(f32::EPSILON), 8e-3),
        _ => (f64::from(f32::EPSILON), 0.0),
    };
    let k = *a.dims().last().expect("a matrix") as f64;
    let factor = Tensor::from(4.0 * k * eps + rounded);
    host(op("mul"), &[&sums, &factor], &Attrs::EMPTY).expect("a bound").remove(0)
}

#[test]
fn products_are_within_the_bound_of_the_host_s_and_of_integers_equal() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(4);
    let matmul = op("matmul");
    let batches: [(&[usize], &[usize]); 6] =
        [(&[], &[]), (&[3], &[3]), (&[2, 3], &[3]), (&[], &[4]), (&[2, 1], &[1, 3]), (&[5], &[])];
    for round in 0..48 {
        let dtype = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::I32, DType::U8][round % 6];
        let [m, k, n] = std::array::from_fn(|_| 1 + numbers.below(100));
        let (batch_a, batch_b) = batches[round / 6 % 6];
        let (ta, tb) = (round % 4 / 2 == 1, round % 2 == 1);
        let matrix = |batch: &[usize], rows: usize, columns: usize, transposed: bool| {
            let own = if transposed { [columns, rows] } else { [rows, columns] };
            [batch, &own[..]].concat()
        };
        let a = numbers.tensor(dtype, &matrix(batch_a, m, k, ta));
        let b = numbers.tensor(dtype, &matrix(batch_b, k, n, tb));
        let attrs = [("transpose_a", ta.into()), ("transpose_b", tb.into())];
        if dtype.is_integer() {
            agree(matmul, &[&a, &b], &attrs);
            continue;
        }
        let attrs = attributes(matmul, &attrs);
        let got = on_device(matmul, &[&a, &b], &attrs);
        let got = cast(&got.expect("a product")[0], DType::F64);
        let due = cast(&host(matmul, &[&a, &b], &attrs).expect("a product")[0], DType::F64);
        let bound = bound(&a, &b, &attrs, dtype);
        assert_eq!(got.dims(), due.dims());
        let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(bound.as_slice::<f64>());
        for (i, ((&got, &due), &most)) in all.enumerate() {
            assert!(
                (got - due).abs() <= most,
                "{dtype} [{m},{k},{n}] {batch_a:?} {batch_b:?} at {i}: {got}, not {due}"
            );
        }
    }
}
