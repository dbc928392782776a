//! Random loops over small arrays and lists, which run as machine code.

use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, reference};
use penstock_ir::{Attr, Attrs, Builder, OpDef, OpSet, Type, Value, Verified};
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_passes::{Options, optimize_for};

use crate::random::Random;
use crate::{env, executable};

const WIDTH: usize = 4;
const ROWS: usize = 3;

fn op(name: &str) -> &'static OpDef {
    penstock_ops::Ops.find(name).unwrap()
}

/// The values in scope, by kind: integers, numbers, vectors, matrices of rows like these, and lists of as many vectors.
const KINDS: usize = 5;
const INTEGER: usize = 0;
const NUMBER: usize = 1;
const VECTOR: usize = 2;
const MATRIX: usize = 3;
const LIST: usize = 4;

#[derive(Clone, Default)]
struct Scope([Vec<Value>; KINDS]);

fn type_of(kind: usize) -> Type {
    match kind {
        INTEGER => Type::scalar(DType::I32),
        NUMBER => Type::scalar(DType::F32),
        VECTOR => Type::tensor(DType::F32, Shape::known(&[WIDTH])),
        MATRIX => Type::tensor(DType::F32, Shape::known(&[ROWS, WIDTH])),
        _ => Type::scalar(DType::Variant),
    }
}

struct Generator {
    b: Builder,
    random: Random,
}

impl Generator {
    fn pick(&mut self, scope: &Scope, kind: usize) -> Value {
        // Mostly the newest, so that lists are mostly handed on from one to the next.
        let values = &scope.0[kind];
        if self.random.below(4) > 0 { values[values.len() - 1] } else { values[self.random.below(values.len())] }
    }

    fn emit(&mut self, name: &str, operands: &[Value], attrs: &[(&str, Attr)]) -> Value {
        self.b.emit(op(name), operands, attrs).unwrap()[0]
    }

    /// One of some operators.
    fn emit_any(&mut self, names: &[&str], operands: &[Value], attrs: &[(&str, Attr)]) -> Value {
        let name = names[self.random.below(names.len())];
        self.emit(name, operands, attrs)
    }

    fn ints(&mut self, values: &[i32]) -> Value {
        self.b.constant(Tensor::vector(values))
    }

    fn new_list(&mut self) -> Value {
        let length = self.b.constant(Tensor::from(ROWS as i32));
        let shape = Shape::known(&[WIDTH]);
        self.emit("list_new", &[length], &[("dtype", DType::F32.into()), ("shape", shape.into())])
    }

    /// An index, which is there more often than not.
    fn index(&mut self, scope: &Scope) -> Value {
        let any = self.pick(scope, INTEGER);
        let rows = self.b.constant(Tensor::from(ROWS as i32));
        if self.random.below(12) == 0 { any } else { self.emit("floormod", &[any, rows], &[]) }
    }

