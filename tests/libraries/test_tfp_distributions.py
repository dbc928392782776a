"""Distributions of TensorFlow Probability: densities beside SciPy's, samples, derivatives, functions."""

import numpy as np
import pytest
import scipy.stats
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions

X = np.array([0.15, 0.4, 0.8], np.float32)
COUNTS = np.array([0.0, 1.0, 3.0], np.float32)

# Each with SciPy's distribution of the same parameters, and points of its support.
SCALARS = {
    "Normal": (lambda: tfd.Normal(0.5, 2.0), scipy.stats.norm(0.5, 2.0), X),
    "LogNormal": (lambda: tfd.LogNormal(0.1, 0.7), scipy.stats.lognorm(0.7, scale=np.exp(0.1)), X),
    "StudentT": (lambda: tfd.StudentT(4.0, 0.5, 2.0), scipy.stats.t(4.0, 0.5, 2.0), X),
    "Cauchy": (lambda: tfd.Cauchy(0.5, 2.0), scipy.stats.cauchy(0.5, 2.0), X),
    "Laplace": (lambda: tfd.Laplace(0.5, 2.0), scipy.stats.laplace(0.5, 2.0), X),
    "Logistic": (lambda: tfd.Logistic(0.5, 2.0), scipy.stats.logistic(0.5, 2.0), X),
    "Gumbel": (lambda: tfd.Gumbel(0.5, 2.0), scipy.stats.gumbel_r(0.5, 2.0), X),
    "Uniform": (lambda: tfd.Uniform(-1.0, 2.0), scipy.stats.uniform(-1.0, 3.0), X),
    "Exponential": (lambda: tfd.Exponential(2.0), scipy.stats.expon(scale=0.5), X),
    "Gamma": (lambda: tfd.Gamma(3.0, 2.0), scipy.stats.gamma(3.0, scale=0.5), X),
    "InverseGamma": (lambda: tfd.InverseGamma(3.0, 2.0), scipy.stats.invgamma(3.0, scale=2.0), X),
    "Beta": (lambda: tfd.Beta(2.0, 3.0), scipy.stats.beta(2.0, 3.0), X),
    "Chi2": (lambda: tfd.Chi2(3.0), scipy.stats.chi2(3.0), X),
    "HalfNormal": (lambda: tfd.HalfNormal(2.0), scipy.stats.halfnorm(scale=2.0), X),
    "HalfCauchy": (lambda: tfd.HalfCauchy(0.0, 2.0), scipy.stats.halfcauchy(0.0, 2.0), X),
    "Weibull": (lambda: tfd.Weibull(2.0, 1.5), scipy.stats.weibull_min(2.0, scale=1.5), X),
    "Pareto": (lambda: tfd.Pareto(3.0, 0.1), scipy.stats.pareto(3.0, scale=0.1), X),
    "Kumaraswamy": (lambda: tfd.Kumaraswamy(1.0, 3.0), scipy.stats.beta(1.0, 3.0), X),
    "TruncatedNormal": (
        lambda: tfd.TruncatedNormal(0.5, 2.0, -1.0, 2.0),
        scipy.stats.truncnorm(-0.75, 0.75, 0.5, 2.0),
        X,
    ),
    "VonMises": (lambda: tfd.VonMises(0.5, 2.0), scipy.stats.vonmises(2.0, 0.5), X),
    "InverseGaussian": (lambda: tfd.InverseGaussian(0.5, 2.0), scipy.stats.invgauss(0.25, scale=2.0), X),
    "Triangular": (lambda: tfd.Triangular(-1.0, 2.0, 0.5), scipy.stats.triang(0.5, -1.0, 3.0), X),
    "Bernoulli": (lambda: tfd.Bernoulli(probs=0.3), scipy.stats.bernoulli(0.3), COUNTS[:2]),
    "Poisson": (lambda: tfd.Poisson(2.0), scipy.stats.poisson(2.0), COUNTS),
    "Binomial": (lambda: tfd.Binomial(5.0, probs=0.3), scipy.stats.binom(5, 0.3), COUNTS),
    "NegativeBinomial": (lambda: tfd.NegativeBinomial(4.0, probs=0.3), scipy.stats.nbinom(4, 0.7), COUNTS),
    "Geometric": (lambda: tfd.Geometric(probs=0.3), scipy.stats.geom(0.3, loc=-1), COUNTS),
}


