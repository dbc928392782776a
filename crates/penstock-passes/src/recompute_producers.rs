//! Windows of what is computed: where only parts of an elementwise result are read, each part is computed where it is read.
//!
//! A stencil reads neighbours of what another stencil made. To compute these anew for each reader takes a few operations on what
//! is in registers and in the first-level cache; to keep them takes a pass over memory in between, and a group of its own.

use penstock_data::{Dims, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Cpu, Graph, Inst, OpDef, Region, Rows, Type, Value};
use penstock_ops::binary::{ADD, DIV, MAXIMUM, MINIMUM, MUL, SUB};
use penstock_ops::cast::CAST;
use penstock_ops::compare::{
    EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, NOT_EQUAL, SELECT,
};
use penstock_ops::control::CONST;
use penstock_ops::slicing::SLICE;
use penstock_ops::unary::{ABS, LOGICAL_NOT, NEG, RECIPROCAL, RELU, RSQRT, SQRT, SQUARE};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::edit::{inherit_name, inputs, regions, unlisted};
use crate::{Cx, dce, fuse, rejects_elements};

/// The most operations on an element that are made beside those that are made once: a pass over memory takes the time of as many,
/// where neighbouring rows are in the first-level cache, and where they are not.
const MOST_AGAIN: [usize; 2] = [12, 24];
/// The bytes of what has one outermost index, up to which several of these are in the first-level cache.
const NEAR: usize = 8 << 10;
/// Operations that a division or a root counts as.
const DIVISION: usize = 32;
/// The most windows of which those of one result are computed: each is a stream.
const MOST_STREAMS: usize = 16;

/// For each dimension, the first index and the number of indices.
type Cut = SmallVec<[(usize, usize); 4]>;

/// Computes what is only read in windows where it is read, if that is few operations more.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    if cx.for_device {
        return Ok(()); // nothing there reads windows
    }
    let mut some = false;
    for region in regions(graph) {
        let mut found = Finder::new(graph, region, cx);
        found.choose();
        let Finder { again, requests, windows, .. } = found;
        if !again.is_empty() {
            some = true;
            Maker { graph, region, windows, made: FxHashMap::default(), behind: FxHashMap::default() }
                .make(&again, &requests)?;
        }
    }
    if some { dce::run(graph, cx) } else { Ok(()) }
}

/// What a value is a window of, through windows of windows.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Window {
    base: Value,
    cut: Cut,
}

impl Window {
    /// A part of what an array of these extents reads of an operand; `None` where it does not broadcast as a whole.
    fn of(
        graph: &Graph,
        windows: &FxHashMap<Value, Window>,
        operand: Value,
        dims: &[usize],
        cut: &Cut,
    ) -> Option<Window> {
        let own = graph.ty(operand).shape().extents()?;
        let lead = dims.len().checked_sub(own.len())?;
        let cut = own.iter().zip(&dims[lead..]).zip(&cut[lead..]).map(|((&own, &dim), &cut)| match own {
            1 if dim != 1 => (0, 1),
            _ => cut,
        });
        let cut: Cut = cut.collect();
        Some(match windows.get(&operand) {
            None => Window { base: operand, cut },
            Some(window) => Window { base: window.base, cut: within(&window.cut, &cut) },
        })
    }

    fn is_whole(&self, graph: &Graph) -> bool {
        let own = graph.ty(self.base).shape().extents();
        own.is_some_and(|own| self.cut.iter().zip(&own).all(|(&cut, &d)| cut == (0, d)))
    }
}

/// The part of a part.
fn within(outer: &Cut, inner: &Cut) -> Cut {
    outer.iter().zip(inner).map(|(outer, inner)| (outer.0 + inner.0, inner.1)).collect()
}

