"""Labels out of connectionist temporal classification: step by step, or the most probable of all alignments.

The search over prefixes is that of A. Graves and N. Jaitly, "Towards end-to-end speech recognition with
recurrent neural networks", 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, pad, stack, transpose
from penstock._ops.creation import fill, one_hot, range as range_of
from penstock._ops.ctc import NEVER
from penstock._ops.indexing import gather, where
from penstock._ops.normalization import log_softmax
from penstock._ops.reductions import cumsum, reduce_any, reduce_max, reduce_sum
from penstock._ops.shapes import expand_dims, reshape
from penstock._ops.sorting import top_k
from penstock._ops.sparse_layout import to_dense
from penstock._runtime.arguments import integer, known_rank, require, sizes
from penstock._runtime.dispatch import dispatched
from penstock._values.sparse import SparseTensor
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["ctc_beam_search_decoder", "ctc_greedy_decoder"]

_I32, _I64 = _core.int32, _core.int64


def _arguments(inputs: Any, sequence_length: Any) -> tuple[_core.Tensor, _core.Tensor]:
    """The scores, and how many steps each element of the batch has.

    Raises:
        ValueError: for tensors of other ranks.
        TypeError: for lengths that are not integers.
    """
    scores, lengths = _core._to_tensor(inputs), _core._to_tensor(sequence_length)
    if len(known_rank(scores)) != 3:
        raise InvalidArgumentError(f"argument 'inputs' must have rank 3, got shape {scores.shape}")
    if not scores.dtype.is_floating:
        raise DTypeError(f"argument 'inputs' must be floating, got {scores.dtype.name}")
    if not lengths.dtype.is_integer:
        raise DTypeError(f"argument 'sequence_length' must be integers, got {lengths.dtype.name}")
    if not lengths.shape.is_compatible_with([scores.shape[1]]):
        raise InvalidArgumentError(
            f"argument 'sequence_length' must have an element for each of the batch, of shape "
            f"[{scores.shape[1]}], got shape {lengths.shape}"
        )
    lengths = raw_ops.cast(lengths, dtype=_I32)
    most = raw_ops.cast(_core._to_tensor(sizes(scores)[0]), dtype=_I32)
    require(
        raw_ops.reduce_all(lengths <= most), "argument 'sequence_length' is longer than 'inputs'", lengths
    )
    return scores, lengths


def _rows(labels: _core.Tensor, kept: _core.Tensor) -> SparseTensor:
    """The labels of each row that are kept, moved to its front."""
    position = cumsum(raw_ops.cast(kept, dtype=_I64), 1) - 1
    places = raw_ops.where_indices(kept)
    column = raw_ops.gather_nd(position, places)
    counts = reduce_sum(raw_ops.cast(kept, dtype=_I64), 1)
    batch = raw_ops.cast(_core._to_tensor(sizes(labels)[0]), dtype=_I64)
    longest = reduce_max(concat([counts, _core._to_tensor([0], _I64)], 0))
    values = raw_ops.cast(raw_ops.gather_nd(labels, places), dtype=_I64)
    return SparseTensor(stack([places[:, 0], column], 1), values, stack([batch, longest]))


def without_repetitions(labels: SparseTensor) -> SparseTensor:
    """Rows of labels in which none is the one before it."""
    dense = to_dense(labels, _core._to_tensor(-1, labels.dtype))
    before = pad(dense, [[0, 0], [1, 0]], constant_values=-1)[:, :-1]
    kept = raw_ops.logical_and(dense >= 0, raw_ops.not_equal(dense, before))
    return _rows(dense, kept)


@dispatched
def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: IntLike | None = None,
) -> tuple[list[SparseTensor], _core.Tensor]:
    """Take the best label of each step, without blanks and, if wanted, without repetitions.

    Args:
        inputs: scores (logits) of shape `[steps, batch, classes]`.
        sequence_length: how many steps there are of each element of the batch.
        merge_repeated: whether labels that follow each other without a blank between are one.
        blank_index: the class of the blank, the last one by default; negative numbers count from the end.

    Returns:
        A list of one sparse tensor of `int64`: the labels of each element of the batch; and the negative sum
        of the scores that were taken, of shape `[batch, 1]`.

    Raises:
        TypeError: for scores that are not floating, or lengths that are not integers.
        ValueError: for tensors of other ranks, or a blank that is no class.
        InvalidArgumentError: for a length above the number of steps.

    >>> import penstock as tf
    >>> best = tf.constant([0, 0, 2, 0, 1])
    >>> scores = tf.one_hot(best, 3)[:, None, :]
    >>> (labels,), negative = tf.nn.ctc_greedy_decoder(scores, [5])
    >>> labels.values.numpy().tolist(), float(negative)
    ([0, 0, 1], -5.0)
    """
    scores, lengths = _arguments(inputs, sequence_length)
    steps, _, classes = sizes(scores)
    blank = integer(-1 if blank_index is None else blank_index, "blank_index")
    if isinstance(classes, int) and not -classes <= blank < classes:
        raise InvalidArgumentError(
            f"argument 'blank_index' must be from {-classes} to {classes - 1} for {classes} classes, "
            f"got {blank}"
        )
    label = raw_ops.cast(_core._to_tensor(blank + classes if blank < 0 else blank), dtype=_I32)
    best = transpose(raw_ops.argmax(scores, axis=2, dtype=_I32))
    inside = raw_ops.less(range_of(steps), lengths[:, None])
    kept = raw_ops.logical_and(inside, raw_ops.not_equal(best, label))
    if merge_repeated:
        differs = raw_ops.not_equal(best[:, 1:], best[:, :-1])
        kept = raw_ops.logical_and(
            kept, pad(differs, [[0, 0], [1, 0]], constant_values=True)[:, : sizes(best)[1]]
        )
    greatest = transpose(reduce_max(scores, 2))
    total = reduce_sum(where(inside, greatest, raw_ops.zeros_like(greatest)), 1, keepdims=True)
    return [_rows(best, kept)], -total


class _Beam(NamedTuple):
    """The prefixes that are left, `[batch, width]` of each.

    Attributes:
        labels: the prefix, `[batch, width, steps]`.
        length: how many labels it has.
        last: the last label, -1 of the empty prefix.
        key: tells the prefix from others.
        parent: the key of the prefix without its last label.
        blank: the logarithm of the probability of the alignments that end with a blank.
        label: of those that end with the last label.
    """

    labels: _core.Tensor
    length: _core.Tensor
    last: _core.Tensor
    key: _core.Tensor
    parent: _core.Tensor
    blank: _core.Tensor
    label: _core.Tensor


def _either(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    """`log(exp(a) + exp(b))`."""
    high, low = raw_ops.maximum(a, b), raw_ops.minimum(a, b)
    return high + raw_ops.log1p(raw_ops.exp(low - high))


def _child_key(key: _core.Tensor, label: _core.Tensor) -> _core.Tensor:
    """A number of 64 bits for a prefix with one more label, which no other prefix can be expected to have."""
    mixed = raw_ops.bitwise_xor(key, raw_ops.cast(label, dtype=_I64) + 0x1E3779B97F4A7C15)
    mixed = mixed * _core._to_tensor(0x3F58476D1CE4E5B9, _I64)
    return raw_ops.bitwise_xor(mixed, raw_ops.right_shift(mixed, _core._to_tensor(29, _I64)))


def _extended(beam: _Beam, scores: _core.Tensor, step: _core.Tensor, width: int) -> _Beam:
    """The beam after one more step.

    Args:
        beam: that before.
        scores: logarithms of probabilities, `[batch, classes]`, the blank last.
        step: the number of the step.
        width: how many prefixes stay.
    """
    labels = sizes(scores)[1] - 1
    total = _either(beam.blank, beam.label)
    never = _core._to_tensor(NEVER, scores.dtype)
    of_blank, of_labels = scores[:, -1:], scores[:, :-1]
    # Which prefix is which other one without its last label: `[batch, shorter, longer]`.
    leads = raw_ops.logical_and(
        raw_ops.equal(beam.key[:, :, None], beam.parent[:, None, :]),
        raw_ops.equal(beam.length[:, :, None] + 1, beam.length[:, None, :]),
    )
    repeated = raw_ops.equal(beam.last[:, :, None], beam.last[:, None, :])
    gained = where(repeated, beam.blank[:, :, None], total[:, :, None])
    gained = reduce_max(where(leads, gained, never), 1)
    again = gather(of_labels, raw_ops.maximum(beam.last, _core._to_tensor(0, _I32)), axis=1, batch_dims=1)
    stays_label = where(beam.last >= 0, _either(beam.label, gained) + again, never)
    stays_blank = total + of_blank
    # A prefix with one more label, unless the beam has it already.
    new_label = raw_ops.equal(beam.last[:, :, None], range_of(labels))
    longer = where(new_label, beam.blank[:, :, None], total[:, :, None]) + of_labels[:, None, :]
    ends = one_hot(beam.last, labels, on_value=True, off_value=False, dtype=_core.bool)
    there = reduce_any(raw_ops.logical_and(leads[:, :, :, None], ends[:, None, :, :]), 2)
    longer = where(there, never, longer)
    batch = sizes(scores)[0]
    ways = concat([_either(stays_blank, stays_label), reshape(longer, [batch, width * labels])], 1)
    _, chosen = top_k(ways, width)
    stays = chosen < width
    rest = raw_ops.maximum(chosen - width, _core._to_tensor(0, _I32))
    origin = where(stays, chosen, rest // labels)
    label = rest % labels

    def taken(x: _core.Tensor) -> _core.Tensor:
        return gather(x, origin, axis=1, batch_dims=1)

    key, length, prefix = taken(beam.key), taken(beam.length), taken(beam.labels)
    place = raw_ops.equal(length[:, :, None], range_of(sizes(prefix)[2]))
    place = raw_ops.logical_and(place, raw_ops.logical_not(stays)[:, :, None])
    probability = gather(ways, chosen, axis=1, batch_dims=1)
    return _Beam(
        where(place, label[:, :, None], prefix),
        where(stays, length, length + 1),
        where(stays, taken(beam.last), label),
        where(stays, key, _child_key(key, label)),
        where(stays, taken(beam.parent), key),
        where(stays, taken(stays_blank), never),
        where(stays, taken(stays_label), probability),
    )


@dispatched
def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: IntLike = 100, top_paths: IntLike = 1
) -> tuple[list[SparseTensor], _core.Tensor]:
    """Find the most probable sequences of labels, each summed over its alignments.

    The search keeps so many prefixes at each step. The last class is the blank.

    Args:
        inputs: scores (logits) of shape `[steps, batch, classes]`.
        sequence_length: how many steps there are of each element of the batch.
        beam_width: how many prefixes are kept, 1 or more.
        top_paths: how many sequences are given, at most `beam_width`.

    Returns:
        A sparse tensor of `int64` for each path, the labels of each element of the batch; and the logarithms
        of their probabilities, of shape `[batch, top_paths]`, the greatest first.

    Raises:
        TypeError: for scores that are not floating, or lengths that are not integers.
        ValueError: for tensors of other ranks, or more paths than the beam is wide.
        InvalidArgumentError: for a length above the number of steps, or more paths than there are sequences.

    >>> import penstock as tf
    >>> scores = tf.math.log([[[0.4, 0.6]], [[0.4, 0.6]]])
    >>> (labels,), score = tf.nn.ctc_beam_search_decoder(scores, [2])
    >>> labels.values.numpy().tolist(), round(float(tf.exp(score)), 2)  # alignments a-, -a and aa
    ([0], 0.64)
    """
    from penstock._control.flow import while_loop  # builds on this

    scores, lengths = _arguments(inputs, sequence_length)
    width, paths = integer(beam_width, "beam_width"), integer(top_paths, "top_paths")
    if width < 1:
        raise InvalidArgumentError(f"argument 'beam_width' must be 1 or more, got {width}")
    if not 1 <= paths <= width:
        raise InvalidArgumentError(
            f"argument 'top_paths' must be from 1 to 'beam_width', which is {width}, got {paths}"
        )
    steps, batch, classes = sizes(scores)
    dtype = scores.dtype
    if dtype.size < 4:
        scores = raw_ops.cast(scores, dtype=_core.float32)
    probabilities = log_softmax(scores)
    if not isinstance(classes, int) or classes == 1:
        # Beside the blank alone a label that never comes.
        more = raw_ops.cast(raw_ops.equal(_core._to_tensor(classes), 1), dtype=_I32)
        probabilities = pad(probabilities, [[0, 0], [0, 0], [more, 0]], constant_values=NEVER)
    first = raw_ops.equal(range_of(width), _core._to_tensor(0, _I32))
    grid = [batch, width]
    none = fill(grid, _core._to_tensor(NEVER, scores.dtype))
    start = _Beam(
        fill([batch, width, steps], _core._to_tensor(-1, _I32)),
        fill(grid, _core._to_tensor(0, _I32)),
        fill(grid, _core._to_tensor(-1, _I32)),
        # What stands beside the empty prefix is none, and has keys that none has.
        raw_ops.cast(range_of(width), dtype=_I64) + fill(grid, _core._to_tensor(0, _I64)),
        fill(grid, _core._to_tensor(-1, _I64)),
        where(first, raw_ops.zeros_like(none), none),
        none,
    )

    def step(t: _core.Tensor, beam: Any) -> tuple[_core.Tensor, Any]:
        going = raw_ops.less(t, lengths)
        after = _extended(_Beam(*beam), probabilities[t], t, width)
        chosen = []
        for new, old in zip(after, beam, strict=True):
            mask = going
            for _ in range(len(known_rank(old)) - 1):
                mask = expand_dims(mask, -1)
            chosen.append(where(mask, new, old))
        return t + 1, _Beam(*chosen)

    limit = raw_ops.cast(_core._to_tensor(steps), dtype=_I32)
    _, found = while_loop(lambda t, beam: t < limit, step, (_core._to_tensor(0, _I32), start))
    beam = _Beam(*found)
    score, order = top_k(_either(beam.blank, beam.label), paths)
    require(
        raw_ops.reduce_all(score > NEVER / 2),
        "argument 'top_paths' is above the number of sequences there are",
    )
    decoded = []
    for path in range(paths):
        row = order[:, path]
        labels = gather(beam.labels, row, axis=1, batch_dims=1)
        count = gather(beam.length, row, axis=1, batch_dims=1)
        decoded.append(_rows(labels, raw_ops.less(range_of(steps), count[:, None])))
    return decoded, raw_ops.cast(score, dtype=dtype)
