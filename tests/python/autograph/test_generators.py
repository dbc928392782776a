"""Generators: what stands between two yields is converted, what a yield stands in stays Python's."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock as tf


def chosen(x: Any) -> Iterator[Any]:
    for i in range(3):
        if x > i:
            yield x - i
        else:
            yield x + i


def chosen_of_many(x: Any) -> Iterator[Any]:
    for i in range(4):
        if x > 2:
            y = x * i
            yield y
        elif x > i:
            yield -x
        else:
            y = x + i
            if y > 3:
                y = y - 3
            yield y * 10


def branches_between(x: Any) -> Iterator[Any]:
    y = x
    for i in range(4):
        if y > 2:
            y = y - i
        elif y < 0:
            y = y + 10
        yield y
    if y == x:
        y = y * 7
    yield y


def loops_between(x: Any) -> Iterator[Any]:
    while x > 10:
        x = x // 2
        if x == 12:
            break
    yield x
    total = 0
    for k in tf.range(abs(x)):
        if k == 4:
            continue
        total += k
    yield total
    return


def only_some_jump(x: Any) -> Iterator[Any]:
    for i in range(9):
        if i == 2:
            continue
        last = i
        if x > i:
            last = last + x
        if i == 5:
            yield last
            break
        yield last * 2
    else:
        yield -1
    if i > 3:
        return
    yield -2


def held(x: Any) -> Iterator[Any]:
    state = [x, x]
    try:
        if state[0] > 1:
            state[0] = state[0] * 2
        yield state[0]
        state[1] += 1 if x > 0 else 2
        yield state[1]
    finally:
        if x > 0:
            state.append(1)


GENERATORS = [chosen, chosen_of_many, branches_between, loops_between, only_some_jump, held]


@pytest.mark.parametrize("function", GENERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [-3, 0, 1, 2, 5, 50, 100])
def test_tensors_decide_in_a_generator_what_numbers_decide(function: Callable[..., Any], x: int) -> None:
    wanted = list(map(int, function(x)))
    assert list(map(int, tf.autograph.to_graph(function)(x))) == wanted

    @tf.function
    def run(x: Any) -> list[Any]:
        return list(function(x))

    assert list(map(int, run(tf.constant(x)))) == wanted


def test_a_generator_talks_to_who_runs_it() -> None:
    heard: list[Any] = []

    def talk(n: int) -> Any:
        try:
            if n > 1:
                got = yield "many"
            else:
                got = yield "few"
            heard.append(got)
            got = yield from inner()
            heard.append(got)
        except ValueError as error:
            heard.append(str(error))
            yield "caught"
        finally:
            heard.append("end")
        return "done"

    def inner() -> Any:
        said = []
        while len(said) < 2:
            said.append((yield len(said)))
        return said

    def conversation(function: Callable[..., Any], n: int, *answers: Any) -> list[Any]:
        heard.clear()
        generator = function(n)
        said = [next(generator)]
        try:
            for answer in answers:
                throws = isinstance(answer, Exception)
                said.append(generator.throw(answer) if throws else generator.send(answer))
        except StopIteration as end:
            said.append(end.value)
        return [*said, *heard]

    changed = tf.autograph.to_graph(talk)
    for n, *answers in (
        (1, "a", "b", "c"),
        (2, "a", ValueError("no"), None),
        (2, ValueError("x"), 1),
        (1, "a"),
    ):
        assert conversation(changed, n, *answers) == conversation(talk, n, *answers)
    assert conversation(changed, 1, "a", "b", "c") == ["few", 0, 1, "done", "a", ["b", "c"], "end"]


def test_context_managers_and_dispatched_functions_are_converted() -> None:
    class Model:
        @contextlib.contextmanager
        def scaled(self, x: Any) -> Iterator[Any]:
            """Twice a positive number."""
            if x > 0:
                y = x * 2
            else:
                y = -x
            try:
                yield y
            finally:
                left.append("left")

    @functools.singledispatch
    def size(x: Any, *, least: int = 0) -> Any:
        if x > least:
            return x
        return -x

    @size.register
    def _(x: str, **_: Any) -> Any:
        return len(x)

    left: list[str] = []

    def run(x: Any) -> Any:
        with Model().scaled(x) as y:
            total = y + size(x, least=1)
        return total + size("four")

    traced = tf.function(run)
    for x in (-3, 1, 5):
        assert int(traced(tf.constant(x))) == run(x)
    assert left == ["left"] * 4


def test_a_yield_that_only_one_branch_has_is_an_error_that_says_so() -> None:
    def some(x: Any) -> Iterator[Any]:
        if x > 0:
            yield x

    @tf.function
    def run(x: Any) -> Any:
        return list(some(x))

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError) as found:
        run(tf.constant(1))
    assert any("'yield'" in note for note in found.value.__notes__)


def test_nothing_of_a_loop_in_a_generator_need_run() -> None:
    def counted(n: Any) -> Iterator[Any]:
        total = 0
        for k in tf.range(n):
            twice = k * 2
            total += twice
        yield total

    @tf.function
    def run(n: Any) -> Any:
        return next(counted(n))

    assert [int(run(tf.constant(n))) for n in (0, 1, 4)] == [0, 0, 12]


def test_a_generator_expression_is_a_generator() -> None:
    seen: list[int] = []

    def noted(i: int) -> bool:
        seen.append(i)
        return i > 1

    @tf.function
    def f(x: Any, n: Any) -> Any:
        assert isinstance((i for i in [x, x]), types.GeneratorType)
        chosen = (i * 2 for i in [x, x + 1] if i > 3)
        counted = (i for i in tf.range(n) if i % 2 == 0)
        assert isinstance(chosen, types.GeneratorType)
        assert isinstance(counted, types.GeneratorType)
        begun = (y for y in [x, x + 7] if y is not None)
        first = next(begun)
        looped = 0
        for y in (i for i in [x, x + 1] if i > 3):
            looped += y
        return (
            sum(chosen),
            tf.reduce_sum(list(counted)),
            next(i for i in range(10) if noted(i)),
            next(i for i in (3, 4)),
            (first, sum(begun)),
            looped,
        )

    result = f(tf.constant(3), tf.constant(5))
    assert tf.nest.map_structure(int, result) == (8, 6, 2, 3, (3, 10), 4)
    assert seen == [0, 1, 2]
