"""`tf.TensorArray`: an array of tensors that is written element by element, in loops above all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Never

from penstock import _core, errors, raw_ops
from penstock._runtime.arguments import results
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._types.specs import Composite, TensorSpec, TypeSpec
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["TensorArray", "TensorArraySpec"]


def _dims(shape: TensorShape) -> Any:
    """A shape as the list operators take it: -1 for a size that is not known, a scalar -1 for no rank."""
    dims = shape._dims
    return _core._to_tensor(-1 if dims is None else [-1 if d is None else d for d in dims], _core.int32)


class _Items:
    """Elements at hand, changed in place: a write takes constant time."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        # Elements that were dropped when they were read.
        self.read_before: set[int] = set()

    def flow(self, dtype: Any, shape: TensorShape) -> Any:
        """The list of the graph that has these elements."""
        made = raw_ops.list_new(0, dtype=dtype, shape=shape)
        for i, item in enumerate(self.items):
            if item is not None:
                made = raw_ops.list_set(made, i, item, grow=True)
        return raw_ops.list_resize(made, len(self.items))

    def checked(self, index: Any, what: str, dynamic: bool) -> int:
        if isinstance(index, float) or (isinstance(index, _core.Tensor) and not index.dtype.is_integer):
            raise TypeError(f"argument 'index' must be an integer, got {index!r}")
        i = int(index)
        if i < 0:
            raise errors.OutOfRangeError(f"tried to {what} the negative index {i} of a TensorArray")
        if i >= len(self.items) and not dynamic:
            hint = ": dynamic_size=True lets it grow" if what == "write" else ""
            raise errors.OutOfRangeError(
                f"tried to {what} index {i} of a TensorArray of {len(self.items)} elements{hint}"
            )
        return i

    def grow(self, length: int) -> None:
        """Adds elements that are unset, up to so many."""
        try:
            self.items.extend([None] * (length - len(self.items)))
        except (MemoryError, OverflowError):
            raise errors.ResourceExhaustedError(
                f"there is no memory for a TensorArray of {length} elements"
            ) from None


