//! Reverse mode of whole functions.

use std::cell::RefCell;
use std::sync::Arc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{
    Attr, Builder, Counter, Derived, Function, Graph, Kept, Region, Signature, Type, Value, Verified, drop_dead, stack,
};
use penstock_ops::{array, control, list};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{GraphPass, captures};
use crate::repeat::element_shape;
use crate::rules;

/// A function for reverse mode: one that computes the same and keeps what the other needs.
pub struct VjpPair {
    /// What runs in place of the function, where more than its outputs is to be kept; see [`VjpPair::forward`].
    keeping: Option<Arc<Function>>,
    /// From the residuals, followed by the cotangents of the outputs that have one, to the cotangents
    /// of the inputs that have one. `None` where no input has.
    pub backward: Option<Arc<Function>>,
    /// The leading arguments of `backward`.
    pub residuals: Vec<Residual>,
    /// For each input, which output of `backward` is its cotangent.
    pub grads: Vec<Option<usize>>,
}

impl VjpPair {
    /// From the inputs of `function`, of which this is the pair, to its outputs, followed by what else is to be kept.
    /// It is `function` itself where nothing else is: a pair holds no reference to its function, which holds the pair.
    pub fn forward<'a>(&'a self, function: &'a Arc<Function>) -> &'a Arc<Function> {
        self.keeping.as_ref().unwrap_or(function)
    }
}

/// A value that `backward` takes from the run of the forward function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Residual {
    /// An input of the function.
    Input(usize),
    /// An output of the forward function.
    Output(usize),
}

/// Which inputs need a cotangent, and which outputs have one.
type Key = (Vec<bool>, Vec<bool>);
type Cache = Kept<Key, VjpPair>;

impl Derived for VjpPair {
    fn count(&self, census: &mut dyn Counter) -> bool {
        self.keeping.iter().chain(&self.backward).all(|function| census.function(function))
    }
}

thread_local! {
    /// The pairs of recursive functions that this thread is making, and those that refer to them, outermost first.
    static UNDERWAY: RefCell<Vec<Underway>> = const { RefCell::new(Vec::new()) };
}

/// The pair of a function that calls itself, perhaps through others. It is declared before it is made, so that it can
/// refer to itself.
struct Underway {
    function: Arc<Function>,
    key: Key,
    pair: Arc<VjpPair>,
}

/// The pair of a function: `needed` says which inputs need a cotangent, `flowing` which outputs have
/// one. Outputs and inputs whose dtype carries none are left out of account.
///
/// Made once for each function, `needed` and `flowing`.
///
/// # Errors
/// `Unimplemented` for a function that is only declared, otherwise as [`crate::gradients_in`].
pub fn vjp_function(function: &Arc<Function>, needed: &[bool], flowing: &[bool]) -> Result<Arc<VjpPair>> {
    let signature = function.signature();
    if needed.len() != signature.params.len() || flowing.len() != signature.results.len() {
        return Err(Error::internal("the flags do not fit the function"));
    }
    let mask = |flags: &[bool], types: &[Type]| -> Vec<bool> {
        flags.iter().zip(types).map(|(f, ty)| *f && rules::carries(ty)).collect()
    };
    let key = (mask(needed, &signature.params), mask(flowing, &signature.results));
    if let Some(pair) = cache_of(function)?.get(&key) {
        return Ok(pair);
    }
    let open = UNDERWAY.with_borrow(|list| {
        list.iter().find(|u| Arc::ptr_eq(&u.function, function) && u.key == key).map(|u| u.pair.clone())
    });
    if let Some(pair) = open {
        return Ok(pair);
    }
    let Some(graph) = function.graph() else {
        return Err(Error::unimplemented(format!("the function {} is not finished yet", function.name())));
    };
    stack::check(graph.depth())?;
    if calls_itself(function) && key.0.contains(&true) && key.1.contains(&true) {
        return recursive(function, graph, key);
    }
    let made = Arc::new(Joint::of(graph, &key.0, &key.1, false)?.pair(function)?);
    Ok(cache_of(function)?.keep(key, made))
}

