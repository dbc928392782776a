"""Graphs of traces as messages of TensorFlow, read back as operations of the program."""

from pathlib import Path

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(3)
V = tf.Variable([2.0, 3.0], name="v")
W = tf.Variable(RNG.random((3, 3, 2, 4)).astype(np.float32), name="w")
KEPT = tf.constant([1.0, 2.0, 3.0, 4.0])
WIDE = RNG.random((3, 4)).astype(np.float32)
PAIR = RNG.random((4, 2)).astype(np.float32)


def slope(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sin(x) * tf.exp(x))
    return tape.gradient(y, x)


def lists(x):
    return tf.scan(lambda a, b: tf.tanh(a + b), x)


def both_ways(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * V, lambda: x - V)


def repeated(n):
    return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + V[0]), (0, 0.0))


@tf.function
def inner(x):
    return x * x + 1.0


# A function, what it takes, and whether sizes are unknown.
FUNCTIONS = {
    "layer": (lambda x: tf.nn.bias_add(tf.matmul(x, tf.ones([2, 3])), [1.0, 2.0, 3.0]), [PAIR]),
    "variable": (lambda x: x * V + tf.reduce_sum(V), [PAIR]),
    "assignment": (lambda x: V.assign_add(x) + 0.0, [np.zeros(2, np.float32)]),
    "convolution": (
        lambda x: tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, W, 2, "SAME")), 2, 2, "VALID"),
        [RNG.random((2, 8, 8, 2)).astype(np.float32)],
    ),
    "loss": (lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0, 1, 0], x), [PAIR]),
    "branches": (both_ways, [np.ones(2, np.float32)]),
    "loop": (repeated, [np.int32(4)]),
    "lists": (lists, [PAIR]),
    "call": (lambda x: inner(x) + 1.0, [PAIR]),
    "captured tensor": (lambda x: tf.gather(KEPT, x), [np.array([1, 2])]),
    "slice": (lambda x: x[1:, ::2], [WIDE]),
    "concat": (lambda x, y: tf.concat([x, y, x], 0), [PAIR, PAIR]),
    "split": (lambda x: tf.split(x, 2, 1), [PAIR]),
    "top_k": (lambda x: tf.math.top_k(x, 2), [WIDE]),
    "unique": (lambda x: tf.unique(x), [np.array([1, 2, 1])]),
    "einsum": (lambda x, y: tf.einsum("ij,kj->ik", x, y), [PAIR, PAIR]),
    "strings": (lambda x: tf.strings.join([tf.strings.upper(x), "!"]), [np.array([b"a", b"b"])]),
    "argmax": (lambda x: tf.argmax(x, 1, output_type=tf.int32), [WIDE]),
    "where": (lambda x: tf.where(x > 0.5, x, -x), [WIDE]),
    "sums of two axes": (lambda x: tf.reduce_sum(x, 0)[0] + 10.0 * tf.reduce_sum(x, 1)[0], [WIDE]),
    "same twice": (lambda x: (x + 1.0, x + 1.0, x * 2.0, x * 2.0), [PAIR]),
    "identity": (lambda x: x, [PAIR]),
    "constant": (lambda: tf.constant([1, 2]), []),
    "reshape": (lambda x: tf.reshape(x, [-1, tf.shape(x)[0]]), [WIDE]),
    "pad": (lambda x: tf.pad(x, [[1, 1], [0, 2]], constant_values=7.0), [WIDE]),
    "scatter": (lambda x: tf.tensor_scatter_nd_update(x, [[0]], [[1.0, 1.0, 1.0, 1.0]]), [WIDE]),
    "resize": (lambda x: tf.image.resize(x, [4, 4]), [WIDE[None, :, :, None]]),
    "random": (lambda x: tf.random.stateless_uniform([4], [1, 2]) + x, [WIDE]),
    "gradient": (slope, [WIDE]),
}


def traced(name, known=True):
    function, values = FUNCTIONS[name]
    specs = []
    for i, value in enumerate(values):
        dtype = tf.constant(value).dtype
        shape = np.shape(value) if known else [None] * np.ndim(value)
        specs.append(tf.TensorSpec(shape, dtype, name=f"in{i}"))
    return tf.function(function).get_concrete_function(*specs), [tf.constant(value) for value in values]


