"""Traced functions that call themselves."""

# The traced functions are written as users write them.
# ruff: noqa: F821, PT018, RUF043

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf

INT = tf.TensorSpec([], tf.int32)
FLOAT = tf.TensorSpec([], tf.float32)


def test_a_function_with_a_signature_calls_itself_in_the_graph() -> None:
    @tf.function(input_signature=[INT])
    def factorial(n: Any) -> Any:
        if n <= 1:
            return 1
        return n * factorial(n - 1)

    assert [factorial(tf.constant(n)).numpy() for n in (0, 1, 5, 10)] == [1, 1, 120, 3628800]
    assert factorial.experimental_get_tracing_count() == 1
    concrete = factorial.get_concrete_function()
    assert "call" in concrete.graph.to_text()
    assert concrete(tf.constant(4)).numpy() == 24


def test_it_may_call_itself_more_than_once_and_in_loops() -> None:
    @tf.function(input_signature=[INT])
    def fibonacci(n: Any) -> Any:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @tf.function(input_signature=[INT])
    def trees(n: Any) -> Any:
        """The number of binary trees with n nodes."""
        if n < 1:
            return 1
        total = 0
        for left in tf.range(n):
            total += trees(left) * trees(n - 1 - left)
        return total

    assert [fibonacci(tf.constant(n)).numpy() for n in range(10)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    assert [trees(tf.constant(n)).numpy() for n in range(6)] == [1, 1, 2, 5, 14, 42]


def test_the_condition_may_be_a_tf_cond() -> None:
    @tf.function(input_signature=[INT])
    def down(n: Any) -> Any:
        return tf.cond(n > 0, lambda: down(n - 1) + 1, lambda: tf.constant(100))

    assert down(tf.constant(5)).numpy() == 105


def test_structures_and_several_arguments() -> None:
    @tf.function(input_signature=[INT, INT, {"x": FLOAT}])
    def power(a: Any, n: Any, state: Any) -> Any:
        if n == 0:
            return {"value": tf.constant(1), "trail": (state["x"], [n])}
        rest = power(a, n // 2, {"x": state["x"] * 0.5})
        value = rest["value"] * rest["value"]
        if n % 2 == 1:
            value = value * a
        return {"value": value, "trail": rest["trail"]}

    result = power(tf.constant(3), tf.constant(13), {"x": tf.constant(16.0)})
    assert result["value"].numpy() == 3**13
    assert (result["trail"][0].numpy(), result["trail"][1][0].numpy()) == (1.0, 0)


def test_functions_that_call_each_other() -> None:
    @tf.function(input_signature=[INT])
    def even(n: Any) -> Any:
        if n == 0:
            return True
        return odd(n - 1)

    @tf.function(input_signature=[INT])
    def odd(n: Any) -> Any:
        if n == 0:
            return False
        return even(n - 1)

    assert [bool(even(tf.constant(n))) for n in range(5)] == [True, False, True, False, True]
    assert [bool(odd(tf.constant(n))) for n in range(5)] == [False, True, False, True, False]


def test_one_that_always_calls_another_which_ends() -> None:
    @tf.function(input_signature=[INT])
    def outer(n: Any) -> Any:
        if n > 0:
            return inner(n)
        return tf.constant(7)

    @tf.function(input_signature=[INT])
    def inner(n: Any) -> Any:
        return outer(n - 1) + 1

    assert outer(tf.constant(3)).numpy() == 10
    assert inner(tf.constant(3)).numpy() == 10


def test_what_it_captures_is_passed_along() -> None:
    scale = tf.constant([2, 3])
    total = tf.Variable(0)

    @tf.function(input_signature=[INT])
    def f(n: Any) -> Any:
        if n > 0:
            rest = f(n - 1)
            total.assign_add(n)
            return rest * scale
        return tf.ones([2], tf.int32)

    assert f(tf.constant(3)).numpy().tolist() == [8, 27]
    assert total.numpy() == 6
    assert f(tf.constant(1)).numpy().tolist() == [2, 3]
    assert total.numpy() == 7


def test_sizes_that_differ_from_call_to_call_are_unknown() -> None:
    @tf.function(input_signature=[INT])
    def digits(n: Any) -> Any:
        if n < 10:
            return tf.reshape(n, [1])
        return tf.concat([digits(n // 10), [n % 10]], 0)

    assert digits(tf.constant(90125)).numpy().tolist() == [9, 0, 1, 2, 5]
    assert digits.get_concrete_function().structured_outputs.shape.as_list() == [None]


def test_methods() -> None:
    class Counter:
        def __init__(self, step: int) -> None:
            self.step = step

        @tf.function(input_signature=[INT])
        def count(self, n: Any) -> Any:
            if n <= 0:
                return 0
            return self.count(n - self.step) + 1

    assert Counter(2).count(tf.constant(9)).numpy() == 5
    assert Counter(3).count(tf.constant(9)).numpy() == 3


def test_it_may_be_called_within_other_functions() -> None:
    @tf.function(input_signature=[INT])
    def total(n: Any) -> Any:
        if n <= 0:
            return 0
        return total(n - 1) + n

    @tf.function
    def f(x: Any) -> Any:
        result = 0
        for i in tf.range(x):
            result += total(i)
        return result

    assert f(tf.constant(5)).numpy() == 0 + 1 + 3 + 6 + 10


def test_a_python_condition_ends_recursion_without_a_signature() -> None:
    @tf.function
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    assert power(tf.constant(2), 10).numpy() == 1024


def test_without_a_signature_it_is_an_error_soon() -> None:
    calls = 0

    @tf.function
    def forever(n: Any) -> Any:
        nonlocal calls
        calls += 1
        if n > 0:
            return forever(n - 1)
        return 1

    with pytest.raises(RecursionError, match="'forever' calls itself.*input_signature"):
        forever(tf.constant(5))
    assert calls < 50


def test_a_function_that_never_returns_is_an_error() -> None:
    @tf.function(input_signature=[INT])
    def always(n: Any) -> Any:
        return always(n - 1)

    @tf.function(input_signature=[INT])
    def either(n: Any) -> Any:
        if n > 0:
            result = either(n - 1)
        else:
            result = either(n + 1)
        return result

    for f in (always, either):
        with pytest.raises(RecursionError, match="whichever way"):
            f(tf.constant(1))


def test_results_must_have_one_type() -> None:
    @tf.function(input_signature=[INT])
    def pair(n: Any) -> Any:
        if n > 0:
            return (pair(n - 1), n)
        return n

    with pytest.raises((TypeError, ValueError)):
        pair(tf.constant(2))


def test_depth_does_not_depend_on_the_stack_of_the_thread() -> None:
    @tf.function(input_signature=[INT])
    def deep(n: Any) -> Any:
        if n > 0:
            return deep(n - 1) + 1
        return 0

    @tf.function(input_signature=[FLOAT, INT])
    def power(x: Any, n: Any) -> Any:
        if n > 0:
            return x * power(x, n - 1)
        return 1.0

    found = []

    def run() -> None:
        found.append(deep(tf.constant(10_000)).numpy())
        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(x, tf.constant(10_000))
        found.append(tape.gradient(y, x).numpy())

    run()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [10_000, 10_000.0] * 2


def test_recursion_without_end_is_an_error() -> None:
    @tf.function(input_signature=[INT])
    def deep(n: Any) -> Any:
        if n > 0:
            return deep(n - 1) + 1
        return 0

    with pytest.raises(tf.errors.ResourceExhaustedError, match="'deep.*calls itself too deeply"):
        deep(tf.constant(10_000_000))
    assert deep(tf.constant(3)).numpy() == 3


def test_the_text_of_its_graph_names_it() -> None:
    @tf.function(input_signature=[INT])
    def f(n: Any) -> Any:
        if n > 0:
            return f(n - 1)
        return n

    text = f.get_concrete_function().graph.to_text()
    name = f.get_concrete_function().name
    assert f"func=@{name}" in text


def test_gradients() -> None:
    @tf.function(input_signature=[FLOAT, INT])
    def power(x: Any, n: Any) -> Any:
        if n > 0:
            return x * power(x, n - 1)
        return 1.0

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = power(x, tf.constant(4))
    assert y.numpy() == 81.0
    assert tape.gradient(y, x).numpy() == 108.0


def freed(make: Callable[[], Any]) -> bool:
    """Whether the variable that `make` gives a reference to is gone with the functions that read it."""
    reference = make()
    gc.collect()
    return reference() is None


def power(variable: tf.Variable) -> tuple[Any, Any]:
    """Functions that call each other."""

    @tf.function(input_signature=[INT, FLOAT])
    def even(n: Any, x: Any) -> Any:
        if n < 1:
            return x * variable
        return odd(n - 1, x) * x

    @tf.function(input_signature=[INT, FLOAT])
    def odd(n: Any, x: Any) -> Any:
        if n < 1:
            return x
        return even(n - 1, x) + x

    return even, odd


X = tf.constant(2.0)


def test_functions_that_call_themselves_are_freed() -> None:
    def alone() -> Any:
        variable = tf.Variable(1)

        @tf.function(input_signature=[INT])
        def total(n: Any) -> Any:
            if n < 1:
                return variable + 0
            return total(n - 1) + n

        assert total(tf.constant(3)) == 7
        return weakref.ref(variable)

    def each_other() -> Any:
        variable = tf.Variable(1.0)
        even, odd = power(variable)
        assert even(tf.constant(4), X) == 20.0 and odd(tf.constant(3), X) == 10.0
        return weakref.ref(variable)

    def differentiated() -> Any:
        variable = tf.Variable(1.0)
        even = power(variable)[0]
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = even(tf.constant(2), X)
        assert tape.gradient(y, X) == 8.0
        return weakref.ref(variable)

    assert freed(alone) and freed(each_other) and freed(differentiated)


def test_what_is_made_of_a_function_that_calls_itself_outlives_it() -> None:
    n = tf.constant(4)
    even = power(tf.Variable(1.0))[0]
    graph = even.get_concrete_function().graph
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = even(n, X)

    @tf.function
    def batched(xs: Any) -> Any:
        return tf.vectorized_map(lambda x: even(n, x), xs)

    @tf.function
    def stopped(x: Any) -> Any:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = even(n, tf.stop_gradient(x)) * x
        return inner.gradient(y, x)

    xs = tf.constant([1.0, 2.0])
    several = batched.get_concrete_function(xs), stopped.get_concrete_function(X)
    del even, batched, stopped
    gc.collect()
    assert "call" in graph.to_text()
    assert tape.gradient(y, X) == 28.0
    del graph, tape
    gc.collect()
    assert several[0](xs).numpy().tolist() == [3.0, 20.0]
    assert several[1](X) == 20.0
