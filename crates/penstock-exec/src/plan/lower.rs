//! From a graph to steps over values: control flow becomes jumps.

mod on_device;

use penstock_data::{DType, Dims, Error, INLINE_BYTES, Loc, Result, Tensor};
use penstock_ir::{
    Attr, Cpu, Effect, ElementFn, Graph, InferCx, Inst, InstData, Known, KnownValues, Region, Resolved, Type, Value,
};
use penstock_jit::Source;
use penstock_ops::control::{CALL, COND, CONST, SWITCH, WHILE};
use penstock_ops::fused::{FUSED, NATIVE};
use penstock_ops::shape_ops::{EXPAND_DIMS, RESHAPE, SQUEEZE};
use penstock_ops::slicing::strided_box;
use penstock_ops::state::{ASSIGN, READ_VARIABLE};
use penstock_ops::updates::STRIDED_SLICE_ASSIGN;
use penstock_passes::evaluate::resolve;
use penstock_passes::{Options, Thresholds, rejects_elements};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use std::cell::Cell;
use std::sync::Arc;

use super::Kind;
use super::concurrent::{self, ConcurrentStep};
use super::device_loop::DeviceLoop;
use super::frame::Reg;
use super::native::NativeStep;
use super::pipeline::{self, row_loop};
use super::small_broadcast::SmallBroadcast;
use super::step::{
    AssignStep, BroadcastStep, CallArg, CallStep, Change, Constants, FusedStep, KernelStep, LoopStep, ReadStep,
    ReshapeStep, Step,
};
use crate::device::Device;
use crate::state::{update_kind, update_loop};
use crate::tile::TileProgram;
use crate::work::{Weight, is_heavy};

