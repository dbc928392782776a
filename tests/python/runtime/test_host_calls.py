"""Python functions inside graphs: py_function, numpy_function, and printing."""

import dataclasses
import sys
import threading
from typing import Any

import numpy as np
import pytest
from support import ways

import penstock as tf


def test_a_py_function_gets_eager_tensors_and_gives_the_declared_dtype():
    seen = []

    def body(x, y):
        seen.append((type(x) is tf.Tensor, tf.executing_eagerly(), tf.is_symbolic_tensor(x)))
        return x + tf.cast(y, tf.float32)

    for run in ways(lambda a, b: tf.py_function(body, [a, b], tf.float32)):
        assert run(tf.constant(1.5), tf.constant(2)).numpy() == 3.5
    assert seen == [(True, True, False)] * 2


def test_forms_of_the_declared_results():
    x = tf.constant(2.0)
    for trace in (lambda f: f, tf.function):
        assert trace(lambda: tf.py_function(lambda v: v, [x], tf.float32))().numpy() == 2
        one = trace(lambda: tf.py_function(lambda v: v, [x], [tf.float32]))()
        assert isinstance(one, list)
        assert one[0].numpy() == 2
        two = trace(lambda: tf.py_function(lambda v: (v, 7), [x], [tf.float32, tf.int64]))()
        assert [t.numpy() for t in two] == [2, 7]
        assert two[1].dtype == tf.int64
        assert trace(lambda: tf.py_function(lambda v: None, [x], []))() == []
        assert trace(lambda: tf.py_function(lambda v: None, [x], None))() is None
        shaped = trace(lambda: tf.py_function(lambda v: [v, v], [x], tf.TensorSpec([2], tf.float32)))()
        assert shaped.shape == [2]
        assert trace(lambda: tf.py_function(lambda: "text", [], tf.string))().numpy() == b"text"


