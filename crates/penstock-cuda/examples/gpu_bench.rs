//! Measures kernels on the first GPU, and prints JSON: the time of a launch by the device's own clock, and the memory
//! traffic that it amounts to.

use std::time::Instant;

use penstock_cuda::{CudaDevice, Output, Program};
use penstock_data::{DType, Error, Result, Shape, Tensor};
use penstock_exec::{Arg, Device, Executable, Program as _, StdEnv, eager, register};
use penstock_ir::{Attr, Builder, OpSet, Type, Value, parse_function};
use penstock_ops::Ops;
use penstock_passes::Options;

/// Launches in one measurement, and measurements of which the median counts.
const LAUNCHES: usize = 20;
const MEASUREMENTS: usize = 15;

fn emit(b: &mut Builder, name: &str, operands: &[Value]) -> Result<Value> {
    let op = Ops.find(name).ok_or_else(|| Error::not_found(format!("operator {name}")))?;
    Ok(b.emit(op, operands, &[])?[0])
}

fn program(make: impl FnOnce(&mut Builder, Value) -> Result<Value>) -> Result<Program> {
    let mut b = Builder::new(&penstock_ops::control::CONST);
    let x = b.input(Type::tensor(DType::F32, Shape::UNRANKED), None);
    let y = make(&mut b, x)?;
    let graph = b.finish(&[y])?;
    Program::of_region(&graph, graph.body()).map(|(program, _)| program)
}

/// `scale * (x if x > 0 else alpha * (e^x - 1))`.
fn scaled_elu() -> Result<Program> {
    program(|b, x| {
        let [zero, one, alpha, scale] = [0.0f32, 1.0, 1.673_263_2, 1.050_701].map(|v| b.constant(Tensor::from(v)));
        let exp = emit(b, "exp", &[x])?;
        let below = emit(b, "sub", &[exp, one])?;
        let below = emit(b, "mul", &[alpha, below])?;
        let positive = emit(b, "greater", &[x, zero])?;
        let chosen = emit(b, "select", &[positive, x, below])?;
        emit(b, "mul", &[scale, chosen])
    })
}

/// A polynomial of degree 6, by Horner's rule.
fn polynomial() -> Result<Program> {
    program(|b, x| {
        let mut sum = b.constant(Tensor::from(0.5f32));
        for coefficient in [-1.25f32, 2.0, 0.75, -0.5, 1.5, 3.0] {
            let coefficient = b.constant(Tensor::from(coefficient));
            let product = emit(b, "mul", &[sum, x])?;
            sum = emit(b, "add", &[product, coefficient])?;
        }
        Ok(sum)
    })
}

/// The result is the input.
fn copy() -> Program {
    let output = Output::of(DType::F32, "a0");
    Program { inputs: vec![DType::F32], functions: Vec::new(), steps: Vec::new(), outputs: vec![output] }
}

/// An operator on two inputs of a dtype.
fn binary(name: &str, dtype: DType) -> Result<Program> {
    let mut b = Builder::new(&penstock_ops::control::CONST);
    let [x, y] = [(); 2].map(|()| b.input(Type::tensor(dtype, Shape::UNRANKED), None));
    let z = emit(&mut b, name, &[x, y])?;
    let graph = b.finish(&[z])?;
    Program::of_region(&graph, graph.body()).map(|(program, _)| program)
}

/// A measurement: a program over inputs of these extents.
struct Case {
    name: &'static str,
    program: Program,
    inputs: Vec<Vec<usize>>,
    dims: Vec<usize>,
}

/// Values between -2 and 2.
fn values(gpu: &CudaDevice, dtype: DType, dims: &[usize]) -> Result<Tensor> {
    let len: usize = dims.iter().product();
    let mut tensor = Tensor::empty(dtype, dims)?;
    match dtype {
        DType::F32 => {
            tensor.as_mut_slice::<f32>().iter_mut().enumerate().for_each(|(i, v)| *v = (i % 1000) as f32 / 250.0 - 2.0);
        }
        DType::Bf16 => tensor
            .as_mut_slice::<penstock_data::bf16>()
            .iter_mut()
            .enumerate()
            .for_each(|(i, v)| *v = penstock_data::bf16::from_f32((i % 1000) as f32 / 250.0 - 2.0)),
        _ => tensor.bytes_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i % len.clamp(1, 251)) as u8),
    }
    gpu.upload(&tensor)
}

