"""`tf.TensorArray`, eagerly and in graphs."""

# The traced functions are written as users write them.
# ruff: noqa: PT018, RUF043

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import ways

import penstock as tf


def test_elements_are_written_and_read_by_index() -> None:
    def f(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
        array = array.write(0, x)
        array = array.write(2, x * 2.0)
        array = array.write(1, x * 3.0)
        return array.read(0), array.read(1), array.stack(), array.size()

    for run in ways(f):
        first, second, all_of_them, size = run(tf.constant([1.0, 2.0]))
        assert first.numpy().tolist() == [1, 2] and second.numpy().tolist() == [3, 6]
        assert all_of_them.numpy().tolist() == [[1, 2], [3, 6], [2, 4]]
        assert size.numpy() == 3 and size.dtype == tf.int32


def test_an_element_that_was_not_written_is_zeros() -> None:
    def f() -> Any:
        array = tf.TensorArray(tf.int32, size=3, element_shape=[2])
        return array.write(1, [5, 6]).stack()

    for run in ways(f):
        assert run().numpy().tolist() == [[0, 0], [5, 6], [0, 0]]

    def g() -> Any:
        return tf.TensorArray(tf.int32, size=1).read(0)

    for run in ways(g):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run()


def test_arrays_that_grow() -> None:
    def f(n: Any) -> Any:
        array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(i, i * i)
        return array.stack(), array.size()

    for run in ways(f):
        assert [t.numpy().tolist() for t in run(tf.constant(5))] == [[0, 1, 4, 9, 16], 5]
    assert tf.function(f)(tf.constant(0))[0].numpy().tolist() == []


def test_rows_pieces_and_selections() -> None:
    def f(x: Any) -> Any:
        rows = tf.TensorArray(tf.int32, size=3, clear_after_read=False).unstack(x)
        pieces = tf.TensorArray(tf.int32, size=2, infer_shape=False).split(x, [1, 2])
        scattered = tf.TensorArray(tf.int32, size=4, element_shape=[2]).scatter([3, 1], x[:2])
        return rows.gather([2, 0]), rows.stack(), pieces.concat(), scattered.stack(), rows.concat()

    x = [[1, 2], [3, 4], [5, 6]]
    for run in ways(f):
        gathered, stacked, joined, scattered, flat = (t.numpy().tolist() for t in run(tf.constant(x)))
        assert gathered == [[5, 6], [1, 2]]
        assert stacked == joined == x
        assert scattered == [[0, 0], [3, 4], [0, 0], [1, 2]]
        assert flat == [1, 2, 3, 4, 5, 6]


def test_pieces_of_different_sizes() -> None:
    def f(x: Any) -> Any:
        pieces = tf.TensorArray(tf.float32, size=3, infer_shape=False, clear_after_read=False)
        pieces = pieces.split(x, [2, 0, 1])
        return pieces.read(0), pieces.read(1), pieces.read(2)

    for run in ways(f):
        assert [t.shape.as_list()[0] for t in run(tf.constant([[1.0], [2.0], [3.0]]))] == [2, 0, 1]


def test_writes_in_a_graph_leave_the_array_as_it_was() -> None:
    @tf.function
    def f() -> Any:
        before = tf.TensorArray(tf.int32, size=2, element_shape=[])
        after = before.write(0, 7)
        return before.stack(), after.stack()

    assert [t.numpy().tolist() for t in f()] == [[0, 0], [7, 0]]
    array = tf.TensorArray(tf.int32, size=2, element_shape=[])
    assert array.write(0, 7) is array
    assert array.stack().numpy().tolist() == [7, 0]


def test_properties() -> None:
    array = tf.TensorArray(tf.float64, size=2, element_shape=[None, 3], dynamic_size=True)
    assert array.dtype == tf.float64 and array.element_shape.as_list() == [None, 3]
    assert array.dynamic_size is True and array.infer_shape is True and array.handle is None
    assert array.identity() is array
    assert array.flow.dtype == tf.variant
    assert "TensorArray" in repr(array) and "float64" in repr(array)
    array = tf.TensorArray(tf.float32, size=1)
    assert array.element_shape.rank is None
    array.write(0, [1.0, 2.0])
    assert array.element_shape.as_list() == [2]


def test_reading_twice_what_reading_clears() -> None:
    array = tf.TensorArray(tf.int32, size=1).write(0, 1)
    assert array.read(0).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="clear_after_read=False"):
        array.read(0)
    assert array.write(0, 2).read(0).numpy() == 2
    array = tf.TensorArray(tf.int32, size=1, clear_after_read=False).write(0, 1)
    assert [array.read(0).numpy(), array.read(0).numpy()] == [1, 1]


