"""Rows: one or more elements on their way between the stages of a data set.

A *stage* is opened as a function `pull(limit)`, which gives the next rows, at most `limit` of them and at
least one, or None at the end. After an error it may be called again. Rows are stacked, each leaf of all
elements in one tensor, only where nobody can see that they were computed before they were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock.data._structure import nbytes

__all__ = ["CHUNK_BYTES", "Pull", "Reader", "Rows", "joined", "one"]

# How much memory rows that nobody has asked for may take.
CHUNK_BYTES = 1 << 20

# How many rows a reader asks for: the first ones one by one, for those who want no more.
_GROWTH = (1, 1, 1, 1, 16, 64, 256)


class Rows:
    """Elements, as the leaves of one or as columns: tensors with a row for each.

    Args:
        count: the number of elements.
        columns: a column for each leaf; None for leaves that are None.
        stacked: whether these are columns; if not, they are the leaves of the only element.
    """

    __slots__ = ("columns", "count", "stacked")

    def __init__(self, count: int, columns: list[Any], stacked: bool = True) -> None:
        self.count = count
        self.columns = columns
        self.stacked = stacked

    def part(self, start: int, stop: int) -> Rows:
        """The elements from `start` to before `stop`."""
        if stop - start == self.count:
            return self
        if stop - start == 1:
            return Rows(1, self.at(start), False)
        return Rows(stop - start, [c if c is None else c[start:stop] for c in self.columns])

    def at(self, i: int) -> list[Any]:
        """The leaves of element `i`."""
        if not self.stacked:
            return self.columns
        return [c if c is None else c[i] for c in self.columns]

    def taken(self, indices: Any) -> Rows:
        """The elements with these numbers, of which there is at least one."""
        if len(indices) == 1:
            return Rows(1, self.at(int(indices[0])), False)
        at = _core._to_tensor(indices)
        return Rows(len(indices), [c if c is None else raw_ops.gather(c, at) for c in self.columns])

    def bytes_each(self) -> int:
        """How many bytes an element has."""
        tensors = [c for c in self.columns if isinstance(c, _core.Tensor)]
        return max(1, sum(map(nbytes, tensors)) // self.count)

    def extents(self) -> list[Any]:
        """The dtype and shape of each leaf."""
        skip = 1 if self.stacked else 0
        return [c if c is None else (c.dtype, c.shape._dims[skip:]) for c in self.columns]


Pull = Callable[[int], Rows | None]


def one(leaves: list[Any]) -> Rows:
    """One element."""
    return Rows(1, leaves, False)


def as_column(column: Any) -> Any:
    """A leaf as a column of one row."""
    return column if column is None else raw_ops.expand_dims(column, axis=0)


def joined(parts: Sequence[Rows]) -> Rows:
    """The elements of several rows of tensors of the same shapes, stacked."""
    if len(parts) == 1 and parts[0].stacked:
        return parts[0]
    count = sum(p.count for p in parts)
    columns: list[Any] = []
    for i, first in enumerate(parts[0].columns):
        if first is None:
            columns.append(None)
        elif all(not p.stacked for p in parts):
            columns.append(raw_ops.stack([p.columns[i] for p in parts]))
        else:
            pieces = [p.columns[i] if p.stacked else as_column(p.columns[i]) for p in parts]
            columns.append(raw_ops.concat(pieces, axis=0))
    return Rows(count, columns)


class Reader:
    """Reads one element after the other, from rows that become longer.

    Args:
        pull: an open stage.
    """

    __slots__ = ("_at", "_pull", "_pulls", "_rows")

    def __init__(self, pull: Pull) -> None:
        self._pull = pull
        self._rows: Rows | None = None
        self._at = 0
        self._pulls = 0

    def __call__(self) -> list[Any] | None:
        """The leaves of the next element; None at the end."""
        if self._rows is None and not self.peek():
            return None
        rows, at = self._rows, self._at
        assert rows is not None
        if at + 1 == rows.count:
            self._rows = None
        else:
            self._at = at + 1
        return [c if c is None else c[at] for c in rows.columns] if rows.stacked else rows.columns

    def peek(self) -> bool:
        """Whether there is another element."""
        if self._rows is None:
            limit = _GROWTH[min(self._pulls, len(_GROWTH) - 1)]
            self._rows, self._at = self._pull(limit), 0
            if self._rows is not None and (
                # Also where one row is all that fits.
                self._rows.bytes_each() * limit * 4 <= CHUNK_BYTES if self._rows.stacked else limit == 1
            ):
                self._pulls += 1
        return self._rows is not None

    def block(self) -> Rows | None:
        """The next elements, as many as nobody can see being read; None at the end."""
        if not self.peek():
            return None
        rows, self._rows = self._rows, None
        return rows if rows is None else rows.part(self._at, rows.count)
