"""The public functions that apply one elementwise operator: what `tools/generate.py` writes them from.

Each entry of `FUNCTIONS` makes one function of `python/penstock/_ops/elementwise.py`, with its parameters,
types and documentation spelled out: editors, `help` and `inspect.signature` see an ordinary function.
"""

import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from penstock import _core

__all__ = ["FUNCTIONS", "Function", "module"]

WIDTH = 110


class Function(NamedTuple):
    """One public function of one operator."""

    summary: str  # what it does, in the imperative
    example: str  # a call, below `tf`
    shown: str  # what the example prints
    operator: str = ""  # where it is not named like the function
    parameters: tuple[str, ...] = ("x",)
    place: str = "math"  # the public module


_F32 = ", dtype=float32)"
_I32 = ", dtype=int32)"
_XY = ("x", "y")


def _float(summary: str, call: str, shown: str) -> Function:
    """A function of floats of one operand."""
    return Function(summary, f"math.{call}.numpy().round(4)", f"array({shown}{_F32}")


def _ints(summary: str, call: str, shown: str, operator: str = "", place: str = "math") -> Function:
    """A function of integers of two operands."""
    return Function(summary, f"{place}.{call}.numpy()", f"array({shown}{_I32}", operator, _XY, place)


def _truth(summary: str, call: str, shown: str, parameters: tuple[str, ...] = _XY) -> Function:
    """A function with boolean results."""
    return Function(summary, f"math.{call}.numpy()", f"array({shown})", parameters=parameters)


def _activation(summary: str, call: str, shown: str, place: str = "nn") -> Function:
    """A function of features."""
    example = f"{place}.{call}.numpy().round(4)"
    return Function(summary, example, f"array({shown}{_F32}", parameters=("features",), place=place)


