//! A scalar region, out of its graph.

use std::sync::Arc;

use penstock_data::{DType, Dims, Error, Loc, Result, Tensor};
use penstock_ir::{Cpu, ElementFn, Graph, Inst, OpDef, Region, Value};
use penstock_kernels::LoopFn;
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_ops::gather::GATHER;
use penstock_ops::part::{PART, wraps};
use penstock_passes::lists::{Lists, is_list_op};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::work::{Layout, Place, Slot, Work};

/// The most bytes of the arrays of a region.
const MAX_MEMORY: usize = 4 << 20;

/// The number of a scalar, or of an array.
pub(crate) type Id = u32;

/// A scalar region as a tree of structured control flow over numbered scalars. A parameter may be an array, of which the
/// region reads elements; small arrays may be made and changed, by work that the code asks for.
#[derive(Debug)]
pub struct Source {
    pub(crate) params: Vec<Id>,
    /// Whether each parameter is an array.
    pub(crate) arrays: Vec<bool>,
    /// The results of the body are those of the region that are scalars.
    pub(crate) body: Block,
    /// The places of these among all results.
    pub(crate) scalar_results: Vec<usize>,
    /// The other results: which ones, where they are, and their types.
    pub(crate) array_results: Vec<ArrayResult>,
    pub(crate) dtypes: Vec<DType>,
    /// Whether each number is that of an array.
    pub(crate) is_array: Vec<bool>,
    /// Where each array is, and each scalar that work reads or makes.
    pub(crate) places: Vec<Option<Place>>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) works: Arc<Vec<Work>>,
    /// The operators that may stop a run; none for copies of arrays, which do not.
    origins: Vec<(Option<&'static OpDef>, Loc)>,
    has_loop: bool,
    has_scalar_loop: bool,
    /// How deep blocks nest.
    pub(crate) depth: usize,
}

/// A result of a region that is an array.
#[derive(Clone, Debug)]
pub struct ArrayResult {
    /// Its position among the results.
    pub position: usize,
    /// Its dtype.
    pub dtype: DType,
    /// Its extents.
    pub dims: Dims,
    pub(crate) place: Place,
}

/// What is made of what lies at an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Take {
    /// A scalar.
    Scalar,
    /// An array of so many bytes, where it is.
    Part(usize),
    /// A copy of an array of so many bytes.
    Copy(usize),
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) nodes: Vec<Node>,
    pub(crate) results: Vec<Id>,
}

#[derive(Debug)]
pub(crate) enum Node {
    /// The bytes of a constant, in the lowest ones.
    Const { out: Id, bits: u64 },
    /// A function of elements; `origin` is its place among the origins.
    Op { function: ElementFn, f: LoopFn, ins: SmallVec<[Id; 3]>, out: Id, origin: u32 },
    /// What an array has at indices of its leading dimensions, which have these extents; where `wraps`, negative indices count
    /// from the end.
    Element { array: Id, extents: Dims, indices: SmallVec<[Id; 3]>, wraps: bool, take: Take, out: Id, origin: u32 },
    /// Writes an element of so many bytes, a scalar or an array, to an array of so many elements.
    Store { array: Id, len: usize, index: Id, value: Id, bytes: usize, origin: u32 },
    /// Work of this number on `ins`; `out` is the result where that is a scalar.
    Work { work: usize, ins: SmallVec<[Id; 3]>, out: Option<Id>, cost: u32, origin: u32 },
    /// The first arm where the boolean is true, else the second.
    If { condition: Id, arms: [Block; 2], outs: Vec<Id> },
    /// The arm of an index; outside of the list, the last.
    Switch { index: Id, arms: Vec<Block>, outs: Vec<Id> },
    /// `variables` start as `init`, and become the body's results as long as the condition's only result is true.
    Loop { init: Vec<Id>, variables: Vec<Id>, condition: Block, body: Block },
}