    fn statement(&mut self, scope: &mut Scope, depth: usize) {
        let kinds = if depth < 3 { 19 } else { 16 };
        let (kind, made) = match self.random.below(kinds) {
            0 => {
                let (a, n) = (self.pick(scope, INTEGER), self.random.below(5) as i32 - 1);
                let n = self.b.constant(Tensor::from(n));
                (INTEGER, self.emit_any(&["add", "mul", "sub"], &[a, n], &[]))
            }
            1 => {
                let (a, b) = (self.pick(scope, NUMBER), self.pick(scope, NUMBER));
                (NUMBER, self.emit_any(&["add", "mul", "maximum"], &[a, b], &[]))
            }
            2 => {
                let kind = [VECTOR, MATRIX][self.random.below(2)];
                let other = [kind, NUMBER, VECTOR][self.random.below(3)];
                let (a, b) = (self.pick(scope, kind), self.pick(scope, other));
                (kind, self.emit_any(&["add", "mul", "sub", "minimum"], &[a, b], &[]))
            }
            3 => {
                let kind = [VECTOR, MATRIX, NUMBER][self.random.below(3)];
                let a = self.pick(scope, kind);
                (kind, self.emit_any(&["tanh", "neg", "sigmoid"], &[a], &[]))
            }
            4 => {
                let a = self.pick(scope, VECTOR);
                (NUMBER, self.emit_any(&["reduce_sum", "reduce_max", "reduce_mean"], &[a], &[]))
            }
            5 => {
                let a = self.pick(scope, MATRIX);
                (VECTOR, self.emit("reduce_sum", &[a], &[("axes", vec![0].into())]))
            }
            6 => {
                let (x, i) = (self.pick(scope, MATRIX), self.index(scope));
                (VECTOR, self.emit_any(&["part", "gather"], &[x, i], &[]))
            }
            7 => {
                let (x, i) = (self.pick(scope, MATRIX), self.index(scope));
                (NUMBER, self.emit("part", &[x, i, i], &[]))
            }
            8 => {
                let (x, row) = (self.pick(scope, MATRIX), self.pick(scope, VECTOR));
                let (begin, end, one) = (self.ints(&[1]), self.ints(&[ROWS as i32]), self.ints(&[1]));
                let rest = self.emit("strided_slice", &[x, begin, end, one], &[]);
                let row = self.emit("expand_dims", &[row], &[("axis", 0.into())]);
                (MATRIX, self.emit("concat", &[rest, row], &[("axis", 0.into())]))
            }
            9 => {
                let rows = [0; ROWS].map(|_| self.pick(scope, VECTOR));
                (MATRIX, self.emit("stack", &rows, &[]))
            }
            10 => {
                let (x, row) = (self.pick(scope, MATRIX), self.pick(scope, VECTOR));
                let column = self.emit("expand_dims", &[row], &[("axis", 1.into())]);
                let product = self.emit("matmul", &[x, column], &[]);
                (NUMBER, self.emit("reduce_max", &[product], &[]))
            }
            11 => {
                let parts = self.pick(scope, MATRIX);
                let parts = self.b.emit(op("unstack"), &[parts], &[]).unwrap();
                (VECTOR, parts[self.random.below(ROWS)])
            }
            12 => {
                let (dims, x) = (self.ints(&[WIDTH as i32]), self.pick(scope, NUMBER));
                (VECTOR, self.emit("fill", &[dims, x], &[]))
            }
            13 => {
                let (list, i, x) = (self.pick(scope, LIST), self.index(scope), self.pick(scope, VECTOR));
                (LIST, self.emit("list_set", &[list, i, x], &[]))
            }
            14 => {
                let (list, i, shape) = (self.pick(scope, LIST), self.index(scope), self.ints(&[WIDTH as i32]));
                (VECTOR, self.emit("list_get", &[list, i, shape], &[("dtype", DType::F32.into())]))
            }
            15 => match self.random.below(3) {
                0 => (LIST, self.new_list()),
                1 => {
                    let x = self.pick(scope, MATRIX);
                    (LIST, self.emit("list_from_tensor", &[x], &[]))
                }
                _ => {
                    let (list, shape) = (self.pick(scope, LIST), self.ints(&[WIDTH as i32]));
                    let attrs = [("dtype", DType::F32.into()), ("num", (ROWS as i64).into())];
                    (MATRIX, self.emit("list_stack", &[list, shape], &attrs))
                }
            },
            16 => return self.branches(scope, depth),
            _ => return self.repeat(scope, depth),
        };
        scope.0[kind].push(made);
    }

    /// Some statements; the results, one of each of the kinds.
    fn block(&mut self, scope: &Scope, kinds: &[usize], depth: usize) -> Vec<Value> {
        let mut inner = scope.clone();
        for _ in 0..self.random.below(7) {
            self.statement(&mut inner, depth + 1);
        }
        kinds.iter().map(|&kind| self.pick(&inner, kind)).collect()
    }

    fn kinds(&mut self) -> Vec<usize> {
        (0..1 + self.random.below(5)).map(|_| self.random.below(KINDS)).collect()
    }

    fn branches(&mut self, scope: &mut Scope, depth: usize) {
        let kinds = self.kinds();
        let (a, b) = (self.pick(scope, INTEGER), self.pick(scope, INTEGER));
        let (of, count, selector) = match self.random.below(2) {
            0 => (&COND, 2, self.emit("less", &[a, b], &[])),
            _ => (&SWITCH, 3, a),
        };
        let mut regions = Vec::new();
        for _ in 0..count {
            self.b.begin_region([]);
            let results = self.block(scope, &kinds, depth);
            regions.push(self.b.end_region(&results).unwrap());
        }
        let inst = self.b.inst(of, &[selector], Attrs::EMPTY, &regions).unwrap();
        for (&kind, v) in kinds.iter().zip(self.b.results(inst).to_vec()) {
            scope.0[kind].push(v);
        }
    }

