"""Names: which a piece of code assigns, which it reads, and which are live after a statement."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from penstock.autograph._line_events import Event
from penstock.autograph._tree import CHILDREN, DEFINITIONS, SCOPES, TRIES, children, own_nodes, parts, walk

__all__ = ["MUTATORS", "FactTable", "Facts", "Liveness", "Scope", "Survey", "may_choose", "read_names"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Facts:
    """What a piece of code does to names, in its own scope."""

    __slots__ = ("attributes", "bound", "calls", "decides", "mutated", "reads")

    def __init__(self) -> None:
        # The names that it binds, with the line of the last binding.
        self.bound: dict[str, int] = {}
        # The names of containers whose methods it calls to change them.
        self.mutated: dict[str, int] = {}
        # The attributes that it assigns, or whose items it assigns.
        self.attributes: list[ast.Attribute] = []
        # Every name that it reads, or declares nonlocal; those of nested functions too.
        self.reads: set[str] = set()
        self.calls = False
        # Whether it calls, decides, iterates or looks an element up: nothing else in an expression may take
        # part in control flow.
        self.decides = False

    def add(self, other: Facts) -> None:
        if other.bound:
            self.bound.update(other.bound)
        self.reads |= other.reads
        if other.mutated:
            self.mutated.update(other.mutated)
        if other.attributes:
            self.attributes += other.attributes
        if other.calls:
            self.calls = True
        if other.decides:
            self.decides = True


class FactTable:
    """The facts of the parts of a function, each looked at once."""

    def __init__(self) -> None:
        # With the node, whose identity would otherwise be another's once it is dropped.
        self._known: dict[int, tuple[ast.AST, Facts]] = {}
        self._blocks: dict[int, tuple[list[Any], Facts]] = {}

    def of(self, nodes: list[Any]) -> Facts:
        """The facts of several nodes, not to be changed."""
        if len(nodes) == 1:
            return self.one(nodes[0])
        known = self._blocks.get(id(nodes))
        if known is None or len(known[0]) != len(nodes):
            known = self._blocks[id(nodes)] = nodes, Facts()
            for node in nodes:
                known[1].add(self.one(node))
        return known[1]

    def both(self, first: ast.AST, block: list[Any]) -> Facts:
        """The facts of a node and of a block."""
        facts = Facts()
        facts.add(self.one(first))
        facts.add(self.of(block))
        return facts

    def one(self, node: ast.AST) -> Facts:
        """The facts of a node, not to be changed."""
        known = self._known.get(id(node))
        if known is not None:
            return known[1]
        facts = Facts()
        self._known[id(node)] = node, facts
        self._collect(node, facts, False)
        return facts

    def reads(self, node: ast.AST) -> set[str]:
        """The names that a node reads, not to be changed."""
        return self.one(node).reads

    def _collect(self, node: Any, facts: Facts, within: bool) -> None:
        """Adds the facts of a node; `within` a comprehension, targets are the comprehension's own."""
        stack = [node]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Name:
                context = type(node.ctx)
                if context is ast.Load:
                    facts.reads.add(node.id)
                    continue
                if context is ast.Del:
                    facts.reads.add(node.id)
                if not within:
                    facts.bound[node.id] = getattr(node, "lineno", 0)
            elif kind is not ast.Constant:
                special = _SPECIAL.get(kind)
                if special is not None and special(self, node, facts, within):
                    continue
                if kind in _DECIDING:
                    facts.decides = True
                if kind in _COMPREHENSIONS and not within:
                    for child in children(node):
                        self._collect(child, facts, True)
                elif kind in _COMPOUND:
                    # Its parts are asked for on their own, too.
                    for part in parts(node):
                        facts.add(self.of(part) if isinstance(part, list) else self.one(part))
                else:
                    stack += CHILDREN[kind](node)

    def _definition(self, node: Any, facts: Facts, within: bool) -> bool:
        facts.decides = True
        facts.reads |= read_names(node)
        if not isinstance(node, ast.Lambda):
            facts.bound[node.name] = node.lineno
            for inner in node.decorator_list:
                self._collect(inner, facts, within)
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
                self._collect(default, facts, within)
        return True

    def _walrus(self, node: Any, facts: Facts, within: bool) -> bool:
        # In a comprehension it still binds outside.
        facts.bound[node.target.id] = node.lineno
        self._collect(node.value, facts, within)
        return True

    def _named(self, node: Any, facts: Facts, within: bool) -> bool:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name:
            facts.bound[name] = node.lineno
        return False

    def _alias(self, node: Any, facts: Facts, within: bool) -> bool:
        facts.bound[node.name.id] = node.lineno
        return False

    def _import(self, node: Any, facts: Facts, within: bool) -> bool:
        for alias in node.names:
            facts.bound[alias.asname or alias.name.partition(".")[0]] = node.lineno
        return True

    def _outside(self, node: Any, facts: Facts, within: bool) -> bool:
        facts.reads.update(node.names)
        return True

    def _attribute(self, node: Any, facts: Facts, within: bool) -> bool:
        if type(node.ctx) is not ast.Load:
            facts.attributes.append(node)
        return False

    def _augmented(self, node: Any, facts: Facts, within: bool) -> bool:
        if type(node.target) is ast.Name:
            facts.reads.add(node.target.id)
        return False

    def _call(self, node: Any, facts: Facts, within: bool) -> bool:
        facts.calls = facts.decides = True
        callee = node.func
        if type(callee) is ast.Attribute and callee.attr in MUTATORS:
            root = _root(callee.value)
            if type(root) is ast.Name:
                facts.mutated[root.id] = node.lineno
            elif type(root) is ast.Attribute and callee.attr != "add":
                # Sets hold no tensors, and modules have functions of the name.
                facts.attributes.append(root)
        return False

    def _event(self, node: Any, facts: Facts, within: bool) -> bool:
        return True

    def _subscript(self, node: Any, facts: Facts, within: bool) -> bool:
        if type(node.ctx) is not ast.Load:
            root = _root(node.value)
            if type(root) is ast.Name:
                facts.mutated[root.id] = node.lineno
            elif type(root) is ast.Attribute:
                facts.attributes.append(root)
        elif may_choose(node.slice):
            facts.decides = True
        return False


