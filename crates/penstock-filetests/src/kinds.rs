//! What is done with the graph of a test file.

use std::fmt::Write;
use std::sync::Arc;

use penstock_autodiff::{Request, gradients_in};
use penstock_data::{Error, Result, Tensor};
use penstock_exec::{Arg, Executable, Variable, reference};
use penstock_ir::{Builder, Function, Verified, parse_function, print_tensor, verify};
use penstock_ops::{Ops, control};
use penstock_passes::{Options, PASSES, Thresholds, optimize_for};

use crate::compare::{same_function, same_tensor};
use crate::file::{TestFile, describe};
use crate::hosts::{hosts, take_log};
use crate::recorder::Recorder;

/// What is done with the graph of a test file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Its text is read and printed, and what is printed is read again.
    Parse,
    /// It must be refused when it is read.
    Verify,
    /// The passes run over it. `passes=fold,dce` runs these alone, `fused_bytes=0` groups even
    /// the smallest elementwise instructions, `fuel=n` allows `n` rewrites.
    Optimize,
    /// It runs on each `args` line in every tier, which must agree: the results, what it prints, and the
    /// variables afterwards. The argument for a variable is its first value.
    Run,
    /// The gradients of its outputs with respect to its differentiable inputs and variables: the
    /// graph, or for each `args` line the values.
    Gradient,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Parse, Kind::Verify, Kind::Optimize, Kind::Run, Kind::Gradient];

    /// The name in test files, and of the directory of such tests.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Parse => "parse",
            Kind::Verify => "verify",
            Kind::Optimize => "optimize",
            Kind::Run => "run",
            Kind::Gradient => "gradient",
        }
    }

    /// The kind of a name.
    ///
    /// # Errors
    /// `InvalidArgument` where there is none.
    pub fn from_name(name: &str) -> Result<Kind> {
        let found = Kind::ALL.into_iter().find(|k| k.name() == name);
        found.ok_or_else(|| Error::invalid(format!("there is no kind of test named {name:?}")))
    }

    pub(crate) fn run(self, file: &TestFile) -> Result<String> {
        let function = parse_function(&file.text, &Ops, &hosts);
        if self == Kind::Verify {
            return Ok(match function {
                Ok(function) => format!("was accepted:\n{}", function.to_text()),
                Err(error) => describe(&error),
            });
        }
        let function = function?;
        let graph = function.graph().ok_or_else(|| Error::invalid("the main function has no body"))?;
        match self {
            Kind::Parse | Kind::Verify => parse(&function),
            Kind::Optimize => Ok(optimized(graph, &options(file)?)?.to_string()),
            Kind::Run => each_run(graph, file),
            Kind::Gradient => {
                let gradient = gradient(graph)?;
                if file.args.is_empty() {
                    let options =
                        Options { skip: vec!["fuse".to_string(), "native".to_string()], ..Options::default() };
                    return Ok(optimized(&gradient, &options)?.to_string());
                }
                each_run(&gradient, file)
            }
        }
    }
}

fn parse(function: &Arc<Function>) -> Result<String> {
    let text = function.to_text();
    let again = parse_function(&text, &Ops, &hosts)?;
    if again.to_text() != text || !same_function(function, &again) {
        return Err(Error::internal(format!("what was printed reads back as\n{}", again.to_text())));
    }
    Ok(text)
}

fn options(file: &TestFile) -> Result<Options> {
    let mut options = Options::default();
    let number = |name: &str| -> Result<Option<u64>> {
        let parse = |v: &str| v.parse().map_err(|_| Error::invalid("expected a number").argument(name));
        file.option(name).map(parse).transpose()
    };
    if let Some(list) = file.option("passes") {
        let kept: Vec<&str> = list.split(',').collect();
        if let Some(unknown) = kept.iter().find(|k| !PASSES.iter().any(|p| p.name == **k)) {
            return Err(Error::invalid(format!("there is no pass '{unknown}'")));
        }
        options.skip = PASSES.iter().map(|p| p.name).filter(|n| !kept.contains(n)).map(str::to_owned).collect();
    }
    if let Some(fuel) = number("fuel")? {
        options.fuel = fuel;
    }
    if let Some(bytes) = number("fused_bytes")? {
        options.thresholds.fused_bytes = bytes as usize;
    }
    Ok(options)
}

