//! The samples of every operator as graphs: their text form is complete, and every tier gives the same.

use penstock_data::Tensor;
use penstock_filetests::{run_tiers, same_function};
use penstock_ir::{Builder, Effect, Function, OpDef, Sample, Type, no_hosts, parse_function};
use penstock_ops::{OpsAndFiles, control};

/// The sample as a graph; its operands are inputs, or constants where they can be.
fn graph(op: &'static OpDef, sample: &Sample, constant: bool) -> (Function, Vec<Tensor>) {
    let mut b = Builder::new(&control::CONST);
    let fixed = |t: &Tensor| constant && t.list().is_none();
    // Inputs first, as the text form has them.
    let inputs: Vec<_> = sample.inputs.iter().map(|t| (!fixed(t)).then(|| b.input(Type::of(t), None))).collect();
    let operands: Vec<_> =
        inputs.into_iter().zip(&sample.inputs).map(|(v, t)| v.unwrap_or_else(|| b.constant(t.clone()))).collect();
    let results = b.emit(op, &operands, &sample.attrs).unwrap_or_else(|e| panic!("{e:?} for {sample:?}"));
    let graph = b.finish(&results).expect("the results are in scope");
    (Function::new("main", graph), sample.inputs.iter().filter(|t| !fixed(t)).cloned().collect())
}

fn each_sample(check: impl Fn(&Function, &[Tensor])) {
    for op in penstock_ops::all().filter(|op| !op.effects.contains(&Effect::Host)) {
        for sample in (op.samples)() {
            for constant in [false, true] {
                let (function, args) = graph(op, &sample, constant);
                check(&function, &args);
            }
        }
    }
}

#[test]
fn their_text_form_is_complete() {
    each_sample(|function, _| {
        let text = function.to_text();
        let back = parse_function(&text, &OpsAndFiles, &no_hosts).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(same_function(function, &back), "{text}\n-- became --\n{back}");
    });
}

#[test]
fn every_tier_gives_the_same() {
    let wrong = std::cell::RefCell::new(Vec::new());
    each_sample(|function, args| {
        if let Err(error) = run_tiers(function.graph().expect("a graph"), args) {
            wrong.borrow_mut().push(format!("{error}\nin {function}"));
        }
    });
    let wrong = wrong.into_inner();
    assert!(
        wrong.is_empty(),
        "{} samples:\n{}",
        wrong.len(),
        wrong.iter().take(10).cloned().collect::<Vec<_>>().join("\n")
    );
}
