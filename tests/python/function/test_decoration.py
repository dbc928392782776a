"""What `tf.function` decorates, how its functions are told apart, and the errors of tracing."""

import functools
import inspect
import threading

import numpy as np
import pytest
from support import counted

import penstock as tf
from penstock._function.signature import parameters_of

ONE = tf.constant(1.0)


# --- what is decorated --------------------------------------------------------


def test_every_form_of_decoration():
    @tf.function
    def bare(x):
        """Says so."""
        return x + 1

    @tf.function(reduce_retracing=True, experimental_implements="x", jit_compile=True)
    def with_options(x):
        return x + 1

    class Holder:
        @staticmethod
        @tf.function
        def inner(x):
            return x + 1

        @tf.function
        @staticmethod
        def outer(x):
            return x + 1

        @classmethod
        @tf.function
        def of_class(cls, x):
            assert cls is Holder
            return x + 1

        @tf.function
        def method(self, x):
            return x + 1

        def __call__(self, x):
            return x + 1

    holder = Holder()
    one = tf.constant(1)
    forms = [
        bare,
        with_options,
        Holder.inner,
        holder.inner,
        Holder.outer,
        holder.outer,
        Holder.of_class,
        holder.of_class,
        holder.method,
        functools.partial(Holder.method, holder),
        tf.function(holder),
        tf.function(functools.partial(lambda a, b: a + b, 1)),
        tf.function(lambda x: x + 1),
        tf.function(func=lambda x: x + 1),
        tf.function(bare),
        tf.function(holder.method.python_function.__get__(holder)),
    ]
    assert [f(one).numpy() for f in forms] == [2] * len(forms)
    assert (bare.__name__, bare.__doc__, bare.__wrapped__(1)) == ("bare", "Says so.", 2)
    assert bare.__module__ == __name__


def test_functions_do_not_share_traces():
    log = []

    def f():
        log.append("traced")

    tf.function(f)()
    tf.function(f)()
    assert log == ["traced", "traced"]


def test_functions_within_functions_share_the_traces_of_the_inner():
    seen, inner = counted(lambda x: x * 2)
    outer = tf.function(lambda x: inner(x) + inner(x + 1))
    assert outer(tf.constant(3)).numpy() == 14
    other = tf.function(lambda x: inner(x))
    assert other(tf.constant(3)).numpy() == 6
    assert len(seen) == 1
    inner(tf.constant(1))
    assert len(seen) == 1


def test_tracing_is_counted():
    _, f = counted()
    assert f.experimental_get_tracing_count() == 0
    f(1)
    f(1)
    f(2)
    assert f.experimental_get_tracing_count() == 2


def test_what_the_decorator_was_told_can_be_asked():
    spec = tf.TensorSpec([None], "float32")

    @tf.function(input_signature=[spec])
    def f(x, scale=2.0):
        return x * scale

    assert f.input_signature[0].shape.as_list() == [None]
    assert f.function_type.parameters["x"].annotation.dtype == tf.float32
    assert f.function_type.parameters["scale"].default == 2.0
    assert f.function_spec.arg_names == ["x", "scale"]
    assert f.function_spec.default_values == (2.0,)
    assert f.function_spec.signature_summary(default_values=True) == "x, scale=2.0"
    assert not f.function_spec.is_method
    concrete = f.get_concrete_function()
    assert concrete.function_type.output.shape.as_list() == [None]
    assert concrete.function_type.parameters["x"].annotation.name == "x"


def test_values_of_a_trace_are_those_of_the_first_call(capsys):
    @tf.function
    def f(x):
        print("Traced with", x)
        tf.print("Executed with", x)

    f(1)
    f(1)
    f(2)
    captured = capsys.readouterr()
    assert captured.out == "Traced with 1\nTraced with 2\n"
    assert captured.err == "Executed with 1\nExecuted with 1\nExecuted with 2\n"


def test_an_iterator_gives_its_first_value_only(capsys):
    @tf.function
    def consume(iterator):
        tf.print("Value:", next(iterator))

    iterator = iter([1, 2, 3])
    for _ in range(3):
        consume(iterator)
    assert capsys.readouterr().err == "Value: 1\n" * 3


def test_python_side_effects_and_init_scope():
    class Model(tf.Module):
        def __init__(self, lifted):
            self.v = tf.Variable(0)
            self.counter = 0
            self.lifted = lifted

        @tf.function
        def __call__(self):
            if self.counter == 0:
                if self.lifted:
                    with tf.init_scope():
                        self.counter += 1
                        self.v.assign_add(1)
                else:
                    self.counter += 1
                    self.v.assign_add(1)
            return self.v

    once, each = Model(True), Model(False)
    assert [each().numpy() for _ in range(3)] == [1, 2, 3]
    assert [once().numpy() for _ in range(3)] == [1, 1, 1]


