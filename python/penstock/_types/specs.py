"""Specifications of values: what is known of a tensor before there is one."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._types.argument_names import expect, shown
from penstock._types.shape import TensorShape
from penstock._types.tracing_type import TraceType

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike, TensorOrVariable
    from penstock._types.tracing_type import PlaceholderContext

__all__ = [
    "Composite",
    "TensorSpec",
    "TypeSpec",
    "VariableSpec",
    "own_spec",
    "type_spec_from_value",
]


class TypeSpec(TraceType):
    """What is known of a value: the base of `TensorSpec` and of the specifications of composite values.

    A specification of composite values has `_component_specs`, a nest of specifications, and the methods
    `_to_components(value)` and `_from_components(components)`, which take values apart into such a nest and
    put them together.

    >>> import penstock as tf
    >>> isinstance(tf.TensorSpec([2]), tf.TypeSpec)
    True
    """

    __slots__ = ()

    _component_specs: Any = ()

    def _to_components(self, value: Any) -> Any:
        """The components of a value, in a nest like `_component_specs`."""
        raise TypeError(f"{type(self).__name__} must define _to_components(value) to take its values apart")

    def _from_components(self, components: Any) -> Any:
        """The value of such components."""
        raise TypeError(f"{type(self).__name__} must define _from_components(components) to make its values")

    def flatten(self) -> list[Any]:
        """List the specification of each tensor in the components.

        Returns:
            The specifications.

        >>> import penstock as tf
        >>> tf.RaggedTensorSpec([2, None], tf.int32).flatten()[1].shape
        TensorShape([3])
        """
        return [leaf for part in nest.flatten(self._component_specs) for leaf in part.flatten()]

    def to_tensors(self, value: Any) -> list[Any]:
        """List the tensors in the components of a value.

        Args:
            value: a value of this specification.

        Returns:
            The tensors, in the order of `flatten`.

        >>> import penstock as tf
        >>> slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
        >>> [t.shape.rank for t in tf.type_spec_from_value(slices).to_tensors(slices)]
        [2, 1]
        """
        specs = nest.flatten(self._component_specs)
        parts = nest.flatten(self._to_components(value)) if specs else []
        return [leaf for spec, part in zip(specs, parts, strict=True) for leaf in spec.to_tensors(part)]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Make a value of the next of the tensors.

        Args:
            tensors: gives the tensors.

        Returns:
            The value.

        >>> import penstock as tf
        >>> slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
        >>> spec = tf.type_spec_from_value(slices)
        >>> spec.from_tensors(iter(spec.to_tensors(slices))).values.numpy()
        array([[1.]], dtype=float32)
        """
        parts = [spec.from_tensors(tensors) for spec in nest.flatten(self._component_specs)]
        return self._from_components(nest.pack_sequence_as(self._component_specs, parts))

    def placeholder_value(self, placeholder_context: PlaceholderContext) -> Any:
        """Make the value that stands for an argument.

        Args:
            placeholder_context: makes symbolic tensors.

        Returns:
            The value, of symbolic tensors.

        >>> import penstock as tf
        >>> class Zeros:
        ...     def placeholder(self, spec):
        ...         return tf.zeros(spec.shape, spec.dtype)
        >>> tf.TensorSpec([2]).placeholder_value(Zeros()).numpy()
        array([0., 0.], dtype=float32)
        """
        specs = self.flatten()
        if not specs:
            return super().placeholder_value(placeholder_context)
        return self.from_tensors(iter([placeholder_context.placeholder(spec) for spec in specs]))

    @property
    @abc.abstractmethod
    def value_type(self) -> type:
        """The class of the values."""

    @abc.abstractmethod
    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Tell whether a value, or some value of another specification, is described by this one.

        Args:
            spec_or_value: a value or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorSpec([None]).is_compatible_with(tf.constant([1.0]))
        True
        """

    def _serialize(self) -> Any:
        """What a specification is compared by: all that it holds, unless a class knows better."""
        slots = [name for cls in type(self).__mro__ for name in getattr(cls, "__slots__", ())]
        held = {name: getattr(self, name) for name in slots if hasattr(self, name)}
        return tuple(sorted({**held, **getattr(self, "__dict__", {})}.items()))

    def is_subtype_of(self, other: TraceType) -> bool:
        """Tell whether a trace for `other` serves arguments of this specification: where the two are equal.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).is_subtype_of(tf.TensorSpec([None]))
        True
        """
        return self == other

    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """Make the most specific specification that covers this one and others.

        Args:
            others: other specifications.

        Returns:
            This specification where all others are equal to it, else None.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).most_specific_common_supertype([tf.TensorSpec([3])]).shape
        TensorShape([None])
        """
        return self if all(self == other for other in others) else None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypeSpec)
            and type(self) is type(other)
            and self._serialize() == other._serialize()
        )

    def __hash__(self) -> int:
        return hash((type(self), repr(self._serialize())))


class TensorSpec(TypeSpec):
    """The dtype, shape and name of a tensor.

    Args:
        shape: sizes, `None` for those that are unknown; None for unknown rank.
        dtype: the element type.
        name: a name for the parameter that it describes.

    >>> import penstock as tf
    >>> tf.TensorSpec([None, 3], "float32").is_compatible_with(tf.TensorSpec([2, 3], "float32"))
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

    @property
    def value_type(self) -> type:
        """`tf.Tensor`."""
        return _core.Tensor

    def placeholder_value(self, placeholder_context: PlaceholderContext) -> _core.Tensor:
        """Make the symbolic tensor that stands for the next tensor of an argument.

        Args:
            placeholder_context: makes symbolic tensors.

        Returns:
            The tensor.

        Raises:
            TypeError: for a context of another class.

        >>> import penstock as tf
        >>> class Zeros:
        ...     def placeholder(self, spec):
        ...         return tf.zeros(spec.shape, spec.dtype)
        >>> tf.TensorSpec([2]).placeholder_value(Zeros()).numpy()
        array([0., 0.], dtype=float32)
        """
        if not hasattr(placeholder_context, "placeholder"):
            raise TypeError(
                "argument 'placeholder_context' must be what __tf_tracing_type__ types are given, "
                f"got {shown(placeholder_context)}"
            )
        return placeholder_context.placeholder(self)

    def cast(self, value: TensorLike, casting_context: object) -> _core.Tensor:
        """Convert a value to a tensor of this specification.

        Args:
            value: something that can be a tensor.
            casting_context: accepted and ignored.

        Returns:
            The tensor.

        Raises:
            TypeError: where it cannot be one.

        >>> import penstock as tf
        >>> tf.TensorSpec([2], tf.float32).cast([1, 2], None).numpy()
        array([1., 2.], dtype=float32)
        """
        tensor = value if isinstance(value, _core.Tensor) else _core._to_tensor_hinted(value, self._dtype)
        if not self.is_compatible_with(tensor):
            raise TypeError(f"cannot cast {TensorSpec(tensor.shape, tensor.dtype)} to {self}")
        return tensor

    def flatten(self) -> list[Any]:
        """List this specification alone.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).flatten()
        [TensorSpec(shape=(2,), dtype=tf.float32, name=None)]
        """
        return [self]

    def to_tensors(self, value: object) -> list[Any]:
        """List the tensor alone.

        Args:
            value: a value of this specification.

        Returns:
            The tensor.

        >>> import penstock as tf
        >>> len(tf.TensorSpec([2]).to_tensors(tf.constant([1.0, 2.0])))
        1
        """
        return [value]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Take the next of the tensors.

        Args:
            tensors: gives the tensors.

        Returns:
            The tensor.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).from_tensors(iter([tf.constant([1.0, 2.0])])).numpy()
        array([1., 2.], dtype=float32)
        """
        return next(tensors)

    @classmethod
    def from_spec(cls, spec: TypeSpec | TensorOrVariable, name: str | None = None) -> TensorSpec:
        """Make a specification like another one, under another name if one is given.

        Args:
            spec: what has a shape and a dtype.
            name: the name.

        Returns:
            The specification.

        Raises:
            TypeError: where it is no `tf.TensorSpec`.

        >>> import penstock as tf
        >>> tf.TensorSpec.from_spec(tf.TensorSpec([2], tf.int32), name="x")
        TensorSpec(shape=(2,), dtype=tf.int32, name='x')
        """
        if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
            raise TypeError(f"argument 'spec' must be a tf.TensorSpec, got {shown(spec)}")
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: TensorOrVariable, name: str | None = None) -> TensorSpec:
        """Make the specification of a tensor.

        Args:
            tensor: a tensor or variable.
            name: a name for the parameter that it describes.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.TensorSpec.from_tensor(tf.constant([1, 2]))
        TensorSpec(shape=(2,), dtype=tf.int32, name=None)
        """
        expect(tensor, (_core.Tensor, _core._Variable), "tensor", "a tensor or a variable")
        return cls(tensor.shape, tensor.dtype, name)

    def is_compatible_with(self, spec_or_tensor: TypeSpec | TensorLike) -> bool:
        """Tell whether a tensor, or some tensor of another specification, is described by this one.

        Args:
            spec_or_tensor: a value or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorSpec([None], tf.int32).is_compatible_with(tf.constant([1, 2]))
        True
        """
        if not hasattr(spec_or_tensor, "dtype") or not hasattr(spec_or_tensor, "shape"):
            spec_or_tensor = _core._to_tensor_hinted(spec_or_tensor, self._dtype)
        return bool(self._dtype == spec_or_tensor.dtype) and self._shape.is_compatible_with(
            spec_or_tensor.shape
        )

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether every tensor of this specification is one of `other`.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).is_subtype_of(tf.TensorSpec([None]))
        True
        """
        return (
            isinstance(other, TensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Make the most specific specification that covers this one and another; it was so called before.

        Args:
            other: another specification.

        Returns:
            The specification.

        Raises:
            ValueError: where there is none.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).most_specific_compatible_type(tf.TensorSpec([3]))
        TensorSpec(shape=(None,), dtype=tf.float32, name=None)
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"argument 'other': no specification covers both {self} and {other}")
        return found

    def most_specific_common_supertype(self, others: Iterable[object]) -> TensorSpec | None:
        """Make the most specific specification that covers this one and others.

        Args:
            others: other specifications.

        Returns:
            The specification, or None where there is none.

        >>> import penstock as tf
        >>> tf.TensorSpec([2]).most_specific_common_supertype([tf.TensorSpec([3])])
        TensorSpec(shape=(None,), dtype=tf.float32, name=None)
        """
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


