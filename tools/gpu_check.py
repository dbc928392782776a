"""Check and measure the CUDA device on a machine with a GPU: `make gpu-check`.

Prints results as they come, and writes `gpu-check.json` and `gpu-check.txt` to $OUT where that is set. Needs
the installed package, NVRTC from the wheel nvidia-cuda-nvrtc or a toolkit, and, for the tests and figures of
the Rust crate, the programs that `make gpu-programs` puts into `target/gpu`. Figures of PyTorch come beside
them where it is installed. Each stage has a limit of time; one that fails is reported, and the next one runs.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "target" / "gpu"

# Declared without a header: NVRTC leaves the symbol to the driver.
CONDITIONAL = """
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);
extern "C" __global__ void count(unsigned long long handle, unsigned int* left) {
    *left -= 1;
    cudaGraphSetConditional(handle, *left > 0);
}
"""

# The same for the driver's own compiler, in an old version of the language, as the engine has it.
CONDITIONAL_PTX = """
.version 6.4
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry count(.param .u64 handle, .param .u64 left)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [left];
    ld.u32 %r1, [%rd2];
    sub.u32 %r1, %r1, 1;
    st.u32 [%rd2], %r1;
    setp.ne.u32 %p1, %r1, 0;
    selp.u32 %r1, 1, 0, %p1;
    {
        .param .b64 param0;
        .param .b32 param1;
        st.param.b64 [param0], %rd1;
        st.param.b32 [param1], %r1;
        call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}
"""


class Failure(Exception):
    """A stage that found something wrong."""


def find_nvrtc() -> str:
    """The file of NVRTC: from the wheel nvidia-cuda-nvrtc, else by its name."""
    for folder in map(Path, sys.path):
        for wheel in ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"):
            found = sorted((folder / wheel).glob("libnvrtc.so.*"))
            if found:
                return str(found[0])
    return "libnvrtc.so"


def find_cudnn() -> str | None:
    """The folder of cuDNN in its wheel; None where that is not installed."""
    folders = [Path(p) / "nvidia" / "cudnn" / "lib" for p in sys.path]
    return next((str(folder) for folder in folders if (folder / "libcudnn.so.9").exists()), None)


def compile_cubin(source: str, arch: int, *extra: bytes) -> bytes:
    """Machine code of a CUDA text."""
    path = find_nvrtc()
    for builtins in sorted(Path(path).parent.glob("libnvrtc-builtins.so.*")):
        if "alt" not in builtins.name:
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(path)
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"check.cu", 0, None, None)
    wanted = (f"--gpu-architecture=sm_{arch}".encode(), b"--std=c++17", *extra)
    code = nvrtc.nvrtcCompileProgram(program, len(wanted), (ctypes.c_char_p * len(wanted))(*wanted))
    size = ctypes.c_size_t()
    if code != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise Failure(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    return image.raw


class Driver:
    """The driver's functions by ctypes, with a context of the first device."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ.get("PENSTOCK_CUDA_DRIVER") or "libcuda.so.1")
        self.call("cuInit", 0)
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, self.device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, self.device)
        self.arch = major.value * 10 + minor.value

    def call(self, name: str, *args: Any) -> None:
        """Call a function of the driver; its failure is a `Failure`."""
        code = getattr(self.library, name)(*args)
        if code != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise Failure(f"{name}: {(text.value or b'?').decode()} ({code})")


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = [
        ("func", ctypes.c_void_p),
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("params", ctypes.POINTER(ctypes.c_void_p)),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("ctx", ctypes.c_void_p),
    ]


