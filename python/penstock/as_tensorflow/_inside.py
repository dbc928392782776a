"""Small parts of TensorFlow's inside that libraries use: functions and classes of several of its modules."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

import penstock as tf
from penstock._types.specs import TypeSpec

__all__ = [
    "CONTROL_FLOW_V2",
    "BatchableTypeSpec",
    "Context",
    "DenseSpec",
    "Reference",
    "TrackableDataStructure",
    "add_operators",
    "case_of_bools",
    "context",
    "convert_to_tensor_or_composite",
    "convert_variables_to_tensors",
    "get_name",
    "getfullargspec",
    "in_xla_context",
    "is_resource_variable",
    "lookup",
    "make_composite_tensor",
    "names_of_specs",
    "parameterized_truncated_normal",
    "pfor",
    "prevent_gradient",
    "register",
    "register_symbolic_tensor_type",
    "shape_of_constant",
    "specs_with_names",
    "sticky_attribute_assignment",
]

CONTROL_FLOW_V2 = True
"""Loops and branches are regions of the graph, as in TensorFlow 2."""


class BatchableTypeSpec(TypeSpec):
    """The specification of values that can be stacked and taken rows of."""

    __slots__ = ()


class DenseSpec(TypeSpec):
    """The specification of values with a shape and a dtype."""

    __slots__ = ()


class TrackableDataStructure:
    """The base of TensorFlow's lists and dicts of trackable values; those of this package are plain ones."""


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

specs_with_names: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def register(name: str) -> Callable[[type], type]:
    """Make a decorator that gives a class of specifications a name in files.

    Raises:
        ValueError: where the name, or the class, has been registered.
    """

    def decorate(cls: type) -> type:
        if not (isinstance(cls, type) and issubclass(cls, TypeSpec)):
            raise TypeError(f"a class of specifications must be decorated, got {cls!r}")
        if names_of_specs.get(name, cls) is not cls or cls in specs_with_names:
            raise ValueError(f"a class of specifications has been registered as {name!r}")
        names_of_specs[name] = cls
        specs_with_names[cls] = name
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
    if cls not in specs_with_names:
        raise ValueError(f"{cls!r} has not been registered")
    return specs_with_names[cls]


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


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = tf.float32,
    seed: int | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Draw numbers of normal distributions between bounds."""
    drawn = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32, seed=seed)
    means, stddevs, minvals, maxvals = (tf.cast(x, dtype) for x in (means, stddevs, minvals, maxvals))
    return tf.random.stateless_parameterized_truncated_normal(
        shape, drawn, means, stddevs, minvals, maxvals, name
    )


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """Give the parameters of a function, of one that is decorated as well.

    Types are left out: libraries compare what TensorFlow's functions have, of which most have none.
    """
    return inspect.getfullargspec(inspect.unwrap(obj))._replace(annotations={})


def make_composite_tensor(cls: type, module_name: str = "tf.linalg") -> type:
    """Make values of a class of linear operators composite, which all are here."""
    return cls


def sticky_attribute_assignment(trackable: Any, name: str, value: Any) -> Any:
    """Give what an attribute is to hold: the value."""
    return value


def register_symbolic_tensor_type(cls: type) -> type:
    """Have Keras take values of a class for tensors, which it asks each value itself."""
    return cls


def add_operators(operators: Any, operator_name: str | None = None, addition_tiers: Any = None) -> list[Any]:
    """Give linear operators, one where they can be added, whose sum is that of the given ones."""
    first, *others = operators
    if not others:
        return [first]
    total = first.to_dense()
    for other in others:
        total += other.to_dense()

    def every(hint: str) -> bool | None:
        return all(getattr(operator, hint) for operator in operators) or None

    return [
        tf.linalg.LinearOperatorFullMatrix(
            total,
            is_non_singular=every("is_positive_definite"),
            is_self_adjoint=every("is_self_adjoint"),
            is_positive_definite=every("is_positive_definite"),
            is_square=every("is_square"),
            name=operator_name or "sum",
        )
    ]
