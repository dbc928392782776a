"""Why functions trace anew: explanation, warning, generalising, bounded caches and guarded globals."""

import gc
import inspect
import math
import types

import pytest
from support import counted, guarded

import penstock as tf


def reasons(f):
    return [str(d) for d in f.explain_cache().misses[-1].differences]


# --- explanation --------------------------------------------------------------


class Thing:
    def __repr__(self):
        return "Thing"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (tf.zeros([32, 4]), tf.zeros([17, 4]), ["x.shape[0]: 32 → 17"]),
        (tf.zeros([32, 4]), tf.zeros([17, 5]), ["x.shape[0]: 32 → 17", "x.shape[1]: 4 → 5"]),
        (tf.zeros([32]), tf.zeros([32, 1]), ["x.shape: (32,) → (32, 1)"]),
        (tf.zeros([2]), tf.zeros([2], tf.int32), ["x.dtype: float32 → int32"]),
        (True, False, ["x: True → False"]),
        (1, 2.5, ["x: 1 → 2.5"]),
        ("a", b"a", ["x: 'a' → b'a'"]),
        (None, 0, ["x: None → 0"]),
        (tf.constant(1), 1, ["x: int32 Tensor, shape=() → 1"]),
        ([1, 2], [1, 3], ["x[1]: 2 → 3"]),
        ([1, 2], [1], ["x: list of 2 → list of 1"]),
        ((1,), [1], ["x: tuple of 1 → list of 1"]),
        ({"rate": 1, "b": [2, 3]}, {"rate": 1, "b": [2, 4]}, ["x['b'][1]: 3 → 4"]),
        ({"a": 1}, {"c": 1}, ["x['c']: 'a' → 'c'"]),
        (tf.Variable(1.0), tf.Variable([1.0]), ["x.shape: () → (1,)"]),
        (types.SimpleNamespace, dict, ["x: <class 'types.SimpleNamespace'> → <class 'dict'>"]),
        (tf.TensorShape([1]), tf.TensorShape([2]), ["x: TensorShape([1]) → TensorShape([2])"]),
    ],
)
def test_a_miss_says_which_leaf_differed_and_how(before, after, words):
    f = tf.function(lambda x, other=1: other, autograph=False)
    f(before)
    f(after)
    assert reasons(f) == words


def test_the_explanation_lists_traces_hits_and_cost():
    f = tf.function(lambda x, training=True: x * 2.0 if training else x)
    line = inspect.currentframe().f_lineno + 1
    for n, training in [(2, True), (2, True), (3, True), (2, True), (3, False)]:
        f(tf.zeros([n]), training)
    told = f.explain_cache()
    assert (told.name, told.calls) == ("<lambda>", 5) or told.calls == 5
    assert [t.hits for t in told.traces] == [3, 1, 1]
    assert all(0 < t.seconds < 60 for t in told.traces)
    assert "training=False" in told.traces[2].signature
    assert "x: float32(3,)" in told.traces[1].signature
    assert [m.outcome for m in told.misses] == ["traced"] * 3
    assert told.misses[0].differences == ()
    assert str(told.misses[1].differences[0]) == "x.shape[0]: 2 → 3"
    assert str(told.misses[2].differences[0]) == "training: True → False"
    assert all(m.location.startswith(f"{__file__}:{line + 1}") for m in told.misses)
    text = str(told)
    assert "5 calls, 3 traces, 3 misses" in text
    assert "training: True → False" in text


def test_fields_of_named_tuples_and_methods_are_named():
    class Model:
        @tf.function
        def step(self, x, scale=1.0):
            return x * scale

    m = Model()
    m.step(tf.constant(1.0))
    m.step(tf.constant(1.0), 2.0)
    assert reasons(Model.step) == ["scale: 1.0 → 2.0"]
    other = Model()
    other.step(tf.constant(1.0))
    assert reasons(Model.step) == ["self: Model object → Model object"]


# --- the warning --------------------------------------------------------------


@pytest.fixture
def logged(caplog):
    """The warnings about retracing."""
    return lambda: [r for r in caplog.records if "triggered tf.function retracing" in r.getMessage()]


