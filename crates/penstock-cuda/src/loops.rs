//! Loops that the device runs by itself, as graphs with a conditional node, and small ones as one kernel (`rounds.rs`).
//!
//! The variables of a loop have fixed places. What computes the condition, and the body, are noted once: the same commands run in each
//! iteration. Behind the body its results are copied to the places of the variables. A kernel of one thread then tells the graph whether to go
//! on: it reads the condition, the words for the faults of all launches, and a word of the host's that ends the loop.

#![expect(unsafe_code, reason = "driver calls that make graphs, on memory of this device")]

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, DriverError, result, sys};
use cudarc::nvrtc::Ptx;
use penstock_data::{DType, Error, Result, Tensor};
use penstock_exec::{Looper, Round};
use smallvec::SmallVec;

use crate::driver::failure;
use crate::faults::{self, Faults, NONE, Origins};
use crate::kernel::{Arg, BLOCK};
use crate::memory::Memory;
use crate::opened::{Opened, lock};
use crate::queue::{Command, Launch, While, last_node};
use crate::remote::{self, CudaMemory, data};
use crate::rounds;

/// The most launches of an iteration that may meet faults.
const FAULTS: usize = 16;
/// How many variables one kernel copies,
const COPIES: usize = 8;
/// and how many bytes of each at the most. Larger ones are copied one by one.
const SMALL: usize = 1 << 16;
/// Graphs of one loop, which differ in the addresses of what they work on.
const GRAPHS: usize = 4;
/// Runs in a row that could not be noted, after which the loop is the host's for good.
const PATIENCE: u32 = 3;
/// The time between two looks at whether the host wants the loop to end.
const POLL: Duration = Duration::from_millis(1);

/// What loops need of a device, once one was run.
struct Tools {
    test: CudaFunction,
    copy: CudaFunction,
    fill: CudaFunction,
    /// A word of the host's that the device sees: other than 0 where loops are to end.
    stop: Stop,
}

struct Stop {
    host: *mut u32,
    device: u64,
}

// SAFETY: the word is written by whole, and lives as long as the process.
unsafe impl Send for Stop {}
// SAFETY: as above.
unsafe impl Sync for Stop {}

impl Stop {
    fn new() -> Result<Stop, DriverError> {
        let (mut host, mut device) = (ptr::null_mut(), 0);
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the calls write a pointer each; the memory has room for a word, and is kept for good.
        unsafe {
            sys::cuMemHostAlloc(&mut host, size_of::<u32>(), flags).result()?;
            sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0).result()?;
        }
        let stop = Stop { host: host.cast(), device };
        stop.set(0);
        Ok(stop)
    }

    fn set(&self, value: u32) {
        // SAFETY: the word is there for good. The device reads it, as a whole, while it is written.
        unsafe { self.host.write_volatile(value) };
    }
}

impl Tools {
    /// Those of a device; `None` where its driver or the compiler has no conditional nodes.
    fn on(device: &Arc<Opened>) -> Option<&Tools> {
        device.loops.get(|| Tools::load(device).ok()).as_ref()
    }

    fn load(device: &Arc<Opened>) -> Result<Tools> {
        let test = format!("#define FAULTS {FAULTS}\n#define NO_FAULT {NONE}u\n{}", include_str!("loop_test.cuh"));
        let own = format!("#define COPIES {COPIES}\n{}", include_str!("loop_copy.cuh"));
        let compiled = device.compile(&test, "penstock_loop_test");
        // Machine code with a symbol that is the driver's own may not load. The driver's compiler knows it.
        let test = compiled.or_else(|_| {
            let module = device.context.load_module(Ptx::from_src(test_ptx())).map_err(failure)?;
            module.load_function("penstock_loop_test").map_err(failure)
        })?;
        let copy = device.compile(&own, "penstock_loop_copy")?;
        let fill = device.compile(&own, "penstock_loop_fill")?;
        Ok(Tools { test, copy, fill, stop: Stop::new().map_err(failure)? })
    }

    /// What tells a loop's graph whether to go on, but for its last argument, the graph's handle of the condition.
    fn test(&self, looped: &While) -> Launch {
        let mut faults = looped.faults.clone();
        faults.resize(FAULTS, 0);
        let args = [Arg::Pointer(looped.going), Arg::Pointer(self.stop.device), Arg::List64(faults)];
        Launch::new(self.test.cu_function(), 1, &args)
    }

