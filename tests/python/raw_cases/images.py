"""Calls of operators of images, sound, strings and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from raw_cases.calls import Op, f32, i32, i64, ramp


def images() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators of images and sound."""
    x = ramp(2, 4, 5, 3, low=0, high=1)
    yield "AdjustContrastv2", {"images": x, "contrast_factor": 0.5}
    yield "AdjustHue", {"images": x, "delta": 0.2}
    yield "AdjustSaturation", {"images": x, "scale": 0.7}
    yield "RGBToHSV", {"images": x}
    yield "HSVToRGB", {"images": x}
    for align, half in ((False, False), (True, False), (False, True)):
        options = {"align_corners": align, "half_pixel_centers": half}
        for size in (i32(7, 3), i32(2, 9), i32(4, 5)):
            for kind in ("Bilinear", "Bicubic"):
                yield f"Resize{kind}", {"images": x, "size": size, **options}
            yield "ResizeNearestNeighbor", {"images": x, "size": size, **options}
        for kind in ("Bilinear", "Bicubic"):
            yield f"Resize{kind}Grad", {"grads": ramp(2, 7, 3, 3), "original_image": x, **options}
        yield "ResizeNearestNeighborGrad", {"grads": ramp(2, 7, 3, 3), "size": i32(4, 5), **options}
    for size in (i32(7, 3), i32(2, 9)):
        yield "ResizeArea", {"images": x, "size": size}
    for kernel in (
        "box",
        "triangle",
        "keyscubic",
        "mitchellcubic",
        "lanczos1",
        "lanczos3",
        "lanczos5",
        "gaussian",
    ):
        for antialias in (True, False):
            scaled = {
                "scale": f32(1.5, 0.7),
                "translation": f32(0.3, -0.4),
                "kernel_type": kernel,
                "antialias": antialias,
            }
            yield "ScaleAndTranslate", {"images": x, "size": i32(6, 4), **scaled}
            yield "ScaleAndTranslateGrad", {"grads": ramp(2, 6, 4, 3), "original_image": x, **scaled}
    boxes = f32([0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.1, 0, 0.9, 0.95])
    for method in ("bilinear", "nearest"):
        crop = {"boxes": boxes, "box_ind": i32(0, 1, 0), "method": method}
        yield "CropAndResize", {"image": x, "crop_size": i32(3, 3), **crop}
        yield (
            "CropAndResizeGradImage",
            {"grads": ramp(3, 3, 3, 3), "image_size": i32(2, 4, 5, 3), "T": "float32", **crop},
        )
    yield (
        "CropAndResizeGradBoxes",
        {"grads": ramp(3, 3, 3, 3), "image": x, "boxes": boxes, "box_ind": i32(0, 1, 0)},
    )
    scores = f32(0.9, 0.8, 0.7)
    suppress = {"boxes": boxes, "scores": scores, "max_output_size": 3, "iou_threshold": 0.5}
    yield "NonMaxSuppression", suppress
    yield "NonMaxSuppressionV2", suppress
    yield "NonMaxSuppressionV3", suppress | {"score_threshold": 0.75}
    for pad in (False, True):
        padded = {"score_threshold": 0.0, "pad_to_max_output_size": pad}
        yield "NonMaxSuppressionV4", suppress | padded
        yield "NonMaxSuppressionV5", suppress | padded | {"soft_nms_sigma": 0.5}
    yield (
        "NonMaxSuppressionWithOverlaps",
        {
            "overlaps": f32([1, 0.6, 0.1], [0.6, 1, 0.2], [0.1, 0.2, 1]),
            "scores": scores,
            "max_output_size": 3,
            "overlap_threshold": 0.5,
            "score_threshold": 0.0,
        },
    )
    yield (
        "CombinedNonMaxSuppression",
        {
            "boxes": boxes[None, :, None],
            "scores": np.stack([scores, scores[::-1]], -1)[None],
            "max_output_size_per_class": 2,
            "max_total_size": 4,
            "iou_threshold": 0.5,
            "score_threshold": 0.1,
        },
    )
    yield "DrawBoundingBoxes", {"images": x[:1], "boxes": boxes[None]}
    yield "DrawBoundingBoxesV2", {"images": x[:1], "boxes": boxes[None], "colors": f32([1, 0, 0])}
    patches = {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    yield "ExtractImagePatches", {"images": x, **patches}
    yield (
        "ExtractVolumePatches",
        {
            "input": ramp(1, 3, 3, 3, 1),
            "ksizes": [1, 2, 2, 2, 1],
            "strides": [1, 1, 1, 1, 1],
            "padding": "SAME",
        },
    )
    for name in ("ExtractGlimpse", "ExtractGlimpseV2"):
        yield (
            name,
            {
                "input": x,
                "size": i32(2, 2),
                "offsets": f32([0, 0], [0.5, -0.5]),
                "uniform_noise": False,
                "noise": "zero",
            },
        )
    bytes_ = ramp(4, 5, 3, low=0, high=255, dtype="uint8")
    png = Op("EncodePng", {"image": bytes_})
    yield "DecodePng", {"contents": png}
    yield "DecodePng", {"contents": png, "channels": 1, "dtype": "uint16"}
    yield "DecodeImage", {"contents": png}
    yield "EncodeWav", {"audio": ramp(6, 2, low=-1, high=1), "sample_rate": 8000}
    yield (
        "DecodeWav",
        {"contents": Op("EncodeWav", {"audio": ramp(6, 2, low=-1, high=1), "sample_rate": 8000})},
    )
    for squared in (False, True):
        yield (
            "AudioSpectrogram",
            {
                "input": ramp(20, 2, low=-1, high=1),
                "window_size": 6,
                "stride": 3,
                "magnitude_squared": squared,
            },
        )
    turn = f32([0.9, 0.2, 0.5, -0.2, 0.9, 0.3, 0.01, 0.0])
    for interpolation in ("NEAREST", "BILINEAR"):
        yield (
            "ImageProjectiveTransformV2",
            {"images": x, "transforms": turn, "output_shape": i32(4, 5), "interpolation": interpolation},
        )
        for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
            yield (
                "ImageProjectiveTransformV3",
                {
                    "images": x,
                    "transforms": turn,
                    "output_shape": i32(5, 4),
                    "fill_value": 0.25,
                    "interpolation": interpolation,
                    "fill_mode": mode,
                },
            )


def texts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators of strings and bytes."""
    words = np.array([["ab c", "D,e f"], ["", "xyz"]], object)
    yield "AsString", {"input": f32(1.5, -2), "precision": 2}
    yield "AsString", {"input": i32(15, -2), "width": 5, "fill": "0"}
    yield "ReduceJoin", {"inputs": words, "reduction_indices": [1], "separator": "-"}
    yield "ReduceJoin", {"inputs": words, "reduction_indices": [0, 1], "keep_dims": True}
    for name in ("RegexFullMatch", "StaticRegexFullMatch"):
        yield name, {"input": words, "pattern": "[a-z ]*"}
    for name in ("RegexReplace", "StaticRegexReplace"):
        yield name, {"input": words, "pattern": "([a-e])", "rewrite": "<\\1>", "replace_global": False}
    yield "ShardedFilename", {"basename": "data", "shard": 3, "num_shards": 12}
    yield "ShardedFilespec", {"basename": "data", "num_shards": 12}
    yield "StringFormat", {"inputs": [i32(1, 2), "x"], "template": "a %s b %s"}
    yield "StringJoin", {"inputs": [words, words], "separator": "+"}
    yield "StringLength", {"input": words}
    yield "StringLower", {"input": words}
    yield "StringUpper", {"input": words}
    yield "StringStrip", {"input": np.array([" a ", "b\n"], object)}
    yield "StringSplit", {"input": np.array(["a b,c", "", "d"], object), "delimiter": " ,"}
    yield "StringSplit", {"input": np.array(["a  b", "d"], object), "delimiter": " ", "skip_empty": False}
    yield "StringSplit", {"input": np.array(["ab", "d"], object), "delimiter": ""}
    yield "StringSplitV2", {"input": np.array(["a,b,c", "d"], object), "sep": ",", "maxsplit": 1}
    yield "StringSplitV2", {"input": np.array([" a  b ", "d"], object), "sep": ""}
    yield "StringToHashBucket", {"string_tensor": words, "num_buckets": 1000}
    yield "StringToHashBucketFast", {"input": words, "num_buckets": 1000}
    yield "StringToHashBucketStrong", {"input": words, "num_buckets": 1000, "key": [1, 2]}
    for out in ("float32", "int32", "int64", "float64"):
        yield "StringToNumber", {"string_tensor": np.array(["3", "-4"], object), "out_type": out}
    yield "Substr", {"input": words[0], "pos": i32(0, 1), "len": i32(2, 3)}
    yield (
        "StringNGrams",
        {
            "data": np.array(["a", "b", "c", "d"], object),
            "data_splits": i64(0, 3, 4),
            "separator": "|",
            "ngram_widths": [2, 3],
            "left_pad": "L",
            "right_pad": "R",
            "pad_width": -1,
            "preserve_short_sequences": False,
        },
    )
    yield (
        "StringNGrams",
        {
            "data": np.array(["a", "b", "c", "d"], object),
            "data_splits": i64(0, 3, 4),
            "separator": "|",
            "ngram_widths": [2],
            "left_pad": "",
            "right_pad": "",
            "pad_width": 0,
            "preserve_short_sequences": True,
        },
    )
    accents = np.array(["aé", "語"], object)
    yield "UnicodeDecode", {"input": accents, "input_encoding": "UTF-8"}
    yield "UnicodeDecodeWithOffsets", {"input": accents, "input_encoding": "UTF-8"}
    yield (
        "UnicodeEncode",
        {"input_values": i32(97, 233, 35486), "input_splits": i64(0, 2, 3), "output_encoding": "UTF-8"},
    )
    yield "UnicodeScript", {"input": i32(97, 35486)}
    yield "UnicodeTranscode", {"input": accents, "input_encoding": "UTF-8", "output_encoding": "UTF-16-BE"}
    yield (
        "UnsortedSegmentJoin",
        {"inputs": words[0], "segment_ids": i32(1, 0), "num_segments": 3, "separator": "-"},
    )
    yield "DecodeBase64", {"input": np.array(["YWI"], object)}
    yield "EncodeBase64", {"input": np.array(["ab?"], object), "pad": True}
    yield "DecodeRaw", {"bytes": np.array(["abcd", "efgh"], object), "out_type": "int16"}
    yield (
        "DecodePaddedRaw",
        {"input_bytes": np.array(["abc", "efghij"], object), "fixed_length": 4, "out_type": "uint8"},
    )
    yield (
        "DecodeCSV",
        {"records": np.array(["1,a", "2,"], object), "record_defaults": [i32(0), np.array(["z"], object)]},
    )
    yield "ParseTensor", {"serialized": Op("SerializeTensor", {"tensor": f32([1, 2])}), "out_type": "float32"}
