//! Copies a graph for more exact input types: calls are inlined, every type is inferred anew, and what the sizes tell is
//! computed on the way.

use std::sync::Arc;

use penstock_data::{DTypeSet, Dim, Error, Loc, Result, Shape, Symbol};
use penstock_ir::{
    Attr, Attrs, Builder, Function, Graph, Inst, InstData, MAX_NESTING, Region, Type, Value, Verified, stack,
};
use penstock_ops::array::PLACEHOLDER_WITH_DEFAULT;
use penstock_ops::control::{CALL, CONST, WHILE, WITH_GRADIENT, results_with_gradient};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::branch::taken;
use crate::elements::{Elements, Written};
use crate::known::{picked, small_value};

/// Calls are inlined while the copy has fewer instructions than this.
const INLINE_LIMIT: usize = 50_000;

/// A copy of `graph` for inputs of these types, with calls inlined where the callee does not call itself, and walks of what
/// comes of it have room on the stack.
///
/// Symbols whose size `types` gives are replaced by it. Loop variables take the most exact types that their first
/// values and the body agree on, and what is read from a list the shape of what was written. Integers and booleans that follow
/// from sizes are constants, and of a conditional on one the branch that is taken is left.
///
/// What inference rejects for more exact types may never run. It stays, on operands that hide what is known of them, and is
/// rejected when it runs.
///
/// # Errors
/// `InvalidArgument` where these are not types of the inputs; what inference reports for the types that the graph has.
pub fn specialise(graph: &Verified, types: &[Type]) -> Result<Verified> {
    let inputs = graph.inputs();
    if types.len() != inputs.len() {
        return Err(Error::invalid(format!("{} types for {} inputs", types.len(), inputs.len())).argument("types"));
    }
    for (i, (ty, own)) in types.iter().zip(inputs.iter().map(|&v| graph.ty(v))).enumerate() {
        if !ty.agrees_with(own) {
            return Err(Error::invalid(format!("type {i} is {ty}, input {i} is {own}")).argument("types"));
        }
    }
    copied(graph, types)
}

/// As [`specialise`], of a graph that is being changed, for types of its inputs.
pub(crate) fn copied(graph: &Graph, types: &[Type]) -> Result<Verified> {
    let mut builder = Builder::new(&CONST);
    builder.make_room(graph.len());
    let args: Vec<Value> = graph
        .inputs()
        .iter()
        .zip(types)
        .map(|(v, ty)| builder.input(ty.clone(), graph.names.get(v).map(|n| &**n)))
        .collect();
    let mut copier =
        Copier { builder, elements: Elements::default(), callers: Vec::new(), level: 0, room: stack::levels_left() };
    let outputs = copier.body(graph, &args)?;
    copier.builder.finish(&outputs)
}

struct Copier {
    builder: Builder,
    /// What the lists of the copy hold.
    elements: Elements,
    /// The functions that are being inlined, and where they are called, outermost first.
    callers: Vec<(*const Function, Loc)>,
    /// How many regions and inlined functions are open, and how many walks have room for.
    level: usize,
    room: usize,
}

/// The graph that is copied, and what became of its values and symbols.
struct Source<'a> {
    graph: &'a Graph,
    values: FxHashMap<Value, Value>,
    symbols: FxHashMap<Symbol, Dim>,
    /// Whether symbols that are not in the table mean the same in the copy.
    keep_symbols: bool,
    /// The types that the variables of loops were widened to, and what those that are lists hold, by their bodies. A loop in loops whose own variables widen is
    /// copied again, with types that are no more exact: it goes on from there.
    widened: FxHashMap<Region, (Vec<Type>, Vec<Written>)>,
}

