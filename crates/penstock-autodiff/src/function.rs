//! Reverse mode of whole functions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_data::{Error, Result};
use penstock_ir::{Builder, Function, Graph, Region, Value, compact, drop_dead};
use penstock_ops::{array, control, list};
use rustc_hash::FxHashMap;

use crate::graph::{GraphPass, captures};
use crate::rules;

/// A function for reverse mode: one that computes the same and keeps what the other needs.
pub struct VjpPair {
    /// From the inputs of the function to its outputs, followed by what else is to be kept.
    /// It is the function itself where nothing else is.
    pub forward: Arc<Function>,
    /// From the residuals, followed by the cotangents of the outputs that have one, to the cotangents
    /// of the inputs that have one. `None` where no input has.
    pub backward: Option<Arc<Function>>,
    /// The leading arguments of `backward`.
    pub residuals: Vec<Residual>,
    /// For each input, which output of `backward` is its cotangent.
    pub grads: Vec<Option<usize>>,
}

/// A value that `backward` takes from the run of `forward`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Residual {
    /// An input of the function.
    Input(usize),
    /// An output of `forward`.
    Output(usize),
}

type Cache = Mutex<HashMap<(Vec<bool>, Vec<bool>), Arc<VjpPair>>>;

thread_local! {
    /// The functions that this thread is differentiating.
    static UNDERWAY: RefCell<Vec<*const Function>> = const { RefCell::new(Vec::new()) };
}

/// The pair of a function: `needed` says which inputs need a cotangent, `flowing` which outputs have
/// one. Outputs and inputs whose dtype carries none are left out of account.
///
/// Made once for each function, `needed` and `flowing`.
///
/// # Errors
/// `Unimplemented` for a function that calls itself, otherwise as [`crate::gradients_in`].
pub fn vjp_function(function: &Arc<Function>, needed: &[bool], flowing: &[bool]) -> Result<Arc<VjpPair>> {
    let signature = function.signature();
    if needed.len() != signature.params.len() || flowing.len() != signature.results.len() {
        return Err(Error::internal("the flags do not fit the function"));
    }
    let mask = |flags: &[bool], types: &[penstock_ir::Type]| -> Vec<bool> {
        flags.iter().zip(types).map(|(f, ty)| *f && rules::carries(ty)).collect()
    };
    let key = (mask(needed, &signature.params), mask(flowing, &signature.results));
    let cache: Arc<Cache> = function.derive(|_| Ok::<Cache, Error>(Mutex::default()))?;
    let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pair) = lock().get(&key).cloned() {
        return Ok(pair);
    }
    let underway = Underway::enter(function)?;
    let made = build(function, &key.0, &key.1)?;
    drop(underway);
    Ok(lock().entry(key).or_insert(Arc::new(made)).clone())
}

/// Marks a function as being differentiated by this thread.
struct Underway;

impl Underway {
    fn enter(function: &Arc<Function>) -> Result<Underway> {
        let this = Arc::as_ptr(function);
        UNDERWAY.with_borrow_mut(|list| {
            if list.contains(&this) {
                let name = function.name();
                return Err(Error::unimplemented(format!("the function {name} calls itself and has no gradient")));
            }
            list.push(this);
            Ok(Underway)
        })
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        UNDERWAY.with_borrow_mut(Vec::pop);
    }
}

