//! A run of each kernel with barriers, watched for races; `make gpu-races` watches all tests of the device so.

#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::loops::{alone, executable_without};
use common::{gpu, mock, op, within};
use penstock_data::{DType, Tensor};
use penstock_exec::{Arg, Device, Executable, StdEnv, eager};
use penstock_ir::{Attr, parse_function};
use penstock_mockcuda::Mock;
use penstock_ops::Ops;

/// The emulated device, whose kernels are watched; `None`, with the reason printed, where there is none.
fn watched() -> Option<(&'static Mock, Arc<dyn Device>)> {
    common::find_driver();
    let Some(mock) = mock::get() else {
        eprintln!("skipped: no emulated driver");
        return None;
    };
    mock.set("races", 1);
    gpu().map(|gpu| (mock, gpu))
}

fn numbers(dims: &[usize]) -> Tensor {
    let values = (0..dims.iter().product::<usize>()).map(|i| ((i * 7919 + 104_729) % 2003) as f32 / 1001.0 - 1.0);
    Tensor::from_slice(dims, &values.collect::<Vec<_>>()).expect("memory")
}

/// Runs an operator on the device.
fn run(gpu: &Arc<dyn Device>, name: &str, inputs: &[&Tensor], attrs: &[(&str, Attr)]) {
    let attrs = op(name).attributes(attrs).unwrap_or_else(|e| panic!("{name}: {e}"));
    let there: Vec<Tensor> = inputs.iter().map(|t| gpu.upload(t).expect("a copy")).collect();
    let results = within(Some(gpu), || eager(op(name), &there.iter().collect::<Vec<_>>(), &attrs, &StdEnv::default()));
    for result in results.unwrap_or_else(|e| panic!("{name}: {e}")) {
        result.on_host().expect("a copy");
    }
}

/// Runs a function whose kernel has sums over rows: more than one tile of them, of which the last block adds up those of all.
fn run_sums(gpu: &Arc<dyn Device>) {
    let text = "func @main(%x: f32[200,70], %b: f32[70]) -> f32[200,70], f32[70] {
                  %d = add %x, %b
                  %e = mul %d, %x
                  %sums = reduce_sum %e {axes=[0]}
                  return %d, %sums
                }";
    let function = parse_function(text, &Ops, &|_| None).expect("a function");
    let executable = Executable::new(&function).expect("an executable");
    let args = [&[200, 70][..], &[70]].map(|dims| Arg::Tensor(gpu.upload(&numbers(dims)).expect("a copy")));
    for result in within(Some(gpu), || executable.run(&args, &StdEnv::default())).expect("results") {
        result.on_host().expect("a copy");
    }
}

/// Runs a loop whose iterations are one kernel, of phases that read what other threads made: a matrix, its columns' sums, their largest
/// element, and what is copied to the places of the variables. Each number has a text of its own.
fn run_rounds(gpu: &Arc<dyn Device>, number: i64) {
    let digit = |k: i64| if number >> k & 1 == 0 { "add" } else { "sub" };
    let digits: String = (0..4).map(|k| format!("%p{} = {} %p{k}, %b\n", k + 1, digit(k))).collect();
    let text = format!(
        "func @main(%x: f32[30,100], %y: f32[100]) -> f32[30,100], f32[100] {{
           %r, %s = while %x, %y ((%a0: f32[30,100], %b0: f32[100]) {{
             %m = reduce_max %b0
             %limit = const {{value=f32[] 3.0}}
             %go = less %m, %limit
             yield %go
           }}, (%a: f32[30,100], %b: f32[100]) {{
             %p0 = mul %a, %b
             {digits}
             %c = mul %p4, %b
             %d = reduce_sum %c {{axes=[0]}}
             %e = reduce_max %d
             %f = abs %e
             %one = const {{value=f32[] 1.0}}
             %g = add %f, %one
             %h = div %c, %g
             %i = add %b, %one
             yield %h, %i
           }})
           return %r, %s
         }}"
    );
    let executable = executable_without(&text, &["unroll", "native"]);
    let args = [&[30, 100][..], &[100]].map(|dims| Arg::Tensor(gpu.upload(&numbers(dims)).expect("a copy")));
    for result in within(Some(gpu), || executable.run(&args, &StdEnv::default())).expect("results") {
        result.on_host().expect("a copy");
    }
}

