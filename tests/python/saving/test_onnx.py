"""Models of ONNX, put together here byte by byte."""

import numpy as np
import pytest

import penstock as tf


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def value_info(name, dtype, dims):
    extents = b"".join(data(1, data(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, number(1, dtype) + data(2, extents)))


def node(op, inputs, outputs, **ints):
    out = (
        b"".join(data(1, name) for name in inputs) + b"".join(data(2, name) for name in outputs) + data(4, op)
    )
    for name, n in ints.items():
        out += data(5, data(1, name) + number(3, n) + number(20, 2))
    return out


def tensor(name, value):
    value = np.asarray(value, np.float32)
    dims = b"".join(number(1, d) for d in value.shape)
    return dims + number(2, 1) + data(8, name) + data(9, value.tobytes())


def model(nodes, inputs, outputs, weights=()):
    graph = b"".join(data(1, n) for n in nodes) + data(2, "g")
    graph += b"".join(data(5, w) for w in weights)
    graph += b"".join(data(11, i) for i in inputs) + b"".join(data(12, data(1, o)) for o in outputs)
    return number(1, 10) + data(8, number(2, 21)) + data(7, graph)


DENSE = model(
    [node("Gemm", ["x", "w", "b"], ["h"]), node("Tanh", ["h"], ["out:0"])],
    [value_info("x", 1, ["n", 2])],
    ["out:0"],
    [tensor("w", [[1, 2], [3, 4]]), tensor("b", [1, -1])],
)


def dense(x):
    return np.tanh(x @ np.array([[1, 2], [3, 4]], np.float32) + np.array([1, -1], np.float32))


def test_a_model_runs_on_inputs_by_name_and_by_position():
    loaded = tf.onnx.load(DENSE)
    assert loaded.inputs == {"x": tf.TensorSpec([None, 2], tf.float32, "x")}
    x = np.array([[0.1, 0.2], [-0.3, 0.4]], np.float32)
    for outputs in (loaded(x), loaded(x=tf.constant(x)), loaded(x=x.tolist())):
        assert list(outputs) == ["out:0"]
        np.testing.assert_allclose(outputs["out:0"], dense(x), rtol=1e-6)


def test_a_model_is_loaded_from_a_path(tmp_path):
    (tmp_path / "m.onnx").write_bytes(DENSE)
    x = np.ones([1, 2], np.float32)
    np.testing.assert_allclose(
        tf.experimental.onnx.load(tmp_path / "m.onnx")(x)["out:0"], dense(x), rtol=1e-6
    )


def test_a_model_is_traced_and_differentiated():
    loaded = tf.onnx.load(DENSE, variables=True)
    x = tf.constant([[0.1, 0.2]])

    @tf.function
    def loss(x):
        return tf.reduce_sum(loaded(x)["out:0"])

    with tf.GradientTape() as tape:
        tape.watch(x)
        value = loss(x)
    dx, db = tape.gradient(value, [x, loaded.weights["b"]])
    slope = 1 - dense(x.numpy()) ** 2
    np.testing.assert_allclose(db, slope[0], rtol=1e-5)
    np.testing.assert_allclose(dx, slope @ np.array([[1, 2], [3, 4]]).T, rtol=1e-5)
    loaded.weights["b"].assign([0.0, 0.0])
    np.testing.assert_allclose(loaded(x)["out:0"], np.tanh(x.numpy() @ [[1, 2], [3, 4]]), rtol=1e-5)


def test_an_input_that_is_an_axis_decides_what_is_run():
    axes = model(
        [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        [value_info("x", 1, ["n", 3]), value_info("axes", 7, [1])],
        ["y"],
    )
    loaded = tf.onnx.load(axes)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(loaded(x, [axis])["y"], x.sum(axis))
    fixed = loaded.function(values={"axes": [1]})
    (y,) = fixed(tf.constant(x), tf.constant([1], tf.int64))
    np.testing.assert_array_equal(y, [3, 12])
    with pytest.raises(tf.errors.FailedPreconditionError, match="give values for the inputs: axes"):
        loaded.function()


def test_a_program_of_a_model_is_saved(tmp_path):
    tf.onnx.load(DENSE).program().save(tmp_path / "m.penstock")
    x = np.ones([3, 2], np.float32)
    outputs = tf.Program.load(tmp_path / "m.penstock").run("main", x=x)
    np.testing.assert_allclose(outputs["out:0"], dense(x), rtol=1e-6)


def test_slices_take_only_axes_that_their_masks_tell():
    def last(rank):
        names = ["begin", "end", "axes"]
        values = [value_info(name, 7, [1]) for name in names]
        shape = [1] * (rank - 1) + [4]
        slices = model([node("Slice", ["x", *names], ["y"])], [value_info("x", 1, shape), *values], ["y"])
        bounds = {"begin": [1], "end": [3], "axes": [rank - 1]}
        return tf.onnx.load(slices)(tf.reshape(tf.range(4.0), shape), **bounds)["y"]

    np.testing.assert_array_equal(tf.reshape(last(62), [-1]), [1, 2])
    with pytest.raises(tf.errors.UnimplementedError, match="behind the first 62"):
        last(63)


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="the ONNX model is damaged"):
        tf.onnx.load(b"no model")
    unknown = model([node("Foo", ["x"], ["a"]), node("Bar", ["a"], ["y"])], [value_info("x", 1, [1])], ["y"])
    with pytest.raises(tf.errors.UnimplementedError, match=r"ai.onnx.Bar \(version 21\): 1, ai.onnx.Foo"):
        tf.onnx.load(unknown)
    with pytest.raises(TypeError, match="argument 'path'"):
        tf.onnx.load(3)
    loaded = tf.onnx.load(DENSE)
    with pytest.raises(TypeError, match="inputs are missing: x"):
        loaded()
    with pytest.raises(TypeError, match="has no input 'z'; it has x"):
        loaded(z=1)
