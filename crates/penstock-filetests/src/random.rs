//! Random well-typed graphs, with arguments on which they run.
//!
//! Operators and operands come from the declarations: elementwise operators take whatever values of
//! the graph fit, all others the operands of one of their samples, in whose place a value of the
//! graph of the same type may stand. Around these grow branches, loops, calls and variables.

use std::fmt;
use std::sync::Arc;

use penstock_data::{Bool8, Class, DType, Dim, Error, Frame, List, Loc, Result, Shape, Table, Tensor};
use penstock_exec::reference;
use penstock_ir::{
    ArgType, Attr, Attrs, Builder, Cpu, Effect, FuncRef, Function, OpDef, OpSet, Type, Value, Verified, print_tensor,
};
use penstock_ops::{Ops, control, state, table, updates};
use penstock_passes::evaluate::{Outputs, evaluate};
use proptest::prelude::*;

use crate::hosts::hosts;
use crate::kinds::arguments;
use crate::recorder::Recorder;

/// Constants in a random graph have at most so many elements.
const MAX_ELEMENTS: usize = 1024;
/// Regions and callees nest at most so deep.
const MAX_DEPTH: usize = 3;

/// A function and arguments on which the reference interpreter runs it without error.
#[derive(Clone)]
pub struct RandomGraph {
    /// The function. Its graph is compact.
    pub function: Arc<Function>,
    /// An argument for each input; for a variable, its first value.
    pub inputs: Vec<Tensor>,
}

impl RandomGraph {
    /// The graph of the function.
    pub fn graph(&self) -> &Verified {
        self.function.graph().expect("a random function is defined")
    }
}

impl fmt::Debug for RandomGraph {
    /// As a file test: the arguments and the text form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.inputs.iter().map(|t| print_tensor(t, None)).collect();
        write!(f, "\ntest run\nargs {}\n{}", args.join(", "), self.function)
    }
}

/// What random graphs are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomOptions {
    /// Branches, loops and calls.
    pub control: bool,
    /// Variables.
    pub variables: bool,
    /// Operators that print, assert or draw random numbers, and host code, which [`hosts`](crate::hosts) finds by its name.
    pub effects: bool,
    /// Inputs with symbolic and unknown sizes.
    pub symbolic: bool,
}

impl Default for RandomOptions {
    /// Everything.
    fn default() -> RandomOptions {
        RandomOptions { control: true, variables: true, effects: true, symbolic: true }
    }
}

/// Random graphs of up to `size` instructions, not counting constants, for property tests.
pub fn random_graphs(size: usize, options: RandomOptions) -> impl Strategy<Value = RandomGraph> {
    (any::<u64>(), 1..=size).prop_map(move |(seed, size)| random_graph(seed, size, options))
}

/// The random graph of a seed, of about `size` instructions, not counting constants.
///
/// # Panics
/// Where the reference interpreter finds a defect of the engine in it.
pub fn random_graph(seed: u64, size: usize, options: RandomOptions) -> RandomGraph {
    let mut rng = Rng(seed);
    loop {
        let (graph, inputs) = generate(&mut rng, size, options, 0);
        let mut graphs = Vec::new();
        if options.symbolic && rng.one_in(2) {
            graphs.extend(generalized(&graph, &mut rng));
        }
        graphs.push(graph.compact());
        for graph in graphs {
            match check(&graph, &inputs) {
                Ok(()) => {
                    return RandomGraph { function: Arc::new(Function::new("main", graph)), inputs };
                }
                // A value that was not foreseen: a division by zero in the second step of a loop.
                Err(error) if error.class() != Class::Internal => {}
                Err(error) => panic!("{error:?} in\n{graph}"),
            }
        }
    }
}

fn check(graph: &Verified, inputs: &[Tensor]) -> Result<()> {
    let (args, _) = arguments(graph, inputs)?;
    reference::run(graph, &args, &Recorder::default()).map(|_| ())
}

