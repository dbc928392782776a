"""What the engine needs of the Python layer, handed over once at import."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from penstock import _conversion, _core, _function, _graph, errors
from penstock._shape import TensorShape
from penstock._spec import TensorSpec

__all__ = ["install"]


def tensor_repr(tensor: _core.Tensor) -> str:
    """`repr()` of a tensor."""
    if tensor._is_symbolic:
        return f"<tf.Tensor '{tensor.name}' shape={tensor.shape} dtype={tensor.dtype.name}>"
    return f"<tf.Tensor: shape={tensor.shape}, dtype={tensor.dtype.name}, numpy={tensor.numpy()!r}>"


def tensor_str(tensor: _core.Tensor) -> str:
    """`str()` of a tensor."""
    if tensor._is_symbolic:
        return f'Tensor("{tensor.name}", shape={tensor.shape}, dtype={tensor.dtype.name})'
    return f"tf.Tensor({tensor.numpy()}, shape={tensor.shape}, dtype={tensor.dtype.name})"


def print_to(stream: str, text: str) -> None:
    """Writes a text that a graph prints."""
    if stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is slow to import
            file.write(text)
    elif stream.startswith("log:"):
        import logging

        level = {"log:info": logging.INFO, "log:warning": logging.WARNING, "log:error": logging.ERROR}
        logging.getLogger("penstock").log(level.get(stream, logging.INFO), text.removesuffix("\n"))
    else:
        out = sys.stdout if stream == "stdout" else sys.stderr
        out.write(text)
        out.flush()


def _boolean_mask(tensor: _core.Tensor, mask: _core.Tensor) -> Any:
    import penstock

    return penstock.boolean_mask(tensor, mask)


def _gather(tensor: _core.Tensor, indices: _core.Tensor) -> Any:
    import penstock

    return penstock.gather(tensor, indices)


def install() -> None:
    """Hands the table over."""
    atexit.register(_core._interpreter_ends)
    _core._set_error_classes(errors._BY_CLASS)
    _core._set_layer(
        {
            "OperatorNotAllowedInGraphError": errors.OperatorNotAllowedInGraphError,
            "Specified": _function._Specified,
            "TensorShape": TensorShape,
            "TensorSpec": TensorSpec,
            "boolean_mask": _boolean_mask,
            "concrete_repr": lambda trace: (
                f"<ConcreteFunction {_function.signature_line(trace)} at {id(trace):#x}>"
            ),
            "concrete_str": lambda trace: "ConcreteFunction " + _function.describe(trace),
            "conform_to_signature": _function.conform_to_signature,
            "constant": _conversion.constant,
            "gather": _gather,
            "graph_def": _graph.graph_def,
            "made_variables": _function.made_variables,
            "package_directory": __file__.removesuffix("_layer.py"),
            "print_to": print_to,
            "tensor_repr": tensor_repr,
            "tensor_str": tensor_str,
            "tracing_context": None,
        }
    )
