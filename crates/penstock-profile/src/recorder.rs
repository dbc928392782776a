//! Recording.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use penstock_data::{Loc, used_bytes};
use penstock_ir::{Activity, Detail, Pace, Profiler, Span, is_quiet};
use penstock_kernels::pool;
use rustc_hash::FxHashMap;

use crate::recording::{Event, Lane, Recording};

/// How many events are kept, unless another limit is given: some 100 MB.
const EVENTS: usize = 1 << 20;

/// Which part of the time of a program recording may take: where it would take more, not all runs of the same are recorded. It is
/// less than what is promised, as runs that are only counted take time too.
const BUDGET: f64 = 0.01;
/// The first runs of a kind are recorded, up to this number. A thread may spend `FIRST_COST + FIRST_SHARE * elapsed` nanoseconds on the
/// first runs of all kinds, where `elapsed` is the time since the recording began. Beyond that only one run of each kind is a first run.
const FIRST: u32 = 16;
const FIRST_COST: f64 = 20_000.0;
const FIRST_SHARE: f64 = 0.005;
/// What recording a span costs where other work comes between, as a multiple of what it costs when nothing does: code and lists are
/// not in the nearest caches.
const COLD: f64 = 1.5;
/// What recording a run costs besides its spans, in spans.
const RUN: f64 = 4.0;
/// The most runs that are only counted between two that are recorded.
const LONGEST_GAP: f64 = 50_000.0;
/// How much the latest run counts for what runs of the same take and cost.
const LATEST: f64 = 0.25;

/// Keeps what it is told, from any number of threads: each writes to a list of its own.
///
/// Unless it is to record all ([`Detail::All`]), it keeps its cost to a small part of the time: of runs that take little time for what
/// recording them costs, and of such iterations of loops, it records some and counts the others. What those took it estimates by the
/// recorded ones.
#[derive(Debug)]
pub struct Recorder {
    /// Its number among the recorders of the process, from 1.
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
    /// Of what there may be runs that are only counted.
    paced: Vec<Paced>,
    /// Their numbers by the address of the pace.
    places: FxHashMap<usize, u32>,
    /// What the first runs of each kind have cost, in nanoseconds.
    first_cost: f64,
    /// The state of a generator of random numbers.
    random: u64,
}

/// What is known of runs of the same, in nanoseconds.
#[derive(Debug)]
struct Paced {
    pace: Arc<Pace>,
    recorded: u32,
    took: f64,
    cost: f64,
}

impl Paced {
    /// How many runs are only counted after one that took `took`, and cost `cost`; `random` is between 0 and 1. First runs may still
    /// cost `spare`, from which this one is taken if it is one.
    fn gap(&mut self, took: f64, cost: f64, random: f64, spare: &mut f64) -> u32 {
        // One that was interrupted says little about the others.
        let took = if self.recorded == 0 { took } else { took.min(4.0 * self.took) };
        let share = if self.recorded == 0 { 1.0 } else { LATEST };
        self.took += share * (took - self.took);
        self.cost += share * (cost - self.cost);
        self.recorded = self.recorded.saturating_add(1);
        let every = self.cost / (BUDGET * self.took.max(1.0));
        if every <= 1.0 {
            return 0;
        }
        // The next one is one of the first ones.
        if self.recorded < FIRST && self.cost <= *spare {
            *spare -= self.cost;
            return 0;
        }
        // Not always the same number: the runs may take turns.
        ((every - 1.0) * (0.5 + random)).min(LONGEST_GAP).round() as u32
    }
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
    /// The number of its pace, from 1; 0 where it has none.
    pace: u32,
    /// How many runs were only counted before it.
    passed: u32,
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

    /// The number of a pace.
    fn place(&mut self, pace: &Arc<Pace>) -> u32 {
        let new = self.paced.len() as u32;
        let place = *self.places.entry(Arc::as_ptr(pace).addr()).or_insert(new);
        if place == new {
            self.paced.push(Paced { pace: pace.clone(), recorded: 0, took: 0.0, cost: 0.0 });
        }
        place
    }

