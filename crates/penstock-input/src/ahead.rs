//! Threads that ask for rows before anybody needs them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{process, thread};

use penstock_data::{Error, Result};
use penstock_trace::host;

use crate::{Pull, Rows, Stage};

/// How long is waited for a thread before the host is asked whether to go on.
const POLL: Duration = Duration::from_millis(20);

/// Prepares a thread: runs on it before anything else.
pub type Begin = Box<dyn FnOnce() + Send>;

/// How many threads may compute at once.
pub struct Gate {
    free: Mutex<usize>,
    left: Condvar,
}

impl Gate {
    /// A gate for `count` threads.
    pub fn new(count: usize) -> Gate {
        Gate { free: Mutex::new(count), left: Condvar::new() }
    }

    /// Runs work as one of those threads.
    fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Pass<'a>(&'a Gate);
        impl Drop for Pass<'_> {
            fn drop(&mut self) {
                *lock(&self.0.free) += 1;
                self.0.left.notify_one();
            }
        }
        let free = lock(&self.free);
        let mut free = self.left.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let _pass = Pass(self);
        work()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread has read and nobody has taken.
struct Buffer {
    items: VecDeque<Result<Rows>>,
    size: usize,
    /// How many elements there are, and how many were asked for at once.
    count: usize,
    limit: usize,
    /// Whether nobody asks any more, whether there are no more, and whether the stage could not be opened.
    closed: bool,
    ended: bool,
    failed: bool,
}

impl Buffer {
    /// Whether there is nothing to take, and something may come.
    fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.ended
    }
}

struct Shared {
    buffer: Mutex<Buffer>,
    changed: Condvar,
}

impl Shared {
    /// Waits until there is something to take, or all has been taken. The host goes on meanwhile, and may end the waiting.
    fn wait(&self) -> Result<()> {
        let mut done = Ok(());
        host().run_long(&mut || {
            while done.is_ok() {
                let buffer = lock(&self.buffer);
                let wait = self.changed.wait_timeout_while(buffer, POLL, |buffer| buffer.is_empty());
                let (buffer, passed) = wait.unwrap_or_else(PoisonError::into_inner);
                drop(buffer);
                if !passed.timed_out() {
                    return;
                }
                done = goes_on();
            }
        });
        done
    }
}

/// Opens a stage, on the thread that reads it.
type Make = Box<dyn FnOnce() -> Result<Pull> + Send>;

/// The rows of a stage, which a thread reads before they are asked for. It begins when it is first asked, and ends with this.
pub struct Ahead {
    shared: Arc<Shared>,
    waiting: Option<(Make, Begin)>,
    gate: Option<Arc<Gate>>,
    /// The process that the thread is of.
    process: Option<u32>,
    unopened: bool,
}

impl Ahead {
    /// The rows of what `make` opens: at most `size` elements are read ahead where somebody can see that they are read.
    pub fn new(
        make: impl FnOnce() -> Result<Pull> + Send + 'static,
        size: usize,
        gate: Option<Arc<Gate>>,
        begin: Begin,
    ) -> Ahead {
        let buffer =
            Buffer { items: VecDeque::new(), size, count: 0, limit: 1, closed: false, ended: false, failed: false };
        Ahead {
            shared: Arc::new(Shared { buffer: Mutex::new(buffer), changed: Condvar::new() }),
            waiting: Some((Box::new(make), begin)),
            gate,
            process: None,
            unopened: false,
        }
    }

    /// Has the thread begin.
    ///
    /// # Errors
    /// `ResourceExhausted` where there can be no thread.
    pub fn start(&mut self) -> Result<()> {
        let Some((make, begin)) = self.waiting.take() else { return Ok(()) };
        self.process = Some(process::id());
        let (shared, gate) = (self.shared.clone(), self.gate.clone());
        let work = move || {
            begin();
            READS_FOR.set(Some(shared.clone()));
            fill(&shared, make, gate.as_deref());
        };
        let started = thread::Builder::new().name("penstock-data".to_owned()).spawn(work);
        started.map(drop).map_err(|error| {
            lock(&self.shared.buffer).ended = true;
            Error::exhausted(format!("a data set cannot have a thread to read ahead: {error}"))
        })
    }
}