/// Milliseconds of one launch.
fn measure(gpu: &CudaDevice, case: Case) -> Result<f32> {
    let dtypes = case.program.inputs.iter();
    let inputs = case.inputs.iter().zip(dtypes).map(|(dims, &d)| values(gpu, d, dims)).collect::<Result<Vec<_>>>()?;
    let inputs: Vec<_> = inputs.iter().collect();
    let prepared = gpu.prepare(case.program)?;
    prepared.launch(&inputs, &case.dims)?;
    gpu.synchronize()?;
    let mut times = Vec::with_capacity(MEASUREMENTS);
    for _ in 0..MEASUREMENTS {
        let all = gpu.time(|| (0..LAUNCHES).try_for_each(|_| prepared.launch(&inputs, &case.dims).map(|_| ())))?;
        times.push(all / LAUNCHES as f32);
    }
    times.sort_by(f32::total_cmp);
    Ok(times[MEASUREMENTS / 2])
}

/// A convolution or a transpose of it, of images of 56 x 56 with 64 channels by filters of 3 x 3.
struct Convolved {
    op: &'static str,
    dtype: DType,
    stride: i64,
    /// Whether by cuDNN, where it is installed.
    library: bool,
}

/// The milliseconds of one, and its multiplications and additions.
fn convolve(gpu: &CudaDevice, batch: usize, what: &Convolved) -> Result<(f32, usize)> {
    const SIDE: usize = 56;
    const CHANNELS: usize = 64;
    let side = SIDE.div_ceil(what.stride as usize);
    let (x, f, y) = ([batch, SIDE, SIDE, CHANNELS], [3, 3, CHANNELS, CHANNELS], [batch, side, side, CHANNELS]);
    let sizes = |dims: [usize; 4]| Tensor::vector(&dims.map(|d| d as i64));
    let inputs = match what.op {
        "conv" => vec![values(gpu, what.dtype, &x)?, values(gpu, what.dtype, &f)?],
        "conv_input_grad" => vec![sizes(x), values(gpu, what.dtype, &f)?, values(gpu, what.dtype, &y)?],
        _ => vec![values(gpu, what.dtype, &x)?, sizes(f), values(gpu, what.dtype, &y)?],
    };
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let op = Ops.find(what.op).ok_or_else(|| Error::not_found("a convolution"))?;
    let strides = Attr::from(vec![what.stride, what.stride]);
    let attrs = op.attributes(&[("strides", strides), ("padding", "SAME".into())])?;
    gpu.set_uses_cudnn(what.library)?;
    let run = || eager(op, &inputs, &attrs, &StdEnv::default()).map(|_| ());
    run()?;
    gpu.synchronize()?;
    let mut times = Vec::with_capacity(MEASUREMENTS);
    for _ in 0..MEASUREMENTS {
        times.push(gpu.time(|| (0..LAUNCHES).try_for_each(|_| run()))? / LAUNCHES as f32);
    }
    times.sort_by(f32::total_cmp);
    Ok((times[MEASUREMENTS / 2], 2 * batch * side * side * 9 * CHANNELS * CHANNELS))
}

/// Convolutions, by patches and by cuDNN, as fields of the JSON object.
fn convolutions(gpu: &CudaDevice) -> Result<String> {
    register(std::sync::Arc::new(CudaDevice::new(0)?));
    let batch = if gpu.memory().is_some_and(|m| m.free > 8 << 30) { 64 } else { 1 };
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::Bf16] {
        for (op, stride) in [("conv", 1), ("conv_input_grad", 1), ("conv_filter_grad", 1), ("conv", 2)] {
            let [patches, library] =
                [false, true].map(|library| convolve(gpu, batch, &Convolved { op, dtype, stride, library }));
            let ((patches, flops), (library, _)) = (patches?, library?);
            let [slow, fast] = [patches, library].map(|ms| format!("{:.1}", flops as f32 / ms / 1e9));
            cases.push(format!(
                "  {{\"case\": \"{op} {dtype}, stride {stride}\", \"us\": {:.1}, \"tflop_per_s\": {fast}, \
                 \"tflop_per_s by patches\": {slow}, \"ratio\": {:.2}}}",
                library * 1e3,
                patches / library
            ));
        }
    }
    let decided: Vec<String> = gpu.convolutions()?.iter().map(|line| format!("  {line:?}")).collect();
    Ok(format!("\"convolutions\": [\n{}\n], \"decided\": [\n{}\n]", cases.join(",\n"), decided.join(",\n")))
}

/// A loop whose iteration sums numbers up, compares the sum, multiplies the numbers, and copies them to their place.
fn repeated(n: usize) -> Result<Executable> {
    let text = format!(
        "func @main(%x: f32[{n}], %n: i32[]) -> f32[{n}], i32[] {{
           %zero = const {{value=i32[] 0}}
           %y, %count = while %x, %zero ((%a: f32[{n}], %i0: i32[]) {{
             %sum = reduce_sum %a
             %most = const {{value=f32[] 1e30}}
             %p = less %sum, %most
             %q = less %i0, %n
             %go = logical_and %p, %q
             yield %go
           }}, (%b: f32[{n}], %i: i32[]) {{
             %factor = const {{value=f32[] 0.999}}
             %one = const {{value=i32[] 1}}
             %c = mul %b, %factor
             %next = add %i, %one
             yield %c, %next
           }})
           return %y, %count
         }}"
    );
    let function = parse_function(&text, &Ops, &|_| None)?;
    let options = Options { skip: vec!["native".to_string()], ..Options::default() };
    Executable::with_options(&function, options)
}

