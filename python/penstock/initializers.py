"""First values of variables: objects that make a tensor of a given shape and dtype."""

from __future__ import annotations

import math as _math
from typing import Any

from penstock import _core, random
from penstock._array import ones, zeros
from penstock._shape import TensorShape

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Initializer",
    "Ones",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "Zeros",
]


class Initializer:
    """Makes a tensor: called with a shape, and a dtype that is `float32` by default."""

    def __call__(self, shape: Any, dtype: Any = _core.float32, **kwargs: Any) -> _core.Tensor:
        """The tensor."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """One of the arguments that `get_config` gave."""
        return cls(**config)


class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape: Any, dtype: Any = _core.float32, **kwargs: Any) -> _core.Tensor:
        """The tensor."""
        return zeros(shape, dtype)


class Ones(Initializer):
    """Ones."""

    def __call__(self, shape: Any, dtype: Any = _core.float32, **kwargs: Any) -> _core.Tensor:
        """The tensor."""
        return ones(shape, dtype)


class Constant(Initializer):
    """A value: a scalar, or one that has as many elements as the tensor.

    >>> Constant(2.0)([2]).numpy().tolist()
    [2.0, 2.0]
    """

    def __init__(self, value: Any = 0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> _core.Tensor:
        """The tensor."""
        from penstock._conversion import constant

        return constant(self.value, dtype, shape)


class _Random(Initializer):
    """Draws from a distribution; a seed makes the sequence of draws repeatable."""

    seed: int | None

    def _distribution(self, shape: Any, dtype: Any) -> _core.Tensor:
        raise NotImplementedError

    def __call__(self, shape: Any, dtype: Any = _core.float32, **kwargs: Any) -> _core.Tensor:
        """The tensor."""
        target = _core.DType(dtype)
        if not target.is_floating:
            raise ValueError(f"argument 'dtype' must be floating point, got {target.name}")
        return self._distribution(TensorShape(shape).as_list(), target)


class RandomUniform(_Random):
    """Numbers of equal probability between two bounds."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _distribution(self, shape: Any, dtype: Any) -> _core.Tensor:
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class RandomNormal(_Random):
    """Numbers of a normal distribution."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _distribution(self, shape: Any, dtype: Any) -> _core.Tensor:
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Numbers of a normal distribution, none of them more than two standard deviations from the mean."""

    def _distribution(self, shape: Any, dtype: Any) -> _core.Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class _Scaled(_Random):
    """Draws whose variance follows from the number of inputs and outputs of a layer."""

    _gain = 1.0
    _both = True
    _uniform = True

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def _distribution(self, shape: Any, dtype: Any) -> _core.Tensor:
        inputs, outputs = _fans(shape)
        variance = self._gain / max(1.0, (inputs + outputs) / 2 if self._both else inputs)
        if self._uniform:
            limit = _math.sqrt(3.0 * variance)
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        # A normal distribution cut at two standard deviations is narrower by this factor.
        return random.truncated_normal(
            shape, 0.0, _math.sqrt(variance) / 0.87962566103423978, dtype, self.seed
        )


def _fans(shape: Any) -> tuple[float, float]:
    """The numbers of inputs and outputs of a layer whose weights have a shape."""
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    window = float(_math.prod(shape[:-2]))
    return shape[-2] * window, shape[-1] * window


class GlorotUniform(_Scaled):
    """Glorot and Bengio's: uniform, of variance 2 / (inputs + outputs)."""


class GlorotNormal(_Scaled):
    """Glorot and Bengio's: normal, of variance 2 / (inputs + outputs)."""

    _uniform = False


class HeUniform(_Scaled):
    """He's: uniform, of variance 2 / inputs."""

    _gain, _both = 2.0, False


class HeNormal(_Scaled):
    """He's: normal, of variance 2 / inputs."""

    _gain, _both, _uniform = 2.0, False, False


zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
random_uniform_initializer, random_normal_initializer = RandomUniform, RandomNormal
