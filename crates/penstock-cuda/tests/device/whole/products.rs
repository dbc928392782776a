//! Products of matrices.

use penstock_data::{DType, Tensor};
use penstock_exec::{Arg, Executable, StdEnv};
use penstock_ir::{Attrs, parse_function};
use penstock_ops::Ops;

use super::{Numbers, agree, attributes, cast, host, on_device};
use crate::common::{self, mock, op};
use crate::gpu;

/// How far sums of products may be apart: twice the bound of each side.
fn bound(a: &Tensor, b: &Tensor, attrs: &Attrs, dtype: DType) -> Tensor {
    let wide = |t: &Tensor| host(op("abs"), &[&cast(t, DType::F64)], &Attrs::EMPTY).expect("abs").remove(0);
    let sums = host(op("matmul"), &[&wide(a), &wide(b)], attrs).expect("a product").remove(0);
    let (eps, rounded) = match dtype {
        DType::F64 => (f64::EPSILON, 0.0),
        DType::F16 => (f64::from(f32::EPSILON), 1e-3),
        DType::Bf16 => (f64::from(f32::EPSILON), 8e-3),
        _ => (f64::from(f32::EPSILON), 0.0),
    };
    let k = *a.dims().last().expect("a matrix") as f64;
    let factor = Tensor::from(4.0 * k * eps + rounded);
    host(op("mul"), &[&sums, &factor], &Attrs::EMPTY).expect("a bound").remove(0)
}

#[test]
fn products_are_within_the_bound_of_the_host_s_and_of_integers_equal() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(4);
    let matmul = op("matmul");
    let batches: [(&[usize], &[usize]); 6] =
        [(&[], &[]), (&[3], &[3]), (&[2, 3], &[3]), (&[], &[4]), (&[2, 1], &[1, 3]), (&[5], &[])];
    for round in 0..48 {
        let dtype = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::I32, DType::U8][round % 6];
        let [m, k, n] = std::array::from_fn(|_| 1 + numbers.below(100));
        let (batch_a, batch_b) = batches[round / 6 % 6];
        let (ta, tb) = (round % 4 / 2 == 1, round % 2 == 1);
        let matrix = |batch: &[usize], rows: usize, columns: usize, transposed: bool| {
            let own = if transposed { [columns, rows] } else { [rows, columns] };
            [batch, &own[..]].concat()
        };
        let a = numbers.tensor(dtype, &matrix(batch_a, m, k, ta));
        let b = numbers.tensor(dtype, &matrix(batch_b, k, n, tb));
        let attrs = [("transpose_a", ta.into()), ("transpose_b", tb.into())];
        if dtype.is_integer() {
            agree(matmul, &[&a, &b], &attrs);
            continue;
        }
        let attrs = attributes(matmul, &attrs);
        let got = on_device(matmul, &[&a, &b], &attrs);
        let got = cast(&got.expect("a product")[0], DType::F64);
        let due = cast(&host(matmul, &[&a, &b], &attrs).expect("a product")[0], DType::F64);
        let bound = bound(&a, &b, &attrs, dtype);
        assert_eq!(got.dims(), due.dims());
        let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(bound.as_slice::<f64>());
        for (i, ((&got, &due), &most)) in all.enumerate() {
            assert!(
                (got - due).abs() <= most,
                "{dtype} [{m},{k},{n}] {batch_a:?} {batch_b:?} at {i}: {got}, not {due}"
            );
        }
    }
}

