"""Graphs of TensorFlow as operations of the program, beside what TensorFlow computed by them."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
RECORDED = json.loads((Path(__file__).parent / "models" / "graphs.json").read_text())
GRAPHS = {name: base64.b64decode(entry["graph"]) for name, entry in RECORDED.items()}
NAMES = [name for name, entry in RECORDED.items() if "fetches" in entry]


def framed(number, content):
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def node(name, op, *inputs):
    """A node without attributes, in a graph."""
    parts = [framed(1, name.encode()), framed(2, op.encode()), *(framed(3, i.encode()) for i in inputs)]
    return framed(1, b"".join(parts))


def arrays(entries):
    return {
        key: np.array(value, object if dtype in ("string", "object") else dtype)
        for key, (dtype, value) in entries.items()
    }


def check(found, name):
    for value, (key, expected) in zip(found, arrays(RECORDED[name]["fetches"]).items(), strict=True):
        value = np.asarray(value)
        assert value.dtype == expected.dtype, key
        np.testing.assert_allclose(value.reshape(expected.shape), expected, rtol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_graphs_compute_in_sessions_what_they_did(name):
    with tf.Graph().as_default() as graph:
        assert tf.import_graph_def(GRAPHS[name], name="") is None
        with v1.Session() as session:
            feeds = {graph.get_tensor_by_name(k): v for k, v in arrays(RECORDED[name]["feeds"]).items()}
            fetches = [graph.get_tensor_by_name(key) for key in RECORDED[name]["fetches"]]
            check(session.run(fetches, feeds), name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("traced", [False, True])
def test_graphs_compute_in_functions_and_outside_what_they_did(name, traced):
    feeds = arrays(RECORDED[name]["feeds"])
    fetches = list(RECORDED[name]["fetches"])

    def compute(*values):
        return tf.graph_util.import_graph_def(GRAPHS[name], dict(zip(feeds, values, strict=True)), fetches)

    run = tf.function(compute) if traced else compute
    check([value.numpy() for value in run(*map(tf.constant, feeds.values()))], name)


def test_functions_have_gradients():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = tf.import_graph_def(GRAPHS["functions"], {"x": x, "n": 4}, ["Identity:0", "Identity_1:0"])
        total = tf.reduce_sum(y) + tf.reduce_sum(z)
    assert tape.gradient(total, x).numpy().tolist() == [-0.5, -0.5, -0.5]


def test_operations_have_the_names_of_the_graph_behind_a_prefix():
    with tf.Graph().as_default() as graph:
        logits, best = v1.import_graph_def(GRAPHS["network"], return_elements=["logits:0", "best"])
        assert logits is graph.get_tensor_by_name("import/logits:0")
        assert (best.name, best.type, len(best.outputs)) == ("import/best", "TopKV2", 2)
        assert best.outputs[1] is graph.get_tensor_by_name("import/best:1")
        found = graph.get_operation_by_name("import/best")
        assert (found.type, [t.name for t in found.inputs]) == ("TopKV2", [logits.name, "import/best/k:0"])
        assert graph.get_tensor_by_name("import/in/x:0").shape.as_list() == [None, 6, 6, 2]
        (again,) = tf.import_graph_def(GRAPHS["network"], return_elements=["logits:0"])
        assert again is graph.get_tensor_by_name("import_1/logits:0")
        tf.import_graph_def(GRAPHS["network"], name="mine")
        assert graph.get_operation_by_name("mine/in/x").type == "Placeholder"
    with pytest.raises(KeyError):
        graph.get_tensor_by_name("import/best:2")


def test_operations_of_functions_are_returned_too():
    (op,) = tf.import_graph_def(GRAPHS["frozen"], {"x": tf.ones([1, 3])}, ["Identity"], name="f")
    assert (op.name, op.type, op.outputs[0].shape) == ("f/Identity", "Identity", [1, 2])


def test_tensors_within_a_graph_can_be_replaced():
    value = tf.constant([[3.0, 1.0, 2.0]])
    best, places = tf.import_graph_def(GRAPHS["network"], {"logits:0": value}, ["best:0", "best:1"])
    assert (best.numpy().tolist(), places.numpy().tolist()) == ([[3.0, 2.0]], [[0, 2]])


def test_messages_are_taken_as_their_objects():
    class GraphDef:
        def SerializeToString(self):
            return node("y", "Neg", "x")

    (y,) = tf.import_graph_def(GraphDef(), {"x": tf.constant(2.0)}, ["y:0"])
    assert y.numpy() == -2.0
    with pytest.raises(TypeError, match="'graph_def' must be a GraphDef message or its bytes, got int"):
        tf.import_graph_def(3)
    with pytest.raises(tf.errors.DataLossError, match="'graph_def' has bytes that are no GraphDef"):
        tf.import_graph_def(b"\x0a\x05a")


@pytest.mark.parametrize(
    ("graph", "settings", "error", "message"),
    [
        (node("y", "Neg", "x"), {"input_map": {"z": 1.0}}, ValueError, "'input_map' has 'z:0'"),
        (node("y", "Neg", "x"), {"return_elements": ["z:0"]}, ValueError, "'return_elements' has 'z:0'"),
        (node("y", "Neg", "x"), {"return_elements": ["y:0"]}, ValueError, "has no node 'x'"),
        (
            node("y", "NoSuchOp"),
            {"return_elements": ["y"]},
            NotImplementedError,
            "'y' of the operator NoSuchOp",
        ),
        (node("y", "Neg", "y"), {"return_elements": ["y:0"]}, NotImplementedError, "node 'y' in a circle"),
        (node("y", "Neg") * 2, {}, ValueError, "several nodes of one name"),
        (
            node("x", "Placeholder") + node("y", "Neg", "x"),
            {"return_elements": ["y:0"]},
            ValueError,
            "'input_map' must have a value for the placeholder 'x'",
        ),
        (node("x", "Placeholder"), {"return_elements": ["x:0"]}, ValueError, "the placeholder 'x'"),
        (
            node("y", "Neg", "x"),
            {"input_map": {"x": 1.0}, "return_elements": ["y:1"]},
            ValueError,
            "no tensor 'y:1'",
        ),
        (node("y", "Neg"), {"return_elements": ["y:0"]}, ValueError, "node 'y' has 0 inputs"),
        (node("y", "Cast", "x"), {"input_map": {"x": 1.0}, "return_elements": ["y:0"]}, TypeError, "DstT"),
        (
            node("y", "AddN", "x"),
            {"input_map": {"x": 1.0}, "return_elements": ["y:0"]},
            ValueError,
            "attribute 'N'",
        ),
    ],
)
def test_graphs_that_cannot_be_imported_say_why(graph, settings, error, message):
    with pytest.raises(error, match=message):
        tf.import_graph_def(graph, **settings)


def test_loops_of_tensorflow_1_are_refused_by_name():
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnimplementedError, match=r"'while/\w+'"):
        tf.import_graph_def(GRAPHS["circle"])


def test_long_chains_need_no_stack():
    length = 3000
    chain = b"".join(node(f"n{i}", "Neg", f"n{i - 1}") for i in range(length, 0, -1))
    (y,) = tf.import_graph_def(chain, {"n0": tf.constant(1.0)}, [f"n{length}:0"])
    assert y.numpy() == 1.0
