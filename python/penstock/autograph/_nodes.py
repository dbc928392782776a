"""Nodes of which converted code is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from penstock.autograph._tree import made, place, places

__all__ = [
    "ITEM",
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

# Displays that a target may be.
SEQUENCES = (ast.Tuple, ast.List)

# One node stands wherever it says all there is to say: it has no position, and nobody changes it.
LOAD, STORE = ast.Load(), ast.Store()
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def load(name: str, where: ast.AST | None = None) -> ast.Name:
    return ast.Name(name, LOAD) if where is None else made(ast.Name, places(where)[0], id=name, ctx=LOAD)


def operation(name: str, where: ast.AST, *args: ast.expr, keywords: Iterable[ast.keyword] = ()) -> ast.Call:
    """A call of an operator, in place of a node."""
    whole, within = places(where)
    operators = made(ast.Name, within, id=OPERATORS, ctx=LOAD)
    function = made(ast.Attribute, within, value=operators, attr=name, ctx=LOAD)
    given = [*keywords]
    if args or given:
        place((*args, *given), within)
    return made(ast.Call, whole, func=function, args=[*args], keywords=given)


def constant(value: tuple[Any, ...]) -> ast.Constant:
    return ast.Constant(value)  # type: ignore[arg-type]


def later(value: ast.expr) -> ast.Lambda:
    if "lineno" not in value.__dict__:
        return ast.Lambda(_NO_ARGUMENTS, value)
    return made(ast.Lambda, places(value)[0], args=_NO_ARGUMENTS, body=value)


def define(name: str, body: list[ast.stmt], where: ast.AST, *parameters: str) -> ast.stmt:
    """A function, whose head stands in place of a node."""
    whole, within = places(where)
    arguments = _NO_ARGUMENTS
    if parameters:
        named = [made(ast.arg, within, arg=name) for name in parameters]
        arguments = ast.arguments([], named, None, [], [], None, [])
    return made(
        ast.FunctionDef, whole, name=name, args=arguments, body=body, decorator_list=[], type_params=[]
    )


def _pattern(target: ast.expr) -> tuple[Any, ...] | None:
    """The structure of a tuple of targets; None for another target, or with a starred one."""
    if not isinstance(target, SEQUENCES) or any(isinstance(t, ast.Starred) for t in target.elts):
        return None
    return tuple(map(_pattern, target.elts))


def unpacked(value: ast.expr, target: ast.expr) -> ast.expr:
    pattern = _pattern(target)
    if pattern is None or (isinstance(value, SEQUENCES) and not any(pattern)):
        return value
    return operation("unpack", value, value, constant(pattern))
