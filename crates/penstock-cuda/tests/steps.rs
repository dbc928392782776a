//! Steps of training: how many kernels one takes, and that it computes what the host does.

mod common;

use std::fmt::Write as _;
use std::sync::Arc;

use common::{gpu, within};
use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, Device, Executable, StdEnv, Variable, eager};
use penstock_filetests::same_tensor;
use penstock_ir::{Attr, parse_function};
use penstock_ops::Ops;
use penstock_passes::Options;

/// What the emulated driver counts is everybody's, so one test runs at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn executable(text: &str) -> Executable {
    let function = parse_function(text, &Ops, &|_| None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Executable::with_options(&function, Options::default()).expect("an executable")
}

/// Numbers from -1 to 1 that look like random ones.
fn numbers(dims: &[usize]) -> Tensor {
    let values = (0..dims.iter().product::<usize>()).map(|i| ((i * 7919 + 104_729) % 2003) as f32 / 1001.0 - 1.0);
    Tensor::vector(&values.collect::<Vec<_>>()).reshaped(dims).expect("the extents of as many elements")
}

fn of_dtype(dtype: DType, value: &Tensor) -> Tensor {
    let cast = common::op("cast");
    let attrs = cast.attributes(&[("dtype", Attr::DType(dtype))]).expect("attributes");
    eager(cast, &[value], &attrs, &StdEnv::default()).expect("a cast").remove(0)
}

fn variable(value: &Tensor) -> Arg {
    let shape = Shape::known(value.dims());
    Arg::Variable(Variable::new("v", value.dtype(), shape, Some(value.clone())).expect("a variable"))
}

/// Values as arguments on a device, as variables or not.
fn there(device: &Arc<dyn Device>, args: &[(Tensor, bool)]) -> Vec<Arg> {
    args.iter()
        .map(|(value, varies)| {
            let value = device.upload(value).expect("a copy");
            if *varies { variable(&value) } else { Arg::Tensor(value) }
        })
        .collect()
}

fn here(args: &[(Tensor, bool)]) -> Vec<Arg> {
    args.iter().map(|(value, varies)| if *varies { variable(value) } else { Arg::Tensor(value.clone()) }).collect()
}

fn assert_near(a: &Tensor, b: &Tensor) {
    let (a, b) = (a.on_host().expect("a value"), b.on_host().expect("a value"));
    assert_eq!(a.dims(), b.dims());
    let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * (1.0 + x.abs().max(y.abs()));
    assert!(a.as_slice::<f32>().iter().zip(b.as_slice::<f32>()).all(near), "{a:?}\n{b:?}");
}

/// The kernels that the emulated driver has launched, and the products that a library did; 0 where it is a GPU's.
fn launches() -> u64 {
    common::mock::get().map_or(0, |mock| mock.count("cuLaunchKernel") + mock.count("cublasLtMatmul"))
}

/// How a step changes the weights.
#[derive(Clone, Copy, PartialEq)]
enum Optimizer {
    /// `assign_sub` of a multiple of the gradient.
    Descent,
    /// Adam, as the optimizer of that name traces it.
    Adam,
}

/// A perceptron, its step of training as it is traced, and the arguments.
struct Network {
    text: String,
    args: Vec<(Tensor, bool)>,
}

