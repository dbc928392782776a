//! Arguments as structures: nests of containers with tensors and literals at the leaves.
//!
//! One walk ([`walk`]) sees arguments in one order; what it finds goes to a [`Sink`] (see `keys.rs`): the
//! raw key of the hit path, the trace type of a miss, or the names of the leaves.

use penstock_ir::Type;
use penstock_trace::Var;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;

use crate::convert::{spec_type, to_var};
use crate::depth::deeper;
use crate::errors::attempt;
use crate::layer;
use crate::objects::{Fields, Kind, kind, known_number};
use crate::tensor::PyTensor;
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
    /// A tensor that stands for every tensor of a specification.
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

/// What a walk gives the leaves to.
pub(crate) trait Collect<'py> {
    fn tensor(&mut self, tensor: &Bound<'py, PyTensor>);
    /// A variable, each time that it stands.
    fn variable(&mut self, variable: &Bound<'py, PyVariable>);
    fn other(&mut self, leaf: Leaf<'py>);
}

impl<'py> Collect<'py> for Leaves<'py> {
    fn tensor(&mut self, tensor: &Bound<'py, PyTensor>) {
        self.push(Leaf::Tensor(tensor.clone()));
    }

    fn variable(&mut self, variable: &Bound<'py, PyVariable>) {
        let stands = |leaf: &Leaf<'_>| matches!(leaf, Leaf::Variable(other) if other.is(variable));
        if !self.iter().any(stands) {
            self.push(Leaf::Variable(variable.clone()));
        }
    }

    fn other(&mut self, leaf: Leaf<'py>) {
        self.push(leaf);
    }
}

/// What a walk reports to.
pub(crate) trait Sink {
    fn tensor(&mut self, tensor: &PyTensor);
    /// What stands for a tensor.
    fn leaf(&mut self, leaf: &Leaf<'_>);
    fn variable(&mut self, variable: &Bound<'_, PyVariable>);
    /// A container begins, by its value and length; [`Sink::close`] ends it.
    fn open(&mut self, container: &Bound<'_, PyAny>, len: usize) -> PyResult<()>;
    /// The names of the fields that a container's children are.
    fn fields(&mut self, _fields: &Fields, _py: Python<'_>) {}
    fn close(&mut self) {}
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()>;
    fn none(&mut self);
    fn bool(&mut self, v: bool);
    fn int(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()>;
    fn float(&mut self, v: f64);
    fn text(&mut self, kind: u8, bytes: &[u8]);
    /// An object that has a number already.
    fn numbered(&mut self, number: u64, v: &Bound<'_, PyAny>) -> PyResult<()>;
    /// An object that counts by equality, or, an instance, by identity.
    fn object(&mut self, v: &Bound<'_, PyAny>, instance: bool) -> PyResult<()>;
    /// An object that counts by the trace type that it gives itself.
    fn protocol(&mut self, v: &Bound<'_, PyAny>, ty: &Bound<'_, PyAny>) -> PyResult<()>;
}

/// Reports a value and what is in it, and collects its leaves.
#[inline]
pub(crate) fn walk<'py>(
    value: &Bound<'py, PyAny>,
    sink: &mut impl Sink,
    leaves: &mut impl Collect<'py>,
) -> PyResult<()> {
    match value.cast_exact::<PyTensor>() {
        Ok(t) => {
            sink.tensor(t.get());
            leaves.tensor(t);
            Ok(())
        }
        Err(_) => walk_other(value, sink, leaves),
    }
}

/// The number of items between two checks for interrupts.
const POLLED: usize = 1 << 13;

/// Calls `f` for each item of a container, and lets interrupts through.
#[inline]
fn each<T>(py: Python<'_>, items: impl Iterator<Item = T>, mut f: impl FnMut(T) -> PyResult<()>) -> PyResult<()> {
    items.enumerate().try_for_each(|(i, item)| {
        if i % POLLED == POLLED - 1 {
            py.check_signals()?;
        }
        f(item)
    })
}

fn walk_other<'py>(value: &Bound<'py, PyAny>, sink: &mut impl Sink, leaves: &mut impl Collect<'py>) -> PyResult<()> {
    if value.is_none() {
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
    } else if let Ok(v) = value.cast::<PyTuple>() {
        sink.open(value, v.len())?;
        deeper(|| each(v.py(), v.iter_borrowed(), |item| walk(&item, sink, leaves)))?;
        sink.close();
    } else if let Ok(v) = value.cast::<PyList>() {
        sink.open(value, v.len())?;
        deeper(|| each(v.py(), v.iter(), |item| walk(&item, sink, leaves)))?;
        sink.close();
    } else if let Ok(v) = value.cast::<PyDict>() {
        walk_items(value, sorted_items(v), sink, leaves)?;
    } else if let Ok(v) = value.cast::<PyVariable>() {
        sink.variable(v);
        leaves.variable(v);
    } else if let Ok(t) = value.cast::<PyTensor>() {
        sink.tensor(t.get());
        leaves.tensor(t);
    } else if let Some(number) = known_number(value) {
        sink.numbered(number, value)?;
    } else {
        walk_object(value, sink, leaves)?;
    }
    Ok(())
}

type Items<'py> = SmallVec<[(Bound<'py, PyAny>, Bound<'py, PyAny>); 8]>;

fn walk_items<'py>(
    value: &Bound<'py, PyAny>,
    items: Items<'py>,
    sink: &mut impl Sink,
    leaves: &mut impl Collect<'py>,
) -> PyResult<()> {
    sink.open(value, items.len())?;
    deeper(|| {
        each(value.py(), items.iter(), |(key, item)| {
            sink.key(key)?;
            walk(item, sink, leaves)
        })
    })?;
    sink.close();
    Ok(())
}

/// What no class of Python's own is.
fn walk_object<'py>(value: &Bound<'py, PyAny>, sink: &mut impl Sink, leaves: &mut impl Collect<'py>) -> PyResult<()> {
    match kind(value)? {
        Kind::Plain => sink.object(value, false)?,
        Kind::Literal => {
            let text = layer::call(value.py(), "literal_text", (value,))?;
            sink.text(b'l', text.cast::<PyString>()?.to_str()?.as_bytes());
        }
        Kind::Array | Kind::Spec | Kind::Specified => {
            let leaf = other_leaf(value)?;
            sink.leaf(&leaf);
            leaves.other(leaf);
        }
        Kind::CompositeSpec => deeper(|| walk(&specified_value(value)?, sink, leaves))?,
        Kind::Mapping => walk_items(value, mapping_items(value)?, sink, leaves)?,
        Kind::Method => {
            sink.open(value, 2)?;
            sink.object(&value.getattr("__func__")?, false)?;
            sink.object(&value.getattr("__self__")?, true)?;
            sink.close();
        }
        Kind::Protocol => {
            let ty = tracing_type(value)?;
            sink.protocol(value, &ty)?;
            for leaf in components(value, &ty)? {
                sink.leaf(&leaf);
                leaves.other(leaf);
            }
        }
        Kind::Fields(fields) => {
            sink.open(value, fields.names.len())?;
            sink.fields(&fields, value.py());
            deeper(|| {
                let mut names = fields.names.iter();
                names.try_for_each(|name| walk(&value.getattr(name.bind(value.py()))?, sink, leaves))
            })?;
            sink.close();
        }
    }
    Ok(())
}

/// The trace type that an object gives itself.
pub(crate) fn tracing_type<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let context = layer::call(value.py(), "tracing_context", ())?;
    value.call_method1("__tf_tracing_type__", (context,))
}

/// The tensors of an object as its trace type takes it apart.
pub(crate) fn components<'py>(value: &Bound<'py, PyAny>, ty: &Bound<'py, PyAny>) -> PyResult<Vec<Leaf<'py>>> {
    let pairs = layer::call(value.py(), "components", (ty, value))?;
    pairs
        .try_iter()?
        .map(|pair| {
            let (tensor, spec): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
            if tensor.is(&spec) {
                return other_leaf(&spec);
            }
            let name = spec.getattr("name")?.extract::<Option<String>>()?;
            Ok(Leaf::Other(Box::new(Other::As(to_var(&tensor, None, None)?, spec_type(&spec)?, name))))
        })
        .collect()
}

/// The composite value, of specifications, that a composite specification describes.
fn specified_value<'py>(spec: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    layer::call(spec.py(), "specified_value", (spec,))
}

/// Arrays and NumPy scalars are tensors; a `TensorSpec` stands for one.
fn other_leaf<'py>(value: &Bound<'py, PyAny>) -> PyResult<Leaf<'py>> {
    let other = match kind(value)? {
        Kind::Specified => {
            let spec = value.getattr("spec")?;
            let name = spec.getattr("name")?.extract::<Option<String>>()?;
            Other::As(to_var(&value.getattr("value")?, None, None)?, spec_type(&spec)?, name)
        }
        Kind::Spec => Other::Spec(spec_type(value)?, value.getattr("name")?.extract::<Option<String>>()?),
        _ => Other::Array(to_var(value, None, None)?),
    };
    Ok(Leaf::Other(Box::new(other)))
}