class VariableSpec(TypeSpec):
    """What a trace needs to know of a variable: dtype, shape, and whether tapes watch it.

    Args:
        shape: sizes, `None` for those that may change; None for unknown rank.
        dtype: the element type.
        trainable: whether tapes watch it.
        name: a name for the parameter that it describes.
    """

    __slots__ = ("dtype", "name", "shape", "trainable")

    def __init__(
        self, shape: Any, dtype: Any = _core.float32, trainable: bool = True, name: str | None = None
    ) -> None:
        self.shape = TensorShape(shape)
        self.dtype = _core.DType(dtype)
        self.trainable = trainable
        self.name = name

    @classmethod
    def from_value(cls, variable: Any) -> VariableSpec:
        """The specification of a variable."""
        given = expect(variable, _core._Variable, "variable", "a variable")
        return cls(given.shape, given.dtype, given.trainable)

    @property
    def value_type(self) -> type:
        """`tf.Variable`."""
        from penstock._values.variable import Variable  # the values build on this

        return Variable

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a variable, or some variable of another specification, is described by this one."""
        if isinstance(spec_or_value, _core._Variable):
            spec_or_value = VariableSpec.from_value(spec_or_value)
        return (
            isinstance(spec_or_value, VariableSpec)
            and self._without_shape() == spec_or_value._without_shape()
            and bool(self.shape.is_compatible_with(spec_or_value.shape))
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every variable of this specification is one of `other`: they are equal."""
        return bool(self == other)

    def most_specific_common_supertype(self, others: Any) -> VariableSpec | None:
        """This specification, where all the others equal it."""
        return self if all(self == other for other in others) else None

    def _without_shape(self) -> tuple[str, bool]:
        return self.dtype.name, self.trainable

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VariableSpec)
            and self._without_shape() == other._without_shape()
            and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return hash((*self._without_shape(), self.shape))

    def __repr__(self) -> str:
        return f"VariableSpec(shape={self.shape}, dtype={self.dtype!r}, trainable={self.trainable})"


