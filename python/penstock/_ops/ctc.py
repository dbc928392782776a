"""Connectionist temporal classification: losses of sequences of labels that are not aligned with the steps.

A. Graves and others, "Connectionist temporal classification: labelling unsegmented sequence data with
recurrent neural networks", 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, pad, stack, transpose
from penstock._ops.creation import range as range_of
from penstock._ops.indexing import gather, where
from penstock._ops.normalization import log_softmax
from penstock._ops.reductions import cumsum, reduce_logsumexp, reduce_max, reduce_min, reduce_sum
from penstock._ops.shapes import reshape
from penstock._runtime.arguments import integer, known_rank, sizes
from penstock._runtime.scope import scoped
from penstock._values.sparse import SparseTensor
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["collapse_repeated", "ctc_loss", "ctc_unique_labels"]

# The logarithm of the probability of what cannot be, finite so that its derivatives are.
NEVER = -1e30


def _lengths(value: Any, argument: str) -> _core.Tensor:
    """A vector of lengths.

    Raises:
        TypeError: for what is not integer.
        ValueError: for another rank.
    """
    lengths = _core._to_tensor(value)
    if not lengths.dtype.is_integer:
        raise DTypeError(f"argument '{argument}' must be integers, got {lengths.dtype.name}")
    if lengths.shape.rank not in (1, None):
        raise InvalidArgumentError(f"argument '{argument}' must be a vector, got shape {lengths.shape}")
    return raw_ops.cast(lengths, dtype=_core.int32)


@scoped
def ctc_loss(
    labels: TensorLike | SparseTensor,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: tuple[TensorLike, TensorLike] | None = None,
    blank_index: IntLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the negative logarithm of the probability of labels, summed over all their alignments.

    An alignment gives every step a label or the blank; labels that are repeated without a blank between them
    are one, and blanks are left out.

    Args:
        labels: integers of shape `[batch, labels]`, or a sparse matrix with a row of labels for each element
            of the batch.
        logits: floating, of shape `[steps, batch, classes]`.
        label_length: how many labels there are of each element of the batch; None for a sparse matrix.
        logit_length: how many steps there are of each element of the batch.
        logits_time_major: whether steps come first; else the batch does.
        unique: accepted and ignored; it is a help for other implementations.
        blank_index: the class of the blank, 0 by default, which must be given for a sparse matrix; negative
            numbers count from the end.
        name: a scope for the names of its operations in a graph.

    Returns:
        A loss for each element of the batch, of the dtype of `logits`: inf where no alignment is possible,
        and 0 for no labels in no steps.

    Raises:
        TypeError: for labels or lengths that are not integers.
        ValueError: for tensors of other ranks, and for a sparse matrix without `blank_index`.

    >>> import penstock as tf
    >>> logits = tf.zeros([3, 1, 4])
    >>> loss = tf.nn.ctc_loss([[1, 2]], logits, [2], [3])
    >>> round(float(loss[0]), 4)  # five alignments of 64
    2.5494
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise InvalidArgumentError("argument 'blank_index' must be given for labels in a SparseTensor")
        labels, label_length = _rows_of(labels)
    elif label_length is None:
        raise InvalidArgumentError("argument 'label_length' must be given for labels in a tensor")
    targets, scores = _core._to_tensor(labels), _core._to_tensor(logits)
    if not targets.dtype.is_integer:
        raise DTypeError(f"argument 'labels' must be integers, got {targets.dtype.name}")
    for tensor, rank, argument in (targets, 2, "labels"), (scores, 3, "logits"):
        if len(known_rank(tensor)) != rank:
            raise InvalidArgumentError(
                f"argument '{argument}' must have rank {rank}, got shape {tensor.shape}"
            )
    if not logits_time_major:
        scores = transpose(scores, [1, 0, 2])
    dtype = scores.dtype
    if dtype.size < 4:
        scores = raw_ops.cast(scores, dtype=_core.float32)
    counts, steps = _lengths(label_length, "label_length"), _lengths(logit_length, "logit_length")
    blank = 0 if blank_index is None else integer(blank_index, "blank_index")
    if blank < 0:
        blank = sizes(scores)[-1] + blank
    losses = _forward(raw_ops.cast(targets, dtype=_core.int32), scores, counts, steps, blank)
    return raw_ops.cast(losses, dtype=dtype)


def _rows_of(labels: SparseTensor) -> tuple[_core.Tensor, _core.Tensor]:
    """The labels of a sparse matrix from the first column on, and how many there are in each row."""
    from penstock._values.ragged import RaggedTensor  # builds on this

    rows = RaggedTensor.from_value_rowids(labels.values, labels.indices[:, 0], nrows=labels.dense_shape[0])
    return rows.to_tensor(), rows.row_lengths()


def _forward(
    targets: _core.Tensor, scores: _core.Tensor, counts: _core.Tensor, steps: _core.Tensor, blank: Any
) -> _core.Tensor:
    """The forward recursion over states: the labels with blanks around each."""
    from penstock._control.flow import while_loop  # builds on this

    batch, most = sizes(targets)
    length = sizes(scores)[0]
    probabilities = log_softmax(scores)
    blanks = raw_ops.zeros_like(targets) + raw_ops.cast(_core._to_tensor(blank), dtype=_core.int32)
    states = reshape(stack([blanks, targets], -1), [batch, 2 * most])
    states = concat([states, _column(blank, batch)], 1)
    number = 2 * most + 1
    # A step stays in its state, goes on to the next one, or skips a blank between labels that differ.
    skips = pad(raw_ops.not_equal(states[:, 2:], states[:, :-2]), [[0, 0], [2, 0]])[:, :number]
    never = _core._to_tensor(NEVER, scores.dtype)

    def emitted(t: Any) -> _core.Tensor:
        return gather(probabilities[t], states, axis=1, batch_dims=1)

    def moved(alpha: _core.Tensor, by: int) -> _core.Tensor:
        return pad(alpha, [[0, 0], [by, 0]], constant_values=never)[:, :number]

    def step(t: _core.Tensor, alpha: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
        ways = stack([alpha, moved(alpha, 1), where(skips, moved(alpha, 2), never)])
        after = reduce_logsumexp(ways, 0) + emitted(t)
        return t + 1, where(raw_ops.less(t, steps)[:, None], after, alpha)

    # Before the first step all is in the first state: from there a step goes to it, or to the first label.
    first = raw_ops.equal(range_of(number), _core._to_tensor(0, _core.int32))
    start = where(first, raw_ops.zeros_like(never), raw_ops.fill(raw_ops.shape(states), never))
    _, alpha = while_loop(lambda t, alpha: t < length, step, (_core._to_tensor(0, _core.int32), start))
    last = stack([2 * counts, raw_ops.maximum(2 * counts - 1, _core._to_tensor(0, _core.int32))], 1)
    ends = gather(alpha, last, axis=1, batch_dims=1)
    some = raw_ops.greater(counts, _core._to_tensor(0, _core.int32))[:, None]
    ends = where(raw_ops.logical_or(some, _core._to_tensor([True, False])), ends, never)
    total = reduce_logsumexp(ends, 1)
    impossible = raw_ops.less(total, _core._to_tensor(NEVER / 2, total.dtype))
    return where(impossible, _core._to_tensor(float("inf"), total.dtype), raw_ops.zeros_like(total) - total)


def _column(value: Any, batch: Any) -> _core.Tensor:
    return raw_ops.fill(
        raw_ops.stack(_core._to_tensor(batch, _core.int32), _core._to_tensor(1, _core.int32)),
        raw_ops.cast(_core._to_tensor(value), dtype=_core.int32),
    )


@scoped
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[_core.Tensor, _core.Tensor]:
    """Find the different labels of each row.

    Args:
        labels: integers of shape `[batch, labels]`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The labels of each row without repetitions, in the order in which they come first, with zeros behind;
        and the positions of all labels among these. Both have the shape of `labels`; labels are `int64`,
        positions `int32`.

    Raises:
        ValueError: for a tensor of another rank.

    >>> import penstock as tf
    >>> unique, positions = tf.nn.ctc_unique_labels([[3, 4, 3]])
    >>> unique.numpy().tolist(), positions.numpy().tolist()
    ([[3, 4, 0]], [[0, 1, 0]])
    """
    x = _core._to_tensor(labels)
    if len(known_rank(x)) != 2:
        raise InvalidArgumentError(f"argument 'labels' must have rank 2, got shape {x.shape}")
    size = sizes(x)[1]
    same = raw_ops.equal(x[:, :, None], x[:, None, :])
    places = range_of(size)
    first = reduce_min(where(same, places, raw_ops.shape(x)[1]), 2)
    leads = raw_ops.equal(first, raw_ops.zeros_like(first) + places)
    rank = cumsum(raw_ops.cast(leads, dtype=_core.int32), 1) - 1
    positions = gather(rank, first, axis=1, batch_dims=1)
    slots = raw_ops.logical_and(leads[:, None, :], raw_ops.equal(rank[:, None, :], places[None, :, None]))
    unique = reduce_sum(where(slots, x[:, None, :], raw_ops.zeros_like(x[:, None, :])), 2)
    return raw_ops.cast(unique, dtype=_core.int64), positions


@scoped
def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[_core.Tensor, _core.Tensor]:
    """Join labels that are repeated one behind the other.

    Args:
        labels: of shape `[batch, labels]`.
        seq_length: how many labels there are of each row.
        name: a scope for the names of its operations in a graph.

    Returns:
        The labels that are left, with zeros behind, as wide as the longest row; and how many each row has.

    Raises:
        ValueError: for a tensor of another rank.

    >>> import penstock as tf
    >>> merged, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 0, 0, 0]], [5, 2])
    >>> merged.numpy().tolist(), lengths.numpy().tolist()
    ([[1, 2, 1], [3, 0, 0]], [3, 1])
    """
    x = _core._to_tensor(labels)
    if len(known_rank(x)) != 2:
        raise InvalidArgumentError(f"argument 'labels' must have rank 2, got shape {x.shape}")
    given = _core._to_tensor(seq_length)
    lengths = _lengths(given, "seq_length")
    width = sizes(x)[1]
    differs = raw_ops.not_equal(x[:, 1:], x[:, :-1])
    kept = pad(differs, [[0, 0], [1, 0]], constant_values=True)[:, :width]
    kept = raw_ops.logical_and(kept, raw_ops.less(range_of(width), lengths[:, None]))
    counts = reduce_sum(raw_ops.cast(kept, dtype=_core.int32), 1)
    order = raw_ops.argsort(raw_ops.cast(raw_ops.logical_not(kept), dtype=_core.int32), axis=1)
    moved = gather(x, order, axis=1, batch_dims=1)
    inside = raw_ops.less(range_of(width), counts[:, None])
    moved = where(inside, moved, raw_ops.zeros_like(moved))
    return moved[:, : reduce_max(counts)], raw_ops.cast(counts, dtype=given.dtype)
