//! The engine's part of `penstock.GradientTape`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use penstock_autodiff::{Accumulator, Grad, Tape};
use penstock_data::Error;
use penstock_exec::stack_left;
use penstock_ir::Type;
use penstock_trace::{self as trace, Recorder, SharedAccumulator, SharedTape, Traced, Var};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::to_var;
use crate::errors::{OrPy, class_name};
use crate::tensor::{PyTensor, wrap};
use crate::tracing::STACK_OF_A_TRACE;
use crate::variable::PyVariable;

/// The engine's part of `penstock.GradientTape`, which is a subclass.
#[pyclass(frozen, subclass, name = "_Tape", module = "penstock._core")]
pub(crate) struct PyTape {
    tape: SharedTape,
    recording: AtomicBool,
    /// Whether it has ever recorded.
    entered: AtomicBool,
    used: AtomicBool,
}

/// A tensor or a variable, as the tape knows it.
fn handle(value: &Bound<'_, PyAny>) -> PyResult<Var> {
    if let Ok(t) = value.cast::<PyTensor>() {
        Ok(t.get().var.clone())
    } else if let Ok(v) = value.cast::<PyVariable>() {
        Ok(v.get().var())
    } else {
        Err(PyTypeError::new_err(format!("expected a tensor or a variable, got {}", class_name(value))))
    }
}

