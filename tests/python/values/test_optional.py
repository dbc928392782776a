"""Optional values: made, read, and passed through functions, branches, loops and gradients."""

import gc
import weakref

import numpy as np
import pytest

import penstock as tf

Optional = tf.experimental.Optional
SCALAR, VECTOR = tf.TensorSpec([], tf.float32), tf.TensorSpec([None], tf.float32)


def test_a_value_comes_back_in_its_structure():
    value = {"a": tf.constant([1, 2]), "b": ("x", 2.5), "c": tf.ragged.constant([[1], [], [2, 3]])}
    held = Optional.from_value(value)
    assert bool(held.has_value())
    back = held.get_value()
    assert back["a"].numpy().tolist() == [1, 2]
    assert (back["b"][0].numpy(), back["b"][1].dtype) == (b"x", tf.float32)
    assert back["c"].to_list() == [[1], [], [2, 3]]
    assert held.element_spec["a"] == tf.TensorSpec([2], tf.int32)
    assert isinstance(held.element_spec["c"], tf.RaggedTensorSpec)
    assert held.value_type is dict
    assert Optional.from_value(1).value_type is tf.Tensor


@pytest.mark.parametrize(
    "spec", [SCALAR, VECTOR, tf.TensorSpec(None, tf.string), (), {"a": SCALAR, "b": (VECTOR,)}]
)
def test_nothing_is_known_of_an_empty_one(spec):
    held = Optional.empty(spec)
    assert not held.has_value()
    assert held.element_spec == spec
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        held.get_value()
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        tf.function(lambda o: (o.get_value(), tf.constant(1)))(held)


def test_a_value_without_tensors_is_a_value():
    assert bool(Optional.from_value(()).has_value())
    assert Optional.from_value(()).get_value() == ()


@pytest.mark.parametrize("bad", [object(), tf.float32, [3]])
def test_only_specifications_can_be_absent(bad):
    with pytest.raises(TypeError, match="element_spec"):
        Optional.empty(bad)


def test_arguments_share_a_trace_by_their_specification():
    @tf.function
    def read(held, otherwise):
        return tf.cond(held.has_value(), held.get_value, lambda: otherwise)

    zero = tf.constant(0.0)
    assert read(Optional.from_value(1.0), zero).numpy() == 1.0
    assert read(Optional.from_value(2.0), zero).numpy() == 2.0
    assert read(Optional.empty(SCALAR), zero).numpy() == 0.0
    assert read.experimental_get_tracing_count() == 1
    assert read(Optional.from_value(tf.constant([1.0])), tf.constant([0.0])).shape == [1]
    assert read.experimental_get_tracing_count() == 2


def test_a_signature_names_what_may_be_held():
    @tf.function(input_signature=[tf.OptionalSpec(VECTOR)])
    def read(held):
        return held.get_value()

    assert read(Optional.from_value(tf.constant([1.0, 2.0]))).numpy().tolist() == [1.0, 2.0]
    assert read(Optional.from_value(tf.constant([1.0]))).numpy().tolist() == [1.0]
    assert read.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match="held"):
        read(Optional.from_value(tf.constant([1])))


def test_functions_return_optionals():
    @tf.function
    def both(x):
        return {"some": Optional.from_value(2 * x), "none": Optional.empty(VECTOR)}

    made = both(tf.constant([1.0, 2.0]))
    assert made["some"].get_value().numpy().tolist() == [2.0, 4.0]
    assert not made["none"].has_value()
    assert made["none"].element_spec == VECTOR


def test_branches_agree_on_what_may_be_there():
    @tf.function
    def positive(x):
        return tf.cond(tf.reduce_all(x > 0), lambda: Optional.from_value(x), lambda: Optional.empty(VECTOR))

    assert positive(tf.constant([1.0, 2.0])).get_value().numpy().tolist() == [1.0, 2.0]
    assert not positive(tf.constant([-1.0])).has_value()
    assert positive(tf.constant([1.0])).element_spec == VECTOR

    @tf.function
    def unlike(x):
        return tf.cond(x > 0, lambda: Optional.from_value(x), lambda: Optional.from_value(1))

    with pytest.raises(TypeError, match="branches"):
        unlike(tf.constant(1.0))


def test_loops_carry_optionals():
    @tf.function
    def last(n):
        held = Optional.empty(tf.TensorSpec([None], tf.int32))
        for i in tf.range(n):
            held = Optional.from_value(tf.fill([i + 1], i))
        return held

    assert not last(tf.constant(0)).has_value()
    assert last(tf.constant(3)).get_value().numpy().tolist() == [2, 2, 2]

    @tf.function
    def changes(n):
        held = Optional.from_value(tf.constant([1.0]))
        for _ in tf.range(n):
            held = Optional.from_value(tf.constant([1.0, 2.0]))
        return held

    with pytest.raises(TypeError, match=r"'held' must keep its type.*specification"):
        changes(tf.constant(2))


def test_gradients_pass_through():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            held = tf.cond(x > 0, lambda: Optional.from_value(x * x), lambda: Optional.empty(SCALAR))
            y = tf.cond(held.has_value(), held.get_value, lambda: 5 * x)
        return tape.gradient(y, x)

    assert slope(tf.constant(3.0)).numpy() == 6.0
    assert slope(tf.constant(-3.0)).numpy() == 5.0
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = Optional.from_value({"y": x * x}).get_value()["y"]
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]


def test_specifications_compare():
    spec = tf.OptionalSpec(VECTOR)
    one, two = (tf.OptionalSpec(tf.TensorSpec([n])) for n in (1, 2))
    assert one.is_subtype_of(spec)
    assert not spec.is_subtype_of(one)
    assert one.most_specific_common_supertype([two]) == spec
    assert one.most_specific_common_supertype([tf.OptionalSpec((VECTOR,))]) is None
    assert spec.is_compatible_with(Optional.from_value(tf.constant([1.0])))
    assert not spec.is_compatible_with(tf.constant([1.0]))
    assert hash(tf.OptionalSpec(VECTOR)) == hash(spec)
    assert spec.value_type is Optional
    assert tf.type_spec_from_value(Optional.empty(VECTOR)) == spec


def test_nothing_is_kept_alive():
    held = Optional.from_value(tf.constant(np.ones(3)))
    seen = weakref.ref(held)
    tf.function(lambda o: o.get_value())(held)
    del held
    gc.collect()
    assert seen() is None
