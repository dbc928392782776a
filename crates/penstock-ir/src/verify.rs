//! The verifier: whether a graph is well formed and well typed.

use std::sync::LazyLock;

use penstock_data::{Class, Error, Result, settings};
use penstock_kernels::stack;
use smallvec::SmallVec;

use crate::attr::{AttrDefault, Attrs};
use crate::builder::signatures;
use crate::elements::GraphValues;
use crate::entities::{Entity, Inst, Region, Value};
use crate::graph::{Def, Graph, Verified};
use crate::op::{InferCx, OpDef, OutTypes};
use crate::print::summary;
use crate::types::Type;

/// Checks a graph.
///
/// - Every id is in range; every listed instruction and region has one place, every value one definition.
/// - Operands and results of regions are defined earlier, in the same region or one around it.
/// - Attributes and operands are as the operator declares.
/// - Each result has a type that agrees with the one inferred. It may say more about the shape.
///
/// The order of effects is the order of the instruction lists, and so needs no check.
///
/// # Errors
/// `InvalidArgument`, or the class that inference reports, with the instruction, its operator and location.
pub fn verify(graph: &Graph) -> Result<()> {
    if graph.regions.is_empty() {
        return Err(Error::invalid("the graph has no body"));
    }
    stack::with_room(graph.depth(), || verify_here(graph))?
}

fn verify_here(graph: &Graph) -> Result<()> {
    if graph.locs.len() != graph.insts.len() {
        return Err(Error::invalid(format!("{} instructions have {} locations", graph.insts.len(), graph.locs.len())));
    }
    if let Some(v) = graph.names.keys().find(|&&v| graph.values.get(v).is_none()) {
        return Err(Error::invalid(format!("{v} has a name but does not exist")));
    }
    let mut verifier = Verifier {
        graph,
        regions: vec![false; graph.regions.len()],
        insts: vec![false; graph.insts.len()],
        values: vec![State::Unseen; graph.values.len()],
    };
    verifier.region(graph.body(), None)
}

/// Whether what is trusted is verified all the same: in debug builds, and where the environment has `PENSTOCK_VERIFY=1`.
static CHECKS: LazyLock<bool> = LazyLock::new(|| settings::flag("PENSTOCK_VERIFY", false) || cfg!(debug_assertions));

/// Whether what is trusted is verified all the same, as [`Verified::trusted`] does: in debug builds, and where the environment has
/// `PENSTOCK_VERIFY=1`.
pub fn checks_trusted() -> bool {
    *CHECKS
}

impl Verified {
    /// A graph that is verified now.
    ///
    /// # Errors
    /// As [`verify`].
    pub fn new(graph: Graph) -> Result<Verified> {
        verify(&graph).map(|()| Verified::accepted(graph))
    }

    /// A graph that `by`, a pass say, has made of a verified one. It is verified where [`checks_trusted`] says so.
    ///
    /// # Errors
    /// As [`verify_after`].
    ///
    /// # Safety
    /// [`verify`] accepts the graph.
    #[expect(unsafe_code, reason = "whoever calls this warrants what is not looked at")]
    pub unsafe fn trusted(graph: Graph, by: &str) -> Result<Verified> {
        if checks_trusted() {
            verify_after(&graph, by)?;
        }
        Ok(Verified::accepted(graph))
    }
}

/// As [`verify`], after the pass `pass`.
///
/// # Errors
/// `Internal`, naming the pass and what [`verify`] reports: a pass never makes a wrong graph of a right one.
/// `FailedPrecondition` where the graph calls a function that is freed, which no pass is to blame for.
pub fn verify_after(graph: &Graph, pass: &str) -> Result<()> {
    verify(graph).map_err(|e| {
        if e.class() == Class::FailedPrecondition {
            return e;
        }
        let error = Error::internal(format!("the graph is wrong after the pass '{pass}': {e}"));
        e.loc().map_or(error.clone(), |loc| error.at(loc))
    })
}

/// The result types that its declaration gives for an instruction whose operands, attributes and
/// regions stand in the graph. The operands must be well typed.
///
/// # Errors
/// What is wrong with attributes or operands, or what inference reports.
pub fn infer_types(graph: &Graph, inst: Inst) -> Result<OutTypes> {
    let operands = &graph.insts[inst].operands;
    let inputs: SmallVec<[Type; 4]> = operands.iter().map(|&v| graph.ty(v).clone()).collect();
    infer_types_for(graph, inst, &inputs)
}

/// As [`infer_types`], if the operands had these types.
///
/// # Errors
/// As [`infer_types`].
pub fn infer_types_for(graph: &Graph, inst: Inst, inputs: &[Type]) -> Result<OutTypes> {
    let data = &graph.insts[inst];
    check_attrs(data.op.0, &data.attrs)?;
    let signatures = signatures(graph, &data.attrs, &data.regions)?;
    let values = GraphValues { graph, operands: &data.operands };
    data.op.0.infer_types(&InferCx { inputs, attrs: &data.attrs, regions: &signatures, values: &values })
}