fn handles(values: &[Bound<'_, PyAny>]) -> PyResult<Vec<Var>> {
    values.iter().map(handle).collect()
}

/// The cotangents of targets, converted to their dtypes.
fn cotangents(grads: &[Option<Bound<'_, PyAny>>], targets: &[Var]) -> PyResult<Vec<Option<Var>>> {
    let one =
        |(g, t): (&Option<Bound<'_, PyAny>>, &Var)| g.as_ref().map(|g| to_var(g, None, Some(t.dtype()))).transpose();
    grads.iter().zip(targets).map(one).collect()
}

fn optional(py: Python<'_>, found: Vec<Option<Var>>) -> PyResult<Vec<Option<Bound<'_, PyTensor>>>> {
    found.into_iter().map(|v| v.map(|v| wrap(py, v)).transpose()).collect()
}

fn grad_object(py: Python<'_>, grad: Grad<Var>) -> PyResult<Bound<'_, PyAny>> {
    match grad {
        Grad::Dense(value) => Ok(wrap(py, value)?.into_any()),
        Grad::Rows(rows) => {
            let pairs: Vec<_> = rows
                .pieces
                .into_iter()
                .map(|(values, indices)| Ok((wrap(py, values)?, wrap(py, indices)?)))
                .collect::<PyResult<_>>()?;
            Ok(pyo3::types::PyList::new(py, pairs)?.into_any())
        }
    }
}

#[pymethods]
impl PyTape {
    #[new]
    #[pyo3(signature = (persistent=false, watch_accessed_variables=true))]
    fn new(persistent: bool, watch_accessed_variables: bool) -> PyTape {
        PyTape::of(Tape::new(persistent, watch_accessed_variables))
    }

    /// A tape that only notes which variables are read.
    #[staticmethod]
    fn _observer() -> PyTape {
        PyTape::of(Tape::observer())
    }

    fn __enter__<'py>(slf: &Bound<'py, PyTape>) -> PyResult<Bound<'py, PyTape>> {
        if slf.get().recording.swap(true, Ordering::Relaxed) {
            return Err(PyValueError::new_err(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape.",
            ));
        }
        slf.get().entered.store(true, Ordering::Relaxed);
        trace::push_recorder(Recorder::Tape(slf.get().tape.clone()));
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&self, _exc: &Bound<'_, pyo3::types::PyTuple>) {
        self.stop();
    }

    /// Whether it is recording.
    #[getter]
    fn _recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }

    /// Whether it may be differentiated more than once.
    #[getter]
    fn _persistent(&self) -> bool {
        self.lock().is_persistent()
    }

    /// Notes a use by a method; the only one of a tape that is not persistent, which ends its recording.
    fn _use(&self, method: &str) -> PyResult<()> {
        if !self.entered.load(Ordering::Relaxed) {
            return Err(PyRuntimeError::new_err(format!(
                "GradientTape.{method} was called of a tape that has recorded nothing: compute within `with tape:` what it \
                 differentiates"
            )));
        }
        if self.lock().is_persistent() {
            return Ok(());
        }
        if self.used.swap(true, Ordering::Relaxed) {
            return Err(PyRuntimeError::new_err(format!(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians): \
                 GradientTape.{method} was called again; make it with persistent=True"
            )));
        }
        self.stop();
        Ok(())
    }

    /// Watches a tensor or a variable; gives whether it is one that can have a gradient.
    fn _watch(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(value) = handle(value) else { return Ok(false) };
        self.lock().watch(&value).or_py(py)?;
        Ok(value.dtype().carries_cotangents())
    }

    fn is_watched(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.lock().is_watched(handle(value)?.id()))
    }

    /// Forgets all that was recorded and watched.
    fn reset(&self) {
        self.lock().reset();
        self.used.store(false, Ordering::Relaxed);
    }

    /// As `gradient` for one target and one source.
    fn _gradient_of<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (target, source) = (handle(target)?, handle(source)?);
        self._use("gradient")?;
        let backward = self.lock().backward(&[target], &[source]).or_py(py)?;
        let found = backward.run_rows(&[], &mut trace::Live::default()).or_py(py)?;
        found.into_iter().next().flatten().map(|grad| grad_object(py, grad)).transpose()
    }

    /// Ids of the variables that it has watched, in order.
    fn _variables(&self) -> Vec<u64> {
        self.lock().roots().iter().filter_map(|root| Var::variable_number(root.id())).collect()
    }

    /// The gradient of each source: a tensor, a list of pairs `(values, indices)` of rows, or `None`.
    fn _gradients<'py>(
        &self,
        py: Python<'py>,
        targets: Vec<Bound<'py, PyAny>>,
        sources: Vec<Bound<'py, PyAny>>,
        grads: Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let targets = handles(&targets)?;
        let sources = handles(&sources)?;
        let grads = cotangents(&grads, &targets)?;
        let backward = self.lock().backward(&targets, &sources).or_py(py)?;
        let found = backward.run_rows(&grads, &mut trace::Live::default()).or_py(py)?;
        found.into_iter().map(|grad| grad.map(|grad| grad_object(py, grad)).transpose()).collect()
    }

    /// The gradients of each source for the cotangents of `target` along the leading axis of `seeds`.
    fn _rows<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'py, PyAny>,
        sources: Vec<Bound<'py, PyAny>>,
        seeds: &Bound<'py, PyAny>,
        in_turn: bool,
    ) -> PyResult<Vec<Option<Bound<'py, PyTensor>>>> {
        let found = trace::gradients_of_rows(
            &self.tape,
            &handle(target)?,
            &handles(&sources)?,
            &to_var(seeds, None, None)?,
            in_turn,
        );
        optional(py, found.or_py(py)?)
    }
}

impl PyTape {
    fn of(tape: Tape<Var>) -> PyTape {
        let flag = || AtomicBool::new(false);
        PyTape { tape: Arc::new(Mutex::new(tape)), recording: flag(), entered: flag(), used: flag() }
    }