fn optimized(graph: &Verified, options: &Options) -> Result<Verified> {
    let optimized = optimize_for(graph, &graph.signature().params, options)?;
    verify(&optimized)?;
    Ok(optimized)
}

/// The graph of the gradients of the sum of all outputs.
fn gradient(graph: &Verified) -> Result<Verified> {
    let mut builder = Builder::new(&control::CONST);
    let mut inputs = Vec::new();
    for &input in graph.inputs() {
        let name = graph.names.get(&input).map(|n| &**n);
        inputs.push(builder.input(graph.ty(input).clone(), name));
    }
    let targets = builder.inline(graph, &inputs)?;
    let sources: Vec<_> = inputs.into_iter().filter(|&v| builder.graph().ty(v).dtype().is_differentiable()).collect();
    let request = Request { targets: &targets, target_grads: &[], sources: &sources, stops: &[], recorded: None };
    let grads = gradients_in(&mut builder, &request)?;
    let missing = grads.iter().zip(&sources).filter(|(g, _)| g.is_none());
    if let Some((_, source)) = missing.into_iter().next() {
        return Err(Error::invalid(format!("no output depends on {source}")));
    }
    let grads: Vec<_> = grads.into_iter().flatten().collect();
    let gradient = builder.finish(&grads)?;
    verify(&gradient)?;
    Ok(gradient.compact())
}

fn each_run(graph: &Verified, file: &TestFile) -> Result<String> {
    let runs: Result<Vec<String>> = file.args.iter().map(|args| run_tiers(graph, args)).collect();
    Ok(runs?.join("\n"))
}

/// What a run leaves: its results, what it printed and what host code it called, and the variables; or its error.
pub type Trace = Result<(Vec<Tensor>, String, Vec<Tensor>)>;

/// A way to run a graph.
type Tier<'a> = dyn Fn(&[Arg], &Recorder) -> Result<Vec<Tensor>> + 'a;

/// Runs a graph in every tier, and describes what all of them gave: what it printed, the results, the
/// variables afterwards, or the error. The argument for a variable is its first value.
///
/// # Errors
/// `Internal` where two tiers disagree; what the passes report.
pub fn run_tiers(graph: &Verified, tensors: &[Tensor]) -> Result<String> {
    run_tiers_with(graph, tensors, &[("the executor with all thresholds at their least", Thresholds::SMALL.into())])
}

/// As [`run_tiers`], and by the executor with each of these options.
///
/// # Errors
/// As [`run_tiers`].
pub fn run_tiers_with(graph: &Verified, tensors: &[Tensor], more: &[(&str, Options)]) -> Result<String> {
    let small = Options {
        thresholds: Thresholds { fused_bytes: 0, block_bytes: 0, ..Thresholds::DEFAULT },
        ..Options::default()
    };
    let optimized = optimized(graph, &small)?;
    let function = Function::new("main", graph.clone());
    let shuffled = |graph: &Verified, seed: u64| {
        let graph = graph.clone();
        let run = move |args: &[Arg], env: &Recorder| reference::run_shuffled(&graph, args, env, seed);
        Box::new(run) as Box<Tier<'_>>
    };
    let compiled = Options { thresholds: Thresholds { native_after: 0, ..Thresholds::DEFAULT }, ..Options::default() };
    let without =
        |switches: &[&str]| Options { skip: switches.iter().map(|&s| s.into()).collect(), ..Options::default() };
    let (patterns, general) = (without(&["exact_sizes"]), without(&["exact_sizes", "size_patterns"]));
    let with = |options: &Options| {
        let (function, options) = (&function, options.clone());
        let run = move |args: &[Arg], env: &Recorder| {
            Ok(Executable::with_options(function, options.clone())?.run(args, env)?.into_vec())
        };
        Box::new(run) as Box<Tier<'_>>
    };
    let mut tiers: Vec<(&str, Box<Tier<'_>>)> = vec![
        ("the reference interpreter", Box::new(|args, env| reference::run(graph, args, env))),
        ("the reference interpreter in another order", shuffled(graph, 3)),
        ("the reference interpreter in a third order", shuffled(graph, 0x5eed)),
        ("the reference interpreter in a fourth order", shuffled(graph, 1 << 40)),
        ("the optimised graph in another order", shuffled(&optimized, 77)),
        (
            "the reference interpreter on the optimised graph",
            Box::new(|args, env| reference::run(&optimized, args, env)),
        ),
        ("the executor", with(&Options::default())),
        ("the executor with groups of every size", with(&small)),
        ("the executor with machine code", with(&compiled)),
        ("the executor with a plan for the pattern of the sizes", with(&patterns)),
        ("the executor with a plan for all sizes", with(&general)),
    ];
    tiers.extend(more.iter().map(|(name, options)| (*name, with(options))));
    let mut first: Option<Trace> = None;
    for (name, tier) in tiers {
        let trace = trace(graph, tensors, &*tier)?;
        match &first {
            None => first = Some(trace),
            Some(due) if agree(due, &trace) => {}
            // Of several instructions that fail, another one may come first in another order.
            Some(Err(_)) if trace.is_err() && name.contains("order") => {}
            Some(due) => {
                return Err(Error::internal(format!("{name} gives\n{}\ninstead of\n{}", show(&trace), show(due))));
            }
        }
    }
    Ok(first.as_ref().map(show).unwrap_or_default())
}

