"""How time and memory grow with the size of a graph, and with the depth of its loops.

    python benches/growth.py            # measures, writes docs/growth.svg and docs/growth.md
    python benches/growth.py --quick    # graphs of up to 10,000 operations

Every graph is made in a process of its own, best of three. What is linear is flat in the picture: it shows
time and memory of each operation. A graph that takes more than a minute is left out, as are larger ones of
its kind.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from run import machine
from svg import Chart, Series, draw

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
SIZES: Final = (10, 100, 1000, 10_000, 100_000)
DEPTHS: Final = (1, 4, 16, 64, 256)
LIMIT: Final = 60  # seconds for one graph
PASSES: Final = ("canonicalise", "fold", "branch", "simplify", "cse", "dce", "hoist", "fuse", "native")
# What is measured, and the heading of its chart.
PHASES: Final = {
    "trace": "tracing",
    "plan": "planning alone",
    "first": "passes and planning",
    "run": "a run",
    "memory": "memory of it all",
}

Build = Callable[[Any, Any, Any, int], Any]


def chain(tf: Any, x: Any, y: Any, ops: int) -> Any:
    for _ in range(ops // 2):
        x = x * y
        x = x + y
    return x


def matmuls(tf: Any, x: Any, y: Any, ops: int) -> Any:
    for _ in range(ops):
        x = tf.matmul(x, y)
    return x


def wide(tf: Any, x: Any, y: Any, ops: int) -> Any:
    return tf.add_n([tf.reduce_sum(x * float(i)) for i in range(ops // 2)])


def branches(tf: Any, x: Any, y: Any, ops: int) -> Any:
    a = y[0, 0]
    for _ in range(ops // 8):
        a = tf.cond(tf.reduce_sum(x) > a, lambda a=a: tf.reduce_sum(x * a), lambda a=a: a * 2.0 + 1.0)
    return a


def nested(tf: Any, x: Any, y: Any, depth: int) -> Any:
    if depth == 0:
        return tf.matmul(x, y)
    body = lambda i, x: (i + 1, nested(tf, x, y, depth - 1))  # noqa: E731
    return tf.while_loop(lambda i, x: i < 1, body, (0, x))[1]


def invariants(tf: Any, x: Any, y: Any, depth: int) -> Any:
    if depth == 0:
        return tf.matmul(x, tf.sin(y))
    body = lambda i, x: (i + 1, invariants(tf, x * tf.cos(y * float(depth)), y, depth - 1))  # noqa: E731
    return tf.while_loop(lambda i, x: i < 1, body, (0, x))[1]


# The title of each kind of graph, what builds it, and the shape of its two inputs.
KINDS: Final[dict[str, tuple[str, Build, list[int]]]] = {
    "scalar": ("chain of scalars", chain, []),
    "elementwise": ("chain of 8×8 elementwise", chain, [8, 8]),
    "matmul": ("chain of 8×8 matmuls", matmuls, [8, 8]),
    "wide": ("independent sums", wide, [8, 8]),
    "branches": ("branches in a row", branches, [8, 8]),
    "nested": ("loops in loops", nested, [8, 8]),
    "invariants": ("the same with what is the same in each", invariants, [8, 8]),
}

# Those whose size is the depth of loops.
DEEP: Final = ("nested", "invariants")


def peak() -> float:
    """The most memory that was resident so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def measure(kind: str, size: int) -> dict[str, float]:
    """Traces and runs one graph; seconds of the phases, bytes of memory."""
    import penstock as tf

    _, build, shape = KINDS[kind]
    # Powers of the second stay what they are: no number grows, vanishes or becomes subnormal.
    inputs = tf.ones(shape), tf.fill(shape, 0.125)
    start = peak()
    function = tf.function(lambda x, y: build(tf, x, y, size), autograph=False)
    times = [time.perf_counter()]
    function.get_concrete_function(*inputs)
    times.append(time.perf_counter())
    function(*inputs)
    times.append(time.perf_counter())
    memory = peak() - start
    runs = []
    for _ in range(5):
        begun = time.perf_counter()
        function(*inputs)
        runs.append(time.perf_counter() - begun)
    run = min(runs)
    first = max(times[2] - times[1] - run, 0.0)
    return {"trace": times[1] - times[0], "first": first, "run": run, "memory": memory}


