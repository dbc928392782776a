//! The text of kernels, and the operators that have none. `BLESS=1` rewrites the files.

mod common;

use std::path::Path;

use common::op;
use penstock_cuda::{Kernel, Layout, Program, Variant};
use penstock_data::{DType, Shape, Tensor};
use penstock_ir::{Attr, Builder, Cuda, OpDef, Type, Value, Verified};

fn build(make: impl FnOnce(&mut Builder) -> Vec<Value>) -> Verified {
    let mut builder = Builder::new(&penstock_ops::control::CONST);
    let results = make(&mut builder);
    builder.finish(&results).expect("a graph")
}

fn input(b: &mut Builder, dtype: DType) -> Value {
    b.input(Type::tensor(dtype, Shape::UNRANKED), None)
}

fn emit(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    b.emit(op(name), operands, &[]).unwrap_or_else(|e| panic!("{e}"))[0]
}

#[track_caller]
fn expect(file: &str, graph: &Verified, out: &[usize], inputs: &[&[usize]], wide: bool) {
    let program = common::program(graph).expect("a program");
    let layout = Layout::new(out, inputs).expect("a layout");
    let mut variant = Variant::new(&program, &layout, true);
    variant.wide |= wide;
    expect_text(file, &Kernel::new(&program, variant, &program.name()).text);
}

#[track_caller]
fn expect_text(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("the file is written");
    }
    let due = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(due, text, "{file} differs; BLESS=1 rewrites it");
}

#[test]
fn a_chain_over_one_shape_is_packed() {
    let graph = build(|b| {
        let x = input(b, DType::F32);
        let [zero, one, scale] = [0.0f32, 1.0, 1.050_701].map(|v| b.constant(Tensor::from(v)));
        let positive = emit(b, "greater", &[x, zero]);
        let e = emit(b, "exp", &[x]);
        let below = emit(b, "sub", &[e, one]);
        let chosen = emit(b, "select", &[positive, x, below]);
        vec![emit(b, "mul", &[chosen, scale])]
    });
    expect("packed.cu", &graph, &[1000], &[&[1000]], false);
}

#[test]
fn a_bias_is_reached_by_coordinates_and_half_floats_are_rounded_at_each_step() {
    let graph = build(|b| {
        let (x, bias) = (input(b, DType::F16), input(b, DType::F16));
        let sum = emit(b, "add", &[x, bias]);
        vec![emit(b, "mul", &[sum, sum])]
    });
    expect("strided.cu", &graph, &[8, 16], &[&[8, 16], &[16]], false);
}

#[test]
fn scalars_are_loaded_once_and_several_results_are_stored() {
    let graph = build(|b| {
        let (x, y) = (input(b, DType::I64), input(b, DType::I64));
        let difference = emit(b, "sub", &[x, y]);
        vec![difference, emit(b, "less", &[x, y]), y]
    });
    expect("scalar.cu", &graph, &[100], &[&[100], &[]], true);
}

#[test]
fn divisions_of_integers_have_sites() {
    let graph = build(|b| {
        let (x, y) = (input(b, DType::I32), input(b, DType::I32));
        let q = emit(b, "floordiv", &[x, y]);
        vec![q, emit(b, "floormod", &[q, y])]
    });
    expect("checked.cu", &graph, &[100], &[&[100], &[100]], false);
}

#[test]
fn conversions_name_their_stored_type() {
    let graph = build(|b| {
        let x = input(b, DType::F64);
        let cast = |b: &mut Builder, d: DType| b.emit(op("cast"), &[x], &[("dtype", Attr::DType(d))]).expect("cast")[0];
        vec![cast(b, DType::Bf16), cast(b, DType::I8), cast(b, DType::Bool)]
    });
    expect("cast.cu", &graph, &[100], &[&[100]], false);
}

#[test]
fn the_host_computes_at_most_a_quarter_of_the_operators_on_numbers_and_those_are_listed() {
    // What is no arithmetic: texts, lists, sizes, messages between processes.
    const OTHERS: [&str; 5] =
        ["it is the host's", "it computes sizes", "strings live", "lists live", "groups of processes"];
    let has_numbers = |op: &&'static OpDef| {
        if matches!(op.cuda, Cuda::HostFallback(reason) if OTHERS.iter().any(|other| reason.starts_with(other))) {
            return false;
        }
        let samples = (op.samples)();
        samples.iter().any(|s| !s.inputs.is_empty() && s.inputs.iter().all(|t| t.dtype().size() > 0))
    };
    let all: Vec<&'static OpDef> = penstock_ops::all().filter(has_numbers).collect();
    let on_host = |op: &&'static OpDef| match op.cuda {
        Cuda::HostFallback(reason) => Some(format!("{}: {reason}\n", op.name)),
        _ => None,
    };
    let mut listed: Vec<String> = all.iter().filter_map(on_host).collect();
    listed.sort();
    assert!(listed.len() * 4 <= all.len(), "{} of {} operators", listed.len(), all.len());
    expect_text("host_operators.txt", &listed.concat());
}

#[test]
fn what_has_no_form_is_named() {
    let graph = build(|b| {
        let x = input(b, DType::C64);
        vec![emit(b, "exp", &[x])]
    });
    let error = common::program(&graph).unwrap_err();
    assert_eq!(error.class(), penstock_data::Class::Unimplemented);
    assert!(error.to_string().contains("complex64"), "{error}");
}

#[test]
fn equal_regions_have_equal_text_whatever_their_ids() {
    let text = |extra: bool| {
        let graph = build(|b| {
            if extra {
                b.constant(Tensor::from(1.0f32));
            }
            let x = input(b, DType::F32);
            vec![emit(b, "neg", &[x])]
        });
        let program: Program = common::program(&graph).expect("a program");
        let layout = Layout::new(&[5], &[&[5]]).expect("a layout");
        Kernel::new(&program, Variant::new(&program, &layout, true), &program.name()).text
    };
    assert_eq!(text(false), text(true));
}
