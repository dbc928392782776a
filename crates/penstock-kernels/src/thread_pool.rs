//! Threads that wait for loops to share.
//!
//! The loops of a graph are short (tens of microseconds) and follow each other closely, so that waking a thread for each
//! would cost what it saves. A worker that runs out of work looks for more for a while before it sleeps, and the thread
//! that shares a loop never waits for a worker to come: it works itself, and when nothing is left to hand out it closes
//! the loop and waits only for those that had joined.

#![expect(unsafe_code, reason = "workers borrow a closure from the stack of the thread that shares it")]

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use penstock_data::memory;

/// How long a worker without work looks for some before it sleeps.
const SPIN: Duration = Duration::from_micros(100);

/// The size of a worker's stack: that of Rust's threads.
const STACK: usize = 2 << 20;

/// How many loops of different threads can be shared at once; further ones run on their own thread.
const BOARDS: usize = 8;

/// The lower bits of a ticket: how many more workers may join. The bits above number the loops of a board.
const SEATS: u64 = 0xffff;

thread_local! {
    /// Whether this thread runs a part of a shared loop. What it would share then, it runs alone.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The number of this thread in its pool: workers count from 1, all others are 0.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// Runs `f`, whose loops are shared even where this thread runs a part of a loop. A thread waits only for those that joined
/// its own loop, and so for what is within it: threads never wait for each other.
pub(crate) fn outside(f: impl FnOnce()) {
    /// Puts back what was set before.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _before = Before(INSIDE.replace(false));
    f()
}

/// Is told on a worker when it has done its part of a loop, with the time at which it began.
pub type Watcher = fn(Instant);

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCHER: RwLock<Option<Watcher>> = RwLock::new(None);

/// Has `watcher` be told of what workers do from now on; nobody, where it is `None`.
pub fn watch_workers(watcher: Option<Watcher>) {
    *WATCHER.write().unwrap_or_else(PoisonError::into_inner) = watcher;
    WATCHED.store(watcher.is_some(), Ordering::Relaxed);
}

/// Does the part of a worker.
fn watched(part: impl FnOnce()) {
    if !WATCHED.load(Ordering::Relaxed) {
        return part();
    }
    let began = Instant::now();
    part();
    // Held by a writer where somebody begins or ends to watch, and for ever in a child that was forked then.
    let watcher = WATCHER.try_read().ok().and_then(|watcher| *watcher);
    if let Some(tell) = watcher {
        tell(began);
    }
}

/// What threads do of a loop, by the number of the thread.
type Job<'a> = dyn Fn(usize) + Sync + 'a;

/// Where one thread shares a loop.
#[repr(align(128))]
struct Board {
    taken: AtomicBool,
    ticket: AtomicU64,
    /// How many of the workers that joined have left.
    left: AtomicUsize,
    /// Written by the thread that has `taken`, while there are no seats; read by workers that joined and have not left.
    job: UnsafeCell<&'static Job<'static>>,
    /// What the first worker that failed panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is the only part that is not `Sync`. It is written while no worker reads it: workers read between taking a
// seat, of which there are none then, and leaving, for which the writer of the loop before has waited. The release of the
// ticket and its acquisition order the write before the reads; those of `left`, the reads before the next write.
unsafe impl Sync for Board {}

impl Board {
    fn new() -> Board {
        Board {
            taken: AtomicBool::new(false),
            ticket: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            job: UnsafeCell::new(&|_| ()),
            panic: Mutex::new(None),
        }
    }

    /// Takes a seat and works until nothing is left to hand out. False if there is no seat.
    fn join(&self) -> bool {
        let mut ticket = self.ticket.load(Ordering::Acquire);
        while ticket & SEATS != 0 {
            match self.ticket.compare_exchange_weak(ticket, ticket - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: this thread joined and has not left.
                    let job = unsafe { *self.job.get() };
                    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| watched(|| job(NUMBER.get())))) {
                        self.panic.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(payload);
                    }
                    self.left.fetch_add(1, Ordering::Release);
                    return true;
                }
                Err(now) => ticket = now,
            }
        }
        false
    }
}

/// Workers, and the boards that they look at.
pub(crate) struct ThreadPool {
    boards: [Board; BOARDS],
    /// How many workers are awake and look for work.
    looking: AtomicUsize,
    asleep: Box<[AtomicBool]>,
    workers: Mutex<Vec<Thread>>,
}

