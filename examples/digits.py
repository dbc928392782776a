"""Handwritten digits: logistic regression, then a small network, trained with a traced step.

    python examples/digits.py [FILE]

Shows the loss and the accuracy while it trains, and the time of a training step beside the same step run
eagerly, and draws the curves into FILE, digits.svg by default. The exit status is not 0 when the network's
test accuracy is below 0.95.

The images are scikit-learn's 1797 digits of 8x8 pixels.
"""

import sys
import time

import curves
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


class Dense(tf.Module):
    """A fully connected layer: weights [inputs, outputs] and a bias [outputs]."""

    def __init__(self, inputs, outputs, activation=None):
        super().__init__()
        limit = np.sqrt(6.0 / (inputs + outputs))
        self.weights = tf.Variable(tf.random.uniform([inputs, outputs], -limit, limit), name="weights")
        self.bias = tf.Variable(tf.zeros([outputs]), name="bias")
        self.activation = activation

    def __call__(self, x):
        y = x @ self.weights + self.bias
        return y if self.activation is None else self.activation(y)


class Network(tf.Module):
    """Layers, one after another."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def make_step(model, optimizer):
    """Returns one training step, not traced yet: images and labels in, mean loss out."""

    def step(images, labels):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(images))
            loss = tf.reduce_mean(losses)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return step


def make_accuracy(model):
    """Returns a traced function that tells at which share of images the largest logit is at the label."""

    @tf.function
    def accuracy(images, labels):
        predicted = tf.argmax(model(images), axis=1, output_type=tf.int32)
        return tf.reduce_mean(tf.cast(predicted == labels, tf.float32))

    return accuracy


def train(name, model, optimizer, data, epochs):
    """Trains and tests a model, and shows how it goes.

    Returns:
        The accuracy on the test images after each epoch.
    """
    train_x, train_y, test_x, test_y = data
    batches = tf.data.Dataset.from_tensor_slices((train_x, train_y)).shuffle(len(train_x), seed=SEED)
    batches = batches.batch(BATCH, drop_remainder=True)
    step, accuracy = tf.function(make_step(model, optimizer)), make_accuracy(model)
    print(f"{name}, {epochs} epochs")
    found = []
    started = time.perf_counter()
    for epoch in range(1, epochs + 1):
        losses = [step(x, y) for x, y in batches]
        found.append(float(accuracy(test_x, test_y)))
        line = f"  epoch {epoch:>2}: loss {np.mean(losses):.4f}, test accuracy {found[-1]:.4f}"
        if sys.stdout.isatty():
            print("\r" + line, end="\n" if epoch == epochs else "", flush=True)
        elif epoch == 1 or epoch % 10 == 0:
            print(line, flush=True)
    seconds = time.perf_counter() - started
    traces = step.experimental_get_tracing_count()
    print(f"  {seconds:.1f} s; the step was traced {traces} time{'s' * (traces != 1)}")
    return found


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
    print(f"  a step of {BATCH}: {traced:.0f} µs traced, {eager:.0f} µs eagerly ({eager / traced:.1f}x)")


def main():
    """Runs the example and returns the exit status."""
    tf.random.set_seed(SEED)
    data = load()
    print(f"{len(data[0])} images to train on, {len(data[2])} to test on")

    regression, descent = Network(Dense(64, CLASSES)), tf.optimizers.SGD(0.1, momentum=0.9)
    first = train("logistic regression", regression, descent, data, epochs=50)
    compare(regression, descent, data)

    network, adam = Network(Dense(64, 128, tf.nn.relu), Dense(128, CLASSES)), tf.optimizers.Adam(1e-3)
    second = train("two-layer network", network, adam, data, epochs=60)
    compare(network, adam, data)

    file = sys.argv[1] if len(sys.argv) > 1 else "digits.svg"
    wrong = {"logistic regression": first, "two-layer network": second}
    curves.save(
        file, "Test images that are not recognised", {k: [1 - a for a in v] for k, v in wrong.items()}
    )
    print(f"curves: {file}")
    if second[-1] < WANTED_ACCURACY:
        print(f"the network reached {second[-1]:.4f}, below {WANTED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
