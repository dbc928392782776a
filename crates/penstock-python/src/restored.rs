//! Functions whose traces come from a file: they serve calls as the traced function did, and trace nothing.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use penstock_format::Capture;
use penstock_trace::{Concrete, Entry, Token, Var};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::function::{Call, PyFunction};
use crate::keys::RawSink;
use crate::program::PyProgramFunction;
use crate::structure::{Leaf, Leaves};
use crate::traced::Trace;
use crate::tracing::uses;
use crate::tree::Tree;
use crate::variable::PyVariable;

/// What a file cannot say of a trace by graph, names and captures alone.
#[derive(FromPyObject)]
pub(crate) struct Saved<'py> {
    /// The arguments that it was made for: a specification for each tensor, some variable for each variable.
    args: Bound<'py, PyTuple>,
    kwargs: Bound<'py, PyDict>,
    /// The same, with a specification for each variable.
    signature: (Bound<'py, PyTuple>, Bound<'py, PyDict>),
    /// The result, with some tensor for each tensor.
    result: Bound<'py, PyAny>,
    /// Which inputs are trainable variables that it reads.
    trainable: Vec<usize>,
    /// Of each variable among the arguments: whether the trace serves that one only.
    pinned: Vec<bool>,
}

impl PyFunction {
    /// Whether its traces come from a file.
    pub(crate) fn is_restored(&self) -> bool {
        self.restored.load(Ordering::Relaxed)
    }

    /// Adds a trace from a file.
    pub(crate) fn restore<'py>(
        &self,
        py: Python<'py>,
        function: &PyProgramFunction,
        variables: &[Bound<'py, PyVariable>],
        saved: &Saved<'py>,
    ) -> PyResult<()> {
        let damaged = |what: &str| PyValueError::new_err(format!("function '{}': {what}", self.name));
        let bound = self.params.bind(py, None, &saved.args, Some(&saved.kwargs), &|_| None);
        let bound = bound.ok_or_else(|| damaged("the arguments of a saved trace do not fit its parameters"))?;
        let mut leaves = Leaves::new();
        bound.walk(&mut RawSink::default(), &mut leaves)?;
        let held = &function.0;
        let signature = held.function().signature();
        let inputs: Vec<String> = held.inputs().map(|(name, _)| name.to_owned()).collect();
        // The engine trusts types, so that those of the two descriptions must agree.
        let fits = inputs.len() == leaves.len()
            && leaves.iter().zip(&signature.params).all(|(leaf, due)| {
                let got = leaf.ty();
                got.is_variable() == due.is_variable()
                    && got.dtype() == due.dtype()
                    && got.shape().erased().is_subtype_of(&due.shape().erased())
            });
        if !fits {
            return Err(damaged("the arguments of a saved trace are not those of its graph"));
        }
        let mut outs = Vec::new();
        let tree = Tree::of(&saved.result, &mut outs)?;
        if outs.len() != signature.results.len() {
            return Err(damaged("the result of a saved trace is not that of its graph"));
        }
        let captures = held.captures().iter().map(|capture| match capture {
            Capture::Constant(tensor) => Ok(Var::eager(tensor.clone())),
            Capture::Variable(i) => {
                variables.get(*i).map(|v| v.get().var()).ok_or_else(|| damaged("a variable is missing"))
            }
        });
        let captures = captures.collect::<PyResult<Vec<Var>>>()?;
        if saved.trainable.iter().any(|&i| signature.params.get(i).is_none_or(|ty| !ty.is_variable())) {
            return Err(damaged("what is trained is no variable"));
        }
        let mut ty = bound.trace_type()?;
        let mut pinned = saved.pinned.iter();
        for token in &mut ty.tokens {
            if let Token::Variable(v) = token {
                v.pinned = *pinned.next().ok_or_else(|| damaged("a saved trace takes more variables"))?;
            }
        }
        let captured = held.captures().iter().filter_map(|capture| match capture {
            Capture::Variable(i) => variables.get(*i).map(|v| v.get().variable.root_id()),
            Capture::Constant(_) => None,
        });
        ty.reached = captured.collect();
        let (args, kwargs) = &saved.signature;
        let made = Trace {
            concrete: Concrete::new(held.function().clone(), captures, saved.trainable.clone()),
            tree: Arc::new(tree),
            name: self.name.clone(),
            params: self.params.clone(),
            uses: uses(&bound)?,
            inputs,
            callbacks: Vec::new(),
            instance: false,
            signature: (args.clone().unbind(), kwargs.clone().unbind()),
            guards: Vec::new(),
            cost: Duration::ZERO,
            watches: Vec::new(),
            objects: AtomicUsize::new(0),
            object: Mutex::default(),
        };
        self.restored.store(true, Ordering::Relaxed);
        let dropped = self.cache().insert(Arc::new(Entry::new(ty, made)));
        drop(dropped); // outside of the lock
        Ok(())
    }

    /// The trace that serves a call: as it is, or with Python's numbers as tensors; then the call holds these, and the
    /// second result is true.
    pub(crate) fn find_restored<'py>(
        &self,
        py: Python<'py>,
        call: &mut Call<'py>,
    ) -> PyResult<(Arc<Entry<Trace>>, bool)> {
        if let Some(entry) = self.find(py, &call.bound.trace_type()?, call) {
            return Ok((entry, false));
        }
        let entries = self.cache().entries().to_vec();
        for entry in entries {
            // A number that the trace's dtype does not hold is for another trace.
            let Ok(bound) = entry.trace.converted(py, call.bound.clone()) else { continue };
            if bound.trace_type()?.is_subtype_of(&entry.ty) {
                let mut leaves = Leaves::new();
                bound.walk(&mut RawSink::default(), &mut leaves)?;
                (call.bound, call.leaves) = (bound, leaves);
                return Ok((entry, true));
            }
        }
        // The function in place of the Python code says what there is.
        let shown = call.bound.replaced(
            &mut |_, leaf, value| match leaf {
                Some(Leaf::Variable(v)) => Ok(v.clone().into_any()),
                _ => Ok(value.clone()),
            },
            &self.params,
        )?;
        let (args, kwargs) = shown.call_args(py, &self.params)?;
        self.python_function.bind(py).call(args, Some(&kwargs))?;
        Err(PyTypeError::new_err(format!("{}: no saved trace takes these arguments", self.name)))
    }
}