    /// A command as the launch of a kernel.
    fn as_launch(&self, command: &Command) -> Option<Launch> {
        match *command {
            Command::Launch(ref launch) => Some(launch.clone()),
            Command::Copy { to, from, bytes } => Some(self.copy(&[Move { to, from, bytes }])),
            Command::Fill { to, byte, count } => {
                let args = [Arg::Pointer(to), Arg::U32(u32::from(byte)), Arg::U64(count as u64)];
                let blocks = count.div_ceil(BLOCK as usize).clamp(1, BLOCK as usize) as u32;
                Some(Launch::new(self.fill.cu_function(), blocks, &args).moving(count))
            }
            Command::Call(_) | Command::While(_) => None,
        }
    }

    /// A kernel that copies up to [`COPIES`] variables.
    fn copy(&self, copies: &[Move]) -> Launch {
        let list = |of: fn(&Move) -> u64| {
            let mut list: SmallVec<[u64; 8]> = copies.iter().map(of).collect();
            list.resize(COPIES, 0);
            Arg::List64(list)
        };
        let most = copies.iter().map(|m| m.bytes).max().unwrap_or(0);
        let blocks = most.div_ceil(BLOCK as usize * size_of::<u64>()).max(1) as u32;
        let args = [list(|m| m.to), list(|m| m.from), list(|m| m.bytes as u64)];
        let bytes = copies.iter().map(|m| 2 * m.bytes).sum();
        Launch::new(self.copy.cu_function(), blocks, &args).moving(bytes)
    }
}

/// The kernel of `loop_test.cuh`, for the driver's compiler.
fn test_ptx() -> String {
    let words: String = (0..FAULTS)
        .map(|i| {
            format!(
                "ld.param.u64 %rd1, [faults+{}];\nsetp.eq.u64 %p1, %rd1, 0;\n@%p1 bra BEHIND_{i};\nld.u32 %r2, [%rd1];\n\
                 setp.ne.u32 %p1, %r2, {NONE};\n@%p1 mov.u32 %r1, 0;\nBEHIND_{i}:\n",
                i * size_of::<u64>()
            )
        })
        .collect();
    format!(
        ".version 6.4\n.target sm_75\n.address_size 64\n\
         .extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n\
         .visible .entry penstock_loop_test(.param .u64 condition, .param .u64 stop, \
         .param .align 8 .b8 faults[{}], .param .u64 handle)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nor.b32 %r1, %r1, %r2;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n\
         ld.param.u64 %rd1, [condition];\nld.u8 %r2, [%rd1];\nsetp.ne.u32 %p1, %r2, 0;\nselp.u32 %r1, 1, 0, %p1;\n\
         ld.param.u64 %rd1, [stop];\nld.volatile.u32 %r2, [%rd1];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 mov.u32 %r1, 0;\n\
         {words}\
         ld.param.u64 %rd1, [handle];\n{{\n.param .b64 param0;\n.param .b32 param1;\n\
         st.param.b64 [param0], %rd1;\nst.param.b32 [param1], %r1;\n\
         call.uni cudaGraphSetConditional, (param0, param1);\n}}\nDONE:\nret;\n}}\n",
        FAULTS * size_of::<u64>()
    )
}

/// A variable's next value, and its place.
#[derive(Clone, Copy)]
struct Move {
    to: u64,
    from: u64,
    bytes: usize,
}

/// What runs one loop of a plan.
pub(crate) struct CudaLooper {
    device: Arc<Opened>,
    graphs: Mutex<Vec<(While, Graph)>>,
    misses: AtomicU32,
}

/// An iteration that was noted.
struct Noted {
    /// What puts the first values of the variables into their places.
    entry: Vec<Command>,
    looped: While,
    /// The places.
    variables: Vec<Tensor>,
    /// What every iteration reads is there until it was handed over.
    _held: Vec<Memory>,
}

impl CudaLooper {
    pub(crate) fn new(device: Arc<Opened>) -> CudaLooper {
        CudaLooper { device, graphs: Mutex::default(), misses: AtomicU32::new(0) }
    }

