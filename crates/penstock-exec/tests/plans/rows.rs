//! Groups of elementwise instructions and reductions: random ones, and those that models are made of.

use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, reference};
use penstock_ir::{OpSet, Type, Value, Verified};
use penstock_ops::Ops;

use super::random::Random;
use super::{build, env, executable, fusing, fusing_without_runs};

pub(crate) fn op(name: &str) -> &'static penstock_ir::OpDef {
    Ops.find(name).unwrap()
}

/// A tensor of a dtype with fractions of both signs, among them NaN, infinities and -0 where `odd`.
pub(crate) fn tensor(random: &mut Random, dtype: DType, dims: &[usize], odd: bool) -> Tensor {
    let n = dims.iter().product();
    let odds = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];
    let one = |random: &mut Random| match odd && random.below(40) == 0 {
        true => odds[random.below(odds.len())],
        false => random.below(2001) as f64 / 1000.0 - 1.0,
    };
    let x: Vec<f64> = (0..n).map(|_| one(random)).collect();
    match dtype {
        DType::F64 => Tensor::from_slice(dims, &x),
        DType::F16 => Tensor::from_slice(dims, &x.iter().map(|&x| penstock_data::f16::from_f64(x)).collect::<Vec<_>>()),
        DType::I32 => Tensor::from_slice(dims, &x.iter().map(|&x| (x * 100.0) as i32).collect::<Vec<_>>()),
        _ => Tensor::from_slice(dims, &x.iter().map(|&x| x as f32).collect::<Vec<_>>()),
    }
    .unwrap()
}

/// Extents whose last dimensions, or whose first ones, `axes` reduces.
fn extents(random: &mut Random) -> (Vec<usize>, Vec<i64>) {
    match random.below(12) {
        0 => (vec![100, 3], vec![1]),
        1 => (vec![37, 31], vec![-1]),
        2 => (vec![5, 7, 33], vec![2]),
        3 => (vec![300, 300], vec![1]),
        4 => (vec![3, 600], vec![1]),
        5 => (vec![2, 5000], vec![1]),
        6 => (vec![2, 3, 4, 50], vec![2, 3]),
        7 => (vec![70_001], vec![0]),
        8 => (vec![200, 700], vec![0]),
        9 => (vec![1000, 70], vec![0]),
        10 => (vec![3, 150, 10], vec![1]),
        _ => (vec![2, 1, 9000], vec![0, 1, 2]),
    }
}

/// A random group of one of the shapes of [`extents`], with inputs that broadcast to it.
fn program(seed: u64) -> (Verified, Vec<Tensor>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (dims, axes) = extents(&mut random);
    let dtype = [DType::F32, DType::F32, DType::F64, DType::F16, DType::I32][random.below(5)];
    let mut inputs = Vec::new();
    let graph = build(|b| {
        let mut values: Vec<Value> = Vec::new();
        for i in 0..2 + random.below(3) {
            let mut own = dims.clone();
            if i > 0 {
                for d in &mut own {
                    *d = if random.below(3) == 0 { 1 } else { *d };
                }
                let drop = if random.below(3) == 0 { random.below(own.len()) } else { 0 };
                own.drain(..drop);
            }
            let odd = random.below(3) == 0;
            inputs.push(tensor(&mut random, dtype, &own, odd));
            values.push(b.input(Type::tensor(dtype, Shape::known(&own)), None));
        }
        for _ in 0..4 + random.below(14) {
            let pick = |random: &mut Random| {
                let newest = values.len() - 1 - random.below(3.min(values.len()));
                values[if random.below(2) == 0 { newest } else { random.below(values.len()) }]
            };
            let made = match random.below(8) {
                0 | 1 => {
                    let floats = ["neg", "abs", "relu", "exp", "tanh", "square", "sqrt", "floor", "sign", "reciprocal"];
                    let name = floats[random.below(if dtype == DType::I32 { 3 } else { floats.len() })];
                    b.emit(op(name), &[pick(&mut random)], &[])
                }
                2..=4 => {
                    let names = ["add", "sub", "mul", "maximum", "minimum", "squared_difference", "div"];
                    let name = names[random.below(if dtype == DType::I32 { 6 } else { 7 })];
                    b.emit(op(name), &[pick(&mut random), pick(&mut random)], &[])
                }
                5 => {
                    let compare = ["less", "greater_equal", "not_equal"][random.below(3)];
                    let found = b.emit(op(compare), &[pick(&mut random), pick(&mut random)], &[]);
                    found.and_then(|c| b.emit(op("select"), &[c[0], pick(&mut random), pick(&mut random)], &[]))
                }
                6 => {
                    let by = [DType::F64, DType::I32, DType::I64, DType::Bool][random.below(4)];
                    let there = b.emit(op("cast"), &[pick(&mut random)], &[("dtype", by.into())]);
                    there.and_then(|x| b.emit(op("cast"), &[x[0]], &[("dtype", dtype.into())]))
                }
                _ => {
                    let names = ["reduce_sum", "reduce_max", "reduce_min", "reduce_mean", "reduce_prod"];
                    let keepdims = random.below(4) != 0;
                    let attrs = [("axes", axes.clone().into()), ("keepdims", keepdims.into())];
                    b.emit(op(names[random.below(5)]), &[pick(&mut random)], &attrs)
                }
            };
            // Operands that do not broadcast, or have no such axes, are no instruction.
            let Ok(made) = made else { continue };
            let fits = b.graph().ty(made[0]).shape().num_elements().is_some_and(|n| n <= 200_000);
            values.extend(made.iter().filter(|_| fits));
        }
        let mut outputs = vec![values[values.len() - 1]];
        for _ in 0..random.below(3) {
            outputs.push(values[random.below(values.len())]);
        }
        outputs
    });
    (graph, inputs)
}

