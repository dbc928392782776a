"""Cells of recurrent networks around other cells."""

import collections

import numpy as np
import pytest

import penstock as tf

State = collections.namedtuple("State", ["c", "h"])


class Same:
    """A cell that gives what comes in, and keeps its state."""

    state_size = output_size = 6

    def __call__(self, inputs, state, factor=1.0):
        return inputs * factor, state

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, 6], dtype)


X = tf.ones([50, 6])


def test_parts_of_inputs_outputs_and_states_are_dropped():
    for name in ("input", "output", "state"):
        cell = tf.nn.RNNCellDropoutWrapper(Same(), **{f"{name}_keep_prob": 0.5}, seed=7)
        output, state = cell(X, X)
        dropped, whole = (state, output) if name == "state" else (output, state)
        assert set(np.unique(dropped)) == {0.0, 2.0}
        assert 0.3 < np.mean(dropped.numpy() > 0) < 0.7
        np.testing.assert_array_equal(whole, X)
    assert (cell.state_size, cell.output_size) == (6, 6)
    assert cell.zero_state(2, tf.float32).shape == [2, 6]


def test_what_is_not_dropped_is_what_the_cell_gives():
    output, state = tf.nn.RNNCellDropoutWrapper(Same())(X, X)
    np.testing.assert_array_equal(output, X)
    np.testing.assert_array_equal(state, X)
    output, _ = tf.nn.RNNCellDropoutWrapper(Same(), output_keep_prob=tf.constant(0.0))(X, X)
    assert not np.nan_to_num(output.numpy()).any()


def test_memories_stay_whole():
    _, state = tf.nn.RNNCellDropoutWrapper(Same(), state_keep_prob=0.5)(X, State(X, X))
    np.testing.assert_array_equal(state.c, X)
    assert set(np.unique(state.h)) == {0.0, 2.0}
    cell = tf.nn.RNNCellDropoutWrapper(
        Same(), state_keep_prob=0.5, dropout_state_filter_visitor=lambda s: [False, True]
    )
    _, (first, second) = cell(X, [X, X])
    np.testing.assert_array_equal(first, X)
    assert set(np.unique(second)) == {0.0, 2.0}


def test_the_same_elements_are_dropped_in_each_step_where_that_is_asked_for():
    cell = tf.nn.RNNCellDropoutWrapper(
        Same(),
        input_keep_prob=0.5,
        state_keep_prob=0.5,
        variational_recurrent=True,
        input_size=tf.TensorShape([6]),
        dtype=tf.float32,
        seed=3,
    )
    output, state = cell(X, X)
    again, after = cell(X, X)
    np.testing.assert_array_equal(output, again)
    np.testing.assert_array_equal(state, after)
    assert (output.numpy() == output.numpy()[0]).all()
    other = tf.nn.RNNCellDropoutWrapper(Same(), input_keep_prob=0.5)
    assert (other(X, X)[0].numpy() != other(X, X)[0].numpy()).any()


def test_residuals_are_added():
    output, _ = tf.nn.RNNCellResidualWrapper(Same())(X, X, factor=2.0)
    np.testing.assert_array_equal(output, 3 * X)
    output, _ = tf.nn.RNNCellResidualWrapper(Same(), residual_fn=lambda i, o: i - o)(X, X)
    np.testing.assert_array_equal(output, 0 * X)

    class Narrow(Same):
        def __call__(self, inputs, state):
            return inputs[:, :2], state

    with pytest.raises(ValueError, match="'cell' must give the shape of what comes in"):
        tf.nn.RNNCellResidualWrapper(Narrow())(X, X)


def test_steps_run_on_a_device_and_in_functions():
    cell = tf.nn.RNNCellDeviceWrapper(tf.nn.RNNCellResidualWrapper(Same()), "/cpu:0")

    @tf.function
    def steps(x):
        state = cell.zero_state(50, tf.float32)
        for _ in tf.range(3):
            x, state = cell(x, state)
        return x

    np.testing.assert_array_equal(steps(X), 8 * X)


def test_variables_of_the_cell_are_those_of_the_wrapper():
    class Scaled(tf.Module):
        state_size = output_size = 6

        def __init__(self):
            super().__init__()
            self.scale = tf.Variable(2.0)

        def __call__(self, inputs, state):
            return inputs * self.scale, state

    wrapped = tf.nn.RNNCellResidualWrapper(tf.nn.RNNCellDropoutWrapper(Scaled()))
    assert len(wrapped.trainable_variables) == 1


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"input_keep_prob": 1.5}, ValueError, "'input_keep_prob' must be from 0 to 1"),
        ({"variational_recurrent": True}, ValueError, "'dtype' must be given"),
        (
            {"variational_recurrent": True, "dtype": tf.float32, "input_keep_prob": 0.5},
            ValueError,
            "'input_size' must be given",
        ),
        ({"dropout_state_filter_visitor": 3}, TypeError, "'dropout_state_filter_visitor' must be a function"),
    ],
)
def test_arguments_are_checked(settings, error, message):
    with pytest.raises(error, match=message):
        tf.nn.RNNCellDropoutWrapper(Same(), **settings)
    with pytest.raises(TypeError, match="'cell' must be a cell with a 'state_size'"):
        tf.nn.RNNCellDeviceWrapper(3, "/cpu:0")
