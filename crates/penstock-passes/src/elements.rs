//! What the lists of a graph under construction hold: the shape of what is read from one, or its value, from what was written to
//! it.

use penstock_data::{DType, Dim, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Builder, Graph, Inst, OpDef, Value};
use penstock_ops::list;
use rustc_hash::FxHashMap;

use crate::known::SMALL;

/// What was written to a list.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Written {
    /// A shape that covers all elements that are set; `None` where none is.
    shape: Option<Shape>,
    /// What all elements are that are set.
    value: Same,
    /// What the elements that are lists themselves hold, taken together; `None` where that is not known.
    lists: Option<Box<Written>>,
    /// Whether some elements may not be set.
    unset: bool,
    /// Whether it was assumed for the variable of a loop whose body is being copied.
    assumed: bool,
}

/// What is known of the values of all elements of a list.
#[derive(Clone, PartialEq, Debug)]
enum Same {
    /// There are none.
    None,
    /// All are this one: loops keep shapes so, for their derivatives.
    One(Tensor),
    /// They may differ.
    Any,
}

impl Same {
    fn join(&self, other: &Same) -> Same {
        match (self, other) {
            (Same::None, same) | (same, Same::None) => same.clone(),
            (Same::One(a), Same::One(b)) if a == b => self.clone(),
            _ => Same::Any,
        }
    }
}

impl Written {
    const ANYTHING: Written =
        Written { shape: Some(Shape::UNRANKED), value: Same::Any, lists: None, unset: true, assumed: false };

    /// Elements of this shape, all of them set.
    fn of(shape: Shape) -> Written {
        Written { shape: Some(shape), value: Same::Any, lists: None, unset: false, assumed: false }
    }

    /// What covers both.
    pub(crate) fn join(&self, other: &Written) -> Written {
        let shape = match (&self.shape, &other.shape) {
            (Some(a), Some(b)) => Some(a.join(b)),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let lists = match (&self.lists, &other.lists) {
            (Some(a), Some(b)) => Some(Box::new(a.join(b))),
            (a, _) if other.shape.is_none() => a.clone(),
            (_, b) if self.shape.is_none() => b.clone(),
            _ => None,
        };
        let value = self.value.join(&other.value);
        Written { shape, value, lists, unset: self.unset || other.unset, assumed: self.assumed || other.assumed }
    }

    /// Whether all that `other` covers is covered.
    pub(crate) fn covers(&self, other: &Written) -> bool {
        self.join(other).assumed(self.assumed) == *self
    }

    pub(crate) fn assumed(mut self, assumed: bool) -> Written {
        self.assumed = assumed;
        self
    }
}

/// What the lists of a graph hold, by their values.
#[derive(Default)]
pub(crate) struct Elements {
    known: FxHashMap<Value, Written>,
    /// Whether a type was taken from what was assumed.
    pub(crate) relied: bool,
    /// How many loops are being copied around this place.
    loops: usize,
}

impl Elements {
    pub(crate) fn get(&self, list: Value) -> Written {
        self.known.get(&list).cloned().unwrap_or(Written::ANYTHING)
    }

    /// What a list among the elements of a list holds.
    fn inside(&self, list: Value) -> Written {
        let Written { lists, unset, assumed, .. } = self.get(list);
        lists.map_or(Written::ANYTHING, |inner| Written { unset: inner.unset || unset, ..*inner }.assumed(assumed))
    }

    pub(crate) fn set(&mut self, list: Value, written: Written) {
        self.known.insert(list, written);
    }

    /// The value of a read from a list all elements of which are the same: that it may be out of range is then of no account, as
    /// with other instructions of which nobody needs the result.
    pub(crate) fn value(&mut self, graph: &Graph, op: &OpDef, attrs: &Attrs, operands: &[Value]) -> Option<Tensor> {
        let by_scalar = |&_: &&Value| op.is(&list::LIST_GET) && graph.ty(operands[1]).shape().rank() == Some(0);
        let list = operands.first().filter(by_scalar)?;
        let Written { value: Same::One(value), unset: false, assumed, .. } = self.known.get(list)? else { return None };
        self.relied |= assumed;
        (attrs.opt_dtype(0) == Some(value.dtype())).then(|| value.clone())
    }

    /// Begins with a loop; what it gives is for [`Elements::leave_loop`].
    pub(crate) fn enter_loop(&mut self) -> bool {
        self.loops += 1;
        self.relied
    }

    pub(crate) fn leave_loop(&mut self, relied_before: bool) {
        self.loops -= 1;
        self.relied |= relied_before;
    }

    /// Notes what the results of a loop hold.
    pub(crate) fn note_loop(&mut self, results: &[Value], held: Vec<Written>) {
        for (&result, held) in results.iter().zip(held) {
            self.set(result, held.assumed(self.loops > 0));
        }
    }

    /// Notes what the results of branches hold.
    pub(crate) fn note_branches(&mut self, graph: &Graph, inst: Inst) {
        let data = &graph.insts[inst];
        for (k, &result) in data.results.iter().enumerate().filter(|&(_, &v)| graph.ty(v).dtype() == DType::Variant) {
            let held = data.regions.iter().map(|&r| self.get(graph.regions[r].results[k]));
            if let Some(held) = held.reduce(|a, b| a.join(&b)) {
                self.set(result, held);
            }
        }
    }

