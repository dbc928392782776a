//! Functions made ready to run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use penstock_data::{Class, Dim, Error, Result, Shape, Symbol, Tensor, devices_in_use, memory};
use penstock_ir::stack::{stack_left, with_room};
use penstock_ir::{Activity, Counter, Derived, Env, Function, Graph, Inst, Span, Type, Verified, quietly, told};
use penstock_passes::{Options, optimize_for};
use smallvec::SmallVec;

use crate::args::Inputs;
use crate::device::Device;
use crate::plan::{self, Plan};
use crate::sizes::{BySizes, Choice, sizes_of};
use crate::variable::Arg;
use crate::{offload, placement};

/// The bytes of stack that a run may need besides those of the runs within it: recursion that leaves less is an error, not
/// an overflow.
const STACK_OF_A_RUN: usize = 96 << 10;

/// Graphs of more instructions than this are large: to optimise or to differentiate them takes longer than a host should wait.
const LARGE: usize = 1 << 12;

/// What making a plan of a large graph, or the derivatives of one, takes for each instruction, at most.
const BYTES_OF_AN_INSTRUCTION: usize = 2048;

/// Does `work` on a function that takes time and memory in proportion to its graph. That on a large one is done apart from the
/// caller, which asks its host meanwhile whether to wait for it. Passes take memory in ways that cannot fail: whether there is
/// enough is tried first.
///
/// # Errors
/// Those of `work`; `ResourceExhausted`; the host's, where it does not wait.
pub fn on_graph<R: Send + 'static>(
    function: &Arc<Function>,
    env: &dyn Env,
    work: impl FnOnce(&Arc<Function>) -> Result<R> + Send + 'static,
) -> Result<R> {
    if !is_large(function) {
        return work(function);
    }
    let theirs = function.clone();
    offload::run(env, move |_| {
        theirs.graph().map_or(Ok(()), |graph| room_for(graph))?;
        work(&theirs)
    })?
}

/// Whether what [`on_graph`] does with a function is done apart from its caller.
pub fn is_large(function: &Function) -> bool {
    function.graph().is_some_and(|graph| graph.insts.len() > LARGE)
}

/// Tries whether there is memory for what is made of a graph.
///
/// # Errors
/// `ResourceExhausted` where there is not.
pub fn room_for(graph: &Graph) -> Result<()> {
    if graph.insts.len() > LARGE {
        memory::with_room::<[u8; BYTES_OF_AN_INSTRUCTION]>(graph.insts.len())?;
    }
    Ok(())
}

/// A function made ready to run, from any number of threads at once.
///
/// Where the input types leave sizes open, a plan is made for the sizes of a call ([`crate::sizes`] says when), and kept for
/// later calls: the graph as it was traced is inferred, optimised and planned anew for them.
pub struct Executable {
    /// The name of the function.
    name: Arc<str>,
    graph: Arc<Verified>,
    inputs: Inputs,
    options: Options,
    /// How many of the inputs, the last ones, the function took from outside.
    captures: usize,
    /// Whether it runs host code, or reads and writes files, which some hosts do by such code.
    calls_host: bool,
    /// For the input types as they are.
    general: OnceLock<Arc<Plan>>,
    /// For the sizes of calls.
    special: Mutex<BySizes>,
    /// Whether that lock is given up.
    stuck: AtomicBool,
    /// The same with checks that results are finite.
    checked: OnceLock<Box<Executable>>,
    /// What runs the instructions that it has code for; `None` where the host runs all.
    device: Option<Arc<dyn Device>>,
    /// The same for the devices that runs were placed on.
    placed: Mutex<Vec<Arc<Executable>>>,
}

/// Whether runs and eager operators check that floating point results are finite.
static CHECK_NUMERICS: AtomicBool = AtomicBool::new(false);

/// Has every run and every eager operator check from now on that its floating point results are finite, or stops that. A
/// result that is not is an `InvalidArgument` error, which names the operator, its location and the first such element.
pub fn set_check_numerics(on: bool) {
    CHECK_NUMERICS.store(on, Ordering::Relaxed);
}

/// What [`set_check_numerics`] said last.
#[inline]
pub fn checks_numerics() -> bool {
    CHECK_NUMERICS.load(Ordering::Relaxed)
}

/// The executable of a function, made once, by [`on_graph`].
///
/// # Errors
/// As [`Executable::new`]; the host's, where it does not wait.
pub fn executable(function: &Arc<Function>, env: &dyn Env) -> Result<Arc<Executable>> {
    match function.derived::<Executable>() {
        Some(made) => Ok(made),
        None => told(env.profiler(), Activity::Planning, function.name(), || {
            on_graph(function, env, |function| function.derive(Executable::new))
        }),
    }
}

