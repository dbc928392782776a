//! `penstock.Tensor`, and the operators that tensors and variables share.

#![expect(unsafe_code, reason = "the buffer protocol's slots are unsafe functions")]

use std::ffi::c_int;

use penstock_data::{Bool8, DType, Shape, Tensor};
use penstock_exec::eager;
use penstock_ir::{Attrs, OpDef};
use penstock_trace::{self as trace, Kind, Var};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyTuple};
use smallvec::SmallVec;

use crate::convert::to_var;
use crate::dtype::{self, PyDType};
use crate::errors::OrPy;
use crate::index;
use crate::ops::{Operators, operators};
use crate::variable::{PyVariable, PyVariableSlice};
use crate::{array, dlpack, layer};

/// What tensors and variables have in common: Python's operators.
///
/// An operand that is not a tensor becomes one of the tensor's dtype where a Python value can; dtypes
/// of tensors are never converted implicitly.
#[pyclass(subclass, frozen, name = "_Operand", module = "penstock._core")]
pub(crate) struct Operand;

/// A tensor: eager, or symbolic while a function is traced.
#[pyclass(extends = Operand, frozen, subclass, name = "Tensor", module = "penstock", weakref)]
pub(crate) struct PyTensor {
    pub(crate) var: Var,
    /// Whether Python's operators promote dtypes as the array API standard has it: so for tensors of
    /// `penstock.array_api` and what operators make of them. Those of other tensors are TensorFlow's.
    promotes: bool,
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
fn wrap_like(py: Python<'_>, var: Var, promotes: bool) -> PyResult<Bound<'_, PyTensor>> {
    Bound::new(py, PyClassInitializer::from(Operand).add_subclass(PyTensor { var, promotes }))
}

/// Whether the value is a tensor that promotes dtypes.
#[inline]
fn promotes(value: &Bound<'_, PyAny>) -> bool {
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

/// The value of an operand: a variable is read.
fn value_of(slf: &Bound<'_, Operand>) -> PyResult<Var> {
    let any = slf.as_any();
    if let Ok(t) = any.cast::<PyTensor>() {
        return Ok(t.get().var.clone());
    }
    any.cast::<PyVariable>()?.get().read(slf.py())
}

fn run(py: Python<'_>, op: &'static OpDef, inputs: &[Var], promotes: bool) -> PyResult<Py<PyAny>> {
    let mut outs = trace::dispatch(op, inputs, default_attrs(py, op)?).or_py(py)?;
    Ok(wrap_like(py, outs.remove(0), promotes)?.into_any().unbind())
}

/// The attributes of an operator of which none must be given.
fn default_attrs(py: Python<'_>, op: &'static OpDef) -> PyResult<Attrs> {
    if op.attrs.is_empty() { Ok(Attrs::EMPTY) } else { op.attributes(&[]).or_py(py) }
}

/// The two operands of a binary operator as tensors, of one dtype where one can adapt; `None` where
/// `other` cannot be one.
fn pair(slf: &Bound<'_, Operand>, other: &Bound<'_, PyAny>) -> PyResult<Option<(Var, Var)>> {
    let a = value_of(slf)?;
    if let Ok(t) = other.cast::<PyTensor>() {
        let b = t.get().var.clone();
        return if a.dtype() != b.dtype() && (t.get().promotes || promotes(slf.as_any())) {
            promoted(slf.py(), a, b).map(Some)
        } else {
            Ok(Some((a, b)))
        };
    }
    // Python's own values, the commonest, are not asked what they define.
    if !is_plain_value(other) && defers_to(other) {
        return Ok(None);
    }
    if a.dtype().is_float() && promotes(slf.as_any()) && other.is_instance_of::<PyComplex>() {
        let dtype = a.dtype().complex();
        let b = to_var(other, Some(dtype), None)?;
        return Ok(Some((cast(slf.py(), a, dtype)?, b)));
    }
    let hint = a.dtype();
    match to_var(other, None, Some(hint)) {
        Ok(b) => Ok(Some((a, b))),
        Err(e)
            if e.is_instance_of::<PyTypeError>(slf.py())
                && !crate::convert::is_tensor_like(other)
                && !is_plain_value(other) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Both in the dtype that theirs promote to, and as they are where there is none.
fn promoted(py: Python<'_>, a: Var, b: Var) -> PyResult<(Var, Var)> {
    match a.dtype().promote(b.dtype()) {
        Some(dtype) => {
            let to = |v: Var| if v.dtype() == dtype { Ok(v) } else { cast(py, v, dtype) };
            Ok((to(a)?, to(b)?))
        }
        None => Ok((a, b)),
    }
}

/// Whether the other operand's own operator is to be tried: it asks for it as NumPy's protocol has it.
fn defers_to(other: &Bound<'_, PyAny>) -> bool {
    !crate::array::is_array(other) && other.hasattr("__penstock_operand__").unwrap_or(false)
}

fn is_plain_value(value: &Bound<'_, PyAny>) -> bool {
    use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyString};
    value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyComplex>()
        || value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
}

/// Which operator of the table a Python operator is, by the dtype of its left operand.
type Choose = fn(&Operators, DType) -> &'static OpDef;

#[inline]
fn binary(slf: &Bound<'_, Operand>, other: &Bound<'_, PyAny>, choose: Choose, swapped: bool) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    // The commonest case first: two eager tensors, no trace, no tape.
    if trace::is_plain()
        && let (Ok(a), Ok(b)) = (slf.as_any().cast::<PyTensor>(), other.cast::<PyTensor>())
        && let (Some(a), Some(b)) = (a.get().var.tensor(), b.get().var.tensor())
    {
        let op = choose(operators(), a.dtype());
        let promotes = promotes(slf.as_any()) || promotes(other);
        if op.attrs.is_empty() && (a.dtype() == b.dtype() || !promotes) {
            let inputs = if swapped { [b, a] } else { [a, b] };
            let mut outs = eager(op, &inputs, &Attrs::EMPTY, trace::host()).or_py(py)?;
            return Ok(wrap_like(py, Var::eager(outs.remove(0)), promotes)?.into_any().unbind());
        }
    }
    let Some((a, b)) = pair(slf, other)? else { return Ok(py.NotImplemented()) };
    let op = choose(operators(), a.dtype());
    run(py, op, &if swapped { [b, a] } else { [a, b] }, promotes(slf.as_any()) || promotes(other))
}

fn unary(slf: &Bound<'_, Operand>, choose: Choose) -> PyResult<Py<PyAny>> {
    let v = value_of(slf)?;
    let op = choose(operators(), v.dtype());
    run(slf.py(), op, &[v], promotes(slf.as_any()))
}

/// The matrix product; of tensors that promote dtypes also with vectors, which TensorFlow's has not.
fn matrix_product(slf: &Bound<'_, Operand>, other: &Bound<'_, PyAny>, swapped: bool) -> PyResult<Py<PyAny>> {
    if promotes(slf.as_any()) || promotes(other) {
        let (a, b) = if swapped { (other, slf.as_any()) } else { (slf.as_any(), other) };
        return Ok(layer::call(slf.py(), "array_matmul", (a, b))?.unbind());
    }
    binary(slf, other, |o, _| o.matmul, swapped)
}

/// True division: integers become floating point first, as in TensorFlow.
fn true_divide(slf: &Bound<'_, Operand>, other: &Bound<'_, PyAny>, swapped: bool) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let Some((a, b)) = pair(slf, other)? else { return Ok(py.NotImplemented()) };
    let to = match a.dtype() {
        DType::I8 | DType::I16 | DType::U8 | DType::U16 => Some(DType::F32),
        d if d.is_integer() => Some(DType::F64),
        _ => None,
    };
    let (a, b) = match to {
        Some(to) if a.dtype() == b.dtype() => (cast(py, a, to)?, cast(py, b, to)?),
        _ => (a, b),
    };
    run(py, operators().div, &if swapped { [b, a] } else { [a, b] }, promotes(slf.as_any()) || promotes(other))
}

pub(crate) fn cast(py: Python<'_>, var: Var, dtype: DType) -> PyResult<Var> {
    trace::apply(operators().cast, &[var], &[("dtype", dtype.into())]).or_py(py).map(|mut o| o.remove(0))
}

fn logical_or_bitwise(dtype: DType, logical: &'static OpDef, bitwise: &'static OpDef) -> &'static OpDef {
    if dtype == DType::Bool { logical } else { bitwise }
}

#[pymethods]
impl Operand {
    /// Above NumPy arrays: `array + tensor` is the tensor's operator.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: i32 = 100;

    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| o.add_for(d), false)
    }
    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| o.add_for(d), true)
    }
    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.sub, false)
    }
    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.sub, true)
    }
    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.mul, false)
    }
    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.mul, true)
    }
    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        true_divide(slf, other, false)
    }
    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        true_divide(slf, other, true)
    }
    fn __floordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.floordiv, false)
    }
    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.floordiv, true)
    }
    fn __mod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.floormod, false)
    }
    fn __rmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.floormod, true)
    }
    fn __pow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if modulo.is_some_and(|m| !m.is_none()) {
            return Err(PyTypeError::new_err("pow() of tensors takes no modulus"));
        }
        binary(slf, other, |o, _| o.pow, false)
    }
    fn __rpow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.pow, true)
    }
    fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        matrix_product(slf, other, false)
    }
    fn __rmatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        matrix_product(slf, other, true)
    }
    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| logical_or_bitwise(d, o.logical_and, o.bitwise_and), false)
    }
    fn __rand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| logical_or_bitwise(d, o.logical_and, o.bitwise_and), true)
    }
    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| logical_or_bitwise(d, o.logical_or, o.bitwise_or), false)
    }
    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| logical_or_bitwise(d, o.logical_or, o.bitwise_or), true)
    }
    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| logical_or_bitwise(d, o.logical_xor, o.bitwise_xor), false)
    }
    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, d| logical_or_bitwise(d, o.logical_xor, o.bitwise_xor), true)
    }
    fn __lshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.left_shift, false)
    }
    fn __rlshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.left_shift, true)
    }
    fn __rshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.right_shift, false)
    }
    fn __rrshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf, other, |o, _| o.right_shift, true)
    }
    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, |o, _| o.neg)
    }
    fn __pos__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }
    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, |o, _| o.abs)
    }
    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        unary(slf, |o, d| logical_or_bitwise(d, o.logical_not, o.invert))
    }

    fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, cmp: CompareOp) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let choose: Choose = match cmp {
            CompareOp::Eq => |o, d| o.equal_for(d),
            CompareOp::Ne => |o, d| o.not_equal_for(d),
            CompareOp::Lt => |o, _| o.less,
            CompareOp::Le => |o, _| o.less_equal,
            CompareOp::Gt => |o, _| o.greater,
            CompareOp::Ge => |o, _| o.greater_equal,
        };
        let equality = matches!(cmp, CompareOp::Eq | CompareOp::Ne);
        if equality && other.is_none() {
            return Ok(matches!(cmp, CompareOp::Ne).into_pyobject(py)?.to_owned().into_any().unbind());
        }
        match binary(slf, other, choose, false) {
            // Shapes that do not broadcast, and values that cannot be tensors, are simply not equal.
            Err(e)
                if equality
                    && (e.is_instance_of::<PyTypeError>(py) || e.is_instance_of::<PyValueError>(py))
                    && !other.is_instance_of::<PyTensor>() =>
            {
                Ok(py.NotImplemented())
            }
            result => result,
        }
    }

    /// Fails: equality is elementwise, so a tensor has no hash. `ref()` gives a hashable handle. A tensor of a graph of
    /// TensorFlow 1 has one, as a key for `feed_dict`.
    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        if let Ok(t) = slf.as_any().cast::<PyTensor>()
            && t.get().var.as_symbolic().is_some_and(|s| trace::is_open_graph(s.trace))
        {
            return Ok(t.get().var.id() as isize);
        }
        Err(PyTypeError::new_err(format!(
            "{} is unhashable; use {}.ref() as the key instead",
            slf.get_type().name()?,
            slf.get_type().name()?.to_string().to_lowercase()
        )))
    }

    fn __getitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let var = value_of(slf)?;
        let part = index::get(slf.py(), &var, key)?;
        match slf.as_any().cast::<PyVariable>() {
            Ok(variable) => {
                // Its own memory: a slice that shared the variable's would have the next write copy all of it.
                let part = match part.tensor() {
                    Some(t) if trace::is_plain() => Var::eager(t.to_owned_memory().or_py(slf.py())?),
                    _ => part,
                };
                PyVariableSlice::wrap(variable, key, part)
            }
            Err(_) => Ok(wrap_like(slf.py(), part, promotes(slf.as_any()))?.into_any().unbind()),
        }
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let shape = value_of(slf)?.shape();
        match shape.dims() {
            Some([first, ..]) => first.known().ok_or_else(|| {
                PyTypeError::new_err("len() of a tensor whose first dimension is unknown; use tf.shape(x)[0]")
            }),
            Some([]) => Err(PyTypeError::new_err("len() of a scalar tensor")),
            None => Err(PyTypeError::new_err("len() of a tensor of unknown rank")),
        }
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let var = value_of(slf)?;
        if var.tensor().is_none() {
            return Err(layer::graph_type_error(
                py,
                "iterating over a symbolic tensor is not allowed: decorate the function with tf.function (with AutoGraph), or use tf.map_fn, tf.unstack or tf.while_loop",
            ));
        }
        if var.shape().rank() == Some(0) {
            return Err(PyTypeError::new_err("cannot iterate over a scalar tensor"));
        }
        let n = Self::__len__(slf)?;
        let promotes = promotes(slf.as_any());
        let items = (0..n).map(|i| wrap_like(py, index::row(py, &var, i)?, promotes)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, items)?.try_iter()?.into_any().unbind())
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        let var = value_of(slf)?;
        let Some(t) = var.tensor() else {
            return Err(layer::graph_type_error(
                py,
                "using a symbolic tensor as a Python bool is not allowed: decorate the function with tf.function (with AutoGraph), or use tf.cond or tf.while_loop",
            ));
        };
        if let Some(b) = t.item::<Bool8>() {
            return Ok(b.get());
        }
        if t.len() != 1 {
            return Err(PyValueError::new_err(
                "the truth value of a tensor with more or fewer than one element is ambiguous; use tf.reduce_any or tf.reduce_all",
            ));
        }
        match t.dtype() {
            DType::Str => Ok(!t.strings()[0].is_empty()),
            DType::Variant => Err(PyTypeError::new_err(LIST_HAS_NO_VALUE)),
            _ => {
                let b = cast(py, Var::eager(t.clone()), DType::Bool)?;
                Ok(b.tensor().and_then(|t| t.item::<Bool8>()).is_some_and(|b| b.get()))
            }
        }
    }

    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        scalar_item(slf, "int")?.call_method0(slf.py(), "__int__")
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        scalar_item(slf, "float")?.bind(slf.py()).extract()
    }

    fn __complex__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        Ok(py.get_type::<pyo3::types::PyComplex>().call1((scalar_item(slf, "complex")?,))?.unbind())
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let var = value_of(slf)?;
        if !var.dtype().is_integer() || var.shape().rank() != Some(0) {
            return Err(PyTypeError::new_err("only scalar integer tensors can be used as an index"));
        }
        if var.tensor().is_none() {
            return Err(layer::graph_type_error(py, "a symbolic tensor cannot be used as a Python index"));
        }
        scalar_item(slf, "index")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let array = eager_tensor(slf, "__array__")?;
        let array = array::to_numpy(&array, array.get().var.tensor().expect("eager_tensor gives an eager tensor"))?;
        let other = match dtype.filter(|d| !d.is_none()) {
            Some(d) => {
                let d = py.import("numpy")?.getattr("dtype")?.call1((d,))?;
                (!array.getattr("dtype")?.eq(&d)?).then_some(d)
            }
            None => None,
        };
        let text = array.getattr("dtype")?.getattr("hasobject")?.extract::<bool>()?;
        match (other, copy) {
            (Some(_), Some(false)) => Err(PyValueError::new_err(
                "an array of another dtype than the tensor's needs a copy, which copy=False forbids",
            )),
            (None, Some(false)) if text => {
                Err(PyValueError::new_err("an array of strings needs a copy, which copy=False forbids"))
            }
            (Some(d), _) => array.call_method1("astype", (d,)),
            (None, Some(true)) if !text => array.call_method0("copy"),
            (None, _) => Ok(array),
        }
    }
}

