"""What traced functions keep alive, and what they do under many threads."""

import copy
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from support import run_together

import penstock as tf

ONE = tf.constant(1.0)


def freed_without_collector(make):
    """Whether what `make` gives dies with the last reference to it."""
    gc.collect()
    gc.disable()
    try:
        gone = weakref.ref(make())
        return gone() is None
    finally:
        gc.enable()


def test_a_function_dies_with_its_last_reference():
    def make():
        f = tf.function(lambda x, n=1: x * float(n), autograph=False)
        f(ONE)
        f(ONE, 2)
        f.get_concrete_function(ONE)
        return f

    assert freed_without_collector(make)


def test_a_trace_dies_with_its_function():
    def make():
        f = tf.function(lambda x: x + 1.0, autograph=False)
        f(ONE)
        return f.get_concrete_function(ONE)

    assert freed_without_collector(make)


@pytest.mark.parametrize("options", [{}, {"guard": "globals"}], ids=["plain", "guarded"])
def test_functions_in_cycles_are_collected(options):
    def make():
        @tf.function(**options)
        def f(x, n):
            return x if n == 0 else f(x, n - 1) + 1.0

        f(ONE, 3)
        f.extra = f
        return weakref.ref(f)

    gone = make()
    gc.collect()
    assert gone() is None


def test_variables_in_cycles_are_collected():
    def make():
        v = tf.Variable(1.0)
        other = tf.Variable(2.0, constraint=lambda x: x * v)
        v.itself, v.other = v, other
        return weakref.ref(v), weakref.ref(other)

    gone = make()
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_a_function_that_a_module_holds_and_that_reaches_the_module_is_collected():
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(2.0)
            self.f = tf.function(lambda x: x * self.v)

    def make():
        module = Scale()
        assert module.f(ONE).numpy() == 2
        concrete = module.f.get_concrete_function(tf.constant([1.0]))
        module.concrete = concrete
        return [weakref.ref(x) for x in (module, module.v, module.f, concrete)]

    gone = make()
    gc.collect()
    assert [r() for r in gone] == [None] * 4


def test_a_function_that_calls_itself_in_the_graph_is_collected():
    def make():
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def total(n):
            return n if n <= 0 else n + total(n - 1)

        assert total(4).numpy() == 10
        return weakref.ref(total)

    gone = make()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "body",
    [lambda x: x * 3.0, lambda x: tf.stop_gradient(x), lambda x: tf.exp(x)],
    ids=["linear", "none", "kept"],
)
def test_what_a_differentiated_function_took_along_dies_with_it(body):
    # The engine's graph holds the callback: it is gone when the callback is.
    class Callback:
        def __call__(self, x):
            return x

    def make():
        callback = Callback()
        f = tf.function(lambda x: body(x) + 0.0 * tf.py_function(callback, [ONE], tf.TensorSpec([])))
        with tf.GradientTape() as tape:
            tape.watch(ONE)
            y = f(ONE)
        tape.gradient(y, ONE)
        with tf.GradientTape() as tape:
            tape.watch(ONE)
            y = f(ONE)
        tape.jacobian(y, ONE)
        return weakref.ref(callback)

    gone = make()
    gc.collect()
    assert gone() is None


def test_a_class_whose_values_its_own_method_gives_is_collected():
    def make():
        class Box(tf.experimental.ExtensionType):
            x: tf.Tensor

            @tf.function
            def doubled(self):
                return Box(self.x * 2.0)

        assert Box(1.0).doubled().x.numpy() == 2
        return weakref.ref(Box)

    gone = make()
    gc.collect()
    assert gone() is None


def test_instances_die_and_take_their_traces_along():
    class Model:
        def __init__(self):
            self.v = tf.Variable(tf.zeros([1000]))

        @tf.function
        def f(self, x):
            return self.v + x

    models = [Model() for _ in range(3)]
    for m in models:
        m.f(ONE)
    assert len(Model.f._traces()) == 3
    gone = [weakref.ref(m) for m in models], [weakref.ref(m.v) for m in models]
    del models[1:], m
    gc.collect()
    assert [w() is None for w in gone[0]] == [False, True, True]
    assert [w() is None for w in gone[1]] == [False, True, True]
    assert len(Model.f._traces()) == 1
    assert len(Model.f.explain_cache().traces) == 1


def test_a_method_of_a_temporary_object():
    class Model:
        @tf.function
        def f(self, x):
            return x + 1.0

    for _ in range(5):
        assert Model().f(ONE).numpy() == 2
    assert len(Model.f._traces()) <= 1


