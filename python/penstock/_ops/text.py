"""Elements as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import raw_ops
from penstock._runtime.dispatch import dispatched

if TYPE_CHECKING:
    from penstock._core import Tensor
    from penstock._types.aliases import TensorLike

__all__ = ["as_string"]


@dispatched
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Write each element as text.

    Args:
        input: numbers or booleans.
        precision: digits after the point, of floating point numbers.
        scientific: whether to write an exponent.
        shortest: whether to take the shorter of both forms.
        width: the least number of characters.
        fill: what to fill up to `width` with: blanks by default, or `"0"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings of the shape of `input`.

    Raises:
        InvalidArgumentError: for options that exclude each other.

    >>> import penstock as tf
    >>> tf.as_string([1.5, 2.0], precision=2).numpy().tolist()
    [b'1.50', b'2.00']
    """
    return raw_ops.as_string(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )
