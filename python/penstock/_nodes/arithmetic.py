"""Elementwise operators, reductions and segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import penstock as tf
from penstock import raw_ops

__all__ = ["NODES"]


def _population_count(x: Any) -> Any:
    unsigned = {1: tf.uint8, 2: tf.uint16, 4: tf.uint32, 8: tf.uint64}[x.dtype.size]
    bits = tf.bitcast(x, unsigned)
    counted = tf.zeros_like(bits)
    for place in range(8 * x.dtype.size):
        shifted = tf.bitwise.right_shift(bits, tf.cast(place, unsigned))
        counted += tf.bitwise.bitwise_and(shifted, tf.ones_like(bits))
    return tf.cast(counted, tf.uint8)


def _broadcast_gradient_args(s0: Any, s1: Any) -> tuple[Any, Any]:
    """The axes over which the gradients of two operands that broadcast are summed."""
    rank = tf.maximum(tf.size(s0), tf.size(s1))

    def padded(shape: Any) -> Any:
        return tf.concat([tf.ones([rank - tf.size(shape)], shape.dtype), shape], 0)

    def axes(mine: Any, other: Any) -> Any:
        # Neither is summed where both are 1, unless one has no such axis.
        return tf.cast(tf.reshape(tf.where(mine), [-1]), other.dtype)

    first, second = padded(s0), padded(s1)
    place = tf.range(rank)
    differs = tf.not_equal(first, second)
    is_one, other_is_one = tf.equal(first, 1), tf.equal(second, 1)
    return (
        axes(is_one & (differs | (place < rank - tf.size(s0)) | other_is_one), s0),
        axes(other_is_one & (differs | (place < rank - tf.size(s1)) | is_one), s1),
    )


def _igamma_grad_a(a: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(a)
        # A broadcast operand, so that the gradient is not summed.
        wide = tf.broadcast_to(a, tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(x)))
        tape.watch(wide)
        value = tf.math.igamma(wide, x)
    return tape.gradient(value, wide)


def _compared(function: Callable[..., Any], value: bool) -> Callable[..., Any]:
    """A comparison that gives one value for shapes that do not broadcast, where no error is wanted."""

    def compare(x: Any, y: Any, incompatible_shape_error: bool) -> Any:
        if not incompatible_shape_error:
            try:
                tf.broadcast_static_shape(x.shape, y.shape)
            except ValueError:
                return tf.constant(value)
        return function(x, y)

    return compare


def _segments(function: Callable[..., Any]) -> Callable[..., Any]:
    def segment(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        return function(data, segment_ids, num_segments)

    return segment


def _div(x: Any, y: Any) -> Any:
    return tf.truncatediv(x, y) if x.dtype.is_integer else tf.realdiv(x, y)


def _scan(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, exclusive, reverse: function(x, axis, exclusive, reverse)


def _logsumexp(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    found = tf.math.cumulative_logsumexp(x, axis, exclusive, reverse)
    # Before the first one is the sum of none.
    if not exclusive:
        return found
    return tf.where(tf.equal(found, x.dtype.min), tf.cast(float("-inf"), x.dtype), found)


def _with_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, dtype: tf.cast(function(input), dtype)


# Operators with one here of the same inputs.
_SAME: Final = """
Abs=abs Acos=acos Acosh=acosh Asin=asin Asinh=asinh Atan=atan Atan2=atan2 Atanh=atanh
BitwiseAnd=bitwise_and BitwiseOr=bitwise_or BitwiseXor=bitwise_xor Ceil=ceil Conj=conj Cos=cos Cosh=cosh
Digamma=digamma DivNoNan=divide_no_nan Erf=erf Erfc=erfc Erfinv=erfinv Exp=exp Expm1=expm1 Floor=floor
FloorDiv=floordiv FloorMod=floormod Greater=greater GreaterEqual=greater_equal Inv=reciprocal
Invert=invert IsFinite=is_finite IsInf=is_inf IsNan=is_nan LeftShift=left_shift Less=less
LessEqual=less_equal Lgamma=lgamma Log=log Log1p=log1p LogicalAnd=logical_and LogicalNot=logical_not
LogicalOr=logical_or Maximum=maximum Minimum=minimum Mod=truncatemod Mul=mul MulNoNan=multiply_no_nan
Ndtri=ndtri Neg=neg NextAfter=nextafter Polygamma=polygamma Pow=pow RealDiv=div Reciprocal=reciprocal
RightShift=right_shift Rint=rint Round=round Rsqrt=rsqrt SegmentMax=segment_max SegmentMean=segment_mean
SegmentMin=segment_min SegmentProd=segment_prod SegmentSum=segment_sum SelectV2=select Sigmoid=sigmoid
Sign=sign Sin=sin Sinh=sinh Sqrt=sqrt Square=square SquaredDifference=squared_difference Sub=sub Tan=tan
Tanh=tanh TruncateDiv=truncatediv TruncateMod=truncatemod Xdivy=xdivy Xlogy=xlogy Zeta=zeta
"""

NODES: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(raw_ops, op) for name, op in (pair.split("=") for pair in _SAME.split())},
    "Add": tf.add,
    "AddV2": tf.add,
    "Equal": _compared(tf.equal, False),
    "NotEqual": _compared(tf.not_equal, True),
    "AddN": tf.add_n,
    "AccumulateNV2": lambda inputs, shape: tf.add_n(inputs),
    "ApproximateEqual": lambda x, y, tolerance: tf.abs(x - y) < tf.cast(tolerance, x.dtype),
    "Betainc": tf.math.betainc,
    "BesselI0": tf.math.bessel_i0,
    "BesselI0e": tf.math.bessel_i0e,
    "BesselI1": tf.math.bessel_i1,
    "BesselI1e": tf.math.bessel_i1e,
    "BesselJ0": tf.math.special.bessel_j0,
    "BesselJ1": tf.math.special.bessel_j1,
    "BesselK0": tf.math.special.bessel_k0,
    "BesselK0e": tf.math.special.bessel_k0e,
    "BesselK1": tf.math.special.bessel_k1,
    "BesselK1e": tf.math.special.bessel_k1e,
    "BesselY0": tf.math.special.bessel_y0,
    "BesselY1": tf.math.special.bessel_y1,
    "BroadcastArgs": lambda s0, s1: tf.cast(tf.broadcast_dynamic_shape(s0, s1), s0.dtype),
    "BroadcastGradientArgs": _broadcast_gradient_args,
    "ClipByValue": tf.clip_by_value,
    "Complex": lambda real, imag, Tout: tf.complex(real, imag),
    "ComplexAbs": _with_dtype(tf.abs),
    "Angle": _with_dtype(tf.math.angle),
    "Real": _with_dtype(tf.math.real),
    "Imag": _with_dtype(tf.math.imag),
    "Cross": tf.linalg.cross,
    "Dawsn": tf.math.special.dawsn,
    "Div": _div,
    "Expint": tf.math.special.expint,
    "FresnelCos": tf.math.special.fresnel_cos,
    "FresnelSin": tf.math.special.fresnel_sin,
    "Spence": tf.math.special.spence,
    "Igamma": tf.math.igamma,
    "Igammac": tf.math.igammac,
    "IgammaGradA": _igamma_grad_a,
    "PopulationCount": _population_count,
    "RandomGammaGrad": raw_ops.random_gamma_grad,
    "Xlog1py": tf.math.xlog1py,
    # Derivatives, by what the function gave.
    "InvGrad": lambda y, dy: -dy * tf.math.conj(y) * tf.math.conj(y),
    "ReciprocalGrad": lambda y, dy: -dy * tf.math.conj(y) * tf.math.conj(y),
    "RsqrtGrad": lambda y, dy: (
        tf.math.conj(y) * tf.math.conj(y) * tf.math.conj(y) * dy * tf.cast(-0.5, y.dtype)
    ),
    "SigmoidGrad": lambda y, dy: dy * y * (tf.ones_like(y) - y),
    "SqrtGrad": lambda y, dy: tf.cast(0.5, y.dtype) * dy / tf.math.conj(y),
    "TanhGrad": lambda y, dy: dy * (tf.ones_like(y) - y * y),
    # Reductions and scans.
    "All": tf.reduce_all,
    "Any": tf.reduce_any,
    "ArgMax": lambda input, dimension, output_type: tf.argmax(input, dimension, output_type),
    "ArgMin": lambda input, dimension, output_type: tf.argmin(input, dimension, output_type),
    "Cumprod": _scan(tf.math.cumprod),
    "Cumsum": _scan(tf.cumsum),
    "CumulativeLogsumexp": _scan(_logsumexp),
    "EuclideanNorm": tf.math.reduce_euclidean_norm,
    "Max": tf.reduce_max,
    "Mean": tf.reduce_mean,
    "Min": tf.reduce_min,
    "Prod": tf.reduce_prod,
    "Sum": tf.reduce_sum,
    # Segments.
    "SegmentMaxV2": _segments(tf.math.unsorted_segment_max),
    "SegmentMinV2": _segments(tf.math.unsorted_segment_min),
    "SegmentProdV2": _segments(tf.math.unsorted_segment_prod),
    "SegmentSumV2": _segments(tf.math.unsorted_segment_sum),
    "UnsortedSegmentMax": _segments(tf.math.unsorted_segment_max),
    "UnsortedSegmentMin": _segments(tf.math.unsorted_segment_min),
    "UnsortedSegmentProd": _segments(tf.math.unsorted_segment_prod),
    "UnsortedSegmentSum": _segments(tf.math.unsorted_segment_sum),
}
