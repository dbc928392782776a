"""`tf.experimental.ExtensionType`: classes of values that are made of tensors."""

from __future__ import annotations

import abc
import contextlib
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from penstock import _core
from penstock._types.annotations import annotations_of
from penstock._types.argument_kinds import fields_of, with_fields
from penstock._types.composite import is_composite, is_record
from penstock._types.shape import TensorShape
from penstock._types.specs import Composite, TensorSpec, TypeSpec, type_spec_from_value
from penstock._types.tracing_type import TraceType

__all__ = ["ExtensionType", "ExtensionTypeSpec", "ImmutableDict", "mapped_parts"]


class ImmutableDict(Mapping[Any, Any]):
    """A dict that cannot be changed: what a field of type `Mapping` holds.

    Args:
        items: as `dict` takes them.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Any = ()) -> None:
        self._items = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"ImmutableDict({self._items!r})"

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))


class _SpecMeta(abc.ABCMeta):
    """Converts and checks the fields of a specification once its constructor has set them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        _finish(made, made._value_type, _SPECS)
        return made


class ExtensionTypeSpec(TypeSpec, metaclass=_SpecMeta):
    """What is known of an extension type's value: for each field its specification, or the value itself.

    Made by `tf.type_spec_from_value`, or from the specifications of the fields: `MyType.Spec(x=...)`.

    Args:
        *args: of the fields, in order.
        **kwargs: of the fields, by name.

    Raises:
        TypeError: where fields are missing or there are others, or one holds what it cannot.

    >>> import penstock as tf
    >>> class Point(tf.experimental.ExtensionType):
    ...     x: tf.Tensor
    ...     label: str = "none"
    >>> Point.Spec(tf.TensorSpec([2]), "a")
    Point.Spec(x=TensorSpec(shape=(2,), dtype=tf.float32, name=None), label='a')
    """

    # Set by the class that it belongs to.
    _value_type: ClassVar[type[ExtensionType]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "_value_type" not in dir(type(self)):
            raise TypeError(
                f"{type(self).__qualname__} is a base class: an extension type has specifications, as 'Spec'"
            )
        names = self._value_type._penstock_fields
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) + len(kwargs) != len(names) or set(given) != set(names):
            raise TypeError(
                f"{type(self).__qualname__} takes a specification for each of ({', '.join(names)}), "
                f"got {len(args)} and {sorted(kwargs)}"
            )
        self.__dict__.update(given)

    @classmethod
    def from_value(cls, value: ExtensionType) -> ExtensionTypeSpec:
        """Make the specification of a value.

        Args:
            value: a value of the extension type.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> class Point(tf.experimental.ExtensionType):
        ...     x: tf.Tensor
        >>> Point.Spec.from_value(Point([1, 2])).x.shape
        TensorShape([2])
        """
        made = cls.__new__(cls)
        for name in cls._value_type._penstock_fields:
            made.__dict__[name] = _spec_of(getattr(value, name))
        return made

    @property
    def value_type(self) -> type:
        """The extension type."""
        return self._value_type

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._value_type._penstock_fields)

    def is_compatible_with(self, spec_or_value: ExtensionType | TypeSpec) -> bool:
        """Tell whether a value, or some value of another specification, is described by this one.

        Args:
            spec_or_value: a value or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> class Point(tf.experimental.ExtensionType):
        ...     x: tf.Tensor
        >>> Point.Spec(tf.TensorSpec([None], tf.int32)).is_compatible_with(Point([1, 2]))
        True
        """
        if isinstance(spec_or_value, self._value_type):
            spec_or_value = type(self).from_value(spec_or_value)
        if not isinstance(spec_or_value, ExtensionTypeSpec) or type(spec_or_value) is not type(self):
            return False
        return all(map(_compatible, self._parts(), spec_or_value._parts()))

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether every value of this specification is one of `other`.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> class Point(tf.experimental.ExtensionType):
        ...     x: tf.Tensor
        >>> Point.Spec(tf.TensorSpec([2])).is_subtype_of(Point.Spec(tf.TensorSpec([None])))
        True
        """
        if not isinstance(other, ExtensionTypeSpec) or type(other) is not type(self):
            return False
        return all(map(_is_subtype, self._parts(), other._parts()))

    def most_specific_common_supertype(self, others: Iterable[object]) -> ExtensionTypeSpec | None:
        """Make the most specific specification that covers this one and others.

        Args:
            others: other specifications.

        Returns:
            The specification, or None where there is none.

        >>> import penstock as tf
        >>> class Point(tf.experimental.ExtensionType):
        ...     x: tf.Tensor
        >>> specs = Point.Spec(tf.TensorSpec([2])), Point.Spec(tf.TensorSpec([3]))
        >>> specs[0].most_specific_common_supertype(specs[1:]).x.shape
        TensorShape([None])
        """
        parts = list(self._parts())
        for other in others:
            if not isinstance(other, ExtensionTypeSpec) or type(other) is not type(self):
                return None
            for i, part in enumerate(other._parts()):
                parts[i] = _join(parts[i], part)
                if parts[i] is _NOTHING:
                    return None
        made = type(self).__new__(type(self))
        made.__dict__.update(zip(self._value_type._penstock_fields, parts, strict=True))
        return made

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        """The specifications in the fields, in order."""
        return tuple(leaf for part in self._parts() for leaf in _leaves(part) if isinstance(leaf, TypeSpec))

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        """The tensors and composite values in the fields of a value, in order."""
        fields = (getattr(value, name) for name in self._value_type._penstock_fields)
        pairs = zip(_leaves(self._parts()), _leaves(tuple(fields)), strict=True)
        return tuple(leaf for spec, leaf in pairs if isinstance(spec, TypeSpec))

    def _from_components(self, components: Any) -> Any:
        """The value that has these."""
        source = iter(components)
        return _with_parts(
            self._value_type,
            _over(self._parts(), lambda part: next(source) if isinstance(part, TypeSpec) else part),
        )

    def _specified_value(self) -> Any:
        return self.from_tensors(iter(self.flatten()))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self), *(repr(part) for part in self._parts())))

    def __repr__(self) -> str:
        names = self._value_type._penstock_fields
        parts = (f"{name}={part!r}" for name, part in zip(names, self._parts(), strict=True))
        return f"{self._value_type.__qualname__}.Spec({', '.join(parts)})"


_NOTHING: Any = object()


def _over(value: Any, leaf: Any) -> Any:
    """A nest of tuples and mappings with `leaf` applied to what is in it, in the order of `_leaves`."""
    if isinstance(value, tuple):
        return tuple(_over(item, leaf) for item in value)
    if isinstance(value, Mapping):
        made = {key: _over(value[key], leaf) for key in sorted(value, key=str)}
        return ImmutableDict((key, made[key]) for key in value)
    return leaf(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    else:
        yield value


def _spec_of(value: Any) -> Any:
    def leaf(item: Any) -> Any:
        whole = isinstance(item, _core.Tensor | _core._Variable) or _has_spec(item)
        return type_spec_from_value(item) if whole else item

    return _over(value, leaf)


def _has_spec(value: Any) -> bool:
    """Whether a leaf is a composite value that a specification describes; records stay as they are."""
    return is_composite(value) and not is_record(value)


def _with_parts(kind: type[ExtensionType], parts: tuple[Any, ...]) -> Any:
    """The value of a class with these in its fields, which are not converted or checked."""
    made = object.__new__(kind)
    made.__dict__.update(zip(kind._penstock_fields, parts, strict=True))
    return made


def mapped_parts(function: Callable[[Any], Any], spec: ExtensionTypeSpec) -> Any:
    """A specification like another one, with what a function makes of what its fields hold."""
    made = type(spec).__new__(type(spec))
    names = spec._value_type._penstock_fields
    made.__dict__.update(zip(names, _over(spec._parts(), function), strict=True))
    return made


def _pairs(a: Any, b: Any, same: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_pairs(x, y, same) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return set(a) == set(b) and all(_pairs(a[key], b[key], same) for key in a)
    if isinstance(a, TraceType | TensorShape) and isinstance(b, TraceType | TensorShape):
        return bool(same(a, b))
    return type(a) is type(b) and bool(a == b)


def _is_subtype(a: Any, b: Any) -> bool:
    return _pairs(a, b, lambda x, y: x.is_subtype_of(y))


def _compatible(a: Any, b: Any) -> bool:
    return _pairs(a, b, lambda x, y: x.is_compatible_with(y))


def _join(a: Any, b: Any) -> Any:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        parts = tuple(_join(x, y) for x, y in zip(a, b, strict=True))
        return _NOTHING if any(part is _NOTHING for part in parts) else parts
    if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) == set(b):
        items = {key: _join(a[key], b[key]) for key in a}
        return _NOTHING if any(part is _NOTHING for part in items.values()) else ImmutableDict(items)
    if isinstance(a, TensorShape) and isinstance(b, TensorShape):
        return a.most_specific_compatible_shape(b)
    if isinstance(a, TraceType):
        found = a.most_specific_common_supertype([b])
        return _NOTHING if found is None else found
    return a if _pairs(a, b, None) else _NOTHING


# --- fields -------------------------------------------------------------------


class _Conversion:
    """What values become where they are held by fields, by the annotations of these."""

    def convert(self, path: str, annotation: Any, value: Any) -> Any:
        """The value of a field as its annotation asks for it.

        Raises:
            TypeError: for a value that it cannot hold; it names the field.
        """
        if annotation is Any or isinstance(annotation, typing.TypeVar):
            return value
        if annotation is None or annotation is type(None):
            if value is not None:
                raise TypeError(f"{path}: expected None, got {value!r}")
            return None
        if annotation is _core.Tensor:
            return self._tensor(path, value)
        if isinstance(annotation, TensorSpec):
            tensor = self._tensor(path, value, annotation.dtype)
            if not annotation.is_compatible_with(tensor):
                raise TypeError(
                    f"{path}: expected {annotation}, got {TensorSpec(tensor.shape, tensor.dtype)}"
                )
            return tensor
        if annotation is TensorShape:
            return TensorShape(value)
        if annotation is _core.DType:
            return _core.DType(value)
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Union or origin is types.UnionType:
            return self._one_of(path, args, value)
        if origin is typing.Literal:
            if value not in args:
                raise TypeError(f"{path}: expected one of {args}, got {value!r}")
            return value
        if origin is tuple or annotation is tuple:
            return self._tuple(path, args, value)
        if annotation is Mapping or (
            origin is not None and isinstance(origin, type) and issubclass(origin, Mapping)
        ):
            if not isinstance(value, Mapping):
                raise TypeError(f"{path}: expected a mapping, got {value!r}")
            keys, values = args or (Any, Any)
            return ImmutableDict(
                (self.convert(f"{path}.keys()", keys, k), self.convert(f"{path}[{k!r}]", values, v))
                for k, v in value.items()
            )
        if isinstance(annotation, type):
            wrong_bool = isinstance(value, bool) and annotation in (int, float)
            if not self._is_instance(value, annotation) or wrong_bool:
                raise TypeError(f"{path}: expected a value of type {annotation.__name__}, got {value!r}")
            return value
        raise TypeError(f"{path}: a field cannot be of type {annotation!r}")

    def _tensor(self, path: str, value: Any, dtype: Any = None) -> Any:
        if isinstance(value, _core.Tensor | TensorSpec):
            return value
        try:
            return _core._to_tensor_hinted(value, dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{path}: expected a Tensor, got {value!r}: {error}") from None

    def _is_instance(self, value: Any, cls: type) -> bool:
        return isinstance(value, cls)

    def _one_of(self, path: str, choices: tuple[Any, ...], value: Any) -> Any:
        # What fits as it is comes before what can be converted.
        ordered = sorted(choices, key=lambda c: c in (_core.Tensor, TensorShape, _core.DType))
        for choice in ordered:
            try:
                return self.convert(path, choice, value)
            except (TypeError, ValueError):
                continue
        names = ", ".join(getattr(c, "__name__", str(c)) for c in choices)
        raise TypeError(f"{path}: expected one of the types {names}, got {value!r}")

    def _tuple(self, path: str, args: tuple[Any, ...], value: Any) -> Any:
        if not isinstance(value, tuple | list):
            raise TypeError(f"{path}: expected a tuple, got {value!r}")
        if not args:
            return tuple(value)
        if len(args) == 2 and args[1] is Ellipsis:
            args = (args[0],) * len(value)
        if len(args) != len(value):
            raise TypeError(f"{path}: expected a tuple of {len(args)}, got {value!r}")
        pairs = zip(args, value, strict=True)
        return tuple(self.convert(f"{path}[{i}]", a, v) for i, (a, v) in enumerate(pairs))


class _SpecConversion(_Conversion):
    """What the fields of a specification hold: specifications in place of tensors and composite values."""

    def _tensor(self, path: str, value: Any, dtype: Any = None) -> Any:
        if not isinstance(value, TensorSpec):
            raise TypeError(f"{path}: expected a tf.TensorSpec, got {value!r}")
        return value

    def _is_instance(self, value: Any, cls: type) -> bool:
        return issubclass(value.value_type, cls) if isinstance(value, TypeSpec) else isinstance(value, cls)


_VALUES, _SPECS = _Conversion(), _SpecConversion()


def _finish(made: Any, kind: type[ExtensionType], conversion: _Conversion) -> None:
    """Converts and checks the fields of a value, or of a specification, and calls its `__validate__`."""
    annotations = _annotations(kind)
    name_of = type(made).__qualname__
    for name in kind._penstock_fields:
        if name not in made.__dict__:
            raise TypeError(f"{name_of}.__init__ does not set the field '{name}'")
        made.__dict__[name] = conversion.convert(name, annotations[name], made.__dict__[name])
    extra = made.__dict__.keys() - set(kind._penstock_fields)
    if extra:
        raise AttributeError(f"{name_of}.__init__ sets {sorted(extra)}, which are no fields")
    validate = getattr(made, "__validate__", None)
    if validate is not None:
        validate()


class _Meta(type):
    """Collects the fields of a class, and freezes each object once it is made."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _Meta:
        given = namespace.pop("Spec", None)
        cls = super().__new__(mcs, name, bases, namespace)
        fields: dict[str, None] = {}
        for base in bases:
            fields.update(dict.fromkeys(getattr(base, "_penstock_fields", ())))
        own = annotations_of(cls)
        for field, annotation in own.items():
            if "ClassVar" in str(annotation):
                continue
            if field.startswith("_penstock") or field in ("Spec", "_type_spec", "self"):
                raise ValueError(f"{name}: a field cannot be called '{field}'")
            fields[field] = None
        cls._penstock_fields = tuple(fields)  # type: ignore[attr-defined]
        inherited = getattr(cls, "Spec", None)
        mixins = tuple(dict.fromkeys(c for c in (given, inherited or ExtensionTypeSpec) if c is not None))
        if given is not None and issubclass(given, ExtensionTypeSpec):
            mixins = (given,)
        spec = _SpecMeta(
            "Spec",
            mixins,
            {"_value_type": cls, "__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Spec"},
        )
        cls.Spec = spec  # type: ignore[attr-defined]
        decides = (
            "is_subtype_of",
            "most_specific_common_supertype",
            "placeholder_value",
            "flatten",
            "to_tensors",
        )
        # Annotations may be texts that name what is only visible here; if not all of it is there yet, they
        # are read again at the first use.
        frame = sys._getframe(1)
        with contextlib.suppress(NameError, AttributeError):
            _own_annotations(cls, {**frame.f_globals, **frame.f_locals})
        # A shape covers others, which equality of the fields would not see.
        cls._penstock_structural = all(  # type: ignore[attr-defined]
            getattr(spec, method) is getattr(ExtensionTypeSpec, method) for method in decides
        ) and not any("TensorShape" in str(getattr(base, "__annotations__", "")) for base in cls.__mro__)
        return cls

    @property
    def __signature__(cls) -> Any:
        """The parameters of the constructor: by default the fields."""
        import inspect  # start-up does without it

        if cls.__init__ is not ExtensionType.__init__:  # type: ignore[misc]
            own = inspect.signature(cls.__init__)  # type: ignore[misc]
            return own.replace(parameters=list(own.parameters.values())[1:])
        if "_penstock_abstract" in cls.__dict__:
            return inspect.signature(ExtensionType.__init__)
        kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        fields = [
            inspect.Parameter(name, kind, default=getattr(cls, name, empty))
            for name in cls._penstock_fields  # type: ignore[attr-defined]
        ]
        # Fields without a default may follow ones that have one, as in classes that derive.
        last = max((i for i, field in enumerate(fields) if field.default is empty), default=0)
        return inspect.Signature([f.replace(default=empty) if i < last else f for i, f in enumerate(fields)])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_penstock_abstract" in cls.__dict__:
            raise TypeError(f"{cls.__name__} is to be subclassed: it has no fields of its own")
        made = super().__call__(*args, **kwargs)
        made._penstock_finish()
        return made


