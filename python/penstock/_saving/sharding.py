"""Which tensors of a checkpoint go into which file: `tf.train.experimental.ShardingCallback` and its kin."""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock import _core
from penstock._runtime.arguments import integer
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.variable import SaveSliceInfo

__all__ = [
    "GRAPH_KEY",
    "MaxShardSizePolicy",
    "Shard",
    "ShardByTaskPolicy",
    "ShardableTensor",
    "ShardingCallback",
    "Written",
    "divided",
    "extents_of",
    "part_of",
]

# The key of the description of the objects, which has no size that counts.
GRAPH_KEY: Final = "_CHECKPOINTABLE_OBJECT_GRAPH"

# For each key the tensors by their places in the whole: "" for all of it.
Shard = Mapping[str, Mapping[str, _core.Tensor]]
# Where a part begins, and its extents.
_Box = tuple[list[int], list[int]]


@dataclass(frozen=True)
class ShardableTensor:
    """A tensor that is to be written to a checkpoint, and what is known of it.

    Attributes:
        _tensor_save_spec: None; kept for TensorFlow's order of parameters.
        tensor: the tensor.
        dtype: its dtype.
        device: where it is.
        name: the name of the variable, or the key.
        shape: its shape.
        slice_spec: its place in the whole, as `tf.Variable.SaveSliceInfo.spec` writes it; empty for all.
        checkpoint_key: the key in the file.
        trackable: the object that has it.

    >>> import penstock as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> make = tf.train.experimental.ShardableTensor
    >>> given = make(None, x, x.dtype, x.device, "v", x.shape, "", "v/.ATTRIBUTES/VARIABLE_VALUE", None)
    >>> policy = tf.train.experimental.MaxShardSizePolicy(4)
    >>> [list(parts) for shard in policy([given]) for parts in shard.values()]
    [['2 0,1'], ['2 1,1']]
    """

    _tensor_save_spec: Any
    tensor: _core.Tensor
    dtype: _core.DType
    device: str
    name: str
    shape: TensorShape
    slice_spec: str
    checkpoint_key: str
    trackable: Any

    def __hash__(self) -> int:
        return hash((self.name, self.dtype, str(self.device), self.checkpoint_key))


class ShardingCallback(abc.ABC):
    """What divides the tensors of a checkpoint among files.

    A class of one's own defines `description` and `__call__`. An object of it is the
    `experimental_sharding_callback` of `tf.train.CheckpointOptions`.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> class OneEach(tf.train.experimental.ShardingCallback):
    ...     @property
    ...     def description(self):
    ...         return "Give each tensor a file of its own."
    ...     def __call__(self, shardable_tensors):
    ...         return [{t.checkpoint_key: {t.slice_spec: t.tensor}} for t in shardable_tensors]
    >>> directory = tempfile.mkdtemp()
    >>> options = tf.train.CheckpointOptions(experimental_sharding_callback=OneEach())
    >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0), w=tf.Variable(2.0))
    >>> path = checkpoint.write(os.path.join(directory, "values"), options)
    >>> sorted(os.listdir(directory))[:2]
    ['values.data-00000-of-00003', 'values.data-00001-of-00003']
    """

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """What it does, for messages."""

    @abc.abstractmethod
    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Divide tensors.

        Args:
            shardable_tensors: the tensors, each whole or a part of one.

        Returns:
            For each file a dict of the keys, with a dict of the tensors by their places in the whole. Parts
            of a key together are its tensor.

        >>> import penstock as tf
        >>> tf.train.experimental.ShardByTaskPolicy()([])
        [{}]
        """

    def __hash__(self) -> int:
        kept = {name: value for name, value in vars(self).items() if isinstance(value, Hashable)}
        return hash((self.description, frozenset(kept.items())))


class ShardByTaskPolicy(ShardingCallback):
    """Puts the tensors of each process into one file, as checkpoints have them without a callback.

    >>> import penstock as tf
    >>> tf.train.experimental.ShardByTaskPolicy().description
    'Split tensors into shards based on their device spec task.'
    """

    @property
    def description(self) -> str:
        """What it does, for messages."""
        return "Split tensors into shards based on their device spec task."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Put all tensors into one file.

        Args:
            shardable_tensors: the tensors.

        Returns:
            A single dict of all.

        >>> import penstock as tf
        >>> tf.train.experimental.ShardByTaskPolicy()([])
        [{}]
        """
        found: dict[str, dict[str, _core.Tensor]] = {}
        for each in shardable_tensors:
            expect(each, ShardableTensor, "shardable_tensors", "a list of ShardableTensors")
            found.setdefault(each.checkpoint_key, {})[each.slice_spec] = each.tensor
        return [found]


