"""Measures Penstock of this tree beside that of another, such as the one before a change.

    git worktree add ../before COMMIT && make -C ../before build
    python benches/against.py --python ../before/.venv/bin/python

`--write` puts a summary into docs/benchmarks.md. Both take turns in one run, as frameworks do in `run.py`,
on the cases of this tree. A ratio is the time here by the time there: below 1 this tree is faster. What is
above the limit is measured again, with three times the rounds, and the second figure counts. A case that one
of them cannot run is left out, with the reason.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import page
from families import FAMILIES, Family
from levels import LEVELS
from run import Process, measure_case

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
LIMIT: Final = 1.05
TITLES: Final = {"best": "the machine's best", "avx2": "AVX2"}


class Row(NamedTuple):
    """A case that both ran: the seconds there, and here by those there."""

    case: str
    before: float
    ratio: float


def measured(family: Family, key: str, workers: list[Process], options: argparse.Namespace) -> Row | str:
    """Measures a case; gives its row, or why it has none."""
    case = next(case for case in family.cases if case.key == key)
    cells: dict[str, Any] = measure_case(family, case, workers, options)
    here, there = cells.get("penstock", {}), cells.get("before", {})
    if "value" not in here or "value" not in there:
        return str(here.get("skipped") or there.get("skipped") or "not there")
    return Row(key, there["value"], here["value"] / there["value"])


def family_rows(family: Family, workers: list[Process], options: argparse.Namespace) -> list[Row]:
    """Measures the cases of a family, and those above the limit once more."""
    rows = []
    for case in family.cases:
        if (case.long and not options.cases) or (options.cases and case.key not in options.cases.split(",")):
            continue
        found = measured(family, case.key, workers, options)
        if isinstance(found, Row) and found.ratio > LIMIT:
            rounds = 3 * (options.rounds or family.rounds)
            again = argparse.Namespace(**{**vars(options), "rounds": rounds})
            found = measured(family, case.key, workers, again)
        if isinstance(found, str):
            print(f"{case.key:<20} {found}", flush=True)
            continue
        print(f"{case.key:<20} {found.before:.3e} s  {found.ratio:.3f}", flush=True)
        rows.append(found)
    return rows


def summary(level: str, family: Family, rows: list[Row]) -> str:
    """The row of a table about a family."""
    mean = math.exp(sum(math.log(row.ratio) for row in rows) / len(rows))
    first, last = min(rows, key=lambda row: row.ratio), max(rows, key=lambda row: row.ratio)
    above = sum(row.ratio > LIMIT for row in rows)
    ends = [f"{row.ratio:.2f} {row.case}" for row in (first, last)]
    return f"| {TITLES[level]} | {family.title} | {len(rows)} | {mean:.2f} | {' | '.join(ends)} | {above} |"


def main() -> None:
    """Measures every family at every level that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="the interpreter of the other tree")
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--families", default=",".join(FAMILIES), help="only these, separated by commas")
    parser.add_argument("--levels", default="best,avx2", help=f"separated by commas, of {', '.join(LEVELS)}")
    parser.add_argument("--rounds", type=int, help="rounds, if not the family's own number")
    parser.add_argument("--repeats", type=int, default=3, help="repeats within a round, the best counts")
    parser.add_argument("--seconds", type=float, help="the time of one repeat, if not the family's own")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one answer")
    parser.add_argument("--commit", default="", help="what the other tree is called in the page")
    parser.add_argument("--write", action="store_true", help="write a summary into docs/benchmarks.md")
    options = parser.parse_args()
    lines = [
        "| instructions | family | cases | mean | least | greatest | above 1.05 |",
        "|---|---|---:|---:|---|---|---:|",
    ]
    for level in options.levels.split(","):
        pythons = {"penstock": sys.executable, "before": str(Path(options.python).absolute())}
        workers = [Process(key, python, LEVELS[level], "penstock") for key, python in pythons.items()]
        try:
            for key in options.families.split(","):
                if rows := family_rows(FAMILIES[key], workers, options):
                    lines.append(summary(level, FAMILIES[key], rows))
                    print(lines[-1], flush=True)
        finally:
            for worker in workers:
                worker.stop()
    if options.write:
        head = f"{page.machine()} against {options.commit}" if options.commit else page.machine()
        PAGE.write_text(page.replaced(PAGE, "against", "\n".join([head, "", *lines])))


if __name__ == "__main__":
    main()
