"""Functions with gradients of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from penstock import _core, nest, raw_ops
from penstock._autodiff.tape import GradientTape, is_differentiable
from penstock._runtime.host_calls import py_function
from penstock._runtime.print import check
from penstock._types.annotations import signature_of
from penstock._types.specs import TensorSpec
from penstock._values import variable

__all__ = ["custom_gradient", "grad_pass_through", "recompute_grad"]

_P = ParamSpec("_P")
_Rest = ParamSpec("_Rest")
_R = TypeVar("_R")


@overload
def custom_gradient(f: Callable[_P, tuple[_R, Callable[..., Any]]]) -> _CustomGradient[_P, _R]: ...
@overload
def custom_gradient(
    f: None = None,
) -> Callable[[Callable[_P, tuple[_R, Callable[..., Any]]]], _CustomGradient[_P, _R]]: ...
def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Give a function a gradient of its own.

    Args:
        f: called with the arguments as tensors; returns `(outputs, grad)`. `grad(*output_gradients)` returns
            the gradient of each tensor among the positional arguments. Where `f` reads trainable variables
            that are no arguments, it is called with `variables=[...]` as well and returns a pair: the
            gradients of the arguments and a list of those of the variables.

    Returns:
        A function that returns the outputs, or a method where `f` is one: `grad` knows nothing of `self`.
        Keyword arguments are handed on, and have no gradient.

    Raises:
        TypeError: when called, where `f` returns no such pair, or reads variables and `grad` has no argument
            `variables`.
        ValueError: when differentiated, where `grad` returns another number of gradients.

    In a traced function `grad` is called where a tape in it asks for the gradient, and once at the end of the
    function, or of the branch or loop, whose results depend on the outputs. What it raises comes where the
    gradient is computed. It may read tensors that are made before the call.

    >>> import penstock as tf
    >>> @tf.custom_gradient
    ... def clipped(x):
    ...     return x, lambda dy: tf.clip_by_value(dy, -1.0, 1.0)
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = 10.0 * clipped(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(1.0)
    """
    if f is None:
        return custom_gradient
    if not callable(f):
        raise TypeError(f"argument 'f' must be callable, got {f!r}")
    return _CustomGradient(f)


