//! The reference interpreter: one instruction after the other, as written. The oracle of all else.

use penstock_data::{Bool8, Error, Reserve, Result, Tensor};
use penstock_ir::{Attr, Cpu, Env, Graph, Inst, InstData, Region, Structure, Value, Verified, order, stack};
use penstock_ops::control::{CALL, COND, SWITCH, WHILE, WITH_GRADIENT, results_with_gradient};
use penstock_passes::evaluate::{Outputs, check_promise, evaluate};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::args;
use crate::eager::guard;
use crate::state;
use crate::variable::Arg;

/// Runs a graph.
///
/// # Errors
/// `InvalidArgument` or `DType` for arguments that do not fit the inputs; what the instructions report, with their
/// operator and location.
pub fn run(graph: &Verified, args: &[Arg], env: &dyn Env) -> Result<Vec<Tensor>> {
    Interpreter { graph, env, values: FxHashMap::default(), shuffle: None }.run(args)
}

/// Runs a graph with the instructions of each region in a random order of those that data
/// dependences and [`penstock_ir::order`] allow: what every scheduler must agree with.
///
/// # Errors
/// As [`run`]. Where several instructions fail, any of their errors that order allows.
pub fn run_shuffled(graph: &Verified, args: &[Arg], env: &dyn Env, seed: u64) -> Result<Vec<Tensor>> {
    Interpreter { graph, env, values: FxHashMap::default(), shuffle: Some(seed | 1) }.run(args)
}

struct Interpreter<'a> {
    graph: &'a Graph,
    env: &'a dyn Env,
    values: FxHashMap<Value, Arg>,
    /// The state of the random order; `None` for program order.
    shuffle: Option<u64>,
}