FUNCTIONS: Mapping[str, Function] = {
    # --- one operand ---
    "abs": _float(
        "Compute the absolute value; of complex numbers the magnitude.", "abs([-1.5, 2.0])", "[1.5, 2. ]"
    ),
    "acos": _float("Compute the inverse cosine, in radians.", "acos([1.0, 0.0])", "[0.    , 1.5708]"),
    "acosh": _float("Compute the inverse hyperbolic cosine.", "acosh([1.0, 2.0])", "[0.   , 1.317]"),
    "asin": _float("Compute the inverse sine, in radians.", "asin([0.0, 1.0])", "[0.    , 1.5708]"),
    "asinh": _float("Compute the inverse hyperbolic sine.", "asinh([0.0, 1.0])", "[0.    , 0.8814]"),
    "atan": _float("Compute the inverse tangent, in radians.", "atan([0.0, 1.0])", "[0.    , 0.7854]"),
    "atanh": _float("Compute the inverse hyperbolic tangent.", "atanh([0.0, 0.5])", "[0.    , 0.5493]"),
    "ceil": _float("Round up to whole numbers.", "ceil([1.2, -1.2])", "[ 2., -1.]"),
    "floor": _float("Round down to whole numbers.", "floor([1.2, -1.2])", "[ 1., -2.]"),
    "rint": _float("Round to whole numbers, halves to even ones.", "rint([0.5, 1.5])", "[0., 2.]"),
    "round": _float(
        "Round to whole numbers, halves to even ones.", "round([0.5, 1.5, -2.4])", "[ 0.,  2., -2.]"
    ),
    "cos": _float("Compute the cosine of angles in radians.", "cos([0.0, 1.0])", "[1.    , 0.5403]"),
    "cosh": _float("Compute the hyperbolic cosine.", "cosh([0.0, 1.0])", "[1.    , 1.5431]"),
    "sin": _float("Compute the sine of angles in radians.", "sin([0.0, 1.0])", "[0.    , 0.8415]"),
    "sinh": _float("Compute the hyperbolic sine.", "sinh([0.0, 1.0])", "[0.    , 1.1752]"),
    "tan": _float("Compute the tangent of angles in radians.", "tan([0.0, 1.0])", "[0.    , 1.5574]"),
    "tanh": _float("Compute the hyperbolic tangent.", "tanh([0.0, 1.0])", "[0.    , 0.7616]"),
    "digamma": _float(
        "Compute the derivative of the logarithm of the gamma function.",
        "digamma([1.0, 2.0])",
        "[-0.5772,  0.4228]",
    ),
    "erf": _float(
        "Compute the error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.",
        "erf([0.0, 1.0])",
        "[0.    , 0.8427]",
    ),
    "erfc": _float(
        "Compute the complement of the error function, `1 - erf(x)`, accurate for large `x`.",
        "erfc([0.0, 1.0])",
        "[1.    , 0.1573]",
    ),
    "erfinv": _float("Compute the inverse of the error function.", "erfinv([0.0, 0.5])", "[0.    , 0.4769]"),
    "lgamma": _float(
        "Compute the logarithm of the absolute value of the gamma function.",
        "lgamma([1.0, 4.0])",
        "[0.    , 1.7918]",
    ),
    "ndtri": _float(
        "Compute the quantile of the standard normal distribution.", "ndtri([0.5, 0.975])", "[0.  , 1.96]"
    ),
    "exp": _float("Compute e to the power of each element.", "exp([0.0, 1.0])", "[1.    , 2.7183]"),
    "expm1": _float("Compute `exp(x) - 1`, accurate near 0.", "expm1([0.0, 1.0])", "[0.    , 1.7183]"),
    "log": _float("Compute the natural logarithm.", "log([1.0, 10.0])", "[0.    , 2.3026]"),
    "log1p": _float("Compute `log(1 + x)`, accurate near 0.", "log1p([0.0, 9.0])", "[0.    , 2.3026]"),
    "negative": Function(
        "Compute `-x`; integers wrap.", "negative([1, -2]).numpy()", f"array([-1,  2]{_I32}", "neg"
    ),
    "reciprocal": _float("Compute `1 / x`.", "reciprocal([2.0, -4.0])", "[ 0.5 , -0.25]"),
    "rsqrt": _float("Compute `1 / sqrt(x)`.", "rsqrt([4.0, 16.0])", "[0.5 , 0.25]"),
    "sqrt": _float("Compute the principal square root.", "sqrt([4.0, 9.0])", "[2., 3.]"),
    "square": Function("Compute `x * x`; integers wrap.", "square([2, -3]).numpy()", f"array([4, 9]{_I32}"),
    "sigmoid": _float("Compute `1 / (1 + exp(-x))`.", "sigmoid([0.0, 2.0])", "[0.5   , 0.8808]"),
    "sign": _float(
        "Compute the sign: -1, 0 or 1; of complex numbers `x / abs(x)`.",
        "sign([-2.5, 0.0, 3.0])",
        "[-1.,  0.,  1.]",
    ),
    "softplus": _activation(
        "Compute `log(exp(features) + 1)` without overflow.",
        "softplus([0.0, 100.0])",
        "[  0.6931, 100.    ]",
        "math",
    ),
    "softsign": _activation(
        "Compute `features / (abs(features) + 1)`.", "softsign([1.0, -3.0])", "[ 0.5 , -0.75]", "math"
    ),
    "is_finite": _truth(
        "Tell which elements are finite.", 'is_finite([1.0, float("inf")])', "[ True, False]", ("x",)
    ),
    "is_inf": _truth(
        "Tell which elements are infinite.", 'is_inf([1.0, float("inf")])', "[False,  True]", ("x",)
    ),
    "is_nan": _truth("Tell which elements are NaN.", 'is_nan([1.0, float("nan")])', "[False,  True]", ("x",)),
    "logical_not": _truth("Negate booleans.", "logical_not([True, False])", "[False,  True]", ("x",)),
    # --- two operands ---
    "multiply_no_nan": Function(
        "Compute `x * y`, and 0 where `y` is 0, also where `x` is NaN or infinite.",
        'math.multiply_no_nan([2.0, float("nan")], [3.0, 0.0]).numpy()',
        f"array([6., 0.]{_F32}",
        parameters=_XY,
    ),
    "floordiv": _ints("Divide, and round down.", "floordiv([7, -7], 2)", "[ 3, -4]"),
    "floormod": _ints(
        "Compute the remainder of a division that rounds down, which has the sign of `y`.",
        "floormod([7, -7], 3)",
        "[1, 2]",
    ),
    "mod": _ints(
        "Compute the remainder of a division that rounds down, which has the sign of `y`.",
        "mod([7, -7], 3)",
        "[1, 2]",
        "floormod",
    ),
    "greater": _truth("Tell where `x > y`.", "greater([1, 2, 3], 2)", "[False, False,  True]"),
    "greater_equal": _truth("Tell where `x >= y`.", "greater_equal([1, 2, 3], 2)", "[False,  True,  True]"),
    "less": _truth("Tell where `x < y`.", "less([1, 2, 3], 2)", "[ True, False, False]"),
    "less_equal": _truth("Tell where `x <= y`.", "less_equal([1, 2, 3], 2)", "[ True,  True, False]"),
    "logical_and": _truth(
        "Tell where both are true.", "logical_and([True, True], [True, False])", "[ True, False]"
    ),
    "logical_or": _truth(
        "Tell where one or both are true.", "logical_or([True, False], [False, False])", "[ True, False]"
    ),
    "logical_xor": _truth(
        "Tell where just one is true.", "logical_xor([True, True], [True, False])", "[False,  True]"
    ),
    "maximum": _ints(
        "Take the larger of two elements; NaN where one is NaN.", "maximum([1, 5], [3, 2])", "[3, 5]"
    ),
    "minimum": _ints(
        "Take the smaller of two elements; NaN where one is NaN.", "minimum([1, 5], [3, 2])", "[1, 2]"
    ),
    "multiply": _ints("Compute `x * y`; integers wrap.", "multiply([1, 2], [3, 4])", "[3, 8]", "mul"),
    "subtract": _ints("Compute `x - y`; integers wrap.", "subtract([1, 2], [3, 1])", "[-2,  1]", "sub"),
    "squared_difference": Function(
        "Compute `(x - y) ** 2`; of complex numbers the squared magnitude.",
        "math.squared_difference([1.0, 2.0], [3.0, 5.0]).numpy()",
        f"array([4., 9.]{_F32}",
        parameters=_XY,
    ),
    "realdiv": Function(
        "Compute `x / y` of floats.",
        "realdiv([1.0, 3.0], 2.0).numpy()",
        f"array([0.5, 1.5]{_F32}",
        "div",
        _XY,
    ),
    "truncatediv": _ints("Divide integers, and round towards 0.", "truncatediv([7, -7], 2)", "[ 3, -3]"),
    "truncatemod": _ints(
        "Compute the remainder of a division that rounds towards 0, which has the sign of `x`.",
        "truncatemod([7, -7], 3)",
        "[ 1, -1]",
    ),
    "xdivy": Function(
        "Compute `x / y`, and 0 where `x` is 0.",
        "math.xdivy([0.0, 6.0], [0.0, 4.0]).numpy()",
        f"array([0. , 1.5]{_F32}",
        parameters=_XY,
    ),
    "xlogy": Function(
        "Compute `x * log(y)`, and 0 where `x` is 0.",
        "math.xlogy([0.0, 2.0], [0.0, 10.0]).numpy().round(4)",
        f"array([0.    , 4.6052]{_F32}",
        parameters=_XY,
    ),
    # --- bits ---
    "bitwise_and": _ints("Compute the bitwise and.", "bitwise_and([12, 10], 6)", "[4, 2]", place="bitwise"),
    "bitwise_or": _ints("Compute the bitwise or.", "bitwise_or([12, 10], 6)", "[14, 14]", place="bitwise"),
    "bitwise_xor": _ints(
        "Compute the bitwise exclusive or.", "bitwise_xor([12, 10], 6)", "[10, 12]", place="bitwise"
    ),
    "left_shift": _ints(
        "Shift bits to the left by `y` places.", "left_shift([1, 3], 2)", "[ 4, 12]", place="bitwise"
    ),
    "right_shift": _ints(
        "Shift bits to the right by `y` places; negative numbers keep their sign.",
        "right_shift([8, -8], 1)",
        "[ 4, -4]",
        place="bitwise",
    ),
    "invert": Function(
        "Invert all bits.", "bitwise.invert([0, 5]).numpy()", f"array([-1, -6]{_I32}", place="bitwise"
    ),
    # --- activations ---
    "elu": _activation(
        "Compute `exp(features) - 1` where negative, the features themselves elsewhere.",
        "elu([-1.0, 2.0])",
        "[-0.6321,  2.    ]",
    ),
    "relu": _activation("Compute `max(features, 0)`.", "relu([-1.0, 2.0])", "[0., 2.]"),
    "relu6": _activation("Compute `min(max(features, 0), 6)`.", "relu6([-1.0, 2.0, 9.0])", "[0., 2., 6.]"),
    "selu": _activation(
        "Compute the scaled exponential linear unit, which keeps mean and variance of activations.",
        "selu([-1.0, 2.0])",
        "[-1.1113,  2.1014]",
    ),
}

