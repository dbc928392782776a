"""Bad input of every kind: an exception of the right class that names what is at fault; never a crash."""

import copy
import pickle
import re

import numpy as np
import pytest
from support import run_python

import penstock as tf

X = np.ones([2, 3], "float32")

CASES = {
    # what to do, the class, and what the message says
    "wrong dtype": (
        lambda: tf.matmul(tf.constant(X), tf.constant(X, tf.float64)),
        TypeError,
        "matmul.*'b'.*float64.*float32",
    ),
    "dtype that is not supported": (lambda: tf.exp(tf.constant(["a"])), TypeError, "exp.*'x'.*string"),
    "integers where floats are needed": (lambda: tf.sqrt(tf.constant([4])), TypeError, "sqrt.*'x'.*int32"),
    "float indices": (lambda: tf.gather(X, tf.constant([1.0])), TypeError, "gather.*'indices'.*float32"),
    "float axis": (lambda: tf.concat([X, X], 1.5), TypeError, "axis"),
    "shapes that do not broadcast": (lambda: tf.add(X, np.ones([2], "float32")), ValueError, "add"),
    "inner sizes that differ": (lambda: tf.matmul(X, X), ValueError, "matmul"),
    "a rank that is too low": (lambda: tf.matmul(X, np.ones([3], "float32")), ValueError, "matmul.*'b'"),
    "an axis out of range": (lambda: tf.concat([X, X], 2), ValueError, "concat.*axis"),
    "a reduction axis out of range": (lambda: tf.reduce_sum(X, 5), ValueError, "reduce_sum.*'axis'"),
    "an axis out of range downwards": (lambda: tf.reduce_sum(X, -3), ValueError, "reduce_sum.*'axis'"),
    "an axis twice": (lambda: tf.reduce_sum(X, [0, 0]), ValueError, "reduce_sum.*'axis'"),
    "expand_dims out of range": (lambda: tf.expand_dims(X, 4), ValueError, "expand_dims.*axis"),
    "squeeze of a size that is not 1": (lambda: tf.squeeze(X, 0), ValueError, "squeeze.*'axis'"),
    "an index dtype of argmax": (lambda: tf.argmax(X, 0, tf.float32), TypeError, "argmax.*'output_type'"),
    "text in argmax": (lambda: tf.argmax(["a"]), TypeError, "argmax.*'input'.*string"),
    "text that is sorted": (lambda: tf.sort(["a"]), TypeError, "sort.*'values'.*string"),
    "an axis of text": (lambda: tf.reverse(X, ["a"]), TypeError, "axis"),
    "an angle of integers": (lambda: tf.atan2(1, x=2), TypeError, "atan2.*'y'.*int32"),
    "negative integers counted": (lambda: tf.math.bincount([1, -3]), ValueError, "bincount.*'arr'.*-3"),
    "a value that is no tensor": (lambda: tf.boolean_mask(X, object()), TypeError, "'mask'.*object"),
    "None for a tensor": (lambda: tf.repeat(None, 2), ValueError, "None values not supported"),
    "a dtype that is none": (lambda: tf.cast(X, "bad"), TypeError, "'dtype'.*'bad'"),
    "an axis that is no number": (lambda: tf.reduce_sum(X, object()), TypeError, "'axis'"),
    "stack of different shapes": (lambda: tf.stack([X, X[:1]]), ValueError, "stack"),
    "stack of nothing": (lambda: tf.stack([], 1), ValueError, "stack.*'values'"),
    "concat of nothing": (lambda: tf.concat([], 0), ValueError, "concat.*'values'"),
    "concat of scalars": (lambda: tf.concat([1, 2], 0), ValueError, "concat"),
    "concat of other sizes": (lambda: tf.concat([X, X[:, :1]], 0), ValueError, "concat"),
    "unstack of another number": (lambda: tf.unstack(X, num=5), ValueError, "unstack.*num"),
    "a split that does not divide": (lambda: tf.split(X, 2, 1), ValueError, "split"),
    "sizes that do not add up": (lambda: tf.split(X, [1, 1], 1), ValueError, "split"),
    "reshape to another number": (lambda: tf.reshape(X, [4, 2]), ValueError, "reshape.*'shape'"),
    "two unknown sizes": (lambda: tf.reshape(X, [-1, -1]), ValueError, "reshape.*'shape'"),
    "a negative size": (lambda: tf.zeros([2, -1]), ValueError, "fill.*'dims'.*-1"),
    "a size that is None": (lambda: tf.zeros([None, 2]), ValueError, "'shape'"),
    "a shape of floats": (lambda: tf.zeros([2.5]), TypeError, "fill.*'dims'"),
    "a shape of text": (lambda: tf.zeros(["a"]), TypeError, "fill.*'dims'"),
    "a perm that is too short": (lambda: tf.transpose(X, [0]), ValueError, "transpose.*perm"),
    "a perm that repeats": (lambda: tf.transpose(X, [0, 0]), ValueError, "transpose.*perm"),
    "a permutation that is none": (lambda: tf.math.invert_permutation([0, 0]), ValueError, "'x'"),
    "a gather out of range": (lambda: tf.gather(X, [5]), ValueError, "gather.*'indices'.*5"),
    "a gather of a negative index": (lambda: tf.gather(X, [-1]), ValueError, "gather.*'indices'.*-1"),
    "a gather_nd out of range": (lambda: tf.gather_nd(X, [[0, 9]]), ValueError, "gather_nd.*'indices'"),
    "a gather_nd too deep": (lambda: tf.gather_nd(X, [[0, 0, 0]]), ValueError, "gather_nd.*'indices'"),
    "a scatter out of range": (lambda: tf.scatter_nd([[9]], [1.0], [3]), ValueError, "scatter_nd.*'indices'"),
    "a slice out of range": (lambda: tf.slice(X, [0, 0], [3, 1]), ValueError, "slice.*'size'"),
    "a slice of another rank": (lambda: tf.slice(X, [0], [1]), ValueError, "slice.*'begin'"),
    "a mask of another shape": (lambda: tf.boolean_mask(X, [True]), ValueError, "boolean_mask.*'mask'"),
    "a mask that is a scalar": (lambda: tf.boolean_mask(X, True), ValueError, "boolean_mask.*'mask'"),
    "only one branch of where": (lambda: tf.where(True, 1), ValueError, "where.*'x' and 'y'"),
    "a condition that is no bool": (
        lambda: tf.where([1, 0], X[:, 0], X[:, 0]),
        TypeError,
        "select.*'condition'",
    ),
    "a pad of another rank": (lambda: tf.pad(X, [[1, 1]]), ValueError, "pad.*'paddings'"),
    "a negative pad": (lambda: tf.pad(X, [[-1, 0], [0, 0]]), ValueError, "pad.*'paddings'"),
    "a mirror that is too small": (
        lambda: tf.pad(X, [[2, 0], [0, 0]], "REFLECT"),
        ValueError,
        "pad.*'paddings'",
    ),
    "an unknown mode": (lambda: tf.pad(X, [[0, 0], [0, 0]], "WRAP"), ValueError, "'mode'.*WRAP"),
    "a range of step 0": (lambda: tf.range(1, 5, 0), ValueError, "range.*'delta'"),
    "a range that leads away": (lambda: tf.range(5, 1), ValueError, "range"),
    "one_hot of another dtype": (lambda: tf.one_hot([1], 2, 1, 0.5), TypeError, "one_hot.*'off_value'"),
    "one_hot of floats": (lambda: tf.one_hot([1.0], 2), TypeError, "one_hot.*'indices'"),
    "ensure_shape": (lambda: tf.ensure_shape(X, [3, None]), ValueError, "ensure_shape"),
    "a norm of no order": (lambda: tf.norm(X, "max"), ValueError, "'ord'"),
    "einsum with other ranks": (lambda: tf.einsum("ijk->i", X), ValueError, "einsum.*'equation'"),
    "einsum with other sizes": (lambda: tf.einsum("ij,kj->ik", X, X[:, :2]), ValueError, "einsum.*'j'"),
    "einsum with a new label": (lambda: tf.einsum("ij->iz", X), ValueError, "einsum.*'equation'"),
    "einsum with too few operands": (lambda: tf.einsum("ij,jk->ik", X), ValueError, "einsum.*operands"),
    "tensordot of unequal lists": (lambda: tf.tensordot(X, X, [[0, 1], [0]]), ValueError, "'axes'"),
    "numbers from a text that is none": (lambda: tf.strings.to_number("1x"), ValueError, "string_to_number"),
    "a substring out of range": (lambda: tf.strings.substr("abc", 5, 1), ValueError, "substr.*'pos'"),
    "a broken pattern": (
        lambda: tf.strings.regex_replace("a", "(", ""),
        ValueError,
        "regex_replace.*'pattern'",
    ),
    "labels out of range": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 7], X),
        ValueError,
        "sparse_softmax_cross_entropy.*'labels'",
    ),
    "labels of another shape": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([0], X),
        ValueError,
        "'labels'",
    ),
    "random integers without a bound": (
        lambda: tf.random.uniform([1], dtype=tf.int32),
        ValueError,
        "maxval",
    ),
    "random numbers of text": (lambda: tf.random.uniform([1], dtype=tf.string), ValueError, "'dtype'"),
    "a seed of another shape": (lambda: tf.random.stateless_normal([1], [1, 2, 3]), ValueError, "'seed'"),
    "an object that is no number": (lambda: tf.add(object(), 1), TypeError, "object"),
    "a function that is no tensor": (lambda: tf.exp(len), TypeError, "exp.*'x'"),
    "a ragged list": (
        lambda: tf.reduce_sum([[1], [2, 3]]),
        ValueError,
        "reduce_sum.*'input_tensor'.*rectang",
    ),
    "an unknown keyword": (lambda: tf.print("a", colour="red"), TypeError, "colour"),
    "an unknown stream": (lambda: tf.print("a", output_stream="printer"), ValueError, "'output_stream'"),
    "a device that is none": (lambda: tf.device("/toaster:0"), ValueError, "'device_name'"),
    "Assert": (lambda: tf.Assert(False, ["boom", 7]), tf.errors.InvalidArgumentError, "boom.*7"),
    "assert_equal": (
        lambda: tf.debugging.assert_equal(1, 2, "msg"),
        tf.errors.InvalidArgumentError,
        "msg.*==.*1.*2",
    ),
    "assert_positive": (lambda: tf.debugging.assert_positive([1, 0]), tf.errors.InvalidArgumentError, "> 0"),
    "assert_near": (lambda: tf.debugging.assert_near(1.0, 1.1), tf.errors.InvalidArgumentError, "tolerance"),
    "assert_rank": (lambda: tf.debugging.assert_rank(X, 1, "msg"), ValueError, "msg.*rank 1.*2"),
    "assert_type": (lambda: tf.debugging.assert_type(X, tf.int32), TypeError, "int32.*float32"),
    "assert_integer": (lambda: tf.debugging.assert_integer(X), TypeError, "float32"),
    "assert_scalar": (lambda: tf.debugging.assert_scalar(X), ValueError, "rank 0"),
    "assert_shapes": (lambda: tf.debugging.assert_shapes([(X, ("N", "N"))]), ValueError, "dimension 1"),
    "check_numerics": (lambda: tf.debugging.check_numerics([np.nan], "msg"), ValueError, "msg.*[Nn]a[Nn]"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_an_error_that_says_what_is_wrong(case):
    action, kind, text = CASES[case]
    with pytest.raises(kind, match=f"(?s){text}"):
        action()


@pytest.mark.parametrize("case", CASES)
def test_bad_input_in_a_traced_function_is_the_same_error(case):
    action, kind, _ = CASES[case]

    @tf.function
    def f():
        return action()

    with pytest.raises(kind):
        f()
    assert tf.executing_eagerly()


HUGE = [
    lambda: tf.zeros([2**40, 2**40]),
    lambda: tf.zeros([2**62]),
    lambda: tf.zeros([2**31 - 1, 2**31 - 1, 2**31 - 1]),
    lambda: tf.fill([2**50], 1.0),
    lambda: tf.broadcast_to(1.0, [2**40, 2**20]),
    lambda: tf.tile([1.0], [2**50]),
    lambda: tf.range(2**60),
    lambda: tf.one_hot([1], 2**50),
    lambda: tf.pad([1.0], [[2**50, 2**50]]),
    lambda: tf.random.uniform([2**50]),
    lambda: tf.linalg.diag(tf.zeros([2**21])),
    lambda: tf.matmul(tf.zeros([2**22, 1]), tf.zeros([1, 2**22])),
    lambda: tf.eye(2**22),
]


@pytest.mark.parametrize("index", range(len(HUGE)))
def test_sizes_that_no_memory_holds_are_an_error(index):
    with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
        HUGE[index]()
    assert tf.zeros([2]).numpy().tolist() == [0, 0]


def test_a_function_that_needs_too_much_memory_fails_and_the_next_call_works():
    @tf.function
    def f(n):
        return tf.reduce_sum(tf.reshape(tf.zeros([n, n]), [-1])[:1])

    with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
        f(tf.constant(2**26))
    assert f(tf.constant(2)).numpy() == 0


def test_error_classes_derive_from_pythons():
    assert issubclass(tf.errors.InvalidArgumentError, ValueError)
    assert issubclass(tf.errors.OutOfRangeError, IndexError)
    assert issubclass(tf.errors.IndexOutOfBoundsError, tf.errors.InvalidArgumentError)
    assert issubclass(tf.errors.IndexOutOfBoundsError, IndexError)
    assert issubclass(tf.errors.ResourceExhaustedError, MemoryError)
    assert issubclass(tf.errors.UnimplementedError, NotImplementedError)
    while_tracing = {
        tf.errors.OperatorNotAllowedInGraphError,
        tf.errors.ConversionError,
        tf.errors.SignatureError,
        tf.errors.UnsetError,
    }
    for name in tf.errors.__all__:
        kind = getattr(tf.errors, name)
        if isinstance(kind, type) and kind not in while_tracing:
            assert issubclass(kind, tf.errors.OpError)


def test_another_device_stands_in_for_one_that_is_not_there_unless_that_is_forbidden():
    with tf.device("/CPU:0"), tf.device(None), tf.device("/job:localhost/replica:0/task:0/device:CPU:0"):
        assert tf.add(1, 1).numpy() == 2
    present = len(tf.config.list_physical_devices("GPU"))
    assert tf.config.get_soft_device_placement()
    for name in (f"GPU:{present}", f"/device:GPU:{present}", "CPU:9", "TPU:0"):
        with tf.device(name):
            assert tf.add(1, 1).numpy() == 2
            assert tf.function(lambda: tf.add(1, 1))().numpy() == 2
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="device_name"), tf.device(f"/GPU:{present}"):
            pass
    finally:
        tf.config.set_soft_device_placement(True)
    assert tf.config.list_physical_devices("CPU")[0].name == "/physical_device:CPU:0"
    assert tf.config.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    with pytest.raises(ValueError, match="CPU"):
        tf.config.set_visible_devices([], "CPU")


