//! Loops that only count: what they end with is computed from the number of their iterations.
//!
//! A loop variable that grows by the same in every iteration, or by what such a variable is, is a recurrence: after `t`
//! iterations it is `a + b * t + c * t * (t - 1) / 2`, for integers that wrap around as well. O. Bachmann, P. Wang, E. Zima,
//! 1994, Chains of recurrences. Where all variables are, and the number of iterations is known from the condition, the
//! loop starts with what it ends with, and its condition is false at once. A loop whose counter would wrap around before it
//! meets its bound starts as it did.

use penstock_data::{DType, Loc, Result, Tensor, with_dtype};
use penstock_ir::{Attr, Attrs, Def, Graph, Inst, InstData, OpDef, OpRef, Region, Type, Value, ValueData};
use penstock_ops::binary::{self, ADD, MUL, SUB};
use penstock_ops::cast::CAST;
use penstock_ops::compare::{GREATER_EQUAL, LESS_EQUAL, LOGICAL_AND, SELECT};
use penstock_ops::control::{CONST, WHILE};
use penstock_ops::counted::{Compare, CountedLoop, Number, limits};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::Cx;
use crate::edit::inherit_name;

/// The most instructions of a body, and the most numbers that a recurrence is computed from.
const MAX_SIZE: usize = 64;

/// Lets loops of integer scalars that only count start with what they end with.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut replaced = FxHashMap::default();
    visit(graph, graph.body(), cx, &mut replaced)?;
    graph.replace_uses(&replaced);
    Ok(())
}

fn visit(graph: &mut Graph, region: Region, cx: &Cx, replaced: &mut FxHashMap<Value, Value>) -> Result<()> {
    let mut listed = Vec::new();
    for inst in std::mem::take(&mut graph.regions[region].insts) {
        for inner in graph.insts[inst].regions.clone() {
            visit(graph, inner, cx, replaced)?;
        }
        let ends = if graph.insts[inst].op.is(&WHILE) { Counted::of(graph, inst) } else { None };
        let Some(counted) = ends.filter(|_| cx.spend()) else {
            listed.push(inst);
            continue;
        };
        let mut at = Place { loc: graph.locs[inst], graph, region, listed };
        let last = counted.last(&mut at)?;
        listed = at.listed;
        if counted.surely_ends() {
            for (old, new) in graph.insts[inst].results.clone().into_iter().zip(last) {
                inherit_name(graph, old, new);
                replaced.insert(old, new);
            }
        } else {
            graph.insts[inst].operands = last;
            listed.push(inst);
        }
    }
    graph.regions[region].insts = listed;
    Ok(())
}

/// A number that is the same in every iteration.
#[derive(Clone, PartialEq, Debug)]
enum Fixed {
    Const(i128),
    Value(Value),
    Add(Box<[Fixed; 2]>),
    Sub(Box<[Fixed; 2]>),
    Mul(Box<[Fixed; 2]>),
}

const ZERO: Fixed = Fixed::Const(0);

impl Fixed {
    /// How many numbers it is made of.
    fn size(&self) -> usize {
        match self {
            Fixed::Const(_) | Fixed::Value(_) => 1,
            Fixed::Add(sides) | Fixed::Sub(sides) | Fixed::Mul(sides) => sides.iter().map(Fixed::size).sum(),
        }
    }

    fn plus(self, other: Fixed) -> Fixed {
        match (self, other) {
            (ZERO, x) | (x, ZERO) => x,
            (a, b) => folded(&a, &b, i128::checked_add).unwrap_or_else(|| Fixed::Add(Box::new([a, b]))),
        }
    }

    fn minus(self, other: Fixed) -> Fixed {
        match (self, other) {
            (x, ZERO) => x,
            (a, b) => folded(&a, &b, i128::checked_sub).unwrap_or_else(|| Fixed::Sub(Box::new([a, b]))),
        }
    }

    fn times(self, other: Fixed) -> Fixed {
        match (self, other) {
            (ZERO, _) | (_, ZERO) => ZERO,
            (Fixed::Const(1), x) | (x, Fixed::Const(1)) => x,
            (a, b) => folded(&a, &b, i128::checked_mul).unwrap_or_else(|| Fixed::Mul(Box::new([a, b]))),
        }
    }
}

/// The result on two constants.
fn folded(a: &Fixed, b: &Fixed, f: fn(i128, i128) -> Option<i128>) -> Option<Fixed> {
    match (a, b) {
        (&Fixed::Const(a), &Fixed::Const(b)) => f(a, b).map(Fixed::Const),
        _ => None,
    }
}

/// `a + b * t + c * t * (t - 1) / 2` in iteration `t`, modulo what the dtype has.
type Recurrence = [Fixed; 3];