/// Steps over values. A value has a number; those of loop variables and of a branch's results are
/// written at several places.
pub(super) struct Lowered {
    pub(super) steps: Vec<Step>,
    pub(super) origins: Vec<(&'static str, Loc)>,
    /// What each value needs.
    pub(super) kinds: Vec<Kind>,
    /// Whether each value is a list.
    pub(super) lists: Vec<bool>,
    pub(super) constants: Constants,
    pub(super) arguments: Vec<(Reg, usize)>,
    pub(super) outputs: Vec<Reg>,
    pub(super) loops: Vec<Loop>,
    /// The steps that run several instructions of the graph, and which.
    pub(super) together: Vec<(u32, Vec<Inst>)>,
    /// For each value, the variable whose memory it may share.
    pub(super) snapshots: Vec<Option<usize>>,
}

/// The steps of a loop.
pub(super) struct Loop {
    /// The step that assigns the first values.
    pub(super) entry: u32,
    /// The first step of the condition.
    pub(super) head: u32,
    /// The branch out of the loop.
    pub(super) exit: u32,
    /// The step that jumps back.
    pub(super) back: u32,
    /// The loop variables.
    pub(super) variables: Vec<Reg>,
}

/// Lowers a graph, the last inputs of which, `captures`, are likely to be the same at each run.
pub(super) fn lower(
    graph: &Graph,
    captures: usize,
    options: &Options,
    device: Option<&Arc<dyn Device>>,
) -> Result<Lowered> {
    let mut lowerer = Lowerer {
        graph,
        options,
        device,
        places: FxHashMap::default(),
        origin: ("", Loc::UNKNOWN),
        depth: 0,
        captures: &graph.inputs()[graph.inputs().len().saturating_sub(captures)..],
        cost: 0,
        pipelines: pipeline::Finder::new(graph, options),
        windows: FxHashMap::default(),
        there: FxHashSet::default(),
        out: Lowered {
            steps: Vec::new(),
            origins: Vec::new(),
            kinds: Vec::new(),
            lists: Vec::new(),
            constants: Vec::new(),
            arguments: Vec::new(),
            outputs: Vec::new(),
            loops: Vec::new(),
            together: Vec::new(),
            snapshots: Vec::new(),
        },
    };
    lowerer.places.reserve(graph.values.len());
    for (i, &input) in graph.inputs().iter().enumerate() {
        let place = if graph.ty(input).is_variable() {
            Binding::Variable(i)
        } else {
            let reg = lowerer.fresh(Kind::Argument);
            lowerer.out.arguments.push((reg, i));
            Binding::Reg(reg)
        };
        lowerer.places.insert(input, place);
    }
    lowerer.region(graph.body())?;
    lowerer.out.outputs = lowerer.regs(graph.outputs())?.to_vec();
    Ok(lowerer.out)
}

type Values = SmallVec<[Value; 4]>;

#[derive(Clone, Copy)]
enum Binding {
    Reg(Reg),
    Variable(usize),
}

struct Lowerer<'a> {
    graph: &'a Graph,
    options: &'a Options,
    /// What runs the instructions that it has code for.
    device: Option<&'a Arc<dyn Device>>,
    places: FxHashMap<Value, Binding>,
    origin: (&'static str, Loc),
    /// The number of loops around the present place.
    depth: usize,
    /// The inputs that are likely to be the same at each run.
    captures: &'a [Value],
    /// Estimated nanoseconds of all steps so far.
    cost: u64,
    pipelines: pipeline::Finder<'a>,
    /// What becomes a part of a variable where it is made, by the instruction that assigns it.
    windows: FxHashMap<Inst, AssignStep>,
    /// What steps of the device make.
    there: FxHashSet<Value>,
    out: Lowered,
}

/// Knows no value, and notes whether one was asked for.
struct Asked(Cell<bool>);

impl KnownValues for Asked {
    fn constant(&self, _: usize) -> Option<Tensor> {
        self.0.set(true);
        None
    }
}

/// What a value of a type needs.
fn kind_of(ty: &Type) -> Kind {
    let Some(dims) = ty.shape().extents() else { return Kind::Any };
    let Some(bytes) = ty.shape().num_elements().and_then(|n| n.checked_mul(ty.dtype().size())) else {
        return Kind::Any;
    };
    if ty.dtype().size() == 0 {
        Kind::Any
    } else if bytes <= INLINE_BYTES {
        Kind::Inline(ty.dtype(), dims)
    } else {
        Kind::Bytes(bytes)
    }
}

impl Lowerer<'_> {
    fn fresh(&mut self, kind: Kind) -> Reg {
        self.out.kinds.push(kind);
        self.out.lists.push(false);
        self.out.snapshots.push(None);
        self.out.kinds.len() as Reg - 1
    }

    /// A number for a value that a step makes.
    fn define(&mut self, value: Value) -> Reg {
        self.define_as(value, kind_of(self.graph.ty(value)))
    }

    fn define_as(&mut self, value: Value, kind: Kind) -> Reg {
        let reg = self.fresh(kind);
        self.out.lists[reg as usize] = self.graph.ty(value).dtype() == DType::Variant;
        self.places.insert(value, Binding::Reg(reg));
        reg
    }

    fn reg(&self, value: Value) -> Result<Reg> {
        match self.places.get(&value) {
            Some(Binding::Reg(r)) => Ok(*r),
            Some(Binding::Variable(_)) => Err(Error::internal(format!("{value} is a variable, not a tensor"))),
            None => Err(Error::internal(format!("{value} is used before it is made"))),
        }
    }

    fn regs(&self, values: &[Value]) -> Result<SmallVec<[Reg; 4]>> {
        values.iter().map(|&v| self.reg(v)).collect()
    }

    fn variable(&self, value: Value) -> Result<usize> {
        match self.places.get(&value) {
            Some(Binding::Variable(i)) => Ok(*i),
            _ => Err(Error::internal(format!("{value} is not a variable"))),
        }
    }

    fn push(&mut self, step: Step) -> u32 {
        self.cost = self.cost.saturating_add(step.cost().unwrap_or(100_000));
        self.out.steps.push(step);
        self.out.origins.push(self.origin);
        self.out.steps.len() as u32 - 1
    }

