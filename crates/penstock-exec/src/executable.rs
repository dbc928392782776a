//! Functions made ready to run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use penstock_data::{Error, Result, Tensor, memory};
use penstock_ir::stack::{stack_left, with_room};
use penstock_ir::{Census, Derived, Env, Function, Graph, Type};
use penstock_passes::{Options, optimize_for};
use smallvec::SmallVec;

use crate::args::Inputs;
use crate::plan::Plan;
use crate::variable::Arg;

/// Plans for different sizes that an executable keeps.
const KEPT_PLANS: usize = 16;
/// Plans that are made for new sizes before further sizes share one plan for all.
const MADE_PLANS: usize = 64;
/// The bytes of stack that a run may need besides those of the runs within it: recursion that leaves less is an error, not
/// an overflow.
const STACK_OF_A_RUN: usize = 96 << 10;

/// Graphs of more instructions than this are large.
const MANY: usize = 1 << 16;

/// What making a plan of a large graph takes for each instruction, at most.
const BYTES_OF_AN_INSTRUCTION: usize = 2048;

/// A function made ready to run, from any number of threads at once.
///
/// Where the input types leave sizes open, a plan is made for the sizes of a call, and kept for later calls.
pub struct Executable {
    graph: Graph,
    inputs: Inputs,
    options: Options,
    /// How many of the inputs, the last ones, the function took from outside.
    captures: usize,
    calls_host: bool,
    /// For the input types as they are.
    general: OnceLock<Arc<Plan>>,
    /// For the exact types of calls, latest first.
    special: Mutex<Special>,
    /// The same with checks that results are finite.
    checked: OnceLock<Box<Executable>>,
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

#[derive(Default)]
struct Special {
    plans: VecDeque<(Box<[usize]>, Arc<Plan>)>,
    made: usize,
}

/// The executable of a function, made once.
///
/// # Errors
/// As [`Executable::new`].
pub fn executable(function: &Function) -> Result<Arc<Executable>> {
    function.derive(Executable::new)
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
        // The optimiser and the plan take memory in ways that cannot fail: whether there is enough is tried first.
        if graph.insts.len() > MANY {
            memory::with_room::<[u8; BYTES_OF_AN_INSTRUCTION]>(graph.insts.len())?;
        }
        let inputs = Inputs::of(graph);
        let calls_host = with_room(graph.depth(), || penstock_ir::effects_of_region(graph, graph.body()).host)?;
        let executable = Executable {
            graph: graph.clone(),
            inputs,
            options,
            captures: function.captures(),
            calls_host,
            general: OnceLock::new(),
            special: Mutex::default(),
            checked: OnceLock::new(),
        };
        if executable.inputs.is_static {
            executable.general()?;
        }
        Ok(executable)
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
        self.inputs.check(args)?;
        if stack_left() < STACK_OF_A_RUN {
            return Err(Error::exhausted("host code and graphs call each other too deeply"));
        }
        if self.inputs.is_static
            && let Some(plan) = self.general.get()
        {
            return plan.run(args, env);
        }
        self.plan_for(args)?.run(args, env)
    }

    /// The plan that runs these arguments.
    ///
    /// # Errors
    /// As [`Executable::run`], for arguments that do not fit.
    pub(crate) fn plan(&self, args: &[Arg]) -> Result<Arc<Plan>> {
        if checks_numerics() && !self.options.check_numerics {
            return self.checked()?.plan(args);
        }
        self.inputs.check(args)?;
        if self.inputs.is_static
            && let Some(plan) = self.general.get()
        {
            return Ok(plan.clone());
        }
        self.plan_for(args)
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
        if self.calls_host || !self.inputs.is_static || checks_numerics() {
            return None;
        }
        let plan =
            self.general.get().filter(|plan| plan.cost().is_some_and(|ns| ns <= self.options.thresholds.light_ns))?;
        Some(self.inputs.check(args).and_then(|()| plan.run_taking(args, env, outputs)))
    }

