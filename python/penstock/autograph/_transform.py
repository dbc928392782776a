"""The rewriting of a function: statements whose course a tensor may decide become calls of `ag__`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from penstock.autograph._jumps import lower_jumps
from penstock.autograph._matching import lower_matches
from penstock.autograph._scopes import Facts, FactTable, Liveness, Scope, Survey, may_choose
from penstock.autograph._tree import DEFINITIONS, Transformer, copy_location, own_nodes, walk

__all__ = ["OPERATORS", "lower"]

OPERATORS = "ag__"

_IF, _ELSE, _WHILE, _FOR, _TEST, _ITEM = (
    "if_body__",
    "else_body__",
    "while_body__",
    "for_body__",
    "loop_test__",
    "item__",
)


def lower(node: ast.FunctionDef | ast.Lambda, super_class: bool) -> ast.FunctionDef | ast.Lambda:
    """The function rewritten. The tree that is given is used up.

    Args:
        node: a definition, without decorators and defaults.
        super_class: whether `super()` in it has a class.
    """
    if isinstance(node, ast.Lambda):
        node.body = _Expressions(None).visit(node.body)
        return node
    first = next(iter((*node.args.posonlyargs, *node.args.args)), None)
    instance = first.arg if super_class and first is not None else None
    return _function(node, instance)


def _function(node: ast.FunctionDef, instance: str | None = None) -> ast.FunctionDef:
    survey = Survey(node)
    if survey.yields:
        return _generator(node, instance)
    if survey.matches:
        node.body = lower_matches(node.body, OPERATORS)
    lower_jumps(node, survey)
    facts = FactTable()
    scope = Scope(node, survey, facts)
    if survey.items:
        items = _ItemAssignments(scope)
        node.body = items.statements(node.body)
        if items.found:
            facts = FactTable()
    liveness = Liveness(scope, facts)
    liveness.block(node.body, frozenset())
    writer = _Statements(scope, facts, liveness, instance)
    touched = writer.touched(node)
    body = writer.block(node.body)
    start = 1 if _is_docstring(body[0]) else 0
    # A name that only inner functions assign still belongs to this one.
    declared: list[ast.stmt] = []
    names = sorted(writer.shared - scope.parameters)
    if names:
        # It never runs.
        binding = ast.Assign([ast.Name(n, _STORE) for n in names], ast.Constant(None))
        declared.append(copy_location(ast.If(ast.Constant(False), [binding], []), node.body[0]))
    node.body = [*body[:start], *declared, *touched, *body[start:]]
    return node


_SEQUENCES = (ast.Tuple, ast.List)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


# One node stands wherever it says all there is to say: it has no position, and nobody changes it.
_LOAD, _STORE = ast.Load(), ast.Store()
_HAS_TYPE_PARAMS = "type_params" in ast.FunctionDef._fields
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def _load(name: str) -> ast.Name:
    return ast.Name(name, _LOAD)


def _operator(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(OPERATORS, _LOAD), name, _LOAD)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(_operator(name), list(args), [])


def _constant(value: tuple[Any, ...]) -> ast.Constant:
    return ast.Constant(value)  # type: ignore[arg-type]


def _later(value: ast.expr) -> ast.Lambda:
    return copy_location(ast.Lambda(_NO_ARGUMENTS, value), value)


def _define(name: str, body: list[ast.stmt], where: ast.AST, parameter: str | None = None) -> ast.stmt:
    arguments = _NO_ARGUMENTS
    if parameter is not None:
        arguments = ast.arguments([], [ast.arg(parameter)], None, [], [], None, [])
    function = ast.FunctionDef(name, arguments, body, [])
    if _HAS_TYPE_PARAMS:
        function.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return copy_location(function, where)


def _is_generator(node: ast.AST) -> bool:
    inner = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(inner))


def _pattern(target: ast.expr) -> tuple[Any, ...] | None:
    """The structure of a tuple of targets; None for another target, or with a starred one."""
    if not isinstance(target, _SEQUENCES) or any(isinstance(t, ast.Starred) for t in target.elts):
        return None
    return tuple(map(_pattern, target.elts))


def _unpacked(value: ast.expr, target: ast.expr) -> ast.expr:
    pattern = _pattern(target)
    if pattern is None or (isinstance(value, _SEQUENCES) and not any(pattern)):
        return value
    return copy_location(_call("unpack", value, _constant(pattern)), value)


class _ItemAssignments:
    """`x[i] = v` for a local `x` becomes an assignment to `x`, since a tensor has no items to assign."""

    def __init__(self, scope: Scope) -> None:
        self.names = scope.locals
        # Whether there was one.
        self.found = False

    def statements(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return [self.statement(s) for s in block]

    def statement(self, s: ast.stmt) -> ast.stmt:
        if isinstance(s, DEFINITIONS):
            return s
        if isinstance(s, ast.Assign) and len(s.targets) == 1 and (name := self._item(s.targets[0])):
            target = s.targets[0]
            new = _call("set_item", s.value, _load(name), _index(target.slice))  # type: ignore[attr-defined]
            return self._rebound(name, new, s, target)
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and s.value.args:
            # `set_element_type(z, ...)` makes `z` another list.
            callee, first = s.value.func, s.value.args[0]
            called = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", None)
            if called == "set_element_type" and isinstance(first, ast.Name) and first.id in self.names:
                return self._rebound(first.id, s.value, s, first)
        if isinstance(s, ast.AugAssign) and (name := self._item(s.target)):
            symbol = ast.Constant("i" + _AUGMENTED[type(s.op)])
            new = _call("update_item", _load(name), _index(s.target.slice), symbol, _later(s.value))  # type: ignore[union-attr]
            return self._rebound(name, new, s, s.target)
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None):
                setattr(s, field, self.statements(getattr(s, field)))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            part.body = self.statements(part.body)
        return s

    def _rebound(self, name: str, value: ast.Call, s: ast.stmt, target: ast.AST) -> ast.stmt:
        self.found = True
        copy_location(value, s)
        return copy_location(ast.Assign([copy_location(ast.Name(name, _STORE), target)], value), s)

    def _item(self, target: ast.expr) -> str | None:
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return None
        if any(isinstance(n, (ast.Starred, ast.NamedExpr)) for n in walk(target.slice)):
            return None
        return target.value.id if target.value.id in self.names else None


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own."""
    if isinstance(node, ast.Slice):
        parts = [ast.Constant(None) if p is None else p for p in (node.lower, node.upper, node.step)]
        return copy_location(_call("slice_", *parts), node)
    if isinstance(node, ast.Tuple):
        node.elts = [_index(e) for e in node.elts]
    return node


