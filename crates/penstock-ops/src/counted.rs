//! Counted loops: which variables of a `while` grow by the same in each iteration, what is computed from them, and what ends the
//! loop.
//!
//! This is the one analysis that unrolling, induction, passes over reads in loops, row loops and derivatives ask, so a spelling that
//! one of them takes, all take: `i + 1`, `1 + i`, `i - 1`, sums of several constants, casts between integers; `i < n`,
//! `n > i`, `<=`, `>=`, `!=`, and comparisons of `i + 1`. What is the same in every iteration is a constant, a value from outside, or a
//! variable that the body hands on as it is.

use penstock_data::DType;
use penstock_ir::{Def, Graph, InstData, OpDef, Region, Value};

use crate::binary::{ADD, SUB};
use crate::cast::CAST;
use crate::compare::{GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL};
use crate::control::CONST;

/// How many instructions are looked back through from a value to the variable that it is computed from.
const LOOK_BACK: usize = 16;

/// A number that is the same in every iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// It is known.
    Const(i64),
    /// A scalar from outside of the loop.
    Value(Value),
}

/// A number that is so much more than a loop variable has at the start of the iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affine {
    /// The number of the variable.
    pub variable: usize,
    /// How much more it is.
    pub offset: i64,
    /// The least offset on the way to it,
    pub low: i64,
    /// and the greatest one.
    pub high: i64,
    /// What all dtypes on the way can hold.
    limits: (i128, i128),
}

impl Affine {
    /// It, where the variable itself has this value.
    fn checked(&self, variable: i64) -> Option<i64> {
        let fits = |offset: i64| {
            let value = variable.checked_add(offset)?;
            (self.limits.0..=self.limits.1).contains(&i128::from(value)).then_some(value)
        };
        fits(self.low)?;
        fits(self.high)?;
        fits(self.offset)
    }
}

/// How the condition compares a number with the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `!=`
    NotEqual,
}

impl Compare {
    /// The operator that compares so.
    pub fn op(self) -> &'static OpDef {
        match self {
            Compare::Less => &LESS,
            Compare::LessEqual => &LESS_EQUAL,
            Compare::Greater => &GREATER,
            Compare::GreaterEqual => &GREATER_EQUAL,
            Compare::NotEqual => &NOT_EQUAL,
        }
    }

    fn of(graph: &Graph, data: &InstData, swapped: bool) -> Option<Compare> {
        use Compare::{Greater, GreaterEqual, Less, LessEqual, NotEqual};
        let scalars = data.operands.iter().all(|&v| graph.ty(v).shape().rank() == Some(0));
        let how = [Less, LessEqual, Greater, GreaterEqual, NotEqual].into_iter().find(|how| data.op.is(how.op()))?;
        let turned = match how {
            Less => Greater,
            LessEqual => GreaterEqual,
            Greater => Less,
            GreaterEqual => LessEqual,
            NotEqual => NotEqual,
        };
        scalars.then_some(if swapped { turned } else { how })
    }
}

/// The condition of a loop that goes on while a number compares so with the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Test {
    /// What is compared.
    pub number: Affine,
    /// How it compares.
    pub how: Compare,
    /// With what.
    pub bound: Number,
}

/// A `while`, asked what its variables count.
#[derive(Clone, Copy)]
pub struct CountedLoop<'a> {
    graph: &'a Graph,
    data: &'a InstData,
}

