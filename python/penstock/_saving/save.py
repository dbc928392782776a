"""`tf.saved_model.save`: objects with their functions and variables into a directory."""

from __future__ import annotations

import inspect
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock import _core
from penstock._saving.assets import Asset, SaveOptions
from penstock._saving.structures import Unsaved, class_name, encode
from penstock._saving.trackables import children, function_key, functions_of, is_function, is_trackable
from penstock._types.annotations import signature_of
from penstock._types.argument_names import expect, path_of
from penstock._types.specs import TensorSpec
from penstock._values.module import Module
from penstock.lookup._tables import Table

__all__ = ["ASSETS", "DEFAULT_SIGNATURE", "FILE", "OBJECTS", "TENSORFLOW_FILE", "save"]

# The file of a directory, the directory of files beside it, and the text of the file that describes objects.
FILE, ASSETS, OBJECTS = "saved_model.penstock", "assets", "objects"
# The file of a directory that TensorFlow reads.
TENSORFLOW_FILE = "saved_model.pb"
DEFAULT_SIGNATURE = "serving_default"


def save(
    obj: object,
    export_dir: str | os.PathLike[str],
    signatures: Callable[..., object] | Mapping[str, Callable[..., object]] | None = None,
    options: SaveOptions | None = None,
) -> None:
    """Save an object with all that it owns: variables, traced functions, and other objects, lists and dicts.

    Each trace of each function is saved, none is added; a function with an `input_signature` that was not
    called is traced now. What `tf.saved_model.load` gives needs none of the Python code. The directory holds
    one file, which the Rust crate loads too, and copies of assets. Saving again replaces it as a whole.

    Args:
        obj: a `tf.Module`, or another object that owns variables or functions.
        export_dir: the directory, which is made where it does not exist.
        signatures: functions that programs outside call by name, with named tensors in and out: a traced
            function with an `input_signature` or a single trace, a trace, or a dict of these. By default
            `"serving_default"`, where `obj` is a model of Keras that has been called, or where a single
            one of its methods has an `input_signature` and results.
        options: how it is saved.

    Raises:
        ValueError: for an object that owns nothing, or a function that can be no signature.
        TypeError: for a function with a trace for a Python object that no file can hold.
        FailedPreconditionError: for a function that calls Python code while it runs, which names the place.
        UnimplementedError: in TensorFlow's format, for operators that TensorFlow does not have; it names all.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> class Scale(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.by = tf.Variable(3.0)
    ...     @tf.function(input_signature=[tf.TensorSpec([None])])
    ...     def __call__(self, x):
    ...         return self.by * x
    >>> path = os.path.join(tempfile.mkdtemp(), "scale")
    >>> tf.saved_model.save(Scale(), path)
    >>> tf.saved_model.load(path)([1.0, 2.0]).numpy()
    array([3., 6.], dtype=float32)
    """
    options = SaveOptions() if options is None else expect(options, SaveOptions, "options", "a SaveOptions")
    if not isinstance(obj, Module) and not hasattr(type(obj), "_trackable_children"):
        raise ValueError(
            "argument 'obj' must be a tf.Module or another object that owns variables and functions, got "
            f"{obj!r}; put functions and containers into attributes of a tf.Module"
        )
    directory = Path(path_of(export_dir, "export_dir"))
    with _core._Outside():
        _trace_signatures(obj)
        given = _signatures(obj, signatures)
        writer = _Writer()
        program = writer.program(obj, given)
    directory.mkdir(parents=True, exist_ok=True)
    if writer.assets:
        (directory / ASSETS).mkdir(exist_ok=True)
    for name, source in writer.assets.items():
        copy = directory / name
        if not (copy.exists() and copy.samefile(source)):
            shutil.copyfile(source, copy)
    if options.format == "tensorflow":
        program._save_tensorflow(directory)
        (directory / FILE).unlink(missing_ok=True)
        return
    locations = (
        "full" if options.save_debug_info else "none" if options.experimental_debug_stripper else "names"
    )
    program.save(directory / FILE, locations)


def _functions(obj: Any, seen: set[int]) -> Iterator[Any]:
    """The traced functions of an object and of all that it owns."""
    if id(obj) in seen:
        return
    seen.add(id(obj))
    for _, value in _owned(obj):
        if is_function(value):
            yield value
        else:
            yield from _functions(value, seen)


def _owned(obj: Any) -> Iterator[tuple[str, Any]]:
    yield from children(obj)
    if not isinstance(obj, list | tuple | Mapping):
        yield from functions_of(obj)


