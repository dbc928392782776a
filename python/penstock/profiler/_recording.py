"""Recordings of profiles, and what they say."""

from __future__ import annotations

import gzip
import os
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal

from penstock import _core
from penstock._types.argument_names import path_of
from penstock.errors import AlreadyExistsError, InvalidArgumentError

__all__ = ["Recording", "Row", "Step", "begin", "record"]

_BY: Final = ("operator", "line", "function", "kind")
# The rows of a table for people, and how wide their first column may be.
_SHOWN, _WIDTH = 20, 60


@dataclass(frozen=True)
class Row:
    """The times of what has something in common.

    Attributes:
        key: what that is: an operator, a line, a function, or how steps ran.
        count: how many steps or runs there were.
        own: their seconds, without those of others within them.
        total: their seconds, with those of others within them.
    """

    key: str
    count: int
    own: float
    total: float


@dataclass(frozen=True)
class Step:
    """A step that the program marked, as one of training.

    Attributes:
        name: what it was called.
        number: its number.
        began: the seconds from the start of the recording to its start.
        took: how many seconds it took.
        shares: the seconds that went to each part, as `Recording.shares` has them.
    """

    name: str
    number: int
    began: float
    took: float
    shares: dict[str, float]


def _seconds(shares: list[tuple[str, int]]) -> dict[str, float]:
    return {part: took / 1e9 for part, took in shares}


def _time(seconds: float) -> str:
    """A time for people."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.2f} {name}"
    return f"{seconds * 1e6:.1f} µs"


def _bytes(held: int) -> str:
    """A size for people."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if held >= unit:
            return f"{held / unit:.2f} {name}"
    return f"{held / 2**10:.1f} KiB"


