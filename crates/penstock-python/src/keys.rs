//! What a walk over arguments makes: the raw key of the hit path, the trace type of a miss, and the
//! names of the leaves.

use std::sync::Arc;

use penstock_ir::Type;
use penstock_trace::{DEAD, Opaque, RawKey, Token, TraceType, VariableType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use smallvec::SmallVec;

use crate::errors::{attempt, class_name, described};
use crate::objects::{Fields, number};
use crate::structure::{Leaf, Leaves, Sink, walk};
use crate::tensor::PyTensor;
use crate::variable::PyVariable;

/// A raw key under construction.
#[derive(Default)]
pub(crate) struct RawSink {
    pub(crate) key: RawKey,
    /// Whether something counts by equality only, so that words cannot tell.
    pub(crate) volatile: bool,
}

impl RawSink {
    fn symbolic(&mut self, ty: &Type) {
        self.key.symbolic(ty.dtype(), ty.shape());
    }
}

impl Sink for RawSink {
    #[inline]
    fn tensor(&mut self, tensor: &PyTensor) {
        match tensor.var.tensor() {
            Some(tensor) => self.key.tensor(tensor),
            None => self.symbolic(&tensor.var.ty()),
        }
    }
    fn leaf(&mut self, leaf: &Leaf<'_>) {
        self.symbolic(&leaf.ty());
    }
    fn variable(&mut self, variable: &Bound<'_, PyVariable>) {
        self.key.variable(variable.get().variable.id());
    }
    fn open(&mut self, container: &Bound<'_, PyAny>, len: usize) -> PyResult<()> {
        self.key.open(container_kind(container), len);
        Ok(())
    }
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        walk(key, self, &mut Leaves::new())
    }
    fn none(&mut self) {
        self.key.none();
    }
    fn bool(&mut self, v: bool) {
        self.key.bool(v);
    }
    fn int(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()> {
        match v.extract::<i64>() {
            Ok(i) => self.key.int(i),
            Err(_) => self.key.text(b'i', v.str()?.to_str()?.as_bytes()),
        }
        Ok(())
    }
    fn float(&mut self, v: f64) {
        self.key.float(v);
    }
    fn text(&mut self, kind: u8, bytes: &[u8]) {
        self.key.text(kind, bytes);
    }
    #[inline]
    fn numbered(&mut self, number: u64, _: &Bound<'_, PyAny>) -> PyResult<()> {
        self.key.object(number);
        Ok(())
    }
    fn object(&mut self, v: &Bound<'_, PyAny>, _: bool) -> PyResult<()> {
        match number(v) {
            Some(number) => self.key.object(number),
            None => self.volatile = true,
        }
        Ok(())
    }
    fn protocol(&mut self, _: &Bound<'_, PyAny>, _: &Bound<'_, PyAny>) -> PyResult<()> {
        // The object may give itself another type at the next call.
        self.volatile = true;
        Ok(())
    }
}

/// A word for a container's type.
fn container_kind(value: &Bound<'_, PyAny>) -> u64 {
    if value.is_exact_instance_of::<PyTuple>() {
        u64::MAX
    } else if value.is_exact_instance_of::<PyList>() {
        u64::MAX - 1
    } else if value.is_exact_instance_of::<PyDict>() {
        u64::MAX - 2
    } else {
        class_number(value)
    }
}

/// The number of a value's class; classes can always be referenced weakly.
fn class_number(value: &Bound<'_, PyAny>) -> u64 {
    number(value.get_type().as_any()).unwrap_or(u64::MAX - 3)
}

/// A trace type under construction.
#[derive(Default)]
pub(crate) struct TypeSink {
    pub(crate) tokens: Vec<Token>,
    /// The different variables so far, by their own ids.
    variables: SmallVec<[u64; 4]>,
}

impl TypeSink {
    pub(crate) fn finish(self) -> TraceType {
        self.tokens.into()
    }
}

impl Sink for TypeSink {
    fn tensor(&mut self, tensor: &PyTensor) {
        let ty = tensor.var.ty();
        self.tokens.push(Token::Tensor(ty.dtype(), ty.shape().erased()));
    }
    fn leaf(&mut self, leaf: &Leaf<'_>) {
        let ty = leaf.ty();
        self.tokens.push(Token::Tensor(ty.dtype(), ty.shape().erased()));
    }
    fn variable(&mut self, variable: &Bound<'_, PyVariable>) {
        let v = &variable.get().variable;
        let alias = self.variables.iter().position(|&id| id == v.id()).unwrap_or_else(|| {
            self.variables.push(v.id());
            self.variables.len() - 1
        });
        self.tokens.push(Token::Variable(Box::new(VariableType {
            dtype: v.dtype(),
            shape: v.shape().clone(),
            kind: class_number(variable.as_any()) << 1 | u64::from(variable.get().is_trainable()),
            alias: alias as u32,
            id: v.root_id(),
            pinned: false,
        })));
    }
    fn open(&mut self, container: &Bound<'_, PyAny>, len: usize) -> PyResult<()> {
        let ty = container.get_type();
        let kind = container_kind(container);
        // The number tells classes of one name apart; people see what follows the last dot.
        let name = format!("{kind}.{}", ty.name()?.to_str()?);
        self.tokens.push(Token::Open(name.into(), len as u32));
        Ok(())
    }
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        walk(key, self, &mut Leaves::new())
    }
    fn none(&mut self) {
        self.tokens.push(Token::None);
    }
    fn bool(&mut self, v: bool) {
        self.tokens.push(Token::Bool(v));
    }
    fn int(&mut self, v: &Bound<'_, PyAny>) -> PyResult<()> {
        self.tokens.push(match v.extract::<i64>() {
            Ok(i) => Token::Int(i),
            Err(_) => Token::Literal(v.repr()?.to_str()?.into()),
        });
        Ok(())
    }
    fn float(&mut self, v: f64) {
        self.tokens.push(Token::Float(v.to_bits()));
    }
    fn text(&mut self, kind: u8, bytes: &[u8]) {
        let text = match kind {
            b's' => format!("'{}'", String::from_utf8_lossy(bytes).escape_debug()),
            b'b' => format!("b'{}'", bytes.escape_ascii()),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        };
        self.tokens.push(Token::Literal(text.into()));
    }
    fn numbered(&mut self, _: u64, v: &Bound<'_, PyAny>) -> PyResult<()> {
        self.object(v, false)
    }
    fn object(&mut self, v: &Bound<'_, PyAny>, instance: bool) -> PyResult<()> {
        self.tokens.push(Token::Opaque(PyOpaque::object(v, instance)?));
        Ok(())
    }
    fn protocol(&mut self, v: &Bound<'_, PyAny>, ty: &Bound<'_, PyAny>) -> PyResult<()> {
        self.tokens.push(Token::Opaque(PyOpaque::typed(v, ty)));
        Ok(())
    }
}