def _trace_signatures(obj: Any) -> None:
    """Traces the functions that have an `input_signature` and were not called; that may make variables."""
    for function in list(_functions(obj, set())):
        if isinstance(function, _core.ConcreteFunction) or function.input_signature is None:
            continue
        if not _traces(function):
            function.get_concrete_function()


def _traces(function: Any) -> list[Any]:
    """The traces of a function; those of its object, of a method."""
    if isinstance(function, _core.ConcreteFunction):
        return [function]
    if isinstance(function, _core._BoundFunction):
        owner = function.__self__
        return [
            trace
            for trace in function.__func__._traces()
            if trace._is_method() and trace.structured_input_signature[0][0] is owner
        ]
    return list(function._traces())


def _place(function: Any) -> str:
    """Where the Python code of a function is, for messages."""
    code = getattr(inspect.unwrap(getattr(function, "python_function", function)), "__code__", None)
    return (
        ""
        if code is None
        else f'\n  File "{code.co_filename}", line {code.co_firstlineno}, in {code.co_name}'
    )


# --- signatures ---


def _signatures(obj: Any, given: Any) -> dict[str, Any]:
    """A trace for each name that programs outside call."""
    if given is None:
        kept = vars(obj).get("signatures") if hasattr(obj, "__dict__") else None
        if isinstance(kept, Mapping) and all(isinstance(f, _core.ConcreteFunction) for f in kept.values()):
            return dict(kept)
        default = getattr(obj, "_default_save_signature", None)
        functions = [function for _, function in _owned(obj) if is_function(function)]
        found = [_trace_of(f, False) for f in (functions if default is None else [default])]
        found = [trace for trace in found if trace is not None and _is_flat(trace) and trace.outputs]
        return {DEFAULT_SIGNATURE: found[0]} if len(found) == 1 else {}
    if not isinstance(given, Mapping):
        given = {DEFAULT_SIGNATURE: given}
    out = {}
    for name, function in given.items():
        expect(name, str, "signatures", "a dict with texts as keys")
        if not is_function(function):
            raise ValueError(
                f"argument 'signatures': {name!r} must be a tf.function or a trace of one, got {function!r}"
            )
        trace = _trace_of(function, True)
        if trace is None:
            raise ValueError(
                f"argument 'signatures': {name!r} must have an input_signature or a single trace; of "
                f"{function!r} there are {len(_traces(function))}: give one of get_concrete_function"
                f"{_place(function)}"
            )
        _check_flat(name, trace, function)
        out[name] = trace
    return out


def _trace_of(function: Any, single: bool) -> Any:
    """The trace that a function's signature asks for; if allowed the only one there is."""
    if isinstance(function, _core.ConcreteFunction):
        return function
    if function.input_signature is not None:
        return function.get_concrete_function()
    traces = _traces(function)
    return traces[0] if single and len(traces) == 1 else None


def _output_names(trace: Any) -> list[str]:
    """The names of the results of a signature.

    Raises:
        ValueError: for results that are no tensors, one, several or with names.
    """
    outputs = trace.structured_outputs
    if outputs is None:
        return []
    named = {"output_0": outputs} if isinstance(outputs, TensorSpec) else outputs
    if isinstance(outputs, list | tuple):
        named = {f"output_{i}": item for i, item in enumerate(outputs)}
    if not isinstance(named, Mapping) or not all(
        isinstance(key, str) and isinstance(value, TensorSpec) for key, value in named.items()
    ):
        raise ValueError(
            f"a signature gives a tensor, a sequence of tensors, or a dict of them with texts as keys; "
            f"{trace._function_name} gives {outputs!r}"
        )
    return list(named)


def _check_flat(name: str, trace: Any, function: Any) -> None:
    try:
        _output_names(trace)
        if trace._variable_arguments():
            raise ValueError(f"{trace._function_name} takes a variable as an argument")
        for argument in trace._arg_keywords:
            if not argument.isidentifier():
                raise ValueError(
                    f"{trace._function_name} names an argument {argument!r}, which is no identifier"
                )
    except ValueError as error:
        raise ValueError(f"argument 'signatures': {name!r}: {error}{_place(function)}") from None


def _is_flat(trace: Any) -> bool:
    try:
        _check_flat("", trace, trace)
    except ValueError:
        return False
    return True


# --- the program ---


