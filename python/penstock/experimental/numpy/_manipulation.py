"""Shapes, and arrays joined and cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock._ops import arrangement, shapes
from penstock._runtime.arguments import axis_of, extents, known_rank, sizes
from penstock._types.aliases import AxisLike, IntLike, SizesLike
from penstock._types.shape import TensorShape
from penstock.array_api import _manipulation as standard
from penstock.errors import InvalidArgumentError
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    convert,
    converted,
    named,
    plain,
    promoted,
    public,
)


@public
def shape(a: ArrayLike) -> TensorShape:
    """Tell the sizes of the dimensions.

    Returns:
        A `tf.TensorShape`.

    >>> tnp.shape([[1, 2, 3]])
    TensorShape([1, 3])
    """
    return convert(a).shape


@public
def ndim(a: ArrayLike) -> int | None:
    """Tell the number of dimensions.

    Returns:
        A number; None in a traced function where it is not known.

    >>> tnp.ndim([[1, 2, 3]])
    2
    """
    rank: int | None = convert(a).shape.rank
    return rank


@public
def isscalar(num: ArrayLike) -> bool:
    """Tell whether there are no dimensions.

    Args:
        num: an array, or what becomes one.

    Returns:
        Whether there are none.

    >>> tnp.isscalar(3), tnp.isscalar([3])
    (True, False)
    """
    return ndim(num) == 0


@public
def reshape(a: ArrayLike, newshape: SizesLike, order: str = "C") -> Tensor:
    """Give an array another shape.

    Returns:
        An array of the same elements.

    Raises:
        ValueError: for another order.

    >>> tnp.reshape([1, 2, 3, 4], (2, -1)).tolist()
    [[1, 2], [3, 4]]
    """
    if order not in ("C", "F"):
        raise InvalidArgumentError(f"reshape: argument 'order' must be 'C' or 'F', got {order!r}")
    x, dims = convert(a), extents(newshape, "newshape")
    if order == "C":
        return shapes.reshape(x, dims)
    backwards = raw_ops.reverse(dims, axes=[0])
    return arrangement.transpose(shapes.reshape(arrangement.transpose(x), backwards))


@public
def ravel(a: ArrayLike) -> Tensor:
    """Give the elements as a vector, row by row.

    Returns:
        A vector.

    >>> tnp.ravel([[1, 2], [3, 4]]).tolist()
    [1, 2, 3, 4]
    """
    return shapes.reshape(convert(a), [-1])


@public
def flatten(a: ArrayLike, order: str = "C") -> Tensor:
    """Give the elements as a vector.

    Args:
        a: an array, or what becomes one.
        order: 'C', row by row, as do 'A' and 'K', or 'F', column by column.

    Returns:
        A vector.

    Raises:
        ValueError: for another order.

    >>> tnp.flatten([[1, 2], [3, 4]], order="F").tolist()
    [1, 3, 2, 4]
    """
    if order not in ("C", "A", "K", "F"):
        raise InvalidArgumentError(f"flatten: argument 'order' must be 'C', 'A', 'K' or 'F', got {order!r}")
    x = convert(a)
    return shapes.reshape(arrangement.transpose(x) if order == "F" else x, [-1])


def _places(axis: int | Sequence[int]) -> int | tuple[int, ...]:
    return axis if isinstance(axis, int) else tuple(axis)


@public
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Tensor:
    """Insert dimensions of size 1.

    Args:
        a: an array, or what becomes one.
        axis: where the dimensions are in the result.

    Returns:
        An array of the same elements.

    >>> tnp.expand_dims([1, 2], 0).shape
    TensorShape([1, 2])
    """
    return plain(standard.expand_dims(convert(a), _places(axis)))


@public
def squeeze(a: ArrayLike, axis: AxisLike = None) -> Tensor:
    """Remove dimensions of size 1.

    Returns:
        An array of the same elements.

    >>> tnp.squeeze([[1, 2]]).tolist()
    [1, 2]
    """
    return shapes.squeeze(convert(a), axis)


@public
def transpose(a: ArrayLike, axes: AxisLike = None) -> Tensor:
    """Reverse the dimensions, or permute them.

    Returns:
        An array of the same elements.

    >>> tnp.transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    x = convert(a)
    if isinstance(axes, list | tuple):
        count = len(axes)
        axes = [axis_of(axis, count, "axes") for axis in axes]
    return arrangement.transpose(x, axes)


@public
def swapaxes(a: ArrayLike, axis1: IntLike, axis2: IntLike) -> Tensor:
    """Put two dimensions in the places of each other.

    Args:
        a: an array, or what becomes one.
        axis1: the one.
        axis2: the other.

    Returns:
        An array of the same elements.

    >>> tnp.swapaxes([[1, 2], [3, 4]], 0, 1).tolist()
    [[1, 3], [2, 4]]
    """
    x = convert(a)
    rank = len(known_rank(x))
    one, other = axis_of(axis1, rank, "axis1"), axis_of(axis2, rank, "axis2")
    order = list(range(rank))
    order[one], order[other] = other, one
    return arrangement.transpose(x, order)


