"""Runs TensorFlow's guides and tutorials on this package, and writes the table in `docs/libraries.md`.

`python tests/tutorials/run.py [--write] DOCS [NOTEBOOK...]`: DOCS is a checkout of
github.com/tensorflow/docs. Each notebook that `reasons.toml` lists runs in a process of its own, to which
`tensorflow` is this package. That file says why cells fail, by their errors or their places; the status is 1
where a cell fails for another reason. A cell that lacks a name, since the cell that defines it failed,
counts as failed for the reason of the one that failed before it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = HERE.parent.parent / "docs" / "libraries.md"
BEGIN: Final = "<!-- tutorials:begin -->"
END: Final = "<!-- tutorials:end -->"
FOLLOWS: Final = re.compile(r"NameError: name '\w+' is not defined")


def outcomes(docs: Path, notebook: str) -> list[dict[str, Any]]:
    """What became of the cells of a notebook."""
    path = docs / "site" / "en" / f"{notebook}.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(HERE / "cells.py"), str(path), folder],
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{notebook}: {done.stderr[-2000:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def reason_of(notebook: str, outcome: dict[str, Any], reasons: dict[str, str]) -> str | None:
    """Why a cell failed, by its place or its error; None where nobody knows."""
    place = f"{notebook}, cell {outcome['cell']}"
    return reasons.get(place) or next(
        (why for text, why in reasons.items() if text in outcome["error"]), None
    )


def table(rows: list[tuple[str, int, int]], whys: Counter[str]) -> str:
    """The table, and what the other cells lack."""
    lines = ["| notebooks | cells | passed |", "|---|---:|---:|"]
    for group in dict.fromkeys(name.rpartition("/")[0] for name, _, _ in rows):
        of = [row for row in rows if row[0].rpartition("/")[0] == group]
        lines.append(f"| `{group}` ({len(of)}) | {sum(row[1] for row in of)} | {sum(row[2] for row in of)} |")
    lines.append(f"| all ({len(rows)}) | {sum(row[1] for row in rows)} | {sum(row[2] for row in rows)} |")
    if whys:
        lines += ["", "The others fail because:", ""]
        lines += [f"- {why}: {count}" for why, count in whys.most_common()]
    return "\n".join(lines)


def main() -> int:
    """Run the notebooks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/libraries.md")
    parser.add_argument("docs", type=Path, help="a checkout of github.com/tensorflow/docs")
    parser.add_argument("notebooks", nargs="*", help="such as guide/data; by default all that are listed")
    options = parser.parse_args()
    listed = tomllib.loads((HERE / "reasons.toml").read_text())
    rows, whys, faults = [], Counter[str](), 0
    for notebook in options.notebooks or listed["notebooks"]:
        cells = outcomes(options.docs, notebook)
        before = "a cell before them failed"
        for outcome in cells:
            if "error" not in outcome:
                continue
            why = reason_of(notebook, outcome, listed["reasons"])
            if why is None and FOLLOWS.search(outcome["error"]):
                why = before
            if why is None:
                faults += 1
                why = "nobody has looked into them"
                print(f"{notebook}, cell {outcome['cell']}: {outcome['line']}\n    {outcome['error'][:500]}")
            before = why
            whys[why] += 1
        rows.append((notebook, len(cells), sum("error" not in outcome for outcome in cells)))
        print(f"{notebook}: {rows[-1][2]} of {rows[-1][1]} cells", flush=True)
    text = table(rows, whys)
    print(text)
    if options.write:
        page = PAGE.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:start]}\n\n{text}\n\n{page[end:]}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
