"""What each optimisation is worth: the table in `docs/benchmarks.md`.

    .venv/bin/python benches/passes.py

Every case of every family is timed with each of the switches of `PENSTOCK_PASSES`, in turn with the same case
and nothing left out, in one process. A ratio counts once it has been seen in two looks, the second of them
longer; the smaller one is shown.
"""

import importlib
import itertools
import os
import re
import sys
from pathlib import Path
from typing import Final

import page
from cases import Work
from families import FAMILIES, family_of
from penstock import _core
from worker import Timer, make_timer

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
# Parts of the keys of cases that no pass can change: eager ones, files, calls, a product or a copy alone.
ASIDE: Final = re.compile("eager|import|size|wheel|copy|memcpy|matmul_|gemm_|convert|dataset|call_")
# How much longer without a switch counts, and how many cases are named.
SLOWER: Final = 1.1
NAMED: Final = 4


def prepared(case: str, switch: str) -> Timer:
    """The case, traced and planned anew without what `switch` names, and run once."""
    os.environ["PENSTOCK_PASSES"] = f"-{switch}" if switch else ""
    work: Work = importlib.import_module(f"{family_of(case).package}.on_penstock").works()[case]()
    work.call(*work.args)
    work.call(*work.args)
    return make_timer(work)


def ratio(timers: tuple[Timer, Timer], seconds: float, rounds: int) -> float:
    """The best time of the first over that of the second, each so many seconds a round."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for i, timer in enumerate(timers):
            once = timer(itertools.repeat(None, 1))
            loops = max(1, int(seconds / max(once, 1e-7)))
            best[i] = min(best[i], once, timer(itertools.repeat(None, loops)) / loops)
    return best[0] / best[1]


def measured(case: str) -> dict[str, float]:
    """How many times as long the case takes without each of the switches that matter to it."""
    base, found = prepared(case, ""), {}
    for switch in _core._switches():
        timers = (prepared(case, switch), base)
        if (first := ratio(timers, 0.01, 2)) >= SLOWER:
            found[switch] = min(first, ratio(timers, 0.03, 5))
    return {switch: times for switch, times in found.items() if times >= SLOWER}


def main() -> None:
    """Measures, prints and writes the table."""
    cases = [
        case
        for family in FAMILIES.values()
        for case in family.cases
        if case.key in importlib.import_module(f"{family.package}.on_penstock").works()
        and not ASIDE.search(case.key)
    ]
    effects: dict[str, list[tuple[float, str]]] = {switch: [] for switch in _core._switches()}
    for case in cases:
        for switch, times in measured(case.key).items():
            effects[switch].append((times, case.title))
            print(f"{case.title}: {times:.2f} without {switch}", file=sys.stderr, flush=True)
    rows = [f"| left out | slower, of {len(cases)} cases | most |", "|---|---:|---|"]
    for switch, slower in effects.items():
        most = "; ".join(f"{times:.1f}× {title}" for times, title in sorted(slower, reverse=True)[:NAMED])
        rows.append(f"| `-{switch}` | {len(slower)} | {most} |")
    PAGE.write_text(page.replaced(PAGE, "passes", "\n".join([page.machine(), "", *rows])), encoding="utf-8")


if __name__ == "__main__":
    main()
