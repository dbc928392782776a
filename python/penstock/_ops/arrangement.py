"""Joining, cutting, repeating and rearranging tensors."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.creation import _as, _zero
from penstock._runtime.arguments import (
    axes,
    axis_number,
    axis_of,
    extents,
    integer,
    items,
    known_rank,
    named,
    results,
    sizes,
)
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import get_static_value, scoped
from penstock._types.argument_names import expect
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, IntLike, SizesLike, TensorLike

_ASSERT = getattr(raw_ops, "assert")

# --- joining and parting ---


@dispatched
def concat(values: TensorLike, axis: IntLike, name: str = "concat") -> _core.Tensor:
    """Join tensors that are alike but for one dimension along it.

    Args:
        values: tensors of one dtype and rank, with equal sizes but along `axis`.
        axis: the dimension to join along.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same dtype and rank; the sizes along `axis` add up.

    Raises:
        ValueError: for no tensor.
        InvalidArgumentError: for scalars, or shapes that differ in another dimension.

    >>> import penstock as tf
    >>> tf.concat([[[1, 2]], [[3, 4]]], axis=0).shape
    TensorShape([2, 2])
    """
    if not isinstance(values, list | builtins.tuple):
        return raw_ops.identity(values, name=name)
    if not values:
        raise InvalidArgumentError("concat: argument 'values' must hold at least one tensor")
    return raw_ops.concat(list(values), axis=axis_number(axis), name=name)


@dispatched
def stack(values: Iterable[TensorLike], axis: IntLike = 0, name: str = "stack") -> _core.Tensor:
    """Join tensors of one shape along a new dimension.

    Args:
        values: tensors of one dtype and shape.
        axis: where the new dimension stands in the result.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same dtype, with one dimension more, of the number of tensors; for no tensor a vector
        of `float32` without elements.

    Raises:
        ValueError: for no tensor along another dimension than the first.
        InvalidArgumentError: where the shapes differ.

    >>> import penstock as tf
    >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    place = axis_number(axis)
    if place == 0 and isinstance(values, _core.Tensor):
        # Also one whose extent is not known.
        return values
    parts = items(values, "values")
    if not parts:
        if place == 0:
            return _core._to_tensor(values if hasattr(values, "shape") else [])
        raise InvalidArgumentError(f"stack: argument 'values' must hold at least one tensor for axis {place}")
    return raw_ops.stack(parts, axis=place, name=name)


