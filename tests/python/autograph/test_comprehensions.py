"""Comprehensions and generators in traced functions, over tensors whose length is known or not."""

# The traced functions are written as users write them.
# ruff: noqa: B023, C400, C416, C420

from __future__ import annotations

from typing import Any

import pytest
from support import plain

import penstock as tf

VECTOR = tf.TensorSpec([None], tf.int32)
LENGTHS = ([], [3], [4, 1, 3, 2])


def agrees(body: Any, spec: tf.TensorSpec = VECTOR, inputs: Any = LENGTHS) -> None:
    """The body does with a tensor, whatever is known of its length, what it does with a list."""
    unknown = tf.function(input_signature=[spec])(body)
    for values in inputs:
        due = body(values)
        given = tf.constant(values, spec.dtype, shape=None if values else [0, *spec.shape[1:]])
        assert plain(unknown(given)) == due, values
        if values:
            # A list without elements leaves open what it holds.
            assert plain(tf.function(body)(given)) == due, values
    assert unknown.experimental_get_tracing_count() == 1


def test_elements() -> None:
    agrees(lambda v: [x * 2 for x in v])


def test_conditions() -> None:
    agrees(lambda v: [x + 1 for x in v if x > 1])
    agrees(lambda v: [x + 1 for x in v if x > 1 if x % 2 == 1])
    agrees(lambda v: [x if x > 2 else -x for x in v if not (x == 1 or x == 2)])


def test_several_parts() -> None:
    agrees(lambda v: [x * 10 + k for x in v for k in range(2)])
    agrees(lambda v: [x * 10 + k for k in range(2) for x in v if x != k])
    agrees(lambda v: [x * y for x in v if x > 1 for y in v if y < x])


def test_targets() -> None:
    agrees(lambda v: [i * x for i, x in enumerate(v)])
    agrees(lambda v: [a * b for a, b in zip(v, v, strict=False)])
    agrees(lambda v: [i + a * b for i, (a, b) in enumerate(zip(v, v, strict=False)) if a > 1])
    rows = tf.TensorSpec([None, 2], tf.int32)
    agrees(lambda m: [a - b for a, b in m], rows, ([], [[1, 2]], [[5, 1], [0, 7]]))


def test_ranges() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def f(n: Any) -> Any:
        return [i * i for i in range(n)], [i for i in tf.range(n) if i % 2 == 0]

    assert plain(f(tf.constant(5))) == ([0, 1, 4, 9, 16], [0, 2, 4])
    assert plain(f(tf.constant(0))) == ([], [])


def test_what_takes_a_generator() -> None:
    agrees(lambda v: sum(x * x for x in v))
    agrees(lambda v: sum((x for x in v if x > 1), 100))
    agrees(lambda v: (any(x > 3 for x in v), all(x > 1 for x in v)))
    agrees(lambda v: list(x + 1 for x in v))
    agrees(lambda v: list(x + 1 for x in v if x > 1))
    agrees(lambda v: sorted(x + 1 for x in v))
    agrees(lambda v: (max(x * 2 for x in v), min(-x for x in v)), inputs=LENGTHS[1:])
    agrees(lambda v: list(v))


def test_what_a_list_is_used_for() -> None:
    @tf.function(input_signature=[VECTOR])
    def f(v: Any) -> Any:
        kept = [x for x in v if x > 1]
        kept.append(100)
        total = 0
        for x in kept:
            total += x
        return len(kept), total, kept[0], kept[-1], tf.reduce_max(kept), tf.stack([x * 2 for x in kept])

    assert plain(f(tf.constant([1, 2, 3]))) == (3, 105, 2, 100, 100, [4, 6, 200])


def test_python_lists_of_tensors_with_conditions_of_tensors() -> None:
    @tf.function
    def f(a: Any, b: Any) -> Any:
        both = [x for x in [a, b, a + b] if x > 2]
        return both, len(both), sum(x for x in (a, b) if x > 2)

    assert plain(f(tf.constant(1), tf.constant(2))) == ([3], 1, 0)
    assert plain(f(tf.constant(3), tf.constant(4))) == ([3, 4, 7], 3, 7)
    assert f.experimental_get_tracing_count() == 1


def test_they_nest_in_other_statements() -> None:
    @tf.function(input_signature=[VECTOR])
    def f(v: Any) -> Any:
        total = 0
        for x in v:
            if x > 1:
                total += sum([y for y in v if y < x])
        while total > 10:
            total -= len([y for y in v])
        return total, [sum(y * x for y in v) for x in v]

    def due(v: list[int]) -> Any:
        total = sum(sum(y for y in v if y < x) for x in v if x > 1)
        while total > 10:
            total -= len(v)
        return total, [sum(v) * x for x in v]

    for values in ([3], [4, 1, 3, 2], [7, 7, 1]):
        assert plain(f(tf.constant(values))) == due(values)


def test_gradients() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(v: Any) -> Any:
        return sum(x * x * x for x in v if x > 1.0)

    v = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = f(v)
    assert plain(tape.gradient(y, v)) == [0.0, 12.0, 27.0]


def test_python_values_are_as_in_python() -> None:
    calls = []

    def seen(x: Any) -> Any:
        calls.append(x)
        return x

    @tf.function
    def f(t: Any) -> Any:
        later = [lambda: i for i in range(3)]
        names = [(k, n) for k in range(3) if seen(k) != 1 for n in "ab"]
        lazy = (seen(k) for k in (10, 20, 30))
        first = next(lazy)
        table = {k: t for k in "ab"}
        numbers = {k % 2 for k in range(5)}
        return t + [g() for g in later], len(names) + first, len(table) + len(numbers)

    assert plain(f(tf.constant(0))) == ([2, 2, 2], 14, 4)
    assert calls == [0, 1, 2, 10]
    walrus = tf.function(lambda t: (t, [last := k for k in range(3)], last))
    assert plain(walrus(tf.constant(0)))[2] == 2


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (lambda v: {x for x in v}, "a set comprehension"),
        (lambda v: {i: x for i, x in enumerate(v)}, "a dict comprehension"),
        (lambda v: [lambda: x for x in v], "makes functions"),
        (lambda v: ([y := x for x in v], y), "or assigns"),
        (lambda v: ([y := x for x in range(2) if v[0] > x], y), "decide what is in a comprehension"),
        (lambda v: {x for x in range(2) if v[0] > x}, "decide what is in a set comprehension"),
    ],
)
def test_what_needs_its_elements_while_tracing_says_so(body: Any, what: str) -> None:
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=what):
        tf.function(input_signature=[VECTOR])(body)(tf.constant([1, 2]))


def test_elements_of_several_types_are_an_error() -> None:
    @tf.function(input_signature=[VECTOR])
    def f(v: Any) -> Any:
        return [x if k else tf.cast(x, tf.float32) for x in v for k in range(2)]

    with pytest.raises(ValueError, match="one dtype"):
        f(tf.constant([1]))
