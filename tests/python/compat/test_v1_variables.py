"""Variables that are shared by name, and what finds them, as in TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture(name="graph", autouse=True)
def open_graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


# As in TensorFlow 2.21.
@pytest.mark.parametrize(
    ("value", "dtype"),
    [([1, 2], "int32"), (np.arange(3), "int64"), (np.float64(2), "float64"), (True, "bool"), ("s", "string")],
)
def test_a_variable_of_a_value_has_the_dtype_of_the_value(value: Any, dtype: str) -> None:
    assert v1.get_variable("v", initializer=value).dtype.name == dtype
    with v1.variable_scope("scope", dtype=tf.float16):
        assert v1.get_variable("v", initializer=value).dtype.name == dtype
        assert v1.get_variable("w", [2]).dtype.name == "float16"


def test_a_function_without_arguments_decides_shape_and_dtype() -> None:
    made = v1.get_variable("v", initializer=lambda: tf.zeros([4], tf.int64))
    assert (made.dtype, made.shape) == (tf.int64, [4])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: v1.get_variable("v"), "variable v did not get an initializer, so argument 'shape'"),
        (lambda: v1.get_variable("v", [None, 2]), "argument 'shape' of a new variable must be known"),
        (
            lambda: v1.get_variable("v", [2], initializer=[1.0, 2.0]),
            "argument 'shape' must not be given where",
        ),
        (lambda: v1.get_variable("v", dtype=tf.float32, initializer=3), "dtype int32, which is not float32"),
        (lambda: v1.get_variable("v", dtype=tf.float64, initializer=[1, 2]), "int32, which is not float64"),
    ],
)
def test_what_contradicts_itself_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
    assert v1.global_variables() == []


def test_a_variable_is_not_shared_as_another_dtype() -> None:
    made = v1.get_variable("v", [2], tf.int32)
    with v1.variable_scope("", reuse=True):
        assert v1.get_variable("v", [2], tf.int32) is made
        for dtype in (None, tf.float64):
            with pytest.raises(ValueError, match=r"but specified dtype float.* and found int32"):
                v1.get_variable("v", [2], dtype)


def test_a_scope_without_a_name_is_refused() -> None:
    with pytest.raises(TypeError, match="'name_or_scope' must be given"), v1.variable_scope(None):
        pass


def test_a_template_knows_its_variables() -> None:
    def getter(get: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(name)
        return get(name, *args, **kwargs)

    asked: list[str] = []
    scale = v1.make_template(
        "scale",
        lambda x: x * v1.get_variable("w", []) + v1.get_variable("b", [], trainable=False),
        False,
        None,
        getter,
    )
    assert scale.variables == []
    scale(1.0), scale(2.0)
    assert [v.name for v in scale.variables] == ["scale/w:0", "scale/b:0"]
    assert [v.name for v in scale.trainable_variables] == ["scale/w:0"]
    assert [v.name for v in scale.non_trainable_variables] == ["scale/b:0"]
    assert asked == ["scale/w", "scale/b"] * 2
    assert scale.name == "scale"


def test_the_scope_of_a_collection_is_a_regular_expression(graph: tf.Graph) -> None:
    for name in ("conv1/w", "conv2/w", "fc/w", "x/conv1/w"):
        v1.get_variable(name, [1])
    graph.add_to_collection(v1.GraphKeys.TRAINABLE_VARIABLES, 3)

    def found(scope: str) -> list[str]:
        return [v.name for v in v1.trainable_variables(scope)]

    assert found("conv[12]/") == found("conv") == ["conv1/w:0", "conv2/w:0"]
    assert found("(conv1|fc)/") == ["conv1/w:0", "fc/w:0"]
    assert found(".*conv1") == ["conv1/w:0", "x/conv1/w:0"]
    assert len(graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES)) == 5


def test_an_operation_is_the_same_however_it_was_found(graph: tf.Graph) -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant(1.0, name="b")
    assert a.op == graph.get_operation_by_name("a")
    assert a.op != b.op
    assert a.op != "a"
    assert {a.op: 1}[graph.get_operation_by_name("a")] == 1
    assert a.op in graph.get_operations()
    with tf.Graph().as_default() as other:
        tf.constant(1.0, name="a")
    assert a.op != other.get_operation_by_name("a")


def test_a_variable_of_a_graph_is_shown_without_a_value_wherever_it_is_shown():
    w = v1.get_variable("w", [2])
    shown = repr(w)
    with tf.init_scope():
        assert shown == repr(w) == str(w) == "<tf.Variable 'w:0' shape=(2,) dtype=float32>"
