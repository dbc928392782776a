//! The queue of a device: commands in the order of the calls, and graphs of those that repeat.
//!
//! A command that is pushed is handed to the stream at once, unless a recording is open that knows what follows. A [`Recording`] divides
//! the commands of a run into segments: from one point of the plan to the next, or to where somebody waits. A segment whose commands come
//! the same way again is held back until its end, and handed over as one graph. The commands themselves are compared, with every argument, so
//! what runs is always what was pushed: a graph is only a cheaper way to say it.

#![expect(unsafe_code, reason = "driver calls on the streams and graphs of this device")]

use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use cudarc::driver::{CudaStream, DriverError, result, sys};
use penstock_data::{Error, Result, settings};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::driver::failure;
use crate::kernel::{Arg, BLOCK};
use crate::opened::{Opened, lock};

/// The environment variable that has each command handed over by itself, where it is 0.
pub const GRAPHS_VARIABLE: &str = "PENSTOCK_CUDA_GRAPHS";

/// The least commands of a segment that is worth a graph.
const LEAST: usize = 4;
/// The most commands of a segment.
const MOST: usize = 4096;
/// The most segments between two points.
const PARTS: u32 = 64;
/// Graphs of one segment, which differ in the addresses of what they work on.
const GRAPHS: usize = 4;
/// Batches of a segment without a graph after which its commands are held back no more.
const PATIENCE: u32 = 8;

/// Work on the stream.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly all are launches, which need no allocation so")]
pub(crate) enum Command {
    Launch(Launch),
    /// A byte, everywhere.
    Fill {
        to: u64,
        byte: u8,
        count: usize,
    },
    /// Bytes of the device to another place there.
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    /// A call of somebody else's library.
    Call(Arc<dyn Call>),
    /// A loop within another one's iteration. It comes in graphs of loops alone.
    While(Arc<While>),
}

/// A loop, as a device runs it: what computes the condition, again and again, and the body as long as it holds and there is no fault.
#[derive(Clone, PartialEq)]
pub(crate) struct While {
    pub(crate) condition: Vec<Command>,
    /// Where the condition is.
    pub(crate) going: u64,
    /// The words for the faults of launches.
    pub(crate) faults: SmallVec<[u64; 8]>,
    pub(crate) body: Vec<Command>,
}

/// A call of a library.
pub(crate) trait Call: Any + Send + Sync {
    /// Hands it to a stream of the device: the one on which everything runs, or the one that captures. It allocates nothing, and waits for
    /// nothing.
    ///
    /// # Errors
    /// Those of the library.
    ///
    /// # Safety
    /// What it works on is memory of this device for all that it reads and writes. Nobody else calls the library for the device meanwhile.
    unsafe fn run(&self, captures: bool) -> Result<()>;

    /// Whether the other call is of the same library, with the same arguments.
    fn is_same(&self, other: &dyn Call) -> bool;
}

impl PartialEq for Command {
    fn eq(&self, other: &Command) -> bool {
        match (self, other) {
            (Command::Launch(a), Command::Launch(b)) => a == b,
            (Command::Fill { to, byte, count }, Command::Fill { to: t, byte: b, count: c }) => {
                (to, byte, count) == (t, b, c)
            }
            (Command::Copy { to, from, bytes }, Command::Copy { to: t, from: f, bytes: b }) => {
                (to, from, bytes) == (t, f, b)
            }
            (Command::Call(a), Command::Call(b)) => a.is_same(&**b),
            (Command::While(a), Command::While(b)) => a == b,
            _ => false,
        }
    }
}

/// A launch of a kernel in blocks of [`BLOCK`] threads.
#[derive(Clone, PartialEq)]
pub(crate) struct Launch {
    /// Kernels are loaded for good.
    function: Function,
    pub(crate) blocks: u32,
    /// The bytes that it reads and writes, where they say how long it takes. An instruction on an element counts as one.
    pub(crate) bytes: Option<usize>,
    /// The arguments, each from a word on, as hosts of CUDA have them: the low bytes first.
    pub(crate) words: SmallVec<[u64; 24]>,
    /// Where each begins.
    pub(crate) starts: SmallVec<[u16; 16]>,
}

#[derive(Clone, Copy, PartialEq)]
struct Function(sys::CUfunction);

