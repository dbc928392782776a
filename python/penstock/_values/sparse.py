"""`tf.SparseTensor`: the elements of a tensor that are not zero, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._types.records import SparseTensorValue
from penstock._types.shape import TensorShape
from penstock._types.sparse_spec import SparseTensorSpec
from penstock._types.specs import Composite
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import ShapeLike, TensorLike

__all__ = ["SparseTensor", "SparseTensorSpec", "SparseTensorValue"]


class SparseTensor(Composite):
    """A tensor most of whose elements are zero: the others, and their places.

    Functions of `tf.sparse` want the places in order, row by row, which `tf.sparse.reorder` gives them.

    Args:
        indices: `[n, rank]`, a place an element.
        values: `[n]`, the elements.
        dense_shape: `[rank]`, the extents of the whole tensor.

    Raises:
        ValueError: where the sizes do not fit each other.

    >>> import penstock as tf
    >>> x = tf.SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 7], dense_shape=[3, 2])
    >>> tf.sparse.to_dense(x).numpy().tolist()
    [[0, 5], [0, 0], [7, 0]]
    """

    __module__ = "penstock"

    __slots__ = ("__weakref__", "_dense_shape", "_indices", "_rows", "_static", "_values")

    _is_kind_of_tensor = True

    # Tensors; while a specification is made, what stands in their places.
    _indices: Any
    _values: Any
    _dense_shape: Any

    def __init__(
        self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike | TensorShape
    ) -> None:
        sizes: Any = dense_shape.as_list() if isinstance(dense_shape, TensorShape) else dense_shape
        self._dense_shape = _integers(sizes, "dense_shape", 1)
        self._values = _core._to_tensor(values)
        if _is_empty(indices):
            indices = raw_ops.fill(
                raw_ops.concat([[0], raw_ops.shape(self._dense_shape)], axis=0),
                _core._to_tensor(0, _core.int64),
            )
        self._indices = _integers(indices, "indices", 2)
        _check_sizes(self._indices.shape, self._values.shape, self._dense_shape.shape)
        self._static = TensorShape(None)
        # Of what is known: the elements in order, and where each row begins.
        self._rows: tuple[Any, Any, list[int]] | None = None

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensor | SparseTensorValue) -> SparseTensor:
        """Make a sparse tensor of the arrays of one.

        Args:
            sparse_tensor_value: a `tf.compat.v1.SparseTensorValue`, or a sparse tensor, which is given back.

        Returns:
            The sparse tensor.

        Raises:
            TypeError: for anything else.

        >>> import penstock as tf
        >>> x = tf.SparseTensor([[1]], [2.0], [3])
        >>> tf.SparseTensor.from_value(x) is x
        True
        """
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if isinstance(sparse_tensor_value, tuple) and hasattr(sparse_tensor_value, "dense_shape"):
            return cls(*sparse_tensor_value)
        raise TypeError(
            f"argument 'sparse_tensor_value' must be a SparseTensorValue, got {sparse_tensor_value!r}"
        )

    @property
    def indices(self) -> Any:
        """The places of the elements, `[n, rank]`, `int64`."""
        return self._indices

    @property
    def values(self) -> Any:
        """The elements, `[n]`."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The extents of the whole tensor, `[rank]`, `int64`."""
        return self._dense_shape

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """What is known of the extents of the whole tensor."""
        dense = self._dense_shape
        # Of what stands in a tensor's place there is no value.
        known = _core._known_value(dense) if isinstance(dense, _core.Tensor) else None
        if known is not None:
            return TensorShape(known.numpy().tolist())
        dims = dense.shape._dims
        ranked = TensorShape(None if dims is None or dims[0] is None else [None] * dims[0])
        return ranked.merge_with(self._static)

    def get_shape(self) -> TensorShape:
        """Tell the shape: `shape`.

        Returns:
            What is known of the extents of the whole tensor.

        >>> import penstock as tf
        >>> tf.SparseTensor([[1]], [2.0], [3]).get_shape()
        TensorShape([3])
        """
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Say what the extents are, as far as they are not known.

        Args:
            shape: extents, `None` for those that are not known.

        Raises:
            ValueError: where they are known to be others.

        >>> import penstock as tf
        >>> x = tf.SparseTensor([[1]], [2.0], [3])
        >>> x.set_shape([3])
        """
        self._static = self.shape.merge_with(shape)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, where it is known."""
        return self.shape.rank

    @property
    def graph(self) -> Any:
        """The graph of the elements."""
        return self._values.graph

    @property
    def op(self) -> Any:
        """The operation of the elements."""
        return self._values.op

    def consumers(self) -> list[Any]:
        """List the operations that use the elements, which are not known.

        Returns:
            An empty list.

        >>> import penstock as tf
        >>> tf.SparseTensor([[1]], [2.0], [3]).consumers()
        []
        """
        return []

    def numpy(self) -> SparseTensorValue:
        """Make arrays of the parts, where they are known.

        Returns:
            The arrays, as a named tuple.

        >>> import penstock as tf
        >>> tf.SparseTensor([[1]], [2.0], [3]).numpy().values
        array([2.], dtype=float32)
        """
        return SparseTensorValue(*(part.numpy() for part in self._parts()))

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: object = None) -> SparseTensorValue:
        """Compute the parts in a session of TensorFlow 1.

        Args:
            feed_dict: values for placeholders.
            session: the session, by default the present one.

        Returns:
            The arrays, as a named tuple.

        >>> import penstock as tf
        >>> tf.SparseTensor([[1]], [2.0], [3]).eval().values
        array([2.], dtype=float32)
        """
        if not any(part._is_symbolic for part in self._parts()):
            return self.numpy()
        return SparseTensorValue(*(part.eval(feed_dict=feed_dict, session=session) for part in self._parts()))

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Put other elements into the same places.

        Args:
            new_values: as many elements.

        Returns:
            The sparse tensor.

        >>> import penstock as tf
        >>> x = tf.SparseTensor([[1]], [2.0], [3]).with_values([4])
        >>> tf.sparse.to_dense(x).numpy()
        array([0, 4, 0], dtype=int32)
        """
        made = SparseTensor(self._indices, new_values, self._dense_shape)
        made._static = self._static
        return made

    def _with(self, indices: Any, values: Any, dense_shape: Any = None) -> SparseTensor:
        """Other elements in other places, of the same extents unless others are given."""
        made = SparseTensor.__new__(SparseTensor)
        made._indices, made._values, made._rows = indices, values, None
        made._dense_shape = self._dense_shape if dense_shape is None else dense_shape
        made._static = self._static if dense_shape is None else TensorShape(None)
        return made

    def __getitem__(self, key: Any) -> Any:
        """A row, or a block: an index, or slices in steps of 1 of the first dimensions.

        Raises:
            ValueError: for other keys.

        >>> import penstock as tf
        >>> x = tf.sparse.from_dense([[0, 3], [5, 0]])
        >>> tf.sparse.to_dense(x[1]).numpy(), tf.sparse.to_dense(x[:, 1:]).numpy().tolist()
        (array([5, 0], dtype=int32), [[3], [0]])
        """
        if isinstance(key, int) and not any(part._is_symbolic for part in self._parts()):
            return self._row(key)
        from penstock._ops.sparse_layout import part_of  # operations build on this

        return part_of(self, key if isinstance(key, tuple) else (key,))

    def _row(self, number: int) -> SparseTensor:
        """A row of a sparse tensor whose elements are known."""
        if self._rows is None:
            import numpy as np  # start-up does without it

            from penstock._ops.sparse_layout import reorder  # operations build on this

            ordered = reorder(self)
            count = int(self._dense_shape[0])
            begins = np.searchsorted(ordered.indices.numpy()[:, 0], np.arange(count + 1))
            self._rows = ordered.indices[:, 1:], ordered.values, begins.tolist()
        indices, values, splits = self._rows
        count = len(splits) - 1
        if not -count <= number < count:
            raise IndexError(f"row {number} of a sparse tensor of {count} rows")
        start, stop = splits[number % count], splits[number % count + 1]
        return self._with(indices[start:stop], values[start:stop], self._dense_shape[1:])

    # --- operators ---

    # Tensors leave it to the right operand.
    __penstock_operand__ = True

    def __add__(self, other: Any) -> Any:
        from penstock._ops.sparse_arithmetic import add  # operations build on this

        return add(self, other)

    __radd__ = __add__

    def __neg__(self) -> SparseTensor:
        return self.with_values(-self._values)

    def __mul__(self, other: Any) -> SparseTensor:
        from penstock._ops.sparse_arithmetic import by_dense  # operations build on this

        return by_dense(self, other, raw_ops.mul)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        from penstock._ops.sparse_arithmetic import by_dense  # operations build on this

        return by_dense(self, other, raw_ops.div)

    def __bool__(self) -> bool:
        raise TypeError("a SparseTensor is neither true nor false")

    # --- as a composite of a nest ---

    @property
    def _differentiable(self) -> Any:
        return self._values

    def _with_gradient(self, gradient: Any) -> SparseTensor:
        return self.with_values(gradient)

    def _row_count(self) -> Any:
        return self._dense_shape[0]

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def __tf_tracing_type__(self, context: Any) -> SparseTensorSpec:
        """The specification of the tensor."""
        return self._type_spec

    def _parts(self) -> list[Any]:
        return [self._indices, self._values, self._dense_shape]

    def _check_like(self, other: SparseTensor) -> None:
        if self.dtype != other.dtype or (None not in (self.rank, other.rank) and self.rank != other.rank):
            raise TypeError(f"one is of {self._type_spec}, the other of {other._type_spec}")

    def _joined(self, other: SparseTensor) -> Any:
        spec = self._type_spec.most_specific_common_supertype([other._type_spec])
        return self if spec is None else spec.from_tensors(iter(self._parts()))

    def _after_loop(self, after: SparseTensor) -> Any:
        if self.dtype != after.dtype:
            raise InvalidArgumentError(f"a loop makes of {self._type_spec} one of {after._type_spec}")
        return self._joined(after)

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_sparse  # start-up does without it

        return of_sparse(self)

    def __repr__(self) -> str:
        parts = f"indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s}"
        return f"SparseTensor({parts})"


def _is_empty(indices: Any) -> bool:
    return isinstance(indices, list | tuple) and not indices


def _integers(value: Any, argument: str, rank: int) -> Any:
    made = _core._to_tensor_hinted(value, _core.int64)
    if made.dtype == _core.int32:
        made = raw_ops.cast(made, dtype=_core.int64)
    if made.dtype != _core.int64:
        raise DTypeError(f"argument '{argument}' must be int64, got {made.dtype.name}")
    if made.shape.rank not in (rank, None):
        raise InvalidArgumentError(f"argument '{argument}' must have rank {rank}, got shape {made.shape}")
    return made


def _check_sizes(indices: TensorShape, values: TensorShape, dense: TensorShape) -> None:
    if values.rank not in (1, None):
        raise InvalidArgumentError(f"argument 'values' must be a vector, got shape {values}")
    count, rank = indices.as_list() if indices.rank == 2 else [None, None]
    given = None if values.rank is None else values[0]
    if None not in (count, given) and count != given:
        raise InvalidArgumentError(
            f"argument 'indices' has {count} places, argument 'values' {given} elements"
        )
    extents = None if dense.rank is None else dense[0]
    if None not in (rank, extents) and rank != extents:
        raise InvalidArgumentError(
            f"argument 'indices' has places in {rank} dimensions, argument 'dense_shape' {extents}"
        )


def spec_value(spec: SparseTensorSpec, tensors: Iterator[Any]) -> Any:
    """The sparse tensor of a specification that has these tensors, whatever stands in their places."""
    made = SparseTensor.__new__(SparseTensor)
    made._indices, made._values, made._dense_shape = next(tensors), next(tensors), next(tensors)
    made._static, made._rows = spec.shape, None
    return made
