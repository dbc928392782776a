"""Functions on ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import named
from penstock._values.ragged import RaggedTensor

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, Nested, TensorLike

__all__ = ["constant", "map_flat_values", "row_splits_to_segment_ids", "segment_ids_to_row_splits"]


def _depth(value: Any) -> int:
    """How deep a nest of lists is, as far as it holds anything."""
    if not isinstance(value, list | tuple):
        return 0
    return 1 + max((_depth(item) for item in value), default=0)


def constant(
    pylist: Nested[complex | str | bytes],
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | int | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = _core.int64,
) -> _core.Tensor | RaggedTensor:
    """Make a ragged tensor of a nest of lists.

    Args:
        pylist: lists of lists of numbers or strings; lists at one depth may differ in length.
        dtype: the element type, by default that of the elements.
        ragged_rank: how many dimensions are ragged, by default all but the first and those of `inner_shape`.
        inner_shape: the shape of the innermost values.
        name: accepted; the parts of the result are constants without names.
        row_splits_dtype: `int32` or `int64`.

    Returns:
        A `tf.RaggedTensor`, or a tensor where `pylist` is a scalar or `ragged_rank` is 0.

    Raises:
        ValueError: where scalars stand at different depths, or the lists are not as deep as asked for.

    >>> import penstock as tf
    >>> tf.ragged.constant([[1, 2], [], [3]]).row_splits.numpy().tolist()
    [0, 2, 2, 3]
    """
    depth = _depth(pylist)
    inner = (
        None
        if inner_shape is None
        else list(inner_shape if isinstance(inner_shape, Sequence) else [inner_shape])
    )
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - len(inner or []))
    if ragged_rank == 0 or not isinstance(pylist, list | tuple):
        return _core._to_tensor(pylist, None if dtype is None else _core.DType(dtype))
    values, lengths = list(pylist), []
    for _ in range(ragged_rank):
        for row in values:
            if not isinstance(row, list | tuple):
                raise ValueError(
                    "argument 'pylist' has scalars at different depths, or at less than "
                    f"ragged_rank={ragged_rank} asks for: {row!r} is no row"
                )
        lengths.append([len(row) for row in values])
        values = [item for row in values for item in row]
    if any(_depth(v) != _depth(values[0]) for v in values):
        raise ValueError("argument 'pylist' has scalars at different depths")
    flat = _core._to_tensor(values, None if dtype is None else _core.DType(dtype))
    if inner is not None:
        flat = raw_ops.reshape(flat, _core._to_tensor([len(values), *inner], _core.int32))
    splits_dtype = _core.DType(row_splits_dtype)
    parts = [_core._to_tensor(row, splits_dtype) for row in lengths]
    made: RaggedTensor = RaggedTensor.from_nested_row_lengths(flat, parts, validate=False)
    return made


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the innermost values of ragged tensors, and keep their rows.

    Args:
        op: takes tensors in place of ragged ones; gives one with as many elements along its first dimension.
        *args: its arguments, ragged tensors among them.
        **kwargs: its arguments by name.

    Returns:
        A ragged tensor with the rows of the first ragged argument; without any, what the function gives.

    Raises:
        InvalidArgumentError: where the rows of two ragged tensors differ.
        ValueError: where their numbers of ragged dimensions differ.

    >>> import penstock as tf
    >>> tf.ragged.map_flat_values(lambda x: x * 10, tf.ragged.constant([[1, 2], [3]])).to_list()
    [[10, 20], [30]]
    """
    from penstock.debugging import Assert  # loaded when it is used

    ragged = [x for x in (*args, *kwargs.values()) if isinstance(x, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    first = ragged[0]
    for other in ragged[1:]:
        if other.ragged_rank != first.ragged_rank:
            raise ValueError(
                "arguments must have one number of ragged dimensions, "
                f"got {first.ragged_rank} and {other.ragged_rank}"
            )
        for a, b in zip(first.nested_row_splits, other.nested_row_splits, strict=True):
            if a is not b:
                same = _equal_vectors(a, b)
                Assert(same, ["ragged arguments must have the same rows, got splits", a, b])

    def flat(x: Any) -> Any:
        return x.flat_values if isinstance(x, RaggedTensor) else x

    values = op(*map(flat, args), **{key: flat(x) for key, x in kwargs.items()})
    return first.with_flat_values(values)


def _equal_vectors(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    """Whether two vectors are equal, of whatever lengths."""
    n, m = raw_ops.size(a), raw_ops.size(b)
    least = raw_ops.minimum(n, m)
    a, b = (raw_ops.cast(x, dtype=_core.int64) for x in (a, b))
    return raw_ops.logical_and(raw_ops.equal(n, m), raw_ops.reduce_all(raw_ops.equal(a[:least], b[:least])))


def row_splits_to_segment_ids(
    splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None
) -> _core.Tensor:
    """Compute the row of each value from the splits between rows.

    Args:
        splits: where each row starts, and last where they end: a vector that ascends from 0.
        name: a name for the result in a graph.
        out_type: `int32` or `int64`; by default the dtype of `splits`.

    Returns:
        A vector of the dtype of `splits`, or of `out_type`.

    Raises:
        InvalidArgumentError: where the splits descend.

    >>> import penstock as tf
    >>> tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).numpy().tolist()
    [0, 0, 0, 2, 2]
    """
    splits = _core._to_tensor_hinted(splits, _core.int64)
    ids = RaggedTensor(splits, splits).value_rowids()
    return named(ids if out_type is None else raw_ops.cast(ids, dtype=_core.DType(out_type)), name)


def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the splits between rows from the row of each value.

    Args:
        segment_ids: the row of each value: a vector that ascends.
        num_segments: how many rows there are; by default one more than the last.
        out_type: `int32` or `int64`; by default the dtype of `segment_ids`.
        name: a name for the result in a graph.

    Returns:
        A vector of `num_segments + 1` elements of the dtype of `segment_ids`, or of `out_type`.

    Raises:
        InvalidArgumentError: where the numbers descend, or reach `num_segments`.

    >>> import penstock as tf
    >>> tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2], num_segments=4).numpy().tolist()
    [0, 3, 3, 5, 5]
    """
    ids = _core._to_tensor_hinted(segment_ids, _core.int64)
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return named(splits if out_type is None else raw_ops.cast(splits, dtype=_core.DType(out_type)), name)
