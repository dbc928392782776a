//! Reverse mode of functions and inside graphs, held against finite differences.

mod common;

use common::{check, derivative, f64s, parse, run};
use penstock_autodiff::{
    Request, Residual, batch_by_loop, batch_function, by_rows, gradients_in, jvp_function, vjp_function,
};
use penstock_data::{Bool8, Class, DType, Tensor};
use penstock_ir::{
    ArgType, Batch, Builder, Cost, Cpu, Cuda, Elements, Fails, Fold, Jvp, OpDef, OpSet, Promise, Rows, Type, Vjp,
    arg_of, no_hosts, parse_function,
};
use penstock_ops::{Ops, control};

fn vector() -> Tensor {
    f64s(&[3], &[0.3, -0.8, 1.1])
}

#[test]
fn chains_diamonds_fan_out_and_unused_outputs_agree_with_differences() {
    for body in [
        "%a = sin %x\n%b = mul %a, %x\nreturn %b",
        "%a = sin %x\n%b = exp %x\n%c = mul %a, %b\n%d = add %c, %a\nreturn %d",
        "%a = mul %x, %x\n%b = mul %a, %x\n%c = add %b, %a\n%d = add %c, %x\n%e = mul %d, %d\nreturn %e",
        "%a = sin %x\n%unused = exp %a\nreturn %a",
        "return %x",
    ] {
        let f = parse(&format!("func @f(%x: f64[3]) -> f64[3] {{\n{body}\n}}"));
        check(&f, &[vector()], 3);
    }
}

#[test]
fn broadcast_operands_and_several_outputs_agree_with_differences() {
    let f = parse(
        "func @f(%x: f64[s0,3], %y: f64[3], %z: f64[]) -> f64[s0,3], f64[] {\n\
         %a = mul %x, %y\n%b = add %a, %z\n%c = tanh %b\n%d = reduce_sum %c\n%e = mul %d, %z\nreturn %c, %e\n}",
    );
    let args = [f64s(&[2, 3], &[0.1, 0.5, -0.3, 0.7, -0.2, 0.4]), vector(), f64s(&[], &[0.6])];
    check(&f, &args, 2);
}

#[test]
fn what_is_derived_from_a_function_does_not_hold_it() {
    for body in ["%a = add %x, %x\nreturn %a", "%a = sin %x\n%b = sin %a\nreturn %b", "%a = floor %x\nreturn %a"] {
        let f = parse(&format!("func @f(%x: f64[3]) -> f64[3] {{\n{body}\n}}"));
        let gone = std::sync::Arc::downgrade(&f);
        for _ in 0..2 {
            let pair = vjp_function(&f, &[true], &[true]).unwrap();
            pair.backward.iter().for_each(|b| drop(by_rows(b).unwrap()));
        }
        jvp_function(&f, &[true]).unwrap();
        by_rows(&f).unwrap();
        batch_function(&f, &[true]).unwrap();
        batch_by_loop(&f, &[true]).unwrap();
        drop(f);
        assert_eq!(gone.strong_count(), 0, "{body}");
    }
}

#[test]
fn nothing_flows_through_integers() {
    let f = parse(
        "func @f(%x: f64[3], %n: i32[]) -> f64[3], i32[3] {\n\
         %i = cast %x {dtype=i32}\n%k = add %i, %n\n%g = cast %k {dtype=f64}\n%h = mul %g, %x\nreturn %h, %k\n}",
    );
    check(&f, &[f64s(&[3], &[1.3, -0.8, 2.1]), Tensor::scalar(2i32)], 2);
}

