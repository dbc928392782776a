"""What puts columns together: rows of numbers for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat
from penstock._runtime.arguments import require
from penstock._values.module import Module
from penstock.feature_column._column import Column, DenseColumn, FeatureTransformationCache, StateManager

__all__ = ["DenseFeatures", "SequenceFeatures", "make_parse_example_spec"]


def _columns(columns: Any, needs: str, what: str) -> list[Any]:
    listed = list(columns) if isinstance(columns, list | tuple | set) else [columns]
    if not listed:
        raise ValueError("argument 'feature_columns' must hold at least one column")
    for column in listed:
        if not isinstance(column, Column) or not hasattr(column, needs):
            raise ValueError(
                f"argument 'feature_columns' must hold columns of {what}, got {column!r}; of categories make "
                "one by indicator_column or embedding_column"
            )
    names = [column.name for column in listed]
    if len(set(names)) != len(names):
        raise ValueError(f"argument 'feature_columns' must have columns of different names, got {names}")
    return sorted(listed, key=lambda column: column.name)


class _Features(Module):
    """Columns with their variables."""

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_columns", "_state"})
    _needs, _what = "", ""

    def __init__(self, feature_columns: Any, trainable: bool, name: str | None) -> None:
        super().__init__(name)
        self._columns = _columns(feature_columns, self._needs, self._what)
        self._state = StateManager(self, trainable)
        for column in self._columns:
            column.create_state(self._state)

    @property
    def feature_columns(self) -> list[Any]:
        """The columns, in the order of their names."""
        return list(self._columns)


class DenseFeatures(_Features):
    """Columns of numbers beside each other, in the order of their names.

    Args:
        feature_columns: dense columns: numeric, bucketized, indicator and embedding columns.
        trainable: whether the variables train.
        name: a Python identifier.

    Raises:
        ValueError: for no columns, other columns, or two of one name.

    >>> import penstock as tf
    >>> age = tf.feature_column.numeric_column("age")
    >>> old = tf.feature_column.bucketized_column(age, [65.0])
    >>> tf.feature_column.DenseFeatures([age, old])({"age": [20.0, 70.0]}).numpy().tolist()
    [[20.0, 1.0, 0.0], [70.0, 0.0, 1.0]]
    """

    _needs, _what = "get_dense_tensor", "numbers"

    def __init__(
        self,
        feature_columns: DenseColumn | Sequence[DenseColumn],
        trainable: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(feature_columns, trainable, name)

    def __call__(self, features: Mapping[str, Any]) -> _core.Tensor:
        """Gives what the columns make of features.

        Args:
            features: a tensor, sparse or ragged tensor for each key.

        Returns:
            `float32` of shape `[batch, elements]`.

        Raises:
            ValueError: where a feature is missing or does not fit its column.
        """
        cache = FeatureTransformationCache(features)
        rows = []
        for column in self._columns:
            made = column.get_dense_tensor(cache, self._state)
            elements = 1
            for size in column.variable_shape:
                elements *= size
            rows.append(raw_ops.reshape(made, [-1, elements]))
        return rows[0] if len(rows) == 1 else concat(rows, 1)


class SequenceFeatures(_Features):
    """Columns of sequences beside each other, in the order of their names.

    Args:
        feature_columns: sequence columns: of numbers; indicator and embedding columns of categories.
        trainable: whether the variables train.
        name: a Python identifier.

    Raises:
        ValueError: for no columns, other columns, or two of one name.

    >>> import penstock as tf
    >>> x = tf.feature_column.sequence_numeric_column("x")
    >>> given = {"x": tf.ragged.constant([[1.0], [2.0, 3.0]])}
    >>> values, lengths = tf.feature_column.SequenceFeatures(x)(given)
    >>> values.shape, lengths.numpy().tolist()
    (TensorShape([2, 2, 1]), [1, 2])
    """

    _needs, _what = "get_sequence_dense_tensor", "sequences"

    def __init__(
        self, feature_columns: Column | Sequence[Column], trainable: bool = True, name: str | None = None
    ) -> None:
        super().__init__(feature_columns, trainable, name)

    def __call__(self, features: Mapping[str, Any]) -> tuple[_core.Tensor, _core.Tensor]:
        """Gives what the columns make of features.

        Args:
            features: a sparse or ragged tensor for each key.

        Returns:
            `float32` of shape `[batch, steps, elements]`; and how many steps each element of the batch has.

        Raises:
            ValueError: where a feature is missing or does not fit its column.
            InvalidArgumentError: where sequences of one element of the batch have different lengths.
        """
        cache = FeatureTransformationCache(features)
        steps, lengths = [], []
        for column in self._columns:
            dense, length = column.get_sequence_dense_tensor(cache, self._state)
            elements = 1
            for size in column.variable_shape:
                elements *= size
            shape = raw_ops.shape(dense)
            sizes = raw_ops.stack(shape[0], shape[1], _core._to_tensor(elements, _core.int32))
            steps.append(raw_ops.ensure_shape(raw_ops.reshape(dense, sizes), shape=[None, None, elements]))
            lengths.append(length)
        for other in lengths[1:]:
            same = raw_ops.reduce_all(raw_ops.equal(lengths[0], other))
            require(same, "the sequences of the columns have different lengths", lengths[0], other)
        return (steps[0] if len(steps) == 1 else concat(steps, 2)), lengths[0]


def make_parse_example_spec(feature_columns: Sequence[Column]) -> dict[str, Any]:
    """List what `tf.io.parse_example` is to read for columns.

    Args:
        feature_columns: the columns.

    Returns:
        A specification for each key of a feature.

    Raises:
        ValueError: for what is no column, or columns that want one feature in two ways.

    >>> import penstock as tf
    >>> tf.feature_column.make_parse_example_spec([tf.feature_column.numeric_column("x")])
    {'x': FixedLenFeature(shape=(1,), dtype=tf.float32, default_value=None)}
    """
    found: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, Column):
            raise ValueError(f"argument 'feature_columns' must hold columns, got {column!r}")
        for key, wanted in column.parse_example_spec.items():
            if key in found and found[key] != wanted:
                raise ValueError(
                    f"argument 'feature_columns' wants the feature {key!r} as {found[key]} and as {wanted}"
                )
            found[key] = wanted
    return found