impl Executable {
    /// Makes a function ready to run.
    ///
    /// # Errors
    /// `FailedPrecondition` where its graph is not defined yet; as [`Options::from_env`]; what the optimiser reports.
    pub fn new(function: &Function) -> Result<Executable> {
        Executable::with_options(function, Options::from_env()?)
    }

    /// Makes a function ready to run, with the passes that `options` allows.
    ///
    /// # Errors
    /// As [`Executable::new`].
    pub fn with_options(function: &Function, options: Options) -> Result<Executable> {
        let graph = function
            .graph()
            .ok_or_else(|| Error::precondition(format!("function '{}' has no graph yet", function.name())))?;
        room_for(graph)?;
        let inputs = Inputs::of(graph);
        let effects = with_room(graph.depth(), || penstock_ir::effects_of_region(graph, graph.body()))?;
        let executable = Executable {
            name: function.name().into(),
            graph: Arc::new(graph.clone()),
            inputs,
            captures: function.captures(),
            calls_host: effects.host || effects.files,
            general: OnceLock::new(),
            special: Mutex::new(BySizes::new(&options)),
            stuck: AtomicBool::new(false),
            options,
            checked: OnceLock::new(),
            device: None,
            placed: Mutex::default(),
        };
        if executable.inputs.is_static {
            executable.general()?;
        }
        Ok(executable)
    }

    /// The graph that it was made of.
    pub fn graph(&self) -> &Verified {
        &self.graph
    }

    /// Runs it.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType` for arguments that do not fit, naming the input; what the instructions report, with
    /// their operator and location.
    pub fn run(&self, args: &[Arg], env: &dyn Env) -> Result<SmallVec<[Tensor; 2]>> {
        if checks_numerics() && !self.options.check_numerics {
            return self.checked()?.run(args, env);
        }
        if let Some(device) = self.device_for(args) {
            return self.on_device(&device).run(args, env);
        }
        self.inputs.check(args)?;
        if stack_left() < STACK_OF_A_RUN {
            return Err(Error::exhausted("host code and graphs call each other too deeply"));
        }
        let plan = match self.general.get().filter(|_| self.inputs.is_static) {
            Some(plan) => plan.clone(),
            None => self.plan_for(args, env)?,
        };
        match env.profiler() {
            None => plan.run(args, env, None),
            Some(profiler) if !profiler.takes(plan.pace()) => quietly(|| plan.run(args, env, None)),
            Some(profiler) => {
                let began = Instant::now();
                let result = plan.run(args, env, Some(profiler));
                let span = Span::since(began, Activity::Function, &self.name).paced(plan.pace());
                profiler.ended(&span.failed(result.is_err()));
                result
            }
        }
    }

    /// The plan that runs these arguments.
    ///
    /// # Errors
    /// As [`Executable::run`], for arguments that do not fit.
    pub(crate) fn plan(&self, args: &[Arg], env: &dyn Env) -> Result<Arc<Plan>> {
        if checks_numerics() && !self.options.check_numerics {
            return self.checked()?.plan(args, env);
        }
        if let Some(device) = self.device_for(args) {
            return self.on_device(&device).plan(args, env);
        }
        self.inputs.check(args)?;
        if self.inputs.is_static
            && let Some(plan) = self.general.get()
        {
            return Ok(plan.clone());
        }
        self.plan_for(args, env)
    }

    /// Runs it at once, where that takes a few microseconds at most, and neither calls host code nor other functions;
    /// else `None`, and nothing has happened. May take the tensors out of `args`; adds the results to `outputs`, which is
    /// left where it lies, since each move of it would be a copy of some hundred bytes.
    ///
    /// # Errors
    /// As [`Executable::run`].
    #[inline]
    pub fn run_light(
        &self,
        args: &mut [Arg],
        env: &dyn Env,
        outputs: &mut SmallVec<[Tensor; 2]>,
    ) -> Option<Result<()>> {
        if self.calls_host || checks_numerics() || devices_in_use() {
            return None;
        }
        let is_light = |plan: &&Arc<Plan>| {
            plan.cost().is_some_and(|ns| ns <= self.options.thresholds.light_ns) && !env.tells(plan.pace())
        };
        if self.inputs.is_static {
            let plan = self.general.get().filter(is_light)?;
            return Some(self.inputs.check(args).and_then(|()| plan.run_taking(args, env, outputs)));
        }
        // Arguments that do not fit are not of the sizes of the call before.
        let plan = self.lock_special()?.repeated(args.iter().filter_map(Arg::tensor)).filter(is_light)?.clone();
        Some(self.inputs.check(args).and_then(|()| plan.run_taking(args, env, outputs)))
    }

