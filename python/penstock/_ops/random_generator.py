"""Generators of random numbers that are objects: each has a state of its own, in a variable."""

from __future__ import annotations

import enum
import secrets
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import extents, integer, known_rank, results
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._values.variable import Variable
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

__all__ = ["Algorithm", "Generator", "get_global_generator", "set_global_generator", "state_of_seed"]


class Algorithm(enum.IntEnum):
    """Algorithms of generators. There is one, Philox4x32-10.

    >>> import penstock as tf
    >>> tf.random.Algorithm.PHILOX.value
    1
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_WORDS = 3
_MASK = 2**64 - 1


def _algorithm(alg: Any) -> int:
    if alg is None or alg in ("philox", "auto_select", Algorithm.PHILOX, Algorithm.AUTO_SELECT):
        return int(Algorithm.PHILOX)
    raise InvalidArgumentError(f"argument 'alg' must be 'philox' or 'auto_select', got {alg!r}")


def _signed(word: int) -> int:
    word &= _MASK
    return word - 2**64 if word >= 2**63 else word


def state_of_seed(seed: Any) -> Any:
    """The state that TensorFlow makes of a seed: its words, the lowest first; a short list fills the end."""
    if isinstance(seed, int):
        return [_signed(seed >> 64 * i) for i in range(_WORDS)]
    if isinstance(seed, list | tuple) and all(isinstance(word, int) for word in seed):
        given = [_signed(word) for word in seed[:_WORDS]]
        return [0] * (_WORDS - len(given)) + given
    words = raw_ops.reshape(raw_ops.cast(_core._to_tensor(seed), dtype=_core.int64), [-1])[:_WORDS]
    return raw_ops.concat([_core._to_tensor([0] * _WORDS, _core.int64), words], axis=0)[-_WORDS:]


class Generator:
    """A source of random numbers with a state of its own.

    The same state gives the same numbers, on every device. In a traced function each call draws anew, as the
    program says: the state is a variable, made outside of the function or when it is first traced. Drawing
    and moving the state on is one step, for all threads.

    Args:
        copy_from: another generator, whose state this one starts with.
        state: three integers: the lower and the upper half of the counter, and the key.
        alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

    Raises:
        ValueError: for another algorithm, or a state of another size.

    >>> import penstock as tf
    >>> g = tf.random.Generator.from_seed(1234)
    >>> first = g.normal([2, 3])
    >>> g.reset_from_seed(1234)
    >>> bool(tf.reduce_all(g.normal([2, 3]) == first))
    True
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is not None:
            if state is not None or alg is not None:
                raise InvalidArgumentError("argument 'copy_from' must be given alone")
            expect(copy_from, Generator, "copy_from", "a tf.random.Generator")
            with _core._Outside():
                state, alg = copy_from.state.read_value(), copy_from.algorithm
        elif state is None:
            raise InvalidArgumentError("one of the arguments 'copy_from' and 'state' must be given")
        self._alg = _algorithm(alg)
        self._state = Variable(
            lambda: _checked_state(state), trainable=False, dtype=_core.int64, name="StateVar"
        )

    @classmethod
    def from_state(cls, state: SizesLike, alg: str | int | None = "auto_select") -> Generator:
        """Make a generator of a state.

        Args:
            state: three integers, or a tensor of them: the lower and the upper half of the counter, and the
                key.
            alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

        Returns:
            The generator.

        Raises:
            ValueError: for another algorithm, or a state of another size.

        >>> import penstock as tf
        >>> tf.random.Generator.from_state([0, 0, 1]).normal([2]).shape
        TensorShape([2])
        """
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: IntLike | SizesLike, alg: str | int | None = None) -> Generator:
        """Make a generator of a seed.

        Args:
            seed: an integer of up to 192 bits, or up to three integers.
            alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

        Returns:
            The generator.

        Raises:
            ValueError: for another algorithm.

        >>> import penstock as tf
        >>> tf.random.Generator.from_seed(1234).normal([2]).shape
        TensorShape([2])
        """
        return cls(state=state_of_seed(seed), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: str | int | None = None) -> Generator:
        """Make a generator of a state that the operating system's source of randomness gives.

        Args:
            alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

        Returns:
            The generator.

        Raises:
            ValueError: for another algorithm.

        >>> import penstock as tf
        >>> tf.random.Generator.from_non_deterministic_state().normal([2]).shape
        TensorShape([2])
        """
        return cls(state=state_of_seed(secrets.randbits(64 * _WORDS)), alg=alg)

    @classmethod
    def from_key_counter(
        cls, key: IntLike, counter: SizesLike, alg: str | int | None = "auto_select"
    ) -> Generator:
        """Make a generator of a key and a counter.

        Args:
            key: an integer.
            counter: two integers: the lower and the upper half.
            alg: the algorithm: `"philox"`, or `"auto_select"` for the same.

        Returns:
            The generator.

        Raises:
            ValueError: for another algorithm, or a counter of another size.

        >>> import penstock as tf
        >>> tf.random.Generator.from_key_counter(1, [0, 0]).state.numpy().tolist()
        [0, 0, 1]
        """
        return cls(state=_key_counter(key, counter), alg=alg)

    def _trackable_children(self) -> dict[str, Any]:
        """What a checkpoint holds, by TensorFlow's name."""
        return {"_state_var": self._state}

    def reset(self, state: SizesLike) -> None:
        """Put the generator into a state.

        Args:
            state: three integers, or a tensor of them: the lower and the upper half of the counter, and the
                key.

        Raises:
            ValueError: for a state of another size.

        >>> import penstock as tf
        >>> g = tf.random.Generator.from_seed(1)
        >>> g.reset([0, 0, 7])
        >>> g.state.numpy().tolist()
        [0, 0, 7]
        """
        self._state.assign(_checked_state(state))

    def reset_from_seed(self, seed: IntLike | SizesLike) -> None:
        """Put the generator into the state of a seed.

        Args:
            seed: an integer of up to 192 bits, or up to three integers.

        >>> import penstock as tf
        >>> g = tf.random.Generator.from_seed(1)
        >>> g.reset_from_seed(7)
        >>> g.state.numpy().tolist()
        [7, 0, 0]
        """
        self.reset(state_of_seed(seed))

    def reset_from_key_counter(self, key: IntLike, counter: SizesLike) -> None:
        """Put the generator into the state of a key and a counter.

        Args:
            key: an integer.
            counter: two integers: the lower and the upper half.

        Raises:
            ValueError: for a counter of another size.

        >>> import penstock as tf
        >>> g = tf.random.Generator.from_seed(1)
        >>> g.reset_from_key_counter(7, [0, 0])
        >>> g.state.numpy().tolist()
        [0, 0, 7]
        """
        self.reset(_key_counter(key, counter))

    @property
    def state(self) -> Variable:
        """The variable that holds the state."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> _core.Tensor:
        """The key."""
        return self._state.read_value()[_WORDS - 1]

    def skip(self, delta: IntLike) -> _core.Tensor:
        """Move the state on as drawing `delta` numbers does.

        Args:
            delta: how many numbers to pass over.

        Returns:
            The state before, a vector of three `int64`.

        >>> import penstock as tf
        >>> g = tf.random.Generator.from_seed(1)
        >>> g.skip(256).numpy().tolist()
        [1, 0, 0]
        """
        return raw_ops.rng_read_and_skip(
            self._state, raw_ops.cast(_core._to_tensor(delta), dtype=_core.int64)
        )

    def _reserve(self, dims: Any) -> _core.Tensor:
        """The state for numbers of this shape; it is moved on beyond them."""
        return self.skip(raw_ops.reduce_prod(raw_ops.cast(dims, dtype=_core.int64)))

    @scoped
    def normal(
        self,
        shape: SizesLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = _core.float32,
        name: str | None = None,
    ) -> _core.Tensor:
        """Draw numbers of a normal distribution.

        Args:
            shape: the shape of the result.
            mean: the mean; broadcasts with the result.
            stddev: the standard deviation, likewise.
            dtype: floating point.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of `dtype` and of shape `shape`.

        >>> import penstock as tf
        >>> tf.random.Generator.from_seed(1).normal([2, 3]).shape
        TensorShape([2, 3])
        """
        dims = extents(shape)
        unit = raw_ops.stateless_random_normal(dims, self._reserve(dims), dtype=_core.DType(dtype))
        return unit * _core._to_tensor(stddev, unit.dtype) + _core._to_tensor(mean, unit.dtype)

    @scoped
    def truncated_normal(
        self,
        shape: SizesLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = _core.float32,
        name: str | None = None,
    ) -> _core.Tensor:
        """Draw numbers of a normal distribution, none more than two standard deviations from the mean.

        Args:
            shape: the shape of the result.
            mean: the mean; broadcasts with the result.
            stddev: the standard deviation, likewise.
            dtype: floating point.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of `dtype` and of shape `shape`.

        >>> import penstock as tf
        >>> tf.random.Generator.from_seed(1).truncated_normal([2, 3]).shape
        TensorShape([2, 3])
        """
        dims = extents(shape)
        unit = raw_ops.stateless_truncated_normal(dims, self._reserve(dims), dtype=_core.DType(dtype))
        return unit * _core._to_tensor(stddev, unit.dtype) + _core._to_tensor(mean, unit.dtype)

    @scoped
    def uniform(
        self,
        shape: SizesLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = _core.float32,
        name: str | None = None,
    ) -> _core.Tensor:
        """Draw numbers of equal probability between `minval`, included, and `maxval`, not included.

        Args:
            shape: the shape of the result.
            minval: the least number.
            maxval: the upper bound: 1 by default for floating point, and required for integers.
            dtype: floating point or integer.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of `dtype` and of shape `shape`.

        Raises:
            ValueError: for integers without a bound, or another dtype.

        >>> import penstock as tf
        >>> tf.random.Generator.from_seed(1).uniform([2, 3], 0, 10, tf.int32).shape
        TensorShape([2, 3])
        """
        target, dims = _core.DType(dtype), extents(shape)
        if target.is_integer:
            if maxval is None:
                raise InvalidArgumentError(f"Must specify maxval for integer dtype {target!r}")
            low, high = _core._to_tensor(minval, target), _core._to_tensor(maxval, target)
            return raw_ops.stateless_random_uniform_int(dims, self._reserve(dims), low, high)
        if not target.is_floating:
            raise DTypeError(f"argument 'dtype' must be floating point or integer, got {target.name}")
        unit = raw_ops.stateless_random_uniform(dims, self._reserve(dims), dtype=target)
        low = _core._to_tensor(minval, target)
        return unit * (_core._to_tensor(1 if maxval is None else maxval, target) - low) + low

    def uniform_full_int(
        self, shape: SizesLike, dtype: DTypeLike = _core.uint64, name: str | None = None
    ) -> _core.Tensor:
        """Draw integers of equal probability among all of a dtype.

        Args:
            shape: the shape of the result.
            dtype: `int32`, `uint32`, `int64` or `uint64`.
            name: a name for the result in a graph.

        Returns:
            A tensor of `dtype` and of shape `shape`.

        Raises:
            ValueError: for another dtype.

        >>> import penstock as tf
        >>> tf.random.Generator.from_seed(1).uniform_full_int([2]).dtype
        tf.uint64
        """
        target, dims = _core.DType(dtype), extents(shape)
        if target not in (_core.int32, _core.uint32, _core.int64, _core.uint64):
            raise DTypeError(f"argument 'dtype' must be int32, uint32, int64 or uint64, got {target.name}")
        return raw_ops.stateless_random_uniform_full_int(dims, self._reserve(dims), dtype=target, name=name)

    def binomial(
        self,
        shape: SizesLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = _core.int32,
        name: str | None = None,
    ) -> _core.Tensor:
        """Draw how many of a number of trials succeed.

        Args:
            shape: the shape of the result, to which `counts` and `probs` broadcast.
            counts: numbers of trials, not negative, in the dtype of `probs`.
            probs: probabilities in [0, 1], of known rank.
            dtype: `int32`, `int64`, `float16`, `float32` or `float64`.
            name: a name for the result in a graph.

        Returns:
            A tensor of `dtype` and of shape `shape`.

        Raises:
            InvalidArgumentError: for a negative count, or a probability outside of [0, 1].

        >>> import penstock as tf
        >>> tf.random.Generator.from_seed(1).binomial([3], 10.0, 1.0).numpy().tolist()
        [10, 10, 10]
        """
        dims = extents(shape)
        probs = _core._to_tensor(probs)
        counts = raw_ops.cast(_core._to_tensor_hinted(counts, probs.dtype), dtype=probs.dtype)
        # TensorFlow reserves 50 blocks for each sample, and for three more, of each pair of parameters.
        batch = max(len(known_rank(counts)), len(known_rank(probs)))
        along = raw_ops.cast(dims, dtype=_core.int64)
        leading = raw_ops.size(along) - batch
        samples, members = (raw_ops.reduce_prod(part) for part in (along[:leading], along[leading:]))
        state = self.skip(50 * members * (samples + 3))
        return raw_ops.stateless_random_binomial(
            dims, state, counts, probs, dtype=_core.DType(dtype), name=name
        )

    def make_seeds(self, count: TensorLike = 1) -> _core.Tensor:
        """Make seeds for functions whose names begin with `stateless_`.

        Args:
            count: how many seeds to make.

        Returns:
            An `int64` matrix of two rows, whose columns are the seeds.

        >>> import penstock as tf
        >>> seeds = tf.random.Generator.from_seed(1).make_seeds(3)
        >>> tf.random.stateless_normal([2], seeds[:, 0]).shape
        TensorShape([2])
        """
        keys = self.uniform_full_int([count], _core.int64)
        return raw_ops.stack([keys, raw_ops.zeros_like(keys)])

    def split(self, count: IntLike = 1) -> list[Generator]:
        """Make generators with keys drawn from this one, which draw independently of it and of each other.

        Args:
            count: how many to make.

        Returns:
            As many generators.

        >>> import penstock as tf
        >>> [g.normal([2]).shape for g in tf.random.Generator.from_seed(1).split(2)]
        [TensorShape([2]), TensorShape([2])]
        """
        number = integer(count, "count")
        keys = self.uniform_full_int([number], _core.int64)
        zeros = raw_ops.zeros_like(keys)
        states = raw_ops.stack([zeros, zeros, keys], axis=1)
        return [Generator(state=state) for state in results(raw_ops.unstack(states, num=number))]

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        copy = Generator(copy_from=self)
        memo[id(self)] = copy
        return copy


def _key_counter(key: Any, counter: Any) -> _core.Tensor:
    key, counter = _core._to_tensor_hinted(key, _core.int64), _core._to_tensor_hinted(counter, _core.int64)
    if not counter.shape.is_compatible_with([2]):
        raise InvalidArgumentError(f"argument 'counter' must have shape [2], got {counter.shape}")
    return raw_ops.concat([counter, raw_ops.reshape(key, [1])], axis=0)


def _checked_state(state: Any) -> _core.Tensor:
    """A state as a tensor of three `int64`."""
    if isinstance(state, _core._Variable):
        state = state.read_value()
    if isinstance(state, list | tuple) and all(isinstance(word, int) for word in state):
        state = [_signed(word) for word in state]
    tensor = _core._to_tensor_hinted(state, _core.int64)
    tensor = raw_ops.cast(tensor, dtype=_core.int64)
    if not tensor.shape.is_compatible_with([_WORDS]):
        raise InvalidArgumentError(f"argument 'state' must have shape [{_WORDS}], got {tensor.shape}")
    return tensor


class _Global:
    generator: Generator | None = None


def get_global_generator() -> Generator:
    """Give the global generator; the first call makes it, of a state of the operating system's.

    Returns:
        The generator.

    >>> import penstock as tf
    >>> tf.random.get_global_generator().normal([2]).shape
    TensorShape([2])
    """
    if _Global.generator is None:
        with _core._Outside():
            _Global.generator = Generator.from_non_deterministic_state()
    return _Global.generator


def set_global_generator(generator: Generator) -> None:
    """Make a generator the global one. Functions that were traced before go on with the one of then.

    Args:
        generator: a `tf.random.Generator`.

    >>> import penstock as tf
    >>> tf.random.set_global_generator(tf.random.get_global_generator())
    """
    _Global.generator = generator