impl ThreadPool {
    /// A pool of as many workers, or as many as can be started. It lives as long as the process.
    pub(crate) fn start(workers: usize) -> &'static ThreadPool {
        let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool {
            boards: std::array::from_fn(|_| Board::new()),
            looking: AtomicUsize::new(0),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            workers: Mutex::new(Vec::with_capacity(workers)),
        }));
        for i in 0..workers {
            let (started, starts) = channel();
            let run = move || {
                NUMBER.set(i + 1);
                crate::pool::limit_worker(workers + 1);
                let _ = started.send(());
                pool.work(&pool.asleep[i]);
            };
            // The C library ends the process where a thread finds no memory for its thread-local variables, so they are made while
            // nobody takes what there is.
            if !memory::has_room_for_thread(STACK) {
                break;
            }
            let builder = thread::Builder::new().name(format!("penstock-{i}")).stack_size(STACK);
            let Ok(handle) = builder.spawn(run) else { break };
            let _ = starts.recv();
            pool.workers.lock().unwrap_or_else(|e| e.into_inner()).push(handle.thread().clone());
        }
        pool
    }

    /// Runs `work` here and on up to `seats` workers at once. Each call of it takes parts of the loop until there are none; it gets
    /// the number of its thread, the same in all loops.
    ///
    /// # Panics
    /// If one of the calls does, after all have ended.
    pub(crate) fn share(&self, seats: usize, work: &Job<'_>) {
        let free = |b: &&Board| !b.taken.load(Ordering::Relaxed) && !b.taken.swap(true, Ordering::Acquire);
        let seats = (seats as u64).min(SEATS);
        let board = if INSIDE.get() { None } else { self.boards.iter().find(free) };
        let Some(board) = board else { return work(NUMBER.get()) };
        // SAFETY: only the lifetime changes. Workers are done with it before this function ends: it closes the board, after
        // which none joins, and waits for those that had.
        let job = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(work) };
        // SAFETY: this thread took the board, which has no seats, and workers that had joined have left.
        unsafe { *board.job.get() = job };
        let number = (board.ticket.load(Ordering::Relaxed) | SEATS) + 1;
        board.ticket.store(number | seats, Ordering::SeqCst);
        self.wake((seats as usize).saturating_sub(self.looking.load(Ordering::SeqCst)));

        INSIDE.set(true);
        let own = catch_unwind(AssertUnwindSafe(|| work(NUMBER.get())));
        INSIDE.set(false);

        let joined = seats - (board.ticket.fetch_and(!SEATS, Ordering::AcqRel) & SEATS);
        let mut turns = 0;
        while board.left.load(Ordering::Acquire) < joined as usize {
            pause(&mut turns);
        }
        board.left.store(0, Ordering::Relaxed);
        let other = board.panic.lock().unwrap_or_else(|e| e.into_inner()).take();
        board.taken.store(false, Ordering::Release);
        if let Some(payload) = own.err().or(other) {
            resume_unwind(payload);
        }
    }

    /// Wakes as many sleeping workers.
    fn wake(&self, mut count: usize) {
        if count == 0 {
            return;
        }
        let workers = self.workers.lock().unwrap_or_else(|e| e.into_inner());
        for (asleep, worker) in self.asleep.iter().zip(workers.iter()) {
            if asleep.load(Ordering::SeqCst) && asleep.swap(false, Ordering::SeqCst) {
                worker.unpark();
                count -= 1;
                if count == 0 {
                    return;
                }
            }
        }
    }

    /// Whether a worker could join a loop.
    fn has_seats(&self) -> bool {
        self.boards.iter().any(|b| b.ticket.load(Ordering::SeqCst) & SEATS != 0)
    }

    /// What a worker does all its life.
    fn work(&self, asleep: &AtomicBool) {
        INSIDE.set(true);
        loop {
            self.looking.fetch_add(1, Ordering::Relaxed);
            let (began, mut turns) = (Instant::now(), 0);
            let seats = loop {
                if self.has_seats() {
                    break true;
                }
                if pause(&mut turns) && began.elapsed() > SPIN {
                    break false;
                }
            };
            // Whoever offers seats looks after that for workers that look, then for workers that sleep. So it meets this one
            // in one of the two, or the offer came before the last look here.
            asleep.store(!seats, Ordering::SeqCst);
            self.looking.fetch_sub(1, Ordering::SeqCst);
            if seats || self.has_seats() {
                asleep.store(false, Ordering::SeqCst);
                self.boards.iter().for_each(|b| while b.join() {});
            }
            while asleep.load(Ordering::SeqCst) {
                thread::park();
            }
        }
    }
}

