"""Functions of `tf.data.experimental` that make data sets, tables and structures of what is there."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, raw_ops
from penstock._runtime.arguments import filling, integer, require
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock._values.optional import Optional
from penstock._values.sparse import SparseTensor
from penstock.data._dataset import Dataset
from penstock.data._iterator import Iterator
from penstock.data._specs import DatasetSpec
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, Nested, PathLike, ShapeLike, TensorLike
    from penstock._types.specs import TypeSpec
    from penstock.lookup import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable

__all__ = [
    "AutotuneAlgorithm",
    "DatasetInitializer",
    "ExternalStatePolicy",
    "Reducer",
    "copy_to_device",
    "dense_to_sparse_batch",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_structure",
    "group_by_reducer",
    "index_table_from_dataset",
    "load",
    "pad_to_cardinality",
    "save",
    "snapshot",
    "sparse_batch",
    "table_from_dataset",
    "to_variant",
]

Transformation = Callable[[Dataset[Any]], Dataset[Any]]

# More elements than any window has.
_ALL = 2**62


class AutotuneAlgorithm(enum.IntEnum):
    """How numbers of threads would be found; the engine finds them by itself."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.IntEnum):
    """What is to happen where a data set that is copied has state outside of it; it is shared."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class Reducer:
    """How the elements of one key are made one: what `group_by_reducer` takes.

    Args:
        init_func: takes the key, gives the first state.
        reduce_func: takes the state and an element, gives the next state.
        finalize_func: takes the last state, gives the element of the result.

    >>> import penstock as tf
    >>> total = tf.data.experimental.Reducer(lambda _: 0, lambda s, x: s + x, lambda s: s)
    >>> total.finalize_func(3)
    3
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def save(
    dataset: Dataset[Any],
    path: PathLike,
    compression: str | None = None,
    shard_func: Callable[..., TensorLike] | None = None,
    checkpoint_args: Mapping[str, object] | None = None,
) -> None:
    """Write all elements to files: `Dataset.save`.

    Args:
        dataset: the data set.
        path: a directory, which is made.
        compression: as for `Dataset.save`.
        shard_func: as for `Dataset.save`.
        checkpoint_args: accepted and ignored.

    >>> import penstock as tf
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.data.experimental.save(tf.data.Dataset.range(3), folder)
    ...     [int(x) for x in tf.data.experimental.load(folder)]
    [0, 1, 2]
    """
    expect(dataset, Dataset, "dataset", "a data set").save(path, compression, shard_func, checkpoint_args)


def load(
    path: PathLike,
    element_spec: Nested[TypeSpec] | None = None,
    compression: str | None = None,
    reader_func: Callable[[Dataset[Dataset[Any]]], Dataset[Any]] | None = None,
) -> Dataset[Any]:
    """Read the elements that `save` wrote: `Dataset.load`.

    Args:
        path: the directory.
        element_spec: what they must be; by default what they are.
        compression: as for `Dataset.load`.
        reader_func: as for `Dataset.load`.

    Returns:
        A data set of the elements.

    >>> import penstock as tf
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.data.experimental.save(tf.data.Dataset.range(2), folder)
    ...     len(tf.data.experimental.load(folder))
    2
    """
    return Dataset.load(path, element_spec, compression, reader_func)