/// What a run does, by the way of running that is given; the variables have their first values before.
///
/// # Errors
/// As [`arguments`].
pub fn trace(
    graph: &Verified,
    tensors: &[Tensor],
    tier: &dyn Fn(&[Arg], &Recorder) -> Result<Vec<Tensor>>,
) -> Result<Trace> {
    let (args, variables) = arguments(graph, tensors)?;
    take_log();
    let results = tier(&args, &Recorder::default());
    let log = take_log();
    Ok(results.and_then(|results| {
        let results = results.iter().map(Tensor::on_host).collect::<Result<_>>()?;
        let values = variables.iter().map(|v| v.read()?.on_host()).collect::<Result<_>>()?;
        Ok((results, log, values))
    }))
}

/// The arguments for the inputs of a graph, each variable with its first value.
///
/// # Errors
/// Where a first value does not fit its variable.
pub fn arguments(graph: &Verified, tensors: &[Tensor]) -> Result<(Vec<Arg>, Vec<Arc<Variable>>)> {
    let mut variables = Vec::new();
    let mut args = Vec::new();
    for (i, tensor) in tensors.iter().enumerate() {
        let ty = graph.inputs().get(i).map(|&v| graph.ty(v));
        args.push(match ty {
            Some(ty) if ty.is_variable() => {
                let name = format!("v{i}");
                let variable = Variable::new(&name, ty.dtype(), ty.shape().clone(), Some(tensor.clone()))?;
                variables.push(variable.clone());
                Arg::Variable(variable)
            }
            _ => Arg::Tensor(tensor.clone()),
        });
    }
    Ok((args, variables))
}

/// Whether two runs did the same: the same bits, the same effects in the same order, or the same error of the same line.
pub fn agree(a: &Trace, b: &Trace) -> bool {
    let all = |a: &[Tensor], b: &[Tensor]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same_tensor(x, y));
    match (a, b) {
        (Ok(a), Ok(b)) => all(&a.0, &b.0) && a.1 == b.1 && all(&a.2, &b.2),
        (Err(a), Err(b)) => a.class() == b.class() && a.to_string() == b.to_string() && a.loc() == b.loc(),
        _ => false,
    }
}

/// What a run did, as a text.
pub fn show(trace: &Trace) -> String {
    match trace {
        Ok((results, printed, variables)) => {
            let mut out = printed.clone();
            let lines: Vec<String> = results.iter().map(|t| print_tensor(&plain_nans(t), None)).collect();
            let _ = writeln!(out, "{}", lines.join(", "));
            for value in variables {
                let _ = writeln!(out, "variable: {}", print_tensor(&plain_nans(value), None));
            }
            out.trim_end().to_string()
        }
        Err(error) => describe(error),
    }
}

/// The tensor with every NaN made the plain one: which one an operation gives differs between processors.
pub(crate) fn plain_nans(tensor: &Tensor) -> Tensor {
    penstock_data::with_dtype!(float, tensor.dtype(), T => {
        let plain = |&v: &T| if v.is_nan() { T::NAN } else { v };
        let values: Vec<T> = tensor.as_slice::<T>().iter().map(plain).collect();
        Tensor::from_slice(tensor.dims(), &values).unwrap_or_else(|_| tensor.clone())
    }, else tensor.clone())
}