/// Waits a moment, some of the time by letting other threads run, and says whether it did.
fn pause(turns: &mut u32) -> bool {
    *turns += 1;
    let rest = turns.is_multiple_of(64);
    if rest {
        thread::yield_now()
    } else {
        spin_loop()
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares a loop of `pieces` and gives how often each was run.
    fn counts(pool: &ThreadPool, pieces: usize, f: impl Fn(usize) + Sync) -> Vec<usize> {
        let (next, seen) = (AtomicUsize::new(0), (0..pieces).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
        pool.share(3, &|_| {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= pieces {
                    break;
                }
                f(i);
                seen[i].fetch_add(1, Ordering::Relaxed);
            }
        });
        seen.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn each_piece_runs_once_whether_workers_come_or_not() {
        for workers in [0, 1, 3] {
            let pool = ThreadPool::start(workers);
            for pieces in [1, 2, 7, 300] {
                for _ in 0..50 {
                    assert!(counts(pool, pieces, |_| ()).iter().all(|&n| n == 1));
                }
            }
        }
    }

    #[test]
    fn workers_take_part() {
        let pool = ThreadPool::start(1);
        let (here, other) = (thread::current().id(), AtomicBool::new(false));
        // Each piece waits until the other thread has taken one, so one thread alone would not end.
        let arrived = AtomicUsize::new(0);
        counts(pool, 2, |_| {
            other.fetch_or(thread::current().id() != here, Ordering::Relaxed);
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < 2 {
                thread::yield_now();
            }
        });
        assert!(other.into_inner());
    }

    #[test]
    fn more_threads_than_boards_share_at_once() {
        let pool = ThreadPool::start(2);
        thread::scope(|scope| {
            for _ in 0..3 * BOARDS {
                scope.spawn(|| (0..100).for_each(|_| assert!(counts(pool, 20, |_| ()).iter().all(|&n| n == 1))));
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_thread_that_shares_and_the_team_goes_on() {
        let pool = ThreadPool::start(2);
        for bad in 0..6 {
            let failed = catch_unwind(AssertUnwindSafe(|| counts(pool, 6, |i| assert_ne!(i, bad, "piece {bad}"))));
            let text = *failed.unwrap_err().downcast::<String>().unwrap();
            assert!(text.contains(&format!("piece {bad}")), "{text}");
            assert!(counts(pool, 6, |_| ()).iter().all(|&n| n == 1));
        }
    }

    #[test]
    fn loops_outside_of_a_loop_that_is_shared_are_shared_in_turn() {
        for workers in [0, 1, 3] {
            let pool = ThreadPool::start(workers);
            for _ in 0..50 {
                let inner = |_| outside(|| assert!(counts(pool, 20, |_| ()).iter().all(|&n| n == 1)));
                assert!(counts(pool, 5, inner).iter().all(|&n| n == 1));
                assert!(!INSIDE.get());
            }
        }
    }

    #[test]
    fn a_thread_without_a_task_helps_with_the_loop_of_another() {
        let pool = ThreadPool::start(1);
        let (here, other) = (thread::current().id(), AtomicBool::new(false));
        let arrived = AtomicUsize::new(0);
        // One task has a loop whose two pieces wait for each other, so one thread alone would not end.
        counts(pool, 2, |task| {
            outside(|| {
                counts(pool, if task == 0 { 2 } else { 0 }, |_| {
                    other.fetch_or(thread::current().id() != here, Ordering::Relaxed);
                    arrived.fetch_add(1, Ordering::Relaxed);
                    while arrived.load(Ordering::Relaxed) < 2 {
                        thread::yield_now();
                    }
                });
            })
        });
        assert!(other.into_inner());
    }

    #[test]
    fn a_loop_within_a_loop_runs_on_its_own_thread() {
        let pool = ThreadPool::start(2);
        counts(pool, 8, |_| {
            let here = thread::current().id();
            counts(pool, 8, |_| assert_eq!(thread::current().id(), here));
        });
    }
}
