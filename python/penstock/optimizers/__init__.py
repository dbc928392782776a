"""Optimisers: objects that change variables by their gradients.

Formulas, names and defaults are those of Keras 3. Rows that occur several times in a gradient of
`tf.IndexedSlices` are added before anything is made of them; Keras squares and clips each occurrence by
itself. The optimizers of Keras that are not here (`Adamax`, `Ftrl`, `Lion`, `Nadam`, …) come from Keras,
where that is installed.
"""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _core, raw_ops
from penstock._ops.clipping import clip_by_global_norm, clip_by_norm
from penstock._runtime import replicas
from penstock._runtime.lazy_names import from_keras as _from_keras
from penstock._types.argument_names import expect
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.module import changed
from penstock._values.variable import Variable
from penstock.optimizers import schedules as schedules

if TYPE_CHECKING:
    from typing import Self

    from penstock._types.aliases import TensorLike, TensorOrVariable

_Rate: TypeAlias = "TensorLike | Callable[[], TensorLike] | schedules.LearningRateSchedule"
_Gradient: TypeAlias = "TensorLike | IndexedSlices | None"

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "schedules"]

__getattr__ = _from_keras(
    __name__,
    (
        *("Adadelta", "Adafactor", "Adamax", "Ftrl", "Lamb", "Lion", "LossScaleOptimizer", "Muon", "Nadam"),
        *("deserialize", "get", "legacy", "serialize"),
    ),
)


# The least normal numbers. Numbers of 16 bits are computed as `float32`, of which theirs are normal ones.
_LEAST = {_core.float32: 2.0**-126, _core.float64: 2.0**-1022}


def _normal(moment: _core.Tensor) -> _core.Tensor:
    """The moment with 0 in place of subnormal numbers, as TensorFlow's threads leave it.

    A mean of gradients that have become 0 would end at the least number there is and stay there, and
    arithmetic with subnormal numbers takes many times as long.
    """
    least = _LEAST.get(moment.dtype)
    if least is None:
        return moment
    return raw_ops.select(raw_ops.abs(moment) < least, _core._to_tensor(0.0, moment.dtype), moment)


def _checked_variable(value: Any, argument: str) -> Any:
    """The value, which must be a variable."""
    return expect(value, _core._Variable, argument, "of variables")


def _of_known_shape(gradient: Any, variable: Variable) -> Any:
    """The gradient; slices that do not say how large the whole is are those of a tensor like the variable."""
    if isinstance(gradient, IndexedSlices) and gradient.dense_shape is None:
        return IndexedSlices(gradient.values, gradient.indices, raw_ops.shape(variable))
    return gradient


