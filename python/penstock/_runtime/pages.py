"""What notebooks show, short pieces of HTML of a few kilobytes at most, and the page about a cache."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from penstock import _core

if TYPE_CHECKING:
    from penstock._function.explain import CacheExplanation

__all__ = ["cache_page", "of_cache", "of_dataset", "of_tensor", "of_variable"]

# Rows and columns that are shown at each end, and characters of a text.
_ENDS, _TEXT = 5, 2000


def _table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of texts."""
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    lines = [f"<tr>{titles}</tr>"] if head else []
    lines += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def _title(kind: str, facts: str) -> str:
    return f"<div><b>{html.escape(kind)}</b> {html.escape(facts)}</div>"


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else text[:_TEXT] + "…"


def _values(value: Any) -> str:
    """The elements of a tensor: a table for a vector or a matrix, else its text."""
    array = value.numpy()
    if not 1 <= value.shape.rank <= 2 or value.dtype == _core.string or 0 in array.shape:
        return f"<pre>{html.escape(_shortened(str(array)))}</pre>"
    matrix = array.reshape(1, -1) if array.ndim == 1 else array

    def ends(size: int) -> list[int | None]:
        """The positions that are shown; None for those that are left out."""
        if size <= 2 * _ENDS + 1:
            return list(range(size))
        return [*range(_ENDS), None, *range(size - _ENDS, size)]

    def text(i: int | None, j: int | None) -> str:
        if i is None or j is None:
            return "…"
        return f"{matrix[i, j]:.6g}" if matrix.dtype.kind == "f" else str(matrix[i, j])

    return _table([[text(i, j) for j in ends(matrix.shape[1])] for i in ends(matrix.shape[0])])


def of_tensor(tensor: _core.Tensor) -> str:
    """An eager tensor with its elements; one of a graph with its name."""
    if not hasattr(tensor, "numpy"):
        return _title("Tensor", f"{tensor.name} {tensor.dtype.name} {tensor.shape}, of a graph")
    return _title("Tensor", f"{tensor.dtype.name} {tensor.shape}") + _values(tensor)


def of_variable(variable: Any) -> str:
    """A variable with its value."""
    trained = "" if variable.trainable else ", not trainable"
    title = _title("Variable", f"{variable.name} {variable.dtype.name} {variable.shape}{trained}")
    return title if _core._is_tracing() else title + _values(variable)


_STYLE = """
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.5em 0 1.5em; }
th, td { text-align: left; vertical-align: top; padding: 3px 12px 3px 0; border-bottom: 1px solid #8884; }
code { font-size: 13px; white-space: pre-wrap; }
"""


def cache_page(found: CacheExplanation, fixes: Mapping[str, str]) -> str:
    """The page about the cache of a function: its traces, and each call for which it was traced anew.

    Args:
        found: what the cache holds.
        fixes: what to do about each difference, by its text.
    """
    traces = _table(
        [
            (
                str(i),
                trace.signature,
                str(trace.hits),
                f"{trace.seconds * 1e3:.3g} ms",
                str(trace.instructions),
            )
            for i, trace in enumerate(found.traces)
        ],
        ("", "trace", "calls", "traced in", "instructions"),
    )
    parts = []
    for miss in found.misses:
        file, _, line = miss.location.rpartition(":")
        source = linecache.getline(file, int(line)).strip() if line.isdigit() else ""
        short = f"{PurePath(file).name}:{line}" if file else miss.location
        rows = [(d.leaf, d.before, d.after, fixes[str(d)]) for d in miss.differences]
        why = _table(rows, ("argument", "nearest trace", "this call", "to avoid it")) if rows else ""
        said = "" if rows else "There was no trace before. "
        parts.append(
            f'<section class="miss"><h3 title="{html.escape(miss.location)}">{html.escape(short)}</h3>'
            f"<p><code>{html.escape(source)}</code></p>{why}"
            f"<p>{said}Outcome: {html.escape(miss.outcome)}.</p></section>"
        )
    title = f"Traces of {html.escape(found.name)}"
    facts = f"{found.calls} calls, {len(found.traces)} traces, {len(found.misses)} misses"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1><p>{facts}</p><h2>Traces</h2>{traces}"
        f"<h2>Calls for which there was no trace</h2>{''.join(parts)}</body></html>"
    )


def of_cache(found: CacheExplanation) -> str:
    """The traces of a function, and why it was traced anew."""
    rows = [
        (trace.signature, str(trace.hits), f"{trace.seconds * 1e3:.3g} ms", str(trace.instructions))
        for trace in found.traces[-2 * _ENDS :]
    ]
    traces = _table(rows, ("trace", "calls", "traced in", "instructions"))
    misses = [
        (miss.location, "; ".join(map(str, miss.differences)) or "the first", miss.outcome)
        for miss in found.misses[-2 * _ENDS :]
    ]
    why = _table(misses, ("call", "what differed", "outcome"))
    facts = f"{found.calls} calls, {len(found.traces)} traces, {len(found.misses)} misses"
    return _title(f"Function {found.name}", facts) + traces + why


def _leaves(spec: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The specifications of a nest, with the way to each."""
    if isinstance(spec, Mapping):
        for key, value in spec.items():
            yield from _leaves(value, f"{path}[{key!r}]")
    elif isinstance(spec, tuple | list):
        names = getattr(spec, "_fields", None)
        for i, value in enumerate(spec):
            yield from _leaves(value, f"{path}.{names[i]}" if names else f"{path}[{i}]")
    else:
        yield path.removeprefix(".") or "element", spec


def of_dataset(dataset: Any) -> str:
    """A data set with the tensors of its elements."""
    rows = [
        (
            path,
            getattr(getattr(leaf, "dtype", None), "name", type(leaf).__name__),
            str(getattr(leaf, "shape", "")),
        )
        for path, leaf in _leaves(dataset.element_spec)
    ]
    count = int(dataset.cardinality())
    facts = {-1: "infinitely many elements", -2: "of unknown length"}.get(count, f"{count} elements")
    return _title("Dataset", facts) + _table(rows[: 4 * _ENDS], ("element", "dtype", "shape"))