def density(theirs, x):
    return theirs.logpmf(x) if hasattr(theirs.dist, "logpmf") else theirs.logpdf(x)


@pytest.mark.parametrize("name", SCALARS)
def test_the_density_is_scipys(name):
    make, theirs, x = SCALARS[name]
    np.testing.assert_allclose(make().log_prob(x), density(theirs, x), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", SCALARS)
def test_the_density_is_the_same_in_a_traced_function(name):
    make, _, x = SCALARS[name]
    traced = tf.function(lambda v: make().log_prob(v))
    np.testing.assert_allclose(traced(x), make().log_prob(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", SCALARS)
def test_the_moments_of_samples_are_scipys(name):
    make, theirs, _ = SCALARS[name]
    sample = make().sample(20_000, seed=[3, 5]).numpy().astype("float64")
    assert sample.shape == (20_000,)
    if name in ("Cauchy", "HalfCauchy"):
        np.testing.assert_allclose(np.median(sample), theirs.median(), rtol=0.1, atol=0.1)
    elif name == "VonMises":
        np.testing.assert_allclose(np.mean(np.cos(sample - 0.5)), 0.6977746, atol=0.02)
    else:
        error = 6 * theirs.std() / np.sqrt(20_000)
        np.testing.assert_allclose(sample.mean(), theirs.mean(), atol=error)


@pytest.mark.parametrize("name", [n for n, (_, theirs, _) in SCALARS.items() if hasattr(theirs.dist, "pdf")])
def test_the_derivative_of_the_density_is_the_slope(name):
    make, theirs, x = SCALARS[name]
    inner = x + np.float32(0.03)
    with tf.GradientTape() as tape:
        v = tf.constant(inner)
        tape.watch(v)
        y = make().log_prob(v)
    wide = inner.astype("float64")
    slope = (theirs.logpdf(wide + 1e-5) - theirs.logpdf(wide - 1e-5)) / 2e-5
    np.testing.assert_allclose(tape.gradient(y, v), slope, rtol=2e-3, atol=2e-3)


WITH_CDF = [n for n in SCALARS if n not in ("VonMises", "Kumaraswamy")]


@pytest.mark.parametrize("name", WITH_CDF)
def test_the_distribution_function_is_scipys(name):
    make, theirs, x = SCALARS[name]
    np.testing.assert_allclose(make().cdf(x), theirs.cdf(x), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "name", ["Normal", "Laplace", "Logistic", "Gumbel", "Uniform", "Exponential", "Cauchy"]
)
def test_the_quantile_is_scipys(name):
    make, theirs, _ = SCALARS[name]
    np.testing.assert_allclose(make().quantile(X), theirs.ppf(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    ["Normal", "Laplace", "Gamma", "Beta", "Exponential", "Uniform", "Bernoulli", "Gumbel", "StudentT"],
)
def test_the_entropy_is_scipys(name):
    make, theirs, _ = SCALARS[name]
    np.testing.assert_allclose(make().entropy(), theirs.entropy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Beta", "Exponential", "Laplace", "StudentT"])
def test_samples_have_derivatives_by_parameters(name):
    kinds = {
        "Normal": (tfd.Normal, [0.5, 2.0]),
        "Gamma": (tfd.Gamma, [3.0, 2.0]),
        "Beta": (tfd.Beta, [2.0, 3.0]),
        "Exponential": (tfd.Exponential, [2.0]),
        "Laplace": (tfd.Laplace, [0.5, 2.0]),
        "StudentT": (tfd.StudentT, [4.0, 0.5, 2.0]),
    }
    kind, values = kinds[name]
    parameters = [tf.constant(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        y = tf.reduce_mean(kind(*parameters).sample(100, seed=[1, 2]))
    slopes = tape.gradient(y, parameters)
    assert all(slope is not None and np.isfinite(slope) for slope in slopes)


def test_parameters_can_be_variables_that_are_trained():
    loc, scale = tf.Variable(0.0), tfp.util.TransformedVariable(1.0, tfp.bijectors.Softplus())
    model = tfd.Normal(loc, scale)
    data = np.random.default_rng(0).normal(3.0, 0.5, 500).astype("float32")
    assert len(model.trainable_variables) == 2
    losses = tfp.math.minimize(
        lambda: -tf.reduce_mean(model.log_prob(data)), 200, optimizer=tf.keras.optimizers.Adam(0.1)
    )
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(model.mean(), data.mean(), atol=0.05)
    np.testing.assert_allclose(model.stddev(), data.std(), atol=0.05)


MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
VECTORS = {
    "MultivariateNormalTriL": lambda: tfd.MultivariateNormalTriL([1.0, -1.0], np.linalg.cholesky(MATRIX)),
    "MultivariateNormalFullCovariance": lambda: tfd.MultivariateNormalFullCovariance([1.0, -1.0], MATRIX),
}


@pytest.mark.parametrize("name", VECTORS)
def test_normal_vectors_are_scipys(name):
    ours = VECTORS[name]()
    theirs = scipy.stats.multivariate_normal([1.0, -1.0], MATRIX)
    x = np.array([[0.0, 0.0], [1.0, 2.0]], np.float32)
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpdf(x), rtol=1e-5)
    np.testing.assert_allclose(ours.covariance(), MATRIX, rtol=1e-5)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-5)
    sample = ours.sample(20_000, seed=[1, 2]).numpy()
    np.testing.assert_allclose(np.cov(sample.T), MATRIX, atol=0.1)


def test_normal_vectors_with_a_diagonal_and_a_low_rank():
    diagonal = tfd.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0])
    theirs = scipy.stats.multivariate_normal([0.0, 1.0], np.diag([1.0, 4.0]))
    np.testing.assert_allclose(diagonal.log_prob([1.0, 1.0]), theirs.logpdf([1.0, 1.0]), rtol=1e-5)
    low = tfd.MultivariateNormalDiagPlusLowRankCovariance([0.0, 1.0], [1.0, 4.0], [[1.0], [0.5]])
    theirs = scipy.stats.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 4.25]])
    np.testing.assert_allclose(low.log_prob([1.0, 1.0]), theirs.logpdf([1.0, 1.0]), rtol=1e-4)