    /// Notes what an instruction without regions writes, and refines the shapes of what it reads.
    pub(crate) fn note(&mut self, builder: &mut Builder, inst: Inst) {
        let graph = builder.graph();
        let data = &graph.insts[inst];
        let op = data.op.0;
        if data.operands.iter().chain(&data.results).all(|&v| graph.ty(v).dtype() != DType::Variant) {
            return;
        }
        let shape = |k: usize| graph.ty(data.operands[k]).shape().clone();
        let first = || self.get(data.operands[0]);
        // One more element, or a row of them.
        let one = |k: usize, shape: Shape| {
            let value = data.operands[k];
            let same = graph.constant(value).filter(|t| t.dtype().is_integer() && t.len() <= SMALL);
            Written {
                value: same.map_or(Same::Any, |t| Same::One(t.clone())),
                lists: (graph.ty(value).dtype() == DType::Variant).then(|| Box::new(self.get(value))),
                ..Written::of(shape)
            }
        };
        let written = if op.is(&list::LIST_NEW) {
            // What is not set has the declared shape, where that is all known.
            let declared = match data.attrs.0.get(1) {
                Some(Attr::Shape(shape)) if shape.is_static() => Some(shape.clone()),
                _ => None,
            };
            let is_empty =
                graph.constant(data.operands[0]).and_then(|t| t.to_ints().ok()).is_some_and(|n| n[..] == [0]);
            Written { shape: declared, value: Same::None, lists: None, unset: !is_empty, assumed: false }
        } else if op.is(&list::LIST_FROM_TENSOR) {
            Written::of(rows_of(&shape(0)))
        } else if op.is(&list::LIST_SPLIT) {
            let rows = rows_of(&shape(0));
            let piece = rows.dims().map(|dims| Shape::new(std::iter::once(Dim::Unknown).chain(dims.iter().copied())));
            Written::of(piece.unwrap_or(Shape::UNRANKED))
        } else if op.is(&list::LIST_SET) || op.is(&list::LIST_ACCUMULATE) {
            let (added, scalar) = match shape(1).rank() {
                Some(0) => (one(2, shape(2)), true),
                Some(_) => (Written::of(rows_of(&shape(2))), false),
                None => (Written::ANYTHING, false),
            };
            // A list may grow by more than what is set, and what is added to is another value.
            let value = if scalar && op.is(&list::LIST_SET) { added.value.clone() } else { Same::Any };
            let lists = added.lists.clone().filter(|_| op.is(&list::LIST_SET));
            first().join(&Written { value, lists, unset: true, ..added })
        } else if op.is(&list::LIST_PUSH) {
            first().join(&one(1, shape(1)))
        } else if op.is(&list::LIST_TAKE) || op.is(&list::LIST_RESIZE) {
            Written { unset: true, ..first() }
        } else if op.is(&list::LIST_POP) {
            first()
        } else if op.is(&list::LIST_ADD) {
            Written { value: Same::Any, lists: None, unset: true, ..first().join(&self.get(data.operands[1])) }
        } else if op.is(&list::LIST_GET) {
            self.inside(data.operands[0])
        } else {
            Written::ANYTHING
        };
        let taken = data.results.get(1).copied().filter(|&v| graph.ty(v).dtype() == DType::Variant);
        let taken = taken.map(|v| (v, self.inside(data.operands[0])));
        let made = data.results.first().copied().filter(|&v| graph.ty(v).dtype() == DType::Variant);
        let from = data.operands.first().map(|&v| self.get(v));
        let read = read_of(graph, inst).filter(|&(v, _)| !graph.ty(v).shape().is_static());
        for (list, written) in made.map(|made| (made, written)).into_iter().chain(taken) {
            self.set(list, written);
        }
        let (Some((result, lead)), Some(Written { shape: Some(element), assumed, .. })) = (read, from) else { return };
        let Some(dims) = element.dims() else { return };
        let outer = |i: usize| graph.ty(result).shape().dims().map_or(Dim::Unknown, |d| d[i]);
        let shape = Shape::new((0..lead).map(outer).chain(dims.iter().copied()));
        // A read that contradicts what was written fails when it runs.
        if builder.refine(result, &shape).is_ok() {
            self.relied |= assumed;
        }
    }
}

/// The result of an instruction that is read from its list, and how many of its dimensions are in front of an element's.
fn read_of(graph: &Graph, inst: Inst) -> Option<(Value, usize)> {
    let data = &graph.insts[inst];
    let op = data.op.0;
    let (result, lead) = if op.is(&list::LIST_GET) {
        (data.results[0], graph.ty(data.operands[1]).shape().rank()?)
    } else if op.is(&list::LIST_TAKE) {
        (data.results[1], graph.ty(data.operands[1]).shape().rank()?)
    } else if op.is(&list::LIST_POP) {
        (data.results[1], 0)
    } else if op.is(&list::LIST_STACK) {
        (data.results[0], 1)
    } else {
        return None;
    };
    (graph.ty(result).dtype() != DType::Variant).then_some((result, lead))
}

/// A tensor's shape without its first dimension.
fn rows_of(shape: &Shape) -> Shape {
    match shape.dims() {
        Some([_, rest @ ..]) => Shape::new(rest.iter().copied()),
        _ => Shape::UNRANKED,
    }
}
