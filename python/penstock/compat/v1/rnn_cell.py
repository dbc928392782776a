"""`tf.nn.rnn_cell` of TensorFlow 1: cells of recurrent networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, nest, raw_ops
from penstock._ops.creation import zeros
from penstock._types.argument_names import shown
from penstock.compat.v1._variables import get_variable, variable_scope
from penstock.initializers import Constant, Zeros
from penstock.nn import dropout

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]


class LSTMStateTuple(NamedTuple):
    """The state of a long short-term memory: what it holds, and what it gave last."""

    c: Any
    h: Any


class RNNCell:
    """A step of a recurrent network: `output, state = cell(inputs, state)`.

    Classes of it have `state_size`, `output_size` and `call(inputs, state)`.
    """

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, reuse: Any = None) -> None:
        self._name = name
        self._reuse = reuse
        self._dtype = dtype
        self._made: dict[str, Any] = {}

    @property
    def state_size(self) -> Any:
        """The sizes of the state, a number or a structure of numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no state_size")

    @property
    def output_size(self) -> Any:
        """The size of what it gives."""
        raise NotImplementedError(f"{type(self).__name__} has no output_size")

    @property
    def variables(self) -> list[Any]:
        """Its variables, once it has run."""
        return list(self._made.values())

    @property
    def trainable_variables(self) -> list[Any]:
        """Its variables that tapes watch."""
        return [v for v in self.variables if v.trainable]

    @property
    def weights(self) -> list[Any]:
        """Its variables."""
        return self.variables

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Compute a step.

        Args:
            inputs: what comes in, [batch, size].
            state: the state, of tensors of shape [batch, size].

        Returns:
            What it gives, and the next state.
        """
        raise NotImplementedError(f"{type(self).__name__} has no call")

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Make a state of zeros.

        Args:
            batch_size: the number of examples.
            dtype: the element type.

        Returns:
            The state, tensors of shape [batch_size, size].

        >>> import penstock as tf
        >>> tf.compat.v1.nn.rnn_cell.GRUCell(3).zero_state(2, tf.float32).shape
        TensorShape([2, 3])
        """
        return nest.map_structure(lambda size: zeros([batch_size, size], dtype), self.state_size)

    def __call__(self, inputs: TensorLike, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Compute a step within a scope of variables, by default one of the cell's name.

        Args:
            inputs: what comes in, [batch, size].
            state: the state.
            scope: the name of the scope, or the scope.

        Returns:
            What it gives, and the next state.
        """
        given = _core._to_tensor(inputs)
        with variable_scope(scope, default_name=self._name or _snake(type(self).__name__), reuse=self._reuse):
            return self.call(given, state)

    def _variable(self, name: str, shape: Sequence[Any], like: Any, initializer: Any = None) -> Any:
        """A variable, which is made by the first step."""
        if name not in self._made:
            self._made[name] = get_variable(name, list(shape), self._dtype or like.dtype, initializer)
        return self._made[name]


def _snake(name: str) -> str:
    """A class's name as scopes have it: `BasicLSTMCell` is `basic_lstm_cell`."""
    text = ""
    for i, sign in enumerate(name):
        starts = sign.isupper() and i and (name[i - 1].islower() or name[i + 1 : i + 2].islower())
        text += ("_" if starts else "") + sign.lower()
    return text


def _depth(inputs: Any) -> int:
    depth = inputs.shape[-1]
    if depth is None:
        raise ValueError(f"argument 'inputs' must have a known last size, got {shown(inputs)}")
    return int(depth)


def _affine(x: Any, kernel: Any, bias: Any = None) -> Any:
    product = raw_ops.matmul(x, kernel)
    return product if bias is None else product + bias


def _beside(*parts: Any) -> Any:
    return raw_ops.concat(*parts, axis=1)


class _Units(RNNCell):
    """A cell whose state is what it gives."""

    def __init__(
        self, num_units: int, activation: Callable[..., Any] | None, reuse: Any, name: Any, dtype: Any
    ) -> None:
        super().__init__(name, dtype, reuse)
        self._units = num_units
        self._activation = activation or raw_ops.tanh

    @property
    def state_size(self) -> int:
        """The size of the state."""
        return self._units

    @property
    def output_size(self) -> int:
        """The size of what it gives."""
        return self._units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Compute a step.

        Args:
            inputs: what comes in, [batch, size].
            state: the state.

        Returns:
            What it gives, and the next state, which is the same.
        """
        output = self._next(inputs, state)
        return output, output

    # Gives the state after a step, from the inputs and the state before. Each subclass defines it.
    _next: Callable[[Any, Any], Any]


class BasicRNNCell(_Units):
    """The plainest cell: `tanh(inputs @ w + state @ u + b)`.

    Args:
        num_units: the size of the state.
        activation: applied at last; `tanh` by default.
        reuse: whether the variables are there already.
        name: the name of the scope of its variables.
        dtype: the element type of its variables; that of what comes in by default.

    >>> import penstock as tf
    >>> cell = tf.compat.v1.nn.rnn_cell.BasicRNNCell(3)
    >>> output, state = cell(tf.zeros([2, 4]), cell.zero_state(2, tf.float32))
    >>> output.shape
    TensorShape([2, 3])
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)

    def _next(self, inputs: Any, state: Any) -> Any:
        kernel = self._variable("kernel", [_depth(inputs) + self._units, self._units], inputs)
        bias = self._variable("bias", [self._units], inputs, Zeros())
        return self._activation(_affine(_beside(inputs, state), kernel, bias))


