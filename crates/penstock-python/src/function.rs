//! The engine's part of `penstock.Function`: bind the arguments, look the trace up, run it.
//!
//! A hit stays in Rust from entry to exit. A miss traces: the Python function runs once on symbolic
//! arguments, and what it does becomes a graph.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use penstock_exec::Arg;
use penstock_ir::{Function, Type};
use penstock_trace::{self as trace, Cache, Concrete, Kind, RawKey, Token, Var, generalize, is_subtype};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use smallvec::SmallVec;

use crate::errors::OrPy;
use crate::graph::PyGraph;
use crate::layer;
use crate::structure::{Leaf, Leaves, RawSink, Sink, Tree, TypeSink, rebuild, walk};
use crate::tensor::wrap;

/// Whether traced functions run their Python code eagerly instead, for debugging.
static RUN_EAGERLY: AtomicBool = AtomicBool::new(false);

/// Makes all traced functions run their Python code eagerly, or stops that.
#[pyfunction]
pub(crate) fn _run_functions_eagerly(on: bool) {
    RUN_EAGERLY.store(on, Ordering::Relaxed);
}

/// Whether traced functions run their Python code eagerly.
#[pyfunction]
pub(crate) fn _functions_run_eagerly() -> bool {
    RUN_EAGERLY.load(Ordering::Relaxed)
}

/// One parameter of the Python function that is neither `*args` nor `**kwargs`.
struct Param {
    name: Py<pyo3::types::PyString>,
    text: String,
    default: Option<Py<PyAny>>,
    positional: bool,
    keyword: bool,
}

/// The parameters of the Python function.
struct Params {
    named: Vec<Param>,
    positional: usize,
    varargs: Option<String>,
    varkw: Option<String>,
}

