"""Printing and assertions."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.arguments import items
from penstock._runtime.host_calls import py_function
from penstock._runtime.scope import scoped
from penstock._types import composite as _composite
from penstock._types.specs import TensorSpec

if TYPE_CHECKING:
    import logging  # start-up does without it

    from penstock._types.aliases import TensorLike

_ASSERT = getattr(raw_ops, "assert")
_LOG_LEVELS = ("info", "warning", "error")


@scoped
def print(*inputs: Any, **kwargs: Any) -> Any:
    """Print tensors and other values; in a traced function each time that it runs.

    Numbers are shown as TensorFlow shows them, dictionaries in the order of their keys, and a scalar
    tensor of dtype `string` in quotes, unless it is all that is printed; other objects as `repr()` does.

    Args:
        *inputs: tensors, strings, other values, and nests of them.
        **kwargs: `output_stream`: `sys.stderr` (the default), `sys.stdout`, `"file://" + path`, or a logger
            of the `logging` module's level: `"info"`, `"warning"`, `"error"` or such a method as
            `logging.info`; `summarize`: how many elements to show at both ends of each dimension, 3 by
            default, -1 for all; `sep`: what stands between values, a blank by default; `end`: what follows
            them, a new line by default; `name`: a scope for the names of
            its operations in a graph.

    Returns:
        None; in a graph of TensorFlow 1 the operation that prints.

    Raises:
        ValueError: for another stream.
        TypeError: for another keyword.

    >>> import penstock as tf
    >>> import sys, penstock as tf
    >>> tf.print("x =", tf.constant([1, 2]), output_stream=sys.stdout)
    x = [1 2]
    """
    stream = _stream(kwargs.pop("output_stream", None))
    sep = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    summarize = kwargs.pop("summarize", 3)
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"print() got an unexpected keyword argument '{next(iter(kwargs))}'")
    tensors: list[Any] = []
    alone = len(inputs) == 1 and not nest.is_nested(inputs[0])
    parts = [_literal(x) if isinstance(x, str) else _part(x, tensors, summarize, alone) for x in inputs]
    start = v1_graph_state.mark()
    raw_ops.print(
        tensors,
        template=_literal(str(sep)).join(parts),
        stream=stream,
        end=str(end),
        summarize=int(summarize),
    )
    return v1_graph_state.operation(start)


def _literal(text: str) -> str:
    """Text as a template that stands for itself."""
    return text.replace("{", "{{").replace("}", "}}")


class _Hole:
    """The place of a tensor in the printed form of a nest."""

    def __init__(self, quoted: bool = False) -> None:
        self.quoted = quoted

    def __repr__(self) -> str:
        return '"\0"' if self.quoted else "\0"


def _part(value: Any, tensors: list[Any], summarize: int, alone: bool) -> str:
    """The template of a value; its tensors are appended. A string is quoted unless it stands alone."""
    leaf = functools.partial(
        _leaf, tensors=tensors, summarize=summarize, alone=alone, records=_composite.Records()
    )
    nested = nest.is_nested(value)
    shown = nest.map_structure(leaf, value) if nested else leaf(value)
    # Dictionaries are shown in the order of their keys.
    if nested:
        import pprint  # slow to load

        return _literal(pprint.saferepr(shown)).replace("\0", "{}")
    return _literal(repr(shown)).replace("\0", "{}")


def _leaf(x: Any, tensors: list[Any], summarize: int, alone: bool, records: _composite.Records) -> Any:
    """What stands for a leaf in the template; its tensors are appended."""
    if isinstance(x, _core._Variable):
        x = x.read_value()
    if records.has(x):
        inner = functools.partial(_leaf, tensors=tensors, summarize=summarize, alone=alone, records=records)
        return _composite.map_record(inner, x) if _is_symbolic(x) else x
    if _composite.is_composite(x):
        show = functools.partial(_show_composite, summarize=summarize)
        if _is_symbolic(x):
            # A callback, since how a composite value looks is its own class's affair.
            tensors.append(py_function(show, [x], TensorSpec([], _core.string)))
        else:
            tensors.append(_core._to_tensor(show(x)))
        return _Hole()
    if isinstance(x, _core.Tensor):
        tensors.append(x)
        return _Hole(quoted=x.dtype == _core.string and x.shape.rank == 0 and not alone)
    return x


def _is_symbolic(composite: Any) -> bool:
    return any(isinstance(x, _core.Tensor) and x._is_symbolic for x in _composite.flatten(composite))


def _show_composite(value: Any, summarize: int) -> str:
    from penstock._values.ragged import RaggedTensor  # the values build on this

    if not isinstance(value, RaggedTensor):
        return repr(value)

    return _show_rows(value.to_list(), summarize)


def _show_rows(x: Any, summarize: int) -> str:
    if isinstance(x, list):
        rows = x if summarize < 0 or len(x) <= 2 * summarize else [*x[:summarize], ..., *x[-summarize:]]
        return "[" + ", ".join(_show_rows(row, summarize) for row in rows) + "]"
    if x is ...:
        return "..."
    return repr(x.decode(errors="replace")) if isinstance(x, bytes) else str(x)


def _stream(stream: Any) -> str:
    if stream is None or stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if isinstance(stream, str):
        if stream.startswith("file://"):
            return stream
        name = stream.removeprefix("log:")
    else:
        name = getattr(stream, "__name__", "")
        if "logging" not in (getattr(stream, "__module__", None) or ""):
            name = ""
    if name in _LOG_LEVELS:
        return f"log:{name}"
    raise ValueError(
        "argument 'output_stream' must be sys.stdout, sys.stderr, 'file://<path>' or a logging level, "
        f"got {stream!r}"
    )


@scoped
def Assert(
    condition: TensorLike, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Any:
    """Raise unless `condition` is true; in a traced function each time that it runs.

    Args:
        condition: a `bool` scalar.
        data: values to show in the error.
        summarize: how many elements of each to show, 3 by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        None; in a graph of TensorFlow 1 the operation that checks.

    Raises:
        InvalidArgumentError: where the condition is false.

    >>> import penstock as tf
    >>> tf.Assert(True, ['never shown'])
    """
    start = v1_graph_state.mark()
    check(condition, data, "", summarize)
    return v1_graph_state.operation(start)


def get_logger() -> logging.Logger:
    """Get the logger of this package: warnings and what `tf.print` prints to a level go there.

    Returns:
        The logger, for its level and handlers.

    >>> import penstock as tf
    >>> tf.get_logger().name
    'penstock'
    """
    import logging  # start-up does without it

    return logging.getLogger("penstock")


def array_of(value: Any) -> Any:
    """The array of a tensor or variable. It has one dimension where the tensor has more than NumPy allows."""
    try:
        return value.numpy()
    except ValueError:
        return raw_ops.reshape(value, [-1]).numpy()


def value_text(value: Any, show: Callable[[Any], str] = repr) -> str:
    """What `repr()` or `str()` of a tensor or variable shows of its value; several lines start on a new one.

    Args:
        value: an array, a NumPy scalar or bytes.
        show: `repr`, which shows a scalar as Python does, or `str`, in the digits of its dtype.
    """
    text = show(_of_python(value) if show is repr else value)
    return f"\n{text}" if "\n" in text else text


def value_format(value: Any, spec: str) -> str:
    """A value in an f-string: a scalar as Python does, an array only without a `spec`."""
    return format(_of_python(value), spec)


def _of_python(value: Any) -> Any:
    return value if isinstance(value, bytes) or value.ndim else value.item()


# What assertions show in place of the values that they compare.
_instead: ContextVar[Any] = ContextVar("shown", default=None)


@contextmanager
def showing(data: Any) -> Iterator[None]:
    """Have assertions within it show these values in place of those that they compare; None for those."""
    token = _instead.set(data)
    try:
        yield
    finally:
        _instead.reset(token)


def check(condition: Any, data: Any, message: str | None, summarize: int | None) -> None:
    """`Assert` with a message."""
    given = _instead.get()
    data = data if given is None else given
    shown = [x if isinstance(x, str) else _core._to_tensor(x) for x in items(data, "data")]
    _ASSERT(condition, *shown, message=message or "", summarize=3 if summarize is None else summarize)
