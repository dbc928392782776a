//! The host of the engine is this interpreter: where it is in the user's source, what it prints to, and
//! when it was interrupted.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_data::{Bytes, Frame, Loc, Result};
use penstock_ir::{Env, Group, Pace, Profiler, local_files};
use penstock_trace::{Host, Symbolic};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyString};
use rustc_hash::FxHashMap;

use crate::errors::from_py;
use crate::lines::line_of;
use crate::{collectives, exit, layer, profile};

/// The interpreter as the engine's host.
pub(crate) struct Interpreter;

/// The stateful generator: its key, the next block, and how many streams were made of it.
struct Generator {
    key: u64,
    counter: u128,
    streams: u64,
}

impl Generator {
    fn new(key: u64) -> Self {
        Self { key, counter: 0, streams: 0 }
    }

    fn draw(&mut self, blocks: u64) -> (u64, u128) {
        let start = self.counter;
        self.counter = start.wrapping_add(u128::from(blocks));
        (self.key, start)
    }

    fn stream(&mut self) -> u64 {
        self.streams += 1;
        mixed(self.key, self.streams)
    }
}

static GENERATOR: Mutex<Option<Generator>> = Mutex::new(None);

thread_local! {
    /// The stream that this thread draws from in place of the generator.
    static STREAM: std::cell::RefCell<Option<Generator>> = const { std::cell::RefCell::new(None) };
}

/// What `work` gives for the generator that this thread draws from.
fn with_generator<T>(work: impl FnOnce(&mut Generator) -> T) -> T {
    STREAM.with(|own| match &mut *own.borrow_mut() {
        Some(stream) => work(stream),
        None => {
            let mut slot = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
            work(slot.get_or_insert_with(|| Generator::new(seed_from_clock())))
        }
    })
}

/// A key for the `number`th of what has this one: the finaliser of SplitMix64.
fn mixed(key: u64, number: u64) -> u64 {
    let z = key ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The key of another stream of random numbers: the generator's key fixes the sequence of them.
#[pyfunction]
pub(crate) fn _new_stream() -> u64 {
    with_generator(Generator::stream)
}

/// Has this thread draw from the `number`th part of a stream from now on.
#[pyfunction]
pub(crate) fn _draw_from(stream: u64, number: u64) {
    STREAM.set(Some(Generator::new(mixed(stream, number))));
}

fn seed_from_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 ^ (u64::from(std::process::id()) << 32)
}

/// Seeds the stateful generator; `None` seeds it from the clock.
#[pyfunction]
#[pyo3(signature = (seed=None))]
pub(crate) fn _set_seed(seed: Option<u64>) {
    let key = seed.unwrap_or_else(seed_from_clock);
    *GENERATOR.lock().unwrap_or_else(PoisonError::into_inner) = Some(Generator::new(key));
}

impl Env for Interpreter {
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        let _stay = exit::enter();
        Python::attach(|py| layer::call(py, "print_to", (stream, text)).map(drop).map_err(|e| from_py(py, e)))
    }

    fn read_file(&self, path: &[u8]) -> Result<Bytes> {
        let mut found = None;
        self.run_long(&mut || found = Some(local_files::read(path)));
        if let Some(Ok(content)) = found {
            return Ok(content);
        }
        // It is none of this machine's, or cannot be read: Python reads it, or says why not.
        let _stay = exit::enter();
        Python::attach(|py| {
            let read = layer::call(py, "read_file", (PyBytes::new(py, path),));
            read.and_then(|content| Ok(content.extract::<&[u8]>()?.into())).map_err(|e| from_py(py, e))
        })
    }

    fn write_file(&self, path: &[u8], contents: &[u8]) -> Result<()> {
        let mut done = None;
        self.run_long(&mut || done = Some(local_files::write(path, contents)));
        if let Some(Ok(())) = done {
            return Ok(());
        }
        let _stay = exit::enter();
        Python::attach(|py| {
            let given = (PyBytes::new(py, path), PyBytes::new(py, contents));
            layer::call(py, "write_file", given).map(drop).map_err(|e| from_py(py, e))
        })
    }

    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        Ok(with_generator(|generator| generator.draw(blocks)))
    }

    fn poll(&self) -> Result<()> {
        // Signals are the main thread's, and nobody waits for a lock that this one does not hold.
        if exit::is_own_thread() && exit::is_detached() {
            return Ok(());
        }
        let _stay = exit::enter();
        Python::attach(|py| {
            // Lets other threads have the interpreter: a light run holds it, and its callbacks may run no bytecode.
            exit::detached(py, &mut || {});
            py.check_signals().map_err(|e| from_py(py, e))
        })
    }

    fn profiler(&self) -> Option<&dyn Profiler> {
        profile::profiler()
    }

    fn tells(&self, pace: &Pace) -> bool {
        profile::tells(pace)
    }

    fn group(&self, name: &str) -> Result<Arc<dyn Group>> {
        collectives::group(name)
    }

    fn run_long(&self, work: &mut (dyn FnMut() + Send)) {
        if exit::is_detached() {
            return work();
        }
        Python::attach(|py| exit::detached(py, work));
    }
}

