//! `ConcreteFunction`, the Python object of a trace.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_draw::Picture;
use penstock_ir::Type;
use penstock_trace::{self as trace, Entry, Kind, Symbolic, Token, TraceType, Var};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};
use smallvec::SmallVec;

use crate::convert::to_var;
use crate::errors::OrPy;
use crate::graph::PyGraph;
use crate::keys::{RawSink, TypeSink};
use crate::layer;
use crate::operand::settle;
use crate::params::Bindings;
use crate::stack::{Callable, Stack, StackCall, adopt, with_vectorcall};
use crate::structure::{Leaf, Leaves, walk};
use crate::tensor::{PyTensor, wrap};
use crate::traced::{RunArgs, Trace, Use};
use crate::variable::PyVariable;

/// The object that a signature holds weakly; `None` where it is gone.
fn released<'py>(value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    layer::call(value.py(), "released", (value,))
}

/// What a graph takes from outside, as Python has it.
pub(crate) fn taken<'py>(py: Python<'py>, captures: &[Var]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let object = |v: &Var| match v.kind() {
        Kind::Variable(variable) => PyVariable::object(py, variable),
        _ => Ok(wrap(py, v.clone())?.into_any()),
    };
    captures.iter().map(object).collect()
}

/// One trace, callable.
///
/// >>> import penstock as tf
/// >>> double = tf.function(lambda x: 2 * x).get_concrete_function(tf.TensorSpec([]))
/// >>> float(double(tf.constant(4.0)))
/// 8.0
#[pyclass(extends = Callable, subclass, frozen, weakref, name = "ConcreteFunction", module = "penstock.types.experimental")]
pub(crate) struct PyConcrete {
    entry: Arc<Entry<Trace>>,
    /// The function, which follows what the trace holds as long as it has the trace too.
    function: Py<PyAny>,
    /// The raw key of the last call that was found to fit.
    fits: Mutex<Vec<u64>>,
}

impl Drop for PyConcrete {
    fn drop(&mut self) {
        self.entry.trace.objects.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PyConcrete {
    /// The Python object of a trace of a function.
    pub(crate) fn of<'py>(function: &Bound<'py, PyAny>, entry: &Arc<Entry<Trace>>) -> PyResult<Bound<'py, PyConcrete>> {
        let py = function.py();
        let lock = || entry.trace.object.lock().unwrap_or_else(PoisonError::into_inner);
        let weak = lock().as_ref().map(|w| w.clone_ref(py));
        if let Some(alive) = weak.and_then(|w| w.bind(py).upgrade()) {
            return Ok(alive.cast_into::<PyConcrete>()?);
        }
        let made = PyConcrete { entry: entry.clone(), function: function.clone().unbind(), fits: Mutex::default() };
        entry.trace.objects.fetch_add(1, Ordering::Relaxed);
        let made = PyClassInitializer::from(Callable::of::<PyConcrete>()).add_subclass(made);
        let made = adopt(Bound::new(py, made)?, concrete_class(py)?);
        let weak = PyWeakrefReference::new(made.as_any())?.unbind();
        let old = lock().replace(weak);
        drop(old);
        Ok(made)
    }

    pub(crate) fn trace(&self) -> &Trace {
        &self.entry.trace
    }

    fn known(&self) -> MutexGuard<'_, Vec<u64>> {
        self.fits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn title(&self) -> String {
        format!("ConcreteFunction {}({})", self.trace().name, self.trace().params.list())
    }

    /// Whether it is of a method of this object.
    pub(crate) fn is_of(&self, instance: &Bound<'_, PyAny>) -> bool {
        self.trace().instance && self.bound_value(instance.py(), 0).is_some_and(|bound| bound.is(instance))
    }