impl Source {
    /// Reads a region whose instructions and constants are all scalars, and its parameters scalars or arrays of numbers.
    ///
    /// # Errors
    /// `Internal` where it holds anything else.
    pub fn read(graph: &Graph, region: Region) -> Result<Source> {
        let mut reader = Reader {
            graph,
            ids: FxHashMap::default(),
            source: Source {
                params: Vec::new(),
                arrays: Vec::new(),
                body: Block { nodes: Vec::new(), results: Vec::new() },
                scalar_results: Vec::new(),
                array_results: Vec::new(),
                dtypes: Vec::new(),
                is_array: Vec::new(),
                places: Vec::new(),
                layout: Arc::default(),
                works: Arc::default(),
                origins: Vec::new(),
                has_loop: false,
                has_scalar_loop: false,
                depth: 0,
            },
            level: 0,
            lists: Lists::of(graph, region),
            layout: Layout::default(),
            works: Vec::new(),
            roots: FxHashMap::default(),
        };
        for (k, &param) in graph.regions[region].params.iter().enumerate() {
            let id = reader.fresh(param);
            let is_array = !reader.is_scalar(param);
            if is_array {
                reader.source.places[id as usize] = Some(reader.layout.place(Slot::Param(k)));
            }
            reader.source.params.push(id);
            reader.source.arrays.push(is_array);
        }
        reader.source.body = reader.block(region)?;
        for (position, &v) in graph.regions[region].results.iter().enumerate() {
            if reader.is_scalar(v) {
                reader.source.scalar_results.push(position);
                continue;
            }
            let dims = graph.ty(v).shape().extents().ok_or_else(|| Error::internal("a result of unknown extents"))?;
            let (dtype, place) = (graph.ty(v).dtype(), reader.place(reader.id(v)?)?);
            reader.source.array_results.push(ArrayResult { position, dtype, dims, place });
        }
        if reader.layout.bytes() > MAX_MEMORY {
            return Err(Error::exhausted("the arrays of a region take too much memory"));
        }
        reader.source.layout = Arc::new(reader.layout);
        reader.source.works = Arc::new(reader.works);
        Ok(reader.source)
    }

    /// The results that are arrays.
    pub fn array_results(&self) -> &[ArrayResult] {
        &self.array_results
    }

    /// The positions of the results that are scalars.
    pub fn scalar_results(&self) -> &[usize] {
        &self.scalar_results
    }

    /// Whether it has a loop.
    pub fn has_loop(&self) -> bool {
        self.has_loop
    }

    /// Whether it has a loop over scalars alone: then a single run may well pay for compiling it.
    pub fn has_scalar_loop(&self) -> bool {
        self.has_scalar_loop
    }

    /// The node that makes each scalar; none for parameters, elements of arrays, and what branches and loops give.
    pub(crate) fn definitions(&self) -> Vec<Option<&Node>> {
        let mut found = vec![None; self.dtypes.len()];
        self.body.visit(&mut |node| match node {
            Node::Const { out, .. } | Node::Op { out, .. } => found[*out as usize] = Some(node),
            _ => {}
        });
        found
    }

    /// How often each scalar is used.
    pub(crate) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.dtypes.len()];
        let mut count = |ids: &[Id]| ids.iter().for_each(|&id| uses[id as usize] += 1);
        count(&self.body.results);
        self.body.visit(&mut |node| match node {
            Node::Const { .. } => {}
            Node::Op { ins, .. } => count(ins),
            Node::Element { indices, .. } => count(indices),
            Node::Store { index, value, .. } => count(&[*index, *value]),
            Node::Work { ins, .. } => count(ins),
            Node::If { condition, arms, .. } => {
                count(&[*condition]);
                arms.iter().for_each(|arm| count(&arm.results));
            }
            Node::Switch { index, arms, .. } => {
                count(&[*index]);
                arms.iter().for_each(|arm| count(&arm.results));
            }
            Node::Loop { init, condition, body, .. } => {
                [init, &condition.results, &body.results].into_iter().for_each(|ids| count(ids));
            }
        });
        uses
    }

    /// How many operators it has; origins are numbers below that.
    pub(crate) fn origin_count(&self) -> usize {
        self.origins.len()
    }

    /// Whether the operator with this origin tells more of what it rejects than its name: it works with arrays.
    pub fn explains(&self, origin: u32) -> bool {
        let element = |(op, _): (&OpDef, Loc)| op.is(&PART) || op.is(&GATHER);
        !self.works.is_empty() || self.origin(origin).is_some_and(element)
    }

    /// The operator and the location of what a run stopped at.
    pub fn origin(&self, index: u32) -> Option<(&'static OpDef, Loc)> {
        self.origins.get(index as usize).and_then(|&(op, loc)| Some((op?, loc)))
    }
}