/// SplitMix64.
pub(crate) struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// The same graph for inputs of which less is known; `None` where that does not type.
fn generalized(graph: &Verified, rng: &mut Rng) -> Option<Verified> {
    let mut b = Builder::new(&control::CONST);
    let mut inputs = Vec::new();
    for &input in graph.inputs() {
        let ty = graph.ty(input);
        let ty = if rng.one_in(2) { ty.clone() } else { ty.with_shape(vaguer(ty.shape(), rng)) };
        inputs.push(b.input(ty, graph.names.get(&input).map(|n| &**n)));
    }
    let outputs = b.inline(graph, &inputs).ok()?;
    b.finish(&outputs).ok().map(|g| g.compact())
}

fn vaguer(shape: &Shape, rng: &mut Rng) -> Shape {
    match shape.dims() {
        Some(dims) if !rng.one_in(6) => Shape::new(dims.iter().map(|&d| match (rng.below(3), d) {
            (0, _) => Dim::Unknown,
            // One symbol for each size, so that equal symbols are equal sizes.
            (1, Dim::Known(n)) => Dim::Sym(penstock_data::Symbol(n as u32)),
            _ => d,
        })),
        _ => Shape::UNRANKED,
    }
}

/// A value of the graph, with what it will be where that is known.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) tensor: Option<Tensor>,
}

pub(crate) struct Generator<'r> {
    pub(crate) b: Builder,
    pub(crate) rng: &'r mut Rng,
    pub(crate) options: RandomOptions,
    /// The tensors in scope.
    pub(crate) pool: Vec<Item>,
    /// The argument for each input.
    inputs: Vec<Tensor>,
    variables: Vec<Value>,
    elementwise: Vec<&'static OpDef>,
    sampled: Vec<&'static OpDef>,
    depth: usize,
    /// The regions around the present place.
    pub(crate) regions: usize,
}

fn generate(rng: &mut Rng, size: usize, options: RandomOptions, depth: usize) -> (Verified, Vec<Tensor>) {
    let seen =
        |e: &Effect| matches!(e, Effect::Print | Effect::Random | Effect::Assert | Effect::Collective | Effect::Await);
    let usable = |op: &&OpDef| {
        op.effects.iter().all(|e| options.effects && seen(e)) && !matches!(op.cpu, Cpu::Executor(_) | Cpu::Variable(_))
    };
    let (elementwise, sampled): (Vec<_>, Vec<_>) =
        penstock_ops::all().filter(usable).partition(|op| matches!(op.cpu, Cpu::Elementwise(_)));
    let mut g = Generator {
        b: Builder::new(&control::CONST),
        rng,
        options,
        pool: Vec::new(),
        inputs: Vec::new(),
        variables: Vec::new(),
        elementwise,
        sampled,
        depth,
        regions: 0,
    };
    for _ in 0..2 {
        let tensor = g.tensor();
        g.input(&tensor);
    }
    g.steps(size);
    let count = 1 + g.rng.below(4);
    let outputs = g.choose(count);
    let graph = g.b.finish(&outputs).expect("the outputs are values of the body");
    (graph, g.inputs)
}