    /// The value that was bound to a named parameter when the function was traced.
    fn bound_value<'py>(&self, py: Python<'py>, i: usize) -> Option<Bound<'py, PyAny>> {
        let (args, kwargs) = &self.trace().signature;
        let param = &self.trace().params.named[i];
        let value = if param.positional {
            args.bind(py).get_item(i).ok()
        } else {
            kwargs.bind(py).get_item(&param.name).ok().flatten()
        };
        value.and_then(|v| released(v).ok())
    }

    /// The Python value that a parameter was bound to, where it was.
    fn fixed<'py>(&self, py: Python<'py>, i: usize) -> Option<Bound<'py, PyAny>> {
        if self.trace().uses[i] == Use::Fixed { self.bound_value(py, i) } else { None }
    }

    /// The arguments, where they are given as the Python function takes them, or with Python values left out.
    fn bind<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Option<Bindings<'py>> {
        let trace = self.trace();
        let first = trace.instance.then(|| self.bound_value(py, 0)).flatten();
        let whole = trace.params.bind(py, first.as_ref(), args, kwargs, &|i| self.fixed(py, i));
        if whole.is_some() {
            return whole;
        }
        // Only what is no Python value, in order.
        let mut given = args.iter();
        let mut used = 0;
        let mut out =
            Bindings { named: SmallVec::new(), varargs: SmallVec::new(), varkw: Vec::new(), instance: trace.instance };
        for (i, param) in trace.params.named.iter().enumerate() {
            let keyword = kwargs.and_then(|k| k.get_item(&param.name).ok().flatten());
            used += usize::from(keyword.is_some());
            out.named.push(keyword.or_else(|| self.fixed(py, i)).or_else(|| given.next())?);
        }
        out.varargs.extend(given);
        let fits = (out.varargs.is_empty() || trace.params.varargs.is_some()) && kwargs.map_or(0, |k| k.len()) == used;
        fits.then_some(out)
    }

    /// The leaves themselves, in order or by the names of the graph's inputs.
    fn flat<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Leaves<'py>>> {
        let trace = self.trace();
        if args.len() + kwargs.map_or(0, |k| k.len()) != trace.inputs.len() {
            return Ok(None);
        }
        let mut leaves = Leaves::new();
        for (i, name) in trace.inputs.iter().enumerate() {
            let value = match args.get_item(i) {
                Ok(value) => Some(value),
                Err(_) => kwargs.map(|k| k.get_item(name)).transpose()?.flatten(),
            };
            let Some(value) = value else { return Ok(None) };
            let before = leaves.len();
            let mut sink = TypeSink::default();
            walk(&value, &mut sink, &mut leaves)?;
            let fits = leaves.len() == before + 1 && sink.tokens.len() == 1;
            if !fits {
                return Ok(None);
            }
            let due = &trace.input_types()[i];
            if let Leaf::Variable(v) = &leaves[before]
                && !due.is_variable()
            {
                let read = v.get().read(args.py())?;
                leaves[before] = Leaf::Tensor(wrap(args.py(), read)?);
            }
            let got = leaves[before].ty();
            if !accepts(due, &got) {
                return Err(self.mismatch(args.py(), name, &due_words(due), &due_words(&got)));
            }
        }
        Ok(Some(leaves))
    }

    fn mismatch(&self, py: Python<'_>, name: &str, due: &str, got: &str) -> PyErr {
        let (due, got) = (with_article(due), with_article(got));
        let message = format!("argument '{name}' of {} must be {due}, got {got}", self.title());
        crate::errors::to_py(py, &penstock_data::Error::invalid(message))
    }

    /// Says which argument does not fit, and how.
    fn refuse(&self, py: Python<'_>, got: &TraceType, bound: &Bindings<'_>) -> PyErr {
        let trace = self.trace();
        let paths = bound.paths(&trace.params).unwrap_or_default();
        let skip = usize::from(trace.instance);
        let pairs = got.tokens.iter().zip(&self.entry.ty.tokens).zip(&paths).skip(skip);
        for ((here, due), name) in pairs {
            if here.is_subtype_of(due) {
                continue;
            }
            return match (due, here) {
                (Token::Tensor(..), Token::Tensor(..)) => self.mismatch(py, name, &due.to_string(), &here.to_string()),
                (Token::Tensor(..) | Token::Variable(_), _) => {
                    PyTypeError::new_err(format!("argument '{name}' of {} must be a {due}, got {here}", self.title()))
                }
                _ => PyTypeError::new_err(format!(
                    "{} was constructed with {} value {due} in {name}, but was called with {} value {here}",
                    self.title(),
                    python_type(due),
                    python_type(here)
                )),
            };
        }
        PyTypeError::new_err(format!(
            "{}: the arguments are not those that it was constructed with: {} values in all, got {}",
            self.title(),
            self.entry.ty.tokens.len(),
            got.tokens.len()
        ))
    }

    fn fits(&self, ty: &TraceType) -> bool {
        if !self.trace().instance {
            return ty.is_subtype_of(&self.entry.ty);
        }
        // The graph was made for one instance, and needs it no more.
        let rest = |ty: &TraceType| TraceType { tokens: ty.tokens[1..].to_vec(), reached: ty.reached.clone() };
        rest(ty).is_subtype_of(&rest(&self.entry.ty))
    }

    /// The arguments with the value of each variable where the trace has a tensor.
    fn with_values<'py>(&self, bound: &Bindings<'py>) -> PyResult<Bindings<'py>> {
        let leaves = |t: &&Token| matches!(t, Token::Tensor(..) | Token::Variable(_));
        let mut due = self.entry.ty.tokens.iter().filter(leaves);
        let value = &mut |_: &str, leaf: Option<&Leaf<'py>>, value: &Bound<'py, PyAny>| match leaf {
            Some(leaf) => given_for(due.next(), leaf, value),
            None => Ok(value.clone()),
        };
        bound.replaced(value, &self.trace().params)
    }

    /// Values of a finished graph, as symbolic tensors to look at.
    fn symbolic<'py>(
        &self,
        py: Python<'py>,
        which: impl Fn(&penstock_ir::Graph) -> &[penstock_ir::Value],
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let function = &self.trace().concrete.function;
        let graph = function.graph().ok_or_else(|| PyValueError::new_err("the graph is still being traced"))?;
        let graph = Arc::new(graph.clone());
        let values: Vec<_> = which(&graph).iter().copied().filter(|&v| !graph.ty(v).is_variable()).collect();
        Symbolic::of_graph(&self.trace().name, &graph, &values)
            .into_iter()
            .map(|s| Ok(wrap(py, Var::symbolic(s))?.into_any()))
            .collect()
    }

    fn variables_where<'py>(&self, py: Python<'py>, trainable: bool) -> PyResult<Bound<'py, PyAny>> {
        layer::call(py, "variables_of", (self._captured_variable_ids(), trainable))
    }
}

