//! Graphs that stay open, for the names of TensorFlow 1.

use penstock_exec::Arg;
use penstock_trace::{self as trace, Concrete, OpenGraph, Part, Var};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::OrPy;
use crate::ops::spec_type;
use crate::tensor::{PyTensor, wrap, wrap_eager};

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

#[pymethods]
impl PyPart {
    /// Runs it on the values of the feeds, at once even if a trace is open.
    fn __call__<'py>(&self, py: Python<'py>, feeds: Vec<Bound<'py, PyTensor>>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        let symbolic = || PyTypeError::new_err("a value of feed_dict is a symbolic tensor");
        let tensor = |t: &Bound<'py, PyTensor>| t.get().var.tensor().cloned().map(Arg::Tensor).ok_or_else(symbolic);
        let mut args = feeds.iter().map(tensor).collect::<PyResult<trace::Args>>()?;
        let _outside = trace::suspend();
        let mut outs = Default::default();
        self.0.run(&mut args, &mut outs).or_py(py)?;
        outs.into_iter().map(|t| wrap_eager(py, t)).collect()
    }
}

/// A placeholder of the innermost trace.
#[pyfunction]
#[pyo3(signature = (spec, name=None))]
pub(crate) fn _placeholder<'py>(spec: &Bound<'py, PyAny>, name: Option<&str>) -> PyResult<Bound<'py, PyTensor>> {
    let py = spec.py();
    wrap(py, trace::placeholder(&spec_type(spec)?, name).or_py(py)?)
}
