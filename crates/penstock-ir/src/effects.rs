//! Effects: what instructions touch beside their operands, and which of them must keep their order.
//!
//! Program order is the order of the instruction lists. Two instructions whose effects conflict
//! keep it; all others are free to move. An instruction with regions or a callee has their effects.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::attr::Attr;
use crate::entities::{Inst, Region, Value};
use crate::facts::Effect;
use crate::graph::{Counter, Derived, Function, Graph, InstData};

/// What an instruction, a region or a function touches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EffectSet {
    /// Variables that it reads.
    pub reads: SmallVec<[Value; 4]>,
    /// Variables that it writes.
    pub writes: SmallVec<[Value; 4]>,
    /// Whether it writes to a stream.
    pub print: bool,
    /// Whether it reads or writes files.
    pub files: bool,
    /// Whether it draws from the stateful generator.
    pub random: bool,
    /// Whether it may fail on purpose.
    pub assert: bool,
    /// Whether it runs host code.
    pub host: bool,
    /// Whether it starts something together with other processes.
    pub collective: bool,
    /// Whether it waits for other processes.
    pub awaits: bool,
}

impl EffectSet {
    /// Whether it touches nothing.
    pub fn is_pure(&self) -> bool {
        self.reads.is_empty() && !self.acts()
    }

    /// Whether it does more than read: it may be neither dropped nor merged.
    pub fn acts(&self) -> bool {
        self.acts_here() || self.collective || self.awaits
    }

    /// Whether it does more than read, other processes aside.
    fn acts_here(&self) -> bool {
        !self.writes.is_empty() || self.print || self.files || self.random || self.assert || self.host
    }

    /// Whether the order of the two can be observed.
    pub fn conflicts(&self, other: &EffectSet) -> bool {
        let hits = |a: &[Value], b: &[Value]| a.iter().any(|v| b.contains(v));
        // Host code may touch everything; an assertion comes before whatever acts after it, and so does a wait, but that collectives
        // may be under way at the same time.
        let wide = |a: &EffectSet, b: &EffectSet| {
            (a.host && !b.is_pure()) || (a.assert && b.acts()) || (a.awaits && b.acts_here())
        };
        hits(&self.writes, &other.writes)
            || hits(&self.writes, &other.reads)
            || hits(&self.reads, &other.writes)
            || (self.print && other.print)
            || (self.files && other.files)
            || (self.random && other.random)
            || (self.collective && other.collective)
            || wide(self, other)
            || wide(other, self)
    }

    fn add(&mut self, effect: Effect, operands: &[Value]) {
        let note = |list: &mut SmallVec<[Value; 4]>, v: Value| {
            if !list.contains(&v) {
                list.push(v);
            }
        };
        match effect {
            Effect::Read(i) => note(&mut self.reads, operands[i as usize]),
            Effect::Write(i) => note(&mut self.writes, operands[i as usize]),
            Effect::Print => self.print = true,
            Effect::Files => self.files = true,
            Effect::Random => self.random = true,
            Effect::Assert => self.assert = true,
            Effect::Host => self.host = true,
            Effect::Collective => self.collective = true,
            Effect::Await => self.awaits = true,
        }
    }

    fn merge(&mut self, other: &EffectSet) {
        for (to, from) in [(&mut self.reads, &other.reads), (&mut self.writes, &other.writes)] {
            for &v in from {
                if !to.contains(&v) {
                    to.push(v);
                }
            }
        }
        self.print |= other.print;
        self.files |= other.files;
        self.random |= other.random;
        self.assert |= other.assert;
        self.host |= other.host;
        self.collective |= other.collective;
        self.awaits |= other.awaits;
    }
}

/// Whether host code may do more than compute its results: unless the attribute `stateful` says that it does not.
fn is_stateful(data: &InstData) -> bool {
    data.op.attr_index("stateful").is_none_or(|i| data.attrs.0[i] != Attr::Bool(false))
}

/// The effects of an instruction.
pub fn effects_of(graph: &Graph, inst: Inst) -> EffectSet {
    let mut set = own_effects_of(graph, inst);
    for &region in &graph.insts[inst].regions {
        set.merge(&effects_of_region(graph, region));
    }
    set
}

/// The effects of the instructions in a region, and in the regions in it, that have regions themselves: in time linear in
/// its size, where asking for each alone goes through what is inside once for each level.
pub fn effects_of_owners(graph: &Graph, region: Region) -> FxHashMap<Inst, EffectSet> {
    let mut found = FxHashMap::default();
    note_owners(graph, region, &mut found);
    found
}

