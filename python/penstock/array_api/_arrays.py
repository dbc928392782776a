"""What the functions of the namespace share: operands, their dtypes, devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _core, raw_ops
from penstock._core import DType, Tensor

if TYPE_CHECKING:
    from penstock._types.aliases import SupportsArray

# What an argument that the standard calls an array may be: a tensor, a variable, or a NumPy array.
Array: TypeAlias = "Tensor | _core._Variable | SupportsArray"
Scalar: TypeAlias = bool | int | float | complex

# The tensor as one whose operators promote dtypes, which every result of the namespace is.
new = _core._promoting

DEFAULT_FLOAT, DEFAULT_COMPLEX = _core.float32, _core.complex64
DEFAULT_INTEGER = INDEX = _core.int64

SIGNED = (_core.int8, _core.int16, _core.int32, _core.int64)
UNSIGNED = (_core.uint8, _core.uint16, _core.uint32, _core.uint64)
REAL_FLOATING = (_core.float32, _core.float64)
COMPLEX_FLOATING = (_core.complex64, _core.complex128)
# Dtypes that the standard does not know.
MORE_FLOATING = (_core.float16, _core.bfloat16)

KINDS: dict[str, frozenset[DType]] = {
    "bool": frozenset({_core.bool}),
    "signed integer": frozenset(SIGNED),
    "unsigned integer": frozenset(UNSIGNED),
    "integral": frozenset(SIGNED + UNSIGNED),
    "real floating": frozenset(REAL_FLOATING + MORE_FLOATING),
    "complex floating": frozenset(COMPLEX_FLOATING),
}
KINDS["numeric"] = KINDS["integral"] | KINDS["real floating"] | KINDS["complex floating"]
KINDS["floating"] = KINDS["real floating"] | KINDS["complex floating"]
KINDS["real numeric"] = KINDS["integral"] | KINDS["real floating"]
KINDS["integral or bool"] = KINDS["integral"] | KINDS["bool"]
KINDS["any"] = KINDS["numeric"] | KINDS["bool"]


def array(x: Array, function: str, kind: str = "any", argument: str = "x") -> Tensor:
    """An array argument as a tensor.

    Raises:
        TypeError: where it is none, or has a dtype of another kind.
    """
    if isinstance(x, Tensor):
        tensor = x
    else:
        if isinstance(x, Scalar | list | tuple | str | bytes) and not hasattr(x, "dtype"):
            raise TypeError(
                f"{function}: argument '{argument}' must be an array, got {type(x).__name__}; use asarray()"
            )
        tensor = _core._to_tensor(x)
    if tensor.dtype not in KINDS[kind]:
        raise TypeError(
            f"{function}: argument '{argument}' must have a dtype of kind {kind}, got {tensor.dtype.name}"
        )
    return tensor


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor in a dtype."""
    return x if x.dtype == dtype else raw_ops.cast(x, dtype=dtype)


def _scalar_dtype(value: Scalar, dtype: DType) -> DType:
    """What a Python scalar and a dtype promote to.

    Raises:
        TypeError: where the scalar is of a kind above that of the dtype.
    """
    if isinstance(value, bool):
        fits = dtype == _core.bool
    elif isinstance(value, int):
        fits = dtype.is_numeric
    elif isinstance(value, float):
        fits = dtype.is_floating or dtype.is_complex
    elif dtype.is_floating:
        return _core.complex128 if dtype == _core.float64 else _core.complex64
    else:
        fits = dtype.is_complex
    if not fits:
        raise TypeError(
            f"a Python {type(value).__name__} and an array of {dtype.name} have no common dtype; use astype()"
        )
    return dtype


def common_dtype(dtypes: Iterable[DType], scalars: Iterable[Scalar] = ()) -> DType:
    """The dtype that dtypes, at least one, and Python scalars promote to.

    Raises:
        TypeError: where there is none: the standard defines none for an integer and a float, or for
            `uint64` and a signed integer.
    """
    result: DType | None = None
    for dtype in dtypes:
        promoted = dtype if result is None else _core._promote(result, dtype)
        if promoted is None and result is not None:
            raise TypeError(f"dtypes {result.name} and {dtype.name} have no common dtype; use astype()")
        result = promoted
    if result is None:
        raise TypeError("at least one argument must be an array or a dtype")
    for value in scalars:
        result = _scalar_dtype(value, result)
    return result


def is_scalar(x: Any) -> bool:
    """Whether `x` is a Python scalar; NumPy's are arrays."""
    return isinstance(x, Scalar) and not hasattr(x, "dtype")


def operands(function: str, kind: str, x1: Any, x2: Any, names: tuple[str, str] = ("x1", "x2")) -> Any:
    """Two operands, at least one of them an array, as tensors of one dtype.

    Raises:
        TypeError: where they have none in common, or it is of another kind.
    """
    if is_scalar(x1) and is_scalar(x2):
        raise TypeError(f"{function}: one of arguments '{names[0]}' and '{names[1]}' must be an array")
    if is_scalar(x1):
        b = array(x2, function, kind, names[1])
        dtype = _scalar_dtype(x1, b.dtype)
        return _core._to_tensor(x1, dtype), cast(b, dtype)
    a = array(x1, function, kind, names[0])
    if is_scalar(x2):
        dtype = _scalar_dtype(x2, a.dtype)
        return cast(a, dtype), _core._to_tensor(x2, dtype)
    b = array(x2, function, kind, names[1])
    if a.dtype == b.dtype:
        return a, b
    dtype = common_dtype((a.dtype, b.dtype))
    return cast(a, dtype), cast(b, dtype)


def scalar_like(value: Scalar, x: Tensor) -> Tensor:
    """A number in the dtype of a tensor."""
    if x.dtype == _core.bool:
        return _core._to_tensor(bool(value), _core.bool)
    return _core._to_tensor(value, x.dtype)


# --- devices ---

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def check_device(device: Any, function: str) -> None:
    """Checks a `device` argument: the CPU, by its full name or a short one, or None.

    Raises:
        ValueError: for another one. Where tensors live is up to the engine.
    """
    # A symbolic tensor is on no device yet, and says so by an empty name.
    if device is None or device == "":
        return
    if not (
        isinstance(device, str)
        and device.rpartition("/")[2].removeprefix("device:").upper() in ("CPU", "CPU:0")
    ):
        raise ValueError(f"{function}: argument 'device' must be {CPU!r} or None, got {device!r}")


def to_device(x: Tensor, device: Any, stream: Any = None) -> Tensor:
    """`Tensor.to_device`."""
    check_device(device, "to_device")
    if stream is not None:
        raise ValueError("to_device: argument 'stream' must be None: the CPU has no streams")
    return x
