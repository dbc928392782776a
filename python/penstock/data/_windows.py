"""Windows that a function only batches: the engine does that, without a data set for each of them."""

from __future__ import annotations

from typing import NamedTuple

from penstock import _core
from penstock.data import _batching, _stages
from penstock.data._arguments import integer
from penstock.data._functions import Traced
from penstock.data._node import GIVEN, Node
from penstock.data._rows import Pull

__all__ = ["Batches", "batches_of", "flat_mapped"]


class Batches(NamedTuple):
    """Batches of the elements of data sets, and nothing else.

    Attributes:
        size: how many elements a batch has.
        drop: whether a last one that is smaller is left out.
        leaves: the numbers of the arguments that are these data sets.
    """

    size: int
    drop: bool
    leaves: list[int]


def batches_of(function: Traced) -> Batches | None:
    """The batches that a function makes of data sets, where it does nothing else."""
    made = function.makes
    if made is None:
        return None
    parts = made.dataset._inputs if made.dataset._kind.open is _stages.zipped else (made.dataset,)
    if any(part._kind.open is not _batching.batched or part._inputs[0]._kind is not GIVEN for part in parts):
        return None
    sizes = {part._args for part in parts}
    given = [part._inputs[0]._args[0]._id for part in parts]
    if len(sizes) != 1 or not set(given) <= set(made.arguments):
        return None
    size, drop = sizes.pop()
    if not isinstance(size, int) or not isinstance(drop, bool):
        return None
    return Batches(size, drop, [made.arguments.index(one) for one in given])


class _Opened:
    """A data set that was opened."""

    def __init__(self, pull: Pull) -> None:
        self._pull = pull

    def _open(self) -> Pull:
        return self._pull


def flat_mapped(source: Node, function: Traced, batches: Batches | None) -> Pull:
    """The elements of the data sets that a function gives, one set after the other."""
    if batches is None or source._kind.open is not _batching.windows:
        return _stages.flat_mapped(source, function)
    pull = source._inputs[0]._open()
    size, shift, stride, drop, wrap = source._args
    if not isinstance(pull, _core._Stage):
        windows = _batching.windows(_Opened(pull), size, shift, stride, drop, wrap)
        return _stages.flat_mapped(_Opened(windows), function)
    window = integer(size, "size", 1), integer(shift, "shift", 1), integer(stride, "stride", 1), bool(drop)
    return pull.window_batches(window, batches.size, batches.drop, batches.leaves)
