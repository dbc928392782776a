"""Functions whose derivatives several files look at, and the two ways to run them."""

import numpy as np
import pytest

import penstock as tf


def rosenbrock(x):
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_hessian(x):
    n = len(x)
    h = np.zeros((n, n))
    for i in range(n - 1):
        h[i, i] += 1200 * x[i] ** 2 - 400 * x[i + 1] + 2
        h[i, i + 1] -= 400 * x[i]
        h[i + 1, i] -= 400 * x[i]
        h[i + 1, i + 1] += 200
    return h


def wrapped(traced):
    return tf.function if traced else lambda f: f


both = pytest.mark.parametrize("traced", [False, True])
