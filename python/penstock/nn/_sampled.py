"""Losses over many classes, of which a sample takes part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat
from penstock._ops.candidates import log_uniform_candidate_sampler
from penstock._ops.indexing import gather, where
from penstock._ops.reductions import reduce_any, reduce_sum
from penstock._ops.shapes import reshape
from penstock._runtime.arguments import integer
from penstock._runtime.scope import scoped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["nce_loss", "sampled_softmax_loss"]


def _rows(parts: Any) -> _core.Tensor:
    """A table in one piece."""
    if isinstance(parts, list | tuple) and parts and isinstance(parts[0], _core.Tensor | _core._Variable):
        return concat(parts, 0) if len(parts) > 1 else _core._to_tensor(parts[0])
    return _core._to_tensor(parts)


def _logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: Any,
    num_classes: Any,
    num_true: Any,
    sampled_values: Any,
    remove_accidental_hits: bool,
    seed: int | None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """The logits of the true classes of each example and of the sample, less those that are expected."""
    table, shift, x = _rows(weights), _rows(biases), _core._to_tensor(inputs)
    count = integer(num_true, "num_true")
    true = raw_ops.cast(_core._to_tensor(labels), dtype=_core.int64)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(true, count, num_sampled, True, num_classes, seed)
    sampled, true_expected, sampled_expected = sampled_values
    sampled = raw_ops.cast(raw_ops.stop_gradient(_core._to_tensor(sampled)), dtype=_core.int64)
    true_expected, sampled_expected = (
        raw_ops.cast(raw_ops.stop_gradient(_core._to_tensor(t)), dtype=x.dtype)
        for t in (true_expected, sampled_expected)
    )
    # One look-up for both, so that the gradient of the table is one set of rows.
    flat = reshape(true, [-1])
    ids = concat([flat, sampled], 0)
    rows = raw_ops.gather(table, ids, sparse_gradient=True)
    offsets = gather(shift, ids)
    number = raw_ops.size(flat)
    true_rows = reshape(rows[:number], [-1, count, rows.shape[1] or raw_ops.shape(rows)[1]])
    true_logits = reduce_sum(x[:, None, :] * true_rows, 2) + reshape(offsets[:number], [-1, count])
    sampled_logits = raw_ops.matmul(x, rows[number:], transpose_b=True) + offsets[number:]
    if remove_accidental_hits:
        hits = reduce_any(raw_ops.equal(true[:, :, None], sampled), 1)
        least = _core._to_tensor(x.dtype.min, x.dtype)
        sampled_logits = where(hits, least, sampled_logits)
    return true_logits - raw_ops.log(true_expected), sampled_logits - raw_ops.log(sampled_expected)


@scoped
def nce_loss(
    weights: TensorLike | Sequence[TensorLike],
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: IntLike,
    num_classes: IntLike,
    num_true: IntLike = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    name: str | None = "nce_loss",
) -> _core.Tensor:
    """Compute the loss of noise contrastive estimation.

    It tells true classes from those of a sample (M. Gutmann and A. Hyvärinen, "Noise-contrastive estimation",
    2010).

    Args:
        weights: a row for each class, of shape `[num_classes, dim]`, or such tables to be joined.
        biases: a number for each class.
        labels: the true classes of each example, integers of shape `[batch, num_true]`.
        inputs: of shape `[batch, dim]`.
        num_sampled: how many classes are drawn.
        num_classes: how many there are.
        num_true: how many true classes an example has.
        sampled_values: what a `tf.random.*_candidate_sampler` gave; by default
            `log_uniform_candidate_sampler` draws.
        remove_accidental_hits: whether a class that was drawn and is true counts no more as drawn.
        name: a scope for the names of its operations in a graph.

    Returns:
        A loss for each example.

    Raises:
        ValueError: for tensors that do not fit.

    >>> import penstock as tf
    >>> loss = tf.nn.nce_loss(tf.zeros([9, 4]), tf.zeros([9]), [[1], [2]], tf.ones([2, 4]), 3, 9)
    >>> loss.shape
    TensorShape([2])
    """
    true, sampled = _logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, None,
    )  # fmt: skip
    # The binary cross entropy of a logit x and a label z is softplus(x) - x z.
    share = _core._to_tensor(1.0 / integer(num_true, "num_true"), true.dtype)
    return reduce_sum(raw_ops.softplus(true) - true * share, 1) + reduce_sum(raw_ops.softplus(sampled), 1)


@scoped
def sampled_softmax_loss(
    weights: TensorLike | Sequence[TensorLike],
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: IntLike,
    num_classes: IntLike,
    num_true: IntLike = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str | None = "sampled_softmax_loss",
) -> _core.Tensor:
    """Compute the cross entropy of the softmax over the true classes and those of a sample.

    S. Jean and others, "On using very large target vocabulary for neural machine translation", 2014.

    Args:
        weights: a row for each class, of shape `[num_classes, dim]`, or such tables to be joined.
        biases: a number for each class.
        labels: the true classes of each example, integers of shape `[batch, num_true]`.
        inputs: of shape `[batch, dim]`.
        num_sampled: how many classes are drawn.
        num_classes: how many there are.
        num_true: how many true classes an example has.
        sampled_values: what a `tf.random.*_candidate_sampler` gave; by default
            `log_uniform_candidate_sampler` draws.
        remove_accidental_hits: whether a class that was drawn and is true counts no more as drawn.
        seed: as in `tf.random.uniform`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A loss for each example.

    Raises:
        ValueError: for tensors that do not fit.

    >>> import penstock as tf
    >>> loss = tf.nn.sampled_softmax_loss(tf.zeros([9, 4]), tf.zeros([9]), [[1], [2]], tf.ones([2, 4]), 3, 9)
    >>> loss.shape
    TensorShape([2])
    """
    true, sampled = _logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, seed,
    )  # fmt: skip
    share = _core._to_tensor(1.0 / integer(num_true, "num_true"), true.dtype)
    every = concat([true, sampled], 1)
    labels_of = concat([raw_ops.zeros_like(true) + share, raw_ops.zeros_like(sampled)], 1)
    return reduce_sum(-labels_of * raw_ops.log_softmax(every), 1)
