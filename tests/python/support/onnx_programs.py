"""Programs that are written as models of ONNX: for each a function, what it takes, and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import penstock as tf

__all__ = ["PROGRAMS", "Program"]


class Program(NamedTuple):
    """A function with the specifications of its arguments, and arguments."""

    function: Callable[..., Any]
    specs: list[tf.TensorSpec]
    arguments: list[np.ndarray]


PROGRAMS: dict[str, Program] = {}


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def weight(*shape: int, seed: int = 1) -> tf.Variable:
    return tf.Variable(numbers(*shape, seed=seed) / 4)


def program(*arguments: Any, shapes: list[list[int | None] | None] | None = None) -> Callable[..., Any]:
    """Registers a function, with the shapes for which it is traced where those of the arguments are not."""
    given = [np.asarray(a) for a in arguments]
    known = [list(a.shape) for a in given] if shapes is None else shapes

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        specs = [
            tf.TensorSpec(s, a.dtype, f"x{i}") for i, (s, a) in enumerate(zip(known, given, strict=True))
        ]
        PROGRAMS[function.__name__] = Program(function, specs, given)
        return function

    return register


W, B, V = weight(4, 8), weight(8), weight(8, 3)
KERNEL, DEPTHWISE, POINTWISE = weight(3, 3, 2, 6), weight(3, 3, 6, 1), weight(1, 1, 6, 4)
GATES, STATE = weight(4, 20), weight(5, 20)
EMBEDDING, ROWS = weight(11, 6), weight(3, 3, 4)


@program(numbers(5, 4), shapes=[[None, 4]])
def mlp(x):
    return tf.nn.softmax(tf.nn.gelu(x @ W + B) @ V)


@program(numbers(5, 4), shapes=[[None, 4]])
def several_results(x):
    h = tf.tanh(x @ W + B)
    return {"hidden": h, "norm": tf.norm(h, axis=-1), "count": tf.shape(h)[0]}


@program(numbers(2, 9, 8, 2), shapes=[[None, 9, 8, 2]])
def convnet(x):
    y = tf.nn.relu(tf.nn.conv2d(x, KERNEL, 2, "SAME"))
    y = tf.nn.depthwise_conv2d(y, DEPTHWISE, [1, 1, 1, 1], "SAME")
    y = tf.nn.max_pool2d(tf.nn.conv2d(y, POINTWISE, 1, "VALID"), 2, 2, "SAME")
    return tf.reduce_mean(tf.nn.avg_pool2d(y, 2, 1, "VALID"), [1, 2])


@program(numbers(2, 4, 5, 6))
def transposed_convolution(x):
    return tf.nn.conv2d_transpose(x, KERNEL, [2, 8, 10, 2], 2, "SAME")


@program(numbers(2, 7, 3))
def convolution_of_rows(x):
    return tf.nn.conv1d(tf.pad(x, [[0, 0], [2, 0], [0, 0]]), ROWS, 1, "VALID")


@program(numbers(6, 4), numbers(4), numbers(4, seed=3))
def batch_norm(x, scale, offset):
    mean, variance = tf.nn.moments(x, [0])
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)


@program(numbers(3, 7, 4), shapes=[[None, None, 4]])
def lstm(x):
    h = c = tf.zeros([tf.shape(x)[0], 5])
    for t in tf.range(tf.shape(x)[1]):
        i, f, g, o = tf.split(x[:, t] @ GATES + h @ STATE, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return h, c


@program(numbers(3, 7, 4), shapes=[[None, 7, 4]])
def gru_with_all_states(x):
    states = tf.TensorArray(tf.float32, 7)
    h = tf.zeros([tf.shape(x)[0], 5])
    for t in tf.range(7):
        r, z, n, _ = tf.split(x[:, t] @ GATES + h @ STATE, 4, axis=-1)
        h = tf.sigmoid(z) * h + (1 - tf.sigmoid(z)) * tf.tanh(n * tf.sigmoid(r))
        states = states.write(t, h)
    return tf.transpose(states.stack(), [1, 0, 2])


@program(numbers(2, 5, 8), np.array([5, 3], np.int32), shapes=[[None, None, 8], [None]])
def attention(x, lengths):
    heads = tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], 2, 4])
    q = k = v = tf.transpose(heads, [0, 2, 1, 3])
    scores = tf.matmul(q, k, transpose_b=True) / 2.0
    mask = tf.sequence_mask(lengths, tf.shape(x)[1])[:, None, None, :]
    scores = tf.where(mask, scores, -1e9)
    y = tf.transpose(tf.nn.softmax(scores) @ v, [0, 2, 1, 3])
    return tf.reshape(y, tf.shape(x))


@program(numbers(3, 8))
def layer_norm(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(tf.reduce_mean(tf.square(x - mean), -1, keepdims=True) + 1e-6)


@program(np.array([[1, 2, 0], [4, 10, 0]], np.int64), shapes=[[None, None]])
def embedding(ids):
    rows = tf.gather(EMBEDDING, ids)
    mask = tf.cast(tf.not_equal(ids, 0), tf.float32)[..., None]
    return tf.reduce_sum(rows * mask, 1) / tf.reduce_sum(mask, 1)


@program(np.array(12, np.int32))
def collatz(n):
    steps = tf.constant(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps, n


@program(numbers(6), shapes=[[None]])
def loop_with_several_lists(x):
    n = tf.shape(x)[0]
    squares, signs = tf.TensorArray(tf.float32, n), tf.TensorArray(tf.int32, n)
    total = tf.constant(0.0)
    for i in tf.range(n):
        total += x[i]
        squares = squares.write(i, total * total)
        signs = signs.write(i, tf.cast(tf.sign(total), tf.int32))
    return squares.stack(), signs.stack(), total


@program(numbers(6))
def loop_that_breaks(x):
    seen, total = tf.TensorArray(tf.float32, 6, element_shape=[]), tf.constant(0.0)
    for i in tf.range(6):
        if total > 0.5:
            break
        total += tf.abs(x[i])
        seen = seen.write(i, total)
    return total, seen.stack()


@program(numbers(5))
def list_that_is_changed(x):
    held = tf.TensorArray(tf.float32, 5, clear_after_read=False).unstack(x)
    for i in tf.range(1, 5):
        held = held.write(i, held.read(i) + held.read(i - 1))
    return held.stack()


@program(np.array(5, np.int32))
def list_that_grows(n):
    held = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    i, at = tf.constant(0), tf.constant(0)
    while i < n:
        if i % 2 == 0:
            held = held.write(at, i * i)
            at += 1
        i += 1
    return held.stack()


@program(numbers(4, 3), np.array(True))
def branches(x, up):
    if up:
        y, scale = x * 2.0, tf.reduce_max(x)
    else:
        y, scale = -x, tf.constant(1.0)
    return y / scale


@program(numbers(3), np.array(1, np.int32))
def switch(x, at):
    return tf.switch_case(at, [lambda: x + 1.0, lambda: x * x, lambda: tf.zeros_like(x)])


@program(numbers(3, 3))
def nested_loops(x):
    total = tf.constant(0.0)
    for i in tf.range(3):
        row = tf.constant(0.0)
        for j in tf.range(i + 1):
            row += x[i, j] * tf.cast(j + 1, tf.float32)
        total += tf.where(row > 0.0, row, 0.5 * row)
    return total


@program(numbers(5, 3), shapes=[[None, 3]])
def mapped(x):
    return tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)


@program(numbers(5, 3))
def scanned(x):
    return tf.scan(lambda a, row: 0.5 * a + row, x, initializer=tf.zeros([3]))


@program(numbers(4, 6))
def slices(x):
    return x[1:3, ::2], x[..., -1], x[::-1, None, 1:-1], x[2], x[:, 1]


@program(numbers(4, 6), np.array(1, np.int32), np.array(3, np.int32))
def computed_slices(x, begin, end):
    return x[begin:end], x[begin], tf.slice(x, [begin, 0], [2, -1])


@program(numbers(2, 3), numbers(4, 3, seed=2))
def joined(x, y):
    return tf.concat([x, y], 0), tf.stack([x[0], y[0]], 1), tf.tile(x, [2, 1]), tf.unstack(y)[2]


@program(np.array([3, 1, 2, 1], np.int32), numbers(4))
def sorted_and_ranked(ids, x):
    values, places = tf.math.top_k(x, 2)
    return tf.sort(x), tf.argsort(ids, stable=True), values, places, tf.argmax(x), tf.unique(ids)


@program(np.array([0, 2, 0, 1], np.int32), numbers(4, 2))
def segments(ids, x):
    one_hot = tf.one_hot(ids, 4)
    return tf.math.unsorted_segment_sum(x, ids, 3), tf.math.unsorted_segment_max(x, ids, 4), one_hot


@program(numbers(4), np.array([[1], [3]], np.int32), numbers(2, seed=5))
def scattered(x, at, updates):
    return tf.tensor_scatter_nd_update(x, at, updates), tf.scatter_nd(at, updates, [6]), tf.gather_nd(x, at)


@program(numbers(3, 4))
def statistics(x):
    return (
        tf.math.reduce_std(x, 0),
        tf.reduce_logsumexp(x),
        tf.cumsum(x, 1, reverse=True),
        tf.reduce_any(x > 1.0),
    )


@program(numbers(7), numbers(7, seed=4))
def arithmetic(x, y):
    return (
        x // y,
        x % y,
        tf.atan2(x, y),
        tf.math.log1p(tf.abs(x)),
        tf.math.expm1(y),
        tf.math.divide_no_nan(x, tf.nn.relu(y)),
        tf.maximum(x, y) ** 2.0,
    )


@program(np.array([-7, 7, 5, -128], np.int8), np.array([2, -2, 3, 3], np.int8))
def integers(x, y):
    return x // y, x % y, x & y, tf.bitwise.right_shift(x, tf.abs(y)), tf.cast(x, tf.float32) / 3.0


@program(numbers(3, 4).astype(np.float16))
def half_precision(x):
    return tf.nn.softmax(x), tf.sin(x), tf.matmul(x, x, transpose_b=True)


@program(numbers(3, 4))
def bfloat16_inside(x):
    y = tf.cast(x, tf.bfloat16)
    return tf.cast(tf.cos(y) * y, tf.float32)


@program(np.array([b"a", b"bc"], object))
def strings(x):
    return tf.strings.join([x, x], "-"), tf.equal(x, b"a"), tf.strings.regex_full_match(x, "b.*")


@program(numbers(3, 2))
def function_that_calls(x):
    @tf.function
    def inner(a, b):
        return tf.nn.elu(a) + b

    return inner(inner(x, x), 1.0)


@program(numbers(3, 4))
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.tanh(x @ W + B) ** 2.0)
    return tape.gradient(loss, [x, W, B])


@program(numbers(4, 5), np.array([1, 0, 4, 2], np.int64))
def losses(x, labels):
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
    dense = tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(labels, 5), x)
    return sparse, dense, tf.nn.l2_normalize(x, -1), tf.clip_by_value(x, -0.5, 0.5)


@program(numbers(5, 3), shapes=[None])
def unknown_rank(x):
    return tf.nn.relu(x) + 1.0, tf.size(x), tf.reshape(x, [-1])


@program(numbers(2, 5, 5, 3))
def images(x):
    return tf.image.flip_left_right(x), tf.nn.space_to_depth(x[:, :4, :4], 2), tf.image.rgb_to_grayscale(x)


@program(numbers(3, 3))
def triangles(x):
    return (
        tf.linalg.band_part(x, 1, 0),
        tf.linalg.diag_part(x),
        tf.linalg.set_diag(x, [1.0, 2.0, 3.0]),
        tf.linalg.det(x),
    )


@program(numbers(2, 3), numbers(4, 3, seed=7))
def einsum(x, y):
    return tf.einsum("ij,kj->ik", x, y), tf.tensordot(x, y, [[1], [1]])
