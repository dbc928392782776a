"""Walks over syntax trees, without the cost of `ast`'s general ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

__all__ = [
    "DEFINITIONS",
    "LOOPS",
    "TRIES",
    "Transformer",
    "children",
    "copy_location",
    "locate",
    "own_nodes",
    "parts",
    "walk",
]

Node = TypeVar("Node", bound=ast.AST)

# Classes of statements.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LOOPS = (ast.For, ast.While)
TRIES = (ast.Try, ast.TryStar)

_SCOPES = frozenset({*DEFINITIONS, ast.Lambda})
# Fields that hold no nodes, or only operators and contexts.
# fmt: off
_PLAIN = frozenset({
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "keyword", "kind", "kwd_attrs", "level",
    "module", "name", "names", "op", "ops", "rest", "simple", "str", "tag", "type_comment",
})
# fmt: on


class _Fields(dict[type, tuple[str, ...]]):
    """For each class of nodes the fields that hold nodes, found when they are asked for."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
        if kind is ast.Constant or kind is ast.MatchSingleton:
            fields = ()
        elif kind is ast.For:
            # Tests that the lowering of jumps adds.
            fields = (*fields, "extra_tests")
        found = self[kind] = tuple(f for f in fields if f not in _PLAIN)
        return found


_FIELDS = _Fields()


class _Children(dict[type, Callable[[Any], Iterable[ast.AST]]]):
    """For each class of nodes the function that lists what stands in one, made when it is asked for."""

    def __missing__(self, kind: type) -> Callable[[Any], Iterable[ast.AST]]:
        names = _FIELDS[kind]

        def listed(node: Any) -> list[ast.AST]:
            found: list[ast.AST] = []
            for name in names:
                value = getattr(node, name, None)
                if value is None:
                    continue
                if type(value) is list:
                    found += value if None not in value else [v for v in value if v is not None]
                elif isinstance(value, ast.AST):
                    found.append(value)
            return found

        found = self[kind] = listed if names else lambda node: ()
        return found


# The commonest classes need no search for their fields.
_CHILDREN = _Children(
    {
        ast.Attribute: lambda node: (node.value,),
        ast.BinOp: lambda node: (node.left, node.right),
        ast.BoolOp: lambda node: node.values,
        ast.Call: lambda node: (node.func, *node.args, *node.keywords),
        ast.Compare: lambda node: (node.left, *node.comparators),
        ast.Expr: lambda node: (node.value,),
        ast.Assign: lambda node: (*node.targets, node.value),
        ast.AugAssign: lambda node: (node.target, node.value),
        ast.If: lambda node: (node.test, *node.body, *node.orelse),
        ast.Subscript: lambda node: (node.value, node.slice),
        ast.Tuple: lambda node: node.elts,
        ast.UnaryOp: lambda node: (node.operand,),
        ast.keyword: lambda node: (node.value,),
    }
)


def children(node: ast.AST) -> Iterable[ast.AST]:
    """The nodes that stand in a node, but for operators and contexts."""
    return _CHILDREN[type(node)](node)


def parts(node: ast.AST) -> Iterator[ast.AST | list[ast.AST]]:
    """What stands in the fields of a node that hold nodes: nodes and lists of them."""
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if value:
            yield value


def copy_location(new: Node, old: ast.AST) -> Node:
    """The new node, with the position of the old one, if that has one."""
    to, of = new.__dict__, old.__dict__
    if "lineno" in of:
        to["lineno"], to["col_offset"] = of["lineno"], of["col_offset"]
        to["end_lineno"], to["end_col_offset"] = of.get("end_lineno"), of.get("end_col_offset")
    return new


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is in it, but for operators and contexts."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += _CHILDREN[type(node)](node)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and what is in them, without the insides of nested functions and classes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        kind = type(node)
        if kind not in _SCOPES:
            stack += _CHILDREN[kind](node)


_LEAVES = frozenset({ast.Name, ast.Constant})


def locate(node: ast.AST, line: int, column: int, end_line: int, end_column: int) -> None:
    """Gives nodes without a position that of what they are in; of its beginning, if it has several lines."""
    fields = node.__dict__
    if "lineno" in fields:
        line, column = fields["lineno"], fields["col_offset"]
        end = fields.get("end_lineno")
        if end is not None:
            end_line, end_column = end, fields["end_col_offset"]
        # Parts may have moved: the end is not before the beginning.
        if end_line < line or (end_line == line and end_column < column):
            end_line, end_column = line, column
            end = None
        if end is None:
            fields["end_lineno"], fields["end_col_offset"] = end_line, end_column
        if end_line != line:
            # The compiler takes an attribute on several lines to be on the last.
            end_line, end_column = line, column
    elif node._attributes:
        fields["lineno"], fields["col_offset"] = line, column
        fields["end_lineno"], fields["end_col_offset"] = end_line, end_column
    for child in _CHILDREN[type(node)](node):
        if type(child) not in _LEAVES:
            locate(child, line, column, end_line, end_column)
        elif "lineno" not in (fields := child.__dict__):
            fields["lineno"], fields["col_offset"] = line, column
            fields["end_lineno"], fields["end_col_offset"] = end_line, end_column


class Transformer:
    """Replaces expressions: a subclass has a method `visit_X` for each type `X` of node that it replaces."""

    _methods: ClassVar[dict[type, Callable[[Any, Any], Any] | None]]

    def __init_subclass__(cls) -> None:
        cls._methods = {ast.Name: None, ast.Constant: None}

    def visit(self, node: Any) -> Any:
        kind = type(node)
        try:
            method = self._methods[kind]
        except KeyError:
            method = self._methods[kind] = getattr(type(self), f"visit_{kind.__name__}", None)
        if method is not None:
            return method(self, node)
        if kind not in _LEAVES:
            self.inside(node)
        return node

    def inside(self, node: ast.AST) -> None:
        """Visits what is in a node."""
        for name in _FIELDS[type(node)]:
            value = getattr(node, name, None)
            if type(value) is list:
                for i, item in enumerate(value):
                    if item is not None and (new := self.visit(item)) is not item:
                        value[i] = new
            elif isinstance(value, ast.AST) and (new := self.visit(value)) is not value:
                setattr(node, name, new)
