//! Python values to tensors.

use std::sync::Arc;

use penstock_data::{
    Bool8, Bytes, C64, C128, DType, Dims, Element, Error, MAX_RANK, Narrow, NarrowFormat, Tensor, bf16, f16, memory,
    with_dtype,
};
use penstock_trace::{self as trace, Var};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyRange, PyString, PyTuple};

use crate::array;
use crate::depth::deeper;
use crate::errors::{OrPy, class_name, described};
use crate::gpu;
use crate::tensor::PyTensor;
use crate::variable::PyVariable;

/// One Python scalar, before its dtype is settled.
enum Scalar {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(C128),
    Str(Bytes),
}

impl Scalar {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
        Ok(Some(if let Ok(v) = value.cast::<PyBool>() {
            Scalar::Bool(v.is_true())
        } else if value.is_instance_of::<PyInt>() {
            // With the stable ABI only 64 bits are read directly.
            Scalar::Int(match value.extract::<i64>() {
                Ok(v) => i128::from(v),
                Err(_) => value.extract().map_err(|_| {
                    PyValueError::new_err(format!("{} does not fit any integer dtype", described(value)))
                })?,
            })
        } else if let Ok(v) = value.cast_exact::<PyFloat>() {
            // A NumPy `float64` is a Python float too, but has a dtype of its own.
            Scalar::Float(v.value())
        } else if let Ok(v) = value.cast::<PyComplex>() {
            Scalar::Complex(C128::new(v.real(), v.imag()))
        } else if let Ok(v) = value.cast::<PyString>() {
            Scalar::Str(v.to_str()?.as_bytes().into())
        } else if let Ok(v) = value.cast::<PyBytes>() {
            Scalar::Str(v.as_bytes().into())
        } else {
            return Ok(None);
        }))
    }

    /// What the value becomes where nothing asks for another dtype.
    fn natural(&self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(v) if i32::try_from(*v).is_ok() => DType::I32,
            Scalar::Int(v) if i64::try_from(*v).is_ok() => DType::I64,
            Scalar::Int(_) => DType::U64,
            Scalar::Float(_) => DType::F32,
            Scalar::Complex(_) => DType::C128,
            Scalar::Str(_) => DType::Str,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Scalar::Bool(_) => "bool",
            Scalar::Int(_) => "int",
            Scalar::Float(_) => "float",
            Scalar::Complex(_) => "complex",
            Scalar::Str(_) => "str",
        }
    }

    fn refuse(&self, dtype: DType) -> PyErr {
        PyTypeError::new_err(format!("cannot convert a Python {} to dtype {}", self.kind(), dtype.tf_name()))
    }
}

/// The dtype of a list: that of all its scalars, or of the wider kind.
fn common(scalars: &[Scalar]) -> PyResult<DType> {
    let mut dtype: Option<DType> = None;
    for s in scalars {
        let next = s.natural();
        dtype = Some(match dtype {
            None => next,
            Some(d) if d == next => d,
            Some(d) if d.is_integer() && next.is_integer() => {
                if d == DType::U64 || next == DType::U64 {
                    DType::U64
                } else {
                    DType::I64
                }
            }
            Some(d) if d.is_numeric() && next.is_numeric() => match (d.is_complex() || next.is_complex(), d) {
                (true, _) => DType::C128,
                _ => DType::F32,
            },
            Some(d) => {
                return Err(PyValueError::new_err(format!(
                    "a list of mixed {} and {} values has no common dtype",
                    d.tf_name(),
                    next.tf_name()
                )));
            }
        });
    }
    Ok(dtype.unwrap_or(DType::F32))
}

/// A scalar as an element.
trait FromScalar: Element {
    fn from_scalar(s: &Scalar) -> PyResult<Self>;
}

macro_rules! from_scalar_int {
    ($($ty:ty),*) => {$(
        impl FromScalar for $ty {
            fn from_scalar(s: &Scalar) -> PyResult<Self> {
                match s {
                    Scalar::Int(v) => <$ty>::try_from(*v).map_err(|_| {
                        PyValueError::new_err(format!("{v} is out of range for dtype {}", Self::DTYPE.tf_name()))
                    }),
                    other => Err(other.refuse(Self::DTYPE)),
                }
            }
        }
    )*};
}
from_scalar_int!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! from_scalar_float {
    ($($ty:ty: $make:expr),*) => {$(
        impl FromScalar for $ty {
            fn from_scalar(s: &Scalar) -> PyResult<Self> {
                match s {
                    Scalar::Int(v) => Ok($make(*v as f64)),
                    Scalar::Float(v) => Ok($make(*v)),
                    other => Err(other.refuse(Self::DTYPE)),
                }
            }
        }
    )*};
}
from_scalar_float!(f16: f16::from_f64, bf16: bf16::from_f64, f32: |v| v as f32, f64: |v| v);

