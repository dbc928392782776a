"""Numbers out of categories: an element for each, or a row of a table; for single rows and for sequences."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core, initializers, raw_ops
from penstock._ops.creation import one_hot
from penstock._ops.embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse
from penstock._ops.reductions import reduce_sum
from penstock._ops.sparse_layout import to_dense
from penstock._runtime.arguments import integer
from penstock._values.sparse import SparseTensor
from penstock.feature_column._categorical import (
    WeightedCategoricalColumn,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from penstock.feature_column._column import (
    CategoricalColumn,
    Column,
    DenseColumn,
    FeatureTransformationCache,
    IdWeightPair,
    SequenceDense,
    StateManager,
    lengths_of,
)

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, PathLike

__all__ = [
    "EmbeddingColumn",
    "IndicatorColumn",
    "SequenceCategoricalColumn",
    "embedding_column",
    "indicator_column",
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "shared_embeddings",
]


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """Categories for each step of sequences."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the categories."""
        return self.categorical_column.name

    @property
    def parents(self) -> list[Column | str]:
        """The categories."""
        return [self.categorical_column]

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.categorical_column.num_buckets

    def create_state(self, state_manager: Any) -> None:
        """Makes what the categories need."""
        self.categorical_column.create_state(state_manager)

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """What is made of the categories."""
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdWeightPair:
        """The categories of each step, of rank 3."""
        ids, weights = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return IdWeightPair(_of_steps(ids), None if weights is None else _of_steps(weights))


def _of_steps(sparse: SparseTensor) -> SparseTensor:
    """A sparse tensor of rank 3: of rank 2 each element is a step."""
    from penstock._ops.sparse_layout import expand_dims  # for sequences alone

    return expand_dims(sparse, -1) if sparse.shape.rank == 2 else sparse


