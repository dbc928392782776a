"""The notebooks of `docs/notebooks`, without Jupyter: `python tools/notebooks.py FILE…` runs their cells.

A cell sees what the cells before it made, as in Jupyter, and the value of an expression that it ends with is
shown. Notebooks are kept without outputs; `documentation.py` puts those of a run into the site.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import linecache
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """A cell of a notebook.

    Attributes:
        kind: `code` or `markdown`.
        source: its text.
    """

    kind: str
    source: str


def read(path: Path) -> list[Cell]:
    """The cells of a notebook.

    Raises:
        ValueError: for a cell with an output or a number, and for one of another kind.
    """
    cells = []
    for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] not in ("code", "markdown"):
            raise ValueError(f"{path.name}: cell {i} is of kind {cell['cell_type']}")
        if cell.get("outputs") or cell.get("execution_count") is not None:
            raise ValueError(f"{path.name}: cell {i} has an output: clear all of them before a commit")
        cells.append(Cell(cell["cell_type"], "".join(cell["source"])))
    return cells


def run(cells: Sequence[Cell], name: str) -> Iterator[str]:
    """Runs the cells one after the other, and gives the Markdown of what each shows.

    Args:
        cells: those of a notebook.
        name: what tracebacks call the notebook.
    """
    space: dict[str, Any] = {"__name__": "__main__"}
    for i, cell in enumerate(cells):
        if cell.kind != "code":
            yield ""
            continue
        # Code has its source under the name of its file, as Jupyter's has it: AutoGraph reads it.
        file = f"{name}/cell_{i}.py"
        linecache.cache[file] = (len(cell.source), None, cell.source.splitlines(keepends=True), file)
        tree = ast.parse(cell.source, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, value = io.StringIO(), None
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(tree, file, "exec", dont_inherit=True), space)
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), file, "eval", dont_inherit=True), space)
        except BaseException:
            print(printed.getvalue(), end="")
            raise
        yield "\n\n".join(part for part in (_block(printed.getvalue()), shown(value)) if part)


def shown(value: Any) -> str:
    """The Markdown of a value: HTML where it has such a form, else what `repr` says; nothing for None."""
    if value is None:
        return ""
    html = getattr(value, "_repr_html_", None)
    text = html() if callable(html) else None
    return f"```{{raw}} html\n{text}\n```" if isinstance(text, str) else _block(repr(value))


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


def as_markdown(path: Path, outputs: Sequence[str] = ()) -> str:
    """A notebook as a page.

    Args:
        path: the notebook.
        outputs: what its cells have shown; none by default.
    """
    parts = []
    for i, cell in enumerate(read(path)):
        parts.append(cell.source if cell.kind == "markdown" else f"```python\n{cell.source}\n```")
        if i < len(outputs):
            parts.append(outputs[i])
    return "\n\n".join(part for part in parts if part) + "\n"


def executed(path: Path) -> str:
    """A notebook as a page with what its cells show, run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return as_markdown(path, list(run(read(path), path.stem)))


def main() -> None:
    """Runs notebooks in the present folder, and prints what their cells show."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    for file in parser.parse_args().files:
        for text in run(read(file), file.stem):
            if text:
                print(text, flush=True)


if __name__ == "__main__":
    main()
