//! Builders that are given what they do not expect, at random: values, regions and instructions of other graphs, operands of wrong
//! dtypes and shapes, absurd attributes, functions that are freed. Each call ends in a result or an error, never in a panic, and
//! what a builder accepts is a graph that the verifier accepts. `PENSTOCK_BUILDERS=100000` builds so many graphs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use penstock::ir::{Inst, Region, verify};
use penstock::{
    ALL_DTYPES, Arg, Attr, Attrs, Builder, Class, ConcreteFunction, DType, Dim, Env, Error, FuncRef, Function, Loop,
    OpDef, Operators, Regions, Result, Shape, Signature, Symbol, Tensor, ToArg, Type, Value, Variable, builder,
    host_fn, ops,
};

/// A xorshift generator: the same graphs in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn of<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        list.get(self.below(list.len())).cloned()
    }

    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A number that is small, or beyond all that there is memory for.
    fn number(&mut self) -> i64 {
        const NUMBERS: [i64; 14] =
            [0, 1, 2, 3, 4, 7, -1, -2, -5, 1 << 45, i64::MAX, i64::MIN, i64::MAX / 8, i32::MIN as i64 - 1];
        let few = self.below(4) > 0;
        NUMBERS[self.below(if few { 8 } else { NUMBERS.len() })]
    }

    fn dtype(&mut self) -> DType {
        ALL_DTYPES[self.below(ALL_DTYPES.len())]
    }

    fn shape(&mut self) -> Shape {
        if self.once_in(8) {
            return Shape::UNRANKED;
        }
        let rank = if self.once_in(30) { 300 } else { self.below(5) };
        let dim = |draw: &mut Draw| match draw.below(12) {
            0 => Dim::Unknown,
            1 => Dim::Sym(Symbol(draw.below(3) as u32)),
            2 => Dim::Sym(Symbol(u32::MAX)),
            3 => Dim::Known(usize::MAX >> draw.below(20)),
            _ => Dim::Known(draw.below(4)),
        };
        Shape::new((0..rank).map(|_| dim(self)).collect::<Vec<_>>())
    }

    fn ty(&mut self) -> Type {
        let (dtype, shape) = (self.dtype(), self.shape());
        if self.once_in(6) { Type::Variable(dtype, shape) } else { Type::tensor(dtype, shape) }
    }

    fn tensor(&mut self) -> Tensor {
        let dims: Vec<usize> = (0..self.below(4)).map(|_| self.below(4)).collect();
        match self.below(4) {
            0 => Tensor::vector(&(0..self.below(4)).map(|_| self.number()).collect::<Vec<_>>()),
            1 => Tensor::scalar(self.number()),
            2 => Tensor::scalar(self.number() as i32),
            _ => Tensor::zeros(self.dtype(), &dims).unwrap_or_default(),
        }
    }

    fn attr(&mut self, functions: &[Arc<Function>]) -> Attr {
        match self.below(13) {
            0 => Attr::None,
            1 => self.once_in(2).into(),
            2 | 3 => self.number().into(),
            4 => [0.0, -1.5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE][self.below(5)].into(),
            5 => ["", "SAME", "VALID", "EXPLICIT", "%s", "(", "file:///nowhere/at/all", "\u{0}"][self.below(8)].into(),
            6 => (0..self.below(5)).map(|_| self.number()).collect::<Vec<i64>>().into(),
            7 => self.dtype().into(),
            8 => self.shape().into(),
            9 => (0..self.below(4)).map(|_| self.ty()).collect::<Vec<Type>>().into(),
            10 => self.tensor().into(),
            11 => match self.of(functions) {
                Some(function) => FuncRef::called(&function).into(),
                None => FuncRef::called(&Arc::new(Function::declare("freed", Signature::default()))).into(),
            },
            _ => host_fn("host", |inputs| Ok(inputs.iter().map(|&t| t.clone()).collect())).into(),
        }
    }
}

/// Prints nothing, and ends what takes long.
struct Brief(Instant);

impl Env for Brief {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    fn poll(&self) -> Result<()> {
        if Instant::now() < self.0 { Ok(()) } else { Err(Error::cancelled("out of time")) }
    }
}

/// What a builder has given so far, with values, regions and instructions that it has not.
struct Play<'a> {
    draw: &'a mut Draw,
    ops: &'a [&'static OpDef],
    values: Vec<Value>,
    regions: Vec<Region>,
    insts: Vec<Inst>,
    functions: Vec<Arc<Function>>,
}

/// A panic that was made an error is one all the same.
fn seen<T>(what: &str, result: Result<T>) -> Option<T> {
    if let Err(error) = &result {
        assert!(!error.message().contains("panicked"), "{what}: {error:?}");
    }
    result.ok()
}

