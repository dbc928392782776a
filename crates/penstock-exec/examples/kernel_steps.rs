//! What steps on a few elements cost, with kernels made for their operands and without:
//! `cargo run --release -p penstock-exec --example kernel_steps [NAME]`.

use std::time::Instant;

use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, Executable, StdEnv};
use penstock_ir::{Attr, Builder, Function, OpSet, Type, Value};
use penstock_ops::control::CONST;
use penstock_passes::Options;

/// Steps of a chain.
const STEPS: usize = 500;

struct Chain<'a> {
    b: &'a mut Builder,
}

impl Chain<'_> {
    fn all(&mut self, name: &str, operands: &[Value], attrs: &[(&str, Attr)]) -> Vec<Value> {
        let op = penstock_ops::Ops.find(name).unwrap_or_else(|| panic!("no operator '{name}'"));
        self.b.emit(op, operands, attrs).unwrap_or_else(|e| panic!("{name}: {e}")).to_vec()
    }

    fn one(&mut self, name: &str, operands: &[Value], attrs: &[(&str, Attr)]) -> Value {
        self.all(name, operands, attrs)[0]
    }

    fn ints(&mut self, values: &[i32]) -> Value {
        self.b.constant(Tensor::vector(values))
    }
}

/// What a step makes of the value before it, which keeps its type, and of the numbers 0, 1, 2, …, as many as it has rows.
type StepFn = fn(&mut Chain<'_>, Value, Value) -> Value;

/// A name, the extents of the value, how many steps one link has, and the link.
static CASES: &[(&str, &[usize], usize, StepFn)] = &[
    ("add (elementwise)", &[4], 1, |c, x, _| c.one("add", &[x, x], &[])),
    ("reverse", &[4], 1, |c, x, _| c.one("reverse", &[x], &[("axes", vec![0].into())])),
    ("reverse rows", &[3, 3], 1, |c, x, _| c.one("reverse", &[x], &[("axes", vec![1].into())])),
    ("transpose", &[3, 3], 1, |c, x, _| c.one("transpose", &[x], &[])),
    ("transpose 8x8", &[8, 8], 1, |c, x, _| c.one("transpose", &[x], &[])),
    ("gather", &[4], 1, |c, x, i| c.one("gather", &[x, i], &[])),
    ("gather rows", &[4, 3], 1, |c, x, i| c.one("gather", &[x, i], &[])),
    ("gather, constant indices", &[4], 1, |c, x, _| {
        let i = c.ints(&[3, 1, 2, 0]);
        c.one("gather", &[x, i], &[])
    }),
    ("band_part", &[3, 3], 1, |c, x, _| c.one("matrix_band_part", &[x], &[("lower", 1.into())])),
    ("set_diag, diag_part", &[3, 3], 2, |c, x, _| {
        let d = c.one("matrix_diag_part", &[x], &[]);
        c.one("matrix_set_diag", &[x, d], &[])
    }),
    ("slice, slice, concat", &[4], 3, |c, x, _| {
        let (zero, one, three) = (c.ints(&[0]), c.ints(&[1]), c.ints(&[3]));
        let (a, b) = (c.one("slice", &[x, zero, one], &[]), c.one("slice", &[x, one, three], &[]));
        c.one("concat", &[b, a], &[("axis", 0.into())])
    }),
    ("strided_slice, pad", &[4], 2, |c, x, _| {
        let (one, four) = (c.ints(&[1]), c.ints(&[4]));
        let y = c.one("strided_slice", &[x, one, four, one], &[]);
        let (paddings, zero) =
            (c.b.constant(Tensor::from_slice(&[1, 2], &[1i32, 0]).expect("a row")), Tensor::from(0f32));
        let zero = c.b.constant(zero);
        c.one("pad", &[y, paddings, zero], &[])
    }),
    ("unstack, stack", &[4], 2, |c, x, _| {
        let parts = c.all("unstack", &[x], &[]);
        c.one("stack", &[parts[1], parts[0], parts[3], parts[2]], &[])
    }),
    ("unstack, stack of columns", &[2, 3], 2, |c, x, _| {
        let parts = c.all("unstack", &[x], &[("axis", 1.into())]);
        c.one("stack", &[parts[1], parts[0], parts[2]], &[("axis", 1.into())])
    }),
    ("split, concat", &[4], 2, |c, x, _| {
        let parts = c.all("split", &[x], &[("num", 2.into())]);
        c.one("concat", &[parts[1], parts[0]], &[("axis", 0.into())])
    }),
    ("tile, part", &[3], 2, |c, x, _| {
        let two = c.ints(&[2, 1]);
        let y = c.one("expand_dims", &[x], &[("axis", 0.into())]);
        let y = c.one("tile", &[y, two], &[]);
        let one = c.ints(&[1]);
        let end = c.ints(&[2]);
        c.one("strided_slice", &[y, one, end, one], &[("shrink_axis_mask", 1.into())])
    }),
    ("broadcast_to, mean", &[3], 2, |c, x, _| {
        let dims = c.ints(&[2, 3]);
        let y = c.one("broadcast_to", &[x, dims], &[]);
        c.one("reduce_mean", &[y], &[("axes", vec![0].into())])
    }),
    ("reduce_max, part, one_hot", &[4], 3, |c, x, i| {
        let (depth, on) = (c.b.constant(Tensor::from(4i32)), c.one("reduce_max", &[x], &[]));
        let off = c.b.constant(Tensor::from(0f32));
        let one = c.b.constant(Tensor::from(1i32));
        let i = c.one("part", &[i, one], &[]);
        c.one("one_hot", &[i, depth, on, off], &[])
    }),
    ("reduce_sum, keepdims", &[4], 2, |c, x, _| {
        let y = c.one("reduce_sum", &[x], &[("keepdims", true.into())]);
        c.one("sub", &[x, y], &[])
    }),
    ("reduce_max of rows", &[3, 3], 2, |c, x, _| {
        let y = c.one("reduce_max", &[x], &[("axes", vec![1].into()), ("keepdims", true.into())]);
        c.one("sub", &[x, y], &[])
    }),
    ("argmax, cast, add", &[4], 3, |c, x, _| {
        let y = c.one("argmax", &[x], &[]);
        let y = c.one("cast", &[y], &[("dtype", DType::F32.into())]);
        c.one("add", &[x, y], &[])
    }),
    ("part, part, add", &[4], 3, |c, x, i| {
        let three = c.b.constant(Tensor::from(3i32));
        let i = c.one("part", &[i, three], &[]);
        let y = c.one("part", &[x, i], &[]);
        c.one("add", &[x, y], &[])
    }),
    ("reshape", &[2, 3], 2, |c, x, _| {
        let (six, back) = (c.ints(&[6]), c.ints(&[2, 3]));
        let y = c.one("reshape", &[x, six], &[]);
        c.one("reshape", &[y, back], &[])
    }),
    ("softmax", &[4], 1, |c, x, _| c.one("softmax", &[x], &[])),
    ("cumsum", &[4], 1, |c, x, _| c.one("cumsum", &[x], &[])),
    ("select", &[4], 2, |c, x, _| {
        let y = c.one("less", &[x, x], &[]);
        c.one("select", &[y, x, x], &[])
    }),
    ("matmul 2x2", &[2, 2], 1, |c, x, _| c.one("matmul", &[x, x], &[])),
    ("matmul 4x4", &[4, 4], 1, |c, x, _| c.one("matmul", &[x, x], &[])),
    ("matmul 16x16", &[16, 16], 1, |c, x, _| c.one("matmul", &[x, x], &[])),
    ("matmul 1x4 by 4x4", &[4, 4], 2, |c, x, _| {
        let (zero, size) = (c.ints(&[0, 0]), c.ints(&[1, 4]));
        let row = c.one("slice", &[x, zero, size], &[]);
        let row = c.one("matmul", &[row, x], &[]);
        c.one("add", &[x, row], &[])
    }),
    // As large as what is resolved, or nearly.
    ("gather of 64", &[64], 1, |c, x, i| c.one("gather", &[x, i], &[])),
    ("gather of 256", &[256], 1, |c, x, i| c.one("gather", &[x, i], &[])),
    ("gather of 64 rows", &[64, 4], 1, |c, x, i| c.one("gather", &[x, i], &[])),
    ("reverse of 64", &[64], 1, |c, x, _| c.one("reverse", &[x], &[("axes", vec![0].into())])),
    ("argmax of 64, cast, add", &[64], 3, |c, x, _| {
        let y = c.one("argmax", &[x], &[]);
        let y = c.one("cast", &[y], &[("dtype", DType::F32.into())]);
        c.one("add", &[x, y], &[])
    }),
    ("sum of 64 rows, sub", &[64, 4], 2, |c, x, _| {
        let y = c.one("reduce_sum", &[x], &[("axes", vec![1].into()), ("keepdims", true.into())]);
        c.one("sub", &[x, y], &[])
    }),
    ("sum of 4 columns, sub", &[64, 4], 2, |c, x, _| {
        let y = c.one("reduce_sum", &[x], &[("axes", vec![0].into()), ("keepdims", true.into())]);
        c.one("sub", &[x, y], &[])
    }),
    ("concat of 128 and 128", &[256], 3, |c, x, _| {
        let (zero, half) = (c.ints(&[0]), c.ints(&[128]));
        let (a, b) = (c.one("slice", &[x, zero, half], &[]), c.one("slice", &[x, half, half], &[]));
        c.one("concat", &[b, a], &[("axis", 0.into())])
    }),
    ("add of a row to rows", &[2, 3], 2, |c, x, _| {
        let (zero, size) = (c.ints(&[0, 0]), c.ints(&[1, 3]));
        let row = c.one("slice", &[x, zero, size], &[]);
        c.one("add", &[x, row], &[])
    }),
];

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let env = StdEnv::new(0);
    println!("{:<28} {:>20} {:>20}", "", "ns a step", "us to plan one");
    println!("{:<28} {:>10} {:>9} {:>10} {:>9}", "", "resolved", "own", "resolved", "own");
    for (name, dims, steps, link) in CASES.iter().filter(|case| case.0.contains(&wanted)) {
        let n: usize = dims.iter().product();
        let x = Tensor::from_slice(dims, &vec![0.0f32; n]).expect("memory");
        let indices: Vec<i32> = (0..dims[0] as i32).rev().collect();
        let args = [Arg::from(x), Arg::from(Tensor::vector(&indices))];
        let mut b = Builder::new(&CONST);
        let first = b.input(Type::tensor(DType::F32, Shape::known(dims)), None);
        let indices = b.input(Type::tensor(DType::I32, Shape::known(&dims[..1])), None);
        let links = STEPS / steps;
        let mut chain = Chain { b: &mut b };
        let last = (0..links).fold(first, |x, _| link(&mut chain, x, indices));
        let function = Function::new("f", b.finish(&[last]).expect("in scope"));
        let plans = [vec![], vec!["resolve".to_string()]].map(|mut skip| {
            // The steps stay as they are written.
            skip.extend(["canonicalise", "simplify", "fuse", "native", "cse"].map(String::from));
            let start = Instant::now();
            let executable =
                Executable::with_options(&function, Options { skip, ..Options::default() }).expect("plans");
            (executable, start.elapsed().as_secs_f64() * 1e6 / STEPS as f64)
        });
        if std::env::var("LISTING").is_ok() {
            println!("{}", plans[0].0.text().expect("plans").lines().take(30).collect::<Vec<_>>().join("\n"));
        }
        let mut best = [f64::INFINITY; 2];
        for _ in 0..60 {
            for (best, (executable, _)) in best.iter_mut().zip(&plans) {
                let calls = 10;
                let start = Instant::now();
                for _ in 0..calls {
                    std::hint::black_box(executable.run(&args, &env).expect("runs"));
                }
                let ns = start.elapsed().as_nanos() as f64 / f64::from(calls) / (links * steps) as f64;
                *best = best.min(ns);
            }
        }
        println!("{name:<28} {:>10.1} {:>9.1} {:>10.2} {:>9.2}", best[0], best[1], plans[0].1, plans[1].1);
    }
}
