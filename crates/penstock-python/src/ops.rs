//! Operators as Python callables.

use penstock_data::DType;
use penstock_ir::{ArgType, Attr, AttrDef, AttrDefault, AttrKind, Attrs, OpDef, OpSet};
use penstock_trace::{self as trace, Var};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use smallvec::SmallVec;

use crate::convert::{self, spec_type, to_var};
use crate::dtype;
use crate::errors::{OrPy, said};
use crate::layer;
use crate::operators::wrap_outs;
use crate::public_names::in_public;
use crate::stack::{Callable, Stack, StackCall, adopt, with_vectorcall};
use crate::tensor::PyTensor;
use crate::variable::PyVariable;

// An operator of the engine, callable on tensors: `raw_ops.matmul(a, b, transpose_b=True)`.
//
// Operands come by position or keyword, attributes by keyword. Operands that are not tensors are
// converted: to the dtype of the tensors that share their dtype variable, where a Python value can.
//
// This is no doc comment: a docstring of the class would hide the `__doc__` of each operator.
#[pyclass(extends = Callable, subclass, frozen, name = "Op", module = "penstock._core")]
pub(crate) struct PyOp(pub(crate) &'static OpDef);

#[pymethods]
impl PyOp {
    #[getter]
    fn __name__(&self) -> &'static str {
        self.0.name
    }

    #[getter]
    fn __doc__(&self) -> &'static str {
        self.0.doc
    }

    /// The name of the GraphDef node.
    #[getter]
    fn tf_name(&self) -> &'static str {
        self.0.tf_name
    }

    /// `(name, kind)` of each operand; a variadic one's kind starts with `*`.
    #[getter]
    fn operands(&self) -> Vec<(&'static str, String)> {
        self.0
            .operands
            .iter()
            .map(|a| {
                let kind = match a.ty {
                    ArgType::Var(v) => self.0.dtypes[v as usize].name.to_owned(),
                    ArgType::Fixed(d) => d.tf_name().to_owned(),
                    ArgType::In(set) => set.to_string(),
                    ArgType::Variable => "variable".to_owned(),
                    ArgType::Anything => "any".to_owned(),
                };
                (a.name, if a.variadic { format!("*{kind}") } else { kind })
            })
            .collect()
    }

    /// `(name, kind, default)` of each attribute; the default is `...` where it must be given.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, String, Bound<'py, PyAny>)>> {
        self.0
            .attrs
            .iter()
            .map(|a| {
                let default = match a.default {
                    AttrDefault::Required => py.Ellipsis().into_bound(py),
                    AttrDefault::Optional => py.None().into_bound(py),
                    AttrDefault::Bool(v) => v.into_pyobject(py)?.to_owned().into_any(),
                    AttrDefault::Int(v) => v.into_pyobject(py)?.into_any(),
                    AttrDefault::Float(v) => v.into_pyobject(py)?.into_any(),
                    AttrDefault::Str(v) => v.into_pyobject(py)?.into_any(),
                    AttrDefault::DType(v) => dtype::object(py, v)?.clone().into_any(),
                };
                Ok((a.name, format!("{:?}", a.kind), default))
            })
            .collect()
    }

    /// The dtype variables: `(name, dtypes)`.
    #[getter]
    fn dtype_variables(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        self.0.dtypes.iter().map(|v| (v.name, v.set.iter().map(DType::tf_name).collect())).collect()
    }

    /// Whether it has a gradient: `"rule"`, `"zero"`, `"structural"`, or the reason why not.
    #[getter]
    fn gradient(&self) -> &'static str {
        match self.0.vjp {
            penstock_ir::Vjp::Rule(_) => "rule",
            penstock_ir::Vjp::Zero => "zero",
            penstock_ir::Vjp::Structural => "structural",
            penstock_ir::Vjp::NonDifferentiable(reason) => reason,
        }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let named = kwargs.into_iter().flat_map(|kwargs| kwargs.iter());
        self.apply(py, args.iter().collect(), named)
    }

    fn __repr__(&self) -> String {
        format!("<op {}>", self.0.name)
    }
}

