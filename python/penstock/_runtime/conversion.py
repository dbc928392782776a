"""Conversion of values to tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import named
from penstock._types.shape import TensorShape

if TYPE_CHECKING:
    from typing import TypeGuard

    from penstock._types.aliases import DTypeLike, ShapeLike, TensorOrVariable

__all__ = ["constant", "convert", "convert_to_tensor", "is_tensor", "register_tensor_conversion_function"]

_REGISTRY: list[tuple[int, type | tuple[type, ...], Callable[..., Any]]] = []


def convert(value: Any, dtype: _core.DType | None) -> Any:
    """What a registered function makes of `value`, or None. The engine calls this last."""
    for _, base, function in _REGISTRY:
        if isinstance(value, base):
            made = function(value, dtype=dtype, name=None, as_ref=False)
            if made is not NotImplemented:
                return made
    return None


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Register how objects of a class become tensors.

    Args:
        base_type: the class, or a tuple of classes.
        conversion_func: called as `f(value, dtype=None, name=None, as_ref=False)`; gives a tensor, or
            NotImplemented to pass.
        priority: functions of lower numbers are tried first.

    Raises:
        TypeError: where the function is not callable.

    >>> import penstock as tf
    >>> class Metres:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> def converted(metres, dtype=None, name=None, as_ref=False):
    ...     return tf.constant(metres.value)
    >>> tf.register_tensor_conversion_function(Metres, converted)
    >>> tf.convert_to_tensor(Metres(3)).numpy()
    np.int32(3)
    """
    if not callable(conversion_func):
        raise TypeError(f"argument 'conversion_func' must be callable, got {conversion_func!r}")
    _REGISTRY.append((priority, base_type, conversion_func))
    _REGISTRY.sort(key=lambda entry: entry[0])


def convert_to_tensor(
    value: Any, dtype: DTypeLike | None = None, dtype_hint: DTypeLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Convert a value to a tensor.

    Args:
        value: a tensor, variable, array, Python number or string, or a nest of them. An array that is on
            a GPU, by DLPack or `__cuda_array_interface__`, is copied there.
        dtype: the element type, which must be met.
        dtype_hint: the element type, which is met where a Python value can.
        name: what a tensor that is made of another value is called in a graph.

    Returns:
        A tensor of the shape of the value, of `dtype` where that is given.

    Raises:
        TypeError: where the value cannot become a tensor, or not of this dtype.
        ValueError: for None, a ragged nest, or a tensor of another dtype.

    >>> import penstock as tf
    >>> tf.convert_to_tensor([1, 2]).dtype
    tf.int32
    """
    if value is None:
        raise ValueError("argument 'value' must not be None: it cannot become a tensor")
    tensor = _core._to_tensor_hinted(value, dtype_hint) if dtype is None else _core._to_tensor(value, dtype)
    return tensor if tensor is value else named(placed(tensor, value), name)


def placed(tensor: _core.Tensor, value: Any) -> _core.Tensor:
    """A tensor that was made of a value, on the device of the scope; that of a variable stays where it is."""
    if isinstance(value, _core.Tensor | _core._Variable):
        return tensor
    found = _core._placed(tensor)
    # One that is there already has its derivative, where it was made of others.
    return tensor if found is tensor or found.device == tensor.device else found


def constant(
    value: Any, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str = "Const"
) -> _core.Tensor:
    """Make a tensor of a constant value.

    Args:
        value: an array, Python number or string, or a nest of them. An array that is on a GPU stays there.
        dtype: the element type; by default that of the value, `int32` for Python integers that fit and
            `float32` for Python floats.
        shape: extents to give the value; a single element fills them.
        name: what it is called in a graph.

    Returns:
        A tensor of shape `shape`, by default that of the value.

    Raises:
        TypeError: where the value cannot become a tensor of this dtype.
        ValueError: for None, or a ragged nest.
        InvalidArgumentError: where the number of elements does not fit `shape`.

    >>> import penstock as tf
    >>> tf.constant([[1, 2], [3, 4]]).shape
    TensorShape([2, 2])
    """
    if value is None:
        raise ValueError("argument 'value' must not be None: it cannot become a tensor")
    if isinstance(value, _core.Tensor) and dtype is not None and value.dtype != _core.DType(dtype):
        if value._is_symbolic:
            raise TypeError(f"a symbolic tensor of dtype {value.dtype.name} is no constant of dtype {dtype}")
        value = value.numpy()
    tensor = _core._to_tensor(value, dtype)
    if shape is not None:
        extents = _core._to_tensor(list(TensorShape(shape).as_list()), _core.int64)
        if tensor.shape.num_elements() == 1:
            tensor = raw_ops.fill(extents, raw_ops.reshape(tensor, _core._to_tensor([], _core.int32)))
        else:
            tensor = raw_ops.reshape(tensor, extents)
    tensor = placed(tensor, value)
    # In a function that is traced a name is looked up by who gave one.
    if tensor is value or (name == "Const" and v1_graph_state.current() is None):
        return tensor
    return named(tensor, name)


def is_tensor(x: object) -> TypeGuard[TensorOrVariable]:
    """Tell whether `x` is a tensor, which may be ragged, sparse or `tf.IndexedSlices`, or a variable.

    Args:
        x: anything.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor(tf.ragged.constant([[1], []])), tf.is_tensor(1)
    (True, True, False)
    """
    if isinstance(x, _core.Tensor | _core._Variable):
        return True
    # A composite of a kind of tensors, and a variable of Keras.
    return getattr(type(x), "_is_kind_of_tensor", False) is True
