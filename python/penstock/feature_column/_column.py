"""What columns are: how they take features, and how what they make of these is kept for one batch."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.sparse_places import int64, rank_of
from penstock._values.module import Module
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock._values.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock._types.aliases import DTypeLike, ShapeLike

__all__ = [
    "CategoricalColumn",
    "Column",
    "DenseColumn",
    "FeatureTransformationCache",
    "IdWeightPair",
    "SequenceDense",
    "StateManager",
    "as_sparse",
    "batch_of",
]


class IdWeightPair(NamedTuple):
    """The categories of each row.

    Attributes:
        id_tensor: numbers of categories, sparse.
        weight_tensor: their weights in the same places; None for 1.
    """

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class SequenceDense(NamedTuple):
    """Numbers for each step of sequences.

    Attributes:
        dense_tensor: of shape `[batch, steps, ...]`.
        sequence_length: how many steps each element of the batch has.
    """

    dense_tensor: _core.Tensor
    sequence_length: _core.Tensor


class StateManager:
    """Owns the variables of columns.

    Args:
        owner: what the variables become attributes of, so that they are found and saved.
        trainable: whether they train; a column may say that its own do not.
    """

    def __init__(self, owner: Module, trainable: bool = True) -> None:
        self._owner = owner
        self._trainable = trainable
        self._variables: dict[tuple[int, str], Any] = {}

    def create_variable(
        self,
        feature_column: Column,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike = _core.float32,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Callable[..., Any] | None = None,
    ) -> Any:
        """Makes a variable of a column.

        Args:
            feature_column: the column.
            name: its name within the column.
            shape: its shape.
            dtype: its dtype.
            trainable: whether it trains.
            use_resource: accepted; there is one kind.
            initializer: takes a shape and a dtype, and gives the first value.
        """
        if initializer is None:
            raise ValueError("argument 'initializer' must be given")
        own = Variable(
            lambda: initializer(shape, dtype=_core.DType(dtype)),
            trainable=trainable and self._trainable,
            name=f"{feature_column.name}/{name}",
            dtype=dtype,
        )
        self.add_variable(feature_column, name, own)
        return own

    def add_variable(self, feature_column: Column, name: str, variable: Any) -> None:
        """Owns a variable that there is already."""
        self._variables[id(feature_column), name] = variable
        setattr(self._owner, f"{feature_column.name}_{name}", variable)

    def get_variable(self, feature_column: Column, name: str) -> Any:
        """A variable of a column.

        Raises:
            ValueError: where it has none of the name.
        """
        found = self._variables.get((id(feature_column), name))
        if found is None:
            raise ValueError(f"the column {feature_column.name!r} has no variable {name!r}")
        return found


class Column(abc.ABC):
    """A column: what becomes of one feature or several."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which columns are ordered by."""

    @property
    @abc.abstractmethod
    def parents(self) -> list[Column | str]:
        """The columns, or keys of features, that it is made of."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What `tf.io.parse_example` is to read, by the keys of features."""
        found: dict[str, Any] = {}
        for parent in self.parents:
            found.update(parent.parse_example_spec if isinstance(parent, Column) else {})
        return found

    @abc.abstractmethod
    def transform_feature(self, transformation_cache: FeatureTransformationCache, state_manager: Any) -> Any:
        """What is kept of a batch."""

    def create_state(self, state_manager: Any) -> None:  # noqa: B027 -- most columns make nothing
        """Makes the variables that the column has."""


class DenseColumn(Column):
    """A column of numbers."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> list[int]:
        """The shape of what it gives for each row."""

    @abc.abstractmethod
    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> _core.Tensor:
        """The numbers of a batch, of shape `[batch, *variable_shape]`."""


class CategoricalColumn(Column):
    """A column of categories, each a number from 0."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """How many categories there are."""

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdWeightPair:
        """The categories of a batch."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


class FeatureTransformationCache:
    """The features of one batch, and what columns have made of them.

    Args:
        features: a tensor, sparse or ragged tensor for each key.

    >>> import penstock as tf
    >>> column = tf.feature_column.numeric_column("x")
    >>> cache = tf.feature_column.FeatureTransformationCache({"x": tf.constant([1.0, 2.0])})
    >>> column.get_dense_tensor(cache, None).numpy().tolist()
    [[1.0], [2.0]]
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = dict(features)
        self._made: dict[Any, Any] = {}

    def get(self, key: str | Column, state_manager: StateManager | None = None) -> Any:
        """Give a feature, or what a column makes of it.

        Args:
            key: the key of a feature, or a column.
            state_manager: owns the variables of columns.

        Returns:
            A tensor or a sparse tensor, of rank 2 or more.

        Raises:
            ValueError: for a key that is not there, or a feature that is a scalar.
            TypeError: for another kind of key.

        >>> import penstock as tf
        >>> tf.feature_column.FeatureTransformationCache({"x": [1.0, 2.0]}).get("x").shape
        TensorShape([2, 1])
        """
        if isinstance(key, str):
            if key not in self._made:
                self._made[key] = self._raw(key)
            return self._made[key]
        if not isinstance(key, Column):
            raise TypeError(f"argument 'key' must be a string or a column, got {key!r}")
        if key not in self._made:
            self._made[key] = key.transform_feature(self, state_manager)
        return self._made[key]

    def _raw(self, key: str) -> Any:
        if key not in self._features:
            raise ValueError(f"there is no feature {key!r}; there are {sorted(map(str, self._features))}")
        value = self._features[key]
        if isinstance(value, RaggedTensor):
            value = value.to_sparse()
        made: Any = value if isinstance(value, SparseTensor) else _core._to_tensor(value)
        rank = made.shape.rank
        if rank == 0:
            raise ValueError(f"the feature {key!r} is a scalar; it must have a dimension for the batch")
        if rank is None:
            raise ValueError(f"the rank of the feature {key!r} must be known")
        if rank > 1:
            return made
        if not isinstance(made, SparseTensor):
            return raw_ops.expand_dims(made, axis=-1)
        from penstock._ops.sparse_layout import expand_dims  # few features need it

        return expand_dims(made, -1)


def as_sparse(value: Any) -> SparseTensor:
    """What is not `""` or -1 of a tensor; a sparse one as it is.

    Raises:
        TypeError: for numbers that are not integers.
    """
    if isinstance(value, SparseTensor):
        return value
    if value.dtype == _core.string:
        there = raw_ops.string_not_equal(value, _core._to_tensor(""))
    elif value.dtype.is_integer:
        there = raw_ops.not_equal(value, raw_ops.cast(_core._to_tensor(-1), dtype=value.dtype))
    else:
        raise TypeError(f"categories must be integers or strings, got {value.dtype.name}")
    places = raw_ops.where_indices(there)
    return SparseTensor(places, raw_ops.gather_nd(value, places), raw_ops.shape(value, dtype=_core.int64))


def batch_of(value: Any) -> Any:
    """How many rows a feature has, a scalar of `int64`."""
    if isinstance(value, SparseTensor):
        return value.dense_shape[0]
    return raw_ops.shape(value, dtype=_core.int64)[0]


def lengths_of(sparse: SparseTensor, elements: int = 1) -> _core.Tensor:
    """How many steps each row of a sparse tensor has, of so many elements in each."""
    rows, columns = sparse.indices[:, 0], sparse.indices[:, 1]
    last = raw_ops.unsorted_segment_max(columns, rows, sparse.dense_shape[0])
    count = raw_ops.maximum(last, int64(-1)) + 1
    if elements == 1 or rank_of(sparse) > 2:
        return count
    return raw_ops.floordiv(count + (elements - 1), int64(elements))
