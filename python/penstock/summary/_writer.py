"""Writers of summaries, and which of them, which step and which condition hold in a thread."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _core, math
from penstock._control.flow import cond
from penstock._runtime.host_calls import py_function
from penstock._runtime.protos import Event, Summary, SummaryMetadata, tensor_proto
from penstock._runtime.scope import current_name_scope, name_scope
from penstock._types.argument_names import expect, path_of
from penstock.summary._files import EventFile

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = [
    "STATE",
    "Condition",
    "SummaryWriter",
    "file_writer",
    "scoped",
    "should_record_summaries",
    "step_of",
    "write_graph",
    "write_message",
    "written",
]

Condition: TypeAlias = "bool | TensorLike | Callable[[], bool | TensorLike]"


class _State(threading.local):
    """What holds in a thread."""

    writer: SummaryWriter | None = None
    condition: Any = True
    step: Any = None


STATE = _State()


class SummaryWriter:
    """What summaries are written to.

    >>> import tempfile
    >>> import penstock as tf
    >>> writer = tf.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default(step=1):
    ...     bool(tf.summary.scalar("loss", 0.5))
    True
    >>> writer.close()
    """

    def __init__(self, file: EventFile | None) -> None:
        """Take the file; None for a writer that writes nothing.

        Args:
            file: an event file.
        """
        self._file = file
        self._closed = False

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} {self!r} is already closed")

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Have summaries of this thread go to this writer from now on.

        Args:
            step: the step of those that say none; what was set stays by default.

        Raises:
            RuntimeError: where the writer is closed.

        >>> import penstock as tf
        >>> tf.summary.create_noop_writer().set_as_default()
        """
        self._check_open()
        STATE.writer = self if self._file is not None else None
        if step is not None:
            STATE.step = step

    @contextlib.contextmanager
    def as_default(self, step: IntLike | None = None) -> Iterator[SummaryWriter]:
        """Have summaries within go to this writer.

        Args:
            step: the step of those that say none.

        Returns:
            A context manager, whose value is the writer.

        Raises:
            RuntimeError: where the writer is closed.

        >>> import penstock as tf
        >>> with tf.summary.create_noop_writer().as_default():
        ...     bool(tf.summary.scalar("loss", 0.5, step=1))
        False
        """
        self._check_open()
        outer = STATE.writer, STATE.step
        self.set_as_default(step)
        try:
            yield self
        finally:
            if self._file is not None:
                self.flush()
            STATE.writer, STATE.step = outer

    def init(self) -> None:
        """Do nothing: a writer is ready once it is made.

        >>> import penstock as tf
        >>> tf.summary.create_noop_writer().init()
        """

    def flush(self) -> None:
        """Write what waits; in a traced function each time that it runs.

        >>> import penstock as tf
        >>> tf.summary.create_noop_writer().flush()
        """
        if self._file is not None:
            _host(self._file.flush, [])

    def close(self) -> None:
        """Write what waits, and let go of the file.

        >>> import penstock as tf
        >>> tf.summary.create_noop_writer().close()
        """
        if self._file is not None:
            self._closed = True
            _host(self._file.close, [])


def _host(function: Callable[..., None], inputs: list[Any]) -> None:
    """Call a function on tensors: at once, or from the traced function each time that it runs."""
    if _core._is_tracing():
        py_function(function, inputs, [])
    else:
        function(*inputs)


def should_record_summaries() -> _core.Tensor:
    """Tell whether summaries are written: there is a default writer, and `record_if` does not say otherwise.

    Returns:
        A `bool` scalar.

    >>> import penstock as tf
    >>> bool(tf.summary.should_record_summaries())
    False
    """
    if STATE.writer is None:
        return _core._to_tensor(False)
    condition = STATE.condition
    return _core._to_tensor(condition() if callable(condition) else condition, dtype=_core.bool)


def step_of(step: Any) -> _core.Tensor:
    """A step as an `int64` scalar, the current one for None.

    Raises:
        ValueError: where there is none, or it is no scalar.
        TypeError: where it is no integer.
    """
    step = STATE.step if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    found = _core._to_tensor(step)
    if found.shape.rank not in (0, None):
        raise ValueError(f"argument 'step' must be a scalar, got one of shape {found.shape}")
    if not found.dtype.is_integer:
        raise TypeError(f"argument 'step' must be an integer, got {step!r}")

    return math.cast(found, _core.int64)