class _Writer:
    """Puts the program of an object together.

    Attributes:
        assets: the file to copy for each path below the directory.
    """

    def __init__(self) -> None:
        self.builder = _core._ProgramBuilder()
        self.nodes: list[dict[str, Any]] = []
        self.assets: dict[str, Path] = {}
        self._numbers: dict[Any, int] = {}
        self._variables: dict[int, int] = {}
        # Functions come last, when all variables of the objects have their numbers.
        self._functions: list[tuple[dict[str, Any], str, Any]] = []
        # What was met keeps its identity until the end.
        self._held: list[Any] = []

    def program(self, obj: Any, signatures: dict[str, Any]) -> Any:
        """The program.

        Args:
            obj: the root.
            signatures: a trace for each name.
        """
        self.node(obj, "")
        for node, path, function in self._functions:
            node.update(self.function(function, path))
        calls = {name: self.signature(name, trace) for name, trace in signatures.items()}
        self.builder.text(OBJECTS, _json({"nodes": self.nodes, "signatures": calls}))
        return self.builder.finish()

    def node(self, obj: Any, path: str) -> int:
        """The number of an object."""
        key = function_key(obj) if is_function(obj) else id(obj)
        if key in self._numbers:
            return self._numbers[key]
        number = self._numbers[key] = len(self.nodes)
        node: dict[str, Any] = {}
        self.nodes.append(node)
        self._held.append(obj)

        def named(name: str) -> str:
            return f"{path}.{name}" if path else name

        if isinstance(obj, _core._Variable):
            node.update(kind="variable", variable=self.variable(obj))
        elif isinstance(obj, Asset):
            node.update(self.asset(obj))
        elif isinstance(obj, Table):
            node.update(kind="table", type=type(obj).__name__)
            node.update(obj._described(self.variable, lambda table: self.node(table, named("table"))))
        elif is_function(obj):
            self._functions.append((node, path, obj))
        elif isinstance(obj, list | tuple):
            items = [self.item(item, named(str(i))) for i, item in enumerate(obj)]
            node.update(kind="list" if isinstance(obj, list) else "tuple", items=items)
            if isinstance(obj, tuple) and hasattr(obj, "_fields"):
                node.update(name=class_name(type(obj)), fields=list(obj._fields))
        elif isinstance(obj, Mapping):
            items = [
                [encode(key), self.item(item, named(str(key)))] for key, item in obj.items() if _is_key(key)
            ]
            node.update(kind="dict", items=items)
        else:
            node.update(kind="object")
            if isinstance(obj, Module) and "_name" in vars(obj) and getattr(obj, "_has_name", True):
                node.update(name=obj.name)
            owned = [
                (name, value)
                for name, value in _owned(obj)
                if name != "signatures" or not _is_signatures(value)
            ]
            node.update(children=[[name, self.node(value, named(name))] for name, value in owned])
        return number

    def item(self, value: Any, path: str) -> Any:
        """An item of a container: an object by its number, a Python value as it is, null for another."""
        if is_trackable(value):
            return {"node": self.node(value, path)}
        try:
            return encode(value)
        except Unsaved:
            return None

    def variable(self, variable: Any) -> int:
        """The number of a variable."""
        key = variable._unique_id
        if key not in self._variables:
            self._held.append(variable)
            self._variables[key] = self.builder.variable(variable)
        return self._variables[key]

    def asset(self, asset: Asset) -> dict[str, Any]:
        """A file: what functions read as its path is its place in the directory."""
        source = Path(os.fsdecode(asset._path.numpy()))
        if not source.is_file():
            raise ValueError(f"the asset {str(source)!r} is no file")
        count, name = 0, f"{ASSETS}/{source.name}"
        while name in self.assets and not self.assets[name].samefile(source):
            count += 1
            name = f"{ASSETS}/{source.stem}_{count}{source.suffix}"
        self.assets[name] = source
        number = self.builder.variable(asset._path, _core._to_tensor(name))
        self._variables[asset._path._unique_id] = number
        return {"kind": "asset", "variable": number, "path": name}

    def function(self, function: Any, path: str) -> dict[str, Any]:
        """A function, with its parameters and its traces."""
        concrete = isinstance(function, _core.ConcreteFunction)
        name = function._function_name if concrete else function.__name__
        try:
            specs = None if concrete else function.input_signature
            return {
                "kind": "concrete" if concrete else "function",
                "name": name,
                "parameters": _parameters(function),
                "signature": None if specs is None else encode(list(specs)),
                "traces": [self.trace(path or name, trace) for trace in _traces(function)],
            }
        except Unsaved as error:
            raise TypeError(f"cannot save the function {path or name!r}: {error}{_place(function)}") from None

    def trace(self, path: str, trace: Any) -> dict[str, Any]:
        """A trace, whose graph the program has."""
        args, kwargs = _encoded_arguments(trace, self._variables)
        count = len(trace.graph._signature()[1])
        number = self.graph(path, trace, [f"output_{i}" for i in range(count)])
        return {
            "function": number,
            "args": args,
            "kwargs": kwargs,
            "result": encode(trace.structured_outputs, ordered=True),
            "trainable": trace._trainable_inputs(),
            "pinned": [pinned is not None for _, pinned in trace._variable_arguments()],
        }

    def graph(self, name: str, trace: Any, outputs: list[str]) -> int:
        """The number of a trace's graph in the program."""
        for captured in trace.captured_inputs:
            if isinstance(captured, _core._Variable):
                self.variable(captured)
        return self.builder.function(name, trace, outputs, self._variables)

    def signature(self, name: str, trace: Any) -> dict[str, Any]:
        """A function that programs outside call."""
        outputs = _output_names(trace)
        specs = _specs(trace.structured_outputs)
        number = self.graph(name, trace, outputs)
        self.builder.signature(name, number)
        inputs = list(_input_specs(trace))
        return {
            "function": number,
            "inputs": [
                [argument, encode(spec)] for argument, spec in zip(trace._arg_keywords, inputs, strict=True)
            ],
            "outputs": [[key, encode(spec)] for key, spec in zip(outputs, specs, strict=True)],
            "trainable": trace._trainable_inputs(),
        }


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _is_signatures(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(item, _core.ConcreteFunction) for item in value.values()
    )


