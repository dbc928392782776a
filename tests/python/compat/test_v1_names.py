"""Names of TensorFlow 1 that version 2 has under others, or with other parameters."""

from collections.abc import Callable
from operator import attrgetter

import numpy as np
import pytest

import penstock as tf
from penstock.compat.v1 import _legacy, _names, _parameters

v1 = tf.compat.v1


@pytest.mark.parametrize("name", sorted(_names.NAMES))
def test_a_name_of_version_1_is_the_function_of_version_2(name):
    path = _names.NAMES[name]
    assert getattr(v1, name) is attrgetter(path)(v1 if path in _parameters.PARAMETERS else tf)


@pytest.mark.parametrize("name", _legacy.__all__)
def test_a_function_with_other_parameters_is_found(name):
    assert getattr(v1, name) is getattr(_legacy, name)


def test_casts_and_divisions():
    assert v1.to_int32([1.5]).dtype == tf.int32
    assert v1.to_double([1]).dtype == tf.float64
    assert v1.div([7, -7], 2).numpy().tolist() == [3, -4]
    assert v1.div([7.0], 2.0).numpy().tolist() == [3.5]


def test_parameters_by_their_old_names():
    x = tf.constant([[1.0, 0.0], [3.0, 4.0]])
    assert v1.count_nonzero(x, reduction_indices=[1], keep_dims=True).numpy().tolist() == [[1], [2]]
    assert v1.arg_max(x, 1).numpy().tolist() == [0, 1]
    assert v1.string_to_number(["2"], tf.int32).numpy().tolist() == [2]
    assert v1.substr(["hello"], 1, 3).numpy().tolist() == [b"ell"]
    with pytest.raises(ValueError, match="'input_tensor' must be given"):
        v1.count_nonzero()


def test_sparse_to_dense_takes_scalars_lists_and_vectors():
    assert v1.sparse_to_dense(1, [3], 5).numpy().tolist() == [0, 5, 0]
    assert v1.sparse_to_dense([0, 2], [3], [5, 6], -1).numpy().tolist() == [5, -1, 6]
    assert v1.sparse_to_dense([[0, 1], [1, 0]], [2, 2], 9).numpy().tolist() == [[0, 9], [9, 0]]


def test_string_split_gives_a_sparse_tensor_without_empty_parts():
    found = v1.string_split(["a  b", "c"])
    assert found.values.numpy().tolist() == [b"a", b"b", b"c"]
    assert found.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0]]
    assert v1.string_split(["a,,b"], ",", skip_empty=False, result_type="RaggedTensor").to_list() == [
        [b"a", b"", b"b"]
    ]


def test_batch_gather_takes_along_the_last_dimension_of_indices():
    params = np.arange(12).reshape(2, 3, 2)
    assert v1.batch_gather(params, [[2], [0]]).numpy().tolist() == [[[4, 5]], [[6, 7]]]


def test_rows_and_elements_of_variables():
    v = tf.Variable([2.0, 4.0, 8.0])
    v1.scatter_mul(v, [0], [3.0])
    v1.scatter_max(v, [1], [9.0])
    v1.scatter_nd_add(v, [[2]], [1.0])
    assert v.numpy().tolist() == [6.0, 9.0, 9.0]


def test_assertions_have_data_before_the_message():
    v1.assert_equal([1], [1], ["unused"])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too small.*seen"):
        v1.assert_greater([1], [2], data=["seen"], message="too small")
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
        v1.assert_non_negative([-1.0], message="negative")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        with v1.control_dependencies([v1.assert_positive(x)]):
            y = tf.identity(x)
        assert session.run(y, {x: 1.0}) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: -1.0})


def test_print_prints_when_the_tensor_is_computed(capfd):
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        y = v1.Print(x, [x], "seen:")
        assert capfd.readouterr().err == ""
        assert session.run(y, {x: 2.0}) == 2.0
    assert "seen: 2" in capfd.readouterr().err