/// Finds what is computed anew for each of its windows.
struct Finder<'a> {
    graph: &'a Graph,
    region: Region,
    cx: &'a Cx,
    windows: FxHashMap<Value, Window>,
    /// The windows of each value that are read by elementwise instructions of their extents.
    requests: FxHashMap<Value, Vec<Cut>>,
    /// Values of which something else is needed.
    whole: FxHashSet<Value>,
    again: FxHashSet<Inst>,
}

impl<'a> Finder<'a> {
    fn new(graph: &'a Graph, region: Region, cx: &'a Cx) -> Finder<'a> {
        let mut finder = Finder {
            graph,
            region,
            cx,
            windows: FxHashMap::default(),
            requests: FxHashMap::default(),
            whole: FxHashSet::default(),
            again: FxHashSet::default(),
        };
        for &inst in &graph.regions[region].insts {
            if let Some(window) = finder.window(inst) {
                finder.windows.insert(graph.insts[inst].results[0], window);
            }
        }
        finder
    }

    /// The window that an instruction gives.
    fn window(&self, inst: Inst) -> Option<Window> {
        let data = &self.graph.insts[inst];
        let Rows::Box(box_of) = data.op.rows else { return None };
        let from = self.graph.ty(data.operands[0]).shape().extents()?;
        let to = self.graph.ty(data.results[0]).shape().extents()?;
        let constants: Option<SmallVec<[&Tensor; 3]>> =
            data.operands[1..].iter().map(|&v| self.graph.constant(v)).collect();
        let cuts = box_of(&from, &constants?, &data.attrs)?;
        let counts = cuts.iter().map(|&(_, _, count)| count);
        let plain = counts.eq(to.iter().copied()) && cuts.iter().all(|&(_, step, count)| step == 1 && count > 0);
        let cut: Cut = cuts.iter().map(|&(begin, _, count)| (begin, count)).collect();
        plain.then(|| Window::of(self.graph, &self.windows, data.operands[0], &from, &cut))?
    }

    /// Whether an instruction is of those that groups are made of, and computes element by element of operands of which
    /// windows can be told: the extents of the result alone do not say which operands broadcast to them.
    fn is_map(&self, inst: Inst) -> bool {
        let data = &self.graph.insts[inst];
        matches!(data.op.cpu, Cpu::Elementwise(_))
            && data.operands.iter().all(|&v| self.graph.ty(v).shape().is_static())
            && fuse::candidate(self.graph, inst, self.cx) == Some(true)
            && !rejects_elements(self.graph, inst)
    }

    /// The map that makes a value, where it makes it in this region.
    fn maker(&self, v: Value) -> Option<Inst> {
        self.graph.def_inst(v).filter(|&i| self.graph.values[v].region == self.region && self.is_map(i))
    }

    /// Chooses, from the last instruction to the first, so that what reads a result is known.
    fn choose(&mut self) {
        if self.windows.is_empty() {
            return;
        }
        let data = &self.graph.regions[self.region];
        data.results.iter().for_each(|&v| self.needs(v));
        for &inst in data.insts.iter().rev() {
            let result = self.graph.insts[inst].results.first().copied();
            let cuts = result.filter(|v| !self.whole.contains(v)).and_then(|v| self.requests.get(&v)).cloned();
            match cuts {
                Some(cuts) if self.is_map(inst) && self.pays(inst, &cuts) && self.cx.spend() => {
                    self.again.insert(inst);
                    self.reads_windows(inst, &cuts);
                }
                _ if result.is_some_and(|v| self.windows.contains_key(&v)) => {}
                _ => self.reads(inst),
            }
        }
    }

    /// Notes what an instruction reads.
    fn reads(&mut self, inst: Inst) {
        let result = self.graph.insts[inst].results.first().filter(|_| self.is_map(inst));
        let dims = result.and_then(|&v| self.graph.ty(v).shape().extents());
        for v in inputs(self.graph, inst) {
            match self.windows.get(&v) {
                Some(window) if dims.is_some() && self.graph.ty(v).shape().extents() == dims => {
                    request(&mut self.requests, window.clone());
                }
                _ => self.needs(v),
            }
        }
    }

    /// Notes what an instruction reads of which windows are computed.
    fn reads_windows(&mut self, inst: Inst, cuts: &[Cut]) {
        let data = &self.graph.insts[inst];
        let dims = self.graph.ty(data.results[0]).shape().extents().unwrap_or_default();
        for &v in &data.operands {
            let same = self.graph.ty(v).shape().extents().as_ref() == Some(&dims);
            for cut in cuts {
                match Window::of(self.graph, &self.windows, v, &dims, cut) {
                    Some(window) if same => request(&mut self.requests, window),
                    _ => self.needs(v),
                }
            }
        }
    }

    fn needs(&mut self, v: Value) {
        self.whole.insert(self.windows.get(&v).map_or(v, |window| window.base));
    }

    /// Whether to compute windows of a result takes little more than to compute it once.
    fn pays(&self, inst: Inst, cuts: &[Cut]) -> bool {
        if cuts.len() == 1 {
            return true;
        }
        let graph = self.graph;
        let (mut open, mut seen) = (vec![inst], FxHashSet::from_iter([inst]));
        let (mut operations, mut streams) = (0, FxHashSet::default());
        let ty = graph.ty(graph.insts[inst].results[0]);
        let row = ty.shape().extents().map_or(0, |dims| dims.iter().skip(1).product::<usize>() * ty.dtype().size());
        let most = MOST_AGAIN[usize::from(row > NEAR)];
        while let Some(inst) = open.pop() {
            let data = &graph.insts[inst];
            let Some(dims) = graph.ty(data.results[0]).shape().extents() else { return false };
            operations += operations_of(data.op.0);
            if (cuts.len() - 1) * operations > most {
                return false;
            }
            for &v in &data.operands {
                let same = graph.ty(v).shape().extents().as_ref() == Some(&dims);
                match self.maker(v).filter(|_| same) {
                    Some(made) => {
                        if seen.insert(made) {
                            open.push(made);
                        }
                    }
                    None if graph.ty(v).shape().num_elements() == Some(1) => {}
                    None => streams.extend(cuts.iter().map(|cut| Window::of(graph, &self.windows, v, &dims, cut))),
                }
                if streams.contains(&None) || streams.len() > MOST_STREAMS {
                    return false;
                }
            }
        }
        true
    }
}

