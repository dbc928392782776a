"""Measures functions and their gradients beside TensorFlow: `python benches/functions.py`.

Each `--python library=PATH` is an interpreter with Penstock or TensorFlow. Both compute on one thread,
and the time is that of the processor, so that a busy machine does not decide. A figure is the best of
several loops over all rounds. A gradient is that of the sum of the results times numbers that neither
library knows when it traces. Prints a table in Markdown, the slowest ratios first, and with `--write`
writes benches/functions.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data_cases
import function_cases
import page

OUT = Path(__file__).resolve().with_suffix(".md")
ROUNDS = 3
LOOPS = 20
SECONDS = 0.01  # of a loop
LIBRARIES = ("penstock", "tensorflow")


def best(function: Callable[..., Any], operands: list[Any]) -> float:
    """Microseconds of processor time of a call."""
    function(*operands)
    function(*operands)
    start = time.process_time()
    function(*operands)
    calls = max(1, min(200, int(SECONDS / max(time.process_time() - start, 1e-6))))
    least = math.inf
    for _ in range(LOOPS):
        start = time.process_time()
        for _ in range(calls):
            function(*operands)
        least = min(least, (time.process_time() - start) / calls)
    return least * 1e6


def measure(library: str, chosen: str) -> dict[str, list[float | None]]:
    """Of each function whose name `chosen` matches: the time, and that of its gradient where it has one."""
    tf = importlib.import_module(library)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    found: dict[str, list[float | None]] = {}
    for name, (function, operands) in {**function_cases.cases(tf), **data_cases.cases(tf)}.items():
        if re.search(chosen, name):
            found[name] = timed(tf, name, function, operands)
    with tempfile.TemporaryDirectory() as folder:
        for name, run in data_cases.passes(tf, Path(folder)).items():
            if re.search(chosen, name):
                found[name] = [best(run, []), None]
    return found


def timed(tf: Any, name: str, function: Callable[..., Any], operands: list[Any]) -> list[float | None]:
    """The time of a function, and that of its gradient where operands and results are numbers with one."""
    smooth = [at for at, x in enumerate(operands) if getattr(x.dtype, "is_floating", False)]
    time_of_call = best(tf.function(function), operands)
    results = tf.nest.flatten(function(*operands))
    if not smooth or not all(x.dtype.is_floating or x.dtype.is_complex for x in results):
        return [time_of_call, None]
    weights = [tf.cast(tf.random.stateless_normal(x.shape, [1, 2]), x.dtype) for x in results]

    def gradient(*given: Any) -> Any:
        xs, weights = list(given[: len(operands)]), list(given[len(operands) :])
        return tf.gradients(tf.nest.flatten(function(*xs)), [xs[at] for at in smooth], grad_ys=weights)

    try:
        return [time_of_call, best(tf.function(gradient), operands + weights)]
    except Exception as error:
        print(f"{tf.__name__}: {name} has no gradient: {error}", file=sys.stderr)
        return [time_of_call, None]


def report(results: dict[str, dict[str, list[float | None]]]) -> str:
    """The table, the slowest ratios first, with what it comes to."""
    ours, theirs = results["penstock"], results.get("tensorflow", {})
    rows: list[tuple[float, str, float, float]] = []
    for name, figures in ours.items():
        for label, a, b in zip(
            (name, f"{name}, gradient"), figures, theirs.get(name, [None, None]), strict=True
        ):
            if a is not None and b is not None:
                rows.append((a / b, label, a, b))
    rows.sort(reverse=True)
    if not rows:
        return json.dumps(ours, indent=1)
    mean = math.exp(sum(math.log(ratio) for ratio, *_ in rows) / len(rows))
    slower = sum(ratio > 1 for ratio, *_ in rows)
    lines = [
        f"{len(rows)} rows; the geometric mean of the ratios is {mean:.2f}, {slower} of them are above 1.",
        "",
        "| | Penstock, µs | TensorFlow, µs | ratio |",
        "|---|---:|---:|---:|",
    ]
    lines += [f"| {label} | {a:.4g} | {b:.4g} | {ratio:.2f} |" for ratio, label, a, b in rows]
    return "\n".join(lines)


def main() -> None:
    """Run each interpreter in turn, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=PATH")
    parser.add_argument("--match", default="", metavar="REGEX", help="only those whose names it matches")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.match)))
        return
    pythons = dict(entry.split("=", 1) for entry in options.python) or {"penstock": sys.executable}
    one = dict.fromkeys(("OMP_NUM_THREADS", "PENSTOCK_THREADS"), "1")
    results: dict[str, dict[str, list[float | None]]] = {}
    for _ in range(options.rounds):
        for library, python in pythons.items():
            command = [python, __file__, "--measure", library, "--match", options.match]
            environment = {**os.environ, **one, "TF_CPP_MIN_LOG_LEVEL": "3"}
            ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(ran.stdout.splitlines()[-1])
            kept = results.setdefault(library, found)
            for name, figures in found.items():
                kept[name] = [
                    a if b is None else b if a is None else min(a, b)
                    for a, b in zip(figures, kept[name], strict=True)
                ]
    head = "# Functions beside TensorFlow\n\nWritten by `make bench-functions`. Processor time, on one thread"
    text = f"{head}; {page.machine()}\n\n{report(results)}\n"
    if options.write:
        OUT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
