"""`tf.summary` of TensorFlow 1: operations that make summaries, and writers of those that a session gave."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime import protos
from penstock._runtime.graph import GraphDef
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.protos import (
    Event as Event,
    SessionLog as SessionLog,
    Summary as Summary,
    TaggedRunMetadata as TaggedRunMetadata,
)
from penstock._runtime.scope import current_name_scope, name_scope
from penstock.compat.v1 import _summary_values as _values
from penstock.compat.v1._graph import GraphKeys, get_collection, get_default_graph
from penstock.compat.v1._graph_messages import MetaGraphDef
from penstock.errors import FailedPreconditionError, UnimplementedError
from penstock.summary._files import EventFile

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "TaggedRunMetadata",
    "audio",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]


def _cleaned(name: Any) -> Any:
    """The name of a summary that its node can have: other characters become `_`."""
    return re.sub(r"[^-/\w.]", "_", name, flags=re.ASCII).lstrip("/") if isinstance(name, str) else name


@contextmanager
def _tagged(name: str, family: str | None) -> Iterator[str]:
    """The tag of a summary within the open scopes; with a family, below that."""
    name, family = _cleaned(name), family and _cleaned(family)
    with name_scope(name if family is None else f"{family}/{name}"):
        scope = current_name_scope().rstrip("/") or name
        yield scope if family is None else f"{family}/{scope}"


def _summary(
    make: Callable[..., list[dict[str, Any]]],
    inputs: list[Any],
    name: str,
    collections: Iterable[str] | None,
    family: str | None = None,
) -> Any:
    """A scalar string that holds a message. `make` gives the values of the message for a tag and arrays."""
    with _tagged(name, family) as tag:

        def message(*arrays: Any) -> bytes:
            return Summary(value=make(tag, *arrays)).SerializeToString()

        found = numpy_function(message, inputs, _core.string, stateful=False)
        found.set_shape([])
    if _core._is_tracing():
        names = (GraphKeys.SUMMARIES,) if collections is None else collections
        get_default_graph().add_to_collections(names, found)
    return found


def scalar(
    name: str, tensor: TensorLike, collections: Iterable[str] | None = None, family: str | None = None
) -> Any:
    """Make a summary of a number.

    Args:
        name: the name of the curve.
        tensor: a number.
        collections: the collections of the graph that it is added to, by default `GraphKeys.SUMMARIES`.
        family: a name that groups curves.

    Returns:
        A scalar string: a `Summary` message.

    Raises:
        ValueError: where there are several numbers.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     found = v1.Summary.FromString(session.run(v1.summary.scalar("loss", 0.25)))
    >>> found.value[0].tag, found.value[0].simple_value
    ('loss', 0.25)
    """
    return _summary(_values.number, [_core._to_tensor(tensor)], name, collections, family)


def histogram(
    name: str, values: TensorLike, collections: Iterable[str] | None = None, family: str | None = None
) -> Any:
    """Make a summary of the distribution of values.

    Args:
        name: the name of the series.
        values: numbers, of any shape.
        collections: the collections of the graph that it is added to, by default `GraphKeys.SUMMARIES`.
        family: a name that groups series.

    Returns:
        A scalar string: a `Summary` message.

    Raises:
        InvalidArgumentError: where a value is not finite.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     found = v1.Summary.FromString(session.run(v1.summary.histogram("w", [1.0, 3.0])))
    >>> found.value[0].histo.num, found.value[0].histo.sum
    (2.0, 4.0)
    """
    return _summary(_values.distribution, [_core._to_tensor(values)], name, collections, family)


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> Any:
    """Make a summary of images.

    Args:
        name: the name of the series.
        tensor: images `[count, height, width, channels]` with 1, 3 or 4 channels, of `uint8` or of numbers:
            of these the greatest becomes white; where some are negative, 0 is grey.
        max_outputs: how many of them there are at most.
        collections: the collections of the graph that it is added to, by default `GraphKeys.SUMMARIES`.
        family: a name that groups series.

    Returns:
        A scalar string: a `Summary` message.

    Raises:
        InvalidArgumentError: for another rank or number of channels.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     found = v1.Summary.FromString(session.run(v1.summary.image("x", tf.ones([2, 4, 4, 3]))))
    >>> [value.tag for value in found.value]
    ['x/image/0', 'x/image/1']
    """

    def make(tag: str, images: Any) -> list[dict[str, Any]]:
        return _values.images(tag, images, max_outputs)

    return _summary(make, [_core._to_tensor(tensor)], name, collections, family)


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    family: str | None = None,
) -> Any:
    """Make a summary of sound.

    Args:
        name: the name of the series.
        tensor: clips `[count, frames, channels]` or `[count, frames]` of numbers from -1 to 1.
        sample_rate: how many frames a second has.
        max_outputs: how many of them there are at most.
        collections: the collections of the graph that it is added to, by default `GraphKeys.SUMMARIES`.
        family: a name that groups series.

    Returns:
        A scalar string: a `Summary` message.

    Raises:
        InvalidArgumentError: for another rank.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     found = v1.Summary.FromString(session.run(v1.summary.audio("hum", tf.zeros([1, 8]), 8000.0)))
    >>> found.value[0].audio.length_frames
    8
    """

    def make(tag: str, clips: Any, rate: Any) -> list[dict[str, Any]]:
        return _values.clips(tag, clips, float(rate), max_outputs)

    inputs = [_core._to_tensor(tensor), _core._to_tensor(sample_rate)]
    return _summary(make, inputs, name, collections, family)


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: Any = None,
    collections: Iterable[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Any:
    """Make a summary of a tensor.

    Args:
        name: the name of the series.
        tensor: the tensor.
        summary_description: a text about it, or a message with a `type_hint`, which is ignored.
        collections: the collections of the graph that it is added to, by default `GraphKeys.SUMMARIES`.
        summary_metadata: a `SummaryMetadata` message.
        family: a name that groups series.
        display_name: a name for people.

    Returns:
        A scalar string: a `Summary` message.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     found = v1.Summary.FromString(session.run(v1.summary.tensor_summary("x", [1, 2])))
    >>> tf.make_ndarray(found.value[0].tensor)
    array([1, 2], dtype=int32)
    """
    metadata = protos.SummaryMetadata()
    if summary_metadata is not None:
        metadata.MergeFromString(summary_metadata.SerializeToString())
    if display_name is not None:
        metadata.display_name = display_name
    if isinstance(summary_description, str):
        metadata.summary_description = summary_description

    def make(tag: str, array: Any) -> list[dict[str, Any]]:
        with _core._Outside():
            proto = protos.tensor_proto(_core._to_tensor(array))
        return [{"tag": tag, "metadata": metadata, "tensor": proto}]

    return _summary(make, [_core._to_tensor(tensor)], name, collections, family)


def text(name: str, tensor: TensorLike, collections: Iterable[str] | None = None) -> Any:
    """Make a summary of text.

    Args:
        name: the name of the series.
        tensor: strings in Markdown; those of a matrix are shown as a table.
        collections: the collections of the graph that it is added to, by default `GraphKeys.SUMMARIES`.

    Returns:
        A scalar string: a `Summary` message.

    Raises:
        ValueError: for what is no string.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     found = v1.Summary.FromString(session.run(v1.summary.text("note", "*halved*")))
    >>> found.value[0].metadata.plugin_data.plugin_name
    'text'
    """
    given = _core._to_tensor(tensor)
    if given.dtype != _core.string:
        raise ValueError(f"argument 'tensor' must have dtype string, got {given.dtype.name}")
    metadata = protos.SummaryMetadata(plugin_data={"plugin_name": "text"})
    return tensor_summary(name, given, collections=collections, summary_metadata=metadata)


def merge(inputs: Iterable[Any], collections: Iterable[str] | None = None, name: str | None = None) -> Any:
    """Put the values of several summaries into one.

    Args:
        inputs: summaries, as functions of this module make them.
        collections: the collections of the graph that it is added to; by default none.
        name: a scope for the names of its operations.

    Returns:
        A scalar string: a `Summary` message.

    Raises:
        RuntimeError: outside of a graph.
        InvalidArgumentError: where a tag comes twice.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     both = v1.summary.merge([v1.summary.scalar("a", 1.0), v1.summary.scalar("b", 2.0)])
    ...     len(v1.Summary.FromString(session.run(both)).value)
    2
    """
    if not _core._is_tracing():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution: use tf.summary of version 2"
        )
    with name_scope(name or "Merge"):
        found = numpy_function(_values.joined, list(inputs), _core.string, stateful=False)
        found.set_shape([])
    get_default_graph().add_to_collections(collections or (), found)
    return found


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Put the values of all summaries of the default graph into one.

    Args:
        key: the collection of the summaries.
        scope: how their names begin; None for all.
        name: a scope for the names of its operations.

    Returns:
        A scalar string, a `Summary` message; None where there are no summaries.

    Raises:
        RuntimeError: outside of a graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.summary.merge_all() is None
    True
    """
    if not _core._is_tracing():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution: use tf.summary of version 2"
        )
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


def _graph_bytes(graph: Any) -> bytes:
    """A graph as the bytes of a `GraphDef`, with its attributes where TensorFlow has its operators."""
    found = graph.as_graph_def() if hasattr(graph, "as_graph_def") else graph
    if not isinstance(found, GraphDef):
        raise TypeError(f"argument 'graph' must be a tf.Graph or a GraphDef, got {graph!r}")
    try:
        return found.SerializeToString()
    except (FailedPreconditionError, UnimplementedError):
        return protos.graph_bytes(found.node)


class FileWriter:
    """Writes summaries and graphs to an event file, which TensorBoard reads.

    Args:
        logdir: the directory of the file, which is made.
        graph: a graph to write first.
        max_queue: how many events wait to be written at most.
        flush_secs: for how many seconds an event waits at most for those that follow.
        graph_def: a `GraphDef` to write first.
        filename_suffix: what the name of the file ends in.
        session: accepted and ignored: events are written by this process.

    >>> import tempfile
    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tempfile.TemporaryDirectory() as folder, v1.summary.FileWriter(folder) as writer:
    ...     writer.add_summary(v1.Summary(value=[{"tag": "loss", "simple_value": 0.5}]), 3)
    ...     writer.get_logdir() == folder
    True
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._options = (os.fspath(logdir), max_queue, int(flush_secs * 1000), filename_suffix or "")
        self._file: EventFile | None = EventFile(*self._options)
        self._described: set[str] = set()
        self._tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            content = _graph_bytes(graph_def if graph is None else graph)
            self.add_meta_graph(MetaGraphDef(graph_def=content))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Tell the directory of the file.

        Returns:
            Its path.
        """
        return self._options[0]

    def add_event(self, event: Event) -> None:
        """Write an event.

        Args:
            event: an `Event` message.
        """
        if self._file is None:
            self.reopen()
        assert self._file is not None
        self._file.write(event)

    def add_summary(self, summary: Summary | bytes, global_step: Any = None) -> None:
        """Write a summary.

        Args:
            summary: a `Summary` message, or its bytes, as a session gives them.
            global_step: the step that it is of.
        """
        message = Summary.FromString(summary) if isinstance(summary, bytes) else summary
        for value in message.value:
            # What a series says of itself is written once.
            if value.HasField("metadata"):
                if value.tag in self._described:
                    value.ClearField("metadata")
                self._described.add(value.tag)
        self._add(global_step, summary=message)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a graph.

        Args:
            graph: a `tf.Graph`, or None where `graph_def` is given.
            global_step: the step that it is of.
            graph_def: a `GraphDef`.

        Raises:
            TypeError: for what is neither.
        """
        self._add(global_step, graph_def=_graph_bytes(graph_def if graph is None else graph))

    def add_meta_graph(self, meta_graph_def: MetaGraphDef, global_step: Any = None) -> None:
        """Write a graph with its collections and signatures.

        Args:
            meta_graph_def: a `MetaGraphDef`, as `tf.compat.v1.train.export_meta_graph` gives it.
            global_step: the step that it is of.

        Raises:
            TypeError: for what is none.
        """
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(f"argument 'meta_graph_def' must be a MetaGraphDef, got {meta_graph_def!r}")
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Write that a session started, stopped or wrote a checkpoint.

        Args:
            session_log: a `SessionLog` message.
            global_step: the step that it is of.
        """
        self._add(global_step, session_log=session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Write what is known of a run.

        Args:
            run_metadata: a `RunMetadata` message.
            tag: the name of the run.
            global_step: the step that it is of.

        Raises:
            ValueError: for a name that was given before.
        """
        if tag in self._tags:
            raise ValueError(f"argument 'tag' was given before: {tag!r}")
        self._tags.add(tag)
        content = run_metadata.SerializeToString()
        self._add(global_step, tagged_run_metadata={"tag": tag, "run_metadata": content})

    def _add(self, step: Any, **what: Any) -> None:
        self.add_event(Event(wall_time=time.time(), step=0 if step is None else int(step), **what))

    def flush(self) -> None:
        """Write what waits."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def reopen(self) -> None:
        """Begin another file in the same directory, where this one is closed."""
        if self._file is None:
            self._file = EventFile(*self._options)


class FileWriterCache:
    """One writer for each directory.

    >>> import tempfile
    >>> import penstock as tf
    >>> cache = tf.compat.v1.summary.FileWriterCache
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache.get(folder) is cache.get(folder)
    ...     cache.clear()
    True
    """

    _writers: dict[str, FileWriter] = {}  # noqa: RUF012

    @classmethod
    def get(cls, logdir: str | os.PathLike[str]) -> FileWriter:
        """Find the writer of a directory, or make it.

        Args:
            logdir: the directory.

        Returns:
            The writer.
        """
        path = os.fspath(logdir)
        if path not in cls._writers:
            cls._writers[path] = FileWriter(path, graph=get_default_graph())
        return cls._writers[path]

    @classmethod
    def clear(cls) -> None:
        """Close all writers."""
        for writer in cls._writers.values():
            writer.close()
        cls._writers.clear()