fn network(widths: &[usize], batch: usize, optimizer: Optimizer) -> Network {
    let (layers, classes) = (widths.len() - 1, widths[widths.len() - 1]);
    let mut args: Vec<(Tensor, bool)> = Vec::new();
    let mut params = Vec::new();
    let mut param = |name: String, value: Tensor, varies: bool| {
        let (ty, dims) = (if value.dtype() == DType::I32 { "i32" } else { "f32" }, value.dims());
        let dims = dims.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        params.push(format!(
            "%{name}{}: {}{ty}[{dims}]",
            if varies { " \"v\"" } else { "" },
            if varies { "var " } else { "" }
        ));
        args.push((value, varies));
    };
    param("x".into(), numbers(&[batch, widths[0]]), false);
    let labels: Vec<i32> = (0..batch).map(|i| (i * 7 % classes) as i32).collect();
    param("labels".into(), Tensor::vector(&labels), false);
    param("rate".into(), Tensor::from(0.01f32), false);
    for l in 0..layers {
        param(format!("w{l}"), numbers(&widths[l..l + 2]), true);
        param(format!("b{l}"), numbers(&widths[l + 1..l + 2]), true);
        if optimizer == Optimizer::Adam {
            for (of, dims) in [("w", &widths[l..l + 2]), ("b", &widths[l + 1..l + 2])] {
                param(format!("{of}{l}m"), Tensor::zeros(DType::F32, dims).expect("zeros"), true);
                param(format!("{of}{l}v"), Tensor::zeros(DType::F32, dims).expect("zeros"), true);
            }
        }
    }
    let mut text = format!("func @main({}) -> f32[] {{\n", params.join(", "));
    let mut line = |args: std::fmt::Arguments<'_>| writeln!(text, "  {args}").expect("a string takes it");
    let mut h = "x".to_string();
    for l in 0..layers {
        line(format_args!("%w{l}_now = read_variable %w{l}"));
        line(format_args!("%b{l}_now = read_variable %b{l}"));
        line(format_args!("%p{l} = matmul %{h}, %w{l}_now"));
        line(format_args!("%z{l} = add %p{l}, %b{l}_now"));
        if l + 1 < layers {
            line(format_args!("%h{l} = relu %z{l}"));
            h = format!("h{l}");
        }
    }
    let last = layers - 1;
    line(format_args!("%each, %g = sparse_softmax_cross_entropy %z{last}, %labels"));
    line(format_args!("%loss = reduce_mean %each"));
    line(format_args!("%share = const {{value=f32[] {}}}", 1.0 / batch as f32));
    line(format_args!("%d{last} = mul %share, %g"));
    for l in (0..layers).rev() {
        line(format_args!("%db{l} = reduce_sum %d{l} {{axes=[0]}}"));
        let input = if l == 0 { "x".to_string() } else { format!("h{}", l - 1) };
        if l > 0 {
            let below = l - 1;
            line(format_args!("%e{below} = matmul %d{l}, %w{l}_now {{transpose_b=true}}"));
            line(format_args!("%s{below} = step %h{below}"));
            line(format_args!("%d{below} = mul %e{below}, %s{below}"));
        }
        line(format_args!("%dw{l} = matmul %{input}, %d{l} {{transpose_a=true}}"));
    }
    line(format_args!("%one_tenth = const {{value=f32[] 0.1}}"));
    line(format_args!("%thousandth = const {{value=f32[] 0.001}}"));
    line(format_args!("%tiny = const {{value=f32[] 1e-7}}"));
    for v in (0..layers).map(|l| format!("w{l}")).chain((0..layers).map(|l| format!("b{l}"))) {
        if optimizer == Optimizer::Descent {
            line(format_args!("%{v}_step = mul %rate, %d{v}"));
            line(format_args!("assign_sub %{v}, %{v}_step"));
            continue;
        }
        for (moment, of, rate) in [("m", "d", "one_tenth"), ("v", "q", "thousandth")] {
            line(format_args!("%{v}{moment}_was = read_variable %{v}{moment}"));
            if moment == "v" {
                line(format_args!("%q{v} = square %d{v}"));
            }
            line(format_args!("%{v}{moment}_by = sub %{of}{v}, %{v}{moment}_was"));
            line(format_args!("%{v}{moment}_part = mul %{v}{moment}_by, %{rate}"));
            line(format_args!("%{v}{moment}_now = add %{v}{moment}_was, %{v}{moment}_part"));
        }
        line(format_args!("%{v}_up = mul %{v}m_now, %rate"));
        line(format_args!("%{v}_root = sqrt %{v}v_now"));
        line(format_args!("%{v}_down = add %{v}_root, %tiny"));
        line(format_args!("%{v}_step = div %{v}_up, %{v}_down"));
        line(format_args!("%{v}_was = read_variable %{v}"));
        line(format_args!("%{v}_next = sub %{v}_was, %{v}_step"));
        line(format_args!("assign %{v}m, %{v}m_now"));
        line(format_args!("assign %{v}v, %{v}v_now"));
        line(format_args!("assign %{v}, %{v}_next"));
    }
    text.push_str("  return %loss\n}");
    Network { text, args }
}

/// The kernels of a step on the emulated device, which is compared with the host's.
fn kernels_of(network: &Network) -> Option<u64> {
    let gpu = gpu()?;
    let (host, device) = (executable(&network.text), executable(&network.text));
    let (host_args, args) = (here(&network.args), there(&gpu, &network.args));
    let mut counted = 0;
    for i in 0..3 {
        let before = launches();
        let loss = within(Some(&gpu), || device.run(&args, &StdEnv::default())).expect("a step").remove(0);
        if i == 0 {
            counted = launches() - before;
        }
        assert_near(&loss, &host.run(&host_args, &StdEnv::default()).expect("a step")[0]);
    }
    for (due, got) in host_args.iter().zip(&args) {
        if let (Arg::Variable(due), Arg::Variable(got)) = (due, got) {
            assert_near(&got.read().expect("a value"), &due.read().expect("a value"));
        }
    }
    let mock = common::mock::get()?;
    assert_eq!(mock.findings(), Vec::<String>::new());
    Some(counted)
}

