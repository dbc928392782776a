//! Planted faults of each kind are found.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "calls of the driver")]

mod common;

use common::{driver, ok};
use cudarc::driver::sys::{self, CUresult};

const FILL: &str = "extern \"C\" __global__ void fill(unsigned int* p, unsigned long long n, unsigned long long value) {\n\
    for (unsigned long long i = threadIdx.x; i < n; i += blockDim.x) p[i] = (unsigned int)value;\n}";

#[test]
fn memory_is_written_and_read() {
    let Some(d) = driver() else { return };
    let (stream, fill) = (d.stream(), d.kernel(FILL, "fill"));
    let memory = d.memory(64, stream);
    assert_eq!(d.read(memory, stream), u32::MAX, "fresh memory means nothing");
    d.launch(fill, 1, 32, stream, &[memory, 16, 7]);
    assert_eq!(d.read(memory, stream), 7);
    assert_eq!(d.mock.findings(), Vec::<String>::new());
    // SAFETY: the memory is freed once.
    unsafe { ok(sys::cuMemFreeAsync(memory, stream)) };
}

#[test]
fn the_host_cannot_touch_memory_of_the_device_before_or_after_work_on_it() {
    let Some(d) = driver() else { return };
    let (stream, fill) = (d.stream(), d.kernel(FILL, "fill"));
    let memory = d.memory(64, stream);
    let mut ends = [0; 2];
    // SAFETY: the call writes two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let refused = || {
        // SAFETY: the system reads the bytes, and says where they cannot be read; in a program that is a crash.
        let written = unsafe { libc::write(ends[1], memory as *const libc::c_void, 1) };
        written == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
    };
    assert!(refused());
    d.launch(fill, 1, 32, stream, &[memory, 16, 7]);
    assert!(refused());
    assert_eq!(d.read(memory, stream), 7);
    assert!(refused());
    // SAFETY: the memory is freed once, and so are the descriptors.
    unsafe {
        ok(sys::cuMemFreeAsync(memory, stream));
        for end in ends {
            libc::close(end);
        }
    }
}

#[test]
fn a_write_behind_a_block_is_found() {
    let Some(d) = driver() else { return };
    let (stream, fill) = (d.stream(), d.kernel(FILL, "fill"));
    let memory = d.memory(64, stream);
    d.launch(fill, 1, 32, stream, &[memory, 17, 7]);
    ok(d.wait(stream));
    d.assert_found("byte 0 behind a block of 64 bytes");
}

#[test]
fn a_block_that_is_freed_twice_is_found() {
    let Some(d) = driver() else { return };
    let stream = d.stream();
    let memory = d.memory(64, stream);
    // SAFETY: the emulation reports the second.
    unsafe {
        ok(sys::cuMemFreeAsync(memory, stream));
        ok(sys::cuMemFreeAsync(memory, stream));
    }
    ok(d.wait(stream));
    d.assert_found("no live block");
}

#[test]
fn an_event_that_is_missing_between_streams_shows_under_some_seed_and_with_it_under_none() {
    let Some(d) = driver() else { return };
    let (one, two, fill) = (d.stream(), d.stream(), d.kernel(FILL, "fill"));
    let run = |seed: i64, with_event: bool| {
        d.mock.set("seed", seed);
        let memory = d.memory(64, one);
        d.launch(fill, 1, 32, one, &[memory, 16, 7]);
        // SAFETY: the handles are alive; the memory is freed once.
        unsafe {
            if with_event {
                let mut event = std::ptr::null_mut();
                ok(sys::cuEventCreate(&mut event, 0));
                ok(sys::cuEventRecord(event, one));
                ok(sys::cuStreamWaitEvent(two, event, 0));
            }
            let value = d.read(memory, two);
            ok(d.wait(one));
            ok(sys::cuMemFreeAsync(memory, one));
            value
        }
    };
    assert!((0..10).any(|seed| run(seed, false) != 7));
    assert!((0..10).all(|seed| run(seed, true) == 7));
}

