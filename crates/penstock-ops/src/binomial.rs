//! Binomial random numbers, of the counter-based streams of [`crate::random`].

use penstock_data::{DType, DTypeSet, Dims, Error, Result, Shape, Tensor, bf16, f16};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, InferCx, Jvp, OpDef,
    OutTypes, Rows, Sample, Type, Vjp, arg,
};
use penstock_kernels::{Philox, unit64};

use crate::operands::{described_shape, index_arg, require_dtype, sizes_of};
use crate::random::{check_seed, seeded};
use crate::run::cast_into;
use crate::sample_arrays::{i32s, i64s};
use crate::util::{PROMISE, one};

const RESULTS: DTypeSet = DTypeSet::of(&[DType::I32, DType::I64, DType::F16, DType::F32, DType::F64]);

/// Binomial numbers of a seed.
pub static STATELESS_RANDOM_BINOMIAL: OpDef = OpDef {
    name: "stateless_random_binomial",
    tf_name: "StatelessRandomBinomial",
    doc: "How many of `counts` trials succeed, each with probability `probs`.\n\n\
          `counts` and `probs` broadcast to the extents `shape` of the result, whose dtype is `int32`, `int64`, `float16`, \
          `float32` or `float64`. The numbers depend on the words of `seed` alone: two, or the three of a generator's state. \
          Fractions of `counts` are dropped. Raises InvalidArgument for a negative count and for a probability outside of [0, 1].",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLOAT)],
    operands: &[index_arg("shape"), index_arg("seed"), arg("counts"), arg("probs")],
    attrs: &[AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::I32))],
    effects: &[],
    infer,
    cpu: Cpu::Kernel(run),
    cuda: Cuda::HostFallback("there is no device kernel for it yet"),
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
        let of = |dims: &[i64], counts: &[f64], probs: &[f64]| {
            let vector = |v: &[f64]| if v.len() == 1 { Tensor::scalar(v[0]) } else { Tensor::vector(v) };
            Sample::new(vec![i64s(dims), i32s(&[7, -3]), vector(counts), vector(probs)])
        };
        let mut out: Vec<Sample> = RESULTS.iter().map(|d| of(&[5], &[10.0], &[0.5]).with("dtype", d)).collect();
        out.extend([
            of(&[], &[0.0], &[0.5]),
            of(&[0], &[3.0], &[1.0]),
            of(&[2, 3], &[4.0, 1e6, 0.0], &[0.1, 0.9, 0.0]),
        ]);
        out
    },
};

fn infer(cx: &InferCx<'_>) -> Result<OutTypes> {
    check_seed(cx)?;
    let dtype = require_dtype(cx.attrs.dtype(0), RESULTS, "dtype")?;
    let shape = described_shape(cx, 0, "shape")?;
    for (i, name) in [(2, "counts"), (3, "probs")] {
        if let (Some(own), Some(due)) = (cx.shape(i).extents(), shape.extents()) {
            check_broadcast(&own, &due, name)?;
        }
    }
    one(Type::tensor(dtype, shape))
}

fn check_broadcast(own: &[usize], due: &[usize], name: &str) -> Result<()> {
    let fits = own.len() <= due.len() && own.iter().rev().zip(due.iter().rev()).all(|(&a, &b)| a == b || a == 1);
    if fits {
        return Ok(());
    }
    let (own, due) = (Shape::known(own), Shape::known(due));
    Err(Error::invalid(format!("shape {own} does not broadcast to {due}")).argument(name))
}

/// The element of a tensor that broadcasts to position `at` of an array of extents `dims`.
fn broadcast_element(values: &[f64], own: &[usize], dims: &[usize], mut at: usize) -> f64 {
    let (mut index, mut stride) = (0, 1);
    for (k, &d) in dims.iter().enumerate().rev() {
        let Some(j) = (own.len() + k).checked_sub(dims.len()) else { break };
        if own[j] > 1 {
            index += at % d * stride;
        }
        stride *= own[j];
        at /= d;
    }
    values[index]
}

fn run(call: &mut Call<'_>) -> Result<()> {
    let dims = sizes_of(call, 0, "shape")?;
    let (counts, probs) = (call.inputs[2], call.inputs[3]);
    check_broadcast(counts.dims(), &dims, "counts")?;
    check_broadcast(probs.dims(), &dims, "probs")?;
    let stream = seeded(call.inputs[1])?;
    let dtype = call.attrs.dtype(0);
    let parameter = counts.dtype();
    let own = [counts, probs].map(|t| Dims::from(t.dims()));
    let (mut wide_counts, mut wide_probs) = (Tensor::default(), Tensor::default());
    cast_into(counts, DType::F64, &mut wide_counts)?;
    cast_into(probs, DType::F64, &mut wide_probs)?;
    let (counts, probs) = (wide_counts.as_slice::<f64>(), wide_probs.as_slice::<f64>());
    // The leading dimensions number the samples of each member of the batch, and a member has its samples side by side in
    // the stream.
    let leading = dims.len() - own[0].len().max(own[1].len());
    let samples: usize = dims[..leading].iter().product();
    let members: usize = dims[leading..].iter().product();
    call.out(0, dtype, &dims).map_err(|e| e.argument("shape"))?;
    for i in 0..call.outputs[0].len() {
        let (n, p) = (broadcast_element(counts, &own[0], &dims, i), broadcast_element(probs, &own[1], &dims, i));
        if n.is_nan() || n < 0.0 {
            return Err(Error::invalid(format!("must not be negative, got {n}")).argument("counts"));
        }
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::invalid(format!("must be in [0, 1], got {p}")).argument("probs"));
        }
        let place = (i % members * samples + i / members) as u64;
        let k = binomial(stream, place, n.floor(), p, parameter);
        let out = &mut call.outputs[0];
        match dtype {
            DType::I32 => out.as_mut_slice::<i32>()[i] = k as i32,
            DType::I64 => out.as_mut_slice::<i64>()[i] = k as i64,
            DType::F16 => out.as_mut_slice::<f16>()[i] = f16::from_f64(k),
            DType::F32 => out.as_mut_slice::<f32>()[i] = k as f32,
            _ => out.as_mut_slice::<f64>()[i] = k,
        }
    }
    Ok(())
}

