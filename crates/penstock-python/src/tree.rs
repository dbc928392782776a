//! The structure of results.

use penstock_trace::Var;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::convert::to_var;
use crate::depth::deeper;
use crate::errors::{class_name, said};
use crate::layer;
use crate::objects::{Kind, kind as kind_of};
use crate::structure::{components, mapping_items, tracing_type};
use crate::tensor::{PyTensor, wrap};
use crate::variable::PyVariable;

/// The structure of a result.
pub(crate) enum Tree {
    /// A tensor: the next of the flat results.
    Leaf,
    /// `None`.
    None,
    /// A field that is no tensor: what it was when the function was traced.
    Static(Py<PyAny>),
    /// A tuple.
    Tuple(Vec<Tree>),
    /// A list.
    List(Vec<Tree>),
    /// A named tuple of a class.
    Named(Py<PyAny>, Vec<Tree>),
    /// A dict, in its order.
    Dict(Vec<(Py<PyAny>, Tree)>),
    /// Another mapping: one of its class with the same keys, without tensors, and the items.
    Mapping(Py<PyAny>, Vec<(Py<PyAny>, Tree)>),
    /// An object that its trace type takes apart and puts together: the type, and how many tensors it has.
    Composite(Py<PyAny>, usize),
    /// An object that counts by its fields: one to copy, without tensors, and the fields.
    Fields(Py<PyAny>, Vec<(Py<PyString>, Tree)>),
}

impl Tree {
    /// The structure of a traced function's result; its leaves become tensors.
    pub(crate) fn of(value: &Bound<'_, PyAny>, leaves: &mut Vec<Var>) -> PyResult<Tree> {
        Tree::within(value, leaves, false)
    }

