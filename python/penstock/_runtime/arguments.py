"""Arguments of public functions: axes, shapes, sizes, constants."""

from __future__ import annotations

from itertools import islice
from typing import Any

from penstock import _core
from penstock._types.shape import TensorShape
from penstock.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError

_OPS = _core._ops()
_ASSERT = _OPS["assert"]


def require(condition: Any, message: str, *data: Any) -> None:
    """Add a check that raises an InvalidArgumentError, with a message and tensors, where it does not hold."""
    _ASSERT(condition, *data, message=message, summarize=3)


def filling(value: Any, dtype: _core.DType) -> _core.Tensor:
    """What stands where nothing is given, by default 0, `False` or the empty string."""
    if value is None:
        value = {_core.string: "", _core.bool: False}.get(dtype, 0)
    return _core._to_tensor(value, dtype)


def axes(axis: Any, argument: str = "axis") -> list[int] | None:
    """An argument of dimensions as a list of integers; None for all of them."""
    if axis is None:
        return None
    if isinstance(axis, int):
        return [axis]
    if isinstance(axis, _core.Tensor):
        _check_integer(axis, argument)
        known = _core._known_value(axis)
        if known is None:
            raise symbolic_axis(argument, axis)
        axis = known.numpy().reshape(-1).tolist()
    elif hasattr(axis, "reshape"):
        axis = axis.reshape(-1).tolist()
    elif hasattr(type(axis), "__index__"):
        axis = [axis]
    try:
        if isinstance(axis, dict | set):
            raise TypeError
        return [axis_number(a, argument) for a in items(axis, argument)]
    except TypeError as error:
        if hasattr(error, "_penstock_axis") or isinstance(error, DTypeError):
            raise
        raise TypeError(f"argument '{argument}' must hold integers, got {axis!r}") from None


# How many items are taken of what does not hold them, such as a range: each becomes a tensor or a number.
_MOST_ITEMS = 1 << 24


def items(values: Any, argument: str) -> list[Any]:
    """What an iterable holds. Of what can only be indexed nobody says where it ends.

    Raises:
        TypeError: where it cannot be iterated.
        ResourceExhaustedError: where it holds more than there is memory for, or has no end.
    """
    if not hasattr(type(values), "__iter__") and not hasattr(type(values), "__len__"):
        raise TypeError(
            f"argument '{argument}' must be a sequence, got a value of type {type(values).__name__}"
        )
    try:
        if isinstance(values, list | tuple):
            return list(values)
        if isinstance(values, memoryview):
            return (
                values.tolist()
            )  # Python's own iterator over a released view breaks the interpreter's rules
        endless = isinstance(values, range) and bool(values[_MOST_ITEMS:])
        found = [] if endless else list(islice(values, _MOST_ITEMS + 1))
    except MemoryError:
        endless = True
    if endless or len(found) > _MOST_ITEMS:
        raise ResourceExhaustedError(f"argument '{argument}' has more items than there is memory for")
    return found


def symbolic_axis(argument: str, axis: _core.Tensor) -> TypeError:
    """The error of a dimension whose number is not known while a graph is traced.

    A public function that raises it is called again with each dimension: see `_control.axes`.
    """
    error = TypeError(
        f"argument '{argument}' must be constant while a function is traced, got a symbolic tensor"
    )
    error._penstock_axis = argument, axis  # type: ignore[attr-defined]
    return error


def axis_number(value: Any, argument: str = "axis") -> int:
    """The number of a dimension, which must be constant.

    Raises:
        TypeError: where it is not, one of `symbolic_axis`, and for what is no integer.
    """
    if type(value) is int:
        return value
    _check_integer(value, argument)
    if isinstance(value, _core.Tensor) and _core._known_value(value) is None:
        raise symbolic_axis(argument, value)
    return integer(value, argument)


def _check_integer(value: Any, argument: str) -> None:
    if isinstance(value, _core.Tensor) and not value.dtype.is_integer:
        raise DTypeError(
            f"argument '{argument}' must be an integer, got a tensor of dtype {value.dtype.name}"
        )


def integer(value: Any, argument: str) -> int:
    """A scalar integer argument that must be constant."""
    if type(value) is int:
        return value  # most are
    _check_integer(value, argument)
    if isinstance(value, _core.Tensor):
        known = _core._known_value(value)
        if known is None:
            raise TypeError(
                f"argument '{argument}' must be constant while a function is traced, got a symbolic tensor"
            )
        return int(known.numpy())
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"argument '{argument}' must be an integer, got {value!r}") from None


