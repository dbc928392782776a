//! `penstock.onnx`: models of ONNX.

use std::collections::BTreeMap;
use std::path::PathBuf;

use penstock_data::DType;
use penstock_ir::Type;
use penstock_onnx::{Model, Options, Port};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{shape_of, to_var};
use crate::errors::OrPy;
use crate::layer;
use crate::program::PyProgram;
use crate::tensor::{PyTensor, wrap_eager};

/// A model of ONNX.
#[pyclass(frozen, name = "_OnnxModel", module = "penstock._core")]
pub(crate) struct PyOnnxModel(Model);

/// A `TensorSpec` for each; `None` for what the model does not say.
fn specs<'py>(py: Python<'py>, ports: &[Port]) -> PyResult<Bound<'py, PyDict>> {
    let (class, out) = (layer::get(py, "TensorSpec")?, PyDict::new(py));
    for port in ports {
        let spec = match &port.ty {
            Some(ty) => {
                let shape = crate::tensor::shape_object(py, ty.shape())?;
                class.call1((shape, crate::dtype::object(py, ty.dtype())?, &port.name))?
            }
            None => py.None().into_bound(py),
        };
        out.set_item(&port.name, spec)?;
    }
    Ok(out)
}

#[pymethods]
impl PyOnnxModel {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyOnnxModel> {
        py.detach(|| Model::load(path)).map(PyOnnxModel).or_py(py)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<PyOnnxModel> {
        Model::from_bytes(data).map(PyOnnxModel).or_py(py)
    }

    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        specs(py, self.0.inputs())
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        specs(py, self.0.outputs())
    }

    /// The program for inputs of these shapes and these values, by name.
    fn program(
        &self,
        py: Python<'_>,
        variables: bool,
        shapes: BTreeMap<String, Bound<'_, PyAny>>,
        values: BTreeMap<String, Bound<'_, PyAny>>,
    ) -> PyResult<PyProgram> {
        let mut options = Options { variables, ..Options::default() };
        for (name, shape) in shapes {
            let dtype = self.dtype(&name);
            options.types.insert(name, Type::tensor(dtype, shape_of(&shape)?));
        }
        for (name, value) in values {
            let value = self.value(&name, &value)?;
            options.values.insert(name, value);
        }
        py.detach(|| self.0.program(&options)).map(PyProgram).or_py(py)
    }

    /// Runs the model on values in the order of the inputs.
    fn run<'py>(&self, py: Python<'py>, values: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        let names = self.0.inputs().iter().map(|port| port.name.as_str());
        let values: Vec<_> =
            names.zip(&values).map(|(name, value)| self.value(name, value)).collect::<PyResult<_>>()?;
        let outputs = py.detach(|| self.0.run(&values)).or_py(py)?;
        outputs.into_iter().map(|tensor| wrap_eager(py, tensor)).collect()
    }
}

impl PyOnnxModel {
    fn dtype(&self, name: &str) -> DType {
        let port = self.0.inputs().iter().find(|port| port.name == name);
        port.and_then(|port| port.ty.as_ref()).map_or(DType::F32, Type::dtype)
    }

    fn value(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<penstock_data::Tensor> {
        let var = to_var(value, None, Some(self.dtype(name)))?;
        var.tensor().cloned().ok_or_else(|| {
            pyo3::exceptions::PyTypeError::new_err(format!("argument '{name}' must be a value, got a symbolic tensor"))
        })
    }
}

/// The operators of which models of ONNX can be written, in part at least.
#[pyfunction]
pub(crate) fn _onnx_operators() -> Vec<&'static str> {
    penstock_onnx::exported_operators().collect()
}
