"""`tf.saved_model.load`: objects with their functions and variables out of a directory."""

from __future__ import annotations

import inspect
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

from penstock import _core
from penstock._function.describe import signature_line
from penstock._function.function import Function
from penstock._saving.assets import Asset, LoadOptions
from penstock._saving.save import ASSETS, FILE, OBJECTS, TENSORFLOW_FILE
from penstock._saving.saved_model_tags import OWN, checked_tags, of_tags, without_objects
from penstock._saving.saved_model_text import TEXT_FILE, content_of, in_directory
from penstock._saving.structures import Decoder, named_tuple
from penstock._types.argument_names import expect, path_of
from penstock._types.specs import TensorSpec, VariableSpec
from penstock._values import variable as _variable
from penstock._values.module import Module
from penstock.errors import NotFoundError, UnimplementedError
from penstock.lookup import _tables

__all__ = ["TENSORFLOW_FILE", "contains_saved_model", "load"]


class _Loaded(Module):
    """An object of a saved program: its attributes are what the saved one owned."""

    def __init__(self, name: str | None) -> None:
        super().__init__()
        # What was no module had no name, and is saved again without one.
        self._has_name = name is not None
        if name is not None:
            self._name = name

    def __repr__(self) -> str:
        owned = ", ".join(name for name in vars(self) if not name.startswith("_"))
        return f"<loaded object with {owned or 'nothing'}>"


class _Callable(_Loaded):
    """One that was saved with a traced `__call__`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return vars(self)["__call__"](*args, **kwargs)


# The graphs of SavedModels of TensorFlow 1, by what was loaded.
_graphs: weakref.WeakKeyDictionary[_OfVersion1, Any] = weakref.WeakKeyDictionary()


class _OfVersion1(_Loaded):
    """A SavedModel of TensorFlow 1: parts of its graph are functions too."""

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> _core.ConcreteFunction:
        """Make a function of a part of the graph, as that of a `ConcreteFunction`."""
        made: _core.ConcreteFunction = _graphs[self].prune(feeds, fetches, name)
        return made

    @property
    def graph(self) -> Any:
        """The graph, to look at."""
        return _graphs[self].graph


def _of_version_1(root: _Loaded, graph: bytes) -> _Loaded:
    from penstock._saving.graph_parts import GraphParts  # builds on this

    root.__class__ = _OfVersion1
    _graphs[cast("_OfVersion1", root)] = GraphParts(graph, root)
    return root


class _RefusedError(UnimplementedError, KeyError):
    """There is a signature of the name, which needs what there is not here."""


class _Signatures(Mapping[str, Any]):
    """The functions that programs outside call: each takes tensors by name and gives a dict of them."""

    def __init__(self, functions: dict[str, Any], refused: Mapping[str, str]) -> None:
        self._functions, self._refused = functions, refused

    def __getitem__(self, name: str) -> Any:
        if name not in self._functions and (reason := self._refused.get(f"signature '{name}'")):
            raise _RefusedError(None, None, f"signature {name!r} was not converted: {reason}")
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return f"_Signatures({self._functions!r})"


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Tell whether a directory holds what `tf.saved_model.load` reads.

    Args:
        export_dir: the directory.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.saved_model.contains_saved_model("nowhere")
    False
    """
    directory = Path(path_of(export_dir, "export_dir"))
    return any((directory / name).is_file() for name in (FILE, TENSORFLOW_FILE, TEXT_FILE))


