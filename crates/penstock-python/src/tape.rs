//! The engine's part of `penstock.GradientTape`.

use std::sync::{Arc, Mutex, PoisonError};

use penstock_autodiff::Tape;
use penstock_trace::{self as trace, SharedTape, Var};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::convert::to_var;
use crate::errors::OrPy;
use crate::tensor::{PyTensor, wrap};
use crate::variable::PyVariable;

/// A tape.
#[pyclass(frozen, name = "_Tape", module = "penstock._core")]
pub(crate) struct PyTape {
    tape: SharedTape,
}

/// A tensor or a variable, as the tape knows it.
fn handle(value: &Bound<'_, PyAny>) -> PyResult<Var> {
    if let Ok(t) = value.cast::<PyTensor>() {
        Ok(t.get().var.clone())
    } else if let Ok(v) = value.cast::<PyVariable>() {
        Ok(v.get().var())
    } else {
        Err(PyTypeError::new_err(format!("expected a tensor or a variable, got {}", value.get_type().name()?)))
    }
}

#[pymethods]
impl PyTape {
    #[new]
    fn new(persistent: bool, watch_accessed_variables: bool) -> PyTape {
        PyTape { tape: Arc::new(Mutex::new(Tape::new(persistent, watch_accessed_variables))) }
    }

    fn push(&self) {
        trace::push_tape(&self.tape);
    }

    fn pop(&self) {
        trace::pop_tape(&self.tape);
    }

    fn watch(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.lock().watch(&handle(value)?);
        Ok(())
    }

    fn is_watched(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.lock().is_watched(handle(value)?.id()))
    }

    fn reset(&self) {
        self.lock().reset();
    }

    /// Ids of the variables that it has watched, in order.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        targets: Vec<Bound<'py, PyAny>>,
        sources: Vec<Bound<'py, PyAny>>,
        grads: Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyTensor>>>> {
        let targets: Vec<Var> = targets.iter().map(handle).collect::<PyResult<_>>()?;
        let sources: Vec<Var> = sources.iter().map(handle).collect::<PyResult<_>>()?;
        let grads: Vec<Option<Var>> = grads
            .iter()
            .zip(&targets)
            .map(|(g, t)| g.as_ref().map(|g| to_var(g, None, Some(t.dtype()))).transpose())
            .collect::<PyResult<_>>()?;
        let backward = self.lock().backward(&targets, &sources).or_py(py)?;
        let out = backward.run(&grads, &mut trace::Live).or_py(py)?;
        out.into_iter().map(|v| v.map(|v| wrap(py, v)).transpose()).collect()
    }

    /// Records an operation whose gradient a Python function computes from the output gradients.
    fn record_custom(
        &self,
        inputs: Vec<Bound<'_, PyAny>>,
        outputs: Vec<Bound<'_, PyAny>>,
        vjp: Py<PyAny>,
    ) -> PyResult<()> {
        let inputs: Vec<Var> = inputs.iter().map(handle).collect::<PyResult<_>>()?;
        let outputs: Vec<Var> = outputs.iter().map(handle).collect::<PyResult<_>>()?;
        self.lock().record_custom(&inputs, &outputs, python_vjp(vjp));
        Ok(())
    }
}

impl PyTape {
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

/// Records an operation with a gradient of its own on every tape that records here.
#[pyfunction]
pub(crate) fn _record_custom(
    inputs: Vec<Bound<'_, PyAny>>,
    outputs: Vec<Bound<'_, PyAny>>,
    vjp: Py<PyAny>,
) -> PyResult<()> {
    let inputs: Vec<Var> = inputs.iter().map(handle).collect::<PyResult<_>>()?;
    let outputs: Vec<Var> = outputs.iter().map(handle).collect::<PyResult<_>>()?;
    let py_free = &vjp;
    trace::record_custom(&inputs, &outputs, || Python::attach(|py| python_vjp(py_free.clone_ref(py))));
    Ok(())
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
        self.0.push(trace::pause_tapes());
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&mut self, _exc: &Bound<'_, pyo3::types::PyTuple>) {
        self.0.pop();
    }
}

/// Gives `outputs` of the open trace a gradient of their own: `backward` takes the cotangent of each
/// output (`None` for dtypes that have none) and gives one, or `None`, for each of `inputs`.
#[pyfunction]
pub(crate) fn _with_gradient<'py>(
    py: Python<'py>,
    outputs: Vec<Bound<'py, PyAny>>,
    inputs: Vec<Bound<'py, PyAny>>,
    backward: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    let outputs: Vec<Var> = outputs.iter().map(handle).collect::<PyResult<_>>()?;
    let inputs: Vec<Var> = inputs.iter().map(handle).collect::<PyResult<_>>()?;
    trace::begin_trace("gradient");
    let body = || -> PyResult<(Vec<Var>, Vec<Option<usize>>)> {
        let mut seeds = Vec::new();
        for y in &outputs {
            let ty = y.ty();
            seeds.push(if ty.dtype().is_differentiable() {
                Some(wrap(py, trace::placeholder(&ty.with_shape(ty.shape().erased()), None).or_py(py)?)?)
            } else {
                None
            });
        }
        let (mut found, mut places) = (Vec::new(), Vec::new());
        for grad in backward.call1((seeds,))?.try_iter()? {
            let grad = grad?;
            places.push((!grad.is_none()).then_some(found.len()));
            if !grad.is_none() {
                found.push(to_var(&grad, None, None)?);
            }
        }
        Ok((found, places))
    };
    let (found, places) = match body() {
        Ok(parts) => parts,
        Err(e) => {
            trace::abandon_trace();
            return Err(e);
        }
    };
    let traced = trace::end_trace(&found).or_py(py)?;
    let outs = trace::with_gradient(&outputs, &inputs, traced, &places).or_py(py)?;
    outs.into_iter().map(|v| wrap(py, v)).collect()
}