#[test]
fn threads_sum_by_shuffles_and_shared_memory() {
    const TEXT: &str = "extern \"C\" __global__ void total(unsigned int* out) {\n\
        __shared__ unsigned int part[4];\n\
        unsigned int v = threadIdx.x;\n\
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);\n\
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;\n\
        __syncthreads();\n\
        if (threadIdx.x == 0) *out = part[0] + part[1] + part[2] + part[3];\n}";
    let Some(d) = driver() else { return };
    let (stream, total) = (d.stream(), d.kernel(TEXT, "total"));
    let memory = d.memory(4, stream);
    for seed in 0..5 {
        d.mock.set("seed", seed);
        d.launch(total, 1, 128, stream, &[memory]);
        assert_eq!(d.read(memory, stream), 127 * 64);
    }
    assert_eq!(d.mock.findings(), Vec::<String>::new());
}

#[test]
fn a_barrier_that_not_all_threads_reach_is_found() {
    const TEXT: &str = "extern \"C\" __global__ void diverge() { if (threadIdx.x < 7) __syncthreads(); }";
    let Some(d) = driver() else { return };
    let stream = d.stream();
    d.launch(d.kernel(TEXT, "diverge"), 1, 32, stream, &[]);
    ok(d.wait(stream));
    d.assert_found("returned in front of a barrier");
}

#[test]
fn the_call_that_a_test_names_fails_and_the_next_does_not() {
    let Some(d) = driver() else { return };
    let stream = d.stream();
    d.mock.fail("cuMemAllocAsync", 2, 2);
    let before = d.mock.count("cuMemAllocAsync");
    d.memory(8, stream);
    let mut out = 0;
    // SAFETY: writes an address.
    unsafe { assert_eq!(sys::cuMemAllocAsync(&mut out, 8, stream), CUresult::CUDA_ERROR_OUT_OF_MEMORY) };
    d.memory(8, stream);
    assert_eq!(d.mock.count("cuMemAllocAsync") - before, 3);
}

const DECIDE: &str = "extern \"C\" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);\n\
    extern \"C\" __global__ void decide(unsigned long long handle, unsigned int* left) {\n\
    *left -= 1; cudaGraphSetConditional(handle, *left > 0);\n}";

/// Adds a `WHILE` node to an empty graph.
fn add_loop(handle: sys::CUgraphConditionalHandle, graph: sys::CUgraph) {
    // SAFETY: zeros are a value of these parameters; the node has all that its type asks for.
    unsafe {
        let mut params: sys::CUgraphNodeParams = std::mem::zeroed();
        params.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        params.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            type_: sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
            size: 1,
            phGraph_out: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        };
        let mut node = std::ptr::null_mut();
        let none = std::ptr::null();
        ok(sys::cuGraphAddNode_v2(&mut node, graph, none, std::ptr::null(), 0, &mut params));
    }
}

#[test]
fn a_condition_that_no_kernel_sets_is_found() {
    let Some(d) = driver() else { return };
    let stream = d.stream();
    let (mut graph, mut handle, mut executable) = (std::ptr::null_mut(), 0, std::ptr::null_mut());
    // SAFETY: each call writes a handle.
    unsafe {
        ok(sys::cuGraphCreate(&mut graph, 0));
        ok(sys::cuGraphConditionalHandleCreate(&mut handle, graph, std::ptr::null_mut(), 0, 0));
        add_loop(handle, graph);
        ok(sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0));
        ok(sys::cuGraphLaunch(executable, stream));
    }
    ok(d.wait(stream));
    d.assert_found("whose condition no kernel has set");
}

#[test]
fn a_handle_of_no_conditional_node_is_found() {
    let Some(d) = driver() else { return };
    let (stream, decide) = (d.stream(), d.kernel(DECIDE, "decide"));
    let left = d.memory(64, stream);
    d.launch(decide, 1, 1, stream, &[left, left]);
    ok(d.wait(stream));
    d.assert_found("a handle of no conditional node is set");
}
