"""The graph of a trace as a function by itself: `ConcreteFunction.inference_fn`."""

import pytest

import penstock as tf

AtomicFunction = tf.types.experimental.AtomicFunction


def traced():
    v = tf.Variable(3)

    @tf.function
    def f(a, b):
        return {"sum": a + b + v}

    concrete = f.get_concrete_function(tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32))
    return concrete, v


def test_it_gives_what_the_trace_gives():
    concrete, v = traced()
    atomic = concrete.inference_fn
    assert isinstance(atomic, AtomicFunction)
    assert int(atomic(tf.constant(1), tf.constant(2))["sum"]) == 6
    v.assign(10)
    assert int(atomic(1, b=2)["sum"]) == 13


def test_it_says_what_it_takes_and_consists_of():
    concrete, _v = traced()
    atomic = AtomicFunction(concrete)
    assert atomic.name == concrete.name.encode()
    assert atomic.function_type == concrete.function_type
    assert (atomic.attributes, atomic.children) == ({}, [])
    definition = atomic.definition
    assert definition.signature.name == concrete.name
    assert [arg.name for arg in definition.signature.input_arg] == ["a", "b"]
    assert [arg.type for arg in definition.signature.output_arg] == [tf.int32.as_datatype_enum]
    assert "AddV2" in [node.op for node in definition.node_def]
    assert repr(atomic).startswith("<AtomicFunction> (a: TensorSpec")


def test_it_is_made_of_a_trace():
    with pytest.raises(TypeError, match="concrete"):
        AtomicFunction(lambda x: x)
