//! Loops of products of few rows: recurrent nets, whose rows are shared by threads once for all iterations.

use penstock_data::{Bool8, DType, Result, Shape, Tensor};
use penstock_exec::{Arg, Executable, reference};
use penstock_ir::{Attrs, Builder, Function, Type, Value, Verified};
use penstock_ops::control::WHILE;
use penstock_passes::{Options, Thresholds};

use super::random::Random;
use super::rows::{op, same, tensor};
use super::{Recorder, build, env, fusing};

fn emit(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    b.emit(op(name), operands, &[]).unwrap()[0]
}

/// A loop whose counter starts at `from` and grows by `by` until it is at least `to` (at most, where `by` is negative), in one of
/// the ways to write that. The body gives the next of the other variables.
fn counting(
    b: &mut Builder,
    (from, to, by): (i64, i64, i64),
    init: &[Value],
    body: impl FnOnce(&mut Builder, Value, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let mut all = vec![b.constant(Tensor::from(from))];
    all.extend(init);
    let types: Vec<Type> = all.iter().map(|&v| b.graph().ty(v).clone()).collect();
    let cond = b.begin_region(types.clone());
    let (spelling, i, up) = ((from + to).rem_euclid(3), b.params(cond)[0], by > 0);
    let bound = b.constant(Tensor::from(if spelling == 2 { to - by.signum() } else { to }));
    let go = match spelling {
        0 => emit(b, if up { "less" } else { "greater" }, &[i, bound]),
        1 => emit(b, if up { "greater" } else { "less" }, &[bound, i]),
        _ => emit(b, if up { "less_equal" } else { "greater_equal" }, &[i, bound]),
    };
    b.end_region(&[go]).unwrap();
    let region = b.begin_region(types);
    let params = b.params(region);
    let step = b.constant(Tensor::from(if spelling == 2 { -by } else { by }));
    let mut next = vec![match spelling {
        0 => emit(b, "add", &[params[0], step]),
        1 => emit(b, "add", &[step, params[0]]),
        _ => emit(b, "sub", &[params[0], step]),
    }];
    next.extend(body(b, params[0], &params[1..]));
    b.end_region(&next).unwrap();
    let inst = b.inst(&WHILE, &all, Attrs::EMPTY, &[cond, region]).unwrap();
    b.results(inst).to_vec()
}

/// What a random net is made of.
struct Net {
    dtype: DType,
    rows: usize,
    columns: usize,
    /// Rows of the array and elements of the list that iterations read, and elements of the lists that they write.
    length: usize,
    range: (i64, i64, i64),
    random: Random,
}

impl Net {
    fn new(seed: u64) -> Net {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let length = [1, 2, 3, 7, 40][random.below(5)];
        let by = [1, 1, 1, 2, 3][random.below(5)];
        let (first, last) = (0, length as i64);
        let range = if random.below(2) == 0 { (first, last, by) } else { (last - 1, first - 1, -by) };
        let dtype = if random.below(4) == 0 { DType::F64 } else { DType::F32 };
        let (rows, columns) = ([17, 24, 33, 64][random.below(4)], [1, 5, 16, 40][random.below(4)]);
        Net { dtype, rows, columns, length, range, random }
    }

    /// The graph, and its arguments: what iterations read, a matrix, two states, a matrix that is wider and one that is taller, what
    /// iterations read by columns, the iteration in which each row ends, and a mask of the columns for each iteration.
    fn program(&mut self) -> (Verified, Vec<Tensor>) {
        let (dtype, rows, columns, length) = (self.dtype, self.rows, self.columns, self.length);
        let state = || vec![rows, columns];
        let matrix = |k: usize, n: usize| vec![k * columns, n * columns];
        let of_columns = vec![rows, length, columns];
        let dims =
            [vec![length, rows, columns], matrix(1, 1), state(), state(), matrix(1, 2), matrix(2, 1), of_columns];
        let graph = build(|b| {
            let mut inputs = Vec::new();
            for dims in &dims {
                inputs.push(b.input(Type::tensor(dtype, Shape::known(dims)), None));
            }
            let (xs, w, h, c, wide, tall) = (inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5]);
            let ys = inputs[6];
            let ends = b.input(Type::tensor(DType::I64, Shape::known(&[rows])), None);
            let of_masks = Type::tensor(DType::Bool, Shape::known(&[length, 1, columns]));
            let masks = b.input(of_masks, None);
            let masks = emit(b, "list_from_tensor", &[masks]);
            let mask_shape = b.constant(Tensor::vector(&[1, columns as i64]));
            let masked = self.random.below(4);
            let shape = b.constant(Tensor::vector(&[rows as i64, columns as i64]));
            let n = b.constant(Tensor::from(length as i64));
            let new = |b: &mut Builder| emit(b, "list_new", &[n]);
            let rows_of_xs = emit(b, "list_from_tensor", &[xs]);
            let zero = b.constant(Tensor::from(0i64));
            let empty = emit(b, "list_new", &[zero]);
            let (written, taken) = (new(b), rows_of_xs);
            let (second, random) = (self.random.below(2) == 0, &mut self.random);
            let init = [h, c, written, empty, empty, empty, taken];
            let read = [("dtype", dtype.into())];
            let all = counting(b, self.range, &init, |b, i, v| {
                let (h, c) = (v[0], v[1]);
                let (mut taken, x) = match random.below(4) {
                    0 => (v[6], emit(b, "gather", &[xs, i])),
                    3 => {
                        let at = emit(b, "stack", &[zero, i]);
                        let steps = b.constant(Tensor::vector(&[1i64, 1]));
                        let column =
                            [("begin_mask", 1i64.into()), ("end_mask", 1i64.into()), ("shrink_axis_mask", 2i64.into())];
                        (v[6], b.emit(op("strided_slice"), &[ys, at, at, steps], &column).unwrap()[0])
                    }
                    1 => (v[6], b.emit(op("list_get"), &[rows_of_xs, i, shape], &read).unwrap()[0]),
                    _ => {
                        let both = b.emit(op("list_take"), &[v[6], i, shape], &read).unwrap();
                        (both[0], both[1])
                    }
                };
                let product = match random.below(5) {
                    0 => {
                        let gates = emit(b, "matmul", &[h, wide]);
                        let cut = [("num", 2i64.into()), ("axis", 1i64.into())];
                        let gates = b.emit(op("split"), &[gates], &cut).unwrap();
                        emit(b, "mul", &[gates[0], gates[1]])
                    }
                    4 => {
                        let gates = emit(b, "matmul", &[h, wide]);
                        let cut = [("num", 2i64.into()), ("axis", 1i64.into())];
                        b.emit(op("split"), &[gates], &cut).unwrap()[random.below(2)]
                    }
                    1 => {
                        let both = b.emit(op("concat"), &[h, x], &[("axis", (-1i64).into())]).unwrap()[0];
                        emit(b, "matmul", &[both, tall])
                    }
                    other => b.emit(op("matmul"), &[h, w], &[("transpose_b", (other == 2).into())]).unwrap()[0],
                };
                let sum = emit(b, "add", &[product, x]);
                let next = emit(b, ["tanh", "relu", "sigmoid"][random.below(3)], &[sum]);
                let other = if second {
                    let kept = emit(b, "mul", &[c, next]);
                    emit(b, "add", &[kept, x])
                } else {
                    c
                };
                let (mut next, mut other) = (next, other);
                if masked < 2 {
                    let live = if masked == 0 {
                        let live = emit(b, "less", &[i, ends]);
                        b.emit(op("expand_dims"), &[live], &[("axis", 1i64.into())]).unwrap()[0]
                    } else {
                        let read = [("dtype", DType::Bool.into())];
                        b.emit(op("list_get"), &[masks, i, mask_shape], &read).unwrap()[0]
                    };
                    next = emit(b, "select", &[live, next, h]);
                    other = emit(b, "select", &[live, other, c]);
                }
                let what = [next, other, h, c, x];
                let pick = |random: &mut Random| what[random.below(what.len())];
                let set = emit(b, "list_set", &[v[2], i, pick(random)]);
                let pushed: Vec<Value> = (3..6).map(|k| emit(b, "list_push", &[v[k], pick(random)])).collect();
                if random.below(8) == 0 {
                    taken = v[6];
                }
                vec![next, other, set, pushed[0], pushed[1], pushed[2], taken]
            });
            let stacked = |b: &mut Builder, list: Value| b.emit(op("list_stack"), &[list, shape], &read).unwrap()[0];
            let lists: Vec<Value> = all[3..].iter().map(|&list| stacked(b, list)).collect();
            all[..3].iter().copied().chain(lists).collect()
        });
        let odd = self.random.below(3) == 0;
        let mut inputs: Vec<Tensor> = dims.iter().map(|dims| tensor(&mut self.random, dtype, dims, odd)).collect();
        let ends: Vec<i64> = (0..rows).map(|_| self.random.below(length + 1) as i64).collect();
        inputs.push(Tensor::vector(&ends));
        let live: Vec<Bool8> = (0..length * columns).map(|_| Bool8::new(self.random.below(2) == 0)).collect();
        inputs.push(Tensor::from_slice(&[length, 1, columns], &live).unwrap());
        (graph, inputs)
    }
}

