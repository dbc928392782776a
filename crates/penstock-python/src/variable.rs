//! The classes of variables and of their slices, without their methods: [`crate::variable_methods`] has these. A variable is a handle
//! to a cell of the executor; the Python layer subclasses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use penstock_exec::Variable;
use penstock_trace::{self as trace, Var};
use pyo3::prelude::*;

use crate::errors::OrPy;
use crate::layer;
use crate::tensor::{Operand, PyTensor};

/// The part of a variable that the engine knows.
#[pyclass(extends = Operand, subclass, frozen, name = "_Variable", module = "penstock._core", weakref)]
pub(crate) struct PyVariable {
    pub(crate) variable: Arc<Variable>,
    /// Whether tapes watch it; those of functions that are traced already keep to what it was then.
    trainable: AtomicBool,
    /// Whether somebody looked at which variable it is, rather than at its value.
    identity_seen: AtomicBool,
}

impl PyVariable {
    /// Notes that somebody looks at which variable it is: a trace in which it stands in for one then serves no other.
    pub(crate) fn see_identity(&self) {
        self.identity_seen.store(true, Ordering::Relaxed);
    }

    /// Whether somebody did.
    pub(crate) fn identity_was_seen(&self) -> bool {
        self.identity_seen.load(Ordering::Relaxed)
    }

    /// Whether tapes watch it when it is read.
    pub(crate) fn is_trainable(&self) -> bool {
        self.trainable.load(Ordering::Relaxed)
    }

    /// Has tapes watch it from now on, or no longer.
    pub(crate) fn set_trainable(&self, trainable: bool) {
        self.trainable.store(trainable, Ordering::Relaxed);
    }

    /// The variable as an operand.
    pub(crate) fn var(&self) -> Var {
        Var::variable(self.variable.clone())
    }

    /// The value: now, or when the open trace runs.
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Var> {
        if trace::is_plain() {
            return self.variable.read().map(Var::eager).or_py(py);
        }
        trace::read_variable(&self.var(), self.is_trainable()).or_py(py)
    }

    /// The parts of a new object.
    pub(crate) fn initializer(variable: Arc<Variable>, trainable: bool) -> PyClassInitializer<PyVariable> {
        PyClassInitializer::from(Operand).add_subclass(PyVariable {
            variable,
            trainable: AtomicBool::new(trainable),
            identity_seen: AtomicBool::new(false),
        })
    }

    /// The Python object of a variable that something of the engine holds: the program's own, or a new handle where that
    /// is gone.
    pub(crate) fn object<'py>(py: Python<'py>, variable: &Arc<Variable>) -> PyResult<Bound<'py, PyAny>> {
        let living = layer::call(py, "variables_of", (vec![variable.root_id()], false))?;
        match living.get_item(0) {
            Ok(object) => Ok(object),
            Err(_) => Ok(Bound::new(py, PyVariable::initializer(variable.clone(), true))?.into_any()),
        }
    }
}

/// A slice of a variable: the tensor that it was, and the place that can be assigned.
#[pyclass(extends = PyTensor, frozen, name = "_VariableSlice", module = "penstock._core")]
pub(crate) struct PyVariableSlice {
    pub(crate) variable: Py<PyVariable>,
    pub(crate) key: Py<PyAny>,
}

impl PyVariableSlice {
    /// `variable[key]`, whose value is `part`.
    pub(crate) fn wrap(variable: &Bound<'_, PyVariable>, key: &Bound<'_, PyAny>, part: Var) -> PyResult<Py<PyAny>> {
        let slice = PyVariableSlice { variable: variable.clone().unbind(), key: key.clone().unbind() };
        let base = PyClassInitializer::from(Operand).add_subclass(PyTensor::of(part));
        Ok(Py::new(variable.py(), base.add_subclass(slice))?.into_any())
    }
}
