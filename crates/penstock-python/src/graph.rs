//! Graphs as Python sees them: text, nodes, and tracing with regions.

use std::sync::{Arc, Mutex, PoisonError};

use penstock_data::DType;
use penstock_exec::Arg;
use penstock_ir::{Attr, Attrs, Entity, Function, Graph, Inst, Region, Type, Value, Verified};
use penstock_ops::node_names::NodeNames;
use penstock_trace::{self as trace, Symbolic};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::convert::{spec_type, to_var};
use crate::errors::OrPy;
use crate::operators::{find, wrap_outs};
use crate::tensor::{PyTensor, wrap, wrap_eager};

/// The name of a symbolic tensor: `node:k`.
pub(crate) fn tensor_name(s: &Symbolic) -> String {
    let open = trace::with_graph_of(s.trace, |graph| name_in(graph, s)).flatten();
    let left = || trace::with_left_graph(s.trace, |graph| name_in(graph, s)).flatten();
    open.or_else(left).unwrap_or_else(|| closed_name(s))
}

/// The name of a symbolic tensor whose trace is closed. Asks nothing of the thread's open traces.
pub(crate) fn closed_name(s: &Symbolic) -> String {
    s.home().graph().and_then(|graph| name_in(graph, s)).unwrap_or_else(|| format!("{}:0", s.value))
}

fn name_in(graph: &Graph, s: &Symbolic) -> Option<String> {
    let names = NodeNames::of(graph);
    let name = Some(names.value(s.value)).filter(|name| !name.is_empty())?;
    Some(if name.contains(':') { name.to_owned() } else { format!("{name}:0") })
}

/// The nodes of a graph, as `(name, op, operands)`: placeholders, operations, and an `Identity` for each result.
pub(crate) fn listed(graph: &Graph) -> Vec<(String, &'static str, Vec<String>)> {
    let names = NodeNames::of(graph);
    let name_of = |v: &Value| names.value(*v).to_owned();
    let mut nodes: Vec<_> = graph.inputs().iter().map(|v| (name_of(v), "Placeholder", Vec::new())).collect();
    graph.visit(&mut |_, inst, data| {
        let operands = data.operands.iter().map(name_of).collect();
        nodes.push((names.node(graph, inst).to_owned(), data.op.tf_name, operands));
    });
    let results = graph.outputs().iter().zip(names.results());
    nodes.extend(results.map(|(v, name)| (name.clone(), "Identity", vec![name_of(v)])));
    nodes
}

/// An operation of an open graph.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    /// The number of its instruction; a placeholder has none.
    pub(crate) number: Option<usize>,
    pub(crate) inputs: Vec<trace::Var>,
    pub(crate) outputs: Vec<trace::Var>,
}

/// The number of the region that a symbolic tensor was made in; 0 where its graph is gone.
pub(crate) fn region_of(s: &Symbolic) -> usize {
    let region = |graph: &Graph| graph.values.get(s.value).map(|data| data.region.index());
    let open = trace::with_graph_of(s.trace, region).or_else(|| trace::with_left_graph(s.trace, region));
    open.or_else(|| s.home().graph().map(region)).flatten().unwrap_or_default()
}

/// The node that gives a symbolic tensor, and the position of the tensor among its results; `None` where its graph is gone.
pub(crate) fn node_of(s: &Symbolic) -> Option<(Listed, usize)> {
    let open = trace::with_values_of(s.trace, |graph, handle| node_in(graph, s.value, handle));
    open.or_else(|| {
        let graph = s.home().graph()?;
        Some(node_in(graph, s.value, &|value| trace::Var::symbolic(s.beside(graph, value))))
    })?
}

fn node_in(graph: &Graph, value: Value, handle: &dyn Fn(Value) -> trace::Var) -> Option<(Listed, usize)> {
    let names = NodeNames::of(graph);
    let vars = |values: &[Value]| -> Vec<trace::Var> {
        values.iter().filter(|&&v| !graph.ty(v).is_variable()).map(|&v| handle(v)).collect()
    };
    let Some(inst) = graph.def_inst(value) else {
        let name = Some(names.value(value)).filter(|name| !name.is_empty())?.to_owned();
        let listed = Listed { name, kind: "Placeholder", number: None, inputs: Vec::new(), outputs: vars(&[value]) };
        return Some((listed, 0));
    };
    let data = &graph.insts[inst];
    let index = data.results.iter().position(|&v| v == value)?;
    let (inputs, outputs) = (vars(&data.operands), vars(&data.results));
    let name = names.node(graph, inst).to_owned();
    Some((Listed { name, kind: data.op.tf_name, number: None, inputs, outputs }, index))
}