impl StackCall for PyOp {
    fn call_quickly<'py>(slf: &Bound<'py, Self>, stack: &Stack<'_, 'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        if !trace::is_plain() {
            return None;
        }
        let py = stack.py();
        let args = stack.positional().map(|arg| arg.to_owned()).collect();
        Some(slf.get().apply(py, args, stack.named()).map(|made| made.into_bound(py)))
    }

    fn call<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        slf.get().__call__(py, args, kwargs).map(|made| made.into_bound(py))
    }
}

/// The class that operators are of.
fn op_class<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = || with_vectorcall(&py.get_type::<PyOp>()).map(Bound::unbind);
    Ok(CLASS.get_or_try_init(py, make)?.bind(py))
}

/// The error of a name that is no string.
#[cold]
fn no_name(value: &Bound<'_, PyAny>) -> PyErr {
    let shown = value.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("argument 'name' must be a string, got {shown}"))
}

/// Positional arguments of a call.
type Positional<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

impl PyOp {
    /// Applies the operator.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        args: Positional<'py>,
        named: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    ) -> PyResult<Py<PyAny>> {
        let (inputs, attrs, name) = self.bind(py, args, named)?;
        if let Some(name) = name.as_ref().filter(|_| trace::is_tracing()) {
            layer::call(py, "check_name", (name,))?;
        }
        let outs = trace::dispatch(self.0, &inputs, attrs).or_py(py)?;
        if let (Some(name), [out, ..]) = (name, outs.as_slice()) {
            trace::set_name(out, &name);
        }
        wrap_outs(py, outs)
    }

    /// Sorts arguments into operands and attributes.
    fn bind<'py>(
        &self,
        py: Python<'py>,
        mut raw: Positional<'py>,
        by_keyword: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    ) -> PyResult<(SmallVec<[Var; 4]>, Attrs, Option<String>)> {
        let op = self.0;
        let mut named: SmallVec<[(&'static str, Attr); 4]> = SmallVec::new();
        let mut label = None;
        let mut keyword: Vec<(usize, Bound<'_, PyAny>)> = Vec::new();
        for (key, value) in by_keyword {
            let key: &str = key.extract()?;
            if let Some(def) = op.attrs.iter().find(|a| a.name == key) {
                named.push((def.name, attr(def, &value).map_err(|e| of_attribute(py, e, op))?));
            } else if let Some(i) = op.operands.iter().position(|a| a.name == key) {
                keyword.push((i, value));
            } else if key == "name" {
                label = value.extract().map_err(|_| no_name(&value))?;
            } else {
                return Err(PyTypeError::new_err(format!("{}() got an unexpected keyword argument '{key}'", op.name)));
            }
        }
        keyword.sort_by_key(|(i, _)| *i);
        for (i, value) in keyword {
            if i != raw.len() {
                return Err(PyTypeError::new_err(format!(
                    "{}() got multiple or missing values before argument '{}'",
                    op.name, op.operands[i].name
                )));
            }
            raw.push(value);
        }
        // A variadic operand may come as one list.
        if op.operands.last().is_some_and(|a| a.variadic)
            && raw.len() == op.operands.len()
            && let Some(items) =
                raw.last().filter(|v| v.is_instance_of::<PyList>() || v.is_instance_of::<PyTuple>()).cloned()
        {
            raw.pop();
            for item in items.try_iter()? {
                raw.push(item?);
            }
        }
        let inputs = self.convert(&raw)?;
        let attrs = op.attributes(&named).or_py(py)?;
        Ok((inputs, attrs, label))
    }

    /// The operands as tensors and variables.
    fn convert(&self, raw: &[Bound<'_, PyAny>]) -> PyResult<SmallVec<[Var; 4]>> {
        let op = self.0;
        // Tensors settle the dtype variables first; other values follow them.
        let mut bound: SmallVec<[Option<DType>; 4]> = SmallVec::from_elem(None, op.dtypes.len());
        for (i, value) in raw.iter().enumerate() {
            if let Some(ArgType::Var(v)) = op.operand(i).map(|a| a.ty)
                && bound[v as usize].is_none()
            {
                bound[v as usize] = if let Ok(t) = value.cast::<PyTensor>() {
                    Some(t.get().var.dtype())
                } else if let Ok(t) = value.cast::<PyVariable>() {
                    Some(t.get().variable.dtype())
                } else {
                    None
                };
            }
        }
        // A list of values without a tensor has the dtype that they meet in.
        if let Some(last) = op.operands.last().filter(|a| a.variadic)
            && let ArgType::Var(v) = last.ty
            && bound[v as usize].is_none()
        {
            bound[v as usize] = crate::convert::dtype_of_all(&raw[raw.len().min(op.operands.len() - 1)..], None)?;
        }
        let mut inputs = SmallVec::new();
        for (i, value) in raw.iter().enumerate() {
            let arg = op.operand(i);
            let (dtype, hint) = match arg.map(|a| a.ty) {
                Some(ArgType::Variable) => {
                    let variable = value.cast::<PyVariable>().map_err(|_| {
                        PyTypeError::new_err(format!(
                            "{}: argument '{}' must be a tf.Variable",
                            op.name,
                            arg.map_or("", |a| a.name)
                        ))
                    })?;
                    inputs.push(variable.get().var());
                    continue;
                }
                Some(ArgType::Fixed(d)) => (None, Some(d)),
                Some(ArgType::Var(v)) => (None, bound[v as usize]),
                // Of arrays of indices and counts every dtype of the set is as good as another.
                Some(ArgType::In(set)) => {
                    (None, (set.contains(DType::I32) && !crate::array::is_array(value)).then_some(DType::I32))
                }
                _ => (None, None),
            };
            let var = to_var(value, dtype, hint)
                // Indices that the hint is too narrow for have the dtype that they need.
                .or_else(|e| {
                    if matches!(arg.map(|a| a.ty), Some(ArgType::In(_))) { to_var(value, None, None) } else { Err(e) }
                })
                .map_err(|e| name_argument(value.py(), e, op, arg.map_or("", |a| a.name)))?;
            if let Some(ArgType::Var(v)) = arg.map(|a| a.ty) {
                bound[v as usize].get_or_insert(var.dtype());
            }
            inputs.push(var);
        }
        Ok(inputs)
    }
}

/// An error about an attribute, with its public name.
fn of_attribute(py: Python<'_>, error: PyErr, op: &OpDef) -> PyErr {
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(in_public(Some(op.name), format!("{}: {}", op.name, said(py, &error))))
    } else {
        error
    }
}

/// Says in a conversion error which argument of which operator it is about.
fn name_argument(py: Python<'_>, error: PyErr, op: &OpDef, argument: &str) -> PyErr {
    let place = in_public(Some(op.name), format!("{}: argument '{argument}': ", op.name));
    let message = format!("{place}{}", said(py, &error));
    // Other classes say more than a message.
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(message)
    } else if error.get_type(py).is(py.get_type::<PyValueError>()) {
        PyValueError::new_err(message)
    } else {
        error
    }
}

/// A Python value as an attribute.
pub(crate) fn attr(def: &AttrDef, value: &Bound<'_, PyAny>) -> PyResult<Attr> {
    if value.is_none() && def.default == AttrDefault::Optional {
        return Ok(Attr::None);
    }
    let wrong = |e: PyErr| PyTypeError::new_err(format!("argument '{}': {}", def.name, said(value.py(), &e)));
    Ok(match def.kind {
        AttrKind::Bool => Attr::Bool(value.is_truthy()?),
        AttrKind::Int => Attr::Int(value.extract().map_err(wrong)?),
        AttrKind::Float => Attr::Float(value.extract().map_err(wrong)?),
        AttrKind::Str => Attr::Str(value.extract::<String>().map_err(wrong)?.into()),
        AttrKind::Ints => Attr::Ints(ints(value).map_err(wrong)?),
        AttrKind::DType => Attr::DType(dtype::parse(value)?),
        AttrKind::Shape => Attr::Shape(convert::shape_of(value)?),
        AttrKind::Tensor => {
            let var = to_var(value, None, None)?;
            Attr::Tensor(
                trace::known(&var)
                    .ok_or_else(|| PyTypeError::new_err(format!("argument '{}' must be a constant", def.name)))?,
            )
        }
        AttrKind::Types => Attr::Types(value.try_iter()?.map(|v| spec_type(&v?)).collect::<PyResult<Vec<_>>>()?.into()),
        AttrKind::Host => Attr::Host(crate::callback::host_ref(value)?),
        AttrKind::Func => {
            return Err(PyTypeError::new_err(format!("argument '{}' cannot be given from Python", def.name)));
        }
    })
}

/// The most integers that an attribute holds.
const MOST_INTS: usize = 1 << 24;

fn ints(value: &Bound<'_, PyAny>) -> PyResult<SmallVec<[i64; 4]>> {
    let listed = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    if !listed && let Ok(one) = value.extract::<i64>() {
        return Ok(SmallVec::from_slice(&[one]));
    }
    if let Ok(t) = value.cast::<PyTensor>() {
        let tensor = trace::known(&t.get().var)
            .ok_or_else(|| PyTypeError::new_err("must be constant while tracing, got a symbolic tensor"))?;
        return Ok(tensor.to_ints().or_py(value.py())?.iter().copied().collect());
    }
    let mut found = SmallVec::new();
    for item in value.try_iter()? {
        // What is iterated may have no end.
        if found.len() == MOST_INTS {
            return Err(PyValueError::new_err(format!("must hold at most {MOST_INTS} integers")));
        }
        found.push(item?.extract::<i64>()?);
    }
    Ok(found)
}

/// The samples of an operator: `(operands, attributes)` for tests.
#[pyfunction]
pub(crate) fn _op_samples<'py>(
    py: Python<'py>,
    name: &str,
) -> PyResult<Vec<(Vec<Bound<'py, PyTensor>>, Bound<'py, PyDict>)>> {
    let op = penstock_ops::Ops
        .find(name)
        .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(format!("no operator is called {name}")))?;
    let samples = (op.samples)().into_iter().map(|sample| {
        let inputs = sample.inputs.into_iter().map(|t| crate::tensor::wrap_eager(py, t)).collect::<PyResult<_>>()?;
        let attrs = PyDict::new(py);
        for (name, value) in sample.attrs {
            attrs.set_item(name, attr_object(py, &value)?)?;
        }
        Ok((inputs, attrs))
    });
    samples.collect()
}

