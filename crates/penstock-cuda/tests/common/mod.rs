//! What the tests of generated kernels run on, and what they compare with: the CPU.

#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod loops;

use std::sync::Arc;

use penstock_cuda::{Output, Program, Step, devices, driver};
use penstock_data::{C64, C128, DType, DTypeSet, Error, Loc, Result, Tensor, bf16, f16};
use penstock_exec::{Device, StdEnv, eager, set_wish};
use penstock_ir::{Attr, Builder, Cuda, OpDef, OpSet, Type, Verified};
use penstock_ops::Ops;

/// A program, what it runs on, and what the CPU gives for it.
pub(crate) struct Case {
    /// What is tried, for messages.
    pub(crate) what: String,
    pub(crate) program: Program,
    pub(crate) inputs: Vec<Tensor>,
    /// The extents of the results.
    pub(crate) dims: Vec<usize>,
    pub(crate) expected: Result<Vec<Tensor>>,
    /// Units in the last place by which floats may differ; 0 asks for the same bits (any NaN is as good as another).
    pub(crate) ulps: u64,
}

/// Functions that are no formulas, which CPU and CUDA approximate each in its own way, with the sum of their error bounds in units in the
/// last place. Every other operator gives the same bits.
const APPROXIMATE: &[(&str, u64)] = &[("cos", 4), ("digamma", 16), ("lgamma", 16), ("sin", 4), ("tan", 6)];

fn ulps_of(op: &str) -> u64 {
    APPROXIMATE.iter().find(|(name, _)| *name == op).map_or(0, |(_, ulps)| *ulps)
}

/// How many orders of threads, blocks and streams the emulation is asked for: two, or as many as `PENSTOCK_TEST_SEEDS` says, which is five
/// in `make gpu-orders`. A GPU has its own.
pub(crate) fn seeds() -> i64 {
    let asked = || std::env::var("PENSTOCK_TEST_SEEDS").ok()?.parse().ok();
    mock::get().map_or(1, |_| asked().unwrap_or(2))
}

/// The operator of a name.
pub(crate) fn op(name: &str) -> &'static OpDef {
    Ops.find(name).unwrap_or_else(|| panic!("no operator {name}"))
}

/// The program of a graph's body.
pub(crate) fn program(graph: &Verified) -> Result<Program> {
    Program::of_region(graph, graph.body()).map(|(program, _)| program)
}

/// Every sample of every operator with a CUDA expression, of dtypes that have a compute type.
pub(crate) fn operator_cases() -> Vec<Case> {
    let elementwise = penstock_ops::all().filter(|op| matches!(op.cuda, Cuda::Elementwise(_) | Cuda::Formula(_)));
    elementwise.flat_map(|op| (op.samples)().into_iter().filter_map(move |s| case(op, s.inputs, &s.attrs))).collect()
}

