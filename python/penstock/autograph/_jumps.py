"""Return, break and continue become assignments to flags, so that every block runs to its end.

What follows a statement that may jump runs under a test of the flags. Where one branch of an `if`
always jumps, what follows moves into the other branch, and no flag is needed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from penstock.autograph._names import Survey, read_names
from penstock.autograph._nodes import LOAD, STORE
from penstock.autograph._tree import LOOPS, TRIES, made, own_nodes, placed, places, point

__all__ = ["DO_RETURN", "RESULT", "lower_jumps", "lower_jumps_between_yields"]

DO_RETURN = "do_return__"
RESULT = "result__"


_LEAVING = frozenset({ast.Return, ast.Break, ast.Continue, ast.Raise})
# The statements with others in them that are of the same function.
_HOLDING = frozenset({ast.If, *LOOPS, ast.AsyncFor, ast.With, ast.AsyncWith, *TRIES, ast.Match})
_SUSPENDING = frozenset({ast.Return, ast.Yield, ast.YieldFrom, ast.Await})


@dataclass
class _LoopFlags:
    """The flags of the loop that encloses a block."""

    broken: str
    skipped: str
    breaks: bool = False


@dataclass
class _FlagUse:
    """How many loops of a function have flags so far, and which flags something tests."""

    number: int = 0
    tested: set[str] = field(default_factory=set)


def lower_jumps(node: ast.FunctionDef, survey: Survey) -> None:
    """Rewrites the body of a function in place. A single return at its end stays as it is."""
    returns = survey.returns
    plain = not returns or (len(returns) == 1 and node.body[-1] is returns[0])
    if plain and not survey.jumps:
        return
    use = _FlagUse()
    last = node.body[-1]
    if plain:
        tail: list[ast.stmt] = [node.body.pop()] if returns else []
        body, _, _ = _block(node.body, None, use)
        node.body = [*_without_idle_flags(body, use), *tail] or [placed(ast.Pass(), last)]
        return
    end = placed(ast.Return(ast.Constant(None)), point(last.end_lineno or 0, last.end_col_offset or 0))
    if not _always_jumps(node.body):
        node.body.append(end)
    body, _, _ = _block(node.body, None, use)
    if DO_RETURN in use.tested:
        body.insert(0, _flag(DO_RETURN, False, node.body[0]))
    body.append(placed(ast.Return(ast.Name(RESULT, LOAD)), end))
    node.body = _without_idle_flags(body, use)


def lower_jumps_between_yields(node: ast.FunctionDef) -> set[int]:
    """Rewrites the statements of a generator that nothing leaves; the identities of the others.

    What has a `yield` in it stays as it is, and what has a jump to somewhere else.
    """
    use, left = _FlagUse(), set[int]()
    node.body = _without_idle_flags(_between_yields(node.body, use), use)
    _find_left(node.body, left)
    return left


def _between_yields(statements: list[ast.stmt], use: _FlagUse) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for s in statements:
        blocks = _blocks(s)
        if not any(blocks):
            out.append(s)
        elif _is_left(s):
            for block in blocks:
                block[:] = _between_yields(block, use)
            out.extend(_with_one_yield(s) if isinstance(s, ast.If) else [s])
        else:
            out.extend(_block([s], None, use)[0])
    return out


def _is_left(s: ast.stmt) -> bool:
    """Whether a statement has a `yield` in it, or a jump out of it."""
    return _breaks([s], (ast.Break, ast.Continue)) or any(type(n) in _SUSPENDING for n in own_nodes([s]))


def _find_left(statements: list[ast.stmt], found: set[int]) -> None:
    for s in statements:
        blocks = _blocks(s)
        if any(blocks) and _is_left(s):
            found.add(id(s))
            for block in blocks:
                _find_left(block, found)


def _with_one_yield(s: ast.If) -> list[ast.stmt]:
    """An `if` both of whose branches end with a `yield`, as one that chooses what is yielded behind it."""
    name = f"yield_{s.lineno}_{s.col_offset}__"
    for branch in (s.body, s.orelse):
        last = branch[-1] if branch else None
        if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Yield)):
            return [s]
        if any(map(_is_left, branch[:-1])) or (last.value.value and _is_left(ast.Expr(last.value.value))):
            return [s]
    for branch in (s.body, s.orelse):
        end: Any = branch[-1]
        value = end.value.value or ast.Constant(None)
        branch[-1] = placed(ast.Assign([ast.Name(name, STORE)], value), end)
    head = point(s.lineno, s.col_offset, len("if"))
    return [s, placed(ast.Expr(ast.Yield(ast.Name(name, LOAD))), head)]


def _flag(name: str, value: bool, where: ast.AST) -> ast.stmt:
    whole, within = places(where)
    target = made(ast.Name, {"id": name, "ctx": STORE, **within})
    constant = made(ast.Constant, {"value": value, **within})
    return made(ast.Assign, {"targets": [target], "value": constant, **whole})


def _always_jumps(statements: list[ast.stmt]) -> bool:
    for s in statements:
        kind = type(s)
        if kind in _LEAVING:
            return True
        if kind not in _HOLDING:
            continue
        if isinstance(s, ast.If) and s.orelse and _always_jumps(s.body) and _always_jumps(s.orelse):
            return True
        if (
            isinstance(s, ast.With)
            and _always_jumps(s.body)
            and not any(isinstance(x, ast.Raise) for x in own_nodes(s.body))
        ):
            return True
        if (
            isinstance(s, ast.While)
            and isinstance(s.test, ast.Constant)
            and s.test.value
            and not _breaks(s.body)
        ):
            return True
        # Without a `break` in the loop, its `else` runs wherever the body has not left.
        if isinstance(s, LOOPS) and s.orelse and _always_jumps(s.orelse) and not _breaks(s.body):
            return True
    return False


def _breaks(statements: list[ast.stmt], kinds: tuple[type[ast.stmt], ...] = (ast.Break,)) -> bool:
    """Whether a break of the enclosing loop, or a jump of these kinds, is among the statements."""
    for s in statements:
        if isinstance(s, kinds):
            return True
        if isinstance(s, LOOPS):
            if _breaks(s.orelse, kinds):
                return True
            continue
        for block in _blocks(s):
            if _breaks(block, kinds):
                return True
    return False


def _blocks(s: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks in a statement that are of the same function, empty ones too."""
    if type(s) not in _HOLDING:
        return []
    found = [
        getattr(s, name)
        for name in ("body", "orelse", "finalbody")
        if isinstance(getattr(s, name, None), list)
    ]
    found += [h.body for h in getattr(s, "handlers", ())]
    found += [c.body for c in getattr(s, "cases", ())]
    return found


