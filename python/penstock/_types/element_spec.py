"""Specifications of what holds elements of one nest: optional values, data sets and their iterators."""

from __future__ import annotations

from typing import Any, Self

from penstock import nest
from penstock._types.specs import TypeSpec

__all__ = ["ElementSpec"]


class ElementSpec(TypeSpec):
    """A specification that is its class and the specification of an element, and as specific as that is.

    Args:
        element_spec: a nest of `tf.TypeSpec`.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def element_spec(self) -> Any:
        """The specification of an element."""
        return self._element_spec

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """The specification of a value."""
        found = getattr(value, "_type_spec", None)
        if not isinstance(found, cls):
            raise TypeError(
                f"argument 'value' must be a value that a {cls.__name__} describes, got {value!r}"
            )
        return found

    def _paired(self, other: Any) -> list[tuple[Any, Any]] | None:
        """The specifications of both at each leaf that may differ, where both are nested alike."""
        if type(other) is not type(self):
            return None
        if self is other:
            return []
        try:
            nest.assert_same_structure(self._element_spec, other._element_spec)
        except (TypeError, ValueError):
            return None
        return list(zip(self._leaves(), other._leaves(), strict=True))

    def _leaves(self) -> list[Any]:
        """The specifications that make it up."""
        return nest.flatten(self._element_spec)

    def _with_leaves(self, leaves: list[Any]) -> Self:
        """The same with others in their places."""
        return type(self)(nest.pack_sequence_as(self._element_spec, leaves))

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or some value of another specification, is described by this one."""
        is_value = isinstance(spec_or_value, self.value_type)
        pairs = self._paired(spec_or_value._type_spec if is_value else spec_or_value)
        return pairs is not None and all(a.is_compatible_with(b) for a, b in pairs)

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every value of this specification is one of `other`."""
        pairs = self._paired(other)
        return pairs is not None and all(a.is_subtype_of(b) for a, b in pairs)

    def most_specific_common_supertype(self, others: Any) -> Self | None:
        """The most specific specification that covers this one and `others`, or None."""
        found = self
        for other in others:
            pairs = found._paired(other)
            if pairs is None:
                return None
            joined = [a.most_specific_common_supertype([b]) for a, b in pairs]
            if any(spec is None for spec in joined):
                return None
            if not pairs:
                continue
            found = found._with_leaves(joined)
        return found

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        mine, its = self._element_spec, other._element_spec
        return (mine is its or bool(mine == its)) and self._leaves() == other._leaves()

    def __hash__(self) -> int:
        return hash((type(self), *self._leaves()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._element_spec!r})"
