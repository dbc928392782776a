//! What a graph tells of the elements of values that may be extents, and of the lengths of lists.

use penstock_data::{DType, Dim, Tensor};
use smallvec::{SmallVec, smallvec};

use crate::entities::{Region, Value};
use crate::graph::{Def, Graph, InstData};
use crate::known::{Element, KnownValues};
use crate::op::{Cpu, Elements, ElementsCx, Structure};

/// How far it looks back through the instructions that compute a shape.
const LOOK_BACK: usize = 16;

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

/// Computes a small value of an unfinished graph from constants and from extents that types tell; `None` where it cannot.
pub type Evaluate = fn(&Graph, Value) -> Option<Tensor>;

/// As [`GraphValues`], with what computing small values tells besides.
pub(crate) struct ComputedValues<'a> {
    pub(crate) known: GraphValues<'a>,
    pub(crate) evaluate: Option<Evaluate>,
}

impl ComputedValues<'_> {
    fn computed(&self, index: usize) -> Option<Tensor> {
        self.evaluate?(self.known.graph, *self.known.operands.get(index)?)
    }
}

impl KnownValues for ComputedValues<'_> {
    fn constant(&self, index: usize) -> Option<Tensor> {
        self.known.constant(index).or_else(|| self.computed(index))
    }

    fn elements(&self, index: usize) -> Option<SmallVec<[Element; 4]>> {
        let seen = self.known.elements(index);
        if seen.as_ref().is_some_and(|all| !all.contains(&Element::UNKNOWN)) {
            return seen;
        }
        self.computed(index).and_then(|tensor| Element::of_tensor(&tensor)).or(seen)
    }
}

/// The same, looking back through `fuel` instructions.
struct Operands<'a> {
    graph: &'a Graph,
    operands: &'a [Value],
    fuel: usize,
}

impl KnownValues for Operands<'_> {
    fn constant(&self, index: usize) -> Option<Tensor> {
        self.graph.constant(*self.operands.get(index)?).cloned()
    }

    fn elements(&self, index: usize) -> Option<SmallVec<[Element; 4]>> {
        known_elements(self.graph, *self.operands.get(index)?, self.fuel)
    }
}

/// What is known of the elements of an integer vector or scalar, seen through the instructions that compute it, as their
/// [`Elements`] tell. Of a list, its length.
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
    let seen = match graph.values[value].def {
        Def::Result(inst, index) => by_operator(graph, &graph.insts[inst], index as usize, fuel),
        Def::Param(_) => None,
    };
    seen.or_else(|| match graph.ty(value).shape().dims()? {
        [] => Some(smallvec![Element::UNKNOWN]),
        [Dim::Known(n)] if *n <= 64 => Some(SmallVec::from_elem(Element::UNKNOWN, *n)),
        _ => None,
    })
}

/// What the operator of an instruction tells of the elements of a result.
fn by_operator(graph: &Graph, data: &InstData, index: usize, fuel: usize) -> Option<SmallVec<[Element; 4]>> {
    match data.op.elements {
        Elements::Unknown => None,
        Elements::Operand(of) => known_elements(graph, data.operands[of(&data.attrs, index)?], fuel),
        Elements::Rule(rule) => rule(&ElementsCx {
            inputs: &data.operands.iter().map(|&v| graph.ty(v)).collect::<SmallVec<[_; 4]>>(),
            result: graph.ty(data.results[index]),
            attrs: &data.attrs,
            values: &Operands { graph, operands: &data.operands, fuel },
        }),
    }
}

/// The length of a list, seen through the instructions that keep it: writes, and loops that only write.
fn length_of_list(graph: &Graph, value: Value, fuel: usize) -> Option<Dim> {
    let one = |elements: SmallVec<[Element; 4]>| match elements[..] {
        [n] => Some(n.dim()),
        _ => None,
    };
    let of = |v: Value| known_elements(graph, v, fuel).and_then(one);
    let Def::Result(inst, index) = graph.values[value].def else { return None };
    let (data, index) = (&graph.insts[inst], index as usize);
    match (data.op.cpu, data.op.elements) {
        (Cpu::Executor(Structure::Loop), _) => {
            let body = &graph.regions[data.regions[1]];
            let keeps = same_length_as(graph, body.results[index], fuel)? == body.params[index];
            of(data.operands[index]).filter(|_| keeps)
        }
        (_, Elements::Rule(_)) => by_operator(graph, data, index, fuel).and_then(one),
        _ => of(same_length_as(graph, value, fuel).filter(|&v| v != value)?),
    }
    .filter(|&n| n != Dim::Unknown)
}

/// The list that `value` was before it was written to.
fn same_length_as(graph: &Graph, mut value: Value, fuel: usize) -> Option<Value> {
    for _ in 0..fuel {
        let Def::Result(inst, index) = graph.values[value].def else { return Some(value) };
        let (data, index) = (&graph.insts[inst], index as usize);
        value = match (data.op.cpu, data.op.elements) {
            (Cpu::Executor(Structure::Loop), _) => {
                let body = &graph.regions[data.regions[1]];
                let before = same_length_as(graph, body.results[index], fuel.checked_sub(1)?)?;
                if before != body.params[index] {
                    return Some(value);
                }
                data.operands[index]
            }
            (Cpu::Executor(Structure::Branches), _) => {
                let of = |&r: &Region| same_length_as(graph, graph.regions[r].results[index], fuel.checked_sub(1)?);
                let before = of(data.regions.first()?)?;
                if !data.regions[1..].iter().all(|r| of(r) == Some(before)) {
                    return Some(value);
                }
                before
            }
            (_, Elements::Operand(of)) => match of(&data.attrs, index) {
                Some(operand) => data.operands[operand],
                None => return Some(value),
            },
            _ => return Some(value),
        };
    }
    None
}
