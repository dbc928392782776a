//! Random numbers, by the counter-based generator Philox4x32-10.
//!
//! A number depends on the key, the counter and its position in the result: not on threads, devices or
//! how many are drawn at a time. The stateful operators take stretches of the counter from their host;
//! the stateless ones make key and counter of `seed`, as TensorFlow does: the two seed words fill the
//! counter of one block under a fixed key, and its words become the key and the upper half of the counter.
//! From there on the numbers are TensorFlow's too, normal ones up to the last bits of logarithms and sines.

#![expect(unsafe_code, reason = "calls of kernels on the memory of results, prepared for them")]

use penstock_data::{DType, DTypeSet, Dims, Error, Result, Shape, Tensor, num_elements};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Draw, Effect, Elements, Fails, Fold,
    InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg,
};
use penstock_kernels::random_shapes::{self, Shaped};
use penstock_kernels::{Philox, TRIES};
use smallvec::smallvec;

use crate::batch_rules;
use crate::binary::RANDOM_GAMMA_GRAD;
use crate::grad::rule;
use crate::operands::{described_shape, index_arg, int_vector, require_dtype, require_rank, sizes_of};
use crate::run::cast_into;
use crate::sample_arrays::{i32s, i64s};
use crate::samples::tensor;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &RANDOM_UNIFORM,
    &RANDOM_NORMAL,
    &TRUNCATED_NORMAL,
    &RANDOM_UNIFORM_INT,
    &STATELESS_RANDOM_UNIFORM,
    &STATELESS_RANDOM_NORMAL,
    &STATELESS_TRUNCATED_NORMAL,
    &STATELESS_RANDOM_UNIFORM_INT,
    &STATELESS_RANDOM_UNIFORM_FULL_INT,
    &STATELESS_RANDOM_GAMMA,
    &STATELESS_RANDOM_POISSON,
    &crate::binomial::STATELESS_RANDOM_BINOMIAL,
];

const DTYPE: &[AttrDef] = &[AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::F32))];
const ON_HOST: Cuda = Cuda::HostFallback("its numbers take loops of unknown length");
const STATEFUL: Fold = Fold::Never("it draws anew in each run");

/// The stream of a seed of two words, or of the three words of a generator's state: counter and key as they are.
pub(crate) fn seeded(seed: &Tensor) -> Result<Philox> {
    let words = int_vector(seed, "seed")?;
    let (a, b) = match *words.as_slice() {
        [a, b] => (a, b),
        [low, high, key] => return Ok(Philox::new(key as u64, u128::from(low as u64) | u128::from(high as u64) << 64)),
        _ => return Err(wrong_seed(words.len())),
    };
    // A seed of `i32` is sign-extended.
    let mix = Philox::new(0x0246_1e29_3ec8_f720, u128::from(a as u64) | u128::from(b as u64) << 64).block(0);
    let [key_low, key_high, low, high] = mix;
    Ok(Philox::new(u64::from(key_low) | u64::from(key_high) << 32, u128::from(low) << 64 | u128::from(high) << 96))
}

/// A distribution of floats.
#[derive(Clone, Copy)]
enum Floats {
    Uniform,
    Normal,
    TruncatedNormal,
}

impl Floats {
    /// The blocks of the stream that a group of numbers has.
    fn blocks(self) -> u64 {
        match self {
            Floats::Uniform | Floats::Normal => 1,
            Floats::TruncatedNormal => u64::from(TRIES),
        }
    }
}

/// Fills result 0, of a float dtype, from a stream.
fn fill_floats(call: &mut Call<'_>, kind: Floats, stream: Philox) -> Result<()> {
    let dims = sizes_of(call, 0, "shape")?;
    let draws = match kind {
        Floats::Uniform => Draw::Uniform,
        Floats::Normal => Draw::Normal,
        Floats::TruncatedNormal => Draw::TruncatedNormal,
    };
    fill(call, draws, stream, call.attrs.dtype(0), &dims)
}

