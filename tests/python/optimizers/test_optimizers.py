"""Optimisers against their formulas in NumPy, eagerly and in a traced step."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(3)


class Model:
    """The formulas of one optimiser for one variable."""

    def __init__(self, value, **slots):
        self.v, self.t = value.astype("float64"), 0
        self.__dict__.update({name: np.full(value.shape, first) for name, first in slots.items()})


def sgd(m, g, momentum=0.0, nesterov=False, rate=0.1):
    m.m = momentum * m.m - rate * g
    m.v = m.v + (momentum * m.m - rate * g if nesterov else m.m)


def adam(m, g, rate=0.1, b1=0.9, b2=0.999, epsilon=1e-7, amsgrad=False, decay=0.0):
    m.v = m.v - m.v * decay * rate
    m.t += 1
    m.m = b1 * m.m + (1 - b1) * g
    m.s = b2 * m.s + (1 - b2) * g**2
    m.top = np.maximum(m.top, m.s)
    scale = np.sqrt(1 - b2**m.t) / (1 - b1**m.t)
    m.v = m.v - rate * scale * m.m / (np.sqrt(m.top if amsgrad else m.s) + epsilon)


def rmsprop(m, g, rate=0.1, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False):
    m.s = rho * m.s + (1 - rho) * g**2
    m.a = rho * m.a + (1 - rho) * g
    step = rate * g / np.sqrt(m.s - (m.a**2 if centered else 0) + epsilon)
    m.m = momentum * m.m + step
    m.v = m.v - m.m


def adagrad(m, g, rate=0.1, epsilon=1e-7):
    m.s = m.s + g**2
    m.v = m.v - rate * g / np.sqrt(m.s + epsilon)


CASES = {
    "sgd": (lambda o: o.SGD(0.1), lambda x: Model(x, m=0.0), sgd, {}),
    "momentum": (lambda o: o.SGD(0.1, 0.9), lambda x: Model(x, m=0.0), sgd, {"momentum": 0.9}),
    "nesterov": (
        lambda o: o.SGD(0.1, 0.9, nesterov=True),
        lambda x: Model(x, m=0.0),
        sgd,
        {"momentum": 0.9, "nesterov": True},
    ),
    "adam": (lambda o: o.Adam(0.1), lambda x: Model(x, m=0.0, s=0.0, top=0.0), adam, {}),
    "amsgrad": (
        lambda o: o.Adam(0.1, amsgrad=True, beta_2=0.5),
        lambda x: Model(x, m=0.0, s=0.0, top=0.0),
        adam,
        {"amsgrad": True, "b2": 0.5},
    ),
    "adamw": (
        lambda o: o.AdamW(0.1, weight_decay=0.2),
        lambda x: Model(x, m=0.0, s=0.0, top=0.0),
        adam,
        {"decay": 0.2},
    ),
    "rmsprop": (lambda o: o.RMSprop(0.1), lambda x: Model(x, m=0.0, s=0.0, a=0.0), rmsprop, {}),
    "centered": (
        lambda o: o.RMSprop(0.1, momentum=0.5, centered=True),
        lambda x: Model(x, m=0.0, s=0.0, a=0.0),
        rmsprop,
        {"momentum": 0.5, "centered": True},
    ),
    "adagrad": (lambda o: o.Adagrad(0.1), lambda x: Model(x, s=0.1), adagrad, {}),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_steps_follow_the_formula(name, traced):
    make, model_of, step, arguments = CASES[name]
    optimizer = make(tf.optimizers)
    values = [RNG.standard_normal(shape).astype("float32") for shape in ((3,), (2, 2), ())]
    variables = [tf.Variable(v) for v in values]
    models = [model_of(v) for v in values]

    def apply(*gradients):
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    run = tf.function(apply) if traced else apply
    for _ in range(5):
        gradients = [RNG.standard_normal(v.shape).astype("float32") for v in values]
        run(*map(tf.constant, gradients))
        for model, gradient in zip(models, gradients, strict=True):
            step(model, gradient.astype("float64"), **arguments)
    assert int(optimizer.iterations) == 5
    for variable, model in zip(variables, models, strict=True):
        np.testing.assert_allclose(variable.numpy(), model.v, 2e-4, 2e-5)
    if traced:
        assert run.experimental_get_tracing_count() == 1


def test_slots_are_made_once_in_the_first_trace():
    optimizer = tf.optimizers.Adam(0.1)
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w * x) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    assert len(optimizer.variables) == 2
    first = float(step(tf.constant([1.0, 1.0])))
    assert len(optimizer.variables) == 4
    for _ in range(30):
        last = float(step(tf.constant([1.0, 1.0])))
    step(tf.constant([[1.0, 1.0]]))
    assert len(optimizer.variables) == 4
    assert last < first / 10
    assert int(optimizer.iterations) == 32


def test_the_learning_rate_can_be_set_without_a_new_trace():
    optimizer = tf.optimizers.SGD(learning_rate=1.0)
    v = tf.Variable(0.0)

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant(1.0), v)])

    step()
    optimizer.learning_rate = 0.25
    step()
    assert float(v) == -1.25
    assert step.experimental_get_tracing_count() == 1
    assert float(optimizer.learning_rate) == 0.25


def test_the_learning_rate_may_be_a_function_or_a_schedule():
    v = tf.Variable(0.0)
    tf.optimizers.SGD(lambda: 0.5).apply_gradients([(tf.constant(1.0), v)])
    assert float(v) == -0.5
    schedule = tf.optimizers.schedules.ExponentialDecay(1.0, decay_steps=1, decay_rate=0.5)
    optimizer = tf.optimizers.SGD(schedule)
    v.assign(0.0)
    step = tf.function(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))
    for _ in range(3):
        step()
    assert float(v) == -1.75
    assert float(optimizer.learning_rate) == 0.125


def test_schedules():
    s = tf.optimizers.schedules
    stairs = s.ExponentialDecay(1.0, 2, 0.5, staircase=True)
    assert [float(stairs(k)) for k in range(5)] == [1.0, 1.0, 0.5, 0.5, 0.25]
    warm = s.CosineDecay(0.0, 4, alpha=0.5, warmup_target=1.0, warmup_steps=2)
    np.testing.assert_allclose(
        [float(warm(k)) for k in (0, 1, 2, 4, 6, 9)], [0, 0.5, 1, 0.75, 0.5, 0.5], 1e-6
    )
    with pytest.raises(ValueError, match="values"):
        s.PiecewiseConstantDecay([1, 2], [1.0])


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"clipvalue": 1.0}, [[1.0, 1.0], [1.0]]),
        ({"clipnorm": 1.0}, [[0.6, 0.8], [1.0]]),
        ({"global_clipnorm": 13.0}, [[3.0, 4.0], [12.0]]),
        ({"global_clipnorm": 6.5}, [[1.5, 2.0], [6.0]]),
    ],
)
def test_clipping(limit, expected):
    variables = [tf.Variable([0.0, 0.0]), tf.Variable([0.0])]
    gradients = [tf.constant([3.0, 4.0]), tf.constant([12.0])]
    tf.optimizers.SGD(1.0, **limit).apply(gradients, variables)
    for variable, due in zip(variables, expected, strict=True):
        np.testing.assert_allclose(-variable.numpy(), due, 1e-6)


def test_variables_without_gradient_constraints_and_decay():
    optimizer = tf.optimizers.SGD(1.0, weight_decay=0.5)
    free = tf.Variable(1.0, name="bias")
    held = tf.Variable(1.0, constraint=lambda v: tf.maximum(v, 0.25))
    idle = tf.Variable(1.0)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    with pytest.warns(UserWarning, match="no gradient"):
        optimizer.apply_gradients([(tf.constant(0.5), free), (tf.constant(0.5), held), (None, idle)])
    assert (float(free), float(held), float(idle)) == (0.5, 0.25, 1.0)
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.apply_gradients([(None, idle)])


def test_dtypes_of_variables_are_kept():
    for dtype in ("float16", "bfloat16", "float64"):
        v = tf.Variable(tf.cast([1.0, 2.0], dtype))
        tf.optimizers.Adam(0.5).apply_gradients([(tf.cast([1.0, -1.0], dtype), v)])
        np.testing.assert_allclose(tf.cast(v, tf.float32).numpy(), [0.5, 2.5], 1e-2)


def test_configurations_make_equal_optimizers():
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        of = getattr(tf.optimizers, name)
        made = of(learning_rate=0.25, global_clipnorm=2.0, name="x")
        assert of.from_config(made.get_config()).get_config() == made.get_config()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda o: o.SGD(momentum=2.0), "momentum"),
        (lambda o: o.Adam(clipnorm=1.0, clipvalue=1.0), "clipnorm"),
        (lambda o: o.AdamW(weight_decay=None), "weight_decay"),
        (lambda o: o.Adagrad(initial_accumulator_value=-1.0), "initial_accumulator_value"),
    ],
)
def test_bad_arguments_are_named(call, names):
    with pytest.raises(ValueError, match=names):
        call(tf.optimizers)


def test_initializers_have_the_variance_that_they_promise():
    shape = [3, 3, 20, 40]
    for name, variance in [
        ("GlorotUniform", 2 / (180 + 360)),
        ("GlorotNormal", 2 / (180 + 360)),
        ("HeUniform", 2 / 180),
        ("HeNormal", 2 / 180),
        ("LecunUniform", 1 / 180),
        ("LecunNormal", 1 / 180),
    ]:
        x = getattr(tf.initializers, name)(seed=1)(shape).numpy()
        np.testing.assert_allclose(x.var(), variance, 0.1)
        assert abs(x.mean()) < 0.01
    wide = tf.initializers.VarianceScaling(3.0, "fan_out", "untruncated_normal", 1)(shape).numpy()
    np.testing.assert_allclose(wide.var(), 3.0 / 360, 0.1)
    assert np.abs(wide).max() > 2.5 * wide.std()
    q = tf.initializers.Orthogonal(2.0, seed=1)([2, 3, 4]).numpy().reshape(6, 4)
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(4), atol=1e-5)
    for config in ({"scale": 0.0}, {"mode": "in"}, {"distribution": "x"}):
        with pytest.raises(ValueError, match=next(iter(config))):
            tf.initializers.VarianceScaling(**config)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16])
@pytest.mark.parametrize(
    "optimizer",
    [
        tf.optimizers.SGD(momentum=0.75, nesterov=True),
        tf.optimizers.Adam(beta_1=0.75, beta_2=0.75),
        tf.optimizers.RMSprop(rho=0.75, momentum=0.75, centered=True),
    ],
    ids=lambda optimizer: optimizer.name,
)
def test_moments_without_gradients_are_zero_in_the_end(optimizer, dtype):
    optimizer = type(optimizer).from_config(optimizer.get_config())
    v = tf.Variable([1.0, np.inf], dtype=dtype)

    @tf.function
    def steps(n):
        for _ in tf.range(n):
            optimizer.apply_gradients([(tf.constant([0.0, np.nan], dtype), v)])

    optimizer.apply_gradients([(tf.constant([1.0, 1.0], dtype), v)])
    steps(3000)
    for slot in optimizer.variables[2:]:
        decayed, undefined = slot.numpy()
        assert np.isnan(undefined)
        # Arithmetic with float16 goes by way of float32, in which its subnormal numbers are normal.
        assert decayed == 0 or (dtype == tf.float16 and abs(decayed) < 2.0**-14)


@pytest.mark.parametrize("optimizer", [tf.optimizers.SGD, tf.optimizers.Adam, tf.optimizers.Adagrad])
def test_gradients_that_do_not_fit_are_refused_and_nothing_is_changed(optimizer):
    v, optimizer = tf.Variable([1.0, 2.0], name="weight"), optimizer()
    for gradient in ([1.0], [[1.0, 2.0]], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match=r"'weight:0' of shape \(2,\) has shape"):
            optimizer.apply_gradients([(tf.constant(gradient), v)])
    with pytest.raises(TypeError, match=r"grads_and_vars.*pairs"):
        optimizer.apply_gradients([tf.constant([1.0, 2.0])])
    assert v.numpy().tolist() == [1.0, 2.0]
    assert int(optimizer.iterations) == 0


def test_optimizers_that_are_not_here_come_from_keras():
    pytest.importorskip("keras", reason="Keras is not installed")
    assert tf.optimizers.Nadam is tf.keras.optimizers.Nadam
    assert not hasattr(tf.optimizers, "Nothing")


def test_initializers_have_their_names_in_lower_case_too():
    assert tf.initializers.zeros()([2]).numpy().tolist() == [0, 0]
    assert tf.initializers.variance_scaling is tf.initializers.VarianceScaling