/// The names of the leaves, one for each token of a trace type: `options['rate'][0]`.
#[derive(Default)]
pub(crate) struct PathSink {
    pub(crate) paths: Vec<String>,
    /// The open containers: the name of each, those of its children, and how many have come.
    open: Vec<(String, Vec<String>, usize)>,
    root: String,
}

impl PathSink {
    /// Names for what is walked next start with `root`.
    pub(crate) fn at(&mut self, root: &str) {
        self.root = root.to_owned();
    }

    fn next(&mut self) -> String {
        let Some((name, children, used)) = self.open.last_mut() else { return self.root.clone() };
        *used += 1;
        match children.get(*used - 1) {
            Some(child) => format!("{name}{child}"),
            None => format!("{name}[{}]", *used - 1),
        }
    }

    fn token(&mut self) {
        let path = self.next();
        self.paths.push(path);
    }
}

impl Sink for PathSink {
    fn tensor(&mut self, _: &PyTensor) {
        self.token();
    }
    fn leaf(&mut self, _: &Leaf<'_>) {
        self.token();
    }
    fn variable(&mut self, _: &Bound<'_, PyVariable>) {
        self.token();
    }
    fn open(&mut self, container: &Bound<'_, PyAny>, _: usize) -> PyResult<()> {
        let path = self.next();
        self.paths.push(path.clone());
        let names: Vec<String> = match container.getattr("_fields") {
            Ok(names) if container.is_instance_of::<PyTuple>() => names.extract().unwrap_or_default(),
            _ => Vec::new(),
        };
        self.open.push((path, names.into_iter().map(|n| format!(".{n}")).collect(), 0));
        Ok(())
    }
    fn fields(&mut self, fields: &Fields, py: Python<'_>) {
        if let Some((_, children, _)) = self.open.last_mut() {
            children.extend(fields.names.iter().map(|n| format!(".{}", n.bind(py))));
        }
    }
    fn close(&mut self) {
        self.open.pop();
    }
    fn key(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut tokens = TypeSink::default();
        walk(key, &mut tokens, &mut Leaves::new())?;
        let label = format!("[{}]", key.repr()?.to_str()?);
        let name = self.open.last().map_or(String::new(), |(name, ..)| format!("{name}{label}"));
        self.paths.extend(tokens.tokens.iter().map(|_| name.clone()));
        if let Some((_, children, _)) = self.open.last_mut() {
            children.push(label);
        }
        Ok(())
    }
    fn none(&mut self) {
        self.token();
    }
    fn bool(&mut self, _: bool) {
        self.token();
    }
    fn int(&mut self, _: &Bound<'_, PyAny>) -> PyResult<()> {
        self.token();
        Ok(())
    }
    fn float(&mut self, _: f64) {
        self.token();
    }
    fn text(&mut self, _: u8, _: &[u8]) {
        self.token();
    }
    fn numbered(&mut self, _: u64, _: &Bound<'_, PyAny>) -> PyResult<()> {
        self.token();
        Ok(())
    }
    fn object(&mut self, _: &Bound<'_, PyAny>, _: bool) -> PyResult<()> {
        self.token();
        Ok(())
    }
    fn protocol(&mut self, _: &Bound<'_, PyAny>, _: &Bound<'_, PyAny>) -> PyResult<()> {
        // The parts that the object's own type takes it apart into follow under the object's name.
        self.token();
        if let Some((_, _, used)) = self.open.last_mut() {
            *used -= 1;
        }
        Ok(())
    }
}

