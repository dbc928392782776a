"""Handwritten digits: logistic regression, then a small network, trained with a traced step.

Prints both accuracies, how often the training step was traced, and its time beside the same step run
eagerly. The exit status is not 0 when the network's test accuracy is below 0.95.

The images are scikit-learn's 1797 digits of 8x8 pixels.
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import penstock as tf

SEED = 7
BATCH = 64
CLASSES = 10
WANTED_ACCURACY = 0.95


def load():
    """Returns training and test images in [0, 1] as float32 [n, 64], each followed by its int32 labels."""
    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.25, random_state=SEED, stratify=labels
    )
    return train_x, train_y, test_x, test_y


class Dense:
    """A fully connected layer: weights [inputs, outputs] and a bias [outputs]."""

    def __init__(self, rng, inputs, outputs, activation=None):
        limit = np.sqrt(6.0 / (inputs + outputs))
        self.weights = tf.Variable(rng.uniform(-limit, limit, (inputs, outputs)).astype(np.float32))
        self.bias = tf.Variable(tf.zeros([outputs]))
        self.activation = activation

    def __call__(self, x):
        y = tf.matmul(x, self.weights) + self.bias
        return y if self.activation is None else self.activation(y)


class Model:
    """Layers, one after another."""

    def __init__(self, layers):
        self.layers = layers
        self.variables = [v for layer in layers for v in (layer.weights, layer.bias)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Sgd:
    """Gradient descent with momentum."""

    def __init__(self, variables, rate, momentum=0.9):
        self.rate, self.momentum = rate, momentum
        self.velocities = [tf.Variable(tf.zeros_like(v)) for v in variables]

    def apply(self, gradients, variables):
        for gradient, velocity, variable in zip(gradients, self.velocities, variables, strict=True):
            velocity.assign(self.momentum * velocity + gradient)
            variable.assign_sub(self.rate * velocity)


class Adam:
    """Adam, with the usual decay rates."""

    def __init__(self, variables, rate, beta1=0.9, beta2=0.999, epsilon=1e-7):
        self.rate, self.beta1, self.beta2, self.epsilon = rate, beta1, beta2, epsilon
        self.steps = tf.Variable(0.0)
        self.means = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.squares = [tf.Variable(tf.zeros_like(v)) for v in variables]

    def apply(self, gradients, variables):
        self.steps.assign_add(1.0)
        correction = tf.sqrt(1.0 - self.beta2**self.steps) / (1.0 - self.beta1**self.steps)
        for gradient, mean, square, variable in zip(
            gradients, self.means, self.squares, variables, strict=True
        ):
            mean.assign_add((1.0 - self.beta1) * (gradient - mean))
            square.assign_add((1.0 - self.beta2) * (gradient * gradient - square))
            variable.assign_sub(self.rate * correction * mean / (tf.sqrt(square) + self.epsilon))


def make_step(model, optimizer):
    """Returns one training step, not traced yet: images and labels in, mean loss out."""

    def step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        gradients = tape.gradient(loss, model.variables)
        optimizer.apply(gradients, model.variables)
        return loss

    return step


def accuracy(model, images, labels):
    """Returns the share of images whose largest logit is at their label."""
    predicted = tf.argmax(model(tf.constant(images)), axis=1, output_type=tf.int32)
    return float(tf.reduce_mean(tf.cast(tf.equal(predicted, tf.constant(labels)), tf.float32)))


def train(name, model, optimizer, data, epochs):
    """Trains and tests a model, and prints how it went.

    Returns:
        The accuracy on the test images.
    """
    train_x, train_y, test_x, test_y = data
    step = tf.function(make_step(model, optimizer))
    rng = np.random.default_rng(SEED)
    started = time.perf_counter()
    for epoch in range(1, epochs + 1):
        order = rng.permutation(len(train_x))
        losses = []
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            losses.append(float(step(tf.constant(train_x[rows]), tf.constant(train_y[rows]))))
        if sys.stdout.isatty():
            print(f"\r  {name}: epoch {epoch:>3} of {epochs}, loss {np.mean(losses):.4f}", end="", flush=True)
    seconds = time.perf_counter() - started
    result = accuracy(model, test_x, test_y)
    print("\r" if sys.stdout.isatty() else "", end="")
    print(f"  {name}: test accuracy {result:.4f} after {epochs} epochs in {seconds:.1f} s")
    traces = step.experimental_get_tracing_count()
    print(f"    last mean loss {np.mean(losses):.4f}, traces of the step: {traces}")
    return result


def time_step(step, images, labels, seconds=0.5):
    """Returns a step's time in microseconds: the best of five rounds, a warm-up before them."""
    step(images, labels)
    started = time.perf_counter()
    step(images, labels)
    calls = max(1, int(seconds / 5 / (time.perf_counter() - started)))
    rounds = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(calls):
            step(images, labels)
        rounds.append((time.perf_counter() - started) / calls)
    return min(rounds) * 1e6


def compare(model, optimizer, data):
    """Prints the time of a training step traced, and of the same step run eagerly."""
    step = make_step(model, optimizer)
    images, labels = tf.constant(data[0][:BATCH]), tf.constant(data[1][:BATCH])
    traced = time_step(tf.function(step), images, labels)
    eager = time_step(step, images, labels)
    print(f"    a step of {BATCH}: {traced:.0f} µs traced, {eager:.0f} µs eagerly ({eager / traced:.1f}x)")


def main():
    """Runs the example and returns the exit status."""
    data = load()
    print(f"{len(data[0])} images to train on, {len(data[2])} to test on")
    rng = np.random.default_rng(SEED)

    regression = Model([Dense(rng, 64, CLASSES)])
    optimizer = Sgd(regression.variables, rate=0.1)
    train("logistic regression", regression, optimizer, data, epochs=50)
    compare(regression, optimizer, data)

    network = Model([Dense(rng, 64, 128, activation=tf.nn.relu), Dense(rng, 128, CLASSES)])
    optimizer = Adam(network.variables, rate=1e-3)
    result = train("two-layer network", network, optimizer, data, epochs=60)
    compare(network, optimizer, data)

    if result < WANTED_ACCURACY:
        print(f"the network reached {result:.4f}, below {WANTED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
