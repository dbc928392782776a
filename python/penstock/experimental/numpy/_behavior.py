"""NumPy's rules for the operators, brackets and methods of all tensors.

Until `experimental_enable_numpy_behavior` is called nothing here is loaded, and nothing costs anything.
Afterwards the operators of tensors and variables are functions of Python: operands of one dtype go to the
operator that was there before, and others are converted first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._core import Tensor
from penstock._ops import casts
from penstock._types.aliases import DTypeLike, IntLike
from penstock.errors import InvalidArgumentError
from penstock.experimental.numpy import (
    _binary as binary,
    _manipulation as manipulation,
    _products as products,
    _promotion as promotion,
    _reductions as reductions,
    _unary as unary,
    _weak as weak,
)
from penstock.experimental.numpy._arrays import ArrayLike, convert, public

_MODES = ("off", "legacy", "all", "safe")
_settings = promotion.settings

# What an operator converts; the operators of all else decide for themselves.
_OPERANDS = (_core.Tensor, _core._Variable, np.ndarray, np.generic, bool, int, float, complex, list, tuple)
_NUMBERS = (int, float, complex)
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_OF_ONE = ("neg", "invert", "abs")

_Native = Callable[..., Any]


def _native(name: str) -> _Native:
    """An operator as it is without NumPy's rules."""
    operator: _Native = getattr(_core._Operand, f"__{name}__")
    return operator


def _operator(name: str, native: _Native, comparison: bool = False) -> _Native:
    """An operator of two operands that promotes their dtypes where the mode says so."""

    @functools.wraps(native)
    def operator(self: Any, other: Any, *modulus: Any) -> Any:
        mode = _settings.mode
        if mode == "off" or not isinstance(other, _OPERANDS):
            return native(self, other, *modulus)
        if mode == "legacy":
            own = self.dtype
            if isinstance(other, Tensor) and own == other.dtype:
                return native(self, other, *modulus)
            dtype = promotion.of_operand(own, other)
            if dtype == own and type(other) in _NUMBERS:
                return native(self, other, *modulus)
            return native(convert(self, dtype), convert(other, dtype), *modulus)
        kind = promotion.kind_of(self, other)
        made = native(convert(self, kind.dtype), convert(other, kind.dtype), *modulus)
        return weak.marked(made) if kind.weak and not comparison else made

    return operator


def _matrix_product(native: _Native, swapped: bool) -> _Native:
    """The matrix product, which also takes vectors, but for the lattice, whose product is TensorFlow's."""
    operator = _operator("matmul", native)

    @functools.wraps(native)
    def product(self: Any, other: Any) -> Any:
        if _settings.mode != "legacy" or not isinstance(other, _OPERANDS):
            return operator(self, other)
        return products.matmul(other, self) if swapped else products.matmul(self, other)

    return product


def _of_one(native: _Native) -> _Native:
    """An operator of one operand, whose result is weak where that is."""

    @functools.wraps(native)
    def operator(self: Any) -> Any:
        made = native(self)
        return weak.marked(made) if promotion.is_weak(self) else made

    return operator


def _as_key(key: Any) -> Any:
    """An index as NumPy takes it: lists are arrays of indices, or masks, and so are tuples within a tuple."""
    if isinstance(key, list | tuple):
        return convert(key) if key else _core._to_tensor([], _core.int64)
    return _core._to_tensor(key) if isinstance(key, bool) else key


def _brackets(native: _Native) -> _Native:
    @functools.wraps(native)
    def getitem(self: Any, key: Any) -> Any:
        if isinstance(key, tuple):
            if any(isinstance(part, list | tuple | bool) for part in key):
                key = tuple(map(_as_key, key))
        elif isinstance(key, list | bool):
            key = _as_key(key)
        return native(self, key)

    return getitem


# --- methods ---


def _transposed(self: Tensor) -> Tensor:
    """The array with its dimensions reversed."""
    return manipulation.transpose(self)


