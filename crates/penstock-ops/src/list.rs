//! Lists of tensors: arrays that grow, stacks, and what loops keep for their derivative.
//!
//! A list is a `variant` scalar. Operators that change one do so in place where nobody else sees it, so that a loop of
//! writes takes time linear in what is written. An element that is not set stands for zeros. The cotangent of a list
//! is a list of as many elements.

use penstock_data::{DType, DTypeSet, Dim, Error, List, Result, Shape, Tensor};
use penstock_ir::{
    ArgDef, ArgType, AttrDef, AttrDefault, AttrKind, Batch, Cost, Cotangents, Cpu, Cuda, DTypeVar, Elements, Fails,
    Fold, InferCx, Jvp, OpDef, Rows, Sample, Type, Value, Vjp, VjpCx, arg, arg_of,
};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::elements;
use crate::list_kernels as kernels;
use crate::operands::{described_size, index_arg, known_ints, require_dtype, require_rank, shape_of};
use crate::sample_arrays::{f64s, i32s, i64s};
use crate::samples::strings;
use crate::shape_ops::EXPAND_DIMS;
use crate::slicing::SLICE;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &LIST_NEW,
    &LIST_FROM_TENSOR,
    &LIST_LENGTH,
    &LIST_GET,
    &LIST_SET,
    &LIST_TAKE,
    &LIST_ACCUMULATE,
    &LIST_PUSH,
    &LIST_POP,
    &LIST_RESIZE,
    &LIST_STACK,
    &LIST_LENGTHS,
    &LIST_CONCAT,
    &LIST_SPLIT,
    &LIST_ADD,
];

const ON_HOST: Cuda = Cuda::HostFallback("lists live on the host");
const NO_CONSTANT: Fold = Fold::Never("a list is not a constant");
const ELEMENT: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::ALL)];
const ARRAY: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::ANY)];
const LIST: ArgDef = arg_of("list", ArgType::Fixed(DType::Variant));
const DTYPE: AttrDef = AttrDef::required("dtype", AttrKind::DType);

fn list_type() -> Type {
    Type::scalar(DType::Variant)
}

/// What operand `index`, an `element_shape`, says of the elements. Lists are scalars.
fn element(cx: &InferCx<'_>, dtype: DType, index: usize) -> Result<Shape> {
    if dtype == DType::Variant {
        return Ok(Shape::scalar());
    }
    if let Some(tensor) = cx.values.constant(index) {
        return kernels::element_shape(&tensor);
    }
    match cx.shape(index).rank() {
        Some(1) => Ok(match (cx.values.dims(index), cx.shape(index).extents()) {
            (Some(dims), _) => Shape::new(dims),
            (None, Some(n)) => Shape::of_rank(n[0])?,
            (None, None) => Shape::UNRANKED,
        }),
        Some(0) | None => Ok(Shape::UNRANKED),
        Some(rank) => {
            Err(Error::invalid(format!("expected a vector or a scalar, got rank {rank}")).argument("element_shape"))
        }
    }
}

/// The type of the elements at indices that are operand `index`: one, or a row for each.
fn at_indices(cx: &InferCx<'_>, index: usize, dtype: DType, element: &Shape) -> Result<Type> {
    match (cx.shape(index).dims(), element.dims()) {
        (Some([]), _) => Ok(Type::tensor(dtype, element.clone())),
        (Some([_]), _) if dtype == DType::Variant => {
            Err(Error::invalid("lists are read one by one, by a scalar").argument("indices"))
        }
        (Some([n]), Some(dims)) => Ok(Type::tensor(dtype, Shape::new(std::iter::once(*n).chain(dims.iter().copied())))),
        (Some([_]), None) | (None, _) => Ok(Type::tensor(dtype, Shape::UNRANKED)),
        (Some(dims), _) => {
            Err(Error::invalid(format!("expected a scalar or a vector, got rank {}", dims.len())).argument("indices"))
        }
    }
}

