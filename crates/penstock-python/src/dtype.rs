//! `penstock.DType`.

use penstock_data::{ALL_DTYPES, DType, NarrowFormat};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyString, PyType};

use crate::errors::described;

/// The element type of a tensor.
///
/// >>> import penstock as tf
/// >>> tf.DType("float32"), tf.float32.size, tf.constant(1).dtype.is_integer
/// (tf.float32, 4, True)
#[pyclass(frozen, name = "DType", module = "penstock")]
pub(crate) struct PyDType(pub(crate) DType);

static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The one Python object of a dtype.
pub(crate) fn object(py: Python<'_>, dtype: DType) -> PyResult<&Bound<'_, PyDType>> {
    let all = OBJECTS
        .get_or_try_init(py, || ALL_DTYPES.into_iter().map(|d| Py::new(py, PyDType(d))).collect::<PyResult<_>>())?;
    Ok(all[dtype as usize].bind(py))
}

/// Whatever names a dtype: a `DType`, a name, a NumPy dtype or scalar type, or a Python type.
pub(crate) fn parse(value: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(d) = value.cast::<PyDType>() {
        return Ok(d.get().0);
    }
    let by_name = |name: &str| match name {
        "half" => Some(DType::F16),
        "double" => Some(DType::F64),
        "float" => Some(DType::F32),
        "object" | "str" | "bytes" => Some(DType::Str),
        _ => ALL_DTYPES.into_iter().find(|d| d.tf_name() == name),
    };
    let unknown =
        || PyTypeError::new_err(format!("Cannot convert the argument `type_value`: {} to a DType", described(value)));
    if let Ok(name) = value.cast::<PyString>() {
        return by_name(name.to_str()?).ok_or_else(unknown);
    }
    if let Ok(ty) = value.cast::<PyType>() {
        let name = ty.name()?;
        let name = name.to_str()?;
        return match name {
            "bool" | "bool_" => Some(DType::Bool),
            // Python's own numbers become the defaults of TensorFlow.
            "int" => Some(DType::I32),
            "float" => Some(DType::F32),
            "complex" => Some(DType::C128),
            "bytes_" | "str_" | "object_" => Some(DType::Str),
            _ => by_name(name),
        }
        .ok_or_else(unknown);
    }
    if value.is_exact_instance_of::<PyInt>() {
        let number: u64 = value.extract().map_err(|_| unknown())?;
        return ALL_DTYPES.into_iter().find(|&d| penstock_tf::dtype_number(d) == Some(number)).ok_or_else(unknown);
    }
    let name = value.getattr("name").map_err(|_| unknown())?;
    let name: String = name.extract().map_err(|_| unknown())?;
    if name.starts_with("bytes") || (name.starts_with("str") && name != "string") {
        return Ok(DType::Str);
    }
    by_name(&name).ok_or_else(unknown)
}

/// A dtype argument that may be `None`.
pub(crate) fn parse_opt(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    value.filter(|v| !v.is_none()).map(parse).transpose()
}

/// The integers of the size of a dtype that NumPy itself does not have, and that the package `ml_dtypes` adds to it.
pub(crate) fn bits_of(dtype: DType) -> Option<DType> {
    match dtype {
        DType::Bf16 => Some(DType::U16),
        d if d.is_narrow() => Some(DType::U8),
        _ => None,
    }
}

/// The NumPy dtype of a dtype. bfloat16 and the narrow dtypes need the `ml_dtypes` package.
pub(crate) fn numpy_dtype(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
    if bits_of(dtype).is_some() {
        let name = dtype.numpy_name();
        let ml = py.import("ml_dtypes").map_err(|_| {
            PyImportError::new_err(format!("NumPy has no {name}; install the ml_dtypes package to convert it"))
        })?;
        return ml.getattr(name);
    }
    py.import("numpy")?.getattr(match dtype {
        DType::Bool => "bool_",
        DType::Str | DType::Variant | DType::Resource => "object_",
        other => other.numpy_name(),
    })
}

/// The dtype that two dtypes promote to by the array API standard, or `None`.
#[pyfunction]
pub(crate) fn _promote<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyDType>,
    b: &Bound<'py, PyDType>,
) -> PyResult<Option<Bound<'py, PyDType>>> {
    a.get().0.promote(b.get().0).map(|d| object(py, d).cloned()).transpose()
}