/// A product to which a vector is added, and of which ReLU is taken with `relu`, as a function of a plan: on the host, and on the device.
fn biased(a: &Tensor, b: &Tensor, bias: &Tensor, attrs: &str, turned: bool, relu: bool) -> [Tensor; 2] {
    let name = match a.dtype() {
        DType::F16 => "f16",
        DType::Bf16 => "bf16",
        DType::F64 => "f64",
        _ => "f32",
    };
    let ty = |t: &Tensor| {
        let dims: Vec<String> = t.dims().iter().map(usize::to_string).collect();
        format!("{name}[{}]", dims.join(","))
    };
    let sum = if turned { "add %c, %p" } else { "add %p, %c" };
    let product = host(op("matmul"), &[a, b], &attributes_of(attrs)).expect("a product").remove(0);
    let (more, result) = if relu { ("\n  %r = relu %s", "r") } else { ("", "s") };
    let text = format!(
        "func @main(%a: {}, %b: {}, %c: {}) -> {} {{\n  %p = matmul %a, %b {{{attrs}}}\n  %s = {sum}{more}\n  return %{result}\n}}",
        ty(a),
        ty(b),
        ty(bias),
        ty(&product),
    );
    let function = parse_function(&text, &Ops, &|_| None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let executable = Executable::new(&function).expect("an executable");
    let run = |args: &[Tensor]| {
        let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
        let results = executable.run(&args, &StdEnv::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        results[0].on_host().expect("a value")
    };
    let args = [a.clone(), b.clone(), bias.clone()];
    let gpu = common::gpu().expect("a device");
    let there: Vec<Tensor> = args.iter().map(|t| gpu.upload(t).expect("a copy")).collect();
    [run(&args), run(&there)]
}

fn attributes_of(text: &str) -> Attrs {
    let flags = ["transpose_a", "transpose_b"].map(|name| (name, text.contains(&format!("{name}=true")).into()));
    attributes(op("matmul"), &flags)
}

#[test]
fn a_product_and_the_vector_that_is_added_to_it_are_one_call_of_a_library() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(5);
    let calls = || mock::get().map_or(0, |mock| mock.count("cublasLtMatmul"));
    let before = calls();
    // Where the second matrices differ from batch to batch in two dimensions, it is two pieces of work.
    let batches: [(&[usize], &[usize]); 5] =
        [(&[], &[]), (&[3], &[3]), (&[2, 3], &[]), (&[5], &[]), (&[2, 1], &[1, 3])];
    for round in 0..40 {
        let dtype = [DType::F32, DType::F64, DType::F16, DType::Bf16][round % 4];
        let mut extents: [usize; 3] = std::array::from_fn(|_| 1 + numbers.below(60));
        if round % 10 == 9 {
            // What the emulated library refuses, and single rows and columns.
            extents = [[13, 26, 39], [1, 7, 50], [40, 5, 1], [1, 1, 1]][round / 10];
        }
        let [m, k, n] = extents;
        let (batch_a, batch_b) = batches[round / 4 % 5];
        let (ta, tb) = (round % 3 == 1, round % 2 == 1);
        let matrix = |batch: &[usize], rows: usize, columns: usize, transposed: bool| {
            let own = if transposed { [columns, rows] } else { [rows, columns] };
            [batch, &own[..]].concat()
        };
        let a = numbers.tensor(dtype, &matrix(batch_a, m, k, ta));
        let b = numbers.tensor(dtype, &matrix(batch_b, k, n, tb));
        let bias = numbers.tensor(dtype, &[n]);
        let attrs = format!("transpose_a={ta}, transpose_b={tb}");
        let [due, got] = biased(&a, &b, &bias, &attrs, round % 5 == 0, round / 20 == 1).map(|t| cast(&t, DType::F64));
        let bound = bound(&a, &b, &attributes_of(&attrs), dtype);
        let (bias, of_16) = (cast(&bias, DType::F64), matches!(dtype, DType::F16 | DType::Bf16));
        assert_eq!(got.dims(), due.dims());
        let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(bound.as_slice::<f64>());
        for (i, ((&got, &due), &most)) in all.enumerate() {
            let added = bias.as_slice::<f64>()[i % n].abs() + due.abs();
            let most = most + added * if of_16 { 8e-3 } else { 1e-6 };
            assert!(
                (got - due).abs() <= most || got.is_nan() && due.is_nan() || got == due,
                "{dtype} [{m},{k},{n}] {batch_a:?} {batch_b:?} at {i}: {got}, not {due}"
            );
        }
    }
    assert!(mock::get().is_none() || calls() - before >= 20, "{} calls", calls() - before);
}

#[test]
fn a_biased_product_passes_on_what_is_no_number() {
    if gpu().is_none() {
        return;
    }
    // Whole numbers, so that results are exact; NaN and infinities in the operands and in the vector.
    let numbers = |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7 % 11) as f32 - 5.0).collect() };
    let mut a = numbers(64 * 64);
    (a[70], a[200], a[400]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    let mut bias = numbers(48);
    (bias[3], bias[9], bias[10], bias[11]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0);
    let tensor = |dims: &[usize], values: &[f32]| Tensor::from_slice(dims, values).expect("a matrix");
    let (a, b, bias) = (tensor(&[64, 64], &a), tensor(&[64, 48], &numbers(64 * 48)), tensor(&[48], &bias));
    let same = |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan();
    for relu in [false, true] {
        let [due, got] = biased(&a, &b, &bias, "", false, relu);
        assert!(due.as_slice::<f32>().iter().zip(got.as_slice::<f32>()).all(same), "{got:?}, not {due:?}");
    }
}
