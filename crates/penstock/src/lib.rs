//! Penstock runs dataflow graphs. This crate is the engine for Rust programs: it builds graphs or reads graphs that
//! were traced in Python, and runs them on [`ndarray`] arrays. There is no Python in the process.
//!
//! # Build, print, run
//!
//! A [`Builder`] checks and types every instruction as it is added. The operators are its methods, by the trait [`Operators`];
//! attributes that may be left out are those of [`attributes`]. [`Regions`] makes loops and branches of closures.
//! Programs that handle operators as data find them in [`ops`], and add them by [`Builder::emit`].
//!
//! ```
//! use ndarray::{ArrayView1, array};
//! use penstock::{
//!     ConcreteFunction, DType, Dim, Operators, Shape, TensorExt, Type, attributes::ReduceSum, builder,
//! };
//!
//! # fn main() -> penstock::Result<()> {
//! let mut g = builder();
//! let rows = Dim::Sym(g.fresh_symbol());
//! let x = g.input(Type::tensor(DType::F32, Shape::new([rows, Dim::Known(2)])), Some("x"));
//! let w = g.constant(penstock::Tensor::from_array(array![[1.0f32], [10.0]])?);
//! let product = g.matmul(x, w)?;
//! let sums = g.reduce_sum_with(product, ReduceSum::new().axes(&[1]))?;
//! let f = ConcreteFunction::new("sums", g.finish(&[sums])?)?;
//!
//! // The size `s0` is whatever a run brings.
//! assert_eq!(f.to_string(), r#"func @sums(%0 "x": f32[s0,2]) -> f32[s0] {
//!   %1: f32[2,1] = const {value=f32[2,1] [1,10]}
//!   %2: f32[s0,1] = matmul %0, %1
//!   %3: f32[s0] = reduce_sum %2 {axes=[1]}
//!   return %3
//! }
//! "#);
//!
//! let out = f.run(&[&array![[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]])?;
//! let y: ArrayView1<f32> = out[0].array_view()?;
//! assert_eq!(y, array![21.0, 43.0, 65.0]);
//! # Ok(())
//! # }
//! ```
//!
//! [`ConcreteFunction::run`] takes what is [`ToArg`]: arrays and views of any layout, [`Tensor`]s, scalars, strings and
//! variables. It copies arrays; [`TensorExt::from_array`] takes over the memory of a row-major one instead.
//! Outputs are tensors: [`TensorExt::array_view`] shows one as an array in place, [`TensorExt::to_array`] copies it.
//! Tensors are immutable and cloned for free. [`ConcreteFunction::run_into`] writes outputs to arrays of the caller instead.
//!
//! # Read the text form
//!
//! What is printed can be read back, whether Rust or Python printed it: `f.get_concrete_function(...).graph.to_text()`
//! there is [`parse`] here. What the Python function captures, its variables and tensors of around it, are inputs that
//! follow its arguments; [`ConcreteFunction::inputs`] lists them.
//!
//! ```
//! use ndarray::Ix1;
//! use penstock::{Class, TensorExt};
//!
//! # fn main() -> penstock::Result<()> {
//! let f = penstock::parse("
//!     func @scale(%x: f32[s0], %factor: f32[]) -> f32[s0] {
//!       %y = mul %x, %factor
//!       return %y
//!     }")?;
//! let out = f.run(&[&ndarray::arr1(&[1.0f32, 2.0]), &3.0f32])?;
//! assert_eq!(out[0].array_view::<f32, Ix1>()?, ndarray::arr1(&[3.0, 6.0]));
//!
//! let error = penstock::parse("func @f(%x: f32[2]) -> f32[2] {\n  return %y\n}").unwrap_err();
//! assert_eq!(error.class(), Class::InvalidArgument);
//! assert_eq!(error.message(), "2:10: %y is not defined");
//! # Ok(())
//! # }
//! ```
//!
//! # Variables
//!
//! A [`Variable`] is a cell that outlives a run. A graph takes it as an input of type `var`, reads and assigns it; what
//! a graph does to variables it does in program order.
//!
//! ```
//! use penstock::{DType, Shape, Tensor, Variable};
//!
//! # fn main() -> penstock::Result<()> {
//! let count = Variable::new("count", DType::I64, Shape::scalar(), Some(Tensor::from(0i64)))?;
//! let step = penstock::parse("
//!     func @step(%count: var i64[], %by: i64[]) -> i64[] {
//!       assign_add %count, %by
//!       %now = read_variable %count
//!       return %now
//!     }")?;
//! step.run(&[&count, &2i64])?;
//! let out = step.run(&[&count, &3i64])?;
//! assert_eq!(out[0].item::<i64>(), Some(5));
//! assert_eq!(count.read()?, out[0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Programs in files
//!
//! A [`Program`] is functions with names and the variables that they share. Python saves one by `tf.saved_model.save`, Rust
//! by [`Program::save`]; either loads it. The file is a valid safetensors file.
//!
//! ```
//! use penstock::{Program, TensorExt};
//!
//! # fn main() -> penstock::Result<()> {
//! let scale = penstock::parse("func @scale(%x: f32[s0]) -> f32[s0] {\n %y = add %x, %x\n return %y\n}")?;
//! let mut program = Program::builder();
//! program.function("scale", scale.function().clone(), &["x"], &["y"], vec![]);
//! # let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("scale.penstock");
//! program.finish()?.save(&path)?;
//!
//! let scale = Program::load(&path)?.function("scale")?;
//! let x = penstock::Tensor::from_array(ndarray::arr1(&[1.0f32, 2.0]))?;
//! let out = scale.run(&[("x", x.into())])?;
//! assert_eq!(out[0].array_view::<f32, ndarray::Ix1>()?, ndarray::arr1(&[2.0, 4.0]));
//! # Ok(())
//! # }
//! ```
//!
//! # Host code
//!
//! A graph calls back into the program by `host_call`, which names the callback and declares the types of its results.
//! [`host_fn`] makes one of a closure; [`HostFn`] is the trait behind it. It runs on the thread that called
//! [`ConcreteFunction::run`], and its error is the error of the run.
//!
//! ```
//! use penstock::{DType, Error, Tensor, host_fn};
//!
//! # fn main() -> penstock::Result<()> {
//! let clamp = host_fn("clamp", |inputs| {
//!     let x: f64 = inputs[0].item().ok_or_else(|| Error::invalid("clamp takes one number"))?;
//!     Ok(vec![Tensor::from(x.clamp(0.0, 1.0))])
//! });
//! let text = "
//!     func @f(%x: f64[]) -> f64[] {
//!       %y = host_call %x {func=host(\"clamp\"), outs=(f64[])}
//!       return %y
//!     }";
//! let f = penstock::parse_with_hosts(text, &[clamp])?;
//! assert_eq!(f.run(&[&7.0f64])?[0].item(), Some(1.0f64));
//! # Ok(())
//! # }
//! ```
//!
//! # Gradients
//!
//! [`ConcreteFunction::gradients`] runs a function forward and backward; [`ConcreteFunction::vjp`] takes the cotangents
//! of the outputs from its caller. [`autodiff`] holds what they are made of: gradients inside a graph under
//! construction, the derivative of a function as a function, and tapes.
//!
//! ```
//! # fn main() -> penstock::Result<()> {
//! let f = penstock::parse("
//!     func @cube(%x: f64[]) -> f64[] {
//!       %square = mul %x, %x
//!       %cube = mul %square, %x
//!       return %cube
//!     }")?;
//! let (outputs, grads) = f.gradients(&[&2.0f64], &[0])?;
//! assert_eq!(outputs[0].item(), Some(8.0f64));
//! assert_eq!(grads[0].as_ref().and_then(|g| g.item()), Some(12.0f64));
//!
//! let (_, pullback) = f.vjp(&[&2.0f64], &[0])?;
//! assert_eq!(pullback.run(&[&0.5f64])?[0].as_ref().and_then(|g| g.item()), Some(6.0f64));
//! # Ok(())
//! # }
//! ```
//!
//! # Threads
//!
//! Functions, tensors and variables may be used from any number of threads at once. A run works on the thread that
//! asked for it, and no lock is held while it does, but for the cell of a variable at the moment of an access.
//!
//! ```
//! # fn main() -> penstock::Result<()> {
//! let f = penstock::parse("func @f(%x: i32[]) -> i32[] {\n %y = mul %x, %x\n return %y\n}")?;
//! let squares: Vec<i32> = std::thread::scope(|s| {
//!     let runs: Vec<_> = (0..4).map(|i| s.spawn({ let f = &f; move || f.run(&[&i]) })).collect();
//!     runs.into_iter().map(|r| r.join().unwrap().unwrap()[0].item().unwrap()).collect()
//! });
//! assert_eq!(squares, [0, 1, 4, 9]);
//! # Ok(())
//! # }
//! ```
//!
//! What surrounds a run is an [`Env`]: where prints go, where random numbers come from, and whether to stop. One says what it
//! does otherwise than [`std_env`].
//! [`ConcreteFunction::run`] uses [`std_env`]; with an `Env` of its own, [`ConcreteFunction::run_in`] runs captured or
//! under a deadline. Its [`Env::poll`] is asked every few milliseconds, also while a single kernel runs for long: that one
//! is abandoned, and what it computes is dropped. What the run wrote to variables before stays written.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use penstock::{Class, Env, Error, Result};
//!
//! struct Until(Instant);
//!
//! impl Env for Until {
//!     fn poll(&self) -> Result<()> {
//!         if Instant::now() < self.0 { Ok(()) } else { Err(Error::cancelled("out of time")) }
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! // One kernel that takes seconds.
//! let f = penstock::parse("func @f(%x: f64[s0,s0]) -> f64[s0] {\n %s = singular_values %x\n return %s\n}")?;
//! let x = ndarray::Array2::from_shape_fn((2000, 2000), |(i, j)| (i * 31 + j * 17) as f64 % 101.0);
//! let error = f.run_in(&[&x], &Until(Instant::now() + Duration::from_millis(20))).unwrap_err();
//! assert_eq!(error.class(), Class::Cancelled);
//! # Ok(())
//! # }
//! ```
//!
//! Where it has a [`profile::Profiler`], that is told of each step: its operator, its place in the source, and its time; and of
//! each run and each plan that is made. A run without one asks once whether there is one, and no more. A
//! [`profile::Recorder`] keeps what it is told, sums it up, and writes it for others.
//!
//! ```
//! use penstock::Env;
//! use penstock::profile::{By, Detail, Profiler, Recorder};
//!
//! struct Profiled(Recorder);
//!
//! impl Env for Profiled {
//!     fn profiler(&self) -> Option<&dyn Profiler> {
//!         Some(&self.0)
//!     }
//! }
//!
//! # fn main() -> penstock::Result<()> {
//! let f = penstock::parse("func @f(%x: f32[s0]) -> f32[s0] {\n %y = sort %x\n %z = cumsum %y\n return %z\n}")?;
//! let env = Profiled(Recorder::new(Detail::All, 1000));
//! f.run_in(&[&ndarray::arr1(&[3.0f32, 1.0, 2.0])], &env)?;
//! let recording = env.0.finish();
//! let mut names: Vec<String> = recording.rows(By::Name).into_iter().map(|row| row.key).collect();
//! names.sort();
//! assert_eq!(names, ["cumsum", "function f", "planning f", "sort"]);
//! assert!(recording.page("f").contains("cumsum"));
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! Nothing that a graph, a text or an argument holds makes a call panic. An [`Error`] has a [`Class`], says which operator
//! and which argument is at fault, and where the instruction was written, for a traced graph in the Python source.
//!
//! ```
//! # fn main() -> penstock::Result<()> {
//! let f = penstock::parse("
//!     func @pick(%x: f32[s0], %i: i32[]) -> f32[] {
//!       %y = gather %x, %i                ; model.py:12:9
//!       return %y
//!     }")?;
//! let error = f.run(&[&ndarray::arr1(&[1.0f32, 2.0]), &5i32]).unwrap_err();
//! assert_eq!(error.op(), Some("gather"));
//! assert_eq!(error.argument_name(), Some("indices"));
//! assert_eq!(error.loc().unwrap().to_string(), "model.py:12:9");
//!
//! let error = f.run(&[&1.0f32, &0i32]).unwrap_err();
//! assert_eq!(error.to_string(), "argument '#0': expected f32[s0], got f32[]");
//! # Ok(())
//! # }
//! ```

