//! The engine's own threads, and loops over them.
//!
//! A process has one pool of them for a number of threads, made at first need. Pools are keyed by process id: a forked
//! child makes its own and never waits for threads that it does not have.

#![expect(unsafe_code, reason = "a lock-free list of teams, which a fork cannot leave locked")]

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use penstock_data::settings;
use smallvec::SmallVec;

use crate::thread_pool::{ThreadPool, outside};
pub use crate::thread_pool::{Watcher, watch_workers};

/// A pool and what it is keyed by. Entries are never freed.
struct Entry {
    pid: u32,
    threads: usize,
    /// Made by whoever needs it first; others wait for that.
    pool: OnceLock<&'static ThreadPool>,
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
    let wanted = match THREADS.load(Ordering::Relaxed) {
        0 => default_threads(),
        n => n,
    };
    match LIMIT.get() {
        0 => wanted,
        limit => wanted.min(limit),
    }
}

/// The most threads that what the calling thread runs may use; 0 where nothing limits it.
pub fn limit() -> usize {
    LIMIT.get()
}

/// Runs `f` with at most `limit` threads, the calling one included; 0 stands for no limit.
///
/// # Panics
/// If `f` does.
pub fn with_limit<R>(limit: usize, f: impl FnOnce() -> R) -> R {
    /// Puts back what was set before.
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _before = Before(LIMIT.replace(limit));
    f()
}

/// A worker of a pool runs what it is given with as many threads as the pool has.
pub(crate) fn limit_worker(threads: usize) {
    LIMIT.set(threads);
}

#[cold]
fn default_threads() -> usize {
    let read = |value: &str| value.parse().ok().filter(|&n| n > 0);
    let n = settings::get("PENSTOCK_THREADS", "a positive number, such as '2'", read);
    let n = n.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    // A concurrent `set_threads` wins.
    let _ = THREADS.compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed);
    n
}

/// The pool of this process that makes `threads` threads with the calling one.
fn pool(threads: usize) -> &'static ThreadPool {
    let pid = std::process::id();
    let made = |entry: &Entry| *entry.pool.get_or_init(|| ThreadPool::start(threads - 1));
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
        let entry = Box::into_raw(Box::new(Entry { pid, threads, pool: OnceLock::new(), next: head }));
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
    /// Set for what this thread runs under [`with_limit`]; 0 where nothing is.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
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

/// The pieces of a loop that are still to be handed out. Each thread has a share of them, the same in all loops of as many pieces, so
/// that what it wrote in one is in its cache in the next; a thread that is through with its own takes from the ends of others'.
struct Shares(SmallVec<[Share; 8]>);

/// The first piece that is left, and in the upper half the one behind the last.
#[repr(align(64))]
struct Share(AtomicU64);

impl Shares {
    fn of(pieces: usize, threads: usize) -> Shares {
        let n = threads.min(pieces);
        let start = |i: usize| (i * pieces / n) as u64;
        Shares((0..n).map(|i| Share(AtomicU64::new(start(i) | start(i + 1) << 32))).collect())
    }

    /// A piece for the thread of a number.
    fn take(&self, number: usize) -> Option<usize> {
        let (others, own) = self.0.split_at(number % self.0.len());
        let (own, behind) = own.split_first()?;
        own.take(true).or_else(|| behind.iter().chain(others).find_map(|share| share.take(false)))
    }
}

impl Share {
    /// The first piece or the last one.
    fn take(&self, first: bool) -> Option<usize> {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let (start, end) = (now & u64::from(u32::MAX), now >> 32);
            if start == end {
                return None;
            }
            let (piece, next) = if first { (start, now + 1) } else { (end - 1, now - (1 << 32)) };
            match self.0.compare_exchange_weak(now, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(piece as usize),
                Err(other) => now = other,
            }
        }
    }
}

/// Runs `f` over ranges that partition `0..tasks`, each at least `grain` long, as equal as can be, on the calling thread
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

/// Runs `f` on each number below `tasks`, each a piece of its own; else as [`parallel_for`].
///
/// # Panics
/// If `f` does, after all tasks that were begun have ended.
pub fn parallel_each(tasks: usize, f: impl Fn(usize) + Sync) {
    run_ranges(tasks, 1, usize::MAX, &|range| range.for_each(&f));
}

/// Part `i` of the `parts` into which `0..len` is cut. All but the last have a multiple of `unit` elements, and they differ by one unit at most.
pub fn part(len: usize, unit: usize, parts: usize, i: usize) -> Range<usize> {
    let start = |i: usize| len.min(cut(len.div_ceil(unit), parts, i) * unit);
    start(i)..start(i + 1)
}

/// Runs `f` on each [`part`] of `0..len`, as [`parallel_each`] does. There are at most `parts` of them, and none is empty.
///
/// # Panics
/// If `f` does, after all parts that were begun have ended.
pub fn parallel_parts(len: usize, unit: usize, parts: usize, f: impl Fn(Range<usize>) + Sync) {
    let parts = parts.max(1).min(len.div_ceil(unit));
    parallel_each(parts, |i| f(part(len, unit, parts, i)));
}

