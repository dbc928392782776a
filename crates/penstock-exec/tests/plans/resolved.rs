//! Kernels made for one instruction do what the operators' own do.

use std::collections::BTreeSet;

use penstock_data::Tensor;
use penstock_exec::{Arg, Executable, eager, reference};
use penstock_ir::{Builder, Cpu, Function, OpDef, Sample, Type};
use penstock_ops::control::CONST;
use penstock_ops::joining::STACK;

use penstock_passes::Options;

use crate::{Quiet, env};

/// An executable that runs instructions as they are written, but for what else is left out.
fn as_written(graph: &penstock_ir::Verified, left_out: &[&str]) -> Executable {
    let passes = penstock_passes::PASSES.iter().map(|pass| pass.name);
    let skip = passes.chain(left_out.iter().copied()).map(String::from).collect();
    Executable::with_options(&Function::new("f", graph.clone()), Options { skip, ..Options::default() }).unwrap()
}

/// Elements by their bits, so that -0 is not 0 and a NaN is itself.
fn bits(t: &Tensor) -> (Type, Vec<u8>, Vec<penstock_data::Bytes>) {
    (Type::of(t), t.bytes().to_vec(), t.strings().to_vec())
}

/// Runs a sample whose operands of these numbers are constants, on every way. Whether the kernel was resolved.
fn check(op: &'static OpDef, sample: &Sample, constant: &[usize], what: &str) -> Option<bool> {
    let mut b = Builder::new(&CONST);
    let is_constant = |i: &usize| constant.contains(i);
    let each = || sample.inputs.iter().enumerate();
    let operands = each()
        .map(|(i, t)| if is_constant(&i) { b.constant(t.clone()) } else { b.input(Type::of(t), None) })
        .collect::<Vec<_>>();
    let args: Vec<Arg> = each().filter(|(i, _)| !is_constant(i)).map(|(_, t)| Arg::from(t.clone())).collect();
    // Some operators need to know a value when the graph is made.
    let results = b.emit(op, &operands, &sample.attrs).ok()?;
    let graph = b.finish(&results).unwrap();
    let expected = reference::run(&graph, &args, &Quiet(env()));
    let (resolved, own) = (as_written(&graph, &[]), as_written(&graph, &["resolve"]));
    assert!(!own.text().unwrap().contains("resolved"), "{what}");
    for (executable, switch) in [(&resolved, "on"), (&own, "off")] {
        // Twice: the second run finds the results of the first, which somebody still holds.
        let runs = [(); 2].map(|()| executable.run(&args, &Quiet(env())));
        for (round, got) in runs.into_iter().enumerate() {
            match (&expected, got) {
                (Ok(expected), Ok(got)) => {
                    let (due, got): (Vec<_>, Vec<_>) =
                        (expected.iter().map(bits).collect(), got.iter().map(bits).collect());
                    assert_eq!(got, due, "{what}, constants {constant:?}, switched {switch}, run {round}");
                }
                (Err(due), Err(got)) => {
                    assert_eq!((got.class(), got.message()), (due.class(), due.message()), "{what}")
                }
                (due, got) => panic!("{what}, constants {constant:?}, switched {switch}: {due:?}, {got:?}"),
            }
        }
    }
    Some(resolved.text().unwrap().contains("resolved"))
}

#[test]
fn elementwise_operators_whose_operands_broadcast_to_a_few_elements_give_the_same_bits() {
    let mut ran = 0;
    for op in penstock_ops::all().filter(|op| matches!(op.cpu, Cpu::Elementwise(_)) && op.operands.len() > 1) {
        for (i, sample) in (op.samples)().into_iter().enumerate().filter(|(_, s)| s.inputs.iter().all(|t| t.len() > 1))
        {
            for k in 0..sample.inputs.len() {
                let mut sample = sample.clone();
                // The others are repeated for each of three rows.
                let rows = [&sample.inputs[k]; 3];
                let rows = eager(&STACK, &rows, &STACK.attributes(&[]).unwrap(), &env()).unwrap();
                sample.inputs[k] = rows[0].clone();
                ran += usize::from(check(op, &sample, &[], &format!("{} sample {i}", op.name)).is_some());
            }
        }
    }
    assert!(ran > 300, "{ran}");
}

#[test]
fn samples_of_operators_that_are_resolved_give_the_same_bits_with_and_without() {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let resolvable = || penstock_ops::all().filter(|op| op.resolve.is_some());
    for op in resolvable() {
        for (i, sample) in (op.samples)().iter().enumerate() {
            let n = sample.inputs.len();
            let what = format!("{} sample {i}", op.name);
            let mut choices = vec![vec![], (1..n).collect(), (0..n).collect(), vec![0]];
            choices.extend((1..n).map(|i| vec![i]));
            choices.dedup();
            for constant in choices {
                if check(op, sample, &constant, &what) == Some(true) {
                    reached.insert(op.name);
                }
            }
        }
    }
    let missed: Vec<&str> = resolvable().map(|op| op.name).filter(|name| !reached.contains(name)).collect();
    assert!(missed.is_empty(), "no sample is resolved of {missed:?}");
}
