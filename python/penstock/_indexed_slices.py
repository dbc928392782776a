"""Rows of a tensor, most of which are zero."""

from __future__ import annotations

from typing import Any

from penstock import _conversion, _core, raw_ops
from penstock._shape import TensorShape

__all__ = ["IndexedSlices", "from_pieces"]


class IndexedSlices:
    """Slices of a larger tensor along its first dimension, with their indices; the rest is zero.

    It is what reading rows (`tf.gather`, `tf.nn.embedding_lookup`) gives for a gradient. Slices of equal
    indices add up. Anything that takes a tensor takes it, in full.

    Args:
        values: the slices, `[n, d1, ...]`.
        indices: an integer vector of `n` indices.
        dense_shape: an integer vector, the extents of the larger tensor, or None where they are not known.

    >>> import penstock as tf
    >>> table = tf.Variable([[1.0], [2.0], [3.0]])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.gather(table, [2, 2])
    >>> g = tape.gradient(y, table)
    >>> g.indices.numpy().tolist(), tf.convert_to_tensor(g).numpy().tolist()
    ([2, 2], [[0.0], [0.0], [2.0]])
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Any:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Any:
        """The index of each slice."""
        return self._indices

    @property
    def dense_shape(self) -> Any:
        """The extents of the larger tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the extents of the larger tensor."""
        rest = self._values.shape[1:]
        known = None if self._dense_shape is None else _core._known_value(self._dense_shape)
        first = None if known is None else int(known.numpy()[0])
        return TensorShape([first]).concatenate(rest)

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The name of the slices."""
        return self._values.name  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """The device that holds the slices."""
        return self._values.device  # type: ignore[no-any-return]

    @property
    def graph(self) -> Any:
        """The graph of the slices."""
        return self._values.graph

    def consumers(self) -> list[Any]:
        """The operations that use the slices: not known, an empty list."""
        return []

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self) -> str:
        extra = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{extra})"


def from_pieces(pieces: list[tuple[Any, Any]], source: Any) -> IndexedSlices:
    """The slices that add up to a cotangent of `source`, one under the other."""
    if source.shape.is_fully_defined():
        shape = _core._convert(source.shape.as_list(), _core.int32)
        rows = _core._convert([-1, *source.shape.as_list()[1:]], _core.int32)
    else:
        shape = raw_ops.shape(source.read_value() if isinstance(source, _core._Variable) else source)
        rows = raw_ops.concat([_vector(-1), raw_ops.slice(shape, _vector(1), _vector(-1))], axis=0)
    values = [raw_ops.reshape(v, rows) for v, _ in pieces]
    wide = len({i.dtype for _, i in pieces}) > 1
    indices = [
        raw_ops.reshape(raw_ops.cast(i, dtype=_core.int64) if wide else i, _vector(-1)) for _, i in pieces
    ]
    if len(pieces) == 1:
        return IndexedSlices(values[0], indices[0], shape)
    return IndexedSlices(raw_ops.concat(values, axis=0), raw_ops.concat(indices, axis=0), shape)


def _vector(value: int) -> Any:
    return _core._convert([value], _core.int32)


def _dense(slices: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if dtype is not None and _core.DType(dtype) != slices.dtype:
        return NotImplemented
    if slices.dense_shape is None:
        raise ValueError("IndexedSlices without a dense_shape cannot become a tensor")
    first = raw_ops.slice(slices.dense_shape, _vector(0), _vector(1))
    size = raw_ops.reshape(first, _core._convert([], _core.int32))
    return raw_ops.unsorted_segment_sum(slices.values, slices.indices, size)


_conversion.register_tensor_conversion_function(IndexedSlices, _dense, 0)