def snapshot(
    path: PathLike,
    compression: str | None = "AUTO",
    reader_func: Callable[[Dataset[Dataset[Any]]], Dataset[Any]] | None = None,
    shard_func: Callable[..., TensorLike] | None = None,
) -> Transformation:
    """Keep the elements in files once they have been read: `Dataset.snapshot`.

    Args:
        path: a directory.
        compression: as for `Dataset.snapshot`.
        reader_func: as for `Dataset.snapshot`.
        shard_func: as for `Dataset.snapshot`.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ds = tf.data.Dataset.range(3).apply(tf.data.experimental.snapshot(folder))
    ...     [int(x) for x in ds]
    [0, 1, 2]
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset[Any]:
    """Make a data set of the elements of a list, nests of one structure, dtypes and shapes.

    Args:
        elements: the elements, at least one.
        name: a name for the data set.

    Returns:
        The data set.

    Raises:
        ValueError: for no elements, or such of other structures.

    >>> import penstock as tf
    >>> [(int(x), y.numpy()) for x, y in tf.data.experimental.from_list([(1, "a"), (2, "b")])]
    [(1, b'a'), (2, b'b')]
    """
    if not isinstance(elements, list | tuple):
        raise TypeError(f"argument 'elements' must be a list, got {elements!r}")
    if not elements:
        raise InvalidArgumentError("argument 'elements' must hold at least one element")
    first = elements[0]
    for element in elements[1:]:
        nest.assert_same_structure(first, element)
    columns = zip(*(nest.flatten(element) for element in elements), strict=True)
    stacked = [raw_ops.stack([_core._to_tensor(leaf) for leaf in column]) for column in columns]
    return Dataset.from_tensor_slices(nest.pack_sequence_as(first, stacked), name)


def get_structure(dataset_or_iterator: Dataset[Any] | Iterator[Any]) -> Any:
    """Tell of which types the elements are.

    Args:
        dataset_or_iterator: a data set or an iterator.

    Returns:
        A nest of specifications.

    Raises:
        TypeError: for anything else.

    >>> import penstock as tf
    >>> tf.data.experimental.get_structure(tf.data.Dataset.range(2)).dtype
    tf.int64
    """
    expect(dataset_or_iterator, (Dataset, Iterator), "dataset_or_iterator", "a data set or an iterator")
    return dataset_or_iterator.element_spec


def get_next_as_optional(iterator: Iterator[Any]) -> Optional[Any]:
    """Take the next element of an iterator, or nothing at its end.

    Args:
        iterator: the iterator.

    Returns:
        A `tf.experimental.Optional`.

    >>> import penstock as tf
    >>> bool(tf.data.experimental.get_next_as_optional(iter(tf.data.Dataset.range(1))).has_value())
    True
    """
    expect(iterator, Iterator, "iterator", "an iterator")
    return iterator.get_next_as_optional()


def sparse_batch(
    dataset: Dataset[Any], batch_size: IntLike, row_shape: ShapeLike, name: str | None
) -> Dataset[Any]:
    """So many tensors at a time as the rows of a sparse tensor."""
    spec = dataset.element_spec
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"sparse_batch needs elements that are one tensor, got {spec}")
    shape = TensorShape(row_shape)
    if shape.rank is None or spec.shape.rank not in (None, shape.rank):
        raise InvalidArgumentError(
            f"argument 'row_shape' must have the rank of the elements, got {shape} for {spec.shape}"
        )

    def spread(tensor: Any) -> SparseTensor:
        own = raw_ops.shape(tensor, dtype=_core.int64)
        bounds = [_core._to_tensor(n, _core.int64) if n is not None else own[k] for k, n in enumerate(shape)]
        whole = raw_ops.stack(bounds) if bounds else _core._to_tensor([], _core.int64)
        places = raw_ops.where_indices(raw_ops.fill(own, _core._to_tensor(True)))
        require(raw_ops.reduce_all(own <= whole), "an element is larger than argument 'row_shape'", own)
        made = SparseTensor(places, raw_ops.gather_nd(tensor, places), whole)
        made.set_shape(shape)
        return made

    return dataset.map(spread).batch(batch_size, name=name)


def dense_to_sparse_batch(batch_size: IntLike, row_shape: ShapeLike) -> Transformation:
    """Put so many tensors at a time into the rows of a sparse tensor: `Dataset.sparse_batch`.

    Args:
        batch_size: how many elements.
        row_shape: the shape of a row, which no element exceeds.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(1, 3).map(tf.range)
    >>> (batch,) = ds.apply(tf.data.experimental.dense_to_sparse_batch(2, [3]))
    >>> batch.indices.numpy().tolist(), batch.shape
    ([[0, 0], [1, 0], [1, 1]], TensorShape([2, 3]))
    """
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def group_by_reducer(key_func: Callable[..., TensorLike], reducer: Reducer) -> Transformation:
    """Make one element of all those of a key.

    Args:
        key_func: takes an element, gives a scalar `int64`.
        reducer: how the elements of a key are made one.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> zero = tf.constant(0, tf.int64)
    >>> total = tf.data.experimental.Reducer(lambda _: zero, lambda s, x: s + x, lambda s: s)
    >>> by_parity = tf.data.experimental.group_by_reducer(lambda x: x % 2, total)
    >>> [int(x) for x in tf.data.Dataset.range(5).apply(by_parity)]
    [6, 4]
    """
    expect(reducer, Reducer, "reducer", "a Reducer")

    def reduced(key: Any, elements: Dataset[Any]) -> Dataset[Any]:
        last = elements.reduce(reducer.init_func(key), reducer.reduce_func)
        return Dataset.from_tensors(reducer.finalize_func(last))

    return lambda dataset: dataset.group_by_window(key_func, reduced, window_size=_ALL)


def pad_to_cardinality(cardinality: IntLike, mask_key: str = "valid") -> Transformation:
    """Add elements of zeros behind the others, and to each whether it was there.

    Args:
        cardinality: how many elements there are then.
        mask_key: the key of the truth that says so.

    Returns:
        A function for `Dataset.apply`, to data sets of dicts of a known number of elements.

    Raises:
        ValueError: when it is applied, where the number is not known or greater, or elements are no dicts.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.from_tensor_slices({"a": [5, 6]})
    >>> [(int(x["a"]), bool(x["valid"])) for x in ds.apply(tf.data.experimental.pad_to_cardinality(3))]
    [(5, True), (6, True), (0, False)]
    """

    def padded(dataset: Dataset[Any]) -> Dataset[Any]:
        spec, there, wanted = (
            dataset.element_spec,
            int(dataset.cardinality()),
            integer(cardinality, "cardinality"),
        )
        if not isinstance(spec, Mapping) or mask_key in spec:
            raise InvalidArgumentError(f"elements must be dicts without the key {mask_key!r}, got {spec}")
        if there < 0 or there > wanted:
            raise InvalidArgumentError(
                f"the number of elements must be known, and {wanted} or less, got {there}"
            )

        def zeros(leaf: Any) -> Any:
            return raw_ops.fill(leaf.shape.as_list(), filling(None, leaf.dtype))

        first = dataset.map(lambda element: {**element, mask_key: _core._to_tensor(True)})
        if there == wanted:
            return first
        filler = {**nest.map_structure(zeros, dict(spec)), mask_key: _core._to_tensor(False)}
        return first.concatenate(Dataset.from_tensors(filler).repeat(wanted - there))

    return padded


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Let elements be on a device; the engine copies them where they are used.

    Args:
        target_device: accepted.
        source_device: accepted.

    Returns:
        A function for `Dataset.apply`.

    >>> import penstock as tf
    >>> len(tf.data.Dataset.range(3).apply(tf.data.experimental.copy_to_device("/gpu:0")))
    3
    """
    return lambda dataset: dataset


