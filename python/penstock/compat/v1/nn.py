"""`tf.nn` of TensorFlow 1: recurrent networks; the rest is version 2's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, nn as current, raw_ops
from penstock._control.flow import while_loop
from penstock._ops.candidates import (
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from penstock._ops.ctc_decoders import ctc_beam_search_decoder as decode, without_repetitions
from penstock._ops.layouts import reverse_sequence
from penstock._ops.shapes import shape as shape_of
from penstock._runtime.scope import within
from penstock._values.tensor_array import TensorArray
from penstock.compat.v1 import rnn_cell as rnn_cell
from penstock.compat.v1._nn_products import (
    conv2d_backprop_filter as conv2d_backprop_filter,
    conv2d_backprop_input as conv2d_backprop_input,
    depthwise_conv2d_native as depthwise_conv2d_native,
    relu_layer as relu_layer,
    xw_plus_b as xw_plus_b,
)
from penstock.compat.v1._nn_tables import (
    nce_loss as nce_loss,
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
    sampled_softmax_loss as sampled_softmax_loss,
    whole_table,
)
from penstock.compat.v1._parameters import PARAMETERS, old_function
from penstock.compat.v1._variables import variable_scope
from penstock.errors import UnimplementedError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike
    from penstock._values.sparse import SparseTensor

__all__ = [
    "bidirectional_dynamic_rnn",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "ctc_beam_search_decoder",
    "ctc_loss",
    "depthwise_conv2d_native",
    "dropout",
    "dynamic_rnn",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "fused_batch_norm",
    "raw_rnn",
    "relu_layer",
    "rnn_cell",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "static_bidirectional_rnn",
    "static_rnn",
    "xw_plus_b",
]


def _started(cell: Any, inputs: Any, initial_state: Any, dtype: DTypeLike | None, batch: Any) -> Any:
    if initial_state is not None:
        return nest.map_structure(_core._to_tensor, initial_state)
    if dtype is None:
        raise ValueError("argument 'dtype' must be given where there is no 'initial_state'")
    return cell.zero_state(batch, dtype)


def _kept(runs: Any, new: Any, old: Any) -> Any:
    """The new values of the examples that are not at their end, and the old ones of the others."""

    def kept(a: Any, b: Any) -> Any:
        wanted = raw_ops.reshape(runs, [-1] + [1] * (a.shape.rank - 1))
        return raw_ops.select(wanted, a, b)

    return nest.map_structure(kept, new, old)


def dynamic_rnn(
    cell: Any,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Run a cell over the steps of sequences, in a loop.

    Args:
        cell: the cell.
        inputs: the sequences, [batch, steps, size], or [steps, batch, size] with `time_major`.
        sequence_length: how many steps each has; behind them what comes out is 0 and the state stays.
        initial_state: the state before the first step; zeros of `dtype` by default.
        dtype: the element type of the state.
        parallel_iterations: accepted and ignored.
        swap_memory: accepted and ignored.
        time_major: whether steps are the first dimension.
        scope: the name of the scope of the variables, `rnn` by default.

    Returns:
        What the cell gave at each step, as `inputs` are laid out, and the state after the last one.

    Raises:
        ValueError: where neither the state nor its dtype is given.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> cell = v1.nn.rnn_cell.GRUCell(3)
    >>> outputs, state = v1.nn.dynamic_rnn(cell, tf.ones([2, 5, 4]), dtype=tf.float32)
    >>> outputs.shape, state.shape
    (TensorShape([2, 5, 3]), TensorShape([2, 3]))
    """
    x = _core._to_tensor(inputs)
    if not time_major:
        x = raw_ops.transpose(x, perm=[1, 0, 2])
    steps, batch = (n if n is not None else shape_of(x)[i] for i, n in enumerate(x.shape[:2]))
    state = _started(cell, x, initial_state, dtype, batch)
    lengths = None if sequence_length is None else raw_ops.cast(sequence_length, dtype=_core.int32)
    with variable_scope(scope or "rnn"):
        # The first step stands before the loop: it makes the variables.
        output, after = cell(raw_ops.gather(x, 0, axis=0), state)
        nothing = raw_ops.zeros_like(output)
        output, state = _held(lengths, 0, output, after, nothing, state)
        outputs = TensorArray(output.dtype, size=steps, element_shape=output.shape).write(0, output)

        def step(i: Any, state: Any, outputs: Any) -> tuple[Any, ...]:
            output, after = cell(raw_ops.gather(x, i, axis=0), state)
            output, state = _held(lengths, i, output, after, nothing, state)
            return i + 1, state, outputs.write(i, output)

        first = _core._to_tensor(1, _core.int32)
        _, state, outputs = while_loop(lambda i, *_: i < steps, step, (first, state, outputs))
    found = outputs.stack()
    return (found if time_major else raw_ops.transpose(found, perm=[1, 0, 2])), state