/// An operator on operands; `None` for complex numbers of which it has no formula, and for narrow dtypes.
pub(crate) fn case(op: &'static OpDef, inputs: Vec<Tensor>, attrs: &[(&str, Attr)]) -> Option<Case> {
    let what = format!("{} {attrs:?} of {inputs:?}", op.name);
    let complete = op.attributes(attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut builder = Builder::new(&penstock_ops::control::CONST);
    let operands: Vec<_> = inputs.iter().map(|t| builder.input(Type::of(t), None)).collect();
    let results = builder.emit(op, &operands, attrs).unwrap_or_else(|e| panic!("{what}: {e}"));
    let graph = builder.finish(&results).unwrap_or_else(|e| panic!("{what}: {e}"));
    let program = match program(&graph) {
        Ok(program) => program,
        // What has to do with them is the host's.
        Err(_) if attrs.iter().any(|(_, a)| matches!(a, Attr::DType(d) if d.is_narrow())) => return None,
        Err(_) if inputs.iter().any(|t| t.dtype().is_narrow()) => return None,
        Err(e) if e.message().contains("complex") => return None,
        Err(e) => panic!("{what}: {e}"),
    };
    let refs: Vec<&Tensor> = inputs.iter().collect();
    let expected = eager(op, &refs, &complete, &StdEnv::default()).map(|out| out.into_iter().collect::<Vec<_>>());
    let dims = graph.ty(results[0]).shape().extents().unwrap_or_else(|| panic!("{what}: extents")).to_vec();
    Some(Case { what, program, inputs, dims, expected, ulps: ulps_of(op.name) })
}

/// Operators on complex numbers that have formulas.
const OF_COMPLEX: [&str; 18] = [
    "add",
    "sub",
    "mul",
    "div",
    "squared_difference",
    "divide_no_nan",
    "multiply_no_nan",
    "xdivy",
    "equal",
    "not_equal",
    "neg",
    "sign",
    "square",
    "reciprocal",
    "conj",
    "abs",
    "real",
    "angle",
];

/// Operators on complex numbers, and conversions of and to them, at the edges of both parts.
pub(crate) fn complex_cases() -> Vec<Case> {
    let parts = edges(DType::F64);
    let n = parts.len();
    let column = parts.reshaped(&[n, 1]).expect("a column");
    let run = |name: &str, inputs: &[&Tensor], attrs: &[(&str, Attr)]| {
        let complete = op(name).attributes(attrs).expect("attributes");
        eager(op(name), inputs, &complete, &StdEnv::default()).expect("a result").remove(0)
    };
    let all = run("complex", &[&column, &parts], &[]);
    let to = |x: &Tensor, dtype: DType| run("cast", &[x], &[("dtype", dtype.into())]);
    let mut out = Vec::new();
    for (dtype, part) in [(DType::C64, DType::F32), (DType::C128, DType::F64)] {
        let (z, w) = (to(&all, dtype), to(&all, dtype).reshaped(&[n, n, 1, 1]).expect("the same"));
        for name in OF_COMPLEX {
            let inputs = if op(name).operands.len() == 2 { vec![w.clone(), z.clone()] } else { vec![z.clone()] };
            out.extend(case(op(name), inputs, &[]));
        }
        out.extend(case(op("imag"), vec![z.clone()], &[]));
        out.extend(case(op("complex"), vec![to(&column, part), to(&parts, part)], &[]));
        let flags = to(&z, DType::Bool);
        out.extend(case(op("select"), vec![flags, z.clone(), z.reshaped(&[n, n]).expect("the same")], &[]));
        for other in DTypeSet::PLAIN.iter() {
            out.extend(case(op("cast"), vec![z.clone()], &[("dtype", other.into())]));
            if !other.is_complex() {
                let real = if other == DType::Bool { to(&z, other) } else { to(&edges(DType::F64), other) };
                out.extend(case(op("cast"), vec![real], &[("dtype", dtype.into())]));
            }
        }
    }
    assert!(out.len() > 2 * (18 + 2 + 20), "{} cases", out.len());
    out
}

/// Functions of the prelude that have an operator of their own meaning, with operands beyond its samples.
const HELPERS: &[(&str, &str)] = &[
    ("penstock_floor_div(a0, a1)", "floordiv"),
    ("penstock_floor_mod(a0, a1)", "floormod"),
    ("penstock_trunc_div(a0, a1)", "truncatediv"),
    ("penstock_trunc_mod(a0, a1)", "truncatemod"),
    ("penstock_pow(a0, a1)", "pow"),
    ("a0 << a1", "left_shift"),
    ("a0 >> a1", "right_shift"),
    ("penstock_lgamma(a0)", "lgamma"),
    ("penstock_digamma(a0)", "digamma"),
];

const REAL: &[f64] = &[0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 7.0, -3.0, 1e-30, -1e30, 100.0, -100.0];
const WHOLE: &[i64] = &[0, 1, -1, 2, -2, 3, -7, 8, 31, 32, 64, 100, -100, i64::MIN, i64::MAX, i64::MIN + 1];

/// Every helper on every pair of edge values, in every dtype that its operator takes.
pub(crate) fn helper_cases() -> Vec<Case> {
    let dtypes = [
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F32,
        DType::F64,
    ];
    let mut out = Vec::new();
    for &(value, name) in HELPERS {
        let op = op(name);
        let is_taken = |dtype: &DType| dtype.is_integer() || name != "pow";
        for dtype in dtypes.into_iter().filter(is_taken) {
            let binary = value.contains("a1");
            // The edges of integers are in their low bits, so that each dtype has its own.
            let edges = edges(dtype);
            let rejects = |&i: &usize| is_zero(&edges, i) || name == "pow" && is_negative(&edges, i);
            for faulty in [true, false] {
                let second: Vec<usize> = (0..edges.len()).filter(|i| faulty || !rejects(i)).collect();
                if !faulty && (!binary || second.len() == edges.len()) {
                    continue;
                }
                let inputs = if binary {
                    let y = pick(&edges, &second);
                    vec![edges.reshaped(&[edges.len(), 1]).expect("a column"), y]
                } else {
                    vec![edges.clone()]
                };
                out.extend(helper_case(op, value, inputs));
            }
        }
    }
    out
}

fn edges(dtype: DType) -> Tensor {
    let ints = |bits: u32| -> Vec<i64> {
        WHOLE.iter().map(|&v| if v == i64::MIN { i64::MIN >> (64 - bits) } else { v }).collect()
    };
    match dtype {
        DType::F32 => Tensor::vector(
            &REAL.iter().map(|&v| v as f32).chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]).collect::<Vec<_>>(),
        ),
        DType::F64 => Tensor::vector(
            &REAL.iter().copied().chain([f64::NAN, f64::INFINITY, f64::NEG_INFINITY]).collect::<Vec<_>>(),
        ),
        _ => penstock_data::with_dtype!(integer, dtype, T => {
            Tensor::vector(&ints(T::BITS).iter().map(|&v| v as T).collect::<Vec<_>>())
        }, else unreachable!("a real dtype")),
    }
}