macro_rules! from_scalar_complex {
    ($($ty:ty: $part:ty),*) => {$(
        impl FromScalar for $ty {
            fn from_scalar(s: &Scalar) -> PyResult<Self> {
                match s {
                    Scalar::Int(v) => Ok(<$ty>::new(*v as $part, 0.0)),
                    Scalar::Float(v) => Ok(<$ty>::new(*v as $part, 0.0)),
                    Scalar::Complex(v) => Ok(<$ty>::new(v.re as $part, v.im as $part)),
                    other => Err(other.refuse(Self::DTYPE)),
                }
            }
        }
    )*};
}
from_scalar_complex!(C64: f32, C128: f64);

impl FromScalar for Bool8 {
    fn from_scalar(s: &Scalar) -> PyResult<Self> {
        match s {
            Scalar::Bool(v) => Ok(Bool8::new(*v)),
            other => Err(other.refuse(DType::Bool)),
        }
    }
}

impl<const D: u8> FromScalar for Narrow<D> {
    fn from_scalar(s: &Scalar) -> PyResult<Self> {
        match (s, Self::FORMAT) {
            (Scalar::Int(v), NarrowFormat::Float(_)) => Ok(Narrow::from_f32(*v as f32)),
            (Scalar::Float(v), NarrowFormat::Float(_)) => Ok(Narrow::from_f64(*v)),
            (Scalar::Int(v), NarrowFormat::Int { .. }) => {
                let element = Narrow::from_f32(*v as f32);
                (f64::from(element.to_f32()) == *v as f64).then_some(element).ok_or_else(|| {
                    PyValueError::new_err(format!("{v} is out of range for dtype {}", Self::DTYPE.tf_name()))
                })
            }
            (other, _) => Err(other.refuse(Self::DTYPE)),
        }
    }
}

fn build(py: Python<'_>, scalars: &[Scalar], dims: &[usize], dtype: DType) -> PyResult<Tensor> {
    let of = match dtype {
        DType::Variant => Some("lists of tensors"),
        DType::Resource => Some("lookup tables"),
        _ => None,
    };
    if let Some(of) = of {
        let name = dtype.tf_name();
        return Err(PyTypeError::new_err(format!("Python values cannot be converted to dtype {name}, that of {of}")));
    }
    if dtype == DType::Str {
        let mut strings: Vec<Bytes> = memory::with_room(scalars.len()).or_py(py)?;
        for s in scalars {
            strings.push(match s {
                Scalar::Str(v) => v.clone(),
                other => return Err(other.refuse(DType::Str)),
            });
        }
        return Tensor::from_strings(dims, strings).or_py(py);
    }
    fn fill<T: FromScalar>(py: Python<'_>, scalars: &[Scalar], dims: &[usize]) -> PyResult<Tensor> {
        if let ([s], []) = (scalars, dims) {
            return Ok(Tensor::scalar(T::from_scalar(s)?));
        }
        let mut t = Tensor::empty(T::DTYPE, dims).or_py(py)?;
        for (to, s) in t.as_mut_slice::<T>().iter_mut().zip(scalars) {
            *to = T::from_scalar(s)?;
        }
        Ok(t)
    }
    with_dtype!(plain, dtype, T => fill::<T>(py, scalars, dims),
        else with_dtype!(narrow, dtype, T => fill::<T>(py, scalars, dims), else unreachable!("strings and lists are handled above")))
}

/// After so many scalars an interrupt is seen.
const POLLED: usize = 1 << 18;

