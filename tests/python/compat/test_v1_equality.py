"""What the package computes in graphs of TensorFlow 1 does not depend on what `==` of their tensors means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import _core

v1 = tf.compat.v1


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors of graphs are equal to themselves alone, as in TensorFlow."""
    equal, differ = _core._Operand.__eq__, _core._Operand.__ne__

    def in_graph(value: object) -> bool:
        return isinstance(value, _core.Tensor) and value._is_symbolic

    def eq(a: Any, b: Any) -> Any:
        return a is b if in_graph(a) or in_graph(b) else equal(a, b)

    def ne(a: Any, b: Any) -> Any:
        return a is not b if in_graph(a) or in_graph(b) else differ(a, b)

    with monkeypatch.context() as patch:
        patch.setattr(_core._Operand, "__eq__", eq)
        patch.setattr(_core._Operand, "__ne__", ne)
        yield


def ragged(make: str, *parts: Any) -> Callable[[], Any]:
    return lambda: getattr(tf.RaggedTensor, make)(*map(tf.constant, parts)).flat_values


def unique_rows() -> Any:
    return tf.raw_ops.UniqueV2(x=tf.constant([[1, 2], [1, 2], [3, 4]]), axis=tf.constant([0])).idx


def cumulative_log_sum() -> Any:
    x = tf.constant([1.0, 2.0])
    return tf.raw_ops.CumulativeLogsumexp(x=x, axis=tf.constant(0), exclusive=True)


def broadcast_gradient_args() -> Any:
    return tf.raw_ops.BroadcastGradientArgs(s0=tf.constant([2, 1]), s1=tf.constant([2, 3])).r0


def area() -> Any:
    images = tf.reshape(tf.range(9, dtype=tf.float32), [1, 3, 3, 1])
    return tf.raw_ops.ResizeArea(images=images, size=tf.constant([2, 2]))


def branch() -> Any:
    taken = tf.function(lambda: tf.constant(1)).get_concrete_function()
    other = tf.function(lambda: tf.constant(2)).get_concrete_function()
    return tf.raw_ops.If(
        cond=tf.constant(0), input=[], Tout=[tf.int32], then_branch=taken, else_branch=other
    )[0]


def membership() -> Any:
    @tf.autograph.to_graph
    def function(x: Any) -> Any:
        return x in [1, 2, 3]

    return tf.stack([function(tf.constant(2)), function(tf.constant(7))])


def membership_of_a_tensor() -> Any:
    @tf.autograph.to_graph
    def function(x: Any, among: Any) -> Any:
        return x in among

    return function(tf.constant(2), tf.constant([1, 2, 3]))


def membership_of_a_range() -> Any:
    @tf.autograph.to_graph
    def function(x: Any) -> Any:
        return x in range(0, 10, 2)

    return tf.stack([function(tf.constant(4)), function(tf.constant(5))])


@pytest.mark.usefixtures("identity")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: v1.setdiff1d(tf.constant([1, 2, 3, 2]), tf.constant([2])).out, [1, 3]),
        (broadcast_gradient_args, [1]),
        (unique_rows, [0, 0, 1]),
        (cumulative_log_sum, [-np.inf, 1.0]),
        (area, [[[[4 / 3], [8 / 3]], [[16 / 3], [20 / 3]]]]),
        (branch, 2),
        (ragged("from_row_splits", [1, 2, 3], [0, 1, 3]), [1, 2, 3]),
        (ragged("from_row_lengths", [1, 2, 3], [1, 2]), [1, 2, 3]),
        (ragged("from_value_rowids", [1, 2, 3], [0, 0, 1]), [1, 2, 3]),
        (ragged("from_uniform_row_length", [1, 2, 3, 4], 2), [1, 2, 3, 4]),
        (membership, [True, False]),
        (membership_of_a_tensor, True),
        (membership_of_a_range, [True, False]),
    ],
)
def test_results_do_not_depend_on_the_meaning_of_equality(make: Callable[[], Any], expected: Any) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        assert np.allclose(session.run(make()), expected)


def test_functions_traced_in_a_graph_compare_tensors_as_the_graph_does() -> None:
    seen: list[Any] = []

    def function(x: Any, y: Any) -> Any:
        seen.extend([x == x, x == y, x != y, v1.executing_eagerly_outside_functions()])
        return x + y

    with tf.Graph().as_default():
        tf.function(function)(tf.constant(1.0), tf.constant(1.0))
    assert seen == [True, False, True, False]
    seen.clear()
    tf.function(function)(tf.constant(1.0), tf.constant(1.0))
    assert all(isinstance(value, tf.Tensor) for value in seen[:3])
    assert seen[3] is True


def test_tensors_at_hand_are_compared_as_the_open_graph_does() -> None:
    a, b, v = tf.constant([1.0]), tf.constant([1.0]), tf.Variable([1.0])
    with tf.Graph().as_default():
        assert (a == a, a == b, v == v, v == a) == (True, False, True, False)
        assert hash(v) == hash(v)
    assert (a == b).numpy().tolist() == [True]


@pytest.fixture
def by_identity() -> Iterator[None]:
    v1.disable_tensor_equality()
    yield
    v1.enable_tensor_equality()


@pytest.mark.usefixtures("by_identity")
def test_equality_of_elements_can_be_turned_off() -> None:
    a, b, v = tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0]), tf.Variable([1.0, 2.0])
    assert (a == b, a == a, a != b, v == v, v == a, a == 1.0) == (False, True, True, True, False, False)
    assert a in [b, a]
    assert {v: 1}[v] == 1
    assert tf.equal(a, b).numpy().tolist() == [True, False]
    assert (a < b).numpy().tolist() == [False, True]

    @tf.function
    def function(x: Any, y: Any) -> Any:
        assert (x == y, x == x, hash(x) == hash(x)) == (False, True, True)
        return x

    function(a, b)
    v1.enable_tensor_equality()
    assert (a == b).numpy().tolist() == [True, False]


def test_version_1_compares_objects() -> None:
    v1.disable_v2_behavior()
    try:
        assert (tf.constant(1.0) == tf.constant(1.0)) is False
    finally:
        v1.enable_v2_behavior()
    assert bool(tf.constant(1.0) == tf.constant(1.0))