/// What an instruction of the body gives: a recurrence, and perhaps the value that a variable has in this iteration.
#[derive(Clone)]
struct Form {
    own: Option<usize>,
    more: Recurrence,
}

impl Form {
    fn size(&self) -> usize {
        self.more.iter().map(Fixed::size).sum()
    }

    fn fixed(value: Fixed) -> Form {
        Form { own: None, more: [value, ZERO, ZERO] }
    }

    fn zip(self, other: Form, own: Option<usize>, f: impl Fn(Fixed, Fixed) -> Fixed) -> Form {
        let mut others = other.more.into_iter();
        Form { own, more: self.more.map(|a| f(a, others.next().unwrap_or(ZERO))) }
    }

    fn add(self, other: Form) -> Option<Form> {
        let own = match (self.own, other.own) {
            (own, None) | (None, own) => own,
            _ => return None,
        };
        Some(self.zip(other, own, Fixed::plus))
    }

    fn sub(self, other: Form) -> Option<Form> {
        let own = self.own;
        other.own.is_none().then(|| self.zip(other, own, Fixed::minus))
    }

    fn mul(self, other: Form) -> Option<Form> {
        if self.own.is_some() || other.own.is_some() {
            return None;
        }
        let (factor, form) = match (&self.more, &other.more) {
            ([factor, ZERO, ZERO], _) => (factor.clone(), other),
            (_, [factor, ZERO, ZERO]) => (factor.clone(), self),
            _ => return None,
        };
        Some(Form { own: None, more: form.more.map(|x| factor.clone().times(x)) })
    }
}

/// What is known of a loop variable.
#[derive(Clone)]
enum Variable {
    /// Its value in iteration `t`.
    Recurs(Recurrence),
    /// From the second iteration on, the value of the recurrence in the iteration before.
    Follows(Recurrence),
}

/// A loop of which all variables are known in each iteration, as is the number of iterations.
struct Counted {
    init: SmallVec<[Value; 3]>,
    variables: Vec<Variable>,
    dtypes: Vec<DType>,
    /// The variable that the condition compares with the bound, and what it grows by.
    counter: usize,
    step: i128,
    how: Compare,
    bound: Fixed,
}

impl Counted {
    fn of(graph: &Graph, inst: Inst) -> Option<Counted> {
        let data = &graph.insts[inst];
        let [condition, body] = data.regions[..] else { return None };
        let scalars = data.results.iter().all(|&v| {
            let ty = graph.ty(v);
            ty.dtype().is_integer() && !ty.is_variable() && ty.shape().dims().is_some_and(<[_]>::is_empty)
        });
        if !scalars || data.results.is_empty() || graph.regions[body].insts.len() > MAX_SIZE {
            return None;
        }
        let inside = |v: Value| graph.values[v].region == condition || graph.values[v].region == body;
        let fixed = |v: Value| match graph.constant(v).and_then(whole) {
            Some(c) => Some(Fixed::Const(c)),
            None => (!inside(v)).then_some(Fixed::Value(v)),
        };
        let counted = CountedLoop::new(graph, data);
        let test = counted.test().filter(|test| counted.only_tests() && test.number.offset == 0)?;
        let Number::Const(step) = counted.step(test.number.variable)? else { return None };
        let variables = recurrences(graph, data, body, &fixed)?;
        let (counter, how, step) = (test.number.variable, test.how, i128::from(step));
        let bound = match test.bound {
            Number::Const(bound) => Fixed::Const(bound.into()),
            Number::Value(bound) => Fixed::Value(bound),
        };
        let counts = match how {
            Compare::Less | Compare::LessEqual => step > 0,
            Compare::Greater | Compare::GreaterEqual => step < 0,
            Compare::NotEqual => step.abs() == 1,
        } && matches!(variables[counter], Variable::Recurs(_));
        let dtypes = data.results.iter().map(|&v| graph.ty(v).dtype()).collect();
        counts.then(|| Counted { init: data.operands.clone(), variables, dtypes, counter, step, how, bound })
    }

    /// The bounds at which the counter stops before it wraps around.
    fn safe_bounds(&self) -> (i128, i128) {
        let (low, high) = limits(self.dtypes[self.counter]);
        match self.how {
            Compare::Less => (low, high - self.step + 1),
            Compare::LessEqual => (low, high - self.step),
            Compare::Greater => (low - self.step - 1, high),
            Compare::GreaterEqual => (low - self.step, high),
            Compare::NotEqual => (low, high),
        }
    }

    /// Whether the counter never wraps around before the loop ends.
    fn surely_ends(&self) -> bool {
        let (low, high) = self.safe_bounds();
        match self.bound {
            Fixed::Const(bound) => (low..=high).contains(&bound),
            _ => (low, high) == limits(self.dtypes[self.counter]),
        }
    }

