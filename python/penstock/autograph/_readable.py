"""Converted code as a person reads it: statements in place of calls of operators, with the user's names.

What is shown is what the converted function does: jumps are flags, `match` is `if`, and a comment above a
statement that can become part of a graph says which variables it sets or carries then. What is shown does
with Python's values what the function does. It has one operator, `ag__.matched`, for patterns with parts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.autograph._jumps import DO_RETURN, RESULT
from penstock.autograph._nodes import ITEM, LOAD, OPERATORS, STORE
from penstock.autograph._transform import AUGMENTED, ELSE, FOR, IF, TEST, WHILE

__all__ = ["readable"]

_PARTS = frozenset({IF, ELSE, WHILE, FOR, TEST})
# The name that stands for a comment, with its number behind it.
_COMMENTED = "comment__"
_COMMENT = re.compile(rf"^( *){_COMMENTED}(\d+)$", re.MULTILINE)
# Flags that end a loop.
_ENDING = re.compile(rf"break_\d+__|{DO_RETURN}")
# The names that the conversion gives, and what is shown for each kind of them.
_SHOWN = {
    r"break_\d+": "broken",
    r"continue_\d+": "skipped",
    r"do_return": "returned",
    r"item(?:_\d+_\d+)?": "item",
    r"match_\d+_\d+": "subject",
    r"match_\d+_\d+_\d+": "case",
    r"result": "result",
    r"test_\d+_\d+": "test",
    r"yield_\d+_\d+": "yielded",
}
_MADE = re.compile(rf"\b(?:{'|'.join(_SHOWN)})__\b")
_AUGMENTED = {"i" + name: kind for kind, name in AUGMENTED.items()}


def readable(tree: ast.FunctionDef | ast.Lambda) -> str:
    """The source of converted code. The tree that is given is used up."""
    reader = _Reader()
    text = ast.unparse(ast.fix_missing_locations(reader.visit(tree)))
    text = _COMMENT.sub(lambda found: f"{found[1]}# {reader.comments[int(found[2])]}", text)
    names = _names(text)
    return _MADE.sub(lambda found: names[found[0]], text)


def _names(text: str) -> dict[str, str]:
    """The names to show for those that the conversion gave; none is one that the user gave."""
    taken = set(re.findall(r"\w+", text))
    names: dict[str, str] = {}
    for found in _MADE.finditer(text):
        if found[0] not in names:
            wanted = name = next(_SHOWN[kind] for kind in _SHOWN if re.fullmatch(f"{kind}__", found[0]))
            number = 1
            while name in taken:
                number += 1
                name = f"{wanted}_{number}"
            taken.add(name)
            names[found[0]] = name
    return names


class _Reader(ast.NodeTransformer):
    """Puts statements and expressions in the place of calls of operators."""

    def __init__(self) -> None:
        self.comments: list[str] = []

    # --- statements ---

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self._block(value))
            elif isinstance(value, list):
                value[:] = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        bodies: dict[str, ast.FunctionDef] = {}
        for s in statements:
            if isinstance(s, ast.FunctionDef) and s.name in _PARTS:
                bodies[s.name] = s
            elif (call := _operation(s.value if isinstance(s, ast.Expr) else None)) is not None:
                out.extend(self._statement(call, bodies, s))
            elif isinstance(s, ast.If) and isinstance(s.test, ast.Constant) and s.test.value is False:
                # It says which variables are the function's.
                continue
            elif isinstance(s, ast.With) and _operation(s.items[0].context_expr, "attempt") is not None:
                out.extend(self._block(s.body))
            else:
                new = self.visit(s)
                out.extend(new if isinstance(new, list) else [new])
        return out or [ast.Pass()]

    def _statement(
        self, call: ast.Call, bodies: dict[str, ast.FunctionDef], s: ast.stmt
    ) -> Iterable[ast.stmt]:
        """What stands for the call of an operator that is a statement."""
        name = call.func.attr  # type: ignore[attr-defined]
        make = _STATEMENTS.get(name)
        return [self.visit(s)] if make is None else make(self, call, bodies)

    def _if(self, call: ast.Call, bodies: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
        test, entries, _, *rest = call.args
        test, body = self.visit(test), self._body(bodies[IF])
        orelse = self._body(bodies[ELSE]) if rest else []
        if len(orelse) == 2 and _is_comment(orelse[0]) and isinstance(orelse[1], ast.If):
            # An `elif`, which sets nothing that the whole does not.
            del orelse[0]
        if orelse and isinstance(body[0], ast.Pass):
            test, body, orelse = _negated(test), orelse, []
        return [*self._about("sets", entries, call), ast.If(test, body, orelse)]

    def _while(self, call: ast.Call, bodies: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
        test, _, entries = call.args
        flags = _flags_in(test if isinstance(test, ast.Lambda) else bodies[TEST])
        body = self._options(call) + _without_resets(self._body(bodies[WHILE]), flags)
        about = self._about("carries", entries, call)
        if isinstance(test, ast.Lambda):
            return [*about, ast.While(self.visit(test.body), body, [])]
        # What the test assigns stands in front of it.
        *before, last = self._body(bodies[TEST])
        tested = _negated(last.value)  # type: ignore[attr-defined]
        ends = ast.If(tested, [ast.Break()], [])
        return [*about, ast.While(ast.Constant(True), [*before, ends, *body], [])]

    def _for(self, call: ast.Call, bodies: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
        iterable, _, entries = call.args
        first, *body = self._body(bodies[FOR])
        assert isinstance(first, ast.Assign)
        ends: list[ast.stmt] = []
        for keyword in call.keywords:
            if keyword.arg == "go_on":
                body = _without_resets(body, _flags_in(keyword.value))
                ends = [ast.If(_negated(self.visit(_body_of(keyword.value))), [ast.Break()], [])]
        body = [*self._options(call), *body, *ends] or [ast.Pass()]
        loop = ast.For(first.targets[0], self.visit(iterable), body, [])
        return [*self._about("carries", entries, call), loop]

    def _touch(self, call: ast.Call, bodies: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
        _, entries, *rest = call.args
        return self._about("changes", entries, call, rest[0] if rest else None)

    def _about(
        self, what: str, entries: ast.expr, call: ast.Call, attributes: ast.expr | None = None
    ) -> list[ast.stmt]:
        """A comment on the variables of a statement that are more than its own."""
        for keyword in call.keywords:
            if keyword.arg == "attributes":
                attributes = keyword.value
        found = [*entries.value] if isinstance(entries, ast.Constant) else []  # type: ignore[misc]
        found += [item.elts[2].value for item in getattr(attributes, "elts", ())]
        names = [entry[0] for entry in found if entry[3] is not False]
        if not names:
            return []
        self.comments.append(f"{what}: {', '.join(names)}")
        return [ast.Expr(ast.Name(f"{_COMMENTED}{len(self.comments) - 1}", LOAD))]

    def _options(self, call: ast.Call) -> list[ast.stmt]:
        """The options of a loop, where the user gave them."""
        for keyword in call.keywords:
            if keyword.arg == "options":
                given = _body_of(keyword.value)
                assert isinstance(given, ast.Call)
                function = ast.parse("tf.autograph.experimental.set_loop_options", mode="eval").body
                shown = [k for k in given.keywords if k.arg != "names"]
                return [ast.Expr(self.visit(ast.Call(function, [], shown)))]
        return []

    def _body(self, part: ast.FunctionDef) -> list[ast.stmt]:
        """The statements of a part, which the conversion made a function."""
        body = part.body
        while body and isinstance(body[0], (ast.Nonlocal, ast.Global)):
            body = body[1:]
        return self._block(body)

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        call = node.value
        if _operation(call, "set_item") is not None:
            value, target, *indices = call.args  # type: ignore[attr-defined]
            return ast.Assign([_item(target, indices, STORE)], value)
        if _operation(call, "update_item") is not None:
            symbol, value, target, *indices = call.args  # type: ignore[attr-defined]
            kind = _AUGMENTED[symbol.value]
            return ast.AugAssign(_item(target, indices, STORE), kind(), _body_of(value))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        if isinstance(node.body[-1], ast.Return) and _is_name(node.body[-1].value, RESULT):
            # Nothing asks after the last statement whether the function has returned.
            node.body[:-1] = _without_last_return(node.body[:-1])
        return node

    # --- expressions ---

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _is_name(node.func, "super") and node.args and _is_name(node.args[0], "__class__"):
            node.args = []
        call = _operation(node)
        if call is None:
            return node
        name = call.func.attr  # type: ignore[attr-defined]
        make = _nested_comp if name == "list_comp" and node.keywords else _EXPRESSIONS.get(name)
        return node if make is None else make(*node.args)


def _is_name(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_comment(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Name) and s.value.id.startswith(_COMMENTED)


def _flags_in(test: ast.AST) -> set[str]:
    """The flags that the test of a loop looks at: they are false where an iteration begins."""
    return {n.id for n in ast.walk(test) if isinstance(n, ast.Name) and _ENDING.fullmatch(n.id)}


def _assigned(s: ast.stmt, value: bool) -> str | None:
    """The name that a statement sets to a truth value; None for another statement."""
    if not isinstance(s, ast.Assign) or not isinstance(s.value, ast.Constant) or s.value.value is not value:
        return None
    return s.targets[0].id if isinstance(s.targets[0], ast.Name) else None


def _without_resets(body: list[ast.stmt], flags: set[str]) -> list[ast.stmt]:
    """The body of a loop without the statements at its head that set flags to false which are so."""
    while body and _assigned(body[0], False) in flags:
        body = body[1:]
    return body or [ast.Pass()]


def _without_last_return(block: list[ast.stmt]) -> list[ast.stmt]:
    """A block after which a function ends, without saying there that it has returned."""
    if not block:
        return block
    *before, last = block
    if _assigned(last, True) == DO_RETURN:
        return before
    if isinstance(last, ast.If):
        last.body = _without_last_return(last.body) or [ast.Pass()]
        last.orelse = _without_last_return(last.orelse)
    return block


def _operation(node: ast.AST | None, name: str | None = None) -> ast.Call | None:
    """A call of an operator, or of one; None for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    base = node.func.value
    if not isinstance(base, ast.Name) or base.id != OPERATORS or name not in (None, node.func.attr):
        return None
    return node


