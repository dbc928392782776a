//! Generated kernels on a GPU, against the CPU: on the machine's own, or else on an emulated one.
//!
//! The binary stands alone: copied to a machine with a driver, it needs NVRTC only, by `PENSTOCK_NVRTC`.

mod common;
#[path = "device/whole/mod.rs"]
mod whole;

use std::collections::BTreeMap;

use common::{Case, case, check, fused_case, op, report};
use penstock_cuda::{CudaDevice, Layout, Program, devices, driver};
use penstock_data::{Class, DType, INLINE_BYTES, Result, Shape, Tensor};
use penstock_exec::{Device, DeviceKind, Program as _};
use penstock_ir::{Builder, Type};

/// The first GPU; `None`, with the reason printed, where there is none.
fn gpu() -> Option<CudaDevice> {
    common::find_driver();
    match driver() {
        Err(e) => eprintln!("skipped: {e}"),
        Ok(()) if devices().is_empty() => eprintln!("skipped: the driver knows no GPU"),
        Ok(()) => {
            let gpu = CudaDevice::new(0).expect("the first GPU");
            // Without caching of free blocks the emulated driver detects use after free.
            gpu.set_keeps_memory(common::mock::get().is_none()).expect("the driver");
            return Some(gpu);
        }
    }
    None
}

fn queue(gpu: &CudaDevice, program: &Program, inputs: &[Tensor], dims: &[usize]) -> Result<Vec<Tensor>> {
    let inputs = inputs.iter().map(|t| gpu.upload(t)).collect::<Result<Vec<_>>>()?;
    Ok(gpu.prepare(program.clone())?.launch(&inputs.iter().collect::<Vec<_>>(), dims)?.into_vec())
}

fn run(gpu: &CudaDevice, case: &Case) -> Result<Vec<Tensor>> {
    queue(gpu, &case.program, &case.inputs, &case.dims)?.iter().map(Tensor::on_host).collect()
}

fn run_all(cases: Vec<Case>) {
    let Some(gpu) = gpu() else { return };
    let programs = cases.iter().filter_map(|case| {
        let dims: Vec<&[usize]> = case.inputs.iter().map(Tensor::dims).collect();
        Layout::new(&case.dims, &dims).ok().map(|layout| (&case.program, layout))
    });
    gpu.compile_all(programs).expect("kernels");
    let mut complaints = Vec::new();
    let mut worst: BTreeMap<&str, u64> = BTreeMap::new();
    // The emulation draws the order of blocks and streams.
    let mock = common::mock::get();
    let seeds = common::seeds();
    for seed in 1..=seeds {
        if let Some(mock) = mock {
            mock.set("seed", seed);
        }
        for case in &cases {
            let got = run(&gpu, case);
            if let Some(distance) = common::worst(case, &got) {
                let name = case.program.steps.first().map_or("", |s| s.op.name);
                let known = worst.entry(name).or_default();
                *known = distance.max(*known);
            }
            complaints.extend(check(case, got).err());
        }
    }
    tell(&worst);
    report(cases.len() * seeds as usize, complaints);
}

/// Adds how far each operator's results were from those of the CPU, in units in the last place, to the file that
/// `PENSTOCK_REPORT` names.
fn tell(worst: &BTreeMap<&str, u64>) {
    use std::io::Write;
    let Some(file) = std::env::var_os("PENSTOCK_REPORT") else { return };
    let lines: String = worst.iter().map(|(name, ulps)| format!("{name} {ulps}\n")).collect();
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut f| f.write_all(lines.as_bytes())).expect("the report");
}

#[test]
fn every_operator_computes_what_the_cpu_computes_in_any_order_of_blocks() {
    run_all(common::operator_cases());
}

#[test]
fn every_helper_computes_what_the_cpu_computes_at_the_edges() {
    run_all(common::helper_cases());
}

#[test]
fn complex_numbers_are_what_the_cpu_computes_at_the_edges() {
    run_all(common::complex_cases());
}

#[test]
fn every_shape_reaches_every_element() {
    run_all(common::shape_cases());
}

#[test]
fn devices_are_described_without_being_opened() {
    if driver().is_err() {
        assert!(devices().is_empty());
        assert_eq!(CudaDevice::new(0).err().map(|e| e.class()), Some(Class::FailedPrecondition));
        return;
    }
    for (i, device) in devices().iter().enumerate() {
        let info = device.info();
        assert_eq!(info.ordinal, i);
        assert!(
            info.memory > 0 && info.arch.major >= 5 && info.multiprocessors > 0 && !info.name.is_empty(),
            "{info:?}"
        );
        eprintln!("{info:?}");
    }
    let error = CudaDevice::new(devices().len()).unwrap_err();
    assert_eq!(error.class(), Class::NotFound);
}

