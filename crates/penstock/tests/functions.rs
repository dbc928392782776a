//! Functions read, run, differentiated and shared.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ndarray::{Array1, Array2, Ix1, Ix2, array};
use penstock::{
    Attr, Class, ConcreteFunction, DType, Dim, Env, Error, Options, ParseOptions, Result, Shape, Tensor, TensorExt,
    Type, Variable, builder, host_fn, ops, parse, parse_with_hosts, passes,
};

const LOOP: &str = "
    func @count(%n: i64[]) -> i64[] {
      %zero = const {value=i64[] 0}
      %end = while %zero ((%i: i64[]) {
        %more = less %i, %n
        yield %more
      }, (%i2: i64[]) {
        %one = const {value=i64[] 1}
        %next = add %i2, %one
        yield %next
      })
      return %end
    }";

#[test]
fn a_built_graph_reads_back_from_its_text() {
    let mut g = builder();
    let size = Dim::Sym(g.fresh_symbol());
    let x = g.input(Type::tensor(DType::F32, Shape::new([size])), Some("x"));
    let y = g.emit(&ops::nn::SOFTMAX, &[x], &[("axis", Attr::Int(-1))]).unwrap()[0];
    let f = ConcreteFunction::new("f", g.finish(&[y]).unwrap()).unwrap();
    let again = parse(&f.to_string()).unwrap();
    assert_eq!(again.to_string(), f.to_string());
    assert_eq!(again.inputs().map(|(name, ty)| format!("{name:?} {ty}")).collect::<Vec<_>>(), [r#"Some("x") f32[s0]"#]);
    let x = array![0.0f32, 1.0, 2.0];
    assert_eq!(f.run(&[&x]).unwrap(), again.run(&[&x]).unwrap());
}

#[test]
fn the_last_function_of_a_text_is_the_main_one() {
    let f = parse(
        "func @twice(%x: i32[]) -> i32[] {\n%y = add %x, %x\nreturn %y\n}\n\
         func @main(%x: i32[]) -> i32[] {\n%y = call %x {func=@twice}\n%z = call %y {func=@twice}\nreturn %z\n}",
    )
    .unwrap();
    assert_eq!((f.name(), f.run(&[&3i32]).unwrap()[0].item()), ("main", Some(12i32)));
}

#[test]
fn parse_errors_have_line_and_column() {
    for (text, start) in [
        ("", "1:1: expected 'func'"),
        ("func @f() {\n  %x = nothing\n  return\n}", "2:8: there is no operator 'nothing'"),
        ("func @f(%x: f33[]) {\n  return\n}", "1:13: expected a dtype"),
        ("func @f(%x: f32[]) -> f32[] {\n  %y = neg %z\n  return %y\n}", "2:12: %z is not defined"),
        ("func @f(%x: f32[2]) -> f32[3] {\n\n  %y: f32[3] = neg %x\n  return %y\n}", "3:3: neg: "),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.class(), Class::InvalidArgument, "{text}");
        assert!(error.message().starts_with(start), "{error}");
    }
}

#[test]
fn a_wrong_dtype_in_a_text_keeps_its_class_and_its_place() {
    let error = parse("func @f(%x: f32[], %n: i32[]) -> f32[] {\n  %y = add %x, %n\n  return %y\n}").unwrap_err();
    assert_eq!(error.class(), Class::DType);
    assert!(error.message().starts_with("2:3: add: argument"), "{error}");
}

#[test]
fn a_text_names_its_host_code() {
    let text = "func @f(%x: i64[]) -> i64[] {\n  %y = host_call %x {func=host(\"next\"), outs=(i64[])}\n  return %y\n}";
    assert_eq!(parse(text).unwrap_err().message(), "2:32: there is no host code \"next\"");

    let calls = Arc::new(AtomicUsize::new(0));
    let next = host_fn("next", {
        let calls = calls.clone();
        move |inputs| {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(vec![Tensor::from(inputs[0].item::<i64>().unwrap_or_default() + 1)])
        }
    });
    let f = parse_with_hosts(text, &[host_fn("other", |_| Ok(vec![])), next]).unwrap();
    assert_eq!(f.run(&[&41i64]).unwrap()[0].item(), Some(42i64));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(f.to_string().contains("host(\"next\")"));
}

#[test]
fn what_host_code_reports_or_breaks_is_the_error_of_the_run() {
    let text = "func @f() -> i64[] {\n  %y = host_call {func=host(\"h\"), outs=(i64[])} ; a.py:3\n  return %y\n}";
    let fail = |result: fn() -> Result<Vec<Tensor>>| {
        let f = parse_with_hosts(text, &[host_fn("h", move |_| result())]).unwrap();
        f.run(&[]).unwrap_err()
    };
    let error = fail(|| Err(Error::host("no line", Arc::new(17u8))));
    assert_eq!((error.class(), error.message(), error.op()), (Class::Host, "no line", Some("host_call")));
    assert_eq!(error.loc().unwrap().to_string(), "a.py:3");
    assert_eq!(error.payload().and_then(|p| p.downcast_ref::<u8>()), Some(&17));
    assert_eq!(fail(|| Ok(vec![])).class(), Class::InvalidArgument);
    assert_eq!(fail(|| Ok(vec![Tensor::from(1i32)])).class(), Class::DType);
    assert_eq!(fail(|| panic!("a defect of the host")).class(), Class::Internal);
}

#[test]
fn host_code_may_run_functions() {
    let square = parse("func @square(%x: f64[]) -> f64[] {\n%y = mul %x, %x\nreturn %y\n}").unwrap();
    let text = "func @f(%x: f64[]) -> f64[] {\n%y = host_call %x {func=host(\"h\"), outs=(f64[])}\nreturn %y\n}";
    let f = parse_with_hosts(text, &[host_fn("h", move |inputs| square.run(&[&inputs[0]]))]).unwrap();
    assert_eq!(f.run(&[&3.0f64]).unwrap()[0].item(), Some(9.0f64));
}

#[test]
fn a_run_takes_arrays_tensors_scalars_strings_and_variables() {
    let f = parse(
        "func @f(%a: f32[2], %b: i64[2,2], %c: f32[], %d: bool[], %e: str[], %f: var f32[2]) \
         -> f32[2], i64[2,2], f32[], bool[], str[], f32[2] {\n%v = read_variable %f\nreturn %a, %b, %c, %d, %e, %v\n}",
    )
    .unwrap();
    let variable = Variable::new("v", DType::F32, Shape::known(&[2]), Some(Tensor::vector(&[5.0f32, 6.0]))).unwrap();
    let (a, b) = (array![1.0f32, 2.0], Tensor::from_array(array![[1i64, 2], [3, 4]]).unwrap());
    let out = f.run(&[&a.view(), &b, &1.5f32, &true, &"text", &variable]).unwrap();
    assert_eq!(out[0].array_view::<f32, Ix1>().unwrap(), a);
    assert_eq!(out[1..5], [b, Tensor::from(1.5f32), Tensor::from(true), Tensor::from("text")]);
    assert_eq!(out[5], variable.read().unwrap());
}

#[test]
fn arguments_that_do_not_fit_are_errors_that_name_the_input() {
    let f = parse("func @f(%x \"x\": f32[s0], %y \"y\": f32[s0]) -> f32[s0] {\n%z = add %x, %y\nreturn %z\n}").unwrap();
    let two = array![1.0f32, 2.0];
    assert_eq!(f.run(&[&two]).unwrap_err().to_string(), "takes 2 arguments, got 1");
    let error = f.run(&[&two, &array![1.0f64, 2.0]]).unwrap_err();
    assert_eq!((error.class(), error.argument_name()), (Class::DType, Some("y")));
    let error = f.run(&[&two, &array![1.0f32]]).unwrap_err();
    assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some("y")));
}

