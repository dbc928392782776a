"""Columns of numbers: as they are, in ranges, in sequences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat
from penstock._ops.creation import fill, one_hot
from penstock._ops.shapes import reshape
from penstock._ops.sorting import searchsorted
from penstock._ops.sparse_layout import to_dense
from penstock._ops.sparse_places import int64
from penstock._types.shape import TensorShape
from penstock._values.sparse import SparseTensor
from penstock.feature_column._column import (
    CategoricalColumn,
    Column,
    DenseColumn,
    FeatureTransformationCache,
    IdWeightPair,
    SequenceDense,
    lengths_of,
)
from penstock.io import FixedLenFeature, VarLenFeature

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "BucketizedColumn",
    "NumericColumn",
    "bucketized_column",
    "numeric_column",
    "sequence_numeric_column",
]


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"argument 'key' must be a string, got {key!r}")
    return key


def _shape(shape: Any) -> tuple[int, ...]:
    sizes = TensorShape([shape] if isinstance(shape, int) else shape).as_list()
    if any(size is None or size < 1 for size in sizes):
        raise ValueError(f"argument 'shape' must hold sizes of 1 or more, got {shape!r}")
    return tuple(size or 0 for size in sizes)


def _number_type(dtype: Any) -> _core.DType:
    found = _core.DType(dtype)
    if not (found.is_integer or found.is_floating):
        raise ValueError(f"argument 'dtype' must be that of numbers, got {found.name}")
    return found


def _normalizer(function: Any) -> Any:
    if function is not None and not callable(function):
        raise TypeError(f"argument 'normalizer_fn' must be callable, got {function!r}")
    return function


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """Numbers as they are."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: _core.DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parents(self) -> list[Column | str]:
        """The key."""
        return [self.key]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """As many numbers as the shape has."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> list[int]:
        """The shape."""
        return list(self.shape)

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The numbers as `float32`, normalised."""
        x = transformation_cache.get(self.key, state_manager)
        if isinstance(x, SparseTensor):
            raise ValueError(
                f"the feature {self.key!r} of a numeric column must be dense, got a sparse tensor; use a "
                "categorical or a sequence column, or tf.sparse.to_dense"
            )
        if self.normalizer_fn is not None:
            x = _core._to_tensor(self.normalizer_fn(x))
        return raw_ops.cast(x, dtype=_core.float32)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> _core.Tensor:
        """The numbers."""
        made: _core.Tensor = transformation_cache.get(self, state_manager)
        return made