def _block(
    statements: list[ast.stmt], loop: _LoopFlags | None, use: _FlagUse
) -> tuple[list[ast.stmt], set[str], bool]:
    """The statements without jumps, the flags that they may set, and whether they always jump."""
    out: list[ast.stmt] = []
    flags: set[str] = set()
    for i, s in enumerate(statements):
        kind = type(s)
        if kind not in _LEAVING and kind not in _HOLDING:
            out.append(s)
            continue
        rest = statements[i + 1 :]
        if isinstance(s, ast.Return):
            # The value first: if it raises, and is caught, the function has not returned.
            result = placed(ast.Name(RESULT, STORE), s)
            out.append(placed(ast.Assign([result], s.value or ast.Constant(None)), s))
            out.append(_flag(DO_RETURN, True, s))
            return out, flags | {DO_RETURN}, True
        if isinstance(s, ast.Break) and loop is not None:
            loop.breaks = True
            out.append(_flag(loop.broken, True, s))
            return out, flags | {loop.broken}, True
        if isinstance(s, ast.Continue) and loop is not None:
            out.append(_flag(loop.skipped, True, s))
            return out, flags | {loop.skipped}, True
        if isinstance(s, ast.Raise):
            out.append(s)
            return out, flags, True
        if isinstance(s, ast.If) and rest:
            # What follows belongs to the branch that does not jump.
            if _always_jumps(s.body):
                if not _always_jumps(s.orelse):
                    s.orelse, rest = [*s.orelse, *rest], []
                else:
                    rest = []
            elif s.orelse and _always_jumps(s.orelse):
                s.body, rest = [*s.body, *rest], []
        mine, jumps = _statement(s, loop, use)
        out.extend(mine[0])
        flags |= mine[1]
        if jumps:
            return out, flags, True
        if not rest:
            if isinstance(s, ast.If) and i + 1 < len(statements):
                return out, flags, False
            continue
        if mine[1]:
            use.tested |= mine[1]
            after, more, _ = _block(rest, loop, use)
            test = _none_of(sorted(mine[1]), rest[0])
            out.append(placed(ast.If(test, after or [placed(ast.Pass(), s)], []), rest[0]))
            return out, flags | more, False
    return out, flags, False