impl Source<'_> {
    fn shape(&self, shape: &Shape) -> Shape {
        let Some(dims) = shape.dims() else { return Shape::UNRANKED };
        Shape::new(dims.iter().map(|&d| match d {
            Dim::Sym(s) => self.symbols.get(&s).copied().unwrap_or(if self.keep_symbols { d } else { Dim::Unknown }),
            known => known,
        }))
    }

    fn ty(&self, ty: &Type) -> Type {
        ty.with_shape(self.shape(ty.shape()))
    }

    fn attrs(&self, attrs: &Attrs) -> Attrs {
        let mut attrs = attrs.clone();
        for attr in &mut attrs.0 {
            match attr {
                Attr::Shape(shape) => *shape = self.shape(shape),
                Attr::Types(types) => *types = types.iter().map(|t| self.ty(t)).collect(),
                _ => {}
            }
        }
        attrs
    }
}

impl Copier {
    /// Copies the body of a graph to the current place and gives what its outputs became.
    fn body(&mut self, graph: &Graph, args: &[Value]) -> Result<SmallVec<[Value; 4]>> {
        let mut symbols = FxHashMap::default();
        for (&input, &arg) in graph.inputs().iter().zip(args) {
            let (Some(from), Some(to)) = (graph.ty(input).shape().dims(), self.builder.graph().ty(arg).shape().dims())
            else {
                continue;
            };
            for (from, to) in from.iter().zip(to) {
                if let Dim::Sym(symbol) = *from {
                    let known = symbols.entry(symbol).or_insert(*to);
                    *known = known.merge(*to).unwrap_or(*known);
                }
            }
        }
        let mut values: FxHashMap<Value, Value> = FxHashMap::default();
        values.reserve(graph.values.len());
        values.extend(graph.inputs().iter().copied().zip(args.iter().copied()));
        let mut source =
            Source { graph, values, symbols, keep_symbols: self.callers.is_empty(), widened: FxHashMap::default() };
        self.insts(&mut source, graph.body())?;
        Ok(graph.outputs().iter().map(|v| source.values[v]).collect())
    }

    fn insts(&mut self, source: &mut Source<'_>, region: Region) -> Result<()> {
        let graph = source.graph;
        for &inst in &graph.regions[region].insts {
            let outer = self.builder.loc();
            let site = self.callers.last().map_or(Loc::UNKNOWN, |(_, site)| *site);
            self.builder.set_loc(graph.locs[inst].within(site));
            let copied = self.inst(source, inst);
            self.builder.set_loc(outer);
            copied?;
        }
        Ok(())
    }

    fn inst(&mut self, source: &mut Source<'_>, inst: Inst) -> Result<()> {
        let graph = source.graph;
        let data = &graph.insts[inst];
        let operands: SmallVec<[Value; 4]> = data.operands.iter().map(|v| source.values[v]).collect();
        let results = match self.inlinable(&data.op, &data.attrs, &operands) {
            Some(callee) => self.inlined(&callee, &operands)?,
            // A gradient of its own is of no use where the graph runs.
            None if data.op.is(&WITH_GRADIENT) => operands[..results_with_gradient(&data.attrs)].into(),
            None => match taken(self.builder.graph(), data, &operands) {
                Some(region) => {
                    self.insts(source, region)?;
                    graph.regions[region].results.iter().map(|v| source.values[v]).collect()
                }
                None => self.copied(source, data, &operands)?,
            },
        };
        for (&old, &new) in data.results.iter().zip(&results) {
            source.values.insert(old, new);
            self.builder
                .refine(new, &source.shape(graph.ty(old).shape()))
                .map_err(|e| e.in_op(data.op.name).at(graph.locs[inst]))?;
            if let Some(name) = graph.names.get(&old)
                && !self.builder.graph().names.contains_key(&new)
            {
                self.builder.name(new, name);
            }
        }
        Ok(())
    }

    fn inlined(&mut self, callee: &Arc<Function>, operands: &[Value]) -> Result<SmallVec<[Value; 4]>> {
        self.callers.push((Arc::as_ptr(callee), self.builder.loc()));
        self.level += 1;
        let outputs = callee.graph().map(|body| self.body(body, operands));
        self.callers.pop();
        self.level -= 1;
        outputs.unwrap_or_else(|| Ok(SmallVec::new()))
    }

