"""`tf.train.ExponentialMovingAverage`: means of variables that forget."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._control.flow import group
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import scoped
from penstock._values.variable import Variable

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike, TensorOrVariable

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Means of variables, in which earlier values count the less the longer ago they were.

    `apply` moves the mean of each variable: `mean -= (1 - decay) * (mean - variable)`. The means are
    variables, and begin at the value that their variable has at the first call; those of tensors begin at 0.

    Args:
        decay: the share that the old mean keeps, near 1.
        num_updates: how often the means were moved: then the share is at most
            `(1 + num_updates) / (10 + num_updates)`, so that early means follow faster.
        zero_debias: whether the means of tensors are corrected for their beginning at 0.
        name: the end of the names of the means.

    >>> import penstock as tf
    >>> weight = tf.Variable(0.0)
    >>> averages = tf.train.ExponentialMovingAverage(decay=0.9)
    >>> averages.apply([weight])
    >>> _ = weight.assign(1.0)
    >>> averages.apply([weight])
    >>> round(float(averages.average(weight)), 6)
    0.1
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay, self._num_updates, self._zero_debias = decay, num_updates, zero_debias
        self._name = name
        # By the identity of what they are means of, which is kept.
        self._averages: dict[int, tuple[Any, Variable, Variable | None]] = {}

    @property
    def name(self) -> str:
        """The end of the names of the means."""
        return self._name

    @scoped
    def apply(self, var_list: Iterable[Any] | None = None) -> Any:
        """Move the means of variables to their values.

        Args:
            var_list: variables, and tensors of a graph of TensorFlow 1, of `float16`, `bfloat16`, `float32`
                or `float64`; by default the trainable variables of such a graph.

        Returns:
            None; in a graph of TensorFlow 1 an operation.

        Raises:
            TypeError: for other dtypes.

        >>> import penstock as tf
        >>> averages, v = tf.train.ExponentialMovingAverage(0.5), tf.Variable(2.0)
        >>> averages.apply([v])
        >>> float(averages.average(v))
        2.0
        """
        if var_list is None:
            from penstock.compat.v1 import trainable_variables  # for graphs of TensorFlow 1 alone

            var_list = trainable_variables()
        values = list(var_list)
        for value in values:
            if value.dtype not in (_core.float16, _core.bfloat16, _core.float32, _core.float64):
                raise TypeError(
                    f"argument 'var_list' must have variables of floating point, got {value.dtype.name}"
                )
        decay = _core._to_tensor_hinted(self._decay, _core.float32)
        if self._num_updates is not None:
            done = raw_ops.cast(_core._to_tensor(self._num_updates), dtype=decay.dtype)
            decay = raw_ops.minimum(decay, (1.0 + done) / (10.0 + done))
        made = [self._moved(value, raw_ops.cast(1.0 - decay, dtype=value.dtype)) for value in values]
        return group(*made, name=self._name)

    def _moved(self, value: Any, share: Any) -> Any:
        _, mean, steps = self._average_of(value)
        now = value.read_value() if isinstance(value, _core._Variable) else value
        if steps is None:
            return mean.assign_sub((mean.read_value() - now) * share)
        # The mean without correction is the corrected one times what the weights so far add up to.
        kept = 1.0 - share
        before = 1.0 - raw_ops.pow(kept, steps.read_value())
        count = steps.assign_add(_core._to_tensor(1.0, mean.dtype))
        after = 1.0 - raw_ops.pow(kept, count)
        return mean.assign((mean.read_value() * before * kept + now * share) / after)

    def _average_of(self, value: Any) -> tuple[Any, Variable, Variable | None]:
        found = self._averages.get(id(value))
        if found is None:
            steps = None
            graph = v1_graph_state.current()
            # The means of a graph of TensorFlow 1 are its variables, and begin as theirs do.
            with _core._Outside() if graph is None else nullcontext():
                name = f"{_plain_name(value)}/{self._name}"
                if isinstance(value, _core._Variable):
                    first: Any = value.initialized_value  # type: ignore[attr-defined]
                    mean = Variable(first, trainable=False, dtype=value.dtype, name=name)
                    if graph is not None:
                        graph.add_to_collection("moving_average_variables", value)
                else:
                    zero = raw_ops.fill(value.shape.as_list(), _core._to_tensor(0, value.dtype))
                    mean = Variable(zero, trainable=False, dtype=value.dtype, name=name)
                    if self._zero_debias:
                        steps = Variable(0.0, trainable=False, dtype=value.dtype, name=f"{name}/steps")
            found = self._averages[id(value)] = (value, mean, steps)
        return found

    def average(self, var: TensorOrVariable) -> Variable | None:
        """Find the mean of a variable.

        Args:
            var: the variable.

        Returns:
            The mean, a variable; None where `apply` was not called for it.

        >>> import penstock as tf
        >>> tf.train.ExponentialMovingAverage(0.5).average(tf.Variable(2.0)) is None
        True
        """
        found = self._averages.get(id(var))
        return None if found is None else found[1]

    def average_name(self, var: TensorOrVariable) -> str:
        """Tell the name of the mean of a variable, whether there is one yet or not.

        Args:
            var: the variable.

        Returns:
            The name, without the number of a result.

        >>> import penstock as tf
        >>> tf.train.ExponentialMovingAverage(0.5).average_name(tf.Variable(2.0, name="v"))
        'v/ExponentialMovingAverage'
        """
        mean = self.average(var)
        return f"{_plain_name(var)}/{self._name}" if mean is None else _plain_name(mean)

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> dict[str, Any]:
        """List variables by the names under which a checkpoint has their means.

        Args:
            moving_avg_variables: the variables that have means; by default those that `apply` was called for,
                and in a graph of TensorFlow 1 those that are trainable as well.

        Returns:
            The variables by the names of their means; in a graph of TensorFlow 1 all other global variables
            too, by their own names.

        >>> import penstock as tf
        >>> averages, v = tf.train.ExponentialMovingAverage(0.5), tf.Variable(2.0, name="v")
        >>> averages.apply([v])
        >>> list(averages.variables_to_restore())
        ['v/ExponentialMovingAverage']
        """
        graph = v1_graph_state.current()
        if graph is None:
            averaged = [value for value, _, _ in self._averages.values()]
            chosen = averaged if moving_avg_variables is None else list(moving_avg_variables)
            return {self.average_name(value): value for value in chosen}
        if moving_avg_variables is None:
            keys = ("trainable_variables", "moving_average_variables")
            moving_avg_variables = [value for key in keys for value in graph.get_collection(key)]
        found = {self.average_name(value): value for value in moving_avg_variables}
        known = {value.name for value in found.values()}
        for value in graph.get_collection("variables"):
            if value.name not in known:
                found.setdefault(_plain_name(value), value)
        return found

    def _trackable_children(self) -> dict[str, Any]:
        return {_plain_name(mean): mean for _, mean, _ in self._averages.values()}


def _plain_name(value: Any) -> str:
    return str(getattr(value, "name", "tensor")).partition(":")[0]