_AUGMENTED = {
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


def _binds_outside(*nodes: ast.AST) -> bool:
    """Whether an expression assigns a name, or yields: it cannot move into a function then."""
    return any(type(n) in _FIXED for node in nodes for n in walk(node))


_FIXED = frozenset({ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await})


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


def _repeatable(node: ast.expr) -> bool:
    """Whether an expression may be evaluated once more: it calls nothing and assigns nothing."""
    return not any(
        isinstance(n, (ast.Call, ast.NamedExpr, ast.ListComp, ast.GeneratorExp)) for n in walk(node)
    )


# What takes all of a generator at once.
_CONSUMERS = frozenset(
    {"all", "any", "dict", "frozenset", "len", "list", "max", "min", "set", "sorted", "sum", "tuple"}
)


def _stays(*nodes: ast.expr) -> bool:
    """Whether parts of a comprehension must stay in one: they assign, yield, or make functions."""
    if _binds_outside(*nodes):
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
    name = target.id if isinstance(target, ast.Name) else _ITEM
    if not isinstance(target, ast.Name):
        item = ast.Tuple([_unpacked(copy_location(_load(_ITEM), target), target)], _LOAD)
        once = ast.ListComp(value, [ast.comprehension(target, item, [], 0)])
        value = copy_location(ast.Subscript(copy_location(once, value), ast.Constant(0), _LOAD), value)
    return copy_location(ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), value), value)