class Optimizer(abc.ABC):
    """The base: keeps the learning rate, the number of steps, and what each variable has been through.

    The variables that it needs are made when they are first needed, which may be in the first trace of a
    function.

    Args:
        learning_rate: a number, a function without arguments that gives one, or a schedule of the number of
            steps. A number can be changed later without a new trace.
        weight_decay: the part of a variable, times the learning rate, that each step takes away; None for
            none.
        clipnorm: the greatest norm of each gradient.
        clipvalue: the greatest absolute value of an element of a gradient.
        global_clipnorm: the greatest norm of all gradients together. At most one of the three may be given.
        name: a name for people; by default that of the class.

    Raises:
        ValueError: for more than one kind of clipping.
    """

    # The arguments that only one class has: attributes of these names.
    _own: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: _Rate,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        if sum(limit is not None for limit in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                "at most one of arguments 'clipnorm', 'clipvalue' and 'global_clipnorm' may be given, got "
                f"{clipnorm}, {clipvalue} and {global_clipnorm}"
            )
        self.name: str = name or type(self).__name__.lower()
        self.weight_decay = weight_decay
        self.clipnorm: float | None = clipnorm
        self.clipvalue: float | None = clipvalue
        self.global_clipnorm: float | None = global_clipnorm
        with _core._Outside():
            self._iterations = Variable(0, trainable=False, dtype=_core.int64, name="iteration")
        self._rate: Any = None
        self._slots: dict[tuple[int, str], Variable] = {}
        self._decay_free: set[int] = set()
        self._decay_free_names: list[str] = []
        self.learning_rate = learning_rate

    @property
    def iterations(self) -> Variable:
        """The number of steps so far: an `int64` variable."""
        return self._iterations

    @property
    def learning_rate(self) -> TensorOrVariable:
        """The rate of the next step: a variable, or what the function or the schedule gives."""
        if isinstance(self._rate, schedules.LearningRateSchedule):
            return self._rate(self._iterations)
        rate: TensorOrVariable = self._rate() if callable(self._rate) else self._rate
        return rate

    @learning_rate.setter
    def learning_rate(self, value: _Rate) -> None:
        if callable(value) and not isinstance(value, Variable):
            self._rate = value
        elif isinstance(self._rate, Variable):
            self._rate.assign(_core._to_tensor_hinted(value, self._rate.dtype))
        else:
            with _core._Outside():
                self._rate = Variable(value, trainable=False, dtype=_core.float32, name="learning_rate")

    @property
    def variables(self) -> list[Variable]:
        """The number of steps, the learning rate if it is a number, and what was made for each variable."""
        rate = [self._rate] if isinstance(self._rate, Variable) else []
        return [self._iterations, *rate, *self._slots.values()]

    def _trackable_children(self) -> dict[str, Any]:
        """What a checkpoint holds, by Keras's names."""
        rate = {"_learning_rate": self._rate} if isinstance(self._rate, Variable) else {}
        return {"_variables": self.variables, "_iterations": self._iterations, **rate}

    def build(self, variables: Iterable[Variable]) -> None:
        """Make all that is needed for variables, which their first step does otherwise.

        Args:
            variables: the variables.

        >>> import penstock as tf
        >>> sgd = tf.optimizers.SGD(momentum=0.9)
        >>> sgd.build([tf.Variable(1.0)])
        >>> len(sgd.variables)
        3
        """
        for variable in variables:
            self._make_slots(_checked_variable(variable, "variables"))

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Sequence[str] | None = None
    ) -> None:
        """Keep variables from the weight decay.

        Args:
            var_list: variables.
            var_names: texts: variables with one of them in their name are kept from it, too.

        Raises:
            TypeError: for what is no variable.

        >>> import penstock as tf
        >>> v = tf.Variable(1.0, name="bias")
        >>> sgd = tf.optimizers.SGD(learning_rate=0.5, weight_decay=0.5)
        >>> sgd.exclude_from_weight_decay(var_names=["bias"])
        >>> _ = sgd.apply_gradients([(tf.constant(1.0), v)])
        >>> float(v)
        0.5
        """
        given = () if var_list is None else var_list
        self._decay_free.update(_checked_variable(v, "var_list")._unique_id for v in given)
        self._decay_free_names.extend(var_names or ())

    def apply(self, grads: Iterable[_Gradient], trainable_variables: Iterable[Variable]) -> Variable:
        """Take a step, as `apply_gradients`, with gradients and variables in two lists of one length.

        Args:
            grads: the gradients, None for none.
            trainable_variables: their variables.

        Returns:
            The number of steps.

        Raises:
            ValueError: for lists of two lengths, and as `apply_gradients`.

        >>> import penstock as tf
        >>> v = tf.Variable(1.0)
        >>> int(tf.optimizers.SGD(learning_rate=0.5).apply([tf.constant(1.0)], [v]))
        1
        """
        return self.apply_gradients(zip(grads, trainable_variables, strict=True))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[_Gradient, Variable]]) -> Variable:
        """Take a step.

        Within a replica of a strategy that has several, the gradients of all replicas are added up first.

        Args:
            grads_and_vars: pairs of a gradient and its variable. A variable without gradient, None, stays as
                it is.

        Returns:
            The number of steps.

        Raises:
            TypeError: where `grads_and_vars` has anything but pairs.
            ValueError: where no variable has a gradient; for a gradient whose shape is not its variable's.

        >>> import penstock as tf
        >>> v = tf.Variable(1.0)
        >>> _ = tf.optimizers.SGD(learning_rate=0.5).apply_gradients([(tf.constant(1.0), v)])
        >>> float(v)
        0.5
        """
        pairs = list(grads_and_vars)
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"argument 'grads_and_vars' must have pairs (gradient, variable), got {pair!r}"
                )
            _checked_variable(pair[1], "grads_and_vars")
        without = [variable.name for gradient, variable in pairs if gradient is None]
        pairs = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if not pairs:
            raise ValueError(f"No gradients provided for any variable: {without}")
        if without:
            warnings.warn(f"there is no gradient for {without}", stacklevel=2)
        variables = [variable for _, variable in pairs]
        found = [_of_known_shape(gradient, variable) for gradient, variable in pairs]
        take_step = replicas.take_step.get()
        if take_step is None:
            return self._take_step(found, variables)
        return take_step(found, lambda summed: self._take_step(summed, variables))  # type: ignore[no-any-return]

    def _take_step(self, found: list[Any], variables: list[Variable]) -> Variable:
        gradients = self._clipped(
            [_core._to_tensor_hinted(gradient, v.dtype) for gradient, v in zip(found, variables, strict=True)]
        )
        for gradient, variable in zip(gradients, variables, strict=True):
            if not variable.shape.is_compatible_with(gradient.shape):
                raise ValueError(
                    f"argument 'grads_and_vars': the gradient for variable '{variable.name}' "
                    f"of shape {variable.shape} has shape {gradient.shape}"
                )
        self.build(variables)
        rate = self.learning_rate
        common = self._common()
        for gradient, variable in zip(gradients, variables, strict=True):
            own = raw_ops.cast(rate, dtype=variable.dtype)
            if self.weight_decay is not None and self._decays(variable):
                variable.assign_sub(variable * (own * self.weight_decay))
            self._update(gradient, variable, own, common)
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))
        self._iterations.assign_add(1)
        return self._iterations

    def get_config(self) -> dict[str, Any]:
        """Give the arguments that make an equal one.

        Returns:
            The arguments by their names.

        >>> import penstock as tf
        >>> tf.optimizers.SGD(momentum=0.5).get_config()["momentum"]
        0.5
        """
        rate = self._rate
        if isinstance(rate, Variable):
            rate = float(rate.numpy())
        return {
            "name": self.name,
            "learning_rate": rate,
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "clipvalue": self.clipvalue,
            "global_clipnorm": self.global_clipnorm,
            **{name: getattr(self, name) for name in self._own},
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Make one of the arguments that `get_config` gave.

        Args:
            config: arguments by their names.

        Returns:
            An object of this class.

        >>> import penstock as tf
        >>> tf.optimizers.SGD.from_config({"momentum": 0.5}).momentum
        0.5
        """
        return cls(**config)

    def _decays(self, variable: Variable) -> bool:
        named = any(text in variable.name for text in self._decay_free_names)
        return not named and variable._unique_id not in self._decay_free

    def _clipped(self, gradients: list[Any]) -> list[Any]:
        if self.clipnorm is not None:
            return [clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.global_clipnorm is not None:
            return clip_by_global_norm(gradients, self.global_clipnorm)[0]
        if self.clipvalue is not None:
            from penstock.math import clip_by_value  # no name of this module

            return [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return gradients

    def _slot(self, variable: Variable, name: str, value: float = 0.0) -> Variable:
        """What is kept for a variable under a name: of its shape and dtype, filled with a value at first."""
        key = (variable._unique_id, name)
        if key not in self._slots:

            def first() -> _core.Tensor:
                return raw_ops.fill(raw_ops.shape(variable), _core._to_tensor(value, variable.dtype))

            label = f"{variable._name}_{name}"
            self._slots[key] = Variable(first, trainable=False, dtype=variable.dtype, name=label)
            changed(self)
        return self._slots[key]

    @abc.abstractmethod
    def _make_slots(self, variable: Variable) -> None:
        """Makes what is kept for a variable."""

    def _common(self) -> Any:
        """What is the same for all variables of a step."""
        return None

    @abc.abstractmethod
    def _update(self, gradient: _core.Tensor, variable: Variable, rate: _core.Tensor, common: Any) -> None:
        """Changes a variable. `rate` has its dtype; `common` is what `_common` gave in this step."""


class SGD(Optimizer):
    """Gradient descent, with momentum if asked: `m = momentum * m - rate * g`, and `v + m` is the next `v`.

    Args:
        learning_rate: as for `Optimizer`.
        momentum: the part of the last step that the next one keeps, from 0 to 1.
        nesterov: whether to step by `momentum * m - rate * g`.
        weight_decay: as for `Optimizer`.
        clipnorm: as for `Optimizer`.
        clipvalue: as for `Optimizer`.
        global_clipnorm: as for `Optimizer`.
        name: as for `Optimizer`.

    Raises:
        ValueError: for a momentum out of range.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.SGD(learning_rate=0.25).apply_gradients([(tf.constant(2.0), v)])
    >>> float(v)
    0.5
    """

    _own = ("momentum", "nesterov")

    def __init__(
        self,
        learning_rate: _Rate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        if not 0 <= momentum <= 1:
            raise ValueError(f"argument 'momentum' must be from 0 to 1, got {momentum}")
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, name)
        self.momentum: float = momentum
        self.nesterov: bool = nesterov

    def _make_slots(self, variable: Variable) -> None:
        if self.momentum:
            self._slot(variable, "momentum")

    def _update(self, gradient: _core.Tensor, variable: Variable, rate: _core.Tensor, common: Any) -> None:
        step = gradient * rate
        if not self.momentum:
            variable.assign_sub(step)
            return
        kept = self._slot(variable, "momentum")
        moment = _normal(kept * self.momentum - step)
        kept.assign(moment)
        variable.assign_add(moment * self.momentum - step if self.nesterov else moment)


class Adam(Optimizer):
    """Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2014).

    Args:
        learning_rate: as for `Optimizer`.
        beta_1: how much of the mean of the gradients a step keeps.
        beta_2: how much of the mean of their squares a step keeps.
        epsilon: keeps the division from 0.
        amsgrad: whether to divide by the greatest mean of squares so far (Reddi et al., 2018).
        weight_decay: as for `Optimizer`.
        clipnorm: as for `Optimizer`.
        clipvalue: as for `Optimizer`.
        global_clipnorm: as for `Optimizer`.
        name: as for `Optimizer`.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.Adam(learning_rate=0.5).apply_gradients([(tf.constant(3.0), v)])
    >>> round(float(v), 5)
    0.5
    """

    _own = ("beta_1", "beta_2", "epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: _Rate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, name)
        self.beta_1: float = beta_1
        self.beta_2: float = beta_2
        self.epsilon: float = epsilon
        self.amsgrad: bool = amsgrad

    def _make_slots(self, variable: Variable) -> None:
        for name in ("momentum", "velocity", "velocity_hat")[: 3 if self.amsgrad else 2]:
            self._slot(variable, name)

    def _common(self) -> Any:
        # The means start at 0, which their sums of weights correct.
        steps = raw_ops.cast(self.iterations, dtype=_core.float32) + 1.0
        return raw_ops.sqrt(1.0 - self.beta_2**steps) / (1.0 - self.beta_1**steps)

    def _update(self, gradient: _core.Tensor, variable: Variable, rate: _core.Tensor, common: Any) -> None:
        # Everything is computed before anything is assigned, so that one pass over memory does it all.
        alpha = rate * raw_ops.cast(common, dtype=variable.dtype)
        mean, square = self._slot(variable, "momentum"), self._slot(variable, "velocity")
        first = _normal(mean + (gradient - mean) * (1.0 - self.beta_1))
        second = greatest = _normal(square + (raw_ops.square(gradient) - square) * (1.0 - self.beta_2))
        if self.amsgrad:
            greatest = raw_ops.maximum(self._slot(variable, "velocity_hat"), second)
        new = variable - first * alpha / (raw_ops.sqrt(greatest) + self.epsilon)
        mean.assign(first)
        square.assign(second)
        if self.amsgrad:
            self._slot(variable, "velocity_hat").assign(greatest)
        variable.assign(new)


class AdamW(Adam):
    """`Adam` with weight decay: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2017).

    Args:
        learning_rate: as for `Optimizer`.
        weight_decay: as for `Optimizer`.
        beta_1: as for `Adam`.
        beta_2: as for `Adam`.
        epsilon: as for `Adam`.
        amsgrad: as for `Adam`.
        clipnorm: as for `Optimizer`.
        clipvalue: as for `Optimizer`.
        global_clipnorm: as for `Optimizer`.
        name: as for `Optimizer`.

    Raises:
        ValueError: where `weight_decay` is None.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.AdamW(learning_rate=0.5, weight_decay=0.5).apply_gradients([(tf.constant(3.0), v)])
    >>> round(float(v), 5)
    0.25
    """

    def __init__(
        self,
        learning_rate: _Rate = 0.001,
        weight_decay: float | None = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        if weight_decay is None:
            raise ValueError("argument 'weight_decay' must be a number, got None")
        super().__init__(
            learning_rate,
            beta_1,
            beta_2,
            epsilon,
            amsgrad,
            weight_decay=weight_decay,
            clipnorm=clipnorm,
            clipvalue=clipvalue,
            global_clipnorm=global_clipnorm,
            name=name,
        )


class RMSprop(Optimizer):
    """Hinton's RMSprop: gradients divided by the root of the mean of their squares.

    Args:
        learning_rate: as for `Optimizer`.
        rho: how much of the mean of the squares a step keeps.
        momentum: the part of the last step that the next one keeps.
        epsilon: keeps the division from 0.
        centered: whether to divide by the standard deviation.
        weight_decay: as for `Optimizer`.
        clipnorm: as for `Optimizer`.
        clipvalue: as for `Optimizer`.
        global_clipnorm: as for `Optimizer`.
        name: as for `Optimizer`.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.optimizers.RMSprop(learning_rate=0.1, rho=0.0).apply_gradients([(tf.constant(2.0), v)])
    >>> round(float(v), 5)
    0.9
    """

    _own = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: _Rate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, name)
        self.rho: float = rho
        self.momentum: float = momentum
        self.epsilon: float = epsilon
        self.centered: bool = centered

    def _make_slots(self, variable: Variable) -> None:
        self._slot(variable, "velocity")
        if self.momentum:
            self._slot(variable, "momentum")
        if self.centered:
            self._slot(variable, "average_gradient")

    def _update(self, gradient: _core.Tensor, variable: Variable, rate: _core.Tensor, common: Any) -> None:
        square = self._slot(variable, "velocity")
        second = _normal(square * self.rho + raw_ops.square(gradient) * (1.0 - self.rho))
        square.assign(second)
        if self.centered:
            mean = self._slot(variable, "average_gradient")
            first = _normal(mean * self.rho + gradient * (1.0 - self.rho))
            mean.assign(first)
            second = second - raw_ops.square(first)
        step = rate * gradient * raw_ops.rsqrt(second + self.epsilon)
        if self.momentum:
            kept = self._slot(variable, "momentum")
            step = _normal(kept * self.momentum + step)
            kept.assign(step)
        variable.assign_sub(step)


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares: Duchi, Hazan and Singer (2011).

    Args:
        learning_rate: as for `Optimizer`.
        initial_accumulator_value: what the sums start from, not negative.
        epsilon: keeps the division from 0.
        weight_decay: as for `Optimizer`.
        clipnorm: as for `Optimizer`.
        clipvalue: as for `Optimizer`.
        global_clipnorm: as for `Optimizer`.
        name: as for `Optimizer`.

    Raises:
        ValueError: for a negative first value.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> adagrad = tf.optimizers.Adagrad(learning_rate=0.1, initial_accumulator_value=0.0)
    >>> _ = adagrad.apply_gradients([(tf.constant(2.0), v)])
    >>> round(float(v), 5)
    0.9
    """

    _own = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: _Rate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
    ) -> None:
        if initial_accumulator_value < 0:
            raise ValueError(
                f"argument 'initial_accumulator_value' must not be negative, got {initial_accumulator_value}"
            )
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, name)
        self.initial_accumulator_value: float = initial_accumulator_value
        self.epsilon: float = epsilon

    def _make_slots(self, variable: Variable) -> None:
        self._slot(variable, "accumulator", self.initial_accumulator_value)

    def _update(self, gradient: _core.Tensor, variable: Variable, rate: _core.Tensor, common: Any) -> None:
        kept = self._slot(variable, "accumulator", self.initial_accumulator_value)
        total = kept + raw_ops.square(gradient)
        kept.assign(total)
        variable.assign_sub(rate * gradient / raw_ops.sqrt(total + self.epsilon))
