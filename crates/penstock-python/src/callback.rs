//! Python functions that graphs call: tensors in, tensors of the declared types out.
//!
//! The derivative of such a function runs it under a tape. That is Python code which tapes can follow in turn, so it has
//! a derivative of the same kind, to any order.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use penstock_autodiff::Tape;
use penstock_data::{Class, DType, Error, Result, Shape, Tensor};
use penstock_ir::{Attr, Census, Function, HostFn, HostRef};
use penstock_trace::{self as trace, Entry, Recorder, Var};
use pyo3::exceptions::{PyStopIteration, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::errors::{OrPy, class_name, from_py, said, to_py};
use crate::tensor::{PyTensor, wrap, wrap_eager};
use crate::traced::Trace;
use crate::variable::PyVariable;
use crate::{array, convert, exit};

/// How the result of the Python function holds the tensors.
enum Form {
    /// It is one.
    One,
    /// It is a list or tuple of them; anything else counts as a list of one.
    Flat,
    /// This Python function takes it apart.
    Nested(Py<PyAny>),
}

/// A Python function with the types of its results.
///
/// It is an object of Python's, so that the garbage collector knows it. The engine holds it by one reference, the callback's
/// [`Held`]; each trace with a graph that it is in has a reference of its own, which the collector follows.
#[pyclass(frozen, name = "_Callback", module = "penstock._core")]
pub(crate) struct Callback {
    function: Py<PyAny>,
    name: String,
    /// The file and line of its definition; empty where it has none.
    place: String,
    outs: Vec<(DType, Shape)>,
    form: Form,
    /// Whether it takes NumPy arrays.
    as_numpy: bool,
    /// Makes the arguments of the tensors, where they are not the tensors themselves.
    pack: Option<Py<PyAny>>,
    /// Gives the `_HostFunction` for many examples, by which arguments are mapped; or None.
    batched: Option<Py<PyAny>>,
    /// The reference that the engine has.
    held: OnceLock<Weak<Held>>,
    /// The traces that have references.
    owners: Mutex<Vec<Weak<Entry<Trace>>>>,
}

/// What graphs and what is derived from them hold of a callback.
struct Held(Py<Callback>);

impl Held {
    fn new(py: Python<'_>, callback: Callback) -> PyResult<Arc<Held>> {
        let held = Arc::new(Held(Py::new(py, callback)?));
        let _ = held.get().held.set(Arc::downgrade(&held));
        Ok(held)
    }

    fn get(&self) -> &Callback {
        self.0.get()
    }
}

#[pymethods]
impl Callback {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        if let Form::Nested(unpack) = &self.form {
            visit.call(unpack)?;
        }
        visit.call(self.pack.as_ref())?;
        visit.call(self.batched.as_ref())?;
        // Where traces alone lead to the engine's reference, each of which has one of its own, it adds nothing to them: it
        // counts as one that the callback has to itself.
        match self.held_by_owners() {
            Some(held) => visit.call(&held.0),
            None => Ok(()),
        }
    }
}

type Tensors<'py> = SmallVec<[Bound<'py, PyTensor>; 2]>;

impl Callback {
    fn new(function: &Bound<'_, PyAny>) -> PyResult<Callback> {
        let name = function.getattr("__name__").and_then(|n| n.extract::<String>());
        let name = name.unwrap_or_else(|_| class_name(function));
        let code = function.getattr("__code__");
        let place = code.and_then(|c| Ok(format!("{}:{}", c.getattr("co_filename")?, c.getattr("co_firstlineno")?)));
        Ok(Callback {
            function: function.clone().unbind(),
            name,
            place: place.unwrap_or_default(),
            outs: Vec::new(),
            form: Form::Flat,
            as_numpy: false,
            pack: None,
            batched: None,
            held: OnceLock::new(),
            owners: Mutex::default(),
        })
    }

