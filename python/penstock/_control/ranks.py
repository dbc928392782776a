"""Functions whose code needs the rank of a tensor, where that is known only when the graph runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from penstock import _core, raw_ops
from penstock._control.flow import switch_case

__all__ = ["MOST_DIMENSIONS", "for_each_rank", "replaced"]

# Tensors of more dimensions are an error when the graph runs.
MOST_DIMENSIONS: Final = 8


def for_each_rank(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives for an argument of unknown rank: the graph has a branch for each rank.

    The error of a rank that the function does not take is raised where the graph runs with that rank. Where
    it takes one rank alone, the tensor is of that rank from here on. With several such arguments, branches of
    the first have branches for the next.

    Args:
        function: a public function, which needs a rank that is not known.
        args: its arguments.
        kwargs: those that are given by name.

    Returns:
        What the function returns; NotImplemented where no argument is of unknown rank, no rank helps, or the
        results of two ranks are of different structures.
    """
    from penstock.autograph._branch import raised  # AutoGraph builds on this

    unknown = _of_unknown_rank([*args, *kwargs.values()])
    if unknown is None:
        return NotImplemented

    def at(rank: int) -> Any:
        known = raw_ops.ensure_shape(_core._to_tensor(unknown), shape=[None] * rank)
        given = [replaced(value, unknown, known) for value in args]
        return function(*given, **{name: replaced(value, unknown, known) for name, value in kwargs.items()})

    def branch(rank: int) -> Any:
        try:
            return at(rank)
        except Exception as error:
            raise raised(error) from None

    taken = [rank for rank in range(MOST_DIMENSIONS + 1) if _succeeds(at, rank)]
    if not taken:
        return NotImplemented
    if len(taken) == 1:
        return at(taken[0])
    try:
        return switch_case(
            raw_ops.rank(unknown), [partial(branch, rank) for rank in range(MOST_DIMENSIONS + 1)]
        )
    except TypeError:  # its results are of another structure for another rank
        return NotImplemented


def _succeeds(at: Callable[[int], Any], rank: int) -> bool:
    """Whether a function takes a rank. What it adds to the graph is dropped."""
    _core._begin_region([])
    try:
        at(rank)
    except Exception:
        return False
    finally:
        _core._abandon_region()
    return True


def _of_unknown_rank(values: Iterable[Any]) -> Any:
    """The first tensor or variable of unknown rank among arguments and the lists among them; or None."""
    for value in values:
        if isinstance(value, list | tuple):
            value = _of_unknown_rank(value)
        elif not isinstance(value, _core.Tensor | _core._Variable) or value.shape.rank is not None:
            continue
        if value is not None:
            return value
    return None


def replaced(value: Any, unknown: Any, known: Any) -> Any:
    """The argument with `known` in place of `unknown`."""
    if type(value) in (list, tuple):
        return type(value)(replaced(item, unknown, known) for item in value)
    return known if value is unknown else value
