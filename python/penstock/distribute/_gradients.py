"""Training in several processes without a strategy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._autodiff.tape import GradientTape, UnconnectedGradients
from penstock._types.argument_names import expect
from penstock._values.variable import Variable
from penstock.distribute._group import ProcessGroup

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, TensorLike, TensorOrVariable

__all__ = ["DistributedGradientTape", "broadcast_variables"]


def broadcast_variables(variables: Iterable[Variable], group: ProcessGroup, root: int = 0) -> None:
    """Give variables the values that they have in one process. All processes call it with as many variables.

    Args:
        variables: the variables, of the same shapes and dtypes for all.
        group: the processes.
        root: the rank of the one.

    Raises:
        TypeError: for something else than variables and a group.
        UnavailableError: where another process cannot be reached.

    >>> import penstock as tf
    >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
    >>> tf.distribute.broadcast_variables([tf.Variable(1.0)], group)
    >>> group.leave()
    """
    listed = list(variables)
    expect(group, ProcessGroup, "group", "a ProcessGroup")
    for variable in listed:
        if not isinstance(variable, Variable):
            raise TypeError(f"argument 'variables' must have variables, got {variable!r}")
    # Texts and tables do not travel. What a function creates while it is traced has its value at once.
    sent = [v for v in listed if v.dtype not in (_core.string, _core.resource, _core.variant)]
    with _core._Outside():
        for variable, value in zip(sent, group.broadcast([v.value() for v in sent], root), strict=True):
            variable.assign(value)


class DistributedGradientTape(GradientTape):
    """A `tf.GradientTape` whose gradients are combined over the processes of a group.

    Each process computes the loss of its part of a batch. With `op="mean"` the gradients are those of the
    mean of the losses.

    Args:
        group: the processes.
        op: `"mean"` or `"sum"`.
        persistent: as for `tf.GradientTape`.
        watch_accessed_variables: as for `tf.GradientTape`.

    Raises:
        TypeError: for something else than a group.
        ValueError: for another `op`.

    >>> import penstock as tf
    >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
    >>> v = tf.Variable(3.0)
    >>> with tf.distribute.DistributedGradientTape(group) as tape:
    ...     loss = v * v
    >>> tape.gradient(loss, v).numpy()
    np.float32(6.0)
    >>> group.leave()
    """

    _group: ProcessGroup
    _op: str

    def __new__(
        cls,
        group: ProcessGroup,
        op: str = "mean",
        *,
        persistent: bool = False,
        watch_accessed_variables: bool = True,
    ) -> DistributedGradientTape:
        expect(group, ProcessGroup, "group", "a ProcessGroup")
        if op not in ("mean", "sum"):
            raise ValueError(f"argument 'op' must be mean or sum, got {op!r}")
        self = super().__new__(cls, persistent, watch_accessed_variables)
        self._group, self._op = group, op
        return self

    def gradient(
        self,
        target: Nested[TensorOrVariable],
        sources: Nested[TensorOrVariable],
        output_gradients: Nested[TensorLike | None] | None = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Compute the gradients of all processes.

        Args:
            target: a tensor or a nest of them.
            sources: a tensor or variable, or a nest of them; all processes have a gradient for the same ones.
            output_gradients: a cotangent for each target; ones by default.
            unconnected_gradients: what stands where a source has none, as for `tf.GradientTape.gradient`.

        Returns:
            The gradients, combined; None where there is none.

        Raises:
            UnavailableError: where another process cannot be reached.
            InvalidArgumentError: where another process computes something else.

        >>> import penstock as tf
        >>> group = tf.distribute.ProcessGroup(["127.0.0.1:0"], rank=0)
        >>> v = tf.Variable(2.0)
        >>> with tf.distribute.DistributedGradientTape(group, "sum") as tape:
        ...     loss = v * v
        >>> tape.gradient(loss, [v])[0].numpy()
        np.float32(4.0)
        >>> group.leave()
        """
        found = super().gradient(target, sources, output_gradients, unconnected_gradients)
        flat = nest.flatten(found)
        there = [g for g in flat if g is not None]
        combined = iter(self._group.all_reduce(there, self._op))
        return nest.pack_sequence_as(found, [None if g is None else next(combined) for g in flat])
