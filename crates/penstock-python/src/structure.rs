//! Arguments and results as structures: nests of containers with tensors and literals at the leaves.
//!
//! One walk ([`walk`]) sees arguments in one order; what it finds goes to a [`Sink`]: the raw key of
//! the hit path, or the trace type of a miss.

use std::sync::{Arc, Mutex, PoisonError};

use penstock_ir::Type;
use penstock_trace::{Opaque, RawKey, Token, TraceType, Var};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::convert::{is_tensor_like, to_var};
use crate::layer;
use crate::ops::spec_type;
use crate::tensor::{PyTensor, wrap};
use crate::variable::PyVariable;

/// A tensor, a variable or a specification among the arguments.
#[derive(Clone)]
pub(crate) enum Leaf<'py> {
    /// A tensor.
    Tensor(Bound<'py, PyTensor>),
    /// A variable, where it stands for the first time.
    Variable(Bound<'py, PyVariable>),
    /// Something that stands for a tensor.
    Other(Box<Other>),
}

/// What stands for a tensor among the arguments.
#[derive(Clone)]
pub(crate) enum Other {
    /// An array, converted.
    Array(Var),
    /// A `TensorSpec`, with its name.
    Spec(Type, Option<String>),
    /// A tensor that stands for every tensor of a `TensorSpec` of `input_signature`.
    As(Var, Type, Option<String>),
}

impl Leaf<'_> {
    /// The type that a trace is made for.
    pub(crate) fn ty(&self) -> Type {
        match self {
            Leaf::Tensor(t) => t.get().var.ty(),
            Leaf::Variable(v) => v.get().variable.ty(),
            Leaf::Other(other) => match other.as_ref() {
                Other::Array(v) => v.ty(),
                Other::Spec(ty, _) | Other::As(_, ty, _) => ty.clone(),
            },
        }
    }

    /// The name that a specification gives.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Leaf::Other(other) => match other.as_ref() {
                Other::Spec(_, name) | Other::As(_, _, name) => name.as_deref(),
                Other::Array(_) => None,
            },
            _ => None,
        }
    }

    /// The value to call a trace with.
    pub(crate) fn var(&self) -> PyResult<Var> {
        match self {
            Leaf::Tensor(t) => Ok(t.get().var.clone()),
            Leaf::Variable(v) => Ok(v.get().var()),
            Leaf::Other(other) => match other.as_ref() {
                Other::Array(v) | Other::As(v, ..) => Ok(v.clone()),
                Other::Spec(ty, _) => {
                    Err(PyTypeError::new_err(format!("a TensorSpec ({ty}) cannot be passed to a call")))
                }
            },
        }
    }
}

/// The leaves of the arguments, in the order of the walk; a variable stands once.
pub(crate) type Leaves<'py> = SmallVec<[Leaf<'py>; 8]>;