    /// Notes an iteration; `None` where it needs the host.
    fn note(&self, tools: &Tools, first: &[Tensor], round: &mut dyn Round) -> Result<Option<Noted>> {
        let device = &self.device;
        let faults = Faults::of_loop();
        let (mut held, mut launches) = (Vec::new(), Origins::new());
        let mut variables = Vec::with_capacity(first.len());
        let mut moves: Vec<Move> = Vec::new();
        for tensor in first {
            let to = device.allocate(tensor.dtype(), tensor.dims())?;
            let (from, origins) = source(device, tensor, &mut held)?;
            let bytes = tensor.byte_len();
            if bytes > 0 {
                moves.push(Move { to: to.address, from, bytes });
            }
            launches = faults::joined([&launches, &origins].into_iter(), None);
            let origins = faults::joined(std::iter::once(&origins), Some(&faults));
            let place = CudaMemory { memory: to, origins };
            variables.push(Tensor::on_device(tensor.dtype(), tensor.dims(), Box::new(place))?);
        }
        self.queue_copies(tools, &moves)?;
        let Some(entry) = device.queue.take_notes() else { return Ok(None) };
        let going = round.condition(&variables)?;
        let Some(condition) = device.queue.take_notes() else { return Ok(None) };
        let Some(going_at) = data(device, &going).filter(|_| going.dtype() == DType::Bool && going.len() == 1) else {
            return Ok(None);
        };
        launches = faults::joined([&launches, &going_at.origins].into_iter(), None);
        let next = round.body()?;
        moves.clear();
        for (place, next) in variables.iter().zip(&next) {
            if next.dtype() != place.dtype() || next.dims() != place.dims() {
                return Ok(None);
            }
            let (from, origins) = source(device, next, &mut held)?;
            launches = faults::joined([&launches, &origins].into_iter(), None);
            let to = address(device, place);
            if from != to && next.byte_len() > 0 {
                moves.push(Move { to, from, bytes: next.byte_len() });
            }
        }
        self.queue_moves(tools, moves, &variables, &mut held)?;
        let Some(body) = device.queue.take_notes() else { return Ok(None) };
        let launches = faults::launches_of(&launches);
        if launches.len() > FAULTS {
            return Ok(None);
        }
        let words = launches.iter().map(|launch| launch.address()).collect();
        faults.settle(launches);
        let looped = While { condition, going: going_at.memory.address, faults: words, body };
        Ok(Some(Noted { entry, looped, variables, _held: held }))
    }

    /// Queues copies of the variables' next values to their places, as if all were made at once.
    fn queue_moves(
        &self,
        tools: &Tools,
        mut moves: Vec<Move>,
        variables: &[Tensor],
        held: &mut Vec<Memory>,
    ) -> Result<()> {
        let device = &self.device;
        let mut aside: Vec<Move> = Vec::new();
        let places: Vec<u64> = variables.iter().map(|place| address(device, place)).collect();
        for one in &mut moves {
            // The value of another variable is put aside before that gets its next one.
            if places.contains(&one.from) {
                let place = device.memory(one.bytes).map_err(failure)?;
                aside.push(Move { to: place.address, ..*one });
                one.from = place.address;
                held.push(place);
            }
        }
        self.queue_copies(tools, &aside)?;
        self.queue_copies(tools, &moves)
    }

    /// Queues copies, none of which reads what another one writes: small ones together.
    fn queue_copies(&self, tools: &Tools, moves: &[Move]) -> Result<()> {
        let push = |command: Command| {
            // SAFETY: each place has as many bytes, on this device.
            unsafe { self.device.queue.push(&self.device, command) }
        };
        let (small, large): (Vec<Move>, Vec<Move>) = moves.iter().partition(|one| one.bytes <= SMALL);
        large.into_iter().try_for_each(|Move { to, from, bytes }| push(Command::Copy { to, from, bytes }))?;
        small.chunks(COPIES).try_for_each(|some| push(Command::Launch(tools.copy(some))))
    }

    /// Hands over an outermost loop.
    fn launch(&self, tools: &Tools, noted: &Noted, stream: sys::CUstream) -> Result<()> {
        let device = &self.device;
        let mut graphs = lock(&self.graphs);
        let known = graphs.iter().position(|(looped, _)| *looped == noted.looped);
        let at = match known {
            Some(at) => at,
            None => {
                // SAFETY: who noted the commands promised that they work on memory of this device.
                let graph = unsafe { Graph::new(device, tools, &noted.looped) }?;
                if graphs.len() == GRAPHS {
                    graphs.remove(0);
                }
                graphs.push((noted.looped.clone(), graph));
                graphs.len() - 1
            }
        };
        // SAFETY: as above.
        noted.entry.iter().try_for_each(|command| unsafe { command.run(device, stream) })?;
        // SAFETY: the graph's commands are those that were noted.
        unsafe { sys::cuGraphLaunch(graphs[at].1.executable, stream) }.result().map_err(failure)
    }

