//! Random programs reach every pass and every kind of step where thresholds are at their least, and all ways to run agree.

use std::collections::BTreeMap;

use penstock_exec::{Executable, STEP_KINDS};
use penstock_filetests::{RandomOptions, Recorder, arguments, random_graph, run_tiers_with};
use penstock_passes::{Options, PASSES, Thresholds, optimize_noting, switches};

const SIZE: usize = 40;

/// What programs of these numbers reach: rewrites by pass, and steps by kind.
fn reached(seeds: std::ops::Range<u64>) -> (BTreeMap<&'static str, u64>, BTreeMap<&'static str, usize>) {
    let (mut rewrites, mut steps) = (BTreeMap::new(), BTreeMap::new());
    for seed in seeds {
        let random = random_graph(seed, SIZE, RandomOptions::default());
        let types = random.graph().signature().params;
        // What one threshold lets in another one may have taken before it came to that.
        for thresholds in [Thresholds::SMALL, Thresholds::mixed(seed)] {
            let options = Options::from(thresholds);
            let mut note = |pass, count| *rewrites.entry(pass).or_insert(0) += count;
            optimize_noting(random.graph(), &types, &options, &mut note).unwrap();
            let (args, _) = arguments(random.graph(), &random.inputs).unwrap();
            let recorder = Recorder::counting();
            Executable::with_options(&random.function, options).unwrap().run(&args, &recorder).unwrap();
            for (kind, count) in recorder.steps() {
                *steps.entry(kind).or_insert(0) += count;
            }
        }
    }
    (rewrites, steps)
}

#[test]
fn random_programs_reach_every_pass_and_every_kind_of_step() {
    let (mut rewrites, mut steps) = (BTreeMap::new(), BTreeMap::new());
    for first in (0..2000).step_by(100) {
        let (more_rewrites, more_steps) = reached(first..first + 100);
        more_rewrites.into_iter().for_each(|(pass, n)| *rewrites.entry(pass).or_insert(0) += n);
        more_steps.into_iter().for_each(|(kind, n)| *steps.entry(kind).or_insert(0) += n);
        let passes: Vec<&str> =
            PASSES.iter().map(|p| p.name).filter(|p| rewrites.get(p).is_none_or(|&n| n == 0)).collect();
        // Steps of devices are reached by the tests of `penstock-cuda`.
        let kinds: Vec<&str> = STEP_KINDS.into_iter().filter(|&k| k != "device" && !steps.contains_key(k)).collect();
        assert!(steps.keys().all(|k| STEP_KINDS.contains(k)), "{steps:?}");
        if passes.is_empty() && kinds.is_empty() {
            return;
        }
        assert!(first < 1900, "{passes:?} of {rewrites:?}, {kinds:?} of {steps:?}");
    }
}

/// Runs random programs of these numbers with small and mixed thresholds, and each with another pass or kind of step left out.
fn agree(seeds: std::ops::Range<u64>) {
    let all: Vec<&str> = switches().collect();
    let mut failed = Vec::new();
    for seed in seeds {
        let random = random_graph(seed, SIZE, RandomOptions::default());
        let left_out = all[seed as usize % all.len()];
        let without = |thresholds| Options { skip: vec![left_out.to_owned()], thresholds, ..Options::default() };
        let tiers = [
            ("the executor with all thresholds at their least", Thresholds::SMALL.into()),
            ("the executor with mixed thresholds", Thresholds::mixed(seed).into()),
            ("the executor with a pass left out", without(Thresholds::SMALL)),
            ("the executor with mixed thresholds and a pass left out", without(Thresholds::mixed(!seed))),
        ];
        if let Err(error) = run_tiers_with(random.graph(), &random.inputs, &tiers) {
            eprintln!("program {seed}, without {left_out}: {error}\n{random:?}");
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "the programs {failed:?} failed");
}

#[test]
fn small_and_mixed_thresholds_change_no_result() {
    agree(1000..1200);
}

#[test]
#[ignore = "takes minutes; PROGRAMS=from..to says which"]
fn many_programs_agree() {
    let range = std::env::var("PROGRAMS").unwrap_or_else(|_| "0..10000".into());
    let (from, to) = range.split_once("..").expect("PROGRAMS is from..to");
    agree(from.parse().expect("a number")..to.parse().expect("a number"));
}
