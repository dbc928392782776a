"""Absurd structures and sizes: each ends in an error that says what is wrong, never in the end of Python."""

import dataclasses
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf


def nested(depth: int, wrap: Callable[[Any], Any], inner: Any = 1.0) -> Any:
    value = inner
    for _ in range(depth):
        value = wrap(value)
    return value


def endless_list() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def endless_dict() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


@dataclasses.dataclass
class Box:
    inside: Any


WRAPS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: [x],
    "tuple": lambda x: (x,),
    "dict": lambda x: {"a": x},
    "mapping": lambda x: types.MappingProxyType({"a": x}),
    "dataclass": Box,
}


@pytest.mark.parametrize(
    "make", [endless_list, lambda: nested(100_000, WRAPS["list"])], ids=["endless", "deep"]
)
def test_a_list_that_nests_without_end_is_no_constant(make: Callable[[], Any]) -> None:
    value = make()
    with pytest.raises(ValueError, match="at most 254 dimensions"):
        tf.constant(value)
    with pytest.raises(ValueError, match="at most 254 dimensions"):
        tf.ones([1]) + value


def test_a_list_with_tensors_that_nests_without_end_is_no_tensor() -> None:
    value: list[Any] = [tf.constant(1.0)]
    value.append(value)
    with pytest.raises((RecursionError, ValueError)):
        tf.stack(value)
    with pytest.raises((RecursionError, ValueError)):
        tf.convert_to_tensor(nested(100_000, WRAPS["list"], tf.constant(1.0)))


def test_a_class_that_converts_to_itself_is_no_tensor() -> None:
    class Mirror:
        def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> "Mirror":
            return self

    with pytest.raises(TypeError, match="gave a value of type Mirror, not a tensor"):
        tf.convert_to_tensor(Mirror())


@pytest.mark.parametrize("kind", WRAPS)
@pytest.mark.parametrize("leaf", ["number", "tensor"])
def test_an_argument_that_nests_too_deep_is_an_error(kind: str, leaf: str) -> None:
    f = tf.function(lambda x: 1)
    value = nested(100_000, WRAPS[kind], tf.constant(1.0) if leaf == "tensor" else 1.0)
    with pytest.raises(RecursionError):
        f(value)
    with pytest.raises(RecursionError):
        f.get_concrete_function(value)
    assert f(nested(5, WRAPS[kind], tf.constant(1.0))) is not None


def test_arguments_that_contain_themselves_are_errors() -> None:
    f = tf.function(lambda x=None, **more: 1)
    for value in (endless_list(), endless_dict()):
        with pytest.raises(RecursionError, match="contain itself"):
            f(value)
        with pytest.raises(RecursionError, match="contain itself"):
            f(named=value)


def test_results_that_nest_too_deep_are_errors() -> None:
    deep, endless = nested(100_000, WRAPS["list"]), endless_list()
    for value in (deep, endless):
        with pytest.raises(RecursionError):
            tf.function(lambda v=value: v, autograph=False)()
        with pytest.raises((RecursionError, ValueError)):
            tf.py_function(lambda v=value: v, [], tf.float32)
        with pytest.raises((RecursionError, ValueError)):
            tf.numpy_function(lambda v=value: v, [], tf.float32)
        for make in (tf.data.Dataset.from_tensors, tf.data.Dataset.from_tensor_slices):
            with pytest.raises((RecursionError, ValueError)):
                make(value)
    f = tf.function(lambda x: nested(100, WRAPS["tuple"], x), autograph=False)
    assert tf.nest.flatten(f(tf.constant(2.0)))[0].numpy() == 2.0


STRUCTURED: dict[str, Callable[[Any], Any]] = {
    "flatten": tf.nest.flatten,
    "map_structure": lambda value: tf.nest.map_structure(lambda x: x, value),
    "assert_same_structure": lambda value: tf.nest.assert_same_structure(value, value),
    "variable": tf.Variable,
    "ragged": tf.ragged.constant,
    "shape": tf.TensorShape,
    "reshape": lambda value: tf.reshape(tf.ones([1]), value),
    "signature": lambda value: tf.function(lambda x: x, input_signature=[value]),
    "while_loop": lambda value: tf.while_loop(lambda x: False, lambda x: [x], [value]),
    "gradient": lambda value: tf.GradientTape().gradient(tf.constant(1.0), value),
    "map": lambda value: tf.data.Dataset.range(1).map(lambda x: value),
    "from_generator": lambda value: list(
        tf.data.Dataset.from_generator(lambda: iter([value]), output_signature=tf.TensorSpec([]))
    ),
}


