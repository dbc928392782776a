"""Functions as models of ONNX."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core
from penstock._saving.save import _check_flat, _output_names, _trace_of, _traces
from penstock._saving.trackables import is_function
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec

__all__ = ["save", "to_bytes"]


def save(
    function: Callable[..., object] | _core.Program,
    path: str | os.PathLike[str],
    input_signature: Sequence[object] | None = None,
    weights_beside: bool = False,
) -> None:
    """Write a function to a file as a model of ONNX, of operator set 21.

    Its arguments are the inputs, by their names, and its results the outputs: `output_0` and so on, or the
    keys of a dict. Variables become initialisers with the values that they have now. Extents that are not
    known stay open. What the model computes is the function as traced: it holds no gradients, assertions
    are left out, and random numbers are other ones than here.

    Args:
        function: a `tf.function` with an `input_signature` or a single trace, a trace, a model of Keras, a
            `tf.Program`, of which the default signature is written, or with `input_signature` anything that
            is called with tensors.
        path: the file, which is replaced as a whole.
        input_signature: a `TensorSpec` for each argument, for which the function is traced.
        weights_beside: whether weights go to the file `<path>.data`. They do in any case where the model
            would take more than 2 GiB.

    Raises:
        ValueError: for a function whose trace is not determined, and for arguments or results that are no
            tensors with names.
        UnimplementedError: for what has no counterpart in ONNX, such as assignments to variables or
            decompositions of matrices; it names all of it, with the lines where it was written.
        FailedPreconditionError: for a function that calls Python code while it runs, which names the place.

    Example:
        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "line.onnx")
        >>> line = tf.function(lambda x: 2.0 * x + 1.0, input_signature=[tf.TensorSpec([None], name="x")])
        >>> tf.onnx.save(line, path)
        >>> tf.onnx.load(path)(x=[1.0, 2.0])["output_0"].numpy().tolist()
        [3.0, 5.0]
    """
    expect(path, (str, os.PathLike), "path", "a path")
    program, name = _program(function, input_signature)
    program._save_onnx(path, name, weights_beside)


def to_bytes(
    function: Callable[..., object] | _core.Program, input_signature: Sequence[object] | None = None
) -> bytes:
    """Give the bytes of a model of ONNX, as `save` writes it.

    Args:
        function: as for `save`.
        input_signature: as for `save`.

    Returns:
        The bytes.

    Raises:
        ValueError: as `save`.
        UnimplementedError: as `save`.
        ResourceExhaustedError: where the weights take more than 2 GiB, which a single file does not hold.

    Example:
        >>> import penstock as tf
        >>> data = tf.onnx.to_bytes(tf.nn.relu, [tf.TensorSpec([None, 2])])
        >>> tf.onnx.load(data)([[-1.0, 2.0]])["output_0"].numpy().tolist()
        [[0.0, 2.0]]
    """
    program, name = _program(function, input_signature)
    return program._to_onnx(name)


def _program(function: Any, input_signature: Sequence[object] | None) -> tuple[_core.Program, str | int]:
    """A program and the name of the function in it that is meant."""
    if isinstance(function, _core.Program):
        if input_signature is not None:
            raise ValueError(
                "argument 'input_signature' does not go with a program, whose functions are traced"
            )
        names = function.signatures or function.functions
        if len(names) != 1 and "serving_default" not in names:
            raise ValueError(
                f"argument 'function': the program has the functions {', '.join(names)}; name one by "
                "'serving_default', or write a trace"
            )
        return function, names[0] if len(names) == 1 else "serving_default"
    with _core._Outside():
        trace = _trace(function, input_signature)
        name = str(getattr(function, "__name__", None) or getattr(function, "name", None) or "function")
        _check_flat(name, trace, function)
        builder = _core._ProgramBuilder()
        builder.function(name, trace, _output_names(trace), {})
        return builder.finish(), 0


def _trace(function: Any, input_signature: Sequence[object] | None) -> Any:
    """The trace of a function that is meant."""
    if input_signature is not None:
        if not is_function(function) or isinstance(function, _core.ConcreteFunction):
            # what is traced already is written without the tracer
            from penstock._function.function import function as traced

            if not callable(function):
                raise TypeError(f"argument 'function' must be callable, got {function!r}")
            # AutoGraph converts functions; an object that is called has its own.
            given = function
            function = traced(given if inspect.isroutine(given) else lambda *arguments: given(*arguments))
        return function.get_concrete_function(*input_signature)
    if is_function(function):
        trace = _trace_of(function, True)
        if trace is None:
            raise ValueError(
                f"argument 'function' must have an input_signature or a single trace; of {function!r} there "
                f"are {len(_traces(function))}: give argument 'input_signature'"
            )
        return trace
    specs = _inputs_of(function)
    if specs is None:
        raise ValueError(f"argument 'input_signature' must be given for {function!r}")
    return _trace(function, specs)


def _inputs_of(model: Any) -> list[Any] | None:
    """Specifications of the inputs of a model of Keras; `None` for what is none, or has not said them yet."""
    inputs = getattr(model, "inputs", None)
    if not isinstance(inputs, list) or not inputs or not callable(model):
        return None
    return [TensorSpec(each.shape, each.dtype, str(each.name).split(":")[0]) for each in inputs]
