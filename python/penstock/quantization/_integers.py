"""Numbers as integers of few bits with a range, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._autodiff.custom_gradient import custom_gradient
from penstock._ops.casts import saturate_cast
from penstock._runtime.arguments import integer, known_rank, require
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.quantization._fake import floating, half_away, number

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

__all__ = [
    "dequantize",
    "quantize",
    "quantize_and_dequantize",
    "quantize_and_dequantize_v2",
    "quantized_concat",
]

_F32 = _core.float32
_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_QUANTIZED = (_core.int8, _core.uint8, _core.int16, _core.uint16, _core.int32)
# A scale that no other is above.
_HUGE = 3.4028235e38


class Quantized(NamedTuple):
    """A tensor of integers and the range that it stands for.

    Attributes:
        output: the integers.
        output_min: what the least of them stands for.
        output_max: what the greatest of them stands for.
    """

    output: _core.Tensor
    output_min: _core.Tensor
    output_max: _core.Tensor


class QuantizedConcat(NamedTuple):
    """Tensors of integers one behind the other, and the range that they stand for.

    Attributes:
        output: the integers.
        output_min: what the least of them stands for.
        output_max: what the greatest of them stands for.
    """

    output: _core.Tensor
    output_min: _core.Tensor
    output_max: _core.Tensor


def _integers(dtype: DTypeLike, argument: str) -> tuple[_core.DType, float, float]:
    """A dtype of quantized tensors, with its limits."""
    target = _core.DType(dtype)
    if target not in _QUANTIZED:
        names = ", ".join(f"q{d.name.replace('uint', 'uint')}" for d in _QUANTIZED)
        raise DTypeError(f"argument '{argument}' must be one of {names}, got {target.name}")
    return target, float(target.min), float(target.max)


def _mode(mode: str) -> str:
    if mode not in _MODES:
        raise InvalidArgumentError(f"argument 'mode' must be one of {', '.join(_MODES)}, got {mode!r}")
    return mode


def _along(end: _core.Tensor, x: _core.Tensor, axis: int | None) -> _core.Tensor:
    """The end of a range for each part along a dimension, as what broadcasts with the tensor."""
    if axis is None:
        return end
    rank = len(known_rank(x, 1))
    if not 0 <= axis < rank:
        raise InvalidArgumentError(f"argument 'axis' must be from 0 to {rank - 1} or None, got {axis}")
    return raw_ops.reshape(end, [-1 if i == axis else 1 for i in range(rank)])


def _axis(axis: IntLike | None) -> int | None:
    number = -1 if axis is None else integer(axis, "axis")
    return None if number == -1 else number


def _nearest(x: _core.Tensor, round_mode: str) -> _core.Tensor:
    if round_mode == "HALF_TO_EVEN":
        return raw_ops.rint(x)
    return raw_ops.floor(x + 0.5) if round_mode == "HALF_UP" else half_away(x)


class _Scale(NamedTuple):
    """Integers for each unit, units for each integer, and the ends of the range that integers reach."""

    factor: _core.Tensor
    inverse: _core.Tensor
    least: _core.Tensor
    greatest: _core.Tensor


def _symmetric(least: _core.Tensor, greatest: _core.Tensor, low: float, high: float) -> _Scale:
    """The scale by which 0 stands for 0, and a range fits into integers from `low` to `high`."""
    huge = number(_HUGE)
    of_low = raw_ops.select(low * least > 0.0, raw_ops.divide_no_nan(number(low), least), huge)
    of_high = raw_ops.select(high * greatest > 0.0, raw_ops.divide_no_nan(number(high), greatest), huge)
    lower = of_low < of_high
    factor = raw_ops.minimum(of_low, of_high)
    by_low = least / low if low else 1.0 / factor
    inverse = raw_ops.select(lower, by_low, greatest / high)
    return _Scale(
        factor,
        inverse,
        raw_ops.select(lower, least, low * inverse),
        raw_ops.select(lower, high * inverse, greatest),
    )


@scoped
def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: IntLike | None = None,
    ensure_minimum_range: float = 0.01,
) -> Quantized:
    """Put numbers of a range on integers.

    Args:
        input: a tensor of `float32`.
        min_range: the least value, a scalar, or one for each part along `axis`. The range is widened to
            hold 0.
        max_range: the greatest value, as `min_range`.
        T: the dtype of the integers: `tf.qint8`, `tf.quint8`, `tf.qint16`, `tf.quint16` or `tf.qint32`.
        mode: `"MIN_COMBINED"`: the range is that of the integers; `"MIN_FIRST"`: besides, 0 is on the grid;
            `"SCALED"`: 0 stands for 0.
        round_mode: `"HALF_AWAY_FROM_ZERO"`; with `"SCALED"` also `"HALF_TO_EVEN"`.
        name: a scope for the names of its operations in a graph.
        narrow_range: whether the least integer is not used, with `"SCALED"`.
        axis: the dimension whose parts have ranges of their own; None for one range.
        ensure_minimum_range: the least extent of the range, times its greatest absolute end if that is
            above 1.

    Returns:
        The integers `output`, and the range `output_min`, `output_max` that they stand for, which
        `dequantize` takes.

    Raises:
        TypeError: for another dtype.
        ValueError: for another mode.
        InvalidArgumentError: where the range ends before it begins.

    >>> import penstock as tf
    >>> integers, low, high = tf.quantization.quantize([0.0, 0.5, 9.0], 0.0, 1.0, tf.quint8)
    >>> integers.numpy(), float(low), float(high)
    (array([  0, 128, 255], dtype=uint8), 0.0, 1.0)
    """
    x = floating(input, "input")
    least, greatest = floating(min_range, "min_range"), floating(max_range, "max_range")
    target, low, high = _integers(T, "T")
    rounds = ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN") if _mode(mode) == "SCALED" else ("HALF_AWAY_FROM_ZERO",)
    if round_mode not in rounds:
        raise InvalidArgumentError(
            f"argument 'round_mode' must be {' or '.join(rounds)} with {mode}, got {round_mode!r}"
        )
    along = _axis(axis)
    if along is not None and mode == "MIN_FIRST":
        raise InvalidArgumentError("argument 'axis' must be None with MIN_FIRST")
    require(
        raw_ops.reduce_all(least <= greatest), "argument 'min_range' must not be above 'max_range'", least
    )
    zero = number(0.0)
    widest = raw_ops.maximum(raw_ops.abs(least), raw_ops.abs(greatest))
    margin = raw_ops.maximum(widest, number(1.0)) * ensure_minimum_range
    least = raw_ops.minimum(least, zero)
    greatest = raw_ops.maximum(raw_ops.maximum(greatest, least + margin), zero)
    if mode == "SCALED":
        scale = _symmetric(least, greatest, low + bool(narrow_range), high)
        # The range that integers reach, rather than the one that was asked for.
        least, greatest = (low + bool(narrow_range)) / scale.factor, high / scale.factor
        inside = _clipped(x, _along(least, x, along), _along(greatest, x, along))
        scaled = _nearest(inside * _along(scale.factor, x, along), round_mode)
    elif mode == "MIN_COMBINED":
        first, last = _along(least, x, along), _along(greatest, x, along)
        scaled = (_clipped(x, first, last) - first) * ((high - low) / (last - first))
        if low:
            scaled = half_away(scaled - (high - low + 1) / 2)
        else:
            scaled = raw_ops.floor(scaled + 0.5)
    else:
        steps = high - low + 1
        per_unit = (steps - 1) / (greatest - least)
        scaled = half_away(x * per_unit) - half_away(least * per_unit) + low
    return Quantized(saturate_cast(scaled, target), least, greatest)


def _clipped(x: _core.Tensor, least: _core.Tensor, greatest: _core.Tensor) -> _core.Tensor:
    return raw_ops.maximum(raw_ops.minimum(x, greatest), least)


@scoped
def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: IntLike | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = _core.float32,
) -> _core.Tensor:
    """Give back the numbers that integers stand for.

    Args:
        input: the integers, of a dtype that `quantize` makes.
        min_range: the range that `quantize` gave, from here.
        max_range: to here.
        mode: the one that they were made with.
        name: a scope for the names of its operations in a graph.
        axis: the dimension whose parts have ranges of their own; None for one range.
        narrow_range: whether the least integer is not used, with `"SCALED"`.
        dtype: `float32` or `bfloat16`.

    Returns:
        A tensor of `dtype` and of the shape of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for another mode.

    >>> import penstock as tf
    >>> integers = tf.quantization.quantize([0.0, 0.6, 9.0], 0.0, 1.0, tf.quint8)
    >>> tf.quantization.dequantize(*integers).numpy()
    array([0. , 0.6, 1. ], dtype=float32)
    """
    q = _core._to_tensor(input)
    _, low, high = _integers(q.dtype, "input")
    target = _core.DType(dtype)
    if target not in (_F32, _core.bfloat16):
        raise DTypeError(f"argument 'dtype' must be float32 or bfloat16, got {target.name}")
    along = _axis(axis)
    least = _along(floating(min_range, "min_range"), q, along)
    greatest = _along(floating(max_range, "max_range"), q, along)
    x = raw_ops.cast(q, dtype=_F32)
    if _mode(mode) == "SCALED":
        low += bool(narrow_range)
        unit = greatest / high
        made = x * (raw_ops.maximum(least / low, unit) if low else unit)
    elif mode == "MIN_COMBINED":
        half = (high - low + 1) / 2 if low else 0.0
        made = (x + half) * ((greatest - least) / (high - low)) + least
    else:
        made = _of_min_first(x, least, greatest, low, high)
    return raw_ops.cast(made, dtype=target)


def _of_min_first(
    x: _core.Tensor, least: _core.Tensor, greatest: _core.Tensor, low: float, high: float
) -> _core.Tensor:
    steps = high - low + 1
    unit = (greatest - least) / (steps - 1)
    first = raw_ops.multiply_no_nan(half_away(raw_ops.divide_no_nan(least, unit)), unit)
    return (x - low) * unit + raw_ops.select(raw_ops.equal(unit, number(0.0)), least, first)


@scoped
def quantized_concat(
    concat_dim: IntLike,
    values: Sequence[TensorLike],
    input_mins: Sequence[TensorLike],
    input_maxes: Sequence[TensorLike],
    name: str | None = None,
) -> QuantizedConcat:
    """Put quantized tensors one behind the other, on the range that holds all of theirs.

    Args:
        concat_dim: the dimension.
        values: two or more tensors of integers, of one dtype and, but for the dimension, of one shape.
        input_mins: what the least integer stands for, for each.
        input_maxes: what the greatest integer stands for, for each.
        name: a scope for the names of its operations in a graph.

    Returns:
        The integers `output`, and the range `output_min`, `output_max` that they stand for.

    Raises:
        ValueError: where the lists have different lengths, or less than two tensors.
        TypeError: for other dtypes.

    >>> import penstock as tf
    >>> a, b = tf.constant([255], tf.quint8), tf.constant([255], tf.quint8)
    >>> tf.quantization.quantized_concat(0, [a, b], [0.0, 0.0], [1.0, 2.0]).output.numpy()
    array([128, 255], dtype=uint8)
    """
    tensors = [_core._to_tensor(value) for value in values]
    lows = [floating(value, "input_mins") for value in input_mins]
    highs = [floating(value, "input_maxes") for value in input_maxes]
    if len(tensors) < 2 or not len(tensors) == len(lows) == len(highs):
        raise InvalidArgumentError(
            "arguments 'values', 'input_mins' and 'input_maxes' must have one length of 2 or more, got "
            f"{len(tensors)}, {len(lows)} and {len(highs)}"
        )
    target, low, high = _integers(tensors[0].dtype, "values")
    if any(tensor.dtype != target for tensor in tensors):
        raise DTypeError(f"argument 'values' must have one dtype, got {[t.dtype.name for t in tensors]}")
    least = raw_ops.minimum(raw_ops.reduce_min(raw_ops.stack(*lows)), number(0.0))
    greatest = raw_ops.reduce_max(raw_ops.stack(*highs))
    if low:
        greatest = raw_ops.maximum(raw_ops.abs(least), raw_ops.abs(greatest))
        least = -greatest
    steps = high - low + 1
    per_unit = (steps - 1) / (greatest - least)
    first = half_away(least * per_unit)
    moved = []
    for tensor, begin, end in zip(tensors, lows, highs, strict=True):
        x = _of_min_first(raw_ops.cast(tensor, dtype=_F32), begin, end, low, high)
        again = saturate_cast(half_away(x * per_unit) - first + low, target)
        same = raw_ops.logical_and(raw_ops.equal(begin, least), raw_ops.equal(end, greatest))
        moved.append(raw_ops.select(same, tensor, again))
    joined = raw_ops.concat(*moved, axis=integer(concat_dim, "concat_dim"))
    return QuantizedConcat(joined, least, greatest)


# --- to integers and back ---


def _there_and_back(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed: bool,
    num_bits: Any,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: IntLike | None,
    everywhere: bool,
) -> _core.Tensor:
    x = _core._to_tensor_hinted(input, _F32)
    if not x.dtype.is_floating:
        raise DTypeError(f"argument 'input' must be floating, got {x.dtype.name}")
    bits = integer(num_bits, "num_bits")
    if not 1 <= bits - bool(signed) <= 62:
        raise InvalidArgumentError(
            f"argument 'num_bits' must be from {1 + bool(signed)} to {62 + bool(signed)}, got {bits}"
        )
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise InvalidArgumentError(
            f"argument 'round_mode' must be HALF_TO_EVEN or HALF_UP, got {round_mode!r}"
        )
    along = _axis(axis)
    ends = [_core._to_tensor_hinted(end, x.dtype) for end in (input_min, input_max)]
    if along is None and any(end.shape.rank not in (0, None) for end in ends):
        raise InvalidArgumentError("arguments 'input_min' and 'input_max' must be scalars, without 'axis'")
    low = float(-(2 ** (bits - 1)) + bool(narrow_range)) if signed else 0.0
    high = float(2 ** (bits - 1) - 1) if signed else float(2**bits - 1)
    given = [_along(end, x, along) for end in ends]
    if range_given:
        require(
            raw_ops.reduce_all(given[0] <= given[1]), "argument 'input_min' must not be above 'input_max'"
        )

    def made(x: _core.Tensor, least: _core.Tensor, greatest: _core.Tensor) -> _core.Tensor:
        if not range_given:
            over = [i for i in range(len(known_rank(x))) if i != along]
            least = raw_ops.reduce_min(x, axes=over, keepdims=True)
            greatest = raw_ops.reduce_max(x, axes=over, keepdims=True)
        least, greatest = raw_ops.cast(least, dtype=_F32), raw_ops.cast(greatest, dtype=_F32)
        scale = _symmetric(least, greatest, low, high)
        wide = raw_ops.cast(x, dtype=_F32)
        if range_given:
            wide = _clipped(wide, scale.least, scale.greatest)
        return raw_ops.cast(_nearest(wide * scale.factor, round_mode) * scale.inverse, dtype=x.dtype)

    @custom_gradient
    def rounded(x: _core.Tensor, least: _core.Tensor, greatest: _core.Tensor) -> Any:
        def gradient(upstream: _core.Tensor) -> Any:
            inside = raw_ops.logical_and(x >= least, x <= greatest)
            of_x = upstream if everywhere else raw_ops.select(inside, upstream, raw_ops.zeros_like(upstream))
            rest = [None, None] if everywhere else [raw_ops.zeros_like(end) for end in (least, greatest)]
            return of_x, *rest

        return made(x, least, greatest), gradient

    result: _core.Tensor = rounded(x, *given)
    return result


@scoped
def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: IntLike = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: IntLike | None = None,
) -> _core.Tensor:
    """Round elements to the values that integers with 0 in their place can stand for.

    The gradient goes through everywhere.

    Args:
        input: a floating tensor.
        input_min: the least value, where `range_given`; a scalar, or one for each part along `axis`.
        input_max: the greatest value, as `input_min`.
        signed_input: whether integers have a sign.
        num_bits: how many bits they have.
        range_given: whether the range is that of the arguments; else it is that of the elements.
        round_mode: `"HALF_TO_EVEN"` or `"HALF_UP"`.
        name: a scope for the names of its operations in a graph.
        narrow_range: whether the least integer is not used.
        axis: the dimension whose parts have ranges of their own; None for one range.

    Returns:
        A tensor of the dtype and shape of `input`.

    Raises:
        TypeError: for integers.
        ValueError: for another number of bits or another `round_mode`.
        InvalidArgumentError: where the range ends before it begins.

    >>> import penstock as tf
    >>> tf.quantization.quantize_and_dequantize([-1.0, 0.3, 1.0], 0.0, 0.0, num_bits=3).numpy()
    array([-1.        ,  0.33333334,  1.        ], dtype=float32)
    """
    return _there_and_back(
        input,
        input_min,
        input_max,
        signed_input,
        num_bits,
        range_given,
        round_mode,
        narrow_range,
        axis,
        True,
    )


@scoped
def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: IntLike = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: IntLike | None = None,
) -> _core.Tensor:
    """Round elements as `quantize_and_dequantize`; the gradient is that within the range, and 0 beyond.

    Args:
        input: a floating tensor.
        input_min: the least value; a scalar, or one for each part along `axis`.
        input_max: the greatest value, as `input_min`.
        signed_input: whether integers have a sign.
        num_bits: how many bits they have.
        range_given: whether the range is that of the arguments; else it is that of the elements, and the
            arguments are that of the gradient alone.
        round_mode: `"HALF_TO_EVEN"` or `"HALF_UP"`.
        name: a scope for the names of its operations in a graph.
        narrow_range: whether the least integer is not used.
        axis: the dimension whose parts have ranges of their own; None for one range.

    Returns:
        A tensor of the dtype and shape of `input`.

    Raises:
        TypeError: for integers.
        ValueError: for another number of bits or another `round_mode`.
        InvalidArgumentError: where the range ends before it begins.

    >>> import penstock as tf
    >>> function = tf.quantization.quantize_and_dequantize_v2
    >>> function([-9.0, 0.3, 1.0], -1.0, 1.0, num_bits=3, range_given=True).numpy()
    array([-1.3333334 ,  0.33333334,  1.        ], dtype=float32)
    """
    return _there_and_back(
        input,
        input_min,
        input_max,
        signed_input,
        num_bits,
        range_given,
        round_mode,
        narrow_range,
        axis,
        False,
    )