impl Block {
    /// Shows every node, each before those inside it.
    pub(crate) fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Node)) {
        for node in &self.nodes {
            see(node);
            match node {
                Node::Const { .. }
                | Node::Op { .. }
                | Node::Element { .. }
                | Node::Store { .. }
                | Node::Work { .. } => {}
                Node::If { arms, .. } => arms.iter().for_each(|arm| arm.visit(see)),
                Node::Switch { arms, .. } => arms.iter().for_each(|arm| arm.visit(see)),
                Node::Loop { condition, body, .. } => {
                    condition.visit(see);
                    body.visit(see);
                }
            }
        }
    }

    /// Whether it has loops.
    pub(crate) fn has_loop(&self) -> bool {
        let mut found = false;
        self.visit(&mut |node| found |= matches!(node, Node::Loop { .. }));
        found
    }

    /// About how many nanoseconds a run takes, loops inside not counted.
    pub(crate) fn cost(&self) -> u32 {
        let of = |node: &Node| match node {
            Node::If { arms, .. } => arms.iter().map(Block::cost).sum(),
            Node::Switch { arms, .. } => arms.iter().map(Block::cost).sum(),
            Node::Work { cost, .. } => *cost,
            _ => 1,
        };
        self.nodes.iter().map(of).sum()
    }
}

pub(crate) struct Reader<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) ids: FxHashMap<Value, Id>,
    source: Source,
    pub(crate) lists: Lists,
    layout: Layout,
    works: Vec<Work>,
    /// The place that a part is of.
    roots: FxHashMap<Place, Place>,
    /// How many blocks are open.
    level: usize,
}

