"""Arguments of the methods of data sets."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock.errors import InvalidArgumentError

__all__ = ["flag", "integer"]


def integer(value: Any, argument: str, least: int | None = None) -> Any:
    """An integer argument: a Python number, or a symbolic scalar while a function is traced.

    Raises:
        TypeError: where it is no integer scalar.
        InvalidArgumentError: where it is less than `least`.
    """
    if isinstance(value, bool) or value is None:
        raise TypeError(f"argument '{argument}' must be an integer, got {value!r}")
    try:
        tensor = _core._convert(value, None, _core.int64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"argument '{argument}' must be an integer, got {value!r}: {error}") from None
    if not tensor.dtype.is_integer or tensor.shape.rank not in (0, None):
        raise TypeError(f"argument '{argument}' must be an integer scalar, got {value!r}")
    if tensor._is_symbolic:
        return tensor
    number = int(tensor)
    if least is not None and number < least:
        raise InvalidArgumentError(f"argument '{argument}' must be at least {least}, got {number}")
    return number


def flag(value: Any, argument: str) -> Any:
    """A boolean argument: a Python value, or a symbolic scalar while a function is traced.

    Raises:
        TypeError: where it is none.
    """
    if isinstance(value, bool):
        return value
    tensor = _core._convert(value)
    if tensor.dtype != _core.bool or tensor.shape.rank not in (0, None):
        raise TypeError(f"argument '{argument}' must be a boolean scalar, got {value!r}")
    return tensor if tensor._is_symbolic else bool(tensor)
