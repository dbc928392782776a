//! The engine's part of `penstock.Function`: bind the arguments, look the trace up, run it.
//!
//! A hit stays in Rust from entry to exit. A miss traces (see `tracing.rs`): the Python function runs once on
//! symbolic arguments, and what it does becomes a graph.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_trace::{
    self as trace, Cache, Entry, Token, TraceLock, TraceType, most_specific, try_trace_lock, wait_for_trace_lock,
};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use smallvec::SmallVec;

use crate::concrete::PyConcrete;
use crate::errors::said;
use crate::guard::{Guards, Reading};
use crate::keys::RawSink;
use crate::layer;
use crate::params::{Bindings, Given, Param, Params};
use crate::program::PyProgramFunction;
use crate::restored::Saved;
use crate::stack::{Callable, Stack, StackCall, adopt, with_vectorcall};
use crate::structure::{Leaf, Leaves, Other};
use crate::traced::{RunArgs, Trace, visit_type};
use crate::tracing::History;
use crate::variable::PyVariable;

/// Whether traced functions run their Python code eagerly instead, for debugging.
static RUN_EAGERLY: AtomicBool = AtomicBool::new(false);

/// Makes all traced functions run their Python code eagerly, or stops that.
#[pyfunction]
pub(crate) fn _run_functions_eagerly(on: bool) {
    RUN_EAGERLY.store(on, Ordering::Relaxed);
}

/// Whether traced functions run their Python code eagerly.
#[pyfunction]
pub(crate) fn _functions_run_eagerly() -> bool {
    RUN_EAGERLY.load(Ordering::Relaxed)
}

/// A thread that waits for another to have traced looks after so long where that one is, and traces beside it if it was
/// so many times in a row at the same place.
const GLANCE: Duration = Duration::from_millis(50);
const GLANCES: u32 = 10;

/// A Python function that is traced into graphs.
#[pyclass(extends = Callable, subclass, frozen, name = "_Function", module = "penstock._core")]
pub(crate) struct PyFunction {
    pub(crate) python_function: Py<PyAny>,
    pub(crate) name: String,
    pub(crate) params: Arc<Params>,
    /// The specifications of `input_signature` in the order of the named parameters, if it was given.
    pub(crate) signature: Option<Py<PyTuple>>,
    /// Whether shapes are generalised after the first trace.
    pub(crate) relax: bool,
    /// The places besides the arguments that traces depend on, where they are guarded.
    pub(crate) guards: Option<Guards>,
    pub(crate) cache: Arc<Mutex<Cache<Trace>>>,
    /// How many times the Python function was traced.
    pub(crate) traced: AtomicU64,
    pub(crate) history: Mutex<History>,
    /// Variables, by id, that it was given and reached by itself as well: no other stands in for them.
    pub(crate) pinned: Mutex<Vec<u64>>,
    /// Its number, among functions, for taking turns at tracing.
    pub(crate) id: u64,
    /// Whether its traces come from a file: it has those, and no Python code to make others of.
    pub(crate) restored: AtomicBool,
}

/// One call: what it found on the way to a miss.
pub(crate) struct Call<'py> {
    pub(crate) bound: Bindings<'py>,
    pub(crate) leaves: Leaves<'py>,
    raw: RawSink,
    reading: Option<Reading>,
}

impl<'py> Call<'py> {
    #[inline]
    fn new(bound: Bindings<'py>) -> Call<'py> {
        Call { bound, leaves: Leaves::new(), raw: RawSink::default(), reading: None }
    }

    /// Whether a specification stands for some tensor.
    fn asks_for_spec(&self) -> bool {
        self.leaves.iter().any(|leaf| matches!(leaf, Leaf::Other(o) if matches!(**o, Other::Spec(..))))
    }
}

impl PyFunction {
    pub(crate) fn cache(&self) -> MutexGuard<'_, Cache<Trace>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bindings<'py>> {
        if let Some(bound) = self.params.bind(py, first, args, kwargs, &|_| None) {
            return Ok(bound);
        }
        // Python's own words for what is wrong with the call.
        let signature = py.import("inspect")?.getattr("signature")?.call1((&self.python_function,))?;
        let all: Vec<Bound<'py, PyAny>> = first.cloned().into_iter().chain(args.iter()).collect();
        match signature.call_method("bind", PyTuple::new(py, all)?, kwargs) {
            Err(e) => Err(PyTypeError::new_err(format!("{}(): {}", self.name, said(py, &e)))),
            Ok(_) => Err(PyTypeError::new_err(format!(
                "{}(): the arguments do not fit the function's parameters",
                self.name
            ))),
        }
    }

