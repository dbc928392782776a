//! Measures two fused kernels on the first GPU, and prints JSON: the time by the device's own clock, the
//! memory traffic that it amounts to, and that of a plain copy of the same size.

use penstock_cuda::{CudaDevice, Output, Program};
use penstock_data::{DType, Error, Result, Shape, Tensor};
use penstock_exec::{Device, Program as _};
use penstock_ir::{Builder, OpSet, Type, Value};
use penstock_ops::Ops;

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
    let output = Output { dtype: DType::F32, value: "a0".to_string() };
    Program { inputs: vec![DType::F32], steps: Vec::new(), outputs: vec![output] }
}

/// Milliseconds of one launch over `len` elements.
fn measure(gpu: &CudaDevice, program: Program, len: usize) -> Result<f32> {
    let values: Vec<f32> = (0..len).map(|i| (i % 1000) as f32 / 250.0 - 2.0).collect();
    let x = gpu.upload(&Tensor::vector(&values))?;
    let mut y = [gpu.allocate(DType::F32, &[len])?];
    let prepared = gpu.prepare(program)?;
    prepared.launch(&[&x], &mut y)?;
    gpu.synchronize()?;
    let mut times = Vec::with_capacity(MEASUREMENTS);
    for _ in 0..MEASUREMENTS {
        let all = gpu.time(|| (0..LAUNCHES).try_for_each(|_| prepared.launch(&[&x], &mut y)))?;
        times.push(all / LAUNCHES as f32);
    }
    times.sort_by(f32::total_cmp);
    Ok(times[MEASUREMENTS / 2])
}

fn main() -> Result<()> {
    let gpu = CudaDevice::new(0)?;
    println!("{{\"device\": \"{}\", \"cases\": [", gpu.info().name);
    let cases = [
        ("scaled ELU", scaled_elu()?, 1 << 20),
        ("polynomial", polynomial()?, 1 << 24),
        ("polynomial", polynomial()?, 1 << 28),
    ];
    let last = cases.len() - 1;
    for (i, (name, program, len)) in cases.into_iter().enumerate() {
        let (time, floor) = (measure(&gpu, program, len)?, measure(&gpu, copy(), len)?);
        let rate = |ms: f32| 8.0 * len as f32 / ms / 1e6;
        println!(
            "  {{\"case\": \"{name}\", \"elements\": {len}, \"microseconds\": {:.2}, \"gb_per_s\": {:.0}, \"copy_microseconds\": {:.2}, \"copy_gb_per_s\": {:.0}}}{}",
            time * 1e3,
            rate(time),
            floor * 1e3,
            rate(floor),
            if i == last { "" } else { "," }
        );
    }
    println!("]}}");
    Ok(())
}