    /// The engine's reference, where nobody but the traces that have references too leads to it: no tape, no session, and no
    /// run that is under way.
    fn held_by_owners(&self) -> Option<Arc<Held>> {
        let held = self.held.get()?.upgrade()?;
        let owners: Vec<Arc<Entry<Trace>>> = self.owners.try_lock().ok()?.iter().filter_map(Weak::upgrade).collect();
        let owned: Vec<_> = owners.iter().map(|entry| entry.trace.concrete.held()).collect();
        let codes =
            Census::of(&owned)?.alone(|host| callback_of(host).is_some_and(|other| Arc::ptr_eq(other, &held)))?;
        // This has a reference as well.
        (Arc::strong_count(&held) == codes + 1).then_some(held)
    }

    fn describe(&self) -> String {
        if self.place.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.place) }
    }

    /// What the function gives for these tensors, as tensors of the declared types. A result that is such a tensor
    /// is given as it is, so that tapes know it.
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Tensors<'py>> {
        let inputs = if self.as_numpy {
            let arrays = inputs.map(|t| t?.call_method0(pyo3::intern!(py, "numpy")));
            arrays.collect::<PyResult<SmallVec<[Bound<'py, PyAny>; 4]>>>()?
        } else {
            inputs.collect::<PyResult<_>>()?
        };
        let args = PyTuple::new(py, inputs)?;
        let args = match &self.pack {
            None => args,
            Some(pack) => pack.bind(py).call1((args,))?.cast_into::<PyTuple>().map_err(PyErr::from)?,
        };
        self.results(self.function.bind(py).call1(args).map_err(|e| no_end(py, e))?)
    }

    fn results<'py>(&self, result: Bound<'py, PyAny>) -> PyResult<Tensors<'py>> {
        let py = result.py();
        if self.outs.is_empty() {
            return Ok(Tensors::new());
        }
        let mut values: SmallVec<[Bound<'py, PyAny>; 2]> = match &self.form {
            Form::One => [result].into_iter().collect(),
            Form::Flat => {
                if result.is_instance_of::<PyList>() || result.is_instance_of::<PyTuple>() {
                    result.try_iter()?.collect::<PyResult<_>>()?
                } else {
                    [result].into_iter().collect()
                }
            }
            Form::Nested(unpack) => {
                let values = unpack.bind(py).call1((result,)).map_err(|e| {
                    if !is_about_values(py, &e) {
                        return e;
                    }
                    let message = format!("{}: {}", self.describe(), said(py, &e));
                    let of_type = e.is_instance_of::<PyTypeError>(py);
                    caused(py, &if of_type { Error::dtype(message) } else { Error::invalid(message) }, e)
                });
                values?.try_iter()?.collect::<PyResult<_>>()?
            }
        };
        if values.len() != self.outs.len() {
            let message = format!(
                "{} returned {} values, argument 'Tout' has {}",
                self.describe(),
                values.len(),
                self.outs.len()
            );
            return Err(to_py(py, &Error::invalid(message)));
        }
        values.drain(..).enumerate().map(|(i, value)| self.result(i, value)).collect()
    }

    /// Result `i` as a tensor of its declared type.
    fn result<'py>(&self, i: usize, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
        let py = value.py();
        let (dtype, shape) = &self.outs[i];
        let wrong_dtype = |got: &str| {
            let (name, due) = (self.describe(), dtype.tf_name());
            to_py(py, &Error::dtype(format!("{name} returned {got} for result {i}, argument 'Tout' has {due}")))
        };
        let tensor = if let Ok(tensor) = value.cast::<PyTensor>() {
            tensor.clone()
        } else if let Ok(variable) = value.cast::<PyVariable>() {
            wrap(py, variable.get().read(py)?)?
        } else if value.is_none() {
            return Err(to_py(
                py,
                &Error::invalid(format!(
                    "{} returned None for result {i}, argument 'Tout' has {}",
                    self.describe(),
                    dtype.tf_name()
                )),
            ));
        } else {
            let made = array::adopt(&value, *dtype).and_then(|adopted| match adopted {
                Some(tensor) => wrap_eager(py, tensor),
                None if array::is_array(&value) && !may_become(&value, *dtype, self.as_numpy) => {
                    Err(PyTypeError::new_err(format!("it has dtype {}", value.getattr("dtype")?)))
                }
                None => wrap(py, convert::to_var(&value, Some(*dtype), None)?),
            });
            made.map_err(|e| {
                if !is_about_values(py, &e) {
                    return e;
                }
                let (name, due) = (self.describe(), dtype.tf_name());
                caused(py, &Error::dtype(format!("{name}: result {i} is no {due}: {}", said(py, &e))), e)
            })?
        };
        let var = &tensor.get().var;
        if var.dtype() != *dtype {
            return Err(wrong_dtype(var.dtype().tf_name()));
        }
        let got = var.shape();
        if !got.compatible(shape) {
            let message =
                format!("{} returned shape {got} for result {i}, argument 'Tout' has {shape}", self.describe());
            return Err(to_py(py, &Error::invalid(message)));
        }
        Ok(tensor)
    }
}

