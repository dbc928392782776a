//! Discrete Fourier transforms along the last dimension.

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor};
use penstock_fourier::Real;
use penstock_ir::{
    AttrDef, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, Jvp, OpDef, Rows, Sample, Type, Vjp, arg,
};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::grad::rule;
use crate::operands::{index_arg, int_scalar, require_rank, size};
use crate::samples::{DISTINCT, tensor};
use crate::solves::each;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&FFT, &RFFT, &IRFFT];

const ON_HOST: Cuda = Cuda::HostFallback("Fourier transforms are computed on the host");
const REAL: DTypeSet = DTypeSet::of(&[DType::F32, DType::F64]);

/// Runs a kernel with the real type of a dtype.
macro_rules! with_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        if $dtype.real() == DType::F32 {
            type $T = f32;
            $body
        } else {
            type $T = f64;
            $body
        }
    };
}

/// The extents before the last one, and that one.
fn split(dims: &[usize]) -> Result<(&[usize], usize)> {
    let (&n, rows) = dims.split_last().ok_or_else(scalar)?;
    Ok((rows, n))
}

fn scalar() -> Error {
    Error::invalid("expected at least one dimension, got a scalar").argument("x")
}

/// The shape of an operand with another last dimension.
fn with_last(shape: &Shape, last: impl FnOnce(Dim) -> Result<Dim>) -> Result<Shape> {
    let Some(dims) = shape.dims() else { return Ok(Shape::UNRANKED) };
    let (&n, rows) = dims.split_last().ok_or_else(scalar)?;
    Ok(Shape::new(rows.iter().copied().chain([last(n)?])))
}

/// Calls `f` with stretches of rows of `x` and of `out`, where a row is `from` and `to` elements long.
fn over_rows<A: Sync, B: Send>(x: &[A], from: usize, out: &mut [B], to: usize, f: impl Fn(&[A], &mut [B]) + Sync) {
    // A piece has enough to do for the lookup of its plan not to count.
    let rows = 8192usize.div_ceil(from.max(to).max(1));
    let elements = (rows * from.max(to)) as f64;
    let places = out.chunks_mut((rows * to).max(1));
    let done = each(places, elements * 4.0 * elements.max(2.0).log2(), |i, out| {
        let count = out.len() / to.max(1);
        f(&x[i * rows * from..][..count * from], out);
        Ok(())
    });
    // Transforms do not fail but for want of memory.
    done.unwrap_or_else(|e| e.unwind());
}

fn row_samples(dtypes: DTypeSet) -> Vec<Sample> {
    let x = |d, dims: &[usize]| Sample::new(vec![tensor(d, dims, DISTINCT)]);
    let mut out: Vec<Sample> = dtypes.iter().map(|d| x(d, &[2, 4])).collect();
    let widest = dtypes.iter().last().unwrap_or(DType::F64);
    for dims in [&[1][..], &[2], &[3], &[6], &[7], &[2, 3, 5], &[0, 4], &[3, 0], &[0]] {
        out.push(x(widest, dims));
        out.push(x(widest, dims).with("scaled", true));
    }
    out
}

/// Transforms of complex rows.
pub static FFT: OpDef = OpDef {
    name: "fft",
    tf_name: "Fft",
    doc: "The discrete Fourier transform along the last dimension: element `k` of `n` is the sum of `x[j] exp(-2 pi i j k / n)`.\n\n\
          `x` has shape `[..., n]`, as has the result. With `inverse` the exponent has the other sign; with `scaled` the \
          result is divided by `n`.\n\n\
          Errors: `InvalidArgument` for a scalar.",
    dtypes: &[DTypeVar::new("T", DTypeSet::COMPLEX)],
    operands: &[arg("x")],
    attrs: &[AttrDef::flag("inverse", false), AttrDef::flag("scaled", false)],
    effects: &[],
    infer: |cx| one(Type::tensor(cx.dtype(0), with_last(cx.shape(0), Ok)?)),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (_, n) = split(x.dims())?;
        let (inverse, scaled) = (call.attrs.flag(0), call.attrs.flag(1));
        call.out(0, x.dtype(), x.dims())?;
        let out = &mut call.outputs[0];
        with_real!(x.dtype(), T => {
            over_rows(x.as_slice::<<T as Real>::Complex>(), n, out.as_mut_slice::<<T as Real>::Complex>(), n, |x, out| {
                out.copy_from_slice(x);
                T::fft(n, inverse, scaled, out);
            });
        });
        Ok(())
    }),
    cuda: ON_HOST,
    // The matrix of the transform is symmetric: its adjoint is its conjugate.
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (inverse, scaled) = (t.attrs.flag(0), t.attrs.flag(1));
            let of = [("inverse", (!inverse).into()), ("scaled", scaled.into())];
            smallvec![t.needed[0].then(|| t.g().emit(&FFT, &[], &of))]
        })
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(30.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = row_samples(DTypeSet::COMPLEX);
        for scaled in [false, true] {
            let x = tensor(DType::C128, &[2, 5], DISTINCT);
            out.push(Sample::new(vec![x]).with("inverse", true).with("scaled", scaled));
        }
        out
    },
};

const HALF: &[AttrDef] = &[AttrDef::flag("scaled", false), AttrDef::flag("mirrored", false)];

