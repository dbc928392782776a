"""Elements of Python's containers by a tensor: `values[i]`, and `values[i] = x` for a list."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from penstock import _core, raw_ops
from penstock.autograph import _convert, _source
from penstock.autograph._branch import is_symbolic
from penstock.autograph._values import check_alike, describe, leaves_of, pack
from penstock.errors import OperatorNotAllowedInGraphError

__all__ = ["is_array", "item", "put"]

_ASSERT = getattr(raw_ops, "assert")


def item(target: Any, index: Any) -> Any:
    """`target[index]`. A symbolic index chooses among the elements of a list, tuple, range or array."""
    if is_symbolic(index):
        if isinstance(target, Sequence | Mapping):
            return _element(target, index)
        if is_array(target):
            return _core._to_tensor(target)[index]
    elif type(index) is tuple and is_array(target) and any(map(is_symbolic, index)):
        return _core._to_tensor(target)[index]
    return target[index]


def is_array(target: Any) -> bool:
    """Whether it is a NumPy array that a tensor can hold."""
    return type(target).__module__ == "numpy" and hasattr(target, "dtype") and target.dtype.kind != "O"


def _element(values: Any, index: Any) -> Any:
    if isinstance(values, Mapping):
        _refuse(
            "the keys of a mapping are looked up while tracing. Use tf.switch_case, or a tensor of its values"
        )
    if isinstance(values, str | bytes | bytearray):
        _refuse("a string is indexed while tracing. Use tf.strings.substr")
    if not len(values):
        raise IndexError(f"{_user_text()}: the {type(values).__name__} is empty")
    at = _position(index, len(values))
    if isinstance(values, range):
        return raw_ops.gather(_core._to_tensor(list(values)), at)
    parts = []
    first = values[0]
    for value in values:
        leaves = leaves_of(value)
        if leaves is None:
            _refuse(
                f"the elements must be tensors, or numbers, for it to choose among, got {describe(value)}"
            )
        try:
            check_alike(first, value)
        except (TypeError, ValueError) as error:
            _refuse(f"the elements must have one structure for it to choose among them: {error}")
        parts.append(leaves)
    return pack(first, [raw_ops.gather(_stacked(leaves), at) for leaves in zip(*parts, strict=True)])


def _stacked(leaves: Sequence[Any]) -> Any:
    """Leaves of one dtype and shape as a tensor; numbers take the dtype of the tensors among them."""
    if not any(hasattr(leaf, "dtype") for leaf in leaves):
        try:
            return _core._to_tensor(list(leaves))
        except (TypeError, ValueError) as error:
            _refuse(f"the elements must have one dtype and shape for it to choose among them: {error}")
    hint = next(leaf.dtype for leaf in leaves if hasattr(leaf, "dtype"))
    tensors = [_core._to_tensor_hinted(leaf, hint) for leaf in leaves]
    kinds = sorted({f"{t.dtype.name} of shape {t.shape}" for t in tensors})
    first = tensors[0]
    if any(t.dtype != first.dtype or not t.shape.is_compatible_with(first.shape) for t in tensors):
        _refuse(
            f"the elements must have one dtype and shape for it to choose among them, got {', '.join(kinds)}"
        )
    return raw_ops.stack(tensors)


def put(target: list[Any], index: Any, value: Any) -> None:
    """`target[index] = value` for a symbolic index: each element becomes the value where it is the one."""
    at = _position(index, len(target))
    inside = raw_ops.logical_and(raw_ops.less_equal(0, at), raw_ops.less(at, len(target)))
    _ASSERT(inside, message=f"{_user_text()}: the index is not in a list of {len(target)}")
    new = []
    for k, old in enumerate(target):
        try:
            check_alike(old, value)
            before, after = leaves_of(old), leaves_of(value)
        except (TypeError, ValueError):
            before = after = None
        if before is None or after is None:
            _refuse(f"{describe(value)} cannot take the place of any element, {describe(old)} among them")
        chosen = raw_ops.equal(at, k)
        pairs = [_chosen(chosen, a, b) for a, b in zip(after, before, strict=True)]
        new.append(pack(old, pairs))
    target[:] = new


def _chosen(condition: Any, value: Any, old: Any) -> Any:
    """`value` or `old`, which have one dtype and shape."""
    pair = _stacked([old, value])
    return raw_ops.gather(pair, raw_ops.cast(condition, dtype=_core.int32))


def _position(index: Any, size: int) -> Any:
    """A symbolic index counted from the front."""
    index = index.read_value() if isinstance(index, _core._Variable) else index
    if index.dtype == _core.bool:
        return raw_ops.cast(index, dtype=_core.int32)
    if not index.dtype.is_integer or index.shape.rank not in (0, None):
        _refuse("an integer without dimensions chooses an element. Make it a tensor first, or use tf.gather")
    if index.dtype not in (_core.int32, _core.int64):
        index = raw_ops.cast(index, dtype=_core.int32)
    return raw_ops.select(raw_ops.less(index, 0), raw_ops.add(index, size), index)


def _refuse(why: str) -> NoReturn:
    raise OperatorNotAllowedInGraphError(
        f"{_user_text()}: the index is a tensor whose value is not known yet; {why}"
    )


def _user_text() -> str:
    """What of the user's is evaluated, as it stands in the source."""
    frame = sys._getframe(1)
    while _convert.is_own(frame.f_code) and frame.f_back is not None:
        frame = frame.f_back
    return _source.text_of(frame) or "indexing"
