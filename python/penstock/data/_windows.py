"""What becomes of windows: the engine batches them alone, and hands others to the functions of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock import _core, math, raw_ops
from penstock._types.specs import TensorSpec
from penstock.data import _batching, _stages
from penstock.data._functions import Traced, converted_function, traced
from penstock.data._handles import HANDLE
from penstock.data._node import GIVEN, Node
from penstock.data._rows import Pull
from penstock.data._specs import DatasetSpec

__all__ = ["Batches", "Reduction", "batches_of", "flat_mapped", "reduction_of"]


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
    """The batches of data sets that a function gives. None for a function that does more than batch."""
    made = function.makes
    if made is None or not made.only:
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
    if source._kind.open is not _batching.windows or not _stages.gives_plain(function):
        return _stages.flat_mapped(source, function)
    pull = source._inputs[0]._open()
    size, shift, stride, drop, wrap = source._args
    if not isinstance(pull, _core._Stage):
        windows = _batching.windows(_Opened(pull), size, shift, stride, drop, wrap)
        return _stages.flat_mapped(_Opened(windows), function)
    window = _batching.window_of(size, shift, stride, drop)
    if batches is None:
        return pull.windows_flat_mapped(window, lambda rows: function(wrap(rows))[0]._open())
    return pull.window_batches(window, batches.size, batches.drop, batches.leaves)


class Reduction(NamedTuple):
    """Batches of windows of elements with one key, and nothing else.

    Attributes:
        numbers: a function of the key that gives numbers; None where there are none.
        size: how many elements a batch has. This and what follows are values, or `Of` these numbers.
        drop: whether a last one that is smaller is left out.
        pads: for each leaf, where it is padded, the sizes to pad to and the value; None for no padding.
    """

    numbers: Traced | None
    size: Any
    drop: bool
    pads: list[Any] | None


class Of(NamedTuple):
    """A number that a function of the key gives: which one."""

    number: int


def reduction_of(function: Traced, reduce_func: Callable[..., Any], element: Any) -> list[Any] | None:
    """The batches that a function of a key and a data set gives. None for one that does more than batch.

    Args:
        function: the function.
        reduce_func: the function that it is the trace of.
        element: the specification of the elements of the data set.

    Returns:
        The fields of a `Reduction`; None for another function.
    """
    made = function.makes
    if made is None or not _batches_only(made.dataset, made.arguments[-1]):
        return None
    if made.only and not any(map(_is_symbolic, _numbers(made.dataset))):
        return [None, *_fields(made.dataset)[0]]
    made_of: list[list[Any]] = []

    def numbers(key: Any) -> Any:
        # Stands for a window. What looks at it does something that is no batching.
        window = raw_ops.broadcast_to(key, HANDLE.shape._dims)
        dataset = run(key, DatasetSpec(element).from_tensors(iter([window])))
        fields, given = _fields(dataset) if _batches_only(dataset, window._id) else (None, [])
        made_of[:] = [] if fields is None else [fields]
        return tuple(given)

    run = converted_function(reduce_func)
    found = traced(numbers, "reduce_func", (TensorSpec([], _core.int64),))
    return [found, *made_of[0]] if found.alone and made_of else None


def _batches_only(dataset: Any, window: int) -> bool:
    """Whether a data set has batches of a window: the one whose handle is the tensor of this number."""
    if dataset._kind.open not in (_batching.batched, _batching.padded):
        return False
    (source,) = dataset._inputs
    given = source._kind is GIVEN and source._args[0]._id == window
    return given and source._structure.plain and isinstance(dataset._args[1], bool)


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, _core.Tensor) and value._is_symbolic


def _numbers(dataset: Any) -> Iterator[Any]:
    """The sizes and the values of batches."""
    size, _, *padded = dataset._args
    shapes, *values = padded or ((),)
    yield size
    yield from values
    for shape in shapes:
        yield from shape or ()


def _fields(dataset: Any) -> tuple[list[Any], list[Any]]:
    """The fields of a `Reduction` behind the first, and the tensors of the trace that are its numbers."""
    given: list[Any] = []

    def field(value: Any, kind: Any = None) -> Any:
        if not _is_symbolic(value):
            return value if kind is None or value is None else int(value)
        given.append(value if kind is None else math.cast(value, kind))
        return Of(len(given) - 1)

    size, drop, *padded = dataset._args
    size, pads = field(size, _core.int64), None
    if padded:
        shapes, *values = padded
        pads = [
            None if shape is None else ([field(n, _core.int64) for n in shape], field(value))
            for shape, value in zip(shapes, values, strict=True)
        ]
    return [size, drop, pads], given
