"""Functions whose code needs the number of a dimension, where that is known only when the graph runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from penstock import _core, nest, raw_ops
from penstock._control.flow import switch_case
from penstock._control.ranks import MOST_DIMENSIONS, replaced
from penstock._runtime.arguments import require
from penstock._runtime.scope import named

__all__ = ["for_each_axis"]

# Of more numbers of dimensions in one tensor there would be too many branches.
_MOST_NUMBERS: Final = 2


def for_each_axis(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argument: str,
    axis: _core.Tensor,
) -> Any:
    """What a function gives for a dimension that is not known: the graph has a branch for each dimension.

    A dimension that the function does not take is an error where the graph runs with that one. A check raises
    it, and not the function: graphs with code of Python cannot be written.

    Args:
        function: a public function, which needs the dimension.
        args: its arguments.
        kwargs: those that are given by name. A name is that of the result.
        argument: the name of the argument that is the dimension, or several.
        axis: its value, or a part of that.

    Returns:
        What the function returns; NotImplemented where the dimension is none of the arguments, none helps, or
        the results of two dimensions are of different structures.
    """
    others = {key: value for key, value in kwargs.items() if key != "name"}
    given = nest.flatten([args, others])
    if not any(value is axis for value in given) or not axis.dtype.is_integer:
        return NotImplemented

    def at(number: Any) -> Any:
        by_name = {key: replaced(value, axis, number) for key, value in others.items()}
        return function(*(replaced(value, axis, number) for value in args), **by_name)

    if axis._dims != ():
        count = axis._dims[0] if axis._dims is not None and len(axis._dims) == 1 else None
        if count is None or not 1 <= count <= _MOST_NUMBERS:
            return NotImplemented
        numbers = raw_ops.unstack(axis, num=count)
        result = at([numbers] if isinstance(numbers, _core.Tensor) else list(numbers))
    else:
        ranks = [value.shape.rank for value in given if isinstance(value, _core.Tensor | _core._Variable)]
        # A function may add a dimension.
        most = 1 + max((MOST_DIMENSIONS if rank is None else rank for rank in ranks), default=0)
        kinds = {number: _kind(at, number) for number in range(-most, most)}
        taken = [number for number, kind in kinds.items() if kind is not None]
        if not taken or any(kinds[number] != kinds[taken[0]] for number in taken):
            return NotImplemented
        found = raw_ops.equal(raw_ops.cast(axis, dtype=_core.int64), _core._to_tensor(taken, _core.int64))

        def other() -> Any:
            known = ", ".join(map(str, taken))
            require(raw_ops.reduce_any(found), f"argument '{argument}' must be one of {known}", axis)
            return at(taken[0])

        choices = raw_ops.concat([found, _core._to_tensor([True])], axis=0)
        place = raw_ops.argmax(raw_ops.cast(choices, dtype=_core.int32), dtype=_core.int32)
        result = switch_case(place, [partial(at, number) for number in taken], other)
    return named(result, kwargs.get("name")) if isinstance(result, _core.Tensor) else result


def _kind(at: Callable[[int], Any], number: int) -> Any:
    """The structure and dtypes of what a function gives for a dimension; None where it does not take that.

    What it adds to the graph is dropped.
    """
    _core._begin_region([])
    try:
        return nest.map_structure(lambda value: getattr(value, "dtype", value), at(number))
    except Exception:
        return None
    finally:
        _core._abandon_region()
