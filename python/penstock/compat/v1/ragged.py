"""`tf.ragged` of TensorFlow 1: ragged tensors that are fed, and their values; the rest is version 2's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, ragged as _ragged
from penstock._runtime.scope import name_scope
from penstock._types.shape import TensorShape
from penstock._values.ragged import RaggedTensor
from penstock.compat.v1._graph import placeholder as _placeholder
from penstock.compat.v1._session_values import RaggedTensorValue as RaggedTensorValue, value_of

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, Nested, ShapeLike

__all__ = ["RaggedTensorValue", "constant_value", "placeholder"]


def placeholder(
    dtype: DTypeLike, ragged_rank: int, value_shape: ShapeLike = None, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Make a ragged tensor whose value `Session.run` is given by `feed_dict`.

    Args:
        dtype: the element type.
        ragged_rank: the number of ragged dimensions.
        value_shape: the shape of each element of the innermost rows; None for any.
        name: a scope for the names of its parts.

    Returns:
        A ragged tensor, for which a `RaggedTensorValue` is fed; a tensor where `ragged_rank` is 0.

    Raises:
        RuntimeError: outside of a graph.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     x = v1.ragged.placeholder(tf.int32, 1, [])
    ...     session.run(tf.reduce_sum(x, 1), {x: v1.ragged.constant_value([[1], [2, 3]], "int32")}).tolist()
    [1, 5]
    """
    static = TensorShape(value_shape)
    if ragged_rank == 0:
        return _placeholder(dtype, static, name)
    with name_scope(name or "RaggedPlaceholder"):
        whole = TensorShape(None) if static.rank is None else TensorShape([None, *static])
        made: Any = _placeholder(dtype, whole, "flat_values")
        for depth in reversed(range(ragged_rank)):
            splits = _placeholder(_core.int64, [None], f"row_splits_{depth}")
            made = RaggedTensor.from_row_splits(made, splits, validate=False)
    ragged: RaggedTensor = made
    return ragged


def constant_value(
    pylist: Nested[complex | str | bytes],
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | int | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """Make the value of a ragged tensor of a nest of lists.

    Args:
        pylist: lists of lists of numbers or strings; lists at one depth may differ in length.
        dtype: the element type, as of an array; by default that of the elements.
        ragged_rank: the number of ragged dimensions.
        inner_shape: the shape of the innermost values.
        row_splits_dtype: the dtype of where rows begin, `int32` or `int64`.

    Returns:
        A `RaggedTensorValue`; an array where no dimension is ragged.

    Raises:
        ValueError: where the lists have not the depth that the other arguments ask for.

    >>> import penstock as tf
    >>> tf.compat.v1.ragged.constant_value([[3], [1, 4]]).row_splits.tolist()
    [0, 1, 3]
    """
    with _core._Outside():
        made = _ragged.constant(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype=row_splits_dtype)
    found = value_of(made)
    if found is None:
        return made.numpy()
    parts, value = found
    return value(*(part.numpy() for part in parts))


def __getattr__(name: str) -> object:
    return getattr(_ragged, name)