class ConditionalNode(ctypes.Structure):
    """CUgraphNodeParams with its conditional member."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
        ("handle", ctypes.c_ulonglong),
        ("kind", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("graphs", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
        ("rest", ctypes.c_longlong * 26),
    ]


def linked(driver: Driver, image: bytes) -> ctypes.c_void_p:
    """Relocatable machine code, linked with the toolkit's library of the device's run time."""
    folders = [Path(p) for p in ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib")]
    folders += [Path(p) / "nvidia" / part / "lib" for p in sys.path for part in ("cu13", "cuda_runtime")]
    found = [f / "libcudadevrt.a" for f in folders if (f / "libcudadevrt.a").exists()]
    if not found:
        raise Failure("there is no libcudadevrt.a to link with")
    state, out, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    driver.call("cuLinkCreate_v2", 0, None, None, ctypes.byref(state))
    driver.call("cuLinkAddData_v2", state, 0, image, ctypes.c_size_t(len(image)), b"check", 0, None, None)
    driver.call("cuLinkAddFile_v2", state, 4, str(found[0]).encode(), 0, None, None)
    driver.call("cuLinkComplete", state, ctypes.byref(out), ctypes.byref(size))
    return out


def conditional() -> dict[str, Any]:
    """Whether code that leaves `cudaGraphSetConditional` to the driver loads, and the time of a round."""
    driver = Driver()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    out: dict[str, Any] = {}

    def loads(form: str, image: Callable[[], bytes | ctypes.c_void_p]) -> None:
        try:
            found = ctypes.c_void_p()
            driver.call("cuModuleLoadData", ctypes.byref(found), image())
            module.value = module.value or found.value
            out[form] = "loads"
        except Failure as failure:
            out[form] = str(failure)
        print("   ", form, out[form], flush=True)

    # As the engine tries them; code that was linked is what there would be else.
    loads("machine code", lambda: compile_cubin(CONDITIONAL, driver.arch))
    loads("PTX", lambda: CONDITIONAL_PTX.encode() + b"\0")
    if not module.value:
        relocatable = b"--relocatable-device-code=true"
        loads("linked", lambda: linked(driver, compile_cubin(CONDITIONAL, driver.arch, relocatable)))
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"count")

    graph, handle = ctypes.c_void_p(), ctypes.c_ulonglong()
    driver.call("cuGraphCreate", ctypes.byref(graph), 0)
    driver.call("cuGraphConditionalHandleCreate", ctypes.byref(handle), graph, driver.context, 1, 1)
    node = ConditionalNode(type=13, handle=handle.value, kind=1, size=1, context=driver.context)
    added = ctypes.c_void_p()
    newer = hasattr(driver.library, "cuGraphAddNode_v2")
    edges = (None, None, ctypes.c_size_t(0)) if newer else (None, ctypes.c_size_t(0))
    name = "cuGraphAddNode_v2" if newer else "cuGraphAddNode"
    driver.call(name, ctypes.byref(added), graph, *edges, ctypes.byref(node))
    body = ctypes.c_void_p(node.graphs[0])
    left = ctypes.c_ulonglong()
    driver.call("cuMemAlloc_v2", ctypes.byref(left), ctypes.c_size_t(4))
    values = (ctypes.c_void_p * 2)(ctypes.addressof(handle), ctypes.addressof(left))
    kernel = KernelNode(func=function, gx=1, gy=1, gz=1, bx=1, by=1, bz=1, params=values)
    nothing = ctypes.c_size_t(0)
    driver.call("cuGraphAddKernelNode_v2", ctypes.byref(added), body, None, nothing, ctypes.byref(kernel))
    executable, stream = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    driver.call("cuStreamCreate", ctypes.byref(stream), 1)
    times = {}
    for rounds in (1000, 11_000):
        best = float("inf")
        for _ in range(5):
            count = ctypes.c_uint(rounds)
            driver.call("cuMemcpyHtoD_v2", left, ctypes.byref(count), ctypes.c_size_t(4))
            start = time.perf_counter()
            driver.call("cuGraphLaunch", executable, stream)
            driver.call("cuStreamSynchronize", stream)
            best = min(best, time.perf_counter() - start)
            driver.call("cuMemcpyDtoH_v2", ctypes.byref(count), left, ctypes.c_size_t(4))
            if count.value != 0:
                raise Failure(f"{count.value} of {rounds} rounds are left")
        times[rounds] = best
    out["us_a_round"] = round((times[11_000] - times[1000]) / 10_000 * 1e6, 3)
    return out


def epilogues() -> dict[str, Any]:
    """What cublasLt makes of NaN and -0 where it adds a vector to a product, and takes the positive part."""
    driver = Driver()
    name = "libcublasLt.so.13"
    folder = Path(find_nvrtc()).parent
    for other in (folder / name, folder.parents[1] / "cublas" / "lib" / "libcublasLt.so.12"):
        if other.exists():
            name = str(other)
    library = ctypes.CDLL(name)

    def call(function: str, *args: Any) -> None:
        code = getattr(library, function)(*args)
        if code != 0:
            raise Failure(f"{function}: status {code}")

    def attribute(function: str, at: ctypes.c_void_p, which: int, value: Any) -> None:
        call(function, at, which, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    side, nan = 64, float("nan")
    handle, workspace = ctypes.c_void_p(), 1 << 22
    call("cublasLtCreate", ctypes.byref(handle))

    def memory(values: list[float] | int) -> ctypes.c_ulonglong:
        at, size = ctypes.c_ulonglong(), values if isinstance(values, int) else 4 * len(values)
        driver.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        if not isinstance(values, int):
            data = (ctypes.c_float * len(values))(*values)
            driver.call("cuMemcpyHtoD_v2", at, data, ctypes.c_size_t(size))
        return at

    # The first row times the first of each column, matrices being stored by columns.
    special = [nan, -0.0, -1.0, 1.0, float("-inf")]
    one = [float(i % (side + 1) == 0) for i in range(side * side)]
    x = [0.0] * (side * side)
    x[: len(special) * side : side] = special
    a, b, d, room = memory(one), memory(x), memory(4 * side * side), memory(workspace)
    bias = memory([0.0] * side)
    out: dict[str, Any] = {}
    for label, epilogue in (("none", 1), ("bias", 4), ("bias and ReLU", 6)):
        product, layout, preference = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        call("cublasLtMatmulDescCreate", ctypes.byref(product), 68, 0)
        attribute("cublasLtMatmulDescSetAttribute", product, 7, ctypes.c_uint32(epilogue))
        if epilogue != 1:
            attribute("cublasLtMatmulDescSetAttribute", product, 8, bias)
        extents = (ctypes.c_uint64(side), ctypes.c_uint64(side), ctypes.c_int64(side))
        call("cublasLtMatrixLayoutCreate", ctypes.byref(layout), 0, *extents)
        call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        attribute("cublasLtMatmulPreferenceSetAttribute", preference, 1, ctypes.c_uint64(workspace))
        # The proposals: an algorithm of 64 bytes first, of 96 or more in all.
        found, count = ctypes.create_string_buffer(256), ctypes.c_int()
        descriptors = (product, layout, layout, layout, layout, preference, 1, found, ctypes.byref(count))
        call("cublasLtMatmulAlgoGetHeuristic", handle, *descriptors)
        alpha, beta = ctypes.c_float(1), ctypes.c_float(0)
        operands = (ctypes.byref(alpha), a, layout, b, layout, ctypes.byref(beta), d, layout, d, layout)
        call("cublasLtMatmul", handle, product, *operands, found, room, ctypes.c_size_t(workspace), None)
        got = (ctypes.c_float * (side * side))()
        driver.call("cuCtxSynchronize")
        driver.call("cuMemcpyDtoH_v2", got, d, ctypes.c_size_t(ctypes.sizeof(got)))
        out[label] = [str(value) for value in got[: len(special) * side : side]]
        print("   ", label, out[label], flush=True)
    return out


def machine() -> dict[str, Any]:
    """What runs here."""
    query = [
        "nvidia-smi",
        "--query-gpu=name,driver_version,memory.total,clocks.max.sm",
        "--format=csv,noheader",
    ]
    smi = subprocess.run(query, capture_output=True, text=True, check=False)
    out: dict[str, Any] = {"gpu": smi.stdout.strip(), "python": sys.version.split()[0], "nvrtc": find_nvrtc()}
    out["cudnn"] = find_cudnn()
    import penstock

    out["penstock"] = penstock.__version__
    out["devices"] = [str(d) for d in penstock.config.list_physical_devices()]
    return out


def run(command: list[str], limit: float, **extra: str) -> tuple[int, str]:
    """Run a program, print what it says, and return its status and its output."""
    nvrtc = os.environ.get("PENSTOCK_NVRTC") or find_nvrtc()
    found = {"PENSTOCK_CUBLAS": str(Path(nvrtc).parent), "PENSTOCK_CUDNN": find_cudnn()}
    env = {name: folder for name, folder in found.items() if folder is not None}
    env |= {**os.environ, "PENSTOCK_NVRTC": nvrtc, **extra}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, cwd=ROOT
    )
    lines: list[str] = []
    deadline = time.monotonic() + limit
    assert process.stdout is not None
    for line in process.stdout:
        print("   ", line.rstrip()[:300], flush=True)
        lines.append(line)
        if time.monotonic() > deadline:
            process.kill()
            raise Failure(f"{command[0]} takes longer than {limit:.0f} s")
    return process.wait(), "".join(lines)


def device_tests() -> dict[str, Any]:
    """The device tests of the Rust crate: operators on samples, helpers at their edges, shapes."""
    report = PROGRAMS / "agreement.txt"
    report.unlink(missing_ok=True)
    status, output = run(
        [str(PROGRAMS / "device"), "--nocapture", "--test-threads=1"], 240, PENSTOCK_REPORT=str(report)
    )
    # Steps of training, and work that repeats.
    for test in ("steps", "graphs", "loops", "rounds"):
        own, again = run([str(PROGRAMS / test), "--test-threads=1"], 120)
        status, output = status or own, output + again
    # Products by the kernel that is used where cuBLAS is not installed.
    own, again = run([str(PROGRAMS / "device"), "--test-threads=1", "products"], 60, PENSTOCK_CUBLAS="")
    status, output = status or own, output + again
    # Convolutions by products of patches, as where cuDNN is not installed.
    own, again = run([str(PROGRAMS / "device"), "--test-threads=1", "convolutions"], 60, PENSTOCK_CUDNN="")
    status, output = status or own, output + again
    out: dict[str, Any] = {
        "status": status,
        "summary": [x for x in output.splitlines() if x.startswith("test result")],
        "convolutions": [
            x for x in output.splitlines() if x.startswith(("cuDNN ", "no cuDNN")) or " times " in x
        ],
    }
    if report.exists():
        worst: dict[str, int] = {}
        for line in report.read_text().splitlines():
            name, ulps = line.split()
            worst[name] = max(worst.get(name, 0), int(ulps))
        out["operators"] = len(worst)
        out["not_bit_equal"] = {name: ulps for name, ulps in sorted(worst.items()) if ulps}
    if status:
        raise Failure(json.dumps(out))
    return out


def python_tests() -> dict[str, Any]:
    """The folder tests/gpu."""
    status, output = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gpu"], 240)
    out = {"status": status, "summary": output.strip().splitlines()[-1:]}
    if status:
        raise Failure(json.dumps(out))
    return out


def kernels() -> dict[str, Any]:
    """Figures of generated kernels."""
    status, output = run([str(PROGRAMS / "gpu_bench")], 120)
    if status:
        raise Failure(f"status {status}")
    figures: dict[str, Any] = json.loads(output)
    return figures


def torch_figures() -> dict[str, Any]:
    """What PyTorch takes for the same work."""
    import torch

    torch.backends.cudnn.allow_tf32 = False

    def measure(work: Callable[[], object], moved: int) -> dict[str, float]:
        for _ in range(3):
            work()
        times = []
        for _ in range(15):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(10):
                work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 10)
        ms = sorted(times)[len(times) // 2]
        return {"us": round(ms * 1e3, 2), "gb_per_s": round(moved / ms / 1e6)}

    out: dict[str, Any] = {"torch": torch.__version__}
    n = 1 << 28
    x = torch.rand(n, device="cuda")
    y = torch.empty_like(x)
    out["copy 1 GB"] = measure(lambda: y.copy_(x), 8 * n)
    out["selu f32 2^28"] = measure(lambda: torch.selu(x), 8 * n)
    rows = x.view(-1, 1024)
    bias, scale = torch.rand(1024, device="cuda"), torch.rand(n // 1024, 1, device="cuda")
    result = torch.empty_like(rows)
    out["bias add"] = measure(lambda: torch.add(rows, bias, out=result), 8 * n)
    out["row scale"] = measure(lambda: torch.mul(rows, scale, out=result), 8 * n)
    out["row sums"] = measure(lambda: rows.sum(1), 4 * n)
    out["transpose"] = measure(lambda: rows.t().contiguous(), 8 * n)
    out["column sums"] = measure(lambda: rows.sum(0), 4 * n)
    out["softmax"] = measure(lambda: torch.softmax(rows, 1), 8 * n)
    out["uniform numbers"] = measure(lambda: torch.rand(n, device="cuda"), 4 * n)
    out["normal numbers"] = measure(lambda: torch.randn(n, device="cuda"), 4 * n)
    out["running sums of rows"] = measure(lambda: rows.cumsum(1), 8 * n)
    out["running sum of all"] = measure(lambda: x.cumsum(0), 8 * n)
    out["argmax of rows"] = measure(lambda: rows.argmax(1), 4 * n)
    keys = torch.randint(-(1 << 31), 1 << 31, (1 << 24,), device="cuda", dtype=torch.int32)
    out["sort 2^24 int32"] = measure(lambda: keys.sort().values, 8 << 24)
    out["sort 2^14 rows of 1024 int32"] = measure(lambda: keys.view(-1, 1024).sort().values, 8 << 24)
    small = torch.rand(1, device="cuda")
    out["one element"] = measure(lambda: torch.selu(small), 8)
    a, b = (torch.rand(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    ms = measure(lambda: a @ b, 0)["us"] / 1e3
    out["bf16 8192^3 TFLOP/s"] = round(2 * 8192**3 / ms / 1e9)
    f, g = (torch.rand(4096, 4096, device="cuda") for _ in range(2))
    ms = measure(lambda: f @ g, 0)["us"] / 1e3
    out["f32 4096^3 TFLOP/s"] = round(2 * 4096**3 / ms / 1e9, 1)
    for dtype in (torch.float32, torch.bfloat16):
        images = torch.randn(64, 64, 56, 56, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
        filters = torch.randn(64, 64, 3, 3, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
        convolve = functools.partial(torch.nn.functional.conv2d, images, filters, padding=1)
        us = measure(convolve, 0)["us"]
        flops = 2 * 9 * 64 * 64**3 * 49
        out[f"{dtype} convolution 3x3, 64 channels, TFLOP/s"] = round(flops / us / 1e6, 1)
        grads = torch.randn(64, 64, 56, 56, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
        for name, mask in (("input", [True, False, False]), ("filter", [False, True, False])):
            arguments = (grads, images, filters, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)
            us = measure(functools.partial(torch.ops.aten.convolution_backward, *arguments), 0)["us"]
            out[f"{dtype} gradient of its {name}, TFLOP/s"] = round(flops / us / 1e6, 1)
        convolve = functools.partial(torch.nn.functional.conv2d, images, filters, padding=1, stride=2)
        us = measure(convolve, 0)["us"]
        out[f"{dtype} convolution by steps of 2, TFLOP/s"] = round(flops / 4 / us / 1e6, 1)
    table, chosen = rows[: 1 << 17, :128].contiguous(), torch.randint(0, 1 << 17, (1 << 20,), device="cuda")
    out["gather 2^20 rows of 128"] = measure(lambda: table[chosen], 8 * 128 * (1 << 20))

    def polynomial(v: torch.Tensor) -> torch.Tensor:
        total = torch.full_like(v, 0.5)
        for c in (-1.25, 2.0, 0.75, -0.5, 1.5, 3.0):
            total = total * v + c
        return total

    compiled = torch.compile(polynomial)
    out["polynomial 2^28, torch.compile"] = measure(lambda: compiled(x), 8 * n)
    return out


def work_on_tensors() -> dict[str, Any]:
    """Figures of whole operators, by the package."""
    import numpy as np

    import penstock as tf

    def measure(work: Callable[[], Any], repeat: int = 20) -> float:
        """The microseconds of a call, of which many are queued, and the last one's result is waited for."""

        def run() -> float:
            start = time.perf_counter()
            for _ in range(repeat):
                last = work()
            wait(last)
            return (time.perf_counter() - start) / repeat * 1e6

        run()
        return round(sorted(run() for _ in range(5))[2], 1)

    def wait(x: Any) -> None:
        """Wait for a tensor by reading one element."""
        tf.reshape(x, [-1])[:1].numpy()

    out: dict[str, Any] = {}
    rng = np.random.default_rng(0)

    def memory_bound() -> None:
        n = 1 << 28
        rows = tf.reshape(tf.constant(rng.random(n, dtype=np.float32)), [-1, 1024])
        table = rows[: 1 << 17, :128]
        chosen = tf.constant(rng.integers(0, 1 << 17, 1 << 20).astype(np.int32))
        flat = tf.reshape(rows, [-1])
        keys = tf.constant(rng.integers(-(1 << 31), 1 << 31, 1 << 24).astype(np.int32))
        moved: dict[str, tuple[Callable[[], Any], int]] = {
            "row sums": (lambda: tf.reduce_sum(rows, 1), 4 * n),
            "column sums": (lambda: tf.reduce_sum(rows, 0), 4 * n),
            "softmax": (lambda: tf.nn.softmax(rows), 8 * n),
            "transpose": (lambda: tf.transpose(rows), 8 * n),
            "uniform numbers": (lambda: tf.random.stateless_uniform([n], [1, 2]), 4 * n),
            "normal numbers": (lambda: tf.random.stateless_normal([n], [1, 2]), 4 * n),
            "running sums of rows": (lambda: tf.cumsum(rows, 1), 8 * n),
            "running sum of all": (lambda: tf.cumsum(flat), 8 * n),
            "argmax of rows": (lambda: tf.argmax(rows, 1), 4 * n),
            "sort 2^24 int32": (lambda: tf.sort(keys), 8 << 24),
            "sort 2^14 rows of 1024 int32": (lambda: tf.sort(tf.reshape(keys, [-1, 1024])), 8 << 24),
            "gather 2^20 rows of 128": (lambda: tf.gather(table, chosen), 8 * 128 * (1 << 20)),
        }
        for name, (work, size) in moved.items():
            us = measure(work)
            out[name] = {"us": us, "gb_per_s": round(size / us / 1e3)}

    with tf.device("GPU:0"):
        memory_bound()
        small = tf.ones([64])
        out["addition of 64 elements, us"] = measure(lambda: small + small, repeat=1000)
        for dtype, size in (("bfloat16", 8192), ("float16", 8192), ("float32", 4096), ("float64", 4096)):
            a, b = (tf.cast(rng.random((size, size), dtype=np.float32), dtype) for _ in range(2))
            us = measure(functools.partial(tf.matmul, a, b))
            out[f"{dtype} {size}^3 TFLOP/s"] = round(2 * size**3 / us / 1e6, 1)

        for dtype in ("float32", "bfloat16"):
            images, filters = (
                tf.cast(rng.standard_normal(shape, dtype=np.float32), dtype)
                for shape in ((64, 56, 56, 64), (3, 3, 64, 64))
            )
            us = measure(functools.partial(tf.nn.conv2d, images, filters, 1, "SAME"))
            out[f"{dtype} convolution 3x3, 64 channels, TFLOP/s"] = round(
                2 * 9 * 64 * 64**3 * 49 / us / 1e6, 1
            )
    return out


