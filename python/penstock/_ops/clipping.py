"""Clipping by bounds and by norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axes as axis_list
from penstock._values.indexed_slices import IndexedSlices


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """The values between two bounds, elementwise; the bounds broadcast.

    Args:
        t: a numeric tensor; `IndexedSlices` stay such, and each slice counts for itself.
        clip_value_min: the least value; broadcasts to `t`.
        clip_value_max: the greatest value; broadcasts to `t`.
        name: ignored.

    >>> clip_by_value([-3, 2, 9], 0, 5).numpy()
    array([0, 2, 5], dtype=int32)
    """
    x = _elements(t)
    low = _core._to_tensor_hinted(clip_value_min, x.dtype)
    high = _core._to_tensor_hinted(clip_value_max, x.dtype)
    return _like(t, raw_ops.maximum(raw_ops.minimum(x, high), low))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """The tensor, scaled down where its Euclidean norm along `axes` (all by default) is above `clip_norm`.

    Args:
        t: a floating-point tensor; `IndexedSlices` stay such, and each slice counts for itself.
        clip_norm: the greatest norm.
        axes: the dimensions of what is clipped; all by default.
        name: ignored.

    >>> clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    x = _elements(t)
    limit = _core._to_tensor_hinted(clip_norm, x.dtype)
    squares = raw_ops.reduce_sum(raw_ops.square(x), axes=axis_list(axes), keepdims=True)
    positive = squares > 0
    safe = raw_ops.select(positive, squares, raw_ops.ones_like(squares))
    length = raw_ops.select(positive, raw_ops.sqrt(safe), squares)
    return _like(t, x * limit / raw_ops.maximum(length, limit))


def global_norm(t_list: Sequence[Any], name: str | None = None) -> _core.Tensor:
    """The Euclidean norm of all elements of all tensors of a list; `None` entries count nothing.

    Args:
        t_list: tensors, or None in their place; of `IndexedSlices` the slices count, each for itself.
        name: ignored.

    Returns:
        A scalar.

    Raises:
        ValueError: where there is no tensor.

    >>> float(global_norm([[3.0], [4.0]]))
    5.0
    """
    tensors = [_elements(t) for t in _sequence(t_list) if t is not None]
    if not tensors:
        raise ValueError("argument 't_list' must hold at least one tensor")
    return raw_ops.sqrt(raw_ops.add_n([raw_ops.reduce_sum(raw_ops.square(t)) for t in tensors]))


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], _core.Tensor]:
    """The tensors, all scaled by one factor where their common norm is above `clip_norm`.

    Args:
        t_list: tensors; `None` entries stay, `IndexedSlices` stay such.
        clip_norm: the greatest norm that is left as it is.
        use_norm: the common norm where it is known already.
        name: ignored.

    Returns:
        The list, NaN throughout where the norm is not finite; and the norm.

    >>> clipped, norm = clip_by_global_norm([[3.0], [4.0]], 1.0)
    >>> [t.numpy().tolist() for t in clipped], float(norm)
    ([[0.6000000238418579], [0.800000011920929]], 5.0)
    """
    norm = global_norm(t_list) if use_norm is None else _core._to_tensor(use_norm)
    limit = _core._to_tensor_hinted(clip_norm, norm.dtype)
    scale = limit * raw_ops.minimum(raw_ops.reciprocal(norm), raw_ops.reciprocal(limit))
    # Infinity and NaN make every result NaN; nothing else changes the scale.
    scale = scale + (norm - norm)

    def scaled(t: Any) -> Any:
        if t is None:
            return None
        values = _elements(t)
        return _like(t, values * raw_ops.cast(scale, dtype=values.dtype))

    return [scaled(t) for t in _sequence(t_list)], norm


def _sequence(t_list: Any) -> Sequence[Any]:
    if isinstance(t_list, _core.Tensor | _core._Variable) or not isinstance(t_list, Sequence):
        raise TypeError(f"argument 't_list' must be a sequence of tensors, got {type(t_list).__name__}")
    return t_list


def _elements(t: Any) -> Any:
    return _core._to_tensor(t.values if isinstance(t, IndexedSlices) else t)


def _like(t: Any, values: Any) -> Any:
    """Values in the place of the elements of `t`."""
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values