/// The operations of the body of an open graph, placeholders first. Variables are no operands.
pub(crate) fn operations(graph: &Graph, handle: &dyn Fn(Value) -> trace::Var) -> Vec<Listed> {
    let names = NodeNames::of(graph);
    let numbers: FxHashMap<Inst, usize> = graph.insts.keys().enumerate().map(|(i, inst)| (inst, i)).collect();
    let vars = |values: &[Value]| -> Vec<trace::Var> {
        values.iter().filter(|&&v| !graph.ty(v).is_variable()).map(|&v| handle(v)).collect()
    };
    let inputs = graph.inputs().iter().filter(|&&v| !graph.ty(v).is_variable()).map(|v| Listed {
        name: names.value(*v).to_owned(),
        kind: "Placeholder",
        number: None,
        inputs: Vec::new(),
        outputs: vec![handle(*v)],
    });
    let insts = graph.regions[graph.body()].insts.iter().map(|inst| {
        let data = &graph.insts[*inst];
        Listed {
            name: names.node(graph, *inst).to_owned(),
            kind: data.op.tf_name,
            number: numbers.get(inst).copied(),
            inputs: vars(&data.operands),
            outputs: vars(&data.results),
        }
    });
    inputs.chain(insts).collect()
}

/// The graph of a traced function.
#[pyclass(frozen, name = "_Graph", module = "penstock._core", subclass)]
pub(crate) struct PyGraph {
    pub(crate) function: Arc<Function>,
    pub(crate) captures: usize,
}

impl PyGraph {
    fn graph(&self) -> PyResult<&Verified> {
        self.function.graph().ok_or_else(|| PyRuntimeError::new_err("the graph is still being traced"))
    }
}

#[pymethods]
impl PyGraph {
    /// The text form, which `penstock` in Rust parses back.
    fn to_text(&self) -> PyResult<String> {
        self.graph()?;
        Ok(self.function.to_text())
    }

    /// The text form as bytes, for a file or another process. Refused where the graph calls Python code.
    fn serialize(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.graph()?;
        penstock_ir::require_portable(&self.function).or_py(py)?;
        Ok(self.function.to_text().into_bytes())
    }

    /// `(name, op, inputs)` of each node.
    fn _nodes(&self) -> PyResult<Vec<(String, &'static str, Vec<String>)>> {
        Ok(listed(self.graph()?))
    }

