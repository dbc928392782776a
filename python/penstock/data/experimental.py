"""`tf.data.experimental`: older names of what data sets can do, as functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from penstock import _core
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec
from penstock.data import Dataset
from penstock.data._arguments import integer
from penstock.data._base import INFINITE, UNKNOWN
from penstock.data._elementwise import AT
from penstock.data._options import (
    AutoShardPolicy as AutoShardPolicy,
    AutotuneOptions as AutotuneOptions,
    DistributeOptions as DistributeOptions,
    OptimizationOptions as OptimizationOptions,
    ThreadingOptions as ThreadingOptions,
)
from penstock.data._records import COMPRESSIONS, Sink, framed
from penstock.data._specs import DatasetSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "Counter",
    "DatasetStructure",
    "DistributeOptions",
    "OptimizationOptions",
    "RandomDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_ragged_batch",
    "enumerate_dataset",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "map_and_batch",
    "parallel_interleave",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
]

AUTOTUNE = -1
INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
DatasetStructure = DatasetSpec
Counter = Dataset.counter
RandomDataset = Dataset.random
choose_from_datasets = Dataset.choose_from_datasets
sample_from_datasets = Dataset.sample_from_datasets

Transformation = Callable[[Any], Any]


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """For `apply`: the data set, which must have so many elements; `cardinality` believes it.

    Args:
        expected_cardinality: how many.

    Raises:
        FailedPreconditionError: when it runs, where that is not so.

    >>> ds = Dataset.range(6).filter(lambda x: x % 2 == 0).apply(assert_cardinality(3))
    >>> len(ds), len(list(ds))
    (3, 3)
    """
    return lambda dataset: dataset._counted(expected_cardinality)


def at(dataset: Any, index: Any) -> Any:
    """The element of a number.

    Of a shuffled data set it is one of a fixed order.

    Args:
        dataset: the data set, whose number of elements is known.
        index: the number, from 0.

    Raises:
        OutOfRangeError: for a number that no element has.
        FailedPreconditionError: for elements without end.
        UnimplementedError: where it is not known how many elements there are.
        TypeError: for anything but a data set and an integer.

    >>> int(at(Dataset.range(5).map(lambda x: x * 2), 3))
    6
    """
    expect(dataset, Dataset, "dataset", "a tf.data.Dataset")
    return dataset._then(AT, dataset._structure, integer(index, "index")).get_single_element()


def cardinality(dataset: Any) -> Any:
    """`dataset.cardinality()`.

    >>> int(cardinality(Dataset.range(3)))
    3
    """
    return expect(dataset, Dataset, "dataset", "a tf.data.Dataset").cardinality()


def get_single_element(dataset: Any) -> Any:
    """`dataset.get_single_element()`.

    >>> int(get_single_element(Dataset.from_tensors(3)))
    3
    """
    return expect(dataset, Dataset, "dataset", "a tf.data.Dataset").get_single_element()


def _method(name: str, example: str) -> Callable[..., Transformation]:
    method = getattr(Dataset, name)

    def function(*args: Any, **kwargs: Any) -> Transformation:
        return lambda dataset: method(dataset, *args, **kwargs)

    function.__doc__ = f"For `apply`: the method `{name}` of a data set, with these arguments.\n\n{example}"
    return function


bucket_by_sequence_length = _method(
    "bucket_by_sequence_length",
    ">>> callable(bucket_by_sequence_length(len, [3], [2, 2]))\nTrue",
)
dense_to_ragged_batch = _method(
    "ragged_batch", ">>> len(Dataset.range(4).apply(dense_to_ragged_batch(2)))\n2"
)
enumerate_dataset = _method("enumerate", ">>> len(Dataset.range(4).apply(enumerate_dataset()))\n4")
group_by_window = _method("group_by_window", ">>> callable(group_by_window(len, len, 2))\nTrue")
ignore_errors = _method("ignore_errors", ">>> len(list(Dataset.range(4).apply(ignore_errors())))\n4")
parallel_interleave = _method("interleave", ">>> callable(parallel_interleave(Dataset.range))\nTrue")
rejection_resample = _method(
    "rejection_resample", ">>> callable(rejection_resample(lambda x: x, [0.5, 0.5]))\nTrue"
)
scan = _method("scan", ">>> callable(scan(0, lambda s, x: (s, x)))\nTrue")
take_while = _method("take_while", ">>> len(list(Dataset.range(4).apply(take_while(lambda x: x < 2))))\n2")
unbatch = _method("unbatch", ">>> len(list(Dataset.from_tensors([1, 2]).apply(unbatch())))\n2")
unique = _method("unique", ">>> len(list(Dataset.range(4).apply(unique())))\n4")


class TFRecordWriter:
    """Writes a data set of strings to a file that `tf.data.TFRecordDataset` reads, TensorFlow's too.

    Args:
        filename: the name of the file.
        compression_type: None, `"GZIP"` or `"ZLIB"`.

    Raises:
        ValueError: for another compression.

    >>> import tempfile
    >>> from penstock.data import TFRecordDataset
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     TFRecordWriter(file.name).write(Dataset.from_tensor_slices(["a", "bc"]))
    ...     [x.numpy() for x in TFRecordDataset(file.name)]
    [b'a', b'bc']
    """

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        if compression_type not in COMPRESSIONS:
            raise ValueError(
                f"argument 'compression_type' must be None, 'GZIP' or 'ZLIB', got {compression_type!r}"
            )
        self._filename = str(filename)
        self._compression = compression_type or None

    def write(self, dataset: Any) -> None:
        """Writes all elements.

        Raises:
            TypeError: for elements that are no scalar strings.
        """
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype != _core.string or spec.shape.rank not in (0, None):
            raise TypeError(f"argument 'dataset' must have scalar strings, got elements of {spec}")
        with contextlib.closing(Sink(self._filename, self._compression)) as sink:
            for record in dataset.as_numpy_iterator():
                sink.write(framed(record))


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """For `apply`: `map`, then `batch`.

    >>> [x.numpy().tolist() for x in Dataset.range(3).apply(map_and_batch(lambda x: x + 1, 2))]
    [[1, 2], [3]]
    """
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """For `apply`: `shuffle`, then `repeat`.

    >>> sorted(int(x) for x in Dataset.range(2).apply(shuffle_and_repeat(2, 2)))
    [0, 0, 1, 1]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """For `apply`: the data set as it is, see `Dataset.prefetch`.

    >>> len(Dataset.range(2).apply(prefetch_to_device("/gpu:0")))
    2
    """
    return lambda dataset: dataset.prefetch(buffer_size)
