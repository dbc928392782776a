//! Attributes: the constants of an instruction.

use std::fmt;
use std::sync::{Arc, Weak};

use penstock_data::{DType, Error, Result, Shape, Tensor};
use smallvec::SmallVec;

use crate::graph::Function;
use crate::types::Type;

/// The value of an attribute.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Attr {
    /// An optional attribute that is left out.
    #[default]
    None,
    /// A flag.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Str(Arc<str>),
    /// A list of integers.
    Ints(SmallVec<[i64; 4]>),
    /// A dtype.
    DType(DType),
    /// A shape, with unknown parts.
    Shape(Shape),
    /// A list of types.
    Types(Arc<[Type]>),
    /// A constant.
    Tensor(Tensor),
    /// A function to call.
    Func(FuncRef),
    /// Host code to call.
    Host(HostRef),
}

/// The kind of an attribute's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrKind {
    /// [`Attr::Bool`].
    Bool,
    /// [`Attr::Int`].
    Int,
    /// [`Attr::Float`].
    Float,
    /// [`Attr::Str`].
    Str,
    /// [`Attr::Ints`].
    Ints,
    /// [`Attr::DType`].
    DType,
    /// [`Attr::Shape`].
    Shape,
    /// [`Attr::Types`].
    Types,
    /// [`Attr::Tensor`].
    Tensor,
    /// [`Attr::Func`].
    Func,
    /// [`Attr::Host`].
    Host,
}

/// The declaration of an attribute.
#[derive(Clone, Copy, Debug)]
pub struct AttrDef {
    /// Its name in the text form and as a keyword.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: AttrKind,
    /// What it is where it is not given.
    pub default: AttrDefault,
}

/// The default of an attribute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AttrDefault {
    /// It must be given.
    Required,
    /// It may be left out, and is [`Attr::None`] then.
    Optional,
    /// A flag.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Str(&'static str),
    /// A dtype.
    DType(DType),
}

impl AttrDef {
    /// A declaration.
    pub const fn new(name: &'static str, kind: AttrKind, default: AttrDefault) -> AttrDef {
        AttrDef { name, kind, default }
    }

    /// An attribute that must be given.
    pub const fn required(name: &'static str, kind: AttrKind) -> AttrDef {
        AttrDef::new(name, kind, AttrDefault::Required)
    }

    /// An attribute that may be left out.
    pub const fn optional(name: &'static str, kind: AttrKind) -> AttrDef {
        AttrDef::new(name, kind, AttrDefault::Optional)
    }

    /// A flag.
    pub const fn flag(name: &'static str, default: bool) -> AttrDef {
        AttrDef::new(name, AttrKind::Bool, AttrDefault::Bool(default))
    }

    /// The default value; `None` where the attribute must be given.
    pub fn default_value(&self) -> Option<Attr> {
        Some(match self.default {
            AttrDefault::Required => return None,
            AttrDefault::Optional => Attr::None,
            AttrDefault::Bool(v) => Attr::Bool(v),
            AttrDefault::Int(v) => Attr::Int(v),
            AttrDefault::Float(v) => Attr::Float(v),
            AttrDefault::Str(v) => Attr::Str(v.into()),
            AttrDefault::DType(v) => Attr::DType(v),
        })
    }
}

impl Attr {
    /// The kind of the value; `None` for [`Attr::None`].
    pub fn kind(&self) -> Option<AttrKind> {
        Some(match self {
            Attr::None => return None,
            Attr::Bool(_) => AttrKind::Bool,
            Attr::Int(_) => AttrKind::Int,
            Attr::Float(_) => AttrKind::Float,
            Attr::Str(_) => AttrKind::Str,
            Attr::Ints(_) => AttrKind::Ints,
            Attr::DType(_) => AttrKind::DType,
            Attr::Shape(_) => AttrKind::Shape,
            Attr::Types(_) => AttrKind::Types,
            Attr::Tensor(_) => AttrKind::Tensor,
            Attr::Func(_) => AttrKind::Func,
            Attr::Host(_) => AttrKind::Host,
        })
    }
}

macro_rules! attr_from {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl From<$ty> for Attr {
            fn from(v: $ty) -> Attr {
                Attr::$variant(v.into())
            }
        }
    )*};
}
attr_from! {
    bool => Bool, i64 => Int, f64 => Float, &str => Str, &[i64] => Ints, Vec<i64> => Ints, DType => DType,
    Shape => Shape, Tensor => Tensor, FuncRef => Func, HostRef => Host, Vec<Type> => Types,
}

