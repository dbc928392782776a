//! Conversion between dtypes.

use penstock_data::{DType, DTypeSet};
use penstock_ir::{AttrDef, AttrKind, Cpu, Cuda, DTypeVar, Fold, OpDef, Sample, Type, Vjp, arg};
use smallvec::smallvec;

use crate::grad::rule;
use crate::operands::require_dtype;
use crate::samples::{EDGES, LINE, tensor};
use crate::util::one;

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CAST];

/// The same values in another dtype.
pub static CAST: OpDef = OpDef {
    name: "cast",
    tf_name: "Cast",
    doc: "The values of `x` as `dtype`.\n\n\
          Elementwise: the result has the shape of `x`. Floats round to the nearest, ties to even, and become integers by \
          dropping the fraction, clamped to the range of the dtype (NaN gives 0). Integers wrap. Complex numbers lose their \
          imaginary part. Anything but 0 is true.\n\nErrors: `DType` for strings.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
    operands: &[arg("x")],
    attrs: &[AttrDef::required("dtype", AttrKind::DType)],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::PLAIN, "dtype")?;
        one(Type::tensor(dtype, cx.shape(0).clone()))
    },
    cpu: Cpu::Elementwise(|dtypes, attrs| penstock_kernels::cast(dtypes[0], attrs.dtype(0))),
    cuda: Cuda::Elementwise("penstock_cast<{S}>({0})"),
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (from, to) = (t.x(0).dtype(), t.attrs.dtype(0));
            smallvec![(t.needed[0] && from.is_differentiable() && to.is_differentiable()).then(|| t.g().cast(from))]
        })
    }),
    fold: Fold::Evaluate,
    samples: || {
        let mut out = Vec::new();
        for from in DTypeSet::PLAIN.iter() {
            for to in DTypeSet::PLAIN.iter() {
                // Negative floats are clamped by unsigned dtypes, which is not what C does.
                let values = if to.is_unsigned() { &[0.5, 1.25, 2.75, 3.5, 7.0][..] } else { LINE };
                out.push(Sample::new(vec![tensor(from, &[5], values)]).with("dtype", to));
            }
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