/// Checks the types that an instruction's results have against those inferred.
///
/// # Errors
/// `InvalidArgument` naming the result.
pub fn check_results(graph: &Graph, inst: Inst, inferred: &[Type]) -> Result<()> {
    let results = &graph.insts[inst].results;
    if results.len() != inferred.len() {
        return Err(Error::invalid(format!("has {} result(s), but gives {}", results.len(), inferred.len())));
    }
    for (i, (&result, inferred)) in results.iter().zip(inferred).enumerate() {
        let recorded = graph.ty(result);
        let same_kind = recorded.dtype() == inferred.dtype() && recorded.is_variable() == inferred.is_variable();
        if !same_kind || recorded.shape().merge(inferred.shape()).is_none() {
            return Err(Error::invalid(format!("result {i} has type {recorded}, but the inferred type is {inferred}")));
        }
    }
    Ok(())
}

/// Checks that attributes are those that an operator declares.
///
/// # Errors
/// `InvalidArgument`, naming the attribute.
pub(crate) fn check_attrs(op: &'static OpDef, attrs: &Attrs) -> Result<()> {
    let (defs, attrs) = (op.attrs, &attrs.0);
    if defs.len() != attrs.len() {
        return Err(Error::invalid(format!("has {} attribute(s), but declares {}", attrs.len(), defs.len())));
    }
    for (def, attr) in defs.iter().zip(attrs) {
        let fits = match attr.kind() {
            Some(kind) => kind == def.kind,
            None => def.default == AttrDefault::Optional,
        };
        if !fits {
            return Err(Error::invalid(format!("expected {:?}, got {attr:?}", def.kind)).argument(def.name));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    InScope,
    OutOfScope,
}

struct Verifier<'a> {
    graph: &'a Graph,
    /// Whether each region has been met.
    regions: Vec<bool>,
    /// Whether each instruction has been met.
    insts: Vec<bool>,
    values: Vec<State>,
}

impl Verifier<'_> {
    /// Checks a region that `owner` owns; `None` for the body.
    fn region(&mut self, region: Region, owner: Option<Inst>) -> Result<()> {
        let graph = self.graph;
        let wrong = |e| owner.map_or_else(|| Error::clone(&e), |inst| in_inst(graph, inst, &e));
        match self.regions.get_mut(region.index()) {
            None => return Err(wrong(Error::invalid(format!("{region} does not exist")))),
            Some(true) => return Err(wrong(Error::invalid(format!("{region} has two places")))),
            Some(met) => *met = true,
        }
        let data = &graph.regions[region];
        for (i, &param) in data.params.iter().enumerate() {
            self.define(param, Def::Param(i as u32), region).map_err(wrong)?;
        }
        for &inst in &data.insts {
            match self.insts.get_mut(inst.index()) {
                None => return Err(wrong(Error::invalid(format!("{region} lists {inst}, which does not exist")))),
                Some(true) => return Err(in_inst(graph, inst, &Error::invalid("the instruction has two places"))),
                Some(met) => *met = true,
            }
            self.inst(inst, region)?;
        }
        for &result in &data.results {
            self.check_use(result)
                .map_err(|e| wrong(Error::invalid(format!("{} as a result of {region}", e.message()))))?;
        }
        let results = data.insts.iter().flat_map(|&i| &graph.insts[i].results);
        for v in results.chain(&data.params) {
            self.values[v.index()] = State::OutOfScope;
        }
        Ok(())
    }

    fn inst(&mut self, inst: Inst, region: Region) -> Result<()> {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let wrong = |e| in_inst(graph, inst, &e);
        for &operand in &data.operands {
            self.check_use(operand).map_err(wrong)?;
        }
        for &inner in &data.regions {
            self.region(inner, Some(inst))?;
        }
        for (i, &result) in data.results.iter().enumerate() {
            self.define(result, Def::Result(inst, i as u32), region).map_err(wrong)?;
        }
        infer_types(graph, inst).and_then(|inferred| check_results(graph, inst, &inferred)).map_err(wrong)
    }

    fn define(&mut self, value: Value, def: Def, region: Region) -> Result<()> {
        let Some(data) = self.graph.values.get(value) else {
            return Err(Error::invalid(format!("{value} does not exist")));
        };
        if self.values[value.index()] != State::Unseen {
            return Err(Error::invalid(format!("{value} is defined twice")));
        }
        if data.def != def || data.region != region {
            return Err(Error::invalid(format!(
                "{value} is recorded as {:?} of {}, but stands as {def:?} of {region}",
                data.def, data.region
            )));
        }
        self.values[value.index()] = State::InScope;
        Ok(())
    }

    fn check_use(&self, value: Value) -> Result<()> {
        match self.values.get(value.index()) {
            None => Err(Error::invalid(format!("{value} does not exist"))),
            Some(State::Unseen) => Err(Error::invalid(format!("{value} is used before it is defined"))),
            Some(State::OutOfScope) => Err(Error::invalid(format!("{value} is out of scope"))),
            Some(State::InScope) => Ok(()),
        }
    }
}

/// The error, naming the instruction, its operator and its location.
fn in_inst(graph: &Graph, inst: Inst, error: &Error) -> Error {
    let data = &graph.insts[inst];
    let message = format!("{} (in {inst}: {})", error.message(), summary(data));
    let named = Error::new(error.class(), message).in_op(data.op.0.name).at(graph.locs[inst]);
    match error.argument_name() {
        Some(argument) => named.argument(argument),
        None => named,
    }
}
