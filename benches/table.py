"""Writes README.md's table of measurements from benches/results.json.

The table stands between two marker lines, which stay. With `--check` nothing is written, and the exit status
tells whether the table is up to date.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

from cases import CASES, Case
from frameworks import FRAMEWORKS

HERE: Final = Path(__file__).resolve().parent
README: Final = HERE.parent / "README.md"
RESULTS: Final = HERE / "results.json"
BEGIN: Final = "<!-- bench:begin -->"
END: Final = "<!-- bench:end -->"
OURS: Final = "penstock"
LEGEND: Final = (
    "Ratio: the best peer's figure divided by Penstock's, so more than 1 is ahead (NumPy is no peer in "
    "import time and size: it is among what Penstock installs). Bold: the best of the row. Empty: the "
    "framework has no counterpart of the case."
)


def significant(number: float) -> str:
    """Renders a positive number with two significant digits, or all of its whole ones."""
    if number <= 0:
        return "0"
    rounded = float(f"{number:.1e}") if number < 100 else number
    return f"{rounded:.{max(0, 1 - math.floor(math.log10(rounded)))}f}"


def quantity(value: float, unit: str) -> str:
    """Renders seconds or bytes in the unit that reads best."""
    scales = (
        [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
        if unit == "seconds"
        else [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
    )
    scale, name = next((pair for pair in scales if value >= pair[0] * 0.9995), scales[-1])
    return f"{significant(value / scale)} {name}"


class Notes:
    """Numbered footnotes; equal texts share a number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        """Returns the mark of a note, added if it is new."""
        if text not in self.texts:
            self.texts.append(text)
        return f"<sup>{self.texts.index(text) + 1}</sup>"


def ratio(case: Case, row: dict[str, Any], notes: Notes) -> str:
    """Renders how many times less than the best peer we take."""
    others = {key: cell for key, cell in row.items() if key != OURS and key not in case.floors}
    peers = {key: cell for key, cell in others.items() if "value" in cell}
    ours = row.get(OURS, {})
    if "value" not in ours or not peers:
        return ""
    best = min(peers.values(), key=lambda cell: float(cell["value"]))
    mark = notes.mark("the two figures are of different runs") if best["run"] != ours["run"] else ""
    return f"{significant(best['value'] / ours['value'])}×{mark}"


def row_of(case: Case, row: dict[str, Any], columns: list[str], notes: Notes) -> list[str]:
    """Renders one case as the cells of a line, the best figure in bold."""
    values = [cell["value"] for key, cell in row.items() if "value" in cell and key not in case.floors]
    cells = [case.title]
    for key in columns:
        cell = row.get(key)
        if cell is None:
            cells.append("")
        elif "value" not in cell:
            cells.append(f"–{notes.mark(cell['skipped'])}")
        else:
            text = quantity(cell["value"], case.unit)
            best = key not in case.floors and len(values) > 1 and cell["value"] == min(values)
            cells.append(f"**{text}**" if best else text)
    cells.append(ratio(case, row, notes))
    return cells


def machines(results: dict[str, Any]) -> list[str]:
    """Describes the runs that the figures are of, newest first."""
    lines = []
    for _, run in sorted(results["runs"].items(), reverse=True):
        m = run["machine"]
        parts = [f"{m['cores']} cores of {m['cpu']}"]
        if "simd" in m:
            parts.append(m["simd"])
        if "memory_gib" in m:
            parts.append(f"{m['memory_gib']} GiB")
        parts.append(m["system"])
        line = f"{', '.join(parts)}; {run['date']}."
        if line not in lines:
            lines.append(line)
    return lines


def render(results: dict[str, Any]) -> str:
    """Renders the whole section that stands between the markers."""
    present = {key for row in results["cases"].values() for key in row}
    columns = [framework for framework in FRAMEWORKS if framework.key in present]
    versions = results["frameworks"]
    headings = [
        f"{f.title} {versions[f.key]['version'].split('+')[0]}" if f.key in versions else f.title
        for f in columns
    ]
    notes = Notes()
    lines = [
        f"| case | {' | '.join(headings)} | ratio |",
        f"|---|{'---:|' * (len(columns) + 1)}",
    ]
    for case in CASES:
        row = results["cases"].get(case.key)
        if row:
            lines.append(f"| {' | '.join(row_of(case, row, [f.key for f in columns], notes))} |")
    text = "\n".join(lines)
    text += f"\n\n{LEGEND}\n\n"
    text += "\n".join(f"Measured on {line}" for line in machines(results))
    if notes.texts:
        text += "\n\n" + "  \n".join(f"{notes.mark(note)} {note}" for note in notes.texts)
    return text


def replace(readme: str, section: str) -> str:
    """Returns the README with the section between its markers replaced."""
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{README.name} lacks the markers {BEGIN} and {END}")
    return f"{head}{BEGIN}\n\n{section}\n\n{END}{tail}"


def main() -> None:
    """Writes the table, or checks it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    old = README.read_text(encoding="utf-8")
    new = replace(old, render(json.loads(options.results.read_text())))
    if options.check:
        sys.exit("README.md's table is out of date: make bench-table" if new != old else 0)
    README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