class TensorArray(Composite):
    """An array of tensors of one dtype, which is written and read by index.

    While a function is traced an array is never changed: `write` and its like return the array with the
    change, and only that has it. Outside of traces the array itself is changed, and returned. An element that
    was never written reads as zeros, for which the shape of the elements must be known.

    Args:
        dtype: the dtype of the elements.
        size: the number of elements; 0 by default.
        dynamic_size: whether writes beyond the end make the array longer.
        clear_after_read: outside of traces, whether an element can be read only once; True by default.
        tensor_array_name: of no effect: no resource is behind it.
        handle: accepted and ignored.
        flow: a list of the graph to start with.
        infer_shape: whether all elements must have one shape, which the first write then tells.
        element_shape: the shape of the elements, `None` for sizes that differ.
        colocate_with_first_write_call: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Raises:
        ValueError: for a negative size.

    >>> import penstock as tf
    >>> @tf.function
    ... def squares(n):
    ...     array = tf.TensorArray(tf.int32, size=n)
    ...     for i in tf.range(n):
    ...         array = array.write(i, i * i)
    ...     return array.stack()
    >>> squares(tf.constant(4)).numpy()
    array([0, 1, 4, 9], dtype=int32)
    """

    # What it counts by as an argument of a traced function.
    _penstock_fields = (
        "flow",
        "_dtype",
        "_element_shape",
        "_dynamic_size",
        "_infer_shape",
        "_clear_after_read",
    )

    @scoped
    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._dtype = _core.DType(dtype)
        self._element_shape = TensorShape(element_shape)
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = bool(infer_shape)
        self._clear_after_read = clear_after_read is None or bool(clear_after_read)
        self._items: _Items | None = None
        self._flow: Any = flow
        if flow is not None:
            return
        size = _core._to_tensor(0 if size is None else size)
        if not size.dtype.is_integer or size.shape.rank not in (0, None):
            raise InvalidArgumentError(f"argument 'size' must be an integer scalar, got {size!r}")
        if _core._is_tracing():
            self._flow = raw_ops.list_new(
                raw_ops.cast(size, dtype=_core.int32), dtype=self._dtype, shape=self._element_shape
            )
            return
        length = int(size)
        if length < 0:
            raise InvalidArgumentError(f"argument 'size' must not be negative, got {length}")
        self._items = _Items([None] * length)

    # --- what it is ---

    @property
    def dtype(self) -> _core.DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._element_shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writes beyond the end make it longer."""
        return self._dynamic_size

    @property
    def infer_shape(self) -> bool:
        """Whether all elements must have one shape."""
        return self._infer_shape

    @property
    def clear_after_read(self) -> bool:
        """Whether, outside of traces, an element can be read only once."""
        return self._clear_after_read

    @property
    def flow(self) -> Any:
        """The list of the graph, a `variant` scalar."""
        if self._items is None:
            return self._flow
        if not _core._is_tracing():
            return self._items.flow(self._dtype, self._element_shape)
        # The elements are at hand: a trace takes the list whole.
        with _core._Outside():
            return self._items.flow(self._dtype, self._element_shape)

    @flow.setter
    def flow(self, value: Any) -> None:
        self._flow, self._items = value, None

    @property
    def handle(self) -> None:
        """None: the array is its `flow`."""
        return None

    @property
    def _type_spec(self) -> TensorArraySpec:
        return TensorArraySpec(self._element_shape, self._dtype, self._dynamic_size, self._infer_shape)

    # As a composite of a nest.

    def _parts(self) -> list[Any]:
        return [self.flow]

    def _with_parts(self, parts: Sequence[Any]) -> TensorArray:
        return self._like(parts[0], self._element_shape)

    def _check_like(self, other: TensorArray) -> None:
        if self._dtype != other._dtype:
            raise DTypeError(f"one is a TensorArray of {self._dtype.name}, the other of {other._dtype.name}")

    def _joined(self, other: TensorArray) -> TensorArray:
        shape = self._element_shape.most_specific_compatible_shape(other._element_shape)
        return self if shape == self._element_shape else self._like(self.flow, shape)

    def _after_loop(self, after: TensorArray) -> TensorArray:
        if not after._element_shape.is_subtype_of(self._element_shape):
            raise InvalidArgumentError(
                "the elements of a TensorArray must keep their shape in a loop: it is "
                f"{self._element_shape} before the loop and {after._element_shape} after an iteration"
            )
        return after if self._infer_shape else self

    def _like(self, flow: Any, element_shape: TensorShape) -> TensorArray:
        """An array of the graph with the same properties."""
        return TensorArray(
            self._dtype,
            dynamic_size=self._dynamic_size,
            clear_after_read=self._clear_after_read,
            flow=flow,
            infer_shape=self._infer_shape,
            element_shape=element_shape,
        )

    def __repr__(self) -> str:
        return (
            f"<tf.TensorArray dtype={self._dtype.name} element_shape={self._element_shape} "
            f"dynamic_size={self._dynamic_size}>"
        )

    # --- elements ---

    def _at_hand(self, *operands: Any) -> _Items | None:
        """The elements, where they are at hand and stay so."""
        symbolic = any(isinstance(x, _core.Tensor) and x._is_symbolic for x in operands)
        return None if self._items is None or symbolic or _core._is_tracing() else self._items

    def _accept(self, value: Any, shape: TensorShape | None = None) -> TensorShape:
        """The shape of the elements once one of `shape` is written; by default, the shape of `value`."""
        if value.dtype != self._dtype:
            raise errors.InvalidArgumentError(
                f"argument 'value' must have the dtype {self._dtype.name} of the TensorArray, "
                f"got {value.dtype.name}"
            )
        shape = value.shape if shape is None else shape
        if not self._element_shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"argument 'value' has shape {shape}, but the elements of the TensorArray have shape "
                f"{self._element_shape}: infer_shape=False lets shapes differ"
            )
        return self._element_shape.merge_with(shape) if self._infer_shape else self._element_shape

    def _read_at_hand(self, items: _Items, index: Any) -> _core.Tensor:
        i = items.checked(index, "read", False)
        value: _core.Tensor | None = items.items[i]
        if value is None:
            if i in items.read_before:
                raise errors.InvalidArgumentError(
                    f"index {i} of the TensorArray was read before, which cleared it: "
                    "clear_after_read=False lets elements be read again"
                )
            zeros: _core.Tensor = self._zeros()
            return zeros
        if self._clear_after_read:
            items.items[i] = None
            items.read_before.add(i)
        return value

    def _zeros(self) -> Any:
        if not self._element_shape.is_fully_defined():
            raise errors.InvalidArgumentError(
                f"an element of the TensorArray was never written, and the shape of its zeros is not known: "
                f"element_shape is {self._element_shape}"
            )
        zero = _core._to_tensor("" if self._dtype == _core.string else 0, self._dtype)
        return raw_ops.fill(_core._to_tensor(self._element_shape.as_list(), _core.int32), zero)

    @scoped
    def read(self, index: TensorLike, name: str | None = None) -> _core.Tensor:
        """Read the element at an index.

        Args:
            index: an integer scalar.
            name: a scope for the names of its operations in a graph.

        Returns:
            The element: a tensor of the array's dtype.

        Raises:
            OutOfRangeError: for an index outside of the array.
            InvalidArgumentError: where the element was cleared when it was read before.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0]).read(1).numpy()
        np.float32(2.0)
        """
        index = _core._to_tensor_hinted(index, _core.int32)
        items = self._at_hand(index)
        if items is not None:
            return self._read_at_hand(items, index)
        return raw_ops.list_get(self.flow, index, _dims(self._element_shape), dtype=self._dtype)

    @scoped
    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Set an element.

        Args:
            index: an integer scalar.
            value: a tensor of the array's dtype.
            name: a scope for the names of its operations in a graph.

        Returns:
            The array with it.

        Raises:
            OutOfRangeError: for an index outside of an array that does not grow.
            InvalidArgumentError: for a value of another dtype.
            ValueError: for a value of another shape.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.float32, 2).write(0, 1.0).write(1, 2.0).stack().numpy()
        array([1., 2.], dtype=float32)
        """
        index = _core._to_tensor_hinted(index, _core.int32)
        value = _core._to_tensor_hinted(value, self._dtype)
        shape = self._accept(value)
        items = self._at_hand(index, value)
        if items is None:
            return self._like(raw_ops.list_set(self.flow, index, value, grow=self._dynamic_size), shape)
        i = items.checked(index, "write", self._dynamic_size)
        items.grow(i + 1)
        items.items[i] = value
        items.read_before.discard(i)
        self._element_shape = shape
        return self

    @scoped
    def size(self, name: str | None = None) -> _core.Tensor:
        """Count the elements.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            An `int32` scalar.

        >>> import penstock as tf
        >>> int(tf.TensorArray(tf.float32, 2).size())
        2
        """
        items = self._at_hand()
        if items is not None:
            return _core._to_tensor(len(items.items), _core.int32)
        return raw_ops.list_length(self.flow, dtype=_core.int32)

    # --- all or many elements ---

    def _rows(self, items: _Items, indices: Any) -> _core.Tensor:
        """Elements at hand as one tensor."""
        rows = [self._read_at_hand(items, i) for i in indices]
        if rows:
            return raw_ops.stack(rows)
        empty = raw_ops.list_new(0, dtype=self._dtype)
        return raw_ops.list_stack(empty, _dims(self._element_shape), dtype=self._dtype)

    @scoped
    def stack(self, name: str | None = None) -> _core.Tensor:
        """Stack the elements along a new first dimension.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[n, ...]`, of the array's dtype.

        Raises:
            InvalidArgumentError: where elements differ in shape, or the shape of one that was never written
                is not known.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0]).stack().numpy()
        array([1., 2.], dtype=float32)
        """
        items = self._at_hand()
        if items is not None:
            return self._rows(items, range(len(items.items)))
        return raw_ops.list_stack(self.flow, _dims(self._element_shape), dtype=self._dtype)

    @scoped
    def gather(self, indices: TensorLike, name: str | None = None) -> _core.Tensor:
        """Stack the elements at some indices along a new first dimension.

        Args:
            indices: an integer vector.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[len(indices), ...]`, of the array's dtype.

        Raises:
            OutOfRangeError: for an index outside of the array.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.float32, 3).unstack([1.0, 2.0, 3.0]).gather([2, 0]).numpy()
        array([3., 1.], dtype=float32)
        """
        indices = _indices(indices)
        items = self._at_hand(indices)
        if items is not None:
            return self._rows(items, indices.numpy().tolist())
        return raw_ops.list_get(self.flow, indices, _dims(self._element_shape), dtype=self._dtype)

    @scoped
    def concat(self, name: str | None = None) -> _core.Tensor:
        """Concatenate the elements along their first dimension.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of the array's dtype.

        Raises:
            InvalidArgumentError: for scalar elements, or elements whose rows differ in shape.

        >>> import penstock as tf
        >>> ta = tf.TensorArray(tf.float32, 2, infer_shape=False)
        >>> ta.write(0, [1.0]).write(1, [2.0, 3.0]).concat().numpy()
        array([1., 2., 3.], dtype=float32)
        """
        items = self._at_hand()
        if items is not None:
            parts = [self._read_at_hand(items, i) for i in range(len(items.items))]
            if parts:
                return raw_ops.concat(parts, axis=0)
        flow, shape = self.flow, _dims(self._element_shape)
        lengths = raw_ops.list_lengths(flow, shape)
        return raw_ops.list_concat(flow, lengths, shape, dtype=self._dtype)

    @scoped
    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Make the rows of a tensor the elements.

        Args:
            value: a tensor of at least one dimension, of the array's dtype.
            name: a scope for the names of its operations in a graph.

        Returns:
            The array with them.

        Raises:
            ValueError: for rows of another shape, or, of an array that does not grow, another number of them.

        >>> import penstock as tf
        >>> int(tf.TensorArray(tf.int32, 0, dynamic_size=True).unstack([[1, 2], [3, 4]]).size())
        2
        """
        value = _core._to_tensor_hinted(value, self._dtype)
        shape = self._accept(value, _shape_of_rows(value))
        items = self._at_hand(value)
        if items is None:
            return self._like(raw_ops.list_from_tensor(value), shape)
        rows = value.shape[0]
        if rows != len(items.items) and not self._dynamic_size and items.items:
            raise InvalidArgumentError(
                f"argument 'value' has {rows} rows for a TensorArray of {len(items.items)} elements"
            )
        self._items = _Items(results(raw_ops.unstack(value, num=rows)) if rows else [])
        self._element_shape = shape
        return self

    @scoped
    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Set the elements at some indices to the rows of a tensor.

        Args:
            indices: an integer vector.
            value: a tensor with a row for each index.
            name: a scope for the names of its operations in a graph.

        Returns:
            The array with them.

        Raises:
            OutOfRangeError: for an index outside of an array that does not grow.
            InvalidArgumentError: for indices that are no vector of integers.
            ValueError: for rows of another shape.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.int32, 2).scatter([1, 0], [10, 20]).stack().numpy()
        array([20, 10], dtype=int32)
        """
        indices = _indices(indices)
        value = _core._to_tensor_hinted(value, self._dtype)
        shape = self._accept(value, _shape_of_rows(value))
        if self._at_hand(indices, value) is None:
            return self._like(raw_ops.list_set(self.flow, indices, value, grow=self._dynamic_size), shape)
        where = indices.numpy().tolist()
        if len(where) != value.shape[0]:
            raise InvalidArgumentError(f"argument 'value' has {value.shape[0]} rows for {len(where)} indices")
        for k, i in enumerate(where):
            self.write(i, raw_ops.gather(value, k))
        return self

    @scoped
    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Make pieces of a tensor the elements.

        Args:
            value: a tensor of at least one dimension, of the array's dtype.
            lengths: an integer vector: the rows of each piece.
            name: a scope for the names of its operations in a graph.

        Returns:
            The array with them.

        Raises:
            InvalidArgumentError: where the lengths do not sum to the number of rows.
            ValueError: for pieces of another shape.

        >>> import penstock as tf
        >>> ta = tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2, 3], [1, 2])
        >>> ta.read(1).numpy()
        array([2, 3], dtype=int32)
        """
        value = _core._to_tensor_hinted(value, self._dtype)
        lengths = _core._to_tensor_hinted(lengths, _core.int32)
        if lengths.dtype not in (_core.int32, _core.int64) or lengths.shape.rank not in (None, 1):
            raise DTypeError(
                f"argument 'lengths' must be an integer vector, got {lengths.dtype.name}{lengths.shape}"
            )
        rows = _shape_of_rows(value)
        piece = TensorShape(None if rows._dims is None else [None, *rows._dims])
        shape = self._accept(value, piece)
        if self._at_hand(value, lengths) is None:
            return self._like(raw_ops.list_split(value, lengths), shape)
        sizes = lengths.numpy().tolist()
        made = raw_ops.list_split(value, lengths)
        pieces = [raw_ops.list_get(made, i, _dims(piece), dtype=self._dtype) for i in range(len(sizes))]
        if len(set(sizes)) == 1:
            shape = self._accept(value, pieces[0].shape)
        self._items = _Items(pieces)
        self._element_shape = shape
        return self

    def identity(self) -> TensorArray:
        """Give the array itself.

        Returns:
            The array.

        >>> import penstock as tf
        >>> ta = tf.TensorArray(tf.int32, 2)
        >>> ta.identity() is ta
        True
        """
        return self

    def grad(self, source: object, flow: object = None, name: str | None = None) -> Never:
        """Stop with an error: there are no arrays of gradients, which go through arrays by themselves.

        Args:
            source: accepted and ignored.
            flow: accepted and ignored.
            name: accepted for programs that give it.

        Raises:
            NotImplementedError: always.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.float32, 2).grad("x")
        Traceback (most recent call last):
        NotImplementedError: a TensorArray has no gradient array: tf.GradientTape differentiates through it
        """
        raise NotImplementedError(
            "a TensorArray has no gradient array: tf.GradientTape differentiates through it"
        )

    def close(self, name: str | None = None) -> None:
        """Do nothing: an array that is not used any more is freed.

        Args:
            name: of no effect: there is no operation for it.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.int32, 2).close()
        """

    def mark_used(self) -> None:
        """Do nothing: arrays that are not used are no error.

        >>> import penstock as tf
        >>> tf.TensorArray(tf.int32, 2).mark_used()
        """


def _indices(value: TensorLike) -> _core.Tensor:
    """The argument `indices` as a tensor.

    Raises:
        InvalidArgumentError: where it is no vector of integers.
    """
    indices = _core._to_tensor_hinted(value, _core.int32)
    if not indices.dtype.is_integer or indices.shape.rank not in (1, None):
        raise errors.InvalidArgumentError(
            f"argument 'indices' must be an integer vector, got dtype {indices.dtype.name} and shape "
            f"{indices.shape}"
        )
    return indices


def _shape_of_rows(value: Any) -> TensorShape:
    dims = value.shape._dims
    if dims is not None and not dims:
        raise InvalidArgumentError("argument 'value' must have at least one dimension, got a scalar")
    return TensorShape(None if dims is None else dims[1:])


class TensorArraySpec(TypeSpec):
    """What is known of a `TensorArray`.

    Args:
        element_shape: the shape of the elements, `None` for sizes that are unknown; None for unknown rank.
        dtype: their dtype.
        dynamic_size: whether writes beyond the end make the array longer.
        infer_shape: whether all elements must have one shape.

    >>> import penstock as tf
    >>> tf.TensorArraySpec([2], "float32").is_compatible_with(tf.TensorArray("float32", element_shape=[2]))
    True
    """

    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = _core.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = TensorShape(element_shape)
        self._dtype = _core.DType(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @property
    def value_type(self) -> type:
        """`tf.TensorArray`."""
        return TensorArray

    @property
    def dtype(self) -> _core.DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._element_shape

    @classmethod
    def from_value(cls, value: TensorArray) -> TensorArraySpec:
        """Make the specification of an array.

        Args:
            value: the array.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.TensorArraySpec.from_value(tf.TensorArray(tf.int32, 2, element_shape=[3])).is_compatible_with(
        ...     tf.TensorArraySpec([3], tf.int32)
        ... )
        True
        """
        found: TensorArray = expect(value, TensorArray, "value", "a TensorArray")
        return found._type_spec

    @property
    def flow(self) -> TensorSpec:
        """The specification of the list of the graph."""
        return TensorSpec([], _core.variant)

    def flatten(self) -> list[TensorSpec]:
        """List the specification of the list of the graph.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.TensorArraySpec([3], tf.int32).flatten()[0].dtype
        tf.variant
        """
        return [self.flow]

    def to_tensors(self, value: TensorArray) -> list[Any]:
        """List the list of the graph of an array.

        Args:
            value: the array.

        Returns:
            The list, a scalar of `variant`.

        >>> import penstock as tf
        >>> array = tf.TensorArray(tf.int32, 2).unstack([1, 2])
        >>> spec = tf.TensorArraySpec.from_value(array)
        >>> len(spec.to_tensors(array))
        1
        """
        return [value.flow]

    def from_tensors(self, tensors: Iterator[Any]) -> TensorArray:
        """Make the array that has this list of the graph.

        Args:
            tensors: gives the list.

        Returns:
            The array.

        >>> import penstock as tf
        >>> array = tf.TensorArray(tf.int32, 2).unstack([1, 2])
        >>> spec = tf.TensorArraySpec.from_value(array)
        >>> spec.from_tensors(iter(spec.to_tensors(array))).stack().numpy()
        array([1, 2], dtype=int32)
        """
        return self._of(next(tensors))

    def _fields(self) -> tuple[str, bool, bool]:
        return self._dtype.name, self._dynamic_size, self._infer_shape

    def _specified_value(self) -> TensorArray:
        return self._of(self.flow)

    def _of(self, flow: Any) -> TensorArray:
        return TensorArray(
            self._dtype,
            dynamic_size=self._dynamic_size,
            flow=flow,
            infer_shape=self._infer_shape,
            element_shape=self._element_shape,
        )

    def is_compatible_with(self, other: object) -> bool:
        """Tell whether an array, or some array of another specification, is described by this one.

        Args:
            other: a `tf.TensorArray` or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorArraySpec([3], tf.int32).is_compatible_with(tf.TensorArraySpec([None], tf.int32))
        True
        """
        spec = other._type_spec if isinstance(other, TensorArray) else other
        return (
            isinstance(spec, TensorArraySpec)
            and self._fields() == spec._fields()
            and self._element_shape.is_compatible_with(spec._element_shape)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether every array of this specification is one of `other`.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorArraySpec([3], tf.int32).is_subtype_of(tf.TensorArraySpec([None], tf.int32))
        True
        """
        return (
            isinstance(other, TensorArraySpec)
            and self._fields() == other._fields()
            and self._element_shape.is_subtype_of(other._element_shape)
        )

    def most_specific_compatible_type(self, other: TensorArraySpec) -> TensorArraySpec:
        """Make the most specific specification that covers this one and another.

        Args:
            other: another specification.

        Returns:
            The specification.

        Raises:
            ValueError: where there is none.

        >>> import penstock as tf
        >>> spec = tf.TensorArraySpec([3], tf.int32)
        >>> spec.most_specific_compatible_type(spec) == spec
        True
        """
        if not isinstance(other, TensorArraySpec) or self._fields() != other._fields():
            raise InvalidArgumentError(f"there is no specification that covers both {self} and {other}")
        shape = self._element_shape.most_specific_compatible_shape(other._element_shape)
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, self._infer_shape)

    def most_specific_common_supertype(self, others: Iterable[object]) -> TensorArraySpec | None:
        """Make the most specific specification that covers this one and others.

        Args:
            others: other specifications.

        Returns:
            The specification, or None where there is none.

        >>> import penstock as tf
        >>> spec = tf.TensorArraySpec([3], tf.int32)
        >>> spec.most_specific_common_supertype([spec]) == spec
        True
        """
        found = self
        for other in others:
            if not isinstance(other, TensorArraySpec):
                return None
            try:
                found = found.most_specific_compatible_type(other)
            except ValueError:
                return None
        return found

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorArraySpec)
            and self._fields() == other._fields()
            and self._element_shape == other._element_shape
        )

    def __hash__(self) -> int:
        return hash((self._fields(), self._element_shape))

    def __repr__(self) -> str:
        return (
            f"TensorArraySpec({self._element_shape}, {self._dtype!r}, {self._dynamic_size}, "
            f"{self._infer_shape})"
        )
