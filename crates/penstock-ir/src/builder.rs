//! Building graphs: every instruction is checked and typed as it is added.

use std::sync::Arc;

use penstock_data::{DType, Dim, Error, Loc, Result, Shape, Symbol, Tensor, memory};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::attr::{Attr, Attrs};
use crate::batch::GraphEmitter;
use crate::elements::{ComputedValues, Evaluate, GraphValues};
use crate::entities::{Entity, Inst, Region, Value};
use crate::graph::{Def, Graph, InstData, OpRef, RegionData, ValueData, Verified};
use crate::op::{Emitter, InferCx, OpDef, Signature};
use crate::types::Type;
use crate::verify::check_attrs;

/// Regions nest at most so deep, in a text and in a builder, so that what walks them cannot exhaust the stack.
pub const MAX_NESTING: usize = 256;

pub(crate) fn nests_too_deep() -> Error {
    Error::invalid(format!("regions nest more than {MAX_NESTING} deep"))
}

/// A graph under construction.
///
/// Instructions go to the innermost open region; a value may be used where the region that defines
/// it is open.
pub struct Builder {
    graph: Graph,
    open: Vec<Region>,
    /// What became of each region, by index.
    standing: Vec<Standing>,
    /// Whether the graph was changed otherwise than by additions, each of which is checked: [`Builder::finish`] verifies it then.
    edited: bool,
    loc: Loc,
    symbols: u32,
    const_op: &'static OpDef,
    evaluate: Option<Evaluate>,
}

/// What became of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is open, or was abandoned.
    Open,
    /// It is finished, and waits for an instruction of the region around it.
    Finished { around: Region },
    /// It is the body, or an instruction owns it.
    Owned,
}

impl Builder {
    /// An empty graph. `const_op` is the operator of constants.
    pub fn new(const_op: &'static OpDef) -> Builder {
        const FIRST: usize = 16;
        let mut graph = Graph::default();
        make_room(&mut graph, FIRST);
        let body = graph.regions.push(RegionData::default());
        let standing = vec![Standing::Owned];
        Builder {
            graph,
            open: vec![body],
            standing,
            edited: false,
            loc: Loc::UNKNOWN,
            symbols: 0,
            const_op,
            evaluate: None,
        }
    }