    fn here(&self) -> u32 {
        self.out.steps.len() as u32
    }

    /// Makes a jump that was left open lead here.
    fn land(&mut self, step: u32) {
        let here = self.here();
        self.out.steps[step as usize].targets(&mut |t| *t = here);
    }

    fn moves(&mut self, from: &[Value], to: &[Reg]) -> Result<u32> {
        let from = self.regs(from)?;
        Ok(self.push(Step::Moves(from.iter().copied().zip(to.iter().copied()).filter(|(a, b)| a != b).collect())))
    }

    fn region(&mut self, region: Region) -> Result<()> {
        self.list(&self.graph.regions[region].insts)
    }

    fn list(&mut self, insts: &[Inst]) -> Result<()> {
        let (graph, mut rest) = (self.graph, insts);
        let on_host = self.device.is_none();
        let (pipelines, concurrent) = (on_host && self.allows("pipelines"), on_host && self.allows("concurrent"));
        let options = self.options;
        let assigned = |&i: &Inst| graph.insts[i].op.is(&STRIDED_SLICE_ASSIGN).then(|| (graph.insts[i].operands[4], i));
        let assigned: FxHashMap<Value, Inst> = insts.iter().filter_map(assigned).collect();
        while let [inst, after @ ..] = rest {
            if let Some(device) = self.device
                && let Some(behind) = self.on_device(device, rest)?
            {
                rest = behind;
                continue;
            }
            let found = pipelines.then(|| self.pipelines.find(rest, self.depth > 0)).flatten();
            if let Some(found) = found {
                rest = self.pipeline(rest, found)?;
                continue;
            }
            let is_kernel = |inst: Inst| self.reshaped(&graph.insts[inst]).is_none();
            if concurrent && let Some(found) = concurrent::find(graph, rest, &options.thresholds, &is_kernel) {
                rest = self.concurrent(rest, found)?;
                continue;
            }
            rest = after;
            if let [result] = graph.insts[*inst].results[..]
                && let Some(&assign) = assigned.get(&result)
                && let Some(step) = self.window(*inst, assign)
            {
                self.windows.insert(assign, step);
                continue;
            }
            self.one(*inst)?;
        }
        Ok(())
    }

    /// Whether the options leave in what is switched as if it were a pass.
    fn allows(&self, name: &str) -> bool {
        self.options.allows(name)
    }

    fn least(&self) -> &Thresholds {
        &self.options.thresholds
    }

    fn one(&mut self, inst: Inst) -> Result<()> {
        let data = &self.graph.insts[inst];
        self.origin = (data.op.name, self.graph.locs[inst]);
        self.inst(inst, data).map_err(|e| e.in_op(data.op.name).at(self.graph.locs[inst]))
    }

