"""Calls from the examples of docstrings: one for each example, with its literal tensors marked."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from typing import Any

import public_names
from agreement.calls import Call, value_of
from penstock._api_names import symbols

__all__ = ["examples"]

# What turns a tensor into Python's values at the end of an example.
CONVERSIONS = ("numpy", "tolist", "to_list")
# What makes Python's values, or text, of one.
PYTHON = ("print", "str", "list", "float", "int", "bool", "round")
# What starts processes or servers, or is about this process and the machine.
LEFT_OUT = (
    "distribute",
    "profiler",
    "config",
    "test",
    "sysconfig",
    "version",
    "saved_model",
    "debugging.set",
)
# What changes the calls after it, asks for packages that TensorFlow's environment lacks, or never ends.
CHANGES = re.compile(
    r"enable_|disable_|set_\w*(verbosity|floatx|level|dtype|parallelism|eagerly)|import (ray|pyarrow|torch)"
    r"|\bray\.|no_gradient|RegisterGradient|register_"
)
# First parameters that take a tensor, of whatever dtype.
TENSORS = (
    *("x", "a", "t", "arr", "input", "input_tensor", "tensor", "data", "values", "value", "logits"),
    *("features", "params", "image", "images", "labels", "indices"),
)


class _Marked(ast.NodeTransformer):
    """Marks `tf.constant(literal, dtype)`, and takes conversions to Python's values and `print` away."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        after = isinstance(node.func, ast.Attribute) and _is_conversion(node.func.value)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in PYTHON and node.args:
            both = node.func.id == "print" and len(node.args) > 1
            return ast.Tuple(node.args, ast.Load()) if both else node.args[0]
        if after:
            return node.func
        if not isinstance(node.func, ast.Attribute):
            return node
        if node.func.attr in CONVERSIONS and not node.args and not node.keywords:
            return node.func.value
        self._mark_first(node)
        if ast.unparse(node.func) == "tf.constant" and node.args:
            dtypes = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "dtype")]
            names = [ast.Constant(ast.unparse(d).removeprefix("tf.")) for d in dtypes]
            marked = ast.Call(ast.Name("C", ast.Load()), [node.args[0], *names], [])
            # Within the function that has been visited, a list may be marked already.
            if isinstance(node.args[0], ast.Call) and _mark(node.args[0]) is not None:
                marked.args[0] = node.args[0].args[0]
            if len(dtypes) <= 1 and len(node.keywords) == len(dtypes) - len(node.args[1:]):
                return _mark(marked) or node
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Parts of what a tensor converts to are left out: `x.numpy().real`."""
        after = _is_conversion(node.value)
        self.generic_visit(node)
        return node.value if after else node

    def _mark_first(self, node: ast.Call) -> None:
        """Marks a list of integers that a function takes first, where it is not a shape."""
        symbol = symbols().get(ast.unparse(node.func).removeprefix("tf."))
        first = symbol.parameters[0] if symbol and symbol.parameters and symbol.name != "constant" else None
        if first in TENSORS and node.args and isinstance(node.args[0], ast.List):
            node.args[0] = _mark(ast.Call(ast.Name("C", ast.Load()), [node.args[0]], [])) or node.args[0]

    def visit_List(self, node: ast.List) -> ast.AST:
        """Marks a list of real numbers, or of lists of numbers."""
        flat = [leaf for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
        nested = bool(node.elts) and all(isinstance(x, ast.List) for x in node.elts)
        if flat and (nested or all(isinstance(leaf.value, float) for leaf in flat)):
            return _mark(ast.Call(ast.Name("C", ast.Load()), [node], [])) or node
        return self.generic_visit(node)


def _is_conversion(node: ast.AST) -> bool:
    """Whether an expression is a conversion to Python's values, or a method or part of what that gives."""
    if isinstance(node, ast.Subscript):
        return _is_conversion(node.value)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return (node.func.attr in CONVERSIONS and not node.args) or _is_conversion(node.func.value)


def _mark(marked: ast.Call) -> ast.Call | None:
    """A marked tensor, or None where it stands for no array."""
    if not isinstance(marked.func, ast.Name) or marked.func.id != "C":
        return None
    try:
        dtype = value_of(marked).dtype
    except Exception:
        return None
    return marked if dtype.kind != "O" or len(marked.args) > 1 or _is_text(marked.args[0]) else None


def _is_text(node: ast.AST) -> bool:
    leaves = [leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
    return bool(leaves) and all(isinstance(leaf, str | bytes) for leaf in leaves)


def _programs(text: str) -> Iterator[list[ast.stmt]]:
    """The examples of a docstring: statements between two texts."""
    statements: list[ast.stmt] = []
    for example in doctest.DocTestParser().get_examples(text):
        if example.exc_msg is None:
            statements.extend(ast.parse(example.source).body)
    if statements:
        yield statements


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and statement.names[0].name in ("penstock", "numpy")


def _named(statement: ast.stmt) -> ast.stmt:
    """`from penstock.a import b as c` as `c = tf.a.b`; other statements as they are."""
    if isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == "penstock":
        (name,) = statement.names
        path = ["tf", *(statement.module or "").split(".")[1:], name.name]
        return ast.parse(f"{name.asname or name.name} = {'.'.join(path)}").body[0]
    return statement


def examples() -> Iterator[Call]:
    """The calls that docstrings of public functions and classes show."""
    known = symbols().keys()
    others = {names[0]: names for names in public_names.aliases().values()}
    documented: list[tuple[str, Any]] = [(p.path, p.function) for p in public_names.public()]
    documented += [
        (path, value) for path, value in public_names.exported().items() if isinstance(value, type)
    ]
    for path, value in documented:
        owner, _, member = path.rpartition(".")
        names = [*others.get(path, [path]), *(f"{name}.{member}" for name in others.get(owner, []))]
        name = next((name for name in names if name in known), None)
        if name is None or name.startswith(LEFT_OUT):
            continue
        for statements in _programs(inspect.getdoc(value) or ""):
            body = [_named(s) for s in statements if not _is_import(s)]
            if not body or CHANGES.search("\n".join(map(ast.unparse, body))):
                continue
            tree = ast.fix_missing_locations(_Marked().visit(ast.Module(body, [])))
            if len(body) == 1 and isinstance(body[0], ast.Expr):
                yield Call(ast.unparse(tree), "eager", name)
            else:
                yield Call(ast.unparse(tree), "program", name)
