"""What the functions of the namespace share: conversion and promotion of arguments, documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._ops import arrangement
from penstock._runtime.dispatch import dispatched
from penstock._types.aliases import TensorLike
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion

__all__ = ["ArrayLike", "convert", "converted", "floating", "inexact", "plain", "promoted", "public"]

ArrayLike = TensorLike
"""What becomes an array: tensors, variables, arrays of NumPy, Python's numbers and lists of all of them."""

_F = TypeVar("_F", bound=Callable[..., Any])

# What parameters are, by their names; `function.name` where it is another thing in one function.
PARAMETERS = {
    "N": "the number of rows.",
    "M": "the number of columns; by default that of rows.",
    "a": "an array, or what becomes one.",
    "a1": "an array, or what becomes one.",
    "a2": "an array, or what becomes one.",
    "a_max": "the upper bound, of a shape that broadcasts; None for none.",
    "a_min": "the lower bound, of a shape that broadcasts; None for none.",
    "arg1": "a dtype.",
    "arg2": "a dtype, or a class of dtypes.",
    "*args": "arrays, or what becomes some.",
    "arr": "an array, or what becomes one.",
    "array": "an array, or what becomes one.",
    "arrays": "arrays, or what becomes some.",
    "*arrays_and_dtypes": "arrays, dtypes and Python numbers.",
    "ary": "an array, or what becomes one.",
    "arys": "arrays, or what becomes some.",
    "*arys": "arrays, or what becomes some.",
    "atol": "the absolute difference that is allowed.",
    "axes": "the dimensions in their new order; by default reversed.",
    "axis": "the axis; all by default.",
    "axis1": "the first dimension of the matrices.",
    "axis2": "the second dimension of the matrices.",
    "axisa": "the axis of `a` that holds the vectors.",
    "axisb": "the axis of `b` that holds the vectors.",
    "axisc": "the axis of the result that holds them.",
    "b": "an array, or what becomes one.",
    "base": "the base of the powers.",
    "choicelist": "for each condition the values that it chooses.",
    "condition": "booleans, or what counts as such.",
    "condlist": "the conditions.",
    "copy": "whether to copy; tensors do not change, so nothing depends on it.",
    "ddof": "what is subtracted from the number of elements.",
    "decimals": "the number of decimal places; negative ones count to the left.",
    "default": "what stands where no condition holds.",
    "deg": "whether to give degrees instead of radians.",
    "destination": "their places in the result.",
    "dtype": "the dtype of the result; by default what the arguments promote to.",
    "endpoint": "whether the last value is `stop`.",
    "equal_nan": "whether NaN equals NaN.",
    "fill_value": "the value, of a shape that broadcasts.",
    "high": "the upper bound, which is not drawn.",
    "increasing": "whether the powers increase from left to right.",
    "indices": "integers.",
    "indices_or_sections": "the number of equal parts, or where each but the first begins.",
    "k": "the diagonal: positive above the main one, negative below.",
    "keepdims": "whether the axes stay, with size 1.",
    "kind": "the algorithm: 'quicksort', or 'stable' for `argsort`.",
    "**kwargs": "options of NumPy that are supported; see below.",
    "lam": "the expected value, of a shape that broadcasts to `size`.",
    "low": "the lower bound.",
    "m": "an array, or what becomes one.",
    "mode": "what indices outside of the array mean: 'clip' or 'wrap'.",
    "n": "a number.",
    "ndim": "the number of dimensions.",
    "ndmin": "the least number of dimensions.",
    "newshape": "the sizes; one may be -1.",
    "num": "the number of values.",
    "offset": "the diagonal: positive above the main one, negative below.",
    "*operands": "arrays, or what becomes some.",
    "order": "'C', row by row, or 'F', column by column.",
    "out": "not supported: must be None.",
    "p": "the coefficients, that of the highest power first.",
    "pad_width": "how much to add before and after, for each dimension.",
    "rtol": "the difference that is allowed, relative to `b`.",
    "repeats": "how often, for all or for each.",
    "reps": "how often along each dimension.",
    "retstep": "whether to give the distance of the values too.",
    "returned": "whether to give the sum of the weights too.",
    "s": "an integer.",
    "shape": "the sizes.",
    "shift": "how far, towards the end.",
    "size": "the shape of the result; by default one number.",
    "*size": "the shape of the result.",
    "source": "the dimensions.",
    "start": "the first value.",
    "step": "the distance of the values.",
    "stop": "the end, which is not in the result unless it says so.",
    "subok": "must be True.",
    "subscripts": "the equation, as for `tf.einsum`.",
    "tup": "arrays, or what becomes some.",
    "type1": "a dtype.",
    "type2": "a dtype.",
    "v": "an array, or what becomes one.",
    "val": "what becomes an array.",
    "values": "an array, or what becomes one.",
    "weights": "the weight of each value; by default all the same.",
    "where": "not supported: must be None.",
    "x": "an array, or what becomes one.",
    "x1": "an array, or what becomes one.",
    "x2": "an array, or what becomes one; both broadcast.",
    "*xi": "vectors.",
    "y": "an array, or what becomes one.",
    "z": "an array, or what becomes one.",
}