class Recording:
    """What `record` recorded. It is complete when the `with` statement is left.

    >>> import penstock as tf
    >>> with tf.profiler.record() as recording:
    ...     total = tf.reduce_sum(tf.ones([100, 100]))
    >>> "reduce_sum" in [row.key for row in recording.rows("operator")]
    True
    """

    def __init__(self) -> None:
        self._found: _core._Recording | None = None

    def _done(self) -> _core._Recording:
        if self._found is None:
            raise InvalidArgumentError("the recording is not complete: leave its `with` statement first")
        return self._found

    def rows(self, by: Literal["operator", "line", "function", "kind"] = "operator") -> list[Row]:
        """Sum up the times.

        Args:
            by: what they are summed up by: `"operator"`, where functions, traces and plans are listed too;
                the `"line"` of the program; the `"function"` that the line is in; or the `"kind"` of step
                that the engine made of them.

        Returns:
            The rows, the longest own time first.

        Raises:
            ValueError: for something else.

        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     x = tf.linalg.inv(tf.eye(50))
        >>> "matrix_inverse" in [row.key for row in recording.rows()] or len(recording.rows()) > 0
        True
        """
        if by not in _BY:
            raise ValueError(f"argument 'by' must be one of {', '.join(map(repr, _BY))}, got {by!r}")
        return [Row(key, count, own / 1e9, total / 1e9) for key, count, own, total in self._done().rows(by)]

    def shares(self) -> dict[str, float]:
        """Tell where the time of the busiest thread went.

        Returns:
            The seconds of each part. They add up to the time of the recording: `"operators"`; `"callbacks"`,
            the Python code that graphs call; `"input"`, waiting for elements of data sets; `"tracing"`;
            `"planning"`, where graphs are optimised; `"between steps"`, the rest of the runs of functions;
            and `"program"`, which is all else.

        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     y = tf.sort(tf.range(1000))
        >>> shares = recording.shares()
        >>> abs(sum(shares.values()) - recording.took) < 1e-6
        True
        """
        return _seconds(self._done().shares())

    def threads(self) -> dict[str, float]:
        """Tell how long each thread was at work: on functions and operators, or on parts of those of others.

        Returns:
            The seconds by the name of the thread. Those that the engine starts are `penstock-0` and so on.

        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     y = tf.sort(tf.range(1000))
        >>> all(0 < busy <= recording.took for busy in recording.threads().values())
        True
        """
        found: dict[str, float] = {}
        for name, busy in self._done().threads():
            found[name] = found.get(name, 0.0) + busy / 1e9
        return found

    def steps(self) -> list[Step]:
        """Tell of the steps that the program marked with `tf.profiler.experimental.Trace(…, step_num=…)`.

        Returns:
            The steps, in the order of time.

        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     for i in range(2):
        ...         with tf.profiler.experimental.Trace("train", step_num=i):
        ...             y = tf.range(10) * 2
        >>> [(step.name, step.number) for step in recording.steps()]
        [('train', 0), ('train', 1)]
        """
        return [
            Step(name, number, began / 1e9, took / 1e9, _seconds(shares))
            for name, number, began, took, shares in self._done().steps()
        ]

    def memory(self, moments: int = 600) -> list[tuple[float, int]]:
        """Tell how much memory tensors held over time.

        Args:
            moments: how many there are at most. The time is divided into as many parts, and each has the
                moment at which tensors held the most.

        Returns:
            The seconds from the start of the recording, and the bytes that tensors of the process held then.

        Raises:
            ValueError: where `moments` is not positive.

        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     x = tf.sort(tf.zeros([1000, 1000]))
        >>> max(held for _, held in recording.memory()) >= 4_000_000
        True
        """
        if moments < 1:
            raise ValueError(f"argument 'moments' must be positive, got {moments}")
        return [(at / 1e9, held) for at, held in self._done().memory(moments)]

    @property
    def took(self) -> float:
        """The seconds from its start to its end."""
        return self._done().took / 1e9

    @property
    def dropped(self) -> int:
        """How many events came after the limit, and are not in it."""
        return self._done().dropped

    @property
    def sampled(self) -> tuple[int, int] | None:
        """How many short runs were recorded, and how many there were; None where all were recorded.

        A recording takes some percent of the time of a program at most. Where runs take so little that
        recording each would cost more, some are recorded and all are counted. Counts are exact then, and
        times are estimates by those that were recorded. `detail="all"` records all.
        """
        return self._done().sampled

    @property
    def input_bound(self) -> float:
        """Which part of the time waits for data sets: from 0 to 1.

        That is of the time from the first step to the last, where steps are marked, else of all.
        """
        return self._done().input_bound

    def page(self, title: str = "Profile") -> str:
        """Give a page for a browser: tables, steps, memory over time and a timeline. It loads nothing.

        Args:
            title: its title.

        Returns:
            The text of the page.

        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     y = tf.range(10) * 2
        >>> recording.page("Doubling").startswith("<!DOCTYPE html>")
        True
        """
        return self._done().page(title)

    def chrome(self) -> str:
        """Give the events for https://ui.perfetto.dev and `chrome://tracing`.

        Returns:
            JSON of the trace event format.

        >>> import json
        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     y = tf.range(10) * 2
        >>> {"ph", "ts"} <= json.loads(recording.chrome())["traceEvents"][-1].keys()
        True
        """
        return self._done().chrome()

    def save(self, logdir: str | os.PathLike[str]) -> str:
        """Write the profile where TensorBoard's profile plugin looks for it.

        Beside the plugin's file (`<host>.xplane.pb`) lie `profile.html`, a page for a browser, and
        `perfetto.json.gz`.

        Args:
            logdir: the directory of TensorBoard's logs.

        Returns:
            The directory of the files: `<logdir>/plugins/profile/<time>`.

        Raises:
            OSError: where the files cannot be written.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> with tf.profiler.record() as recording:
        ...     y = tf.range(10) * 2
        >>> "profile.html" in os.listdir(recording.save(tempfile.mkdtemp()))
        True
        """
        found = self._done()
        runs = Path(path_of(logdir, "logdir")) / "plugins" / "profile"
        runs.mkdir(parents=True, exist_ok=True)
        directory = _new_directory(runs, time.strftime("%Y_%m_%d_%H_%M_%S"))
        host = re.sub(r"[^\w.-]", "_", socket.gethostname()) or "localhost"
        (directory / f"{host}.xplane.pb").write_bytes(found.xspace(host))
        (directory / "profile.html").write_text(found.page(f"Profile {directory.name}"), encoding="utf-8")
        with gzip.open(directory / "perfetto.json.gz", "wt", encoding="utf-8") as file:
            file.write(found.chrome())
        return str(directory)

    def __str__(self) -> str:
        """Where the time went, as a table."""
        if self._found is None:
            return "a recording that is not complete"
        took = self.took or 1.0
        parts = [
            f"{part} {seconds / took:.0%}"
            for part, seconds in self.shares().items()
            if seconds / took >= 0.005
        ]
        rows = self.rows()
        width = min(_WIDTH, max((len(row.key) for row in rows[:_SHOWN]), default=8))
        lines = [f"{_time(self.took)} recorded: {', '.join(parts)}", *self._of_the_whole()]
        if not rows:
            lines.append("no operation ran, and no function was traced")
        else:
            lines.append(f"{'':{width}}  {'count':>10}  {'own time':>10}  {'each':>10}")
        for row in rows[:_SHOWN]:
            key = row.key if len(row.key) <= width else "…" + row.key[1 - width :]
            lines.append(
                f"{key:{width}}  {row.count:>10}  {_time(row.own):>10}  {_time(row.own / row.count):>10}"
            )
        if len(rows) > _SHOWN:
            lines.append(f"and {len(rows) - _SHOWN} more")
        if self.dropped:
            lines.append(f"{self.dropped} later events were not kept")
        if self.sampled is not None:
            recorded, runs = self.sampled
            lines.append(
                f"{recorded} of {runs} short runs and iterations were recorded; "
                "the times of the others are estimates"
            )
        return "\n".join(lines)

    def _of_the_whole(self) -> list[str]:
        """What there is to know of it beside its parts."""
        found = []
        if self.input_bound >= 0.005:
            found.append(f"input bound: {self.input_bound:.0%}")
        steps = sorted(step.took for step in self.steps())
        if steps:
            found.append(f"{len(steps)} steps, of {_time(steps[len(steps) // 2])} in the median")
        most = max((held for _, held in self.memory()), default=0)
        if most:
            found.append(f"tensors held {_bytes(most)} at most")
        return ["; ".join(found)] if found else []

    def __repr__(self) -> str:
        if self._found is None:
            return "<tf.profiler.Recording that is not complete>"
        return f"<tf.profiler.Recording of {_time(self.took)}, {len(self._found)} events>"

    def _repr_html_(self) -> str:
        """The longest rows, for notebooks."""
        if self._found is None:
            return f"<pre>{self}</pre>"
        from penstock._runtime.pages import of_recording  # start-up does without it

        return of_recording(self, "; ".join([f"{_time(self.took)} recorded", *self._of_the_whole()]))


