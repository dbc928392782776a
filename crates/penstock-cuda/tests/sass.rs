//! The instructions of kernels, as NVIDIA's disassembler has them, which needs no GPU.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::fused_case;
use penstock_cuda::{Arch, Kernel, Layout, Nvrtc, Variant};
use penstock_data::{DType, Tensor};

/// The environment variable with the disassembler's file.
const VARIABLE: &str = "PENSTOCK_NVDISASM";

/// Every generation with kernels of its own.
const ARCHS: [(u32, u32); 5] = [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)];

/// The disassembler: where the variable says, or in the project's environment.
fn nvdisasm() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from);
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/lib"));
    let pythons = std::fs::read_dir(root).into_iter().flatten().flatten().map(|e| e.path());
    let installed = pythons.map(|p| p.join("site-packages/nvidia/cu13/bin/nvdisasm"));
    named.into_iter().chain(installed).find(|file| file.exists())
}

/// The compiler and the disassembler; `None`, with the reason printed, where one is missing.
fn tools() -> Option<(&'static Nvrtc, PathBuf)> {
    common::add_site_packages();
    let nvrtc = Nvrtc::get().inspect_err(|e| eprintln!("skipped: {e}")).ok()?;
    let found = nvdisasm();
    if found.is_none() {
        eprintln!("skipped: there is no nvdisasm: pip install nvidia-cuda-nvdisasm, or set {VARIABLE} to its file");
    }
    found.map(|file| (nvrtc, file))
}

/// The instructions of each kernel of a source, by its name.
fn listing(nvdisasm: &Path, image: &[u8]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kernels.cubin");
    std::fs::write(&file, image).expect("a temporary file");
    let output = Command::new(nvdisasm).arg(&file).output().expect("the disassembler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sections = text.split("\t.section\t").filter_map(|s| s.strip_prefix(".text.")?.split_once(','));
    sections.map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

/// The memory instructions of a text that begin with `name`.
fn instructions<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    text.split_whitespace().filter(|word| word.starts_with(name)).collect()
}

#[test]
fn elementwise_kernels_biases_and_scaled_rows_take_128_bits_at_a_time_and_spill_nothing() {
    let Some((nvrtc, nvdisasm)) = tools() else { return };
    let shapes: [(&str, &[usize], &[usize]); 5] = [
        ("elementwise", &[4096], &[4096]),
        ("scalar", &[4096], &[]),
        ("bias", &[64, 128], &[128]),
        ("scaled_rows", &[64, 128], &[64, 1]),
        ("outer", &[4, 1, 128], &[6, 128]),
    ];
    let mut kernels = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::Bf16] {
        for (name, x, y) in shapes {
            let case = fused_case(dtype, x, y);
            let dims: Vec<&[usize]> = case.inputs.iter().map(Tensor::dims).collect();
            let layout = Layout::new(&case.dims, &dims).expect("a layout");
            let variant = Variant::new(&case.program, &layout, true);
            kernels.push(Kernel::new(&case.program, variant, &format!("{name}_{dtype}")));
        }
    }
    let source = Kernel::source_of(&kernels);
    for (major, minor) in ARCHS {
        let arch = Arch { major, minor };
        let image = nvrtc.compile(&source, arch).expect("machine code");
        let listing = listing(&nvdisasm, image.bytes());
        assert_eq!(listing.len(), kernels.len(), "{listing:?}");
        for (name, text) in listing {
            for access in ["LDG.E", "STG.E"] {
                let all = instructions(&text, access);
                assert!(all.iter().any(|i| i.contains(".128")), "{name} on sm_{}: {all:?}", arch.number());
            }
            let local = [instructions(&text, "STL"), instructions(&text, "LDL")].concat();
            assert_eq!(local, Vec::<&str>::new(), "{name} on sm_{} has local memory", arch.number());
        }
    }
}