def test_a_session_takes_a_configuration():
    config = v1.ConfigProto(gpu_options=v1.GPUOptions(allow_growth=True), allow_soft_placement=True)
    config.graph_options.optimizer_options.global_jit_level = v1.OptimizerOptions.ON_1
    again = v1.ConfigProto.FromString(config.SerializeToString())
    assert again.gpu_options.allow_growth
    assert again.graph_options.optimizer_options.global_jit_level == 1
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        assert session.run(tf.constant(1.0) + 1.0, options=options, run_metadata=v1.RunMetadata()) == 2.0


def test_the_names_of_collections_are_those_that_programs_look_in():
    keys = {name: value for name, value in vars(v1.GraphKeys).items() if name.isupper()}
    assert keys.pop("GLOBAL_VARIABLES") == keys.pop("VARIABLES") == "variables"
    assert keys.pop("TABLE_INITIALIZERS") == "table_initializer"
    assert keys == {name: name.lower() for name in keys}
    with tf.Graph().as_default():
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, "update")
        assert v1.get_collection("update_ops") == ["update"]
        assert v1.get_collection(v1.GraphKeys.MOVING_AVERAGE_VARIABLES) == []


def test_assertions_are_operations_that_show_data_of_a_run() -> None:
    with tf.Graph().as_default(), v1.Session() as sess:
        x, k = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.float32)
        made = [
            v1.assert_rank(x, 1),
            v1.assert_rank_in(x, [1, 2]),
            v1.assert_rank_at_least(k, 1),
            v1.assert_type(x, tf.int32),
            v1.assert_integer(x),
            v1.assert_equal(x, [1, 2], data=["got:", x, k], message="MSG"),
        ]
        assert {type(operation) for operation in made} == {tf.Operation}
        with tf.control_dependencies(made):
            y = tf.identity(x)
        assert sess.run(made, {x: [1, 2], k: [9.5]}) == [None] * len(made)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"MSG .*got:.*\[3 4\].*\[9.5\]") as caught:
            sess.run(y, {x: [3, 4], k: [9.5]})
        assert "[x:]" not in caught.value.message


@pytest.mark.parametrize(
    "check",
    [
        lambda: tf.debugging.assert_equal(1, 2),
        lambda: tf.debugging.assert_positive([1, -1]),
        lambda: v1.assert_less([1, 5], [2, 3]),
    ],
)
def test_what_cannot_hold_is_refused_before_a_graph_runs(check: Callable[[], object]) -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(tf.errors.InvalidArgumentError, match="did not hold element-wise"),
    ):
        check()
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold element-wise"):
        tf.function(check).get_concrete_function()


def test_cases_may_be_a_dict() -> None:
    with tf.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.int32, [])
        chosen = v1.case({x < 1: lambda: 10, x > 5: lambda: 20}, default=lambda: 30, exclusive=True)
        assert [sess.run(chosen, {x: value}) for value in (0, 3, 9)] == [10, 30, 20]


def test_convolutions_of_each_channel_have_their_old_names_and_gradients() -> None:
    nn = tf.compat.v1.nn
    x, w = tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 1])
    strides, padding = [1, 1, 1, 1], "VALID"
    found = nn.depthwise_conv2d_native(x, w, strides, padding)
    assert found.numpy().tolist() == tf.nn.depthwise_conv2d(x, w, strides, padding).numpy().tolist()
    slopes = tf.ones_like(found)
    by_input = nn.depthwise_conv2d_native_backprop_input(x.shape, w, slopes, strides, padding)
    assert float(by_input[0, 1, 1, 0]) == 4.0
    by_filter = nn.depthwise_conv2d_native_backprop_filter(x, w.shape, slopes, strides, padding)
    assert by_filter.numpy().ravel().tolist() == [4.0] * 8


def test_layers_on_integers_that_tensorflow_cannot_run_say_so() -> None:
    with pytest.raises(AttributeError, match="TensorFlow 2\\.21 cannot run it either"):
        tf.compat.v1.nn.quantized_relu_x