#[test]
fn only_what_the_derivative_uses_is_kept_and_nothing_twice() {
    let f = parse(
        "func @f(%x: f64[3]) -> f64[3] {\n\
         %two = const {value=f64[] 2}\n%a = mul %x, %two\n%b = tanh %a\n%c = add %b, %x\n%d = neg %c\n%e = tanh %d\n\
         return %e\n}",
    );
    let pair = vjp_function(&f, &[true], &[true]).unwrap();
    // The results of both `tanh`: one is an output already, the other is kept.
    assert_eq!(pair.residuals, [Residual::Output(0), Residual::Output(1)]);
    assert_eq!(pair.forward(&f).signature().results.len(), 2);
    let again = vjp_function(&f, &[true], &[true]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&pair, &again));
    let linear = parse("func @f(%x: f64[3]) -> f64[3] {\n%a = add %x, %x\nreturn %a\n}");
    let pair = vjp_function(&linear, &[true], &[true]).unwrap();
    assert!(pair.residuals.is_empty() && std::sync::Arc::ptr_eq(pair.forward(&linear), &linear));
}

#[test]
fn a_function_goes_with_the_last_reference_though_its_derivatives_are_kept_with_it() {
    for text in [
        "func @f(%x: f64[3]) -> f64[3] {\n%a = add %x, %x\nreturn %a\n}",
        "func @f(%x: f64[3]) -> f64[3] {\n%a = tanh %x\n%b = tanh %a\nreturn %b\n}",
        "func @f(%x: f64[3]) -> f64[3] {\n%a = floor %x\nreturn %a\n}",
    ] {
        let f = parse(text);
        let pair = vjp_function(&f, &[true], &[true]).unwrap();
        if let Some(backward) = &pair.backward {
            by_rows(backward).unwrap();
        }
        jvp_function(&f, &[true]).unwrap();
        batch_function(&f, &[true]).unwrap();
        let left = std::sync::Arc::downgrade(&f);
        let backward = pair.backward.as_ref().map(std::sync::Arc::downgrade);
        drop((f, pair));
        assert!(left.upgrade().is_none(), "{text}");
        assert!(backward.is_none_or(|b| b.upgrade().is_none()), "{text}");
    }
}

#[test]
fn of_an_unknown_size_only_the_shape_is_kept() {
    let f = parse("func @f(%x: f64[s0]) -> f64[] {\n%a = sin %x\n%b = add %a, %a\n%c = reduce_sum %b\nreturn %c\n}");
    let g = parse("func @g(%x: f64[s0]) -> f64[] {\n%c = reduce_sum %x\nreturn %c\n}");
    check(&f, &[vector()], 2);
    let pair = vjp_function(&g, &[true], &[true]).unwrap();
    let kept = &pair.backward.as_ref().unwrap().signature().params[0];
    assert_eq!(pair.residuals, [Residual::Output(1)]);
    assert!(kept.dtype().is_integer(), "{kept}");
}

#[test]
fn branches_agree_with_differences_whichever_is_taken() {
    let f = parse(
        "func @f(%p: bool[], %x: f64[3], %y: f64[3]) -> f64[3] {\n\
         %a = sin %x\n\
         %r = cond %p ({\n%b = exp %a\n%c = mul %b, %y\n%d = tanh %c\nyield %d\n}, {\n%e = mul %a, %a\nyield %e\n})\n\
         %s = mul %r, %x\nreturn %s\n}",
    );
    for p in [true, false] {
        check(&f, &[Tensor::scalar(Bool8::new(p)), vector(), f64s(&[3], &[0.5, 0.9, -0.4])], 3);
    }
}

#[test]
fn nested_branches_of_unknown_size_agree_with_differences() {
    let f = parse(
        "func @f(%p: bool[], %q: bool[], %x: f64[s0]) -> f64[s0] {\n\
         %r = cond %p ({\n\
           %a = exp %x\n\
           %s = cond %q ({\n%b = sin %a\n%c = mul %b, %a\nyield %c\n}, {\nyield %x\n})\n\
           %t = mul %s, %a\n\
           yield %t\n\
         }, {\n%u = tanh %x\nyield %u\n})\nreturn %r\n}",
    );
    for (p, q) in [(true, true), (true, false), (false, true)] {
        check(&f, &[Tensor::scalar(Bool8::new(p)), Tensor::scalar(Bool8::new(q)), vector()], 2);
    }
}

