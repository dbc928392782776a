//! What the Python layer hands over at import: classes and functions that the binding needs.

#![expect(unsafe_code, reason = "asks the interpreter for its number")]

use std::sync::OnceLock;

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyImportError, PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static LAYER: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
/// The number of the interpreter whose layer that is.
static INTERPRETER: OnceLock<i64> = OnceLock::new();

/// Sets the table of the Python layer: `TensorShape`, `TensorSpec`, `constant`, `tensor_repr`, …
#[pyfunction]
pub(crate) fn _set_layer(py: Python<'_>, table: Py<PyDict>) -> PyResult<()> {
    // SAFETY: the thread is attached to the interpreter that it asks, as `py` shows.
    let number = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if *INTERPRETER.get_or_init(|| number) != number {
        // Objects of one interpreter must not reach another.
        return Err(PyImportError::new_err(
            "penstock serves one interpreter of a process, and another one imported it first",
        ));
    }
    let _ = LAYER.set(py, table);
    Ok(())
}

/// An entry of the table.
pub(crate) fn get<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    LAYER
        .get(py)
        .and_then(|t| t.bind(py).get_item(name).ok().flatten())
        .ok_or_else(|| PyRuntimeError::new_err(format!("the Python layer has not provided {name}")))
}

/// Calls an entry of the table.
pub(crate) fn call<'py>(py: Python<'py>, name: &str, args: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    get(py, name)?.call1(args)
}

fn error(py: Python<'_>, class: &str, message: &str) -> PyErr {
    match get(py, class).and_then(|c| c.call1((message,))) {
        Ok(value) => PyErr::from_value(value),
        Err(_) => PyTypeError::new_err(message.to_owned()),
    }
}

/// `OperatorNotAllowedInGraphError`, a `TypeError`.
pub(crate) fn graph_type_error(py: Python<'_>, message: &str) -> PyErr {
    error(py, "OperatorNotAllowedInGraphError", message)
}

/// `NotImplementedError`, as TensorFlow has it for NumPy conversions of symbolic tensors.
pub(crate) fn not_implemented_error(_py: Python<'_>, message: &str) -> PyErr {
    pyo3::exceptions::PyNotImplementedError::new_err(message.to_owned())
}
