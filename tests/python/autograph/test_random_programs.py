"""Random programs give what plain Python gives: eagerly, traced, and by the reference interpreter."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest
from support.programs import STATE, StateWriter, Writer, shrunk

import penstock as tf

# Programs of one test, and tests.
AT_ONCE, TESTS = 25, 100
# The same for those with state.
WITH_STATE_AT_ONCE, TESTS_OF_STATE = 50, 10
# The share of programs that may be refused, and never be wrong.
MOST_REFUSED = 0.05


class Context:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def wrap(x: Any) -> Any:
    """A float brought near to zero, in steps of a whole number."""
    if x > 40:
        return x - 60
    return x + 60 if x < -40 else x


class Number:
    """What stands for a variable where all is Python's."""

    def __init__(self, value: int) -> None:
        self.value = value

    def assign(self, value: int) -> None:
        self.value = value

    def __add__(self, other: int) -> int:
        return self.value + other


def compiled(source: str, name: str, **names: Any) -> Callable[..., Any]:
    """The function `program` of a source, which `linecache` knows."""
    if "acc" in source:
        source = STATE + source
    file = f"<program {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"context": Context, "wrap": wrap, **names}
    exec(compile(source, file, "exec"), namespace)
    return namespace["program"]  # type: ignore[no-any-return]


def numbers(result: Any) -> Any:
    """A result as Python numbers."""
    if isinstance(result, tuple | list):
        return tuple(map(numbers, result))
    return float(result.numpy()) if hasattr(result, "numpy") else float(result)


ARGUMENTS = [(0, 0, 0.5), (1, 2, -1.25), (5, -3, 3.0), (-2, 7, 0.0), (9, 4, -8.75)]


def disagreement(source: str, name: str) -> str | None:
    """What goes wrong with a program, or None. One that plain Python does not run is in order."""
    try:
        plain = compiled(source, name, tensor_range=range, vector=lambda *v: list(v), variable=Number)
        expected = [numbers(plain(*args)) for args in ARGUMENTS]
    except Exception:
        return None
    makers = {"tensor_range": tf.range, "vector": lambda *v: tf.stack(list(v)), "variable": tf.Variable}
    tensors = compiled(source, name, **makers)
    # Variables are made while it is traced, or have been before.
    makes = "held.bump" in source
    other = compiled(source, name, **makers) if makes and len(source) % 2 else tensors
    both, first = tf.function(other), tf.function(tensors)
    # Each number is a trace of its own, so one of them must do.
    traced_once = ARGUMENTS[len(source) % len(ARGUMENTS)]
    for args, result in zip(ARGUMENTS, expected, strict=True):
        symbols = [tf.constant(x) for x in args]
        ways: dict[str, Callable[[], Any]] = {
            "eager": lambda symbols=symbols: tensors(*symbols),
            "traced": lambda symbols=symbols: both(*symbols),
            "converted": lambda args=args: tf.autograph.to_graph(plain)(*args),
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


def kind_of(wrong: str) -> list[str]:
    return wrong.split(":")[:2]


def reported(wrong: str, source: str, seed: int) -> None:
    """Fails for a program that goes wrong, made smaller."""

    def fails(smaller: str) -> bool:
        found = disagreement(smaller, f"{seed}, smaller")
        return found is not None and kind_of(found) == kind_of(wrong)

    smaller = shrunk(source, fails, 200)
    pytest.fail(f"{wrong}\nfrom seed {seed}, made smaller:\n{smaller}", pytrace=False)


@pytest.mark.parametrize("batch", range(TESTS))
def test_random_programs_agree(batch: int) -> None:
    for seed in range(batch * AT_ONCE, (batch + 1) * AT_ONCE):
        source = Writer(seed).write()
        wrong = disagreement(source, str(seed))
        if wrong is not None:
            reported(wrong, source, seed)


@pytest.mark.parametrize("batch", range(TESTS_OF_STATE))
def test_random_programs_with_state_agree(batch: int) -> None:
    refused = []
    for seed in range(batch * WITH_STATE_AT_ONCE, (batch + 1) * WITH_STATE_AT_ONCE):
        source = StateWriter(seed).write()
        wrong = disagreement(source, f"state {seed}")
        if wrong is not None and "Error: " in wrong:
            # What no graph can hold is refused: a tensor that is None unless a condition on tensors holds.
            refused.append(f"seed {seed}: {wrong}")
        elif wrong is not None:
            reported(wrong, source, seed)
    assert len(refused) <= WITH_STATE_AT_ONCE * MOST_REFUSED, "\n".join(refused)
