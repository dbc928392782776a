//! The profiler of the interpreter: one recorder at a time, for all that this process runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use penstock_ir::{Activity, Detail, Pace, Profiler, Span, is_quiet, quietly};
use penstock_profile::{By, Recorder, Recording};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Hands on to the recorder that is at work.
struct Current {
    on: AtomicBool,
    detail: AtomicU8,
    /// That by which a [`Pace`] knows the recorder.
    number: AtomicU32,
    recorder: RwLock<Option<Arc<Recorder>>>,
}

static CURRENT: Current = Current {
    on: AtomicBool::new(false),
    detail: AtomicU8::new(0),
    number: AtomicU32::new(0),
    recorder: RwLock::new(None),
};

const DETAILS: [Detail; 3] = [Detail::Functions, Detail::Steps, Detail::All];

impl Profiler for Current {
    fn detail(&self) -> Detail {
        DETAILS.get(usize::from(self.detail.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }

    fn takes(&self, pace: &Pace) -> bool {
        pace.is_due(self.number.load(Ordering::Relaxed))
    }

    fn ended(&self, span: &Span<'_>) {
        // Held by a writer where recording starts or stops, and for ever in a child that was forked then.
        if let Ok(recorder) = self.recorder.try_read()
            && let Some(recorder) = &*recorder
        {
            recorder.ended(span);
        }
    }
}

/// The profiler, where it records now. Within a run that is only counted it does not.
#[inline]
pub(crate) fn profiler() -> Option<&'static dyn Profiler> {
    (CURRENT.on.load(Ordering::Relaxed) && !is_quiet()).then_some(&CURRENT)
}

/// Whether a profiler is to be told of a run that begins.
#[inline]
pub(crate) fn tells(pace: &Pace) -> bool {
    CURRENT.on.load(Ordering::Relaxed) && !is_quiet() && CURRENT.takes(pace)
}

/// Does `work`, and tells the profiler of it.
pub(crate) fn told<T>(activity: Activity, name: &str, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let Some(profiler) = profiler() else { return work() };
    let began = Instant::now();
    let result = work();
    profiler.ended(&Span::since(began, activity, name).failed(result.is_err()));
    result
}

/// Whether a profile is being recorded.
#[pyfunction]
pub(crate) fn _profiling() -> bool {
    CURRENT.on.load(Ordering::Relaxed)
}

/// Starts to record. `detail` is 0 for functions, 1 for steps, 2 for brief steps one by one; `limit` is how many events are kept.
/// Gives whether it did: not where a recording is under way.
#[pyfunction]
#[pyo3(signature = (detail, limit=Recorder::default_limit()))]
pub(crate) fn _start_profile(detail: u8, limit: usize) -> bool {
    let mut recorder = CURRENT.recorder.write().unwrap_or_else(PoisonError::into_inner);
    if recorder.is_some() {
        return false;
    }
    let chosen = DETAILS.get(usize::from(detail)).copied().unwrap_or_default();
    let new = Arc::new(Recorder::new(chosen, limit));
    let number = new.number();
    if chosen != Detail::Functions {
        new.watch_workers();
    }
    *recorder = Some(new);
    CURRENT.detail.store(detail, Ordering::Relaxed);
    CURRENT.number.store(number, Ordering::Relaxed);
    CURRENT.on.store(true, Ordering::Relaxed);
    true
}

/// Stops recording: what was recorded; `None` where nothing was.
#[pyfunction]
pub(crate) fn _stop_profile(py: Python<'_>) -> Option<PyRecording> {
    CURRENT.on.store(false, Ordering::Relaxed);
    let recorder = CURRENT.recorder.write().unwrap_or_else(PoisonError::into_inner).take()?;
    Some(PyRecording(py.detach(|| recorder.finish())))
}

/// A span of time that Python code marks: a context manager.
#[pyclass(name = "_Span", module = "penstock._core")]
pub(crate) struct PySpan {
    name: String,
    number: Option<i64>,
    began: Option<Instant>,
}

#[pymethods]
impl PySpan {
    #[new]
    #[pyo3(signature = (name, number=None))]
    fn new(name: String, number: Option<i64>) -> PySpan {
        PySpan { name, number, began: None }
    }

    /// What it is called: by what is known at its end.
    fn rename(&mut self, name: String) {
        self.name = name;
    }

    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyRefMut<'_, Self> {
        slf.began = Some(Instant::now());
        slf
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&mut self, _exc: &Bound<'_, PyTuple>) {
        if let (true, Some(began)) = (_profiling(), self.began.take()) {
            let span = Span::since(began, Activity::Mark, &self.name).number(self.number);
            let failed = _exc.get_item(0).is_ok_and(|class| !class.is_none());
            CURRENT.ended(&span.failed(failed));
        }
    }
}

