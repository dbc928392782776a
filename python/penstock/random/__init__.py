"""Random numbers, from counters and keys (Philox): the same seed gives the same numbers on every device.

Functions whose names begin with `stateless_` depend on their seed alone. The others draw from a generator
that `set_seed` restarts; with a `seed` of their own they draw from a sequence of that seed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.candidates import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from penstock._ops.random_generator import (
    Algorithm as Algorithm,
    Generator as Generator,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)
from penstock._ops.random_more import (
    create_rng_state as create_rng_state,
    stateless_binomial as stateless_binomial,
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from penstock._runtime import v1_graph_state
from penstock._runtime.arguments import extents, named, whole
from penstock._runtime.dispatch import dispatched
from penstock._runtime.lazy_names import lazily as _lazily
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike
    from penstock.random import experimental as experimental

__all__ = [
    "Algorithm",
    "Generator",
    "all_candidate_sampler",
    "categorical",
    "create_rng_state",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "fold_in",
    "gamma",
    "get_global_generator",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "normal",
    "poisson",
    "set_global_generator",
    "set_seed",
    "shuffle",
    "split",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]

_INTEGERS = (_core.int32, _core.int64)


class _Seeds:
    """The seed of `set_seed`, and how often each seed of an operation was used since."""

    overall = 0
    uses: dict[int, int] = {}  # noqa: RUF012


def set_seed(seed: int | None) -> None:
    """Restart the generator from a seed, and the sequences of seeds that operations have of their own.

    In a graph of TensorFlow 1 it is the seed of the graph from then on: what is added to it without a seed
    gets one of this seed and its place, and draws the same numbers in each session.

    Args:
        seed: any integer; None for one that the system draws, and for a graph without a seed.

    >>> import penstock as tf
    >>> tf.random.set_seed(1)
    >>> first = tf.random.uniform([3])
    >>> tf.random.set_seed(1)
    >>> bool(tf.reduce_all(tf.random.uniform([3]) == first))
    True
    """
    number = int.from_bytes(os.urandom(8)) if seed is None else whole(seed, "seed")
    if (graph := v1_graph_state.current()) is not None:
        graph._seed = None if seed is None else number
    _core._set_seed(number % 2**64)
    _Seeds.overall = number
    _Seeds.uses = {}


def _own(seed: int | None) -> int | None:
    """The seed of an operation: the one given, or in a graph that has a seed the place of the operation."""
    graph = v1_graph_state.current()
    return len(graph.engine) if seed is None and graph is not None and graph.seed is not None else seed


def _overall() -> int:
    graph = v1_graph_state.current()
    return _Seeds.overall if graph is None or graph.seed is None else graph.seed


def _sequence(seed: int) -> _core.Tensor:
    """The next seed of the sequence that belongs to the seed of an operation: two integers."""
    key = (whole(seed, "seed") * 0x9E3779B97F4A7C15 + _overall()) % 2**63
    if not _core._is_tracing():
        count = _Seeds.uses[key] = _Seeds.uses.get(key, -1) + 1
        return _core._to_tensor([key, count], _core.int64)
    one, graph = _core._to_tensor(1, _core.int64), v1_graph_state.current()
    if graph is not None:
        # Each session of a graph of TensorFlow 1 counts its own draws. What is drawn asks for the count.
        counter: Any = graph.begun_by_session(_core._to_tensor(-1, _core.int64), "random_counter")
        counted = len(graph.engine)
        raw_ops.assign_add(counter, one)
        read = len(graph.engine)
        drawn = raw_ops.read_variable(counter)
        graph.follow(read, counted)
    else:
        # A traced function counts from where it was traced, each time that it runs.
        with _core._Outside():
            start = _core._to_tensor(0, _core.int64)
            counter = _core._Variable(start, start.dtype, start.shape, "random_counter", False)
        drawn = raw_ops.read_variable(counter)
        raw_ops.assign_add(counter, one)
    return _core._to_tensor([_core._to_tensor(key, _core.int64), drawn])


@scoped
def uniform(
    shape: SizesLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = _core.float32,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of equal probability between `minval`, included, and `maxval`, not included.

    Args:
        shape: the shape of the result.
        minval: the least number.
        maxval: the upper bound: 1 by default for floating point, and required for integers.
        dtype: floating point, `int32` or `int64`.
        seed: makes the sequence of results repeatable.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape`.

    Raises:
        ValueError: for another dtype, or integers without a bound.

    >>> import penstock as tf
    >>> x = tf.random.uniform([100], 2.0, 3.0, seed=1).numpy()
    >>> bool(((2.0 <= x) & (x < 3.0)).all())
    True
    """
    target = _checked(dtype, maxval)
    dims = extents(shape)
    if (seed := _own(seed)) is not None:
        return stateless_uniform(dims, _sequence(seed), minval, maxval, target)
    if target in _INTEGERS:
        return raw_ops.random_uniform_int(dims, _bound(minval, target), _bound(maxval, target))
    return _scaled(raw_ops.random_uniform(dims, dtype=target), minval, maxval)


