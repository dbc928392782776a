"""An interrupt ends work that would go on for minutes, and leaves everything else as it was."""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

# The programs run in processes of their own. A thread sends SIGINT once the work is under way, as the time
# shows that the processors have spent on it.
PRELUDE = """
import os, resource, signal, threading, time
import numpy as np
import penstock as tf

def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

def interrupt(work):
    def watch(start):
        while spent() < start + 0.3:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
    sender = threading.Thread(target=watch, args=(spent(),))
    try:
        sender.start()
        work()
    except KeyboardInterrupt:
        sender.join()
        return
    raise AssertionError("the work was not interrupted")
"""


def run(code, timeout=60):
    """Runs a program, which an interrupt has to end before the timeout."""
    with tempfile.TemporaryDirectory() as directory:
        # In a file, as functions that AutoGraph converts have to be.
        program = Path(directory) / "program.py"
        program.write_text(PRELUDE + textwrap.dedent(code) + "\nprint('done', flush=True)\nos._exit(0)\n")
        done = subprocess.run(
            [sys.executable, program], capture_output=True, text=True, timeout=timeout, check=False
        )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


# Each takes minutes, without much memory.
WORK = {
    "singular values": (
        "tf.random.normal([5000, 5000], dtype=tf.float64)",
        "tf.linalg.svd(x, compute_uv=False)",
    ),
    "eigenvalues": ("tf.random.normal([3000, 3000], dtype=tf.float64)", "tf.linalg.eigvals(x)"),
    "matmul": ("tf.ones([6000, 6000], tf.int64)", "tf.matmul(x, x)"),
    "convolution": ("tf.ones([2, 512, 512, 64])", "tf.nn.conv2d(x, tf.ones([101, 101, 64, 64]), 1, 'SAME')"),
    "fused reduction": (
        "tf.random.uniform([200_000, 1], 1.0, 2.0)",
        "tf.reduce_sum(tf.math.digamma(x + tf.reshape(x, [1, -1])), axis=1)",
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_a_kernel_of_minutes_is_interrupted_in_a_graph(name):
    value, work = WORK[name]
    run(f"""
    x = {value}
    f = tf.function(lambda x: {work})
    f.get_concrete_function(x)
    interrupt(lambda: f(x))
    assert float(tf.function(lambda y: y + 1)(tf.constant(1.0))) == 2
    """)


@pytest.mark.parametrize("name", ["singular values", "matmul", "convolution"])
def test_a_kernel_of_minutes_is_interrupted_at_the_prompt(name):
    value, work = WORK[name]
    run(f"""
    x = {value}
    interrupt(lambda: {work})
    assert float(tf.constant(1.0) + 1.0) == 2
    """)


def test_what_was_written_before_the_interrupt_stays_and_the_function_goes_on():
    run("""
    x = tf.random.normal([4000, 4000], dtype=tf.float64)
    v = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def f(x):
        v.assign_add(1)
        y = tf.linalg.svd(x, compute_uv=False)
        v.assign_add(10)
        return y

    interrupt(lambda: f(x))
    assert int(v) == 1
    np.testing.assert_allclose(f(tf.eye(3, dtype=tf.float64)).numpy(), [1.0, 1.0, 1.0])
    assert int(v) == 12
    """)


def test_other_threads_run_while_a_heavy_operation_does():
    run("""
    x = tf.random.normal([4000, 4000], dtype=tf.float64)
    rounds = []

    def count():
        while not stop.is_set():
            rounds.append(float(tf.constant(1.0) + 1.0))
            time.sleep(0.001)

    stop = threading.Event()
    thread = threading.Thread(target=count)
    thread.start()
    interrupt(lambda: tf.linalg.svd(x, compute_uv=False))
    stop.set()
    thread.join()
    assert len(rounds) > 10
    """)


def test_an_interpreter_ends_while_abandoned_work_goes_on():
    program = PRELUDE + textwrap.dedent("""
    x = np.random.default_rng(0).normal(size=(3000, 3000))
    x.flags.writeable = False
    x = tf.constant(x)
    interrupt(lambda: tf.linalg.svd(x, compute_uv=False))
    del x
    print("done")
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_child_that_is_forked_while_abandoned_work_goes_on_works():
    run("""
    x = tf.random.normal([4000, 4000], dtype=tf.float64)
    interrupt(lambda: tf.linalg.svd(x, compute_uv=False))
    child = os.fork()
    if child == 0:
        ok = float(tf.reduce_sum(tf.function(lambda y: y * 2.0)(tf.ones([3000, 3000])))) == 18_000_000
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    """)


def test_heavy_operations_give_what_numpy_gives():
    x = np.random.default_rng(0).normal(size=8_000_000).astype(np.float32)
    t = tf.constant(x)
    before = t.numpy().copy()
    np.testing.assert_array_equal(tf.sort(t).numpy(), np.sort(x))
    np.testing.assert_array_equal(tf.function(lambda a: -(a + 1.0) * a)(t).numpy(), -(x + 1) * x)
    np.testing.assert_array_equal((t + t[:1]).numpy(), x + x[:1])
    np.testing.assert_array_equal((t * 2.0 - t).numpy(), x)
    np.testing.assert_array_equal(t.numpy(), before)
    v = tf.Variable(t)
    v.assign_add(t)
    np.testing.assert_array_equal(v.numpy(), x + x)


def test_heavy_draws_are_those_of_the_seed():
    def draw(n):
        tf.random.set_seed(5)
        return tf.random.normal([n]).numpy(), tf.random.normal([3]).numpy()

    many, few = draw(8_000_000), draw(1000)
    np.testing.assert_array_equal(many[0][:1000], few[0])
    again = draw(8_000_000)
    np.testing.assert_array_equal(many[0], again[0])
    np.testing.assert_array_equal(many[1], again[1])


def test_the_conversion_of_a_long_list_is_interrupted():
    run("""
    class Last:
        def __tf_tensor__(self, dtype=None, name=None):
            raise AssertionError("the whole list was read")

    values = [1.0] * 20_000_000 + [Last()]
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        tf.constant(values)
    except KeyboardInterrupt:
        pass
    assert float(tf.constant(1.0) + 1.0) == 2
    """)


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("", "f([1] * 5_000_000)"),
        ("", "f(v=[0.5] * 5_000_000)"),
        ("", "f((True,) * 5_000_000)"),
        ("", "f({i: 1 for i in range(1_000_000)})"),
        ("", "f.get_concrete_function([1] * 5_000_000)"),
        ("concrete = f.get_concrete_function([1])", "concrete([1] * 5_000_000)"),
    ],
)
def test_a_call_with_many_numbers_is_interrupted_before_it_is_traced(before, call):
    run(f"""
    lengths = []
    f = tf.function(lambda v: lengths.append(len(v)))
    {before}
    value = [{call[call.index("(") + 1 : -1].removeprefix("v=")}]
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        {call[: call.index("(")]}(value[0])
        raise AssertionError("the call came to its end")
    except KeyboardInterrupt:
        pass
    assert max(lengths, default=1) == 1
    f([1])
    """)


def test_an_interrupt_within_an_attribute_that_is_looked_for_is_kept():
    run("""
    class Busy:
        def __getattr__(self, name):
            if name == "__array__":
                raise KeyboardInterrupt
            raise AttributeError(name)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            tf.constant(Busy())
        except (TypeError, ValueError):
            pass
        for _ in range(10**6):
            pass
        raise AssertionError("the interrupt was lost")
    except KeyboardInterrupt:
        pass
    """)


@pytest.mark.parametrize(
    "made",
    [
        "Dataset.range(10**9).shuffle(10**9)",
        "Dataset.range(10**9).map(lambda x: x + 1).shuffle(10**9)",
        "Dataset.range(10**9).batch(10**9)",
        "Dataset.range(10**12).filter(lambda x: x < 0)",
        "Dataset.range(10**12).map(lambda x: x * 0).unique().skip(1)",
        "Dataset.range(10**12).skip(10**11)",
    ],
)
def test_a_data_set_that_has_no_element_for_long_is_interrupted(made):
    run(f"""
    Dataset = tf.data.Dataset
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    elements = iter({made})
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        next(elements)
        raise AssertionError("an element came")
    except KeyboardInterrupt:
        pass
    assert [int(x) for x in Dataset.range(3)] == [0, 1, 2]
    """)


@pytest.mark.parametrize(
    "work",
    [
        "next(iter(endless.batch(10)))",
        "list(endless.prefetch(2))",
        "iter(endless).get_next()",
        "endless.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)",
        "tf.while_loop(lambda i: i < 10**9, lambda i: i + 1, [tf.constant(0)])",
    ],
)
def test_the_last_line_of_an_interrupted_program_is_its_own(work):
    run(f"""
    import traceback

    endless = tf.data.Dataset.range(10**12).filter(lambda i: i < 0)

    def work():
        try:
            {work}
        except KeyboardInterrupt as interrupt:
            assert traceback.extract_tb(interrupt.__traceback__)[-1].name == "work"
            raise

    interrupt(work)
    """)