#[test]
fn one_function_runs_in_four_threads_at_once_on_different_sizes() {
    let f = parse(
        "func @f(%x: f32[s0,s1], %n: var i64[]) -> f32[s0] {\n%one = const {value=i64[] 1}\nassign_add %n, %one\n\
         %y = exp %x\n%z = reduce_sum %y {axes=[1]}\nreturn %z\n}",
    )
    .unwrap();
    let runs = Variable::new("runs", DType::I64, Shape::scalar(), Some(Tensor::from(0i64))).unwrap();
    let expected = |i: usize| Array1::from_elem(i, (i as f32).exp() * i as f32);
    std::thread::scope(|s| {
        for t in 0..4 {
            let (f, runs) = (&f, &runs);
            s.spawn(move || {
                for k in 0..100 {
                    let i = 1 + (t + k) % 5;
                    let out = f.run(&[&Array2::from_elem((i, i), i as f32), runs]).unwrap();
                    let close = (&out[0].array_view::<f32, Ix1>().unwrap() - &expected(i)).mapv(f32::abs);
                    assert!(close.iter().all(|&d| d <= 1e-4 * expected(i)[0]));
                }
            });
        }
    });
    assert_eq!(runs.read().unwrap().item(), Some(400i64));
}

#[test]
fn what_is_shared_between_threads_may_be() {
    fn shared<T: Send + Sync>() {}
    shared::<ConcreteFunction>();
    shared::<Tensor>();
    shared::<Variable>();
    shared::<Error>();
    shared::<penstock::Pullback>();
    shared::<penstock::HostRef>();
}

