"""Values that differ from replica to replica of a process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock import _core, nest
from penstock._ops.arithmetic import add_n
from penstock._ops.arrangement import concat
from penstock._values.extension_type import ExtensionType
from penstock._values.indexed_slices import IndexedSlices
from penstock.distribute import _context
from penstock.distribute._input import DistributedValues
from penstock.types.experimental import distributed

__all__ = ["PerReplica", "in_order", "local", "of_replica", "reduced", "regrouped"]


class PerReplica(ExtensionType):
    """A value for each replica of a process. It goes in and out of traced functions, loops and data sets.

    Args:
        values: the values, by the numbers of the replicas.
    """

    values: tuple[Any, ...]

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = tuple(values)

    def __repr__(self) -> str:
        lines = [f"  {number}: {value!r}" for number, value in enumerate(self.values)]
        return "PerReplica:{\n" + ",\n".join(lines) + "\n}"


DistributedValues.register(PerReplica)
distributed.PerReplica.register(PerReplica)


def regrouped(values: Sequence[Any]) -> Any:
    """What replicas returned, as one nest with `PerReplica` at the leaves.

    What is no tensor, and the same object for all, stays as it is.

    Raises:
        ValueError, TypeError: where the replicas have nests of several structures.
    """
    first = values[0]
    for other in values[1:]:
        nest.assert_same_structure(first, other)

    def leaf(*of_all: Any) -> Any:
        shared = not isinstance(of_all[0], _core.Tensor) and all(x is of_all[0] for x in of_all)
        return of_all[0] if shared else PerReplica(of_all)

    return nest.pack_sequence_as(first, map(leaf, *map(nest.flatten, values)))


def of_replica(number: int, value: Any) -> Any:
    """A nest as one replica sees it."""
    return nest.map_structure(lambda x: x.values[number] if isinstance(x, PerReplica) else x, value)


def local(value: Any, count: int) -> tuple[Any, ...]:
    """The nests of all replicas; of a value that they share, one."""
    leaves = nest.flatten(value)
    if not any(isinstance(leaf, PerReplica) for leaf in leaves):
        return (value,)
    return tuple(of_replica(number, value) for number in range(count))


def in_order(values: Sequence[Any]) -> list[Any]:
    """The values of replicas as tensors, or as `IndexedSlices` where all are."""
    if all(isinstance(x, IndexedSlices) for x in values):
        return list(values)
    return [_context._tensor(x) for x in values]


def reduced(name: str, values: Sequence[Any]) -> Any:
    """The sum or the mean of the values of all replicas, added in their order."""
    found = in_order(values)
    if isinstance(found[0], IndexedSlices):
        rows = concat([x.values for x in found], 0)
        indices = concat([x.indices for x in found], 0)
        return IndexedSlices(rows / len(found) if name == "MEAN" else rows, indices, found[0].dense_shape)
    total = add_n(found)
    return total / len(found) if name == "MEAN" else total
