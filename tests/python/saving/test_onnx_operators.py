"""Every operator that models of ONNX are written of, on its samples: written, read, and run."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import _core, raw_ops
from penstock.errors import UnimplementedError

# Other numbers in each run.
DRAWN = {"random_uniform", "random_normal"}
# What has no sample of its own that a model can be of: control, state and lists are in `test_onnx_export.py`.
WITHOUT = {"const", "cond", "switch", "while", "call", "with_gradient", "assert", "read_variable"}

# The units in the last place by which operators that are composed of others are off; 1 for those not listed.
UNITS = {"softmax_cross_entropy": 4, "cumulative_logsumexp": 4, "selu": 2, "atan2": 2}
# Where NaN comes when it is sorted, ONNX does not say.
SORTS = {"sort", "argsort", "top_k"}

PRECISION = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def samples(name: str) -> list[tuple[list[tf.Tensor], dict[str, Any]]]:
    """None for an operator with an attribute that Python cannot write."""
    with contextlib.suppress(TypeError):
        return _core._op_samples(name)
    return []


def results(value: Any) -> list[tf.Tensor]:
    return list(value) if isinstance(value, tuple) else [value]


def constant(x: tf.Tensor) -> tf.Tensor:
    return tf.constant(x.numpy(), x.dtype)


def written(
    name: str, operands: list[tf.Tensor], attributes: dict[str, Any], fixed: set[int]
) -> list[tf.Tensor]:
    """The results of the model of an operator, with some operands as constants."""
    given = [x for i, x in enumerate(operands) if i not in fixed]

    def apply(*tensors: tf.Tensor) -> Any:
        rest = iter(tensors)
        taken = [constant(x) if i in fixed else next(rest) for i, x in enumerate(operands)]
        out = getattr(raw_ops, name)(*taken, **attributes)
        return list(out) if isinstance(out, tuple) else out

    specs = [tf.TensorSpec(x.shape, x.dtype, f"x{i}") for i, x in enumerate(given)]
    model = tf.onnx.load(tf.onnx.to_bytes(apply, specs))
    return list(model(*given).values())


def apart(a: tf.Tensor, b: tf.Tensor) -> float:
    """How many units in the last place two tensors differ by: 0 for the same bits; any NaN is as good."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    x, y = a.numpy(), b.numpy()
    if a.dtype not in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        return 0.0 if np.array_equal(x, y) else np.inf
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    same = (x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)
    if same.all():
        return 0.0
    x, y = x[~same], y[~same]
    if not (np.isfinite(x) & np.isfinite(y)).all():
        return np.inf
    return float((np.abs(x - y) / (np.maximum(np.abs(x), 1e-37) * PRECISION[a.dtype.name])).max())


def check(name: str) -> tuple[int, float, list[str]]:
    """How many samples are written, by how much their results are off at most, and why others are not."""
    count, worst, reasons = 0, 0.0, []
    for operands, attributes in samples(name):
        if any(x.dtype in (tf.variant, tf.resource) for x in operands):
            continue
        if (
            name in SORTS
            and operands[0].dtype.is_floating
            and np.isnan(operands[0].numpy().astype("f8")).any()
        ):
            continue
        expected = results(getattr(raw_ops, name)(*operands, **attributes))
        integers = {i for i, x in enumerate(operands) if x.dtype in (tf.int32, tf.int64)}
        for fixed in (set(), integers) if integers else (set(),):
            if len(fixed) == len(operands):
                continue
            try:
                got = written(name, operands, attributes, fixed)
            except UnimplementedError as error:
                reasons.append(str(error))
                continue
            count += 1
            for a, b in zip(got, expected, strict=True):
                worst = max(worst, apart(b, a))
    return count, worst, reasons


NAMES = [
    name
    for name in _core._onnx_operators()
    if samples(name) and name not in DRAWN | WITHOUT and not name.startswith("list_")
]


@pytest.mark.parametrize("name", NAMES)
def test_the_model_of_an_operator_gives_what_the_operator_gives(name: str) -> None:
    count, worst, reasons = check(name)
    assert count, reasons
    assert worst <= UNITS.get(name, 1.0)
