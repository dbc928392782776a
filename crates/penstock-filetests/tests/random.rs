//! Properties of random graphs.

use penstock_filetests::{RandomOptions, hosts, random_graph, random_graphs, run_tiers, same_function};
use penstock_ir::{compact, effects_of, effects_of_owners, parse_function, verify, verify_after};
use penstock_ops::Ops;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same graphs on every run, unless the environment asks for others by `PROPTEST_RNG_SEED`. A failure prints a file
/// test; a seed would mean another graph once an operator is added.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_verifier_accepts_them(random in random_graphs(40, RandomOptions::default())) {
        verify(random.graph()).unwrap();
        verify_after(&compact(random.graph()), "compact").unwrap();
    }

    #[test]
    fn the_text_form_is_complete(random in random_graphs(40, RandomOptions::default())) {
        let text = random.function.to_text();
        let back = parse_function(&text, &Ops, &hosts);
        prop_assert!(back.is_ok(), "{:?}", back.err());
        let back = back.unwrap();
        prop_assert_eq!(back.to_text(), text);
        // Functions of one name get names of their own in the text, so the first text is what comes back.
        let again = parse_function(&back.to_text(), &Ops, &hosts).unwrap();
        prop_assert!(same_function(&back, &again));
    }

    #[test]
    fn a_mutated_text_is_read_or_refused(
        random in random_graphs(12, RandomOptions::default()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, "[ -~\n]{0,3}"), 1..4),
    ) {
        let mut text: Vec<char> = random.function.to_text().chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(function) = parse_function(&text, &Ops, &hosts) {
            prop_assert!(function.graph().is_none_or(|g| verify(g).is_ok()));
            prop_assert!(parse_function(&function.to_text(), &Ops, &hosts).is_ok());
        }
    }

    #[test]
    fn compaction_is_idempotent(random in random_graphs(40, RandomOptions::default())) {
        let once = compact(random.graph());
        prop_assert!(compact(&once) == once);
    }

    #[test]
    fn effects_of_owners_are_those_of_each(random in random_graphs(40, RandomOptions::default())) {
        let graph = random.graph();
        let owners = effects_of_owners(graph, graph.body());
        let mut count = 0;
        graph.visit(&mut |_, inst, data| {
            if !data.regions.is_empty() {
                count += 1;
                assert_eq!(owners[&inst], effects_of(graph, inst));
            }
        });
        prop_assert_eq!(owners.len(), count);
    }

    #[test]
    fn every_tier_gives_the_same(random in random_graphs(40, RandomOptions::default())) {
        if let Err(error) = run_tiers(random.graph(), &random.inputs) {
            prop_assert!(false, "{error}");
        }
    }
}

#[test]
fn they_are_made_of_everything() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..300 {
        random_graph(seed, 40, RandomOptions::default()).graph().visit(&mut |_, _, data| {
            *seen.entry(data.op.name).or_insert(0) += 1;
        });
    }
    let unseen: Vec<&str> = penstock_ops::all().map(|op| op.name).filter(|name| !seen.contains_key(name)).collect();
    // They touch files, give something else on every run, hold a gradient, or are made by the passes.
    let expected = ["read_file", "write_file", "timestamp", "with_gradient", "fused", "native"];
    assert_eq!(unseen, expected, "{seen:?}");
}
