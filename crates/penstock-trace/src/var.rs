//! Values as a program sees them: eager tensors, symbolic values of a trace, and variables.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use penstock_autodiff::Handle;
use penstock_data::{DType, Loc, Shape, Tensor};
use penstock_exec::Variable;
use penstock_ir::{Graph, Type, Value, Verified};

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

/// A trace, as its symbolic values know it.
pub struct Home {
    id: u64,
    function: Arc<str>,
    closed: OnceLock<Closed>,
}

/// The graph of a trace that is closed.
pub(crate) enum Closed {
    /// That of a trace which came to its end.
    Finished(Arc<Verified>),
    /// As far as a trace came that failed.
    Abandoned(Graph),
}

impl Home {
    pub(crate) fn new(function: &str) -> Arc<Home> {
        Arc::new(Home { id: fresh_id(), function: function.into(), closed: OnceLock::new() })
    }

    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The name of the function that is, or was, traced.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The graph, once the trace is closed.
    pub fn graph(&self) -> Option<&Graph> {
        self.closed.get().map(|closed| match closed {
            Closed::Finished(graph) => &***graph,
            Closed::Abandoned(graph) => graph,
        })
    }

    pub(crate) fn close(&self, graph: Closed) {
        let _ = self.closed.set(graph);
    }
}

/// A value of a graph under construction.
#[derive(Clone)]
pub struct Symbolic {
    /// The trace that it belongs to.
    pub trace: u64,
    /// Its id in the graph.
    pub value: Value,
    home: Arc<Home>,
    /// Where in the program it was made.
    loc: Loc,
    ty: Arc<Mutex<Type>>,
}

impl Symbolic {
    /// A value of a trace.
    pub(crate) fn new(home: &Arc<Home>, graph: &Graph, value: Value) -> Symbolic {
        let loc = graph.def_inst(value).map_or(Loc::UNKNOWN, |inst| graph.locs[inst]);
        Symbolic { trace: home.id, value, home: home.clone(), loc, ty: Arc::new(Mutex::new(graph.ty(value).clone())) }
    }

    /// The values of a finished graph, such as a caller of it may look at but not compute with.
    pub fn of_graph(function: &str, graph: &Arc<Verified>, values: &[Value]) -> Vec<Symbolic> {
        let home = Home::new(function);
        home.close(Closed::Finished(graph.clone()));
        values.iter().map(|&v| Symbolic::new(&home, graph, v)).collect()
    }

    /// Another value of its graph.
    pub fn beside(&self, graph: &Graph, value: Value) -> Symbolic {
        Symbolic::new(&self.home, graph, value)
    }

    /// The trace that it belongs to.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Where in the program it was made, where that is known.
    pub fn loc(&self) -> Loc {
        self.loc
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
        Var { id: Var::variable_id(variable.id()), kind: Kind::Variable(variable) }
    }

    /// A value of the same identity that is in another variable.
    pub(crate) fn holding(&self, variable: Arc<Variable>) -> Var {
        Var { id: self.id, kind: Kind::Variable(variable) }
    }

    /// The identity of a variable by its number.
    pub fn variable_id(number: u64) -> u64 {
        number | VARIABLE_ID
    }

    /// The id of the variable of which `id` is the identity.
    pub fn variable_number(id: u64) -> Option<u64> {
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
