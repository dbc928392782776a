//! Values that types tell, and small ones that are computed while a graph is copied: shape arithmetic.

use penstock_data::{DType, Tensor, num_elements};
use penstock_ir::{Attrs, Fold, Graph, GraphValues, KnownValues, NoEnv, OpDef, Type, Value};
use penstock_ops::array::{RANK, SHAPE, SIZE};
use penstock_ops::cast::CAST;
use penstock_ops::joining::{CONCAT, STACK};
use penstock_ops::slicing::STRIDED_SLICE;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::evaluate::{self, Outputs};

/// The most elements of an operand or result of shape arithmetic.
pub(crate) const SMALL: usize = 256;

/// The value of an instruction that asks for sizes alone, where the type of its operand tells them.
pub(crate) fn sizes(op: &OpDef, attrs: &Attrs, operand: &Type) -> Option<Tensor> {
    let shape = operand.shape();
    if op.is(&SHAPE) {
        integers(attrs.opt_dtype(0)?, &shape.extents()?, true)
    } else if op.is(&SIZE) {
        integers(attrs.opt_dtype(0)?, &[num_elements(&shape.extents()?)?], false)
    } else if op.is(&RANK) {
        integers(DType::I32, &[shape.rank()?], false)
    } else {
        None
    }
}

fn integers(dtype: DType, values: &[usize], vector: bool) -> Option<Tensor> {
    let wide: SmallVec<[i64; 6]> = values.iter().map(|&n| i64::try_from(n).ok()).collect::<Option<_>>()?;
    let narrow = || wide.iter().map(|&n| i32::try_from(n).ok()).collect::<Option<SmallVec<[i32; 6]>>>();
    match (dtype, vector) {
        (DType::I32, true) => Some(Tensor::vector(&narrow()?)),
        (DType::I32, false) => Some(Tensor::from(narrow()?[0])),
        (DType::I64, true) => Some(Tensor::vector(&wide)),
        (DType::I64, false) => Some(Tensor::from(wide[0])),
        _ => None,
    }
}

/// The value of an instruction on integers and booleans, where it is small and follows from what is known of its operands.
pub(crate) fn small_value(graph: &Graph, op: &'static OpDef, attrs: &Attrs, operands: &[Value]) -> Option<Tensor> {
    if op.fold != Fold::Evaluate || !op.is_pure() {
        return None;
    }
    if let &[operand] = operands
        && let Some(value) = sizes(op, attrs, graph.ty(operand))
    {
        return Some(value);
    }
    let inputs: SmallVec<[&Tensor; 4]> = operands.iter().map(|&v| graph.constant(v)).collect::<Option<_>>()?;
    match &computed(op, attrs, &inputs, counts)?[..] {
        [value] => Some(value.clone()),
        _ => None,
    }
}

/// The values of an instruction on these operands, where all of them are small and of dtypes that `of` takes.
fn computed(op: &'static OpDef, attrs: &Attrs, inputs: &[&Tensor], of: fn(DType) -> bool) -> Option<Outputs> {
    if !inputs.iter().all(|t| of(t.dtype()) && t.len() <= SMALL) {
        return None;
    }
    let types = evaluate::infer(op, attrs, inputs).ok()?;
    if !types.iter().all(|ty| of(ty.dtype()) && ty.shape().num_elements().is_none_or(|n| n <= SMALL)) {
        return None;
    }
    let mut outputs = Outputs::new();
    #[expect(unsafe_code, reason = "runs a kernel on checked operands")]
    // SAFETY: the types were inferred above.
    unsafe {
        evaluate::compute(op, attrs, inputs, &types, &mut outputs, &NoEnv).ok()?;
    }
    outputs.iter().all(|t| t.len() <= SMALL).then_some(outputs)
}

/// The value of a shape or size that was computed from ones that are known in part: `x.shape[0]` where other extents are not.
pub(crate) fn picked(graph: &Graph, op: &OpDef, result: Value) -> Option<Tensor> {
    let picks = [&STRIDED_SLICE, &STACK, &CONCAT, &CAST].iter().any(|known| op.is(known));
    let ty = graph.ty(result);
    let rank = ty.shape().rank().filter(|&rank| picks && rank < 2)?;
    let elements = GraphValues { graph, operands: &[result] }.elements(0)?;
    let values: SmallVec<[usize; 6]> = elements.iter().map(|e| e.dim().known()).collect::<Option<_>>()?;
    integers(ty.dtype(), &values, rank == 1)
}

/// The most instructions that [`value_of`] looks at.
const LOOKED_AT: usize = 64;

/// What a value of an unfinished graph is known to be: a constant, or small numbers that are computed of constants and of
/// extents that types tell.
pub fn value_of(graph: &Graph, value: Value) -> Option<Tensor> {
    known_value(graph, value, &mut FxHashMap::default())
}

fn known_value(graph: &Graph, value: Value, seen: &mut FxHashMap<Value, Option<Tensor>>) -> Option<Tensor> {
    if let Some(constant) = graph.constant(value) {
        return Some(constant.clone());
    }
    if let Some(known) = seen.get(&value) {
        return known.clone();
    }
    if seen.len() >= LOOKED_AT {
        return None;
    }
    seen.insert(value, None);
    let found = made_value(graph, value, seen);
    seen.insert(value, found.clone());
    found
}

fn made_value(graph: &Graph, value: Value, seen: &mut FxHashMap<Value, Option<Tensor>>) -> Option<Tensor> {
    let data = &graph.insts[graph.def_inst(value)?];
    let op = data.op.0;
    if op.fold != Fold::Evaluate || !op.is_pure() || !is_number(graph.ty(value).dtype()) {
        return None;
    }
    let place = data.results.iter().position(|&result| result == value)?;
    if let &[operand] = &data.operands[..]
        && let Some(known) = sizes(op, &data.attrs, graph.ty(operand))
    {
        return Some(known);
    }
    if let Some(known) = picked(graph, op, value) {
        return Some(known);
    }
    let known = |&v: &Value| known_value(graph, v, seen);
    let inputs: SmallVec<[Tensor; 4]> = data.operands.iter().map(known).collect::<Option<_>>()?;
    let inputs: SmallVec<[&Tensor; 4]> = inputs.iter().collect();
    computed(op, &data.attrs, &inputs, is_number)?.into_iter().nth(place)
}

fn counts(dtype: DType) -> bool {
    dtype.is_integer() || dtype == DType::Bool
}

fn is_number(dtype: DType) -> bool {
    counts(dtype) || dtype.is_float()
}
