"""Public functions and classes name the public module where programs find them."""

import enum
import importlib
import inspect
import pickle
from operator import attrgetter

import pytest

import penstock as tf
from check_signatures import public

OBJECTS = {entry.path: entry.function for entry in public() if not entry.method}
CLASSES = [
    "GradientTape",
    "IndexedSlices",
    "Module",
    "RaggedTensor",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "Variable",
    "data.Dataset",
    "data.Options",
    "experimental.ExtensionType",
    "experimental.Optional",
    "initializers.Zeros",
    "optimizers.Adam",
    "random.Generator",
]


@pytest.mark.parametrize(("path", "value"), [pytest.param(p, v, id=p) for p, v in OBJECTS.items()])
def test_a_function_is_found_where_it_says(path, value):
    assert not any(part.startswith("_") for part in value.__module__.split("."))
    assert attrgetter(value.__qualname__)(importlib.import_module(value.__module__)) is value
    assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize("path", CLASSES)
def test_a_class_is_found_where_it_says(path):
    value = attrgetter(path)(tf)
    assert f"{value.__module__}.{value.__qualname__}" == f"penstock.{path}"
    assert pickle.loads(pickle.dumps(value)) is value


def test_the_shortest_name_is_the_one():
    assert tf.math.reduce_sum.__module__ == tf.reduce_sum.__module__ == "penstock"
    assert tf.math.lgamma.__module__ == "penstock.math"
    assert tf.nn.relu.__module__ == "penstock.nn"


def test_a_public_name_with_underscores_is_found_where_it_says():
    assert tf.array_api.__array_namespace_info__.__module__ == "penstock.array_api"


def test_functions_show_their_source_and_signature():
    assert "def reduce_sum(" in inspect.getsource(tf.reduce_sum)
    assert str(inspect.signature(tf.reduce_sum)).startswith("(input_tensor: 'TensorLike', axis: 'AxisLike'")


def test_classes_of_programs_keep_their_own_places():
    class Pair(tf.experimental.ExtensionType):
        x: tf.Tensor

    class Layer(tf.Module):
        pass

    assert Pair.__module__ == Layer.__module__ == __name__
    assert issubclass(type(tf.random.Algorithm), enum.EnumType)
