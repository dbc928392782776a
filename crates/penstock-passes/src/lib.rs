//! The optimiser: passes over a graph, one file each.
//!
//! Every pass keeps results, effects and their order, source locations, and the names of the values that remain.

mod batch_loop_matmul;
mod branch;
mod canonicalise;
pub mod check;
mod compare_squared_abs;
mod cse;
mod dce;
mod edit;
mod elements;
pub mod evaluate;
mod fold;
mod fuse;
mod group;
mod hoist;
mod induction;
mod known;
mod layout;
pub mod lists;
mod native;
mod overlap;
mod part;
mod prune_columns;
mod recompute_producers;
pub mod small;
pub mod space;
mod specialise;
mod thresholds;
mod transpose_scan;
mod unroll;
mod unstack;
mod uses;
pub mod view;

use std::cell::Cell;

use penstock_data::{Error, Result};
use penstock_ir::{Graph, Type, Verified, checks_trusted, compact, verify_after};
use penstock_kernels::pool;

pub use fuse::summed_columns;
pub use hoist::rejects_elements;
pub use known::value_of;
pub use specialise::specialise;
pub use thresholds::Thresholds;

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
    Pass { name: "compare_squared_abs", run: compare_squared_abs::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "unstack", run: unstack::run },
    Pass { name: "dce", run: dce::run },
    Pass { name: "prune_columns", run: prune_columns::run },
    Pass { name: "transpose_scan", run: transpose_scan::run },
    Pass { name: "hoist", run: hoist::run },
    Pass { name: "induction", run: induction::run },
    Pass { name: "batch_loop_matmul", run: batch_loop_matmul::run },
    Pass { name: "unroll", run: unroll::run },
    Pass { name: "recompute_producers", run: recompute_producers::run },
    Pass { name: "fuse", run: fuse::run },
    Pass { name: "part", run: part::run },
    Pass { name: "native", run: native::run },
    Pass { name: "fuse_in_loops", run: fuse::run_in_loops },
    Pass { name: "overlap", run: overlap::run },
];

/// What the executor does beyond the passes, by the names under which [`Options`] leaves it out.
pub static PLANNING: &[&str] =
    &["pipelines", "row_loops", "concurrent", "vectors", "resolve", "exact_sizes", "size_patterns"];

/// All that [`Options`] can leave out: the passes, and what the executor does beyond them.
pub fn switches() -> impl Iterator<Item = &'static str> {
    PASSES.iter().map(|pass| pass.name).chain(PLANNING.iter().copied())
}

/// What the optimiser may do.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is left out, by the names that [`switches`] gives.
    pub skip: Vec<String>,
    /// How many more rewrites are made: for finding the one that breaks a graph.
    pub fuel: u64,
    /// The sizes and costs from which passes and planner act.
    pub thresholds: Thresholds,
    /// Whether every floating point result is checked to be finite.
    pub check_numerics: bool,
    /// Whether groups are for a device: they hold elementwise instructions, and sums over their rows, and no views.
    pub for_device: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            skip: Vec::new(),
            fuel: u64::MAX,
            thresholds: Thresholds::DEFAULT,
            check_numerics: false,
            for_device: false,
        }
    }
}

impl Options {
    /// The options of the environment: `PENSTOCK_PASSES=-cse,-fuse` leaves out what [`switches`] has by these names,
    /// `PENSTOCK_FUEL=n` allows `n` rewrites to a graph, `PENSTOCK_THRESHOLDS=small` has the [`Thresholds`] of that name.
    ///
    /// # Errors
    /// `InvalidArgument` for other names, and for a fuel that is no number.
    pub fn from_env() -> Result<Options> {
        let mut options = Options::default();
        if let Ok(list) = std::env::var("PENSTOCK_PASSES") {
            options.skip = left_out(&list)?;
        }
        if let Ok(fuel) = std::env::var("PENSTOCK_FUEL") {
            let wrong = || Error::invalid(format!("PENSTOCK_FUEL is the number of rewrites, not '{fuel}'"));
            options.fuel = fuel.trim().parse().map_err(|_| wrong())?;
        }
        if let Ok(name) = std::env::var("PENSTOCK_THRESHOLDS") {
            options.thresholds = Thresholds::from_name(&name)?;
        }
        Ok(options)
    }