/// The attributes of an instruction, in the order of its operator's declaration, none missing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attrs(pub SmallVec<[Attr; 2]>);

/// Reads attribute `index` as one kind. A mismatch is a defect of the caller: attributes are
/// checked against their declaration when they are made.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident -> $ty:ty: $pattern:pat => $value:expr),* $(,)?) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// Where the declaration has no such attribute at `index`.
        #[track_caller]
        pub fn $name(&self, index: usize) -> $ty {
            match &self.0[index] {
                $pattern => $value,
                other => panic!("attribute {index} is {other:?}, not a {}", stringify!($name)),
            }
        }
    )*};
}

impl Attrs {
    /// No attributes.
    pub const EMPTY: Attrs = Attrs(SmallVec::new_const());

    getters! {
        /// A flag.
        flag -> bool: Attr::Bool(v) => *v,
        /// An integer.
        int -> i64: Attr::Int(v) => *v,
        /// A number.
        float -> f64: Attr::Float(v) => *v,
        /// A text.
        str -> &str: Attr::Str(v) => v,
        /// A list of integers.
        ints -> &[i64]: Attr::Ints(v) => v,
        /// A dtype.
        dtype -> DType: Attr::DType(v) => *v,
        /// A shape.
        shape -> &Shape: Attr::Shape(v) => v,
        /// A list of types.
        types -> &[Type]: Attr::Types(v) => v,
        /// A constant.
        tensor -> &Tensor: Attr::Tensor(v) => v,
        /// A function.
        func -> &FuncRef: Attr::Func(v) => v,
        /// Host code.
        host -> &HostRef: Attr::Host(v) => v,
    }

    /// The host code among them.
    pub fn hosts(&self) -> impl Iterator<Item = &HostRef> {
        self.0.iter().filter_map(|attr| match attr {
            Attr::Host(host) => Some(host),
            _ => None,
        })
    }

    /// A list of integers that may be left out.
    ///
    /// # Panics
    /// Where the declaration has no such attribute at `index`.
    pub fn opt_ints(&self, index: usize) -> Option<&[i64]> {
        (self.0[index] != Attr::None).then(|| self.ints(index))
    }

    /// An integer that may be left out.
    ///
    /// # Panics
    /// Where the declaration has no such attribute at `index`.
    pub fn opt_int(&self, index: usize) -> Option<i64> {
        (self.0[index] != Attr::None).then(|| self.int(index))
    }

    /// A dtype that may be left out.
    ///
    /// # Panics
    /// Where the declaration has no such attribute at `index`.
    pub fn opt_dtype(&self, index: usize) -> Option<DType> {
        (self.0[index] != Attr::None).then(|| self.dtype(index))
    }

    /// Attributes from named values, in the order of their declaration, with defaults filled in.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not declared, a value of another kind, or one missing.
    pub fn build(defs: &[AttrDef], named: &[(&str, Attr)]) -> Result<Attrs> {
        if let Some((name, _)) = named.iter().find(|(n, _)| !defs.iter().any(|d| d.name == *n)) {
            return Err(Error::invalid("there is no such attribute").argument(*name));
        }
        let mut out = SmallVec::new();
        for def in defs {
            let value = match named.iter().find(|(n, _)| *n == def.name) {
                Some((_, v)) => v.clone(),
                None => def.default_value().ok_or_else(|| Error::invalid("must be given").argument(def.name))?,
            };
            let optional = def.default == AttrDefault::Optional;
            match value.kind() {
                Some(kind) if kind == def.kind => {}
                None if optional => {}
                _ => {
                    return Err(Error::invalid(format!("expected {:?}, got {value:?}", def.kind)).argument(def.name));
                }
            }
            out.push(value);
        }
        Ok(Attrs(out))
    }
}

/// A function that a `call` instruction names. Equal where it is the same function.
///
/// A function that calls itself is not kept by its own calls, so that it is freed when nobody else keeps it. A call that is
/// copied into the graph of another function keeps it (see [`Function::define`]).
#[derive(Clone)]
pub struct FuncRef(Target);

#[derive(Clone)]
enum Target {
    Kept(Arc<Function>),
    Within(Weak<Function>),
}