@pytest.mark.parametrize("index", [2, -1, 100])
def test_indices_outside_of_the_array(index: int) -> None:
    def write(i: Any) -> Any:
        return tf.TensorArray(tf.int32, size=2, element_shape=[]).write(i, 1).stack()

    def read(i: Any) -> Any:
        return tf.TensorArray(tf.int32, size=2, element_shape=[]).read(i)

    for f in (write, read):
        for run in ways(f):
            with pytest.raises(tf.errors.OutOfRangeError):
                run(tf.constant(index))


def test_values_of_another_type() -> None:
    def dtype() -> Any:
        return tf.TensorArray(tf.int32, size=1).write(0, tf.constant(1.5))

    def shape() -> Any:
        return tf.TensorArray(tf.int32, size=2).write(0, [1]).write(1, [1, 2])

    for run in ways(lambda: dtype().stack()):
        with pytest.raises(tf.errors.InvalidArgumentError, match="int32.*float32"):
            run()
    for run in ways(lambda: shape().stack()):
        with pytest.raises(ValueError, match=r"\(2,\).*\(1,\)"):
            run()
    with pytest.raises(ValueError, match="size"):
        tf.TensorArray(tf.int32, size=-1)
    with pytest.raises(ValueError, match="scalar"):
        tf.TensorArray(tf.int32, size=1).unstack(1)


def test_strings_and_empty_arrays() -> None:
    def f() -> Any:
        words = tf.TensorArray(tf.string, size=2).unstack(["a", "b"])
        none = tf.TensorArray(tf.float32, size=0, element_shape=[2])
        return words.stack(), none.stack()

    for run in ways(f):
        words, none = run()
        assert words.numpy().tolist() == [b"a", b"b"] and none.shape.as_list() == [0, 2]


def test_as_a_loop_variable_of_while_loop() -> None:
    def f(n: Any) -> Any:
        array = tf.TensorArray(tf.int32, size=n)
        _, array, last = tf.while_loop(
            lambda i, a, s: i < n,
            lambda i, a, s: (i + 1, a.write(i, s + i), s * 2),
            (0, array, tf.constant(3)),
        )
        return array.stack(), last

    for run in ways(f):
        stacked, last = run(tf.constant(4))
        assert stacked.numpy().tolist() == [3, 7, 14, 27] and last.numpy() == 48


def test_in_branches_and_nests_of_converted_code() -> None:
    @tf.function
    def f(n: Any, flag: Any) -> Any:
        state = {"array": tf.TensorArray(tf.float32, size=n), "count": 0}
        for i in tf.range(n):
            value = tf.cast(i, tf.float32)
            if flag:
                state["array"] = state["array"].write(i, value)
            else:
                state["array"] = state["array"].write(i, -value)
            state["count"] += 1
        return state["array"].stack(), state["count"]

    assert [t.numpy().tolist() for t in f(tf.constant(3), tf.constant(True))] == [[0, 1, 2], 3]
    assert f(tf.constant(3), tf.constant(False))[0].numpy().tolist() == [0, -1, -2]


def test_shapes_are_known_after_a_loop() -> None:
    @tf.function
    def f(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=5)
        for i in tf.range(5):
            array = array.write(i, x)
        assert array.element_shape.as_list() == [2, 3]
        return array.stack()

    assert f(tf.zeros([2, 3])).shape.as_list() == [5, 2, 3]


