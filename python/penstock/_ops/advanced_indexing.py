"""Indexing with masks and arrays of indices, as NumPy has it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._ops import shapes
from penstock._runtime.arguments import extents, known_rank, results, sizes
from penstock.errors import InvalidArgumentError


def from_the_front(indices: _core.Tensor, length: Any) -> _core.Tensor:
    """Indices of which negative ones count from the end, as indices from 0, of an index dtype."""
    if indices.dtype not in (_core.int32, _core.int64):
        indices = raw_ops.cast(indices, dtype=_core.int64)
    if isinstance(length, int):
        size = _core._to_tensor(length, indices.dtype)
    else:
        size = raw_ops.cast(length, dtype=indices.dtype)
    zero = _core._to_tensor(0, indices.dtype)
    return raw_ops.select(raw_ops.less(indices, zero), raw_ops.add(indices, size), indices)


def _is_array(key: Any) -> bool:
    return isinstance(key, _core.Tensor | _core._Variable) or hasattr(key, "dtype")


def index(tensor: _core.Tensor, keys: tuple[Any, ...]) -> _core.Tensor:
    """`tensor[keys]`, where at least one key is a mask or an array of indices.

    Masks stand for the indices of their true elements. All indices broadcast, scalars among them; the
    dimensions that they broadcast to take the place of the indexed ones where those lie side by side, and
    come first otherwise.

    Raises:
        IndexError: for more keys than dimensions, a mask of another shape than the dimensions that it
            covers, or an array of neither integers nor booleans.
        InvalidArgumentError: for an index outside of its dimension.
    """
    found, gap = _expanded(tensor, keys)
    # Slices and new dimensions first; what arrays index stays whole.
    basic = tuple(slice(None) if _is_index(key) else key for key in found)
    rest = tensor[basic] if any(not _is_index(key) and key != slice(None) for key in found) else tensor
    at = [place for place, key in enumerate(found) if _is_index(key)]
    dims = sizes(rest)
    arrays = [from_the_front(_core._to_tensor_hinted(found[place], _core.int32), dims[place]) for place in at]
    arrays = [raw_ops.cast(a, dtype=_core.int64) for a in arrays]
    if len(at) == 1:
        return raw_ops.gather(rest, arrays[0], axis=at[0])
    others = [axis for axis in builtins.range(len(dims)) if axis not in at]
    front = raw_ops.transpose(rest, perm=at + others)
    grid = _broadcast(arrays)
    taken = raw_ops.gather_nd(front, raw_ops.stack(grid, axis=-1))
    inner = len(known_rank(grid[0]))
    # An ellipsis between them keeps indices apart even where it stands for no dimension.
    together = at == list(builtins.range(at[0], at[0] + len(at))) and not (at[0] < gap <= at[-1])
    if not together or at[0] == 0:
        return taken
    order = list(builtins.range(inner, inner + at[0])) + list(builtins.range(inner))
    order += builtins.range(inner + at[0], inner + len(others))
    return raw_ops.transpose(taken, perm=order)


def _is_index(key: Any) -> bool:
    return _is_array(key) or (isinstance(key, int) and not isinstance(key, bool))


def _broadcast(arrays: list[_core.Tensor]) -> list[_core.Tensor]:
    target = raw_ops.shape(arrays[0])
    static = arrays[0].shape
    for a in arrays[1:]:
        try:
            static = shapes.broadcast_static_shape(static, a.shape)
        except ValueError as error:
            raise IndexError(f"the indices do not broadcast: {error}") from None
        target = shapes.broadcast_dynamic_shape(target, raw_ops.shape(a))
    target = extents(static) if static.is_fully_defined() else target
    return [raw_ops.broadcast_to(a, target) for a in arrays]


def _expanded(tensor: _core.Tensor, keys: tuple[Any, ...]) -> tuple[list[Any], int]:
    """A key for each dimension and each new one, and where the ellipsis is or would be.

    Masks become indices, and the ellipsis becomes slices.
    """
    dims = tensor.shape._dims
    if dims is None:
        raise InvalidArgumentError("a tensor of unknown rank cannot be indexed by arrays")
    out: list[Any] = []
    gap: int | None = None
    used = 0
    # Each mask, how many dimensions come before it, and whether the ellipsis does too.
    masks: list[tuple[_core.Tensor, int, bool]] = []
    for key in keys:
        if key is Ellipsis:
            if gap is not None:
                raise IndexError("an index can only have a single ellipsis ('...')")
            gap = len(out)
        elif key is None:
            out.append(key)
        elif _is_array(key):
            array = _core._to_tensor(key)
            if array.dtype == _core.bool:
                covered = known_rank(array)
                masks.append((array, used, gap is not None))
                count = len(covered)
                out.extend(results(raw_ops.unstack(raw_ops.where_indices(array), num=count, axis=1)))
                used += len(covered)
            elif array.dtype.is_integer:
                out.append(array)
                used += 1
            else:
                raise IndexError(f"arrays of indices must be integers or booleans, got {array.dtype.name}")
        else:
            out.append(key)
            used += 1
    if used > len(dims):
        raise IndexError(f"too many indices: the tensor has {len(dims)} dimension(s), {used} were indexed")
    for mask, start, behind in masks:
        _check_mask(mask, dims, start + (len(dims) - used if behind else 0))
    place = len(out) if gap is None else gap
    out[place:place] = [slice(None)] * (len(dims) - used)
    return out, place


def _check_mask(mask: _core.Tensor, dims: Sequence[int | None], start: int) -> None:
    shape = known_rank(mask)
    covered = dims[start : start + len(shape)]
    # A mask of size 0 has no true element, whatever it covers.
    if not builtins.all(
        a is None or b is None or a == b or a == 0 for a, b in zip(shape, covered, strict=True)
    ):
        raise IndexError(f"a mask of shape {mask.shape} does not fit dimensions {list(covered)}")


def get(tensor: _core.Tensor, keys: tuple[Any, ...]) -> _core.Tensor:
    """`tensor[keys]`; a mask of rank 0 adds a dimension, of size 1 where it is true and 0 where not."""
    if len(keys) == 1 and _is_array(keys[0]) and getattr(keys[0], "shape", None) == ():
        mask = _core._to_tensor(keys[0])
        if mask.dtype == _core.bool:
            chosen = raw_ops.where_indices(raw_ops.reshape(mask, [1]))
            return raw_ops.gather(
                raw_ops.expand_dims(tensor, axis=0), raw_ops.squeeze(chosen, axes=[1]), axis=0
            )
    return index(tensor, keys)
