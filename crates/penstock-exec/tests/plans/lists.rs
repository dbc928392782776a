//! Lists in plans: they are changed in place where nobody else sees them.

use std::cell::Cell;

use penstock_data::{DType, List, Shape, Tensor};
use penstock_exec::{Arg, Executable, reference};
use penstock_ir::{
    ArgType, Attrs, Batch, Builder, Cost, Cpu, Cuda, Elements, Fails, Fold, Function, Jvp, OpDef, OutTypes, Rows, Type,
    Value, Verified, Vjp, arg_of,
};
use penstock_ops::control::{COND, WHILE};
use penstock_ops::list::{LIST_FROM_TENSOR, LIST_GET, LIST_NEW, LIST_POP, LIST_PUSH, LIST_SET, LIST_STACK};

use crate::ops::{ADD, LESS};
use crate::{build, emit, env};

thread_local! {
    static COPIES: Cell<usize> = const { Cell::new(0) };
}

/// A list as it is, counting the times that changing it would copy it.
static PROBE: OpDef = OpDef {
    name: "probe",
    tf_name: "Probe",
    doc: "",
    dtypes: &[],
    operands: &[arg_of("list", ArgType::Fixed(DType::Variant))],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(OutTypes::from_iter([cx.inputs[0].clone()])),
    cpu: Cpu::Update(|call| {
        let before = call.outputs[0].list().map(std::ptr::from_ref);
        let after = call.outputs[0].list_mut().map(|l| std::ptr::from_ref(l));
        COPIES.set(COPIES.get() + usize::from(before != after));
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
    promise: crate::ops::PROMISE,
    samples: Vec::new,
};

fn int(b: &mut Builder, value: i64) -> Value {
    b.constant(Tensor::from(value))
}

fn new_list(b: &mut Builder, len: i64) -> Value {
    let len = int(b, len);
    emit(b, &LIST_NEW, &[len])
}

/// A loop from 0 to `n` whose body gives the next of the other variables.
fn count_to(
    b: &mut Builder,
    n: Value,
    init: &[Value],
    body: impl FnOnce(&mut Builder, Value, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let mut all = vec![int(b, 0)];
    all.extend(init);
    let types: Vec<Type> = all.iter().map(|&v| b.graph().ty(v).clone()).collect();
    let cond = b.begin_region(types.clone());
    let i = b.params(cond)[0];
    let go = emit(b, &LESS, &[i, n]);
    b.end_region(&[go]).unwrap();
    let region = b.begin_region(types);
    let params = b.params(region);
    let one = int(b, 1);
    let mut next = vec![emit(b, &ADD, &[params[0], one])];
    next.extend(body(b, params[0], &params[1..]));
    b.end_region(&next).unwrap();
    let inst = b.inst(&WHILE, &all, Attrs::EMPTY, &[cond, region]).unwrap();
    b.results(inst)[1..].to_vec()
}

/// Runs the plan twice, which must agree with the reference, and gives its results with the copies of its second run.
fn run(graph: &Verified, args: &[Tensor]) -> (Vec<Tensor>, usize) {
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
    let plan = Executable::new(&Function::new("f", graph.clone())).unwrap();
    let due = reference::run(graph, &args, &env()).unwrap();
    assert_eq!(plan.run(&args, &env()).unwrap().to_vec(), due);
    COPIES.set(0);
    let found = plan.run(&args, &env()).unwrap().to_vec();
    assert_eq!(found, due);
    (found, COPIES.get())
}

fn stacked(b: &mut Builder, list: Value) -> Value {
    let shape = b.constant(Tensor::vector::<i64>(&[]));
    let attrs = LIST_STACK.attributes(&[("dtype", DType::I64.into())]).unwrap();
    let inst = b.inst(&LIST_STACK, &[list, shape], attrs, &[]).unwrap();
    b.results(inst)[0]
}

#[test]
fn a_loop_of_pushes_never_copies_the_list() {
    let graph = build(|b| {
        let n = b.input(Type::scalar(DType::I64), None);
        let list = new_list(b, 0);
        let out = count_to(b, n, &[list], |b, i, state| {
            let seen = emit(b, &PROBE, &[state[0]]);
            vec![emit(b, &LIST_PUSH, &[seen, i])]
        });
        vec![stacked(b, out[0])]
    });
    let (found, copies) = run(&graph, &[Tensor::from(1000i64)]);
    assert_eq!(found[0].as_slice::<i64>(), (0..1000).collect::<Vec<i64>>());
    assert_eq!(copies, 0);
    assert_eq!(run(&graph, &[Tensor::from(0i64)]).0[0].dims(), [0]);
}

#[test]
fn writes_in_a_branch_of_a_nested_loop_never_copy_the_list() {
    let graph = build(|b| {
        let n = b.input(Type::scalar(DType::I64), None);
        let list = new_list(b, 8);
        let out = count_to(b, n, &[list], |b, i, state| {
            count_to(b, n, state, |b, j, state| {
                let four = int(b, 4);
                let low = emit(b, &LESS, &[j, four]);
                let then = b.begin_region([]);
                let seen = emit(b, &PROBE, &[state[0]]);
                let written = emit(b, &LIST_SET, &[seen, j, i]);
                b.end_region(&[written]).unwrap();
                let otherwise = b.begin_region([]);
                b.end_region(&[state[0]]).unwrap();
                let inst = b.inst(&COND, &[low], Attrs::EMPTY, &[then, otherwise]).unwrap();
                b.results(inst).to_vec()
            })
        });
        vec![stacked(b, out[0])]
    });
    let (found, copies) = run(&graph, &[Tensor::from(6i64)]);
    assert_eq!(found[0].as_slice::<i64>(), [5, 5, 5, 5, 0, 0, 0, 0]);
    assert_eq!(copies, 0);
}

#[test]
fn pops_and_reads_never_copy_the_list() {
    let graph = build(|b| {
        let x = b.input(Type::tensor(DType::I64, Shape::of_rank(1).unwrap()), None);
        let n = b.input(Type::scalar(DType::I64), None);
        let list = emit(b, &LIST_FROM_TENSOR, &[x]);
        let zero = int(b, 0);
        let out = count_to(b, n, &[list, zero], |b, _, state| {
            let seen = emit(b, &PROBE, &[state[0]]);
            let (zero, shape) = (int(b, 0), b.constant(Tensor::vector::<i64>(&[])));
            let attrs = LIST_GET.attributes(&[("dtype", DType::I64.into())]).unwrap();
            let inst = b.inst(&LIST_GET, &[seen, zero, shape], attrs.clone(), &[]).unwrap();
            let first = b.results(inst)[0];
            let inst = b.inst(&LIST_POP, &[seen, shape], attrs, &[]).unwrap();
            let (rest, last) = (b.results(inst)[0], b.results(inst)[1]);
            let sum = emit(b, &ADD, &[state[1], last]);
            vec![rest, emit(b, &ADD, &[sum, first])]
        });
        vec![out[1]]
    });
    let (found, copies) = run(&graph, &[Tensor::vector(&[1i64, 2, 3, 4, 5]), Tensor::from(5i64)]);
    assert_eq!((found[0].item::<i64>(), copies), (Some(20), 0));
}

#[test]
fn a_list_that_is_used_again_is_as_it_was() {
    let graph = build(|b| {
        let list = b.input(Type::scalar(DType::Variant), None);
        let x = b.input(Type::scalar(DType::I64), None);
        let zero = int(b, 0);
        let pushed = emit(b, &LIST_PUSH, &[list, x]);
        let changed = emit(b, &LIST_SET, &[pushed, zero, x]);
        vec![list, stacked(b, pushed), changed, pushed]
    });
    let mut list = List::new(DType::I64, Shape::scalar(), 0);
    list.push(Tensor::from(7i64)).unwrap();
    let list = Tensor::from_list(list);
    let (found, _) = run(&graph, &[list.clone(), Tensor::from(9i64)]);
    assert_eq!(found[0], list);
    assert_eq!(found[1].as_slice::<i64>(), [7, 9]);
    assert_eq!(found[2].list().unwrap().get(0), Some(&Tensor::from(9i64)));
    assert_eq!(found[3].list().unwrap().get(0), Some(&Tensor::from(7i64)));
}
