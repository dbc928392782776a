"""Event files: records of `Event` messages, which TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
import weakref
from pathlib import Path
from typing import Final

from penstock._runtime.protos import Event
from penstock._runtime.records import Sink, framed
from penstock.errors import FailedPreconditionError

__all__ = ["EventFile"]

_numbers: Final = itertools.count()


class EventFile:
    """An event file that is being written, by any number of threads.

    Args:
        logdir: its directory, which is made.
        max_queue: how many events wait to be written at most.
        flush_millis: for how many milliseconds an event waits at most for those that follow.
        suffix: what its name ends in.

    Raises:
        FailedPreconditionError: where the directory cannot be made or written to.
    """

    def __init__(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        now = time.time()
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{suffix}"
        self._max_queue, self._flush_seconds = max_queue, flush_millis / 1000
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        try:
            Path(logdir).mkdir(parents=True, exist_ok=True)
            self._sink = Sink(str(Path(logdir) / name), None)
        except OSError as error:
            raise FailedPreconditionError(f"argument 'logdir': {error}") from None
        source = {"writer": "penstock.summary"}
        self._sink.write(_record(Event(wall_time=now, file_version="brain.Event:2", source_metadata=source)))
        self._sink.flush()
        self._flushed = time.monotonic()
        # What waits is written when the program ends, or nobody has the writer any more.
        self._finish = weakref.finalize(self, _finish, self._sink, self._waiting)

    def write(self, event: Event) -> None:
        """Write an event, soon."""
        record = _record(event)
        with self._lock:
            if not self._finish.alive:
                raise FailedPreconditionError("the summary writer is closed")
            self._waiting.append(record)
            if len(self._waiting) > self._max_queue or time.monotonic() - self._flushed > self._flush_seconds:
                self._write_waiting()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            if self._finish.alive:
                self._write_waiting()

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        with self._lock:
            self._finish()

    def _write_waiting(self) -> None:
        _write(self._sink, self._waiting)
        self._flushed = time.monotonic()


def _record(event: Event) -> bytes:
    return framed(event.SerializeToString())


def _write(sink: Sink, waiting: list[bytes]) -> None:
    sink.write(b"".join(waiting))
    waiting.clear()
    sink.flush()


def _finish(sink: Sink, waiting: list[bytes]) -> None:
    _write(sink, waiting)
    sink.close()