/// Notes those of a region; gives its own effects.
fn note_owners(graph: &Graph, region: Region, found: &mut FxHashMap<Inst, EffectSet>) -> EffectSet {
    let mut set = EffectSet::default();
    for &inst in &graph.regions[region].insts {
        let mut effects = own_effects_of(graph, inst);
        let regions = &graph.insts[inst].regions;
        for &inner in regions {
            effects.merge(&note_owners(graph, inner, found));
        }
        set.merge(&effects);
        if !regions.is_empty() {
            found.insert(inst, effects);
        }
    }
    set
}

/// The effects of an instruction, those of its regions aside.
fn own_effects_of(graph: &Graph, inst: Inst) -> EffectSet {
    let data = &graph.insts[inst];
    let mut set = EffectSet::default();
    for &effect in data.op.effects {
        if effect != Effect::Host || is_stateful(data) {
            set.add(effect, &data.operands);
        }
    }
    for attr in &data.attrs.0 {
        if let Attr::Func(f) = attr {
            // The callee's variables are its inputs; here they are the operands in their place.
            let Ok(callee) = f.get() else {
                // What is freed may have done anything.
                set.add(Effect::Host, &data.operands);
                continue;
            };
            let callee = effects_of_function(&callee);
            let here = |values: &[usize]| values.iter().filter_map(|&i| data.operands.get(i).copied()).collect();
            set.merge(&EffectSet { reads: here(&callee.reads), writes: here(&callee.writes), ..callee.set.clone() });
        }
    }
    set
}

/// The effects of all instructions of a region.
pub fn effects_of_region(graph: &Graph, region: Region) -> EffectSet {
    let mut set = EffectSet::default();
    for &inst in &graph.regions[region].insts {
        set.merge(&effects_of(graph, inst));
    }
    set
}

/// Whether a function does more than to compute its results from its inputs and variables, so that it may not be run twice.
pub fn acts(function: &Function) -> bool {
    let effects = effects_of_function(function);
    let EffectSet { print, files, random, host, collective, .. } = effects.set;
    !effects.writes.is_empty() || print || files || random || host || collective
}

/// The effects of a function: variables by input position.
struct FunctionEffects {
    reads: Vec<usize>,
    writes: Vec<usize>,
    set: EffectSet,
}

impl Derived for FunctionEffects {
    fn count(&self, _: &mut dyn Counter) -> bool {
        true
    }
}

fn effects_of_function(function: &Function) -> std::sync::Arc<FunctionEffects> {
    thread_local! {
        /// The functions whose effects are being found: one that is met again calls itself.
        static OPEN: std::cell::RefCell<Vec<*const Function>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let key = std::ptr::from_ref(function);
    let recursive = OPEN.with_borrow(|open| open.contains(&key));
    let made: Result<_, std::convert::Infallible> = match function.graph() {
        Some(graph) if !recursive && crate::stack::check(0).is_ok() => function.derive(|_| {
            OPEN.with_borrow_mut(|open| open.push(key));
            let set = effects_of_region(graph, graph.body());
            OPEN.with_borrow_mut(Vec::pop);
            let inputs =
                |values: &[Value]| values.iter().filter_map(|v| graph.inputs().iter().position(|i| i == v)).collect();
            Ok(FunctionEffects { reads: inputs(&set.reads), writes: inputs(&set.writes), set })
        }),
        // Its graph is not known yet, it calls itself, or calls go too deep to look: it may do anything.
        _ => Ok(std::sync::Arc::new(FunctionEffects {
            reads: Vec::new(),
            writes: Vec::new(),
            set: EffectSet { host: true, ..EffectSet::default() },
        })),
    };
    let Ok(effects) = made;
    effects
}

/// For each instruction of a region, by position, the earlier positions that it must follow because
/// their effects conflict. Transitively implied ones may be left out.
pub fn order(graph: &Graph, region: Region) -> Vec<SmallVec<[u32; 2]>> {
    let insts = &graph.regions[region].insts;
    let mut out = vec![SmallVec::new(); insts.len()];
    let mut earlier: Vec<(u32, EffectSet)> = Vec::new();
    for (i, &inst) in insts.iter().enumerate() {
        let set = effects_of(graph, inst);
        if set.is_pure() {
            continue;
        }
        out[i] = earlier.iter().filter(|(_, e)| e.conflicts(&set)).map(|(j, _)| *j).collect();
        earlier.push((i as u32, set));
    }
    out
}