def type_spec_from_value(value: Any) -> TypeSpec:
    """Make the specification of a tensor, of something that can be one, or of a composite value.

    Args:
        value: a tensor, something that can be one, a composite value, or None.

    Returns:
        The specification.

    Raises:
        TypeError: where the value cannot be a tensor.

    >>> import penstock as tf
    >>> tf.type_spec_from_value([1.0, 2.0])
    TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    spec = own_spec(value)
    if spec is not None:
        return spec
    if value is None:
        from penstock._types.none_spec import NoneTensorSpec  # it is one of these

        return NoneTensorSpec()
    if not isinstance(value, _core.Tensor | _core._Variable):
        value = _core._to_tensor(value)
    return TensorSpec(value.shape, value.dtype)


class Composite:
    """What a value that holds tensors can do as a leaf of a nest.

    A class has a specification that takes its values apart and puts them together, or defines `_parts` and
    `_with_parts`. The other methods say what control flow may make of a value; they are for classes of which
    two values can differ in more than their tensors.
    """

    __slots__ = ()

    # Whether `tf.is_tensor` takes a value for a tensor.
    _is_kind_of_tensor = False

    if TYPE_CHECKING:
        # Not where annotations are read at run time: those of extension types are their fields.
        _type_spec: Any

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """What a trace needs to know of it: its specification. A class may say otherwise."""
        from penstock._types.held_variables import tracing_type  # which builds on this

        return tracing_type(self)

    def _parts(self) -> Sequence[Any]:
        """The tensors."""
        return self._type_spec.to_tensors(self)  # type: ignore[no-any-return]

    def _with_parts(self, parts: Sequence[Any]) -> Any:
        """A value like this one with other tensors."""
        return self._type_spec.from_tensors(iter(parts))

    def _check_like(self, other: Any) -> None:
        """Raises a TypeError unless the two can be results of two branches; `other` is of the same class."""

    def _joined(self, other: Any) -> Any:
        """This value, of which no more is said than holds for the result of another branch too."""
        return self

    def _after_loop(self, after: Any) -> Any:
        """What is known after a loop of a value that was this one before it, and `after` an iteration.

        Raises:
            ValueError: where an iteration makes of it what it may not be.
        """
        return self


def own_spec(value: Any) -> TypeSpec | None:
    """The specification of a composite value; None for anything else."""
    if isinstance(value, _core.Tensor | _core._Variable | type | TypeSpec):
        return None
    spec = getattr(value, "_type_spec", None)
    return spec if isinstance(spec, TypeSpec) else None
