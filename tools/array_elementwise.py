"""The elementwise functions of the array standard: what `tools/generate.py` writes them from.

Each entry of `FUNCTIONS` makes one function of `python/penstock/array_api/_elementwise.py`.
"""

import re
import textwrap
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["FUNCTIONS", "Function", "module"]


class Function(NamedTuple):
    """One function of one array, or of two that broadcast."""

    kind: str  # of the dtypes that it takes
    apply: str  # what computes it, below `raw_ops` and `formulas`
    summary: str  # what it does, in the imperative
    values: str  # the operands of the example, between `;`
    shown: str  # what the example gives


FUNCTIONS: Mapping[str, Function] = {
    # --- of one operand ---
    "abs": Function("numeric", "raw_ops.abs", "Compute the magnitude.", "[-1.0, 2.0]", "[1.0, 2.0]"),
    "acos": Function("floating", "raw_ops.acos", "Compute the inverse cosine, in radians.", "[1.0]", "[0.0]"),
    "acosh": Function(
        "floating", "raw_ops.acosh", "Compute the inverse hyperbolic cosine.", "[1.0]", "[0.0]"
    ),
    "asin": Function("floating", "raw_ops.asin", "Compute the inverse sine, in radians.", "[0.0]", "[0.0]"),
    "asinh": Function("floating", "raw_ops.asinh", "Compute the inverse hyperbolic sine.", "[0.0]", "[0.0]"),
    "atan": Function(
        "floating", "raw_ops.atan", "Compute the inverse tangent, in radians.", "[0.0]", "[0.0]"
    ),
    "atanh": Function(
        "floating", "raw_ops.atanh", "Compute the inverse hyperbolic tangent.", "[0.0]", "[0.0]"
    ),
    "bitwise_invert": Function(
        "integral or bool",
        "formulas.either(raw_ops.logical_not, raw_ops.invert)",
        "Compute the complement of every bit.",
        "[0, -2]",
        "[-1, 1]",
    ),
    "ceil": Function(
        "real numeric",
        "formulas.unless_integer(raw_ops.ceil)",
        "Compute the smallest integer not below each element.",
        "[1.5]",
        "[2.0]",
    ),
    "conj": Function("numeric", "formulas.conj", "Compute the complex conjugate.", "[1 + 2j]", "[(1-2j)]"),
    "cos": Function("floating", "raw_ops.cos", "Compute the cosine of angles in radians.", "[0.0]", "[1.0]"),
    "cosh": Function("floating", "raw_ops.cosh", "Compute the hyperbolic cosine.", "[0.0]", "[1.0]"),
    "exp": Function("floating", "raw_ops.exp", "Compute e to the power of each element.", "[0.0]", "[1.0]"),
    "expm1": Function(
        "floating", "raw_ops.expm1", "Compute `exp(x) - 1`, accurate near 0.", "[0.0]", "[0.0]"
    ),
    "floor": Function(
        "real numeric",
        "formulas.unless_integer(raw_ops.floor)",
        "Compute the largest integer not above each element.",
        "[1.5]",
        "[1.0]",
    ),
    "imag": Function("numeric", "formulas.imag", "Take the imaginary part.", "[1 + 2j]", "[2.0]"),
    "isfinite": Function(
        "numeric",
        "formulas.classify(raw_ops.is_finite, True, raw_ops.logical_and)",
        "Tell whether an element is neither NaN nor infinite.",
        "[1.0, xp.inf]",
        "[True, False]",
    ),
    "isinf": Function(
        "numeric",
        "formulas.classify(raw_ops.is_inf, False, raw_ops.logical_or)",
        "Tell whether an element, or a part of it, is infinite.",
        "[1.0, xp.inf]",
        "[False, True]",
    ),
    "isnan": Function(
        "numeric",
        "formulas.classify(raw_ops.is_nan, False, raw_ops.logical_or)",
        "Tell whether an element, or a part of it, is NaN.",
        "[1.0, xp.nan]",
        "[False, True]",
    ),
    "log": Function("floating", "raw_ops.log", "Compute the natural logarithm.", "[1.0]", "[0.0]"),
    "log10": Function(
        "floating", "formulas.logarithm(10)", "Compute the logarithm to base 10.", "[1000.0]", "[3.0]"
    ),
    "log1p": Function(
        "floating", "raw_ops.log1p", "Compute `log(1 + x)`, accurate near 0.", "[0.0]", "[0.0]"
    ),
    "log2": Function(
        "floating", "formulas.logarithm(2)", "Compute the logarithm to base 2.", "[8.0]", "[3.0]"
    ),
    "logical_not": Function(
        "bool", "raw_ops.logical_not", "Negate booleans.", "[True, False]", "[False, True]"
    ),
    "negative": Function(
        "numeric", "raw_ops.neg", "Compute `-x`; unsigned integers wrap.", "[1, -2]", "[-1, 2]"
    ),
    "positive": Function("numeric", "formulas.itself", "Give the elements themselves.", "[1, -2]", "[1, -2]"),
    "real": Function("numeric", "formulas.real", "Take the real part.", "[1 + 2j]", "[1.0]"),
    "reciprocal": Function("floating", "raw_ops.reciprocal", "Compute `1 / x`.", "[4.0]", "[0.25]"),
    "round": Function(
        "numeric",
        "formulas.of_parts(raw_ops.round)",
        "Compute the nearest integer, ties to even; of complex numbers for each part.",
        "[0.5, 1.5]",
        "[0.0, 2.0]",
    ),
    "sign": Function(
        "numeric",
        "raw_ops.sign",
        "Compute -1, 0 or 1 as an element is negative, 0 or positive; `x / abs(x)` of a complex one.",
        "[-2, 0]",
        "[-1, 0]",
    ),
    "signbit": Function(
        "real floating",
        "formulas.signbit",
        "Tell whether the sign bit is set, as it is for -0.0.",
        "[-0.0, 1.0]",
        "[True, False]",
    ),
    "sin": Function("floating", "raw_ops.sin", "Compute the sine of angles in radians.", "[0.0]", "[0.0]"),
    "sinh": Function("floating", "raw_ops.sinh", "Compute the hyperbolic sine.", "[0.0]", "[0.0]"),
    "sqrt": Function("floating", "raw_ops.sqrt", "Compute the principal square root.", "[4.0]", "[2.0]"),
    "square": Function("numeric", "raw_ops.square", "Compute `x * x`; integers wrap.", "[3]", "[9]"),
    "tan": Function("floating", "raw_ops.tan", "Compute the tangent of angles in radians.", "[0.0]", "[0.0]"),
    "tanh": Function("floating", "raw_ops.tanh", "Compute the hyperbolic tangent.", "[0.0]", "[0.0]"),
    "trunc": Function(
        "real numeric",
        "formulas.unless_integer(raw_ops.trunc)",
        "Compute the nearest integer towards 0.",
        "[-1.5]",
        "[-1.0]",
    ),
    # --- of two operands ---
    "add": Function("numeric", "raw_ops.add", "Add; integers wrap.", "[1, 2]; 3", "[4, 5]"),
    "atan2": Function(
        "real floating",
        "raw_ops.atan2",
        "Compute the angle, in radians, of the point with ordinate `x1` and abscissa `x2`.",
        "[0.0]; 1.0",
        "[0.0]",
    ),
    "bitwise_and": Function(
        "integral or bool",
        "formulas.either(raw_ops.logical_and, raw_ops.bitwise_and)",
        "Combine bits by `and`.",
        "[6]; 3",
        "[2]",
    ),
    "bitwise_left_shift": Function(
        "integral",
        "raw_ops.left_shift",
        "Shift `x1` left by `x2` bits; all are gone from the width on.",
        "[1]; 3",
        "[8]",
    ),
    "bitwise_or": Function(
        "integral or bool",
        "formulas.either(raw_ops.logical_or, raw_ops.bitwise_or)",
        "Combine bits by `or`.",
        "[6]; 3",
        "[7]",
    ),
    "bitwise_right_shift": Function(
        "integral",
        "raw_ops.right_shift",
        "Shift `x1` right by `x2` bits, which repeats the sign.",
        "[-8]; 1",
        "[-4]",
    ),
    "bitwise_xor": Function(
        "integral or bool",
        "formulas.either(raw_ops.logical_xor, raw_ops.bitwise_xor)",
        "Combine bits by exclusive `or`.",
        "[6]; 3",
        "[5]",
    ),
    "copysign": Function(
        "real floating",
        "formulas.copysign",
        "Compute the magnitude of `x1` with the sign of `x2`, that of zeros and NaN too.",
        "[1.0]; -0.0",
        "[-1.0]",
    ),
    "divide": Function(
        "numeric",
        "formulas.quotient",
        "Divide; integers become floating-point first: of 8 and 16 bits `float32`, others `float64`.",
        "[1.0]; 4",
        "[0.25]",
    ),
    "equal": Function(
        "any", "raw_ops.equal", "Tell whether elements are equal.", "[1, 2]; 2", "[False, True]"
    ),
    "floor_divide": Function(
        "real numeric",
        "raw_ops.floordiv",
        "Divide, and round towards negative infinity. Division of an integer by 0 is an error.",
        "[-7]; 2",
        "[-4]",
    ),
    "greater": Function(
        "real numeric", "raw_ops.greater", "Tell whether `x1 > x2`.", "[1, 2]; 1", "[False, True]"
    ),
    "greater_equal": Function(
        "real numeric", "raw_ops.greater_equal", "Tell whether `x1 >= x2`.", "[1, 0]; 1", "[True, False]"
    ),
    "hypot": Function(
        "real floating",
        "formulas.hypot",
        "Compute `sqrt(x1**2 + x2**2)`, without overflow; infinite where either is.",
        "[3.0]; 4.0",
        "[5.0]",
    ),
    "less": Function("real numeric", "raw_ops.less", "Tell whether `x1 < x2`.", "[1, 0]; 1", "[False, True]"),
    "less_equal": Function(
        "real numeric", "raw_ops.less_equal", "Tell whether `x1 <= x2`.", "[1, 2]; 1", "[True, False]"
    ),
    "logaddexp": Function(
        "real floating",
        "formulas.logaddexp",
        "Compute `log(exp(x1) + exp(x2))`, without overflow.",
        "[0.0]; -xp.inf",
        "[0.0]",
    ),
    "logical_and": Function(
        "bool", "raw_ops.logical_and", "Tell whether both are true.", "[True]; False", "[False]"
    ),
    "logical_or": Function(
        "bool", "raw_ops.logical_or", "Tell whether one or both are true.", "[True]; False", "[True]"
    ),
    "logical_xor": Function(
        "bool", "raw_ops.logical_xor", "Tell whether just one is true.", "[True]; True", "[False]"
    ),
    "maximum": Function(
        "real numeric",
        "raw_ops.maximum",
        "Take the greater element; NaN where either is.",
        "[1, 3]; 2",
        "[2, 3]",
    ),
    "minimum": Function(
        "real numeric",
        "raw_ops.minimum",
        "Take the lesser element; NaN where either is.",
        "[1, 3]; 2",
        "[1, 2]",
    ),
    "multiply": Function("numeric", "raw_ops.mul", "Multiply; integers wrap.", "[1, 2]; 3", "[3, 6]"),
    "nextafter": Function(
        "real floating",
        "raw_ops.nextafter",
        "Compute the number next to `x1` in the direction of `x2`.",
        "[1.0]; 1.0",
        "[1.0]",
    ),
    "not_equal": Function(
        "any", "raw_ops.not_equal", "Tell whether elements differ.", "[1, 2]; 2", "[True, False]"
    ),
    "pow": Function(
        "numeric",
        "raw_ops.pow",
        "Compute `x1` to the power of `x2`; integers wrap, and give 0 for negative powers, but of 1 and -1.",
        "[2, 3]; 2",
        "[4, 9]",
    ),
    "remainder": Function(
        "real numeric",
        "raw_ops.floormod",
        "Compute the remainder of `floor_divide`. Division of an integer by 0 is an error.",
        "[-7]; 2",
        "[1]",
    ),
    "subtract": Function("numeric", "raw_ops.sub", "Subtract; integers wrap.", "[1, 2]; 3", "[-2, -1]"),
}

