"""Writes README.md's figures and their picture, and benches/RESULTS.md, from the results of each level.

README's section stands between two marker lines, which stay. With `--check` nothing is written, and the exit
status tells whether all of them are up to date.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

import page
import svg
from cases import Case
from families import FAMILIES, Family, Mean
from frameworks import FRAMEWORKS, Framework
from levels import LEVELS

HERE: Final = Path(__file__).resolve().parent
README: Final = HERE.parent / "README.md"
FULL: Final = HERE / "RESULTS.md"
PICTURE: Final = HERE.parent / "docs" / "pictures" / "ratios.svg"
TITLES: Final = {framework.key: framework.title for framework in FRAMEWORKS}
OURS: Final = "penstock"
# The rows of README's picture; a title where it needs the row above it.
README_CASES: Final = {
    "call_1": "",
    "first_1000": "",
    "while_count": "",
    "collatz": "",
    "polynomial": "",
    "black_scholes": "",
    "softmax": "",
    "matmul_1024": "",
    "conv2d": "",
    "svd": "",
    "rnn_grad": "gradient of a dynamic RNN, T=100 B=32 H=128",
    "mlp_step": "",
    "py_function": "",
    "dataset": "",
    "import": "",
}
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


def peers_of(case: Case, row: dict[str, Any]) -> dict[str, float]:
    """The figures of the others that are peers in this case."""
    return {
        key: cell["value"]
        for key, cell in row.items()
        if key != OURS and key not in case.floors and "value" in cell
    }


def ratio(case: Case, row: dict[str, Any], notes: Notes) -> str:
    """Renders how many times less than the best peer we take."""
    peers, ours = peers_of(case, row), row.get(OURS, {})
    if "value" not in ours or not peers:
        return ""
    best = min(peers, key=peers.__getitem__)
    mark = notes.mark("the two figures are of different runs") if row[best]["run"] != ours["run"] else ""
    return f"{significant(peers[best] / ours['value'])}×{mark}"


def winner(case: Case, row: dict[str, Any]) -> str:
    """The title of the framework that has the best figure; nothing if only one has any."""
    figures = peers_of(case, row)
    if "value" in row.get(OURS, {}):
        figures[OURS] = row[OURS]["value"]
    return TITLES[min(figures, key=figures.__getitem__)] if len(figures) > 1 else ""


def mean_ratio(family: Family, mean: Mean, results: dict[str, Any]) -> tuple[float, int] | None:
    """The geometric mean over the cases that both sides have figures of, and how many there are."""
    logs = []
    for case in family.cases:
        if mean.only and case.key not in mean.only:
            continue
        ours = results["cases"].get(case.key, {}).get(OURS, {})
        row = results["cases"].get(case.key + mean.suffix, {})
        peers = [
            row[key]["value"] for key in mean.peers if "value" in row.get(key, {}) and key not in case.floors
        ]
        if "value" in ours and peers:
            logs.append(math.log(min(peers) / ours["value"]))
    return (math.exp(sum(logs) / len(logs)), len(logs)) if logs else None


def means_table(results: dict[str, Any], family: Family | None = None) -> str:
    """Renders the geometric means, of one family or of all; empty if there are none."""
    rows = []
    for each in [family] if family else FAMILIES.values():
        for mean in each.means:
            found = mean_ratio(each, mean, results)
            if found:
                rows.append(f"| {each.title} | {mean.title} | {found[1]} | {significant(found[0])}× |")
    head = ["| family | compared with | cases | geometric mean |", "|---|---|---:|---:|"]
    return "\n".join(head + rows) if rows else ""


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
    return cells


def columns_of(family: Family, results: dict[str, Any]) -> list[Framework]:
    """The frameworks that have figures in a family."""
    present = {key for case in family.cases for key in results["cases"].get(case.key, {})}
    return [framework for framework in FRAMEWORKS if framework.key in present]


def table(family: Family, results: dict[str, Any], notes: Notes, *, full: bool) -> str:
    """Renders the figures of a family; the full table says who has the best figure."""
    columns = columns_of(family, results)
    versions = results["frameworks"]
    headings = [
        f"{f.title} {versions[f.key]['version'].split('+')[0]}" if f.key in versions else f.title
        for f in columns
    ]
    ends = ["ratio", "best"] if full else ["ratio"]
    lines = [f"| case | {' | '.join(headings + ends)} |"]
    lines.append(f"|---|{'---:|' * len(columns)}---:|{'---|' if full else ''}")
    for case in family.cases:
        row = results["cases"].get(case.key)
        if row:
            cells = row_of(case, row, [f.key for f in columns], notes)
            cells.append(ratio(case, row, notes))
            if full:
                cells.append(winner(case, row))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def memory_table(family: Family, results: dict[str, Any]) -> str:
    """Renders the memory of the cases of a family; empty if it is not known."""
    columns = columns_of(family, results)
    lines = []
    for case in family.cases:
        row = results["cases"].get(case.key, {})
        if any("memory" in cell for cell in row.values()):
            known = [row.get(f.key, {}).get("memory") for f in columns]
            cells = ["" if size is None else f"{size / 2**20:.0f} MB" for size in known]
            lines.append(f"| {' | '.join([case.title, *cells])} |")
    if not lines:
        return ""
    head = [f"| case | {' | '.join(f.title for f in columns)} |", f"|---|{'---:|' * len(columns)}"]
    return "\n".join(head + lines)


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


def footnotes(notes: Notes) -> str:
    return "  \n".join(f"{notes.mark(note)} {note}" for note in notes.texts)


def compared(case: Case, results: dict[str, Any]) -> tuple[float, str, float] | None:
    """Our figure, the best peer and its figure; nothing where one is missing."""
    row = results["cases"].get(case.key, {})
    peers = peers_of(case, row)
    if "value" not in row.get(OURS, {}) or not peers:
        return None
    best = min(peers, key=peers.__getitem__)
    return row[OURS]["value"], best, peers[best]


def picture(results: dict[str, dict[str, Any]]) -> str:
    """Draws README's picture: our figure beside the best peer's in a few cases, and the ratio by level."""
    rows = []
    cases = {case.key: case for case in FAMILIES["core"].cases}
    for key, title in README_CASES.items():
        case = cases[key]
        found = [figures for level in results.values() if (figures := compared(case, level))]
        if not found:
            continue
        ours, best, theirs = found[0]
        other = f"{quantity(theirs, case.unit)} ({TITLES[best]})"
        name = (title or case.title).replace("`", "")
        ratios = tuple(theirs / ours for ours, _, theirs in found)
        rows.append(svg.Ratio(name, quantity(ours, case.unit), other, ratios))
    return svg.bars("The best peer's figure divided by Penstock's", rows)


def render(levels: dict[str, dict[str, Any]]) -> str:
    """Renders README's section: the picture, what it shows, and the means of the other families."""
    results = levels["best"]
    versions = ", ".join(
        f"{TITLES[key]} {version['version'].split('+')[0]}"
        for key, version in results["frameworks"].items()
        if key != OURS
    )
    means = [
        f"{family.title.lower()} {significant(found[0])}× {family.means[0].title}"
        for family in FAMILIES.values()
        if family.means and (found := mean_ratio(family, family.means[0], results))
    ]
    legend = f"More than 1 is ahead. Peers: {versions}. {machines(results)[0]}"
    bounded = [LEVELS[key].title for key in levels if LEVELS[key].title]
    if bounded:
        legend += f" The paler bars: every framework held to {' and '.join(bounded)}."
    path = PICTURE.relative_to(README.parent).as_posix()
    parts = [f"![The best peer's figure divided by Penstock's, in {len(README_CASES)} cases]({path})", legend]
    if means:
        parts.append(f"Geometric means of other families: {'; '.join(means)}.")
    return "\n\n".join(parts)


