//! Conversion between dtypes.

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape};
use penstock_ir::{
    AttrDef, AttrKind, Batch, Cost, Cpu, Cuda, DTypeVar, ElementFn, Elements, Fails, Fold, Jvp, OpDef, Rows, Sample,
    Type, Vjp, arg,
};
use smallvec::{SmallVec, smallvec};

use crate::elements;
use crate::grad::rule;
use crate::operands::{known_dims, require_dtype};
use crate::samples::{EDGES, LINE, tensor};
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CAST, &BITCAST];

/// The same values in another dtype.
pub static CAST: OpDef = OpDef {
    name: "cast",
    tf_name: "Cast",
    doc: "The values of `x` as `dtype`.\n\n\
          Elementwise: the result has the shape of `x`. Floats round to the nearest, ties to even, and become integers by \
          dropping the fraction, clamped to the range of the dtype (NaN gives 0). Integers wrap. Complex numbers lose their \
          imaginary part. Anything but 0 is true. Of narrow floats, what is too large becomes infinite, else NaN, else the greatest \
          number, whichever the dtype has.\n\nErrors: `DType` for strings.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLAT)],
    operands: &[arg("x")],
    attrs: &[AttrDef::required("dtype", AttrKind::DType)],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::FLAT, "dtype")?;
        one(Type::tensor(dtype, cx.shape(0).clone()))
    },
    cpu: Cpu::Elementwise(ElementFn::Cast),
    cuda: Cuda::Elementwise("penstock_cast<{S}>({0})"),
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (from, to) = (t.x(0).dtype(), t.attrs.dtype(0));
            smallvec![(t.needed[0] && from.is_differentiable() && to.is_differentiable()).then(|| t.g().cast(from))]
        })
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Broadcast,
    rows: Rows::Elementwise,
    elements: Elements::Rule(elements::cast),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = Vec::new();
        for from in DTypeSet::PLAIN.iter() {
            for to in DTypeSet::PLAIN.iter() {
                // Negative floats are clamped by unsigned dtypes, which is not what C does.
                let values = if to.is_unsigned() { &[0.5, 1.25, 2.75, 3.5, 7.0][..] } else { LINE };
                out.push(Sample::new(vec![tensor(from, &[5], values)]).with("dtype", to));
            }
        }
        for narrow in DTypeSet::NARROW.iter() {
            let x = tensor(DType::F32, &[5], &[0.5, -1.25, 2.75, 3.0, 7.0]);
            out.push(Sample::new(vec![x]).with("dtype", narrow));
            out.push(Sample::new(vec![tensor(narrow, &[5], LINE)]).with("dtype", DType::F32));
        }
        for dims in [&[][..], &[0], &[1], &[3, 5]] {
            out.push(Sample::new(vec![tensor(DType::F64, dims, LINE)]).with("dtype", DType::F32));
        }
        for (from, to) in
            [(DType::F64, DType::F32), (DType::F32, DType::F16), (DType::F32, DType::Bf16), (DType::F32, DType::F64)]
        {
            out.push(Sample::new(vec![tensor(from, &[EDGES.len()], EDGES)]).with("dtype", to));
        }
        out
    },
};

/// Numbers each of whose bits counts.
const WHOLE_BYTES: DTypeSet = DTypeSet::NUMERIC.or(DTypeSet::FLOAT8);

/// The same bits as elements of another dtype.
pub static BITCAST: OpDef = OpDef {
    name: "bitcast",
    tf_name: "Bitcast",
    doc: "The bits of `x` as elements of `dtype`.\n\n\
          The shape is that of `x` where both elements have one size. Smaller elements add a last dimension that holds those of \
          one element of `x`; larger ones take the place of a last dimension, which holds as many as make one. The first is \
          the least significant on a little-endian machine.\n\n\
          Errors: `DType` for booleans, strings and numbers of fewer than 8 bits, `InvalidArgument` for a last dimension of another size.",
    dtypes: &[DTypeVar::new("T", WHOLE_BYTES)],
    operands: &[arg("x")],
    attrs: &[AttrDef::required("dtype", AttrKind::DType)],
    effects: &[],
    infer: |cx| {
        let to = require_dtype(cx.attrs.dtype(0), WHOLE_BYTES, "dtype")?;
        let shape = match cx.shape(0).dims() {
            Some(dims) => Shape::new(recut(dims, cx.dtype(0), to)?),
            None => Shape::UNRANKED,
        };
        one(Type::tensor(to, shape))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, to) = (call.inputs[0], call.attrs.dtype(0));
        if x.dtype().size() == to.size() {
            call.set(0, x.bitcast(to)?);
            return Ok(());
        }
        let dims = recut(&known_dims(x.dims()), x.dtype(), to)?;
        let dims: Dims = dims.iter().filter_map(|d| d.known()).collect();
        call.out(0, to, &dims)?;
        call.outputs[0].bytes_mut().copy_from_slice(x.bytes());
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::NonDifferentiable("bits are not numbers"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        use DType::{C64, C128, F16, F32, F64, I8, I32, I64, U8, U16, U64};
        let of = |from: DType, dims: &[usize], to: DType| Sample::new(vec![tensor(from, dims, LINE)]).with("dtype", to);
        let mut out: Vec<Sample> = DTypeSet::NUMERIC.iter().map(|d| of(d, &[3], d)).collect();
        out.extend(DTypeSet::FLOAT8.iter().flat_map(|d| [of(U8, &[3], d), of(d, &[3], U8)]));
        out.extend([
            of(F32, &[5], I32),
            of(F64, &[2, 3], U64),
            of(I64, &[], F64),
            of(F16, &[0], U16),
            of(C64, &[2], I64),
        ]);
        out.extend([of(F32, &[3], U8), of(C128, &[2], F64), of(I64, &[], I8), of(F64, &[0], I32)]);
        out.extend([of(U8, &[3, 4], F32), of(F64, &[2, 2], C128), of(I8, &[8], I64), of(I32, &[0, 2], I64)]);
        out
    },
};

/// The dimensions of the same bits in elements of another size.
fn recut(dims: &[Dim], from: DType, to: DType) -> Result<SmallVec<[Dim; 4]>> {
    let (from, to) = (from.size(), to.size());
    let mut out: SmallVec<[Dim; 4]> = dims.into();
    if from > to {
        out.push(Dim::Known(from / to));
    } else if from < to {
        let due = Dim::Known(to / from);
        let last = out.pop();
        if !last.is_some_and(|d| d.compatible(due)) {
            let shape = Shape::new(dims.iter().copied());
            return Err(Error::invalid(format!("expected a last dimension of {due}, got shape {shape}")).argument("x"));
        }
    }
    Ok(out)
}
