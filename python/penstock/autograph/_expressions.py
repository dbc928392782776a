"""The rewriting of expressions: calls, logic, comparisons, comprehensions and elements."""

from __future__ import annotations

import ast
from typing import Any

from penstock.autograph._names import may_choose
from penstock.autograph._nodes import ITEM, LOAD, later, load, operation, unpacked
from penstock.autograph._tree import Transformer, holds, own_nodes, placed, walk

__all__ = ["Expressions", "binds_outside", "repeatable"]


def _is_generator(node: ast.AST) -> bool:
    inner = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(inner))


def binds_outside(*nodes: ast.AST) -> bool:
    """Whether an expression assigns a name, or yields: it cannot move into a function then."""
    return holds(nodes, _FIXED)


_FIXED = frozenset({ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await})
_ONCE = frozenset({ast.Call, ast.NamedExpr, ast.ListComp, ast.GeneratorExp})


def _harmless(node: ast.expr) -> bool:
    """Whether computing an expression can neither fail, have an effect, nor cost much."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return True
    if isinstance(node, ast.UnaryOp):
        return _harmless(node.operand)
    if isinstance(node, ast.BinOp):
        return (
            isinstance(node.op, (ast.Add, ast.Sub, ast.Mult))
            and _harmless(node.left)
            and _harmless(node.right)
        )
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and all(map(_harmless, (node.left, *node.comparators)))
    return isinstance(node, ast.BoolOp) and all(map(_harmless, node.values))


def repeatable(node: ast.expr) -> bool:
    """Whether an expression may be evaluated once more: it calls nothing and assigns nothing."""
    return not holds([node], _ONCE)


# What takes all of a generator at once.
_CONSUMERS = frozenset(
    {"all", "any", "dict", "frozenset", "len", "list", "max", "min", "set", "sorted", "sum", "tuple"}
)


def _stays(*nodes: ast.expr) -> bool:
    """Whether parts of a comprehension must stay in one: they assign, yield, or make functions."""
    if binds_outside(*nodes):
        return True
    consumed: set[int] = set()
    for root in nodes:
        for node in walk(root):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CONSUMERS:
                consumed.update(map(id, node.args))
            elif isinstance(node, ast.Lambda) or (
                isinstance(node, ast.GeneratorExp) and id(node) not in consumed
            ):
                return True
    return False


def _with_target(target: ast.expr, value: ast.expr) -> ast.Lambda:
    """A function of an item, which is assigned to a target for the value."""
    name = target.id if isinstance(target, ast.Name) else ITEM
    if not isinstance(target, ast.Name):
        item = ast.Tuple([unpacked(load(ITEM, target), target)], LOAD)
        once = ast.ListComp(value, [ast.comprehension(target, item, [], 0)])
        value = placed(ast.Subscript(placed(once, value), ast.Constant(0), LOAD), value)
    return placed(ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), value), value)


class Expressions(Transformer):
    """Calls, logic and conditional expressions."""

    def __init__(self, instance: str | None) -> None:
        self.instance = instance

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return self.call(node, "c")

    def call(self, node: ast.Call, operator: str) -> ast.expr:
        self.inside(node)
        callee = node.func
        if isinstance(callee, ast.Name) and callee.id == "super" and not node.args and not node.keywords:
            if self.instance is not None:
                # In an inner function the arguments are not to be found.
                node.args = [load("__class__", node), load(self.instance, node)]
            return node
        node.func = operation(operator, callee, callee)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        plain = binds_outside(*node.values[1:])
        harmless = [_harmless(v) for v in node.values]
        self.inside(node)
        if plain:
            return node
        name = "and" if isinstance(node.op, ast.And) else "or"
        values = list(node.values)
        result = values[-1]
        safe = harmless[-1]
        for value, fine in zip(reversed(values[:-1]), reversed(harmless[:-1]), strict=True):
            result = operation(f"{name}_both" if safe else f"{name}_", node, value, later(result))
            safe = safe and fine
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.inside(node)
        if isinstance(node.op, ast.Not):
            return operation("not_", node, node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        plain = binds_outside(node.body, node.orelse)
        self.inside(node)
        if plain:
            return node
        return operation("if_exp", node, node.test, later(node.body), later(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        plain = len(node.ops) == 1 or binds_outside(*node.comparators)
        self.inside(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = operation("in_", node, node.left, *node.comparators)
            return found if isinstance(node.ops[0], ast.In) else operation("not_", node, found)
        if plain:
            return node
        rest: list[ast.expr] = [
            ast.Tuple([ast.Constant(type(op).__name__), later(value)], LOAD)
            for op, value in zip(node.ops, node.comparators, strict=True)
        ]
        return operation("chain", node, node.left, *rest)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.inside(node)
        if type(node.ctx) is ast.Load and may_choose(node.slice):
            return operation("item", node, node.value, node.slice)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if not _is_generator(node):
            inner = Expressions(None)
            node.args = self.visit(node.args)
            node.body = inner.visit(node.body)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        parts = [*(g.iter for g in node.generators), *(t for g in node.generators for t in g.ifs), node.elt]
        if any(g.is_async for g in node.generators) or _stays(*parts):
            return self._plain(node, "a comprehension that makes functions, or assigns,")
        return self._collected(node, node.generators)

    def _collected(self, node: ast.ListComp, generators: list[ast.comprehension]) -> ast.expr:
        """The list of the elements over what is left of the `for` parts."""
        first, *rest = generators
        test = self._test_of(first)
        value = self._collected(node, rest) if rest else self.visit(node.elt)
        iterable = self.visit(first.iter)
        args: list[ast.expr] = [iterable, _with_target(first.target, value)]
        if test is not None:
            args.append(_with_target(first.target, test))
        nested = [ast.keyword("nested", ast.Constant(True))] if rest else []
        return operation("list_comp", node, *args, keywords=nested)

    def _test_of(self, generator: ast.comprehension) -> ast.expr | None:
        if not generator.ifs:
            return None
        tests = generator.ifs
        test = placed(ast.BoolOp(ast.And(), tests), tests[0]) if len(tests) > 1 else tests[0]
        return self.visit(test)  # type: ignore[no-any-return]

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        first = node.generators[0]
        if len(node.generators) > 1 or first.is_async or _stays(node.elt, *first.ifs):
            return self._plain(node, "a generator of several parts, or that makes functions, or assigns,")
        iterable, value, test = self.visit(first.iter), self.visit(node.elt), self._test_of(first)
        first.iter = load(ITEM, iterable)
        what = ast.Constant("a generator that Python runs")
        first.ifs = [] if test is None else [operation("wanted", test, test, what)]
        node.elt = value
        plain = ast.Lambda(ast.arguments([], [ast.arg(ITEM)], None, [], [], None, []), node)
        args = [iterable, placed(plain, node), _with_target(first.target, value)]
        if test is not None:
            args.append(_with_target(first.target, test))
        return operation("generator", node, *args)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._plain(node, "a set comprehension, whose elements must be told apart while tracing,")

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._plain(node, "a dict comprehension, whose keys must be known while tracing,")

    def _plain(self, node: Any, what: str) -> ast.expr:
        """A comprehension that stays Python's."""
        self.inside(node)
        for generator in node.generators:
            if not generator.is_async:
                iterable = generator.iter
                generator.iter = operation("elements", iterable, iterable, ast.Constant(what))
                generator.ifs = [operation("wanted", t, t, ast.Constant(what)) for t in generator.ifs]
        return node  # type: ignore[no-any-return]

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node