def test_a_declared_shape_is_known_while_tracing():
    @tf.function
    def f(x):
        y = tf.py_function(lambda v: v, [x], tf.TensorSpec([None, 3], tf.float32))
        assert y.shape.as_list() == [None, 3]
        return y

    assert f(tf.zeros([2, 3])).shape == [2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        f(tf.zeros([2, 4]))


@pytest.mark.parametrize(
    ("result", "declared", "error"),
    [
        (lambda: tf.constant(1), tf.float32, TypeError),
        (lambda: "a", tf.float32, TypeError),
        (lambda: None, tf.float32, ValueError),
        (lambda: [1.0], [tf.float32, tf.float32], ValueError),
        (lambda: object(), tf.float32, TypeError),
        (lambda: 1.0, [tf.float32, tf.float32], ValueError),
    ],
)
def test_results_that_are_not_as_declared_are_errors(result, declared, error):
    for run in ways(lambda: tf.py_function(result, [], declared)):
        with pytest.raises(error, match="lambda"):
            run()


def test_an_exception_reaches_the_caller_as_the_same_object():
    class Mine(Exception):
        pass

    mine = Mine("from the callback")

    def fail(x):
        raise mine

    for make in (tf.py_function, tf.numpy_function):
        for run in ways(lambda x, make=make: make(fail, [x], tf.float32)):
            with pytest.raises(Mine) as caught:
                run(tf.constant(1.0))
            assert caught.value is mine
            names = []
            tb = caught.value.__traceback__
            while tb is not None:
                names.append(tb.tb_frame.f_code.co_name)
                tb = tb.tb_next
            assert "fail" in names


def test_keyboard_interrupts_and_exits_pass_through():
    def stop(kind):
        raise kind

    for kind in (KeyboardInterrupt, SystemExit):
        for run in ways(lambda kind=kind: tf.py_function(lambda: stop(kind), [], [])):
            with pytest.raises(kind):
                run()


def test_callbacks_call_functions_which_call_callbacks():
    @tf.function
    def factorial(n):
        return tf.cond(
            n <= 1, lambda: tf.constant(1), lambda: n * tf.py_function(factorial, [n - 1], tf.int32)
        )

    assert factorial(tf.constant(10)).numpy() == 3628800


def test_callbacks_keep_the_order_of_the_program_with_variables_and_prints(capsys):
    v = tf.Variable(0)
    seen = []

    @tf.function
    def f():
        v.assign(1)
        tf.py_function(lambda: seen.append(int(v.numpy())), [], [])
        v.assign_add(10)
        tf.print("between", output_stream=sys.stdout)
        tf.py_function(lambda: seen.append(int(v.numpy())), [], [])
        tf.py_function(lambda: v.assign(100), [], [])
        return v.read_value()

    assert f().numpy() == 100
    assert seen == [1, 11]
    assert capsys.readouterr().out == "between\n"


def test_a_callback_runs_each_time_even_if_its_result_is_not_used():
    calls = []

    @tf.function
    def f(x):
        tf.py_function(lambda: calls.append(1), [], [])
        return x

    for _ in range(3):
        f(tf.constant(1))
    assert len(calls) == 3


def test_callbacks_run_on_the_calling_thread():
    names = []

    @tf.function
    def f(x):
        return tf.py_function(lambda v: (names.append(threading.get_ident()), v)[1], [x], tf.float32)

    f(tf.ones([100000]))
    worker = threading.Thread(target=lambda: (names.append(threading.get_ident()), f(tf.ones([100000]))))
    worker.start()
    worker.join()
    assert names[0] == threading.get_ident()
    assert names[1] == names[2]


def test_threads_may_be_in_callbacks_at_once():
    barrier = threading.Barrier(4, timeout=60)

    @tf.function
    def f(x):
        return tf.py_function(lambda v: (barrier.wait(), v * 2)[1], [x], tf.int32)

    results = [None] * 4
    f_concrete = f.get_concrete_function(tf.TensorSpec([], tf.int32))

    def work(i):
        results[i] = int(f_concrete(tf.constant(i)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [0, 2, 4, 6]


def test_numpy_functions_get_read_only_arrays():
    seen = []

    def body(x, s):
        seen.append((type(x), x.flags.writeable, type(s)))
        return (x * 2).astype("float32")

    for run in ways(lambda a, b: tf.numpy_function(body, [a, b], tf.float32)):
        assert run(tf.constant([1.0, 2.0]), tf.constant(3)).numpy().tolist() == [2, 4]
    assert seen == [(np.ndarray, False, np.int32)] * 2


def test_numpy_functions_give_the_declared_dtype():
    for run in ways(lambda x: tf.numpy_function(np.sinh, [x], tf.float32)):
        assert run(tf.constant([0.0, 1.0])).dtype == tf.float32
    for run in ways(lambda: tf.numpy_function(lambda: 3, [], tf.float32)):
        assert run().numpy() == np.float32(3)
    assert tf.compat.v1.py_func(lambda x: x + 1, [np.array([1])], tf.int64).numpy().tolist() == [2]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([1.0, 2.0]), tf.float32),
        (np.float64(2.5), tf.float32),
        (np.int64(3), tf.int32),
        (np.array([1, 2], "int32"), tf.float32),
        (np.array([True]), tf.int32),
        (np.array(["a"]), tf.int32),
    ],
)
def test_numpy_functions_are_held_to_the_dtype_that_they_declare(value, dtype):
    calls = [tf.numpy_function, lambda f, inp, out: tf.numpy_function(f, inp, [out])[0], tf.compat.v1.py_func]
    for call in calls:
        for run in ways(lambda call=call: call(lambda: value, [], dtype)):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"no {dtype.name}"):
                run()
    # A function of tensors has its values converted.
    if value.dtype.kind in "if":
        for run in ways(lambda: tf.py_function(lambda: np.float32(value), [], tf.float64)):
            assert run().dtype == tf.float64


@pytest.mark.parametrize("inside", [False, True])
def test_py_functions_are_differentiable(inside):
    def body(x, n, y):
        return x * x * y, x + y

    def loss(x, y):
        a, b = tf.py_function(body, [x, tf.constant(3), y], [tf.float32, tf.float32])
        return a + 10.0 * b

    def grads(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            value = loss(x, y)
        return tape.gradient(value, [x, y])

    run = tf.function(grads) if inside else grads
    dx, dy = run(tf.constant(3.0), tf.constant(5.0))
    assert (dx.numpy(), dy.numpy()) == (40, 19)


def test_a_py_function_in_a_function_is_differentiable_from_outside():
    @tf.function
    def f(x):
        return tf.py_function(lambda v: v * v, [x], tf.float32)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.numpy() == 9
    assert tape.gradient(y, x).numpy() == 6


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="func"):
        tf.py_function(3, [], tf.float32)