    /// Adds instructions that compute what the variables are after the last iteration, if that comes; else what they are at
    /// first.
    fn last(&self, at: &mut Place<'_>) -> Result<SmallVec<[Value; 3]>> {
        let dtype = self.dtypes[self.counter];
        let wide = unsigned(dtype);
        let (start, bound) = (self.init[self.counter], at.fixed(&self.bound, dtype)?);
        let mut runs = at.op(self.how.op(), &[start, bound], DType::Bool)?;
        let (low, high) = self.safe_bounds();
        if !self.surely_ends() {
            let (how, limit) = if self.step > 0 { (&LESS_EQUAL, high) } else { (&GREATER_EQUAL, low) };
            let limit = at.constant(limit, dtype)?;
            let ends = at.op(how, &[bound, limit], DType::Bool)?;
            runs = at.op(&LOGICAL_AND, &[runs, ends], DType::Bool)?;
        }
        // The distance is a number without a sign, and at least 1 where the loop runs and the bound is left out.
        let ends = if self.step > 0 { [bound, start] } else { [start, bound] };
        let distance = at.op(&binary::SUB, &ends, dtype)?;
        let mut iterations = at.cast(distance, dtype, wide)?;
        let one = at.constant(1, wide)?;
        let inclusive = matches!(self.how, Compare::LessEqual | Compare::GreaterEqual);
        if self.step.abs() > 1 {
            let divisor = at.constant(self.step.abs(), wide)?;
            if !inclusive {
                iterations = at.op(&binary::SUB, &[iterations, one], wide)?;
            }
            iterations = at.op(&binary::FLOORDIV, &[iterations, divisor], wide)?;
        }
        if self.step.abs() > 1 || inclusive {
            iterations = at.op(&binary::ADD, &[iterations, one], wide)?;
        }
        let follows = self.variables.iter().any(|v| matches!(v, Variable::Follows(_)));
        let before = if follows { at.op(&binary::SUB, &[iterations, one], wide)? } else { iterations };
        let mut last = SmallVec::new();
        for ((variable, &dtype), &init) in self.variables.iter().zip(&self.dtypes).zip(&self.init) {
            let (recurrence, iterations) = match variable {
                Variable::Recurs(r) => (r, iterations),
                Variable::Follows(r) => (r, before),
            };
            let end = at.after(recurrence, iterations, wide, dtype)?;
            last.push(at.op(&SELECT, &[runs, end, init], dtype)?);
        }
        Ok(last)
    }
}

/// The variables of a loop, where all are recurrences.
fn recurrences(
    graph: &Graph,
    data: &InstData,
    body: Region,
    fixed: &impl Fn(Value) -> Option<Fixed>,
) -> Option<Vec<Variable>> {
    let params = &graph.regions[body].params;
    let results = &graph.regions[body].results;
    let mut found: Vec<Option<Variable>> = vec![None; params.len()];
    loop {
        let mut forms: FxHashMap<Value, Form> = FxHashMap::default();
        for (k, &param) in params.iter().enumerate() {
            match &found[k] {
                Some(Variable::Recurs(r)) => forms.insert(param, Form { own: None, more: r.clone() }),
                Some(Variable::Follows(_)) => None,
                None => forms.insert(param, Form { own: Some(k), more: [ZERO, ZERO, ZERO] }),
            };
        }
        for &inst in &graph.regions[body].insts {
            let data = &graph.insts[inst];
            if data.op.is(&CONST) {
                continue;
            }
            // Anything else has effects, or makes what is no recurrence.
            let &[x, y] = &data.operands[..] else { return None };
            let combine = [(&ADD, Form::add as fn(_, _) -> _), (&SUB, Form::sub), (&MUL, Form::mul)];
            let combine = combine.into_iter().find(|(op, _)| data.op.is(op))?.1;
            let form = |v: Value| forms.get(&v).cloned().or_else(|| fixed(v).map(Form::fixed));
            let given = form(x).zip(form(y)).and_then(|(x, y)| combine(x, y));
            forms.extend(given.filter(|form| form.size() <= MAX_SIZE).map(|form| (data.results[0], form)));
        }
        let mut more = false;
        for (k, &next) in results.iter().enumerate().filter(|&(k, _)| found[k].is_none()).collect::<Vec<_>>() {
            let Some(form) = forms.get(&next).cloned().or_else(|| fixed(next).map(Form::fixed)) else { continue };
            found[k] = match (form.own, form.more) {
                (Some(own), [b, c, ZERO]) if own == k => {
                    let start = graph.constant(data.operands[k]).and_then(whole);
                    let start = start.map_or(Fixed::Value(data.operands[k]), Fixed::Const);
                    Some(Variable::Recurs([start, b, c]))
                }
                (None, recurrence) => Some(Variable::Follows(recurrence)),
                _ => None,
            };
            more |= found[k].is_some();
        }
        if !more {
            return found.into_iter().collect();
        }
    }
}

