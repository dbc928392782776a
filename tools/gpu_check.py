"""Check and measure the CUDA device on a machine with a GPU: `make gpu-check`.

Prints results as they come, and writes `gpu-check.json` and `gpu-check.txt` to $OUT where that is set. Needs
the installed package, NVRTC from the wheel nvidia-cuda-nvrtc or a toolkit, and, for the tests and figures of
the Rust crate, the programs that `make gpu-programs` puts into `target/gpu`. Figures of PyTorch come beside
them where it is installed. Each stage has a limit of time; one that fails is reported, and the next one runs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
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
    out: dict[str, Any] = {"loads": True}
    try:
        driver.call("cuModuleLoadData", ctypes.byref(module), compile_cubin(CONDITIONAL, driver.arch))
    except Failure as failure:
        out = {"loads": False, "why": str(failure)}
        print("   ", out, flush=True)
        image = linked(driver, compile_cubin(CONDITIONAL, driver.arch, b"--relocatable-device-code=true"))
        driver.call("cuModuleLoadData", ctypes.byref(module), image)
        out["loads_linked"] = True
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


def machine() -> dict[str, Any]:
    """What runs here."""
    query = [
        "nvidia-smi",
        "--query-gpu=name,driver_version,memory.total,clocks.max.sm",
        "--format=csv,noheader",
    ]
    smi = subprocess.run(query, capture_output=True, text=True, check=False)
    out: dict[str, Any] = {"gpu": smi.stdout.strip(), "python": sys.version.split()[0], "nvrtc": find_nvrtc()}
    import penstock

    out["penstock"] = penstock.__version__
    out["devices"] = [str(d) for d in penstock.config.list_physical_devices()]
    return out


def run(command: list[str], limit: float, **extra: str) -> tuple[int, str]:
    """Run a program, print what it says, and return its status and its output."""
    env = {**os.environ, "PENSTOCK_NVRTC": os.environ.get("PENSTOCK_NVRTC") or find_nvrtc(), **extra}
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
    out: dict[str, Any] = {
        "status": status,
        "summary": [x for x in output.splitlines() if x.startswith("test result")],
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
    out["column sums"] = measure(lambda: rows.sum(0), 4 * n)
    out["softmax"] = measure(lambda: torch.softmax(rows, 1), 8 * n)
    small = torch.rand(1, device="cuda")
    out["one element"] = measure(lambda: torch.selu(small), 8)
    a, b = (torch.rand(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    ms = measure(lambda: a @ b, 0)["us"] / 1e3
    out["bf16 8192^3 TFLOP/s"] = round(2 * 8192**3 / ms / 1e9)
    f, g = (torch.rand(4096, 4096, device="cuda") for _ in range(2))
    ms = measure(lambda: f @ g, 0)["us"] / 1e3
    out["f32 4096^3 TFLOP/s"] = round(2 * 4096**3 / ms / 1e9, 1)

    def polynomial(v: torch.Tensor) -> torch.Tensor:
        total = torch.full_like(v, 0.5)
        for c in (-1.25, 2.0, 0.75, -0.5, 1.5, 3.0):
            total = total * v + c
        return total

    compiled = torch.compile(polynomial)
    out["polynomial 2^28, torch.compile"] = measure(lambda: compiled(x), 8 * n)
    return out


STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "machine": machine,
    "conditional": conditional,
    "device tests": device_tests,
    "tests/gpu": python_tests,
    "kernels": kernels,
    "torch": torch_figures,
}


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
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