    /// Waits until what was queued is done, and ends loops where `poll` fails.
    fn wait(&self, tools: &Tools, poll: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let device = &self.device;
        let event: CudaEvent = device.queue.behind(device, |_| device.stream.record_event(None))?;
        let began = Instant::now();
        let mut polled = began;
        loop {
            // SAFETY: the event is alive.
            match unsafe { result::event::query(event.cu_event()) } {
                Ok(()) => return Ok(()),
                Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => {}
                Err(e) => return Err(failure(e)),
            }
            if polled.elapsed() >= POLL {
                polled = Instant::now();
                if let Err(error) = poll() {
                    tools.stop.set(1);
                    let ended = event.synchronize();
                    tools.stop.set(0);
                    return Err(ended.map_or_else(failure, |()| error));
                }
            }
            // A short loop is waited for by looking, a long one by sleeping.
            if began.elapsed() < POLL { std::hint::spin_loop() } else { std::thread::sleep(POLL / 20) }
        }
    }
}

impl Looper for CudaLooper {
    fn run(
        &self,
        first: &[Tensor],
        round: &mut dyn Round,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Vec<Tensor>>> {
        let device = &self.device;
        if self.misses.load(Ordering::Relaxed) >= PATIENCE {
            return Ok(None);
        }
        device.ready()?;
        let Some(tools) = Tools::on(device) else { return Ok(None) };
        let Some(inner) = device.queue.begin_notes(device)? else { return Ok(None) };
        // Whatever ends the notes, the host walks the loop, and meets it again where it is an error.
        let noted = self.note(tools, first, round).unwrap_or(None);
        let launch = noted.as_ref().map(|noted| |stream| self.launch(tools, noted, stream));
        let handed_over = device.queue.end_notes(device, launch).unwrap_or(false);
        let Some(noted) = noted.filter(|_| handed_over) else {
            self.misses.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        };
        self.misses.store(0, Ordering::Relaxed);
        if inner {
            let looped = Command::While(Arc::new(noted.looped));
            for command in noted.entry.into_iter().chain([looped]) {
                // SAFETY: who noted the commands promised it.
                unsafe { device.queue.push(device, command) }?;
            }
        } else {
            self.wait(tools, poll)?;
        }
        Ok(Some(noted.variables))
    }
}

/// Where a tensor is, brought to the device where it is elsewhere, and what it comes from.
fn source(device: &Arc<Opened>, tensor: &Tensor, held: &mut Vec<Memory>) -> Result<(u64, Origins)> {
    if let Some(data) = data(device, tensor) {
        return Ok((data.memory.address, data.origins.clone()));
    }
    let (memory, origins) = remote::bring(device, tensor)?;
    let address = memory.address;
    held.push(memory);
    Ok((address, origins.cloned().unwrap_or_default()))
}

fn address(device: &Arc<Opened>, place: &Tensor) -> u64 {
    data(device, place).map_or(0, |data| data.memory.address)
}

/// A graph that runs a loop.
struct Graph {
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

// SAFETY: graphs are used by one thread at a time, under the lock of their looper.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: both were made by `new`, or are null, and are destroyed once. One that runs is freed when it is through.
        unsafe {
            if !self.executable.is_null() {
                let _ = sys::cuGraphExecDestroy(self.executable);
            }
            let _ = sys::cuGraphDestroy(self.graph);
        }
    }
}

type Node = sys::CUgraphNode;

impl Graph {
    /// # Safety
    /// As for [`Command::run`], of all commands of the loop.
    unsafe fn new(device: &Arc<Opened>, tools: &Tools, looped: &While) -> Result<Graph> {
        let mut graph = Graph { graph: ptr::null_mut(), executable: ptr::null_mut() };
        // SAFETY: the calls write a handle each. The caller's promise.
        unsafe {
            sys::cuGraphCreate(&mut graph.graph, 0).result().map_err(failure)?;
            add_loop(device, tools, graph.graph, ptr::null_mut(), looped)?;
            sys::cuGraphInstantiateWithFlags(&mut graph.executable, graph.graph, 0).result().map_err(failure)?;
        }
        Ok(graph)
    }
}

