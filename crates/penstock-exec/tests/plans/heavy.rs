//! Heavy steps: they run apart, give what the reference gives, and are abandoned where the host wants the run to stop.

use penstock_data::Dim;
use penstock_exec::executable as made_once;
use penstock_ir::{OpSet, no_hosts, parse_function};

use super::*;

/// Elements for which a loop is heavy.
const MANY: usize = 8_000_000;

fn read(text: &str) -> Arc<Function> {
    parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()
}

fn random(dims: &[usize]) -> Tensor {
    let op = penstock_ops::Ops.find("stateless_random_uniform").unwrap();
    let attrs = op.attributes(&[("dtype", DType::F32.into())]).unwrap();
    let shape = Tensor::vector(&dims.iter().map(|&n| n as i64).collect::<Vec<_>>());
    eager(op, &[&shape, &Tensor::vector(&[7i64, 1])], &attrs, &env()).unwrap().remove(0)
}

/// Polls that a heavy step has at least: each is a hundredth of a second after the one before.
const POLLS: usize = 3;

fn stopping() -> Recorder {
    Recorder { stop_after: Some(POLLS), ..Recorder::default() }
}

#[test]
fn heavy_steps_give_what_the_reference_gives() {
    let texts = [
        // A loop over its own operand, two fused groups, and a loop that broadcasts.
        "func @f(%x: f32[8000000], %y: f32[]) -> f32[8000000] {\n%a = neg %x\n%b = lgamma %a\n%c = add %b, %y\n\
         %d = sin %c\nreturn %d\n}",
        "func @f(%x: f32[8000000], %y: f32[]) -> f32[8000000], f32[] {\n%a = mul %x, %x\n\
         %s = reduce_sum %a\n%b = sub %x, %s\nreturn %b, %s\n}",
        // Results of a kernel, in another order; their memory is used again.
        "func @f(%x: f32[8000000], %y: f32[]) -> f32[8000000], i32[8000000] {\n%s = sort %x\n%i = argsort %x\n\
         %t = sort %s {descending=true}\nreturn %t, %i\n}",
    ];
    let x = random(&[MANY]);
    for text in texts {
        let function = read(text);
        let args = [Arg::from(x.clone()), Arg::from(Tensor::from(0.5f32))];
        let due = reference::run(function.graph().unwrap(), &args, &env()).unwrap();
        let executable = Executable::new(&function).unwrap();
        for _ in 0..2 {
            assert_eq!(executable.run(&args, &env()).unwrap().to_vec(), due);
        }
    }
}

#[test]
fn heavy_steps_draw_from_the_stream_of_their_host() {
    let function = read(
        "func @f(%n: i64[1]) -> f32[?], f32[?] {\n%a = random_normal %n {dtype=f32}\n%b = random_normal %n {dtype=f32}\n\
         return %a, %b\n}",
    );
    let args = [Arg::from(Tensor::vector(&[MANY as i64]))];
    let due = reference::run(function.graph().unwrap(), &args, &Quiet(StdEnv::new(3))).unwrap();
    let found = Executable::new(&function).unwrap().run(&args, &Quiet(StdEnv::new(3))).unwrap();
    assert!(found.to_vec() == due && found[0] != found[1]);
}

#[test]
fn a_heavy_step_can_be_interrupted_and_the_next_run_works() {
    let function = read(
        "func @f(%v: var f64[], %x: f64[1200,1200]) -> f64[1200] {\n%one = const {value=f64[] 1}\n\
         assign_add %v, %one\n%s = singular_values %x\nassign_add %v, %one\nreturn %s\n}",
    );
    let executable = Executable::new(&function).unwrap();
    let v = Variable::new("v", DType::F64, Shape::scalar(), Some(Tensor::from(0.0f64))).unwrap();
    let x = eager(penstock_ops::Ops.find("cast").unwrap(), &[&random(&[1200, 1200])], &to_f64(), &env()).unwrap();
    let args = [Arg::from(v.clone()), Arg::from(x[0].clone())];
    let error = executable.run(&args, &stopping()).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    assert_eq!(v.read().unwrap().item::<f64>(), Some(1.0), "what was written before stays, nothing is written after");

    let zeros = [Arg::from(v.clone()), Arg::from(Tensor::zeros(DType::F64, &[1200, 1200]).unwrap())];
    let out = executable.run(&zeros, &env()).unwrap();
    assert_eq!(out[0], Tensor::zeros(DType::F64, &[1200]).unwrap());
    assert_eq!(v.read().unwrap().item::<f64>(), Some(3.0));
}

