"""Calls of elementwise operators and reductions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from raw_cases.calls import f32, i32, ramp

FLOATS = ("float16", "float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8")


def elementwise() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators of one and of two operands, by dtypes and shapes."""
    everywhere = (
        "Abs Asinh Atan Ceil Cos Cosh Erf Erfc Exp Expm1 Floor IsFinite IsInf IsNan Neg Rint "
        "Round Sigmoid Sign Sin Sinh "
        "Square Tan Tanh Elu Relu Relu6 Selu Softplus Softsign"
    )
    domains = {
        "Acos": (-1, 1),
        "Acosh": (1, 4),
        "Asin": (-1, 1),
        "Atanh": (-0.9, 0.9),
        "BesselI0": (-3, 3),
        "BesselI0e": (-3, 3),
        "BesselI1": (-3, 3),
        "BesselI1e": (-3, 3),
        "BesselJ0": (0.1, 5),
        "BesselJ1": (0.1, 5),
        "BesselK0": (0.1, 5),
        "BesselK0e": (0.1, 5),
        "BesselK1": (0.1, 5),
        "BesselK1e": (0.1, 5),
        "BesselY0": (0.1, 5),
        "BesselY1": (0.1, 5),
        "Dawsn": (-3, 3),
        "Digamma": (0.5, 5),
        "Erfinv": (-0.9, 0.9),
        "Expint": (0.1, 4),
        "FresnelCos": (-3, 3),
        "FresnelSin": (-3, 3),
        "Inv": (0.5, 3),
        "Lgamma": (0.5, 5),
        "Log": (0.1, 4),
        "Log1p": (-0.5, 4),
        "Ndtri": (0.05, 0.95),
        "Reciprocal": (0.5, 3),
        "Rsqrt": (0.1, 4),
        "Spence": (0.1, 3),
        "Sqrt": (0, 4),
    }
    argument = {"Elu": "features", "Relu": "features", "Relu6": "features", "Selu": "features"}
    argument |= {"Softplus": "features", "Softsign": "features"}
    for name in everywhere.split():
        for dtype in FLOATS:
            for shape in ((), (5,), (2, 3), (0, 2)):
                yield name, {argument.get(name, "x"): ramp(*shape, low=-3, high=3, dtype=dtype)}
    for name, (low, high) in domains.items():
        for dtype in ("float32", "float64"):
            for shape in ((4,), (2, 2)):
                yield name, {"x": ramp(*shape, low=low, high=high, dtype=dtype)}
    for name in ("Abs", "Neg", "Sign", "Square"):
        for dtype in ("int32", "int64"):
            yield name, {"x": ramp(2, 3, low=-5, high=5, dtype=dtype)}
    for name in ["Invert", "PopulationCount"]:
        for dtype in WHOLE:
            yield name, {"x": ramp(4, low=0, high=100, dtype=dtype)}
    for name in [
        "Add",
        "AddV2",
        "Sub",
        "Mul",
        "Maximum",
        "Minimum",
        "SquaredDifference",
        "RealDiv",
        "Div",
        "DivNoNan",
        "FloorDiv",
        "FloorMod",
    ]:
        for dtype in FLOATS[1:] + (("int32", "int64") if name not in ("RealDiv", "DivNoNan") else ()):
            for left, right in (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,))):
                y = ramp(*right, low=1, high=4, dtype=dtype)
                yield name, {"x": ramp(*left, low=-5, high=5, dtype=dtype), "y": y}
    for name in ["Mod", "TruncateDiv", "TruncateMod"]:
        for dtype in ("int32", "int64"):
            yield name, {"x": ramp(5, low=-9, high=9, dtype=dtype), "y": ramp(5, low=1, high=5, dtype=dtype)}
    for name in ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]:
        for dtype in ("float32", "int32", "int64", "uint8"):
            yield (
                name,
                {"x": ramp(3, 1, low=0, high=4, dtype=dtype), "y": ramp(4, low=0, high=4, dtype=dtype)},
            )
    for name in ("Equal", "NotEqual"):
        yield name, {"x": f32(1, 2), "y": f32(1, 2, 3), "incompatible_shape_error": False}
    for name in ["LogicalAnd", "LogicalOr"]:
        yield name, {"x": [True, False, True], "y": [True, True, False]}
    yield "LogicalNot", {"x": [True, False]}
    for name in ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"]:
        for dtype in WHOLE:
            yield name, {"x": ramp(5, low=1, high=60, dtype=dtype), "y": ramp(5, low=0, high=5, dtype=dtype)}
    for dtype in ("float32", "float64"):
        a, b = ramp(6, low=0.5, high=3, dtype=dtype), ramp(6, low=0.2, high=4, dtype=dtype)
        yield "Igamma", {"a": a, "x": b}
        yield "Igammac", {"a": a, "x": b}
        yield "IgammaGradA", {"a": a, "x": b}
        yield "RandomGammaGrad", {"alpha": a, "sample": b}
        yield "Betainc", {"a": a, "b": b, "x": ramp(6, low=0.1, high=0.9, dtype=dtype)}
        yield "Zeta", {"x": a + 1, "q": b}
        yield "Polygamma", {"a": np.array([0, 1, 2, 3, 1, 2], dtype), "x": b}
        yield "Pow", {"x": a, "y": b}
        yield "Atan2", {"y": ramp(6, dtype=dtype), "x": b}
        yield "NextAfter", {"x1": a, "x2": b}
        yield "Xdivy", {"x": np.array([0, 1, 2], dtype), "y": np.array([0, 2, 4], dtype)}
        yield "Xlogy", {"x": np.array([0, 1, 2], dtype), "y": np.array([0, 2, 4], dtype)}
        yield "Xlog1py", {"x": np.array([0, 1, 2], dtype), "y": np.array([-1, 2, 4], dtype)}
        yield "MulNoNan", {"x": np.array([np.inf, 2, 3], dtype), "y": np.array([0, 1, 2], dtype)}
        yield "ApproximateEqual", {"x": a, "y": a + np.array([0, 1e-6, 1, 0, 0, 0], dtype)}
        yield "ClipByValue", {"t": ramp(6, dtype=dtype), "clip_value_min": -1.0, "clip_value_max": 1.0}
        for name in ["InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad"]:
            yield name, {"y": a, "dy": b}
        for name in ["ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad"]:
            yield name, {"gradients": a, "features": ramp(6, low=-7, high=7, dtype=dtype)}
        for name in ["EluGrad", "SeluGrad"]:
            yield name, {"gradients": a, "outputs": ramp(6, low=-0.9, high=1, dtype=dtype)}
        yield "LeakyRelu", {"features": ramp(6, dtype=dtype), "alpha": 0.3}
        yield "Cross", {"a": ramp(2, 3, dtype=dtype), "b": ramp(2, 3, low=0, high=1, dtype=dtype)}
        yield "L2Loss", {"t": a}
        yield "CheckNumerics", {"tensor": a, "message": "no"}
    z = ramp(2, 3).astype(np.complex64) + 1j * ramp(2, 3, low=0, high=1)
    z = z.astype(np.complex64)
    yield "Angle", {"input": z}
    yield "ComplexAbs", {"x": z}
    yield "Conj", {"input": z}
    yield "Imag", {"input": z}
    yield "Real", {"input": z}
    yield "Complex", {"real": f32(1, 2), "imag": f32(3, 4)}
    for name in ["Exp", "Log", "Sqrt", "Sin", "Tanh", "Square", "Sigmoid", "Rsqrt"]:
        yield name, {"x": z + np.complex64(2)}
    for name in ["SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"]:
        yield name, {"y": z, "dy": z[::-1]}
    yield "BroadcastArgs", {"s0": i32(2, 1, 3), "s1": i32(4, 1)}
    for s0, s1 in (((2, 1, 3), (4, 1)), ((), (2, 3)), ((1,), (1, 1)), ((2, 3), (2, 3)), ((1, 3), (2, 3))):
        yield "BroadcastGradientArgs", {"s0": np.array(s0, np.int32), "s1": np.array(s1, np.int32)}