/// The items of a dict by key where the keys can be ordered, else as they stand.
fn sorted_items<'py>(dict: &Bound<'py, PyDict>) -> Items<'py> {
    let mut items: Items<'py> = dict.iter().collect();
    sort(&mut items);
    items
}

fn sort(items: &mut Items<'_>) {
    fn text<'a>(key: &'a Bound<'_, PyAny>) -> Option<&'a str> {
        key.cast_exact::<PyString>().ok().and_then(|k| k.to_str().ok())
    }
    if items.iter().all(|(key, _)| text(key).is_some()) {
        if items.is_sorted_by(|(a, _), (b, _)| text(a) <= text(b)) {
            return;
        }
        items.sort_by(|(a, _), (b, _)| text(a).cmp(&text(b)));
    } else {
        items.sort_by(|(a, _), (b, _)| attempt(a.py(), a.compare(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
}

/// The items of a mapping that is no dict, by key where the keys can be ordered.
pub(crate) fn mapping_items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Items<'py>> {
    let mut items: Items<'py> =
        value.call_method0("items")?.try_iter()?.map(|pair| pair?.extract()).collect::<PyResult<_>>()?;
    sort(&mut items);
    Ok(items)
}

/// What [`rebuild`] puts in a leaf's place; it also gets the value where that is an object of the program.
pub(crate) type Replace<'a, 'py> =
    &'a mut dyn FnMut(Option<&Leaf<'py>>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;

/// The value with each leaf replaced by what `replace` gives for it, in the order of the walk; other
/// objects and literals are replaced as `None` leaves. A variable that stands again is asked for again.
pub(crate) fn rebuild<'py>(value: &Bound<'py, PyAny>, replace: Replace<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(t) = value.cast::<PyTensor>() {
        return replace(Some(&Leaf::Tensor(t.clone())), value);
    }
    if let Ok(v) = value.cast::<PyVariable>() {
        return replace(Some(&Leaf::Variable(v.clone())), value);
    }
    deeper(|| rebuild_container(value, replace))
}

fn rebuild_container<'py>(value: &Bound<'py, PyAny>, replace: Replace<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
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
        // Leaves are replaced in the walk's order; the copy keeps the dict's class and order.
        let out = value.call_method0("copy")?;
        for (key, item) in sorted_items(v) {
            out.set_item(key, rebuild(&item, replace)?)?;
        }
        return Ok(out);
    }
    if known_number(value).is_some() {
        return replace(None, value);
    }
    match kind(value)? {
        Kind::Plain | Kind::Literal | Kind::Method => replace(None, value),
        Kind::Array | Kind::Spec | Kind::Specified => replace(Some(&other_leaf(value)?), value),
        Kind::CompositeSpec => rebuild(&specified_value(value)?, replace),
        Kind::Mapping => {
            let items = PyDict::new(py);
            for (key, item) in mapping_items(value)? {
                items.set_item(key, rebuild(&item, replace)?)?;
            }
            layer::call(py, "rebuilt_mapping", (value, items))
        }
        Kind::Protocol => {
            let ty = tracing_type(value)?;
            let parts =
                components(value, &ty)?.iter().map(|leaf| replace(Some(leaf), value)).collect::<PyResult<Vec<_>>>()?;
            layer::call(py, "placeholder_value", (ty, value, parts))
        }
        Kind::Fields(fields) => {
            let made = PyDict::new(py);
            for name in &fields.names {
                made.set_item(name, rebuild(&value.getattr(name.bind(py))?, replace)?)?;
            }
            layer::call(py, "with_fields", (value, made))
        }
    }
}
