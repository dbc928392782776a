//! Indexing: `x[i]`, `x[a:b:c]`, `x[..., None]`, with constants and with tensors.

use penstock_data::{DType, Tensor};
use penstock_ir::Attr;
use penstock_trace::{self as trace, Var};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyString, PyTuple};

use crate::convert::{is_tensor_like, to_var};
use crate::errors::{OrPy, described};
use crate::operand::fetch;
use crate::operators::operators;
use crate::{layer, tensor};

/// One bound of a slice.
enum Bound3 {
    Known(i64),
    Tensor(Var),
}

/// How many entries of a specification the masks speak of.
const MASK_BITS: usize = i64::BITS as usize;

/// The operands of `strided_slice` as they are collected.
#[derive(Default)]
struct Spec {
    begin: Vec<Bound3>,
    end: Vec<Bound3>,
    stride: Vec<Bound3>,
    begin_mask: i64,
    end_mask: i64,
    ellipsis_mask: i64,
    new_axis_mask: i64,
    shrink_axis_mask: i64,
}

impl Spec {
    fn push(&mut self, begin: Bound3, end: Bound3, stride: Bound3) -> i64 {
        self.begin.push(begin);
        self.end.push(end);
        self.stride.push(stride);
        1 << (self.begin.len() - 1)
    }

    /// The masks as attributes.
    fn masks(&self) -> [(&'static str, Attr); 5] {
        [
            ("begin_mask", Attr::Int(self.begin_mask)),
            ("end_mask", Attr::Int(self.end_mask)),
            ("ellipsis_mask", Attr::Int(self.ellipsis_mask)),
            ("new_axis_mask", Attr::Int(self.new_axis_mask)),
            ("shrink_axis_mask", Attr::Int(self.shrink_axis_mask)),
        ]
    }
}

/// Row `i` of an eager tensor, without a copy where it is not tiny.
pub(crate) fn row(py: Python<'_>, var: &Var, i: usize) -> PyResult<Var> {
    if trace::is_plain()
        && let Some(t) = var.tensor()
    {
        let row = t.rows(i, 1).and_then(|r| r.reshaped(&t.dims()[1..])).or_py(py)?;
        return Ok(Var::eager(row));
    }
    let mut spec = Spec::default();
    let bit = spec.push(Bound3::Known(i as i64), Bound3::Known(i as i64 + 1), Bound3::Known(1));
    spec.shrink_axis_mask |= bit;
    apply(py, var, spec)
}

/// `var[key]`.
pub(crate) fn get(py: Python<'_>, var: &Var, key: &Bound<'_, PyAny>) -> PyResult<Var> {
    if let (Some(t), Ok(i)) = (var.tensor(), key.cast::<PyInt>())
        && !key.is_instance_of::<PyBool>()
        && t.rank() > 0
    {
        let n = t.dims()[0] as i64;
        let i = saturated(i.as_any());
        let at = if i < 0 { i + n } else { i };
        if at >= 0 && at < n {
            return row(py, var, at as usize);
        }
    }
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(t) => t.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    // Masks, and indices of rank 1 and up, are beyond strided slices.
    for key in keys.iter().filter(|key| is_tensor_like(key)) {
        let index = to_var(key, None, None)?;
        if index.dtype() == DType::Bool || (index.dtype().is_integer() && index.shape().rank().is_some_and(|r| r > 0)) {
            let made = layer::call(py, "index_by_arrays", (tensor::wrap(py, var.clone())?, PyTuple::new(py, &keys)?))?;
            return to_var(&made, None, None);
        }
    }
    let rank = var.shape().rank();
    apply(py, var, specification(py, keys, rank)?)
}

/// Writes `value` to `variable[key]`, in place.
pub(crate) fn assign(py: Python<'_>, variable: &Var, key: &Bound<'_, PyAny>, value: Var) -> PyResult<()> {
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(t) => t.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let spec = specification(py, keys, variable.shape().rank())?;
    let masks = spec.masks();
    let inputs = [variable.clone(), vector(py, spec.begin)?, vector(py, spec.end)?, vector(py, spec.stride)?, value];
    trace::apply(&penstock_ops::updates::STRIDED_SLICE_ASSIGN, &inputs, &masks).or_py(py)?;
    Ok(())
}

/// The items of a subscript with the longest run of `:` as an ellipsis, where there are more items than a mask has bits.
fn shortened<'py>(
    py: Python<'py>,
    mut keys: Vec<Bound<'py, PyAny>>,
    rank: Option<usize>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if keys.len() <= MASK_BITS {
        return Ok(keys);
    }
    if let Some(rank) = rank {
        // Every dimension gets its item, behind an ellipsis or in its place.
        let ellipsis = keys.iter().position(|key| key.is_instance_of::<PyEllipsis>());
        let at = ellipsis.unwrap_or(keys.len());
        keys.splice(at..at + usize::from(ellipsis.is_some()), []);
        let used = keys.iter().filter(|key| !key.is_none() && !key.is_instance_of::<PyEllipsis>()).count();
        keys.splice(at..at, (used..rank).map(|_| PySlice::full(py).into_any()));
        let mut longest = 0..0;
        let mut start = 0;
        for (i, key) in keys.iter().enumerate() {
            if !is_whole(key)? {
                start = i + 1;
            } else if i + 1 - start > longest.len() {
                longest = start..i + 1;
            }
        }
        if used <= rank && !longest.is_empty() {
            keys.splice(longest, [PyEllipsis::get(py).to_owned().into_any()]);
        }
    }
    if keys.len() > MASK_BITS {
        return Err(PyIndexError::new_err(format!(
            "an index has at most {MASK_BITS} items besides one run of ':', got {}",
            keys.len()
        )));
    }
    Ok(keys)
}

