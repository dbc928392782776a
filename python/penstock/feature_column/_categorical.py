"""Columns of categories: numbers, hashes, words of a vocabulary, crosses, with weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._control.flow import init_scope
from penstock._runtime.arguments import integer, items, require
from penstock._types.argument_names import expect
from penstock._values.sparse import SparseTensor
from penstock.feature_column._column import (
    CategoricalColumn,
    Column,
    FeatureTransformationCache,
    IdWeightPair,
    as_sparse,
)
from penstock.io import VarLenFeature
from penstock.lookup import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable
from penstock.sparse import cross_hashed
from penstock.strings import as_string, to_hash_bucket_fast

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, PathLike

__all__ = [
    "CrossedColumn",
    "HashedCategoricalColumn",
    "IdentityCategoricalColumn",
    "VocabularyCategoricalColumn",
    "WeightedCategoricalColumn",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "weighted_categorical_column",
]

_INT64 = _core.int64


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"argument 'key' must be a string, got {key!r}")
    return key


def _count(value: Any, argument: str, least: int = 1) -> int:
    number = integer(value, argument)
    if number < least:
        raise ValueError(f"argument '{argument}' must be {least} or more, got {number}")
    return number


def _kind(dtype: Any) -> _core.DType:
    found = _core.DType(dtype)
    if found != _core.string and not found.is_integer:
        raise ValueError(f"argument 'dtype' must be string or integer, got {found.name}")
    return found


@dataclass(frozen=True)
class _OfOneKey(CategoricalColumn):
    key: str

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parents(self) -> list[Column | str]:
        """The key."""
        return [self.key]

    def _input(self, cache: FeatureTransformationCache, state_manager: Any) -> SparseTensor:
        return as_sparse(cache.get(self.key, state_manager))


@dataclass(frozen=True)
class IdentityCategoricalColumn(_OfOneKey):
    """Categories that are numbers already."""

    number_buckets: int
    default_value: int | None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of integers."""
        return {self.key: VarLenFeature(_INT64)}

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.number_buckets

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The numbers, and the default in place of those that are too great or too small."""
        x = self._input(transformation_cache, state_manager)
        if not x.dtype.is_integer:
            raise ValueError(f"the feature {self.key!r} must be integers, got {x.dtype.name}")
        values = raw_ops.cast(x.values, dtype=_INT64)
        bound = _core._to_tensor(self.number_buckets, _INT64)
        inside = raw_ops.logical_and(values >= 0, values < bound)
        if self.default_value is None:
            require(
                raw_ops.reduce_all(inside),
                f"the feature {self.key!r} has a category that is not from 0 to {self.number_buckets - 1}",
                values,
            )
        else:
            default = raw_ops.zeros_like(values) + self.default_value
            values = raw_ops.select(inside, values, default)
        return SparseTensor(x.indices, values, x.dense_shape)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Take integers as the numbers of categories.

    Args:
        key: that of the feature. Elements of -1 of a dense feature stand for none.
        num_buckets: how many categories there are, numbered from 0.
        default_value: the category of other numbers; None for an error.

    Returns:
        A column for `indicator_column`, `embedding_column` and others.

    Raises:
        ValueError: for `num_buckets` below 1, or a default that is no category.

    >>> import penstock as tf
    >>> day = tf.feature_column.categorical_column_with_identity("day", num_buckets=3)
    >>> shown = tf.feature_column.indicator_column(day)
    >>> tf.feature_column.DenseFeatures([shown])({"day": [2, 0]}).numpy().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    buckets = _count(num_buckets, "num_buckets")
    if default_value is not None and not 0 <= default_value < buckets:
        raise ValueError(f"argument 'default_value' must be from 0 to {buckets - 1}, got {default_value}")
    return IdentityCategoricalColumn(_key(key), buckets, default_value)


@dataclass(frozen=True)
class HashedCategoricalColumn(_OfOneKey):
    """Categories by the hash of a string or an integer."""

    hash_bucket_size: int
    dtype: _core.DType

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many hashes there are."""
        return self.hash_bucket_size

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The hashes."""
        x = self._input(transformation_cache, state_manager)
        if (x.dtype == _core.string) != (self.dtype == _core.string):
            raise ValueError(f"the feature {self.key!r} must be {self.dtype.name}, got {x.dtype.name}")
        texts = x.values if x.dtype == _core.string else as_string(x.values)
        return SparseTensor(x.indices, to_hash_bucket_fast(texts, self.hash_bucket_size), x.dense_shape)


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = _core.string
) -> HashedCategoricalColumn:
    """Take strings or integers as categories, by their hashes.

    Args:
        key: that of the feature. Elements of `""` and -1 of a dense feature stand for none.
        hash_bucket_size: how many hashes there are, 1 or more. Values with one hash are one category.
        dtype: that of the feature, string or integer.

    Returns:
        A column for `indicator_column`, `embedding_column` and others.

    Raises:
        ValueError: for a size below 1, or another dtype.

    >>> import penstock as tf
    >>> word = tf.feature_column.categorical_column_with_hash_bucket("word", 10)
    >>> word.get_sparse_tensors(
    ...     tf.feature_column.FeatureTransformationCache({"word": ["a", "b"]}), None
    ... ).id_tensor.values.numpy().tolist() == tf.strings.to_hash_bucket_fast(["a", "b"], 10).numpy().tolist()
    True
    """
    return HashedCategoricalColumn(_key(key), _count(hash_bucket_size, "hash_bucket_size"), _kind(dtype))


@dataclass(frozen=True)
class VocabularyCategoricalColumn(_OfOneKey):
    """Categories by their places in a list."""

    vocabulary_list: tuple[Any, ...]
    dtype: _core.DType
    default_value: int
    num_oov_buckets: int

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many entries the list has, and how many hashes there are for others."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _table(self) -> Any:
        made = self.__dict__.get("_made")
        if made is None:
            with init_scope():
                own = _INT64 if self.dtype.is_integer else _core.string
                pairs = KeyValueTensorInitializer(
                    _core._to_tensor(list(self.vocabulary_list), own),
                    _core._to_tensor(list(range(len(self.vocabulary_list))), _INT64),
                )
                made = (
                    StaticVocabularyTable(pairs, self.num_oov_buckets)
                    if self.num_oov_buckets
                    else StaticHashTable(pairs, self.default_value)
                )
            self.__dict__["_made"] = made
        return made

    def create_state(self, state_manager: Any) -> None:
        """Makes the table."""
        self._table()

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The places in the list."""
        x = self._input(transformation_cache, state_manager)
        if (x.dtype == _core.string) != (self.dtype == _core.string):
            raise ValueError(f"the feature {self.key!r} must be {self.dtype.name}, got {x.dtype.name}")
        values = x.values if x.dtype == _core.string else raw_ops.cast(x.values, dtype=_INT64)
        return SparseTensor(x.indices, self._table().lookup(values), x.dense_shape)