class GRUCell(_Units):
    """A gated recurrent unit.

    Args:
        num_units: the size of the state.
        activation: applied to the candidate; `tanh` by default.
        reuse: whether the variables are there already.
        kernel_initializer: makes the first kernels.
        bias_initializer: makes the first biases; by default those of gates are 1 and that of the candidate 0.
        name: the name of the scope of its variables.
        dtype: the element type of its variables; that of what comes in by default.

    >>> import penstock as tf
    >>> cell = tf.compat.v1.nn.rnn_cell.GRUCell(3)
    >>> output, state = cell(tf.zeros([2, 4]), cell.zero_state(2, tf.float32))
    >>> output.shape
    TensorShape([2, 3])
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def _next(self, inputs: Any, state: Any) -> Any:
        rows, units, kernels = _depth(inputs) + self._units, self._units, self._kernel_initializer
        gates = _affine(
            _beside(inputs, state),
            self._variable("gates/kernel", [rows, 2 * units], inputs, kernels),
            self._variable("gates/bias", [2 * units], inputs, self._bias_initializer or Constant(1.0)),
        )
        reset, update = raw_ops.split(raw_ops.sigmoid(gates), sizes=[units, units], axis=1)
        candidate = self._activation(
            _affine(
                _beside(inputs, reset * state),
                self._variable("candidate/kernel", [rows, units], inputs, kernels),
                self._variable("candidate/bias", [units], inputs, self._bias_initializer or Zeros()),
            )
        )
        return update * state + (1.0 - update) * candidate


class LSTMCell(RNNCell):
    """A long short-term memory.

    Args:
        num_units: the size of what it holds.
        use_peepholes: whether the gates see what it holds.
        cell_clip: the bound of what it holds; None for none.
        initializer: makes the first kernels.
        num_proj: the size of what it gives, which is a projection; None for none.
        proj_clip: the bound of the projection; None for none.
        num_unit_shards: accepted and ignored.
        num_proj_shards: accepted and ignored.
        forget_bias: added to the forget gate.
        state_is_tuple: whether the state is an `LSTMStateTuple`; else both parts beside each other.
        activation: applied to the candidate and to what it holds; `tanh` by default.
        reuse: whether the variables are there already.
        name: the name of the scope of its variables.
        dtype: the element type of its variables; that of what comes in by default.
        **kwargs: accepted and ignored.

    >>> import penstock as tf
    >>> cell = tf.compat.v1.nn.rnn_cell.LSTMCell(3)
    >>> output, state = cell(tf.zeros([2, 4]), cell.zero_state(2, tf.float32))
    >>> state.c.shape
    TensorShape([2, 3])
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, dtype, reuse)
        self._units, self._projected = num_units, num_proj
        self._peepholes, self._forget_bias = use_peepholes, forget_bias
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer, self._tuple = initializer, state_is_tuple
        self._activation = activation or raw_ops.tanh

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        if self._tuple:
            return LSTMStateTuple(self._units, self.output_size)
        return self._units + self.output_size

    @property
    def output_size(self) -> int:
        """The size of what it gives."""
        return self._projected or self._units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Compute a step.

        Args:
            inputs: what comes in, [batch, size].
            state: the state.

        Returns:
            What it gives, and the next state.
        """
        units, out = self._units, self.output_size
        c, h = state if self._tuple else raw_ops.split(state, sizes=[units, out], axis=1)
        rows, first = _depth(inputs) + out, self._initializer
        gates = _affine(
            _beside(inputs, h),
            self._variable("kernel", [rows, 4 * units], inputs, first),
            self._variable("bias", [4 * units], inputs, Zeros()),
        )
        i, j, f, o = raw_ops.split(gates, sizes=[units] * 4, axis=1)
        seen = [
            self._variable(f"w_{gate}_diag", [units], inputs, first) if self._peepholes else None
            for gate in "fio"
        ]
        f = raw_ops.sigmoid(f + self._forget_bias + (0.0 if seen[0] is None else seen[0] * c))
        i = raw_ops.sigmoid(i if seen[1] is None else i + seen[1] * c)
        c = f * c + i * self._activation(j)
        c = _bounded(c, self._cell_clip)
        o = raw_ops.sigmoid(o if seen[2] is None else o + seen[2] * c)
        h = o * self._activation(c)
        if self._projected is not None:
            kernel = self._variable("projection/kernel", [units, self._projected], inputs, first)
            h = _bounded(_affine(h, kernel), self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._tuple else _beside(c, h)


def _bounded(x: Any, bound: float | None) -> Any:
    if bound is None:
        return x
    like = raw_ops.zeros_like(x)
    return raw_ops.maximum(raw_ops.minimum(x, like + bound), like - bound)


class BasicLSTMCell(LSTMCell):
    """A long short-term memory without peepholes, bounds and projections.

    Args:
        num_units: the size of what it holds.
        forget_bias: added to the forget gate.
        state_is_tuple: whether the state is an `LSTMStateTuple`; else both parts beside each other.
        activation: applied to the candidate and to what it holds; `tanh` by default.
        reuse: whether the variables are there already.
        name: the name of the scope of its variables.
        dtype: the element type of its variables; that of what comes in by default.
        **kwargs: accepted and ignored.

    >>> import penstock as tf
    >>> cell = tf.compat.v1.nn.rnn_cell.BasicLSTMCell(3)
    >>> output, state = cell(tf.zeros([2, 4]), cell.zero_state(2, tf.float32))
    >>> output.shape
    TensorShape([2, 3])
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )


class MultiRNNCell(RNNCell):
    """Cells, each of which takes what the one before it gives.

    Args:
        cells: the cells.
        state_is_tuple: whether the state is a tuple of those of the cells; it must be.

    Raises:
        ValueError: where there are no cells, or the state is to be one tensor.

    >>> import penstock as tf
    >>> cells = tf.compat.v1.nn.rnn_cell
    >>> cells.MultiRNNCell([cells.GRUCell(3), cells.GRUCell(5)]).state_size
    (3, 5)
    """

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("argument 'cells' must have at least one cell")
        if not state_is_tuple:
            raise ValueError("argument 'state_is_tuple' must be True: states are not put beside each other")
        self._cells = list(cells)

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the states of its cells."""
        return tuple(cell.state_size for cell in self._cells)

    @property
    def output_size(self) -> Any:
        """The size of what the last cell gives."""
        return self._cells[-1].output_size

    @property
    def variables(self) -> list[Any]:
        """The variables of its cells."""
        return [variable for cell in self._cells for variable in cell.variables]

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Compute a step.

        Args:
            inputs: what comes in, [batch, size].
            state: the states of the cells.

        Returns:
            What the last cell gives, and the next states.
        """
        states = []
        for place, (cell, held) in enumerate(zip(self._cells, state, strict=True)):
            with variable_scope(f"cell_{place}"):
                inputs, after = cell(inputs, held)
            states.append(after)
        return inputs, tuple(states)