    #[cold]
    fn checked(&self) -> Result<&Executable> {
        let checked = self
            .checked
            .get_or_init(|| Box::new(self.variant(Options { check_numerics: true, ..self.options.clone() }, None)));
        checked.general()?;
        Ok(checked)
    }

    /// The same, run by a device.
    #[cold]
    fn on_device(&self, device: &Arc<dyn Device>) -> Arc<Executable> {
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |e: &&Arc<Executable>| e.device.as_ref().is_some_and(|d| Arc::ptr_eq(d, device));
        if let Some(known) = placed.iter().find(is_it) {
            return known.clone();
        }
        let options = Options { for_device: true, ..self.options.clone() };
        let made = Arc::new(self.variant(options, Some(device.clone())));
        placed.push(made.clone());
        made
    }

    /// The same with other options.
    fn variant(&self, options: Options, device: Option<Arc<dyn Device>>) -> Executable {
        Executable {
            name: self.name.clone(),
            graph: self.graph.clone(),
            inputs: Inputs::of(&self.graph),
            captures: self.captures,
            calls_host: self.calls_host,
            general: OnceLock::new(),
            special: Mutex::new(BySizes::new(&options)),
            stuck: AtomicBool::new(false),
            options,
            checked: OnceLock::new(),
            device,
            placed: Mutex::default(),
        }
    }

    /// The device that runs these arguments, where this is not made for it already.
    #[inline]
    fn device_for(&self, args: &[Arg]) -> Option<Arc<dyn Device>> {
        if !devices_in_use() || self.device.is_some() || checks_numerics() {
            return None;
        }
        placement::device_for_args(args)
    }

    /// Whether a run takes a few microseconds at most, what host code takes aside: no loop, nothing large.
    pub fn is_light(&self) -> bool {
        self.inputs.is_static
            && self
                .general
                .get()
                .is_some_and(|plan| plan.cost().is_some_and(|ns| ns <= self.options.thresholds.light_ns))
    }

    /// Whether a run may call host code.
    pub fn calls_host(&self) -> bool {
        self.calls_host
    }

    /// The plan for the input types as they are, for people.
    ///
    /// # Errors
    /// What the optimiser reports.
    pub fn text(&self) -> Result<String> {
        Ok(self.general()?.text())
    }

    /// The optimised graph for the input types as they are.
    ///
    /// # Errors
    /// What the optimiser reports.
    pub fn optimized(&self) -> Result<Verified> {
        let types: Vec<Type> = self.graph.inputs().iter().map(|&v| self.graph.ty(v).clone()).collect();
        with_room(self.levels(), || optimize_for(&self.graph, &types, &self.options))?
    }

    /// The instructions of an optimised graph that the steps of its plan on the CPU run together, each list with what runs
    /// them: pipelines, row loops, and kernels at the same time.
    ///
    /// # Errors
    /// What planning reports.
    pub fn together(&self, optimized: &Verified) -> Result<Vec<(String, Vec<Inst>)>> {
        with_room(self.levels(), || plan::together(optimized, self.captures, &self.options))?
    }

    /// How deep regions may nest in what is optimised: calls are inlined.
    fn levels(&self) -> usize {
        const CALLS: usize = 8;
        self.graph.depth() + CALLS
    }

    /// A plan for exact input types.
    fn plan_of(&self, types: &[Type]) -> Result<Plan> {
        make_plan(&self.graph, self.levels(), types, self.captures, &self.options, self.device.as_ref())
    }

    fn general(&self) -> Result<&Arc<Plan>> {
        if let Some(plan) = self.general.get() {
            return Ok(plan);
        }
        let types: Vec<Type> = self.graph.inputs().iter().map(|&v| self.graph.ty(v).clone()).collect();
        let plan = Arc::new(self.plan_of(&types)?);
        Ok(self.general.get_or_init(|| plan))
    }