/// Checks that operands `index` and `index + 1` are indices and a value, or a row, for each.
fn check_pairs(cx: &InferCx<'_>, index: usize) -> Result<()> {
    match (cx.shape(index).dims(), cx.shape(index + 1).dims()) {
        (Some([]) | None, _) | (_, None) => Ok(()),
        (Some([n]), Some([rows, ..])) if n.compatible(*rows) => Ok(()),
        (Some([n]), Some(_)) => {
            Err(Error::invalid(format!("{n} indices for values of shape {}", cx.shape(index + 1))).argument("values"))
        }
        (Some(dims), _) => {
            Err(Error::invalid(format!("expected a scalar or a vector, got rank {}", dims.len())).argument("indices"))
        }
    }
}

/// The shape of a tensor without its first dimension.
fn rows_of(shape: &Shape, name: &str) -> Result<Shape> {
    match shape.dims() {
        None => Ok(Shape::UNRANKED),
        Some([]) => Err(Error::invalid("a scalar has no rows").argument(name)),
        Some([_, rest @ ..]) => Ok(Shape::new(rest.iter().copied())),
    }
}

/// The `element_shape` of values like this one; for a list its length.
fn shape_as_element(cx: &mut VjpCx<'_>, value: Value) -> Result<Value> {
    if cx.emit.type_of(value).dtype() != DType::Variant {
        return shape_of(cx, value);
    }
    let length = cx.emit.emit(&LIST_LENGTH, &[value], &[])?;
    cx.emit.emit(&EXPAND_DIMS, &[length], &[("axis", 0.into())])
}

/// The `element_shape` of the rows of a value.
fn shape_of_rows(cx: &mut VjpCx<'_>, value: Value) -> Result<Value> {
    if let Some(dims) = cx.emit.type_of(value).shape().extents() {
        let dims: SmallVec<[i64; 6]> = dims.iter().skip(1).map(|&d| d as i64).collect();
        return cx.emit.constant(Tensor::vector(&dims));
    }
    let shape = shape_of(cx, value)?;
    let (begin, size) = (cx.emit.constant(Tensor::vector(&[1i64]))?, cx.emit.constant(Tensor::vector(&[-1i64]))?);
    cx.emit.emit(&SLICE, &[shape, begin, size], &[])
}

/// The zero cotangent of a list.
fn zeros(cx: &mut VjpCx<'_>, list: Value) -> Result<Value> {
    let length = cx.emit.emit(&LIST_LENGTH, &[list], &[])?;
    cx.emit.emit(&LIST_NEW, &[length], &[])
}

fn no_elements(dtype: DType, len: usize) -> Tensor {
    Tensor::from_list(List::new(dtype, Shape::UNRANKED, len))
}

/// A list of `len` elements, some of which are set.
fn list(len: usize, set: &[(usize, Tensor)]) -> Tensor {
    let mut list = List::zeros(len);
    for (i, t) in set {
        list.set(*i, t.clone(), false).expect("the sample fits");
    }
    Tensor::from_list(list)
}

/// Three vectors of two elements, of which the one in the middle is not set.
fn sparse() -> Tensor {
    list(3, &[(0, f64s(&[2])), (2, Tensor::vector(&[0.25f64, -1.5]))])
}

fn words() -> Tensor {
    list(2, &[(0, strings(&[2], &["a", "bc"])), (1, strings(&[2], &["", "d"]))])
}

fn nested() -> Tensor {
    list(2, &[(1, sparse())])
}