fn is_zero(tensor: &Tensor, index: usize) -> bool {
    let size = tensor.dtype().size();
    tensor.dtype().is_integer() && tensor.bytes()[index * size..(index + 1) * size].iter().all(|&b| b == 0)
}

fn is_negative(tensor: &Tensor, index: usize) -> bool {
    let dtype = tensor.dtype();
    let highest = tensor.bytes()[(index + 1) * dtype.size() - 1];
    dtype.is_integer() && !dtype.is_unsigned() && highest >= 0x80
}

fn pick(tensor: &Tensor, indices: &[usize]) -> Tensor {
    let size = tensor.dtype().size();
    let mut out = Tensor::empty(tensor.dtype(), &[indices.len()]).expect("memory");
    for (to, &i) in out.bytes_mut().chunks_mut(size).zip(indices) {
        to.copy_from_slice(&tensor.bytes()[i * size..(i + 1) * size]);
    }
    out
}

fn helper_case(op: &'static OpDef, value: &str, inputs: Vec<Tensor>) -> Option<Case> {
    let refs: Vec<&Tensor> = inputs.iter().collect();
    let attrs = op.attributes(&[]).ok()?;
    let expected = match eager(op, &refs, &attrs, &StdEnv::default()) {
        Err(e) if e.class() == penstock_data::Class::DType => return None,
        result => result.map(|out| out.into_iter().collect::<Vec<_>>()),
    };
    let dtype = inputs[0].dtype();
    let checked = ["_div(", "_mod(", "_pow("].iter().any(|helper| value.contains(helper));
    let step = Step {
        op: penstock_ir::OpRef(op),
        dtype,
        value: value.to_string(),
        checked: checked && dtype.is_integer(),
        loc: Loc::UNKNOWN,
    };
    let program = Program {
        inputs: inputs.iter().map(Tensor::dtype).collect(),
        functions: Vec::new(),
        steps: vec![step],
        outputs: vec![Output::of(dtype, "v0")],
    };
    let dims = if inputs.len() == 2 { vec![inputs[0].len(), inputs[1].len()] } else { inputs[0].dims().to_vec() };
    Some(Case { what: format!("{value} of {dtype}"), program, inputs, dims, expected, ulps: ulps_of(op.name) })
}

/// A fused program over many extents: linear, broadcast, scalar, empty, odd, in several dtypes.
pub(crate) fn shape_cases() -> Vec<Case> {
    let extents: &[(&[usize], &[usize])] = &[
        (&[], &[]),
        (&[0], &[0]),
        (&[1], &[1]),
        (&[7], &[7]),
        (&[4096], &[4096]),
        (&[4099], &[4099]),
        (&[4099], &[]),
        (&[33, 17], &[17]),
        (&[33, 17], &[33, 1]),
        (&[3, 1, 5], &[1, 4, 1]),
        (&[2, 3, 4, 5], &[3, 1, 5]),
        (&[0, 3], &[3]),
        (&[1, 9], &[6, 1]),
    ];
    let dtypes = [DType::F16, DType::Bf16, DType::F32, DType::F64, DType::I8, DType::U16, DType::I32, DType::I64];
    let mut out = Vec::new();
    for dtype in dtypes {
        out.extend(extents.iter().map(|(x, y)| fused_case(dtype, x, y)));
    }
    out
}

