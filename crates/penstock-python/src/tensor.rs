//! `penstock.Tensor`.

#![expect(
    unsafe_code,
    reason = "objects are made by the interpreter's allocator; slots of the buffer protocol are unsafe"
)]

use std::ffi::c_int;

use penstock_data::{Bool8, DType, Shape, Tensor};
use penstock_trace::{self as trace, Var};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::dtype::{self, PyDType};
use crate::errors::{OrPy, described};
use crate::operand::{Operand, eager_tensor, no_attribute};
use crate::ops::operators;
use crate::{array, dlpack, layer};

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

/// Element `i` as a Python object.
pub(crate) fn item(py: Python<'_>, t: &Tensor, i: usize) -> PyResult<Py<PyAny>> {
    use penstock_data::{C64, C128, bf16, f16};
    macro_rules! number {
        ($ty:ty) => {
            t.as_slice::<$ty>()[i].into_pyobject(py)?.into_any().unbind()
        };
    }
    Ok(match t.dtype() {
        DType::Bool => t.as_slice::<Bool8>()[i].get().into_pyobject(py)?.to_owned().into_any().unbind(),
        DType::I8 => number!(i8),
        DType::I16 => number!(i16),
        DType::I32 => number!(i32),
        DType::I64 => number!(i64),
        DType::U8 => number!(u8),
        DType::U16 => number!(u16),
        DType::U32 => number!(u32),
        DType::U64 => number!(u64),
        DType::F16 => t.as_slice::<f16>()[i].to_f64().into_pyobject(py)?.into_any().unbind(),
        DType::Bf16 => t.as_slice::<bf16>()[i].to_f64().into_pyobject(py)?.into_any().unbind(),
        DType::F32 => number!(f32),
        DType::F64 => number!(f64),
        DType::C64 => {
            let z = t.as_slice::<C64>()[i];
            pyo3::types::PyComplex::from_doubles(py, z.re.into(), z.im.into()).into_any().unbind()
        }
        DType::C128 => {
            let z = t.as_slice::<C128>()[i];
            pyo3::types::PyComplex::from_doubles(py, z.re, z.im).into_any().unbind()
        }
        DType::Str => crate::convert::bytes_object(py, &t.strings()[i]).into_any().unbind(),
        dtype @ (DType::Variant | DType::Resource) => {
            return Err(PyTypeError::new_err(no_value(dtype).unwrap_or_default()));
        }
    })
}

/// The value of a tensor or a variable as a NumPy array, or as a scalar for rank 0.
pub(crate) fn numpy_of<'py>(operand: &Bound<'py, Operand>) -> PyResult<Bound<'py, PyAny>> {
    let (tensor, value) = eager_tensor(operand, "numpy")?;
    let array = array::to_numpy(&tensor, &value)?;
    if value.rank() == 0 { array.get_item(PyTuple::empty(operand.py())) } else { Ok(array) }
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

fn dims_tuple<'py>(py: Python<'py>, dims: &[penstock_data::Dim]) -> PyResult<Bound<'py, PyTuple>> {
    let dims: SmallVec<[Option<usize>; 6]> = dims.iter().map(|d| d.known()).collect();
    PyTuple::new(py, dims)
}

#[pymethods]
impl PyTensor {
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
    fn device(&self) -> &'static str {
        if self.var.tensor().is_some() { "/job:localhost/replica:0/task:0/device:CPU:0" } else { "" }
    }

    /// A hashable handle: equal for the same tensor only.
    fn r#ref(slf: Bound<'_, Self>) -> Reference {
        let id = slf.get().var.id();
        Reference { id, target: slf.into_any().unbind() }
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

    fn __format__(slf: &Bound<'_, Self>, spec: &str) -> PyResult<String> {
        layer::call(slf.py(), "tensor_format", (slf, spec))?.extract()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let value =
            slf.get().var.tensor().ok_or_else(|| PyTypeError::new_err("a symbolic tensor cannot be pickled"))?;
        let array = array::to_numpy(slf, value)?;
        let dtype = dtype::object(py, value.dtype())?;
        Ok((layer::get(py, "constant")?, (array, dtype).into_pyobject(py)?))
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
        if stream.is_some_and(|s| !s.is_none()) {
            return Err(PyValueError::new_err("argument 'stream' must be None: the CPU has no streams"));
        }
        if let Some(device) = dl_device.filter(|d| !d.is_none())
            && device.extract::<(i32, i32)>()? != slf.get().__dlpack_device__()
        {
            return Err(PyBufferError::new_err(format!(
                "argument 'dl_device' must be (1, 0), the CPU, got {}",
                described(device)
            )));
        }
        let versioned = match max_version.filter(|v| !v.is_none()) {
            Some(version) => version.extract::<(u32, u32)>()?.0 >= 1,
            None => false,
        };
        let (_, value) = eager_tensor(slf.as_any().cast::<Operand>()?, "__dlpack__")?;
        dlpack::to_dlpack(slf.py(), &value, versioned, copy)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let Some(value) = slf.get().var.tensor() else {
            return Err(PyBufferError::new_err("a symbolic tensor has no memory"));
        };
        // SAFETY: the interpreter calls this slot with a valid view.
        unsafe { array::get_buffer(&slf, value, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter calls this slot once with a view that `__getbuffer__` filled.
        unsafe { array::release_buffer(view) }
    }
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