def to_variant(dataset: Dataset[Any]) -> _core.Tensor:
    """Make a tensor that stands for a data set.

    Args:
        dataset: the data set.

    Returns:
        A tensor for `from_variant`; it is a vector of integers here, not of dtype `variant`.

    >>> import penstock as tf
    >>> handle = tf.data.experimental.to_variant(tf.data.Dataset.range(3))
    >>> len(tf.data.experimental.from_variant(handle, tf.TensorSpec([], tf.int64)))
    3
    """
    spec = DatasetSpec(expect(dataset, Dataset, "dataset", "a data set").element_spec)
    (handle,) = spec.to_tensors(dataset)
    made: _core.Tensor = handle
    return made


def from_variant(variant: _core.Tensor, structure: Nested[TypeSpec]) -> Dataset[Any]:
    """Make the data set that a tensor stands for.

    Args:
        variant: what `to_variant` gave.
        structure: the specifications of its elements.

    Returns:
        The data set.

    >>> import penstock as tf
    >>> handle = tf.data.experimental.to_variant(tf.data.Dataset.range(3))
    >>> [int(x) for x in tf.data.experimental.from_variant(handle, tf.TensorSpec([], tf.int64))]
    [0, 1, 2]
    """
    made: Dataset[Any] = DatasetSpec(structure).from_tensors(iter([variant]))
    return made


# --- tables ---


def _pairs(dataset: Any, vocab_size: int | None) -> tuple[Any, Any]:
    """The keys and values of a data set of pairs, as vectors."""
    expect(dataset, Dataset, "dataset", "a data set")
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) != 2:
        raise InvalidArgumentError(f"argument 'dataset' must have pairs of a key and a value, got {spec}")
    found = list(dataset if vocab_size is None else dataset.take(vocab_size))
    columns = zip(*found, strict=True) if found else ([], [])
    keys, values = (
        raw_ops.stack(list(column)) if found else _core._to_tensor([], part.dtype)
        for column, part in zip(columns, spec, strict=True)
    )
    return keys, values


