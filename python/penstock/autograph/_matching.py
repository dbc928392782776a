"""`match` on values becomes `if`, which may then depend on a tensor. Other patterns stay Python's."""

from __future__ import annotations

import ast

from penstock.autograph._tree import DEFINITIONS, copy_location

__all__ = ["lower_matches"]


def lower_matches(block: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with each `match` rewritten whose patterns are values, alternatives and wildcards."""
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
        if isinstance(s, ast.Match) and all(_is_simple(c) for c in s.cases):
            out.extend(_as_if(s))
        else:
            out.append(s)
    return out


def _is_simple(case: ast.match_case) -> bool:
    pattern = case.pattern
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None
    return _is_value(pattern)


def _is_value(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_is_value, pattern.patterns))
    return isinstance(pattern, ast.MatchValue | ast.MatchSingleton)


def _as_if(s: ast.Match) -> list[ast.stmt]:
    name = f"match_{s.lineno}_{s.col_offset}__"
    subject = copy_location(ast.Assign([ast.Name(name, ast.Store())], s.subject), s.subject)
    rest: list[ast.stmt] = []
    for case in reversed(s.cases):
        test = _test(case.pattern, name)
        body = case.body
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None:
            target = ast.Assign([ast.Name(case.pattern.name, ast.Store())], ast.Name(name, ast.Load()))
            body = [copy_location(target, case.pattern), *body]
            if case.guard is not None:
                # The guard comes before the assignment.
                case.guard = _Renamed(case.pattern.name, name).visit(case.guard)
        if case.guard is not None:
            test = case.guard if test is None else ast.BoolOp(ast.And(), [test, case.guard])
        if test is None:
            rest = body
        else:
            copy_location(test, case.pattern)
            rest = [copy_location(ast.If(test, body, rest), case.pattern)]
    return [subject, *rest]


def _test(pattern: ast.pattern, name: str) -> ast.expr | None:
    subject = ast.Name(name, ast.Load())
    if isinstance(pattern, ast.MatchValue):
        return copy_location(ast.Compare(subject, [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        return copy_location(ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)]), pattern)
    if isinstance(pattern, ast.MatchOr):
        tests = [t for p in pattern.patterns if (t := _test(p, name)) is not None]
        return copy_location(ast.BoolOp(ast.Or(), tests), pattern)
    return None


class _Renamed(ast.NodeTransformer):
    """A name in place of another."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == self.old:
            node.id = self.new
        return node