/// The exception of a callback. One that ends the iteration of whoever called would be seen by loops around that.
fn no_end(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyStopIteration>(py) {
        return error;
    }
    caused(py, &Error::new(Class::OutOfRange, error.to_string()), error)
}

/// Whether an exception says that a value is not what it should be.
fn is_about_values(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py)
}

/// The exception of an error that another one caused.
fn caused(py: Python<'_>, error: &Error, cause: PyErr) -> PyErr {
    let error = to_py(py, error);
    error.set_cause(py, Some(cause));
    error
}

/// Whether an array may become one of `dtype`: of the same kind, or of a kind that holds its values. With `exact` it must be
/// one, as TensorFlow has it of functions of NumPy's.
fn may_become(array: &Bound<'_, PyAny>, dtype: DType, exact: bool) -> bool {
    let named = || array.getattr("dtype").and_then(|d| crate::dtype::parse(&d)).ok();
    array::buffer_dtype(array).or_else(named).is_none_or(|own| own == dtype || (!exact && convert::widens(own, dtype)))
}

/// What a derivative is by and of.
#[derive(Clone)]
struct Pass {
    /// The inputs whose cotangents it gives.
    needed: Vec<bool>,
    /// The outputs whose cotangents it takes.
    flowing: Vec<bool>,
}

/// A Python function, or a derivative of it: host code for graphs.
struct Code {
    callback: Arc<Held>,
    name: String,
    /// The derivatives that were taken of the function, each of what the one before gives.
    passes: Vec<Pass>,
}

impl Code {
    fn new(py: Python<'_>, callback: Callback) -> PyResult<Code> {
        Ok(Code { name: callback.name.clone(), callback: Held::new(py, callback)?, passes: Vec::new() })
    }

    /// The results of the derivative of this order, which the recorders of the thread follow.
    fn run<'py>(&self, py: Python<'py>, order: usize, inputs: &[Bound<'py, PyTensor>]) -> PyResult<Tensors<'py>> {
        let Some(below) = order.checked_sub(1) else {
            return self.callback.get().run(py, inputs.iter().map(|t| Ok(t.clone().into_any())));
        };
        let Pass { needed, flowing } = &self.passes[below];
        let (args, cotangents) = inputs.split_at(needed.len());
        let picked = |tensors: &[Bound<'py, PyTensor>], which: &[bool]| -> Vec<Var> {
            tensors.iter().zip(which).filter(|(_, w)| **w).map(|(t, _)| t.get().var.clone()).collect()
        };
        let sources = picked(args, needed);
        let mut tape = Tape::new(false, false);
        sources.iter().try_for_each(|source| tape.watch(source)).or_py(py)?;
        let tape = Arc::new(Mutex::new(tape));
        let recording = trace::record_with(Recorder::Tape(tape.clone()));
        let outputs = self.run(py, below, args);
        drop(recording);
        let targets = picked(&outputs?, flowing);
        let weights: Vec<Option<Var>> = cotangents.iter().map(|t| Some(t.get().var.clone())).collect();
        let backward = tape.lock().unwrap_or_else(PoisonError::into_inner).backward(&targets, &sources).or_py(py)?;
        let found = backward.run(&weights, &mut trace::Live::default()).or_py(py)?;
        let given = |(grad, source): (Option<Var>, &Var)| match grad {
            Some(grad) => wrap(py, grad),
            None => wrap(py, trace::zeros_like(source).or_py(py)?),
        };
        found.into_iter().zip(&sources).map(given).collect()
    }
}

impl HostFn for Code {
    fn name(&self) -> &str {
        &self.name
    }