impl Play<'_> {
    fn value(&mut self) -> Value {
        self.draw.of(&self.values).expect("there are foreign ones from the start")
    }

    fn values(&mut self, n: usize) -> Vec<Value> {
        (0..n).map(|_| self.value()).collect()
    }

    /// An operator on operands and attributes that fit it, of which some are others; or on whatever comes.
    fn emit(&mut self, g: &mut Builder) {
        let op = self.draw.of(self.ops).expect("there are operators");
        let sample = (op.samples)();
        let sample = self.draw.of(&sample);
        let mut named: Vec<(&str, Attr)> = Vec::new();
        let mut operands = Vec::new();
        if let Some(sample) = sample.filter(|_| !self.draw.once_in(4)) {
            named.extend(sample.attrs.iter().map(|(n, a)| (*n, a.clone())));
            for t in &sample.inputs {
                let keep = !self.draw.once_in(6);
                operands.push(match () {
                    _ if !keep => self.value(),
                    _ if self.draw.once_in(2) => g.constant(t.clone()),
                    _ if g.depth() == 1 => g.input(Type::of(t), None),
                    _ => g.constant(t.clone()),
                });
            }
        } else {
            let count = (op.operands.len() + self.draw.below(3)).saturating_sub(1);
            operands = self.values(count);
        }
        for def in op.attrs {
            if self.draw.once_in(5) {
                named.retain(|(n, _)| *n != def.name);
                named.push((def.name, self.draw.attr(&self.functions)));
            }
        }
        let results = match self.draw.below(3) {
            0 => op.attributes(&named).and_then(|attrs| g.add_instruction(op, &operands, attrs)),
            _ => g.emit(op, &operands, &named),
        };
        self.values.extend(seen(op.name, results).unwrap_or_default());
    }

    /// An instruction with any attributes and regions.
    fn inst(&mut self, g: &mut Builder) {
        let op = match self.draw.below(3) {
            0 => self.draw.of(self.ops).expect("there are operators"),
            _ => [&ops::control::COND, &ops::control::WHILE, &ops::control::SWITCH, &ops::control::CALL]
                [self.draw.below(4)],
        };
        let (attrs, regions, operands) = (self.draw.below(4), self.draw.below(4), self.draw.below(4));
        let attrs = Attrs((0..attrs).map(|_| self.draw.attr(&self.functions)).collect());
        let attrs = if self.draw.once_in(2) { op.attributes(&[]).unwrap_or(attrs) } else { attrs };
        let regions: Vec<Region> = (0..regions).filter_map(|_| self.draw.of(&self.regions)).collect();
        let operands = self.values(operands);
        if let Some(inst) = seen(op.name, g.inst(op, &operands, attrs, &regions)) {
            self.insts.push(inst);
            self.values.extend(g.results(inst));
        }
    }

    fn control(&mut self, g: &mut Builder) {
        let (n, k) = (self.draw.below(3), self.draw.below(3));
        let (init, inner) = (self.values(n), self.values(k));
        let predicate = self.value();
        let loops = if self.draw.once_in(3) {
            Loop::new().types(&[self.draw.ty()]).checkpoint_every(self.draw.number())
        } else {
            Loop::new()
        };
        let made = match self.draw.below(3) {
            0 => g.cond(predicate, |_| Ok(inner.clone()), |_| Ok(init.clone())),
            1 => g.switch(predicate, k, |_, _| Ok(inner.clone())),
            _ => g.while_loop_with(
                &init,
                loops,
                |_, _| Ok(predicate),
                |_, at| Ok(at.iter().copied().chain(inner.clone()).take(n).collect()),
            ),
        };
        self.values.extend(seen("control flow", made).unwrap_or_default());
    }

    fn step(&mut self, g: &mut Builder) {
        match self.draw.below(22) {
            0 => {
                let ty = self.draw.ty();
                self.values.push(g.input(ty, self.draw.once_in(2).then_some("")));
            }
            1 => self.values.push(g.constant(self.draw.tensor())),
            2 => {
                let region = g.begin_region((0..self.draw.below(3)).map(|_| self.draw.ty()).collect::<Vec<_>>());
                self.regions.push(region);
                self.values.extend(g.params(region));
            }
            3 | 4 => {
                let n = self.draw.below(3);
                let results = self.values(n);
                seen("end_region", g.end_region(&results));
            }
            5 if self.draw.once_in(3) => g.abandon_region(),
            6 if self.draw.once_in(6) => {
                if let Some(region) = self.draw.of(&self.regions) {
                    seen("reopen_region", g.reopen_region(region));
                }
            }
            7 => {
                let (value, shape) = (self.value(), self.draw.shape());
                seen("refine", g.refine(value, &shape));
            }
            8 => {
                let value = self.value();
                g.name(value, "name");
                let _ = (g.ty(value), g.is_in_scope(value), g.type_of(value).is_ok());
                let emit: &dyn penstock::Emitter = g;
                let _ = (emit.type_of(value), emit.known(value));
            }
            9 => {
                let (inst, region) = (self.draw.of(&self.insts), self.draw.of(&self.regions));
                let _ = (inst.map(|i| g.results(i).len()), region.map(|r| g.params(r)));
            }
            10 => {
                let n = self.draw.below(3);
                let args = self.values(n);
                if let Some(function) = self.draw.of(&self.functions) {
                    self.values.extend(seen("call", g.call(&function, &args)).unwrap_or_default());
                    if let Some(graph) = function.graph() {
                        self.values.extend(seen("inline", g.inline(graph, &args)).unwrap_or_default());
                    }
                }
            }
            11 | 12 => self.control(g),
            13 | 14 => self.inst(g),
            15 => self
                .functions
                .truncate(self.functions.len() - usize::from(self.draw.once_in(2)).min(self.functions.len())),
            _ => self.emit(g),
        }
    }
}

