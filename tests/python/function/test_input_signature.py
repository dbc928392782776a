"""`input_signature`: one trace for all calls, and clear words for what does not fit."""

import collections
import functools
import traceback
from collections.abc import Mapping

import numpy as np
import pytest

import penstock as tf

VECTOR = tf.TensorSpec([None], tf.int32)
Point = collections.namedtuple("Point", "x y")


def test_one_trace_and_errors_with_both_sides(capsys):
    @tf.function(input_signature=(VECTOR,))
    def next_collatz(x):
        print("Tracing with", x)
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    assert next_collatz(tf.constant([1, 2])).numpy().tolist() == [4, 1]
    assert next_collatz(tf.constant([1, 2, 3, 4, 5])).shape == [5]
    assert capsys.readouterr().out == 'Tracing with Tensor("x:0", shape=(None,), dtype=int32)\n'
    for bad, got in [(tf.constant([[1, 2], [3, 4]]), r"\(2, 2\)"), (tf.constant([1.0, 2.0]), "float32")]:
        with pytest.raises(
            ValueError, match=rf"(?s)argument 'x' must be .*None.*int32.*got .*{got}"
        ) as caught:
            next_collatz(bad)
        assert "inputs: (" in str(caught.value)
        assert "input_signature: (" in str(caught.value)
    assert next_collatz.experimental_get_tracing_count() == 1


def test_python_values_and_arrays_are_converted():
    f = tf.function(lambda x: x + 1, input_signature=[VECTOR])
    for value in ([1, 2], (1, 2), np.array([1, 2], "int32"), np.array([1, 2]), tf.Variable([1, 2])):
        assert f(value).numpy().tolist() == [2, 3]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match="'x'"):
        f(["a"])
    for other in (np.array([1.0, 2.0]), np.array([2**40, 1]), tf.constant([1, 2], tf.int64)):
        with pytest.raises(ValueError, match="'x'"):
            f(other)


def test_parameters_without_a_specification_keep_their_defaults():
    @tf.function(input_signature=[VECTOR])
    def f(x, scale=3, *, offset=1):
        return x * scale + offset

    assert f(tf.constant([2])).numpy().tolist() == [7]
    assert f(tf.constant([2, 4])).numpy().tolist() == [7, 13]
    assert f(tf.constant([2]), 3, offset=1).numpy().tolist() == [7]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match=r"'scale'.*3.*got 4"):
        f(tf.constant([2]), 4)
    with pytest.raises(TypeError, match=r"'offset'.*1.*got 2"):
        f(tf.constant([2]), offset=2)


def test_parameters_with_a_specification_may_have_a_default():
    f = tf.function(lambda x, n=2: x * n, input_signature=[VECTOR, tf.TensorSpec([], tf.int32)])
    assert f(tf.constant([1])).numpy().tolist() == [2]
    assert f(tf.constant([1]), tf.constant(5)).numpy().tolist() == [5]
    assert f.experimental_get_tracing_count() == 1


def test_specifications_of_varargs_follow():
    f = tf.function(lambda x, *rest: x + sum(rest), input_signature=[VECTOR, VECTOR, VECTOR])
    one = tf.constant([1])
    assert f(one, one, [5]).numpy().tolist() == [7]
    concrete = f.get_concrete_function()
    assert concrete(one, one, one).numpy().tolist() == [3]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match=r"2 entries for \*rest, got 1"):
        f(one, one)
    with pytest.raises(ValueError, match=r"rest\[1\]"):
        f(one, one, tf.constant([1.0]))


def test_nests_of_specifications():
    signature = [{"a": VECTOR, "b": (VECTOR, VECTOR)}, Point(VECTOR, VECTOR)]
    f = tf.function(lambda d, p: d["a"] + d["b"][1] * p.y, input_signature=signature)
    args = {"a": [1], "b": ([2], [3])}, Point([4], [5])
    assert f(*args).numpy().tolist() == [16]
    with pytest.raises(TypeError, match=r"'d'.*keys"):
        f({"a": [1]}, args[1])
    with pytest.raises(TypeError, match=r"d\['b'\].*sequence of 2"):
        f({"a": [1], "b": ([2],)}, args[1])
    with pytest.raises(ValueError, match=r"d\['b'\]\[1\]"):
        f({"a": [1], "b": ([2], [3.5])}, args[1])


def test_methods():
    class Scale:
        k = 3

        @tf.function(input_signature=[VECTOR])
        def __call__(self, x):
            return x * self.k

    a, b = Scale(), Scale()
    b.k = 4
    assert [s(tf.constant([1])).numpy().tolist() for s in (a, b, a)] == [[3], [4], [3]]
    assert a.__call__.get_concrete_function()(tf.constant([2])).numpy().tolist() == [6]


def test_a_call_with_the_wrong_number_of_arguments():
    f = tf.function(lambda x, y: x, input_signature=[VECTOR, VECTOR])
    for args in ((), (tf.constant([1]),), (tf.constant([1]),) * 3):
        with pytest.raises(TypeError):
            f(*args)


@pytest.mark.parametrize(
    ("function", "signature", "error"),
    [
        (lambda x: x, 3, TypeError),
        (lambda x: x, [3], TypeError),
        (lambda x: x, VECTOR, TypeError),
        (lambda x: x, [tf.constant(1)], TypeError),
        (lambda x: x, [[None]], TypeError),
        (lambda x: x, [VECTOR, VECTOR], TypeError),
        (lambda x, y: x, [VECTOR], TypeError),
        (lambda: 1, [VECTOR], TypeError),
        (lambda x, *, y: x, [VECTOR], ValueError),
    ],
)
def test_signatures_that_cannot_be(function, signature, error):
    with pytest.raises(error, match=r"input_signature"):
        tf.function(function, input_signature=signature)


