"""Operations as users call them, for type checkers: `make lint` checks it, nothing runs it.

A line that ends with `type: ignore[code]` is one in which the type checker must find that error.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import penstock as tf

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
n = tf.constant(2)
array = np.ones((2, 2), np.float32)

# What converts to a tensor: tensors, variables, arrays, numbers, text, nests of them.
assert_type(tf.add(x, v), tf.Tensor)
assert_type(tf.add(array, 1.0), tf.Tensor)
assert_type(tf.math.lgamma([1.0, 2.0]), tf.Tensor)
assert_type(tf.math.polyval([x, 2.0, v], x), tf.Tensor)
assert_type(tf.concat([x, v, array], axis=0), tf.Tensor)
assert_type(tf.stack(list(x)), tf.Tensor)
assert_type(tf.unstack(x), list[tf.Tensor])
assert_type(tf.split(x, [1, n], 0), list[tf.Tensor])
tf.add(x, object())  # type: ignore[arg-type]
tf.reshape({1, 2}, [2])  # type: ignore[arg-type]

# Dtypes: objects, names, types of Python and NumPy.
assert_type(tf.cast(x, "int32"), tf.Tensor)
assert_type(tf.cast(x, np.float64), tf.Tensor)
assert_type(tf.zeros([2], dtype=tf.bool), tf.Tensor)
tf.cast(x, 32)  # type: ignore[arg-type]

# Shapes and sizes: of integers, tensors, what `shape` gives.
assert_type(tf.reshape(x, [n, -1]), tf.Tensor)
assert_type(tf.reshape(x, (4,)), tf.Tensor)
assert_type(tf.zeros(x.shape), tf.Tensor)
assert_type(tf.broadcast_to(x, tf.shape(x)), tf.Tensor)
assert_type(tf.ensure_shape(x, [None, 2]), tf.Tensor)
assert_type(tf.broadcast_static_shape([2, 1], [None]), tf.TensorShape)

# Axes: one, several, all of them; a tensor.
assert_type(tf.reduce_sum(x, axis=0), tf.Tensor)
assert_type(tf.reduce_mean(x, [0, -1], keepdims=True), tf.Tensor)
assert_type(tf.argmax(x, axis=n), tf.Tensor)
assert_type(tf.squeeze(x, axis=None), tf.Tensor)
tf.reduce_sum(x, axis=0, keepdims="yes")  # type: ignore[arg-type]
tf.reduce_sum(x, axes=0)  # type: ignore[call-arg]
tf.expand_dims(x)  # type: ignore[call-arg]

# Results of several parts have names.
assert_type(tf.math.top_k(x, 1).values, tf.Tensor)
assert_type(tf.unique([1, 1, 2]).idx, tf.Tensor)
assert_type(tf.linalg.qr(x).r, tf.Tensor)
assert_type(tf.linalg.svd(x), tuple[tf.Tensor, tf.Tensor, tf.Tensor])
assert_type(tf.linalg.svd(x, compute_uv=False), tf.Tensor)
assert_type(tf.nn.moments(x, [0]), tuple[tf.Tensor, tf.Tensor])
assert_type(tf.meshgrid(x[0], x[1], indexing="ij"), list[tf.Tensor])

# What a function is given decides what it gives.
slices = tf.IndexedSlices(x, tf.constant([0, 1]))
assert_type(tf.clip_by_norm(x, 1.0), tf.Tensor)
assert_type(tf.clip_by_norm(slices, 1.0), tf.IndexedSlices)
assert_type(tf.strings.lower(["A", "b"]), tf.Tensor)
words = tf.strings.split(["a b", "c"])
assert_type(words, tf.RaggedTensor)
assert_type(tf.strings.length(words), tf.RaggedTensor)
assert_type(tf.strings.split("a b"), tf.Tensor)

# Networks.
images = tf.random.normal([1, 8, 8, 3], seed=1)
assert_type(tf.nn.conv2d(images, tf.ones([3, 3, 3, 4]), strides=[1, 2, 2, 1], padding="SAME"), tf.Tensor)
assert_type(tf.nn.max_pool(images, 2, 2, [[0, 0], [1, 1], [1, 1], [0, 0]]), tf.Tensor)
assert_type(tf.nn.dropout(images, rate=0.5, noise_shape=[None, 1, 1, 3]), tf.Tensor)
assert_type(tf.einsum("ij,jk->ik", x, array, optimize="optimal"), tf.Tensor)
tf.nn.conv2d(images, tf.ones([3, 3, 3, 4]), strides="two", padding="SAME")  # type: ignore[arg-type]
tf.einsum("ij,jk->ik", x, array, order="optimal")  # type: ignore[call-arg]

# Random numbers, initialisers, optimisers.
generator = tf.random.Generator.from_seed(1)
assert_type(generator, tf.random.Generator)
assert_type(generator.split(2), list[tf.random.Generator])
assert_type(tf.random.stateless_uniform([2], seed=[1, 2], minval=0, maxval=9, dtype=tf.int32), tf.Tensor)
assert_type(tf.initializers.HeNormal(seed=1)((2, 3)), tf.Tensor)
assert_type(tf.initializers.Constant.from_config({"value": 1.0}), tf.initializers.Constant)
optimizer = tf.optimizers.SGD(tf.optimizers.schedules.CosineDecay(0.1, 100), momentum=0.9)
optimizer.apply_gradients([(x, v), (slices, v), (None, v)])
assert_type(tf.optimizers.Adam.from_config(optimizer.get_config()), tf.optimizers.Adam)

# Checks.
tf.debugging.assert_shapes([(x, ("N", 2)), (v, ("N", None))])
assert_type(tf.debugging.assert_scalar(n), tf.Tensor)
assert_type(tf.debugging.is_numeric_tensor("text"), bool)
