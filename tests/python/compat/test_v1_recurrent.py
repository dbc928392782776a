"""Recurrent networks of TensorFlow 1, beside what the formulas give step by step."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
cells = v1.nn.rnn_cell
BATCH, STEPS, SIZE, UNITS = 2, 4, 3, 5
X = np.random.RandomState(1).normal(size=(BATCH, STEPS, SIZE)).astype(np.float32)
LENGTHS = np.array([4, 2])


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def rnn(x, state, kernel, bias):
    h = np.tanh(np.concatenate([x, state], 1) @ kernel + bias)
    return h, h


def gru(x, state, kernel, bias, candidate, candidate_bias):
    r, u = np.split(sigmoid(np.concatenate([x, state], 1) @ kernel + bias), 2, 1)
    c = np.tanh(np.concatenate([x, r * state], 1) @ candidate + candidate_bias)
    h = u * state + (1 - u) * c
    return h, h


def lstm(x, state, kernel, bias):
    c, h = state
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
    c = c * sigmoid(f + 1.0) + sigmoid(i) * np.tanh(j)
    h = np.tanh(c) * sigmoid(o)
    return h, (c, h)


CELLS = {
    "BasicRNNCell": (rnn, lambda: np.zeros((BATCH, UNITS))),
    "GRUCell": (gru, lambda: np.zeros((BATCH, UNITS))),
    "BasicLSTMCell": (lstm, lambda: (np.zeros((BATCH, UNITS)), np.zeros((BATCH, UNITS)))),
    "LSTMCell": (lstm, lambda: (np.zeros((BATCH, UNITS)), np.zeros((BATCH, UNITS)))),
}


def expected(name, weights, x, lengths=None):
    step, start = CELLS[name]
    state, outputs = start(), []
    for t in range(x.shape[1]):
        output, after = step(x[:, t], state, *weights)
        if lengths is not None:
            runs = (t < lengths)[:, None]
            output = np.where(runs, output, 0)
            pairs = zip(after, state, strict=True) if isinstance(state, tuple) else [(after, state)]
            kept = tuple(np.where(runs, new, old) for new, old in pairs)
            after = kept if isinstance(state, tuple) else kept[0]
        state = after
        outputs.append(output)
    return np.stack(outputs, 1), state


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "lengths"])
@pytest.mark.parametrize("name", CELLS)
def test_dynamic_and_static_networks_follow_the_formulas(name, lengths):
    with tf.Graph().as_default(), v1.Session() as session:
        cell = getattr(cells, name)(UNITS)
        x = v1.placeholder(tf.float32, [None, STEPS, SIZE])
        outputs, state = v1.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        steps, last = v1.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths)
        session.run(v1.global_variables_initializer())
        found, held, rows, kept, weights = session.run([outputs, state, steps, last, cell.variables], {x: X})
    wanted, after = expected(name, weights, X, lengths)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.stack(rows, 1), wanted, rtol=1e-4, atol=1e-5)
    for ours in (held, kept):
        np.testing.assert_allclose(np.array(ours), np.array(after), rtol=1e-4, atol=1e-5)


def test_variables_have_the_names_that_checkpoints_have():
    with tf.Graph().as_default():
        stack = cells.MultiRNNCell([cells.BasicLSTMCell(2), cells.GRUCell(2)])
        v1.nn.dynamic_rnn(stack, tf.constant(X), dtype=tf.float32)
        assert [v.name for v in v1.global_variables()] == [
            "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel:0",
            "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias:0",
            "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel:0",
            "rnn/multi_rnn_cell/cell_1/gru_cell/gates/bias:0",
            "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/kernel:0",
            "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/bias:0",
        ]


def test_a_network_of_both_directions_reads_from_both_ends():
    forwards, backwards = cells.GRUCell(UNITS), cells.GRUCell(UNITS)
    outputs, states = v1.nn.bidirectional_dynamic_rnn(forwards, backwards, X, LENGTHS, dtype=tf.float32)
    turned = tf.reverse_sequence(X, LENGTHS, seq_axis=1, batch_axis=0).numpy()
    wanted, after = expected("GRUCell", [v.numpy() for v in backwards.variables], turned, LENGTHS)
    wanted = tf.reverse_sequence(wanted, LENGTHS, seq_axis=1, batch_axis=0)
    np.testing.assert_allclose(outputs[1], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states[1], after, rtol=1e-4, atol=1e-5)
    wanted, after = expected("GRUCell", [v.numpy() for v in forwards.variables], X, LENGTHS)
    np.testing.assert_allclose(outputs[0], wanted, rtol=1e-4, atol=1e-5)


def test_a_network_is_trained():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, STEPS, SIZE])
        _, state = v1.nn.dynamic_rnn(
            cells.LSTMCell(UNITS, num_proj=2, use_peepholes=True), x, dtype=tf.float32
        )
        loss = v1.losses.mean_squared_error(tf.ones([BATCH, 2]) * 0.3, state.h)
        step = v1.train.AdamOptimizer(0.05).minimize(loss)
        session.run(v1.global_variables_initializer())
        before = session.run(loss, {x: X})
        for _ in range(20):
            session.run(step, {x: X})
        assert session.run(loss, {x: X}) < before / 2


def test_wrappers_drop_and_add():
    cell = cells.ResidualWrapper(cells.BasicRNNCell(SIZE))
    x = tf.constant(X[:, 0])
    output, state = cell(x, cell.zero_state(BATCH, tf.float32))
    np.testing.assert_allclose(output, x + state, rtol=1e-6)
    dropping = cells.DropoutWrapper(cells.BasicRNNCell(200), output_keep_prob=0.5)
    output, _ = dropping(x, dropping.zero_state(BATCH, tf.float32))
    assert 0.3 < float(tf.reduce_mean(tf.cast(output == 0.0, tf.float32))) < 0.7


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="argument 'dtype' must be given where there is no 'initial_state'"):
        v1.nn.dynamic_rnn(cells.GRUCell(2), X)
    with pytest.raises(ValueError, match="argument 'inputs' must have at least one step"):
        v1.nn.static_rnn(cells.GRUCell(2), [], dtype=tf.float32)
    with pytest.raises(ValueError, match="argument 'cells' must have at least one cell"):
        cells.MultiRNNCell([])
    with pytest.raises(ValueError, match="argument 'state_is_tuple' must be True"):
        cells.MultiRNNCell([cells.GRUCell(2)], state_is_tuple=False)
