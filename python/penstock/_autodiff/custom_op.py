"""Operators written in Python: a kernel, types of its results, a gradient, a form for many examples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from penstock import _core, nest
from penstock._autodiff.custom_gradient import custom_gradient
from penstock._runtime.host_calls import HostFunction
from penstock._runtime.scope import name_scope
from penstock._types.annotations import signature_of
from penstock._types.specs import TensorSpec

if TYPE_CHECKING:
    from penstock._types.aliases import Nested, SpecLike

__all__ = ["CustomOp", "custom_op"]


@overload
def custom_op(
    kernel: Callable[..., Any],
    Tout: Nested[SpecLike] | None = None,
    *,
    name: str | None = None,
    stateful: bool = False,
) -> CustomOp: ...
@overload
def custom_op(
    kernel: None = None,
    Tout: Nested[SpecLike] | None = None,
    *,
    name: str | None = None,
    stateful: bool = False,
) -> Callable[[Callable[..., Any]], CustomOp]: ...
def custom_op(
    kernel: Callable[..., Any] | None = None,
    Tout: Nested[SpecLike] | None = None,
    *,
    name: str | None = None,
    stateful: bool = False,
) -> Any:
    """Make an operator of a Python function of NumPy arrays.

    The operator runs at once on eager tensors, and is one operation of the graph in a traced function. What
    else it can do is added by decorators: `shape`, `gradient` and `vmap` of what this returns.

    Args:
        kernel: takes a read-only array for each argument, and gives an array, or a list of them.
        Tout: the dtype or `TensorSpec` of the result, or a list of them; may be left out where `shape` says
            what it is.
        name: what the operator is called, in graphs and errors; by default as the kernel.
        stateful: whether the kernel does more than compute its results. If not, it runs only where a result
            is used, and calls with the same arguments may be merged.

    Returns:
        The operator, a `CustomOp`; without a kernel a decorator.

    Raises:
        TypeError: for a kernel that cannot be called.
        InvalidArgumentError: when called, where the kernel gives another number of results, or other dtypes
            or shapes, than are declared.

    >>> import numpy as np
    >>> import penstock as tf
    >>> @tf.custom_op
    ... def cube(x):
    ...     return x**3
    >>> @cube.shape
    ... def _(x):
    ...     return x  # the result is as the argument
    >>> @cube.gradient
    ... def _(inputs, outputs, dy):
    ...     return 3.0 * inputs[0] ** 2 * dy
    >>> x = tf.constant([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.function(cube)(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (array([1., 8.], dtype=float32), array([ 3., 12.], dtype=float32))
    """
    if kernel is None:
        return lambda found: CustomOp(found, Tout, name, stateful)
    return CustomOp(kernel, Tout, name, stateful)


class CustomOp:
    """An operator written in Python: what `tf.custom_op` returns.

    Attributes:
        name: what it is called.
    """

    def __init__(self, kernel: Callable[..., Any], Tout: Any, name: str | None, stateful: bool) -> None:
        if not callable(kernel):
            raise TypeError(f"argument 'kernel' must be callable, got {kernel!r}")
        self._kernel, self._declared, self._stateful = kernel, Tout, stateful
        self._shape: Callable[..., Any] | None = None
        self._gradient: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._with_gradient = custom_gradient(self._and_gradient)
        # No `__wrapped__`: a traced function of the operator would give it the kernel's defaults, as tensors.
        self.__doc__ = getattr(kernel, "__doc__", None)
        own = str(getattr(kernel, "__name__", type(kernel).__name__))
        self.name: str = name or own.replace("<lambda>", "lambda")
        self.__name__ = self.name

    def shape(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Say what the results are, by what the arguments are.

        Args:
            function: takes a `TensorSpec` for each argument, of which sizes may be unknown, and gives the
                `TensorSpec` or dtype of the result, or a list of them.

        Returns:
            The function.

        >>> import penstock as tf
        >>> @tf.custom_op
        ... def total(x):
        ...     return x.sum(axis=0)
        >>> @total.shape
        ... def _(x):
        ...     return tf.TensorSpec(x.shape[1:], x.dtype)
        >>> total(tf.ones([2, 3])).shape
        TensorShape([3])
        """
        self._shape = function
        return function

    def gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Say how the results change with the arguments.

        Args:
            function: takes the list of the arguments, the list of the results, and the gradient of each
                result; gives the gradient of each argument, or None where there is none. It is made of
                operations on tensors, so that it has a gradient in turn.

        Returns:
            The function.

        >>> import penstock as tf
        >>> square = tf.custom_op(lambda x: x * x, tf.float32, name="square")
        >>> @square.gradient
        ... def _(inputs, outputs, dy):
        ...     return 2.0 * inputs[0] * dy
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = square(x)
        >>> tape.gradient(y, x).numpy()
        np.float32(6.0)
        """
        self._gradient = function
        return function

    def vmap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Say how many examples are computed at once, as `tf.vectorized_map` asks for.

        Without it the kernel runs for one example after the other.

        Args:
            function: takes a tuple that says for each argument whether it differs between the examples, then
                the arrays: those that differ have a leading axis. Gives the results, all with that axis.

        Returns:
            The function.

        >>> import penstock as tf
        >>> norm = tf.custom_op(lambda x: (x * x).sum(), tf.TensorSpec([], tf.float32), name="norm")
        >>> @norm.vmap
        ... def _(mapped, x):
        ...     return (x * x).sum(axis=1)
        >>> tf.vectorized_map(norm, tf.ones([2, 3])).numpy()
        array([3., 3.], dtype=float32)
        """
        self._vmap = function
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the operator.

        Args:
            *args: tensors, or what becomes one.
            **kwargs: the same by the names of the kernel's parameters.

        Returns:
            The result, or a list of them, as declared.

        Raises:
            TypeError: where these are not the arguments of the kernel.

        >>> import penstock as tf
        >>> double = tf.custom_op(lambda x: x * 2, tf.int32, name="double")
        >>> int(double(21))
        42
        """
        return self._apply(self._in_order(args, kwargs) if kwargs else args, self.name)

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The arguments by position: up to the last that is given, with defaults for those between."""
        try:
            signature = signature_of(self._kernel)
            given = signature.bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.name}: {error}") from None
        last = max(list(signature.parameters).index(name) for name in given.arguments)
        given.apply_defaults()
        if last >= len(given.args):
            raise TypeError(
                f"{self.name}: a parameter of the kernel is for keywords alone, and kernels are given their "
                "arguments by position"
            )
        return given.args[: last + 1]

    def __repr__(self) -> str:
        return f"<tf.custom_op {self.name}>"

    def _apply(self, args: Sequence[Any], scope: str) -> Any:
        with name_scope(scope):
            tensors = [_core._to_tensor(arg) for arg in args]
            return self._run(tensors) if self._gradient is None else self._with_gradient(*tensors)

    def _host_kernel(self) -> Callable[..., Any]:
        """The kernel of a call."""
        return self._kernel

    def _results(self, tensors: list[Any]) -> Any:
        """What the results are: a nest of dtypes and specifications."""
        if self._shape is None:
            if self._declared is None:
                raise TypeError(
                    f"the custom operator '{self.name}' does not say what its result is: give custom_op the "
                    f"argument 'Tout', or decorate a function of specifications with @{self.name}.shape"
                )
            return self._declared
        found = self._shape(*(TensorSpec(t.shape, t.dtype) for t in tensors))
        if found is None:
            raise TypeError(f"the shape function of the custom operator '{self.name}' returned None")
        return found

    def _run(self, tensors: list[Any]) -> Any:
        declared = self._results(tensors)
        batched = None if self._vmap is None else functools.partial(_many, self._vmap, declared)
        host = HostFunction(self._host_kernel(), declared, as_numpy=True, batched=batched)
        return host.call(tensors, self._stateful)

    def _and_gradient(self, *tensors: Any) -> Any:
        """The results, and the function that gives their gradient, for `custom_gradient`."""
        result, function = self._run(list(tensors)), self._gradient
        outputs = nest.flatten(result)
        assert function is not None

        def gradient(*grads: Any) -> Any:
            found = function(list(tensors), outputs, *grads)
            found = list(found) if isinstance(found, list | tuple) else [found]
            if len(found) != len(tensors):
                raise ValueError(
                    f"the gradient function of the custom operator '{self.name}' returned {len(found)} "
                    f"gradients for {len(tensors)} arguments"
                )
            return found

        return result, gradient


def _many(function: Callable[..., Any], declared: Any, mapped: tuple[bool, ...]) -> Any:
    """The host function for many examples. It holds no operator: graphs hold it."""
    specs = nest.map_structure(_with_leading_axis, declared)
    return HostFunction(function, specs, as_numpy=True).engine(lambda arrays: (mapped, *arrays))


def _with_leading_axis(spec: Any) -> TensorSpec:
    if not isinstance(spec, TensorSpec):
        return TensorSpec(None, spec)
    dims = spec.shape._dims
    return TensorSpec(None if dims is None else [None, *dims], spec.dtype)
