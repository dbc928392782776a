//! Where the shape of each value comes from.
//!
//! Inference is asked what it makes of an instruction where one size of an operand is known and the others are not: a size of the result
//! that is then the same comes from there. So no operator has to tell.

use penstock_data::{Dim, Loc, Shape, Symbol};
use penstock_ir::{Cpu, Graph, Inst, OutTypes, Region, Structure, Type, Value, infer_types_for};
use rustc_hash::FxHashMap;

/// Instructions of more sizes of operands than this are not asked about single ones.
const SIZES: usize = 64;
/// A symbol that no graph has.
const FRESH: Dim = Dim::Sym(Symbol(u32::MAX));

/// What decides a size, or that it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Origin {
    /// The size of an input of the graph.
    Input(Value, usize),
    /// An instruction: its attributes, a constant, or several sizes of its operands.
    Made(Inst),
    /// The values that the instruction gets when it runs.
    Decided(Inst),
    /// A loop whose iterations may change it.
    Changed(Inst),
    /// A conditional whose branches give different ones.
    Differs(Inst),
}

/// Where the sizes of values come from: for each dimension, or one for all where the number of dimensions is not known.
pub(crate) struct Shapes<'a> {
    graph: &'a Graph,
    origins: FxHashMap<Value, Vec<Origin>>,
}

impl<'a> Shapes<'a> {
    pub(crate) fn of(graph: &'a Graph) -> Shapes<'a> {
        let mut shapes = Shapes { graph, origins: FxHashMap::default() };
        for &input in graph.inputs() {
            let origins = (0..shapes.places(input)).map(|axis| Origin::Input(input, axis)).collect();
            shapes.origins.insert(input, origins);
        }
        shapes.region(graph.body());
        shapes
    }

    /// What is said of the shape of a value: `f32[s0,64]: s0 is axis 0 of x; 64 is axis 1 of w`. `None` for a scalar.
    pub(crate) fn text(&self, value: Value) -> Option<String> {
        let ty = self.graph.ty(value);
        let origins = self.origins.get(&value)?;
        let mut parts: Vec<(Origin, String)> = Vec::new();
        for (axis, &origin) in origins.iter().enumerate() {
            let size = ty.shape().dims().map_or("the number of dimensions".to_owned(), |dims| dims[axis].to_string());
            match parts.last_mut() {
                Some((last, sizes)) if *last == origin => *sizes += &format!(", {size}"),
                _ => parts.push((origin, size)),
            }
        }
        let said: Vec<String> =
            parts.iter().map(|(origin, sizes)| format!("{sizes} {}", self.said(*origin, value))).collect();
        (!said.is_empty()).then(|| format!("{ty}: {}", said.join("; ")))
    }

    fn said(&self, origin: Origin, value: Value) -> String {
        match origin {
            Origin::Input(input, axis) => {
                let dim = self.graph.ty(input).shape().dims().map(|dims| dims[axis]);
                let name = self.graph.names.get(&input).map_or_else(|| input.to_string(), |n| n.to_string());
                match dim {
                    Some(Dim::Known(_)) if input == value => "is given".to_owned(),
                    _ if input == value => "is left open".to_owned(),
                    Some(Dim::Known(_) | Dim::Sym(_)) => format!("is axis {axis} of {name}"),
                    Some(Dim::Unknown) => format!("unknown because axis {axis} of {name} is left open"),
                    None => format!("unknown because the shape of {name} is left open"),
                }
            }
            Origin::Made(inst) => format!("comes from {}", self.named(inst)),
            Origin::Decided(inst) => format!("unknown because {} decides it when it runs", self.named(inst)),
            Origin::Changed(inst) => format!("unknown because {} may change it", self.named(inst)),
            Origin::Differs(inst) => format!("unknown because the branches of {} differ", self.named(inst)),
        }
    }

    fn named(&self, inst: Inst) -> String {
        let loc = self.graph.locs.get(inst).copied().unwrap_or(Loc::UNKNOWN);
        let name = self.graph.insts[inst].op.name;
        if loc.is_unknown() { name.to_owned() } else { format!("{name} at {loc}") }
    }

    /// How many origins a value has.
    fn places(&self, value: Value) -> usize {
        self.graph.ty(value).shape().rank().unwrap_or(1)
    }

    /// The origin of a size of a value.
    fn origin(&self, value: Value, axis: usize) -> Option<Origin> {
        let origins = self.origins.get(&value)?;
        origins.get(axis).or(origins.last()).copied()
    }

    fn region(&mut self, region: Region) {
        let graph = self.graph;
        for &inst in &graph.regions[region].insts {
            let data = &graph.insts[inst];
            for &inner in &data.regions {
                // Parameters stand for the operands.
                for (k, &param) in graph.regions[inner].params.iter().enumerate() {
                    self.follow(param, data.operands.get(k).copied(), Origin::Changed(inst));
                }
                self.region(inner);
            }
            match (data.op.cpu, &data.regions[..]) {
                (Cpu::Executor(Structure::Loop), _) => {
                    let first = data.results.iter().zip(data.operands.iter().copied());
                    first.for_each(|(&result, operand)| self.follow(result, Some(operand), Origin::Changed(inst)));
                }
                (_, [first, ..]) if graph.regions[*first].results.len() == data.results.len() => {
                    let given = data.results.iter().zip(graph.regions[*first].results.iter().copied());
                    given.for_each(|(&result, given)| self.follow(result, Some(given), Origin::Differs(inst)));
                }
                _ => self.instruction(inst),
            }
        }
    }

    /// Gives a value the origins of another one, but for sizes that are known of that one alone.
    fn follow(&mut self, value: Value, other: Option<Value>, lost: Origin) {
        let (Origin::Changed(inst) | Origin::Differs(inst)) = lost else { return };
        let dims = |v: Value| self.graph.ty(v).shape().dims();
        let (own, given) = (dims(value), other.and_then(dims));
        let origin = |axis: usize| {
            let dim = |dims: Option<&[Dim]>| dims.and_then(|dims| dims.get(axis)).copied();
            let same = dim(own) == dim(given);
            let known = dim(own).is_some_and(|dim| dim != Dim::Unknown);
            let followed = other.and_then(|other| self.origin(other, axis)).filter(|_| same);
            followed.unwrap_or(if known { Origin::Made(inst) } else { lost })
        };
        let origins = (0..self.places(value)).map(origin).collect();
        self.origins.insert(value, origins);
    }

    fn instruction(&mut self, inst: Inst) {
        let data = &self.graph.insts[inst];
        let asked = Asked::new(self.graph, inst);
        for (k, &result) in data.results.iter().enumerate() {
            let dims = self.graph.ty(result).shape().dims();
            let origin = |axis: usize| {
                let size = dims.map(|dims| dims[axis]);
                let from = |(operand, axis): (usize, usize)| self.origin(data.operands[operand], axis);
                match size {
                    Some(dim) if dim != Dim::Unknown => asked.decides(k, axis, dim).and_then(from),
                    _ => asked.hides(k, axis).and_then(from),
                }
                .unwrap_or(match size {
                    Some(dim) if dim != Dim::Unknown => Origin::Made(inst),
                    _ => Origin::Decided(inst),
                })
            };
            let origins = (0..self.places(result)).map(origin).collect();
            self.origins.insert(result, origins);
        }
    }
}

/// What inference says of an instruction where less or more is known of its operands.
struct Asked {
    /// With no size.
    none: Option<OutTypes>,
    /// With one size of an operand: which, and what the results are.
    alone: Vec<((usize, usize), OutTypes)>,
    /// With a size in the place of one that is not known.
    filled: Vec<((usize, usize), OutTypes)>,
    /// The first operand whose number of dimensions is not known.
    unranked: Option<usize>,
}

impl Asked {
    fn new(graph: &Graph, inst: Inst) -> Asked {
        let types: Vec<Type> = graph.insts[inst].operands.iter().map(|&v| graph.ty(v).clone()).collect();
        let infer = |types: &[Type]| infer_types_for(graph, inst, types).ok();
        let blank: Vec<Type> = types
            .iter()
            .map(|ty| {
                ty.with_shape(ty.shape().dims().map_or(Shape::UNRANKED, |d| Shape::new(d.iter().map(|_| Dim::Unknown))))
            })
            .collect();
        let mut asked = Asked { none: infer(&blank), alone: Vec::new(), filled: Vec::new(), unranked: None };
        let sizes: usize = types.iter().map(|ty| ty.shape().rank().unwrap_or(1)).sum();
        if sizes > SIZES {
            return asked;
        }
        for (operand, ty) in types.iter().enumerate() {
            let Some(dims) = ty.shape().dims() else {
                asked.unranked = asked.unranked.or(Some(operand));
                continue;
            };
            for (axis, &dim) in dims.iter().enumerate() {
                let known = dim != Dim::Unknown;
                let mut with = if known { blank.clone() } else { types.clone() };
                let base = if known { vec![Dim::Unknown; dims.len()] } else { dims.to_vec() };
                let new = if known { dim } else { FRESH };
                let changed = base.into_iter().enumerate().map(|(k, d)| if k == axis { new } else { d });
                with[operand] = ty.with_shape(Shape::new(changed));
                if let Some(results) = infer(&with) {
                    let list = if known { &mut asked.alone } else { &mut asked.filled };
                    list.push(((operand, axis), results));
                }
            }
        }
        asked
    }

    /// The size of an operand that decides a size of a result by itself.
    fn decides(&self, result: usize, axis: usize, dim: Dim) -> Option<(usize, usize)> {
        let gives = |types: &OutTypes| size(types, result, axis) == Some(dim);
        if self.none.as_ref().is_some_and(gives) {
            return None;
        }
        self.alone.iter().find(|(_, types)| gives(types)).map(|&(place, _)| place)
    }

    /// The size of an operand which is not known, wherefore a size of a result is not.
    fn hides(&self, result: usize, axis: usize) -> Option<(usize, usize)> {
        let gives = |types: &OutTypes| size(types, result, axis).is_some_and(|dim| dim != Dim::Unknown);
        let filled = self.filled.iter().find(|(_, types)| gives(types)).map(|&(place, _)| place);
        filled.or(self.unranked.map(|operand| (operand, 0)))
    }
}

/// A size of a result.
fn size(types: &OutTypes, result: usize, axis: usize) -> Option<Dim> {
    types.get(result)?.shape().dims()?.get(axis).copied()
}
