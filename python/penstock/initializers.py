"""First values of variables: objects that make a tensor of a given shape and dtype."""

from __future__ import annotations

import abc
import math as _math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock import _core, random, raw_ops
from penstock._ops import creation as _creation
from penstock._runtime.lazy_names import from_keras as _from_keras
from penstock._types.shape import TensorShape

if TYPE_CHECKING:
    from typing import Self

    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "LecunNormal",
    "LecunUniform",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "constant",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]

__getattr__ = _from_keras(__name__, ("STFT", "deserialize", "get", "serialize", "stft"))


class Initializer(abc.ABC):
    """Makes a tensor: called with a shape, and a dtype that is `float32` by default."""

    @abc.abstractmethod
    def __call__(self, shape: ShapeLike, dtype: DTypeLike = _core.float32, **kwargs: Any) -> _core.Tensor:
        """Make the tensor."""

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one.

        Returns:
            The arguments by their names.

        >>> import penstock as tf
        >>> tf.initializers.RandomNormal(stddev=0.5, seed=1).get_config()
        {'mean': 0.0, 'stddev': 0.5, 'seed': 1}
        """
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Make one of the arguments that `get_config` gave.

        Args:
            config: arguments by their names.

        Returns:
            An object of this class.

        >>> import penstock as tf
        >>> tf.initializers.Constant.from_config({"value": 2.0})([2]).numpy().tolist()
        [2.0, 2.0]
        """
        return cls(**config)


class Zeros(Initializer):
    """Zeros.

    >>> import penstock as tf
    >>> tf.initializers.Zeros()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = _core.float32, **kwargs: Any) -> _core.Tensor:
        """Make the tensor."""
        sizes: Any = shape
        return _creation.zeros(sizes, dtype)


class Ones(Initializer):
    """Ones.

    >>> import penstock as tf
    >>> tf.initializers.Ones()([2]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = _core.float32, **kwargs: Any) -> _core.Tensor:
        """Make the tensor."""
        sizes: Any = shape
        return _creation.ones(sizes, dtype)


class Constant(Initializer):
    """A value: a scalar, or one that has as many elements as the tensor.

    Args:
        value: the value.
        support_partition: whether parts of the tensor can be made, by `partition_shape` and
            `partition_offset` in a call, of a value of the shape of the whole.

    >>> import penstock as tf
    >>> tf.initializers.Constant(2.0)([2]).numpy().tolist()
    [2.0, 2.0]
    """

    def __init__(self, value: TensorLike = 0, support_partition: bool = False) -> None:
        self.value = value
        self.support_partition = support_partition

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> _core.Tensor:
        """Make the tensor."""
        from penstock._runtime.conversion import constant  # no name of this module

        part, offset = kwargs.get("partition_shape"), kwargs.get("partition_offset")
        if part is None:
            return constant(self.value, dtype, shape)
        whole = constant(self.value)
        if whole.shape.rank == 0:
            return constant(self.value, dtype, part)
        if not self.support_partition:
            raise ValueError("argument 'partition_shape' needs a Constant with support_partition=True")
        start = [0] * len(part) if offset is None else list(offset)
        slices = tuple(slice(a, a + n) for a, n in zip(start, part, strict=True))
        return constant(constant(self.value, dtype, shape)[slices].numpy(), dtype, part)


class _Random(Initializer):
    """Draws from a distribution; a seed makes the sequence of draws repeatable."""

    seed: int | None

    @abc.abstractmethod
    def _distribution(self, shape: list[Any], dtype: _core.DType) -> _core.Tensor: ...

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = _core.float32, **kwargs: Any) -> _core.Tensor:
        """Make the tensor."""
        target = _core.DType(dtype)
        if not target.is_floating:
            raise ValueError(f"argument 'dtype' must be floating point, got {target.name}")
        return self._distribution(TensorShape(shape).as_list(), target)