def _is_key(key: Any) -> bool:
    return isinstance(key, str | int | bytes | float | bool)


def _specs(outputs: Any) -> list[TensorSpec]:
    if outputs is None:
        return []
    if isinstance(outputs, TensorSpec):
        return [outputs]
    return list(outputs.values() if isinstance(outputs, Mapping) else outputs)


def _input_specs(trace: Any) -> Iterator[TensorSpec]:
    """The specification of each argument of a graph that takes tensors only."""
    for symbolic, name in zip(trace.inputs, trace._arg_keywords, strict=False):
        yield TensorSpec(symbolic.shape, symbolic.dtype, name)


def _parameters(function: Any) -> list[list[Any]]:
    """`[name, kind]` of each parameter, with its default if it has one; without the object of a method."""
    method = isinstance(function, _core._BoundFunction)
    if isinstance(function, _core.ConcreteFunction):
        method = function._is_method()
        found = list(function.function_type.parameters.values())
    else:
        found = list(signature_of(function.python_function).parameters.values())
    out: list[list[Any]] = []
    for parameter in found[1:] if method else found:
        default = [] if parameter.default is parameter.empty else [_default(parameter)]
        out.append([parameter.name, int(parameter.kind), *default])
    return out


def _default(parameter: inspect.Parameter) -> Any:
    try:
        return encode(parameter.default)
    except Unsaved as error:
        raise Unsaved(f"the default of parameter '{parameter.name}': {error}") from None


def _encoded_arguments(trace: Any, variables: dict[int, int]) -> tuple[list[Any], list[Any]]:
    """The arguments that a trace was made for: by position, and `[name, value]` by name."""
    args, kwargs = trace.structured_input_signature
    if trace._is_method():
        args = args[1:]
    notes = iter([[alias, pinned and variables.get(pinned)] for alias, pinned in trace._variable_arguments()])
    names = trace._parameter_names[1 if trace._is_method() else 0 :]
    first = len([name for name in names if name not in kwargs])
    labels = [*names[:first], *(f"argument {i}" for i in range(first, len(args)))]

    def written(label: str, value: Any) -> Any:
        try:
            return encode(value, notes)
        except Unsaved as error:
            raise Unsaved(f"a trace was made for argument '{label}': {error}") from None

    # In the order in which the engine walks over arguments.
    front = [written(label, value) for label, value in zip(labels, args[:first], strict=False)]
    named = [[name, written(name, kwargs[name])] for name in names if name in kwargs]
    rest = [written(label, value) for label, value in zip(labels[first:], args[first:], strict=True)]
    more = [[name, written(name, value)] for name, value in kwargs.items() if name not in names]
    return [*front, *rest], [*named, *more]