/// Unwinds where the work of this thread is to stop, as a shared loop does between its pieces.
pub fn stop_if_asked() {
    if STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))) {
        resume_unwind(Box::new(Stopped));
    }
}

/// Where piece `i` begins, if `tasks` are cut into `pieces`. The lengths of pieces differ by one at most, and longer ones are spread evenly, so
/// that threads have equal shares.
fn cut(tasks: usize, pieces: usize, i: usize) -> usize {
    i * (tasks / pieces) + i * (tasks % pieces) / pieces
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
    // As many pieces for each thread leave none to wait for.
    let most = (tasks / grain).min(n.saturating_mul(each)).min(u32::MAX as usize);
    let pieces = if most > n && most < tasks { most - most % n } else { most };
    let shares = Shares::of(pieces, n);
    let work = |number: usize| {
        while let Some(i) = shares.take(number) {
            if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                resume_unwind(Box::new(Stopped));
            }
            f(cut(tasks, pieces, i)..cut(tasks, pieces, i + 1));
        }
    };
    if n == 1 {
        return work(0);
    }
    pool(n).share(n.min(pieces) - 1, &work);
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
    let work = |_: usize| {
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
    pool(n).share(n.min(tasks) - 1, &work);
}

/// What each thread keeps from one task of a loop to its next.
pub(crate) struct PerThread<T>(Mutex<Vec<(ThreadId, Box<T>)>>);

impl<T> PerThread<T> {
    pub(crate) fn new() -> PerThread<T> {
        PerThread(Mutex::new(Vec::new()))
    }

    /// Runs `f` with what the calling thread keeps, which is made if it keeps nothing yet.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> T, f: impl FnOnce(&mut T) -> R) -> R {
        let me = thread::current().id();
        let of_all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = {
            let mut all = of_all();
            all.iter().position(|(thread, _)| *thread == me).map(|at| all.swap_remove(at).1)
        };
        let mut own = taken.unwrap_or_else(|| Box::new(make()));
        let result = f(&mut own);
        of_all().push((me, own));
        result
    }
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
// SAFETY: a pointer is only an address; the users of this private type access disjoint places.
unsafe impl<T> Sync for Shared<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_its_own_share_first_and_then_the_ends_of_others() {
        let shares = Shares::of(9, 2);
        let take = |number| shares.take(number);
        assert_eq!([take(1), take(0), take(0), take(1), take(0)], [4, 0, 1, 5, 2].map(Some));
        assert_eq!([take(0), take(0), take(0), take(1)], [3, 8, 7, 6].map(Some));
        assert_eq!([take(0), take(1), take(2)], [None; 3]);
    }

    #[test]
    fn pieces_and_the_shares_of_threads_are_as_equal_as_can_be() {
        assert_eq!([0, 1, 2].map(|i| part(33, 8, 3, i)), [0..8, 8..24, 24..33]);
        assert_eq!([0, 1].map(|i| part(10, 4, 2, i)), [0..4, 4..10]);
        for tasks in (1..70).chain([1000, 12_345_678_901]) {
            for pieces in (1..20).filter(|&n| n <= tasks) {
                let cuts: Vec<usize> = (0..=pieces).map(|i| cut(tasks, pieces, i)).collect();
                assert_eq!((cuts[0], cuts[pieces]), (0, tasks));
                let lengths = cuts.windows(2).map(|ends| ends[1] - ends[0]);
                assert!(lengths.clone().max() <= lengths.min().map(|least| least + 1), "{tasks} {pieces}");
                for threads in (1..=pieces).filter(|n| pieces.is_multiple_of(*n)) {
                    let shares = cuts.chunks(pieces / threads).map(|share| share[0]).collect::<Vec<_>>();
                    let each = shares.windows(2).map(|ends| ends[1] - ends[0]);
                    assert!(each.clone().max() <= each.min().map(|least| least + 1), "{tasks} {pieces} {threads}");
                }
            }
        }
    }

    #[test]
    fn a_limit_holds_for_what_runs_under_it_and_for_the_workers_that_share_it() {
        let unlimited = threads();
        let seen = AtomicUsize::new(0);
        with_limit(1, || {
            assert_eq!((limit(), threads()), (1, 1));
            parallel_for(1 << 10, 1, |_| {
                seen.fetch_max(threads(), Ordering::Relaxed);
            });
            assert_eq!(with_limit(0, threads), unlimited);
            assert_eq!(limit(), 1);
        });
        assert_eq!((limit(), threads(), seen.into_inner()), (0, unlimited, 1));
    }

    #[test]
    fn every_piece_is_handed_out_once_whatever_the_numbers_of_threads() {
        for (pieces, threads) in [(1, 8), (3, 8), (8, 3), (1000, 7), (5, 1)] {
            let shares = Shares::of(pieces, threads);
            let counts: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
            std::thread::scope(|scope| {
                for number in [0, 1, 1, threads, threads + 5] {
                    let (shares, counts) = (&shares, &counts);
                    scope.spawn(move || {
                        while let Some(i) = shares.take(number) {
                            counts[i].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            assert!(counts.into_iter().all(|n| n.into_inner() == 1), "{pieces} {threads}");
        }
    }
}
