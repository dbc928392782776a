"""Sums, products, quotients and comparisons of two tensors, and functions made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._values.indexed_slices import IndexedSlices
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "accumulate_n",
    "add",
    "add_n",
    "atan2",
    "divide",
    "divide_no_nan",
    "equal",
    "log_sigmoid",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "reciprocal_no_nan",
    "scalar_mul",
    "truediv",
    "xlog1py",
    "zeta",
]


@dispatched
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Add two tensors elementwise; join strings.

    Args:
        x: a tensor: numbers, or strings.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.add([1, 2], [3, 4]).numpy()
    array([4, 6], dtype=int32)
    """
    a, b = _core._operands(x, y)
    if name is None:
        return a + b
    if a.dtype == _core.string:
        return raw_ops.string_join([a, b], name=name)
    return raw_ops.add(a, b, name=name)


@dispatched
def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `x ** y` elementwise.

    Args:
        x: a numeric tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.pow([2, 3], [3, 2]).numpy()
    array([8, 9], dtype=int32)
    """
    a, b = _core._operands(x, y)
    return a**b if name is None else raw_ops.pow(a, b, name=name)


def _floats(a: _core.Tensor, b: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
    """Operands of a division; integers as floats that hold them."""
    if not a.dtype.is_integer or b.dtype != a.dtype:
        return a, b
    wide = _core.float32 if a.dtype.size <= 2 else _core.float64
    return raw_ops.cast(a, dtype=wide), raw_ops.cast(b, dtype=wide)


@dispatched
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Divide elementwise.

    Integers become floats first: those of 8 and 16 bits `float32`, others `float64`.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A floating-point or complex tensor with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.truediv([1, 3], 2).numpy()
    array([0.5, 1.5])
    """
    a, b = _core._operands(x, y)
    if name is None:
        return a / b
    return raw_ops.div(*_floats(a, b), name=name)


@dispatched
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Divide elementwise, and give 0 where `y` is 0; integers become floats first, as in `truediv`.

    Args:
        x: a numeric tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A floating-point or complex tensor with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.math.divide_no_nan([3.0, 3.0], [2.0, 0.0]).numpy()
    array([1.5, 0. ], dtype=float32)
    """
    a, b = _core._operands(x, y)
    return raw_ops.divide_no_nan(*_floats(a, b), name=name)


@dispatched
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Divide elementwise as Python does, which is what `truediv` does.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A floating-point or complex tensor with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.divide([1, 3], 2).numpy()
    array([0.5, 1.5])
    """
    return truediv(x, y, name=name)


@dispatched
def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Tell where `x == y`.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast; NaN equals nothing.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.equal([1, 2], [1, 3]).numpy()
    array([ True, False])
    """
    x, y = _core._operands(x, y)
    return (
        raw_ops.string_equal(x, y, name=name) if x.dtype == _core.string else raw_ops.equal(x, y, name=name)
    )


@dispatched
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Tell where `x != y`.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast; NaN equals nothing.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.not_equal([1, 2], [1, 3]).numpy()
    array([False,  True])
    """
    x, y = _core._operands(x, y)
    return (
        raw_ops.string_not_equal(x, y, name=name)
        if x.dtype == _core.string
        else raw_ops.not_equal(x, y, name=name)
    )


@dispatched
def add_n(inputs: Sequence[TensorLike] | TensorLike, name: str | None = None) -> _core.Tensor:
    """Add tensors of one shape and dtype.

    Args:
        inputs: tensors of one shape and one numeric dtype, at least one; of one tensor, the rows.
        name: a name for the result in a graph.

    Returns:
        A tensor of that shape and dtype.

    Raises:
        ValueError: for an empty list.

    >>> import penstock as tf
    >>> tf.add_n([[1, 2], [3, 4], [5, 6]]).numpy()
    array([ 9, 12], dtype=int32)
    """
    if isinstance(inputs, _core.Tensor) and inputs.shape.rank != 0:
        if inputs.shape.rank is None or inputs.shape[0] is None:
            return raw_ops.reduce_sum(inputs, axes=0, name=name)
        inputs = list(inputs)
    if not isinstance(inputs, list | tuple):
        inputs = [inputs]
    if not inputs:
        raise InvalidArgumentError("argument 'inputs' must hold at least one tensor")
    return raw_ops.add_n(list(inputs), name=name)


