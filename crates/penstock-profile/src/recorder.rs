//! Recording.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use penstock_data::{Loc, used_bytes};
use penstock_ir::{Activity, Detail, Profiler, Span};
use penstock_kernels::pool;
use rustc_hash::FxHashMap;

use crate::recording::{Event, Lane, Recording};

/// How many events are kept, unless another limit is given: some 100 MB.
const EVENTS: usize = 1 << 20;

/// Keeps what it is told, from any number of threads: each writes to a list of its own.
#[derive(Debug)]
pub struct Recorder {
    /// Its number among the recorders of the process.
    id: u64,
    detail: Detail,
    limit: usize,
    began: Instant,
    began_at: Duration,
    kept: AtomicUsize,
    dropped: AtomicU64,
    threads: Mutex<Vec<Arc<Mutex<Thread>>>>,
}

/// What one thread was told of.
#[derive(Debug, Default)]
struct Thread {
    name: String,
    names: Vec<Arc<str>>,
    /// The numbers of names.
    numbers: FxHashMap<Arc<str>, u32>,
    /// Lists of [`CHUNK`] spans each but the last, which are never moved.
    chunks: Vec<Vec<Kept>>,
}

/// Spans of a list.
const CHUNK: usize = 1 << 12;

/// A span, small.
#[derive(Debug)]
struct Kept {
    began: u64,
    took: u64,
    bytes: usize,
    count: u64,
    number: Option<i64>,
    kind: &'static str,
    loc: Loc,
    name: u32,
    activity: Activity,
    failed: bool,
}

impl Thread {
    /// The number of a name.
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let (new, number): (Arc<str>, _) = (name.into(), self.names.len() as u32);
        self.names.push(new.clone());
        self.numbers.insert(new, number);
        number
    }

    fn keep(&mut self, span: &Span<'_>, start: Instant) {
        let name = self.intern(span.name);
        let kept = Kept {
            began: nanos(span.began.saturating_duration_since(start)),
            took: nanos(span.took),
            bytes: used_bytes(),
            count: span.count,
            number: span.number,
            kind: span.kind,
            loc: span.loc,
            name,
            activity: span.activity,
            failed: span.failed,
        };
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(kept),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(kept);
                self.chunks.push(chunk);
            }
        }
    }

    /// What was kept, which is taken away.
    fn take(&mut self) -> Lane {
        let event = |kept: Kept| Event {
            activity: kept.activity,
            name: self.names[kept.name as usize].clone(),
            loc: kept.loc,
            kind: kept.kind,
            count: kept.count,
            began: Duration::from_nanos(kept.began),
            took: Duration::from_nanos(kept.took),
            failed: kept.failed,
            number: kept.number,
            bytes: kept.bytes,
        };
        let events = std::mem::take(&mut self.chunks).into_iter().flatten().map(event).collect();
        Lane { name: self.name.clone(), events }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

thread_local! {
    /// The list of this thread in the recorder of a number.
    static MINE: RefCell<Option<(u64, Arc<Mutex<Thread>>)>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder::new(Detail::default(), EVENTS)
    }
}

impl Recorder {
    /// A recorder that keeps at most `limit` events; of those that come later only the number is known.
    pub fn new(detail: Detail, limit: usize) -> Recorder {
        static RECORDERS: AtomicU64 = AtomicU64::new(0);
        Recorder {
            id: RECORDERS.fetch_add(1, Ordering::Relaxed),
            detail,
            limit,
            began: Instant::now(),
            began_at: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            kept: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            threads: Mutex::default(),
        }
    }

    /// Tells the recorder of the threads of the pool too: what they do for steps of other threads. Until it is dropped, or another one
    /// is told of them.
    pub fn watch_workers(self: &Arc<Recorder>) {
        let mut watching = WATCHING.write().unwrap_or_else(PoisonError::into_inner);
        *watching = Arc::downgrade(self);
        pool::watch_workers(Some(worked));
    }

    /// How many events are kept unless another limit is given.
    pub const fn default_limit() -> usize {
        EVENTS
    }

    /// What was recorded until now.
    pub fn finish(&self) -> Recording {
        let took = self.began.elapsed();
        let threads = lock(&self.threads).clone();
        let lanes = threads.iter().map(|thread| lock(thread).take());
        Recording::new(self.began_at, took, lanes.collect(), self.dropped.load(Ordering::Relaxed))
    }

    /// Does `work` with the list of this thread; a thread that ends has none any more.
    fn with_mine(&self, work: impl FnOnce(&mut Thread)) {
        let _ = MINE.try_with(|mine| {
            let mut mine = mine.borrow_mut();
            if mine.as_ref().is_none_or(|(id, _)| *id != self.id) {
                *mine = Some((self.id, self.add_thread()));
            }
            if let Some((_, thread)) = &*mine {
                work(&mut lock(thread));
            }
        });
    }

    fn add_thread(&self) -> Arc<Mutex<Thread>> {
        let mut threads = lock(&self.threads);
        let name = std::thread::current().name().map_or_else(|| format!("thread {}", threads.len()), str::to_owned);
        let new = Arc::new(Mutex::new(Thread { name, ..Thread::default() }));
        threads.push(new.clone());
        new
    }
}

/// Who is told of the threads of the pool.
static WATCHING: RwLock<Weak<Recorder>> = RwLock::new(Weak::new());

/// A thread of the pool has done its part of a step. Which one, the finished recording knows by the time.
fn worked(began: Instant) {
    // Held by a writer where somebody else is told from now on, and for ever in a child that was forked then.
    let recorder = WATCHING.try_read().ok().and_then(|watching| watching.upgrade());
    if let Some(recorder) = recorder {
        recorder.ended(&Span::since(began, Activity::Part, ""));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // The lock is held while another recorder is made the listener, and for ever in a child that was forked then. The next
        // recorder turns the reports of the pool on again.
        if let Ok(mut watching) = WATCHING.try_write()
            && std::ptr::eq(watching.as_ptr(), self)
        {
            *watching = Weak::new();
            pool::watch_workers(None);
        }
    }
}

impl Profiler for Recorder {
    fn detail(&self) -> Detail {
        self.detail
    }

    fn ended(&self, span: &Span<'_>) {
        if self.kept.fetch_add(1, Ordering::Relaxed) < self.limit {
            self.with_mine(|thread| thread.keep(span, self.began));
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