/// What the package says of itself is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod array;
mod function;
mod host;
#[rustfmt::skip]
mod operators;
pub mod ops;
mod regions;

pub use array::{ArrayElement, TensorExt, place};
pub use function::{ConcreteFunction, Pullback, ToArg, std_env};
pub use host::host_fn;
pub use operators::{Operators, attributes};
pub use regions::{Loop, Regions};

pub use ndarray;

#[doc(inline)]
pub use penstock_data::settings;
#[doc(inline)]
pub use penstock_data::{
    ALL_DTYPES, Bool8, Buffer, Bytes, C64, C128, Class, DType, DTypeSet, Dim, Dims, Element, Error, Frame, Loc, Narrow,
    NarrowFormat, Reserve, Result, Shape, Symbol, Tensor, bf16, f16,
};
#[doc(inline)]
pub use penstock_exec::{Arg, Executable, Place, StdEnv, Variable, eager, eager_args, executable, reference};
#[doc(inline)]
pub use penstock_format::{
    Capture, Limits, Loader, Program, ProgramBuilder, ProgramFunction, ProgramVariable, SaveOptions,
};
#[doc(inline)]
pub use penstock_ir::{
    Attr, Attrs, Builder, Emitter, Env, FuncRef, Function, Graph, HostFn, HostRef, OpDef, PrintOptions, Signature,
    Type, Value, Verified, parse_tensors, print_function, print_graph, print_tensor,
};
#[doc(inline)]
pub use penstock_passes::{Options, Thresholds, switches};

