"""Types of arguments: what a traced function needs to know of a value."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from penstock import _core

__all__ = ["PlaceholderContext", "SupportsTracingProtocol", "TraceType"]


class PlaceholderContext(Protocol):
    """What makes the symbolic tensors of an argument, one after the other."""

    def placeholder(self, spec: Any) -> _core.Tensor:
        """The tensor of the next specification."""


class TraceType(abc.ABC):
    """What a traced function needs to know of an argument: one trace serves all arguments of its type.

    A class whose objects have `__tf_tracing_type__` gives them types of its own. `is_subtype_of` and
    `most_specific_common_supertype` decide which trace serves a call. Unless the type makes placeholders,
    the object itself is what the function sees while it is traced.

    A type may take an object apart into tensors, so that the trace serves others of them: then `flatten`
    gives a `TensorSpec` for each, `to_tensors` the tensors of an object, and `placeholder_value` an object
    of symbolic ones, each made by the `placeholder_value` of its `TensorSpec`.

    >>> import penstock as tf
    >>> class Unit(tf.types.experimental.TraceType):
    ...     def __init__(self, name):
    ...         self.name = name
    ...     def is_subtype_of(self, other):
    ...         return self == other
    ...     def most_specific_common_supertype(self, others):
    ...         return self if all(self == other for other in others) else None
    ...     def __eq__(self, other):
    ...         return isinstance(other, Unit) and self.name == other.name
    ...     def __hash__(self):
    ...         return hash(self.name)
    >>> Unit("metre").is_subtype_of(Unit("metre"))
    True
    """

    __slots__ = ()

    @abc.abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Tell whether a trace for `other` serves arguments of this type.

        Args:
            other: another type.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).is_subtype_of(tf.TensorSpec([None]))
        True
        """

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """Make the narrowest type that covers this one and others.

        Args:
            others: other types.

        Returns:
            The type, or None where there is none.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).most_specific_common_supertype([tf.TensorSpec([3])]).shape
        TensorShape([None])
        """

    def placeholder_value(self, placeholder_context: PlaceholderContext) -> Any:
        """Make what stands for the argument while the function is traced.

        Args:
            placeholder_context: makes symbolic tensors.

        Returns:
            The value.

        Raises:
            NotImplementedError: where the argument itself is to be used.

        >>> import penstock as tf
        >>> class Zeros:
        ...     def placeholder(self, spec):
        ...         return tf.zeros(spec.shape, spec.dtype)
        >>> tf.TensorSpec([2]).placeholder_value(Zeros()).numpy()
        array([0., 0.], dtype=float32)
        """
        raise NotImplementedError(f"{type(self).__name__} makes no placeholders")

    def cast(self, value: Any, cast_context: object) -> Any:
        """Convert a value to one of this type: the value itself, unless a type knows better.

        Args:
            value: an argument of this type.
            cast_context: accepted and ignored.

        Returns:
            The value.

        >>> import penstock as tf
        >>> tf.TensorSpec([2], tf.float32).cast([1, 2], None).numpy()
        array([1., 2.], dtype=float32)
        """
        return value

    def flatten(self) -> list[Any]:
        """List the specification of each tensor that the argument is taken apart into.

        Returns:
            A `TensorSpec` for each.

        >>> import penstock as tf
        >>> len(tf.TensorSpec([2]).flatten())
        1
        """
        return []

    def to_tensors(self, value: Any) -> list[Any]:
        """List the tensors of an argument of this type, in the order of `flatten`.

        Args:
            value: an argument of this type.

        Returns:
            The tensors.

        >>> import penstock as tf
        >>> len(tf.TensorSpec([2]).to_tensors(tf.constant([1.0, 2.0])))
        1
        """
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Make the argument that has the next of the tensors, as many as `flatten` lists.

        Args:
            tensors: gives the tensors.

        Returns:
            The argument.

        Raises:
            NotImplementedError: for a type whose values are not made of tensors.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).from_tensors(iter([tf.constant([1.0, 2.0])])).shape
        TensorShape([2])
        """
        raise NotImplementedError(f"{type(self).__name__} is not made of tensors")

    @abc.abstractmethod
    def __hash__(self) -> int: ...

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """Objects that say what a traced function needs to know of them.

    >>> import penstock as tf
    >>> isinstance(3, tf.types.experimental.SupportsTracingProtocol)
    False
    """

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """The type of the object as an argument."""