@pytest.mark.parametrize("call", STRUCTURED)
@pytest.mark.parametrize("make", [endless_list, endless_dict, lambda: nested(100_000, WRAPS["tuple"])])
def test_functions_of_structures_refuse_what_nests_without_end(call: str, make: Callable[[], Any]) -> None:
    value = make()
    with pytest.raises((RecursionError, TypeError, ValueError)):
        STRUCTURED[call](value)


def test_structures_are_walked_within_small_stacks() -> None:
    f = tf.function(lambda x: x, autograph=False)
    value = nested(250, WRAPS["dict"], tf.constant(1.0))
    f(value)
    said: list[BaseException | None] = []

    def work() -> None:
        for make in (lambda: f(value), lambda: tf.constant(endless_list())):
            try:
                make()
                said.append(None)
            except (RecursionError, ValueError) as error:
                said.append(error)

    before = threading.stack_size(128 << 10)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(said) == 2
    assert said[1] is not None


def test_the_number_of_results_is_limited() -> None:
    empty = tf.zeros([2**33, 0])
    f = tf.function(
        lambda x: tf.unstack(x, num=2**40), input_signature=[tf.TensorSpec(None)], autograph=False
    )
    for make in (
        lambda: tf.unstack(empty),
        lambda: tf.split(empty, 2**33),
        lambda: tf.unstack(empty, num=2**33),
        f.get_concrete_function,
    ):
        with pytest.raises(ValueError, match="Number of outputs is too big"):
            make()
    with pytest.raises(ValueError, match="num"):
        tf.unstack([1, 2], num=2**40)


@pytest.mark.parametrize("length", [255, 2**31, 2**61])
def test_vectors_of_sizes_are_no_longer_than_a_rank(length: int) -> None:
    spec = tf.TensorSpec([length], tf.int64)
    some = tf.TensorSpec(None, tf.float32)
    for body in (
        lambda n, x: tf.fill(n, 1.0),
        lambda n, x: tf.reshape(x, n),
        lambda n, x: tf.broadcast_to(x, n),
        lambda n, x: tf.tile(x, n),
        lambda n, x: tf.zeros(n),
        lambda n, x: tf.slice(x, n, n),
        lambda n, x: tf.random.normal(n),
        lambda n, x: tf.random.poisson(n, 1.0),
    ):
        f = tf.function(body, input_signature=[spec, some], autograph=False)
        with pytest.raises(tf.errors.OpError, match=r"at most 254 dimensions|too large to address"):
            f.get_concrete_function()


def test_extents_that_cannot_be_addressed_are_errors() -> None:
    for make in (
        lambda: tf.zeros([2**40, 2**40]),
        lambda: tf.zeros([2**40, 2**40, 0]),
        lambda: tf.reshape(tf.zeros([0]), [2**40, 2**40, 0]),
        lambda: tf.fill([2**62], 1.0),
        lambda: tf.constant(1.0, shape=[2**50]),
        lambda: tf.fill([2**48], ""),
        lambda: tf.range(2**60),
        lambda: tf.one_hot([0, 1], 2**60),
        lambda: tf.repeat([1.0, 2.0], [2**50, 1]),
    ):
        with pytest.raises((tf.errors.ResourceExhaustedError, ValueError)):
            make()
    assert tf.ones([1] * 254).shape.rank == 254
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 254 dimensions"):
        tf.ones([1] * 255)


@pytest.mark.parametrize("draw", ["poisson", "gamma", "stateless_poisson", "stateless_gamma"])
def test_shapes_of_random_numbers_are_not_truncated(draw: str) -> None:
    call = getattr(tf.random, draw)
    arguments = ([1, 2], [1.0]) if draw.startswith("stateless") else ([1.0],)
    for shape in ([2**48 + 2], [2**60 + 2, 4], np.array([2**48 + 2]), tf.constant([2**48 + 2])):
        for run in (call, tf.function(call, autograph=False)):
            with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
                run(shape, *arguments)
    for shape in ([2.5], np.array([2.5]), [True]):
        with pytest.raises(TypeError, match="'shape' must hold integers"):
            call(shape, *arguments)


@pytest.mark.parametrize("draw", ["poisson", "gamma"])
def test_random_numbers_of_no_parameters_are_none(draw: str) -> None:
    call = getattr(tf.random, draw)
    for run in (call, tf.function(call, autograph=False)):
        assert run([3], tf.zeros([0])).shape == (3, 0)
        assert run([3], tf.zeros([2, 0, 4])).shape == (3, 2, 0, 4)


