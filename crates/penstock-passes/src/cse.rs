//! Common subexpressions.

use std::hash::{Hash, Hasher};

use penstock_data::Result;
use penstock_ir::{Attr, Attrs, Graph, Inst, InstData, Region, Value};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::inherit_name;

/// Constants of at most this many bytes are compared by value, larger ones by identity.
const COMPARED: usize = 4096;

/// Replaces a pure instruction by an equal one before it, in the same region or one around it.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut pass = Cse { table: FxHashMap::default(), replaced: FxHashMap::default(), cx };
    pass.region(graph, graph.body());
    let replaced = pass.replaced;
    graph.replace_uses(&replaced);
    Ok(())
}

struct Cse<'a> {
    /// The instructions in scope, by hash.
    table: FxHashMap<u64, SmallVec<[Inst; 1]>>,
    replaced: FxHashMap<Value, Value>,
    cx: &'a Cx,
}

impl Cse<'_> {
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
            for &r in &inner {
                self.region(graph, r);
            }
            let data = &graph.insts[inst];
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
        (Attr::Tensor(a), Attr::Tensor(b)) => {
            a.dims() == b.dims()
                && a.dtype() == b.dtype()
                && (a.shares_data(b)
                    || (a.byte_len() <= COMPARED && a.bytes() == b.bytes() && a.strings() == b.strings()))
        }
        _ => a == b,
    })
}