    #[cold]
    fn checked(&self) -> Result<&Executable> {
        let checked = self.checked.get_or_init(|| {
            Box::new(Executable {
                graph: self.graph.clone(),
                inputs: Inputs::of(&self.graph),
                options: Options { check_numerics: true, ..self.options.clone() },
                captures: self.captures,
                calls_host: self.calls_host,
                general: OnceLock::new(),
                special: Mutex::default(),
                checked: OnceLock::new(),
            })
        });
        checked.general()?;
        Ok(checked)
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
    pub fn optimized(&self) -> Result<Graph> {
        let types: Vec<Type> = self.graph.inputs().iter().map(|&v| self.graph.ty(v).clone()).collect();
        with_room(self.levels(), || optimize_for(&self.graph, &types, &self.options))?
    }

    /// How deep regions may nest in what is optimised: calls are inlined.
    fn levels(&self) -> usize {
        const CALLS: usize = 8;
        self.graph.depth() + CALLS
    }

    /// A plan for exact input types.
    fn plan_of(&self, types: &[Type]) -> Result<Plan> {
        with_room(self.levels(), || {
            Plan::new(&optimize_for(&self.graph, types, &self.options)?, self.captures, &self.options)
        })?
    }

    fn general(&self) -> Result<&Arc<Plan>> {
        if let Some(plan) = self.general.get() {
            return Ok(plan);
        }
        let types: Vec<Type> = self.graph.inputs().iter().map(|&v| self.graph.ty(v).clone()).collect();
        let plan = Arc::new(self.plan_of(&types)?);
        Ok(self.general.get_or_init(|| plan))
    }

    /// The plan for the sizes of these arguments.
    fn plan_for(&self, args: &[Arg]) -> Result<Arc<Plan>> {
        let sizes: SmallVec<[usize; 16]> = args
            .iter()
            .filter_map(Arg::tensor)
            .flat_map(|t| std::iter::once(t.rank()).chain(t.dims().iter().copied()))
            .collect();
        // A lock that another thread holds is not waited for long: it may be held for ever in a forked child.
        let lock = || {
            (0..100).find_map(|_| {
                let guard = self.special.try_lock().ok();
                if guard.is_none() {
                    std::thread::yield_now();
                }
                guard
            })
        };
        let mut crowded = false;
        if let Some(mut special) = lock() {
            if let Some(i) = special.plans.iter().position(|(key, _)| **key == *sizes) {
                if i > 0
                    && let Some(entry) = special.plans.remove(i)
                {
                    special.plans.push_front(entry);
                }
                return Ok(special.plans[0].1.clone());
            }
            special.made += 1;
            crowded = special.made > MADE_PLANS;
        }
        if crowded {
            return self.general().cloned();
        }
        let types: Vec<Type> = args
            .iter()
            .zip(self.graph.inputs())
            .map(|(arg, &input)| match arg {
                Arg::Tensor(t) => Type::of(t),
                Arg::Variable(v) => {
                    v.ty().shape().merge(self.graph.ty(input).shape()).map_or_else(|| v.ty(), |s| v.ty().with_shape(s))
                }
            })
            .collect();
        // With exact sizes, inference may reject an instruction that this run would not reach: then the plan for
        // all sizes runs, and reports it if it is reached.
        let plan = match self.plan_of(&types) {
            Ok(plan) => Arc::new(plan),
            Err(_) => self.general()?.clone(),
        };
        if let Some(mut special) = lock() {
            special.plans.push_front((sizes.into_vec().into(), plan.clone()));
            special.plans.truncate(KEPT_PLANS);
        }
        Ok(plan)
    }
}

impl Derived for Executable {
    fn count(&self, census: &mut Census) -> bool {
        let Ok(special) = self.special.try_lock() else { return false };
        let general = self.general.get();
        let own =
            special.plans.iter().map(|(_, plan)| plan).filter(|plan| !general.is_some_and(|g| Arc::ptr_eq(g, plan)));
        census.graph(&self.graph)
            && general.into_iter().chain(own).all(|plan| plan.count(census))
            && self.checked.get().is_none_or(|checked| checked.count(census))
    }
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "executable of {} instructions", self.graph.len())
    }
}
