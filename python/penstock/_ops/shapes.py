"""Shapes, and tensors of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import (
    axes,
    axis_number,
    extents,
    items,
)
from penstock._runtime.dispatch import dispatched
from penstock._types.shape import TensorShape
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, IntLike, ShapeLike, SizesLike, TensorLike

_ASSERT = getattr(raw_ops, "assert")

# --- shapes ---


@dispatched
def shape(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> _core.Tensor:
    """Give the sizes of the dimensions as a vector.

    Args:
        input: a tensor.
        out_type: `int32`, the default, or `int64`.
        name: a name for the result in a graph.

    Returns:
        A vector of `out_type` with a size for each dimension.

    >>> import penstock as tf
    >>> tf.shape([[1, 2, 3]]).numpy()
    array([1, 3], dtype=int32)
    """
    return raw_ops.shape(input, dtype=_core.int32 if out_type is None else _core.DType(out_type), name=name)


@dispatched
def shape_n(
    input: Sequence[TensorLike], out_type: DTypeLike = _core.int32, name: str | None = None
) -> list[_core.Tensor]:
    """Give the shape of each tensor of a list.

    Args:
        input: tensors.
        out_type: `int32` or `int64`.
        name: a name for the results in a graph.

    Returns:
        A list of vectors of `out_type`.

    >>> import penstock as tf
    >>> [s.numpy().tolist() for s in tf.shape_n([[1, 2], [[3]]])]
    [[2], [1, 1]]
    """
    return [shape(x, out_type, name) for x in input]


@dispatched
def size(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> _core.Tensor:
    """Count the elements.

    Args:
        input: a tensor.
        out_type: `int32`, the default, or `int64`.
        name: a name for the result in a graph.

    Returns:
        A scalar of `out_type`.

    >>> import penstock as tf
    >>> tf.size([[1, 2, 3]]).numpy()
    np.int32(3)
    """
    return raw_ops.size(input, dtype=_core.int32 if out_type is None else _core.DType(out_type), name=name)


@dispatched
def rank(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Count the dimensions.

    Args:
        input: a tensor.
        name: a name for the result in a graph.

    Returns:
        An `int32` scalar.

    >>> import penstock as tf
    >>> tf.rank([[1, 2]]).numpy()
    np.int32(2)
    """
    return raw_ops.rank(input, name=name)


@dispatched
def reshape(tensor: TensorLike, shape: SizesLike, name: str | None = None) -> _core.Tensor:
    """Give elements another shape, in row-major order.

    Args:
        tensor: any tensor.
        shape: the sizes; one of them may be -1, which stands for what is left.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `tensor` and of shape `shape`.

    Raises:
        InvalidArgumentError: where the number of elements differs.

    >>> import penstock as tf
    >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1]).shape
    TensorShape([2, 3])
    """
    return raw_ops.reshape(tensor, extents(shape), name=name)


@dispatched
def expand_dims(input: TensorLike, axis: IntLike, name: str | None = None) -> _core.Tensor:
    """Insert a dimension of size 1.

    Args:
        input: a tensor.
        axis: where the new dimension stands in the result; negative from the end.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype and the elements of `input`, with one dimension more.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.expand_dims([1, 2], 1).shape
    TensorShape([2, 1])
    """
    return raw_ops.expand_dims(input, axis=axis_number(axis), name=name)


@dispatched
def squeeze(input: TensorLike, axis: AxisLike = None, name: str | None = None) -> _core.Tensor:
    """Remove dimensions of size 1.

    Args:
        input: a tensor.
        axis: the dimensions to drop; by default all of size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype and the elements of `input`, without those dimensions.

    Raises:
        InvalidArgumentError: where one of `axis` is not of size 1.

    >>> import penstock as tf
    >>> tf.squeeze([[[1], [2]]]).numpy()
    array([1, 2], dtype=int32)
    """
    chosen = axes(axis)
    return raw_ops.squeeze(input, axes=chosen or None, name=name)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> _core.Tensor:
    """Check the shape of a tensor when the operation runs, and let it be known before.

    Args:
        x: a tensor.
        shape: sizes, `None` for any.
        name: a name for the result in a graph.

    Returns:
        The tensor, with a static shape that is at least as well known as `shape`.

    Raises:
        InvalidArgumentError: where it has another.

    >>> import penstock as tf
    >>> tf.ensure_shape([[1, 2]], [None, 2]).shape
    TensorShape([1, 2])
    """
    return raw_ops.ensure_shape(x, shape=TensorShape(shape), name=name)