    /// Whether what has a name among [`switches`] is not left out.
    pub fn allows(&self, name: &str) -> bool {
        !self.skip.iter().any(|skipped| skipped == name)
    }
}

/// The names in a list such as `-cse,-fuse`.
fn left_out(list: &str) -> Result<Vec<String>> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let checked = names.map(|name| match name.strip_prefix('-') {
        Some(known) if switches().any(|switch| switch == known) => Ok(known.to_owned()),
        _ => {
            let all: Vec<String> = switches().map(|switch| format!("-{switch}")).collect();
            Err(Error::invalid(format!("PENSTOCK_PASSES has '{name}', which is none of {}", all.join(", "))))
        }
    });
    checked.collect()
}

/// What the passes of one graph share.
pub(crate) struct Cx {
    fuel: Cell<u64>,
    thresholds: Thresholds,
    for_device: bool,
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
/// As [`Options::from_env`]; what inference reports when it is asked again; `Internal` where a pass breaks an invariant.
pub fn optimize(graph: &Verified) -> Result<Verified> {
    let types: Vec<Type> = graph.inputs().iter().map(|&v| graph.ty(v).clone()).collect();
    optimize_for(graph, &types, &Options::from_env()?)
}

/// Optimises a graph for inputs of these types, each a subtype of the input's own.
///
/// # Errors
/// As [`optimize`]; what inference reports for the more exact types, which may be that of an instruction that no run
/// would reach.
pub fn optimize_for(graph: &Verified, types: &[Type], options: &Options) -> Result<Verified> {
    optimize_noting(graph, types, options, &mut |_, _| ())
}

/// As [`optimize_for`]; tells `note` of each pass that ran, and how many rewrites it made.
///
/// # Errors
/// As [`optimize_for`].
pub fn optimize_noting(
    graph: &Verified,
    types: &[Type],
    options: &Options,
    note: &mut dyn FnMut(&'static str, u64),
) -> Result<Verified> {
    let cx = Cx { fuel: Cell::new(options.fuel), thresholds: options.thresholds, for_device: options.for_device };
    let mut graph = specialise(graph, types)?.into_graph();
    if options.check_numerics {
        check::run(&mut graph)?;
    }
    for pass in PASSES {
        if options.allows(pass.name) {
            pool::stop_if_asked();
            let fuel = cx.fuel.get();
            (pass.run)(&mut graph, &cx)?;
            note(pass.name, fuel - cx.fuel.get());
            if checks_trusted() {
                verify_after(&graph, pass.name)?;
            }
        }
    }
    #[expect(unsafe_code, reason = "the passes are trusted where nobody asks for checks")]
    // SAFETY: the graph was verified, and each pass makes a graph that the verifier accepts of one: the loop above has it say so in
    // debug builds, which run every test, and where `PENSTOCK_VERIFY` asks for it.
    unsafe {
        Verified::trusted(compact(&graph), "compact")
    }
}

#[cfg(test)]
mod tests {
    use super::left_out;

    #[test]
    fn a_list_of_passes_names_what_is_left_out_and_nothing_else() {
        assert_eq!(left_out(" -cse, -vectors,").unwrap(), ["cse", "vectors"]);
        assert!(left_out("").unwrap().is_empty());
        for wrong in ["cse", "-csee", "-cse;-fuse"] {
            let message = left_out(wrong).unwrap_err().to_string();
            assert!(
                message.contains(wrong) && message.contains("-hoist") && message.contains("-pipelines"),
                "{message}"
            );
        }
    }
}
