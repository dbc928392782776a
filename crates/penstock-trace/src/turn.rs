//! Taking turns: one thread at a time traces a function.
//!
//! A thread that traces one function may need a turn at another, which it calls, so threads could wait
//! for each other in a circle. Who holds and who waits is therefore kept in one table, and a thread whose
//! waiting would close a circle does not wait: it traces beside the other, and of two equal traces the
//! cache keeps the first.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

#[derive(Default)]
struct Table {
    /// The process whose threads these are: a forked child starts over.
    process: u32,
    /// The thread that holds a function's turn, and how many times.
    holders: FxHashMap<u64, (u64, u32)>,
    /// The function that a thread waits for.
    waiting: FxHashMap<u64, u64>,
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

    /// Takes the turn where nobody else holds it.
    fn take(&mut self, function: u64, thread: u64) -> bool {
        let (holder, depth) = self.holders.entry(function).or_insert((thread, 0));
        if *holder != thread {
            return false;
        }
        *depth += 1;
        true
    }

    /// Whether `thread` would wait for itself if it waited for `function`.
    fn is_circle(&self, function: u64, thread: u64) -> bool {
        let mut next = Some(function);
        while let Some((holder, _)) = next.and_then(|f| self.holders.get(&f)) {
            if *holder == thread {
                return true;
            }
            next = self.waiting.get(holder).copied();
        }
        false
    }
}

/// The right to trace a function, until dropped by the thread that took it.
pub struct Turn {
    /// The function, where the turn is held, not merely waived.
    function: Option<u64>,
    /// Tied to its thread.
    thread: PhantomData<*const ()>,
}

/// A turn at a function, where that needs no waiting: nobody holds it, this thread does already, or
/// waiting would never end.
pub fn try_turn(function: u64) -> Option<Turn> {
    let thread = this_thread();
    let mut slot = lock();
    let table = Table::current(&mut slot);
    if table.take(function, thread) {
        return Some(Turn { function: Some(function), thread: PhantomData });
    }
    table.is_circle(function, thread).then_some(Turn { function: None, thread: PhantomData })
}

/// Waits until nobody traces a function, or until waiting would never end. Whoever holds the host's
/// own lock lets go of it meanwhile; [`try_turn`] then takes the turn.
pub fn wait_for_turn(function: u64) {
    let thread = this_thread();
    let mut slot = lock();
    loop {
        let table = Table::current(&mut slot);
        if !table.holders.contains_key(&function) || table.is_circle(function, thread) {
            table.waiting.remove(&thread);
            return;
        }
        table.waiting.insert(thread, function);
        slot = CHANGED.wait(slot).unwrap_or_else(PoisonError::into_inner);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(function) = self.function else { return };
        let mut slot = lock();
        let table = Table::current(&mut slot);
        if let Some((_, depth)) = table.holders.get_mut(&function) {
            *depth -= 1;
            if *depth == 0 {
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

    fn turn(function: u64) -> Turn {
        loop {
            match try_turn(function) {
                Some(turn) => return turn,
                None => wait_for_turn(function),
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
                        let _outer = turn(function);
                        let _again = turn(function);
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn threads_that_need_each_others_turn_do_not_wait_for_ever() {
        let (f, g) = (crate::var::fresh_id(), crate::var::fresh_id());
        let (both_hold, done) = (Barrier::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            for (first, second) in [(f, g), (g, f)] {
                let (both_hold, done) = (&both_hold, &done);
                scope.spawn(move || {
                    let _first = turn(first);
                    both_hold.wait();
                    let _second = turn(second);
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }
}