# Networks to train: the widths of their layers, and the examples of a step.
NETWORKS = (
    ((1024, 4096, 4096, 1000), 1024),
    ((256, 512, 512, 512, 10), 256),
    ((64, 128, 128, 10), 64),
)
# Images of a step of the convolutional network.
IMAGES = 256


def named(widths: Sequence[int], batch: int) -> str:
    """What a network is called in the results."""
    return f"MLP {'-'.join(map(str, widths))}, batch {batch}"


def training() -> dict[str, Any]:
    """Steps of training, by the package: the time of a call of many, and the first losses."""
    import numpy as np

    import penstock as tf

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    def time_of(loss: Callable[[], Any], variables: Sequence[Any]) -> dict[str, Any]:
        @tf.function(autograph=False)
        def step() -> Any:
            with tf.GradientTape() as tape:
                value = loss()
            for v, g in zip(variables, tape.gradient(value, variables), strict=True):
                v.assign_sub(0.01 * g)
            return value

        losses = [float(step()) for _ in range(5)]
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(50):
                last = step()
            float(last)
            times.append((time.perf_counter() - start) / 50 * 1e6)
        return {"us": round(sorted(times)[2], 1), "losses": losses}

    def network(widths: Sequence[int], batch: int) -> dict[str, Any]:
        weights = [tf.Variable(normal(*s) / s[0] ** 0.5) for s in itertools.pairwise(widths)]
        biases = [tf.Variable(np.zeros(s, np.float32)) for s in widths[1:]]
        x = tf.constant(normal(batch, widths[0]))
        y = tf.constant(rng.integers(0, widths[-1], batch).astype(np.int32))

        def loss() -> Any:
            h = x
            for w, b in zip(weights[:-1], biases[:-1], strict=True):
                h = tf.nn.relu(h @ w + b)
            logits = h @ weights[-1] + biases[-1]
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

        return time_of(loss, weights + biases)

    def images() -> dict[str, Any]:
        filters = [tf.Variable(normal(3, 3, *c) * 0.1) for c in ((3, 32), (32, 64))]
        last = tf.Variable(normal(4096, 10) * 0.01)
        x = tf.constant(normal(IMAGES, 32, 32, 3))
        y = tf.constant(rng.integers(0, 10, IMAGES).astype(np.int32))

        def loss() -> Any:
            h = x
            for f in filters:
                h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(h, f, 1, "SAME")), 2, 2, "SAME")
            logits = tf.reshape(h, [IMAGES, -1]) @ last
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

        return time_of(loss, [*filters, last])

    with tf.device("GPU:0"):
        out = {named(*sizes): network(*sizes) for sizes in NETWORKS}
        out["two convolutions"] = images()
    return out


