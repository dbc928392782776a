"""Small parts of TensorFlow's inside that libraries use: functions and classes of several of its modules."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import penstock as tf
from penstock._types.specs import TypeSpec

__all__ = [
    "CONTROL_FLOW_V2",
    "BatchableTypeSpec",
    "Context",
    "Reference",
    "case_of_bools",
    "context",
    "convert_to_tensor_or_composite",
    "convert_variables_to_tensors",
    "get_name",
    "in_xla_context",
    "is_resource_variable",
    "lookup",
    "names_of_specs",
    "pfor",
    "prevent_gradient",
    "register",
    "shape_of_constant",
]

CONTROL_FLOW_V2 = True
"""Loops and branches are regions of the graph, as in TensorFlow 2."""


class BatchableTypeSpec(TypeSpec):
    """The specification of values that can be stacked and taken rows of."""

    __slots__ = ()


class Context:
    """What `tensorflow.python.eager.context.context()` gives: which devices there are, and how calls run."""

    @property
    def device_spec(self) -> tf.DeviceSpec:
        """The device that operations are placed on, as far as the program says so."""
        return tf.DeviceSpec()

    def executing_eagerly(self) -> bool:
        """Tell whether operations run at once."""
        return tf.executing_eagerly()

    def num_gpus(self) -> int:
        """Count the GPUs."""
        return len(tf.config.list_logical_devices("GPU"))


def context() -> Context:
    """Give what is known of devices and modes."""
    return Context()


def convert_to_tensor_or_composite(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Convert a value to a tensor, unless it is a composite value."""
    if getattr(value, "_type_spec", None) is not None:
        return value
    return tf.convert_to_tensor(value, dtype, name=name)


def convert_variables_to_tensors(values: Any) -> Any:
    """Replace the variables of a nest by what they hold; composite values do so by a method of their own."""

    def converted(value: Any) -> Any:
        if isinstance(value, tf.Variable):
            return tf.convert_to_tensor(value)
        own = getattr(value, "_convert_variables_to_tensors", None)
        return value if own is None else own()

    return tf.nest.map_structure(converted, values)


def is_resource_variable(var: Any) -> bool:
    """Tell whether a value is a variable: all of them are of this kind."""
    return isinstance(var, tf.Variable)


def pfor(
    loop_fn: Callable[[Any], Any],
    iters: Any,
    fallback_to_while_loop: bool = True,
    parallel_iterations: int | None = None,
) -> Any:
    """Call `loop_fn` with the numbers up to `iters`, as one call of a batch, and stack what it gives."""
    return tf.vectorized_map(loop_fn, tf.range(iters), fallback_to_while_loop)


class Reference:
    """A value that is compared, and hashed, by its identity."""

    __slots__ = ("_value",)

    def __init__(self, wrapped: Any) -> None:
        self._value = wrapped

    def deref(self) -> Any:
        """Give the value."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._value!r}>"


names_of_specs: dict[str, type] = {}
"""Classes of specifications by their names in files."""

_types: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def register(name: str) -> Callable[[type], type]:
    """Make a decorator that gives a class of specifications a name in files.

    Raises:
        ValueError: where the name, or the class, has been registered.
    """

    def decorate(cls: type) -> type:
        if not (isinstance(cls, type) and issubclass(cls, TypeSpec)):
            raise TypeError(f"a class of specifications must be decorated, got {cls!r}")
        if names_of_specs.get(name, cls) is not cls or cls in _types:
            raise ValueError(f"a class of specifications has been registered as {name!r}")
        names_of_specs[name] = cls
        _types[cls] = name
        return cls

    return decorate


def lookup(name: str) -> type:
    """Give the class that is registered under a name.

    Raises:
        ValueError: where there is none.
    """
    if name not in names_of_specs:
        raise ValueError(f"no class of specifications has been registered as {name!r}")
    return names_of_specs[name]


def get_name(cls: type) -> str:
    """Give the name that a class is registered under.

    Raises:
        ValueError: where it is not.
    """
    if cls not in _types:
        raise ValueError(f"{cls!r} has not been registered")
    return _types[cls]


def in_xla_context(graph: Any = None) -> bool:
    """Tell whether a graph is compiled by XLA: never."""
    return False


def case_of_bools(
    cond_fn: Callable[..., Any],
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None,
    exclusive: bool,
    name: str | None,
    allow_python_preds: bool = False,
    **cond_kwargs: Any,
) -> Any:
    """Call the function of the first condition that holds, by `cond_fn`, which takes Python's bools too.

    Raises:
        InvalidArgumentError: where none holds, and there is no default.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        raise ValueError("argument 'pred_fn_pairs' must hold a pair of a condition and a function")

    def chosen(number: int) -> Any:
        if number == len(pairs) - (default is None):
            return pairs[-1][1]() if default is None else default()
        condition, function = pairs[number]
        return cond_fn(condition, function, lambda: chosen(number + 1), **cond_kwargs)

    with tf.name_scope(name or "case"):
        if default is None:
            conditions = [tf.convert_to_tensor(condition) for condition, _ in pairs]
            tf.Assert(tf.reduce_any(conditions), ["none of the conditions holds:", conditions])
        return chosen(0)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Any:
    """Give the input, of which there is no gradient.

    Raises:
        LookupError: where a gradient of it is asked for.
    """

    @tf.custom_gradient
    def guarded(x: Any) -> Any:
        def refuse(*_: Any) -> Any:
            raise LookupError(f"Gradient explicitly disabled. Reason: {message!r}")

        return tf.identity(x, name=name), refuse

    return guarded(input)


def shape_of_constant(tensor: Any) -> tf.TensorShape:
    """Give a shape as far as it is known when a function is traced; sizes of -1 are unknown."""
    known = tf.get_static_value(tensor, partial=True)
    if known is None:
        size = tf.convert_to_tensor(tensor).shape[0]
        return tf.TensorShape(None if size is None else [None] * size)
    return tf.TensorShape([None if size is None or size < 0 else int(size) for size in known])