// SAFETY: a kernel may be launched, and its handle kept, by any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Launch {
    pub(crate) fn new<'a>(function: sys::CUfunction, blocks: u32, args: impl IntoIterator<Item = &'a Arg>) -> Launch {
        let function = Function(function);
        let mut launch = Launch { function, blocks, bytes: None, words: SmallVec::new(), starts: SmallVec::new() };
        args.into_iter().for_each(|arg| launch.push(arg));
        launch
    }

    /// The launch with the number of bytes that it reads and writes, for one whose time these bytes decide.
    pub(crate) fn moving(self, bytes: usize) -> Launch {
        Launch { bytes: Some(bytes), ..self }
    }

    pub(crate) fn function(&self) -> sys::CUfunction {
        self.function.0
    }

    /// Has the kernel get one argument more.
    pub(crate) fn push(&mut self, arg: &Arg) {
        self.starts.push(self.words.len() as u16);
        match arg {
            Arg::List64(words) => self.words.extend_from_slice(words),
            arg => arg.words(|word| self.words.push(word)),
        }
    }

    /// Where each argument is, as the driver wants it.
    fn pointers(&self) -> SmallVec<[*mut c_void; 16]> {
        self.starts.iter().map(|&at| self.words[usize::from(at)..].as_ptr().cast_mut().cast()).collect()
    }

    /// Whether the other launch differs in nothing but arguments.
    fn is_like(&self, other: &Launch) -> bool {
        self.function == other.function && self.starts == other.starts && self.words.len() == other.words.len()
    }
}

impl Command {
    /// Hands it to a stream of the device: the one on which everything runs, or the one that captures.
    ///
    /// # Safety
    /// What it works on is memory of this device for all that it reads and writes.
    pub(crate) unsafe fn run(&self, device: &Opened, stream: sys::CUstream) -> Result<()> {
        match self {
            Command::Launch(launch) => {
                let mut pointers = launch.pointers();
                let (blocks, threads) = ((launch.blocks, 1, 1), (BLOCK, 1, 1));
                // SAFETY: the caller's promise; the arguments live until the call has copied them.
                unsafe { result::launch_kernel(launch.function.0, blocks, threads, 0, stream, &mut pointers) }
                    .map_err(failure)
            }
            Command::Fill { to, byte, count } => {
                // SAFETY: the caller's promise.
                unsafe { result::memset_d8_async(*to, *byte, *count, stream) }.map_err(failure)
            }
            Command::Copy { to, from, bytes } => {
                // SAFETY: the caller's promise.
                unsafe { result::memcpy_dtod_async(*to, *from, *bytes, stream) }.map_err(failure)
            }
            Command::While(_) => Err(Error::internal("a loop outside of a loop's graph")),
            // SAFETY: the caller's promise; the queue is locked.
            Command::Call(call) => unsafe { call.run(stream == device.queue.capture.cu_stream()) },
        }
    }

    /// How the other command differs.
    fn difference(&self, other: &Command) -> Difference {
        match (self, other) {
            (a, b) if a == b => Difference::None,
            (Command::Launch(a), Command::Launch(b)) if a.is_like(b) => Difference::Arguments,
            // A graph cannot be given their operands anew.
            (Command::Fill { .. }, Command::Fill { .. })
            | (Command::Copy { .. }, Command::Copy { .. })
            | (Command::Call(_), Command::Call(_)) => Difference::Places,
            _ => Difference::Kind,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    None,
    /// Arguments of a launch, which a graph can be given anew.
    Arguments,
    /// The operands of something else, which it cannot.
    Places,
    /// Another work.
    Kind,
}

/// The most that differs between two lists, and the commands that do; `None` where the lists are of different work.
fn differences(a: &[Command], b: &[Command]) -> Option<(Difference, Vec<usize>)> {
    if a.len() != b.len() {
        return None;
    }
    let mut worst = Difference::None;
    let mut which = Vec::new();
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        match a.difference(b) {
            Difference::None => {}
            Difference::Kind => return None,
            difference => {
                worst = worst.max(difference);
                which.push(i);
            }
        }
    }
    Some((worst, which))
}

/// Commands that were captured.
struct Captured {
    commands: Vec<Command>,
    /// The node of each; null for what is more than one.
    nodes: Vec<sys::CUgraphNode>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

// SAFETY: graphs are used by one thread at a time, under the lock of their recording.
unsafe impl Send for Captured {}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: both were made by `capture`, and are destroyed once. One that runs is freed when it is through.
        unsafe {
            let _ = sys::cuGraphExecDestroy(self.executable);
            let _ = sys::cuGraphDestroy(self.graph);
        }
    }
}