/// Keeps what is printed, and stops a run after some polls.
struct Captured {
    text: Mutex<String>,
    polls: AtomicUsize,
}

impl Env for Captured {
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        self.text.lock().unwrap().push_str(&format!("{stream}: {text}"));
        Ok(())
    }

    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Ok((7, 0))
    }

    fn poll(&self) -> Result<()> {
        match self.polls.fetch_add(1, Ordering::Relaxed) {
            0..3 => Ok(()),
            _ => Err(Error::cancelled("enough")),
        }
    }
}

#[test]
fn the_surroundings_of_a_run_catch_its_prints_and_stop_it() {
    let env = Captured { text: Mutex::default(), polls: AtomicUsize::new(0) };
    let f = parse("func @f(%x: i64[]) {\nprint %x {stream=\"stdout\"}\nreturn\n}").unwrap();
    assert!(f.run_in(&[&5i64], &env).unwrap().is_empty());
    assert_eq!(*env.text.lock().unwrap(), "stdout: 5\n");

    let count = parse(LOOP).unwrap();
    assert_eq!(count.run(&[&1000i64]).unwrap()[0].item(), Some(1000i64));
    let endless = parse(&LOOP.replace("less", "not_equal").replace("add", "bitwise_xor")).unwrap();
    assert_eq!(endless.run_in(&[&7i64], &env).unwrap_err().class(), Class::Cancelled);
}

#[test]
fn gradients_come_in_the_order_asked_for() {
    let f = parse(
        "func @f(%x: f64[2], %y: f64[2], %n: i32[], %unused: f64[]) -> f64[2], i32[] {\n%z = mul %x, %y\nreturn %z, %n\n}",
    )
    .unwrap();
    let (x, y) = (array![1.0, 2.0], array![3.0, 4.0]);
    let (outputs, grads) = f.gradients(&[&x, &y, &1i32, &0.0f64], &[1, 0, 2, 3, 1]).unwrap();
    assert_eq!(outputs[0].to_array::<f64, Ix1>().unwrap(), array![3.0, 8.0]);
    assert_eq!(outputs[1].item(), Some(1i32));
    let grads: Vec<_> = grads.iter().map(|g| g.as_ref().map(|g| g.to_array::<f64, Ix1>().unwrap())).collect();
    assert_eq!(grads, [Some(x.clone()), Some(y.clone()), None, None, Some(x.clone())]);

    let (_, pullback) = f.vjp(&[&x, &y, &1i32, &0.0f64], &[0]).unwrap();
    for cotangent in [array![1.0, 10.0], array![0.0, -1.0]] {
        let grads = pullback.run(&[&cotangent]).unwrap();
        assert_eq!(grads[0].as_ref().unwrap().to_array::<f64, Ix1>().unwrap(), &cotangent * &y);
    }
    assert_eq!(pullback.run(&[]).unwrap_err().to_string(), "takes 1 cotangents, got 0");
    let error = f.vjp(&[&x, &y, &1i32, &0.0f64], &[4]).unwrap_err();
    assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some("wrt")));
}

