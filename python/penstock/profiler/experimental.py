"""TensorFlow's names for recording profiles, which TensorBoard shows."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any, NamedTuple

from penstock import _core
from penstock._runtime.public_names import publish as _publish
from penstock._types.argument_names import expect, path_of
from penstock.errors import InvalidArgumentError, UnavailableError
from penstock.profiler._recording import Recording, begin

__all__ = ["Profile", "ProfilerOptions", "Trace", "start", "stop"]


class ProfilerOptions(NamedTuple):
    """Say how much a profile tells.

    Attributes:
        host_tracer_level: 1 for runs of functions and what the program marks; 2 for operators too; 3 for
            every run and every operator by itself. At 1 and 2 some runs stand for all where they take so
            little that recording would slow them down.
        python_tracer_level: of no effect: Python functions are not recorded.
        device_tracer_level: of no effect: work on a GPU counts for the step that queues it.
        delay_ms: how many milliseconds pass before the recording starts, none by default.

    >>> import penstock as tf
    >>> tf.profiler.experimental.ProfilerOptions(host_tracer_level=3).python_tracer_level
    0
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


class _State:
    """Where the profile that is being recorded goes."""

    logdir: str | None = None


def start(logdir: str | os.PathLike[str], options: ProfilerOptions | dict[str, Any] | None = None) -> None:
    """Begin to record a profile of all that the process runs.

    Args:
        logdir: the directory of TensorBoard's logs, where `stop` writes it.
        options: how much it tells: `ProfilerOptions`, or a dictionary of its fields.

    Raises:
        AlreadyExistsError: where a profile is being recorded.
        InvalidArgumentError: for other levels than 1, 2 and 3.

    >>> import tempfile
    >>> import penstock as tf
    >>> tf.profiler.experimental.start(tempfile.mkdtemp())
    >>> x = tf.range(10) * 2
    >>> tf.profiler.experimental.stop()
    """
    directory = path_of(logdir, "logdir")
    chosen = options if options is not None else ProfilerOptions()
    expect(chosen, (ProfilerOptions, dict), "options", "ProfilerOptions, or a dictionary of its fields")
    if isinstance(chosen, dict):
        unknown = chosen.keys() - set(ProfilerOptions._fields)
        if unknown:
            raise InvalidArgumentError(f"argument 'options' has unknown fields: {', '.join(sorted(unknown))}")
        chosen = ProfilerOptions(**chosen)
    if chosen.host_tracer_level not in (1, 2, 3):
        raise InvalidArgumentError(
            f"argument 'options': host_tracer_level must be 1, 2 or 3, got {chosen.host_tracer_level!r}"
        )
    if chosen.delay_ms:
        time.sleep(chosen.delay_ms / 1000)
    begin(chosen.host_tracer_level - 1, None)
    _State.logdir = directory


def stop(save: bool = True) -> None:
    """Stop to record, and write the profile.

    Args:
        save: whether it is written, to `<logdir>/plugins/profile/<time>`: for TensorBoard's profile plugin,
            with a page for a browser (`profile.html`) and a file for Perfetto (`perfetto.json.gz`) beside.

    Raises:
        UnavailableError: where `start` was not called.
        OSError: where the files cannot be written.

    >>> import penstock as tf
    >>> tf.profiler.experimental.start("unused")
    >>> tf.profiler.experimental.stop(save=False)
    """
    if _State.logdir is None:
        raise UnavailableError("Cannot export profiling results. No profiler is running: call start() first")
    recording, logdir, _State.logdir = Recording(), _State.logdir, None
    recording._found = _core._stop_profile()
    if save:
        recording.save(logdir)


class Profile:
    """Record a profile of what a `with` statement does: `start` on entry, `stop` at its end.

    Args:
        logdir: the directory of TensorBoard's logs.
        options: as of `start`.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> logs = tempfile.mkdtemp()
    >>> with tf.profiler.experimental.Profile(logs):
    ...     x = tf.range(10) * 2
    >>> os.listdir(os.path.join(logs, "plugins"))
    ['profile']
    """

    def __init__(
        self, logdir: str | os.PathLike[str], options: ProfilerOptions | dict[str, Any] | None = None
    ) -> None:
        self._logdir, self._options = logdir, options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(
        self, typ: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        stop()


class Trace:
    """Mark a span of the program in the profile that is being recorded; of no effect otherwise.

    Args:
        name: what it is called.
        **kwargs: what is known of it. `step_num` makes it a step, by which times are listed; all else is
            shown behind its name.

    >>> import penstock as tf
    >>> with tf.profiler.record() as recording:
    ...     with tf.profiler.experimental.Trace("train", step_num=7):
    ...         x = tf.range(10) * 2
    >>> recording.steps()[0].number
    7
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._span: _core._Span | None = None
        if _core._profiling():
            self._name = name
            step = kwargs.pop("step_num", None)
            self._known = {key: value for key, value in kwargs.items() if key != "_r"}
            self._span = _core._Span(self._named(), None if step is None else int(step))

    def _named(self) -> str:
        """The name, with what else is known, as TensorFlow writes both."""
        known = ",".join(f"{key}={value}" for key, value in self._known.items())
        return f"{self._name}#{known}#" if known else self._name

    def __enter__(self) -> Trace:
        if self._span is not None:
            self._span.__enter__()
        return self

    def set_metadata(self, **kwargs: Any) -> None:
        """Add what became known within the span.

        Args:
            **kwargs: what that is, but for `step_num`.

        >>> import penstock as tf
        >>> with tf.profiler.experimental.Trace("read") as span:
        ...     span.set_metadata(rows=10)
        """
        if self._span is not None:
            self._known.update(kwargs)
            self._span.rename(self._named())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if self._span is not None:
            self._span.__exit__(exc_type, exc_val, exc_tb)


_publish(__name__)