impl Interpreter<'_> {
    fn run(mut self, args: &[Arg]) -> Result<Vec<Tensor>> {
        args::Inputs::of(self.graph).check(args)?;
        stack::check(self.graph.depth())?;
        for (&input, arg) in self.graph.inputs().iter().zip(args) {
            self.values.insert(input, arg.clone());
        }
        self.region(self.graph.body())
    }

    fn arg(&self, value: Value) -> Result<&Arg> {
        self.values.get(&value).ok_or_else(|| Error::internal(format!("{value} is not computed yet")))
    }

    fn tensor(&self, value: Value) -> Result<&Tensor> {
        self.arg(value)?.tensor().ok_or_else(|| Error::internal(format!("{value} is a variable")))
    }

    fn tensors(&self, values: &[Value]) -> Result<Vec<Tensor>> {
        values.iter().map(|&v| self.tensor(v).cloned()).collect()
    }

    fn bind(&mut self, values: &[Value], tensors: impl IntoIterator<Item = Tensor>) {
        for (&v, t) in values.iter().zip(tensors) {
            self.values.insert(v, Arg::Tensor(t));
        }
    }

    /// Runs the instructions of a region, whose parameters are bound, and gives its results.
    fn region(&mut self, region: Region) -> Result<Vec<Tensor>> {
        stack::check(0)?;
        let graph = self.graph;
        let insts = &graph.regions[region].insts;
        for i in self.schedule(region) {
            let inst = insts[i];
            let op = graph.insts[inst].op.0;
            self.inst(inst).map_err(|e| e.in_op(op.name).at(graph.locs[inst]))?;
        }
        self.tensors(&graph.regions[region].results)
    }

    fn inst(&mut self, inst: Inst) -> Result<()> {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let results = match data.op.0 {
            op if op.is(&COND) => {
                let region = data.regions[usize::from(!self.predicate(data.operands[0])?)];
                self.region(region)?
            }
            op if op.is(&SWITCH) => {
                let last = data.regions.len() - 1;
                let index = self.tensor(data.operands[0])?.item::<i32>();
                let index = index.ok_or_else(|| Error::invalid("the index must be a scalar"))?;
                let region = data.regions[usize::try_from(index).map_or(last, |i| i.min(last))];
                self.region(region)?
            }
            op if op.is(&WHILE) => self.repeat(data)?,
            op if matches!(op.cpu, Cpu::Executor(Structure::Body)) => {
                let inputs = self.tensors(&data.operands)?;
                self.bind(&graph.regions[data.regions[0]].params, inputs);
                self.region(data.regions[0])?
            }
            op if op.is(&CALL) => {
                let Attr::Func(callee) = &data.attrs.0[0] else { return Err(Error::internal("no callee")) };
                let args = data.operands.iter().map(|&v| self.arg(v).cloned()).collect::<Result<Vec<_>>>()?;
                let callee = callee.get()?;
                let body = callee.graph().ok_or_else(|| Error::internal("the function has no graph"))?;
                let callee =
                    Interpreter { graph: body, env: self.env, values: FxHashMap::default(), shuffle: self.shuffle };
                callee.run(&args)?
            }
            op if op.is(&WITH_GRADIENT) => self.tensors(&data.operands[..results_with_gradient(&data.attrs)])?,
            _ => self.simple(data)?.into_vec(),
        };
        for (i, (tensor, &value)) in results.iter().zip(&data.results).enumerate() {
            check_promise(i, tensor, graph.ty(value))?;
        }
        self.bind(&data.results, results);
        Ok(())
    }

    fn predicate(&self, value: Value) -> Result<bool> {
        let predicate = self.tensor(value)?.item::<Bool8>();
        predicate.map(Bool8::get).ok_or_else(|| Error::invalid("the predicate must be a scalar"))
    }

    fn repeat(&mut self, data: &InstData) -> Result<Vec<Tensor>> {
        let [cond, body] = data.regions[..] else { return Err(Error::internal("needs two regions")) };
        let graph = self.graph;
        let mut state = self.tensors(&data.operands)?;
        loop {
            Reserve::check()?;
            self.env.poll()?;
            self.bind(&graph.regions[cond].params, state.iter().cloned());
            self.bind(&graph.regions[body].params, state.iter().cloned());
            let go = self.region(cond)?;
            match go.first().and_then(Tensor::item::<Bool8>) {
                Some(go) if go.get() => state = self.region(body)?,
                Some(_) => return Ok(state),
                None => return Err(Error::invalid("the condition must be a scalar")),
            }
        }
    }

    /// An instruction without regions.
    fn simple(&self, data: &InstData) -> Result<Outputs> {
        let args: SmallVec<[&Arg; 4]> = data.operands.iter().map(|&v| self.arg(v)).collect::<Result<_>>()?;
        if args.iter().any(|a| a.variable().is_some()) {
            let args: SmallVec<[Arg; 2]> = args.into_iter().cloned().collect();
            #[expect(unsafe_code, reason = "runs a kernel on checked operands")]
            // SAFETY: the graph is verified, and values are of its types.
            return unsafe { state::access(data.op.0, &data.attrs, &args, self.env) };
        }
        let inputs: SmallVec<[&Tensor; 4]> = args.iter().filter_map(|a| a.tensor()).collect();
        guard(data.op.0, || {
            let mut outputs = Outputs::new();
            evaluate(data.op.0, &data.attrs, &inputs, &mut outputs, self.env)?;
            Ok(outputs)
        })
    }

    /// The positions of a region's instructions in the order in which they run.
    fn schedule(&mut self, region: Region) -> Vec<usize> {
        let insts = &self.graph.regions[region].insts;
        let Some(mut random) = self.shuffle else { return (0..insts.len()).collect() };
        let mut makers: FxHashMap<Value, usize> = FxHashMap::default();
        let mut waits: Vec<Vec<usize>> = Vec::with_capacity(insts.len());
        for ((i, &inst), after) in insts.iter().enumerate().zip(order(self.graph, region)) {
            let mut used = Vec::new();
            uses(self.graph, inst, &mut used);
            let data = used.iter().filter_map(|v| makers.get(v).copied());
            waits.push(data.chain(after.into_iter().map(|j| j as usize)).collect());
            makers.extend(self.graph.insts[inst].results.iter().map(|&v| (v, i)));
        }
        let mut done = vec![false; insts.len()];
        let mut schedule = Vec::with_capacity(insts.len());
        while schedule.len() < insts.len() {
            let ready: Vec<usize> =
                (0..insts.len()).filter(|&i| !done[i] && waits[i].iter().all(|&j| done[j])).collect();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let next = ready[(random % ready.len() as u64) as usize];
            done[next] = true;
            schedule.push(next);
        }
        self.shuffle = Some(random);
        schedule
    }
}

/// The values that an instruction uses, in its regions too.
fn uses(graph: &Graph, inst: Inst, out: &mut Vec<Value>) {
    let data = &graph.insts[inst];
    out.extend(&data.operands);
    for &region in &data.regions {
        out.extend(&graph.regions[region].results);
        for &inner in &graph.regions[region].insts {
            uses(graph, inner, out);
        }
    }
}