/// The arguments of one call, by parameter.
pub(crate) struct Bindings<'py> {
    /// A value for each named parameter.
    named: SmallVec<[Bound<'py, PyAny>; 8]>,
    varargs: SmallVec<[Bound<'py, PyAny>; 2]>,
    varkw: Vec<(String, Bound<'py, PyAny>)>,
}

impl Params {
    /// Binds arguments; `None` where they do not fit the parameters. `partial` leaves parameters that
    /// are missing to `fill`.
    fn bind<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        fill: &dyn Fn(usize) -> Option<Bound<'py, PyAny>>,
    ) -> Option<Bindings<'py>> {
        let mut positional = first.cloned().into_iter().chain(args.iter());
        let mut out = Bindings { named: SmallVec::new(), varargs: SmallVec::new(), varkw: Vec::new() };
        let mut used = 0;
        for (i, param) in self.named.iter().enumerate() {
            let given = if param.positional { positional.next() } else { None };
            let keyword = match kwargs {
                Some(kwargs) if param.keyword => kwargs.get_item(&param.name).ok().flatten(),
                _ => None,
            };
            let value = match (given, keyword) {
                (Some(v), None) => v,
                (None, Some(v)) => {
                    used += 1;
                    v
                }
                (None, None) => match &param.default {
                    Some(default) => default.bind(py).clone(),
                    None => fill(i)?,
                },
                (Some(_), Some(_)) => return None,
            };
            out.named.push(value);
        }
        out.varargs.extend(positional);
        if !out.varargs.is_empty() && self.varargs.is_none() {
            return None;
        }
        if let Some(kwargs) = kwargs
            && kwargs.len() > used
        {
            self.varkw.as_ref()?;
            for (key, value) in kwargs.iter() {
                let key: String = key.extract().ok()?;
                if !self.named.iter().any(|p| p.keyword && p.text == key) {
                    out.varkw.push((key, value));
                }
            }
            out.varkw.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Some(out)
    }
}

impl<'py> Bindings<'py> {
    fn walk(&self, sink: &mut impl Sink, leaves: &mut Leaves<'py>) -> PyResult<()> {
        for value in &self.named {
            walk(value, sink, leaves)?;
        }
        for value in &self.varargs {
            walk(value, sink, leaves)?;
        }
        for (key, value) in &self.varkw {
            sink.text(b'k', key.as_bytes());
            walk(value, sink, leaves)?;
        }
        Ok(())
    }

    /// The same bindings with each leaf replaced.
    fn replaced(
        &self,
        replace: &mut dyn FnMut(&str, &Leaf<'py>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
        params: &Params,
    ) -> PyResult<Bindings<'py>> {
        let mut out = Bindings { named: SmallVec::new(), varargs: SmallVec::new(), varkw: Vec::new() };
        for (value, param) in self.named.iter().zip(&params.named) {
            out.named.push(rebuild(value, &mut |leaf, v| replace(&param.text, leaf, v))?);
        }
        let name = params.varargs.as_deref().unwrap_or("args");
        for value in &self.varargs {
            out.varargs.push(rebuild(value, &mut |leaf, v| replace(name, leaf, v))?);
        }
        for (key, value) in &self.varkw {
            out.varkw.push((key.clone(), rebuild(value, &mut |leaf, v| replace(key, leaf, v))?));
        }
        Ok(out)
    }

    /// The arguments of a Python call.
    fn call_args(&self, py: Python<'py>, params: &Params) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let kwargs = PyDict::new(py);
        let mut args: Vec<Bound<'py, PyAny>> = Vec::new();
        for (value, param) in self.named.iter().zip(&params.named) {
            if param.positional {
                args.push(value.clone());
            } else {
                kwargs.set_item(&param.name, value)?;
            }
        }
        args.extend(self.varargs.iter().cloned());
        for (key, value) in &self.varkw {
            kwargs.set_item(key, value)?;
        }
        Ok((PyTuple::new(py, args)?, kwargs))
    }
}

/// A leaf as the executor takes it, where it is a tensor at hand or a variable.
fn eager_arg(leaf: &Leaf<'_>) -> Option<Arg> {
    match leaf {
        Leaf::Tensor(t) => t.get().var.tensor().cloned().map(Arg::Tensor),
        Leaf::Variable(v) => Some(Arg::Variable(v.get().variable.clone())),
        Leaf::Other(_) => match leaf.var().ok()?.into_kind() {
            Kind::Eager(t) => Some(Arg::Tensor(t)),
            _ => None,
        },
    }
}

/// One trace of a function.
pub(crate) struct Trace {
    pub(crate) concrete: Concrete,
    tree: Tree,
    /// The trace type of the arguments.
    ty: Vec<Token>,
    /// The tokens of each named parameter, as a range of `ty`.
    spans: Vec<(String, std::ops::Range<usize>)>,
    /// The arguments with a `TensorSpec` for each tensor: `(args, kwargs)`.
    signature: (Py<PyTuple>, Py<PyDict>),
    pub(crate) name: String,
    python: OnceLock<Py<PyConcrete>>,
}

impl Trace {
    fn call<'py>(&self, py: Python<'py>, leaves: &Leaves<'py>) -> PyResult<Bound<'py, PyAny>> {
        // The commonest case first: no trace, no tape, tensors at hand.
        if trace::is_plain()
            && let Some(args) = leaves.iter().map(eager_arg).collect::<Option<SmallVec<[Arg; 4]>>>()
        {
            let outs = self.concrete.run(args).or_py(py)?;
            let mut outs = outs.into_iter().map(Var::eager);
            return self.tree.build(py, &mut outs);
        }
        let args: SmallVec<[Var; 8]> = leaves.iter().map(Leaf::var).collect::<PyResult<_>>()?;
        let outs = self.concrete.call(args).or_py(py)?;
        self.tree.build(py, &mut outs.into_iter())
    }

    /// The Python object of this trace.
    fn object<'py>(self: &Arc<Self>, py: Python<'py>, params: &Arc<Params>) -> PyResult<Bound<'py, PyConcrete>> {
        if let Some(object) = self.python.get() {
            return Ok(object.bind(py).clone());
        }
        let object = Py::new(py, PyConcrete { trace: self.clone(), params: params.clone() })?;
        Ok(self.python.get_or_init(|| object).bind(py).clone())
    }
}

/// A Python function that is traced into graphs.
#[pyclass(subclass, frozen, dict, weakref, name = "_Function", module = "penstock._core")]
pub(crate) struct PyFunction {
    python_function: Py<PyAny>,
    name: String,
    params: Arc<Params>,
    /// The specifications of `input_signature` in the order of the named parameters, if it was given.
    signature: Option<Py<PyTuple>>,
    /// Whether shapes are generalised after the first trace.
    relax: bool,
    cache: Mutex<Cache<Arc<Trace>>>,
    traced: AtomicU64,
}

