"""Calls of public functions, as source, and the ways to run them on a package.

In the source `tf` is the package, `T(dtype, shape, kind)` a tensor of made-up elements and `C(value, dtype)`
one of given elements. Where a call is traced these become the arguments of a `tf.function`.
"""

from __future__ import annotations

import ast
import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["WAYS", "Call", "array", "tensors", "value_of"]

# `program`: statements, the results of all expressions among them. The others are for one expression.
WAYS: Final = ("eager", "traced", "unknown", "gradient", "program")

FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX: Final = ("complex64", "complex128")
SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, np.inf, -np.inf, np.nan, 3.0, -7.0, 100.0)


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        source: An expression, or the statements of a program.
        way: How it is run: one of `WAYS`.
        name: The symbol, without `tf.`, whose reasons for differing apply.
    """

    source: str
    way: str
    name: str


def _numpy_dtype(name: str) -> Any:
    if name == "bfloat16":
        # NumPy has none of its own; a process that compares no bfloat16 needs no ml_dtypes.
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(name)


def array(dtype: str, shape: tuple[int, ...], kind: str = "plain") -> np.ndarray:
    """Makes an array, the same one for the same arguments.

    Args:
        dtype: The name of a dtype; `string` gives byte strings.
        shape: The shape.
        kind: What the elements are: `plain` numbers of both signs, `positive`, `unit` (from 0 to 1), `small`
            (natural numbers below 3), `special` (infinities, NaN, zeros of both signs, extremes), or one
            value for all: `zero`, `nan`, `inf`, `-inf`, `huge`.

    >>> array("int32", (4,), "small").tolist()
    [1, 2, 1, 0]
    """
    rng = np.random.default_rng(zlib.crc32(repr((shape, kind)).encode()))
    if dtype == "string":
        words = [bytes([97 + i % 5]) * (i % 4) for i in rng.integers(0, 100, int(np.prod(shape)))]
        return np.array(words, object).reshape(shape)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    to = _numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        if dtype in INTEGERS:
            return _integers(rng, to, shape, kind)
        values = _reals(rng, shape, kind)
        if kind == "huge":
            values = np.full(shape, float(ml_max(dtype)))
        if dtype in COMPLEX and kind in ("plain", "special"):
            values = values + 1j * rng.normal(size=shape)
        return np.asarray(values).astype(to)


def ml_max(dtype: str) -> float:
    """The greatest finite number of a dtype, or half of it for complex ones, whose product is finite then."""
    return {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38, "float64": 1.79e308}.get(dtype, 1e18)


def _integers(rng: np.random.Generator, to: Any, shape: tuple[int, ...], kind: str) -> np.ndarray:
    limits = np.iinfo(to)
    if kind in ("small", "unit"):
        return rng.integers(0, 3, shape).astype(to)
    if kind in ("zero", "nan"):
        return np.zeros(shape, to)
    if kind in ("huge", "inf", "-inf"):
        return np.full(shape, limits.min if kind == "-inf" else limits.max, to)
    low = 1 if kind == "positive" else max(limits.min, -9)
    values = rng.integers(low, 9, shape).astype(to)
    if kind == "special":
        extremes = np.array([limits.min, limits.max, 0, 1], to)
        values = np.where(rng.random(shape) < 0.25, rng.choice(extremes, shape), values)
    return values


def _reals(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind in ("zero", "nan", "inf", "-inf"):
        return np.full(shape, {"zero": 0.0}.get(kind, float(kind) if kind != "zero" else 0.0))
    if kind == "unit":
        return rng.random(shape)
    if kind == "small":
        return rng.integers(0, 3, shape).astype(np.float64)
    values = rng.normal(size=shape) * 3
    if kind == "positive":
        return np.abs(values) + 0.1
    if kind == "special":
        return np.where(rng.random(shape) < 0.5, rng.choice(np.array(SPECIAL), shape), values)
    return values


def literal(value: Any, dtype: str | None = None) -> np.ndarray:
    """An array of given elements, with the dtype that TensorFlow gives them where none is said."""
    flat = np.array(value)
    if dtype is None:
        dtype = {"f": "float32", "i": "int32", "b": "bool", "c": "complex128"}.get(flat.dtype.kind, "string")
    if dtype == "string":
        shape = np.array(value, object).shape
        words = [w.encode() if isinstance(w, str) else w for w in np.array(value, object).ravel()]
        made = np.empty(len(words), object)
        made[:] = words
        return made.reshape(shape)
    with np.errstate(all="ignore"):
        return flat.astype(_numpy_dtype(dtype))


def tensors(tree: ast.AST) -> list[ast.Call]:
    """The marked tensors of a call, in the order of the source."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("T", "C")
    ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def value_of(node: ast.Call) -> np.ndarray:
    """The array that a marked tensor stands for."""
    made: np.ndarray = eval(ast.unparse(node), {"T": array, "C": literal, "inf": np.inf, "nan": np.nan})
    return made


class _Named(ast.NodeTransformer):
    """Puts names `t0`, `t1`, … in place of the marked tensors."""

    def __init__(self) -> None:
        self.values: list[np.ndarray] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in ("T", "C"):
            self.values.append(value_of(node))
            return ast.Name(f"t{len(self.values) - 1}", ast.Load())
        return self.generic_visit(node)


@functools.lru_cache(4096)
def _parsed(source: str) -> tuple[Any, tuple[np.ndarray, ...]]:
    named = _Named()
    tree = named.visit(ast.parse(source, mode="eval"))
    return compile(ast.fix_missing_locations(tree), "<call>", "eval"), tuple(named.values)


def run(call: Call, tf: Any) -> list[Any]:
    """Makes a call on a package; gives its results, and passes on what it raises."""
    space = {"tf": tf, "np": np, "inf": float("inf"), "nan": float("nan")}
    if call.way == "program":
        return list(_results_of_program(call.source, space, tf))
    code, values = _parsed(call.source)
    body = _body(code, len(values), space)
    given = [tf.constant(value) for value in values]
    if call.way == "eager":
        return [body(*given)]
    if call.way == "traced":
        return [tf.function(body, autograph=False)(*given)]
    if call.way == "unknown":
        specs = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in given]
        return [tf.function(body, input_signature=specs, autograph=False)(*given)]
    watched = [x for x in given if x.dtype.is_floating or x.dtype.is_complex]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        leaves = tf.nest.flatten(body(*given), expand_composites=True)
        smooth = [x for x in leaves if tf.is_tensor(x) and (x.dtype.is_floating or x.dtype.is_complex)]
    return [tape.gradient(smooth, watched)]


def _body(code: Any, count: int, space: dict[str, Any]) -> Callable[..., Any]:
    names = [f"t{i}" for i in range(count)]
    made: dict[str, Any] = {}
    exec(
        f"def body({', '.join(names)}):\n    return evaluate({', '.join(names)})",
        _evaluator(code, names, space),
        made,
    )
    body: Callable[..., Any] = made["body"]
    return body


def _evaluator(code: Any, names: list[str], space: dict[str, Any]) -> dict[str, Any]:
    def evaluate(*values: Any) -> Any:
        return eval(code, {**space, **dict(zip(names, values, strict=True))})

    return {"evaluate": evaluate}


def _results_of_program(source: str, space: dict[str, Any], tf: Any) -> Iterator[Any]:
    space = {**space, "T": lambda *a: tf.constant(array(*a)), "C": lambda *a: tf.constant(literal(*a))}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Expr):
            yield eval(compile(ast.Expression(statement.value), "<call>", "eval"), space)
        else:
            exec(compile(ast.Module([statement], []), "<call>", "exec"), space)
