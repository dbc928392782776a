"""Classes drawn as a sample of many, for losses over large vocabularies.

Draws without repetition take the classes with the greatest sums of a logarithm of a probability and a
number of Gumbel's distribution: the order in which classes come up first in draws with repetition has the
same distribution. How often a class is expected follows from how many such draws give as many different
classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.creation import range as range_of
from penstock._ops.indexing import gather, where
from penstock._ops.reductions import cumsum, reduce_sum
from penstock._ops.shapes import reshape
from penstock._runtime.arguments import integer, known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, PathLike, TensorLike

__all__ = [
    "all_candidate_sampler",
    "compute_accidental_hits",
    "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]


class CandidateSample(NamedTuple):
    """Classes that were drawn, and how often these and the true classes are expected in a sample."""

    sampled_candidates: _core.Tensor
    true_expected_count: _core.Tensor
    sampled_expected_count: _core.Tensor


def _true(true_classes: Any, num_true: Any) -> _core.Tensor:
    classes = _core._to_tensor(true_classes)
    if not classes.dtype.is_integer:
        raise DTypeError(f"argument 'true_classes' must be integers, got {classes.dtype.name}")
    count = integer(num_true, "num_true")
    if len(known_rank(classes)) != 2 or classes.shape[1] not in (count, None):
        raise InvalidArgumentError(
            f"argument 'true_classes' must have shape [batch, {count}], got {classes.shape}"
        )
    return raw_ops.cast(classes, dtype=_core.int64)


def _tries(probabilities: _core.Tensor, count: int) -> _core.Tensor:
    """How many draws with repetition give `count` different classes, by expectation.

    The sum of `1 - (1 - p)**tries` over the classes rises with the tries; its logarithm is found by
    bisection.
    """
    rates = raw_ops.log1p(-raw_ops.minimum(probabilities, _core._to_tensor(1 - 1e-9, _core.float64)))
    low = raw_ops.log(_core._to_tensor(float(count), _core.float64)) - 1e-6
    high = low + 60.0
    for _ in range(60):
        middle = (low + high) * 0.5
        expected = reduce_sum(-raw_ops.expm1(raw_ops.exp(middle) * rates))
        below = raw_ops.less(expected, _core._to_tensor(float(count), _core.float64))
        low, high = where(below, middle, low), where(below, high, middle)
    return raw_ops.exp(low)


def _draw(
    true_classes: Any,
    num_true: Any,
    num_sampled: Any,
    unique: bool,
    weights: _core.Tensor,
    seed: int | None,
) -> CandidateSample:
    """A sample of classes whose probabilities have the ratios of `weights`."""
    from penstock import random  # draws build on this

    true = _true(true_classes, num_true)
    count = integer(num_sampled, "num_sampled")
    number = sizes(weights)[0]
    if count < 1:
        raise InvalidArgumentError(f"argument 'num_sampled' must be at least 1, got {count}")
    if unique and isinstance(number, int) and count > number:
        raise InvalidArgumentError(
            f"argument 'num_sampled' must be at most {number} for a unique sample, got {count}"
        )
    probabilities = raw_ops.cast(weights, dtype=_core.float64)
    probabilities = probabilities / reduce_sum(probabilities)
    if unique:
        noise = random.uniform([number], 1e-300, 1.0, _core.float64, seed)
        ranked = raw_ops.log(probabilities) - raw_ops.log(-raw_ops.log(noise))
        sampled = raw_ops.cast(raw_ops.top_k(ranked, count)[1], dtype=_core.int64)
        tries = _tries(probabilities, count)
        expected = -raw_ops.expm1(tries * raw_ops.log1p(-raw_ops.minimum(probabilities, _below_one())))
    else:
        places = random.uniform([count], 0.0, 1.0, _core.float64, seed)
        bounds = cumsum(probabilities)
        sampled = raw_ops.cast(raw_ops.searchsorted(bounds, places, right=True), dtype=_core.int64)
        last = raw_ops.cast(_core._to_tensor(number), dtype=_core.int64) - 1
        sampled = raw_ops.minimum(sampled, last)
        expected = probabilities * count
    expected = raw_ops.cast(expected, dtype=_core.float32)
    return CandidateSample(sampled, gather(expected, true), gather(expected, sampled))


def _below_one() -> _core.Tensor:
    return _core._to_tensor(1 - 1e-9, _core.float64)


def _classes(range_max: Any) -> int:
    number = integer(range_max, "range_max")
    if number < 1:
        raise InvalidArgumentError(f"argument 'range_max' must be at least 1, got {number}")
    return number


@scoped
def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: IntLike,
    num_sampled: IntLike,
    unique: bool,
    range_max: IntLike,
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSample:
    """Draw classes that all have the same probability.

    Args:
        true_classes: the right classes of each example, integers of shape `[batch, num_true]`.
        num_true: how many an example has.
        num_sampled: how many classes to draw.
        unique: whether all are different.
        range_max: how many classes there are.
        seed: as in `tf.random.uniform`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The classes, `int64` of shape `[num_sampled]`; how often each true class is expected in a sample, of
        the shape of `true_classes`; and how often each class that was drawn is.

    Raises:
        ValueError: for numbers that do not fit, or classes of another shape.

    >>> import penstock as tf
    >>> sample = tf.random.uniform_candidate_sampler([[1]], 1, 4, True, 4, seed=1)
    >>> sorted(sample.sampled_candidates.numpy().tolist())
    [0, 1, 2, 3]
    """
    weights = raw_ops.cast(range_of(_classes(range_max)) * 0 + 1, dtype=_core.float64)
    return _draw(true_classes, num_true, num_sampled, unique, weights, seed)


def _log_uniform(number: int) -> _core.Tensor:
    places = raw_ops.cast(range_of(number), dtype=_core.float64)
    return raw_ops.log1p(1.0 / (places + 1.0))


@scoped
def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: IntLike,
    num_sampled: IntLike,
    unique: bool,
    range_max: IntLike,
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSample:
    """Draw classes whose probability falls like that of words in a text, sorted by frequency.

    Class `k` has the probability `log((k + 2) / (k + 1)) / log(range_max + 1)`.

    Args:
        true_classes: the right classes of each example, integers of shape `[batch, num_true]`.
        num_true: how many an example has.
        num_sampled: how many classes to draw.
        unique: whether all are different.
        range_max: how many classes there are.
        seed: as in `tf.random.uniform`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The classes, `int64` of shape `[num_sampled]`; how often each true class is expected in a sample, of
        the shape of `true_classes`; and how often each class that was drawn is.

    Raises:
        ValueError: for numbers that do not fit, or classes of another shape.

    >>> import penstock as tf
    >>> sample = tf.random.log_uniform_candidate_sampler([[1, 2]], 2, 3, False, 10)
    >>> sample.true_expected_count.shape
    TensorShape([1, 2])
    """
    weights = _log_uniform(_classes(range_max))
    return _draw(true_classes, num_true, num_sampled, unique, weights, seed)


@scoped
def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: IntLike,
    num_sampled: IntLike,
    unique: bool,
    range_max: IntLike,
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSample:
    """Draw classes as often as they are among the true classes of the batch, each counted once more.

    TensorFlow's function goes on counting from call to call; this one counts the batch at hand.

    Args:
        true_classes: the right classes of each example, integers of shape `[batch, num_true]`.
        num_true: how many an example has.
        num_sampled: how many classes to draw.
        unique: whether all are different.
        range_max: how many classes there are.
        seed: as in `tf.random.uniform`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The classes, `int64` of shape `[num_sampled]`; how often each true class is expected in a sample, of
        the shape of `true_classes`; and how often each class that was drawn is.

    Raises:
        ValueError: for numbers that do not fit, or classes of another shape.

    >>> import penstock as tf
    >>> sample = tf.random.learned_unigram_candidate_sampler([[1]], 1, 2, True, 4)
    >>> sample.sampled_candidates.shape
    TensorShape([2])
    """
    number = _classes(range_max)
    flat = reshape(_true(true_classes, num_true), [-1])
    ones = raw_ops.cast(raw_ops.ones_like(flat), dtype=_core.float64)
    weights = raw_ops.unsorted_segment_sum(ones, flat, _core._to_tensor(number, _core.int32)) + 1.0
    return _draw(true_classes, num_true, num_sampled, unique, weights, seed)


@scoped
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: IntLike,
    num_sampled: IntLike,
    unique: bool,
    range_max: IntLike,
    vocab_file: PathLike = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSample:
    """Draw classes in proportion to given weights.

    Args:
        true_classes: the right classes of each example, integers of shape `[batch, num_true]`.
        num_true: how many an example has.
        num_sampled: how many classes to draw.
        unique: whether all are different.
        range_max: how many classes there are.
        vocab_file: a file of which each line ends in a comma and a weight, in place of `unigrams`.
        distortion: the power that weights are raised to.
        num_reserved_ids: how many classes before the first weight are never drawn.
        num_shards: in how many parts classes are drawn; with `shard`, only every such class is.
        shard: which of these parts.
        unigrams: the weights.
        seed: as in `tf.random.uniform`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The classes, `int64` of shape `[num_sampled]`; how often each true class is expected in a sample, of
        the shape of `true_classes`; and how often each class that was drawn is.

    Raises:
        ValueError: for numbers that do not fit, classes of another shape, both kinds of weights or neither,
            or more or less than `range_max` of them.

    >>> import penstock as tf
    >>> sample = tf.random.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 3, unigrams=[1.0, 0.0, 3.0])
    >>> sorted(sample.sampled_candidates.numpy().tolist())
    [0, 2]
    """
    number = _classes(range_max)
    if bool(vocab_file) == bool(len(unigrams)):
        raise InvalidArgumentError("exactly one of the arguments 'vocab_file' and 'unigrams' must be given")
    if vocab_file:
        file = vocab_file.numpy().decode() if isinstance(vocab_file, _core.Tensor) else vocab_file
        try:
            lines = Path(file).read_text().splitlines()
        except FileNotFoundError:
            raise NotFoundError(f"argument 'vocab_file': there is no file {file!r}") from None
        except IsADirectoryError:
            raise InvalidArgumentError(f"argument 'vocab_file': {file!r} is a directory") from None
        unigrams = [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]
    if num_shards < 1 or not 0 <= shard < num_shards:
        raise InvalidArgumentError(f"argument 'shard' must be from 0 to {num_shards - 1}, got {shard}")
    weights = [0.0] * int(num_reserved_ids) + [float(w) ** distortion if w else 0.0 for w in unigrams]
    if len(weights) != number:
        raise InvalidArgumentError(
            f"argument 'unigrams' must give {number - num_reserved_ids} weights, got {len(unigrams)}"
        )
    own = [w if i % num_shards == shard else 0.0 for i, w in enumerate(weights)]
    tensor = _core._to_tensor(own, _core.float64)
    return _draw(true_classes, num_true, num_sampled, unique, tensor, seed)


@scoped
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: IntLike,
    num_sampled: IntLike,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSample:
    """Give all classes as a sample, for tests of losses: those from 0 to `num_sampled`, in order.

    Args:
        true_classes: the right classes of each example, integers of shape `[batch, num_true]`.
        num_true: how many an example has.
        num_sampled: how many classes there are.
        unique: accepted; all are different.
        seed: accepted; nothing is drawn.
        name: a scope for the names of its operations in a graph.

    Returns:
        The classes, `int64` of shape `[num_sampled]`; and ones of the shape of `true_classes` and of shape
        `[num_sampled]`.

    Raises:
        ValueError: for classes of another shape.

    >>> import penstock as tf
    >>> tf.random.all_candidate_sampler([[1]], 1, 3, True).sampled_candidates.numpy().tolist()
    [0, 1, 2]
    """
    true = _true(true_classes, num_true)
    sampled = raw_ops.cast(range_of(integer(num_sampled, "num_sampled")), dtype=_core.int64)
    one, other = (raw_ops.cast(raw_ops.ones_like(t), dtype=_core.float32) for t in (true, sampled))
    return CandidateSample(sampled, one, other)


@scoped
def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: IntLike,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Find the classes of a sample that are true classes of an example.

    Args:
        true_classes: the right classes of each example, integers of shape `[batch, num_true]`.
        sampled_candidates: the classes of the sample.
        num_true: how many right classes an example has.
        seed: accepted; nothing is drawn.
        name: a scope for the names of its operations in a graph.

    Returns:
        For each hit the example, `int32`; the place in the sample, `int64`; and a weight, the least
        `float32`, to add to a logit that should not count.

    Raises:
        ValueError: for classes of another shape.

    >>> import penstock as tf
    >>> examples, places, _ = tf.nn.compute_accidental_hits([[1], [5]], [3, 5, 1], 1)
    >>> examples.numpy().tolist(), places.numpy().tolist()
    ([0, 1], [2, 1])
    """
    true = _true(true_classes, num_true)
    sampled = raw_ops.cast(_core._to_tensor(sampled_candidates), dtype=_core.int64)
    hits = raw_ops.where_indices(raw_ops.equal(true[:, :, None], sampled))
    weights = raw_ops.cast(raw_ops.zeros_like(hits[:, 0]), dtype=_core.float32) + _core.float32.min
    return raw_ops.cast(hits[:, 0], dtype=_core.int32), hits[:, 2], weights
