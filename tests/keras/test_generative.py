"""Generative models, whose training steps are the user's own."""

import numpy as np

import penstock as tf

keras = tf.keras
layers = keras.layers


class Sampling(layers.Layer):
    """Draws from a normal distribution of given mean and logarithm of the variance."""

    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator(5)

    def call(self, inputs):
        mean, log_variance = inputs
        noise = keras.random.normal(keras.ops.shape(mean), seed=self.seeds)
        return mean + keras.ops.exp(0.5 * log_variance) * noise


class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        inputs = keras.Input([64])
        hidden = layers.Dense(64, activation="relu")(inputs)
        mean, spread = layers.Dense(4)(hidden), layers.Dense(4)(hidden)
        self.encoder = keras.Model(inputs, [mean, spread, Sampling()([mean, spread])])
        self.decoder = keras.Sequential(
            [keras.Input([4]), layers.Dense(64, activation="relu"), layers.Dense(64, activation="sigmoid")]
        )
        self.trackers = {
            name: keras.metrics.Mean(name=name) for name in ("loss", "reconstruction", "divergence")
        }

    @property
    def metrics(self):
        return list(self.trackers.values())

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, spread, code = self.encoder(x)
            again = self.decoder(code)
            reconstruction = tf.reduce_mean(
                tf.reduce_sum(64 * keras.losses.binary_crossentropy(x, again)[:, None], 1)
            )
            divergence = tf.reduce_mean(-0.5 * tf.reduce_sum(1 + spread - mean**2 - tf.exp(spread), 1))
            loss = reconstruction + divergence
        weights = self.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        for tracker, value in zip(self.metrics, (loss, reconstruction, divergence), strict=True):
            tracker.update_state(value)
        return {tracker.name: tracker.result() for tracker in self.metrics}


def test_a_variational_autoencoder_learns_to_encode_digits(digits):
    x = digits[0][0].reshape(-1, 64)
    model = Autoencoder()
    model.compile(keras.optimizers.Adam(3e-3))
    history = model.fit(x, epochs=25, batch_size=64, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] - 5
    assert history["divergence"][-1] > 1
    assert np.isfinite(history["loss"]).all()
    drawn = model.decoder.predict(np.random.default_rng(0).normal(size=(8, 4)), verbose=0)
    assert ((drawn >= 0) & (drawn <= 1)).all()


def ring(rng, count):
    """Points around a circle of radius 2."""
    angle = rng.uniform(0, 2 * np.pi, count)
    return np.stack([2 * np.cos(angle), 2 * np.sin(angle)], 1).astype(np.float32)


def radius_error(points):
    """How far points are from that circle, on average."""
    return np.mean(np.abs(np.linalg.norm(points, axis=1) - 2))


def generator_and_critic(width):
    generator = keras.Sequential(
        [
            keras.Input([8]),
            layers.Dense(width, activation="relu"),
            layers.Dense(width, activation="relu"),
            layers.Dense(2),
        ]
    )
    critic = keras.Sequential(
        [
            keras.Input([2]),
            layers.Dense(width, activation="leaky_relu"),
            layers.Dense(width, activation="leaky_relu"),
            layers.Dense(1),
        ]
    )
    return generator, critic


def test_an_adversarial_network_of_two_optimizers_moves_towards_the_data():
    generator, critic = generator_and_critic(32)

    class Adversarial(keras.Model):
        def __init__(self):
            super().__init__()
            self.generator, self.critic = generator, critic
            self.seeds = keras.random.SeedGenerator(2)

        def compile(self, first, second):
            super().compile()
            self.first, self.second = first, second
            self.loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

        def train_step(self, real):
            n = tf.shape(real)[0]
            noise = keras.random.normal([n, 8], seed=self.seeds)
            points = tf.concat([real, self.generator(noise)], 0)
            labels = tf.concat([tf.ones([n, 1]), tf.zeros([n, 1])], 0)
            with tf.GradientTape() as tape:
                critics = self.loss_of(labels, self.critic(points))
            weights = self.critic.trainable_weights
            self.second.apply_gradients(zip(tape.gradient(critics, weights), weights, strict=True))
            with tf.GradientTape() as tape:
                generators = self.loss_of(tf.ones([n, 1]), self.critic(self.generator(noise)))
            weights = self.generator.trainable_weights
            self.first.apply_gradients(zip(tape.gradient(generators, weights), weights, strict=True))
            return {"critic": critics, "generator": generators}

    model = Adversarial()
    model.compile(keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(1e-3, beta_1=0.5))
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 8)).astype(np.float32)

    def error():
        return radius_error(generator.predict(noise, verbose=0))

    before = error()
    history = model.fit(ring(rng, 2000), epochs=25, batch_size=100, verbose=0).history
    assert set(history) == {"critic", "generator"}
    assert error() < before / 2


