"""TensorFlow's operators by their own names: they give what TensorFlow gave, which `results.jsonl` holds."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import raw_cases

import penstock as tf
from penstock import _nodes

_RESULTS = dict(map(json.loads, Path(__file__).with_name("results.jsonl").read_text().splitlines()))
_CASES = {case: call for case, call in raw_cases.cases().items() if case in _RESULTS}
# How far a result may be from TensorFlow's, beside its greatest element.
_NEAR = {"float16": 4e-3, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
# TensorFlow computes this one with constants of `float32`.
_LESS_NEAR = {"SeluGrad": 1e-7}
# The last output of these is for TensorFlow's GPU kernels alone, and of any size.
_ONE_LESS = ("FusedBatchNormV3",)


def _check(case: str, found: list[np.ndarray]) -> None:
    name, wanted = _CASES[case][0], _RESULTS[case]
    got = [raw_cases.plain(array) for array in found]
    if name in _ONE_LESS:
        got, wanted = got[:-1], wanted[:-1]
    assert [(x["dtype"], list(x["shape"])) for x in got] == [(x["dtype"], x["shape"]) for x in wanted]
    for mine, theirs in zip(got, wanted, strict=True):
        if mine["dtype"] not in _NEAR:
            assert mine["values"] == theirs["values"]
            continue
        a, b = np.array(mine["values"], float), np.array(theirs["values"], float)
        near = _LESS_NEAR.get(name, _NEAR[mine["dtype"]])
        scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        np.testing.assert_allclose(a, b, rtol=near, atol=near * scale, equal_nan=True)


@pytest.mark.parametrize("case", _CASES)
def test_a_call_gives_what_tensorflow_gives(case):
    _check(case, raw_cases.results(tf, *_CASES[case]))


_ONE_OF_EACH = {name: case for case, (name, _) in reversed(_CASES.items())}


@pytest.mark.parametrize("case", _ONE_OF_EACH.values())
def test_a_traced_function_calls_it_too(case):
    name, arguments = _CASES[case]
    variables: list[tf.Variable] = []
    made: dict[str, object] = {}
    for key, value in arguments.items():
        if isinstance(value, raw_cases.Var):
            made[key] = raw_cases.given(tf, value, variables)
    floats = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray) and v.dtype.kind in "fc"}

    @tf.function
    def traced(given):
        rest = {
            k: made[k] if k in made else raw_cases.given(tf, v, [])
            for k, v in arguments.items()
            if k not in given
        }
        return raw_cases.flat(getattr(tf.raw_ops, name)(**given, **rest))

    given = {
        key: tf.constant(value, tf.float32 if _taken_as_single(name, key, value) else None)
        for key, value in floats.items()
    }
    found = traced(given)
    _check(case, [np.asarray(x.numpy()) for x in [*found, *variables]])


def _taken_as_single(name: str, key: str, value: np.ndarray) -> bool:
    """Whether an array of `float64` is taken for one of `float32`, by the operator's default."""
    operator = _nodes.operators()[name]
    kind = next(p.kind for p in operator.parameters if p.name == key)
    return value.dtype == np.float64 and operator.defaults.get(kind) == "float32"


@pytest.mark.parametrize("name", raw_cases.drawn())
def test_random_numbers_have_the_shapes_that_are_asked_for(name):
    found = raw_cases.flat(getattr(tf.raw_ops, name)(**raw_cases.drawn()[name]))
    assert len(found) == len(_nodes.operators()[name].outputs)
    assert all(not x.dtype.is_floating or bool(tf.reduce_all(tf.math.is_finite(x))) for x in found)


def test_every_name_is_one_of_tensorflow_and_has_its_parameters():
    names = _nodes.names()
    assert len(names) > 690
    assert set(names) <= set(_nodes.operators()) | set(dir(tf.raw_ops))
    for name in names:
        function = getattr(tf.raw_ops, name)
        assert callable(function)
        parameters = inspect.signature(function).parameters
        assert list(parameters) == [*(p.name for p in _nodes.operators()[name].parameters), "name"]
        assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())


def test_names_are_listed_and_others_are_not_there():
    assert {"MatMul", "matmul", "Conv2D"} <= set(dir(tf.raw_ops))
    with pytest.raises(AttributeError, match="TPUReplicate"):
        _ = tf.raw_ops.TPUReplicate


def test_arguments_go_by_keyword():
    with pytest.raises(TypeError, match=r"tf\.raw_ops\.AddV2 takes its arguments by keyword only"):
        tf.raw_ops.AddV2(1, 2)


def test_an_argument_that_is_missing_is_named():
    with pytest.raises(TypeError, match=r"argument 'y' must be given to tf\.raw_ops\.AddV2"):
        tf.raw_ops.AddV2(x=1)


def test_an_argument_that_there_is_not_is_named():
    with pytest.raises(TypeError, match=r"tf\.raw_ops\.AddV2 has no argument 'z': it has x, y, name"):
        tf.raw_ops.AddV2(x=1, y=2, z=3)