def whole(value: Any, argument: str) -> int:
    """A scalar integer argument that must be constant; it may be a float without a fraction, as seeds may."""
    return integer(int(value) if isinstance(value, float) and value.is_integer() else value, argument)


def extents(shape: Any, argument: str = "shape") -> Any:
    """A shape argument as an integer vector: a size, or several, which may be tensors; or a `TensorShape`."""
    if type(shape) is not list and type(shape) is not tuple:  # most are
        if isinstance(shape, TensorShape):
            if not shape.is_fully_defined():
                raise ValueError(
                    f"argument '{argument}' must be fully defined, got {shape}; "
                    "use tf.shape(x) for unknown sizes"
                )
            return _core._to_tensor(shape.as_list(), _core.int32)
        if not isinstance(shape, _core.Tensor | int | list | tuple) and hasattr(shape, "dtype"):
            shape = _core._to_tensor(shape)
        if isinstance(shape, _core.Tensor):
            return _OPS["reshape"](shape, [1]) if shape._dims == () else shape
        if isinstance(shape, dict | set):
            raise TypeError(f"argument '{argument}' must hold integers, got {shape!r}")
    try:
        if type(shape) is not list and type(shape) is not tuple:
            shape = [shape] if hasattr(type(shape), "__index__") else items(shape, argument)
        return _core._to_tensor(shape) if shape else _core._to_tensor([], _core.int32)
    except (TypeError, ValueError) as error:
        if isinstance(shape, list | tuple) and any(d is None for d in shape):
            raise ValueError(f"argument '{argument}' has an unknown size: {shape}") from None
        if not isinstance(error, TypeError):
            raise
        raise TypeError(f"argument '{argument}' must hold integers: {error}") from None


def named(result: _core.Tensor, name: str | None) -> _core.Tensor:
    """The result of several operations, under a name in the graph where there is one."""
    if name is None or not result._is_symbolic:
        return result
    return _OPS["identity"](result, name=name)  # type: ignore[no-any-return]


def results(of_op: Any) -> list[Any]:
    """The results of an operator that may have several, as a list."""
    if of_op is None:
        return []
    return [of_op] if isinstance(of_op, _core.Tensor) else list(of_op)


class UnknownRankError(ValueError):
    """The code of a function needs the rank of a tensor that is not known while a graph is traced.

    A public function is called again with each rank of its argument: see `_control.ranks`.
    """

    def __init__(self) -> None:
        super().__init__("the rank of the tensor must be known, got a tensor of unknown rank")


def sizes(tensor: _core.Tensor, least: int = 0) -> list[Any]:
    """The size of each dimension: an int where it is known, else a scalar tensor. The rank must be known.

    Raises:
        ValueError: where it is not, or below `least`.
    """
    static = known_rank(tensor, least)
    if None not in static:
        return static
    dynamic = results(_OPS["unstack"](_OPS["shape"](tensor), num=len(static)))
    return [dynamic[i] if size is None else size for i, size in enumerate(static)]


def known_rank(tensor: _core.Tensor, least: int = 0) -> list[int | None]:
    """The known sizes, `None` for the others.

    Raises:
        UnknownRankError: where not even their number is known.
        InvalidArgumentError: where it is below `least`.
    """
    dims = tensor._dims
    if dims is None:
        raise UnknownRankError
    if len(dims) < least:
        raise InvalidArgumentError(
            f"the tensor must have {least} dimension(s) or more, got shape {tensor.shape}"
        )
    return [*dims]


def axis_of(axis: Any, rank: int, argument: str = "axis") -> int:
    """An axis argument, counted from the front.

    Raises:
        InvalidArgumentError: where it is out of range.
    """
    number = axis_number(axis, argument)
    if not -rank <= number < rank:
        raise InvalidArgumentError(
            f"argument '{argument}' is out of range: {number} for a tensor of {rank} dimension(s)"
        )
    return number % rank


def product(factors: list[Any]) -> Any:
    """The product of sizes, ints among them combined first."""
    number, result = 1, None
    for factor in factors:
        if isinstance(factor, int):
            number *= factor
        else:
            result = factor if result is None else result * factor
    if result is None:
        return number
    return result if number == 1 else result * number