    fn place(&self) -> &str {
        &self.callback.get().place
    }

    /// Calls the Python function with eager tensors. Traces and tapes that the thread has open are left for the call:
    /// what runs in it runs at once.
    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let _stay = exit::enter();
        Python::attach(|py| {
            let _outside = (!trace::is_plain()).then(trace::suspend);
            let run = || -> PyResult<Vec<Tensor>> {
                let inputs = inputs.iter().map(|t| wrap_eager(py, (*t).clone())).collect::<PyResult<Tensors<'_>>>()?;
                let describe = || self.callback.get().describe();
                let symbolic = || PyTypeError::new_err(format!("{} returned a symbolic tensor", describe()));
                let results = self.run(py, self.passes.len(), &inputs)?;
                results.iter().map(|t| t.get().var.tensor().cloned().ok_or_else(symbolic)).collect()
            };
            run().map_err(|e| from_py(py, e))
        })
    }

    fn derivative(&self, needed: &[bool], flowing: &[bool]) -> Option<HostRef> {
        if self.callback.get().as_numpy {
            return None;
        }
        let mut passes = self.passes.clone();
        passes.push(Pass { needed: needed.into(), flowing: flowing.into() });
        let name = format!("{}_gradient", self.name);
        Some(HostRef(Arc::new(Code { callback: self.callback.clone(), name, passes })))
    }