class _OfCategories(DenseColumn):
    """A dense column of categories, of which each step may have its own."""

    categorical_column: CategoricalColumn

    @property
    def parents(self) -> list[Column | str]:
        """The categories."""
        return [self.categorical_column]

    def _made(self, pair: IdWeightPair, state_manager: Any) -> _core.Tensor:
        raise NotImplementedError

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The categories."""
        return self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> _core.Tensor:
        """The numbers of each row.

        Raises:
            ValueError: for categories of sequences.
        """
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(f"the column {self.name!r} is one of sequences, which SequenceFeatures takes")
        return self._made(transformation_cache.get(self, state_manager), state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> SequenceDense:
        """The numbers of each step, and how many steps there are.

        Raises:
            ValueError: for categories that are not those of sequences.
        """
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"the column {self.name!r} is none of sequences; use one of sequence_categorical_..."
            )
        pair = transformation_cache.get(self, state_manager)
        return SequenceDense(self._made(pair, state_manager), lengths_of(pair.id_tensor))


@dataclass(frozen=True)
class IndicatorColumn(_OfCategories):
    """How often each category is there."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the categories, and what becomes of them."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> list[int]:
        """An element for each category."""
        return [1, self.categorical_column.num_buckets]

    def create_state(self, state_manager: Any) -> None:
        """Makes what the categories need."""
        self.categorical_column.create_state(state_manager)

    def _made(self, pair: IdWeightPair, state_manager: Any) -> _core.Tensor:
        ids, weights = pair
        minus = _core._to_tensor(-1, ids.dtype)
        numbers = to_dense(ids, default_value=minus, validate_indices=False)
        hot = one_hot(numbers, self.categorical_column.num_buckets)
        if weights is not None:
            dense = to_dense(weights, validate_indices=False)
            hot = hot * raw_ops.expand_dims(dense, axis=-1)
        return reduce_sum(hot, -2)


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Count each category.

    Args:
        categorical_column: a column of categories.

    Returns:
        A column of numbers, an element for each category.

    Raises:
        ValueError: for another column.

    >>> import penstock as tf
    >>> size = tf.feature_column.categorical_column_with_vocabulary_list("size", ["s", "m", "l"])
    >>> columns = [tf.feature_column.indicator_column(size)]
    >>> tf.feature_column.DenseFeatures(columns)({"size": [["m", "m"], ["l", ""]]}).numpy().tolist()
    [[0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return IndicatorColumn(_categories(categorical_column, "categorical_column"))


def _categories(column: Any, argument: str) -> CategoricalColumn:
    if not isinstance(column, CategoricalColumn):
        raise ValueError(f"argument '{argument}' must be a column of categories, got {column!r}")
    return column


@dataclass(frozen=True)
class _Table:
    """What a table of rows is: shared by the columns that have it."""

    dimension: int
    initializer: Callable[..., Any]
    checkpoint: str | None
    tensor: str | None
    trainable: bool
    # Made once by each owner of variables, for the columns that share it.
    made: Any = field(default_factory=weakref.WeakKeyDictionary, compare=False, hash=False)

    def variable(self, column: Column, buckets: int, state_manager: StateManager) -> None:
        known = self.made.get(state_manager)
        if known is not None:
            state_manager.add_variable(column, "embedding_weights", known)
            return
        initializer = self.initializer
        if self.checkpoint is not None and self.tensor is not None:
            from penstock.train import load_variable  # for checkpoints alone

            value = load_variable(self.checkpoint, self.tensor)
            if list(value.shape) != [buckets, self.dimension]:
                raise ValueError(
                    f"argument 'tensor_name_in_ckpt': {self.tensor!r} has shape {list(value.shape)}, not "
                    f"{[buckets, self.dimension]}"
                )
            initializer = initializers.Constant(value)
        own = state_manager.create_variable(
            column,
            "embedding_weights",
            [buckets, self.dimension],
            _core.float32,
            self.trainable,
            initializer=initializer,
        )
        self.made[state_manager] = own


@dataclass(frozen=True)
class EmbeddingColumn(_OfCategories):
    """Rows of a table, those of the categories of each row combined."""

    categorical_column: CategoricalColumn
    table: _Table
    combiner: str
    max_norm: float | None
    use_safe_embedding_lookup: bool
    shared_name: str | None = None

    @property
    def name(self) -> str:
        """That of the categories, and what becomes of them."""
        shared = "" if self.shared_name is None else "_shared"
        return f"{self.categorical_column.name}{shared}_embedding"

    @property
    def dimension(self) -> int:
        """The size of a row."""
        return self.table.dimension

    @property
    def variable_shape(self) -> list[int]:
        """The size of a row."""
        return [self.table.dimension]

    def create_state(self, state_manager: Any) -> None:
        """Makes the table, and what the categories need."""
        self.categorical_column.create_state(state_manager)
        self.table.variable(self, self.categorical_column.num_buckets, state_manager)

    def _made(self, pair: IdWeightPair, state_manager: Any) -> _core.Tensor:
        weights = state_manager.get_variable(self, "embedding_weights")
        if self.use_safe_embedding_lookup or isinstance(self.categorical_column, SequenceCategoricalColumn):
            return safe_embedding_lookup_sparse(
                weights, pair.id_tensor, pair.weight_tensor, self.combiner, max_norm=self.max_norm
            )
        return embedding_lookup_sparse(
            weights, pair.id_tensor, pair.weight_tensor, self.combiner, self.max_norm
        )


def _table(
    dimension: Any, initializer: Any, checkpoint: Any, tensor: Any, trainable: bool, combiner: str
) -> _Table:
    size = integer(dimension, "dimension")
    if size < 1:
        raise ValueError(f"argument 'dimension' must be 1 or more, got {size}")
    if (checkpoint is None) != (tensor is None):
        raise ValueError(
            "arguments 'ckpt_to_load_from' and 'tensor_name_in_ckpt' must be given both or neither"
        )
    if initializer is not None and not callable(initializer):
        raise ValueError(f"argument 'initializer' must be callable, got {initializer!r}")
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"argument 'combiner' must be 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    if initializer is None:
        initializer = initializers.TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(size))
    place = None if checkpoint is None else str(checkpoint)
    return _Table(size, initializer, place, tensor, bool(trainable))


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | Path | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """Take a row of a table that trains for each category.

    Args:
        categorical_column: a column of categories.
        dimension: the size of a row.
        combiner: how the rows of several categories become one: `"mean"`, `"sqrtn"` or `"sum"`.
        initializer: takes a shape and a dtype and gives the first table; by default a truncated normal
            distribution with the standard deviation `1 / sqrt(dimension)`.
        ckpt_to_load_from: a checkpoint that the first table comes from.
        tensor_name_in_ckpt: its key there.
        max_norm: the greatest norm of a row; None for no limit.
        trainable: whether the table trains.
        use_safe_embedding_lookup: whether rows without categories are zeros; else the last
            of them are missing.

    Returns:
        A column of numbers.

    Raises:
        ValueError: for another column, a dimension below 1, another combiner.

    >>> import penstock as tf
    >>> day = tf.feature_column.categorical_column_with_identity("day", 7)
    >>> layer = tf.feature_column.DenseFeatures([tf.feature_column.embedding_column(day, 4)])
    >>> layer({"day": [6, 0]}).shape, layer.trainable_variables[0].shape
    (TensorShape([2, 4]), TensorShape([7, 4]))
    """
    table = _table(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, trainable, combiner)
    return EmbeddingColumn(
        _categories(categorical_column, "categorical_column"),
        table,
        combiner,
        max_norm,
        bool(use_safe_embedding_lookup),
    )


def shared_embeddings(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | Path | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[EmbeddingColumn]:
    """Take rows of one table for several columns of categories.

    Args:
        categorical_columns: the columns, with as many categories each.
        dimension: the size of a row.
        combiner: how the rows of several categories become one: `"mean"`, `"sqrtn"` or `"sum"`.
        initializer: takes a shape and a dtype and gives the first table.
        shared_embedding_collection_name: a name for the table.
        ckpt_to_load_from: a checkpoint that the first table comes from.
        tensor_name_in_ckpt: its key there.
        max_norm: the greatest norm of a row; None for no limit.
        trainable: whether the table trains.
        use_safe_embedding_lookup: whether rows without categories are zeros.

    Returns:
        A column of numbers for each column of categories.

    Raises:
        ValueError: for no columns, columns of other kinds or numbers of categories, as `embedding_column`.

    >>> import penstock as tf
    >>> column = tf.feature_column.categorical_column_with_identity
    >>> seen, bought = column("seen", 9), column("bought", 9)
    >>> layer = tf.feature_column.DenseFeatures(tf.feature_column.shared_embeddings([seen, bought], 2))
    >>> layer({"seen": [1], "bought": [1]}).shape, len(layer.trainable_variables)
    (TensorShape([1, 4]), 1)
    """
    columns = [_categories(column, "categorical_columns") for column in categorical_columns]
    if not columns:
        raise ValueError("argument 'categorical_columns' must hold at least one column")

    def inner(column: CategoricalColumn) -> CategoricalColumn:
        while isinstance(column, WeightedCategoricalColumn | SequenceCategoricalColumn):
            column = column.categorical_column
        return column

    if len({type(inner(column)) for column in columns}) > 1:
        raise ValueError("argument 'categorical_columns' must hold columns of one kind")
    if len({column.num_buckets for column in columns}) > 1:
        raise ValueError(
            "argument 'categorical_columns' must have as many categories each, got "
            f"{[column.num_buckets for column in columns]}"
        )
    table = _table(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, trainable, combiner)
    name = shared_embedding_collection_name or "_".join(sorted(column.name for column in columns))
    safe = bool(use_safe_embedding_lookup)
    return [EmbeddingColumn(column, table, combiner, max_norm, safe, name) for column in columns]


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Take integers of each step of sequences as the numbers of categories.

    Args:
        key: that of the feature.
        num_buckets: how many categories there are, numbered from 0.
        default_value: the category of other numbers; None for an error.

    Returns:
        A column for `indicator_column` and `embedding_column`, which `SequenceFeatures` takes.

    Raises:
        ValueError: as `categorical_column_with_identity`.

    >>> import penstock as tf
    >>> day = tf.feature_column.sequence_categorical_column_with_identity("day", 3)
    >>> layer = tf.feature_column.SequenceFeatures([tf.feature_column.indicator_column(day)])
    >>> values, lengths = layer({"day": tf.ragged.constant([[2, 0], [1]])})
    >>> values.numpy().tolist(), lengths.numpy().tolist()
    ([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]], [2, 1])
    """
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = _core.string
) -> SequenceCategoricalColumn:
    """Take strings or integers of each step of sequences as categories, by their hashes.

    Args:
        key: that of the feature.
        hash_bucket_size: how many hashes there are.
        dtype: that of the feature, string or integer.

    Returns:
        A column for `indicator_column` and `embedding_column`, which `SequenceFeatures` takes.

    Raises:
        ValueError: as `categorical_column_with_hash_bucket`.

    >>> import penstock as tf
    >>> tf.feature_column.sequence_categorical_column_with_hash_bucket("word", 10).num_buckets
    10
    """
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Take strings or integers of each step of sequences as categories, by their places in a list.

    Args:
        key: that of the feature.
        vocabulary_list: strings, or integers, each there once.
        dtype: that of the feature; by default that of the list.
        default_value: the category of other values; -1 for none.
        num_oov_buckets: how many categories there are for other values, by their hashes.

    Returns:
        A column for `indicator_column` and `embedding_column`, which `SequenceFeatures` takes.

    Raises:
        ValueError: as `categorical_column_with_vocabulary_list`.

    >>> import penstock as tf
    >>> column = tf.feature_column.sequence_categorical_column_with_vocabulary_list("color", ["red", "green"])
    >>> column.num_buckets
    2
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: PathLike,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = _core.string,
) -> SequenceCategoricalColumn:
    """Take strings or integers of each step of sequences as categories, by their lines in a file.

    Args:
        key: that of the feature.
        vocabulary_file: the file, an entry a line.
        vocabulary_size: how many lines to take; None for all.
        num_oov_buckets: how many categories there are for other values, by their hashes.
        default_value: the category of other values; None for none.
        dtype: that of the feature, string or integer.

    Returns:
        A column for `indicator_column` and `embedding_column`, which `SequenceFeatures` takes.

    Raises:
        ValueError: as `categorical_column_with_vocabulary_file`.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "colors")
    >>> _ = open(path, "w").write("red green".replace(" ", chr(10)))
    >>> tf.feature_column.sequence_categorical_column_with_vocabulary_file("color", path).num_buckets
    2
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
        )
    )