HEADER = '''\
"""Elementwise functions of the array standard."""

# Written by tools/generate.py from tools/array_elementwise.py.

from __future__ import annotations

from penstock import raw_ops
from penstock._core import Tensor
from penstock.array_api import _formulas as formulas
from penstock.array_api._arrays import Array, Scalar, array, new, operands
'''


def _source(name: str, function: Function) -> str:
    first, _, second = function.values.partition("; ")
    example = f"xp.{name}(xp.asarray({first}){f', {second}' if second else ''}).tolist()"
    result = "booleans" if function.shown[1:5] in ("True", "Fals") else "values"
    if second:
        parameters = "x1: Array | Scalar, x2: Array | Scalar, /"
        arguments = [
            f"    x1: an array of a dtype of kind {function.kind}, or a Python scalar.",
            "    x2: another one, not a scalar too; the two broadcast.",
        ]
        returns = f"    An array of {result} with the shape to which the operands broadcast."
        raises = "    TypeError: for a dtype of another kind, or where they have none in common."
        taken = f'*operands("{name}", "{function.kind}", x1, x2)'
    else:
        parameters = "x: Array, /"
        arguments = [f"    x: an array of a dtype of kind {function.kind}."]
        returns = f"    An array of {result} with the shape of `x`."
        raises = "    TypeError: for a dtype of another kind."
        taken = f'array(x, "{name}", "{function.kind}")'
    apply = f"_{name.upper()}" if "(" in function.apply else function.apply
    lines = [
        f'"""{function.summary}',
        "",
        "Args:",
        *arguments,
        "",
        "Returns:",
        returns,
        "",
        "Raises:",
        raises,
        "",
        ">>> from penstock import array_api as xp",
        f">>> {example}",
        function.shown,
        '"""',
        f"return new({apply}({taken}))",
    ]
    body = textwrap.indent("\n".join(lines), " " * 4)
    return f"def {name}({parameters}) -> Tensor:\n{body}\n"


def _natural(name: str) -> list[tuple[int, str]]:
    """The key by which names are sorted, with numbers in them by value."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def module() -> str:
    """The text of `python/penstock/array_api/_elementwise.py`."""
    names = "".join(f'    "{name}",\n' for name in sorted(FUNCTIONS, key=_natural))
    made = "".join(f"_{n.upper()} = {f.apply}\n" for n, f in FUNCTIONS.items() if "(" in f.apply)
    functions = "\n\n".join(_source(name, function) for name, function in FUNCTIONS.items())
    made = f"# What is made of several operators, once.\n{made}"
    return f"{HEADER}\n__all__ = [\n{names}]\n\n{made}\n\n{functions}"