class RandomUniform(_Random):
    """Numbers of equal probability between two bounds.

    >>> import penstock as tf
    >>> tf.initializers.RandomUniform(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval: float = minval
        self.maxval: float = maxval
        self.seed: int | None = seed

    def _distribution(self, shape: list[Any], dtype: _core.DType) -> _core.Tensor:
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class RandomNormal(_Random):
    """Numbers of a normal distribution.

    >>> import penstock as tf
    >>> tf.initializers.RandomNormal(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean: float = mean
        self.stddev: float = stddev
        self.seed: int | None = seed

    def _distribution(self, shape: list[Any], dtype: _core.DType) -> _core.Tensor:
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Numbers of a normal distribution, none of them more than two standard deviations from the mean.

    >>> import penstock as tf
    >>> tf.initializers.TruncatedNormal(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    def _distribution(self, shape: list[Any], dtype: _core.DType) -> _core.Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class VarianceScaling(_Random):
    """Draws whose variance follows from the numbers of inputs and outputs of a layer.

    Args:
        scale: the variance times the number that `mode` names; positive.
        mode: `"fan_in"`, the number of inputs; `"fan_out"`, that of outputs; or `"fan_avg"`, the mean of
            both.
        distribution: `"truncated_normal"`, `"untruncated_normal"` or `"uniform"`; a normal distribution is
            cut at two standard deviations in the first case.
        seed: makes the sequence of draws repeatable.

    Raises:
        ValueError: for another argument.

    >>> import penstock as tf
    >>> tf.initializers.VarianceScaling(seed=1)([3, 4]).shape
    TensorShape([3, 4])
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        if scale <= 0:
            raise ValueError(f"argument 'scale' must be positive, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"argument 'mode' must be 'fan_in', 'fan_out' or 'fan_avg', got {mode!r}")
        distribution = {"normal": "truncated_normal"}.get(distribution, distribution)
        if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise ValueError(
                "argument 'distribution' must be 'truncated_normal', 'untruncated_normal' or 'uniform', "
                f"got {distribution!r}"
            )
        self.scale: float = scale
        self.mode: str = mode
        self.distribution: str = distribution
        self.seed: int | None = seed

    def _distribution(self, shape: list[Any], dtype: _core.DType) -> _core.Tensor:
        inputs, outputs = _fans(shape)
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = _math.sqrt(3.0 * variance)
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        deviation = _math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, deviation, dtype, self.seed)
        # A normal distribution cut at two standard deviations is narrower by this factor.
        return random.truncated_normal(shape, 0.0, deviation / 0.87962566103423978, dtype, self.seed)


class _Fixed(VarianceScaling):
    """Draws of one scale, mode and distribution."""

    _kind: tuple[float, str, str]

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(*self._kind, seed=seed)

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one.

        Returns:
            The arguments by their names.

        >>> import penstock as tf
        >>> tf.initializers.HeNormal(seed=1).get_config()
        {'seed': 1}
        """
        return {"seed": self.seed}


def _fans(shape: list[Any]) -> tuple[float, float]:
    """The numbers of inputs and outputs of a layer whose weights have a shape."""
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    window = float(_math.prod(shape[:-2]))
    return shape[-2] * window, shape[-1] * window


class GlorotUniform(_Fixed):
    """Glorot and Bengio's (2010): uniform, of variance 2 / (inputs + outputs).

    >>> import penstock as tf
    >>> tf.initializers.GlorotUniform(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    _kind = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Fixed):
    """Glorot and Bengio's (2010): normal, of variance 2 / (inputs + outputs).

    >>> import penstock as tf
    >>> tf.initializers.GlorotNormal(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    _kind = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Fixed):
    """He's (2015): uniform, of variance 2 / inputs.

    >>> import penstock as tf
    >>> tf.initializers.HeUniform(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    _kind = (2.0, "fan_in", "uniform")


class HeNormal(_Fixed):
    """He's (2015): normal, of variance 2 / inputs.

    >>> import penstock as tf
    >>> tf.initializers.HeNormal(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    _kind = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Fixed):
    """LeCun's (1998): uniform, of variance 1 / inputs.

    >>> import penstock as tf
    >>> tf.initializers.LecunUniform(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    _kind = (1.0, "fan_in", "uniform")


class LecunNormal(_Fixed):
    """LeCun's (1998): normal, of variance 1 / inputs.

    >>> import penstock as tf
    >>> tf.initializers.LecunNormal(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    _kind = (1.0, "fan_in", "truncated_normal")


class Orthogonal(_Random):
    """A matrix with orthonormal rows or columns, whichever are fewer, drawn evenly from all of them.

    Of a shape of more than two dimensions all but the last are the rows (Saxe, McClelland and Ganguli, 2013).

    Args:
        gain: what it is multiplied by.
        seed: makes the sequence of draws repeatable.

    Raises:
        ValueError: for a shape of less than two dimensions.

    >>> import penstock as tf
    >>> q = tf.initializers.Orthogonal(seed=3)([2, 3])
    >>> (q @ tf.transpose(q)).numpy().round(4).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain: float = gain
        self.seed: int | None = seed

    def _distribution(self, shape: list[Any], dtype: _core.DType) -> _core.Tensor:
        if len(shape) < 2:
            raise ValueError(f"argument 'shape' must have at least two dimensions, got {shape}")
        rows, columns = _math.prod(shape[:-1]), shape[-1]
        drawn = random.normal([max(rows, columns), min(rows, columns)], 0.0, 1.0, dtype, self.seed)
        q, r = raw_ops.qr(drawn)
        # With the signs of r's diagonal q is distributed evenly (Mezzadri, 2006).
        q = q * raw_ops.sign(raw_ops.matrix_diag_part(r))
        if rows < columns:
            q = raw_ops.transpose(q)
        return self.gain * raw_ops.reshape(q, shape)


class Identity(Initializer):
    """The identity matrix, times a number.

    Args:
        gain: the number.

    Raises:
        ValueError: for a shape that is not that of a matrix.

    >>> import penstock as tf
    >>> tf.initializers.Identity(2.0)([2, 2]).numpy().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = _core.float32, **kwargs: Any) -> _core.Tensor:
        """Make the tensor."""
        dims = [d for d in TensorShape(shape).as_list() if d is not None]
        if len(dims) != 2:
            raise ValueError(f"argument 'shape' must have two known dimensions, got {TensorShape(shape)}")
        return _creation.eye(dims[0], dims[1], dtype=dtype) * _core._to_tensor_hinted(
            self.gain, _core.DType(dtype)
        )


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal


# TensorFlow has the classes under these names too.
constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
identity = Identity
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
ones = Ones
orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros
