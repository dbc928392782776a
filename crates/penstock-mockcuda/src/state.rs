//! What the emulated driver knows, and when queued work runs.
//!
//! A stream is a queue, and runs only when somebody waits. Which of the streams that could go on does so is drawn
//! from a seed, so that a program that relies on an order it did not ask for fails, the same way each time.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write as _;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUresult;
use libloading::Library;

use crate::dnn::{Object, Shape};
use crate::lt::{Descriptor, Product};
use crate::memory::Arena;
use crate::races::{self, ReadRaces};

/// What a kernel is launched with, as the device header has it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) seed: u32,
    /// The memory of the devices: start and length.
    pub(crate) memory: [u64; 2],
}

/// A kernel of a loaded image.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) sizes: Vec<usize>,
    pub(crate) run: unsafe extern "C" fn(*mut *mut c_void, *const Launch) -> *const c_char,
    /// What looks for races, where the code is watched.
    pub(crate) races: Option<ReadRaces>,
    /// The code, which this keeps loaded.
    pub(crate) library: Arc<Library>,
}

/// Where the bytes of a copy to a device come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// Memory that was read at the call.
    Bytes(Vec<u8>),
    /// Pinned memory, which is read when the copy runs.
    Pinned(u64),
}

/// One piece of queued work.
#[derive(Clone)]
pub(crate) enum Work {
    Kernel {
        function: Arc<Function>,
        args: Vec<Vec<u8>>,
        launch: Launch,
    },
    CopyIn {
        to: u64,
        from: Source,
        len: usize,
    },
    CopyOut {
        to: u64,
        from: u64,
        len: usize,
    },
    Copy {
        to: u64,
        from: u64,
        len: usize,
    },
    Fill {
        to: u64,
        pattern: Vec<u8>,
        count: usize,
    },
    Convolution {
        shape: Box<Shape>,
        at: [u64; 3],
        workspace: (u64, usize),
    },
    Product(Box<Product>),
    Free {
        block: u64,
    },
    Record {
        event: u64,
        generation: u64,
    },
    Wait {
        event: u64,
        generation: u64,
    },
    /// The nodes of a graph, as they were when it was launched.
    Graph {
        nodes: Arc<Graph>,
    },
    /// A conditional node, whose body runs as long as its handle holds another number than 0.
    While {
        handle: u64,
        body: Body,
    },
}

/// The body of a conditional node.
#[derive(Clone)]
pub(crate) enum Body {
    /// By the handle of its graph, which may still grow.
    Open(u64),
    /// As it was when the graph around it was made ready to run.
    Ready(Arc<Graph>),
}

/// What a handle of a conditional node names, as the device header has it.
#[repr(C)]
pub(crate) struct Conditional {
    magic: u64,
    /// Whether a kernel has set the number since the graph was launched.
    set: u32,
    value: u32,
}

impl Conditional {
    const MAGIC: u64 = 0x434f_4e44_4954_494f;

    /// A new one, which is kept for good: code of the device may still name it.
    pub(crate) fn handle(value: u32, set: bool) -> u64 {
        let new = Conditional { magic: Conditional::MAGIC, set: u32::from(set), value };
        std::ptr::from_mut(Box::leak(Box::new(new))) as u64
    }

    /// The number of a handle; `None` where nobody has set it.
    fn value(handle: u64) -> Option<u32> {
        // SAFETY: handles are addresses of such, which are kept for good.
        let of = unsafe { std::ptr::read_volatile(handle as *const Conditional) };
        (of.set != 0).then_some(of.value)
    }

    /// What kernels have set is unknown from now on.
    fn forget(handle: u64) {
        // SAFETY: as above.
        unsafe { (*(handle as *mut Conditional)).set = 0 };
    }
}

/// Captured work by the handles of its nodes, in an order in which it may run.
pub(crate) type Graph = BTreeMap<u64, Work>;

/// The handles of the legacy default stream, which has two, and of the per-thread default stream. All threads share the latter here.
const LEGACY: [u64; 2] = [0, 1];
const PER_THREAD: u64 = 2;