#[test]
fn switches_agree_with_differences() {
    let f = parse(
        "func @f(%i: i32[], %x: f64[3]) -> f64[3] {\n\
         %r = switch %i ({\n%a = sin %x\nyield %a\n}, {\n%k = const {value=f64[3] [1,2,3]}\nyield %k\n}, {\nyield %x\n})\n\
         return %r\n}",
    );
    for i in 0..3 {
        check(&f, &[Tensor::scalar(i), vector()], 2);
    }
}

#[test]
fn calls_agree_with_differences() {
    let f = parse(
        "func @inner(%x: f64[3], %n: i32[], %y: f64[3]) -> f64[3], i32[], f64[3] {\n\
         %a = mul %x, %y\n%b = sin %a\n%c = exp %y\nreturn %b, %n, %c\n}\n\
         func @f(%x: f64[3], %n: i32[]) -> f64[3] {\n\
         %a, %m, %b = call %x, %n, %x {func=@inner}\n%c = tanh %a\n\
         %d, %k, %e = call %c, %m, %x {func=@inner}\n%g = mul %d, %b\nreturn %g\n}",
    );
    check(&f, &[vector(), Tensor::scalar(4i32)], 2);
}

#[test]
fn variables_get_the_sum_over_their_reads() {
    let f = parse(
        "func @f(%v: var f64[3], %x: f64[3]) -> f64[3] {\n\
         %a = read_variable %v\n%b = mul %a, %x\n%c = read_variable %v\n%d = sin %c\n%e = add %b, %d\nreturn %e\n}",
    );
    check(&f, &[f64s(&[3], &[0.2, 0.4, 0.9]), vector()], 2);
}

#[test]
fn sources_may_be_unconnected_repeated_targets_or_in_the_middle() {
    let mut b = Builder::new(&control::CONST);
    let ty = Type::scalar(DType::F64);
    let (x, z) = (b.input(ty.clone(), None), b.input(ty, None));
    let op = |name: &str| penstock_ir::OpSet::find(&Ops, name).unwrap();
    let a = b.emit(op("sin"), &[x], &[]).unwrap()[0];
    let y = b.emit(op("mul"), &[a, a], &[]).unwrap()[0];
    let request =
        Request { targets: &[y, y, a], target_grads: &[], sources: &[x, z, a, y, a], stops: &[], recorded: None };
    let grads = gradients_in(&mut b, &request).unwrap();
    assert_eq!(grads[1], None);
    assert_eq!(grads[2], grads[4]);
    let outputs: Vec<_> = grads.iter().flatten().copied().collect();
    let f = penstock_ir::Function::new("f", b.finish(&outputs).unwrap());
    let at = 0.4f64;
    let got: Vec<f64> =
        run(&f, &[Tensor::scalar(at), Tensor::scalar(0.0f64)]).iter().map(|t| t.item::<f64>().unwrap()).collect();
    let da = 4.0 * at.sin() + 1.0;
    for (got, due) in got.iter().zip([da * at.cos(), da, 2.0, da]) {
        assert!((got - due).abs() < 1e-12, "{got} against {due}");
    }
}

#[test]
fn instructions_that_were_not_recorded_let_nothing_through() {
    let mut b = Builder::new(&control::CONST);
    let x = b.input(Type::scalar(DType::F64), None);
    let op = |name: &str| penstock_ir::OpSet::find(&Ops, name).unwrap();
    let a = b.emit(op("sin"), &[x], &[]).unwrap()[0];
    let y = b.emit(op("exp"), &[a], &[]).unwrap()[0];
    let inner = b.graph().def_inst(a).unwrap();
    let recorded = |inst| inst != inner;
    let request = Request { targets: &[y], target_grads: &[], sources: &[x, a], stops: &[], recorded: Some(&recorded) };
    let grads = gradients_in(&mut b, &request).unwrap();
    assert!(grads[0].is_none() && grads[1].is_some());
}