class ExtensionType(Composite, metaclass=_Meta):
    """The base of classes whose values are made of tensors and Python values, and never change.

    Fields are declared by annotations, with defaults if wanted; the constructor takes them in order or by
    name, converts what is given to what the annotation says, and calls `__validate__` where there is one.
    Annotations may be `tf.Tensor`, a `tf.TensorSpec`, `tf.DType`, `tf.TensorShape`, Python's own types, other
    extension types, and `tuple`, `Mapping`, `Union` and `Optional` of these.

    Traced functions take and return such values; one trace serves all values of one specification, which is
    `MyType.Spec`. A nested class `Spec` adds to it or overrides it.

    Raises:
        TypeError: for a value that a field cannot hold, or fields that are missing.

    >>> import penstock as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    ...     name: str = "masked"
    >>> @tf.function
    ... def negated(m):
    ...     return Masked(-m.values, m.mask, m.name)
    >>> negated(Masked([1, 2], [True, False])).values.numpy().tolist()
    [-1, -2]
    """

    __module__ = "penstock.experimental"

    _penstock_abstract: ClassVar[bool] = True
    _penstock_fields: ClassVar[tuple[str, ...]]
    _penstock_structural: ClassVar[bool]
    Spec: ClassVar[type[ExtensionTypeSpec]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = type(self)
        names = cls._penstock_fields
        if len(args) > len(names):
            raise TypeError(f"{cls.__qualname__} takes {len(names)} fields, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in given:
                raise TypeError(f"{cls.__qualname__} got an unexpected or repeated field '{name}'")
            given[name] = value
        for name in names:
            if name not in given:
                if not hasattr(cls, name):
                    raise TypeError(f"{cls.__qualname__} misses the field '{name}'")
                given[name] = getattr(cls, name)
        self.__dict__.update(given)

    def _penstock_finish(self) -> None:
        """Converts and checks the fields; from then on the object does not change."""
        _finish(self, type(self), _VALUES)
        self.__dict__["_penstock_frozen"] = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_penstock_frozen" in self.__dict__ or name not in self._penstock_fields:
            raise AttributeError(
                f"cannot set '{name}' of {type(self).__qualname__}: an extension type's fields are set by "
                "its constructor alone"
            )
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete '{name}' of {type(self).__qualname__}: it does not change")

    @property
    def _type_spec(self) -> ExtensionTypeSpec:
        """The specification of the value."""
        return type(self).Spec.from_value(self)

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """The specification of the value."""
        return self._type_spec

    def __eq__(self, other: object) -> Any:
        """Whether type and fields are equal: a `bool`, or a scalar tensor while a function is traced."""
        if type(other) is not type(self):
            return False
        mine, others = self._type_spec, other._type_spec
        if not mine.is_compatible_with(others):
            return False
        from penstock import math  # loaded when it is used

        same: Any = True
        for a, b in zip(mine.to_tensors(self), others.to_tensors(other), strict=True):
            equal = math.reduce_all(math.equal(a, b))
            same = equal if same is True else math.logical_and(same, equal)
        return same if isinstance(same, bool) or same._is_symbolic else bool(same)

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        if isinstance(same, bool):
            return not same
        from penstock import math  # loaded when it is used

        return math.logical_not(same)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_fields  # start-up does without it

        return of_fields(self, {name: getattr(self, name, None) for name in type(self)._penstock_fields})

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in self._penstock_fields)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in self._penstock_fields}
        return _restore, (type(self), values)

    def __copy__(self) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made


def _restore(cls: type[ExtensionType], values: dict[str, Any]) -> Any:
    return with_fields(object.__new__(cls), {**values, "_penstock_frozen": True})


def _own_annotations(cls: type, names: Mapping[str, Any]) -> None:
    """Notes what a class's own annotations are, with `names` besides those of its module."""
    own = {"__annotations__": annotations_of(cls), "__module__": cls.__module__}
    found = typing.get_type_hints(type(cls.__name__, (), own), localns={**names, cls.__name__: cls})
    cls._penstock_annotations = found  # type: ignore[attr-defined]


def _annotations(cls: type) -> dict[str, Any]:
    """What the fields of a class are declared as, bases first."""
    out: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if isinstance(base, _Meta) and base is not ExtensionType:
            if "_penstock_annotations" not in base.__dict__:
                _own_annotations(base, {})
            out.update(base.__dict__["_penstock_annotations"])
    return out


def composite_leaves(value: Any) -> list[Any] | None:
    """The values of a composite value's fields, or None for anything else."""
    if not isinstance(value, ExtensionType):
        return None
    return [getattr(value, name) for name in fields_of(type(value)) or ()]
