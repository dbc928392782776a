//! Stages of data sets that run without the interpreter, as the Python layer has them: functions that give the next rows.

use std::mem::{self, ManuallyDrop};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_data::{Class, DType, Error, Result, Tensor};
use penstock_input::{
    Ahead, AtHand, AtOnce, Batch, Batches, Begin, Files, Filter, FlatMap, Format, Function, Given, Groups, Interleave,
    Leaves, Map, Numbers, Open, OpenWindow, PaddedBatch, Padding, Pads, Pull, Rows, Shuffle, Skip, Slices, Stage, Take,
    Unique, WindowBatches, WindowRows, WindowSize, Windows,
};
use penstock_trace::{self as trace, Var};
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::concrete::PyConcrete;
use crate::convert::to_var;
use crate::errors::{OrPy, from_py, to_py};
use crate::tensor::{PyTensor, wrap_eager};
use crate::variable::PyVariable;
use crate::{exit, host};

/// An object of Python's that a stage holds, on whatever thread it is; dropping it attaches to the interpreter, unless that is
/// about to end.
struct Object(ManuallyDrop<Py<PyAny>>);

impl Object {
    fn new(object: Py<PyAny>) -> Arc<Object> {
        Arc::new(Object(ManuallyDrop::new(object)))
    }
}

impl Drop for Object {
    #[expect(unsafe_code, reason = "the field is dropped by hand")]
    fn drop(&mut self) {
        let Some(_stay) = exit::enter_to_drop() else { return };
        // SAFETY: nobody uses it after this.
        Python::attach(|_| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// Does what needs the interpreter; what it raises goes through the stages as an error.
fn with_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    let _stay = exit::enter();
    Python::attach(|py| work(py).map_err(|error| from_py(py, error)))
}

/// The class of rows in Python.
fn rows_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CLASS.import(py, "penstock.data._rows", "Rows")
}

/// Columns, or leaves, as Python's tensors.
fn listed<'py>(py: Python<'py>, columns: Leaves) -> PyResult<Vec<Option<Bound<'py, PyTensor>>>> {
    columns.into_iter().map(|column| column.map(|column| wrap_eager(py, column)).transpose()).collect()
}

/// Python's tensors as columns, or leaves.
fn leaves(columns: Vec<Option<Bound<'_, PyTensor>>>) -> PyResult<Leaves> {
    let at_hand = |column: Bound<'_, PyTensor>| {
        let tensor = column.get().var.tensor().cloned();
        tensor.ok_or_else(|| PyRuntimeError::new_err("a data set has elements of a function that is being traced"))
    };
    columns.into_iter().map(|column| column.map(at_hand).transpose()).collect()
}

/// Rows of Python's.
#[derive(FromPyObject)]
struct PyRows<'py> {
    count: usize,
    columns: Vec<Option<Bound<'py, PyTensor>>>,
    stacked: bool,
}

impl PyRows<'_> {
    fn read(self) -> PyResult<Rows> {
        Ok(Rows { count: self.count, columns: leaves(self.columns)?, stacked: self.stacked })
    }
}