def _none_of(flags: list[str], where: ast.AST) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(f, LOAD)) for f in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _statement(
    s: ast.stmt, loop: _LoopFlags | None, use: _FlagUse
) -> tuple[tuple[list[ast.stmt], set[str]], bool]:
    """What stands for a statement, the flags that this may set, and whether it always jumps."""
    if isinstance(s, ast.If):
        s.body, a, jumps = _block(s.body, loop, use)
        s.orelse, b, other = _block(s.orelse, loop, use)
        return ([s], a | b), jumps and other and bool(s.orelse)
    if isinstance(s, LOOPS):
        return _loop(s, loop, use), False
    if isinstance(s, ast.With):
        s.body, flags, jumps = _block(s.body, loop, use)
        return ([s], flags), jumps and DO_RETURN not in flags and not any(
            isinstance(x, ast.Raise) for x in own_nodes(s.body)
        )
    if isinstance(s, TRIES):
        flags = set()
        s.body, in_body, _ = _block(s.body, loop, use)
        flags |= in_body
        for handler in s.handlers:
            handler.body, more, _ = _block(handler.body, loop, use)
            flags |= more
        if s.orelse:
            orelse, more, _ = _block(s.orelse, loop, use)
            if in_body:
                use.tested |= in_body
                orelse = [placed(ast.If(_none_of(sorted(in_body), s), orelse, []), s.orelse[0])]
            s.orelse, flags = orelse, flags | more
        s.finalbody, more, _ = _block(s.finalbody, loop, use)
        return ([s], flags | more), False
    if isinstance(s, ast.Match):
        flags = set()
        for case in s.cases:
            case.body, more, _ = _block(case.body, loop, use)
            flags |= more
        return ([s], flags), False
    return ([s], set()), False


def _loop(s: ast.For | ast.While, outer: _LoopFlags | None, use: _FlagUse) -> tuple[list[ast.stmt], set[str]]:
    """What stands for a loop and its `else`, and the flags that this may set for what follows."""
    use.number += 1
    mine = _LoopFlags(f"break_{use.number}__", f"continue_{use.number}__")
    first = s.body[0]
    s.body, flags, _ = _block(s.body, mine, use)
    orelse, s.orelse = s.orelse, []
    out: list[ast.stmt] = []
    ending = sorted(flags & {mine.broken, DO_RETURN})
    leading: list[ast.stmt] = []
    if mine.skipped in flags and mine.skipped in use.tested:
        leading.append(_flag(mine.skipped, False, first))
    if ending:
        use.tested.update(ending)
        # The loop's test has found them false; where Python decides, that is known in the body.
        leading.extend(_flag(name, False, first) for name in ending)
        if mine.broken in ending:
            out.append(_flag(mine.broken, False, s))
        test = placed(_none_of(ending, s), s)
        if isinstance(s, ast.While):
            if isinstance(s.test, ast.Constant) and s.test.value:
                s.test = test
            else:
                s.test = placed(ast.BoolOp(ast.And(), [test, s.test]), s.test)
        else:
            s.extra_tests = [test]  # type: ignore[attr-defined]
    s.body = [*leading, *s.body]
    out.append(s)
    left = flags & {DO_RETURN}
    if mine.broken in ending and _always_jumps(orelse):
        # What an iteration sets, and only what follows the loop reads, is set there.
        s.read_otherwise = read_names(ast.Module(orelse, []))  # type: ignore[union-attr]
    if orelse:
        after, more, _ = _block(orelse, outer, use)
        if ending:
            after = [placed(ast.If(_none_of(ending, s), after, []), orelse[0])]
        out.extend(after)
        left |= more
    return out, left


def _without_idle_flags(statements: list[ast.stmt], use: _FlagUse) -> list[ast.stmt]:
    """Drops assignments to flags that nothing tests."""

    def idle(s: ast.Assign) -> bool:
        target = s.targets[0]
        if type(target) is not ast.Name or target.id in use.tested:
            return False
        name = target.id
        return name == DO_RETURN or (name.startswith(("break_", "continue_")) and name.endswith("__"))

    def clean(block: list[ast.stmt]) -> list[ast.stmt]:
        kept = []
        for s in block:
            kind = type(s)
            if kind is ast.Assign and idle(s):  # type: ignore[arg-type]
                continue
            if kind in _HOLDING:
                orelse = getattr(s, "orelse", None)
                for inner in _blocks(s):
                    if inner:
                        first = inner[0]
                        inner[:] = clean(inner) or ([] if inner is orelse else [placed(ast.Pass(), first)])
            kept.append(s)
        return kept

    return clean(statements)
