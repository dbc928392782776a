"""Registers and memory accesses of kernels, by architecture: a table in Markdown of the sources in a folder.

The emulated driver keeps the sources that it compiles in `PENSTOCK_MOCK_CACHE`; see `make gpu-registers`.
NVRTC makes machine code without a GPU, and its log says what a kernel takes; `nvdisasm` shows instructions.
"""

import argparse
import collections
import ctypes
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ARCHITECTURES = (75, 80, 90, 100, 120)
# Those of `OPTIONS` in crates/penstock-cuda/src/nvrtc.rs.
OPTIONS = re.compile(r'"(--[a-z=+0-9-]+)"')
# Sources of one kernel that are compiled, the longest first: they differ in dtypes and ranks.
SOURCES = 4
HEADER = """# Registers of the CUDA kernels

    make gpu-registers

Made of up to four sources of each kernel, which differ in dtypes and ranks, as NVRTC makes machine code for
an architecture. Kernels have blocks of 256 threads.

- *Registers*: the most that a thread takes.
- *Local*: bytes of local memory, for arrays of a thread that are reached by an index. The fused instructions
  that have some reduce the arguments of sines, cosines and tangents.
- *Spilled*: bytes of registers that are stored in local memory for want of room.
- *Loads*, *stores*: the bits of global memory that one instruction of a thread takes, at most: the least and
  the greatest of the sources and architectures.
"""


@dataclass
class Use:
    """What a kernel takes on one architecture."""

    registers: int = 0
    local: int = 0
    spilled: int = 0
    loads: int = 0
    stores: int = 0


def options(root: Path) -> list[str]:
    """Give the options of the engine."""
    text = (root / "crates/penstock-cuda/src/nvrtc.rs").read_text()
    return OPTIONS.findall(text.split("const OPTIONS", 1)[1].split(";", 1)[0])


class Nvrtc:
    """The compiler."""

    def __init__(self, file: str) -> None:
        builtins = next(Path(file).parent.glob("libnvrtc-builtins.so*"), None)
        if builtins:
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(file)

    def compiled(self, source: str, arguments: list[str]) -> tuple[bytes, str]:
        """Give the machine code of a source, and what the compiler says of it."""
        program = ctypes.c_void_p()
        made = self.library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None
        )
        assert made == 0, made
        texts = [a.encode() for a in arguments]
        code = self.library.nvrtcCompileProgram(program, len(texts), (ctypes.c_char_p * len(texts))(*texts))
        log = self.output(program, "ProgramLog").rstrip(b"\0").decode()
        if code:
            raise RuntimeError(f"the source does not compile with {arguments}: {log}")
        image = self.output(program, "CUBIN")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return image, log

    def output(self, program: ctypes.c_void_p, what: str) -> bytes:
        """Give a result of a compilation."""
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, out)
        return out.raw


def resources(log: str) -> dict[str, Use]:
    """Give what each kernel takes by the compiler's log."""
    uses: dict[str, Use] = {}
    own = Use()
    for line in log.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)'", line):
            own = uses.setdefault(entry[1], Use())
        elif stack := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line):
            own.local = max(own.local, int(stack[1]))
            own.spilled += int(stack[2]) + int(stack[3])
        elif registers := re.search(r"Used (\d+) registers", line):
            own.registers = int(registers[1])
    return uses


def accesses(listing: str) -> dict[str, tuple[int, int]]:
    """Give the bits of the widest load and the widest store of global memory of each kernel."""
    widest: dict[str, tuple[int, int]] = {}
    for name, text in re.findall(r"\.section\s+\.text\.(\w+),(.*?)(?=\.section\s|\Z)", listing, re.DOTALL):
        loads, stores = [0], [0]
        for kind, suffixes in re.findall(r"\b(LDG|STG)((?:\.\w+)*)", text):
            parts = suffixes.split(".")
            bits = next((int(b) for b in ("256", "128", "64") if b in parts), 32)
            bits = next((b for b in (8, 16) if {f"U{b}", f"S{b}"} & {*parts}), bits)
            (loads if kind == "LDG" else stores).append(bits)
        widest[name] = max(loads), max(stores)
    return widest


def disassembled(nvdisasm: str, image: bytes) -> str:
    """Give the instructions of machine code."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        return subprocess.run([nvdisasm, file.name], capture_output=True, text=True, check=True).stdout


def measured(job: tuple[str, str, list[str], str, list[str]]) -> dict[str, list[Use]]:
    """Give what the kernels of a source take on each architecture."""
    file, nvdisasm, arguments, source, wanted = job
    compiler = Nvrtc(file)
    rows: dict[str, list[Use]] = {name: [] for name in wanted}
    for architecture in ARCHITECTURES:
        target = [f"--gpu-architecture=sm_{architecture}", "--ptxas-options=-v"]
        image, log = compiler.compiled(source, [*target, *arguments])
        uses, widest = resources(log), accesses(disassembled(nvdisasm, image))
        for name in wanted:
            uses[name].loads, uses[name].stores = widest[name]
            rows[name].append(uses[name])
    return rows


def row(sources: list[list[Use]]) -> str:
    """Give the cells of a kernel."""
    columns = list(zip(*sources, strict=True))
    cells = [str(max(use.registers for use in column)) for column in columns]
    all_uses = [use for column in columns for use in column]
    cells.extend(str(max(values)) for values in zip(*((u.local, u.spilled) for u in all_uses), strict=True))
    for values in zip(*((u.loads, u.stores) for u in all_uses), strict=True):
        least, most = min(values), max(values)
        cells.append(str(most) if least == most else f"{least} to {most}")
    return " | ".join(cells)


def main() -> None:
    """Print the table; fail where registers are spilled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("nvrtc", help="the file of NVRTC")
    parser.add_argument("nvdisasm", help="the file of nvdisasm")
    arguments = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    sources = sorted((p.read_text() for p in arguments.sources.glob("*.cu")), key=len, reverse=True)
    taken: collections.Counter[str] = collections.Counter()
    jobs = []
    for source in sources:
        # A kernel of fused instructions has a name of its own for each program.
        names = re.findall(r'extern "C" __global__ void (\w+)\(', source)
        wanted = [name for name in names if taken[kind(name)] < SOURCES][:1] if len(names) > 8 else names
        wanted = [name for name in wanted if taken[kind(name)] < SOURCES]
        taken.update(kind(name) for name in wanted)
        if wanted:
            jobs.append((arguments.nvrtc, arguments.nvdisasm, options(root), source, wanted))
    found: dict[str, list[list[Use]]] = {}
    with ProcessPoolExecutor(2) as pool:
        for rows in pool.map(measured, jobs):
            for name, uses in rows.items():
                found.setdefault(kind(name), []).append(uses)
    print(HEADER)
    titles = [f"sm_{a}" for a in ARCHITECTURES] + ["local", "spilled", "loads", "stores"]
    print("| kernel | " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * len(titles))
    for name, kinds in sorted(found.items()):
        print(f"| {name} | {row(kinds)} |")
    print(f"{len(jobs)} sources", file=sys.stderr)
    spilled = [name for name, kinds in found.items() if any(use.spilled for uses in kinds for use in uses)]
    if spilled:
        sys.exit(f"registers are spilled by {', '.join(sorted(spilled))}")


def kind(name: str) -> str:
    """Give what a kernel is called whatever its program."""
    if re.search(r"_[0-9a-f]{16}$", name):
        return "fused instructions"
    return f"`{name}`"


if __name__ == "__main__":
    main()
