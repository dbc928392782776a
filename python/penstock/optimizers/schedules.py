"""Learning rates that depend on the number of steps."""

from __future__ import annotations

import abc
import math as _math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops

if TYPE_CHECKING:
    from typing import Self

    from penstock._types.aliases import TensorLike

__all__ = ["CosineDecay", "ExponentialDecay", "LearningRateSchedule", "PiecewiseConstantDecay"]


class LearningRateSchedule(abc.ABC):
    """The base: an object that is called with the number of steps so far and gives a learning rate."""

    @abc.abstractmethod
    def __call__(self, step: TensorLike) -> _core.Tensor:
        """Compute the learning rate after `step` steps."""

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one.

        Returns:
            The arguments by their names.

        >>> import penstock as tf
        >>> tf.optimizers.schedules.PiecewiseConstantDecay([10], [1.0, 0.5]).get_config()
        {'boundaries': [10], 'values': [1.0, 0.5], 'name': 'PiecewiseConstant'}
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
        >>> config = {"boundaries": [10], "values": [1.0, 0.5]}
        >>> float(tf.optimizers.schedules.PiecewiseConstantDecay.from_config(config)(0))
        1.0
        """
        return cls(**config)


def _steps(step: TensorLike) -> _core.Tensor:
    return raw_ops.cast(_core._to_tensor(step), dtype=_core.float32)


class ExponentialDecay(LearningRateSchedule):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`.

    Args:
        initial_learning_rate: the rate of the first step.
        decay_steps: after how many steps the rate is multiplied once.
        decay_rate: what it is multiplied by.
        staircase: whether it is multiplied all at once, by the whole part of the quotient.
        name: a name for people.

    >>> import penstock as tf
    >>> float(tf.optimizers.schedules.ExponentialDecay(1.0, decay_steps=2, decay_rate=0.25)(4))
    0.0625
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        decay_rate: float,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        self.initial_learning_rate: float = initial_learning_rate
        self.decay_steps: int = decay_steps
        self.decay_rate: float = decay_rate
        self.staircase: bool = staircase
        self.name: str = name

    def __call__(self, step: TensorLike) -> _core.Tensor:
        """Compute the learning rate after `step` steps."""
        times = _steps(step) / float(self.decay_steps)
        if self.staircase:
            times = raw_ops.floor(times)
        return self.initial_learning_rate * float(self.decay_rate) ** times


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[i]` for the first `i` for which the step is not past `boundaries[i]`, else the last value.

    Args:
        boundaries: ascending numbers of steps.
        values: rates, one more than there are boundaries.
        name: a name for people.

    Raises:
        ValueError: where there is another number of values.

    >>> import penstock as tf
    >>> [float(tf.optimizers.schedules.PiecewiseConstantDecay([10], [1.0, 0.5])(step)) for step in (10, 11)]
    [1.0, 0.5]
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        if len(values) != len(boundaries) + 1:
            raise ValueError(
                f"argument 'values' must have {len(boundaries) + 1} entries, one more than 'boundaries', "
                f"got {len(values)}"
            )
        self.boundaries: Sequence[float] = boundaries
        self.values: Sequence[float] = values
        self.name: str = name

    def __call__(self, step: TensorLike) -> _core.Tensor:
        """Compute the learning rate after `step` steps."""
        past = _steps(step) > _core._to_tensor([float(b) for b in self.boundaries], _core.float32)
        index = raw_ops.reduce_sum(raw_ops.cast(past, dtype=_core.int32))
        return raw_ops.gather(_core._to_tensor([float(v) for v in self.values], _core.float32), index)


class CosineDecay(LearningRateSchedule):
    """Half a wave of the cosine from a rate to `alpha` times it: Loshchilov and Hutter, "SGDR" (2016).

    Args:
        initial_learning_rate: the rate that the decay starts from; that of step 0 if there is no warm-up.
        decay_steps: the number of steps of the decay.
        alpha: the part of the rate that is left at the end.
        name: a name for people.
        warmup_target: the rate that a straight rise from `initial_learning_rate` reaches before the decay
            starts from it.
        warmup_steps: the number of steps of the rise.

    >>> import penstock as tf
    >>> schedule = tf.optimizers.schedules.CosineDecay(2.0, decay_steps=10)
    >>> [round(float(schedule(step)), 5) for step in (0, 5, 10, 11)]
    [2.0, 1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: int = 0,
    ) -> None:
        self.initial_learning_rate: float = initial_learning_rate
        self.decay_steps: int = decay_steps
        self.alpha: float = alpha
        self.name: str = name
        self.warmup_target: float | None = warmup_target
        self.warmup_steps: int = warmup_steps

    def __call__(self, step: TensorLike) -> _core.Tensor:
        """Compute the learning rate after `step` steps."""
        steps = _steps(step)
        if self.warmup_target is None:
            return self._decayed(steps, self.initial_learning_rate)
        rise = self.warmup_target - self.initial_learning_rate
        warming = self.initial_learning_rate + rise * (steps / float(max(self.warmup_steps, 1)))
        decaying = self._decayed(steps - float(self.warmup_steps), self.warmup_target)
        return raw_ops.select(steps < float(self.warmup_steps), warming, decaying)

    def _decayed(self, steps: _core.Tensor, start: float) -> _core.Tensor:
        done = raw_ops.minimum(steps, float(self.decay_steps)) / float(self.decay_steps)
        wave = 0.5 * (1.0 + raw_ops.cos(done * _math.pi))
        return start * ((1.0 - self.alpha) * wave + self.alpha)
