//! Building graphs: every instruction is checked and typed as it is added.

use std::sync::Arc;

use penstock_data::{DType, Dim, Error, Loc, Result, Shape, Symbol, Tensor, memory};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::attr::{Attr, Attrs};
use crate::entities::{Inst, Region, Value};
use crate::graph::{Def, Graph, InstData, OpRef, RegionData, ValueData};
use crate::op::{Element, Emitter, InferCx, KnownValues, OpDef, Signature};
use crate::types::Type;

/// How far [`KnownValues::elements`] looks back through the instructions that compute a shape.
const LOOK_BACK: usize = 16;

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
    loc: Loc,
    symbols: u32,
    const_op: &'static OpDef,
}

impl Builder {
    /// An empty graph. `const_op` is the operator of constants.
    pub fn new(const_op: &'static OpDef) -> Builder {
        let mut graph = Graph::default();
        let body = graph.regions.push(RegionData::default());
        Builder { graph, open: vec![body], loc: Loc::UNKNOWN, symbols: 0, const_op }
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The region that instructions go to.
    pub fn current(&self) -> Region {
        self.open[self.open.len() - 1]
    }

    /// The graph so far, for a transform that changes instructions in place.
    pub fn graph_mut(&mut self) -> &mut Graph {
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

    /// Names a value, for people.
    pub fn name(&mut self, value: Value, name: &str) {
        self.graph.names.insert(value, name.into());
    }

    /// Opens a region with parameters of the given types.
    pub fn begin_region(&mut self, params: impl IntoIterator<Item = Type>) -> Region {
        let region = self.graph.regions.push(RegionData::default());
        for ty in params {
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
        Ok(region)
    }

    /// Opens a finished region again, to add instructions at its end: [`Builder::end_region`] closes
    /// it with new results, [`Builder::abandon_region`] with those that it has.
    ///
    /// # Panics
    /// Where it is of another graph.
    pub fn reopen_region(&mut self, region: Region) {
        assert!(self.graph.regions.get(region).is_some(), "{region} is of another graph");
        self.open.push(region);
    }

    /// Closes the innermost region and forgets it: for a trace that failed inside.
    pub fn abandon_region(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// The parameters of a region; none where it is of another graph.
    pub fn params(&self, region: Region) -> SmallVec<[Value; 4]> {
        self.graph.regions.get(region).map(|data| data.params.clone()).unwrap_or_default()
    }

    /// Narrows what is known of a value's shape, as `Tensor.set_shape` does.
    ///
    /// # Errors
    /// `InvalidArgument` where the shape contradicts what is known.
    pub fn refine(&mut self, value: Value, shape: &Shape) -> Result<()> {
        if self.graph.values.get(value).is_none() {
            return Err(Error::invalid(format!("{value} is of another graph")));
        }
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
        let results = self.infer(op, operands, &attrs, regions).map_err(|e| e.in_op(op.name).at(self.loc))?;
        self.reserve(results.len()).map_err(|e| e.in_op(op.name).at(self.loc))?;
        Ok(self.push_inst(op, operands, attrs, regions, results))
    }

    /// Reserves memory for an instruction and its results.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    fn reserve(&mut self, results: usize) -> Result<()> {
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
        for &v in operands {
            self.check_scope(v)?;
        }
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let signatures = signatures(&self.graph, attrs, regions)?;
        let values = GraphValues { graph: &self.graph, operands };
        op.infer_types(&InferCx { inputs: &types, attrs, regions: &signatures, values: &values })
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

    /// Adds a constant.
    pub fn constant(&mut self, value: Tensor) -> Value {
        let ty = Type::of(&value);
        let inst = self.push_inst(self.const_op, &[], Attrs(smallvec![Attr::Tensor(value)]), &[], smallvec![ty]);
        self.graph.insts[inst].results[0]
    }

    /// Copies the body of `callee` to the current place, with `args` for its inputs, and gives what
    /// its outputs became. Types are inferred anew, so exact argument types give exact types.
    ///
    /// # Errors
    /// As [`Builder::inst`]; `InvalidArgument` where the number of arguments differs.
    pub fn inline(&mut self, callee: &Graph, args: &[Value]) -> Result<SmallVec<[Value; 4]>> {
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

    /// Finishes the graph with its outputs.
    ///
    /// # Errors
    /// `InvalidArgument` where an output is not in scope, or a region is still open.
    pub fn finish(mut self, outputs: &[Value]) -> Result<Graph> {
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
            return Err(Error::invalid(format!("{region} is of another graph")));
        }
        out.push(graph.signature_of(region));
    }
    for attr in &attrs.0 {
        if let Attr::Func(f) = attr {
            out.push(f.alive()?.signature().clone());
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

    fn type_of(&self, value: Value) -> Type {
        self.graph.ty(value).clone()
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        self.graph.constant(value).cloned()
    }
}

/// What a graph says of the values of an instruction's operands.
pub struct GraphValues<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The operands.
    pub operands: &'a [Value],
}

impl KnownValues for GraphValues<'_> {
    fn constant(&self, index: usize) -> Option<Tensor> {
        self.graph.constant(*self.operands.get(index)?).cloned()
    }

    fn elements(&self, index: usize) -> Option<SmallVec<[Element; 4]>> {
        known_elements(self.graph, *self.operands.get(index)?, LOOK_BACK)
    }
}

/// What is known of the elements of an integer vector or scalar, seen through the instructions that
/// usually compute shapes: `shape`, `cast`, `stack`, `concat`, `strided_slice` and scalar picks. Of a list, its length.
fn known_elements(graph: &Graph, value: Value, fuel: usize) -> Option<SmallVec<[Element; 4]>> {
    let fuel = fuel.checked_sub(1)?;
    if graph.ty(value).dtype() == DType::Variant {
        return length_of_list(graph, value, fuel).map(|n| smallvec![Element::Extent(n)]);
    }
    if let Some(tensor) = graph.constant(value) {
        return Element::of_tensor(tensor);
    }
    if graph.ty(value).shape().rank().is_none_or(|rank| rank > 1) {
        return None;
    }
    let seen = graph.def_inst(value).and_then(|inst| {
        let data = &graph.insts[inst];
        let of = |v: Value| known_elements(graph, v, fuel);
        let int = |v: Value| graph.constant(v).and_then(|t| t.to_ints().ok());
        match data.op.name {
            "shape" => {
                let dims = graph.ty(data.operands[0]).shape().dims()?;
                Some(dims.iter().map(|&d| Element::Extent(d)).collect())
            }
            "identity" | "list_length" => of(data.operands[0]),
            "cast" => {
                let (from, to) = (graph.ty(data.operands[0]).dtype(), graph.ty(value).dtype());
                let elements = of(data.operands[0]).filter(|_| from.is_integer() && to.is_integer())?;
                let kept = |element: Element| match element {
                    Element::Extent(Dim::Known(n)) if holds(to, n) => element,
                    Element::Negative if !to.is_unsigned() && to.size() >= from.size() => element,
                    _ => Element::UNKNOWN,
                };
                Some(elements.into_iter().map(kept).collect())
            }
            "stack" => data.operands.iter().map(|&v| of(v).filter(|e| e.len() == 1).map(|e| e[0])).collect(),
            "concat" => {
                let parts: Option<Vec<_>> = data.operands.iter().map(|&v| of(v)).collect();
                Some(parts?.into_iter().flatten().collect())
            }
            "strided_slice" => {
                let elements = of(data.operands[0])?;
                let (begin, end, stride) = (int(data.operands[1])?, int(data.operands[2])?, int(data.operands[3])?);
                let mask = |name: &str| data.op.attr_index(name).map_or(0, |i| data.attrs.int(i));
                match (mask("new_axis_mask"), mask("ellipsis_mask")) {
                    (0, 0) => pick(
                        &elements,
                        &begin,
                        &end,
                        &stride,
                        mask("begin_mask"),
                        mask("end_mask"),
                        mask("shrink_axis_mask"),
                    ),
                    // One number stays one number, in how many dimensions ever.
                    _ if graph.ty(data.operands[0]).shape().rank() == Some(0) => Some(elements),
                    _ => None,
                }
            }
            _ => None,
        }
    });
    seen.or_else(|| match graph.ty(value).shape().dims()? {
        [] => Some(smallvec![Element::UNKNOWN]),
        [Dim::Known(n)] if *n <= 64 => Some(SmallVec::from_elem(Element::UNKNOWN, *n)),
        _ => None,
    })
}

/// Whether an integer dtype has the number `n`.
fn holds(dtype: DType, n: usize) -> bool {
    let bits = 8 * dtype.size() as u32 - u32::from(!dtype.is_unsigned());
    n.checked_shr(bits).unwrap_or(0) == 0
}

/// The length of a list, seen through the instructions that keep it: writes, and loops that only write.
fn length_of_list(graph: &Graph, value: Value, fuel: usize) -> Option<Dim> {
    let one = |v: Value| match known_elements(graph, v, fuel)?[..] {
        [n] => Some(n.dim()),
        _ => None,
    };
    let (inst, index) = match graph.values[value].def {
        Def::Result(inst, index) => (inst, index as usize),
        Def::Param(_) => return None,
    };
    let data = &graph.insts[inst];
    match data.op.name {
        "list_new" => one(data.operands[0]),
        "list_resize" => one(data.operands[1]),
        "list_from_tensor" => graph.ty(data.operands[0]).shape().dims()?.first().copied(),
        "while" => {
            let body = &graph.regions[data.regions[1]];
            let keeps = same_length_as(graph, body.results[index], fuel)? == body.params[index];
            one(data.operands[index]).filter(|_| keeps)
        }
        _ => one(same_length_as(graph, value, fuel).filter(|&v| v != value)?),
    }
    .filter(|&n| n != Dim::Unknown)
}

/// The list that `value` was before it was written to.
fn same_length_as(graph: &Graph, mut value: Value, fuel: usize) -> Option<Value> {
    for _ in 0..fuel {
        let Def::Result(inst, index) = graph.values[value].def else { return Some(value) };
        let data = &graph.insts[inst];
        let index = index as usize;
        value = match data.op.name {
            "list_set" if data.op.attr_index("grow").is_some_and(|i| !data.attrs.flag(i)) => data.operands[0],
            "list_accumulate" => data.operands[0],
            "list_take" if index == 0 => data.operands[0],
            "while" => {
                let body = &graph.regions[data.regions[1]];
                let before = same_length_as(graph, body.results[index], fuel.checked_sub(1)?)?;
                if before != body.params[index] {
                    return Some(value);
                }
                data.operands[index]
            }
            "cond" | "switch" => {
                let of = |&r: &Region| same_length_as(graph, graph.regions[r].results[index], fuel.checked_sub(1)?);
                let before = of(data.regions.first()?)?;
                if !data.regions[1..].iter().all(|r| of(r) == Some(before)) {
                    return Some(value);
                }
                before
            }
            _ => return Some(value),
        };
    }
    None
}

/// A slice with positive stride, or a single element, of a known list.
fn pick(
    elements: &[Element],
    begin: &[i64],
    end: &[i64],
    stride: &[i64],
    begin_mask: i64,
    end_mask: i64,
    shrink_mask: i64,
) -> Option<SmallVec<[Element; 4]>> {
    let (&[begin], &[end], &[stride]) = (begin, end, stride) else { return None };
    let n = elements.len() as i64;
    let clamp = |i: i64| (if i < 0 { i + n } else { i }).clamp(0, n);
    if shrink_mask & 1 == 1 {
        let i = if begin < 0 { begin + n } else { begin };
        return elements.get(usize::try_from(i).ok()?).map(|&e| smallvec![e]);
    }
    if stride < 1 {
        return None;
    }
    let first = if begin_mask & 1 == 1 { 0 } else { clamp(begin) };
    let last = if end_mask & 1 == 1 { n } else { clamp(end) };
    Some((first..last).step_by(stride as usize).map(|i| elements[i as usize]).collect())
}

/// A copy of `graph` in which every listed entity has the next id in the order of the text form,
/// and nothing unlisted is left.
pub fn compact(graph: &Graph) -> Graph {
    let mut out = Graph::default();
    let mut map = FxHashMap::default();
    compact_region(graph, graph.body(), &mut out, &mut map);
    for (value, name) in &graph.names {
        if let Some(&new) = map.get(value) {
            out.names.insert(new, Arc::clone(name));
        }
    }
    out
}

fn compact_region(graph: &Graph, region: Region, out: &mut Graph, map: &mut FxHashMap<Value, Value>) -> Region {
    let data = &graph.regions[region];
    let copy = out.regions.push(RegionData::default());
    let see = |map: &FxHashMap<Value, Value>, v: Value| map.get(&v).copied().unwrap_or(v);
    for (i, &p) in data.params.iter().enumerate() {
        let new = out.values.push(ValueData { ty: graph.ty(p).clone(), def: Def::Param(i as u32), region: copy });
        out.regions[copy].params.push(new);
        map.insert(p, new);
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
            map.insert(r, value);
        }
        let regions = old.regions.iter().map(|&r| compact_region(graph, r, out, map)).collect();
        out.insts[new].regions = regions;
    }
    out.regions[copy].results = data.results.iter().map(|&v| see(map, v)).collect();
    copy
}