def test_dirichlet_multinomial_categorical():
    dirichlet = tfd.Dirichlet([1.0, 2.0, 3.0])
    x = [0.2, 0.3, 0.5]
    np.testing.assert_allclose(
        dirichlet.log_prob(x), scipy.stats.dirichlet([1.0, 2.0, 3.0]).logpdf(x), rtol=1e-5
    )
    assert dirichlet.sample([4, 5], seed=[1, 2]).shape == (4, 5, 3)
    counts = tfd.Multinomial(4.0, probs=x)
    np.testing.assert_allclose(
        counts.log_prob([1.0, 1.0, 2.0]), scipy.stats.multinomial(4, x).logpmf([1, 1, 2]), rtol=1e-5
    )
    np.testing.assert_allclose(tf.reduce_sum(counts.sample(7, seed=[1, 2]), -1), np.full(7, 4.0))
    categories = tfd.Categorical(probs=x)
    np.testing.assert_allclose(categories.log_prob([0, 2]), np.log([0.2, 0.5]), rtol=1e-5)
    one_hot = tfd.OneHotCategorical(probs=x)
    np.testing.assert_allclose(one_hot.log_prob([0, 0, 1]), np.log(0.5), rtol=1e-5)
    relaxed = tfd.RelaxedOneHotCategorical(0.5, probs=x)
    np.testing.assert_allclose(tf.reduce_sum(relaxed.sample(3, seed=[1, 2]), -1), np.ones(3), rtol=1e-5)


