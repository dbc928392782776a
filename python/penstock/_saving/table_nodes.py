"""Tables as nodes of graphs: what makes them, and what fills them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, Final

from penstock import _core
from penstock._saving.graph_messages import AttrValue, NodeMessage, constant_node

__all__ = ["READ_TABLES", "TABLES", "fills_of", "table_nodes"]

# Operators that are tables, and those that change nothing of one.
TABLES: Final = (
    "HashTableV2",
    "MutableDenseHashTableV2",
    "MutableHashTableOfTensorsV2",
    "MutableHashTableV2",
)
READ_TABLES: Final = ("LookupTableExportV2", "LookupTableFindV2", "LookupTableSizeV2")


def table_nodes(table: Any, name: str) -> list[NodeMessage]:
    """The nodes that make a table, the first of which is the table, and that fill it with what is in it now.

    Args:
        table: the table.
        name: the name of its node.
    """
    with _core._Outside():
        keys, values = table.export()
        unused = table._unused if table._key_rank else None
        parts = [] if unused is None else [(f"unused_{i}", unused[i]) for i in range(2)]
    shape: Any = values.shape[1:]
    constants = [constant_node(f"{name}/{part}", value) for part, value in parts]
    content = [constant_node(f"{name}/keys", keys), constant_node(f"{name}/values", values)]
    # Programs share tables of one name, whatever graph they are of.
    mark = zlib.crc32(b"".join(node.SerializeToString() for node in [*constants, *content]))
    attributes = {
        "key_dtype": AttrValue(type=keys.dtype.as_datatype_enum),
        "value_dtype": AttrValue(type=values.dtype.as_datatype_enum),
        "shared_name": AttrValue(s=f"{name}_{mark:08x}".encode()),
    }
    op = "MutableHashTableV2" if hasattr(table, "insert") else "HashTableV2"
    if parts or shape.rank:
        op = "MutableDenseHashTableV2" if parts else "MutableHashTableOfTensorsV2"
        attributes["value_shape"] = AttrValue(shape={"dim": [{"size": size} for size in shape]})
    types = {"Tin": attributes["key_dtype"], "Tout": attributes["value_dtype"]}
    # A table whose keys are rows takes them by this alone.
    fill = "LookupTableInsertV2" if parts else "LookupTableImportV2"
    return [
        NodeMessage(name=name, op=op, input=[node.name for node in constants], attr=attributes),
        *constants,
        *content,
        NodeMessage(name=f"{name}/fill", op=fill, input=[name, *(node.name for node in content)], attr=types),
    ]


def fills_of(nodes: Iterable[NodeMessage]) -> list[str]:
    """The names of the nodes that fill tables, as `table_nodes` made them."""
    return [node.name for node in nodes if node.input and node.name == f"{node.input[0]}/fill"]
