//! Python's operators, which tensors and variables share.

use std::sync::atomic::{AtomicBool, Ordering};

use penstock_data::{Bool8, DType, Tensor};
use penstock_ir::{Attrs, OpDef};
use penstock_trace::{self as trace, Var};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyTuple};

use crate::convert::to_var;
use crate::errors::{OrPy, class_name, has_attribute};
use crate::graph::tensor_name;
use crate::index;
use crate::operators::{Operators, operators};
use crate::tensor::{Operand, PyTensor, no_value, promotes, wrap, wrap_like};
use crate::variable::{PyVariable, PyVariableSlice};
use crate::{array, layer};

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
    if promotes(slf.as_any()) && array::is_array(other) {
        return promoted(slf.py(), a, to_var(other, None, None)?).map(Some);
    }
    match to_var(other, None, Some(a.dtype())) {
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
    !crate::array::is_array(other) && has_attribute(other, pyo3::intern!(other.py(), "__penstock_operand__"))
}

fn is_plain_value(value: &Bound<'_, PyAny>) -> bool {
    use pyo3::types::{PyBool, PyBytes, PyList, PyString};
    value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyComplex>()
        || value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
}

/// Whether a value is the number 2 of Python's own.
fn is_two(value: &Bound<'_, PyAny>) -> bool {
    let number = value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>();
    number && value.extract::<f64>().is_ok_and(|n| n == 2.0)
}

/// Which operator of the table a Python operator is, by the dtype of its left operand.
type Choose = fn(&Operators, DType) -> &'static OpDef;

