"""What is taken from around a function has the name that the program has for it."""

import pytest

import penstock as tf
from penstock._function.captured_names import captured_names

TABLE = tf.constant([1.0, 2.0])
WEIGHTS = tf.Variable([3.0, 4.0])


def lookup(x):
    return x + TABLE


class Layer:
    def __init__(self):
        self._bias = tf.constant([5.0, 6.0])
        self.scale = tf.Variable([1.0, 1.0], name="scale")

    @tf.function
    def __call__(self, x):
        return x * self.scale + self._bias


def inputs(concrete):
    return [op.name for op in concrete.graph.get_operations() if op.type == "Placeholder"]


def test_names_are_those_of_globals_of_enclosing_functions_and_of_attributes():
    inner = tf.constant([0.0, 0.0])

    def f(x):
        return lookup(x) * WEIGHTS + next(inner for _ in range(1))

    names = {name: value for value, name in captured_names(f, None)}
    assert names["TABLE"] is TABLE
    assert names["WEIGHTS"] is WEIGHTS
    assert names["inner"] is inner
    layer = Layer()
    assert {name for _, name in captured_names(lambda: 0, layer)} == {"bias", "scale"}


def test_methods_and_functions_that_are_called_are_looked_into():
    class Holder:
        def method(self):
            return TABLE

    method, traced = Holder().method, tf.function(lambda: WEIGHTS)

    def f():
        return method(), traced()

    assert [name for _, name in captured_names(f, None)] == ["TABLE", "WEIGHTS"]


def test_elements_of_containers_have_their_key_in_the_name():
    nested = {"layers": [tf.constant(1.0), tf.constant(2.0)], "rate": tf.Variable(0.1)}
    nested["itself"] = nested

    def f():
        return nested["layers"][0] * nested["rate"]

    names = [name for _, name in captured_names(f, None)]
    assert names == ["nested_layers_0", "nested_layers_1", "nested_rate"]


def test_a_value_with_two_names_has_the_first():
    first = second = tf.constant([7.0, 8.0])

    def f():
        return first, second

    assert [(value is first, name) for value, name in captured_names(f, None)] == [(True, "first")]


def test_objects_are_not_asked_for_anything():
    class Stubborn:
        def __getattribute__(self, name):
            raise SystemError(name)

        def __call__(self):
            return TABLE

    stubborn = Stubborn()

    def f():
        return stubborn(), TABLE

    assert [name for _, name in captured_names(f, stubborn)] == ["TABLE"]


def test_functions_that_call_each_other_are_looked_into_once():
    def f():
        return g(), TABLE

    def g():
        return f()

    assert [name for _, name in captured_names(f, None)] == ["TABLE"]


@pytest.mark.parametrize("traced", [tf.function(lambda x: lookup(x) * WEIGHTS)])
def test_inputs_of_a_graph_have_the_names(traced):
    concrete = traced.get_concrete_function(tf.TensorSpec([2], name="x"))
    assert inputs(concrete) == ["x", "TABLE", "WEIGHTS"]
    assert '%1 "TABLE": f32[2]' in concrete.graph.to_text()


def test_a_variable_has_the_name_that_it_was_given_and_an_attribute_that_of_its_object():
    layer = Layer()
    concrete = layer.__call__.get_concrete_function(tf.TensorSpec([2], name="x"))
    assert inputs(concrete) == ["x", "scale", "bias"]


def test_a_name_that_an_argument_has_gets_a_number_in_the_graph():
    x = tf.constant([1.0, 2.0])

    def g():
        return x

    f = tf.function(lambda x: x + g())
    assert inputs(f.get_concrete_function(tf.TensorSpec([2], name="x"))) == ["x", "x_1"]


def test_gradients_are_in_the_scope_of_what_they_are_the_gradient_of():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.name_scope("loss"):
                y = tf.tanh(x)
            z = tf.exp(y)
        return tape.gradient(z, x) + 1.0

    graph = slope.get_concrete_function(tf.TensorSpec([2], name="x")).graph
    names = {op.name for op in graph.get_operations() if op.type not in ("Const", "Placeholder", "Identity")}
    own = {"loss/Tanh", "Exp", "add"}
    assert own <= names
    assert any(name.startswith("gradient_tape/loss/") for name in names)
    assert all(name.startswith("gradient_tape/") for name in names - own)


def test_gradients_of_loops_are_in_a_scope_too():
    @tf.function
    def slope(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(n):
                y = tf.tanh(y) * x
        return tape.gradient(y, x)

    graph = slope.get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([], tf.int32)).graph
    loops = [node.name for node in graph.as_graph_def().node if node.op == "While"]
    assert len(loops) == 2
    assert sum(name.startswith("gradient_tape/") for name in loops) == 1


def test_what_a_loop_of_a_scope_does_is_in_the_scope():
    @tf.function
    def f(x, n):
        with tf.name_scope("repeat"):
            for _ in tf.range(n):
                x = tf.tanh(x) * 3.5
        return x

    graph = f.get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([], tf.int32)).graph
    names = {node.name for node in graph.as_graph_def().node}
    assert {"repeat/While", "repeat/Tanh", "repeat/mul", "repeat/Const"} <= names
