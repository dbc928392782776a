"""The registers and the stack of kernels, by architecture: a table in Markdown of the sources in a folder.

The emulated driver keeps the sources that it compiles in `PENSTOCK_MOCK_CACHE`; see `make gpu-registers`.
NVRTC makes machine code without a GPU, and says what a kernel takes in the section `.nv.info`.
"""

import argparse
import collections
import ctypes
import re
import struct
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ARCHITECTURES = (75, 80, 90, 100, 120)
# Those of `OPTIONS` in crates/penstock-cuda/src/nvrtc.rs.
OPTIONS = re.compile(r'"(--[a-z=+0-9-]+)"')
# Sources of one kernel that are compiled, the longest first: they differ in dtypes and ranks.
SOURCES = 4
REGISTERS, STACK = 0x2F, 0x11
HEADER = """# Registers of the CUDA kernels

    make gpu-registers NVRTC=libnvrtc.so.13

The most registers of a thread, of up to four sources of each kernel, which differ in dtypes and ranks, as
NVRTC makes machine code for an architecture; and bytes of stack, where there are any: arrays of a thread that
are reached by an index, or registers that were spilled. Kernels have blocks of 256 threads.
"""


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

    def image(self, source: str, arguments: list[str]) -> bytes:
        """Give the machine code of a source."""
        program = ctypes.c_void_p()
        made = self.library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None
        )
        assert made == 0, made
        texts = [a.encode() for a in arguments]
        if self.library.nvrtcCompileProgram(program, len(texts), (ctypes.c_char_p * len(texts))(*texts)):
            raise RuntimeError(f"the source does not compile with {arguments}")
        size = ctypes.c_size_t()
        self.library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetCUBIN(program, out)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return out.raw


def resources(image: bytes) -> dict[str, tuple[int, int]]:
    """Give the registers of a thread, and the bytes of stack to which others are spilled, of each kernel."""
    (at,) = struct.unpack_from("<Q", image, 40)
    size, count, names_at = struct.unpack_from("<HHH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, at + i * size) for i in range(count)]

    def text(table: int, offset: int) -> str:
        start = sections[table][4] + offset
        return image[start : image.index(0, start)].decode()

    symbols: list[str] = []
    found: dict[str, dict[int, int]] = collections.defaultdict(dict)
    for section in sections:
        if section[1] == 2:  # the symbols
            entries = range(section[4], section[4] + section[5], 24)
            symbols += [text(section[6], struct.unpack_from("<I", image, entry)[0]) for entry in entries]
    for section in sections:
        if text(names_at, section[0]) != ".nv.info":
            continue
        place, end = section[4], section[4] + section[5]
        while place < end:
            form, attribute, value = struct.unpack_from("<BBH", image, place)
            place += 4
            if form == 4:  # `value` bytes follow
                if attribute in (REGISTERS, STACK):
                    symbol, number = struct.unpack_from("<II", image, place)
                    found[symbols[symbol]][attribute] = number
                place += value
    return {name: (v.get(REGISTERS, 0), v.get(STACK, 0)) for name, v in found.items()}


def measured(job: tuple[str, list[str], str, list[str]]) -> dict[str, list[tuple[int, int]]]:
    """Give what the kernels of a source take on each architecture."""
    file, arguments, source, wanted = job
    compiler = Nvrtc(file)
    rows: dict[str, list[tuple[int, int]]] = {name: [] for name in wanted}
    for architecture in ARCHITECTURES:
        found = resources(compiler.image(source, [f"--gpu-architecture=sm_{architecture}", *arguments]))
        for name in wanted:
            rows[name].append(found[name])
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("nvrtc", help="the file of NVRTC")
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
            jobs.append((arguments.nvrtc, options(root), source, wanted))
    most: dict[str, list[tuple[int, int]]] = {}
    with ProcessPoolExecutor(2) as pool:
        for rows in pool.map(measured, jobs):
            for name, values in rows.items():
                known = most.setdefault(kind(name), [(0, 0)] * len(ARCHITECTURES))
                most[kind(name)] = [max(a, b) for a, b in zip(known, values, strict=True)]
    print(HEADER)
    print("| kernel | " + " | ".join(f"sm_{a}" for a in ARCHITECTURES) + " |")
    print("|---|" + "---:|" * len(ARCHITECTURES))
    for name, values in sorted(most.items()):
        cells = (f"{registers} + {stack} bytes" if stack else str(registers) for registers, stack in values)
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"{len(jobs)} sources", file=sys.stderr)


def kind(name: str) -> str:
    """Give what a kernel is called whatever its program."""
    if re.search(r"_[0-9a-f]{16}$", name):
        return "fused instructions"
    return f"`{name}`"


if __name__ == "__main__":
    main()