fn cache_of(function: &Function) -> Result<Arc<Cache>> {
    function.derive(|_| Ok::<Cache, Error>(Cache::default()))
}

/// Whether a function can come to be called while it runs.
fn calls_itself(function: &Arc<Function>) -> bool {
    let callees = |f: &Function| -> Vec<Arc<Function>> {
        let mut found = Vec::new();
        if let Some(graph) = f.graph() {
            graph.visit(&mut |_, _, data| {
                found.extend(data.attrs.0.iter().filter_map(|a| match a {
                    Attr::Func(f) => f.get().ok(),
                    _ => None,
                }));
            });
        }
        found
    };
    let mut seen: FxHashSet<*const Function> = FxHashSet::default();
    let mut work = callees(function);
    while let Some(callee) = work.pop() {
        if Arc::ptr_eq(&callee, function) {
            return true;
        }
        if seen.insert(Arc::as_ptr(&callee)) {
            work.extend(callees(&callee));
        }
    }
    false
}

/// The pair of a function that calls itself. Its types are known ahead: what is kept goes into one list, and every
/// input that needs a cotangent has one, zeros where none flows.
fn recursive(function: &Arc<Function>, graph: &Graph, key: Key) -> Result<Arc<VjpPair>> {
    let signature = function.signature();
    let pick = |mask: &[bool], types: &[Type]| -> Vec<Type> {
        mask.iter()
            .zip(types)
            .filter(|(m, _)| **m)
            .map(|(_, ty)| Type::tensor(ty.dtype(), ty.shape().clone()))
            .collect()
    };
    let packed = Type::scalar(DType::Variant);
    let mut forward = signature.clone();
    forward.results.push(packed.clone());
    let variables: Vec<usize> = (0..signature.params.len()).filter(|&i| signature.params[i].is_variable()).collect();
    let mut backward = Signature { params: vec![packed], results: pick(&key.0, &signature.params) };
    backward.params.extend(variables.iter().map(|&i| signature.params[i].clone()));
    backward.params.extend(pick(&key.1, &signature.results));
    let mut residuals = vec![Residual::Output(signature.results.len())];
    residuals.extend(variables.iter().map(|&i| Residual::Input(i)));
    let mut next = 0..;
    let pair = Arc::new(VjpPair {
        keeping: Some(Arc::new(Function::declare(format!("{}.forward", function.name()), forward))),
        backward: Some(Arc::new(Function::declare(format!("{}.backward", function.name()), backward))),
        residuals,
        grads: key.0.iter().map(|&n| if n { next.next() } else { None }).collect(),
    });
    let place = UNDERWAY.with_borrow_mut(|list| {
        list.push(Underway { function: function.clone(), key: key.clone(), pair: pair.clone() });
        list.len() - 1
    });
    let made = Joint::of(graph, &key.0, &key.1, true).and_then(|joint| joint.define(&pair));
    // Until the outermost is done, what was made refers to functions that may not come to be.
    let done = UNDERWAY.with_borrow_mut(|list| match made {
        Ok(()) if place > 0 => Vec::new(),
        _ => list.split_off(place),
    });
    made?;
    for u in done {
        cache_of(&u.function)?.keep(u.key, u.pair);
    }
    Ok(pair)
}

/// Program and derivative in one graph, the derivative as a region that sees the program; what it
/// captures is what is to be kept.
struct Joint {
    builder: Builder,
    inputs: Vec<Value>,
    /// What the function gives.
    outputs: Vec<Value>,
    derivative: Region,
    /// The cotangent of each input among the results of the derivative.
    grads: Vec<Option<usize>>,
    kept: Vec<Value>,
    remade: Vec<Value>,
}

