//! The engine's own threads, and loops over them.
//!
//! A process has one team of them for a number of threads, made at first need. Teams are keyed by process id: a forked
//! child makes its own and never waits for threads that it does not have.

#![expect(unsafe_code, reason = "a lock-free list of teams, which a fork cannot leave locked")]

use std::cell::RefCell;
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::team::{Team, outside};

/// A team and what it is keyed by. Entries are never freed.
struct Entry {
    pid: u32,
    threads: usize,
    /// Made by whoever needs it first; others wait for that.
    team: OnceLock<&'static Team>,
    next: *const Entry,
}

static TEAMS: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());
/// The wanted number of threads; 0 until set or asked for.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads that kernels may use, the calling one included. 0 means the number of
/// processors.
pub fn set_threads(n: usize) {
    THREADS.store(n, Ordering::Relaxed);
}

/// The number of threads that kernels may use, the calling one included.
#[inline]
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => default_threads(),
        n => n,
    }
}

#[cold]
fn default_threads() -> usize {
    let n = std::env::var("PENSTOCK_THREADS").ok().and_then(|v| v.parse().ok()).filter(|&n| n > 0);
    let n = n.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    // A concurrent `set_threads` wins.
    let _ = THREADS.compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed);
    n
}

/// The team of this process that makes `threads` threads with the calling one.
fn team(threads: usize) -> &'static Team {
    let pid = std::process::id();
    let made = |entry: &Entry| *entry.team.get_or_init(|| Team::start(threads - 1));
    let mut head = TEAMS.load(Ordering::Acquire);
    loop {
        let mut at = head.cast_const();
        // SAFETY: entries are published by the release below, and never freed or changed.
        while let Some(entry) = unsafe { at.as_ref() } {
            if entry.pid == pid && entry.threads == threads {
                return made(entry);
            }
            at = entry.next;
        }
        let entry = Box::into_raw(Box::new(Entry { pid, threads, team: OnceLock::new(), next: head }));
        match TEAMS.compare_exchange(head, entry, Ordering::Release, Ordering::Acquire) {
            // SAFETY: published, so never freed.
            Ok(_) => return made(unsafe { &*entry }),
            Err(now) => {
                // SAFETY: from `Box::into_raw` above, and not published.
                drop(unsafe { Box::from_raw(entry) });
                head = now;
            }
        }
    }
}

thread_local! {
    /// Set for what this thread runs under [`stoppable`].
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// How many pieces a thread's share of a loop has where the loop may be stopped: a loop of ten seconds ends within some
/// hundredths.
const STOPPABLE_PIECES: usize = 256;

/// Runs `f`, whose loops end by unwinding soon after `stop` is set. What they were to write is then written in part.
///
/// # Panics
/// If `f` does, or is stopped.
pub fn stoppable<R>(stop: Arc<AtomicBool>, f: impl FnOnce() -> R) -> R {
    /// Puts back what was set before.
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            STOP.set(self.0.take());
        }
    }
    let _before = Before(STOP.replace(Some(stop)));
    f()
}

/// What a loop that is stopped unwinds with.
struct Stopped;

/// Estimated time, in nanoseconds, that a piece of split work must take to be worth handing over.
pub(crate) const PIECE_NS: f64 = 20_000.0;

/// The number of tasks of an estimated `ns` each that make a piece worth handing to a thread: the
/// `grain` for [`parallel_for`].
pub fn grain(ns: f64) -> usize {
    ((PIECE_NS / ns.max(1e-3)) as usize).max(1)
}

/// Runs `f` over ranges that partition `0..tasks`, each at least `grain` long (but for the last), on the calling thread
/// and the engine's. Runs inline as one range if there are fewer than two grains of tasks, if there is one thread, or
/// within another such loop.
///
/// Which thread runs which range is not defined; `f` must write to places that depend on the range
/// alone.
///
/// # Panics
/// If `f` does, after all ranges that were begun have ended.
#[inline]
pub fn parallel_for(tasks: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
    // A few pieces a thread even out unequal speeds.
    run_ranges(tasks, grain, 4, &f);
}

/// Runs `f` on each number below `tasks`, which are handed out one by one; else as [`parallel_for`].
///
/// # Panics
/// If `f` does, after all tasks that were begun have ended.
pub fn parallel_each(tasks: usize, f: impl Fn(usize) + Sync) {
    run_ranges(tasks, 1, usize::MAX, &|range| range.for_each(&f));
}

/// [`parallel_for`], compiled once for all bodies, by up to so many pieces a thread.
fn run_ranges(tasks: usize, grain: usize, each: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    if tasks == 0 {
        return;
    }
    let grain = grain.max(1);
    if tasks / 2 < grain {
        return f(0..tasks);
    }
    let (n, stop) = (threads(), STOP.with_borrow(Option::clone));
    if n == 1 && stop.is_none() {
        return f(0..tasks);
    }
    let each = if stop.is_some() { each.max(STOPPABLE_PIECES) } else { each };
    let piece = grain.max(tasks.div_ceil(n.saturating_mul(each)));
    let pieces = tasks.div_ceil(piece);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= pieces {
                break;
            }
            if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                resume_unwind(Box::new(Stopped));
            }
            f(i * piece..tasks.min((i + 1) * piece));
        }
    };
    if n == 1 {
        return work();
    }
    team(n).share(n.min(pieces) - 1, &work);
}

/// Runs `f` on each number below `tasks`, on the calling thread and the engine's. Unlike a piece of [`parallel_for`], a task
/// shares its loops in turn: threads that find no task left help those that have one.
///
/// Which thread runs which task is not defined.
///
/// # Panics
/// If `f` does, after all tasks that were begun have ended.
pub fn fork(tasks: usize, f: impl Fn(usize) + Sync) {
    let n = threads();
    if n == 1 || tasks < 2 {
        return (0..tasks).for_each(f);
    }
    let (next, stop) = (AtomicUsize::new(0), STOP.with_borrow(Option::clone));
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= tasks {
                break;
            }
            let task = || outside(|| f(i));
            match &stop {
                Some(stop) => stoppable(stop.clone(), task),
                None => task(),
            }
        }
    };
    team(n).share(n.min(tasks) - 1, &work);
}

/// A pointer that threads share; whoever makes one sees to it that they write to disjoint places.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) *mut T);

impl<T> Shared<T> {
    /// The pointer; a method, so that closures capture the wrapper and not its field.
    #[inline(always)]
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

// SAFETY: a pointer is only an address; the users of this private type access disjoint places.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}