    /// The results of the copy of an instruction that stays.
    fn copied(&mut self, source: &mut Source<'_>, data: &InstData, operands: &[Value]) -> Result<SmallVec<[Value; 4]>> {
        let attrs = source.attrs(&data.attrs);
        let value = small_value(self.builder.graph(), data.op.0, &attrs, operands);
        if let Some(value) = value.or_else(|| self.elements.value(self.builder.graph(), data.op.0, &attrs, operands)) {
            let constant = self.builder.constant(value);
            if self.fits(source, data, &[constant]) {
                return Ok(smallvec![constant]);
            }
        }
        let graph = source.graph;
        let mut held = Vec::new();
        let regions: SmallVec<[Region; 2]> = if data.op.is(&WHILE) {
            let (regions, written) = self.loop_regions(source, &data.regions, operands)?;
            held = written;
            regions
        } else {
            let copy = |r: &Region| {
                let params = graph.regions[*r].params.iter().map(|&p| source.ty(graph.ty(p))).collect();
                self.region(source, *r, params, &[])
            };
            data.regions.iter().map(copy).collect::<Result<_>>()?
        };
        let made = match self.builder.inst(data.op.0, operands, attrs.clone(), &regions) {
            Ok(inst) if self.fits(source, data, self.builder.results(inst)) => Ok(inst),
            Ok(inst) if !data.op.is_pure() || !regions.is_empty() => Ok(inst),
            // It is rejected when it runs, if it does.
            rejected => self.hidden(source, data, operands).and_then(|hidden| match hidden[..] == *operands {
                true => rejected,
                false => self.builder.inst(data.op.0, &hidden, attrs, &regions),
            }),
        }?;
        if let &[result] = self.builder.results(made)
            && let Some(value) = picked(self.builder.graph(), data.op.0, result)
        {
            return Ok(smallvec![self.builder.constant(value)]);
        }
        if regions.is_empty() {
            self.elements.note(&mut self.builder, made);
        } else if data.op.is(&WHILE) {
            self.elements.note_loop(self.builder.results(made), held);
        } else {
            self.elements.note_branches(self.builder.graph(), made);
        }
        Ok(self.builder.results(made).into())
    }

    /// Whether results have the types that the source promises.
    fn fits(&self, source: &Source<'_>, data: &InstData, results: &[Value]) -> bool {
        let mut pairs = data.results.iter().zip(results);
        pairs.all(|(&old, &new)| {
            let promised = source.shape(source.graph.ty(old).shape());
            self.builder.graph().ty(new).shape().merge(&promised).is_some()
        })
    }

    /// The operands, of which inference knows what it knows in the source, and no more.
    fn hidden(&mut self, source: &Source<'_>, data: &InstData, operands: &[Value]) -> Result<SmallVec<[Value; 4]>> {
        let hide = |(&old, &new): (&Value, &Value)| {
            let (from, to) = (source.graph.ty(old), self.builder.graph().ty(new));
            let as_known =
                from == to && source.graph.constant(old).is_some() == self.builder.graph().constant(new).is_some();
            if as_known || to.is_variable() || !DTypeSet::ANY.contains(to.dtype()) {
                return Ok(new);
            }
            let shape = [("shape", from.shape().erased().into())];
            Ok(self.builder.emit(&PLACEHOLDER_WITH_DEFAULT, &[new], &shape)?[0])
        };
        data.operands.iter().zip(operands).map(hide).collect()
    }

    /// The callee, where the instruction is a call that can be inlined. Where less is known of an argument than the
    /// callee relies on, the call stays: it checks the argument when it runs.
    fn inlinable(&self, op: &penstock_ir::OpDef, attrs: &Attrs, operands: &[Value]) -> Option<Arc<Function>> {
        if !op.is(&CALL) || self.builder.graph().insts.len() > INLINE_LIMIT {
            return None;
        }
        let callee = &attrs.func(0).get().ok()?;
        let params = &callee.signature().params;
        if !operands.iter().zip(params).all(|(&v, due)| self.builder.graph().ty(v).is_subtype_of(due)) {
            return None;
        }
        let nests = |body: &Graph| self.builder.depth() + body.depth() <= MAX_NESTING;
        let fits = |body: &Verified| self.level + body.depth() < self.room && nests(body);
        let open = self.callers.iter().any(|(open, _)| *open == Arc::as_ptr(callee));
        (callee.graph().is_some_and(fits) && !open).then(|| callee.clone())
    }

