"""Rows of values that have a value each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._runtime.arguments import require
from penstock._runtime.scope import scoped

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["RaggedFillEmptyRows", "ragged_fill_empty_rows", "ragged_fill_empty_rows_grad"]


class RaggedFillEmptyRows(NamedTuple):
    """Values in rows of which none is empty.

    Attributes:
        output_value_rowids: The row of each value.
        output_values: The values.
        empty_row_indicator: Whether each row was empty.
        reverse_index_map: The place of each of the old values among the new ones.
    """

    output_value_rowids: _core.Tensor
    output_values: _core.Tensor
    empty_row_indicator: _core.Tensor
    reverse_index_map: _core.Tensor


def _int64(value: Any) -> Any:
    return raw_ops.cast(_core._to_tensor_hinted(value, _core.int64), dtype=_core.int64)


@scoped
def ragged_fill_empty_rows(
    value_rowids: TensorLike,
    values: TensorLike,
    nrows: TensorLike,
    default_value: TensorLike,
    name: str | None = None,
) -> RaggedFillEmptyRows:
    """Put a value into each row that has none.

    Args:
        value_rowids: the row of each value, which do not descend.
        values: a vector of as many values.
        nrows: the number of rows.
        default_value: a scalar, the value of empty rows.
        name: a scope for the names of its operations in a graph.

    Returns:
        A named tuple: `output_value_rowids` and `output_values`, the row of each value and the values;
        `empty_row_indicator`, whether each row was empty; `reverse_index_map`, the place of each old value
        among the new ones.

    Raises:
        InvalidArgumentError: for a row that is not below `nrows`.

    >>> import penstock as tf
    >>> made = tf.ragged_fill_empty_rows([0, 2, 2], [5, 6, 7], 3, -1)
    >>> made.output_values.numpy().tolist(), made.output_value_rowids.numpy().tolist()
    ([5, -1, 6, 7], [0, 1, 2, 2])
    """
    rows, count = _int64(value_rowids), _int64(nrows)
    given = _core._to_tensor(values)
    filler = _core._to_tensor(default_value, given.dtype)
    inside = raw_ops.reduce_all(raw_ops.logical_and(rows >= 0, rows < count))
    require(inside, "argument 'value_rowids' must be below 'nrows' and not negative", rows)
    lengths = raw_ops.unsorted_segment_sum(raw_ops.ones_like(rows), rows, count)
    zero, one = _core._to_tensor(0, _core.int64), _core._to_tensor(1, _core.int64)
    empty = raw_ops.equal(lengths, zero)
    numbers = raw_ops.range(zero, count, one)
    missing = raw_ops.reshape(raw_ops.where_indices(empty), [-1])
    # Equal rows keep their order, and no row has both kinds of values.
    whole = raw_ops.concat([rows, raw_ops.gather(numbers, missing)], axis=0)
    order = raw_ops.argsort(whole, dtype=_core.int64)
    fillers = raw_ops.broadcast_to(filler, raw_ops.shape(missing))
    filled = raw_ops.gather(raw_ops.concat([given, fillers], axis=0), order)
    places = raw_ops.argsort(order, dtype=_core.int64)[: raw_ops.size(rows, dtype=_core.int64)]
    return RaggedFillEmptyRows(raw_ops.gather(whole, order), filled, empty, places)


@scoped
def ragged_fill_empty_rows_grad(
    reverse_index_map: TensorLike, grad_values: TensorLike, name: str | None = None
) -> tuple[_core.Tensor, _core.Tensor]:
    """Take the gradient of what `ragged_fill_empty_rows` gives back to its values.

    Args:
        reverse_index_map: what it gave.
        grad_values: the gradient by `output_values`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The gradient by `values`, and the one by `default_value`.

    >>> import penstock as tf
    >>> by_values, by_default = tf.ragged_fill_empty_rows_grad([0, 2, 3], [1.0, 2.0, 3.0, 4.0])
    >>> by_values.numpy().tolist(), float(by_default)
    ([1.0, 3.0, 4.0], 2.0)
    """
    places, slopes = _int64(reverse_index_map), _core._to_tensor(grad_values)
    ones = raw_ops.ones_like(places)
    used = raw_ops.unsorted_segment_sum(ones, places, raw_ops.size(slopes, dtype=_core.int64)) > 0
    others = raw_ops.select(used, raw_ops.zeros_like(slopes), slopes)
    return raw_ops.gather(slopes, places), raw_ops.reduce_sum(others)