pub(crate) struct Stream {
    pub(crate) device: usize,
    /// Whether it waits for the legacy default stream, and that for it.
    pub(crate) blocking: bool,
    pub(crate) queue: VecDeque<Work>,
    /// What was captured so far, where the stream captures,
    pub(crate) captured: Option<Graph>,
    /// and the graph that it goes to, where that was there before.
    pub(crate) target: Option<u64>,
    /// The node that was captured last, as the driver's callers read it.
    pub(crate) last: u64,
}

impl Stream {
    pub(crate) fn new(device: usize, blocking: bool) -> Stream {
        Stream { device, blocking, queue: VecDeque::new(), captured: None, target: None, last: 0 }
    }
}

#[derive(Default)]
pub(crate) struct Event {
    pub(crate) recorded: u64,
    pub(crate) done: u64,
    /// The number of pieces of work that had run by then, which stands for the time.
    pub(crate) time: u64,
}

/// What tests set.
pub(crate) struct Settings {
    pub(crate) devices: i32,
    /// Bytes of each device.
    pub(crate) memory: usize,
    pub(crate) driver_version: i32,
    /// The code of `cuInit`, where it is to fail.
    pub(crate) init: i32,
    /// Whether work runs at the call that queues it.
    pub(crate) eager: bool,
    /// Whether kernels and graphs are forgotten instead of run: to measure what the host does.
    pub(crate) idle: bool,
    /// Whether kernels that are compiled from now on are watched for races.
    pub(crate) races: bool,
    /// The barrier that the last kernel of a text lacks which is compiled from now on, from 1 on: a planted mistake. 0 for none.
    pub(crate) without_barrier: usize,
}

pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) arena: Arena,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) events: BTreeMap<u64, Event>,
    /// What handles of cuDNN name.
    pub(crate) objects: BTreeMap<u64, Object>,
    /// What handles of cublasLt name.
    pub(crate) descriptors: BTreeMap<u64, Descriptor>,
    pub(crate) modules: BTreeMap<u64, Arc<Library>>,
    pub(crate) functions: BTreeMap<u64, Arc<Function>>,
    /// Graphs, and those that were made ready to run.
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) executables: BTreeMap<u64, Arc<Graph>>,
    /// Pinned memory of the host: start and length.
    pub(crate) pinned: BTreeMap<u64, usize>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// How often each kernel has run.
    pub(crate) launches: BTreeMap<String, u64>,
    /// For a function, the numbers of the calls that fail, and the code.
    pub(crate) failures: BTreeMap<String, (Range<u64>, i32)>,
    pub(crate) findings: Vec<String>,
    /// A failure that does not go away.
    pub(crate) sticky: Option<CUresult>,
    pub(crate) initialised: bool,
    next: u64,
    random: u64,
    time: u64,
}

fn number(variable: &str, default: i64) -> i64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

impl State {
    fn new() -> State {
        let settings = Settings {
            devices: number("PENSTOCK_MOCK_DEVICES", 1) as i32,
            memory: number("PENSTOCK_MOCK_MEMORY", 512 << 20) as usize,
            driver_version: number("PENSTOCK_MOCK_DRIVER", 13_000) as i32,
            init: number("PENSTOCK_MOCK_INIT", 0) as i32,
            eager: number("PENSTOCK_MOCK_EAGER", 0) != 0,
            idle: number("PENSTOCK_MOCK_IDLE", 0) != 0,
            races: number("PENSTOCK_MOCK_RACES", 0) != 0,
            without_barrier: 0,
        };
        State {
            settings,
            arena: Arena::new().expect("address space for the devices' memory"),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            objects: BTreeMap::new(),
            descriptors: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            pinned: BTreeMap::new(),
            counts: BTreeMap::new(),
            launches: BTreeMap::new(),
            failures: BTreeMap::new(),
            findings: Vec::new(),
            sticky: None,
            initialised: false,
            next: 0x1000,
            random: number("PENSTOCK_MOCK_SEED", 1) as u64,
            time: 0,
        }
    }

