"""Nodes of which converted code is made."""

from __future__ import annotations

import ast
from typing import Any

from penstock.autograph._tree import copy_location

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
_HAS_TYPE_PARAMS = "type_params" in ast.FunctionDef._fields
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def load(name: str) -> ast.Name:
    return ast.Name(name, LOAD)


def _operator(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(OPERATORS, LOAD), name, LOAD)


def operation(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(_operator(name), list(args), [])


def constant(value: tuple[Any, ...]) -> ast.Constant:
    return ast.Constant(value)  # type: ignore[arg-type]


def later(value: ast.expr) -> ast.Lambda:
    return copy_location(ast.Lambda(_NO_ARGUMENTS, value), value)


def define(name: str, body: list[ast.stmt], where: ast.AST, parameter: str | None = None) -> ast.stmt:
    arguments = _NO_ARGUMENTS
    if parameter is not None:
        arguments = ast.arguments([], [ast.arg(parameter)], None, [], [], None, [])
    function = ast.FunctionDef(name, arguments, body, [])
    if _HAS_TYPE_PARAMS:
        function.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return copy_location(function, where)


def _pattern(target: ast.expr) -> tuple[Any, ...] | None:
    """The structure of a tuple of targets; None for another target, or with a starred one."""
    if not isinstance(target, SEQUENCES) or any(isinstance(t, ast.Starred) for t in target.elts):
        return None
    return tuple(map(_pattern, target.elts))


def unpacked(value: ast.expr, target: ast.expr) -> ast.expr:
    pattern = _pattern(target)
    if pattern is None or (isinstance(value, SEQUENCES) and not any(pattern)):
        return value
    return copy_location(operation("unpack", value, constant(pattern)), value)