    /// Has the types of results inferred with the values that `evaluate` computes of operands, too.
    pub fn with_evaluate(self, evaluate: Evaluate) -> Builder {
        Builder { evaluate: Some(evaluate), ..self }
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The region that instructions go to.
    pub fn current(&self) -> Region {
        self.open[self.open.len() - 1]
    }

    /// The graph so far, for a transform that changes instructions in place. [`Builder::finish`] has it verified; until then the graph
    /// must have what the builder has given of it, or what comes next panics.
    pub fn graph_mut(&mut self) -> &mut Graph {
        self.edited = true;
        &mut self.graph
    }

    /// The open regions, outermost first.
    pub fn open_regions(&self) -> &[Region] {
        &self.open
    }

    /// The number of open regions: 1 for the body alone.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Sets the source location of the instructions that follow.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }

    /// The source location of the instructions that follow.
    pub fn loc(&self) -> Loc {
        self.loc
    }

    /// A symbol that the graph does not have yet.
    pub fn fresh_symbol(&mut self) -> Symbol {
        let symbol = Symbol(self.symbols);
        self.symbols = self.symbols.saturating_add(1);
        symbol
    }

    /// The shape with a fresh symbol for each unknown dimension.
    pub fn symbolic(&mut self, shape: &Shape) -> Shape {
        let Some(dims) = shape.dims() else { return Shape::UNRANKED };
        let dims: SmallVec<[Dim; 4]> =
            dims.iter().map(|&d| if d == Dim::Unknown { Dim::Sym(self.fresh_symbol()) } else { d }).collect();
        Shape::new(dims)
    }

    /// Adds an input of the graph.
    pub fn input(&mut self, ty: Type, name: Option<&str>) -> Value {
        self.note_symbols(&ty);
        let value = self.param(self.graph.body(), ty);
        if let Some(name) = name {
            self.name(value, name);
        }
        value
    }

    /// Keeps fresh symbols apart from those of `ty`.
    fn note_symbols(&mut self, ty: &Type) {
        for dim in ty.shape().dims().unwrap_or(&[]) {
            if let Dim::Sym(Symbol(s)) = dim {
                self.symbols = self.symbols.max(s.saturating_add(1));
            }
        }
    }

    fn param(&mut self, region: Region, ty: Type) -> Value {
        let index = self.graph.regions[region].params.len() as u32;
        let value = self.graph.values.push(ValueData { ty, def: Def::Param(index), region });
        self.graph.regions[region].params.push(value);
        value
    }

    /// Names a value, for people. One of another graph gets no name.
    pub fn name(&mut self, value: Value, name: &str) {
        if self.graph.values.get(value).is_some() {
            self.graph.names.insert(value, name.into());
        }
    }

    /// The type of a value; `None` for one of another graph.
    pub fn ty(&self, value: Value) -> Option<&Type> {
        self.graph.values.get(value).map(|data| &data.ty)
    }

    /// Notes the scope of names, which ends in `/`, of an instruction without results.
    pub fn scope(&mut self, inst: Inst, scope: Arc<str>) {
        self.graph.scopes.insert(inst, scope);
    }

    /// Opens a region with parameters of the given types.
    pub fn begin_region(&mut self, params: impl IntoIterator<Item = Type>) -> Region {
        let region = self.graph.regions.push(RegionData::default());
        self.standing.resize(self.graph.regions.len(), Standing::Open);
        for ty in params {
            self.note_symbols(&ty);
            self.param(region, ty);
        }
        self.open.push(region);
        region
    }

    /// Closes the innermost region with its results.
    ///
    /// # Errors
    /// `InvalidArgument` where a result is not in scope, or only the body is open, or regions nest more than 256 deep.
    pub fn end_region(&mut self, results: &[Value]) -> Result<Region> {
        match self.open.len() {
            0 | 1 => return Err(Error::invalid("no region is open that could end")),
            deep if deep > MAX_NESTING => return Err(nests_too_deep()),
            _ => {}
        }
        for &v in results {
            self.check_scope(v)?;
        }
        let region = self.current();
        self.graph.regions[region].results = results.into();
        self.open.pop();
        if self.standing[region.index()] == Standing::Open {
            self.standing[region.index()] = Standing::Finished { around: self.current() };
        }
        Ok(region)
    }

    /// Opens a finished region again, to add instructions at its end: [`Builder::end_region`] closes
    /// it with new results, [`Builder::abandon_region`] with those that it has.
    ///
    /// # Errors
    /// `InvalidArgument` where it is of another graph.
    pub fn reopen_region(&mut self, region: Region) -> Result<()> {
        if self.graph.regions.get(region).is_none() {
            return Err(foreign_region(region));
        }
        self.edited = true;
        self.open.push(region);
        Ok(())
    }

    /// Closes the innermost region and forgets it: for a trace that failed inside.
    pub fn abandon_region(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// The graph as far as it was built: for a trace that failed.
    pub fn abandon(self) -> Graph {
        self.graph
    }

    /// The parameters of a region; none where it is of another graph.
    pub fn params(&self, region: Region) -> SmallVec<[Value; 4]> {
        self.graph.regions.get(region).map(|data| data.params.clone()).unwrap_or_default()
    }

    /// Takes memory for further instructions at once. More may follow.
    pub fn make_room(&mut self, insts: usize) {
        make_room(&mut self.graph, insts);
    }

    /// Narrows what is known of a value's shape, as `Tensor.set_shape` does.
    ///
    /// # Errors
    /// `InvalidArgument` where the shape contradicts what is known.
    pub fn refine(&mut self, value: Value, shape: &Shape) -> Result<()> {
        let Some(ValueData { def, region, .. }) = self.graph.values.get(value) else {
            return Err(Error::invalid(format!("{value} is of another graph")));
        };
        // What flows into a region is checked when an instruction takes it, and no more when that runs.
        let is_owned = *region != self.graph.body() && self.standing[region.index()] == Standing::Owned;
        self.edited |= is_owned && matches!(def, Def::Param(_));
        let ty = &mut self.graph.values[value].ty;
        let merged = ty
            .shape()
            .merge(shape)
            .ok_or_else(|| Error::invalid(format!("shape {shape} contradicts the known shape {}", ty.shape())))?;
        *ty = ty.with_shape(merged);
        Ok(())
    }

    /// Whether the region that a value belongs to is open, so that an instruction can use it.
    pub fn is_in_scope(&self, value: Value) -> bool {
        self.graph.values.get(value).is_some_and(|data| self.open.contains(&data.region))
    }

    fn check_scope(&self, value: Value) -> Result<()> {
        match self.is_in_scope(value) {
            true => Ok(()),
            false => Err(Error::invalid(format!("{value} is out of scope here"))),
        }
    }

    /// Adds an instruction with finished regions. Attributes that are missing at the end and may be left out are.
    ///
    /// # Errors
    /// What the operator's declaration and inference report, with operator, argument and location.
    pub fn inst(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs, regions: &[Region]) -> Result<Inst> {
        let mut attrs = attrs;
        for def in op.attrs.iter().skip(attrs.0.len()) {
            attrs.0.extend(def.default_value());
        }
        // What a region from elsewhere sees may be out of scope here: `finish` verifies the graph.
        self.edited |= regions.iter().any(|region| match self.standing.get(region.index()) {
            Some(Standing::Finished { around }) => *around != self.current(),
            _ => false,
        });
        let results = self.infer(op, operands, &attrs, regions).map_err(|e| e.in_op(op.name).at(self.loc))?;
        self.reserve(results.len()).map_err(|e| e.in_op(op.name).at(self.loc))?;
        Ok(self.push_inst(op, operands, attrs, regions, results))
    }

    /// Reserves memory for an instruction and its results.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    fn reserve(&mut self, results: usize) -> Result<()> {
        // Beside what is reserved here, each instruction takes little pieces of memory, which cannot fail: there is to be enough
        // for as many as come until this is asked again.
        const STRETCH: usize = 1 << 12;
        if self.graph.insts.len() % STRETCH == STRETCH - 1 {
            memory::with_room::<[u8; 4096]>(STRETCH)?;
        }
        let region = self.current();
        self.graph.insts.reserve(1)?;
        self.graph.locs.reserve(1)?;
        self.graph.values.reserve(results)?;
        memory::reserve(&mut self.graph.regions[region].insts, 1)
    }

    /// The types of the results of an instruction that is not added.
    fn infer(
        &self,
        op: &'static OpDef,
        operands: &[Value],
        attrs: &Attrs,
        regions: &[Region],
    ) -> Result<crate::op::OutTypes> {
        check_attrs(op, attrs)?;
        for &v in operands {
            self.check_scope(v)?;
        }
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let signatures = signatures(&self.graph, attrs, regions)?;
        if !self.edited {
            self.check_regions(regions)?;
        }
        let known = GraphValues { graph: &self.graph, operands };
        let values = ComputedValues { known, evaluate: self.evaluate };
        op.infer_types(&InferCx { inputs: &types, attrs, regions: &signatures, values: &values })
    }

    /// Whether regions are finished, wait for an instruction of the open one, and come once each.
    fn check_regions(&self, regions: &[Region]) -> Result<()> {
        for (i, &region) in regions.iter().enumerate() {
            match self.standing[region.index()] {
                _ if regions[..i].contains(&region) => return Err(Error::invalid(format!("{region} has two places"))),
                Standing::Open => return Err(Error::invalid(format!("{region} is not finished"))),
                Standing::Owned => return Err(Error::invalid(format!("{region} has a place already"))),
                Standing::Finished { .. } => {}
            }
        }
        Ok(())
    }

    fn push_inst(
        &mut self,
        op: &'static OpDef,
        operands: &[Value],
        attrs: Attrs,
        regions: &[Region],
        types: crate::op::OutTypes,
    ) -> Inst {
        let region = self.current();
        let inst = self.graph.insts.push(InstData {
            op: OpRef(op),
            operands: operands.into(),
            attrs,
            regions: regions.into(),
            results: SmallVec::new(),
        });
        regions.iter().for_each(|region| self.standing[region.index()] = Standing::Owned);
        self.graph.locs.push(self.loc);
        let results = types
            .into_iter()
            .enumerate()
            .map(|(i, ty)| self.graph.values.push(ValueData { ty, def: Def::Result(inst, i as u32), region }))
            .collect();
        self.graph.insts[inst].results = results;
        self.graph.regions[region].insts.push(inst);
        inst
    }

    /// Adds an instruction and gives its results.
    ///
    /// # Errors
    /// As [`Builder::inst`].
    pub fn emit(
        &mut self,
        op: &'static OpDef,
        operands: &[Value],
        named: &[(&str, Attr)],
    ) -> Result<SmallVec<[Value; 1]>> {
        let attrs = op.attributes(named).map_err(|e| e.at(self.loc))?;
        let inst = self.inst(op, operands, attrs, &[])?;
        Ok(self.graph.insts[inst].results.clone())
    }

    /// The results of an instruction; none where it is of another graph.
    pub fn results(&self, inst: Inst) -> &[Value] {
        self.graph.insts.get(inst).map_or(&[], |data| &data.results)
    }

    /// Adds a constant. Where there is no memory for it, the code is unwound by [`Error::unwind`].
    pub fn constant(&mut self, value: Tensor) -> Value {
        self.reserve(1).unwrap_or_else(|e| e.unwind());
        let ty = Type::of(&value);
        let inst = self.push_inst(self.const_op, &[], Attrs(smallvec![Attr::Tensor(value)]), &[], smallvec![ty]);
        self.graph.insts[inst].results[0]
    }

    /// Copies the body of `callee` to the current place, with `args` for its inputs, and gives what
    /// its outputs became. Types are inferred anew, so exact argument types give exact types.
    ///
    /// # Errors
    /// As [`Builder::inst`]; `InvalidArgument` where the number of arguments differs.
    pub fn inline(&mut self, callee: &Verified, args: &[Value]) -> Result<SmallVec<[Value; 4]>> {
        if callee.inputs().len() != args.len() {
            return Err(Error::invalid(format!("takes {} inputs, got {}", callee.inputs().len(), args.len())));
        }
        let mut map: FxHashMap<Value, Value> = callee.inputs().iter().copied().zip(args.iter().copied()).collect();
        self.copy_body(callee, callee.body(), &mut map, false)?;
        callee.outputs().iter().map(|v| lookup(&map, *v)).collect()
    }

    /// Copies the instructions of `region` of `source` to the current place, with all that is known of the shapes of their
    /// results: the symbols of `source` mean the same here. `map` holds what the values from outside became, and gains
    /// the copies.
    ///
    /// # Errors
    /// As [`Builder::inst`].
    pub fn copy_insts(&mut self, source: &Graph, region: Region, map: &mut FxHashMap<Value, Value>) -> Result<()> {
        self.copy_body(source, region, map, true)
    }

    /// Copies one instruction, with its regions, as [`Builder::copy_insts`] does.
    ///
    /// # Errors
    /// As [`Builder::inst`].
    pub fn copy_inst(&mut self, source: &Graph, inst: Inst, map: &mut FxHashMap<Value, Value>) -> Result<Inst> {
        self.copy_one(source, inst, map, true)
    }

    fn copy_body(
        &mut self,
        source: &Graph,
        region: Region,
        map: &mut FxHashMap<Value, Value>,
        same_symbols: bool,
    ) -> Result<()> {
        source.regions[region].insts.iter().try_for_each(|&i| self.copy_one(source, i, map, same_symbols).map(|_| ()))
    }

    fn copy_one(
        &mut self,
        source: &Graph,
        inst: Inst,
        map: &mut FxHashMap<Value, Value>,
        same_symbols: bool,
    ) -> Result<Inst> {
        let data = &source.insts[inst];
        let operands: SmallVec<[Value; 4]> = data.operands.iter().map(|v| lookup(map, *v)).collect::<Result<_>>()?;
        let outer = std::mem::replace(&mut self.loc, source.locs[inst]);
        let regions: Result<SmallVec<[Region; 2]>> =
            data.regions.iter().map(|&r| self.copy_region(source, r, map, same_symbols)).collect();
        let copy = regions.and_then(|regions| self.inst(data.op.0, &operands, data.attrs.clone(), &regions));
        self.loc = outer;
        let copy = copy?;
        let results = self.graph.insts[copy].results.clone();
        for (&old, new) in data.results.iter().zip(results) {
            map.insert(old, new);
            // What was known beyond inference holds here too, but for the symbols of another graph.
            let known = source.ty(old).shape();
            let known = if same_symbols { known.clone() } else { known.erased() };
            if let Some(shape) = self.graph.ty(new).shape().merge(&known) {
                let ty = &mut self.graph.values[new].ty;
                *ty = ty.with_shape(shape);
            }
            if let Some(name) = source.names.get(&old) {
                self.graph.names.insert(new, name.clone());
            }
        }
        Ok(copy)
    }

    fn copy_region(
        &mut self,
        source: &Graph,
        region: Region,
        map: &mut FxHashMap<Value, Value>,
        same_symbols: bool,
    ) -> Result<Region> {
        let data = &source.regions[region];
        let copy = self.begin_region(data.params.iter().map(|&p| source.ty(p).clone()));
        for (&old, new) in data.params.iter().zip(self.params(copy)) {
            map.insert(old, new);
        }
        let results = self
            .copy_body(source, region, map, same_symbols)
            .and_then(|()| data.results.iter().map(|v| lookup(map, *v)).collect::<Result<SmallVec<[Value; 4]>>>());
        match results {
            Ok(results) => self.end_region(&results),
            Err(error) => {
                self.abandon_region();
                Err(error)
            }
        }
    }

    /// Finishes the graph with its outputs. It is verified where it was changed otherwise than by additions: by
    /// [`Builder::graph_mut`], in a region that was opened again, or in what is known of a region's parameter.
    ///
    /// # Errors
    /// `InvalidArgument` where an output is not in scope, or a region is still open; as [`Verified::new`].
    pub fn finish(self, outputs: &[Value]) -> Result<Verified> {
        let edited = self.edited;
        let graph = self.finished(outputs)?;
        if edited {
            return Verified::new(graph);
        }
        #[expect(unsafe_code, reason = "each addition was checked")]
        // SAFETY: operands were in scope and results typed by inference as each instruction was added; a region is owned by one
        // instruction of the region around it, which was added behind all that the region sees; and nothing was changed since.
        unsafe {
            Verified::trusted(graph, "building")
        }
    }

    /// As [`Builder::finish`], of a graph that `by` has changed in place.
    ///
    /// # Errors
    /// `InvalidArgument` as there; as [`Verified::trusted`].
    ///
    /// # Safety
    /// The verifier accepts the graph.
    #[expect(unsafe_code, reason = "whoever calls this warrants what is not looked at")]
    pub unsafe fn finish_trusted(self, outputs: &[Value], by: &str) -> Result<Verified> {
        let graph = self.finished(outputs)?;
        // SAFETY: the caller's promise.
        unsafe { Verified::trusted(graph, by) }
    }

    fn finished(mut self, outputs: &[Value]) -> Result<Graph> {
        if self.open.len() > 1 {
            return Err(Error::invalid("a region is still open"));
        }
        for &v in outputs {
            self.check_scope(v)?;
        }
        let body = self.graph.body();
        self.graph.regions[body].results = outputs.into();
        Ok(self.graph)
    }
}

fn foreign_region(region: Region) -> Error {
    Error::invalid(format!("{region} is of another graph"))
}

fn lookup(map: &FxHashMap<Value, Value>, value: Value) -> Result<Value> {
    map.get(&value).copied().ok_or_else(|| Error::internal(format!("{value} is used before it is defined")))
}

/// The signatures that inference sees: those of the regions, then that of the callee.
///
/// # Errors
/// `InvalidArgument` for a region of another graph, `FailedPrecondition` for a function that is freed.
pub(crate) fn signatures(graph: &Graph, attrs: &Attrs, regions: &[Region]) -> Result<SmallVec<[Signature; 2]>> {
    let mut out: SmallVec<[Signature; 2]> = SmallVec::new();
    for &region in regions {
        if graph.regions.get(region).is_none() {
            return Err(foreign_region(region));
        }
        out.push(graph.signature_of(region));
    }
    for attr in &attrs.0 {
        if let Attr::Func(f) = attr {
            out.push(f.get()?.signature().clone());
        }
    }
    Ok(out)
}

impl Emitter for Builder {
    fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<SmallVec<[Value; 1]>> {
        let inst = self.inst(op, operands, attrs, &[])?;
        Ok(self.graph.insts[inst].results.clone())
    }

