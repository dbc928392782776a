//! Common subexpressions.

use std::hash::{Hash, Hasher};

use penstock_data::Result;
use penstock_ir::{Attr, Attrs, EffectSet, Graph, Inst, InstData, Region, Value, effects_of, effects_of_owners};
use penstock_ops::control::WHILE;
use penstock_ops::state::{ASSIGN, READ_VARIABLE};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::inherit_name;

/// Constants of at most this many bytes are compared by value, larger ones by identity.
const COMPARED: usize = 4096;

/// Replaces a pure instruction by an equal one before it, in the same region or one around it; and a read of a variable
/// by one before it, or by what was assigned to it, where nothing in between may write the variable.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut pass = Cse {
        table: FxHashMap::default(),
        reads: FxHashMap::default(),
        replaced: FxHashMap::default(),
        owners: effects_of_owners(graph, graph.body()),
        cx,
    };
    pass.region(graph, graph.body());
    let replaced = pass.replaced;
    graph.replace_uses(&replaced);
    Ok(())
}

struct Cse<'a> {
    /// The instructions in scope, by hash.
    table: FxHashMap<u64, SmallVec<[Inst; 1]>>,
    /// What each variable holds here, where it was read or assigned.
    reads: FxHashMap<Value, Value>,
    replaced: FxHashMap<Value, Value>,
    /// The effects of instructions with regions.
    owners: FxHashMap<Inst, EffectSet>,
    cx: &'a Cx,
}

impl Cse<'_> {
    /// Forgets what variables hold that an instruction with these effects may write.
    fn forget(&mut self, effects: Option<&EffectSet>) {
        let Some(effects) = effects else { return };
        if effects.host {
            self.reads.clear();
        }
        self.reads.retain(|v, _| !effects.writes.contains(v));
    }

    fn region(&mut self, graph: &mut Graph, region: Region) {
        let old = std::mem::take(&mut graph.regions[region].insts);
        let mut insts = Vec::with_capacity(old.len());
        let mut entered: Vec<u64> = Vec::new();
        for inst in old {
            for v in &mut graph.insts[inst].operands {
                if let Some(&new) = self.replaced.get(v) {
                    *v = new;
                }
            }
            let inner = graph.insts[inst].regions.clone();
            let written = self.owners.remove(&inst).or_else(|| {
                let data = &graph.insts[inst];
                (!data.op.is_pure() || calls(data)).then(|| effects_of(graph, inst))
            });
            if graph.insts[inst].op.is(&WHILE) {
                self.forget(written.as_ref());
            }
            for &r in &inner {
                let seen = self.reads.clone();
                self.region(graph, r);
                self.reads = seen;
            }
            let data = &graph.insts[inst];
            if data.op.is(&READ_VARIABLE) {
                let (variable, value) = (data.operands[0], data.results[0]);
                if let Some(&known) = self.reads.get(&variable)
                    && graph.ty(known) == graph.ty(value)
                    && self.cx.spend()
                {
                    inherit_name(graph, value, known);
                    self.replaced.insert(value, known);
                    continue;
                }
                self.reads.insert(variable, value);
            } else {
                self.forget(written.as_ref());
                if data.op.is(&ASSIGN) {
                    self.reads.insert(data.operands[0], data.operands[1]);
                }
            }
            let mergeable = inner.is_empty()
                && data.op.is_pure()
                && !data.attrs.0.iter().any(|a| matches!(a, Attr::Func(_) | Attr::Host(_)));
            if mergeable {
                let key = hash(data);
                let same = self
                    .table
                    .get(&key)
                    .and_then(|found| found.iter().copied().find(|&other| equal(graph, &graph.insts[other], data)));
                if let Some(other) = same
                    && self.cx.spend()
                {
                    let pairs: SmallVec<[(Value, Value); 1]> =
                        data.results.iter().copied().zip(graph.insts[other].results.iter().copied()).collect();
                    for (old, new) in pairs {
                        inherit_name(graph, old, new);
                        self.replaced.insert(old, new);
                    }
                    continue;
                }
                self.table.entry(key).or_default().push(inst);
                entered.push(key);
            }
            insts.push(inst);
        }
        graph.regions[region].insts = insts;
        for key in entered {
            if let Some(found) = self.table.get_mut(&key) {
                found.pop();
            }
        }
    }
}

fn calls(data: &InstData) -> bool {
    data.attrs.0.iter().any(|a| matches!(a, Attr::Func(_)))
}

fn hash(data: &InstData) -> u64 {
    let mut hasher = FxHasher::default();
    std::ptr::from_ref(data.op.0).hash(&mut hasher);
    data.operands.hash(&mut hasher);
    if let Some(Attr::Tensor(t)) = data.attrs.0.first() {
        t.dims().hash(&mut hasher);
        if t.byte_len() <= COMPARED {
            t.bytes().hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn equal(graph: &Graph, a: &InstData, b: &InstData) -> bool {
    a.op == b.op
        && a.operands == b.operands
        && equal_attrs(&a.attrs, &b.attrs)
        && a.results.iter().zip(&b.results).all(|(&x, &y)| graph.ty(x) == graph.ty(y))
}

fn equal_attrs(a: &Attrs, b: &Attrs) -> bool {
    a.0.iter().zip(&b.0).all(|(a, b)| match (a, b) {
        (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
        (Attr::Tensor(a), Attr::Tensor(b)) => a.is_same(b) || (a.byte_len() <= COMPARED && a == b),
        _ => a == b,
    })
}
