//! Functions ready to run.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ndarray::{ArrayBase, Data, Dimension};
use penstock_autodiff::{Residual, VjpPair, vjp_function};
use penstock_data::{Bool8, C64, C128, Error, Result, Tensor, bf16, f16};
use penstock_exec::{Arg, Executable, Place, StdEnv, Variable, eager, executable};
use penstock_ir::{Env, Function, Signature, Type, Verified};
use penstock_ops::array::ONES_LIKE;
use penstock_passes::Options;

use crate::array::{ArrayElement, repr::Repr};

/// What a function may be run on: tensors, variables, arrays (which are copied; [`crate::TensorExt::from_array`] takes
/// one over), scalars and strings.
pub trait ToArg {
    /// The argument that it stands for.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory of a copy cannot be had.
    fn to_arg(&self) -> Result<Arg>;
}

impl<T: ToArg + ?Sized> ToArg for &T {
    fn to_arg(&self) -> Result<Arg> {
        (**self).to_arg()
    }
}

impl ToArg for Arg {
    fn to_arg(&self) -> Result<Arg> {
        Ok(self.clone())
    }
}

impl ToArg for Tensor {
    fn to_arg(&self) -> Result<Arg> {
        Ok(Arg::Tensor(self.clone()))
    }
}

impl ToArg for Arc<Variable> {
    fn to_arg(&self) -> Result<Arg> {
        Ok(Arg::Variable(self.clone()))
    }
}

impl<S, D> ToArg for ArrayBase<S, D>
where
    S: Data,
    S::Elem: ArrayElement,
    D: Dimension,
{
    fn to_arg(&self) -> Result<Arg> {
        S::Elem::copy(self.view().into_dyn()).map(Arg::Tensor)
    }
}

impl ToArg for bool {
    fn to_arg(&self) -> Result<Arg> {
        Ok(Arg::Tensor(Tensor::from(*self)))
    }
}

impl ToArg for str {
    fn to_arg(&self) -> Result<Arg> {
        Ok(Arg::Tensor(Tensor::from(self)))
    }
}

macro_rules! scalars {
    ($($ty:ty),*) => {$(
        impl ToArg for $ty {
            fn to_arg(&self) -> Result<Arg> {
                Ok(Arg::Tensor(Tensor::scalar(*self)))
            }
        }
    )*};
}
scalars!(Bool8, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, C64, C128);

static STD_ENV: StdEnv = StdEnv::new(0);

/// The surroundings of [`ConcreteFunction::run`], shared by all threads: prints go to the process's streams, and the
/// stateful random operators draw from one generator, which [`StdEnv::set_seed`] restarts.
pub fn std_env() -> &'static StdEnv {
    &STD_ENV
}

/// Turns a panic, which is a defect of the engine, into an error: nothing unwinds into the program.
pub(crate) fn guard<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is dropped with it: functions are shared once they are finished.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
}

fn args_of(args: &[&dyn ToArg]) -> Result<Vec<Arg>> {
    args.iter().map(|a| a.to_arg()).collect()
}

/// A function of known signature, ready to run, from any number of threads at once. Cloning shares it.
///
/// What is made for the sizes of one run is kept for later runs with the same sizes.
#[derive(Clone)]
pub struct ConcreteFunction {
    function: Arc<Function>,
    executable: Arc<Executable>,
}

impl ConcreteFunction {
    /// A finished graph under a name.
    ///
    /// # Errors
    /// As [`ConcreteFunction::from_function`].
    pub fn new(name: &str, graph: Verified) -> Result<ConcreteFunction> {
        ConcreteFunction::from_function(Arc::new(Function::new(name, graph)))
    }

    /// A function that other graphs may call as well.
    ///
    /// # Errors
    /// `FailedPrecondition` where it is only declared, or calls one that is freed; what the optimiser reports.
    pub fn from_function(function: Arc<Function>) -> Result<ConcreteFunction> {
        let executable = guard(|| executable(&function, std_env()))?;
        Ok(ConcreteFunction { function, executable })
    }

    /// As [`ConcreteFunction::from_function`], with the passes that `options` allows. What it calls, and its
    /// derivatives, are optimised as ever.
    ///
    /// # Errors
    /// As [`ConcreteFunction::from_function`].
    pub fn with_options(function: Arc<Function>, options: Options) -> Result<ConcreteFunction> {
        let executable = Arc::new(guard(|| Executable::with_options(&function, options))?);
        Ok(ConcreteFunction { function, executable })
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// Its graph.
    pub fn graph(&self) -> &Verified {
        self.executable.graph()
    }

    /// What runs, for callers that hold [`Arg`]s.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.function.name()
    }

    /// The types of the inputs and outputs.
    pub fn signature(&self) -> &Signature {
        self.function.signature()
    }

    /// The name of each input, where it has one, and its type.
    pub fn inputs(&self) -> impl Iterator<Item = (Option<&str>, &Type)> {
        let graph = self.graph();
        graph.inputs().iter().map(|v| (graph.names.get(v).map(|n| &**n), graph.ty(*v)))
    }

    /// Runs it.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType` for arguments that do not fit, naming the input; what the instructions report, with
    /// their operator and location.
    pub fn run(&self, args: &[&dyn ToArg]) -> Result<Vec<Tensor>> {
        self.run_in(args, std_env())
    }

    /// Runs it in given surroundings, which may print elsewhere, seed the random operators, or stop the run.
    ///
    /// # Errors
    /// As [`ConcreteFunction::run`]; what `env` reports.
    pub fn run_in(&self, args: &[&dyn ToArg], env: &dyn Env) -> Result<Vec<Tensor>> {
        guard(|| Ok(self.executable.run(&args_of(args)?, env)?.into_vec()))
    }