/// A new list.
pub static LIST_NEW: OpDef = OpDef {
    name: "list_new",
    tf_name: "TensorListReserve",
    doc: "A list of `length` elements, none of which is set.\n\n\
          What is written to it is of this `dtype`, and of a shape of the type `shape`, where they are given.",
    dtypes: &[],
    operands: &[index_arg("length")],
    attrs: &[AttrDef::optional("dtype", AttrKind::DType), AttrDef::optional("shape", AttrKind::Shape)],
    effects: &[],
    infer: |cx| {
        described_size(cx, 0, "length")?;
        one(list_type())
    },
    cpu: Cpu::Kernel(kernels::new),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Rule(|cx| cx.values.elements(0)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |n: i64, dtype: DType, shape: Shape| {
            Sample::new(vec![Tensor::from(n)]).with("dtype", dtype).with("shape", shape)
        };
        vec![
            of(3, DType::F64, Shape::known(&[2])),
            of(0, DType::Str, Shape::UNRANKED),
            of(1 << 40, DType::Variant, Shape::scalar()),
            Sample::new(vec![Tensor::from(2i32)]),
        ]
    },
};

/// The rows of an array.
pub static LIST_FROM_TENSOR: OpDef = OpDef {
    name: "list_from_tensor",
    tf_name: "TensorListFromTensor",
    doc: "The list of the rows of `tensor`, which it shares: as many as its first dimension has.",
    dtypes: ARRAY,
    operands: &[arg("tensor")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        rows_of(cx.shape(0), "tensor")?;
        one(list_type())
    },
    cpu: Cpu::Kernel(kernels::from_tensor),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let (x, g) = (cx.inputs[0], cx.grads[0].unwrap_or(cx.outputs[0]));
        let ty = cx.emit.type_of(x);
        let shape = shape_of_rows(cx, x)?;
        let stacked = match ty.shape().dims().and_then(|d| d.first()).and_then(|d| d.known()) {
            Some(n) => {
                cx.emit.emit(&LIST_STACK, &[g, shape], &[("dtype", ty.dtype().into()), ("num", (n as i64).into())])
            }
            None => cx.emit.emit(&LIST_STACK, &[g, shape], &[("dtype", ty.dtype().into())]),
        };
        Ok(smallvec![Some(stacked?)])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::list_from_tensor),
    rows: Rows::All,
    elements: Elements::Rule(elements::rows),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        [f64s(&[3, 2]), f64s(&[2]), f64s(&[0, 3]), f64s(&[2, 5, 4]), strings(&[2, 1], &["a", "b"]), i32s(&[1, 2])]
            .map(|x| Sample::new(vec![x]))
            .into()
    },
};

/// The number of elements.
pub static LIST_LENGTH: OpDef = OpDef {
    name: "list_length",
    tf_name: "TensorListLength",
    doc: "The number of elements of `list`, unset ones included; `i32` or `i64`.",
    dtypes: &[],
    operands: &[LIST],
    attrs: &[AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::I64))],
    effects: &[],
    infer: |cx| one(Type::scalar(require_dtype(cx.attrs.dtype(0), DTypeSet::INDEX, "dtype")?)),
    cpu: Cpu::Kernel(kernels::length),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Same(batch_rules::all),
    rows: Rows::All,
    elements: Elements::Operand(|_, _| Some(0)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        vec![Sample::new(vec![sparse()]), Sample::new(vec![no_elements(DType::F32, 0)]).with("dtype", DType::I32)]
    },
};