/// Whether an item is `:`.
fn is_whole(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = key.py();
    let parts = [intern!(py, "start"), intern!(py, "stop"), intern!(py, "step")];
    Ok(key.is_instance_of::<PySlice>()
        && parts
            .into_iter()
            .map(|part| Ok(key.getattr(part)?.is_none()))
            .collect::<PyResult<Vec<_>>>()?
            .iter()
            .all(|&none| none))
}

/// The specification of a slice by the items of a subscript.
fn specification<'py>(py: Python<'py>, keys: Vec<Bound<'py, PyAny>>, rank: Option<usize>) -> PyResult<Spec> {
    let mut spec = Spec::default();
    let mut ellipses = 0;
    for key in &shortened(py, keys, rank)? {
        if key.is_none() {
            spec.new_axis_mask |= spec.push(Bound3::Known(0), Bound3::Known(0), Bound3::Known(1));
        } else if key.is_instance_of::<PyEllipsis>() {
            ellipses += 1;
            if ellipses > 1 {
                return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
            }
            spec.ellipsis_mask |= spec.push(Bound3::Known(0), Bound3::Known(0), Bound3::Known(1));
        } else if let Ok(slice) = key.cast::<PySlice>() {
            let part = |name: &Bound<'_, PyString>| -> PyResult<Option<Bound3>> {
                let v = slice.getattr(name)?;
                if v.is_none() { Ok(None) } else { bound(&v).map(Some) }
            };
            let (start, stop, step) =
                (part(intern!(py, "start"))?, part(intern!(py, "stop"))?, part(intern!(py, "step"))?);
            let (no_start, no_stop) = (start.is_none(), stop.is_none());
            if matches!(step, Some(Bound3::Known(0))) {
                return Err(pyo3::exceptions::PyValueError::new_err("slice step cannot be zero"));
            }
            let bit = spec.push(
                start.unwrap_or(Bound3::Known(0)),
                stop.unwrap_or(Bound3::Known(0)),
                step.unwrap_or(Bound3::Known(1)),
            );
            spec.begin_mask |= if no_start { bit } else { 0 };
            spec.end_mask |= if no_stop { bit } else { 0 };
        } else {
            let at = bound(key)?;
            let end = match &at {
                Bound3::Known(i) => Bound3::Known(i.wrapping_add(1)),
                Bound3::Tensor(v) => {
                    let one = to_var(1i64.into_pyobject(py)?.as_any(), Some(v.dtype()), None)?;
                    Bound3::Tensor(one_result(py, trace::apply(operators().add, &[v.clone(), one], &[]))?)
                }
            };
            let bit = spec.push(at, end, Bound3::Known(1));
            spec.shrink_axis_mask |= bit;
        }
    }
    Ok(spec)
}