def in_process(kind: str, size: int, *, repeats: int = 3) -> dict[str, float]:
    """The best of several processes, and of as many that leave all passes out."""
    bare = {"PENSTOCK_PASSES": ",".join(f"-{name}" for name in PASSES)}

    def one(environment: dict[str, str]) -> dict[str, float]:
        command = [sys.executable, __file__, "--one", kind, str(size)]
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | environment,
            timeout=LIMIT,
        )
        return dict(json.loads(done.stdout))

    full = [one({}) for _ in range(repeats)]
    plain = [one(bare) for _ in range(repeats)]
    best = {key: min(found[key] for found in full) for key in full[0]}
    return best | {"plan": min(found["first"] for found in plain)}


def exponent(points: list[tuple[float, float]]) -> float:
    """The power of the size that the last two points grow with."""
    (x0, y0), (x1, y1) = points[-2:]
    return math.log(y1 / y0) / math.log(x1 / x0) if y0 > 0 and y1 > 0 else math.nan


def report(found: dict[str, dict[int, dict[str, float]]]) -> str:
    """Renders docs/growth.md."""
    lines = [
        "# Growth",
        "",
        f"Written by `benches/growth.py`, on {machine()['cores']} cores of {machine()['cpu']}.",
        "",
        (
            "Time and memory of each operation, by the number of operations in the graph and by the depth of "
            "loops in loops: what is flat is linear. Planning alone is that of the graph as it was traced, "
            "all passes left out."
        ),
        "",
        "![time and memory of each operation, by the size of the graph](growth.svg)",
        "",
        (
            "The power of the size that each grows with, between the last two sizes (1 is linear), and the "
            "figure at the last:"
        ),
        "",
        f"| graph | size | {' | '.join(PHASES.values())} |",
        f"|---|---:|{'---:|' * len(PHASES)}",
    ]
    for kind, sizes in found.items():
        last = max(sizes)
        cells = []
        for phase in PHASES:
            points = [(float(size), sizes[size][phase]) for size in sorted(sizes)]
            value = sizes[last][phase]
            shown = f"{value / 2**20:.0f} MB" if phase == "memory" else f"{value * 1e3:.3g} ms"
            cells.append(f"{exponent(points):.2f}, {shown}")
        lines.append(f"| {KINDS[kind][0]} | {last:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def charts(found: dict[str, dict[int, dict[str, float]]]) -> list[Chart]:
    """A chart for each phase over the size of graphs, and one for all over the depth of loops."""

    def each(kind: str, phase: str) -> list[tuple[float, float]]:
        scale = 1e-3 if phase == "memory" else 1e6
        return [(size, scale * values[phase] / size) for size, values in sorted(found[kind].items())]

    result = []
    for phase, title in PHASES.items():
        unit = "kB" if phase == "memory" else "µs"
        series = [Series(KINDS[kind][0], each(kind, phase)) for kind in found if kind not in DEEP]
        result.append(Chart(f"{title}, {unit} for each operation", "operations", series))
    for kind in DEEP:
        times = [Series(PHASES[phase], each(kind, phase)) for phase in ("trace", "plan", "first", "run")]
        result.append(Chart(f"{KINDS[kind][0]}, µs for each level", "depth", times))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="graphs of up to 10,000 operations, once each")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "SIZE"), help="measure one graph, in this process")
    options = parser.parse_args()
    if options.one:
        sys.setrecursionlimit(100_000)
        kind, size = options.one
        print(json.dumps(measure(kind, int(size))))
        return
    found: dict[str, dict[int, dict[str, float]]] = {}
    for kind in KINDS:
        sizes = DEPTHS if kind in DEEP else SIZES[:-1] if options.quick else SIZES
        found[kind] = {}
        for size in sizes:
            try:
                found[kind][size] = in_process(kind, size, repeats=1 if options.quick else 3)
            except subprocess.TimeoutExpired:
                print(f"{kind} {size}: took longer than {LIMIT} s", flush=True)
                break
            shown = ", ".join(f"{name} {value:.3g}" for name, value in found[kind][size].items())
            print(f"{kind} {size}: {shown}", flush=True)
    (DOCS / "growth.svg").write_text(draw(charts(found)), encoding="utf-8")
    (DOCS / "growth.md").write_text(report(found), encoding="utf-8")


if __name__ == "__main__":
    main()
