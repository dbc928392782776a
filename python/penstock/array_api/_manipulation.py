"""Shapes: broadcasting, joining and rearranging arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import penstock._ops.arrangement as _array
import penstock._ops.shapes as _shapes
from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock._runtime.arguments import axis_of, extents, known_rank, results, sizes
from penstock.array_api._arrays import Array, array, cast, common_dtype, new

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

Axes = int | tuple[int, ...]


def places(axis: Any, rank: int, argument: str = "axis") -> list[int]:
    """Axes, counted from the front, each once.

    Raises:
        ValueError: for one out of range, or one that is there twice.
    """
    found = [axis_of(a, rank, argument) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(set(found)) != len(found):
        raise ValueError(f"argument '{argument}' names an axis twice: {axis}")
    return found


def broadcast_shapes(*shapes: Iterable[int | None]) -> tuple[int | None, ...]:
    """Find the shape that shapes broadcast to.

    Args:
        *shapes: the shapes.

    Returns:
        The sizes; None for those that are not known.

    Raises:
        ValueError: where they do not broadcast.

    >>> from penstock import array_api as xp
    >>> xp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    result = _shapes.broadcast_static_shape((), ())
    for shape in shapes:
        result = _shapes.broadcast_static_shape(result, shape)
    return tuple(result)


def broadcast_arrays(*arrays: Array) -> tuple[Tensor, ...]:
    """Broadcast arrays to one shape.

    Args:
        *arrays: the arrays.

    Returns:
        The arrays, each in the shape that all of them broadcast to.

    Raises:
        ValueError: where they do not broadcast.

    >>> from penstock import array_api as xp
    >>> [a.shape for a in xp.broadcast_arrays(xp.zeros((2, 1)), xp.zeros((3,)))]
    [(2, 3), (2, 3)]
    """
    given = [array(a, "broadcast_arrays", argument="arrays") for a in arrays]
    if all(a.shape.is_fully_defined() for a in given):
        target = extents(list(broadcast_shapes(*(a.shape for a in given))))
    else:
        target = raw_ops.shape(given[0])
        for a in given[1:]:
            target = _shapes.broadcast_dynamic_shape(target, raw_ops.shape(a))
    return tuple(new(raw_ops.broadcast_to(a, target)) for a in given)