def test_repeated_retracing_warns_with_leaf_line_and_fix(logged):
    _, f = counted()
    for n in range(5):
        f(tf.zeros([n]))  # here
    (record,) = logged()
    text = record.getMessage()
    assert text.startswith("5 out of the last 5 calls to ")
    assert "args[0].shape[0]: " in text
    assert "reduce_retracing=True" in text
    assert record.name == tf.get_logger().name
    assert (record.levelname, record.pathname) == ("WARNING", __file__)
    lines = open(__file__, encoding="utf-8").read().splitlines()  # noqa: PTH123, SIM115
    assert lines[record.lineno - 1].endswith("# here")
    assert f"line {record.lineno}" in text


def test_a_python_number_is_told_to_become_a_tensor(logged):
    _, f = counted()
    for n in range(5):
        f(n)
    assert "tf.constant(4)" in logged()[0].getMessage()


@pytest.mark.parametrize("hits_between", [10, 20])
def test_seldom_retracing_does_not_warn(hits_between, logged):
    _, f = counted()
    for n in range(8):
        for _ in range(hits_between):
            f(n)
    assert not logged()


def test_the_first_call_of_a_method_on_each_object_does_not_warn(logged):
    class Layer:
        @tf.function
        def __call__(self, x):
            return x * 2.0

    layers = [Layer() for _ in range(10)]
    for layer in layers:
        layer(tf.constant(1.0))
    assert not logged()


def test_a_method_of_a_new_object_in_each_call_warns(logged):
    class Layer:
        @tf.function
        def __call__(self, x):
            return x * 2.0

    for _ in range(10):
        Layer()(tf.constant(1.0))
    assert "keep the object alive" in logged()[0].getMessage()


def test_a_function_that_calls_itself_with_python_values_does_not_warn(logged):
    @tf.function
    def factorial(n, x):
        return x if n == 0 else factorial(n - 1, x) * float(n)

    for n in (8, 20):
        factorial(n, tf.constant(1.0))
    assert not logged()


def test_two_warnings_are_enough(logged):
    _, f = counted()
    for n in range(50):
        f(n)
    assert len(logged()) == 2


def test_asking_for_traces_does_not_warn(logged):
    _, f = counted()
    for n in range(20):
        f.get_concrete_function(n)
    assert not logged()


def _twice(x):
    return x * 2.0


def test_a_function_that_is_made_anew_for_each_call_warns_once(logged):
    for _ in range(20):
        tf.function(_twice)(tf.constant(1.0))  # made here
    (record,) = logged()
    text = record.getMessage()
    assert text.startswith("5 out of the last 5 calls to _twice triggered tf.function retracing")
    assert "call tf.function once, outside of the loop" in text
    assert record.pathname == __file__
    lines = open(__file__, encoding="utf-8").read().splitlines()  # noqa: PTH123, SIM115
    assert lines[record.lineno - 1].endswith("# made here")


def test_a_function_that_is_defined_in_a_loop_warns(logged):
    for i in range(6):

        @tf.function
        def f(x, i=i):
            return x + float(i)

        f(tf.constant(1.0))
    assert "calls to f triggered" in logged()[0].getMessage()


def test_functions_of_one_code_that_are_kept_or_called_again_do_not_warn(logged):
    kept = [tf.function(lambda x: x * 2.0) for _ in range(10)]
    for function in kept:
        function(tf.constant(1.0))
    for _ in range(10):
        function = tf.function(_twice)
        function(tf.constant(1.0)), function(tf.constant(1.0))
    for _ in range(10):
        tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([]))
    for _ in range(10):
        list(tf.data.Dataset.range(2).map(_twice_int))
        tf.vectorized_map(_twice, tf.ones([2]))
    assert not logged()


def _twice_int(x):
    return x * 2


def test_functions_within_a_trace_do_not_warn(logged):
    @tf.function
    def outer(x):
        inner = tf.function(_twice_int)
        return inner(x)

    for n in range(4):
        for _ in range(10):
            outer(tf.zeros([n]))
    assert not logged()


