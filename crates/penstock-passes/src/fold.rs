//! Constant folding.

use penstock_data::{DTypeSet, Result, Tensor};
use penstock_ir::{Fold, Graph, Inst, NoEnv, Type, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::{make_constant, regions};
use crate::evaluate::{Outputs, evaluate};
use crate::specialise;

/// The most bytes of the operands of a folded instruction: more would take long to compute.
const MAX_OPERANDS: usize = 1 << 20;

/// Operators that look at the dtypes and shapes of their operands alone.
const OF_SHAPES: &[&str] = &["zeros_like", "ones_like"];

/// Replaces instructions on constants by their value, and those that depend on known shapes alone. One that fails is left to
/// fail when it runs. What is known of shapes by the constants that were made is inferred, and may be folded in turn.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    while fold(graph, cx) {
        let types: Vec<Type> = graph.inputs().iter().map(|&v| graph.ty(v).clone()).collect();
        // Inference may reject what no run would reach.
        let Ok(known) = specialise(graph, &types) else { break };
        *graph = known;
    }
    Ok(())
}

/// Folds once; whether something of a shape that is not known depends on what was folded.
fn fold(graph: &mut Graph, cx: &Cx) -> bool {
    let mut made: FxHashSet<Value> = FxHashSet::default();
    for region in regions(graph) {
        for i in 0..graph.regions[region].insts.len() {
            let inst = graph.regions[region].insts[i];
            if let Some(value) = folded(graph, inst, cx.thresholds.folded_bytes)
                && cx.spend()
            {
                make_constant(graph, inst, value);
                made.insert(graph.insts[inst].results[0]);
            }
        }
    }
    let mut open = false;
    graph.visit(&mut |_, _, data| {
        open |= data.operands.iter().any(|v| made.contains(v))
            && data.results.iter().any(|&v| !graph.ty(v).shape().is_static());
    });
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
    let of_shapes = OF_SHAPES.contains(&data.op.name);
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