fn without_row_loops(graph: &Verified) -> Executable {
    let options = Options {
        thresholds: Thresholds { fused_bytes: 0, ..Thresholds::DEFAULT },
        skip: vec!["row_loops".into()],
        ..Options::default()
    };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

fn run(executable: &Executable, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let args: Vec<Arg> = inputs.iter().cloned().map(Arg::from).collect();
    Ok(executable.run(&args, &env())?.into_vec())
}

#[test]
fn random_recurrent_nets_agree_with_the_reference() {
    let mut found = 0;
    for seed in 0..300 {
        let (graph, inputs) = Net::new(seed).program();
        let args: Vec<Arg> = inputs.iter().cloned().map(Arg::from).collect();
        let due = reference::run(&graph, &args, &env()).unwrap();
        let executable = fusing(&graph);
        let listing = executable.text().unwrap();
        found += usize::from(listing.contains("by rows of"));
        let kept = run(&executable, &inputs).unwrap();
        let copies: Vec<Vec<u8>> = kept.iter().map(|t| t.bytes().to_vec()).collect();
        for (what, executable) in [("again", &executable), ("without", &without_row_loops(&graph))] {
            let got = run(executable, &inputs).unwrap();
            for (k, (got, due)) in got.iter().zip(&due).enumerate() {
                assert!(same(got, due), "seed {seed}, {what}, result {k}:\n{graph}\n{listing}");
            }
        }
        for (k, (kept, copy)) in kept.iter().zip(&copies).enumerate() {
            assert!(kept.bytes() == copy, "seed {seed}: result {k} changed in a later run");
            assert!(same(kept, &due[k]), "seed {seed}, first run, result {k}:\n{graph}\n{listing}");
        }
    }
    assert!(found > 120, "{found} of them were run by rows");
}

#[test]
fn iterations_that_fail_say_so_as_they_do_one_by_one() {
    let mut failed = 0;
    for seed in 0..60 {
        let mut net = Net::new(seed);
        // Some iterations more than there are elements to read or to write.
        let (from, to, by) = net.range;
        net.range = (from, to + 2 * by, by);
        let (graph, inputs) = net.program();
        match (run(&fusing(&graph), &inputs), run(&without_row_loops(&graph), &inputs)) {
            (Err(got), Err(due)) => {
                assert_eq!(got.to_string(), due.to_string(), "seed {seed}");
                failed += 1;
            }
            (Ok(got), Ok(due)) => assert!(got.iter().zip(&due).all(|(a, b)| same(a, b)), "seed {seed}"),
            (got, due) => panic!("seed {seed}: {got:?} and {due:?}"),
        }
    }
    assert!(failed > 30, "{failed} failed");
}

/// `h = tanh(h w + w)`, so many times, each kept.
fn powers(iterations: i64) -> Verified {
    build(|b| {
        let square = || Type::tensor(DType::F32, Shape::known(&[64, 64]));
        let (h, w) = (b.input(square(), None), b.input(square(), None));
        let none = b.constant(Tensor::from(0i64));
        let list = emit(b, "list_new", &[none]);
        let all = counting(b, (0, iterations, 1), &[h, list], |b, _, v| {
            let product = emit(b, "matmul", &[v[0], w]);
            let sum = emit(b, "add", &[product, w]);
            let next = emit(b, "tanh", &[sum]);
            vec![next, emit(b, "list_push", &[v[1], next])]
        });
        let shape = b.constant(Tensor::vector(&[64i64, 64]));
        vec![all[1], b.emit(op("list_stack"), &[all[2], shape], &[("dtype", DType::F32.into())]).unwrap()[0]]
    })
}

#[test]
fn long_loops_stop_where_the_host_says_so() {
    let executable = fusing(&powers(100_000));
    assert!(executable.text().unwrap().contains("by rows of"), "{}", executable.text().unwrap());
    let inputs = [0.1f32, 0.01].map(|x| Arg::from(Tensor::from_slice(&[64, 64], &[x; 64 * 64]).unwrap()));
    let host = Recorder { stop_after: Some(3), ..Recorder::default() };
    let error = executable.run(&inputs, &host).unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
}
