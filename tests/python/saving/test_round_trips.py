"""Programs of all kinds come back from files bit for bit; files stay whole, whatever ends who writes them."""

from __future__ import annotations

import concurrent.futures
import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.onnx_programs import PROGRAMS

import penstock as tf

# Programs beyond those that are written as models of ONNX: a function, and its arguments.
OTHERS: dict[str, tuple[Callable[..., Any], list[Any]]] = {}


def other(*arguments: Any) -> Callable[..., Any]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OTHERS[function.__name__] = function, [tf.constant(a) for a in arguments]
        return function

    return register


COUNTER = tf.Variable(1.0)
TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([1.0, 2.0])), -1.0
)
COUNTED = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
GENERATOR = tf.random.Generator.from_seed(3)


@other(2.0)
def variable_that_changes(x):
    COUNTER.assign_add(x)
    return COUNTER * x


@other(5)
def recursion(n):
    return factorial(n)


@tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
def factorial(n):
    if n <= 1:
        return tf.constant(1)
    return n * factorial(n - 1)


@other(["a", "c", "b"])
def static_table(keys):
    return TABLE.lookup(keys), TABLE.size()


@other([3, 4, 3])
def table_that_changes(keys):
    keys = tf.cast(keys, tf.int64)
    COUNTED.insert(keys, COUNTED.lookup(keys) + 1.0)
    return COUNTED.lookup(keys), COUNTED.size()


@other([3, 2])
def numbers_of_a_generator(shape):
    return GENERATOR.normal(shape), GENERATOR.uniform(shape, 0, 10, tf.int32)


@other([1, 2])
def numbers_of_a_seed(seed):
    return tf.random.stateless_normal([4], seed), tf.random.stateless_uniform([3], seed, 0, 9, tf.int32)


@other(["one two", "", "three"])
def ragged_strings(x):
    words = tf.strings.split(x)
    return words.row_lengths(), tf.strings.reduce_join(words.to_tensor(), -1), tf.strings.length(words.values)


@other([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 4])
def ragged_sums(values, splits):
    ragged = tf.RaggedTensor.from_row_splits(values, tf.cast(splits, tf.int64))
    return tf.ragged.map_flat_values(tf.square, ragged).to_tensor(), ragged.row_lengths()


@other("été")
def characters(x):
    return (
        tf.strings.unicode_decode(x, "UTF-8"),
        tf.strings.upper(x, "utf-8"),
        tf.strings.to_hash_bucket_fast(x, 10),
    )


@other([[4.0, 1.0], [1.0, 3.0]])
def decompositions(x):
    q, r = tf.linalg.qr(x)
    return (
        tf.linalg.cholesky(x),
        tf.linalg.inv(x),
        q @ r,
        tf.linalg.eigh(x)[0],
        tf.linalg.svd(x, compute_uv=False),
    )


@other([1.0, 2.0, 0.0, -1.0])
def spectrum(x):
    return tf.abs(tf.signal.rfft(x)), tf.math.real(tf.signal.ifft(tf.cast(x, tf.complex64)))


@other([0.1, 0.7])
def special_functions(x):
    return (
        tf.math.lgamma(x),
        tf.math.digamma(x),
        tf.math.erfinv(x),
        tf.math.zeta(x + 1.5, x),
        tf.math.ndtri(x),
    )


@tf.custom_gradient
def clipped(x):
    return tf.square(x), lambda g: tf.clip_by_value(g, -0.5, 0.5)


@other([1.0, -3.0])
def custom_gradient(x):
    return clipped(x) * 2.0


@other([1 + 2j, 3 - 1j])
def complex_numbers(x):
    return tf.math.conj(x) * x, tf.math.angle(x)


