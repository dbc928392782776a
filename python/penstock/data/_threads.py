"""Threads that compute elements before they are asked for.

They are daemons that share no more than a buffer with the iterator that they work for: so they end with it,
and a program ends without waiting for them. What they draw of random numbers comes from streams of their own,
which the program's generator fixes, so that the elements do not depend on who is quicker.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core
from penstock.data._arguments import integer
from penstock.data._rows import Pull, Rows
from penstock.errors import FailedPreconditionError, InvalidArgumentError

__all__ = ["AUTOTUNE", "Ahead", "Call", "Crew", "count_of", "processors", "workers"]

AUTOTUNE = -1


def processors() -> int:
    """The number of processors that the program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(value: Any) -> Any:
    """An argument `num_parallel_calls`, checked: None, `AUTOTUNE`, or a number from 1 on.

    Raises:
        TypeError: where it is no integer.
        InvalidArgumentError: for other numbers.
    """
    if value is None:
        return None
    number = integer(value, "num_parallel_calls")
    if isinstance(number, int) and number < 1 and number != AUTOTUNE:
        raise InvalidArgumentError(
            f"argument 'num_parallel_calls' must be at least 1, or AUTOTUNE, got {number}"
        )
    return number


def count_of(number: Any) -> int:
    """How many calls run at once, of a value that `workers` gave."""
    return processors() if (found := int(workers(number))) == AUTOTUNE else found


def _start(target: Callable[..., None], *args: Any) -> bool:
    """Starts a thread; False where there can be none, as when the program ends."""
    try:
        threading.Thread(target=target, args=args, name="penstock-data", daemon=True).start()
    except RuntimeError:
        return False
    return True


class _Buffer:
    """What a thread has read and nobody has taken."""

    def __init__(self, size: int) -> None:
        self.changed = threading.Condition()
        self.items: deque[Rows | BaseException] = deque()
        self.size = size
        # How many elements there are, and how many were asked for at once.
        self.count = 0
        self.limit = 1
        # Whether nobody asks any more, whether there are no more, and whether the stage could not be opened.
        self.closed = False
        self.ended = False
        self.failed = False


def _fill(buffer: _Buffer, make: Callable[[], Pull], stream: int, gate: Any) -> None:
    _core._draw_from(stream, 0)
    pull: Pull | None = None
    while True:
        with buffer.changed:
            buffer.changed.wait_for(lambda: buffer.closed or buffer.count < buffer.size)
            if buffer.closed:
                return
            limit = buffer.limit
        found: Rows | BaseException | None
        try:
            with gate:
                if pull is None:
                    pull = make()
                found = pull(limit)
        except BaseException as error:
            found = error
        with buffer.changed:
            buffer.failed = pull is None
            buffer.ended = buffer.failed or found is None
            if found is not None:
                buffer.items.append(found)
                buffer.count += found.count if isinstance(found, Rows) else 1
            buffer.changed.notify_all()
            if buffer.ended or buffer.closed:
                return
        del found


class Ahead:
    """The rows of a stage, which a thread reads before they are asked for. It begins when it is first called.

    Args:
        make: opens the stage, in the thread.
        size: how many elements at most are read ahead, where somebody can see that they are read.
        gate: what the thread holds while it computes, if any.

    Attributes:
        made: whether the stage could be opened, as far as it is known.
    """

    def __init__(self, make: Callable[[], Pull], size: int, gate: Any = None) -> None:
        self._make = make
        self._buffer = _Buffer(size)
        self._gate = threading.Lock() if gate is None else gate
        self._stream = _core._new_stream()
        # The process that the thread is of, and the stage where there is no thread.
        self._process: int | None = None
        self._pull: Pull | None = None
        self.made = True

    def start(self) -> None:
        """Has the thread begin."""
        if self._process is None:
            self._process = os.getpid()
            if not _start(_fill, self._buffer, self._make, self._stream, self._gate):
                self._pull = self._make()

    def __call__(self, limit: int) -> Rows | None:
        """The next rows; None at the end."""
        self.start()
        if self._pull is not None:
            return self._pull(limit)
        if self._process != os.getpid():
            raise FailedPreconditionError(
                "an iterator whose elements a thread computes ahead has no such thread in a forked process: "
                "make the iterator there"
            )
        buffer = self._buffer
        with buffer.changed:
            buffer.limit = limit
            buffer.changed.wait_for(lambda: buffer.items or buffer.ended)
            if not buffer.items:
                return None
            found = buffer.items.popleft()
            if isinstance(found, Rows):
                if found.count > limit:
                    buffer.items.appendleft(found.part(limit, found.count))
                    found = found.part(0, limit)
                buffer.count -= found.count
            else:
                buffer.count -= 1
            buffer.changed.notify_all()
            self.made = not buffer.failed
        if isinstance(found, Rows):
            return found
        try:
            raise found
        finally:
            del found

    def __del__(self) -> None:
        with self._buffer.changed:
            self._buffer.closed = True
            self._buffer.changed.notify_all()


class Call:
    """A call that a crew makes."""

    __slots__ = ("done", "error", "value")

    def __init__(self, error: BaseException | None = None) -> None:
        self.done = error is not None
        self.error = error
        self.value: Any = None

    def result(self) -> Any:
        """What the call gave.

        Raises:
            BaseException: what it raised.
        """
        if self.error is not None:
            raise self.error
        return self.value


class _Tasks:
    """What the threads of a crew share."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: deque[tuple[Call, Callable[..., Any], Any, int]] = deque()
        self.closed = False


def _work(tasks: _Tasks, stream: int) -> None:
    while True:
        with tasks.changed:
            tasks.changed.wait_for(lambda: tasks.closed or tasks.waiting)
            if tasks.closed:
                return
            call, function, argument, number = tasks.waiting.popleft()
        _run(call, function, argument, stream, number)
        with tasks.changed:
            call.done = True
            tasks.changed.notify_all()
        del call, function, argument


def _run(call: Call, function: Callable[..., Any], argument: Any, stream: int, number: int) -> None:
    _core._draw_from(stream, number)
    try:
        call.value = function(argument)
    except BaseException as error:
        call.error = error


class Crew:
    """Threads that call functions.

    Args:
        size: how many there are at most.
    """

    def __init__(self, size: int) -> None:
        self._tasks = _Tasks()
        self._stream = _core._new_stream()
        self._missing = size
        self._number = 0
        self._process = os.getpid()

    def call(self, function: Callable[[Any], Any], argument: Any) -> Call:
        """Has a thread call a function."""
        if self._process != os.getpid():
            raise FailedPreconditionError(
                "an iterator whose elements threads compute has none of them in a forked process: make the "
                "iterator there"
            )
        call, self._number = Call(), self._number + 1
        with self._tasks.changed:
            self._tasks.waiting.append((call, function, argument, self._number))
            self._tasks.changed.notify_all()
        if self._missing:
            self._missing = self._missing - 1 if _start(_work, self._tasks, self._stream) else 0
        return call

    def wait(self, calls: Sequence[Call], in_order: bool) -> Call:
        """The first of these calls that is done; the first of them at all, if they are to be `in_order`."""
        wanted = calls[:1] if in_order else calls

        def done() -> Call | None:
            return next((call for call in wanted if call.done), None)

        with self._tasks.changed:
            return self._tasks.changed.wait_for(done)  # type: ignore[return-value]

    def __del__(self) -> None:
        with self._tasks.changed:
            self._tasks.closed = True
            self._tasks.waiting.clear()
            self._tasks.changed.notify_all()