/// The only element as a Python object.
fn scalar_item(slf: &Bound<'_, Operand>, what: &str) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let var = value_of(slf)?;
    let Some(t) = var.tensor() else {
        return Err(layer::graph_type_error(
            py,
            &format!("a symbolic tensor has no value to convert by {what}() while the function is traced"),
        ));
    };
    if t.len() != 1 {
        return Err(PyTypeError::new_err(format!(
            "only tensors of one element can be converted by {what}(); shape is {:?}",
            t.dims()
        )));
    }
    item(py, t, 0)
}

/// The message where a list is asked for a value.
pub(crate) const LIST_HAS_NO_VALUE: &str = "a tensor of dtype variant is a list of tensors, which has no value in Python or NumPy; stack it or read its elements";

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
        DType::Variant => return Err(PyTypeError::new_err(LIST_HAS_NO_VALUE)),
    })
}

/// The operand as an eager Python tensor; a symbolic one has none.
fn eager_tensor<'py>(slf: &Bound<'py, Operand>, attribute: &str) -> PyResult<Bound<'py, PyTensor>> {
    let py = slf.py();
    if let Ok(t) = slf.as_any().cast::<PyTensor>() {
        return match t.get().var.kind() {
            Kind::Eager(_) => Ok(t.clone()),
            _ if attribute == "__array__" => Err(layer::not_implemented_error(
                py,
                "a symbolic tensor cannot be converted to a NumPy array while the function is traced",
            )),
            _ => Err(PyAttributeError::new_err(format!(
                "'Tensor' object has no attribute '{attribute}': it is symbolic, its value exists only while the traced function runs"
            ))),
        };
    }
    wrap(py, slf.as_any().cast::<PyVariable>()?.get().read(py)?)
}

