"""The stages that put elements together, and take them apart."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock import _core, raw_ops
from penstock._types.rows import row, row_count, stack_values
from penstock._types.specs import TensorSpec
from penstock._values.ragged import stacked
from penstock.data._arguments import integer
from penstock.data._functions import EachRow, Traced
from penstock.data._handles import ByHandle
from penstock.data._nested import Nested
from penstock.data._rows import Pull, Reader, Rows, joined, one
from penstock.data._specs import DatasetSpec
from penstock.data._structure import Structure, row_spec
from penstock.errors import DataLossError, InvalidArgumentError

__all__ = ["batched", "grouped", "padded", "ragged", "rebatched", "unbatched", "window_of", "windows"]

Source = Any


def batched(source: Source, batch_size: Any, drop_remainder: Any) -> Pull:
    """So many elements at a time, stacked."""
    size, drop = integer(batch_size, "batch_size", 1), bool(drop_remainder)
    pull = source._open()
    if isinstance(pull, _core._Stage):
        return pull.batched(size, drop)
    return _gathered(pull, source._structure, itertools.repeat(size), drop)


def rebatched(source: Source, sizes: Any, drop_remainder: Any) -> Pull:
    """The rows of the elements, stacked in batches whose sizes come in turn."""
    if isinstance(sizes, _core.Tensor):
        sizes = sizes.numpy().reshape(-1).tolist()
    sizes = [integer(size, "batch_size", 0) for size in sizes]
    if not sizes:
        raise InvalidArgumentError("argument 'batch_size' must hold at least one size")
    empty = _emptied(source._structure) if 0 in sizes else None
    rows = source._structure.mapped(lambda spec: row_spec(spec, "rebatch: the elements"))
    return _gathered(unbatched(source), rows, itertools.cycle(sizes), bool(drop_remainder), empty)


def _emptied(structure: Structure) -> list[Any]:
    """Leaves like those of an element, of no rows. Sizes that are not known are 0."""
    leaves = []
    for spec in structure.leaves:
        if isinstance(spec, DatasetSpec):
            leaves.append(
                Nested([], DatasetSpec(spec.element_spec, [0, *(spec.dataset_shape._dims or (0,))[1:]]))
            )
            continue
        tensors = [_no_rows(s, i, spec) for i, s in enumerate(spec.flatten())]
        leaves.append(spec.from_tensors(iter(tensors)))
    return leaves


def _no_rows(spec: Any, i: int, of: Any) -> Any:
    sizes = spec.shape._dims or (0,)
    dims = [1] if i and not isinstance(of, TensorSpec) else [0, *(d or 0 for d in sizes[1:])]
    value = "" if spec.dtype == _core.string else False if spec.dtype == _core.bool else 0
    return raw_ops.broadcast_to(_core._to_tensor(value, spec.dtype), _core._to_tensor(dims, _core.int64))


def _gathered(
    pull: Pull, structure: Structure, sizes: Any, drop: bool, empty: list[Any] | None = None
) -> Pull:
    size: int = next(sizes)
    uniform = isinstance(sizes, itertools.repeat) and structure.plain
    held: list[Rows] = []
    count = 0

    def run(limit: int) -> Rows | None:
        nonlocal held, count, size
        if size == 0 and empty is not None:
            size = next(sizes)
            return one(empty)
        while count < size:
            try:
                rows = pull(size * (limit if uniform else 1) - count)
            except BaseException:
                # What was gathered is lost, as what cannot be computed is.
                held, count = [], 0
                raise
            if rows is None:
                rest, left = held, count
                held, count = [], 0
                return None if left == 0 or drop else one(_stack(rest, structure))
            held.append(rows)
            count += rows.count
        whole = min(limit, count // size) if uniform and _alike(held) else 1
        parts, held = _split(held, whole * size)
        count -= whole * size
        leaves = _stack(parts, structure)
        batch, size = size, next(sizes)
        if whole == 1:
            return one(leaves)
        return Rows(
            whole, [c if c is None else _reshaped(c, [whole, batch, *c.shape._dims[1:]]) for c in leaves]
        )

    return run


def _split(parts: Sequence[Rows], count: int) -> tuple[list[Rows], list[Rows]]:
    """The first elements, and the rest."""
    first, rest = [], []
    for rows in parts:
        here = min(rows.count, count)
        count -= here
        if here:
            first.append(rows.part(0, here))
        if here < rows.count:
            rest.append(rows.part(here, rows.count))
    return first, rest


def _alike(parts: Sequence[Rows]) -> bool:
    """Whether all elements are stacked tensors of the same shapes."""
    return all(p.stacked for p in parts) and all(p.extents() == parts[0].extents() for p in parts[1:])


def _reshaped(tensor: Any, dims: Sequence[int]) -> Any:
    return raw_ops.reshape(tensor, _core._to_tensor(list(dims), _core.int64))


def _stack(parts: Sequence[Rows], structure: Structure) -> list[Any]:
    """The leaves of all these elements, stacked."""
    if not structure.plain:
        leaves = zip(*_elements(parts), strict=True)
        return [stack_leaves(values, spec) for values, spec in zip(leaves, structure.leaves, strict=True)]
    extents = None
    for rows in parts:
        here = rows.extents()
        if extents is not None and here != extents:
            _refuse(extents, here)
        extents = here
    return joined(parts).columns


def _elements(parts: Sequence[Rows]) -> list[list[Any]]:
    return [rows.at(i) for rows in parts for i in range(rows.count)]


def _refuse(first: list[Any], other: list[Any]) -> None:
    for i, (a, b) in enumerate(zip(first, other, strict=True)):
        if a != b:
            raise InvalidArgumentError(
                f"batch: tensors of different shapes cannot be stacked: component {i} has shape "
                f"{list(a[1])} in the first element and {list(b[1])} in another one; use padded_batch or "
                "ragged_batch"
            )


def stack_leaves(values: Sequence[Any], spec: Any) -> Any:
    """Values of a leaf as one: as `stack_values`, and data sets as a stack of them."""
    first = values[0]
    if first is None:
        return None
    return Nested.of(values) if isinstance(first, ByHandle) else stack_values(values, spec)


def ragged(
    source: Source, batch_size: Any, drop_remainder: Any, ranks: Sequence[int | None], dtype: Any
) -> Pull:
    """So many elements at a time, stacked to ragged tensors where a leaf has sizes that vary."""
    read, size, drop = Reader(source._open()), integer(batch_size, "batch_size", 1), bool(drop_remainder)

    def run(limit: int) -> Rows | None:
        gathered = _read(read, size)
        if not gathered or (drop and len(gathered) < size):
            return None
        leaves = []
        columns = zip(*gathered, strict=True)
        for rank, values, spec in zip(ranks, columns, source._structure.leaves, strict=True):
            leaves.append(stacked(values, rank, dtype) if rank else stack_leaves(values, spec))
        return one(leaves)

    return run


def _read(read: Reader, count: int) -> list[list[Any]]:
    """The leaves of the next elements: fewer at the end."""
    gathered: list[list[Any]] = []
    while len(gathered) < count and (leaves := read()) is not None:
        gathered.append(leaves)
    return gathered


def padded(source: Source, batch_size: Any, drop_remainder: Any, shapes: Sequence[Any], *values: Any) -> Pull:
    """So many elements at a time, each leaf padded to a shape, whose open sizes are those of the largest."""
    pull, size, drop = source._open(), integer(batch_size, "batch_size", 1), bool(drop_remainder)
    if isinstance(pull, _core._Stage):
        leaves = [
            None if s is None else ([n if n is None else int(n) for n in s], v)
            for s, v in zip(shapes, values, strict=True)
        ]
        return pull.padded(size, drop, leaves)
    read = Reader(pull)

    def run(limit: int) -> Rows | None:
        gathered = _read(read, size)
        if not gathered or (drop and len(gathered) < size):
            return None
        columns = zip(*gathered, strict=True)
        return one([pad(c, s, v) for c, s, v in zip(columns, shapes, values, strict=True)])

    return run


def pad(tensors: Sequence[Any], shape: Any, value: Any) -> Any:
    """Tensors stacked, each padded at its ends with a value.

    Args:
        tensors: of one rank.
        shape: the sizes to pad to, None for the largest; None for all of them.
        value: a scalar.

    Raises:
        DataLossError: for a tensor that is larger.
    """
    if tensors[0] is None:
        return None
    dims = [t.shape._dims for t in tensors]
    first = dims[0]
    for other in dims:
        if len(other) != len(first):
            raise InvalidArgumentError(
                f"padded_batch: tensors of one rank were expected, got shapes {list(first)}, {list(other)}"
            )
    if shape is not None and len(shape) != len(first):
        raise InvalidArgumentError(
            f"padded_batch: argument 'padded_shapes' has rank {len(shape)} for a component of shape "
            f"{list(first)}"
        )
    largest = [max(sizes) for sizes in zip(*dims, strict=True)]
    wanted = (
        largest
        if shape is None
        else [n if s is None else int(s) for s, n in zip(shape, largest, strict=True)]
    )
    for own in dims:
        if any(n > w for n, w in zip(own, wanted, strict=True)):
            raise DataLossError(f"padded_batch: cannot pad shape {list(own)} to the smaller shape {wanted}")
    if all(list(own) == wanted for own in dims):
        return raw_ops.stack(list(tensors))
    return raw_ops.stack([_padded(t, own, wanted, value) for t, own in zip(tensors, dims, strict=True)])


def _padded(tensor: Any, own: Sequence[int], wanted: Sequence[int], value: Any) -> Any:
    if list(own) == list(wanted):
        return tensor
    widths = [[0, w - n] for n, w in zip(own, wanted, strict=True)]
    return raw_ops.pad(tensor, _core._to_tensor(widths, _core.int64), value)


def unbatched(source: Source) -> Pull:
    """The rows of the elements."""
    pull = source._open()
    held: Rows | None = None

    def run(limit: int) -> Rows | None:
        nonlocal held
        while held is None:
            rows = pull(max(1, limit // 64))
            if rows is None:
                return None
            held = _apart(rows)
        rows = held
        count = 1 if isinstance(rows, _Composites) else min(limit, rows.count)
        held = None if count == rows.count else rows.part(count, rows.count)
        return rows.part(0, count)

    return run


def _apart(rows: Rows) -> Rows | None:
    """The rows of elements, or of the only one; None where there are none."""
    present = [c for c in rows.columns if c is not None]
    if rows.stacked:
        sizes = {c.shape._dims[1] for c in present}
    else:
        sizes = {int(row_count(c)) for c in present}
    if len(sizes) > 1:
        raise InvalidArgumentError(f"unbatch: the components of an element have {sorted(sizes)} rows")
    size = sizes.pop() if sizes else 0
    count = size * rows.count
    if count == 0:
        return None
    if rows.stacked:
        merged = [c if c is None else _reshaped(c, [count, *c.shape._dims[2:]]) for c in rows.columns]
        return Rows(count, merged)
    if all(isinstance(c, _core.Tensor) for c in present):
        return Rows(count, rows.columns)
    return _Composites(count, rows.columns)


class _Composites(Rows):
    """Elements that are the rows of composite values."""

    __slots__ = ("_start",)

    def __init__(self, count: int, columns: list[Any], start: int = 0) -> None:
        super().__init__(count, columns)
        self._start = start

    def part(self, start: int, stop: int) -> Rows:
        """One element for what can be seen, the rest of them for what is kept."""
        if start == 0:
            return one(self.at(0))
        return _Composites(self.count - 1, self.columns, self._start + 1)

    def at(self, i: int) -> list[Any]:
        """The leaves of element `i`."""
        return [c if c is None else row(c, self._start + i) for c in self.columns]


def window_of(size: Any, shift: Any, stride: Any, drop: Any) -> tuple[int, int, int, bool]:
    """The numbers of a window, checked."""
    return integer(size, "size", 1), integer(shift, "shift", 1), integer(stride, "stride", 1), bool(drop)


def windows(source: Source, size: Any, shift: Any, stride: Any, drop_remainder: Any, wrap: Any) -> Pull:
    """Data sets of elements that follow each other: for each leaf one."""
    pull, window = source._open(), window_of(size, shift, stride, drop_remainder)
    if isinstance(pull, _core._Stage):
        following = pull.windows(window)

        def collect(limit: int) -> Rows | None:
            found = following()
            return None if found is None else one(wrap(found))

        return collect
    read = Reader(pull)
    size, shift, stride, drop = window
    reach = (size - 1) * stride + 1
    # What was read, where in it the next window begins, and how many elements there are from there on.
    held: list[Rows] = []
    start = count = 0
    # How many elements in front of the next window were not read yet.
    skipped, ended = 0, False

    def run(limit: int) -> Rows | None:
        nonlocal start, count, skipped, ended
        while not ended and count < reach:
            rows = read.block()
            if rows is None:
                ended = True
            elif skipped >= rows.count:
                skipped -= rows.count
            else:
                held.append(rows)
                start, count, skipped = start + skipped, count + rows.count - skipped, 0
        if not count or (drop and count < reach):
            return None
        found = _every(held, start, min(count, reach), stride)
        past = min(shift, count)
        start, count, skipped = start + past, count - past, shift - past
        while held and start >= held[0].count:
            start -= held.pop(0).count
        return one(wrap(found))

    return run


def _every(parts: Sequence[Rows], start: int, count: int, step: int) -> list[Rows]:
    """Of `count` elements from one on the first, and each that is `step` behind one of these."""
    found, end = [], start + count
    for rows in parts:
        here = range(start, min(rows.count, end), step)
        if here:
            found.append(rows.part(start, here.stop) if step == 1 else rows.taken(np.array(here)))
            start = here[-1] + step
        start, end = start - rows.count, end - rows.count
        if end <= 0:
            break
    return found


def grouped(
    source: Source,
    key: Traced,
    reduce: Traced,
    size: Traced | None,
    fixed: Any,
    wrap: Any,
    batches: list[Any] | None,
) -> Pull:
    """The elements of what a function makes of groups of elements that have one key."""
    pull, most = source._open(), None if size is not None else integer(fixed, "window_size", 1)
    if isinstance(pull, _core._Stage) and _groups_alone(key, reduce, size):
        opened = functools.partial(_reduced, reduce, wrap)
        due: Any = most if size is None else size.for_engine()
        return pull.grouped(key.for_engine(), due, opened if batches is None else _for_engine(*batches))
    return _grouped(pull, key, reduce, size, most, wrap)


def _groups_alone(key: Traced, reduce: Traced, size: Traced | None) -> bool:
    """Whether the engine can make groups."""
    numbers = [key] if size is None else [key, size]
    plain = Structure(reduce.gives.spec.element_spec).plain
    return plain and all(number.alone and number.gives.leaves[0].shape.rank == 0 for number in numbers)


def _reduced(reduce: Traced, wrap: Any, number: int, window: Sequence[Rows]) -> Pull:
    return reduce([_core._to_tensor(number, _core.int64), wrap(window)])[0]._open()  # type: ignore[no-any-return]


def _for_engine(numbers: Traced | None, size: Any, drop: bool, pads: list[Any] | None) -> Any:
    return None if numbers is None else numbers.for_engine(), size, drop, pads


def _grouped(
    source: Pull, key: Traced, reduce: Traced, size: Traced | None, most: int | None, wrap: Any
) -> Pull:
    read, keys = Reader(source), EachRow(key)
    groups = _Groups()
    sizes: dict[int, int] = {}
    pull: Pull | None = None

    def due(number: int) -> int:
        if most is not None:
            return most
        if number not in sizes:
            found = int(size([_core._to_tensor(number, _core.int64)])[0])  # type: ignore[misc]
            if found < 1:
                raise InvalidArgumentError(f"group_by_window: the window of key {number} has size {found}")
            sizes[number] = found
        return sizes[number]

    def whole() -> int | None:
        """The key of the next group that is large enough, or that is left at the end."""
        while True:
            number = groups.grow(due)
            if number is not None:
                return number
            found = keys(lambda _: read.block(), 1)
            if found is None:
                return groups.first()
            rows, numbers = found
            column = numbers.columns[0]
            groups.put(rows, column.numpy().tolist() if numbers.stacked else [int(column)])

    def run(limit: int) -> Rows | None:
        nonlocal pull
        while True:
            if pull is not None:
                rows = pull(limit)
                if rows is not None:
                    return rows
                pull = None
            number = whole()
            if number is None:
                return None
            pull = _reduced(reduce, wrap, number, groups.take(number))

    return run


class _Groups:
    """Elements by their keys."""

    def __init__(self) -> None:
        # The elements of each key, and how many there are.
        self._parts: dict[int, list[Rows]] = {}
        self._counts: dict[int, int] = {}
        # The rows that came last; by key, which of them are in no part yet; and the keys of the rest of them.
        self._rows = one([])
        self._fresh: dict[int, list[int]] = {}
        self._waiting: Iterator[tuple[int, int]] = iter(())

    def put(self, rows: Rows, numbers: Sequence[int]) -> None:
        """Takes rows, and their keys."""
        self._rows, self._waiting = rows, enumerate(numbers)

    def grow(self, due: Callable[[int], int]) -> int | None:
        """Has the groups grow until one is as large as is `due`; its key, or None where no rows are left."""
        for i, number in self._waiting:
            self._fresh.setdefault(number, []).append(i)
            count = self._counts[number] = self._counts.get(number, 0) + 1
            if count >= due(number):
                return number
        # The rows themselves are let go of: a few of them may wait for long.
        for number in list(self._fresh):
            self._settle(number)
        return None

    def first(self) -> int | None:
        """The least key of those that there are."""
        return min(self._counts, default=None)

    def take(self, number: int) -> list[Rows]:
        """Gives the elements of a key away."""
        self._settle(number)
        del self._counts[number]
        return self._parts.pop(number)

    def _settle(self, number: int) -> None:
        indices = self._fresh.pop(number, None)
        if indices is not None:
            rows = self._rows
            part = rows if len(indices) == rows.count else rows.taken(np.array(indices))
            self._parts.setdefault(number, []).append(part)
