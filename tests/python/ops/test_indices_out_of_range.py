"""What becomes of positions outside of a tensor, by `bad_indices_policy`."""

import pytest
from support import plain, traced, traced_openly

import penstock as tf

POSITIONS = tf.constant([[0], [5], [-1]])
ROWS = tf.constant([[1.0, 2.0], [3.0, 4.0]])
UPDATES = tf.constant([[9.0, 1.0], [7.0, 7.0], [8.0, 8.0]])
SCATTERS = [
    (tf.tensor_scatter_nd_add, [[10.0, 3.0], [3.0, 4.0]]),
    (tf.tensor_scatter_nd_sub, [[-8.0, 1.0], [3.0, 4.0]]),
    (tf.tensor_scatter_nd_max, [[9.0, 2.0], [3.0, 4.0]]),
    (tf.tensor_scatter_nd_min, [[1.0, 1.0], [3.0, 4.0]]),
]


def eagerly(function, *args):
    return function(*args)


@pytest.mark.parametrize("run", [eagerly, traced, traced_openly])
@pytest.mark.parametrize(("scatter", "expected"), SCATTERS)
def test_a_scatter_that_ignores_them_leaves_their_updates_out(scatter, expected, run):
    def scattered(*args):
        return scatter(*args, bad_indices_policy="IGNORE")

    assert plain(run(scattered, ROWS, POSITIONS, UPDATES)) == expected


@pytest.mark.parametrize("run", [eagerly, traced, traced_openly])
def test_a_sum_of_updates_that_ignores_them_leaves_them_out(run):
    def scattered(indices, updates):
        return tf.scatter_nd(indices, updates, [2, 2], "IGNORE")

    assert plain(run(scattered, POSITIONS, UPDATES)) == [[9.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("run", [eagerly, traced, traced_openly])
def test_a_gather_that_ignores_them_gives_zeros_for_them(run):
    def gathered(params, indices):
        return tf.gather_nd(params, indices, bad_indices_policy="IGNORE")

    assert plain(run(gathered, ROWS, POSITIONS)) == [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    assert plain(run(gathered, ROWS, tf.constant([[0, 1], [0, 2]]))) == [2.0, 0.0]


def test_a_gather_of_strings_that_ignores_them_gives_empty_ones():
    found = tf.gather_nd(["a", "b"], [[1], [2]], bad_indices_policy="IGNORE")
    assert plain(found) == [b"b", b""]


def test_batches_of_positions_are_ignored_one_by_one():
    found = tf.gather_nd(ROWS, [[1], [3]], batch_dims=1, bad_indices_policy="IGNORE")
    assert plain(found) == [2.0, 0.0]


@pytest.mark.parametrize("policy", ["", "DEFAULT", "ERROR"])
def test_they_are_errors_otherwise(policy):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.gather_nd(ROWS, POSITIONS, bad_indices_policy=policy)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.tensor_scatter_nd_add(ROWS, POSITIONS, UPDATES, policy)


def test_another_policy_is_an_error():
    with pytest.raises(ValueError, match="argument 'bad_indices_policy'"):
        tf.scatter_nd([[0]], [1], [1], "SKIP")
