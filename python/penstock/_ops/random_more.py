"""Random numbers of seeds alone: trials, normal numbers between bounds, orders of entries and of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.random_generator import state_of_seed
from penstock._runtime.arguments import extents, integer
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

__all__ = [
    "create_rng_state",
    "index_shuffle",
    "random_index_shuffle",
    "stateless_binomial",
    "stateless_parameterized_truncated_normal",
    "stateless_shuffle",
]

_ALGORITHMS = ("philox", "auto_select", 1, 3)


def _pair(seed: Any) -> _core.Tensor:
    pair = _core._to_tensor(seed)
    if not pair.shape.is_compatible_with([2]):
        raise InvalidArgumentError(f"argument 'seed' must have shape [2], got {pair.shape}")
    return pair


def _sizes(shape: Any) -> _core.Tensor:
    return raw_ops.cast(extents(shape), dtype=_core.int64)


@scoped
def stateless_binomial(
    shape: SizesLike,
    seed: SizesLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """Draw how many of some trials succeed, of a seed of two integers alone.

    Args:
        shape: the shape of the result, to which the parameters broadcast.
        seed: two integers.
        counts: the numbers of trials, not negative.
        probs: the probability of success, from 0 to 1.
        output_dtype: `int32`, `int64`, `float16`, `float32` or `float64`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `output_dtype` and of shape `shape`: equal seeds, equal numbers.

    Raises:
        InvalidArgumentError: where the parameters do not broadcast to `shape`, or are out of range.

    >>> import penstock as tf
    >>> tf.random.stateless_binomial([3], [1, 2], 10.0, [0.0, 1.0, 0.0]).numpy().tolist()
    [0, 10, 0]
    """
    # The probabilities have the dtype, or else the counts do.
    odds = _core._to_tensor_hinted(probs, _core.float32)
    trials = _core._to_tensor_hinted(counts, odds.dtype)
    if trials.dtype != odds.dtype:
        wide = trials.dtype if trials.dtype == _core.float64 else odds.dtype
        trials, odds = raw_ops.cast(trials, dtype=wide), raw_ops.cast(odds, dtype=wide)
    dtype = _core.DType(output_dtype)
    return raw_ops.stateless_random_binomial(_sizes(shape), _pair(seed), trials, odds, dtype=dtype)


@scoped
def stateless_parameterized_truncated_normal(
    shape: SizesLike,
    seed: SizesLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of normal distributions between bounds, of a seed of two integers alone.

    The gradient by each parameter is that of the numbers at a fixed quantile.

    Args:
        shape: the shape of the result, to which the parameters broadcast.
        seed: two integers.
        means: the means of the distributions without bounds.
        stddevs: their standard deviations, positive.
        minvals: the lower bounds.
        maxvals: the upper bounds, above the lower ones.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of the parameters, floating point, and of shape `shape`: equal seeds, equal
        numbers.

    Raises:
        InvalidArgumentError: where the parameters do not broadcast to `shape`.

    >>> import penstock as tf
    >>> x = tf.random.stateless_parameterized_truncated_normal([100], [1, 2], 5.0, 2.0, 4.0, 4.5).numpy()
    >>> bool(((4.0 <= x) & (x <= 4.5)).all())
    True
    """
    given = [means, stddevs, minvals, maxvals]
    typed = next((x.dtype for x in given if isinstance(x, _core.Tensor | _core._Variable)), None)
    mean, spread, least, most = (_core._to_tensor(x, typed or _core.float32) for x in given)
    dims = _sizes(shape)
    unit = raw_ops.stateless_random_uniform(dims, _pair(seed), dtype=_core.float64)
    wide = [raw_ops.broadcast_to(raw_ops.cast(x, dtype=_core.float64), dims) for x in (mean, spread)]
    low, high = (
        (raw_ops.broadcast_to(raw_ops.cast(x, dtype=_core.float64), dims) - wide[0]) / wide[1]
        for x in (least, most)
    )
    drawn = _between(low, high, raw_ops.maximum(unit, 2.0**-60)) * wide[1] + wide[0]
    made = raw_ops.cast(drawn, dtype=mean.dtype)
    # Rounding does not leave the bounds.
    return raw_ops.minimum(raw_ops.maximum(made, least), most)