    /// The arguments as `input_signature` asks for them.
    fn conform<'py>(&self, py: Python<'py>, bound: Bindings<'py>) -> PyResult<Bindings<'py>> {
        let Some(signature) = &self.signature else { return Ok(bound) };
        let (named, varargs) = (PyTuple::new(py, &bound.named)?, PyTuple::new(py, &bound.varargs)?);
        let made = layer::call(py, "conform_to_signature", (self.as_python(), named, varargs, signature))?;
        let (named, varargs): (Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>) = made.extract()?;
        Ok(Bindings { named: named.into(), varargs: varargs.into(), ..bound })
    }

    /// The name and the parameters, for messages of the Python layer.
    fn as_python(&self) -> (&str, Vec<&str>, Option<&str>) {
        let names: Vec<&str> = self.params.named.iter().map(|p| p.text.as_str()).collect();
        (&self.name, names, self.params.varargs.as_deref())
    }

    /// Walks over the arguments of a call, which is large and so stays where it is.
    #[inline]
    fn read<'py>(&self, py: Python<'py>, call: &mut Call<'py>) -> PyResult<()> {
        call.bound.walk(&mut call.raw, &mut call.leaves)?;
        if let Some(guards) = &self.guards {
            call.reading = Some(guards.append(py, &call.bound.argument(), &mut call.raw.key));
        }
        Ok(())
    }

