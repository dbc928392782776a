//! Generated kernels, compiled as host C++ and run one thread after another, against the CPU.

#![expect(unsafe_code, reason = "calls into code that was just generated and compiled")]

mod common;

use std::collections::HashMap;
use std::ffi::c_void;
use std::process::Command;

use common::{Case, check, fault, report};
use penstock_cuda::{Kernel, Layout, PRELUDE, Variant};
use penstock_data::{Result, Tensor};

/// Kernels as a host library.
struct Emulator {
    library: libloading::Library,
    numbers: HashMap<String, u32>,
    /// Holds the library's file; removed when this is dropped.
    _folder: tempfile::TempDir,
}

/// The C++ compiler of this machine, where there is one.
fn compiler() -> Option<String> {
    let named = std::env::var("CXX").ok().filter(|c| !c.is_empty());
    let known = ["c++", "g++", "clang++"].map(String::from);
    named.into_iter().chain(known).find(|c| Command::new(c).arg("--version").output().is_ok_and(|o| o.status.success()))
}

impl Emulator {
    /// Compiles kernels; `None`, with the reason printed, where there is no compiler.
    fn new(kernels: &[Kernel]) -> Option<Emulator> {
        let Some(compiler) = compiler() else {
            eprintln!("skipped: there is no C++ compiler (c++, g++ or clang++, or $CXX)");
            return None;
        };
        let mut source = format!("{}\n{PRELUDE}\n", include_str!("../../penstock-mockcuda/src/device.h"));
        for kernel in kernels {
            source.push_str(&kernel.text);
        }
        source.push_str("extern \"C\" void penstock_emulate(unsigned int kernel, void** args, unsigned int blocks, unsigned int threads) {\n    const mock_launch launch = {{blocks, 1, 1}, {threads, 1, 1}, 0, 0};\n    switch (kernel) {\n");
        for (i, kernel) in kernels.iter().enumerate() {
            source.push_str(&format!("    case {i}: mock_run({}, args, &launch); return;\n", kernel.name));
        }
        source.push_str("    }\n}\n");

        let folder = tempfile::tempdir().expect("a temporary folder");
        let (text, binary) = (folder.path().join("kernels.cpp"), folder.path().join("kernels.so"));
        std::fs::write(&text, source).expect("a source file");
        let output = Command::new(compiler)
            .args(["-std=c++17", "-O0", "-fPIC", "-shared", "-ffp-contract=off", "-w", "-o"])
            .arg(&binary)
            .arg(&text)
            .output()
            .expect("the compiler runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr).chars().take(4000).collect::<String>()
        );
        // SAFETY: the library was made of the text above, and has no initialisers.
        let library = unsafe { libloading::Library::new(&binary) }.expect("the library loads");
        let numbers = kernels.iter().enumerate().map(|(i, k)| (k.name.clone(), i as u32)).collect();
        Some(Emulator { library, numbers, _folder: folder })
    }

    fn run(&self, case: &Case, kernel: &Kernel, layout: &Layout, blocks: u32) -> Result<Vec<Tensor>> {
        let mut outputs = Vec::new();
        for output in &case.program.outputs {
            outputs.push(Tensor::zeros(output.dtype, &case.dims)?);
        }
        let mut word = u32::MAX;
        let to: Vec<u64> = outputs.iter_mut().map(|t| t.as_mut_ptr().map_or(0, |p| p as u64)).collect();
        let from: Vec<u64> = case.inputs.iter().map(|t| t.as_ptr() as u64).collect();
        if layout.len > 0 {
            let args = kernel.arguments(layout, &to, &from, (std::ptr::from_mut(&mut word) as u64, 0), (&[], 0));
            let mut pointers: Vec<*mut c_void> = args.iter().map(|a| a.as_ptr()).collect();
            // SAFETY: the function has this type; the arguments are those of the kernel's signature,
            // and point to tensors of the extents that the layout was made of.
            unsafe {
                let emulate: libloading::Symbol<'_, unsafe extern "C" fn(u32, *mut *mut c_void, u32, u32)> =
                    self.library.get(b"penstock_emulate\0").expect("the entry");
                emulate(self.numbers[&kernel.name], pointers.as_mut_ptr(), blocks, 32);
            }
        }
        if word == u32::MAX { Ok(outputs) } else { Err(fault(&case.program, word)) }
    }
}

/// Runs every case in its variants: with packs and without, with 32-bit indices and with 64-bit ones.
fn emulate(cases: Vec<Case>) {
    assert!(!cases.is_empty(), "nothing to try");
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut runs = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let dims: Vec<&[usize]> = case.inputs.iter().map(Tensor::dims).collect();
        let layout = Layout::new(&case.dims, &dims).unwrap_or_else(|e| panic!("{}: {e}", case.what));
        for aligned in [true, false] {
            // Small tensors lie inline, on 8 bytes.
            let aligned =
                aligned && case.inputs.iter().all(|t| (t.as_ptr() as usize).is_multiple_of(16)) && layout.len > 16;
            let mut variant = Variant::new(&case.program, &layout, aligned);
            variant.wide = !aligned && i % 2 == 0;
            let text = Kernel::new(&case.program, variant.clone(), "kernel").text;
            let number = *known.entry(text).or_insert_with(|| {
                let number = kernels.len();
                kernels.push(Kernel::new(&case.program, variant, &format!("k{number}")));
                number
            });
            runs.push((case, layout.clone(), number));
        }
    }
    let Some(emulator) = Emulator::new(&kernels) else { return };
    let run = |(case, layout, number): &(&Case, Layout, usize)| {
        // One block where that is all the grid, and a grid whose stride does not divide the length.
        [1, 3].into_iter().find_map(|blocks| check(case, emulator.run(case, &kernels[*number], layout, blocks)).err())
    };
    let complaints: Vec<String> = runs.iter().filter_map(run).collect();
    eprintln!("{} runs of {} kernels", runs.len() * 2, kernels.len());
    report(runs.len(), complaints);
}

#[test]
fn every_operator_computes_what_the_cpu_computes() {
    emulate(common::operator_cases());
}

#[test]
fn every_helper_computes_what_the_cpu_computes_at_the_edges() {
    emulate(common::helper_cases());
}

#[test]
fn every_shape_reaches_every_element() {
    emulate(common::shape_cases());
}