def _held(lengths: Any, i: Any, output: Any, after: Any, nothing: Any, before: Any) -> tuple[Any, Any]:
    if lengths is None:
        return output, after
    runs = raw_ops.less(_core._to_tensor(i, _core.int32), lengths)
    return _kept(runs, output, nothing), _kept(runs, after, before)


def static_rnn(
    cell: Any,
    inputs: Sequence[TensorLike],
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Run a cell over a list of steps.

    Args:
        cell: the cell.
        inputs: what comes in at each step, each [batch, size].
        initial_state: the state before the first step; zeros of `dtype` by default.
        dtype: the element type of the state.
        sequence_length: how many steps each example has; behind them what comes out is 0 and the state stays.
        scope: the name of the scope of the variables, `rnn` by default.

    Returns:
        A list of what the cell gave, and the state after the last step.

    Raises:
        ValueError: where there is no step, or neither the state nor its dtype is given.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> cell = v1.nn.rnn_cell.GRUCell(3)
    >>> outputs, state = v1.nn.static_rnn(cell, [tf.ones([2, 4])] * 5, dtype=tf.float32)
    >>> len(outputs), state.shape
    (5, TensorShape([2, 3]))
    """
    if not inputs:
        raise ValueError("argument 'inputs' must have at least one step")
    x = [_core._to_tensor(step) for step in inputs]
    batch: Any = x[0].shape[0] if x[0].shape[0] is not None else shape_of(x[0])[0]
    state = _started(cell, x[0], initial_state, dtype, batch)
    lengths = None if sequence_length is None else raw_ops.cast(sequence_length, dtype=_core.int32)
    outputs: list[Any] = []
    with variable_scope(scope or "rnn"):
        for i, step in enumerate(x):
            output, after = cell(step, state)
            output, state = _held(lengths, i, output, after, raw_ops.zeros_like(output), state)
            outputs.append(output)
    return outputs, state


def _backwards(x: Any, lengths: Any, time: int) -> Any:
    """Sequences from their last step to the first; what is behind the last step stays."""
    if lengths is None:
        return raw_ops.reverse(x, axes=[time])
    return reverse_sequence(x, lengths, seq_axis=time, batch_axis=1 - time)


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Run a cell over the steps of sequences, and another one from the last step to the first.

    Args:
        cell_fw: the cell that goes forwards.
        cell_bw: the one that goes backwards.
        inputs: the sequences, [batch, steps, size], or [steps, batch, size] with `time_major`.
        sequence_length: how many steps each has.
        initial_state_fw: the state of the first cell; zeros of `dtype` by default.
        initial_state_bw: that of the other one.
        dtype: the element type of the states.
        parallel_iterations: accepted and ignored.
        swap_memory: accepted and ignored.
        time_major: whether steps are the first dimension.
        scope: the name of the scope of the variables, `bidirectional_rnn` by default.

    Returns:
        What both cells gave at each step, and their last states.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> cells = [v1.nn.rnn_cell.GRUCell(3) for _ in range(2)]
    >>> outputs, states = v1.nn.bidirectional_dynamic_rnn(*cells, tf.ones([2, 5, 4]), dtype=tf.float32)
    >>> outputs[1].shape, states[0].shape
    (TensorShape([2, 5, 3]), TensorShape([2, 3]))
    """
    x, time = _core._to_tensor(inputs), 0 if time_major else 1
    run: dict[str, Any] = {"sequence_length": sequence_length, "dtype": dtype, "time_major": time_major}
    with variable_scope(scope or "bidirectional_rnn"):
        forwards, last = dynamic_rnn(cell_fw, x, initial_state=initial_state_fw, scope="fw", **run)
        turned = _backwards(x, sequence_length, time)
        back, first = dynamic_rnn(cell_bw, turned, initial_state=initial_state_bw, scope="bw", **run)
    return (forwards, _backwards(back, sequence_length, time)), (last, first)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[TensorLike],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Run a cell over a list of steps, and another one from the last step to the first.

    Args:
        cell_fw: the cell that goes forwards.
        cell_bw: the one that goes backwards.
        inputs: what comes in at each step, each [batch, size].
        initial_state_fw: the state of the first cell; zeros of `dtype` by default.
        initial_state_bw: that of the other one.
        dtype: the element type of the states.
        sequence_length: how many steps each example has.
        scope: the name of the scope of the variables, `bidirectional_rnn` by default.

    Returns:
        A list of what both gave, one beside the other, and the last state of each.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> cells = [v1.nn.rnn_cell.GRUCell(3) for _ in range(2)]
    >>> outputs, _, _ = v1.nn.static_bidirectional_rnn(*cells, [tf.ones([2, 4])] * 5, dtype=tf.float32)
    >>> outputs[0].shape
    TensorShape([2, 6])
    """
    x = raw_ops.stack(*inputs, axis=0)
    outputs, (last, first) = bidirectional_dynamic_rnn(
        cell_fw,
        cell_bw,
        x,
        sequence_length,
        initial_state_fw,
        initial_state_bw,
        dtype,
        time_major=True,
        scope=scope,
    )
    both = raw_ops.concat(*outputs, axis=2)
    return [raw_ops.gather(both, i, axis=0) for i in range(len(inputs))], last, first


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Normalise images by the moments of their channels.

    Args:
        x: images, [batch, height, width, channels], or as `data_format` says.
        scale: what each channel is multiplied by then, [channels].
        offset: what is added to it, [channels].
        mean: the mean of each channel; not needed in training where `exponential_avg_factor` is 1.
        variance: its variance, likewise.
        epsilon: added to variances; at least 1.001e-5.
        data_format: the order of dimensions, such as `"NHWC"`.
        is_training: whether the moments are those of `x`.
        name: what it is called in a graph.
        exponential_avg_factor: how much of the new moments is in those that come out, beside `mean` and
            `variance`.

    Returns:
        The images, the mean and the variance. In training this variance is that of a sample.

    Raises:
        ValueError: where `mean` or `variance` is needed and missing.

    >>> import penstock as tf
    >>> y, mean, variance = tf.compat.v1.nn.fused_batch_norm([[[[1.0]], [[3.0]]]], [1.0], [0.0])
    >>> mean.numpy().tolist(), variance.numpy().tolist()
    ([2.0], [2.0])
    """
    if (mean is None or variance is None) and (not is_training or exponential_avg_factor != 1.0):
        raise ValueError(
            "arguments 'mean' and 'variance' must be given where 'is_training' is False or "
            "'exponential_avg_factor' is not 1.0"
        )
    scale = _core._to_tensor_hinted(scale, _core.float32)
    empty: Any = raw_ops.zeros_like(scale)[:0]
    y, kept_mean, kept_variance, *_ = raw_ops.FusedBatchNormV3(
        x=_core._to_tensor(x),
        scale=scale,
        offset=_core._to_tensor(offset, scale.dtype),
        mean=empty if mean is None else _core._to_tensor(mean, scale.dtype),
        variance=empty if variance is None else _core._to_tensor(variance, scale.dtype),
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    # As in TensorFlow, no gradient goes through the moments that come out.
    return y, raw_ops.stop_gradient(kept_mean), raw_ops.stop_gradient(kept_variance)


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], _core.Tensor]:
    """Find the most probable labels.

    Args:
        inputs: scores (logits) of shape `[steps, batch, classes]`; the last class is the blank.
        sequence_length: how many steps there are of each element of the batch.
        beam_width: how many prefixes are kept from step to step.
        top_paths: how many results there are.
        merge_repeated: whether labels that follow each other in a result are one, also where a blank was
            between them.

    Returns:
        A list of `top_paths` sparse tensors of `int64`, the most probable first, and the logarithms of their
        probabilities, `[batch, top_paths]`.

    >>> import penstock as tf
    >>> scores = 9.0 * tf.one_hot([0, 2, 0, 1], 3)[:, None, :]
    >>> (labels,), _ = tf.compat.v1.nn.ctc_beam_search_decoder(scores, [4])
    >>> labels.values.numpy().tolist()
    [0, 1]
    """
    found, chances = decode(inputs, sequence_length, beam_width, top_paths)
    return [without_repetitions(labels) for labels in found] if merge_repeated else found, chances


