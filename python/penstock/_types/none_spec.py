"""The specification of None."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock._types.specs import TypeSpec

__all__ = ["NoneTensorSpec"]


class NoneTensorSpec(TypeSpec):
    """What is known of None, which stands where there is no tensor.

    >>> import penstock as tf
    >>> tf.NoneTensorSpec().is_compatible_with(None)
    True
    """

    __module__ = "penstock"

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of None."""
        return type(None)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Tell whether it describes a value, or what another specification does.

        Args:
            spec_or_value: the value or specification.

        Returns:
            Whether that is None, or such a specification.

        >>> import penstock as tf
        >>> tf.NoneTensorSpec().is_compatible_with(1)
        False
        """
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Make the value of tensors, of which it takes none.

        Args:
            tensors: gives the tensors.

        Returns:
            None.

        >>> import penstock as tf
        >>> tf.NoneTensorSpec().from_tensors(iter([])) is None
        True
        """
        return None

    def __repr__(self) -> str:
        return "NoneTensorSpec()"
