"""GPflow: each kind of model, its training and its predictions; regression beside NumPy."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

RNG = np.random.default_rng(0)
X = np.linspace(0, 1, 20)[:, None]
Y = np.sin(6 * X) + 0.1 * RNG.normal(size=X.shape)
LABELS = (Y > 0).astype("float64")
NEW = np.linspace(0, 1, 7)[:, None]
Z = X[::4].copy()


def squared_exponential():
    return gpflow.kernels.SquaredExponential(lengthscales=0.3)


def test_regression_is_the_formula():
    model = gpflow.models.GPR((X, Y), squared_exponential(), noise_variance=0.01)
    covariance = np.exp(-((X - X.T) ** 2) / (2 * 0.09)) + 0.01 * np.eye(20)
    _, determinant = np.linalg.slogdet(covariance)
    expected = -0.5 * (Y.T @ np.linalg.solve(covariance, Y) + determinant + 20 * np.log(2 * np.pi))
    np.testing.assert_allclose(model.log_marginal_likelihood(), expected[0, 0], rtol=1e-8)
    cross = np.exp(-((NEW - X.T) ** 2) / (2 * 0.09))
    mean, variance = model.predict_f(NEW)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(covariance, Y), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        variance[:, 0], 1 - np.sum(cross * np.linalg.solve(covariance, cross.T).T, 1), rtol=1e-5, atol=1e-8
    )
    assert model.predict_f(NEW, full_cov=True)[1].shape == (1, 7, 7)
    assert model.predict_y(NEW)[1].shape == (7, 1)
    assert model.predict_f_samples(NEW, 3).shape == (3, 7, 1)
    assert np.all(np.isfinite(model.predict_log_density((X, Y))))


def minimized(model, steps=50):
    loss = model.training_loss if hasattr(model, "data") else model.training_loss_closure((X, Y))
    before = float(loss())
    gpflow.optimizers.Scipy().minimize(loss, model.trainable_variables, options={"maxiter": steps})
    return before, float(loss())


MODELS = {
    "GPR": lambda: gpflow.models.GPR((X, Y), squared_exponential()),
    "GPR with a mean": lambda: gpflow.models.GPR(
        (X, Y), squared_exponential(), mean_function=gpflow.mean_functions.Linear()
    ),
    "SGPR": lambda: gpflow.models.SGPR((X, Y), squared_exponential(), Z),
    "GPRFITC": lambda: gpflow.models.GPRFITC((X, Y), squared_exponential(), Z),
    "VGP": lambda: gpflow.models.VGP((X, LABELS), squared_exponential(), gpflow.likelihoods.Bernoulli()),
    "VGPOpperArchambeau": lambda: gpflow.models.VGPOpperArchambeau(
        (X, Y), squared_exponential(), gpflow.likelihoods.StudentT()
    ),
    "SVGP": lambda: gpflow.models.SVGP(squared_exponential(), gpflow.likelihoods.Gaussian(), Z, num_data=20),
    "SVGP not whitened": lambda: gpflow.models.SVGP(
        squared_exponential(), gpflow.likelihoods.Gaussian(), Z, whiten=False, num_data=20
    ),
    "GPMC": lambda: gpflow.models.GPMC((X, LABELS), squared_exponential(), gpflow.likelihoods.Bernoulli()),
    "SGPMC": lambda: gpflow.models.SGPMC(
        (X, LABELS), squared_exponential(), gpflow.likelihoods.Bernoulli(), inducing_variable=Z
    ),
    "GPLVM": lambda: gpflow.models.GPLVM(np.hstack([Y, X, X**2]), latent_dim=1),
    "BayesianGPLVM": lambda: gpflow.models.BayesianGPLVM(
        np.hstack([Y, X, X**2]),
        X_data_mean=X,
        X_data_var=np.full_like(X, 0.1),
        kernel=squared_exponential(),
        num_inducing_variables=5,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_trained_and_predicts(name):
    model = MODELS[name]()
    before, after = minimized(model, 25)
    assert after < before
    mean, variance = model.predict_f(NEW)
    assert np.all(np.isfinite(mean))
    assert np.all(np.asarray(variance) > -1e-6)


KERNELS = {
    "Constant": lambda: gpflow.kernels.Constant(),
    "White": lambda: gpflow.kernels.White(),
    "Linear": lambda: gpflow.kernels.Linear(),
    "Polynomial": lambda: gpflow.kernels.Polynomial(),
    "Exponential": lambda: gpflow.kernels.Exponential(),
    "Matern12": lambda: gpflow.kernels.Matern12(),
    "Matern32": lambda: gpflow.kernels.Matern32(),
    "Matern52": lambda: gpflow.kernels.Matern52(),
    "RationalQuadratic": lambda: gpflow.kernels.RationalQuadratic(),
    "Cosine": lambda: gpflow.kernels.Cosine(),
    "Periodic": lambda: gpflow.kernels.Periodic(gpflow.kernels.RBF(), period=0.5),
    "ArcCosine": lambda: gpflow.kernels.ArcCosine(order=1),
    "ChangePoints": lambda: gpflow.kernels.ChangePoints(
        [gpflow.kernels.RBF(), gpflow.kernels.Linear()], locations=[0.5], steepness=5.0
    ),
    "sum and product": lambda: gpflow.kernels.RBF() * gpflow.kernels.Linear() + gpflow.kernels.White(),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_gives_covariances(name):
    kernel = KERNELS[name]()
    matrix = kernel(X).numpy()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(kernel(X, full_cov=False), np.diag(matrix), atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-8
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(kernel(X, NEW))
    assert all(g is None or np.all(np.isfinite(g)) for g in tape.gradient(total, kernel.trainable_variables))


def test_kernels_of_some_columns_and_of_several_outputs():
    two = np.hstack([X, X**2])
    kernel = gpflow.kernels.RBF(active_dims=[0]) + gpflow.kernels.RBF(active_dims=[1], lengthscales=[0.5])
    assert kernel(two).shape == (20, 20)
    shared = gpflow.kernels.SharedIndependent(squared_exponential(), output_dim=2)
    inducing = gpflow.inducing_variables.SharedIndependentInducingVariables(
        gpflow.inducing_variables.InducingPoints(Z)
    )
    model = gpflow.models.SVGP(shared, gpflow.likelihoods.Gaussian(), inducing, num_latent_gps=2, num_data=20)
    data = (X, np.hstack([Y, -Y]))
    loss = model.training_loss_closure(data)
    before = float(loss())
    gpflow.optimizers.Scipy().minimize(loss, model.trainable_variables, options={"maxiter": 20})
    assert float(loss()) < before
    assert model.predict_f(NEW)[0].shape == (7, 2)


LIKELIHOODS = {
    "Gaussian": lambda: gpflow.likelihoods.Gaussian(),
    "StudentT": lambda: gpflow.likelihoods.StudentT(),
    "Bernoulli": lambda: gpflow.likelihoods.Bernoulli(),
    "Exponential": lambda: gpflow.likelihoods.Exponential(),
    "Gamma": lambda: gpflow.likelihoods.Gamma(),
    "Beta": lambda: gpflow.likelihoods.Beta(),
    "Poisson": lambda: gpflow.likelihoods.Poisson(),
    "Ordinal": lambda: gpflow.likelihoods.Ordinal(np.array([0.5])),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_likelihood_has_expectations(name):
    likelihood = LIKELIHOODS[name]()
    mean, variance = np.full([5, 1], 0.3), np.full([5, 1], 0.2)
    y = {"Bernoulli": np.ones([5, 1]), "Poisson": np.full([5, 1], 2.0), "Ordinal": np.ones([5, 1])}.get(
        name, np.full([5, 1], 0.4)
    )
    assert np.all(np.isfinite(likelihood.variational_expectations(X[:5], mean, variance, y)))
    assert np.all(np.isfinite(likelihood.predict_log_density(X[:5], mean, variance, y)))
    assert np.all(np.isfinite(likelihood.predict_mean_and_var(X[:5], mean, variance)[0]))


def test_several_classes():
    labels = (X > 0.3).astype(int) + (X > 0.6)
    model = gpflow.models.SVGP(
        gpflow.kernels.Matern32(), gpflow.likelihoods.MultiClass(3), Z, num_latent_gps=3, num_data=20
    )
    loss = model.training_loss_closure((X, labels))
    before = float(loss())
    gpflow.optimizers.Scipy().minimize(loss, model.trainable_variables, options={"maxiter": 20})
    assert float(loss()) < before
    assert model.predict_y(NEW)[0].shape == (7, 3)


def test_batches_of_a_data_set_and_adam():
    model = MODELS["SVGP"]()
    batches = iter(tf.data.Dataset.from_tensor_slices((X, Y)).repeat().shuffle(20, seed=1).batch(10))
    loss = model.training_loss_closure(batches, compile=True)
    optimizer = tf.keras.optimizers.Adam(0.05)
    before = float(model.training_loss((X, Y)))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss()
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))
        return value

    for _ in range(30):
        step()
    assert float(model.training_loss((X, Y))) < before


def test_natural_gradients():
    model = gpflow.models.VGP((X, Y), squared_exponential(), gpflow.likelihoods.Gaussian(0.01))
    gpflow.optimizers.NaturalGradient(gamma=1.0).minimize(model.training_loss, [(model.q_mu, model.q_sqrt)])
    exact = gpflow.models.GPR((X, Y), squared_exponential(), noise_variance=0.01)
    np.testing.assert_allclose(model.elbo(), exact.log_marginal_likelihood(), rtol=1e-4)


def test_hamiltonian_monte_carlo_over_parameters():
    import tensorflow_probability as tfp

    model = gpflow.models.GPR((X, Y), squared_exponential(), noise_variance=0.05)
    model.kernel.lengthscales.prior = tfp.distributions.Gamma(np.float64(2.0), np.float64(2.0))
    model.kernel.variance.prior = tfp.distributions.Gamma(np.float64(2.0), np.float64(2.0))
    gpflow.set_trainable(model.likelihood, False)
    helper = gpflow.optimizers.SamplingHelper(model.log_posterior_density, model.trainable_parameters)
    kernel = tfp.mcmc.HamiltonianMonteCarlo(
        target_log_prob_fn=helper.target_log_prob_fn, num_leapfrog_steps=3, step_size=0.05
    )

    @tf.function
    def chain():
        return tfp.mcmc.sample_chain(
            num_results=20,
            num_burnin_steps=5,
            current_state=helper.current_state,
            kernel=kernel,
            trace_fn=lambda _, r: r.is_accepted,
        )

    samples, accepted = chain()
    values = helper.convert_to_constrained_values(samples)
    assert all(np.all(np.asarray(v) > 0) for v in values)
    assert np.mean(accepted) > 0.3


def test_parameters_are_bounded_fixed_and_copied():
    kernel = squared_exponential()
    with pytest.raises(Exception, match=r".*"):
        kernel.lengthscales.assign(-1.0)
    kernel.lengthscales.assign(0.7)
    np.testing.assert_allclose(kernel.lengthscales, 0.7)
    gpflow.set_trainable(kernel.lengthscales, False)
    assert len(kernel.trainable_variables) == 1
    other = gpflow.utilities.deepcopy(kernel)
    other.lengthscales.assign(0.2)
    np.testing.assert_allclose(kernel.lengthscales, 0.7)
    values = gpflow.utilities.parameter_dict(kernel)
    assert set(values) == {".lengthscales", ".variance"}
    gpflow.utilities.multiple_assign(other, gpflow.utilities.read_values(kernel))
    np.testing.assert_allclose(other.lengthscales, 0.7)
    assert "lengthscales" in gpflow.utilities.tabulate_module_summary(kernel, "plain")


def test_a_model_is_frozen_saved_and_restored(tmp_path):
    model = MODELS["GPR"]()
    checkpoint = tf.train.Checkpoint(model=model)
    path = checkpoint.save(str(tmp_path / "model"))
    expected = model.predict_f(NEW)[0].numpy()
    model.kernel.lengthscales.assign(2.0)
    checkpoint.restore(path)
    np.testing.assert_allclose(model.predict_f(NEW)[0], expected)
    frozen = gpflow.utilities.freeze(model)
    np.testing.assert_allclose(frozen.predict_f(NEW)[0], expected)
    model.predict = tf.function(
        lambda x: model.predict_f(x), input_signature=[tf.TensorSpec([None, 1], tf.float64)]
    )
    tf.saved_model.save(model, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_allclose(loaded.predict(NEW)[0], expected)


def test_posteriors_are_cached():
    model = MODELS["SVGP"]()
    posterior = model.posterior()
    np.testing.assert_allclose(posterior.predict_f(NEW)[0], model.predict_f(NEW)[0], rtol=1e-6, atol=1e-9)
    regression = MODELS["GPR"]()
    np.testing.assert_allclose(
        regression.posterior().predict_f(NEW)[0], regression.predict_f(NEW)[0], rtol=1e-6
    )


def test_monitoring_while_it_trains(tmp_path):
    model = MODELS["GPR"]()
    seen = []
    task = gpflow.monitor.ExecuteCallback(lambda **_: seen.append(float(model.training_loss())))
    monitor = gpflow.monitor.Monitor(gpflow.monitor.MonitorTaskGroup(task))
    gpflow.optimizers.Scipy().minimize(
        model.training_loss, model.trainable_variables, step_callback=monitor, options={"maxiter": 5}
    )
    assert len(seen) > 1
    assert seen[-1] < seen[0]