/// Elements by index.
pub static LIST_GET: OpDef = OpDef {
    name: "list_get",
    tf_name: "TensorListGetItem",
    doc: "The elements of `list` at `indices`: one for a scalar, for a vector one beside the other along a new first \
          dimension.\n\n\
          They are of this `dtype`. `element_shape` is their shape, with -1 for a size that is not known, or a scalar -1; \
          an element that is not set is zeros of that shape, which must be known then. An index outside of the list is \
          an error.",
    dtypes: &[],
    operands: &[LIST, index_arg("indices"), index_arg("element_shape")],
    attrs: &[DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = cx.attrs.dtype(0);
        one(at_indices(cx, 1, dtype, &element(cx, dtype, 2)?)?)
    },
    cpu: Cpu::Kernel(kernels::get),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let blank = zeros(cx, cx.inputs[0])?;
        let all = cx.emit.emit(&LIST_ACCUMULATE, &[blank, cx.inputs[1], g], &[])?;
        Ok(smallvec![Some(all), None, None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::list_get),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, indices: Tensor, shape: Tensor, dtype: DType| {
            Sample::new(vec![list, indices, shape]).with("dtype", dtype)
        };
        vec![
            of(sparse(), Tensor::from(2i64), i64s(&[2]), DType::F64),
            of(sparse(), Tensor::from(1i32), i64s(&[2]), DType::F64),
            of(sparse(), i64s(&[2, 0, 1, 2]), i64s(&[2]), DType::F64),
            of(sparse(), i64s(&[]), i64s(&[2]), DType::F64),
            of(words(), i64s(&[1]), i64s(&[2]), DType::Str),
            of(nested(), Tensor::from(1i64), i64s(&[3]), DType::Variant),
            of(nested(), Tensor::from(0i64), i64s(&[3]), DType::Variant),
        ]
    },
};

/// Writes elements by index.
pub static LIST_SET: OpDef = OpDef {
    name: "list_set",
    tf_name: "TensorListSetItem",
    doc: "`list` with `values` at `indices`: one element for a scalar, for a vector the rows of `values`.\n\n\
          Of equal indices the last counts. With `grow` the list becomes long enough, else an index outside of it is an \
          error.",
    dtypes: ELEMENT,
    operands: &[LIST, index_arg("indices"), arg("values")],
    attrs: &[AttrDef::flag("grow", false)],
    effects: &[],
    infer: |cx| {
        check_pairs(cx, 1)?;
        one(list_type())
    },
    cpu: Cpu::Update(kernels::set),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let (list, indices, values) = (cx.inputs[0], cx.inputs[1], cx.inputs[2]);
        let dtype = cx.emit.type_of(values).dtype();
        if !dtype.carries_cotangents() {
            return Ok(smallvec![None; 3]);
        }
        let whole = shape_as_element(cx, values)?;
        let shape = match cx.emit.type_of(indices).shape().rank() {
            Some(0) => whole,
            Some(_) => shape_of_rows(cx, values)?,
            None => return Err(Error::unimplemented("needs to know whether the indices are a scalar or a vector")),
        };
        let taken = cx.emit.emit_all(&LIST_TAKE, &[g, indices, shape], &[("dtype", dtype.into())])?;
        let rest = if cx.attrs.flag(0) && cx.needed[0] {
            let length = cx.emit.emit(&LIST_LENGTH, &[list], &[])?;
            cx.emit.emit(&LIST_RESIZE, &[taken[0], length], &[])?
        } else {
            taken[0]
        };
        Ok(smallvec![cx.needed[0].then_some(rest), None, Some(taken[1])])
    }),
    jvp: Jvp::Linear(&[0, 2]),
    batch: Batch::Rule(batch_rules::list_set),
    rows: Rows::All,
    elements: Elements::Operand(|attrs, _| (!attrs.flag(0)).then_some(0)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, indices: Tensor, values: Tensor| Sample::new(vec![list, indices, values]);
        vec![
            of(sparse(), Tensor::from(1i64), f64s(&[2])),
            of(sparse(), Tensor::from(0i32), f64s(&[2])),
            of(sparse(), Tensor::from(5i64), f64s(&[2])).with("grow", true),
            of(sparse(), i64s(&[2, 1, 2]), f64s(&[3, 2])),
            of(sparse(), i64s(&[]), f64s(&[0, 2])),
            of(words(), Tensor::from(0i64), strings(&[], &["x"])),
            of(nested(), Tensor::from(0i64), sparse()),
        ]
    },
};