class _CustomGradient(Generic[_P, _R]):
    """A function with a gradient of its own."""

    def __init__(self, f: Callable[_P, tuple[_R, Callable[..., Any]]]) -> None:
        functools.update_wrapper(self, f)
        self._function = f

    @overload
    def __get__(self, instance: None, owner: Any = None) -> _CustomGradient[_P, _R]: ...
    @overload
    def __get__(
        self: _CustomGradient[Concatenate[Any, _Rest], _R], instance: object, owner: Any = None
    ) -> _CustomGradient[_Rest, _R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        function: Any = self._function
        return _CustomGradient(function.__get__(instance, owner))

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        f: Any = self._function
        inputs = [
            a if isinstance(a, _core.Tensor | _core._Variable) else _core._to_tensor(a)
            for a in nest.flatten(args)
        ]
        with _core._NoTapes(), _core._Tape._observer() as reads:
            result, grad = _pair(f, f(*nest.pack_sequence_as(args, inputs), **kwargs))
        variables = [
            v
            for v in map(variable.find, reads._variables())
            if v is not None and not any(v is i for i in inputs)
        ]
        if variables and not _takes_variables(grad):
            raise TypeError(
                f"{_name(f)} uses the variables {[v.name for v in variables]}, so that its gradient function "
                "must accept a keyword argument 'variables'"
            )
        outputs = [raw_ops.identity(t) for t in nest.flatten(result)]

        def backward(grads: Sequence[Any]) -> list[Any]:
            filled = [raw_ops.zeros_like(o) if g is None else g for g, o in zip(grads, outputs, strict=True)]
            if variables:
                of_inputs, of_variables = grad(*filled, variables=variables)
            else:
                of_inputs, of_variables = grad(*filled), []
            found = nest.flatten(of_inputs) if inputs else []
            given = list(nest.flatten(of_variables))
            if len(found) != len(inputs) or len(given) != len(variables):
                raise ValueError(
                    f"the gradient function of {_name(f)} returned {len(found)} values for {len(inputs)} "
                    f"arguments and {len(given)} for {len(variables)} variables"
                )
            return found + given

        sources = [*inputs, *variables]
        if not sources:
            outputs = [raw_ops.stop_gradient(t) for t in outputs]
        elif _core._is_tracing():
            outputs = _core._with_gradient(outputs, sources, when_asked_for(backward, sources, f))
        else:
            _core._record_custom(sources, outputs, backward)
        packed: _R = nest.pack_sequence_as(result, outputs)
        return packed


# A gradient function that uses the function that it belongs to has one of its own, and so on without end:
# in a trace there are this many.
_HIGHEST_ORDER = 4
# Of functions whose gradients are being traced, of which order these are.
_orders: ContextVar[Mapping[Any, int]] = ContextVar("penstock_gradient_orders", default=MappingProxyType({}))


def when_asked_for(
    backward: Callable[[Sequence[Any]], list[Any]], sources: Sequence[Any], function: Any
) -> Callable[..., list[Any]]:
    """What traces the gradients of `sources`, of which nobody knows yet whether they will be computed.

    Where that fails, or is told that it would, the gradients are operations that fail in the same way when
    they are computed. So are gradients of a high order of a `function` whose gradient uses the function.
    """
    # A function that is defined anew for each call is the same code; that of a method differs by its object.
    key = getattr(function, "__code__", function), id(getattr(function, "__self__", None))
    outer = _orders.get()
    order = outer.get(key, 0) + 1

    def traced(grads: Sequence[Any], failure: Exception | None = None) -> list[Any]:
        wanted = [is_differentiable(s.dtype) for s in sources]
        if failure is None and order > _HIGHEST_ORDER:
            # No Python code: graphs that have it cannot be saved.
            name = _name(function)
            message = (
                f"the gradient function of {name} uses {name} itself: in a traced function it has "
                f"derivatives up to order {_HIGHEST_ORDER}"
            )
            check(False, [], message, None)
            return [raw_ops.zeros_like(s) if w else None for s, w in zip(sources, wanted, strict=True)]
        # It may be traced when the trace that it belongs to has ended.
        token = _orders.set({**outer, key: order})
        try:
            if failure is None:
                return backward(grads)
        except Exception as error:
            failure = error
        finally:
            _orders.reset(token)

        def fail(*_: Any) -> None:
            raise failure

        given = [g for g in grads if g is not None]
        specs = [TensorSpec(s.shape, s.dtype) for s, w in zip(sources, wanted, strict=True) if w]
        made = iter(py_function(fail, given, specs))
        return [next(made) if w else None for w in wanted]

    return traced


def _pair(f: Any, returned: Any) -> tuple[Any, Callable[..., Any]]:
    if isinstance(returned, tuple | list) and len(returned) == 2 and callable(returned[1]):
        return returned[0], returned[1]
    raise TypeError(
        f"{_name(f)} must return a pair for custom_gradient: its outputs and a function of their gradients"
    )


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _takes_variables(grad: Callable[..., Any]) -> bool:
    parameters = signature_of(grad).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def grad_pass_through(f: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function that computes what `f` does and whose gradient is that of the identity.

    Args:
        f: takes tensors and gives a tensor of their shape and dtype. Variables that it reads get no gradient.

    Returns:
        A function with the parameters and the result of `f`.

    >>> import penstock as tf
    >>> rounded = tf.grad_pass_through(tf.round)
    >>> x = tf.Variable(1.2)
    >>> with tf.GradientTape() as tape:
    ...     y = rounded(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (np.float32(1.0), np.float32(1.0))
    """

    def call(*args: _P.args, **kwargs: _P.kwargs) -> tuple[_R, Callable[..., Any]]:
        def grad(*grads: Any, variables: Sequence[Any] | None = None) -> Any:
            passed = grads[0] if len(grads) == 1 else list(grads)
            return passed if variables is None else (passed, [None] * len(variables))

        return f(*args, **kwargs), grad

    return custom_gradient(call)


def recompute_grad(f: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function that keeps no intermediate values for its gradient, but computes them again.

    Only the arguments are kept between the run and its gradient. Random numbers that `f` draws from a
    stateful generator are others the second time.

    Args:
        f: takes tensors, or nests of them, and gives such. Tensors among its keyword arguments have gradients
            too.

    Returns:
        A function that computes what `f` does.

    >>> import penstock as tf
    >>> block = tf.recompute_grad(lambda x: tf.sin(tf.exp(x)))
    >>> x = tf.Variable(0.0)
    >>> with tf.GradientTape() as tape:
    ...     y = block(x)
    >>> round(float(tape.gradient(y, x)), 4)
    0.5403
    """

    @functools.wraps(f)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        given = (args, kwargs)
        leaves = nest.flatten(given)
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _core.Tensor | _core._Variable)]

        def run(tensors: Sequence[Any]) -> Any:
            filled = list(leaves)
            for i, tensor in zip(places, tensors, strict=True):
                filled[i] = tensor
            positional, named = nest.pack_sequence_as(given, filled)
            return f(*positional, **named)

        def compute(*tensors: Any) -> Any:
            def grad(*grads: Any, variables: Sequence[Any] | None = None) -> Any:
                # What is computed again must not be merged with what was computed before.
                held = [_core._to_tensor(t) for t in tensors]
                found = raw_ops.barrier(*held, *grads)
                later = list(found) if isinstance(found, tuple) else [found]
                again, seeds = later[: len(held)], later[len(held) :]
                own = list(variables or [])
                with GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch([tensor for tensor in again if is_differentiable(tensor.dtype)])
                    tape.watch(own)
                    outputs = nest.flatten(run(again))
                slopes = tape.gradient(outputs, [*again, *own], output_gradients=seeds)
                return (slopes[: len(again)], slopes[len(again) :]) if own else slopes

            return run(tensors), grad

        outputs: _R = custom_gradient(compute)(*(leaves[i] for i in places))
        return outputs

    return wrapper
