//! Random programs with loops, held against the same programs with the loops unrolled.

mod common;

use std::sync::Arc;

use common::{by_pair, derivative, f64s, run};
use penstock_autodiff::{Residual, vjp_function};
use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, Executable, StdEnv};
use penstock_ir::{Attr, Attrs, Builder, Function, OpSet, Type, Value};
use penstock_ops::{Ops, control};

const UNARY: [&str; 4] = ["sin", "tanh", "neg", "cos"];
const BINARY: [&str; 3] = ["add", "mul", "sub"];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Computes a further value, or several, of those before it.
enum Node {
    Unary(&'static str, usize),
    Binary(&'static str, usize, usize),
    /// The block so many times as input `count` says, over values of its own, and the sum of one of each round.
    Loop {
        count: usize,
        init: Vec<usize>,
        body: Block,
        record: usize,
    },
    /// One of two blocks by whether the number of the innermost round is even.
    Branch {
        even: Block,
        odd: Block,
    },
}

/// Nodes that see the values before them, and the values that they leave.
struct Block {
    nodes: Vec<Node>,
    results: Vec<usize>,
}

fn block(random: &mut Random, seen: usize, width: usize, depth: usize) -> Block {
    let mut known = seen;
    let mut nodes = Vec::new();
    for _ in 0..2 + random.below(4) {
        let any = |random: &mut Random| random.below(known);
        let node = match random.below(7) {
            0 if depth < 3 => {
                let init: Vec<usize> = (0..1 + random.below(2)).map(|_| any(random)).collect();
                let body = block(random, known + init.len(), init.len(), depth + 1);
                let record = random.below(known + init.len());
                known += init.len();
                Node::Loop { count: random.below(2), init, body, record }
            }
            1 if depth < 3 => {
                Node::Branch { even: block(random, known, 1, depth + 1), odd: block(random, known, 1, depth + 1) }
            }
            2 | 3 => Node::Unary(UNARY[random.below(UNARY.len())], any(random)),
            _ => Node::Binary(BINARY[random.below(BINARY.len())], any(random), any(random)),
        };
        known += 1;
        nodes.push(node);
    }
    let results = (0..width).map(|k| if k == 0 { known - 1 } else { random.below(known) }).collect();
    Block { nodes, results }
}

fn state() -> Type {
    Type::tensor(DType::F64, Shape::known(&[2]))
}

fn emit(b: &mut Builder, op: &str, operands: &[Value], attrs: &[(&str, Attr)]) -> Value {
    b.emit(Ops.find(op).unwrap(), operands, attrs).unwrap()[0]
}

fn int(b: &mut Builder, n: i64) -> Value {
    b.constant(Tensor::from(n))
}

/// The numbers of rounds, as inputs and as they will be.
struct Counts {
    inputs: [Value; 2],
    known: [usize; 2],
}

/// The number of the innermost round: known where loops are unrolled.
#[derive(Clone, Copy)]
enum Round {
    Known(usize),
    Value(Value),
}

/// Adds a block to the graph, with its loops as loops or unrolled.
fn lower(b: &mut Builder, block: &Block, seen: &[Value], round: Round, counts: &Counts, unroll: bool) -> Vec<Value> {
    let mut env = seen.to_vec();
    for node in &block.nodes {
        match node {
            Node::Unary(op, a) => env.push(emit(b, op, &[env[*a]], &[])),
            Node::Binary(op, x, y) => env.push(emit(b, op, &[env[*x], env[*y]], &[])),
            Node::Branch { even, odd } => match round {
                Round::Known(n) => {
                    let taken = if n % 2 == 0 { even } else { odd };
                    let out = lower(b, taken, &env, round, counts, unroll);
                    env.extend(out);
                }
                Round::Value(v) => {
                    let (two, zero) = (int(b, 2), int(b, 0));
                    let rest = emit(b, "floormod", &[v, two], &[]);
                    let is_even = emit(b, "equal", &[rest, zero], &[]);
                    let regions = [even, odd].map(|taken| {
                        b.begin_region([]);
                        let out = lower(b, taken, &env, round, counts, unroll);
                        b.end_region(&out).unwrap()
                    });
                    let inst = b.inst(&control::COND, &[is_even], Attrs::EMPTY, &regions).unwrap();
                    env.extend(b.results(inst).to_vec());
                }
            },
            Node::Loop { count, init, body, record } if unroll => {
                let mut values: Vec<Value> = init.iter().map(|&i| env[i]).collect();
                let mut sum = b.constant(f64s(&[2], &[0.0; 2]));
                for n in 0..counts.known[*count] {
                    let inner: Vec<Value> = env.iter().copied().chain(values.iter().copied()).collect();
                    sum = emit(b, "add", &[sum, inner[*record]], &[]);
                    values = lower(b, body, &inner, Round::Known(n), counts, unroll);
                }
                env.extend(values);
                env.push(sum);
            }
            Node::Loop { count, init, body, record } => {
                let zero = int(b, 0);
                let list = emit(b, "list_new", &[zero], &[("dtype", DType::F64.into())]);
                let first: Vec<Value> = [zero, list].into_iter().chain(init.iter().map(|&i| env[i])).collect();
                let types: Vec<Type> = first.iter().map(|&v| b.graph().ty(v).clone()).collect();
                let cond = b.begin_region(types.clone());
                let now = b.params(cond)[0];
                let go = emit(b, "less", &[now, counts.inputs[*count]], &[]);
                b.end_region(&[go]).unwrap();
                let region = b.begin_region(types);
                let params = b.params(region);
                let inner: Vec<Value> = env.iter().copied().chain(params[2..].iter().copied()).collect();
                let recorded = emit(b, "list_push", &[params[1], inner[*record]], &[]);
                let out = lower(b, body, &inner, Round::Value(params[0]), counts, unroll);
                let one = int(b, 1);
                let next = emit(b, "add", &[params[0], one], &[]);
                let all: Vec<Value> = [next, recorded].into_iter().chain(out).collect();
                b.end_region(&all).unwrap();
                let inst = b.inst(&control::WHILE, &first, Attrs::EMPTY, &[cond, region]).unwrap();
                let results = b.results(inst).to_vec();
                let shape = b.constant(Tensor::vector(&[2i64]));
                let rows = emit(b, "list_stack", &[results[1], shape], &[("dtype", DType::F64.into())]);
                env.extend(&results[2..]);
                env.push(emit(b, "reduce_sum", &[rows], &[("axes", vec![0i64].into())]));
            }
        }
    }
    block.results.iter().map(|&i| env[i]).collect()
}

/// The program of a seed, for these numbers of rounds.
fn program(seed: u64, known: [usize; 2], unroll: bool) -> Arc<Function> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let body = block(&mut random, 2, 2, 0);
    let mut b = Builder::new(&control::CONST);
    let values = [0, 1].map(|_| b.input(state(), None));
    let inputs = [0, 1].map(|_| b.input(Type::scalar(DType::I64), None));
    let round = if unroll { Round::Known(known[0]) } else { Round::Value(inputs[0]) };
    let outputs = lower(&mut b, &body, &values, round, &Counts { inputs, known }, unroll);
    Arc::new(Function::new("f", b.finish(&outputs).unwrap()))
}

fn assert_same(found: &[Option<Tensor>], due: &[Option<Tensor>], what: &dyn Fn() -> String) {
    for (a, b) in found.iter().zip(due) {
        let list = |t: &Option<Tensor>| t.as_ref().map_or(vec![0.0; 2], |t| t.as_slice::<f64>().to_vec());
        for (x, y) in list(a).iter().zip(list(b)) {
            assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs())), "{x} against {y} for {}", what());
        }
    }
}