/// Takes elements out by index.
pub static LIST_TAKE: OpDef = OpDef {
    name: "list_take",
    tf_name: "TensorListTakeItem",
    doc: "`list` with the elements at `indices` unset, and those elements, as `list_get` gives them.\n\n\
          Of equal indices the last gives the element, the others zeros: it is the adjoint of `list_set`.",
    dtypes: &[],
    operands: &[LIST, index_arg("indices"), index_arg("element_shape")],
    attrs: &[DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = cx.attrs.dtype(0);
        Ok(smallvec![list_type(), at_indices(cx, 1, dtype, &element(cx, dtype, 2)?)?])
    },
    cpu: Cpu::Update(kernels::take),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let (list, indices, dtype) = (cx.inputs[0], cx.inputs[1], cx.attrs.dtype(0));
        let rest = match cx.grads[0] {
            Some(g) => g,
            None => zeros(cx, list)?,
        };
        let all = match cx.grads[1] {
            Some(g) => cx.emit.emit(&LIST_SET, &[rest, indices, g], &[])?,
            None => cx.emit.emit_all(&LIST_TAKE, &[rest, indices, cx.inputs[2]], &[("dtype", dtype.into())])?[0],
        };
        Ok(smallvec![Some(all), None, None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::list_get),
    rows: Rows::All,
    elements: Elements::Operand(|_, k| (k == 0).then_some(0)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, indices: Tensor, shape: Tensor, dtype: DType| {
            Sample::new(vec![list, indices, shape]).with("dtype", dtype)
        };
        vec![
            of(sparse(), Tensor::from(0i64), i64s(&[2]), DType::F64),
            of(sparse(), Tensor::from(1i64), i64s(&[2]), DType::F64),
            of(sparse(), i64s(&[2, 0, 1, 2]), i64s(&[2]), DType::F64),
            of(words(), Tensor::from(1i64), i64s(&[2]), DType::Str),
            of(nested(), Tensor::from(1i64), i64s(&[3]), DType::Variant),
        ]
    },
};

/// Adds to elements by index.
pub static LIST_ACCUMULATE: OpDef = OpDef {
    name: "list_accumulate",
    tf_name: "TensorListAccumulateItem",
    doc: "`list` with `values` added to the elements at `indices`: for a vector of indices the rows of `values`, those of \
          equal indices too.\n\n\
          An element that is not set becomes the value: it is the adjoint of `list_get`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC.or(DTypeSet::VARIANT))],
    operands: &[LIST, index_arg("indices"), arg("values")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        check_pairs(cx, 1)?;
        one(list_type())
    },
    cpu: Cpu::Update(kernels::accumulate),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let (indices, values) = (cx.inputs[1], cx.inputs[2]);
        let dtype = cx.emit.type_of(values).dtype();
        let mut out: Cotangents = smallvec![Some(g), None, None];
        if cx.needed[2] && dtype.carries_cotangents() {
            let shape = match cx.emit.type_of(indices).shape().rank() {
                Some(0) => shape_as_element(cx, values)?,
                Some(_) => shape_of_rows(cx, values)?,
                None => return Err(Error::unimplemented("needs to know whether the indices are a scalar or a vector")),
            };
            out[2] = Some(cx.emit.emit(&LIST_GET, &[g, indices, shape], &[("dtype", dtype.into())])?);
        }
        Ok(out)
    }),
    jvp: Jvp::Linear(&[0, 2]),
    batch: Batch::Rule(batch_rules::list_set),
    rows: Rows::All,
    elements: Elements::Operand(|_, _| Some(0)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, indices: Tensor, values: Tensor| Sample::new(vec![list, indices, values]);
        vec![
            of(sparse(), Tensor::from(1i64), f64s(&[2])),
            of(sparse(), Tensor::from(0i32), f64s(&[2])),
            of(sparse(), i64s(&[2, 1, 2, 2]), f64s(&[4, 2])),
            of(sparse(), i64s(&[]), f64s(&[0, 2])),
            of(list(2, &[(0, i32s(&[1, 2]))]), Tensor::from(0i64), i32s(&[3, i32::MAX])),
            of(nested(), Tensor::from(1i64), sparse()),
        ]
    },
};

