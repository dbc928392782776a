"""Families of cases: what is measured together, and by which means it is summed up.

A family is a package with a module for each framework that takes part (`on_jax`, …), which has `works()` as
`frameworks` says. The package itself has the list of cases and the inputs, which are the same for all.
"""

from dataclasses import dataclass
from typing import Final

import cases
from cases import Case
from families import applications, machine, npbench, pyhpc


@dataclass(frozen=True, slots=True)
class Mean:
    """A geometric mean over a family: how many times less than some peers we take.

    Attributes:
        title: What we are compared with.
        peers: The frameworks; the best of them counts, case by case.
        suffix: What the key of the peers' case has behind the key of ours.
        only: The cases that count, if not all.
    """

    title: str
    peers: tuple[str, ...]
    suffix: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Cases that are measured and shown together.

    Attributes:
        key: Its name on the command line.
        title: The heading of its tables.
        text: What stands beneath the heading.
        package: The package that has a module for each framework.
        cases: The rows.
        means: What sums it up.
        rounds: How often each framework takes its turn.
        seconds: The time of one repeat.
    """

    key: str
    title: str
    text: str
    package: str
    cases: tuple[Case, ...]
    means: tuple[Mean, ...] = ()
    rounds: int = 3
    seconds: float = 0.05


_ALL: Final = (
    Family(
        "core",
        "What a dataflow engine is for",
        "The table of the README.",
        "frameworks",
        cases.CASES,
        rounds=5,
        seconds=0.1,
    ),
    Family(
        "pyhpc",
        "Ocean models",
        pyhpc.TEXT,
        "families.pyhpc",
        pyhpc.CASES,
        (
            Mean("the best of JAX, Numba and PyTorch", ("jax", "numba", "torch", "torch_compile")),
            Mean("NumPy", ("numpy",)),
        ),
    ),
    Family(
        "npbench",
        "Scientific kernels",
        npbench.TEXT,
        "families.npbench",
        npbench.CASES,
        (Mean("Numba", ("numba",)), Mean("JAX", ("jax",)), Mean("NumPy", ("numpy",))),
    ),
    Family(
        "applications",
        "Programs with control flow",
        applications.TEXT,
        "families.applications",
        applications.CASES,
        (
            Mean("`tf.function`", ("tensorflow",), only=applications.TRACED),
            Mean("TensorFlow, eager", ("tensorflow",), "_eager", applications.TRACED),
            Mean("Penstock, eager", ("penstock",), "_eager", applications.TRACED),
            Mean("JAX", ("jax",), only=applications.TRACED),
        ),
    ),
    Family(
        "machine",
        "The machine's limits",
        machine.TEXT,
        "families.machine",
        machine.CASES,
        (
            Mean("NumPy, matmul up to 32", ("numpy",), only=machine.SMALL_GEMMS),
            Mean("the best peer, matmul from 256", machine.PEERS, only=machine.LARGE_GEMMS),
        ),
    ),
)

FAMILIES: Final = {family.key: family for family in _ALL}
_FAMILY_OF: Final = {case.key: family for family in _ALL for case in family.cases}


def family_of(case: str) -> Family:
    """The family that has the case of this key."""
    return _FAMILY_OF[case]