/// What a walk reports to.
pub(crate) trait Sink {
    fn leaf(&mut self, leaf: &Leaf<'_>);
    fn variable(&mut self, variable: &PyVariable);
    fn open(&mut self, kind: &Bound<'_, PyAny>, len: usize) -> PyResult<()>;
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()>;
    fn none(&mut self);
    fn bool(&mut self, v: bool);
    fn int(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()>;
    fn float(&mut self, v: f64);
    fn text(&mut self, kind: u8, bytes: &[u8]);
    fn object(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()>;
}

/// Reports a value and what is in it, and collects its leaves.
pub(crate) fn walk<'py>(value: &Bound<'py, PyAny>, sink: &mut impl Sink, leaves: &mut Leaves<'py>) -> PyResult<()> {
    if let Ok(t) = value.cast::<PyTensor>() {
        let leaf = Leaf::Tensor(t.clone());
        sink.leaf(&leaf);
        leaves.push(leaf);
    } else if value.is_none() {
        sink.none();
    } else if let Ok(v) = value.cast_exact::<PyBool>() {
        sink.bool(v.is_true());
    } else if value.is_exact_instance_of::<PyInt>() {
        sink.int(value)?;
    } else if let Ok(v) = value.cast_exact::<PyFloat>() {
        sink.float(v.value());
    } else if let Ok(v) = value.cast_exact::<PyString>() {
        sink.text(b's', v.to_str()?.as_bytes());
    } else if let Ok(v) = value.cast_exact::<PyBytes>() {
        sink.text(b'b', v.as_bytes());
    } else if let Ok(v) = value.cast::<PyVariable>() {
        sink.variable(v.get());
        let stands = |leaf: &Leaf<'_>| matches!(leaf, Leaf::Variable(other) if other.is(v));
        if !leaves.iter().any(stands) {
            leaves.push(Leaf::Variable(v.clone()));
        }
    } else if let Ok(v) = value.cast::<PyTuple>() {
        sink.open(value, v.len())?;
        for item in v.iter_borrowed() {
            walk(&item, sink, leaves)?;
        }
    } else if let Ok(v) = value.cast::<PyList>() {
        sink.open(value, v.len())?;
        for item in v.iter() {
            walk(&item, sink, leaves)?;
        }
    } else if let Ok(v) = value.cast::<PyDict>() {
        sink.open(value, v.len())?;
        for (key, item) in sorted_items(v) {
            sink.key(&key)?;
            walk(&item, sink, leaves)?;
        }
    } else if let Some(leaf) = other_leaf(value)? {
        sink.leaf(&leaf);
        leaves.push(leaf);
    } else {
        sink.object(value)?;
    }
    Ok(())
}

/// Arrays and NumPy scalars are tensors; a `TensorSpec` stands for one.
fn other_leaf<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Leaf<'py>>> {
    let py = value.py();
    if value.is_instance(&layer::get(py, "Specified")?)? {
        let spec = value.getattr("spec")?;
        let name = spec.getattr("name")?.extract::<Option<String>>()?;
        let tensor = to_var(&value.getattr("value")?, None, None)?;
        return Ok(Some(Leaf::Other(Box::new(Other::As(tensor, spec_type(&spec)?, name)))));
    }
    if value.is_instance(&layer::get(py, "TensorSpec")?)? {
        let name = value.getattr("name")?.extract::<Option<String>>()?;
        return Ok(Some(Leaf::Other(Box::new(Other::Spec(spec_type(value)?, name)))));
    }
    let number = value.hasattr("__array_interface__")? && value.hasattr("dtype")?;
    if number && is_tensor_like(value) {
        return Ok(Some(Leaf::Other(Box::new(Other::Array(to_var(value, None, None)?)))));
    }
    Ok(None)
}

/// The items of a dict by key where the keys can be ordered, else as they stand.
fn sorted_items<'py>(dict: &Bound<'py, PyDict>) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let mut items: Vec<_> = dict.iter().collect();
    items.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(std::cmp::Ordering::Equal));
    items
}

