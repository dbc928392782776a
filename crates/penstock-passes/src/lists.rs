//! Lists that are used like arrays: of known length, with elements of one type, each changed only where nobody needs it as
//! it was.

use penstock_data::{DType, Dims};
use penstock_ir::{Attr, Graph, Inst, OpDef, Region, Value};
use penstock_ops::control::{COND, SWITCH, WHILE};
use penstock_ops::list::{LIST_FROM_TENSOR, LIST_GET, LIST_NEW, LIST_SET, LIST_STACK};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The most bytes of a list.
const MAX_BYTES: usize = 1 << 20;

/// What is known of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListType {
    /// The number of elements.
    pub len: usize,
    /// The dtype of each.
    pub dtype: DType,
    /// The extents of each.
    pub dims: Dims,
}

impl ListType {
    /// The bytes of an element.
    pub fn element_bytes(&self) -> usize {
        self.dims.iter().product::<usize>() * self.dtype.size()
    }
}

/// Whether an operator is one of those that such lists are made and used by.
pub fn is_list_op(op: &OpDef) -> bool {
    [&LIST_NEW, &LIST_FROM_TENSOR, &LIST_SET, &LIST_GET, &LIST_STACK].iter().any(|known| op.is(known))
}

/// The lists of a region that can be arrays in memory, by the values that are one of them.
#[derive(Default, Debug)]
pub struct Lists {
    found: FxHashMap<Value, ListType>,
    shared: FxHashSet<Value>,
}

impl Lists {
    /// Finds those that are made, used and forgotten in a region.
    pub fn of(graph: &Graph, region: Region) -> Lists {
        let mut finder = Finder::new(graph);
        let data = &graph.regions[region];
        finder.region(region);
        data.params.iter().chain(&data.results).for_each(|&v| finder.refuse(v));
        finder.refuse_shared();
        finder.finish()
    }

    /// Whether a loop that starts with a list must start with a copy: something else needs it as it was.
    pub fn is_shared(&self, value: Value) -> bool {
        self.shared.contains(&value)
    }

    /// The list that a value is.
    pub fn get(&self, value: Value) -> Option<&ListType> {
        self.found.get(&value)
    }
}

/// A class of values that are one list, or may become one another.
#[derive(Default)]
struct Class {
    len: Option<usize>,
    element: Option<(DType, Dims)>,
    refused: bool,
}

impl Class {
    fn has(&mut self, element: Option<(DType, Dims)>, len: Option<usize>) {
        let differs = matches!((&self.element, &element), (Some(a), Some(b)) if a != b);
        self.refused |= differs || matches!((self.len, len), (Some(a), Some(b)) if a != b);
        self.element = self.element.take().or(element);
        self.len = self.len.or(len);
    }
}

/// What a list is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is read.
    Read,
    /// It is the first value of a loop variable.
    Start,
    /// It is changed, or what a branch gives, which may be changed.
    Change,
}

struct Finder<'a> {
    graph: &'a Graph,
    /// The value that stands for the same list, as far as it was found.
    same: FxHashMap<Value, Value>,
    classes: FxHashMap<Value, Class>,
    /// The regions of all uses, in program order, and what for.
    uses: FxHashMap<Value, Vec<(Region, Use)>>,
    /// What loops start with copies of.
    shared: FxHashSet<Value>,
    /// The instruction that owns a region, and the region that lists it.
    owners: FxHashMap<Region, (Inst, Region)>,
}