impl<'a> CountedLoop<'a> {
    /// Those of a `while`.
    pub fn new(graph: &'a Graph, data: &'a InstData) -> CountedLoop<'a> {
        CountedLoop { graph, data }
    }

    fn regions(&self) -> [Region; 2] {
        [self.data.regions[0], self.data.regions[1]]
    }

    /// What a value of the loop is, if it is the same in every iteration: a scalar of integers.
    fn fixed(&self, value: Value) -> Option<Number> {
        let graph = self.graph;
        let ty = graph.ty(value);
        if !ty.dtype().is_integer() || ty.is_variable() || ty.shape().rank() != Some(0) {
            return None;
        }
        if let Some(ints) = graph.constant(value).and_then(|t| t.to_ints().ok()) {
            return ints.first().map(|&n| Number::Const(n));
        }
        let [cond, body] = self.regions();
        let region = graph.values[value].region;
        if region != cond && region != body {
            return Some(Number::Value(value));
        }
        let Def::Param(k) = graph.values[value].def else { return None };
        let k = k as usize;
        (graph.regions[body].results[k] == graph.regions[body].params[k]).then(|| self.fixed(self.data.operands[k]))?
    }

    /// The variable that a value of the condition or of the body is computed from by adding constants.
    pub fn affine(&self, value: Value) -> Option<Affine> {
        self.look_back(value, LOOK_BACK)
    }

    fn look_back(&self, value: Value, left: usize) -> Option<Affine> {
        let graph = self.graph;
        let (ty, region) = (graph.ty(value), graph.values[value].region);
        let inside = self.regions().contains(&region) && ty.shape().rank() == Some(0) && !ty.is_variable();
        if left == 0 || !inside || !ty.dtype().is_integer() {
            return None;
        }
        let limits = limits(ty.dtype());
        if let Def::Param(k) = graph.values[value].def {
            return Some(Affine { variable: k as usize, offset: 0, low: 0, high: 0, limits });
        }
        let data = &graph.insts[graph.def_inst(value)?];
        let constant = |v: Value| match self.fixed(v) {
            Some(Number::Const(n)) => Some(n),
            _ => None,
        };
        let (from, more) = match data.operands[..] {
            [x] if data.op.is(&CAST) => (x, 0),
            [x, y] if data.op.is(&ADD) => constant(y).map(|n| (x, n)).or_else(|| constant(x).map(|n| (y, n)))?,
            [x, y] if data.op.is(&SUB) => (x, constant(y)?.checked_neg()?),
            _ => return None,
        };
        let from = self.look_back(from, left - 1)?;
        let offset = from.offset.checked_add(more)?;
        let (low, high) = (from.low.min(offset), from.high.max(offset));
        let limits = (limits.0.max(from.limits.0), limits.1.min(from.limits.1));
        Some(Affine { variable: from.variable, offset, low, high, limits })
    }

    /// Whether an instruction only adds to a loop variable.
    pub fn counts(&self, data: &InstData) -> bool {
        matches!(data.results[..], [result] if self.affine(result).is_some())
    }

    /// What a variable grows by in each iteration; `None` where it does anything else, or stays as it is.
    pub fn step(&self, variable: usize) -> Option<Number> {
        let body = &self.graph.regions[self.regions()[1]];
        let (param, next) = (body.params[variable], body.results[variable]);
        if let Some(next) = self.affine(next) {
            return (next.variable == variable && next.offset != 0).then_some(Number::Const(next.offset));
        }
        let data = &self.graph.insts[self.graph.def_inst(next)?];
        match data.operands[..] {
            [x, y] if data.op.is(&ADD) && x == param => self.fixed(y),
            [x, y] if data.op.is(&ADD) && y == param => self.fixed(x),
            _ => None,
        }
    }

    /// What a variable starts with; `None` for anything but a scalar of integers.
    pub fn start(&self, variable: usize) -> Option<Number> {
        self.fixed(self.data.operands[variable])
    }

    /// The condition, where it compares a number that counts with what is the same in every iteration.
    pub fn test(&self) -> Option<Test> {
        let cond = &self.graph.regions[self.regions()[0]];
        let data = &self.graph.insts[self.graph.def_inst(*cond.results.first()?)?];
        let &[x, y] = &data.operands[..] else { return None };
        let side = |number: Value, bound: Value, swapped: bool| {
            let (how, number) = (Compare::of(self.graph, data, swapped)?, self.affine(number)?);
            self.step(number.variable)?;
            Some(Test { number, how, bound: self.fixed(bound)? })
        };
        side(x, y, false).or_else(|| side(y, x, true))
    }

    /// Whether the condition does nothing but compute what it gives.
    pub fn only_tests(&self) -> bool {
        let cond = &self.graph.regions[self.regions()[0]];
        let test = cond.results.first().and_then(|&v| self.graph.def_inst(v));
        cond.insts.iter().all(|&inst| {
            let data = &self.graph.insts[inst];
            Some(inst) == test || data.op.is(&CONST) || self.counts(data)
        })
    }

    /// How many iterations the loop makes, where start, step and bound are constants and it stops before its counter wraps around.
    pub fn iterations(&self) -> Option<usize> {
        let Test { number, how, bound: Number::Const(bound) } = self.test()? else { return None };
        let (Number::Const(by), Number::Const(start)) = (self.step(number.variable)?, self.start(number.variable)?)
        else {
            return None;
        };
        let count = trip_count(number.checked(start)?, by, how, bound)?;
        // The counter, and what is compared, hold what ends the loop.
        let last = i64::try_from(count).ok()?.checked_mul(by)?.checked_add(start)?;
        number.checked(last)?;
        count.try_into().ok()
    }

    /// What a value of the body is in the first and in the last of so many iterations, where its variable starts with a constant.
    pub fn ends(&self, value: Value, iterations: usize) -> Option<(i64, i64)> {
        let number = self.affine(value)?;
        let (Number::Const(by), Number::Const(start)) = (self.step(number.variable)?, self.start(number.variable)?)
        else {
            return None;
        };
        let last = i64::try_from(iterations).ok()?.checked_sub(1)?.checked_mul(by)?.checked_add(start)?;
        Some((number.checked(start)?, number.checked(last)?))
    }
}