/// Adds an element at the end.
pub static LIST_PUSH: OpDef = OpDef {
    name: "list_push",
    tf_name: "TensorListPushBack",
    doc: "`list` with `value` behind its last element.",
    dtypes: ELEMENT,
    operands: &[LIST, arg("value")],
    attrs: &[],
    effects: &[],
    infer: |_| one(list_type()),
    cpu: Cpu::Update(kernels::push),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let (value, g) = (cx.inputs[1], cx.grads[0].unwrap_or(cx.outputs[0]));
        let dtype = cx.emit.type_of(value).dtype();
        if !dtype.carries_cotangents() {
            return Ok(smallvec![None; 2]);
        }
        let shape = shape_as_element(cx, value)?;
        let out = cx.emit.emit_all(&LIST_POP, &[g, shape], &[("dtype", dtype.into())])?;
        Ok(smallvec![cx.needed[0].then_some(out[0]), Some(out[1])])
    }),
    jvp: Jvp::Linear(&[0, 1]),
    batch: Batch::Rule(batch_rules::all),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, value: Tensor| Sample::new(vec![list, value]);
        vec![
            of(sparse(), f64s(&[2])),
            of(no_elements(DType::F64, 0), f64s(&[2, 3])),
            of(words(), strings(&[], &["x"])),
            of(nested(), sparse()),
        ]
    },
};

/// Removes the last element.
pub static LIST_POP: OpDef = OpDef {
    name: "list_pop",
    tf_name: "TensorListPopBack",
    doc: "`list` without its last element, and that element, of this `dtype` and as `list_get` gives it.\n\n\
          An empty list is an error.",
    dtypes: &[],
    operands: &[LIST, index_arg("element_shape")],
    attrs: &[DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = cx.attrs.dtype(0);
        Ok(smallvec![list_type(), Type::tensor(dtype, element(cx, dtype, 1)?)])
    },
    cpu: Cpu::Update(kernels::pop),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let rest = match cx.grads[0] {
            Some(g) => g,
            None => zeros(cx, cx.outputs[0])?,
        };
        let all = match cx.grads[1] {
            Some(g) => cx.emit.emit(&LIST_PUSH, &[rest, g], &[])?,
            None => {
                let length = cx.emit.emit(&LIST_LENGTH, &[cx.inputs[0]], &[])?;
                cx.emit.emit(&LIST_RESIZE, &[rest, length], &[])?
            }
        };
        Ok(smallvec![Some(all), None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::list_pop),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, shape: Tensor, dtype: DType| Sample::new(vec![list, shape]).with("dtype", dtype);
        vec![
            of(sparse(), i64s(&[2]), DType::F64),
            of(list(2, &[(0, f64s(&[2]))]), i64s(&[2]), DType::F64),
            of(words(), i64s(&[2]), DType::Str),
            of(nested(), i64s(&[3]), DType::Variant),
        ]
    },
};

