"""Handwritten digits with Keras: a convolutional network is trained, saved and loaded.

    python examples/keras_digits.py [FILE]

Shows how the training goes, and draws its curves into FILE, keras_digits.svg by default. Prints the accuracy
on images that were not seen, and the time of a step. The exit status is not 0 when the accuracy is below
0.97, or when the loaded model predicts something else.

The images are scikit-learn's 1797 digits of 8x8 pixels.
"""

import sys
import tempfile
import time
from pathlib import Path

import curves
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import penstock as tf

SEED = 7
EPOCHS = 20
BATCH = 64
WANTED_ACCURACY = 0.97


def load():
    """Returns training and test images in [0, 1] as float32 [n, 8, 8, 1], each followed by its labels."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., np.newaxis]
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.target, test_size=0.25, random_state=SEED, stratify=digits.target
    )
    return train_x, train_y, test_x, test_y


def make():
    """Returns a compiled network of two convolutions."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input([8, 8, 1]),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    tf.keras.utils.set_random_seed(SEED)
    train_x, train_y, test_x, test_y = load()
    model = make()
    verbose = "auto" if sys.stdout.isatty() else 2
    start = time.perf_counter()
    first = model.fit(train_x, train_y, batch_size=BATCH, epochs=1, verbose=0).history
    first_epoch = time.perf_counter() - start
    start = time.perf_counter()
    rest = model.fit(
        train_x, train_y, batch_size=BATCH, epochs=EPOCHS, initial_epoch=1, verbose=verbose
    ).history
    steps = (EPOCHS - 1) * -(-len(train_x) // BATCH)
    each = (time.perf_counter() - start) / steps
    _, accuracy = model.evaluate(test_x, test_y, verbose=0)
    print(f"keras {tf.keras.version()} on {tf.keras.backend.backend()}: accuracy {accuracy:.3f}")
    print(f"first epoch {first_epoch:.2f} s, then {each * 1e3:.2f} ms a step")
    file = sys.argv[1] if len(sys.argv) > 1 else "keras_digits.svg"
    curves.save(file, "Training with Keras", {name: first[name] + rest[name] for name in first})
    print(f"curves: {file}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.keras"
        model.save(path)
        loaded = tf.keras.models.load_model(path)
        same = np.array_equal(model.predict(test_x, verbose=0), loaded.predict(test_x, verbose=0))
        print(f"saved in {path.stat().st_size / 1024:.0f} KiB; the loaded model predicts the same: {same}")
    return 0 if accuracy >= WANTED_ACCURACY and same else 1


if __name__ == "__main__":
    sys.exit(main())