/// Rows as Python's.
fn to_rows(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyAny>> {
    rows_class(py)?.call1((rows.count, listed(py, rows.columns)?, rows.stacked))
}

/// The rows of a window as Python's.
fn to_window(py: Python<'_>, window: Vec<Rows>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    window.into_iter().map(|rows| to_rows(py, rows)).collect()
}

/// A stage that Python code gives: a function of a limit.
struct Foreign(Arc<Object>);

impl Stage for Foreign {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        with_python(|py| {
            let rows = self.0.0.bind(py).call1((limit,))?;
            if rows.is_none() { Ok(None) } else { rows.extract::<PyRows<'_>>()?.read().map(Some) }
        })
    }
}

/// A function that was traced in Python.
struct Traced {
    #[expect(dead_code, reason = "held for what its graph calls back")]
    concrete: Arc<Object>,
    function: Arc<penstock_ir::Function>,
    captures: Vec<Var>,
    /// Which leaves of the result are tensors.
    gives: Vec<bool>,
    pure: bool,
}

/// A function that was traced in Python: its trace, what it takes from outside, which leaves of its result are tensors, and whether
/// it may run for many elements at once.
type Parts<'py> = (Bound<'py, PyConcrete>, Vec<Bound<'py, PyAny>>, Vec<bool>, bool);

impl Traced {
    /// The function, and what it holds of Python's.
    fn of((concrete, captures, gives, pure): Parts<'_>) -> PyResult<(Arc<Traced>, Arc<Object>)> {
        let given = |v: &Bound<'_, PyAny>| match v.cast::<PyVariable>() {
            Ok(variable) => Ok(variable.get().var()),
            Err(_) => to_var(v, None, None),
        };
        let captures = captures.iter().map(given).collect::<PyResult<Vec<Var>>>()?;
        let function = concrete.get().trace().concrete.function.clone();
        let concrete = Object::new(concrete.into_any().unbind());
        let held = concrete.clone();
        Ok((Arc::new(Traced { concrete, function, captures, gives, pure }), held))
    }

    fn run(&self, leaves: &[Option<Tensor>], rows: bool) -> Result<Leaves> {
        let mut inputs: Vec<Var> = leaves.iter().flatten().cloned().map(Var::eager).collect();
        let mapped = inputs.len();
        inputs.extend(self.captures.iter().cloned());
        let outs = if rows {
            trace::map_rows(&self.function, &inputs, mapped, false)?
        } else {
            trace::call(&self.function, &inputs)?
        };
        let mut outs = outs.iter().filter_map(Var::tensor).cloned();
        let leaves: Leaves = self.gives.iter().map(|&is| if is { outs.next() } else { None }).collect();
        for tensor in leaves.iter().flatten().filter(|tensor| tensor.remote().is_some()) {
            let mut done = Ok(());
            trace::host().run_long(&mut || done = tensor.settle());
            done?;
        }
        Ok(leaves)
    }
}

impl Function for Traced {
    fn call(&self, leaves: &[Option<Tensor>]) -> Result<Leaves> {
        self.run(leaves, false).map_err(|error| match error.class() {
            Class::OutOfRange => of_something_else(&error),
            _ => error,
        })
    }

    fn of_columns(&self, columns: &[Option<Tensor>]) -> Result<Leaves> {
        self.run(columns, true)
    }

    fn is_pure(&self) -> bool {
        self.pure
    }
}

/// The end of something that a function reads is not that of the data set which calls the function.
fn of_something_else(error: &Error) -> Error {
    let raised = with_python(|py| -> PyResult<()> {
        let cause = to_py(py, error);
        let message = format!("Function invocation produced OutOfRangeError: {}", cause.value(py).str()?);
        let class = py.import("penstock.errors")?.getattr("InvalidArgumentError")?;
        let raised = PyErr::from_value(class.call1((message,))?);
        raised.set_cause(py, Some(cause));
        Err(raised)
    });
    raised.err().unwrap_or_else(|| error.clone())
}

/// Prepares threads, each of which draws from a stream of its own.
fn begin() -> Begin {
    let stream = host::_new_stream();
    Box::new(move || {
        exit::own_thread();
        host::_draw_from(stream, 0);
    })
}

/// A chain of stages that needs no interpreter. Called with a limit, it gives the next rows.
#[pyclass(frozen, name = "_Stage", module = "penstock._core")]
pub(crate) struct PyStage {
    /// Away while it is asked, and once another stage has it.
    stage: Mutex<Option<Pull>>,
    /// What the stages hold of Python's, where no thread holds it as well.
    held: Mutex<Vec<Arc<Object>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn asked_by_two() -> PyErr {
    PyRuntimeError::new_err("a stage of a data set was asked by two at once")
}

fn traverse(held: &Mutex<Vec<Arc<Object>>>, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
    let Ok(held) = held.try_lock() else { return Ok(()) };
    held.iter().try_for_each(|object| visit.call(&*object.0))
}

impl PyStage {
    fn of(stage: impl Stage + 'static, held: Vec<Arc<Object>>) -> PyStage {
        PyStage { stage: Mutex::new(Some(Box::new(stage))), held: Mutex::new(held) }
    }

    fn away(&self) -> PyResult<Pull> {
        let found = lock(&self.stage).take();
        found.ok_or_else(asked_by_two)
    }

    /// The stage that `make` makes of this one, which is empty then.
    fn on<S: Stage + 'static>(
        &self,
        held: impl IntoIterator<Item = Arc<Object>>,
        make: impl FnOnce(Pull) -> S,
    ) -> PyResult<PyStage> {
        let stage = make(self.away()?);
        let mine = mem::take(&mut *lock(&self.held));
        Ok(PyStage::of(stage, mine.into_iter().chain(held).collect()))
    }
}