class Wasserstein(keras.Model):
    """A generator, and a critic whose slope between real and generated points is held at 1."""

    def __init__(self, critic_steps=3):
        super().__init__()
        self.generator, self.critic = generator_and_critic(64)
        self.critic_steps = critic_steps
        self.seeds = keras.random.SeedGenerator(3)

    def compile(self, of_generator, of_critic):
        super().compile()
        self.of_generator, self.of_critic = of_generator, of_critic

    def noise(self, count):
        return keras.random.normal([count, 8], seed=self.seeds)

    def penalty(self, real, generated):
        mix = keras.random.uniform([tf.shape(real)[0], 1], seed=self.seeds)
        between = mix * real + (1 - mix) * generated
        with tf.GradientTape() as tape:
            tape.watch(between)
            scores = self.critic(between, training=True)
        slopes = tf.norm(tape.gradient(scores, between), axis=1)
        return tf.reduce_mean(tf.square(slopes - 1))

    def train_step(self, real):
        count = tf.shape(real)[0]
        for _ in range(self.critic_steps):
            generated = self.generator(self.noise(count), training=True)
            with tf.GradientTape() as tape:
                penalty = self.penalty(real, generated)
                distance = tf.reduce_mean(self.critic(real, training=True)) - tf.reduce_mean(
                    self.critic(generated, training=True)
                )
                loss = penalty - distance
            weights = self.critic.trainable_weights
            self.of_critic.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.critic(self.generator(self.noise(count), training=True)))
        weights = self.generator.trainable_weights
        self.of_generator.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"distance": distance, "penalty": penalty}


def test_a_generator_learns_a_ring_from_a_critic_with_a_gradient_penalty():
    keras.utils.set_random_seed(7)
    model = Wasserstein()
    model.compile(*(keras.optimizers.Adam(1e-3, beta_1=0.5, beta_2=0.9) for _ in range(2)))
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(1000, 8)).astype(np.float32)

    def generated():
        return model.generator.predict(noise, verbose=0)

    before = radius_error(generated())
    history = model.fit(ring(rng, 2000), epochs=80, batch_size=100, verbose=0).history
    points = generated()
    assert radius_error(points) < min(0.15, before / 8)
    # Points are all around the circle: none of eight sectors has less than half of its share.
    sectors = np.bincount(((np.arctan2(*points.T) + np.pi) / (np.pi / 4)).astype(int) % 8, minlength=8)
    assert sectors.min() > len(points) / 8 / 2
    assert history["penalty"][-1] < 0.15
    assert abs(history["distance"][-1]) < max(history["distance"]) / 2


class Coupling(layers.Layer):
    """An affine coupling of Real NVP: the half that `mask` keeps scales and moves the other."""

    def __init__(self, mask):
        super().__init__()
        self.mask = tf.constant(mask, tf.float32)
        self.hidden = layers.Dense(32, activation="relu")
        self.scale, self.move = layers.Dense(2, activation="tanh"), layers.Dense(2)

    def call(self, x):
        kept = x * self.mask
        hidden = self.hidden(kept)
        scale, move = (layer(hidden) * (1 - self.mask) for layer in (self.scale, self.move))
        return kept + (1 - self.mask) * (x * tf.exp(scale) + move), tf.reduce_sum(scale, 1)


class Flow(keras.Model):
    def __init__(self):
        super().__init__()
        self.couplings = [Coupling([i % 2, 1 - i % 2]) for i in range(6)]

    def call(self, x):
        total = 0.0
        for coupling in self.couplings:
            x, logarithm = coupling(x)
            total += logarithm
        return 0.5 * tf.reduce_sum(x * x, 1) + np.log(2 * np.pi).astype(np.float32) - total


def test_a_normalizing_flow_finds_the_density_of_correlated_points():
    rng = np.random.default_rng(0)
    mixing = np.array([[1.0, 0.8], [0.0, 0.3]])
    x = (rng.normal(size=(2000, 2)) @ mixing + [1, -1]).astype(np.float32)
    model = Flow()
    model.compile(keras.optimizers.Adam(5e-3), loss=lambda _, nll: nll)
    model.fit(x, np.zeros(len(x), np.float32), epochs=15, batch_size=100, verbose=0)
    found = model.predict(x, verbose=0).mean()
    # The entropy of the normal distribution, which no density can go below.
    entropy = 1 + np.log(2 * np.pi) + np.log(abs(np.linalg.det(mixing)))
    assert entropy - 0.05 < found < entropy + 0.1