impl<'a> Finder<'a> {
    fn new(graph: &'a Graph) -> Finder<'a> {
        Finder {
            graph,
            same: FxHashMap::default(),
            classes: FxHashMap::default(),
            uses: FxHashMap::default(),
            shared: FxHashSet::default(),
            owners: FxHashMap::default(),
        }
    }

    fn is_list(&self, value: Value) -> bool {
        self.graph.ty(value).dtype() == DType::Variant
    }

    fn root(&mut self, value: Value) -> Value {
        let mut root = value;
        while let Some(&next) = self.same.get(&root) {
            root = next;
        }
        if root != value {
            self.same.insert(value, root);
        }
        root
    }

    fn class(&mut self, value: Value) -> &mut Class {
        let root = self.root(value);
        self.classes.entry(root).or_default()
    }

    fn join(&mut self, a: Value, b: Value) {
        if !self.is_list(a) {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let other = self.classes.remove(&b).unwrap_or_default();
            self.same.insert(b, a);
            let class = self.class(a);
            class.refused |= other.refused;
            class.has(other.element, other.len);
        }
    }

    fn refuse(&mut self, value: Value) {
        if self.is_list(value) {
            self.class(value).refused = true;
        }
    }

    fn note(&mut self, value: Value, region: Region, what: Use) {
        if self.is_list(value) {
            self.uses.entry(value).or_default().push((region, what));
        }
    }

    fn region(&mut self, region: Region) {
        let graph = self.graph;
        for &inst in &graph.regions[region].insts {
            let data = &graph.insts[inst];
            let what = match data.op.0 {
                op if op.is(&LIST_SET) => Use::Change,
                op if op.is(&WHILE) => Use::Start,
                _ => Use::Read,
            };
            data.operands.iter().for_each(|&v| self.note(v, region, what));
            for &inner in &data.regions {
                self.owners.insert(inner, (inst, region));
                self.region(inner);
            }
            self.inst(inst);
        }
        let owner = self.owners.get(&region).map(|&(owner, _)| graph.insts[owner].op);
        let what = if owner.is_some_and(|op| op.is(&COND) || op.is(&SWITCH)) { Use::Change } else { Use::Read };
        graph.regions[region].results.iter().for_each(|&v| self.note(v, region, what));
    }

    fn inst(&mut self, inst: Inst) {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let op = data.op.0;
        let extents = |v: Value| graph.ty(v).shape().extents();
        let of = |v: Value| Some((graph.ty(v).dtype(), extents(v)?));
        let rows_of = |v: Value| Some((graph.ty(v).dtype(), Dims::from(extents(v)?.get(1..)?)));
        let by_scalar = || graph.ty(data.operands[1]).shape().rank() == Some(0);
        if op.is(&WHILE) {
            let [condition, body] = [0, 1].map(|k| &graph.regions[data.regions[k]]);
            for (k, &v) in data.results.iter().enumerate() {
                for other in [data.operands[k], condition.params[k], body.params[k], body.results[k]] {
                    self.join(v, other);
                }
            }
        } else if op.is(&COND) || op.is(&SWITCH) {
            for (k, &v) in data.results.iter().enumerate() {
                data.regions.iter().for_each(|&r| self.join(v, graph.regions[r].results[k]));
            }
        } else if op.is(&LIST_NEW) {
            let len = graph.constant(data.operands[0]).and_then(|t| t.to_ints().ok()).map(|n| n[0]);
            let len = len.and_then(|n| usize::try_from(n).ok());
            let class = self.class(data.results[0]);
            class.refused |= len.is_none();
            class.has(None, len);
            // Elements of the type that the list is declared with: any other one is refused when it is written.
            let declared = match data.attrs.0.get(1) {
                Some(Attr::Shape(shape)) => shape.extents().zip(data.attrs.opt_dtype(0)),
                _ => None,
            };
            let declared = declared.map(|(dims, dtype)| (dtype, dims));
            class.has(declared, None);
        } else if op.is(&LIST_FROM_TENSOR) {
            let x = data.operands[0];
            let len = extents(x).and_then(|d| d.first().copied());
            let class = self.class(data.results[0]);
            class.refused |= len.is_none();
            class.has(rows_of(x), len);
        } else if op.is(&LIST_SET) && by_scalar() && !data.attrs.flag(0) {
            let (list, value) = (data.operands[0], data.operands[2]);
            self.join(data.results[0], list);
            let element = of(value);
            let class = self.class(list);
            class.refused |= element.is_none();
            class.has(element, None);
        } else if op.is(&LIST_GET) && by_scalar() {
            let element = of(data.results[0]);
            let class = self.class(data.operands[0]);
            class.refused |= element.is_none();
            class.has(element, None);
        } else if op.is(&LIST_STACK) {
            let (element, dims) = (rows_of(data.results[0]), extents(data.results[0]));
            let class = self.class(data.operands[0]);
            class.refused |= element.is_none();
            class.has(element, dims.and_then(|d| d.first().copied()));
        } else {
            data.operands.iter().chain(&data.results).for_each(|&v| self.refuse(v));
        }
    }

    /// Refuses lists that are changed while they are still needed as they were; a loop can start with a copy of one.
    fn refuse_shared(&mut self) {
        let mut refused: Vec<Value> = Vec::new();
        for (&value, uses) in &self.uses {
            for (i, &(region, what)) in uses.iter().enumerate().filter(|(_, u)| u.1 != Use::Read) {
                let path = self.path(region, self.graph.values[value].region);
                let apart = |&(other, _): &(Region, Use)| path.as_ref().is_some_and(|p| self.excludes(p, other));
                if path.is_some() && uses[i + 1..].iter().all(apart) {
                    continue;
                }
                if what == Use::Start {
                    self.shared.insert(value);
                } else {
                    refused.push(value);
                }
            }
        }
        refused.into_iter().for_each(|v| self.refuse(v));
    }

    /// The arms of branches that `region` lies in, out to `home`; `None` where a loop is in between.
    fn path(&self, region: Region, home: Region) -> Option<SmallVec<[Region; 4]>> {
        let (mut at, mut path) = (region, SmallVec::new());
        while at != home {
            let &(owner, outer) = self.owners.get(&at)?;
            if self.graph.insts[owner].op.is(&WHILE) {
                return None;
            }
            path.push(at);
            at = outer;
        }
        Some(path)
    }

    /// Whether a run that is in these arms of branches does not come to `other`: it lies in another arm of one of them.
    fn excludes(&self, arms: &[Region], other: Region) -> bool {
        let owners: FxHashSet<Inst> = arms.iter().map(|arm| self.owners[arm].0).collect();
        let mut at = other;
        while let Some(&(owner, outer)) = self.owners.get(&at) {
            if owners.contains(&owner) {
                return !arms.contains(&at);
            }
            at = outer;
        }
        false
    }

    fn finish(mut self) -> Lists {
        let mut values: Vec<Value> = self.uses.keys().copied().collect();
        values.extend(self.same.keys().chain(self.classes.keys()));
        let mut lists = Lists { found: FxHashMap::default(), shared: std::mem::take(&mut self.shared) };
        for value in values {
            let Class { len: Some(len), element: Some((dtype, dims)), refused: false } = self.class(value) else {
                continue;
            };
            let list = ListType { len: *len, dtype: *dtype, dims: dims.clone() };
            let bytes = list.element_bytes().checked_mul(list.len);
            if list.dtype <= DType::F64 && bytes.is_some_and(|n| n <= MAX_BYTES) {
                lists.found.insert(value, list);
            }
        }
        lists
    }
}