#[test]
fn a_step_of_a_perceptron_takes_few_kernels() {
    let _alone = alone();
    // Of each layer a product with its bias and ReLU, which is one call; the derivatives by its output, with that by its bias, by its weights, and
    // of all but the first by its input; the loss and its mean; and one for all updates.
    for optimizer in [Optimizer::Descent, Optimizer::Adam] {
        if let Some(kernels) = kernels_of(&network(&[64, 128, 128, 10], 64, optimizer)) {
            assert_eq!(kernels, 14);
        }
    }
}

/// Runs a function on the host and the device, and asserts that results and variables have the same bits; gives the launches.
fn agree(text: &str, args: &[(Tensor, bool)]) -> u64 {
    let Some(gpu) = gpu() else { return 0 };
    let (host, device) = (executable(text), executable(text));
    let (host_args, args) = (here(args), there(&gpu, args));
    agree_on(&gpu, [&host, &device], [&host_args, &args])
}

fn agree_on(gpu: &Arc<dyn Device>, [host, device]: [&Executable; 2], [host_args, args]: [&[Arg]; 2]) -> u64 {
    let same = |due: &Tensor, got: &Tensor| {
        let got = got.on_host().expect("a value");
        assert!(same_tensor(due, &got), "{got:?} instead of {due:?}");
    };
    let before = launches();
    let got = within(Some(gpu), || device.run(args, &StdEnv::default())).expect("a run");
    let launched = launches() - before;
    let due = host.run(host_args, &StdEnv::default()).expect("a run");
    due.iter().zip(&got).for_each(|(due, got)| same(due, got));
    for (due, got) in host_args.iter().zip(args) {
        if let (Arg::Variable(due), Arg::Variable(got)) = (due, got) {
            same(&due.read().expect("a value"), &got.read().expect("a value"));
        }
    }
    if let Some(mock) = common::mock::get() {
        assert_eq!(mock.findings(), Vec::<String>::new());
    }
    launched
}

#[test]
fn sums_over_the_rows_of_what_a_kernel_makes_are_its_own() {
    let _alone = alone();
    let shapes: [(&[usize], usize); 9] = [
        (&[64, 128], 1),
        (&[65, 10], 1),
        (&[200, 7], 1),
        (&[129, 1030], 1),
        (&[4096, 3], 1),
        (&[2, 2], 1),
        (&[300, 4, 6], 1),
        (&[30, 40, 6], 2),
        (&[1, 70, 8], 2),
    ];
    for (dims, reduced) in shapes {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::Bf16] {
            let list = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let (all, columns, axes) = (list(dims), list(&dims[reduced..]), list(&(0..reduced).collect::<Vec<_>>()));
            let ty = dtype.name();
            let text = format!(
                "func @main(%x: {ty}[{all}], %y: {ty}[{all}], %b: {ty}[{columns}]) -> {ty}[{all}], {ty}[{columns}], {ty}[{columns}] {{
                   %s = step %x
                   %d = mul %y, %s
                   %t = sub %d, %b
                   %sums = reduce_sum %d {{axes=[{axes}]}}
                   %more = reduce_sum %t {{axes=[{axes}]}}
                   return %d, %sums, %more
                 }}"
            );
            let numbers = |dims: &[usize]| of_dtype(dtype, &numbers(dims));
            let args = [(numbers(dims), false), (numbers(dims), false), (numbers(&dims[reduced..]), false)];
            for _ in 0..2 {
                let launched = agree(&text, &args);
                assert!(launched <= 1, "{launched} launches for {dtype} of {dims:?}");
            }
        }
    }
}

