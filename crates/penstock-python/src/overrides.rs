//! Gradients that a program registers in place of an operator's own.

use std::sync::Arc;

use penstock_ir::{Attr, Attrs, OpDef};
use penstock_trace::{self as trace, Kind, Override, Var};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::to_var;
use crate::dtype;
use crate::errors::from_py;
use crate::tensor::wrap;

/// While entered, `hook(type, attributes, inputs, outputs)` is asked about each operation: it gives what
/// stands for the outputs, or `None` for the operator's own gradient.
#[pyclass(frozen, name = "_Override", module = "penstock._core")]
pub(crate) struct PyOverride(Override);

#[pymethods]
impl PyOverride {
    #[new]
    fn new(hook: Py<PyAny>) -> PyOverride {
        PyOverride(Arc::new(move |op, attrs, inputs, outputs| {
            if inputs.iter().any(|v| matches!(v.kind(), Kind::Variable(_))) {
                return Ok(None);
            }
            Python::attach(|py| ask(py, &hook, op, attrs, inputs, outputs).map_err(|e| from_py(py, e)))
        }))
    }

    fn __enter__(&self) {
        trace::push_override(self.0.clone());
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&self, _exc: &Bound<'_, pyo3::types::PyTuple>) {
        trace::pop_override();
    }
}

fn ask(
    py: Python<'_>,
    hook: &Py<PyAny>,
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[Var],
    outputs: &[Var],
) -> PyResult<Option<trace::Outs>> {
    let tensors = |vars: &[Var]| vars.iter().map(|v| wrap(py, v.clone())).collect::<PyResult<Vec<_>>>();
    let found = hook.bind(py).call1((op.tf_name, attributes(py, op, attrs)?, tensors(inputs)?, tensors(outputs)?))?;
    if found.is_none() {
        return Ok(None);
    }
    found.try_iter()?.map(|v| to_var(&v?, None, None)).collect::<PyResult<_>>().map(Some)
}

/// The attributes that are plain values, by name.
fn attributes<'py>(py: Python<'py>, op: &OpDef, attrs: &Attrs) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (def, value) in op.attrs.iter().zip(&attrs.0) {
        match value {
            Attr::None => dict.set_item(def.name, py.None())?,
            Attr::Bool(v) => dict.set_item(def.name, v)?,
            Attr::Int(v) => dict.set_item(def.name, v)?,
            Attr::Float(v) => dict.set_item(def.name, v)?,
            Attr::Str(v) => dict.set_item(def.name, &**v)?,
            Attr::Ints(v) => dict.set_item(def.name, v.to_vec())?,
            Attr::DType(v) => dict.set_item(def.name, dtype::object(py, *v)?)?,
            Attr::Shape(v) => dict.set_item(def.name, crate::tensor::shape_object(py, v)?)?,
            Attr::Types(_) | Attr::Tensor(_) | Attr::Func(_) | Attr::Host(_) => {}
        }
    }
    Ok(dict)
}