@dispatched
def unstack(
    value: TensorLike, num: int | None = None, axis: IntLike = 0, name: str = "unstack"
) -> list[_core.Tensor]:
    """Take the slices of a tensor along a dimension. The slices do not have that dimension.

    Args:
        value: a tensor.
        num: the size of that dimension, needed where it is not known.
        axis: the dimension.
        name: a name for the results in a graph.

    Returns:
        A list of as many tensors as the dimension has elements.

    Raises:
        InvalidArgumentError: where the size is not known, or not `num`.

    >>> import penstock as tf
    >>> [row.numpy().tolist() for row in tf.unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    return results(raw_ops.unstack(value, num=num, axis=axis_number(axis), name=name))


@dispatched
def split(
    value: TensorLike,
    num_or_size_splits: SizesLike,
    axis: IntLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[_core.Tensor]:
    """Cut a tensor into parts along a dimension.

    Args:
        value: a tensor.
        num_or_size_splits: the number of equal parts, or the size of each; one size may be -1.
        axis: the dimension.
        num: how many sizes there are, needed where that is not known.
        name: a name for the results in a graph.

    Returns:
        A list of tensors that are alike but for the sizes along `axis`.

    Raises:
        ValueError: where the number of sizes is not known.
        InvalidArgumentError: where the parts do not make up the dimension.

    >>> import penstock as tf
    >>> [part.shape[0] for part in tf.split([1, 2, 3, 4, 5], [2, 3])]
    [2, 3]
    """
    along = axis_number(axis)
    parts = num_or_size_splits
    if isinstance(parts, list | builtins.tuple) and any(isinstance(p, _core.Tensor) for p in parts):
        parts = _core._to_tensor_hinted(parts, _core.int32)
    if isinstance(parts, _core.Tensor):
        known = _core._known_value(parts)
        if known is None:
            return _split_by_tensor(_core._to_tensor(value), parts, along, num, name)
        parts = known
    if hasattr(parts, "tolist"):
        parts = parts.tolist()
    if isinstance(parts, list | builtins.tuple):
        return results(
            raw_ops.split(
                value, sizes=[integer(p, "num_or_size_splits") for p in parts], axis=along, name=name
            )
        )
    return results(raw_ops.split(value, num=integer(parts, "num_or_size_splits"), axis=along, name=name))


def _split_by_tensor(
    value: _core.Tensor, parts: _core.Tensor, axis: int, num: int | None, name: str
) -> list[_core.Tensor]:
    """A split whose sizes are known only when the graph runs."""
    count = parts.shape[0] if parts.shape.rank == 1 else None
    if num is None and count is None:
        raise InvalidArgumentError(
            "split: argument 'num' must be given where the number of sizes is not known"
        )
    sizes_of = results(raw_ops.unstack(parts, num=num if count is None else count))
    ndim = len(known_rank(value))
    axis = axis_of(axis, ndim)
    out, position = [], _core._to_tensor(0, parts.dtype)
    before, after = [0] * axis, [0] * (ndim - axis - 1)
    for part in sizes_of:
        begin = _core._to_tensor([*before, position, *after])
        length = _core._to_tensor([-1] * axis + [part] + [-1] * len(after))
        out.append(raw_ops.slice(value, begin, length, name=name))
        position = position + part
    return out


@dispatched
def tile(input: TensorLike, multiples: SizesLike, name: str | None = None) -> _core.Tensor:
    """Repeat a tensor as a whole `multiples[i]` times along dimension `i`.

    Args:
        input: a tensor.
        multiples: how often to repeat along each dimension: an integer vector.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same dtype and rank, with each size multiplied.

    Raises:
        InvalidArgumentError: for another number of multiples than dimensions, or a negative one.

    >>> import penstock as tf
    >>> tf.tile([1, 2], [2]).numpy()
    array([1, 2, 1, 2], dtype=int32)
    """
    return raw_ops.tile(input, extents(multiples, "multiples"), name=name)


@dispatched
def repeat(
    input: TensorLike, repeats: SizesLike, axis: IntLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Repeat each element where it stands.

    Args:
        input: a tensor.
        repeats: how often: a scalar, or a vector with a number for each element along `axis`.
        axis: the dimension; without it the tensor is flattened first.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input`; a vector where there is no `axis`, else of its rank.

    Raises:
        ValueError: where `repeats` has another number of entries than there are elements.
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.repeat([3, 4], [1, 2]).numpy().tolist()
    [3, 4, 4]
    """
    x = _core._to_tensor(input)
    shape: Sequence[int | None] | None = x.shape._dims
    if axis is None:
        if shape is None or len(shape) != 1:
            x = raw_ops.reshape(x, [-1])
            shape = known_rank(x)
        axis = 0
    elif shape is None:
        shape = known_rank(x)
    along = axis_of(axis, len(shape))
    times = _known_ints(repeats)
    known = [d for d in shape if d is not None]
    if times is not None and len(times) == 1 and times[0] >= 0 and len(known) == len(shape):
        before, after = known[: along + 1], known[along + 1 :]
        wide = raw_ops.broadcast_to(raw_ops.expand_dims(x, axis=along + 1), [*before, times[0], *after])
        before[-1] *= times[0]
        return raw_ops.reshape(wide, [*before, *after], name=name)
    counts = _core._to_tensor_hinted(repeats, _core.int32)
    length = sizes(x)[along]
    if counts.shape.rank == 0 or counts.shape._dims == (1,):
        one = raw_ops.cast(raw_ops.reshape(counts, []), dtype=_core.int64)
        every = raw_ops.cast(_core._to_tensor(length), dtype=_core.int64)
        index = raw_ops.floordiv(raw_ops.range(0, one * every, 1), raw_ops.maximum(one, 1))
        return _of_extent(raw_ops.gather(x, index, axis=along, name=name), along, shape[along], times)
    if isinstance(length, int) and isinstance(counts.shape[0], int) and counts.shape[0] != length:
        raise InvalidArgumentError(
            f"repeat: argument 'repeats' has {counts.shape[0]} entries for {length} elements of axis {along}"
        )
    index = row_numbers(counts)
    return _of_extent(raw_ops.gather(x, index, axis=along, name=name), along, shape[along], times)


def row_numbers(lengths: _core.Tensor) -> _core.Tensor:
    """The row of each value, for rows of some lengths: an `int64` vector; a length below 0 counts as 0."""
    lengths = raw_ops.maximum(raw_ops.cast(lengths, dtype=_core.int64), 0)
    ends = raw_ops.cumsum(lengths)
    # The row goes up by one where another row ends, behind the last value too.
    size = raw_ops.reduce_sum(lengths, axes=[0], keepdims=True)
    ups = raw_ops.scatter_nd(raw_ops.expand_dims(ends, axis=1), raw_ops.ones_like(ends), size + 1)
    return raw_ops.cumsum(ups)[:-1]


