"""The tags of the graphs of SavedModels, by which one of several is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final

from penstock import nest
from penstock._runtime.messages import Field, Message
from penstock.errors import DataLossError

__all__ = ["OWN", "checked_tags", "of_tags", "without_objects"]

# Those of what the package saves.
OWN: Final = ("serve",)


class _Info(Message):
    FIELDS: ClassVar = {"tags": Field(4, "string", repeated=True)}


class _Graph(Message):
    FIELDS: ClassVar = {"meta_info_def": Field(1, _Info), "object_graph_def": Field(7, "bytes")}


class _Graphs(Message):
    FIELDS: ClassVar = {
        "saved_model_schema_version": Field(1, "int64"),
        "meta_graphs": Field(2, "bytes", repeated=True),
    }


def checked_tags(tags: Any, there: Iterable[str], directory: Path) -> None:
    """Refuse tags that are not those of the one graph of a SavedModel.

    Raises:
        ValueError: for other tags.
    """
    given = nest.flatten(list(tags) if isinstance(tags, set | frozenset) else tags)
    if {*map(str, given)} != {*there}:
        raise ValueError(
            f"argument 'tags': the SavedModel in {directory} has one graph, with the tags {list(there)}; got "
            f"{given}. Give these, or None"
        )


def without_objects(content: bytes) -> bytes | None:
    """The bytes of the graph of a SavedModel of TensorFlow 1, the one that serves; None for others."""
    try:
        graphs = _Graphs.FromString(content).meta_graphs
        parsed = [_Graph.FromString(graph) for graph in graphs]
    except DataLossError:
        return None
    serving = next((i for i, graph in enumerate(parsed) if OWN[0] in graph.meta_info_def.tags), 0)
    return None if not graphs or parsed[serving].object_graph_def else bytes(graphs[serving])


def of_tags(content: bytes, tags: Any, directory: Path) -> bytes | None:
    """The bytes of a SavedModel with the graph of some tags alone; None where it has no other.

    Raises:
        ValueError: where it has one graph, with other tags.
        RuntimeError: where it has several, and none with these tags.
    """
    message = _Graphs.FromString(content)
    parsed = [_Graph.FromString(graph) for graph in message.meta_graphs]
    tags_of = [list(graph.meta_info_def.tags) for graph in parsed]
    if len(parsed) == 1 and parsed[0].object_graph_def:
        checked_tags(tags, tags_of[0], directory)
        return None
    wanted = {*map(str, nest.flatten(list(tags) if isinstance(tags, set | frozenset) else tags))}
    for graph, there in zip(message.meta_graphs, tags_of, strict=True):
        if {*there} == wanted:
            version = message.saved_model_schema_version
            return _Graphs(saved_model_schema_version=version, meta_graphs=[graph]).SerializeToString()
    raise RuntimeError(
        f"argument 'tags': the SavedModel in {directory} has no graph with the tags {sorted(wanted)}: there "
        f"are {tags_of}"
    )