def _between(low: Any, high: Any, unit: Any) -> Any:
    """Standard normal numbers between bounds, at a part of the probability between them."""
    # The lower half has small probabilities with all their digits: what lies above 0 is drawn mirrored.
    above = low > 0.0
    a, b = raw_ops.select(above, -high, low), raw_ops.select(above, -low, high)
    share = raw_ops.select(above, 1.0 - unit, unit)
    # Farther out than 37 deviations there is no probability that a number could say; the density falls there
    # as that of an exponential distribution.
    far = b < -35.0
    near_a, near_b = (raw_ops.select(far, raw_ops.zeros_like(x) + mid, x) for x, mid in ((a, -1.0), (b, 1.0)))
    from_a, from_b = _probability(near_a), _probability(near_b)
    body = raw_ops.ndtri(from_a + share * (from_b - from_a))
    end = raw_ops.select(far, b, raw_ops.zeros_like(b) - 1.0)
    width = raw_ops.select(far, b - a, raw_ops.zeros_like(b) + 1.0)
    tail = end - raw_ops.log1p((share - 1.0) * -raw_ops.expm1(end * width)) / end
    drawn = raw_ops.select(far, tail, body)
    return raw_ops.select(above, -drawn, drawn)


def _probability(x: Any) -> Any:
    """That of a standard normal number below."""
    return 0.5 * raw_ops.erfc(x * -(0.5**0.5))


@scoped
def stateless_shuffle(
    value: TensorLike, seed: SizesLike, alg: str = "auto_select", name: str | None = None
) -> _core.Tensor:
    """Put the entries along the first dimension in a random order, of a seed of two integers alone.

    Args:
        value: a tensor; a scalar is its own.
        seed: two integers.
        alg: accepted; the algorithm is Philox.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `value`: equal seeds, equal orders.

    Raises:
        ValueError: for another algorithm.
        InvalidArgumentError: for a seed of another shape.

    >>> import penstock as tf
    >>> sorted(tf.random.experimental.stateless_shuffle([1, 2, 3], seed=[8, 9]).numpy().tolist())
    [1, 2, 3]
    """
    _check_algorithm(alg)
    x, pair = _core._to_tensor(value), _pair(seed)
    if x.shape.rank == 0:
        return x
    keys = raw_ops.stateless_random_uniform_full_int(raw_ops.shape(x)[:1], pair, dtype=_core.int64)
    return raw_ops.gather(x, raw_ops.argsort(keys, dtype=_core.int64))


def _check_algorithm(alg: Any) -> None:
    if alg not in _ALGORITHMS:
        raise InvalidArgumentError(f"argument 'alg' must be 'philox' or 'auto_select', got {alg!r}")


@dispatched
def create_rng_state(seed: IntLike | SizesLike, alg: str | int) -> _core.Tensor:
    """Make the state of a generator of a seed.

    Args:
        seed: an integer of up to 192 bits, or up to three integers.
        alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

    Returns:
        Three integers, `int64`: the lower and the upper half of the counter, and the key.

    Raises:
        ValueError: for another algorithm.

    >>> import penstock as tf
    >>> tf.random.create_rng_state(1234, "philox").numpy().tolist()
    [1234, 0, 0]
    """
    _check_algorithm(alg)
    return _core._to_tensor(state_of_seed(seed), _core.int64)


