"""Calls of operators that move elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from raw_cases.calls import Op, f32, i32, i64, ramp


def arrays() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators that move elements."""
    x = ramp(2, 3)
    image = ramp(1, 4, 4, 1)
    yield "BatchToSpace", {"input": ramp(4, 1, 1, 1), "crops": [[0, 0], [0, 0]], "block_size": 2}
    yield "BatchToSpaceND", {"input": ramp(4, 1, 1, 2), "block_shape": [2, 2], "crops": [[0, 0], [0, 0]]}
    yield "SpaceToBatch", {"input": image, "paddings": [[0, 0], [0, 0]], "block_size": 2}
    yield "SpaceToBatchND", {"input": image, "block_shape": [2, 2], "paddings": [[0, 0], [2, 0]]}
    yield "SpaceToDepth", {"input": image, "block_size": 2}
    yield "DepthToSpace", {"input": ramp(1, 1, 1, 4), "block_size": 2}
    yield "Bincount", {"arr": i32(0, 1, 1, 5), "size": 4, "weights": f32()}
    yield "Bincount", {"arr": i32(0, 1, 1, 2), "size": 3, "weights": f32(1, 2, 3, 4)}
    for binary in (False, True):
        base = {"size": 4, "weights": f32(), "binary_output": binary}
        yield "DenseBincount", base | {"input": i32(0, 1, 1, 5)}
        yield "DenseBincount", base | {"input": i32([0, 1], [1, 1])}
        yield "RaggedBincount", base | {"splits": i64(0, 2, 2, 4), "values": i32(0, 1, 1, 3)}
        yield (
            "SparseBincount",
            base
            | {
                "indices": i64([0, 0], [0, 2], [1, 1]),
                "values": i32(1, 1, 3),
                "dense_shape": i64(2, 3),
            },
        )
    yield "DenseBincount", {"input": i32([0, 1], [1, 1]), "size": 3, "weights": f32([1, 2], [3, 4])}
    yield "Bitcast", {"input": f32(1, -2), "type": "int32"}
    yield "Bitcast", {"input": i32(1, -2), "type": "uint8"}
    yield "BroadcastTo", {"input": f32(1, 2, 3), "shape": [2, 3]}
    yield "Bucketize", {"input": f32([-1, 0, 5], [10, 11, 50]), "boundaries": [0.0, 10.0, 20.0]}
    yield "Bucketize", {"input": i32(-5, 10000, 150), "boundaries": [0.0, 10.0, 100.0]}
    for source in ("float32", "int32", "bool"):
        for target in ("int32", "float64", "bool", "uint8"):
            yield "Cast", {"x": np.array([0, 1, 2]).astype(source), "DstT": target}
    yield "Concat", {"concat_dim": 1, "values": [x, x + 1]}
    yield "ConcatV2", {"values": [x, x + 1], "axis": -2}
    yield "ConcatOffset", {"concat_dim": 1, "shape": [i32(2, 2, 7), i32(2, 3, 7), i32(2, 9, 7)]}
    yield "ConjugateTranspose", {"x": (x + 1j * x).astype(np.complex64), "perm": [1, 0]}
    yield "Transpose", {"x": ramp(2, 3, 4), "perm": [2, 0, 1]}
    yield "DataFormatDimMap", {"x": i32(0, 1, 2, -1)}
    yield "DataFormatVecPermute", {"x": i32(1, 2, 3, 4)}
    yield (
        "DataFormatVecPermute",
        {"x": i32([1, 2], [3, 4], [5, 6], [7, 8]), "src_format": "NCHW", "dst_format": "NHWC"},
    )
    yield "DeepCopy", {"x": x}
    yield "Diag", {"diagonal": f32(1, 2)}
    yield "DiagPart", {"input": ramp(2, 2, 2, 2)}
    yield "DynamicPartition", {"data": ramp(4, 2), "partitions": i32(1, 0, 1, 2), "num_partitions": 3}
    for name in ("DynamicStitch", "ParallelDynamicStitch"):
        yield name, {"indices": [i32(0, 2), i32(1, 3)], "data": [f32([1], [2]), f32([3], [4])]}
    yield "Empty", {"shape": [2, 2], "dtype": "float32", "init": True}
    yield "EnsureShape", {"input": x, "shape": [2, None]}
    yield "ExpandDims", {"input": x, "axis": 1}
    yield "Fill", {"dims": [2, 2], "value": 3.0}
    for indices in (i32(1, 0), i64([1], [0])):
        yield "Gather", {"params": x, "indices": indices}
        yield "GatherV2", {"params": x, "indices": indices, "axis": 1}
    yield "GatherV2", {"params": ramp(2, 3, 2), "indices": i32([0], [2]), "axis": 1, "batch_dims": 1}
    yield "GatherNd", {"params": x, "indices": i32([0, 1], [1, 2])}
    yield "GuaranteeConst", {"input": x}
    yield "HistogramFixedWidth", {"values": f32(-1, 0, 1.5, 2, 5, 15), "value_range": f32(0, 5), "nbins": 5}
    yield "Identity", {"input": x}
    yield "IdentityN", {"input": [x, i32(1)]}
    for name in ("InplaceAdd", "InplaceSub", "InplaceUpdate"):
        yield name, {"x": ramp(3, 2), "i": i32(2, 0), "v": f32([1, 2], [3, 4])}
    yield "InvertPermutation", {"x": i32(2, 0, 1)}
    yield "LinSpace", {"start": 1.0, "stop": 3.0, "num": 5}
    yield "ListDiff", {"x": i32(1, 2, 3, 4, 2), "y": i32(1, 3)}
    for name in ("LowerBound", "UpperBound"):
        yield name, {"sorted_inputs": f32([1, 2, 2, 3]), "values": f32([2, 0, 4])}
    for mode in ("REFLECT", "SYMMETRIC"):
        yield "MirrorPad", {"input": ramp(3, 3), "paddings": [[1, 1], [2, 0]], "mode": mode}
        yield "MirrorPadGrad", {"input": ramp(5, 5), "paddings": [[1, 1], [2, 0]], "mode": mode}
    for reverse in (False, True):
        yield "NthElement", {"input": ramp(2, 5), "n": 1, "reverse": reverse}
    yield "OneHot", {"indices": i32(0, 2, -1), "depth": 3, "on_value": 5.0, "off_value": 1.0}
    yield "OneHot", {"indices": i32(0, 2), "depth": 3, "on_value": 1, "off_value": 0, "axis": 0}
    yield "OnesLike", {"x": x}
    yield "ZerosLike", {"x": x}
    yield "Pack", {"values": [x, x + 1], "axis": 1}
    yield "ParallelConcat", {"values": [f32([1, 2]), f32([3, 4])], "shape": [2, 2]}
    yield "Pad", {"input": x, "paddings": [[1, 0], [0, 2]]}
    yield "PadV2", {"input": x, "paddings": [[1, 0], [0, 2]], "constant_values": 7.0}
    yield "Range", {"start": 3, "limit": 18, "delta": 3}
    yield "Range", {"start": f32(1)[0], "limit": f32(0)[0], "delta": f32(-0.25)[0]}
    yield "Rank", {"input": x}
    yield "Reshape", {"tensor": x, "shape": [3, -1]}
    yield "Reverse", {"tensor": x, "dims": [True, False]}
    yield "ReverseV2", {"tensor": x, "axis": [1]}
    yield "ReverseSequence", {"input": ramp(2, 4), "seq_lengths": i32(2, 3), "seq_dim": 1}
    yield "Roll", {"input": x, "shift": [1, 2], "axis": [0, 1]}
    yield "ScatterNd", {"indices": i32([1], [3], [1]), "updates": f32(9, 10, 11), "shape": [5]}
    yield "ScatterNdNonAliasingAdd", {"input": f32(1, 2, 3), "indices": i32([1], [1]), "updates": f32(5, 6)}
    for kind in ("Add", "Max", "Min", "Sub", "Update"):
        yield (
            f"TensorScatter{kind}",
            {"tensor": f32(1, 2, 3), "indices": i32([2], [0]), "updates": f32(5, -6)},
        )
    yield "Select", {"condition": [True, False], "x": x, "y": -x}
    yield "Select", {"condition": x > 0, "x": x, "y": -x}
    yield "SelectV2", {"condition": [[True], [False]], "t": x, "e": 1.0}
    for out in ("int32", "int64"):
        yield "Shape", {"input": x, "out_type": out}
        yield "ShapeN", {"input": [x, f32(1)], "out_type": out}
        yield "Size", {"input": x, "out_type": out}
    yield "Slice", {"input": x, "begin": [0, 1], "size": [1, -1]}
    yield "Snapshot", {"input": x}
    yield "Split", {"axis": 1, "value": ramp(2, 4), "num_split": 2}
    yield "SplitV", {"value": ramp(2, 4), "size_splits": i32(1, 3), "axis": 1, "num_split": 2}
    yield "Squeeze", {"input": ramp(1, 2, 1)}
    yield "Squeeze", {"input": ramp(1, 2, 1), "axis": [0]}
    yield "StopGradient", {"input": x}
    yield "PreventGradient", {"input": x}
    masks = {"begin_mask": 1, "end_mask": 2, "shrink_axis_mask": 0}
    part = {"begin": i32(0, 1), "end": i32(2, 0), "strides": i32(1, 1)}
    yield "StridedSlice", {"input": x, **part, **masks}
    yield (
        "StridedSlice",
        {"input": x, "begin": i32(1), "end": i32(2), "strides": i32(1), "shrink_axis_mask": 1},
    )
    yield "StridedSliceGrad", {"shape": i32(2, 3), **part, "dy": f32([1, 2], [3, 4]), **masks}
    yield "TensorStridedSliceUpdate", {"input": x, **part, "value": f32([1, 2], [3, 4]), **masks}
    yield "Tile", {"input": x, "multiples": [2, 1]}
    for k in (1, 2):
        for name in ("TopK", "TopKV2"):
            yield name, {"input": ramp(2, 4), "k": k}
    for out in ("int32", "int64"):
        yield "Unique", {"x": i32(3, 1, 3, 2), "out_idx": out}
        yield "UniqueWithCounts", {"x": i32(3, 1, 3, 2), "out_idx": out}
        for axis in (i32(), i32(0), i32(1)):
            x2 = i32(3, 1, 3) if axis.size == 0 else i32([1, 0, 0], [1, 0, 0], [2, 0, 0])
            yield "UniqueV2", {"x": x2, "axis": axis, "out_idx": out}
            yield "UniqueWithCountsV2", {"x": x2, "axis": axis, "out_idx": out}
    yield "Unpack", {"value": x, "num": 3, "axis": 1}
    yield "UnravelIndex", {"indices": i32(2, 5), "dims": i32(2, 3)}
    yield "Where", {"condition": [[True, False], [True, True]]}
    yield "Where", {"condition": f32(0, 1, 2)}
    yield "ApproxTopK", {"input": ramp(2, 8), "k": 2}
    yield "ToBool", {"input": f32(1)}
    yield "ToBool", {"input": np.float32(0)}
    yield "NoOp", {}
    yield "LoopCond", {"input": True}
    yield "Assert", {"condition": True, "data": [f32(1)]}


