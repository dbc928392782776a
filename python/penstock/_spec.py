"""Specifications of values: what is known of a tensor before there is one."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._shape import TensorShape

__all__ = ["TensorSpec", "TypeSpec", "type_spec_from_value"]


class TypeSpec:
    """What is known of a value: the base of `TensorSpec` and of the specifications of composite values."""

    __slots__ = ()

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or some value of another specification, is described by this one."""
        raise NotImplementedError

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every value of this specification is one of `other`."""
        raise NotImplementedError


class TensorSpec(TypeSpec):
    """The dtype, shape and name of a tensor.

    Args:
        shape: sizes, `None` for those that are unknown; None for unknown rank.
        dtype: the element type.
        name: a name for the parameter that it describes.

    >>> TensorSpec([None, 3], "float32").is_compatible_with(TensorSpec([2, 3], "float32"))
    True
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = _core.float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _core.DType(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A specification like `spec`, under another name if one is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The specification of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a tensor, or some tensor of another specification, is described by this one."""
        if not hasattr(spec_or_value, "dtype") or not hasattr(spec_or_value, "shape"):
            spec_or_value = _core._convert(spec_or_value, None, self._dtype)
        return bool(self._dtype == spec_or_value.dtype) and self._shape.is_compatible_with(
            spec_or_value.shape
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every tensor of this specification is one of `other`."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Any) -> TensorSpec | None:
        """The most specific specification that covers this one and `others`, or None."""
        shape = self._shape
        for other in others:
            if not isinstance(other, TensorSpec) or other._dtype != self._dtype:
                return None
            shape = shape.most_specific_compatible_shape(other._shape)
        return TensorSpec(shape, self._dtype, self._name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self._shape == other._shape
            and self._dtype == other._dtype
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[type[TensorSpec], tuple[TensorShape, str, str | None]]:
        return TensorSpec, (self._shape, self._dtype.name, self._name)


def type_spec_from_value(value: Any) -> TypeSpec:
    """The specification of a tensor or of something that can be one.

    Raises:
        TypeError: where the value cannot be a tensor.
    """
    if not isinstance(value, _core.Tensor | _core._Variable):
        value = _core._convert(value)
    return TensorSpec(value.shape, value.dtype)