class MaxShardSizePolicy(ShardingCallback):
    """Fills files one after the other, up to a size; a tensor that does not fit is divided among them.

    An element that is larger, and strings, which are not divided, have a file of their own then. The
    description of the objects does not count.

    Args:
        max_shard_size: the size of the tensors of a file in bytes, at most.

    Raises:
        ValueError: for a size below 1.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> directory = tempfile.mkdtemp()
    >>> policy = tf.train.experimental.MaxShardSizePolicy(max_shard_size=1000)
    >>> options = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    >>> v = tf.Variable(tf.ones([30, 20]))
    >>> path = tf.train.Checkpoint(v=v).write(os.path.join(directory, "values"), options)
    >>> len(os.listdir(directory))  # three files of numbers, and the index
    4
    >>> _ = v.assign(tf.zeros([30, 20]))
    >>> _ = tf.train.Checkpoint(v=v).read(path)
    >>> float(tf.reduce_sum(v))
    600.0
    """

    def __init__(self, max_shard_size: int) -> None:
        self.max_shard_size = integer(max_shard_size, "max_shard_size")
        if self.max_shard_size < 1:
            raise ValueError(f"argument 'max_shard_size' must be at least 1, got {max_shard_size!r}")

    @property
    def description(self) -> str:
        """What it does, for messages."""
        return "Split tensors into shards with a max shard size."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Divide tensors among as many files as they need.

        Args:
            shardable_tensors: the tensors.

        Returns:
            For each file a dict of the keys, with a dict of the tensors by their places in the whole.

        >>> import penstock as tf
        >>> tf.train.experimental.MaxShardSizePolicy(1000)([])
        []
        """
        files = _Files(self.max_shard_size)
        for each in shardable_tensors:
            files.add(expect(each, ShardableTensor, "shardable_tensors", "a list of ShardableTensors"))
        return [shard for shard in [*files.filled, *files.large] if shard]


class _Files:
    """Files that are filled."""

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit
        self.filled: list[dict[str, dict[str, _core.Tensor]]] = [{}]
        self.large: list[dict[str, dict[str, _core.Tensor]]] = []

    def add(self, each: ShardableTensor) -> None:
        key, tensor = each.checkpoint_key, each.tensor
        if tensor.dtype == _core.string or each.shape.rank == 0:
            size = 0 if key == GRAPH_KEY else _bytes_of(tensor)
            self._put(key, each.slice_spec, tensor, size)
            return
        whole, (start, extents) = part_of(each)
        # Parts that are left, the next one last.
        due: list[_Box] = [([0] * len(extents), extents)]
        while due:
            offsets, shape = due.pop()
            size = math.prod(shape) * tensor.dtype.size
            axis, count = self._cut(shape, tensor.dtype.size)
            if size <= self._left or size == tensor.dtype.size:
                place = [a + b for a, b in zip(start, offsets, strict=True)]
                spec = "" if shape == whole else SaveSliceInfo(key, whole, place, shape).spec
                self._put(key, spec, tensor[_index(offsets, shape)], size)
            elif count:
                due.extend(_halves(offsets, shape, axis, count))
            elif self._left < self._limit:
                due.append((offsets, shape))
                self._open()
            else:
                # Not even one row fits: its elements are next.
                axis = next(i for i, extent in enumerate(shape) if extent > 1)
                due.extend(_halves(offsets, shape, axis, 1))

    def _cut(self, shape: list[int], element: int) -> tuple[int, int]:
        """The dimension along which most of a part fits into what is left, and how much of it; 0 for none."""
        best = (0, 0, 0)
        for axis, extent in enumerate(shape):
            row = math.prod(shape) // max(extent, 1) * element
            count = min(self._left // row, extent) if row else 0
            best = max(best, (count * row, -axis, count))
        return -best[1], best[2]

    def _put(self, key: str, spec: str, tensor: _core.Tensor, size: int) -> None:
        if size > self._limit:
            self.large.append({key: {spec: tensor}})
            return
        if size > self._left:
            self._open()
        self.filled[-1].setdefault(key, {})[spec] = tensor
        self._left -= size

    def _open(self) -> None:
        self.filled.append({})
        self._left = self._limit


def extents_of(tensor: _core.Tensor) -> list[int]:
    """The extents of a tensor that is there."""
    extents: Any = tensor.shape.as_list()
    return list(extents)


def _bytes_of(tensor: _core.Tensor) -> int:
    if tensor.dtype != _core.string:
        return math.prod(extents_of(tensor)) * tensor.dtype.size
    array = tensor.numpy()
    return len(array) if isinstance(array, bytes) else sum(map(len, array.ravel().tolist()))


def _index(offsets: Iterable[int], shape: Iterable[int]) -> tuple[slice, ...]:
    return tuple(slice(a, a + b) for a, b in zip(offsets, shape, strict=True))


def _halves(offsets: list[int], shape: list[int], axis: int, count: int) -> list[_Box]:
    """The rest of a part behind `count` rows along a dimension, and these."""
    rest = ([*offsets], [*shape])
    rest[0][axis] += count
    rest[1][axis] -= count
    first = (offsets, [*shape[:axis], count, *shape[axis + 1 :]])
    return [rest, first] if rest[1][axis] else [first]


def part_of(each: ShardableTensor) -> tuple[list[int], _Box]:
    """The extents of the whole tensor, and the place of the part in it."""
    return _place(each.slice_spec, each.tensor)


def _place(spec: str, tensor: _core.Tensor) -> tuple[list[int], _Box]:
    extents = extents_of(tensor)
    if not spec.strip():
        return extents, ([0] * len(extents), extents)
    found = SaveSliceInfo.from_spec(spec)
    return list(found.full_shape or ()), (list(found.var_offset or ()), list(found.var_shape or ()))


class Written:
    """A tensor of a checkpoint in its parts.

    Attributes:
        dtype: the dtype.
        extents: those of the whole.
        parts: for each part the number of its file, where it begins, and the tensor.
    """

    def __init__(self, dtype: _core.DType, extents: list[int]) -> None:
        self.dtype, self.extents = dtype, extents
        self.parts: list[tuple[int, list[int], _core.Tensor]] = []

    @property
    def is_whole(self) -> bool:
        """Whether there is one part, which is all of it."""
        return len(self.parts) == 1 and extents_of(self.parts[0][2]) == self.extents


def divided(tensors: Sequence[ShardableTensor], callback: ShardingCallback) -> tuple[int, dict[str, Written]]:
    """What a callback makes of tensors: the number of files, and the tensors by their keys.

    Raises:
        TypeError: where it gives something else than it is to.
        RuntimeError: where tensors are missing, or changed.
    """
    given: dict[str, Written] = {}
    for each in tensors:
        extents, _ = part_of(each)
        given.setdefault(each.checkpoint_key, Written(each.dtype, extents))
    shards = [shard for shard in expect(callback(tensors), Sequence, *_RESULT) if shard]

    def refuse(what: str, key: str) -> RuntimeError:
        return RuntimeError(f"the sharding callback {callback.description!r} {what} '{key}'")

    for number, shard in enumerate(shards):
        for key, parts in expect(shard, Mapping, *_RESULT).items():
            if key not in given:
                raise refuse("gives a tensor that is not of the checkpoint,", key)
            whole = given[key]
            for spec, tensor in expect(parts, Mapping, *_RESULT).items():
                extents, (start, shape) = _place(expect(spec, str, *_RESULT), tensor)
                if tensor.dtype != whole.dtype or extents != whole.extents:
                    raise refuse("changes the dtype or the shape of", key)
                if shape != extents_of(tensor) or not _within(start, shape, extents):
                    raise refuse(f"gives a tensor of another shape than its place {spec!r} for", key)
                whole.parts.append((number, start, tensor))
    for key, whole in given.items():
        if not _covers(whole):
            raise refuse("does not give every element once of", key)
    return len(shards), given


_RESULT: Final = ("experimental_sharding_callback", "what gives dicts of dicts of tensors")


def _within(start: list[int], shape: list[int], extents: list[int]) -> bool:
    fits = zip(start, shape, extents, strict=True)
    return all(a >= 0 and b >= 0 and a + b <= size for a, b, size in fits)


def _covers(whole: Written) -> bool:
    """Whether the parts are all of a tensor, none of them twice."""
    boxes = [(start, extents_of(part)) for _, start, part in whole.parts]
    if not boxes or sum(math.prod(shape) for _, shape in boxes) != math.prod(whole.extents):
        return False

    def apart(one: _Box, two: _Box) -> bool:
        edges = zip(*one, *two, strict=True)
        return any(a + n <= b or b + m <= a for a, n, b, m in edges)

    return all(apart(one, two) for i, one in enumerate(boxes) for two in boxes[:i])
