"""`tf.experimental.Optional`: a value that may be absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock import _core, errors, nest, raw_ops
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock._types.element_spec import ElementSpec
from penstock._types.specs import Composite, TensorSpec, TypeSpec, own_spec, type_spec_from_value
from penstock._values.tensor_array import _dims

if TYPE_CHECKING:
    from penstock._types.aliases import Nested

__all__ = ["Optional", "OptionalSpec"]

_T = TypeVar("_T", covariant=True)
_R = TypeVar("_R")


def _leaves(element_spec: Any) -> list[TensorSpec]:
    """The specification of each tensor of an element; a flag stands for an element without tensors."""
    specs = [expect(s, TypeSpec, "element_spec", "a nest of tf.TypeSpec") for s in nest.flatten(element_spec)]
    found = [leaf for spec in specs for leaf in spec.flatten()]
    return found or [TensorSpec([], _core.bool)]


def _converted(leaf: Any) -> Any:
    """A leaf of an element: a tensor, or a composite value as it is."""
    if isinstance(leaf, _core.Tensor) or own_spec(leaf) is not None:
        return leaf
    return _core._to_tensor(leaf)


class Optional(Composite, Generic[_T]):
    """A value, a nest of tensors, that may be absent.

    It can be an argument and a result of traced functions, a result of branches, and a loop variable.
    Gradients pass through it. An element is kept as lists of the graph, one for each of its tensors, that are
    empty where there is no value; hence an absent value needs no sizes.

    Made by `from_value` and `empty`.

    >>> import penstock as tf
    >>> @tf.function
    ... def root(x):
    ...     if x >= 0.0:
    ...         return tf.experimental.Optional.from_value(tf.sqrt(x))
    ...     return tf.experimental.Optional.empty(tf.TensorSpec([], tf.float32))
    >>> float(root(tf.constant(4.0)).get_value())
    2.0
    >>> bool(root(tf.constant(-4.0)).has_value())
    False
    """

    __module__ = "penstock.experimental"

    __slots__ = ("__weakref__", "_element_spec", "_lists")

    def __init__(self, lists: Sequence[Any], element_spec: Any) -> None:
        self._lists = tuple(lists)
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: _R) -> Optional[_R]:
        """Make an optional that has a value.

        Args:
            value: a nest of tensors, composite values, and what can be converted to tensors.

        Returns:
            The optional.

        Raises:
            TypeError: for a leaf that cannot be a tensor.

        >>> import penstock as tf
        >>> tf.experimental.Optional.from_value({"a": 1}).get_value()["a"].numpy()
        np.int32(1)
        """
        element = nest.map_structure(_converted, value)
        specs = nest.map_structure(type_spec_from_value, element)
        tensors = [
            tensor
            for spec, leaf in zip(nest.flatten(specs), nest.flatten(element), strict=True)
            for tensor in spec.to_tensors(leaf)
        ]
        lists = []
        for tensor in tensors or [_core._to_tensor(True)]:
            empty = raw_ops.list_new(0, dtype=tensor.dtype, shape=tensor.shape)
            lists.append(raw_ops.list_push(empty, tensor))
        return Optional(lists, specs)

    @staticmethod
    def empty(element_spec: Nested[TypeSpec]) -> Optional[Any]:
        """Make an optional that has no value.

        Args:
            element_spec: what values there could be: a nest of specifications.

        Returns:
            The optional.

        Raises:
            TypeError: where a leaf is not a `tf.TypeSpec`.

        >>> import penstock as tf
        >>> bool(tf.experimental.Optional.empty(tf.TensorSpec([None])).has_value())
        False
        """
        for spec in nest.flatten(element_spec):
            if not isinstance(spec, TypeSpec):
                raise TypeError(f"argument 'element_spec' must be a nest of tf.TypeSpec, got {spec!r}")
        specs = _leaves(element_spec)
        return Optional([raw_ops.list_new(0, dtype=s.dtype, shape=s.shape) for s in specs], element_spec)

    @scoped
    def has_value(self, name: str | None = None) -> _core.Tensor:
        """Tell whether there is a value.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A `bool` scalar.

        >>> import penstock as tf
        >>> bool(tf.experimental.Optional.from_value(3).has_value())
        True
        """
        found: _core.Tensor = raw_ops.greater(raw_ops.list_length(self._lists[0], dtype=_core.int32), 0)
        return found

    @scoped
    def get_value(self, name: str | None = None) -> _T:
        """Take the value.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            The value, in the structure of `element_spec`.

        Raises:
            InvalidArgumentError: where there is none.

        >>> import penstock as tf
        >>> tf.experimental.Optional.from_value([1.0, 2.0]).get_value()[1].numpy()
        np.float32(2.0)
        """
        self._require_value()
        index = _core._to_tensor(0, _core.int32)
        tensors = iter(
            raw_ops.list_get(held, index, _dims(spec.shape), dtype=spec.dtype)
            for held, spec in zip(self._lists, _leaves(self._element_spec), strict=True)
        )
        value: _T = nest.map_structure(lambda spec: spec.from_tensors(tensors), self._element_spec)
        return value

    def _require_value(self) -> None:
        has_value, message = self.has_value(), "the given optional does not have a value"
        if has_value._is_symbolic:
            from penstock.debugging import Assert  # loaded when it is used

            Assert(has_value, [message])
        elif not has_value:
            raise errors.InvalidArgumentError(f"get_value: {message}; has_value() says whether it has")

    @property
    def element_spec(self) -> Any:
        """The specification of a value: a nest of `tf.TypeSpec`.

        >>> import penstock as tf
        >>> tf.experimental.Optional.from_value(3.0).element_spec
        TensorSpec(shape=(), dtype=tf.float32, name=None)
        """
        return self._element_spec

    @property
    def value_type(self) -> type:
        """The class of the value where it is a single one, else of the nest."""
        spec = self._element_spec
        return spec.value_type if isinstance(spec, TypeSpec) else type(spec)

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)

    def __tf_tracing_type__(self, context: Any) -> OptionalSpec:
        """The specification of the optional."""
        return self._type_spec

    # As a composite of a nest.

    def _parts(self) -> tuple[Any, ...]:
        return self._lists

    def _with_parts(self, parts: Sequence[Any]) -> Optional[_T]:
        return Optional(parts, self._element_spec)

    def _check_like(self, other: Optional[Any]) -> None:
        if self._type_spec.most_specific_common_supertype([other._type_spec]) is None:
            raise TypeError(f"one is an {self!r}, the other an {other!r}")

    def _joined(self, other: Optional[Any]) -> Optional[_T]:
        spec = self._type_spec.most_specific_common_supertype([other._type_spec])
        return self if spec is None else Optional(self._lists, spec._element_spec)

    def _after_loop(self, after: Optional[Any]) -> Optional[_T]:
        if not after._type_spec.is_subtype_of(self._type_spec):
            raise ValueError(
                f"an optional must keep its specification in a loop: it is {self._element_spec} before the "
                f"loop and {after._element_spec} after an iteration"
            )
        return self

    def __repr__(self) -> str:
        return f"tf.experimental.Optional(element_spec={self._element_spec!r})"


class OptionalSpec(ElementSpec):
    """What is known of an optional: the specification of its value.

    Args:
        element_spec: a nest of `tf.TypeSpec`.

    >>> import penstock as tf
    >>> spec = tf.OptionalSpec(tf.TensorSpec([]))
    >>> spec.is_compatible_with(tf.experimental.Optional.from_value([1.0, 2.0]))
    False
    >>> spec.is_compatible_with(tf.experimental.Optional.from_value(1.0))
    True
    """

    __module__ = "penstock"

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """`tf.experimental.Optional`."""
        return Optional

    def flatten(self) -> list[TensorSpec]:
        """List the specification of the list of the graph for each tensor of a value.

        Returns:
            The specifications.

        >>> import penstock as tf
        >>> [spec.dtype for spec in tf.OptionalSpec(tf.TensorSpec([], tf.int32)).flatten()]
        [tf.variant]
        """
        return [TensorSpec([], _core.variant) for _ in _leaves(self._element_spec)]

    def to_tensors(self, value: Optional[Any]) -> list[Any]:
        """List the lists of the graph of an optional.

        Args:
            value: the optional.

        Returns:
            The lists, scalars of `variant`.

        >>> import penstock as tf
        >>> some = tf.experimental.Optional.from_value(tf.constant(3))
        >>> spec = tf.type_spec_from_value(some)
        >>> len(spec.to_tensors(some))
        1
        """
        return list(value._lists)

    def from_tensors(self, tensors: Iterator[Any]) -> Optional[Any]:
        """Make the optional that has these lists of the graph.

        Args:
            tensors: gives the lists.

        Returns:
            The optional.

        >>> import penstock as tf
        >>> some = tf.experimental.Optional.from_value(tf.constant(3))
        >>> spec = tf.type_spec_from_value(some)
        >>> spec.from_tensors(iter(spec.to_tensors(some))).get_value().numpy()
        np.int32(3)
        """
        return Optional([next(tensors) for _ in _leaves(self._element_spec)], self._element_spec)
