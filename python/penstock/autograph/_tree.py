"""Walks over syntax trees, without the cost of `ast`'s general ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

__all__ = [
    "CHILDREN",
    "DEFINITIONS",
    "LOOPS",
    "SCOPES",
    "TRIES",
    "Transformer",
    "children",
    "holds",
    "made",
    "own_nodes",
    "parts",
    "place",
    "placed",
    "places",
    "point",
    "walk",
]

Node = TypeVar("Node", bound=ast.AST)
_NEW: Callable[[type[Any]], Any] = ast.AST.__new__

# Classes of statements.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LOOPS = (ast.For, ast.While)
TRIES = (ast.Try, ast.TryStar)

SCOPES = frozenset({*DEFINITIONS, ast.Lambda})
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
# The commonest classes of nodes without others in them.
_LEAVES = frozenset({ast.Name, ast.Constant})
# What stands in fields and holds no node to replace.
_IDLE = frozenset({*_LEAVES, type(None), str, int})


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


# What gives the nodes in one of a class, but for operators and contexts. The commonest classes need no search
# for their fields.
CHILDREN = _Children(
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
    return CHILDREN[type(node)](node)


def parts(node: ast.AST) -> Iterator[ast.AST | list[ast.AST]]:
    """What stands in the fields of a node that hold nodes: nodes and lists of them."""
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if value:
            yield value


Place = dict[str, int]


def places(node: ast.AST) -> tuple[Place, Place]:
    """The position of a node, and that of what is made to stand within it: on one line, so its beginning."""
    fields = node.__dict__
    line, column, end = fields["lineno"], fields["col_offset"], fields["end_lineno"]
    whole = {
        "lineno": line,
        "col_offset": column,
        "end_lineno": end,
        "end_col_offset": fields["end_col_offset"],
    }
    if end == line:
        return whole, whole
    # The compiler takes an attribute on several lines to be on the last.
    return whole, {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}


def made(kind: type[Node], fields: dict[str, Any]) -> Node:
    """A node with these fields, its place among them, without the cost of a call of its class."""
    new: Node = _NEW(kind)
    new.__dict__ = fields
    return new


def placed(new: Node, old: ast.AST) -> Node:
    """A new node, with the position of an old one, if that has one; so has what is new in it."""
    if "lineno" in old.__dict__:
        whole, within = places(old)
        new.__dict__.update(whole)
        kind = type(new)
        if kind not in _LEAVES:
            place(CHILDREN[kind](new), within)
    return new


def place(nodes: Iterable[ast.AST], where: Place) -> None:
    """Gives nodes without a position one, and those in them."""
    for node in nodes:
        fields = node.__dict__
        if "lineno" not in fields:
            kind = type(node)
            if kind in _LEAVES:
                fields.update(where)
                continue
            if node._attributes:
                fields.update(where)
            place(CHILDREN[kind](node), where)


def point(line: int, column: int, width: int = 0) -> ast.AST:
    """A node that stands for a place on a line."""
    return ast.Pass(lineno=line, col_offset=column, end_lineno=line, end_col_offset=column + width)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is in it, but for operators and contexts."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += CHILDREN[type(node)](node)


def holds(nodes: Iterable[ast.AST], kinds: frozenset[type]) -> bool:
    """Whether a node of some classes is among nodes, or in one of them."""
    stack = [*nodes]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in kinds:
            return True
        if kind not in _LEAVES:
            stack += CHILDREN[kind](node)
    return False


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and what is in them, without the insides of nested functions and classes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        kind = type(node)
        if kind not in SCOPES:
            stack += CHILDREN[kind](node)


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
            value: Any = getattr(node, name, None)
            kind = type(value)
            if kind is list:
                for i, item in enumerate(value):
                    if type(item) not in _IDLE and (new := self.visit(item)) is not item:
                        value[i] = new
            elif kind not in _IDLE and (new := self.visit(value)) is not value:
                setattr(node, name, new)