impl Joint {
    /// With `complete`, every input that needs a cotangent has one.
    fn of(graph: &Graph, needed: &[bool], flowing: &[bool], complete: bool) -> Result<Joint> {
        let mut joint = Builder::new(&control::CONST);
        let inputs: Vec<Value> = graph
            .inputs()
            .iter()
            .map(|v| joint.input(graph.ty(*v).clone(), graph.names.get(v).map(AsRef::as_ref)))
            .collect();
        let mut map: FxHashMap<Value, Value> = graph.inputs().iter().copied().zip(inputs.iter().copied()).collect();
        joint.copy_insts(graph, graph.body(), &mut map)?;
        let outputs: Vec<Value> = graph.outputs().iter().map(|v| map[v]).collect();
        let body = joint.current();
        let with: Vec<Value> = outputs.iter().zip(flowing).filter(|(_, f)| **f).map(|(v, _)| *v).collect();
        let sources: Vec<Value> = inputs.iter().zip(needed).filter(|(_, n)| **n).map(|(v, _)| *v).collect();
        let types: Vec<_> = with.iter().map(|&v| joint.graph().ty(v).clone()).collect();
        let derivative = joint.begin_region(types);
        let seeds: Vec<(Value, Option<Value>)> =
            with.iter().copied().zip(joint.params(derivative).into_iter().map(Some)).collect();
        let mut pass = GraphPass::new(&mut joint, 1);
        let mut found = pass.region(body, &seeds, &sources)?;
        if complete {
            for (grad, &source) in found.iter_mut().zip(&sources) {
                if grad.is_none() {
                    *grad = Some(rules::zeros(&mut pass, source)?);
                }
            }
        }
        let results: Vec<Value> = found.iter().flatten().copied().collect();
        joint.end_region(&results)?;

        let mut next = 0..;
        let mut found = found.into_iter();
        let grads: Vec<Option<usize>> =
            needed.iter().map(|&n| if n { found.next().flatten().and_then(|_| next.next()) } else { None }).collect();
        // A rule may emit for an operand whose cotangent nobody wants; what that takes is not worth keeping.
        joint.graph_mut().regions[body].results = outputs.iter().copied().collect();
        drop_dead(joint.graph_mut(), &[body, derivative], &mut || true);
        let captured = captures(joint.graph(), &[derivative]);
        let all = captured.iter().copied().collect();
        let (remade, kept) = captured.iter().partition(|&&v| is_remade(joint.graph(), v, &all));
        Ok(Joint { builder: joint, inputs, outputs, derivative, grads, kept, remade })
    }

    fn forward(mut self, outputs: &[Value]) -> Result<Verified> {
        let graph = self.builder.graph_mut();
        let body = graph.body();
        graph.regions[body].results = outputs.into();
        drop_dead(graph, &[body], &mut || true);
        #[expect(unsafe_code, reason = "the pass changes the program in place")]
        // SAFETY: the program is a verified graph, to which the pass adds what its derivative wants: instructions behind what they
        // take, results of branches and variables of loops with all that belongs to them. The derivative is no part of what is left.
        let graph = unsafe { self.builder.finish_trusted(outputs, "reverse mode")? };
        Ok(graph.compact())
    }

    /// The pair that passes each kept value by itself.
    fn pair(self, function: &Arc<Function>) -> Result<VjpPair> {
        let grads = self.grads.clone();
        if self.builder.graph().regions[self.derivative].results.is_empty() {
            return Ok(VjpPair { keeping: None, backward: None, residuals: Vec::new(), grads });
        }
        let mut outputs = self.outputs.clone();
        let inputs: FxHashMap<Value, usize> = first_places(&self.inputs);
        let mut given: FxHashMap<Value, usize> = first_places(&outputs);
        let residuals = self
            .kept
            .iter()
            .map(|&v| match inputs.get(&v) {
                Some(&i) => Residual::Input(i),
                None => Residual::Output(*given.entry(v).or_insert_with(|| {
                    outputs.push(v);
                    outputs.len() - 1
                })),
            })
            .collect();
        let mut builder = Builder::new(&control::CONST);
        let source = self.builder.graph();
        let map = self.kept.iter().map(|&v| (v, builder.input(source.ty(v).clone(), None))).collect();
        let backward = extract(builder, source, self.derivative, map, &self.remade)?;
        let backward = Arc::new(Function::new(format!("{}.backward", function.name()), backward));
        let keeping = if outputs.len() == self.outputs.len() {
            None
        } else {
            Some(Arc::new(Function::new(format!("{}.forward", function.name()), self.forward(&outputs)?)))
        };
        Ok(VjpPair { keeping, backward: Some(backward), residuals, grads })
    }

