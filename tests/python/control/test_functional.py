"""map_fn, scan, foldl, foldr and vectorized_map, eagerly and traced."""

# The traced functions are written as users write them.
# ruff: noqa: PT018, RUF043

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf


def ways(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The function itself, and traced for known and for unknown sizes."""
    unknown = tf.function(function, input_signature=[tf.TensorSpec([None], tf.int32)])
    return [function, tf.function(function), unknown]


X = tf.constant([3, 1, 2])


def test_map_fn_stacks_the_results_of_rows() -> None:
    for run in ways(lambda x: tf.map_fn(lambda v: v * v, x)):
        assert run(X).numpy().tolist() == [9, 1, 4]
        assert run(X[:0]).numpy().tolist() == []


def test_map_fn_of_nests_and_other_dtypes() -> None:
    def f(x: Any) -> Any:
        return tf.map_fn(
            lambda row: {"sum": row[0] + row[1], "half": (tf.cast(row[0], tf.float32) / 2.0,)},
            (x, x * 10),
            fn_output_signature={"sum": tf.int32, "half": (tf.float32,)},
        )

    for run in ways(f):
        result = run(X)
        assert result["sum"].numpy().tolist() == [33, 11, 22]
        assert result["half"][0].numpy().tolist() == [1.5, 0.5, 1.0]


def test_map_fn_nests_and_takes_specifications() -> None:
    def f(x: Any) -> Any:
        grid = tf.map_fn(lambda a: tf.map_fn(lambda b: a * b, x), x)
        spec = tf.TensorSpec([2], tf.int32)
        return grid, tf.map_fn(lambda v: tf.stack([v, -v]), x, fn_output_signature=spec)

    for run in ways(f):
        grid, pairs = run(X)
        assert grid.numpy().tolist() == [[9, 3, 6], [3, 1, 2], [6, 2, 4]]
        assert pairs.numpy().tolist() == [[3, -3], [1, -1], [2, -2]]
    empty = tf.map_fn(lambda v: tf.zeros([4]), X[:0], fn_output_signature=tf.float32)
    assert empty.shape.as_list() == [0, 4]


def test_map_fn_converts_what_it_is_given() -> None:
    @tf.function
    def f(x: Any) -> Any:
        def step(v: Any) -> Any:
            while v % 2 == 0:
                v //= 2
            if v > 1:
                return v
            return -v

        return tf.map_fn(step, x)

    assert f(tf.constant([12, 8, 5])).numpy().tolist() == [3, -1, 5]


def test_shapes_of_results_are_known_where_those_of_rows_are() -> None:
    traced = tf.function(lambda x: tf.map_fn(lambda row: row + 1.0, x))
    result = traced.get_concrete_function(tf.TensorSpec([5, 2], tf.float32)).structured_outputs
    assert result.shape.as_list() == [5, 2]


def test_bad_arguments_of_map_fn() -> None:
    with pytest.raises(TypeError, match="fn"):
        tf.map_fn(1, X)
    with pytest.raises(ValueError, match="elems"):
        tf.map_fn(lambda v: v, tf.constant(1))
    with pytest.raises(ValueError, match="elems"):
        tf.map_fn(lambda v: v[0], (X, X[:2]), fn_output_signature=tf.int32)
    with pytest.raises(ValueError, match="elems"):
        tf.map_fn(lambda v: v, [])
    with pytest.raises((TypeError, ValueError), match="structure"):
        tf.map_fn(lambda v: (v, v), X)
    with pytest.raises(TypeError, match="float32.*int32"):
        tf.map_fn(lambda v: tf.cast(v, tf.float32), X)


def test_scan_keeps_every_accumulated_value() -> None:
    for run in ways(lambda x: tf.scan(lambda a, v: a + v, x)):
        assert run(X).numpy().tolist() == [3, 4, 6]
    for run in ways(lambda x: tf.scan(lambda a, v: a + v, x, reverse=True)):
        assert run(X).numpy().tolist() == [6, 3, 2]
    for run in ways(lambda x: tf.scan(lambda a, v: a * 2 + v, x, initializer=tf.constant(1))):
        assert run(X).numpy().tolist() == [5, 11, 24]
    for run in ways(lambda x: tf.scan(lambda a, v: a - v, x, 100, reverse=True)):
        assert run(X).numpy().tolist() == [94, 97, 98]


def test_scan_of_nests() -> None:
    def f(x: Any) -> Any:
        # The Fibonacci numbers.
        return tf.scan(lambda a, _: (a[1], a[0] + a[1]), x, initializer=(0, 1))

    for run in ways(f):
        assert [t.numpy().tolist() for t in run(tf.zeros([5], tf.int32))] == [
            [1, 1, 2, 3, 5],
            [1, 2, 3, 5, 8],
        ]


def test_folds() -> None:
    for run in ways(lambda x: tf.foldl(lambda a, v: 10 * a + v, x)):
        assert run(X).numpy() == 312
    for run in ways(lambda x: tf.foldr(lambda a, v: 10 * a + v, x)):
        assert run(X).numpy() == 213
    for run in ways(lambda x: tf.foldl(lambda a, v: a - v, x, initializer=5)):
        assert run(X).numpy() == -1
        assert run(X[:0]).numpy() == 5
    for run in ways(lambda x: tf.foldr(lambda a, v: (a[0] + v, a[1] * v), x, initializer=(0, 1))):
        assert [t.numpy() for t in run(X)] == [6, 6]
    with pytest.raises(ValueError, match="initializer"):
        tf.foldl(lambda a, v: a, X[:0])
    with pytest.raises(TypeError, match="int32.*float32"):
        tf.foldl(lambda a, v: tf.cast(a, tf.float32), X)
    with pytest.raises((TypeError, ValueError), match="structure"):
        tf.scan(lambda a, v: (a, v), X)


def test_vectorized_map() -> None:
    def f(x: Any) -> Any:
        return tf.vectorized_map(lambda row: (row[0] * row[1], tf.cast(row[0], tf.float32)), (x, x + 1))

    for run in ways(f):
        product, cast = run(X)
        assert product.numpy().tolist() == [12, 2, 6] and cast.numpy().tolist() == [3.0, 1.0, 2.0]
    repeated = tf.vectorized_map(lambda row: row[0] + row[1], (X, tf.constant([10])))
    assert repeated.numpy().tolist() == [13, 11, 12]


def test_gradients() -> None:
    def f(x: Any) -> Any:
        mapped = tf.reduce_sum(tf.map_fn(lambda v: v * v, x))
        return mapped + tf.foldl(lambda a, v: a * v, x) + tf.reduce_sum(tf.scan(lambda a, v: a + v, x))

    x = tf.constant([1.0, 2.0, 3.0])
    for run in (f, tf.function(f)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        assert tape.gradient(y, x).numpy().tolist() == [11.0, 9.0, 9.0]


def test_tuple_of_group() -> None:
    v = tf.Variable(0)

    @tf.function
    def f() -> Any:
        results = tf.tuple([v.assign_add(1), tf.constant(5)])
        return results[0] + results[1]

    assert f().numpy() == 6
