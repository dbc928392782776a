//! The driver's functions.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphEdgeData, CUgraphExec,
    CUgraphNode, CUgraphNodeParams, CUgraphNodeType, CUmemPool_attribute, CUmemoryPool, CUmemorytype, CUmodule,
    CUpointer_attribute, CUresult, CUstream, CUstream_flags, CUstreamCaptureMode, CUstreamCaptureStatus, CUuuid,
};
use libloading::Library;

use crate::compiler::MAGIC;
use crate::races;
use crate::state::{Body, Conditional, Event, Function, Graph, Launch, Source, State, Stream, Work, state};

const OK: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

thread_local! {
    /// The context of the thread: the number of its device, and one.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The device of the thread's context.
fn device() -> Option<usize> {
    CURRENT.get().checked_sub(1)
}

/// The memory that a pointer to a result names.
unsafe fn put<T>(at: *mut T, value: T) -> CUresult {
    if at.is_null() {
        return INVALID;
    }
    // SAFETY: it is not null, so the caller of the C function gave a place for it.
    unsafe { *at = value };
    OK
}

/// Defines functions of the driver. Each call is counted, and fails where a test asks for it.
macro_rules! driver {
    ($(fn $name:ident($state:ident $(, $arg:ident: $ty:ty)* $(,)?) $body:block)*) => {$(
        /// As the driver's function of this name.
        ///
        /// # Safety
        /// As the driver's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
            #[allow(unused_mut, reason = "some functions only read")]
            let mut $state = state();
            let injected = $state.count(stringify!($name));
            if injected != OK {
                return injected;
            }
            $body
        }
    )*};
}

/// Where there is a context and the driver was initialised by this process.
macro_rules! in_context {
    ($state:ident) => {{
        if !$state.initialised {
            return CUresult::CUDA_ERROR_NOT_INITIALIZED;
        }
        match device() {
            Some(device) => device,
            None => return CUresult::CUDA_ERROR_INVALID_CONTEXT,
        }
    }};
}

fn attribute(which: CUdevice_attribute) -> c_int {
    use CUdevice_attribute as A;
    match which {
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
        A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 2,
        A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
        A::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        _ => 0,
    }
}

fn event_of(state: &State, event: CUevent) -> Option<(u64, u64)> {
    state.events.get(&(event as u64)).map(|e| (event as u64, e.recorded))
}

