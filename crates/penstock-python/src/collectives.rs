//! Groups of processes that this one belongs to, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use penstock_collectives::{Listener, Membership, TcpGroup};
use penstock_data::{Error, Result};
use penstock_ir::{Alone, Group};
use pyo3::prelude::*;

use crate::errors::OrPy;

/// A group, and the process that joined it: a forked child does not belong to it.
struct Joined {
    group: Arc<TcpGroup>,
    process: u32,
}

static GROUPS: RwLock<Option<HashMap<String, Joined>>> = RwLock::new(None);

fn with_group<T>(name: &str, work: impl FnOnce(&Arc<TcpGroup>) -> T) -> Result<T> {
    let groups = GROUPS.read().unwrap_or_else(PoisonError::into_inner);
    match groups.as_ref().and_then(|groups| groups.get(name)) {
        Some(joined) if joined.process == std::process::id() => Ok(work(&joined.group)),
        Some(_) => {
            Err(Error::precondition(format!("group '{name}' was joined by the process that this one was forked of")))
        }
        None => Err(Error::precondition(format!("this process is in no group '{name}'"))),
    }
}

/// The group of a name, for operators.
pub(crate) fn group(name: &str) -> Result<Arc<dyn Group>> {
    if name.is_empty() {
        return Ok(Arc::new(Alone));
    }
    with_group(name, |group| group.clone() as Arc<dyn Group>)
}

/// Where members of groups connect to this process.
#[pyclass(frozen, name = "_Listener", module = "penstock._core")]
pub(crate) struct PyListener(Mutex<Option<Listener>>);

impl PyListener {
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&Listener) -> Result<T>) -> PyResult<T> {
        let listener = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || Error::precondition("the listener is closed");
        listener.as_ref().ok_or_else(closed).and_then(work).or_py(py)
    }
}

#[pymethods]
impl PyListener {
    #[new]
    fn new(py: Python<'_>, address: &str) -> PyResult<PyListener> {
        Ok(PyListener(Mutex::new(Some(Listener::bind(address).or_py(py)?))))
    }

    /// The host and the port.
    #[getter]
    fn address(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |listener| Ok(listener.address().to_string()))
    }

    /// Joins a group, which has a name in this process from then on: in place of one that it left.
    fn join(
        &self,
        py: Python<'_>,
        name: String,
        key: u64,
        rank: usize,
        members: Vec<String>,
        timeout: f64,
    ) -> PyResult<()> {
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|_| Error::invalid(format!("expected seconds, got {timeout}")).argument("timeout"))
            .or_py(py)?;
        let group = self.with(py, |listener| listener.join(Membership { key, rank, members, timeout }))?;
        let joined = Joined { group: Arc::new(group), process: std::process::id() };
        let before = {
            let mut groups = GROUPS.write().unwrap_or_else(PoisonError::into_inner);
            groups.get_or_insert_default().insert(name, joined)
        };
        end(py, before);
        Ok(())
    }

    /// Stops listening. Groups that were joined stay.
    fn close(&self, py: Python<'_>) {
        let listener = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(listener));
    }
}

/// Leaves a group that nobody finds any more: it takes as long as what is under way.
fn end(py: Python<'_>, joined: Option<Joined>) {
    if let Some(Joined { group, process }) = joined {
        if process == std::process::id() {
            py.detach(|| drop(group));
        } else {
            // Its threads are those of another process.
            std::mem::forget(group);
        }
    }
}

/// Leaves a group: whether this process was in it.
#[pyfunction]
pub(crate) fn _leave_group(py: Python<'_>, name: &str) -> bool {
    let joined = GROUPS.write().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|groups| groups.remove(name));
    let was = joined.is_some();
    end(py, joined);
    was
}

/// The rank in a group, and its size; `None` where this process is not in it.
#[pyfunction]
pub(crate) fn _group_place(name: &str) -> Option<(usize, usize)> {
    with_group(name, |group| (group.rank(), group.size())).ok()
}

/// Ends what is under way in a group, with an error that has this reason.
#[pyfunction]
pub(crate) fn _abort_group(py: Python<'_>, name: &str, reason: &str) -> PyResult<()> {
    with_group(name, |group| group.abort(reason)).or_py(py)
}

/// Why a group cannot go on; `None` where it can.
#[pyfunction]
pub(crate) fn _group_failure(py: Python<'_>, name: &str) -> PyResult<Option<String>> {
    with_group(name, |group| group.failure().map(|error| error.message().to_owned())).or_py(py)
}
