"""Features of `tf.train.Example` and `tf.train.SequenceExample` messages as tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.sparse_layout import reorder
from penstock._runtime.arguments import filling, require
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.protos import Example, SequenceExample
from penstock._runtime.scope import scoped
from penstock._types.shape import TensorShape
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import DataLossError, InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
]


class FixedLenFeature(NamedTuple):
    """A feature with as many values in each example, which becomes a tensor.

    Args:
        shape: the shape of the values of an example.
        dtype: `float32`, `int64` or `string`.
        default_value: the values of an example without the feature; None where each must have it.

    >>> import penstock as tf
    >>> tf.io.FixedLenFeature([], tf.int64).shape
    []
    """

    shape: ShapeLike
    dtype: DTypeLike
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with steps of one shape, which becomes a tensor, filled up to the longest.

    Args:
        shape: the shape of a step.
        dtype: `float32`, `int64` or `string`.
        allow_missing: whether an example may be without the feature, which then has no steps.
        default_value: what to fill up with, by default 0 or the empty string.

    >>> import penstock as tf
    >>> tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True).allow_missing
    True
    """

    shape: ShapeLike
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, which becomes a sparse tensor.

    Args:
        dtype: `float32`, `int64` or `string`.

    >>> import penstock as tf
    >>> tf.io.VarLenFeature(tf.int64).dtype
    tf.int64
    """

    dtype: DTypeLike


class SparseFeature(NamedTuple):
    """Two features or more, places and values, which become a sparse tensor.

    Args:
        index_key: the name of the feature with the places, or of one for each dimension.
        value_key: the name of the feature with the values.
        dtype: `float32`, `int64` or `string`.
        size: the extent of the tensor of an example, or one for each dimension.
        already_sorted: whether the places are in order.

    >>> import penstock as tf
    >>> tf.io.SparseFeature("places", "values", tf.float32, size=10).size
    10
    """

    index_key: str | Sequence[str]
    value_key: str
    dtype: DTypeLike
    size: int | Sequence[int]
    already_sorted: bool = False


class _Partition(NamedTuple):
    key: str


class RaggedFeature(NamedTuple):
    """A feature with any number of values, which becomes a ragged tensor.

    Args:
        dtype: `float32`, `int64` or `string`.
        value_key: the name of the feature with the values, by default that in the dict of features.
        partitions: how the values are cut into rows, outermost first: `RaggedFeature.RowLengths(key)` and its
            like, which name a feature, or `RaggedFeature.UniformRowLength(length)`.
        row_splits_dtype: `int32` or `int64`.
        validate: accepted; partitions are always checked.

    >>> import penstock as tf
    >>> lengths = tf.io.RaggedFeature.RowLengths("lengths")
    >>> tf.io.RaggedFeature(tf.int64, partitions=[lengths]).partitions[0].key
    'lengths'
    """

    dtype: DTypeLike
    value_key: str | None = None
    partitions: Sequence[Any] = ()
    row_splits_dtype: DTypeLike = _core.int32
    validate: bool = False


class RowSplits(_Partition):
    """Rows that begin at the values of a feature, behind whose last one there is no more."""


class RowLengths(_Partition):
    """Rows as long as the values of a feature say."""


class RowStarts(_Partition):
    """Rows that begin at the values of a feature."""


class RowLimits(_Partition):
    """Rows that end before the values of a feature."""


class ValueRowIds(_Partition):
    """The row of each value, by a feature."""


class UniformRowLength(NamedTuple):
    """Rows of one length."""

    length: int


for _kind in (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength):
    setattr(RaggedFeature, _kind.__name__, _kind)

Feature = FixedLenFeature | FixedLenSequenceFeature | VarLenFeature | SparseFeature | RaggedFeature

_LISTS: dict[str, str] = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}


class _Column:
    """What the host reads of one feature: values, and lengths of rows at each level, outermost first."""

    _NUMPY: ClassVar[dict[str, str]] = {"float32": "float32", "int64": "int64", "string": "O"}

    def __init__(
        self,
        name: str,
        dtype: DTypeLike,
        levels: int,
        read: Callable[[Any], tuple[list[Any], list[list[int]]]],
    ):
        self.name, self.dtype, self.levels = name, _core.DType(dtype), levels
        self._read = read
        if self.dtype.name not in _LISTS:
            raise ValueError(
                f"feature {name!r}: dtype must be float32, int64 or string, got {self.dtype.name}"
            )

    @property
    def dtypes(self) -> list[_core.DType]:
        """The dtypes of what `arrays` gives."""
        return [self.dtype, *[_core.int64] * self.levels]

    def arrays(self, messages: Sequence[Any]) -> list[np.ndarray]:
        """The values and the lengths of all examples."""
        # Programs without such messages do not need it.
        import numpy as np

        values: list[Any] = []
        lengths: list[list[int]] = [[] for _ in range(self.levels)]
        for message in messages:
            found, here = self._read(message)
            values.extend(found)
            for level, more in zip(lengths, here, strict=True):
                level.extend(more)
        flat = (
            np.array(values, self._NUMPY[self.dtype.name])
            if values
            else np.zeros([0], self._NUMPY[self.dtype.name])
        )
        return [flat, *(np.array(level, np.int64) for level in lengths)]


def _values(features: Any, name: str, dtype: _core.DType) -> list[Any] | None:
    """The values of a feature of one example; None where it has none.

    Raises:
        InvalidArgumentError: where they are of another dtype.
    """
    feature = features.get(name)
    if feature is None:
        return None
    present = [kind for kind in _LISTS.values() if feature.HasField(kind)]
    if not present:
        return None
    if present != [_LISTS[dtype.name]]:
        raise InvalidArgumentError(f"feature {name!r} holds a {present[0]}, not values of dtype {dtype.name}")
    return list(getattr(feature, present[0]).value)


def _parsed(kind: type, columns: Sequence[_Column], serialized: Any) -> list[Any]:
    """The arrays of columns, read by the host when it runs."""

    def read(content: Any) -> list[Any]:
        messages = []
        for one in content.reshape(-1).tolist():
            try:
                messages.append(kind.FromString(one))  # type: ignore[attr-defined]
            except (DataLossError, ValueError, TypeError) as error:
                raise InvalidArgumentError(
                    f"argument 'serialized' has what is no {kind.__name__}: {error}"
                ) from None
        return [array for column in columns for array in column.arrays(messages)]

    outputs = [dtype for column in columns for dtype in column.dtypes]
    found = numpy_function(read, [serialized], outputs, stateful=False)
    return [
        raw_ops.ensure_shape(x, shape=[None]) for x in (found if isinstance(found, list | tuple) else [found])
    ]


def _features(message: Any) -> Any:
    return message.features.feature


def _context(message: Any) -> Any:
    return message.context.feature


def _plain(name: str, dtype: DTypeLike, of: Callable[[Any], Any], missing: int = 0) -> _Column:
    """The values of a feature, and how many each example has; `missing` where it has not the feature."""
    kind = _core.DType(dtype)

    def read(message: Any) -> tuple[list[Any], list[list[int]]]:
        found = _values(of(message), name, kind)
        return (found or []), [[missing if found is None else len(found)]]

    return _Column(name, dtype, 1, read)


def _columns(name: str, feature: Feature, of: Callable[[Any], Any]) -> list[_Column]:
    """What the host reads for a feature."""
    if isinstance(feature, FixedLenFeature | FixedLenSequenceFeature):
        return [_plain(name, feature.dtype, of, missing=-1)]
    if isinstance(feature, VarLenFeature):
        return [_plain(name, feature.dtype, of)]
    if isinstance(feature, SparseFeature):
        keys = [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)
        return [_plain(feature.value_key, feature.dtype, of), *(_plain(key, _core.int64, of) for key in keys)]
    if isinstance(feature, RaggedFeature):
        return [_ragged_column(name, feature, of)]
    raise ValueError(f"argument 'features' has {feature!r} for {name!r}, which is no feature")


def _ragged_column(name: str, feature: RaggedFeature, of: Callable[[Any], Any]) -> _Column:
    key = feature.value_key or name
    dtype = _core.DType(feature.dtype)

    def read(message: Any) -> tuple[list[Any], list[list[int]]]:
        features = of(message)
        values = _values(features, key, dtype) or []
        levels: list[list[int]] = []
        count = len(values)
        for partition in reversed(feature.partitions):
            given = (
                []
                if isinstance(partition, UniformRowLength)
                else _values(features, partition.key, _core.int64) or []
            )
            lengths = _lengths(partition, given, count)
            if min(lengths, default=0) < 0 or sum(lengths) != count:
                raise InvalidArgumentError(
                    f"feature {name!r}: {partition} does not fit {count} values: {given}"
                )
            levels.insert(0, lengths)
            count = len(lengths)
        return values, [[count], *levels]

    return _Column(name, feature.dtype, 1 + len(feature.partitions), read)


def _lengths(partition: Any, given: list[int], count: int) -> list[int]:
    """The lengths of rows of `count` values."""
    if isinstance(partition, UniformRowLength):
        return [partition.length] * (count // partition.length if partition.length else 0)
    if isinstance(partition, RowLengths):
        return given
    if isinstance(partition, RowSplits):
        return [b - a for a, b in pairwise(given)]
    if isinstance(partition, RowStarts):
        return [b - a for a, b in zip(given, [*given[1:], count], strict=True)]
    if isinstance(partition, RowLimits):
        return [b - a for a, b in zip([0, *given], given, strict=False)]
    if isinstance(partition, ValueRowIds):
        return [given.count(row) for row in range(max(given, default=-1) + 1)]
    raise ValueError(f"argument 'partitions' has {partition!r}, which is none of RaggedFeature's")


def _composed(name: str, feature: Feature, parts: list[Any]) -> Any:
    """The tensor of a feature, of what the host read."""
    values, lengths = parts[0], parts[1]
    if isinstance(feature, FixedLenFeature):
        return _fixed(name, feature, values, lengths)
    if isinstance(feature, RaggedFeature):
        made = RaggedTensor.from_nested_row_lengths(values, parts[1:], validate=False)
        return made.with_row_splits_dtype(feature.row_splits_dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            require(raw_ops.reduce_all(lengths >= 0), f"feature {name!r} is missing in an example", lengths)
        return _steps(name, feature, values, raw_ops.maximum(lengths, _core._to_tensor(0, _core.int64)))
    rows: RaggedTensor = RaggedTensor.from_row_lengths(values, lengths, validate=False)
    if isinstance(feature, VarLenFeature):
        return rows.to_sparse()
    sizes = [feature.size] if isinstance(feature.size, int) else list(feature.size)
    for other in parts[3::2]:
        require(
            raw_ops.reduce_all(raw_ops.equal(other, lengths)),
            f"feature {name!r} must have a place for each value",
            other,
        )
    places = raw_ops.stack([rows.value_rowids(), *parts[2::2]], axis=1)
    count = raw_ops.size(lengths, dtype=_core.int64)
    made = SparseTensor(
        places, values, raw_ops.stack([count, *(_core._to_tensor(n, _core.int64) for n in sizes)])
    )
    if feature.already_sorted:
        return made
    return reorder(made)


def _fixed(name: str, feature: FixedLenFeature, values: Any, lengths: Any) -> Any:
    shape = TensorShape(feature.shape)
    if not shape.is_fully_defined():
        raise ValueError(f"feature {name!r}: argument 'shape' must be fully defined, got {shape}")
    size = shape.num_elements() or 0 if shape.rank else 1
    wanted = _core._to_tensor(size, _core.int64)
    fits = raw_ops.equal(lengths, wanted)
    if feature.default_value is None:
        require(
            raw_ops.reduce_all(lengths >= 0),
            f"feature {name!r} is required, and missing in an example",
            lengths,
        )
    else:
        fits = raw_ops.logical_or(fits, lengths < 0)
    require(raw_ops.reduce_all(fits), f"feature {name!r} must have {size} value(s) in each example", lengths)
    whole = [-1, *shape.as_list()]
    count = raw_ops.size(lengths, dtype=_core.int64)
    if feature.default_value is not None:
        default = raw_ops.broadcast_to(_core._to_tensor(feature.default_value, values.dtype), shape.as_list())
        flat = raw_ops.reshape(default, [size])
        # Each example takes its own values, or those behind all of them.
        there = raw_ops.maximum(lengths, _core._to_tensor(0, _core.int64))
        start = raw_ops.cumsum(there, axis=0, exclusive=True)
        start = raw_ops.select(lengths < 0, raw_ops.size(values, dtype=_core.int64), start)
        columns = raw_ops.range(*(_core._to_tensor(n, _core.int64) for n in (0, size, 1)))
        places = raw_ops.expand_dims(start, axis=1) + columns
        values = raw_ops.gather(raw_ops.concat([values, flat], axis=0), places)
    extents = raw_ops.concat(
        [raw_ops.reshape(count, [1]), _core._to_tensor(shape.as_list(), _core.int64)], axis=0
    )
    return raw_ops.ensure_shape(raw_ops.reshape(values, extents), shape=[None, *whole[1:]])


def _steps(name: str, feature: FixedLenSequenceFeature, values: Any, lengths: Any) -> Any:
    """Steps of one shape, filled up to the longest sequence."""
    shape = TensorShape(feature.shape).as_list()
    size = 1
    for n in shape:
        size *= n or 0
    step = _core._to_tensor(max(size, 1), _core.int64)
    whole = raw_ops.equal(raw_ops.floormod(lengths, step), _core._to_tensor(0, _core.int64))
    require(raw_ops.reduce_all(whole), f"feature {name!r} must have whole steps of {size} values", lengths)
    sized = [_core._to_tensor(n, _core.int64) for n in (-1, *shape)]
    rows = RaggedTensor.from_row_lengths(
        raw_ops.reshape(values, raw_ops.stack(sized)), raw_ops.floordiv(lengths, step), validate=False
    )
    return rows.to_tensor(filling(feature.default_value, values.dtype))


def _checked(features: Any, argument: str) -> dict[str, Feature]:
    if not isinstance(features, Mapping) or not features:
        raise ValueError(
            f"argument '{argument}' must be a dict of features with at least one, got {features!r}"
        )
    return {name: features[name] for name in sorted(features)}


@scoped
def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Feature],
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Read the features of `tf.train.Example` messages.

    Args:
        serialized: a vector of messages.
        features: what each feature becomes, by its name.
        example_names: accepted; errors name the feature.
        name: a scope for the names of its operations in a graph.

    Returns:
        A dict with a tensor, sparse or ragged tensor for each feature, whose first dimension counts messages.

    Raises:
        ValueError: for no features, or such that cannot be.
        InvalidArgumentError: for what is no message, and where features are missing or of another kind.

    >>> import penstock as tf
    >>> def example(*values):
    ...     ages = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    ...     return tf.train.Example(features=tf.train.Features(feature={"ages": ages})).SerializeToString()
    >>> found = tf.io.parse_example([example(1, 2), example()], {"ages": tf.io.RaggedFeature(tf.int64)})
    >>> found["ages"].to_list()
    [[1, 2], []]
    """
    wanted = _checked(features, "features")
    content = _core._to_tensor(serialized, _core.string)
    if content.shape.rank not in (1, None):
        raise ValueError(
            f"argument 'serialized' must be a vector, got shape {content.shape}; see parse_single_example"
        )
    return _read(Example, wanted, content, _features)