#[test]
fn a_barrier_that_a_small_loop_lacks_is_found() {
    let Some((mock, gpu)) = watched() else { return };
    let _alone = alone();
    mock.set("seed", 3);
    // As it is, and without each of its barriers. A text is compiled once, so each has a number.
    let found: Vec<bool> = (0..=9)
        .map(|k| {
            mock.set("without_barrier", k);
            run_rounds(&gpu, k);
            mock.set("without_barrier", 0);
            let findings = mock.findings();
            assert!(findings.iter().all(|f| f.contains("a race at ") && f.contains("penstock_rounds")), "{findings:?}");
            !findings.is_empty()
        })
        .collect();
    assert_eq!(mock.count("penstock_rounds"), 10);
    // The first six stand between phases of one thread each, or where another one follows at once. The last three are in front of what reads
    // a sum, in front of the copies, and in front of the next iteration.
    assert_eq!(found, [[false; 7].as_slice(), &[true; 3]].concat());
}

#[test]
fn kernels_with_barriers_have_no_races() {
    let Some((mock, gpu)) = watched() else { return };
    let _alone = alone();
    let axis = |axis: i64| ("axis", Attr::from(axis));
    let axes = |axes: &[i64]| ("axes", Attr::from(axes.to_vec()));
    mock.set("seed", 3);
    // Runs in blocks and parts, alone and several for a result; columns in hundreds of parts.
    run(&gpu, "reduce_sum", &[&numbers(&[140_003])], &[axes(&[0])]);
    run(&gpu, "reduce_sum", &[&numbers(&[6, 40, 3, 50])], &[axes(&[1, 3])]);
    run(&gpu, "reduce_sum", &[&numbers(&[64 * 70 + 5, 1028])], &[axes(&[0])]);
    for name in ["softmax", "log_softmax"] {
        run(&gpu, name, &[&numbers(&[11, 70])], &[]);
    }
    run(&gpu, "softmax_cross_entropy", &[&numbers(&[9, 33]), &numbers(&[9, 33])], &[]);
    run(&gpu, "sparse_softmax_cross_entropy", &[&numbers(&[4, 33]), &Tensor::vector(&[3i32, 0, 32, 7])], &[]);
    run(&gpu, "reduce_logsumexp", &[&numbers(&[3, 100])], &[axes(&[1])]);
    // Lines that a thread walks, and stretches of longer ones, with factors and without.
    for dims in [[40, 100], [2, 9000]] {
        run(&gpu, "cumsum", &[&numbers(&dims)], &[axis(1)]);
    }
    run(&gpu, "linear_recurrence", &[&numbers(&[40, 100]), &numbers(&[40, 100])], &[axis(1)]);
    // The first one, short rows, and rows by digits.
    let first = Tensor::from(1i64);
    run(&gpu, "top_k", &[&numbers(&[3, 5000]), &first], &[("dtype", DType::I32.into())]);
    for dims in [[5, 300], [2, 2500]] {
        run(&gpu, "sort", &[&numbers(&dims)], &[axis(1)]);
    }
    run(&gpu, "transpose", &[&numbers(&[70, 90])], &[]);
    run(&gpu, "matmul", &[&numbers(&[70, 40]), &numbers(&[40, 90])], &[]);
    // Elements that are kept, of several tiles; segments of one, a few, and more elements than a block.
    run(&gpu, "where_indices", &[&numbers(&[40, 100])], &[]);
    run(&gpu, "unique", &[&numbers(&[3000])], &[]);
    let ids: Vec<i32> = (0..9000).map(|i| if i < 40 { i / 3 } else { 20 }).collect();
    run(&gpu, "segment_sum", &[&numbers(&[9000]), &Tensor::vector(&ids)], &[]);
    run_sums(&gpu);
    assert_eq!(mock.findings(), Vec::<String>::new());

    // No text with barriers is left out.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/whole");
    for file in std::fs::read_dir(folder).expect("the sources").flatten().map(|e| e.path()) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if file.extension().is_none_or(|e| e != "cuh") || !(text.contains("__sync") || text.contains("_sync(")) {
            continue;
        }
        let names = text.split("__global__ void ").skip(1).filter_map(|t| t.split_once('(')).map(|(name, _)| name);
        let ran = names.filter(|name| mock.count(name) > 0).count();
        assert!(ran > 0, "no kernel of {} was run", file.display());
    }
    for name in
        ["join_runs", "join_parts", "scan_tile_totals", "scan_tiles", "select_short", "count_digits", "move_by_digit"]
    {
        assert!(mock.count(&format!("penstock_{name}")) > 0, "penstock_{name} was not run");
    }
}
