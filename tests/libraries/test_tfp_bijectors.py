"""Bijectors of TensorFlow Probability: there and back, and determinants beside derivatives by a tape."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

tfb = tfp.bijectors

REAL = np.array([-1.3, -0.2, 0.4, 2.1], np.float32)
POSITIVE = np.array([0.2, 0.7, 1.3, 2.1], np.float32)
UNIT = np.array([0.1, 0.35, 0.6, 0.9], np.float32)

SCALARS = {
    "Identity": (lambda: tfb.Identity(), REAL),
    "Exp": (lambda: tfb.Exp(), REAL),
    "Log": (lambda: tfb.Log(), POSITIVE),
    "Expm1": (lambda: tfb.Expm1(), REAL),
    "Log1p": (lambda: tfb.Log1p(), POSITIVE),
    "Shift": (lambda: tfb.Shift(2.0), REAL),
    "Scale": (lambda: tfb.Scale(-3.0), REAL),
    "Softplus": (lambda: tfb.Softplus(), REAL),
    "SoftplusHinge": (lambda: tfb.Softplus(hinge_softness=0.5), REAL),
    "Softsign": (lambda: tfb.Softsign(), REAL),
    "Sigmoid": (lambda: tfb.Sigmoid(), REAL),
    "SigmoidInterval": (lambda: tfb.Sigmoid(-1.0, 3.0), REAL),
    "SoftClip": (lambda: tfb.SoftClip(-4.0, 3.0), REAL),
    "Tanh": (lambda: tfb.Tanh(), REAL),
    "Sinh": (lambda: tfb.Sinh(), REAL),
    "SinhArcsinh": (lambda: tfb.SinhArcsinh(0.2, 1.3), REAL),
    "NormalCDF": (lambda: tfb.NormalCDF(), REAL),
    "GumbelCDF": (lambda: tfb.GumbelCDF(), REAL),
    "MoyalCDF": (lambda: tfb.MoyalCDF(), REAL),
    "WeibullCDF": (lambda: tfb.WeibullCDF(1.5, 2.0), POSITIVE),
    "FrechetCDF": (lambda: tfb.FrechetCDF(0.0, 1.0, 1.5), POSITIVE),
    "KumaraswamyCDF": (lambda: tfb.KumaraswamyCDF(2.0, 3.0), UNIT),
    "GompertzCDF": (lambda: tfb.GompertzCDF(0.3, 0.5), POSITIVE),
    "Power": (lambda: tfb.Power(3.0), POSITIVE),
    "PowerTransform": (lambda: tfb.PowerTransform(0.5), REAL),
    "Reciprocal": (lambda: tfb.Reciprocal(), POSITIVE),
    "Square": (lambda: tfb.Square(), POSITIVE),
    "CubicSpline": (
        lambda: tfb.RationalQuadraticSpline([1.5, 1.5, 1.0], [1.0, 2.0, 1.0], [1.2, 0.7], range_min=-2.0),
        REAL[:3],
    ),
    "Chain": (lambda: tfb.Chain([tfb.Exp(), tfb.Shift(1.0), tfb.Scale(0.5)]), REAL),
    "Invert": (lambda: tfb.Invert(tfb.Softplus()), POSITIVE),
    "Inline": (
        lambda: tfb.Inline(
            forward_fn=tf.exp,
            inverse_fn=tf.math.log,
            inverse_log_det_jacobian_fn=lambda y: -tf.math.log(y),
            forward_min_event_ndims=0,
        ),
        REAL,
    ),
    "LambertWTail": (lambda: tfb.LambertWTail(0.0, 1.0, 0.2), REAL),
}


@pytest.mark.parametrize("name", SCALARS)
def test_there_and_back(name):
    make, x = SCALARS[name]
    y = make().forward(tf.constant(x))
    np.testing.assert_allclose(make().inverse(tf.identity(y)), x, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", SCALARS)
def test_the_determinant_is_the_derivative(name):
    make, x = SCALARS[name]
    v = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = make().forward(v)
    slope = tf.math.log(tf.abs(tape.gradient(y, v)))
    np.testing.assert_allclose(make().forward_log_det_jacobian(v), slope, rtol=1e-3, atol=1e-4)
    back = make().inverse_log_det_jacobian(tf.identity(y))
    np.testing.assert_allclose(back, -slope, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", SCALARS)
def test_a_traced_function_gives_the_same(name):
    make, x = SCALARS[name]
    traced = tf.function(lambda v: (make().forward(v), make().forward_log_det_jacobian(v)))
    y, slope = traced(x)
    np.testing.assert_allclose(y, make().forward(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slope, make().forward_log_det_jacobian(x), rtol=1e-4, atol=1e-5)


VECTORS = {
    "SoftmaxCentered": (lambda: tfb.SoftmaxCentered(), 3),
    "Ascending": (lambda: tfb.Ascending(), 3),
    "ScaleMatvecDiag": (lambda: tfb.ScaleMatvecDiag([1.0, -2.0, 3.0]), 3),
    "ScaleMatvecTriL": (lambda: tfb.ScaleMatvecTriL([[1.0, 0.0], [2.0, 3.0]]), 2),
    "ScaleMatvecLU": (lambda: tfb.ScaleMatvecLU([[1.0, 2.0], [0.5, 3.0]], [1, 0]), 2),
    "ScaleMatvecLinearOperator": (
        lambda: tfb.ScaleMatvecLinearOperator(
            tf.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]])
        ),
        2,
    ),
    "Permute": (lambda: tfb.Permute([2, 0, 1]), 3),
    "Blockwise": (lambda: tfb.Blockwise([tfb.Exp(), tfb.Shift(1.0)], [1, 2]), 3),
    "RealNVP": (
        lambda: tfb.RealNVP(
            num_masked=1,
            shift_and_log_scale_fn=lambda x, n, **_: (tf.tile(x, [1] * (x.shape.rank - 1) + [n]), 0.5),
        ),
        3,
    ),
    "Cumsum": (lambda: tfb.Cumsum(), 3),
}


def log_determinant(bijector, x):
    """That of the volume, which for results in a plane of more dimensions is of that plane."""
    with tf.GradientTape() as tape:
        v = tf.constant(x)
        tape.watch(v)
        y = bijector.forward(v)
    jacobian = tape.jacobian(y, v).numpy().astype("float64")
    return 0.5 * np.log(np.linalg.det(jacobian.T @ jacobian))


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_there_and_back(name):
    make, size = VECTORS[name]
    x = REAL[:size]
    y = make().forward(tf.constant(x))
    np.testing.assert_allclose(make().inverse(tf.identity(y)), x, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", VECTORS)
def test_the_determinant_of_vectors_is_that_of_the_derivatives(name):
    make, size = VECTORS[name]
    x = REAL[:size]
    ours = make().forward_log_det_jacobian(tf.constant(x), event_ndims=1)
    np.testing.assert_allclose(ours, log_determinant(make(), x), rtol=1e-3, atol=1e-4)


MATRICES = {
    "FillTriangular": lambda: tfb.FillTriangular(),
    "FillScaleTriL": lambda: tfb.FillScaleTriL(),
    "CorrelationCholesky": lambda: tfb.CorrelationCholesky(),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_there_and_back(name):
    x = REAL[:3]
    y = MATRICES[name]().forward(tf.constant(x))
    assert y.shape.rank == 2
    np.testing.assert_allclose(MATRICES[name]().inverse(tf.identity(y)), x, rtol=1e-3, atol=1e-5)


def test_products_of_triangular_matrices():
    factor = tf.constant([[1.0, 0.0], [2.0, 3.0]])
    product = tfb.CholeskyOuterProduct().forward(factor)
    np.testing.assert_allclose(product, [[1.0, 2.0], [2.0, 13.0]])
    np.testing.assert_allclose(tfb.CholeskyOuterProduct().inverse(tf.identity(product)), factor, rtol=1e-5)
    inverse = tfb.CholeskyToInvCholesky().forward(factor)
    np.testing.assert_allclose(
        inverse @ tf.transpose(inverse), np.linalg.inv([[1.0, 2.0], [2.0, 13.0]]), rtol=1e-4
    )


def test_shapes_are_moved():
    assert tfb.Reshape([2, 3]).forward(tf.zeros([5, 6])).shape == (5, 2, 3)
    assert tfb.Transpose([1, 0]).forward(tf.zeros([2, 3])).shape == (3, 2)
    assert tfb.Pad([[1, 0]]).forward(tf.zeros([3])).shape == (4,)
    np.testing.assert_allclose(tfb.Split(2, axis=-1).forward(tf.range(4.0))[1], [2.0, 3.0])


def test_nested_structures_are_mapped():
    both = tfb.JointMap({"a": tfb.Exp(), "b": tfb.Scale(2.0)})
    y = both.forward({"a": tf.constant(1.0), "b": tf.constant(3.0)})
    np.testing.assert_allclose(y["a"], np.e, rtol=1e-6)
    np.testing.assert_allclose(y["b"], 6.0)
    chain = tfb.Chain([tfb.Restructure({"x": 0, "y": 1}), tfb.Split(2)])
    assert set(chain.forward(tf.range(2.0))) == {"x", "y"}


def test_an_autoregressive_flow_is_trained():
    made = tfb.AutoregressiveNetwork(params=2, event_shape=[2], hidden_units=[8], activation="relu")
    flow = tfp.distributions.TransformedDistribution(
        tfp.distributions.Sample(tfp.distributions.Normal(0.0, 1.0), [2]), tfb.MaskedAutoregressiveFlow(made)
    )
    x = np.random.default_rng(0).normal(1.0, 0.5, [64, 2]).astype("float32")
    optimizer = tf.keras.optimizers.Adam(0.05)
    losses = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(flow.log_prob(x))
        variables = made.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < losses[0]


def test_a_scalar_function_of_variables():
    shift = tf.Variable(1.0)
    bijector = tfb.Shift(shift)
    with tf.GradientTape() as tape:
        y = bijector.forward(2.0)
    np.testing.assert_allclose(tape.gradient(y, shift), 1.0)
    assert bijector.trainable_variables == (shift,)


def test_bijectors_are_arguments_of_traced_functions():
    @tf.function
    def apply(b, x):
        return b.forward(x)

    np.testing.assert_allclose(apply(tfb.Scale(tf.constant(3.0)), tf.constant(2.0)), 6.0)