impl PyFunction {
    fn cache(&self) -> MutexGuard<'_, Cache<Arc<Trace>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bindings<'py>> {
        if let Some(bound) = self.params.bind(py, first, args, kwargs, &|_| None) {
            return self.conform(py, bound);
        }
        // Python's own words for what is wrong with the call.
        let signature = py.import("inspect")?.getattr("signature")?.call1((&self.python_function,))?;
        let all: Vec<Bound<'py, PyAny>> = first.cloned().into_iter().chain(args.iter()).collect();
        match signature.call_method("bind", PyTuple::new(py, all)?, kwargs) {
            Err(e) => Err(PyTypeError::new_err(format!("{}(): {}", self.name, e.value(py)))),
            Ok(_) => Err(PyTypeError::new_err(format!(
                "{}(): the arguments do not fit the function's parameters",
                self.name
            ))),
        }
    }

    /// The arguments as `input_signature` asks for them.
    fn conform<'py>(&self, py: Python<'py>, mut bound: Bindings<'py>) -> PyResult<Bindings<'py>> {
        if let Some(signature) = &self.signature {
            let values = PyTuple::new(py, &bound.named)?;
            let names: Vec<&str> = self.params.named.iter().map(|p| p.text.as_str()).collect();
            let made = layer::call(py, "conform_to_signature", (&self.name, names, values, signature))?;
            bound.named = made.try_iter()?.collect::<PyResult<_>>()?;
        }
        Ok(bound)
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if RUN_EAGERLY.load(Ordering::Relaxed) {
            let all: Vec<Bound<'py, PyAny>> = first.cloned().into_iter().chain(args.iter()).collect();
            return self.python_function.bind(py).call(PyTuple::new(py, all)?, kwargs);
        }
        let bound = self.bind(py, first, args, kwargs)?;
        let (mut sink, mut leaves) = (RawSink(RawKey::new()), Leaves::new());
        bound.walk(&mut sink, &mut leaves)?;
        let hit = self.cache().hit(sink.0.words()).cloned();
        let trace = match hit {
            Some(trace) => trace,
            None => self.miss(py, &bound, &sink.0)?,
        };
        trace.call(py, &leaves)
    }

