"""Rows of a tensor, most of which are zero."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._runtime import conversion
from penstock._types.shape import TensorShape
from penstock._types.specs import Composite, TensorSpec, TypeSpec
from penstock.errors import InvalidArgumentError

__all__ = ["IndexedSlices", "IndexedSlicesSpec", "from_pieces"]


class IndexedSlices(Composite):
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

    __slots__ = ("_dense_shape", "_indices", "_is_distinct", "_values")

    _is_kind_of_tensor = True
    _penstock_fields = ("_values", "_indices", "_dense_shape")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = _tensor(values)
        self._indices = _tensor(indices)
        self._dense_shape = _tensor(dense_shape)
        # Whether no index is known to come twice.
        self._is_distinct = False

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
    def op(self) -> Any:
        """The operation that makes the slices, in a graph."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph of the slices."""
        return self._values.graph

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        dense = None if self._dense_shape is None else self._dense_shape.dtype
        return IndexedSlicesSpec(self.shape, self.dtype, self._indices.dtype, dense, self._indices.shape)

    def consumers(self) -> list[Any]:
        """List the operations that use the slices, which are not known.

        Returns:
            An empty list.

        >>> import penstock as tf
        >>> tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])).consumers()
        []
        """
        return []

    def _with_values(self, values: Any) -> IndexedSlices:
        """Other slices of the same indices."""
        made = IndexedSlices(values, self._indices, self._dense_shape)
        made._is_distinct = self._is_distinct
        return made

    def __neg__(self) -> IndexedSlices:
        return self._with_values(-self._values)

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_slices  # start-up does without it

        return of_slices(self)

    def __repr__(self) -> str:
        extra = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{extra})"


class IndexedSlicesSpec(TypeSpec):
    """What is known of `IndexedSlices`.

    Args:
        shape: the extents of the larger tensor, `None` where one is unknown.
        dtype: the element type.
        indices_dtype: the dtype of the indices.
        dense_shape_dtype: the dtype of `dense_shape`, or None where there is none.
        indices_shape: the shape of the indices, by default a vector of unknown length.

    >>> import penstock as tf
    >>> tf.IndexedSlicesSpec([None, 3], "float32").value_type.__name__
    'IndexedSlices'
    """

    __slots__ = ("_dense_shape_dtype", "_dtype", "_indices_dtype", "_indices_shape", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = _core.float32,
        indices_dtype: Any = _core.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _core.DType(dtype)
        self._indices_dtype = _core.DType(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else _core.DType(dense_shape_dtype)
        self._indices_shape = TensorShape([None]) if indices_shape is None else TensorShape(indices_shape)

    @property
    def value_type(self) -> type[IndexedSlices]:
        """The class of what it describes."""
        return IndexedSlices

    @property
    def _component_specs(self) -> list[TensorSpec]:
        values = self._indices_shape.concatenate(self._shape[1:])
        specs = [TensorSpec(values, self._dtype), TensorSpec(self._indices_shape, self._indices_dtype)]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.rank], self._dense_shape_dtype))
        return specs

    def _to_components(self, value: IndexedSlices) -> list[Any]:
        parts = [value.values, value.indices]
        return parts if value.dense_shape is None else [*parts, value.dense_shape]

    def _from_components(self, parts: list[Any]) -> IndexedSlices:
        return IndexedSlices(*parts)

    def _specified_value(self) -> IndexedSlices:
        return self._from_components(self._component_specs)

    def _key(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Tell whether slices, or some slices of another specification, are described by this one.

        Args:
            spec_or_value: a `tf.IndexedSlices` or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]), tf.constant([3]))
        >>> tf.IndexedSlicesSpec([3]).is_compatible_with(tf.IndexedSlicesSpec([3]))
        True
        """
        other = getattr(spec_or_value, "_type_spec", spec_or_value)
        return (
            isinstance(other, IndexedSlicesSpec)
            and self._key()[1:4] == other._key()[1:4]
            and self._shape.is_compatible_with(other._shape)
            and self._indices_shape.is_compatible_with(other._indices_shape)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether all slices of this specification are of `other`.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.IndexedSlicesSpec([3]).is_subtype_of(tf.IndexedSlicesSpec(None))
        True
        """
        return (
            isinstance(other, IndexedSlicesSpec)
            and self._key()[1:4] == other._key()[1:4]
            and self._shape.is_subtype_of(other._shape)
            and self._indices_shape.is_subtype_of(other._indices_shape)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexedSlicesSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"IndexedSlicesSpec(shape={self._shape}, dtype={self._dtype!r})"


def from_pieces(pieces: list[tuple[Any, Any]], source: Any) -> IndexedSlices:
    """The slices that add up to a cotangent of `source`, one under the other."""
    if source.shape.is_fully_defined():
        shape = _core._to_tensor(source.shape.as_list(), _core.int32)
        rows = _core._to_tensor([-1, *source.shape.as_list()[1:]], _core.int32)
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


def _tensor(part: Any) -> Any:
    """A part as a tensor; while a specification is made, what stands in its place."""
    if isinstance(part, TensorShape):
        part = part.as_list()
    is_array = isinstance(part, list | tuple) or hasattr(part, "__array_interface__")
    return _core._to_tensor(part) if is_array else part


def _vector(value: int) -> Any:
    return _core._to_tensor([value], _core.int32)


def _dense(slices: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if dtype is not None and _core.DType(dtype) != slices.dtype:
        return NotImplemented
    if slices.dense_shape is None:
        raise InvalidArgumentError("IndexedSlices without a dense_shape cannot become a tensor")
    first = raw_ops.slice(slices.dense_shape, _vector(0), _vector(1))
    size = raw_ops.reshape(first, _core._to_tensor([], _core.int32))
    return raw_ops.unsorted_segment_sum(slices.values, slices.indices, size)


conversion.register_tensor_conversion_function(IndexedSlices, _dense, 0)