def _reshape(a: Tensor, *newshape: Any, **kwargs: Any) -> Tensor:
    """Give an array another shape: `x.reshape(2, 3)` or `x.reshape([2, 3])`, `order='C'` or `'F'`."""
    order = kwargs.pop("order", "C")
    if kwargs:
        raise InvalidArgumentError(f"reshape: options {sorted(kwargs)} are not supported")
    one = len(newshape) == 1 and not isinstance(newshape[0], int)
    return manipulation.reshape(a, newshape[0] if one else newshape, order=order)


def _astype(x: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert the elements to another dtype."""
    return casts.cast(x, promotion.as_dtype(dtype), name)


def _round(a: Tensor, decimals: IntLike | None = None) -> Tensor:
    return unary.around(a, 0 if decimals is None else decimals)


def _clip(a: Tensor, a_min: ArrayLike | None, a_max: ArrayLike | None) -> Tensor:
    """Limit the elements to a range."""
    return binary.clip(a, a_min, a_max)


def _size(self: Tensor) -> int | None:
    """The number of elements; None where it is not known."""
    return self.shape.num_elements()


def _positive(self: Any) -> Any:
    return self


def _following(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a method, whose result is weak where the tensor is."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return weak.following(function, self, args, kwargs)

    return method


_METHODS: dict[str, Any] = {
    "T": property(_following(_transposed)),
    "__pos__": _positive,
    "__round__": _following(_round),
    "astype": _astype,
    "clip": _clip,
    "data": property(_positive),
    "flatten": _following(manipulation.flatten),
    "max": _following(reductions.amax),
    "mean": _following(reductions.mean),
    "min": _following(reductions.amin),
    "ravel": _following(manipulation.ravel),
    "reshape": _following(_reshape),
    "size": property(_size),
    "transpose": _following(manipulation.transpose),
}


@functools.cache
def _install() -> None:
    """Puts the operators and methods in their places, once."""
    operand: Any = _core._Operand
    for name in _ARITHMETIC:
        for place, swapped in ((name, False), (f"r{name}", True)):
            native = _native(place)
            made = _matrix_product(native, swapped) if name == "matmul" else _operator(name, native)
            setattr(operand, f"__{place}__", made)
    for name in _COMPARISONS:
        setattr(operand, f"__{name}__", _operator(name, _native(name), comparison=True))
    for name in _OF_ONE:
        setattr(operand, f"__{name}__", _of_one(_native(name)))
    operand.__getitem__ = _brackets(operand.__getitem__)
    for name, member in _METHODS.items():
        setattr(Tensor, name, member)


@public
def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Let the operators, brackets and methods of all tensors follow NumPy, in the whole process.

    Operators promote operands of different dtypes. Brackets take lists and tuples of indices and masks.
    Tensors have the methods `astype`, `clip`, `flatten`, `max`, `mean`, `min`, `ravel`, `reshape` and
    `transpose`, and the attribute `T`. It is called before anything else, once: what was traced before
    keeps the rules that held then.

    In the modes "all" and "safe" dtypes promote by a lattice in which Python's numbers, and tensors made of
    them, are weak: these give way to the dtype beside them. No result is wider than it must be.

    Args:
        prefer_float32: whether Python's floats are `float32` instead of `float64`.
        dtype_conversion_mode: "legacy" for NumPy's promotion, "off" for none, "all" for the lattice,
            "safe" for the lattice without the promotions that may lose digits or make results wider than
            both operands.

    Raises:
        ValueError: for another mode.

    >>> tnp.experimental_enable_numpy_behavior()  # doctest: +SKIP
    >>> tnp.array([[1, 2]]).reshape(2) + 0.5  # doctest: +SKIP
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([1.5, 2.5])>
    """
    if dtype_conversion_mode not in _MODES:
        raise InvalidArgumentError(
            f"experimental_enable_numpy_behavior: argument 'dtype_conversion_mode' must be one of "
            f"{', '.join(map(repr, _MODES))}, got {dtype_conversion_mode!r}"
        )
    _settings.prefer_float32 = bool(prefer_float32)
    _settings.mode = dtype_conversion_mode
    _install()
    if _settings.lattice:
        weak.install()