def DatasetInitializer(dataset: Dataset[Any]) -> KeyValueTensorInitializer:
    """Make what a table of the pairs of a data set is filled with.

    Args:
        dataset: pairs of a key and a value.

    Returns:
        An initializer of tables.

    Raises:
        ValueError: for other elements.

    >>> import penstock as tf
    >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [1, 2]))
    >>> table = tf.lookup.StaticHashTable(tf.data.experimental.DatasetInitializer(pairs), -1)
    >>> table.lookup(tf.constant(["b", "c"])).numpy()
    array([ 2, -1], dtype=int32)
    """
    # Tables and data sets do not know of each other when they are loaded.
    from penstock.lookup import KeyValueTensorInitializer

    return KeyValueTensorInitializer(*_pairs(dataset, None))


def table_from_dataset(
    dataset: Dataset[Any] | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: TensorLike | None = None,
    hasher_spec: object = None,
    key_dtype: DTypeLike = _core.string,
    name: str | None = None,
) -> StaticHashTable | StaticVocabularyTable:
    """Make a table of the pairs of a data set.

    Args:
        dataset: pairs of a key and a value.
        num_oov_buckets: how many numbers there are for other keys.
        vocab_size: how many pairs to take; by default all.
        default_value: the value of other keys, where there are no numbers for them.
        hasher_spec: accepted; other keys are hashed as `to_hash_bucket_fast` does.
        key_dtype: the dtype of the keys.
        name: a name of the table.

    Returns:
        The table.

    Raises:
        ValueError: where neither numbers nor a value for other keys are given, or elements are no pairs.

    >>> import penstock as tf
    >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [1, 2]))
    >>> table = tf.data.experimental.table_from_dataset(pairs, default_value=0)
    >>> table.lookup(tf.constant(["b", "c"])).numpy()
    array([2, 0], dtype=int32)
    """
    # Tables and data sets do not know of each other when they are loaded.
    from penstock.lookup import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable

    if num_oov_buckets < 0 or (vocab_size is not None and vocab_size < 1):
        raise InvalidArgumentError(
            "arguments 'num_oov_buckets' and 'vocab_size' must not be negative, nor the latter 0"
        )
    keys, values = _pairs(dataset, vocab_size)
    if keys.dtype != _core.DType(key_dtype):
        raise TypeError(
            f"argument 'key_dtype' is {_core.DType(key_dtype).name}, the keys are {keys.dtype.name}"
        )
    if num_oov_buckets:
        values = raw_ops.cast(values, dtype=_core.int64)
        return StaticVocabularyTable(KeyValueTensorInitializer(keys, values), num_oov_buckets, name=name)
    if default_value is None:
        raise InvalidArgumentError("one of arguments 'num_oov_buckets' and 'default_value' must be given")
    return StaticHashTable(KeyValueTensorInitializer(keys, values), default_value, name)


def index_table_from_dataset(
    dataset: Dataset[Any] | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: object = None,
    key_dtype: DTypeLike = _core.string,
    name: str | None = None,
) -> StaticHashTable | StaticVocabularyTable:
    """Make a table that numbers the elements of a data set.

    Args:
        dataset: the keys.
        num_oov_buckets: how many numbers there are for other keys.
        vocab_size: how many keys to take; by default all.
        default_value: the number of other keys, where there are none for them.
        hasher_spec: accepted; other keys are hashed as `to_hash_bucket_fast` does.
        key_dtype: the dtype of the keys.
        name: a name of the table.

    Returns:
        The table, of `int64` from 0.

    Raises:
        TypeError: where the keys are of another dtype.

    >>> import penstock as tf
    >>> words = tf.data.Dataset.from_tensor_slices(["a", "b"])
    >>> tf.data.experimental.index_table_from_dataset(words).lookup(tf.constant(["b", "c"])).numpy()
    array([ 1, -1])
    """
    source: Dataset[Any] = expect(dataset, Dataset, "dataset", "a data set")
    numbered = source.enumerate().map(lambda number, key: (key, number))
    value = _core._to_tensor(default_value, _core.int64)
    return table_from_dataset(numbered, num_oov_buckets, vocab_size, value, hasher_spec, key_dtype, name)