def feeds_of(concrete, values):
    """What stands for the placeholders of a graph: the values, and the captured variables."""
    names = [node.name for node in concrete.graph.as_graph_def().node if node.op == "Placeholder"]
    captured = zip(names[len(values) :], concrete.captured_inputs, strict=True)
    return {
        **dict(zip(names, values, strict=False)),
        **{name: value for name, value in captured if isinstance(value, tf.Variable)},
    }


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_trace_writes_computes_the_same_when_it_is_read(name, known):
    concrete, values = traced(name, known)
    graph_def = concrete.graph.as_graph_def()
    outputs = [tensor.name for tensor in concrete.outputs]
    feeds = feeds_of(concrete, values)
    wanted = [each.numpy() for each in tf.nest.flatten(concrete(*values))]
    for elements in (
        outputs,
        [f"{node.name}:0" for node in graph_def.node[len(graph_def.node) - len(wanted) :]],
    ):
        found = tf.import_graph_def(graph_def, feeds, elements)
        for value, due in zip(found, wanted, strict=True):
            assert value.dtype.as_numpy_dtype == due.dtype
            if due.dtype == object:
                assert value.numpy().tolist() == due.tolist()
            else:
                np.testing.assert_allclose(value, due, rtol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_an_open_graph_writes_computes_the_same_when_it_is_read(name):
    function, values = FUNCTIONS[name]
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session() as session:
        inputs = [
            v1.placeholder(tf.as_dtype(np.asarray(v).dtype), np.shape(v), f"in{i}")
            for i, v in enumerate(values)
        ]
        outputs = tf.nest.flatten(function(*inputs))
        due = session.run(outputs, dict(zip(inputs, values, strict=True)))
        content = graph.as_graph_def().SerializeToString()
    nodes = {node.name: node.op for node in v1.GraphDef.FromString(content).node}
    assert {operation.name for operation in graph.get_operations()} <= set(nodes)
    feeds = {f"in{i}:0": value for i, value in enumerate(values)}
    feeds |= {each.name: each for each in (V, W) if nodes.get(each.name.removesuffix(":0")) == "VarHandleOp"}
    found = tf.import_graph_def(content, feeds, [tensor.name for tensor in outputs])
    for value, wanted in zip(found, due, strict=True):
        if wanted.dtype == object:
            assert value.numpy().tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(value, wanted, rtol=1e-5)


def test_bytes_are_read_in_a_traced_function_and_have_gradients():
    concrete, (x,) = traced("variable")
    content = concrete.graph.as_graph_def().SerializeToString()

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            (y,) = tf.import_graph_def(content, {"in0": x, "v": V}, ["Identity:0"])
        return y, tape.gradient(y, [x, V])

    y, (of_x, of_v) = run(x)
    np.testing.assert_allclose(y, concrete(x))
    np.testing.assert_allclose(of_x, np.tile(V.numpy(), (4, 1)))
    np.testing.assert_allclose(of_v, x.numpy().sum(0) + 8.0, rtol=1e-6)


def test_nodes_have_the_attributes_of_tensorflow():
    concrete, _ = traced("loss", known=False)
    nodes = {node.name: node for node in concrete.graph.as_graph_def().node}
    placeholder = nodes["in0"]
    assert placeholder.attr["dtype"].type == tf.float32.as_datatype_enum
    assert [dim.size for dim in placeholder.attr["shape"].shape.dim] == [-1, -1]
    product = tf.function(
        lambda x: tf.matmul(x, x, transpose_b=True), input_signature=[tf.TensorSpec([2, 3])]
    )
    (node,) = (
        n for n in product.get_concrete_function().graph.as_graph_def().node if n.op.endswith("MatMul")
    )
    assert node.attr["transpose_b"].b
    assert not node.attr["transpose_a"].b


def test_nodes_of_one_name_mean_the_same_in_the_trace_and_in_the_message():
    concrete, (x,) = traced("sums of two axes")
    graph = concrete.graph
    sums = [op for op in graph.get_operations() if op.type == "Sum"]
    assert len(sums) == 2
    found = tf.import_graph_def(graph.as_graph_def(), {"in0": x}, [op.outputs[0].name for op in sums])
    np.testing.assert_allclose(found[0], x.numpy().sum(0), rtol=1e-6)
    np.testing.assert_allclose(found[1], x.numpy().sum(1), rtol=1e-6)


def test_a_graph_that_no_other_program_can_run_says_why():
    host = tf.function(lambda x: tf.numpy_function(np.sin, [x], tf.float32))
    graph_def = host.get_concrete_function(tf.TensorSpec([])).graph.as_graph_def()
    assert graph_def.node[0].op == "Placeholder"
    with pytest.raises(tf.errors.FailedPreconditionError, match="host function 'sin'"):
        graph_def.SerializeToString()
    takes = tf.function(lambda v: v + 1.0).get_concrete_function(V)
    with pytest.raises(tf.errors.UnimplementedError, match="takes variables as arguments"):
        takes.graph.as_graph_def().SerializeToString()


def test_a_call_of_python_stands_in_an_open_graph_that_is_written():
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        low, high = tf.numpy_function(
            lambda x: (x - 1, x + 1), [x * 2.0], (tf.float32, tf.float32), name="both"
        )
        tf.multiply(tf.ensure_shape(high, [2]), tf.ensure_shape(low, [2]), name="y")
        assert session.run("y:0", {x: [1.0, 2.0]}).tolist() == [3, 15]
    nodes = {node.name: node for node in graph.as_graph_def()._message().node}
    (call,) = (node for node in nodes.values() if node.op == "EagerPyFunc")
    assert nodes[call.input[0]].op == "Mul"
    assert [len(call.attr[key].list.type) for key in ("Tin", "Tout")] == [1, 2]
    taken = {text for node in nodes.values() for text in node.input}
    assert {call.name, f"{call.name}:1"} <= taken
    message = graph.as_graph_def()
    given = {call.name: [1.0, 2.0], f"{call.name}:1": [3.0, 4.0]}
    assert tf.import_graph_def(message, given, ["y:0"])[0].numpy().tolist() == [3, 8]
    with tf.Graph().as_default() as graph:
        tf.cond(tf.constant(True), lambda: tf.numpy_function(np.sin, [1.0], tf.float32), lambda: 1.0)
    assert "EagerPyFunc" not in [node.op for node in graph.as_graph_def().node]
    with pytest.raises(tf.errors.FailedPreconditionError, match="host function 'sin'"):
        graph.as_graph_def().SerializeToString()


def test_the_text_form_has_attributes_and_tensors(tmp_path):
    concrete, _ = traced("layer")
    lines = Path(tf.io.write_graph(concrete.graph, tmp_path, "graph.pbtxt")).read_text().splitlines()
    assert "      tensor_shape {" in [line[2:] for line in lines]
    assert lines.count("node {") == len(concrete.graph.as_graph_def()._message().node)
    assert lines[-3:] == ["versions {", "  producer: 1882", "}"]
