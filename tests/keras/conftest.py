"""Programs of Keras's users, on this package's backend."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "penstock"
os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-home-"))

import numpy as np
import pytest
from sklearn.datasets import load_digits

import penstock as tf

pytest.importorskip("keras")


@pytest.fixture(autouse=True)
def same_numbers():
    """Every test draws the same random numbers, alone and among others."""
    tf.keras.utils.set_random_seed(1)


@pytest.fixture(autouse=True, scope="module")
def session():
    """Names and state that Keras keeps do not pass from one file to the next."""
    tf.keras.backend.clear_session()


@pytest.fixture(scope="session")
def digits():
    """Images of digits, `[n, 8, 8, 1]` in [0, 1], and their labels: 1400 to train, the rest to test."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = (data.images[order] / 16).astype(np.float32)[..., None]
    y = data.target[order].astype(np.int32)
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])
