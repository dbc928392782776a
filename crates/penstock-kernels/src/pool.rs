//! The engine's own threads.
//!
//! A process has one pool, made at first need. Pools are keyed by process id: a forked child makes
//! its own and never waits on threads that it does not have.

#![expect(unsafe_code, reason = "a lock-free list of pools, which a fork cannot leave locked")]

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool and what it is keyed by. Entries are never freed.
struct Entry {
    pid: u32,
    threads: usize,
    pool: ThreadPool,
    next: *const Entry,
}

static POOLS: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());
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

/// The pool of this process with `threads` threads.
fn pool(threads: usize) -> Option<&'static ThreadPool> {
    let pid = std::process::id();
    let mut head = POOLS.load(Ordering::Acquire);
    let mut made: *mut Entry = ptr::null_mut();
    loop {
        let mut at = head.cast_const();
        // SAFETY: entries are published by the release store below, and never freed or changed.
        while let Some(entry) = unsafe { at.as_ref() } {
            if entry.pid == pid && entry.threads == threads {
                if !made.is_null() {
                    // SAFETY: `made` came from `Box::into_raw` below and was not published.
                    drop(unsafe { Box::from_raw(made) });
                }
                return Some(&entry.pool);
            }
            at = entry.next;
        }
        if made.is_null() {
            let pool =
                ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("penstock-{i}")).build().ok()?;
            made = Box::into_raw(Box::new(Entry { pid, threads, pool, next: ptr::null() }));
        }
        // SAFETY: `made` is this thread's own until published.
        unsafe { (*made).next = head };
        match POOLS.compare_exchange(head, made, Ordering::Release, Ordering::Acquire) {
            // SAFETY: just published; entries are never freed or changed from then on.
            Ok(_) => return Some(unsafe { &(*made).pool }),
            Err(now) => head = now,
        }
    }
}

/// Runs `f` inside the engine's pool, so that rayon's own parallel iterators use its threads. The
/// calling thread waits; with one thread, or if no thread can be started, `f` runs inline.
pub fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let n = threads();
    match if n > 1 { pool(n) } else { None } {
        Some(pool) => pool.install(f),
        None => f(),
    }
}

/// Estimated time, in nanoseconds, that a piece of split work must take to be worth handing over.
const PIECE_NS: f64 = 60_000.0;

/// The number of tasks of an estimated `ns` each that make a piece worth handing to a thread: the
/// `grain` for [`parallel_for`].
pub fn grain(ns: f64) -> usize {
    ((PIECE_NS / ns.max(1e-3)) as usize).max(1)
}

/// Runs `f` over ranges that partition `0..tasks`, each at least `grain` long (but for the last),
/// on the calling thread and the pool's. Runs inline as one range if there are fewer than two
/// grains of tasks, or one thread.
///
/// Which thread runs which range is not defined; `f` must write to places that depend on the range
/// alone.
#[inline]
pub fn parallel_for(tasks: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
    run_ranges(tasks, grain, &f);
}

/// [`parallel_for`], compiled once for all bodies.
fn run_ranges(tasks: usize, grain: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    if tasks == 0 {
        return;
    }
    let grain = grain.max(1);
    let n = if tasks / 2 < grain { 1 } else { threads() };
    let Some(pool) = (if n > 1 { pool(n) } else { None }) else {
        return f(0..tasks);
    };
    // A few pieces a thread even out unequal speeds.
    let piece = grain.max(tasks.div_ceil(n * 4));
    let pieces = tasks.div_ceil(piece);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= pieces {
                break;
            }
            f(i * piece..tasks.min((i + 1) * piece));
        }
    };
    pool.in_place_scope(|scope| {
        for _ in 1..n.min(pieces) {
            scope.spawn(|_| work());
        }
        work();
    });
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
