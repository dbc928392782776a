"""Runs the cells of a notebook of TensorFlow on this package, and prints what became of each as JSON.

`python tests/tutorials/cells.py [--tensorflow] NOTEBOOK FOLDER`: cells run in order in FOLDER, in one space
of names, and go on after one that failed. What a notebook would download is made up by `stand_ins`. With
`--tensorflow` they run on TensorFlow itself, where that is installed, for a comparison.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import linecache
import os
import re
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

__all__ = ["run_cells"]

# Seconds of the processors that a cell may take, and all of them together.
CELL: Final = 90
NOTEBOOK: Final = 300


class Late(BaseException):
    """A cell took too long."""


# The language of a cell that is no Python.
_OTHER: Final = re.compile(r"%%(bash|sh|script|html|javascript|latex|svg)\b")
# A command of the shell with the lines that go on with it, or one of notebooks: `% value` is arithmetic.
_COMMAND: Final = re.compile(r"^([ \t]*)(?:!(?:.*\\\n)*.*|%[A-Za-z].*|.*\?[ \t]*)$", re.MULTILINE)


def code_of(source: str) -> str:
    """The Python of a cell: commands of the shell and of notebooks are left out."""
    head, _, rest = source.partition("\n")
    if head.startswith("%%writefile"):
        Path(head.split()[1]).write_text(rest + "\n")
        return ""
    if _OTHER.match(head):
        return ""
    code = rest if head.startswith("%%") else source
    indent = code[: len(code) - len(code.lstrip(" "))]
    return _COMMAND.sub(r"\1pass", re.sub(f"^{indent}", "", code, flags=re.MULTILINE))


def run(code: str, name: str, space: dict[str, Any]) -> None:
    """Runs a cell, and shows the value of its last line as a notebook does."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), space)
        if value is not None:
            print(repr(value))


def run_cells(notebook: Path) -> list[dict[str, Any]]:
    """Runs the cells of a notebook.

    Returns:
        For each of them its number, and the line and text of its error if it failed.
    """

    def stop(*_: object) -> None:
        raise Late(f"took longer than {CELL} s")

    signal.signal(signal.SIGPROF, stop)
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    space: dict[str, Any] = {"__name__": "__main__"}
    found: list[dict[str, Any]] = []
    end = time.process_time() + NOTEBOOK
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code" or time.process_time() > end:
            continue
        name = f"<cell {number}>"
        outcome: dict[str, Any] = {"cell": number}
        found.append(outcome)
        signal.setitimer(signal.ITIMER_PROF, CELL)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run(code_of("".join(cell["source"])), name, space)
        except (Exception, Late) as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
            outcome["line"] = frames[-1].line if frames else ""
            outcome["error"] = f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return found


def main() -> None:
    """Run the notebook that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tensorflow", action="store_true")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "Agg")
    notebook = options.notebook.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(options.folder)
    if not options.tensorflow:
        from penstock import as_tensorflow

        as_tensorflow.install()
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import stand_ins

    stand_ins.install(Path.cwd() / "data_of_notebooks")
    print(json.dumps(run_cells(notebook)))


if __name__ == "__main__":
    main()
