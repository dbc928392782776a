"""The syntax tree of a Python function, with the positions that its source file gives."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, FunctionType
from typing import TypeVar

from penstock.autograph._tree import walk

__all__ = ["SourceError", "function_node", "lines_of", "text_of", "unwarned"]

T = TypeVar("T")
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Whole files, parsed for the lambdas in them: by name, with the lines that were parsed.
_files: dict[str, tuple[list[str], ast.Module]] = {}


class SourceError(Exception):
    """The source of a function cannot be had; the message says why."""


def function_node(function: FunctionType) -> FunctionNode:
    """The definition of a function, fresh to be changed.

    Raises:
        SourceError: where there is no source, or it is not that of the function.
    """
    code = function.__code__
    lines = lines_of(function)
    if not lines:
        raise SourceError(f"the source of {code.co_filename} is not available")
    if code.co_name == "<lambda>":
        return _lambda_node(code, lines)
    node = _definition(code, lines)
    if node.name != code.co_name or _parameters(node.args) != code.co_varnames[: len(_parameters(node.args))]:
        raise SourceError(
            f"{code.co_filename}, line {code.co_firstlineno}, does not hold the function that runs"
        )
    return node


def lines_of(function: FunctionType) -> list[str]:
    """The lines of the file that a function stands in; none where its text was not kept."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if code.co_filename != "<string>":
        return lines
    # Python keeps the text of `python -c` from 3.13 on, and from 3.14 on where only `inspect` looks. What
    # `exec` and `eval` compile has the same name.
    if not lines and sys.version_info >= (3, 14):
        try:
            lines = inspect.findsource(function)[0]
        except OSError:
            return []
    futures = code.co_flags & _FUTURES
    return lines if code in _codes("".join(lines), futures) else []


_FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


@lru_cache(maxsize=4)
def _codes(text: str, futures: int) -> frozenset[CodeType]:
    """The code of all functions in a text."""
    try:
        codes = [unwarned(lambda: compile(text, "<string>", "exec", futures, dont_inherit=True))]
    except SyntaxError:
        return frozenset()
    for code in codes:
        codes.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(codes)


def unwarned(make: Callable[[], T]) -> T:
    """What parsing or compiling gives, also where a warning that Python gave before is an error."""
    try:
        return make()
    except SyntaxError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()


def _parameters(args: ast.arguments) -> tuple[str, ...]:
    """Names of the parameters in the order of `co_varnames`; mangled ones are left as they are."""
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return tuple(names + [a.arg for a in (args.vararg, args.kwarg) if a is not None])


def _indent(line: str) -> int | None:
    """The width of a line's indentation; None for a blank line or a comment."""
    stripped = line.lstrip()
    if not stripped or stripped.startswith("#"):
        return None
    return len(line) - len(stripped)


def _ends(code: CodeType, lines: list[str], margin: int) -> Iterator[int]:
    """The lines behind which a definition may end, the likeliest first."""

    def block(end: int) -> int:
        # The rest of a statement, functions within, and code that was optimised away.
        while end < len(lines) and ((width := _indent(lines[end])) is None or width > margin):
            end += 1
        return min(end, len(lines))

    yield block(max(line for _, _, line in code.co_lines() if line is not None))
    # Text in brackets and strings may stand further to the left.
    end = block(_last_line(code))
    yield from range(end, min(end + 50, len(lines)) + 1)


def _last_line(code: CodeType) -> int:
    """The last line of a function that takes part in something."""
    last = code.co_firstlineno
    for _, end, _, _ in code.co_positions():
        if end is not None and end > last:
            last = end
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            last = max(last, _last_line(constant))
    return last


def _definition(code: CodeType, lines: list[str]) -> ast.FunctionDef | ast.AsyncFunctionDef:
    start = code.co_firstlineno - 1
    if start >= len(lines):
        raise SourceError(f"{code.co_filename} has no line {code.co_firstlineno}")
    margin = _indent(lines[start]) or 0
    error: SyntaxError | None = None
    for stop in _ends(code, lines, margin):
        # Under an `if`, an indented definition parses as it stands, and columns stay true.
        # Empty lines before it make the line numbers true.
        head = "\n" * (start - 1) + "if 1:\n" if margin else "\n" * start
        text = head + "".join(lines[start:stop])
        try:
            module = unwarned(lambda text=text: ast.parse(text, code.co_filename))  # type: ignore[misc]
        except SyntaxError as found:
            error = error or found
            continue
        block = module.body[0].body if margin and isinstance(module.body[0], ast.If) else module.body
        node = block[0]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return node
        break
    raise SourceError(
        f"{code.co_filename}, line {code.co_firstlineno}, is not a definition that parses"
    ) from error


def _lambda_node(code: CodeType, lines: list[str]) -> ast.Lambda:
    cached = _files.get(code.co_filename)
    if cached is None or cached[0] != lines:
        try:
            cached = lines, unwarned(lambda: ast.parse("".join(lines), code.co_filename))
        except SyntaxError as error:
            raise SourceError(f"{code.co_filename} does not parse: {error}") from None
        _files[code.co_filename] = cached
    # Its first instructions have no place in the body: their positions are empty.
    positions = {
        (line, end_line, column, end_column)
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_line is not None and column is not None and end_column
    }
    candidates = [
        node
        for node in walk(cached[1])
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and _covers(node.body, positions)
    ]
    if not candidates:
        raise SourceError(
            f"no lambda of {code.co_filename}, line {code.co_firstlineno}, is the one that runs"
        )
    found = min(candidates, key=_extent)

    return copy.deepcopy(found)


def _extent(node: ast.Lambda) -> tuple[int, int]:
    """The size of a lambda in lines and columns, to find the innermost that covers a place."""
    lines = (node.end_lineno or 0) - node.lineno
    return lines, (node.end_col_offset or 0) - node.col_offset


def _covers(body: ast.expr, positions: set[tuple[int, int, int, int]]) -> bool:
    """Whether the instructions at `positions` are all those of an expression."""
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return all(start <= (p[0], p[2]) and (p[1], p[3]) <= end for p in positions)


def text_of(frame: FrameType) -> str:
    """The source of what a frame evaluates; empty where it is not to be had, or on several lines."""
    code = frame.f_code
    first, last, start, end = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    if first is None or first != last:
        return ""
    line = linecache.getline(code.co_filename, first, frame.f_globals)
    return line.encode()[start:end].decode()