/// `x * y + x` and `x > y` in one program, on small whole numbers.
pub(crate) fn fused_case(dtype: DType, x: &[usize], y: &[usize]) -> Case {
    let number = |dims: &[usize], first: usize| {
        let n: usize = dims.iter().product();
        let values: Vec<i32> = (0..n).map(|i| ((i * 7 + first) % 23) as i32 - 3).collect();
        let ints = Tensor::from_slice(dims, &values).expect("memory");
        let attrs = op("cast").attributes(&[("dtype", Attr::DType(dtype))]).expect("the attribute of cast");
        eager(op("cast"), &[&ints], &attrs, &StdEnv::default()).expect("a cast")[0].clone()
    };
    let inputs = vec![number(x, 1), number(y, 5)];
    let mut builder = Builder::new(&penstock_ops::control::CONST);
    let values: Vec<_> = inputs.iter().map(|t| builder.input(Type::of(t), None)).collect();
    let (a, b) = (values[0], values[1]);
    let product = builder.emit(op("mul"), &[a, b], &[]).expect("mul")[0];
    let sum = builder.emit(op("add"), &[product, a], &[]).expect("add")[0];
    let greater = builder.emit(op("greater"), &[a, b], &[]).expect("greater")[0];
    let graph = builder.finish(&[sum, greater]).expect("a graph");
    let dims = graph.ty(sum).shape().extents().expect("extents").to_vec();
    let cpu = |name: &str, a: &Tensor, b: &Tensor| {
        eager(op(name), &[a, b], &penstock_ir::Attrs::EMPTY, &StdEnv::default()).map(|o| o[0].clone())
    };
    let expected = cpu("mul", &inputs[0], &inputs[1])
        .and_then(|p| cpu("add", &p, &inputs[0]))
        .and_then(|s| Ok(vec![s, cpu("greater", &inputs[0], &inputs[1])?]));
    let program = program(&graph).expect("a program");
    Case { what: format!("x * y + x, x > y of {dtype}{x:?} and {y:?}"), program, inputs, dims, expected, ulps: 0 }
}

/// Whether what ran gave what the CPU gives.
pub(crate) fn check(case: &Case, got: Result<Vec<Tensor>>) -> Result<(), String> {
    let say = |text: String| format!("{}: {text}", case.what);
    match (&case.expected, got) {
        (Ok(due), Ok(got)) => {
            for (i, (due, got)) in due.iter().zip(&got).enumerate() {
                if due.dtype() != got.dtype() || due.dims() != got.dims() {
                    return Err(say(format!("result {i} is {got:?}, not {due:?}")));
                }
                if let Some((at, distance)) = first_difference(due, got, case.ulps) {
                    return Err(say(format!("result {i} differs by {distance} ulp at {at}: {got:?}, not {due:?}")));
                }
            }
            Ok(())
        }
        (Err(due), Err(got)) if due.class() == got.class() && due.message() == got.message() => Ok(()),
        (due, got) => Err(say(format!("{got:?}, not {due:?}"))),
    }
}

/// The greatest distance of results from those of the CPU, in units in the last place; `None` where they have nothing to
/// compare.
pub(crate) fn worst(case: &Case, got: &Result<Vec<Tensor>>) -> Option<u64> {
    let (Ok(due), Ok(got)) = (&case.expected, got) else { return None };
    due.iter().zip(got).filter_map(|(a, b)| distances(a, b).into_iter().max()).max()
}

/// The first element that differs by more than `ulps`, and by how much.
fn first_difference(a: &Tensor, b: &Tensor, ulps: u64) -> Option<(usize, u64)> {
    distances(a, b).into_iter().enumerate().find(|(_, d)| *d > ulps)
}

/// How far each element is from that of another tensor, in units in the last place.
fn distances(a: &Tensor, b: &Tensor) -> Vec<u64> {
    match a.dtype() {
        DType::F16 => zip(a.as_slice::<f16>(), b.as_slice(), |v| (v.is_nan(), v.to_bits().into(), 15)),
        DType::Bf16 => zip(a.as_slice::<bf16>(), b.as_slice(), |v| (v.is_nan(), v.to_bits().into(), 15)),
        DType::F32 => zip(a.as_slice::<f32>(), b.as_slice(), |v| (v.is_nan(), v.to_bits().into(), 31)),
        DType::F64 => zip(a.as_slice::<f64>(), b.as_slice(), |v| (v.is_nan(), v.to_bits(), 63)),
        DType::C64 => {
            let parts = |t: &Tensor| t.as_slice::<C64>().iter().flat_map(|z| [z.re, z.im]).collect::<Vec<f32>>();
            zip(&parts(a), &parts(b), |v| (v.is_nan(), v.to_bits().into(), 31))
        }
        DType::C128 => {
            let parts = |t: &Tensor| t.as_slice::<C128>().iter().flat_map(|z| [z.re, z.im]).collect::<Vec<f64>>();
            zip(&parts(a), &parts(b), |v| (v.is_nan(), v.to_bits(), 63))
        }
        _ => {
            let same = |(x, y)| if x == y { 0 } else { u64::MAX };
            let size = a.dtype().size().max(1);
            a.bytes().chunks(size).zip(b.bytes().chunks(size)).map(same).collect()
        }
    }
}

