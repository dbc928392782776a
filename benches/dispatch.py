"""What a call of a traced function costs, what tracing costs, and what state and callbacks cost in a call.

    python benches/dispatch.py                     # the table, to read
    python benches/dispatch.py --write             # the same into docs/benchmarks.md
    python benches/dispatch.py --no-instructions   # times only

Most cases return an argument, so that the graph has nothing to do and the figure is that of the call itself:
binding the arguments, looking the trace up, and making the result. Times are the best of several loops.
Instructions are those of valgrind's callgrind, where that is installed; they do not depend on how busy the
machine is. The table says what each figure has to stay below.
"""

import argparse
import gc
import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import page
import penstock as tf

TRACES: Final = 1000
DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Case(NamedTuple):
    """What is measured, and what it has to stay below."""

    make: Callable[[], Call]
    # Seconds.
    limit: float | None = None
    # Times the figure of another case, and seconds more than that.
    beside: tuple[str, float, float] | None = None


def scalar(value: float = 1.0) -> tf.Tensor:
    return tf.constant(value)


def one_tensor() -> Call:
    return tf.function(lambda x: x), (scalar(),)


def one_tensor_added() -> Call:
    return tf.function(lambda x: x + x), (scalar(),)


def ten_tensors() -> Call:
    return tf.function(lambda a, b, c, d, e, f, g, h, i, j: a), tuple(scalar(float(i)) for i in range(10))


def nested() -> Call:
    leaves = [scalar(float(i)) for i in range(5)]
    return tf.function(lambda d: d["a"]), ({"a": leaves[0], "b": leaves[1:3], "c": tuple(leaves[3:])},)


class Model:
    """A method to call."""

    rate = 2.0

    @tf.function
    def method(self, x: tf.Tensor) -> tf.Tensor:
        return x

    @tf.function(guard="globals")
    def guarded(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.rate * RATE * TABLE["rate"]

    @tf.function
    def unguarded(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.rate * RATE * TABLE["rate"]


RATE = 2.0
TABLE = {"rate": 2.0}
MODEL: Final = Model()


def method() -> Call:
    return MODEL.method, (scalar(),)


def unguarded() -> Call:
    return MODEL.unguarded, (scalar(),)


def guarded() -> Call:
    return MODEL.guarded, (scalar(),)


def one_trace() -> Call:
    return tf.function(lambda x, n: x), (scalar(), 7)


def many_traces() -> Call:
    function = tf.function(lambda x, n: x)
    for n in range(TRACES):
        function(scalar(), n)
    return function, (scalar(), 7)


def many_traces_in_turn() -> Call:
    function, (x, _) = many_traces()
    turn = itertools.cycle(range(TRACES))
    return lambda: function(x, next(turn)), ()


def variable() -> Call:
    return tf.function(lambda x, v: x), (scalar(), tf.Variable(1.0))


def signature() -> Call:
    return tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)]), (scalar(),)


def concrete() -> Call:
    return tf.function(lambda x: x).get_concrete_function(scalar()), (scalar(),)


def identity_callback() -> Call:
    return tf.function(lambda x: tf.py_function(lambda v: v, [x], tf.TensorSpec([], tf.float32))), (scalar(),)


def callbacks_in_a_loop() -> Call:
    @tf.function
    def loop(n: tf.Tensor) -> tf.Tensor:
        total = tf.constant(0)
        for i in tf.range(n):
            total += tf.py_function(lambda v: v, [i], tf.TensorSpec([], tf.int32))
        return total

    return loop, (tf.constant(1000),)


def large_through_three_callbacks() -> Call:
    def passed(x: tf.Tensor) -> Any:
        return tf.py_function(lambda v: v, [x], tf.TensorSpec([36_000_000], tf.float32))

    return tf.function(lambda x: passed(passed(passed(x)))), (tf.zeros([36_000_000]),)


def one_assignment() -> Call:
    v = tf.Variable(0.0)
    return tf.function(lambda: v.assign_add(1.0)), ()


def hundred_variables() -> Call:
    variables = [tf.Variable(float(i)) for i in range(100)]

    @tf.function
    def step() -> None:
        for v in variables:
            v.assign(v + 1.0)

    return step, ()


CASES: Final[dict[str, Case]] = {
    "1 tensor": Case(one_tensor, 290e-9),
    "1 tensor, `x + x`": Case(one_tensor_added),
    "10 tensors": Case(ten_tensors, 600e-9),
    "dict of a tensor, a list and a tuple: 5 leaves": Case(nested, 800e-9),
    "method, 1 tensor": Case(method, beside=("1 tensor", 1.0, 100e-9)),
    "tensor and number, 1 trace": Case(one_trace),
    f"tensor and number, {TRACES} traces": Case(many_traces, beside=("tensor and number, 1 trace", 1.3, 0.0)),
    f"tensor and number, {TRACES} traces in turn": Case(many_traces_in_turn),
    "tensor and variable": Case(variable),
    "`input_signature`": Case(signature),
    "`ConcreteFunction`": Case(concrete),
    "method that reads 3 values": Case(unguarded),
    'the same under `guard="globals"`': Case(guarded, beside=("method that reads 3 values", 2.0, 0.0)),
    "`py_function`, identity": Case(identity_callback, 2e-6),
    "1000 `py_function`s in a loop of the graph": Case(callbacks_in_a_loop, 1.5e-3),
    "144 MB through three `py_function`s": Case(large_through_three_callbacks, 1e-3),
    "`v.assign_add(1.0)`": Case(one_assignment, 600e-9),
    "100 variables, each read and written": Case(hundred_variables, 15e-6),
}


