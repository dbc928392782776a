"""Rounding to a grid, with gradients, for training with the error that quantization brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._autodiff.custom_gradient import custom_gradient
from penstock._runtime.arguments import integer, known_rank
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = [
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "floating",
    "half_away",
    "number",
]

_F32 = _core.float32


def number(value: float) -> _core.Tensor:
    """A scalar of `float32`."""
    return _core._to_tensor(value, _F32)


def floating(value: Any, argument: str) -> _core.Tensor:
    """A tensor of `float32`.

    Raises:
        TypeError: for another dtype.
    """
    x = _core._to_tensor_hinted(value, _F32)
    if x.dtype != _F32:
        raise DTypeError(f"argument '{argument}' must be float32, got {x.dtype.name}")
    return x


def half_away(x: _core.Tensor) -> _core.Tensor:
    """The nearest whole number; of two the one that is farther from 0."""
    whole = raw_ops.trunc(x)
    far = raw_ops.abs(x - whole) >= 0.5
    return raw_ops.select(far, whole + raw_ops.sign(x), whole)


def _bits(num_bits: Any, narrow_range: bool) -> tuple[float, float]:
    """The least and the greatest integer of so many bits.

    Raises:
        ValueError: for less than 2 bits or more than 16.
    """
    bits = integer(num_bits, "num_bits")
    if not 2 <= bits <= 16:
        raise InvalidArgumentError(f"argument 'num_bits' must be from 2 to 16, got {bits}")
    return (1.0 if narrow_range else 0.0), float(2**bits - 1)


class _Grid(NamedTuple):
    """The grid of a range: its ends, moved so that 0 is on the grid, and the step."""

    least: _core.Tensor
    greatest: _core.Tensor
    step: _core.Tensor


def _grid(least: _core.Tensor, greatest: _core.Tensor, low: float, high: float) -> _Grid:
    step = (greatest - least) / (high - low)
    zero = low - least / step
    zero = raw_ops.minimum(raw_ops.maximum(half_away(zero), number(low)), number(high))
    return _Grid((low - zero) * step, (high - zero) * step, step)


def _snapped(x: _core.Tensor, grid: _Grid) -> _core.Tensor:
    per_step = 1.0 / grid.step
    zero = raw_ops.floor(0.5 - grid.least * per_step)
    inside = raw_ops.minimum(raw_ops.maximum(x, grid.least), grid.greatest)
    return raw_ops.floor((inside - grid.least) * per_step - zero + 0.5) * grid.step


def _is_empty(least: _core.Tensor, greatest: _core.Tensor) -> _core.Tensor:
    """Whether a range is nothing but 0, which stands for a range that nobody knows yet."""
    zero = number(0.0)
    return raw_ops.logical_and(raw_ops.equal(least, zero), raw_ops.equal(greatest, zero))


def _sides(x: _core.Tensor, grid: _Grid) -> tuple[_core.Tensor, _core.Tensor]:
    return x < grid.least, x > grid.greatest


def _fake_gradients(
    upstream: _core.Tensor,
    x: _core.Tensor,
    least: _core.Tensor,
    greatest: _core.Tensor,
    limits: tuple[float, float],
    over: list[int],
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """The gradients of an element, of the least one and of the greatest one."""
    empty = _is_empty(least, greatest)
    # A range that is empty has no step; what is computed from 1 instead is not used.
    below, above = _sides(x, _grid(least, raw_ops.select(empty, number(1.0), greatest), *limits))
    none = raw_ops.zeros_like(upstream)
    below, above = (raw_ops.logical_and(side, raw_ops.logical_not(empty)) for side in (below, above))
    outside = raw_ops.logical_or(raw_ops.logical_or(below, above), raw_ops.is_nan(x))
    inside = raw_ops.select(outside, none, upstream)
    ends = [raw_ops.reduce_sum(raw_ops.select(side, upstream, none), axes=over) for side in (below, above)]
    return inside, ends[0], ends[1]


def _fake(
    inputs: Any, least: Any, greatest: Any, num_bits: Any, narrow_range: bool, per_channel: bool
) -> _core.Tensor:
    x, low, high = floating(inputs, "inputs"), floating(least, "min"), floating(greatest, "max")
    limits = _bits(num_bits, narrow_range)
    _check_ends(x, low, high, per_channel)
    over = _all_but_channels(x, per_channel)

    @custom_gradient
    def rounded(x: _core.Tensor, low: _core.Tensor, high: _core.Tensor) -> Any:
        empty = _is_empty(low, high)
        grid = _grid(low, raw_ops.select(empty, number(1.0), high), *limits)
        values = raw_ops.select(empty, raw_ops.zeros_like(x), _snapped(x, grid))
        return values, lambda upstream: _fake_gradients(upstream, x, low, high, limits, over)

    result: _core.Tensor = rounded(x, low, high)
    return result


def _all_but_channels(x: _core.Tensor, per_channel: bool) -> list[int]:
    rank = len(known_rank(x))
    return list(range(rank - 1 if per_channel else rank))


def _check_ends(x: _core.Tensor, low: _core.Tensor, high: _core.Tensor, per_channel: bool) -> None:
    sizes = known_rank(x, 1 if per_channel else 0)
    for end, argument in (low, "min"), (high, "max"):
        if not per_channel:
            if end.shape.rank not in (0, None):
                raise InvalidArgumentError(f"argument '{argument}' must be a scalar, got shape {end.shape}")
        elif not end.shape.is_compatible_with([sizes[-1]]):
            raise InvalidArgumentError(
                f"argument '{argument}' must have an element for each channel of 'inputs', whose shape is "
                f"{x.shape}, got shape {end.shape}"
            )


def _arguments(least: float, greatest: float) -> tuple[float, float]:
    low, high = float(least), float(greatest)
    if not low < high:
        raise InvalidArgumentError(f"argument 'min' must be less than 'max', got {low} and {high}")
    return low, high


@scoped
def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: IntLike = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Round elements to the values that integers of few bits can stand for.

    The range is moved by less than a step, so that 0 is such a value. The gradient is that of a function
    that leaves what is in the range and gives the nearest end for other elements.

    Args:
        inputs: a tensor of `float32`.
        min: the least value.
        max: the greatest value.
        num_bits: how many bits, from 2 to 16.
        narrow_range: whether the least integer is 1 instead of 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `float32` of the shape of `inputs`.

    Raises:
        ValueError: where `min` is not below `max`, or for another number of bits.

    >>> import penstock as tf
    >>> tf.quantization.fake_quant_with_min_max_args([-9.0, 0.1, 0.9], min=0, max=1, num_bits=2).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    low, high = _arguments(min, max)
    return _fake(inputs, low, high, num_bits, narrow_range, False)


@scoped
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: IntLike = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the gradient of `fake_quant_with_min_max_args`.

    Args:
        gradients: those of the result, of the shape of `inputs`.
        inputs: what it was called with, as are those that follow.
        min: the least value.
        max: the greatest value.
        num_bits: how many bits, from 2 to 16.
        narrow_range: whether the least integer is 1 instead of 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        `gradients` where `inputs` is in the range, else 0.

    Raises:
        ValueError: where `min` is not below `max`, or for another number of bits.

    >>> import penstock as tf
    >>> tf.quantization.fake_quant_with_min_max_args_gradient([1.0, 1.0], [-9.0, 3.0]).numpy()
    array([0., 1.], dtype=float32)
    """
    low, high = _arguments(min, max)
    x, limits = floating(inputs, "inputs"), _bits(num_bits, narrow_range)
    upstream = floating(gradients, "gradients")
    return _fake_gradients(upstream, x, number(low), number(high), limits, _all_but_channels(x, False))[0]