def _new_directory(parent: Path, name: str) -> Path:
    """A directory that was not there: of this name, or with a number behind it."""
    for number in range(1, 1000):
        directory = parent / (name if number == 1 else f"{name}_{number}")
        try:
            directory.mkdir()
        except FileExistsError:
            continue
        return directory
    raise FileExistsError(f"{parent / name} and all its numbered siblings exist")


def begin(detail: int, limit: int | None) -> None:
    """Start to record.

    Raises:
        AlreadyExistsError: where a recording is under way.
    """
    if not (_core._start_profile(detail) if limit is None else _core._start_profile(detail, limit)):
        raise AlreadyExistsError("Another profiler is running: a process records one profile at a time")


class record:
    """Record a profile of what the `with` statement does, on all threads.

    Args:
        detail: `"functions"` for runs of functions, tracing and planning; `"steps"` for operators too, where
            those that take nanoseconds are told together, and where of short runs, which recording would slow
            down, some stand for all; `"all"` for every run and every operator by itself.
        limit: how many events are kept at most, a million by default, which take some 100 MB.

    Raises:
        ValueError: for another `detail`, or a negative `limit`.
        AlreadyExistsError: on entry, where another profile is being recorded.

    >>> import penstock as tf
    >>> f = tf.function(lambda x: tf.sort(x) * 2)
    >>> with tf.profiler.record() as recording:
    ...     y = f(tf.range(1000))
    >>> [row.count for row in recording.rows("operator") if row.key.startswith("tracing")]
    [1]
    """

    def __init__(
        self, detail: Literal["functions", "steps", "all"] = "steps", limit: int | None = None
    ) -> None:
        details = ("functions", "steps", "all")
        if detail not in details:
            raise ValueError(
                f"argument 'detail' must be one of {', '.join(map(repr, details))}, got {detail!r}"
            )
        if limit is not None and limit < 0:
            raise ValueError(f"argument 'limit' must not be negative, got {limit}")
        self._detail, self._limit = details.index(detail), limit
        self._recording: Recording | None = None

    def __enter__(self) -> Recording:
        begin(self._detail, self._limit)
        self._recording = Recording()
        return self._recording

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._recording is not None:
            self._recording._found = _core._stop_profile()
