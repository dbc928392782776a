//! Elementwise comparisons, logic and choice, and the elementwise operators on strings.

use penstock_data::{Bool8, Bytes, DType, DTypeSet, Error, Result, Tensor, memory, num_elements};
use penstock_ir::{
    ArgType, Batch, Call, Cost, Cpu, Cuda, DTypeVar, ElementFn, Elements, Fails, Fold, InferCx, Jvp, OpDef, OutTypes,
    Rows, Sample, Type, Vjp, arg, arg_of,
};
use smallvec::smallvec;

use crate::binary::{broadcast, table};
use crate::grad::rule;
use crate::moves::moving;
use crate::samples::{self, LINE, strings, tensor};
use crate::util::{PROMISE, one};

/// Some of [`LINE`], in another order.
const MIXED: &[f64] = &[0.6875, 2.75, -1.25, -0.125, -3.5, 1.0];

table! { TABLE:
    EQUAL "equal" "Equal" Equal LINE MIXED
        Vjp::Zero,
        "Whether `x == y`; NaN equals nothing. Strings are compared by `string_equal`.";
    NOT_EQUAL "not_equal" "NotEqual" NotEqual LINE MIXED
        Vjp::Zero,
        "Whether `x != y`; NaN differs from everything. Strings are compared by `string_not_equal`.";
    LESS "less" "Less" Less LINE MIXED
        Vjp::Zero,
        "Whether `x < y`; false where either is NaN.";
    LESS_EQUAL "less_equal" "LessEqual" LessEqual LINE MIXED
        Vjp::Zero,
        "Whether `x <= y`; false where either is NaN.";
    GREATER "greater" "Greater" Greater LINE MIXED
        Vjp::Zero,
        "Whether `x > y`; false where either is NaN.";
    GREATER_EQUAL "greater_equal" "GreaterEqual" GreaterEqual LINE MIXED
        Vjp::Zero,
        "Whether `x >= y`; false where either is NaN.";
    LOGICAL_AND "logical_and" "LogicalAnd" LogicalAnd LINE MIXED
        Vjp::Zero,
        "`and` of booleans.";
    LOGICAL_OR "logical_or" "LogicalOr" LogicalOr LINE MIXED
        Vjp::Zero,
        "`or` of booleans.";
    LOGICAL_XOR "logical_xor" "LogicalXor" LogicalXor LINE MIXED
        Vjp::Zero,
        "Exclusive `or` of booleans.";
}

const MORE: &[&OpDef] = &[&SELECT, &STRING_SELECT, &STRING_ADD, &STRING_EQUAL, &STRING_NOT_EQUAL];

/// The operators of this family.
pub static OPS: &[&OpDef] = &{
    let mut ops = [&SELECT; TABLE.len() + MORE.len()];
    let mut i = 0;
    while i < ops.len() {
        ops[i] = if i < TABLE.len() { TABLE[i] } else { MORE[i - TABLE.len()] };
        i += 1;
    }
    ops
};

fn infer_select(cx: &InferCx<'_>) -> Result<OutTypes> {
    one(Type::tensor(cx.dtype(1), broadcast(&[cx.shape(0), cx.shape(1), cx.shape(2)])?))
}

/// Elements of one of two tensors.
pub static SELECT: OpDef = OpDef {
    name: "select",
    tf_name: "SelectV2",
    doc: "`x` where `condition` is true, else `y`.\n\n\
          Elementwise: the result has the shape that the operands broadcast to. `x` and `y` have one dtype. Strings are \
          chosen by `string_select`.\n\nErrors: `InvalidArgument` where the shapes do not broadcast.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLAT)],
    operands: &[arg_of("condition", ArgType::Fixed(DType::Bool)), arg("x"), arg("y")],
    attrs: &[],
    effects: &[],
    infer: infer_select,
    cpu: Cpu::Elementwise(ElementFn::Select),
    cuda: Cuda::Elementwise("({0} ? {1} : {2})"),
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (g, condition) = (t.g(), t.x(0));
            smallvec![
                None,
                t.needed[1].then(|| g.only_if(condition).unbroadcast(t.x(1))),
                t.needed[2].then(|| g.number(0.0).or(condition, g).unbroadcast(t.x(2))),
            ]
        })
    }),
    jvp: Jvp::Elementwise,
    batch: Batch::Broadcast,
    rows: Rows::Elementwise,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let sample = |d, c: &[usize], x: &[usize], y: &[usize]| {
            Sample::new(vec![
                tensor(DType::Bool, c, &[1.0, 0.0, 0.0, 1.0, 1.0]),
                tensor(d, x, LINE),
                tensor(d, y, MIXED),
            ])
        };
        let mut out: Vec<Sample> = DTypeSet::FLAT.iter().map(|d| sample(d, &[5], &[5], &[5])).collect();
        for (c, x, y) in [
            (&[][..], &[][..], &[][..]),
            (&[0], &[0], &[1]),
            (&[3, 1], &[1, 2], &[]),
            (&[], &[2, 3], &[3]),
            (&[4], &[], &[2, 1]),
        ] {
            out.push(sample(DType::F64, c, x, y));
        }
        let n = samples::EDGES.len();
        out.push(Sample::new(vec![
            tensor(DType::Bool, &[2, 1], &[1.0, 0.0]),
            tensor(DType::F32, &[n], samples::EDGES),
            tensor(DType::F32, &[], &[1.0]),
        ]));
        out
    },
};

const STRINGS: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::STR)];
const NO_STRINGS: Cuda = Cuda::HostFallback("strings live on the host");

