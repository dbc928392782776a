//! Functions that call themselves while they are traced.
//!
//! A function with an input signature may call itself under a condition of the graph. It is then traced more than
//! once. The first pass takes the call for one that never returns: `_Recursion` is raised, the branch that it stands
//! in ends there, and the other branches say what the function returns. In the passes that follow the call goes to
//! a function that is declared to return that, and to take what the pass before has captured. The graph is done when
//! it captures and returns what was declared.

use std::cell::RefCell;
use std::sync::Arc;

use penstock_ir::{Function, Signature, Type, Verified};
use penstock_trace::{self as trace, Concrete, TraceType, Traced, Var};
use pyo3::exceptions::{PyBaseException, PyRecursionError, PyTypeError};
use pyo3::prelude::*;

use crate::errors::OrPy;
use crate::tree::Tree;

pyo3::create_exception!(
    penstock._core,
    _Recursion,
    PyBaseException,
    "A call of a function by itself, of which it is not known yet what it returns."
);

/// How often a function without signature may be open for one type of arguments: Python state may still end it.
const OPEN_AT_MOST: usize = 16;
/// Passes after which a type that still changes is given up. Each pass forgets at least one size.
const PASSES: usize = 32;

/// What a function that is being traced is declared as.
#[derive(Clone)]
struct Declared {
    function: Arc<Function>,
    tree: Arc<Tree>,
    captures: Vec<Var>,
    trainable: Vec<usize>,
}

/// A function that is being traced.
struct Open {
    /// The number of the function.
    id: u64,
    ty: TraceType,
    /// Whether a call by itself becomes a call of the graph.
    recursive: bool,
    /// The trace of the present pass.
    trace: u64,
    declared: Option<Declared>,
    /// Whether it was called by itself in this pass.
    met: bool,
    /// Whether what it calls is still being traced: its own trace serves that one's graph only.
    dependent: bool,
    /// How many passes have ended.
    passes: usize,
}