def _checked(dtype: Any, maxval: Any) -> _core.DType:
    target = _core.DType(dtype)
    if not target.is_floating and target not in _INTEGERS:
        raise DTypeError(f"argument 'dtype' must be floating point, int32 or int64, got {target.name}")
    if target in _INTEGERS and maxval is None:
        raise InvalidArgumentError(f"Must specify maxval for integer dtype {target!r}")
    return target


def _bound(value: Any, dtype: _core.DType) -> _core.Tensor:
    bound = value if isinstance(value, _core.Tensor) else _core._to_tensor(value, dtype)
    return bound if bound.dtype == dtype else raw_ops.cast(bound, dtype=dtype)


def _number(value: Any, dtype: _core.DType) -> _core.Tensor:
    """A value that is used with numbers of a dtype: a tensor stays as it is."""
    return value if isinstance(value, _core.Tensor) else _core._to_tensor(value, dtype)


def _is_plain(value: Any, number: int) -> bool:
    """Whether a bound is this number, said in Python: a tensor may differ the next time."""
    return type(value) in (int, float) and value == number


def _scaled(unit: _core.Tensor, minval: Any, maxval: Any) -> _core.Tensor:
    if _is_plain(minval, 0) and (maxval is None or _is_plain(maxval, 1)):
        return unit
    low = _number(minval, unit.dtype)
    high = _number(1 if maxval is None else maxval, unit.dtype)
    return unit * (high - low) + low


