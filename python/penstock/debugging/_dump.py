"""Debug information in files: which operations a program runs, where it calls them, and what they give.

The engine shows each operator that a thread applies to a hook. One that is applied eagerly is written at
once. One that joins a trace is described, and a host call behind it writes its results when the graph runs.
So that no trace stays that writes, functions are traced anew for it (`Function._twin`).
"""

from __future__ import annotations

import atexit
import collections
import itertools
import linecache
import math
import os
import re
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock import _core, nest, raw_ops
from penstock._runtime.debug_switches import session
from penstock._runtime.host_calls import py_function
from penstock._runtime.protos import TensorProto, tensor_proto
from penstock._runtime.records import Sink, framed
from penstock._types.argument_names import expect, path_of
from penstock.debugging._events import MODES, DebugEvent
from penstock.errors import FailedPreconditionError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike

__all__ = ["DebugEventsWriter", "disable_dump_debug_info", "enable_dump_debug_info"]

_SUFFIXES: Final = ("source_files", "stack_frames", "graphs", "execution", "graph_execution_traces")
_PACKAGE: Final = str(Path(__file__).parent.parent) + os.sep
# How many sizes of a shape are written.
_SIZES: Final = 6


class DebugEventsWriter:
    """The files of debug information in a directory. `enable_dump_debug_info` makes it.

    Attributes:
        dump_root: the directory.

    >>> import tempfile
    >>> import penstock as tf
    >>> writer = tf.debugging.experimental.enable_dump_debug_info(tempfile.mkdtemp(), circular_buffer_size=-1)
    >>> writer.FlushExecutionFiles()
    >>> tf.debugging.experimental.disable_dump_debug_info()
    """

    def __init__(self, dump_root: str, circular_buffer_size: int) -> None:
        self.dump_root: str = path_of(dump_root, "dump_root")
        self._host = socket.gethostname()
        prefix = f"tfdbg_events.{time.time_ns() // 1000:020d}.{self._host}"
        try:
            root = Path(self.dump_root)
            root.mkdir(parents=True, exist_ok=True)
            metadata = Sink(str(root / f"{prefix}.metadata"), None)
            self._sinks = {s: Sink(str(root / f"{prefix}.{s}"), None) for s in _SUFFIXES}
        except FileExistsError:
            raise FailedPreconditionError(
                f"argument 'dump_root' must be a directory, got the file {self.dump_root}"
            ) from None
        except OSError as error:
            raise FailedPreconditionError(f"argument 'dump_root': {error}") from None
        described = {
            "tensorflow_version": _core.__version__,
            "file_version": "debug.Event:1",
            "tfdbg_run_id": uuid.uuid4().hex[:8],
        }
        metadata.write(
            framed(DebugEvent(wall_time=time.time(), debug_metadata=described).SerializeToString())
        )
        metadata.close()
        size = circular_buffer_size if circular_buffer_size > 0 else None
        # The last events wait here where their number is limited.
        self._waiting: dict[str, collections.deque[bytes]] | None = (
            None if size is None else {s: collections.deque(maxlen=size) for s in _SUFFIXES[3:]}
        )
        self._files: dict[str, int] = {}
        self._frames: dict[tuple[str, int, str], str] = {}
        self._devices: dict[str, int] = {}
        # Host calls of data sets write from threads of theirs.
        self._lock = threading.Lock()

    def FlushNonExecutionFiles(self) -> None:
        """Write what describes graphs, and where operations are called.

        >>> import tempfile
        >>> import penstock as tf
        >>> writer = tf.debugging.experimental.enable_dump_debug_info(tempfile.mkdtemp())
        >>> writer.FlushNonExecutionFiles()
        >>> tf.debugging.experimental.disable_dump_debug_info()
        """
        for suffix in _SUFFIXES[:3]:
            self._sinks[suffix].flush()

    def FlushExecutionFiles(self) -> None:
        """Write the latest events of operations that ran.

        >>> import tempfile
        >>> import penstock as tf
        >>> writer = tf.debugging.experimental.enable_dump_debug_info(tempfile.mkdtemp())
        >>> writer.FlushExecutionFiles()
        >>> tf.debugging.experimental.disable_dump_debug_info()
        """
        for suffix in _SUFFIXES[3:]:
            if self._waiting is not None:
                for record in self._waiting[suffix]:
                    self._sinks[suffix].write(record)
                self._waiting[suffix].clear()
            self._sinks[suffix].flush()

    def _close(self) -> None:
        self.FlushNonExecutionFiles()
        self.FlushExecutionFiles()
        for sink in self._sinks.values():
            sink.close()

    def _write(self, suffix: str, **what: Any) -> None:
        record = framed(DebugEvent(wall_time=time.time(), **what).SerializeToString())
        with self._lock:
            if self._waiting is not None and suffix in self._waiting:
                self._waiting[suffix].append(record)
            else:
                self._sinks[suffix].write(record)

    def _device(self, name: str) -> int:
        if name not in self._devices:
            self._devices[name] = len(self._devices)
            self._write("graphs", debugged_device={"device_name": name, "device_id": self._devices[name]})
        return self._devices[name]

    def _location(self) -> dict[str, Any]:
        """Where the program is: the frames that are not of this package, outermost first."""
        ids: list[str] = []
        frame: Any = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith(_PACKAGE):
                ids.append(self._frame(str(Path(file).absolute()), frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return {"host_name": self._host, "stack_frame_ids": ids[::-1]}

    def _frame(self, file: str, line: int, function: str) -> str:
        key = file, line, function
        if key not in self._frames:
            if file not in self._files:
                self._files[file] = len(self._files)
                lines = [text.rstrip("\n") for text in linecache.getlines(file)]
                described = {"file_path": file, "host_name": self._host, "lines": lines}
                self._write("source_files", source_file=described)
            self._frames[key] = str(uuid.uuid4())
            at = {"file_index": self._files[file], "line": line, "func": function}
            self._write("stack_frames", stack_frame_with_id={"id": self._frames[key], "file_line_col": at})
        return self._frames[key]


class _Graph:
    """What is known of a trace: its name, its values, and the names that it has used."""

    def __init__(self, name: str) -> None:
        self.id = str(uuid.uuid4())
        self.name = name
        # For each value the name of its operation, and which result it is.
        self.values: dict[int, str] = {}
        self.names: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """A name that no other operation of the graph has."""
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if count == 0 else self.unique(f"{name}_{count}")


class _Dump:
    """The writing of debug information, which one thread of a program has enabled."""

    def __init__(self, writer: DebugEventsWriter, mode: str, wanted: Callable[[str, Any], bool]) -> None:
        self.writer = writer
        self.mode = mode
        self.options: tuple[Any, ...] = ()
        self._wanted = wanted
        self._override = _core._Override(self._applied)
        self._thread = threading.get_ident()
        self._graphs: dict[int, _Graph] = {}
        self._numbers = itertools.count(1)
        # The names of the functions that are traced for it.
        self._tracing: list[str] = []
        # The graph that ran last, and whether the operations of the writer itself run.
        self._ran = ""
        self._busy = False

    def start(self) -> None:
        """Begins."""
        if session.hook is not None:
            raise FailedPreconditionError("a debugger runs: end it before debug information is written")
        self._override.__enter__()
        if not _core._functions_run_eagerly():
            session.hook, session.trace = self._called, self._traced
            _core._run_functions_eagerly(True)

    def stop(self) -> None:
        """Ends, and closes the files."""
        self._override.__exit__()
        if session.hook == self._called:
            session.hook = session.trace = None
            _core._run_functions_eagerly(False)
        self._busy = True
        self._graphs.clear()
        self.writer._close()

    @contextmanager
    def _traced(self, name: str) -> Iterator[None]:
        """The tracing of a function, which includes those that it calls."""
        self._tracing.append(name)
        _core._run_functions_eagerly(True)
        try:
            yield
        finally:
            _core._run_functions_eagerly(False)
            self._tracing.pop()

    def _called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a traced function whose graph writes."""
        if threading.get_ident() != self._thread:
            return function._call_itself(args, kwargs)
        self._ran = ""
        result = function._call_twin("dumped", args, kwargs, self)
        name = getattr(function, "__name__", "function")
        tensors = [t for t in nest.flatten((args, kwargs)) if _is_value(t)]
        outputs = [t for t in nest.flatten(result, expand_composites=True) if _is_value(t)]
        self._executed(f"__inference_{name}", tensors, outputs, self._ran)
        return result

    def _applied(self, op: str, attributes: Any, inputs: list[Any], outputs: list[Any]) -> None:
        """The engine has applied an operator: now, or as a part of the innermost trace."""
        if self._busy:
            return
        if not _core._is_tracing():
            self._executed(op, inputs, outputs)
        elif self._tracing:
            self._joined(op, inputs, outputs)

    def _executed(self, op: str, inputs: Sequence[Any], outputs: Sequence[Any], graph: str = "") -> None:
        writer = self.writer
        execution = {
            "op_type": op,
            "num_outputs": len(outputs),
            "graph_id": graph,
            "input_tensor_ids": [t._id for t in inputs if _is_value(t)],
            "output_tensor_ids": [t._id for t in outputs],
            "output_tensor_device_ids": [writer._device(t.device) for t in outputs],
            "tensor_debug_mode": MODES[self.mode],
            "code_location": writer._location(),
        }
        if self.mode != "NO_TENSOR":
            with self._own():
                execution["tensor_protos"] = [
                    self._content(t, -1) or TensorProto() for t in outputs if self._wanted(op, t.dtype)
                ]
        writer._write("execution", execution=execution)

    def _joined(self, op: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        graph = self._graph()
        known = [self._name_of(graph, t) for t in inputs if isinstance(t, _core.Tensor)]
        name, ids = self._created(graph, op, _base(outputs[0], op) if outputs else op, known, outputs)
        for slot, (output, number) in enumerate(zip(outputs, ids, strict=True)):
            if self._wanted(op, output.dtype) and _has_content(self.mode, output.dtype):
                self._write_when_run(graph, name, slot, number, output)

    def _write_when_run(self, graph: _Graph, name: str, slot: int, number: int, output: Any) -> None:
        def tell(*values: Any) -> None:
            self._ran = graph.id
            if self._busy:
                return
            trace: dict[str, Any] = {
                "tfdbg_context_id": graph.id,
                "op_name": name,
                "output_slot": slot,
                "tensor_debug_mode": MODES[self.mode],
                "device_name": values[0].device if values else "",
            }
            with self._own():
                empty = _core._to_tensor([], _core.float32)
                trace["tensor_proto"] = self._content(values[0], number) if values else tensor_proto(empty)
            self.writer._write("graph_execution_traces", graph_execution_trace=trace)

        tell.__name__ = "debug_identity"
        py_function(tell, [] if self.mode == "NO_TENSOR" else [output], None)

    def _graph(self) -> _Graph:
        """The graph of the innermost trace."""
        trace = _core._current_trace() or 0
        if trace not in self._graphs:
            graph = self._graphs[trace] = _Graph(self._tracing[-1])
            self.writer._write("graphs", debugged_graph={"graph_id": graph.id, "graph_name": graph.name})
        return self._graphs[trace]

    def _name_of(self, graph: _Graph, tensor: Any) -> str:
        """The name of a value; what no operation has given is a parameter or a constant."""
        if tensor._id not in graph.values:
            kind = "Placeholder"
            if not tensor._is_symbolic or _core._known_value(tensor) is not None:
                kind = "Const"
            elif (found := re.fullmatch(r"(While|If|Case)(_\d+)?", _base(tensor, ""))) is not None:
                kind = found[1]
            base = _base(tensor, kind) if tensor._is_symbolic else kind
            self._created(graph, kind, base, [], [tensor])
        return graph.values[tensor._id]

    def _created(
        self, graph: _Graph, op: str, base: str, inputs: list[str], outputs: Sequence[Any]
    ) -> tuple[str, list[int]]:
        """Describes an operation of a graph: its name, and the numbers of its results."""
        name, ids = graph.unique(base), [next(self._numbers) for _ in outputs]
        for slot, output in enumerate(outputs):
            graph.values[output._id] = f"{name}:{slot}"
        created = {
            "op_type": op,
            "op_name": name,
            "graph_name": graph.name,
            "graph_id": graph.id,
            "input_names": inputs,
            "num_outputs": len(outputs),
            "output_tensor_ids": ids,
            "code_location": self.writer._location(),
        }
        self.writer._write("graphs", graph_op_creation=created)
        return name, ids

    @contextmanager
    def _own(self) -> Iterator[None]:
        """A time in which operations are the writer's own."""
        before, self._busy = self._busy, True
        try:
            with _core._NoTapes():
                yield
        finally:
            self._busy = before

    def _content(self, tensor: Any, number: int) -> TensorProto | None:
        """What the mode writes of a tensor; None for a dtype that it says nothing of."""
        if not _has_content(self.mode, tensor.dtype):
            return None
        if self.mode == "FULL_TENSOR":
            return tensor_proto(tensor)
        found = _summary(self.mode, tensor, number)
        return tensor_proto(_core._to_tensor(found, _core.float64))


def _base(tensor: Any, kind: str) -> str:
    """The name of the operation that gives a symbolic tensor; its kind where it has no name."""
    name: str = tensor.name.partition(":")[0]
    return kind if name.startswith("%") else name


def _is_value(value: Any) -> bool:
    return isinstance(value, _core.Tensor) and not value._is_symbolic


def _has_content(mode: str, dtype: Any) -> bool:
    """Whether a mode says something of tensors of a dtype."""
    if dtype in (_core.variant, _core.resource):
        return False
    if mode in ("NO_TENSOR", "FULL_TENSOR"):
        return True
    if mode == "SHAPE":
        return bool(dtype.is_floating or dtype.is_integer or dtype.is_bool)
    return bool(dtype.is_floating)


def _summary(mode: str, tensor: Any, number: int) -> list[float]:
    """Numbers about a tensor, in TensorFlow's order; the first is the number of the tensor."""
    sizes = list(tensor.shape)
    count = math.prod(sizes)
    if mode == "SHAPE":
        # Of a longer shape the last sizes.
        shown = [*sizes, *[0] * _SIZES][:_SIZES] if len(sizes) <= _SIZES else sizes[-_SIZES:]
        return [number, tensor.dtype.as_datatype_enum, len(sizes), count, *shown]

    def counted(truth: Any) -> int:
        return int(raw_ops.reduce_sum(raw_ops.cast(truth, dtype=_core.int64)))

    infinite, nan = raw_ops.is_inf(tensor), raw_ops.is_nan(tensor)
    if mode == "CURT_HEALTH":
        return [number, float(counted(raw_ops.logical_or(infinite, nan)) > 0)]
    zero = raw_ops.zeros_like(tensor)
    below, above = raw_ops.less(tensor, zero), raw_ops.greater(tensor, zero)
    negative, positive = (
        counted(raw_ops.logical_and(infinite, below)),
        counted(raw_ops.logical_and(infinite, above)),
    )
    if mode == "CONCISE_HEALTH":
        return [number, count, negative, positive, counted(nan)]
    finite = [counted(below) - negative, counted(raw_ops.equal(tensor, zero)), counted(above) - positive]
    return [
        number,
        -1,
        tensor.dtype.as_datatype_enum,
        len(sizes),
        count,
        negative,
        positive,
        counted(nan),
        *finite,
    ]


class _State:
    dump: _Dump | None = None


def enable_dump_debug_info(
    dump_root: str | os.PathLike[str],
    tensor_debug_mode: str = "NO_TENSOR",
    circular_buffer_size: int = 1000,
    op_regex: str | None = None,
    tensor_dtypes: Sequence[DTypeLike] | Callable[[_core.DType], bool] | None = None,
) -> DebugEventsWriter:
    """Write which operations this thread runs, eagerly and in traced functions, in TensorFlow's files.

    TensorBoard's page "Debugger V2" shows them, with the lines of the program. Functions are traced anew for
    it; those that data sets call, and concrete functions, are not told of.

    Args:
        dump_root: the directory.
        tensor_debug_mode: what is written of results: `"NO_TENSOR"` nothing; `"CURT_HEALTH"` whether one is
            infinite or NaN; `"CONCISE_HEALTH"` how many are so; `"FULL_HEALTH"` also how many are negative,
            zero and positive; `"SHAPE"` shapes; `"FULL_TENSOR"` all.
        circular_buffer_size: how many of the latest events are kept until files are flushed or this ends;
            0 or less writes all of them at once.
        op_regex: of which operators results are written, by the beginnings of TensorFlow's names.
        tensor_dtypes: the dtypes of which results are written, or a function that says so of a dtype.

    Returns:
        What writes the files; its `FlushNonExecutionFiles` and `FlushExecutionFiles` do so at once.

    Raises:
        ValueError: for a text that is no expression, an unknown mode, or one that differs from that of an
            earlier call, as may not the size
            of the buffer.
        FailedPreconditionError: where the directory cannot be written to, or a debugger runs.

    >>> import pathlib, tempfile
    >>> import penstock as tf
    >>> root = tempfile.mkdtemp()
    >>> writer = tf.debugging.experimental.enable_dump_debug_info(root, "FULL_HEALTH")
    >>> half = tf.constant(1.0) / 2.0
    >>> tf.debugging.experimental.disable_dump_debug_info()
    >>> sorted(path.suffix for path in pathlib.Path(root).iterdir())[:3]
    ['.execution', '.graph_execution_traces', '.graphs']
    """
    if tensor_debug_mode not in MODES:
        raise ValueError(
            f"argument 'tensor_debug_mode' must be one of {', '.join(MODES)}, got {tensor_debug_mode!r}"
        )
    if tensor_dtypes is not None and not (callable(tensor_dtypes) or isinstance(tensor_dtypes, list | tuple)):
        raise ValueError(
            "argument 'tensor_dtypes' must be a list, a tuple or a function of a dtype, "
            f"got {tensor_dtypes!r}"
        )
    expect(circular_buffer_size, int, "circular_buffer_size", "an integer")
    wanted = _wanted(op_regex, tensor_dtypes)
    root, options = path_of(dump_root, "dump_root"), (tensor_debug_mode, circular_buffer_size)
    before = _State.dump
    if before is not None:
        if before.options != options:
            raise ValueError(
                "arguments 'tensor_debug_mode' and 'circular_buffer_size' must be "
                f"{before.options}, as before, got {options}"
            )
        if before.writer.dump_root == root:
            return before.writer
        disable_dump_debug_info()
    dump = _Dump(DebugEventsWriter(root, circular_buffer_size), tensor_debug_mode, wanted)
    dump.options = options
    dump.start()
    if _State.dump is None:
        atexit.register(disable_dump_debug_info)
    _State.dump = dump
    return dump.writer


def _wanted(op_regex: str | None, tensor_dtypes: Any) -> Callable[[str, Any], bool]:
    """Of which operators and dtypes results are written."""
    try:
        pattern = None if op_regex is None else re.compile(op_regex)
    except (re.error, TypeError) as error:
        raise ValueError(
            f"argument 'op_regex' must be a regular expression, got {op_regex!r}: {error}"
        ) from None
    dtypes = tensor_dtypes
    if isinstance(tensor_dtypes, list | tuple):
        dtypes = {_core.DType(each) for each in tensor_dtypes}.__contains__

    def wanted(op: str, dtype: Any) -> bool:
        return (pattern is None or pattern.match(op) is not None) and (dtypes is None or bool(dtypes(dtype)))

    return wanted


def disable_dump_debug_info() -> None:
    """End what `enable_dump_debug_info` began, and write the rest. Without it nothing happens.

    >>> import penstock as tf
    >>> tf.debugging.experimental.disable_dump_debug_info()
    """
    dump, _State.dump = _State.dump, None
    if dump is not None:
        atexit.unregister(disable_dump_debug_info)
        dump.stop()
