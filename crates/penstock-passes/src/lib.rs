//! The optimiser: passes over a graph, one file each.
//!
//! Every pass keeps results, effects and their order, source locations, and the names of the values that remain.

mod branch;
mod canonicalise;
pub mod check;
mod cse;
mod dce;
mod edit;
pub mod evaluate;
mod fold;
mod fuse;
mod group;
mod hoist;
mod induction;
mod layout;
mod lift;
pub mod lists;
mod magnitude;
mod native;
mod part;
pub mod small;
pub mod space;
mod specialise;
mod unroll;
mod unstack;
mod uses;
pub mod view;
mod windows;

use std::cell::Cell;

use penstock_data::Result;
use penstock_ir::{Graph, Type, compact, verify_after};

pub use fuse::MIN_FUSED_BYTES;
pub use hoist::rejects_elements;
pub use specialise::specialise;

/// A pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name in [`Options`] and in the verifier's errors.
    pub name: &'static str,
    run: fn(&mut Graph, &Cx) -> Result<()>,
}

/// The passes, in the order in which they run on what [`specialise`] gives.
pub static PASSES: &[Pass] = &[
    Pass { name: "canonicalise", run: canonicalise::run },
    Pass { name: "layout", run: layout::run },
    Pass { name: "fold", run: fold::run },
    Pass { name: "branch", run: branch::run },
    Pass { name: "simplify", run: canonicalise::run },
    Pass { name: "magnitude", run: magnitude::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "unstack", run: unstack::run },
    Pass { name: "dce", run: dce::run },
    Pass { name: "hoist", run: hoist::run },
    Pass { name: "induction", run: induction::run },
    Pass { name: "lift", run: lift::run },
    Pass { name: "unroll", run: unroll::run },
    Pass { name: "windows", run: windows::run },
    Pass { name: "fuse", run: fuse::run },
    Pass { name: "part", run: part::run },
    Pass { name: "native", run: native::run },
];

/// Runs after which it pays to compile a group of scalar instructions: each saves about 5 ns an instruction, and
/// compiling takes about 10 µs an instruction.
const NATIVE_AFTER: u32 = 1000;
/// Half of a second-level cache.
const SLAB_BYTES: usize = 1 << 20;
/// By default, kernels that do not depend on each other run at the same time where each takes so many nanoseconds: a few
/// times what it takes threads to meet.
const TOGETHER_NS: u64 = 50_000;

/// What the optimiser may do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Passes that are left out, by name; `strips`, `row_loops`, `slabs`, `together` and `vectors` stand for those of the executor's.
    pub skip: Vec<String>,
    /// How many more rewrites are made: for finding the one that breaks a graph.
    pub fuel: u64,
    /// The least bytes of a result for which elementwise instructions are grouped.
    pub min_fused_bytes: usize,
    /// The bytes of memory that a thread goes through in a slab of fused regions.
    pub slab_bytes: usize,
    /// The least estimated nanoseconds of a kernel that runs at the same time as others.
    pub together_ns: u64,
    /// How many runs a group of scalar instructions without a loop makes before it is compiled.
    pub native_after: u32,
    /// Whether every floating point result is checked to be finite.
    pub check_numerics: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            skip: Vec::new(),
            fuel: u64::MAX,
            min_fused_bytes: MIN_FUSED_BYTES,
            slab_bytes: SLAB_BYTES,
            together_ns: TOGETHER_NS,
            native_after: NATIVE_AFTER,
            check_numerics: false,
        }
    }
}

impl Options {
    /// The options of the environment: `PENSTOCK_PASSES=-cse,-fuse` leaves passes out, `PENSTOCK_FUEL=n` allows
    /// `n` rewrites to a graph.
    pub fn from_env() -> Options {
        let mut options = Options::default();
        if let Ok(list) = std::env::var("PENSTOCK_PASSES") {
            options.skip = list.split(',').filter_map(|p| p.trim().strip_prefix('-')).map(str::to_owned).collect();
        }
        if let Some(fuel) = std::env::var("PENSTOCK_FUEL").ok().and_then(|f| f.parse().ok()) {
            options.fuel = fuel;
        }
        options
    }
}

/// What the passes of one graph share.
pub(crate) struct Cx {
    fuel: Cell<u64>,
    min_fused_bytes: usize,
}

impl Cx {
    /// Whether one more rewrite may be made; counts it.
    fn spend(&self) -> bool {
        match self.fuel.get().checked_sub(1) {
            Some(left) => {
                self.fuel.set(left);
                true
            }
            None => false,
        }
    }
}

/// Optimises a graph, with the options of the environment.
///
/// # Errors
/// What inference reports when it is asked again; `Internal` where a pass breaks an invariant.
pub fn optimize(graph: &Graph) -> Result<Graph> {
    let types: Vec<Type> = graph.inputs().iter().map(|&v| graph.ty(v).clone()).collect();
    optimize_for(graph, &types, &Options::from_env())
}

/// Optimises a graph for inputs of these types, each a subtype of the input's own.
///
/// # Errors
/// As [`optimize`]; what inference reports for the more exact types, which may be that of an instruction that no run
/// would reach.
pub fn optimize_for(graph: &Graph, types: &[Type], options: &Options) -> Result<Graph> {
    let cx = Cx { fuel: Cell::new(options.fuel), min_fused_bytes: options.min_fused_bytes };
    let mut graph = specialise(graph, types)?;
    if options.check_numerics {
        check::run(&mut graph)?;
    }
    for pass in PASSES {
        if !options.skip.iter().any(|name| name == pass.name) {
            (pass.run)(&mut graph, &cx)?;
            if cfg!(debug_assertions) {
                verify_after(&graph, pass.name)?;
            }
        }
    }
    Ok(compact(&graph))
}