/// Captures commands.
///
/// # Safety
/// As for [`Command::run`].
unsafe fn capture(device: &Opened, commands: &[Command]) -> Result<Captured> {
    use sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE;
    let stream = device.queue.capture.cu_stream();
    // SAFETY: nothing else happens on this stream, whose user holds the lock of the queue.
    unsafe { sys::cuStreamBeginCapture_v2(stream, MODE) }.result().map_err(failure)?;
    let mut nodes = Vec::with_capacity(commands.len());
    let captured = commands.iter().try_for_each(|command| {
        // SAFETY: the caller's promise.
        unsafe { command.run(device, stream)? };
        nodes.push(match command {
            // SAFETY: the stream captures.
            Command::Launch(_) => unsafe { last_node(stream) }.map_err(failure)?,
            _ => std::ptr::null_mut(),
        });
        Ok(())
    });
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream captures; the call writes one handle. It ends the capture in any case.
    let ended = unsafe { sys::cuStreamEndCapture(stream, &mut graph) }.result().map_err(failure);
    let mut executable = std::ptr::null_mut();
    let ready = captured.and(ended).and_then(|()| {
        // SAFETY: the graph was captured just now; the call writes one handle.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0) }.result().map_err(failure)
    });
    if let Err(e) = ready {
        if !graph.is_null() {
            // SAFETY: the graph is destroyed once.
            let _ = unsafe { sys::cuGraphDestroy(graph) };
        }
        return Err(e);
    }
    Ok(Captured { commands: commands.to_vec(), nodes, graph, executable })
}

/// The node that a stream captured last.
///
/// # Safety
/// The stream captures.
pub(crate) unsafe fn last_node(stream: sys::CUstream) -> Result<sys::CUgraphNode, DriverError> {
    let mut status = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut id, mut graph, mut nodes, mut count) = (0, std::ptr::null_mut(), std::ptr::null(), 0);
    // SAFETY: each place is of the type that the function writes.
    unsafe { sys::cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count) }
        .result()?;
    // SAFETY: the driver's array has as many nodes.
    Ok(if count == 1 && !nodes.is_null() { unsafe { *nodes } } else { std::ptr::null_mut() })
}

impl Captured {
    /// Gives nodes the arguments of these commands.
    fn set(&mut self, commands: &[Command], which: &[usize]) -> Result<()> {
        for &i in which {
            let (Command::Launch(launch), node) = (&commands[i], self.nodes[i]) else { continue };
            let mut pointers = launch.pointers();
            let params = sys::CUDA_KERNEL_NODE_PARAMS {
                func: launch.function.0,
                gridDimX: launch.blocks,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: BLOCK,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: 0,
                kernelParams: pointers.as_mut_ptr(),
                extra: std::ptr::null_mut(),
                kern: std::ptr::null_mut(),
                ctx: std::ptr::null_mut(),
            };
            // SAFETY: the node is one of this graph, for the same kernel; the call copies the arguments.
            unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.executable, node, &params) }
                .result()
                .map_err(failure)?;
            self.commands[i] = commands[i].clone();
        }
        Ok(())
    }

    /// Whether each of these commands has a node.
    fn has_nodes(&self, which: &[usize]) -> bool {
        which.iter().all(|&i| !self.nodes[i].is_null())
    }
}

/// What is known of a part of a run.
#[derive(Default)]
struct Segment {
    /// The commands of the last time that they were not held back.
    last: Vec<Command>,
    /// Whether they came the same way twice.
    repeats: bool,
    graphs: Vec<Captured>,
    /// Graphs that were made since then,
    made: u32,
    /// and how often one was there already.
    hits: u32,
    /// Batches that no graph took, since the last that one did.
    misses: u32,
}

impl Segment {
    /// Whether its commands are worth holding back.
    fn is_known(&self) -> bool {
        self.repeats && self.misses < PATIENCE
    }

    /// Notes commands that were handed over one by one, and gives others away.
    fn learn(&mut self, commands: &mut Vec<Command>) {
        self.repeats = commands.len() >= LEAST && differences(&self.last, commands).is_some();
        (self.made, self.hits, self.misses) = (0, 0, 0);
        std::mem::swap(&mut self.last, commands);
    }