def load(
    export_dir: str | os.PathLike[str],
    tags: str | Sequence[str] | None = None,
    options: LoadOptions | None = None,
) -> Any:
    """Load what `tf.saved_model.save` has saved.

    Variables come back as variables, which can be trained; traced functions with the traces that they had: a
    call that none of them serves is an error. Lists, tuples and dicts are what they were; other objects
    become modules with the same attributes. What is loaded can be saved again.

    A SavedModel of TensorFlow is loaded in the same way, without TensorFlow. A function that needs an
    operator that there is not here fails when it is called, with all of these.

    Args:
        export_dir: the directory.
        tags: the tags of the graph, by which one of several is chosen; None for what is there, and of several
            graphs the one that serves.
        options: how it is loaded.

    Returns:
        The object. Its `signatures` are functions by name, which take tensors by name and give a dict of
        them.

    Raises:
        NotFoundError: where there is no saved program; it is an `OSError` too, as in TensorFlow.
        InvalidArgumentError: for a file that is damaged.
        ValueError: for other tags than those of the graph.
        RuntimeError: where there are several graphs, and none has these tags.
        FailedPreconditionError: for a program of a later version, or that reads or writes files without being
            allowed to.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> module = tf.Module()
    >>> module.double = tf.function(lambda x: 2 * x)
    >>> trace = module.double.get_concrete_function(tf.TensorSpec([], tf.int32, name="x"))
    >>> path = os.path.join(tempfile.mkdtemp(), "double")
    >>> tf.saved_model.save(module, path, signatures=trace)
    >>> loaded = tf.saved_model.load(path)
    >>> int(loaded.double(21)), loaded.signatures["serving_default"](x=tf.constant(4))["output_0"].numpy()
    (42, np.int32(8))
    """
    options = LoadOptions() if options is None else expect(options, LoadOptions, "options", "a LoadOptions")
    directory = Path(path_of(export_dir, "export_dir"))
    path = directory / FILE
    content = chosen = None
    refused: Mapping[str, str] = {}
    if not path.exists() and (directory / TENSORFLOW_FILE).exists():
        path = directory / TENSORFLOW_FILE
        content = path.read_bytes()
        chosen = None if tags is None else of_tags(content, tags, directory)
        with nullcontext(directory) if chosen is None else in_directory(directory, chosen) as written:
            program, refused = _core.Program._of_tensorflow(written, options.allow_files)
    elif not path.exists() and (directory / TEXT_FILE).exists():
        path = directory / TEXT_FILE
        content = content_of(path)
        chosen = None if tags is None else of_tags(content, tags, directory)
        with in_directory(directory, content if chosen is None else chosen) as written:
            program, refused = _core.Program._of_tensorflow(written, options.allow_files)
    elif not path.exists():
        raise _NoModelError(
            None, None, f"argument 'export_dir': there is neither {FILE} nor {TENSORFLOW_FILE} in {directory}"
        )
    else:
        if tags is not None:
            checked_tags(tags, OWN, directory)
        program = _core.Program.load(path, files=options.allow_files)
    text = program.text(OBJECTS)
    if text is None:
        raise ValueError(f"{path} holds functions without objects: load it by tf.Program.load")
    with _core._Outside():
        reader = _Reader(program, directory, not options.experimental_skip_checkpoint, refused)
        try:
            root = reader.root(json.loads(text))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: the description of the objects is damaged: {error!r}") from error
        graph = None if content is None else without_objects(content if chosen is None else chosen)
        return root if graph is None else _of_version_1(root, graph)


class _NoModelError(NotFoundError, FileNotFoundError):
    """There is no saved program."""


