"""Cells of recurrent networks around other cells."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, nest, raw_ops
from penstock._runtime.scope import device as _device
from penstock._values.module import Module
from penstock._values.tensor_array import TensorArray
from penstock.random import uniform

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike

__all__ = ["RNNCellDeviceWrapper", "RNNCellDropoutWrapper", "RNNCellResidualWrapper"]


class _CellWrapper(Module):
    """A cell around another one, which takes inputs and a state and gives outputs and the next state."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        if not callable(cell) or not hasattr(cell, "state_size"):
            raise TypeError(f"argument 'cell' must be a cell with a 'state_size', got {cell!r}")
        super().__init__(kwargs.get("name"))
        self.cell = cell

    @property
    def state_size(self) -> Any:
        """The sizes of the state of the cell."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of what the cell gives."""
        return self.cell.output_size

    def zero_state(self, batch_size: IntLike, dtype: DTypeLike) -> Any:
        """Make the first state of the cell.

        Args:
            batch_size: the number of rows.
            dtype: the dtype.

        Returns:
            The state.

        >>> import penstock as tf
        >>> cell = tf.compat.v1.nn.rnn_cell.GRUCell(4)
        >>> tf.nn.RNNCellResidualWrapper(cell).zero_state(2, tf.float32).shape
        TensorShape([2, 4])
        """
        with self._placed():
            return self.cell.zero_state(batch_size, dtype)

    def get_initial_state(self, *args: Any, **kwargs: Any) -> Any:
        """Make the first state of the cell, with the arguments that it takes.

        Args:
            *args: the arguments.
            **kwargs: those by name.

        Returns:
            The state.

        >>> import penstock as tf
        >>> class Cell:
        ...     state_size = output_size = 1
        ...     def __call__(self, inputs, state):
        ...         return inputs, state
        ...     def get_initial_state(self, batch_size):
        ...         return tf.zeros([batch_size, 1])
        >>> tf.nn.RNNCellResidualWrapper(Cell()).get_initial_state(batch_size=2).shape
        TensorShape([2, 1])
        """
        with self._placed():
            return self.cell.get_initial_state(*args, **kwargs)

    def __call__(self, inputs: object, state: object, scope: object = None, **kwargs: Any) -> tuple[Any, Any]:
        """Compute a step.

        Args:
            inputs: what comes in, [batch, size].
            state: the state.
            scope: accepted and ignored.
            **kwargs: what else the cell takes.

        Returns:
            What it gives, and the next state.
        """
        return self.call(inputs, state, **kwargs)

    def call(self, inputs: object, state: object, **kwargs: Any) -> tuple[Any, Any]:
        """Compute a step, as a layer of Keras calls it.

        Args:
            inputs: what comes in, [batch, size].
            state: the state.
            **kwargs: what else the cell takes.

        Returns:
            What it gives, and the next state.

        >>> import penstock as tf
        >>> class Cell:
        ...     state_size = output_size = 1
        ...     def __call__(self, inputs, state):
        ...         return inputs, state
        >>> output, state = tf.nn.RNNCellResidualWrapper(Cell()).call(tf.ones([1, 1]), tf.zeros([1, 1]))
        >>> output.numpy().tolist(), state.numpy().tolist()
        ([[2.0]], [[0.0]])
        """
        with self._placed():
            return self._around(inputs, state, kwargs)

    def _around(self, inputs: Any, state: Any, given: dict[str, Any]) -> tuple[Any, Any]:
        output, after = self.cell(inputs, state, **given)
        return output, after

    def _placed(self) -> contextlib.AbstractContextManager[Any]:
        """Where the cell computes."""
        return contextlib.nullcontext()


class RNNCellDeviceWrapper(_CellWrapper):
    """Computes the steps of a cell on a device.

    Args:
        cell: the cell.
        device: the device, as `tf.device` takes it.
        **kwargs: `name`; others are accepted and ignored.

    Raises:
        TypeError: where `cell` is no cell.

    >>> import penstock as tf
    >>> cell = tf.compat.v1.nn.rnn_cell.GRUCell(4)
    >>> tf.nn.RNNCellDeviceWrapper(cell, "/cpu:0").output_size
    4
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def _placed(self) -> contextlib.AbstractContextManager[Any]:
        return _device(self._device)


class RNNCellResidualWrapper(_CellWrapper):
    """Adds what comes into a cell to what it gives.

    Args:
        cell: the cell.
        residual_fn: makes the result of what comes in and what the cell gives; by default their sum.
        **kwargs: `name`; others are accepted and ignored.

    Raises:
        TypeError: where `cell` is no cell.

    >>> import penstock as tf
    >>> class Twice:
    ...     state_size = output_size = 1
    ...     def __call__(self, inputs, state):
    ...         return inputs * 2, state
    >>> output, _ = tf.nn.RNNCellResidualWrapper(Twice())(tf.constant([[3.0]]), tf.zeros([1, 1]))
    >>> output.numpy().tolist()
    [[9.0]]
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual = residual_fn

    def _around(self, inputs: Any, state: Any, given: dict[str, Any]) -> tuple[Any, Any]:
        output, after = self.cell(inputs, state, **given)
        if self._residual is not None:
            return self._residual(inputs, output), after
        return nest.map_structure(_sum, inputs, output), after


def _sum(given: Any, output: Any) -> Any:
    x, y = _core._to_tensor(given), _core._to_tensor(output)
    if not x.shape.is_compatible_with(y.shape):
        raise ValueError(
            f"argument 'cell' must give the shape of what comes in, {x.shape}, to be added to it, got "
            f"{y.shape}"
        )
    return x + y


class RNNCellDropoutWrapper(_CellWrapper):
    """Sets random elements of inputs, states and outputs of a cell to 0, and scales the others.

    Args:
        cell: the cell.
        input_keep_prob: the part of what comes in that stays, a number or a scalar tensor.
        output_keep_prob: the part of what it gives that stays.
        state_keep_prob: the part of the state that stays; what a memory holds, the field `c` of a named
            tuple, stays whole.
        variational_recurrent: whether the same elements are dropped in each step, of all rows. They are drawn
            when the wrapper is made.
        input_size: the sizes of what comes in, for `variational_recurrent`.
        dtype: the dtype of it, for `variational_recurrent`.
        seed: the seed of the draws.
        dropout_state_filter_visitor: tells for a part of the state whether elements of it are dropped: True,
            False, or a structure of these.
        **kwargs: `name`; others are accepted and ignored.

    Raises:
        TypeError: where `cell` is no cell.
        ValueError: for a part that is not from 0 to 1, or sizes that are missing.

    >>> import penstock as tf
    >>> cell = tf.compat.v1.nn.rnn_cell.GRUCell(4)
    >>> tf.nn.RNNCellDropoutWrapper(cell, output_keep_prob=0.5).output_size
    4
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, **kwargs)
        self._kept: dict[str, Any] = {
            "input": input_keep_prob,
            "output": output_keep_prob,
            "state": state_keep_prob,
        }
        for name, kept in self._kept.items():
            if isinstance(kept, int | float) and not 0.0 <= kept <= 1.0:
                raise ValueError(f"argument '{name}_keep_prob' must be from 0 to 1, got {kept}")
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError(
                "argument 'dropout_state_filter_visitor' must be a function, got "
                f"{dropout_state_filter_visitor!r}"
            )
        self._filter = dropout_state_filter_visitor or _no_memory
        self._seed = seed
        # What is drawn once, in the order of the leaves.
        self._noise: dict[str, list[Any]] = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError("argument 'dtype' must be given where 'variational_recurrent' is True")
            if input_size is None and not self._whole("input"):
                raise ValueError(
                    "argument 'input_size' must be given where 'variational_recurrent' is True and "
                    "'input_keep_prob' is below 1"
                )
            sizes = {"input": input_size, "output": cell.output_size, "state": cell.state_size}
            for name, size in sizes.items():
                if not self._whole(name):
                    self._noise[name] = [
                        uniform([1, *_extents(one)], dtype=dtype, seed=seed) for one in nest.flatten(size)
                    ]

    def _whole(self, name: str) -> bool:
        kept = self._kept[name]
        return isinstance(kept, int | float) and kept >= 1.0

    def _around(self, inputs: Any, state: Any, given: dict[str, Any]) -> tuple[Any, Any]:
        output, after = self.cell(self._dropped("input", inputs), state, **given)
        return self._dropped("output", output), self._dropped("state", after, self._filter)

    def _dropped(self, name: str, values: Any, visitor: Callable[[Any], Any] | None = None) -> Any:
        if self._whole(name):
            return values
        leaves = nest.flatten(values)
        chosen = [True] * len(leaves) if visitor is None else _chosen(values, visitor)
        drawn = self._noise.get(name, [None] * len(leaves))
        made = [
            self._one(name, x, noise) if choose else x
            for x, noise, choose in zip(leaves, drawn, chosen, strict=True)
        ]
        return nest.pack_sequence_as(values, made)

    def _one(self, name: str, x: Any, noise: Any) -> Any:
        x = _core._to_tensor(x)
        kept = raw_ops.cast(_core._to_tensor(self._kept[name]), dtype=x.dtype)
        if noise is None:
            noise = uniform(raw_ops.shape(x), dtype=x.dtype, seed=self._seed)
        # A number from 0 to 1 and the part that stays are 1 or more together as often as that part says.
        return x / kept * raw_ops.floor(raw_ops.cast(noise, dtype=x.dtype) + kept)


def _extents(size: Any) -> list[int]:
    return [int(n) for n in size] if hasattr(size, "__iter__") else [int(size)]


def _no_memory(state: Any) -> Any:
    """Elements of all parts are dropped, but of memories."""
    if isinstance(state, TensorArray):
        return False
    fields = getattr(state, "_fields", None)
    if fields is not None and set(fields) == {"c", "h"}:
        return type(state)(c=False, h=True)
    return True


def _chosen(state: Any, visitor: Callable[[Any], Any]) -> list[bool]:
    """Whether elements of each leaf of a state are dropped."""
    said = visitor(state)
    count = len(nest.flatten(state))
    if said is False or (said is True and not nest.is_nested(state)):
        return [bool(said)] * count
    if said is True:
        parts = state.values() if isinstance(state, dict) else state
        return [leaf for part in parts for leaf in _chosen(part, visitor)]
    flat = nest.flatten(said)
    parts = list(state.values() if isinstance(state, dict) else state)
    if len(flat) != len(parts):
        raise ValueError(
            "argument 'dropout_state_filter_visitor' must give a boolean for each part of a state, got "
            f"{said!r}"
        )
    return [bool(one) for one, part in zip(flat, parts, strict=True) for _ in nest.flatten(part)]