/// Notes that a window is read. Of those of one value so many are noted as are too many to pay.
fn request(requests: &mut FxHashMap<Value, Vec<Cut>>, window: Window) {
    let cuts = requests.entry(window.base).or_default();
    if cuts.len() < MOST_AGAIN[1] + 2 && !cuts.contains(&window.cut) {
        cuts.push(window.cut);
    }
}

/// Operators that are one operation of the machine.
static SINGLE: &[&OpDef] = &[
    &ADD,
    &SUB,
    &MUL,
    &NEG,
    &ABS,
    &SQUARE,
    &MAXIMUM,
    &MINIMUM,
    &SELECT,
    &CAST,
    &RELU,
    &LESS,
    &LESS_EQUAL,
    &GREATER,
    &GREATER_EQUAL,
    &EQUAL,
    &NOT_EQUAL,
    &LOGICAL_AND,
    &LOGICAL_OR,
    &LOGICAL_NOT,
    &LOGICAL_XOR,
];
/// Operators that divide once, or take a root.
static DIVIDING: &[&OpDef] = &[&DIV, &SQRT, &RECIPROCAL, &RSQRT];

/// About how many operations of the machine an operator is.
fn operations_of(op: &OpDef) -> usize {
    let is_of = |list: &[&OpDef]| list.iter().any(|other| op.is(other));
    if is_of(SINGLE) {
        1
    } else if is_of(DIVIDING) {
        DIVISION
    } else {
        MOST_AGAIN[1] + 1
    }
}

