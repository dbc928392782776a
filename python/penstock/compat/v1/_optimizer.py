"""The base of TensorFlow 1's optimisers: gradients of a loss, and the variables that an update keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from penstock import _core, raw_ops
from penstock._autodiff.tape import GradientTape
from penstock._ops import creation, sorting
from penstock._runtime import v1_graph_state
from penstock._types.argument_names import shown
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.variable import Variable
from penstock.compat.v1._graph import GraphKeys, gradients
from penstock.compat.v1._variables import trainable_variables

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["GATE_GRAPH", "GATE_NONE", "GATE_OP", "Optimizer", "Rate"]

GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

# A learning rate or the like: a number, a tensor, or what gives one.
Rate = Any


class Optimizer:
    """Changes variables by the gradients of a loss, as TensorFlow 1's optimisers do.

    A subclass says which variables of its own it keeps for each variable (`_slots`), and what an update makes
    of values (`_updated`).

    Args:
        use_locking: accepted and ignored.
        name: the name of the variables that it keeps.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.constant_initializer(4.0))
    ...     step = tf.compat.v1.train.GradientDescentOptimizer(0.25).minimize(tf.square(w))
    ...     with tf.compat.v1.Session() as session:
    ...         session.run(tf.compat.v1.global_variables_initializer())
    ...         session.run(step)
    ...         float(session.run(w))
    2.0
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = GATE_NONE, GATE_OP, GATE_GRAPH

    # For each variable of its own, what values begin with.
    _slots: ClassVar[dict[str, float]] = {}
    # Whether rows without a gradient stay as they are.
    _by_rows: ClassVar[bool] = True

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("argument 'name' must not be empty")
        self._name = name
        self._kept: dict[int, dict[str, Variable]] = {}
        self._own: dict[str, Variable] = {}

    def get_name(self) -> str:
        """Tell the name of the optimiser.

        Returns:
            The name.

        >>> import penstock as tf
        >>> tf.compat.v1.train.AdamOptimizer().get_name()
        'Adam'
        """
        return self._name

    def get_slot_names(self) -> list[str]:
        """List the names of the variables that it keeps for each variable.

        Returns:
            The names.

        >>> import penstock as tf
        >>> tf.compat.v1.train.AdamOptimizer().get_slot_names()
        ['m', 'v']
        """
        return sorted(self._slot_starts())

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Find a variable that it keeps for another.

        Args:
            var: the other one.
            name: one of `get_slot_names()`.

        Returns:
            The variable; None before the first update is made.

        >>> import penstock as tf
        >>> tf.compat.v1.train.AdamOptimizer().get_slot(tf.Variable(1.0), "m") is None
        True
        """
        return self._kept.get(var._unique_id, {}).get(name)

    def variables(self) -> list[Variable]:
        """List the variables that it keeps.

        Returns:
            The variables, sorted by their names.

        >>> import penstock as tf
        >>> tf.compat.v1.train.AdamOptimizer().variables()
        []
        """
        found = [*self._own.values(), *(v for kept in self._kept.values() for v in kept.values())]
        return sorted(found, key=lambda variable: variable.name)

    def minimize(
        self,
        loss: TensorLike | Callable[[], Any],
        global_step: Variable | None = None,
        var_list: Iterable[Variable] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Any:
        """Make the update that lessens a loss: `compute_gradients`, then `apply_gradients`.

        Args:
            loss: a scalar; outside of graphs, a function without arguments that gives one.
            global_step: a variable to add 1 to.
            var_list: the variables to change; by default all that are trainable.
            gate_gradients: accepted and ignored.
            aggregation_method: accepted and ignored.
            colocate_gradients_with_ops: accepted and ignored.
            name: a name for the update.
            grad_loss: what the gradient of the loss begins with; 1 by default.

        Returns:
            In a graph an operation to run, else None: the update is done.

        Raises:
            ValueError: where no variable has a gradient.

        >>> import penstock as tf
        >>> w = tf.Variable(4.0)
        >>> tf.compat.v1.train.GradientDescentOptimizer(0.25).minimize(lambda: w * w, var_list=[w])
        >>> float(w)
        2.0
        """
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(grad is None for grad, _ in pairs):
            names = [var.name for _, var in pairs]
            raise ValueError(
                f"no gradients provided for any variable: check your graph for ops that do not support "
                f"gradients, between variables {names} and loss {shown(loss)}"
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: TensorLike | Callable[[], Any],
        var_list: Iterable[Variable] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Variable]]:
        """Compute the gradients of a loss.

        Args:
            loss: a scalar; outside of graphs, a function without arguments that gives one.
            var_list: the variables; by default all that are trainable.
            gate_gradients: accepted and ignored.
            aggregation_method: accepted and ignored.
            colocate_gradients_with_ops: accepted and ignored.
            grad_loss: what the gradient of the loss begins with; 1 by default.

        Returns:
            Pairs of a gradient, None where the loss does not depend on the variable, and the variable.

        Raises:
            RuntimeError: for a tensor outside of graphs and traced functions.
            ValueError: where there is no variable, or the loss is not of floats.

        >>> import penstock as tf
        >>> w = tf.Variable(4.0)
        >>> ((slope, _),) = tf.compat.v1.train.AdamOptimizer().compute_gradients(lambda: w * w, [w])
        >>> float(slope)
        8.0
        """
        wanted = None if var_list is None else list(var_list)
        if callable(loss) and not isinstance(loss, _core.Tensor):
            with GradientTape() as tape:
                if wanted is not None:
                    tape.watch(wanted)
                value = loss()
            wanted = list(tape.watched_variables()) if wanted is None else wanted
            self._check_variables(wanted)
            return list(zip(tape.gradient(value, wanted, grad_loss), wanted, strict=True))
        if not _core._is_tracing():
            raise RuntimeError(
                "argument 'loss' must be a function where operations run at once, of which a tape can record "
                f"what it does; got {shown(loss)}"
            )
        wanted = trainable_variables() if wanted is None else wanted
        self._check_variables(wanted)
        target = _core._to_tensor(loss)
        if not target.dtype.is_floating:
            raise ValueError(f"argument 'loss' must be of floats, got dtype {target.dtype.name}")
        found = gradients(target, wanted, None if grad_loss is None else [grad_loss])
        return list(zip(found, wanted, strict=True))

    @staticmethod
    def _check_variables(variables: Sequence[Any]) -> None:
        if not variables:
            raise ValueError("no variables to optimize")
        for variable in variables:
            if not isinstance(variable, _core._Variable):
                raise TypeError(f"argument 'var_list' must list variables, got {shown(variable)}")

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Any:
        """Change variables by gradients.

        Args:
            grads_and_vars: pairs as `compute_gradients` gives them.
            global_step: a variable to add 1 to.
            name: a name for the update.

        Returns:
            In a graph an operation to run, else None: the update is done.

        Raises:
            ValueError: where no variable has a gradient.

        >>> import penstock as tf
        >>> w = tf.Variable(4.0)
        >>> tf.compat.v1.train.GradientDescentOptimizer(0.5).apply_gradients([(2.0, w)])
        >>> float(w)
        3.0
        """
        listed = list(grads_and_vars)
        pairs = [(grad, var) for grad, var in listed if grad is not None]
        if not pairs:
            names = [var.name for _, var in listed]
            raise ValueError(f"argument 'grads_and_vars': no gradients provided for any variable: {names}")
        self._check_variables([var for _, var in pairs])
        self._prepare([var for _, var in pairs])
        for _, var in pairs:
            self._keep(var)
        graph = v1_graph_state.current()
        start = 0 if graph is None else len(graph.engine)
        for grad, var in pairs:
            self._apply(grad, var)
        self._finish()
        if global_step is not None:
            global_step.assign_add(1)
        if graph is None:
            return None
        update = graph.operation_since(start, name or self._name)
        graph.add_to_collection(GraphKeys.TRAIN_OP, update)
        return update

    def _slot_starts(self) -> dict[str, float]:
        return self._slots

    def _keep(self, var: Variable) -> None:
        """Makes the variables that it keeps for another."""
        if var._unique_id in self._kept:
            return
        kept = self._kept[var._unique_id] = {}
        for place, (name, start) in enumerate(self._slot_starts().items()):
            label = f"{var._name}/{self._name}" + (f"_{place}" if place else "")
            first = creation.fill(var.shape, _core._to_tensor(start, var.dtype))
            kept[name] = Variable(first, trainable=False, name=label)

    def _prepare(self, variables: Sequence[Variable]) -> None:
        """Makes what all variables share."""

    def _finish(self) -> None:
        """Changes what all variables share."""

    def _updated(self, value: Any, grad: Any, *slots: Any) -> tuple[Any, ...]:
        """The value of a variable after an update, and those of the variables that are kept for it."""
        raise NotImplementedError(
            f"{type(self).__name__} is no optimizer by itself: use another of tf.compat.v1.train"
        )

    def _apply(self, grad: Any, var: Variable) -> None:
        kept = self._kept[var._unique_id]
        if isinstance(grad, IndexedSlices) and self._by_rows:
            self._apply_rows(grad, var, kept)
            return
        grad = _core._to_tensor_hinted(grad, var.dtype)
        slots = list(kept.values())
        value, *after = self._updated(var.read_value(), grad, *(slot.read_value() for slot in slots))
        for slot, new in zip(slots, after, strict=True):
            slot.assign(new)
        var.assign(value)

    def _apply_rows(self, grad: IndexedSlices, var: Variable, kept: dict[str, Variable]) -> None:
        rows = sorting.unique(grad.indices)
        summed = raw_ops.unsorted_segment_sum(grad.values, rows.idx, raw_ops.size(rows.y))
        variables = [var, *kept.values()]
        before, *slots = (raw_ops.gather(each.read_value(), rows.y, axis=0) for each in variables)
        after = self._updated(before, summed, *slots)
        for each, new in reversed(list(zip(variables, after, strict=True))):
            each.scatter_update(IndexedSlices(new, rows.y))

    @staticmethod
    def _number(rate: Rate, like: Any) -> _core.Tensor:
        """A learning rate or the like as a tensor of the dtype of another."""
        given = rate() if callable(rate) and not isinstance(rate, _core.Tensor | _core._Variable) else rate
        return raw_ops.cast(_core._to_tensor_hinted(given, like.dtype), dtype=like.dtype)