    /// Defines the functions of a declared pair, which pass all kept tensors in one list. Tensors of any dtype go into it,
    /// so each is in a list of its own.
    fn define(mut self, pair: &VjpPair) -> Result<()> {
        let mut builder = Builder::new(&control::CONST);
        let packed = builder.input(Type::scalar(DType::Variant), None);
        let source = self.builder.graph();
        let mut map: FxHashMap<Value, Value> = FxHashMap::default();
        for &v in self.inputs.iter().filter(|&&v| source.ty(v).is_variable()) {
            map.insert(v, builder.input(source.ty(v).clone(), None));
        }
        // The parameters of the region follow, so that its inputs come before its instructions.
        for &v in &source.regions[self.derivative].params {
            map.insert(v, builder.input(source.ty(v).clone(), None));
        }
        let kept: Vec<Value> = self.kept.iter().copied().filter(|&v| !source.ty(v).is_variable()).collect();
        for (i, &v) in kept.iter().enumerate() {
            let (ty, index) = (source.ty(v).clone(), builder.constant(Tensor::from(i as i64)));
            let none = builder.constant(Tensor::vector::<i64>(&[0]));
            let single = builder.emit(&list::LIST_GET, &[packed, index, none], &[("dtype", DType::Variant.into())])?[0];
            let first = builder.constant(Tensor::from(0i64));
            let shape = builder.constant(element_shape(&ty));
            let value = builder.emit(&list::LIST_GET, &[single, first, shape], &[("dtype", ty.dtype().into())])?[0];
            builder.refine(value, ty.shape())?;
            map.insert(v, value);
        }
        let backward = extract(builder, source, self.derivative, map, &self.remade)?;

        let none = self.builder.constant(Tensor::from(0i64));
        let mut pack = self.builder.emit(&list::LIST_NEW, &[none], &[("dtype", DType::Variant.into())])?[0];
        for &v in &kept {
            let single = self.builder.emit(&list::LIST_NEW, &[none], &[])?[0];
            let single = self.builder.emit(&list::LIST_PUSH, &[single, v], &[])?[0];
            pack = self.builder.emit(&list::LIST_PUSH, &[pack, single], &[])?[0];
        }
        let outputs: Vec<Value> = self.outputs.iter().copied().chain([pack]).collect();
        let forward = self.forward(&outputs)?;
        pair.keeping.as_ref().map_or(Ok(()), |f| f.define(forward))?;
        pair.backward.as_ref().map_or(Ok(()), |f| f.define(backward))
    }
}

/// Whether a captured value is made again rather than kept: a constant, and the shape or length of what is kept.
fn is_remade(graph: &Graph, value: Value, captured: &FxHashSet<Value>) -> bool {
    let Some(inst) = graph.def_inst(value) else { return false };
    let data = &graph.insts[inst];
    let op = data.op.0;
    let of_kept = op.is(&array::SHAPE) || op.is(&list::LIST_LENGTH);
    op.is(&control::CONST) || (of_kept && captured.contains(&data.operands[0]))
}

/// Where each value comes first.
fn first_places(values: &[Value]) -> FxHashMap<Value, usize> {
    values.iter().enumerate().rev().map(|(i, &v)| (v, i)).collect()
}

/// A region as a graph of its own: `map` says what the kept values from outside are in `builder`, whose further inputs
/// are the region's parameters; the instructions of the values `remade` are copied with it.
fn extract(
    mut builder: Builder,
    source: &Graph,
    region: Region,
    mut map: FxHashMap<Value, Value>,
    remade: &[Value],
) -> Result<Verified> {
    for &v in &source.regions[region].params {
        map.entry(v).or_insert_with(|| builder.input(source.ty(v).clone(), None));
    }
    for inst in remade.iter().filter_map(|&v| source.def_inst(v)) {
        builder.copy_inst(source, inst, &mut map)?;
    }
    builder.copy_insts(source, region, &mut map)?;
    let results: Vec<Value> = source.regions[region].results.iter().map(|v| map[v]).collect();
    builder.finish(&results)
}