#[test]
fn a_variable_has_a_gradient_that_an_assignment_uses() {
    let loss = parse(
        "func @loss(%w: var f64[2], %x: f64[s0,2]) -> f64[] {\n%v = read_variable %w\n%p = mul %x, %v\n%q = square %p\n\
         %l = reduce_sum %q\nreturn %l\n}",
    )
    .unwrap();
    let step = parse("func @step(%w: var f64[2], %g: f64[2]) {\n assign_sub %w, %g\n return\n}").unwrap();
    let w = Variable::new("w", DType::F64, Shape::known(&[2]), Some(Tensor::vector(&[1.0, -2.0]))).unwrap();
    let x = array![[1.0, 0.0], [0.0, 3.0]];
    let (outputs, grads) = loss.gradients(&[&w, &x], &[0]).unwrap();
    assert_eq!(outputs[0].item(), Some(37.0));
    let grad = grads[0].clone().unwrap();
    assert_eq!(grad.to_array::<f64, Ix1>().unwrap(), array![2.0, -36.0]);
    step.run(&[&w, &grad]).unwrap();
    assert_eq!(w.read().unwrap().to_array::<f64, Ix1>().unwrap(), array![-1.0, 34.0]);
}

#[test]
fn a_training_step_that_was_traced_in_python_trains() {
    let step = parse(include_str!("../examples/traced.pst")).unwrap();
    let x = Array2::from_shape_fn((32, 2), |(i, j)| ((i * (7 + 4 * j)) % 13) as f32 / 6.0 - 1.0);
    let y = x.dot(&array![[3.0f32], [-2.0]]) + 1.0;
    let variable = |dims: &[usize]| {
        let zeros = Tensor::zeros(DType::F32, dims).unwrap();
        Variable::new("v", DType::F32, Shape::known(dims), Some(zeros)).unwrap()
    };
    let (weights, bias) = (variable(&[2, 1]), variable(&[1]));
    let mut loss = f32::INFINITY;
    for _ in 0..100 {
        let next = step.run(&[&x, &y, &weights, &bias]).unwrap()[0].item().unwrap();
        assert!(next < loss, "{next} follows {loss}");
        loss = next;
    }
    assert!(loss < 0.01);
    let error = step.run(&[&x, &y.slice(ndarray::s![1.., ..]), &weights, &bias]).unwrap_err();
    assert_eq!(error.loc().unwrap().frame().unwrap().function.as_ref(), "train_step");
}

#[test]
fn passes_may_be_left_out_without_a_change_of_the_results() {
    let f = parse("func @f(%x: f32[2,2]) -> f32[2,2] {\n%y = neg %x\n%z = neg %y\n%w = exp %z\nreturn %w\n}").unwrap();
    let skip = passes::PASSES.iter().map(|p| p.name.to_string()).collect();
    let plain = ConcreteFunction::with_options(f.function().clone(), Options { skip, ..Options::default() }).unwrap();
    let x = array![[1.0f32, 2.0], [3.0, 4.0]];
    assert_eq!(plain.run(&[&x]).unwrap(), f.run(&[&x]).unwrap());
    assert_eq!(f.run(&[&x]).unwrap()[0].array_view::<f32, Ix2>().unwrap().shape(), [2, 2]);
}

#[test]
fn a_function_that_is_only_declared_is_an_error() {
    assert_eq!(parse("func @f(%x: f32[]) -> f32[]").unwrap_err().class(), Class::FailedPrecondition);
    assert_eq!(ops::find("no such operator").unwrap_err().class(), Class::NotFound);
    assert!(ops::find("matmul").unwrap().is(&ops::linalg::MATMUL));
}

#[test]
fn no_python_is_linked() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let args = ["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--manifest-path", manifest];
    let tree = std::process::Command::new(cargo).args(args).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.lines().any(|line| line.starts_with("penstock-exec ")), "{tree}");
    assert!(!tree.lines().any(|line| line.starts_with("pyo3") || line.starts_with("numpy")), "{tree}");
}

