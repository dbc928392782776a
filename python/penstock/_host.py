"""Python functions as operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._spec import TensorSpec
from penstock._tape import GradientTape
from penstock._wrap import results
from penstock.errors import DTypeError, InvalidArgumentError


def py_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Calls a Python function with eager tensors; from a traced function each time that it runs.

    It is differentiable where `func` is: in a traced function the gradient runs `func` once more, under a
    tape. An exception in `func` reaches the caller as it is.

    Args:
        func: takes a tensor for each of `inp` and gives a tensor, or a sequence of them.
        inp: the arguments.
        Tout: the dtype, or `TensorSpec`, of the result; a list of them where there are several; an empty
            list or None where there is none.
        name: ignored.

    Returns:
        The result; a list where `Tout` is one; without a function a decorator, which takes the arguments.

    Raises:
        InvalidArgumentError: where `func` gives another number of results, or other dtypes or shapes.

    >>> import penstock as tf
    >>> tf.py_function(lambda x: x * 2, [tf.constant(21)], tf.int32).numpy()
    np.int32(42)
    """
    if func is None:
        return lambda f: lambda *args: py_function(f, args, Tout)
    return _HostFunction(func, Tout, as_numpy=False).call(inp, stateful=True)


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls a Python function with NumPy arrays; from a traced function each time that it runs.

    It has no gradient. An exception in `func` reaches the caller as it is. The arrays are read-only views.

    Args:
        func: takes an array for each of `inp` and gives an array, or a sequence of them.
        inp: the arguments.
        Tout: the dtype, or `TensorSpec`, of the result; a list of them where there are several; an empty
            list or None where there is none.
        stateful: whether the function does more than compute its result.
        name: ignored.

    Raises:
        InvalidArgumentError: where `func` gives another number of results, or other dtypes or shapes.

    >>> import numpy as np, penstock as tf
    >>> tf.numpy_function(np.sinh, [tf.constant(0.0)], tf.float32).numpy()
    np.float32(0.0)
    """
    if func is None:
        return lambda f: lambda *args: numpy_function(f, args, Tout, stateful)
    return _HostFunction(func, Tout, as_numpy=True).call(inp, stateful)


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """`numpy_function` by its old name."""
    return numpy_function(func, inp, Tout, stateful)


class _HostFunction:
    """A Python function and the types of its results."""

    def __init__(self, func: Callable[..., Any], Tout: Any, as_numpy: bool) -> None:
        if not callable(func):
            raise TypeError(f"argument 'func' must be callable, got {func!r}")
        self.func = func
        self.name = getattr(func, "__name__", type(func).__name__)
        self.as_numpy = as_numpy
        self.structure = Tout
        declared = [] if Tout is None else nest.flatten(Tout) if nest.is_nested(Tout) else [Tout]
        self.specs = [t if hasattr(t, "shape") else TensorSpec(None, t) for t in declared]

    def call(self, inp: Any, stateful: bool) -> Any:
        args = [] if inp is None else inp
        if not isinstance(args, list | tuple):
            args = [args]
        inputs = [_core._convert(x) for x in args]
        if not _core._is_tracing():
            outputs = self._run(*inputs)
        else:
            found = raw_ops.host_call(inputs, func=self._host("_run"), outs=self.specs, stateful=stateful)
            outputs = results(found)
            if not self.as_numpy:
                outputs = self._differentiable(inputs, outputs)
        if self.structure is None:
            return None
        return (
            nest.pack_sequence_as(self.structure, outputs) if nest.is_nested(self.structure) else outputs[0]
        )

    def _host(self, method: str) -> Callable[..., Any]:
        bound = getattr(self, method)

        def run(*args: Any) -> Any:
            return bound(*args)

        run.__name__ = self.name
        return run

    def _run(self, *args: Any) -> list[Any]:
        """The results of one call as tensors of the declared types."""
        result = self.func(*(a.numpy() for a in args)) if self.as_numpy else self.func(*args)
        return self._results(result)

    def _results(self, result: Any) -> list[Any]:
        expected = len(self.specs)
        values = [] if expected == 0 else self._parts(result)
        if len(values) != expected:
            raise InvalidArgumentError(
                f"{self.name} returned {len(values)} values, argument 'Tout' has {expected}"
            )
        return [self._result(i, v, spec) for i, (v, spec) in enumerate(zip(values, self.specs, strict=True))]

    def _parts(self, result: Any) -> list[Any]:
        if not nest.is_nested(self.structure):
            return [result]
        if isinstance(self.structure, list | tuple) and not any(map(nest.is_nested, self.structure)):
            return list(result) if isinstance(result, list | tuple) else [result]
        return nest.flatten(result)

    def _result(self, index: int, value: Any, spec: Any) -> Any:
        if value is None:
            raise InvalidArgumentError(
                f"{self.name} returned None for result {index}, argument 'Tout' has {spec.dtype.name}"
            )
        if isinstance(value, _core._Variable):
            value = value.read_value()
        if isinstance(value, _core.Tensor):
            if value.dtype != spec.dtype:
                raise DTypeError(
                    f"{self.name} returned {value.dtype.name} for result {index}, "
                    f"argument 'Tout' has {spec.dtype.name}"
                )
            tensor = value
        else:
            try:
                tensor = _core._convert(value, spec.dtype)
            except (TypeError, ValueError) as error:
                raise DTypeError(f"{self.name}: result {index} is no {spec.dtype.name}: {error}") from error
        if not tensor.shape.is_compatible_with(spec.shape):
            raise InvalidArgumentError(
                f"{self.name} returned shape {tensor.shape} for result {index}, "
                f"argument 'Tout' has {spec.shape}"
            )
        return tensor

    # --- the gradient ---

    def _differentiable(self, inputs: list[Any], outputs: list[Any]) -> list[Any]:
        """The results of a call, with the gradient that running the function under a tape gives."""
        smooth = [i for i, x in enumerate(inputs) if _is_smooth(x)]
        seeded = [i for i, y in enumerate(outputs) if _is_smooth(y)]
        if not smooth or not seeded:
            return outputs

        def backward(grads: Sequence[Any]) -> list[Any]:
            seeds = [raw_ops.zeros_like(outputs[i]) if grads[i] is None else grads[i] for i in seeded]

            def run(*args: Any) -> list[Any]:
                return self._gradient(args[: len(inputs)], args[len(inputs) :], smooth, seeded)

            run.__name__ = f"{self.name}_gradient"
            specs = [TensorSpec(inputs[i].shape, inputs[i].dtype) for i in smooth]
            found = raw_ops.host_call([*inputs, *seeds], func=run, outs=specs)
            gradients = results(found)
            by_place = dict(zip(smooth, gradients, strict=True))
            return [by_place.get(i) for i in range(len(inputs))]

        return _core._with_gradient(outputs, inputs, backward)

    def _gradient(
        self, args: Sequence[Any], seeds: Sequence[Any], smooth: list[int], seeded: list[int]
    ) -> list[Any]:
        sources = [args[i] for i in smooth]
        with GradientTape() as tape:
            tape.watch(sources)
            results = self._run(*args)
        found: list[Any] = tape.gradient([results[i] for i in seeded], sources, list(seeds), "zero")
        return found


def _is_smooth(tensor: _core.Tensor) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex
