"""The instruction sets that measurements are held to, so that one machine shows what another one would."""

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
        environment: What tells each framework, and the libraries that it calls, to use no more.
    """

    title: str
    results: Path
    environment: dict[str, str] = field(default_factory=dict)


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