driver! {
    fn cuInit(state, _flags: c_uint) {
        if state.settings.init != 0 {
            // SAFETY: the code is one of the driver's, which the test names.
            return unsafe { std::mem::transmute::<c_int, CUresult>(state.settings.init) };
        }
        state.initialised = true;
        OK
    }
    fn cuDriverGetVersion(state, version: *mut c_int) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(version, state.settings.driver_version) }
    }
    fn cuDeviceGetCount(state, count: *mut c_int) {
        if !state.initialised {
            return CUresult::CUDA_ERROR_NOT_INITIALIZED;
        }
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(count, state.settings.devices) }
    }
    fn cuDeviceGet(state, out: *mut CUdevice, ordinal: c_int) {
        if !(0..state.settings.devices).contains(&ordinal) {
            return CUresult::CUDA_ERROR_INVALID_DEVICE;
        }
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, ordinal) }
    }
    fn cuDeviceGetName(_state, name: *mut c_char, len: c_int, _device: CUdevice) {
        let text = b"Penstock Mock GPU\0";
        if (len as usize) < text.len() {
            return INVALID;
        }
        // SAFETY: the caller gives `len` bytes.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), text.len()) };
        OK
    }
    fn cuDeviceGetUuid_v2(_state, out: *mut CUuuid, device: CUdevice) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, CUuuid { bytes: [device as c_char; 16] }) }
    }
    fn cuDeviceTotalMem_v2(state, bytes: *mut usize, _device: CUdevice) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(bytes, state.settings.memory) }
    }
    fn cuDeviceGetAttribute(_state, out: *mut c_int, which: CUdevice_attribute, _device: CUdevice) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, attribute(which)) }
    }
    fn cuDevicePrimaryCtxRetain(state, out: *mut CUcontext, device: CUdevice) {
        if !state.initialised {
            return CUresult::CUDA_ERROR_NOT_INITIALIZED;
        }
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, (device as usize + 1) as CUcontext) }
    }
    fn cuDevicePrimaryCtxRelease_v2(_state, _device: CUdevice) { OK }
    fn cuCtxSetCurrent(_state, context: CUcontext) {
        CURRENT.set(context as usize);
        OK
    }
    fn cuCtxGetCurrent(_state, out: *mut CUcontext) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, CURRENT.get() as CUcontext) }
    }
    fn cuCtxSynchronize(state) {
        in_context!(state);
        state.drain()
    }
    fn cuMemGetInfo_v2(state, free: *mut usize, total: *mut usize) {
        let device = in_context!(state);
        let (all, limit) = (state.settings.memory, limit(&state));
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe {
            put(free, limit.saturating_sub(state.arena.held(device)));
            put(total, all)
        }
    }
    fn cuMemAllocAsync(state, out: *mut CUdeviceptr, len: usize, stream: CUstream) {
        in_context!(state);
        let device = state.streams.get(&(stream as u64)).map_or(0, |s| s.device);
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { allocate(&mut state, device, out, len) }
    }
    fn cuMemAlloc_v2(state, out: *mut CUdeviceptr, len: usize) {
        let device = in_context!(state);
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { allocate(&mut state, device, out, len) }
    }
    fn cuMemFreeAsync(state, block: CUdeviceptr, stream: CUstream) {
        let device = in_context!(state);
        state.queue(stream as u64, device, Work::Free { block })
    }
    fn cuMemFree_v2(state, block: CUdeviceptr) {
        in_context!(state);
        let code = state.drain();
        let freed = state.arena.free(block);
        if let Err(text) = freed {
            state.find(text);
            return INVALID;
        }
        code
    }
    fn cuMemHostAlloc(state, out: *mut *mut c_void, len: usize, _flags: c_uint) {
        // SAFETY: plain memory of the host.
        let memory = unsafe { libc::calloc(len.max(1), 1) };
        if memory.is_null() {
            return CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        }
        state.pinned.insert(memory as u64, len);
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, memory) }
    }
    fn cuMemHostGetDevicePointer_v2(state, out: *mut CUdeviceptr, memory: *mut c_void, _flags: c_uint) {
        in_context!(state);
        if !state.pinned.contains_key(&(memory as u64)) {
            return INVALID;
        }
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, memory as CUdeviceptr) }
    }
    fn cuPointerGetAttribute(state, out: *mut c_void, attribute: CUpointer_attribute, pointer: CUdeviceptr) {
        in_context!(state);
        let Some(device) = state.arena.device_of(pointer) else { return INVALID };
        let value = match attribute {
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => CUmemorytype::CU_MEMORYTYPE_DEVICE as c_int,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => device as c_int,
            _ => return INVALID,
        };
        // SAFETY: the caller of the C function gave a place for a number of 32 bits, or null.
        unsafe { put(out.cast::<c_int>(), value) }
    }
    fn cuMemFreeHost(state, memory: *mut c_void) {
        if state.pinned.remove(&(memory as u64)).is_none() {
            state.find("memory of the host was freed that is not pinned");
            return INVALID;
        }
        state.drain();
        // SAFETY: the memory is one of `cuMemHostAlloc`, freed once.
        unsafe { libc::free(memory) };
        OK
    }
    fn cuMemcpyHtoDAsync_v2(state, to: CUdeviceptr, from: *const c_void, len: usize, stream: CUstream) {
        let device = in_context!(state);
        let address = from as u64;
        let pinned = state.pinned.range(..=address).next_back().is_some_and(|(s, n)| address - s + len as u64 <= *n as u64);
        let from = if pinned {
            Source::Pinned(address)
        } else {
            // SAFETY: the caller gives `len` bytes, which are read now where they are not pinned.
            Source::Bytes(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), len) }.to_vec())
        };
        state.queue(stream as u64, device, Work::CopyIn { to, from, len })
    }
    fn cuMemcpyDtoHAsync_v2(state, to: *mut c_void, from: CUdeviceptr, len: usize, stream: CUstream) {
        let device = in_context!(state);
        // SAFETY: the caller gives `len` bytes, which nobody reads until the stream is through.
        unsafe { std::ptr::write_bytes(to.cast::<u8>(), 0xDD, len) };
        state.queue(stream as u64, device, Work::CopyOut { to: to as u64, from, len })
    }
    fn cuMemcpyDtoDAsync_v2(state, to: CUdeviceptr, from: CUdeviceptr, len: usize, stream: CUstream) {
        let device = in_context!(state);
        state.queue(stream as u64, device, Work::Copy { to, from, len })
    }
    fn cuMemcpyPeerAsync(
        state,
        to: CUdeviceptr,
        _to_context: CUcontext,
        from: CUdeviceptr,
        _from_context: CUcontext,
        len: usize,
        stream: CUstream,
    ) {
        let device = in_context!(state);
        state.queue(stream as u64, device, Work::Copy { to, from, len })
    }
    fn cuMemsetD8Async(state, to: CUdeviceptr, value: u8, count: usize, stream: CUstream) {
        let device = in_context!(state);
        state.queue(stream as u64, device, Work::Fill { to, pattern: vec![value], count })
    }
    fn cuMemsetD32Async(state, to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) {
        let device = in_context!(state);
        state.queue(stream as u64, device, Work::Fill { to, pattern: value.to_ne_bytes().to_vec(), count })
    }
    fn cuDeviceGetDefaultMemPool(_state, out: *mut CUmemoryPool, device: CUdevice) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, (device as usize + 1) as CUmemoryPool) }
    }
    fn cuMemPoolSetAttribute(_state, _pool: CUmemoryPool, _attribute: CUmemPool_attribute, _value: *mut c_void) { OK }
    fn cuMemPoolTrimTo(state, _pool: CUmemoryPool, _keep: usize) {
        in_context!(state);
        OK
    }
    fn cuStreamCreate(state, out: *mut CUstream, flags: c_uint) {
        let device = in_context!(state);
        let handle = state.handle();
        let blocking = flags & CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint == 0;
        state.streams.insert(handle, Stream::new(device, blocking));
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUstream) }
    }
    fn cuStreamDestroy_v2(state, stream: CUstream) {
        let code = state.drain_stream(stream as u64);
        state.streams.remove(&(stream as u64));
        code
    }
    fn cuStreamSynchronize(state, stream: CUstream) {
        in_context!(state);
        state.drain_stream(stream as u64)
    }
    fn cuStreamQuery(state, stream: CUstream) {
        in_context!(state);
        let idle = state.streams.get(&State::stream_of(stream as u64)).is_none_or(|s| s.queue.is_empty());
        if idle { OK } else { CUresult::CUDA_ERROR_NOT_READY }
    }
    fn cuStreamWaitEvent(state, stream: CUstream, event: CUevent, _flags: c_uint) {
        let device = in_context!(state);
        let Some((event, generation)) = event_of(&state, event) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        state.queue(stream as u64, device, Work::Wait { event, generation })
    }
    fn cuEventCreate(state, out: *mut CUevent, _flags: c_uint) {
        in_context!(state);
        let handle = state.handle();
        state.events.insert(handle, Event::default());
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUevent) }
    }
    fn cuEventDestroy_v2(state, event: CUevent) {
        // What waits for it goes on when what was recorded is through; without it, at once, so that has to run first.
        let Some((event, generation)) = event_of(&state, event) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        let code = state.run_until(|s| s.events.get(&event).is_none_or(|e| e.done >= generation));
        state.events.remove(&event);
        code
    }
    fn cuEventRecord(state, event: CUevent, stream: CUstream) {
        let device = in_context!(state);
        let event = event as u64;
        let Some(found) = state.events.get_mut(&event) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        found.recorded += 1;
        let generation = found.recorded;
        state.queue(stream as u64, device, Work::Record { event, generation })
    }
    fn cuEventSynchronize(state, event: CUevent) {
        in_context!(state);
        let Some((event, generation)) = event_of(&state, event) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        state.run_until(|s| s.events.get(&event).is_none_or(|e| e.done >= generation))
    }
    fn cuEventQuery(state, event: CUevent) {
        let Some((event, generation)) = event_of(&state, event) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        let done = |state: &State| state.events.get(&event).is_some_and(|e| e.done >= generation);
        if done(&state) {
            return OK;
        }
        // Who looks again and again sees time pass.
        state.run_one();
        CUresult::CUDA_ERROR_NOT_READY
    }
    fn cuEventElapsedTime(state, out: *mut f32, start: CUevent, end: CUevent) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        state.elapsed(start as u64, end as u64).map_or(CUresult::CUDA_ERROR_NOT_READY, |ms| unsafe { put(out, ms) })
    }
    fn cuEventElapsedTime_v2(state, out: *mut f32, start: CUevent, end: CUevent) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        state.elapsed(start as u64, end as u64).map_or(CUresult::CUDA_ERROR_NOT_READY, |ms| unsafe { put(out, ms) })
    }
    fn cuModuleLoadData(state, out: *mut CUmodule, image: *const c_void) {
        in_context!(state);
        // SAFETY: images are those of this compiler, which begin with their length.
        let path = unsafe {
            let start = image.cast::<u8>();
            if std::slice::from_raw_parts(start, MAGIC.len()) != MAGIC {
                return CUresult::CUDA_ERROR_INVALID_IMAGE;
            }
            let len = u64::from_le_bytes(std::ptr::read_unaligned(start.add(8).cast::<[u8; 8]>()));
            String::from_utf8_lossy(std::slice::from_raw_parts(start.add(16), len as usize)).into_owned()
        };
        // SAFETY: a library that was made from a kernel's text, and has no initialisers.
        let Ok(library) = (unsafe { Library::new(&path) }) else { return CUresult::CUDA_ERROR_INVALID_IMAGE };
        let handle = state.handle();
        state.modules.insert(handle, Arc::new(library));
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUmodule) }
    }
    fn cuModuleUnload(state, module: CUmodule) {
        state.drain();
        state.modules.remove(&(module as u64)).map_or(CUresult::CUDA_ERROR_INVALID_HANDLE, |_| OK)
    }
    fn cuModuleGetFunction(state, out: *mut CUfunction, module: CUmodule, name: *const c_char) {
        in_context!(state);
        let Some(library) = state.modules.get(&(module as u64)).cloned() else {
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        };
        // SAFETY: the caller gives a text that ends.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let symbol = |prefix: &str| CString::new(format!("{prefix}{name}")).unwrap_or_default();
        // SAFETY: the symbols are those that the compiler adds to each kernel, of these types.
        let function = unsafe {
            let (Ok(run), Ok(sizes)) = (
                library.get::<unsafe extern "C" fn(*mut *mut c_void, *const Launch) -> *const c_char>(
                    symbol("mock_run_").as_bytes_with_nul(),
                ),
                library.get::<unsafe extern "C" fn(*mut usize) -> c_int>(symbol("mock_sizes_").as_bytes_with_nul()),
            ) else {
                return CUresult::CUDA_ERROR_NOT_FOUND;
            };
            let mut all = [0usize; 1024];
            let count = sizes(all.as_mut_ptr()) as usize;
            let races = races::reader(&library);
            Function { name, sizes: all[..count].to_vec(), run: *run, races, library: library.clone() }
        };
        let handle = state.handle();
        state.functions.insert(handle, Arc::new(function));
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUfunction) }
    }
    fn cuFuncSetAttribute(_state, _function: CUfunction, _attribute: CUfunction_attribute, _value: c_int) { OK }
    fn cuLaunchKernel(
        state,
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        _extra: *mut *mut c_void,
    ) {
        let device = in_context!(state);
        let Some(function) = state.functions.get(&(function as u64)).cloned() else {
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        };
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
        if grid.contains(&0) || threads == 0 || threads > 1024 || grid_y > 65535 || grid_z > 65535 {
            state.find(format!("kernel {}: a launch of {grid:?} blocks of {block:?} threads", function.name));
            return INVALID;
        }
        // SAFETY: the caller gives the address of each argument, of the size that the kernel has it.
        let args = unsafe { arguments(&function, params) };
        state.queue(stream as u64, device, Work::Kernel { function, args, launch: Launch { grid, block, shared, seed: 0, memory: [0, 0] } })
    }
    fn cuStreamBeginCapture_v2(state, stream: CUstream, _mode: CUstreamCaptureMode) {
        in_context!(state);
        match state.streams.get_mut(&(stream as u64)) {
            Some(stream) if stream.captured.is_none() => {
                (stream.captured, stream.target) = (Some(Graph::new()), None);
                stream.last = 0;
                OK
            }
            _ => CUresult::CUDA_ERROR_ILLEGAL_STATE,
        }
    }
    fn cuStreamBeginCaptureToGraph(
        state,
        stream: CUstream,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        _edges: *const CUgraphEdgeData,
        count: usize,
        _mode: CUstreamCaptureMode,
    ) {
        in_context!(state);
        // SAFETY: the caller gives as many nodes.
        let behind = unsafe { last_of(&mut state, graph, dependencies, count) };
        let Some(behind) = behind else { return INVALID };
        match state.streams.get_mut(&(stream as u64)) {
            Some(stream) if stream.captured.is_none() => {
                (stream.captured, stream.target) = (Some(Graph::new()), Some(graph as u64));
                stream.last = behind;
                OK
            }
            _ => CUresult::CUDA_ERROR_ILLEGAL_STATE,
        }
    }
    fn cuStreamGetCaptureInfo_v2(
        state,
        stream: CUstream,
        status: *mut CUstreamCaptureStatus,
        _id: *mut u64,
        _graph: *mut CUgraph,
        last: *mut *const CUgraphNode,
        count: *mut usize,
    ) {
        in_context!(state);
        let Some(stream) = state.streams.get(&(stream as u64)) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        let captures = stream.captured.is_some();
        use CUstreamCaptureStatus as Status;
        let found =
            if captures { Status::CU_STREAM_CAPTURE_STATUS_ACTIVE } else { Status::CU_STREAM_CAPTURE_STATUS_NONE };
        // SAFETY: the caller of the C function gave places for them, or null. A handle has the size of its number, which stays
        // where it is until the stream is destroyed or something else is captured.
        unsafe {
            put(status, found);
            put(last, std::ptr::from_ref(&stream.last).cast());
            put(count, usize::from(captures && stream.last != 0))
        }
    }
    fn cuStreamEndCapture(state, stream: CUstream, out: *mut CUgraph) {
        in_context!(state);
        let found = state.streams.get_mut(&(stream as u64)).and_then(|s| Some((s.captured.take()?, s.target.take())));
        let Some((captured, target)) = found else { return CUresult::CUDA_ERROR_ILLEGAL_STATE };
        let handle = target.unwrap_or_else(|| state.handle());
        state.graphs.entry(handle).or_default().extend(captured);
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUgraph) }
    }
    fn cuGraphCreate(state, out: *mut CUgraph, _flags: c_uint) {
        in_context!(state);
        let handle = state.handle();
        state.graphs.insert(handle, Graph::new());
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUgraph) }
    }
    fn cuGraphConditionalHandleCreate(
        state,
        out: *mut CUgraphConditionalHandle,
        graph: CUgraph,
        _context: CUcontext,
        value: c_uint,
        flags: c_uint,
    ) {
        in_context!(state);
        if !state.graphs.contains_key(&(graph as u64)) {
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        }
        // With a flag, each launch would set the condition to its first value.
        if flags != 0 {
            return CUresult::CUDA_ERROR_NOT_SUPPORTED;
        }
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, Conditional::handle(value, false)) }
    }
    fn cuGraphAddNode_v2(
        state,
        out: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        _edges: *const CUgraphEdgeData,
        count: usize,
        params: *mut CUgraphNodeParams,
    ) {
        in_context!(state);
        // SAFETY: the caller gives parameters, or null, and as many nodes.
        let (params, behind) = unsafe { (params.as_mut(), last_of(&mut state, graph, dependencies, count)) };
        let (Some(params), Some(_)) = (params, behind) else { return INVALID };
        if params.type_ != CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL {
            return CUresult::CUDA_ERROR_NOT_SUPPORTED;
        }
        // SAFETY: the type says which parameters these are.
        let conditional = unsafe { &mut params.__bindgen_anon_1.conditional };
        if conditional.type_ != CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE || conditional.size != 1 {
            return INVALID;
        }
        let (node, body) = (state.handle(), state.handle());
        state.graphs.insert(body, Graph::new());
        // The driver's own array, which callers read.
        conditional.phGraph_out = Box::leak(Box::new(body as CUgraph));
        let work = Work::While { handle: conditional.handle, body: Body::Open(body) };
        state.graphs.entry(graph as u64).or_default().insert(node, work);
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, node as CUgraphNode) }
    }
    fn cuGraphInstantiateWithFlags(state, out: *mut CUgraphExec, graph: CUgraph, _flags: u64) {
        let Some(graph) = state.ready(graph as u64) else { return CUresult::CUDA_ERROR_INVALID_HANDLE };
        let handle = state.handle();
        state.executables.insert(handle, Arc::new(graph));
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, handle as CUgraphExec) }
    }
    fn cuGraphExecKernelNodeSetParams_v2(
        state,
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        // SAFETY: the caller gives parameters, or null.
        let Some(params) = (unsafe { params.as_ref() }) else { return INVALID };
        let Some(function) = state.functions.get(&(params.func as u64)).cloned() else {
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        };
        let found = state.executables.get_mut(&(executable as u64)).and_then(|graph| Arc::make_mut(graph).get_mut(&(node as u64)));
        let Some(Work::Kernel { function: old, args, launch }) = found else {
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        };
        if !Arc::ptr_eq(old, &function) {
            return INVALID;
        }
        // SAFETY: the caller gives the address of each argument, of the size that the kernel has it.
        *args = unsafe { arguments(&function, params.kernelParams) };
        launch.grid = [params.gridDimX, params.gridDimY, params.gridDimZ];
        OK
    }
    fn cuGraphLaunch(state, executable: CUgraphExec, stream: CUstream) {
        let device = in_context!(state);
        let Some(nodes) = state.executables.get(&(executable as u64)).cloned() else {
            return CUresult::CUDA_ERROR_INVALID_HANDLE;
        };
        State::forget_conditions(&nodes);
        state.queue(stream as u64, device, Work::Graph { nodes })
    }
    fn cuGraphDestroy(state, graph: CUgraph) {
        if state.destroy(graph as u64) { OK } else { CUresult::CUDA_ERROR_INVALID_HANDLE }
    }
    fn cuGraphExecDestroy(state, executable: CUgraphExec) {
        state.executables.remove(&(executable as u64)).map_or(CUresult::CUDA_ERROR_INVALID_HANDLE, |_| OK)
    }
    fn cuGetErrorName(_state, error: CUresult, out: *mut *const c_char) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, text(error).as_ptr()) }
    }
    fn cuGetErrorString(_state, error: CUresult, out: *mut *const c_char) {
        // SAFETY: the caller of the C function gave a place for it, or null.
        unsafe { put(out, text(error).as_ptr()) }
    }
}

