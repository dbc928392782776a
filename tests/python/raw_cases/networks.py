"""Calls of operators of neural networks, and of numbers of few bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from raw_cases.calls import Op, f32, i32, i64, ramp


def networks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators of neural networks."""
    for dtype in ("float32", "float64"):
        x, w = ramp(2, 5, 5, 2, dtype=dtype), ramp(2, 2, 2, 3, dtype=dtype)
        for padding in ("SAME", "VALID"):
            conv = {"strides": [1, 2, 2, 1], "padding": padding}
            out = ramp(2, 3 if padding == "SAME" else 2, 3 if padding == "SAME" else 2, 3, dtype=dtype)
            yield "Conv2D", {"input": x, "filter": w, **conv}
            yield (
                "Conv2DBackpropInput",
                {"input_sizes": [2, 5, 5, 2], "filter": w, "out_backprop": out, **conv},
            )
            yield (
                "Conv2DBackpropFilter",
                {"input": x, "filter_sizes": [2, 2, 2, 3], "out_backprop": out, **conv},
            )
            deep = np.repeat(out[..., :2], 2, -1)
            yield "DepthwiseConv2dNative", {"input": x, "filter": w[..., :2], **conv}
            yield (
                "DepthwiseConv2dNativeBackpropInput",
                {"input_sizes": [2, 5, 5, 2], "filter": w[..., :2], "out_backprop": deep, **conv},
            )
            yield (
                "DepthwiseConv2dNativeBackpropFilter",
                {"input": x, "filter_sizes": [2, 2, 2, 2], "out_backprop": deep, **conv},
            )
            pool = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
            size = 3 if padding == "SAME" else 2
            g = ramp(2, size, size, 2, dtype=dtype)
            yield "AvgPool", {"value": x, **pool}
            yield "AvgPoolGrad", {"orig_input_shape": [2, 5, 5, 2], "grad": g, **pool}
            top = Op("MaxPool", {"input": x, **pool})
            yield "MaxPool", {"input": x, **pool}
            yield "MaxPoolV2", {"input": Op("Identity", {"input": x}), **pool}
            yield "MaxPoolGrad", {"orig_input": x, "orig_output": top, "grad": g, **pool}
            yield "MaxPoolGradV2", {"orig_input": x, "orig_output": top, "grad": g, **pool}
            yield "MaxPoolGradGrad", {"orig_input": x, "orig_output": top, "grad": x[::-1], **pool}
            for include in (False, True):
                places = {"include_batch_in_index": include}
                yield "MaxPoolWithArgmax", {"input": x, **pool, **places}
                argmax = Op("MaxPoolWithArgmax", {"input": x, **pool, **places}, 1)
                yield "MaxPoolGradWithArgmax", {"input": x, "grad": g, "argmax": argmax, **pool, **places}
            cube = ramp(1, 4, 4, 4, 1, dtype=dtype)
            pool3 = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": padding}
            yield "AvgPool3D", {"input": cube, **pool3}
            yield "MaxPool3D", {"input": cube, **pool3}
            g3 = ramp(1, 2, 2, 2, 1, dtype=dtype)
            yield "AvgPool3DGrad", {"orig_input_shape": [1, 4, 4, 4, 1], "grad": g3, **pool3}
            yield (
                "MaxPool3DGrad",
                {
                    "orig_input": cube,
                    "orig_output": Op("MaxPool3D", {"input": cube, **pool3}),
                    "grad": g3,
                    **pool3,
                },
            )
            conv3 = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
            w3 = ramp(2, 2, 2, 1, 2, dtype=dtype)
            yield "Conv3D", {"input": cube, "filter": w3, **conv3}
            out3 = ramp(1, 4, 4, 4, 2, dtype=dtype)
            yield (
                "Conv3DBackpropInputV2",
                {"input_sizes": i32(1, 4, 4, 4, 1), "filter": w3, "out_backprop": out3, **conv3},
            )
            yield (
                "Conv3DBackpropFilterV2",
                {"input": cube, "filter_sizes": [2, 2, 2, 1, 2], "out_backprop": out3, **conv3},
            )
            dilation = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": padding}
            yield "Dilation2D", {"input": x, "filter": w[..., 0], **dilation}
        explicit = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}
        yield "Conv2D", {"input": x, "filter": w, "strides": [1, 1, 1, 1], **explicit}
        yield "Conv", {"input": x, "filter": w, "strides": [1, 1, 1, 1], "padding": "VALID"}
        yield "BiasAdd", {"value": x, "bias": np.array([1, 2], dtype)}
        yield "BiasAdd", {"value": x, "bias": np.arange(5).astype(dtype), "data_format": "NCHW"}
        yield "BiasAddV1", {"value": x, "bias": np.array([1, 2], dtype)}
        yield "BiasAddGrad", {"out_backprop": x}
        yield "BiasAddGrad", {"out_backprop": x, "data_format": "NCHW"}
        logits = ramp(3, 4, dtype=dtype)
        yield "Softmax", {"logits": logits}
        yield "LogSoftmax", {"logits": logits}
        labels = np.eye(4)[:3].astype(dtype)
        yield "SoftmaxCrossEntropyWithLogits", {"features": logits, "labels": labels}
        for index in (i32(0, 3, 1), i64(0, 3, 1)):
            yield "SparseSoftmaxCrossEntropyWithLogits", {"features": logits, "labels": index}
    x = ramp(2, 3, 3, 2)
    scale, offset, mean, variance = f32(1, 2), f32(0.5, -1), f32(0.1, 0.2), f32(1.5, 0.7)
    norm = {"x": x, "scale": scale, "offset": offset}
    for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        yield name, norm | {"mean": mean, "variance": variance, "is_training": False}
        yield name, norm | {"mean": f32(), "variance": f32()}
        yield name, norm | {"mean": mean, "variance": variance, "exponential_avg_factor": 0.3}
    for training in (True, False):
        back = {
            "y_backprop": x[::-1],
            "x": x,
            "scale": scale,
            "reserve_space_1": mean,
            "reserve_space_2": variance,
        }
        if training:
            made = {"x": x, "scale": scale, "offset": offset, "mean": f32(), "variance": f32()}
            back |= {f"reserve_space_{i}": Op("FusedBatchNorm", made, i + 2) for i in (1, 2)}
        for name in ("FusedBatchNormGrad", "FusedBatchNormGradV2"):
            yield name, back | {"is_training": training}
    yield (
        "BatchNormWithGlobalNormalization",
        {
            "t": x,
            "m": mean,
            "v": variance,
            "beta": offset,
            "gamma": scale,
            "variance_epsilon": 0.01,
            "scale_after_normalization": True,
        },
    )
    yield "LRN", {"input": ramp(1, 2, 2, 6), "depth_radius": 2, "alpha": 0.5}
    lrn = {"depth_radius": 2, "alpha": 0.5}
    image = ramp(1, 2, 2, 6)
    yield (
        "LRNGrad",
        {
            "input_grads": image[:, ::-1],
            "input_image": image,
            "output_image": Op("LRN", {"input": image, **lrn}),
            **lrn,
        },
    )
    for name in ("InTopK", "InTopKV2"):
        yield name, {"predictions": ramp(3, 4), "targets": i32(0, 1, 3), "k": 2}
    units, batch = 3, 2
    state = ramp(batch, units)
    gru = {
        "x": ramp(batch, 2),
        "h_prev": state,
        "w_ru": ramp(5, 6),
        "w_c": ramp(5, 3),
        "b_ru": ramp(6),
        "b_c": ramp(3),
    }
    yield "GRUBlockCell", gru
    weights = {"w": ramp(5, 12), "wci": ramp(3), "wcf": ramp(3, low=0, high=1), "wco": ramp(3), "b": ramp(12)}
    for peephole in (False, True):
        step = {"cs_prev": state, "h_prev": state[::-1], **weights, "use_peephole": peephole}
        yield "LSTMBlockCell", {"x": ramp(batch, 2), **step}
        rows = {"x": ramp(4, batch, 2), "seq_len_max": 4, **step}
        yield "BlockLSTM", rows
        yield "BlockLSTMV2", rows
    yield "CTCGreedyDecoder", {"inputs": ramp(4, 2, 3), "sequence_length": i32(4, 3), "merge_repeated": True}
    yield (
        "CTCBeamSearchDecoder",
        {
            "inputs": ramp(4, 2, 3),
            "sequence_length": i32(4, 3),
            "beam_width": 4,
            "top_paths": 2,
            "merge_repeated": False,
        },
    )
    yield "IsotonicRegression", {"input": ramp(2, 5)}
    yield (
        "FusedPadConv2D",
        {
            "input": ramp(1, 3, 3, 1),
            "paddings": [[0, 0], [1, 1], [1, 1], [0, 0]],
            "filter": ramp(2, 2, 1, 1),
            "mode": "REFLECT",
            "strides": [1, 1, 1, 1],
            "padding": "VALID",
        },
    )


