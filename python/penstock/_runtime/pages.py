"""What notebooks show, short pieces of HTML of a few kilobytes at most, and the page about a cache."""

from __future__ import annotations

import html
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.print import array_of

if TYPE_CHECKING:
    from penstock._function.explain import CacheExplanation
    from penstock.profiler import Recording

__all__ = [
    "cache_page",
    "ends",
    "of_cache",
    "of_dataset",
    "of_fields",
    "of_module",
    "of_ragged",
    "of_recording",
    "of_slices",
    "of_sparse",
    "of_tensor",
    "of_variable",
    "place",
    "shortened",
    "table",
    "title",
]

# Rows and columns that are shown at each end, and characters of a text and of a cell of a table.
_ENDS, _TEXT, _CELL = 5, 2000, 200


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of texts; of long ones the beginning."""
    titles = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = [f"<tr>{titles}</tr>"] if head else []
    lines += [
        "<tr>" + "".join(f"<td>{html.escape(shortened(cell, _CELL))}</td>" for cell in row) + "</tr>"
        for row in rows
    ]
    return f"<table>{''.join(lines)}</table>"


def title(kind: str, facts: str) -> str:
    """The line above what is shown of an object: what it is, and what there is to know of it."""
    return f"<div><b>{html.escape(kind)}</b> {html.escape(facts)}</div>"


def shortened(text: str, most: int = _TEXT) -> str:
    """A text, or the beginning of a long one."""
    return text if len(text) <= most else text[:most] + "…"


def ends(size: int) -> list[int | None]:
    """The positions of a sequence that are shown: of a long one those at its ends, with None between them."""
    if size <= 2 * _ENDS + 1:
        return list(range(size))
    return [*range(_ENDS), None, *range(size - _ENDS, size)]


def place(text: str) -> str:
    """A place `file:line` as people know it: a cell of a notebook by its number."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    file, _, line = text.rpartition(":")
    cell = named(file) if named is not None else None
    return text if cell is None else f"{' '.join(cell)}, line {line}"


def _number(value: Any) -> str:
    """An element of an array, a float with few digits."""
    is_float = isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"
    return f"{value:.6g}" if is_float else str(value)


def _values(value: Any) -> str:
    """The elements of a tensor: a table for a vector or a matrix, else its text."""
    array = array_of(value)
    if isinstance(array, bytes):  # a text without dimensions
        return f"<pre>{html.escape(shortened(str(array)))}</pre>"
    if not 1 <= array.ndim <= 2 or value.dtype == _core.string or 0 in array.shape:
        return f"<pre>{html.escape(shortened(str(array)))}</pre>"
    matrix = array.reshape(1, -1) if array.ndim == 1 else array

    def text(i: int | None, j: int | None) -> str:
        return "…" if i is None or j is None else _number(matrix[i, j])

    return table([[text(i, j) for j in ends(matrix.shape[1])] for i in ends(matrix.shape[0])])


def of_tensor(tensor: _core.Tensor) -> str:
    """An eager tensor with its elements; one of a graph with its name."""
    if not hasattr(tensor, "numpy"):
        return title("Tensor", f"{tensor.name} {tensor.dtype.name} {tensor.shape}, of a graph")
    return title("Tensor", f"{tensor.dtype.name} {tensor.shape}") + _values(tensor)


def of_variable(variable: Any) -> str:
    """A variable with its value."""
    trained = "" if variable.trainable else ", not trainable"
    head = title("Variable", f"{variable.name} {variable.dtype.name} {variable.shape}{trained}")
    if _core._is_tracing() or not variable._is_initialized():
        return head
    return head + _values(variable)


def _of_a_graph(*parts: Any) -> bool:
    """Whether a value of these parts has no elements to show: it is of a graph, or a specification."""
    return not all(isinstance(part, _core.Tensor) and not part._is_symbolic for part in parts)


def of_ragged(value: Any) -> str:
    """A ragged tensor, a row of the table for each of its rows."""
    facts = f"{value.dtype.name} {value.shape}"
    if _of_a_graph(value.flat_values, *value.nested_row_splits):
        return title("RaggedTensor", f"{facts}, of a graph")

    def cells(i: int | None) -> list[str]:
        if i is None:
            return ["…"]
        row = value[i]
        if row.shape.rank != 1:
            text = str(row.numpy()) if isinstance(row, _core.Tensor) else repr(row)
            return [text.removeprefix("<tf.RaggedTensor ").removesuffix(">")]
        items = row.numpy()
        return ["…" if j is None else _number(items[j]) for j in ends(len(items))]

    return title("RaggedTensor", facts) + table(map(cells, ends(int(value.nrows()))))


def of_sparse(value: Any) -> str:
    """A sparse tensor with the values that it holds, and where they are."""
    facts = f"{value.dtype.name} {value.shape}"
    if _of_a_graph(value.indices, value.values, value.dense_shape):
        return title("SparseTensor", f"{facts}, of a graph")
    places, values = value.indices.numpy(), value.values.numpy()
    rows = [
        ("…", "…") if i is None else (str(places[i].tolist()), _number(values[i])) for i in ends(len(values))
    ]
    return title("SparseTensor", f"{facts}, {len(values)} stored") + table(rows, ("index", "value"))