/// The last of the nodes that something is put behind, or 0 for none. `None` where the graph has no such nodes, or where they are not its
/// last ones: the emulation runs a graph in the order in which it grew.
///
/// # Safety
/// There are as many nodes.
unsafe fn last_of(state: &mut State, graph: CUgraph, nodes: *const CUgraphNode, count: usize) -> Option<u64> {
    let graph = state.graphs.get(&(graph as u64))?;
    // SAFETY: the caller's promise.
    let behind = (0..count).map(|i| unsafe { *nodes.add(i) } as u64).max().unwrap_or(0);
    let last = graph.keys().next_back().copied().unwrap_or(0);
    if last != behind {
        state.find("a graph grows elsewhere than behind its last node");
        return None;
    }
    Some(behind)
}

/// The bytes of each argument of a kernel.
///
/// # Safety
/// `params` are the addresses of as many arguments as the kernel has, of its sizes.
unsafe fn arguments(function: &Function, params: *mut *mut c_void) -> Vec<Vec<u8>> {
    let sizes = function.sizes.iter().enumerate();
    // SAFETY: the caller's promise.
    sizes
        .map(|(i, &size)| unsafe { std::slice::from_raw_parts((*params.add(i)).cast::<u8>(), size) }.to_vec())
        .collect()
}

/// The name of a code, kept for good.
fn text(code: CUresult) -> &'static CStr {
    Box::leak(CString::new(format!("{code:?}")).unwrap_or_default().into_boxed_c_str())
}

/// What can be allocated of a device's memory: the driver keeps a part for itself.
fn limit(state: &State) -> usize {
    state.settings.memory - state.settings.memory / 16
}

unsafe fn allocate(state: &mut State, device: usize, out: *mut CUdeviceptr, len: usize) -> CUresult {
    if len == 0 {
        return INVALID;
    }
    let limit = limit(state);
    let mut block = state.arena.allocate(device, len, limit);
    if block.is_none() {
        // What is queued may free memory.
        state.drain();
        block = state.arena.allocate(device, len, limit);
    }
    match block {
        // SAFETY: the caller of the C function gave a place for it, or null.
        Some(block) => unsafe { put(out, block) },
        None => CUresult::CUDA_ERROR_OUT_OF_MEMORY,
    }
}