/// Transforms of real rows.
pub static RFFT: OpDef = OpDef {
    name: "rfft",
    tf_name: "Rfft",
    doc: "The first half of the discrete Fourier transform of real rows; the other half is its conjugate.\n\n\
          `x` of shape `[..., n]` gives `[..., n / 2 + 1]`, complex. With `scaled` the result is divided by `n`; with \
          `mirrored` the coefficients that stand for two are doubled.\n\n\
          Errors: `InvalidArgument` for a scalar.",
    dtypes: &[DTypeVar::new("T", REAL)],
    operands: &[arg("x")],
    attrs: HALF,
    effects: &[],
    infer: |cx| {
        let half = |n: Dim| Ok(n.known().map_or(Dim::Unknown, |n| Dim::Known(n / 2 + 1)));
        one(Type::tensor(cx.dtype(0).complex(), with_last(cx.shape(0), half)?))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let (rows, n) = split(x.dims())?;
        let (scaled, mirrored) = (call.attrs.flag(0), call.attrs.flag(1));
        let width = n / 2 + 1;
        let dims: SmallVec<[usize; 4]> = rows.iter().copied().chain([width]).collect();
        call.out(0, x.dtype().complex(), &dims)?;
        let out = &mut call.outputs[0];
        with_real!(x.dtype(), T => {
            over_rows(x.as_slice::<T>(), n, out.as_mut_slice::<<T as Real>::Complex>(), width, |x, out| {
                T::rfft(n, scaled, mirrored, x, out);
            });
        });
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![t.needed[0].then(|| {
                let of = [("scaled", t.attrs.flag(0).into()), ("mirrored", t.attrs.flag(1).into())];
                let length = match t.x(0).shape().dims() {
                    Some([.., Dim::Known(n)]) => t.g().int(*n as i64),
                    _ => last_of(t.x(0).extents()),
                };
                t.g().emit(&IRFFT, &[length], &of)
            })]
        })
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(30.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = row_samples(REAL);
        for dims in [&[4][..], &[2, 5], &[1]] {
            out.push(Sample::new(vec![tensor(DType::F64, dims, DISTINCT)]).with("mirrored", true).with("scaled", true));
        }
        out
    },
};

/// The last element of a vector.
fn last_of(x: crate::grad::Ex<'_>) -> crate::grad::Ex<'_> {
    x.emit(
        &crate::gather::GATHER,
        &[x.int(-1) + x.emit(&crate::array::SIZE, &[], &[("dtype", DType::I64.into())])],
        &[],
    )
}

/// The last dimension of the coefficients of rows of a length.
fn checked(got: Dim, length: usize) -> Result<()> {
    let due = length / 2 + 1;
    if got.known().is_none_or(|got| got == due) {
        return Ok(());
    }
    Err(Error::invalid(format!("{length} elements have {due} coefficients, got {got}")).argument("x"))
}

/// Real rows of half a transform.
pub static IRFFT: OpDef = OpDef {
    name: "irfft",
    tf_name: "Irfft",
    doc: "The real parts of the inverse discrete Fourier transform of the first half of coefficients.\n\n\
          `x` of shape `[..., length / 2 + 1]` gives `[..., length]`, real, for the scalar `length`. With `scaled` the \
          result is divided by `length`. With `mirrored` each coefficient stands for its conjugate in the other half as \
          well; where it is its own conjugate, its imaginary part is not read.\n\n\
          Errors: `InvalidArgument` for a scalar, a negative length, and for another number of coefficients.",
    dtypes: &[DTypeVar::new("T", DTypeSet::COMPLEX)],
    operands: &[arg("x"), index_arg("length")],
    attrs: HALF,
    effects: &[],
    infer: |cx| {
        require_rank(cx, 1, 0, "length")?;
        let length = cx.values.constant(1).map(|t| size(int_scalar(&t, "length")?, "length")).transpose()?;
        let shape = with_last(cx.shape(0), |got| match length {
            Some(length) => checked(got, length).map(|()| Dim::Known(length)),
            None => Ok(Dim::Unknown),
        })?;
        one(Type::tensor(cx.dtype(0).real(), shape))
    },
    cpu: Cpu::Kernel(run_irfft),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let of = [("scaled", t.attrs.flag(0).into()), ("mirrored", t.attrs.flag(1).into())];
            smallvec![t.needed[0].then(|| t.g().emit(&RFFT, &[], &of)), None]
        })
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(30.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let x = |d, dims: &[usize], length: i64, mirrored: bool| {
            Sample::new(vec![tensor(d, dims, DISTINCT), Tensor::from(length)]).with("mirrored", mirrored)
        };
        let mut out: Vec<Sample> = DTypeSet::COMPLEX.iter().map(|d| x(d, &[2, 3], 4, true)).collect();
        for (dims, length) in [(&[1][..], 0), (&[1], 1), (&[2], 2), (&[2], 3), (&[2, 2, 4], 7), (&[0, 3], 5)] {
            for mirrored in [false, true] {
                out.push(x(DType::C128, dims, length, mirrored));
                out.push(x(DType::C128, dims, length, mirrored).with("scaled", true));
            }
        }
        out
    },
};

fn run_irfft(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let (rows, width) = split(x.dims())?;
    let length = size(int_scalar(call.inputs[1], "length")?, "length")?;
    checked(Dim::Known(width), length)?;
    let (scaled, mirrored) = (call.attrs.flag(0), call.attrs.flag(1));
    let dims: SmallVec<[usize; 4]> = rows.iter().copied().chain([length]).collect();
    call.out(0, x.dtype().real(), &dims)?;
    let out = &mut call.outputs[0];
    with_real!(x.dtype(), T => {
        over_rows(x.as_slice::<<T as Real>::Complex>(), width, out.as_mut_slice::<T>(), length, |x, out| {
            T::irfft(length, scaled, mirrored, x, out);
        });
    });
    Ok(())
}
