"""The control flow of the guides: results, and what is printed while tracing and while running, in order."""

# The traced functions are written as users write them.

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import penstock as tf


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What was printed since the last time."""
    return capfd.readouterr().out.splitlines()


def test_prints_of_a_traced_branch_and_of_the_one_that_runs(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def classify(n: Any) -> Any:
        for i in tf.range(1, n + 1):
            print("tracing the loop")
            if i % 15 == 0:
                print("tracing both")
                tf.print("fizzbuzz", output_stream=sys.stdout)
            elif i % 3 == 0:
                print("tracing three")
                tf.print("fizz", output_stream=sys.stdout)
            elif i % 5 == 0:
                print("tracing five")
                tf.print("buzz", output_stream=sys.stdout)
            else:
                print("tracing the rest")
                tf.print(i, output_stream=sys.stdout)

    traced = ["tracing the loop", "tracing both", "tracing three", "tracing five", "tracing the rest"]
    classify(tf.constant(5))
    assert lines(capfd) == [*traced, "1", "2", "fizz", "4", "buzz"]
    classify(tf.constant(3))
    assert lines(capfd) == ["1", "2", "fizz"]
    assert classify.experimental_get_tracing_count() == 1


def test_loops_over_python_and_over_graph_values(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def halve_until_small(x: Any) -> Any:
        while tf.reduce_sum(x) > 1:
            tf.print(tf.reduce_sum(x), output_stream=sys.stdout)
            x = x / 2.0
        return x

    assert halve_until_small(tf.constant([2.0, 2.0])).numpy().tolist() == [0.5, 0.5]
    assert lines(capfd) == ["4", "2"]

    @tf.function
    def python_range(n: int) -> Any:
        total = tf.constant(0)
        for i in range(n):
            print("unrolled", i)
            total += i
        return total

    assert python_range(3).numpy() == 3
    assert python_range(3).numpy() == 3
    assert lines(capfd) == ["unrolled 0", "unrolled 1", "unrolled 2"]
    assert python_range(2).numpy() == 1
    assert python_range.experimental_get_tracing_count() == 2


def test_training_over_a_python_list_grows_the_graph_and_over_a_tensor_does_not() -> None:
    @tf.function
    def train(data: Any) -> Any:
        loss = tf.constant(0)
        for x, y in data:
            loss += tf.abs(y - x)
        return loss

    def size(*args: Any) -> int:
        return len(train.get_concrete_function(*args).graph.as_graph_def().node)

    small, large = [(1, 1)] * 3, [(1, 1)] * 10
    assert size(large) > size(small)
    assert size(tf.constant(large)) == size(tf.constant(small))
    assert train(tf.constant([(1, 4), (2, 2), (5, 3)])).numpy() == 5


def test_a_dynamic_rnn() -> None:
    def cell(x: Any, state: Any) -> Any:
        return tf.tanh(x + state * 0.5)

    @tf.function
    def rnn(sequence: Any) -> Any:
        sequence = tf.transpose(sequence, [1, 0, 2])
        steps = tf.shape(sequence)[0]
        outputs = tf.TensorArray(tf.float32, steps)
        state = tf.zeros_like(sequence[0])
        for i in tf.range(steps):
            state = cell(sequence[i], state)
            outputs = outputs.write(i, state)
        return tf.transpose(outputs.stack(), [1, 0, 2])

    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    state, expected = np.zeros((2, 3), np.float32), []
    for t in range(5):
        state = np.tanh(x[:, t] + state * np.float32(0.5))
        expected.append(state)
    np.testing.assert_allclose(rnn(tf.constant(x)).numpy(), np.stack(expected, 1), rtol=1e-5)
    assert rnn(tf.constant(x[:, :2])).shape == [2, 2, 3]


def test_appending_in_a_loop_of_the_graph_is_not_a_side_effect() -> None:
    # A list of the function's caller is Python's, and sees what was traced.
    outside: list[Any] = []

    @tf.function
    def leaks(x: Any) -> Any:
        outside.append(x)
        return x

    leaks(tf.constant(1))
    leaks(tf.constant(1))
    assert len(outside) == 1

    @tf.function
    def gathers(n: Any) -> Any:
        inside = []
        for i in tf.range(n):
            inside.append(i * 2)  # noqa: PERF401
        return tf.stack(inside)

    assert gathers(tf.constant(4)).numpy().tolist() == [0, 2, 4, 6]


def test_recursion_is_as_the_guide_says_without_a_signature() -> None:
    @tf.function
    def down(n: Any) -> Any:
        if n > 0:
            return down(n - 1)
        return 1

    with pytest.raises(RecursionError, match="maximum recursion"):
        down(tf.constant(5))


def test_a_variable_counts_down_in_a_loop() -> None:
    v = tf.Variable(10)

    @tf.function
    def drain(by: Any) -> Any:
        steps = 0
        while v > 0:
            v.assign_sub(by)
            steps += 1
        return steps

    assert drain(tf.constant(3)).numpy() == 4
    assert v.numpy() == -2