def test_the_level_of_the_logger_silences_the_warning(logged):
    _, f = counted()
    level = tf.get_logger().level
    tf.get_logger().setLevel("ERROR")
    try:
        for n in range(8):
            f(n)
    finally:
        tf.get_logger().setLevel(level)
    assert not logged()


# --- reduce_retracing ---------------------------------------------------------


def shapes(seen):
    return [args[0].shape.as_list() if args[0].shape.rank is not None else None for args, _ in seen]


def test_sizes_that_differ_become_unknown_in_the_second_trace():
    seen, f = counted(lambda x: x, reduce_retracing=True)
    for n in (1, 2, 3, 4):
        assert f(tf.zeros([n, 5])).shape == [n, 5]
    assert shapes(seen) == [[1, 5], [None, 5]]
    assert f.explain_cache().misses[1].outcome == "traced with x.shape[0] unknown"
    f(tf.zeros([7, 8]))
    f(tf.zeros([7, 9]))
    assert shapes(seen) == [[1, 5], [None, 5], [None, None]]
    f(tf.zeros([1]))
    f(tf.zeros([1, 2, 3]))
    assert shapes(seen)[3:] == [None]


def test_generalising_leaves_other_differences_alone():
    seen, f = counted(reduce_retracing=True)
    f(tf.zeros([1]), 1)
    f(tf.zeros([2]), 2)
    f(tf.zeros([3], tf.int32), 1)
    assert shapes(seen) == [[1], [2], [3]]
    f(tf.zeros([4]), 2)
    assert shapes(seen)[3] == [None]


def test_the_old_name_of_the_option():
    seen, f = counted(experimental_relax_shapes=True)
    for n in range(1, 5):
        f(tf.zeros([n]))
    assert len(seen) == 2


# --- max_traces ---------------------------------------------------------------


def test_the_trace_that_was_not_used_for_longest_makes_place():
    seen, f = counted(max_traces=2)
    f(1)
    f(2)
    f(1)
    f(3)
    assert len(f._traces()) == 2
    f(1)
    assert len(seen) == 3
    f(2)
    assert len(seen) == 4
    assert f.experimental_get_tracing_count() == 4


def test_one_trace_only():
    seen, f = counted(lambda x: x, max_traces=1)
    for n in (1, 1, 2, 2, 1):
        assert f(n).numpy() == n
    assert len(seen) == 3


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2"])
def test_a_bound_is_a_positive_integer(bad):
    with pytest.raises(ValueError, match="max_traces"):
        tf.function(lambda: 1, max_traces=bad)


# --- guard="globals" ----------------------------------------------------------

RATE = 2.0
TABLE = {"rate": 2.0}
CONFIG = types.SimpleNamespace(rate=2.0)


def outer_rate():
    return RATE


@pytest.fixture(autouse=True)
def fresh():
    global RATE
    RATE = 2.0
    TABLE.clear()
    TABLE["rate"] = 2.0
    CONFIG.__dict__.clear()
    CONFIG.rate = 2.0


ONE = tf.constant(1.0)


def set_global(value):
    global RATE
    RATE = value


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (lambda x: x * RATE, set_global),
        (lambda x: x * outer_rate(), set_global),
        (lambda x: x * TABLE["rate"], lambda v: TABLE.update(rate=v)),
        (lambda x: x * CONFIG.rate, lambda v: setattr(CONFIG, "rate", v)),
    ],
    ids=["global", "called", "dict", "attribute"],
)
def test_a_changed_global_retraces(function, change):
    f = guarded(function)
    assert f(ONE).numpy() == 2
    assert f(ONE).numpy() == 2
    assert f.experimental_get_tracing_count() == 1
    change(3.0)
    assert f(ONE).numpy() == 3
    assert f(ONE).numpy() == 3
    assert f.experimental_get_tracing_count() == 2
    # A value that comes back finds its trace.
    change(2.0)
    assert f(ONE).numpy() == 2
    assert f.experimental_get_tracing_count() == 2
    # Without the guard the old value stays, as the guide says.
    plain = tf.function(function)
    assert plain(ONE).numpy() == 2
    change(3.0)
    assert plain(ONE).numpy() == 2