#[test]
fn tensors_come_back_as_they_went() {
    let Some(gpu) = gpu() else { return };
    let floats: Vec<f32> = (0..100_003).map(|i| i as f32).collect();
    for tensor in [
        Tensor::vector(&floats),
        Tensor::from(true),
        Tensor::zeros(DType::C128, &[3, 0]).expect("memory"),
        Tensor::vector(&[1u8, 2, 3]),
        Tensor::from(f64::NAN),
        Tensor::from("text"),
    ] {
        let there = gpu.upload(&tensor).expect("a copy");
        assert_eq!(there.remote().map(|r| r.device()), (tensor.byte_len() > INLINE_BYTES).then_some("/device:GPU:0"));
        assert_eq!(there.on_host().expect("a copy"), tensor);
        assert!(gpu.upload(&there).expect("the same").shares_data(&there) || there.remote().is_none());
    }
}

#[test]
fn memory_that_is_not_there_is_an_error_and_the_device_goes_on() {
    let Some(gpu) = gpu() else { return };
    let memory = gpu.memory().expect("memory is known");
    assert!(memory.free > 0 && memory.free <= memory.total);
    let negation = case(op("neg"), vec![Tensor::vector(&[1u8])], &[]).expect("a case").program;
    let negation = gpu.prepare(negation).expect("a program");
    for dims in [&[usize::MAX, 2][..], &[1 << 50], &[memory.total as usize]] {
        let error = negation.launch(&[&Tensor::from(1u8)], dims).err();
        assert_eq!(error.map(|e| e.class()), Some(Class::ResourceExhausted), "{dims:?}");
    }
    gpu.synchronize().expect("the device goes on");
    let values = Tensor::vector(&[1i64; 9]);
    assert_eq!(gpu.upload(&values).expect("a copy").on_host().expect("a copy"), values);
}

#[test]
fn a_region_runs_behind_the_trait_of_devices() {
    let Some(gpu) = gpu() else { return };
    let mut builder = Builder::new(&penstock_ops::control::CONST);
    let x = builder.input(Type::tensor(DType::I16, Shape::UNRANKED), None);
    let y = builder.emit(op("neg"), &[x], &[]).expect("neg");
    let graph = builder.finish(&y).expect("a graph");
    let device: &dyn Device = &gpu;
    assert_eq!((device.kind(), device.name().as_str()), (DeviceKind::Gpu, "/device:GPU:0"));
    let program = device.compile(&graph, graph.body()).expect("a program");
    let x = device.upload(&Tensor::vector(&[1i16, -2, i16::MIN])).expect("a copy");
    let y = program.launch(&[&x], &[3]).expect("a launch");
    assert_eq!(y[0].on_host().expect("a copy"), Tensor::vector(&[-1i16, 2, i16::MIN]));
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let Some(gpu) = gpu() else { return };
    let program = fused_case(DType::F32, &[4], &[4]).program;
    let prepared = gpu.prepare(program).expect("a program");
    let tensor = |dtype, dims: &[usize]| gpu.upload(&Tensor::zeros(dtype, dims).expect("memory")).expect("a copy");
    let (x, y) = (tensor(DType::F32, &[4]), tensor(DType::F32, &[3]));
    assert_eq!(prepared.launch(&[&x, &y], &[4]).unwrap_err().class(), Class::InvalidArgument);
    assert_eq!(prepared.launch(&[&x, &x], &[3]).unwrap_err().class(), Class::InvalidArgument);
    assert_eq!(prepared.launch(&[&x], &[4]).unwrap_err().class(), Class::InvalidArgument);
    assert_eq!(prepared.launch(&[&x, &tensor(DType::F64, &[4])], &[4]).unwrap_err().class(), Class::InvalidArgument);
    // What lies elsewhere is copied to the device.
    let host = Tensor::vector(&[1.0f32; 4]);
    let both = [prepared.launch(&[&x, &host], &[4]), prepared.launch(&[&x, &gpu.upload(&host).expect("a copy")], &[4])];
    let [a, b] =
        both.map(|results| results.expect("a launch").iter().map(|t| t.on_host().expect("a copy")).collect::<Vec<_>>());
    assert_eq!(a, b);
    gpu.synchronize().expect("no fault");
}

