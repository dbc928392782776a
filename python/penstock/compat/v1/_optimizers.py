"""TensorFlow 1's optimisers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from penstock import _core
from penstock._ops import optimizer_steps as steps
from penstock._values.variable import Variable
from penstock.compat.v1._optimizer import Optimizer, Rate

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
]


class GradientDescentOptimizer(Optimizer):
    """Subtracts the gradient times a learning rate.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.GradientDescentOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(self, learning_rate: Rate, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        return steps.gradient_descent(value, self._number(self._learning_rate, value), grad)


class MomentumOptimizer(Optimizer):
    """Follows a sum of past gradients, of which older ones count less.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        momentum: how much of the sum before stays.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.
        use_nesterov: whether to step by the sum that the next gradient would meet.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.MomentumOptimizer(0.5, 0.0).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    _slots: ClassVar[dict[str, float]] = {"momentum": 0.0}

    def __init__(
        self,
        learning_rate: Rate,
        momentum: Rate,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        rate, momentum = self._number(self._learning_rate, value), self._number(self._momentum, value)
        (accum,) = slots
        return steps.momentum(value, accum, rate, grad, momentum, self._use_nesterov)


class AdagradOptimizer(Optimizer):
    """Divides gradients by the root of the sum of all their squares.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        initial_accumulator_value: what the sums begin with; above 0.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    Raises:
        ValueError: for a number out of its range.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.AdagradOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(
        self,
        learning_rate: Rate,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        super().__init__(use_locking, name)
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"argument 'initial_accumulator_value' must be above 0, got {initial_accumulator_value}"
            )
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        (accum,) = slots
        return steps.adagrad(value, accum, self._number(self._learning_rate, value), grad, True)

    def _slot_starts(self) -> dict[str, float]:
        return {"accumulator": self._initial_accumulator_value}


class AdagradDAOptimizer(Optimizer):
    """Follows the sum of all gradients, divided by the root of the sum of their squares.

    A variable is what this sum makes of it, whatever it began with. With a penalty of absolute values many of
    its elements are 0.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        global_step: the number of updates so far, an integer variable or tensor.
        initial_gradient_squared_accumulator_value: what the sums of squares begin with; above 0.
        l1_regularization_strength: the weight of absolute values.
        l2_regularization_strength: the weight of squares.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    Raises:
        ValueError: for a number out of its range.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> step = tf.Variable(0, dtype=tf.int64, trainable=False)
    >>> tf.compat.v1.train.AdagradDAOptimizer(0.5, step).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(
        self,
        learning_rate: Rate,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        super().__init__(use_locking, name)
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "argument 'initial_gradient_squared_accumulator_value' must be above 0, got "
                f"{initial_gradient_squared_accumulator_value}"
            )
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_squares = initial_gradient_squared_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        sums, squares = slots
        l1, l2 = self._l1_regularization_strength, self._l2_regularization_strength
        rate, step = self._number(self._learning_rate, value), _core._to_tensor(self._global_step) + 1
        return steps.adagrad_da(value, sums, squares, grad, rate, l1, l2, step)

    def _slot_starts(self) -> dict[str, float]:
        return {"gradient_accumulator": 0.0, "gradient_squared_accumulator": self._initial_squares}


class AdadeltaOptimizer(Optimizer):
    """Scales gradients by the ratio of means of past steps and of past gradients.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        rho: how much of the means before stays.
        epsilon: added to the means.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.AdadeltaOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    _slots: ClassVar[dict[str, float]] = {"accum": 0.0, "accum_update": 0.0}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        rho: Rate = 0.95,
        epsilon: Rate = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        accum, update = slots
        options = (self._learning_rate, self._rho, self._epsilon)
        rate, rho, epsilon = (self._number(option, value) for option in options)
        return steps.adadelta(value, accum, update, rate, rho, epsilon, grad)


class RMSPropOptimizer(Optimizer):
    """Divides gradients by the root of a mean of their squares.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        decay: how much of the mean before stays.
        momentum: how much of the step before is added.
        epsilon: added to the mean.
        use_locking: accepted and ignored.
        centered: whether to divide by the root of the variance instead.
        name: the name of the variables that it keeps.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.RMSPropOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(
        self,
        learning_rate: Rate,
        decay: Rate = 0.9,
        momentum: Rate = 0.0,
        epsilon: Rate = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        options = (self._learning_rate, self._decay, self._momentum, self._epsilon)
        rest = (*(self._number(option, value) for option in options), grad)
        if not self._centered:
            return steps.rms_prop(value, *slots, *rest)
        squares, mean, step = slots
        value, mean, squares, step = steps.centered_rms_prop(value, mean, squares, step, *rest)
        return value, squares, mean, step

    def _slot_starts(self) -> dict[str, float]:
        return {"rms": 1.0, **({"mg": 0.0} if self._centered else {}), "momentum": 0.0}


class FtrlOptimizer(Optimizer):
    """Follows the regularised leader: the variable that was best for all gradients so far.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        learning_rate_power: how the learning rate falls with the sum of squares; at most 0.
        initial_accumulator_value: what the sums of squares begin with.
        l1_regularization_strength: the weight of absolute values.
        l2_regularization_strength: the weight of squares.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.
        accum_name: accepted and ignored.
        linear_name: accepted and ignored.
        l2_shrinkage_regularization_strength: the weight of squares that the gradient meets.
        beta: added to the root of the sums; 0 by default.

    Raises:
        ValueError: for a number out of its range.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.FtrlOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(
        self,
        learning_rate: Rate,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(f"argument 'learning_rate_power' must be at most 0, got {learning_rate_power}")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._beta = beta

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        rate = self._number(self._learning_rate, value)
        l1 = self._l1_regularization_strength
        l2 = self._l2_regularization_strength + (self._beta or 0.0) / (2.0 * rate)
        shrinkage, power = self._l2_shrinkage_regularization_strength, self._learning_rate_power
        accum, linear = slots
        return steps.ftrl_v2(value, accum, linear, grad, rate, l1, l2, shrinkage, power, False)

    def _slot_starts(self) -> dict[str, float]:
        return {"accum": self._initial_accumulator_value, "linear": 0.0}


class ProximalGradientDescentOptimizer(Optimizer):
    """Subtracts the gradient times a learning rate, and then lessens the value by penalties.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        l1_regularization_strength: the weight of absolute values.
        l2_regularization_strength: the weight of squares.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.ProximalGradientDescentOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(
        self,
        learning_rate: Rate,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        l1, l2 = self._l1_regularization_strength, self._l2_regularization_strength
        return steps.proximal_gradient_descent(value, self._number(self._learning_rate, value), l1, l2, grad)


class ProximalAdagradOptimizer(Optimizer):
    """Does as `AdagradOptimizer`, and then lessens the value by penalties.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        initial_accumulator_value: what the sums of squares begin with; above 0.
        l1_regularization_strength: the weight of absolute values.
        l2_regularization_strength: the weight of squares.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    Raises:
        ValueError: for a number out of its range.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.ProximalAdagradOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    def __init__(
        self,
        learning_rate: Rate,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(use_locking, name)
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"argument 'initial_accumulator_value' must be above 0, got {initial_accumulator_value}"
            )
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        l1, l2 = self._l1_regularization_strength, self._l2_regularization_strength
        (accum,) = slots
        return steps.proximal_adagrad(value, accum, self._number(self._learning_rate, value), l1, l2, grad)

    def _slot_starts(self) -> dict[str, float]:
        return {"accumulator": self._initial_accumulator_value}


class AdamOptimizer(Optimizer):
    """Follows a mean of gradients, divided by the root of a mean of their squares.

    Args:
        learning_rate: the length of a step: a number, a scalar tensor, or a function that gives one.
        beta1: how much of the mean of gradients stays.
        beta2: how much of the mean of squares stays.
        epsilon: added to the root.
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    >>> import penstock as tf
    >>> w = tf.Variable(4.0)
    >>> tf.compat.v1.train.AdamOptimizer(0.5).minimize(lambda: w * w, var_list=[w])
    >>> bool(w < 4.0)
    True
    """

    _slots: ClassVar[dict[str, float]] = {"m": 0.0, "v": 0.0}
    _by_rows: ClassVar[bool] = False

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        m, v = slots
        power1, power2 = (self._number(self._own[name], value) for name in ("beta1_power", "beta2_power"))
        rate, beta1, beta2 = self._number(self._learning_rate, value), self._beta1, self._beta2
        return steps.adam(value, m, v, power1, power2, rate, beta1, beta2, self._epsilon, grad, False)

    def _prepare(self, variables: Sequence[Variable]) -> None:
        for name, start in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            if name not in self._own:
                first = _core._to_tensor(start, variables[0].dtype)
                self._own[name] = Variable(first, trainable=False, name=name)

    def _finish(self) -> None:
        for name, factor in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            power = self._own[name]
            power.assign(power * factor)