/// Uniform numbers in [0, 1), two to a block of the stream, of which the second comes first.
struct Uniform {
    stream: Philox,
    next: u64,
    left: Option<f64>,
}

impl Uniform {
    fn draw(&mut self) -> f64 {
        if let Some(value) = self.left.take() {
            return value;
        }
        let [a, b, c, d] = self.stream.block(self.next);
        self.next = self.next.wrapping_add(1);
        self.left = Some(unit64(a, b));
        unit64(c, d)
    }
}

/// The product as a number of `dtype`.
fn rounded_product(a: f64, b: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(a * b).to_f64(),
        DType::Bf16 => bf16::from_f64(a * b).to_f64(),
        DType::F32 => f64::from((a * b) as f32),
        _ => a * b,
    }
}

/// Blocks of the stream that a number has where it is made of waiting times, and where by rejection.
const BLOCKS: [u64; 2] = [42, 256];

/// A binomial number: by adding geometric waiting times where few successes are due, else by transformed rejection with
/// squeeze (BTRS; W. Hörmann, "The generation of binomial random variates", 1993). `place` says which blocks of the
/// stream it is made of. These and their uses are TensorFlow's, so that the numbers are.
fn binomial(stream: Philox, place: u64, n: f64, p: f64, dtype: DType) -> f64 {
    if n == 0.0 || p == 0.0 {
        return 0.0;
    }
    if p == 1.0 {
        return n;
    }
    if p > 0.5 {
        return n - binomial(stream, place, n, 1.0 - p, dtype);
    }
    let rejects = rounded_product(n, p, dtype) >= 10.0;
    let mut uniform = Uniform { stream, next: place.wrapping_mul(BLOCKS[usize::from(rejects)]), left: None };
    if !rejects {
        let scale = (-p).ln_1p();
        let (mut trials, mut successes) = (0.0, 0.0);
        loop {
            trials += (uniform.draw().ln() / scale).ceil();
            if trials > n {
                return successes;
            }
            successes += 1.0;
        }
    }
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = n * p + 0.5;
    let squeeze = 0.92 - 4.2 / b;
    let odds = p / (1.0 - p);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((n + 1.0) * p).floor();
    loop {
        let u = uniform.draw() - 0.5;
        let v = uniform.draw();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if us >= 0.07 && v <= squeeze {
            return k;
        }
        if k < 0.0 || k > n {
            continue;
        }
        let bound = (mode + 0.5) * ((mode + 1.0) / (odds * (n - mode + 1.0))).ln()
            + (n + 1.0) * ((n - mode + 1.0) / (n - k + 1.0)).ln()
            + (k + 0.5) * (odds * (n - k + 1.0) / (k + 1.0)).ln()
            + stirling_tail(mode)
            + stirling_tail(n - mode)
            - stirling_tail(k)
            - stirling_tail(n - k);
        if (v * alpha / (a / (us * us) + b)).ln() <= bound {
            return k;
        }
    }
}

/// `ln(k!)` less Stirling's approximation of it, by its asymptotic series in `k + 1`.
fn stirling_tail(k: f64) -> f64 {
    const EXACT: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
    ];
    if let Some(&exact) = EXACT.get(k as usize) {
        return exact;
    }
    let next = k + 1.0;
    let square = next * next;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_mean_and_variance_of_the_distribution() {
        let stream = Philox::new(1, 0);
        for (n, p) in [(5.0, 0.3), (40.0, 0.5), (1000.0, 0.2), (1e6, 0.97), (300.0, 1e-3)] {
            let draws: Vec<f64> = (0..4000).map(|i| binomial(stream, i, n, p, DType::F64)).collect();
            assert!(draws.iter().all(|&k| k >= 0.0 && k <= n && k.fract() == 0.0));
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            let due = n * p * (1.0 - p);
            assert!((mean - n * p).abs() < 5.0 * (due / draws.len() as f64).sqrt(), "mean {mean} of {n}, {p}");
            assert!((variance / due - 1.0).abs() < 0.15, "variance {variance} of {n}, {p}");
        }
    }

    #[test]
    fn certain_outcomes() {
        let of = |n: f64, p: f64| binomial(Philox::new(1, 0), 0, n, p, DType::F64);
        assert_eq!(of(0.0, 0.3), 0.0);
        assert_eq!(of(9.0, 0.0), 0.0);
        assert_eq!(of(9.0, 1.0), 9.0);
    }
}