def dropout(
    x: TensorLike,
    keep_prob: TensorLike | None = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike | None = None,
) -> _core.Tensor:
    """Set elements to 0 by chance, and scale the others up.

    Args:
        x: a tensor of floats.
        keep_prob: the chance that an element is kept.
        noise_shape: the shape of what is kept, by default that of `x`.
        seed: an integer that fixes the elements.
        name: a scope for the names of its operations in a graph.
        rate: the chance that an element is set to 0, in place of `keep_prob`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: where both or neither of the chances are given.

    >>> import penstock as tf
    >>> tf.compat.v1.nn.dropout([1.0, 2.0], 1.0).numpy()
    array([1., 2.], dtype=float32)
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("nn.dropout takes one of the arguments 'keep_prob' and 'rate'")
    dropped: Any = rate if keep_prob is None else 1 - keep_prob  # type: ignore[operator]
    return within(name or "dropout", current.dropout, x, dropped, noise_shape=noise_shape, seed=seed)  # type: ignore[no-any-return]


def softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> _core.Tensor:
    """Compute the cross entropy of distributions and of the softmax of logits.

    Args:
        _sentinel: None: the others are given by name.
        labels: the distributions, which get no gradient.
        logits: the logits.
        dim: the dimension of the classes.
        name: a scope for the names of its operations in a graph.
        axis: the same as `dim`.

    Returns:
        A tensor of the shape of `labels` without the dimension of the classes.

    Raises:
        ValueError: where `labels` or `logits` is not given by name.

    >>> import penstock as tf
    >>> loss = tf.compat.v1.nn.softmax_cross_entropy_with_logits(labels=[[0.0, 1.0]], logits=[[0.0, 0.0]])
    >>> loss.numpy().round(4)
    array([0.6931], dtype=float32)
    """
    if _sentinel is not None or labels is None or logits is None:
        raise ValueError("nn.softmax_cross_entropy_with_logits takes 'labels' and 'logits', by their names")
    kept = raw_ops.stop_gradient(_core._to_tensor(labels))
    along = dim if axis is None else axis
    return current.softmax_cross_entropy_with_logits(kept, logits, along, name)


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> _core.Tensor:
    """Compute the cross entropy of distributions, which get a gradient too, and of the softmax of logits.

    Args:
        labels: the distributions.
        logits: the logits.
        axis: the dimension of the classes, by default the last one.
        name: a scope for the names of its operations in a graph.
        dim: the same as `axis`.

    Returns:
        A tensor of the shape of `labels` without the dimension of the classes.

    >>> import penstock as tf
    >>> loss = tf.compat.v1.nn.softmax_cross_entropy_with_logits_v2([[0.0, 1.0]], [[0.0, 0.0]])
    >>> loss.numpy().round(4)
    array([0.6931], dtype=float32)
    """
    along = next((given for given in (axis, dim) if given is not None), -1)
    return current.softmax_cross_entropy_with_logits(labels, logits, along, name)


def ctc_loss(
    labels: SparseTensor,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> _core.Tensor:
    """Compute the loss of sequences of labels in longer sequences of logits, whose last class is the blank.

    Args:
        labels: a sparse matrix with a row of labels for each example.
        inputs: the logits, of shape `[steps, batch, classes]`.
        sequence_length: how many steps each example has.
        preprocess_collapse_repeated: must be false.
        ctc_merge_repeated: must be true.
        ignore_longer_outputs_than_inputs: accepted and ignored.
        time_major: whether the steps come first in `inputs`, and not the batch.
        logits: the same as `inputs`.

    Returns:
        The loss of each example.

    Raises:
        UnimplementedError: for repeated labels that are handled otherwise.

    >>> import penstock as tf
    >>> labels = tf.sparse.from_dense([[1, 2]])
    >>> tf.compat.v1.nn.ctc_loss(labels, tf.zeros([2, 1, 4]), [2]).numpy().round(4)
    array([2.7726], dtype=float32)
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise UnimplementedError(
            "nn.ctc_loss takes 'preprocess_collapse_repeated' of false and 'ctc_merge_repeated' of true alone"
        )
    given: Any = inputs if logits is None else logits
    steps: Any = sequence_length
    return current.ctc_loss(labels, given, None, steps, logits_time_major=time_major, blank_index=-1)