def written(
    tag: str,
    inputs: Callable[[], list[Any]],
    step: Any,
    metadata: bytes,
    finished: Callable[..., _core.Tensor] | None = None,
) -> _core.Tensor:
    """Write a summary where summaries are recorded.

    Args:
        tag: its name.
        inputs: gives the tensors that its content is made of; it is called only where it is written.
        step: its step; None for the current one.
        metadata: a `SummaryMetadata` message.
        finished: makes the content of the inputs, eagerly; by default it is the one input.

    Returns:
        Whether it was written, a `bool` scalar.
    """

    def summary(*tensors: _core.Tensor) -> Summary:
        content = tensors[0] if finished is None else finished(*tensors)
        described = SummaryMetadata.FromString(metadata)
        return Summary(value=[{"tag": tag, "metadata": described, "tensor": tensor_proto(content)}])

    return _recorded(summary, inputs, step)


def write_message(tensor: Any, step: Any) -> _core.Tensor:
    """Write a `Summary` message, given as bytes, where summaries are recorded."""

    def summary(content: _core.Tensor) -> Summary:
        return Summary.FromString(content.numpy())

    return _recorded(summary, lambda: [_core._to_tensor(tensor, dtype=_core.string)], step)


def _recorded(summary: Callable[..., Summary], inputs: Callable[[], list[Any]], step: Any) -> _core.Tensor:
    """Write what `summary` makes of the inputs, if summaries are recorded."""
    writer = STATE.writer
    if writer is None or writer._file is None:
        return _core._to_tensor(False)
    file = writer._file

    def on_host(at: _core.Tensor, *tensors: _core.Tensor) -> None:
        file.write(Event(wall_time=time.time(), step=int(at), summary=summary(*tensors)))

    def record() -> _core.Tensor:
        _host(on_host, [step_of(step), *inputs()])
        return _core._to_tensor(True)

    wanted = should_record_summaries()
    if wanted._is_symbolic:
        return cond(wanted, record, lambda: _core._to_tensor(False))
    return record() if bool(wanted) else _core._to_tensor(False)


def write_graph(content: bytes) -> bool:
    """Write a `GraphDef`, given as bytes, where summaries are recorded."""
    writer = STATE.writer
    if writer is None or writer._file is None or not bool(should_record_summaries()):
        return False
    step = 0 if STATE.step is None else int(step_of(None))
    writer._file.write(Event(wall_time=time.time(), step=step, graph_def=content))
    return True


@contextlib.contextmanager
def scoped(name: str, default_name: str = "summary", values: Any = None) -> Iterator[tuple[str, str]]:
    """The tag of a summary below the open scopes, and the scope of its operations."""
    expect(name, (str, type(None)), "name", "a string")
    outer = current_name_scope()
    tag = outer + (name or default_name)
    inner = "".join(c for c in (name or "") if c.isascii() and (c.isalnum() or c in "_.-/")).strip("/")
    with name_scope(inner.lstrip("-./_") or default_name) as scope:
        yield tag, scope


def file_writer(logdir: Any, max_queue: Any, flush_millis: Any, filename_suffix: Any) -> SummaryWriter:
    """A writer to a new event file."""
    if logdir is None:
        raise ValueError("argument 'logdir' must be the path of a directory, got None")
    directory = path_of(logdir, "logdir")
    queue = _natural(max_queue, "max_queue", 10)
    millis = _natural(flush_millis, "flush_millis", 120_000)
    suffix = ".v2" if filename_suffix is None else os.fsdecode(filename_suffix)
    return SummaryWriter(EventFile(directory, queue, millis, suffix))


def _natural(value: Any, name: str, default: int) -> int:
    try:
        number = default if value is None else int(value)
    except OverflowError:
        raise ValueError(f"argument '{name}' must be finite, got {value!r}") from None
    if number < 0:
        raise ValueError(f"argument '{name}' must not be negative, got {value!r}")
    return number