def test_counts_beyond_32_bits_are_not_truncated() -> None:
    x = tf.ones([2, 2])
    big = tf.constant(2**32)
    assert tf.linalg.band_part(x, big, 0).numpy().tolist() == [[1, 0], [1, 1]]
    for make in (
        lambda: tf.random.categorical([[0.0, 0.0]], 2**48 + 2),
        lambda: tf.random.split([1, 2], 2**60 + 2),
        lambda: tf.linspace(0.0, 1.0, 2**60 + 2),
    ):
        with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.py_function(lambda a: a, [x], tf.float32),
        lambda x: tf.numpy_function(lambda a: a, [x], tf.float32),
        lambda x: tf.boolean_mask(x, x > 0),
        lambda x: tf.unique(x)[0],
    ],
    ids=["py_function", "numpy_function", "boolean_mask", "unique"],
)
@pytest.mark.parametrize("use", [lambda r: r, lambda r: tf.exp(r * 2.0) + r, tf.reduce_sum])
def test_a_promised_shape_that_does_not_hold_is_named(
    make: Callable[[Any], Any], use: Callable[[Any], Any]
) -> None:
    def body(x: Any) -> Any:
        result = make(x)
        result.set_shape([3])
        return use(result)

    f = tf.function(body, autograph=False)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"has shape \[2\], but the program promised the shape \[3\]"
    ):
        f(tf.constant([1.0, 2.0]))
    assert f(tf.constant([1.0, 2.0, 3.0])) is not None