/// The value of an integer scalar.
fn whole(scalar: &Tensor) -> Option<i128> {
    if scalar.rank() != 0 {
        return None;
    }
    with_dtype!(integer, scalar.dtype(), T => scalar.item::<T>().map(i128::from), else None)
}

/// The dtype of as many bits without a sign.
fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        other => other,
    }
}

/// Where instructions on scalars are added.
struct Place<'a> {
    graph: &'a mut Graph,
    region: Region,
    listed: Vec<Inst>,
    loc: Loc,
}

impl Place<'_> {
    fn push(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs, dtype: DType) -> Value {
        let graph = &mut *self.graph;
        let (op, operands) = (OpRef(op), SmallVec::from_slice(operands));
        let made =
            graph.insts.push(InstData { op, operands, attrs, regions: SmallVec::new(), results: SmallVec::new() });
        graph.locs.push(self.loc);
        let (ty, def) = (Type::scalar(dtype), Def::Result(made, 0));
        let value = graph.values.push(ValueData { ty, def, region: self.region });
        graph.insts[made].results.push(value);
        self.listed.push(made);
        value
    }

    fn op(&mut self, op: &'static OpDef, operands: &[Value], dtype: DType) -> Result<Value> {
        let attrs = Attrs::build(op.attrs, &[])?;
        Ok(self.push(op, operands, attrs, dtype))
    }

    /// A constant, modulo what the dtype has.
    #[allow(clippy::cast_possible_truncation, reason = "that is the modulus")]
    fn constant(&mut self, value: i128, dtype: DType) -> Result<Value> {
        let tensor = with_dtype!(integer, dtype, T => Some(Tensor::scalar(value as T)), else None);
        let tensor = tensor.ok_or_else(|| penstock_data::Error::internal(format!("{dtype} is no integer")))?;
        Ok(self.push(&CONST, &[], Attrs(smallvec![Attr::Tensor(tensor)]), dtype))
    }

    fn cast(&mut self, value: Value, from: DType, to: DType) -> Result<Value> {
        if from == to {
            return Ok(value);
        }
        let attrs = Attrs::build(CAST.attrs, &[("dtype", Attr::DType(to))])?;
        Ok(self.push(&CAST, &[value], attrs, to))
    }

    fn fixed(&mut self, number: &Fixed, dtype: DType) -> Result<Value> {
        let (op, sides) = match number {
            Fixed::Const(c) => return self.constant(*c, dtype),
            Fixed::Value(v) => return Ok(*v),
            Fixed::Add(sides) => (&binary::ADD, sides),
            Fixed::Sub(sides) => (&binary::SUB, sides),
            Fixed::Mul(sides) => (&binary::MUL, sides),
        };
        let operands = [self.fixed(&sides[0], dtype)?, self.fixed(&sides[1], dtype)?];
        self.op(op, &operands, dtype)
    }

    /// The value of a recurrence after so many iterations, a number of dtype `wide`.
    fn after(&mut self, [a, b, c]: &Recurrence, iterations: Value, wide: DType, dtype: DType) -> Result<Value> {
        let mut sum = self.fixed(a, dtype)?;
        if *b != ZERO {
            let times = self.cast(iterations, wide, dtype)?;
            let growth = self.times(b, times, dtype)?;
            sum = if *a == ZERO { growth } else { self.op(&binary::ADD, &[sum, growth], dtype)? };
        }
        if *c != ZERO {
            // t * (t - 1) / 2 is t / 2, rounded down, times the odd one of t and t - 1: so nothing is lost above the top bit.
            let one = self.constant(1, wide)?;
            let odd = self.op(&binary::BITWISE_AND, &[iterations, one], wide)?;
            let half = self.op(&binary::RIGHT_SHIFT, &[iterations, one], wide)?;
            let less = self.op(&binary::SUB, &[iterations, one], wide)?;
            let other = self.op(&binary::ADD, &[less, odd], wide)?;
            let (half, other) = (self.cast(half, wide, dtype)?, self.cast(other, wide, dtype)?);
            let pairs = self.op(&binary::MUL, &[half, other], dtype)?;
            let growth = self.times(c, pairs, dtype)?;
            sum = self.op(&binary::ADD, &[sum, growth], dtype)?;
        }
        Ok(sum)
    }

    fn times(&mut self, factor: &Fixed, times: Value, dtype: DType) -> Result<Value> {
        if *factor == Fixed::Const(1) {
            return Ok(times);
        }
        let factor = self.fixed(factor, dtype)?;
        self.op(&binary::MUL, &[factor, times], dtype)
    }
}
