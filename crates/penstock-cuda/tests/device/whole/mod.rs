//! Work on whole tensors, against the host, by kind of work.

mod convolutions;
mod counts;
mod indices;
mod moves;
mod products;
mod random;
mod reductions;
mod scans;
mod sorts;
mod updates;

use penstock_data::{Class, DType, INLINE_BYTES, Result, Tensor};
use penstock_exec::{Device, Outputs, StdEnv, eager, register, set_wish};
use penstock_filetests::same_tensor;
use penstock_ir::{Attr, Attrs, Cuda, OpDef};

use crate::common::op;
use crate::gpu;

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    /// A tensor of numbers between -4 and 4, of which sums are rounded.
    fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor {
        let count = dims.iter().product();
        let values: Vec<f64> = (0..count).map(|_| self.next() as f64 / (1u64 << 28) as f64 - 4.0).collect();
        cast(&Tensor::from_slice(dims, &values).expect("memory"), dtype)
    }
}

fn attributes(op: &'static OpDef, attrs: &[(&str, Attr)]) -> Attrs {
    op.attributes(attrs).unwrap_or_else(|e| panic!("{}: {e}", op.name))
}

fn host(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs) -> Result<Outputs> {
    eager(op, inputs, attrs, &StdEnv::default())
}

fn cast(x: &Tensor, dtype: DType) -> Tensor {
    let op = op("cast");
    host(op, &[x], &attributes(op, &[("dtype", dtype.into())])).expect("a cast").remove(0)
}

/// What the device gives for operands that lie there.
fn on_device(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs) -> Result<Vec<Tensor>> {
    let gpu = gpu().expect("the tests were left without one");
    let there: Vec<Tensor> = inputs.iter().map(|t| gpu.upload(t).expect("a copy")).collect();
    register(std::sync::Arc::new(gpu));
    let results = host(op, &there.iter().collect::<Vec<_>>(), attrs)?;
    results.iter().map(Tensor::on_host).collect()
}

/// Whether an operator on operands of the device leaves its result there.
fn stays(op: &'static OpDef, x: &Tensor, attrs: &[(&str, Attr)]) -> bool {
    let gpu = gpu().expect("the tests were left without one");
    let there = gpu.upload(x).expect("a copy");
    register(std::sync::Arc::new(gpu));
    let results = host(op, &[&there], &attributes(op, attrs)).expect("a result");
    results.iter().all(|t| t.remote().is_some() || t.byte_len() <= INLINE_BYTES)
}

/// Fails where the device gives something else than the host.
#[track_caller]
fn agree(op: &'static OpDef, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = attributes(op, attrs);
    let got = on_device(op, inputs, &attrs);
    let due = host(op, inputs, &attrs);
    let what = || {
        let shapes: Vec<String> = inputs.iter().map(|t| format!("{}{:?}", t.dtype(), t.dims())).collect();
        format!("{} {attrs:?} of {}", op.name, shapes.join(", "))
    };
    match (&due, &got) {
        (Ok(due), Ok(got)) => {
            let same = due.len() == got.len() && due.iter().zip(got).all(|(a, b)| same_tensor(a, b));
            assert!(same, "{}: {got:?} instead of {due:?}", what());
        }
        (Err(due), Err(got)) => assert_eq!(due.class(), got.class(), "{}", what()),
        _ => panic!("{}: {got:?} instead of {due:?}", what()),
    }
}

/// A tensor of complex numbers.
fn complex(numbers: &mut Numbers, dtype: DType, dims: &[usize]) -> Tensor {
    let [re, im] = [0, 1].map(|_| numbers.tensor(dtype.real(), dims));
    host(op("complex"), &[&re, &im], &Attrs::EMPTY).expect("complex numbers").remove(0)
}

/// The absolute values of a tensor, in double precision.
fn magnitudes(x: &Tensor) -> Tensor {
    host(op("abs"), &[&cast(x, DType::F64)], &Attrs::EMPTY).expect("abs").remove(0)
}

fn agree_where_it_matters(op: &'static OpDef, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = attributes(op, attrs);
    let got = wished(|| host(op, inputs, &attrs)).expect("a result").remove(0);
    let due = host(op, inputs, &attrs).expect("a result").remove(0);
    assert_eq!(got.remote().is_some(), due.byte_len() > INLINE_BYTES, "{} {attrs:?}", op.name);
    let got = got.on_host().expect("a copy");
    let odd = got.bytes().iter().zip(due.bytes()).position(|(a, b)| a != b);
    assert!(got.dims() == due.dims() && odd.is_none(), "{} {attrs:?} {:?} at byte {odd:?}", op.name, due.dims());
}

/// What a function gives while the device is wished for.
fn wished<R>(work: impl FnOnce() -> R) -> R {
    let device: std::sync::Arc<dyn Device> = std::sync::Arc::new(gpu().expect("the tests were left without one"));
    register(device.clone());
    let before = set_wish(Some(device));
    let result = work();
    set_wish(before);
    result
}

#[test]
fn every_sample_of_an_operator_with_kernels_gives_what_the_host_gives_in_any_order_of_threads() {
    if gpu().is_none() {
        return;
    }
    // The emulation draws the order of threads, blocks and streams.
    let mock = crate::common::mock::get();
    for seed in 1..=crate::common::seeds() {
        let mut tried = 0;
        for op in penstock_ops::all().filter(|op| matches!(op.cuda, Cuda::Kernels)) {
            for sample in (op.samples)() {
                let rounds = ["matmul", "conv", "conv_input_grad", "conv_filter_grad"].contains(&op.name);
                if sample.inputs.iter().all(|t| t.dtype().size() > 0) && !rounds {
                    if let Some(mock) = mock {
                        mock.set("seed", seed);
                    }
                    agree(op, &sample.inputs.iter().collect::<Vec<_>>(), &sample.attrs);
                    tried += 1;
                }
            }
        }
        assert!(tried > 500, "{tried} samples");
    }
}

#[test]
fn what_is_computed_of_the_device_s_memory_stays_there() {
    if gpu().is_none() {
        return;
    }
    let x = Numbers(5).tensor(DType::F32, &[30, 40]);
    for (name, attrs) in [
        ("transpose", vec![]),
        ("reduce_sum", vec![("axes", Attr::from(vec![0i64]))]),
        ("reduce_max", vec![("axes", Attr::from(vec![1i64]))]),
        ("unstack", vec![("axis", Attr::from(0i64))]),
        ("identity", vec![]),
    ] {
        assert!(stays(op(name), &x, &attrs), "{name}");
    }
    // The host computes what the device has no kernel for.
    let z = cast(&x, DType::C64);
    agree(op("matmul"), &[&z, &z], &[("transpose_b", true.into())]);
}

#[test]
fn what_inference_accepts_and_the_kernel_refuses_is_the_error_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let x = Tensor::vector(&vec![1.0f32; 100]);
    let attrs = attributes(op("reshape"), &[]);
    let shape = Tensor::vector(&[7i32, 7]);
    let got = on_device(op("reshape"), &[&x, &shape], &attrs);
    assert_eq!(got.unwrap_err().class(), Class::InvalidArgument);
}