def described(function: Callable[..., Any], text: str) -> str:
    """Documentation with what each parameter is, and the import of its example."""
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(p.kind, "") + name for name, p in inspect.signature(function).parameters.items()]
    lines = [
        f"    {name}: {PARAMETERS.get(f'{function.__name__}.{name}', PARAMETERS.get(name, ''))}"
        for name in names
    ]
    text = inspect.cleandoc(text)
    if lines and "\nArgs:\n" not in text:
        text = re.sub(r"^(?=Returns:)", "\n".join(["Args:", *lines, "\n"]), text, count=1, flags=re.MULTILINE)
    if "import numpy as tnp" not in text:
        text = text.replace(">>> ", ">>> from penstock.experimental import numpy as tnp\n>>> ", 1)
    return text


def public(function: _F) -> _F:
    """A function of the namespace: its parameters are described, and it takes arrays of unknown rank."""
    function.__doc__ = described(function, function.__doc__ or "")
    return dispatched(function)


# --- arrays ---


def plain(x: Tensor) -> Tensor:
    """A result of the array API as a tensor whose operators and shape are TensorFlow's."""
    result: Tensor = raw_ops.identity(x)
    return result


def as_type(x: Tensor, dtype: DType) -> Tensor:
    """The tensor in a dtype."""
    return x if x.dtype == dtype else raw_ops.cast(x, dtype=dtype)


_TENSORS = (_core.Tensor, _core._Variable)
_SEQUENCES = (list, tuple)
_PYTHON = (list, tuple, range, bool, int, float, complex)


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, _SEQUENCES):
        return any(map(_holds_tensors, value))
    return isinstance(value, _TENSORS)


def convert(value: Any, dtype: DType | None = None) -> Tensor:
    """An array argument as a tensor, of a dtype where one is given."""
    if isinstance(value, Tensor):
        return value if dtype is None else as_type(value, dtype)
    target = promotion.kind_of(value).dtype if dtype is None else dtype
    if type(value) is int and target.is_numeric:
        return _core._to_tensor(value, target)
    if type(value) is float and (target.is_floating or target.is_complex):
        return _core._to_tensor(value, target)
    if isinstance(value, _SEQUENCES) and _holds_tensors(value):
        return arrangement.stack([convert(part, target) for part in value])
    if target != _core.string and isinstance(value, _PYTHON):
        value = np.asarray(value)
        if value.dtype == object:
            raise DTypeError(f"values of different shapes or kinds make no array of {target.name}")
    return as_type(_core._to_tensor(value), target)


def promoted(*values: Any, beside: Any = ()) -> list[Tensor]:
    """Arguments as tensors of the dtype that they promote to together, with what stands beside them."""
    dtype = promotion.kind_of(*values, beside).dtype
    return [convert(value, dtype) for value in values]


def paired(x: Any, y: Any) -> list[Tensor]:
    """Two operands as tensors of the dtype that they promote to by NumPy's rules, in every mode."""
    if isinstance(x, Tensor):
        dtype = promotion.of_operand(x.dtype, y)
    else:
        dtype = promotion.kind_of(x, y, lattice=False).dtype
    return [convert(x, dtype), convert(y, dtype)]


def converted(values: Iterable[Any]) -> list[Tensor]:
    """Arguments as tensors, each of its own dtype."""
    return [convert(value) for value in values]


def is_inexact(x: Tensor) -> bool:
    """Whether the dtype is a floating-point or complex one."""
    return x.dtype.is_floating or x.dtype.is_complex


def inexact(x: Tensor) -> Tensor:
    """The tensor, floating-point where it was an integer or boolean one."""
    return x if is_inexact(x) else as_type(x, promotion.default_float())


def floating(value: Any) -> Tensor:
    """An argument as a floating-point or complex tensor."""
    return inexact(convert(value))


def number(value: Any, like: Tensor) -> Tensor:
    """A Python number in the dtype of a tensor."""
    return _core._to_tensor(value, like.dtype)


def refuse(function: str, **given: Any) -> None:
    """Checks options of NumPy that are not supported.

    Raises:
        ValueError: where one is given.
    """
    for name, value in given.items():
        if value is not None:
            raise InvalidArgumentError(f"{function}: argument '{name}' is not supported, got {value!r}")


def known_sizes(shape: Sequence[Any]) -> bool:
    """Whether all sizes are integers of Python."""
    return all(isinstance(size, int) for size in shape)


def named(name: str, function: Callable[..., Any], doc: str) -> Any:
    """A function of the namespace that a table makes."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    made = public(function)
    made.__module__ = "penstock.experimental.numpy"
    return made