# --- printing ---


def test_print_writes_values_and_nests(capsys):
    def show(x):
        tf.print("x:", x, [x, "s", 1.5], {"k": (x, None), "a": b"b"}, True, output_stream=sys.stdout)

    for run in ways(show):
        run(tf.constant([1, 2]))
    line = "x: [1 2] [[1 2], 's', 1.5] {'a': b'b', 'k': ([1 2], None)} True\n"
    assert capsys.readouterr().out == line * 2


def test_a_scalar_string_is_quoted_unless_it_is_all_that_is_printed(capsys):
    def show(x):
        tf.print(x, output_stream=sys.stdout)
        tf.print([x], output_stream=sys.stdout)
        tf.print("of", x, {"k": x}, output_stream=sys.stdout)

    for run in ways(show):
        run(tf.constant("a"))
    assert capsys.readouterr().out == 'a\n["a"]\nof "a" {\'k\': "a"}\n' * 2
    assert tf.strings.format("{} of {}", ("a", ["b"])).numpy() == b'"a" of ["b"]'


def test_print_takes_separators_ends_and_braces_literally(capsys):
    for run in ways(
        lambda: tf.print("a{", "}b", tf.constant(1), sep="{}", end="!\n\n", output_stream=sys.stdout)
    ):
        run()
    assert capsys.readouterr().out == "a{{}}b{}1!\n\n" * 2


def test_print_goes_to_stderr_or_to_a_file(capsys, tmp_path):
    path = tmp_path / "out.txt"
    for run in ways(lambda: tf.print(tf.constant("é"), output_stream=f"file://{path}")):
        run()
    assert path.read_text(encoding="utf-8") == "é\n" * 2
    tf.print("note")
    assert capsys.readouterr().err == "note\n"


def test_print_goes_to_the_log(caplog):
    import logging

    with caplog.at_level(logging.INFO, logger="penstock"):
        tf.print("w", tf.constant(1), output_stream=logging.warning)
        tf.print("i", output_stream="log:info")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("WARNING", "w 1"), ("INFO", "i")]


def test_print_summarizes_long_tensors(capsys):
    tf.print(tf.range(10), output_stream=sys.stdout)
    tf.print(tf.range(10), output_stream=sys.stdout, summarize=2)
    tf.print(tf.range(10), output_stream=sys.stdout, summarize=-1)
    assert capsys.readouterr().out == "[0 1 2 ... 7 8 9]\n[0 1 ... 8 9]\n[0 1 2 3 4 5 6 7 8 9]\n"


def test_ragged_values_print_as_the_rows_that_they_are(capsys):
    rows = tf.ragged.constant([[1], [2, 3]])
    words = tf.ragged.constant([["a"], [], ["b"], ["c", "d"], ["e"]])

    def show(r, w):
        tf.print("rows", r, {"k": [r]}, output_stream=sys.stdout)
        tf.print(w, summarize=1, output_stream=sys.stdout)

    for run in ways(show):
        run(rows, words)
        shown = "[[1], [2, 3]]"
        assert capsys.readouterr().out == f"rows {shown} {{'k': [{shown}]}}\n[['a'], ..., ['e']]\n"


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 0


def test_dataclasses_are_printed(capsys):
    def show(x):
        tf.print("at", Point(x), [Point(2, {"k": Point(x)})], output_stream=sys.stdout)

    tf.function(show)(tf.constant(1))
    assert capsys.readouterr().out == "at Point(x=1, y=0) [Point(x=2, y={'k': Point(x=1, y=0)})]\n"
    point = Point(tf.constant(1))
    tf.print(point, output_stream=sys.stdout)
    assert capsys.readouterr().out == f"{point}\n"
