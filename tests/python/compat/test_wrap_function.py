"""Functions of TensorFlow 1, traced once with the variables that they make."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def layer(x):
    with v1.variable_scope("layer"):
        w = v1.get_variable("w", [2, 3], initializer=v1.ones_initializer())
    b = tf.Variable([1.0, 2.0, 3.0], name="b")
    return tf.add(tf.matmul(x, w, name="product"), b, name="sum")


def test_variables_are_made_once_and_are_those_of_the_function_alone():
    one = v1.wrap_function(layer, [tf.TensorSpec([None, 2])])
    two = v1.wrap_function(layer, [tf.TensorSpec([None, 2])])
    assert [v.name for v in one.variables] == ["layer/w:0", "b:0"]
    one.variables[0].assign(tf.zeros([2, 3]))
    assert one(tf.ones([1, 2])).numpy().tolist() == [[1.0, 2.0, 3.0]]
    assert two(tf.ones([1, 2])).numpy().tolist() == [[3.0, 4.0, 5.0]]


def test_wrapped_functions_have_gradients_and_are_called_in_functions():
    wrapped = v1.wrap_function(layer, [tf.TensorSpec([None, 2])])

    @tf.function
    def slopes(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(wrapped(x))
        return tape.gradient(y, wrapped.variables)

    of_w, of_b = slopes(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert of_w.numpy().tolist() == [[4.0] * 3, [6.0] * 3]
    assert of_b.numpy().tolist() == [2.0] * 3


def test_a_part_of_a_wrapped_function_shares_its_variables():
    wrapped = v1.wrap_function(layer, [tf.TensorSpec([None, 2], name="x")], name="mine")
    graph = wrapped.graph
    part = wrapped.prune(
        graph.get_tensor_by_name("product:0"),
        {"sum": "sum:0", "op": graph.get_operation_by_name("sum")},
        input_signature=[tf.TensorSpec([None, 3])],
    )
    found = part(tf.zeros([1, 3]))
    assert found["sum"].numpy().tolist() == found["op"].numpy().tolist() == [[1.0, 2.0, 3.0]]
    (bias,) = part.variables
    bias.assign([0.0, 0.0, 0.0])
    assert wrapped(tf.ones([1, 2])).numpy().tolist() == [[2.0, 2.0, 2.0]]
    first = wrapped.prune("x:0", "product:0")
    np.testing.assert_array_equal(first(tf.ones([1, 2])), [[2.0, 2.0, 2.0]])


def test_nests_of_arguments_are_wrapped():
    wrapped = v1.wrap_function(
        lambda pair, by: {"y": pair["a"] * by, "z": [pair["b"]]},
        [{"a": tf.TensorSpec([]), "b": tf.TensorSpec([], tf.int32)}, tf.TensorSpec([])],
    )
    found = wrapped({"a": tf.constant(2.0), "b": tf.constant(1)}, tf.constant(3.0))
    assert (float(found["y"]), int(found["z"][0])) == (6.0, 1)


def test_what_cannot_be_wrapped_or_pruned_says_why():
    with pytest.raises(TypeError, match="argument 'fn' must be a function"):
        v1.wrap_function(3, [])
    wrapped = v1.wrap_function(layer, [tf.TensorSpec([None, 2])])
    with pytest.raises(KeyError, match="none:0"):
        wrapped.prune("none:0", "sum:0")
    with pytest.raises(ValueError, match="none:0"):
        wrapped.prune("x:0", "none:0")


def frozen_graph():
    with tf.Graph().as_default() as graph, v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[1.0], [2.0]])
        tf.identity(tf.nn.relu(x @ w), name="out")
        sess.run(v1.global_variables_initializer())
        return v1.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["out"])


# TensorFlow's guide to migration has this function.
def test_a_frozen_graph_is_wrapped_by_a_function_that_imports_it():
    message = frozen_graph()

    def wrap_frozen_graph(inputs, outputs):
        wrapped = v1.wrap_function(lambda: v1.import_graph_def(message, name=""), [])
        element = wrapped.graph.as_graph_element
        return wrapped.prune(tf.nest.map_structure(element, inputs), tf.nest.map_structure(element, outputs))

    assert wrap_frozen_graph("x:0", "out:0")(tf.ones([1, 2])).numpy().tolist() == [[3.0]]
    several = wrap_frozen_graph(["x:0"], {"out": "out:0", "op": "out"})(tf.ones([1, 2]))
    assert several["out"].numpy().tolist() == several["op"].numpy().tolist() == [[3.0]]
    wrapped = v1.wrap_function(lambda: v1.import_graph_def(message, name=""), [])
    assert wrapped() is None
    assert wrapped.prune("x:0", "out:0", name="f")(tf.zeros([2, 2])).numpy().tolist() == [[0.0], [0.0]]
    with pytest.raises(KeyError, match="y:0"):
        wrapped.prune("y:0", "out:0")


def test_a_graph_with_variables_is_wrapped_by_a_function_that_imports_it(tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[1.0], [2.0]])
        b = v1.get_variable("b", initializer=[0.5], trainable=False)
        tf.add(x @ w, b, name="y")
        sess.run(v1.global_variables_initializer())
        sess.run(w.assign([[3.0], [4.0]]))
        v1.train.Saver().save(sess, path)
    savers = []

    def imported():
        savers.append(v1.train.import_meta_graph(f"{path}.meta"))

    wrapped = v1.wrap_function(imported, [])
    assert len(savers) == 1
    assert [v.name for v in wrapped.variables] == ["w:0", "b:0"]
    assert [v.name for v in wrapped.trainable_variables] == ["w:0"]
    kinds = {node.name: node.op for node in wrapped.graph.as_graph_def().node}
    assert (kinds["x"], kinds["w"], kinds["b"]) == ("Placeholder", "VarHandleOp", "VarHandleOp")
    assert kinds["init"] == "NoOp"
    part = wrapped.prune("x:0", {"y": "y:0"})
    # Variables have their first values at once, until a checkpoint is read.
    assert part(tf.ones([1, 2]))["y"].numpy().tolist() == [[3.5]]
    savers[0].restore(None, path)
    assert part(x=tf.ones([1, 2]))["y"].numpy().tolist() == [[7.5]]
    with tf.GradientTape() as tape:
        y = part(tf.ones([1, 2]))["y"]
    assert tape.gradient(y, wrapped.variables[0]).numpy().tolist() == [[1.0], [1.0]]
    wrapped.prune([], [v.initializer for v in wrapped.variables])()
    assert [v.numpy().tolist() for v in wrapped.variables] == [[[1.0], [2.0]], [0.5]]
    # Names mean what they mean in the file, whatever other operations there are.
    assert wrapped.prune([], "w:0")().numpy().tolist() == [[1.0], [2.0]]
    module = tf.Module()
    module.variables_of_graph = wrapped.variables
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=wrapped.prune({"x": "x:0"}, {"y": "y:0"}))
    loaded = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    assert loaded(x=tf.ones([1, 2]))["y"].numpy().tolist() == [[3.5]]


def test_imported_operations_without_results_are_written_by_their_names():
    with tf.Graph().as_default():
        v1.get_variable("w", initializer=[1.0])
        v1.global_variables_initializer()
        message = v1.train.export_meta_graph()
    with tf.Graph().as_default() as graph, v1.Session() as sess:
        v1.train.import_meta_graph(message)
        again = v1.train.export_meta_graph()
        assert {"w", "w/Assign", "init"} <= {node.name for node in graph.as_graph_def().node}
        sess.run("init")
        assert sess.run("w:0").tolist() == [1.0]
    with tf.Graph().as_default(), v1.Session() as sess:
        v1.train.import_meta_graph(again)
        sess.run("init")
        assert sess.run("w:0").tolist() == [1.0]


def test_a_function_of_nothing_may_make_variables_and_give_results():
    def made():
        return v1.get_variable("w", initializer=[1.0]) * 2.0

    wrapped = v1.wrap_function(made, [])
    assert wrapped().numpy().tolist() == [2.0]
    assert [v.name for v in wrapped.variables] == ["w:0"]
