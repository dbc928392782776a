"""Sobol's sequence: points that fill a cube more evenly than random ones."""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike

__all__ = ["sobol_sample"]

_BITS: Final = 32


@functools.cache
def _directions() -> list[list[int]]:
    """The direction numbers of each dimension: with the bit of 1/2 first, as numbers of 32 bits.

    The first ones are those of Joe and Kuo; each polynomial gives the others by its recurrence.
    """
    content = Path(__file__).with_name("sobol.bin").read_bytes()
    numbers = list(struct.unpack(f"<{len(content) // 2}H", content))
    # The first dimension has a polynomial of degree 0: each bit by itself.
    found = [[1 << (_BITS - 1 - i) for i in range(_BITS)]]
    at = 1
    while at < len(numbers):
        polynomial = numbers[at]
        degree = polynomial.bit_length() - 1
        odd = numbers[at + 1 : at + 1 + degree]
        row = [m << (_BITS - 1 - i) for i, m in enumerate(odd)]
        for i in range(degree, _BITS):
            value = row[i - degree] ^ (row[i - degree] >> degree)
            for k in range(1, degree):
                if polynomial >> (degree - k) & 1:
                    value ^= row[i - k]
            row.append(value)
        found.append(row)
        at += 1 + degree
    return found


@scoped
def sobol_sample(
    dim: IntLike,
    num_results: IntLike,
    skip: IntLike = 0,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Give points of Sobol's sequence, which fill a cube more evenly than random ones.

    Args:
        dim: the number of dimensions, up to 1111.
        num_results: the number of points.
        skip: how many points are left out first, beside the origin.
        dtype: `float32` or `float64`.
        name: a scope for the names of its operations in a graph.

    Returns:
        Points from 0 to 1, of `dtype` and of shape [num_results, dim].

    Raises:
        InvalidArgumentError: for numbers out of range.
        TypeError: for another dtype.

    >>> import penstock as tf
    >>> tf.math.sobol_sample(2, 3).numpy().tolist()
    [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """
    wanted = _core.DType(dtype)
    if wanted not in (_core.float32, _core.float64):
        raise TypeError(f"argument 'dtype' must be float32 or float64, got {wanted.name}")
    count, directions = integer(dim, "dim"), _directions()
    if not 1 <= count <= len(directions):
        raise InvalidArgumentError(f"argument 'dim' must be from 1 to {len(directions)}, got {count}")
    for number, least, argument in ((num_results, 1, "num_results"), (skip, 0, "skip")):
        known = number if isinstance(number, int) else _core._known_value(_core._to_tensor(number))
        if known is not None and int(known) < least:
            raise InvalidArgumentError(f"argument '{argument}' must be at least {least}, got {int(known)}")
    first, many = (raw_ops.cast(_core._to_tensor(n), dtype=_core.int64) for n in (skip, num_results))
    one = _core._to_tensor(1, _core.int64)
    places = raw_ops.expand_dims(raw_ops.range(first + one, first + many + one, one), axis=1)
    # Neighbours in the sequence differ by one direction.
    gray = raw_ops.bitwise_xor(places, raw_ops.right_shift(places, one))
    found: Any = raw_ops.zeros_like(gray)
    for bit in range(_BITS):
        row = _core._to_tensor([directions[d][bit] for d in range(count)], _core.int64)
        taken = raw_ops.bitwise_and(raw_ops.right_shift(gray, _core._to_tensor(bit, _core.int64)), one)
        found = raw_ops.bitwise_xor(found, taken * row)
    return raw_ops.cast(raw_ops.cast(found, dtype=_core.float64) * 2.0**-_BITS, dtype=wanted)
