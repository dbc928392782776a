//! Generated kernels through NVRTC, which needs no GPU.

mod common;

use std::collections::BTreeSet;

use common::{Case, fused_case};
use penstock_cuda::{Arch, Kernel, Layout, Nvrtc, PRELUDE, Program, Variant, combined};
use penstock_data::{DType, Shape, Tensor};
use penstock_ir::{Attr, Builder, Type};

const SM_80: Arch = Arch { major: 8, minor: 0 };
const SM_90: Arch = Arch { major: 9, minor: 0 };

/// The compiler; `None`, with the reason printed, where there is none.
fn nvrtc() -> Option<&'static Nvrtc> {
    common::add_site_packages();
    Nvrtc::get().inspect_err(|e| eprintln!("skipped: {e}")).ok()
}

fn kernel(case: &Case, name: &str) -> Kernel {
    let dims: Vec<&[usize]> = case.inputs.iter().map(Tensor::dims).collect();
    let layout = Layout::new(&case.dims, &dims).expect("a layout");
    Kernel::new(&case.program, Variant::new(&case.program, &layout, true), name)
}

/// Compiles a kernel of every distinct program of some cases, all as one source.
fn compile_all(cases: &[Case], arch: Arch) {
    let Some(nvrtc) = nvrtc() else { return };
    let mut known: Vec<&Program> = Vec::new();
    let mut source = PRELUDE.to_string();
    for case in cases {
        if !known.contains(&&case.program) {
            known.push(&case.program);
            source.push_str(&kernel(case, &format!("k{}", known.len())).text);
        }
    }
    assert!(!known.is_empty(), "nothing to compile");
    let image = nvrtc.compile(&source, arch).unwrap_or_else(|e| panic!("sm_{}: {e}", arch.number()));
    assert_eq!(&image.bytes()[..4], b"\x7fELF", "machine code for sm_{}", arch.number());
}

#[test]
fn every_operator_compiles() {
    compile_all(&common::operator_cases(), SM_90);
}

#[test]
fn every_helper_compiles() {
    compile_all(&common::helper_cases(), SM_80);
}

#[test]
fn every_variant_compiles() {
    let Some(nvrtc) = nvrtc() else { return };
    let mut texts = BTreeSet::new();
    for (i, case) in common::shape_cases().iter().enumerate() {
        let dims: Vec<&[usize]> = case.inputs.iter().map(Tensor::dims).collect();
        let layout = Layout::new(&case.dims, &dims).expect("a layout");
        let mut variant = Variant::new(&case.program, &layout, i % 3 > 0);
        variant.wide = i % 2 == 0;
        texts.insert(Kernel::new(&case.program, variant, "NAME").text);
    }
    let named = texts.iter().enumerate().map(|(i, text)| text.replace("NAME", &format!("k{i}")));
    let source = named.fold(PRELUDE.to_string(), |all, text| all + &text);
    for arch in [SM_80, SM_90] {
        nvrtc.compile(&source, arch).unwrap_or_else(|e| panic!("sm_{}: {e}", arch.number()));
    }
}

#[test]
fn a_device_newer_than_the_compiler_gets_ptx_with_packed_accesses_and_no_contraction() {
    let Some(nvrtc) = nvrtc() else { return };
    let kernel = kernel(&fused_case(DType::F32, &[4096], &[4096]), "kernel");
    let image = nvrtc.compile(&kernel.source(), Arch { major: 99, minor: 0 }).expect("PTX");
    let ptx = String::from_utf8_lossy(image.bytes()).into_owned();
    assert!(ptx.contains(".visible .entry kernel("), "{ptx}");
    assert!(ptx.contains("ld.global.v4") && ptx.contains("st.global.v4"), "{ptx}");
    assert!(!ptx.contains("fma.rn.f32"), "{ptx}");
}

/// The text of a kernel that multiplies and adds up columns, `y` and its sums over 1000 rows of 64.
fn sums_kernel() -> Kernel {
    let mut builder = Builder::new(&penstock_ops::control::CONST);
    let ty = Type::tensor(DType::F32, Shape::known(&[1000, 64]));
    let (x, y) = (builder.input(ty.clone(), None), builder.input(ty, None));
    let product = builder.emit(common::op("mul"), &[x, y], &[]).expect("a product")[0];
    let sums = builder
        .emit(common::op("reduce_sum"), &[product], &[("axes", Attr::Ints([0].as_slice().into()))])
        .expect("sums")[0];
    let graph = builder.finish(&[product, sums]).expect("a graph");
    let program = common::program(&graph).expect("a program");
    let mut layout = Layout::new(&[1000, 64], &[&[1000, 64], &[1000, 64]]).expect("a layout");
    layout.columns = program.columns();
    Kernel::new(&program, Variant::new(&program, &layout, true), "kernel")
}

/// The PTX of a source.
fn ptx(nvrtc: &Nvrtc, source: &str) -> String {
    let image = nvrtc.compile(source, Arch { major: 99, minor: 0 }).expect("PTX");
    String::from_utf8_lossy(image.bytes()).into_owned()
}

#[test]
fn kernels_of_biases_and_of_rows_that_are_scaled_have_packed_accesses() {
    let Some(nvrtc) = nvrtc() else { return };
    for (x, y) in [(&[64, 8][..], &[8][..]), (&[64, 8], &[64, 1]), (&[4, 1, 8], &[6, 8])] {
        let ptx = ptx(nvrtc, &kernel(&fused_case(DType::F32, x, y), "kernel").source());
        assert!(ptx.contains("ld.global.v4") && ptx.contains("st.global.v4") && !ptx.contains(".local"), "{ptx}");
    }
}

#[test]
fn a_kernel_with_sums_over_rows_has_packed_accesses() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = sums_kernel().source();
    let ptx = ptx(nvrtc, &source);
    assert!(ptx.contains("ld.global.v4") && ptx.contains("st.global.v4") && !ptx.contains(".local"), "{ptx}");
    nvrtc.compile(&source, SM_80).expect("machine code");
}

#[test]
fn a_kernel_of_several_programs_reads_its_arguments_where_they_are() {
    let Some(nvrtc) = nvrtc() else { return };
    let part = |dims: &[usize], bias: &[usize], name: &str| {
        let case = fused_case(DType::F32, dims, bias);
        let inputs: Vec<&[usize]> = case.inputs.iter().map(Tensor::dims).collect();
        let layout = Layout::new(&case.dims, &inputs).expect("a layout");
        Kernel::part(&case.program, &Variant::new(&case.program, &layout, true), name)
    };
    let text = part(&[4096], &[4096], "whole") + &part(&[64, 8], &[8], "rows");
    let source = format!("{PRELUDE}\n{text}{}", combined("kernel", &[("whole", 3), ("rows", 2)]));
    let ptx = ptx(nvrtc, &source);
    // No copy of the arguments in memory of the thread.
    assert!(ptx.contains("ld.global.v4") && ptx.contains("st.global.v4") && !ptx.contains(".local"), "{ptx}");
    nvrtc.compile(&source, SM_80).expect("machine code");
}

#[test]
fn a_rejected_source_gives_the_messages_of_the_compiler() {
    let Some(nvrtc) = nvrtc() else { return };
    let error = nvrtc.compile("__global__ void kernel() { undeclared = 1; }", SM_80).unwrap_err();
    assert!(error.message().contains("undeclared"), "{error}");
    let error = nvrtc.compile("", Arch { major: 1, minor: 0 }).unwrap_err();
    assert_eq!(error.class(), penstock_data::Class::Unimplemented);
}
