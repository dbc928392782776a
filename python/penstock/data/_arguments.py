"""Arguments of the methods of data sets."""

from __future__ import annotations

import operator
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
    if isinstance(value, _core.Tensor | _core._Variable):
        if not value.dtype.is_integer or value.shape.rank not in (0, None):
            raise TypeError(f"argument '{argument}' must be an integer scalar, got {value!r}")
        if value._is_symbolic if isinstance(value, _core.Tensor) else _core._is_tracing():
            return _core._to_tensor(value)
        number = int(value)
    else:
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"argument '{argument}' must be an integer, got {value!r}") from None
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
    tensor = value if isinstance(value, _core.Tensor) else _core._to_tensor(value)
    if tensor.dtype != _core.bool or tensor.shape.rank not in (0, None):
        raise TypeError(f"argument '{argument}' must be a boolean scalar, got {value!r}")
    return tensor if tensor._is_symbolic else bool(tensor)