    /// Whether two structures are one.
    pub(crate) fn same(&self, py: Python<'_>, other: &Tree) -> bool {
        let all = |a: &[Tree], b: &[Tree]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(py, b));
        let equal = |a: &Py<PyAny>, b: &Py<PyAny>| a.bind(py).eq(b).unwrap_or(false);
        match (self, other) {
            (Tree::Leaf, Tree::Leaf) | (Tree::None, Tree::None) => true,
            (Tree::Static(a), Tree::Static(b)) => equal(a, b),
            (Tree::Tuple(a), Tree::Tuple(b)) | (Tree::List(a), Tree::List(b)) => all(a, b),
            (Tree::Named(a, x), Tree::Named(b, y)) => a.is(b) && all(x, y),
            (Tree::Dict(a), Tree::Dict(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((k, x), (l, y))| equal(k, l) && x.same(py, y))
            }
            (Tree::Mapping(a, x), Tree::Mapping(b, y)) => {
                a.bind(py).get_type().is(b.bind(py).get_type())
                    && x.len() == y.len()
                    && x.iter().zip(y).all(|((k, x), (l, y))| equal(k, l) && x.same(py, y))
            }
            (Tree::Composite(a, m), Tree::Composite(b, n)) => m == n && equal(a, b),
            (Tree::Fields(a, x), Tree::Fields(b, y)) => {
                a.bind(py).get_type().is(b.bind(py).get_type())
                    && x.len() == y.len()
                    && x.iter().zip(y).all(|((_, x), (_, y))| x.same(py, y))
            }
            _ => false,
        }
    }

    /// The structure of a value; among the `fields` of an object, only tensors are leaves.
    fn within(value: &Bound<'_, PyAny>, leaves: &mut Vec<Var>, fields: bool) -> PyResult<Tree> {
        if value.is_none() {
            return Ok(Tree::None);
        }
        if value.is_instance_of::<PyTensor>() || value.is_instance_of::<PyVariable>() {
            leaves.push(to_var(value, None, None)?);
            return Ok(Tree::Leaf);
        }
        deeper(|| Tree::of_container(value, leaves, fields))
    }

    fn of_container(value: &Bound<'_, PyAny>, leaves: &mut Vec<Var>, fields: bool) -> PyResult<Tree> {
        if let Ok(v) = value.cast::<PyTuple>() {
            let items = v.iter().map(|item| Tree::within(&item, leaves, fields)).collect::<PyResult<Vec<_>>>()?;
            return Ok(if value.is_exact_instance_of::<PyTuple>() || !value.hasattr("_fields")? {
                Tree::Tuple(items)
            } else {
                Tree::Named(value.get_type().into_any().unbind(), items)
            });
        }
        if let Ok(v) = value.cast::<PyList>() {
            let items = v.iter().map(|item| Tree::within(&item, leaves, fields)).collect::<PyResult<_>>()?;
            return Ok(Tree::List(items));
        }
        if let Ok(v) = value.cast::<PyDict>() {
            let items = v
                .iter()
                .map(|(k, item)| Ok((k.unbind(), Tree::within(&item, leaves, fields)?)))
                .collect::<PyResult<_>>()?;
            return Ok(Tree::Dict(items));
        }
        let kind = kind_of(value)?;
        if let Kind::Fields(names) = &kind {
            let py = value.py();
            let (blank, mut parts) = (PyDict::new(py), Vec::new());
            for name in &names.names {
                parts.push((name.clone_ref(py), Tree::within(&value.getattr(name.bind(py))?, leaves, true)?));
                blank.set_item(name, py.None())?;
            }
            // The copy keeps no symbolic tensor alive.
            let blank = layer::call(py, "with_fields", (value, blank))?;
            return Ok(Tree::Fields(blank.unbind(), parts));
        }
        if matches!(kind, Kind::Mapping) {
            let (blank, mut parts) = (PyDict::new(value.py()), Vec::new());
            for (key, item) in mapping_items(value)? {
                blank.set_item(&key, value.py().None())?;
                parts.push((key.unbind(), Tree::within(&item, leaves, fields)?));
            }
            let blank = layer::call(value.py(), "rebuilt_mapping", (value, blank))?;
            return Ok(Tree::Mapping(blank.unbind(), parts));
        }
        if matches!(kind, Kind::Protocol) {
            let ty = tracing_type(value)?;
            let parts = components(value, &ty)?;
            // A specification makes values without a tensor as well; other types of arguments need not.
            if !parts.is_empty() || matches!(kind_of(&ty)?, Kind::CompositeSpec) {
                for part in &parts {
                    leaves.push(part.var()?);
                }
                return Ok(Tree::Composite(ty.unbind(), parts.len()));
            }
        }
        if fields && !matches!(kind, Kind::Array) {
            return Ok(Tree::Static(value.clone().unbind()));
        }
        let var = to_var(value, None, None).map_err(|e| {
            PyTypeError::new_err(format!(
                "a tf.function must return tensors, Python numbers, or nests of them; got {}: {}",
                class_name(value),
                said(value.py(), &e)
            ))
        })?;
        leaves.push(var);
        Ok(Tree::Leaf)
    }

    /// The results as that structure.
    pub(crate) fn build<'py>(
        &self,
        py: Python<'py>,
        flat: &mut dyn Iterator<Item = Var>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.build_with(py, &mut |py| {
            let var = flat.next().ok_or_else(|| PyTypeError::new_err("fewer results than the structure holds"))?;
            Ok(wrap(py, var)?.into_any())
        })
    }

    /// The structure with each leaf made by `leaf`.
    pub(crate) fn build_with<'py>(
        &self,
        py: Python<'py>,
        leaf: &mut dyn FnMut(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Tree::Leaf => leaf(py),
            Tree::None => Ok(py.None().into_bound(py)),
            _ => deeper(|| self.build_container(py, leaf)),
        }
    }

    fn build_container<'py>(
        &self,
        py: Python<'py>,
        leaf: &mut dyn FnMut(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut all = |items: &[Tree]| items.iter().map(|t| t.build_with(py, leaf)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Tree::Leaf => leaf(py)?,
            Tree::None => py.None().into_bound(py),
            Tree::Static(value) => value.bind(py).clone(),
            Tree::Tuple(items) => PyTuple::new(py, all(items)?)?.into_any(),
            Tree::List(items) => PyList::new(py, all(items)?)?.into_any(),
            Tree::Named(class, items) => class.bind(py).call1(PyTuple::new(py, all(items)?)?)?,
            Tree::Dict(items) => {
                let dict = PyDict::new(py);
                for (key, item) in items {
                    dict.set_item(key, item.build_with(py, leaf)?)?;
                }
                dict.into_any()
            }
            Tree::Mapping(blank, parts) => {
                let made = PyDict::new(py);
                for (key, part) in parts {
                    made.set_item(key, part.build_with(py, leaf)?)?;
                }
                layer::call(py, "rebuilt_mapping", (blank, made))?
            }
            Tree::Composite(ty, count) => {
                let parts = (0..*count).map(|_| leaf(py)).collect::<PyResult<Vec<_>>>()?;
                ty.bind(py).call_method1("from_tensors", (PyList::new(py, parts)?.try_iter()?,))?
            }
            Tree::Fields(blank, parts) => {
                let made = PyDict::new(py);
                for (name, part) in parts {
                    made.set_item(name, part.build_with(py, leaf)?)?;
                }
                layer::call(py, "with_fields", (blank, made))?
            }
        })
    }

    /// For the garbage collector: the Python objects that it holds.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Tree::Leaf | Tree::None => Ok(()),
            Tree::Static(value) | Tree::Composite(value, _) => visit.call(value),
            Tree::Tuple(items) | Tree::List(items) => items.iter().try_for_each(|t| t.visit(visit)),
            Tree::Named(class, items) => {
                visit.call(class)?;
                items.iter().try_for_each(|t| t.visit(visit))
            }
            Tree::Dict(items) => items.iter().try_for_each(|(key, t)| {
                visit.call(key)?;
                t.visit(visit)
            }),
            Tree::Mapping(blank, items) => {
                visit.call(blank)?;
                items.iter().try_for_each(|(key, t)| {
                    visit.call(key)?;
                    t.visit(visit)
                })
            }
            Tree::Fields(blank, parts) => {
                visit.call(blank)?;
                parts.iter().try_for_each(|(_, t)| t.visit(visit))
            }
        }
    }
}
