"""Iteration over tensors, and over ranges, enumerations and zips of them."""

from __future__ import annotations

import builtins
import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Any

from penstock import _core, raw_ops
from penstock.autograph._branch import is_symbolic
from penstock.autograph._lists import TensorList
from penstock.errors import OperatorNotAllowedInGraphError

__all__ = [
    "Course",
    "Enumerated",
    "Range",
    "Zipped",
    "has_known_length",
    "steps_of",
    "unrolled",
    "updated",
    "whole",
    "wholes",
]


# What gives all elements of a generator as a list, perhaps one of the graph.
wholes: weakref.WeakKeyDictionary[Any, Callable[[], Any]] = weakref.WeakKeyDictionary()


def whole(iterable: Any) -> Any:
    """All elements of a generator that a graph may have to make; everything else as it is."""
    if type(iterable) is not GeneratorType or iterable not in wholes:
        return iterable
    # Once it has begun, what is left of it is Python's.
    begun = iterable.gi_frame is None or iterable.gi_running or iterable.gi_suspended
    return iterable if begun else wholes[iterable]()


class Range:
    """The numbers of `range(...)` with a symbolic argument: a loop over it makes no tensor of them."""

    def __init__(self, start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> None:
        if limit is None:
            start, limit = 0, start
        hint = next(
            (x.dtype for x in (start, limit, delta) if isinstance(x, _core.Tensor | _core._Variable)), None
        )
        hint = hint if dtype is None else dtype
        self.from_zero = not is_symbolic(start) and not isinstance(start, _core.Tensor) and start == 0
        self.by_one = not is_symbolic(delta) and not isinstance(delta, _core.Tensor) and delta == 1
        parts = [_core._to_tensor_hinted(x, hint) for x in (start, limit, delta)]
        # As tf.range: the widest dtype of the three.
        widest = max((p.dtype for p in parts), key=_rank_of_dtype)
        self.start, self.limit, self.delta = (
            p if p.dtype == widest else raw_ops.cast(p, dtype=widest) for p in parts
        )

    def count(self) -> Any:
        span = self.limit if self.from_zero else raw_ops.sub(self.limit, self.start)
        if self.by_one:
            return span
        # Division that rounds up: -(-span // delta).
        return raw_ops.neg(raw_ops.floordiv(raw_ops.neg(span), self.delta))

    def item(self, i: Any) -> Any:
        offset = i if self.by_one else raw_ops.mul(i, self.delta)
        return offset if self.from_zero else raw_ops.add(offset, self.start)

    def tensor(self) -> Any:
        return raw_ops.range(self.start, self.limit, self.delta)

    def __iter__(self) -> Any:
        return iter(unrolled(self.tensor()))


def _rank_of_dtype(dtype: Any) -> int:
    order = ("int32", "int64", "float16", "bfloat16", "float32", "float64")
    return order.index(dtype.name) if dtype.name in order else -1


class _Rows:
    """The elements of a tensor along its first dimension."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def count(self) -> Any:
        size = self.tensor.shape._dims[0] if self.tensor.shape.rank is not None else None
        if size is not None:
            return _core._to_tensor(size, _core.int32)
        return raw_ops.gather(raw_ops.shape(self.tensor, dtype=_core.int32), 0)

    def item(self, i: Any) -> Any:
        return raw_ops.gather(self.tensor, i)


class Enumerated:
    """`enumerate` of something that the graph iterates over."""

    def __init__(self, inner: Any, start: Any = 0) -> None:
        self.inner, self.start_at = inner, start

    def count(self) -> Any:
        return self.inner.count()

    def start(self) -> list[Any]:
        return _start(self.inner)

    def more(self, i: Any, state: Sequence[Any]) -> Any:
        return _more(self.inner, i, state)

    def item(self, i: Any, state: Sequence[Any] = ()) -> Any:
        at = i if not is_symbolic(self.start_at) and self.start_at == 0 else i + self.start_at
        return at, _item(self.inner, i, state)

    def following(self, i: Any, state: Sequence[Any], wanted: Any) -> list[Any]:
        return _following(self.inner, i, state, wanted)

    def __iter__(self) -> Any:
        return builtins.enumerate(_parts(self.inner), self.start_at)


class Zipped:
    """`zip` of things that the graph iterates over."""

    def __init__(self, inners: list[Any]) -> None:
        self.inners = inners
        # How many values the loop carries for each.
        self.sizes: list[int] = []

    def count(self) -> Any:
        found = [x.count() for x in self.inners]
        if any(count is None for count in found):
            return None
        counts = [raw_ops.cast(count, dtype=_core.int32) for count in found]
        least = counts[0]
        for other in counts[1:]:
            least = raw_ops.minimum(least, other)
        return least

    def start(self) -> list[Any]:
        parts = [_start(x) for x in self.inners]
        self.sizes = [len(part) for part in parts]
        return [value for part in parts for value in part]

    def more(self, i: Any, state: Sequence[Any]) -> Any:
        found = [_more(x, i, part) for x, part in zip(self.inners, self._split(state), strict=True)]
        return functools.reduce(raw_ops.logical_and, found)

    def item(self, i: Any, state: Sequence[Any] = ()) -> Any:
        return tuple(_item(x, i, part) for x, part in zip(self.inners, self._split(state), strict=True))

    def following(self, i: Any, state: Sequence[Any], wanted: Any) -> list[Any]:
        found: list[Any] = []
        for inner, part in zip(self.inners, self._split(state), strict=True):
            after = _following(inner, i, part, wanted)
            found += after
            # What ends first ends all: the others are not read any more.
            more = _more(inner, raw_ops.add(i, _core._to_tensor(1, i.dtype)), after)
            wanted = more if wanted is None else raw_ops.logical_and(wanted, more)
        return found

    def _split(self, state: Sequence[Any]) -> list[list[Any]]:
        values = iter(state)
        return [[*itertools.islice(values, size)] for size in self.sizes or [0] * len(self.inners)]

    def __iter__(self) -> Any:
        return zip(*map(_parts, self.inners), strict=False)


# Steps of a known number need nothing carried for them.


def _start(steps: Any) -> list[Any]:
    return [] if isinstance(steps, _Rows | Range) else steps.start()


def _more(steps: Any, i: Any, state: Sequence[Any]) -> Any:
    count = steps.count()
    if count is None:
        return steps.more(i, state)
    return raw_ops.less(raw_ops.cast(i, dtype=count.dtype), count)


def _item(steps: Any, i: Any, state: Sequence[Any]) -> Any:
    return steps.item(i) if isinstance(steps, _Rows | Range) else steps.item(i, state)


def _following(steps: Any, i: Any, state: Sequence[Any], wanted: Any) -> list[Any]:
    return [] if isinstance(steps, _Rows | Range) else steps.following(i, state, wanted)


class Course:
    """The course of a loop over steps: the loop carries its number, and what the steps need."""

    def __init__(self, steps: Any) -> None:
        self._steps = steps
        self._count = steps.count()
        dtype = _core.int64 if self._count is None else self._count.dtype
        self.start = [_core._to_tensor(0, dtype), *_start(steps)]

    @property
    def is_counted(self) -> bool:
        """Whether the number of items is known before the loop."""
        return self._count is not None

    def more(self, carried: Sequence[Any]) -> Any:
        """Whether there is another item: a tensor."""
        if self._count is not None:
            return raw_ops.less(carried[0], self._count)
        return self._steps.more(carried[0], carried[1:])

    def item(self, carried: Sequence[Any]) -> Any:
        """The item of an iteration."""
        return _item(self._steps, carried[0], carried[1:])

    def following(self, carried: Sequence[Any], wanted: Any) -> list[Any]:
        """What is carried behind an iteration; whether there may be another is `wanted`, None for sure."""
        i = carried[0]
        after = _following(self._steps, i, carried[1:], wanted)
        return [raw_ops.add(i, _core._to_tensor(1, i.dtype)), *after]


def _parts(steps: Any) -> Any:
    return unrolled(steps.tensor) if isinstance(steps, _Rows) else steps


def steps_of(iterable: Any) -> Any:
    """What says how many elements there are and which they are; None where Python iterates."""
    if isinstance(iterable, Range | Enumerated | Zipped):
        return iterable
    if isinstance(iterable, TensorList):
        return _Rows(iterable.stack())
    if isinstance(iterable, _core._Variable) and _core._is_tracing():
        iterable = iterable.read_value()
    if isinstance(iterable, _core.Tensor) and _core._is_tracing():
        if iterable.shape.rank == 0:
            raise TypeError(
                "a scalar tensor cannot be iterated over; use tf.range for a number of iterations"
            )
        return _Rows(iterable)
    if _core._is_tracing():
        make = getattr(type(iterable), "_graph_steps", None)
        return None if make is None else make(iterable)
    return None


def has_known_length(steps: Any) -> bool:
    """Whether the number of elements is known while tracing."""
    if isinstance(steps, Zipped):
        return all(map(has_known_length, steps.inners))
    if isinstance(steps, Enumerated):
        return has_known_length(steps.inner)
    if steps.count() is None:
        return False
    tensor = steps.tensor() if isinstance(steps, Range) else steps.tensor
    return tensor.shape.rank is not None and tensor.shape._dims[0] is not None


def unrolled(iterable: Any, what: str = "iterating here") -> Any:
    """The elements of a symbolic tensor as a list, if their number is known; everything else as it is."""
    iterable = whole(iterable)
    if isinstance(iterable, Enumerated | Zipped) and not has_known_length(iterable):
        raise OperatorNotAllowedInGraphError(
            f"{what} over symbolic tensors needs their first dimensions to be known while tracing: use a for "
            "loop, a list comprehension, or tf.map_fn"
        )
    if isinstance(iterable, TensorList):
        iterable = iterable.stack()
    if isinstance(iterable, Range):
        iterable = iterable.tensor()
    if not is_symbolic(iterable):
        return iterable
    if isinstance(iterable, _core._Variable):
        iterable = iterable.read_value()
    if iterable.shape.rank == 0:
        raise TypeError("a scalar tensor cannot be iterated over")
    size = None if iterable.shape.rank is None else iterable.shape._dims[0]
    if size is None:
        raise OperatorNotAllowedInGraphError(
            f"{what} over a symbolic tensor needs its first dimension to be known while tracing, "
            f"got shape {iterable.shape}: use a for loop, a list comprehension, or tf.map_fn"
        )
    if size == 0:
        return []
    parts = raw_ops.unstack(iterable, num=size)
    return [parts] if size == 1 and isinstance(parts, _core.Tensor) else list(parts)


def unstacked(tensor: Any, count: int) -> list[Any]:
    """The elements of a tensor along its first dimension, of which there are `count`."""
    if isinstance(tensor, _core._Variable):
        tensor = tensor.read_value()
    if tensor.shape.rank == 0:
        raise TypeError(f"cannot unpack a scalar tensor into {count} targets")
    size = None if tensor.shape.rank is None else tensor.shape._dims[0]
    if size is not None and size != count:
        raise ValueError(f"cannot unpack a tensor of shape {tensor.shape} into {count} targets")
    parts = raw_ops.unstack(tensor, num=count)
    return [parts] if isinstance(parts, _core.Tensor) else list(parts)


def updated(target: Any, index: Any, value: Any) -> Any:
    """A tensor with one element, or one row, replaced."""
    shape = raw_ops.shape(target, dtype=_core.int32)
    if isinstance(index, slice):
        # The rows that it names, by their numbers.
        at = raw_ops.range(0, raw_ops.gather(shape, 0), 1)[index]
        value = _core._to_tensor_hinted(value, target.dtype)
        value = raw_ops.broadcast_to(value, raw_ops.shape(target[index], dtype=_core.int32))
        return raw_ops.tensor_scatter_nd_update(target, raw_ops.expand_dims(at, axis=1), value)
    if (
        index is None
        or index is Ellipsis
        or (
            isinstance(index, tuple)
            and any(isinstance(i, slice | type(Ellipsis) | type(None)) for i in index)
        )
    ):
        raise TypeError(
            "assignment to a slice of a tensor in several dimensions is not supported while tracing: use "
            "tf.tensor_scatter_nd_update, tf.where or tf.concat"
        )
    indices = index if isinstance(index, tuple) else (index,)
    rank = target.shape.rank
    if rank is not None and len(indices) > rank:
        raise IndexError(f"too many indices for a tensor of shape {target.shape}")
    parts = []
    for axis, i in enumerate(indices):
        i = raw_ops.cast(_core._to_tensor_hinted(i, _core.int32), dtype=_core.int32)
        size = raw_ops.gather(shape, axis)
        parts.append(raw_ops.select(raw_ops.less(i, 0), raw_ops.add(i, size), i))
    at = raw_ops.expand_dims(raw_ops.stack(parts), axis=0)
    value = _core._to_tensor_hinted(value, target.dtype)
    row = raw_ops.gather_nd(target, raw_ops.stack(parts))
    value = raw_ops.broadcast_to(value, raw_ops.shape(row, dtype=_core.int32))
    return raw_ops.tensor_scatter_nd_update(target, at, raw_ops.expand_dims(value, axis=0))