def reductions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Reductions, scans and segments."""
    for name in ["Max", "Mean", "Min", "Prod", "Sum", "EuclideanNorm"]:
        for dtype in ("float32", "float64", "int32"):
            for axis in (0, [0, 1], [-1], []):
                x = ramp(2, 3, low=1, high=5, dtype=dtype)
                yield name, {"input": x, "axis": np.array(axis, np.int32), "keep_dims": axis == 0}
    for name in ("All", "Any"):
        for axis in (0, 1):
            yield name, {"input": [[True, False], [True, True]], "axis": axis}
    for name in ("ArgMax", "ArgMin"):
        for output in ("int32", "int64"):
            yield name, {"input": ramp(3, 4), "dimension": 1, "output_type": output}
    for name in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield name, {"x": ramp(2, 3), "axis": 1, "exclusive": exclusive, "reverse": reverse}
    ids = i32(0, 0, 1, 3)
    for name in ["Max", "Mean", "Min", "Prod", "Sum"]:
        yield f"Segment{name}", {"data": ramp(4, 2), "segment_ids": ids}
    for name in ["Max", "Min", "Prod", "Sum"]:
        yield f"Segment{name}V2", {"data": ramp(4, 2), "segment_ids": ids, "num_segments": 4}
        yield (
            f"UnsortedSegment{name}",
            {"data": ramp(4, 2), "segment_ids": i32(2, 0, 2, -1), "num_segments": 3},
        )
    yield "AddN", {"inputs": [f32(1, 2), f32(3, 4), f32(5, 6)]}
    yield "AccumulateNV2", {"inputs": [f32(1, 2), f32(3, 4)], "shape": [2]}
    for name in ("SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum"):
        base = {"data": ramp(4, 2), "indices": i32(0, 2, 3), "segment_ids": i32(0, 0, 2)}
        yield name, base
        yield name + "WithNumSegments", base | {"num_segments": 4}
        grad = {"grad": ramp(3, 2), "indices": i32(0, 2, 3), "segment_ids": i32(0, 0, 2)}
        yield name + "Grad", grad | {"output_dim0": 5}
        yield name + "GradV2", grad | {"dense_output_dim0": 5}