/// An attribute as a Python value.
fn attr_object<'py>(py: Python<'py>, attr: &Attr) -> PyResult<Bound<'py, PyAny>> {
    Ok(match attr {
        Attr::None => py.None().into_bound(py),
        Attr::Bool(v) => v.into_pyobject(py)?.to_owned().into_any(),
        Attr::Int(v) => v.into_pyobject(py)?.into_any(),
        Attr::Float(v) => v.into_pyobject(py)?.into_any(),
        Attr::Str(v) => v.as_ref().into_pyobject(py)?.into_any(),
        Attr::Ints(v) => v.as_slice().into_pyobject(py)?.into_any(),
        Attr::DType(v) => dtype::object(py, *v)?.clone().into_any(),
        Attr::Shape(v) => crate::tensor::shape_object(py, v)?,
        Attr::Tensor(v) => crate::tensor::wrap_eager(py, v.clone())?.into_any(),
        Attr::Types(_) | Attr::Func(_) | Attr::Host(_) => {
            return Err(PyTypeError::new_err("the attribute has no Python form"));
        }
    })
}

/// All operators by name.
#[pyfunction]
pub(crate) fn _ops(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for op in penstock_ops::all() {
        let made = PyClassInitializer::from(Callable::of::<PyOp>()).add_subclass(PyOp(op));
        dict.set_item(op.name, adopt(Bound::new(py, made)?, op_class(py)?))?;
    }
    Ok(dict)
}

/// The families of operators: `(family, names)`.
#[pyfunction]
pub(crate) fn _op_families() -> Vec<(&'static str, Vec<&'static str>)> {
    penstock_ops::FAMILIES.iter().map(|(name, ops)| (*name, ops.iter().map(|o| o.name).collect())).collect()
}