def test_an_empty_signature_is_one_too():
    f = tf.function(lambda n=1: tf.constant(n), input_signature=[])
    assert f().numpy() == 1
    with pytest.raises(TypeError, match="'n'"):
        f(2)


def test_unknown_rank_and_strings():
    f = tf.function(tf.identity, input_signature=[tf.TensorSpec(None, tf.string)])
    assert f("a").numpy() == b"a"
    assert f([["a", "b"]]).shape == [1, 2]
    assert f(tf.zeros([0], tf.string) if False else tf.constant([], tf.string)).shape == [0]
    assert f.experimental_get_tracing_count() == 1


def test_arguments_with_a_specification_may_be_given_by_keyword():
    f = tf.function(lambda x, /, y, z=0, *, k=1: x * y + z * k, input_signature=[VECTOR] * 3)
    one = tf.constant([2])
    for _ in range(2):
        assert f(one, y=[3], z=[4]).numpy().tolist() == [10]
        assert f(one, [3], [4], k=1).numpy().tolist() == [10]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="k"):
        f(one, [3], [4], k=2)
    with pytest.raises(TypeError):
        f(x=one, y=[3], z=[4])


def test_varargs_alone_may_have_specifications():
    f = tf.function(lambda *rest: sum(rest), input_signature=[VECTOR, VECTOR])
    assert f([1], [2]).numpy().tolist() == [3]
    one = tf.constant([1])
    assert f.get_concrete_function()(one, one).numpy().tolist() == [2]
    with pytest.raises(TypeError, match=r"2 entries for \*rest, got 3") as caught:
        f([1], [2], [3])
    assert "inputs: (" in str(caught.value)
    assert "input_signature: (" in str(caught.value)


def test_partial_functions_static_and_class_methods():
    add = functools.partial(lambda x, y: x + y, y=1)
    assert tf.function(add, input_signature=[VECTOR])([1]).numpy().tolist() == [2]
    bound = functools.partial(lambda x, y: x + y, tf.constant([5]))
    assert tf.function(bound, input_signature=[VECTOR])([1]).numpy().tolist() == [6]

    class Holder:
        @staticmethod
        @tf.function(input_signature=[VECTOR])
        def static(x):
            return x + 1

    assert Holder.static([1]).numpy().tolist() == [2]
    assert Holder().static([1, 2]).numpy().tolist() == [2, 3]


def test_a_function_with_more_keywords_has_a_signature_without_them():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def total(*values, **options):
        return tf.reduce_sum(values[0]) + len(options)

    assert total(tf.ones([3])).numpy() == 3.0
    with pytest.raises(TypeError, match="total"):
        total(tf.ones([3]), scale=2)


def test_inputs_in_structures_have_names_that_are_identifiers():
    signature = [[tf.TensorSpec([]), tf.TensorSpec([], name="a b")]]
    function = tf.function(lambda *parts, pair=None: parts[0][0], input_signature=signature)
    trace = function.get_concrete_function()
    assert trace._arg_keywords == ["parts_0", "a_b"]


@pytest.mark.parametrize("declared", [True, False])
def test_tensors_of_one_argument_are_numbered_as_in_tensorflow(declared):
    scalar = tf.TensorSpec([])
    signature = [[scalar, tf.TensorSpec([], name="own")], {"a": scalar}, scalar]

    def body(inputs, more, inputs_1):
        return inputs_1

    if declared:
        trace = tf.function(body, input_signature=signature).get_concrete_function()
        # A parameter without structure keeps its own name.
        assert trace._arg_keywords == ["inputs", "own", "more", "inputs_1"]
    else:
        signature[0].append(scalar)
        trace = tf.function(body).get_concrete_function(*signature)
        assert trace._arg_keywords == ["inputs", "own", "inputs_1", "more", "inputs_1_1"]


def test_the_traceback_of_a_wrong_argument_shows_the_users_lines_only():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return x

    with pytest.raises(tf.errors.SignatureError) as caught:
        f(tf.constant([1]))
    assert {frame.filename for frame in traceback.extract_tb(caught.tb)} == {__file__}


class Table(tf.experimental.ExtensionType):
    columns: Mapping[str, tf.Tensor]
    names: tuple[str, ...]
    pair: tuple[tf.Tensor, tf.Tensor]


def test_specifications_in_mappings_and_tuples_of_fields_serve_every_size():
    spec = Table.Spec(
        columns={"x": tf.TensorSpec([None])},
        names=("a", "b"),
        pair=(tf.TensorSpec([None]), tf.TensorSpec([])),
    )

    @tf.function(input_signature=[spec])
    def total(table):
        return tf.reduce_sum(table.columns["x"]) + tf.reduce_sum(table.pair[0]) + table.pair[1]

    for size in (1, 2, 3):
        table = Table({"x": [1.0] * size}, ("a", "b"), ([2.0] * size, 5.0))
        assert float(total(table)) == 3 * size + 5
    assert total.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="'table' must be"):
        total(Table({"x": [1.0]}, ("a", "c"), ([2.0], 5.0)))
