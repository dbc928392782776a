"""Pictures of traces: pages for a browser, and what notebooks show."""

from __future__ import annotations

import html
import linecache
from typing import TYPE_CHECKING, Any

from penstock._function.describe import parameters, type_text
from penstock._runtime import pages
from penstock._types.argument_names import expect

if TYPE_CHECKING:
    from penstock.profiler import Recording

__all__ = ["in_notebook", "page"]

# Lines around those of a graph that a page shows, and up to how many between two of them.
_AROUND, _BETWEEN = 3, 20


def page(trace: Any, profile: Recording | None) -> str:
    """The page of a trace: its lines, its graph before and after optimisation, and its plan."""
    times: list[tuple[str, float]] = []
    if profile is not None:
        from penstock.profiler import Recording  # start-up does without it

        expect(profile, Recording, "profile", "a recording that tf.profiler.record made")
        whole = profile.took or 1.0
        times = [(row.key, row.own / whole) for row in profile.rows("line")]
    title = trace._function_name
    return str(trace._page(title, _sources(trace._lines()), times))


def in_notebook(trace: Any) -> str:
    """What a notebook shows of a trace: its types, what it takes from outside, and the text of its graph."""
    rows = [("argument", p.name, type_text(p.annotation)) for p in parameters(trace)]
    rows.append(("result", "", type_text(trace.structured_outputs)))
    rows += [("variable", v.name, f"{v.dtype.name} {v.shape}") for v in trace.variables]
    shown = [("…", "", "") if i is None else rows[i] for i in pages.ends(len(rows))]
    text = pages.shortened(trace.graph.to_text())
    return (
        pages.title(f"ConcreteFunction {trace._function_name}", f"{trace._statistics()[2]} instructions")
        + pages.table(shown)
        + f"<details><summary>graph</summary><pre>{html.escape(text)}</pre></details>"
    )


def _sources(lines: list[tuple[str, int]]) -> list[tuple[str, int, str]]:
    """The stretches of files that these lines lie in: `(file, number of the first line, text)`."""
    numbers: dict[str, set[int]] = {}
    for file, line in lines:
        numbers.setdefault(file, set()).add(line)
    found = []
    for file, wanted in sorted(numbers.items()):
        text = linecache.getlines(file)
        if not text:  # code that was typed in, or a file that is gone
            continue
        stretches: list[tuple[int, int]] = []
        for line in sorted(wanted):
            first, last = max(1, line - _AROUND), min(len(text), line + _AROUND)
            if stretches and first - stretches[-1][1] <= _BETWEEN:
                stretches[-1] = (stretches[-1][0], max(last, stretches[-1][1]))
            else:
                stretches.append((first, last))
        found += [(file, first, "".join(text[first - 1 : last])) for first, last in stretches]
    return found