def embedding_lookup(
    params: Any,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Take the rows of a table, or of one in several parts.

    Args:
        params: the table, or its parts.
        ids: the numbers of rows.
        partition_strategy: where a row is: by "mod" row `i` is in part `i % n`, by "div" the parts follow one
            another.
        name: a scope for the names of its operations in a graph.
        validate_indices: accepted and ignored.
        max_norm: the norm that rows are clipped to.

    Returns:
        A tensor of the shape of `ids`, and that of a row.

    Raises:
        ValueError: for another strategy.

    >>> import penstock as tf
    >>> tf.compat.v1.nn.embedding_lookup([[[0.0], [2.0]], [[1.0], [3.0]]], [1, 2]).numpy().tolist()
    [[1.0], [2.0]]
    """
    params, ids = whole_table(params, ids, partition_strategy)
    return current.embedding_lookup(params, ids, max_norm=max_norm, name=name)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> _core.Tensor:
    """Combine the rows of a table that each row of ids names.

    Args:
        params: the table, or its parts.
        sp_ids: the numbers of rows, a sparse matrix.
        sp_weights: the weight of each, or None for 1.
        partition_strategy: where a row is, as for `embedding_lookup`.
        name: a scope for the names of its operations in a graph.
        combiner: `"sum"`, `"mean"` (the default) or `"sqrtn"`.
        max_norm: the norm that rows are clipped to.
        allow_fast_lookup: accepted and ignored.

    Returns:
        A tensor with a row for each row of `sp_ids`.

    Raises:
        ValueError: for another strategy or combiner.

    >>> import penstock as tf
    >>> ids = tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2])
    >>> tf.compat.v1.nn.embedding_lookup_sparse(tf.constant([[1.0], [3.0]]), ids, None).numpy().tolist()
    [[2.0]]
    """
    params, values = whole_table(params, sp_ids.values, partition_strategy)
    return current.embedding_lookup_sparse(
        params, sp_ids.with_values(values), sp_weights, combiner or "mean", max_norm, name
    )


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[TensorArray, Any, Any]:
    """Run a cell in a loop whose inputs, states and end a function decides.

    Args:
        cell: the cell.
        loop_fn: is called with the number of the step and the output of the cell, its state and a state of
            the function's own, all None the first time. It gives five things: which sequences are finished,
            [batch]; the next input; the next state of the cell, the first time the initial one; what is given
            out, the first time zeros like that of one sequence, or None for what the cell gives; its own next
            state, or None.
        parallel_iterations: accepted and ignored.
        swap_memory: accepted and ignored.
        scope: the name of the scope of the variables, `rnn` by default.

    Returns:
        What was given out, each step an element of a `TensorArray`, zeros of sequences that are finished; the
        last state of the cell; the last state of the function.

    Raises:
        TypeError: where `loop_fn` cannot be called.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> cell, x = v1.nn.rnn_cell.GRUCell(3), tf.ones([5, 2, 4])
    >>> def step(time, output, state, own):
    ...     state = cell.zero_state(2, tf.float32) if output is None else state
    ...     return tf.fill([2], time >= 5), x[tf.minimum(time, 4)], state, output, None
    >>> outputs, state, _ = v1.nn.raw_rnn(cell, step)
    >>> outputs.stack().shape, state.shape
    (TensorShape([5, 2, 3]), TensorShape([2, 3]))
    """
    if not callable(loop_fn):
        raise TypeError(f"argument 'loop_fn' must be a function, got {loop_fn!r}")
    with variable_scope(scope or "rnn"):
        start = _core._to_tensor(0, _core.int32)
        finished, inputs, state, emitted, own = loop_fn(start, None, None, None)
        # It makes the variables; what it gives says the shapes of what is given out.
        output, _ = cell(inputs, state)
        batch = shape_of(nest.flatten(inputs)[0])[:1]
        if emitted is None:
            zeros = nest.map_structure(raw_ops.zeros_like, output)
        else:

            def of_batch(one: Any) -> Any:
                item = _core._to_tensor(one)
                return raw_ops.fill(
                    raw_ops.concat([batch, shape_of(item)], axis=0), _core._to_tensor(0, item.dtype)
                )

            zeros = nest.map_structure(of_batch, emitted)
        arrays = nest.map_structure(
            lambda zero: TensorArray(zero.dtype, size=0, dynamic_size=True, element_shape=zero.shape), zeros
        )
        stateless = own is None
        held = start if stateless else own

        def goes_on(time: Any, finished: Any, *_: Any) -> Any:
            return raw_ops.logical_not(raw_ops.reduce_all(finished))

        def step(time: Any, finished: Any, inputs: Any, state: Any, arrays: Any, held: Any) -> Any:
            output, after = cell(inputs, state)
            ended, following, after, emitted, own = loop_fn(
                time + 1, output, after, None if stateless else held
            )
            given = output if emitted is None else emitted
            runs = raw_ops.logical_not(finished)
            given = _kept(runs, given, zeros)
            after = _kept(runs, after, state)
            arrays = nest.map_structure(lambda array, part: array.write(time, part), arrays, given)
            finished = raw_ops.logical_or(finished, ended)
            return time + 1, finished, following, after, arrays, held if own is None else own

        first = (start, _core._to_tensor(finished), inputs, state, arrays, held)
        _, _, _, state, arrays, held = while_loop(goes_on, step, first)
    return arrays, state, None if stateless else held


# Names for which others are used now, with the same parameters, by their paths below `penstock`.
_RENAMED = {
    "avg_pool_v2": "avg_pool",
    "ctc_beam_search_decoder_v2": "ctc_beam_search_decoder",
    "ctc_loss_v2": "ctc_loss",
    "depthwise_conv2d_native_backprop_filter": "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_native_backprop_input": "depthwise_conv2d_backprop_input",
    "max_pool_v2": "max_pool",
}

# Names that are not here, since TensorFlow 2.21 has no kernels for them either.
_QUANTIZED = ("quantized_avg_pool", "quantized_conv2d", "quantized_max_pool", "quantized_relu_x")


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        return getattr(current, _RENAMED[name])
    if name in _QUANTIZED:
        raise AttributeError(
            f"tf.compat.v1.nn.{name} is not there: TensorFlow 2.21 cannot run it either; dequantize, and use "
            f"tf.nn.{name.removeprefix('quantized_').replace('relu_x', 'relu6')}"
        )
    path = f"nn.{name}"
    return old_function(path) if path in PARAMETERS else getattr(current, name)
