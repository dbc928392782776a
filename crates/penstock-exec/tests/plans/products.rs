//! Products and what is around them, some rows at a time.

use std::sync::Arc;

use penstock_data::{DType, Shape, Tensor, f16};
use penstock_exec::{Arg, Executable, reference};
use penstock_ir::{Builder, Function, Type, Value, Verified, no_hosts, parse_function};
use penstock_kernels::cost;
use penstock_passes::{Options, Thresholds};

use super::random::Random;
use super::rows::{op, same, tensor};
use super::{Recorder, build, env, executable};

/// An executable of which blocks are as short as they may be, and where every product counts as short.
fn in_blocks(graph: &Verified) -> Executable {
    let options = Options {
        thresholds: Thresholds {
            block_bytes: 0,
            fused_bytes: 0,
            short_product_ns: f64::INFINITY,
            ..Thresholds::DEFAULT
        },
        ..Options::default()
    };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

/// An executable where every product counts as short, as none does with every instruction set.
fn joined(function: &Function) -> Executable {
    let options = Thresholds { short_product_ns: f64::INFINITY, ..Thresholds::DEFAULT }.into();
    Executable::with_options(function, options).unwrap()
}

fn without(graph: &Verified) -> Executable {
    let options = Options {
        thresholds: Thresholds { fused_bytes: 0, ..Thresholds::DEFAULT },
        skip: vec!["pipelines".into()],
        ..Options::default()
    };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

/// Small whole numbers, among them what is not finite where `odd`: sums of products of them are exact in any order.
pub(crate) fn whole(random: &mut Random, dtype: DType, dims: &[usize], odd: bool) -> Tensor {
    let odds = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let x: Vec<f64> = (0..dims.iter().product())
        .map(|_| if odd && random.below(400) == 0 { odds[random.below(3)] } else { random.below(9) as f64 - 4.0 })
        .collect();
    match dtype {
        DType::F64 => Tensor::from_slice(dims, &x).unwrap(),
        DType::F16 => Tensor::from_slice(dims, &x.iter().map(|&x| f16::from_f64(x)).collect::<Vec<_>>()).unwrap(),
        _ => Tensor::from_slice(dims, &x.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap(),
    }
}

/// Products of rows, what is made of their elements and rows, and uses of anything in between.
struct Layers {
    random: Random,
    dtype: DType,
    lead: Vec<usize>,
    /// Whether elements are whole, so that sums are exact.
    whole: bool,
    inputs: Vec<Tensor>,
}

impl Layers {
    fn new(seed: u64, whole: bool) -> Layers {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let dtype = [DType::F32, DType::F32, DType::F64, DType::F16][random.below(4)];
        let lead = [vec![16], vec![17], vec![64], vec![129], vec![200], vec![333], vec![3, 50], vec![1, 96]];
        let lead = lead[random.below(lead.len())].clone();
        Layers { random, dtype, lead, whole, inputs: Vec::new() }
    }

    fn input(&mut self, b: &mut Builder, dims: &[usize]) -> Value {
        let odd = self.random.below(4) == 0;
        let make = if self.whole { whole } else { tensor };
        self.inputs.push(make(&mut self.random, self.dtype, dims, odd));
        b.input(Type::tensor(self.dtype, Shape::known(dims)), None)
    }

    fn of_columns(&self, columns: usize) -> Vec<usize> {
        self.lead.iter().copied().chain([columns]).collect()
    }

    /// Something that broadcasts to rows of so many columns.
    fn broadcasting(&mut self, b: &mut Builder, columns: usize) -> Value {
        let all = self.of_columns(columns);
        let dims = match self.random.below(5) {
            0 => vec![columns],
            1 => self.of_columns(1),
            2 => vec![],
            3 => std::iter::repeat_n(1, self.lead.len()).chain([columns]).collect(),
            _ => all,
        };
        self.input(b, &dims)
    }

    fn program(&mut self) -> Verified {
        let mut builder = Builder::new(&penstock_ops::control::CONST);
        let b = &mut builder;
        let widths = [1, 7, 32, 70, 130];
        let mut columns = [32, 70, 130][self.random.below(3)];
        let first = self.of_columns(columns);
        let mut last = self.input(b, &first);
        let mut made = Vec::new();
        for _ in 0..3 + self.random.below(6) {
            let kind = self.random.below(10);
            last = match kind {
                0..=2 => {
                    let n = widths[self.random.below(widths.len())];
                    let transposed = self.random.below(3) == 0;
                    let w = self.input(b, &if transposed { [n, columns] } else { [columns, n] });
                    columns = n;
                    b.emit(op("matmul"), &[last, w], &[("transpose_b", transposed.into())]).unwrap()[0]
                }
                3 => b.emit(op(["relu", "tanh", "sigmoid", "neg"][self.random.below(4)]), &[last], &[]).unwrap()[0],
                4 | 5 => {
                    let other = self.broadcasting(b, columns);
                    let ends = if self.random.below(2) == 0 { [last, other] } else { [other, last] };
                    b.emit(op(["add", "mul", "sub", "maximum"][self.random.below(4)]), &ends, &[]).unwrap()[0]
                }
                6 => b.emit(op(["softmax", "log_softmax"][self.random.below(2)]), &[last], &[]).unwrap()[0],
                7 => {
                    let keep = [("axes", vec![-1i64].into()), ("keepdims", true.into())];
                    let row =
                        b.emit(op(["reduce_max", "reduce_sum"][self.random.below(2)]), &[last], &keep).unwrap()[0];
                    b.emit(op("sub"), &[last, row], &[]).unwrap()[0]
                }
                8 => {
                    let rows: usize = self.lead.iter().product();
                    self.lead =
                        if self.lead.len() == 1 && rows.is_multiple_of(2) { vec![2, rows / 2] } else { vec![rows] };
                    let dims: Vec<i64> = self.of_columns(columns).iter().map(|&d| d as i64).collect();
                    let dims = b.constant(Tensor::vector(&dims));
                    b.emit(op("reshape"), &[last, dims], &[]).unwrap()[0]
                }
                _ => {
                    let other = DType::I32;
                    let cast = b.emit(op("cast"), &[last], &[("dtype", other.into())]).unwrap()[0];
                    b.emit(op("cast"), &[cast], &[("dtype", self.dtype.into())]).unwrap()[0]
                }
            };
            // Products of what is no longer whole would depend on the order of sums.
            if self.whole && (kind == 3 || kind == 6) {
                last = b.emit(op("round"), &[last], &[]).unwrap()[0];
            }
            made.push(last);
        }
        let mut outputs = vec![last];
        for _ in 0..self.random.below(3) {
            outputs.push(made[self.random.below(made.len())]);
        }
        builder.finish(&outputs).unwrap()
    }
}

/// Runs each executable twice, whose results must be `due`. How many of them have a pipeline.
fn check(graph: &Verified, args: &[Arg], due: &[Tensor], executables: &[Executable], seed: u64) -> usize {
    let in_blocks = executables.iter().filter(|executable| {
        let listing = executable.text().unwrap();
        for round in 0..2 {
            let got = executable.run(args, &env()).unwrap();
            for (k, (got, due)) in got.iter().zip(due).enumerate() {
                assert!(same(got, due), "seed {seed}, round {round}, result {k}:\n{graph}\n{listing}");
            }
        }
        listing.contains("= pipeline")
    });
    in_blocks.count()
}

#[test]
fn random_layers_agree_with_the_reference() {
    let mut found = 0;
    for seed in 0..400 {
        let mut layers = Layers::new(seed, true);
        let graph = layers.program();
        let args: Vec<Arg> = layers.inputs.iter().cloned().map(Arg::from).collect();
        let due = reference::run(&graph, &args, &env()).unwrap();
        found += check(&graph, &args, &due, &[in_blocks(&graph), executable(&graph), without(&graph)], seed);
    }
    assert!(found > 300, "{found} of them were made by pipelines");
}

#[test]
fn pipelines_change_no_bit_of_a_product() {
    for seed in 0..200 {
        let mut layers = Layers::new(seed, false);
        let graph = layers.program();
        let args: Vec<Arg> = layers.inputs.iter().cloned().map(Arg::from).collect();
        let due = without(&graph).run(&args, &env()).unwrap();
        check(&graph, &args, &due, &[in_blocks(&graph), executable(&graph)], seed);
    }
}

/// A convolution of one to three dimensions and what is made of its pixels.
fn images(seed: u64) -> (Verified, Vec<Tensor>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let dtype = if random.below(3) == 0 { DType::F64 } else { DType::F32 };
    let axes = 1 + random.below(3);
    let sizes = [[40, 300, 2000], [1, 17, 40], [3, 5, 12]][axes - 1];
    let (ins, outs) = ([1, 3, 16][random.below(3)], [1, 8, 33, 40][random.below(4)]);
    let mut image = vec![1 + random.below(3)];
    let mut filter = Vec::new();
    for _ in 0..axes {
        image.push(sizes[random.below(3)]);
        filter.push([1, 2, 3][random.below(3)].min(image[image.len() - 1]));
    }
    image.push(ins);
    filter.extend([ins, outs]);
    let strides: Vec<i64> = (0..axes).map(|_| 1 + i64::from(random.below(4) == 0)).collect();
    let padding = ["SAME", "VALID"][random.below(2)];
    let odd = random.below(4) == 0;
    let mut inputs = vec![whole(&mut random, dtype, &image, odd), whole(&mut random, dtype, &filter, odd)];
    let graph = build(|b| {
        let mut input = |b: &mut Builder, x: Tensor| {
            let value = b.input(Type::of(&x), None);
            inputs.push(x);
            value
        };
        let given = [inputs_of(b, &image, dtype), inputs_of(b, &filter, dtype)];
        let attrs = [("strides", strides.clone().into()), ("padding", padding.into())];
        let y = b.emit(op("conv"), &given, &attrs).unwrap()[0];
        let dims = b.graph().ty(y).shape().extents().unwrap();
        let mut last = y;
        for _ in 0..1 + random.below(4) {
            last = match random.below(5) {
                0 => b.emit(op(["relu", "tanh"][random.below(2)]), &[last], &[]).unwrap()[0],
                1 | 2 => {
                    let bias = whole(&mut random, dtype, &[outs], false);
                    let bias = input(b, bias);
                    b.emit(op("add"), &[last, bias], &[]).unwrap()[0]
                }
                3 => {
                    let other = whole(&mut random, dtype, &dims, false);
                    let other = input(b, other);
                    b.emit(op("add"), &[other, last], &[]).unwrap()[0]
                }
                _ => {
                    let w = whole(&mut random, dtype, &[outs, outs], false);
                    let w = input(b, w);
                    b.emit(op("matmul"), &[last, w], &[]).unwrap()[0]
                }
            };
        }
        if random.below(3) == 0 { vec![last, y] } else { vec![last] }
    });
    (graph, inputs)
}

fn inputs_of(b: &mut Builder, dims: &[usize], dtype: DType) -> Value {
    b.input(Type::tensor(dtype, Shape::known(dims)), None)
}

#[test]
fn what_follows_convolutions_agrees_with_the_reference() {
    let mut found = 0;
    for seed in 0..300 {
        let (graph, inputs) = images(seed);
        let args: Vec<Arg> = inputs.into_iter().map(Arg::from).collect();
        let due = reference::run(&graph, &args, &env()).unwrap();
        found += check(&graph, &args, &due, &[in_blocks(&graph), executable(&graph), without(&graph)], seed);
    }
    assert!(found > 100, "{found} of them were made by pipelines");
}

/// `softmax(q kᵀ · s + m) v` for each matrix of a batch, whose mask broadcasts to it.
fn attention(random: &mut Random, dtype: DType, batch: &[usize], [t, s, d, e]: [usize; 4]) -> (Verified, Vec<Tensor>) {
    let with = |ends: [usize; 2]| batch.iter().copied().chain(ends).collect::<Vec<_>>();
    let mask = [vec![t, s], vec![s], with([1, s]), vec![]][random.below(4)].clone();
    let dims = [with([t, d]), with([s, d]), with([s, e]), mask];
    let transposed = random.below(3) > 0;
    let inputs = dims.iter().enumerate().map(|(i, dims)| {
        let dims = if i == 1 && !transposed { with([d, s]) } else { dims.clone() };
        let odd = random.below(9) == 0;
        tensor(random, dtype, &dims, odd)
    });
    let inputs: Vec<Tensor> = inputs.collect();
    let (scaled, masked, logs) = (random.below(2) == 0, random.below(2) == 0, random.below(4) == 0);
    let graph = build(|b| {
        let given: Vec<Value> = inputs.iter().map(|x| b.input(Type::of(x), None)).collect();
        let mut x = b.emit(op("matmul"), &given[..2], &[("transpose_b", transposed.into())]).unwrap()[0];
        if scaled {
            x = b.emit(op("mul"), &[x, x], &[]).unwrap()[0];
        }
        if masked {
            x = b.emit(op("add"), &[x, given[3]], &[]).unwrap()[0];
        }
        let p = b.emit(op("softmax"), &[x], &[]).unwrap()[0];
        let y = b.emit(op("matmul"), &[p, given[2]], &[]).unwrap()[0];
        let mut outputs = vec![b.emit(op("tanh"), &[y], &[]).unwrap()[0]];
        outputs.extend(logs.then_some(p));
        outputs
    });
    (graph, inputs)
}

#[test]
fn attention_is_one_step_and_agrees_with_the_reference() {
    let mut random = Random(11);
    let mut found = 0;
    for seed in 0..120 {
        let dtype = if random.below(3) == 0 { DType::F64 } else { DType::F32 };
        let batch = [vec![2], vec![1], vec![2, 3], vec![5, 1], vec![]][random.below(5)].clone();
        let t = [16, 17, 40, 150][random.below(4)];
        let s = [3, 16, 65, 150][random.below(4)];
        let (d, e) = ([8, 33, 64][random.below(3)], [1, 4, 32, 40][random.below(4)]);
        let (graph, inputs) = attention(&mut random, dtype, &batch, [t, s, d, e]);
        let args: Vec<Arg> = inputs.into_iter().map(Arg::from).collect();
        let due = reference::run(&graph, &args, &env()).unwrap();
        found += check(&graph, &args, &due, &[in_blocks(&graph), executable(&graph)], seed);
    }
    assert!(found > 60, "{found} of them were made by pipelines");
    let (graph, _) = attention(&mut random, DType::F32, &[2, 4], [128, 128, 64, 64]);
    let listing = executable(&graph).text().unwrap();
    assert!(listing.contains("= pipeline") && !listing.contains("= kernel"), "{listing}");
}

fn parsed(text: &str) -> Arc<Function> {
    parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()
}

fn listing(text: &str) -> String {
    joined(&parsed(text)).text().unwrap()
}

#[test]
fn layers_are_one_step() {
    let text = "func @f(%x: f32[300,80], %w: f32[80,100], %b: f32[100], %v: f32[100,10], %c: f32[10]) -> f32[300,10] {\n\
                %h = matmul %x, %w\n%g = add %h, %b\n%r = relu %g\n%y = matmul %r, %v\n%z = add %y, %c\n%p = softmax %z\n\
                return %p\n}";
    let listing = listing(text);
    assert_eq!(listing.matches("= pipeline").count(), 1, "{listing}");
    assert!(!listing.contains("= kernel") && !listing.contains("= fused"), "{listing}");
}

#[test]
fn layers_of_sequences_are_one_step() {
    let text = "func @f(%x: f32[400,64], %w: f32[64,96], %b: f32[96], %v: f32[96,64]) -> f32[400,64] {\n\
                %s = const {value=i64[3] [8, 50, 96]}\n%t = const {value=i64[2] [400, 96]}\n%h = matmul %x, %w\n\
                %g = reshape %h, %s\n%r = add %g, %b\n%q = relu %r\n%p = reshape %q, %t\n%y = matmul %p, %v\nreturn %y\n}";
    let listing = listing(text);
    assert_eq!(listing.matches("; ").count(), 1, "{listing}");
    assert!(listing.contains("= pipeline"), "{listing}");
}

#[test]
fn what_else_uses_a_product_finds_it_whole() {
    let text = "func @f(%x: f32[300,80], %w: f32[80,100]) -> f32[300,100], f32[100] {\n%h = matmul %x, %w\n\
                %r = tanh %h\n%s = reduce_sum %h {axes=[0]}\nreturn %r, %s\n}";
    let function = parsed(text);
    let mut random = Random(5);
    let args = [[300, 80], [80, 100]].map(|dims| Arg::from(whole(&mut random, DType::F32, &dims, false)));
    let due = reference::run(function.graph().unwrap(), &args, &env()).unwrap();
    let executable = joined(&function);
    assert!(executable.text().unwrap().contains("= pipeline"), "{}", executable.text().unwrap());
    assert_eq!(executable.run(&args, &env()).unwrap().to_vec(), due);
}

#[test]
fn products_that_take_much_longer_than_moving_their_elements_are_left_as_they_are() {
    // As many multiplications as take so long with each instruction set: `k` is for the widest vectors.
    let in_blocks = |dtype, m: usize, k: usize, n: usize| {
        let rates = cost::rates();
        let rate = if dtype == "f32" { rates.f32_product / 100.0 } else { rates.half_product / 80.0 };
        let k = (k as f64 * rate) as usize;
        let text = format!(
            "func @f(%x: {dtype}[{m},{k}], %w: {dtype}[{k},{n}], %b: {dtype}[{n}]) -> {dtype}[{m},{n}] {{\n\
             %h = matmul %x, %w\n%g = add %h, %b\n%r = relu %g\nreturn %r\n}}"
        );
        Executable::new(&parsed(&text)).unwrap().text().unwrap().contains("= pipeline")
    };
    assert!(in_blocks("f32", 4096, 64, 512) && in_blocks("bf16", 4096, 256, 512));
    assert!(!in_blocks("f32", 4096, 256, 512) && !in_blocks("bf16", 4096, 4096, 512));
    assert!(!in_blocks("f32", 20, 2048, 2048));
}

#[test]
fn the_first_instruction_that_fails_is_the_one_that_is_told() {
    // A later instruction fails in the first rows, an earlier one in the last.
    let graph = build(|b| {
        let of = |dtype, dims: &[usize]| Type::tensor(dtype, Shape::known(dims));
        let x = b.input(of(DType::F32, &[400, 64]), None);
        let w = b.input(of(DType::F32, &[64, 64]), None);
        let (p, q) = (b.input(of(DType::I32, &[400, 64]), None), b.input(of(DType::I32, &[400, 64]), None));
        let h = b.emit(op("matmul"), &[x, w], &[]).unwrap()[0];
        let h = b.emit(op("cast"), &[h], &[("dtype", DType::I32.into())]).unwrap()[0];
        let h = b.emit(op("floordiv"), &[h, p], &[]).unwrap()[0];
        vec![b.emit(op("floormod"), &[h, q], &[]).unwrap()[0]]
    });
    let ints = |zero: Option<usize>| {
        let x: Vec<i32> = (0..400 * 64).map(|i| i32::from(Some(i) != zero)).collect();
        Tensor::from_slice(&[400, 64], &x).unwrap()
    };
    let mut random = Random(1);
    let x = tensor(&mut random, DType::F32, &[400, 64], false);
    let w = tensor(&mut random, DType::F32, &[64, 64], false);
    for (p, q) in [(Some(399 * 64), Some(0)), (Some(5), None), (None, Some(200 * 64))] {
        let args = [x.clone(), w.clone(), ints(p), ints(q)].map(Arg::from);
        let due = reference::run(&graph, &args, &env()).unwrap_err();
        for executable in [in_blocks(&graph), joined(&Function::new("f", graph.clone()))] {
            assert!(executable.text().unwrap().contains("= pipeline"));
            let got = executable.run(&args, &env()).unwrap_err();
            assert_eq!((got.to_string(), got.op()), (due.to_string(), due.op()));
        }
    }
}

#[test]
fn long_steps_are_left_where_the_host_wants_that() {
    let text = "func @f(%x: f32[100000,96], %w: f32[96,300]) -> f32[100000,300] {\n%h = matmul %x, %w\n%r = tanh %h\n\
                return %r\n}";
    let executable = joined(&parsed(text));
    assert!(executable.text().unwrap().contains("= pipeline"), "{}", executable.text().unwrap());
    let args = [[100_000, 96], [96, 300]].map(|dims| Arg::from(Tensor::zeros(DType::F32, &dims).unwrap()));
    let host = Recorder { stop_after: Some(1), ..Recorder::default() };
    assert!(executable.run(&args, &host).is_err());
    let got = executable.run(&args, &env()).unwrap();
    assert!(got[0].as_slice::<f32>().iter().all(|&x| x == 0.0));
}