/// The stage that was opened in Python.
fn opened(stage: Bound<'_, PyAny>) -> PyResult<Pull> {
    match stage.cast::<PyStage>() {
        Ok(stage) => stage.get().away(),
        Err(_) => Ok(Box::new(Foreign(Object::new(stage.unbind())))),
    }
}

/// Opens what a function of Python's gives for the leaves of an element.
fn opener(function: &Arc<Object>) -> Open {
    let function = function.clone();
    Arc::new(move |element| with_python(|py| opened(function.0.bind(py).call1((listed(py, element)?,))?)))
}

/// Which elements windows have: `(size, shift, stride, drop_remainder)`.
type Window = (usize, usize, usize, bool);

fn windows((size, shift, stride, drop): Window) -> Windows {
    Windows { size, shift, stride, drop }
}

/// The size of windows, or a function that gives it for a key.
#[derive(FromPyObject)]
enum Size<'py> {
    Fixed(usize),
    Of(Parts<'py>),
}

/// A value, or the number of a result of a function of the key, in a tuple.
#[derive(FromPyObject)]
enum Value<T> {
    Of((usize,)),
    Fixed(T),
}

impl<T> Value<T> {
    fn read<S>(self, fixed: impl FnOnce(T) -> PyResult<S>) -> PyResult<Given<S>> {
        Ok(match self {
            Value::Of((number,)) => Given::Of(number),
            Value::Fixed(value) => Given::Fixed(fixed(value)?),
        })
    }
}

/// How a leaf is padded: the sizes to pad to, None for the largest, and the value.
type PyPads<'py> = (Vec<Option<Value<i64>>>, Value<Bound<'py, PyTensor>>);

/// What becomes of the windows of keys.
#[derive(FromPyObject)]
enum Reduction<'py> {
    /// Batches: a function of the key that gives numbers, the size, whether a last batch that is smaller is left out, and how each
    /// leaf is padded.
    Batches((Option<Parts<'py>>, Value<i64>, bool, Option<Vec<Option<PyPads<'py>>>>)),
    /// What a function of a key and rows opens.
    Open(Py<PyAny>),
}

/// The only leaf, which is a tensor.
fn one_leaf(tensor: Bound<'_, PyTensor>) -> PyResult<Tensor> {
    leaves(vec![Some(tensor)])?.remove(0).ok_or_else(|| PyRuntimeError::new_err("a leaf is no tensor"))
}

fn pads((shape, value): PyPads<'_>) -> PyResult<Pads> {
    let shape = shape.into_iter().map(|size| size.map(|size| size.read(Ok)).transpose());
    Ok(Pads { shape: shape.collect::<PyResult<_>>()?, value: value.read(one_leaf)? })
}

impl Reduction<'_> {
    /// Opens what becomes of a window; and what it holds of Python's.
    fn read(self) -> PyResult<(OpenWindow, Option<Arc<Object>>)> {
        match self {
            Reduction::Batches((numbers, size, drop, padded)) => {
                let (numbers, held) = numbers.map(Traced::of).transpose()?.unzip();
                let padded = padded.map(|leaves| leaves.into_iter().map(|leaf| leaf.map(pads).transpose()).collect());
                let batches = Batches {
                    numbers: numbers.map(|function| -> Arc<dyn Function> { function }),
                    size: size.read(Ok)?,
                    drop,
                    pads: padded.transpose()?,
                };
                Ok((Arc::new(move |key, window| batches.open(key, window)), held))
            }
            Reduction::Open(function) => {
                let function = Object::new(function);
                let held = Some(function.clone());
                let open = move |key: i64, window| {
                    with_python(|py| opened(function.0.bind(py).call1((key, to_window(py, window)?))?))
                };
                Ok((Arc::new(open), held))
            }
        }
    }
}

#[pymethods]
impl PyStage {
    /// `start`, `start + step` and so on; without end where `count` is None.
    #[staticmethod]
    fn numbers(start: i64, step: i64, count: Option<u64>, dtype: DTypeOf) -> PyStage {
        PyStage::of(Numbers::new(start, step, count, dtype.0), Vec::new())
    }

    /// Gives the rows of tensors. Every tensor has `count` rows.
    #[staticmethod]
    fn slices(py: Python<'_>, count: usize, columns: Vec<Option<Bound<'_, PyTensor>>>) -> PyResult<PyStage> {
        let here = leaves(columns)?.into_iter().map(|column| column.map(|column| column.on_host()).transpose());
        Ok(PyStage::of(Slices::new(count, here.collect::<Result<_>>().or_py(py)?), Vec::new()))
    }