    /// The graph that differs least from these commands, of those that can be made them, and where it differs.
    fn nearest(&self, commands: &[Command]) -> Option<(usize, Vec<usize>)> {
        let mut nearest: Option<(usize, Vec<usize>)> = None;
        for (i, graph) in self.graphs.iter().enumerate() {
            let Some((worst, which)) = differences(&graph.commands, commands) else { continue };
            if worst > Difference::Arguments || !graph.has_nodes(&which) {
                continue;
            }
            let is_same = which.is_empty();
            if nearest.as_ref().is_none_or(|(_, known)| which.len() < known.len()) {
                nearest = Some((i, which));
            }
            if is_same {
                break;
            }
        }
        nearest
    }

    /// Hands over commands that were held back: as a graph where there is one, or will be.
    ///
    /// # Safety
    /// As for [`Command::run`].
    unsafe fn hand_over(&mut self, device: &Opened, commands: &[Command]) -> Result<()> {
        let stream = device.stream.cu_stream();
        // A few arguments are set in the graph there is. More are other addresses, for which another graph is kept.
        let few = commands.len() / 4;
        let is_full = self.graphs.len() == GRAPHS;
        let chosen = match self.nearest(commands) {
            Some((i, which)) if is_full || which.len() <= few => {
                self.graphs[i].set(commands, &which)?;
                self.hits += 1;
                Some(i)
            }
            // Graphs that are used once are not worth their making.
            _ if self.made < GRAPHS as u32 || self.hits > 2 * self.made => {
                // SAFETY: the caller's promise.
                match unsafe { capture(device, commands) } {
                    Ok(captured) => {
                        if is_full {
                            self.graphs.remove(0);
                        }
                        self.graphs.push(captured);
                        self.made += 1;
                        Some(self.graphs.len() - 1)
                    }
                    // Not every device, and not every library, can do it.
                    Err(_) => None,
                }
            }
            _ => None,
        };
        let Some(graph) = chosen else {
            self.misses += 1;
            // SAFETY: the caller's promise.
            return commands.iter().try_for_each(|command| unsafe { command.run(device, stream) });
        };
        self.misses = 0;
        // SAFETY: the graph's commands are those that were held back; the caller's promise.
        unsafe { sys::cuGraphLaunch(self.graphs[graph].executable, stream) }.result().map_err(failure)
    }
}

type Segments = Mutex<FxHashMap<(u32, u32), Segment>>;

/// What is known of the commands of a plan's runs.
#[derive(Default)]
pub(crate) struct Recording {
    segments: Segments,
    /// Room for the commands of a run.
    room: Mutex<Vec<Command>>,
}

/// A run that is recorded.
struct Open {
    recording: Arc<Recording>,
    thread: ThreadId,
    /// The point of the plan that the run passed last, and the number of the segment since.
    at: (u32, u32),
    commands: Vec<Command>,
    /// Whether they are held back.
    held: bool,
    /// What iterations of loops queue that are noted now, the innermost last.
    notes: Vec<Vec<Command>>,
    /// Whether somebody else's work came between, or too many commands, so that the notes are worth nothing.
    spoilt: bool,
}

/// What an error says that only ends the noting of an iteration.
fn unknown_yet() -> Error {
    Error::precondition("what an iteration of a loop makes cannot be read while it is noted")
}

impl Open {
    fn new(device: &Opened, recording: Arc<Recording>) -> Open {
        let thread = std::thread::current().id();
        let commands = std::mem::take(&mut *lock(&recording.room));
        let (notes, spoilt) = (Vec::new(), false);
        let mut open = Open { recording, thread, at: (0, 0), commands, held: false, notes, spoilt };
        open.decide(device);
        open
    }

    /// Decides whether the commands of the segment that begins are held back.
    fn decide(&mut self, device: &Opened) {
        let is_known = |segments: &FxHashMap<_, Segment>| segments.get(&self.at).is_some_and(Segment::is_known);
        self.held = self.at.1 < PARTS && device.pool.keeps() && is_known(&lock(&self.recording.segments));
        device.queue.holds.store(self.held, Ordering::Release);
    }

    /// Ends the segment; the next is another one in front of the same point.
    fn part(&mut self, device: &Opened) -> Result<()> {
        let next = (self.at.0, self.at.1.saturating_add(u32::from(!self.commands.is_empty())));
        self.end(device, next)
    }

    /// Whether an iteration is noted, of the calling thread. Where another thread comes in between, the notes are spoilt.
    fn notes(&mut self) -> bool {
        let own = self.thread == std::thread::current().id();
        self.spoilt |= !self.notes.is_empty() && !own;
        !self.notes.is_empty() && own
    }