    /// A call of which all arguments are on the stack, where it needs no Python code: nothing has to be traced, no tape
    /// or trace is open, and words alone tell the trace.
    #[inline]
    fn hit<'py>(&self, stack: &Stack<'_, 'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        if !trace::is_plain() || RUN_EAGERLY.load(Ordering::Relaxed) {
            return None;
        }
        let (mut raw, mut args) = (RawSink::default(), RunArgs::default());
        // An error may be an interrupt, which comes once: it is not for the slow way to find again.
        match self.params.walk_stack(stack, &mut raw, &mut args) {
            Err(error) => return Some(Err(error)),
            Ok(fit) if !fit || raw.volatile || args.strange => return None,
            Ok(_) => {}
        }
        if let Some(guards) = &self.guards {
            guards.append(stack.py(), &|i| self.params.argument(stack, i), &mut raw.key);
        }
        let entry = self.cache().hit(raw.key.words())?;
        Some(entry.trace.run(stack.py(), &mut args.list))
    }

    fn call_with<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if RUN_EAGERLY.load(Ordering::Relaxed) && !self.is_restored() {
            let all: Vec<Bound<'py, PyAny>> = first.cloned().into_iter().chain(args.iter()).collect();
            return self.python_function.bind(py).call(PyTuple::new(py, all)?, kwargs);
        }
        let mut call = Call::new(self.bind(py, first, args, kwargs)?);
        self.read(py, &mut call)?;
        if !call.raw.volatile {
            let hit = self.cache().hit(call.raw.key.words());
            if let Some(entry) = hit {
                return entry.trace.call(py, &call.leaves);
            }
        }
        let (entry, leaves) = self.served(py, call, true)?;
        entry.trace.call(py, &leaves)
    }

    /// The trace of arguments that were not seen before, and the leaves to call it with. `called` says
    /// whether a call asks, rather than `get_concrete_function`.
    fn served<'py>(
        &self,
        py: Python<'py>,
        mut call: Call<'py>,
        called: bool,
    ) -> PyResult<(Arc<Entry<Trace>>, Leaves<'py>)> {
        let mut lasting = !call.raw.volatile;
        if self.signature.is_some() {
            let bound = self.conform(py, call.bound)?;
            let mut leaves = Leaves::new();
            bound.walk(&mut RawSink::default(), &mut leaves)?;
            // The words stand for the same leaves only where nothing had to be converted.
            let ty = |leaf: &Leaf<'_>| leaf.var().ok().map(|v| v.ty());
            lasting &= leaves.len() == call.leaves.len()
                && leaves.iter().zip(&call.leaves).all(|(a, b)| ty(a).is_some() && ty(a) == ty(b));
            call = Call { bound, leaves, ..call };
        }
        let entry = if self.is_restored() {
            let (entry, converted) = self.find_restored(py, &mut call)?;
            lasting &= !converted;
            entry
        } else {
            self.find_or_trace(py, &call, called)?
        };
        if called {
            self.cache().count(&entry);
        }
        if lasting {
            match (&self.guards, &call.reading) {
                (Some(guards), Some(reading)) => {
                    let words = guards.note(reading, &call.raw.key, &entry.trace.guards);
                    self.cache().remember(&words, &entry);
                }
                _ => self.cache().remember(call.raw.key.words(), &entry),
            }
        }
        Ok((entry, call.leaves))
    }

    fn find_or_trace<'py>(&self, py: Python<'py>, call: &Call<'py>, called: bool) -> PyResult<Arc<Entry<Trace>>> {
        let ty = call.bound.trace_type()?;
        if let Some(entry) = self.find(py, &ty, call) {
            return Ok(entry);
        }
        let _turn = self.turn(py)?;
        // Whoever had the turn before may have made it.
        if let Some(entry) = self.find(py, &ty, call) {
            return Ok(entry);
        }
        self.miss(py, call, ty, called)
    }

    /// Waits until no other thread traces this function, or until that one waits itself, perhaps for this thread to end.
    fn turn(&self, py: Python<'_>) -> PyResult<TraceLock> {
        static IDENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let ident: u64 = IDENT.import(py, "threading", "get_ident")?.call0()?.extract()?;
        let (mut before, mut unmoved) = (None, 0);
        loop {
            if let Some(turn) = try_trace_lock(self.id, ident) {
                return Ok(turn);
            }
            let Some(holder) = py.detach(|| wait_for_trace_lock(self.id, GLANCE)) else { continue };
            py.check_signals()?;
            let now: Option<(usize, i64)> = layer::call(py, "position_of_thread", (holder,))?.extract()?;
            (unmoved, before) = (if before == Some(now) { unmoved + 1 } else { 0 }, Some(now));
            if unmoved >= GLANCES {
                return Ok(TraceLock::beside());
            }
        }
    }

    /// The most specific trace that serves a call.
    pub(crate) fn find<'py>(&self, py: Python<'py>, ty: &TraceType, call: &Call<'py>) -> Option<Arc<Entry<Trace>>> {
        // Comparing may run Python code: not under the lock.
        let entries = self.cache().entries().to_vec();
        // Whoever asks for a specification gets a trace of that one.
        let exact = call.asks_for_spec() && self.signature.is_none() && !self.is_restored();
        let fits = |e: &Entry<Trace>| ty.is_subtype_of(&e.ty) && (!exact || e.ty.is_subtype_of(ty));
        let holds = |e: &Entry<Trace>| self.guards.as_ref().is_none_or(|g| g.hold(py, &e.trace.guards, &call.bound));
        let fitting: SmallVec<[&Arc<Entry<Trace>>; 4]> = entries.iter().filter(|e| fits(e) && holds(e)).collect();
        let found = most_specific(ty, fitting.iter().map(|e| &e.ty)).map(|i| fitting[i].clone())?;
        note_pinned(&found.ty, &call.leaves);
        Some(found)
    }

    fn concrete<'py>(
        slf: &Bound<'py, Self>,
        first: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyConcrete>> {
        let (py, this) = (slf.py(), slf.get());
        let nothing = args.is_empty() && kwargs.is_none_or(|k| k.is_empty());
        let bound = match &this.signature {
            // Without arguments the signature stands for them.
            Some(signature) if nothing => this.bind(py, first, signature.bind(py), None)?,
            _ => this.bind(py, first, args, kwargs)?,
        };
        let mut call = Call::new(bound);
        this.read(py, &mut call)?;
        let new = call.raw.volatile || call.asks_for_spec();
        let hit = if new { None } else { this.cache().hit(call.raw.key.words()) };
        let entry = match hit {
            Some(entry) => entry,
            None => this.served(py, call, false)?.0,
        };
        PyConcrete::of(slf.as_any(), &entry)
    }

    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the traces that were made for objects which are gone.
pub(crate) fn purge(cache: &Mutex<Cache<Trace>>) {
    let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    // Asking whether an object lives may take the interpreter's lock: not under this one.
    let entries = lock().entries().to_vec();
    let dead: Vec<&Arc<Entry<Trace>>> = entries.iter().filter(|e| !e.ty.is_alive()).collect();
    if !dead.is_empty() {
        let dropped = lock().retain(|e| !dead.iter().any(|d| std::ptr::eq(Arc::as_ptr(d), e)));
        let before = dropped.last().and_then(|e| lock().set_died(Some(e.ty.clone())));
        drop((dropped, before)); // outside of the lock
    }
}

