//! Heavy work apart from the thread that asked for it, which meanwhile asks its host whether to go on.
//!
//! A kernel cannot be stopped from outside. So one that would take long runs on a thread of its own, with tensors that
//! are its own, while the caller waits. Where the host wants the run to stop, the caller returns at once, and the work
//! ends by itself: at the next piece of a shared loop, or else when it is done. Nobody sees what it has written.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use penstock_data::{Bytes, Error, Result, memory};
use penstock_ir::{Env, Group};
use penstock_kernels::pool;

/// How long the caller waits before it asks its host.
const PATIENCE: Duration = Duration::from_millis(10);
/// Bytes of stack for the work: as much as main threads have.
const STACK: usize = 8 << 20;

/// What the work sends to the thread that waits for it.
enum Message<R> {
    /// Something to ask the host, which only that thread may.
    Ask(Box<dyn FnOnce(&dyn Env) + Send>),
    /// The end, by a panic or not.
    Done(Result<R, Box<dyn Any + Send>>),
}

/// Does `work` on another thread, and polls the host meanwhile; here, where no thread can be had.
///
/// Everything that `work` writes has to be its own: where the host wants the run to stop, this returns while it goes on.
///
/// # Errors
/// The host's, where it wants the run to stop; `Internal` for a panic.
pub(crate) fn run<R: Send + 'static>(env: &dyn Env, work: impl FnOnce(&dyn Env) -> R + Send + 'static) -> Result<R> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    start(env, &|| stop.store(true, Ordering::Relaxed), move |env| pool::stoppable(stopped, || work(env)))
}

/// As [`run`], for work that is done as a whole or not at all. It takes a lock and calls its second argument, whose error
/// says that the host wanted the run to stop before that; what it writes is seen only under the lock.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_whole<R: Send + 'static>(
    env: &dyn Env,
    work: impl FnOnce(&dyn Env, &dyn Fn() -> Result<()>) -> Result<R> + Send + 'static,
) -> Result<R> {
    // Set by whoever comes first: the work that begins, or the caller that gives it up.
    let decided = Arc::new(AtomicBool::new(false));
    let theirs = decided.clone();
    let begin = move || if theirs.swap(true, Ordering::AcqRel) { Err(given_up()) } else { Ok(()) };
    start(env, &|| decided.store(true, Ordering::Release), move |env| work(env, &begin))?
}

#[cold]
fn given_up() -> Error {
    Error::cancelled("nobody waits for this run any more")
}

/// Does `work` on another thread; `abandon` is called where the host wants the run to stop.
fn start<R: Send + 'static>(
    env: &dyn Env,
    abandon: &dyn Fn(),
    work: impl FnOnce(&dyn Env) -> R + Send + 'static,
) -> Result<R> {
    let (sender, messages) = channel();
    let work = Arc::new(Mutex::new(Some(work)));
    let (theirs, limit) = (work.clone(), pool::limit());
    let body = move || {
        let Some(work) = take(&theirs) else { return };
        let waiting = Waiting(sender);
        let result = catch_unwind(AssertUnwindSafe(|| pool::with_limit(limit, || work(&waiting))));
        // Where nobody waits any more, the result is dropped here.
        drop(waiting.0.send(Message::Done(result)));
    };
    let builder = thread::Builder::new().name("penstock-offload".into()).stack_size(STACK);
    if !memory::has_room_for_thread(STACK) || builder.spawn(body).is_err() {
        let work = take(&work).ok_or_else(|| Error::internal("the work was taken by a thread that did not start"))?;
        return Ok(work(env));
    }
    loop {
        match messages.recv_timeout(PATIENCE) {
            Ok(Message::Ask(question)) => question(env),
            Ok(Message::Done(result)) => return result.map_err(|panic| Error::of_panic(&*panic)),
            Err(RecvTimeoutError::Timeout) => env.poll().inspect_err(|_| abandon())?,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("the work ended without a result")),
        }
    }
}

/// What is there, for the first who takes it.
fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The surroundings of the work: those of the thread that waits for it.
struct Waiting<R>(Sender<Message<R>>);

impl<R: Send> Waiting<R> {
    fn ask<T: Send + 'static>(&self, question: impl FnOnce(&dyn Env) -> Result<T> + Send + 'static) -> Result<T> {
        let (sender, answer) = channel();
        let ask = move |env: &dyn Env| drop(sender.send(question(env)));
        let asked = self.0.send(Message::Ask(Box::new(ask))).is_ok();
        let answer = asked.then(|| answer.recv().ok()).flatten();
        answer.unwrap_or_else(|| Err(given_up()))
    }
}

impl<R: Send> Env for Waiting<R> {
    fn print(&self, stream: &str, text: &str) -> Result<()> {
        let (stream, text) = (stream.to_owned(), text.to_owned());
        self.ask(move |env| env.print(&stream, &text))
    }

    fn read_file(&self, path: &[u8]) -> Result<Bytes> {
        let path = path.to_owned();
        self.ask(move |env| env.read_file(&path))
    }

    fn write_file(&self, path: &[u8], contents: &[u8]) -> Result<()> {
        let (path, contents) = (path.to_owned(), contents.to_owned());
        self.ask(move |env| env.write_file(&path, &contents))
    }

    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        self.ask(move |env| env.draw(blocks))
    }

    fn poll(&self) -> Result<()> {
        self.ask(|env| env.poll())
    }

    fn group(&self, name: &str) -> Result<Arc<dyn Group>> {
        let name = name.to_owned();
        self.ask(move |env| env.group(&name))
    }
}