/// Profiles: what is told of runs, and recorders that sum it up and write it for TensorBoard, Perfetto and browsers.
pub mod profile {
    #[doc(inline)]
    pub use penstock_ir::{Activity, Detail, Pace, Profiler, Span, is_quiet};
    #[doc(inline)]
    pub use penstock_profile::{By, Event, Lane, Part, Recorder, Recording, Row, Share, Step};
}

/// The parts of graphs and of operator declarations, for programs that walk or rewrite graphs.
pub mod ir {
    #[doc(inline)]
    pub use penstock_ir::{
        Arena, ArgDef, ArgType, AttrDef, AttrDefault, AttrKind, Call, Cotangents, Cpu, Cuda, DTypeVar, Def, Effect,
        EffectSet, Entity, Fold, GraphValues, HostResolver, InferCx, Inst, InstData, Kernel, KnownValues, Locations,
        NoValues, OpRef, OpSet, OutTypes, Region, RegionData, Sample, ValueData, Vjp, VjpCx, compact, effects_of,
        effects_of_region, no_hosts, order, parse_function, verify, verify_after,
    };
}

/// Reverse-mode differentiation: of tapes, of functions, and inside graphs under construction.
pub mod autodiff {
    #[doc(inline)]
    pub use penstock_autodiff::{
        Backward, CustomVjp, Dispatcher, Handle, Request, Residual, Tape, VjpPair, gradients_in, vjp_function,
    };
}

