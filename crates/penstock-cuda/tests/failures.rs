//! What users read where something is missing, and what the device does where the driver fails: by the emulated driver.

#![cfg(target_os = "linux")]

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{check, fused_case};
use penstock_cuda::{CudaDevice, driver};
use penstock_data::{Class, DType, Result, Tensor};
use penstock_exec::{Device, Program as _, StdEnv, eager, register};

/// Code of a driver that is out of memory.
const OUT_OF_MEMORY: i32 = 2;

/// What the emulated driver counts is everybody's, so one test that counts runs at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Does what a first use of the device does, and prints the error; run in a process of its own by the tests below.
#[test]
#[ignore = "not a test by itself: the tests below run it, each in a process of its own"]
fn first_use() {
    common::add_site_packages();
    let first = || -> Result<()> {
        driver()?;
        let case = fused_case(DType::F32, &[4], &[4]);
        run(&CudaDevice::new(0)?, &case).map(|_| ())
    };
    match first() {
        Ok(()) => println!("says: nothing"),
        Err(e) => println!("says: {:?}: {}", e.class(), e.message()),
    }
}

fn run(gpu: &CudaDevice, case: &common::Case) -> Result<Vec<Tensor>> {
    let inputs = case.inputs.iter().map(|t| gpu.upload(t)).collect::<Result<Vec<_>>>()?;
    let outputs = gpu.prepare(case.program.clone())?.launch(&inputs.iter().collect::<Vec<_>>(), &case.dims)?;
    outputs.iter().map(Tensor::on_host).collect()
}