def test_a_wrong_attribute_is_named():
    with pytest.raises(TypeError, match=r"argument 'axis' of tf\.raw_ops\.Pack must be an integer, got 'a'"):
        tf.raw_ops.Pack(values=[1], axis="a")
    with pytest.raises(TypeError, match=r"argument 'strides' of tf\.raw_ops\.AvgPool must be a list"):
        tf.raw_ops.AvgPool(value=[[[[1.0]]]], ksize=[1, 1, 1, 1], strides=1, padding="SAME")
    with pytest.raises(TypeError, match=r"argument 'padding' of tf\.raw_ops\.AvgPool must be a string"):
        tf.raw_ops.AvgPool(value=[[[[1.0]]]], ksize=[1, 1, 1, 1], strides=[1, 1, 1, 1], padding=3)


def test_an_input_of_a_wrong_dtype_is_named():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"argument 'y' must be a tensor that tf\.raw_ops\.AddV2"
    ):
        tf.raw_ops.AddV2(x=tf.constant(1.0), y=tf.constant(2))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"argument 'x' of tf\.raw_ops\.Sqrt must be of one of"
    ):
        tf.raw_ops.Sqrt(x=tf.constant("a"))
    with pytest.raises(TypeError, match=r"argument 'values' of tf\.raw_ops\.Pack must be a list of tensors"):
        tf.raw_ops.Pack(values=tf.constant([1.0]))


def test_python_numbers_take_the_dtype_of_a_tensor():
    assert tf.raw_ops.AddV2(x=1, y=tf.constant(2.0, tf.float64)).dtype == tf.float64


def test_several_outputs_have_names():
    found = tf.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2)
    assert found.values.numpy().tolist() == [3.0, 2.0]
    assert found.indices.numpy().tolist() == [1, 2]
    assert type(found).__name__ == "TopKV2"


def test_gradients_pass():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.raw_ops.Sum(input=tf.raw_ops.Square(x=x), axis=0)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]


def test_branches_and_loops_take_functions():
    found = tf.raw_ops.If(
        cond=True,
        input=[tf.constant(3.0)],
        Tout=[tf.float32],
        then_branch=lambda x: x * 2.0,
        else_branch=lambda x: x,
    )
    assert [float(x) for x in found] == [6.0]
    found = tf.raw_ops.While(
        input=[tf.constant(0), tf.constant(1.0)], cond=lambda i, x: i < 3, body=lambda i, x: (i + 1, x * 2.0)
    )
    assert [float(x) for x in found] == [3.0, 8.0]
    found = tf.raw_ops.Case(
        branch_index=1, input=[tf.constant(3.0)], Tout=[tf.float32], branches=[lambda x: x, lambda x: x + 1.0]
    )
    assert [float(x) for x in found] == [4.0]


def test_a_queue_gives_what_was_put_in():
    queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32], shapes=[[]], capacity=4)
    tf.raw_ops.QueueEnqueueV2(handle=queue, components=[1.5])
    assert int(tf.raw_ops.QueueSizeV2(handle=queue)) == 1
    (found,) = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.float32])
    assert float(found) == 1.5


def test_a_table_gives_what_was_inserted():
    table = tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    tf.raw_ops.LookupTableInsertV2(table_handle=table, keys=["a", "b"], values=tf.constant([1, 2], tf.int64))
    found = tf.raw_ops.LookupTableFindV2(
        table_handle=table, keys=["b", "c"], default_value=tf.constant(-1, tf.int64)
    )
    assert found.numpy().tolist() == [2, -1]
    assert int(tf.raw_ops.LookupTableSizeV2(table_handle=table)) == 2


def test_files_are_written_and_read(tmp_path):
    path = str(tmp_path / "a.txt")
    tf.raw_ops.WriteFile(filename=path, contents="hello")
    assert tf.raw_ops.ReadFile(filename=path).numpy() == b"hello"
    assert tf.raw_ops.MatchingFiles(pattern=str(tmp_path / "*.txt")).numpy().tolist() == [path.encode()]


def test_examples_are_parsed():
    example = tf.train.Example()
    example.features.feature["a"].float_list.value.extend([1.0, 2.0])
    example.features.feature["b"].int64_list.value.append(3)
    found = tf.raw_ops.ParseExampleV2(
        serialized=[example.SerializeToString()],
        names=[],
        sparse_keys=["b"],
        dense_keys=["a"],
        ragged_keys=[],
        dense_defaults=[tf.constant([], tf.float32)],
        num_sparse=1,
        sparse_types=[tf.int64],
        ragged_value_types=[],
        ragged_split_types=[],
        dense_shapes=[[2]],
    )
    assert found.dense_values[0].numpy().tolist() == [[1.0, 2.0]]
    assert found.sparse_values[0].numpy().tolist() == [3]
