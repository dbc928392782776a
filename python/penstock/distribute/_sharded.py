"""Variables that are divided among parameter servers, and what says into how many parts."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._ops.arrangement import concat
from penstock._runtime.arguments import integer
from penstock._types.shape import TensorShape

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike
    from penstock._values.variable import Variable

__all__ = [
    "FixedShardsPartitioner",
    "MaxSizePartitioner",
    "MinSizePartitioner",
    "Partitioner",
    "ShardedVariable",
    "parts_of",
]


class Partitioner(abc.ABC):
    """The base of what says into how many parts a variable is divided.

    >>> import penstock as tf
    >>> class Halves(tf.distribute.experimental.partitioners.Partitioner):
    ...     def __call__(self, shape, dtype, axis=0):
    ...         return [2] + [1] * (len(shape) - 1)
    >>> Halves()(tf.TensorShape([4, 2]), tf.float32)
    [2, 1]
    """

    @abc.abstractmethod
    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Give the number of parts along each dimension.

        Args:
            shape: the extents of the variable.
            dtype: its element type.
            axis: the dimension that is divided.

        Returns:
            A number for each dimension, 1 for all but one.
        """


def _extents(shape: ShapeLike) -> list[int]:
    found = TensorShape(shape)
    if not found.is_fully_defined():
        raise ValueError(f"argument 'shape' must be fully known, got {found}")
    return [int(size or 0) for size in found.as_list()]


def _along(shape: ShapeLike, axis: int, count: int) -> list[int]:
    """`count` parts along a dimension, or one for each row where there are fewer.

    Raises:
        ValueError: for a dimension that is not there, or a shape that is not known.
    """
    extents = _extents(shape)
    if not 0 <= axis < len(extents):
        raise ValueError(f"argument 'axis' must name one of {len(extents)} dimensions, got {axis}")
    parts = [1] * len(extents)
    parts[axis] = max(1, min(count, extents[axis]))
    return parts


def _bytes(shape: ShapeLike, dtype: DTypeLike, bytes_per_string: int) -> int:
    kind = _core.DType(dtype)
    return math.prod(_extents(shape)) * (bytes_per_string if kind == _core.string else kind.size)


class FixedShardsPartitioner(Partitioner):
    """Divides each variable into as many parts.

    Args:
        num_shards: how many; a variable with fewer rows has a part for each.

    >>> import penstock as tf
    >>> partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(num_shards=2)
    >>> partitioner(tf.TensorShape([10, 3]), tf.float32)
    [2, 1]
    """

    def __init__(self, num_shards: int) -> None:
        self._count = integer(num_shards, "num_shards")

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        return _along(shape, axis, self._count)


class MinSizePartitioner(Partitioner):
    """Divides variables into parts of about a least size.

    Args:
        min_shard_bytes: the size of a part, in bytes.
        max_shards: the greatest number of parts.
        bytes_per_string: how long a text counts.

    Raises:
        ValueError: for a number below 1.

    >>> import penstock as tf
    >>> partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(4, max_shards=2)
    >>> partitioner(tf.TensorShape([6, 1]), tf.float32)
    [2, 1]
    """

    def __init__(
        self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16
    ) -> None:
        self._least = _positive(min_shard_bytes, "min_shard_bytes")
        self._most = _positive(max_shards, "max_shards")
        self._text = _positive(bytes_per_string, "bytes_per_string")

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        size = _bytes(shape, dtype, self._text)
        return _along(shape, axis, min(self._most, math.ceil(size / self._least)))


class MaxSizePartitioner(Partitioner):
    """Divides variables into parts of a greatest size.

    Args:
        max_shard_bytes: the greatest size of a part, in bytes; a row is a part in any case.
        max_shards: the greatest number of parts, which comes first; None for no limit.
        bytes_per_string: how long a text counts.

    Raises:
        ValueError: for a number below 1.

    >>> import penstock as tf
    >>> partitioner = tf.distribute.experimental.partitioners.MaxSizePartitioner(max_shard_bytes=4)
    >>> partitioner(tf.TensorShape([6, 1]), tf.float32)
    [6, 1]
    """

    def __init__(
        self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16
    ) -> None:
        self._greatest = _positive(max_shard_bytes, "max_shard_bytes")
        self._most = None if max_shards is None else _positive(max_shards, "max_shards")
        self._text = _positive(bytes_per_string, "bytes_per_string")

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        _along(shape, axis, 1)
        rows = _extents(shape)[axis]
        row = _bytes(shape, dtype, self._text) / max(1, rows)
        each = max(1, math.floor(self._greatest / max(1, row)))
        count = math.ceil(rows / each)
        return _along(shape, axis, count if self._most is None else min(self._most, count))


def _positive(value: int, name: str) -> int:
    number = integer(value, name)
    if number < 1:
        raise ValueError(f"argument '{name}' must be at least 1, got {number}")
    return number


def parts_of(rows: int, count: int) -> list[tuple[int, int]]:
    """Where each of `count` parts of some rows begins and ends; the first ones have one more."""
    each, more = divmod(rows, count)
    starts = [number * each + min(number, more) for number in range(count + 1)]
    return [(starts[number], starts[number + 1]) for number in range(count)]


class ShardedVariable:
    """A variable whose rows are divided among several variables. It becomes a tensor where one is expected.

    A checkpoint has it as one value in as many parts; what is divided otherwise, or not, can restore it.

    Args:
        variables: the parts, one under the other.
        name: a name for people.
    """

    _checkpoint_part = ("VARIABLE_VALUE", ("",))

    def __init__(self, variables: Sequence[Variable], name: str = "ShardedVariable") -> None:
        self.variables, self.name = list(variables), name
        rows = [_extents(v.shape)[0] for v in self.variables]
        self.shape = TensorShape([sum(rows), *self.variables[0].shape[1:]])
        self.dtype = self.variables[0].dtype
        self._bounds = [(sum(rows[:k]), sum(rows[: k + 1])) for k in range(len(rows))]

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it when it is read."""
        return self.variables[0].trainable

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def value(self) -> _core.Tensor:
        return concat([v.value() for v in self.variables], 0)

    read_value = value

    def numpy(self) -> Any:
        return self.value().numpy()

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return _core._to_tensor(self.value(), dtype)

    def __getitem__(self, key: Any) -> Any:
        return self.value()[key]

    def _each(self, method: Callable[[Variable], Callable[[Any], Any]], value: TensorLike) -> ShardedVariable:
        whole = _core._to_tensor_hinted(value, self.dtype)
        for variable, (start, end) in zip(self.variables, self._bounds, strict=True):
            method(variable)(whole[start:end])
        return self

    def assign(self, value: TensorLike) -> ShardedVariable:
        return self._each(lambda v: v.assign, value)

    def assign_add(self, delta: TensorLike) -> ShardedVariable:
        return self._each(lambda v: v.assign_add, delta)

    def assign_sub(self, delta: TensorLike) -> ShardedVariable:
        return self._each(lambda v: v.assign_sub, delta)

    def _trackable_children(self) -> dict[str, Any]:
        return {}

    def _save_state(self) -> list[list[_core.Tensor]]:
        return [[v.read_value() for v in self.variables]]

    def _restore_state(self, value: _core.Tensor) -> None:
        self.assign(value)

    def __repr__(self) -> str:
        return (
            f"<ShardedVariable '{self.name}' shape={self.shape} dtype={self.dtype.name} "
            f"of {len(self.variables)}>"
        )
