//! Loops over integers in every tier: those that count, at the limits of narrow dtypes, and random programs.

use penstock_data::{DType, Tensor, with_dtype};
use penstock_exec::{Arg, Executable, reference};
use penstock_filetests::{Recorder, run_tiers, same_tensor};
use penstock_ir::{Attrs, Builder, Function, OpDef, OpSet, Region, Type, Value, Verified};
use penstock_ops::{Ops, control};
use penstock_passes::{Options, Thresholds};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn op(name: &str) -> &'static OpDef {
    Ops.find(name).unwrap()
}

/// An integer scalar, modulo what the dtype has.
fn scalar(dtype: DType, value: i64) -> Tensor {
    with_dtype!(integer, dtype, T => Tensor::scalar(value as T), else panic!("{dtype} is no integer"))
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Builds a graph of one function, with shorthands, and with numbers to choose by.
struct Program {
    b: Builder,
    dtype: DType,
    rng: Rng,
}

impl Program {
    fn new(dtype: DType, rng: Rng) -> Program {
        Program { b: Builder::new(&control::CONST), dtype, rng }
    }

    fn input(&mut self) -> Value {
        self.b.input(Type::scalar(self.dtype), None)
    }

    fn constant(&mut self, value: i64) -> Value {
        self.b.constant(scalar(self.dtype, value))
    }

    fn op(&mut self, name: &str, operands: &[Value]) -> Value {
        self.b.emit(op(name), operands, &[]).unwrap()[0]
    }

    fn inst(&mut self, op: &'static OpDef, operands: &[Value], regions: &[Region]) -> Vec<Value> {
        let inst = self.b.inst(op, operands, Attrs::EMPTY, regions).unwrap();
        self.b.results(inst).to_vec()
    }

    /// A loop over variables of the program's dtype.
    fn repeat(
        &mut self,
        init: &[Value],
        condition: impl FnOnce(&mut Self, &[Value]) -> Value,
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let types = vec![Type::scalar(self.dtype); init.len()];
        let first = self.b.begin_region(types.clone());
        let params = self.b.params(first);
        let go = condition(self, &params);
        let first = self.b.end_region(&[go]).unwrap();
        let second = self.b.begin_region(types);
        let params = self.b.params(second);
        let next = body(self, &params);
        let second = self.b.end_region(&next).unwrap();
        self.inst(&control::WHILE, init, &[first, second])
    }

    /// A branch of which one function makes both arms.
    fn branch(&mut self, go: Value, mut arm: impl FnMut(&mut Self) -> Vec<Value>) -> Vec<Value> {
        let regions = [0; 2].map(|_| {
            self.b.begin_region([]);
            let results = arm(self);
            self.b.end_region(&results).unwrap()
        });
        self.inst(&control::COND, &[go], &regions)
    }
}

/// Runs a graph as a plan with machine code on each of some arguments, against the reference interpreter.
fn agree(graph: &Verified, all: impl Iterator<Item = Vec<Tensor>>) {
    let function = Function::new("main", graph.clone());
    let plan = Executable::with_options(
        &function,
        Options { thresholds: Thresholds { native_after: 0, ..Thresholds::DEFAULT }, ..Options::default() },
    )
    .unwrap();
    for args in all {
        let args: Vec<Arg> = args.into_iter().map(Arg::Tensor).collect();
        let due = reference::run(graph, &args, &Recorder::default()).unwrap();
        let found = plan.run(&args, &Recorder::default()).unwrap();
        assert!(due.iter().zip(&found).all(|(a, b)| same_tensor(a, b)), "{found:?}, not {due:?} in\n{graph}");
    }
}

/// Whether `while i HOW bound: i += step` ends within the rounds that a dtype of 8 bits can count.
fn ends(how: &str, signed: bool, start: i64, bound: i64, step: i64) -> bool {
    let wrapped = |v: i64| if signed { i64::from(v as i8) } else { i64::from(v as u8) };
    let (mut i, bound) = (wrapped(start), wrapped(bound));
    for _ in 0..300 {
        let go = match how {
            "less" => i < bound,
            "less_equal" => i <= bound,
            "greater" => i > bound,
            "greater_equal" => i >= bound,
            _ => i != bound,
        };
        if !go {
            return true;
        }
        i = wrapped(i + step);
    }
    false
}

/// `while i HOW bound`, or `while bound HOW i`, over a counter, sums of it, a product with a constant, and what follows it.
fn counting(dtype: DType, how: &str, step: i64, swapped: bool, bound: Option<i64>) -> Verified {
    let mut p = Program::new(dtype, Rng(0));
    let (start, given, by) = (p.input(), p.input(), p.input());
    let bound = bound.map_or(given, |bound| p.constant(bound));
    let (zero, three) = (p.constant(0), p.constant(3));
    let last = p.repeat(
        &[start, zero, by, three, by],
        |p, v| p.op(how, &if swapped { [bound, v[0]] } else { [v[0], bound] }),
        |p, v| {
            let (back, step) = (p.constant(-step), p.constant(step));
            let i = if swapped { p.op("sub", &[v[0], back]) } else { p.op("add", &[v[0], step]) };
            let sum = p.op("add", &[v[1], v[0]]);
            let scaled = p.op("mul", &[i, three]);
            let scaled = p.op("sub", &[scaled, by]);
            let product = p.op("sub", &[v[2], scaled]);
            let fixed = p.op("add", &[v[3], by]);
            vec![i, sum, product, fixed, v[0]]
        },
    );
    p.b.finish(&last).unwrap()
}

#[test]
fn loops_that_count_end_as_they_would_round_by_round() {
    let corners = [-128, -127, -3, -1, 0, 1, 5, 100, 125, 126, 127, 255];
    for (how, mirrored, steps) in [
        ("less", "greater", [1, 2, 7]),
        ("less_equal", "greater_equal", [1, 3, 100]),
        ("greater", "less", [-1, -2, -7]),
        ("greater_equal", "less_equal", [-1, -3, -100]),
        ("not_equal", "not_equal", [1, -1, 2]),
    ] {
        for (dtype, step) in [DType::I8, DType::U8].into_iter().flat_map(|d| steps.map(|s| (d, s))) {
            let pairs = corners.into_iter().flat_map(|start| corners.map(|bound| (start, bound)));
            let pairs = pairs.filter(|&(start, bound)| ends(how, dtype == DType::I8, start, bound, step));
            let args = pairs.map(|(start, bound)| [start, bound, 7 - start].map(|v| scalar(dtype, v)).to_vec());
            agree(&counting(dtype, how, step, false, None), args.clone());
            agree(&counting(dtype, mirrored, step, true, None), args);
        }
    }
}

#[test]
fn loops_to_a_constant_end_as_they_would_round_by_round() {
    for (how, step) in [("less", 1), ("less", 6), ("less_equal", 5), ("greater", -4), ("not_equal", 1)] {
        for bound in [-128, -120, 0, 3, 121, 122, 126, 127] {
            let starts = [-128, -5, 0, 50, 127].into_iter().filter(|&s| ends(how, true, s, bound, step));
            let args = starts.map(|start| [start, 0, 11].map(|v| scalar(DType::I8, v)).to_vec());
            agree(&counting(DType::I8, how, step, false, Some(bound)), args);
        }
    }
}

#[test]
fn loops_of_more_rounds_than_anybody_waits_for_end() {
    for dtype in [DType::I32, DType::I64, DType::U64] {
        let bound = if dtype == DType::I32 { i64::from(i32::MAX) } else { i64::MAX };
        let start = if dtype == DType::U64 { 3 } else { -bound };
        let function = Function::new("main", counting(dtype, "less", 1, false, None));
        let args = [start, bound, 2].map(|v| Arg::Tensor(scalar(dtype, v)));
        let found = Executable::new(&function).unwrap().run(&args, &Recorder::default()).unwrap();
        let sum = (i128::from(bound) - i128::from(start)) * (i128::from(start) + i128::from(bound) - 1) / 2;
        for (found, due) in found.iter().zip([bound, sum as i64]) {
            assert!(same_tensor(found, &scalar(dtype, due)), "{found:?}, not {due}");
        }
    }
}

const COMPARISONS: [&str; 6] = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"];
const DIVISIONS: [&str; 4] = ["floordiv", "floormod", "truncatediv", "truncatemod"];
const OTHERS: [&str; 9] =
    ["add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "squared_difference"];
/// Divisors, factors and bounds that have code of their own, and the limits of dtypes.
const CONSTANTS: [i64; 18] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 16, 127, -1, -2, -3, i32::MAX as i64, i64::MIN];

/// Those that are 0 in no dtype.
const DIVISORS: [i64; 16] = [1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 16, 127, -1, -2, -3, i32::MAX as i64];

/// Adds random instructions on the values of `pool`.
fn steps(p: &mut Program, pool: &mut Vec<Value>, size: usize, depth: usize) {
    for _ in 0..size {
        let (x, y) = (p.rng.pick(pool), p.rng.pick(pool));
        match p.rng.below(if depth < 3 { 9 } else { 5 }) {
            0 => {
                let value = p.rng.pick(&CONSTANTS);
                let c = p.constant(value);
                let (name, operands) = (p.rng.pick(&OTHERS), p.rng.pick(&[[x, c], [c, x]]));
                pool.push(p.op(name, &operands));
            }
            1 => {
                let name = p.rng.pick(&OTHERS);
                pool.push(p.op(name, &[x, y]));
            }
            // None fails: what fails and is not used may be dropped.
            2 | 3 => {
                let (value, one) = (p.rng.pick(&DIVISORS), p.constant(1));
                let odd = p.op("bitwise_or", &[y, one]);
                let divisor = if p.rng.below(4) == 0 { odd } else { p.constant(value) };
                let name = p.rng.pick(&DIVISIONS);
                pool.push(p.op(name, &[x, divisor]));
            }
            4 => {
                let go = test(p, pool);
                pool.push(p.op("select", &[go, x, y]));
            }
            5 | 6 => {
                let go = test(p, pool);
                let (count, size) = (1 + p.rng.below(2), p.rng.below(4));
                let results = p.branch(go, |p| {
                    let mut inner = pool.clone();
                    steps(p, &mut inner, size, depth + 1);
                    inner.split_off(inner.len() - count)
                });
                pool.extend(results);
            }
            _ => repeat(p, pool, depth),
        }
    }
}

/// Adds a loop that counts up or down, with what else may end it, and perhaps more variables.
fn repeat(p: &mut Program, pool: &mut Vec<Value>, depth: usize) {
    let (rounds, extra, up) = (p.rng.below(6) as i64, p.rng.below(3), p.rng.below(2) == 0);
    let (start, bound, how, step) = if up { (0, rounds, "less", 1) } else { (rounds, 0, "greater", -1) };
    let mut init = vec![p.constant(start)];
    init.extend((0..extra).map(|_| p.rng.pick(pool)));
    let results = p.repeat(
        &init,
        |p, v| {
            let bound = p.constant(bound);
            let counts = p.op(how, &[v[0], bound]);
            if p.rng.below(2) == 0 {
                return counts;
            }
            let inner: Vec<Value> = pool.iter().chain(v).copied().collect();
            let more = test(p, &inner);
            p.op("logical_and", &[counts, more])
        },
        |p, v| {
            let mut inner: Vec<Value> = pool.iter().chain(v).copied().collect();
            steps(p, &mut inner, 4, depth + 1);
            let step = p.constant(step);
            let mut next = vec![p.op("add", &[v[0], step])];
            next.extend(inner.split_off(inner.len() - extra));
            next
        },
    );
    pool.extend(results);
}

/// A comparison of values, often of a remainder with a constant.
fn test(p: &mut Program, pool: &[Value]) -> Value {
    let (x, y, value) = (p.rng.pick(pool), p.rng.pick(pool), p.rng.pick(&DIVISORS));
    let c = p.constant(value);
    if p.rng.below(2) == 0 {
        let remainder = p.rng.below(4) as i64 - 1;
        let remainder = p.constant(remainder);
        let (division, how) = (p.rng.pick(&["floormod", "truncatemod"]), p.rng.pick(&["equal", "not_equal"]));
        let rest = p.op(division, &[x, c]);
        return p.op(how, &[rest, remainder]);
    }
    let (how, y) = (p.rng.pick(&COMPARISONS), p.rng.pick(&[c, y]));
    p.op(how, &[x, y])
}

fn config() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn programs_of_loops_and_branches_give_the_same_in_every_tier(seed in any::<u64>(), size in 1usize..10) {
        let mut rng = Rng(seed);
        let dtypes = [DType::I8, DType::U8, DType::I16, DType::I32, DType::I64, DType::U32, DType::U64];
        let dtype = rng.pick(&dtypes);
        let mut p = Program::new(dtype, Rng(!seed));
        let mut pool = vec![p.input(), p.input(), p.input()];
        steps(&mut p, &mut pool, size, 0);
        let results = pool.split_off(pool.len().saturating_sub(6));
        let graph = p.b.finish(&results).unwrap();
        for _ in 0..4 {
            let args = [0; 3].map(|_| scalar(dtype, rng.pick(&CONSTANTS)));
            if let Err(error) = run_tiers(&graph, &args) {
                prop_assert!(false, "{} for {:?} in\n{}", error, args, graph);
            }
        }
    }
}