@scoped
def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: IntLike = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Round elements to the values that integers of few bits can stand for, within a range that is trained.

    As `fake_quant_with_min_max_args`; the ends of the range have a gradient, too: that of all elements that
    lie beyond. A range from 0 to 0 is one that nobody knows yet: the result is 0, and the gradient goes
    through.

    Args:
        inputs: a tensor of `float32`.
        min: the least value, a scalar.
        max: the greatest value, a scalar.
        num_bits: how many bits, from 2 to 16.
        narrow_range: whether the least integer is 1 instead of 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `float32` of the shape of `inputs`.

    Raises:
        TypeError: for another dtype.
        ValueError: for ends that are not scalars, or another number of bits.

    >>> import penstock as tf
    >>> x, high = tf.constant([-1.0, 1.2, 9.0]), tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.quantization.fake_quant_with_min_max_vars(x, 0.0, high, num_bits=2)
    >>> y.numpy(), tape.gradient(y, high).numpy()
    (array([0., 1., 3.], dtype=float32), np.float32(1.0))
    """
    return _fake(inputs, min, max, num_bits, narrow_range, False)


@scoped
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: IntLike = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Compute the gradients of `fake_quant_with_min_max_vars`.

    Args:
        gradients: those of the result, of the shape of `inputs`.
        inputs: what it was called with, as are those that follow.
        min: the least value, a scalar.
        max: the greatest value, a scalar.
        num_bits: how many bits, from 2 to 16.
        narrow_range: whether the least integer is 1 instead of 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        The gradients of `inputs`, of `min` and of `max`.

    Raises:
        TypeError: for another dtype.
        ValueError: for ends that are not scalars, or another number of bits.

    >>> import penstock as tf
    >>> function = tf.quantization.fake_quant_with_min_max_vars_gradient
    >>> [g.numpy().tolist() for g in function([1.0, 2.0, 3.0], [-9.0, 1.0, 9.0], 0.0, 3.0)]
    [[0.0, 2.0, 0.0], 1.0, 3.0]
    """
    return _fake_backward(gradients, inputs, min, max, num_bits, narrow_range, False)