/// Walks nested sequences: appends their scalars and checks that they are rectangular. `Ok(false)`
/// where something in them is neither a sequence nor a Python scalar.
fn walk(value: &Bound<'_, PyAny>, depth: usize, dims: &mut Dims, scalars: &mut Vec<Scalar>) -> PyResult<bool> {
    if let Some(scalar) = Scalar::of(value)? {
        if depth != dims.len() {
            return Err(ragged());
        }
        memory::push(scalars, scalar).or_py(value.py())?;
        if scalars.len().is_multiple_of(POLLED) {
            value.py().check_signals()?;
        }
        return Ok(true);
    }
    let Some(items) = sequence_items(value)? else { return Ok(false) };
    if depth == MAX_RANK {
        return Err(PyValueError::new_err(format!(
            "a tensor has at most {MAX_RANK} dimensions, but the sequence nests deeper; does it contain itself?"
        )));
    }
    if depth == dims.len() && scalars.is_empty() {
        dims.push(items.len());
    } else if dims.get(depth) != Some(&items.len()) {
        return Err(ragged());
    }
    if items.len() > 1 << 16
        && items.first().is_some_and(|i| i.is_instance_of::<PyString>() || i.is_instance_of::<PyBytes>())
    {
        // Strings are copied one by one, each in a way that cannot fail.
        memory::with_room::<[u8; 64]>(items.len()).or_py(value.py())?;
    }
    deeper(|| {
        for item in items {
            if !walk(&item, depth + 1, dims, scalars)? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn ragged() -> PyErr {
    PyValueError::new_err(
        "Can't convert non-rectangular Python sequence to Tensor: all inner sequences must have the same length",
    )
}

/// The items of a list, a tuple or a range; `None` for anything else.
fn sequence_items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = value.py();
    if let Ok(list) = value.cast::<PyList>() {
        collected(py, list.iter()).map(Some)
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        collected(py, tuple.iter()).map(Some)
    } else if value.is_instance_of::<PyRange>() {
        bounded_items(value).map(Some)
    } else {
        Ok(None)
    }
}

/// Items that are there already.
fn collected<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut out = memory::with_room(items.len()).or_py(py)?;
    for item in items {
        memory::push(&mut out, item).or_py(py)?;
        if out.len().is_multiple_of(POLLED) {
            py.check_signals()?;
        }
    }
    Ok(out)
}

/// The items of something whose number of items is known, but which need not hold them: a range makes each when it is
/// asked for. `ResourceExhausted` where there is no memory for all of them.
pub(crate) fn bounded_items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = value.py();
    let too_long = || Error::exhausted("a sequence is too long: there is no memory for its items");
    let count = value.len().map_err(|_| too_long()).or_py(py)?;
    // An item takes memory of its own, beside its place here and what it becomes.
    memory::with_room::<[u8; 64]>(count).map_err(|_| too_long()).or_py(py)?;
    let mut items = memory::with_room(count).or_py(py)?;
    for item in value.try_iter()? {
        memory::push(&mut items, item?).or_py(py)?;
        if items.len().is_multiple_of(POLLED) {
            py.check_signals()?;
        }
    }
    Ok(items)
}

/// The tensor of Python scalars and nested sequences of them; `None` where there is something else in it.
pub(crate) fn from_python(
    value: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    hint: Option<DType>,
) -> PyResult<Option<Tensor>> {
    let py = value.py();
    let (mut dims, mut scalars) = (Dims::new(), Vec::new());
    if !walk(value, 0, &mut dims, &mut scalars)? {
        return Ok(None);
    }
    if let Some(dtype) = dtype {
        return build(py, &scalars, &dims, dtype).map(Some);
    }
    let natural = common(&scalars)?;
    let fits = |hint: DType| {
        scalars.iter().all(|s| match s {
            Scalar::Bool(_) => hint == DType::Bool,
            Scalar::Int(_) => hint.is_numeric() || hint.is_narrow(),
            Scalar::Float(_) => {
                hint.is_differentiable() || matches!(NarrowFormat::of(hint), Some(NarrowFormat::Float(_)))
            }
            Scalar::Complex(_) => hint.is_complex(),
            Scalar::Str(_) => hint == DType::Str,
        })
    };
    let dtype = hint.filter(|&h| fits(h)).unwrap_or(natural);
    build(py, &scalars, &dims, dtype).map(Some)
}

/// Whatever can be a tensor, as one.
///
/// `dtype` must be met; `hint` is met where a Python value or an array can, see `array::adapt`.
pub(crate) fn to_var(value: &Bound<'_, PyAny>, dtype: Option<DType>, hint: Option<DType>) -> PyResult<Var> {
    let py = value.py();
    if let Ok(t) = value.cast::<PyTensor>() {
        let var = &t.get().var;
        return match trace::inaccessible(var) {
            Some(error) => Err(error).or_py(py),
            None => expect_dtype(var.clone(), dtype),
        };
    }
    if let Ok(v) = value.cast::<PyVariable>() {
        return expect_dtype(v.get().read(py)?, dtype);
    }
    // What a class says of its own conversion comes before its being a number, a sequence or an array.
    if !array::is_builtin(value)
        && !array::is_numpy(value)
        && let Some(var) = deeper(|| converted_by_class(value, dtype))?
    {
        return expect_dtype(var, dtype);
    }
    if let Some(tensor) = from_python(value, dtype, hint)? {
        return trace::constant(tensor).or_py(py);
    }
    let arrayed = match gpu::from_array(value)? {
        Some(tensor) => Some(array::meet(py, tensor, dtype)?),
        None => array::from_array(value, dtype)?,
    };
    if let Some(tensor) = arrayed {
        let tensor = match (dtype, hint) {
            (None, Some(hint)) => array::adapt(py, tensor, hint)?,
            _ => tensor,
        };
        return trace::constant(tensor).or_py(py);
    }
    if let Some(items) = sequence_items(value)? {
        return deeper(|| stack(py, items, dtype, hint));
    }
    if value.is_none() {
        return Err(PyValueError::new_err("None values not supported."));
    }
    Err(PyTypeError::new_err(format!(
        "cannot convert a value of type {} to a tensor: {}",
        class_name(value),
        described(value)
    )))
}

fn expect_dtype(var: Var, dtype: Option<DType>) -> PyResult<Var> {
    match dtype {
        Some(d) if d != var.dtype() => Err(PyValueError::new_err(format!(
            "Tensor conversion requested dtype {} for Tensor with dtype {}; use tf.cast",
            d.tf_name(),
            var.dtype().tf_name()
        ))),
        _ => Ok(var),
    }
}

/// A sequence with tensors in it: its items become tensors of one dtype, then one tensor.
fn stack(py: Python<'_>, items: Vec<Bound<'_, PyAny>>, dtype: Option<DType>, hint: Option<DType>) -> PyResult<Var> {
    let inner = match dtype {
        Some(dtype) => Some(dtype),
        None => dtype_of_all(&items, hint)?,
    };
    let vars = items.iter().map(|v| to_var(v, dtype, inner)).collect::<PyResult<Vec<_>>>()?;
    let op = crate::operators::find("stack");
    trace::apply(op, &vars, &[]).or_py(py).map(|mut outs| outs.remove(0))
}

/// The dtype that values have in common: that of the first tensor in them; without one `hint`, where all of their numbers
/// go there; else the one that arrays and Python's numbers meet in.
///
/// # Errors
/// `RecursionError` where they nest too deeply.
pub(crate) fn dtype_of_all(values: &[Bound<'_, PyAny>], hint: Option<DType>) -> PyResult<Option<DType>> {
    let mut found = Found::default();
    values.iter().try_for_each(|v| found.add(v))?;
    let own = match (found.array, found.number) {
        (Some(array), Some(number)) if kind(number) > kind(array) => Some(number),
        (Some(array), _) => Some(array),
        (None, number) => number,
    };
    Ok(found.tensor.or_else(|| hint.filter(|&h| own.is_none_or(|own| array::goes(own, h)))).or(own))
}

/// The dtypes in a nest of values.
#[derive(Default)]
struct Found {
    /// That of the first tensor.
    tensor: Option<DType>,
    /// What those of arrays promote to.
    array: Option<DType>,
    /// What those of Python's numbers promote to.
    number: Option<DType>,
}

impl Found {
    fn add(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let meet = |a: Option<DType>, b: DType| Some(a.map_or(b, |a| wider(a, b)));
        if let Ok(t) = value.cast::<PyTensor>() {
            self.tensor.get_or_insert(t.get().var.dtype());
        } else if let Ok(v) = value.cast::<PyVariable>() {
            self.tensor.get_or_insert(v.get().variable.dtype());
        } else if array::is_array(value) {
            if let Ok(dtype) = value.getattr("dtype").and_then(|d| crate::dtype::parse(&d)) {
                self.array = meet(self.array, dtype);
            }
        } else if let Ok(Some(scalar)) = Scalar::of(value) {
            self.number = meet(self.number, scalar.natural());
        } else {
            let items = sequence_items(value)?.unwrap_or_default();
            deeper(|| items.iter().try_for_each(|v| self.add(v)))?;
        }
        Ok(())
    }
}

/// The dtype of both, or the one of the wider kind.
fn wider(a: DType, b: DType) -> DType {
    a.promote(b).unwrap_or(if kind(b) > kind(a) { b } else { a })
}

/// Whether a kind of number is that of `to`, or one that it holds.
pub(crate) fn widens(from: DType, to: DType) -> bool {
    kind(from) == kind(to) || (kind(from) >= 1 && kind(from) < kind(to) && kind(to) <= 3)
}

/// Kinds of numbers, each of which holds those before it.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        d if d.is_integer() => 1,
        d if d.is_float() => 2,
        d if d.is_complex() => 3,
        _ => 4,
    }
}