@public
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move dimensions to other places; the others keep their order.

    Returns:
        An array of the same elements.

    Raises:
        ValueError: where there are not as many places as dimensions.

    >>> tnp.moveaxis(tnp.zeros((1, 2, 3)), 0, -1).shape
    TensorShape([2, 3, 1])
    """
    return plain(standard.moveaxis(convert(a), _places(source), _places(destination)))


@public
def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """Reverse the order of elements along axes.

    Returns:
        An array of the shape and dtype of `m`.

    >>> tnp.flip([1, 2, 3]).tolist()
    [3, 2, 1]
    """
    return plain(standard.flip(convert(m), axis=None if axis is None else _places(axis)))


@public
def flipud(m: ArrayLike) -> Tensor:
    """Reverse the order of rows.

    Returns:
        An array of the shape and dtype of `m`.

    >>> tnp.flipud([[1, 2], [3, 4]]).tolist()
    [[3, 4], [1, 2]]
    """
    return flip(m, 0)


@public
def fliplr(m: ArrayLike) -> Tensor:
    """Reverse the order of columns.

    Returns:
        An array of the shape and dtype of `m`.

    >>> tnp.fliplr([[1, 2], [3, 4]]).tolist()
    [[2, 1], [4, 3]]
    """
    return flip(m, 1)


@public
def rot90(m: ArrayLike, k: IntLike = 1, axes: Sequence[IntLike] = (0, 1)) -> Tensor:
    """Turn by a right angle, from the first axis towards the second.

    Args:
        m: an array, or what becomes one.
        k: how many right angles.
        axes: both axes.

    Returns:
        An array of the same elements.

    Raises:
        InvalidArgumentError: where `axes` does not hold two dimensions.

    >>> tnp.rot90([[1, 2], [3, 4]]).tolist()
    [[2, 4], [1, 3]]
    """
    x = convert(m)
    rank = len(known_rank(x))
    first, second = (axis_of(axis, rank, "axes") for axis in axes)
    if first == second:
        raise InvalidArgumentError(f"rot90: argument 'axes' must hold two dimensions, got {axes}")
    turns = int(k) % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


@public
def roll(a: ArrayLike, shift: ArrayLike, axis: AxisLike = None) -> Tensor:
    """Shift elements along axes; those that leave at the end come in at the start.

    Args:
        a: an array, or what becomes one.
        shift: how far, towards the end.
        axis: the axes; by default the array is shifted as a vector.

    Returns:
        An array of the shape and dtype of `a`.

    >>> tnp.roll([1, 2, 3], 1).tolist()
    [3, 1, 2]
    """
    x = convert(a)
    if axis is None:
        flat = arrangement.roll(shapes.reshape(x, [-1]), shift, 0)
        return shapes.reshape(flat, raw_ops.shape(x))
    return arrangement.roll(x, shift, axis)


@public
def repeat(a: ArrayLike, repeats: ArrayLike, axis: IntLike | None = None) -> Tensor:
    """Repeat elements.

    Returns:
        An array; a vector where no axis is given.

    >>> tnp.repeat([1, 2], 2).tolist()
    [1, 1, 2, 2]
    """
    x, counts = convert(a), convert(repeats)
    if axis is None:
        x, axis = shapes.reshape(x, [-1]), 0
    return arrangement.repeat(x, counts, axis)


@public
def tile(a: ArrayLike, reps: ArrayLike) -> Tensor:
    """Repeat an array along its dimensions, and new ones in front of them.

    Returns:
        An array.

    Raises:
        InvalidArgumentError: where the number of repetitions is not known.

    >>> tnp.tile([1, 2], (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    x, counts = convert(a), shapes.reshape(convert(reps, _core.int32), [-1])
    count, rank = known_rank(counts)[0], len(known_rank(x))
    if count is None:
        raise InvalidArgumentError("tile: the number of repetitions in argument 'reps' must be known")
    if count < rank:
        counts = raw_ops.concat([convert([1] * (rank - count), _core.int32), counts], axis=0)
    if rank < count:
        x = shapes.reshape(x, [1] * (count - rank) + sizes(x))
    return arrangement.tile(x, counts)


@public
def pad(array: ArrayLike, pad_width: ArrayLike, mode: str, **kwargs: Any) -> Tensor:
    """Add elements before and after along each dimension.

    Args:
        array: an array, or what becomes one.
        pad_width: how many before and after, for each dimension; or the same for all.
        mode: 'constant', 'reflect' or 'symmetric'.
        **kwargs: `constant_values`, the constant.

    Returns:
        An array of the rank of `array`.

    Raises:
        ValueError: for another mode or option.

    >>> tnp.pad([1, 2], [[1, 1]], "constant").tolist()
    [0, 1, 2, 0]
    """
    constant = kwargs.pop("constant_values", 0)
    if mode not in ("constant", "reflect", "symmetric"):
        raise InvalidArgumentError(
            f"pad: argument 'mode' must be 'constant', 'reflect' or 'symmetric', got {mode!r}"
        )
    if kwargs:
        raise InvalidArgumentError(f"pad: options {sorted(kwargs)} are not supported")
    x = convert(array)
    widths = shapes.broadcast_to(convert(pad_width, _core.int32), [len(known_rank(x)), 2])
    return arrangement.pad(x, widths, mode.upper(), convert(constant, x.dtype))


@public
def broadcast_to(array: ArrayLike, shape: SizesLike) -> Tensor:
    """Repeat an array so that it has a shape.

    Returns:
        An array of the shape.

    >>> tnp.broadcast_to([1, 2], (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return shapes.broadcast_to(convert(array), extents(shape))


@public
def broadcast_arrays(*args: ArrayLike, **kwargs: Any) -> list[Tensor]:
    """Repeat arrays so that they have the same shape.

    Args:
        *args: arrays, or what becomes some.
        **kwargs: `subok`, which must be False.

    Returns:
        The arrays.

    Raises:
        ValueError: for another option.

    >>> [x.tolist() for x in tnp.broadcast_arrays([1], [2, 3])]
    [[1, 1], [2, 3]]
    """
    if kwargs.pop("subok", False) or kwargs:
        raise InvalidArgumentError(f"broadcast_arrays: options are not supported, got {['subok', *kwargs]}")
    return [plain(x) for x in standard.broadcast_arrays(*converted(args))]


def _atleast(least: int, x: Tensor, spread: Callable[[list[Any]], list[Any]]) -> Tensor:
    """An array with at least so many dimensions."""
    dims = sizes(x)
    return x if len(dims) >= least else shapes.reshape(x, spread(dims))


def _in_front(least: int) -> Callable[[list[Any]], list[Any]]:
    return lambda dims: [1] * (least - len(dims)) + dims


def _around(dims: list[Any]) -> list[Any]:
    """The sizes of three dimensions: a vector lies in the middle one, a matrix in the first two."""
    return [[1, 1, 1], [1, *dims, 1], [*dims, 1]][len(dims)]


def _of_all(least: int, spread: Callable[[list[Any]], list[Any]], summary: str) -> Any:
    def function(*arys: ArrayLike) -> Tensor | list[Tensor]:
        made = [_atleast(least, convert(x), spread) for x in arys]
        return made[0] if len(made) == 1 else made

    doc = (
        f"{summary}\n\nReturns:\n    The array; a list of them where several are given.\n\n"
        f">>> tnp.atleast_{least}d(3).tolist()\n{'[' * least}3{']' * least}"
    )
    return named(f"atleast_{least}d", function, doc)


atleast_1d: Callable[..., Any] = _of_all(1, _in_front(1), "Give numbers a dimension.")
atleast_2d: Callable[..., Any] = _of_all(2, _in_front(2), "Give numbers and vectors two dimensions.")
atleast_3d: Callable[..., Any] = _of_all(3, _around, "Give arrays of less than three dimensions three.")


def _joined(arrays: Sequence[ArrayLike], axis: int) -> Tensor:
    return arrangement.concat(promoted(*arrays), axis)


@public
def concatenate(arys: Sequence[ArrayLike], axis: IntLike | None = 0) -> Tensor:
    """Join arrays along a dimension.

    Args:
        arys: arrays, or what becomes some.
        axis: the dimension; None to join them as vectors.

    Returns:
        An array of the dtype that all promote to.

    Raises:
        ValueError: where there is none.

    >>> tnp.concatenate([[1], [2.5]]).tolist()
    [1.0, 2.5]
    """
    parts = list(arys) if isinstance(arys, list | tuple) else [arys]
    if not parts:
        raise InvalidArgumentError("concatenate: argument 'arys' must hold at least one array")
    if axis is None:
        return _joined([ravel(part) for part in parts], 0)
    return _joined(parts, int(axis))


@public
def append(arr: ArrayLike, values: ArrayLike, axis: IntLike | None = None) -> Tensor:
    """Join two arrays.

    Args:
        arr: an array, or what becomes one.
        values: an array, or what becomes one.
        axis: the dimension; by default they are joined as vectors.

    Returns:
        An array of the dtype that both promote to.

    >>> tnp.append([1, 2], 3).tolist()
    [1, 2, 3]
    """
    return concatenate([arr, values], axis)


@public
def stack(arrays: Sequence[ArrayLike] | Tensor, axis: IntLike = 0) -> Tensor:
    """Join arrays of one shape along a new dimension.

    Args:
        arrays: arrays, or what becomes some.
        axis: where the new dimension is in the result.

    Returns:
        An array of the dtype that all promote to.

    Raises:
        ValueError: for no array.

    >>> tnp.stack([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    if isinstance(arrays, Tensor):
        return moveaxis(arrays, 0, int(axis))
    if not len(arrays):
        raise InvalidArgumentError("stack: argument 'arrays' must hold at least one array")
    return arrangement.stack(promoted(*arrays), int(axis))


@public
def vstack(tup: Sequence[ArrayLike]) -> Tensor:
    """Join arrays row by row; vectors are rows.

    Returns:
        An array of the dtype that all promote to.

    >>> tnp.vstack([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return _joined([atleast_2d(x) for x in promoted(*tup)], 0)


@public
def hstack(tup: Sequence[ArrayLike]) -> Tensor:
    """Join arrays column by column; vectors end to end.

    Returns:
        An array of the dtype that all promote to.

    >>> tnp.hstack([[1, 2], [3, 4]]).tolist()
    [1, 2, 3, 4]
    """
    parts = [atleast_1d(x) for x in promoted(*tup)]
    return _joined(parts, 0 if not parts or len(known_rank(parts[0])) == 1 else 1)


@public
def dstack(tup: Sequence[ArrayLike]) -> Tensor:
    """Join arrays along the third dimension.

    Returns:
        An array of the dtype that all promote to.

    >>> tnp.dstack([[1, 2], [3, 4]]).tolist()
    [[[1, 3], [2, 4]]]
    """
    return _joined([atleast_3d(x) for x in promoted(*tup)], 2)


def _pieces(x: Tensor, parts: IntLike | Sequence[IntLike], axis: int) -> list[Tensor]:
    """An array cut into equal parts, or where parts begin."""
    dims = known_rank(x)
    if isinstance(parts, Tensor) or not isinstance(parts, Sequence):
        size, count = dims[axis], int(parts)
        if count < 1:
            raise InvalidArgumentError(f"argument 'indices_or_sections' must be at least 1, got {count}")
        if size is not None and size % count:
            raise InvalidArgumentError(
                f"axis {axis} of size {dims[axis]} does not divide into {count} equal parts"
            )
        return list(arrangement.split(x, count, axis))
    lead = (slice(None),) * axis
    ends = [None, *parts, None]
    return [x[(*lead, slice(start, stop))] for start, stop in pairwise(ends)]


@public
def split(
    ary: ArrayLike, indices_or_sections: IntLike | Sequence[IntLike], axis: IntLike = 0
) -> list[Tensor]:
    """Cut an array into parts along a dimension.

    Args:
        ary: an array, or what becomes one.
        indices_or_sections: the number of equal parts, or where each but the first begins.
        axis: the dimension; the first one by default.

    Returns:
        The parts.

    Raises:
        ValueError: where the parts would not be equal.

    >>> [x.tolist() for x in tnp.split([1, 2, 3], [1])]
    [[1], [2, 3]]
    """
    x = convert(ary)
    return _pieces(x, indices_or_sections, axis_of(axis, len(known_rank(x))))


_SplitAlong: TypeAlias = "Callable[[ArrayLike, IntLike | Sequence[IntLike]], list[Tensor]]"


def _split_along(name: str, axis: int, summary: str, example: str) -> _SplitAlong:
    def function(ary: ArrayLike, indices_or_sections: IntLike | Sequence[IntLike]) -> list[Tensor]:
        x = convert(ary)
        rank = len(known_rank(x))
        place = 0 if name == "hsplit" and rank == 1 else axis
        if rank <= place:
            raise InvalidArgumentError(
                f"{name}: argument 'ary' must have more than {place} dimension(s), got {x.shape}"
            )
        return _pieces(x, indices_or_sections, place)

    call, value = example.split(" -> ")
    raises = "InvalidArgumentError: for too few dimensions; where the parts would not be equal."
    doc = f"{summary}\n\nReturns:\n    The parts.\n\nRaises:\n    {raises}\n\n"
    doc += f">>> [x.tolist() for x in tnp.{call}]\n{value}"
    made: _SplitAlong = named(name, function, doc)
    return made


vsplit: _SplitAlong = _split_along(
    "vsplit", 0, "Cut an array between rows.", "vsplit([[1], [2]], 2) -> [[[1]], [[2]]]"
)
hsplit: _SplitAlong = _split_along(
    "hsplit", 1, "Cut an array between columns; a vector anywhere.", "hsplit([1, 2], 2) -> [[1], [2]]"
)
dsplit: _SplitAlong = _split_along(
    "dsplit", 2, "Cut an array along the third dimension.", "dsplit([[[1, 2]]], 2) -> [[[[1]]], [[[2]]]]"
)
