"""Nodes of which converted code is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from penstock.autograph._tree import made, place, places

__all__ = [
    "ITEM",
    "LATER",
    "LOAD",
    "OPERATORS",
    "SEQUENCES",
    "STORE",
    "constant",
    "define",
    "later",
    "load",
    "operation",
    "unpacked",
]

# What converted code calls its operators, and the item of an iteration.
OPERATORS = "ag__"
ITEM = "item__"
# The parameter of functions that compute an expression later; nothing is given for it.
LATER = "later__"

# Displays that a target may be.
SEQUENCES = (ast.Tuple, ast.List)

# One node stands wherever it says all there is to say: it has no position, and nobody changes it.
LOAD, STORE = ast.Load(), ast.Store()
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def load(name: str, where: ast.AST | None = None) -> ast.Name:
    return (
        ast.Name(name, LOAD)
        if where is None
        else made(ast.Name, {"id": name, "ctx": LOAD, **places(where)[0]})
    )


def operation(name: str, where: ast.AST, *args: ast.expr, keywords: Iterable[ast.keyword] = ()) -> ast.Call:
    """A call of an operator, in place of a node."""
    whole, within = places(where)
    operators = made(ast.Name, {"id": OPERATORS, "ctx": LOAD, **within})
    function = made(ast.Attribute, {"value": operators, "attr": name, "ctx": LOAD, **within})
    given = [*keywords]
    place(args, within)
    place(given, within)
    return made(ast.Call, {"func": function, "args": [*args], "keywords": given, **whole})


def constant(value: tuple[Any, ...]) -> ast.Constant:
    return ast.Constant(value)  # type: ignore[arg-type]


def later(value: ast.expr) -> ast.Lambda:
    """A function that computes an expression of the one around it; its parameter tells it from the user's."""
    if "lineno" not in value.__dict__:
        return ast.Lambda(ast.arguments([], [], ast.arg(LATER), [], [], None, []), value)
    whole, within = places(value)
    arguments = ast.arguments([], [], made(ast.arg, {"arg": LATER, **within}), [], [], None, [])
    return made(ast.Lambda, {"args": arguments, "body": value, **whole})


def define(name: str, body: list[ast.stmt], where: ast.AST, *parameters: str) -> ast.stmt:
    """A function, whose head stands in place of a node."""
    whole, within = places(where)
    arguments = _NO_ARGUMENTS
    if parameters:
        named = [made(ast.arg, {"arg": name, **within}) for name in parameters]
        arguments = ast.arguments([], named, None, [], [], None, [])
    head = {"name": name, "args": arguments, "body": body, "decorator_list": [], "type_params": []}
    return made(ast.FunctionDef, {**head, **whole})


def _pattern(target: ast.expr) -> tuple[Any, ...] | None:
    """The structure of a tuple of targets; None for another target, or with a starred one."""
    if not isinstance(target, SEQUENCES) or any(isinstance(t, ast.Starred) for t in target.elts):
        return None
    return tuple(map(_pattern, target.elts))


def unpacked(value: ast.expr, target: ast.expr) -> ast.expr:
    """A value as it is assigned to a target, for one that has parts."""
    pattern = _pattern(target)
    if pattern is None or (isinstance(value, SEQUENCES) and not any(pattern)):
        return value
    return operation("unpack", value, value, constant(pattern))
