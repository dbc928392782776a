//! The methods of `penstock.Tensor` that variables do not have.

#![expect(unsafe_code, reason = "slots of the buffer protocol are unsafe")]

use std::ffi::c_int;

use penstock_trace as trace;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyTuple};

use crate::dtype::{self, PyDType};
use crate::errors::OrPy;
use crate::operand::{fetch, no_attribute, numpy_of};
use crate::operators::operators;
use crate::tensor::{Operand, PyTensor, Reference, device_name, dims_tuple, shape_object, wrap, wrap_like};
use crate::{array, dlpack, gpu, layer};

/// The operators of Python that tensors define.
const OPERATORS: [&str; 32] = [
    "__abs__",
    "__add__",
    "__and__",
    "__eq__",
    "__floordiv__",
    "__ge__",
    "__getitem__",
    "__gt__",
    "__invert__",
    "__le__",
    "__lt__",
    "__matmul__",
    "__mod__",
    "__mul__",
    "__ne__",
    "__neg__",
    "__or__",
    "__pow__",
    "__radd__",
    "__rand__",
    "__rfloordiv__",
    "__rmatmul__",
    "__rmod__",
    "__rmul__",
    "__ror__",
    "__rpow__",
    "__rsub__",
    "__rtruediv__",
    "__rxor__",
    "__sub__",
    "__truediv__",
    "__xor__",
];

impl PyTensor {
    /// What the graph of a symbolic tensor says of it.
    fn part_of_graph<'py>(&self, slf: &Bound<'py, Self>, part: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.var.as_symbolic().is_none() {
            return Err(PyAttributeError::new_err(format!(
                "Tensor.{part} is undefined when eager execution is enabled"
            )));
        }
        layer::call(slf.py(), "in_graph", (slf, part))
    }
}

#[pymethods]
impl PyTensor {
    /// The names of the operators of Python that tensors define.
    #[classattr]
    #[pyo3(name = "OVERLOADABLE_OPERATORS")]
    fn operators(py: Python<'_>) -> PyResult<Bound<'_, PyFrozenSet>> {
        PyFrozenSet::new(py, OPERATORS)
    }

    /// The element type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        dtype::object(py, self.var.dtype()).cloned()
    }