def _fake_backward(
    gradients: Any, inputs: Any, least: Any, greatest: Any, bits: Any, narrow: bool, per_channel: bool
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    x, low, high = floating(inputs, "inputs"), floating(least, "min"), floating(greatest, "max")
    _check_ends(x, low, high, per_channel)
    upstream = floating(gradients, "gradients")
    over = _all_but_channels(x, per_channel)
    return _fake_gradients(upstream, x, low, high, _bits(bits, narrow), over)


@scoped
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: IntLike = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Round elements as `fake_quant_with_min_max_vars`, with a range for each channel.

    Args:
        inputs: a tensor of `float32` and of shape `[.., channels]`.
        min: the least value of each channel.
        max: the greatest value of each channel.
        num_bits: how many bits, from 2 to 16.
        narrow_range: whether the least integer is 1 instead of 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `float32` of the shape of `inputs`.

    Raises:
        TypeError: for another dtype.
        ValueError: for ends of another shape than `[channels]`, or another number of bits.

    >>> import penstock as tf
    >>> x = tf.constant([[1.2, 1.2]])
    >>> function = tf.quantization.fake_quant_with_min_max_vars_per_channel
    >>> function(x, [0.0, -3.0], [3.0, 0.0], num_bits=2).numpy()
    array([[1., 0.]], dtype=float32)
    """
    return _fake(inputs, min, max, num_bits, narrow_range, True)


@scoped
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: IntLike = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Compute the gradients of `fake_quant_with_min_max_vars_per_channel`.

    Args:
        gradients: those of the result, of the shape of `inputs`.
        inputs: what it was called with, as are those that follow.
        min: the least value of each channel.
        max: the greatest value of each channel.
        num_bits: how many bits, from 2 to 16.
        narrow_range: whether the least integer is 1 instead of 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        The gradients of `inputs`, of `min` and of `max`.

    Raises:
        TypeError: for another dtype.
        ValueError: for ends of another shape than `[channels]`, or another number of bits.

    >>> import penstock as tf
    >>> function = tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient
    >>> [g.numpy().tolist() for g in function([[1.0, 1.0]], [[9.0, 1.0]], [0.0, 0.0], [3.0, 3.0])]
    [[[0.0, 1.0]], [0.0, 0.0], [1.0, 0.0]]
    """
    return _fake_backward(gradients, inputs, min, max, num_bits, narrow_range, True)