@other([1.0, 2.0, 3.0])
def gradient_of_a_loop(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(3):
            y = tf.sin(y) * x
    return tape.gradient(y, x)


CASES = {
    **{name: (p.function, p.specs, [tf.constant(a) for a in p.arguments]) for name, p in PROGRAMS.items()},
    **{name: (function, None, arguments) for name, (function, arguments) in OTHERS.items()},
}
# Each run leaves something behind: the loaded program goes on where the saved one was.
STATEFUL = {"variable_that_changes", "table_that_changes", "numbers_of_a_generator"}


def owner(function: Callable[..., Any]) -> tf.Module:
    made = tf.Module()
    made.call = function
    made.held = [COUNTED, GENERATOR, TABLE]
    return made


def outputs_and_gradients(call: Callable[..., Any], arguments: list[Any], slopes: bool) -> list[bytes]:
    """The bits of what a function gives, and of the gradients of its floats in its arguments of floats."""
    with tf.GradientTape() as tape:
        tape.watch([x for x in arguments if x.dtype.is_floating])
        results = tf.nest.flatten(call(*arguments))
        floats = [tf.reduce_sum(y) for y in results if y.dtype.is_floating]
    found = [
        np.asarray(y.numpy()).tobytes() if y.dtype != tf.string else repr(y.numpy()).encode() for y in results
    ]
    sources = [x for x in arguments if x.dtype.is_floating]
    if slopes and floats and sources:
        slopes_of = tape.gradient(floats, sources)
        found += [
            b"" if slope is None else tf.convert_to_tensor(slope).numpy().tobytes() for slope in slopes_of
        ]
    return found


def test_there_are_fifty_programs():
    assert len(CASES) >= 50


@pytest.mark.parametrize("name", CASES)
def test_a_program_comes_back_bit_for_bit_with_its_gradients(name, tmp_path):
    function, specs, arguments = CASES[name]
    traced = tf.function(function)
    traced.get_concrete_function(*(specs or arguments))
    tf.saved_model.save(owner(traced), tmp_path / "first")
    loaded = tf.saved_model.load(tmp_path / "first")
    # Saving what was loaded, before anything has run, gives the same file.
    tf.saved_model.save(loaded, tmp_path / "second")
    first, second = (tmp_path / part / "saved_model.penstock" for part in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    slopes = name not in STATEFUL | {"gradient"}
    expected = outputs_and_gradients(traced, arguments, slopes)
    assert outputs_and_gradients(loaded.call, arguments, slopes) == expected


def test_ten_thousand_runs_from_eight_threads_do_not_differ():
    trace = tf.function(lambda x: tf.nn.softmax(tf.tanh(x @ tf.transpose(x)) * 3.0)).get_concrete_function(
        tf.TensorSpec([None, 4], name="x")
    )
    program = tf.Program.from_bytes(tf.Program.of({"f": trace}).to_bytes())
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    expected = program.run("f", x=x)["output_0"].numpy().tobytes()

    def differ(_: int) -> int:
        return sum(program.run("f", x=x)["output_0"].numpy().tobytes() != expected for _ in range(1250))

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(differ, range(8))) == 0


def resident() -> int:
    """The bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_thousand_loads_leave_no_memory_behind(tmp_path):
    module = tf.Module()
    module.weights = tf.Variable(np.ones([100_000], np.float32))
    module.call = tf.function(
        lambda x: tf.reduce_sum(x * module.weights), input_signature=[tf.TensorSpec([])]
    )
    tf.saved_model.save(module, tmp_path)

    def load(times: int) -> int:
        for _ in range(times):
            loaded = tf.saved_model.load(tmp_path)
            assert float(loaded.call(2.0)) == 200_000.0
            del loaded
        gc.collect()
        return resident()

    before = load(100)
    # The weights alone, kept, would be 360 MB.
    assert load(900) - before < 20 << 20


def child(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments])


SAVING = """
import sys
import penstock as tf

def program(value):
    weights = tf.fill([20_000], value)
    trace = tf.function(lambda: tf.reduce_max(weights)).get_concrete_function()
    return tf.Program.of({"f": trace})
"""


def value_of(path: Path) -> float:
    return float(tf.Program.load(path).run("f")["output_0"])


@pytest.mark.skipif(sys.platform != "linux", reason="the signal of a file that grows beyond a limit")
def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file_or_the_new(tmp_path):
    # A limit of the size of files kills a process at the byte that goes beyond it.
    killing = (
        SAVING
        + """
import os, resource, signal
old, new, path = program(1.0), program(2.0), sys.argv[1]
old.save(path)
size, killed = os.path.getsize(path), 0
for limit in [0, 1, 40, 4096, size // 3, size // 2, size - 1, size]:
    process = os.fork()
    if not process:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        new.save(path)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    value = float(tf.Program.load(path).run("f")["output_0"])
    assert value == (1.0 if os.WIFSIGNALED(status) else 2.0), (limit, status, value)
    killed += os.WIFSIGNALED(status)
assert killed == 7, killed
"""
    )
    assert child(killing, str(tmp_path / "p.penstock")).wait() == 0
    assert value_of(tmp_path / "p.penstock") == 2.0


def test_of_two_processes_that_save_to_one_path_one_leaves_its_file_whole(tmp_path):
    path = tmp_path / "p.penstock"
    saving = (
        SAVING + "\nmade = program(float(sys.argv[2]))\nfor _ in range(40):\n    made.save(sys.argv[1])\n"
    )
    processes = [child(saving, str(path), value) for value in ("1.0", "2.0")]
    seen = set()
    while any(process.poll() is None for process in processes):
        if path.exists():
            seen.add(value_of(path))
    assert [process.wait() for process in processes] == [0, 0]
    assert value_of(path) in (1.0, 2.0)
    assert seen <= {1.0, 2.0}
    assert [each.name for each in tmp_path.iterdir()] == ["p.penstock"]