impl Host for Interpreter {
    fn loc(&self) -> Loc {
        if exit::is_own_thread() && exit::is_detached() {
            return Loc::UNKNOWN;
        }
        Python::attach(|py| here(py).unwrap_or(Loc::UNKNOWN))
    }

    fn name_of(&self, value: &Symbolic) -> String {
        crate::graph::closed_name(value)
    }
}

static GET_FRAME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// The list of the Python layer, which others add to.
static FOLDERS: PyOnceLock<Py<PyList>> = PyOnceLock::new();

thread_local! {
    /// Locations by code object and line, so that a loop of operations interns each line once.
    static SEEN: std::cell::RefCell<FxHashMap<(usize, u32), Loc>> = std::cell::RefCell::new(FxHashMap::default());
    /// How many entries are kept before the table starts over: code objects may die and be reused.
    static LIMIT: Cell<usize> = const { Cell::new(1 << 14) };
}

/// The innermost frame of the user's own code, in none of the folders that the Python layer lists as libraries. Where all frames are
/// of libraries, it is the innermost that is not of this package, whose folder is the first of the list.
///
/// What another library computes is in no function of the user's: the scope of names stands for it, such as the layer of a model.
fn here(py: Python<'_>) -> PyResult<Loc> {
    let get_frame = GET_FRAME.get_or_try_init(py, || py.import("sys")?.getattr("_getframe").map(Bound::unbind))?;
    let listed = || Ok::<_, PyErr>(layer::get(py, "library_folders")?.cast_into::<PyList>()?.unbind());
    let folders = FOLDERS.get_or_try_init(py, listed)?.bind(py);
    let mut frame = get_frame.bind(py).call0()?;
    let mut of_library = None;
    loop {
        let code = frame.getattr(pyo3::intern!(py, "f_code"))?;
        let file = code.getattr(pyo3::intern!(py, "co_filename"))?;
        let file = file.cast::<PyString>()?.to_str()?;
        let holds = |folder: Bound<'_, PyAny>| {
            folder.cast::<PyString>().is_ok_and(|folder| folder.to_str().is_ok_and(|folder| file.starts_with(folder)))
        };
        match folders.iter().position(holds) {
            // The interpreter's own, such as what runs a program for the command line.
            None if file.starts_with("<frozen ") => {}
            None if of_library.is_none() => return loc_of(&frame, &code, file),
            None => {
                let loc = loc_of(&frame, &code, file)?;
                let scope = penstock_trace::open_scope();
                return Ok(match (scope.strip_suffix('/'), loc.frame()) {
                    (Some(scope), Some(found)) => Loc::new(Frame { function: scope.into(), ..found }),
                    _ => loc,
                });
            }
            Some(0) => {}
            Some(_) => {
                of_library.get_or_insert_with(|| frame.clone());
            }
        }
        let back = frame.getattr(pyo3::intern!(py, "f_back"))?;
        if back.is_none() {
            break;
        }
        frame = back;
    }
    let Some(frame) = of_library else { return Ok(Loc::UNKNOWN) };
    let code = frame.getattr(pyo3::intern!(py, "f_code"))?;
    let file = code.getattr(pyo3::intern!(py, "co_filename"))?;
    loc_of(&frame, &code, file.cast::<PyString>()?.to_str()?)
}

/// The location of the line that a frame is at.
fn loc_of(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>, file: &str) -> PyResult<Loc> {
    let line = line_of(frame, code)?;
    let key = (code.as_ptr() as usize, line);
    SEEN.with(|seen| {
        let mut seen = seen.borrow_mut();
        // A code object at the same address may be another one; its file name tells.
        if let Some(&loc) = seen.get(&key)
            && loc.frame().is_some_and(|f| *f.file == *file)
        {
            return Ok(loc);
        }
        if seen.len() > LIMIT.with(Cell::get) {
            seen.clear();
        }
        let function: String = code.getattr(pyo3::intern!(code.py(), "co_name"))?.extract()?;
        let loc = Loc::new(Frame { file: file.into(), line, column: 0, function: function.into(), caller: None });
        seen.insert(key, loc);
        Ok(loc)
    })
}
