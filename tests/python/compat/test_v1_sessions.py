"""What sessions take and give, as in TensorFlow 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture(name="sess", autouse=True)
def open_session() -> Iterator[Any]:
    with tf.Graph().as_default(), v1.Session() as sess:
        yield sess


class OfArray:
    """Something that NumPy makes an array of."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([1.0, 2.0], dtype)


# As in TensorFlow 2.21: a feed is what NumPy makes of it.
@pytest.mark.parametrize(
    ("dtype", "value", "due"),
    [
        (tf.float32, True, 1.0),
        (tf.float32, [True, False], [1.0, 0.0]),
        (tf.float32, "1.5", 1.5),
        (tf.float32, [np.float64(1), 2], [1.0, 2.0]),
        (tf.float32, OfArray(), [1.0, 2.0]),
        (tf.float32, memoryview(np.ones(2, np.float32)), [1.0, 1.0]),
        (tf.int32, 1.7, 1),
        (tf.int32, [1.0, 2.0], [1, 2]),
        (tf.int32, np.array([1.5, 2.0]), [1, 2]),
        (tf.int32, True, 1),
        (tf.bool, 1, True),
        (tf.bool, [1, 0], [True, False]),
        (tf.bool, 0.0, False),
        (tf.bool, np.array([1, 0]), [True, False]),
        (tf.complex64, 1.5, 1.5 + 0j),
        (tf.string, ["a", b"b"], [b"a", b"b"]),
    ],
)
def test_a_feed_is_what_numpy_makes_of_it(sess: Any, dtype: Any, value: Any, due: Any) -> None:
    x = v1.placeholder(dtype)
    found = sess.run(tf.identity(x), {x: value})
    assert np.asarray(found).tolist() == due
    if dtype != tf.string:
        assert found.dtype == dtype.as_numpy_dtype


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        (tf.int32, 1 << 40, TypeError),
        (tf.uint8, -1, TypeError),
        (tf.float32, "abc", ValueError),
        (tf.float32, [[1, 2], [3]], ValueError),
        (tf.float32, None, ValueError),
        (tf.string, 3, TypeError),
    ],
)
def test_what_does_not_fit_the_dtype_is_refused(sess: Any, dtype: Any, value: Any, error: Any) -> None:
    x = v1.placeholder(dtype)
    with pytest.raises(error):
        sess.run(tf.identity(x), {x: value})


def test_names_that_are_not_there(sess: Any) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    for name in ("y:0", "x:1", "y"):
        with pytest.raises(ValueError, match="argument 'fetches': the name"):
            sess.run(name, {x: 1.0})
    with pytest.raises(TypeError, match="argument 'feed_dict': the name 'y:0'"):
        sess.run(x, {"y:0": 1.0})
    with pytest.raises(TypeError, match="argument 'feed_dict' must be a dict"):
        sess.run(x, [1.0])


def test_what_a_session_is_made_of() -> None:
    with pytest.raises(TypeError, match="argument 'graph' must be a tf"):
        v1.Session(graph="graph")
    with pytest.raises(TypeError, match="argument 'target' must be a string"):
        v1.Session(3)
    with v1.Session(graph=tf.Graph()) as empty, pytest.raises(RuntimeError, match="is empty"):
        empty.run([])
    device = v1.Session().list_devices()[0]
    assert (device.name[-5:], device.device_type) == ("CPU:0", "CPU")


def test_a_run_in_steps_computes_nothing_twice(sess: Any) -> None:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return x

    a, b, c = (v1.placeholder(tf.float32, []) for _ in range(3))
    first = tf.numpy_function(note, [a + b], tf.float32)
    second = first * c
    handle = sess.partial_run_setup([first, second], [a, b, c])
    found = sess.partial_run(handle, first, {a: 1.0, b: 2.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not left to fetch"):
        sess.partial_run(handle, first)
    assert sess.partial_run(handle, {"second": second}, {c: found}) == {"second": 9.0}
    assert seen == [3.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must run 'setup'"):
        sess.partial_run(handle, second)


def test_every_tensor_of_floats_is_checked(sess: Any) -> None:
    x = v1.placeholder(tf.float32, [None], name="x")
    y = tf.math.log(x, name="y")
    tf.cast(y, tf.int32)
    check = v1.add_check_numerics_ops()
    assert sess.run([y, check], {x: [1.0]})[1] is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="y:0 : Tensor had Inf"):
        sess.run(check, {x: [0.0]})


def test_branches_may_give_operations(sess: Any) -> None:
    chosen, v = v1.placeholder(tf.bool, []), v1.get_variable("v", initializer=0)
    done = v1.cond(chosen, lambda: tf.group(v.assign(100)), lambda: tf.no_op())
    added = tf.cond(chosen, lambda: [v.assign_add(1), tf.no_op()], lambda: [tf.constant(5), tf.no_op()])
    decided = tf.case([(chosen, lambda: tf.group(v.assign(3)))], default=lambda: tf.no_op())
    with tf.control_dependencies([done]):
        after = v.read_value()
    sess.run(v.initializer)
    sess.run(done, {chosen: False})
    assert sess.run(v) == 0
    sess.run(done, {chosen: True})
    assert sess.run(v) == 100
    assert [sess.run(added, {chosen: value})[0] for value in (False, True)] == [5, 101]
    sess.run(decided, {chosen: True})
    assert sess.run(v) == 3
    assert sess.run(after, {chosen: True}) == 100


def test_a_variable_of_a_graph_is_equal_to_itself_alone(sess: Any) -> None:
    v, w = v1.get_variable("v", initializer=[1.0]), v1.get_variable("w", initializer=[1.0, 2.0])
    assert (v == v, v == w, v != v, v != w, v == 1.0) == (True, False, False, True, False)
    assert w in [v, w]
    assert [x for x in (v, w) if x not in [w]] == [v]
    assert set(v1.global_variables()) - {v} == {w}
    assert {v: 1, w: 2}[w] == 2
    assert [v, w].index(w) == 1