def of_slices(value: Any) -> str:
    """Slices of a larger tensor, by their indices."""
    facts = f"{value.dtype.name} {value.shape}"
    if _of_a_graph(value.indices, value.values):
        return title("IndexedSlices", f"{facts}, of a graph")
    places, slices = value.indices.numpy(), value.values.numpy()
    rows = [("…", "…") if i is None else (str(places[i]), str(slices[i])) for i in ends(len(places))]
    return title("IndexedSlices", f"{facts}, {len(places)} slices") + table(rows, ("index", "slice"))


def of_fields(value: Any, fields: Mapping[str, Any]) -> str:
    """A value of an extension type, or another that is made of fields."""
    rows = [(name, repr(part)) for name, part in fields.items()]
    return title(type(value).__name__, "") + table(rows[: 4 * _ENDS], ("field", "value"))


def of_module(module: Any) -> str:
    """A module with its variables, by the attributes that lead to them."""
    named = list(module._flatten(predicate=lambda v: isinstance(v, _core._Variable), with_path=True))
    rows = [
        (
            ".".join(map(str, path)),
            variable.dtype.name,
            str(variable.shape),
            "" if variable.trainable else "not trainable",
        )
        for path, variable in named
    ]
    sizes = [variable.shape.num_elements() or 0 for _, variable in named]
    facts = f"{len(named)} variables, {sum(sizes):,} elements"
    shown = [("…", "", "", "") if i is None else rows[i] for i in ends(len(rows))]
    return title(type(module).__name__.lstrip("_"), facts) + table(shown, ("variable", "dtype", "shape", ""))


# How the parts of a profile are coloured, as on its page.
_COLOURS = {
    "operators": "#4c7fd9",
    "callbacks": "#d98b3a",
    "input": "#c9527a",
    "tracing": "#8a63c9",
    "planning": "#5aa88f",
    "between steps": "#9aa4b2",
    "program": "#d0d5dd",
}


def of_recording(recording: Recording, heading: str) -> str:
    """A profile: a bar of the parts of its time, and the operators and lines that took the most.

    Args:
        recording: the profile.
        heading: what there is to know of the whole.
    """
    whole = recording.took or 1.0
    shares = {part: took / whole for part, took in recording.shares().items() if took / whole >= 0.005}
    bar = "".join(
        f'<div title="{part} {share:.0%}" style="width:{share:.2%};background:{_COLOURS[part]}"></div>'
        for part, share in shares.items()
    )
    legend = " ".join(
        f'<span><span style="color:{_COLOURS[part]}">■</span> {part} {share:.0%}</span>'
        for part, share in shares.items()
    )
    tables = ""
    for by in ("operator", "line"):
        rows = [
            (place(row.key), f"{row.count:,}", f"{row.own * 1e3:,.3f}", f"{row.own / whole:.1%}")
            for row in recording.rows(by)[: 2 * _ENDS]
        ]
        tables += table(rows, (by, "count", "own time in ms", "of all")) if rows else ""
    return (
        title("Profile", heading)
        + f'<div style="display:flex;height:14px;max-width:50em">{bar}</div><div>{legend}</div>{tables}'
    )


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
    traces = table(
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
        short = place(miss.location)
        if short == miss.location and file:
            short = f"{PurePath(file).name}:{line}"
        rows = [(d.leaf, d.before, d.after, fixes[str(d)]) for d in miss.differences]
        why = table(rows, ("argument", "nearest trace", "this call", "to avoid it")) if rows else ""
        said = "" if rows else "There was no trace before. "
        parts.append(
            f'<section class="miss"><h3 title="{html.escape(miss.location)}">{html.escape(short)}</h3>'
            f"<p><code>{html.escape(source)}</code></p>{why}"
            f"<p>{said}Outcome: {html.escape(miss.outcome)}.</p></section>"
        )
    heading = f"Traces of {html.escape(found.name)}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{heading}</h1><p>{found._numbers()}</p><h2>Traces</h2>{traces}"
        f"<h2>Calls for which there was no trace</h2>{''.join(parts)}</body></html>"
    )


def of_cache(found: CacheExplanation) -> str:
    """The traces of a function, and why it was traced anew; tables that would be empty are left out."""
    rows = [
        (trace.signature, str(trace.hits), f"{trace.seconds * 1e3:.3g} ms", str(trace.instructions))
        for trace in found.traces[-2 * _ENDS :]
    ]
    traces = table(rows, ("trace", "calls", "traced in", "instructions")) if rows else ""
    misses = [
        (place(miss.location), "; ".join(map(str, miss.differences)) or "the first", miss.outcome)
        for miss in found.misses[-2 * _ENDS :]
    ]
    why = table(misses, ("call", "what differed", "outcome")) if misses else ""
    return title(f"Function {found.name}", found._numbers()) + traces + why


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
    if dataset._is_in_graph():
        facts = "of a graph"
    else:
        count = dataset._size()
        facts = {-1: "infinitely many elements", -2: "of unknown length"}.get(
            count, f"{count} element{'s' * (count != 1)}"
        )
    return title("Dataset", facts) + table(rows[: 4 * _ENDS], ("element", "dtype", "shape"))