    fn stop(&self) {
        if self.recording.swap(false, Ordering::Relaxed) {
            trace::pop_recorder(&Recorder::Tape(self.tape.clone()));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tape<Var>> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A Python function of the output gradients (`None` where none flows) that gives one gradient, or
/// `None`, for each input.
fn python_vjp(function: Py<PyAny>) -> penstock_autodiff::CustomVjp<Var> {
    Box::new(move |_, grads, _| {
        Python::attach(|py| {
            let run = || -> PyResult<Vec<Option<Var>>> {
                let args =
                    grads.iter().map(|g| g.clone().map(|v| wrap(py, v)).transpose()).collect::<PyResult<Vec<_>>>()?;
                let out = function.bind(py).call1((args,))?;
                out.try_iter()?
                    .map(|v| {
                        let v = v?;
                        if v.is_none() { Ok(None) } else { to_var(&v, None, None).map(Some) }
                    })
                    .collect()
            };
            run().map_err(|e| crate::errors::from_py(py, e))
        })
    })
}

/// Notes that the trainable variables among the inputs are used.
fn note_accessed(py: Python<'_>, inputs: &[Bound<'_, PyAny>]) -> PyResult<()> {
    let trainable =
        |v: &Bound<'_, PyAny>| v.cast::<PyVariable>().ok().filter(|v| v.get().is_trainable()).map(|v| v.get().var());
    let variables: Vec<Var> = inputs.iter().filter_map(trainable).collect();
    trace::note_accessed(&variables).or_py(py)
}

/// The gradients of `targets` in the graph that is being traced; rows as `_Tape.gradient` gives them.
#[pyfunction]
pub(crate) fn _gradients<'py>(
    py: Python<'py>,
    targets: Vec<Bound<'py, PyAny>>,
    sources: Vec<Bound<'py, PyAny>>,
    grads: Vec<Option<Bound<'py, PyAny>>>,
    stops: Vec<Bound<'py, PyAny>>,
) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let (targets, sources) = (handles(&targets)?, handles(&sources)?);
    let grads = cotangents(&grads, &targets)?;
    let found = trace::gradients(&targets, &grads, &sources, &handles(&stops)?).or_py(py)?;
    let one = |(grad, source): (Option<Var>, &Var)| {
        grad.map(|grad| grad_object(py, trace::as_rows(grad, source))).transpose()
    };
    found.into_iter().zip(&sources).map(one).collect()
}