    /// The nodes, with `.name`, `.op` and `.input`, as TensorFlow's `GraphDef` lists them: placeholders, operations,
    /// and an `Identity` for each output.
    fn as_graph_def<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::layer::call(py, "graph_def", (self._nodes()?,))
    }

    /// `(name, op, operands, results)` of each operation of the body, with symbolic tensors to look at.
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn _operations<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(String, &'static str, Vec<Bound<'py, PyTensor>>, Vec<Bound<'py, PyTensor>>)>> {
        let graph = Arc::new(self.graph()?.clone());
        let names = NodeNames::of(&graph);
        let tensors = |values: &[Value]| -> PyResult<Vec<Bound<'py, PyTensor>>> {
            let seen: Vec<Value> = values.iter().copied().filter(|&v| !graph.ty(v).is_variable()).collect();
            let found = Symbolic::of_graph(self.function.name(), &graph, &seen);
            found.into_iter().map(|s| wrap(py, trace::Var::symbolic(s))).collect()
        };
        let name = |v: &Value| names.value(*v).to_owned();
        let inputs = graph.inputs().iter().map(|v| Ok((name(v), "Placeholder", Vec::new(), tensors(&[*v])?)));
        let insts = graph.regions[graph.body()].insts.iter().map(|&inst| {
            let data = &graph.insts[inst];
            Ok((
                names.node(&graph, inst).to_owned(),
                data.op.tf_name,
                tensors(&data.operands)?,
                tensors(&data.results)?,
            ))
        });
        inputs.chain(insts).collect()
    }

    /// The operations of the body, placeholders first.
    fn get_operations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::layer::call(py, "graph_operations", (self._operations(py)?,))
    }

    /// The operation of that name; a `KeyError` where there is none.
    fn get_operation_by_name<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        crate::layer::call(py, "operation_by_name", (self.get_operations(py)?, name))
    }

    /// The symbolic tensor of that name, `operation:0`; a `KeyError` where there is none.
    fn get_tensor_by_name<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        crate::layer::call(py, "tensor_by_name", (self.get_operations(py)?, name))
    }

    /// The name of the function.
    #[getter]
    fn _name(&self) -> &str {
        self.function.name()
    }

    /// The number of inputs that are captured, not arguments.
    #[getter]
    fn _captures(&self) -> usize {
        self.captures
    }

    /// The types of the inputs and of the outputs, as text.
    fn _signature(&self) -> (Vec<String>, Vec<String>) {
        let s = self.function.signature();
        (s.params.iter().map(Type::to_string).collect(), s.results.iter().map(Type::to_string).collect())
    }

    /// Runs it by the reference interpreter, which is slow and obvious; for tests.
    ///
    /// The tensors are those of all inputs, captured ones behind the arguments.
    fn _run_reference<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Bound<'py, PyTensor>>,
    ) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        let args = inputs
            .iter()
            .map(|t| t.get().var.tensor().cloned().map(Arg::Tensor))
            .collect::<Option<Vec<Arg>>>()
            .ok_or_else(|| PyTypeError::new_err("the inputs must be tensors at hand"))?;
        let outs = penstock_exec::reference::run(self.graph()?, &args, trace::host()).or_py(py)?;
        outs.into_iter().map(|t| wrap_eager(py, t)).collect()
    }

    fn __str__(&self) -> PyResult<String> {
        self.to_text()
    }
}

/// Whether a function is being traced on this thread.
#[pyfunction]
pub(crate) fn _is_tracing() -> bool {
    trace::is_tracing()
}

/// An id of the innermost trace, or `None`.
#[pyfunction]
pub(crate) fn _current_trace() -> Option<u64> {
    trace::current_trace()
}

/// While entered, operations run at once even if a function is being traced.
#[pyclass(unsendable, name = "_Outside", module = "penstock._core")]
pub(crate) struct PyOutside(Vec<trace::Suspended>);

#[pymethods]
impl PyOutside {
    #[new]
    fn new() -> PyOutside {
        PyOutside(Vec::new())
    }

    fn __enter__(&mut self) {
        self.0.push(trace::suspend());
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&mut self, _exc: &Bound<'_, pyo3::types::PyTuple>) {
        self.0.pop();
    }
}

/// The traces that this thread has open, for another thread to go on with. This thread has none until it takes them over.
#[pyclass(frozen, name = "_HandedOver", module = "penstock._core")]
pub(crate) struct PyHandedOver(Mutex<Option<trace::HandedOver>>);

#[pymethods]
impl PyHandedOver {
    #[new]
    fn new() -> PyHandedOver {
        PyHandedOver(Mutex::new(Some(trace::hand_over())))
    }

    /// How many traces and regions are open.
    fn depth(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, trace::HandedOver::depth)
    }

    /// Goes on with them in this thread; one that `begins` has the tapes of the thread that gave them, too.
    #[pyo3(signature = (begins=false))]
    fn take_over(&self, begins: bool) {
        let handed = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handed) = handed {
            handed.take_over(begins);
        }
    }
}

/// A finished region of the innermost trace, to be given to `_emit_regions`.
#[pyclass(frozen, name = "_Region", module = "penstock._core")]
pub(crate) struct PyRegion(Region);

#[pymethods]
impl PyRegion {
    /// `(dtype, shape)` of each result.
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        trace::region_results(self.0)
            .or_py(py)?
            .iter()
            .map(|ty| {
                Ok((
                    crate::dtype::object(py, ty.dtype())?.clone().into_any(),
                    crate::tensor::shape_object(py, ty.shape())?,
                ))
            })
            .collect()
    }
}