thread_local! {
    /// What this thread reads for, where it is one that reads ahead.
    static READS_FOR: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

/// Says whether to go on, to a stage that may ask another one for long before it gives a row: the program may have been interrupted, or
/// the thread read for nobody any more.
///
/// # Errors
/// Those of `Env::poll`; `Unavailable` where nobody would see the rows.
pub(crate) fn goes_on() -> Result<()> {
    /// As often as a user notices: asking an interpreter takes longer than many an element.
    const EVERY: Duration = Duration::from_millis(10);
    thread_local! {
        static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    let now = Instant::now();
    if LAST.get().is_some_and(|last| now - last < EVERY) {
        return Ok(());
    }
    LAST.set(Some(now));
    let unwanted = READS_FOR.with_borrow(|shared| shared.as_ref().is_some_and(|shared| lock(&shared.buffer).closed));
    if unwanted { Err(Error::unavailable("nobody reads these rows any more")) } else { host().poll() }
}

/// Reads rows into a buffer until nobody wants them any more.
fn fill(shared: &Shared, make: Make, gate: Option<&Gate>) {
    let mut make = Some(make);
    let mut stage: Option<Pull> = None;
    loop {
        let limit = {
            let buffer = lock(&shared.buffer);
            let buffer = shared
                .changed
                .wait_while(buffer, |buffer| !buffer.closed && buffer.count >= buffer.size)
                .unwrap_or_else(PoisonError::into_inner);
            if buffer.closed {
                return;
            }
            buffer.limit
        };
        let mut work = || {
            if let Some(make) = make.take() {
                stage = Some(make()?);
            }
            match &mut stage {
                Some(stage) => stage.pull(limit),
                None => Ok(None),
            }
        };
        let found = match gate {
            Some(gate) => gate.within(work),
            None => work(),
        };
        let mut buffer = lock(&shared.buffer);
        buffer.failed = stage.is_none();
        buffer.ended = buffer.failed || matches!(found, Ok(None));
        if let Some(item) = found.transpose() {
            buffer.count += item.as_ref().map_or(1, |rows| rows.count);
            buffer.items.push_back(item);
        }
        shared.changed.notify_all();
        if buffer.ended || buffer.closed {
            return;
        }
    }
}

impl Stage for Ahead {
    fn pull(&mut self, limit: usize) -> Result<Option<Rows>> {
        self.start()?;
        if self.process != Some(process::id()) {
            return Err(Error::precondition(
                "an iterator whose elements a thread computes ahead has no such thread in a forked process: make the \
                 iterator there",
            ));
        }
        let mut buffer = lock(&self.shared.buffer);
        buffer.limit = limit;
        if buffer.is_empty() {
            drop(buffer);
            self.shared.wait()?;
            buffer = lock(&self.shared.buffer);
        }
        let Some(found) = buffer.items.pop_front() else { return Ok(None) };
        self.unopened = buffer.failed;
        let found = match found {
            Ok(rows) if rows.count > limit => {
                let first = rows.part(0, limit)?;
                buffer.items.push_front(Ok(rows.part(limit, rows.count)?));
                Ok(Some(first))
            }
            other => other.map(Some),
        };
        buffer.count -= found.as_ref().map_or(1, |rows| rows.as_ref().map_or(0, |rows| rows.count));
        drop(buffer);
        self.shared.changed.notify_all();
        found
    }

    fn is_unopened(&self) -> bool {
        self.unopened
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // In a forked process the thread is missing, and may have left the buffer locked.
        if self.process.is_some_and(|own| own == process::id()) {
            lock(&self.shared.buffer).closed = true;
            self.shared.changed.notify_all();
        }
    }
}
