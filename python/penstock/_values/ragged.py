"""`tf.RaggedTensor`: rows of different lengths, one after the other in a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import filling
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._types.ragged_spec import RaggedTensorSpec
from penstock._types.shape import TensorShape
from penstock._values.ragged_making import RaggedMaking, splits_of, values_of
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, ShapeLike, TensorLike
    from penstock._values.sparse import SparseTensor

__all__ = ["RaggedTensor", "RaggedTensorSpec"]


class RaggedTensor(RaggedMaking):
    """A tensor whose rows differ in length: the rows one after the other (`values`), and where each begins.

    Row `i` is `values[row_splits[i]:row_splits[i + 1]]`. `values` may be ragged in turn; the dimensions of
    the innermost values behind their first are uniform. Ragged tensors are arguments and results of traced
    functions: one trace serves all with as many rows, whatever their lengths.

    Made by the `from_` methods and `tf.ragged.constant`; the constructor takes what is known to fit.

    >>> import penstock as tf
    >>> rows = tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
    >>> rows
    <tf.RaggedTensor [[3, 1], [], [4, 1, 5]]>
    >>> rows.to_tensor().numpy().tolist()
    [[3, 1, 0], [0, 0, 0], [4, 1, 5]]
    """

    __module__ = "penstock"

    __slots__ = ("__weakref__", "_row_splits", "_uniform", "_values")

    _is_kind_of_tensor = True

    def __init__(self, values: Any, row_splits: Any, uniform_row_length: int | None = None) -> None:
        self._values = expect(values, (_core.Tensor, RaggedTensor), "values", "a tensor or ragged")
        self._row_splits: _core.Tensor = expect(row_splits, _core.Tensor, "row_splits", "a tensor")
        if row_splits.shape.rank not in (1, None):
            raise InvalidArgumentError(
                f"argument 'row_splits' must be a vector, got shape {row_splits.shape}"
            )
        if isinstance(values, _core.Tensor) and values.shape.rank == 0:
            raise InvalidArgumentError("argument 'values' must have at least one dimension, got a scalar")
        self._uniform = uniform_row_length

    # --- inspection ---

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape: `None` for ragged dimensions."""
        splits, values = self._row_splits.shape, self._values.shape
        rows = None if splits.rank is None or splits[0] is None else splits[0] - 1
        if values.rank is None:
            return TensorShape(None)
        return TensorShape([rows, self._uniform]).concatenate(values[1:])

    def get_shape(self) -> TensorShape:
        """Tell the shape: `shape`.

        Returns:
            The shape; the sizes of ragged dimensions are None.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).get_shape()
        TensorShape([2, None])
        """
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that are partitioned by splits."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def values(self) -> Any:
        """The rows one after the other: a tensor, or ragged."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The innermost values, a tensor."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> _core.Tensor:
        """Where each row begins, and the number of values."""
        return self._row_splits

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of all ragged dimensions, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def uniform_row_length(self) -> Any:
        """The length of all rows where it is known to be one, else None."""
        return None if self._uniform is None else _core._to_tensor(self._uniform, self._row_splits.dtype)

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def __tf_tracing_type__(self, context: Any) -> RaggedTensorSpec:
        """The specification of the tensor."""
        return self._type_spec

    @scoped
    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> _core.Tensor:
        """Count the rows.

        Args:
            out_type: the dtype of the result, by default that of the splits.
            name: a scope for the names of its operations in a graph.

        Returns:
            A scalar of dtype `out_type`.

        >>> import penstock as tf
        >>> int(tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).nrows())
        2
        """
        count = raw_ops.size(self._row_splits, dtype=self._row_splits.dtype) - 1
        return count if out_type is None else raw_ops.cast(count, dtype=_core.DType(out_type))

    @scoped
    def row_starts(self, name: str | None = None) -> _core.Tensor:
        """Tell where each row begins.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A vector of the dtype of the splits.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).row_starts().numpy()
        array([0, 2])
        """
        return self._row_splits[:-1]

    @scoped
    def row_limits(self, name: str | None = None) -> _core.Tensor:
        """Tell where each row ends.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A vector of the dtype of the splits.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).row_limits().numpy()
        array([2, 3])
        """
        return self._row_splits[1:]

    @scoped
    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Tell the length of each row.

        Args:
            axis: a ragged dimension, from 1.
            name: a scope for the names of its operations in a graph.

        Returns:
            A vector of the dtype of the splits; a ragged tensor of the lengths for an inner dimension.

        Raises:
            ValueError: where `axis` is no ragged dimension.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits([3, 1, 4], [0, 2, 2, 3]).row_lengths().numpy().tolist()
        [2, 0, 1]
        """
        if not 1 <= axis <= self.ragged_rank:
            raise InvalidArgumentError(f"argument 'axis' must be from 1 to {self.ragged_rank}, got {axis}")
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        return self.with_values(self._values.row_lengths(axis - 1))

    @scoped
    def nested_row_lengths(self, name: str | None = None) -> tuple[_core.Tensor, ...]:
        """Tell the lengths of the rows of all ragged dimensions.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A vector for each ragged dimension, outermost first.

        >>> import penstock as tf
        >>> ragged = tf.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[2], [1, 2]])
        >>> [lengths.numpy().tolist() for lengths in ragged.nested_row_lengths()]
        [[2], [1, 2]]
        """
        return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    @scoped
    def value_rowids(self, name: str | None = None) -> _core.Tensor:
        """Tell the row of each value.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A vector of shape `[n]`, of the dtype of the splits.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).value_rowids().numpy()
        array([0, 0, 1])
        """
        from penstock._ops.arrangement import row_numbers  # operations build on this

        return raw_ops.cast(row_numbers(self.row_lengths()), dtype=self._row_splits.dtype)

    @scoped
    def nested_value_rowids(self, name: str | None = None) -> tuple[_core.Tensor, ...]:
        """Tell the row of each value in all ragged dimensions.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A vector for each ragged dimension, outermost first.

        >>> import penstock as tf
        >>> ragged = tf.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[2], [1, 2]])
        >>> [rows.numpy().tolist() for rows in ragged.nested_value_rowids()]
        [[0, 0], [0, 1, 1]]
        """
        inner = self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()
        return (self.value_rowids(), *inner)

    @scoped
    def bounding_shape(
        self, axis: AxisLike = None, name: str | None = None, out_type: DTypeLike | None = None
    ) -> _core.Tensor:
        """Compute the smallest shape that holds the rows: the greatest length in each dimension.

        Args:
            axis: a dimension, or several; all by default.
            name: a scope for the names of its operations in a graph.
            out_type: the dtype of the result, by default that of the splits.

        Returns:
            A vector, or a scalar for one `axis`, of dtype `out_type`.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits([3, 1, 4], [0, 2, 2, 3]).bounding_shape().numpy().tolist()
        [3, 2]
        """
        dtype = self._row_splits.dtype
        zero = _core._to_tensor([0], dtype)
        longest = [raw_ops.reduce_max(raw_ops.concat([zero, x], axis=0)) for x in self.nested_row_lengths()]
        outer = raw_ops.stack([self.nrows(), *longest])
        whole = raw_ops.concat([outer, raw_ops.shape(self.flat_values, dtype=dtype)[1:]], axis=0)
        found = whole if axis is None else raw_ops.gather(whole, _core._to_tensor_hinted(axis, _core.int32))
        return found if out_type is None else raw_ops.cast(found, dtype=_core.DType(out_type))

    # --- other values, other splits ---

    def with_values(self, new_values: TensorLike | RaggedTensor) -> RaggedTensor:
        """Put other values into the same rows.

        Args:
            new_values: a tensor of shape `[n, ...]`, or ragged, with as many rows as the old values have.

        Returns:
            The ragged tensor.

        Raises:
            InvalidArgumentError: for another number of rows, as far as it is known.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]).with_values([4, 5, 6]).to_list()
        [[4, 5], [6]]
        """
        values = values_of(new_values)
        if not values.shape[:1].is_compatible_with(self._values.shape[:1]):
            rows = self._values.shape[0]
            raise InvalidArgumentError(
                f"argument 'new_values' must have {rows} rows, got shape {values.shape}"
            )
        return RaggedTensor(values, self._row_splits, self._uniform)

    def with_flat_values(self, new_values: TensorLike | RaggedTensor) -> RaggedTensor:
        """Put other innermost values into the same rows.

        Args:
            new_values: a tensor of shape `[n, ...]`, or ragged, with as many rows as the old values have.

        Returns:
            The ragged tensor.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3]).with_flat_values([4, 5, 6]).to_list()
        [[4], [5, 6]]
        """
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """Convert the splits to another dtype.

        Args:
            dtype: `int32` or `int64`.

        Returns:
            The ragged tensor, with the same rows.

        >>> import penstock as tf
        >>> ragged = tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1])
        >>> ragged.with_row_splits_dtype(tf.int32).row_splits.dtype
        tf.int32
        """
        target = _core.DType(dtype)
        values = (
            self._values.with_row_splits_dtype(target)
            if isinstance(self._values, RaggedTensor)
            else self._values
        )
        return RaggedTensor(values, raw_ops.cast(self._row_splits, dtype=target), self._uniform)

    def _stretches(self, starts: Any, limits: Any) -> RaggedTensor:
        """The rows of the values from `starts` to `limits`."""
        from penstock._ops.arrangement import repeat  # operations build on this

        lengths = raw_ops.maximum(limits - starts, _core._to_tensor(0, starts.dtype))
        splits = splits_of(lengths)
        places = raw_ops.range(
            _core._to_tensor(0, splits.dtype), splits[-1], _core._to_tensor(1, splits.dtype)
        )
        index = places - repeat(splits[:-1] - starts, lengths)
        if isinstance(self._values, RaggedTensor):
            return RaggedTensor(self._values._rows(index), splits)
        return RaggedTensor(raw_ops.gather(self._values, index), splits)

    def _rows(self, index: Any) -> RaggedTensor:
        """The rows of these numbers."""
        made = self._stretches(
            raw_ops.gather(self.row_starts(), index), raw_ops.gather(self.row_limits(), index)
        )
        return RaggedTensor(made._values, made._row_splits, self._uniform)

    def __getitem__(self, key: Any) -> Any:
        """Rows, and parts of rows: an index or slice of rows, then slices of the dimensions within.

        Raises:
            ValueError: for an index into a ragged dimension.

        >>> import penstock as tf
        >>> rows = tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
        >>> rows[2].numpy().tolist(), rows[1:].to_list(), rows[:, :1].to_list(), rows[:, ::-1].to_list()
        ([4, 1, 5], [[], [4, 1, 5]], [[3], [], [4]], [[1, 3], [], [5, 1, 4]])
        """
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(k is Ellipsis for k in keys):
            place = next(i for i, k in enumerate(keys) if k is Ellipsis)
            given = sum(k is not None for k in keys) - 1
            rank = self.shape.rank
            if rank is None or given > rank:
                raise InvalidArgumentError(f"a ragged tensor of rank {rank} has no part {key!r}")
            keys[place : place + 1] = [slice(None)] * (rank - given)
        return self._part(keys)

    def _part(self, keys: list[Any]) -> Any:
        """What keys of the first dimensions choose."""
        if not keys:
            return self
        first, *rest = keys
        if first is None:
            return RaggedTensor.from_uniform_row_length(
                self._part(rest), _rows_of(self._part(rest)), 1, False
            )
        if not isinstance(first, slice):
            starts, limits = self.row_starts(), self.row_limits()
            row = self._values[starts[first] : limits[first]]
            return row[tuple(rest)] if rest else row
        made = self
        if first != slice(None):
            made = self._stretches(self.row_starts()[first], self.row_limits()[first])
            made = RaggedTensor(made._values, made._row_splits, self._uniform)
        if not rest:
            return made
        second, *rest = rest
        if second is None:
            inner = made._part([slice(None), *rest])
            return RaggedTensor.from_uniform_row_length(inner, 1, inner.nrows(), False)
        if not isinstance(second, slice):
            if made._uniform is None:
                raise InvalidArgumentError(
                    f"a ragged dimension can be sliced, but has no index, got the key {second!r}"
                )
            from penstock._ops.ragged_selection import gather  # operations build on this

            number = raw_ops.cast(_core._to_tensor(second), dtype=_core.int64)
            number = raw_ops.select(number < 0, number + made._uniform, number)
            chosen = gather(made, number, 1, 0)
            return chosen[(slice(None), *rest)] if rest else chosen
        if second.step not in (None, 1):
            from penstock._ops.ragged_selection import step_within  # operations build on this

            made = step_within(made, second)
        elif second != slice(None):
            made = made._within(second.start, second.stop)
        return made.with_values(made._values[(slice(None), *rest)]) if rest else made

    def _within(self, start: Any, stop: Any) -> RaggedTensor:
        """Each row from `start` to `stop`, counted from its end where they are negative."""
        lengths, starts = self.row_lengths(), self.row_starts()

        def place(bound: Any, otherwise: Any) -> Any:
            if bound is None:
                return otherwise
            bound = raw_ops.cast(_core._to_tensor(bound), dtype=lengths.dtype)
            counted = raw_ops.select(bound < 0, lengths + bound, raw_ops.zeros_like(lengths) + bound)
            return raw_ops.minimum(raw_ops.maximum(counted, _core._to_tensor(0, lengths.dtype)), lengths)

        return self._stretches(starts + place(start, 0), starts + place(stop, lengths))

    def __len__(self) -> int:
        return int(self.nrows())

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise TypeError("a RaggedTensor is neither true nor false")

    def __hash__(self) -> int:
        return object.__hash__(self)

    # --- operators ---

    # Tensors leave it to the right operand.
    __penstock_operand__ = True

    # --- conversion ---

    @scoped
    def to_tensor(
        self, default_value: TensorLike | None = None, name: str | None = None, shape: ShapeLike = None
    ) -> _core.Tensor:
        """Make a tensor of the rows, filled up at their ends.

        Args:
            default_value: what to fill with, by default 0, `False` or the empty string; of the shape of the
                elements of the innermost values, or less.
            name: a scope for the names of its operations in a graph.
            shape: the shape of the result, with `None` for dimensions as long as the longest row; longer rows
                are cut.

        Returns:
            A tensor of shape `shape`, of the dtype of the values.

        Raises:
            ValueError: where `shape` has another rank.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 3]).to_tensor(-1).numpy().tolist()
        [[1, 2], [3, -1]]
        """
        values = self._values
        bounds = [None, None] if shape is None else TensorShape(shape).as_list()
        if shape is not None and self.shape.rank is not None and len(bounds) != self.shape.rank:
            raise InvalidArgumentError(f"argument 'shape' must have rank {self.shape.rank}, got {shape}")
        if isinstance(values, RaggedTensor):
            values = values.to_tensor(default_value, shape=None if shape is None else [None, *bounds[2:]])
        dtype = self._row_splits.dtype
        filler = raw_ops.broadcast_to(filling(default_value, self.dtype), raw_ops.shape(values)[1:])
        padded = raw_ops.concat([values, raw_ops.expand_dims(filler, axis=0)], axis=0)
        lengths, starts = self.row_lengths(), self.row_starts()
        zero, one = _core._to_tensor(0, dtype), _core._to_tensor(1, dtype)
        if bounds[0] is not None:
            missing = raw_ops.maximum(_core._to_tensor(bounds[0], dtype) - self.nrows(), zero)
            more = raw_ops.fill(raw_ops.reshape(missing, [1]), zero)
            lengths, starts = (raw_ops.concat([x, more], axis=0)[: bounds[0]] for x in (lengths, starts))
        if bounds[1] is not None:
            width = _core._to_tensor(bounds[1], dtype)
        elif self._uniform is not None:
            width = _core._to_tensor(self._uniform, dtype)
        else:
            width = raw_ops.reduce_max(raw_ops.concat([_core._to_tensor([0], dtype), lengths], axis=0))
        column = raw_ops.expand_dims(raw_ops.range(zero, width, one), axis=0)
        places = raw_ops.expand_dims(starts, axis=1) + column
        # Behind the values stands what to fill with.
        behind = raw_ops.shape(values, dtype=dtype)[0]
        index = raw_ops.select(column < raw_ops.expand_dims(lengths, axis=1), places, behind)
        return raw_ops.gather(padded, index)

    @scoped
    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Make a sparse tensor of the values, each in its row.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            The sparse tensor, as wide as the longest row, its places in order.

        >>> import penstock as tf
        >>> tf.ragged.constant([[1, 2], [], [3]]).to_sparse().indices.numpy().tolist()
        [[0, 0], [0, 1], [2, 0]]
        """
        from penstock._ops.ragged_layout import to_sparse  # operations build on this

        return to_sparse(self)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Join neighbouring dimensions to one.

        Args:
            outer_axis: the first of them.
            inner_axis: the last of them.

        Returns:
            The ragged tensor; a tensor where no dimension is ragged any more.

        Raises:
            ValueError: where the axes are out of range, or the wrong way round.

        >>> import penstock as tf
        >>> tf.ragged.constant([[[1], [2, 3]], [[4]]]).merge_dims(1, 2).to_list()
        [[1, 2, 3], [4]]
        """
        from penstock._ops.ragged_layout import merge_dims  # operations build on this

        return merge_dims(self, outer_axis, inner_axis)

    def consumers(self) -> list[Any]:
        """List the operations that use the values, which are not known.

        Returns:
            An empty list.

        >>> import penstock as tf
        >>> tf.ragged.constant([[1]]).consumers()
        []
        """
        return []

    def to_list(self) -> list[Any]:
        """Make nested lists of the rows, where the values are known.

        Returns:
            A list with an entry for each row.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 3]).to_list()
        [[1, 2], [3]]
        """
        self._check_known()
        values = (
            self._values.to_list()
            if isinstance(self._values, RaggedTensor)
            else self._values.numpy().tolist()
        )
        splits = self._row_splits.numpy().tolist()
        return [values[a:b] for a, b in pairwise(splits)]

    def _check_known(self) -> None:
        if any(part._is_symbolic for part in self._parts()):
            raise InvalidArgumentError(
                "the rows of a symbolic RaggedTensor have values only while the graph runs"
            )
        if isinstance(self._values, _core.Tensor) and self._values.shape.rank == 0:
            # A graph that knew no rank made it.
            raise InvalidArgumentError("the values of a RaggedTensor are a scalar, which has no rows")

    def numpy(self) -> Any:
        """Make an array of the rows, where the values are known.

        Returns:
            An array, of arrays where rows differ in length.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 3]).numpy().tolist()
        [array([1, 2], dtype=int32), array([3], dtype=int32)]
        """
        import numpy as np  # start-up does without it

        self._check_known()
        values, splits = self._values.numpy(), self._row_splits.numpy().tolist()
        rows = [values[a:b] for a, b in pairwise(splits)]
        if rows and all(row.shape == rows[0].shape and row.dtype == rows[0].dtype for row in rows):
            return np.stack(rows)
        out = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            out[i] = row
        return out

    # --- as a composite of a nest ---

    @property
    def _differentiable(self) -> Any:
        return self.flat_values

    def _with_gradient(self, gradient: Any) -> RaggedTensor:
        return self.with_flat_values(gradient)

    def _graph_steps(self) -> _RowSteps:
        return _RowSteps(self)

    def _row_count(self) -> Any:
        return self.nrows()

    def _parts(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def _check_like(self, other: RaggedTensor) -> None:
        if self._type_spec.most_specific_common_supertype([other._type_spec]) is None:
            raise TypeError(f"one is of {self._type_spec}, the other of {other._type_spec}")

    def _joined(self, other: RaggedTensor) -> Any:
        spec = self._type_spec.most_specific_common_supertype([other._type_spec])
        return self if spec is None else spec.from_tensors(iter(self._parts()))

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_ragged  # start-up does without it

        return of_ragged(self)

    def __repr__(self) -> str:
        # Parts may be specifications, too: in the structured outputs of a trace.
        if all(isinstance(part, _core.Tensor) and not part._is_symbolic for part in self._parts()):
            import numpy as np  # start-up does without it

            with np.printoptions(formatter={"all": _shown}):
                return f"<tf.RaggedTensor {_shown(self.numpy())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"


def _shown(part: Any) -> str:
    """The text of an array, whose elements may be arrays, with commas between elements."""
    import numpy as np  # start-up does without it

    if not isinstance(part, np.ndarray):
        return str(part)
    # NumPy would show an array of shape [0, 3] as one of shape [0].
    return np.array2string(part, separator=", ") if part.size else repr(part.tolist())


class _RowSteps:
    """The rows of a ragged tensor, as AutoGraph's loops take them."""

    def __init__(self, rows: RaggedTensor) -> None:
        self._rows = rows

    def count(self) -> Any:
        return self._rows.nrows(_core.int32)

    def start(self) -> list[Any]:
        return []

    def item(self, i: Any, state: Sequence[Any] = ()) -> Any:
        return self._rows[i]

    def following(self, i: Any, state: Sequence[Any], wanted: Any) -> list[Any]:
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


def _rows_of(x: Any) -> Any:
    return x.nrows() if isinstance(x, RaggedTensor) else raw_ops.shape(x, dtype=_core.int64)[0]


def stacked(values: Sequence[Any], levels: int, splits_dtype: Any) -> RaggedTensor:
    """Tensors, or ragged tensors, stacked as a ragged tensor with so many ragged dimensions."""
    import numpy as np  # start-up does without it

    flat: list[Any] = []
    lengths: list[list[Any]] = [[] for _ in range(levels)]
    for value in values:
        if isinstance(value, RaggedTensor):
            flat.append(value.flat_values)
            own = [t.numpy() for t in value.nested_row_lengths()]
            here = [np.array([len(own[0])]), *own]
        else:
            dims = value.shape._dims
            flat.append(raw_ops.reshape(value, [math.prod(dims[:levels]), *dims[levels:]]))
            here = [np.full(math.prod(dims[:k]), dims[k]) for k in range(levels)]
        for level, more in zip(lengths, here, strict=True):
            level.append(more)
    nested = [_core._to_tensor(np.concatenate(level).astype(np.int64), _core.int64) for level in lengths]
    made: RaggedTensor = RaggedTensor.from_nested_row_lengths(
        raw_ops.concat(flat, axis=0), nested, validate=False
    )
    return made if splits_dtype == _core.int64 else made.with_row_splits_dtype(splits_dtype)


def spec_value(spec: RaggedTensorSpec, tensors: Iterator[Any]) -> Any:
    """The ragged tensor of a specification that has these tensors: the flat values, then the splits."""
    made = next(tensors)
    splits = [next(tensors) for _ in range(spec.ragged_rank)]
    dims = spec.shape._dims
    for k in range(spec.ragged_rank, 0, -1):
        # Of what stands in the tensors' places, whatever it is.
        outer = RaggedTensor.__new__(RaggedTensor)
        outer._values, outer._row_splits = made, splits[k - 1]
        outer._uniform = None if dims is None else dims[k]
        made = outer
    return made


def _operator(module: str, name: str, operands: str = "xy") -> Any:
    """An operator of the class: a public function, which ragged tensors take over."""

    def applied(self: RaggedTensor, *others: Any) -> Any:
        import importlib  # start-up does without it

        given = (*others, self) if operands == "yx" else (self, *others)
        return getattr(importlib.import_module(f"penstock.{module}"), name)(*given)

    return applied


for _symbol, _module, _name in (
    ("add", "math", "add"),
    ("sub", "math", "subtract"),
    ("mul", "math", "multiply"),
    ("truediv", "math", "truediv"),
    ("floordiv", "math", "floordiv"),
    ("mod", "math", "floormod"),
    ("pow", "math", "pow"),
    ("and", "math", "logical_and"),
    ("or", "math", "logical_or"),
    ("xor", "math", "logical_xor"),
):
    setattr(RaggedTensor, f"__{_symbol}__", _operator(_module, _name))
    setattr(RaggedTensor, f"__r{_symbol}__", _operator(_module, _name, "yx"))
for _symbol, _module, _name in (
    ("eq", "math", "equal"),
    ("ne", "math", "not_equal"),
    ("lt", "math", "less"),
    ("le", "math", "less_equal"),
    ("gt", "math", "greater"),
    ("ge", "math", "greater_equal"),
    ("neg", "math", "negative"),
    ("abs", "math", "abs"),
    ("invert", "math", "logical_not"),
):
    setattr(RaggedTensor, f"__{_symbol}__", _operator(_module, _name))