fn one_result(py: Python<'_>, outs: penstock_data::Result<trace::Outs>) -> PyResult<Var> {
    outs.or_py(py).map(|mut o| o.remove(0))
}

/// An index or a slice bound.
fn bound(value: &Bound<'_, PyAny>) -> PyResult<Bound3> {
    let py = value.py();
    if let Ok(i) = value.cast_exact::<PyInt>() {
        return Ok(Bound3::Known(saturated(i)));
    }
    if is_tensor_like(value) {
        let var = to_var(value, None, None)?;
        if !var.dtype().is_integer() || var.shape().rank().is_some_and(|r| r != 0) {
            return Err(invalid_index(value));
        }
        if let Some(t) = trace::known(&var) {
            fetch(py, &t)?;
            return Ok(Bound3::Known(t.to_ints().or_py(py)?[0]));
        }
        let dtype = if matches!(var.dtype(), DType::I64 | DType::U64 | DType::U32) { DType::I64 } else { DType::I32 };
        return Ok(Bound3::Tensor(in_dtype(py, var, dtype)?));
    }
    if value.is_instance_of::<PyBool>() {
        return Err(invalid_index(value));
    }
    match value.call_method0("__index__") {
        Ok(i) => Ok(Bound3::Known(saturated(&i))),
        Err(_) => Err(invalid_index(value)),
    }
}

/// A Python integer as one of 64 bits, the nearest where it is beyond: no dimension is that long from either end.
fn saturated(value: &Bound<'_, PyAny>) -> i64 {
    value.extract().unwrap_or_else(|_| if value.lt(0).unwrap_or(false) { i64::MIN + 1 } else { i64::MAX - 1 })
}

fn invalid_index(value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`), scalar integer tensors, boolean masks and integer vectors are valid indices, got {}",
        described(value)
    ))
}

fn in_dtype(py: Python<'_>, var: Var, dtype: DType) -> PyResult<Var> {
    if var.dtype() == dtype { Ok(var) } else { crate::operand::cast(py, var, dtype) }
}

/// The bounds as one integer vector, of 32 bits where that is enough: a constant where all are known.
fn vector(py: Python<'_>, bounds: Vec<Bound3>) -> PyResult<Var> {
    let narrow = |i: i64| i32::try_from(i).ok();
    let wide = bounds.iter().any(|b| match b {
        Bound3::Known(i) => narrow(*i).is_none(),
        Bound3::Tensor(v) => v.dtype() == DType::I64,
    });
    let known: Option<Vec<i64>> = bounds
        .iter()
        .map(|b| match b {
            Bound3::Known(i) => Some(*i),
            Bound3::Tensor(_) => None,
        })
        .collect();
    if let Some(ints) = known {
        let short: Option<Vec<i32>> = ints.iter().map(|&i| narrow(i)).collect();
        return trace::constant(short.map_or_else(|| Tensor::vector(&ints), |ints| Tensor::vector(&ints))).or_py(py);
    }
    let dtype = if wide { DType::I64 } else { DType::I32 };
    let items = bounds
        .into_iter()
        .map(|b| match (b, wide) {
            (Bound3::Known(i), true) => trace::constant(Tensor::from(i)).or_py(py),
            (Bound3::Known(i), false) => trace::constant(Tensor::from(i as i32)).or_py(py),
            (Bound3::Tensor(v), _) => in_dtype(py, v, dtype),
        })
        .collect::<PyResult<Vec<_>>>()?;
    one_result(py, trace::apply(operators().stack, &items, &[]))
}

fn apply(py: Python<'_>, var: &Var, spec: Spec) -> PyResult<Var> {
    let masks = spec.masks();
    let inputs = [var.clone(), vector(py, spec.begin)?, vector(py, spec.end)?, vector(py, spec.stride)?];
    one_result(py, trace::apply(operators().strided_slice, &inputs, &masks))
}
