"""The rewriting of a function: statements whose course a tensor may decide become calls of `ag__`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection
from typing import Any

from penstock.autograph._expressions import Expressions, binds_outside, repeatable
from penstock.autograph._jumps import lower_jumps, lower_jumps_between_yields
from penstock.autograph._line_events import add_events
from penstock.autograph._matching import lower_matches
from penstock.autograph._names import Facts, FactTable, Liveness, Scope, Survey
from penstock.autograph._nodes import (
    ITEM,
    LOAD,
    SEQUENCES,
    STORE,
    constant,
    define,
    later,
    load,
    operation,
    unpacked,
)
from penstock.autograph._tree import DEFINITIONS, SCOPES, made, own_nodes, placed, places, point, walk

__all__ = ["AUGMENTED", "ELSE", "FOR", "IF", "TEST", "WHILE", "lower"]

# The functions that converted code makes of parts of statements.
IF, ELSE, WHILE, FOR, TEST = "if_body__", "else_body__", "while_body__", "for_body__", "loop_test__"


def lower(
    node: ast.FunctionDef | ast.Lambda, super_class: bool, stepped: bool = False
) -> ast.FunctionDef | ast.Lambda:
    """The function rewritten. The tree that is given is used up.

    Args:
        node: a definition, without decorators and defaults.
        super_class: whether `super()` in it has a class.
        stepped: whether it tells a debugger of its lines.
    """
    if isinstance(node, ast.Lambda):
        node.body = Expressions(None).visit(node.body)
        return node
    if stepped:
        add_events(node)
    first = next(iter((*node.args.posonlyargs, *node.args.args)), None)
    instance = first.arg if super_class and first is not None else None
    return _function(node, instance)


def _function(node: ast.FunctionDef, instance: str | None = None) -> ast.FunctionDef:
    survey = Survey(node)
    if survey.matches:
        node.body = lower_matches(node.body)
    left: set[int] = set()
    if survey.yields:
        left = lower_jumps_between_yields(node)
    else:
        lower_jumps(node, survey)
    facts = FactTable()
    scope = Scope(node, survey, facts)
    if survey.items:
        items = _ItemAssignments(scope)
        node.body = items.statements(node.body)
        if items.found:
            scope.changed |= items.found
            facts = FactTable()
    liveness = Liveness(scope, facts)
    liveness.block(node.body, frozenset())
    writer = _Statements(scope, facts, liveness, instance, left)
    touched = writer.touched(node)
    body = writer.block(node.body)
    start = 1 if _is_docstring(body[0]) else 0
    # A name that only inner functions assign still belongs to this one.
    declared: list[ast.stmt] = []
    names = sorted(writer.shared - scope.parameters)
    if names:
        # It never runs.
        binding = ast.Assign([ast.Name(n, STORE) for n in names], ast.Constant(None))
        declared.append(placed(ast.If(ast.Constant(False), [binding], []), node.body[0]))
    node.body = [*body[:start], *declared, *touched, *body[start:]]
    return node


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class _ItemAssignments:
    """`x[i][j] = v` for a local `x` becomes an assignment to `x`, since a tensor has no items to assign."""

    def __init__(self, scope: Scope) -> None:
        self.names = scope.locals
        # The variables of which there was one.
        self.found: set[str] = set()

    def statements(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return [new for s in block for new in (self._spread(s) or [self.statement(s)])]

    def _spread(self, s: ast.stmt) -> list[ast.stmt]:
        """An assignment to several targets, items among them, as one to variables and one to each target."""
        if not isinstance(s, ast.Assign) or (len(s.targets) == 1 and not isinstance(s.targets[0], SEQUENCES)):
            return []
        if not any(self._item(n) for t in s.targets for n in walk(t)):  # type: ignore[arg-type]
            return []
        later_on: list[ast.stmt] = []

        def held(target: ast.expr) -> ast.expr:
            if isinstance(target, SEQUENCES):
                target.elts = list(map(held, target.elts))
                return target
            if isinstance(target, ast.Starred):
                target.value = held(target.value)
                return target
            name = f"item_{target.lineno}_{target.col_offset}__"
            self.names.add(name)
            value = load(name, target)
            later_on.append(self.statement(placed(ast.Assign([target], value), s)))
            return placed(ast.Name(name, STORE), target)

        s.targets = list(map(held, s.targets))
        return [s, *later_on]

    def statement(self, s: ast.stmt) -> ast.stmt:
        if isinstance(s, DEFINITIONS):
            return s
        if isinstance(s, ast.Assign) and len(s.targets) == 1 and (name := self._item(s.targets[0])):
            target = s.targets[0]
            new = operation("set_item", s, s.value, load(name), *_indices(target))
            return self._rebound(name, new, s, target)
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and s.value.args:
            # `set_element_type(z, ...)` makes `z` another list.
            callee, first = s.value.func, s.value.args[0]
            called = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", None)
            if called == "set_element_type" and isinstance(first, ast.Name) and first.id in self.names:
                return self._rebound(first.id, s.value, s, first)
        if isinstance(s, ast.AugAssign) and (name := self._item(s.target)) and not binds_outside(s.value):
            symbol = ast.Constant("i" + AUGMENTED[type(s.op)])
            new = operation("update_item", s, symbol, later(s.value), load(name), *_indices(s.target))
            return self._rebound(name, new, s, s.target)
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None):
                setattr(s, field, self.statements(getattr(s, field)))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            part.body = self.statements(part.body)
        return s

    def _rebound(self, name: str, value: ast.Call, s: ast.stmt, target: ast.AST) -> ast.stmt:
        self.found.add(name)
        return placed(ast.Assign([placed(ast.Name(name, STORE), target)], value), s)

    def _item(self, target: ast.expr) -> str | None:
        if not isinstance(target, ast.Subscript):
            return None
        root: ast.expr = target
        while isinstance(root, ast.Subscript):
            if any(isinstance(n, (ast.Starred, ast.NamedExpr)) for n in walk(root.slice)):
                return None
            root = root.value
        return root.id if isinstance(root, ast.Name) and root.id in self.names else None


def _indices(target: ast.expr) -> list[ast.expr]:
    """The indices of an item of an item, from the outermost container on."""
    found: list[ast.expr] = []
    while isinstance(target, ast.Subscript):
        found.append(_index(target.slice))
        target = target.value
    return found[::-1]


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own."""
    if isinstance(node, ast.Slice):
        parts = [ast.Constant(None) if p is None else p for p in (node.lower, node.upper, node.step)]
        return operation("slice_", node, *parts)
    if isinstance(node, ast.Tuple):
        node.elts = [_index(e) for e in node.elts]
    return node