/// An object as part of a trace type: by `__tf_tracing_type__`, by identity, or else by equality.
pub(crate) struct PyOpaque {
    kind: OpaqueKind,
    description: String,
}

enum OpaqueKind {
    /// The object's own trace type.
    TraceType(Py<PyAny>),
    /// The object, as long as it lives, and whether only itself will do.
    Weak(Py<PyWeakrefReference>, bool),
    /// The object, which cannot be referenced weakly.
    Strong(Py<PyAny>, bool),
}

impl PyOpaque {
    fn object(value: &Bound<'_, PyAny>, instance: bool) -> PyResult<Arc<PyOpaque>> {
        if !instance {
            value.hash().map_err(|_| {
                PyTypeError::new_err(format!(
                    "arguments of a tf.function must be tensors, nests of tensors or hashable Python values; {} is not hashable",
                    class_name(value)
                ))
            })?;
        }
        let kind = match PyWeakrefReference::new(value) {
            Ok(weak) => OpaqueKind::Weak(weak.unbind(), instance),
            Err(_) => OpaqueKind::Strong(value.clone().unbind(), instance),
        };
        let description = if instance { format!("{} object", class_name(value)) } else { described(value) };
        Ok(Arc::new(PyOpaque { kind, description }))
    }

    fn typed(value: &Bound<'_, PyAny>, ty: &Bound<'_, PyAny>) -> Arc<PyOpaque> {
        let class = class_name(value);
        Arc::new(PyOpaque {
            kind: OpaqueKind::TraceType(ty.clone().unbind()),
            description: format!("{class} of type {}", described(ty)),
        })
    }

    /// The object, where it counts as one and lives.
    pub(crate) fn target<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match &self.kind {
            OpaqueKind::Weak(weak, _) => weak.bind(py).upgrade(),
            OpaqueKind::Strong(object, _) => Some(object.bind(py).clone()),
            OpaqueKind::TraceType(_) => None,
        }
    }

    /// What it keeps alive.
    pub(crate) fn held(&self) -> Option<&Py<PyAny>> {
        match &self.kind {
            OpaqueKind::TraceType(object) | OpaqueKind::Strong(object, _) => Some(object),
            OpaqueKind::Weak(..) => None,
        }
    }

    fn by_identity(&self) -> bool {
        matches!(self.kind, OpaqueKind::Weak(_, true) | OpaqueKind::Strong(_, true))
    }
}

impl Opaque for PyOpaque {
    fn is_subtype_of(&self, other: &dyn Opaque) -> bool {
        let Some(other) = other.as_any().downcast_ref::<PyOpaque>() else { return false };
        Python::attach(|py| match (&self.kind, &other.kind) {
            (OpaqueKind::TraceType(a), OpaqueKind::TraceType(b)) => {
                let answer = a.bind(py).call_method1("is_subtype_of", (b,)).and_then(|r| r.is_truthy());
                attempt(py, answer).unwrap_or(false)
            }
            (OpaqueKind::TraceType(_), _) | (_, OpaqueKind::TraceType(_)) => false,
            _ => match (self.target(py), other.target(py)) {
                (Some(a), Some(b)) if a.is(&b) => true,
                (Some(a), Some(b)) => {
                    !self.by_identity()
                        && !other.by_identity()
                        && a.get_type().is(b.get_type())
                        && attempt(py, a.eq(&b)).unwrap_or(false)
                }
                _ => false,
            },
        })
    }

    fn generalize(&self, other: &dyn Opaque) -> Option<Arc<dyn Opaque>> {
        let other = other.as_any().downcast_ref::<PyOpaque>()?;
        Python::attach(|py| match (&self.kind, &other.kind) {
            (OpaqueKind::TraceType(a), OpaqueKind::TraceType(b)) => {
                let found = attempt(py, a.bind(py).call_method1("most_specific_common_supertype", ((b,),)))?;
                if found.is_none() {
                    return None;
                }
                let description = described(&found);
                let kind = OpaqueKind::TraceType(found.unbind());
                Some(Arc::new(PyOpaque { kind, description }) as Arc<dyn Opaque>)
            }
            _ => None,
        })
    }

    fn is_alive(&self) -> bool {
        match &self.kind {
            OpaqueKind::Weak(weak, _) => Python::attach(|py| weak.bind(py).upgrade().is_some()),
            _ => true,
        }
    }

    fn describe(&self) -> String {
        if self.is_alive() { self.description.clone() } else { DEAD.to_owned() }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
