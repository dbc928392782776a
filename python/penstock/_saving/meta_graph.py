"""Graphs of TensorFlow 1 with variables and signatures: files of `.meta`, and SavedModels in sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from penstock import _core, raw_ops
from penstock._runtime import scope, v1_graph_state
from penstock._saving.checkpoint_reader import Bundle
from penstock._saving.graph_import import import_graph_def, is_imported
from penstock._saving.graph_messages import AttrValue, GraphMessage, NodeMessage
from penstock._saving.load import load as load_objects
from penstock._saving.save import FILE, TENSORFLOW_FILE
from penstock._saving.saved_model_text import TEXT_FILE, content_of
from penstock._types.argument_names import path_of
from penstock._values.variable import Variable
from penstock.compat.v1._graph import placeholder
from penstock.compat.v1._graph_messages import MetaGraphDef, SavedModelMessage, SignatureDef, VariableDef
from penstock.compat.v1._signatures import build_tensor_info
from penstock.compat.v1._variables import collected_in
from penstock.errors import DataLossError, NotFoundError, UnimplementedError

__all__ = ["import_meta_graph", "load_into", "with_placeholders"]

_VARIABLES: Final = ("VarHandleOp", "VariableV2", "Variable")
# Operators on variables of the older kind, and those on the newer.
_ASSIGNMENTS: Final = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
}
# A checkpoint is read and written without the operations of a graph for it.
_FILES: Final = ("RestoreV2", "SaveV2", "RestoreSlice", "Restore", "Save", "MergeV2Checkpoints")
_RESOURCE: Final = 20
_TRAINABLE: Final = "trainable_variables"


def with_placeholders(nodes: Sequence[NodeMessage]) -> list[NodeMessage]:
    """The nodes that can be made, with placeholders for variables."""
    return [
        _placeholder(node)
        if node.op in _VARIABLES
        else _assignment(node)
        if node.op in _ASSIGNMENTS
        else node
        for node in _possible(nodes)
    ]


def _placeholder(node: NodeMessage) -> NodeMessage:
    attributes = {"dtype": AttrValue(type=_RESOURCE), "shape": AttrValue(shape={})}
    return NodeMessage(name=node.name, op="Placeholder", attr=attributes)


def import_meta_graph(content: MetaGraphDef, within: str | None = None) -> dict[str, Variable]:
    """Add a graph with its variables and collections to the open graph.

    Operations that the package does not have, those that read and write checkpoints, and what depends on them
    are left out.

    Args:
        content: the graph.
        within: the scope of its names.

    Returns:
        The variables that checkpoints have, by the names that they have in the message.
    """
    graph = v1_graph_state.current()
    message = GraphMessage.FromString(content.graph_def)
    prefix = f"{within}/" if within else ""
    held = _collections(content)
    made: dict[str, Variable] = {}
    nodes = []
    for node in _possible(message.node):
        if node.op in _VARIABLES:
            keys = [key for key, names in held.items() if node.name in names]
            made[node.name] = _variable(node, prefix, keys)
            node = _placeholder(node)
        elif node.op in _ASSIGNMENTS:
            node = _assignment(node)
        nodes.append(node)
    whole = GraphMessage(node=nodes, library=message.library)
    import_graph_def(whole, {f"{name}:0": variable for name, variable in made.items()}, name=within or "")
    for name, variable in made.items():
        begin = graph.imported.get(f"{prefix}{_initializers(content).get(name, f'{name}/Assign')}")
        if begin is not None:
            variable.__dict__["_initializer"] = begin
            if held and not any(name in names for names in held.values()):
                # It is of no collection, such as a counter: each session begins it.
                graph.begun_by_sessions.append((variable, begin))
    for key, collection in content.collection_def.items():
        for name in collection.node_list.value:
            try:
                graph.add_to_collection(key, graph.as_graph_element(f"{prefix}{name}"))
            except KeyError:
                continue
    return {name: variable for name, variable in made.items() if _is_saved(name, held)}


def _is_saved(name: str, collections: Mapping[str, set[str]]) -> bool:
    """Whether a checkpoint has a variable: one of the global ones, where the graph says which these are."""
    return not collections or name in collections.get("variables", set().union(*collections.values()))


def _definitions(content: MetaGraphDef) -> Iterable[tuple[str, VariableDef]]:
    """The variables of collections."""
    for key, collection in content.collection_def.items():
        if "variables" in key or key == "global_step":
            for written in collection.bytes_list.value:
                yield key, VariableDef.FromString(written)


def _collections(content: MetaGraphDef) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for key, variable in _definitions(content):
        found.setdefault(key, set()).add(variable.variable_name.partition(":")[0])
    return found


def _initializers(content: MetaGraphDef) -> dict[str, str]:
    return {
        variable.variable_name.partition(":")[0]: variable.initializer_name
        for _, variable in _definitions(content)
        if variable.initializer_name
    }


def _possible(nodes: Sequence[NodeMessage]) -> list[NodeMessage]:
    """The nodes that can be made, with all that they need."""
    absent = {
        node.name
        for node in nodes
        if node.op in _FILES or not (node.op in (*_VARIABLES, *_ASSIGNMENTS) or is_imported(node.op))
    }
    count = -1
    while count != len(absent):
        count = len(absent)
        absent.update(
            node.name
            for node in nodes
            if any(text.removeprefix("^").partition(":")[0] in absent for text in node.input)
        )
    return [node for node in nodes if node.name not in absent]


def _variable(node: NodeMessage, prefix: str, keys: Sequence[str]) -> Variable:
    shape = node.attr["shape"].shape
    sizes = [1 if size.size < 0 else size.size for size in shape.dim]
    dtype = _core.DType(node.attr["dtype"].type)
    outer, _, local = f"{prefix}{node.name}".rpartition("/")
    collections = [key for key in keys if key != _TRAINABLE]

    def first() -> _core.Tensor:
        return raw_ops.fill(sizes, _core._to_tensor("" if dtype == _core.string else 0, dtype))

    with scope.name_scope(f"{outer}/" if outer else ""), collected_in(collections):
        return Variable(first, trainable=_TRAINABLE in keys, name=local, dtype=dtype)


def _assignment(node: NodeMessage) -> NodeMessage:
    """The assignment to a variable of the older kind, as one of the newer."""
    attributes = {"dtype": AttrValue(type=node.attr["T"].type)}
    return NodeMessage(name=node.name, op=_ASSIGNMENTS[node.op], input=node.input, attr=attributes)


def read_meta_graph(path: Path) -> MetaGraphDef:
    """The description that a file holds, as bytes or text.

    Raises:
        DataLossError: for a file that holds none.
    """
    try:
        return MetaGraphDef.FromString(path.read_bytes())
    except DataLossError:
        return MetaGraphDef.FromString(content_of(path, "MetaGraphDef"))


def load_into(
    session: Any, tags: Iterable[str], export_dir: str | os.PathLike[str], within: str | None = None
) -> MetaGraphDef:
    """Add a SavedModel to the graph of a session, with the values of its variables.

    Raises:
        NotFoundError: where there is none.
        RuntimeError: where it has no graph of these tags.
        UnimplementedError: where a signature needs operators that the package does not have.
    """
    directory = Path(path_of(export_dir, "export_dir"))
    if (directory / FILE).is_file():
        return _by_signatures(session, directory, within)
    path = directory / TENSORFLOW_FILE
    if path.is_file():
        content = path.read_bytes()
    elif (directory / TEXT_FILE).is_file():
        path = directory / TEXT_FILE
        content = content_of(path)
    else:
        raise NotFoundError(
            f"argument 'export_dir': there is neither {FILE} nor {TENSORFLOW_FILE} in {directory}"
        )
    graphs: list[MetaGraphDef] = SavedModelMessage.FromString(content).meta_graphs
    wanted = set([tags] if isinstance(tags, str) else tags)
    found = next((graph for graph in graphs if set(graph.meta_info_def.tags) == wanted), None)
    if found is None:
        known = [sorted(graph.meta_info_def.tags) for graph in graphs]
        raise RuntimeError(f"{path} has no graph with the tags {sorted(wanted)}: there are {known}")
    bundle = directory / "variables" / "variables"
    values = Bundle(str(bundle)) if Path(f"{bundle}.index").is_file() else None
    there = {key for key, _, _ in values.entries()} if values is not None else set()
    nodes = GraphMessage.FromString(found.graph_def).node
    held = _collections(found)
    if any(n.op in _VARIABLES and n.name not in there and _is_saved(n.name, held) for n in nodes):
        # It is one of version 2, whose variables are those of objects.
        return _by_signatures(session, directory, within)
    with session.graph.entered():
        made = import_meta_graph(found, within)
    for name, variable in made.items():
        if values is not None:
            with _core._Outside():
                value = values.read(name)
            session.load(variable, value)
    _check_signatures(session.graph, found, within)
    _begin(session, found, directory, within)
    return found


def _begin(session: Any, content: MetaGraphDef, directory: Path, within: str | None) -> None:
    """Run what a SavedModel wants to be run first, with the paths of its files."""
    prefix = f"{within}/" if within else ""
    for key in ("saved_model_main_op", "legacy_init_op"):
        for name in content.collection_def[key].node_list.value if key in content.collection_def else ():
            feeds = {
                f"{prefix}{asset.tensor_info.name}": str(directory / "assets" / asset.filename)
                for asset in content.asset_file_def
            }
            session.run(f"{prefix}{name}", feeds)


def _check_signatures(graph: Any, content: MetaGraphDef, within: str | None) -> None:
    there = {operation.name for operation in graph.get_operations()} | set(graph.imported)
    nodes = GraphMessage.FromString(content.graph_def).node
    for key, signature in content.signature_def.items():
        for info in signature.outputs.values():
            name = f"{within}/{info.name}" if within else info.name
            if info.name and name.partition(":")[0] not in there:
                lacking = sorted({node.op for node in nodes if not is_imported(node.op)} - set(_VARIABLES))
                raise UnimplementedError(
                    f"the signature '{key}' needs an operator that the package does not have, one of "
                    f"{lacking}"
                )


def _by_signatures(session: Any, directory: Path, within: str | None) -> MetaGraphDef:
    """Placeholders for the arguments of each signature, and its results."""
    with _core._Outside():
        loaded = load_objects(directory)
    graph = session.graph
    # Its variables live as long as the graph.
    graph.kept.append(loaded)
    content = MetaGraphDef(meta_info_def={"tags": ["serve"]})
    prefix = f"{within}/" if within else ""
    with graph.entered(), scope.name_scope(prefix):
        for key, function in loaded.signatures.items():
            arguments = {
                name: placeholder(spec.dtype, spec.shape, f"{key}_{name}")
                for name, spec in _argument_specs(function).items()
            }
            results = function(**arguments)
            content.signature_def[key] = SignatureDef(
                inputs={name: build_tensor_info(tensor) for name, tensor in arguments.items()},
                outputs={name: build_tensor_info(tensor) for name, tensor in results.items()},
                method_name="tensorflow/serving/predict",
            )
    return content


def _argument_specs(function: Any) -> Mapping[str, Any]:
    specs: Mapping[str, Any] = function.structured_input_signature[1]
    return specs
