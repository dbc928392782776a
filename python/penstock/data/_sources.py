"""The stages that make elements."""

from __future__ import annotations

import random as _random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import _core, raw_ops
from penstock._types.rows import row, row_count
from penstock.data._rows import CHUNK_BYTES, Pull, Rows, one
from penstock.data._structure import Structure
from penstock.errors import InvalidArgumentError

__all__ = ["MOST", "Seeds", "at_hand", "elements", "generated", "numbers", "random", "slices"]


# How many numbers a source gives at once.
MOST = CHUNK_BYTES // 8


class Seeds:
    """Where the iterators of a data set get their seeds from.

    Args:
        again: whether each iterator gets another seed.
    """

    def __init__(self, again: bool) -> None:
        self.again = again
        # What fixes the sequence, and how many seeds of it were given; then where they come from.
        self.state: tuple[int | None, int] = (None, 0)
        self._source: tuple[_random.Random, tuple[int | None, int]] | None = None

    def begin(self, seed: Any) -> tuple[int, int]:
        """The state, with what fixes the sequence."""
        first, count = self.state
        if first is None:
            first = self._first() if seed is None else int(seed)
            self.state = first, count
        return first, count

    def next(self, seed: Any) -> int:
        """The next seed of the sequence that `seed` fixes; for None the program's generator does."""
        first, count = self.begin(seed)
        if self._source is None or self._source[1] != self.state:
            source = _random.Random(first)
            for _ in range(count):
                source.getrandbits(63)
        else:
            source = self._source[0]
        found = source.getrandbits(63)
        self.state = first, count + self.again
        self._source = (source, self.state) if self.again else None
        return found

    @staticmethod
    def _first() -> int:
        with _core._Outside():
            drawn = raw_ops.random_uniform_int(_core._to_tensor([1]), 0, 2**31 - 1)
        return int(drawn[0])

    def still(self, seed: Any) -> Seeds:
        """As `seed` fixes it, always the same one: for who reads elements by their numbers."""
        found = Seeds(False)
        found.state = self.begin(seed)[0], 0
        return found

    def fresh(self) -> Seeds:
        """As it was when the data set was made."""
        return Seeds(self.again)


def elements(rows: Sequence[list[Any]]) -> Pull:
    """Elements at hand, as lists of leaves."""
    source = iter(rows)

    def pull(limit: int) -> Rows | None:
        leaves = next(source, None)
        return None if leaves is None else one(leaves)

    return pull


def at_hand(parts: Sequence[Rows]) -> Pull:
    """Elements at hand, as rows."""
    if all(c is None or isinstance(c, _core.Tensor) for rows in parts for c in rows.columns):
        return _core._Stage.at_hand(parts)
    waiting = iter(parts)
    left: Rows | None = None

    def pull(limit: int) -> Rows | None:
        nonlocal left
        rows = next(waiting, None) if left is None else left
        if rows is None:
            return None
        count = min(limit, rows.count)
        left = None if count == rows.count else rows.part(count, rows.count)
        return rows.part(0, count)

    return pull


def tensors(*leaves: Any) -> Pull:
    """One element."""
    return elements([list(leaves)])


def slices(*leaves: Any) -> Pull:
    """The rows of tensors, and of composite values that have rows."""
    counts = [int(row_count(leaf)) for leaf in leaves if leaf is not None]
    if len(set(counts)) > 1:
        raise InvalidArgumentError(
            f"from_tensor_slices: argument 'tensors' must have one first dimension, got {sorted(set(counts))}"
        )
    count = counts[0] if counts else 0
    plain = all(leaf is None or isinstance(leaf, _core.Tensor) for leaf in leaves)
    if plain and count:
        return _core._Stage.slices(count, leaves)
    at = 0

    def pull(limit: int) -> Rows | None:
        nonlocal at
        if at >= count:
            return None
        at += 1
        return one([leaf if leaf is None else row(leaf, at - 1) for leaf in leaves])

    return pull


def numbers(start: Any, stop: Any, step: Any, dtype: Any) -> Pull:
    """`start`, `start + step` and so on to before `stop`; endless where that is None."""
    start, step = int(start), int(step)
    count = None if stop is None else len(range(start, int(stop), step))
    return _core._Stage.numbers(start, step, count, dtype)


def random(seed: Any, seeds: Seeds) -> Pull:
    """Numbers from 0 to before 2**32, without end."""
    bits = np.random.PCG64(seeds.next(seed))

    def pull(limit: int) -> Rows | None:
        count = min(limit, MOST)
        return Rows(count, [_core._to_tensor((bits.random_raw(count) >> np.uint64(32)).astype(np.int64))])

    return pull


def generated(make: Callable[..., Any], structure: Structure, args: Sequence[Any]) -> Pull:
    """What an iterable that `make(*args)` returns gives, an element at a time."""
    source: Any = None

    def pull(limit: int) -> Rows | None:
        nonlocal source
        if source is None:
            source = iter(make(*(arg.numpy() for arg in args)))
        try:
            value = next(source)
        except StopIteration:
            return None
        try:
            return one(structure.leaves_of(value, "from_generator: an element that the generator gave"))
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(str(error)) from None

    return pull
