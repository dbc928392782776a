//! Graphs that stay open, for the names of TensorFlow 1.

use std::sync::{Arc, Mutex, PoisonError};

use penstock_exec::{Arg, Variable};
use penstock_ir::Graph;
use penstock_ops::node_names::NodeNames;
use penstock_trace::{self as trace, Concrete, OpenGraph, Part, Var};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::concrete::taken;
use crate::convert::spec_type;
use crate::errors::OrPy;
use crate::graph::{listed, operations};
use crate::tensor::{PyTensor, wrap, wrap_eager};
use crate::variable::PyVariable;

/// A graph that the program enters, adds to and leaves, and of which it runs parts.
#[pyclass(frozen, name = "_OpenGraph", module = "penstock._core")]
pub(crate) struct PyOpenGraph(OpenGraph);

fn vars(tensors: &[Bound<'_, PyTensor>]) -> Vec<Var> {
    tensors.iter().map(|t| t.get().var.clone()).collect()
}

#[pymethods]
impl PyOpenGraph {
    #[new]
    fn new() -> PyOpenGraph {
        PyOpenGraph(OpenGraph::new())
    }

    /// The id of its trace, as `_current_trace` gives it.
    #[getter]
    fn id(&self) -> u64 {
        self.0.id()
    }

    /// Adds the operations of this thread to the graph from now on.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        self.0.enter().or_py(py)
    }

    /// Leaves the graph.
    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.0.leave().or_py(py)
    }

    /// The number of instructions so far: that of the next one.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.len().or_py(py)
    }

    /// `(name, op, number, operands, results)` of each operation of the body, placeholders first, which have no number.
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn _operations<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(String, &'static str, Option<usize>, Vec<Bound<'py, PyTensor>>, Vec<Bound<'py, PyTensor>>)>>
    {
        let listed = self.0.inspect(|graph, handle| operations(graph, handle)).or_py(py)?;
        // No lock is held any more.
        let tensors = |vars: Vec<Var>| vars.into_iter().map(|var| wrap(py, var)).collect::<PyResult<Vec<_>>>();
        let each = listed.into_iter();
        each.map(|op| Ok((op.name, op.kind, op.number, tensors(op.inputs)?, tensors(op.outputs)?))).collect()
    }

    /// A function of a part of the graph: see the engine's `OpenGraph::part`.
    fn part(
        &self,
        py: Python<'_>,
        fetches: Vec<Bound<'_, PyTensor>>,
        feeds: Vec<Bound<'_, PyTensor>>,
        forced: Vec<usize>,
        after: Vec<(usize, usize)>,
    ) -> PyResult<PyPart> {
        let (fetches, feeds) = (vars(&fetches), vars(&feeds));
        let part = Part { fetches: &fetches, feeds: &feeds, forced: &forced, after: &after };
        self.0.part(&part).or_py(py).map(PyPart)
    }
}

/// A part of an open graph, ready to run.
#[pyclass(frozen, name = "_GraphPart", module = "penstock._core")]
pub(crate) struct PyPart(Concrete);

impl PyPart {
    pub(crate) fn concrete(&self) -> &Concrete {
        &self.0
    }

    /// The names of what it is fed.
    pub(crate) fn inputs(&self) -> PyResult<Vec<String>> {
        let (graph, fed) = (self.graph()?, self.fed());
        let names = NodeNames::of(graph);
        Ok(graph.inputs()[..fed].iter().map(|&v| names.value(v).to_owned()).collect())
    }

    fn graph(&self) -> PyResult<&Graph> {
        let graph = self.0.function.graph();
        graph.map(|graph| &**graph).ok_or_else(|| PyRuntimeError::new_err("the part has no graph"))
    }

    fn fed(&self) -> usize {
        self.0.function.signature().params.len() - self.0.captures.len()
    }
}

#[pymethods]
impl PyPart {
    /// The nodes, as `(name, op, operands)`: what it is fed, what it takes from outside, operations, and an `Identity` for each
    /// result.
    fn _nodes(&self) -> PyResult<Vec<(String, &'static str, Vec<String>)>> {
        Ok(listed(self.graph()?))
    }

    /// What the graph takes from outside, in its order: tensors and variables.
    #[getter]
    fn captured_inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        taken(py, &self.0.captures)
    }

    /// Runs it on the values of the feeds and the variables of `values`, at once even if a trace is open.
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        feeds: Vec<Bound<'py, PyTensor>>,
        values: &Bound<'py, PyValues>,
    ) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        let symbolic = || PyTypeError::new_err("a value of feed_dict is a symbolic tensor");
        let tensor = |t: &Bound<'py, PyTensor>| t.get().var.tensor().cloned().map(Arg::Tensor).ok_or_else(symbolic);
        let mut args = feeds.iter().map(tensor).collect::<PyResult<trace::Args>>()?;
        let _outside = trace::suspend();
        let mut outs = Default::default();
        self.0.run_on(&mut args, &mut outs, |variable| values.get().cell(variable)).or_py(py)?;
        outs.into_iter().map(|t| wrap_eager(py, t)).collect()
    }
}

/// The variables of open graphs as one session has them.
///
/// A variable that was made in an open graph has no value of its own: each session gives it one. Others are the
/// same in all sessions.
#[pyclass(frozen, name = "_SessionValues", module = "penstock._core")]
pub(crate) struct PyValues(Mutex<FxHashMap<u64, Arc<Variable>>>);

impl PyValues {
    /// What holds the value of a variable in the session.
    fn cell(&self, variable: &Arc<Variable>) -> Arc<Variable> {
        if variable.is_initialized() {
            return variable.clone();
        }
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells.entry(variable.id()).or_insert_with(|| variable.without_value()).clone()
    }
}

#[pymethods]
impl PyValues {
    #[new]
    fn new() -> PyValues {
        PyValues(Mutex::default())
    }

    /// The value of a variable.
    fn read<'py>(&self, variable: &Bound<'py, PyVariable>) -> PyResult<Bound<'py, PyTensor>> {
        let py = variable.py();
        wrap_eager(py, self.cell(&variable.get().variable).read().or_py(py)?)
    }

    /// Whether a variable has a value.
    fn has(&self, variable: &Bound<'_, PyVariable>) -> bool {
        self.cell(&variable.get().variable).is_initialized()
    }

    /// Gives a variable a value.
    fn write(&self, variable: &Bound<'_, PyVariable>, value: &Bound<'_, PyTensor>) -> PyResult<()> {
        let py = variable.py();
        let Some(value) = value.get().var.tensor() else {
            return Err(PyTypeError::new_err("the value of a variable in a session cannot be a symbolic tensor"));
        };
        self.cell(&variable.get().variable).assign(value.clone()).or_py(py)
    }
}

/// A placeholder of the innermost trace.
#[pyfunction]
#[pyo3(signature = (spec, name=None))]
pub(crate) fn _placeholder<'py>(spec: &Bound<'py, PyAny>, name: Option<&str>) -> PyResult<Bound<'py, PyTensor>> {
    let py = spec.py();
    wrap(py, trace::placeholder(&spec_type(spec)?, name).or_py(py)?)
}