/// Whether two tensors are equal bit for bit, whichever bits a NaN has: those depend on the order of operands.
pub(crate) fn same(a: &Tensor, b: &Tensor) -> bool {
    fn floats<T: penstock_data::Element + Into<f64>>(a: &Tensor, b: &Tensor) -> bool {
        let pairs = a.as_slice::<T>().iter().zip(b.as_slice::<T>());
        pairs.map(|(&a, &b)| (a.into(), b.into())).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
    }
    a.dtype() == b.dtype()
        && a.dims() == b.dims()
        && match a.dtype() {
            DType::F16 => floats::<penstock_data::f16>(a, b),
            DType::F32 => floats::<f32>(a, b),
            DType::F64 => floats::<f64>(a, b),
            _ => a == b,
        }
}

fn agree(graph: &Verified, inputs: &[Tensor], what: &str) {
    let args: Vec<Arg> = inputs.iter().cloned().map(Arg::from).collect();
    let expected = reference::run(graph, &args, &env()).unwrap();
    for executable in [executable(graph), fusing(graph), fusing_without_runs(graph)] {
        for round in 0..2 {
            let got = executable.run(&args, &env()).unwrap().into_vec();
            for (k, (got, due)) in got.iter().zip(&expected).enumerate() {
                assert!(same(got, due), "{what}, round {round}, result {k}:\n{graph}\n{}", executable.text().unwrap());
            }
        }
    }
}

#[test]
fn random_groups_with_reductions_agree_with_the_reference() {
    let mut fused = 0;
    for seed in 0..600 {
        let (graph, inputs) = program(seed);
        agree(&graph, &inputs, &format!("seed {seed}"));
        fused += usize::from(fusing(&graph).text().unwrap().contains("= fused"));
    }
    assert!(fused > 300, "{fused} of them were grouped");
}

/// `(x - max x)`, its exponentials and their sum, by the last axis.
fn softmax(rows: usize, columns: usize) -> Verified {
    build(|b| {
        let x = b.input(Type::tensor(DType::F32, Shape::known(&[rows, columns])), None);
        let last = || [("axes", vec![-1i64].into()), ("keepdims", true.into())];
        let max = b.emit(op("reduce_max"), &[x], &last()).unwrap()[0];
        let moved = b.emit(op("sub"), &[x, max], &[]).unwrap()[0];
        let e = b.emit(op("exp"), &[moved], &[]).unwrap()[0];
        let sum = b.emit(op("reduce_sum"), &[e], &last()).unwrap()[0];
        vec![b.emit(op("div"), &[e, sum], &[]).unwrap()[0]]
    })
}

#[test]
fn softmax_is_one_instruction_and_agrees() {
    let mut random = Random(7);
    for (rows, columns) in [(1, 9000), (100, 10), (64, 256), (5, 4096), (3, 4097), (7, 20_000)] {
        let graph = softmax(rows, columns);
        let listing = fusing(&graph).text().unwrap();
        assert_eq!(listing.matches("; ").count(), 1, "{listing}");
        agree(&graph, &[tensor(&mut random, DType::F32, &[rows, columns], true)], &format!("{rows} × {columns}"));
    }
}

#[test]
fn rows_that_leave_the_cache_are_not_walked_twice_in_one_group() {
    let listing = fusing(&softmax(2, 100_000)).text().unwrap();
    assert!(listing.matches("; ").count() > 1, "{listing}");
}

