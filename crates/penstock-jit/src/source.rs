//! A scalar region, out of its graph.

use penstock_data::{DType, Dims, Error, Loc, Result, Tensor};
use penstock_ir::{Cpu, Graph, InstData, Region, Value};
use penstock_kernels::LoopFn;
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_ops::gather::GATHER;
use penstock_ops::part::{PART, wraps};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The number of a scalar.
pub(crate) type Id = u32;

/// A scalar region as a tree of structured control flow over numbered scalars. A parameter may be an array, of which the
/// region reads elements.
#[derive(Debug)]
pub struct Source {
    pub(crate) params: Vec<Id>,
    /// Whether each parameter is an array.
    pub(crate) arrays: Vec<bool>,
    pub(crate) body: Block,
    pub(crate) dtypes: Vec<DType>,
    origins: Vec<(&'static str, Loc)>,
    has_loop: bool,
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
    /// An elementwise operator; `origin` is its place among the origins.
    Op { name: &'static str, f: LoopFn, ins: SmallVec<[Id; 3]>, out: Id, origin: u32 },
    /// An element of the array that parameter `array` is, of these extents; where `wraps`, negative indices count from the end.
    Element { array: Id, extents: Dims, indices: SmallVec<[Id; 3]>, wraps: bool, out: Id, origin: u32 },
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
                dtypes: Vec::new(),
                origins: Vec::new(),
                has_loop: false,
            },
        };
        reader.source.params = graph.regions[region].params.iter().map(|&v| reader.define(v)).collect();
        let is_array = |&v: &Value| graph.ty(v).shape().rank() != Some(0);
        reader.source.arrays = graph.regions[region].params.iter().map(is_array).collect();
        reader.source.body = reader.block(region)?;
        Ok(reader.source)
    }

    /// Whether it has a loop: then a single run may pay for compiling it.
    pub fn has_loop(&self) -> bool {
        self.has_loop
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

    /// Whether the operator with this origin reads an element.
    pub fn is_element(&self, origin: u32) -> bool {
        self.origins.get(origin as usize).is_some_and(|(name, _)| [PART.name, GATHER.name].contains(name))
    }

    /// The operator and the location of what a run stopped at.
    pub fn origin(&self, index: u32) -> Option<(&'static str, Loc)> {
        self.origins.get(index as usize).copied()
    }
}

impl Block {
    /// Shows every node, each before those inside it.
    pub(crate) fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Node)) {
        for node in &self.nodes {
            see(node);
            match node {
                Node::Const { .. } | Node::Op { .. } | Node::Element { .. } => {}
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
            _ => 1,
        };
        self.nodes.iter().map(of).sum()
    }
}

struct Reader<'a> {
    graph: &'a Graph,
    ids: FxHashMap<Value, Id>,
    source: Source,
}

impl Reader<'_> {
    fn define(&mut self, value: Value) -> Id {
        let id = self.source.dtypes.len() as Id;
        self.source.dtypes.push(self.graph.ty(value).dtype());
        self.ids.insert(value, id);
        id
    }

    fn id(&self, value: Value) -> Result<Id> {
        let id = self.ids.get(&value).copied();
        id.ok_or_else(|| Error::internal(format!("{value} is not of the scalar region")))
    }

    fn list<C: FromIterator<Id>>(&self, values: &[Value]) -> Result<C> {
        values.iter().map(|&v| self.id(v)).collect()
    }

    fn block(&mut self, region: Region) -> Result<Block> {
        let data = &self.graph.regions[region];
        let nodes = (data.insts.iter())
            .map(|&inst| self.node(&self.graph.insts[inst], self.graph.locs[inst]))
            .collect::<Result<_>>()?;
        Ok(Block { nodes, results: self.list(&data.results)? })
    }

    fn node(&mut self, data: &InstData, loc: Loc) -> Result<Node> {
        let op = data.op.0;
        if op.is(&CONST) {
            let bits = bits(data.attrs.tensor(0));
            return Ok(Node::Const { out: self.define(data.results[0]), bits });
        }
        if let Cpu::Elementwise(lookup) = op.cpu {
            let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| self.graph.ty(v).dtype()).collect();
            let f =
                lookup(&dtypes, &data.attrs).ok_or_else(|| Error::internal("no loop for a scalar").in_op(op.name))?;
            let origin = self.source.origins.len() as u32;
            self.source.origins.push((op.name, loc));
            let ins = self.list(&data.operands)?;
            return Ok(Node::Op { name: op.name, f, ins, out: self.define(data.results[0]), origin });
        }
        if op.is(&WHILE) {
            return self.repeat(data);
        }
        if let Some(wraps) = wraps(op, &data.attrs) {
            let extents = self.graph.ty(data.operands[0]).shape().extents();
            let extents = extents.ok_or_else(|| Error::internal("an array of unknown extents"))?;
            let array = self.id(data.operands[0])?;
            let indices = self.list(&data.operands[1..])?;
            let origin = self.source.origins.len() as u32;
            self.source.origins.push((op.name, loc));
            return Ok(Node::Element { array, extents, indices, wraps, out: self.define(data.results[0]), origin });
        }
        let selector = self.list::<Vec<Id>>(&data.operands)?;
        let arms = data.regions.iter().map(|&r| self.block(r)).collect::<Result<Vec<_>>>()?;
        let outs = data.results.iter().map(|&v| self.define(v)).collect();
        match (selector[..].first(), <[Block; 2]>::try_from(arms)) {
            (Some(&condition), Ok(arms)) if op.is(&COND) => Ok(Node::If { condition, arms, outs }),
            (Some(&index), arms) if op.is(&SWITCH) => {
                Ok(Node::Switch { index, arms: arms.map_or_else(|arms| arms, Vec::from), outs })
            }
            _ => Err(Error::internal("is not for scalar regions").in_op(op.name)),
        }
    }

    /// A loop variable, the parameters of both regions and the result are one scalar.
    fn repeat(&mut self, data: &InstData) -> Result<Node> {
        self.source.has_loop = true;
        let init = self.list(&data.operands)?;
        let variables: Vec<Id> = data.results.iter().map(|&v| self.define(v)).collect();
        for &region in &data.regions {
            self.ids.extend(self.graph.regions[region].params.iter().copied().zip(variables.iter().copied()));
        }
        let (condition, body) = (self.block(data.regions[0])?, self.block(data.regions[1])?);
        Ok(Node::Loop { init, variables, condition, body })
    }
}

/// The bytes of a scalar of up to 8 bytes, in the lowest ones.
fn bits(scalar: &Tensor) -> u64 {
    let mut word = [0; 8];
    let bytes = scalar.bytes();
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
