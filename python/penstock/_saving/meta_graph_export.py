"""Open graphs with variables and signatures as files of TensorFlow 1: `.meta`, and SavedModels."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from penstock import _core
from penstock._saving.frozen_graph import VARIABLES, frozen
from penstock._saving.graph_export import ExportedGraph, exported_parts
from penstock._saving.graph_messages import AttrValue, NodeMessage, constant_node
from penstock._saving.save import TENSORFLOW_FILE
from penstock._saving.saved_model_text import TEXT_FILE, text_of
from penstock._saving.table_nodes import fills_of
from penstock._values.variable import Variable
from penstock.compat.v1._graph_messages import (
    AssetFileDef,
    MetaGraphDef,
    SavedModelMessage,
    SaverDef,
    SignatureDef,
    VariableDef,
)
from penstock.compat.v1._operation import Operation
from penstock.compat.v1._signatures import build_tensor_info

__all__ = ["INIT_OP", "constants_of", "held_variables", "meta_graph", "write_saved_model"]

INIT_OP: Final = "__saved_model_init_op"
_MAIN_OP: Final = "saved_model_main_op"
_TABLES: Final = "table_initializer"
_VERSION: Final = "2.21.0"
_STRING: Final = 7


def held_variables(graph: Any) -> dict[str, Variable]:
    """The variables of an open graph, by the names of their nodes."""
    collected = [graph.get_collection(key) for key in ("variables", "local_variables", "metric_variables")]
    found = [v for values in [*collected, graph.variables.values()] for v in values]
    return {v.name.removesuffix(":0"): v for v in found if isinstance(v, Variable)}


def constants_of(
    session: Any, graph: ExportedGraph, wanted: Iterable[str] | None, unwanted: Iterable[str] | None
) -> ExportedGraph:
    """The graph with the values that a session has of its variables.

    Args:
        session: the session.
        graph: the graph.
        wanted: the names of the variables; None for all.
        unwanted: the names of variables that stay.

    Raises:
        ValueError: for a variable that the graph of the session does not have, and one that a node changes.
    """
    held = held_variables(session.graph)
    values = {}
    for node in graph.node:
        kept = node.name in set(unwanted or ()) or (wanted is not None and node.name not in set(wanted))
        if node.op in VARIABLES and not kept:
            if node.name not in held:
                raise ValueError(
                    f"argument 'input_graph_def' has a variable '{node.name}', which the graph of the "
                    "session does not have"
                )
            values[node.name] = session._values.read(held[node.name])
    return frozen(graph, values)


def meta_graph(
    graph: Any,
    collections: Iterable[str] | None = None,
    tags: Iterable[str] = (),
    signatures: Mapping[str, SignatureDef] | None = None,
    saved: Mapping[str, Variable] | None = None,
    most: int = 5,
) -> MetaGraphDef:
    """An open graph with what it says of itself.

    Args:
        graph: the graph.
        collections: the names of the collections that are written, by default all.
        tags: those of the graph.
        signatures: its signatures.
        saved: the variables that its operations write to checkpoints and read, by their names there; by
            default all.
        most: how many checkpoints stay.

    Raises:
        UnimplementedError: for operators that TensorFlow does not have; it names all.
        FailedPreconditionError: for a graph that calls Python code while it runs.
    """
    message = exported_parts(graph)
    there = {node.name: node for node in message.node}
    begins = {name: begin for name, begin in _beginnings(graph) if name in there}
    for variable in held_variables(graph).values():
        _add_variable(message, there, variable)
    written = MetaGraphDef(
        meta_info_def={"tags": list(tags), "tensorflow_version": _VERSION},
        signature_def=dict(signatures or {}),
    )
    keys = graph.get_all_collection_keys() if collections is None else collections
    for key in keys:
        _collect(written, key, graph.get_collection(key), there, begins)
    fills = fills_of(message.node)
    if fills and (collections is None or _TABLES in keys):
        written.collection_def[_TABLES].node_list.value.extend(fills)
    variables = held_variables(graph) if saved is None else saved
    named = {key: v for key, v in variables.items() if v.name.removesuffix(":0") in there}
    if named:
        written.saver_def.CopyFrom(_saver(message, there, named, most))
    written.graph_def = message.SerializeToString()
    return written


def _beginnings(graph: Any) -> Iterable[tuple[str, str]]:
    """For each variable the name of the node that gives it its first value, both by names of nodes."""
    names = {number: name for name, _, number, _, _ in graph.engine._operations()}
    for name, variable in held_variables(graph).items():
        begin = getattr(variable, "initializer", None)
        if isinstance(begin, Operation) and begin._instructions:
            last = begin._instructions[-1]
            yield name, names.get(last, begin.name)


def _add_variable(message: ExportedGraph, there: dict[str, NodeMessage], variable: Variable) -> None:
    """Add a node for a variable that no node takes, and one that reads it."""
    name = variable.name.removesuffix(":0")
    number = AttrValue(type=variable.dtype.as_datatype_enum)
    sizes = [{"size": -1 if size is None else size} for size in variable.shape]
    handle = {
        "dtype": number,
        "shape": AttrValue(shape={"dim": sizes}),
        "shared_name": AttrValue(s=name.encode()),
    }
    read = f"{name}/Read/ReadVariableOp"
    for node in (
        NodeMessage(name=name, op="VarHandleOp", attr=handle),
        NodeMessage(name=read, op="ReadVariableOp", input=[name], attr={"dtype": number}),
    ):
        if node.name not in there:
            there[node.name] = node
            message.node.append(node)


def _collect(
    written: MetaGraphDef,
    key: str,
    values: Sequence[Any],
    there: Mapping[str, NodeMessage],
    begins: Mapping[str, str],
) -> None:
    """Write a collection; one of other things than variables, nodes, numbers and texts is left out."""
    found = written.collection_def[key]
    if values and all(isinstance(value, Variable) for value in values):
        for variable in values:
            name = variable.name.removesuffix(":0")
            begin = begins.get(name, "")
            described = VariableDef(
                variable_name=variable.name,
                initializer_name=begin,
                snapshot_name=f"{name}/Read/ReadVariableOp:0",
                is_resource=True,
                trainable=bool(getattr(variable, "trainable", True)),
            )
            first = there.get(begin)
            if first is not None and len(first.input) > 1:
                described.initial_value_name = _tensor(first.input[1])
            found.bytes_list.value.append(described.SerializeToString())
    elif all(isinstance(value, Operation | _core.Tensor) for value in values):
        found.node_list.value.extend(value.name for value in values)
    elif all(isinstance(value, int) for value in values):
        found.int64_list.value.extend(values)
    elif all(isinstance(value, int | float) for value in values):
        found.float_list.value.extend(values)
    elif all(isinstance(value, str | bytes) for value in values):
        found.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
    else:
        del written.collection_def[key]


def _tensor(edge: str) -> str:
    return edge if ":" in edge else f"{edge}:0"


def _saver(
    message: ExportedGraph,
    there: Mapping[str, NodeMessage],
    variables: Mapping[str, Variable],
    most: int,
) -> SaverDef:
    """Add the operations that write variables to a checkpoint and read them."""
    front = next(name for name in _numbered("save") if not _taken(name, there))
    keys = sorted(variables)

    def constant(name: str, value: Any) -> str:
        with _core._Outside():
            message.node.append(constant_node(f"{front}/{name}", _core._to_tensor(value, _core.string)))
        return f"{front}/{name}"

    def node(name: str, op: str, inputs: Iterable[str], **attributes: AttrValue) -> str:
        message.node.append(NodeMessage(name=f"{front}/{name}", op=op, input=list(inputs), attr=attributes))
        return f"{front}/{name}"

    text, scalar = AttrValue(type=_STRING), AttrValue(shape={})
    default = constant("filename/input", "model")
    path = node("Const", "PlaceholderWithDefault", [default], dtype=text, shape=scalar)
    given = [path, constant("tensor_names", keys), constant("shape_and_slices", [""] * len(keys))]
    numbers = [variables[key].dtype.as_datatype_enum for key in keys]
    types = AttrValue(list={"type": numbers})
    handles = [variables[key].name.removesuffix(":0") for key in keys]
    reads, writes = [], []
    restored = node("RestoreV2", "RestoreV2", given, dtypes=types)
    for i, (handle, number) in enumerate(zip(handles, numbers, strict=True)):
        dtype = AttrValue(type=number)
        reads.append(node(f"Read_{i}", "ReadVariableOp", [handle], dtype=dtype))
        edge = f"{restored}:{i}" if i else restored
        writes.append(node(f"Assign_{i}", "AssignVariableOp", [handle, edge], dtype=dtype))
    save = node("SaveV2", "SaveV2", [*given, *reads], dtypes=types)
    done = node("control_dependency", "Identity", [path, f"^{save}"], T=text)
    restore = node("restore_all", "NoOp", [f"^{name}" for name in writes])
    return SaverDef(
        filename_tensor_name=f"{path}:0",
        save_tensor_name=f"{done}:0",
        restore_op_name=restore,
        max_to_keep=most,
        version=2,
    )


def _numbered(name: str) -> Iterable[str]:
    """The name, then with numbers."""
    return chain([name], (f"{name}_{number}" for number in count(1)))


def _taken(front: str, there: Iterable[str]) -> bool:
    return any(name == front or name.startswith(f"{front}/") for name in there)


def write_saved_model(
    directory: Path,
    graphs: Sequence[MetaGraphDef],
    values: Mapping[str, _core.Tensor],
    assets: Iterable[str],
    as_text: bool,
) -> Path:
    """Write graphs, as text or bytes, the values of variables by their names, and files."""
    directory.mkdir(parents=True, exist_ok=True)
    if values:
        folder = directory / "variables"
        folder.mkdir(exist_ok=True)
        tensors = [(name, [value]) for name, value in sorted(values.items())]
        _core._write_bundle(str(folder / "variables"), tensors, None)
    for file in assets:
        folder = directory / "assets"
        folder.mkdir(exist_ok=True)
        shutil.copyfile(file, folder / Path(file).name)
    path = directory / (TEXT_FILE if as_text else TENSORFLOW_FILE)
    message = SavedModelMessage(saved_model_schema_version=1, meta_graphs=list(graphs))
    content = message.SerializeToString()
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(text_of(content).encode() if as_text else content)
    temporary.replace(path)
    return path


def write_meta_graph(path: Path, written: MetaGraphDef, as_text: bool) -> None:
    """Write a description to a file, as text or bytes."""
    content = written.SerializeToString()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text_of(content, "MetaGraphDef").encode() if as_text else content)


def note_begin(written: MetaGraphDef, operation: Operation | None) -> None:
    """Have a program that loads a SavedModel fill its tables, and run an operation, first."""
    message = ExportedGraph.FromString(written.graph_def)
    waits = [f"^{name}" for name in fills_of(message.node)]
    if not waits and operation is None:
        return
    name = "" if operation is None else operation.name
    if waits:
        waits += [f"^{name}"] if name else []
        there = {node.name for node in message.node}
        name = next(name for name in _numbered("fill_tables") if name not in there)
        message.node.append(NodeMessage(name=name, op="NoOp", input=waits))
        written.graph_def = message.SerializeToString()
    written.collection_def[_MAIN_OP].node_list.value.append(name)
    written.signature_def[INIT_OP] = SignatureDef(outputs={INIT_OP: {"name": name}})


def note_asset(written: MetaGraphDef, tensor: _core.Tensor, file: str) -> None:
    """Note that a tensor is the path of a file that is copied."""
    written.asset_file_def.append(
        AssetFileDef(tensor_info=build_tensor_info(tensor), filename=Path(file).name)
    )