def test_threads_of_the_engine_can_be_set():
    threading = tf.config.threading
    threading.set_intra_op_parallelism_threads(1)
    try:
        assert threading.get_intra_op_parallelism_threads() == 1
        assert tf.reduce_sum(tf.ones([100000])).numpy() == 100000
    finally:
        threading.set_intra_op_parallelism_threads(0)
    with pytest.raises(ValueError, match="num_threads"):
        threading.set_inter_op_parallelism_threads(-1)


def test_an_uncaught_error_ends_the_program_with_a_traceback_and_no_abort():
    code = "import penstock as tf\n@tf.function\ndef f(x):\n    return tf.gather(x, 9)\nf(tf.constant([1]))"
    done = run_python(code, check=False)
    assert done.returncode == 1
    assert "InvalidArgumentError" in done.stderr
    assert "gather" in done.stderr
    assert "panicked" not in done.stderr


CODED = sorted(
    name
    for name, value in vars(tf.errors).items()
    if isinstance(value, type) and "error_code" in vars(value) and not name.startswith("_")
)
WITH_NUMBERS = [name for name in CODED if name not in ("OpError", "InaccessibleTensorError")]


def test_errors_are_made_as_in_tensorflow_too():
    error = tf.errors.InvalidArgumentError(None, None, "bad")
    assert (str(error), error.message, error.op) == ("bad", "bad", None)
    error = tf.errors.NotFoundError(node_def=None, op=None, message="gone")
    assert (str(error), error.message) == ("gone", "gone")
    error = tf.errors.OutOfRangeError(None, None, message="end")
    assert (str(error), error.message, error.op) == ("end", "end", None)
    error = tf.errors.InternalError("short", "add")
    assert (error.message, error.op, error.node_def) == ("short", "add", None)
    error = tf.errors.OpError(None, None, "no such user", tf.errors.NOT_FOUND)
    assert (str(error), error.error_code, error.experimental_payloads) == ("no such user", 5, {})
    assert tf.errors.OpError("short").error_code == tf.errors.UNKNOWN


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_each_class_takes_a_node_an_operation_a_message_and_details(name):
    cls = getattr(tf.errors, name)
    number = getattr(tf.errors, re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Error")).upper())
    node, operation, details = object(), object(), {"url": b"content"}
    for error in (
        cls(node, operation, "said", details),
        cls(node, operation, "said"),
        cls(node_def=node, op=operation, message="said"),
    ):
        assert (error.node_def, error.op, error.message, str(error)) == (node, operation, "said", "said")
        assert error.error_code == number == cls.error_code
    assert cls(node, operation, "said", details).experimental_payloads == details
    assert cls(node, operation, "said").experimental_payloads == {}


@pytest.mark.parametrize("name", CODED)
def test_copies_and_pickles_of_errors_have_all_their_parts(name):
    cls = getattr(tf.errors, name)
    made = [cls("short"), cls("short", "add"), cls(None, "add", "said"), cls(["node"], "add", "said")]
    if name == "OpError":
        made.append(cls(None, None, "said", tf.errors.ABORTED, {"url": b"content"}))
    else:
        made.append(cls(None, None, "said", {"url": b"content"}))
    for error in made:
        error.add_note("seen")
        for back in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(back) is cls
            assert str(back) == str(error)
            assert vars(back) == vars(error)
            assert back.args == error.args
            assert back.error_code == error.error_code


def test_error_codes_are_numbered_as_in_grpc():
    assert (tf.errors.OK, tf.errors.INVALID_ARGUMENT, tf.errors.UNAUTHENTICATED) == (0, 3, 16)
    assert tf.errors.ResourceExhaustedError.error_code == tf.errors.RESOURCE_EXHAUSTED
    with pytest.raises(tf.errors.OpError) as caught:
        tf.gather([1], 3)
    assert caught.value.error_code == tf.errors.INVALID_ARGUMENT


def test_operations_of_long_functions_have_their_lines():
    def long(length, place):
        """A function of so many lines of operations, of which one fails when it runs."""
        lines = ["    x = x + 1.0"] * length
        lines[place - 2] = "    x = x + tf.gather(x, 7)"
        scope = {"tf": tf}
        exec(compile("\n".join(["def f(x):", *lines, "    return x"]), "<long>", "exec"), scope)
        return tf.function(scope["f"], autograph=False)

    # Code objects come and go, so that some lie where others lay.
    for length, place in [(3000, 2987), (3000, 12), (2500, 2400), (3000, 1500), (200, 199)]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf'File "<long>", line {place}, in f'):
            long(length, place)(tf.zeros([3]))