impl Generator<'_> {
    pub(crate) fn ty(&self, item: &Item) -> Type {
        self.b.graph().ty(item.value).clone()
    }

    /// Whether the shape at run time is known, so that what takes the value is known to fit.
    pub(crate) fn is_exact(&self, item: &Item) -> bool {
        item.tensor.is_some() || self.ty(item).shape().is_static()
    }

    /// A small tensor.
    fn tensor(&mut self) -> Tensor {
        const DTYPES: [DType; 6] = [DType::F32, DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];
        let dtype = DTYPES[self.rng.below(DTYPES.len())];
        let mut dims: Vec<usize> = (0..self.rng.below(3)).map(|_| [1, 2, 3, 0][self.rng.below(16) / 5]).collect();
        // Enough indices to be gone through in slabs.
        if self.rng.one_in(4) {
            dims.iter_mut().take(1).for_each(|d| *d = 6);
        }
        let count = dims.iter().product();
        let small: Vec<i8> = (0..count).map(|_| self.rng.below(9) as i8 - 4).collect();
        let half: Vec<f64> = small.iter().map(|&n| f64::from(n) / 2.0).collect();
        let made = match dtype {
            DType::F32 => Tensor::from_slice(&dims, &half.iter().map(|&x| x as f32).collect::<Vec<_>>()),
            DType::F64 => Tensor::from_slice(&dims, &half),
            DType::I32 => Tensor::from_slice(&dims, &small.iter().map(|&n| i32::from(n)).collect::<Vec<_>>()),
            DType::I64 => Tensor::from_slice(&dims, &small.iter().map(|&n| i64::from(n)).collect::<Vec<_>>()),
            _ => Tensor::from_slice(&dims, &small.iter().map(|&n| Bool8::new(n > 0)).collect::<Vec<_>>()),
        };
        made.expect("memory for a small tensor")
    }

    pub(crate) fn input(&mut self, tensor: &Tensor) -> Value {
        let name = self.name();
        let value = self.b.input(Type::of(tensor), name.as_deref());
        self.inputs.push(tensor.clone());
        // Where a region is open the input is seen as well, but only until the region is closed.
        self.pool.push(Item { value, tensor: Some(tensor.clone()) });
        value
    }

    fn name(&mut self) -> Option<String> {
        const NAMES: [&str; 4] = ["x", "dense/MatMul", "a \"b\"\n", "größe"];
        self.rng.one_in(5).then(|| NAMES[self.rng.below(NAMES.len())].to_string())
    }

    fn steps(&mut self, size: usize) {
        let mut left = size;
        while left > 0 {
            let cost = self.step(left);
            left = left.saturating_sub(cost.max(1));
        }
    }

    /// Adds something, and gives how many instructions it counts for.
    fn step(&mut self, left: usize) -> usize {
        if self.rng.one_in(2) {
            let loc = self.loc();
            self.b.set_loc(loc);
        }
        let structured = self.options.control && self.depth < MAX_DEPTH && left > 2;
        let inner = 1 + self.rng.below((left / 2).max(1));
        match self.rng.below(20) {
            0 | 1 if structured => self.branch(inner),
            2 if structured => self.repeat(inner),
            3 if structured => self.call(inner),
            4 | 5 if self.options.variables => self.variable(),
            6 if self.options.variables => self.variable_part(),
            7 if self.options.effects && self.rng.one_in(2) => self.host_call(),
            8..=13 if !self.elementwise.is_empty() => self.elementwise(),
            14 => self.windows(),
            15 | 16 => self.idiom(),
            _ => self.sampled(),
        }
    }

    fn loc(&mut self) -> Loc {
        if self.rng.one_in(4) {
            return Loc::UNKNOWN;
        }
        let file = ["train.py", "a dir/model.py", "<stdin>"][self.rng.below(3)];
        let function = ["", "step", "<lambda>", "C.f g"][self.rng.below(4)];
        let caller = self.rng.one_in(3).then(|| Loc::at("main.py", 1 + self.rng.below(50) as u32, 0));
        let (line, column) = (1 + self.rng.below(200) as u32, self.rng.below(3) as u32);
        Loc::new(Frame { file: file.into(), line, column, function: function.into(), caller })
    }

    /// Adds an instruction without regions, unless its value would be an error.
    pub(crate) fn emit(&mut self, op: &'static OpDef, operands: &[Item], attrs: Attrs) -> Result<()> {
        let known: Option<Vec<&Tensor>> = operands.iter().map(|i| i.tensor.as_ref()).collect();
        let mut outputs = Outputs::new();
        let known = match known.filter(|_| op.is_pure() && !matches!(op.cpu, Cpu::Executor(_) | Cpu::Variable(_))) {
            Some(tensors) => {
                evaluate(op, &attrs, &tensors, &mut outputs, &Recorder::default())?;
                if outputs.iter().any(|t| t.len() > MAX_ELEMENTS) {
                    return Err(Error::exhausted("more elements than a random graph needs"));
                }
                true
            }
            None => false,
        };
        let values: Vec<Value> = operands.iter().map(|i| i.value).collect();
        let inst = self.b.inst(op, &values, attrs, &[])?;
        for (i, value) in self.b.results(inst).to_vec().into_iter().enumerate() {
            if let Some(name) = self.name() {
                self.b.name(value, &name);
            }
            self.pool.push(Item { value, tensor: known.then(|| outputs[i].clone()) });
        }
        Ok(())
    }

    fn elementwise(&mut self) -> usize {
        let op = self.elementwise[self.rng.below(self.elementwise.len())];
        let samples = (op.samples)();
        let Some(attrs) =
            self.rng.pick(&samples).map_or_else(|| op.attributes(&[]).ok(), |sample| op.attributes(&sample.attrs).ok())
        else {
            return 0;
        };
        let variadic = op.operands.last().is_some_and(|a| a.variadic);
        let count = op.operands.len() + if variadic { self.rng.below(3) } else { 0 };
        for _ in 0..8 {
            let mut operands: Vec<Item> = Vec::new();
            for i in 0..count {
                // Most operators want one dtype.
                let same = operands.first().map(|first| self.ty(first).dtype());
                let same = same.filter(|_| matches!(op.operand(i).map(|a| a.ty), Some(ArgType::Var(_))));
                let fits: Vec<&Item> = self
                    .pool
                    .iter()
                    .filter(|i| self.is_exact(i) && same.is_none_or(|d| self.ty(i).dtype() == d))
                    .collect();
                operands.extend(self.rng.pick(&fits).map(|&item| item.clone()));
            }
            if operands.len() == count && self.emit(op, &operands, attrs.clone()).is_ok() {
                return 1;
            }
        }
        self.sample(op)
    }

    fn sampled(&mut self) -> usize {
        match self.rng.pick(&self.sampled) {
            Some(&op) => self.sample(op),
            None => 0,
        }
    }

    /// Adds an operator on the operands of one of its samples.
    fn sample(&mut self, op: &'static OpDef) -> usize {
        let samples = (op.samples)();
        let Some(sample) = self.rng.pick(&samples) else {
            return 0;
        };
        if sample.inputs.iter().any(|t| t.len() > MAX_ELEMENTS) {
            return 0;
        }
        let Ok(attrs) = op.attributes(&sample.attrs) else {
            return 0;
        };
        let operands: Vec<Item> = sample.inputs.iter().map(|t| self.leaf(t)).collect();
        usize::from(self.emit(op, &operands, attrs).is_ok())
    }

    /// A value like `tensor`: any of its type where it is a number with a fraction, else just this one.
    pub(crate) fn leaf(&mut self, tensor: &Tensor) -> Item {
        let ty = Type::of(tensor);
        if ty.dtype().carries_cotangents() && !self.rng.one_in(3) {
            // Of a list, dtype and length must be right as well.
            let alike = |i: &&Item| match (tensor.list(), i.tensor.as_ref().and_then(Tensor::list)) {
                (Some(due), Some(got)) => due.dtype() == got.dtype() && due.len() == got.len(),
                (due, _) => due.is_none(),
            };
            let fits: Vec<&Item> =
                self.pool.iter().filter(|i| *self.b.graph().ty(i.value) == ty).filter(alike).collect();
            if let Some(&item) = self.rng.pick(&fits) {
                return item.clone();
            }
        }
        let value = match tensor.list() {
            Some(list) => self.list(list),
            None if self.rng.one_in(4) => self.input(tensor),
            None => self.b.constant(tensor.clone()),
        };
        let item = Item { value, tensor: Some(tensor.clone()) };
        self.pool.push(item.clone());
        item
    }

    /// A list, made element by element.
    fn list(&mut self, list: &List) -> Value {
        let emit = |g: &mut Self, op: &str, operands: &[Value]| {
            let op = Ops.find(op).expect("an operator of lists");
            g.b.emit(op, operands, &[]).expect("a list of what another holds")[0]
        };
        let length = self.b.constant(Tensor::from(list.len() as i64));
        let mut made = emit(self, "list_new", &[length]);
        for (i, element) in list.elements() {
            let index = self.b.constant(Tensor::from(i as i64));
            let value = match element.list() {
                Some(inner) => self.list(inner),
                None => self.b.constant(element.clone()),
            };
            made = emit(self, "list_set", &[made, index, value]);
        }
        made
    }

    /// Up to `count` values of the pool, the latest among them.
    fn choose(&mut self, count: usize) -> Vec<Value> {
        let mut out: Vec<Value> = self.pool.last().map(|i| i.value).into_iter().collect();
        while out.len() < count && !self.pool.is_empty() {
            out.push(self.pool[self.rng.below(self.pool.len())].value);
        }
        out
    }

    /// Runs `fill` in a region with parameters of these types, in which it sees the pool, and closes the
    /// region with the values that it gives.
    pub(crate) fn region(
        &mut self,
        params: Vec<Type>,
        fill: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> penstock_ir::Region {
        let outer = self.pool.len();
        let region = self.b.begin_region(params);
        let params = self.b.params(region);
        self.pool.extend(
            params.iter().filter(|&&v| !self.b.graph().ty(v).is_variable()).map(|&value| Item { value, tensor: None }),
        );
        self.depth += 1;
        self.regions += 1;
        let results = fill(self, &params);
        self.depth -= 1;
        self.regions -= 1;
        self.pool.truncate(outer);
        self.b.end_region(&results).expect("the results are in scope")
    }

    pub(crate) fn structured(&mut self, op: &'static OpDef, operands: &[Value], regions: &[penstock_ir::Region]) {
        if let Ok(inst) = self.b.inst(op, operands, Attrs::EMPTY, regions) {
            let results = self.b.results(inst).to_vec();
            self.pool.extend(results.into_iter().map(|value| Item { value, tensor: None }));
        }
    }

    /// `cond` or `switch`, with the same dtypes from each branch.
    fn branch(&mut self, size: usize) -> usize {
        let switch = self.rng.one_in(3);
        let selector = if switch {
            let number = Tensor::from(self.rng.below(5) as i32 - 1);
            self.leaf(&number).value
        } else if self.rng.one_in(4) {
            self.comparison()
        } else {
            let predicate = Tensor::from(self.rng.one_in(2));
            self.leaf(&predicate).value
        };
        let count = if switch { 1 + self.rng.below(3) } else { 2 };
        let width = self.rng.below(3);
        let mut types: Option<Vec<Type>> = None;
        let mut regions = Vec::new();
        for _ in 0..count {
            let due = types.clone();
            let region = self.region(Vec::new(), |g, _| {
                g.steps(size / count + 1);
                match due {
                    None => g.choose(width),
                    Some(types) => types.iter().map(|ty| g.value_of(ty.dtype(), ty.shape())).collect(),
                }
            });
            types = Some(self.b.graph().signature_of(region).results);
            regions.push(region);
        }
        self.structured(if switch { &control::SWITCH } else { &control::COND }, &[selector], &regions);
        size + 1
    }

    /// A predicate that follows from no size, and that folding knows.
    fn comparison(&mut self) -> Value {
        let operands = [self.rng.below(2) as f32, 0.5].map(|x| self.b.constant(Tensor::from(x)));
        let less = Ops.find("less").expect("an operator");
        self.b.emit(less, &operands, &[]).expect("less of two floats")[0]
    }

    /// A value of a dtype: one of the pool, else a constant, of this shape where that is known.
    fn value_of(&mut self, dtype: DType, shape: &Shape) -> Value {
        let fits: Vec<Value> =
            self.pool.iter().filter(|i| self.b.graph().ty(i.value).dtype() == dtype).map(|i| i.value).collect();
        if let Some(&value) = self.rng.pick(&fits) {
            return value;
        }
        if dtype == DType::Variant {
            return self.list(&List::zeros(0));
        }
        if dtype == DType::Resource {
            return self.b.constant(Tensor::from_table(Table::new(DType::Str, &[], DType::I64, &[])));
        }
        let dims = shape.extents().unwrap_or_default();
        self.b.constant(Tensor::zeros(dtype, &dims).expect("memory for a small tensor"))
    }

    /// `while` over a counter and up to two more loop variables.
    fn repeat(&mut self, size: usize) -> usize {
        let (Some(less), Some(add)) = (Ops.find("less"), Ops.find("add")) else {
            return 0;
        };
        let exact: Vec<Item> = self.pool.iter().filter(|i| self.ty(i).shape().is_static()).cloned().collect();
        let mut init = vec![self.b.constant(Tensor::from(0i32))];
        for _ in 0..self.rng.below(3) {
            init.extend(self.rng.pick(&exact).map(|i| i.value));
        }
        let types: Vec<Type> = init.iter().map(|&v| self.b.graph().ty(v).clone()).collect();
        let steps = self.rng.below(4) as i32;
        // Of as many rows as there are iterations, or of one more.
        let rows = steps as usize + self.rng.below(2);
        let product = (rows > 0 && self.rng.one_in(2)).then(|| (self.halves(&[rows, 2, 3]), self.halves(&[3, 2])));
        let cond = self.region(types.clone(), |g, params| {
            let limit = g.b.constant(Tensor::from(steps));
            g.b.emit(less, &[params[0], limit], &[]).expect("less of two integers").to_vec()
        });
        let body = self.region(types.clone(), |g, params| {
            if let Some((rows, matrix)) = product {
                g.row_product(rows, params[0], matrix).expect("a row of an array times a matrix");
            }
            g.steps(size);
            let one = g.b.constant(Tensor::from(1i32));
            let mut next = g.b.emit(add, &[params[0], one], &[]).expect("add of two integers").to_vec();
            for (ty, &param) in types.iter().zip(params).skip(1) {
                let fits: Vec<Value> = g.pool.iter().filter(|i| g.ty(i).is_subtype_of(ty)).map(|i| i.value).collect();
                next.push(g.rng.pick(&fits).copied().unwrap_or(param));
            }
            next
        });
        self.structured(&control::WHILE, &init, &[cond, body]);
        size + 1
    }

    /// A call of a new function, once or twice.
    fn call(&mut self, size: usize) -> usize {
        let (graph, inputs) = generate(self.rng, size, self.options, self.depth + 1);
        let variables: Vec<bool> = graph.inputs().iter().map(|&v| graph.ty(v).is_variable()).collect();
        let name = ["f", "inner step", "f.<locals>.g"][self.rng.below(3)];
        let function = Arc::new(Function::new(name, graph.compact()));
        for _ in 0..1 + self.rng.below(2) {
            let operands: Vec<Value> = inputs
                .iter()
                .zip(&variables)
                .map(|(t, &variable)| if variable { self.new_variable(t) } else { self.leaf(t).value })
                .collect();
            let attrs = control::CALL.attributes(&[("func", Attr::Func(FuncRef::new(function.clone())))]);
            let inst = attrs.and_then(|attrs| self.b.inst(&control::CALL, &operands, attrs, &[]));
            if let Ok(inst) = inst {
                let results = self.b.results(inst).to_vec();
                self.pool.extend(results.into_iter().map(|value| Item { value, tensor: None }));
            }
        }
        size + 1
    }

    pub(crate) fn new_variable(&mut self, first: &Tensor) -> Value {
        let ty = Type::Variable(first.dtype(), Shape::known(first.dims()));
        let value = self.b.input(ty, None);
        self.inputs.push(first.clone());
        self.variables.push(value);
        value
    }

    /// Changes or reads a table that a variable holds.
    fn table_part(&mut self) -> usize {
        let held: Vec<Value> =
            (self.variables.iter().copied()).filter(|&v| self.b.graph().ty(v).dtype() == DType::Resource).collect();
        let variable = match self.rng.pick(&held) {
            Some(&v) if !self.rng.one_in(4) => v,
            _ => self.new_variable(&Tensor::from_table(Table::new(DType::Str, &[], DType::I64, &[]))),
        };
        let keys = [["a", "b"], ["b", "b"], ["", "a"]][self.rng.below(3)]
            .map(|key| penstock_data::Bytes::from(key.as_bytes()));
        let keys = self.b.constant(Tensor::from_strings(&[2], keys.to_vec()).expect("two keys"));
        let values = self.leaf(&Tensor::vector(&[3i64, -1])).value;
        let made = match self.rng.below(4) {
            0 => self.b.emit(&table::TABLE_REMOVE, &[variable, keys], &[]),
            1 => {
                let read = self.b.emit(&state::READ_VARIABLE, &[variable], &[]).expect("it is a variable")[0];
                self.b.emit(&table::TABLE_FIND, &[read, keys, values], &[("each", true.into())])
            }
            _ => self.b.emit(&table::TABLE_INSERT, &[variable, keys, values], &[]),
        };
        let made = made.expect("keys and values of the table");
        self.pool.extend(made.into_iter().map(|value| Item { value, tensor: None }));
        1
    }

    /// Writes a part of a variable, counts one up, or moves a generator's state on.
    fn variable_part(&mut self) -> usize {
        if self.rng.one_in(6) {
            return self.table_part();
        }
        if self.rng.one_in(12) {
            let first = self.rng.below(8) as i32;
            let first = if self.rng.one_in(2) { Tensor::from(first) } else { Tensor::from(i64::from(first)) };
            let counter = self.new_variable(&first);
            // One in eight has counted up to it.
            let before = self.b.emit(&updates::COUNT_UP_TO, &[counter], &[("limit", 7i64.into())]);
            let before = before.expect("a counter and its limit");
            self.pool.extend(before.into_iter().map(|value| Item { value, tensor: None }));
            return 1;
        }
        if self.rng.one_in(4) {
            let state = self.new_variable(&Tensor::vector(&[7i64, 0, 1]));
            let delta = self.b.constant(Tensor::from(self.rng.below(3) as i64));
            let moved = self.b.emit(&updates::RNG_READ_AND_SKIP, &[state, delta], &[]);
            let moved = moved.expect("a state and a number");
            self.pool.extend(moved.into_iter().map(|value| Item { value, tensor: None }));
            return 1;
        }
        let first = self.tensor();
        let Some((&rows, inner)) = first.dims().split_first().filter(|d| *d.0 > 0) else {
            return 0;
        };
        let variable = match self.rng.pick(&self.variables) {
            Some(&v) if *self.b.graph().ty(v) == Type::Variable(first.dtype(), Shape::known(first.dims())) => v,
            _ => self.new_variable(&first),
        };
        let row = first.rows(0, 1).expect("there is a row");
        let value = self.leaf(&row).value;
        let at = self.rng.below(rows) as i32;
        let made = if self.rng.one_in(2) {
            let indices = Tensor::from_slice(&[1, 1], &[at]).expect("memory for an index");
            let indices = self.b.constant(indices);
            let numeric = first.dtype() != DType::Bool;
            let mode =
                if numeric { ["update", "add", "sub", "mul", "min", "max"][self.rng.below(6)] } else { "update" };
            self.b.emit(&updates::SCATTER_VARIABLE, &[variable, indices, value], &[("mode", mode.into())])
        } else {
            let [begin, end, step] = [at, at + 1, 1].map(|n| self.b.constant(Tensor::vector(&[n])));
            self.b.emit(&updates::STRIDED_SLICE_ASSIGN, &[variable, begin, end, step, value], &[])
        };
        made.unwrap_or_else(|e| panic!("a row of {rows}×{inner:?}: {e}"));
        1
    }

    /// Calls host code that notes some values, and gives them back.
    fn host_call(&mut self) -> usize {
        let exact: Vec<Item> = self.pool.iter().filter(|i| self.is_exact(i)).cloned().collect();
        let operands: Vec<Item> = (0..self.rng.below(3)).filter_map(|_| self.rng.pick(&exact).cloned()).collect();
        let types: Vec<Type> = operands.iter().map(|i| self.ty(i)).collect();
        let note = hosts("note").expect("there is such host code");
        let named = [("func", Attr::Host(note)), ("outs", types.into())];
        let attrs = penstock_ops::host::HOST_CALL.attributes(&named).expect("the attributes of a host call");
        usize::from(self.emit(&penstock_ops::host::HOST_CALL, &operands, attrs).is_ok())
    }

    /// Reads or writes a variable, which may be new.
    fn variable(&mut self) -> usize {
        let variable = match self.rng.pick(&self.variables) {
            Some(&v) if !self.rng.one_in(4) => v,
            _ => {
                let first = self.tensor();
                self.new_variable(&first)
            }
        };
        let ty = self.b.graph().ty(variable).clone();
        let name = ["read_variable", "read_variable", "assign", "assign_add", "assign_sub"][self.rng.below(5)];
        let Some(op) = Ops.find(name) else { return 0 };
        let fits: Vec<Value> = self
            .pool
            .iter()
            .filter(|i| {
                self.b.graph().ty(i.value).dtype() == ty.dtype() && self.b.graph().ty(i.value).shape() == ty.shape()
            })
            .map(|i| i.value)
            .collect();
        let mut operands = vec![variable];
        if op.operands.len() == 2 {
            let Some(&value) = self.rng.pick(&fits) else {
                return 0;
            };
            operands.push(value);
        }
        let Ok(results) = self.b.emit(op, &operands, &[]) else {
            return 0;
        };
        self.pool.extend(results.into_iter().map(|value| Item { value, tensor: None }));
        1
    }
}
