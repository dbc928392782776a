"""Complex numbers and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._runtime.dispatch import dispatched

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["angle", "complex", "conj", "imag", "real"]


@dispatched
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> _core.Tensor:
    """Make complex numbers of real and imaginary parts.

    Args:
        real: real parts, `float32` or `float64`.
        imag: imaginary parts of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor with the shape to which the parts broadcast: `complex64` of `float32`, `complex128` of
        `float64`.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.complex([1.0, 2.0], [0.5, -1.0]).numpy()
    array([1.+0.5j, 2.-1.j ], dtype=complex64)
    """
    real, imag = _core._operands(real, imag)
    return raw_ops.complex(real, imag, name=name)


@dispatched
def real(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Take the real part; a real tensor is its own.

    Args:
        input: a tensor, complex or real.
        name: a name for the result in a graph.

    Returns:
        A real tensor of the shape of `input`.

    >>> import penstock as tf
    >>> tf.math.real([1.0 + 2.0j]).numpy()
    array([1.])
    """
    x = _core._to_tensor(input)
    return raw_ops.real(x, name=name) if x.dtype.is_complex else x


@dispatched
def imag(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Take the imaginary part.

    Args:
        input: a tensor, complex or real.
        name: a name for the result in a graph.

    Returns:
        A real tensor of the shape of `input`; 0 for real numbers.

    >>> import penstock as tf
    >>> tf.math.imag([1.0 + 2.0j]).numpy()
    array([2.])
    """
    x = _core._to_tensor(input)
    return raw_ops.imag(x, name=name) if x.dtype.is_complex else raw_ops.zeros_like(x, name=name)


@dispatched
def conj(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the complex conjugate; a real tensor is its own.

    Args:
        x: a tensor, complex or real.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    >>> import penstock as tf
    >>> tf.math.conj([1.0 + 2.0j]).numpy()
    array([1.-2.j])
    """
    x = _core._to_tensor(x)
    return raw_ops.conj(x, name=name) if x.dtype.is_complex else x


@dispatched
def angle(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the argument of complex numbers, in radians.

    Args:
        input: a tensor, complex or real.
        name: a name for the result in a graph.

    Returns:
        A real tensor of the shape of `input`; 0 or π for real numbers.

    >>> import penstock as tf
    >>> tf.math.angle([1.0 + 1.0j, -1.0 + 0.0j]).numpy()
    array([0.78539816, 3.14159265])
    """
    x = _core._to_tensor(input)
    if x.dtype.is_complex:
        return raw_ops.angle(x, name=name)
    return raw_ops.select(
        x < 0,
        raw_ops.fill(raw_ops.shape(x), _core._to_tensor(3.141592653589793, x.dtype)),
        raw_ops.zeros_like(x),
        name=name,
    )
