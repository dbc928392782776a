"""Replicas of one process: threads that take turns, so that all add to one graph where it is traced.

A replica runs until it needs the values of the others. When all have come so far, what combines the values
runs between them. Each thread has its own tapes, name scopes and devices; the open traces go from hand to
hand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import Any

from penstock import _core
from penstock._values.variable import created
from penstock.autograph._slots import tracing
from penstock.distribute._values import of_replica, regrouped

__all__ = ["Replica", "here", "run_all"]

# The replica that this thread is.
_here: ContextVar[Replica | None] = ContextVar("penstock_replica", default=None)


class _StoppedError(BaseException):
    """Another replica has failed."""


def here() -> Replica | None:
    """The replica that the program is within, of those that `run_all` runs."""
    return _here.get()


class Replica:
    """A replica that runs, as the thread sees it that all replicas belong to.

    Args:
        number: its number.
        work: what it does.
    """

    def __init__(self, number: int, work: Callable[[], Any]) -> None:
        self.number, self._work = number, work
        self._turn, self._pause = threading.Semaphore(0), threading.Semaphore(0)
        self._context = copy_context()
        self._locals = [dict(vars(tracing)), dict(vars(created))]
        self._handed: Any = None
        self._depth = 0
        self._thread: threading.Thread | None = None
        self._stopped = False
        self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        # What is to be called between the replicas, and what came of it.
        self.asked: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
        self.answer: Any = None

    def advance(self) -> None:
        """Has it run until it ends, or needs the others."""
        self._handed = _core._HandedOver()
        if self._thread is None:
            self._depth = self._handed.depth()
            self._thread = threading.Thread(target=self._run, name=f"replica {self.number}", daemon=True)
            self._thread.start()
        else:
            self._turn.release()
        self._pause.acquire()
        self._handed.take_over()
        # Statements of AutoGraph compare these counts before and after.
        created.count, tracing.raises = self._counts

    def stop(self) -> None:
        """Has it end where it waits for the others."""
        self._stopped = True
        if self._thread is not None and not self.ended:
            self.advance()

    def _run(self) -> None:
        for own, outer in zip((tracing, created), self._locals, strict=True):
            # A stack is its own from here on.
            vars(own).update({k: list(v) if isinstance(v, list) else v for k, v in outer.items()})
        created.notes = self._locals[1]["notes"]
        self._handed.take_over(begins=True)
        try:
            self.result = self._context.run(self._inside)
        except _StoppedError:
            pass
        except BaseException as error:
            self.error = error
        self.ended = True
        self._give_back()

    def _inside(self) -> Any:
        _here.set(self)
        return self._work()

    def _give_back(self) -> None:
        self._handed = _core._HandedOver()
        self._counts = created.count, tracing.raises
        self._pause.release()

    def merge(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """In the replica: what a function gives that is called between all of them, with the values of all.

        Raises:
            RuntimeError: in a branch, a loop or a function of a graph that the replica has begun.
        """
        handed = _core._HandedOver()
        depth = handed.depth()
        handed.take_over()
        if depth != self._depth:
            raise RuntimeError(
                "replicas cannot combine values within a tf.function, a branch or a loop of the graph that "
                "one of them has begun: call strategy.run with the tf.function itself, or within it, and "
                "combine values outside of branches and loops"
            )
        self.asked = function, args, kwargs
        self._give_back()
        self._turn.acquire()
        self._handed.take_over()
        if self._stopped:
            raise _StoppedError
        return self.answer


def run_all(work: Sequence[Callable[[], Any]], between: Callable[..., Any]) -> list[Any]:
    """What functions return, each of which is the work of a replica.

    Args:
        work: the functions.
        between: calls a function between replicas.

    Raises:
        RuntimeError: where some replicas need the values of others that have ended.
        Exception: what one of them raises.
    """
    replicas = [Replica(number, function) for number, function in enumerate(work)]
    try:
        while True:
            for replica in replicas:
                replica.advance()
                if replica.error is not None:
                    raise replica.error
            if all(replica.ended for replica in replicas):
                return [replica.result for replica in replicas]
            if any(replica.ended for replica in replicas):
                raise RuntimeError(
                    "some replicas combine values more often than others: all have to come to the same calls"
                )
            _merge(replicas, between)
    finally:
        for replica in replicas:
            if not replica.ended:
                replica.stop()


def _merge(replicas: Sequence[Replica], between: Callable[..., Any]) -> None:
    """Calls between the replicas what they asked for, and gives each its part of what came of it."""
    asked = [replica.asked for replica in replicas if replica.asked is not None]
    args, kwargs = regrouped([(given, named) for _, given, named in asked])
    found = between(asked[0][0], args, kwargs)
    for replica in replicas:
        replica.asked = None
        replica.answer = of_replica(replica.number, found)
