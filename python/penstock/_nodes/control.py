"""Operators that check, print, choose and repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock import _core, raw_ops

__all__ = ["NODES"]


def _listed(results: Any) -> list[Any]:
    if results is None:
        return []
    return list(results) if isinstance(results, list | tuple) else [results]


def _truth(value: Any) -> Any:
    """Whether a branch is taken: a number that is not 0, or what has elements."""
    if value.dtype == tf.bool and value.shape.rank == 0:
        return value
    if value.shape.rank == 0:
        return tf.not_equal(value, tf.constant("" if value.dtype == tf.string else 0, value.dtype))
    return tf.size(value) > 0


def _if(cond: Any, input: Sequence[Any], Tout: Any, then: Any, other: Any, shapes: Any) -> list[Any]:
    return _listed(tf.cond(_truth(cond), lambda: _listed(then(*input)), lambda: _listed(other(*input))))


def _case(index: Any, input: Sequence[Any], Tout: Any, branches: Sequence[Any], shapes: Any) -> list[Any]:
    return _listed(tf.switch_case(index, [lambda f=f: _listed(f(*input)) for f in branches]))


def _while(input: Sequence[Any], cond: Any, body: Any, shapes: Any, parallel_iterations: int) -> list[Any]:
    # Variables are the same ones in every iteration.
    varies = [not isinstance(value, _core._Variable) for value in input]

    def whole(values: Sequence[Any]) -> list[Any]:
        rest = iter(values)
        return [next(rest) if each else value for each, value in zip(varies, input, strict=True)]

    def varying(values: Sequence[Any]) -> list[Any]:
        return [value for each, value in zip(varies, values, strict=True) if each]

    found = tf.while_loop(
        lambda *values: _truth(tf.convert_to_tensor(cond(*whole(values)))),
        lambda *values: varying(_listed(body(*whole(values)))),
        varying(input),
    )
    return whole(_listed(found))


def _for(start: Any, limit: Any, delta: Any, input: Sequence[Any], body: Any) -> list[Any]:
    found = tf.while_loop(
        lambda i, *_: tf.where(delta > 0, i < limit, i > limit),
        lambda i, *values: [i + delta, *_listed(body(i, *values))],
        [start, *input],
    )
    return list(found[1:])


def _called(args: Sequence[Any], Tout: Any, f: Callable[..., Any], *options: str) -> list[Any]:
    return _listed(f(*args))


def _print(input: Any, data: Sequence[Any], message: str, first_n: int, summarize: int) -> Any:
    tf.print(message, *data, sep="", summarize=summarize)
    return tf.identity(input)


def _placeholder(dtype: Any, shape: Any = None) -> Any:
    return tf.compat.v1.placeholder(dtype, shape)


NODES: Final[dict[str, Callable[..., Any]]] = {
    "Assert": lambda condition, data, summarize: tf.debugging.Assert(condition, data, summarize),
    "Case": _case,
    "CheckNumerics": tf.debugging.check_numerics,
    "CheckNumericsV2": tf.debugging.check_numerics,
    "ControlTrigger": tf.no_op,
    "For": _for,
    "If": _if,
    "LoopCond": tf.identity,
    "NoOp": tf.no_op,
    "PartitionedCall": _called,
    "Placeholder": _placeholder,
    "PlaceholderV2": _placeholder,
    "PlaceholderWithDefault": lambda input, shape: tf.compat.v1.placeholder_with_default(input, shape),
    "Print": _print,
    "PrintV2": lambda input, stream, end: tf.print(
        input, output_stream=stream if "://" in stream else f"{stream}", end=end
    ),
    "StatefulPartitionedCall": _called,
    "StatelessCase": _case,
    "StatelessIf": _if,
    "StatelessWhile": _while,
    "Timestamp": raw_ops.timestamp,
    "While": _while,
}