LIMITED = {
    "strings that double": """
        s = tf.constant("x" * 2**20)
        while True:
            s = tf.strings.join([s, s])
    """,
    "strings that are added": """
        s = tf.constant("x" * 2**20)
        while True:
            s = s + s
    """,
    "a long list": """
        tf.constant([1.0] * 60_000_000)
    """,
    "a long list of strings": """
        tf.constant(["a"] * 60_000_000)
    """,
    "distinct elements": """
        tf.unique(tf.range(80_000_000))
    """,
    "repeated strings": """
        tf.tile(tf.constant(["a"] * 1000), [60_000])
    """,
    "a trace without end": """
        def body(x):
            while True:
                x = x + 1.0
            return x
        tf.function(body, autograph=False)(tf.constant(1.0))
    """,
    "the gradient of a long trace": """
        def body(x):
            for _ in range(400_000):
                x = tf.sin(x)
            return x
        f = tf.function(body, autograph=False)
        with tf.GradientTape() as tape:
            x = tf.constant(1.0)
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
    """,
    "long rows": """
        tf.sort(tf.fill([1, 220_000_000], 1.0))
    """,
    "a list that grows": """
        @tf.function
        def grow(n):
            items = []
            for i in tf.range(n):
                items.append(tf.strings.as_string(i))
            return items
        grow(10**9)
    """,
    "an array that grows": """
        @tf.function
        def grow(n):
            items = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            for i in tf.range(n):
                items = items.write(i, tf.ones([20]) * tf.cast(i, tf.float32))
            return items.stack()
        grow(10**9)
    """,
    "many words": """
        tf.strings.split(tf.strings.reduce_join(tf.fill([6_000_000], "a b c d"), separator=" "))
    """,
    "a tape without end": """
        x = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = x
            while True:
                y = y + x
    """,
    "the gradient of a long tape": """
        x = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = x
            for _ in range(5_000_000):
                y = y + x
        tape.gradient(y, x)
    """,
    "tangents without end": """
        x = tf.constant(1.0)
        kept = []
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)):
            y = x
            while True:
                y = y + x
                kept.append(y)
    """,
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory of a process")
@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("megabytes", [650, 1500])
def test_memory_that_cannot_be_had_is_an_error(name: str, megabytes: int, tmp_path: Path) -> None:
    program = f"""
        import resource
        resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20, {megabytes} << 20))
        import penstock as tf
        try:
        {textwrap.indent(textwrap.dedent(LIMITED[name]), "            ")}
        except (tf.errors.ResourceExhaustedError, MemoryError):
            print("refused")
    """
    file = tmp_path / "program.py"  # functions that are converted have a source
    file.write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "refused", done.stderr[-500:]


SCRATCH = [
    "tf.linalg.cholesky(definite)",
    "tf.linalg.qr(a)",
    "tf.linalg.svd(a)",
    "tf.linalg.svd(a, compute_uv=False)",
    "tf.linalg.eigh(definite)",
    "tf.linalg.eigvalsh(definite)",
    "tf.linalg.eig(a)",
    "tf.linalg.eigvals(tf.cast(a, tf.complex64))",
    "tf.linalg.lu(a)",
    "tf.linalg.det(a)",
    "tf.linalg.solve(a, a)",
    "tf.matmul(a, a)",
    "tf.matmul(tf.cast(a, tf.complex64), tf.cast(a, tf.complex64))",
    "tf.signal.fft(tf.cast(row, tf.complex64))",
    "tf.signal.rfft(row)",
    "tf.signal.irfft(tf.cast(row, tf.complex64))",
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory of a process")
@pytest.mark.parametrize("expression", SCRATCH)
def test_scratch_memory_that_cannot_be_had_is_an_error(expression: str) -> None:
    program = f"""
        import resource
        import numpy as np
        import penstock as tf
        n = 150
        a = tf.constant(np.random.default_rng(0).standard_normal((n, n)), tf.float32)
        definite = tf.matmul(a, a, transpose_b=True) + n * tf.eye(n)
        # A prime number of elements.
        row = tf.ones([99_991])
        # Python's parser does not say what is wrong where memory is short.
        tf.linalg, tf.signal
        unlimited = resource.getrlimit(resource.RLIMIT_AS)
        for spare in [0, *(2**k for k in range(15, 27))]:
            with open("/proc/self/statm") as file:
                limit = int(file.read().split()[0]) * resource.getpagesize() + spare
            resource.setrlimit(resource.RLIMIT_AS, (limit, unlimited[1]))
            try:
                {expression}
            except (tf.errors.ResourceExhaustedError, MemoryError):
                pass
            finally:
                resource.setrlimit(resource.RLIMIT_AS, unlimited)
        {expression}
        print("alive")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "alive", done.stderr[-500:]


EMPTY: dict[str, Callable[[], Any]] = {
    "cholesky": lambda: tf.linalg.cholesky(tf.zeros([2**40, 0, 0])),
    "svd": lambda: tf.linalg.svd(tf.zeros([2**40, 0, 5]), compute_uv=False),
    "qr": lambda: tf.linalg.qr(tf.zeros([2**40, 0, 0])),
    "eigh": lambda: tf.linalg.eigh(tf.zeros([2**40, 0, 0])),
    "eig": lambda: tf.linalg.eig(tf.zeros([2**40, 0, 0])),
    "lu": lambda: tf.linalg.lu(tf.zeros([2**40, 0, 0])),
    "inv": lambda: tf.linalg.inv(tf.zeros([2**40, 0, 0])),
    "solve": lambda: tf.linalg.solve(tf.zeros([2**40, 0, 0]), tf.zeros([2**40, 0, 0])),
    "triangular_solve": lambda: tf.linalg.triangular_solve(tf.zeros([2**40, 0, 0]), tf.zeros([2**40, 0, 0])),
    "fft": lambda: tf.signal.fft(tf.zeros([2**40, 0], tf.complex64)),
    "matmul": lambda: tf.matmul(tf.zeros([2**40, 0, 3]), tf.zeros([2**40, 3, 0])),
    "cumsum": lambda: tf.cumsum(tf.zeros([2**40, 0]), 1),
    "softmax": lambda: tf.nn.softmax(tf.zeros([2**40, 0])),
    "reduce_sum": lambda: tf.reduce_sum(tf.zeros([2**20, 2**20, 0]), [0, 2])[:0],
    "sort": lambda: tf.sort(tf.zeros([2**40, 0])),
    "conv1d": lambda: tf.nn.conv1d(tf.zeros([1, 4, 0]), tf.zeros([2**40, 0, 1]), 1, "SAME"),
    "max_pool": lambda: tf.nn.max_pool(tf.zeros([1, 4, 4, 0]), 2**31, 1, "SAME"),
    "a wide max_pool": lambda: tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), 2**31, 1, "SAME"),
    "a wide avg_pool": lambda: tf.nn.avg_pool(tf.zeros([1, 4, 4, 1]), 2**31, 1, "SAME"),
    "a dilated conv2d": lambda: tf.nn.conv2d(
        tf.zeros([1, 4, 4, 1]), tf.zeros([3, 3, 1, 1]), 1, "SAME", dilations=2**31
    ),
    "a repeated data set": lambda: list(tf.data.Dataset.range(0).repeat(2**60)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_what_has_no_elements_takes_no_time_whatever_its_extents(name: str) -> None:
    # One that followed the extents would not end.
    leaves = tf.nest.flatten(EMPTY[name]())
    assert not any(np.any(leaf) for leaf in leaves)