def accumulate_n(
    inputs: Sequence[TensorLike] | TensorLike,
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Add tensors of one shape and dtype, which may be said.

    Args:
        inputs: tensors of one shape and one numeric dtype, at least one.
        shape: the shape that they must have; None for any.
        tensor_dtype: the dtype that they must have; None for any.
        name: a name for the result in a graph.

    Returns:
        A tensor of that shape and dtype.

    Raises:
        ValueError: for an empty list, or another shape.
        TypeError: for another dtype.

    >>> import penstock as tf
    >>> tf.math.accumulate_n([[1, 2], [3, 4], [5, 6]]).numpy()
    array([ 9, 12], dtype=int32)
    """
    total = add_n(inputs, name)
    if tensor_dtype is not None and total.dtype != _core.DType(tensor_dtype):
        raise TypeError(
            f"argument 'tensor_dtype' is {_core.DType(tensor_dtype).name}, "
            f"the dtype of the inputs {total.dtype.name}"
        )
    if shape is not None and not total.shape.is_compatible_with(shape):
        raise InvalidArgumentError(f"argument 'shape' is {shape}, the shape of the inputs {total.shape}")
    return total


@dispatched
def scalar_mul(
    scalar: TensorLike, x: TensorLike | IndexedSlices, name: str | None = None
) -> _core.Tensor | IndexedSlices:
    """Multiply a tensor by a scalar.

    Args:
        scalar: a scalar, converted to the dtype of `x`.
        x: a tensor, or `tf.IndexedSlices`, of which the values are multiplied.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`, or `tf.IndexedSlices` with such values.

    Raises:
        ValueError: where `scalar` is no scalar.

    >>> import penstock as tf
    >>> tf.scalar_mul(10.0, [1.0, 2.0]).numpy().tolist()
    [10.0, 20.0]
    """
    values = x.values if isinstance(x, IndexedSlices) else _core._to_tensor(x)
    factor = _core._to_tensor_hinted(scalar, values.dtype)
    if factor.shape.rank not in (0, None):
        raise InvalidArgumentError(f"argument 'scalar' must be a scalar, got shape {factor.shape}")
    product = raw_ops.mul(factor, values, name=name)
    return IndexedSlices(product, x.indices, x.dense_shape) if isinstance(x, IndexedSlices) else product


@dispatched
def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `x * raw_ops.log1p(y)`, and 0 where `x` is 0, elementwise.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 9.0]).numpy()
    array([0.       , 4.6051702], dtype=float32)
    """
    x, y = _core._operands(x, y)
    zero = raw_ops.zeros_like(x)
    is_zero = raw_ops.equal(x, zero)
    safe = raw_ops.select(is_zero, raw_ops.zeros_like(y), y)
    return raw_ops.select(is_zero, zero, x * raw_ops.log1p(safe), name=name)


@dispatched
def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the derivative of order `a` of `digamma` at `x`, elementwise.

    Args:
        a: the order, a whole number from 0; other orders give NaN. No gradient flows to it.
        x: `float32` or `float64`, of the dtype of `a`; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.math.polygamma(1.0, 1.0).numpy()
    np.float32(1.644934)
    """
    a, x = _core._operands(a, x)
    return raw_ops.polygamma(a, x, name=name)


@dispatched
def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the Hurwitz zeta function, the sum of `(q + k)**-x` over k from 0, elementwise.

    Args:
        x: the exponent: infinite at 1, NaN below. No gradient flows to it.
        q: `float32` or `float64`, of the dtype of `x`; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.math.zeta(2.0, 1.0).numpy()
    np.float32(1.644934)
    """
    x, q = _core._operands(x, q)
    return raw_ops.zeta(x, q, name=name)


@dispatched
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the angle in radians of the point (`x`, `y`), in [-pi, pi], elementwise.

    Args:
        y: ordinates, floats.
        x: abscissas of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `y` with the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.atan2([1.0, 1.0], [1.0, -1.0]).numpy().round(4)
    array([0.7854, 2.3562], dtype=float32)
    """
    result: _core.Tensor = raw_ops.atan2(y, x) if name is None else raw_ops.atan2(y, x, name=name)
    return result


@dispatched
def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> _core.Tensor:
    """Find the next representable value after `x1` in the direction of `x2`, elementwise.

    Args:
        x1: `float32` or `float64`.
        x2: of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x1` with the shape to which the operands broadcast: `x2` where the two are
        equal, NaN where either is.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> import penstock as tf
    >>> tf.math.nextafter(1.0, 2.0).numpy() - 1
    np.float32(1.1920929e-07)
    """
    x1, x2 = _core._operands(x1, x2)
    return raw_ops.nextafter(x1, x2, name=name)


@dispatched
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `1 / x`, and 0 where `x` is 0, elementwise.

    Args:
        x: a floating-point or complex tensor.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for another dtype.

    >>> import penstock as tf
    >>> tf.math.reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    x = _core._to_tensor(x)
    return raw_ops.divide_no_nan(raw_ops.ones_like(x), x, name=name)


@dispatched
def log_sigmoid(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `log(sigmoid(x))` elementwise, as `-softplus(-x)`, which does not overflow.

    Args:
        x: a floating-point tensor.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for another dtype.

    >>> import penstock as tf
    >>> tf.math.log_sigmoid([0.0, -100.0]).numpy()
    array([  -0.6931472, -100.       ], dtype=float32)
    """
    return raw_ops.neg(raw_ops.softplus(-_core._to_tensor(x)), name=name)


@scoped
def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Evaluate a polynomial by Horner's rule.

    Args:
        coeffs: the coefficients, of the highest power first.
        x: where to evaluate.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `x`, of the shape to which the coefficients and `x` broadcast.

    Raises:
        ValueError: where `coeffs` is no list.

    >>> import penstock as tf
    >>> tf.math.polyval([2.0, 0.0, 1.0], 3.0).numpy()
    np.float32(19.0)
    """
    if not isinstance(coeffs, list):
        raise InvalidArgumentError(f"argument 'coeffs' must be a list, got {type(coeffs).__name__}")
    x = _core._to_tensor(x)
    if not coeffs:
        return raw_ops.zeros_like(x)
    total = _core._to_tensor_hinted(coeffs[0], x.dtype)
    for c in coeffs[1:]:
        total = total * x + _core._to_tensor_hinted(c, x.dtype)
    return total