class _Reader:
    """Makes the objects of a program."""

    def __init__(self, program: Any, directory: Path, values: bool, refused: Mapping[str, str]) -> None:
        self._program, self._directory, self._refused = program, directory, refused
        self._variables = [
            _variable.restored(name, dtype, shape, trainable, value if values else None)
            for name, dtype, shape, trainable, value in program._described()
        ]
        self._made: dict[int, Any] = {}
        self._due: list[tuple[Any, dict[str, Any]]] = []

    def root(self, objects: dict[str, Any]) -> Any:
        """The object that was saved."""
        self._nodes: list[dict[str, Any]] = objects["nodes"]
        root = self.node(0)
        while self._due:
            made, node = self._due.pop(0)
            for name, number in node["children"]:
                vars(made)[name] = self.node(number)
        signatures = {name: self.signature(name, call) for name, call in objects["signatures"].items()}
        vars(root)["signatures"] = _Signatures(signatures, self._refused)
        return root

    def node(self, number: int) -> Any:
        """The object of a number."""
        if number not in self._made:
            node = self._nodes[number]
            make: Callable[[int, dict[str, Any]], Any] = getattr(self, f"_{node['kind']}_node")
            self._made[number] = make(number, node)
        return self._made[number]

    def _object_node(self, number: int, node: dict[str, Any]) -> Any:
        called = any(name == "__call__" for name, _ in node["children"])
        made = (_Callable if called else _Loaded)(node.get("name"))
        self._due.append((made, node))
        return made

    def _variable_node(self, number: int, node: dict[str, Any]) -> Any:
        return self._variables[node["variable"]]

    def _asset_node(self, number: int, node: dict[str, Any]) -> Any:
        room, _, name = node["path"].partition("/")
        if room != ASSETS or name in ("", ".", "..") or Path(name).name != name:
            raise ValueError(f"the asset {node['path']!r} is not in the directory '{ASSETS}'")
        asset = object.__new__(Asset)
        asset._path = self._variables[node["variable"]]
        asset._path.assign(str(self._directory / room / name))
        return asset

    def _table_node(self, number: int, node: dict[str, Any]) -> Any:
        return _tables.restored(node, self._variables, self.node)

    def _list_node(self, number: int, node: dict[str, Any]) -> Any:
        return [self.item(item) for item in node["items"]]

    def _tuple_node(self, number: int, node: dict[str, Any]) -> Any:
        items = tuple(self.item(item) for item in node["items"])
        return named_tuple(node["name"], tuple(node["fields"]))(*items) if "fields" in node else items

    def _dict_node(self, number: int, node: dict[str, Any]) -> Any:
        return {Decoder().decode(key): self.item(item) for key, item in node["items"]}

    def item(self, written: Any) -> Any:
        """An item of a container."""
        if isinstance(written, dict) and "node" in written:
            return self.node(written["node"])
        return Decoder().decode(written)

    def _function_node(self, number: int, node: dict[str, Any]) -> Any:
        parameters = [_parameter(*parts) for parts in node["parameters"]]
        specs = Decoder().decode(node["signature"])
        refused: Exception | None = None
        if reasons := node.get("refused"):
            words = f"{node['name']}: the function was not converted: " + "; ".join(reasons)
            refused = NotFoundError(words) if node.get("missing") else NotImplementedError(words)
        function = _restored_function(node["name"], inspect.Signature(parameters), specs, refused)
        self._add_traces(function, node["traces"])
        return function

    def _concrete_node(self, number: int, node: dict[str, Any]) -> Any:
        return self._function_node(number, {**node, "signature": None})._traces()[0]

    def signature(self, name: str, call: dict[str, Any]) -> Any:
        """A function that programs outside call."""
        only = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(argument, only) for argument, _ in call["inputs"]]
        function = _restored_function(f"signature_{name}", inspect.Signature(parameters), None)
        trace = {
            **call,
            "args": [],
            "kwargs": call["inputs"],
            "result": {"dict": call["outputs"]},
            "pinned": [],
        }
        self._add_traces(function, [trace])
        return function._traces()[0]

    def _add_traces(self, function: Any, traces: list[dict[str, Any]]) -> None:
        for trace in traces:
            self._add_trace(function, trace)
        # Variables that no object owns live as long as the function.
        function.__dict__["_captured"] = [
            captured
            for trace in function._traces()
            for captured in trace.captured_inputs
            if isinstance(captured, _core._Variable)
        ]

    def _add_trace(self, function: Any, trace: dict[str, Any]) -> None:
        given: dict[int, Any] = {}

        def argument(spec: VariableSpec, noted: list[Any]) -> Any:
            alias, pinned = noted
            if pinned is not None:
                return self._variables[pinned]
            if alias not in given:
                given[alias] = _variable.restored("argument", spec.dtype, spec.shape, spec.trainable, None)
            return given[alias]

        def some(spec: TensorSpec) -> Any:
            return _core._to_tensor(0)

        def decoded(decoder: Decoder) -> tuple[tuple[Any, ...], dict[str, Any]]:
            args = tuple(decoder.decode(item) for item in trace["args"])
            return args, {name: decoder.decode(item) for name, item in trace["kwargs"]}

        args, kwargs = decoded(Decoder(variable=argument))
        saved = _Saved()
        saved.args, saved.kwargs, saved.signature = args, kwargs, decoded(Decoder())
        saved.result = Decoder(tensor=some).decode(trace["result"])
        saved.trainable, saved.pinned = trace["trainable"], trace["pinned"]
        function._restore(self._program.function(trace["function"]), self._variables, saved)


class _Saved:
    """What the engine takes of a trace besides its graph."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    signature: tuple[tuple[Any, ...], dict[str, Any]]
    result: Any
    trainable: list[int]
    pinned: list[bool]


def _parameter(name: str, kind: int, *default: Any) -> inspect.Parameter:
    value = Decoder().decode(default[0]) if default else inspect.Parameter.empty
    kinds = [
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    ]
    return inspect.Parameter(name, kinds[kind], default=value)


def _shown(value: Any) -> str:
    """An argument, for messages: of a tensor what it is, not its elements."""
    if isinstance(value, _core.Tensor):
        return f"{value.dtype.name} tensor of shape {value.shape}"
    return f"{value!r:.200}"


def _restored_function(
    name: str, signature: inspect.Signature, specs: Any, refused: Exception | None = None
) -> Any:
    """A function without traces yet, and without Python code: what is in its place says why a call fails."""

    def restored(*args: Any, **kwargs: Any) -> Any:
        function = made()
        given = [_shown(value) for value in args]
        given += [f"{key}={_shown(value)}" for key, value in kwargs.items()]
        traces = [] if function is None else function._traces()
        known = (
            "".join(f"\n  {name}{signature_line(trace)}" for trace in traces) or " none: it was never called"
        )
        if refused is not None:
            raise refused
        raise ValueError(
            f"{name}: no saved trace takes the arguments ({', '.join(given)}). "
            f"A loaded function has the traces that it had when it was saved:{known}"
        )

    restored.__name__ = restored.__qualname__ = name
    restored.__signature__ = signature  # type: ignore[attr-defined]
    function: Any = Function(restored, name, specs, False, False)
    function._set_restored()
    made = weakref.ref(function)
    return function