def numeric_column(
    key: str,
    shape: ShapeLike = (1,),
    default_value: TensorLike | None = None,
    dtype: DTypeLike = _core.float32,
    normalizer_fn: Callable[[_core.Tensor], _core.Tensor] | None = None,
) -> NumericColumn:
    """Take numbers as they are.

    Args:
        key: that of the feature.
        shape: the shape that the feature has for each row.
        default_value: what `tf.io.parse_example` puts where an example has no such feature: a number, or one
            for each element of `shape`; None where each example has it.
        dtype: that of the feature in examples; the column gives `float32`.
        normalizer_fn: makes of the feature what the column gives.

    Returns:
        A column.

    Raises:
        ValueError: for a key that is no string, a size below 1, a dtype that is not numeric.
        TypeError: for a `normalizer_fn` that cannot be called.

    >>> import penstock as tf
    >>> price = tf.feature_column.numeric_column("price", normalizer_fn=lambda x: x / 10.0)
    >>> tf.feature_column.DenseFeatures([price])({"price": [20.0, 50.0]}).numpy().tolist()
    [[2.0], [5.0]]
    """
    sizes, kind = _shape(shape), _number_type(dtype)
    default = None
    if default_value is not None:
        given = _core._to_tensor(default_value, kind).numpy()
        if given.shape not in ((), sizes):
            raise ValueError(
                f"argument 'default_value' must have shape {sizes} or be a number, got {default_value!r}"
            )
        filled = given.reshape(-1).tolist() * (math.prod(sizes) if given.shape == () else 1)
        default = tuple(filled)
    return NumericColumn(_key(key), sizes, default, kind, _normalizer(normalizer_fn))


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """The ranges in which numbers are."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """That of the source, and what becomes of it."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parents(self) -> list[Column | str]:
        """The source."""
        return [self.source_column]

    @property
    def variable_shape(self) -> list[int]:
        """An element for each range."""
        return [*self.source_column.shape, len(self.boundaries) + 1]

    @property
    def num_buckets(self) -> int:
        """As many ranges for each element."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The number of the range of each element."""
        x = transformation_cache.get(self.source_column, state_manager)
        edges = _core._to_tensor([float(b) for b in self.boundaries], _core.float32)
        flat = searchsorted(edges, reshape(x, [-1]), side="right")
        return reshape(flat, raw_ops.shape(x))

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> _core.Tensor:
        """1 for the range of each element, else 0."""
        return one_hot(transformation_cache.get(self, state_manager), len(self.boundaries) + 1)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdWeightPair:
        """The ranges, those of each element with numbers of their own."""
        x = raw_ops.cast(transformation_cache.get(self, state_manager), dtype=_core.int64)
        width = self.source_column.shape[0]
        first = raw_ops.range(int64(0), int64(width), int64(1)) * (len(self.boundaries) + 1)
        x = reshape(x, [-1, width]) + first
        shape = raw_ops.shape(x, dtype=_core.int64)
        places = raw_ops.where_indices(fill(shape, _core._to_tensor(True)))
        return IdWeightPair(SparseTensor(places, reshape(x, [-1]), shape), None)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """Say in which range a number is.

    Args:
        source_column: a `numeric_column` of rank 1.
        boundaries: where ranges begin, each above the one before. The first range is below all of them.

    Returns:
        A column of numbers, 1 for the range; and of categories, as which it can be crossed or embedded.

    Raises:
        ValueError: for another column, or boundaries that are not in order.

    >>> import penstock as tf
    >>> age = tf.feature_column.numeric_column("age")
    >>> ranges = tf.feature_column.bucketized_column(age, [18, 65])
    >>> tf.feature_column.DenseFeatures([ranges])({"age": [17.0, 18.0, 80.0]}).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"argument 'source_column' must be a numeric_column, got {source_column!r}")
    if len(source_column.shape) != 1:
        raise ValueError(f"argument 'source_column' must have rank 1, got shape {source_column.shape}")
    edges = tuple(boundaries) if isinstance(boundaries, list | tuple) else ()
    if not edges or any(not a < b for a, b in itertools.pairwise(edges)):
        raise ValueError(
            f"argument 'boundaries' must be a list of numbers, each above the one before, got {boundaries!r}"
        )
    return BucketizedColumn(source_column, edges)


@dataclass(frozen=True)
class SequenceNumericColumn(Column):
    """Numbers for each step of sequences."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: _core.DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parents(self) -> list[Column | str]:
        """The key."""
        return [self.key]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of numbers."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> list[int]:
        """The shape of each step."""
        return list(self.shape)

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The numbers that there are, normalised."""
        x = transformation_cache.get(self.key, state_manager)
        if not isinstance(x, SparseTensor):
            raise TypeError(f"the feature {self.key!r} of a sequence column must be sparse or ragged")
        if self.normalizer_fn is not None:
            x = self.normalizer_fn(x)
        return x

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SequenceDense:
        """The numbers of each step, and how many steps there are."""
        sparse = transformation_cache.get(self, state_manager)
        default = raw_ops.cast(_core._to_tensor(self.default_value), dtype=sparse.dtype)
        elements = math.prod(self.shape)
        dense = to_dense(sparse, default_value=default)
        if elements > 1 and sparse.shape.rank == 2:
            # A row that does not hold whole steps is filled up.
            lack = -int_of(raw_ops.shape(dense)[1]) % elements
            tail = fill(raw_ops.stack(raw_ops.shape(dense)[0], lack), default)
            dense = concat([dense, tail], 1)
        steps = -1 if sparse.shape.rank == 2 else raw_ops.shape(dense)[1]
        batch = raw_ops.shape(dense)[0]
        sizes = raw_ops.stack(batch, *(_core._to_tensor(n, _core.int32) for n in (steps, *self.shape)))
        dense = reshape(raw_ops.cast(dense, dtype=_core.float32), sizes)
        dense = raw_ops.ensure_shape(dense, shape=[None, None, *self.shape])
        return SequenceDense(dense, lengths_of(sparse, elements))


def int_of(value: Any) -> Any:
    """A scalar of `int32`."""
    return raw_ops.cast(value, dtype=_core.int32)


def sequence_numeric_column(
    key: str,
    shape: ShapeLike = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = _core.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Take numbers of each step of sequences, for `SequenceFeatures`.

    Args:
        key: that of the feature, which is sparse or ragged: `[batch, steps]`, or `[batch, steps, elements]`.
        shape: the shape of each step.
        default_value: what stands behind sequences that are shorter than others.
        dtype: that of the feature in examples; the column gives `float32`.
        normalizer_fn: makes of the sparse feature another one.

    Returns:
        A column.

    Raises:
        ValueError: for a key that is no string, a size below 1, a dtype that is not numeric.
        TypeError: for a `normalizer_fn` that cannot be called.

    >>> import penstock as tf
    >>> column = tf.feature_column.sequence_numeric_column("x")
    >>> given = {"x": tf.ragged.constant([[1.0, 2.0], [3.0]])}
    >>> values, lengths = tf.feature_column.SequenceFeatures([column])(given)
    >>> values[..., 0].numpy().tolist(), lengths.numpy().tolist()
    ([[1.0, 2.0], [3.0, 0.0]], [2, 1])
    """
    return SequenceNumericColumn(
        _key(key), _shape(shape), default_value, _number_type(dtype), _normalizer(normalizer_fn)
    )
