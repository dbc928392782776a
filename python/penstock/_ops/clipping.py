"""Clipping by bounds and by norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from penstock import _core, raw_ops
from penstock._runtime.arguments import axes as axis_list
from penstock._runtime.dispatch import dispatched
from penstock._values.indexed_slices import IndexedSlices
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, TensorLike

_Clipped: TypeAlias = "_core.Tensor | IndexedSlices"
_Tensors: TypeAlias = "Sequence[TensorLike | IndexedSlices | None]"


@overload
def clip_by_value(
    t: IndexedSlices, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> _core.Tensor: ...
@dispatched
def clip_by_value(
    t: TensorLike | IndexedSlices,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> _Clipped:
    """Limit elements to what lies between two bounds.

    Args:
        t: a numeric tensor; `IndexedSlices` stay such, and each slice counts for itself.
        clip_value_min: the least value; broadcasts to `t`.
        clip_value_max: the greatest value; broadcasts to `t`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `t`; `IndexedSlices` for such.

    Raises:
        InvalidArgumentError: where the bounds do not broadcast to the shape of `t`.

    >>> import penstock as tf
    >>> tf.clip_by_value([-3, 2, 9], 0, 5).numpy()
    array([0, 2, 5], dtype=int32)
    """
    x = _elements(t)
    low = _core._to_tensor_hinted(clip_value_min, x.dtype)
    high = _core._to_tensor_hinted(clip_value_max, x.dtype)
    return _like(t, raw_ops.maximum(raw_ops.minimum(x, high), low, name=name))


@overload
def clip_by_norm(
    t: IndexedSlices, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> _core.Tensor: ...
@dispatched
def clip_by_norm(
    t: TensorLike | IndexedSlices, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> _Clipped:
    """Scale a tensor down where its Euclidean norm is above a limit.

    Args:
        t: a floating-point tensor; `IndexedSlices` stay such, and each slice counts for itself.
        clip_norm: the greatest norm; one below 0 counts as 0.
        axes: the dimensions of what is clipped; all by default.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `t`; `IndexedSlices` for such.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    x = _elements(t)
    limit = raw_ops.maximum(_core._to_tensor_hinted(clip_norm, x.dtype), 0)
    squares = raw_ops.reduce_sum(raw_ops.square(x), axes=axis_list(axes, "axes"), keepdims=True)
    positive = squares > 0
    safe = raw_ops.select(positive, squares, raw_ops.ones_like(squares))
    length = raw_ops.select(positive, raw_ops.sqrt(safe), squares)
    return _like(t, raw_ops.div(x * limit, raw_ops.maximum(length, limit), name=name))


@dispatched
def global_norm(t_list: _Tensors, name: str | None = None) -> _core.Tensor:
    """Compute the Euclidean norm of all elements of the tensors of a list.

    Args:
        t_list: tensors, or None in their place; of `IndexedSlices` the slices count, each for itself.
        name: a name for the result in a graph.

    Returns:
        A scalar.

    Raises:
        TypeError: where `t_list` is no sequence.
        ValueError: where there is no tensor.

    >>> import penstock as tf
    >>> float(tf.linalg.global_norm([[3.0], [4.0]]))
    5.0
    """
    tensors = [_elements(t) for t in _sequence(t_list) if t is not None]
    if not tensors:
        raise InvalidArgumentError("argument 't_list' must hold at least one tensor")
    return raw_ops.sqrt(raw_ops.add_n([raw_ops.reduce_sum(raw_ops.square(t)) for t in tensors]), name=name)


@dispatched
def clip_by_global_norm(
    t_list: _Tensors,
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], _core.Tensor]:
    """Scale all tensors of a list by one factor where their common norm is above a limit.

    Args:
        t_list: tensors; `None` entries stay, `IndexedSlices` stay such.
        clip_norm: the greatest norm that is left as it is.
        use_norm: the common norm where it is known already.
        name: a name for the results in a graph.

    Returns:
        The list, NaN throughout where the norm is not finite; and the norm.

    Raises:
        TypeError: where `t_list` is no sequence.

    >>> import penstock as tf
    >>> clipped, norm = tf.clip_by_global_norm([[3.0], [4.0]], 1.0)
    >>> [t.numpy().tolist() for t in clipped], float(norm)
    ([[0.6000000238418579], [0.800000011920929]], 5.0)
    """
    norm = global_norm(t_list) if use_norm is None else _core._to_tensor(use_norm)
    limit = _core._to_tensor_hinted(clip_norm, norm.dtype)
    scale = limit * raw_ops.minimum(raw_ops.reciprocal(norm), raw_ops.reciprocal(limit))
    # Infinity and NaN make every result NaN; nothing else changes the scale.
    scale = scale + (norm - norm)

    def scaled(t: TensorLike | IndexedSlices | None) -> _Clipped | None:
        if t is None:
            return None
        values = _elements(t)
        return _like(t, raw_ops.mul(values, raw_ops.cast(scale, dtype=values.dtype), name=name))

    return [scaled(t) for t in _sequence(t_list)], norm


def _sequence(t_list: object) -> _Tensors:
    if isinstance(t_list, _core.Tensor | _core._Variable) or not isinstance(t_list, Sequence):
        raise TypeError(f"argument 't_list' must be a sequence of tensors, got {type(t_list).__name__}")
    return t_list


def _elements(t: TensorLike | IndexedSlices) -> _core.Tensor:
    return _core._to_tensor(t.values if isinstance(t, IndexedSlices) else t)


def _like(t: TensorLike | IndexedSlices, values: _core.Tensor) -> _Clipped:
    """Values in the place of the elements of `t`."""
    return t._with_values(values) if isinstance(t, IndexedSlices) else values