# The names of the operators of augmented assignments.
AUGMENTED: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
    ast.FloorDiv: "floordiv",
}


class _Statements:
    """Control flow, assertions and exceptions."""

    def __init__(
        self, scope: Scope, facts: FactTable, liveness: Liveness, instance: str | None, left: set[int]
    ) -> None:
        self.scope = scope
        # The statements, by identity, that stay Python's because a generator is left in them.
        self.left = left
        self.facts = facts
        self.liveness = liveness
        self.instance = instance
        self.expressions = Expressions(instance)
        # Locals that inner functions assign or watch.
        self.shared: set[str] = set()
        # The names that the function assigns.
        self.bound: Collection[str] = ()

    def expression(self, node: Any) -> Any:
        return None if node is None else self.expressions.visit(node)

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            out.extend(self.statement(s))
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        if self.left and id(s) in self.left:
            return [self._suspending(s)]
        changing = self._changing(s) if type(s) in _CHANGING else []
        touched = self._touched_by(s) if type(s) in _CHANGING else []
        method = _STATEMENTS.get(type(s))
        out = method(self, s) if method is not None else [self._visited(s)]
        for node, *args in changing:
            node.value = operation("changing", node, node.value, *args)
        return [*touched, *out]

    def _visited(self, s: ast.stmt) -> ast.stmt:
        return self.expressions.visit(s) if self.facts.one(s).decides else s

    def _changing(self, s: ast.stmt) -> list[tuple[Any, ...]]:
        """The attributes and items that a statement changes of what is computed only once.

        Each comes with the attribute's name and entry.
        """
        found: list[tuple[Any, ...]] = []
        for node in self.facts.one(s).attributes:
            if not repeatable(node.value):
                entry = ast.Constant(_entry(ast.unparse(node), node.lineno, 0))  # type: ignore[arg-type]
                found.append((node, ast.Constant(node.attr), entry))
        for target in _targets(s):
            while isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript):
                target = target.value
            if isinstance(target, ast.Subscript) and not isinstance(target.value, (ast.Name, ast.Attribute)):
                found.append((target,))
        return found

    def _touched_by(self, s: ast.stmt) -> list[ast.stmt]:
        """The statement that says which objects another one changes that `touched` does not know of."""
        facts = self.facts.one(s)
        items: list[ast.expr] = []
        for node in facts.attributes:
            root = base = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            known = isinstance(root, ast.Name) and root.id not in self.bound
            if not known and repeatable(base):
                entry = ast.Constant(_entry(ast.unparse(node), node.lineno, 0))  # type: ignore[arg-type]
                found = later(self.expression(_copied(base)))
                items.append(ast.Tuple([found, ast.Constant(node.attr), entry], LOAD))
        # Calls of methods, and assignments to items of local variables, tell by themselves.
        roots = {name for target in _targets(s) if (name := _container(target)) is not None}
        outside = roots if type(s) is ast.Delete else roots - self.scope.locals
        if not items and not outside:
            return []
        args: list[ast.expr] = [later(ast.Tuple([], LOAD)), constant(()), ast.Tuple(items, LOAD)]
        if outside:
            args.append(later(ast.Tuple([load(n) for n in sorted(outside)], LOAD)))
        return [placed(ast.Expr(operation("touch", s, *args)), s)]

    # --- what stays Python ---

    def _functiondef(self, s: ast.FunctionDef) -> list[ast.stmt]:
        s.args.defaults = [self.expression(d) for d in s.args.defaults]
        s.args.kw_defaults = [self.expression(d) for d in s.args.kw_defaults]
        return [_function(s)]

    def _kept(self, s: ast.stmt) -> list[ast.stmt]:
        return [s]

    def _assign(self, s: ast.Assign) -> list[ast.stmt]:
        if self.facts.one(s).decides:
            s.value = self.expression(s.value)
            s.targets = [self.expression(t) for t in s.targets]
        if len(s.targets) == 1 and type(s.targets[0]) is not ast.Name:
            s.value = unpacked(s.value, s.targets[0])
        return [s]

    def _annassign(self, s: ast.AnnAssign) -> list[ast.stmt]:
        if s.value is None:
            # Which names are local is known without it.
            return [placed(ast.Pass(), s)]
        return self._assign(placed(ast.Assign([s.target], s.value), s))

    def _with(self, s: ast.With) -> list[ast.stmt]:
        for item in s.items:
            item.context_expr = self.expression(item.context_expr)
        s.body = self.block(s.body)
        return [s]

    def _try(self, s: ast.Try) -> list[ast.stmt]:
        s.body = self.block(s.body)
        if s.handlers:
            # A `raise` that becomes part of the graph is none for them.
            kinds: list[ast.expr] = [
                ast.Tuple([ast.Constant(h.lineno), _handled(h)], LOAD) for h in s.handlers
            ]
            # It stands where `try` does, so that no other line seems to run.
            where = point(s.lineno, s.col_offset, len("try"))
            attempt = operation("attempt", where, later(ast.Tuple(kinds, LOAD)))
            s.body = [placed(ast.With([ast.withitem(attempt)], s.body), where)]
        for handler in s.handlers:
            handler.body = self.block(handler.body)
        s.orelse = self.block(s.orelse)
        s.finalbody = self.block(s.finalbody)
        return [s]

    # --- what may become part of the graph ---

    def _suspending(self, s: Any) -> Any:
        """A statement in which a generator is left: a graph cannot be left, so it is Python's."""
        if isinstance(s, ast.For):
            s.iter = operation("elements", s.iter, self.expression(s.iter))
        elif isinstance(s, ast.Match):
            return self._match(s)[0]
        elif isinstance(s, ast.With):
            return self._with(s)[0]
        elif isinstance(s, (ast.If, ast.While)):
            s.test = self.expression(s.test)
        for block in (s.body, *(h.body for h in getattr(s, "handlers", ()))):
            block[:] = self.block(block)
        for name in ("orelse", "finalbody"):
            if getattr(s, name, None):
                setattr(s, name, self.block(getattr(s, name)))
        return s

    def _raise(self, s: ast.Raise) -> list[ast.stmt]:
        if s.exc is not None:
            where = s.exc
            s.exc = operation("raised", where, self.expression(s.exc))
        s.cause = self.expression(s.cause)
        return [s]

    def _assert(self, s: ast.Assert) -> list[ast.stmt]:
        if binds_outside(s):
            return [self.expressions.visit(s)]
        s.test, s.msg = self.expression(s.test), self.expression(s.msg)
        message = ast.Constant(None) if s.msg is None else later(copy.deepcopy(s.msg))
        s.test = operation("assert_", s.test, s.test, message)
        return [s]

    def _spelled_out(self, test: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
        """A test whose later operands assign names, as statements that leave its truth in a variable."""
        if not isinstance(test, ast.BoolOp) or not binds_outside(*test.values[1:]):
            return [], test
        name = f"test_{test.lineno}_{test.col_offset}__"
        self.scope.locals.add(name)
        self.shared.add(name)

        def store(value: ast.expr) -> ast.stmt:
            target = placed(ast.Name(name, STORE), value)
            # A truth, whatever the type of the operand.
            value = placed(ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), value)), value)
            return placed(ast.Assign([target], value), value)

        first: ast.stmt = store(test.values[0])
        out = [first]
        for value in test.values[1:]:
            so_far: ast.expr = load(name, value)
            if isinstance(test.op, ast.Or):
                so_far = placed(ast.UnaryOp(ast.Not(), so_far), value)
            before, value = self._spelled_out(value)
            step = placed(ast.If(so_far, [*before, store(value)], []), value)
            self.liveness.after[id(step)] = frozenset(self.scope.locals)
            out.append(step)
        return out, load(name, test)

    def _nested_ifs(self, s: ast.If, test: ast.BoolOp) -> list[ast.stmt]:
        """`if a and b` as `if a: if b`, and `or` likewise: what operands assign has a value where it must."""
        after = self.liveness.after[id(s)]
        both = isinstance(test.op, ast.And)
        # What each level repeats, and what the next level stands in place of.
        repeated, inner = (s.orelse, s.body) if both else (s.body, s.orelse)
        for value in reversed(test.values):
            mine = repeated if value is test.values[0] else copy.deepcopy(repeated)
            if mine is not repeated:
                self.liveness.block(mine, after)
            level = placed(ast.If(value, *((inner, mine) if both else (mine, inner))), s)
            self.liveness.after[id(level)] = after
            inner = [level]
        return self.block(inner)

    def _if(self, s: ast.If) -> list[ast.stmt]:
        if isinstance(s.test, ast.BoolOp) and binds_outside(*s.test.values[1:]):
            return self._nested_ifs(s, s.test)
        after = self.liveness.after[id(s)]
        first = self.facts.of(s.body)
        second = self.facts.of(s.orelse) if s.orelse else _NOTHING
        entries, names = self._entries(first, second, after, after, s.lineno)
        keywords = self._keywords(first, second, names)
        out = [define(IF, self._inner(s.body, first), s)]
        args = [self.expression(s.test), entries, load(IF, s)]
        if s.orelse:
            out.append(define(ELSE, self._inner(s.orelse, second), s.orelse[0]))
            args.append(load(ELSE, s))
        return [*out, self._emit("if_stmt", args, keywords, s)]

    def _while(self, s: ast.While) -> list[ast.stmt]:
        options = self._options(s)
        body = self.facts.of(s.body)
        entries, names = self._loop_entries(s, self.facts.both(s.test, s.body))
        keywords = self._keywords(body, _NOTHING, names) + options + self._broken(s)
        if not repeatable(s.test):
            keywords.append(_flag("once"))
        where = s.test
        if isinstance(where, ast.Constant) and where.value:
            keywords.append(_flag("endless"))
        bound = self.facts.one(s.test).bound
        before, s.test = self._spelled_out(s.test)
        out: list[ast.stmt] = []
        test: ast.expr
        if bound:
            last = placed(ast.Return(s.test), where)
            out.append(define(TEST, self._inner([*before, last], self.facts.of([*before, last])), where))
            test = load(TEST)
        else:
            test = later(self.expression(s.test))
        out.append(define(WHILE, self._inner(s.body, body), s))
        out.append(self._emit("while_stmt", [test, load(WHILE), entries], keywords, s))
        return [*out, *self.block(s.orelse)]

    def _for(self, s: ast.For) -> list[ast.stmt]:
        options = self._options(s)
        item = load(ITEM, s.target)
        target = placed(ast.Assign([s.target], item), s.target)
        extra = getattr(s, "extra_tests", [])
        facts = self.facts.both(target, s.body)
        entries, names = self._loop_entries(s, facts)
        keywords = self._keywords(facts, _NOTHING, names) + options + self._broken(s)
        if extra:
            keywords.append(ast.keyword("go_on", later(self.expression(extra[0]))))
        out = [define(FOR, self._inner([target, *s.body], facts), s, ITEM)]
        if isinstance(s.iter, ast.Call):
            iterable = self.expressions.call(s.iter, "ci")
        else:
            iterable = self.expression(s.iter)
        out.append(self._emit("for_stmt", [iterable, load(FOR), entries], keywords, s))
        return [*out, *self.block(s.orelse)]

    def _match(self, s: ast.Match) -> list[ast.stmt]:
        for case in s.cases:
            if case.guard is not None:
                case.guard = self.expression(case.guard)
            case.body = self.block(case.body)
        s.subject = self.expression(s.subject)
        return [s]

    # --- parts ---

    def _keywords(self, first: Facts, second: Facts, names: ast.expr | None) -> list[ast.keyword]:
        """The arguments that say which attributes two bodies assign, and give cells of variables."""
        found: list[ast.keyword] = []
        if first.attributes or second.attributes:
            attributes = self._attributes(first, second)
            if attributes is not None:
                found.append(ast.keyword("attributes", attributes))
        if names is not None:
            found.append(ast.keyword("names", names))
        return found

    def _broken(self, s: ast.For | ast.While) -> list[ast.keyword]:
        """Says of a loop that what follows it is reached only by a `break`."""
        read = getattr(s, "read_otherwise", None)
        if read is None or not read.isdisjoint(self.facts.of(s.body).bound):
            return []
        if isinstance(s, ast.For) and not read.isdisjoint(self.facts.one(s.target).bound):
            return []
        return [_flag("broken")]

    def _emit(self, name: str, args: list[ast.expr], keywords: list[ast.keyword], s: ast.stmt) -> ast.stmt:
        # The call stands for the head of the statement.
        head = getattr(s, "test", None) or s.iter  # type: ignore[attr-defined]
        where = made(ast.Expr, {**places(head)[0], "lineno": s.lineno, "col_offset": s.col_offset})
        where.value = operation(name, where, *args, keywords=keywords)
        return where

    def _inner(self, body: list[ast.stmt], facts: Facts) -> list[ast.stmt]:
        """The statements, whose facts are given, as the body of an inner function."""
        scope, names = self.scope, facts.bound.keys()
        own = names & scope.locals
        self.shared |= own
        mine, outside = sorted(own | (names & scope.nonlocals)), sorted(names & scope.globals)
        where = body[0]
        place = places(where)[1]
        out: list[ast.stmt] = []
        if mine:
            out.append(made(ast.Nonlocal, {"names": mine, **place}))
        if outside:
            out.append(made(ast.Global, {"names": outside, **place}))
        if scope.globals or scope.nonlocals:
            body = [s for s in body if not isinstance(s, (ast.Global, ast.Nonlocal))]
        out += self.block(body)
        return out or [placed(ast.Pass(), where)]

    def _entries(
        self,
        first: Facts,
        second: Facts,
        live: frozenset[str],
        after: frozenset[str],
        line: int,
        held: frozenset[str] = frozenset(),
        loops: bool = False,
    ) -> tuple[ast.expr, ast.expr | None]:
        """The variables that two bodies assign, or whose contents they change, as a constant.

        Beside it a function that closes over those that the bodies need not close over; None for none.
        """
        scope, always = self.scope, self.liveness.always
        one, two = first.bound, second.bound
        names = bound = one.keys() | two.keys()
        if first.mutated or second.mutated or scope.effects:
            one, two = self._changed(first, line), self._changed(second, line)
            names = one.keys() | two.keys()
        if always:
            live, after = live | always, after | always
        # What a container holds that is there before, others may see whom it belongs to.
        changed = scope.changed | first.mutated.keys() | second.mutated.keys()
        items = [
            _entry(
                n, one.get(n, 0), two.get(n, 0), n in live or (None if n in changed else False), n in after
            )
            for n in sorted(names)
        ]
        if held or loops:
            rebound = bound - changed if loops else frozenset()
            items = [(*item, item[0] in held, False, item[0] in rebound) for item in items]
        self.shared |= names & scope.locals
        if len(names) == len(bound):
            return constant(tuple(items)), None
        return constant(tuple(items)), later(ast.Tuple([load(n) for n in sorted(names - bound)], LOAD))

    def _changed(self, facts: Facts, line: int) -> dict[str, int]:
        """The variables that a body assigns, or whose contents it changes, with the lines that do."""
        scope = self.scope
        changed = {n: at for n, at in facts.mutated.items() if n in scope.locals}
        if facts.calls and scope.effects:
            changed.update(dict.fromkeys(scope.effects & (scope.locals | scope.nonlocals), line))
        return changed | facts.bound

    def touched(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """The statement that says what the function changes outside of itself."""
        outside = self.scope.assigned_outside
        facts = self.facts.of(node.body)
        self.bound = facts.bound
        attributes = self._attributes(facts, _NOTHING, renewed=_renewed(node)) if facts.attributes else None
        if not outside and attributes is None:
            return []
        items = tuple(_entry(name, line, 0) for name, line in sorted(outside.items()))
        closure = later(ast.Tuple([load(n) for n in sorted(outside)], LOAD))
        args: list[ast.expr] = [closure, constant(items)]
        if attributes is not None:
            args.append(attributes)
        where = node.body[0]
        return [placed(ast.Expr(operation("touch", where, *args)), where)]

    def _loop_entries(self, s: ast.For | ast.While, body: Facts) -> tuple[ast.expr, ast.expr | None]:
        after = self.liveness.after[id(s)]
        held: frozenset[str] = frozenset()
        if self.scope.captors and not self.scope.dynamic:
            # What only functions within the loop see, and nothing reads after it.
            within = {id(node) for node in own_nodes(s.body) if type(node) in SCOPES}
            mine = (n for n, nodes in self.scope.captors.items() if within.issuperset(map(id, nodes)))
            held = frozenset(self.scope.locals.intersection(mine) - after)
        return self._entries(body, _NOTHING, after | self.liveness.header[id(s)], after, s.lineno, held, True)

    def _attributes(self, *facts: Facts, renewed: frozenset[str] = frozenset()) -> ast.expr | None:
        """Attributes of variables that two bodies assign: `(base, attribute, entry)` of each."""
        found: dict[str, tuple[ast.expr, str, list[int]]] = {}
        for part in (0, 1):
            for node in facts[part].attributes:
                base, root = node.value, node.value
                while isinstance(root, ast.Attribute):
                    root = root.value
                if not isinstance(root, ast.Name) or root.id in facts[0].bound or root.id in facts[1].bound:
                    continue
                _, _, lines = found.setdefault(ast.unparse(node), (base, node.attr, [0, 0]))
                lines[part] = node.lineno
        if not found:
            return None
        items: list[ast.expr] = []
        for name, (base, attribute, lines) in sorted(found.items()):
            fields = _entry(name, lines[0], lines[1])
            if name in renewed:
                fields = (*fields, False, True)
            entry = ast.Constant(fields)  # type: ignore[arg-type]
            items.append(ast.Tuple([later(_copied(base)), ast.Constant(attribute), entry], LOAD))
        return ast.Tuple(items, LOAD)

    def _options(self, s: ast.For | ast.While) -> list[ast.keyword]:
        """The arguments of `set_loop_options` at the head of a loop's body, to be evaluated before it."""
        for node in s.body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                callee = node.value.func
                name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", None)
                if name == "set_loop_options":
                    names = (
                        "parallel_iterations",
                        "swap_memory",
                        "maximum_iterations",
                        "shape_invariants",
                        "checkpoint_every",
                    )
                    given = [ast.keyword(k, v) for k, v in zip(names, node.value.args, strict=False)]
                    given += node.value.keywords
                    named = next((_named_first(k.value) for k in given if k.arg == "shape_invariants"), None)
                    if named is not None:
                        given.append(ast.keyword("names", constant(named)))
                    options = operation("options", node, keywords=copy.deepcopy(given))
                    s.body = [n for n in s.body if n is not node] or [placed(ast.Pass(), node)]
                    return [ast.keyword("options", later(options))]
        return []


def _entry(
    name: str, first: int, second: int, live: bool | None = True, after: bool = True
) -> tuple[Any, ...]:
    """A variable of a statement: the fields of its `Entry`."""
    return name, first, second, live, after


def _renewed(node: ast.FunctionDef) -> frozenset[str]:
    """The attributes that a function computes from what they were.

    That is so where it assigns one by a statement that reads it, or reads it and then assigns it, whatever
    the conditions; not where it sets one that it finds without a value.
    """
    read: dict[str, int] = {}
    assigned: list[tuple[str, int]] = []
    found: set[str] = set()

    def note(s: ast.AST, conditional: bool) -> None:
        within = [n for n in ast.walk(s) if isinstance(n, ast.Attribute)]
        loads = {ast.unparse(n): n.lineno for n in within if isinstance(n.ctx, ast.Load)}
        stores = {ast.unparse(n): n.lineno for n in within if isinstance(n.ctx, ast.Store)}
        found.update(stores if isinstance(s, ast.AugAssign) else stores.keys() & loads.keys())
        if not conditional:
            assigned.extend(stores.items())
        for name, line in loads.items():
            read[name] = min(line, read.get(name, line))

    def statements(body: list[ast.stmt], conditional: bool) -> None:
        for s in body:
            parts = [getattr(s, part, None) for part in ("body", "orelse", "finalbody")]
            blocks = [part for part in parts if isinstance(part, list)]
            if not blocks or type(s) in SCOPES:
                note(s, conditional)
                continue
            for part in ast.iter_child_nodes(s):
                if not isinstance(part, ast.stmt):
                    note(part, True)
            for block in blocks:
                statements(block, conditional or isinstance(s, ast.If))

    statements(node.body, False)
    found.update(name for name, line in assigned if read.get(name, line) < line)
    return frozenset(found)


def _targets(s: ast.stmt) -> list[ast.expr]:
    """What a statement assigns to, or deletes, tuples taken apart."""
    found: list[ast.expr] = []
    waiting = list(getattr(s, "targets", None) or [getattr(s, "target", None)])
    while waiting:
        target = waiting.pop()
        if isinstance(target, SEQUENCES):
            waiting += target.elts
        elif target is not None:
            found.append(target.value if isinstance(target, ast.Starred) else target)
    return found


def _container(target: ast.expr) -> str | None:
    """The variable whose items, or items of items, a target is among."""
    if not isinstance(target, ast.Subscript):
        return None
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _flag(name: str) -> ast.keyword:
    return ast.keyword(name, ast.Constant(True))


def _named_first(pairs: ast.expr) -> tuple[str | None, ...] | None:
    """The variables that a display of pairs names first in each, None for another expression."""
    if not isinstance(pairs, SEQUENCES) or not all(isinstance(p, SEQUENCES) and p.elts for p in pairs.elts):
        return None
    firsts = [p.elts[0] for p in pairs.elts]  # type: ignore[attr-defined]
    return tuple(f.id if isinstance(f, ast.Name) else None for f in firsts)


def _handled(handler: ast.ExceptHandler) -> ast.expr:
    return ast.Constant(None) if handler.type is None else _copied(handler.type)


_NOTHING = Facts()
# Statements without others in them that may change attributes.
_CHANGING = frozenset({ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete})
_STATEMENTS: dict[type, Callable[[_Statements, Any], list[ast.stmt]]] = {
    ast.FunctionDef: _Statements._functiondef,
    ast.AsyncFunctionDef: _Statements._kept,
    ast.ClassDef: _Statements._kept,
    ast.Assign: _Statements._assign,
    ast.AnnAssign: _Statements._annassign,
    ast.With: _Statements._with,
    ast.Try: _Statements._try,
    ast.TryStar: _Statements._try,
    ast.Raise: _Statements._raise,
    ast.Assert: _Statements._assert,
    ast.If: _Statements._if,
    ast.While: _Statements._while,
    ast.For: _Statements._for,
    ast.Match: _Statements._match,
}


def _copied(node: ast.expr) -> ast.expr:
    """An expression once more, to be read."""
    new = copy.deepcopy(node)
    for inner in walk(new):
        if hasattr(inner, "ctx"):
            inner.ctx = LOAD
    return new