/// What a trace that has `due` gets for a leaf of `argument`: the value of a variable where it has a tensor.
fn given_for<'py>(due: Option<&Token>, leaf: &Leaf<'py>, argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = argument.py();
    Ok(match (leaf, due) {
        (Leaf::Variable(v), Some(Token::Tensor(..))) => wrap(py, v.get().read(py)?)?.into_any(),
        (Leaf::Variable(v), _) => v.clone().into_any(),
        (Leaf::Tensor(t), _) => t.clone().into_any(),
        (Leaf::Other(_), _) => leaf.var().and_then(|v| wrap(py, v)).map_or(argument.clone(), Bound::into_any),
    })
}

/// Whether an input of type `due` takes a value of type `got`.
fn accepts(due: &Type, got: &Type) -> bool {
    due.is_variable() == got.is_variable()
        && due.dtype() == got.dtype()
        && got.shape().erased().is_subtype_of(&due.shape().erased())
}

fn with_article(words: &str) -> String {
    let article = if words.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {words}")
}

fn due_words(ty: &Type) -> String {
    Token::Tensor(ty.dtype(), ty.shape().erased()).to_string()
}

/// What Python calls the type of a literal.
fn python_type(token: &Token) -> &'static str {
    match token {
        Token::Bool(_) => "bool",
        Token::Int(_) => "int",
        Token::Float(_) => "float",
        Token::None => "None",
        Token::Literal(text) if text.starts_with('\'') => "str",
        Token::Literal(text) if text.starts_with("b'") => "bytes",
        Token::Tensor(..) | Token::Variable(_) => "tensor",
        Token::Open(..) => "container",
        _ => "object",
    }
}