def torch_training() -> dict[str, Any]:
    """The same steps by PyTorch, in full precision: as they are, and compiled."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    functional = torch.nn.functional

    def parameter(*shape: int, scale: float) -> Any:
        return torch.nn.Parameter(torch.randn(shape, device="cuda") * scale)

    def time_of(loss: Callable[[], Any], parameters: Sequence[Any]) -> float:
        def step() -> None:
            grads = torch.autograd.grad(loss(), parameters)
            with torch.no_grad():
                for p, g in zip(parameters, grads, strict=True):
                    p.sub_(0.01 * g)

        times = []
        for _ in range(6):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(50):
                step()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) / 50 * 1e6)
        return round(sorted(times[1:])[2], 1)

    def both(loss: Callable[[], Any], parameters: Sequence[Any]) -> dict[str, float]:
        return {"us": time_of(loss, parameters), "compiled, us": time_of(torch.compile(loss), parameters)}

    def network(widths: Sequence[int], batch: int) -> dict[str, float]:
        weights = [parameter(*s, scale=s[0] ** -0.5) for s in itertools.pairwise(widths)]
        biases = [parameter(s, scale=0.0) for s in widths[1:]]
        x = torch.randn(batch, widths[0], device="cuda")
        y = torch.randint(0, widths[-1], (batch,), device="cuda")

        def loss() -> Any:
            h = x
            for w, b in zip(weights[:-1], biases[:-1], strict=True):
                h = torch.relu(h @ w + b)
            return functional.cross_entropy(h @ weights[-1] + biases[-1], y)

        return both(loss, weights + biases)

    def images() -> dict[str, float]:
        filters = [parameter(*c, 3, 3, scale=0.1) for c in ((32, 3), (64, 32))]
        last = parameter(4096, 10, scale=0.01)
        x = torch.randn(IMAGES, 3, 32, 32, device="cuda")
        y = torch.randint(0, 10, (IMAGES,), device="cuda")

        def loss() -> Any:
            h = x
            for f in filters:
                h = functional.max_pool2d(torch.relu(functional.conv2d(h, f, padding=1)), 2)
            return functional.cross_entropy(h.reshape(IMAGES, -1) @ last, y)

        return both(loss, [*filters, last])

    out: dict[str, Any] = {named(*sizes): network(*sizes) for sizes in NETWORKS}
    out["two convolutions"] = images()
    return out


def jax_training() -> dict[str, Any]:
    """The same steps of the networks of layers by JAX, compiled, in full precision."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_default_matmul_precision", "highest")
    rng = np.random.default_rng(0)

    def network(widths: Sequence[int], batch: int) -> dict[str, float]:
        layers = [
            (jnp.asarray(rng.standard_normal(s, dtype=np.float32) / s[0] ** 0.5), jnp.zeros(s[1]))
            for s in itertools.pairwise(widths)
        ]
        x = jnp.asarray(rng.standard_normal((batch, widths[0]), dtype=np.float32))
        y = jnp.asarray(rng.integers(0, widths[-1], batch))

        def loss(layers: Any) -> Any:
            h = x
            for w, b in layers[:-1]:
                h = jax.nn.relu(h @ w + b)
            logits = h @ layers[-1][0] + layers[-1][1]
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

        @functools.partial(jax.jit, donate_argnums=0)
        def step(layers: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(layers)
            return value, jax.tree.map(lambda v, g: v - 0.01 * g, layers, grads)

        times = []
        for _ in range(6):
            start = time.perf_counter()
            for _ in range(50):
                value, layers = step(layers)
            value.block_until_ready()
            times.append((time.perf_counter() - start) / 50 * 1e6)
        return {"us": round(sorted(times[1:])[2], 1)}

    return {named(*sizes): network(*sizes) for sizes in NETWORKS}


STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "machine": machine,
    "conditional": conditional,
    "epilogues": epilogues,
    "device tests": device_tests,
    "tests/gpu": python_tests,
    "kernels": kernels,
    "tensors": work_on_tensors,
    "training": training,
    "torch": torch_figures,
    "torch training": torch_training,
    "jax training": jax_training,
}