/// A division by zero, and one that is none.
fn divisions() -> [Case; 2] {
    [true, false].map(|fails| {
        common::helper_cases()
            .into_iter()
            .find(|c| c.what == "penstock_floor_mod(a0, a1) of i32" && c.expected.is_err() == fails)
            .expect("a case")
    })
}

#[test]
fn a_division_by_zero_is_the_fault_of_what_was_computed_of_it() {
    let Some(gpu) = gpu() else { return };
    let cases = divisions();
    let [bad, good] =
        [0, 1].map(|i| queue(&gpu, &cases[i].program, &cases[i].inputs, &cases[i].dims).expect("a launch"));
    gpu.synchronize().expect("the device goes on");
    assert_eq!(check(&cases[1], good.iter().map(Tensor::on_host).collect()), Ok(()));
    let negation = case(op("neg"), vec![Tensor::vector(&[1i32])], &[]).expect("a case").program;
    let later = gpu.prepare(negation).expect("a program").launch(&[&bad[0]], bad[0].dims()).expect("a launch");
    for tensor in [&bad[0], &later[0], &bad[0]] {
        let error = tensor.on_host().unwrap_err();
        assert_eq!(
            (error.class(), error.op(), error.message()),
            (Class::InvalidArgument, Some("floormod"), "Integer division by zero")
        );
    }
}

#[test]
fn faults_of_one_thread_are_not_those_of_another() {
    let Some(gpu) = gpu() else { return };
    let cases = divisions();
    std::thread::scope(|scope| {
        for i in 0..4 {
            let (gpu, case) = (&gpu, &cases[i % 2]);
            scope.spawn(move || (0..20).for_each(|_| assert_eq!(check(case, run(gpu, case)), Ok(()))));
        }
    });
}

#[cfg(unix)]
#[test]
#[expect(unsafe_code, reason = "forks")]
fn a_forked_process_is_told_that_it_cannot_use_the_device() {
    let Some(gpu) = gpu() else { return };
    let values = Tensor::vector(&[1i64; 9]);
    let negation = case(op("neg"), vec![values.clone()], &[]).expect("a case").program;
    let tensor = gpu.prepare(negation).expect("a program").launch(&[&values], &[9]).expect("a launch").remove(0);
    // SAFETY: the child calls what takes no lock of another thread, and ends at once.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            let refused = |e: Option<penstock_data::Error>| e.is_some_and(|e| e.class() == Class::FailedPrecondition);
            // The copy that the child asks for in vain is its own: the parent's is made below.
            let right = refused(tensor.on_host().err()) && refused(gpu.upload(&values).err());
            libc::_exit(i32::from(!right));
        }
        let mut status = 0;
        libc::waitpid(child, &mut status, 0);
        status
    };
    assert_eq!(status, 0);
    assert_eq!(tensor.on_host().expect("a copy"), Tensor::vector(&[-1i64; 9]));
}

#[test]
fn one_kernel_serves_equal_programs_from_many_threads() {
    let Some(gpu) = gpu() else { return };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let case = fused_case(DType::F32, &[1001], &[]);
                for _ in 0..20 {
                    assert_eq!(check(&case, run(&gpu, &case)), Ok(()));
                }
            });
        }
    });
}

#[test]
fn more_elements_than_32_bits_count_are_reached() {
    const LEN: usize = (1 << 31) + 77;
    let Some(gpu) = gpu() else { return };
    if gpu.memory().is_none_or(|m| m.free < 3 * LEN as u64) {
        return eprintln!("skipped: too little GPU memory");
    }
    let small = case(op("neg"), vec![Tensor::vector(&[1i8])], &[]).expect("a case");
    let Ok(mut tensor) = Tensor::empty(DType::I8, &[LEN]) else { return eprintln!("skipped: too little memory") };
    let value = |i: usize| (i % 251) as u8;
    tensor.bytes_mut().iter_mut().enumerate().for_each(|(i, b)| *b = value(i));
    let out = queue(&gpu, &small.program, &[tensor], &[LEN]).expect("a launch");
    let got = out[0].on_host().expect("a copy");
    let wrong = got.bytes().iter().enumerate().find(|(i, b)| **b != value(*i).wrapping_neg());
    assert_eq!(wrong, None);
}
