"""Composite values of other libraries' classes as arguments and results of traced functions."""

import pytest

import penstock as tf
from penstock._types.specs import Composite


class Pair(Composite):
    """Two values, each a tensor, a variable or a pair, and a label."""

    def __init__(self, first, second, label="pair"):
        self.first, self.second, self.label = first, second, label

    @property
    def _type_spec(self):
        return PairSpec(*(spec_of(value) for value in (self.first, self.second)), self.label)


def spec_of(value):
    if isinstance(value, Pair):
        return value._type_spec
    if isinstance(value, tf.Variable):
        from penstock._types.specs import VariableSpec

        return VariableSpec.from_value(value)
    return tf.TensorSpec.from_tensor(tf.convert_to_tensor(value))


class PairSpec(tf.TypeSpec):
    value_type = Pair

    def __init__(self, first, second, label):
        self._component_specs = (first, second)
        self.label = label

    def _to_components(self, value):
        return value.first, value.second

    def _from_components(self, components):
        return Pair(*components, self.label)

    def is_compatible_with(self, other):
        return self == (other._type_spec if isinstance(other, Pair) else other)

    def _serialize(self):
        return self._component_specs, self.label


class Label(Composite):
    """A value without a tensor."""

    def __init__(self, text):
        self.text = text

    @property
    def _type_spec(self):
        return LabelSpec(self.text)


class LabelSpec(tf.TypeSpec):
    value_type = Label

    def __init__(self, text):
        self.text = text

    def _from_components(self, components):
        return Label(self.text)

    def _to_components(self, value):
        return ()

    def is_compatible_with(self, other):
        return self == (other._type_spec if isinstance(other, Label) else other)


def test_one_trace_serves_values_of_one_specification():
    @tf.function
    def swapped(pair):
        return Pair(pair.second, pair.first + 1.0, pair.label)

    for x, y in ((1.0, 2.0), (3.0, 4.0)):
        found = swapped(Pair(tf.constant(x), tf.constant(y), "sizes"))
        assert (type(found), float(found.first), float(found.second), found.label) == (
            Pair,
            y,
            x + 1,
            "sizes",
        )
    assert swapped.experimental_get_tracing_count() == 1
    swapped(Pair(tf.constant(1.0), tf.constant(2.0), "other"))
    assert swapped.experimental_get_tracing_count() == 2


def test_gradients_go_through_a_composite_argument():
    @tf.function
    def product(pair):
        return pair.first * pair.second

    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = product(Pair(x, y))
    assert [float(g) for g in tape.gradient(z, [x, y])] == [4.0, 3.0]


def test_a_variable_within_a_value_is_that_variable():
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    @tf.function
    def grown(pair):
        pair.first.first.assign_add(pair.second)
        return pair

    found = grown(Pair(Pair(v, tf.constant(5.0)), tf.constant(2.0)))
    assert float(v) == 3.0
    assert found.first.first is v
    assert float(found.first.second) == 5.0
    grown(Pair(Pair(v, tf.constant(5.0)), tf.constant(3.0)))
    assert float(v) == 6.0
    assert grown.experimental_get_tracing_count() == 1
    # Another variable has a trace of its own.
    grown(Pair(Pair(w, tf.constant(5.0)), tf.constant(2.0)))
    assert (float(v), float(w)) == (6.0, 12.0)


def test_a_variable_within_a_value_has_a_gradient():
    v = tf.Variable(3.0)

    @tf.function
    def product(pair):
        return pair.first * pair.second

    with tf.GradientTape() as tape:
        z = product(Pair(v, tf.constant(4.0)))
    assert float(tape.gradient(z, v)) == 4.0


def test_a_value_without_tensors_is_a_result():
    @tf.function
    def labelled(x):
        return Label("double"), 2.0 * x

    label, y = labelled(tf.constant(2.0))
    assert (type(label), label.text, float(y)) == (Label, "double", 4.0)
    assert labelled.get_concrete_function(tf.TensorSpec([])).structured_outputs[0].text == "double"


def test_a_class_without_a_specification_counts_by_identity():
    class Bare(Composite):
        size = 2

        @property
        def _type_spec(self):
            return None

    @tf.function
    def scaled(bare, x):
        return bare.size * x

    one, two = Bare(), Bare()
    two.size = 3
    assert [float(scaled(each, tf.constant(2.0))) for each in (one, two, one)] == [4.0, 6.0, 4.0]
    assert scaled.experimental_get_tracing_count() == 2
    with pytest.raises(TypeError, match="must return tensors"):
        tf.function(lambda: one)()
