"""Named tuples of several tensors, which operations give.

`from __future__ import annotations` would make the annotations texts. `NamedTuple` compiles these when the
class is made, which took a tenth of the time of `import penstock`.
"""

from typing import Any, NamedTuple

from penstock import _core

__all__ = [
    "LogMatrixDeterminant",
    "Lu",
    "Qr",
    "SparseTensorValue",
    "TopKV2",
    "Unique",
    "UniqueWithCounts",
]


class LogMatrixDeterminant(NamedTuple):
    """What `slogdet` gives."""

    sign: _core.Tensor
    log_abs_determinant: _core.Tensor


class Lu(NamedTuple):
    """What `lu` gives."""

    lu: _core.Tensor
    p: _core.Tensor


class Qr(NamedTuple):
    """What `qr` gives."""

    q: _core.Tensor
    r: _core.Tensor


class SparseTensorValue(NamedTuple):
    """The parts of a sparse tensor as arrays.

    Args:
        indices: `[n, rank]`, where the elements are.
        values: `[n]`, the elements.
        dense_shape: `[rank]`, the extents.

    >>> import penstock as tf
    >>> tf.compat.v1.SparseTensorValue([[0]], [1.0], [2]).dense_shape
    [2]
    """

    indices: Any
    values: Any
    dense_shape: Any


class TopKV2(NamedTuple):
    """The greatest elements of each row, and their positions."""

    values: _core.Tensor
    indices: _core.Tensor


class Unique(NamedTuple):
    """Distinct elements, and for each element of the operand which of them it is."""

    y: _core.Tensor
    idx: _core.Tensor


class UniqueWithCounts(NamedTuple):
    """As `Unique`, and how often each distinct element occurs."""

    y: _core.Tensor
    idx: _core.Tensor
    count: _core.Tensor  # type: ignore[assignment]