@dispatched
def broadcast_to(input: TensorLike, shape: SizesLike, name: str | None = None) -> _core.Tensor:
    """Repeat a tensor along dimensions of size 1 and along new leading ones, until it has a shape.

    Args:
        input: a tensor.
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `shape`.

    Raises:
        InvalidArgumentError: where `input` does not broadcast to it.

    >>> import penstock as tf
    >>> tf.broadcast_to([1, 2], [2, 2]).numpy().tolist()
    [[1, 2], [1, 2]]
    """
    return raw_ops.broadcast_to(input, extents(shape), name=name)


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Compute the shape of a broadcast of two shapes that are known now.

    Args:
        shape_x: a shape, of which sizes may be unknown.
        shape_y: a shape, of which sizes may be unknown.

    Returns:
        The shape; a size that cannot be told is None.

    Raises:
        ValueError: where they do not broadcast.

    >>> import penstock as tf
    >>> tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3]))
    TensorShape([2, 3])
    """
    a, b = TensorShape(shape_x), TensorShape(shape_y)
    if a._dims is None or b._dims is None:
        return TensorShape(None)
    length = max(len(a), len(b))
    dims: list[int | None] = []
    for p, q in zip((1,) * (length - len(a)) + a._dims, (1,) * (length - len(b)) + b._dims, strict=True):
        if p == 1 or q == 1:
            dims.append(q if p == 1 else p)
        elif p is not None and q is not None and p != q:
            raise InvalidArgumentError(f"shapes {a} and {b} do not broadcast: {p} is not {q}")
        else:
            dims.append(q if p is None else p)
    return TensorShape(dims)


@dispatched
def broadcast_dynamic_shape(shape_x: SizesLike, shape_y: SizesLike) -> _core.Tensor:
    """Compute the shape of a broadcast of two shapes that are integer vectors.

    Args:
        shape_x: an integer vector.
        shape_y: an integer vector.

    Returns:
        A vector of the dtype of `shape_x`.

    Raises:
        InvalidArgumentError: where they do not broadcast.

    >>> import penstock as tf
    >>> tf.broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    x = _core._to_tensor_hinted(shape_x, _core.int32)
    y = _core._to_tensor_hinted(shape_y, x.dtype)
    one = _core._to_tensor(1, x.dtype)
    n: Any = x.shape.num_elements()
    m: Any = y.shape.num_elements()
    if n is None or m is None:
        n, m = raw_ops.size(x), raw_ops.size(y)
        longest: Any = raw_ops.maximum(n, m)
    else:  # The result has a static length where the operands have.
        longest = max(n, m)
    x = raw_ops.concat([raw_ops.fill([longest - n], one), x], axis=0)
    y = raw_ops.concat([raw_ops.fill([longest - m], one), y], axis=0)
    fits = raw_ops.reduce_all(
        raw_ops.logical_or(
            raw_ops.equal(x, y), raw_ops.logical_or(raw_ops.equal(x, one), raw_ops.equal(y, one))
        )
    )
    _ASSERT(fits, x, y, message="broadcast_dynamic_shape: the shapes do not broadcast:", summarize=-1)
    return raw_ops.select(raw_ops.equal(x, one), y, x)


@dispatched
def required_space_to_batch_paddings(
    input_shape: SizesLike,
    block_shape: SizesLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> Sequence[_core.Tensor]:
    """Find the least padding that makes extents multiples of a block's.

    Args:
        input_shape: the extents, a vector of integers.
        block_shape: those of the block, as many.
        base_paddings: the least padding in front and behind, `[n, 2]`; zero by default.
        name: a name for the results in a graph.

    Returns:
        The paddings and the crops that take away what is beyond `base_paddings`, each `[n, 2]`, `int32`.

    Raises:
        InvalidArgumentError: where the arguments have different lengths.

    >>> import penstock as tf
    >>> paddings, crops = tf.required_space_to_batch_paddings([4, 6], [3, 2])
    >>> paddings.numpy().tolist(), crops.numpy().tolist()
    ([[0, 2], [0, 0]], [[0, 2], [0, 0]])
    """
    extents = raw_ops.cast(_core._to_tensor_hinted(input_shape, _core.int32), dtype=_core.int32)
    block = raw_ops.cast(_core._to_tensor_hinted(block_shape, _core.int32), dtype=_core.int32)
    zeros = raw_ops.zeros_like(extents)
    before, behind = zeros, zeros
    if base_paddings is not None:
        least = raw_ops.cast(_core._to_tensor_hinted(base_paddings, _core.int32), dtype=_core.int32)
        before, behind = least[:, 0], least[:, 1]
    more = raw_ops.floormod(-(extents + before + behind), block)
    paddings = raw_ops.stack([before, behind + more], axis=1, name=name)
    return paddings, raw_ops.stack([zeros, more], axis=1)


# --- identities ---


@dispatched
def identity(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Copy a tensor: of a variable, take its value now.

    Args:
        input: a tensor.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same value.

    >>> import penstock as tf
    >>> tf.identity([1, 2]).numpy()
    array([1, 2], dtype=int32)
    """
    return raw_ops.identity(input, name=name)


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[_core.Tensor]:
    """Copy each tensor of a list.

    Args:
        input: tensors.
        name: a name for the results in a graph.

    Returns:
        A list of tensors of the same values.

    >>> import penstock as tf
    >>> [t.numpy().tolist() for t in tf.identity_n([[1], [2.0]])]
    [[1], [2.0]]
    """
    return [raw_ops.identity(x, name=name) for x in items(input, "input")]


@dispatched
def tuple(
    tensors: Sequence[TensorLike | None], control_inputs: Sequence[Any] | None = None, name: str | None = None
) -> list[_core.Tensor | None]:
    """Group tensors: each of the results is there once all are.

    Args:
        tensors: tensors, or None in their place.
        control_inputs: accepted and ignored.
        name: a name for the results in a graph.

    Returns:
        A list of tensors of the same values, None where one stands in `tensors`.

    >>> import penstock as tf
    >>> len(tf.tuple([1.0, [2, 3]]))
    2
    """
    return [None if x is None else raw_ops.identity(x, name=name) for x in tensors]


@dispatched
def stop_gradient(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Copy a tensor as a constant for differentiation.

    Args:
        input: a tensor.
        name: a name for the result in a graph.

    Returns:
        A tensor of the same value, through which no gradient flows.

    >>> import penstock as tf
    >>> tf.stop_gradient([1.0]).numpy()
    array([1.], dtype=float32)
    """
    return raw_ops.stop_gradient(input, name=name)