/// Conversion by `__tf_tensor__`, or by a function registered for a base class.
fn converted_by_class(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Var>> {
    let py = value.py();
    let dtype = dtype.map(|d| crate::dtype::object(py, d)).transpose()?;
    let made = match value.getattr_opt(pyo3::intern!(py, "__tf_tensor__"))? {
        Some(method) => method.call1((dtype,))?,
        None => {
            let made = py.import("penstock._runtime.conversion")?.getattr("convert")?.call1((value, dtype))?;
            if made.is_none() {
                return Ok(None);
            }
            made
        }
    };
    // Whatever else it is could be converted by its class in turn, without end.
    if made.is_instance_of::<PyTensor>() || made.is_instance_of::<PyVariable>() {
        return to_var(&made, None, None).map(Some);
    }
    Err(PyTypeError::new_err(format!(
        "the conversion of {} to a tensor gave a value of type {}, not a tensor",
        class_name(value),
        class_name(&made)
    )))
}

/// Extents given as an integer, a sequence or a shape object; `None` entries are unknown.
pub(crate) fn shape_of(value: &Bound<'_, PyAny>) -> PyResult<penstock_data::Shape> {
    use penstock_data::{Dim, Shape};
    if value.is_none() {
        return Ok(Shape::UNRANKED);
    }
    let dims = value.getattr("_dims").ok();
    let value = dims.as_ref().unwrap_or(value);
    if value.is_none() {
        return Ok(Shape::UNRANKED);
    }
    let dim = |v: &Bound<'_, PyAny>| -> PyResult<Dim> {
        if v.is_none() {
            return Ok(Dim::Unknown);
        }
        let n: i64 = v
            .extract()
            .map_err(|_| PyTypeError::new_err(format!("a dimension must be an int or None, got {}", described(v))))?;
        match usize::try_from(n) {
            Ok(n) => Ok(Dim::Known(n)),
            Err(_) => Err(PyValueError::new_err(format!("Dimension {n} must be >= 0"))),
        }
    };
    if value.is_instance_of::<PyInt>() {
        return Ok(Shape::new([dim(value)?]));
    }
    // What is iterated may have no end.
    let dims = value.try_iter()?.take(MAX_RANK + 1).map(|v| dim(&v?)).collect::<PyResult<Vec<_>>>()?;
    if dims.len() > MAX_RANK {
        return Err(PyValueError::new_err(format!("a tensor has at most {MAX_RANK} dimensions, the shape has more")));
    }
    Ok(Shape::new(dims))
}

/// Whether the value is one that this module makes into a tensor of its own accord: a tensor or an array.
pub(crate) fn is_tensor_like(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyTensor>() || value.is_instance_of::<PyVariable>() || array::is_array(value)
}

/// The bytes of one string element as Python `bytes`.
pub(crate) fn bytes_object<'py>(py: Python<'py>, value: &Arc<[u8]>) -> Bound<'py, PyBytes> {
    PyBytes::new(py, value)
}

/// A dtype or a `TensorSpec` as a type.
pub(crate) fn spec_type(value: &Bound<'_, PyAny>) -> PyResult<penstock_ir::Type> {
    if let (Ok(dtype), Ok(shape)) = (value.getattr("dtype"), value.getattr("shape")) {
        return Ok(penstock_ir::Type::Tensor(crate::dtype::parse(&dtype)?, shape_of(&shape)?));
    }
    Ok(penstock_ir::Type::Tensor(crate::dtype::parse(value)?, penstock_data::Shape::UNRANKED))
}
