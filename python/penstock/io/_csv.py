"""Fields of lines of comma-separated values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer, items, results
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["decode_csv"]


def _selected(select_cols: Any, count: int) -> list[int] | None:
    """The indices of the fields that are read; None for all.

    Raises:
        ValueError: where they do not rise, or are not as many as the defaults.
    """
    if select_cols is None:
        return None
    chosen = [integer(i, "select_cols") for i in items(select_cols, "select_cols")]
    if any(a >= b for a, b in itertools.pairwise(chosen)):
        raise InvalidArgumentError(f"argument 'select_cols' must be strictly rising, got {chosen}")
    if chosen and chosen[0] < 0:
        raise InvalidArgumentError(f"argument 'select_cols' must not be negative, got {chosen}")
    if chosen and len(chosen) != count:
        raise InvalidArgumentError(
            f"argument 'select_cols' has {len(chosen)} fields, for which there are {count} 'record_defaults'"
        )
    return chosen


@scoped
def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[TensorLike],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[IntLike] | None = None,
    name: str | None = None,
) -> list[_core.Tensor]:
    """Read the fields of lines of comma-separated values.

    Args:
        records: lines, strings of any shape.
        record_defaults: for each field a tensor of its dtype, `float32`, `float64`, `int32`, `int64` or
            `string`: one element, which stands for a field that is empty or `na_value`, or none where a line
            must have the field.
        field_delim: the character between fields.
        use_quote_delim: whether a field may be in double quotes, where two of them stand for one.
        na_value: what stands for no value.
        select_cols: the indices of the fields that are read, in rising order; all by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape of `records` for each field that is read.

    Raises:
        InvalidArgumentError: for lines of another number of fields, fields that are missing or no number of
            their dtype, and quotes and line breaks where they may not be.
        ValueError: for `select_cols` that do not rise, or are not as many as the defaults.

    >>> import penstock as tf
    >>> numbers, words = tf.io.decode_csv(["1,a", ',"b, c"'], [[7], tf.constant([], tf.string)])
    >>> numbers.numpy().tolist(), words.numpy().tolist()
    ([1, 7], [b'a', b'b, c'])
    """
    defaults = [_core._to_tensor(default) for default in items(record_defaults, "record_defaults")]
    return results(
        raw_ops.decode_csv(
            _core._to_tensor(records, dtype=_core.string),
            *defaults,
            field_delim=field_delim,
            use_quote_delim=bool(use_quote_delim),
            na_value=na_value,
            select_cols=_selected(select_cols, len(defaults)),
        )
    )