/// Makes the instructions that compute windows.
struct Maker<'a> {
    graph: &'a mut Graph,
    region: Region,
    windows: FxHashMap<Value, Window>,
    made: FxHashMap<Window, Value>,
    /// New instructions behind those that they read, or, for `None`, in front of all.
    behind: FxHashMap<Option<Inst>, Vec<Inst>>,
}

impl Maker<'_> {
    fn make(&mut self, again: &FxHashSet<Inst>, requests: &FxHashMap<Value, Vec<Cut>>) -> Result<()> {
        let insts = self.graph.regions[self.region].insts.clone();
        for &inst in insts.iter().filter(|inst| again.contains(inst)) {
            let data = self.graph.insts[inst].clone();
            let (result, loc) = (data.results[0], self.graph.locs[inst]);
            let dims = self.graph.ty(result).shape().extents().unwrap_or_default();
            for cut in &requests[&result] {
                let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
                for &v in &data.operands {
                    let window = Window::of(self.graph, &self.windows, v, &dims, cut);
                    let window = window.ok_or_else(|| Error::internal(format!("no window of {v} can be told")))?;
                    operands.push(self.read(window)?);
                }
                let counts: Dims = cut.iter().map(|&(_, count)| count).collect();
                let ty = self.graph.ty(result).with_shape(Shape::known(&counts));
                let (new, value) = unlisted(self.graph, self.region, data.op.0, &operands, data.attrs.clone(), ty, loc);
                self.behind.entry(Some(inst)).or_default().push(new);
                self.made.insert(Window { base: result, cut: cut.clone() }, value);
            }
        }
        // One window each, however it was spelled.
        let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
        for (&old, window) in &self.windows {
            if let Some(&new) = self.made.get(window) {
                replaced.insert(old, new);
            }
        }
        let mut names: Vec<(Value, Value)> = replaced.iter().map(|(&old, &new)| (old, new)).collect();
        names.sort_unstable();
        names.into_iter().for_each(|(old, new)| inherit_name(self.graph, old, new));
        let mut listed = self.behind.remove(&None).unwrap_or_default();
        for inst in insts {
            listed.push(inst);
            listed.extend(self.behind.remove(&Some(inst)).into_iter().flatten());
        }
        self.graph.regions[self.region].insts = listed;
        self.graph.replace_uses(&replaced);
        Ok(())
    }

    /// The value of a window, which is a slice where it is not computed.
    fn read(&mut self, window: Window) -> Result<Value> {
        if window.is_whole(self.graph) {
            return Ok(window.base);
        }
        if let Some(&value) = self.made.get(&window) {
            return Ok(value);
        }
        let base = window.base;
        let here = self.graph.values[base].region == self.region;
        let place = self.graph.def_inst(base).filter(|_| here);
        let loc = self.graph.locs[place.unwrap_or(self.graph.regions[self.region].insts[0])];
        let mut emit = |op: &'static OpDef, operands: &[Value], attrs: Attrs, ty: Type| {
            let (inst, value) = unlisted(self.graph, self.region, op, operands, attrs, ty, loc);
            self.behind.entry(place).or_default().push(inst);
            value
        };
        let mut constant = |of: &dyn Fn(&(usize, usize)) -> usize| {
            let numbers = Tensor::vector(&window.cut.iter().map(|cut| of(cut) as i64).collect::<Vec<_>>());
            let ty = Type::of(&numbers);
            emit(&CONST, &[], Attrs(smallvec![Attr::Tensor(numbers)]), ty)
        };
        let (begin, size) = (constant(&|cut| cut.0), constant(&|cut| cut.1));
        let counts: Dims = window.cut.iter().map(|&(_, count)| count).collect();
        let ty = self.graph.ty(base).with_shape(Shape::known(&counts));
        let (inst, value) = unlisted(self.graph, self.region, &SLICE, &[base, begin, size], Attrs::EMPTY, ty, loc);
        self.behind.entry(place).or_default().push(inst);
        self.made.insert(window, value);
        Ok(value)
    }
}
