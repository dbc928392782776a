"""Variables that are None before a loop or a branch, and tensors after it."""

# The traced functions are written as users write them.
# ruff: noqa: B023, RUF043, SIM102

from __future__ import annotations

from typing import Any

import pytest
from support import plain

import penstock as tf


def greatest(v: Any) -> Any:
    best = None
    for x in v:
        if best is None or x > best:
            best = x
    return best


def rises(v: Any) -> Any:
    previous, n = None, 0
    for x in v:
        if previous is not None:
            if x > previous:
                n += 1
        previous = x
    return n


def place(v: Any) -> Any:
    best = None, None
    for i, x in enumerate(v):
        if best[0] is None or x < best[0]:
            best = x, i
    return best


def until(v: Any) -> Any:
    """Stops at the first that is less than the one before; what the loop sets first is set beside it."""
    last = None
    for x in v:
        if last is not None and x < last:
            break
        last = x
        double = last * 2
    return last, double


def counted(v: Any) -> Any:
    i, total = 0, None
    while i < len(v):
        total = v[i] if total is None else total * 10 + v[i]
        i += 1
    return total


def returned(v: Any) -> Any:
    last = None
    for x in v:
        if last is not None and x == last:
            return x * 100
        last = x
    return last


@pytest.mark.parametrize("body", [greatest, rises, place, until, counted, returned])
@pytest.mark.parametrize("spec", [None, tf.TensorSpec([None], tf.int32)])
def test_a_loop_may_replace_none_by_a_tensor(body: Any, spec: Any) -> None:
    f = tf.function(body, input_signature=None if spec is None else [spec])
    for values in ([5], [1, 4, 2], [2, 2, 7, 1, 9], [3, 1, 3, 3]):
        assert plain(f(tf.constant(values))) == body(values), values


def test_without_an_iteration_there_is_no_tensor() -> None:
    empty = tf.constant([], tf.int32)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="must iterate at least once, to give 'best' a value"
    ):
        tf.function(greatest)(empty)
    # Nobody reads it after the loop.
    assert tf.function(rises)(empty).numpy() == 0


def test_nested_loops() -> None:
    def f(m: Any) -> Any:
        best = None
        for row in m:
            low = None
            for x in row:
                low = x if low is None else min(low, x)
            best = low if best is None else max(best, low)
        return best

    values = [[3, 1, 2], [9, 4, 8], [0, 7, 5]]
    assert tf.function(f)(tf.constant(values)).numpy() == f(values) == 4


def test_an_attribute() -> None:
    class Cell:
        def __init__(self) -> None:
            self.state = None

        def __call__(self, v: Any) -> Any:
            for x in v:
                self.state = x if self.state is None else self.state * 2 + x
            return self.state

    @tf.function
    def f(v: Any) -> Any:
        return Cell()(v)

    assert f(tf.constant([1, 2, 3])).numpy() == Cell()([1, 2, 3]) == 11


def test_the_first_iteration_runs_once() -> None:
    seen = []

    @tf.function
    def f(n: Any) -> Any:
        x = None
        for i in tf.range(n):
            tf.py_function(lambda i: seen.append(int(i)), [i], [])
            x = i if x is None else x + i
        return x

    assert f(tf.constant(4)).numpy() == 6
    assert seen == [0, 1, 2, 3]


def test_gradients() -> None:
    @tf.function
    def f(v: Any) -> Any:
        total = None
        for x in v:
            total = x * x if total is None else total * x
        return total

    v = tf.constant([2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = f(v)
    assert plain(y) == 48.0
    assert plain(tape.gradient(y, v)) == [48.0, 16.0, 12.0]


def test_none_in_one_branch_is_an_error_that_names_the_variable() -> None:
    def f(a: Any) -> Any:
        x = None
        if a > 0:
            x = a
        return x

    with pytest.raises(TypeError, match="'x' must have one type after the 'if'.*None.*cannot hold None.*'x'"):
        tf.function(f)(tf.constant(1))

    def g(a: Any) -> Any:
        for _ in tf.range(3):
            a = None
        return a

    with pytest.raises(TypeError, match="'a' must keep its type in the loop.*dtype int32.*None after"):
        tf.function(g)(tf.constant(1))

    def both(a: Any) -> Any:
        x = None
        if a > 0:
            x = a
        else:
            x = -a
        return x

    assert tf.function(both)(tf.constant(-4)).numpy() == 4


# Functions that a loop makes, and that see its variables. Each takes a number of iterations.


def chosen_by_functions(n: Any) -> Any:
    total = tf.constant(0)
    for i in tf.range(n):
        total = tf.cond(i > 1, lambda: total + i, lambda: total)
    return total


def called_at_once(n: Any) -> Any:
    total = 0
    for i in tf.range(n):
        total += (lambda: i * 2)()
    return total


def named(n: Any) -> Any:
    total = 0
    for i in tf.range(n):

        def times(x: Any) -> Any:
            return x * i

        total += times(3)
    return total


def nested_in_loops(n: Any) -> Any:
    total = 0
    for i in tf.range(n):
        for j in tf.range(i):
            total += tf.reduce_sum(tf.map_fn(lambda x: x * i + j, tf.constant([1, 2])))
    return total


def beside_none(n: Any) -> Any:
    total, last = tf.constant(0), None
    for i in tf.range(n):
        total = tf.cond(i > 1, lambda: total + i, lambda: total)
        last = total if last is None else last + total
    return total


def calling_itself(n: Any) -> Any:
    total = 0
    for i in tf.range(n):

        def down(k: int) -> Any:
            return 0 if k == 0 else i + down(k - 1)

        total += down(2)
    return total


@pytest.mark.parametrize(
    "body", [chosen_by_functions, called_at_once, named, nested_in_loops, beside_none, calling_itself]
)
def test_what_only_functions_of_an_iteration_see_needs_no_value_after_the_loop(body: Any) -> None:
    traced = tf.function(body)
    for n in (0, 1, 4):
        assert plain(traced(tf.constant(n))) == plain(body(tf.constant(n)))


def test_a_function_that_outlives_the_loop_needs_what_it_sees() -> None:
    @tf.function
    def last(n: Any) -> Any:
        for i in tf.range(n):
            f = lambda x: x * i  # noqa: E731
        return f(2)

    assert last(tf.constant(4)) == 6
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="must iterate at least once, to give 'i' a value"
    ):
        last(tf.constant(0))