    fn repeat(&mut self, scope: &mut Scope, depth: usize) {
        let mut kinds = vec![INTEGER];
        kinds.extend(self.kinds());
        let mut init: Vec<Value> = kinds.iter().map(|&kind| self.pick(scope, kind)).collect();
        init[0] = self.b.constant(Tensor::from(0i32));
        let types: Vec<Type> = kinds.iter().map(|&kind| type_of(kind)).collect();
        let condition = self.b.begin_region(types.clone());
        let i = self.b.params(condition)[0];
        let limit = self.random.below(5) as i32;
        let limit = self.b.constant(Tensor::from(limit));
        let go = self.emit("less", &[i, limit], &[]);
        let condition = self.b.end_region(&[go]).unwrap();
        let body = self.b.begin_region(types);
        let params = self.b.params(body).to_vec();
        let mut inner = scope.clone();
        kinds.iter().zip(&params).for_each(|(&kind, &v)| inner.0[kind].push(v));
        let mut results = self.block(&inner, &kinds, depth);
        // Now and then variables keep what they are, or exchange it.
        for k in 1..kinds.len() {
            match self.random.below(4) {
                0 => results[k] = params[k],
                1 => {
                    let other = (1..kinds.len()).rfind(|&j| kinds[j] == kinds[k]).unwrap();
                    results[k] = params[other];
                }
                _ => {}
            }
        }
        let one = self.b.constant(Tensor::from(1i32));
        results[0] = self.emit("add", &[params[0], one], &[]);
        let body = self.b.end_region(&results).unwrap();
        let inst = self.b.inst(&WHILE, &init, Attrs::EMPTY, &[condition, body]).unwrap();
        for (&kind, v) in kinds.iter().zip(self.b.results(inst).to_vec()) {
            scope.0[kind].push(v);
        }
    }
}

/// A program of an integer, a number, a vector and a matrix.
fn program(seed: u64) -> Verified {
    let mut g = Generator { b: Builder::new(&CONST), random: Random(seed) };
    let mut scope = Scope::default();
    for kind in [INTEGER, NUMBER, VECTOR, MATRIX] {
        let input = g.b.input(type_of(kind), None);
        scope.0[kind].push(input);
    }
    let list = g.new_list();
    scope.0[LIST].push(list);
    for _ in 0..6 {
        g.statement(&mut scope, 0);
    }
    g.repeat(&mut scope, 0);
    let list = g.pick(&scope, LIST);
    let shape = g.ints(&[WIDTH as i32]);
    let attrs = [("dtype", DType::F32.into()), ("num", (ROWS as i64).into())];
    let mut outputs = vec![g.emit("list_stack", &[list, shape], &attrs)];
    outputs.extend([INTEGER, NUMBER, VECTOR, MATRIX].map(|kind| g.pick(&scope, kind)));
    g.b.finish(&outputs).unwrap()
}

fn arguments() -> Vec<Tensor> {
    let values = |n: usize| (0..n).map(|i| [0.5f32, -0.0, 1.25, f32::INFINITY, -2.0, 3.0][i % 6]).collect::<Vec<_>>();
    vec![
        Tensor::from(2i32),
        Tensor::from(-0.75f32),
        Tensor::vector(&values(WIDTH)),
        Tensor::from_slice(&[ROWS, WIDTH], &values(ROWS * WIDTH)).unwrap(),
    ]
}

fn bits(t: &Tensor) -> Vec<u32> {
    // Any NaN is as good as another.
    let word = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    match t.dtype() {
        DType::F32 => t.as_slice::<f32>().iter().map(word).collect(),
        _ => t.as_slice::<i32>().iter().map(|&x| x as u32).collect(),
    }
}

#[test]
fn loops_over_small_arrays_and_lists_do_what_the_reference_does() {
    let (mut native, mut failed) = (0, 0);
    for seed in 0..600 {
        let graph = program(seed);
        let args: Vec<Arg> = arguments().into_iter().map(Arg::from).collect();
        let types: Vec<Type> = arguments().iter().map(Type::of).collect();
        let optimised = optimize_for(&graph, &types, &Options::default()).unwrap();
        optimised.visit(&mut |_, _, data| native += usize::from(data.op.name == "native"));
        // The optimiser drops what is of no use, also where it would have failed.
        let expected = reference::run(&optimised, &args, &env());
        let whole = reference::run(&graph, &args, &env());
        let plan = executable(&graph);
        for _ in 0..2 {
            let found = plan.run(&args, &env());
            match (&expected, &found) {
                (Ok(expected), Ok(found)) => {
                    for (k, (a, b)) in expected.iter().zip(found).enumerate() {
                        assert_eq!((a.dims(), bits(a)), (b.dims(), bits(b)), "program {seed}:\n{graph}\n{optimised}");
                        assert!(
                            whole.as_ref().map_or(true, |all| bits(&all[k]) == bits(b)),
                            "program {seed}:\n{graph}"
                        );
                    }
                }
                (Err(expected), Err(found)) => {
                    failed += 1;
                    assert_eq!((expected.class(), expected.message()), (found.class(), found.message()), "{graph}");
                }
                _ => panic!("{expected:?} and {found:?} of program {seed}:\n{graph}"),
            }
        }
    }
    assert!(native > 300 && failed > 10, "{native} regions, {failed} failures");
}
