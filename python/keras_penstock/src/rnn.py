"""Recurrent networks: a loop of the graph over the steps of sequences."""

from keras.src import tree

import penstock as tf
from keras_penstock.src.core import dense_tensor, scan


def cudnn_ok(*args, **kwargs):
    """Say whether kernels of cuDNN would be used: the engine has its own."""
    return False


# Keras asks a backend for a faster form first. This error is the answer that there is none. Keras catches it,
# and runs the cell of the layer by `rnn`, with the same results.
_BY_CELL = "there is no faster form for this layer: Keras runs its cell step by step"


def bidirectional_lstm(*args, **kwargs):
    raise NotImplementedError(_BY_CELL)


def bidirectional_gru(*args, **kwargs):
    raise NotImplementedError(_BY_CELL)


def unstack(x, axis=0):
    return tf.unstack(dense_tensor(x), axis=axis)


def _swap(x):
    """Exchange the first two axes: batch and time."""
    return tf.transpose(x, [1, 0, *range(2, x.shape.rank)])


def _wide(mask, x):
    """Give a mask of `[batch]` or `[batch, 1]` the rank of `x`."""
    while mask.shape.rank < x.shape.rank:
        mask = mask[..., None]
    return mask


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
    return_all_outputs=True,
):
    """Call `step_function(input, states)` for each step of sequences.

    A step that is masked keeps the states, and its output is that of the step before, or zero.

    Returns:
        The last output, all outputs in the order in which they are made (or the last alone, with a time of 1)
        and the last states.
    """
    inputs = tree.map_structure(dense_tensor, inputs)
    if not time_major:
        inputs = tree.map_structure(_swap, inputs)
    leaves = tree.flatten(inputs)
    time = leaves[0].shape[0]
    if unroll and time is None:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    if mask is None and input_length is not None and not isinstance(input_length, int):
        lengths = dense_tensor(input_length, "int32")
        mask = tf.range(tf.shape(leaves[0])[0]) < lengths[:, None] if lengths.shape.rank == 1 else None
    if mask is not None:
        mask = dense_tensor(mask, "bool")
        if mask.shape.rank == 3:
            mask = mask[..., 0]
        mask = tf.transpose(mask)
    constants = tuple(constants or ())
    # A vector is cast where a float of fewer bits is computed with.
    states = tree.map_structure(dense_tensor, tuple(initial_states))

    def step(carry, x):
        states, before = carry
        x, seen = x
        output, after = step_function(x, tuple(states) + constants)
        after = tree.pack_sequence_as(states, tree.flatten(after))
        after = tree.map_structure(lambda new, old: tf.cast(new, old.dtype), after, states)
        if seen is not None:
            after = tree.map_structure(lambda new, old: tf.where(_wide(seen, new), new, old), after, states)
            kept = tree.map_structure(tf.zeros_like, output) if before is None else before
            output = tree.map_structure(lambda new, old: tf.where(_wide(seen, new), new, old), output, kept)
        return (after, None if zero_output_for_mask or before is None else output), output

    # The output of the step before is carried only where a masked step repeats it.
    before = None
    if mask is not None and not zero_output_for_mask:
        first = tree.map_structure(lambda x: x[0], inputs)
        before = _zeros_of_output(step_function, first, tuple(states) + constants)
    if go_backwards:
        inputs = tree.map_structure(lambda x: tf.reverse(x, [0]), inputs)
        mask = None if mask is None else tf.reverse(mask, [0])
    (states, _), outputs = scan(step, (states, before), (inputs, mask), unroll=bool(unroll))
    last = tree.map_structure(lambda x: x[-1], outputs)
    if not return_all_outputs:
        outputs = tree.map_structure(lambda x: x[None], last)
    if not time_major:
        outputs = tree.map_structure(_swap, outputs)
    return last, outputs, list(states)


def _zeros_of_output(step_function, x, states):
    """Zeros of the shape of what a step gives; the step itself is dead code of the graph."""
    output, _ = step_function(x, states)
    return tree.map_structure(tf.zeros_like, output)


