"""Gradients that are registered by name, in place of an operator's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._autodiff.custom_gradient import when_asked_for

__all__ = ["RegisterGradient", "gradient_override_map", "no_gradient"]

_REGISTRY: dict[str, Callable[..., Any] | None] = {}
_OWN: frozenset[str] = frozenset(op.tf_name for op in _core._ops().values())


def _register(op_type: str, function: Callable[..., Any] | None) -> None:
    if op_type in _REGISTRY or op_type in _OWN:
        raise KeyError(f"a gradient is registered for {op_type!r} already")
    _REGISTRY[op_type] = function


class RegisterGradient:
    """Registers a gradient function under a name, for `gradient_override_map`.

    Args:
        op_type: a name that is no operator's and not registered yet.

    Raises:
        TypeError: where it is no string.
        KeyError: when applied, where the name is taken.

    >>> import penstock as tf
    >>> @tf.RegisterGradient("DoubledGradientOfADocstring")
    ... def doubled(op, grad):
    ...     return 2.0 * grad
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"argument 'op_type' must be a string, got {op_type!r}")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Registers `f(op, *output_gradients)`, which gives the gradient of each input, or None."""
        _register(self._op_type, f)
        return f


def no_gradient(op_type: str) -> None:
    """Register a name whose operations pass no gradient on.

    Args:
        op_type: the name of an operation.

    Raises:
        TypeError: where the name is no string.
        KeyError: where it is taken.

    >>> import penstock as tf
    >>> tf.no_gradient('MyOwnOperation')
    """
    if not isinstance(op_type, str):
        raise TypeError(f"argument 'op_type' must be a string, got {op_type!r}")
    _register(op_type, None)


class _Operation:
    """An operation as its registered gradient sees it."""

    def __init__(self, kind: str, attributes: dict[str, Any], inputs: list[Any], outputs: list[Any]) -> None:
        self.type = kind
        self.inputs = tuple(inputs)
        self.outputs = outputs
        self._attributes = attributes

    @property
    def name(self) -> str:
        """The name of its first output."""
        name: str = self.outputs[0].name
        return name.partition(":")[0]

    def get_attr(self, name: str) -> Any:
        """The value of an attribute.

        Raises:
            ValueError: where there is none of this name.
        """
        if name not in self._attributes:
            raise ValueError(f"{self.type} has no attribute {name!r}; it has {sorted(self._attributes)}")
        return self._attributes[name]


@contextmanager
def gradient_override_map(op_type_map: Mapping[str, str]) -> Iterator[None]:
    """Within it, operations of some types get gradients that are registered under other names.

    Args:
        op_type_map: for the type of an operation (`"Square"`) the name of a registered gradient.

    Raises:
        TypeError: where it is no mapping of strings to strings.

    >>> import penstock as tf
    >>> from penstock._autodiff.registered import gradient_override_map
    >>> _ = tf.RegisterGradient("TenfoldGradientOfADocstring")(lambda op, grad: 10.0 * grad)
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape, gradient_override_map({"Square": "TenfoldGradientOfADocstring"}):
    ...     y = tf.square(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(10.0)
    """
    if not isinstance(op_type_map, Mapping):
        raise TypeError(f"argument 'op_type_map' must be a mapping, got {op_type_map!r}")
    for item in op_type_map.items():
        if not all(isinstance(part, str) for part in item):
            raise TypeError(f"argument 'op_type_map' must map strings to strings, got {item}")
    names = dict(op_type_map)

    def hook(
        kind: str, attributes: dict[str, Any], inputs: list[Any], outputs: list[Any]
    ) -> Sequence[Any] | None:
        name = names.get(kind)
        if name is None or not inputs or not outputs:
            return None
        return _overridden(name, _Operation(kind, attributes, inputs, outputs))

    with _core._Override(hook):
        yield


def _overridden(name: str, op: _Operation) -> Sequence[Any]:
    """The outputs of an operation with the gradient that is registered under a name."""
    if name in _REGISTRY and _REGISTRY[name] is None:
        return [raw_ops.stop_gradient(output) for output in op.outputs]

    def backward(grads: Sequence[Any]) -> list[Any]:
        function = _REGISTRY.get(name)
        if function is None:
            raise LookupError(f"no gradient is registered under the name {name!r}")
        filled = [raw_ops.zeros_like(o) if g is None else g for g, o in zip(grads, op.outputs, strict=True)]
        found = nest.flatten(function(op, *filled))
        if len(found) != len(op.inputs):
            raise ValueError(
                f"the gradient {name!r} returned {len(found)} values for the {len(op.inputs)} inputs "
                f"of {op.type}"
            )
        return found

    if _core._is_tracing():
        return _core._with_gradient(
            op.outputs, op.inputs, when_asked_for(backward, op.inputs, _REGISTRY.get(name, name))
        )
    _core._record_custom(op.inputs, op.outputs, backward)
    return op.outputs