/// Arguments of the types of inputs, or others.
fn arguments(draw: &mut Draw, function: &ConcreteFunction) -> Vec<Arg> {
    let argument = |(_, ty): (_, &Type)| {
        let dims: Vec<usize> = match ty.shape().dims() {
            Some(dims) => dims.iter().map(|d| d.known().unwrap_or(2)).collect(),
            None => vec![2],
        };
        let small = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).is_some_and(|n| n < 1 << 16);
        let value = if small { Tensor::zeros(ty.dtype(), &dims).unwrap_or_default() } else { Tensor::default() };
        match ty.is_variable() && !draw.once_in(20) {
            true => Variable::new("v", ty.dtype(), ty.shape().clone(), Some(value))
                .map_or_else(|_| Arg::from(Tensor::default()), Arg::from),
            false => Arg::from(value),
        }
    };
    function.inputs().map(argument).collect()
}

fn one(draw: &mut Draw, ops: &[&'static OpDef]) {
    // More of all than the other graph has at first.
    let mut other = builder();
    let scalar = Type::tensor(DType::F32, Shape::scalar());
    let values: Vec<Value> = (0..40).map(|_| other.input(scalar.clone(), None)).collect();
    let regions: Vec<Region> = (0..12).map(|_| other.begin_region([scalar.clone()])).collect();
    let negated = Arc::new(Function::new("negated", {
        let mut g = builder();
        let x = g.input(scalar.clone(), None);
        let y = g.neg(x).unwrap();
        g.finish(&[y]).unwrap()
    }));
    let declared =
        Arc::new(Function::declare("declared", Signature { params: vec![scalar.clone()], results: vec![scalar] }));
    let insts = vec![];
    let mut play = Play { draw, ops, values, regions, insts, functions: vec![declared, negated] };
    let mut g = builder();
    for _ in 0..10 + play.draw.below(40) {
        play.step(&mut g);
    }
    while g.depth() > 1 && !play.draw.once_in(20) {
        g.abandon_region();
    }
    let own: Vec<Value> = play.values.iter().copied().filter(|&v| g.is_in_scope(v)).collect();
    let outputs: Vec<Value> = (0..play.draw.below(6)).filter_map(|_| play.draw.of(&own)).collect();
    let functions = std::mem::take(&mut play.functions);
    let Some(graph) = seen("finish", g.finish(&outputs)) else { return };
    verify(&graph).unwrap_or_else(|e| assert_eq!(e.class(), Class::FailedPrecondition, "{e:?} in\n{graph}"));
    let _ = (graph.to_string(), graph.compact().depth());
    let function = Arc::new(Function::new("main", graph));
    let _ = (function.to_string(), format!("{function:?}"));
    drop(functions);
    let _ = function.to_string();
    let Some(f) = seen("from_function", ConcreteFunction::from_function(function)) else { return };
    let args = arguments(draw, &f);
    let args: Vec<&dyn ToArg> = args.iter().map(|a| a as &dyn ToArg).collect();
    seen("run", f.run_in(&args, &Brief(Instant::now() + Duration::from_millis(200))));
    if draw.once_in(4) && f.graph().len() < 40 && !f.executable().calls_host() && !f.to_string().contains("while") {
        seen("gradients", f.gradients(&args, &[0]));
    }
}

#[test]
fn whatever_a_builder_is_given_it_answers_with_a_result_or_an_error() {
    let count: usize = std::env::var("PENSTOCK_BUILDERS").map_or(400, |n| n.parse().expect("a number"));
    let first: usize = std::env::var("PENSTOCK_BUILDERS_FROM").map_or(0, |n| n.parse().expect("a number"));
    let ops: Vec<&'static OpDef> = ops::all().collect();
    let work = move || {
        for seed in first..first + count {
            let mut draw = Draw(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
            let done = catch_unwind(AssertUnwindSafe(|| one(&mut draw, &ops)));
            assert!(done.is_ok(), "graph {seed}: PENSTOCK_BUILDERS_FROM={seed} PENSTOCK_BUILDERS=1 builds it again");
        }
    };
    std::thread::Builder::new().stack_size(8 << 20).spawn(work).unwrap().join().unwrap();
}