def render_full(levels: dict[str, dict[str, Any]]) -> str:
    """Renders the whole of RESULTS.md: the tables of each family, by level."""
    parts = [
        "# Results",
        (
            "Written by `benches/table.py` from `benches/results.json`; "
            "[docs/benchmarks.md](../docs/benchmarks.md) says how it is measured."
        ),
        LEGEND,
        "\n".join(f"Measured on {line}" for results in levels.values() for line in machines(results)),
    ]
    for family in FAMILIES.values():
        known = {key: results for key, results in levels.items() if columns_of(family, results)}
        if known:
            parts += [f"## {family.title}", family.text]
        for key, results in known.items():
            if LEVELS[key].title:
                parts.append(f"Every framework held to {LEVELS[key].title}:")
            notes = Notes()
            parts.append(table(family, results, notes, full=True))
            if notes.texts:
                parts.append(footnotes(notes))
            parts += [text for text in (means_table(results, family),) if text]
            memory = memory_table(family, results)
            # Memory does not depend on the instructions.
            if memory and not LEVELS[key].title:
                parts += [
                    "Memory: what making the case ready left, and the peak of running it beyond that.",
                    memory,
                ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Writes the table, or checks it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    results = {
        key: json.loads(level.results.read_text()) for key, level in LEVELS.items() if level.results.exists()
    }
    wanted = {
        README: page.replaced(README, "bench", f"\n{render(results)}\n"),
        FULL: render_full(results),
        PICTURE: picture(results),
    }
    for path, text in wanted.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is out of date: make bench-table")


if __name__ == "__main__":
    main()