/// Microseconds of an iteration.
fn iteration(gpu: &CudaDevice, n: usize) -> Result<f64> {
    const FEW: i32 = 1000;
    const MANY: i32 = 11_000;
    let loops = repeated(n)?;
    let x = values(gpu, DType::F32, &[n])?;
    let run = |iterations: i32| -> Result<f64> {
        let args = [x.clone(), Tensor::from(iterations)].map(Arg::Tensor);
        gpu.synchronize()?;
        let began = Instant::now();
        loops.run(&args, &StdEnv::default())?;
        gpu.synchronize()?;
        Ok(began.elapsed().as_secs_f64())
    };
    let best = |iterations: i32| (0..5).map(|_| run(iterations)).try_fold(f64::INFINITY, |a, b| b.map(|b| a.min(b)));
    let few = best(FEW)?;
    Ok((best(MANY)? - few) / f64::from(MANY - FEW) * 1e6)
}

/// Iterations of loops, as nodes of a graph and as one kernel where the loop is small, as a field of the JSON object.
fn loops(gpu: &CudaDevice) -> Result<String> {
    let mut cases = Vec::new();
    for n in [64, 1 << 12, 1 << 14, 1 << 16] {
        gpu.set_small_loops(false)?;
        let nodes = iteration(gpu, n)?;
        gpu.set_small_loops(true)?;
        let own = iteration(gpu, n)?;
        cases.push(format!("  {{\"elements\": {n}, \"us\": {own:.2}, \"us by nodes\": {nodes:.2}}}"));
    }
    Ok(format!("\"iterations\": [\n{}\n]", cases.join(",\n")))
}

fn main() -> Result<()> {
    let gpu = CudaDevice::new(0)?;
    // As much as the device holds three times of, and no more than the figures are about.
    let most = gpu.memory().map_or(1 << 20, |m| m.free as usize / 16);
    let len = |wanted: usize| wanted.min(most.next_power_of_two() / 2);
    let flat = |name, program, n: usize| Case { name, program, inputs: vec![vec![len(n)]], dims: vec![len(n)] };
    let rows = |name, program, second: fn(usize) -> Vec<usize>| {
        let n = len(1 << 28) / 1024;
        Case { name, program, inputs: vec![vec![n, 1024], second(n)], dims: vec![n, 1024] }
    };
    println!("{{\"device\": \"{}\", \"cases\": [", gpu.info().name);
    let cases = [
        flat("copy f32", copy(), 1 << 28),
        flat("one element", scaled_elu()?, 1),
        flat("scaled ELU f32", scaled_elu()?, 1 << 20),
        flat("scaled ELU f32", scaled_elu()?, 1 << 28),
        flat("polynomial f32", polynomial()?, 1 << 24),
        flat("polynomial f32", polynomial()?, 1 << 28),
        rows("add f32", binary("add", DType::F32)?, |n| vec![n, 1024]),
        rows("add bf16", binary("add", DType::Bf16)?, |n| vec![n, 1024]),
        rows("add i8", binary("add", DType::I8)?, |n| vec![n, 1024]),
        rows("bias add f32", binary("add", DType::F32)?, |_| vec![1024]),
        rows("bias add bf16", binary("add", DType::Bf16)?, |_| vec![1024]),
        rows("row scale f32", binary("mul", DType::F32)?, |n| vec![n, 1]),
    ];
    let last = cases.len() - 1;
    for (i, case) in cases.into_iter().enumerate() {
        let bytes: usize = case
            .inputs
            .iter()
            .zip(&case.program.inputs)
            .map(|(dims, dtype)| dims.iter().product::<usize>() * dtype.size())
            .chain(case.program.outputs.iter().map(|o| case.dims.iter().product::<usize>() * o.dtype.size()))
            .sum();
        let (name, elements) = (case.name, case.dims.iter().product::<usize>());
        let time = measure(&gpu, case)?;
        println!(
            "  {{\"case\": \"{name}\", \"elements\": {elements}, \"us\": {:.2}, \"gb_per_s\": {:.0}}}{}",
            time * 1e3,
            bytes as f32 / time / 1e6,
            if i == last { "" } else { "," }
        );
    }
    // The figures above count without these.
    let rest = convolutions(&gpu).unwrap_or_else(|e| format!("\"convolutions\": {:?}", e.message()));
    let loops = loops(&gpu).unwrap_or_else(|e| format!("\"iterations\": {:?}", e.message()));
    println!("], {rest}, {loops}}}");
    Ok(())
}