    /// The lines of files, their records, or their records of a size between a header and a footer. `refused` gives the exception
    /// for a file that cannot be read, from its name and the number of the error.
    #[staticmethod]
    #[pyo3(signature = (names, refused, lines=false, fixed=None))]
    fn files(names: Vec<String>, refused: Py<PyAny>, lines: bool, fixed: Option<(usize, usize, usize)>) -> PyStage {
        let format = match fixed {
            Some((size, header, footer)) => Format::Fixed { size, header, footer },
            None if lines => Format::Lines,
            None => Format::Records,
        };
        let refused = Object::new(refused);
        let held = refused.clone();
        let refuse = move |name: &str, error: &std::io::Error| {
            let asked = with_python(|py| -> PyResult<()> {
                let raised = refused.0.bind(py).call1((name, error.raw_os_error().unwrap_or_default()))?;
                Err(PyErr::from_value(raised))
            });
            asked.err().unwrap_or_else(|| Error::unavailable(error.to_string()))
        };
        PyStage::of(Files::new(names, format, Arc::new(refuse)), vec![held])
    }

    /// Gives rows at hand.
    #[staticmethod]
    fn at_hand(rows: Vec<PyRows<'_>>) -> PyResult<PyStage> {
        let rows = rows.into_iter().map(PyRows::read).collect::<PyResult<_>>()?;
        Ok(PyStage::of(AtHand::new(rows), Vec::new()))
    }

    /// What a function gives for each element, or the elements for which it gives True.
    #[pyo3(signature = (function, filters=false))]
    fn mapped(&self, function: Parts<'_>, filters: bool) -> PyResult<PyStage> {
        let (function, held) = Traced::of(function)?;
        if filters {
            self.on([held], |stage| Filter::new(stage, function))
        } else {
            self.on([held], |stage| Map::new(stage, function))
        }
    }

    /// What Python code gives: a function as this is.
    #[staticmethod]
    fn over(pull: Py<PyAny>) -> PyStage {
        let pull = Object::new(pull);
        PyStage::of(Foreign(pull.clone()), vec![pull])
    }

    /// Stacks `size` elements into one batch.
    fn batched(&self, size: usize, drop_remainder: bool) -> PyResult<PyStage> {
        self.on(None, |stage| Batch::new(stage, size, drop_remainder))
    }

    /// The first elements.
    fn taken(&self, count: usize) -> PyResult<PyStage> {
        self.on(None, |stage| Take::new(stage, count))
    }

    /// What comes after the first elements.
    fn skipped(&self, count: usize) -> PyResult<PyStage> {
        self.on(None, |stage| Skip::new(stage, count))
    }

    /// The elements in an order that `seed` fixes, drawn from a buffer of the next `size` of them, of all for None. `said` is the size
    /// as the user gave it.
    fn shuffled(&self, seed: u64, size: Option<usize>, said: String) -> PyResult<PyStage> {
        self.on(None, |stage| Shuffle::new(stage, seed, size, said))
    }

    /// The elements that did not come before.
    fn unique(&self) -> PyResult<PyStage> {
        self.on(None, Unique::new)
    }

