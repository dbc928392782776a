"""`tf.data.experimental`: older names of what data sets can do, as functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import _core
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.records import COMPRESSIONS, Sink, framed
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec
from penstock._values.optional import Optional as Optional
from penstock.data import Dataset
from penstock.data._arguments import integer
from penstock.data._csv import CsvDataset as CsvDataset, make_csv_dataset as make_csv_dataset
from penstock.data._elementwise import AT, COUNTED, SHARD_HINT as SHARD_HINT
from penstock.data._examples import (
    make_batched_features_dataset as make_batched_features_dataset,
    parse_example_dataset as parse_example_dataset,
)
from penstock.data._functions import enable_debug_mode as enable_debug_mode
from penstock.data._more_experimental import (
    AutotuneAlgorithm as AutotuneAlgorithm,
    DatasetInitializer as DatasetInitializer,
    ExternalStatePolicy as ExternalStatePolicy,
    Reducer as Reducer,
    copy_to_device as copy_to_device,
    dense_to_sparse_batch as dense_to_sparse_batch,
    from_list as from_list,
    from_variant as from_variant,
    get_next_as_optional as get_next_as_optional,
    get_structure as get_structure,
    group_by_reducer as group_by_reducer,
    index_table_from_dataset as index_table_from_dataset,
    load as load,
    pad_to_cardinality as pad_to_cardinality,
    save as save,
    snapshot as snapshot,
    table_from_dataset as table_from_dataset,
    to_variant as to_variant,
)
from penstock.data._node import INFINITE, UNKNOWN
from penstock.data._options import (
    AutoShardPolicy as AutoShardPolicy,
    AutotuneOptions as AutotuneOptions,
    DistributeOptions as DistributeOptions,
    OptimizationOptions as OptimizationOptions,
    ThreadingOptions as ThreadingOptions,
)
from penstock.data._specs import DatasetSpec
from penstock.data._sql import SqlDataset as SqlDataset
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import BoolLike, IntLike, Nested, PathLike, ShapeLike, TensorLike

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DatasetInitializer",
    "DatasetStructure",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enable_debug_mode",
    "enumerate_dataset",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "index_table_from_dataset",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "table_from_dataset",
    "take_while",
    "to_variant",
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

_T = TypeVar("_T")

Transformation = Callable[[Dataset[Any]], Dataset[Any]]


def assert_cardinality(expected_cardinality: IntLike) -> Callable[[Dataset[_T]], Dataset[_T]]:
    """Demand that a data set has so many elements; `cardinality` believes it.

    Args:
        expected_cardinality: how many.

    Returns:
        A function for `Dataset.apply`.

    Raises:
        FailedPreconditionError: when it runs, where that is not so.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(6).filter(lambda x: x % 2 == 0)
    >>> ds = ds.apply(tf.data.experimental.assert_cardinality(3))
    >>> len(ds), len(list(ds))
    (3, 3)
    """

    def apply(dataset: Dataset[_T]) -> Dataset[_T]:
        return Dataset(*dataset._stage(COUNTED, integer(expected_cardinality, "expected_cardinality")))

    return apply


def at(dataset: Dataset[_T], index: IntLike) -> _T:
    """Take the element of a number; of a shuffled data set it is one of a fixed order.

    Args:
        dataset: the data set, whose number of elements is known.
        index: the number, from 0.

    Returns:
        The element.

    Raises:
        OutOfRangeError: for a number that no element has.
        FailedPreconditionError: for elements without end.
        UnimplementedError: where it is not known how many elements there are.
        TypeError: for anything but a data set and an integer.

    >>> import penstock as tf
    >>> int(tf.data.experimental.at(tf.data.Dataset.range(5).map(lambda x: x * 2), 3))
    6
    """
    expect(dataset, Dataset, "dataset", "a tf.data.Dataset")
    element: Dataset[_T] = Dataset(*dataset._stage(AT, integer(index, "index")))
    return element.get_single_element()


def cardinality(dataset: Dataset[Any]) -> _core.Tensor:
    """Count the elements without computing them: `Dataset.cardinality`.

    Args:
        dataset: the data set.

    Returns:
        The number of elements, an `int64` scalar; `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`.

    Raises:
        TypeError: for anything but a data set.

    >>> import penstock as tf
    >>> int(tf.data.experimental.cardinality(tf.data.Dataset.range(3)))
    3
    """
    expect(dataset, Dataset, "dataset", "a tf.data.Dataset")
    return dataset.cardinality()


def get_single_element(dataset: Dataset[_T]) -> _T:
    """Take the only element: `Dataset.get_single_element`.

    Args:
        dataset: the data set.

    Returns:
        The element.

    Raises:
        InvalidArgumentError: where there is none, or another one.
        TypeError: for anything but a data set.

    >>> import penstock as tf
    >>> int(tf.data.experimental.get_single_element(tf.data.Dataset.from_tensors(3)))
    3
    """
    expect(dataset, Dataset, "dataset", "a tf.data.Dataset")
    return dataset.get_single_element()


def bucket_by_sequence_length(
    element_length_func: Callable[..., TensorLike],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Nested[ShapeLike] = None,
    padding_values: Nested[TensorLike] | None = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Put elements of like lengths in batches, padded: `Dataset.bucket_by_sequence_length`.

    Args:
        element_length_func: takes an element, gives its length.
        bucket_boundaries: the lengths where the next bucket begins.
        bucket_batch_sizes: the size of the batches of each bucket.
        padded_shapes: as for `Dataset.bucket_by_sequence_length`.
        padding_values: as for `Dataset.bucket_by_sequence_length`.
        pad_to_bucket_boundary: as for `Dataset.bucket_by_sequence_length`.
        no_padding: as for `Dataset.bucket_by_sequence_length`.
        drop_remainder: as for `Dataset.bucket_by_sequence_length`.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))
    >>> ds = ds.apply(tf.data.experimental.bucket_by_sequence_length(lambda x: tf.size(x), [3], [2, 2]))
    >>> [x.shape.as_list() for x in ds]
    [[2, 2], [2, 4]]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def dense_to_ragged_batch(
    batch_size: IntLike, drop_remainder: BoolLike = False, row_splits_dtype: _core.DType = _core.int64
) -> Transformation:
    """Stack elements to ragged tensors where they have sizes that vary: `Dataset.ragged_batch`.

    Args:
        batch_size: how many elements.
        drop_remainder: whether fewer elements at the end are left out.
        row_splits_dtype: the dtype of the splits.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(4).apply(tf.data.experimental.dense_to_ragged_batch(2))
    >>> len(ds)
    2
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def enumerate_dataset(start: IntLike = 0) -> Transformation:
    """Number the elements: `Dataset.enumerate`.

    Args:
        start: the first number.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(7, 9).apply(tf.data.experimental.enumerate_dataset())
    >>> [(int(i), int(x)) for i, x in ds]
    [(0, 7), (1, 8)]
    """
    return lambda dataset: dataset.enumerate(start)