fn build(function: &Arc<Function>, needed: &[bool], flowing: &[bool]) -> Result<VjpPair> {
    let Some(graph) = function.graph() else {
        return Err(Error::unimplemented(format!("the function {} is not finished yet", function.name())));
    };
    // Program and derivative are built in one graph, the derivative as a region that sees the
    // program; what it captures is what is to be kept.
    let mut joint = Builder::new(&control::CONST);
    let inputs: Vec<Value> = graph
        .inputs()
        .iter()
        .map(|v| joint.input(graph.ty(*v).clone(), graph.names.get(v).map(AsRef::as_ref)))
        .collect();
    let mut map: FxHashMap<Value, Value> = graph.inputs().iter().copied().zip(inputs.iter().copied()).collect();
    copy(&mut joint, graph, graph.body(), &mut map)?;
    let mut outputs: Vec<Value> = graph.outputs().iter().map(|v| map[v]).collect();
    let body = joint.current();
    let with: Vec<Value> = outputs.iter().zip(flowing).filter(|(_, f)| **f).map(|(v, _)| *v).collect();
    let sources: Vec<Value> = inputs.iter().zip(needed).filter(|(_, n)| **n).map(|(v, _)| *v).collect();
    let types: Vec<_> = with.iter().map(|&v| joint.graph().ty(v).clone()).collect();
    let derivative = joint.begin_region(types);
    let seeds: Vec<(Value, Option<Value>)> =
        with.iter().copied().zip(joint.params(derivative).into_iter().map(Some)).collect();
    let found = GraphPass::new(&mut joint, 1).region(body, &seeds, &sources)?;
    let results: Vec<Value> = found.iter().flatten().copied().collect();
    joint.end_region(&results)?;

    let mut next = 0..;
    let mut found = found.into_iter();
    let grads: Vec<Option<usize>> =
        needed.iter().map(|&n| if n { found.next().flatten().and_then(|_| next.next()) } else { None }).collect();
    if results.is_empty() {
        return Ok(VjpPair { forward: function.clone(), backward: None, residuals: Vec::new(), grads });
    }
    // A rule may emit for an operand whose cotangent nobody wants; what that takes is not worth keeping.
    joint.graph_mut().regions[body].results = outputs.iter().copied().collect();
    drop_dead(joint.graph_mut(), &[body, derivative], &mut || true);

    let mut residuals = Vec::new();
    let mut kept = Vec::new();
    let mut remade = Vec::new();
    let captured = captures(joint.graph(), &[derivative]);
    for &v in &captured {
        if is_remade(joint.graph(), v, &captured) {
            remade.push(v);
            continue;
        }
        kept.push(v);
        residuals.push(if let Some(i) = inputs.iter().position(|&x| x == v) {
            Residual::Input(i)
        } else {
            let i = outputs.iter().position(|&y| y == v).unwrap_or_else(|| {
                outputs.push(v);
                outputs.len() - 1
            });
            Residual::Output(i)
        });
    }
    let backward = extract(joint.graph(), derivative, &kept, &remade)?;
    let backward = Arc::new(Function::new(format!("{}.backward", function.name()), backward));
    let forward = if outputs.len() == graph.outputs().len() {
        function.clone()
    } else {
        joint.graph_mut().regions[body].results = outputs.iter().copied().collect();
        drop_dead(joint.graph_mut(), &[body], &mut || true);
        let forward = compact(&joint.finish(&outputs)?);
        Arc::new(Function::new(format!("{}.forward", function.name()), forward))
    };
    Ok(VjpPair { forward, backward: Some(backward), residuals, grads })
}

/// Whether a captured value is made again rather than kept: a constant, and the shape or length of what is kept.
fn is_remade(graph: &Graph, value: Value, captured: &[Value]) -> bool {
    let Some(inst) = graph.def_inst(value) else { return false };
    let data = &graph.insts[inst];
    let op = data.op.0;
    let of_kept = op.is(&array::SHAPE) || op.is(&list::LIST_LENGTH);
    op.is(&control::CONST) || (of_kept && captured.contains(&data.operands[0]))
}

/// A region as a graph of its own: its inputs are the values `kept` from outside and the region's
/// parameters; the instructions of the values `remade` are copied with it.
fn extract(source: &Graph, region: Region, kept: &[Value], remade: &[Value]) -> Result<Graph> {
    let mut builder = Builder::new(&control::CONST);
    let mut map: FxHashMap<Value, Value> = FxHashMap::default();
    for &v in kept.iter().chain(&source.regions[region].params) {
        let input = builder.input(source.ty(v).clone(), None);
        map.insert(v, input);
    }
    for inst in remade.iter().filter_map(|&v| source.def_inst(v)) {
        builder.copy_inst(source, inst, &mut map)?;
    }
    copy(&mut builder, source, region, &mut map)?;
    let results: Vec<Value> = source.regions[region].results.iter().map(|v| map[v]).collect();
    builder.finish(&results)
}

/// Copies the instructions of a region with all that is known of the shapes of their results.
fn copy(builder: &mut Builder, source: &Graph, region: Region, map: &mut FxHashMap<Value, Value>) -> Result<()> {
    builder.copy_insts(source, region, map)?;
    source.regions[region]
        .insts
        .iter()
        .flat_map(|&inst| &source.insts[inst].results)
        .try_for_each(|v| builder.refine(map[v], source.ty(*v).shape()))
}