thread_local! {
    /// The functions that this thread is tracing, outermost first.
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

/// What a call of a function that is being traced comes to.
pub(crate) enum Met {
    /// It is no such call.
    No,
    /// A call of the declared function.
    Call(Concrete, Arc<Tree>),
}

/// Whether a call of function `id` with arguments of type `ty` is one of a function by itself.
///
/// # Errors
/// `_Recursion` where it is not known yet what the function returns; `RecursionError` where it has no signature, and
/// calls itself without end.
pub(crate) fn met(id: u64, name: &str, ty: &TraceType) -> PyResult<Met> {
    let candidates: Vec<(usize, TraceType, u64)> = OPEN.with_borrow(|open| {
        open.iter().enumerate().filter(|(_, o)| o.id == id).map(|(i, o)| (i, o.ty.clone(), o.trace)).collect()
    });
    // Comparing may run Python code: not while the list is borrowed.
    let same: Vec<usize> = candidates
        .iter()
        .filter(|(_, t, trace)| ty.is_subtype_of(t) && trace::with_graph_of(*trace, |_| ()).is_some())
        .map(|(i, ..)| *i)
        .collect();
    let Some(&last) = same.last() else { return Ok(Met::No) };
    OPEN.with_borrow_mut(|open| {
        if !open[last].recursive {
            if same.len() < OPEN_AT_MOST {
                return Ok(Met::No);
            }
            return Err(PyRecursionError::new_err(format!(
                "maximum recursion depth exceeded: the tf.function '{name}' calls itself with arguments of the same \
                 types, so that tracing it does not end. Give it an input_signature, and a condition on tensors under \
                 which it does not call itself"
            )));
        }
        open[last].met = true;
        for inner in &mut open[last + 1..] {
            inner.dependent = true;
        }
        match &open[last].declared {
            None => Err(_Recursion::new_err(format!("{name} calls itself"))),
            Some(d) => {
                let concrete = Concrete::new(d.function.clone(), d.captures.clone(), d.trainable.clone());
                Ok(Met::Call(concrete, d.tree.clone()))
            }
        }
    })
}

/// Marks a function as being traced, until it is dropped.
pub(crate) struct Guard(usize);

impl Guard {
    pub(crate) fn enter(id: u64, ty: TraceType, recursive: bool) -> Guard {
        OPEN.with_borrow_mut(|open| {
            open.push(Open { id, ty, recursive, trace: 0, declared: None, met: false, dependent: false, passes: 0 });
            Guard(open.len() - 1)
        })
    }

    fn with<R>(&self, f: impl FnOnce(&mut Open) -> R) -> R {
        OPEN.with_borrow_mut(|open| f(&mut open[self.0]))
    }

    /// A pass begins: the trace of this id is open.
    pub(crate) fn begin(&self, trace: u64) {
        self.with(|open| (open.trace, open.met) = (trace, false));
    }

    /// Captures, after the placeholders, what the declared function takes, in its order.
    pub(crate) fn capture(&self, py: Python<'_>) -> PyResult<()> {
        let captures = self.with(|open| open.declared.as_ref().map(|d| d.captures.clone()));
        captures.map_or(Ok(()), |captures| trace::capture_all(&captures).or_py(py))
    }

    /// Whether the trace may be kept: it depends on nothing that is still open.
    pub(crate) fn is_final(&self) -> bool {
        self.with(|open| !open.dependent)
    }

    /// What an exception of a pass reaches the caller as.
    pub(crate) fn error(&self, py: Python<'_>, name: &str, error: PyErr) -> PyErr {
        let own = self.with(|open| open.met && !open.dependent);
        if !own || !error.is_instance_of::<_Recursion>(py) {
            return error;
        }
        PyRecursionError::new_err(format!(
            "maximum recursion depth exceeded: the tf.function '{name}' calls itself whichever way it goes, so that \
             there is no telling what it returns. Have it return without calling itself under a condition on tensors"
        ))
    }

    /// The function of a finished pass; `None` where another pass has to follow.
    pub(crate) fn settle(
        &self,
        py: Python<'_>,
        name: &str,
        traced: &Traced,
        graph: Verified,
        tree: &Arc<Tree>,
    ) -> PyResult<Option<Arc<Function>>> {
        let fresh = || format!("{name}_{}", trace::fresh_id());
        let (met, declared) = self.with(|open| (open.met, open.declared.clone()));
        if !met {
            return Ok(Some(Arc::new(Function::new(fresh(), graph))));
        }
        let Signature { params, results } = graph.signature();
        let mut results: Vec<Type> = results.iter().map(|ty| ty.with_shape(ty.shape().erased())).collect();
        if let Some(declared) = declared {
            let before = &declared.function.signature().results;
            if !declared.tree.same(py, tree) || !results.iter().zip(before).all(|(a, b)| a.dtype() == b.dtype()) {
                return Err(PyTypeError::new_err(format!(
                    "the tf.function '{name}', which calls itself, must return the same structure and dtypes on every \
                     path: it returns {} where it does not call itself, and {} where it does",
                    described(before),
                    described(&results)
                )));
            }
            let fits = results.iter().zip(before).all(|(a, b)| a.shape().is_subtype_of(b.shape()));
            let ids = |vars: &[Var]| vars.iter().map(Var::id).collect::<Vec<_>>();
            if fits && ids(&declared.captures) == ids(&traced.captures) {
                declared.function.define(graph).or_py(py)?;
                return Ok(Some(declared.function));
            }
            for (ty, before) in results.iter_mut().zip(before) {
                *ty = ty.with_shape(ty.shape().join(before.shape()).erased());
            }
        }
        let passes = self.with(|open| {
            let function = Arc::new(Function::declare(fresh(), Signature { params, results }));
            open.declared = Some(Declared {
                function,
                tree: tree.clone(),
                captures: traced.captures.clone(),
                trainable: traced.trainable.clone(),
            });
            open.passes += 1;
            open.passes
        });
        if passes > PASSES {
            return Err(PyRecursionError::new_err(format!(
                "the tf.function '{name}', which calls itself, captures other tensors each time that it is traced: \
                 make them outside of it"
            )));
        }
        Ok(None)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.truncate(self.0));
    }
}

fn described(types: &[Type]) -> String {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    format!("({})", types.join(", "))
}