@scoped
def normal(
    shape: SizesLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = _core.float32,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of a normal distribution.

    Args:
        shape: the shape of the result.
        mean: the mean; broadcasts with the result.
        stddev: the standard deviation, likewise.
        dtype: floating point.
        seed: makes the sequence of results repeatable.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape`.

    Raises:
        TypeError: for a dtype that is not floating point.

    >>> import penstock as tf
    >>> tf.random.normal([2, 3], seed=1).shape
    TensorShape([2, 3])
    """
    if (seed := _own(seed)) is not None:
        return stateless_normal(shape, _sequence(seed), mean, stddev, dtype)
    return _shifted(raw_ops.random_normal(extents(shape), dtype=_core.DType(dtype)), mean, stddev)


@scoped
def truncated_normal(
    shape: SizesLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = _core.float32,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of a normal distribution, none more than two standard deviations from the mean.

    Args:
        shape: the shape of the result.
        mean: the mean; broadcasts with the result.
        stddev: the standard deviation before values beyond two of it are drawn again, likewise.
        dtype: floating point.
        seed: makes the sequence of results repeatable.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape`.

    Raises:
        TypeError: for a dtype that is not floating point.

    >>> import penstock as tf
    >>> float(abs(tf.random.truncated_normal([100], seed=1).numpy()).max()) <= 2.0
    True
    """
    if (seed := _own(seed)) is not None:
        return stateless_truncated_normal(shape, _sequence(seed), mean, stddev, dtype)
    return _shifted(raw_ops.truncated_normal(extents(shape), dtype=_core.DType(dtype)), mean, stddev)


def _shifted(standard: _core.Tensor, mean: Any, stddev: Any) -> _core.Tensor:
    if _is_plain(mean, 0) and _is_plain(stddev, 1):
        return standard
    return standard * _number(stddev, standard.dtype) + _number(mean, standard.dtype)


@scoped
def stateless_uniform(
    shape: SizesLike,
    seed: SizesLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> _core.Tensor:
    """Draw numbers of equal probability, of a seed of two integers alone; as `uniform`.

    Args:
        shape: the shape of the result.
        seed: two integers.
        minval: the least number; None, with `maxval` None, for integers of all values.
        maxval: the upper bound: 1 by default for floating point, and required for integers.
        dtype: floating point, `int32` or `int64`; for integers of all values `uint32` or `uint64` as well.
        name: a scope for the names of its operations in a graph.
        alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

    Returns:
        A tensor of `dtype` and of shape `shape`: equal seeds, equal numbers.

    Raises:
        ValueError: for another dtype or algorithm, or integers without a bound.
        InvalidArgumentError: for a seed of another shape.

    >>> import penstock as tf
    >>> tf.random.stateless_uniform([2], seed=[1, 2]).shape
    TensorShape([2])
    """
    _check_algorithm(alg)
    target = _core.DType(dtype)
    dims = extents(shape)
    if minval is None and maxval is None and target.is_integer:
        return raw_ops.stateless_random_uniform_full_int(dims, _seed(seed), dtype=target)
    _checked(dtype, maxval)
    if target in _INTEGERS:
        return raw_ops.stateless_random_uniform_int(
            dims, _seed(seed), _bound(minval, target), _bound(maxval, target)
        )
    return _scaled(raw_ops.stateless_random_uniform(dims, _seed(seed), dtype=target), minval, maxval)


@scoped
def stateless_normal(
    shape: SizesLike,
    seed: SizesLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> _core.Tensor:
    """Draw numbers of a normal distribution, of a seed of two integers alone.

    Args:
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        seed: a pair of integers: equal seeds, equal numbers.
        mean: the mean.
        stddev: the standard deviation.
        dtype: a floating-point dtype.
        name: a scope for the names of its operations in a graph.
        alg: accepted; the algorithm is Philox.

    Returns:
        A tensor of `dtype` and of shape `shape`: equal seeds, equal numbers.

    Raises:
        ValueError: for another algorithm.
        InvalidArgumentError: for a seed of another shape.

    >>> import penstock as tf
    >>> a, b = (tf.random.stateless_normal([3], seed=[1, 2]).numpy().tolist() for _ in 'ab')
    >>> a == b
    True
    """
    _check_algorithm(alg)
    return _shifted(
        raw_ops.stateless_random_normal(extents(shape), _seed(seed), dtype=_core.DType(dtype)),
        mean,
        stddev,
    )


@scoped
def stateless_truncated_normal(
    shape: SizesLike,
    seed: SizesLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> _core.Tensor:
    """Draw numbers of a truncated normal distribution, of a seed of two integers alone.

    Args:
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        seed: a pair of integers: equal seeds, equal numbers.
        mean: the mean.
        stddev: the standard deviation before values beyond two of it are drawn again.
        dtype: a floating-point dtype.
        name: a scope for the names of its operations in a graph.
        alg: accepted; the algorithm is Philox.

    Returns:
        A tensor of `dtype` and of shape `shape`: equal seeds, equal numbers.

    Raises:
        ValueError: for another algorithm.
        InvalidArgumentError: for a seed of another shape.

    >>> import penstock as tf
    >>> float(abs(tf.random.stateless_truncated_normal([100], seed=[1, 2]).numpy()).max()) <= 2.0
    True
    """
    _check_algorithm(alg)
    return _shifted(
        raw_ops.stateless_truncated_normal(extents(shape), _seed(seed), dtype=_core.DType(dtype)),
        mean,
        stddev,
    )


def _new_seed(seed: int | None) -> _core.Tensor:
    """Two integers: the next of the sequence of a seed, or drawn from the generator."""
    if (seed := _own(seed)) is not None:
        return _sequence(seed)
    low, high = _core._to_tensor(-(2**62), _core.int64), _core._to_tensor(2**62, _core.int64)
    return raw_ops.random_uniform_int([2], low, high)


@scoped
def gamma(
    shape: SizesLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = _core.float32,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of the gamma distribution, `shape` of them for each pair of parameters.

    The gradient by `alpha` is that of the numbers at a fixed quantile, the one by `beta` that of a scale.

    Args:
        shape: how many numbers to draw for each pair of parameters.
        alpha: the shape of the distribution, positive.
        beta: its inverse scale, positive; 1 by default. It broadcasts with `alpha`.
        dtype: floating point.
        seed: makes the sequence of results repeatable.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape` followed by what the parameters broadcast to.

    Raises:
        InvalidArgumentError: where the parameters do not broadcast.

    >>> import penstock as tf
    >>> tf.random.gamma([3], [0.5, 1.5], seed=1).shape
    TensorShape([3, 2])
    """
    target = _core.DType(dtype)
    alpha = _core._to_tensor(alpha, target)
    rate = _core._to_tensor(1 if beta is None else beta, target)
    both = alpha + raw_ops.zeros_like(rate)
    dims = raw_ops.concat([_dims(shape), raw_ops.shape(both, dtype=_core.int64)], axis=0)
    return raw_ops.stateless_random_gamma(dims, _new_seed(seed), both) / rate


@dispatched
def poisson(
    shape: SizesLike,
    lam: TensorLike,
    dtype: DTypeLike = _core.float32,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of the Poisson distribution, `shape` of them for each mean.

    Args:
        shape: how many numbers to draw for each mean.
        lam: the means, not negative.
        dtype: floating point, `int32` or `int64`.
        seed: makes the sequence of results repeatable.
        name: a name for the result in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape` followed by that of `lam`.

    Raises:
        TypeError: for another dtype.

    >>> import penstock as tf
    >>> tf.random.poisson([4], [0.0, 2.0], seed=1).shape
    TensorShape([4, 2])
    """
    lam = _mean(lam)
    dims = raw_ops.concat([_dims(shape), raw_ops.shape(lam, dtype=_core.int64)], axis=0)
    return raw_ops.stateless_random_poisson(dims, _new_seed(seed), lam, dtype=_core.DType(dtype), name=name)


def _dims(shape: Any) -> _core.Tensor:
    """A shape argument as a vector of 64-bit integers."""
    dims = extents(shape)
    if not dims.dtype.is_integer:
        raise DTypeError(f"argument 'shape' must hold integers, got dtype {dims.dtype.name}")
    return raw_ops.cast(dims, dtype=_core.int64)


def _mean(lam: Any) -> _core.Tensor:
    tensor = _core._to_tensor(lam)
    return tensor if tensor.dtype.is_floating else raw_ops.cast(tensor, dtype=_core.float64)


@scoped
def stateless_gamma(
    shape: SizesLike,
    seed: SizesLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of the gamma distribution, of a seed of two integers alone.

    Args:
        shape: the shape of the result, to which the parameters broadcast.
        seed: two integers.
        alpha: the shape of the distribution, positive.
        beta: its inverse scale, positive; 1 by default.
        dtype: floating point.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape`: equal seeds, equal numbers.

    Raises:
        InvalidArgumentError: where the parameters do not broadcast to `shape`.

    >>> import penstock as tf
    >>> tf.random.stateless_gamma([2, 3], [1, 2], [1.0, 2.0, 3.0]).shape
    TensorShape([2, 3])
    """
    target = _core.DType(dtype)
    numbers = raw_ops.stateless_random_gamma(_dims(shape), _seed(seed), _core._to_tensor(alpha, target))
    return numbers if beta is None else numbers / _core._to_tensor(beta, target)


@dispatched
def stateless_poisson(
    shape: SizesLike,
    seed: SizesLike,
    lam: TensorLike,
    dtype: DTypeLike = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """Draw numbers of the Poisson distribution, of a seed of two integers alone.

    Args:
        shape: the shape of the result, to which `lam` broadcasts.
        seed: two integers.
        lam: the means, not negative.
        dtype: floating point, `int32` or `int64`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `dtype` and of shape `shape`: equal seeds, equal numbers.

    Raises:
        InvalidArgumentError: where `lam` does not broadcast to `shape`.

    >>> import penstock as tf
    >>> tf.random.stateless_poisson([2], [1, 2], 0.0).numpy().tolist()
    [0, 0]
    """
    return raw_ops.stateless_random_poisson(
        _dims(shape), _seed(seed), _mean(lam), dtype=_core.DType(dtype), name=name
    )


def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> _core.Tensor:
    """Put the entries along the first dimension in a random order, each order as likely as any other.

    Args:
        value: a tensor; a scalar is its own.
        seed: makes the sequence of results repeatable.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `value`.

    >>> import penstock as tf
    >>> sorted(tf.random.shuffle([1, 2, 3], seed=1).numpy().tolist())
    [1, 2, 3]
    """
    x = _core._to_tensor(value)
    if x.shape.rank == 0:
        return named(x, name)
    keys = raw_ops.stateless_random_uniform_full_int(raw_ops.shape(x)[:1], _new_seed(seed), dtype=_core.int64)
    return raw_ops.gather(x, raw_ops.argsort(keys, dtype=_core.int64), name=name)


def _seed(seed: Any) -> _core.Tensor:
    pair = _core._to_tensor(seed)
    if not pair.shape.is_compatible_with([2]):
        raise InvalidArgumentError(f"argument 'seed' must have shape [2], got {pair.shape}")
    return pair


def _check_algorithm(alg: Any) -> None:
    if alg not in ("philox", "auto_select"):
        raise InvalidArgumentError(f"argument 'alg' must be 'philox' or 'auto_select', got {alg!r}")


@scoped
def categorical(
    logits: TensorLike,
    num_samples: IntLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Draw classes by their logarithmic probabilities.

    Args:
        logits: a matrix: for each row the logarithms of probabilities, up to a constant.
        num_samples: how many to draw for each row.
        dtype: `int64` unless it is `int32`.
        seed: makes the sequence of results repeatable.
        name: a scope for the names of its operations in a graph.

    Returns:
        A matrix of `dtype` with as many rows as `logits`, and `num_samples` columns.

    Raises:
        ValueError: where `logits` is no matrix.
        TypeError: for logits that are integers.

    >>> import penstock as tf
    >>> tf.random.categorical([[0.0, 0.0]], 5).shape
    TensorShape([1, 5])
    """
    return _classes(logits, num_samples, dtype, lambda shape, dtype: uniform(shape, dtype=dtype, seed=seed))


@scoped
def stateless_categorical(
    logits: TensorLike,
    num_samples: IntLike,
    seed: SizesLike,
    dtype: DTypeLike = _core.int64,
    name: str | None = None,
) -> _core.Tensor:
    """Draw classes by their logarithmic probabilities, of a seed of two integers alone.

    Args:
        logits: of shape `[n, classes]`: logarithms of probabilities, up to a constant.
        num_samples: how many to draw for each row.
        seed: a pair of integers.
        dtype: `int32` or `int64`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A matrix of `dtype` and of shape `[n, num_samples]`: equal seeds, equal classes.

    Raises:
        ValueError: where `logits` is no matrix.
        TypeError: for logits that are integers.

    >>> import penstock as tf
    >>> tf.random.stateless_categorical([[0.0, 0.0]], 5, seed=[1, 2]).shape
    TensorShape([1, 5])
    """
    return _classes(
        logits, num_samples, dtype, lambda shape, dtype: stateless_uniform(shape, seed, dtype=dtype)
    )


def _classes(logits: Any, num_samples: Any, dtype: Any, draw: Any) -> _core.Tensor:
    logits = _core._to_tensor(logits)
    if logits.shape.rank not in (2, None):
        raise InvalidArgumentError(f"argument 'logits' must be a matrix, got shape {logits.shape}")
    if logits.dtype.is_integer:
        raise DTypeError(f"argument 'logits' must be floating point, got {logits.dtype.name}")
    shape = raw_ops.shape(logits, dtype=_core.int64)
    # The greatest of logits with Gumbel noise is distributed as they say.
    unit = draw(
        raw_ops.stack([shape[0], raw_ops.cast(_core._to_tensor(num_samples), dtype=_core.int64), shape[1]]),
        _core.float64,
    )
    noise = -raw_ops.log(-raw_ops.log(raw_ops.maximum(unit, 2.0**-60)))
    noisy = raw_ops.expand_dims(raw_ops.cast(logits, dtype=_core.float64), axis=1) + noise
    return raw_ops.argmax(noisy, axis=2, dtype=_core.int64 if dtype is None else _core.DType(dtype))


@dispatched
def split(seed: SizesLike, num: IntLike = 2, alg: str = "auto_select") -> _core.Tensor:
    """Make seeds of one, as the rows of a matrix.

    Args:
        seed: a pair of integers.
        num: how many seeds to make.
        alg: accepted; the algorithm is Philox.

    Returns:
        A tensor of the dtype of `seed` and of shape `[num, 2]`.

    Raises:
        InvalidArgumentError: for a seed of another shape.

    >>> import penstock as tf
    >>> tf.random.split([1, 2], 3).shape
    TensorShape([3, 2])
    """
    seed = _seed(seed)
    rows = raw_ops.cast(_core._to_tensor(num), dtype=_core.int64)
    return stateless_uniform(raw_ops.stack([rows, 2]), seed, None, None, seed.dtype, alg=alg)


@dispatched
def fold_in(seed: SizesLike, data: TensorLike, alg: str = "auto_select") -> _core.Tensor:
    """Make a seed of another one and an integer.

    Args:
        seed: a pair of integers.
        data: an integer scalar.
        alg: accepted; the algorithm is Philox.

    Returns:
        A vector of two integers of the dtype of `data`.

    Raises:
        InvalidArgumentError: for a seed of another shape.

    >>> import penstock as tf
    >>> tf.random.fold_in([1, 2], 3).shape
    TensorShape([2])
    """
    data = _core._to_tensor(data)
    first = stateless_uniform([], _seed(seed), None, None, data.dtype, alg=alg)
    return raw_ops.stack([first, data])


__getattr__ = _lazily(__name__, {"experimental": "random.experimental"})
_publish(__name__)
