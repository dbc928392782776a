"""Mapping a function over rows at once: what it gives is what the rows give one by one, stacked."""

import numpy as np
import pytest

import penstock as tf
from penstock import _core

RNG = np.random.default_rng(3)
X = RNG.uniform(-1.0, 1.0, (4, 3))
M = RNG.uniform(-1.0, 1.0, (4, 3, 3))
I = np.array([0, 2, 1, 2], np.int32)  # noqa: E741


def collatz_steps(n):
    steps = tf.constant(0)
    _, steps = tf.while_loop(
        lambda n, s: n > 1, lambda n, s: (tf.where(n % 2 == 0, n // 2, 3 * n + 1), s + 1), (n, steps)
    )
    return steps


def running(x):
    """The partial results of a recurrence, collected by a loop."""
    n = tf.shape(x)[0]

    def step(i, out, acc):
        acc = acc * x[i] + tf.sin(x[i])
        return i + 1, out.write(i, acc), acc

    start = (tf.constant(0), tf.TensorArray(tf.float64, n), tf.constant(1.0, tf.float64))
    return tf.while_loop(lambda i, *_: i < n, step, start)[1].stack()


def shuffled(m, reads, writes):
    rows = tf.TensorArray(tf.float64, 3, clear_after_read=False, element_shape=[3]).unstack(m)
    out = tf.TensorArray(tf.float64, 4, element_shape=[3])
    out = out.scatter(writes, rows.gather(reads))
    return tf.concat([out.stack(), rows.gather(reads)], 0)


def pieces(x):
    out = tf.TensorArray(tf.float64, 2, infer_shape=False)
    return out.write(0, x).write(1, x[:2] * 2.0).concat()


def own_length(x, n):
    def step(i, out):
        return i + 1, out.write(i, x[0] * tf.cast(i, tf.float64))

    return tf.while_loop(
        lambda i, _: i < n, step, (tf.constant(0), tf.TensorArray(tf.float64, 3, element_shape=[]))
    )[1].stack()


CASES = {
    "elementwise": (lambda x: tf.sin(x) * 2.0 + x, [X]),
    "two operands of different rank": (lambda x, i: x * tf.cast(i, tf.float64), [X, I]),
    "reductions": (lambda x: tf.reduce_sum(x) + tf.reduce_max(x, axis=-1), [X]),
    "matrix products": (lambda x, m: tf.linalg.matvec(m @ m, x), [X, M]),
    "a matrix and what is the same for all": (lambda m: m @ tf.constant(X.T), [M]),
    "reshapes": (lambda m: tf.reshape(tf.transpose(m), [-1]), [M]),
    "joins and splits": (lambda x: tf.concat([x, tf.split(x, 3)[1], tf.stack([x[0], x[2]])], 0), [X]),
    "reading by index": (lambda x, i: tf.gather(x, i) + tf.constant([1.0, 2.0, 3.0], tf.float64)[i], [X, I]),
    "writing by index": (lambda x, i: tf.tensor_scatter_nd_add(x, [[i]], [10.0]), [X, I]),
    "segments": (lambda x: tf.math.unsorted_segment_sum(x, [1, 0, 1], 2), [X]),
    "a selection": (lambda x: tf.where(x > 0.0, x, -x), [X]),
    "a branch": (lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: x * 10.0), [X]),
    "a branch that reads by index": (
        lambda x, i: tf.cond(i < 2, lambda: x[i + 1], lambda: tf.constant(0.0, tf.float64)),
        [X, I],
    ),
    "a switch": (lambda x, i: tf.switch_case(i, [lambda: x, lambda: x * x, lambda: -x]), [X, I]),
    "a loop of as many steps for all": (
        lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1],
        [X],
    ),
    "a loop that each row leaves by itself": (collatz_steps, [np.array([1, 6, 7, 27], np.int32)]),
    "sizes": (lambda x: tf.cast(tf.size(x), tf.float64) * x[: tf.shape(x)[0] - 1], [X]),
    "nothing mapped": (lambda x: tf.constant([1.0, 2.0]), [X]),
    "text": (lambda i: tf.strings.join(["n", tf.as_string(i)]), [I]),
    "a call": (lambda x: tf.function(lambda t: tf.nn.softmax(t))(x), [X]),
    "a list that a loop writes": (running, [X]),
    "a list that a loop reads": (lambda x: tf.foldl(lambda a, e: a * e + 1.0, x), [X]),
    "a list of rows": (lambda m: tf.map_fn(lambda row: tf.sin(row) * row[0], m), [M]),
    "a list read and written by numbers": (lambda m: shuffled(m, [2, 0, 2], [0, 3, 1]), [M]),
    "a list written at places that differ": (lambda m, i: shuffled(m, [0, 1], [i, 3]), [M, I]),
    "a list of pieces": (lambda x: pieces(x), [X]),
    "a list in a branch": (
        lambda x, i: tf.cond(i < 2, lambda: running(x), lambda: running(x * 2.0)),
        [X, I],
    ),
    "a loop of its own length that writes a list": (own_length, [X, I]),
    "a list that is the same for all until it is written": (
        lambda x: tf.TensorArray(tf.float64, 2).unstack([1.0, 2.0]).write(0, x[0]).stack(),
        [X],
    ),
    "a call that gives a list's rows": (lambda m: tf.function(lambda t: shuffled(t, [1], [0]))(m), [M]),
}


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_rows_at_once_are_rows_one_by_one(case, traced, in_turn):
    function, operands = CASES[case]
    one = tf.function(lambda *row: function(*row), autograph=False)
    each = [one(*(tf.constant(o[k]) for o in operands)).numpy() for k in range(4)]

    def run(*operands):
        return _core._map_rows(lambda row: [function(*row)], operands, in_turn)[0]

    found = (tf.function(run, autograph=False) if traced else run)(*map(tf.constant, operands)).numpy()
    if found.dtype == object:
        assert found.tolist() == each
    else:
        np.testing.assert_allclose(found, np.stack(each), rtol=1e-12)