    /// Runs it, and writes the outputs to memory of the caller: all of them, or, where one does not fit or the run fails, none.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    ///
    /// # fn main() -> penstock::Result<()> {
    /// let f = penstock::parse("func @double(%x: f32[s0]) -> f32[s0] {\n %y = add %x, %x\n return %y\n}")?;
    /// let mut doubled = Array1::<f32>::zeros(2);
    /// f.run_into(&[&arr1(&[1.0f32, 2.0])], &mut [penstock::place(&mut doubled)?])?;
    /// assert_eq!(doubled, arr1(&[2.0, 4.0]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ConcreteFunction::run`]; as [`Place::write_all`].
    pub fn run_into(&self, args: &[&dyn ToArg], outputs: &mut [Place<'_>]) -> Result<()> {
        Place::write_all(outputs, &self.run(args)?)
    }

    /// Runs it, and gives with its outputs what carries cotangents of the outputs back to the inputs numbered `wrt`.
    ///
    /// # Errors
    /// As [`ConcreteFunction::run`]; `InvalidArgument` where an input is not there, `NotFound` or `Unimplemented` where
    /// there is no derivative.
    pub fn vjp(&self, args: &[&dyn ToArg], wrt: &[usize]) -> Result<(Vec<Tensor>, Pullback)> {
        guard(|| self.vjp_of(args, wrt))
    }

    fn vjp_of(&self, args: &[&dyn ToArg], wrt: &[usize]) -> Result<(Vec<Tensor>, Pullback)> {
        let count = self.signature().params.len();
        if let Some(&wrong) = wrt.iter().find(|&&i| i >= count) {
            return Err(Error::invalid(format!("there is no input {wrong}, only {count}")).argument("wrt"));
        }
        let needed: Vec<bool> = (0..count).map(|i| wrt.contains(&i)).collect();
        let results = &self.signature().results;
        let pair = vjp_function(&self.function, &needed, &vec![true; results.len()])?;
        let args = args_of(args)?;
        // Where nothing is kept beside the inputs and outputs, that is this function itself.
        let forward = pair.forward(&self.function);
        let own = Arc::ptr_eq(forward, &self.function);
        let forward = if own { self.executable.clone() } else { executable(forward, std_env())? };
        let mut outputs = forward.run(&args, std_env())?.into_vec();
        let residual = |r: &Residual| match *r {
            Residual::Input(i) => args[i].clone(),
            Residual::Output(i) => Arg::Tensor(outputs[i].clone()),
        };
        let residuals = pair.residuals.iter().map(residual).collect();
        outputs.truncate(results.len());
        Ok((outputs, Pullback { pair, residuals, wrt: wrt.into() }))
    }

    /// Runs it, and gives with its outputs the gradient of their sum with respect to each of the inputs numbered
    /// `wrt`; `None` for one on which no output depends, or whose dtype has no gradients.
    ///
    /// # Errors
    /// As [`ConcreteFunction::vjp`].
    pub fn gradients(&self, args: &[&dyn ToArg], wrt: &[usize]) -> Result<(Vec<Tensor>, Vec<Option<Tensor>>)> {
        let (outputs, pullback) = self.vjp(args, wrt)?;
        let mut ones = Vec::new();
        for output in outputs.iter().filter(|t| t.dtype().is_differentiable()) {
            ones.extend(eager(&ONES_LIKE, &[output], &ONES_LIKE.attributes(&[])?, std_env())?);
        }
        let ones: Vec<&dyn ToArg> = ones.iter().map(|t| t as &dyn ToArg).collect();
        Ok((outputs, pullback.run(&ones)?))
    }
}

impl fmt::Display for ConcreteFunction {
    /// The complete text form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.function.fmt(f)
    }
}

impl fmt::Debug for ConcreteFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.function, f)
    }
}

/// The way back through one run of a function: from cotangents of its outputs to cotangents of its inputs.
/// It keeps the values of the run that this takes, and may run any number of times.
pub struct Pullback {
    pair: Arc<VjpPair>,
    residuals: Vec<Arg>,
    wrt: Vec<usize>,
}

impl Pullback {
    /// The cotangent of each input in the order of `wrt`; `None` for one on which no output depends, or whose dtype
    /// carries none.
    ///
    /// `cotangents` has one, of the same type, for each output that is floating point or complex.
    ///
    /// # Errors
    /// `InvalidArgument` or `DType` where the cotangents do not fit.
    pub fn run(&self, cotangents: &[&dyn ToArg]) -> Result<Vec<Option<Tensor>>> {
        let Some(backward) = &self.pair.backward else { return Ok(vec![None; self.wrt.len()]) };
        let due = backward.signature().params.len() - self.residuals.len();
        if cotangents.len() != due {
            return Err(Error::invalid(format!("takes {due} cotangents, got {}", cotangents.len())));
        }
        let mut args = self.residuals.clone();
        args.extend(args_of(cotangents)?);
        let grads = guard(|| executable(backward, std_env())?.run(&args, std_env()))?;
        Ok(self.wrt.iter().map(|&i| self.pair.grads[i].map(|at| grads[at].clone())).collect())
    }

    /// The function that runs: from [`VjpPair::residuals`] and the cotangents to those of the inputs. `None` where no
    /// input has one.
    pub fn function(&self) -> Option<&Arc<Function>> {
        self.pair.backward.as_ref()
    }
}

impl fmt::Debug for Pullback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pullback to inputs {:?}", self.wrt)
    }
}