def _others(default_value: int, num_oov_buckets: Any, size: int) -> int:
    buckets = _count(num_oov_buckets, "num_oov_buckets", 0)
    if buckets and default_value != -1:
        raise ValueError("only one of arguments 'default_value' and 'num_oov_buckets' can be given")
    if not -1 <= default_value < size:
        raise ValueError(
            f"argument 'default_value' must be -1 or an entry's number below {size}, got {default_value}"
        )
    return buckets


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyCategoricalColumn:
    """Take strings or integers as categories, by their places in a list.

    Args:
        key: that of the feature. Elements of `""` and -1 of a dense feature stand for none.
        vocabulary_list: strings, or integers, each there once.
        dtype: that of the feature; by default that of the list.
        default_value: the category of other values; -1 for none.
        num_oov_buckets: instead, how many categories there are behind those of the list for other values, by
            their hashes.

    Returns:
        A column for `indicator_column`, `embedding_column` and others.

    Raises:
        ValueError: for a list that is empty or has an entry twice, another dtype, or both ways for other
            values.

    >>> import penstock as tf
    >>> color = tf.feature_column.categorical_column_with_vocabulary_list("color", ["red", "green"])
    >>> shown = tf.feature_column.indicator_column(color)
    >>> tf.feature_column.DenseFeatures([shown])({"color": ["green", "blue"]}).numpy().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    if isinstance(vocabulary_list, str | bytes) or not len(vocabulary_list):
        raise ValueError(f"argument 'vocabulary_list' must hold at least one entry, got {vocabulary_list!r}")
    entries = tuple(e.item() if hasattr(e, "item") else e for e in items(vocabulary_list, "vocabulary_list"))
    if len(set(entries)) != len(entries):
        raise ValueError("argument 'vocabulary_list' must hold each entry once")
    own = _core._to_tensor(list(entries)).dtype
    kind = _kind(own if dtype is None else dtype)
    if (kind == _core.string) != (own == _core.string):
        raise ValueError(f"argument 'dtype' must fit 'vocabulary_list', got {kind.name} and {own.name}")
    buckets = _others(default_value, num_oov_buckets, len(entries))
    return VocabularyCategoricalColumn(_key(key), entries, kind, default_value, buckets)


def _lines(file: Any, file_format: str | None) -> list[bytes]:
    if file_format not in (None, "tfrecord_gzip"):
        raise ValueError(f"argument 'file_format' must be None or 'tfrecord_gzip', got {file_format!r}")
    given = file.numpy() if isinstance(file, _core.Tensor) else file
    path = os.fsdecode(expect(given, (str, bytes, os.PathLike), "vocabulary_file", "a path"))
    if file_format is not None:
        from penstock.data import TFRecordDataset  # few vocabularies are in such a file

        return [bytes(line.numpy()) for line in TFRecordDataset(path, compression_type="GZIP")]
    if not path or not Path(path).is_file():
        raise ValueError(f"argument 'vocabulary_file' must be a file, got {path!r}")
    return Path(path).read_bytes().splitlines()


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: PathLike,
    vocabulary_size: int | None = None,
    dtype: DTypeLike = _core.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyCategoricalColumn:
    """Take strings or integers as categories, by their lines in a file, which is read now.

    Args:
        key: that of the feature. Elements of `""` and -1 of a dense feature stand for none.
        vocabulary_file: the file, an entry a line.
        vocabulary_size: how many lines to take; None for all.
        dtype: that of the feature, string or integer.
        default_value: the category of other values; None for none.
        num_oov_buckets: instead, how many categories there are behind those of the file for other values, by
            their hashes.
        file_format: None for lines; `"tfrecord_gzip"` for records.

    Returns:
        A column for `indicator_column`, `embedding_column` and others.

    Raises:
        ValueError: where there is no such file, it has less lines, or an entry twice.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "colors")
    >>> _ = open(path, "w").write("red green".replace(" ", chr(10)))
    >>> column = tf.feature_column.categorical_column_with_vocabulary_file("color", path, num_oov_buckets=2)
    >>> column.num_buckets
    4
    """
    entries: list[Any] = _lines(vocabulary_file, file_format)
    if vocabulary_size is not None:
        wanted = _count(vocabulary_size, "vocabulary_size")
        if len(entries) < wanted:
            raise ValueError(
                f"argument 'vocabulary_size' is {wanted}, and 'vocabulary_file' has {len(entries)} entries"
            )
        entries = entries[:wanted]
    kind = _kind(dtype)
    if kind.is_integer:
        entries = [int(entry) for entry in entries]
    return categorical_column_with_vocabulary_list(
        key, entries, kind, -1 if default_value is None else default_value, num_oov_buckets
    )


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """Categories with weights."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: _core.DType

    @property
    def name(self) -> str:
        """That of the categories and that of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parents(self) -> list[Column | str]:
        """The categories and the weights."""
        return [self.categorical_column, self.weight_feature_key]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What the categories are read as, and any number of weights.

        Raises:
            ValueError: where both have one key.
        """
        found = self.categorical_column.parse_example_spec
        if self.weight_feature_key in found:
            raise ValueError(f"the feature {self.weight_feature_key!r} cannot be a weight and a category")
        return {**found, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.categorical_column.num_buckets

    def create_state(self, state_manager: Any) -> None:
        """Makes what the categories need."""
        self.categorical_column.create_state(state_manager)

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The categories, and the weights that are not 0."""
        found = transformation_cache.get(self.weight_feature_key, state_manager)
        if found.dtype != self.dtype:
            raise ValueError(
                f"the feature {self.weight_feature_key!r} must be {self.dtype.name}, got {found.dtype.name}"
            )
        ids = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager).id_tensor
        if not isinstance(found, SparseTensor):
            # A weight for each category that there is, also one of 0.
            found = SparseTensor(ids.indices, raw_ops.gather_nd(found, ids.indices), ids.dense_shape)
        values = raw_ops.cast(found.values, dtype=_core.float32)
        return IdWeightPair(ids, SparseTensor(found.indices, values, found.dense_shape))

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdWeightPair:
        """The categories of a batch and their weights."""
        return IdWeightPair(*transformation_cache.get(self, state_manager))


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DTypeLike = _core.float32
) -> WeightedCategoricalColumn:
    """Give categories the weights of another feature.

    Args:
        categorical_column: a column of categories.
        weight_feature_key: the key of the weights, which have the places of the categories.
        dtype: that of the weights.

    Returns:
        A column for `indicator_column`, `embedding_column` and others.

    Raises:
        ValueError: for another column, or a dtype that is not numeric.

    >>> import penstock as tf
    >>> word = tf.feature_column.categorical_column_with_identity("word", 3)
    >>> weighted = tf.feature_column.weighted_categorical_column(word, "times")
    >>> shown = tf.feature_column.indicator_column(weighted)
    >>> features = {"word": [[2, 0]], "times": [[0.5, 4.0]]}
    >>> tf.feature_column.DenseFeatures([shown])(features).numpy().tolist()
    [[4.0, 0.0, 0.5]]
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"argument 'categorical_column' must be a column of categories, got {categorical_column!r}"
        )
    kind = _core.DType(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"argument 'dtype' must be that of numbers, got {kind.name}")
    return WeightedCategoricalColumn(categorical_column, _key(weight_feature_key), kind)


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Combinations of categories, by their hashes."""

    keys: tuple[str | CategoricalColumn, ...]
    hash_bucket_size: int
    hash_key: int | None

    def _leaves(self) -> list[Any]:
        leaves: list[Any] = []
        for key in self.keys:
            leaves += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return leaves

    @property
    def name(self) -> str:
        """Those of what is crossed, in order."""
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._leaves()))

    @property
    def parents(self) -> list[Column | str]:
        """What is crossed."""
        return list(self.keys)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Strings for keys; what columns are read as."""
        found: dict[str, Any] = {}
        for key in self.keys:
            found.update(
                {key: VarLenFeature(_core.string)} if isinstance(key, str) else key.parse_example_spec
            )
        return found

    @property
    def num_buckets(self) -> int:
        """How many hashes there are."""
        return self.hash_bucket_size

    def create_state(self, state_manager: Any) -> None:
        """Makes what the columns need."""
        for key in self._leaves():
            if not isinstance(key, str):
                key.create_state(state_manager)

    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """The hashes of all combinations of each row."""
        parts = []
        for key in self._leaves():
            if isinstance(key, str):
                value = transformation_cache.get(key, state_manager)
            else:
                value, weights = key.get_sparse_tensors(transformation_cache, state_manager)
                if weights is not None:
                    raise ValueError(f"the column {key.name!r} cannot be crossed: it has weights")
            if isinstance(value, SparseTensor) and value.dtype.is_integer:
                value = SparseTensor(
                    value.indices, raw_ops.cast(value.values, dtype=_INT64), value.dense_shape
                )
            parts.append(value)
        return cross_hashed(parts, self.hash_bucket_size, self.hash_key)