def _read(kind: type, wanted: dict[str, Feature], content: Any, of: Callable[[Any], Any]) -> dict[str, Any]:
    columns = {name: _columns(name, feature, of) for name, feature in wanted.items()}
    parts = iter(_parsed(kind, [c for group in columns.values() for c in group], content))
    made = {}
    for name, feature in wanted.items():
        held = [next(parts) for column in columns[name] for _ in column.dtypes]
        made[name] = _composed(name, feature, held)
    return made


def _first(value: Any) -> Any:
    """What a batch of one holds."""
    if not isinstance(value, SparseTensor):
        return value[0]
    return value._with(value.indices[:, 1:], value.values, value.dense_shape[1:])


@scoped
def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Feature],
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Read the features of one `tf.train.Example` message.

    Args:
        serialized: the message, a scalar.
        features: what each feature becomes, by its name.
        example_names: accepted; errors name the feature.
        name: a scope for the names of its operations in a graph.

    Returns:
        A dict with a tensor, sparse or ragged tensor for each feature.

    Raises:
        ValueError: for no features, or such that cannot be.
        InvalidArgumentError: for what is no message, and where features are missing or of another kind.

    >>> import penstock as tf
    >>> age = tf.train.Feature(int64_list=tf.train.Int64List(value=[42]))
    >>> content = tf.train.Example(features=tf.train.Features(feature={"age": age})).SerializeToString()
    >>> tf.io.parse_single_example(content, {"age": tf.io.FixedLenFeature([], tf.int64)})["age"].numpy()
    np.int64(42)
    """
    content = _core._to_tensor(serialized, _core.string)
    if content.shape.rank not in (0, None):
        raise ValueError(
            f"argument 'serialized' must be a scalar, got shape {content.shape}; see parse_example"
        )
    found = _read(Example, _checked(features, "features"), raw_ops.reshape(content, [1]), _features)
    return {name: _first(value) for name, value in found.items()}


def _sequence_column(name: str, feature: Feature) -> _Column:
    """The values of a list of features, how many steps each example has, and how many values each step."""
    if not isinstance(feature, FixedLenSequenceFeature | VarLenFeature | RaggedFeature):
        raise ValueError(f"argument 'sequence_features' has {feature!r} for {name!r}, which has no steps")
    if isinstance(feature, RaggedFeature) and feature.partitions:
        raise ValueError(f"argument 'sequence_features': {name!r} must have no partitions")
    dtype = _core.DType(feature.dtype)
    strict = isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing
    key = (feature.value_key if isinstance(feature, RaggedFeature) else None) or name

    def read(message: Any) -> tuple[list[Any], list[list[int]]]:
        listed = message.feature_lists.feature_list.get(key)
        if listed is None and strict:
            raise InvalidArgumentError(f"the list of features {name!r} is missing in an example")
        steps = [] if listed is None else [_values({key: step}, key, dtype) or [] for step in listed.feature]
        return [v for step in steps for v in step], [[len(steps)], [len(step) for step in steps]]

    return _Column(name, feature.dtype, 2, read)


@scoped
def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Feature] | None = None,
    sequence_features: Mapping[str, Feature] | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Read the features of `tf.train.SequenceExample` messages.

    Args:
        serialized: a vector of messages.
        context_features: what features of whole messages become, by name.
        sequence_features: what features of steps become, by name: a `FixedLenSequenceFeature`, a
            `VarLenFeature` or a `RaggedFeature`.
        example_names: accepted; errors name the feature.
        name: a scope for the names of its operations in a graph.

    Returns:
        Three dicts: of the features of messages, of those of steps, whose second dimension counts the steps,
        and of the number of steps of the latter.

    Raises:
        ValueError: for no features, or such that cannot be.
        InvalidArgumentError: for what is no message, and where features are missing or of another kind.

    >>> import penstock as tf
    >>> steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[n])) for n in (1, 2)]
    >>> lists = tf.train.FeatureLists(feature_list={"n": tf.train.FeatureList(feature=steps)})
    >>> content = tf.train.SequenceExample(feature_lists=lists).SerializeToString()
    >>> features = {"n": tf.io.FixedLenSequenceFeature([], tf.int64)}
    >>> _, found, lengths = tf.io.parse_sequence_example([content], sequence_features=features)
    >>> found["n"].numpy().tolist(), lengths["n"].numpy().tolist()
    ([[1, 2]], [2])
    """
    if not context_features and not sequence_features:
        raise ValueError("one of arguments 'context_features' and 'sequence_features' must be given")
    content = _core._to_tensor(serialized, _core.string)
    context = {}
    if context_features:
        context = _read(SequenceExample, _checked(context_features, "context_features"), content, _context)
    sequences: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    if sequence_features:
        wanted = _checked(sequence_features, "sequence_features")
        columns = [_sequence_column(key, feature) for key, feature in wanted.items()]
        parts = iter(_parsed(SequenceExample, columns, content))
        for key, feature in wanted.items():
            values, steps, lengths = next(parts), next(parts), next(parts)
            counts[key] = steps
            sequences[key] = _sequence(key, feature, values, steps, lengths)
    return context, sequences, counts


