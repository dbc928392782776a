//! Chains of groups that read each other's neighbours, and of moves between them: random ones, at blocks of every size.

use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, Executable, Variable, reference};
use penstock_ir::{Builder, Function, OpSet, Type, Value, Verified};
use penstock_ops::Ops;
use penstock_passes::{Options, Thresholds};

use super::random::Random;
use super::rows::{same, tensor};
use super::{build, env};

fn op(name: &str) -> &'static penstock_ir::OpDef {
    Ops.find(name).unwrap()
}

/// What is read in windows is made once.
fn blocks(graph: &Verified, bytes: usize) -> Executable {
    planned(graph, bytes, &["recompute_producers"])
}

fn planned(graph: &Verified, bytes: usize, skip: &[&str]) -> Executable {
    let skip = skip.iter().map(|name| name.to_string()).collect();
    let options = Options {
        thresholds: Thresholds { fused_bytes: 0, block_bytes: bytes, ..Thresholds::DEFAULT },
        skip,
        ..Options::default()
    };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

/// A box of a value: from `begin` on, as many as `count` says.
fn cut(b: &mut Builder, x: Value, begin: &[i64], count: &[i64]) -> Value {
    let end: Vec<i64> = begin.iter().zip(count).map(|(b, n)| b + n).collect();
    let ones = vec![1i64; begin.len()];
    let spec = [begin.to_vec(), end, ones].map(|v| b.constant(Tensor::vector(&v)));
    b.emit(op("strided_slice"), &[x, spec[0], spec[1], spec[2]], &[]).unwrap()[0]
}

/// A value with so many elements of `fill` around it.
fn pad(b: &mut Builder, x: Value, widths: &[i64], fill: &Tensor) -> Value {
    let widths = b.constant(Tensor::from_slice(&[widths.len() / 2, 2], widths).unwrap());
    let fill = b.constant(fill.clone());
    b.emit(op("pad"), &[x, widths, fill], &[]).unwrap()[0]
}

fn extents(b: &Builder, x: Value) -> Vec<i64> {
    b.graph().ty(x).shape().extents().unwrap().iter().map(|&d| d as i64).collect()
}

/// Two values cut to the extents that both have, at random places.
fn meet(b: &mut Builder, random: &mut Random, x: Value, y: Value) -> (Value, Value) {
    let (a, c) = (extents(b, x), extents(b, y));
    let count: Vec<i64> = a.iter().zip(&c).map(|(&m, &n)| (m.min(n) - random.below(2) as i64).max(1)).collect();
    let mut place = |b: &mut Builder, v: Value, dims: &[i64]| {
        let begin: Vec<i64> =
            dims.iter().zip(&count).map(|(&d, &n)| random.below((d - n + 1) as usize) as i64).collect();
        if dims == count { v } else { cut(b, v, &begin, &count) }
    };
    let x = place(b, x, &a);
    (x, place(b, y, &c))
}

/// A random chain over arrays of three dimensions.
fn program(seed: u64, dims: [usize; 3]) -> (Verified, Vec<Tensor>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let dtype = [DType::F64, DType::F32, DType::I32][random.below(3)];
    let fill = tensor(&mut random, dtype, &[], false);
    let mut inputs = Vec::new();
    let graph = build(|b| {
        let mut values: Vec<Value> = Vec::new();
        for i in 0..3 {
            let own: Vec<usize> = dims.iter().map(|&d| if i > 0 && random.below(4) == 0 { 1 } else { d }).collect();
            inputs.push(tensor(&mut random, dtype, &own, i == 1));
            values.push(b.input(Type::tensor(dtype, Shape::known(&own)), None));
        }
        for _ in 0..6 + random.below(16) {
            let recent = |random: &mut Random| values[values.len() - 1 - random.below(4.min(values.len()))];
            let (x, y) = (recent(&mut random), recent(&mut random));
            let made = match random.below(12) {
                0..=6 => {
                    let (x, y) = meet(b, &mut random, x, y);
                    let name = ["add", "sub", "mul", "maximum"][random.below(4)];
                    b.emit(op(name), &[x, y], &[]).unwrap()[0]
                }
                7 => b.emit(op(["neg", "abs"][random.below(2)]), &[x], &[]).unwrap()[0],
                8 => {
                    let widths: Vec<i64> = (0..6).map(|_| random.below(3) as i64).collect();
                    pad(b, x, &widths, &fill)
                }
                9 => {
                    let (x, y) = meet(b, &mut random, x, y);
                    let axis = 1 + random.below(2) as i64;
                    b.emit(op("concat"), &[x, y], &[("axis", axis.into())]).unwrap()[0]
                }
                10 => {
                    // The entries of one dimension, each changed, in the reverse order.
                    let axis = 1 + random.below(2) as i64;
                    let parts = b.emit(op("unstack"), &[x], &[("axis", axis.into())]).unwrap();
                    let mut turned: Vec<Value> = Vec::new();
                    for &part in &parts {
                        let before = turned.last().copied().unwrap_or(part);
                        turned.push(b.emit(op("add"), &[part, before], &[]).unwrap()[0]);
                    }
                    turned.reverse();
                    b.emit(op("stack"), &turned, &[("axis", axis.into())]).unwrap()[0]
                }
                _ if dtype == DType::I32 => b.emit(op("floordiv"), &[x, values[0]], &[]).map_or(x, |made| made[0]),
                _ => b.emit(op("exp"), &[x], &[]).unwrap()[0],
            };
            values.push(made);
        }
        let mut outputs = vec![values[values.len() - 1]];
        for _ in 0..random.below(3) {
            outputs.push(values[3 + random.below(values.len() - 3)]);
        }
        outputs
    });
    (graph, inputs)
}

fn agree(seed: u64, dims: [usize; 3], sizes: &[usize]) -> usize {
    let (graph, inputs) = program(seed, dims);
    let args: Vec<Arg> = inputs.into_iter().map(Arg::from).collect();
    // An error may be that of an instruction which is of no use, and which no plan has.
    let parts = Options {
        thresholds: Thresholds { fused_bytes: 0, ..Thresholds::DEFAULT },
        skip: vec!["pipelines".to_owned()],
        ..Options::default()
    };
    let apart = Executable::with_options(&Function::new("f", graph.clone()), parts).unwrap();
    let expected =
        reference::run(&graph, &args, &env()).or_else(|_| apart.run(&args, &env()).map(|got| got.into_vec()));
    let mut stepped = 0;
    let windows = planned(&graph, 1 << 20, &[]);
    for (bytes, executable) in sizes.iter().map(|&n| (n, blocks(&graph, n))).chain([(1 << 20, windows)]) {
        for round in 0..2 {
            let got = executable.run(&args, &env());
            let what = || {
                format!("seed {seed}, blocks of {bytes} bytes, round {round}:\n{graph}\n{}", executable.text().unwrap())
            };
            match (&expected, got) {
                (Ok(due), Ok(got)) => assert!(due.iter().zip(&got).all(|(due, got)| same(got, due)), "{}", what()),
                (Err(due), Err(got)) => {
                    assert_eq!((got.class(), got.message()), (due.class(), due.message()), "{}", what())
                }
                (due, got) => panic!("{due:?} {got:?} {}", what()),
            }
        }
        stepped = stepped.max(executable.text().unwrap().matches("= pipeline").count());
    }
    stepped
}

#[test]
fn random_chains_agree_with_the_reference_at_blocks_of_every_size() {
    let stepped: usize = (0..300).map(|seed| agree(seed, [9 + seed as usize % 8, 3, 5], &[0, 700, 1 << 20])).sum();
    assert!(stepped > 150, "{stepped} steps had a pipeline");
}

#[test]
fn chunks_of_several_threads_agree_with_the_reference() {
    let stepped: usize = (1000..1012).map(|seed| agree(seed, [160, 9, 40], &[0, 100_000])).sum();
    assert!(stepped > 6, "{stepped} steps had a pipeline");
}

#[test]
fn short_rows_among_others_agree_with_the_reference() {
    for (seed, dims) in (2000..2120).zip([[5, 50, 7], [4, 70, 4], [6, 30, 12], [5, 200, 3]].into_iter().cycle()) {
        agree(seed, dims, &[0, 1 << 20]);
    }
}

#[test]
fn a_division_by_zero_is_reported_though_nobody_reads_its_row() {
    let ty = Type::tensor(DType::I32, Shape::known(&[20, 3]));
    let graph = build(|b| {
        let (x, y) = (b.input(ty.clone(), None), b.input(ty.clone(), None));
        let sum = b.emit(op("add"), &[x, y], &[]).unwrap()[0];
        let first = cut(b, sum, &[0, 0], &[19, 3]);
        let second = cut(b, y, &[1, 0], &[19, 3]);
        let q = b.emit(op("floordiv"), &[first, second], &[]).unwrap()[0];
        let q = pad(b, q, &[1, 1, 0, 0], &Tensor::from(1i32));
        let (low, high) = (cut(b, q, &[4, 0], &[14, 3]), cut(b, q, &[6, 0], &[14, 3]));
        vec![b.emit(op("sub"), &[low, high], &[]).unwrap()[0]]
    });
    let ones = Tensor::from_slice(&[20, 3], &[1i32; 60]).unwrap();
    let mut zeros = [1i32; 60];
    zeros[4] = 0;
    for (divisors, fails) in [(ones.clone(), false), (Tensor::from_slice(&[20, 3], &zeros).unwrap(), true)] {
        let args = [Arg::from(ones.clone()), Arg::from(divisors)];
        assert_eq!(reference::run(&graph, &args, &env()).is_err(), fails);
        for bytes in [0, 1 << 20] {
            assert_eq!(blocks(&graph, bytes).run(&args, &env()).is_err(), fails);
        }
    }
}

#[test]
fn rows_that_are_one_row_of_another_array_are_all_made_before() {
    for n in [1, 2, 3, 5] {
        let graph = build(|b| {
            let x = b.input(Type::tensor(DType::F64, Shape::known(&[n, 4])), None);
            let y = b.input(Type::tensor(DType::F64, Shape::known(&[1, n])), None);
            let columns = b.emit(op("unstack"), &[x], &[("num", 4i64.into()), ("axis", 1i64.into())]).unwrap();
            let sum = b.emit(op("add"), &[columns[0], columns[1]], &[]).unwrap()[0];
            let all = b.emit(op("mul"), &[y, sum], &[]).unwrap()[0];
            let none = b.emit(op("relu"), &[all], &[]).unwrap()[0];
            vec![none, b.emit(op("neg"), &[columns[2]], &[]).unwrap()[0]]
        });
        let values: Vec<f64> = (0..4 * n).map(|i| (i * 5 % 7) as f64 - 2.0).collect();
        let args = [Tensor::from_slice(&[n, 4], &values), Tensor::from_slice(&[1, n], &values[..n])];
        let args = args.map(|t| Arg::from(t.unwrap()));
        let due = reference::run(&graph, &args, &env()).unwrap();
        let mut pipelines = 0;
        for seed in 0..64 {
            let options = Options { skip: vec!["native".into()], ..Thresholds::mixed(seed).into() };
            let executable = Executable::with_options(&Function::new("f", graph.clone()), options).unwrap();
            pipelines += usize::from(executable.text().unwrap().contains("= pipeline"));
            let found = executable.run(&args, &env()).unwrap();
            assert!(found.iter().zip(&due).all(|(a, b)| same(a, b)), "{n}, {seed}: {}", executable.text().unwrap());
        }
        assert!(pipelines > 0 || n > 3, "{n}");
    }
}

#[test]
fn what_passes_between_the_parts_of_a_step_is_not_there_as_a_whole() {
    // A stencil of a stencil.
    let graph = build(|b| {
        let x = b.input(Type::tensor(DType::F64, Shape::known(&[400, 100])), None);
        let mut sum = |x: Value, rows: i64| {
            let (low, high) = (cut(b, x, &[0, 0], &[rows, 100]), cut(b, x, &[1, 0], &[rows, 100]));
            b.emit(op("add"), &[low, high], &[]).unwrap()[0]
        };
        let once = sum(x, 399);
        vec![sum(once, 398)]
    });
    let listing = blocks(&graph, 1 << 20).text().unwrap();
    assert!(listing.contains("= pipeline") && !listing.contains("Bytes(319200)"), "{listing}");
}

#[test]
fn a_part_of_a_variable_is_written_where_it_is_made() {
    let mut random = Random(11);
    let dims = [40, 300];
    let graph = build(|b| {
        let shape = Shape::known(&dims);
        let (v, w) = (
            b.input(Type::Variable(DType::F64, shape.clone()), None),
            b.input(Type::Variable(DType::F64, shape), None),
        );
        for (from, to) in [(v, w), (w, v), (v, v)] {
            let x = b.emit(op("read_variable"), &[from], &[]).unwrap()[0];
            let (left, right) = (cut(b, x, &[1, 0], &[38, 298]), cut(b, x, &[0, 2], &[38, 298]));
            let sum = b.emit(op("add"), &[left, right], &[]).unwrap()[0];
            let spec = [vec![1i64, 1], vec![39, 299], vec![1, 1]].map(|v| b.constant(Tensor::vector(&v)));
            b.inst(op("strided_slice_assign"), &[to, spec[0], spec[1], spec[2], sum], penstock_ir::Attrs::EMPTY, &[])
                .unwrap();
        }
        vec![b.emit(op("read_variable"), &[v], &[]).unwrap()[0]]
    });
    let first = tensor(&mut random, DType::F64, &dims, true);
    let second = tensor(&mut random, DType::F64, &dims, true);
    let run = |by: &dyn Fn(&[Arg]) -> Vec<Tensor>| {
        let made =
            [&first, &second].map(|x| Variable::new("v", DType::F64, Shape::known(&dims), Some(x.clone())).unwrap());
        let mut seen = by(&made.clone().map(Arg::from));
        seen.extend(made.iter().map(|v| v.read().unwrap()));
        seen
    };
    let executable = blocks(&graph, 1 << 20);
    assert_eq!(executable.text().unwrap().matches("part of v").count(), 3, "{}", executable.text().unwrap());
    let due = run(&|args| reference::run(&graph, args, &env()).unwrap());
    let got = run(&|args| executable.run(args, &env()).unwrap().into_vec());
    assert!(due.iter().zip(&got).all(|(due, got)| same(got, due)));
    // What was read before is as it was.
    assert!(same(&first, &tensor(&mut Random(11), DType::F64, &dims, true)));
}