def timed(call: Callable[..., Any], args: tuple[Any, ...], repeats: int = 7, seconds: float = 0.05) -> float:
    """The seconds of one call: the best of several loops that take about `seconds` each."""
    names = ", ".join(f"a{i}" for i in range(len(args)))
    unpack = f"    [{names}] = args\n" if args else ""
    source = (
        f"def loop(n, clock=clock, call=call, args=args):\n{unpack}"
        f"    start = clock()\n    for _ in n:\n        call({names})\n    return clock() - start\n"
    )
    scope: dict[str, Any] = {"clock": time.perf_counter, "call": call, "args": args}
    exec(source, scope)
    loop = scope["loop"]
    n = 100
    while (took := loop(itertools.repeat(None, n))) < seconds / 4:
        n *= 2
    n = max(1, round(n * seconds / took))
    return float(min(loop(itertools.repeat(None, n)) for _ in range(repeats)) / n)


def tracing(ops: int) -> float:
    """The seconds that tracing takes for each of so many operations."""

    def chain(x: tf.Tensor) -> tf.Tensor:
        for _ in range(ops):
            x = x + 1.0
        return x

    function = tf.function(chain, autograph=False)
    start = time.perf_counter()
    function.get_concrete_function(scalar())
    return (time.perf_counter() - start) / ops


def instructions(case: str) -> float:
    """The instructions of one call of a case, as callgrind counts them."""
    # More than the traces of any case, each of which is looked up anew at first.
    few, many = (counted(case, calls) for calls in (2 * TRACES + 200, 2 * TRACES + 5200))
    return (many - few) / 5000


def counted(case: str, calls: int) -> int:
    """What callgrind counts for a process that prepares a case and calls it so many times."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__]
    done = subprocess.run(
        [*command, "--only", case, "--calls", str(calls)],
        capture_output=True,
        text=True,
        check=True,
        # The same order of sets and dicts, so that both processes prepare alike.
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr)
    return int(found.group(1))


def duration(seconds: float) -> str:
    """Seconds as text, in nanoseconds below one microsecond."""
    if seconds < 0.9995e-6:
        return f"{seconds * 1e9:.0f} ns"
    return f"{seconds * 1e6:.2f} µs" if seconds < 10e-6 else f"{seconds * 1e6:.0f} µs"


def row(name: str, seconds: float, limit: float | None, counted: float | None) -> str:
    """A row of the table; a figure beyond its limit is marked."""
    due = "" if limit is None else f"{duration(limit)}{'' if seconds <= limit else ' (missed)'}"
    return f"| {name} | {duration(seconds)} | {due} | {'' if counted is None else f'{counted:.0f}'} |"


def table(cases: dict[str, Case], counts: bool) -> list[str]:
    """The rows of the table, which are printed as they come."""
    rows = ["| case | time | at most | instructions |", "|---|---:|---:|---:|"]
    times: dict[str, float] = {}
    for name, case in cases.items():
        times[name] = timed(*case.make())
        limit = case.limit
        if case.beside is not None and case.beside[0] in times:
            other, factor, more = case.beside
            limit = times[other] * factor + more
        # A loop of a thousand callbacks takes minutes there.
        counted_too = counts and times[name] < 100e-6
        rows.append(row(name, times[name], limit, instructions(name) if counted_too else None))
        print(rows[-1], flush=True)
    return rows


def tracing_rows() -> list[str]:
    """The rows about tracing."""
    rows = []
    for ops in (100, 1000, 10_000, 100_000):
        best = min(tracing(ops) for _ in range(3))
        rows.append(row(f"tracing {ops:,} operations, each", best, 8e-6, None))
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Prints the table, or serves one run of callgrind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-instructions", action="store_true", help="do not count instructions")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    parser.add_argument("--only", choices=CASES, help="run one case")
    parser.add_argument("--calls", type=int, help="call the case so many times, and print nothing")
    options = parser.parse_args()
    tf.get_logger().setLevel("ERROR")
    gc.disable()
    cases = {options.only: CASES[options.only]} if options.only else CASES
    if options.calls is not None:
        call, args = cases[options.only].make()
        for _ in range(options.calls):
            call(*args)
        return
    rows = table(cases, counts=not options.no_instructions and shutil.which("valgrind") is not None)
    if not options.only:
        rows += tracing_rows()
    if options.write:
        text = "\n".join([page.machine(), "", *rows])
        DOCUMENT.write_text(page.replaced(DOCUMENT, "calls", text))


if __name__ == "__main__":
    main()