def test_random_numbers_of_python_are_constants():
    f = tf.function(lambda: tf.eye(2) + np.random.default_rng().normal(size=(2, 2)).astype("float32"))
    assert np.array_equal(f().numpy(), f().numpy())


# --- errors -------------------------------------------------------------------


def test_leaked_tensors_name_where_they_were_made_and_used():
    leaked = []

    @tf.function
    def leaky(a):
        leaked.append(a + 1)  # made here
        return a + 2

    assert leaky(tf.constant(1)).numpy() == 3
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'numpy'"):
        leaked[0].numpy()

    @tf.function
    def captures(b):
        return b + leaked[0]  # used here

    lines = open(__file__, encoding="utf-8").read().splitlines()  # noqa: PTH123, SIM115
    for use in (lambda: captures(tf.constant(2)), lambda: leaked[0] * 2):
        with pytest.raises(
            TypeError, match=r"<tf.Tensor 'add:0' shape=.. dtype=int32> is out of scope"
        ) as caught:
            use()
        text = str(caught.value)
        assert "'leaky'" in text
        made = lines.index("        leaked.append(a + 1)  # made here") + 1
        assert f"line {made}, in leaky" in text
    with pytest.raises(TypeError) as caught:
        captures(tf.constant(2))
    assert f"line {lines.index('        return b + leaked[0]  # used here') + 1}" in str(caught.value)


def test_a_tensor_of_a_trace_that_failed_is_out_of_scope_too():
    leaked = []

    @tf.function(autograph=False)
    def failing(a):
        leaked.append(a + 1)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        failing(tf.constant(1))
    with pytest.raises(TypeError, match="'failing'"):
        leaked[0] + 1


def test_tracing_without_end_is_an_error_not_a_crash():
    @tf.function
    def forever(n):
        return forever(n - 1) if n > -(10**9) else n

    with pytest.raises(RecursionError) as caught:
        forever(5)
    said = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    assert any("forever is traced within" in text for text in said)
    assert tf.executing_eagerly()


def test_functions_may_lie_deep_within_each_other():
    f = tf.function(lambda x: x + 1.0)
    for _ in range(149):
        f = tf.function(lambda x, inner=f: inner(x) + 1.0)
    assert f(tf.constant(0.0)).numpy() == 150


@pytest.mark.parametrize("kilobytes", [512, 1024])
def test_tracing_without_end_is_an_error_on_a_small_stack_too(kilobytes):
    forever = tf.function(lambda n: forever(n - 1))
    shallow = tf.function(lambda x: tf.function(lambda y: y + 1.0)(x) * 2.0)
    found = []

    def work():
        with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
            forever(5)
        found.append(shallow(tf.constant(1.0)).numpy())

    before = threading.stack_size(kilobytes << 10)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [4]


def test_variables_are_made_on_the_first_call_only():
    @tf.function
    def f(x):
        return tf.Variable(1.0) + x

    with pytest.raises(ValueError, match=r"singleton tf.Variables created on the first call"):
        f(1.0)

    class Optimizers:
        def __init__(self):
            self.slot = None

        def apply(self, w):
            if self.slot is None:
                self.slot = tf.Variable(0.0)
            self.slot.assign_add(w)
            return self.slot.read_value()

    first, second = Optimizers(), Optimizers()
    w = tf.constant(2.0)
    step = tf.function(lambda w, o: o.apply(w))
    assert step(w, first).numpy() == 2
    assert step(w, first).numpy() == 4
    with pytest.raises(ValueError, match="singleton"):
        step(w, second)
    # A Function of its own for each, as the guide has it.
    third = Optimizers()
    assert tf.function(lambda w, o: o.apply(w)).get_concrete_function(w, third)(w).numpy() == 2


def _plain(a, b=1, /, c=2, *rest, d, e=3, **more): ...
def _bare(): ...
def _keywords(*, a, b=None): ...
def _tail(a, /, *args): ...


@pytest.mark.parametrize(
    "function",
    [
        _plain,
        _bare,
        _keywords,
        _tail,
        lambda x, *, y=0, **z: x,
        functools.wraps(_plain)(lambda *args, **kwargs: None),
        functools.partial(_plain, 1, d=2),
        len,
    ],
)
def test_parameters_are_those_of_the_signature(function):
    names = {"VAR_POSITIONAL": None, "VAR_KEYWORD": None}
    listed = []
    for p in inspect.signature(function).parameters.values():
        if p.kind.name in names:
            names[p.kind.name] = p.name
        else:
            default = (False, None) if p.default is p.empty else (True, p.default)
            listed.append((p.name, *default, p.kind is not p.KEYWORD_ONLY, p.kind is not p.POSITIONAL_ONLY))
    assert parameters_of(function) == (listed, names["VAR_POSITIONAL"], names["VAR_KEYWORD"])