    /// Lowers the first instructions of `insts` as one step that goes through their rows; gives the rest.
    fn pipeline<'i>(&mut self, insts: &'i [Inst], found: pipeline::Found) -> Result<&'i [Inst]> {
        self.list(&found.before)?;
        let (inst, mut step) = (insts[0], found.step);
        self.origin = (self.graph.insts[inst].op.name, self.graph.locs[inst]);
        step.ins = self.regs(&found.ins)?.into_iter().collect();
        step.outs = found.outs.iter().map(|&v| self.define(v)).collect();
        let number = self.push(Step::Pipeline(Box::new(step)));
        let elsewhere: FxHashSet<Inst> = found.before.iter().chain(&found.behind).copied().collect();
        let own = insts[..found.taken].iter().copied().filter(|inst| !elsewhere.contains(inst)).collect();
        self.out.together.push((number, own));
        self.list(&found.behind)?;
        Ok(&insts[found.taken..])
    }

    /// Lowers some of the first instructions of `insts` as one step that runs them at the same time; gives the rest.
    fn concurrent<'i>(&mut self, insts: &'i [Inst], found: concurrent::Found) -> Result<&'i [Inst]> {
        self.list(&found.before)?;
        let (from, cost) = (self.out.steps.len(), self.cost);
        found.insts.iter().try_for_each(|&inst| self.one(inst))?;
        let (steps, origins) = (self.out.steps.split_off(from), self.out.origins.split_off(from));
        self.cost = cost;
        self.origin = origins[0];
        let kernels = steps.into_iter().zip(origins).map(|(step, (op, loc))| match step {
            Step::Kernel(kernel) => Ok((*kernel, op, loc)),
            _ => Err(Error::internal("what runs together with others is no kernel")),
        });
        let (kernels, nanoseconds) = (kernels.collect::<Result<Vec<_>>>()?, found.nanoseconds);
        let heavy = is_heavy(1, nanoseconds as f64, self.least().heavy_ns)
            || kernels.iter().any(|k| k.0.weight == Weight::Heavy);
        let number = self.push(Step::Concurrent(Box::new(ConcurrentStep { kernels, nanoseconds, heavy })));
        self.out.together.push((number, found.insts));
        self.list(&found.behind)?;
        Ok(&insts[found.taken..])
    }

    /// The step of a fused region whose result is only assigned to a part of a variable, where all of that is known ahead.
    fn window(&self, inst: Inst, assign: Inst) -> Option<AssignStep> {
        let graph = self.graph;
        let (data, to) = (&graph.insts[inst], &graph.insts[assign]);
        if self.device.is_some() || !data.op.is(&FUSED) || self.pipelines.uses(data.results[0]) != 1 {
            return None;
        }
        let region = data.regions[0];
        // An error must leave the variable as it was.
        if graph.regions[region].insts.iter().any(|&i| rejects_elements(graph, i)) {
            return None;
        }
        let dims = graph.ty(to.operands[0]).shape().extents()?;
        let spec: Option<SmallVec<[_; 3]>> = to.operands[1..4].iter().map(|&v| graph.constant(v)).collect();
        let cuts = strided_box(&dims, &spec?, &to.attrs)?;
        let program = TileProgram::new(graph, region, self.options).ok()?.within(&dims, &cuts)?;
        let elements = program.elements();
        // Heavy work is offloaded, and its result is assigned after that.
        if is_heavy(elements, self.ns_of(region), self.least().heavy_ns) {
            return None;
        }
        let (elements, ins) = (elements as i64, self.regs(&data.operands).ok()?.into_iter().collect());
        let change = Change::Window { program, elements };
        Some(AssignStep { variable: self.variable(to.operands[0]).ok()?, ins, release: Vec::new(), change })
    }

    /// Whether inference of an instruction goes by the types of its operands alone: then a run would infer what the graph says.
    fn goes_by_types(&self, data: &InstData) -> bool {
        let asked = Asked(Cell::new(false));
        let inputs: SmallVec<[Type; 4]> = data.operands.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let cx = InferCx { inputs: &inputs, attrs: &data.attrs, regions: &[], values: &asked };
        data.op.0.infer_types(&cx).is_ok() && !asked.0.get()
    }

    fn inst(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let op = data.op.0;
        match op.cpu {
            Cpu::Elementwise(function) => self.elementwise(data, function),
            Cpu::Kernel(_) if let Some(dims) = self.reshaped(data) => self.reshape(data, dims),
            Cpu::Kernel(run) | Cpu::Update(run) => {
                let mut ins = self.regs(&data.operands)?;
                let is_static = |v: &Value| self.graph.ty(*v).shape().is_static();
                let unknown = !data.operands.iter().chain(&data.results).all(is_static);
                let infer = unknown && !(data.operands.iter().all(is_static) && self.goes_by_types(data));
                let types: SmallVec<[Type; 1]> = data.results.iter().map(|&v| self.graph.ty(v).clone()).collect();
                let elements = |v: &Value| self.graph.ty(*v).shape().num_elements();
                let elements = data.operands.iter().chain(&data.results).map(elements).try_fold(0, |n, m| Some(n + m?));
                let elsewhere =
                    |e: &Effect| matches!(e, Effect::Host | Effect::Files | Effect::Collective | Effect::Await);
                let asks_host = data.op.effects.iter().any(elsewhere) || data.attrs.hosts().next().is_some();
                let weight = match elements {
                    // Host code runs on the thread that walks the plan; a wait for other processes asks its host by itself.
                    _ if asks_host => Weight::Middling,
                    Some(n) if n <= self.least().brief_elements => Weight::Brief,
                    _ if unknown => Weight::Unknown,
                    _ => {
                        let ins: Vec<Type> = data.operands.iter().map(|&v| self.graph.ty(v).clone()).collect();
                        Weight::of(op, &data.attrs, &ins, &types, self.least().heavy_ns)
                    }
                };
                let shared = ins.iter().find_map(|&r| self.out.snapshots[r as usize]);
                let outs: SmallVec<[Reg; 2]> = data.results.iter().map(|&v| self.define(v)).collect();
                for &out in &outs {
                    self.out.snapshots[out as usize] = shared;
                }
                let update = matches!(op.cpu, Cpu::Update(_));
                if update {
                    // Where the operand is of no further use, this moves it, and nobody else sees what is changed.
                    self.push(Step::Moves(vec![(ins.remove(0), outs[0])]));
                }
                let resolved = if unknown || update { None } else { self.resolve(data, &types) };
                let attrs = data.attrs.clone();
                self.push(Step::Kernel(Box::new(KernelStep {
                    op,
                    run,
                    resolved,
                    attrs,
                    ins,
                    outs,
                    types,
                    infer,
                    update,
                    weight,
                })));
                Ok(())
            }
            Cpu::Executor(_) if op.is(&CONST) => {
                let reg = self.fresh(Kind::Constant);
                self.out.constants.push((reg, data.attrs.tensor(0).clone()));
                self.places.insert(data.results[0], Binding::Reg(reg));
                Ok(())
            }
            Cpu::Executor(_) if op.is(&COND) || op.is(&SWITCH) => self.branches(data),
            Cpu::Executor(_) if op.is(&WHILE) => self.repeat(inst, data),
            Cpu::Executor(_) if op.is(&FUSED) => self.fused(data),
            Cpu::Executor(_) if op.is(&NATIVE) => self.native(data),
            Cpu::Executor(_) if op.is(&CALL) => self.call(data),
            Cpu::Executor(_) if op.is(&READ_VARIABLE) => {
                let variable = self.variable(data.operands[0])?;
                let out = self.define(data.results[0]);
                self.out.snapshots[out as usize] = Some(variable);
                let ty = self.graph.ty(data.results[0]).clone();
                self.push(Step::Read(Box::new(ReadStep { variable, out, ty })));
                Ok(())
            }
            Cpu::Variable(_) if let Some(step) = self.windows.remove(&inst) => {
                self.push(Step::Assign(Box::new(step)));
                Ok(())
            }
            Cpu::Variable(run) => {
                let variable = self.variable(data.operands[0])?;
                let ins = self.regs(&data.operands[1..])?.into_iter().collect();
                let outs = data.results.iter().map(|&v| self.define(v)).collect();
                let types = data.results.iter().map(|&v| self.graph.ty(v).clone()).collect();
                let attrs = data.attrs.clone();
                let change = Change::Part { run, attrs, outs, types };
                self.push(Step::Assign(Box::new(AssignStep { variable, ins, release: Vec::new(), change })));
                Ok(())
            }
            Cpu::Executor(_) => {
                let kind = update_kind(op);
                if kind.is_none() && !op.is(&ASSIGN) {
                    return Err(Error::unimplemented(format!("the executor does not know how to run {inst}")));
                }
                let dtype = self.graph.ty(data.operands[0]).dtype();
                let f = kind.map(|k| update_loop(k, dtype).map(|f| (k, f))).transpose()?;
                let (variable, value) = (self.variable(data.operands[0])?, self.reg(data.operands[1])?);
                // What is assigned shares the variable's memory from now on.
                if f.is_none() && !matches!(self.out.kinds[value as usize], Kind::Constant | Kind::Argument) {
                    self.out.snapshots[value as usize].get_or_insert(variable);
                }
                let (ins, change) =
                    (SmallVec::from_iter([value]), f.map_or(Change::Value, |(kind, f)| Change::By(kind, f)));
                self.push(Step::Assign(Box::new(AssignStep { variable, ins, release: Vec::new(), change })));
                Ok(())
            }
        }
    }

    /// The kernel made for an instruction, where its operator has such.
    fn resolve(&self, data: &InstData, results: &[Type]) -> Option<Resolved> {
        let resolver = data.op.resolve.filter(|_| self.allows("resolve"))?;
        let known = |&v: &Value| {
            let value = self.graph.constant(v);
            Known { ty: self.graph.ty(v), value, lasting: value.is_some() || self.captures.contains(&v) }
        };
        let operands: SmallVec<[Known<'_>; 4]> = data.operands.iter().map(known).collect();
        #[expect(unsafe_code, reason = "resolvers trust types")]
        // SAFETY: the graph is verified, and so are the types of its values.
        unsafe {
            resolver(data.op.0, &data.attrs, &operands, results)
        }
    }

    fn elementwise(&mut self, data: &InstData, function: ElementFn) -> Result<()> {
        let ty = |v: Value| self.graph.ty(v);
        let f = resolve(function, data.operands.iter().map(|&v| ty(v).dtype()), ty(data.results[0]).dtype())?;
        let result = ty(data.results[0]).clone();
        let ins = self.regs(&data.operands)?;
        let extents = result.shape().extents();
        let flat: Option<SmallVec<[(Reg, u32); 3]>> = extents.as_ref().and_then(|dims| {
            data.operands
                .iter()
                .zip(&ins)
                .map(|(&v, &reg)| {
                    let (shape, size) = (ty(v).shape(), ty(v).dtype().size() as u32);
                    if shape.extents().as_ref() == Some(dims) {
                        Some((reg, size))
                    } else {
                        (shape.num_elements() == Some(1)).then_some((reg, 0))
                    }
                })
                .collect()
        });
        let n = result.shape().num_elements();
        let out = self.define(data.results[0]);
        let step = match (flat, extents, n) {
            (Some(ins), Some(dims), Some(n)) if data.operands.len() <= 4 && result.dtype().size() > 0 => {
                let inline = matches!(self.out.kinds[out as usize], Kind::Inline(..));
                match ins[..] {
                    [a, b] if n == 1 && inline => Step::Scalar2 { f, ins: [a.0, b.0], out },
                    _ => {
                        let Thresholds { heavy_ns, in_place_bytes, long_loop, .. } = *self.least();
                        let dtype = result.dtype();
                        let long = n > long_loop;
                        let heavy = long && is_heavy(n, data.op.cost.per_element(), heavy_ns);
                        let in_place = n == 1 || n * dtype.size() >= in_place_bytes;
                        let step = LoopStep { f, n, ins, out, dtype, dims, inline, in_place, long, heavy };
                        Step::Loop(Box::new(step))
                    }
                }
            }
            _ => {
                let (ns, dtype) = (data.op.cost.per_element(), result.dtype());
                let operands: SmallVec<[&Type; 4]> = data.operands.iter().map(|&v| ty(v)).collect();
                let small = SmallBroadcast::of(&result, &operands).filter(|_| self.allows("resolve"));
                Step::Broadcast(Box::new(BroadcastStep { f, ns, dtype, ins, out, ty: result, small }))
            }
        };
        self.push(step);
        Ok(())
    }

    /// The extents that an instruction gives its first operand and that it surely fits; `None` for one that does anything else.
    fn reshaped(&self, data: &InstData) -> Option<Dims> {
        let known = match data.operands[..] {
            [_] => data.op.is(&EXPAND_DIMS) || data.op.is(&SQUEEZE),
            [_, shape] => data.op.is(&RESHAPE) && self.graph.constant(shape).is_some(),
            _ => false,
        };
        if !known {
            return None;
        }
        let (from, to) = (self.graph.ty(data.operands[0]), self.graph.ty(data.results[0]));
        let fits = from.shape().num_elements()? == to.shape().num_elements()? && from.dtype().size() > 0;
        fits.then(|| to.shape().extents())?
    }

    /// Where the operand is of no further use, it moves, and no memory is shared.
    fn reshape(&mut self, data: &InstData, dims: Dims) -> Result<()> {
        let (from, reg) = (self.reg(data.operands[0])?, self.define(data.results[0]));
        self.out.snapshots[reg as usize] = self.out.snapshots[from as usize];
        self.push(Step::Moves(vec![(from, reg)]));
        self.push(Step::Reshape(Box::new(ReshapeStep { reg, dims })));
        Ok(())
    }

    fn fused(&mut self, data: &InstData) -> Result<()> {
        let region = data.regions[0];
        let program = TileProgram::new(self.graph, region, self.options)?;
        let ins = self.regs(&data.operands)?.into_iter().collect();
        let outs = data.results.iter().map(|&v| self.define(v)).collect();
        let elements = program.elements();
        let heavy = is_heavy(elements, self.ns_of(region), self.least().heavy_ns);
        self.push(Step::Fused(Box::new(FusedStep { program, elements: elements as i64, heavy, ins, outs })));
        Ok(())
    }

    /// Estimated nanoseconds of an element of a fused region.
    fn ns_of(&self, region: Region) -> f64 {
        self.graph.regions[region].insts.iter().map(|&i| self.graph.insts[i].op.cost.per_element()).sum()
    }

    /// A step that runs the region's machine code and goes on behind the region's own steps, which run as long as
    /// there is none, or for good where a region has no code.
    fn native(&mut self, data: &InstData) -> Result<()> {
        let graph = self.graph;
        let region = data.regions[0];
        let source = Source::read(graph, region).ok();
        let ins = self.regs(&data.operands)?;
        for (&param, &reg) in graph.regions[region].params.iter().zip(&ins) {
            self.places.insert(param, Binding::Reg(reg));
        }
        let outs: SmallVec<[Reg; 4]> = data.results.iter().map(|&v| self.define(v)).collect();
        let origin = self.origin;
        let step = source.map(|source| NativeStep::new(source, ins, outs.clone(), self.least().native_after));
        let start = step.map(|step| self.push(Step::Native(Box::new(step))));
        self.region(region)?;
        self.origin = origin;
        self.moves(&graph.regions[region].results, &outs)?;
        start.into_iter().for_each(|start| self.land(start));
        // A loop of the device over what is not worth a copy is none of the host's.
        if let Some(start) = start
            && self.out.steps[start as usize..].iter().any(|step| matches!(step, Step::DeviceLoop(_)))
            && data.operands.iter().any(|&v| !self.is_few(v))
        {
            self.out.steps[start as usize] = Step::Jump(start + 1);
        }
        Ok(())
    }

    fn call(&mut self, data: &InstData) -> Result<()> {
        let Attr::Func(function) = &data.attrs.0[0] else { return Err(Error::internal("no callee")) };
        let args = data
            .operands
            .iter()
            .map(|v| match self.places.get(v) {
                Some(Binding::Reg(r)) => Ok(CallArg::Reg(*r)),
                Some(Binding::Variable(i)) => Ok(CallArg::Variable(*i)),
                None => Err(Error::internal(format!("{v} is used before it is made"))),
            })
            .collect::<Result<Vec<_>>>()?;
        let types = data.results.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let outs = data.results.iter().map(|&v| self.define(v)).collect();
        self.push(Step::Call(Box::new(CallStep { function: function.clone(), args, outs, types })));
        Ok(())
    }

    fn branches(&mut self, data: &InstData) -> Result<()> {
        let origin = self.origin;
        let selector = self.reg(data.operands[0])?;
        let results: SmallVec<[Reg; 4]> = data.results.iter().map(|&v| self.define(v)).collect();
        let start = if data.op.is(&COND) {
            self.push(Step::Branch { pred: selector, target: 0 })
        } else {
            self.push(Step::Switch { index: selector, targets: vec![0; data.regions.len()].into() })
        };
        let mut ends = Vec::new();
        for (i, &region) in data.regions.iter().enumerate() {
            let here = self.here();
            match &mut self.out.steps[start as usize] {
                Step::Switch { targets, .. } => targets[i] = here,
                Step::Branch { target, .. } if i == 1 => *target = here,
                _ => {}
            }
            self.region(region)?;
            self.origin = origin;
            let graph = self.graph;
            self.moves(&graph.regions[region].results, &results)?;
            if i + 1 < data.regions.len() {
                ends.push(self.push(Step::Jump(0)));
            }
        }
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    /// The step that makes all iterations of a loop by rows, where that can be.
    fn row_loop(&mut self, data: &InstData, variables: &[Reg]) -> Result<Option<u32>> {
        if self.device.is_some() || !self.allows("row_loops") {
            return Ok(None);
        }
        let graph = self.graph;
        let own = |v: Value| data.regions.iter().any(|&r| graph.regions[r].params.contains(&v));
        let is_outside = |v: Value| !own(v) && matches!(self.places.get(&v), Some(Binding::Reg(_)));
        let Some(row_loop::Found { mut step, ins }) = row_loop::find(graph, data, self.options, &is_outside) else {
            return Ok(None);
        };
        for &v in &ins {
            // Constants may stand in the loop.
            if !self.places.contains_key(&v)
                && let Some(inst) = graph.def_inst(v)
            {
                self.one(inst)?;
            }
        }
        step.ins = self.regs(&ins)?.into_iter().collect();
        step.variables = variables.iter().copied().collect();
        Ok(Some(self.push(Step::RowLoop(Box::new(step)))))
    }

    fn repeat(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let (origin, graph) = (self.origin, self.graph);
        let inner = self.out.loops.len() as u32;
        let (cond, body) = (data.regions[0], data.regions[1]);
        // A loop variable, the parameters of both regions, and the result are one value to the steps.
        let variables: Vec<Reg> = data.results.iter().map(|&v| self.define(v)).collect();
        for (k, &reg) in variables.iter().enumerate() {
            self.places.insert(graph.regions[cond].params[k], Binding::Reg(reg));
            self.places.insert(graph.regions[body].params[k], Binding::Reg(reg));
        }
        let entry = self.moves(&data.operands, &variables)?;
        let row_loop = self.row_loop(data, &variables)?;
        self.out.together.extend(row_loop.map(|step| (step, vec![inst])));
        let device_loop = self.device_loop(data);
        let (head, before) = (self.here(), self.cost);
        self.region(cond)?;
        self.origin = origin;
        let pred = self.reg(graph.regions[cond].results[0])?;
        let exit = self.push(Step::Branch { pred, target: 0 });
        self.depth += 1;
        self.region(body)?;
        self.depth -= 1;
        self.origin = origin;
        self.moves(&graph.regions[body].results, &variables)?;
        let (cost, number) = (u32::try_from(self.cost - before).unwrap_or(u32::MAX), self.out.loops.len() as u32);
        let back = self.push(Step::Back { target: head, cost, inner, number });
        self.land(exit);
        row_loop.into_iter().for_each(|step| self.land(step));
        if let Some((step, looper)) = device_loop {
            let (variables, target) = (variables.clone(), self.here());
            let own = DeviceLoop { looper, variables, pred, head, exit, back, target };
            self.out.steps[step as usize] = Step::DeviceLoop(Box::new(own));
        }
        self.out.loops.push(Loop { entry, head, exit, back, variables });
        Ok(())
    }
}