    /// The trace of arguments that were not seen before: a more general one, or a new one.
    fn miss<'py>(&self, py: Python<'py>, bound: &Bindings<'py>, key: &RawKey) -> PyResult<Arc<Trace>> {
        let mut sink = TypeSink::default();
        bound.walk(&mut sink, &mut Leaves::new())?;
        let ty = sink.0;
        let candidates: Vec<(Vec<Token>, Arc<Trace>)> = self.cache().traces().to_vec();
        // Comparing may run Python code: not under the lock.
        let found = penstock_trace::most_specific(&ty, candidates.iter().map(|(t, _)| t.as_slice()));
        if let Some(i) = found {
            self.cache().remember(key.words(), i);
            return Ok(candidates[i].1.clone());
        }
        let ty = self.relaxed(ty, &candidates);
        let trace = self.trace(py, bound, ty.clone())?;
        // Inside another trace the captures may be symbolic: such a trace serves this once.
        if trace.concrete.captures.iter().any(|v| matches!(v.kind(), Kind::Symbolic(_))) {
            return Ok(trace);
        }
        let mut cache = self.cache();
        let index = cache.insert(ty, trace.clone());
        cache.remember(key.words(), index);
        Ok(trace)
    }

    /// With `reduce_retracing`, a type that covers this one and the latest trace that differs in shapes only.
    fn relaxed(&self, ty: Vec<Token>, traces: &[(Vec<Token>, Arc<Trace>)]) -> Vec<Token> {
        if !self.relax {
            return ty;
        }
        traces.iter().rev().find_map(|(other, _)| generalize(&ty, other)).unwrap_or(ty)
    }

    /// Runs the Python function on symbolic arguments.
    fn trace<'py>(&self, py: Python<'py>, bound: &Bindings<'py>, ty: Vec<Token>) -> PyResult<Arc<Trace>> {
        self.traced.fetch_add(1, Ordering::Relaxed);
        let _stay = crate::exit::enter();
        let function = self.python_function.bind(py);
        let (tree, outs, signature) = loop {
            trace::begin_trace();
            let traced = self.trace_body(py, bound, function, &ty);
            // A trace that made variables is made again, so that what it holds is what every later trace holds.
            let again = traced.is_ok() && layer::call(py, "made_variables", (function,))?.is_truthy()?;
            match traced {
                Ok(parts) if !again => break parts,
                Ok(_) => trace::abandon_trace(),
                Err(e) => {
                    trace::abandon_trace();
                    return Err(e);
                }
            }
        };
        let traced = trace::end_trace(&outs).or_py(py)?;
        let spans = self.spans(bound)?;
        let name = format!("{}_{}", self.name, trace::fresh_id());
        let function = Arc::new(Function::new(name.as_str(), penstock_ir::compact(&traced.graph)));
        Ok(Arc::new(Trace {
            concrete: Concrete::new(function, traced.captures, traced.trainable),
            tree,
            ty,
            spans,
            signature,
            name: self.name.clone(),
            python: OnceLock::new(),
        }))
    }

    fn trace_body<'py>(
        &self,
        py: Python<'py>,
        bound: &Bindings<'py>,
        function: &Bound<'py, PyAny>,
        ty: &[Token],
    ) -> PyResult<(Tree, Vec<Var>, (Py<PyTuple>, Py<PyDict>))> {
        // Tensors stand in the type in the order of the walk.
        let mut tensors = ty.iter().filter_map(|token| match token {
            Token::Tensor(dtype, shape) => Some(Type::Tensor(*dtype, shape.clone())),
            _ => None,
        });
        let mut names = NameSource::default();
        let mut variables: SmallVec<[u64; 4]> = SmallVec::new();
        let spec_class = layer::get(py, "TensorSpec")?;
        let mut specs: Vec<Bound<'py, PyAny>> = Vec::new();
        let symbolic = bound.replaced(
            &mut |param, leaf, value| match leaf {
                Leaf::Variable(v) => {
                    let var = v.get().var();
                    if !variables.contains(&var.id()) {
                        variables.push(var.id());
                        trace::bind_variable(&var, Some(&names.unique(param))).or_py(py)?;
                    }
                    specs.push(value.clone());
                    Ok(value.clone())
                }
                leaf => {
                    let ty = tensors.next().unwrap_or_else(|| leaf.ty());
                    let name = names.unique(leaf.name().unwrap_or(param));
                    let var = trace::placeholder(&ty, Some(&name)).or_py(py)?;
                    let shape = crate::tensor::shape_object(py, ty.shape())?;
                    specs.push(spec_class.call1((shape, crate::dtype::object(py, ty.dtype())?, name))?);
                    Ok(wrap(py, var)?.into_any())
                }
            },
            &self.params,
        )?;
        let mut specs = specs.into_iter();
        let described =
            bound.replaced(&mut |_, _, value| Ok(specs.next().unwrap_or_else(|| value.clone())), &self.params)?;
        let mut described = described;
        for value in &mut described.named {
            *value = held_weakly(value)?;
        }
        let (spec_args, spec_kwargs) = described.call_args(py, &self.params)?;
        let (args, kwargs) = symbolic.call_args(py, &self.params)?;
        let result = function.call(args, Some(&kwargs))?;
        let mut outs = Vec::new();
        let tree = Tree::of(&result, &mut outs)?;
        Ok((tree, outs, (spec_args.unbind(), spec_kwargs.unbind())))
    }

    /// Where each named parameter's tokens are.
    fn spans(&self, bound: &Bindings<'_>) -> PyResult<Vec<(String, std::ops::Range<usize>)>> {
        let (mut sink, mut leaves) = (TypeSink::default(), Leaves::new());
        let mut spans = Vec::new();
        for (value, param) in bound.named.iter().zip(&self.params.named) {
            let start = sink.0.len();
            walk(value, &mut sink, &mut leaves)?;
            spans.push((param.text.clone(), start..sink.0.len()));
        }
        Ok(spans)
    }

    fn concrete<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyConcrete>> {
        let bound = match &self.signature {
            // Without arguments the signature stands for them.
            Some(signature) if first.is_none() && args.is_empty() && kwargs.is_none_or(|k| k.is_empty()) => {
                self.bind(py, None, signature.bind(py), None)?
            }
            _ => self.bind(py, first, args, kwargs)?,
        };
        let (mut sink, mut leaves) = (RawSink(RawKey::new()), Leaves::new());
        bound.walk(&mut sink, &mut leaves)?;
        let hit = self.cache().hit(sink.0.words()).cloned();
        let trace = match hit {
            Some(trace) => trace,
            None => self.miss(py, &bound, &sink.0)?,
        };
        trace.object(py, &self.params)
    }
}

