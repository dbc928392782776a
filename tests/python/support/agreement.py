"""Whether a random program gives in every way what plain Python gives.

`PYTHONPATH=tests/python python -m support.agreement FIRST COUNT` runs programs with and without state.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Callable
from typing import Any

import penstock as tf
from support.programs import ARGUMENTS, Number, StateWriter, Writer, compiled, numbers, shrunk

__all__ = ["NOT_PYTHON", "disagreement", "is_refusal", "smaller"]

# What is said of a program that plain Python does not run.
NOT_PYTHON = "does not run in Python"


def disagreement(source: str, name: str) -> str | None:
    """What goes wrong with a program, or None; `NOT_PYTHON` for one that plain Python does not run."""
    try:
        plain = compiled(source, name, tensor_range=range, vector=lambda *v: list(v), variable=Number)
        expected = [numbers(plain(*args)) for args in ARGUMENTS]
    except Exception:
        return NOT_PYTHON
    makers = {"tensor_range": tf.range, "vector": lambda *v: tf.stack(list(v)), "variable": tf.Variable}
    tensors = compiled(source, name, **makers)
    # Variables are made while it is traced, or have been before.
    makes = "held.bump" in source
    other = compiled(source, name, **makers) if makes and len(source) % 2 else tensors
    both, first, converted = tf.function(other), tf.function(tensors), tf.autograph.to_graph(plain)
    # Each number is a trace of its own, so one of them must do.
    traced_once = ARGUMENTS[len(source) % len(ARGUMENTS)]
    for args, result in zip(ARGUMENTS, expected, strict=True):
        symbols = [tf.constant(x) for x in args]
        ways: dict[str, Callable[[], Any]] = {
            "eager": lambda symbols=symbols: tensors(*symbols),
            "traced": lambda symbols=symbols: both(*symbols),
            "converted": lambda args=args: converted(*args),
            "by the reference interpreter": lambda symbols=symbols: flat(both, symbols),
        }
        if makes:
            del ways["by the reference interpreter"]
        if args is traced_once:
            ways["traced with numbers"] = lambda symbols=symbols, args=args: first(
                symbols[0], args[1], symbols[2]
            )
        for way, run in ways.items():
            try:
                got = numbers(run())
            except Exception as error:
                return f"{way}: {type(error).__name__}: {error}, for {args}"
            due = result if isinstance(result, tuple) or way[:2] != "by" else (result,)
            if got != due:
                return f"{way}: {got} for {args}, where Python gives {due}"
    if both.experimental_get_tracing_count() != 1 and not makes:
        return "traced more than once"
    return None


def flat(function: Any, args: list[Any]) -> Any:
    """The results of a traced function, computed by the reference interpreter."""
    return function.get_concrete_function(*args).graph._run_reference(args)


def is_refusal(wrong: str) -> bool:
    """Whether a program is not traced, with an error, and gives no wrong result."""
    return "Error: " in wrong


def smaller(source: str, wrong: str, name: str) -> str:
    """A smaller program that goes wrong in the same way."""

    def fails(shorter: str) -> bool:
        found = disagreement(shorter, name)
        return found is not None and found.split(":")[:2] == wrong.split(":")[:2]

    return shrunk(source, fails, 200)


def main() -> int:
    """Runs programs and prints those that go wrong; 1 where there are any but refusals with state."""
    parser = argparse.ArgumentParser(description="Runs random programs, and prints those that go wrong.")
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("count", type=int, help="how many seeds")
    options = parser.parse_args()
    counts = collections.Counter[str]()
    failed = False
    for seed in range(options.first, options.first + options.count):
        for writer in (Writer, StateWriter):
            source = writer(seed).write()
            wrong = disagreement(source, f"{writer.__name__} {seed}")
            if wrong is None:
                counts["agree"] += 1
            elif wrong == NOT_PYTHON:
                counts[NOT_PYTHON] += 1
            elif writer is StateWriter and is_refusal(wrong):
                counts["are refused"] += 1
                print(f"refused: {writer.__name__} {seed}: {wrong}", flush=True)
            else:
                failed = True
                counts["go wrong"] += 1
                shorter = smaller(source, wrong, f"{writer.__name__} {seed}, smaller")
                print(f"wrong: {writer.__name__} {seed}: {wrong}\n{shorter}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