def _of_extent(
    repeated: _core.Tensor, axis: int, extent: int | None, times: list[int] | None
) -> _core.Tensor:
    """The result of `repeat`, with its extent along the axis where that is known."""
    if times is None or (len(times) == 1 and extent is None):
        return repeated
    counts = [max(n, 0) for n in times]
    known: list[int | None] = [None] * len(repeated.shape)
    known[axis] = counts[0] * (extent or 0) if len(counts) == 1 else sum(counts)
    repeated.set_shape(known)
    return repeated


# --- rearranging ---


def transpose(
    a: TensorLike, perm: AxisLike = None, conjugate: bool = False, name: str = "transpose"
) -> _core.Tensor:
    """Permute the dimensions of a tensor.

    Args:
        a: a tensor.
        perm: which dimension comes at each place; by default they are reversed.
        conjugate: whether to take the complex conjugate too.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `a`, whose dimension `i` is dimension `perm[i]` of `a`.

    Raises:
        InvalidArgumentError: where `perm` is no permutation of the dimensions.

    >>> import penstock as tf
    >>> tf.transpose([[1, 2, 3]]).shape
    TensorShape([3, 1])
    """
    order = axes(perm, "perm")
    if conjugate and (x := _core._to_tensor(a)).dtype.is_complex:
        return raw_ops.conj(raw_ops.transpose(x, perm=order), name=name)
    return raw_ops.transpose(a, perm=order, name=name)


@dispatched
def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> _core.Tensor:
    """Reverse the order of elements along dimensions.

    Args:
        tensor: a tensor.
        axis: the dimensions to reverse.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `tensor`.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reverse([[1, 2], [3, 4]], [1]).numpy().tolist()
    [[2, 1], [4, 3]]
    """
    return raw_ops.reverse(tensor, axes=axes(axis) or [], name=name)


def _known_ints(value: Any) -> list[int] | None:
    """The integers that a Python number, a sequence or an array of NumPy is, or None for anything else."""
    if hasattr(value, "tolist") and not isinstance(value, _core.Tensor):
        value = value.tolist()
    listed = [*value] if isinstance(value, Sequence) else [value]
    return listed if all(type(v) is int for v in listed) else None


@scoped
def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> _core.Tensor:
    """Move elements along dimensions; those that leave at one end come in at the other.

    Args:
        input: a tensor.
        shift: by how much: a scalar, or a vector with a number for each of `axis`.
        axis: the dimensions, which may repeat.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        ValueError: where `shift` has another number of entries than `axis`.
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.roll([0, 1, 2, 3], 1, 0).numpy().tolist()
    [3, 0, 1, 2]
    """
    x = _core._to_tensor(input)
    shifts = raw_ops.reshape(_core._to_tensor(shift), [-1])
    if x.shape.rank is None or (isinstance(axis, _core.Tensor) and _core._known_value(axis) is None):
        return _roll_flat(x, shifts, raw_ops.reshape(_core._to_tensor_hinted(axis, _core.int32), [-1]))
    along = axes(axis) or []
    moves = results(raw_ops.unstack(shifts))
    if len(moves) != len(along):
        raise InvalidArgumentError(f"roll: argument 'shift' has {len(moves)} entries for {len(along)} axes")
    known = _known_ints(shift)
    for i, (move, place) in enumerate(zip(moves, along, strict=True)):
        place = axis_of(place, len(known_rank(x)))
        lengths = sizes(x)
        one_run = all(isinstance(n, int) for n in lengths[: place + 1]) and set(lengths[:place]) <= {1}
        if known is not None and one_run:
            # The elements lie in two runs, which change places.
            last = known[i] % max(lengths[place], 1)
            if last:
                front, back = results(raw_ops.split(x, sizes=[lengths[place] - last, last], axis=place))
                x = raw_ops.concat([back, front], axis=place)
            continue
        length = _as(lengths[place], move.dtype)
        one, zero = _core._to_tensor(1, move.dtype), _core._to_tensor(0, move.dtype)
        index = raw_ops.floormod(raw_ops.range(zero, length, one) - move, raw_ops.maximum(length, one))
        x = raw_ops.gather(x, index, axis=place)
    return x