def test_gradients() -> None:
    x = tf.constant([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
        array = array.write(1, array.read(0) * array.read(2))
        return tf.reduce_sum(array.stack() * [1.0, 10.0, 100.0])

    for run in ways(f):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        assert tape.gradient(y, x).numpy().tolist() == [31.0, 0.0, 110.0]


def test_gradients_through_loops_of_writes_and_reads() -> None:
    @tf.function
    def f(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=4)
        for i in tf.range(4):
            array = array.write(i, x * tf.cast(i, tf.float32))
        total = tf.zeros([])
        for i in tf.range(4):
            total += array.read(i) * x
        return total

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (54.0, 36.0)


def test_captured_arrays() -> None:
    array = tf.TensorArray(tf.int32, size=2, clear_after_read=False).unstack([4, 5])

    @tf.function
    def f(i: Any) -> Any:
        return array.read(i) + array.write(i, 10).read(i)

    assert [f(tf.constant(i)).numpy() for i in (0, 1)] == [14, 15]
    assert array.stack().numpy().tolist() == [4, 5]


def test_a_loop_of_many_writes_is_quick() -> None:
    @tf.function
    def f(n: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=n, element_shape=[64])
        row = tf.ones([64])
        for i in tf.range(n):
            array = array.write(i, row)
        return tf.reduce_sum(array.stack())

    # 25 GB would move if each write copied what is there.
    assert f(tf.constant(20_000)).numpy() == 20_000 * 64


def test_specifications() -> None:
    spec = tf.TensorArraySpec([None, 3], tf.float32)
    array = tf.TensorArray(tf.float32, size=2, element_shape=[2, 3])
    assert spec.value_type is tf.TensorArray
    assert spec.is_compatible_with(array) and spec.is_compatible_with(tf.TensorArraySpec([4, 3], tf.float32))
    assert not spec.is_compatible_with(tf.TensorArray(tf.int32, size=1))
    assert not spec.is_compatible_with(tf.TensorArraySpec([4, 4], tf.float32))
    assert tf.TensorArraySpec.from_value(array) == tf.TensorArraySpec([2, 3], tf.float32)
    assert tf.TensorArraySpec([2, 3]).is_subtype_of(spec) and not spec.is_subtype_of(
        tf.TensorArraySpec([2, 3])
    )
    both = spec.most_specific_compatible_type(tf.TensorArraySpec([2, 2], tf.float32))
    assert both == tf.TensorArraySpec([None, None], tf.float32)
    with pytest.raises(ValueError, match="no specification"):
        spec.most_specific_compatible_type(tf.TensorArraySpec([2, 2], tf.int32))
    assert spec.most_specific_common_supertype([tf.TensorArraySpec(None, tf.int32)]) is None
    assert len({spec, tf.TensorArraySpec([None, 3], tf.float32)}) == 1 and "float32" in repr(spec)


def test_as_argument_and_result_of_a_traced_function() -> None:
    @tf.function
    def doubled(array: Any) -> Any:
        for i in tf.range(array.size()):
            array = array.write(i, array.read(i) * 2)
        return array, {"count": array.size()}

    array = tf.TensorArray(tf.int32, size=2, clear_after_read=False).unstack([3, 4])
    for expected in ([6, 8], [12, 16]):
        array, counted = doubled(array)
        assert array.stack().numpy().tolist() == expected
        assert counted["count"].numpy() == 2
    array = tf.TensorArray(tf.int32, size=1, clear_after_read=False).write(0, 5)
    assert doubled(array)[0].stack().numpy().tolist() == [10]
    array.write(0, 7)
    assert doubled(array)[0].stack().numpy().tolist() == [14]


def test_as_part_of_a_signature() -> None:
    @tf.function(input_signature=[tf.TensorArraySpec([], tf.int32)])
    def total(array: Any) -> Any:
        return tf.reduce_sum(array.stack())

    assert total(tf.TensorArray(tf.int32, size=3, element_shape=[]).unstack([1, 2, 3])).numpy() == 6


def test_against_numpy() -> None:
    rng = np.random.default_rng(3)

    def f(x: Any, order: Any) -> Any:
        array = tf.TensorArray(tf.float64, size=6, element_shape=[2], clear_after_read=False)
        for k in tf.range(tf.shape(order)[0]):
            array = array.write(order[k], x[k])
        return array.stack()

    for _ in range(5):
        x, order = rng.normal(size=(8, 2)), rng.integers(0, 6, 8)
        expected = np.zeros((6, 2))
        for k, i in enumerate(order):
            expected[i] = x[k]
        for run in ways(f):
            np.testing.assert_array_equal(run(tf.constant(x), tf.constant(order)).numpy(), expected)


@pytest.mark.parametrize("indices", [b"\xff", 1, [[0]], [0.5], ["a"]])
@pytest.mark.parametrize("traced", [False, True])
def test_indices_are_a_vector_of_integers(indices, traced):
    def scattered():
        return tf.TensorArray(tf.float32, 2).scatter(indices, tf.zeros([1])).stack()

    def gathered():
        return tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0]).gather(indices)

    for use in (scattered, gathered):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'indices' must be an integer vector"):
            (tf.function(use) if traced else use)()