    /// The sizes as a tuple, `None` for those that are unknown, or `None` for unknown rank: without an object for the shape.
    #[getter]
    fn _dims<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.var.shape().dims().map(|dims| dims_tuple(py, dims)).transpose()
    }

    /// The shape; dimensions that are unknown while tracing are `None`. It is a `TensorShape`, or for a
    /// tensor that promotes dtypes the tuple that the array API standard asks for, with the same methods.
    #[getter(shape)]
    fn known_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.var.shape().dims() {
            Some(dims) if self.promotes => layer::get(py, "ArrayShape")?.call1((dims_tuple(py, dims)?,)),
            _ => shape_object(py, &self.var.shape()),
        }
    }

    /// The shape.
    fn get_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shape_object(py, &self.var.shape())
    }

    /// The number of dimensions, or `None` where it is unknown.
    #[getter]
    fn ndim(&self) -> Option<usize> {
        self.var.shape().rank()
    }

    /// The number of elements, or `None` where it is unknown.
    #[getter]
    fn size(&self) -> Option<usize> {
        self.var.shape().dims()?.iter().map(|d| d.known()).product()
    }

    /// The transpose of a matrix.
    ///
    /// Raises:
    ///     ValueError: for a tensor of another rank than 2.
    #[getter(T)]
    fn transposed(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        if slf.get().var.shape().rank() != Some(2) {
            return Err(PyValueError::new_err(format!(
                "Tensor.T is the transpose of a matrix, got shape {}; use tf.transpose, or Tensor.mT for a stack of matrices",
                slf.get().var.shape()
            )));
        }
        Self::matrices_transposed(slf)
    }

    /// The transpose of each matrix of a stack: the last two dimensions are swapped.
    ///
    /// Raises:
    ///     ValueError: for a tensor of rank below 2, or of unknown rank.
    #[getter(mT)]
    fn matrices_transposed(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let Self { var, promotes } = slf.get();
        let rank = var.shape().rank().filter(|&r| r >= 2).ok_or_else(|| {
            PyValueError::new_err(format!("Tensor.mT needs at least two dimensions, got shape {}", var.shape()))
        })?;
        let mut perm: Vec<i64> = (0..rank as i64).collect();
        perm.swap(rank - 2, rank - 1);
        let swapped = trace::apply(operators().transpose, std::slice::from_ref(var), &[("perm", perm.into())]);
        Ok(wrap_like(py, swapped.or_py(py)?.remove(0), *promotes)?.into_any().unbind())
    }

    /// The module with the functions of the array API standard, `penstock.array_api`.
    ///
    /// Raises:
    ///     ValueError: for a version of the standard that is not supported.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        slf: &Bound<'py, Self>,
        api_version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "array_namespace", (api_version,))
    }

    /// The tensor on a device, which is the one that holds it: moving is left to the engine.
    ///
    /// Raises:
    ///     ValueError: for another device, or a `stream`, which the CPU has not.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device<'py>(
        slf: &Bound<'py, Self>,
        device: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        layer::call(slf.py(), "to_device", (slf, device, stream))
    }

    /// Narrows what is known of the shape while tracing; an eager tensor is checked.
    fn set_shape(&self, py: Python<'_>, shape: &Bound<'_, PyAny>) -> PyResult<()> {
        let shape = crate::convert::shape_of(shape)?;
        trace::refine(&self.var, &shape).or_py(py)
    }

    /// A function without arguments that gives the value as a NumPy array (a NumPy scalar for rank 0): a read-only view of
    /// the tensor's memory. A symbolic tensor has no such attribute.
    #[getter]
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().var.tensor().is_none() {
            return Err(no_attribute("numpy"));
        }
        slf.getattr(pyo3::intern!(slf.py(), "_numpy"))
    }

    /// The value as a NumPy array.
    fn _numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        numpy_of(slf.as_any().cast::<Operand>()?)
    }

    /// The value as Python numbers in nested lists; a plain number for rank 0.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let values = Self::_numpy(slf)?;
        // A string is a plain value already.
        if values.is_instance_of::<pyo3::types::PyBytes>() { Ok(values) } else { values.call_method0("tolist") }
    }

    /// The name of a symbolic tensor: that of its node, `:`, and its position among the node's results.
    #[getter]
    fn name(&self) -> PyResult<String> {
        match self.var.as_symbolic() {
            Some(s) => Ok(crate::graph::tensor_name(s)),
            None => Err(PyAttributeError::new_err("Tensor.name is undefined when eager execution is enabled")),
        }
    }

    /// The device that holds it.
    #[getter]
    fn device(&self) -> String {
        self.var.tensor().map_or_else(String::new, device_name)
    }

    /// A hashable handle: equal for the same tensor only.
    fn r#ref(slf: Bound<'_, Self>) -> Reference {
        let id = slf.get().var.id();
        Reference { id, target: slf.into_any().unbind() }
    }

    /// `ref` by its old name.
    fn experimental_ref(slf: Bound<'_, Self>) -> Reference {
        Self::r#ref(slf)
    }

    /// Whether it is a value of a graph under construction.
    #[getter]
    fn _is_symbolic(&self) -> bool {
        self.var.as_symbolic().is_some()
    }

    /// The id of the trace that it belongs to, or `None`.
    #[getter]
    fn _trace(&self) -> Option<u64> {
        self.var.as_symbolic().map(|s| s.trace)
    }

    /// The trace and the region of it that it was made in, by their numbers; `None` for a value at hand.
    #[getter]
    fn _place(&self) -> Option<(u64, usize)> {
        self.var.as_symbolic().map(|s| (s.trace, crate::graph::region_of(s)))
    }

    /// `(name, op, operands, results, position among them)` of the node that gives it; `None` for a value at hand.
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn _node<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(String, &'static str, Vec<Bound<'py, PyTensor>>, Vec<Bound<'py, PyTensor>>, usize)>> {
        let Some((listed, index)) = self.var.as_symbolic().and_then(crate::graph::node_of) else { return Ok(None) };
        let tensors = |vars: Vec<trace::Var>| vars.into_iter().map(|var| wrap(py, var)).collect::<PyResult<Vec<_>>>();
        Ok(Some((listed.name, listed.kind, tensors(listed.inputs)?, tensors(listed.outputs)?, index)))
    }

    /// The graph that it belongs to.
    #[getter]
    fn graph<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().part_of_graph(slf, "graph")
    }

    /// The operation that gives it.
    #[getter]
    fn op<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().part_of_graph(slf, "op")
    }

    /// Its position among the results of its operation.
    #[getter]
    fn value_index<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().part_of_graph(slf, "value_index")
    }

    /// Compute it in a session, for a tensor of a graph of TensorFlow 1.
    ///
    /// Args:
    ///     feed_dict: values for tensors of the graph, which are not computed then.
    ///     session: the session, by default the one that is open.
    ///
    /// Returns:
    ///     The value, as a NumPy array.
    ///
    /// Raises:
    ///     NotImplementedError: for a tensor at hand, of which `numpy()` gives the value.
    ///
    /// >>> import penstock as tf
    /// >>> with tf.Graph().as_default(), tf.compat.v1.Session():
    /// ...     float(tf.add(1.0, 2.0).eval())
    /// 3.0
    #[pyo3(signature = (feed_dict=None, session=None))]
    fn eval<'py>(
        slf: &Bound<'py, Self>,
        feed_dict: Option<Bound<'py, PyAny>>,
        session: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().var.as_symbolic().is_none() {
            return Err(PyNotImplementedError::new_err(
                "eval is not supported when eager execution is enabled; numpy() gives the value",
            ));
        }
        layer::call(slf.py(), "eval_tensor", (slf, feed_dict, session))
    }

    /// List the operations of its graph that take it.
    ///
    /// Returns:
    ///     The operations.
    ///
    /// Raises:
    ///     AttributeError: for a tensor at hand.
    ///     UnimplementedError: in a traced function.
    ///
    /// >>> import penstock as tf
    /// >>> with tf.Graph().as_default():
    /// ...     x = tf.compat.v1.placeholder(tf.float32, [])
    /// ...     y = tf.square(x)
    /// ...     [op.type for op in x.consumers()]
    /// ['Square']
    fn consumers<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().part_of_graph(slf, "consumers")
    }

    #[getter]
    fn _id(&self) -> u64 {
        self.var.id()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        layer::call(slf.py(), "tensor_repr", (slf,))?.extract()
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        layer::call(slf.py(), "tensor_str", (slf,))?.extract()
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        layer::call(slf.py(), "tensor_html", (slf,))?.extract()
    }

    fn __format__(slf: &Bound<'_, Self>, spec: &str) -> PyResult<String> {
        layer::call(slf.py(), "tensor_format", (slf, spec))?.extract()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let value =
            slf.get().var.tensor().ok_or_else(|| PyTypeError::new_err("a symbolic tensor cannot be pickled"))?;
        let dtype = dtype::object(py, value.dtype())?;
        let arguments = if value.rank() > array::PLAIN_RANK {
            (array::flat(slf, value)?, dtype, value.dims().to_vec()).into_pyobject(py)?
        } else {
            (array::to_numpy(slf, value)?, dtype).into_pyobject(py)?
        };
        Ok((layer::get(py, "constant")?, arguments))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = dlpack::Request::new(max_version, dl_device, copy)?;
        let value = slf.get().var.tensor().ok_or_else(|| no_attribute("__dlpack__"))?;
        dlpack::to_dlpack(slf.py(), value, stream, &request)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let place = self.var.tensor().map_or(dlpack::CPU, dlpack::place_of);
        (place.kind, place.index)
    }

    /// What libraries for CUDA need to read the memory of a tensor that is on a GPU: its address, shape, dtype and stream. Other tensors
    /// have no such attribute.
    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        gpu::interface(py, self.var.tensor())
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let Some(value) = slf.get().var.tensor() else {
            return Err(PyBufferError::new_err("a symbolic tensor has no memory"));
        };
        fetch(slf.py(), value)?;
        // SAFETY: the interpreter calls this slot with a valid view.
        unsafe { array::get_buffer(&slf, value, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter calls this slot once with a view that `__getbuffer__` filled.
        unsafe { array::release_buffer(view) }
    }
}
