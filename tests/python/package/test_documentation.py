"""Every public function and class of TensorFlow's that exists says what it does and shows it."""

import inspect
import types
from operator import attrgetter

import pytest

import penstock as tf
from penstock._api_names import reason, symbols

# Names without an example of their own, and why.
WITHOUT_EXAMPLE = {
    "newaxis": "is None",
    "types.experimental.TensorLike": "is a union of classes, which has no docstring of its own",
    **dict.fromkeys(
        (
            "config.LogicalDevice",
            "config.PhysicalDevice",
            "types.experimental.Callable",
            "lookup.TextFileIndex",
            "distribute.InputOptions",
            "distribute.RunOptions",
            "distribute.coordinator.RemoteValue",
            "distribute.experimental.CollectiveHints",
            "distribute.experimental.CommunicationOptions",
            "distribute.experimental.TerminationConfig",
            "distribute.experimental.coordinator.RemoteValue",
        ),
        "is what functions give and take, as they show",
    ),
    **dict.fromkeys(
        (
            "data.experimental.AutotuneOptions",
            "data.experimental.DistributeOptions",
            "data.experimental.OptimizationOptions",
            "image.ResizeMethod",
            "AggregationMethod",
            "VariableAggregation",
            "VariableSynchronization",
            "data.experimental.AutoShardPolicy",
            "data.experimental.AutotuneAlgorithm",
            "data.experimental.ExternalStatePolicy",
            "distribute.InputReplicationMode",
            "distribute.ReduceOp",
            "distribute.cluster_resolver.KubernetesExecutableLocation",
            "distribute.experimental.CollectiveCommunication",
            "distribute.experimental.CommunicationImplementation",
        ),
        "is a list of choices",
    ),
    **dict.fromkeys(
        [f"train.{n}" for n in ("BytesList", "Feature", "FeatureList", "FeatureLists", "Features")]
        + [f"train.{n}" for n in ("FloatList", "Int64List", "SequenceExample")],
        "is a message, as `tf.train.Example` shows",
    ),
    **{
        f"errors.{name}": "is caught as `OpError` and `InvalidArgumentError` show"
        for name in dir(tf.errors)
        if name.endswith("Error")
        and f"errors.{name}" in symbols()
        and name not in ("OpError", "InvalidArgumentError")
    },
}


def lookup(path):
    value = tf
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def documented():
    """Functions and classes of the package; of methods, `tools/check_signatures.py` asks the same."""
    for name, symbol in symbols().items():
        inside = name.rpartition(".")[0] == symbol.namespace
        if symbol.counted and inside and symbol.kind in ("function", "class") and reason(name) is None:
            value = lookup(name)
            if isinstance(value, type | types.FunctionType) and value.__module__.startswith("penstock"):
                yield name, value


@pytest.mark.parametrize(("path", "value"), [pytest.param(p, v, id=p) for p, v in documented()])
def test_a_public_name_has_a_docstring_with_an_example(path, value):
    if path in WITHOUT_EXAMPLE:
        return
    text = inspect.getdoc(value)
    assert text
    assert text.split("\n")[0].rstrip().endswith((".", ":", "`"))
    assert ">>> " in text


def test_exceptions_are_needed():
    for path in WITHOUT_EXAMPLE:
        assert ">>> " not in (inspect.getdoc(lookup(path)) or "")


@pytest.mark.parametrize(("path", "value"), [pytest.param(p, v, id=p) for p, v in documented()])
def test_the_collection_of_doctests_finds_the_examples(path, value):
    """A function is what its module has under its name: one that a factory made is not."""
    if path not in WITHOUT_EXAMPLE and inspect.isfunction(value):
        assert attrgetter(value.__qualname__)(inspect.getmodule(value)) is value
