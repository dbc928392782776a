"""Names: which a piece of code assigns, which it reads, and which are live after a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from penstock.autograph._tree import own_nodes, walk

__all__ = ["Liveness", "Scope", "assigned", "mutated", "read_names"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Assigned(ast.NodeVisitor):
    """The names that statements bind in their own scope, with the line of the last binding."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}

    def bind(self, name: str, node: ast.AST) -> None:
        self.lines[name] = getattr(node, "lineno", 0)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id, node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.bind(node.name, node)
        for inner in node.decorator_list:
            self.visit(inner)
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
                self.visit(default)

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(default)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        # The targets are the comprehension's own; a walrus in it binds outside.
        for inner in walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.bind(inner.target.id, inner)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bind(node.name, node)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0], node)

    visit_ImportFrom = visit_Import

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.bind(node.name, node)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest, node)
        self.generic_visit(node)


def assigned(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """The names that the nodes bind in their own scope, with the line of the last binding."""
    visitor = _Assigned()
    for node in nodes:
        visitor.visit(node)
    return visitor.lines


class Scope:
    """The names of one function: its locals, and those that it declares global or nonlocal."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda) -> None:
        args = node.args
        every = (
            *args.posonlyargs,
            *args.args,
            *args.kwonlyargs,
            *(a for a in (args.vararg, args.kwarg) if a),
        )
        self.parameters = {a.arg for a in every}
        body: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.captured: set[str] = set()
        # Variables that nested functions assign: a call may change them.
        self.effects: set[str] = set()
        self.dynamic = False
        for inner in own_nodes(body):
            if isinstance(inner, ast.Global):
                self.globals.update(inner.names)
            elif isinstance(inner, ast.Nonlocal):
                self.nonlocals.update(inner.names)
            elif isinstance(inner, (*_FUNCTIONS, ast.ClassDef)):
                self.captured.update(read_names(inner))
                for deeper in walk(inner):
                    if isinstance(deeper, ast.Nonlocal):
                        self.effects.update(deeper.names)
            elif isinstance(inner, ast.Name) and inner.id in ("locals", "eval", "exec", "vars", "dir"):
                self.dynamic = True
        outside = self.globals | self.nonlocals
        self.assigned_outside = {n: line for n, line in assigned(body).items() if n in outside}
        self.locals = (self.parameters | set(assigned(body))) - self.globals - self.nonlocals


def read_names(node: ast.AST) -> set[str]:
    """Every name that is read, or declared nonlocal, anywhere in a node."""
    names: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
        elif isinstance(inner, ast.Nonlocal | ast.Global):
            names.update(inner.names)
        elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
            names.add(inner.target.id)
    return names


class Liveness:
    """Which names may be read after each statement, by the statement's identity.

    The code has no break, continue or return inside of control flow any more, apart from the last
    return of the function. Names that nested functions see, and those that live outside of the
    function, are live everywhere.
    """

    def __init__(self, scope: Scope) -> None:
        self.always = scope.captured | scope.globals | scope.nonlocals
        if scope.dynamic:
            self.always |= scope.locals
        self.after: dict[int, frozenset[str]] = {}
        # For a loop: what may be read when its test is reached again.
        self.header: dict[int, frozenset[str]] = {}
        self._recording = True
        self._names: dict[int, set[str]] = {}

    def _reads(self, node: ast.AST) -> set[str]:
        found = self._names.get(id(node))
        if found is None:
            found = self._names[id(node)] = read_names(node)
        return found

    def is_live(self, name: str, live: frozenset[str]) -> bool:
        return name in live or name in self.always

    def block(self, statements: list[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        for statement in reversed(statements):
            live = self.statement(statement, live)
        return live

    def statement(self, node: ast.stmt, live: frozenset[str]) -> frozenset[str]:
        if self._recording:
            self.after[id(node)] = self.after.get(id(node), frozenset()) | live
        if isinstance(node, ast.If):
            return self.block(node.body, live) | self.block(node.orelse, live) | self._reads(node.test)
        if isinstance(node, ast.While):
            return self._loop(node, live | self._reads(node.test), frozenset())
        if isinstance(node, ast.For):
            start = live.union(
                self._reads(node.target), *(self._reads(e) for e in getattr(node, "extra_tests", ()))
            )
            return self._loop(node, start, frozenset(assigned([node.target]))) | self._reads(node.iter)
        if isinstance(node, ast.With | ast.AsyncWith):
            inner = self.block(node.body, live)
            bound = set(assigned(i.optional_vars for i in node.items if i.optional_vars is not None))
            # The body may be left at any point where the context manager swallows an exception.
            inner = (inner - bound) | live
            return inner.union(*(self._reads(i.context_expr) for i in node.items))
        if isinstance(node, ast.Try | getattr(ast, "TryStar", ast.Try)):
            final = self.block(node.finalbody, live)
            handlers = (
                final.union(*(self.block(h.body, final) for h in node.handlers)) if node.handlers else final
            )
            handlers = handlers.union(*(self._reads(h.type) for h in node.handlers if h.type is not None))
            orelse = self.block(node.orelse, final | handlers)
            # An exception may come at any point of the body.
            self.pinned(node.body, handlers)
            return self.block(node.body, orelse | handlers) | handlers
        if isinstance(node, ast.Match):
            out = live
            for case in node.cases:
                out |= self.block(case.body, live) | self._reads(case.pattern)
                if case.guard is not None:
                    out |= self._reads(case.guard)
            return out | self._reads(node.subject)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return (live - {node.name}) | self._reads(node)
        if isinstance(node, ast.Return):
            return frozenset(self._reads(node))
        killed = set()
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.Delete):
            targets_of: list[ast.AST] = [node]
            killed = set(assigned(targets_of))
            if isinstance(node, ast.AnnAssign) and node.value is None:
                killed = set()
        return (live - killed) | self._reads(node)

    def pinned(self, statements: list[ast.stmt], live: frozenset[str]) -> None:
        """Adds names to what is live after every statement in a block."""
        if not self._recording:
            return
        for statement in statements:
            for node in own_nodes([statement]):
                if isinstance(node, ast.stmt):
                    self.after[id(node)] = self.after.get(id(node), frozenset()) | live

    def _loop(
        self, node: ast.While | ast.For, start: frozenset[str], targets: frozenset[str]
    ) -> frozenset[str]:
        """What is live where a loop's test is reached, if `start` is live there for the test and the code after it.

        A block maps what is live after it to `gen | (live - kill)`; one application reaches the fixed point.
        """
        recording, self._recording = self._recording, False
        seen = start | (self.block(node.body, start) - targets)
        self._recording = recording
        if recording:
            self.block(node.body, seen)
            self.header[id(node)] = seen
        return seen


_MUTATORS = {
    "append", "appendleft", "extend", "insert", "pop", "popleft", "remove", "clear", "update", "setdefault", "add", "sort", "reverse",
}  # fmt: skip


def mutated(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """The names of containers whose methods are called to change them, with the line."""
    found = {}
    for node in own_nodes(nodes):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _MUTATORS
            and isinstance(node.func.value, ast.Name)
        ):
            found[node.func.value.id] = node.lineno
    return found