const LOGS: &str = "func @log(%x: f32[]) {\n  print %x {stream=\"file:///nowhere/at/all\"}\n  return\n}";

#[test]
fn a_text_writes_to_files_only_where_its_reader_allows_it() {
    let error = parse(LOGS).unwrap_err();
    assert_eq!(error.class(), Class::FailedPrecondition);
    let message = "2:3: print: argument 'stream': writes to a file, which a text may only where its reader allows it";
    assert_eq!(error.message(), message);
    assert_eq!(parse_with_hosts(LOGS, &[]).unwrap_err().message(), message);
    assert_eq!(penstock::ir::parse_function(LOGS, &ops::Ops, &penstock::ir::no_hosts).unwrap_err().message(), message);
    let allowed = ParseOptions::new().files(true).parse(LOGS).unwrap();
    // There is no such folder, so nothing is written.
    assert_eq!(allowed.run(&[&1.0f32]).unwrap_err().class(), Class::FailedPrecondition);
    for stream in ["stdout", "stderr", "log:info"] {
        assert!(parse(&LOGS.replace("file:///nowhere/at/all", stream)).is_ok(), "{stream}");
    }
}

#[test]
fn what_belongs_to_another_graph_is_refused() {
    let mut other = builder();
    let mut g = builder();
    let scalar = Type::tensor(DType::F32, Shape::scalar());
    let x = g.input(scalar.clone(), None);
    let foreign = (0..5).map(|_| other.input(scalar.clone(), None)).last().unwrap();
    assert_eq!(g.emit(&ops::unary::NEG, &[foreign], &[]).unwrap_err().class(), Class::InvalidArgument);
    assert_eq!(g.refine(foreign, &Shape::scalar()).unwrap_err().class(), Class::InvalidArgument);
    other.begin_region([]);
    other.begin_region([]);
    let regions = [other.end_region(&[foreign]).unwrap(), other.end_region(&[foreign]).unwrap()];
    let condition = g.constant(Tensor::from(true));
    let attrs = ops::control::COND.attributes(&[]).unwrap();
    let error = g.inst(&ops::control::COND, &[condition], attrs, &regions).unwrap_err();
    assert_eq!(error.class(), Class::InvalidArgument);
    assert!(g.params(regions[0]).is_empty());
    assert_eq!(g.end_region(&[]).unwrap_err().message(), "no region is open that could end");
    g.begin_region([]);
    assert_eq!(g.finish(&[x]).unwrap_err().message(), "a region is still open");
}

#[test]
fn a_graph_that_was_changed_by_hand_is_checked() {
    let mut g = builder();
    let x = g.input(Type::tensor(DType::F32, Shape::scalar()), None);
    let y = g.emit(&ops::unary::NEG, &[x], &[]).unwrap()[0];
    let mut graph = g.finish(&[y]).unwrap().into_graph();
    let inst = graph.regions[graph.body()].insts[0];
    assert!(penstock::Verified::new(graph.clone()).is_ok());
    graph.insts[inst].operands.clear();
    assert_eq!(penstock::Verified::new(graph).unwrap_err().class(), Class::InvalidArgument);
}