def common_extents(a: Tensor, b: Tensor, inner: int) -> Tensor:
    """The extents, but for the last `inner`, that two tensors broadcast to."""
    if a.shape.is_fully_defined() and b.shape.is_fully_defined():
        lead = broadcast_shapes(a.shape[:-inner], b.shape[:-inner])
        return _core._to_tensor(list(lead), _core.int32)
    return _shapes.broadcast_dynamic_shape(raw_ops.shape(a)[:-inner], raw_ops.shape(b)[:-inner])


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Tensor:
    """Repeat an array along dimensions of size 1 and along new leading ones.

    Args:
        x: an array.
        shape: the sizes.

    Returns:
        An array of this shape.

    Raises:
        ValueError: where it does not broadcast to `shape`.

    >>> from penstock import array_api as xp
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return new(raw_ops.broadcast_to(array(x, "broadcast_to"), extents(shape)))


def _of_one_dtype(arrays: Any, function: str) -> list[Tensor]:
    given = [array(a, function, argument="arrays") for a in arrays]
    if not given:
        raise ValueError(f"{function}: argument 'arrays' must hold at least one array")
    dtype = common_dtype(a.dtype for a in given)
    return [cast(a, dtype) for a in given]


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Tensor:
    """Join arrays that are alike but for one dimension along it.

    Args:
        arrays: the arrays.
        axis: the dimension; None joins the arrays as vectors.

    Returns:
        An array of the dtype that all promote to.

    Raises:
        ValueError: for shapes that differ in another dimension, an axis out of range, or no array.

    >>> from penstock import array_api as xp
    >>> xp.concat((xp.asarray([1]), xp.asarray([2, 3]))).tolist()
    [1, 2, 3]
    """
    given = _of_one_dtype(arrays, "concat")
    if axis is None:
        given, axis = [raw_ops.reshape(a, [-1]) for a in given], 0
    return new(raw_ops.concat(given, axis=axis_of(axis, len(known_rank(given[0])))))


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Tensor:
    """Join arrays of one shape along a new dimension.

    Args:
        arrays: the arrays.
        axis: the place of the dimension in the result.

    Returns:
        An array of one more dimension, of the dtype that all promote to.

    Raises:
        ValueError: where the shapes differ, or for no array.

    >>> from penstock import array_api as xp
    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    given = _of_one_dtype(arrays, "stack")
    return new(raw_ops.stack(given, axis=axis_of(axis, len(known_rank(given[0])) + 1)))


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Take an array apart along a dimension.

    Args:
        x: an array.
        axis: the dimension.

    Returns:
        The slices, which lack the dimension.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> [part.tolist() for part in xp.unstack(xp.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    x = array(x, "unstack")
    return tuple(map(new, results(raw_ops.unstack(x, axis=axis_of(axis, len(known_rank(x)))))))


def expand_dims(x: Array, /, axis: Axes) -> Tensor:
    """Insert dimensions of size 1.

    Args:
        x: an array.
        axis: their places in the result.

    Returns:
        An array of the same elements.

    Raises:
        IndexError: for an axis out of range.
        ValueError: for one that is there twice.

    >>> from penstock import array_api as xp
    >>> xp.expand_dims(xp.asarray([1, 2]), axis=1).tolist()
    [[1], [2]]
    """
    x = array(x, "expand_dims")
    wanted = axis if isinstance(axis, tuple) else (axis,)
    rank = len(known_rank(x)) + len(wanted)
    for a in wanted:
        if not -rank <= a < rank:
            raise IndexError(f"expand_dims: argument 'axis' is out of range: {a} for {rank} dimension(s)")
    for place in sorted(places(wanted, rank)):
        x = raw_ops.expand_dims(x, axis=place)
    return new(x)


def squeeze(x: Array, /, axis: Axes) -> Tensor:
    """Remove dimensions of size 1.

    Args:
        x: an array.
        axis: the dimensions.

    Returns:
        An array of the same elements.

    Raises:
        ValueError: where one of them is not of size 1, is out of range, or is there twice.

    >>> from penstock import array_api as xp
    >>> xp.squeeze(xp.zeros((1, 2)), axis=0).shape
    (2,)
    """
    x = array(x, "squeeze")
    chosen = places(axis, len(known_rank(x)))
    return new(raw_ops.squeeze(x, axes=chosen) if chosen else x)


def flip(x: Array, /, *, axis: Axes | None = None) -> Tensor:
    """Turn the order of the elements round along dimensions.

    Args:
        x: an array.
        axis: the dimensions; all by default.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.flip(xp.asarray([1, 2, 3])).tolist()
    [3, 2, 1]
    """
    x = array(x, "flip")
    rank = len(known_rank(x))
    return new(raw_ops.reverse(x, axes=list(range(rank)) if axis is None else places(axis, rank)))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Tensor:
    """Permute the dimensions: `axes[i]` comes to place `i`.

    Args:
        x: an array.
        axes: every dimension once.

    Returns:
        An array of the same elements.

    Raises:
        ValueError: where `axes` does not name every dimension once.

    >>> from penstock import array_api as xp
    >>> xp.permute_dims(xp.zeros((1, 2, 3)), (2, 0, 1)).shape
    (3, 1, 2)
    """
    x = array(x, "permute_dims")
    rank = len(known_rank(x))
    order = places(tuple(axes), rank, "axes")
    if len(order) != rank:
        raise ValueError(f"permute_dims: argument 'axes' must name all {rank} dimensions, got {axes}")
    return new(raw_ops.transpose(x, perm=order))


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Tensor:
    """Move dimensions to other places; the others keep their order.

    Args:
        x: an array.
        source: the dimensions.
        destination: their places in the result.

    Returns:
        An array of the same elements.

    Raises:
        ValueError: where there are not as many places as dimensions, or one is out of range.

    >>> from penstock import array_api as xp
    >>> xp.moveaxis(xp.zeros((1, 2, 3)), 0, -1).shape
    (2, 3, 1)
    """
    x = array(x, "moveaxis")
    rank = len(known_rank(x))
    origin, target = places(source, rank, "source"), places(destination, rank, "destination")
    if len(origin) != len(target):
        raise ValueError(
            f"moveaxis: arguments 'source' and 'destination' differ in length: {source}, {destination}"
        )
    order = [a for a in range(rank) if a not in origin]
    for place, a in sorted(zip(target, origin, strict=True)):
        order.insert(place, a)
    return new(raw_ops.transpose(x, perm=order))


def reshape(x: Array, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """Give the same elements, in row-major order, another shape.

    Args:
        x: an array.
        shape: the sizes; one may be -1, which stands for what is left.
        copy: accepted and ignored: the result shares the memory, which nobody can write.

    Returns:
        An array of this shape.

    Raises:
        ValueError: where the number of elements differs.

    >>> from penstock import array_api as xp
    >>> xp.reshape(xp.asarray([1, 2, 3, 4]), (2, -1)).tolist()
    [[1, 2], [3, 4]]
    """
    return new(raw_ops.reshape(array(x, "reshape"), extents(shape)))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element where it stands.

    Args:
        x: an array.
        repeats: how often: a number, or an array with a number for each element along `axis`.
        axis: the dimension; without it the array is flattened first.

    Returns:
        An array of the dtype of `x`.

    Raises:
        ValueError: where there are not as many numbers as elements, or the axis is out of range.

    >>> from penstock import array_api as xp
    >>> xp.repeat(xp.asarray([3, 4]), xp.asarray([1, 2])).tolist()
    [3, 4, 4]
    """
    return new(_array.repeat(array(x, "repeat"), repeats, axis=axis))


def roll(x: Array, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Move the elements along dimensions; those that leave at one end come in at the other.

    Args:
        x: an array.
        shift: by how much: a number, or one for each of `axis`.
        axis: the dimensions; without them the array is rolled as if it were a vector.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: where there are not as many shifts as axes, or one is out of range.

    >>> from penstock import array_api as xp
    >>> xp.roll(xp.asarray([0, 1, 2, 3]), 1).tolist()
    [3, 0, 1, 2]
    """
    x = array(x, "roll")
    if axis is None:
        flat = raw_ops.reshape(x, [-1])
        return new(
            raw_ops.reshape(
                _array.roll(flat, sum(shift) if isinstance(shift, tuple) else shift, 0), raw_ops.shape(x)
            )
        )
    along = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(along)
    for moved, place in zip(shifts, along, strict=True):
        length = sizes(x)[axis_of(place, len(known_rank(x)))]
        # Shifts of more than the length, and beyond 32 bits, go round.
        x = _array.roll(x, moved % length if isinstance(length, int) and length else moved, place)
    return new(x)


def tile(x: Array, repetitions: tuple[int, ...], /) -> Tensor:
    """Repeat the array as a whole along each dimension.

    Args:
        x: an array.
        repetitions: how often along each of the last dimensions; more numbers than those add leading ones.

    Returns:
        An array of the dtype of `x`.

    >>> from penstock import array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2, 1)).tolist()
    [[1, 2], [1, 2]]
    """
    x = array(x, "tile")
    missing = len(repetitions) - len(known_rank(x))
    if missing > 0:
        x = raw_ops.reshape(x, extents([1] * missing + sizes(x)))
    return new(raw_ops.tile(x, extents([1] * -min(missing, 0) + list(repetitions))))