def test_the_cache_says_which_value_changed():
    f = guarded(lambda x: x * RATE)
    f(ONE)
    set_global(5.0)
    f(ONE)
    assert reasons(f) == ["RATE: 2.0 → 5.0"]


def test_closure_cells_are_guarded():
    rate = 2.0

    @guarded
    def f(x):
        return x * rate

    assert f(ONE).numpy() == 2
    rate = 3.0
    assert f(ONE).numpy() == 3
    assert f.experimental_get_tracing_count() == 2


class Model:
    def __init__(self):
        self.v = tf.Variable(0)
        self.counter = 0
        self.scale = 1

    @tf.function(guard="globals")
    def __call__(self):
        if self.counter == 0:
            self.counter += 1
            self.v.assign_add(1)
        return self.v * self.helper()

    def helper(self):
        return self.scale


def test_the_counter_of_the_guide_counts_once():
    m = Model()
    assert [m().numpy() for _ in range(3)] == [1, 1, 1]
    m.scale = 10
    assert m().numpy() == 10
    other = Model()
    assert other().numpy() == 1
    assert m().numpy() == 10


def test_an_attribute_that_comes_to_be():
    @guarded
    def f(x):
        return x * getattr(CONFIG, "other", 1.0) * CONFIG.rate

    class Late:
        late: float

        @guarded
        def f(self, x):
            return x * (self.late if hasattr(self, "late") else 1.0)

    assert f(ONE).numpy() == 2
    late = Late()
    assert late.f(ONE).numpy() == 1
    late.late = 4.0
    assert late.f(ONE).numpy() == 4


def test_captured_tensors_and_functions_count_by_identity():
    scale = tf.constant(2.0)

    op = tf.multiply

    @guarded
    def f(x):
        return op(x, scale)

    assert f(ONE).numpy() == 2
    scale = tf.constant(3.0)
    assert f(ONE).numpy() == 3

    op = tf.add
    assert f(ONE).numpy() == 4


def test_a_log_that_grows_is_no_reason():
    log = []

    @guarded
    def f(x):
        log.append("traced")
        return x

    for _ in range(3):
        f(ONE)
    assert log == ["traced"]


def test_guards_tell_apart_what_python_calls_equal():
    f = guarded(lambda x: x * float(RATE) if isinstance(RATE, bool) else x * RATE + 1.0)
    values = [True, 1, 1.0, math.nan]
    for value in values:
        set_global(value)
        f(ONE) if value != 1 or isinstance(value, float | bool) else None
    assert f.experimental_get_tracing_count() == 3
    f(ONE)
    assert f.experimental_get_tracing_count() == 3


def test_arguments_still_count():
    f = guarded(lambda x, n: x * RATE * float(n))
    assert [f(ONE, n).numpy() for n in (1, 2, 1)] == [2, 4, 2]
    set_global(3.0)
    assert [f(ONE, n).numpy() for n in (1, 2, 1)] == [3, 6, 3]
    assert f.experimental_get_tracing_count() == 4
    assert f(tf.constant([1.0]), 1).numpy().tolist() == [3]


def test_only_globals_can_be_guarded():
    with pytest.raises(ValueError, match=r"'guard'.*'locals'"):
        tf.function(lambda: 1, guard="locals")


def test_a_trace_of_an_object_that_is_gone_explains_the_next():
    class Thing:
        pass

    f = tf.function(lambda x, thing: x, autograph=False)
    f(tf.constant(1.0), Thing())
    gc.collect()
    assert not f.explain_cache().traces
    f(tf.constant(1.0), Thing())
    (difference,) = f.explain_cache().misses[1].differences
    assert difference.leaf == "thing"
    assert difference.before == "object dead"
    assert "test_retracing" in difference.after
    # A trace that is still there is nearer.
    kept = Thing()
    f(tf.constant(1.0), kept)
    f(tf.constant([1.0]), kept)
    assert [d.leaf for d in f.explain_cache().misses[3].differences] == ["x.shape"]