def test_random_numbers_differ_from_row_to_row():
    (found,) = _core._map_rows(lambda row: [tf.random.uniform([3]) + row[0]], [tf.zeros([4, 1])], False)
    assert found.shape == (4, 3)
    assert len(np.unique(found.numpy())) == 12


def test_no_rows_and_rows_of_what_has_none():
    (found,) = _core._map_rows(lambda row: [row[0] * 2.0], [tf.zeros([0, 3])], False)
    assert found.shape == (0, 3)
    (found,) = _core._map_rows(lambda row: [tf.reduce_sum(row[0])], [tf.zeros([0, 3])], True)
    assert found.shape == (0,)
    with pytest.raises(ValueError, match="rows"):
        _core._map_rows(lambda row: row, [tf.constant(1.0)], False)


def test_what_the_function_raises_is_raised():
    def bad(row):
        raise KeyError("mine")

    for run in (
        lambda: _core._map_rows(bad, [tf.zeros([2])], False),
        tf.function(lambda: _core._map_rows(bad, [tf.zeros([2])], False), autograph=False),
    ):
        with pytest.raises(KeyError, match="mine"):
            run()
    assert (tf.constant(1.0) + 1.0).numpy() == 2


def test_mapped_functions_are_differentiable():
    w = tf.Variable([1.0, 2.0, 3.0], dtype=tf.float64)
    with tf.GradientTape() as tape:
        (y,) = _core._map_rows(lambda row: [tf.reduce_sum(row[0] * w) ** 2], [tf.constant(X)], False)
    expected = (2 * (X @ w.numpy()))[:, None] * X
    np.testing.assert_allclose(tape.gradient(y, w).numpy(), expected.sum(0))
