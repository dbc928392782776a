//! Taking turns: one thread at a time traces a function.
//!
//! A thread that traces one function may need the lock of another, which it calls, so threads could wait
//! for each other in a circle. Who holds and who waits is therefore kept in one table, and a thread whose
//! waiting would close a circle does not wait: it traces beside the other, and of two equal traces the
//! cache keeps the first. So does a thread that waits for one which the host finds to wait for something
//! else, such as the end of this very thread.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;

#[derive(Default)]
struct Table {
    /// The process whose threads these are: a forked child starts over.
    process: u32,
    /// Who holds a function's lock.
    holders: FxHashMap<u64, Holder>,
    /// The function that a thread waits for.
    waiting: FxHashMap<u64, u64>,
}

struct Holder {
    thread: u64,
    /// The thread as the host knows it.
    host: u64,
    /// How many times it holds the lock.
    depth: u32,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Option<Table>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn this_thread() -> u64 {
    thread_local!(static ID: Cell<u64> = const { Cell::new(0) });
    ID.with(|id| {
        if id.get() == 0 {
            id.set(crate::var::fresh_id());
        }
        id.get()
    })
}

impl Table {
    fn current(slot: &mut Option<Table>) -> &mut Table {
        let process = std::process::id();
        if slot.as_ref().is_none_or(|t| t.process != process) {
            *slot = Some(Table { process, ..Table::default() });
        }
        slot.get_or_insert_default()
    }

    /// Takes the lock where nobody else holds it.
    fn take(&mut self, function: u64, thread: u64, host: u64) -> bool {
        let holder = self.holders.entry(function).or_insert(Holder { thread, host, depth: 0 });
        if holder.thread != thread {
            return false;
        }
        holder.depth += 1;
        true
    }

    /// Whether `thread` would wait for itself if it waited for `function`.
    fn is_circle(&self, function: u64, thread: u64) -> bool {
        let mut next = Some(function);
        while let Some(holder) = next.and_then(|f| self.holders.get(&f)) {
            if holder.thread == thread {
                return true;
            }
            next = self.waiting.get(&holder.thread).copied();
        }
        false
    }
}

/// The right to trace a function, until dropped by the thread that took it.
pub struct TraceLock {
    /// The function, where the lock is held, not merely waived.
    function: Option<u64>,
    /// Tied to its thread.
    thread: PhantomData<*const ()>,
}

impl TraceLock {
    /// A lock beside whoever holds it.
    pub fn beside() -> TraceLock {
        TraceLock { function: None, thread: PhantomData }
    }
}

/// The lock of a function, where that needs no waiting: nobody holds it, this thread, which the host knows as `host`, does
/// already, or waiting would never end.
pub fn try_trace_lock(function: u64, host: u64) -> Option<TraceLock> {
    let thread = this_thread();
    let mut slot = lock();
    let table = Table::current(&mut slot);
    if table.take(function, thread, host) {
        return Some(TraceLock { function: Some(function), thread: PhantomData });
    }
    table.is_circle(function, thread).then(TraceLock::beside)
}

/// Waits for some time, at most until nobody traces a function, or until waiting would never end. Whoever holds the
/// host's own lock lets go of it meanwhile; [`try_trace_lock`] then takes the lock. Gives the thread that still holds it, as the
/// host knows it, after that time.
pub fn wait_for_trace_lock(function: u64, at_most: Duration) -> Option<u64> {
    let thread = this_thread();
    let mut slot = lock();
    let goes_on = |slot: &mut Option<Table>| {
        let table = Table::current(slot);
        let holder = table.holders.get(&function).map(|holder| holder.host);
        let waits = holder.filter(|_| !table.is_circle(function, thread));
        match waits {
            Some(_) => table.waiting.insert(thread, function),
            None => table.waiting.remove(&thread),
        };
        waits
    };
    goes_on(&mut slot)?;
    let waited = CHANGED.wait_timeout_while(slot, at_most, |slot| goes_on(slot).is_some());
    let (mut slot, _) = waited.unwrap_or_else(PoisonError::into_inner);
    let holder = goes_on(&mut slot);
    Table::current(&mut slot).waiting.remove(&thread);
    holder
}

impl Drop for TraceLock {
    fn drop(&mut self) {
        let Some(function) = self.function else { return };
        let mut slot = lock();
        let table = Table::current(&mut slot);
        if let Some(holder) = table.holders.get_mut(&function) {
            holder.depth -= 1;
            if holder.depth == 0 {
                table.holders.remove(&function);
                CHANGED.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    fn locked(function: u64) -> TraceLock {
        loop {
            match try_trace_lock(function, 0) {
                Some(lock) => return lock,
                None => drop(wait_for_trace_lock(function, Duration::from_secs(600))),
            }
        }
    }

    #[test]
    fn one_thread_at_a_time_has_the_turn_and_may_take_it_again() {
        let function = crate::var::fresh_id();
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _outer = locked(function);
                        let _again = locked(function);
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_thread_that_waited_long_enough_learns_who_holds_the_turn() {
        let function = crate::var::fresh_id();
        let _held = try_trace_lock(function, 7);
        thread::scope(|scope| {
            let other =
                scope.spawn(|| (try_trace_lock(function, 8).is_none(), wait_for_trace_lock(function, Duration::ZERO)));
            assert_eq!(other.join().ok(), Some((true, Some(7))));
        });
    }

    #[test]
    fn threads_that_need_each_others_turn_do_not_wait_for_ever() {
        let (f, g) = (crate::var::fresh_id(), crate::var::fresh_id());
        let (both_hold, done) = (Barrier::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            for (first, second) in [(f, g), (g, f)] {
                let (both_hold, done) = (&both_hold, &done);
                scope.spawn(move || {
                    let _first = locked(first);
                    both_hold.wait();
                    let _second = locked(second);
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }
}