#[pymethods]
impl PyDType {
    /// The dtype that a name, NumPy dtype or Python type stands for.
    #[new]
    fn new(value: &Bound<'_, PyAny>) -> PyResult<PyDType> {
        parse(value).map(PyDType).map_err(|e| crate::errors::of_argument(e, value))
    }

    /// The name: `"float32"`.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.tf_name()
    }

    /// Bytes of one element; 1 for strings.
    #[getter]
    fn size(&self) -> usize {
        self.0.size().max(1)
    }

    /// Whether it is a real floating-point type.
    #[getter]
    fn is_floating(&self) -> bool {
        self.0.is_float() || matches!(NarrowFormat::of(self.0), Some(NarrowFormat::Float(_)))
    }

    /// Whether it is a complex type.
    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    /// Whether it is a signed or unsigned integer type.
    #[getter]
    fn is_integer(&self) -> bool {
        self.0.is_integer() || matches!(NarrowFormat::of(self.0), Some(NarrowFormat::Int { .. }))
    }

    /// Whether it is an unsigned integer type.
    #[getter]
    fn is_unsigned(&self) -> bool {
        self.0.is_unsigned() || matches!(NarrowFormat::of(self.0), Some(NarrowFormat::Int { signed: false, .. }))
    }

    /// Whether it is `bool`.
    #[getter]
    fn is_bool(&self) -> bool {
        self.0 == DType::Bool
    }

    /// Whether it is an integer, floating-point or complex type that is computed with: not one of 8 bits and fewer that is only stored.
    #[getter]
    fn is_numeric(&self) -> bool {
        self.0.is_numeric()
    }

    /// The dtype of the real part.
    #[getter]
    fn real_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        object(py, self.0.real()).cloned()
    }

    /// Itself: dtypes are never references here.
    #[getter]
    fn base_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        object(py, self.0).cloned()
    }

    /// The NumPy scalar type.
    #[getter]
    fn as_numpy_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype(py, self.0)
    }

    /// TensorFlow's number of the dtype; 0 for one that it does not have.
    #[getter]
    fn as_datatype_enum(&self) -> u64 {
        penstock_tf::dtype_number(self.0).unwrap_or(0)
    }

    /// The least value.
    #[getter]
    fn min<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.limit(py, "min")
    }

    /// The greatest value.
    #[getter]
    fn max<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.limit(py, "max")
    }

    /// Whether values of `other` may stand where this dtype is due: only of the same dtype.
    fn is_compatible_with(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(parse(other)? == self.0)
    }

    /// Whether the numbers are quantized: always false, since the engine has no such dtypes.
    #[getter]
    fn is_quantized(&self) -> bool {
        false
    }

    /// Whether tensors of it have a value in NumPy.
    #[getter]
    fn is_numpy_compatible(&self) -> bool {
        crate::tensor::no_value(self.0).is_none()
    }

    /// The least and greatest intensity of an image of it, none below 0: 1 is the greatest of floating-point numbers.
    #[getter]
    fn limits<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let number = |py: Python<'py>, n: u8| PyInt::new(py, n).into_any();
        match self.0 {
            d if d.is_float() => Ok((number(py, 0), number(py, 1))),
            DType::Bool => Ok((self.limit(py, "min")?, self.limit(py, "max")?)),
            d if d.is_integer() => Ok((number(py, 0), self.limit(py, "max")?)),
            d => Err(PyValueError::new_err(format!("{} has no limits: images have numbers", d.tf_name()))),
        }
    }

    /// Tell whether a trace for `other` serves this dtype as an argument: for the same one alone.
    ///
    /// Args:
    ///     other: another type of arguments.
    ///
    /// Returns:
    ///     Whether it is so.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.is_subtype_of(tf.float64)
    /// False
    fn is_subtype_of(&self, other: &Bound<'_, PyAny>) -> bool {
        self.__eq__(other)
    }

    /// Find the dtype that covers this one and others as arguments.
    ///
    /// Args:
    ///     types: other dtypes.
    ///
    /// Returns:
    ///     This dtype where all others are the same, else None.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.most_specific_common_supertype([tf.float32])
    /// tf.float32
    fn most_specific_common_supertype<'py>(
        slf: Bound<'py, Self>,
        types: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, Self>>> {
        for other in types.try_iter()? {
            if !slf.get().__eq__(&other?) {
                return Ok(None);
            }
        }
        Ok(Some(slf))
    }

    /// Give what stands for the dtype while a function is traced: the dtype itself.
    ///
    /// Args:
    ///     placeholder_context: accepted and ignored.
    ///
    /// Returns:
    ///     The dtype.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.placeholder_value(None)
    /// tf.float32
    fn placeholder_value<'py>(slf: Bound<'py, Self>, placeholder_context: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        let _ = placeholder_context;
        slf
    }

    /// Convert a value to one of this type, which the dtype alone is.
    ///
    /// Args:
    ///     value: the dtype.
    ///     cast_context: accepted and ignored.
    ///
    /// Returns:
    ///     The dtype.
    ///
    /// Raises:
    ///     TypeError: for another value.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.cast(tf.float32, None)
    /// tf.float32
    fn cast<'py>(&self, value: Bound<'py, PyAny>, cast_context: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let _ = cast_context;
        match self.__eq__(&value) {
            true => Ok(value),
            false => Err(PyTypeError::new_err(format!("argument 'value' must be {}, got {value:?}", self.0.tf_name()))),
        }
    }

    /// List the specifications of the tensors that a dtype is taken apart into.
    ///
    /// Returns:
    ///     An empty list.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.flatten()
    /// []
    fn flatten<'py>(&self, py: Python<'py>) -> Bound<'py, pyo3::types::PyList> {
        pyo3::types::PyList::empty(py)
    }

    /// List the tensors that a dtype is taken apart into.
    ///
    /// Args:
    ///     value: the dtype.
    ///
    /// Returns:
    ///     An empty list.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.to_tensors(tf.float32)
    /// []
    fn to_tensors<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> Bound<'py, pyo3::types::PyList> {
        let _ = value;
        pyo3::types::PyList::empty(py)
    }

    /// Give the dtype, which is made of no tensors.
    ///
    /// Args:
    ///     tensors: accepted and ignored.
    ///
    /// Returns:
    ///     The dtype.
    ///
    /// >>> import penstock as tf
    /// >>> tf.float32.from_tensors(iter([]))
    /// tf.float32
    fn from_tensors<'py>(slf: Bound<'py, Self>, tensors: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        let _ = tensors;
        slf
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        !other.is_none() && parse(other).is_ok_and(|d| d == self.0)
    }

    fn __hash__(&self) -> isize {
        self.0 as isize
    }

    fn __repr__(&self) -> String {
        format!("tf.{}", self.0.tf_name())
    }

    fn __str__(&self) -> String {
        format!("<dtype: '{}'>", self.0.tf_name())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&'static str,))> {
        // The function gives the one object of the dtype, the class a new one.
        Ok((py.import("penstock")?.getattr("as_dtype")?, (self.0.tf_name(),)))
    }
}

impl PyDType {
    fn limit<'py>(&self, py: Python<'py>, which: &str) -> PyResult<Bound<'py, PyAny>> {
        let scalar = numpy_dtype(py, self.0)?;
        let info = match self.0 {
            DType::Bool => return scalar.call1((which == "max",)),
            _ if self.is_integer() => "iinfo",
            _ if self.is_floating() => "finfo",
            d => return Err(PyTypeError::new_err(format!("{} has no {which}", d.tf_name()))),
        };
        let module = if bits_of(self.0).is_some() { "ml_dtypes" } else { "numpy" };
        py.import(module)?.getattr(info)?.call1((scalar,))?.getattr(which)
    }
}
