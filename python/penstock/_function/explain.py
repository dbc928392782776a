"""Why a function was traced anew: for `explain_cache`, and for the warning about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock._runtime.print import get_logger
from penstock._types.argument_kinds import fields_of
from penstock._types.argument_names import frame_of_program
from penstock._types.specs import TensorSpec, TypeSpec, VariableSpec

__all__ = [
    "CacheExplanation",
    "Difference",
    "MissExplanation",
    "TraceExplanation",
    "explain",
    "explain_together",
    "warn_of_new_functions",
    "warn_of_retracing",
]


class Difference(NamedTuple):
    """One leaf of the arguments in which a call differed from the nearest trace.

    Attributes:
        leaf: such as `x.shape[0]`, `options['rate']`, or the name of a guarded global.
        before: what the trace was made for, or `object dead`.
        after: what the call had.
    """

    leaf: str
    before: str
    after: str

    def __str__(self) -> str:
        before, after = _apart(self.before, self.after)
        return f"{self.leaf}: {before} → {after}"


class MissExplanation(NamedTuple):
    """A call for which there was no trace.

    Attributes:
        location: `file:line` of the call.
        differences: how it differed from the nearest trace; empty where there was none.
        outcome: what was done: `traced`, or which sizes became unknown.
    """

    location: str
    differences: tuple[Difference, ...]
    outcome: str

    def __str__(self) -> str:
        why = "; ".join(map(str, self.differences)) or "the first"
        return f"{self.location}: {why}: {self.outcome}"


class TraceExplanation(NamedTuple):
    """A trace.

    Attributes:
        signature: as `f(a, b=2)`, with the types of tensors.
        hits: how many calls it served.
        seconds: what tracing took.
        instructions: how many its graph has.
    """

    signature: str
    hits: int
    seconds: float
    instructions: int

    def __str__(self) -> str:
        return (
            f"{self.signature}: {_count(self.hits, 'call')}, {_count(self.instructions, 'instruction')}, "
            f"traced in {self.seconds * 1e3:.3g} ms"
        )


class CacheExplanation(NamedTuple):
    """The traces of a function, oldest first, and its latest misses.

    Attributes:
        name: of the function.
        calls: how many there were.
        traces: what is kept.
        misses: up to 256, oldest first.
    """

    name: str
    calls: int
    traces: tuple[TraceExplanation, ...]
    misses: tuple[MissExplanation, ...]

    def to_html(self) -> str:
        """Give a page for a browser: the traces, and why each call without one had none.

        A call is shown with its line, what differed from the nearest trace, and what to do about it.

        Returns:
            The text of the page. It loads nothing.

        >>> import penstock as tf
        >>> double = tf.function(lambda x: x + x)
        >>> _ = double(1), double(2)
        >>> page = double.explain_cache().to_html()
        >>> page.startswith("<!DOCTYPE html>"), page.count('<section class="miss">')
        (True, 2)
        """
        from penstock._runtime.pages import cache_page  # start-up does without it

        # Where sizes have become unknown, the function has reduce_retracing.
        relaxed = any(miss.outcome != "traced" for miss in self.misses)
        return cache_page(self, {str(d): _fix(d, relaxed) for miss in self.misses for d in miss.differences})

    def _numbers(self) -> str:
        """How many calls, traces and misses there are."""
        traces, misses = _count(len(self.traces), "trace"), _count(len(self.misses), "miss", "misses")
        return f"{_count(self.calls, 'call')}, {traces}, {misses}"

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_cache  # start-up does without it

        return of_cache(self)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self._numbers()}"]
        lines += [f"  trace {i}: {trace}" for i, trace in enumerate(self.traces)]
        lines += [f"  miss {i}: {miss}" for i, miss in enumerate(self.misses)]
        return "\n".join(lines)


# Characters of a value that are shown, and arguments of a call.
_VALUE, _ARGUMENTS = 80, 20


def _apart(before: str, after: str) -> tuple[str, str]:
    """Two texts; of long ones the part around their first difference."""
    first = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(0, first - _VALUE // 4) if first > _VALUE // 2 else 0

    def part(text: str) -> str:
        return "…" * (start > 0) + text[start : start + _VALUE] + "…" * (len(text) > start + _VALUE)

    return part(before), part(after)


def _short(text: str) -> str:
    return text if len(text) <= _VALUE else text[:_VALUE] + "…"


def _listed(parts: list[str]) -> str:
    """The parts of a list; of a long one the first, and how many more there are."""
    more = len(parts) - _ARGUMENTS
    return ", ".join(parts if more <= 0 else [*parts[:_ARGUMENTS], f"… {more} more"])


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _call_line(trace: Any) -> str:
    """`name(a, b=2)`: tensors by name, Python values as they were bound."""
    args, kwargs = trace.structured_input_signature
    parts = []
    names = [name for name in trace._parameter_names if name not in kwargs]
    owner = names[0] if names and trace._is_method() else "self"
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        plain = _has_tensor(value) or (name == owner and not isinstance(value, int | float | str))
        parts.append(name if plain else f"{name}={_short(repr(value))}")
    parts.extend(_short(str(value)) for value in args[len(names) :])
    return f"{trace._function_name}({_listed(parts)})"


def _has_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_tensor, value))
    if isinstance(value, Mapping):
        return any(map(_has_tensor, value.values()))
    if isinstance(value, TensorSpec | VariableSpec):
        return True
    names = None if isinstance(value, type | TypeSpec) else fields_of(type(value))
    return any(_has_tensor(getattr(value, name, None)) for name in names or ())


def explain(function: Any) -> CacheExplanation:
    """What the cache of a function holds, and why."""
    calls, misses = function._history()
    traces = []
    for trace in function._traces():
        types = _listed([f"{t.name.rpartition(':')[0]}: {t.dtype.name}{t.shape}" for t in _arguments(trace)])
        hits, seconds, instructions = trace._statistics()
        line = _call_line(trace) + (f" [{types}]" if types else "")
        traces.append(TraceExplanation(line, hits, seconds, instructions))
    return CacheExplanation(
        function._shown_name,
        calls,
        tuple(traces),
        tuple(
            MissExplanation(place, tuple(Difference(*d) for d in differences), outcome)
            for place, outcome, differences in misses
        ),
    )


def explain_together(name: str, functions: Sequence[Any]) -> CacheExplanation:
    """What the caches of several functions hold that do one thing, each for other arguments."""
    found = [explain(function) for function in functions]
    return CacheExplanation(
        name,
        sum(one.calls for one in found),
        tuple(trace for one in found for trace in one.traces),
        tuple(miss for one in found for miss in one.misses),
    )


def _arguments(trace: Any) -> list[Any]:
    count = len(trace._arg_keywords)
    return [t for t in trace.inputs if t.name.rpartition(":")[0] in trace._arg_keywords][:count]


_SIZE = re.compile(r"\.shape\[\d+\]$")
_NEST = re.compile(r"(list|tuple|dict) of \d+$")
_VARIABLE = re.compile(r"\w+ Variable, ")
_TENSOR = re.compile(r"\w+ Tensor, ")
_NUMBER = re.compile(r"-?[\d.]+(e[+-]?\d+)?$|inf$|nan$")


def _fix(difference: Difference, relaxed: bool) -> str:
    leaf, before, after = difference
    root = leaf.partition(".")[0]
    also = "" if relaxed else ", or pass reduce_retracing=True to tf.function"
    if _SIZE.search(leaf):
        return f"give {root} a tf.TensorSpec with None for that size in input_signature{also}"
    if leaf.endswith(".shape"):
        return f"give {root} a tf.TensorSpec(None, …), of any number of dimensions, in input_signature{also}"
    if leaf.endswith(".dtype"):
        return f"cast {root} to one dtype before the call"
    if before == "object dead":
        return f"keep the object alive between calls, or give its class __tf_tracing_type__ ({root})"
    if _NEST.match(before) and _NEST.match(after):
        return f"pass {leaf} in one structure, such as a tensor of all its items"
    if (_VARIABLE.match(before) and _TENSOR.match(after)) or (
        _TENSOR.match(before) and _VARIABLE.match(after)
    ):
        return f"pass always a variable for {leaf}, or always a tensor, as variable.read_value() gives it"
    if _NUMBER.match(before) and _NUMBER.match(after):
        return f"pass {leaf} as a tensor, tf.constant({_short(after)}), unless it shapes the graph"
    return f"pass a tensor for {leaf}, or call with few different values of it"


def warn_of_retracing(
    name: str,
    traces: int,
    calls: int,
    differences: list[tuple[str, str, str]],
    place: tuple[str, int],
    relaxed: bool,
) -> None:
    """Logs a warning; the engine asks for it where most of the latest calls traced anew.

    Args:
        name: of the function.
        traces: how many of the latest calls traced.
        calls: how many calls these are.
        differences: what differs from the nearest trace: a leaf, what it was, what it is.
        place: file and line of the call.
        relaxed: whether the function has `reduce_retracing`.
    """
    from penstock._function.function import calls_itself  # it imports this module

    found = [Difference(*d) for d in differences]
    if calls_itself(name):
        return
    if any(d.leaf == "self" and d.before != "object dead" for d in found):
        # Each object has traces of its own: the first call of a method on one traces nothing again.
        return
    often = f"{traces} out of the last {calls} calls to {name}"
    text = [f"{often} triggered tf.function retracing, which is expensive."]
    if found:
        text.append(f"This call differs from the nearest trace in {'; '.join(map(str, found))}.")
        text.append(f"To avoid it: {_fix(found[0], relaxed)}.")
    text.append(f"{name}.explain_cache() lists all traces.")
    _log(text, *place)


def warn_of_new_functions(name: str, count: int) -> None:
    """Logs a warning about a function that is made anew for each call.

    Args:
        name: of the function.
        count: how many were made, one after the other.
    """
    frame = frame_of_program()
    often = f"{count} out of the last {count} calls to {name}"
    text = [
        f"{often} triggered tf.function retracing, which is expensive.",
        "Each was the only call of a new function, as tf.function was called again.",
        "To avoid it: call tf.function once, outside of the loop, and keep what it gives.",
    ]
    _log(text, *(("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)))


def _log(text: list[str], file: str, line: int) -> None:
    """Logs a warning about a call in a line of the program."""
    import logging  # start-up does without it

    logger = get_logger()
    if logger.isEnabledFor(logging.WARNING):
        if file:
            text.append(f"The call is in {file}, line {line}.")
        where = (file or "<unknown>", line)
        logger.handle(logger.makeRecord(logger.name, logging.WARNING, *where, " ".join(text), (), None))
