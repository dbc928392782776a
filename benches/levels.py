"""The instruction sets that measurements are held to, so that one machine shows what another one would."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Level:
    """A bound on the instructions of every framework.

    Attributes:
        title: The instructions, as a table names them; empty if there is no bound.
        results: The file of its results.
        variables: What tells each framework, and the libraries that it calls, to use no more.
    """

    title: str
    results: Path
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """The environment of a process that is held to it.

        Some libraries follow no variable: they ask the processor. Where that can be made to say less, it is.
        """
        if not self.variables:
            return dict(os.environ)
        mask = cpuid_mask()
        return os.environ | self.variables | ({"LD_PRELOAD": str(mask)} if mask else {})


def cpuid_mask() -> Path | None:
    """The library of `cpuid_mask.c`, built where it is not there yet; `None` where it is of no use.

    Raises:
        SystemExit: The machine has AVX-512, and cannot hide it.
    """
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if "avx512f" not in flags:
        return None
    compiler = shutil.which("cc") or shutil.which("gcc")
    if "cpuid_fault" not in flags or compiler is None:
        raise SystemExit("to hide AVX-512 takes a C compiler and a processor with cpuid_fault")
    source = HERE / "cpuid_mask.c"
    folder = Path(tempfile.gettempdir()) / f"penstock-benches-{os.getuid()}"
    library = folder / f"cpuid_mask-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.so"
    if not library.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"]
        subprocess.run(command, check=True)
        made.rename(library)
    return library


LEVELS: Final = {
    "best": Level("", HERE / "results.json"),
    "avx2": Level(
        "AVX2",
        HERE / "results-avx2.json",
        {
            "PENSTOCK_SIMD": "v3",
            "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
            "OPENBLAS_CORETYPE": "Haswell",
            "NUMBA_CPU_NAME": "haswell",
            "NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512_SPR",
        },
    ),
}