class _Expressions(Transformer):
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
                node.args = [_load("__class__"), _load(self.instance)]
            return node
        node.func = copy_location(_call(operator, callee), callee)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self_is_plain = _binds_outside(*node.values[1:])
        harmless = [_harmless(v) for v in node.values]
        self.inside(node)
        if self_is_plain:
            return node
        name = "and" if isinstance(node.op, ast.And) else "or"
        values = list(node.values)
        result = values[-1]
        safe = harmless[-1]
        for value, fine in zip(reversed(values[:-1]), reversed(harmless[:-1]), strict=True):
            result = copy_location(_call(f"{name}_both" if safe else f"{name}_", value, _later(result)), node)
            safe = safe and fine
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.inside(node)
        if isinstance(node.op, ast.Not):
            return copy_location(_call("not_", node.operand), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        plain = _binds_outside(node.body, node.orelse)
        self.inside(node)
        if plain:
            return node
        return copy_location(_call("if_exp", node.test, _later(node.body), _later(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        plain = len(node.ops) == 1 or _binds_outside(*node.comparators)
        self.inside(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = copy_location(_call("in_", node.left, *node.comparators), node)
            return found if isinstance(node.ops[0], ast.In) else copy_location(_call("not_", found), node)
        if plain:
            return node
        rest: list[ast.expr] = [
            ast.Tuple([ast.Constant(type(op).__name__), _later(value)], _LOAD)
            for op, value in zip(node.ops, node.comparators, strict=True)
        ]
        return copy_location(_call("chain", node.left, *rest), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.inside(node)
        if type(node.ctx) is ast.Load and may_choose(node.slice):
            return copy_location(_call("item", node.value, node.slice), node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if not _is_generator(node):
            inner = _Expressions(None)
            node.args = self.visit(node.args)
            node.body = inner.visit(node.body)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        parts = [*(g.iter for g in node.generators), *(t for g in node.generators for t in g.ifs), node.elt]
        if any(g.is_async for g in node.generators) or _stays(*parts):
            return self._plain(node, "a comprehension that makes functions")
        return self._collected(node, node.generators)

    def _collected(self, node: ast.ListComp, generators: list[ast.comprehension]) -> ast.expr:
        """The list of the elements over what is left of the `for` parts."""
        first, *rest = generators
        test = self._test_of(first)
        value = self._collected(node, rest) if rest else self.visit(node.elt)
        iterable = self.visit(first.iter)
        args = [iterable, _with_target(first.target, value), ast.Constant(bool(rest))]
        if test is not None:
            args.append(_with_target(first.target, test))
        return copy_location(_call("list_comp", *args), node)

    def _test_of(self, generator: ast.comprehension) -> ast.expr | None:
        if not generator.ifs:
            return None
        tests = generator.ifs
        test = copy_location(ast.BoolOp(ast.And(), tests), tests[0]) if len(tests) > 1 else tests[0]
        return self.visit(test)  # type: ignore[no-any-return]

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        first = node.generators[0]
        if len(node.generators) > 1 or first.is_async or _stays(node.elt, *first.ifs):
            return self._plain(node, "a generator of several parts, or that makes functions,")
        iterable, value, test = self.visit(first.iter), self.visit(node.elt), self._test_of(first)
        first.iter = copy_location(_load(_ITEM), iterable)
        first.ifs = [] if test is None else [test]
        node.elt = value
        plain = ast.Lambda(ast.arguments([], [ast.arg(_ITEM)], None, [], [], None, []), node)
        args = [iterable, copy_location(plain, node), _with_target(first.target, value)]
        if test is not None:
            args.append(_with_target(first.target, test))
        return copy_location(_call("generator", *args), node)

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
                generator.iter = copy_location(_call("elements", iterable, ast.Constant(what)), iterable)
        return node  # type: ignore[no-any-return]

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node


class _GeneratorBody(_Expressions):
    """The body of a generator, whose control flow stays Python's: a graph cannot leave it and come back."""

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.inside(node)
        node.iter = copy_location(_call("elements", node.iter), node.iter)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return _function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node


def _generator(node: ast.FunctionDef, instance: str | None) -> ast.FunctionDef:
    body = _GeneratorBody(instance)
    node.body = [body.visit(s) for s in node.body]
    return node


class _Statements:
    """Control flow, assertions and exceptions."""

    def __init__(self, scope: Scope, facts: FactTable, liveness: Liveness, instance: str | None) -> None:
        self.scope = scope
        self.facts = facts
        self.liveness = liveness
        self.instance = instance
        self.expressions = _Expressions(instance)
        # Locals that inner functions assign or watch.
        self.shared: set[str] = set()

    def expression(self, node: Any) -> Any:
        return None if node is None else self.expressions.visit(node)

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            out.extend(self.statement(s))
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        method = _STATEMENTS.get(type(s))
        if method is None and not self.facts.one(s).decides:
            return [s]
        return [self.expressions.visit(s)] if method is None else method(self, s)

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
        if len(s.targets) == 1:
            s.value = _unpacked(s.value, s.targets[0])
        return [s]

    def _annassign(self, s: ast.AnnAssign) -> list[ast.stmt]:
        if s.value is None:
            # Which names are local is known without it.
            return [copy_location(ast.Pass(), s)]
        return self._assign(copy_location(ast.Assign([s.target], s.value), s))

    def _with(self, s: ast.With) -> list[ast.stmt]:
        for item in s.items:
            item.context_expr = self.expression(item.context_expr)
        s.body = self.block(s.body)
        return [s]

    def _try(self, s: ast.Try) -> list[ast.stmt]:
        s.body = self.block(s.body)
        if s.handlers:
            # A `raise` that becomes part of the graph is none for them.
            kinds: list[ast.expr] = [ast.Tuple([ast.Constant(h.lineno), _handled(h)], _LOAD) for h in s.handlers]
            tried = _call("attempt", _later(copy_location(ast.Tuple(kinds, _LOAD), s.handlers[0])))
            s.body = [copy_location(ast.With([ast.withitem(tried)], s.body), s.body[0])]
        for handler in s.handlers:
            handler.body = self.block(handler.body)
        s.orelse = self.block(s.orelse)
        s.finalbody = self.block(s.finalbody)
        return [s]

    # --- what may become part of the graph ---

    def _raise(self, s: ast.Raise) -> list[ast.stmt]:
        if s.exc is not None:
            where = s.exc
            s.exc = copy_location(_call("raised", self.expression(s.exc)), where)
        s.cause = self.expression(s.cause)
        return [s]

    def _assert(self, s: ast.Assert) -> list[ast.stmt]:
        import copy

        if _binds_outside(s):
            return [self.expressions.visit(s)]
        s.test, s.msg = self.expression(s.test), self.expression(s.msg)
        message = ast.Constant(None) if s.msg is None else _later(copy.deepcopy(s.msg))
        s.test = copy_location(_call("assert_", s.test, message), s.test)
        return [s]

    def _spelled_out(self, test: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
        """A test whose later operands assign names, as statements that leave its truth in a variable."""
        if not isinstance(test, ast.BoolOp) or not _binds_outside(*test.values[1:]):
            return [], test
        name = f"test_{test.lineno}_{test.col_offset}__"
        self.scope.locals.add(name)
        self.shared.add(name)

        def store(value: ast.expr) -> ast.stmt:
            target = copy_location(ast.Name(name, _STORE), value)
            # A truth, whatever the type of the operand.
            value = copy_location(ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), value)), value)
            return copy_location(ast.Assign([target], value), value)

        first: ast.stmt = store(test.values[0])
        out = [first]
        for value in test.values[1:]:
            so_far: ast.expr = copy_location(_load(name), value)
            if isinstance(test.op, ast.Or):
                so_far = copy_location(ast.UnaryOp(ast.Not(), so_far), value)
            before, value = self._spelled_out(value)
            step = copy_location(ast.If(so_far, [*before, store(value)], []), value)
            self.liveness.after[id(step)] = frozenset(self.scope.locals)
            out.append(step)
        return out, copy_location(_load(name), test)

    def _nested_ifs(self, s: ast.If, test: ast.BoolOp) -> list[ast.stmt]:
        """`if a and b` as `if a: if b`, and `or` likewise: what operands assign has a value where it must."""
        import copy

        after = self.liveness.after[id(s)]
        both = isinstance(test.op, ast.And)
        # What each level repeats, and what the next level stands in place of.
        repeated, inner = (s.orelse, s.body) if both else (s.body, s.orelse)
        for value in reversed(test.values):
            mine = repeated if value is test.values[0] else copy.deepcopy(repeated)
            if mine is not repeated:
                self.liveness.block(mine, after)
            level = copy_location(ast.If(value, *((inner, mine) if both else (mine, inner))), s)
            self.liveness.after[id(level)] = after
            inner = [level]
        return self.block(inner)

    def _if(self, s: ast.If) -> list[ast.stmt]:
        if isinstance(s.test, ast.BoolOp) and _binds_outside(*s.test.values[1:]):
            return self._nested_ifs(s, s.test)
        after = self.liveness.after[id(s)]
        entries, names = self._entries(self.facts.of(s.body), self.facts.of(s.orelse), after, after, s.lineno)
        attributes = self._attributes(s.body, s.orelse)
        out = [_define(_IF, self._inner(s.body), s)]
        orelse: ast.expr = ast.Constant(None)
        if s.orelse:
            out.append(_define(_ELSE, self._inner(s.orelse), s.orelse[0]))
            orelse = _load(_ELSE)
        args = [self.expression(s.test), _load(_IF), orelse, entries]
        if attributes is not None or names is not None:
            args.append(attributes or ast.Tuple([], _LOAD))
        if names is not None:
            args.append(names)
        return [*out, self._emit("if_stmt", args, s)]

    def _while(self, s: ast.While) -> list[ast.stmt]:
        options = self._options(s)
        entries, names = self._loop_entries(s, self.facts.of([*s.body, s.test]))
        attributes = self._attributes(s.body, []) or ast.Tuple([], _LOAD)
        pure = _repeatable(s.test)
        where = s.test
        before, s.test = self._spelled_out(s.test)
        test = copy_location(ast.Return(s.test), where)
        out = [
            _define(_TEST, self._inner([*before, test]), where),
            _define(_WHILE, self._inner(s.body), s),
        ]
        endless = isinstance(where, ast.Constant) and bool(where.value)
        flags = [ast.Constant(pure), ast.Constant(endless)]
        args = [
            _load(_TEST),
            _load(_WHILE),
            entries,
            attributes,
            names or ast.Constant(None),
            *flags,
            *options,
        ]
        out.append(self._emit("while_stmt", args, s))
        return [*out, *self.block(s.orelse)]

    def _for(self, s: ast.For) -> list[ast.stmt]:
        options = self._options(s)
        item = copy_location(_load(_ITEM), s.target)
        target = copy_location(ast.Assign([s.target], item), s.target)
        extra = getattr(s, "extra_tests", [])
        entries, names = self._loop_entries(s, self.facts.of([target, *s.body]))
        attributes = self._attributes(s.body, []) or ast.Tuple([], _LOAD)
        test: ast.expr = _later(self.expression(extra[0])) if extra else ast.Constant(None)
        out = [_define(_FOR, self._inner([target, *s.body]), s, _ITEM)]
        if isinstance(s.iter, ast.Call):
            iterable = self.expressions.call(s.iter, "ci")
        else:
            iterable = self.expression(s.iter)
        args = [iterable, _load(_FOR), test, entries, attributes, names or ast.Constant(None), *options]
        out.append(self._emit("for_stmt", args, s))
        return [*out, *self.block(s.orelse)]

    def _match(self, s: ast.Match) -> list[ast.stmt]:
        for case in s.cases:
            if case.guard is not None:
                case.guard = self.expression(case.guard)
            case.body = self.block(case.body)
        s.subject = self.expression(s.subject)
        return [s]

    # --- parts ---

    def _emit(self, name: str, args: list[ast.expr], s: ast.stmt) -> ast.stmt:
        call = _call(name, *args)
        # The call stands for the head of the statement.
        where = getattr(s, "test", None) or s.iter  # type: ignore[attr-defined]
        copy_location(call, where)
        call.lineno, call.col_offset = s.lineno, s.col_offset
        return copy_location(ast.Expr(call), call)

    def _inner(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements as the body of an inner function."""
        names = self.facts.of(body).bound
        mine = sorted(n for n in names if n in self.scope.locals or n in self.scope.nonlocals)
        outside = sorted(n for n in names if n in self.scope.globals)
        self.shared.update(n for n in mine if n in self.scope.locals)
        out: list[ast.stmt] = []
        kept = self.block([s for s in body if not isinstance(s, (ast.Global, ast.Nonlocal))])
        if mine:
            out.append(ast.Nonlocal(mine))
        if outside:
            out.append(ast.Global(outside))
        where = body[0]
        result = [*out, *kept]
        for statement in out:
            copy_location(statement, where)
        return result or [copy_location(ast.Pass(), where)]

    def _entries(
        self, first: Facts, second: Facts, live: frozenset[str], after: frozenset[str], line: int
    ) -> tuple[ast.expr, ast.expr | None]:
        """The variables that two bodies assign, or whose contents they change, as a constant.

        Beside it a function that closes over those that the bodies need not close over; None for none.
        """
        scope, is_live = self.scope, self.liveness.is_live
        lines: dict[str, list[int]] = {}
        for part, facts in enumerate((first, second)):
            for name, at in facts.bound.items():
                lines.setdefault(name, [0, 0])[part] = at
        bound = lines.keys() & (scope.locals | scope.nonlocals | scope.globals)
        more: set[str] = set()
        for part, facts in enumerate((first, second)):
            changed = {n: at for n, at in facts.mutated.items() if n in scope.locals}
            if facts.calls:
                changed.update(dict.fromkeys(scope.effects & (scope.locals | scope.nonlocals), line))
            for name, at in changed.items():
                if name not in facts.bound:
                    lines.setdefault(name, [0, 0])[part] = at
                    more.add(name)
        names = bound | more
        items = [(n, *lines[n], is_live(n, live), is_live(n, after)) for n in sorted(names)]
        self.shared |= names & scope.locals
        more -= bound
        if not more:
            return _constant(tuple(items)), None
        return _constant(tuple(items)), _later(ast.Tuple([_load(n) for n in sorted(more)], _LOAD))

    def touched(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """The statement that says what the function changes outside of itself."""
        outside = self.scope.assigned_outside
        attributes = self._attributes(node.body, [])
        if not outside and attributes is None:
            return []
        items = tuple((name, line, 0, True, True) for name, line in sorted(outside.items()))
        closure = _later(ast.Tuple([_load(n) for n in sorted(outside)], _LOAD))
        args: list[ast.expr] = [closure, _constant(items)]
        if attributes is not None:
            args.append(attributes)
        return [copy_location(ast.Expr(_call("touch", *args)), node.body[0])]

    def _loop_entries(self, s: ast.For | ast.While, body: Facts) -> tuple[ast.expr, ast.expr | None]:
        after = self.liveness.after[id(s)]
        return self._entries(body, _NOTHING, after | self.liveness.header[id(s)], after, s.lineno)

    def _attributes(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.expr | None:
        """Attributes of variables that statements assign: `(base, attribute, entry)` of each."""
        found: dict[str, tuple[ast.expr, str, list[int]]] = {}
        facts = self.facts.of(body), self.facts.of(orelse)
        if not facts[0].attributes and not facts[1].attributes:
            return None
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
            entry = _constant((name, *lines, True, True))
            items.append(ast.Tuple([_later(_copied(base)), ast.Constant(attribute), entry], _LOAD))
        return ast.Tuple(items, _LOAD)

    def _options(self, s: ast.For | ast.While) -> list[ast.expr]:
        """The arguments of `set_loop_options` at the head of a loop's body, to be evaluated before it."""
        import copy

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
                        given.append(ast.keyword("names", _constant(named)))
                    options = ast.Call(_operator("options"), [], copy.deepcopy(given))
                    s.body = [n for n in s.body if n is not node] or [copy_location(ast.Pass(), node)]
                    return [_later(copy_location(options, node))]
        return []


def _named_first(pairs: ast.expr) -> tuple[str | None, ...] | None:
    """The variables that a display of pairs names first in each, None for another expression."""
    if not isinstance(pairs, _SEQUENCES) or not all(isinstance(p, _SEQUENCES) and p.elts for p in pairs.elts):
        return None
    firsts = [p.elts[0] for p in pairs.elts]  # type: ignore[attr-defined]
    return tuple(f.id if isinstance(f, ast.Name) else None for f in firsts)


def _handled(handler: ast.ExceptHandler) -> ast.expr:
    return ast.Constant(None) if handler.type is None else _copied(handler.type)


_NOTHING = Facts()
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
    import copy

    new = copy.deepcopy(node)
    for inner in walk(new):
        if hasattr(inner, "ctx"):
            inner.ctx = _LOAD
    return new