#[test]
fn a_builder_nests_as_deep_as_the_parser_reads() {
    let nest = |depth: usize| -> Result<penstock::Verified> {
        let mut g = builder();
        let x = g.input(Type::tensor(DType::F32, Shape::scalar()), None);
        let condition = g.constant(Tensor::from(true));
        let mut made = Vec::new();
        for _ in 0..depth {
            g.begin_region([]);
        }
        let mut inner = x;
        for _ in 0..depth {
            let first = g.end_region(&[inner])?;
            g.begin_region([]);
            let second = g.end_region(&[x])?;
            let attrs = ops::control::COND.attributes(&[])?;
            let inst = g.inst(&ops::control::COND, &[condition], attrs, &[first, second])?;
            inner = g.results(inst)[0];
            made.push(inst);
        }
        g.finish(&[inner])
    };
    let work = move || {
        let f = penstock::Function::new("f", nest(255).unwrap());
        assert_eq!(parse(&f.to_string()).unwrap().run(&[&2.0f32]).unwrap()[0].item(), Some(2.0f32));
        let error = nest(256).unwrap_err();
        assert_eq!(error.message(), "regions nest more than 256 deep");
    };
    std::thread::Builder::new().stack_size(8 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_function_that_is_freed_is_no_panic() {
    let declared = std::sync::Arc::new(penstock::Function::declare(
        "gone",
        penstock::Signature { params: vec![], results: vec![Type::tensor(DType::F32, Shape::scalar())] },
    ));
    let called = penstock::FuncRef::called(&declared);
    let mut g = builder();
    let y = g.emit(&ops::control::CALL, &[], &[("func", Attr::Func(called.clone()))]).unwrap()[0];
    let graph = g.finish(&[y]).unwrap();
    drop(declared);
    assert_eq!(ConcreteFunction::new("f", graph).unwrap_err().class(), Class::FailedPrecondition);
    assert_eq!(
        builder().emit(&ops::control::CALL, &[], &[("func", Attr::Func(called))]).unwrap_err().class(),
        Class::FailedPrecondition
    );
}

#[test]
fn shapes_of_absurd_length_are_errors() {
    for text in [
        "func @f(%n: i64[2305843009213693952], %x: f32[]) -> f32[*] {\n%y = fill %n, %x\nreturn %y\n}",
        "func @f(%n: i64[2305843009213693952], %x: f32[*]) -> f32[*] {\n%y = reshape %x, %n\nreturn %y\n}",
        "func @f(%n: i64[2305843009213693952], %x: f32[*]) -> f32[*] {\n%y = broadcast_to %x, %n\nreturn %y\n}",
        "func @f(%n: i64[2305843009213693952], %x: f32[*]) -> f32[*] {\n%y = tile %x, %n\nreturn %y\n}",
        "func @f(%n: i64[300], %x: f32[]) -> f32[*] {\n%y = fill %n, %x\nreturn %y\n}",
    ] {
        let class = parse(text).unwrap_err().class();
        assert!(matches!(class, Class::InvalidArgument | Class::ResourceExhausted), "{class:?}");
    }
}

#[test]
fn graphs_are_optimised_for_types_of_their_inputs_alone() {
    let mut g = builder();
    let rows = Dim::Sym(g.fresh_symbol());
    let x = g.input(Type::tensor(DType::F32, Shape::new([rows, Dim::Known(2)])), None);
    let y = g.emit(&ops::unary::NEG, &[x], &[]).unwrap()[0];
    let graph = g.finish(&[y]).unwrap();
    let of = |dtype, dims: &[usize]| Type::tensor(dtype, Shape::known(dims));
    let optimised = |types: &[Type]| penstock::passes::optimize_for(&graph, types, &penstock::Options::default());
    assert_eq!(optimised(&[of(DType::F32, &[3, 2])]).unwrap().signature().results, [of(DType::F32, &[3, 2])]);
    for wrong in [&[][..], &[of(DType::F64, &[3, 2])], &[of(DType::F32, &[3])], &[of(DType::F32, &[3, 1])]] {
        let error = optimised(wrong).unwrap_err();
        assert_eq!((error.class(), error.argument_name()), (Class::InvalidArgument, Some("types")), "{error}");
        assert_eq!(penstock::passes::specialise(&graph, wrong).unwrap_err().class(), Class::InvalidArgument);
    }
}

#[test]
fn an_operator_without_results_gives_no_value() {
    let mut g = builder();
    let x = g.input(Type::tensor(DType::F32, Shape::scalar()), None);
    let emitter: &mut dyn penstock::Emitter = &mut g;
    let error = emitter.emit(&ops::host::PRINT, &[x], &[]).unwrap_err();
    assert_eq!((error.class(), error.op()), (Class::InvalidArgument, Some("print")));
    assert!(emitter.emit_all(&ops::host::PRINT, &[x], &[]).unwrap().is_empty());
    assert!(g.emit(&ops::host::PRINT, &[x], &[]).unwrap().is_empty());
}