    /// A copy of a region, with parameters of these types; those that are lists hold what `held` says.
    fn region(
        &mut self,
        source: &mut Source<'_>,
        region: Region,
        params: Vec<Type>,
        held: &[Written],
    ) -> Result<Region> {
        let graph = source.graph;
        let data = &graph.regions[region];
        let copy = self.builder.begin_region(params);
        for (&param, held) in self.builder.params(copy).iter().zip(held) {
            self.elements.set(param, held.clone().assumed(true));
        }
        for (&old, new) in data.params.iter().zip(self.builder.params(copy)) {
            source.values.insert(old, new);
            if let Some(name) = graph.names.get(&old) {
                self.builder.name(new, name);
            }
        }
        self.level += 1;
        let copied = self.insts(source, region);
        self.level -= 1;
        match copied {
            Ok(()) => {
                let results: SmallVec<[Value; 4]> = data.results.iter().map(|v| source.values[v]).collect();
                self.builder.end_region(&results)
            }
            Err(error) => {
                self.builder.abandon_region();
                Err(error)
            }
        }
    }

    /// The condition and the body of a loop, with the most exact types of its variables: those of
    /// their first values, widened until the body keeps them. So it is with what variables that are lists hold, which is given as
    /// well.
    fn loop_regions(
        &mut self,
        source: &mut Source<'_>,
        regions: &[Region],
        init: &[Value],
    ) -> Result<(SmallVec<[Region; 2]>, Vec<Written>)> {
        let graph = source.graph;
        let (cond, body) = (regions[0], regions[1]);
        let declared: Vec<Type> = graph.regions[body].params.iter().map(|&p| source.ty(graph.ty(p))).collect();
        let mut types: Vec<Type> = declared
            .iter()
            .zip(init)
            .map(|(d, &v)| if d.shape().is_static() { d.clone() } else { self.builder.graph().ty(v).clone() })
            .collect();
        let mut held: Vec<Written> = init.iter().map(|&v| self.elements.get(v)).collect();
        if let Some((before, held_before)) = source.widened.get(&body) {
            for ((ty, before), declared) in types.iter_mut().zip(before).zip(&declared) {
                let joined = ty.shape().join(before.shape());
                *ty = if joined.is_subtype_of(declared.shape()) { ty.with_shape(joined) } else { declared.clone() };
            }
            held.iter_mut().zip(held_before).for_each(|(held, before)| *held = held.join(before));
        }
        let outer = self.elements.enter_loop();
        loop {
            self.elements.relied = false;
            let last = types == declared;
            let copy = match self.region(source, body, types.clone(), &held) {
                Ok(copy) => copy,
                Err(error) if last => return Err(error),
                Err(_) => {
                    types.clone_from(&declared);
                    continue;
                }
            };
            let (mut kept, mut assumed_less) = (true, false);
            for (k, end) in self.builder.graph().regions[copy].results.clone().into_iter().enumerate() {
                let result = self.builder.graph().ty(end);
                if !result.shape().is_subtype_of(types[k].shape()) {
                    kept = false;
                    let joined = types[k].shape().join(result.shape());
                    types[k] = if joined.is_subtype_of(declared[k].shape()) && joined != *types[k].shape() {
                        types[k].with_shape(joined)
                    } else {
                        declared[k].clone()
                    };
                }
                let written = self.elements.get(end);
                if !held[k].covers(&written) {
                    held[k] = held[k].join(&written);
                    assumed_less |= self.elements.relied;
                }
            }
            if (kept || last) && !assumed_less {
                source.widened.insert(body, (types.clone(), held.clone()));
                let cond = self.region(source, cond, types, &held)?;
                self.elements.leave_loop(outer);
                return Ok((SmallVec::from_slice(&[cond, copy]), held));
            }
        }
    }
}
