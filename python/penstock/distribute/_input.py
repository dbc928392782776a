"""What strategies hand to replicas: data sets, values, and how they are made."""

from __future__ import annotations

import abc
import enum
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, nest
from penstock._ops.casts import cast
from penstock._ops.shapes import shape
from penstock.data import Dataset, Iterator
from penstock.data.experimental import AutoShardPolicy

if TYPE_CHECKING:
    from penstock.distribute._group import ProcessGroup

__all__ = [
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "RunOptions",
    "rows_of",
    "share",
]


def share(dataset: Dataset[Any], group: ProcessGroup) -> Dataset[Any]:
    """A data set of the rows that this process takes of each batch.

    As in TensorFlow, the first processes get more rows of a batch that cannot be divided; the last may get
    none. By the policy FILE a process reads some of the files alone, in batches that are as much smaller; by
    the policy HINT it takes its part where `shard(SHARD_HINT, SHARD_HINT)` stands.

    Raises:
        ValueError: for the policy HINT where there is no hint, for FILE where files are not seen or fewer
            than processes, and for elements that are no batches.
    """
    options: Any = dataset.options()
    policy = options.experimental_distribute.auto_shard_policy
    if policy == AutoShardPolicy.OFF:
        return dataset
    if policy == AutoShardPolicy.HINT:
        found = _with_hints(dataset, group.rank, group.size)
        if found is dataset:
            raise ValueError(
                "argument 'dataset': its policy is HINT, and there is no shard(SHARD_HINT, SHARD_HINT) in "
                "it; use distribute_datasets_from_function, whose function chooses the part of a worker"
            )
        return _of_parts(found, dataset.element_spec, group.size)
    if policy == AutoShardPolicy.FILE:
        return _of_files(dataset, group.rank, group.size)

    def divided(*element: Any) -> Any:
        parts = nest.map_structure(lambda x: rows_of(x, *group._now), element)
        return parts if len(element) > 1 or isinstance(dataset.element_spec, tuple) else parts[0]

    return dataset.map(divided)


def rows_of(x: Any, rank: Any, size: Any) -> Any:
    """The rows of a batch that a replica takes. The first ones get more where they cannot be divided.

    Raises:
        ValueError: for a scalar.
    """
    if x.shape.rank == 0:
        raise ValueError(
            "argument 'dataset' must have batches as elements, to be divided among replicas; one has a scalar"
        )
    rows = x.shape[0] if x.shape.rank is not None else None
    if rows is None:
        rows = shape(x)[0]
    each = (rows + size - 1) // size
    return x[rank * each : (rank + 1) * each]


def _of_files(dataset: Dataset[Any], rank: int, size: int) -> Dataset[Any]:
    """The batches of the files of a process, each divided as a batch of all processes is."""
    found = _with_files(dataset, rank, size)
    if found is None:
        raise ValueError(
            "argument 'dataset': its policy is FILE, and it does not begin with files: a TFRecordDataset, a "
            "TextLineDataset, or names of files that flat_map or interleave reads; use "
            "distribute_datasets_from_function, whose function chooses the files of a worker"
        )

    return _of_parts(found, dataset.element_spec, size)


def _of_parts(found: Dataset[Any], element_spec: Any, size: int) -> Dataset[Any]:
    """Batches that are divided as a batch of all processes is."""

    def divided(*element: Any) -> Dataset[Any]:
        whole = element if isinstance(element_spec, tuple) else element[0]

        def part(number: Any) -> Any:
            return nest.map_structure(lambda x: rows_of(x, cast(number, _core.int32), size), whole)

        return Dataset.range(size).map(part)

    return found.flat_map(divided)


# The kinds of data sets whose first argument is names of files, and those whose function reads one.
_READERS = ("TextLine", "FixedLengthRecord", "TFRecord")
_OPENERS = ("FlatMap", "Interleave")