impl Reader<'_> {
    /// A number for a value.
    fn fresh(&mut self, value: Value) -> Id {
        self.source.dtypes.push(self.graph.ty(value).dtype());
        self.source.is_array.push(!self.is_scalar(value));
        self.source.places.push(None);
        let id = self.source.dtypes.len() as Id - 1;
        self.ids.insert(value, id);
        id
    }

    /// A number for a value that is made; an array gets memory of its own.
    pub(crate) fn define(&mut self, value: Value) -> Result<Id> {
        let id = self.fresh(value);
        if !self.is_scalar(value) {
            let bytes = self.bytes(value)?;
            self.source.places[id as usize] = Some(self.layout.own(bytes));
        }
        Ok(id)
    }

    pub(crate) fn is_scalar(&self, value: Value) -> bool {
        let ty = self.graph.ty(value);
        ty.shape().rank() == Some(0) && ty.dtype() != DType::Variant
    }

    /// The bytes of a scalar, an array or a list.
    pub(crate) fn bytes(&self, value: Value) -> Result<usize> {
        let ty = self.graph.ty(value);
        if ty.dtype() == DType::Variant {
            let list = self.lists.get(value).ok_or_else(|| Error::internal("a list that is no array"))?;
            return Ok(list.len * list.element_bytes());
        }
        let n = ty.shape().num_elements().ok_or_else(|| Error::internal("an array of unknown extents"))?;
        Ok(n * ty.dtype().size())
    }

    /// Where an array is; a scalar gets a place too.
    pub(crate) fn place(&mut self, id: Id) -> Result<Place> {
        let place = self.source.places[id as usize].unwrap_or_else(|| self.layout.own(size_of::<u64>()));
        self.source.places[id as usize] = Some(place);
        Ok(place)
    }

    /// The place of the memory that a place is in.
    fn root(&self, place: Place) -> Place {
        self.roots.get(&place).copied().unwrap_or(place)
    }

    pub(crate) fn id(&self, value: Value) -> Result<Id> {
        let id = self.ids.get(&value).copied();
        id.ok_or_else(|| Error::internal(format!("{value} is not of the scalar region")))
    }

    pub(crate) fn list<C: FromIterator<Id>>(&self, values: &[Value]) -> Result<C> {
        values.iter().map(|&v| self.id(v)).collect()
    }

    /// The numbers of those that are scalars.
    fn scalars<C: FromIterator<Id>>(&self, values: &[Value]) -> Result<C> {
        values.iter().filter(|&&v| self.is_scalar(v)).map(|&v| self.id(v)).collect()
    }

    pub(crate) fn origin(&mut self, op: Option<&'static OpDef>, loc: Loc) -> u32 {
        self.source.origins.push((op, loc));
        self.source.origins.len() as u32 - 1
    }

    fn block(&mut self, region: Region) -> Result<Block> {
        let graph = self.graph;
        let data = &graph.regions[region];
        let mut nodes = Vec::with_capacity(data.insts.len());
        self.level += 1;
        self.source.depth = self.source.depth.max(self.level);
        for &inst in &data.insts {
            self.node(inst, &mut nodes)?;
        }
        self.level -= 1;
        Ok(Block { nodes, results: self.scalars(&data.results)? })
    }

    fn node(&mut self, inst: Inst, nodes: &mut Vec<Node>) -> Result<()> {
        let graph = self.graph;
        let (data, loc) = (&graph.insts[inst], graph.locs[inst]);
        let op = data.op.0;
        let scalars = data.operands.iter().chain(&data.results).all(|&v| self.is_scalar(v));
        if op.is(&CONST) {
            let value = data.attrs.tensor(0);
            if scalars {
                let bits = bits(value);
                nodes.push(Node::Const { out: self.define(data.results[0])?, bits });
            } else {
                let id = self.fresh(data.results[0]);
                self.layout.constants.push(value.clone());
                let place = self.layout.place(Slot::Constant(self.layout.constants.len() - 1));
                self.source.places[id as usize] = Some(place);
            }
            return Ok(());
        }
        if let (Cpu::Elementwise(function), true) = (op.cpu, scalars) {
            let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
            let f = function
                .kernel(&dtypes, graph.ty(data.results[0]).dtype())
                .ok_or_else(|| Error::internal("no loop for a scalar").in_op(op.name))?;
            let (origin, ins) = (self.origin(Some(op), loc), self.list(&data.operands)?);
            nodes.push(Node::Op { function, f, ins, out: self.define(data.results[0])?, origin });
            return Ok(());
        }
        if op.is(&WHILE) {
            return self.repeat(inst, nodes);
        }
        if op.is(&COND) || op.is(&SWITCH) {
            return self.branch(inst, nodes);
        }
        if is_list_op(op) {
            return self.list_op(inst, nodes);
        }
        if let Some(wraps) = wraps(op, &data.attrs).filter(|_| !self.is_scalar(data.operands[0])) {
            let extents = graph.ty(data.operands[0]).shape().extents();
            let mut extents = extents.ok_or_else(|| Error::internal("an array of unknown extents"))?;
            extents.truncate(data.operands.len() - 1);
            let array = self.id(data.operands[0])?;
            let (indices, origin) = (self.list(&data.operands[1..])?, self.origin(Some(op), loc));
            let (out, take) = if self.is_scalar(data.results[0]) {
                (self.define(data.results[0])?, Take::Scalar)
            } else {
                let id = self.fresh(data.results[0]);
                let (part, whole) = (self.layout.place(Slot::Part), self.place(array)?);
                self.source.places[id as usize] = Some(part);
                self.roots.insert(part, self.root(whole));
                (id, Take::Part(self.bytes(data.results[0])?))
            };
            nodes.push(Node::Element { array, extents, indices, wraps, take, out, origin });
            return Ok(());
        }
        self.work(inst, nodes)
    }

    /// The arms of a branch end by copying the arrays that they give to where the branch has them.
    fn branch(&mut self, inst: Inst, nodes: &mut Vec<Node>) -> Result<()> {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let selector = self.id(data.operands[0])?;
        let mut arms = data.regions.iter().map(|&r| self.block(r)).collect::<Result<Vec<_>>>()?;
        let mut copies: Vec<Vec<(Value, Id, Id)>> = vec![Vec::new(); arms.len()];
        for (k, &result) in data.results.iter().enumerate() {
            if self.is_scalar(result) {
                self.define(result)?;
                continue;
            }
            let given: Vec<Id> =
                data.regions.iter().map(|&r| self.id(graph.regions[r].results[k])).collect::<Result<_>>()?;
            if given.iter().all(|&id| id == given[0]) {
                self.ids.insert(result, given[0]);
                continue;
            }
            let out = self.define(result)?;
            copies.iter_mut().zip(given).for_each(|(copies, from)| copies.push((result, from, out)));
        }
        for (arm, copies) in arms.iter_mut().zip(copies) {
            self.copies(&copies, &mut arm.nodes)?;
        }
        let outs = self.scalars(&data.results)?;
        nodes.push(match <[Block; 2]>::try_from(arms) {
            Ok(arms) if data.op.is(&COND) => Node::If { condition: selector, arms, outs },
            Ok(arms) => Node::Switch { index: selector, arms: arms.into(), outs },
            Err(arms) => Node::Switch { index: selector, arms, outs },
        });
        Ok(())
    }

    /// A loop variable, the parameters of both regions and the result are one scalar, or one array, which each iteration
    /// overwrites at its end. A list that nothing else needs as it was stays where it was made.
    fn repeat(&mut self, inst: Inst, nodes: &mut Vec<Node>) -> Result<()> {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let [condition, body] = [0, 1].map(|k| &graph.regions[data.regions[k]]);
        self.source.has_loop = true;
        let init = self.scalars(&data.operands)?;
        let mut first = Vec::new();
        for (k, &result) in data.results.iter().enumerate() {
            let start = self.id(data.operands[k])?;
            let is_list = graph.ty(result).dtype() == DType::Variant;
            let id = if is_list && !self.lists.is_shared(data.operands[k]) {
                self.ids.insert(result, start);
                start
            } else {
                self.define(result)?
            };
            if !self.is_scalar(result) && id != start {
                first.push((result, start, id));
            }
            self.ids.extend([(condition.params[k], id), (body.params[k], id)]);
        }
        self.copies(&first, nodes)?;
        let variables = self.scalars(&data.results)?;
        let before = self.layout.slots.len();
        let condition = self.block(data.regions[0])?;
        let mut iterations = self.block(data.regions[1])?;
        let mut next = Vec::new();
        for (&result, &given) in data.results.iter().zip(&body.results) {
            let (variable, given) = (self.id(result)?, self.id(given)?);
            if !self.is_scalar(result) && given != variable {
                next.push((result, given, variable));
            }
        }
        self.copies(&next, &mut iterations.nodes)?;
        self.source.has_scalar_loop |= self.layout.slots.len() == before;
        nodes.push(Node::Loop { init, variables, condition, body: iterations });
        Ok(())
    }

    /// Adds the work of copying arrays, all at once, each from one number to another.
    fn copies(&mut self, arrays: &[(Value, Id, Id)], nodes: &mut Vec<Node>) -> Result<()> {
        let mut copies = Vec::new();
        for &(value, from, to) in arrays {
            let (from, to) = (self.place(from)?, self.place(to)?);
            if from != to {
                copies.push((from, to, self.bytes(value)?));
            }
        }
        if copies.is_empty() {
            return Ok(());
        }
        let overwritten = |&(from, to, _): &(Place, Place, usize)| {
            copies.iter().any(|&(_, other, _)| other != to && other == self.root(from))
        };
        let apart = copies.iter().any(overwritten);
        let total = copies.iter().map(|c| c.2).sum();
        let by = apart.then(|| self.layout.own(total));
        let ins = arrays.iter().map(|a| a.1).collect();
        self.push(Work::Copies { copies, by }, ins, None, (None, Loc::UNKNOWN), nodes);
        Ok(())
    }

    pub(crate) fn push(
        &mut self,
        work: Work,
        ins: SmallVec<[Id; 3]>,
        out: Option<Id>,
        (op, loc): (Option<&'static OpDef>, Loc),
        nodes: &mut Vec<Node>,
    ) {
        let origin = self.origin(op, loc);
        let cost = work.nanoseconds();
        self.works.push(work);
        nodes.push(Node::Work { work: self.works.len() - 1, ins, out, cost, origin });
    }
}

/// The bytes of a scalar of up to 8 bytes, in the lowest ones.
fn bits(scalar: &Tensor) -> u64 {
    let mut word = [0; 8];
    let bytes = scalar.bytes();
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