def _sequence(name: str, feature: Feature, values: Any, steps: Any, lengths: Any) -> Any:
    if isinstance(feature, FixedLenSequenceFeature):
        size = 1
        for n in TensorShape(feature.shape).as_list():
            size *= n or 0
        wanted = _core._to_tensor(size, _core.int64)
        same = raw_ops.reduce_all(raw_ops.equal(lengths, wanted))
        require(same, f"feature {name!r} must have {size} value(s) in each step", lengths)
        return _steps(name, feature, values, steps * wanted)
    rows = RaggedTensor.from_nested_row_lengths(values, [steps, lengths], validate=False)
    if isinstance(feature, VarLenFeature):
        return rows.to_sparse()
    return rows.with_row_splits_dtype(feature.row_splits_dtype)  # type: ignore[union-attr]


@scoped
def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Feature] | None = None,
    sequence_features: Mapping[str, Feature] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the features of one `tf.train.SequenceExample` message.

    Args:
        serialized: the message, a scalar.
        context_features: what features of the whole message become, by name.
        sequence_features: what features of steps become, by name.
        example_name: accepted; errors name the feature.
        name: a scope for the names of its operations in a graph.

    Returns:
        Two dicts: of the features of the message, and of those of steps, whose first dimension counts them.

    Raises:
        ValueError: for no features, or such that cannot be.
        InvalidArgumentError: for what is no message, and where features are missing or of another kind.

    >>> import penstock as tf
    >>> steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[n])) for n in (1, 2)]
    >>> lists = tf.train.FeatureLists(feature_list={"n": tf.train.FeatureList(feature=steps)})
    >>> content = tf.train.SequenceExample(feature_lists=lists).SerializeToString()
    >>> features = {"n": tf.io.FixedLenSequenceFeature([], tf.int64)}
    >>> tf.io.parse_single_sequence_example(content, sequence_features=features)[1]["n"].numpy().tolist()
    [1, 2]
    """
    content = raw_ops.reshape(_core._to_tensor(serialized, _core.string), [1])
    context, sequences, _ = parse_sequence_example(content, context_features, sequence_features)
    return (
        {key: _first(value) for key, value in context.items()},
        {key: _first(value) for key, value in sequences.items()},
    )