    /// A number from 0 to 1.
    fn draw(&mut self) -> f64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 40) as f64 / (1u64 << 24) as f64
    }

    /// How many of the kept spans began at a moment or later. The span of a run comes behind those within it.
    fn count_since(&self, began: u64) -> usize {
        self.chunks.iter().rev().flat_map(|chunk| chunk.iter().rev()).take_while(|kept| kept.began >= began).count()
    }

    /// Sets how many runs are only counted until the next is told. Gives how many were before this one, and whether all are told.
    fn pace(&mut self, span: &Span<'_>, pace: &Arc<Pace>, recording: u32, start: Instant) -> (u32, u32, bool) {
        let place = self.place(pace);
        let since = |moment: Instant| nanos(moment.saturating_duration_since(start));
        let ended = since(span.began + span.took);
        let within = self.count_since(since(span.began));
        let (a_span, clock) = costs();
        let (cost, random) = ((within as f64 + RUN) * a_span, self.draw());
        // Without what was spent to time it, and to record the spans within it; one that ends with it was recorded behind.
        let last = self.chunks.last().and_then(|chunk| chunk.last());
        let paid = within - usize::from(within > 0 && last.is_some_and(|last| last.began + last.took == ended));
        let took = (nanos(span.took) as f64 - clock - paid as f64 * a_span).max(0.0);
        let allowed = FIRST_COST + FIRST_SHARE * ended as f64;
        let mut spare = allowed - self.first_cost;
        let gap = self.paced[place as usize].gap(took, cost, random, &mut spare);
        self.first_cost = allowed - spare;
        let passed = pace.skip(recording, gap);
        (place + 1, passed, passed == 0 && gap == 0)
    }

    fn keep(&mut self, span: &Span<'_>, start: Instant, pace: u32, passed: u32) {
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
            pace,
            passed,
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

    /// What was kept, which is taken away, and for each pace the runs that were only counted behind the last that was told.
    fn take(&mut self, recording: u32) -> (Lane, Vec<u32>) {
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
            pace: kept.pace,
            passed: kept.passed,
        };
        let events = std::mem::take(&mut self.chunks).into_iter().flatten().map(event).collect();
        let rest = self.paced.iter().map(|paced| paced.pace.skip(recording, 0)).collect();
        (Lane { name: self.name.clone(), events, sampled: None }, rest)
    }
}

/// What it takes to record a span, and of that to read the clock, in nanoseconds: measured once.
fn costs() -> (f64, f64) {
    static COSTS: OnceLock<(f64, f64)> = OnceLock::new();
    const TIMES: u32 = 256;
    fn least(mut work: impl FnMut()) -> f64 {
        let mut batch = || {
            let began = Instant::now();
            (0..TIMES).for_each(|_| work());
            began.elapsed().as_nanos() as f64 / f64::from(TIMES)
        };
        (0..4).map(|_| batch()).fold(f64::INFINITY, f64::min)
    }
    *COSTS.get_or_init(|| {
        let (recorder, mine) = (Recorder::new(Detail::All, usize::MAX), MINE.take());
        let mut before = Instant::now();
        let span = least(|| {
            let now = Instant::now();
            recorder.ended(&Span::between(before, now, Activity::Operator, "calibration"));
            before = now;
        });
        MINE.set(mine);
        (COLD * span, least(|| _ = std::hint::black_box(Instant::now())))
    })
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
        if detail != Detail::All {
            costs();
        }
        Recorder {
            id: RECORDERS.fetch_add(1, Ordering::Relaxed) + 1,
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
        let lanes = threads.iter().map(|thread| lock(thread).take(self.number()));
        Recording::new(self.began_at, took, lanes.collect(), self.dropped.load(Ordering::Relaxed))
    }

    /// The number by which a [`Pace`] knows it; 0 where it is told of all runs.
    pub fn number(&self) -> u32 {
        if self.detail == Detail::All { 0 } else { (self.id % u64::from(u32::MAX)) as u32 + 1 }
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

    fn takes(&self, pace: &Pace) -> bool {
        !is_quiet() && pace.is_due(self.number())
    }

    fn ended(&self, span: &Span<'_>) {
        if is_quiet() && span.activity != Activity::Mark {
            return;
        }
        let pace = span.pace.filter(|_| self.detail != Detail::All);
        if self.kept.fetch_add(1, Ordering::Relaxed) >= self.limit {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.with_mine(|thread| {
            let (pace, passed, all) =
                pace.map_or((0, 0, true), |pace| thread.pace(span, pace, self.number(), self.began));
            // While all iterations are told, the loop alone says as much.
            if span.activity != Activity::Iteration || !all {
                thread.keep(span, self.began, pace, passed);
            }
        });
    }
}