/// Opens a region with parameters of the given specifications, and gives the parameters. Of the body of a loop, `firsts`
/// are the values that its first iteration starts from.
#[pyfunction]
#[pyo3(signature = (specs, firsts=None))]
pub(crate) fn _begin_region<'py>(
    py: Python<'py>,
    specs: Vec<Bound<'py, PyAny>>,
    firsts: Option<Vec<Bound<'py, PyAny>>>,
) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    let types: Vec<Type> = specs.iter().map(spec_type).collect::<PyResult<_>>()?;
    let firsts: Vec<trace::Var> =
        firsts.unwrap_or_default().iter().map(|v| to_var(v, None, None)).collect::<PyResult<_>>()?;
    trace::begin_region(&types, &firsts).or_py(py)?.into_iter().map(|v| wrap(py, v)).collect()
}

/// Whether operations can use a tensor around the `levels` innermost regions: one that is symbolic belongs to a region of
/// an open trace that is open then.
#[pyfunction]
#[pyo3(signature = (value, levels=0))]
pub(crate) fn _is_in_scope(value: &Bound<'_, PyTensor>, levels: usize) -> bool {
    trace::is_in_scope(&value.get().var, levels)
}

/// Closes the innermost region with its results.
#[pyfunction]
pub(crate) fn _end_region(py: Python<'_>, results: Vec<Bound<'_, PyAny>>) -> PyResult<PyRegion> {
    let vars = results.iter().map(|v| to_var(v, None, None)).collect::<PyResult<Vec<_>>>();
    match vars {
        Ok(vars) => trace::end_region(&vars).or_py(py).map(PyRegion),
        Err(e) => {
            trace::abandon_region();
            Err(e)
        }
    }
}

/// Closes the innermost region and forgets it.
#[pyfunction]
pub(crate) fn _abandon_region() {
    trace::abandon_region();
}

/// Adds an instruction with regions: `cond`, `switch` or `while`, this perhaps with `checkpoint_every`.
#[pyfunction]
#[pyo3(signature = (op, operands, regions, checkpoint_every=None))]
pub(crate) fn _emit_regions(
    py: Python<'_>,
    op: &str,
    operands: Vec<Bound<'_, PyAny>>,
    regions: Vec<Bound<'_, PyRegion>>,
    checkpoint_every: Option<i64>,
) -> PyResult<Py<PyAny>> {
    if !trace::is_tracing() {
        return Err(PyTypeError::new_err("regions belong to a trace"));
    }
    let inputs = operands.iter().map(|v| to_var(v, None, None)).collect::<PyResult<Vec<_>>>()?;
    let regions: Vec<Region> = regions.iter().map(|r| r.get().0).collect();
    let attrs = checkpoint_every.map_or(Attrs::EMPTY, |k| Attrs(smallvec::smallvec![Attr::Int(k)]));
    let outs = trace::apply_regions(find(op), &inputs, attrs, &regions).or_py(py)?;
    let single = outs.len() == 1;
    let made = wrap_outs(py, outs)?;
    if single { Ok(pyo3::types::PyTuple::new(py, [made])?.into_any().unbind()) } else { Ok(made) }
}

/// What a symbolic tensor is, computed now, from what the call that is traced has for the arguments, in the first iteration
/// of the loops around it; `None` where there are only specifications.
#[pyfunction]
pub(crate) fn _computed<'py>(py: Python<'py>, value: &Bound<'py, PyTensor>) -> PyResult<Option<Bound<'py, PyTensor>>> {
    trace::computed(&value.get().var).or_py(py)?.map(|t| wrap_eager(py, t)).transpose()
}

/// What a tensor is known to be, as an eager tensor, or `None`: a constant, or small integers that are computed of constants
/// and of extents that are known.
#[pyfunction]
pub(crate) fn _known_value<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyTensor>,
) -> PyResult<Option<Bound<'py, PyTensor>>> {
    let var = &value.get().var;
    let of_graph = || {
        let symbolic = var.as_symbolic()?;
        let counts = var.dtype().is_integer() || var.dtype() == DType::Bool;
        let found = || trace::with_graph_of(symbolic.trace, |graph| penstock_passes::value_of(graph, symbolic.value));
        if counts { found().flatten() } else { None }
    };
    trace::known(var).or_else(of_graph).map(|t| wrap_eager(py, t)).transpose()
}
