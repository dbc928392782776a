//! Values as a program sees them: eager tensors, symbolic values of a trace, and variables.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use penstock_autodiff::Handle;
use penstock_data::{DType, Shape, Tensor};
use penstock_exec::Variable;
use penstock_ir::{Type, Value};

/// A process-wide unique id.
///
/// Each thread takes a stretch of ids at a time, so that making a value touches no shared counter.
pub fn fresh_id() -> u64 {
    const STRETCH: u64 = 1 << 12;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: Cell<(u64, u64)> = const { Cell::new((0, 0)) });
    MINE.with(|mine| {
        let (mut next, mut end) = mine.get();
        if next == end {
            next = NEXT.fetch_add(STRETCH, Ordering::Relaxed);
            end = next + STRETCH;
        }
        mine.set((next + 1, end));
        next
    })
}

/// Ids of variables as tape handles, apart from those of other values.
const VARIABLE_ID: u64 = 1 << 63;

/// A value of a graph under construction.
#[derive(Clone)]
pub struct Symbolic {
    /// The trace that it belongs to.
    pub trace: u64,
    /// Its id in the graph.
    pub value: Value,
    ty: Arc<Mutex<Type>>,
}

impl Symbolic {
    /// A value of a trace.
    pub fn new(trace: u64, value: Value, ty: Type) -> Symbolic {
        Symbolic { trace, value, ty: Arc::new(Mutex::new(ty)) }
    }

    /// What is known of its type.
    pub fn ty(&self) -> Type {
        self.ty.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Narrows what is known of its type.
    pub fn set_ty(&self, ty: Type) {
        *self.ty.lock().unwrap_or_else(PoisonError::into_inner) = ty;
    }
}

/// A tensor of the program, or a variable where an operator takes one.
#[derive(Clone)]
pub struct Var {
    id: u64,
    kind: Kind,
}

/// What a [`Var`] is.
#[derive(Clone)]
pub enum Kind {
    /// A tensor at hand.
    Eager(Tensor),
    /// A value of a graph under construction.
    Symbolic(Symbolic),
    /// A variable.
    Variable(Arc<Variable>),
}

impl Var {
    /// A tensor at hand.
    #[inline]
    pub fn eager(tensor: Tensor) -> Var {
        Var { id: fresh_id(), kind: Kind::Eager(tensor) }
    }

    /// A value of a graph under construction.
    pub fn symbolic(symbolic: Symbolic) -> Var {
        Var { id: fresh_id(), kind: Kind::Symbolic(symbolic) }
    }

    /// A variable.
    pub fn variable(variable: Arc<Variable>) -> Var {
        Var { id: variable.id() | VARIABLE_ID, kind: Kind::Variable(variable) }
    }

    /// The id of the variable of which `id` is the identity.
    pub fn variable_id(id: u64) -> Option<u64> {
        (id & VARIABLE_ID != 0).then_some(id & !VARIABLE_ID)
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What it is, taken out.
    #[inline]
    pub fn into_kind(self) -> Kind {
        self.kind
    }

    /// The tensor, where it is at hand.
    #[inline]
    pub fn tensor(&self) -> Option<&Tensor> {
        match &self.kind {
            Kind::Eager(t) => Some(t),
            _ => None,
        }
    }

    /// The symbolic value, where it is one.
    pub fn as_symbolic(&self) -> Option<&Symbolic> {
        match &self.kind {
            Kind::Symbolic(s) => Some(s),
            _ => None,
        }
    }

    /// Its type; exact where it is a tensor at hand.
    pub fn ty(&self) -> Type {
        match &self.kind {
            Kind::Eager(t) => Type::of(t),
            Kind::Symbolic(s) => s.ty(),
            Kind::Variable(v) => v.ty(),
        }
    }

    /// The dtype of the tensor or of the variable's value.
    pub fn dtype(&self) -> DType {
        match &self.kind {
            Kind::Eager(t) => t.dtype(),
            Kind::Symbolic(s) => s.ty().dtype(),
            Kind::Variable(v) => v.dtype(),
        }
    }

    /// What is known of the shape.
    pub fn shape(&self) -> Shape {
        self.ty().shape().clone()
    }

    /// The identity: two handles of one value share it.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Handle for Var {
    fn id(&self) -> u64 {
        self.id
    }

    fn dtype(&self) -> DType {
        Var::dtype(self)
    }
}