def _project(inputs, kernel, bias, go_backwards):
    """Give the products of the inputs of all steps, time first.

    The inputs are moved, which have fewer features than the gates, and not the product.
    """
    x = _swap(dense_tensor(inputs, kernel.dtype))
    if go_backwards:
        x = tf.reverse(x, [0])
    x = tf.matmul(x, kernel)
    return x if bias is None else x + bias


def _sequence(cell, x, states, return_sequences, unroll):
    """Run `cell(x, states)`, whose first state is its output, over `[time, batch, features]`."""
    time = x.shape[0]
    n = tf.shape(x)[0] if time is None else time
    # A list: its gradient is one too, where that of `x[t]` would be added up over all steps.
    steps = tf.TensorArray(x.dtype, size=n, element_shape=x.shape[1:]).unstack(x)
    # A list of one array, or of none.
    outputs = [tf.TensorArray(x.dtype, size=n, element_shape=states[0].shape)] if return_sequences else []

    def body(t, states, outputs):
        states = cell(steps.read(t), states)
        return t + 1, states, [array.write(t, states[0]) for array in outputs]

    if unroll and time is not None:
        for t in range(time):
            _, states, outputs = body(t, states, outputs)
    else:
        _, states, outputs = tf.while_loop(lambda t, *_: t < n, body, (0, states, outputs))
    last = states[0]
    sequence = last[:, None]
    if return_sequences:
        sequence = _swap(outputs[0].stack())
        sequence.set_shape([last.shape[0], time, last.shape[1]])
    return last, sequence, list(states)


def lstm(
    inputs,
    initial_state_h,
    initial_state_c,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    go_backwards=False,
    unroll=False,
):
    """Run an LSTM: the inputs of all steps are projected by one product, and the loop has the recurrence."""
    if mask is not None:
        # What a masked step gives is for `rnn` to say.
        raise NotImplementedError(_BY_CELL)
    recurrent = dense_tensor(recurrent_kernel)
    bias = None if bias is None else dense_tensor(bias)
    projected = _project(inputs, dense_tensor(kernel), bias, go_backwards)

    def cell(x, states):
        h, c = states
        i, f, g, o = tf.split(x + tf.matmul(h, recurrent), 4, axis=1)
        c = recurrent_activation(f) * c + recurrent_activation(i) * activation(g)
        return recurrent_activation(o) * activation(c), c

    states = tuple(dense_tensor(x, recurrent.dtype) for x in (initial_state_h, initial_state_c))
    return _sequence(cell, projected, states, return_sequences, unroll)


def gru(
    inputs,
    initial_state,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    go_backwards=False,
    unroll=False,
    reset_after=True,
):
    """Run a GRU as `lstm` runs an LSTM."""
    if mask is not None:
        raise NotImplementedError(_BY_CELL)
    recurrent = dense_tensor(recurrent_kernel)
    units = recurrent.shape[0]
    bias = None if bias is None else dense_tensor(bias)
    inner = None
    if bias is not None and bias.shape.rank == 2:
        bias, inner = bias[0], bias[1]
    projected = _project(inputs, dense_tensor(kernel), bias, go_backwards)

    update_and_reset, candidates = recurrent[:, : 2 * units], recurrent[:, 2 * units :]

    def cell(x, states):
        (h,) = states
        x_z, x_r, x_h = tf.split(x, 3, axis=1)
        if reset_after:
            product = tf.matmul(h, recurrent)
            h_z, h_r, h_h = tf.split(product if inner is None else product + inner, 3, axis=1)
        else:
            h_z, h_r = tf.split(tf.matmul(h, update_and_reset), 2, axis=1)
        z, r = recurrent_activation(x_z + h_z), recurrent_activation(x_r + h_r)
        candidate = activation(x_h + (r * h_h if reset_after else tf.matmul(r * h, candidates)))
        return (z * h + (1 - z) * candidate,)

    states = (dense_tensor(initial_state, recurrent.dtype),)
    return _sequence(cell, projected, states, return_sequences, unroll)
