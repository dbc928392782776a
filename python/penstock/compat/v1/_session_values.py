"""Values that are of several arrays: what sessions give for sparse and ragged tensors, and take for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock import _core
from penstock._types.specs import Composite
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor, SparseTensorValue

__all__ = ["IndexedSlicesValue", "RaggedTensorValue", "parts_of", "value_of"]


class IndexedSlicesValue(NamedTuple):
    """The arrays of slices.

    Args:
        values: the slices.
        indices: where they are.
        dense_shape: the extents of the whole tensor; None where they are not known.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([3]))
    ...     int(session.run(slices).indices[0])
    3
    """

    values: Any
    indices: Any
    dense_shape: Any


class RaggedTensorValue:
    """The arrays of a ragged tensor.

    Args:
        values: those of all rows: an array, or a value of this class where these are ragged themselves.
        row_splits: `[rows + 1]`, where each row begins, and the end of the last one.

    Raises:
        TypeError: where `row_splits` is no vector of `int32` or `int64`.

    >>> import numpy as np
    >>> import penstock as tf
    >>> value = tf.compat.v1.ragged.RaggedTensorValue(np.array([3, 1, 4]), np.array([0, 1, 3]))
    >>> value.to_list(), value.shape
    ([[3], [1, 4]], (2, None))
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        kind = getattr(row_splits, "dtype", None)
        if kind is None or kind.name not in ("int32", "int64") or len(row_splits.shape) != 1:
            raise TypeError(
                f"argument 'row_splits' must be a vector of int32 or int64, as an array, got {row_splits!r}"
            )
        self._values, self._row_splits = values, row_splits

    @property
    def values(self) -> Any:
        """Those of all rows."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """Where each row begins, and the end of the last one."""
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The innermost values, an array."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The `row_splits` of all ragged dimensions, the outermost first."""
        inner = self._values
        return (self._row_splits, *(inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()))

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """The element type of the arrays."""
        return self._values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents; None for those that are ragged."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Give the rows as lists.

        Returns:
            The rows.

        >>> import penstock as tf
        >>> tf.compat.v1.ragged.constant_value([[3], [1, 4]]).to_list()
        [[3], [1, 4]]
        """
        inner = (
            self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        )
        ends = self._row_splits.tolist()
        return [inner[start:end] for start, end in itertools.pairwise(ends)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedTensorValue) and self.to_list() == other.to_list()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def _slices(value: Any) -> list[Any]:
    return [part for part in (value.values, value.indices, value.dense_shape) if part is not None]


def _ragged(values: Any, *splits: Any) -> Any:
    for row_splits in reversed(splits):
        values = RaggedTensorValue(values, row_splits)
    return values


# For each kind the parts of a value, and the value of the arrays of these.
_KINDS: dict[type, tuple[Callable[[Any], list[Any]], Callable[..., Any]]] = {
    IndexedSlices: (_slices, lambda *parts: IndexedSlicesValue(*parts, *[None] * (3 - len(parts)))),
    RaggedTensor: (lambda value: [value.flat_values, *value.nested_row_splits], _ragged),
    SparseTensor: (lambda value: list(SparseTensor.from_value(value)._parts()), SparseTensorValue),
}


def _kind(value: Any) -> Any:
    return next((entry for kind, entry in _KINDS.items() if isinstance(value, kind)), None)


def parts_of(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """Each tensor of a composite one of a graph, with the value that is given for it.

    Raises:
        TypeError: where the key is no such tensor, or the value has not its parts.
    """
    entry = _kind(key) if isinstance(key, Composite) else None
    if entry is None:
        raise TypeError(f"argument 'feed_dict' has the key {key!r}, which is no tensor of a graph")
    parts, _ = entry
    own = parts(key)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        given = list(value)
    else:
        try:
            with _core._Outside():
                given = parts(value)
        except AttributeError:
            raise TypeError(
                f"argument 'feed_dict' has no value for a {type(key).__name__}: {value!r}"
            ) from None
    if len(given) != len(own):
        raise ValueError(
            f"argument 'feed_dict' has {len(given)} parts for a {type(key).__name__}, which has {len(own)}"
        )
    return list(zip(own, given, strict=True))


def value_of(fetch: Any) -> tuple[list[Any], Callable[..., Any]] | None:
    """The tensors of a composite one, and what makes a value of their arrays; None for what is none."""
    entry = _kind(fetch) if isinstance(fetch, Composite) else None
    return None if entry is None else (entry[0](fetch), entry[1])
