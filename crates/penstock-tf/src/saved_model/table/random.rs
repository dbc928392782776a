//! Random numbers. Those of operators with a seed of their own are other numbers of the same distribution than TensorFlow's
//! where it draws from a generator that the process has.

use penstock_data::DType as D;

use super::{Entry, From::*, made, one, op};

pub(super) static OPS: &[Entry] = &[
    op("RandomUniform", "random_uniform", &[("dtype", DType("dtype", D::F32))]),
    op("RandomStandardNormal", "random_normal", &[("dtype", DType("dtype", D::F32))]),
    op("TruncatedNormal", "truncated_normal", &[("dtype", DType("dtype", D::F32))]),
    op("RandomUniformInt", "random_uniform_int", &[]),
    op("StatelessRandomUniform", "stateless_random_uniform", &[("dtype", DType("dtype", D::F32))]),
    op("StatelessRandomNormal", "stateless_random_normal", &[("dtype", DType("dtype", D::F32))]),
    op("StatelessTruncatedNormal", "stateless_truncated_normal", &[("dtype", DType("dtype", D::F32))]),
    op("StatelessRandomUniformInt", "stateless_random_uniform_int", &[]),
    made("RandomShuffle", |cx, _| {
        let x = cx.tensor(0)?;
        let shape = cx.op("shape", &[x], &[])?;
        let zero = cx.constant(penstock_data::Tensor::from(0i32));
        let count = cx.op("gather", &[shape, zero], &[])?;
        let count = cx.op("expand_dims", &[count], &[("axis", 0i64.into())])?;
        let draws = cx.op("random_uniform", &[count], &[])?;
        let order = cx.op("argsort", &[draws], &[])?;
        one(cx.op("gather", &[x, order], &[])?)
    }),
];
