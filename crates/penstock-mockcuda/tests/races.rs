//! Planted races of each kind are found, and their correct forms are not.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "calls of the driver")]

mod common;

use common::{Driver, driver, ok};

/// The driver, whose kernels are watched; `None` where there is no `g++`.
fn watching() -> Option<Driver> {
    let found = driver()?;
    // SAFETY: the name ends. The compiler of these tests is linked, and so has settings of its own.
    assert_eq!(unsafe { penstock_mockcuda::mockcuda_set(c"races".as_ptr(), 1) }, 1);
    Some(found)
}

/// What is found of a kernel `k(unsigned int* p, unsigned int* q)` under some seeds.
fn findings(d: &Driver, body: &str, blocks: u32, threads: u32) -> Vec<String> {
    let text =
        format!("extern \"C\" __global__ void k(unsigned int* p, unsigned int* q, unsigned int* none) {{\n{body}\n}}");
    let (stream, kernel) = (d.stream(), d.kernel(&text, "k"));
    let mut found = Vec::new();
    for seed in 0..4 {
        d.mock.set("seed", seed);
        let (p, q) = (d.memory(4096, stream), d.memory(4096, stream));
        // SAFETY: the memory has as many bytes, and is freed once.
        unsafe {
            ok(cudarc::driver::sys::cuMemsetD8Async(p, 0, 4096, stream));
            ok(cudarc::driver::sys::cuMemsetD8Async(q, 0, 4096, stream));
            d.launch(kernel, blocks, threads, stream, &[p, q, 0]);
            ok(d.wait(stream));
            ok(cudarc::driver::sys::cuMemFreeAsync(p, stream));
            ok(cudarc::driver::sys::cuMemFreeAsync(q, stream));
        }
        let of_this = d.mock.findings();
        assert!(seed == 0 || of_this.is_empty() == found.is_empty(), "the order of threads decides: {of_this:?}");
        found = of_this;
    }
    found
}

/// Fails where the second form is not free of findings, or the first one has none that says `text`.
#[track_caller]
fn assert_race(text: &str, wrong: &str, right: &str, [blocks, threads]: [u32; 2]) {
    let Some(d) = watching() else { return };
    let found = findings(&d, wrong, blocks, threads);
    assert!(found.iter().any(|f| f.contains("a race at ") && f.contains(text)), "{found:?}");
    assert_eq!(findings(&d, right, blocks, threads), Vec::<String>::new());
}

#[test]
fn a_barrier_that_is_missing_between_a_write_and_a_read_of_shared_memory() {
    const WRITE: &str = "__shared__ unsigned int shared[64];\nshared[threadIdx.x] = threadIdx.x;\n";
    const READ: &str = "p[blockIdx.x * 64 + threadIdx.x] = shared[63 - threadIdx.x];";
    assert_race(
        "of shared in shared memory",
        &format!("{WRITE}{READ}"),
        &format!("{WRITE}__syncthreads();{READ}"),
        [2, 64],
    );
}

#[test]
fn a_barrier_that_is_missing_between_a_read_and_the_next_write_of_shared_memory() {
    let text = |barrier: &str| {
        format!(
            "__shared__ unsigned int shared[64];\nfor (int i = 0; i < 3; ++i) {{ shared[threadIdx.x] = i; __syncthreads();\n\
             p[threadIdx.x] = shared[63 - threadIdx.x]; {barrier} }}"
        )
    };
    assert_race("no barrier in between", &text(""), &text("__syncthreads();"), [1, 64]);
}

#[test]
fn lanes_of_a_warp_are_not_in_step() {
    let text = |barrier: &str| {
        format!(
            "__shared__ unsigned int shared[32];\nshared[threadIdx.x] = threadIdx.x;\n{barrier}\np[threadIdx.x] = shared[31 - threadIdx.x];"
        )
    };
    assert_race("of shared in shared memory", &text(""), &text("__syncwarp();"), [1, 32]);
    // Shuffles and votes order no memory, and a warp knows nothing of another one.
    assert_race(
        "no barrier",
        &text("__shfl_sync(~0u, 1, 0); __ballot_sync(~0u, 1);"),
        &text("__syncthreads();"),
        [1, 32],
    );
    let halves = "if (threadIdx.x < 16) __syncwarp(0xffffu); else __syncwarp(0xffff0000u);";
    assert_race("no barrier", &text(halves), &text("__syncwarp(~0u);"), [1, 32]);
    let over = "__shared__ unsigned int shared[64];\nshared[threadIdx.x] = threadIdx.x;\n__syncwarp();\n\
                p[threadIdx.x] = shared[threadIdx.x ^ 33];";
    assert_race("no barrier", over, &over.replace("__syncwarp", "__syncthreads"), [1, 64]);
}

#[test]
fn two_threads_that_write_one_place() {
    assert_race(
        "byte 0 of a block of 4096 bytes, that of argument 0",
        "p[0] = threadIdx.x;",
        "if (threadIdx.x == 0) p[0] = threadIdx.x;",
        [1, 32],
    );
    // Bytes beside each other are different places.
    let bytes = |step: &str| format!("((unsigned char*)p)[threadIdx.x / {step}] = 1;");
    assert_race("writes", &bytes("2"), &bytes("1"), [1, 64]);
}

#[test]
fn two_blocks_that_take_one_place_of_global_memory() {
    assert_race("nothing in between", "p[threadIdx.x] = 7;", "p[blockIdx.x * 32 + threadIdx.x] = 7;", [3, 32]);
    assert_race(
        "of argument 1",
        "p[blockIdx.x] = q[0]; if (blockIdx.x == 1) q[0] = 1;",
        "p[blockIdx.x] = q[0]; if (blockIdx.x == 1) q[1] = 1;",
        [3, 1],
    );
    assert_race("has an atomic", "if (blockIdx.x == 0) p[0] = 1; else atomicAdd(p, 1u);", "atomicAdd(p, 1u);", [2, 1]);
}

#[test]
fn the_last_block_to_come_reads_what_the_others_wrote_behind_fences() {
    let text = |before: &str, behind: &str| {
        format!(
            "__shared__ bool last;\np[blockIdx.x * 64 + threadIdx.x] = 1;\n{before} __syncthreads();\n\
             if (threadIdx.x == 0) last = atomicAdd(q, 1u) == gridDim.x - 1;\n__syncthreads(); {behind}\n\
             if (last) for (unsigned int b = 0; b < gridDim.x; ++b) q[1 + threadIdx.x] += p[b * 64 + 63 - threadIdx.x];"
        )
    };
    let right = text("__threadfence();", "__threadfence();");
    assert_race("nothing in between", &text("", "__threadfence();"), &right, [4, 64]);
    assert_race("nothing in between", &text("__threadfence();", ""), &right, [4, 64]);
    // Without waiting for the other threads of the block, the first one counts too early.
    assert_race("nothing in between", &right.replacen("__syncthreads();", "", 1), &right, [4, 64]);
}

#[test]
fn findings_name_the_lines_of_the_kernel() {
    let Some(d) = watching() else { return };
    let found = findings(&d, "if (threadIdx.x == 5) p[3] = 1;\nif (threadIdx.x == 9) q[0] = p[3];", 1, 32);
    let line = |text: &str| found.iter().any(|f| f.contains(text));
    assert!(line("thread 5 of block 0 writes (line 2: if (threadIdx.x == 5) p[3] = 1;)"), "{found:?}");
    assert!(line("thread 9 of block 0 reads (line 3: if (threadIdx.x == 9) q[0] = p[3];)"), "{found:?}");
    assert!(line("byte 12 of a block of 4096 bytes, that of argument 0"), "{found:?}");
}