    /// Ends the segment; the next begins at `at`.
    fn end(&mut self, device: &Opened, at: (u32, u32)) -> Result<()> {
        let last = std::mem::replace(&mut self.at, at);
        let mut result = Ok(());
        if !self.commands.is_empty() && last.1 < PARTS {
            let mut segments = lock(&self.recording.segments);
            let segment = segments.entry(last).or_default();
            if self.held {
                // SAFETY: who pushed the commands promised it, and what was freed since is handed out for later ones alone.
                result = unsafe { segment.hand_over(device, &self.commands) };
                device.queue.handed_over.fetch_add(1, Ordering::AcqRel);
            } else {
                segment.learn(&mut self.commands);
            }
        }
        self.commands.clear();
        self.decide(device);
        result
    }
}

/// The queue of a device.
pub(crate) struct Queue {
    /// Where commands are captured: nothing runs there.
    capture: Arc<CudaStream>,
    /// Whether graphs are made.
    graphs: bool,
    open: Mutex<Option<Open>>,
    /// Whether commands may be held back now.
    holds: AtomicBool,
    /// Whether an iteration of a loop is noted now.
    noting: AtomicBool,
    /// The batches of commands that were held back, and then handed over; 1 before the first.
    handed_over: AtomicU64,
}

impl Queue {
    pub(crate) fn new(capture: Arc<CudaStream>) -> Queue {
        let graphs = settings::flag(GRAPHS_VARIABLE, true);
        Queue {
            capture,
            graphs,
            open: Mutex::default(),
            holds: AtomicBool::new(false),
            noting: AtomicBool::new(false),
            handed_over: AtomicU64::new(1),
        }
    }

    /// The stream on which commands are captured.
    pub(crate) fn capture(&self) -> &CudaStream {
        &self.capture
    }

    /// When a block is freed that commands may use which are held back now; 0 where none are.
    pub(crate) fn stamp(&self) -> u64 {
        if self.holds.load(Ordering::Acquire) { self.handed_over.load(Ordering::Acquire) } else { 0 }
    }

    /// Whether all commands were handed over that use a block which was freed at `stamp`.
    pub(crate) fn has_passed(&self, stamp: u64) -> bool {
        stamp < self.handed_over.load(Ordering::Acquire)
    }

    /// Queues a command.
    ///
    /// # Errors
    /// Those of the driver, and of commands that waited.
    ///
    /// # Safety
    /// What it works on is memory of this device for all that it reads and writes; each block is kept until the call returns.
    pub(crate) unsafe fn push(&self, device: &Opened, command: Command) -> Result<()> {
        let mut queue = lock(&self.open);
        let stream = device.stream.cu_stream();
        let Some(open) = &mut *queue else {
            // SAFETY: the caller's promise.
            return unsafe { command.run(device, stream) };
        };
        if open.notes() {
            open.spoilt |= open.notes.iter().map(Vec::len).sum::<usize>() >= MOST;
            if open.spoilt {
                return Err(unknown_yet());
            }
            open.notes.last_mut().into_iter().for_each(|commands| commands.push(command.clone()));
            return Ok(());
        }
        if open.thread != std::thread::current().id() || open.commands.len() >= MOST {
            // Somebody else's work would come between, each time at another place.
            let next = (open.at.0, if open.commands.len() >= MOST { open.at.1 + 1 } else { PARTS });
            open.end(device, next)?;
        }
        if open.held {
            open.commands.push(command);
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { command.run(device, stream) }?;
        if open.at.1 < PARTS {
            open.commands.push(command);
        }
        Ok(())
    }

    /// Calls the driver with the stream, behind all commands.
    ///
    /// # Errors
    /// Those of the call, and of commands that waited.
    pub(crate) fn behind<R>(
        &self,
        device: &Opened,
        call: impl FnOnce(sys::CUstream) -> Result<R, DriverError>,
    ) -> Result<R> {
        let mut queue = lock(&self.open);
        if let Some(open) = &mut *queue {
            if open.notes() {
                return Err(unknown_yet());
            }
            open.part(device)?;
        }
        call(device.stream.cu_stream()).map_err(failure)
    }

    /// Calls the driver with the stream, ahead of commands that are held back: for copies to blocks that none of them uses.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) fn ahead<R>(
        &self,
        device: &Opened,
        call: impl FnOnce(sys::CUstream) -> Result<R, DriverError>,
    ) -> Result<R> {
        let _queue = lock(&self.open);
        call(device.stream.cu_stream()).map_err(failure)
    }

