//! Checkpoints in TensorFlow's files, for the Python layer.

use std::path::PathBuf;

use penstock_data::Tensor;
use penstock_tf::{Attribute, BundleReader, BundleWriter, Node, OBJECT_GRAPH_KEY, ObjectGraph, Slot};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::OrPy;
use crate::tensor::{PyTensor, wrap_eager};

/// An object: `(number, name)` of what it owns, `(name, full name, key)` of its tensors, and `(number of the variable, name,
/// number of the slot)` of what it keeps for variables.
type Object = (Vec<(u64, String)>, Vec<(String, String, String)>, Vec<(u64, String, u64)>);

/// Reads the tensors of a checkpoint.
#[pyclass(frozen, name = "_BundleReader", module = "penstock._core")]
pub(crate) struct PyBundleReader(BundleReader);

#[pymethods]
impl PyBundleReader {
    #[new]
    fn new(py: Python<'_>, prefix: PathBuf) -> PyResult<PyBundleReader> {
        BundleReader::open(prefix).map(PyBundleReader).or_py(py)
    }

    /// `(key, dtype, extents)` of each tensor; the dtype is a number where it is TensorFlow's alone.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyAny>, Vec<usize>)>> {
        let described = self.0.entries().map(|(key, entry)| {
            let dtype = match entry.dtype() {
                Some(dtype) => crate::dtype::object(py, dtype)?.clone().into_any(),
                None => entry.dtype_number().into_pyobject(py)?.into_any(),
            };
            Ok((key, dtype, entry.dims().to_vec()))
        });
        described.collect()
    }

    /// The tensor of a key.
    fn read<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyTensor>> {
        wrap_eager(py, py.detach(|| self.0.read(key)).or_py(py)?)
    }

    /// The objects that owned the tensors, or `None`.
    fn objects(&self, py: Python<'_>) -> PyResult<Option<Vec<Object>>> {
        if !self.0.entries().any(|(key, _)| key == OBJECT_GRAPH_KEY) {
            return Ok(None);
        }
        let stored = self.0.read(OBJECT_GRAPH_KEY).or_py(py)?;
        let text = match stored.dtype() {
            penstock_data::DType::Str => stored.strings().first(),
            _ => None,
        };
        let graph = ObjectGraph::parse(text.map_or(&[], |t| t)).or_py(py)?;
        let objects = graph.nodes.into_iter().map(|node| {
            let attributes = node.attributes.into_iter().map(|a| (a.name, a.full_name, a.key)).collect();
            let slots = node.slots.into_iter().map(|s| (s.original, s.name, s.variable)).collect();
            (node.children, attributes, slots)
        });
        Ok(Some(objects.collect()))
    }
}

/// Writes a checkpoint: tensors by key, of which some may be the parts of one, rows in order, and the objects that own them.
#[pyfunction]
pub(crate) fn _write_bundle(
    py: Python<'_>,
    prefix: PathBuf,
    tensors: Vec<(String, Vec<Bound<'_, PyTensor>>)>,
    objects: Option<Vec<Object>>,
) -> PyResult<()> {
    let held = |(key, parts): (String, Vec<Bound<'_, PyTensor>>)| {
        let values = parts.iter().map(|part| part.get().var.tensor().cloned()).collect::<Option<Vec<Tensor>>>();
        match values {
            Some(values) => Ok((key, values)),
            None => Err(PyTypeError::new_err(format!("'{key}' is a tensor of a function that is being traced"))),
        }
    };
    let mut tensors = tensors.into_iter().map(held).collect::<PyResult<Vec<(String, Vec<Tensor>)>>>()?;
    if let Some(objects) = objects {
        let nodes = objects.into_iter().map(|(children, attributes, slots)| Node {
            children,
            attributes: attributes
                .into_iter()
                .map(|(name, full_name, key)| Attribute { name, full_name, key })
                .collect(),
            slots: slots.into_iter().map(|(original, name, variable)| Slot { original, name, variable }).collect(),
        });
        let graph = ObjectGraph { nodes: nodes.collect() }.to_bytes();
        let value = Tensor::from_strings(&[], vec![penstock_data::Bytes::from(&*graph)]).or_py(py)?;
        tensors.push((OBJECT_GRAPH_KEY.to_owned(), vec![value]));
    }
    py.detach(|| {
        let mut writer = BundleWriter::create(prefix)?;
        for (key, parts) in &tensors {
            match &parts[..] {
                [whole] => writer.add(key, whole)?,
                parts => writer.add_parts(key, &parts.iter().collect::<Vec<_>>())?,
            }
        }
        writer.finish()
    })
    .or_py(py)
}