@scoped
def index_shuffle(index: TensorLike, seed: SizesLike, max_index: TensorLike) -> _core.Tensor:
    """Tell where numbers come to stand in a random order of the numbers up to `max_index`.

    Args:
        index: an integer, or a vector of them, from 0 to `max_index`.
        seed: two integers, or a matrix of two for each index.
        max_index: the greatest number, or a vector of one for each index.

    Returns:
        A tensor of the dtype of `index`, and of its shape or that of what else is a vector: for equal seeds
        each number up to `max_index` once.

    Raises:
        ValueError: for arguments of other shapes.
        InvalidArgumentError: for an index above `max_index`, or below 0.

    >>> import penstock as tf
    >>> shuffle = tf.random.experimental.index_shuffle
    >>> sorted(shuffle(tf.range(10), seed=[5, 9], max_index=9).numpy().tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    pairs = _core._to_tensor(seed)
    if pairs.shape.rank not in (1, 2) or pairs.shape[-1] not in (2, None):
        raise InvalidArgumentError(f"argument 'seed' must have shape [2] or [n, 2], got {pairs.shape}")
    zeros = raw_ops.zeros_like(pairs[..., :1])
    return random_index_shuffle(index, raw_ops.concat([zeros, pairs], axis=-1), max_index)


@scoped
def random_index_shuffle(
    index: TensorLike, seed: TensorLike, max_index: TensorLike, rounds: int = 4, name: str | None = None
) -> _core.Tensor:
    """Tell where numbers come to stand in a random order of the numbers up to `max_index`.

    No list of the numbers is made: each place is computed by itself.

    Args:
        index: an integer, or a vector of them, from 0 to `max_index`.
        seed: three integers, or a matrix of three for each index.
        max_index: the greatest number, or a vector of one for each index.
        rounds: how often to mix the bits of a number: an even number from 4.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `index`, and of its shape or that of what else is a vector: for equal seeds
        each number up to `max_index` once.

    Raises:
        ValueError: for arguments of other shapes, or another number of rounds.
        InvalidArgumentError: for an index above `max_index`, or below 0.

    >>> import penstock as tf
    >>> sorted(tf.random_index_shuffle([0, 1, 2], [1, 2, 3], 2).numpy().tolist())
    [0, 1, 2]
    """
    from penstock._control.flow import while_loop  # loops build on operations
    from penstock._runtime.arguments import require  # beside the loop

    mixes = integer(rounds, "rounds")
    if mixes < 4 or mixes % 2:
        raise InvalidArgumentError(f"argument 'rounds' must be an even number from 4, got {rounds}")
    numbers, keys, most = _core._to_tensor(index), _core._to_tensor(seed), _core._to_tensor(max_index)
    if keys.shape.rank not in (1, 2) or keys.shape[-1] not in (3, None):
        raise InvalidArgumentError(f"argument 'seed' must have shape [3] or [n, 3], got {keys.shape}")
    for x, what in ((numbers, "index"), (most, "max_index")):
        if x.shape.rank not in (0, 1) or not x.dtype.is_integer:
            raise InvalidArgumentError(f"argument '{what}' must be an integer or a vector of them, got {x!r}")
    x, limit, words = (raw_ops.cast(t, dtype=_core.int64) for t in (numbers, most, keys))
    x, limit = x + raw_ops.zeros_like(limit), limit + raw_ops.zeros_like(x)
    if words.shape.rank == 2:
        x, limit = (t + raw_ops.zeros_like(words[:, 0]) for t in (x, limit))
    inside = raw_ops.reduce_all(raw_ops.logical_and(x >= 0, x <= limit))
    require(inside, "argument 'index' must be from 0 to 'max_index'", x)
    # The numbers of 2 half words of so many bits, of which there are less than four times as many as needed.
    bits = _half_width(limit)

    def mixed(value: Any) -> Any:
        left, right = raw_ops.right_shift(value, bits), raw_ops.bitwise_and(value, _ones(bits))
        for step in range(mixes):
            word = words[..., step % 3] + (step + 1) * 0x1C_C1_B7_27_22_0A_95
            left, right = (
                right,
                raw_ops.bitwise_xor(left, raw_ops.bitwise_and(_hash(right, word), _ones(bits))),
            )
        return raw_ops.bitwise_or(raw_ops.left_shift(left, bits), right)

    # What lands above the limit goes on until it lands below: the walk ends, as the mixing is a permutation.
    def above(value: Any) -> Any:
        return raw_ops.reduce_any(value > limit)

    def step(value: Any) -> list[Any]:
        return [raw_ops.select(value > limit, mixed(value), value)]

    (placed,) = while_loop(above, step, [mixed(x)])
    return raw_ops.cast(placed, dtype=numbers.dtype)


def _ones(bits: Any) -> Any:
    one = _core._to_tensor(1, _core.int64)
    return raw_ops.left_shift(one + raw_ops.zeros_like(bits), bits) - 1


def _half_width(limit: Any) -> Any:
    """Half the number of bits of some numbers, rounded up; at least 1."""
    width = raw_ops.zeros_like(limit) + 1
    for half in range(1, 32):
        width = raw_ops.select(limit >= 4**half, raw_ops.zeros_like(limit) + half + 1, width)
    return width


def _hash(value: Any, word: Any) -> Any:
    """A number of which each bit depends on all those of two (the finaliser of MurmurHash3)."""
    made = raw_ops.bitwise_xor(value * -0x61_C8_86_46_80_B5_83_EB, word)
    for shift, factor in ((33, -0x00_AE_50_28_15_71_0B_33), (29, -0x3B_31_46_01_E5_7A_13_AD)):
        made = raw_ops.bitwise_xor(made, _logical_shift(made, shift)) * factor
    return raw_ops.bitwise_xor(made, _logical_shift(made, 32))


def _logical_shift(value: Any, bits: int) -> Any:
    shifted = raw_ops.right_shift(value, _core._to_tensor(bits, _core.int64))
    return raw_ops.bitwise_and(shifted, _core._to_tensor(2 ** (64 - bits) - 1, _core.int64))