# --- where it was --------------------------------------------------------------


@tf.function
def dividing(x, y):
    return x // y  # divided


@tf.function
def between(x, y):
    return dividing(x, y) + 1  # between


@tf.function
def outermost(x, y):
    return between(x, y) * 2  # outermost


@tf.function
def in_branches(x, y):
    if x > 0:
        x = between(x, y)  # in a branch
    return x


@tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
def down(n):
    if n == 0:
        return dividing(1, n)  # the end
    return down(n - 1) + 1  # down


def line_of(comment):
    lines = open(__file__, encoding="utf-8").read().splitlines()  # noqa: PTH123, SIM115
    (line,) = (i for i, text in enumerate(lines, 1) if text.endswith(f"# {comment}"))
    return line


def places(error):
    found = re.findall(r'\n  (called from )?File "(.*)", line (\d+), in (\w+)', str(error))
    assert {file for _, file, _, _ in found} == {__file__}
    assert [bool(called) for called, *_ in found] == [False] + [True] * (len(found) - 1)
    return [(int(line), name) for _, _, line, name in found]


@pytest.mark.parametrize(("function", "last"), [(outermost, "outermost"), (in_branches, "in a branch")])
def test_an_error_of_a_run_shows_the_calls_that_led_to_it(function, last):
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero") as caught:
        function(tf.constant(1), tf.constant(0))
    expected = [(line_of("divided"), "dividing"), (line_of("between"), "between")]
    assert places(caught.value) == [*expected, (line_of(last), function.__name__)]