#[pymethods]
impl PyConcrete {
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Fails: its graph refers to the variables and other objects that were there when it was traced.
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__reduce__()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a ConcreteFunction can be neither pickled nor copied deeply: its graph refers to the variables that were there \
             when it was traced; copy or pickle the tf.function and trace that anew",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        if Arc::strong_count(&self.entry) == 1 { self.entry.trace.visit(&visit) } else { Ok(()) }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(bound) = self.bind(py, args, kwargs) else {
            return match self.flat(args, kwargs)? {
                Some(leaves) => self.trace().call(py, &leaves),
                None => Err(PyTypeError::new_err(format!(
                    "{} got {} argument(s) that do not fit its parameters",
                    self.title(),
                    args.len() + kwargs.map_or(0, |k| k.len())
                ))),
            };
        };
        let bound = self.trace().converted(py, bound)?;
        let (mut sink, mut leaves) = (RawSink::default(), Leaves::new());
        bound.walk(&mut sink, &mut leaves)?;
        if sink.volatile || *self.known() != *sink.key.words() {
            let ty = bound.trace_type()?;
            if !self.fits(&ty) {
                if leaves.iter().any(|leaf| matches!(leaf, Leaf::Variable(_))) {
                    let values = self.with_values(&bound)?;
                    if self.fits(&values.trace_type()?) {
                        let mut leaves = Leaves::new();
                        values.walk(&mut RawSink::default(), &mut leaves)?;
                        return self.trace().call(py, &leaves);
                    }
                }
                // One parameter may hold a nest whose leaves are given.
                return match self.flat(args, kwargs) {
                    Ok(Some(leaves)) if self.trace().inputs.len() != self.trace().uses.len() => {
                        self.trace().call(py, &leaves)
                    }
                    _ => Err(self.refuse(py, &ty, &bound)),
                };
            }
            *self.known() = sink.key.words().to_vec();
        }
        self.trace().call(py, &leaves)
    }

    /// The graph.
    #[getter]
    fn graph<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyGraph>> {
        let concrete = &self.trace().concrete;
        Bound::new(py, PyGraph { function: concrete.function.clone(), captures: concrete.captures.len() })
    }

    /// `(args, kwargs)` with a `TensorSpec` for each tensor.
    #[getter]
    fn structured_input_signature<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let (args, kwargs) = (self.trace().signature.0.bind(py), self.trace().signature.1.bind(py));
        let named = PyDict::new(py);
        for (key, value) in kwargs.iter() {
            named.set_item(key, released(value)?)?;
        }
        let args = args.iter().map(released).collect::<PyResult<Vec<_>>>()?;
        Ok((PyTuple::new(py, args)?, named))
    }

    /// The structure of the result, with a `TensorSpec` for each tensor.
    #[getter]
    fn structured_outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = layer::get(py, "TensorSpec")?;
        let types = self.trace().concrete.function.signature().results.clone();
        let mut types = types.into_iter();
        self.trace().tree.build_with(py, &mut |py| {
            let ty = types.next().ok_or_else(|| PyValueError::new_err("fewer results than the structure holds"))?;
            class.call1((crate::tensor::shape_object(py, ty.shape())?, crate::dtype::object(py, ty.dtype())?))
        })
    }

    /// The structure of the result, with a `TensorShape` for each tensor.
    #[getter]
    fn output_shapes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "output_parts", (slf, "shape"))
    }

    /// The structure of the result, with a dtype for each tensor.
    #[getter]
    fn output_dtypes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "output_parts", (slf, "dtype"))
    }

    /// The parameters, the result and what is captured, or one line.
    #[pyo3(signature = (verbose=true))]
    fn pretty_printed_signature<'py>(slf: &Bound<'py, Self>, verbose: bool) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), if verbose { "concrete_text" } else { "concrete_line" }, (slf,))
    }

    /// The graph's inputs that are tensors, captured ones last: symbolic tensors, to look at.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.symbolic(py, |graph| graph.inputs())
    }

    /// The graph's outputs: symbolic tensors, to look at.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.symbolic(py, |graph| graph.outputs())
    }

    /// What the graph takes from outside, in its order: tensors and variables.
    #[getter]
    fn captured_inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        taken(py, &self.trace().concrete.captures)
    }

    /// The variables that the function reaches by itself, while the program keeps them.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.variables_where(py, false)
    }

    /// Those of `variables` that tapes watch.
    #[getter]
    fn trainable_variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.variables_where(py, true)
    }

    /// Add the function to a graph, which needs none: a call is in the graph together with what it calls.
    ///
    /// Args:
    ///     g: accepted and ignored.
    ///     overwrite: accepted and ignored.
    ///
    /// >>> import penstock as tf
    /// >>> tf.function(lambda x: 2 * x).get_concrete_function(tf.TensorSpec([])).add_to_graph()
    #[pyo3(signature = (g=None, overwrite=false))]
    fn add_to_graph(&self, g: Option<&Bound<'_, PyAny>>, overwrite: bool) {
        let _ = (g, overwrite);
    }

    /// Add the derivatives of the function to a graph, which needs none: they are made where they are called.
    ///
    /// Args:
    ///     g: accepted and ignored.
    ///
    /// >>> import penstock as tf
    /// >>> tf.function(lambda x: 2 * x).get_concrete_function(tf.TensorSpec([])).add_gradient_functions_to_graph()
    #[pyo3(signature = (g=None))]
    fn add_gradient_functions_to_graph(&self, g: Option<&Bound<'_, PyAny>>) {
        let _ = g;
    }

    /// The types of parameters and results.
    #[getter]
    fn function_type<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_function_type", (slf,))
    }

    /// The graph by itself, as a function.
    #[getter]
    fn inference_fn<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_inference_fn", (slf,))
    }

    #[getter]
    fn _captured_variable_ids(&self) -> Vec<u64> {
        let ids = self.trace().concrete.captures.iter().filter_map(|v| match v.kind() {
            Kind::Variable(v) => Some(v.id()),
            _ => None,
        });
        ids.collect()
    }

    /// The name of the graph.
    #[getter]
    fn name(&self) -> &str {
        self.trace().concrete.function.name()
    }

    /// Which inputs are trainable variables that it reads.
    fn _trainable_inputs(&self) -> Vec<usize> {
        self.trace().concrete.trainable().to_vec()
    }

    /// Of each variable among the arguments: its position among the different ones, and its id where the trace serves that
    /// one only.
    fn _variable_arguments(&self) -> Vec<(u32, Option<u64>)> {
        let tokens = self.entry.ty.tokens.iter();
        tokens
            .filter_map(|token| match token {
                Token::Variable(v) => Some((v.alias, v.pinned.then_some(v.id))),
                _ => None,
            })
            .collect()
    }

    /// Whether the first parameter is the instance of a method.
    fn _is_method(&self) -> bool {
        self.trace().instance
    }

    #[getter]
    fn _function_name(&self) -> &str {
        &self.trace().name
    }

    #[getter]
    fn _parameter_names(&self) -> Vec<String> {
        self.trace().params.named.iter().map(|p| p.text.clone()).collect()
    }

    /// The names of the inputs that are arguments.
    #[getter]
    fn _arg_keywords(&self) -> Vec<String> {
        self.trace().inputs.clone()
    }

    /// `(calls served, seconds that tracing took, instructions of the graph)`.
    fn _statistics(&self) -> (u64, f64, usize) {
        let trace = self.trace();
        let size = trace.concrete.function.graph().map_or(0, |g| g.insts.len());
        (self.entry.hits(), trace.cost.as_secs_f64(), size)
    }

    /// Whether it computes its results and does nothing else, apart from failing and, with `files`, reading and writing files.
    #[pyo3(signature = (files=false))]
    fn _computes_only(&self, files: bool) -> bool {
        let Some(graph) = self.trace().concrete.function.graph() else { return false };
        let effects = penstock_ir::effects_of_region(graph, graph.body());
        penstock_ir::EffectSet { assert: false, files: effects.files && !files, ..effects }.is_pure()
    }

    /// The results, as a flat list, for all inputs: arguments, then captures. Runs at once, whatever is open. Of the first
    /// `rows` inputs every row is taken, and the results have the leading axis: for 0, none. What a device rejects is an error of
    /// this call, not of who reads the results.
    #[pyo3(signature = (inputs, rows=0))]
    fn _run_on<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Bound<'py, PyAny>>,
        rows: usize,
    ) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        let _outside = (!trace::is_plain()).then(trace::suspend);
        let function = &self.trace().concrete.function;
        let given = |v: &Bound<'py, PyAny>| match v.cast::<PyVariable>() {
            Ok(variable) => Ok(variable.get().var()),
            Err(_) => to_var(v, None, None),
        };
        let inputs = inputs.iter().map(given).collect::<PyResult<Vec<Var>>>()?;
        let outs =
            if rows == 0 { trace::call(function, &inputs) } else { trace::map_rows(function, &inputs, rows, false) };
        let outs = outs.or_py(py)?;
        outs.iter().filter_map(Var::tensor).try_for_each(|t| settle(py, t))?;
        outs.into_iter().map(|v| wrap(py, v)).collect()
    }

    /// Give the graph in the language of Graphviz: `dot -Tsvg` draws it.
    ///
    /// Args:
    ///     optimized: whether to give the graph as it is optimised, rather than as it was traced.
    ///
    /// Returns:
    ///     The text. Loops, branches and operators that run together are clusters; the tooltip of a node says where its shape
    ///     comes from.
    ///
    /// >>> import penstock as tf
    /// >>> double = tf.function(lambda x: x + x)
    /// >>> trace = double.get_concrete_function(tf.TensorSpec([3], tf.float32))
    /// >>> trace.to_dot().startswith("digraph")
    /// True
    #[pyo3(signature = (optimized=false))]
    fn to_dot(&self, py: Python<'_>, optimized: bool) -> PyResult<String> {
        let trace = self.trace();
        let graph = trace.concrete.function.graph().ok_or_else(still_traced)?;
        if !optimized {
            return Ok(py.detach(|| penstock_draw::dot(&trace.name, Picture::of(graph))));
        }
        let executable = trace.concrete.executable().or_py(py)?;
        let drawn = py.detach(|| {
            let graph = executable.optimized()?;
            let steps = executable.together(&graph)?;
            Ok(penstock_draw::dot(&trace.name, Picture { graph: &graph, steps: &steps }))
        });
        drawn.or_py(py)
    }

    /// Give a page for a browser: the lines of the program beside the graph, as it was traced and as it is optimised,
    /// and the plan that runs it. Operators that run together are in one box. A line at the bottom says of the node under
    /// the pointer where the shapes of its results come from. The page loads nothing.
    ///
    /// Args:
    ///     profile: what `tf.profiler.record` recorded, by which lines are coloured by the time that they take.
    ///
    /// Returns:
    ///     The text of the page.
    ///
    /// >>> import penstock as tf
    /// >>> double = tf.function(lambda x: x + x)
    /// >>> trace = double.get_concrete_function(tf.TensorSpec([3], tf.float32))
    /// >>> trace.to_html().startswith("<!DOCTYPE html>")
    /// True
    #[pyo3(signature = (profile=None))]
    fn to_html<'py>(slf: &Bound<'py, Self>, profile: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_page", (slf, profile))
    }

    /// The lines that the graph was written in.
    fn _lines(&self) -> PyResult<Vec<(String, u32)>> {
        let graph = self.trace().concrete.function.graph().ok_or_else(still_traced)?;
        let mut lines = std::collections::BTreeSet::new();
        graph.visit(&mut |_, inst, _| {
            let stack = graph.locs.get(inst).map_or_else(Vec::new, |loc| loc.stack());
            lines.extend(stack.into_iter().map(|frame| (frame.file.to_string(), frame.line)));
        });
        Ok(lines.into_iter().collect())
    }

    /// The page of `to_html`, with stretches of files as `(file, number of the first line, text)`.
    fn _page(
        &self,
        py: Python<'_>,
        title: &str,
        sources: Vec<(String, u32, String)>,
        times: Vec<(String, f64)>,
    ) -> PyResult<String> {
        let trace = self.trace();
        let graph = trace.concrete.function.graph().ok_or_else(still_traced)?;
        let executable = trace.concrete.executable().or_py(py)?;
        let sources: Vec<penstock_draw::Source> =
            sources.into_iter().map(|(file, first, text)| penstock_draw::Source { file, first, text }).collect();
        let drawn = py.detach(|| {
            let (optimized, plan) = (executable.optimized()?, executable.text()?);
            let steps = executable.together(&optimized)?;
            Ok(penstock_draw::page(&penstock_draw::Page {
                title,
                sources: &sources,
                graphs: &[
                    ("As traced", Picture::of(graph)),
                    ("Optimised", Picture { graph: &optimized, steps: &steps }),
                ],
                texts: &[("Plan", &plan)],
                times: &times,
            }))
        });
        drawn.or_py(py)
    }

    /// The plan that runs the graph, as text.
    fn _plan_text(&self, py: Python<'_>) -> PyResult<String> {
        self.trace().concrete.executable().or_py(py)?.text().or_py(py)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_repr", (slf,))
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "concrete_str", (slf,))
    }
}

/// The error of asking for a graph too early.
fn still_traced() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the graph is still being traced")
}

impl StackCall for PyConcrete {
    /// The arguments of the last call that was found to fit, by their words.
    fn call_quickly<'py>(slf: &Bound<'py, Self>, stack: &Stack<'_, 'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        let (concrete, trace) = (slf.get(), slf.get().trace());
        if !trace::is_plain() || trace.instance {
            return None;
        }
        let (mut raw, mut args) = (RawSink::default(), RunArgs::default());
        match trace.params.walk_stack(stack, &mut raw, &mut args) {
            Err(error) => return Some(Err(error)),
            Ok(fit) if !fit || raw.volatile || args.strange || *concrete.known() != *raw.key.words() => return None,
            Ok(_) => {}
        }
        Some(trace.run(slf.py(), &mut args.list))
    }

    fn call<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().__call__(slf.py(), args, kwargs)
    }
}

/// The class that concrete functions are of.
fn concrete_class<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = || with_vectorcall(&py.get_type::<PyConcrete>()).map(Bound::unbind);
    Ok(CLASS.get_or_try_init(py, make)?.bind(py))
}
