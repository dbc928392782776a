//! The classes of tensors, without their methods: [`crate::tensor_methods`] and [`crate::operand`] have these.

#![expect(unsafe_code, reason = "objects are made by the interpreter's allocator")]

use penstock_data::{DType, Shape, Tensor};
use penstock_trace::Var;
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::layer;

/// What tensors and variables have in common: Python's operators.
///
/// An operand that is not a tensor becomes one of the tensor's dtype where a Python value can; dtypes
/// of tensors are never converted implicitly.
#[pyclass(subclass, frozen, name = "_Operand", module = "penstock._core")]
pub(crate) struct Operand;

/// A tensor: eager, or symbolic while a function is traced.
///
/// >>> import penstock as tf
/// >>> tf.constant([[1, 2], [3, 4]]) + 1
/// <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
/// array([[2, 3],
///        [4, 5]], dtype=int32)>
#[pyclass(extends = Operand, frozen, subclass, name = "Tensor", module = "penstock", weakref, dict)]
pub(crate) struct PyTensor {
    pub(crate) var: Var,
    /// Whether Python's operators promote dtypes as the array API standard has it: so for tensors of
    /// `penstock.array_api` and what operators make of them. Those of other tensors are TensorFlow's.
    pub(crate) promotes: bool,
}

impl PyTensor {
    /// A tensor whose operators are TensorFlow's.
    pub(crate) fn of(var: Var) -> PyTensor {
        PyTensor { var, promotes: false }
    }
}

/// A new Python tensor.
#[inline]
pub(crate) fn wrap(py: Python<'_>, var: Var) -> PyResult<Bound<'_, PyTensor>> {
    wrap_like(py, var, false)
}

/// A new Python tensor that promotes dtypes or does not.
#[inline]
pub(crate) fn wrap_like(py: Python<'_>, var: Var, promotes: bool) -> PyResult<Bound<'_, PyTensor>> {
    let tensor = PyTensor { var, promotes };
    match OFFSET.get(py) {
        Some(&offset) => allocate(py, tensor, offset),
        None => first(py, tensor),
    }
}

/// Where in a Python object its [`PyTensor`] lies.
static OFFSET: PyOnceLock<usize> = PyOnceLock::new();

/// The first tensor, by PyO3's own way, which gives each object of Python 3.11 a dict and takes it away again.
#[cold]
fn first(py: Python<'_>, tensor: PyTensor) -> PyResult<Bound<'_, PyTensor>> {
    let object = Bound::new(py, PyClassInitializer::from(Operand).add_subclass(tensor))?;
    let offset = std::ptr::from_ref(object.get()).addr() - object.as_ptr().addr();
    // Behind it lie two pointers, to the dict and to the weak references, and nothing before it but the object's header.
    let size: usize = object.get_type().getattr("__basicsize__")?.extract()?;
    assert_eq!(size, offset + size_of::<PyTensor>() + 2 * size_of::<*mut ffi::PyObject>());
    assert_eq!(offset, size_of::<ffi::PyObject>());
    let _ = OFFSET.set(py, offset);
    Ok(object)
}

/// A tensor in an object that has no dict until somebody asks for it.
#[inline]
fn allocate(py: Python<'_>, tensor: PyTensor, offset: usize) -> PyResult<Bound<'_, PyTensor>> {
    // SAFETY: the class is ready. The memory is zeroed but for the header: no dict, and no weak references.
    let object = unsafe { ffi::PyType_GenericAlloc(PyTensor::type_object_raw(py), 0) };
    if object.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the object is new and of this class, whose only contents, its tensor, PyO3 has at the offset, as `first` saw.
    unsafe {
        object.byte_add(offset).cast::<PyTensor>().write(tensor);
        Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
    }
}

/// Whether the value is a tensor that promotes dtypes.
#[inline]
pub(crate) fn promotes(value: &Bound<'_, PyAny>) -> bool {
    value.cast::<PyTensor>().is_ok_and(|t| t.get().promotes)
}

/// The tensor as one that promotes dtypes in Python's operators.
#[pyfunction]
pub(crate) fn _promoting<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    if tensor.get().promotes {
        return Ok(tensor.clone());
    }
    wrap_like(tensor.py(), tensor.get().var.clone(), true)
}

/// A new eager Python tensor.
#[inline]
pub(crate) fn wrap_eager(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    wrap(py, Var::eager(tensor))
}

/// Why a tensor of a dtype has no value in Python, where it has none.
pub(crate) fn no_value(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::Variant => Some(
            "a tensor of dtype variant is a list of tensors, which has no value in Python or NumPy; stack it or read its elements",
        ),
        DType::Resource => Some(
            "a tensor of dtype resource is a lookup table, which has no value in Python or NumPy; export its keys and values",
        ),
        _ => None,
    }
}

/// A shape as `penstock.TensorShape`.
pub(crate) fn shape_object<'py>(py: Python<'py>, shape: &Shape) -> PyResult<Bound<'py, PyAny>> {
    static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let of = OF.get_or_try_init(py, || layer::get(py, "TensorShape")?.getattr("_of").map(Bound::unbind))?.bind(py);
    match shape.dims() {
        None => of.call1((py.None(),)),
        Some(dims) => of.call1((dims_tuple(py, dims)?,)),
    }
}

/// Sizes as a tuple, `None` for those that are unknown.
pub(crate) fn dims_tuple<'py>(py: Python<'py>, dims: &[penstock_data::Dim]) -> PyResult<Bound<'py, PyTuple>> {
    let dims: SmallVec<[Option<usize>; 6]> = dims.iter().map(|d| d.known()).collect();
    PyTuple::new(py, dims)
}

/// The device that holds a tensor, by its whole name.
pub(crate) fn device_name(tensor: &Tensor) -> String {
    let device = tensor.remote().map_or("/device:CPU:0", |memory| memory.device());
    format!("/job:localhost/replica:0/task:0{device}")
}

/// A hashable handle of a tensor or variable.
#[pyclass(frozen, name = "Reference", module = "penstock._core", weakref)]
pub(crate) struct Reference {
    pub(crate) id: u64,
    pub(crate) target: Py<PyAny>,
}

#[pymethods]
impl Reference {
    /// The tensor or variable.
    fn deref(&self, py: Python<'_>) -> Py<PyAny> {
        self.target.clone_ref(py)
    }

    fn __hash__(&self) -> u64 {
        self.id
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Reference>().is_ok_and(|o| o.get().id == self.id)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Reference wrapping {}>", self.target.bind(py).repr()?))
    }
}