/// A shape as `penstock.TensorShape`.
pub(crate) fn shape_object<'py>(py: Python<'py>, shape: &Shape) -> PyResult<Bound<'py, PyAny>> {
    let class = layer::get(py, "TensorShape")?;
    match shape.dims() {
        None => class.call1((py.None(),)),
        Some(dims) => class.call1((dims_tuple(py, dims)?,)),
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

    /// The value as a NumPy array (a NumPy scalar for rank 0): a read-only view of the tensor's memory.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = eager_tensor(slf.as_any().cast::<Operand>()?, "numpy")?;
        let Some(value) = tensor.get().var.tensor() else { unreachable!("eager_tensor gives an eager tensor") };
        let array = array::to_numpy(&tensor, value)?;
        if value.rank() == 0 { array.get_item(PyTuple::empty(slf.py())) } else { Ok(array) }
    }

    /// The value as Python numbers in nested lists; a plain number for rank 0.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::numpy(slf)?.call_method0("tolist")
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
        let py = slf.py();
        if spec.is_empty() || slf.get().var.tensor().is_none() {
            return Self::__str__(slf);
        }
        py.import("builtins")?.getattr("format")?.call1((Self::numpy(slf)?, spec))?.extract()
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
            return Err(PyBufferError::new_err(format!("argument 'dl_device' must be (1, 0), the CPU, got {device}")));
        }
        let versioned = match max_version.filter(|v| !v.is_none()) {
            Some(version) => version.extract::<(u32, u32)>()?.0 >= 1,
            None => false,
        };
        let tensor = eager_tensor(slf.as_any().cast::<Operand>()?, "__dlpack__")?;
        let value = tensor.get().var.tensor().expect("eager_tensor gives an eager tensor");
        dlpack::to_dlpack(slf.py(), value, versioned, copy == Some(true))
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
#[pyclass(frozen, name = "Reference", module = "penstock._core")]
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