#[test]
fn programs_that_do_not_depend_on_each_other_are_one_launch() {
    let _alone = alone();
    // Operands of several shapes, dtypes and ways to broadcast.
    let text = "
        func @main(%x: f32[30,20], %b: f32[20], %c: f32[30,1], %i: i32[50], %y: f64[7]) -> f32[30,20], f32[30,20], i32[50], f64[7], f32[20] {
          %k = const {value=f32[] 3}
          %p = mul %x, %b
          %p2 = add %p, %k
          %q = sub %x, %c
          %q2 = exp %q
          %j = mul %i, %i
          %z = sqrt %y
          %d = mul %b, %k
          return %p2, %q2, %j, %z, %d
        }";
    let args = [
        (numbers(&[30, 20]), false),
        (numbers(&[20]), false),
        (numbers(&[30, 1]), false),
        (Tensor::vector(&(0..50).collect::<Vec<i32>>()), false),
        (Tensor::vector(&[0.5f64, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), false),
    ];
    let launched = agree(text, &args);
    assert!(launched <= 1, "{launched} launches");
}

#[test]
fn many_updates_are_a_launch_for_each_thirty_two() {
    let _alone = alone();
    let count = 70;
    let params: Vec<String> = (0..count).map(|i| format!("%v{i} \"v\": var f32[{}]", 5 + i % 3)).collect();
    let mut text = format!("func @main({}, %k: f32[]) -> f32[] {{\n", params.join(", "));
    for i in 0..count {
        writeln!(text, "  %g{i} = read_variable %v{i}\n  %s{i} = mul %g{i}, %k").expect("a string takes it");
        writeln!(text, "  assign_{} %v{i}, %s{i}", if i % 2 == 0 { "add" } else { "sub" }).expect("a string takes it");
    }
    text.push_str("  return %k\n}");
    let mut args: Vec<(Tensor, bool)> = (0..count).map(|i| (numbers(&[5 + i % 3]), true)).collect();
    args.push((Tensor::from(0.25f32), false));
    let launched = agree(&text, &args);
    assert!(launched <= 3, "{launched} launches");
}

#[test]
fn reads_and_writes_of_a_variable_keep_their_order_around_updates() {
    let _alone = alone();
    let text = "
        func @main(%v \"v\": var f32[40], %w \"w\": var f32[40], %g: f32[40], %k: f32[]) -> f32[40], f32[40], f32[40], f32[40] {
          %first = read_variable %v
          %a = mul %g, %k
          assign_sub %v, %a
          %second = read_variable %v
          %b = mul %second, %k
          assign_add %w, %b
          %c = sub %g, %k
          assign_sub %v, %c
          assign_add %v, %g
          %third = read_variable %v
          assign %w, %third
          %d = exp %g
          assign_sub %w, %d
          %fourth = read_variable %w
          return %first, %second, %third, %fourth
        }";
    let args = [(numbers(&[40]), true), (numbers(&[40]), true), (numbers(&[40]), false), (Tensor::from(0.5f32), false)];
    agree(text, &args);
}

/// Two updates, each of a variable of its own.
const UPDATES: &str = "
    func @main(%v \"v\": var f32[40], %w \"w\": var f32[40], %g: f32[40], %k: f32[]) -> f32[40] {
      %a = mul %g, %k
      assign_add %v, %a
      %b = add %g, %k
      assign_add %w, %b
      return %g
    }";

#[test]
fn a_variable_that_is_passed_twice_gets_both_updates() {
    let _alone = alone();
    let Some(gpu) = gpu() else { return };
    let (host, device) = (executable(UPDATES), executable(UPDATES));
    let values = [(numbers(&[40]), true), (numbers(&[40]), false), (Tensor::from(0.5f32), false)];
    // As itself and as a stand-in.
    let twice = |args: Vec<Arg>| {
        let Arg::Variable(v) = &args[0] else { panic!("no variable") };
        [vec![args[0].clone(), Arg::Variable(v.stand_in())], args[1..].to_vec()].concat()
    };
    agree_on(&gpu, [&host, &device], [&twice(here(&values)), &twice(there(&gpu, &values))]);
}

#[test]
fn threads_lose_no_update_of_several_variables() {
    let _alone = alone();
    let Some(gpu) = gpu() else { return };
    let device = executable(UPDATES);
    let (zeros, ones) = (Tensor::vector(&[0f32; 40]), Tensor::vector(&[1f32; 40]));
    let args = there(&gpu, &[(zeros.clone(), true), (zeros, true), (ones, false), (Tensor::from(1f32), false)]);
    // Half of the threads have the variables the other way round.
    let swapped = [args[1].clone(), args[0].clone(), args[2].clone(), args[3].clone()];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let args: &[Arg] = if thread % 2 == 0 { &args } else { &swapped };
            let (gpu, device) = (&gpu, &device);
            scope.spawn(move || {
                for _ in 0..25 {
                    within(Some(gpu), || device.run(args, &StdEnv::default())).expect("a run");
                }
            });
        }
    });
    for arg in &args[..2] {
        let Arg::Variable(v) = arg else { panic!("no variable") };
        let value = v.read().and_then(|value| value.on_host()).expect("a value");
        assert_eq!(value.as_slice::<f32>(), [150.0; 40]);
    }
}
