"""Runs TensorFlow's guides and tutorials on this package, and writes the table in `docs/libraries.md`.

`python tests/tutorials/run.py [--write] DOCS [NOTEBOOK...]`: DOCS is a checkout of
github.com/tensorflow/docs. Each notebook that `reasons.toml` lists runs in a process of its own, to which
`tensorflow` is this package. That file says why cells fail, by their errors or their places; the status is 1
where a cell fails for another reason. A cell that lacks a name, since the cell that defines it failed,
counts as failed for the reason of the one that failed before it.

`--write` records each notebook in `results.json` as soon as it has run, and makes the table of all that are
recorded and listed there: a run of some notebooks changes their rows only.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
RESULTS: Final = HERE / "results.json"
PAGE: Final = HERE.parent.parent / "docs" / "libraries.md"
BEGIN: Final = "<!-- tutorials:begin -->"
END: Final = "<!-- tutorials:end -->"
UNKNOWN: Final = "nobody has looked into them"
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


@dataclass(frozen=True)
class Result:
    """How a notebook ran: its cells, those that passed, and how many others failed for which reason."""

    cells: int
    passed: int
    failed: dict[str, int]


def judged(notebook: str, cells: list[dict[str, Any]], reasons: dict[str, str]) -> Result:
    """The result of a notebook whose cells ran; prints those that fail for a reason that is not known."""
    whys, before = Counter[str](), "a cell before them failed"
    for outcome in cells:
        if "error" not in outcome:
            continue
        why = reason_of(notebook, outcome, reasons)
        if why is None and FOLLOWS.search(outcome["error"]):
            why = before
        if why is None:
            why = UNKNOWN
            print(f"{notebook}, cell {outcome['cell']}: {outcome['line']}\n    {outcome['error'][:500]}")
        before = why
        whys[why] += 1
    return Result(len(cells), len(cells) - whys.total(), dict(whys))


def recorded() -> dict[str, Result]:
    """The results that `--write` recorded."""
    if not RESULTS.exists():
        return {}
    return {name: Result(**found) for name, found in json.loads(RESULTS.read_text()).items()}


def record(results: dict[str, Result]) -> None:
    """Writes results for `recorded`, a line for each notebook."""
    lines = (f"  {json.dumps(name)}: {json.dumps(asdict(found))}" for name, found in sorted(results.items()))
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def table(results: dict[str, Result], listed: int) -> str:
    """The table, how many notebooks it lacks, and why cells fail."""
    lines = ["| notebooks | cells | passed |", "|---|---:|---:|"]
    groups: dict[str, list[Result]] = {}
    for name, found in results.items():
        groups.setdefault(f"`{name.rpartition('/')[0]}`", []).append(found)
    for group, of in [*groups.items(), ("all", list(results.values()))]:
        lines.append(
            f"| {group} ({len(of)}) | {sum(one.cells for one in of)} | {sum(one.passed for one in of)} |"
        )
    if len(results) < listed:
        lines += ["", f"{listed - len(results)} of the {listed} notebooks listed were not run."]
    whys = Counter[str]()
    for found in results.values():
        whys.update(found.failed)
    if whys:
        lines += ["", "The others fail because:", ""]
        lines += [f"- {why}: {count}" for why, count in whys.most_common()]
    return "\n".join(lines)


def main() -> int:
    """Run the notebooks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="record results, and write the table into docs/libraries.md"
    )
    parser.add_argument("docs", type=Path, help="a checkout of github.com/tensorflow/docs")
    parser.add_argument("notebooks", nargs="*", help="such as guide/data; by default all that are listed")
    options = parser.parse_args()
    listed = tomllib.loads((HERE / "reasons.toml").read_text())
    ran: dict[str, Result] = {}
    for notebook in options.notebooks or listed["notebooks"]:
        ran[notebook] = found = judged(notebook, outcomes(options.docs, notebook), listed["reasons"])
        print(f"{notebook}: {found.passed} of {found.cells} cells", flush=True)
        if options.write:
            record({**recorded(), notebook: found})
    if options.write:
        known = recorded()
        shown = {name: known[name] for name in listed["notebooks"] if name in known}
        page = PAGE.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:start]}\n\n{table(shown, len(listed['notebooks']))}\n\n{page[end:]}")
    else:
        print(table(ran, len(ran)))
    return int(any(UNKNOWN in found.failed for found in ran.values()))


if __name__ == "__main__":
    sys.exit(main())