/// The least and the greatest number of an integer dtype.
pub fn limits(dtype: DType) -> (i128, i128) {
    let bits = 8 * dtype.size();
    if dtype.is_unsigned() { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// How many iterations a loop makes while what starts at `from` and grows by `by` compares so with the bound; `None` where that does
/// not end it.
pub fn trip_count(from: i64, by: i64, how: Compare, bound: i64) -> Option<u64> {
    let (from, by, bound) = (i128::from(from), i128::from(by), i128::from(bound));
    let (distance, by) = match how {
        Compare::Less if by > 0 => (bound - from, by),
        Compare::LessEqual if by > 0 => (bound - from + 1, by),
        Compare::Greater if by < 0 => (from - bound, -by),
        Compare::GreaterEqual if by < 0 => (from - bound + 1, -by),
        Compare::NotEqual if by != 0 && (bound - from) % by == 0 => ((bound - from) * by.signum(), by.abs()),
        _ => return None,
    };
    // What never meets the bound goes on.
    if how == Compare::NotEqual && distance < 0 {
        return None;
    }
    u64::try_from(distance.max(0).div_euclid(by) + i128::from(distance.max(0) % by > 0)).ok()
}

#[cfg(test)]
mod tests {
    use penstock_data::Tensor;
    use penstock_ir::{Builder, Type};

    use super::*;
    use crate::control::WHILE;

    /// A loop from `start` whose body and condition are made of the counter, and what is asked of it.
    fn asked<R>(
        start: Tensor,
        next: impl Fn(&mut Builder, Value) -> Value,
        test: impl Fn(&mut Builder, Value) -> Value,
        ask: impl Fn(CountedLoop<'_>) -> R,
    ) -> R {
        let mut b = Builder::new(&CONST);
        let ty = Type::scalar(start.dtype());
        let start = b.constant(start);
        let cond = b.begin_region([ty.clone()]);
        let i = b.graph().regions[cond].params[0];
        let go = test(&mut b, i);
        b.end_region(&[go]).unwrap();
        let body = b.begin_region([ty.clone()]);
        let i = b.graph().regions[body].params[0];
        let next = next(&mut b, i);
        b.end_region(&[next]).unwrap();
        let inst = b.inst(&WHILE, &[start], penstock_ir::Attrs::EMPTY, &[cond, body]).unwrap();
        ask(CountedLoop::new(b.graph(), &b.graph().insts[inst]))
    }

    fn with(b: &mut Builder, op: &'static penstock_ir::OpDef, x: Value, n: i64, turned: bool) -> Value {
        let n = if b.graph().ty(x).dtype() == DType::I32 { Tensor::from(n as i32) } else { Tensor::from(n) };
        let n = b.constant(n);
        b.emit(op, &if turned { [n, x] } else { [x, n] }, &[]).unwrap()[0]
    }

    #[test]
    fn every_spelling_of_a_count_gives_its_iterations() {
        let nexts: [fn(&mut Builder, Value) -> Value; 4] = [
            |b, i| with(b, &ADD, i, 2, false),
            |b, i| with(b, &ADD, i, 2, true),
            |b, i| with(b, &SUB, i, -2, false),
            |b, i| {
                let more = with(b, &ADD, i, 5, false);
                with(b, &SUB, more, 3, false)
            },
        ];
        let tests: [(fn(&mut Builder, Value) -> Value, usize); 6] = [
            (|b, i| with(b, &LESS, i, 7, false), 4),
            (|b, i| with(b, &GREATER, i, 7, true), 4),
            (|b, i| with(b, &LESS_EQUAL, i, 8, false), 5),
            (|b, i| with(b, &GREATER_EQUAL, i, 8, true), 5),
            (|b, i| with(b, &NOT_EQUAL, i, 6, false), 3),
            (
                |b, i| {
                    let after = with(b, &ADD, i, 1, false);
                    with(b, &LESS, after, 7, false)
                },
                3,
            ),
        ];
        for start in [Tensor::from(0i32), Tensor::from(0i64)] {
            for next in nexts {
                for (test, due) in tests {
                    assert_eq!(asked(start.clone(), next, test, |l| l.iterations()), Some(due));
                    assert!(asked(start.clone(), next, test, |l| l.only_tests()));
                }
            }
        }
    }

    #[test]
    fn a_counter_that_would_wrap_around_or_pass_its_bound_counts_no_iterations() {
        let least = |l: CountedLoop<'_>| l.iterations();
        let up = |b: &mut Builder, i| with(b, &ADD, i, 2, false);
        assert_eq!(asked(Tensor::from(0i32), up, |b, i| with(b, &LESS, i, i64::from(i32::MAX), false), least), None);
        assert_eq!(asked(Tensor::from(1i32), up, |b, i| with(b, &NOT_EQUAL, i, 6, false), least), None);
        assert_eq!(asked(Tensor::from(8i32), up, |b, i| with(b, &NOT_EQUAL, i, 6, false), least), None);
        assert_eq!(asked(Tensor::from(8i32), up, |b, i| with(b, &GREATER, i, 6, false), least), None);
        assert_eq!(asked(Tensor::from(8i32), up, |b, i| with(b, &LESS, i, 6, false), least), Some(0));
    }
}