/// The value with each leaf replaced by what `replace` gives for it, in the order of the walk. A
/// variable that stands again is not asked for again.
pub(crate) fn rebuild<'py>(
    value: &Bound<'py, PyAny>,
    replace: &mut dyn FnMut(&Leaf<'py>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if let Ok(t) = value.cast::<PyTensor>() {
        return replace(&Leaf::Tensor(t.clone()), value);
    }
    if let Ok(v) = value.cast::<PyVariable>() {
        return replace(&Leaf::Variable(v.clone()), value);
    }
    if let Ok(v) = value.cast::<PyTuple>() {
        let items = v.iter().map(|item| rebuild(&item, replace)).collect::<PyResult<Vec<_>>>()?;
        if value.is_exact_instance_of::<PyTuple>() {
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        if value.hasattr("_fields")? {
            return value.get_type().call1(PyTuple::new(py, items)?);
        }
        return value.get_type().call1((PyTuple::new(py, items)?,));
    }
    if let Ok(v) = value.cast::<PyList>() {
        let items = v.iter().map(|item| rebuild(&item, replace)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if let Ok(v) = value.cast::<PyDict>() {
        // Leaves are replaced in the walk's order; the copy keeps the dict's own.
        let mut made: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = Vec::new();
        for (key, item) in sorted_items(v) {
            made.push((key, rebuild(&item, replace)?));
        }
        let out = v.copy()?;
        for (key, item) in made {
            out.set_item(key, item)?;
        }
        return Ok(out.into_any());
    }
    match other_leaf(value)? {
        Some(leaf) => replace(&leaf, value),
        None => Ok(value.clone()),
    }
}

/// Numbers that stand for objects: one for each object that lives, never used again.
#[derive(Default)]
struct ObjectIds {
    by_address: FxHashMap<usize, (Guard, u64)>,
    next: u64,
}

/// How an object is known to be still the one that was numbered.
enum Guard {
    /// It can be referenced weakly: the number dies with it.
    Weak(Py<PyWeakrefReference>),
    /// It cannot, and is kept alive.
    Strong(#[expect(dead_code, reason = "held so that the address stays taken")] Py<PyAny>),
}

static OBJECT_IDS: Mutex<Option<ObjectIds>> = Mutex::new(None);

/// The number of an object.
pub(crate) fn object_id(value: &Bound<'_, PyAny>) -> u64 {
    let py = value.py();
    let address = value.as_ptr() as usize;
    let lock = || OBJECT_IDS.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut slot = lock();
        let ids = slot.get_or_insert_default();
        if let Some((guard, id)) = ids.by_address.get(&address) {
            let alive = match guard {
                Guard::Strong(_) => true,
                Guard::Weak(weak) => weak.bind(py).upgrade().is_some_and(|o| o.is(value)),
            };
            if alive {
                return *id;
            }
        }
    }
    // Making a weak reference may run Python code: not under the lock.
    let guard = match PyWeakrefReference::new(value) {
        Ok(weak) => Guard::Weak(weak.unbind()),
        Err(_) => Guard::Strong(value.clone().unbind()),
    };
    let mut slot = lock();
    let ids = slot.get_or_insert_default();
    let id = ids.next;
    ids.next += 1;
    let replaced = ids.by_address.insert(address, (guard, id));
    drop(slot);
    drop(replaced);
    id
}

/// A raw key under construction.
pub(crate) struct RawSink(pub(crate) RawKey);

impl Sink for RawSink {
    #[inline]
    fn leaf(&mut self, leaf: &Leaf<'_>) {
        if let Leaf::Tensor(t) = leaf
            && let Some(tensor) = t.get().var.tensor()
        {
            self.0.tensor(tensor);
        } else {
            let ty = leaf.ty();
            self.0.symbolic(ty.dtype(), ty.shape());
        }
    }
    fn variable(&mut self, variable: &PyVariable) {
        self.0.variable(variable.variable.id());
    }
    fn open(&mut self, kind: &Bound<'_, PyAny>, len: usize) -> PyResult<()> {
        self.0.open(object_kind(kind), len);
        Ok(())
    }
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        walk(key, self, &mut Leaves::new())
    }
    fn none(&mut self) {
        self.0.none();
    }
    fn bool(&mut self, v: bool) {
        self.0.bool(v);
    }
    fn int(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()> {
        match v.extract::<i64>() {
            Ok(i) => self.0.int(i),
            Err(_) => self.0.text(b'i', v.str()?.to_str()?.as_bytes()),
        }
        Ok(())
    }
    fn float(&mut self, v: f64) {
        self.0.float(v);
    }
    fn text(&mut self, kind: u8, bytes: &[u8]) {
        self.0.text(kind, bytes);
    }
    fn object(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.object(object_id(v) as usize);
        Ok(())
    }
}

/// A word for a container's type.
fn object_kind(value: &Bound<'_, PyAny>) -> u64 {
    if value.is_exact_instance_of::<PyTuple>() {
        u64::MAX
    } else if value.is_exact_instance_of::<PyList>() {
        u64::MAX - 1
    } else if value.is_exact_instance_of::<PyDict>() {
        u64::MAX - 2
    } else {
        object_id(value.get_type().as_any())
    }
}

/// A trace type under construction.
#[derive(Default)]
pub(crate) struct TypeSink(pub(crate) TraceType);

impl Sink for TypeSink {
    fn leaf(&mut self, leaf: &Leaf<'_>) {
        let ty = leaf.ty();
        self.0.push(Token::Tensor(ty.dtype(), ty.shape().erased()));
    }
    fn variable(&mut self, variable: &PyVariable) {
        let v = &variable.variable;
        self.0.push(Token::Variable(v.dtype(), v.shape().clone(), v.id()));
    }
    fn open(&mut self, kind: &Bound<'_, PyAny>, len: usize) -> PyResult<()> {
        let ty = kind.get_type();
        let name = format!("{}.{}", ty.module()?, ty.qualname()?);
        self.0.push(Token::Open(name.into(), len as u32));
        Ok(())
    }
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        walk(key, self, &mut Leaves::new())
    }
    fn none(&mut self) {
        self.0.push(Token::None);
    }
    fn bool(&mut self, v: bool) {
        self.0.push(Token::Bool(v));
    }
    fn int(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.push(match v.extract::<i64>() {
            Ok(i) => Token::Int(i),
            Err(_) => Token::Literal(v.repr()?.to_str()?.into()),
        });
        Ok(())
    }
    fn float(&mut self, v: f64) {
        self.0.push(Token::Float(v.to_bits()));
    }
    fn text(&mut self, kind: u8, bytes: &[u8]) {
        let text = if kind == b's' {
            format!("{:?}", String::from_utf8_lossy(bytes))
        } else {
            format!("b\"{}\"", bytes.escape_ascii())
        };
        self.0.push(Token::Literal(text.into()));
    }
    fn object(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.push(Token::Opaque(PyOpaque::of(v)?));
        Ok(())
    }
}

/// An object as part of a trace type: by `__tf_tracing_type__`, else by equality behind a weak reference.
pub(crate) struct PyOpaque {
    kind: OpaqueKind,
    description: String,
}

enum OpaqueKind {
    /// The object's own trace type.
    TraceType(Py<PyAny>),
    /// The object, as long as it lives.
    Weak(Py<PyWeakrefReference>),
    /// The object, which cannot be referenced weakly.
    Strong(Py<PyAny>),
}

impl PyOpaque {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Arc<PyOpaque>> {
        let py = value.py();
        let description = value.repr().map(|r| r.to_string()).unwrap_or_else(|_| "<object>".to_owned());
        let kind = if value.hasattr("__tf_tracing_type__")? && !value.is_instance_of::<pyo3::types::PyType>() {
            let context = layer::get(py, "tracing_context")?;
            OpaqueKind::TraceType(value.call_method1("__tf_tracing_type__", (context,))?.unbind())
        } else {
            value.hash().map_err(|_| {
                PyTypeError::new_err(format!(
                    "arguments of a tf.function must be tensors, nests of tensors or hashable Python values; {} is not hashable",
                    value.get_type().name().map(|n| n.to_string()).unwrap_or_default()
                ))
            })?;
            match PyWeakrefReference::new(value) {
                Ok(weak) => OpaqueKind::Weak(weak.unbind()),
                Err(_) => OpaqueKind::Strong(value.clone().unbind()),
            }
        };
        Ok(Arc::new(PyOpaque { kind, description }))
    }

    fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match &self.kind {
            OpaqueKind::Weak(weak) => weak.bind(py).upgrade(),
            OpaqueKind::Strong(object) => Some(object.bind(py).clone()),
            OpaqueKind::TraceType(_) => None,
        }
    }
}

