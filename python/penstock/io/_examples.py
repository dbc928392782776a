"""Features of `tf.train.Example` and `tf.train.SequenceExample` messages as tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.sparse_layout import reorder
from penstock._runtime.arguments import filling, require
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.scope import scoped
from penstock._types.shape import TensorShape
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import InvalidArgumentError

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

_DTYPES = ("float32", "int64", "string")


class _Read(NamedTuple):
    """A feature that is read from messages: its key and the dtype of its values."""

    key: str
    dtype: _core.DType


def _read_as(name: str, key: str, dtype: DTypeLike) -> _Read:
    """A feature that is read for the feature `name`.

    Raises:
        ValueError: for a dtype that features do not have.
    """
    kind = _core.DType(dtype)
    if kind.name not in _DTYPES:
        raise InvalidArgumentError(
            f"feature {name!r}: dtype must be float32, int64 or string, got {kind.name}"
        )
    return _Read(key, kind)


def _parsed(part: str, reads: Sequence[_Read], serialized: Any) -> dict[_Read, list[Any]]:
    """The values of features, and how many each message has, by what is read; each feature is read once."""
    distinct = list(dict.fromkeys(reads))
    found = raw_ops.example_features(
        serialized,
        part=part,
        keys=_core._to_tensor([read.key for read in distinct], dtype=_core.string),
        outs=[read.dtype for read in distinct],
    )
    every = 3 if part == "steps" else 2
    return {read: list(found[i * every : (i + 1) * every]) for i, read in enumerate(distinct)}


def _reads(name: str, feature: Feature) -> list[_Read]:
    """What is read for a feature: its values first."""
    if isinstance(feature, FixedLenFeature | FixedLenSequenceFeature | VarLenFeature):
        return [_read_as(name, name, feature.dtype)]
    if isinstance(feature, SparseFeature):
        keys = [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)
        values = _read_as(name, feature.value_key, feature.dtype)
        return [values, *(_Read(key, _core.int64) for key in keys)]
    if isinstance(feature, RaggedFeature):
        keys = [p.key for p in feature.partitions if not isinstance(p, UniformRowLength)]
        values = _read_as(name, feature.value_key or name, feature.dtype)
        return [values, *(_Read(key, _core.int64) for key in keys)]
    raise InvalidArgumentError(f"argument 'features' has {feature!r} for {name!r}, which is no feature")


def _present(lengths: Any) -> Any:
    """How many values each message has, none where it has not the feature."""
    return raw_ops.maximum(lengths, _core._to_tensor(0, _core.int64))


def _levels(name: str, feature: RaggedFeature, parts: list[list[Any]]) -> list[Any]:
    """The lengths of the rows that partitions cut the values of a feature into, outermost first."""
    counts = _present(parts[0][1])
    if not feature.partitions:
        return [counts]
    partitions = list(feature.partitions)

    def cut(counts: np.ndarray, *given: np.ndarray) -> list[np.ndarray]:
        # Programs without such messages do not need it.
        import numpy as np

        levels: list[list[int]] = [[] for _ in range(1 + len(partitions))]
        starts = [0] * len(given)
        for example, count in enumerate(counts.tolist()):
            taken: dict[int, list[int]] = {}
            for k in range(0, len(given), 2):
                size = int(given[k + 1][example])
                taken[k] = given[k][starts[k] : starts[k] + size].tolist()
                starts[k] += size
            here: list[list[int]] = []
            place = len(given)
            for partition in reversed(partitions):
                held: list[int] = []
                if not isinstance(partition, UniformRowLength):
                    place -= 2
                    held = taken[place]
                lengths = _lengths(partition, held, count)
                if min(lengths, default=0) < 0 or sum(lengths) != count:
                    raise InvalidArgumentError(
                        f"feature {name!r}: {partition} does not fit {count} values: {held}"
                    )
                here.insert(0, lengths)
                count = len(lengths)
            for level, more in zip(levels, [[count], *here], strict=True):
                level.extend(more)
        return [np.array(level, np.int64) for level in levels]

    given = [x for values, lengths in parts[1:] for x in (values, _present(lengths))]
    found = numpy_function(cut, [counts, *given], [_core.int64] * (1 + len(partitions)), stateful=False)
    return [raw_ops.ensure_shape(x, shape=[None]) for x in found]


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
    raise InvalidArgumentError(f"argument 'partitions' has {partition!r}, which is none of RaggedFeature's")


def _composed(name: str, feature: Feature, parts: list[list[Any]]) -> Any:
    """The tensor of a feature, of what was read for it."""
    values, lengths = parts[0]
    if isinstance(feature, FixedLenFeature):
        return _fixed(name, feature, values, lengths)
    if isinstance(feature, RaggedFeature):
        made = RaggedTensor.from_nested_row_lengths(values, _levels(name, feature, parts), validate=False)
        return made.with_row_splits_dtype(feature.row_splits_dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            require(raw_ops.reduce_all(lengths >= 0), f"feature {name!r} is missing in an example", lengths)
        return _steps(name, feature, values, _present(lengths))
    lengths = _present(lengths)
    rows: RaggedTensor = RaggedTensor.from_row_lengths(values, lengths, validate=False)
    if isinstance(feature, VarLenFeature):
        return rows.to_sparse()
    sizes = [feature.size] if isinstance(feature.size, int) else list(feature.size)
    for _, other in parts[1:]:
        require(
            raw_ops.reduce_all(raw_ops.equal(_present(other), lengths)),
            f"feature {name!r} must have a place for each value",
            other,
        )
    places = raw_ops.stack([rows.value_rowids(), *(place for place, _ in parts[1:])], axis=1)
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
        raise InvalidArgumentError(f"feature {name!r}: argument 'shape' must be fully defined, got {shape}")
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
        raise InvalidArgumentError(
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
        raise InvalidArgumentError(
            f"argument 'serialized' must be a vector, got shape {content.shape}; see parse_single_example"
        )
    return _read("example", wanted, content)


def _read(part: str, wanted: dict[str, Feature], content: Any) -> dict[str, Any]:
    reads = {name: _reads(name, feature) for name, feature in wanted.items()}
    found = _parsed(part, [read for group in reads.values() for read in group], content)
    return {
        name: _composed(name, feature, [found[read] for read in reads[name]])
        for name, feature in wanted.items()
    }


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
        raise InvalidArgumentError(
            f"argument 'serialized' must be a scalar, got shape {content.shape}; see parse_example"
        )
    found = _read("example", _checked(features, "features"), raw_ops.reshape(content, [1]))
    return {name: _first(value) for name, value in found.items()}


def _steps_read(name: str, feature: Feature) -> _Read:
    """What is read for a list of features."""
    if not isinstance(feature, FixedLenSequenceFeature | VarLenFeature | RaggedFeature):
        raise InvalidArgumentError(
            f"argument 'sequence_features' has {feature!r} for {name!r}, which has no steps"
        )
    if isinstance(feature, RaggedFeature) and feature.partitions:
        raise InvalidArgumentError(f"argument 'sequence_features': {name!r} must have no partitions")
    key = (feature.value_key if isinstance(feature, RaggedFeature) else None) or name
    return _read_as(name, key, feature.dtype)


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
        raise InvalidArgumentError(
            "one of arguments 'context_features' and 'sequence_features' must be given"
        )
    content = _core._to_tensor(serialized, _core.string)
    context = {}
    if context_features:
        context = _read("context", _checked(context_features, "context_features"), content)
    sequences: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    if sequence_features:
        wanted = _checked(sequence_features, "sequence_features")
        reads = {key: _steps_read(key, feature) for key, feature in wanted.items()}
        found = _parsed("steps", list(reads.values()), content)
        for key, feature in wanted.items():
            values, steps, lengths = found[reads[key]]
            if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
                message = f"the list of features {key!r} is missing in an example"
                require(raw_ops.reduce_all(steps >= 0), message, steps)
            counts[key] = steps = _present(steps)
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