def may_choose(index: ast.expr) -> bool:
    """Whether an index may be a tensor, or a tuple with one, that chooses an element of a container."""
    if type(index) is ast.Tuple:
        return not any(isinstance(part, (ast.Slice, ast.Starred)) for part in index.elts)
    if type(index) is ast.UnaryOp:
        index = index.operand
    return not isinstance(index, (ast.Constant, ast.Slice))


def _root(place: ast.expr) -> ast.expr:
    """What holds the container that an expression gives, or the expression itself."""
    while type(place) is ast.Subscript:
        place = place.value
    return place


_SPECIAL: dict[type, Callable[[FactTable, Any, Facts, bool], bool]] = {
    ast.FunctionDef: FactTable._definition,
    ast.AsyncFunctionDef: FactTable._definition,
    ast.ClassDef: FactTable._definition,
    ast.Lambda: FactTable._definition,
    ast.NamedExpr: FactTable._walrus,
    ast.ExceptHandler: FactTable._named,
    ast.MatchAs: FactTable._named,
    ast.MatchStar: FactTable._named,
    ast.MatchMapping: FactTable._named,
    ast.Import: FactTable._import,
    ast.ImportFrom: FactTable._import,
    ast.Global: FactTable._outside,
    ast.Nonlocal: FactTable._outside,
    ast.Attribute: FactTable._attribute,
    ast.AugAssign: FactTable._augmented,
    ast.Call: FactTable._call,
    Event: FactTable._event,
    ast.Subscript: FactTable._subscript,
}
if hasattr(ast, "TypeAlias"):
    _SPECIAL[ast.TypeAlias] = FactTable._alias