/// Adds a loop to a graph, behind a node, or as the first; gives its node.
///
/// # Safety
/// As for [`Graph::new`].
unsafe fn add_loop(
    device: &Arc<Opened>,
    tools: &Tools,
    graph: sys::CUgraph,
    behind: Node,
    looped: &While,
) -> Result<Node> {
    let small = rounds::one_block(device, looped, &|command| tools.as_launch(command));
    let looped = small.as_ref().unwrap_or(looped);
    let context = CudaContext::cu_ctx(&device.context);
    let mut handle: sys::CUgraphConditionalHandle = 0;
    // SAFETY: the call writes one handle. The test sets the condition in front of the node, so it needs no first value.
    unsafe { sys::cuGraphConditionalHandleCreate(&mut handle, graph, context, 0, 0) }.result().map_err(failure)?;
    let mut test = tools.test(looped);
    test.push(&Arg::U64(handle));
    let test = [Command::Launch(test)];
    // SAFETY: zeros are a value of these parameters. The node gets all that its type has; the driver's array has the body's graph. The caller's
    // promise.
    unsafe {
        let behind = add(device, tools, graph, behind, &looped.condition)?;
        let behind = add(device, tools, graph, behind, &test)?;
        let mut params: sys::CUgraphNodeParams = std::mem::zeroed();
        params.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        params.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            type_: sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
            size: 1,
            phGraph_out: ptr::null_mut(),
            ctx: context,
        };
        let mut node = ptr::null_mut();
        sys::cuGraphAddNode_v2(&mut node, graph, &behind, ptr::null(), 1, &mut params).result().map_err(failure)?;
        let bodies = params.__bindgen_anon_1.conditional.phGraph_out;
        if bodies.is_null() {
            return Err(Error::internal("a conditional node has no body"));
        }
        let body = *bodies;
        let behind = add(device, tools, body, ptr::null_mut(), &looped.body)?;
        let behind = add(device, tools, body, behind, &looped.condition)?;
        add(device, tools, body, behind, &test)?;
        Ok(node)
    }
}

/// Adds commands to a graph, behind a node, or as the first; gives the last one's.
///
/// # Safety
/// As for [`Graph::new`].
unsafe fn add(
    device: &Arc<Opened>,
    tools: &Tools,
    graph: sys::CUgraph,
    mut behind: Node,
    commands: &[Command],
) -> Result<Node> {
    let mut rest = commands;
    while let Some(first) = rest.first() {
        if let Command::While(looped) = first {
            // SAFETY: the caller's promise.
            behind = unsafe { add_loop(device, tools, graph, behind, looped) }?;
            rest = &rest[1..];
            continue;
        }
        let plain = rest.iter().take_while(|command| !matches!(command, Command::While(_))).count();
        // SAFETY: the caller's promise.
        behind = unsafe { capture(device, graph, behind, &rest[..plain]) }?;
        rest = &rest[plain..];
    }
    Ok(behind)
}

/// # Safety
/// As for [`Graph::new`].
unsafe fn capture(device: &Opened, graph: sys::CUgraph, behind: Node, commands: &[Command]) -> Result<Node> {
    use sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE;
    let stream = device.queue.capture().cu_stream();
    let count = usize::from(!behind.is_null());
    // SAFETY: nothing else happens on this stream, whose user holds the lock of the queue; the node is one of the graph.
    unsafe { sys::cuStreamBeginCaptureToGraph(stream, graph, &behind, ptr::null(), count, MODE) }
        .result()
        .map_err(failure)?;
    // SAFETY: the caller's promise.
    let captured = commands.iter().try_for_each(|command| unsafe { command.run(device, stream) });
    // SAFETY: the stream captures.
    let last = captured.and_then(|()| unsafe { last_node(stream) }.map_err(failure));
    let mut ended = ptr::null_mut();
    // SAFETY: the stream captures; the call writes one handle, which is that of the graph.
    let end = unsafe { sys::cuStreamEndCapture(stream, &mut ended) }.result().map_err(failure);
    let last = last?;
    end?;
    if last.is_null() { Err(Error::internal("a graph of a loop has more than one end")) } else { Ok(last) }
}
