"""Walks over syntax trees, without the cost of `ast`'s general ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["Transformer", "locate", "own_nodes", "walk"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_AST = ast.AST


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is in it."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        for value in vars(node).values():
            if type(value) is list:
                stack.extend([v for v in value if isinstance(v, _AST)])
            elif isinstance(value, _AST):
                stack.append(value)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and what is in them, without the insides of nested functions and classes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _SCOPES):
            continue
        for value in vars(node).values():
            if type(value) is list:
                stack.extend([v for v in value if isinstance(v, _AST)])
            elif isinstance(value, _AST):
                stack.append(value)


def locate(node: ast.AST, line: int, column: int, end_line: int, end_column: int) -> None:
    """Gives nodes without a position that of what they are in."""
    fields = vars(node)
    if "lineno" in fields:
        line, column = fields["lineno"], fields["col_offset"]
        if fields.get("end_lineno") is not None and fields.get("end_col_offset") is not None:
            end_line, end_column = fields["end_lineno"], fields["end_col_offset"]
        # Parts may have moved: the end is not before the beginning.
        if (end_line, end_column) < (line, column):
            end_line, end_column = line, column
        node.end_lineno, node.end_col_offset = end_line, end_column  # type: ignore[attr-defined]
    elif "lineno" in node._attributes:
        node.lineno, node.col_offset = line, column  # type: ignore[attr-defined]
        node.end_lineno, node.end_col_offset = end_line, end_column  # type: ignore[attr-defined]
    for value in list(fields.values()):
        if type(value) is list:
            for item in value:
                if isinstance(item, _AST):
                    locate(item, line, column, end_line, end_column)
        elif isinstance(value, _AST):
            locate(value, line, column, end_line, end_column)


class Transformer:
    """Replaces expressions: a subclass has a method `visit_X` for each type `X` of node that it replaces."""

    def __init__(self) -> None:
        self._methods: dict[type, Callable[[Any], Any] | None] = {ast.Name: None, ast.Constant: None}

    def visit(self, node: Any) -> Any:
        kind = type(node)
        if kind in self._methods:
            method = self._methods[kind]
        else:
            method = self._methods[kind] = getattr(self, f"visit_{kind.__name__}", None)
        if method is not None:
            return method(node)
        if kind is not ast.Name and kind is not ast.Constant:
            self.inside(node)
        return node

    def inside(self, node: ast.AST) -> None:
        """Visits what is in a node."""
        fields = vars(node)
        for name, value in list(fields.items()):
            if type(value) is list:
                for i, item in enumerate(value):
                    if isinstance(item, _AST):
                        value[i] = self.visit(item)
            elif isinstance(value, _AST):
                fields[name] = self.visit(value)