def test_an_instance_that_keeps_its_own_bound_method_is_collected():
    class Model:
        def __init__(self):
            self.step = self.f

        @tf.function
        def f(self, x):
            return x

    m = Model()
    m.step(ONE)
    gone = weakref.ref(m)
    del m
    gc.collect()
    assert gone() is None


def test_arguments_are_not_kept():
    class Thing:
        pass

    f = tf.function(lambda *args, **kwargs: ONE, autograph=False)
    things = [Thing() for _ in range(4)]
    f(things[0], [things[1]], {"k": (things[2],)}, other=things[3])
    gone = [weakref.ref(t) for t in things]
    del things
    gc.collect()
    assert [w() for w in gone] == [None] * 4


GROWTH = """
import gc, tracemalloc, warnings
import penstock as tf

ONE = tf.constant(1.0)
warnings.simplefilter("ignore")

def once():
    class Model:
        @tf.function
        def f(self, x, n):
            return x * float(n)

    m = Model()
    for n in range(3):
        m.f(ONE, n)
    g = tf.function(lambda x: x + 1.0, reduce_retracing=True)
    for n in range(1, 4):
        g(tf.zeros([n]))
    tf.function(lambda x, o: x)(ONE, object)

def grown(times):
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(times):
        once()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before

tracemalloc.start()
grown(100)
print(grown(100))
"""


def test_making_and_dropping_functions_grows_no_memory():
    done = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, timeout=100, check=True
    )
    # A leak of one small object each time would be 5000 bytes and more.
    assert int(done.stdout) < 4000


def test_functions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    restored = pickle.loads(pickle.dumps(wrapped))
    assert restored(ONE).numpy() == 3
    assert restored.input_signature == wrapped.input_signature
    with pytest.raises(pickle.PicklingError, match="by the name of its Python function"):
        pickle.dumps(tf.function(lambda x: x))


@tf.function
def decorated(x):
    return x + 1.0


def plain(x):
    return x + 2.0


wrapped = tf.function(plain, input_signature=[tf.TensorSpec([], tf.float32)])


# --- threads ------------------------------------------------------------------


def busy():
    """Python code that lets other threads run."""
    return sum(len(str(i)) for i in range(3000))


def test_threads_that_miss_together_make_one_trace():
    log = []

    @tf.function(autograph=False)
    def f(x, n):
        log.append(n)
        busy()
        return x * float(n)

    results = {}

    def work(i):
        results[i] = [f(ONE, n).numpy() for n in (2, 3)]

    run_together(32, work)
    assert sorted(log) == [2, 3]
    assert all(r == [2, 3] for r in results.values())
    assert len(f._traces()) == 2


def test_functions_that_call_each_other_from_many_threads():
    log = []

    def body(name, other):
        def run(x, depth):
            log.append((name, depth))
            busy()
            return x + 1.0 if depth == 0 else other()(x, depth - 1) * 2.0

        return run

    f = tf.function(body("f", lambda: g), autograph=False)
    g = tf.function(body("g", lambda: f), autograph=False)
    run_together(16, lambda i: (f if i % 2 else g)(ONE, 3 + i % 3))
    for depth in range(6):
        assert f(ONE, depth).numpy() == g(ONE, depth).numpy() == 2.0 ** (depth + 1)
    # One trace of each signature is kept, even where two were made in a circle.
    assert len(f._traces()) == len(g._traces()) == 6


def test_an_error_in_one_thread_lets_the_next_try():
    tries = []

    @tf.function(autograph=False)
    def f(x):
        tries.append(1)
        busy()
        if len(tries) == 1:
            raise KeyError("first")
        return x

    outcomes = []

    def work(i):
        try:
            outcomes.append(f(ONE).numpy())
        except KeyError:
            outcomes.append("error")

    run_together(8, work)
    assert sorted(map(str, outcomes)) == ["1.0"] * 7 + ["error"]
    assert len(tries) == 2


def test_variables_made_elsewhere_meanwhile_are_not_the_function_s():
    started, made = threading.Event(), threading.Event()

    @tf.function(autograph=False)
    def f(x):
        started.set()
        assert made.wait(30)
        return x

    def other():
        assert started.wait(30)
        tf.Variable(1.0)
        made.set()

    thread = threading.Thread(target=other)
    thread.start()
    f(ONE)
    thread.join()
    assert f.experimental_get_tracing_count() == 1
    f(tf.constant(1))