def test_the_calls_of_a_recursion_are_shown_up_to_a_number():
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero") as caught:
        down(tf.constant(100))
    found = places(caught.value)
    assert found[:2] == [(line_of("divided"), "dividing"), (line_of("the end"), "down")]
    assert set(found[2:]) == {(line_of("down"), "down")}
    assert len(found) == 16
    assert re.search(r"and \d+ more calls$", str(caught.value))


def test_variables_that_a_later_call_makes_are_told_with_their_line():
    @tf.function
    def fresh(x):
        return tf.Variable(1.0) + x  # a new variable

    with pytest.raises(ValueError, match=f"singleton(?s:.*)line {line_of('a new variable')}, in fresh"):
        fresh(tf.constant(1.0))


def test_a_tensor_that_left_its_trace_is_inaccessible():
    kept = []

    @tf.function
    def leaky(x):
        kept.append(x + 1.0)
        return x

    leaky(tf.constant(1.0))
    for use in (lambda: kept[0] * 2.0, lambda: tf.reduce_sum(kept[0]), tf.function(lambda: kept[0] * 2.0)):
        with pytest.raises(tf.errors.InaccessibleTensorError, match="out of scope") as caught:
            use()
        assert isinstance(caught.value, TypeError)
        assert not isinstance(caught.value, tf.errors.DTypeError)


def test_words_take_the_article_that_they_need():
    concrete = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([2], tf.int32))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"an int32 Tensor, shape=\(2,\), got a float32 Tensor"
    ):
        concrete(tf.zeros([2]))
