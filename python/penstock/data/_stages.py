"""The stages that pass elements on, change them, or choose among them."""

from __future__ import annotations

import functools
import itertools
import random
import threading
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.data._arguments import integer
from penstock.data._functions import EachRow, Traced
from penstock.data._rows import CHUNK_BYTES, Pull, Reader, Rows, as_column, joined, one
from penstock.data._sources import MOST
from penstock.data._structure import Structure
from penstock.data._threads import AUTOTUNE, Ahead, Call, Crew, count_of, processors
from penstock.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError

__all__ = [
    "Store",
    "cached",
    "chosen",
    "concatenate",
    "counted",
    "drawn",
    "drawn_by",
    "filtered",
    "flat_mapped",
    "gives_plain",
    "interleaved",
    "mapped",
    "numbered",
    "passed",
    "prefetched",
    "repeat",
    "resampled",
    "scanned",
    "sharded",
    "skip",
    "skip_in",
    "take",
    "take_while",
    "unique",
    "without_errors",
    "zipped",
]

# A data set that a stage takes elements from.
Source = Any


def mapped(source: Source, function: Traced, calls: Any = None, in_order: bool = True) -> Pull:
    """The results of a function, of which so many calls run at once."""
    pull = source._open()
    if calls is not None and not function.pure and (count := count_of(calls)) > 1:
        return _mapped_by(pull, function, count, in_order)
    if isinstance(pull, _core._Stage) and function.alone:
        return pull.mapped(function.for_engine())
    each = EachRow(function)

    def run(limit: int) -> Rows | None:
        found = each(pull, limit)
        return None if found is None else found[1]

    return run


def _mapped_by(pull: Pull, function: Traced, count: int, in_order: bool) -> Pull:
    crew, calls, ended = Crew(count), list[Call](), False

    def run(limit: int) -> Rows | None:
        nonlocal ended
        while not ended and len(calls) < count:
            try:
                rows = pull(1)
            except Exception as error:
                calls.append(Call(error))
                continue
            if rows is None:
                ended = True
            else:
                calls.append(crew.call(function, rows.at(0)))
        if not calls:
            return None
        call = crew.wait(calls, in_order)
        calls.remove(call)
        return one(call.result())

    return run


def filtered(source: Source, predicate: Traced) -> Pull:
    """The elements for which a predicate holds."""
    pull = source._open()
    if isinstance(pull, _core._Stage) and predicate.alone and predicate.gives.leaves[0].shape.rank == 0:
        return pull.mapped(predicate.for_engine(), filters=True)
    each = EachRow(predicate)

    def run(limit: int) -> Rows | None:
        while True:
            found = each(pull, limit)
            if found is None:
                return None
            rows, flags = found
            if not flags.stacked:
                if bool(flags.columns[0]):
                    return rows
                continue
            kept = np.flatnonzero(flags.columns[0].numpy())
            if len(kept) == rows.count:
                return rows
            if len(kept):
                return rows.taken(kept)

    return run


def take_while(source: Source, predicate: Traced) -> Pull:
    """The elements before the first for which a predicate does not hold."""
    pull, each, ended = source._open(), EachRow(predicate), False

    def run(limit: int) -> Rows | None:
        nonlocal ended
        found = None if ended else each(pull, limit)
        if found is None:
            return None
        rows, flags = found
        if not flags.stacked:
            count = int(bool(flags.columns[0]))
        else:
            ends = np.flatnonzero(~flags.columns[0].numpy())
            count = int(ends[0]) if len(ends) else rows.count
        ended = count < rows.count
        return rows.part(0, count) if count else None

    return run


def take(source: Source, count: Any) -> Pull:
    """The first elements; all for a negative number."""
    left = int(count)
    pull: Pull = source._open()
    if left < 0:
        return pull
    if isinstance(pull, _core._Stage):
        return pull.taken(left)

    def run(limit: int) -> Rows | None:
        nonlocal left
        rows = pull(min(limit, left)) if left > 0 else None
        if rows is not None:
            left -= rows.count
        return rows

    return run


