"""Arrays of more dimensions than masks of slices and NumPy have give the results of few dimensions."""

import pickle
import re

import numpy as np
import pytest

import penstock as tf

EXTENTS = (3, 4, 2)
ONES = 66
X = tf.reshape(tf.range(24.0) - 11.5, EXTENTS)


def box(before, item, rank):
    """A list for each dimension: an item for the one behind `before` others, which get its first part."""
    first, at = item
    return [first] * before + [at] + [first] * (rank - before - 1)


# What is done along a dimension of an array.
ALONG = {
    "argmax": lambda x, k: tf.argmax(x, axis=k),
    "boolean_mask": lambda x, k: tf.boolean_mask(x, [True] + [False] * (x.shape[k] - 1), axis=k),
    "broadcast": lambda x, k: x * tf.reduce_sum(x, axis=k, keepdims=True),
    "concat": lambda x, k: tf.concat([x, 2 * x], k),
    "cumsum": lambda x, k: tf.cumsum(x, axis=k),
    "diff": lambda x, k: tf.experimental.numpy.diff(x, axis=k),
    "expand_dims": lambda x, k: tf.expand_dims(x, k),
    "gather": lambda x, k: tf.gather(x, [1, 0, 1], axis=k),
    "index": lambda x, k: x[(slice(None),) * k + (1,)],
    "index_backwards": lambda x, k: x[(slice(None),) * k + (slice(None, None, -1),)],
    "index_from": lambda x, k: x[(slice(None),) * k + (slice(1, None), ...)],
    "index_new": lambda x, k: x[(slice(None),) * k + (None, slice(-1))],
    "index_tensor": lambda x, k: x[(slice(None),) * k + (slice(tf.constant(1), None),)],
    "pad": lambda x, k: tf.pad(x, box(k, ([0, 0], [1, 2]), len(x.shape))),
    "reduce_max": lambda x, k: tf.reduce_max(x, axis=k),
    "reduce_mean": lambda x, k: tf.reduce_mean(x, axis=k, keepdims=True),
    "repeat": lambda x, k: tf.repeat(x, 2, axis=k),
    "reverse": lambda x, k: tf.reverse(x, [k]),
    "roll": lambda x, k: tf.roll(x, 1, k),
    "slice": lambda x, k: tf.slice(x, box(k, (0, 1), len(x.shape)), [-1] * len(x.shape)),
    "softmax": lambda x, k: tf.nn.softmax(x, axis=k),
    "sort": lambda x, k: tf.sort(x, axis=k, direction="DESCENDING"),
    "split": lambda x, k: tf.split(x, [1, x.shape[k] - 1], axis=k)[1],
    "stack": lambda x, k: tf.stack([x, 2 * x], k),
    "tile": lambda x, k: tf.tile(x, box(k, (1, 2), len(x.shape))),
    "unstack": lambda x, k: tf.unstack(x, axis=k)[1],
}


def slope(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = tf.cast(function(x), x.dtype)
        loss = tf.reduce_sum(result * result)
    return tape.gradient(loss, x, unconnected_gradients="zero")


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("before", [0, ONES])
def test_dimensions_of_size_1_change_no_result(name, before):
    along = ALONG[name]
    large = tf.reshape(X, [1] * before + [*EXTENTS] + [1] * (ONES - before))
    for k in range(3):

        def few(x, k=k):
            return along(x, k)

        def many(x, k=k):
            return along(x, before + k)

        due, steep = tf.reshape(few(X), [-1]), tf.reshape(slope(few, X), [-1])
        for function in (many, tf.function(many)):
            np.testing.assert_array_equal(tf.reshape(function(large), [-1]), due)
            np.testing.assert_array_equal(tf.reshape(slope(function, large), [-1]), steep)


def test_an_item_of_a_variable_of_many_dimensions_can_be_set():
    variable = tf.Variable(tf.zeros([1] * ONES + [4]))
    variable[(slice(None),) * ONES + (slice(1, 3),)].assign(tf.ones([1] * ONES + [2]))
    np.testing.assert_array_equal(tf.reshape(variable, [-1]), [0, 1, 1, 0])


def test_an_index_of_too_many_items_is_an_error():
    x = tf.zeros([2] * 6 + [1] * 64)
    index = (slice(None), 0) * 35
    with pytest.raises(IndexError, match=re.escape("at most 64 items besides one run of ':', got 70")):
        x[index]
    assert x[(0,) * 64].shape.rank == 6


def test_more_dimensions_than_numpy_has_are_an_error_of_arrays_alone():
    x = tf.reshape(X, [1] * ONES + [*EXTENTS])
    for array in (x.numpy, lambda: np.asarray(x), tf.Variable(x).numpy):
        with pytest.raises(ValueError, match="dimension"):
            array()
    for text in (repr(x), str(x), f"{x}", x._repr_html_(), repr(tf.Variable(x))):
        assert "-11.5" in text
    back = pickle.loads(pickle.dumps(x))
    assert back.shape == x.shape
    assert bool(tf.reduce_all(back == x))
    names = tf.reshape(tf.constant(["a", "b"]), [2] + [1] * ONES)
    assert "b'a'" in repr(names)
    assert pickle.loads(pickle.dumps(names)).shape == names.shape