def _roll_flat(x: _core.Tensor, shifts: _core.Tensor, along: _core.Tensor) -> _core.Tensor:
    """`roll` where the rank or the dimensions are known only when the graph runs.

    A place in row-major order is the sum of an index times a stride for each dimension, so each dimension
    moves it by itself.
    """
    from penstock._control.flow import while_loop  # loops of the graph build on this

    dims = raw_ops.cast(raw_ops.shape(x), dtype=_core.int64)
    rank = raw_ops.size(dims)
    in_range = raw_ops.logical_and(along >= -rank, along < rank)
    _ASSERT(raw_ops.reduce_all(in_range), along, message="roll: argument 'axis' is out of range:")
    _ASSERT(
        raw_ops.equal(raw_ops.size(shifts), raw_ops.size(along)),
        message="roll: argument 'shift' has another number of entries than 'axis'",
    )
    strides = raw_ops.cumprod(dims, axis=0, exclusive=True, reverse=True)
    moves = raw_ops.cast(shifts, dtype=_core.int64)
    along = raw_ops.cast(raw_ops.floormod(along, raw_ops.cast(rank, dtype=along.dtype)), dtype=_core.int64)
    place = raw_ops.range(
        _core._to_tensor(0, _core.int64), raw_ops.reduce_prod(dims), _core._to_tensor(1, _core.int64)
    )

    def moved(i: Any, place: Any) -> Any:
        length, stride = dims[along[i]], strides[along[i]]
        index = place // stride % length
        return i + 1, place + (raw_ops.floormod(index - moves[i], length) - index) * stride

    _, place = while_loop(
        lambda i, _: i < raw_ops.size(moves), moved, (_core._to_tensor(0, _core.int32), place)
    )
    return raw_ops.reshape(raw_ops.gather(raw_ops.reshape(x, [-1]), place), raw_ops.shape(x))


def _sizes_around(x: _core.Tensor, paddings: Sequence[Any]) -> list[int | None]:
    """The sizes of a padded tensor in the dimensions where what is put around is known while tracing."""
    found: list[int | None] = []
    for size, pair in zip(known_rank(x), paddings, strict=True):
        widths = [get_static_value(n) if isinstance(n, _core.Tensor) else n for n in pair]
        found.append(None if size is None or None in widths else size + sum(map(int, widths)))
    return found


@dispatched
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> _core.Tensor:
    """Add elements before and after a tensor along each dimension.

    Args:
        tensor: a tensor of rank n.
        paddings: n pairs: how many elements to add before and after.
        mode: `"CONSTANT"`; `"REFLECT"`, which mirrors at the last element; or `"SYMMETRIC"`, which mirrors
            behind it. Case does not matter.
        constant_values: the scalar to pad with.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `tensor`, with the sizes of both paddings added to each of its own.

    Raises:
        ValueError: for another mode.
        InvalidArgumentError: for a negative padding, or one that is wider than what can be mirrored.

    >>> import penstock as tf
    >>> tf.pad([1, 2, 3], [[2, 1]], "REFLECT").numpy().tolist()
    [3, 2, 1, 2, 3, 2]
    """
    kind = expect(mode, str, "mode", "a string").upper()
    if kind not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise InvalidArgumentError(
            f"argument 'mode' must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC', got {mode!r}"
        )
    x = _core._to_tensor(tensor)
    amounts = extents(paddings, "paddings")
    if kind == "CONSTANT":
        value = (
            _zero(x.dtype) if isinstance(constant_values, int) and constant_values == 0 else constant_values
        )
        padded = raw_ops.pad(x, amounts, value, name=name)
        is_partial = padded._dims is None or None in padded._dims
        if is_partial and x._dims is not None and isinstance(paddings, list | tuple):
            padded.set_shape(_sizes_around(x, paddings))
        return padded
    ndim = len(known_rank(x))
    if amounts.shape._dims is not None and amounts.shape._dims[0] not in (None, ndim):
        raise InvalidArgumentError(
            f"pad: argument 'paddings' must have shape [{ndim}, 2], got {amounts.shape}"
        )
    known = _core._known_value(amounts)
    amounts = raw_ops.cast(amounts, dtype=_core.int32)
    widths = amounts if known is None else known.numpy().tolist()
    for axis, length in enumerate(sizes(x)):
        before, after = widths[axis][0], widths[axis][1]
        at_most = length - 1 if kind == "REFLECT" else length
        fits = raw_ops.logical_and(
            raw_ops.less_equal(raw_ops.maximum(before, after), at_most),
            raw_ops.greater_equal(raw_ops.minimum(before, after), 0),
        )
        _ASSERT(
            fits,
            amounts[axis],
            message=f"pad: argument 'paddings' is out of range for mode {kind} along axis {axis}:",
        )
        index = raw_ops.range(-before, after + length, 1)
        if kind == "REFLECT":
            index = (length - 1) - raw_ops.abs((length - 1) - raw_ops.abs(index))
        else:
            index = raw_ops.select(index < 0, -1 - index, index)
            index = raw_ops.select(index >= length, 2 * length - 1 - index, index)
        x = raw_ops.gather(x, index, axis=axis)
    return named(x, name)