@pytest.mark.of_host
def test_a_forked_child_can_trace_what_its_parent_was_tracing():
    code = """
import os, threading, penstock as tf
inside, leave = threading.Event(), threading.Event()

@tf.function(autograph=False)
def f(x):
    if threading.current_thread() is not threading.main_thread():
        inside.set()
        leave.wait(30)
    return x + 1

thread = threading.Thread(target=f, args=(tf.constant(1),))
thread.start()
inside.wait(30)
child = os.fork()
if child == 0:
    os._exit(0 if f(tf.constant(1)).numpy() == 2 else 1)
status = os.waitpid(child, 0)[1]
leave.set()
thread.join()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=100, check=False)
    assert done.returncode == 0


class Callback:
    """A callback that refers to the function which calls it, and to something large."""

    def __init__(self):
        self.function = None
        self.large = np.zeros(1_000_000)

    def __call__(self, x):
        return x * x


X = tf.constant([1.0, 2.0])


def collect():
    """Collects garbage, and what only garbage held."""
    while gc.collect():
        pass


def function_with_callback(callback):
    """A function in a cycle with its callback."""

    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            y = tf.py_function(callback, [x], tf.TensorSpec([2]))
        else:
            y = tf.py_function(callback, [-x], tf.TensorSpec([2])) + 1.0
        return y

    callback.function = f
    return f


def called(f):
    f(X)


def called_with_tape(f, persistent=False):
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(X)
        y = f(X)
    tape.gradient(y, X)
    if persistent:
        tape.gradient(y, X)


def taped_without_gradient(f):
    with tf.GradientTape() as tape:
        tape.watch(X)
        f(X)


def nested_gradient(f):
    with tf.GradientTape() as outer:
        outer.watch(X)
        with tf.GradientTape() as inner:
            inner.watch(X)
            y = f(X)
        dy = inner.gradient(y, X)
    outer.gradient(dy, X)


def gradient_in_a_function(f):
    @tf.function
    def g(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    g(X)


def called_in_a_function(f):
    g = tf.function(lambda x: f(x) + f(-x))
    g(X)
    f(X)


def mapped(f):
    tf.vectorized_map(f, tf.stack([X, X]))


def mapped_in_turn(f):
    tf.function(lambda x: tf.map_fn(f, x))(tf.stack([X, X]))


def saved_trace(f):
    concrete = f.get_concrete_function(X)
    concrete(X)
    f.concrete = concrete


def forward_mode(f):
    with tf.autodiff.ForwardAccumulator(X, X) as accumulator:
        accumulator.jvp(f(X))


def of_several_sizes(f):
    g = tf.function(lambda x: f(x)[:1], input_signature=[tf.TensorSpec([None])])
    g(X)


USES = {
    "plain": called,
    "tape": called_with_tape,
    "persistent": lambda f: called_with_tape(f, persistent=True),
    "dropped tape": taped_without_gradient,
    "nested": nested_gradient,
    "in a graph": gradient_in_a_function,
    "inlined": called_in_a_function,
    "vectorized": mapped,
    "in turn": mapped_in_turn,
    "concrete": saved_trace,
    "forward": forward_mode,
    "signature": of_several_sizes,
}


@pytest.mark.parametrize("use", USES)
def test_a_function_whose_callback_refers_to_it_is_collected(use):
    def make():
        callback = Callback()
        f = function_with_callback(callback)
        USES[use](f)
        return weakref.ref(f), weakref.ref(callback), weakref.ref(callback.large)

    gone = make()
    collect()
    assert [r() for r in gone] == [None] * 3


@pytest.mark.parametrize("use", ["plain", "tape", "concrete", "forward"])
def test_a_function_whose_numbers_were_checked_is_collected(use):
    def make():
        callback = Callback()
        f = function_with_callback(callback)
        USES[use](f)
        tf.debugging.enable_check_numerics()
        try:
            USES[use](f)
        finally:
            tf.debugging.disable_check_numerics()
        return weakref.ref(f), weakref.ref(callback)

    gone = make()
    collect()
    assert [r() for r in gone] == [None] * 2


def two_functions(callback):
    """Two functions in a cycle with a callback that is in the graphs of both."""
    f = function_with_callback(callback)
    g = tf.function(lambda x: f(x) + f(-x))
    callback.other = g
    return f, g


def shared_with_a_loop(callback):
    f, _ = two_functions(callback)

    @tf.function
    def h(x):
        for _ in tf.range(2):
            x = f(x)
        return x

    callback.third = h
    return f, h


TOGETHER = {"a call": two_functions, "a loop": shared_with_a_loop}


@pytest.mark.parametrize(
    "use", ["plain", "tape", "persistent", "nested", "vectorized", "concrete", "forward"]
)
@pytest.mark.parametrize("make_functions", TOGETHER)
def test_functions_that_share_a_callback_are_collected_together(make_functions, use):
    def make():
        callback = Callback()
        functions = TOGETHER[make_functions](callback)
        for function in functions:
            USES[use](function)
        return [weakref.ref(x) for x in (*functions, callback, callback.large)]

    gone = make()
    collect()
    assert [r() for r in gone] == [None] * len(gone)


@pytest.mark.parametrize("kept", [0, 1])
def test_a_shared_callback_lives_as_long_as_one_of_its_functions(kept):
    def make():
        callback = Callback()
        functions = two_functions(callback)
        for function in functions:
            called_with_tape(function)
        return weakref.ref(callback), functions[kept]

    gone, function = make()
    for generation in (0, 1, 2):
        gc.collect(generation)
    assert gone() is not None
    np.testing.assert_array_equal(function(X).numpy(), [[1, 4], [3, 9]][kept])
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = function(X)
    assert tape.gradient(y, X).shape == [2]
    del function
    collect()
    # What the tape has of it is gone with the tape.
    del tape, y
    collect()
    assert gone() is None


def test_a_callback_lives_as_long_as_a_function_or_a_tape_needs_it():
    def make():
        callback = Callback()
        f = function_with_callback(callback)
        g = tf.function(lambda x: f(x) + 1.0)
        g(X)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(X)
            y = f(X)
        return weakref.ref(callback), g, tape, y

    gone, g, tape, y = make()
    collect()
    assert gone() is not None
    np.testing.assert_array_equal(g(X).numpy(), [2, 5])
    np.testing.assert_array_equal(tape.gradient(y, X).numpy(), [2, 4])
    del g
    collect()
    np.testing.assert_array_equal(tape.gradient(y, X).numpy(), [2, 4])
    del tape, y
    collect()
    assert gone() is None


def test_a_copy_of_a_function_has_traces_of_its_own():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: x * v, reduce_retracing=True)
    f(ONE)
    for duplicate in (copy.copy(f), copy.deepcopy(f)):
        assert duplicate is not f
        assert duplicate.python_function is f.python_function
        assert duplicate.experimental_get_tracing_count() == 0
        assert duplicate(ONE).numpy() == 2
        assert f.experimental_get_tracing_count() == 1


class Scale(tf.Module):
    """Holds functions in every way that modules do."""

    def __init__(self, factor):
        super().__init__()
        self.factor = tf.Variable(factor)
        self.bound = tf.function(self.plain)
        self.nested = {"list": [tf.function(self.plain)]}

    def plain(self, x):
        return x * self.factor

    @tf.function
    def decorated(self, x):
        return x * self.factor


def test_a_deep_copy_of_a_module_has_functions_of_its_own_variables():
    first = Scale(2.0)
    calls = [
        lambda m: m.decorated(ONE),
        lambda m: m.bound(ONE),
        lambda m: m.nested["list"][0](ONE),
        lambda m: copy.copy(m.decorated)(ONE),
        lambda m: copy.deepcopy(m).decorated(ONE),
    ]
    assert [call(first).numpy() for call in calls] == [2] * 5
    second = copy.deepcopy(first)
    second.factor.assign(3.0)
    assert [call(second).numpy() for call in calls] == [3] * 5
    assert [call(first).numpy() for call in calls] == [2] * 5
    shallow = copy.copy(first)
    assert shallow.factor is first.factor
    assert [call(shallow).numpy() for call in calls] == [2] * 5


def test_a_module_with_functions_of_its_methods_is_pickled():
    first = Scale(2.0)
    first.bound(ONE)
    second = pickle.loads(pickle.dumps(first))
    second.factor.assign(3.0)
    for function in (second.bound, second.decorated, second.nested["list"][0]):
        assert function(ONE).numpy() == 3
    assert first.bound(ONE).numpy() == 2


def test_a_concrete_function_is_its_own_copy_but_not_deeply():
    concrete = decorated.get_concrete_function(ONE)
    assert copy.copy(concrete)(ONE).numpy() == concrete(ONE).numpy()
    for duplicate in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="ConcreteFunction"):
            duplicate(concrete)
