"""What the namespace can do."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._core import DType
from penstock.array_api._arrays import (
    COMPLEX_FLOATING,
    CPU,
    DEFAULT_COMPLEX,
    DEFAULT_FLOAT,
    DEFAULT_INTEGER,
    INDEX,
    REAL_FLOATING,
    SIGNED,
    UNSIGNED,
    check_device,
)
from penstock.array_api._data_types import isdtype

__all__ = ["__array_namespace_info__"]

# The dtypes of the standard, in its order; `float16` and `bfloat16` are not among them.
_DTYPES = (_core.bool, *SIGNED, *UNSIGNED, *REAL_FLOATING, *COMPLEX_FLOATING)


class Info:
    """What the namespace can do; `__array_namespace_info__` gives it."""

    __slots__ = ()

    def capabilities(self) -> dict[str, bool | int | None]:
        """Which optional parts of the standard there are.

        >>> from penstock import array_api as xp
        >>> xp.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device on which arrays are made.

        >>> from penstock import array_api as xp
        >>> xp.__array_namespace_info__().default_device() == xp.zeros(()).device
        True
        """
        return CPU

    def devices(self) -> tuple[str, ...]:
        """The devices that a `device` argument may name.

        >>> from penstock import array_api as xp
        >>> len(xp.__array_namespace_info__().devices())
        1
        """
        return (CPU,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The default dtype of each kind.

        >>> from penstock import array_api as xp
        >>> xp.__array_namespace_info__().default_dtypes()["real floating"]
        tf.float32
        """
        check_device(device, "default_dtypes")
        return {
            "real floating": DEFAULT_FLOAT,
            "complex floating": DEFAULT_COMPLEX,
            "integral": DEFAULT_INTEGER,
            "indexing": INDEX,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The dtypes of the standard, of one kind, of several, or all.

        >>> from penstock import array_api as xp
        >>> list(xp.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        check_device(device, "dtypes")
        return {d.name: d for d in _DTYPES if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> Info:
    """What the namespace can do.

    >>> from penstock import array_api as xp
    >>> xp.__array_namespace_info__().default_dtypes()["integral"]
    tf.int64
    """
    return Info()