/// An argument as a trace keeps it: an object that counts by identity, such as a method's `self`, by a
/// weak reference, so that the trace does not keep it alive.
fn held_weakly<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut sink = TypeSink::default();
    walk(value, &mut sink, &mut Leaves::new())?;
    match (sink.0.as_slice(), PyWeakrefReference::new(value)) {
        ([Token::Opaque(_)], Ok(weak)) => Ok(weak.into_any()),
        _ => Ok(value.clone()),
    }
}

/// The argument that [`held_weakly`] kept; `None` where the object is gone.
fn released<'py>(value: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    match value.cast::<PyWeakrefReference>() {
        Ok(weak) => weak.upgrade().unwrap_or_else(|| value.py().None().into_bound(value.py())),
        Err(_) => value,
    }
}

/// Names for placeholders: a parameter's own, then with numbers.
#[derive(Default)]
struct NameSource(std::collections::HashMap<String, u32>);

impl NameSource {
    fn unique(&mut self, base: &str) -> String {
        let n = self.0.entry(base.to_owned()).or_insert(0);
        *n += 1;
        if *n == 1 { base.to_owned() } else { format!("{base}_{}", *n - 1) }
    }
}

#[pymethods]
impl PyFunction {
    /// `params` lists `(name, has_default, default, positional, keyword)` of each named parameter.
    #[new]
    #[pyo3(signature = (python_function, name, params, varargs, varkw, signature, relax))]
    fn new(
        python_function: Py<PyAny>,
        name: String,
        params: Vec<(Bound<'_, pyo3::types::PyString>, bool, Py<PyAny>, bool, bool)>,
        varargs: Option<String>,
        varkw: Option<String>,
        signature: Option<Py<PyTuple>>,
        relax: bool,
    ) -> PyResult<PyFunction> {
        let named: Vec<Param> = params
            .into_iter()
            .map(|(name, has_default, default, positional, keyword)| {
                Ok(Param {
                    text: name.to_str()?.to_owned(),
                    name: name.unbind(),
                    default: has_default.then_some(default),
                    positional,
                    keyword,
                })
            })
            .collect::<PyResult<_>>()?;
        let positional = named.iter().filter(|p| p.positional).count();
        Ok(PyFunction {
            python_function,
            name,
            params: Arc::new(Params { named, positional, varargs, varkw }),
            signature,
            relax,
            cache: Mutex::default(),
            traced: AtomicU64::new(0),
        })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, None, args, kwargs)
    }

    fn __get__<'py>(
        slf: Bound<'py, Self>,
        instance: Option<Bound<'py, PyAny>>,
        _owner: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match instance {
            Some(instance) if !instance.is_none() => Ok(Bound::new(
                slf.py(),
                PyBoundFunction { function: slf.clone().unbind(), instance: instance.unbind() },
            )?
            .into_any()),
            _ => Ok(slf.into_any()),
        }
    }

    /// The Python function that is traced.
    #[getter]
    fn python_function(&self, py: Python<'_>) -> Py<PyAny> {
        self.python_function.clone_ref(py)
    }

    /// The trace for these arguments, of which tensors may be given as `TensorSpec`.
    #[pyo3(signature = (*args, **kwargs))]
    fn get_concrete_function<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyConcrete>> {
        self.concrete(py, None, args, kwargs)
    }

    /// How many times the Python function was traced.
    fn experimental_get_tracing_count(&self) -> u64 {
        self.traced.load(Ordering::Relaxed)
    }

    /// All traces, oldest first.
    fn _traces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyConcrete>>> {
        let traces: Vec<Arc<Trace>> = self.cache().traces().iter().map(|(_, t)| t.clone()).collect();
        traces.iter().map(|t| t.object(py, &self.params)).collect()
    }
}