def test_wishart_and_lkj():
    wishart = tfd.WishartTriL(4.0, np.linalg.cholesky(MATRIX))
    np.testing.assert_allclose(
        wishart.log_prob(MATRIX), scipy.stats.wishart(4, MATRIX).logpdf(MATRIX), rtol=1e-4
    )
    correlations = tfd.LKJ(3, 1.5).sample(2, seed=[1, 2]).numpy()
    np.testing.assert_allclose(np.diagonal(correlations, axis1=1, axis2=2), np.ones((2, 3)), rtol=1e-5)
    factors = tfd.CholeskyLKJ(3, 1.5)
    assert np.isfinite(factors.log_prob(factors.sample(seed=[1, 2])))


def test_divergences():
    a, b = tfd.Normal(0.0, 1.0), tfd.Normal(1.0, 2.0)
    np.testing.assert_allclose(tfd.kl_divergence(a, b), np.log(2.0) + 2 / 8 - 0.5, rtol=1e-5)
    np.testing.assert_allclose(a.cross_entropy(b), a.entropy() + tfd.kl_divergence(a, b), rtol=1e-5)
    m = tfd.MultivariateNormalDiag([0.0, 0.0], [1.0, 1.0])
    t = tfd.MultivariateNormalTriL([1.0, 0.0], [[2.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(tfd.kl_divergence(m, t), np.log(2.0) + 2 / 8 - 0.5, rtol=1e-5)
    np.testing.assert_allclose(tfd.kl_divergence(tfd.Gamma(2.0, 1.0), tfd.Gamma(2.0, 1.0)), 0.0, atol=1e-6)


def test_independent_and_sample():
    rows = tfd.Independent(tfd.Normal(tf.zeros([3, 2]), 1.0), reinterpreted_batch_ndims=1)
    assert rows.batch_shape == [3]
    assert rows.event_shape == [2]
    assert rows.log_prob(tf.zeros([3, 2])).shape == (3,)
    drawn = tfd.Sample(tfd.Normal(0.0, 1.0), [4])
    np.testing.assert_allclose(drawn.log_prob(tf.zeros([4])), 4 * scipy.stats.norm.logpdf(0.0), rtol=1e-5)


def test_mixtures():
    same = tfd.MixtureSameFamily(tfd.Categorical(probs=[0.3, 0.7]), tfd.Normal([-1.0, 1.0], [0.5, 1.0]))
    expected = np.log(0.3 * scipy.stats.norm.pdf(X, -1, 0.5) + 0.7 * scipy.stats.norm.pdf(X, 1, 1))
    np.testing.assert_allclose(same.log_prob(X), expected, rtol=1e-4)
    np.testing.assert_allclose(same.mean(), 0.4, rtol=1e-5)
    other = tfd.Mixture(tfd.Categorical(probs=[0.3, 0.7]), [tfd.Normal(-1.0, 0.5), tfd.Normal(1.0, 1.0)])
    np.testing.assert_allclose(other.log_prob(X), expected, rtol=1e-4)
    assert same.sample([5], seed=[1, 2]).shape == other.sample([5], seed=[1, 2]).shape == (5,)


def test_transformed_distribution():
    log_normal = tfd.TransformedDistribution(tfd.Normal(0.1, 0.7), tfp.bijectors.Exp())
    theirs = scipy.stats.lognorm(0.7, scale=np.exp(0.1))
    np.testing.assert_allclose(log_normal.log_prob(X), theirs.logpdf(X), rtol=1e-5)
    np.testing.assert_allclose(log_normal.cdf(X), theirs.cdf(X), rtol=1e-5)


def test_joint_distributions_in_each_form():
    sequential = tfd.JointDistributionSequential(
        [tfd.Normal(0.0, 1.0), lambda loc: tfd.Normal(loc, 0.5), lambda x, loc: tfd.Normal(x + loc, 0.1)]
    )
    named = tfd.JointDistributionNamed(
        {
            "loc": tfd.Normal(0.0, 1.0),
            "x": lambda loc: tfd.Normal(loc, 0.5),
            "y": lambda x, loc: tfd.Normal(x + loc, 0.1),
        }
    )

    @tfd.JointDistributionCoroutineAutoBatched
    def coroutine():
        loc = yield tfd.Normal(0.0, 1.0, name="loc")
        x = yield tfd.Normal(loc, 0.5, name="x")
        yield tfd.Normal(x + loc, 0.1, name="y")

    values = [0.2, 0.4, 0.7]
    expected = scipy.stats.norm.logpdf(values, [0, 0.2, 0.6], [1, 0.5, 0.1]).sum()
    np.testing.assert_allclose(sequential.log_prob(values), expected, rtol=1e-5)
    np.testing.assert_allclose(named.log_prob(loc=0.2, x=0.4, y=0.7), expected, rtol=1e-5)
    np.testing.assert_allclose(coroutine.log_prob(*values), expected, rtol=1e-5)
    assert [part.shape for part in sequential.sample(3, seed=[1, 2])] == [(3,)] * 3
    assert named.sample(3, seed=[1, 2])["x"].shape == (3,)
    assert coroutine.sample(3, seed=[1, 2]).x.shape == (3,)
    pinned = coroutine.experimental_pin(y=0.7)
    np.testing.assert_allclose(pinned.unnormalized_log_prob(0.2, 0.4), expected, rtol=1e-5)


def test_gaussian_process():
    kernel = tfp.math.psd_kernels.ExponentiatedQuadratic(1.0, 0.5)
    points = np.linspace(0, 1, 5, dtype=np.float32)[:, None]
    process = tfd.GaussianProcess(kernel, points, observation_noise_variance=0.1)
    covariance = np.exp(-((points - points.T) ** 2) / (2 * 0.25)) + 0.1 * np.eye(5)
    y = np.sin(3 * points[:, 0])
    theirs = scipy.stats.multivariate_normal(np.zeros(5), covariance)
    np.testing.assert_allclose(process.log_prob(y), theirs.logpdf(y), rtol=1e-3)
    conditioned = tfd.GaussianProcessRegressionModel(kernel, points, points, y, 1e-4)
    np.testing.assert_allclose(conditioned.mean(), y, atol=0.02)


def test_hidden_markov_and_state_space_models():
    hmm = tfd.HiddenMarkovModel(
        tfd.Categorical(probs=[0.8, 0.2]),
        tfd.Categorical(probs=[[0.7, 0.3], [0.2, 0.8]]),
        tfd.Normal([0.0, 15.0], [5.0, 10.0]),
        num_steps=7,
    )
    np.testing.assert_allclose(hmm.mean(), [3.0, 6.0, 7.5, 8.25, 8.625001, 8.812501, 8.90625], rtol=1e-5)
    assert np.isfinite(hmm.log_prob(tf.zeros([7])))
    assert hmm.posterior_mode([-2.0, 0, 2, 4, 6, 8, 10]).shape == (7,)
    model = tfd.LinearGaussianStateSpaceModel(
        num_timesteps=5,
        transition_matrix=tf.linalg.LinearOperatorIdentity(2),
        transition_noise=tfd.MultivariateNormalDiag(scale_diag=[0.1, 0.1]),
        observation_matrix=tf.linalg.LinearOperatorFullMatrix([[1.0, 0.5]]),
        observation_noise=tfd.MultivariateNormalDiag(scale_diag=[0.5]),
        initial_state_prior=tfd.MultivariateNormalDiag(scale_diag=[1.0, 1.0]),
    )
    x = model.sample(seed=[1, 2])
    assert x.shape == (5, 1)
    assert np.isfinite(model.log_prob(x))
    assert model.posterior_marginals(x)[0].shape == (5, 2)


def test_distributions_are_arguments_and_results_of_traced_functions():
    @tf.function
    def shifted(d):
        return tfd.Normal(d.loc + 1.0, d.scale)

    result = shifted(tfd.Normal(tf.constant(1.0), tf.constant(2.0)))
    assert isinstance(result, tfd.Normal)
    np.testing.assert_allclose(result.mean(), 2.0)


def test_batches_of_distributions_are_sliced():
    batch = tfd.Normal(tf.range(6.0), 1.0)
    np.testing.assert_allclose(batch[1:3].mean(), [1.0, 2.0])
    reshaped = tfd.BatchReshape(batch, [2, 3])
    assert reshaped.batch_shape == [2, 3]
