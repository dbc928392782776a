"""Where the elements of queues are kept, for all threads.

What enqueues waits for room, what dequeues for elements.

Each side is served in the order in which its calls came, so that a call for many elements is not overtaken.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from penstock.errors import CancelledError, OutOfRangeError

__all__ = ["Element", "Store", "by_priority", "in_order", "shuffled"]

Element: TypeAlias = tuple[Any, ...]
"""A tensor for each component."""


class _InOrder:
    """First in, first out."""

    def __init__(self) -> None:
        self._items: deque[Element] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def push(self, element: Element) -> None:
        self._items.append(element)

    def pop(self) -> Element:
        return self._items.popleft()

    def restore(self, elements: Sequence[Element]) -> None:
        self._items.extendleft(reversed(elements))


class _ByPriority:
    """The least first component first; first in, first out among equal ones."""

    def __init__(self) -> None:
        self._items: list[tuple[int, int, Element]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._items)

    def push(self, element: Element) -> None:
        heapq.heappush(self._items, (int(element[0].numpy()), next(self._numbers), element))

    def pop(self) -> Element:
        return heapq.heappop(self._items)[2]

    def restore(self, elements: Sequence[Element]) -> None:
        for element in elements:
            self.push(element)


class _Shuffled:
    """Any one of the elements."""

    def __init__(self, seed: int | None) -> None:
        self._items: list[Element] = []
        self._random = random.Random(seed)

    def __len__(self) -> int:
        return len(self._items)

    def push(self, element: Element) -> None:
        self._items.append(element)

    def pop(self) -> Element:
        place = self._random.randrange(len(self._items))
        self._items[place], self._items[-1] = self._items[-1], self._items[place]
        return self._items.pop()

    def restore(self, elements: Sequence[Element]) -> None:
        self._items.extend(elements)


def in_order() -> _InOrder:
    """What gives elements in the order in which they came."""
    return _InOrder()


def by_priority() -> _ByPriority:
    """What gives the element with the least first component."""
    return _ByPriority()


def shuffled(seed: int | None) -> _Shuffled:
    """What gives any element, as likely as any other."""
    return _Shuffled(seed)


class _Call:
    """One call that waits."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False


class Store:
    """Elements between threads.

    Args:
        kind: what the queue is called in messages.
        name: the name of the queue.
        capacity: how many elements there is room for; without bound where it is negative.
        keep: how many elements stay until the queue is closed.
        items: what orders the elements.

    Attributes:
        what: what a queue with the same shared name must agree in.
    """

    def __init__(
        self, kind: str, name: str, capacity: int, keep: int, items: _InOrder | _ByPriority | _Shuffled
    ) -> None:
        self.kind, self.name, self.capacity = kind, name, capacity
        self.what: tuple[Any, ...] = ()
        self._keep, self._items = keep, items
        self._changed = threading.Condition()
        self._putting: deque[_Call] = deque()
        self._taking: deque[_Call] = deque()
        self._closing = False

    def size(self) -> int:
        """How many elements there are."""
        with self._changed:
            return len(self._items)

    def closed(self) -> bool:
        """Whether it is closed, and nothing that was called before waits to enqueue."""
        with self._changed:
            return self._is_closed()

    def _is_closed(self) -> bool:
        return self._closing and not self._putting

    def close(self, cancel_pending: bool) -> None:
        """Refuse what comes; what waits to enqueue may finish, or is cancelled."""
        with self._changed:
            self._closing = True
            for call in self._putting if cancel_pending else ():
                call.cancelled = True
            self._changed.notify_all()

    def put(self, elements: Iterable[Element]) -> None:
        """Add elements, as there is room.

        Raises:
            CancelledError: where the queue is closed, or the wait for room is cancelled.
        """
        with self._changed:
            if self._closing:
                raise CancelledError(f"{self.kind} '{self.name}' is closed.", "enqueue")
            call = _Call()
            self._putting.append(call)
            try:
                for element in elements:
                    self._wait(lambda: call.cancelled or (self._putting[0] is call and self._has_room()))
                    if call.cancelled:
                        raise CancelledError("Enqueue operation was cancelled", "enqueue")
                    self._items.push(element)
                    self._changed.notify_all()
            finally:
                self._putting.remove(call)
                self._changed.notify_all()

    def take(self, count: int, at_most: bool) -> list[Element]:
        """Remove elements, as they come.

        Args:
            count: how many.
            at_most: whether fewer, but not none, will do once the queue is closed.

        Raises:
            OutOfRangeError: where the queue is closed with fewer elements, which stay in it.
        """
        taken: list[Element] = []
        with self._changed:
            call = _Call()
            self._taking.append(call)
            try:
                while len(taken) < count:
                    self._wait(lambda: self._taking[0] is call and (self._has_element() or self._is_closed()))
                    if self._has_element():
                        taken.append(self._items.pop())
                        self._changed.notify_all()
                    elif at_most and taken:
                        break
                    else:
                        size = len(taken) + len(self._items)
                        raise OutOfRangeError(
                            f"{self.kind} '{self.name}' is closed and has insufficient elements "
                            f"(requested {count}, current size {size})",
                            "dequeue",
                        )
            except BaseException:
                self._items.restore(taken)
                raise
            finally:
                self._taking.remove(call)
                self._changed.notify_all()
        return taken

    def _has_room(self) -> bool:
        return self.capacity < 0 or len(self._items) < self.capacity

    def _has_element(self) -> bool:
        return len(self._items) > (0 if self._is_closed() else self._keep)

    def _wait(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._changed.wait()
