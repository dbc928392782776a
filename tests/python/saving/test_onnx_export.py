"""Programs as models of ONNX: written, read again, and run; and what cannot be written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.onnx_programs import PROGRAMS, Program

import penstock as tf


def flat(value: Any) -> list[np.ndarray]:
    return [x.numpy() for x in tf.nest.flatten(value)]


def tensors(program: Program) -> list[tf.Tensor]:
    return [tf.constant(a) for a in program.arguments]


# What is composed of other operators, and so rounds otherwise.
TOLERANCE = {"arithmetic": 1e-6, "layer_norm": 1e-6, "batch_norm": 1e-6, "losses": 1e-6, "gradient": 1e-6}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_written_and_read(name):
    program = PROGRAMS[name]
    traced = tf.function(program.function).get_concrete_function(*program.specs)
    model = tf.onnx.load(tf.onnx.to_bytes(tf.function(flattened(program)), program.specs))
    assert list(model.inputs) == [spec.name for spec in program.specs]
    expected = flat(traced(*tensors(program)))
    got = flat(list(model(*tensors(program)).values()))
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if name in TOLERANCE:
            np.testing.assert_allclose(a, b, rtol=TOLERANCE[name], atol=TOLERANCE[name])
        else:
            np.testing.assert_array_equal(a, b)


def flattened(program: Program):
    """The function with its results in a row."""
    traced = tf.function(program.function)
    return lambda *arguments: tf.nest.flatten(traced(*arguments))


class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.slope = tf.Variable([2.0, 3.0], name="slope")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="points")])
    def predict(self, points):
        return {"y": points * self.slope, "largest": tf.reduce_max(points)}


def test_inputs_outputs_and_variables_keep_their_names(tmp_path):
    line = Line()
    tf.onnx.save(line.predict, tmp_path / "line.onnx")
    model = tf.onnx.load(tmp_path / "line.onnx", variables=True)
    assert model.inputs == {"points": tf.TensorSpec([None, 2], tf.float32, "points")}
    assert list(model.outputs) == ["y", "largest"]
    assert "slope" in model.weights
    x = tf.constant([[1.0, 2.0]])
    np.testing.assert_array_equal(model(points=x)["y"], [[2.0, 6.0]])
    model.weights["slope"].assign([1.0, 1.0])
    np.testing.assert_array_equal(model(points=x)["y"], x)
    np.testing.assert_array_equal(line.slope, [2.0, 3.0])


def test_a_trace_a_program_and_a_function_of_a_single_trace_are_written():
    double = tf.function(lambda x: x + x)
    with pytest.raises(ValueError, match="input_signature or a single trace"):
        tf.onnx.to_bytes(double)
    trace = double.get_concrete_function(tf.TensorSpec([2], name="x"))
    for given in (double, trace, tf.Program.of({"double": trace})):
        model = tf.onnx.load(tf.onnx.to_bytes(given))
        np.testing.assert_array_equal(model([1.0, 2.0])["output_0"], [2.0, 4.0])
    double.get_concrete_function(tf.TensorSpec([3], name="x"))
    with pytest.raises(ValueError, match="there are 2"):
        tf.onnx.to_bytes(double)
    with pytest.raises(ValueError, match="must be given for"):
        tf.onnx.to_bytes(lambda x: x)


def test_weights_lie_beside_the_model_where_asked_for(tmp_path):
    weights = tf.Variable(np.arange(1000, dtype=np.float32), name="w")
    path = tmp_path / "m.onnx"
    tf.onnx.save(lambda x: x * weights, path, [tf.TensorSpec([], name="x")], weights_beside=True)
    assert path.stat().st_size < 1000
    assert (tmp_path / "m.onnx.data").stat().st_size == 4000
    np.testing.assert_array_equal(tf.onnx.load(path)(2.0)["output_0"], 2 * weights.numpy())


def test_all_that_is_in_the_way_is_named_with_its_lines():
    counter = tf.Variable(0.0)

    def f(x):
        counter.assign_add(1.0)
        y = tf.linalg.inv(x)
        tf.debugging.assert_equal(tf.shape(x)[0], 2)
        return tf.math.lgamma(y) + tf.linalg.inv(y), tf.math.digamma(x)

    with pytest.raises(tf.errors.UnimplementedError) as caught:
        tf.onnx.to_bytes(f, [tf.TensorSpec([2, 2])])
    text = str(caught.value)
    first = f.__code__.co_firstlineno - 2
    for name, lines in {"assign_add": [3], "matrix_inverse": [4, 6], "digamma": [6]}.items():
        assert f"\n  {name}: has no node in ONNX" in text
        for line in lines:
            assert f"{__file__}:{first + line}" in text
    # What follows from a refused value is not refused once more.
    assert "lgamma" not in text


def test_a_function_that_calls_itself_is_refused():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def factorial(n):
        if n <= 1:
            return tf.constant(1)
        return n * factorial(n - 1)

    with pytest.raises(tf.errors.UnimplementedError, match="calls itself, which no model of ONNX can"):
        tf.onnx.to_bytes(factorial)


def test_symbols_name_the_extents_that_inputs_and_outputs_share():
    specs = [tf.TensorSpec([None, 3], name="a"), tf.TensorSpec([None, 3], name="b")]
    data = tf.onnx.to_bytes(lambda a, b: (tf.concat([a, b], 0), a + 1.0), specs)
    model = tf.onnx.load(data)
    assert [tuple(spec.shape) for spec in model.inputs.values()] == [(None, 3), (None, 3)]
    np.testing.assert_array_equal(model(np.ones([1, 3]), np.ones([2, 3]))["output_0"], np.ones([3, 3]))