/// The distances in units in the last place; a zero of the other sign is one apart.
fn zip<T: Copy>(a: &[T], b: &[T], parts: impl Fn(T) -> (bool, u64, u32)) -> Vec<u64> {
    let place = |bits: u64, sign: u32| {
        let magnitude = (bits & ((1 << sign) - 1)) as i128;
        if bits >> sign & 1 == 1 { -1 - magnitude } else { magnitude }
    };
    let distance = |(&x, &y)| {
        let ((nan_x, bits_x, sign), (nan_y, bits_y, _)) = (parts(x), parts(y));
        match (nan_x, nan_y) {
            (true, true) => 0,
            (false, false) => u64::try_from(place(bits_x, sign).abs_diff(place(bits_y, sign))).unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    };
    a.iter().zip(b).map(distance).collect()
}

/// Fails with every complaint.
#[track_caller]
pub(crate) fn report(run: usize, complaints: Vec<String>) {
    const SHOWN: usize = 20;
    assert!(
        complaints.is_empty(),
        "{} of {run} cases fail:\n{}",
        complaints.len(),
        complaints.iter().take(SHOWN).map(|c| c.chars().take(600).collect::<String>()).collect::<Vec<_>>().join("\n")
    );
}

/// The error of the fault that a kernel reported by the number of its site.
pub(crate) fn fault(program: &Program, site: u32) -> Error {
    match program.steps.iter().filter(|s| s.checked).nth(site as usize) {
        Some(step) => Error::invalid(step.op.fault().to_string()).in_op(step.op.name).at(step.loc),
        None => Error::internal(format!("no site {site}")),
    }
}

/// Points the library at the compiler in the project's environment, so that tests need no variable.
pub(crate) fn add_site_packages() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/lib");
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        penstock_cuda::add_site_packages(entry.path().join("site-packages"));
    }
}

/// Points the library at the machine's driver, or at the emulated one where there is none.
pub(crate) fn find_driver() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        add_site_packages();
        #[cfg(target_os = "linux")]
        mock::use_instead();
    });
}

/// The first GPU; `None`, with the reason printed, where there is none.
pub(crate) fn gpu() -> Option<Arc<dyn Device>> {
    find_driver();
    if let Err(e) = driver() {
        eprintln!("skipped: {e}");
        return None;
    }
    penstock_cuda::register_devices();
    let found = penstock_exec::devices().into_iter().find(|d| d.name() == "/device:GPU:0");
    if found.is_none() {
        eprintln!("skipped: the driver knows no GPU ({} devices)", devices().len());
    }
    found
}

/// Runs `work` while a device is wished for.
pub(crate) fn within<R>(device: Option<&Arc<dyn Device>>, work: impl FnOnce() -> R) -> R {
    let before = set_wish(device.cloned());
    let result = work();
    set_wish(before);
    result
}

#[cfg(target_os = "linux")]
pub(crate) mod mock {
    //! The emulated driver.

    use std::process::Command;
    use std::sync::OnceLock;

    use penstock_mockcuda::Mock;

    /// The emulated driver, where it is in use.
    pub(crate) fn get() -> Option<&'static Mock> {
        static MOCK: OnceLock<Option<Mock>> = OnceLock::new();
        MOCK.get_or_init(|| {
            let named = std::env::var_os(penstock_cuda::DRIVER_VARIABLE).is_some();
            let real = ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvidia0"];
            if named || real.iter().any(|file| std::path::Path::new(file).exists()) {
                return None;
            }
            if has_compiler() { Mock::load() } else { None }
        })
        .as_ref()
    }

    /// Whether there is the compiler with which the emulation compiles kernels; tells where not.
    pub(crate) fn has_compiler() -> bool {
        let has = Command::new("g++").arg("--version").output().is_ok();
        if !has {
            eprintln!("skipped: there is no g++");
        }
        has
    }

    pub(super) fn use_instead() {
        if get().is_some()
            && let Some(file) = penstock_mockcuda::path()
        {
            penstock_cuda::set_driver(&file);
            penstock_cuda::set_nvrtc(&file);
            penstock_cuda::set_cublaslt(&file);
            penstock_cuda::set_cudnn(file);
        }
    }
}
