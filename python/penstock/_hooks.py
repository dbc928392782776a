"""What the engine needs of the Python layer, handed over once at import."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from penstock import _core, errors
from penstock._function import function as _function, prune, signature
from penstock._runtime import conversion, graph, libraries, scope
from penstock._runtime.print import array_of, get_logger, value_format, value_text
from penstock._types import argument_kinds
from penstock._types.shape import ArrayShape, TensorShape
from penstock._types.specs import TensorSpec, VariableSpec
from penstock._values import variable

__all__ = ["install"]


_OPAQUE = (_core.variant, _core.resource)


def tensor_repr(tensor: _core.Tensor) -> str:
    """`repr()` of a tensor."""
    if tensor._is_symbolic:
        return f"<tf.Tensor '{tensor.name}' shape={tensor.shape} dtype={tensor.dtype.name}>"
    if tensor.dtype in _OPAQUE:
        return f"<tf.Tensor: shape=(), dtype={tensor.dtype.name}, value={_opaque_text(tensor)}>"
    value = value_text(array_of(tensor))
    return f"<tf.Tensor: shape={tensor.shape}, dtype={tensor.dtype.name}, numpy={value}{_weakness(tensor)}>"


def _weakness(tensor: _core.Tensor) -> str:
    """What marks a tensor whose dtype gives way to others: `tf.experimental.numpy` has them."""
    return ", weak=True" if getattr(tensor, "_weak", False) else ""


def _opaque_text(tensor: _core.Tensor) -> str:
    """What a tensor holds that is no array."""
    if tensor.dtype == _core.resource:
        return f"<table of {_core._ops()['table_size'](tensor).numpy()} keys>"
    return f"<list of {_core._ops()['list_length'](tensor).numpy()} tensors>"


def tensor_str(tensor: _core.Tensor) -> str:
    """`str()` of a tensor."""
    if tensor._is_symbolic:
        return f'Tensor("{tensor.name}", shape={tensor.shape}, dtype={tensor.dtype.name})'
    value = _opaque_text(tensor) if tensor.dtype in _OPAQUE else value_text(array_of(tensor), str)
    return f"tf.Tensor({value}, shape={tensor.shape}, dtype={tensor.dtype.name}{_weakness(tensor)})"


def tensor_format(tensor: _core.Tensor, spec: str) -> str:
    """`format()` of a tensor: its value alone, where it has one."""
    if tensor._is_symbolic or tensor.dtype in _OPAQUE:
        return format(tensor_str(tensor), spec)
    return value_format(array_of(tensor), spec)


def print_to(stream: str, text: str) -> None:
    """Writes a text that a graph prints."""
    if stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is slow to import
            file.write(text)
    elif stream.startswith("log:"):
        import logging  # start-up does without it

        level = {"log:info": logging.INFO, "log:warning": logging.WARNING, "log:error": logging.ERROR}
        get_logger().log(level.get(stream, logging.INFO), text.removesuffix("\n"))
    else:
        out = sys.stdout if stream == "stdout" else sys.stderr
        out.write(text)
        out.flush()


def _array_namespace(api_version: str | None) -> Any:
    from penstock import array_api  # start-up does without it

    if api_version is not None and api_version not in array_api.VERSIONS:
        raise ValueError(
            f"argument 'api_version' must be one of {', '.join(array_api.VERSIONS)}, got {api_version!r}"
        )
    return array_api


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is called first."""

    def call(*args: Any) -> Any:
        return attrgetter(name)(importlib.import_module(f"penstock.{module}"))(*args)

    return call


def position_of_thread(ident: int) -> Any:
    """Where a thread is in its program; None where it has ended."""
    frame = sys._current_frames().get(ident)
    return None if frame is None else (id(frame), frame.f_lasti)


def install() -> None:
    """Hands the table over."""
    atexit.register(_core._interpreter_ends)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_core._forked)
    _core._set_error_classes(errors._BY_CLASS)
    setattr(_core.ConcreteFunction, "_repr_html_", _later("_function.picture", "in_notebook"))  # noqa: B010 -- it is declared as a method
    graph_of: Any = _core.ConcreteFunction.graph
    _core.ConcreteFunction.graph = property(lambda self: graph.TracedGraph(self, graph_of.__get__(self)))  # type: ignore[method-assign, assignment]
    _core.ConcreteFunction.prune = prune.Parts.prune  # type: ignore[assignment, method-assign]
    for name, function in (("__repr__", "graph_repr"), ("_repr_html_", "graph_in_notebook")):
        setattr(_core._Graph, name, _later("_function.describe", function))
    _core._set_layer(
        {
            "ArrayShape": ArrayShape,
            "OperatorNotAllowedInGraphError": errors.OperatorNotAllowedInGraphError,
            "TensorShape": TensorShape,
            "TensorSpec": TensorSpec,
            "VariableSpec": VariableSpec,
            "argument_kind": argument_kinds.argument_kind,
            "components": argument_kinds.components,
            "concrete_function_type": _later("_function.function_type", "FunctionType.of_concrete"),
            "concrete_inference_fn": _later("_function.atomic", "AtomicFunction"),
            "array_matmul": _later("array_api", "matmul"),
            "array_namespace": _array_namespace,
            "concrete_line": _later("_function.describe", "signature_line"),
            "concrete_page": _later("_function.picture", "page"),
            "concrete_repr": _later("_function.describe", "concrete_repr"),
            "concrete_str": _later("_function.describe", "concrete_str"),
            "concrete_text": _later("_function.describe", "describe"),
            "conform_to_signature": signature.conform_to_signature,
            "constant": conversion.constant,
            "filtered_traceback": _later("autograph._traceback", "filtered"),
            "eval_tensor": _later("_runtime.graph", "eval_tensor"),
            "graph_operations": _later("_runtime.graph", "graph_operations"),
            "in_graph": _later("_runtime.graph", "in_graph"),
            "operation_by_name": _later("_runtime.graph", "operation_by_name"),
            "output_parts": _later("_function.describe", "output_parts"),
            "tensor_by_name": _later("_runtime.graph", "tensor_by_name"),
            "graph_def": _later("_runtime.graph", "graph_def"),
            "check_name": scope.check_name,
            "captured_names": _later("_function.captured_names", "captured_names"),
            "guarded_places": _later("_function.guards", "places"),
            "held_weakly": argument_kinds.held_weakly,
            "literal_text": argument_kinds.literal_text,
            "made_variables": _function.made_variables,
            "index_by_arrays": _later("_ops.advanced_indexing", "get"),
            "library_folders": libraries.FOLDERS,
            "placeholder_value": argument_kinds.placeholder_value,
            "position_of_thread": position_of_thread,
            "print_to": print_to,
            "read_file": _later("_runtime.filesystems", "read_file"),
            "rebuilt_mapping": argument_kinds.rebuilt_mapping,
            "released": argument_kinds.released,
            "specified_value": argument_kinds.specified_value,
            "stand_in": variable.stand_in,
            "tensor_format": tensor_format,
            "tensor_html": _later("_runtime.pages", "of_tensor"),
            "tensor_repr": tensor_repr,
            "tensor_str": tensor_str,
            "tracing_context": argument_kinds.tracing_context,
            "variables_of": variable.of_ids,
            "warn_of_retracing": _later("_function.explain", "warn_of_retracing"),
            "with_fields": argument_kinds.with_fields,
            "to_device": _later("array_api._arrays", "to_device"),
            "write_file": _later("_runtime.filesystems", "write_file"),
        }
    )