    fn batched(&self, mapped: &[bool]) -> Result<Option<HostRef>> {
        let Some(batched) = self.callback.get().batched.as_ref().filter(|_| self.passes.is_empty()) else {
            return Ok(None);
        };
        let _stay = exit::enter();
        Python::attach(|py| {
            let made = PyTuple::new(py, mapped).and_then(|mapped| batched.bind(py).call1((mapped,)));
            let made = made.map_err(|e| from_py(py, e))?;
            Ok(made.cast::<PyHostFunction>().ok().map(|function| HostRef(function.get().0.clone())))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A Python function for the `func` of a `host_call`, with the types of its results.
#[pyclass(frozen, name = "_HostFunction", module = "penstock._core")]
pub(crate) struct PyHostFunction(Arc<Code>);

#[pymethods]
impl PyHostFunction {
    /// `outs` is a `TensorSpec` for each result. The function gives the only result where `one`, else a sequence, or
    /// what `unpack` makes one of. It takes the tensors, as arrays where `as_numpy`, or what `pack` makes of their tuple.
    /// `batched` gives the one for many examples, by which arguments are mapped, or None.
    #[new]
    #[pyo3(signature = (function, outs, one=false, as_numpy=false, unpack=None, pack=None, batched=None))]
    fn new(
        function: &Bound<'_, PyAny>,
        outs: Vec<Bound<'_, PyAny>>,
        one: bool,
        as_numpy: bool,
        unpack: Option<Py<PyAny>>,
        pack: Option<Py<PyAny>>,
        batched: Option<Py<PyAny>>,
    ) -> PyResult<PyHostFunction> {
        let mut callback = Callback::new(function)?;
        let py = function.py();
        let declared = outs.iter().map(|spec| {
            let ty = convert::spec_type(spec)?;
            Ok((ty.dtype(), ty.shape().erased()))
        });
        callback.outs = declared.collect::<PyResult<_>>()?;
        callback.form = match unpack {
            Some(unpack) => Form::Nested(unpack),
            None if one => Form::One,
            None => Form::Flat,
        };
        callback.as_numpy = as_numpy;
        callback.pack = pack;
        callback.batched = batched;
        Ok(PyHostFunction(Arc::new(Code::new(py, callback)?)))
    }

    /// Calls the function now; the results are tensors of the declared types.
    #[pyo3(signature = (*tensors))]
    fn __call__<'py>(&self, py: Python<'py>, tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyList>> {
        for tensor in tensors.iter().filter_map(|t| t.cast_into::<PyTensor>().ok()) {
            trace::inaccessible(&tensor.get().var).map_or(Ok(()), Err).or_py(py)?;
        }
        let results = self.0.callback.get().run(py, tensors.iter().map(Ok))?;
        PyList::new(py, results)
    }

    /// The name of the function.
    #[getter]
    fn __name__(&self) -> &str {
        &self.0.name
    }
}

/// A Python function of tensors without results.
struct Action(Arc<Held>);

impl HostFn for Action {
    fn name(&self) -> &str {
        &self.0.get().name
    }

    fn place(&self) -> &str {
        &self.0.get().place
    }

    /// Its result is a sequence of values that become tensors of whatever dtype they have.
    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let _stay = exit::enter();
        Python::attach(|py| {
            let _outside = (!trace::is_plain()).then(trace::suspend);
            let run = || -> PyResult<Vec<Tensor>> {
                let args = inputs.iter().map(|t| wrap_eager(py, (*t).clone())).collect::<PyResult<Vec<_>>>()?;
                let out = self.0.get().function.bind(py).call1(PyTuple::new(py, args)?).map_err(|e| no_end(py, e))?;
                let symbolic =
                    || PyTypeError::new_err(format!("{} returned a symbolic tensor", self.0.get().describe()));
                let tensor = |v: PyResult<Bound<'_, PyAny>>| {
                    convert::to_var(&v?, None, None)?.tensor().cloned().ok_or_else(symbolic)
                };
                out.try_iter()?.map(tensor).collect()
            };
            run().map_err(|e| from_py(py, e))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The callback that host code calls.
fn callback_of(host: &dyn HostFn) -> Option<&Arc<Held>> {
    let host = host.as_any();
    host.downcast_ref::<Code>().map(|c| &c.callback).or_else(|| host.downcast_ref::<Action>().map(|a| &a.0))
}

/// The callbacks in the graph of a function and in what it calls, which a trace of it has to hold.
pub(crate) fn callbacks_in(py: Python<'_>, function: &Arc<Function>) -> Vec<Py<Callback>> {
    let (mut found, mut seen, mut due) = (Vec::<Py<Callback>>::new(), FxHashSet::default(), vec![function]);
    while let Some(function) = due.pop() {
        if !seen.insert(Arc::as_ptr(function)) {
            continue;
        }
        for attr in function.graph().into_iter().flat_map(|g| g.insts.iter()).flat_map(|(_, data)| &data.attrs.0) {
            match attr {
                Attr::Func(callee) => due.extend(callee.kept()),
                Attr::Host(host) => {
                    let callback = callback_of(&*host.0).filter(|held| !found.iter().any(|f| f.is(&held.0)));
                    found.extend(callback.map(|held| held.0.clone_ref(py)));
                }
                _ => {}
            }
        }
    }
    found
}

/// Notes that a trace holds the callbacks in its graph.
pub(crate) fn note_owner(entry: &Arc<Entry<Trace>>) {
    for callback in &entry.trace.callbacks {
        let mut owners = callback.get().owners.lock().unwrap_or_else(PoisonError::into_inner);
        if owners.len() == owners.capacity() {
            owners.retain(|owner| owner.strong_count() > 0);
        }
        owners.push(Arc::downgrade(entry));
    }
}

/// A Python callable as host code.
pub(crate) fn host_ref(function: &Bound<'_, PyAny>) -> PyResult<HostRef> {
    Ok(HostRef(match function.cast::<PyHostFunction>() {
        Ok(host) => host.get().0.clone(),
        Err(_) => Arc::new(Action(Held::new(function.py(), Callback::new(function)?)?)),
    }))
}