/// What is waited for under a name: elements of data sets of a kind.
#[pyclass(frozen, name = "_Waits", module = "penstock._core")]
pub(crate) struct PyWaits {
    name: String,
    pace: Arc<Pace>,
}

#[pymethods]
impl PyWaits {
    #[new]
    fn new(name: String) -> PyWaits {
        static PACES: Mutex<BTreeMap<String, Arc<Pace>>> = Mutex::new(BTreeMap::new());
        let pace = PACES.lock().unwrap_or_else(PoisonError::into_inner).entry(name.clone()).or_default().clone();
        PyWaits { name, pace }
    }

    /// What `read` gives; the profiler is told how long that took.
    fn read<'py>(&self, read: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(profiler) = profiler() else { return read.call0() };
        if !profiler.takes(&self.pace) {
            return quietly(|| read.call0());
        }
        let began = Instant::now();
        let result = read.call0();
        let span = Span::since(began, Activity::Input, &self.name).paced(&self.pace);
        profiler.ended(&span.failed(result.is_err()));
        result
    }
}

/// A row of a summary: what it is of, how many, nanoseconds without and with what is within.
type PyRow = (String, u64, u64, u64);
/// The nanoseconds of the parts.
type PyShares = Vec<(&'static str, u64)>;

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn listed(shares: Vec<penstock_profile::Share>) -> PyShares {
    shares.into_iter().map(|share| (share.part.name(), nanos(share.took))).collect()
}

/// What was recorded.
#[pyclass(frozen, name = "_Recording", module = "penstock._core")]
pub(crate) struct PyRecording(Recording);

#[pymethods]
impl PyRecording {
    /// Nanoseconds from its start to its end.
    #[getter]
    fn took(&self) -> u64 {
        nanos(self.0.took())
    }

    /// How many events came after the limit, and were not kept.
    #[getter]
    fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// Which part of the time goes to waiting for elements of data sets.
    #[getter]
    fn input_bound(&self) -> f64 {
        self.0.input_bound()
    }

    /// Of the kinds of runs of which not all were recorded: how many were, and how many there were.
    #[getter]
    fn sampled(&self) -> Option<(u64, u64)> {
        self.0.sampled()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The times by name, line, function or kind.
    fn rows(&self, py: Python<'_>, by: &str) -> PyResult<Vec<PyRow>> {
        let by = match by {
            "operator" => By::Name,
            "line" => By::Line,
            "function" => By::Function,
            "kind" => By::Kind,
            _ => return Err(PyRuntimeError::new_err(format!("there are no rows by {by}"))),
        };
        let rows = py.detach(|| self.0.rows(by));
        Ok(rows.into_iter().map(|row| (row.key, row.count, nanos(row.own), nanos(row.total))).collect())
    }

    /// Where the time of the busiest thread went.
    fn shares(&self, py: Python<'_>) -> PyShares {
        listed(py.detach(|| self.0.shares()))
    }

    /// How many nanoseconds each thread was at work.
    fn threads(&self, py: Python<'_>) -> Vec<(String, u64)> {
        let threads = py.detach(|| self.0.threads());
        threads.into_iter().map(|(name, busy)| (name.to_owned(), nanos(busy))).collect()
    }

    /// The marks with numbers: name, number, when it began, how long it took, and where that went.
    fn steps(&self, py: Python<'_>) -> Vec<(String, i64, u64, u64, PyShares)> {
        let steps = py.detach(|| self.0.steps());
        let listed = |s: penstock_profile::Step| (s.name, s.number, nanos(s.began), nanos(s.took), listed(s.shares));
        steps.into_iter().map(listed).collect()
    }

    /// Moments, and the bytes that tensors held.
    fn memory(&self, moments: usize) -> Vec<(u64, usize)> {
        self.0.memory(moments).into_iter().map(|(at, bytes)| (nanos(at), bytes)).collect()
    }

    /// The page for a browser.
    fn page(&self, py: Python<'_>, title: &str) -> String {
        py.detach(|| self.0.page(title))
    }

    /// The events for Perfetto.
    fn chrome(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.chrome())
    }

    /// The message for TensorBoard.
    fn xspace<'py>(&self, py: Python<'py>, host: &str) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.xspace(host)))
    }
}