/// Fills result 0 from a stream, which gives floats of a float dtype, and integers of one of integers.
fn fill(call: &mut Call<'_>, draws: Draw, stream: Philox, dtype: DType, dims: &[usize]) -> Result<()> {
    if let Some(device) = call.env.kernels() {
        // SAFETY: nothing is asked for of the arguments.
        if let Some(made) = unsafe { device.random(draws, stream, dtype, dims) }.map_err(|e| e.argument("shape"))? {
            call.set(0, made);
            return Ok(());
        }
    }
    let out = call.out(0, dtype, dims).map_err(|e| e.argument("shape"))?;
    let n = call.outputs[0].len();
    // SAFETY: `out` is a fresh array of `n` elements of `dtype`, which inference found to be a float, or an integer.
    unsafe {
        match draws {
            Draw::Uniform => stream.uniform(dtype, n, out),
            Draw::Normal => stream.normal(dtype, n, out),
            Draw::TruncatedNormal => stream.truncated_normal(dtype, n, out),
            Draw::Integers { low, high } => stream.uniform_int(dtype, low, high, n, out),
        }
    }
    Ok(())
}

/// A stretch of the stateful stream for the result that operand 0 describes, of `blocks` blocks for each group of numbers.
fn draw(call: &Call<'_>, dtype: DType, blocks: u64) -> Result<Philox> {
    let dims = sizes_of(call, 0, "shape")?;
    let n = num_elements(&dims).ok_or_else(|| {
        Error::exhausted(format!("a {} tensor of shape {dims:?} is too large to address", dtype.tf_name()))
            .argument("shape")
    })?;
    let (key, counter) = call.env.draw(Philox::blocks_for(dtype, n).saturating_mul(blocks))?;
    Ok(Philox::new(key, counter))
}

fn infer_floats(cx: &InferCx<'_>) -> Result<OutTypes> {
    let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::FLOAT, "dtype")?;
    one(Type::tensor(dtype, described_shape(cx, 0, "shape")?))
}

fn infer_stateless(cx: &InferCx<'_>) -> Result<OutTypes> {
    check_seed(cx)?;
    infer_floats(cx)
}

pub(crate) fn check_seed(cx: &InferCx<'_>) -> Result<()> {
    require_rank(cx, 1, 1, "seed")?;
    match cx.shape(1).num_elements() {
        Some(n) if n != 2 && n != 3 => Err(wrong_seed(n)),
        _ => Ok(()),
    }
}

fn wrong_seed(words: usize) -> Error {
    Error::invalid(format!("expected 2 elements, or the 3 of a generator's state, got {words}")).argument("seed")
}

fn float_samples() -> Vec<Sample> {
    let of = |dims: &[i64], d: DType| Sample::new(vec![i64s(dims)]).with("dtype", d);
    let mut out: Vec<Sample> = DTypeSet::FLOAT.iter().map(|d| of(&[5], d)).collect();
    out.extend([&[][..], &[0], &[1], &[2, 3]].map(|dims| of(dims, DType::F32)));
    out
}

fn with_seed(samples: Vec<Sample>) -> Vec<Sample> {
    let add = |mut s: Sample| {
        s.inputs.insert(1, i32s(&[7, -3]));
        s
    };
    samples.into_iter().map(add).collect()
}