_DECIDING = frozenset({ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.Compare, *_COMPREHENSIONS})

_COMPOUND = frozenset({ast.If, ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, *TRIES, ast.Match})

# fmt: off
MUTATORS = frozenset({
    "add", "append", "appendleft", "clear", "extend", "insert", "pop", "popleft", "remove", "reverse",
    "setdefault", "sort", "update",
})
# fmt: on


class Survey:
    """What stands in a function, but for the insides of nested functions and classes: found in one walk."""

    def __init__(self, node: ast.FunctionDef) -> None:
        self.returns: list[ast.Return] = []
        # Whether it has loops, jumps of loops, or `match`.
        self.jumps = False
        self.matches = False
        # Whether it is a generator or a coroutine.
        self.yields = False
        # Whether it calls what sees all names.
        self.dynamic = False
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        # Whether it assigns to items, or calls `set_element_type`.
        self.items = False
        # Nested functions and classes.
        self.nested: list[ast.AST] = []
        stack: list[ast.AST] = [*node.body]
        while stack:
            inner = stack.pop()
            kind = type(inner)
            if kind is ast.Constant:
                continue
            if kind in _NOTED:
                _NOTED[kind](self, inner)
            if kind not in SCOPES:
                stack += CHILDREN[kind](inner)

    def _name(self, node: Any) -> None:
        if node.id in _DYNAMIC:
            self.dynamic = True
        elif node.id == "set_element_type":
            self.items = True

    def _attribute(self, node: Any) -> None:
        if node.attr == "set_element_type":
            self.items = True

    def _subscript(self, node: Any) -> None:
        if type(node.ctx) is not ast.Load:
            self.items = True

    def _return(self, node: Any) -> None:
        self.returns.append(node)

    def _jump(self, node: Any) -> None:
        self.jumps = True

    def _match(self, node: Any) -> None:
        self.jumps = self.matches = True

    def _yield(self, node: Any) -> None:
        self.yields = True

    def _global(self, node: Any) -> None:
        self.globals.update(node.names)

    def _nonlocal(self, node: Any) -> None:
        self.nonlocals.update(node.names)

    def _nested(self, node: Any) -> None:
        self.nested.append(node)


_WITHS = (ast.With, ast.AsyncWith)
# What gives its targets a value whatever happens; a declaration without value gives none.
_KILLING = frozenset({ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Delete})

# Statements without others in them after which the next one runs.
_SIMPLE = frozenset({*_KILLING, ast.AugAssign, ast.Expr, ast.Pass, ast.Assert})

# Statements that a tensor may decide.
_DECIDED = frozenset({ast.If, ast.While, ast.For})

_DYNAMIC = frozenset({"locals", "eval", "exec", "vars", "dir"})
_NOTED: dict[type, Callable[[Survey, Any], None]] = {
    ast.Name: Survey._name,
    ast.Attribute: Survey._attribute,
    ast.Subscript: Survey._subscript,
    ast.Return: Survey._return,
    ast.Break: Survey._jump,
    ast.Continue: Survey._jump,
    ast.For: Survey._jump,
    ast.While: Survey._jump,
    ast.Match: Survey._match,
    ast.Yield: Survey._yield,
    ast.YieldFrom: Survey._yield,
    ast.Await: Survey._yield,
    ast.Global: Survey._global,
    ast.Nonlocal: Survey._nonlocal,
    ast.FunctionDef: Survey._nested,
    ast.AsyncFunctionDef: Survey._nested,
    ast.Lambda: Survey._nested,
    ast.ClassDef: Survey._nested,
}