/// What the plans of a pair give is what the reference interpreter gives.
fn check_plans(f: &Arc<Function>, args: &[Tensor]) {
    let signature = f.signature();
    let float = |types: &[Type]| types.iter().map(|ty| ty.dtype() == DType::F64).collect::<Vec<_>>();
    let pair = vjp_function(f, &float(&signature.params), &float(&signature.results)).unwrap();
    let plan = |f: &Function, args: &[Tensor]| {
        let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
        Executable::new(f).unwrap().run(&args, &StdEnv::new(0)).unwrap().to_vec()
    };
    let kept = run(pair.forward(f), args);
    assert_eq!(plan(pair.forward(f), args), kept, "{}", pair.forward(f).to_text());
    let Some(backward) = &pair.backward else { return };
    let mut all: Vec<Tensor> = Vec::new();
    for residual in &pair.residuals {
        all.push(match *residual {
            Residual::Input(i) => args[i].clone(),
            Residual::Output(i) => kept[i].clone(),
        });
    }
    all.extend((0..signature.results.len()).map(|_| f64s(&[2], &[1.0, -0.5])));
    assert_eq!(plan(backward, &all), run(backward, &all), "{}", backward.to_text());
}

#[test]
fn gradients_of_loops_are_those_of_the_unrolled_program() {
    for seed in 0..150 {
        let known = [(seed % 4) as usize, (seed / 4 % 3) as usize];
        let (looped, unrolled) = (program(seed, known, false), program(seed, known, true));
        let mut args = vec![f64s(&[2], &[0.3, -0.7]), f64s(&[2], &[0.9, 0.4])];
        args.extend(known.map(|n| Tensor::from(n as i64)));
        let what = || format!("seed {seed}, rounds {known:?}:\n{}", looped.to_text());
        assert_same(&by_pair(&looped, &args), &by_pair(&unrolled, &args), &what);
        check_plans(&looped, &args);
        if seed % 3 == 0 {
            let second = [derivative(&looped, false), derivative(&unrolled, false)];
            if second[0].signature().results.len() == second[1].signature().results.len() {
                assert_same(&by_pair(&second[0], &args), &by_pair(&second[1], &args), &what);
            }
        }
    }
}