/// A trace that serves one variable only makes the trace around it serve one only: what stands in there
/// for the variable is looked at as well.
pub(crate) fn note_pinned(ty: &TraceType, leaves: &Leaves<'_>) {
    let variables: SmallVec<[_; 4]> = leaves
        .iter()
        .filter_map(|leaf| match leaf {
            Leaf::Variable(v) => Some(v.get()),
            _ => None,
        })
        .collect();
    for token in &ty.tokens {
        if let Token::Variable(v) = token
            && v.pinned
            && let Some(variable) = variables.get(v.alias as usize)
        {
            variable.see_identity();
        }
    }
}

#[pymethods]
impl PyFunction {
    /// `params` lists `(name, has_default, default, positional, keyword)` of each named parameter.
    #[new]
    #[pyo3(signature = (python_function, name, params, varargs, varkw, signature, relax, guarded, max_traces))]
    #[expect(clippy::too_many_arguments, reason = "the Python layer alone calls it")]
    fn new(
        python_function: Py<PyAny>,
        name: String,
        params: Vec<Given<'_>>,
        varargs: Option<String>,
        varkw: Option<String>,
        signature: Option<Py<PyTuple>>,
        relax: bool,
        guarded: bool,
        max_traces: Option<usize>,
    ) -> PyResult<PyClassInitializer<PyFunction>> {
        let named: Vec<Param> = params.into_iter().map(Param::new).collect::<PyResult<_>>()?;
        let function = PyFunction {
            python_function,
            name,
            params: Arc::new(Params::new(named, varargs, varkw)),
            signature,
            relax,
            guards: guarded.then(Guards::default),
            cache: Arc::new(Mutex::new(Cache::with_limit(max_traces.unwrap_or(usize::MAX)))),
            traced: AtomicU64::new(0),
            history: Mutex::default(),
            pinned: Mutex::default(),
            id: penstock_trace::fresh_id(),
            restored: AtomicBool::new(false),
        };
        Ok(PyClassInitializer::from(Callable::of::<PyFunction>()).add_subclass(function))
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call_with(py, None, args, kwargs)
    }

    fn __get__<'py>(
        slf: Bound<'py, Self>,
        instance: Option<Bound<'py, PyAny>>,
        _owner: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match instance {
            Some(instance) if !instance.is_none() => {
                let py = slf.py();
                let bound = PyBoundFunction { function: slf.unbind(), instance: instance.unbind() };
                let made = PyClassInitializer::from(Callable::of::<PyBoundFunction>()).add_subclass(bound);
                Ok(adopt(Bound::new(py, made)?, bound_function_class(py)?).into_any())
            }
            _ => Ok(slf.into_any()),
        }
    }

    /// The Python function that is traced.
    #[getter]
    fn python_function(&self, py: Python<'_>) -> Py<PyAny> {
        self.python_function.clone_ref(py)
    }

    /// The trace for these arguments, of which tensors may be given as `TensorSpec`.
    #[pyo3(signature = (*args, **kwargs))]
    fn get_concrete_function<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyConcrete>> {
        PyFunction::concrete(slf, None, args, kwargs)
    }

    /// How many times the Python function was traced.
    fn experimental_get_tracing_count(&self) -> u64 {
        self.traced.load(Ordering::Relaxed)
    }

    /// Adds a trace from a file: from now on there are those only.
    fn _restore<'py>(
        &self,
        py: Python<'py>,
        function: &PyProgramFunction,
        variables: Vec<Bound<'py, PyVariable>>,
        saved: Saved<'py>,
    ) -> PyResult<()> {
        self.restore(py, function, &variables, &saved)
    }

    /// Has no Python code: calls that no trace serves are errors.
    fn _set_restored(&self) {
        self.restored.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn _is_restored(&self) -> bool {
        self.is_restored()
    }

    /// All traces, oldest first.
    fn _traces<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyConcrete>>> {
        let entries = slf.get().cache().entries().to_vec();
        entries.iter().map(|e| PyConcrete::of(slf.as_any(), e)).collect()
    }

    /// `(calls, misses)`: how many calls there were, and of the latest misses each `(place in the program, what was
    /// done, [(leaf, before, after)])`.
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn _history(&self) -> (u64, Vec<(String, String, Vec<(String, String, String)>)>) {
        let calls = self.cache().calls();
        (calls, self.history().listed())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.python_function)?;
        if let Some(signature) = &self.signature {
            visit.call(signature)?;
        }
        if Arc::strong_count(&self.params) == 1 {
            self.params.visit(&visit)?;
        }
        if let Some(guards) = &self.guards {
            guards.visit(&visit)?;
        }
        let Ok(cache) = self.cache.try_lock() else { return Ok(()) };
        // A trace that somebody else holds as well is not this function's to follow, but for its Python object, which holds
        // this function.
        let own = |e: &&Arc<Entry<Trace>>| Arc::strong_count(e) == 1 + e.trace.objects.load(Ordering::Relaxed);
        for entry in cache.entries().iter().filter(own) {
            entry.trace.visit(&visit)?;
            visit_type(&entry.ty, &visit)?;
        }
        cache.died().map_or(Ok(()), |ty| visit_type(ty, &visit))
    }

    fn __clear__(&self) {
        let dropped = self.cache().retain(|_| false);
        let died = self.cache().set_died(None);
        drop((dropped, died)); // outside of the lock
    }
}