def skip(source: Source, count: Any) -> Pull:
    """What comes after the first elements; nothing for a negative number."""
    if (left := int(count)) < 0:
        return lambda limit: None
    return skip_in(source._open(), left)


def skip_in(pull: Pull, left: int) -> Pull:
    """What a stage gives after its first elements."""
    if isinstance(pull, _core._Stage):
        return pull.skipped(left)
    most = 16

    def run(limit: int) -> Rows | None:
        nonlocal left, most
        while left > 0:
            rows = pull(min(left, most))
            if rows is None:
                return None
            left -= rows.count
            most = max(1, CHUNK_BYTES // rows.bytes_each())
        return pull(limit)

    return run


def repeat(source: Source, count: Any) -> Pull:
    """The elements over and over, so many times; without end for a negative number."""
    left = int(count)
    pull: Pull | None = None
    some = True

    def run(limit: int) -> Rows | None:
        nonlocal left, pull, some
        while True:
            if pull is None:
                # An endless repetition of nothing is nothing.
                if left == 0 or not some:
                    return None
                pull, some = source._open(), left > 0
                left -= 1
            rows = pull(limit)
            if rows is not None:
                some = True
                return rows
            pull = None
            if not some or source._size() == 0:
                left = 0

    return run


def concatenate(*sources: Source) -> Pull:
    """The elements of one data set after the other."""
    waiting = iter(sources)
    pull: Pull | None = None

    def run(limit: int) -> Rows | None:
        nonlocal pull
        while True:
            if pull is None:
                following = next(waiting, None)
                if following is None:
                    return None
                pull = following._open()
            rows = pull(limit)
            if rows is not None:
                return rows
            pull = None

    return run


def zipped(*sources: Source) -> Pull:
    """The leaves of an element of each data set together."""
    pulls: list[Pull] = [source._open() for source in sources]
    # What was read of one and has no partners yet.
    held: list[Rows | None] = [None] * len(pulls)
    ended = False

    def run(limit: int) -> Rows | None:
        nonlocal ended
        error: Exception | None = None
        count = min([limit, *(r.count for r in held if r is not None)])
        for i, pull in enumerate(pulls):
            if ended:
                return None
            if held[i] is None:
                try:
                    held[i] = pull(count)
                except Exception as raised:
                    error = error or raised
                    continue
            rows = held[i]
            if rows is None:
                ended = True
                return None
            count = min(count, rows.count)
        if error is not None:
            # The others have lost the partner of an element.
            for i, rows in enumerate(held):
                held[i] = None if rows is None or rows.count == 1 else rows.part(1, rows.count)
            raise error
        parts = []
        for i, rows in enumerate(held):
            assert rows is not None
            parts.append(rows.part(0, count))
            held[i] = rows.part(count, rows.count) if rows.count > count else None
        if count == 1:
            return one([leaf for part in parts for leaf in part.at(0)])
        return Rows(count, [column for part in parts for column in part.columns])

    return run


def numbered(source: Source, start: Any) -> Pull:
    """The elements, each behind its number."""
    at = int(start)
    pull: Pull = source._open()

    def run(limit: int) -> Rows | None:
        nonlocal at
        rows = pull(limit)
        if rows is None:
            return None
        first, at = at, at + rows.count
        if not rows.stacked:
            return one([_core._to_tensor(first, _core.int64), *rows.columns])
        return Rows(rows.count, [_core._to_tensor(np.arange(first, at)), *rows.columns])

    return run


def sharded(source: Source, num_shards: Any, index: Any) -> Pull:
    """Every so manieth element."""
    shards, wanted = integer(num_shards, "num_shards", 1), integer(index, "index", 0)
    pull: Pull = source._open()
    at = 0

    def run(limit: int) -> Rows | None:
        nonlocal at
        while True:
            rows = pull(limit * shards)
            if rows is None:
                return None
            first, at = (wanted - at) % shards, at + rows.count
            kept = np.arange(first, rows.count, shards)
            if len(kept):
                return rows if len(kept) == rows.count else rows.taken(kept)

    return run


class Store:
    """The elements that `cache` keeps, once it has seen all of them."""

    def __init__(self) -> None:
        self.rows: list[Rows] | None = None

    def fresh(self) -> Store:
        """As it was when the data set was made."""
        return Store()


def cached(source: Source, store: Store) -> Pull:
    """The elements, which are computed once."""
    if store.rows is not None:
        return _replayed(store.rows)
    pull: Pull = source._open()
    size, count = source._size(), 0
    seen: list[Rows] | None = []

    def run(limit: int) -> Rows | None:
        nonlocal seen, count
        try:
            rows = pull(limit)
        except BaseException:
            # What cannot be computed is missing from what was seen.
            seen = None
            raise
        if seen is not None:
            if rows is not None:
                seen.append(rows)
                count += rows.count
            if rows is None or count == size:
                if store.rows is None:
                    store.rows = list(_consolidated(seen))
                seen = None
        return rows

    return run


def _consolidated(seen: Sequence[Rows]) -> Iterator[Rows]:
    """Rows of the same shapes in longer pieces."""
    piece: list[Rows] = []
    size = 0
    for rows in seen:
        alike = piece and all(isinstance(c, _core.Tensor) for c in rows.columns if c is not None)
        alike = alike and rows.extents() == piece[0].extents() and rows.columns[0] is not None
        if piece and (not alike or size >= CHUNK_BYTES):
            yield joined(piece) if len(piece) > 1 else piece[0]
            piece, size = [], 0
        if not all(
            c is None or (isinstance(c, _core.Tensor) and c.dtype != _core.variant) for c in rows.columns
        ):
            yield rows
            continue
        piece.append(rows)
        size += rows.bytes_each() * rows.count
    if piece:
        yield joined(piece) if len(piece) > 1 else piece[0]


def _replayed(kept: Sequence[Rows]) -> Pull:
    number, at = 0, 0

    def run(limit: int) -> Rows | None:
        nonlocal number, at
        if number == len(kept):
            return None
        rows = kept[number]
        start, stop = at, min(rows.count, at + limit)
        number, at = (number + 1, 0) if stop == rows.count else (number, stop)
        return rows.part(start, stop)

    return run


def passed(source: Source, *_: Any) -> Pull:
    """The elements as they are."""
    return source._open()  # type: ignore[no-any-return]


# How many elements `prefetch` reads ahead where it is not said.
_AHEAD = 2


def prefetched(source: Source, buffer_size: Any) -> Pull:
    """The elements, which a thread reads ahead."""
    pull, size = source._open(), integer(buffer_size, "buffer_size", -1)
    if size == 0:
        return pull  # type: ignore[no-any-return]
    size = _AHEAD if size < 0 else size
    return pull.ahead(size) if isinstance(pull, _core._Stage) else Ahead(lambda: pull, size)


def unique(source: Source) -> Pull:
    """The elements that did not come before."""
    pull = source._open()
    if isinstance(pull, _core._Stage):
        return pull.unique()
    read: Pull = pull
    seen: set[Any] = set()

    def run(limit: int) -> Rows | None:
        while (rows := read(limit)) is not None:
            fresh = []
            for i, key in enumerate(_keys(rows)):
                if key not in seen:
                    seen.add(key)
                    fresh.append(i)
            if len(fresh) == rows.count:
                return rows
            if fresh:
                return rows.taken(np.array(fresh))
        return None

    return run


def _keys(rows: Rows) -> Iterable[Any]:
    """For each element what it is equal by: shapes and bytes."""
    if not rows.columns:
        return [()] * rows.count
    columns = rows.columns if rows.stacked else map(as_column, rows.columns)
    return zip(*(_contents(c, rows.count) for c in columns), strict=True)


def _contents(column: Any, count: int) -> list[Any]:
    """For each row of a column its shape and content."""
    if column is None:
        return [None] * count
    values, shape = column.numpy(), tuple(column.shape._dims[1:])
    if column.dtype == _core.string:
        return [(shape, repr(row.tolist() if shape else row)) for row in values]
    return [(shape, row.tobytes()) for row in values]


def scanned(source: Source, function: Traced, size: int, *state: Any) -> Pull:
    """What a function gives for a state and an element, beside the next state, whose leaves come first."""
    read, held = Reader(source._open()), list(state)

    def run(limit: int) -> Rows | None:
        nonlocal held
        leaves = read()
        if leaves is None:
            return None
        found = function([*held, *leaves])
        held = found[:size]
        return one(found[size:])

    return run


def without_errors(source: Source, log_warning: bool) -> Pull:
    """The elements that can be computed."""
    pull: Pull = source._open()

    def run(limit: int) -> Rows | None:
        while True:
            try:
                return pull(limit)
            except OutOfRangeError:
                raise
            except Exception as error:
                if log_warning:
                    warnings.warn(f"an error in a data set was ignored: {error}", stacklevel=2)

    return run


def counted(source: Source, expected: Any) -> Pull:
    """The elements, of which there must be as many as is said."""
    pull: Pull = source._open()
    left, found = int(expected), ""

    def run(limit: int) -> Rows | None:
        nonlocal left, found
        rows = None if found else pull(limit)
        if rows is not None and rows.count <= left:
            left -= rows.count
            return rows
        if rows is not None and left > 0:
            # The error comes in place of the next element.
            rows, left = rows.part(0, left), -1
            return rows
        if not found and (left or rows is not None):
            found = "more" if rows is not None or left < 0 else f"only {int(expected) - left}"
            raise FailedPreconditionError(
                f"assert_cardinality: argument 'expected_cardinality' says {int(expected)}, there are "
                f"{found} elements"
            )
        return None

    return run


def resampled(source: Source, classes: Traced, target: Any, initial: Any, seed: Any, seeds: Any) -> Pull:
    """The elements, each behind its class: some are left out, so that classes come as often as asked."""
    read, draw = Reader(source._open()), random.Random(seeds.next(seed)).random
    wanted = target.numpy().astype(np.float64)
    # How often each class came, where that is not known before.
    counts = np.ones(len(wanted)) if initial is None else initial.numpy().astype(np.float64)

    def run(limit: int) -> Rows | None:
        while (leaves := read()) is not None:
            number = int(classes(leaves)[0])
            if not 0 <= number < len(wanted):
                raise InvalidArgumentError(
                    f"rejection_resample: argument 'class_func' gave {number}, there are {len(wanted)} "
                    "classes"
                )
            if initial is None:
                counts[number] += 1
            ratios = np.divide(wanted, counts, out=np.zeros_like(wanted), where=counts > 0)
            if draw() * ratios.max() < ratios[number]:
                return one([_core._to_tensor(number, classes.gives.leaves[0].dtype), *leaves])
        return None

    return run


def interleaved(
    source: Source, function: Traced, cycle_length: Any, block_length: Any, calls: Any = None
) -> Pull:
    """The elements of the data sets that a function gives, a block from each of a few in turn."""
    block = integer(block_length, "block_length", 1)
    length = integer(cycle_length, "cycle_length", -1)
    length = processors() if length == AUTOTUNE else integer(length, "cycle_length", 1)
    count = 0 if calls is None else count_of(calls)
    pull = source._open()
    if function.takes.plain and gives_plain(function):
        opened = functools.partial(_opened, function)
        return _engine(pull).interleaved(opened, length, block, count or None)
    read = Reader(pull)
    cycle: list[Pull | None] = [None] * length
    gate = threading.Semaphore(max(1, count))
    # Those that threads have begun with before it is their turn.
    begun: deque[Pull] = deque()
    place, left, ended = 0, block, False

    def following() -> Pull | None:
        """The next data set, opened."""
        nonlocal ended
        if count == 0:
            leaves = read()
            ended = leaves is None
            return None if leaves is None else _opened(function, leaves)
        while len(begun) <= count and not ended:
            try:
                leaves = read()
            except Exception as error:
                begun.append(_Failing(error))
                break
            if leaves is None:
                ended = True
                break
            ahead = Ahead(functools.partial(_opened, function, leaves), block, gate)
            ahead.start()
            begun.append(ahead)
        return begun.popleft() if begun else None

    def run(limit: int) -> Rows | None:
        nonlocal place, left
        while True:
            pull = cycle[place]
            if pull is None and (begun or not ended):
                pull = cycle[place] = following()
                if pull is None:
                    continue
            if pull is not None:
                try:
                    rows = pull(min(limit, left))
                except Exception:
                    if not getattr(pull, "made", True):
                        cycle[place] = None
                    raise
                if rows is not None:
                    left -= rows.count
                    if left == 0:
                        place, left = (place + 1) % len(cycle), block
                    return rows
                cycle[place] = None
            elif not any(cycle):
                return None
            place, left = (place + 1) % len(cycle), block

    return run


def gives_plain(function: Traced) -> bool:
    """Whether a function gives data sets of elements whose leaves are tensors and None."""
    return Structure(function.gives.spec.element_spec).plain


def _engine(pull: Pull) -> _core._Stage:
    """A stage as one of the engine's, in whatever language it is."""
    return pull if isinstance(pull, _core._Stage) else _core._Stage.over(pull)


def _opened(function: Traced, leaves: list[Any]) -> Pull:
    return function(leaves)[0]._open()  # type: ignore[no-any-return]


class _Failing:
    """A stage that could not be opened."""

    made = False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, limit: int) -> Rows | None:
        raise self._error