def crossed_column(
    keys: Sequence[str | CategoricalColumn], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Take the combinations of categories as categories, by their hashes.

    Args:
        keys: two or more, each the key of a feature of strings or integers, or a column of categories that is
            no hash.
        hash_bucket_size: how many hashes there are, 2 or more.
        hash_key: what hashes start with.

    Returns:
        A column for `indicator_column`, `embedding_column` and others.

    Raises:
        ValueError: for less than two keys, other keys, or a size below 2.

    >>> import penstock as tf
    >>> both = tf.feature_column.crossed_column(["city", "day"], 1000)
    >>> cache = tf.feature_column.FeatureTransformationCache({"city": [["a"], ["b"]], "day": [["x"], ["x"]]})
    >>> both.name, both.get_sparse_tensors(cache, None).id_tensor.values.shape
    ('city_X_day', TensorShape([2]))
    """
    size = _count(hash_bucket_size, "hash_bucket_size", 2)
    found = tuple(keys) if isinstance(keys, list | tuple) else ()
    if len(found) < 2:
        raise ValueError(f"argument 'keys' must be a list of two or more, got {keys!r}")
    for key in found:
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                f"argument 'keys': the column {key.name!r} is a hash, of which no combinations are needed: "
                "give its key"
            )
        if not isinstance(key, str | CategoricalColumn):
            raise ValueError(f"argument 'keys' must hold strings and columns of categories, got {key!r}")
    return CrossedColumn(found, size, hash_key)
