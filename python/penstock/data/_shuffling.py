"""The stage that shuffles."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np

from penstock import _core
from penstock.data._arguments import integer
from penstock.data._rows import Pull, Rows, one

__all__ = ["shuffled"]


def shuffled(source: Any, buffer_size: Any, seed: Any, seeds: Any) -> Pull:
    """The elements in an order that is drawn from a buffer of the next ones."""
    draw = random.Random(seeds.next(seed)).random
    pull, size = source._open(), integer(buffer_size, "buffer_size", 1)
    pool = _Pool()
    # The slots in the buffer, and of elements that are read already and come into it next.
    order: list[int] = []
    ahead: deque[int] = deque()
    ended = False
    error: Exception | None = None

    def read(limit: int) -> None:
        """Reads what the next `limit` elements are drawn from, but the last of them only."""
        nonlocal ended, error
        while not ended and error is None:
            wanted = size - len(order) - len(ahead) + (limit - 1 if pool.stacked else 0)
            if wanted <= 0:
                return
            try:
                rows = pull(wanted)
            except Exception as raised:
                error = raised
                return
            if rows is None:
                ended = True
            else:
                ahead.extend(pool.put(rows))

    def run(limit: int) -> Rows | None:
        nonlocal error
        read(limit)
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


class _Pool:
    """Slots for elements."""

    def __init__(self) -> None:
        self._separated = False
        self._arrays: list[Any] = []
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
        return bool(self._arrays)

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
            self._widen(rows.count)
        slots = [self._free.pop() for _ in range(rows.count)]
        for array, column in zip(self._arrays, rows.columns, strict=True):
            array[slots] = column.numpy()
        return slots

    def get(self, slots: list[int]) -> Rows:
        """Gives elements away."""
        if self._separated:
            return one(self._items.pop(slots[0]))
        self._free.extend(slots)
        columns = [
            _core._convert(array[slots], dtype)
            for array, dtype in zip(self._arrays, self._dtypes, strict=True)
        ]
        return Rows(len(slots), columns)

    def _fits(self, rows: Rows) -> bool:
        extents = rows.extents()
        if not self._arrays:
            plain = all(
                c is not None and c.dtype not in (_core.bfloat16, _core.variant) for c in rows.columns
            )
            if not plain or not rows.columns:
                return False
            self._extents = extents
            self._dtypes = [c.dtype for c in rows.columns]
            self._arrays = [np.empty((0, *c.shape.dims[1:]), c.numpy().dtype) for c in rows.columns]
        return extents == self._extents

    def _widen(self, more: int) -> None:
        size = max(2 * self._size, self._size + more)
        self._arrays = [
            np.concatenate([a, np.empty((size - self._size, *a.shape[1:]), a.dtype)]) for a in self._arrays
        ]
        self._free.extend(range(size - 1, self._size - 1, -1))
        self._size = size

    def _separate(self) -> None:
        """Goes over to elements one by one."""
        free = set(self._free)
        for slot in range(self._size):
            if slot not in free:
                columns = zip(self._arrays, self._dtypes, strict=True)
                self._items[slot] = [_core._convert(a[slot], dtype) for a, dtype in columns]
        self._separated, self._next = True, self._size
        self._arrays = []