def matrices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Linear algebra and transforms."""
    for dtype in ("float32", "float64", "complex64"):
        a = (ramp(2, 3, 3) + 4 * np.eye(3)).astype(dtype)
        if dtype == "complex64":
            a = (a + 0.3j * ramp(2, 3, 3)).astype(dtype)
        b = ramp(2, 3, 2).astype(dtype)
        positive = (a @ np.conj(np.swapaxes(a, -1, -2))).astype(dtype)
        yield "MatMul", {"a": a[0], "b": b[0]}
        yield "MatMul", {"a": a[0], "b": b[0], "transpose_a": True}
        for name in ("BatchMatMul", "BatchMatMulV2"):
            yield name, {"x": a, "y": b, "adj_x": True}
        yield "BatchMatMulV3", {"x": a, "y": b, "Tout": dtype}
        yield "Cholesky", {"input": positive}
        yield "MatrixDeterminant", {"input": a}
        yield "LogMatrixDeterminant", {"input": a}
        yield "MatrixInverse", {"input": a, "adjoint": True}
        yield "MatrixSolve", {"matrix": a, "rhs": b}
        yield "MatrixTriangularSolve", {"matrix": a, "rhs": b, "lower": False}
        yield "MatrixBandPart", {"input": a, "num_lower": 1, "num_upper": 0}
        yield "MatrixDiag", {"diagonal": b[0]}
        yield "MatrixDiagPart", {"input": a}
        yield "MatrixSetDiag", {"input": a, "diagonal": b[:, :, 0]}
        yield "Einsum", {"inputs": [a, b], "equation": "bij,bjk->bik"}
        yield "MatrixSquareRoot", {"input": positive}
    for dtype in ("float32", "float64"):
        a = (ramp(3, 3) + 4 * np.eye(3)).astype(dtype)
        symmetric = (a + a.T).astype(dtype)
        yield "Identity", {"input": Op("SelfAdjointEigV2", {"input": symmetric, "compute_v": False}, 0)}
        yield "Identity", {"input": Op("Svd", {"input": a, "compute_uv": False}, 0)}
        yield "Lu", {"input": a}
        yield (
            "MatrixSolveLs",
            {"matrix": ramp(4, 2, dtype=dtype), "rhs": ramp(4, 1, dtype=dtype), "l2_regularizer": 0.5},
        )
        yield (
            "CholeskyGrad",
            {"l": np.linalg.cholesky(symmetric @ symmetric).astype(dtype), "grad": ramp(3, 3, dtype=dtype)},
        )
        yield "MatrixExponential", {"input": (a / 4).astype(dtype)}
        values = {
            "input": symmetric,
            "Tout": "complex64" if dtype == "float32" else "complex128",
            "compute_v": False,
        }
        yield "Identity", {"input": Op("Eig", values, 0)}
        for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
            yield (
                "MatrixDiagPartV3",
                {"input": ramp(2, 3, 4, dtype=dtype), "k": [-1, 1], "padding_value": 9.0, "align": align},
            )
            d = ramp(3, 4, dtype=dtype)
            yield (
                "MatrixSetDiagV3",
                {"input": ramp(4, 4, dtype=dtype), "diagonal": d, "k": [-1, 1], "align": align},
            )
            yield (
                "MatrixDiagV3",
                {
                    "diagonal": d,
                    "k": [-1, 1],
                    "num_rows": -1,
                    "num_cols": -1,
                    "padding_value": 7.0,
                    "align": align,
                },
            )
        yield "MatrixDiagPartV2", {"input": ramp(3, 4, dtype=dtype), "k": [0, 1], "padding_value": 9.0}
        yield "MatrixSetDiagV2", {"input": ramp(3, 3, dtype=dtype), "diagonal": ramp(2, dtype=dtype), "k": 1}
        yield (
            "MatrixDiagV2",
            {"diagonal": ramp(2, dtype=dtype), "k": 1, "num_rows": 3, "num_cols": 3, "padding_value": 0.0},
        )
        tri = {"superdiag": ramp(1, 4), "maindiag": ramp(1, 4, low=3, high=5), "subdiag": ramp(1, 4)}
        tri = {key: value.astype(dtype) for key, value in tri.items()}
        yield "TridiagonalMatMul", tri | {"rhs": ramp(4, 2, dtype=dtype)}
        packed = np.concatenate([tri["superdiag"], tri["maindiag"], tri["subdiag"]])
        yield "TridiagonalSolve", {"diagonals": packed, "rhs": ramp(4, 2, dtype=dtype)}
        yield "BandedTriangularSolve", {"matrix": packed[1:], "rhs": ramp(4, 2, dtype=dtype)}
    z = (ramp(4, 4, 4) + 1j * ramp(4, 4, 4)[::-1]).astype(np.complex64)
    for name in ("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"):
        yield name, {"input": z}
    yield "FFTND", {"input": z, "fft_length": [4, 4], "axes": [0, 1]}
    yield "IFFTND", {"input": z, "fft_length": [4, 4], "axes": [0, 1]}
    for count, name in ((1, "RFFT"), (2, "RFFT2D"), (3, "RFFT3D")):
        yield name, {"input": ramp(4, 4, 4), "fft_length": [4] * count}
        yield "I" + name, {"input": z[:, :, :3], "fft_length": [4] * count}
    yield "MatrixLogarithm", {"input": (np.eye(2) * 2 + 0.1).astype(np.complex64)}
    yield "SparseMatMul", {"a": ramp(2, 3), "b": ramp(3, 2)}
