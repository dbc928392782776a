"""Names of nodes and of scopes in the graph of a traced function."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

import penstock as tf

HELD = tf.Variable([1.0, 2.0])


def names(function: Callable[[tf.Tensor], object]) -> list[str]:
    """The names of the nodes that a function of a vector gives, constants and arguments aside."""
    graph = tf.function(function).get_concrete_function(tf.TensorSpec([2])).graph
    return [op.name for op in graph.get_operations() if op.type not in ("Const", "Placeholder")]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: x + x, "add"),
        (lambda x: x / x, "truediv"),
        (lambda x: x // x, "floordiv"),
        (lambda x: x % x, "mod"),
        (lambda x: x**x, "pow"),
        (lambda x: -x, "Neg"),
        (lambda x: x > x, "Greater"),
        (lambda x: x[0], "strided_slice"),
        (lambda x: tf.stack([x, x]), "stack"),
        (lambda x: tf.concat([x, x], 0), "concat"),
        (lambda x: tf.transpose(x), "transpose"),
        (lambda x: tf.reshape(x, [1, 2]), "Reshape"),
        (lambda x: tf.cast(x, tf.int32), "Cast"),
        (lambda x: tf.gather(x, [0]), "GatherV2"),
        (lambda x: tf.nn.relu(x), "Relu"),
        (lambda x: tf.nn.softmax(x), "Softmax"),
        (lambda x: tf.reduce_sum(x), "Sum"),
        (lambda x: tf.math.divide_no_nan(x, x), "div_no_nan"),
    ],
)
def test_a_node_without_a_name_is_called_as_tensorflow_does(
    function: Callable[[tf.Tensor], tf.Tensor], name: str
) -> None:
    assert names(function) == [name]


def test_the_same_name_gets_numbers() -> None:
    def twice(x: tf.Tensor) -> tf.Tensor:
        return tf.add(tf.add(x, x, name="sum"), x, name="sum") + x

    assert names(twice) == ["sum", "sum_1", "add"]


def test_a_number_that_was_given_is_not_made_again() -> None:
    def thrice(x: tf.Tensor) -> tf.Tensor:
        return tf.add(tf.add(tf.add(x, x, name="a_1"), x, name="a"), x, name="a")

    assert names(thrice) == ["a_1", "a", "a_2"]


def test_a_scope_that_is_opened_again_gets_a_number() -> None:
    def scopes(x: tf.Tensor) -> tf.Tensor:
        for _ in range(2):
            with tf.name_scope("a"):
                x = -x
                for _ in range(2):
                    with tf.name_scope("b"):
                        x = -x
        return x

    assert names(scopes) == ["a/Neg", "a/b/Neg", "a/b_1/Neg", "a_1/Neg", "a_1/b/Neg", "a_1/b_1/Neg"]


def test_a_scope_with_a_slash_is_opened_again_as_it_is() -> None:
    def scopes(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("a") as scope:
            x = -x
        with tf.name_scope(scope):
            return -x

    assert names(scopes) == ["a/Neg", "a/Neg_1"]


def test_each_trace_counts_its_own_scopes() -> None:
    def scoped(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("a"):
            return -x

    assert names(scoped) == names(scoped) == ["a/Neg"]
    with tf.name_scope("a") as first:
        pass
    with tf.name_scope("a") as second:
        pass
    assert first == second == "a/"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.map_fn(lambda y: y * 2.0, x, name="it"),
        lambda x: tf.scan(lambda a, y: a + y, x, name="it"),
        lambda x: tf.cond(x[0] > 0.0, lambda: x, lambda: -x, name="it"),
        lambda x: tf.while_loop(lambda y: y[0] < 9.0, lambda y: [y + 1.0], [x], name="it"),
        lambda x: tf.TensorArray(tf.float32, 2).unstack(x, name="it").stack("it"),
        lambda x: tf.RaggedTensor.from_row_splits(x, [0, 2], name="it").to_tensor(name="it"),
        lambda x: tf.py_function(lambda y: y, [x], tf.float32, name="it"),
        lambda x: tf.io.serialize_tensor(x, name="it"),
        lambda x: tf.data.Dataset.from_tensors(x).get_single_element(name="it"),
        lambda x: tf.nn.moments(x, [0], name="it"),
        lambda x: tf.nn.l2_loss(x, name="it"),
        lambda x: tf.math.l2_normalize(x, name="it"),
        lambda x: tf.norm(x, name="it"),
        lambda x: tf.einsum("i,i,i->i", x, x, x, name="it"),
        lambda x: tf.random.uniform([2], name="it"),
        lambda x: tf.signal.fft(tf.cast(x, tf.complex64), name="it"),
        lambda x: tf.print(x, name="it"),
        lambda x: tf.Assert(x[0] > 0.0, [x], name="it"),
        lambda x: tf.timestamp("it"),
        lambda x: tf.io.write_file("unused", tf.io.serialize_tensor(x), name="it"),
        lambda x: tf.TensorArray(tf.float32, 2, name="it").unstack(x).stack(),
        lambda x: HELD.assign(x, name="it"),
        lambda x: HELD.assign_add(x, False, "it", False),
        lambda x: HELD.scatter_nd_add([[0]], x[:1], name="it"),
        lambda x: tf.compat.v1.assign_sub(HELD, x, name="it"),
    ],
)
def test_a_function_of_several_operations_has_its_name_for_a_scope(
    function: Callable[[tf.Tensor], object],
) -> None:
    found = names(function)
    assert any(name.startswith("it/") for name in found)
    assert "it" not in found


def test_what_gives_nothing_has_its_scope_too() -> None:
    def silent(x: tf.Tensor) -> None:
        HELD.assign(x, name="write", read_value=False)
        with tf.name_scope("a"):
            tf.print(x)
            tf.print(x)
        HELD.assign(x, read_value=False)

    assert names(silent) == ["write/AssignVariableOp", "a/PrintV2", "a/PrintV2_1", "AssignVariableOp"]


@pytest.mark.parametrize(
    "made",
    [
        lambda: tf.constant([1.0, 2.0], name="it"),
        lambda: tf.constant(1.0, shape=[2], name="it"),
        lambda: tf.convert_to_tensor([1.0, 2.0], name="it"),
    ],
)
def test_a_constant_has_its_name(made: Callable[[], tf.Tensor]) -> None:
    graph = tf.function(lambda x: x + made()).get_concrete_function(tf.TensorSpec([2])).graph
    assert "it" in [op.name for op in graph.get_operations()]
    assert made().numpy().tolist() in ([1.0, 2.0], [1.0, 1.0])


def test_a_tensor_that_is_converted_keeps_its_name() -> None:
    assert names(lambda x: tf.convert_to_tensor(tf.negative(x, name="first"), name="it")) == ["first"]


def test_an_error_closes_the_scope_of_a_function() -> None:
    def failing(x: tf.Tensor) -> tf.Tensor:
        with pytest.raises(ZeroDivisionError):
            tf.map_fn(lambda y: 1 // 0, x, name="it")
        return -x

    assert names(failing)[-1] == "Neg"


def test_a_scope_needs_a_name_that_is_a_string() -> None:
    with pytest.raises(TypeError, match="argument 'name' must be a string, got 3"):
        names(lambda x: tf.map_fn(lambda y: y, x, name=3))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="argument 'name' must be a string, got 3"):
        tf.name_scope(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="argument 'name' must be a string, got 3"):
        tf.raw_ops.add(1, 2, name=3)


@pytest.mark.parametrize("name", ["a b", "_x", "-a", "/a", "a:b", "a*", "é", "a\n"])
@pytest.mark.parametrize(
    "called",
    [
        lambda x, name: tf.name_scope(name).__enter__(),
        lambda x, name: tf.compat.v1.name_scope(name).__enter__(),
        lambda x, name: tf.nn.moments(x, [0], name=name),
        lambda x, name: tf.constant(1.0, name=name),
        lambda x, name: tf.add(x, x, name=name),
    ],
)
def test_a_graph_refuses_names_that_its_nodes_cannot_have(
    called: Callable[[tf.Tensor, str], object], name: str
) -> None:
    with pytest.raises(ValueError, match="is not a valid root scope name"):
        names(lambda x: called(x, name))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="is not a valid root scope name"):
        called(tf.constant([1.0, 2.0]), name)


@pytest.mark.parametrize(
    "made",
    [
        lambda name: tf.compat.v1.placeholder(tf.float32, [], name),
        lambda name: tf.no_op(name),
        lambda name: tf.group(name=name),
        lambda name: tf.Variable(1.0, name=name),
        lambda name: tf.compat.v1.get_variable(name, []),
        lambda name: tf.compat.v1.variable_scope(name).__enter__(),
    ],
)
def test_parts_of_an_open_graph_have_names_that_nodes_can_have(made: Callable[[str], object]) -> None:
    with tf.Graph().as_default():
        for name in ("a b", "_x"):
            with pytest.raises(ValueError, match="is not a valid root scope name"):
                made(name)
        with tf.name_scope("outer"), pytest.raises(ValueError, match=r"is not a valid (root )?scope name"):
            made("a b")
        made("a.b/c-d_e>f")


def test_names_below_a_scope_may_begin_with_other_characters() -> None:
    def below(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("a"), tf.name_scope("_b"):
            return -x

    assert names(below) == ["a/_b/Neg"]


def test_outside_of_graphs_any_name_will_do() -> None:
    with tf.name_scope("a b"):
        assert tf.Variable(1.0, name="_x y").name == "a b/_x y:0"
        assert int(tf.add(1, 2, name="a b")) == 3


def frames(error: BaseException) -> set[str]:
    """The files of the frames in a traceback."""
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


@pytest.mark.parametrize("name", [None, "it"])
@pytest.mark.parametrize(
    "fails",
    [
        lambda name: tf.scan(lambda a, _: a + "x", tf.constant([1.0, 2.0]), name=name),
        lambda name: tf.cond(tf.constant(True), lambda: 1 // 0, lambda: 1, name=name),
        lambda name: tf.RaggedTensor.from_row_splits([1.0], [0, "a"], name=name),
        lambda name: tf.data.Dataset.range(2).get_single_element(name),
        lambda name: tf.data.Dataset.range(2).reduce(0, lambda a, _: a + "x", name),
    ],
)
def test_errors_show_lines_of_the_user_alone(fails: Callable[[str | None], object], name: str | None) -> None:
    with pytest.raises(Exception) as eager:
        fails(name)
    with pytest.raises(Exception) as traced:
        tf.function(lambda: fails(name))()
    assert frames(eager.value) == frames(traced.value) == {__file__}


def test_errors_show_frames_of_the_library_where_that_is_wanted() -> None:
    tf.debugging.disable_traceback_filtering()
    try:
        with pytest.raises(ZeroDivisionError) as caught:
            tf.cond(tf.constant(True), lambda: 1 // 0, lambda: 1)
    finally:
        tf.debugging.enable_traceback_filtering()
    assert len(frames(caught.value)) > 1
