//! Constant folding.

use penstock_data::{DTypeSet, Result, Tensor};
use penstock_ir::{Def, Fold, Graph, Inst, InstData, NoEnv, OpDef, Type, Value, check_results, infer_types};
use penstock_ops::array::{ONES_LIKE, ZEROS_LIKE};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::{make_constant, regions};
use crate::evaluate::{Outputs, evaluate};
use crate::known::sizes;
use crate::specialise::copied;

/// The most bytes of the operands of a folded instruction: more would take long to compute.
const MAX_OPERANDS: usize = 1 << 20;

/// Operators that look at the dtypes and shapes of their operands alone.
static OF_SHAPES: &[&OpDef] = &[&ZEROS_LIKE, &ONES_LIKE];

/// Replaces instructions on constants by their value, and those that depend on known shapes alone. One that fails is left to
/// fail when it runs. What is known of shapes by the constants that were made is inferred, and may be folded in turn.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    while fold(graph, cx) {
        let types: Vec<Type> = graph.inputs().iter().map(|&v| graph.ty(v).clone()).collect();
        // Inference may reject what no run would reach.
        let Ok(known) = copied(graph, &types) else { break };
        *graph = known.into_graph();
    }
    Ok(())
}

/// Folds once; whether something of a shape that is not known depends on what was folded.
///
/// A branch that no run takes may hold what does not type once more is known of its operands: those stay as they are.
fn fold(graph: &mut Graph, cx: &Cx) -> bool {
    let mut made: FxHashMap<Value, (InstData, Type)> = FxHashMap::default();
    for region in regions(graph) {
        for i in 0..graph.regions[region].insts.len() {
            let inst = graph.regions[region].insts[i];
            if let Some(value) = folded(graph, inst, cx.thresholds.folded_bytes)
                && cx.spend()
            {
                let result = graph.insts[inst].results[0];
                made.insert(result, (graph.insts[inst].clone(), graph.ty(result).clone()));
                make_constant(graph, inst, value);
            }
        }
    }
    let mut open = false;
    let mut rejected: Vec<Value> = Vec::new();
    graph.visit(&mut |_, inst, data| {
        if !data.operands.iter().any(|v| made.contains_key(v)) {
            return;
        }
        match infer_types(graph, inst).and_then(|types| check_results(graph, inst, &types)) {
            Ok(()) => open |= data.results.iter().any(|&v| !graph.ty(v).shape().is_static()),
            Err(_) => rejected.extend(&data.operands),
        }
    });
    for value in rejected {
        if let (Some((before, ty)), Def::Result(inst, _)) = (made.remove(&value), graph.values[value].def) {
            graph.insts[inst] = before;
            graph.values[value].ty = ty;
        }
    }
    open
}

fn folded(graph: &Graph, inst: Inst, most: usize) -> Option<Tensor> {
    let data = &graph.insts[inst];
    let ([result], [], Fold::Evaluate) = (&data.results[..], &data.regions[..], data.op.fold) else { return None };
    let ty = graph.ty(*result);
    let too_large = ty.shape().num_elements().is_some_and(|n| n > most / ty.dtype().size().max(1));
    if !data.op.is_pure() || too_large {
        return None;
    }
    if let &[operand] = &data.operands[..]
        && let Some(value) = sizes(data.op.0, &data.attrs, graph.ty(operand))
    {
        return Some(value);
    }
    let of_shapes = OF_SHAPES.iter().any(|op| data.op.is(op));
    let values = data.operands.iter().map(|&v| match graph.constant(v) {
        Some(constant) => Some(constant.clone()),
        None if of_shapes => zeros_of(graph.ty(v)),
        None => None,
    });
    let values: SmallVec<[Tensor; 4]> = values.collect::<Option<_>>()?;
    let inputs: SmallVec<[&Tensor; 4]> = values.iter().collect();
    if inputs.iter().map(|t| t.byte_len()).sum::<usize>() > MAX_OPERANDS {
        return None;
    }
    let mut outputs = Outputs::new();
    evaluate(data.op.0, &data.attrs, &inputs, &mut outputs, &NoEnv).ok()?;
    outputs.pop().filter(|t| t.byte_len() <= most)
}

/// Zeros of a type, where its shape is known.
fn zeros_of(ty: &Type) -> Option<Tensor> {
    let dims = ty.shape().extents().filter(|_| DTypeSet::PLAIN.contains(ty.dtype()))?;
    Tensor::zeros(ty.dtype(), &dims).ok()
}
