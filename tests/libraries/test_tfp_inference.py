"""Markov chains, optimizers, variational inference and mathematics of TensorFlow Probability."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

tfd, tfb = tfp.distributions, tfp.bijectors

MEAN = np.array([1.0, -2.0], np.float32)
COVARIANCE = np.array([[1.0, 0.6], [0.6, 2.0]], np.float32)


def target():
    return tfd.MultivariateNormalTriL(MEAN, np.linalg.cholesky(COVARIANCE)).log_prob


def check(states):
    states = np.reshape(states, [-1, 2])
    np.testing.assert_allclose(states.mean(0), MEAN, atol=0.3)
    np.testing.assert_allclose(np.cov(states.T), COVARIANCE, atol=0.6)


def run(kernel, steps=400, chains=4, **keywords):
    @tf.function(autograph=False)
    def sample():
        return tfp.mcmc.sample_chain(
            num_results=steps,
            num_burnin_steps=100,
            current_state=tf.zeros([chains, 2]),
            kernel=kernel,
            seed=[7, 8],
            **keywords,
        )

    return sample()


def test_hamiltonian_monte_carlo():
    kernel = tfp.mcmc.HamiltonianMonteCarlo(target(), step_size=0.6, num_leapfrog_steps=4)
    states, accepted = run(kernel, trace_fn=lambda _, r: r.is_accepted)
    check(states)
    assert 0.5 < np.mean(accepted) <= 1.0


def test_hamiltonian_monte_carlo_eagerly():
    kernel = tfp.mcmc.HamiltonianMonteCarlo(target(), step_size=0.6, num_leapfrog_steps=2)
    states = tfp.mcmc.sample_chain(
        5, tf.zeros([2]), kernel=kernel, trace_fn=None, seed=[1, 2], num_burnin_steps=2
    )
    assert states.shape == (5, 2)
    assert np.all(np.isfinite(states))


def test_hamiltonian_monte_carlo_that_finds_its_step_size():
    kernel = tfp.mcmc.HamiltonianMonteCarlo(target(), step_size=0.05, num_leapfrog_steps=4)
    for adaptive in (tfp.mcmc.SimpleStepSizeAdaptation, tfp.mcmc.DualAveragingStepSizeAdaptation):
        states, sizes = run(
            adaptive(kernel, num_adaptation_steps=80),
            trace_fn=lambda _, r: r.new_step_size if hasattr(r, "new_step_size") else r.step_size,
        )
        check(states)
        assert np.reshape(sizes[-1], [-1])[0] > 0.1


def test_the_no_u_turn_sampler():
    states, depth = run(
        tfp.mcmc.NoUTurnSampler(target(), step_size=0.5), trace_fn=lambda _, r: r.leapfrogs_taken
    )
    check(states)
    assert np.all(np.asarray(depth) >= 1)


def test_the_no_u_turn_sampler_over_bounded_parameters():
    kernel = tfp.mcmc.TransformedTransitionKernel(
        tfp.mcmc.NoUTurnSampler(tfd.Gamma(3.0, 2.0).log_prob, step_size=0.5), tfb.Exp()
    )

    @tf.function(autograph=False)
    def sample():
        return tfp.mcmc.sample_chain(
            400, tf.ones([4]), kernel=kernel, trace_fn=None, seed=[1, 2], num_burnin_steps=100
        )

    states = sample().numpy()
    assert states.min() > 0
    np.testing.assert_allclose(states.mean(), 1.5, atol=0.2)


@pytest.mark.parametrize(
    "name", ["RandomWalkMetropolis", "MetropolisAdjustedLangevinAlgorithm", "SliceSampler"]
)
def test_other_kernels(name):
    kernel = {
        "RandomWalkMetropolis": lambda: tfp.mcmc.RandomWalkMetropolis(target()),
        "MetropolisAdjustedLangevinAlgorithm": lambda: tfp.mcmc.MetropolisAdjustedLangevinAlgorithm(
            target(), 0.5
        ),
        "SliceSampler": lambda: tfp.mcmc.SliceSampler(target(), 1.0, max_doublings=5),
    }[name]()
    check(run(kernel, steps=1500, trace_fn=None))


def test_replica_exchange():
    kernel = tfp.mcmc.ReplicaExchangeMC(
        target(),
        inverse_temperatures=[1.0, 0.5, 0.25],
        make_kernel_fn=lambda f: tfp.mcmc.HamiltonianMonteCarlo(f, step_size=0.6, num_leapfrog_steps=3),
    )
    check(run(kernel, trace_fn=None))


def test_diagnostics():
    x = np.random.default_rng(0).normal(size=[500, 4]).astype("float32")
    assert np.all(tfp.mcmc.potential_scale_reduction(x) < 1.1)
    assert np.all(tfp.mcmc.effective_sample_size(x) > 300)


def rosenbrock(x):
    return (1 - x[..., 0]) ** 2 + 100 * (x[..., 1] - x[..., 0] ** 2) ** 2


@pytest.mark.parametrize("name", ["bfgs_minimize", "lbfgs_minimize"])
@pytest.mark.parametrize("traced", [False, True])
def test_quasi_newton_optimizers(name, traced):
    def minimize():
        return getattr(tfp.optimizer, name)(
            lambda x: tfp.math.value_and_gradient(rosenbrock, x),
            initial_position=tf.constant([-1.2, 1.0], tf.float64),
            tolerance=1e-8,
            max_iterations=100,
        )

    result = (tf.function(minimize, autograph=False) if traced else minimize)()
    assert result.converged
    np.testing.assert_allclose(result.position, [1.0, 1.0], atol=1e-5)


def test_optimizers_without_derivatives():
    start = tf.constant([-1.2, 1.0])
    found = tfp.optimizer.nelder_mead_minimize(rosenbrock, initial_vertex=start, func_tolerance=1e-10)
    np.testing.assert_allclose(found.position, [1.0, 1.0], atol=1e-2)
    evolved = tfp.optimizer.differential_evolution_minimize(
        lambda x: tf.reduce_sum(tf.square(x - 1.0), -1),
        initial_population=tf.random.stateless_uniform([20, 2], [1, 2], -3, 3),
        seed=4,
        max_iterations=100,
    )
    np.testing.assert_allclose(evolved.position, [1.0, 1.0], atol=0.1)


def test_line_search():
    searched = tfp.optimizer.linesearch.hager_zhang(_value_at)
    assert searched.converged
    np.testing.assert_allclose(searched.left.x, 2.0, atol=0.5)


class Point(NamedTuple):
    x: Any
    f: Any
    df: Any


def _value_at(x):
    return Point(x, (x - 2.0) ** 2, 2 * (x - 2.0))


def test_variational_inference():
    model = tfd.JointDistributionSequential(
        [tfd.Normal(0.0, 1.0), lambda z: tfd.Sample(tfd.Normal(z, 0.5), 10)]
    )
    x = np.full(10, 1.5, np.float32)
    loc, scale = tf.Variable(0.0), tfp.util.TransformedVariable(1.0, tfb.Softplus())
    surrogate = tfd.Normal(loc, scale)
    losses = tfp.vi.fit_surrogate_posterior(
        lambda z: model.log_prob([z, x]),
        surrogate,
        optimizer=tf.keras.optimizers.Adam(0.1),
        num_steps=150,
        sample_size=8,
        seed=[1, 2],
    )
    assert np.mean(losses[-20:]) < losses[0]
    np.testing.assert_allclose(surrogate.mean(), 1.5 * 40 / 41, atol=0.1)


def test_mathematics():
    np.testing.assert_allclose(tfp.math.log1mexp(-1.0), np.log(1 - np.exp(-1.0)), rtol=1e-6)
    np.testing.assert_allclose(tfp.math.softplus_inverse(2.0), np.log(np.expm1(2.0)), rtol=1e-6)
    np.testing.assert_allclose(tfp.math.lbeta(2.0, 3.0), np.log(1 / 12), rtol=1e-5)
    np.testing.assert_allclose(tfp.math.log_cosh(2.0), np.log(np.cosh(2.0)), rtol=1e-6)
    np.testing.assert_allclose(tfp.math.lambertw(np.e), 1.0, rtol=1e-6)
    factor = tfp.math.pivoted_cholesky(tf.constant([[4.0, 2.0], [2.0, 3.0]]), max_rank=2)
    np.testing.assert_allclose(factor @ tf.transpose(factor), [[4.0, 2.0], [2.0, 3.0]], rtol=1e-4)
    np.testing.assert_allclose(
        tfp.math.interp_regular_1d_grid([0.5, 1.5], 0.0, 2.0, [0.0, 1.0, 4.0]), [0.5, 2.5], rtol=1e-6
    )
    values, slopes = tfp.math.value_and_gradient(lambda a, b: a * b, [2.0, 3.0])
    np.testing.assert_allclose([values, *slopes], [6.0, 3.0, 2.0])
    root = tfp.math.find_root_chandrupatla(lambda x: x**2 - 2.0, 0.0, 2.0)
    np.testing.assert_allclose(root.estimated_root, np.sqrt(2.0), rtol=1e-4)


def test_the_trapezoidal_rule():
    np.testing.assert_allclose(tfp.math.trapz([1.0, 2.0, 3.0]), 4.0)


def test_differential_equations():
    found = tfp.math.ode.DormandPrince(rtol=1e-8, atol=1e-10).solve(
        lambda t, y: -y, 0.0, tf.constant(1.0, tf.float64), solution_times=[0.5, 1.0, 2.0]
    )
    np.testing.assert_allclose(found.states, np.exp([-0.5, -1.0, -2.0]), rtol=1e-6)


def test_statistics():
    x = np.random.default_rng(0).normal(size=[2000]).astype("float32")
    np.testing.assert_allclose(
        tfp.stats.percentile(x, 50.0), np.percentile(x, 50, method="nearest"), rtol=1e-5
    )
    np.testing.assert_allclose(tfp.stats.variance(x), x.var(), rtol=1e-4)
    np.testing.assert_allclose(tfp.stats.stddev(x), x.std(), rtol=1e-4)
    np.testing.assert_allclose(tfp.stats.correlation(x, x, sample_axis=0, event_axis=None), 1.0, rtol=1e-4)
    np.testing.assert_allclose(tfp.stats.auto_correlation(x, max_lags=3)[0], 1.0, rtol=1e-4)
    np.testing.assert_allclose(tfp.stats.histogram(x, [-10.0, 0.0, 10.0]), np.histogram(x, [-10, 0, 10])[0])


@pytest.mark.parametrize("name", ["ExponentiatedQuadratic", "MaternThreeHalves", "MaternFiveHalves"])
def test_kernels(name):
    kernel = getattr(tfp.math.psd_kernels, name)(2.0, 0.5)
    x = np.linspace(0, 1, 4, dtype=np.float32)[:, None]
    matrix = kernel.matrix(x, x).numpy()
    np.testing.assert_allclose(np.diag(matrix), np.full(4, 4.0), rtol=1e-5)
    assert np.linalg.eigvalsh(matrix.astype("float64")).min() > -1e-4
    both = (kernel + kernel * kernel).matrix(x, x)
    np.testing.assert_allclose(both, matrix + matrix**2, rtol=1e-4)


def test_structural_time_series():
    y = np.cumsum(np.random.default_rng(0).normal(size=30)).astype("float32")
    model = tfp.sts.Sum([tfp.sts.LocalLinearTrend(observed_time_series=y)], observed_time_series=y)
    joint = model.joint_distribution(y)
    assert np.isfinite(joint.log_prob(joint.sample_unpinned(seed=[1, 2])))


def test_a_regression_is_fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=[200, 2]).astype("float32")
    y = x @ np.array([1.0, -0.5], np.float32)
    found = tfp.glm.fit(x, y, tfp.glm.Normal())[0]
    np.testing.assert_allclose(found, [1.0, -0.5], atol=1e-3)