#[test]
fn making_a_large_graph_ready_can_be_interrupted() {
    for known in [true, false] {
        let mut b = Builder::new(&CONST);
        let shape = if known { Shape::known(&[3]) } else { Shape::new([Dim::Unknown]) };
        let mut x = b.input(Type::tensor(DType::F32, shape), None);
        for _ in 0..100_000 {
            x = b.emit(penstock_ops::Ops.find("sin").unwrap(), &[x], &[]).unwrap()[0];
        }
        let function = Arc::new(Function::new("long", b.finish(&[x]).unwrap()));
        let arg = [Arg::from(Tensor::zeros(DType::F32, &[3]).unwrap())];
        let ran = made_once(&function, &stopping()).and_then(|executable| executable.run(&arg, &stopping()));
        assert_eq!(ran.unwrap_err().class(), Class::Cancelled);
        let made = made_once(&function, &env()).unwrap();
        assert_eq!(made.run(&arg, &env()).unwrap()[0], Tensor::zeros(DType::F32, &[3]).unwrap());
    }
}

fn to_f64() -> Attrs {
    penstock_ops::Ops.find("cast").unwrap().attributes(&[("dtype", DType::F64.into())]).unwrap()
}

#[test]
fn a_heavy_update_that_is_interrupted_is_done_as_a_whole_or_not_at_all() {
    const ROWS: usize = 1 << 25;
    let function = read(
        "func @f(%v: var i8[1], %at: i32[?,1], %by: i8[?]) {\nscatter_variable %v, %at, %by {mode=\"add\"}\n\
         assign_add %v, %by\nreturn\n}",
    );
    let v = Variable::new("v", DType::I8, Shape::known(&[1]), Some(Tensor::zeros(DType::I8, &[1]).unwrap())).unwrap();
    let by = eager(
        penstock_ops::Ops.find("add").unwrap(),
        &[&Tensor::zeros(DType::I8, &[ROWS + 3]).unwrap(), &Tensor::from(1i8)],
        &Attrs::EMPTY,
        &env(),
    );
    let args = [
        Arg::from(v.clone()),
        Arg::from(Tensor::zeros(DType::I32, &[ROWS + 3, 1]).unwrap()),
        by.unwrap().remove(0).into(),
    ];
    let error = Executable::new(&function).unwrap().run(&args, &stopping()).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    // Reading waits for what goes on. The sum of the ones wraps around to 3; nothing is written after it.
    let after = v.read().unwrap();
    assert!([0, 3].contains(&after.as_slice::<i8>()[0]), "{after:?}");
}

#[test]
fn heavy_work_whose_result_is_only_assigned_to_a_part_can_be_interrupted() {
    let function = read(
        "func @f(%v: var f32[3,8000000], %x: f32[1,8000000]) {\n%b = const {value=i32[1] [1]}\n%e = const {value=i32[1] [2]}\n\
         %s = const {value=i32[1] [1]}\n%y = lgamma %x\n%z = mul %y, %y\nstrided_slice_assign %v, %b, %e, %s, %z\nreturn\n}",
    );
    let v =
        Variable::new("v", DType::F32, Shape::known(&[3, MANY]), Some(Tensor::zeros(DType::F32, &[3, MANY]).unwrap()));
    let v = v.unwrap();
    let args = [Arg::Variable(v.clone()), Arg::from(random(&[1, MANY]))];
    let executable = Executable::new(&function).unwrap();
    let error = executable.run(&args, &stopping()).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    let rows = |v: &Variable| v.read().unwrap().as_slice::<f32>()[MANY..2 * MANY].iter().any(|&y| y != 0.0);
    assert!(!rows(&v));
    executable.run(&args, &env()).unwrap();
    assert!(rows(&v));
}

#[test]
fn updates_count_as_work_between_polls() {
    let text =
        format!("func @f(%v: var f32[1000000], %x: f32[1000000]) {{\n{}return\n}}", "assign_add %v, %x\n".repeat(20));
    let function = read(&text);
    let zeros = || Tensor::zeros(DType::F32, &[1_000_000]).unwrap();
    let v = Variable::new("v", DType::F32, Shape::known(&[1_000_000]), Some(zeros())).unwrap();
    let stopping = Recorder { stop_after: Some(0), ..Recorder::default() };
    let error = Executable::new(&function).unwrap().run(&[v.into(), zeros().into()], &stopping).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
}

#[test]
fn a_heavy_operator_can_be_interrupted() {
    let op = penstock_ops::Ops.find("singular_values").unwrap();
    let x = random(&[1200, 1200]);
    let error = eager(op, &[&x], &Attrs::EMPTY, &stopping()).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    assert_eq!(x, random(&[1200, 1200]));
}

#[test]
fn an_error_and_a_panic_of_a_heavy_step_reach_the_caller() {
    let op = penstock_ops::Ops.find("matrix_inverse").unwrap();
    let zeros = Tensor::zeros(DType::F32, &[1000, 1000]).unwrap();
    let error = eager(op, &[&zeros], &Attrs::EMPTY, &env()).unwrap_err();
    assert_eq!((error.class(), error.op()), (Class::InvalidArgument, Some("matrix_inverse")));
    let graph = build(|b| {
        let x = b.input(f32s(&[MANY]), None);
        vec![emit(b, &PANIC, &[x])]
    });
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let error = executable(&graph).run(&[random(&[MANY]).into()], &env()).unwrap_err();
    std::panic::set_hook(hook);
    assert_eq!(error.class(), Class::Internal);
    assert!(error.message().contains("panicked"), "{error}");
}