impl Opaque for PyOpaque {
    fn is_subtype_of(&self, other: &dyn Opaque) -> bool {
        let Some(other) = other.as_any().downcast_ref::<PyOpaque>() else { return false };
        Python::attach(|py| match (&self.kind, &other.kind) {
            (OpaqueKind::TraceType(a), OpaqueKind::TraceType(b)) => {
                a.bind(py).call_method1("is_subtype_of", (b,)).and_then(|r| r.is_truthy()).unwrap_or(false)
            }
            (OpaqueKind::TraceType(_), _) | (_, OpaqueKind::TraceType(_)) => false,
            _ => match (self.object(py), other.object(py)) {
                (Some(a), Some(b)) => a.is(&b) || (a.get_type().is(b.get_type()) && a.eq(&b).unwrap_or(false)),
                _ => false,
            },
        })
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The structure of results.
pub(crate) enum Tree {
    /// A tensor: the next of the flat results.
    Leaf,
    /// `None`.
    None,
    /// A tuple.
    Tuple(Vec<Tree>),
    /// A list.
    List(Vec<Tree>),
    /// A named tuple of a class.
    Named(Py<PyAny>, Vec<Tree>),
    /// A dict, in its order.
    Dict(Vec<(Py<PyAny>, Tree)>),
}

impl Tree {
    /// The structure of a traced function's result; its leaves become tensors.
    pub(crate) fn of(value: &Bound<'_, PyAny>, leaves: &mut Vec<Var>) -> PyResult<Tree> {
        if value.is_none() {
            return Ok(Tree::None);
        }
        if let Ok(v) = value.cast::<PyTuple>() {
            let items = v.iter().map(|item| Tree::of(&item, leaves)).collect::<PyResult<Vec<_>>>()?;
            return Ok(if value.is_exact_instance_of::<PyTuple>() {
                Tree::Tuple(items)
            } else {
                Tree::Named(value.get_type().into_any().unbind(), items)
            });
        }
        if let Ok(v) = value.cast::<PyList>() {
            return Ok(Tree::List(v.iter().map(|item| Tree::of(&item, leaves)).collect::<PyResult<_>>()?));
        }
        if let Ok(v) = value.cast::<PyDict>() {
            let items =
                v.iter().map(|(k, item)| Ok((k.unbind(), Tree::of(&item, leaves)?))).collect::<PyResult<_>>()?;
            return Ok(Tree::Dict(items));
        }
        let var = to_var(value, None, None).map_err(|e| {
            PyTypeError::new_err(format!(
                "a tf.function must return tensors, Python numbers, or nests of them; got {}: {}",
                value.get_type().name().map(|n| n.to_string()).unwrap_or_default(),
                e.value(value.py())
            ))
        })?;
        leaves.push(var);
        Ok(Tree::Leaf)
    }

    /// Whether two structures are one.
    pub(crate) fn same(&self, py: Python<'_>, other: &Tree) -> bool {
        let all = |a: &[Tree], b: &[Tree]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(py, b));
        match (self, other) {
            (Tree::Leaf, Tree::Leaf) | (Tree::None, Tree::None) => true,
            (Tree::Tuple(a), Tree::Tuple(b)) | (Tree::List(a), Tree::List(b)) => all(a, b),
            (Tree::Named(a, x), Tree::Named(b, y)) => a.is(b) && all(x, y),
            (Tree::Dict(a), Tree::Dict(b)) => {
                let alike = |(k, x): &(Py<PyAny>, Tree), (l, y): &(Py<PyAny>, Tree)| {
                    k.bind(py).eq(l).unwrap_or(false) && x.same(py, y)
                };
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
            }
            _ => false,
        }
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
        let mut all = |items: &[Tree]| items.iter().map(|t| t.build_with(py, leaf)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Tree::Leaf => leaf(py)?,
            Tree::None => py.None().into_bound(py),
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
        })
    }
}
