//! One trace of a function: how it is called, and what it holds.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_exec::Arg;
use penstock_ir::Type;
use penstock_trace::{self as trace, Concrete, Kind, Token, TraceType, Var};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyWeakrefReference};
use smallvec::SmallVec;

use crate::callback::Callback;
use crate::errors::OrPy;
use crate::guard::Guard;
use crate::keys::PyOpaque;
use crate::params::{Bindings, Params};
use crate::structure::{Collect, Leaf, Leaves};
use crate::tensor::{PyTensor, wrap};
use crate::tree::Tree;
use crate::variable::PyVariable;

/// What a named parameter is in a trace.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// A Python value, part of the graph: it need not be given again.
    Fixed,
    /// A tensor of a dtype.
    Tensor(penstock_data::DType),
    /// A variable, or a nest with tensors in it.
    Other,
}

impl Use {
    /// What a parameter of these tokens is.
    pub(crate) fn of(tokens: &[Token]) -> Use {
        match tokens {
            [Token::Tensor(dtype, _)] => Use::Tensor(*dtype),
            all if all.iter().any(|t| matches!(t, Token::Tensor(..) | Token::Variable(_))) => Use::Other,
            _ => Use::Fixed,
        }
    }
}

/// One trace of a function.
pub(crate) struct Trace {
    pub(crate) concrete: Concrete,
    pub(crate) tree: Arc<Tree>,
    /// The name of the function.
    pub(crate) name: String,
    pub(crate) params: Arc<Params>,
    /// What each named parameter is.
    pub(crate) uses: Vec<Use>,
    /// The callbacks in its graph and in those that it calls.
    pub(crate) callbacks: Vec<Py<Callback>>,
    /// The names of the inputs that are arguments, in order.
    pub(crate) inputs: Vec<String>,
    /// Whether the first parameter is the instance of a method.
    pub(crate) instance: bool,
    /// The arguments with a specification for each tensor and variable, and other objects held weakly:
    /// `(args, kwargs)`.
    pub(crate) signature: (Py<PyTuple>, Py<PyDict>),
    /// What it depends on besides the arguments.
    pub(crate) guards: Vec<Guard>,
    /// How long tracing took.
    pub(crate) cost: Duration,
    /// Told when an object dies that the trace was made for.
    #[expect(dead_code, reason = "held so that it is told")]
    pub(crate) watches: Vec<Py<PyWeakrefReference>>,
    /// How many Python objects hold it.
    pub(crate) objects: AtomicUsize,
    /// The one that is given out, while there is one.
    pub(crate) object: Mutex<Option<Py<PyWeakrefReference>>>,
}

/// Leaves as the executor takes them.
#[derive(Default)]
pub(crate) struct RunArgs {
    pub(crate) list: trace::Args,
    /// Whether one is neither a tensor at hand nor a variable.
    pub(crate) strange: bool,
}

impl RunArgs {
    pub(crate) fn push(&mut self, leaf: &Leaf<'_>) {
        match leaf {
            Leaf::Tensor(t) => self.tensor(t),
            Leaf::Variable(v) => self.list.push(Arg::Variable(v.get().variable.clone())),
            Leaf::Other(_) => match leaf.var().map(Var::into_kind) {
                Ok(Kind::Eager(t)) => self.list.push(Arg::Tensor(t)),
                _ => self.strange = true,
            },
        }
    }
}

impl<'py> Collect<'py> for RunArgs {
    #[inline]
    fn tensor(&mut self, tensor: &Bound<'py, PyTensor>) {
        match tensor.get().var.tensor() {
            Some(t) => self.list.push(Arg::Tensor(t.clone())),
            None => self.strange = true,
        }
    }

    fn variable(&mut self, variable: &Bound<'py, PyVariable>) {
        let new = &variable.get().variable;
        if !self.list.iter().any(|arg| arg.variable().is_some_and(|v| Arc::ptr_eq(v, new))) {
            self.list.push(Arg::Variable(new.clone()));
        }
    }

    fn other(&mut self, leaf: Leaf<'py>) {
        self.push(&leaf);
    }
}

impl Trace {
    /// The results for leaves that are tensors or variables, where no trace and no tape is open.
    #[inline]
    pub(crate) fn run<'py>(&self, py: Python<'py>, args: &mut trace::Args) -> PyResult<Bound<'py, PyAny>> {
        let mut outs = SmallVec::new();
        self.concrete.run(args, &mut outs).or_py(py)?;
        if let Tree::Leaf = *self.tree
            && let Some(out) = outs.pop()
        {
            return Ok(wrap(py, Var::eager(out))?.into_any());
        }
        self.tree.build(py, &mut outs.into_iter().map(Var::eager))
    }

    pub(crate) fn call<'py>(&self, py: Python<'py>, leaves: &Leaves<'py>) -> PyResult<Bound<'py, PyAny>> {
        if trace::is_plain() {
            let mut args = RunArgs::default();
            leaves.iter().for_each(|leaf| args.push(leaf));
            if !args.strange {
                return self.run(py, &mut args.list);
            }
        }
        let args: SmallVec<[Var; 8]> = leaves.iter().map(Leaf::var).collect::<PyResult<_>>()?;
        let outs = self.concrete.call(args).or_py(py)?;
        self.tree.build(py, &mut outs.into_iter())
    }

    /// Python numbers where the trace has a tensor become tensors of its dtype.
    pub(crate) fn converted<'py>(&self, py: Python<'py>, mut bound: Bindings<'py>) -> PyResult<Bindings<'py>> {
        for (i, used) in self.uses.iter().enumerate() {
            if let Use::Tensor(dtype) = used
                && !crate::convert::is_tensor_like(&bound.named[i])
                && let Some(t) = crate::convert::from_python(&bound.named[i], None, Some(*dtype))?
            {
                bound.named[i] = crate::tensor::wrap_eager(py, t)?.into_any();
            }
        }
        Ok(bound)
    }

    /// The types of the inputs that are arguments.
    pub(crate) fn input_types(&self) -> &[Type] {
        &self.concrete.function.signature().params[..self.inputs.len()]
    }

    /// For the garbage collector: the Python objects that it holds.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tree.visit(visit)?;
        visit.call(&self.signature.0)?;
        visit.call(&self.signature.1)?;
        self.callbacks.iter().try_for_each(|callback| visit.call(callback))
    }
}

/// For the garbage collector: the Python objects that a trace type holds.
pub(crate) fn visit_type(ty: &TraceType, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    for token in &ty.tokens {
        // A token that another type shares is visited by neither.
        if let Token::Opaque(o) = token
            && Arc::strong_count(o) == 1
            && let Some(held) = o.as_any().downcast_ref::<PyOpaque>().and_then(PyOpaque::held)
        {
            visit.call(held)?;
        }
    }
    Ok(())
}
