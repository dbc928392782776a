//! Random programs: elementwise arithmetic, branches, loops and variables.

use penstock_data::{DType, Shape, Tensor};
use penstock_ir::{Attrs, Builder, Type, Value, Verified};
use penstock_ops::cast::CAST;
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_ops::state::{ASSIGN, ASSIGN_ADD, ASSIGN_SUB, READ_VARIABLE};

use crate::ops::{ADD, BOTH, FLATTEN, LESS, MUL, NEG, PRINT, SUB};

/// A small generator of random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn pick(&mut self, values: &[Value]) -> Value {
        values[self.below(values.len())]
    }
}

struct Generator {
    builder: Builder,
    random: Random,
    variables: Vec<Value>,
}

/// The values in scope, by kind.
#[derive(Clone, Default)]
struct Scope {
    /// `f32` scalars.
    scalars: Vec<Value>,
    /// `f32` vectors of the length of the inputs.
    vectors: Vec<Value>,
}

/// A program of the inputs `scalar, vector, variable…`. The vectors have `len` elements, or a length that is not known.
pub(crate) fn program(seed: u64, len: Option<usize>, variables: usize) -> Verified {
    let mut builder = Builder::new(&CONST);
    let scalar = builder.input(Type::scalar(DType::F32), Some("a"));
    let shape = match len {
        Some(n) => Shape::known(&[n]),
        None => builder.symbolic(&Shape::of_rank(1).unwrap()),
    };
    let vector = builder.input(Type::tensor(DType::F32, shape), Some("x"));
    let variables = (0..variables).map(|_| builder.input(Type::Variable(DType::F32, Shape::scalar()), None)).collect();
    let mut generator = Generator { builder, random: Random(seed), variables };
    let mut scope = Scope { scalars: vec![scalar], vectors: vec![vector] };
    let count = 4 + generator.random.below(12);
    generator.statements(&mut scope, count, 0);
    let outputs: Vec<Value> = (0..3)
        .map(|i| if i == 0 { generator.random.pick(&scope.scalars) } else { generator.random.pick(&scope.vectors) })
        .collect();
    generator.builder.finish(&outputs).unwrap()
}

impl Generator {
    fn statements(&mut self, scope: &mut Scope, count: usize, depth: usize) {
        for _ in 0..count {
            self.statement(scope, depth);
        }
    }

    fn statement(&mut self, scope: &mut Scope, depth: usize) {
        let kinds = if depth < 3 { 13 } else { 10 };
        match self.random.below(kinds) {
            0 => {
                let value = [0.0f32, -0.0, 1.0, 2.5, f32::NAN, -3.0][self.random.below(6)];
                scope.scalars.push(self.builder.constant(Tensor::from(value)));
            }
            1..=3 => {
                let op = [&ADD, &SUB, &MUL][self.random.below(3)];
                let (a, b) = (self.random.pick(&scope.scalars), self.random.pick(&scope.scalars));
                scope.scalars.push(self.emit(op, &[a, b]));
            }
            4..=5 => {
                let op = [&ADD, &SUB, &MUL][self.random.below(3)];
                let a = self.random.pick(&scope.vectors);
                let b = if self.random.below(3) == 0 {
                    self.random.pick(&scope.scalars)
                } else {
                    self.random.pick(&scope.vectors)
                };
                scope.vectors.push(self.emit(op, &[a, b]));
            }
            6 => {
                let a = self.random.pick(&scope.vectors);
                match self.random.below(3) {
                    0 => scope.vectors.push(self.emit(&NEG, &[a])),
                    1 => scope.vectors.push(self.emit(&FLATTEN, &[a])),
                    _ => scope.vectors.extend(self.builder.emit(&BOTH, &[a], &[]).unwrap()),
                }
            }
            7 if !self.variables.is_empty() => {
                let v = self.random.pick(&self.variables.clone());
                scope.scalars.push(self.emit(&READ_VARIABLE, &[v]));
            }
            8 if !self.variables.is_empty() => {
                let v = self.random.pick(&self.variables.clone());
                let op = [&ASSIGN, &ASSIGN_ADD, &ASSIGN_SUB][self.random.below(3)];
                let value = self.random.pick(&scope.scalars);
                self.builder.emit(op, &[v, value], &[]).unwrap();
            }
            9 => {
                let value = self.random.pick(&scope.scalars);
                self.builder.emit(&PRINT, &[value], &[]).unwrap();
            }
            10 => self.branches(scope, depth),
            11 | 12 => self.repeat(scope, depth),
            _ => {}
        }
    }

