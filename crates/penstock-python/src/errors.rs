//! Errors cross the border here: an engine error becomes the Python exception of its class.
//!
//! The exception classes live in `penstock.errors`; the Python layer hands them over at import.

use std::sync::Arc;

use penstock_data::{Class, Error};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use crate::public_names::in_public;

static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Sets the exception classes, by the names below.
#[pyfunction]
pub(crate) fn _set_error_classes(py: Python<'_>, classes: Py<PyDict>) {
    let _ = CLASSES.set(py, classes);
}

/// The key of a class in the table that the Python layer hands over.
fn key(class: Class) -> &'static str {
    match class {
        Class::InvalidArgument => "InvalidArgument",
        Class::DType => "DType",
        Class::IndexOutOfBounds => "IndexOutOfBounds",
        Class::OutOfRange => "OutOfRange",
        Class::NotFound => "NotFound",
        Class::FailedPrecondition => "FailedPrecondition",
        Class::OutOfScope => "OutOfScope",
        Class::Unimplemented => "Unimplemented",
        Class::ResourceExhausted => "ResourceExhausted",
        Class::Cancelled => "Cancelled",
        Class::Unavailable => "Unavailable",
        Class::DataLoss => "DataLoss",
        Class::Host => "Unknown",
        Class::Internal => "Internal",
    }
}

/// So many places a message shows of the calls that led to an error.
const MOST_CALLS: usize = 16;

/// The Python exception of an engine error.
///
/// An error that carries a Python exception (of a callback, or an interrupt) becomes that very
/// object. The source location, and the iteration of each loop around it, are appended to the message.
pub(crate) fn to_py(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(original) = error.payload().and_then(|p| p.downcast_ref::<PyErr>()) {
        return original.clone_ref(py);
    }
    let Some(class) = CLASSES.get(py).and_then(|c| c.bind(py).get_item(key(error.class())).ok().flatten()) else {
        return PyRuntimeError::new_err(error.to_string());
    };
    let mut message = in_public(error.op(), error.to_string());
    let stack = error.stack();
    for (i, frame) in stack.iter().take(MOST_CALLS).enumerate() {
        let called = if i == 0 { "" } else { "called from " };
        message.push_str(&format!("\n  {called}File \"{}\", line {}", frame.file, frame.line));
        if !frame.function.is_empty() {
            message.push_str(&format!(", in {}", frame.function));
        }
    }
    if stack.len() > MOST_CALLS {
        message.push_str(&format!("\n  and {} more calls", stack.len() - MOST_CALLS));
    }
    if let [outermost, inner @ ..] = error.iterations() {
        message.push_str(&format!("\n  in iteration {outermost} of the loop"));
        for iteration in inner {
            message.push_str(&format!(", iteration {iteration} of the loop in it"));
        }
    }
    match class.call1((message, error.op())) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// What a very long `repr` is cut to.
const DESCRIPTION: usize = 80;

/// The name of a value's class. As text at once: to format an object of Python's looks for interrupts, and drops them.
pub(crate) fn class_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A value for people, whatever its own `repr` does.
pub(crate) fn described(value: &Bound<'_, PyAny>) -> String {
    let text = attempt(value.py(), value.repr()).map(|r| r.to_string_lossy().into_owned());
    let text = text.unwrap_or_else(|| format!("<{} object>", class_name(value)));
    match text.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// What an exception says, whatever its own `str` does.
pub(crate) fn said(py: Python<'_>, error: &PyErr) -> String {
    attempt(py, error.value(py).str()).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What an attempt to run code of the program's gave, `None` where it failed and that is an answer too. An interrupt is
/// none: it is raised again as soon as the interpreter goes on.
pub(crate) fn attempt<T>(py: Python<'_>, result: PyResult<T>) -> Option<T> {
    let error = match result {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        static AGAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let _ = AGAIN.import(py, "_thread", "interrupt_main").and_then(|again| again.call0());
    }
    None
}

/// Whether the value has an attribute, whatever its class does to find out.
pub(crate) fn has_attribute(value: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> bool {
    attempt(value.py(), value.hasattr(name)).unwrap_or(false)
}

/// An engine error that carries a Python exception through the engine to the caller.
pub(crate) fn from_py(py: Python<'_>, error: PyErr) -> Error {
    let message = error.to_string();
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // The run stops; the interrupt reaches the caller as itself.
        return Error::host("interrupted", Arc::new(error));
    }
    Error::host(message, Arc::new(error))
}

/// An error about a value, with the argument of the public function that it was given for.
#[cold]
pub(crate) fn of_argument(error: PyErr, value: &Bound<'_, PyAny>) -> PyErr {
    let py = value.py();
    let place = || py.import("penstock._types.argument_names")?.call_method1("place_of", (value,))?.extract::<String>();
    let message = match attempt(py, place()) {
        Some(place) if !place.is_empty() => format!("{place}{}", said(py, &error)),
        _ => return error,
    };
    let class = error.get_type(py);
    if class.is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(message)
    } else if class.is(py.get_type::<PyValueError>()) {
        PyValueError::new_err(message)
    } else {
        error
    }
}

/// Results of the engine as results of the binding.
pub(crate) trait OrPy<T> {
    /// Maps the error.
    fn or_py(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrPy<T> for Result<T, Error> {
    #[inline]
    fn or_py(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|e| to_py(py, &e))
    }
}