def group_by_window(
    key_func: Callable[..., TensorLike],
    reduce_func: Callable[[_core.Tensor, Dataset[Any]], Dataset[Any]],
    window_size: IntLike | None = None,
    window_size_func: Callable[[_core.Tensor], TensorLike] | None = None,
) -> Transformation:
    """Apply a function to windows of elements that have one key: `Dataset.group_by_window`.

    Args:
        key_func: takes an element, gives a scalar `int64`.
        reduce_func: takes a key and a data set of the elements of a window; gives a data set.
        window_size: how many elements a window has.
        window_size_func: gives the size for a key, in place of `window_size`.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> by_two = tf.data.experimental.group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
    >>> [x.numpy().tolist() for x in tf.data.Dataset.range(5).apply(by_two)]
    [[0, 2, 4], [1, 3]]
    """
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Leave out the elements that cannot be computed without an error: `Dataset.ignore_errors`.

    Args:
        log_warning: whether each error is a warning.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1.0, 0.0])
    >>> ds = ds.map(lambda x: tf.debugging.check_numerics(1.0 / x, "x"))
    >>> len(list(ds.apply(tf.data.experimental.ignore_errors())))
    1
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def parallel_interleave(
    map_func: Callable[..., Dataset[Any]],
    cycle_length: IntLike,
    block_length: IntLike = 1,
    sloppy: bool | None = False,
    buffer_output_elements: IntLike | None = None,
    prefetch_input_elements: IntLike | None = None,
) -> Transformation:
    """Take elements in turn from the data sets that a function gives: `Dataset.interleave`.

    Args:
        map_func: takes an element, gives a data set.
        cycle_length: as for `Dataset.interleave`.
        block_length: as for `Dataset.interleave`.
        sloppy: accepted and ignored: elements come in order.
        buffer_output_elements: accepted and ignored.
        prefetch_input_elements: accepted and ignored.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> in_turn = tf.data.experimental.parallel_interleave(tf.data.Dataset.range, 2)
    >>> [int(x) for x in tf.data.Dataset.range(3).apply(in_turn)]
    [0, 0, 1]
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def rejection_resample(
    class_func: Callable[..., TensorLike],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: IntLike | None = None,
) -> Transformation:
    """Leave out some elements, so that classes come as often as asked: `Dataset.rejection_resample`.

    Args:
        class_func: takes an element, gives its class.
        target_dist: how often each class is to come: a vector of numbers.
        initial_dist: how often each comes; by default as often as it came so far.
        seed: an integer that fixes which elements are left out.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> resample = tf.data.experimental.rejection_resample(lambda x: x % 2, [0.0, 1.0], [0.5, 0.5])
    >>> {int(number) for number, x in tf.data.Dataset.range(100).apply(resample)}
    {1}
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def scan(initial_state: Any, scan_func: Callable[..., tuple[Any, Any]]) -> Transformation:
    """Apply a function to each element and a state, which it changes: `Dataset.scan`.

    Args:
        initial_state: the state before the first element: a nest of tensors.
        scan_func: takes the state and an element; gives the next state and a result.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> totals = tf.data.experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
    >>> [int(x) for x in tf.data.Dataset.range(4).apply(totals)]
    [0, 1, 3, 6]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate: Callable[..., TensorLike]) -> Transformation:
    """Keep the elements before the first for which a function gives False: `Dataset.take_while`.

    Args:
        predicate: takes an element, gives a scalar `bool`.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(4).apply(tf.data.experimental.take_while(lambda x: x < 2))
    >>> [int(x) for x in ds]
    [0, 1]
    """
    return lambda dataset: dataset.take_while(predicate)


def unbatch() -> Transformation:
    """Take elements apart into their rows: `Dataset.unbatch`.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.from_tensors([1, 2]).apply(tf.data.experimental.unbatch())
    >>> [int(x) for x in ds]
    [1, 2]
    """
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """Leave out elements that came before: `Dataset.unique`.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1, 2, 1]).apply(tf.data.experimental.unique())
    >>> [int(x) for x in ds]
    [1, 2]
    """
    return lambda dataset: dataset.unique()


class TFRecordWriter:
    """Write data sets of strings to a file that `tf.data.TFRecordDataset` reads, TensorFlow's too.

    Args:
        filename: the name of the file.
        compression_type: None, `"GZIP"` or `"ZLIB"`.

    Raises:
        ValueError: for another compression.

    >>> import tempfile
    >>> import penstock as tf
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     writer = tf.data.experimental.TFRecordWriter(file.name)
    ...     writer.write(tf.data.Dataset.from_tensor_slices(["a", "bc"]))
    ...     [x.numpy() for x in tf.data.TFRecordDataset(file.name)]
    [b'a', b'bc']
    """

    def __init__(self, filename: PathLike, compression_type: str | None = None) -> None:
        if compression_type not in COMPRESSIONS:
            raise InvalidArgumentError(
                f"argument 'compression_type' must be None, 'GZIP' or 'ZLIB', got {compression_type!r}"
            )
        self._filename = str(filename)
        self._compression = compression_type or None

    def write(self, dataset: Dataset[_core.Tensor]) -> None:
        """Write all elements.

        Args:
            dataset: the data set, of `string` scalars.

        Raises:
            TypeError: for elements that are no scalar strings.

        >>> import tempfile
        >>> import penstock as tf
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     tf.data.experimental.TFRecordWriter(file.name).write(tf.data.Dataset.from_tensors("a"))
        ...     len(list(tf.data.TFRecordDataset(file.name)))
        1
        """
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype != _core.string or spec.shape.rank not in (0, None):
            raise TypeError(f"argument 'dataset' must have scalar strings, got elements of {spec}")
        with contextlib.closing(Sink(self._filename, self._compression)) as sink:
            for record in dataset.as_numpy_iterator():
                sink.write(framed(record))


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: IntLike,
    num_parallel_batches: IntLike | None = None,
    drop_remainder: BoolLike = False,
    num_parallel_calls: IntLike | None = None,
) -> Transformation:
    """Apply a function to each element, and stack so many results at a time.

    Args:
        map_func: takes an element, gives a tensor or a nest.
        batch_size: how many results a batch has.
        num_parallel_batches: accepted and ignored.
        drop_remainder: whether fewer results at the end are left out.
        num_parallel_calls: accepted and ignored.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(3).apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 2))
    >>> [x.numpy().tolist() for x in ds]
    [[1, 2], [3]]
    """
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(
    buffer_size: IntLike, count: IntLike | None = None, seed: IntLike | None = None
) -> Transformation:
    """Put the elements in a random order, over and over.

    Args:
        buffer_size: how many elements are drawn from.
        count: how many times; without end for None or a negative number.
        seed: an integer that fixes the orders.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(2).apply(tf.data.experimental.shuffle_and_repeat(2, 2))
    >>> sorted(int(x) for x in ds)
    [0, 0, 1, 1]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def prefetch_to_device(device: str, buffer_size: IntLike | None = None) -> Transformation:
    """Have a thread compute elements before they are asked for: `Dataset.prefetch`.

    Args:
        device: accepted and ignored: elements are on the host.
        buffer_size: how many elements are computed ahead at most.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(2).apply(tf.data.experimental.prefetch_to_device("/gpu:0"))
    >>> len(ds)
    2
    """
    return lambda dataset: dataset.prefetch(buffer_size)


_publish(__name__)
