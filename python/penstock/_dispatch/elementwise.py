"""The public functions that work element by element, and the checks of two operands."""

from __future__ import annotations

from penstock import bitwise, debugging, math, nn
from penstock._ops import creation, shapes, text
from penstock._runtime import dispatch

__all__: list[str] = []

_UNARY = {
    math: """
        abs acos acosh angle asin asinh atan atanh cast ceil clip_by_value conj cos cosh digamma
        erf erfc erfinv exp expm1 floor imag is_finite is_inf is_nan lgamma log log1p
        log_sigmoid logical_not ndtri negative real reciprocal reciprocal_no_nan rint round
        rsqrt saturate_cast sigmoid sign sin sinh softplus softsign sqrt square tan tanh
    """,
    nn: "dropout elu gelu leaky_relu relu relu6 selu silu",
    text: "as_string",
    bitwise: "invert",
    debugging: "check_numerics",
    creation: "bitcast ones_like zeros_like",
    shapes: "identity stop_gradient",
}
_BINARY = {
    math: """
        add atan2 complex divide divide_no_nan equal floordiv floormod greater greater_equal
        less less_equal logical_and logical_or logical_xor maximum minimum mod multiply
        multiply_no_nan nextafter not_equal polygamma pow realdiv squared_difference subtract
        truediv truncatediv truncatemod xdivy xlog1py xlogy zeta
    """,
    bitwise: "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
}
_CHECKS = """
    assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near
    assert_none_equal
"""

for operands, table in ((1, _UNARY), (2, _BINARY)):
    for module, names in table.items():
        dispatch.elementwise(operands, *(getattr(module, name) for name in names.split()))
dispatch.checks(*(getattr(debugging, name) for name in _CHECKS.split()))