/// Extents of the operands of a sample of strings.
const EXTENTS: [(&[usize], &[usize]); 4] = [(&[4], &[4]), (&[], &[]), (&[0], &[1]), (&[2, 1], &[3])];

fn string_pairs() -> Vec<Sample> {
    let words = ["", "a", "ab", "\u{e9}\0", "a", "b"];
    let of = |dims: &[usize], from: usize| strings(dims, &words[from..from + num_elements(dims).unwrap_or(0)]);
    EXTENTS.iter().map(|(a, b)| Sample::new(vec![of(a, 0), of(b, 1)])).collect()
}

/// Elements of one of two tensors of strings.
pub static STRING_SELECT: OpDef = OpDef {
    name: "string_select",
    tf_name: "SelectV2",
    doc: "`x` where `condition` is true, else `y`, of strings.\n\n\
          Elementwise: the result has the shape that the operands broadcast to.\n\n\
          Errors: `InvalidArgument` where the shapes do not broadcast.",
    dtypes: STRINGS,
    operands: &[arg_of("condition", ArgType::Fixed(DType::Bool)), arg("x"), arg("y")],
    attrs: &[],
    effects: &[],
    infer: infer_select,
    cpu: Cpu::Kernel(|call| {
        moving(call, |call| {
            crate::run::select_into(call.inputs[0], call.inputs[1], call.inputs[2], &mut call.outputs[0])
        })
    }),
    cuda: NO_STRINGS,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = string_pairs();
        for sample in &mut out {
            sample.inputs.insert(0, tensor(DType::Bool, sample.inputs[1].dims(), &[0.0, 1.0, 1.0, 0.0]));
        }
        out
    },
};

/// Calls `f` with each pair of strings of two broadcast operands, in the order of the result, whose extents it gives.
fn for_each_pair(
    call: &Call<'_>,
    mut f: impl FnMut(&Bytes, &Bytes) -> Result<()>,
) -> Result<smallvec::SmallVec<[usize; 6]>> {
    let (x, y) = (call.inputs[0], call.inputs[1]);
    let dims = penstock_kernels::broadcast_dims(&[x.dims(), y.dims()]).ok_or_else(|| {
        Error::invalid(format!("Incompatible shapes: {:?} vs. {:?}, which do not broadcast", x.dims(), y.dims()))
    })?;
    let n = num_elements(&dims).ok_or_else(|| Error::exhausted(format!("shape {dims:?} is too large")))?;
    // The position of element `i` of the result in an operand, whose own extents count from the end.
    let position = |operand: &Tensor, mut i: usize| {
        let (mut at, mut step) = (0, 1);
        for (k, &dim) in dims.iter().rev().enumerate() {
            let own = operand.dims().iter().rev().nth(k).copied().unwrap_or(1);
            if own != 1 {
                at += i % dim * step;
            }
            step *= own;
            i /= dim;
        }
        at
    };
    for i in 0..n {
        f(&x.strings()[position(x, i)], &y.strings()[position(y, i)])?;
    }
    Ok(dims)
}

/// The joined strings of two tensors.
pub static STRING_ADD: OpDef = OpDef {
    name: "string_add",
    tf_name: "AddV2",
    doc: "The string `x` followed by the string `y`.\n\n\
          Elementwise: the result has the shape that `x` and `y` broadcast to.\n\n\
          Errors: `InvalidArgument` where the shapes do not broadcast.",
    dtypes: STRINGS,
    operands: &[arg("x"), arg("y")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(Type::tensor(DType::Str, broadcast(&[cx.shape(0), cx.shape(1)])?)),
    cpu: Cpu::Kernel(|call| {
        let mut made: Vec<Bytes> = Vec::new();
        let join = |x: &Bytes, y: &Bytes| memory::joined([&x[..], &y[..]].into_iter(), b"");
        let dims = for_each_pair(call, |x, y| memory::push(&mut made, join(x, y)?))?;
        call.set(0, Tensor::from_strings(&dims, made)?);
        Ok(())
    }),
    cuda: NO_STRINGS,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: string_pairs,
};

macro_rules! string_comparison {
    ($name:ident $text:literal $tf:literal $op:tt $summary:literal) => {
        #[doc = $summary]
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!(
                $summary,
                "\n\nElementwise: the result has the shape that `x` and `y` broadcast to.\n\n",
                "Errors: `InvalidArgument` where the shapes do not broadcast."
            ),
            dtypes: STRINGS,
            operands: &[arg("x"), arg("y")],
            attrs: &[],
            effects: &[],
            infer: |cx| one(Type::tensor(DType::Bool, broadcast(&[cx.shape(0), cx.shape(1)])?)),
            cpu: Cpu::Kernel(|call| {
                let mut out: Vec<Bool8> = Vec::new();
                let dims = for_each_pair(call, |x, y| memory::push(&mut out, Bool8::new(x $op y)))?;
                call.out(0, DType::Bool, &dims)?;
                call.outputs[0].as_mut_slice::<Bool8>().copy_from_slice(&out);
                Ok(())
            }),
            cuda: NO_STRINGS,
            vjp: Vjp::Zero,
            jvp: Jvp::FromVjp,
            batch: Batch::Loop("no form for many examples is known"),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnShapes,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: string_pairs,
        };
    };
}

string_comparison! { STRING_EQUAL "string_equal" "Equal" == "Whether two strings have the same bytes." }
string_comparison! { STRING_NOT_EQUAL "string_not_equal" "NotEqual" != "Whether two strings differ in a byte." }