impl StackCall for PyFunction {
    #[inline]
    fn call_quickly<'py>(slf: &Bound<'py, Self>, stack: &Stack<'_, 'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        slf.get().hit(stack)
    }

    fn call<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().call_with(slf.py(), None, args, kwargs)
    }
}

/// The class that bound functions are of.
fn bound_function_class<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = || with_vectorcall(&py.get_type::<PyBoundFunction>()).map(Bound::unbind);
    Ok(CLASS.get_or_try_init(py, make)?.bind(py))
}

/// A traced method bound to its instance.
#[pyclass(extends = Callable, subclass, frozen, weakref, name = "_BoundFunction", module = "penstock._core")]
pub(crate) struct PyBoundFunction {
    function: Py<PyFunction>,
    instance: Py<PyAny>,
}

#[pymethods]
impl PyBoundFunction {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.function.get().call_with(py, Some(self.instance.bind(py)), args, kwargs)
    }

    /// The trace for these arguments, of which tensors may be given as `TensorSpec`.
    #[pyo3(signature = (*args, **kwargs))]
    fn get_concrete_function<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyConcrete>> {
        PyFunction::concrete(self.function.bind(py), Some(self.instance.bind(py)), args, kwargs)
    }

    /// How many traces there are of this instance's calls.
    fn experimental_get_tracing_count(&self, py: Python<'_>) -> PyResult<usize> {
        let (instance, traces) = (self.instance.bind(py), PyFunction::_traces(self.function.bind(py))?);
        Ok(traces.iter().filter(|trace| trace.get().is_of(instance)).count())
    }

    #[getter]
    fn __self__(&self, py: Python<'_>) -> Py<PyAny> {
        self.instance.clone_ref(py)
    }

    #[getter]
    fn __func__(&self, py: Python<'_>) -> Py<PyFunction> {
        self.function.clone_ref(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<PyBoundFunction>()
            .is_ok_and(|o| o.get().function.is(&self.function) && o.get().instance.is(&self.instance))
    }

    fn __hash__(&self) -> u64 {
        (self.function.as_ptr() as u64).rotate_left(17) ^ self.instance.as_ptr() as u64
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).getattr(name)
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The method of a deep copy of its instance.
    fn __deepcopy__<'py>(&self, py: Python<'py>, memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let instance = py.import("copy")?.getattr("deepcopy")?.call1((&self.instance, memo))?;
        PyFunction::__get__(self.function.bind(py).clone(), Some(instance), None)
    }

    /// It is pickled as its instance and its name.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyAny>))> {
        let name = self.function.bind(py).getattr("__name__")?;
        Ok((py.import("builtins")?.getattr("getattr")?, (self.instance.bind(py).clone(), name)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.instance)
    }
}

impl StackCall for PyBoundFunction {
    #[inline]
    fn call_quickly<'py>(slf: &Bound<'py, Self>, stack: &Stack<'_, 'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        let PyBoundFunction { function, instance } = slf.get();
        function.get().hit(&stack.of_method(instance.bind(slf.py())))
    }

    fn call<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().__call__(slf.py(), args, kwargs)
    }
}