def flat_mapped(source: Source, function: Traced) -> Pull:
    """The elements of the data sets that a function gives, one set after the other."""
    opened = source._open()
    if function.takes.plain and gives_plain(function):
        return _engine(opened).flat_mapped(functools.partial(_opened, function))
    read = Reader(opened)
    pull: Pull | None = None

    def run(limit: int) -> Rows | None:
        nonlocal pull
        while True:
            if pull is None:
                leaves = read()
                if leaves is None:
                    return None
                pull = function(leaves)[0]._open()
            rows = pull(limit)
            if rows is not None:
                return rows
            pull = None

    return run


def chosen(choices: Source, stop_on_empty: bool, *sources: Source) -> Pull:
    """The next element of the data set whose number a data set gives."""
    read = Reader(choices._open())
    pulls: list[Pull | None] = [source._open() for source in sources]

    def run(limit: int) -> Rows | None:
        while any(pulls):
            leaves = read()
            if leaves is None:
                return None
            number = int(leaves[0])
            if not 0 <= number < len(pulls):
                raise InvalidArgumentError(
                    f"choose_from_datasets: argument 'choice_dataset' gave {number}, there are "
                    f"{len(pulls)} data sets"
                )
            pull = pulls[number]
            rows = None if pull is None else pull(1)
            if rows is not None:
                return rows
            if stop_on_empty:
                pulls[:] = []
            else:
                pulls[number] = None
        return None

    return run


