"""Other calls made of one: dtypes, sizes, special elements, other arguments, other ways to run it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from agreement.calls import COMPLEX, FLOATS, INTEGERS, Call, tensors, value_of

__all__ = ["sampled", "variants"]

EVERY = ("bool", *INTEGERS, *FLOATS, *COMPLEX, "string")
KINDS = ("special", "zero", "nan", "inf", "-inf", "huge")
# What stands for another argument of a kind.
NUMBERS = (0, 1, -1, 7)
TEXTS = ("", "nonsense")


def variants(call: Call) -> Iterator[Call]:
    """The call itself and those made of it; no source comes twice for one way."""
    seen: set[tuple[str, str]] = set()
    for source, way in _of(call):
        if (source, way) not in seen:
            seen.add((source, way))
            yield Call(source, way, call.name)


def sampled(call: Call, count: int) -> list[Call]:
    """The call itself, run in each way, and some of those made of it, the same ones each time."""
    every = list(variants(call))
    own = [made for made in every if made.source == call.source]
    rest = [made for made in every if made.source != call.source]
    return own + random.Random(call.source).sample(rest, min(count, len(rest)))


def _of(call: Call) -> Iterator[tuple[str, str]]:
    yield call.source, call.way
    if call.way == "program":
        for source in _with_elements(call.source):
            yield source, "program"
        return
    yield from ((call.source, way) for way in ("traced", "unknown", "gradient"))
    if "__file__" in call.source:
        return  # what is in the file of each package differs, and its size
    for source in _with_elements(call.source):
        empty = re.search(r"\b0[,)]", source)
        ways = (
            ("eager", "unknown", "gradient")
            if empty
            else ("eager", "gradient")
            if "'special'" in source
            else ("eager",)
        )
        yield from ((source, way) for way in ways)
    for source in (*_with_dtypes(call.source), *_with_ranks(call.source), *_with_arguments(call.source)):
        yield source, "eager"
    for source in _with_mixed_dtypes(call.source):
        yield from ((source, way) for way in ("eager", "traced"))


def _made(source: str, change: Callable[[ast.AST], object]) -> str:
    tree = ast.parse(source)
    change(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def _put(node: ast.Call, dtype: str, shape: tuple[int, ...], kind: str) -> None:
    node.func = ast.Name("T", ast.Load())
    node.args = [ast.Constant(dtype), ast.parse(repr(shape), mode="eval").body, ast.Constant(kind)]


def _described(node: ast.Call) -> tuple[str, tuple[int, ...], str]:
    """The dtype, shape and kind of elements of a marked tensor; no kind where the elements are given."""
    assert isinstance(node.func, ast.Name)
    if node.func.id == "T":
        dtype, shape, *kind = [ast.literal_eval(argument) for argument in node.args]
        return dtype, tuple(shape), kind[0] if kind else "plain"
    value = value_of(node)
    return "string" if value.dtype.kind == "O" else value.dtype.name, value.shape, ""


def _with_elements(source: str) -> Iterator[str]:
    """Special elements in one tensor, and sizes of 0 and 1 in place of one that several may share."""
    marked = [_described(node) for node in tensors(ast.parse(source))]
    for at, (dtype, shape, _) in enumerate(marked):
        for kind in KINDS if dtype in (*FLOATS, *COMPLEX) else KINDS[:2]:
            yield _made(source, partial(_put_at, at=at, dtype=dtype, shape=shape, kind=kind))
    for size in sorted({n for _, shape, _ in marked for n in shape}):
        for other in (0, 1):
            yield _made(source, partial(_resize, size=size, other=other))
    for at, (_, shape, _) in enumerate(marked):
        for axis in range(len(shape)):
            yield _made(source, partial(_resize, size=None, other=0, at=at, axis=axis))


def _put_at(tree: ast.AST, at: int, dtype: str, shape: tuple[int, ...], kind: str) -> None:
    _put(tensors(tree)[at], dtype, shape, kind)


def _convert_at(tree: ast.AST, at: int, dtype: str) -> None:
    _convert(tensors(tree)[at], dtype)


def _resize(
    tree: ast.AST, size: int | None, other: int, at: int | None = None, axis: int | None = None
) -> None:
    for number, node in enumerate(tensors(tree)):
        dtype, shape, kind = _described(node)
        new = tuple(
            other if (at is None and n == size) or (at == number and i == axis) else n
            for i, n in enumerate(shape)
        )
        if new != shape:
            _put(node, dtype, new, kind or ("small" if dtype in INTEGERS else "plain"))


def _convert(node: ast.Call, dtype: str) -> None:
    assert isinstance(node.func, ast.Name)
    own, shape, kind = _described(node)
    if node.func.id == "C" and "string" not in (own, dtype):
        node.args = [node.args[0], ast.Constant(dtype)]
    else:
        _put(node, dtype, shape, kind or "plain")


def _with_dtypes(source: str) -> Iterator[str]:
    """Every dtype for all tensors that share one."""
    own = [_described(node)[0] for node in tensors(ast.parse(source))]
    for shared in dict.fromkeys(own):
        for dtype in EVERY:

            def change(tree: ast.AST, shared: str = shared, dtype: str = dtype) -> None:
                for node, mine in zip(tensors(tree), own, strict=True):
                    if mine == shared:
                        _convert(node, dtype)

            yield _made(source, change)


def _with_mixed_dtypes(source: str) -> Iterator[str]:
    """Another dtype for one tensor alone."""
    own = [_described(node)[0] for node in tensors(ast.parse(source))]
    for at, mine in enumerate(own if len(own) > 1 else []):
        for dtype in ("int32", "float64", "string"):
            if dtype != mine:
                yield _made(source, partial(_convert_at, at=at, dtype=dtype))


def _with_ranks(source: str) -> Iterator[str]:
    """A dimension more or less for one tensor."""
    for at, (dtype, shape, kind) in enumerate([_described(node) for node in tensors(ast.parse(source))]):
        for other in ((*shape, 2), (2, *shape), shape[1:], ()):
            if other != shape:
                kinds = kind or ("small" if dtype in INTEGERS else "plain")
                yield _made(source, partial(_put_at, at=at, dtype=dtype, shape=other, kind=kinds))


def _with_arguments(source: str) -> Iterator[str]:
    """Another number, text, truth value or list among the arguments that are not tensors."""
    for at, node in enumerate(_plain_arguments(ast.parse(source))):
        for value in _others(node):
            yield _made(source, partial(_replace, at=at, value=value))


def _plain_arguments(tree: ast.AST) -> list[ast.expr]:
    inside = {id(part) for node in tensors(tree) for part in ast.walk(node)}
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in inside:
            given = [*node.args, *(k.value for k in node.keywords)]
            found.extend(value for value in given if _others(value))
    return found


def _others(node: ast.expr) -> list[Any]:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return []
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [other for other in NUMBERS if other != value]
    if isinstance(value, str):
        return [other for other in TEXTS if other != value]
    if isinstance(value, list | tuple) and value:
        made = [[], value[1:], [*value, value[-1]]]
        made += [[0 for _ in value]] if isinstance(value[0], int) else []
        return [type(value)(items) for items in made]
    return []


def _replace(tree: ast.AST, at: int, value: Any) -> None:
    node, new = _plain_arguments(tree)[at], ast.parse(repr(value), mode="eval").body
    node.__class__ = new.__class__
    node.__dict__.clear()
    node.__dict__.update(new.__dict__)