#[test]
fn sums_of_a_table_of_pairs_do_not_make_the_table() {
    // Sums over j and over i of (x_i - y_j)².
    let graph = build(|b| {
        let x = b.input(Type::tensor(DType::F32, Shape::known(&[300, 1])), None);
        let y = b.input(Type::tensor(DType::F32, Shape::known(&[500])), None);
        let d = b.emit(op("sub"), &[x, y], &[]).unwrap()[0];
        let d = b.emit(op("square"), &[d], &[]).unwrap()[0];
        vec![b.emit(op("reduce_sum"), &[d], &[("axes", vec![1i64].into())]).unwrap()[0]]
    });
    let executable = fusing(&graph);
    assert!(!executable.text().unwrap().contains("Bytes(600000)"), "{}", executable.text().unwrap());
    let mut random = Random(3);
    let inputs = [tensor(&mut random, DType::F32, &[300, 1], true), tensor(&mut random, DType::F32, &[500], true)];
    agree(&graph, &inputs, "pairs");
}

#[test]
fn a_division_by_zero_in_a_group_is_reported() {
    let graph = build(|b| {
        let x = b.input(Type::tensor(DType::I32, Shape::known(&[50, 4])), None);
        let y = b.input(Type::tensor(DType::I32, Shape::known(&[50, 1])), None);
        let q = b.emit(op("floordiv"), &[x, y], &[]).unwrap()[0];
        vec![b.emit(op("reduce_sum"), &[q], &[("axes", vec![1i64].into())]).unwrap()[0]]
    });
    let args: Vec<Arg> =
        vec![Tensor::zeros(DType::I32, &[50, 4]).unwrap().into(), Tensor::zeros(DType::I32, &[50, 1]).unwrap().into()];
    assert!(fusing(&graph).text().unwrap().contains("= fused"));
    let error = fusing(&graph).run(&args, &env()).unwrap_err();
    let due = reference::run(&graph, &args, &env()).unwrap_err();
    assert_eq!((error.class(), error.message()), (due.class(), due.message()));
}

#[test]
fn gradients_of_broadcasts_are_summed_in_the_group() {
    let graph = build(|b| {
        let x = b.input(Type::tensor(DType::F32, Shape::known(&[300, 40])), None);
        let to = b.constant(Tensor::vector(&[40i64]));
        let y = b.emit(op("exp"), &[x], &[]).unwrap()[0];
        let y = b.emit(op("mul"), &[y, x], &[]).unwrap()[0];
        vec![b.emit(op("sum_to_shape"), &[y, to], &[]).unwrap()[0]]
    });
    let listing = fusing(&graph).text().unwrap();
    assert_eq!(listing.matches("; ").count(), 1, "{listing}");
    agree(&graph, &[tensor(&mut Random(5), DType::F32, &[300, 40], false)], "a bias");
}

/// Sums of products of windows of one array and of others that broadcast to them, with `exp` between some.
fn windows(random: &mut Random, dims: [usize; 3], dtype: DType) -> (Verified, Vec<Tensor>) {
    let whole = dims.map(|d| d + 3);
    let inputs = vec![
        tensor(random, dtype, &whole, true),
        tensor(random, dtype, &[dims[1], 1], false),
        tensor(random, dtype, &dims[2..], false),
        tensor(random, dtype, &dims, false),
    ];
    let graph = build(|b| {
        let x = b.input(Type::tensor(dtype, Shape::known(&whole)), None);
        let others: Vec<Value> =
            inputs[1..].iter().map(|t| b.input(Type::tensor(dtype, Shape::known(t.dims())), None)).collect();
        let size = b.constant(Tensor::vector(&dims.map(|d| d as i64)));
        let mut sum = others[2];
        let mut outputs = Vec::new();
        for k in 0..12 {
            let begin = b.constant(Tensor::vector(&[0, 1, 2].map(|_| random.below(4) as i64)));
            let window = b.emit(op("slice"), &[x, begin, size], &[]).unwrap()[0];
            let by = others[random.below(3)];
            let part = b.emit(op(["mul", "sub", "maximum"][random.below(3)]), &[window, by], &[]).unwrap()[0];
            sum = b.emit(op("add"), &[sum, part], &[]).unwrap()[0];
            match random.below(8) {
                0 => sum = b.emit(op("exp"), &[sum], &[]).unwrap()[0],
                1 => outputs.push(part),
                2 if k > 5 => outputs.push(sum),
                _ => {}
            }
        }
        outputs.push(sum);
        outputs
    });
    (graph, inputs)
}

#[test]
fn windows_agree_with_the_reference() {
    let mut random = Random(11);
    for dims in [[4, 5, 6], [3, 4, 70], [3, 5, 31], [2, 3, 700], [40, 1, 33], [1, 1, 9000], [9, 7, 1], [2, 300, 64]] {
        for dtype in [DType::F64, DType::F32, DType::F64] {
            let (graph, inputs) = windows(&mut random, dims, dtype);
            agree(&graph, &inputs, &format!("windows of {dims:?}"));
        }
    }
}