    fn emit(&mut self, op: &'static penstock_ir::OpDef, operands: &[Value]) -> Value {
        self.builder.emit(op, operands, &[]).unwrap()[0]
    }

    fn branches(&mut self, scope: &mut Scope, depth: usize) {
        let is_cond = self.random.below(2) == 0;
        let (op, selector, count) = if is_cond {
            let (a, b) = (self.random.pick(&scope.scalars), self.random.pick(&scope.scalars));
            (&COND, self.emit(&LESS, &[a, b]), 2)
        } else {
            let a = self.random.pick(&scope.scalars);
            let index = self.builder.emit(&CAST, &[a], &[("dtype", DType::I32.into())]).unwrap()[0];
            (&SWITCH, index, 3)
        };
        let mut regions = Vec::new();
        for _ in 0..count {
            self.builder.begin_region([]);
            let mut inner = scope.clone();
            let n = self.random.below(4);
            self.statements(&mut inner, n, depth + 1);
            let results =
                [self.random.pick(&inner.scalars), self.random.pick(&inner.vectors), self.random.pick(&inner.vectors)];
            regions.push(self.builder.end_region(&results).unwrap());
        }
        let inst = self.builder.inst(op, &[selector], Attrs::EMPTY, &regions).unwrap();
        let results = self.builder.results(inst).to_vec();
        scope.scalars.push(results[0]);
        scope.vectors.extend(&results[1..]);
    }

    fn repeat(&mut self, scope: &mut Scope, depth: usize) {
        let zero = self.builder.constant(Tensor::from(0i32));
        let limit = self.random.below(4) as i32;
        let init = [
            zero,
            self.random.pick(&scope.scalars),
            self.random.pick(&scope.vectors),
            self.random.pick(&scope.vectors),
        ];
        let types: Vec<Type> = init.iter().map(|&v| self.builder.graph().ty(v).clone()).collect();
        let cond = self.builder.begin_region(types.clone());
        let i = self.builder.params(cond)[0];
        let limit = self.builder.constant(Tensor::from(limit));
        let go = self.emit(&LESS, &[i, limit]);
        let cond = self.builder.end_region(&[go]).unwrap();
        let body = self.builder.begin_region(types);
        let params = self.builder.params(body);
        let mut inner = scope.clone();
        inner.scalars.push(params[1]);
        inner.vectors.extend([params[2], params[3]]);
        let n = self.random.below(5);
        self.statements(&mut inner, n, depth + 1);
        let one = self.builder.constant(Tensor::from(1i32));
        let next = self.emit(&ADD, &[params[0], one]);
        let results = match self.random.below(4) {
            // Exchange, keep, or go on with what is newest.
            0 => [next, params[1], params[3], params[2]],
            1 => [next, self.random.pick(&inner.scalars), params[3], self.random.pick(&inner.vectors)],
            2 => [next, self.random.pick(&inner.scalars), *inner.vectors.last().unwrap(), params[3]],
            _ => [
                next,
                self.random.pick(&inner.scalars),
                self.random.pick(&inner.vectors),
                self.random.pick(&inner.vectors),
            ],
        };
        // A vector of another symbol or an unknown length does not fit the loop variable.
        let body_region = self.builder.end_region(&results).unwrap();
        let Ok(inst) = self.builder.inst(&WHILE, &init, Attrs::EMPTY, &[cond, body_region]) else { return };
        let results = self.builder.results(inst).to_vec();
        scope.scalars.push(results[1]);
        scope.vectors.extend(&results[2..]);
    }
}
