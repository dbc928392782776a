"""`match` becomes `if`, which a tensor may decide. Patterns of classes, and a few more, stay Python's."""

from __future__ import annotations

import ast

from penstock.autograph._nodes import LOAD, OPERATORS, STORE, load
from penstock.autograph._tree import DEFINITIONS, placed

__all__ = ["lower_matches"]


def lower_matches(block: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with each `match` rewritten all of whose patterns are understood."""
    out: list[ast.stmt] = []
    for s in block:
        if isinstance(s, DEFINITIONS):
            out.append(s)
            continue
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None):
                setattr(s, field, lower_matches(getattr(s, field)))
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            part.body = lower_matches(part.body)
        if isinstance(s, ast.Match) and all(_is_understood(c.pattern) for c in s.cases):
            out.extend(_as_if(s))
        else:
            out.append(s)
    return out


def _is_value(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_is_value, pattern.patterns))
    return isinstance(pattern, (ast.MatchValue, ast.MatchSingleton))


def _is_understood(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _is_understood(pattern.pattern)
    if isinstance(pattern, ast.MatchSequence):
        return all(map(_is_understood, pattern.patterns))
    if isinstance(pattern, ast.MatchMapping):
        return pattern.rest is None and all(map(_is_understood, pattern.patterns))
    if isinstance(pattern, ast.MatchOr):
        # The alternatives may bind their names in different orders.
        return all(_is_understood(p) and not _names(p) for p in pattern.patterns)
    return isinstance(pattern, ast.MatchStar) or _is_value(pattern)


def _names(pattern: ast.pattern) -> list[str]:
    """The names that a pattern binds, in the order in which `matched` gives their values."""
    inner = [p for field in ("pattern", "patterns") for p in _listed(getattr(pattern, field, None))]
    names = [n for p in inner for n in _names(p)]
    name = getattr(pattern, "name", None)
    return [*names, name] if name is not None else names


def _listed(value: ast.pattern | list[ast.pattern] | None) -> list[ast.pattern]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _as_if(s: ast.Match) -> list[ast.stmt]:
    name = f"match_{s.lineno}_{s.col_offset}__"
    rest: list[ast.stmt] = []
    for number, case in reversed(list(enumerate(s.cases))):
        before: list[ast.stmt] = []
        values: dict[str, ast.expr] = {}
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            test = None
            if case.pattern.name is not None:
                values[case.pattern.name] = load(name)
        elif _is_value(case.pattern):
            test = _test(case.pattern, name)
        else:
            found = f"match_{s.lineno}_{s.col_offset}_{number}__"
            matched = ast.Attribute(load(OPERATORS), "matched", LOAD)
            call = ast.Call(matched, [load(name), _described(case.pattern)], [])
            before = [placed(ast.Assign([ast.Name(found, STORE)], call), case.pattern)]
            test = _item(load(found), 0)
            values = {n: _item(_item(load(found), 1), i) for i, n in enumerate(_names(case.pattern))}
        body = case.body
        targets = [ast.Assign([ast.Name(n, STORE)], v) for n, v in values.items()]
        if targets:
            body = [*(placed(t, case.pattern) for t in targets), *body]
        if case.guard is not None:
            # The guard comes before the assignments.
            guard = _Replaced(values).visit(case.guard) if values else case.guard
            test = guard if test is None else ast.BoolOp(ast.And(), [test, guard])
        if test is None:
            rest = body
        else:
            placed(test, case.pattern)
            rest = [*before, placed(ast.If(test, body, rest), case.pattern)]
    subject = placed(ast.Assign([ast.Name(name, STORE)], s.subject), s.subject)
    return [subject, *rest]


def _item(value: ast.expr, index: int) -> ast.expr:
    return ast.Subscript(value, ast.Constant(index), LOAD)


def _test(pattern: ast.pattern, name: str) -> ast.expr | None:
    if isinstance(pattern, ast.MatchValue):
        return placed(ast.Compare(load(name), [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        return placed(ast.Compare(load(name), [ast.Is()], [ast.Constant(pattern.value)]), pattern)
    if isinstance(pattern, ast.MatchOr):
        tests = [t for p in pattern.patterns if (t := _test(p, name)) is not None]
        return placed(ast.BoolOp(ast.Or(), tests), pattern)
    return None


def _described(pattern: ast.pattern) -> ast.expr:
    """A pattern as an expression, for `matched`."""

    def made(kind: str, *parts: ast.expr) -> ast.expr:
        return placed(ast.Tuple([ast.Constant(kind), *parts], LOAD), pattern)

    def described(patterns: list[ast.pattern]) -> ast.expr:
        return ast.Tuple([_described(p) for p in patterns], LOAD)

    if isinstance(pattern, ast.MatchValue):
        return made("value", pattern.value)
    if isinstance(pattern, ast.MatchSingleton):
        return made("singleton", ast.Constant(pattern.value))
    if isinstance(pattern, ast.MatchSequence):
        return made("sequence", described(pattern.patterns))
    if isinstance(pattern, ast.MatchMapping):
        return made("mapping", ast.Tuple(list(pattern.keys), LOAD), described(pattern.patterns))
    if isinstance(pattern, ast.MatchOr):
        return made("or", described(pattern.patterns))
    named = ast.Constant(getattr(pattern, "name", None) is not None)
    if isinstance(pattern, ast.MatchStar):
        return made("star", named)
    inner = pattern.pattern if isinstance(pattern, ast.MatchAs) else None
    return made("as", ast.Constant(None) if inner is None else _described(inner), named)


class _Replaced(ast.NodeTransformer):
    """Expressions in place of names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return placed(self.values.get(node.id, node), node)
