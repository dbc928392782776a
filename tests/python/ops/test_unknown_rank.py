"""Tensors of unknown rank: the examples of the public functions again, in graphs that know no rank."""

import ast
import doctest
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as tf

MODULES = ["image", "linalg", "math", "nn", "quantization", "ragged", "sets", "signal", "sparse", "strings"]

# Functions that refuse or differ, and why.
REFUSED = {
    "clip_by_global_norm": "takes a list of tensors",
    "linalg.global_norm": "takes a list of tensors",
    "identity_n": "takes a list of tensors",
    "stack": "takes a list of tensors",
    "parallel_stack": "takes a list of tensors",
    "add_n": "takes a list of tensors",
    "concat": "takes a list of tensors",
    "math.accumulate_n": "takes a list of tensors",
    "math.polyval": "takes a list of coefficients",
    "control_dependencies": "gives no tensors",
    "get_static_value": "tells whether a value is known",
    "is_symbolic_tensor": "tells whether a value is known",
    "make_tensor_proto": "needs values",
    "unstack": "the number of results is needed",
    "type_spec_from_value": "gives no tensors",
    "linalg.banded_triangular_solve": "a size is needed",
    "nn.ctc_beam_search_decoder": "a size is needed",
    "nn.dilation2d": "the sizes of a window are needed",
    "nn.erosion2d": "the sizes of a window are needed",
    "nn.fractional_avg_pool": "the sizes of an image are needed",
    "nn.fractional_max_pool": "the sizes of an image are needed",
    "nn.isotonic_regression": "a size is needed",
    "nn.dropout": "draws random numbers",
    "nn.all_candidate_sampler": "draws random numbers",
    "nn.fixed_unigram_candidate_sampler": "draws random numbers",
    "nn.learned_unigram_candidate_sampler": "draws random numbers",
    "nn.nce_loss": "draws random numbers",
    "nn.sampled_softmax_loss": "draws random numbers",
    "image.sample_distorted_bounding_box": "draws random numbers",
    "ragged.boolean_mask": "the number of ragged dimensions is that of the mask",
    "sparse.bincount": "the rank of the result is that of the argument",
    "sparse.sampled_addmm": "takes matrices",
    "strings.bytes_split": "the ragged rank of the result is that of the argument",
    "strings.split": "the ragged rank of the result is that of the argument",
    "strings.unicode_decode": "the ragged rank of the result is that of the argument",
    "strings.unicode_decode_with_offsets": "the ragged rank of the result is that of the argument",
}


class Call(NamedTuple):
    """A call of an example, and the place of a tensor among its arguments."""

    function: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any]
    place: int

    def result(self, tensor: Any) -> Any:
        return self.function(*self.args[: self.place], tensor, *self.args[self.place + 1 :], **self.kwargs)


def calls(function: Callable[..., Any]) -> Iterator[Call]:
    """The calls of a function in its own examples that are given tensors or arrays."""
    names: dict[str, Any] = {}

    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "example", "eval"), names)

    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        tree = ast.parse(example.source)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            try:
                if value(node.func) is not function:
                    continue
                args = [value(arg) for arg in node.args]
                kwargs = {word.arg: value(word.value) for word in node.keywords if word.arg}
            except Exception:  # it uses the variables of a loop or a function
                continue
            for place, arg in enumerate(args):
                if isinstance(arg, tf.Tensor | np.ndarray) or (place == 0 and isinstance(arg, list)):
                    yield Call(function, args, kwargs, place)
        try:
            exec(compile(tree, "example", "exec"), names)
        except Exception:  # some examples show errors
            continue


def comparable(value: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in tf.nest.flatten(value, expand_composites=True)]


@pytest.mark.parametrize("module", ["", *MODULES])
def test_examples_hold_where_no_rank_is_known(module: str) -> None:
    place = getattr(tf, module) if module else tf
    tried = 0
    # Some are loaded when they are first used.
    for name in sorted(getattr(place, "__all__", vars(place))):
        function = getattr(place, name)
        path = f"{module}.{name}".strip(".")
        if name.startswith("_") or isinstance(function, type) or not hasattr(function, "__doc__"):
            continue
        if not callable(function) or "random" in name or path in REFUSED:
            continue
        for call in calls(function):
            try:
                tensor = tf.convert_to_tensor(call.args[call.place])
            except (TypeError, ValueError):  # a list of other things
                continue
            unknown = tf.function(
                call.result, input_signature=[tf.TensorSpec(None, tensor.dtype)], autograph=False
            )
            try:
                wanted = comparable(call.result(tensor))
            except Exception:  # the example shows an error, or gives no tensors
                continue
            for a, b in zip(wanted, comparable(unknown(tensor)), strict=True):
                np.testing.assert_array_equal(a, b, err_msg=path)
            tried += 1
    assert tried > 0


def test_the_error_of_a_rank_that_does_not_fit_comes_when_the_graph_runs() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def twice(x: tf.Tensor) -> tf.Tensor:
        return tf.repeat(x, 2, axis=1)

    assert twice(tf.ones([2, 3])).shape == [2, 6]
    assert twice(tf.ones([2, 3, 4])).shape == [2, 6, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range: 1 for a tensor of 1"):
        twice(tf.ones([2]))
    assert twice.experimental_get_tracing_count() == 1


def test_a_rank_is_known_after_a_function_that_takes_one_alone() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def pooled(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.space_to_depth(x, 2)
        assert y.shape.rank == 4
        return y

    assert pooled(tf.ones([1, 4, 4, 1])).shape == [1, 2, 2, 4]
    with pytest.raises(tf.errors.InvalidArgumentError):
        pooled(tf.ones([4, 4, 1]))


def test_gradients_go_through_the_branch_that_ran() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def slope(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.linalg.trace(x) ** 2)
        return tape.gradient(y, x)

    for shape in ([2, 2], [3, 2, 2]):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        trace = x.trace(axis1=-2, axis2=-1)
        np.testing.assert_array_equal(slope(x), 2 * trace[..., None, None] * np.eye(2, dtype=np.float32))


def test_several_arguments_of_unknown_rank() -> None:
    spec = tf.TensorSpec(None)

    @tf.function(input_signature=[spec, spec])
    def likeness(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.image.psnr(x, y, 1.0)

    x, y = tf.random.uniform([2, 8, 8, 3], seed=1), tf.random.uniform([2, 8, 8, 3], seed=2)
    np.testing.assert_array_equal(likeness(x, y), tf.image.psnr(x, y, 1.0))
    np.testing.assert_array_equal(likeness(x[0], y[0]), tf.image.psnr(x[0], y[0], 1.0))


def test_a_variable_of_unknown_shape() -> None:
    v = tf.Variable(np.ones([2, 3], np.float32), shape=tf.TensorShape(None))
    turned = tf.function(lambda: tf.linalg.matrix_transpose(v))
    assert turned().shape == [3, 2]
    v.assign(np.ones([4, 2, 3], np.float32))
    assert turned().shape == [4, 3, 2]