HEADER = '''\
"""Elementwise functions of one operator each."""

# Written by tools/generate.py from tools/elementwise.py.

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import raw_ops
from penstock._runtime.dispatch import redirected

if TYPE_CHECKING:
    from penstock._core import Tensor
    from penstock._types.aliases import TensorLike
'''


def _wrapped(text: str, indent: int) -> list[str]:
    """Lines that fit behind four more spaces; those after the first are indented once more."""
    first, rest = " " * indent, " " * (indent + 4)
    return textwrap.wrap(
        text, WIDTH - 4, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _source(name: str, function: Function, op: _core.Op) -> str:
    first, *others = function.parameters
    dtypes = ", ".join(dict.fromkeys(d for _, names in op.dtype_variables for d in names))
    boolean = "True" in function.shown
    kind = "A tensor of booleans" if boolean else f"A tensor of the dtype of `{first}`"
    if name == "abs":
        kind += ", real where that is complex,"
    lines = [
        f'"""{function.summary}',
        "",
        "Args:",
        *_wrapped(f"{first}: a tensor of dtype {dtypes}.", 4),
        *(f"    {other}: a tensor of the same dtype; the two broadcast." for other in others),
        "    name: a name for the result in a graph.",
        "",
        "Returns:",
        f"    {kind} with the shape {'to which the operands broadcast' if others else f'of `{first}`'}.",
        "",
        "Raises:",
        f"    TypeError: for values of another dtype{', or operands of two dtypes' if others else ''}.",
        *(["    InvalidArgumentError: where the shapes do not broadcast."] if others else []),
        "",
        ">>> import penstock as tf",
        f">>> tf.{function.example}",
        function.shown,
        '"""',
    ]
    passed, operator = ", ".join(function.parameters), f"_{function.operator or name}"
    operands = passed if others else f"{passed},"
    lines += [
        "try:",
        f"    return {operator}({passed}) if name is None else {operator}({passed}, name=name)",
        "except Exception:",
        f'    made: Tensor = redirected({name}, ({operands}), {{"name": name}})',
        "    if made is NotImplemented:",
        "        raise",
        "    return made",
    ]
    typed = ", ".join(f"{parameter}: TensorLike" for parameter in function.parameters)
    body = textwrap.indent("\n".join(lines), " " * 4)
    return f"def {name}({typed}, name: str | None = None) -> Tensor:\n{body}\n"


def module(ops: Mapping[str, _core.Op]) -> str:
    """The text of `python/penstock/_ops/elementwise.py`.

    Args:
        ops: the operators of the engine, by name.
    """
    operators = sorted({function.operator or name for name, function in FUNCTIONS.items()})
    # A local name each: a look-up in the module, and none of an attribute, for each call.
    bound = "".join(f"_{operator} = raw_ops.{operator}\n" for operator in operators)
    functions = [
        _source(name, function, ops[function.operator or name]) for name, function in FUNCTIONS.items()
    ]
    return f"{HEADER}\n{bound}\n\n" + "\n\n".join(functions)