def drawn(seed: Any, seeds: Any, *weights: Any) -> Pull:
    """Numbers that are drawn by weight, without end."""
    chances = np.concatenate([np.atleast_1d(_floats(weight)) for weight in weights])
    return _drawn(seed, seeds, itertools.repeat(chances), MOST)


def drawn_by(source: Source, seed: Any, seeds: Any) -> Pull:
    """A number for each element: one that is drawn by these weights."""
    read = Reader(source._open())
    return _drawn(seed, seeds, (_floats(leaves[0]) for leaves in iter(read, None)), 1)


def _floats(weights: Any) -> Any:
    return np.asarray(weights.numpy() if isinstance(weights, _core.Tensor) else weights, np.float64)


def _drawn(seed: Any, seeds: Any, chances: Iterator[Any], most: int) -> Pull:
    source = random.Random(seeds.next(seed))

    def run(limit: int) -> Rows | None:
        weights = next(chances, None)
        if weights is None:
            return None
        if not (weights >= 0).all() or not weights.sum() > 0:
            raise InvalidArgumentError(
                f"sample_from_datasets: argument 'weights' must hold a chance above 0, got {weights}"
            )
        cumulative = np.cumsum(weights)
        draws = np.array([source.random() for _ in range(min(limit, most))]) * cumulative[-1]
        numbers = np.searchsorted(cumulative, draws, side="right")
        # The last one that has a chance, where rounding leads behind it.
        numbers = np.minimum(numbers, np.flatnonzero(weights)[-1]).astype(np.int64)
        return Rows(len(numbers), [_core._to_tensor(numbers)])

    return run
