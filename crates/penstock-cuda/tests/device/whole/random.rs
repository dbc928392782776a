//! Random numbers.

use penstock_data::{DType, Tensor};
use penstock_exec::{StdEnv, eager};
use penstock_filetests::same_tensor;

use super::{agree_where_it_matters, attributes, cast, wished};
use crate::common::op;
use crate::gpu;

/// Lengths around those of packs, warps, stretches and lines, and many.
const LENGTHS: [usize; 11] = [0, 1, 3, 31, 32, 33, 1024, 4095, 4096, 4097, 100_003];

#[test]
fn random_numbers_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let seeds = [Tensor::vector(&[7i32, -3]), Tensor::vector(&[-1i64, i64::MIN, 5])];
    for (i, n) in LENGTHS.into_iter().enumerate() {
        let shape = Tensor::vector(&[n as i64]);
        let seed = &seeds[i % 2];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16] {
            for name in ["stateless_random_uniform", "stateless_random_normal", "stateless_truncated_normal"] {
                agree_where_it_matters(op(name), &[&shape, seed], &[("dtype", dtype.into())]);
            }
        }
        for (dtype, low, high) in [
            (DType::I8, -100.0, 100.0),
            (DType::U8, 3.0, 17.0),
            (DType::I16, -30_000.0, 30_000.0),
            (DType::I32, -2e9, 2e9),
            (DType::I64, -9e18, 9e18),
            (DType::U64, 0.0, 1e10),
        ] {
            let [low, high] = [low, high].map(|v| cast(&Tensor::from(v), dtype));
            agree_where_it_matters(op("stateless_random_uniform_int"), &[&shape, seed, &low, &high], &[]);
        }
        for dtype in [DType::I32, DType::I64, DType::U32, DType::U64] {
            let name = "stateless_random_uniform_full_int";
            agree_where_it_matters(op(name), &[&shape, seed], &[("dtype", dtype.into())]);
        }
    }
}

/// As [`agree`], of operands that are all of the host, though the device is wished for.
#[track_caller]
#[test]
fn stretches_of_the_stateful_stream_go_on_where_the_host_left_off() {
    if gpu().is_none() {
        return;
    }
    let drawn = || -> Vec<Tensor> {
        let env = StdEnv::new(11);
        let shape = Tensor::vector(&[1001i32, 5]);
        ["random_uniform", "random_normal", "truncated_normal", "random_uniform"]
            .map(|name| {
                let made = eager(op(name), &[&shape], &attributes(op(name), &[]), &env).expect("numbers").remove(0);
                made.on_host().expect("a copy")
            })
            .into()
    };
    let (got, due) = (wished(drawn), drawn());
    assert!(got.iter().zip(&due).all(|(a, b)| same_tensor(a, b)));
}