/// A traced method bound to its instance.
#[pyclass(frozen, name = "_BoundFunction", module = "penstock._core")]
pub(crate) struct PyBoundFunction {
    function: Py<PyFunction>,
    instance: Py<PyAny>,
}

#[pymethods]
impl PyBoundFunction {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.function.get().call(py, Some(self.instance.bind(py)), args, kwargs)
    }

    /// The trace for these arguments, of which tensors may be given as `TensorSpec`.
    #[pyo3(signature = (*args, **kwargs))]
    fn get_concrete_function<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyConcrete>> {
        self.function.get().concrete(py, Some(self.instance.bind(py)), args, kwargs)
    }

    #[getter]
    fn __self__(&self, py: Python<'_>) -> Py<PyAny> {
        self.instance.clone_ref(py)
    }

    #[getter]
    fn __func__(&self, py: Python<'_>) -> Py<PyFunction> {
        self.function.clone_ref(py)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).getattr(name)
    }
}

/// One trace, callable.
#[pyclass(frozen, dict, weakref, name = "ConcreteFunction", module = "penstock.types.experimental")]
pub(crate) struct PyConcrete {
    trace: Arc<Trace>,
    params: Arc<Params>,
}

impl PyConcrete {
    /// Says which argument does not fit, and how.
    fn refuse(&self, py: Python<'_>, got: &[Token], bound: &Bindings<'_>) -> PyErr {
        let mut at = 0;
        for (i, (name, span)) in self.trace.spans.iter().enumerate() {
            let mut sink = TypeSink::default();
            if walk(&bound.named[i], &mut sink, &mut Leaves::new()).is_err() {
                break;
            }
            let here = &got[at..(at + sink.0.len()).min(got.len())];
            at += sink.0.len();
            let due = &self.trace.ty[span.clone()];
            if is_subtype(here, due) {
                continue;
            }
            return match (due, here) {
                ([Token::Tensor(..)], [Token::Tensor(..)]) => {
                    let message =
                        format!("argument '{name}' of {} must be {:?}, got {:?}", self.trace.name, due[0], here[0]);
                    crate::errors::to_py(py, &penstock_data::Error::invalid(message))
                }
                ([Token::Tensor(..)], _) => PyTypeError::new_err(format!(
                    "argument '{name}' of {} must be a tensor {:?}, got {here:?}",
                    self.trace.name, due[0]
                )),
                _ => PyTypeError::new_err(format!(
                    "argument '{name}' of {} was traced with {due:?}, and cannot be {here:?}",
                    self.trace.name
                )),
            };
        }
        PyTypeError::new_err(format!(
            "{}: the arguments do not fit the trace: traced with {:?}, got {got:?}",
            self.trace.name, self.trace.ty
        ))
    }
}