/// What a process says at its first use of the device, with the emulated driver and these variables; `None` where the
/// emulation was not built.
fn says(variables: &[(&str, &str)]) -> Option<String> {
    let mock: PathBuf = penstock_mockcuda::path().filter(|_| common::mock::has_compiler())?;
    let mut command = Command::new(std::env::current_exe().expect("the test's own file"));
    command.args(["--exact", "first_use", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("PENSTOCK_CUDA_DRIVER", &mock).env("PENSTOCK_NVRTC", &mock).env("PENSTOCK_CUDA_CACHE", "");
    command.envs(variables.iter().copied());
    let output = command.output().expect("the test runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, said) = text.split_once("says: ").unwrap_or_else(|| panic!("{text}"));
    Some(said.lines().next().unwrap_or_default().to_string())
}

#[track_caller]
fn assert_says(variables: &[(&str, &str)], parts: &[&str]) {
    let Some(said) = says(variables) else { return eprintln!("skipped: no emulated driver") };
    for part in parts {
        assert!(said.contains(part), "{said:?} does not say {part:?}");
    }
}

#[test]
fn with_a_driver_and_a_compiler_nothing_is_missing() {
    assert_says(&[], &["nothing"]);
}

#[test]
fn a_driver_that_is_not_there_is_named() {
    assert_says(
        &[("PENSTOCK_CUDA_DRIVER", "/nowhere/libcuda.so")],
        &["FailedPrecondition", "PENSTOCK_CUDA_DRIVER", "/nowhere/libcuda.so"],
    );
}

#[test]
fn the_stub_of_a_toolkit_is_no_driver() {
    assert_says(&[("PENSTOCK_MOCK_INIT", "34")], &["FailedPrecondition", "stub", "LD_LIBRARY_PATH"]);
}

#[test]
fn a_container_without_gpus_is_told_how_to_start() {
    assert_says(&[("PENSTOCK_MOCK_INIT", "100")], &["FailedPrecondition", "sees no GPU", "--gpus all"]);
}

#[test]
fn an_old_driver_is_named_with_the_version_that_is_needed() {
    assert_says(&[("PENSTOCK_MOCK_DRIVER", "12020")], &["FailedPrecondition", "CUDA 12.2", "12.8", "newer driver"]);
}

#[test]
fn a_compiler_that_is_newer_than_the_driver_is_refused_with_the_command_for_another() {
    assert_says(
        &[("PENSTOCK_MOCK_DRIVER", "12080")],
        &["FailedPrecondition", "NVRTC 13", "pip install nvidia-cuda-nvrtc-cu12"],
    );
}

#[test]
fn a_compiler_that_is_not_there_is_named_with_the_command_that_installs_it() {
    assert_says(
        &[("PENSTOCK_NVRTC", "/nowhere/libnvrtc.so")],
        &["FailedPrecondition", "pip install nvidia-cuda-nvrtc", "/nowhere/libnvrtc.so"],
    );
}

#[test]
fn no_devices_are_no_device_0() {
    assert_says(&[("PENSTOCK_MOCK_DEVICES", "0")], &["NotFound", "no GPU 0"]);
}

#[test]
fn too_little_memory_names_the_tensor() {
    assert_says(
        &[("PENSTOCK_MOCK_MEMORY", "20")],
        &["ResourceExhausted", "out of memory on GPU 0", "float32", "[4]", "16 bytes"],
    );
}

#[test]
fn an_allocation_that_fails_leaves_the_device_usable_and_nothing_behind() {
    let _alone = alone();
    common::find_driver();
    let Some(mock) = common::mock::get() else { return eprintln!("skipped: no emulated driver") };
    let gpu = CudaDevice::new(0).expect("the emulated GPU");
    gpu.set_keeps_memory(false).expect("the driver");
    let case = fused_case(DType::F32, &[64], &[64]);
    assert_eq!(check(&case, run(&gpu, &case)), Ok(()));
    let before = mock.blocks();
    // Each allocation is tried twice.
    for nth in 1..=4 {
        let calls = mock.count("cuMemAllocAsync");
        mock.fail("cuMemAllocAsync", nth, OUT_OF_MEMORY);
        assert_eq!(check(&case, run(&gpu, &case)), Ok(()), "the retry succeeds");
        assert_eq!(mock.count("cuMemAllocAsync") - calls, 5);
    }
    mock.set("memory", 0);
    assert_eq!(run(&gpu, &case).err().map(|e| e.class()), Some(Class::ResourceExhausted));
    mock.set("memory", 1 << 29);
    assert_eq!(check(&case, run(&gpu, &case)), Ok(()));
    assert_eq!(mock.blocks(), before, "blocks are left");
    for (call, class) in [("cuLaunchKernel", Class::Internal), ("cuMemcpyHtoDAsync_v2", Class::Internal)] {
        mock.fail(call, 1, 1);
        assert_eq!(run(&gpu, &case).err().map(|e| e.class()), Some(class), "{call}");
        assert_eq!(check(&case, run(&gpu, &case)), Ok(()), "behind a failure of {call}");
    }
    assert_eq!(mock.blocks(), before, "blocks are left");
    assert_eq!(mock.findings(), Vec::<String>::new());
}

/// A convolution of the device, of ones by ones.
fn convolved(gpu: &CudaDevice, images: usize) -> Result<Vec<f32>> {
    let conv = common::op("conv");
    let ones = |dims: &[usize]| {
        let ones = Tensor::from_slice(dims, &vec![1.0f32; dims.iter().product()]).expect("memory");
        gpu.upload(&ones).expect("a copy")
    };
    let attrs = conv.attributes(&[("padding", "SAME".into())])?;
    let out = eager(conv, &[&ones(&[images, 4, 4, 2]), &ones(&[3, 3, 2, 5])], &attrs, &StdEnv::default())?;
    Ok(out[0].on_host()?.as_slice::<f32>().to_vec())
}

#[test]
fn what_cudnn_does_not_take_is_computed_without_it_and_its_failures_are_errors() {
    const NOT_SUPPORTED: i32 = 3000;
    const EXECUTION_FAILED: i32 = 5000;
    let _alone = alone();
    common::find_driver();
    let Some(mock) = common::mock::get() else { return eprintln!("skipped: no emulated driver") };
    let gpu = CudaDevice::new(0).expect("the emulated GPU");
    register(std::sync::Arc::new(CudaDevice::new(0).expect("the emulated GPU")));
    let due = convolved(&gpu, 1).expect("a result");
    assert_eq!(mock.count("cudnnConvolutionForward"), 1);
    let stages = [
        "cudnnGetConvolutionForwardAlgorithm_v7",
        "cudnnGetConvolutionForwardWorkspaceSize",
        "cudnnConvolutionForward",
    ];
    for (i, call) in stages.into_iter().enumerate() {
        // A geometry that is new, since what was decided for one stays.
        let images = 2 + i;
        mock.fail(call, 1, NOT_SUPPORTED);
        let runs = mock.count("cudnnConvolutionForward");
        for _ in 0..2 {
            let got = convolved(&gpu, images).expect("a result");
            assert!(got.chunks(due.len()).all(|image| image == due), "{call}");
        }
        assert_eq!(mock.count("cudnnConvolutionForward") - runs, u64::from(i == 2), "{call}");
        let decided = gpu.convolutions().expect("an open device");
        let line = decided.iter().find(|line| line.contains(&format!("batch {images} "))).expect("a decision");
        assert!(line.contains("patches") && line.contains("CUDNN_STATUS_NOT_SUPPORTED"), "{line}");
    }
    for (i, call) in stages.into_iter().enumerate() {
        let images = 5 + i;
        mock.fail(call, 1, EXECUTION_FAILED);
        let error = convolved(&gpu, images).expect_err("a failure");
        assert_eq!(error.class(), Class::Internal, "{call}");
        for part in ["cuDNN", "CUDNN_STATUS_EXECUTION_FAILED", "PENSTOCK_CUDNN"] {
            assert!(error.message().contains(part), "{}", error.message());
        }
        assert_eq!(convolved(&gpu, images).expect("a result").len(), images * due.len());
    }
    assert_eq!(mock.findings(), Vec::<String>::new());
}
