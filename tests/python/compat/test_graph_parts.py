"""What graphs of TensorFlow 1 say of their operations, collections and scopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def small() -> tuple[Any, Any, Any]:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.identity(tf.matmul(x, [[1.0], [2.0]]), name="y")
    return graph, x, y


def test_operations_are_listed_and_found() -> None:
    graph, x, y = small()
    kinds = [op.type for op in graph.get_operations()]
    assert (kinds[0], kinds[-1]) == ("Placeholder", "Identity")
    assert graph.operations[0].outputs[0].name == "x:0" == x.name
    assert graph.num_operations() == len(kinds) == graph.version
    found = graph.get_operation_by_name("y")
    assert (found.name, found.graph is graph, found.device) == ("y", True, "")
    assert found.inputs[0].shape.as_list() == [None, 1]
    assert found.values()[0].name == y.name
    assert found.get_attr("T") == tf.float32
    assert found.op_def.name == "Identity"
    assert [op.name for op in graph.new_operations(len(kinds) - 1)] == ["y"]
    with pytest.raises(KeyError):
        graph.get_operation_by_name("nothing")
    with pytest.raises(ValueError, match="name"):
        found.get_attr("padding")


def test_tensors_by_name_are_fed_and_fetched() -> None:
    graph, _, _ = small()
    with v1.Session(graph=graph) as session:
        x = graph.get_tensor_by_name("x:0")
        due = [[5.0]]
        assert session.run("y:0", {x: [[1.0, 2.0]]}).tolist() == due
        assert session.run(graph.get_operation_by_name("y").outputs[0], {"x:0": [[1.0, 2.0]]}).tolist() == due
        assert session.run(graph.get_operation_by_name("y"), {x: [[1.0, 2.0]]}) is None
    with pytest.raises(KeyError):
        graph.get_tensor_by_name("y:1")


def test_elements_of_a_graph() -> None:
    graph, x, y = small()
    assert graph.as_graph_element(x) is x
    assert graph.as_graph_element("y:0").name == y.name
    assert graph.as_graph_element("y").type == "Identity"
    for wrong in (3, tf.constant(1.0)):
        with pytest.raises(TypeError, match="obj"):
            graph.as_graph_element(wrong)
    with pytest.raises(ValueError, match="'obj' must be a tensor, got the operation 'y'"):
        graph.as_graph_element("y", allow_operation=False)
    with pytest.raises(ValueError, match="'obj' must be an operation, got the tensor 'y:0'"):
        graph.as_graph_element("y:0", allow_tensor=False)
    with pytest.raises(ValueError, match="'allow_tensor' and 'allow_operation'"):
        graph.as_graph_element("y:0", allow_tensor=False, allow_operation=False)
    with pytest.raises(ValueError, match="'obj' must be the name of a tensor"):
        graph.as_graph_element("y:one")
    with pytest.raises(ValueError, match="'obj' is not an element of this graph"):
        tf.Graph().as_graph_element(x)
    for name in ("none", "none:0", "y:5"):
        with pytest.raises(KeyError):
            graph.as_graph_element(name)


def test_an_operation_is_shown_as_the_node_that_it_is_written_as() -> None:
    graph, _, _ = small()
    text = str(graph.get_operation_by_name("x"))
    assert text.startswith('name: "x"\nop: "Placeholder"\n')
    with graph.as_default():
        assert repr(graph.group(name="all")) == "<tf.Operation 'all'>"


def test_constants_of_a_graph_have_names_in_their_scopes() -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        first, second = tf.constant(1), tf.constant("a")
        with tf.name_scope("within"):
            third = tf.constant([2.0])
        assert [x.name for x in (first, second, third)] == ["Const:0", "Const_1:0", "within/Const:0"]
        assert session.run("Const_1:0") == b"a"
        assert tf.get_static_value(second) == b"a"
        assert graph.get_tensor_by_name("within/Const:0").shape == [1]


def test_elements_of_the_graph_of_a_traced_function() -> None:
    double = tf.function(lambda x: x + x)
    concrete = double.get_concrete_function(tf.TensorSpec([], tf.float32, name="x"))
    graph = concrete.graph
    assert graph.as_graph_element("x").type == "Placeholder"
    assert graph.as_graph_element("x:0").dtype == tf.float32
    tensor = concrete.inputs[0]
    assert graph.as_graph_element(tensor) is tensor
    operation = graph.get_operations()[1]
    assert graph.as_graph_element(operation) is operation
    with pytest.raises(
        TypeError, match="'obj' must be a tensor or operation of the graph, or its name, got 3"
    ):
        graph.as_graph_element(3)
    with pytest.raises(KeyError):
        graph.as_graph_element("none:0")
    other = double.get_concrete_function(tf.TensorSpec([2], tf.float32, name="x"))
    with pytest.raises(ValueError, match="'obj' is not an element of this graph"):
        graph.as_graph_element(other.inputs[0])


def test_operations_are_made_by_the_names_of_operators() -> None:
    graph, x, _ = small()
    with graph.as_default():
        made = graph.create_op("Square", [x], name="s")
        again = tf.Operation.from_node_def(v1.NodeDef("t", "Neg", ["s"]), graph)
        total = graph.create_op("reduce_sum", [again.outputs[0]], attrs={"axes": [0]})
    assert (made.name, made.type) == ("s", "Square")
    with v1.Session(graph=graph) as session:
        assert np.allclose(session.run(total.outputs[0], {x: [[1.0, 2.0], [3.0, 4.0]]}), [-10, -20])
    assert graph.op_def_for_type("Square").input_arg == ["x"]
    with pytest.raises(ValueError, match="Nothing"):
        graph.create_op("Nothing", [])


def test_effects_run_where_their_operations_do() -> None:
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0)
        first = v.assign_add(1.0)
        with graph.control_dependencies([first]):
            second = tf.group(v.assign(v * 10.0), name="second")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(second)
            assert float(session.run(v)) == 20.0
    assert second.control_inputs
    assert (second.type, second.colocation_groups()) == ("NoOp", [b"loc:@second"])


def test_graphs_as_nodes() -> None:
    graph, _, _ = small()
    nodes = graph.as_graph_def().node
    assert (nodes[0].op, nodes[-1].name, nodes[-1].op) == ("Placeholder", "y", "Identity")
    assert len(graph.as_graph_def(from_version=1).node) == len(nodes) - 1
    tf.test.assert_equal_graph_def(graph.as_graph_def(), small()[0].as_graph_def())
    with pytest.raises(AssertionError, match="node"):
        tf.test.assert_equal_graph_def(graph.as_graph_def(), tf.Graph().as_graph_def())
    assert graph.graph_def_versions.producer == 1


def test_collections_and_scopes() -> None:
    graph = tf.Graph()
    graph.add_to_collections(("a", "b", "a"), 1)
    graph.get_collection_ref("c")
    assert graph.collections == ["a", "b", "c"]
    assert graph.get_all_collection_keys() == ["a", "b"]
    graph.clear_collection("a")
    assert graph.get_collection("a") == []
    with graph.as_default(), graph.name_scope("outer"), graph.device("/CPU:0"), graph.container("c"):
        x = tf.constant(1.0)
        with graph.colocate_with(x):
            y = tf.negative(x, name="y")
        assert graph.get_name_scope() == "outer"
    assert y.name == "outer/y:0"
    with pytest.raises(ValueError, match="op"), graph.colocate_with(None):
        pass


def test_what_may_be_fed_and_fetched() -> None:
    graph, x, y = small()
    graph.prevent_feeding(x)
    assert (graph.is_feedable(x), graph.is_feedable(y)) == (False, True)
    operation = graph.get_operation_by_name("y")
    graph.prevent_fetching(operation)
    assert not graph.is_fetchable(operation)
    assert graph.is_fetchable(x)
    assert (graph.finalized, graph.building_function, graph.get() is graph) == (False, False, True)
    graph.finalize()
    graph.switch_to_thread_local()
    assert graph.finalized
    graph.seed = 3
    assert graph.seed == 3
    graph.Dismantle()


def test_tensors_of_a_graph_are_equal_to_themselves_alone():
    graph = tf.Graph()
    with graph.as_default():
        a, b = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0])
        for other, same in [(a, True), (b, False), (1.0, False), (None, False), ("a", False)]:
            assert (a == other) is same
            assert (a != other) is not same
        assert [b, a].index(a) == 1
        assert a not in [b, 1.0]
        assert {a: 1, b: 2}[b] == 2
    # Outside of the graph, and from the right, too.
    for other in (tf.constant([1.0, 2.0]), [1.0, 2.0]):
        assert (other == a) is False
        assert (other != a) is True
    assert (a == a) is True