# Convolutions, as the stages "kernels" and "torch" name them.
CONVOLUTIONS = {
    "conv {}, stride 1": "{} convolution 3x3, 64 channels, TFLOP/s",
    "conv_input_grad {}, stride 1": "{} gradient of its input, TFLOP/s",
    "conv_filter_grad {}, stride 1": "{} gradient of its filter, TFLOP/s",
    "conv {}, stride 2": "{} convolution by steps of 2, TFLOP/s",
}


def beside_torch(results: dict[str, Any]) -> dict[str, float]:
    """How many times as long as PyTorch's each convolution takes, of those that both stages measured."""
    own, torch = results.get("kernels", {}), results.get("torch", {})
    cases = own.get("convolutions", [])
    speeds = {c["case"]: c["tflop_per_s"] for c in cases if isinstance(c, dict)}
    out = {}
    for name, other in CONVOLUTIONS.items():
        for dtype, named in (("f32", "torch.float32"), ("bf16", "torch.bfloat16")):
            speed, peer = speeds.get(name.format(dtype)), torch.get(other.format(named))
            if speed and peer:
                out[name.format(dtype)] = round(peer / speed, 2)
    return out


def main() -> int:
    """Run the stages; the status is 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*", help=f"of {', '.join(STAGES)}; all of them where none is named")
    chosen = parser.parse_args().stages or list(STAGES)
    out = Path(os.environ["OUT"]) if os.environ.get("OUT") else None
    results: dict[str, Any] = {}
    lines: list[str] = []
    failed = False
    for name in chosen:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        try:
            results[name] = STAGES[name]()
        except Exception as error:
            failed = True
            results[name] = {"failed": f"{type(error).__name__}: {error}"}
        seconds = time.monotonic() - start
        text = f"== {name} ({seconds:.1f} s)\n{json.dumps(results[name], indent=1)}"
        print(text, flush=True)
        lines.append(text)
        if out:
            (out / "gpu-check.json").write_text(json.dumps(results, indent=1))
            (out / "gpu-check.txt").write_text("\n".join(lines) + "\n")
    ratios = beside_torch(results)
    if ratios:
        print(f"== convolutions, times of PyTorch's\n{json.dumps(ratios, indent=1)}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