    fn constant(&mut self, value: Tensor) -> Result<Value> {
        Ok(Builder::constant(self, value))
    }

    /// The type of a value. One of another graph, which no instruction takes, is a `variant` of unknown shape.
    fn type_of(&self, value: Value) -> Type {
        self.ty(value).cloned().unwrap_or(Type::Tensor(DType::Variant, Shape::UNRANKED))
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        self.ty(value).and_then(|_| self.graph.constant(value)).cloned()
    }
}

impl GraphEmitter for Builder {
    fn refine(&mut self, value: Value, shape: &Shape) -> Result<()> {
        Builder::refine(self, value, shape)
    }

    fn definition(&self, value: Value) -> Option<(&'static OpDef, &[Value], &Attrs)> {
        let data = &self.graph.insts[self.graph.def_inst(value)?];
        Some((data.op.0, &data.operands, &data.attrs))
    }
}

/// Takes memory for instructions with a result each at once; where it cannot be had, arenas grow as they are filled.
fn make_room(graph: &mut Graph, insts: usize) {
    let _ = (graph.insts.reserve(insts), graph.locs.reserve(insts), graph.values.reserve(insts));
}

/// A copy of `graph` in which every listed entity has the next id in the order of the text form,
/// and nothing unlisted is left.
pub fn compact(graph: &Graph) -> Graph {
    let mut out = Graph::default();
    make_room(&mut out, graph.len());
    let mut map = vec![None; graph.values.len()];
    compact_region(graph, graph.body(), &mut out, &mut map);
    out.names.reserve(graph.names.len());
    for (value, name) in &graph.names {
        if let Some(new) = map.get(value.index()).copied().flatten() {
            out.names.insert(new, Arc::clone(name));
        }
    }
    out
}

impl Verified {
    /// As [`compact`]: what is not listed is left out, which the verifier does not look at.
    #[must_use]
    pub fn compact(&self) -> Verified {
        Verified::accepted(compact(self))
    }
}

/// Copies a region; `map` has the new value of each old one.
fn compact_region(graph: &Graph, region: Region, out: &mut Graph, map: &mut [Option<Value>]) -> Region {
    let data = &graph.regions[region];
    let copy = out.regions.push(RegionData::default());
    let see = |map: &[Option<Value>], v: Value| map.get(v.index()).copied().flatten().unwrap_or(v);
    for (i, &p) in data.params.iter().enumerate() {
        let new = out.values.push(ValueData { ty: graph.ty(p).clone(), def: Def::Param(i as u32), region: copy });
        out.regions[copy].params.push(new);
        map[p.index()] = Some(new);
    }
    for &inst in &data.insts {
        let old = &graph.insts[inst];
        let new = out.insts.push(InstData {
            op: old.op,
            operands: old.operands.iter().map(|&v| see(map, v)).collect(),
            attrs: old.attrs.clone(),
            regions: SmallVec::new(),
            results: SmallVec::new(),
        });
        out.locs.push(graph.locs[inst]);
        out.regions[copy].insts.push(new);
        for (i, &r) in old.results.iter().enumerate() {
            let value =
                out.values.push(ValueData { ty: graph.ty(r).clone(), def: Def::Result(new, i as u32), region: copy });
            out.insts[new].results.push(value);
            map[r.index()] = Some(value);
        }
        if let Some(scope) = graph.scopes.get(&inst) {
            out.scopes.insert(new, Arc::clone(scope));
        }
        let regions = old.regions.iter().map(|&r| compact_region(graph, r, out, map)).collect();
        out.insts[new].regions = regions;
    }
    out.regions[copy].results = data.results.iter().map(|&v| see(map, v)).collect();
    copy
}