/// Another length.
pub static LIST_RESIZE: OpDef = OpDef {
    name: "list_resize",
    tf_name: "TensorListResize",
    doc: "`list` with `length` elements: those at the end are dropped, or unset ones are added.",
    dtypes: &[],
    operands: &[LIST, index_arg("length")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        described_size(cx, 1, "length")?;
        one(list_type())
    },
    cpu: Cpu::Update(kernels::resize),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let length = cx.emit.emit(&LIST_LENGTH, &[cx.inputs[0]], &[])?;
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        Ok(smallvec![Some(cx.emit.emit(&LIST_RESIZE, &[g, length], &[])?), None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::list_resize),
    rows: Rows::All,
    elements: Elements::Rule(|cx| cx.values.elements(1)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || [0i64, 2, 3, 7].map(|n| Sample::new(vec![sparse(), Tensor::from(n)])).into(),
};

/// All elements in one array.
pub static LIST_STACK: OpDef = OpDef {
    name: "list_stack",
    tf_name: "TensorListStack",
    doc: "The elements of `list`, all of one shape, along a new first dimension.\n\n\
          `dtype` and `element_shape` are as for `list_get`; where `num` is given the list has so many elements.",
    dtypes: &[],
    operands: &[LIST, index_arg("element_shape")],
    attrs: &[DTYPE, AttrDef::optional("num", AttrKind::Int)],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::ANY, "dtype")?;
        let num = match cx.attrs.opt_int(1).and_then(|n| usize::try_from(n).ok()) {
            Some(num) => Dim::Known(num),
            None => cx.values.dims(0).map_or(Dim::Unknown, |length| length[0]),
        };
        let shape = match element(cx, dtype, 1)?.dims() {
            Some(dims) => Shape::new(std::iter::once(num).chain(dims.iter().copied())),
            None => Shape::UNRANKED,
        };
        one(Type::tensor(dtype, shape))
    },
    cpu: Cpu::Kernel(kernels::stack),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        Ok(smallvec![Some(cx.emit.emit(&LIST_FROM_TENSOR, &[g], &[])?), None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::list_stack),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, shape: Tensor, dtype: DType| Sample::new(vec![list, shape]).with("dtype", dtype);
        let num = |list: &Tensor| list.list().map_or(0, |l| l.len() as i64);
        let with_num = |list: Tensor, shape: Tensor, dtype: DType| {
            let n = num(&list);
            of(list, shape, dtype).with("num", n)
        };
        vec![
            with_num(sparse(), i64s(&[2]), DType::F64),
            of(sparse(), i64s(&[-1]), DType::F64),
            of(sparse(), Tensor::from(-1i64), DType::F64),
            with_num(no_elements(DType::F64, 0), i64s(&[2, 3]), DType::F64),
            with_num(no_elements(DType::I32, 2), i64s(&[2]), DType::I32),
            with_num(words(), i64s(&[2]), DType::Str),
        ]
    },
};

/// The sizes of the elements.
pub static LIST_LENGTHS: OpDef = OpDef {
    name: "list_lengths",
    tf_name: "TensorListLengths",
    doc: "The size of each element of `list` along its first dimension, `i64`; `element_shape` is as for `list_get`.",
    dtypes: &[],
    operands: &[LIST, index_arg("element_shape")],
    attrs: &[],
    effects: &[],
    infer: |_| one(Type::tensor(DType::I64, Shape::new([Dim::Unknown]))),
    cpu: Cpu::Kernel(kernels::lengths),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("it counts along the first axis of elements, where those of a mapped list have the examples"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![sparse(), i64s(&[2])]),
            Sample::new(vec![list(2, &[(0, f64s(&[4, 1])), (1, f64s(&[0, 1]))]), i64s(&[-1, 1])]),
        ]
    },
};

/// All elements one after the other.
pub static LIST_CONCAT: OpDef = OpDef {
    name: "list_concat",
    tf_name: "TensorListConcatV2",
    doc: "The elements of `list`, one after the other along their first dimension.\n\n\
          `lengths` are their sizes along it. `dtype` and `element_shape` are as for `list_get`, but for the first size, \
          which is of no account.",
    dtypes: &[],
    operands: &[LIST, index_arg("lengths"), index_arg("element_shape")],
    attrs: &[DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::ANY, "dtype")?;
        require_rank(cx, 1, 1, "lengths")?;
        let total = known_ints(cx, 1)
            .and_then(|n| n.into_iter().try_fold(0i64, |a, b| a.checked_add(b?)))
            .and_then(|n| usize::try_from(n).ok());
        let element = element(cx, dtype, 2)?;
        let shape = match rows_of(&element, "element_shape")?.dims() {
            Some(dims) => {
                Shape::new(std::iter::once(total.map_or(Dim::Unknown, Dim::Known)).chain(dims.iter().copied()))
            }
            None => Shape::UNRANKED,
        };
        one(Type::tensor(dtype, shape))
    },
    cpu: Cpu::Kernel(kernels::concat),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        Ok(smallvec![Some(cx.emit.emit(&LIST_SPLIT, &[g, cx.inputs[1]], &[])?), None, None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Loop("it counts along the first axis of elements, where those of a mapped list have the examples"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let of = |list: Tensor, lengths: Tensor, shape: Tensor, dtype: DType| {
            Sample::new(vec![list, lengths, shape]).with("dtype", dtype)
        };
        let rows = || list(3, &[(0, f64s(&[2, 2])), (2, f64s(&[0, 2]))]);
        vec![
            of(rows(), i64s(&[2, 3, 0]), i64s(&[-1, 2]), DType::F64),
            of(sparse(), i64s(&[2, 2, 2]), i64s(&[2]), DType::F64),
            of(no_elements(DType::F64, 0), i64s(&[]), i64s(&[-1, 3]), DType::F64),
            of(words(), i64s(&[2, 2]), i64s(&[-1]), DType::Str),
        ]
    },
};

/// The pieces of an array.
pub static LIST_SPLIT: OpDef = OpDef {
    name: "list_split",
    tf_name: "TensorListSplit",
    doc: "The list of the pieces of `tensor` of so many rows each; `lengths` sum to the number of rows. They share the \
          data of `tensor`.",
    dtypes: ARRAY,
    operands: &[arg("tensor"), index_arg("lengths")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        rows_of(cx.shape(0), "tensor")?;
        require_rank(cx, 1, 1, "lengths")?;
        one(list_type())
    },
    cpu: Cpu::Kernel(kernels::split),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let (x, g) = (cx.inputs[0], cx.grads[0].unwrap_or(cx.outputs[0]));
        let (dtype, shape) = (cx.emit.type_of(x).dtype(), shape_of(cx, x)?);
        let joined = cx.emit.emit(&LIST_CONCAT, &[g, cx.inputs[1], shape], &[("dtype", dtype.into())])?;
        Ok(smallvec![Some(joined), None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Loop("it counts along the first axis of elements, where those of a mapped list have the examples"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        vec![
            Sample::new(vec![f64s(&[5, 2]), i64s(&[2, 0, 3])]),
            Sample::new(vec![f64s(&[0]), i64s(&[])]),
            Sample::new(vec![strings(&[2], &["a", "b"]), i64s(&[1, 1])]),
        ]
    },
};

/// The sum of two lists.
pub static LIST_ADD: OpDef = OpDef {
    name: "list_add",
    tf_name: "TensorListAdd",
    doc: "The list of the sums of the elements of `x` and `y` at equal indices.\n\n\
          It is as long as the longer, takes time linear in the elements of `y` that are set, and is the sum of \
          cotangents.",
    dtypes: &[],
    operands: &[arg_of("x", ArgType::Fixed(DType::Variant)), arg_of("y", ArgType::Fixed(DType::Variant))],
    attrs: &[],
    effects: &[],
    infer: |_| one(list_type()),
    cpu: Cpu::Update(kernels::add),
    cuda: ON_HOST,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0];
        Ok(smallvec![g, g])
    }),
    jvp: Jvp::AllLinear,
    batch: Batch::Rule(batch_rules::all),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NO_CONSTANT,
    promise: PROMISE,
    samples: || {
        let other = || list(3, &[(1, f64s(&[2])), (2, f64s(&[2]))]);
        vec![
            Sample::new(vec![sparse(), other()]),
            Sample::new(vec![no_elements(DType::F64, 3), sparse()]),
            Sample::new(vec![sparse(), no_elements(DType::F64, 3)]),
            Sample::new(vec![nested(), nested()]),
        ]
    },
};