class Scope:
    """The names of one function: its locals, and those that it declares global or nonlocal."""

    def __init__(self, node: ast.FunctionDef, survey: Survey, facts: FactTable) -> None:
        args = node.args
        every = (
            *args.posonlyargs,
            *args.args,
            *args.kwonlyargs,
            *(a for a in (args.vararg, args.kwarg) if a),
        )
        self.parameters = {a.arg for a in every}
        self.globals, self.nonlocals, self.dynamic = survey.globals, survey.nonlocals, survey.dynamic
        # For each name that nested functions and classes read, these.
        self.captors: dict[str, list[ast.AST]] = {}
        # Variables that nested functions assign: a call may change them.
        self.effects: set[str] = set()
        for inner in survey.nested:
            for name in read_names(inner):
                self.captors.setdefault(name, []).append(inner)
            for deeper in walk(inner):
                if isinstance(deeper, ast.Nonlocal):
                    self.effects.update(deeper.names)
        # Variables whose items are assigned.
        self.changed: set[str] = set()
        outside = self.globals | self.nonlocals
        bound = facts.of(node.body).bound
        self.locals = (self.parameters | bound.keys()) - outside
        self.assigned_outside = {n: line for n, line in bound.items() if n in outside}


def read_names(node: ast.AST) -> set[str]:
    """Every name that is read, or declared nonlocal, in a node, but for locals of the functions in it."""
    names: set[str] = set()
    own: set[str] = set()
    outside: set[str] = set()
    stack: list[ast.AST] = [node]
    if isinstance(node, _FUNCTIONS):
        args = node.args
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        own.update(a.arg for a in every if a is not None)
        stack = [*node.body] if isinstance(node.body, list) else [node.body]
    while stack:
        inner = stack.pop()
        kind = type(inner)
        if kind is ast.Name:
            (own if type(inner.ctx) is ast.Store else names).add(inner.id)  # type: ignore[attr-defined]
        elif kind is ast.Nonlocal or kind is ast.Global:
            outside.update(inner.names)  # type: ignore[attr-defined]
        elif inner is not node and kind in _FUNCTIONS:
            names |= read_names(inner)
        elif kind is ast.comprehension:
            # Its target is none of the function's.
            stack += [inner.iter, *inner.ifs]  # type: ignore[attr-defined]
            stack += [n for n in walk(inner.target) if type(getattr(n, "ctx", None)) is ast.Load]  # type: ignore[attr-defined]
        else:
            stack += children(inner)
    if isinstance(node, _FUNCTIONS):
        names -= own
        # What is computed where it is defined.
        around = (
            *getattr(node, "decorator_list", ()),
            *getattr(node, "type_params", ()),
            getattr(node, "returns", None),
        )
        for part in (node.args, *around):
            names |= read_names(part) if part is not None else set()
    return names | outside


def _bound_where(test: ast.AST, truth: bool | None) -> frozenset[str]:
    """The names that a test has surely bound where it comes out as `truth`; None is for either."""
    if isinstance(test, ast.BoolOp):
        every = truth is isinstance(test.op, ast.And)
        parts = test.values if every else test.values[:1]
        return frozenset().union(*(_bound_where(p, truth if every else None) for p in parts))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _bound_where(test.operand, None if truth is None else not truth)
    if isinstance(test, ast.NamedExpr):
        return _bound_where(test.value, truth) | {test.target.id}
    if isinstance(test, ast.Compare):
        return _bound_where(test.left, None) | _bound_where(test.comparators[0], None)
    if isinstance(test, ast.IfExp):
        return _bound_where(test.test, None)
    if isinstance(test, (ast.Lambda, *_COMPREHENSIONS)):
        return frozenset()
    return frozenset().union(*(_bound_where(child, None) for child in children(test)))