/// That the operators of these tests are as they are declared.
// SAFETY: each is a few lines, and does what it says.
#[expect(unsafe_code, reason = "these operators are trusted")]
const PROMISE: Promise = unsafe { Promise::new() };

/// The identity, without gradient.
static HARD: OpDef = OpDef {
    name: "hard",
    tf_name: "Hard",
    doc: "",
    dtypes: &[],
    operands: &[arg_of("x", ArgType::Fixed(DType::F64))],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(cx.inputs.iter().cloned().collect()),
    cpu: Cpu::Kernel(|call| {
        call.outputs[0] = call.inputs[0].clone();
        Ok(())
    }),
    cuda: Cuda::HostFallback("a test"),
    vjp: Vjp::NonDifferentiable("a test"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("a test"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("a test"),
    promise: PROMISE,
    samples: Vec::new,
};

struct WithHard;

impl OpSet for WithHard {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        if name == "hard" { Some(&HARD) } else { Ops.find(name) }
    }
}

#[test]
fn a_gradient_that_is_refused_leaves_the_graph_whole() {
    let f = parse_function(
        "func @f(%p: bool[], %x: f64[3], %n: i64[]) -> f64[3] {\n\
         %r = cond %p ({\n\
           %w, %m = while %x, %n ((%a: f64[3], %i: i64[]) {\n%go = less %i, %n\nyield %go\n\
           }, (%b: f64[3], %j: i64[]) {\n%c = hard %b\n%d = sin %c\nyield %d, %j\n})\n\
           %s = sin %w\n\
           yield %s\n\
         }, {\nyield %x\n})\nreturn %r\n}",
        &WithHard,
        &no_hosts,
    )
    .unwrap();
    let mut b = Builder::new(&control::CONST);
    let inputs: Vec<_> = f.signature().params.iter().map(|ty| b.input(ty.clone(), None)).collect();
    let y = b.inline(f.graph().unwrap(), &inputs).unwrap()[0];
    let request = Request { targets: &[y], target_grads: &[], sources: &[inputs[1]], stops: &[], recorded: None };
    let error = gradients_in(&mut b, &request).err().unwrap();
    assert_eq!((error.class(), error.op()), (Class::NotFound, Some("hard")));
    assert_eq!(b.depth(), 1);
    penstock_ir::verify(&b.finish(&[y]).unwrap()).unwrap();
}

#[test]
fn a_long_chain_is_walked_without_recursion() {
    let mut b = Builder::new(&control::CONST);
    let x = b.input(Type::scalar(DType::F64), None);
    let mut y = x;
    for _ in 0..100_000 {
        y = b.emit(penstock_ir::OpSet::find(&Ops, "neg").unwrap(), &[y], &[]).unwrap()[0];
    }
    let request = Request { targets: &[y], target_grads: &[], sources: &[x], stops: &[], recorded: None };
    assert!(gradients_in(&mut b, &request).unwrap()[0].is_some());
}

#[test]
fn derivatives_are_as_small_as_by_hand() {
    let f = parse("func @f(%x: f64[]) -> f64[] {\n%y = tanh %x\nreturn %y\n}");
    let g = derivative(&f, false);
    // tanh, 1 (the seed), 1, y * y, 1 - y * y, times the seed.
    assert!(g.graph().unwrap().len() <= 6, "{}", g.to_text());
    let h = parse("func @f(%x: f64[3], %y: f64[3]) -> f64[3] {\n%a = mul %x, %y\nreturn %a\n}");
    let pair = vjp_function(&h, &[true, false], &[true]).unwrap();
    assert_eq!(pair.residuals, [Residual::Input(1)]);
    assert_eq!(pair.backward.as_ref().unwrap().graph().unwrap().len(), 1);
}
