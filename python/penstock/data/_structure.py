"""What an element of a data set is: a nest of tensors and composite values, and the list of its leaves.

Tuples, named tuples and mappings are nested; a list is something to make a tensor of. Leaves are tensors,
None, composite values and data sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock import _core, nest
from penstock._types.argument_names import expect
from penstock._types.composite import is_composite, is_record
from penstock._types.none_spec import NoneTensorSpec
from penstock._types.rows import Stackable
from penstock._types.specs import TensorSpec, TypeSpec
from penstock.data._handles import ByHandle
from penstock.errors import InvalidArgumentError

__all__ = ["NoneTensorSpec", "Structure", "converted", "spec_of"]


def converted(value: Any, what: str) -> Any:
    """A nest with tensors and composite values at its leaves.

    Args:
        value: tuples and mappings of what can be tensors, composite values, and None.
        what: what the value is, for messages.

    Raises:
        TypeError: for a leaf that can be no tensor.
    """
    if isinstance(value, tuple):
        items = [converted(item, what) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Mapping):
        return nest._rebuild(value, [converted(value[key], what) for key in nest._sorted_keys(value)])
    if nest._takes_itself_apart(value):
        return nest._rebuild(value, [converted(item, what) for item in nest._children(value)])
    if isinstance(value, _core.Tensor):
        return _core._to_tensor(value)
    if value is None or (is_composite(value) and not is_record(value)):
        return value.read_value() if isinstance(value, _core._Variable) else value
    if isinstance(value, list) and value and all(isinstance(item, ByHandle) for item in value):
        from penstock.data._nested import Nested  # start-up does without it

        return Nested.of(value)
    try:
        return _core._to_tensor(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what} must be tensors, or nests of what can be tensors: {error}") from None


def spec_of(value: Any) -> Any:
    """The specifications of the leaves of a nest that `converted` made."""

    def leaf_spec(leaf: Any) -> TypeSpec:
        if leaf is None:
            return NoneTensorSpec()
        if isinstance(leaf, _core.Tensor):
            return TensorSpec(leaf.shape, leaf.dtype)
        return leaf._type_spec  # type: ignore[no-any-return]

    return nest.map_structure(leaf_spec, value)


def checked_spec(value: Any, argument: str) -> Any:
    """A nest of specifications that a user gave; a dtype stands for tensors of any shape.

    Raises:
        TypeError: for a leaf that is none.
    """
    if isinstance(value, tuple):
        items = [checked_spec(item, argument) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Mapping):
        return nest._rebuild(value, [checked_spec(value[k], argument) for k in nest._sorted_keys(value)])
    if nest._takes_itself_apart(value):
        return nest._rebuild(value, [checked_spec(item, argument) for item in nest._children(value)])
    if value is None:
        return NoneTensorSpec()
    if not isinstance(value, TypeSpec):
        raise TypeError(f"argument '{argument}' must be a nest of tf.TypeSpec, got {value!r}")
    return value


class Structure:
    """How the leaves of an element are nested, and the specification of each.

    Args:
        spec: a nest of specifications.
    """

    __slots__ = ("_form", "_full", "leaves", "plain", "spec", "tensor_specs")

    def __init__(self, spec: Any) -> None:
        self.spec: Any = spec
        self.leaves: list[Any] = [
            expect(leaf, TypeSpec, "spec", "a nest of tf.TypeSpec") for leaf in nest.flatten(spec)
        ]
        self.tensor_specs: list[TensorSpec] = [leaf for s in self.leaves for leaf in s.flatten()]
        # Whether every leaf is a tensor or None.
        self.plain: bool = all(isinstance(s, TensorSpec | NoneTensorSpec) for s in self.leaves)
        self._full = self.plain and len(self.tensor_specs) == len(self.leaves)
        self._form = "leaf" if not nest.is_nested(spec) else "nest"
        if type(spec) is tuple and not any(map(nest.is_nested, spec)):
            self._form = "tuple"

    def pack(self, leaves: Sequence[Any]) -> Any:
        """The element that has these leaves."""
        if self._form == "leaf":
            return leaves[0]
        return tuple(leaves) if self._form == "tuple" else nest.pack_sequence_as(self.spec, leaves)

    def to_tensors(self, leaves: Sequence[Any]) -> list[Any]:
        """The tensors of leaves, composite ones taken apart."""
        if self.plain:
            return list(leaves) if self._full else [leaf for leaf in leaves if leaf is not None]
        return [t for s, leaf in zip(self.leaves, leaves, strict=True) for t in s.to_tensors(leaf)]

    def from_tensors(self, tensors: Sequence[Any]) -> list[Any]:
        """The leaves that have these tensors."""
        if self._full:
            return list(tensors)
        source = iter(tensors)
        return [spec.from_tensors(source) for spec in self.leaves]

    def mapped(self, function: Callable[[Any], Any]) -> Structure:
        """The structure with other specifications in place of the leaves."""
        return Structure(nest.pack_sequence_as(self.spec, [function(leaf) for leaf in self.leaves]))

    def leaves_of(self, value: Any, what: str) -> list[Any]:
        """The leaves of a value of this structure.

        Raises:
            TypeError, ValueError: where it is nested otherwise, or a leaf does not meet its specification.
        """
        if not nest.is_nested(self.spec):
            value = converted_leaf(value, self.spec, what)
            return [value]
        value = _like(value, self.spec, what)
        return [
            converted_leaf(leaf, spec, what)
            for leaf, spec in zip(nest.flatten(value), self.leaves, strict=True)
        ]


def check_form(value: Any, spec: Any, what: str) -> None:
    """Raises unless a value is nested as a specification says.

    Raises:
        InvalidArgumentError: where it is nested otherwise.
    """
    if isinstance(spec, Mapping):
        same = isinstance(value, Mapping) and set(value) == set(spec)
        pairs = [(value[key], spec[key]) for key in spec] if same else []
    elif nest._takes_itself_apart(spec):
        same = type(value) is type(spec)
        pairs = list(zip(nest._children(value), nest._children(spec), strict=True)) if same else []
    elif nest.is_nested(spec):
        same = isinstance(value, tuple | list) and len(value) == len(spec)
        pairs = list(zip(value, spec, strict=True)) if same else []
    else:
        same, pairs = not isinstance(value, tuple | Mapping) or is_composite(value), []
    if not same:
        raise InvalidArgumentError(f"{what} must be nested as {spec}, got {value!r}")
    for item, of_item in pairs:
        check_form(item, of_item, what)


class _Leaf:
    """A value that is a leaf, even if it is a list."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _like(value: Any, spec: Any, what: str) -> Any:
    """A value with the containers of a specification."""
    if not nest.is_nested(spec):
        return _Leaf(value)
    if isinstance(spec, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(spec):
            raise TypeError(f"{what} must be a mapping with keys {list(spec)}, got {value!r}")
        return nest._rebuild(spec, [_like(value[k], spec[k], what) for k in nest._sorted_keys(spec)])
    if nest._takes_itself_apart(spec):
        if type(value) is not type(spec):
            raise TypeError(f"{what} must be of type {type(spec).__name__}, got {value!r}")
        pairs = zip(nest._children(value), nest._children(spec), strict=True)
        return nest._rebuild(spec, [_like(v, s, what) for v, s in pairs])
    if not isinstance(value, tuple | list) or len(value) != len(spec):
        raise TypeError(f"{what} must be a tuple of {len(spec)}, got {value!r}")
    return nest._rebuild(spec, [_like(v, s, what) for v, s in zip(value, spec, strict=True)])


def converted_leaf(leaf: Any, spec: Any, what: str) -> Any:
    """A leaf that meets its specification.

    Raises:
        TypeError: where it can not.
    """
    leaf = leaf.value if isinstance(leaf, _Leaf) else leaf
    if not isinstance(spec, TensorSpec):
        if not spec.is_compatible_with(leaf):
            raise TypeError(f"{what} is {leaf!r} where {spec} was expected")
        return leaf
    try:
        tensor = _core._to_tensor_hinted(leaf, spec.dtype)
        if tensor.dtype != spec.dtype:
            tensor = _core._to_tensor(leaf, spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} is {leaf!r} where dtype {spec.dtype.name} was expected: {error}") from None
    if not spec.shape.is_compatible_with(tensor.shape):
        raise TypeError(f"{what} has shape {tensor.shape} where shape {spec.shape} was expected")
    return tensor


def row_spec(spec: Any, what: str) -> Any:
    """The specification of a row of what another one describes.

    Raises:
        ValueError: for scalars.
        TypeError: for what has no rows.
    """
    if isinstance(spec, NoneTensorSpec):
        return spec
    if isinstance(spec, Stackable):
        return spec._row_spec()
    stack = getattr(spec, "dataset_shape", None)
    if stack is not None and stack.rank:
        return type(spec)(spec.element_spec, stack._dims[1:])
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"{what} must hold tensors, or composite values that have rows, got {spec}")
    dims = spec.shape._dims
    if dims == ():
        raise InvalidArgumentError(f"{what} must hold tensors of at least one dimension, got a scalar")
    return TensorSpec(None if dims is None else dims[1:], spec.dtype)


def batched_spec(spec: Any, size: int | None, what: str) -> Any:
    """The specification of `size` values of a specification, stacked.

    Raises:
        TypeError: for what cannot be stacked.
    """
    if isinstance(spec, NoneTensorSpec):
        return spec
    if isinstance(spec, Stackable):
        return spec._stacked_spec(size)
    stack = getattr(spec, "dataset_shape", None)
    if stack is not None:
        return type(spec)(spec.element_spec, [size, *stack._dims])
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"{what}: {spec} cannot be stacked")
    dims = spec.shape._dims
    return TensorSpec(None if dims is None else [size, *dims], spec.dtype)


def nbytes(tensor: Any) -> int:
    """The bytes of a tensor's elements, of strings a guess."""
    return int(math.prod(tensor.shape.as_list())) * (tensor.dtype.size or 16)
