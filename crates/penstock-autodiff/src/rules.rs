//! The vjp rule of one instruction, and the few instructions that reverse mode adds by itself.

use num_traits::One;
use penstock_data::{DType, Error, Result, Tensor, num_elements, with_dtype};
use penstock_ir::{Attrs, Cotangents, Emitter, OpDef, Type, Value, Vjp, VjpCx};
use penstock_ops::{array, binary, list, state};

/// Constants of up to this many elements stand in the graph as they are; larger ones are filled.
const INLINE_ELEMENTS: usize = 16;

/// Whether values of this type carry cotangents.
pub(crate) fn carries(ty: &Type) -> bool {
    ty.dtype().carries_cotangents()
}

/// Whether an instruction takes part in a reverse pass. One that has no derivative does: asking
/// for a cotangent through it is an error, while one whose derivative is zero ends the path.
pub(crate) fn takes_part(op: &OpDef) -> bool {
    !matches!(op.vjp, Vjp::Zero)
}

/// Applies the rule of an operator.
pub(crate) fn apply(
    emit: &mut dyn Emitter,
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[Value],
    outputs: &[Value],
    grads: &[Option<Value>],
    needed: &[bool],
) -> Result<Cotangents> {
    match op.vjp {
        Vjp::Rule(rule) => {
            rule(&mut VjpCx { emit, ops: &penstock_ops::RULE_OPS, attrs, inputs, outputs, grads, needed })
        }
        Vjp::Zero => Ok(Cotangents::from_elem(None, inputs.len())),
        Vjp::NonDifferentiable(reason) => Err(Error::not_found(format!("has no gradient: {reason}"))),
        Vjp::Structural if op.is(&state::READ_VARIABLE) => Ok(grads.into()),
        Vjp::Structural => Err(Error::internal("its derivative is not made by a rule")),
    }
    .map_err(|e| e.in_op(op.name))
}

/// The sum of two cotangents.
pub(crate) fn add(emit: &mut dyn Emitter, a: Value, b: Value) -> Result<Value> {
    let op = if emit.type_of(a).dtype() == DType::Variant { &list::LIST_ADD } else { &binary::ADD };
    emit.emit(op, &[a, b], &[])
}

/// A tensor of the dtype and shape of `like`, every element one: the cotangent of a target for which
/// the caller gave none.
pub(crate) fn ones(emit: &mut dyn Emitter, like: Value) -> Result<Value> {
    filled(emit, like, |dtype, dims| {
        with_dtype!(inexact, dtype, T => Tensor::from_slice(dims, &vec![T::one(); dims.iter().product()]),
            else Err(Error::internal("ones of a dtype that carries no cotangents")))
    })
}

/// A tensor of the dtype and shape of `like`, every element zero; a list of as many unset elements.
pub(crate) fn zeros(emit: &mut dyn Emitter, like: Value) -> Result<Value> {
    if emit.type_of(like).dtype() == DType::Variant {
        let length = emit.emit(&list::LIST_LENGTH, &[like], &[])?;
        return emit.emit(&list::LIST_NEW, &[length], &[]);
    }
    filled(emit, like, Tensor::zeros)
}

/// The extents of a tensor or a variable as an `i64` vector: a constant where all are known.
pub(crate) fn shape(emit: &mut dyn Emitter, of: Value) -> Result<Value> {
    let ty = emit.type_of(of);
    if let Some(dims) = ty.shape().extents() {
        return emit.constant(Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>()));
    }
    let value = if ty.is_variable() { emit.emit(&state::READ_VARIABLE, &[of], &[])? } else { of };
    emit.emit(&array::SHAPE, &[value], &[("dtype", DType::I64.into())])
}

fn filled(emit: &mut dyn Emitter, like: Value, make: impl Fn(DType, &[usize]) -> Result<Tensor>) -> Result<Value> {
    let ty = emit.type_of(like);
    let extents = ty.shape().extents();
    if let Some(dims) = &extents
        && num_elements(dims).is_some_and(|n| n <= INLINE_ELEMENTS)
    {
        return emit.constant(make(ty.dtype(), dims)?);
    }
    let shape = shape(emit, like)?;
    let element = emit.constant(make(ty.dtype(), &[])?)?;
    emit.emit(&array::FILL, &[shape, element], &[])
}