def _with_files(node: Any, rank: int, size: int) -> Dataset[Any] | None:
    """A data set that reads the files of a process; None for one that does not begin with files."""
    kind, inputs, args = node._kind, list(node._inputs), list(node._args)
    if kind.name in _READERS:
        names = args[0]
        count = names.shape.num_elements()
        if names.shape.rank != 1 or count is None or count < size:
            raise ValueError(
                f"argument 'dataset': its policy is FILE, and there are {count} files for {size} processes"
            )
        args[0] = names[rank::size]
    elif kind.name in _OPENERS and _is_text(inputs[0]):
        inputs[0] = inputs[0].shard(size, rank)
    else:
        changed = [_with_files(source, rank, size) for source in inputs]
        if not changed or any(source is None for source in changed):
            return None
        inputs = changed
    return Dataset(kind, inputs, args, node._structure)


def _with_hints(node: Any, rank: int, size: int) -> Any:
    """A data set that takes the part of a process where a hint stands; the same where there is none."""
    inputs = [_with_hints(source, rank, size) for source in node._inputs]
    if node._kind.name == "ShardHint":
        return inputs[0].shard(size, rank)
    if all(a is b for a, b in zip(inputs, node._inputs, strict=True)):
        return node
    return Dataset(node._kind, inputs, node._args, node._structure)


def _is_text(dataset: Any) -> bool:
    spec = dataset.element_spec
    return getattr(spec, "dtype", None) == _core.string and spec.shape.rank == 0


class DistributedDataset(abc.ABC):  # noqa: B024
    """The class of data sets that a strategy hands out: with one replica, any data set.

    >>> import penstock as tf
    >>> isinstance(tf.data.Dataset.range(3), tf.distribute.DistributedDataset)
    True
    """


class DistributedIterator(abc.ABC):  # noqa: B024
    """The class of iterators of data sets that a strategy hands out: with one replica, any iterator of one.

    >>> import penstock as tf
    >>> isinstance(iter(tf.data.Dataset.range(3)), tf.distribute.DistributedIterator)
    True
    """


class DistributedValues(abc.ABC):  # noqa: B024
    """The class of values that replicas have: with one replica, any tensor.

    >>> import penstock as tf
    >>> isinstance(tf.constant(1), tf.distribute.DistributedValues)
    True
    """


DistributedDataset.register(Dataset)
DistributedIterator.register(Iterator)  # type: ignore[type-abstract]
DistributedValues.register(_core.Tensor)


class InputReplicationMode(enum.Enum):
    """How data sets are made for replicas: one for each worker or one for each replica."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """How a data set is handed to replicas. With one replica nothing depends on it.

    Attributes:
        experimental_fetch_to_device: whether elements are moved to the device ahead.
        experimental_replication_mode: for whom data sets are made.
        experimental_place_dataset_on_device: whether the data set itself is on the device.
        experimental_per_replica_buffer_size: how many elements are ahead.
    """

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


class RunOptions(NamedTuple):
    """How `Strategy.run` runs a function. Nothing depends on it.

    Attributes:
        experimental_enable_dynamic_batch_size: whether batches may differ in size; they always may.
        experimental_bucketizing_dynamic_shape: accepted and ignored.
        experimental_xla_options: accepted and ignored.
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: object = None


class InputContext:
    """For which part of the input a function makes a data set.

    Args:
        num_input_pipelines: how many data sets are made.
        input_pipeline_id: which of them this one is.
        num_replicas_in_sync: how many replicas there are.

    >>> import penstock as tf
    >>> tf.distribute.InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(8)
    4
    """

    def __init__(
        self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1
    ) -> None:
        self._pipelines = num_input_pipelines
        self._id = input_pipeline_id
        self._replicas = num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """How many data sets are made."""
        return self._pipelines

    @property
    def input_pipeline_id(self) -> int:
        """Which of them this one is."""
        return self._id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._replicas

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Divide a batch among the replicas.

        Args:
            global_batch_size: the size of the whole batch.

        Returns:
            The size of the batch of each replica.

        Raises:
            ValueError: where the replicas do not divide it.

        >>> import penstock as tf
        >>> tf.distribute.InputContext().get_per_replica_batch_size(8)
        8
        """
        if global_batch_size % self._replicas:
            raise ValueError(
                f"argument 'global_batch_size' must be a multiple of {self._replicas}: {global_batch_size}"
            )
        return global_batch_size // self._replicas

    def __repr__(self) -> str:
        return f"InputContext({self._pipelines}, {self._id}, {self._replicas})"
