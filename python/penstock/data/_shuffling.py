"""The stage that shuffles."""

from __future__ import annotations

import math
import random
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock.data._arguments import integer
from penstock.data._rows import Pull, Rows, one
from penstock.errors import InvalidArgumentError, ResourceExhaustedError

__all__ = ["buffer", "shuffled"]


# What stands for as many elements as there are, and for elements without end.
_ALL, _INFINITE = -2, -1

# Up to how many bytes elements are kept in one piece.
_PIECE = 1 << 26

# After how many seconds of filling its buffer `shuffle` says so.
_SECONDS = 10.0


def shuffled(source: Any, buffer_size: Any, seed: Any, seeds: Any) -> Pull:
    """The elements in an order that is drawn from a buffer of the next ones."""
    first = seeds.next(seed)
    size = buffer(buffer_size)
    if size == math.inf and source._size() == _INFINITE:
        raise InvalidArgumentError("shuffle: argument 'buffer_size' says all elements, which have no end")
    pull = source._open()
    if isinstance(pull, _core._Stage):
        return pull.shuffled(first, None if size == math.inf else int(size), str(int(buffer_size)))
    draw = random.Random(first).random
    pool = _Pool()
    # The slots in the buffer, and of elements that are read already and come into it next.
    order = array("q")
    ahead: deque[int] = deque()
    ended = False
    error: Exception | None = None

    def fill(limit: int) -> None:
        """Reads what the next `limit` elements are drawn from, but the last of them only."""
        nonlocal ended, error
        due = time.monotonic() + _SECONDS
        while not ended and error is None:
            while ahead and len(order) < size:
                order.append(ahead.popleft())
            wanted = size - len(order) - len(ahead) + (limit - 1 if pool.stacked else 0)
            if wanted <= 0:
                return
            if time.monotonic() > due:
                due += _SECONDS
                _log(len(order), size)
            try:
                rows = pull(min(wanted, sys.maxsize))
                if rows is not None:
                    ahead.extend(pool.put(rows))
            except MemoryError:
                error = ResourceExhaustedError(
                    f"shuffle: argument 'buffer_size' is {buffer_size}, there is no memory for more than "
                    f"{len(order)} elements"
                )
            except Exception as raised:
                error = raised
            else:
                ended = rows is None

    def run(limit: int) -> Rows | None:
        nonlocal error
        fill(limit)
        out: list[int] = []
        for _ in range(limit if pool.stacked else 1):
            while ahead and len(order) < size:
                order.append(ahead.popleft())
            if error is not None and len(order) < size:
                if out:
                    break
                raised, error = error, None
                raise raised
            if not order:
                break
            at = int(draw() * len(order))
            out.append(order[at])
            order[at] = order[-1]
            order.pop()
        return pool.get(out) if out else None

    return run


def buffer(size: Any) -> float:
    """How many elements to draw from."""
    number = integer(size, "buffer_size")
    if number == _ALL:
        return math.inf
    if number < 1:
        raise InvalidArgumentError(
            f"argument 'buffer_size' must be at least 1, or UNKNOWN_CARDINALITY for all, got {number}"
        )
    return number  # type: ignore[no-any-return]


def _log(count: int, size: float) -> None:
    import logging  # start-up does without it

    of = "" if size == math.inf else f" of {size}"
    logging.getLogger("penstock").warning(
        "Filling up shuffle buffer (this may take a while): %d%s", count, of
    )


class _Pool:
    """Slots for elements."""

    def __init__(self) -> None:
        self._separated = False
        # For each leaf, arrays of so many elements each; only the first of them grows.
        self._pieces: list[list[Any]] = []
        self._each = 1
        self._dtypes: list[Any] = []
        self._extents: list[Any] = []
        self._free: list[int] = []
        self._size = 0
        # Elements one by one, where they are not stacked.
        self._items: dict[int, list[Any]] = {}
        self._next = 0

    @property
    def stacked(self) -> bool:
        """Whether the elements came stacked: nobody sees how many are read."""
        return bool(self._pieces)

    def put(self, rows: Rows) -> list[int]:
        """Takes elements; the slots that they get."""
        if not self._separated and not (rows.stacked and self._fits(rows)):
            self._separate()
        if self._separated:
            slots = list(range(self._next, self._next + rows.count))
            self._next += rows.count
            self._items.update((slot, rows.at(i)) for i, slot in enumerate(slots))
            return slots
        while len(self._free) < rows.count:
            self._widen()
        slots = [self._free.pop() for _ in range(rows.count)]
        for which, here, within in self._located(slots):
            for pieces, column in zip(self._pieces, rows.columns, strict=True):
                pieces[which][within] = column.numpy()[here]
        return slots

    def get(self, slots: list[int]) -> Rows:
        """Gives elements away."""
        if self._separated:
            return one(self._items.pop(slots[0]))
        self._free.extend(slots)
        columns = []
        for pieces, dtype in zip(self._pieces, self._dtypes, strict=True):
            found = np.empty((len(slots), *pieces[0].shape[1:]), pieces[0].dtype)
            for which, here, within in self._located(slots):
                found[here] = pieces[which][within]
            columns.append(_core._to_tensor(found, dtype))
        return Rows(len(slots), columns)

    def _located(self, slots: list[int]) -> Iterator[tuple[int, Any, Any]]:
        """Where slots are: a piece, which of them are in it, and where in it."""
        if self._size <= self._each:
            yield 0, slice(None), slots
            return
        piece, within = np.divmod(np.array(slots), self._each)
        for which in np.unique(piece).tolist():
            here = np.flatnonzero(piece == which)
            yield which, here, within[here]

    def _fits(self, rows: Rows) -> bool:
        extents = rows.extents()
        if not self._pieces:
            plain = all(
                c is not None and c.dtype not in (_core.bfloat16, _core.variant) for c in rows.columns
            )
            if not plain or not rows.columns:
                return False
            self._extents = extents
            self._each = max(1, _PIECE // rows.bytes_each())
            self._dtypes = [c.dtype for c in rows.columns]
            self._pieces = [[np.empty((0, *c.shape._dims[1:]), c.numpy().dtype)] for c in rows.columns]
        return extents == self._extents

    def _widen(self) -> None:
        size = (
            min(max(16, 2 * self._size), self._each) if self._size < self._each else self._size + self._each
        )
        for pieces in self._pieces:
            last = pieces[0]
            fresh = np.empty((min(size, self._each), *last.shape[1:]), last.dtype)
            if self._size < self._each:
                fresh[: self._size] = last
                pieces[0] = fresh
            else:
                pieces.append(fresh)
        self._free.extend(range(size - 1, self._size - 1, -1))
        self._size = size

    def _separate(self) -> None:
        """Goes over to elements one by one."""
        for slot in set(range(self._size)) - set(self._free):
            piece, within = divmod(slot, self._each)
            columns = zip(self._pieces, self._dtypes, strict=True)
            self._items[slot] = [_core._to_tensor(pieces[piece][within], dtype) for pieces, dtype in columns]
        self._separated, self._next = True, self._size
        self._pieces = []