    /// Hands over what is held back.
    pub(crate) fn flush(&self, device: &Opened) -> Result<(), DriverError> {
        self.behind(device, |_| Ok(())).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_LAUNCH_FAILED))
    }

    /// Waits until everything that was queued is done.
    ///
    /// # Errors
    /// Those of the driver, and of commands that waited.
    pub(crate) fn wait(&self, device: &Opened) -> Result<()> {
        self.behind(device, |_| Ok(()))?;
        device.stream.synchronize().map_err(failure)
    }

    /// Begins to note what an iteration of a loop queues, on the calling thread, instead of queueing it. Gives whether it is within an
    /// iteration of another loop; `None` where the thread's run is not recorded, or memory is not kept.
    ///
    /// # Errors
    /// Those of commands that waited.
    pub(crate) fn begin_notes(&self, device: &Opened) -> Result<Option<bool>> {
        let mut queue = lock(&self.open);
        let Some(open) = queue.as_mut().filter(|open| open.thread == std::thread::current().id()) else {
            return Ok(None);
        };
        if !device.pool.keeps() || open.spoilt {
            return Ok(None);
        }
        let inner = !open.notes.is_empty();
        if !inner {
            open.part(device)?;
            // What is freed from now on may be used by what is noted.
            self.holds.store(true, Ordering::Release);
            self.noting.store(true, Ordering::Release);
        }
        open.notes.push(Vec::new());
        Ok(Some(inner))
    }

    /// Takes what was noted since the last time, of the innermost loop; `None` where that is worth nothing.
    pub(crate) fn take_notes(&self) -> Option<Vec<Command>> {
        let mut queue = lock(&self.open);
        let open = queue.as_mut().filter(|open| !open.spoilt)?;
        open.notes.last_mut().map(std::mem::take)
    }

    /// Ends the notes of the innermost loop. Those of an outermost one that are of use are handed to `launch`, with the stream.
    ///
    /// # Errors
    /// Those of `launch`.
    pub(crate) fn end_notes(
        &self,
        device: &Opened,
        launch: Option<impl FnOnce(sys::CUstream) -> Result<()>>,
    ) -> Result<bool> {
        let mut queue = lock(&self.open);
        let Some(open) = &mut *queue else { return Ok(false) };
        open.notes.pop();
        let of_use = !open.spoilt && launch.is_some();
        if !open.notes.is_empty() {
            return Ok(of_use);
        }
        open.spoilt = false;
        let result = match launch {
            Some(launch) if of_use => launch(device.stream.cu_stream()),
            _ => Ok(()),
        };
        self.noting.store(false, Ordering::Release);
        self.handed_over.fetch_add(1, Ordering::AcqRel);
        open.decide(device);
        drop(queue);
        device.pool.let_go(device);
        result.map(|()| of_use)
    }

    /// Whether an iteration of a loop is noted now.
    pub(crate) fn is_noting(&self) -> bool {
        self.noting.load(Ordering::Acquire)
    }

    /// Opens a recording for the calling thread's commands; `false` where another is open.
    pub(crate) fn open(&self, device: &Opened, recording: &Arc<Recording>) -> bool {
        let mut queue = lock(&self.open);
        if queue.is_some() || !self.graphs {
            return false;
        }
        *queue = Some(Open::new(device, recording.clone()));
        true
    }

    /// Notes that the run has come to a point of the plan.
    ///
    /// # Errors
    /// Those of commands that waited.
    pub(crate) fn point(&self, device: &Opened, point: u32) -> Result<()> {
        let mut queue = lock(&self.open);
        match &mut *queue {
            Some(open) if open.notes.is_empty() && open.thread == std::thread::current().id() => {
                open.end(device, (point, 0))
            }
            _ => Ok(()),
        }
    }

    /// Closes the recording.
    ///
    /// # Errors
    /// Those of commands that waited.
    pub(crate) fn close(&self, device: &Opened) -> Result<()> {
        let mut queue = lock(&self.open);
        let Some(mut open) = queue.take() else { return Ok(()) };
        let result = open.end(device, (0, PARTS));
        debug_assert!(!open.held, "nothing is held back behind the end");
        *lock(&open.recording.room) = open.commands;
        result
    }
}