def _body_of(node: ast.expr) -> ast.expr:
    """What stands in a function without parameters."""
    assert isinstance(node, ast.Lambda)
    return node.body


def _item(target: ast.expr, indices: Iterable[ast.expr], context: ast.expr_context) -> ast.Subscript:
    for index in indices:
        target = ast.Subscript(target, index, LOAD)
    assert isinstance(target, ast.Subscript)
    target.ctx = context
    return target


def _negated(node: ast.expr) -> ast.expr:
    """`not node`, without a `not` of a `not`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return ast.BoolOp(ast.Or(), list(map(_negated, node.values)))
    return ast.UnaryOp(ast.Not(), node)


def _not(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.In) and len(value.ops) == 1:
        return ast.Compare(value.left, [ast.NotIn()], value.comparators)
    return ast.UnaryOp(ast.Not(), value)


def _logic(kind: type[ast.boolop]) -> Callable[[ast.expr, ast.expr], ast.expr]:
    def make(first: ast.expr, second: ast.expr) -> ast.expr:
        return ast.BoolOp(kind(), [*operands(first), *operands(_body_of(second))])

    def operands(node: ast.expr) -> list[ast.expr]:
        return node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, kind) else [node]

    return make


def _chain(first: ast.expr, *rest: Any) -> ast.expr:
    ops = [getattr(ast, pair.elts[0].value)() for pair in rest]
    return ast.Compare(first, ops, [_body_of(pair.elts[1]) for pair in rest])


def _taken_apart(function: Any) -> tuple[ast.expr, ast.expr]:
    """The target that an item is assigned to, and the value, of a function of an item."""
    name, body = function.args.args[0].arg, function.body
    if name == ITEM and isinstance(body, ast.Subscript) and isinstance(body.value, ast.ListComp):
        return body.value.generators[0].target, body.value.elt
    return ast.Name(name, STORE), body


def _parts_of(iterable: ast.expr, value: Any, tests: Sequence[Any]) -> tuple[ast.comprehension, ast.expr]:
    target, elt = _taken_apart(value)
    return ast.comprehension(target, iterable, [_taken_apart(t)[1] for t in tests], 0), elt


def _list_comp(iterable: ast.expr, value: Any, *tests: Any) -> ast.expr:
    part, elt = _parts_of(iterable, value, tests)
    return ast.ListComp(elt, [part])


def _nested_comp(iterable: ast.expr, value: Any, *tests: Any) -> ast.expr:
    part, inner = _parts_of(iterable, value, tests)
    assert isinstance(inner, ast.ListComp)
    return ast.ListComp(inner.elt, [part, *inner.generators])


def _generator(iterable: ast.expr, _: Any, value: Any, *tests: Any) -> ast.expr:
    part, elt = _parts_of(iterable, value, tests)
    return ast.GeneratorExp(elt, [part])


def _slice(*parts: ast.expr) -> ast.expr:
    return ast.Slice(*(None if isinstance(p, ast.Constant) and p.value is None else p for p in parts))


def _first(first: ast.expr, *_: ast.expr) -> ast.expr:
    return first


_Statement = Callable[[_Reader, ast.Call, dict[str, ast.FunctionDef]], list[ast.stmt]]
_STATEMENTS: dict[str, _Statement] = {
    "for_stmt": _Reader._for,
    "if_stmt": _Reader._if,
    "touch": _Reader._touch,
    "while_stmt": _Reader._while,
}

_EXPRESSIONS: dict[str, Callable[..., ast.expr]] = {
    "and_": _logic(ast.And),
    "and_both": _logic(ast.And),
    "assert_": _first,
    "c": _first,
    "chain": _chain,
    "changing": _first,
    "ci": _first,
    "elements": _first,
    "generator": _generator,
    "if_exp": lambda test, body, orelse: ast.IfExp(test, _body_of(body), _body_of(orelse)),
    "in_": lambda value, container: ast.Compare(value, [ast.In()], [container]),
    "item": lambda value, index: ast.Subscript(value, index, LOAD),
    "list_comp": _list_comp,
    "not_": _not,
    "or_": _logic(ast.Or),
    "or_both": _logic(ast.Or),
    "raised": _first,
    "slice_": _slice,
    "unpack": _first,
    "wanted": _first,
}
