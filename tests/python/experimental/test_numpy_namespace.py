"""`tf.experimental.numpy` in traced functions, with gradients, random numbers and arguments that it
refuses."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import penstock as tf
import penstock.experimental.numpy as tnp

X = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]])


def slope(function: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The derivative of the sum of a function's values by each element, by differences."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        found[place] = (np.sum(function(np, up)) - np.sum(function(np, down))) / (2 * step)
    return found


SMOOTH = {
    "arctan2": lambda m, x: m.arctan2(x, 2.0),
    "average": lambda m, x: m.average(x, 1, m.array([1.0, 2.0, 3.0])),
    "cbrt": lambda m, x: m.cbrt(m.square(x) + 1.0),
    "clip": lambda m, x: m.clip(x, -1.0, 1.0) * x,
    "concatenate": lambda m, x: m.concatenate([x, m.square(x)], 0),
    "cumprod": lambda m, x: m.cumprod(x, 1),
    "diagonal": lambda m, x: m.diagonal(m.square(x), 1),
    "diff": lambda m, x: m.square(m.diff(x)),
    "dot": lambda m, x: m.dot(x, m.transpose(x)),
    "einsum": lambda m, x: m.einsum("ij,kj->ik", x, m.square(x)),
    "exp2": lambda m, x: m.exp2(x),
    "float_power": lambda m, x: m.float_power(m.square(x), 1.5),
    "hypot": lambda m, x: m.hypot(x, 2.0),
    "kron": lambda m, x: m.kron(x, m.square(x)),
    "log2": lambda m, x: m.log2(m.square(x)),
    "logaddexp2": lambda m, x: m.logaddexp2(x, 1.0),
    "matmul": lambda m, x: m.matmul(x, m.array([1.0, 2.0, 3.0])) ** 2,
    "nanmean": lambda m, x: m.square(m.nanmean(x, 0)),
    "polyval": lambda m, x: m.polyval([1.0, 2.0, 3.0], x),
    "prod": lambda m, x: m.prod(x, 0),
    "repeat": lambda m, x: m.square(m.repeat(x, [1, 2], 0)),
    "sinc": lambda m, x: m.sinc(x),
    "sort": lambda m, x: m.sort(x) * m.array([1.0, 2.0, 3.0]),
    "std": lambda m, x: m.std(x, 1),
    "take": lambda m, x: m.square(m.take(x, [0, 2], 1, mode="clip")),
    "tile": lambda m, x: m.square(m.tile(x, 2)),
    "tril": lambda m, x: m.square(m.tril(x)),
    "vander": lambda m, x: m.vander(m.ravel(x), 3),
    "var": lambda m, x: m.var(x, 0, ddof=1),
    "where": lambda m, x: m.where(x > 0, x, m.square(x)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_have_gradients(name):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(SMOOTH[name](tnp, x))
    np.testing.assert_allclose(tape.gradient(y, x), slope(SMOOTH[name], X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["sinc", "hypot"])
def test_gradients_are_finite_where_a_formula_divides_by_zero(name):
    x = tf.constant([0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sinc(x) if name == "sinc" else tnp.hypot(x, tf.constant([0.0]))
    assert tape.gradient(y, x).numpy().tolist() == [0.0]


RANKLESS = {
    "diag": lambda x: tnp.diag(x),
    "sum": lambda x: tnp.sum(x, axis=-1),
    "swapaxes": lambda x: tnp.swapaxes(x, 0, -1),
    "flip": lambda x: tnp.flip(x),
    "matmul": lambda x: tnp.matmul(x, tnp.ones(3)),
    "atleast_2d": lambda x: tnp.atleast_2d(x),
    "tile": lambda x: tnp.tile(x, 2),
    "sort": lambda x: tnp.sort(x),
    "reshape": lambda x: tnp.reshape(x, [-1]),
}


@pytest.mark.parametrize("name", RANKLESS)
def test_functions_take_arrays_of_unknown_rank(name):
    run = tf.function(RANKLESS[name], input_signature=[tf.TensorSpec(None, tf.float64)])
    for x in (X, X[0]):
        expected = RANKLESS[name](tf.constant(x))
        np.testing.assert_array_equal(run(tf.constant(x)), expected)


def test_functions_are_mapped_over_a_batch():
    got = tf.vectorized_map(lambda row: tnp.sum(tnp.square(row)) + tnp.max(row), tf.constant(X))
    np.testing.assert_allclose(got, (X**2).sum(1) + X.max(1))


def test_questions_about_arrays_are_answered():
    assert tnp.shape(X) == [2, 3]
    assert tnp.ndim(X) == 2
    assert tnp.size(X) == 6
    assert tnp.isscalar(3)
    assert not tnp.isscalar([3])
    assert tnp.iscomplexobj(1j)
    assert not tnp.isrealobj(1j)
    assert not tnp.iscomplexobj(X)
    assert tnp.isrealobj(X)
    sized = tf.function(tnp.size, input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    assert sized(tf.constant(X)).numpy() == 6


def test_the_other_functions_that_make_arrays():
    assert tnp.empty((2, 3)).shape == [2, 3]
    assert tnp.empty_like(X).dtype == tf.float64
    assert tnp.asanyarray([1]).dtype == tf.int64
    assert tnp.flatten(X, "F").numpy().tolist() == X.flatten("F").tolist()
    assert tnp.float_power(2, 3).numpy() == 8


def test_results_are_plain_tensors():
    for made in (tnp.eye(2), tnp.matmul(X, X.T), tnp.moveaxis(X, 0, 1), tnp.flip(X), tnp.expand_dims(X, 0)):
        assert isinstance(made.shape, tf.TensorShape)
        with pytest.raises(tf.errors.DTypeError):
            made + tf.ones_like(made, tf.float32)


def test_random_numbers_have_shapes_dtypes_and_seeds():
    tnp.random.seed(3)
    first = tnp.random.randn(2, 3)
    tnp.random.seed(3)
    np.testing.assert_array_equal(tnp.random.randn(2, 3), first)
    assert first.dtype == tf.float64
    assert first.shape == [2, 3]
    assert tnp.random.rand().shape == []
    assert tnp.random.random((2,)).shape == [2]
    assert tnp.random.standard_normal().shape == []
    assert tnp.random.standard_normal(4).shape == [4]
    drawn = tnp.random.uniform([0.0, 10.0], [1.0, 11.0]).numpy()
    assert drawn.shape == (2,)
    assert 0 <= drawn[0] < 1
    assert 10 <= drawn[1] < 11
    whole = tnp.random.randint(2, 5, 1000)
    assert whole.dtype == tf.int64
    assert set(whole.numpy().tolist()) == {2, 3, 4}
    assert tnp.random.randint(3, size=(2, 2), dtype=np.int32).dtype == tf.int32
    counts = tnp.random.poisson(4.0, 2000)
    assert counts.dtype == tf.int64
    assert 3.5 < counts.numpy().mean() < 4.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tnp.amax(X, out=X), "amax: argument 'out' is not supported"),
        (lambda: tnp.mean(X, out=X), "mean: argument 'out' is not supported"),
        (lambda: tnp.take(X, [0], out=X), "take: argument 'out' is not supported"),
        (lambda: tnp.take(X, [0], mode="raise"), "argument 'mode' must be 'clip' or 'wrap'"),
        (lambda: tnp.sign(X, where=X > 0), "sign: argument 'where' is not supported"),
        (lambda: tnp.reshape(X, -1, order="A"), "argument 'order' must be 'C' or 'F'"),
        (lambda: tnp.flatten(X, "X"), "argument 'order' must be"),
        (lambda: tnp.full_like(X, 1, order="F"), "argument 'order' must be 'K'"),
        (lambda: tnp.full_like(X, 1, subok=False), "argument 'subok' must be True"),
        (lambda: tnp.full_like(X, 1, shape=(2,)), "argument 'shape' is not supported"),
        (lambda: tnp.pad(X, 1, "edge"), "argument 'mode' must be"),
        (lambda: tnp.pad(X, 1, "constant", end=1), r"options \['end'\] are not supported"),
        (lambda: tnp.meshgrid([1], sparse=True), "argument 'sparse' must be False"),
        (lambda: tnp.einsum("i", [1], casting="unsafe"), "argument 'casting' must be"),
        (lambda: tnp.broadcast_arrays([1], subok=True), "options are not supported"),
        (lambda: tnp.argsort(X, kind="heap"), "argument 'kind' must be"),
        (lambda: tnp.sort(X, kind="stable"), "argument 'kind' must be"),
        (lambda: tnp.sort(X, order="x"), "argument 'order' is not supported"),
        (lambda: tnp.arange(3, step=0), "argument 'step' must not be 0"),
        (lambda: tnp.clip(X, None, None), "must be given"),
        (lambda: tnp.where(X > 0, X), "must both be given"),
        (lambda: tnp.select([], []), "argument 'choicelist'"),
        (lambda: tnp.concatenate([]), "at least one array"),
        (lambda: tnp.average(X, (0, 1)), "must be an integer or None"),
        (lambda: tnp.average(X, weights=[1.0, 2.0]), "argument 'weights' must have the shape"),
        (lambda: tnp.diff(X, -1), "argument 'n' must not be negative"),
        (lambda: tnp.split(X, 0), "argument 'indices_or_sections' must be at least 1"),
        (lambda: tnp.diag(X[None]), "must have one dimension or two"),
        (lambda: tnp.vander(X), "argument 'x' must be a vector"),
        (lambda: tnp.ix_(X), "arguments must be vectors"),
        (lambda: tnp.ix_([1.5]), "must be of integers or booleans"),
        (lambda: tnp.gcd(1.5, 2), "must be integers"),
        (lambda: tnp.cross([1.0], [1.0]), "vectors must have 2 or 3 elements"),
        (lambda: tnp.size(X, axis=0), "argument 'axis' is not supported"),
        (lambda: tnp.random.seed([1]), "argument 's' must be an integer"),
        (lambda: tnp.random.randint(3, dtype=np.int8), "must be int32 or int64"),
        (lambda: tnp.linspace(0, 1, -2), "argument 'num' must not be negative"),
    ],
)
def test_what_is_not_supported_is_an_error_that_names_it(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_differences_end_where_nothing_is_left():
    assert tnp.diff([1, 4, 9], 10**20).shape == [0]


def test_complex_numbers_have_no_order():
    for call in (lambda: tnp.sort([1j]), lambda: tnp.argsort([1j]), lambda: tnp.clip([1j], 0, 1)):
        with pytest.raises(TypeError, match="must be real"):
            call()


def test_functions_name_themselves():
    assert tnp.sin.__name__ == "sin"
    assert tnp.sin.__module__ == "penstock.experimental.numpy"
    assert pickle.loads(pickle.dumps(tnp.hsplit)) is tnp.hsplit
    assert list(inspect.signature(tnp.add).parameters) == ["x1", "x2"]
    assert list(inspect.signature(tnp.var).parameters) == ["a", "axis", "dtype", "out", "ddof", "keepdims"]
    assert "Args:\n    a: an array" in inspect.getdoc(tnp.sum)