    /// Stacks `size` elements into one batch, each leaf padded with a value to sizes, of which None is the largest.
    fn padded(
        &self,
        size: usize,
        drop_remainder: bool,
        leaves: Vec<Option<(Vec<Option<usize>>, Bound<'_, PyTensor>)>>,
    ) -> PyResult<PyStage> {
        let padding = |(shape, value)| Ok(Padding { shape, value: one_leaf(value)? });
        let paddings: PyResult<_> = leaves.into_iter().map(|leaf| leaf.map(padding).transpose()).collect();
        let paddings = paddings?;
        self.on(None, |stage| PaddedBatch::new(stage, size, drop_remainder, paddings))
    }

    /// What becomes of windows of elements with one key: the number that `key` gives.
    fn grouped(&self, key: Parts<'_>, size: Size<'_>, reduce: Reduction<'_>) -> PyResult<PyStage> {
        let (key, of_key) = Traced::of(key)?;
        let (size, of_size) = match size {
            Size::Fixed(size) => (WindowSize::Fixed(size), None),
            Size::Of(function) => {
                let (function, held) = Traced::of(function)?;
                (WindowSize::Of(function), Some(held))
            }
        };
        let (open, of_reduction) = reduce.read()?;
        let held = [Some(of_key), of_size, of_reduction].into_iter().flatten();
        self.on(held, |stage| Groups::new(stage, key, size).flat_map(open))
    }

    /// The windows of the elements. This one is empty then.
    fn windows(&self, window: Window) -> PyResult<PyWindows> {
        let rows = WindowRows::new(self.away()?, windows(window));
        Ok(PyWindows { rows: Mutex::new(Some(rows)), held: Mutex::new(mem::take(&mut *lock(&self.held))) })
    }

    /// The elements of the stages that a function opens for the rows of each window, one after the other.
    fn windows_flat_mapped(&self, window: Window, open: Py<PyAny>) -> PyResult<PyStage> {
        let open = Object::new(open);
        let held = open.clone();
        let open = move |rows| with_python(|py| opened(open.0.bind(py).call1((to_window(py, rows)?,))?));
        self.on([held], |stage| WindowRows::new(stage, windows(window)).flat_map(open))
    }

    /// Batches of `size` elements of each window, with these of their leaves.
    fn window_batches(
        &self,
        window: Window,
        size: usize,
        drop_remainder: bool,
        leaves: Vec<usize>,
    ) -> PyResult<PyStage> {
        self.on(None, |stage| WindowBatches::new(stage, windows(window), size, drop_remainder, leaves))
    }

    /// Reads elements ahead on a thread, at most `size` of them.
    fn ahead(&self, size: usize) -> PyResult<PyStage> {
        let stage = self.away()?;
        let held = mem::take(&mut *lock(&self.held));
        drop(held);
        Ok(PyStage::of(Ahead::new(|| Ok(stage), size, None, begin()), Vec::new()))
    }

    /// The elements of the stages that a function of leaves opens, `block` of each of `cycle` in turn. With `calls` threads read
    /// them, of which so many compute at once.
    fn interleaved(&self, open: Py<PyAny>, cycle: usize, block: usize, calls: Option<usize>) -> PyResult<PyStage> {
        let open = Object::new(open);
        let at_once = calls.map(|count| AtOnce { count, begin: Box::new(begin) });
        let held = if calls.is_none() { Some(open.clone()) } else { None };
        self.on(held, |stage| Interleave::new(stage, opener(&open), cycle, block, at_once))
    }

    /// The elements of the stages that a function of leaves opens, one after the other.
    fn flat_mapped(&self, open: Py<PyAny>) -> PyResult<PyStage> {
        let open = Object::new(open);
        self.on(Some(open.clone()), |stage| FlatMap::new(stage, opener(&open)))
    }

    /// The next rows, at most `limit` of them; None at the end.
    fn __call__<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut stage = self.away()?;
        let found = {
            let _outside = (!trace::is_plain()).then(trace::suspend);
            stage.pull(limit)
        };
        *lock(&self.stage) = Some(stage);
        found.or_py(py)?.map(|rows| to_rows(py, rows)).transpose()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        traverse(&self.held, &visit)
    }

    fn __clear__(&self) {
        let stage = lock(&self.stage).take();
        drop(stage);
        let held = mem::take(&mut *lock(&self.held));
        drop(held);
    }
}

/// The windows of the elements of a stage. Called, it gives the rows of the next one.
#[pyclass(frozen, name = "_Windows", module = "penstock._core")]
pub(crate) struct PyWindows {
    /// Away while it is asked.
    rows: Mutex<Option<WindowRows>>,
    /// What the stage holds of Python's.
    held: Mutex<Vec<Arc<Object>>>,
}

#[pymethods]
impl PyWindows {
    /// The rows of the next window; None at the end.
    fn __call__<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let mut rows = lock(&self.rows).take().ok_or_else(asked_by_two)?;
        let found = {
            let _outside = (!trace::is_plain()).then(trace::suspend);
            rows.window()
        };
        *lock(&self.rows) = Some(rows);
        found.or_py(py)?.map(|window| to_window(py, window)).transpose()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        traverse(&self.held, &visit)
    }

    fn __clear__(&self) {
        let rows = lock(&self.rows).take();
        drop(rows);
        let held = mem::take(&mut *lock(&self.held));
        drop(held);
    }
}

/// A dtype among arguments.
struct DTypeOf(DType);

impl<'a, 'py> FromPyObject<'a, 'py> for DTypeOf {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(DTypeOf(object.cast::<crate::dtype::PyDType>()?.get().0))
    }
}