#[inline]
fn binary(slf: &Bound<'_, Operand>, other: &Bound<'_, PyAny>, choose: Choose, swapped: bool) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    // The commonest case first: two eager tensors, no trace, no tape.
    if trace::is_plain()
        && let (Ok(x), Ok(y)) = (slf.as_any().cast::<PyTensor>(), other.cast::<PyTensor>())
        && let (x, y) = (x.get(), y.get())
        && let (Some(a), Some(b)) = (x.var.tensor(), y.var.tensor())
    {
        let op = choose(operators(), a.dtype());
        let promotes = x.promotes || y.promotes;
        if op.attrs.is_empty() && (a.dtype() == b.dtype() || !promotes) {
            let inputs = if swapped { [b, a] } else { [a, b] };
            let out = trace::run_now(op, &inputs, &Attrs::EMPTY).or_py(py)?.pop();
            let out = out.ok_or_else(|| PyTypeError::new_err("the operator has no result"))?;
            return Ok(wrap_like(py, Var::eager(out), promotes)?.into_any().unbind());
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

/// Whether `==` compares elements where operations run at once, and in traced functions.
static COMPARES_ELEMENTS: AtomicBool = AtomicBool::new(true);

/// Has `==` and `!=` of tensors and variables compare elements, or else objects.
#[pyfunction]
pub(crate) fn _set_tensor_equality(elements: bool) {
    COMPARES_ELEMENTS.store(elements, Ordering::Relaxed);
}

/// Whether `==` of tensors compares elements here: it compares objects within graphs of TensorFlow 1, and in functions that are traced
/// there.
#[pyfunction]
pub(crate) fn _compares_elements() -> bool {
    COMPARES_ELEMENTS.load(Ordering::Relaxed) && !trace::inside_open_graph()
}

/// Whether operations outside of traced functions go into a graph of TensorFlow 1.
#[pyfunction]
pub(crate) fn _inside_open_graph() -> bool {
    trace::inside_open_graph()
}

/// What tells the value of a tensor from others; `None` for all other operands.
fn identity(operand: &Bound<'_, PyAny>) -> Option<u64> {
    operand.cast::<PyTensor>().ok().map(|tensor| tensor.get().var.id())
}

/// Whether an operand is a tensor of a graph of TensorFlow 1.
fn in_open_graph(operand: &Bound<'_, PyAny>) -> bool {
    let tensor = operand.cast::<PyTensor>().ok();
    tensor.and_then(|t| t.get().var.as_symbolic()).is_some_and(|s| trace::is_open_graph(s.trace))
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
        // As for NumPy's arrays, a power that is written as 2 is a product.
        if is_two(other) {
            let v = value_of(slf)?;
            if v.dtype().is_float() || v.dtype().is_complex() {
                return run(slf.py(), operators().square, &[v], promotes(slf.as_any()));
            }
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
        if equality {
            // As in TensorFlow 1, so that a tensor can be looked for in a list.
            if !_compares_elements() || in_open_graph(slf) || in_open_graph(other) {
                let same = match (identity(slf), identity(other)) {
                    (None, None) => slf.is(other),
                    (own, others) => own == others,
                };
                let is_met = same == matches!(cmp, CompareOp::Eq);
                return Ok(is_met.into_pyobject(py)?.to_owned().into_any().unbind());
            }
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

    /// Fails where equality is elementwise: such a tensor has no hash. `ref()` gives a hashable handle. A tensor of a graph of
    /// TensorFlow 1 is equal to itself alone and has one, as a key for `feed_dict`, and so have all where `==` compares objects.
    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        if in_open_graph(slf) || !COMPARES_ELEMENTS.load(Ordering::Relaxed) {
            return Ok(identity(slf).map_or(slf.as_ptr() as isize, |id| id as isize));
        }
        Err(PyTypeError::new_err(format!(
            "{} is unhashable. Instead, use {}.ref() as the key.",
            class_name(slf),
            class_name(slf).to_lowercase()
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
            Some([]) => Err(PyTypeError::new_err("Scalar tensor has no `len()`")),
            None => Err(PyTypeError::new_err("len() of a tensor of unknown rank")),
        }
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let var = value_of(slf)?;
        if var.tensor().is_none() {
            return Err(layer::graph_type_error(
                py,
                "Iterating over a symbolic `tf.Tensor` is not allowed: decorate the function with tf.function (with AutoGraph), or use tf.map_fn, tf.unstack or tf.while_loop",
            ));
        }
        if var.shape().rank() == Some(0) {
            return Err(PyTypeError::new_err("Cannot iterate over a scalar tensor."));
        }
        let n = Self::__len__(slf)?;
        let promotes = promotes(slf.as_any());
        let items = (0..n).map(|i| wrap_like(py, index::row(py, &var, i)?, promotes)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, items)?.try_iter()?.into_any().unbind())
    }

    /// `__bool__` by the name that Python 2 had, which libraries look for.
    fn __nonzero__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::__bool__(slf)
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        let var = value_of(slf)?;
        let Some(t) = var.tensor() else {
            return Err(layer::graph_type_error(
                py,
                "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: decorate the function with tf.function (with AutoGraph), or use tf.cond or tf.while_loop",
            ));
        };
        fetch(py, t)?;
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
            dtype if let Some(message) = no_value(dtype) => Err(PyTypeError::new_err(message)),
            _ => {
                let b = cast(py, Var::eager(t.on_host().or_py(py)?), DType::Bool)?;
                Ok(b.tensor().and_then(|t| t.item::<Bool8>()).is_some_and(|b| b.get()))
            }
        }
    }

    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        // Strings of digits are numbers too, as in Python.
        Ok(slf.py().get_type::<PyInt>().call1((scalar_item(slf, "int")?,))?.unbind())
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
        let (tensor, value) = eager_tensor(slf, "__array__")?;
        let array = array::to_numpy(&tensor, &value)?;
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
    fetch(py, t)?;
    array::item(py, t, 0)
}

/// The error of a symbolic tensor that is asked for what only a value has.
pub(crate) fn no_attribute(attribute: &str) -> PyErr {
    PyAttributeError::new_err(format!(
        "'Tensor' object has no attribute '{attribute}': it is symbolic, its value exists only while the traced function runs"
    ))
}

/// Copies a tensor's elements to the host where they are on a device, and lets others run meanwhile: whoever reads them then
/// need not wait.
///
/// # Errors
/// What the work that computes them has rejected.
pub(crate) fn fetch(py: Python<'_>, tensor: &Tensor) -> PyResult<()> {
    match tensor.remote() {
        Some(_) => py.detach(|| tensor.on_host()).map(|_| ()).or_py(py),
        None => Ok(()),
    }
}

/// Waits until it is known whether the work that computes a tensor's elements has rejected something, and lets others run meanwhile.
///
/// # Errors
/// What that work has rejected.
pub(crate) fn settle(py: Python<'_>, tensor: &Tensor) -> PyResult<()> {
    match tensor.remote() {
        Some(_) => py.detach(|| tensor.settle()).or_py(py),
        None => Ok(()),
    }
}

/// The operand as an eager Python tensor, with its value; a symbolic one has none.
pub(crate) fn eager_tensor<'py>(
    slf: &Bound<'py, Operand>,
    attribute: &str,
) -> PyResult<(Bound<'py, PyTensor>, Tensor)> {
    let py = slf.py();
    let tensor = match slf.as_any().cast::<PyTensor>() {
        Ok(tensor) => tensor.clone(),
        Err(_) => wrap(py, slf.as_any().cast::<PyVariable>()?.get().read(py)?)?,
    };
    let value = tensor.get().var.tensor().cloned();
    match value {
        Some(value) => {
            fetch(py, &value)?;
            Ok((tensor, value))
        }
        None if slf.is_instance_of::<PyTensor>() && attribute != "__array__" => Err(no_attribute(attribute)),
        None => Err(layer::not_implemented_error(
            py,
            &match tensor.get().var.as_symbolic().map(tensor_name).filter(|_| slf.is_instance_of::<PyTensor>()) {
                Some(name) => format!(
                    "Cannot convert a symbolic tf.Tensor ({name}) to a numpy array while the function is traced. This error \
                     may indicate that you're trying to pass a Tensor to a NumPy call, which is not supported: use what \
                     tf has for it, or tf.numpy_function, which calls NumPy when the graph runs"
                ),
                None => "numpy() of a variable is only available when eager execution is enabled: its value cannot be \
                         converted to a numpy array while the function is traced"
                    .to_owned(),
            },
        )),
    }
}

/// The value of a tensor or a variable as a NumPy array, or as a scalar for rank 0.
pub(crate) fn numpy_of<'py>(operand: &Bound<'py, Operand>) -> PyResult<Bound<'py, PyAny>> {
    let (tensor, value) = eager_tensor(operand, "numpy")?;
    let array = array::to_numpy(&tensor, &value)?;
    if value.rank() == 0 { array.get_item(PyTuple::empty(operand.py())) } else { Ok(array) }
}
