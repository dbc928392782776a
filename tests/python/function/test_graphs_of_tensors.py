"""What symbolic tensors say of their graphs."""

import pytest

import penstock as tf

v1 = tf.compat.v1


def test_a_tensor_of_an_open_graph_has_its_operation():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4], name="x")
        parts = tf.split(x, 2, name="parts")
        y = tf.add(parts[0], parts[1], name="y")
    assert x.graph is graph
    assert (y.op.name, y.op.type) == ("y", "AddV2")
    assert [operand.op.name for operand in y.op.inputs] == ["parts", "parts"]
    assert [part.value_index for part in parts] == [0, 1]
    assert [op.name for op in x.consumers()] == ["parts"]
    assert x.op.type == "Placeholder"
    # The operation's tensors are those of the program: gradients find them.
    with graph.as_default():
        (slope,) = v1.gradients(y * y, y.op.inputs[0])
        with v1.Session() as session:
            assert session.run(slope, {x: [1.0, 2.0, 3.0, 4.0]}).tolist() == [8.0, 12.0]
            assert y.eval({x: [1.0, 2.0, 3.0, 4.0]}).tolist() == [4.0, 6.0]
            assert y.eval({x: [0.0] * 4}, session).tolist() == [0.0, 0.0]


def test_a_variable_of_an_open_graph_has_its_operation():
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("layer/v", [2])
    assert v.graph is graph
    assert (v.op.name, v.op.type) == ("layer/v", "VarHandleOp")
    assert not hasattr(tf.Variable(1.0), "op")
    assert not hasattr(tf.Variable(1.0), "graph")


def test_tensors_of_one_function_have_one_graph():
    graphs = []

    @tf.function
    def f(x):
        def inner(x):
            graphs.append((x.graph, (x + 1.0).graph, (x + 2.0).graph))
            return x + 1.0

        graphs.append((x.graph, (x + 1.0).graph))
        return tf.cond(x > 0.0, lambda: inner(x), lambda: x)

    f(tf.constant(1.0))
    (outer, same), (seen, within, again) = graphs
    assert outer is same is seen
    assert outer.building_function
    # A branch is a graph of its own, as in TensorFlow.
    assert within is again
    assert within is not outer
    graphs.clear()
    f(tf.constant([1.0])[0] + tf.constant(0.0))
    f.get_concrete_function(tf.TensorSpec([], tf.float32))
    g = tf.function(lambda x: graphs.append((x.graph,)))
    g(tf.constant(1.0))
    assert graphs[-1][0] is not outer


def test_a_tensor_of_a_function_has_its_operation():
    @tf.function
    def f(x, y):
        z = tf.matmul(x, y)
        assert (z.op.type, z.value_index) == ("MatMul", 0)
        assert [operand.op.type for operand in z.op.inputs] == ["Placeholder", "Placeholder"]
        with pytest.raises(tf.errors.UnimplementedError, match="get_operations"):
            z.consumers()
        return z

    concrete = f.get_concrete_function(tf.TensorSpec([2, 2]), tf.TensorSpec([2, 2]))
    assert concrete.outputs[0].op.type == "MatMul"
    assert concrete.outputs[0].op.inputs[0].name == "x:0"


def test_a_tensor_at_hand_has_no_graph():
    x = tf.constant(1.0)
    for name in ("graph", "op", "value_index"):
        assert not hasattr(x, name)
    with pytest.raises(AttributeError, match="undefined when eager execution is enabled"):
        x.consumers()
    with pytest.raises(NotImplementedError, match="numpy"):
        x.eval()


def test_adding_a_function_to_a_graph_changes_nothing():
    concrete = tf.function(lambda x: 2.0 * x).get_concrete_function(tf.TensorSpec([]))
    concrete.add_to_graph()
    concrete.add_gradient_functions_to_graph()
    assert float(concrete(tf.constant(2.0))) == 4.0