macro_rules! floats {
    ($(#[$doc:meta])* $name:ident, $text:literal, $tf:literal, $kind:ident, $summary:literal;
     $(#[$stateless_doc:meta])* $stateless:ident, $stateless_text:literal, $stateless_tf:literal) => {
        $(#[$doc])*
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!($summary, "\n\nThe result has the extents `shape` and the float dtype `dtype`. Each run draws anew."),
            dtypes: &[],
            operands: &[index_arg("shape")],
            attrs: DTYPE,
            effects: &[Effect::Random],
            infer: infer_floats,
            cpu: Cpu::Kernel(|call| {
                let stream = draw(call, call.attrs.dtype(0), Floats::$kind.blocks())?;
                fill_floats(call, Floats::$kind, stream)
            }),
            cuda: Cuda::Kernels,
            vjp: Vjp::Zero,
            jvp: Jvp::FromVjp,
            batch: Batch::Rule(batch_rules::drawn),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnShapes,
            fold: STATEFUL,
            promise: PROMISE,
            samples: float_samples,
        };

        $(#[$stateless_doc])*
        pub static $stateless: OpDef = OpDef {
            name: $stateless_text,
            tf_name: $stateless_tf,
            doc: concat!($summary, "\n\nThe result has the extents `shape` and the float dtype `dtype`. The numbers depend on \
                the words of `seed` alone: two, or the three of a generator's state."),
            dtypes: &[],
            operands: &[index_arg("shape"), index_arg("seed")],
            attrs: DTYPE,
            effects: &[],
            infer: infer_stateless,
            cpu: Cpu::Kernel(|call| {
                let stream = seeded(call.inputs[1])?;
                fill_floats(call, Floats::$kind, stream)
            }),
            cuda: Cuda::Kernels,
            vjp: Vjp::Zero,
            jvp: Jvp::FromVjp,
            batch: Batch::Loop("no form for many examples is known"),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnShapes,
            fold: Fold::Never("it would store the numbers"),
            promise: PROMISE,
            samples: || with_seed(float_samples()),
        };
    };
}

floats! {
    /// Uniform floats.
    RANDOM_UNIFORM, "random_uniform", "RandomUniform", Uniform, "Floats uniform in [0, 1).";
    /// Uniform floats of a seed.
    STATELESS_RANDOM_UNIFORM, "stateless_random_uniform", "StatelessRandomUniform"
}
floats! {
    /// Normal floats.
    RANDOM_NORMAL, "random_normal", "RandomStandardNormal", Normal, "Floats of the standard normal distribution.";
    /// Normal floats of a seed.
    STATELESS_RANDOM_NORMAL, "stateless_random_normal", "StatelessRandomNormal"
}
floats! {
    /// Truncated normal floats.
    TRUNCATED_NORMAL, "truncated_normal", "TruncatedNormal", TruncatedNormal,
    "Floats of the standard normal distribution, drawn again while their magnitude is 2 or more.";
    /// Truncated normal floats of a seed.
    STATELESS_TRUNCATED_NORMAL, "stateless_truncated_normal", "StatelessTruncatedNormal"
}

const INTEGER: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::INTEGER)];

/// The type of uniform integers between the operands `first` and `first + 1`.
fn infer_ints(cx: &InferCx<'_>, first: usize) -> Result<OutTypes> {
    require_rank(cx, first, 0, "minval")?;
    require_rank(cx, first + 1, 0, "maxval")?;
    one(Type::tensor(cx.dtype(first), described_shape(cx, 0, "shape")?))
}

/// Fills result 0 with integers between the operands `first` and `first + 1`.
fn fill_ints(call: &mut Call<'_>, first: usize, stream: Philox) -> Result<()> {
    let bound = |i: usize, name: &str| crate::operands::int_scalar(call.inputs[i], name);
    let (low, high) = (bound(first, "minval")?, bound(first + 1, "maxval")?);
    let dtype = call.inputs[first].dtype();
    let less = if dtype.is_unsigned() { (low as u64) < high as u64 } else { low < high };
    if !less {
        return Err(Error::invalid(format!("must be above minval = {low}, got {high}")).argument("maxval"));
    }
    let dims = sizes_of(call, 0, "shape")?;
    fill(call, Draw::Integers { low, high }, stream, dtype, &dims)
}

fn int_samples() -> Vec<Sample> {
    let of = |dims: &[i64], d: DType| Sample::new(vec![i64s(dims), tensor(d, &[], &[3.0]), tensor(d, &[], &[17.0])]);
    let mut out: Vec<Sample> = DTypeSet::INTEGER.iter().map(|d| of(&[6], d)).collect();
    out.extend([&[][..], &[0], &[2, 2]].map(|dims| of(dims, DType::I32)));
    out
}

/// Uniform integers.
pub static RANDOM_UNIFORM_INT: OpDef = OpDef {
    name: "random_uniform_int",
    tf_name: "RandomUniformInt",
    doc: "Integers uniform in [`minval`, `maxval`), two scalars of the dtype of the result, of the extents `shape`.\n\n\
          Each run draws anew. The values are biased by less than the share of the range in 2^32 (2^64 for 64 bits). Raises \
          InvalidArgument where the range is empty.",
    dtypes: INTEGER,
    operands: &[index_arg("shape"), arg("minval"), arg("maxval")],
    attrs: &[],
    effects: &[Effect::Random],
    infer: |cx| infer_ints(cx, 1),
    cpu: Cpu::Kernel(|call| {
        let stream = draw(call, call.inputs[1].dtype(), 1)?;
        fill_ints(call, 1, stream)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::drawn),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: STATEFUL,
    promise: PROMISE,
    samples: int_samples,
};

/// Uniform integers of a seed.
pub static STATELESS_RANDOM_UNIFORM_INT: OpDef = OpDef {
    name: "stateless_random_uniform_int",
    tf_name: "StatelessRandomUniformInt",
    doc: "Integers uniform in [`minval`, `maxval`), two scalars of the dtype of the result, of the extents `shape`.\n\n\
          The numbers depend on the words of `seed` alone: two, or the three of a generator's state. The values are biased by less than the share of the range in \
          2^32 (2^64 for 64 bits). Raises InvalidArgument where the range is empty.",
    dtypes: INTEGER,
    operands: &[index_arg("shape"), index_arg("seed"), arg("minval"), arg("maxval")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        check_seed(cx)?;
        infer_ints(cx, 2)
    },
    cpu: Cpu::Kernel(|call| {
        let stream = seeded(call.inputs[1])?;
        fill_ints(call, 2, stream)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it would store the numbers"),
    promise: PROMISE,
    samples: || with_seed(int_samples()),
};

/// Integers of a seed, of all values.
pub static STATELESS_RANDOM_UNIFORM_FULL_INT: OpDef = OpDef {
    name: "stateless_random_uniform_full_int",
    tf_name: "StatelessRandomUniformFullInt",
    doc: "Integers uniform among all of the dtype `dtype`: `i32`, `i64`, `u32` or `u64`; of the extents `shape`.\n\n\
          The numbers depend on the words of `seed` alone: two, or the three of a generator's state.",
    dtypes: &[],
    operands: &[index_arg("shape"), index_arg("seed")],
    attrs: &[AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::I32))],
    effects: &[],
    infer: |cx| {
        check_seed(cx)?;
        let dtype = require_dtype(cx.attrs.dtype(0), FULL_INT, "dtype")?;
        one(Type::tensor(dtype, described_shape(cx, 0, "shape")?))
    },
    cpu: Cpu::Kernel(|call| {
        let stream = seeded(call.inputs[1])?;
        let dims = sizes_of(call, 0, "shape")?;
        fill(call, Draw::Integers { low: 0, high: 0 }, stream, call.attrs.dtype(0), &dims)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it would store the numbers"),
    promise: PROMISE,
    samples: || {
        let of = |dims: &[i64], d: DType| Sample::new(vec![i64s(dims)]).with("dtype", d);
        let mut out: Vec<Sample> = FULL_INT.iter().map(|d| of(&[5], d)).collect();
        out.extend([&[][..], &[0], &[2, 3]].map(|dims| of(dims, DType::I32)));
        with_seed(out)
    },
};

/// The dtypes of integers of as many bits as one or two words.
const FULL_INT: DTypeSet = DTypeSet::of(&[DType::I32, DType::I64, DType::U32, DType::U64]);

/// Checks that the parameter, operand 2, broadcasts to the shape that operand 0 describes, which is given.
fn infer_shaped(cx: &InferCx<'_>) -> Result<Shape> {
    check_seed(cx)?;
    let shape = described_shape(cx, 0, "shape")?;
    let fits = shape.broadcast(cx.shape(2)).is_some_and(|s| s.compatible(&shape));
    if fits { Ok(shape) } else { Err(no_broadcast(cx.shape(2), &shape)) }
}

fn no_broadcast(parameter: &Shape, shape: &Shape) -> Error {
    Error::invalid(format!("{shape} is not what the parameters, of shape {parameter}, broadcast to")).argument("shape")
}

/// Fills result 0 from a distribution whose parameter, operand 2, broadcasts.
fn fill_shaped(call: &mut Call<'_>, kind: Shaped, dtype: DType) -> Result<()> {
    let dims = sizes_of(call, 0, "shape")?;
    let stream = seeded(call.inputs[1])?;
    let mut wide = Tensor::default();
    cast_into(call.inputs[2], DType::F64, &mut wide)?;
    let own: Dims =
        std::iter::repeat_n(1, dims.len().saturating_sub(wide.rank())).chain(wide.dims().iter().copied()).collect();
    if own.len() != dims.len() || own.iter().zip(&dims).any(|(&a, &b)| a != b && a != 1) {
        return Err(no_broadcast(&Shape::known(wide.dims()), &Shape::known(&dims)));
    }
    let values = wide.as_slice::<f64>();
    let parameter = |mut i: usize| {
        if values.len() == 1 {
            return values[0];
        }
        let (mut at, mut step) = (0, 1);
        for (&dim, &own) in dims.iter().zip(&own).rev() {
            at += if own == 1 { 0 } else { i % dim * step };
            step *= own;
            i /= dim;
        }
        values[at]
    };
    let out = call.out(0, dtype, &dims).map_err(|e| e.argument("shape"))?;
    let n = call.outputs[0].len();
    // SAFETY: `out` is a fresh array of `n` elements of `dtype`, which inference has checked.
    unsafe { random_shapes::fill(kind, stream, dtype, n, parameter, out) };
    Ok(())
}

/// Samples of every dtype of the parameter, and of kinds of broadcasting.
fn shaped_samples() -> Vec<Sample> {
    let of = |dims: &[i64], parameter: Tensor| Sample::new(vec![i64s(dims), i32s(&[7, -3]), parameter]);
    let values = &[0.5, 3.0, 20.0];
    let mut out: Vec<Sample> = DTypeSet::FLOAT.iter().map(|d| of(&[3], tensor(d, &[3], values))).collect();
    for (dims, own) in
        [(&[][..], &[][..]), (&[4], &[]), (&[2, 3], &[3]), (&[2, 3], &[2, 1]), (&[0], &[1]), (&[2, 0], &[0])]
    {
        out.push(of(dims, tensor(DType::F64, own, values)));
    }
    out
}

/// Gamma numbers of a seed.
pub static STATELESS_RANDOM_GAMMA: OpDef = OpDef {
    name: "stateless_random_gamma",
    tf_name: "StatelessRandomGammaV3",
    doc: "Numbers of the gamma distribution of shape `alpha` and rate 1, of the extents `shape` and the dtype of `alpha`.\n\n\
          `alpha` broadcasts to `shape`; where it is not positive the result is NaN. The numbers depend on the two words of `seed` \
          and on `alpha` alone. The gradient is that of the number at a fixed quantile (Marsaglia and Tsang 2000; Figurnov et \
          al. 2018). Raises InvalidArgument where `alpha` does not broadcast to `shape`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLOAT)],
    operands: &[index_arg("shape"), index_arg("seed"), arg("alpha")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(Type::tensor(cx.dtype(2), infer_shaped(cx)?)),
    cpu: Cpu::Kernel(|call| fill_shaped(call, Shaped::Gamma, call.inputs[2].dtype())),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let alpha = t.x(2);
            let slope = || alpha.emit(&RANDOM_GAMMA_GRAD, &[t.y(0)], &[]);
            smallvec![None, None, t.needed[2].then(|| (t.g() * slope()).unbroadcast(alpha))]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it would store the numbers"),
    promise: PROMISE,
    samples: || {
        // Far from 1, where a number of the same seed is found in another way.
        let mut out = shaped_samples();
        let alpha = Tensor::vector(&[1.5f64, 2.5, 7.0]);
        out.push(Sample::new(vec![i64s(&[3]), i32s(&[1, 2]), alpha]));
        out
    },
};

/// Poisson numbers of a seed.
pub static STATELESS_RANDOM_POISSON: OpDef = OpDef {
    name: "stateless_random_poisson",
    tf_name: "StatelessRandomPoisson",
    doc: "Numbers of the Poisson distribution of mean `lam`, of the extents `shape` and the dtype `dtype`.\n\n\
          `lam` broadcasts to `shape`; where it is negative the result is NaN, or 0 of an integer. `dtype` is a float, `i32` or \
          `i64`. The numbers depend on the two words of `seed` and on `lam` alone (H\u{f6}rmann 1993). Raises InvalidArgument where \
          `lam` does not broadcast to `shape`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLOAT)],
    operands: &[index_arg("shape"), index_arg("seed"), arg("lam")],
    attrs: DTYPE,
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::FLOAT.or(DTypeSet::INDEX), "dtype")?;
        one(Type::tensor(dtype, infer_shaped(cx)?))
    },
    cpu: Cpu::Kernel(|call| fill_shaped(call, Shaped::Poisson, call.attrs.dtype(0))),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it would store the numbers"),
    promise: PROMISE,
    samples: || {
        let mut out = shaped_samples();
        out.extend(shaped_samples().into_iter().map(|s| s.with("dtype", DType::I64)));
        out
    },
};
