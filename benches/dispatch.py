"""What a call of a traced function costs before its graph runs, and what tracing costs for each operation.

    python benches/dispatch.py                  # nanoseconds, best of several loops
    python benches/dispatch.py --instructions   # instructions, counted by valgrind's callgrind

Most cases return an argument, so that the graph has nothing to do and the figure is that of the call itself:
binding the arguments, looking the trace up, and making the result. Instruction counts do not depend on how
busy the machine is.
"""

import argparse
import gc
import itertools
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Final

import penstock as tf
from penstock.experimental import RetracingWarning

TRACES: Final = 1000
Case = Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]


def scalar(value: float = 1.0) -> tf.Tensor:
    return tf.constant(value)


def one_tensor() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda x: x), (scalar(),)


def one_tensor_added() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda x: x + x), (scalar(),)


def ten_tensors() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda a, b, c, d, e, f, g, h, i, j: a), tuple(scalar(float(i)) for i in range(10))


def nested() -> tuple[Callable[..., Any], tuple[Any, ...]]:
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


def method() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return MODEL.method, (scalar(),)


def unguarded() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return MODEL.unguarded, (scalar(),)


def guarded() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return MODEL.guarded, (scalar(),)


def one_trace() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda x, n: x), (scalar(), 7)


def many_traces() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    function = tf.function(lambda x, n: x)
    for n in range(TRACES):
        function(scalar(), n)
    return function, (scalar(), 7)


def many_traces_in_turn() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    function, (x, _) = many_traces()
    turn = itertools.cycle(range(TRACES))
    return lambda: function(x, next(turn)), ()


def variable() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda x, v: x), (scalar(), tf.Variable(1.0))


def signature() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)]), (scalar(),)


def concrete() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return tf.function(lambda x: x).get_concrete_function(scalar()), (scalar(),)


CASES: Final[dict[str, Case]] = {
    "1 tensor": one_tensor,
    "1 tensor, `x + x`": one_tensor_added,
    "10 tensors": ten_tensors,
    "dict of a tensor, a list and a tuple: 5 leaves": nested,
    "method, 1 tensor": method,
    "tensor and number, 1 trace": one_trace,
    f"tensor and number, {TRACES} traces": many_traces,
    f"tensor and number, {TRACES} traces in turn": many_traces_in_turn,
    "tensor and variable": variable,
    "`input_signature`": signature,
    "`ConcreteFunction`": concrete,
    "method that reads 3 values": unguarded,
    'the same under `guard="globals"`': guarded,
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


def instructions(case: str, calls: int) -> int:
    """What callgrind counts for a process that prepares a case and calls it so many times."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__]
    done = subprocess.run(
        [*command, "--only", case, "--calls", str(calls)], capture_output=True, text=True, check=True
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr)
    return int(found.group(1))


def main() -> None:
    """Prints the table, or serves one run of callgrind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instructions", action="store_true", help="count instructions with callgrind")
    parser.add_argument("--only", help="run one case")
    parser.add_argument("--calls", type=int, help="call the case so many times, and print nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", RetracingWarning)
    gc.disable()
    cases = {options.only: CASES[options.only]} if options.only else CASES
    if options.calls is not None:
        call, args = cases[options.only]()
        for _ in range(options.calls):
            call(*args)
        return
    for name, case in cases.items():
        if options.instructions:
            few, many = instructions(name, 1000), instructions(name, 3000)
            print(f"| {name} | {(many - few) / 2000:.0f} |", flush=True)
        else:
            print(f"| {name} | {timed(*case()) * 1e9:.0f} ns |", flush=True)
    if not options.instructions and not options.only:
        for ops in (100, 1000, 10_000, 100_000):
            best = min(tracing(ops) for _ in range(3))
            print(f"| tracing {ops} operations, each | {best * 1e6:.2f} µs |", flush=True)


if __name__ == "__main__":
    main()