impl FuncRef {
    /// A reference that keeps the function. Inside of the function itself it would keep it for ever: see [`FuncRef::called`].
    pub fn new(function: Arc<Function>) -> FuncRef {
        FuncRef(Target::Kept(function))
    }

    /// A reference for a call. It does not keep a function that is only declared: the caller will be a part of it, or of
    /// what it calls.
    pub fn called(function: &Arc<Function>) -> FuncRef {
        FuncRef(match function.graph() {
            Some(_) => Target::Kept(function.clone()),
            None => Target::Within(Arc::downgrade(function)),
        })
    }

    /// The function.
    ///
    /// # Errors
    /// `FailedPrecondition` where it is freed: a graph that calls it outlived the function that the graph is a part of.
    pub fn get(&self) -> Result<Arc<Function>> {
        match &self.0 {
            Target::Kept(function) => Ok(function.clone()),
            Target::Within(function) => function.upgrade().ok_or_else(|| {
                Error::precondition("calls a function that is freed: the graph outlived what it is a part of")
            }),
        }
    }

    /// The function, where this keeps it.
    pub fn kept(&self) -> Option<&Arc<Function>> {
        match &self.0 {
            Target::Kept(function) => Some(function),
            Target::Within(_) => None,
        }
    }

    /// Keeps the function from now on, if it has a graph: the graph with this reference is none of its parts.
    pub(crate) fn keep(&mut self) {
        if let Target::Within(function) = &self.0
            && let Some(function) = function.upgrade()
            && function.graph().is_some()
        {
            self.0 = Target::Kept(function);
        }
    }

    fn as_ptr(&self) -> *const Function {
        match &self.0 {
            Target::Kept(function) => Arc::as_ptr(function),
            Target::Within(function) => function.as_ptr(),
        }
    }
}

impl PartialEq for FuncRef {
    fn eq(&self, other: &FuncRef) -> bool {
        std::ptr::eq(self.as_ptr(), other.as_ptr())
    }
}

impl fmt::Debug for FuncRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(function) => write!(f, "@{}", function.name()),
            Err(_) => f.write_str("@(freed)"),
        }
    }
}

/// Host code that a graph calls: a Python function, or a Rust closure that an embedder registers.
///
/// The executor calls it on the thread that runs the graph, never on a worker.
pub trait HostFn: Send + Sync {
    /// A name for people.
    fn name(&self) -> &str;

    /// Where it is defined, as `file:line`; empty where that is not known.
    fn place(&self) -> &str {
        ""
    }

    /// Runs it.
    ///
    /// # Errors
    /// Whatever it reports; [`Error::host`] carries the host's own error object to the caller.
    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>>;

    /// Host code for its reverse mode; `None` where it has no derivative.
    ///
    /// That takes the inputs, then the cotangent of each output that is `flowing`, and gives the cotangent of each
    /// input that is `needed`, of the dtype and shape of the input. Only tensors of floating-point and complex dtypes,
    /// and lists, have cotangents. Being host code it may have a derivative in turn, which derivatives of higher order and
    /// forward mode take.
    fn derivative(&self, needed: &[bool], flowing: &[bool]) -> Option<HostRef> {
        let _ = (needed, flowing);
        None
    }

    /// Host code that computes many examples at once; `None` where they go one after the other.
    ///
    /// That takes the inputs, of which those that are `mapped` have a new leading axis, and gives the outputs, all with that axis.
    ///
    /// # Errors
    /// Whatever it reports.
    fn batched(&self, mapped: &[bool]) -> Result<Option<HostRef>> {
        let _ = mapped;
        Ok(None)
    }

    /// For the crate that made it: access to what it is.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// Host code. Equal where it is the same object.
#[derive(Clone)]
pub struct HostRef(pub Arc<dyn HostFn>);

impl HostRef {
    /// As [`HostFn::derivative`].
    ///
    /// # Errors
    /// `NotFound` where it has none.
    pub fn derivative(&self, needed: &[bool], flowing: &[bool]) -> Result<HostRef> {
        self.0.derivative(needed, flowing).ok_or_else(|| {
            Error::not_found(format!("has no gradient: {} does not say what its derivative is", self.0.name()))
        })
    }
}

impl PartialEq for HostRef {
    fn eq(&self, other: &HostRef) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for HostRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host({:?})", self.0.name())
    }
}