class Liveness:
    """Which names may be read after each statement, by the statement's identity.

    The code has no break, continue or return inside of control flow any more, apart from the last
    return of the function, and from generators. Names that nested functions see, and those that live
    outside of the function, are live everywhere.
    """

    def __init__(self, scope: Scope, facts: FactTable) -> None:
        self.always = scope.captors.keys() | scope.globals | scope.nonlocals
        if scope.dynamic:
            self.always |= scope.locals
        # For each `if` and each loop: what may be read after it.
        self.after: dict[int, frozenset[str]] = {}
        # For a loop: what may be read when its test is reached again.
        self.header: dict[int, frozenset[str]] = {}
        # For a loop: what its body reads before it gives that a value.
        self._gains: dict[int, frozenset[str]] = {}
        self._recording = True
        # The statements, whose identities would otherwise be others' once they are rewritten.
        self._held: list[ast.stmt] = []
        self._facts = facts
        self._reads = facts.reads
        self._locals = scope.locals

    def block(self, statements: list[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        for statement in reversed(statements):
            live = self.statement(statement, live)
        return live

    def statement(self, node: ast.stmt, live: frozenset[str]) -> frozenset[str]:
        kind = type(node)
        if kind in _SIMPLE:
            facts = self._facts.one(node)
            if kind in _KILLING and getattr(node, "value", node) is not None:
                live = live - facts.bound.keys()
            return live | facts.reads
        if kind in _DECIDED and self._recording:
            self.after[id(node)] = self.after.get(id(node), frozenset()) | live
            self._held.append(node)
        if isinstance(node, ast.If):
            body, orelse = self.block(node.body, live), self.block(node.orelse, live)
            if not self._facts.one(node.test).bound:
                return body | orelse | self._reads(node.test)
            reads = self._reads_first(node.test)
            return (body - _bound_where(node.test, True)) | (orelse - _bound_where(node.test, False)) | reads
        if isinstance(node, ast.While):
            return self._loop(node, live | self._reads(node.test), frozenset())
        if isinstance(node, ast.For):
            start = live.union(
                self._reads(node.target), *(self._reads(e) for e in getattr(node, "extra_tests", ()))
            )
            return self._loop(node, start, frozenset(self._facts.one(node.target).bound)) | self._reads(
                node.iter
            )
        if isinstance(node, _WITHS):
            inner = self.block(node.body, live)
            targets = [i.optional_vars for i in node.items if i.optional_vars is not None]
            bound = self._facts.of(targets).bound.keys()
            # The body may be left at any point where the context manager swallows an exception.
            inner = (inner - bound) | live
            return inner.union(*(self._reads(i.context_expr) for i in node.items))
        if isinstance(node, TRIES):
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
        if isinstance(node, DEFINITIONS):
            return (live - {node.name}) | self._reads(node)
        if isinstance(node, ast.Return):
            return frozenset(self._reads(node))
        if isinstance(node, (ast.Break, ast.Continue)):
            # Only generators have them: what follows is somewhere else.
            return frozenset(self._locals)
        return live | self._reads(node)

    def _reads_first(self, test: ast.expr) -> set[str]:
        """The names that a test reads before it binds them itself."""
        if not isinstance(test, ast.BoolOp):
            return self._reads(test)
        names: set[str] = set()
        bound: frozenset[str] = frozenset()
        for value in test.values:
            names |= self._reads_first(value) - bound
            bound |= _bound_where(value, isinstance(test.op, ast.And))
        return names

    def pinned(self, statements: list[ast.stmt], live: frozenset[str]) -> None:
        """Adds names to what is live after every statement in a block."""
        if not self._recording:
            return
        for statement in statements:
            for node in own_nodes([statement]):
                if type(node) in _DECIDED:
                    self.after[id(node)] = self.after.get(id(node), frozenset()) | live

    def _loop(
        self, node: ast.While | ast.For, start: frozenset[str], targets: frozenset[str]
    ) -> frozenset[str]:
        """What is live where a loop's test is reached.

        `start` is what the test and the code after the loop need.

        A block maps what is live after it to `gain | (live - lost)`; one application reaches the fixed point.
        """
        recording, self._recording = self._recording, False
        gain = self._gains.get(id(node))
        if gain is None:
            gain = self._gains[id(node)] = self.block(node.body, frozenset())
        self._recording = recording
        seen = start | (gain - targets)
        if recording:
            self.block(node.body, seen)
            self.header[id(node)] = seen
        return seen
