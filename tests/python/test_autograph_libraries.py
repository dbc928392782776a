"""Python code without tensors does when converted what it did before: modules of the standard library."""

from __future__ import annotations

import importlib
import inspect
import linecache
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock as tf


def users(name: str) -> types.ModuleType:
    """A module of the standard library as one of a user's, which is converted."""
    original = importlib.import_module(name)
    source = inspect.getsource(original)
    file = f"<a user's {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType(f"users_{name}".replace(".", "_"))
    module.__package__ = original.__package__
    sys.modules[module.__name__] = module
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    return module


def functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """The functions and methods that a module defines, without what Python makes for its annotations."""
    for value in [*vars(module).values()]:
        for found in vars(value).values() if isinstance(value, type) else [value]:
            if not isinstance(found, types.FunctionType) or found.__name__ == "__annotate__":
                continue
            if found.__globals__ is vars(module):
                yield found


TEXT = inspect.getdoc(random) or ""


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the class of what it raises."""
    try:
        value = call()
    except Exception as error:
        return type(error).__name__, str(error)
    return list(value) if isinstance(value, Iterator) else value


def wrapped(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    for width in (1, 7, 20, 70):
        yield lambda width=width: c(m.wrap)(TEXT, width, break_long_words=width > 1)
        yield lambda width=width: c(m.shorten)(TEXT, width)
    yield lambda: c(m.indent)(c(m.dedent)(TEXT), "> ", lambda line: len(line) > 9)
    yield lambda: c(m.fill)("a b", 0)


def compared(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    a, b = TEXT.splitlines(), TEXT.replace("random", "other").splitlines()[3:]
    yield lambda: c(m.unified_diff)(a, b)
    yield lambda: c(m.context_diff)(a, b)
    yield lambda: c(m.ndiff)(a[:9], b[:9])
    yield lambda: c(m.get_close_matches)("appel", ["ape", "apple", "peach", "puppy"])


def heaped(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    draw = random.Random(1)
    for size in (0, 1, 2, 9, 40):
        numbers = [draw.randrange(20) for _ in range(size)]

        def sort(numbers: list[int] = numbers) -> Any:
            heap = numbers[:]
            c(m.heapify)(heap)
            return [c(m.heappop)(heap) for _ in numbers], c(m.heappop)(heap)

        yield sort
        yield lambda numbers=numbers: c(m.nlargest)(3, numbers, key=lambda x: -x % 7)
        yield lambda numbers=numbers: c(m.merge)(sorted(numbers), [3, 4], reverse=False)


def counted(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    for numbers in ([], [1], [1, 2, 2, 3.5], [1.5, float("inf"), 2.0], ["a"]):
        for name in (
            "mean",
            "median",
            "mode",
            "multimode",
            "pvariance",
            "stdev",
            "quantiles",
            "harmonic_mean",
        ):
            yield lambda name=name, numbers=numbers: repr(c(getattr(m, name))(numbers))


def divided(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    for args in ((3, 4), ("1.25",), ("7/-2",), (6, 0), (0.1,), ("x",)):
        yield lambda args=args: str(c(m.Fraction)(*args))
    yield lambda: str(c(m.Fraction.limit_denominator)(m.Fraction(311, 99), 10))


def dated(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    for year, month in ((2024, 2), (1900, 2), (1999, 12)):
        yield lambda year=year, month=month: c(m.TextCalendar(0).formatmonth)(year, month)
        yield lambda year=year, month=month: c(m.monthrange)(year, month)
    yield lambda: c(m.monthrange)(2000, 13)


def parsed(m: Any, c: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    for text in ('[1, {"a": null, "b": [true, -2.5e3, "\\u00e9"]}]', "[1,", "nul", '{"a" 1}', '"', "[]x"):
        yield lambda text=text: c(m.JSONDecoder(parse_int=str).decode)(text)


CASES: dict[str, Callable[..., Iterator[Callable[[], Any]]]] = {
    "textwrap": wrapped,
    "difflib": compared,
    "heapq": heaped,
    "statistics": counted,
    "fractions": divided,
    "calendar": dated,
    "json.decoder": parsed,
}


@pytest.mark.parametrize("name", CASES)
def test_a_module_does_what_it_did(name: str) -> None:
    module = users(name)
    for function in functions(module):
        if function.__code__.co_filename == f"<a user's {name}>":
            assert tf.autograph.to_graph(function) is not function
    plain = CASES[name](module, lambda f: f)
    for left, right in zip(plain, CASES[name](module, tf.autograph.to_graph), strict=True):
        assert outcome(left) == outcome(right)
