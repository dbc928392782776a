"""Summaries for TensorBoard: numbers, distributions, pictures, sound and text by step, in event files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime import protos
from penstock._runtime.messages import Message
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped as _scoped
from penstock._values.ragged import RaggedTensor
from penstock.summary import _content, _tracing, _writer, experimental as experimental
from penstock.summary._writer import (
    SummaryWriter as SummaryWriter,
    should_record_summaries as should_record_summaries,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from penstock._runtime.graph import GraphDef, TracedGraph
    from penstock._types.aliases import IntLike, TensorLike

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]

# How plugins take their content: one number, tensors, or a sequence of files.
_SCALAR, _TENSOR, _FILES = 1, 2, 3


def create_file_writer(
    logdir: str | bytes | os.PathLike[str],
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: None = None,
) -> SummaryWriter:
    """Open a new event file, which TensorBoard reads.

    Args:
        logdir: its directory, which is made where it is absent.
        max_queue: how many events wait to be written at most, 10 by default.
        flush_millis: for how many milliseconds an event waits for those that follow, two minutes by default.
        filename_suffix: what the file's name ends in, `".v2"` by default.
        name: of no effect: a writer is no operation of a graph.
        experimental_trackable: ignored.
        experimental_mesh: ignored.

    Returns:
        A writer.

    Raises:
        ValueError: where there is no directory given, or a number is negative.
        FailedPreconditionError: where the file cannot be made.

    >>> import tempfile
    >>> import penstock as tf
    >>> writer = tf.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default():
    ...     bool(tf.summary.scalar("loss", 0.25, step=1))
    True
    >>> writer.close()
    """
    return _writer.file_writer(logdir, max_queue, flush_millis, filename_suffix)


def create_noop_writer() -> SummaryWriter:
    """Make a writer that writes nothing.

    Returns:
        A writer.

    >>> import penstock as tf
    >>> with tf.summary.create_noop_writer().as_default():
    ...     bool(tf.summary.scalar("loss", 0.25, step=1))
    False
    """
    return SummaryWriter(None)


@contextlib.contextmanager
def record_if(condition: _writer.Condition) -> Iterator[None]:
    """Write summaries within only where a condition holds.

    Args:
        condition: a `bool`, a tensor, or a function that gives one, which is called for each summary.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.summary.record_if(False):
    ...     bool(tf.summary.should_record_summaries())
    False
    """
    outer = _writer.STATE.condition
    _writer.STATE.condition = condition
    try:
        yield
    finally:
        _writer.STATE.condition = outer


@_scoped
def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write what waits to its file.

    Args:
        writer: the writer; the default one of this thread where it is None.
        name: a scope for the names of its operations in a graph.

    Raises:
        TypeError: for something else.

    >>> import penstock as tf
    >>> tf.summary.flush()
    """
    found = _writer.STATE.writer if writer is None else writer
    if found is not None and not isinstance(found, SummaryWriter):
        raise TypeError(f"argument 'writer' must be a SummaryWriter, got {writer!r}")
    if found is not None:
        found.flush()


@_scoped
def write(
    tag: str,
    tensor: TensorLike | Callable[[], TensorLike],
    step: IntLike | None = None,
    metadata: Message | bytes | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Write a tensor for a plugin of TensorBoard; in a traced function each time that it runs.

    Args:
        tag: the name of the series that it belongs to.
        tensor: the tensor, or a function that gives it, which is called only where it is written.
        step: where in the series it stands; the current step by default.
        metadata: a `SummaryMetadata` message, or its bytes.
        name: a scope for the names of its operations in a graph.

    Returns:
        Whether it was written, a `bool` scalar: there is a default writer, and `record_if` lets it.

    Raises:
        TypeError: for metadata that is neither.
        ValueError: where there is no step, or it is no scalar.

    >>> import penstock as tf
    >>> bool(tf.summary.write("weights", [1.0, 2.0], step=1))
    False
    """

    def inputs() -> list[Any]:
        return [_core._to_tensor(tensor() if callable(tensor) else tensor)]

    described = b"" if metadata is None else metadata
    if not isinstance(described, bytes):
        if not hasattr(described, "SerializeToString"):
            raise TypeError(
                f"argument 'metadata' must be a SummaryMetadata message or bytes, got {described!r}"
            )
        described = described.SerializeToString()
    return _writer.written(str(tag), inputs, step, described)


def _described(plugin: str, data_class: int, description: str | None, content: bytes = b"") -> bytes:
    """What a summary says of itself."""
    return protos.SummaryMetadata(
        plugin_data={"plugin_name": plugin, "content": content},
        summary_description=description or "",
        data_class=data_class,
    ).SerializeToString()


def scalar(
    name: str, data: TensorLike, step: IntLike | None = None, description: str | None = None
) -> _core.Tensor:
    """Write a number.

    Args:
        name: the name of the curve.
        data: a scalar, which is written as `float32`.
        step: where on the curve it is; the current step by default.
        description: text about it, in Markdown.

    Returns:
        Whether it was written, a `bool` scalar.

    Raises:
        ValueError: where `data` is no scalar, or there is no step.

    >>> import penstock as tf
    >>> bool(tf.summary.scalar("loss", 0.25, step=1))
    False
    """
    from penstock import math  # no name of this module

    # Also where nothing is written.
    found = _core._to_tensor(data)
    _check_rank(found, 0)

    def inputs() -> list[Any]:
        return [math.cast(found, _core.float32)]

    with _writer.scoped(name, "scalar_summary") as (tag, _):
        return _writer.written(tag, inputs, step, _described("scalars", _SCALAR, description))


def _check_rank(data: _core.Tensor, rank: int) -> None:
    if data.shape.rank not in (rank, None):
        raise ValueError(f"argument 'data' must have rank {rank}, got shape {data.shape}")


def histogram(
    name: str,
    data: TensorLike,
    step: IntLike | None = None,
    buckets: int | None = None,
    description: str | None = None,
) -> _core.Tensor:
    """Write the distribution of values.

    Args:
        name: the name of the series.
        data: numbers, of any shape; of a ragged tensor those of all rows.
        step: where in the series they are; the current step by default.
        buckets: into how many buckets of equal widths they are counted, 30 by default.
        description: text about it, in Markdown.

    Returns:
        Whether it was written, a `bool` scalar.

    Raises:
        ValueError: where `buckets` is negative, or there is no step.

    >>> import penstock as tf
    >>> bool(tf.summary.histogram("weights", [1.0, 2.0], step=1))
    False
    """
    from penstock import math  # no name of this module

    count = 30 if buckets is None else int(buckets)
    if count < 0:
        raise ValueError(f"argument 'buckets' must not be negative, got {buckets}")

    def inputs() -> list[Any]:
        values = data.flat_values if isinstance(data, RaggedTensor) else data
        return [math.cast(_core._to_tensor(values), _core.float64)]

    def finished(values: _core.Tensor) -> _core.Tensor:
        return _content.histogram_content(values, count)

    with _writer.scoped(name, "histogram_summary") as (tag, _):
        described = _described("histograms", _TENSOR, description)
        return _writer.written(tag, inputs, step, described, finished)


def image(
    name: str,
    data: TensorLike,
    step: IntLike | None = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> _core.Tensor:
    """Write images.

    Args:
        name: the name of the series.
        data: images `[count, height, width, channels]` with 1 to 4 channels; floating-point ones go from
            0 to 1, integers over the range of their dtype.
        step: where in the series they are; the current step by default.
        max_outputs: how many of them are written at most.
        description: text about them, in Markdown.

    Returns:
        Whether they were written, a `bool` scalar.

    Raises:
        ValueError: where `data` has another rank or number of channels, `max_outputs` is negative, or there
            is no step.

    >>> import penstock as tf
    >>> bool(tf.summary.image("weights", tf.zeros([1, 8, 8, 1]), step=1))
    False
    """
    limit = _limit(max_outputs)

    def inputs() -> list[Any]:
        found = _core._to_tensor(data)
        _check_rank(found, 4)
        return [_content.as_bytes(found)]

    def finished(images: _core.Tensor) -> _core.Tensor:
        return _content.image_content(images, limit)

    with _writer.scoped(name, "image_summary") as (tag, _):
        return _writer.written(tag, inputs, step, _described("images", _FILES, description), finished)


def _limit(max_outputs: Any) -> int:
    if int(max_outputs) < 0:
        raise ValueError(f"argument 'max_outputs' must not be negative, got {max_outputs}")
    return int(max_outputs)


def audio(
    name: str,
    data: TensorLike,
    sample_rate: IntLike,
    step: IntLike | None = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> _core.Tensor:
    """Write sound.

    Args:
        name: the name of the series.
        data: clips `[count, frames, channels]` of numbers from -1 to 1.
        sample_rate: how many frames a second has.
        step: where in the series they are; the current step by default.
        max_outputs: how many of them are written at most.
        encoding: `"wav"`, the default.
        description: text about them, in Markdown.

    Returns:
        Whether they were written, a `bool` scalar.

    Raises:
        ValueError: where `data` has another rank, for another encoding, or where there is no step.

    >>> import penstock as tf
    >>> bool(tf.summary.audio("hum", tf.zeros([1, 8, 1]), 8000, step=1))
    False
    """
    from penstock import math  # no name of this module

    if encoding not in (None, "wav"):
        raise ValueError(f"argument 'encoding' must be 'wav', got {encoding!r}")
    limit = _limit(max_outputs)

    def inputs() -> list[Any]:
        found = _core._to_tensor(data)
        _check_rank(found, 3)
        return [math.cast(found, _core.float32), math.cast(_core._to_tensor(sample_rate), _core.int64)]

    def finished(clips: _core.Tensor, rate: _core.Tensor) -> _core.Tensor:
        return _content.audio_content(clips, rate, limit)

    # The message of the plugin: its encoding, 11, is WAV.
    described = _described("audio", _FILES, description, b"\x10\x0b")
    with _writer.scoped(name, "audio_summary") as (tag, _):
        return _writer.written(tag, inputs, step, described, finished)


def text(
    name: str, data: TensorLike, step: IntLike | None = None, description: str | None = None
) -> _core.Tensor:
    """Write text.

    Args:
        name: the name of the series.
        data: strings in Markdown; those of a matrix are shown as a table.
        step: where in the series they are; the current step by default.
        description: text about them, in Markdown.

    Returns:
        Whether it was written, a `bool` scalar.

    Raises:
        ValueError: where there is no step.

    >>> import penstock as tf
    >>> bool(tf.summary.text("notes", "learning rate *halved*", step=1))
    False
    """

    def inputs() -> list[Any]:
        return [_core._to_tensor(data, dtype=_core.string)]

    with _writer.scoped(name, "text_summary") as (tag, _):
        return _writer.written(tag, inputs, step, _described("text", _TENSOR, description))


def graph(graph_data: TracedGraph | GraphDef) -> bool:
    """Write a graph, whose nodes and edges TensorBoard shows.

    Args:
        graph_data: the graph of a concrete function, or a `GraphDef`.

    Returns:
        Whether it was written: there is a default writer, and `record_if` lets it.

    Raises:
        RuntimeError: in a traced function.
        ValueError: for what is no graph.

    >>> import penstock as tf
    >>> double = tf.function(lambda x: x + x)
    >>> tf.summary.graph(double.get_concrete_function(tf.TensorSpec([], "float32")).graph)
    False
    """
    if _core._is_tracing():
        raise RuntimeError("tf.summary.graph() writes a graph that is there: call it outside of functions")
    found: Any = graph_data
    found = found.as_graph_def() if hasattr(found, "as_graph_def") else found
    if not hasattr(found, "node"):
        own = "the `graph` of " if hasattr(getattr(found, "graph", None), "as_graph_def") else ""
        raise ValueError(
            f"argument 'graph_data' must be {own or 'a graph or a GraphDef, got '}{graph_data!r}"
        )
    return _writer.write_graph(protos.graph_bytes(found.node))


def trace_on(
    graph: bool = True, profiler: bool = False, profiler_outdir: str | os.PathLike[str] | None = None
) -> None:
    """Take note of what runs from now on, for `trace_export`.

    Args:
        graph: whether the graphs of the functions that are called are kept.
        profiler: whether a profile is recorded, as by `tf.profiler.experimental.start`.
        profiler_outdir: the directory of the profile, which has to be given where there is one.

    Raises:
        ValueError: for a profile without a directory.
        RuntimeError: in a traced function.
        AlreadyExistsError: where a profile is being recorded already.

    >>> import tempfile
    >>> import penstock as tf
    >>> double = tf.function(lambda x: x + x)
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     tf.summary.trace_on()
    ...     y = double(tf.constant(2.0))
    ...     tf.summary.trace_export("double", step=0)
    """
    _outside_of_functions("trace_on")
    _tracing.on(bool(graph), bool(profiler), profiler_outdir)


def trace_off() -> None:
    """End what `trace_on` began, and forget it.

    >>> import penstock as tf
    >>> tf.summary.trace_on()
    >>> tf.summary.trace_off()
    """
    _tracing.off()


def trace_export(
    name: str, step: IntLike | None = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> None:
    """End what `trace_on` began: write the graphs of the functions that ran as a summary, and the profile.

    Args:
        name: the tag of the graphs, by which TensorBoard's page of graphs lists them.
        step: their step; the current step by default.
        profiler_outdir: of no effect: that of `trace_on` counts.

    Raises:
        ValueError: where `trace_on` was not called, or there is no step.
        RuntimeError: in a traced function.

    >>> import penstock as tf
    >>> tf.summary.trace_on()
    >>> tf.summary.trace_export("nothing", step=0)
    """
    _outside_of_functions("trace_export")
    content = _tracing.export()
    if content is not None:
        plugin = {"plugin_name": "graph_run_metadata_graph", "content": b"1"}
        write(name, _core._to_tensor(content), step, protos.SummaryMetadata(plugin_data=plugin))


def _outside_of_functions(name: str) -> None:
    if _core._is_tracing():
        raise RuntimeError(f"tf.summary.{name}() is of what runs: call it outside of functions")


_publish(__name__)