    /// The plans for sizes; `None` where another thread has held their lock for long: in a forked child it may be held for ever,
    /// and is not asked for again.
    fn lock_special(&self) -> Option<MutexGuard<'_, BySizes>> {
        const TRIES: u32 = 1000;
        const YIELDS: u32 = 100;
        if self.stuck.load(Ordering::Relaxed) {
            return None;
        }
        for i in 0..TRIES {
            if let Ok(guard) = self.special.try_lock() {
                return Some(guard);
            }
            if i < YIELDS { std::thread::yield_now() } else { std::thread::sleep(Duration::from_micros(100)) }
        }
        self.stuck.store(true, Ordering::Relaxed);
        None
    }

    /// The plan for the sizes of these arguments. Where the graph is large, it is made as [`on_graph`] does.
    fn plan_for(&self, args: &[Arg], env: &dyn Env) -> Result<Arc<Plan>> {
        let tensors = || args.iter().filter_map(Arg::tensor);
        let choice = match self.lock_special() {
            None => Choice::General,
            Some(mut special) => match special.repeated(tensors()) {
                Some(plan) => return Ok(plan.clone()),
                None => special.choose(&sizes_of(tensors())),
            },
        };
        match choice {
            Choice::Ready(plan) => Ok(plan),
            Choice::General => match self.general.get() {
                Some(plan) => Ok(plan.clone()),
                None => told(env.profiler(), Activity::Planning, &self.name, || self.general().cloned()),
            },
            Choice::Exact => {
                let plan = self.make(self.types(args, tensors().map(|t| Shape::known(t.dims()))), env)?;
                if let Some(mut special) = self.lock_special() {
                    special.keep(&sizes_of(tensors()), plan.clone());
                }
                Ok(plan)
            }
            Choice::Pattern(pattern) => {
                let shapes = pattern.shapes(self.first_symbol());
                let plan = self.make(self.types(args, shapes.into_iter()), env)?;
                if let Some(mut special) = self.lock_special() {
                    special.keep_pattern(pattern, plan.clone());
                }
                Ok(plan)
            }
        }
    }

    /// The types of the inputs for these arguments, the tensors of which have these shapes.
    fn types(&self, args: &[Arg], mut shapes: impl Iterator<Item = Shape>) -> Vec<Type> {
        args.iter()
            .zip(self.graph.inputs())
            .map(|(arg, &input)| match arg {
                Arg::Tensor(t) => Type::tensor(t.dtype(), shapes.next().unwrap_or(Shape::UNRANKED)),
                Arg::Variable(v) => {
                    v.ty().shape().merge(self.graph.ty(input).shape()).map_or_else(|| v.ty(), |s| v.ty().with_shape(s))
                }
            })
            .collect()
    }

    /// The first symbol that the graph does not have.
    fn first_symbol(&self) -> u32 {
        let dims = self.graph.values.iter().flat_map(|(_, data)| data.ty.shape().dims().unwrap_or(&[]));
        let symbols = dims.map(|dim| match dim {
            Dim::Sym(Symbol(s)) => s.saturating_add(1),
            _ => 0,
        });
        symbols.max().unwrap_or(0)
    }

    /// A plan for input types. Inference may reject for them what no run would reach: then the plan for all sizes serves, and
    /// reports it if it is reached.
    fn make(&self, types: Vec<Type>, env: &dyn Env) -> Result<Arc<Plan>> {
        told(env.profiler(), Activity::Planning, &self.name, || self.made(types, env))
    }

    fn made(&self, types: Vec<Type>, env: &dyn Env) -> Result<Arc<Plan>> {
        let made = if self.graph.insts.len() > LARGE {
            let (graph, levels, captures) = (self.graph.clone(), self.levels(), self.captures);
            let (options, device) = (self.options.clone(), self.device.clone());
            offload::run(env, move |_| make_plan(&graph, levels, &types, captures, &options, device.as_ref()))?
        } else {
            self.plan_of(&types)
        };
        match made {
            Ok(plan) => Ok(Arc::new(plan)),
            Err(error) if error.class() == Class::ResourceExhausted => Err(error),
            Err(_) => self.general().cloned(),
        }
    }
}

fn make_plan(
    graph: &Verified,
    levels: usize,
    types: &[Type],
    captures: usize,
    options: &Options,
    device: Option<&Arc<dyn Device>>,
) -> Result<Plan> {
    room_for(graph)?;
    with_room(levels, || Plan::new(&optimize_for(graph, types, options)?, captures, options, device))?
}

impl Executable {
    /// Counts what its plans hold, and those of its variants, which share the graph.
    fn count_plans(&self, census: &mut dyn Counter) -> bool {
        let (Ok(special), Ok(placed)) = (self.special.try_lock(), self.placed.try_lock()) else { return false };
        let general = self.general.get();
        let own = special.plans().filter(|plan| !general.is_some_and(|g| Arc::ptr_eq(g, plan)));
        general.into_iter().chain(own).all(|plan| plan.count(census))
            && self.checked.get().is_none_or(|checked| checked.count_plans(census))
            && placed.iter().all(|placed| placed.count_plans(census))
    }
}

impl Derived for Executable {
    fn count(&self, census: &mut dyn Counter) -> bool {
        census.graph(&self.graph) && self.count_plans(census)
    }
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "executable of {} instructions", self.graph.len())
    }
}