class _Wrapper(RNNCell):
    """A cell around another one."""

    def __init__(self, cell: RNNCell) -> None:
        super().__init__()
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The sizes of the state of the cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of what the cell gives."""
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        """The variables of the cell."""
        return self._cell.variables

    def __call__(self, inputs: TensorLike, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Compute a step.

        Args:
            inputs: what comes in, [batch, size].
            state: the state.
            scope: the name of the scope of the cell's variables, or the scope.

        Returns:
            What it gives, and the next state.
        """
        return self._around(_core._to_tensor(inputs), state, scope)

    def _around(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        return self._cell(inputs, state, scope)


class ResidualWrapper(_Wrapper):
    """Adds what comes into a cell to what it gives.

    Args:
        cell: the cell.
        residual_fn: makes the output of what comes in and what the cell gives; the sum by default.
        **kwargs: accepted and ignored.

    >>> import penstock as tf
    >>> cells = tf.compat.v1.nn.rnn_cell
    >>> cells.ResidualWrapper(cells.GRUCell(4)).output_size
    4
    """

    def __init__(self, cell: RNNCell, residual_fn: Callable[..., Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell)
        self._residual = residual_fn or raw_ops.add

    def _around(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        output, after = self._cell(inputs, state, scope)
        return self._residual(inputs, output), after


class DropoutWrapper(_Wrapper):
    """Sets random elements of inputs, states and outputs of a cell to 0, and scales the others.

    Args:
        cell: the cell.
        input_keep_prob: the part of what comes in that stays.
        output_keep_prob: the part of what it gives that stays.
        state_keep_prob: the part of the state that stays; what a memory holds stays whole.
        variational_recurrent: whether the same elements are dropped in each step; it must be False.
        input_size: accepted and ignored.
        dtype: accepted and ignored.
        seed: the seed of the draws.
        **kwargs: accepted and ignored.

    Raises:
        ValueError: where the same elements are to be dropped in each step.

    >>> import penstock as tf
    >>> cells = tf.compat.v1.nn.rnn_cell
    >>> cells.DropoutWrapper(cells.GRUCell(4), output_keep_prob=0.5).output_size
    4
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell)
        if variational_recurrent:
            raise ValueError("argument 'variational_recurrent' must be False: each step draws anew")
        self._kept = (input_keep_prob, output_keep_prob, state_keep_prob)
        self._seed = seed

    def _around(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        of_input, of_output, of_state = self._kept
        output, after = self._cell(self._dropped(inputs, of_input), state, scope)
        if isinstance(after, LSTMStateTuple):
            after = LSTMStateTuple(after.c, self._dropped(after.h, of_state))
        else:
            after = nest.map_structure(lambda x: self._dropped(x, of_state), after)
        return self._dropped(output, of_output), after

    def _dropped(self, x: Any, kept: Any) -> Any:
        whole = isinstance(kept, int | float) and kept >= 1.0
        return x if whole else dropout(x, rate=1.0 - kept, seed=self._seed)