def quantized() -> Iterator[tuple[str, dict[str, Any]]]:
    """Numbers of few bits, and points of a sequence."""
    for dim, count, skip in ((5, 40, 0), (3, 4, 5), (1, 3, 1000), (1111, 6, 29)):
        for dtype in ("float32", "float64"):
            yield "SobolSample", {"dim": dim, "num_results": count, "skip": skip, "dtype": dtype}
    x = ramp(2, 3)
    yield "FakeQuantWithMinMaxArgs", {"inputs": x, "min": -1.0, "max": 1.0}
    yield "FakeQuantWithMinMaxArgsGradient", {"gradients": x[::-1], "inputs": x, "min": -1.0, "max": 1.0}
    yield "FakeQuantWithMinMaxVars", {"inputs": x, "min": -1.0, "max": 1.5}
    yield "FakeQuantWithMinMaxVarsGradient", {"gradients": x[::-1], "inputs": x, "min": -1.0, "max": 1.5}
    channels = {"min": f32(-1, -0.5, -2), "max": f32(1, 0.5, 2)}
    yield "FakeQuantWithMinMaxVarsPerChannel", {"inputs": x, **channels}
    yield "FakeQuantWithMinMaxVarsPerChannelGradient", {"gradients": x[::-1], "inputs": x, **channels}
    for given in (False, True):
        limits = {"input": x, "input_min": np.float32(-1), "input_max": np.float32(1), "range_given": given}
        yield "QuantizeAndDequantizeV2", limits
        yield "QuantizeAndDequantizeV3", limits | {"num_bits": 6}
        yield "QuantizeAndDequantizeV4", limits | {"num_bits": 6}
    yield (
        "QuantizeAndDequantizeV4Grad",
        {"gradients": x[::-1], "input": x, "input_min": np.float32(-1), "input_max": np.float32(1)},
    )
    x = ramp(2, 3, low=-1.9, high=1.7)
    for mode in ("MIN_COMBINED", "SCALED"):
        signed = mode == "SCALED"
        made = {
            "input": x,
            "min_range": -2.0,
            "max_range": 2.0,
            "T": "qint8" if signed else "quint8",
            "mode": mode,
        }
        yield (
            "Dequantize",
            {"input": Op("QuantizeV2", made, 0), "min_range": -2.0, "max_range": 2.0, "mode": mode},
        )