#[pymethods]
impl PyConcrete {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (spec_args, spec_kwargs) = (self.trace.signature.0.bind(py), self.trace.signature.1.bind(py));
        // Python values of the trace need not be given again.
        let fill = |i: usize| {
            let param = &self.params.named[i];
            let value = if param.positional {
                spec_args.get_item(i).ok()
            } else {
                spec_kwargs.get_item(&param.name).ok().flatten()
            };
            value
                .map(released)
                .filter(|v| !layer::get(py, "TensorSpec").and_then(|c| v.is_instance(&c)).unwrap_or(false))
        };
        // Positional arguments are those of the whole signature, or only its tensors.
        let mut spread: Vec<Bound<'py, PyAny>> = args.iter().collect();
        let tensors_only = kwargs.is_none_or(|k| k.is_empty()) && args.len() < self.params.positional;
        let bound = match self.params.bind(py, None, args, kwargs, &fill) {
            Some(b) => b,
            None if tensors_only => {
                let mut given = std::mem::take(&mut spread).into_iter();
                let all =
                    (0..self.params.positional).map_while(|i| fill(i).or_else(|| given.next())).collect::<Vec<_>>();
                self.params
                    .bind(py, None, &PyTuple::new(py, all)?, None, &fill)
                    .ok_or_else(|| self.arity_error(args.len()))?
            }
            None => return Err(self.arity_error(args.len() + kwargs.map_or(0, |k| k.len()))),
        };
        let bound = self.converted(py, bound)?;
        let (mut sink, mut leaves) = (TypeSink::default(), Leaves::new());
        bound.walk(&mut sink, &mut leaves)?;
        if !is_subtype(&sink.0, &self.trace.ty) {
            return Err(self.refuse(py, &sink.0, &bound));
        }
        self.trace.call(py, &leaves)
    }

    /// The graph.
    #[getter]
    fn graph<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyGraph>> {
        Bound::new(
            py,
            PyGraph { function: self.trace.concrete.function.clone(), captures: self.trace.concrete.captures.len() },
        )
    }

    /// `(args, kwargs)` with a `TensorSpec` for each tensor.
    #[getter]
    fn structured_input_signature<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let (args, kwargs) = (self.trace.signature.0.bind(py), self.trace.signature.1.bind(py));
        let named = PyDict::new(py);
        for (key, value) in kwargs.iter() {
            named.set_item(key, released(value))?;
        }
        Ok((PyTuple::new(py, args.iter().map(released))?, named))
    }

    /// The structure of the result, with a `TensorSpec` for each tensor.
    #[getter]
    fn structured_outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = layer::get(py, "TensorSpec")?;
        let types = self.trace.concrete.function.signature().results.clone();
        let mut types = types.into_iter();
        self.trace.tree.build_with(py, &mut |py| {
            let ty = types.next().ok_or_else(|| PyValueError::new_err("fewer results than the structure holds"))?;
            class.call1((crate::tensor::shape_object(py, ty.shape())?, crate::dtype::object(py, ty.dtype())?))
        })
    }

    /// What the graph takes from outside: tensors; variables are left out.
    #[getter]
    fn captured_inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let tensors = self.trace.concrete.captures.iter().filter(|v| !matches!(v.kind(), Kind::Variable(_)));
        tensors.map(|v| Ok(wrap(py, v.clone())?.into_any())).collect()
    }

    #[getter]
    fn _captured_variable_ids(&self) -> Vec<u64> {
        let ids = self.trace.concrete.captures.iter().filter_map(|v| match v.kind() {
            Kind::Variable(v) => Some(v.id()),
            _ => None,
        });
        ids.collect()
    }

    /// The name of the function that was traced.
    #[getter]
    fn name(&self) -> &str {
        self.trace.concrete.function.name()
    }

    #[getter]
    fn _function_name(&self) -> &str {
        &self.trace.name
    }

    #[getter]
    fn _parameter_names(&self) -> Vec<String> {
        self.params.named.iter().map(|p| p.text.clone()).collect()
    }

    /// The plan that runs the graph, as text.
    fn _plan_text(&self, py: Python<'_>) -> PyResult<String> {
        self.trace.concrete.executable().or_py(py)?.text().or_py(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_repr", (slf,))
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_str", (slf,))
    }
}

impl PyConcrete {
    fn arity_error(&self, got: usize) -> PyErr {
        let names: Vec<&str> = self.params.named.iter().map(|p| p.text.as_str()).collect();
        PyTypeError::new_err(format!(
            "{} takes ({}), got {got} argument(s) that do not fit",
            self.trace.name,
            names.join(", ")
        ))
    }

    /// Python numbers where the trace has a tensor become tensors of its dtype.
    fn converted<'py>(&self, py: Python<'py>, mut bound: Bindings<'py>) -> PyResult<Bindings<'py>> {
        for (i, (_, span)) in self.trace.spans.iter().enumerate() {
            if let [Token::Tensor(dtype, _)] = &self.trace.ty[span.clone()]
                && !crate::convert::is_tensor_like(&bound.named[i])
                && let Some(t) = crate::convert::from_python(&bound.named[i], None, Some(*dtype))?
            {
                bound.named[i] = crate::tensor::wrap_eager(py, t)?.into_any();
            }
        }
        Ok(bound)
    }
}