/// The rows of `operands` mapped by a function that takes a list of tensors and gives one. The function
/// is traced once, for one row; the results have the leading axis.
#[pyfunction]
pub(crate) fn _map_rows<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    operands: Vec<Bound<'py, PyAny>>,
    in_turn: bool,
) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    let operands: Vec<Var> = operands.iter().map(|v| to_var(v, None, None)).collect::<PyResult<_>>()?;
    let mut failed = None;
    let made = trace::trace_rows(&operands, |rows| {
        let run = || -> PyResult<Vec<Var>> {
            let rows = rows.into_iter().map(|v| wrap(py, v)).collect::<PyResult<Vec<_>>>()?;
            function.call1((rows,))?.try_iter()?.map(|v| to_var(&v?, None, None)).collect()
        };
        run().map_err(|e| {
            failed = Some(e);
            penstock_data::Error::internal("the function raised")
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let (function, captures) = made.or_py(py)?;
    let count = operands.len();
    let all: Vec<Var> = operands.into_iter().chain(captures).collect();
    let outs = trace::map_rows(&function, &all, count, in_turn).or_py(py)?;
    outs.into_iter().map(|v| wrap(py, v)).collect()
}

/// The engine's part of `penstock.autodiff.ForwardAccumulator`.
#[pyclass(frozen, name = "_Accumulator", module = "penstock._core")]
pub(crate) struct PyAccumulator(SharedAccumulator);

#[pymethods]
impl PyAccumulator {
    #[new]
    fn new() -> PyAccumulator {
        PyAccumulator(Arc::new(Mutex::new(Accumulator::default())))
    }

    fn push(&self) {
        trace::push_recorder(Recorder::Forward(self.0.clone()));
    }

    fn pop(&self) {
        trace::pop_recorder(&Recorder::Forward(self.0.clone()));
    }

    fn watch(&self, py: Python<'_>, primal: &Bound<'_, PyAny>, tangent: &Bound<'_, PyAny>) -> PyResult<()> {
        let primal = handle(primal)?;
        let tangent = to_var(tangent, None, Some(primal.dtype()))?;
        self.lock().watch(&primal, tangent).or_py(py)
    }

    /// The tangent of a value, or `None`.
    fn jvp<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTensor>>> {
        let tangent = self.lock().tangent(&handle(value)?).or_py(py)?;
        tangent.map(|v| wrap(py, v)).transpose()
    }
}

impl PyAccumulator {
    fn lock(&self) -> std::sync::MutexGuard<'_, Accumulator<Var>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records an operation with a gradient of its own on every tape that records here.
#[pyfunction]
pub(crate) fn _record_custom(
    py: Python<'_>,
    inputs: Vec<Bound<'_, PyAny>>,
    outputs: Vec<Bound<'_, PyAny>>,
    vjp: Py<PyAny>,
) -> PyResult<()> {
    note_accessed(py, &inputs)?;
    let (inputs, outputs) = (handles(&inputs)?, handles(&outputs)?);
    let py_free = &vjp;
    trace::record_custom(&inputs, &outputs, || Python::attach(|py| python_vjp(py_free.clone_ref(py)))).or_py(py)
}

/// While entered, no tape records.
#[pyclass(unsendable, name = "_NoTapes", module = "penstock._core")]
pub(crate) struct PyNoTapes(Vec<trace::Paused>);

#[pymethods]
impl PyNoTapes {
    #[new]
    fn new() -> PyNoTapes {
        PyNoTapes(Vec::new())
    }

    fn __enter__(&mut self) {
        self.0.push(trace::pause_recorders());
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&mut self, _exc: &Bound<'_, pyo3::types::PyTuple>) {
        self.0.pop();
    }
}

/// Gives `outputs` of the open trace a gradient of their own: `backward` takes the cotangent of each output (`None` for
/// dtypes that have none) and gives one, or `None`, for each of `inputs`. It is called where that is asked for. With an
/// error beside the cotangents it gives cotangents that fail so where they are computed.
#[pyfunction]
pub(crate) fn _with_gradient<'py>(
    py: Python<'py>,
    outputs: Vec<Bound<'py, PyAny>>,
    inputs: Vec<Bound<'py, PyAny>>,
    backward: Py<PyAny>,
) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    note_accessed(py, &inputs)?;
    let (inputs, outputs) = (handles(&inputs)?, handles(&outputs)?);
    let (types, for_graph) = (outputs.iter().map(Var::ty).collect::<Vec<_>>(), backward.clone_ref(py));
    let make: trace::MakeGradient = Box::new(move |failure| {
        Python::attach(|py| {
            traced_gradient(for_graph.bind(py), &types, failure).map_err(|e| crate::errors::from_py(py, e))
        })
    });
    let outs = trace::with_gradient(&outputs, &inputs, make).or_py(py)?;
    trace::record_custom(&inputs, &outs, || Python::attach(|py| python_vjp(backward.clone_ref(py)))).or_py(py)?;
    outs.into_iter().map(|v| wrap(py, v)).collect()
}

/// A gradient function, traced for outputs of these types, and for each input its place among what the trace gives.
fn traced_gradient(
    backward: &Bound<'_, PyAny>,
    outputs: &[Type],
    failure: Option<Error>,
) -> PyResult<(Traced, Vec<Option<usize>>)> {
    let py = backward.py();
    if stack_left() < STACK_OF_A_TRACE {
        return Err(Error::exhausted("gradient functions use each other too deeply")).or_py(py);
    }
    let open = trace::begin_trace("gradient");
    let mut seeds = Vec::new();
    for ty in outputs {
        seeds.push(if ty.dtype().is_differentiable() {
            Some(wrap(py, trace::placeholder(&ty.with_shape(ty.shape().erased()), None).or_py(py)?)?)
        } else {
            None
        });
    }
    let failure = failure.map(|e| Err::<(), _>(e).or_py(py).unwrap_err().into_value(py));
    let (mut found, mut places) = (Vec::new(), Vec::new());
    for grad in backward.call1((seeds, failure))?.try_iter()? {
        let grad = grad?;
        places.push((!grad.is_none()).then_some(found.len()));
        if !grad.is_none() {
            found.push(to_var(&grad, None, None)?);
        }
    }
    Ok((open.end(&found).or_py(py)?, places))
}