    /// A handle that nobody had before.
    pub(crate) fn handle(&mut self) -> u64 {
        self.next += 0x10;
        self.next
    }

    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.random = seed;
    }

    fn draw(&mut self) -> u64 {
        // The generator of splitmix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn find(&mut self, text: impl Into<String>) {
        let text = text.into();
        eprintln!("mock CUDA: {text}");
        if let Some(file) = std::env::var_os("PENSTOCK_MOCK_FINDINGS") {
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
            let _ = opened.and_then(|mut file| writeln!(file, "{text}"));
        }
        self.findings.push(text);
    }

    /// Whether `len` bytes from `address` may be read or written by the device; says so where not.
    pub(crate) fn takes(&mut self, what: &str, address: u64, len: usize) -> bool {
        let live = len == 0 || self.arena.is_live(address, len);
        if !live {
            self.find(format!("{what}: {len} bytes at {address:#x} are in no live block"));
        }
        live
    }

    /// The stream that a handle stands for.
    pub(crate) fn stream_of(handle: u64) -> u64 {
        if LEGACY.contains(&handle) { 0 } else { handle }
    }

    /// Queues work on a stream.
    pub(crate) fn queue(&mut self, stream: u64, device: usize, work: Work) -> CUresult {
        if let Some(code) = self.sticky {
            return code;
        }
        let stream = State::stream_of(stream);
        if stream == 0 || stream == PER_THREAD {
            self.streams.entry(stream).or_insert(Stream::new(device, stream != 0));
        }
        let of_device = self.streams.get(&stream).map(|s| s.device);
        if stream != 0 && stream != PER_THREAD && of_device.is_some_and(|of| of != device) {
            self.find("work is queued on a stream of a device that is not the thread's");
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        }
        let node = self.handle();
        let Some(found) = self.streams.get_mut(&stream) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        if let Some(captured) = &mut found.captured {
            let of_the_device = matches!(
                work,
                Work::Kernel { .. }
                    | Work::Copy { .. }
                    | Work::Fill { .. }
                    | Work::Convolution { .. }
                    | Work::Product(_)
            );
            captured.insert(node, work);
            found.last = node;
            if !of_the_device {
                self.find("a stream captures what is no kernel, copy or fill on the device");
                return CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
            }
            return CUresult::CUDA_SUCCESS;
        }
        if self.settings.idle
            && matches!(work, Work::Kernel { .. } | Work::Convolution { .. } | Work::Product(_) | Work::Graph { .. })
        {
            return CUresult::CUDA_SUCCESS;
        }
        // The legacy default stream waits for blocking streams, and they for it.
        if stream == 0 {
            self.run_until(|s| s.streams.values().all(|s| !s.blocking || s.queue.is_empty()));
        } else if found.blocking {
            self.drain_stream(0);
        }
        if let Some(found) = self.streams.get_mut(&stream) {
            found.queue.push_back(work);
        }
        if self.settings.eager {
            self.drain();
        }
        self.sticky.unwrap_or(CUresult::CUDA_SUCCESS)
    }

    /// Runs what is queued until `done`.
    pub(crate) fn run_until(&mut self, done: impl Fn(&State) -> bool) -> CUresult {
        while !done(self) {
            if let Some(code) = self.sticky {
                return code;
            }
            if !self.run_one() {
                self.find("somebody waits for work that was never queued, or that waits for itself");
                self.sticky = Some(CUresult::CUDA_ERROR_UNKNOWN);
                break;
            }
        }
        self.sticky.unwrap_or(CUresult::CUDA_SUCCESS)
    }

    /// Runs one piece of work, of any stream that can go on; `false` where none can.
    pub(crate) fn run_one(&mut self) -> bool {
        let ready: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, s)| match s.queue.front() {
                None => false,
                Some(Work::Wait { event, generation }) => self.events.get(event).is_none_or(|e| e.done >= *generation),
                Some(_) => true,
            })
            .map(|(&id, _)| id)
            .collect();
        if ready.is_empty() {
            return false;
        }
        let chosen = ready[(self.draw() % ready.len() as u64) as usize];
        let work = self.streams.get_mut(&chosen).and_then(|s| s.queue.pop_front());
        let Some(work) = work else { return false };
        self.time += 1;
        let next = match work {
            Work::Graph { nodes } => nodes.values().cloned().collect(),
            Work::While { handle, body } => self.round(handle, body),
            work => {
                self.run(work);
                Vec::new()
            }
        };
        if let Some(stream) = self.streams.get_mut(&chosen) {
            next.into_iter().rev().for_each(|work| stream.queue.push_front(work));
        }
        true
    }

    /// What a conditional node that comes to run does next: nothing, or its body and then itself.
    fn round(&mut self, handle: u64, body: Body) -> Vec<Work> {
        let Body::Ready(nodes) = &body else { return Vec::new() };
        match Conditional::value(handle) {
            Some(0) => Vec::new(),
            Some(_) => nodes.values().cloned().chain([Work::While { handle, body: body.clone() }]).collect(),
            None => {
                self.find("a conditional node runs whose condition no kernel has set");
                Vec::new()
            }
        }
    }

    /// A graph as it is now, with the bodies of its conditional nodes.
    pub(crate) fn ready(&self, graph: u64) -> Option<Graph> {
        let nodes = self.graphs.get(&graph)?.iter();
        let ready = |(&node, work): (&u64, &Work)| {
            let work = match work {
                Work::While { handle, body: Body::Open(body) } => {
                    Work::While { handle: *handle, body: Body::Ready(Arc::new(self.ready(*body)?)) }
                }
                work => work.clone(),
            };
            Some((node, work))
        };
        nodes.map(ready).collect()
    }

    /// A graph is launched: its conditions are unknown.
    pub(crate) fn forget_conditions(nodes: &Graph) {
        for work in nodes.values() {
            if let Work::While { handle, body: Body::Ready(body) } = work {
                Conditional::forget(*handle);
                State::forget_conditions(body);
            }
        }
    }

    /// Removes a graph, with the bodies of its conditional nodes; `false` where there is none.
    pub(crate) fn destroy(&mut self, graph: u64) -> bool {
        let Some(nodes) = self.graphs.remove(&graph) else { return false };
        for work in nodes.into_values() {
            if let Work::While { body: Body::Open(body), .. } = work {
                self.destroy(body);
            }
        }
        true
    }

    /// Runs everything.
    pub(crate) fn drain(&mut self) -> CUresult {
        self.run_until(|s| s.streams.values().all(|s| s.queue.is_empty()))
    }

    /// Runs everything of a stream.
    pub(crate) fn drain_stream(&mut self, stream: u64) -> CUresult {
        let stream = State::stream_of(stream);
        if self.streams.get(&stream).is_some_and(|s| s.captured.is_some()) {
            self.find("somebody waits for a stream that captures");
            return CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        self.run_until(|s| s.streams.get(&stream).is_none_or(|s| s.queue.is_empty()))
    }

    fn run(&mut self, work: Work) {
        match work {
            Work::Kernel { function, args, mut launch } => {
                launch.seed = self.draw() as u32;
                launch.memory = self.arena.range();
                self.kernel(&function, args, &launch);
            }
            Work::CopyIn { to, from, len } => {
                if self.takes("a copy to the device", to, len) {
                    let from = match &from {
                        Source::Bytes(bytes) => bytes.as_ptr(),
                        Source::Pinned(address) => *address as *const u8,
                    };
                    // SAFETY: the target is within a live block, and the source has as many bytes, its own or pinned
                    // ones, which the caller keeps until the stream is through.
                    unsafe { std::ptr::copy_nonoverlapping(from, self.arena.place(to), len) };
                }
            }
            Work::CopyOut { to, from, len } => {
                if self.takes("a copy to the host", from, len) {
                    // SAFETY: the source is within a live block; the caller keeps the target until the stream is through.
                    unsafe { std::ptr::copy_nonoverlapping(self.arena.place(from), to as *mut u8, len) };
                }
            }
            Work::Copy { to, from, len } => {
                if self.takes("a copy on the device", to, len) && self.takes("a copy on the device", from, len) {
                    // SAFETY: both are within live blocks.
                    unsafe { std::ptr::copy(self.arena.place(from), self.arena.place(to), len) };
                }
            }
            Work::Fill { to, pattern, count } => {
                if self.takes("a fill", to, pattern.len() * count) {
                    let to = self.arena.place(to);
                    for i in 0..count {
                        // SAFETY: all repetitions are within a live block.
                        unsafe {
                            std::ptr::copy_nonoverlapping(pattern.as_ptr(), to.add(i * pattern.len()), pattern.len());
                        };
                    }
                }
            }
            Work::Convolution { shape, at, workspace } => shape.run(self, at, workspace),
            Work::Product(product) => product.run(self),
            Work::Free { block } => {
                if let Err(text) = self.arena.free(block) {
                    self.find(text);
                }
            }
            Work::Record { event, generation } => {
                let time = self.time;
                if let Some(event) = self.events.get_mut(&event) {
                    event.done = event.done.max(generation);
                    event.time = time;
                }
            }
            Work::Wait { .. } => {}
            // These are taken apart before.
            Work::Graph { .. } | Work::While { .. } => {}
        }
    }

    fn kernel(&mut self, function: &Function, args: Vec<Vec<u8>>, launch: &Launch) {
        // What the kernel gets: where the bytes are whose addresses are in its arguments.
        let mut given = args.clone();
        for word in given.iter_mut().flat_map(|a| a.as_chunks_mut::<8>().0) {
            let pointer = u64::from_ne_bytes(*word);
            if !self.arena.contains(pointer) {
                continue;
            }
            if !self.arena.is_live(pointer, 1) {
                self.find(format!("kernel {}: its argument {pointer:#x} is in no live block", function.name));
                self.sticky = Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
                return;
            }
            *word = (self.arena.place(pointer) as u64).to_ne_bytes();
        }
        *self.launches.entry(function.name.clone()).or_default() += 1;
        let mut places: Vec<*mut c_void> = given.iter_mut().map(|a| a.as_mut_ptr().cast()).collect();
        // SAFETY: the code was made from the kernel's text, and reads as many arguments of these sizes.
        let found = unsafe { (function.run)(places.as_mut_ptr(), launch) };
        if !found.is_null() {
            // SAFETY: findings are literals of the device header.
            let text = unsafe { CStr::from_ptr(found) }.to_string_lossy().into_owned();
            self.find(format!("kernel {}: {text}", function.name));
        }
        for text in races::found(function, &args, &self.arena) {
            self.find(format!("kernel {}: {text}", function.name));
        }
        if let Err(text) = self.arena.check_all() {
            self.find(format!("kernel {}: {text}", function.name));
        }
    }

    /// Counts a call of the driver; its code where it is to fail.
    pub(crate) fn count(&mut self, name: &'static str) -> CUresult {
        let code = self.count_call(name);
        // SAFETY: the codes are those of the driver, which tests name, and 0 is one.
        unsafe { std::mem::transmute::<c_int, CUresult>(code) }
    }

    /// Counts a call; its code where it is to fail, else 0.
    pub(crate) fn count_call(&mut self, name: &'static str) -> c_int {
        let count = self.counts.entry(name).or_default();
        *count += 1;
        match self.failures.get(name) {
            Some((calls, code)) if calls.contains(count) => *code,
            _ => 0,
        }
    }

    /// The time between two events; `None` where one is not done.
    pub(crate) fn elapsed(&self, start: u64, end: u64) -> Option<f32> {
        let time = |e: u64| self.events.get(&e).filter(|e| e.recorded > 0 && e.done >= e.recorded).map(|e| e.time);
        Some((time(end)?.saturating_sub(time(start)?)) as f32 * 1e-3)
    }
}

/// The one driver of the process.
pub(crate) fn state() -> MutexGuard<'static, State> {
    static STATE: std::sync::OnceLock<Mutex<State>> = std::sync::OnceLock::new();
    STATE.get_or_init(|| Mutex::new(State::new())).lock().unwrap_or_else(PoisonError::into_inner)
}