/// Models of ONNX.
#[cfg(feature = "onnx")]
pub use penstock_onnx as onnx;

/// The optimiser.
pub mod passes {
    #[doc(inline)]
    pub use penstock_passes::{PASSES, Pass, optimize, optimize_for, specialise};
}

/// Devices.
pub mod device {
    #[doc(inline)]
    pub use penstock_exec::{Device, DeviceKind, Memory, Program, cpu, devices, register};
}

use std::sync::Arc;

/// What a text may reach beside its arguments. By default neither host code nor files: a text is code of whoever wrote it.
///
/// ```
/// use penstock::{Class, ParseOptions};
///
/// let text = "func @log(%x: f32[]) {\n  print %x {stream=\"file:///tmp/log\"}\n  return\n}";
/// let error = penstock::parse(text).unwrap_err();
/// assert_eq!(error.class(), Class::FailedPrecondition);
/// assert!(ParseOptions::new().files(true).parse(text).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions<'a> {
    hosts: &'a [HostRef],
    files: bool,
}

impl<'a> ParseOptions<'a> {
    /// No host code and no files.
    pub fn new() -> ParseOptions<'a> {
        ParseOptions::default()
    }

    /// The host code that the text may name.
    #[must_use]
    pub fn hosts(self, hosts: &'a [HostRef]) -> ParseOptions<'a> {
        ParseOptions { hosts, ..self }
    }

    /// Whether the text may read and write files, by `read_file`, `write_file`, and `print` with a stream `file://<path>`.
    #[must_use]
    pub fn files(self, files: bool) -> ParseOptions<'a> {
        ParseOptions { files, ..self }
    }

    /// Reads the text form and makes its main function, which is the last, ready to run.
    ///
    /// # Errors
    /// `InvalidArgument` whose message starts with `line:column:` and says what was expected there, or names host code
    /// that is not given; `FailedPrecondition` where the text reads or writes files, and may not; the class that a wrong
    /// instruction has, with its place.
    pub fn parse(&self, text: &str) -> Result<ConcreteFunction> {
        let find = |name: &str| self.hosts.iter().find(|h| h.0.name() == name).cloned();
        let known: &dyn ir::OpSet = if self.files { &ops::OpsAndFiles } else { &ops::Ops };
        let function: Arc<Function> = function::guard(|| ir::parse_function(text, known, &find))?;
        ConcreteFunction::from_function(function)
    }
}

/// A graph to build.
pub fn builder() -> Builder {
    Builder::new(&ops::control::CONST)
}

/// Reads the text form and makes its main function, which is the last, ready to run.
///
/// # Errors
/// As [`ParseOptions::parse`]: the text may name no host code and write to no file. [`parse_with_hosts`] and
/// [`ParseOptions`] allow more.
pub fn parse(text: &str) -> Result<ConcreteFunction> {
    ParseOptions::new().parse(text)
}

/// As [`parse`], with the host code that the text may name.
///
/// # Errors
/// As [`ParseOptions::parse`].
pub fn parse_with_hosts(text: &str, hosts: &[HostRef]) -> Result<ConcreteFunction> {
    ParseOptions::new().hosts(hosts).parse(text)
}
