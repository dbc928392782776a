"""Random numbers: each function draws from a seed, by the engine's counter-based generators."""

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed

import penstock as tf
from keras_penstock.src.core import cast, dense_tensor


def _seed(seed):
    """Draw the pair of numbers that the engine takes."""
    return tf.convert_to_tensor(draw_seed(seed))


def _wide(dtype):
    """The dtype that a distribution is drawn in, and that of its result."""
    dtype = standardize_dtype(dtype or floatx())
    return ("float32" if dtype in ("bfloat16", "float16") else dtype), dtype


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return tf.random.stateless_normal(shape, _seed(seed), mean, stddev, dtype=dtype or floatx())


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    dtype = dtype or floatx()
    return tf.random.stateless_uniform(
        shape, _seed(seed), cast(minval, dtype), cast(maxval, dtype), dtype=dtype
    )


def categorical(logits, num_samples, dtype="int64", seed=None):
    return cast(tf.random.stateless_categorical(dense_tensor(logits), num_samples, _seed(seed)), dtype)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    drawn = dtype if standardize_dtype(dtype) in ("int32", "int64") else "int64"
    numbers = tf.random.stateless_uniform(
        shape, _seed(seed), cast(minval, drawn), cast(maxval, drawn), dtype=drawn
    )
    return cast(numbers, dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return tf.random.stateless_truncated_normal(shape, _seed(seed), mean, stddev, dtype=dtype or floatx())


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Set each element to zero with the probability `rate`, and scale what is left to the same mean."""
    inputs = dense_tensor(inputs)
    if rate == 0.0:
        return inputs
    if rate == 1.0:
        return tf.zeros_like(inputs)
    extents = tf.shape(inputs)
    shape = extents
    if noise_shape is not None:
        shape = [extents[axis] if size is None else size for axis, size in enumerate(noise_shape)]
    elif inputs.shape.is_fully_defined():
        shape = inputs.shape
    kept = tf.random.stateless_uniform(shape, _seed(seed)) >= rate
    return tf.where(kept, inputs * cast(1.0 / (1.0 - rate), inputs.dtype), cast(0.0, inputs.dtype))


def shuffle(x, axis=0, seed=None):
    x = dense_tensor(x)
    order = tf.argsort(tf.random.stateless_uniform([tf.shape(x)[axis]], _seed(seed)))
    return tf.gather(x, order, axis=axis)


def _gamma(shape, alpha, dtype, seed):
    return tf.random.stateless_gamma(shape, seed, tf.broadcast_to(cast(alpha, dtype), shape), dtype=dtype)


def gamma(shape, alpha, dtype=None, seed=None):
    drawn, dtype = _wide(dtype)
    return cast(_gamma(shape, alpha, drawn, _seed(seed)), dtype)


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    drawn, dtype = _wide(dtype)
    counts, probabilities = cast(counts, drawn), cast(probabilities, drawn)
    numbers = tf.raw_ops.stateless_random_binomial(
        shape, _seed(seed), tf.broadcast_to(counts, shape), tf.broadcast_to(probabilities, shape)
    )
    return cast(numbers, dtype)


def beta(shape, alpha, beta, dtype=None, seed=None):
    """Draw X / (X + Y), where X and Y are gamma distributed by `alpha` and `beta`."""
    drawn, dtype = _wide(dtype)
    first = _seed(seed)
    x = _gamma(shape, alpha, drawn, first)
    y = _gamma(shape, beta, drawn, tf.random.fold_in(first, 1))
    return cast(x / (x + y), dtype)
