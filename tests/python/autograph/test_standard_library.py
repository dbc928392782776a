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


INSTALLED = """
import functools

import penstock as tf


def doubled(function):
    @functools.wraps(function)
    def run(*args):
        result = function(*args)
        if result > 100:
            return result
        return result * 2
    return run


class Layer:
    def __init__(self):
        self.is_built = False

    def __call__(self, x):
        if not self.is_built:
            self.w = tf.Variable(3)
            self.is_built = True
        if x > 2:
            return x * self.w
        return -x


@tf.function
def decorated(x):
    while x < 10:
        x += 3
    return x


def strange():
    class Odd:
        pass
    return eval("lambda x: x + 1")
"""


@pytest.fixture
def installed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], types.ModuleType]]:
    """What imports a module of a source from a directory of installed packages."""
    place = tmp_path / "site-packages"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    names = []

    def load(name: str) -> types.ModuleType:
        (place / f"{name}.py").write_text(INSTALLED)
        names.append(name)
        return importlib.import_module(name)

    yield load
    for name in names:
        del sys.modules[name]


def test_installed_code_is_converted(installed: Callable[[str], types.ModuleType]) -> None:
    module = installed("some_layers")
    layer = module.Layer()

    @tf.function
    def f(x: Any, n: Any) -> Any:
        for _ in tf.range(n):
            x = layer(x)
        return module.strange()(x)

    assert [int(f(tf.constant(x), tf.constant(n))) for x, n in ((3, 2), (2, 1), (2, 2))] == [28, -1, 3]
    assert int(module.decorated(tf.constant(2))) == 11

    @tf.function
    @module.doubled
    def g(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    assert [int(g(tf.constant(x))) for x in (60, -70, 101)] == [120, 140, 101]


def test_modules_can_be_exempt_from_conversion(installed: Callable[[str], types.ModuleType]) -> None:
    first, second = installed("plain_layers"), installed("other_layers")
    known = tf.autograph.experimental.unconverted_modules("plain_layers", "other")
    assert {"plain_layers", "numpy", "penstock"} <= known
    assert known == tf.autograph.experimental.unconverted_modules()
    assert int(tf.function(second.Layer())(tf.constant(5))) == 15
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError) as caught:
        tf.function(first.Layer())(tf.constant(5))
    assert "unconverted_modules" in "".join(caught.value.__notes__)
    tf.autograph.experimental.unconverted_modules("other_layers.sub", "other_layers")
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(second.Layer())(tf.constant(5))
    with pytest.raises(TypeError, match="argument 'more'"):
        tf.autograph.experimental.unconverted_modules(second)  # type: ignore[arg-type]
