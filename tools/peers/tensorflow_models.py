"""Writes SavedModels with TensorFlow, and what they give, for the tests of `tf.saved_model.load`.

Run it by an interpreter that has TensorFlow 2.21 and Keras 3, which the project does not need:

    python tools/peers/tensorflow_models.py tests/python/saving/models          # the small ones, as zip files
    python tools/peers/tensorflow_models.py --large DIRECTORY                    # ResNet50V2 and others

`make test-tensorflow` writes all of them, and has them read here. Each is a directory as TensorFlow has saved
it. Its file `expected.npz` holds, for each signature,
inputs as `SIGNATURE/in/NAME`, what TensorFlow gives for them as `SIGNATURE/out/NAME`, and the gradient of the
sum of the outputs of dtype float32 in each trainable variable as `SIGNATURE/gradient/NAME`.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

MODELS: dict[str, Callable[[Path], dict[str, dict[str, Any]]]] = {}
LARGE: dict[str, Callable[[Path], dict[str, dict[str, Any]]]] = {}
layers = keras.layers


def model(make: Callable[[Path], dict[str, dict[str, Any]]]) -> Callable[[Path], dict[str, dict[str, Any]]]:
    MODELS[make.__name__] = make
    return make


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def shaken(network: Any, most: int = 9) -> Any:
    """The network with weights that are none of the usual first ones, as zeros hide mistakes.

    Those of a higher rank than `most` stay: kernels that all grow let the values of a deep network explode.
    """
    for i, weight in enumerate(network.weights):
        if weight.dtype == "float32" and len(weight.shape) <= most:
            weight.assign(weight + 0.1 * np.abs(noise(*weight.shape, seed=100 + i)))
    return network


def exported(path: Path, network: Any, *inputs: np.ndarray, most: int = 9) -> dict[str, dict[str, Any]]:
    shaken(network, most).export(str(path), verbose=False)
    names = [tensor.name for tensor in network.inputs]
    return {"serving_default": dict(zip(names, inputs, strict=True))}


def saved(path: Path, module: Any, signatures: Any, **inputs: Any) -> dict[str, dict[str, Any]]:
    tf.saved_model.save(module, str(path), signatures=signatures)
    return {"serving_default": inputs}


@model
def mlp(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential(
        [keras.Input((4,)), layers.Dense(8, "gelu"), layers.Dropout(0.2), layers.Dense(3, "softmax")]
    )
    return exported(path, network, noise(5, 4))


@model
def mlp_saved(path: Path) -> dict[str, dict[str, Any]]:
    network = shaken(
        keras.Sequential([keras.Input((4,), name="features"), layers.Dense(8, "relu"), layers.Dense(3)])
    )
    tf.saved_model.save(network, str(path))
    return {"serving_default": {"inputs": noise(5, 4)}}


@model
def activations(path: Path) -> dict[str, dict[str, Any]]:
    x = start = keras.Input((6,))
    names = "relu6 elu selu softplus softsign tanh sigmoid hard_sigmoid swish mish leaky_relu log_softmax"
    return exported(
        path, keras.Model(start, [layers.Activation(name)(x) for name in names.split()]), noise(3, 6)
    )


@model
def cnn(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential(
        [
            keras.Input((12, 12, 3)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Conv2D(6, 3, strides=2, use_bias=False),
            layers.Flatten(),
            layers.Dense(5),
        ]
    )
    return exported(path, network, noise(2, 12, 12, 3))


@model
def separable(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential(
        [
            keras.Input((9, 9, 4)),
            layers.SeparableConv2D(6, 3, padding="same", depth_multiplier=2),
            layers.ZeroPadding2D(((0, 1), (0, 1))),
            layers.DepthwiseConv2D(3, strides=2),
            layers.AveragePooling2D(2, padding="same"),
            layers.GlobalAveragePooling2D(),
        ]
    )
    return exported(path, network, noise(2, 9, 9, 4))


@model
def decoder(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential(
        [
            keras.Input((4, 4, 3)),
            layers.Conv2DTranspose(4, 3, strides=2, padding="same"),
            layers.UpSampling2D(2, interpolation="bilinear"),
            layers.UpSampling2D(2, interpolation="nearest"),
            layers.Conv2D(1, 3, dilation_rate=2, padding="same"),
        ]
    )
    return exported(path, network, noise(2, 4, 4, 3))


@model
def sequence(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential(
        [
            keras.Input((10, 3)),
            layers.Conv1D(4, 3, padding="causal", dilation_rate=2),
            layers.GroupNormalization(2),
            layers.UnitNormalization(),
            layers.GlobalMaxPooling1D(),
        ]
    )
    return exported(path, network, noise(2, 10, 3))


@model
def lstm(path: Path) -> dict[str, dict[str, Any]]:
    return exported(path, keras.Sequential([keras.Input((6, 4)), layers.LSTM(5)]), noise(3, 6, 4))


@model
def gru(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential([keras.Input((None, 4)), layers.GRU(5, return_sequences=True), layers.GRU(3)])
    return exported(path, network, noise(3, 6, 4))


@model
def bidirectional(path: Path) -> dict[str, dict[str, Any]]:
    network = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.Embedding(11, 4, mask_zero=True),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(2)),
        ]
    )
    return exported(path, network, np.array([[1, 5, 2, 0, 0], [4, 10, 3, 7, 1]], np.int32))


@model
def transformer(path: Path) -> dict[str, dict[str, Any]]:
    tokens = keras.Input((8,), dtype="int32")
    x = layers.Embedding(20, 8)(tokens)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, 4)(y, y, use_causal_mask=True)
        y = layers.Dense(16, "gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(8)(y)
    network = keras.Model(tokens, layers.Dense(20)(x))
    return exported(path, network, np.arange(16, dtype=np.int32).reshape(2, 8))


@model
def two_inputs(path: Path) -> dict[str, dict[str, Any]]:
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    merged = layers.Concatenate()(
        [layers.Multiply()([a, b]), layers.Dot(1)([a, b]), layers.Maximum()([a, b])]
    )
    network = keras.Model([a, b], {"sum": layers.Dense(2)(merged), "merged": merged})
    return exported(path, network, noise(3, 4), noise(3, 4, seed=1))


class Control(tf.Module):
    """Loops, branches, arrays, a counter and arguments of Python."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(2.0, name="v")
        self.parts = [tf.Variable([1.0, 2.0]), {"bias": tf.Variable(0.5)}]
        self.count = tf.Variable(0, trainable=False, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x: Any) -> Any:
        y = x
        while tf.reduce_sum(y) < 100.0:
            y = y * self.v + self.parts[0][0]
        if tf.reduce_mean(y) > 3.0:
            y = y - self.parts[1]["bias"]
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for i in tf.range(3):
            array = array.write(i, y * tf.cast(i, tf.float32))
        return {"last": y, "all": array.stack()}

    @tf.function
    def step(self, x: Any, scale: float = 1.0, *, double: bool = True) -> Any:
        self.count.assign_add(1)
        return self.v * x * scale * (2.0 if double else 1.0)


@model
def control(path: Path) -> dict[str, dict[str, Any]]:
    module = Control()
    module.step(tf.constant(1.0))
    module.step(tf.constant(1.0), double=False)
    module.step(tf.constant(1.0), scale=0.5)
    return saved(path, module, None, x=np.array([1.0, 2.0], np.float32))


@model
def several_signatures(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()
    module.w = tf.Variable(noise(3, 2), name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def forward(x: Any) -> Any:
        return {"y": x @ module.w, "norm": tf.norm(x, axis=1)}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="y")])
    def backward(y: Any) -> Any:
        return {"x": tf.matmul(y, module.w, transpose_b=True)}

    module.forward, module.backward = forward, backward
    tf.saved_model.save(module, str(path), {"serving_default": forward, "backward": backward})
    return {"serving_default": {"x": noise(4, 3)}, "backward": {"y": noise(4, 2)}}


@model
def branches(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, "which"), tf.TensorSpec([None, 2], name="x")])
    def choose(which: Any, x: Any) -> Any:
        chosen = tf.switch_case(which, [lambda: x + 1.0, lambda: x[:1] * 2.0, lambda: tf.zeros([3, 2])])
        total = tf.constant(0.0)
        for row in chosen:
            for i in tf.range(2):
                if row[i] > 0.0:
                    total += row[i]
                else:
                    continue
        return {"chosen": chosen, "total": total}

    module.choose = choose
    return saved(path, module, choose, which=np.int32(1), x=noise(3, 2))


@model
def arrays(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()

    @tf.function(
        input_signature=[
            tf.TensorSpec([4, None], tf.float32, name="x"),
            tf.TensorSpec([None], tf.int32, name="i"),
        ]
    )
    def f(x: Any, i: Any) -> Any:
        a, b = tf.split(x, [1, 3], axis=0)
        top = tf.math.top_k(x, 2)
        return {
            "slices": x[1:-1, ::2][..., tf.newaxis],
            "gathered": tf.gather(x, i, axis=1),
            "scattered": tf.tensor_scatter_nd_update(x, [[0, 0], [2, 1]], [9.0, 8.0]),
            "stacked": tf.stack([a[0], b[1]], axis=1),
            "padded": tf.pad(x, [[1, 1], [0, 0]], "REFLECT"),
            "filled": tf.pad(x, [[0, 1], [1, 0]], constant_values=2.0),
            "top": top.values,
            "where": top.indices,
            "hot": tf.one_hot(i, 5, axis=0),
            "sums": tf.math.segment_sum(x, [0, 0, 1, 1]),
            "cumulated": tf.cumsum(x, axis=1, reverse=True),
            "tiled": tf.reverse(tf.tile(x, [1, 2]), [0]),
            "places": tf.where(x > 0.0),
            "clipped": tf.clip_by_value(x, -0.5, 0.5),
            "blocks": tf.nn.space_to_depth(x[None, :, :4, None], 2),
            "band": tf.linalg.band_part(x, 1, 0),
        }

    module.f = f
    return saved(path, module, f, x=noise(4, 5), i=np.array([3, 0, 3], np.int32))


@model
def products(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()
    spec = [tf.TensorSpec([None, 3, 4], name="a"), tf.TensorSpec([None, 4, 2], name="b")]

    @tf.function(input_signature=spec)
    def f(a: Any, b: Any) -> Any:
        return {
            "batch": a @ b,
            "einsum": tf.einsum("nij,njk->nik", a, b),
            "crossed": tf.einsum("nij,mjk->nmik", a, b),
            "summed": tf.einsum("nij,njk->k", a, b),
            "any": tf.einsum("...ij->...ji", a),
            "tensordot": tf.tensordot(a, b, [[2], [1]]),
            "inverse": tf.linalg.inv(tf.matmul(a, a, transpose_b=True) + 2.0 * tf.eye(3)),
        }

    module.f = f
    return saved(path, module, f, a=noise(2, 3, 4), b=noise(2, 4, 2, seed=1))


@model
def dtypes(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64, name="x")])
    def f(x: Any) -> Any:
        whole = tf.cast(x * 10.0, tf.int32)
        half = tf.cast(x, tf.float16) * tf.constant(0.5, tf.float16)
        wave = tf.complex(x, 2.0 * x)
        return {
            "divided": whole // 3,
            "rest": tf.math.floormod(whole, 3),
            "bits": tf.bitwise.bitwise_and(whole, 6),
            "half": tf.cast(half, tf.float32),
            "brain": tf.cast(tf.cast(x, tf.bfloat16) + 1, tf.float32),
            "length": tf.abs(wave),
            "product": tf.math.real(wave * tf.math.conj(wave)),
            "flags": tf.logical_or(x > 1.0, tf.math.is_nan(x)),
            "bytes": tf.cast(whole, tf.uint8),
            "special": tf.math.lgamma(tf.abs(x)) + tf.math.erf(x) + tf.math.xlogy(tf.abs(x), 2.0),
            "chosen": tf.where(x > 0, x, tf.zeros_like(x)),
        }

    module.f = f
    return saved(path, module, f, x=np.array([-1.5, 0.25, 3.5, 1.125]))


@model
def strings(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="s")])
    def f(s: Any) -> Any:
        words = tf.strings.split(s, ",")
        return {
            "upper": tf.strings.upper(s),
            "joined": tf.strings.join([s, "!"], "-"),
            "cleaned": tf.strings.regex_replace(s, "[aeiou]", "*"),
            "length": tf.strings.length(s, "UTF8_CHAR"),
            "bucket": tf.strings.to_hash_bucket_fast(s, 97),
            "words": words.to_tensor(b"-"),
            "is_b": s == "b,c",
            "number": tf.strings.as_string(tf.strings.length(s)),
        }

    module.f = f
    return saved(path, module, f, s=np.array([b"a,bc,d", b"b,c", "grün".encode()]))


@model
def ragged(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()
    module.table = tf.Variable(noise(10, 3), name="table")

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int32, name="ids"),
            tf.TensorSpec([None], tf.int64, name="splits"),
        ]
    )
    def f(ids: Any, splits: Any) -> Any:
        rows = tf.RaggedTensor.from_row_splits(tf.gather(module.table, ids), splits, validate=False)
        return {
            "dense": rows.to_tensor(),
            "means": tf.reduce_mean(rows, axis=1),
            "lengths": rows.row_lengths(),
        }

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def total(x: Any) -> Any:
        return tf.reduce_sum(x, axis=1)

    module.f, module.total = f, total
    ids = np.array([1, 2, 3, 9, 0], np.int32)
    return saved(path, module, f, ids=ids, splits=np.array([0, 2, 5, 5], np.int64))


@model
def table(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()
    keys = tf.lookup.KeyValueTensorInitializer(["red", "green", "blue"], tf.constant([3, 7, 11], tf.int64))
    module.table = tf.lookup.StaticHashTable(keys, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="s")])
    def f(s: Any) -> Any:
        return {"found": module.table.lookup(s)}

    module.f = f
    return saved(path, module, f, s=np.array([b"blue", b"pink", b"red"]))


@model
def vectorizer(path: Path) -> dict[str, dict[str, Any]]:
    vectorize = layers.TextVectorization(max_tokens=20, output_sequence_length=6)
    vectorize.adapt(["the cat sat on the mat", "a dog, and a cat!"])
    network = keras.Sequential(
        [keras.Input((), dtype="string"), vectorize, layers.Embedding(20, 3), layers.GlobalAveragePooling1D()]
    )
    return exported(path, network, np.array([b"The cat.", b"a big dog sat ON it all day long"]))


@model
def table_of_a_file(path: Path) -> dict[str, dict[str, Any]]:
    """Tables of a file of words, which is an asset: their numbers, with buckets for others, and back."""
    words = Path("words.txt")
    words.write_text("the\ncat\nsat\n")
    index = tf.lookup.TextFileIndex
    module = tf.Module()
    numbers = (tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    texts = (tf.int64, index.LINE_NUMBER, tf.string, index.WHOLE_LINE)
    module.numbers = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(str(words), *numbers), num_oov_buckets=3
    )
    module.texts = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(str(words), *texts), "?")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="s")])
    def f(s: Any) -> Any:
        found = module.numbers.lookup(s)
        return {"found": found, "back": module.texts.lookup(found), "size": module.numbers.size()}

    module.f = f
    made = saved(path, module, f, s=np.array([b"cat", b"dog", b"the", b"sat"]))
    words.unlink()
    return made


@model
def tables_that_change(path: Path) -> dict[str, dict[str, Any]]:
    """Tables with what was put into them before they were saved, and functions that put in more."""
    module = tf.Module()
    experimental = tf.lookup.experimental
    module.plain = experimental.MutableHashTable(tf.string, tf.float32, [0.0, -1.0])
    module.dense = experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=[-1, -1], deleted_key=[-2, -2]
    )
    module.plain.insert(["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    module.dense.insert(tf.constant([[1, 2], [3, 4], [5, 6]], tf.int64), tf.constant([12, 34, 56], tf.int64))
    module.dense.remove(tf.constant([[5, 6]], tf.int64))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="s"), tf.TensorSpec([], name="x")])
    def f(s: Any, x: Any) -> Any:
        before = module.plain.lookup(s)
        module.plain.insert(["c"], [[x, 2.0 * x]])
        module.plain.remove(tf.constant(["b"]))
        keys, values = module.plain.export()
        return {
            "before": before,
            "after": module.plain.lookup(s),
            "own": module.plain.lookup(s, tf.ones([tf.size(s), 2])),
            "size": module.plain.size(),
            "keys": tf.gather(keys, tf.argsort(values[:, 0])),
            "points": module.dense.lookup(tf.constant([[3, 4], [5, 6]], tf.int64)),
        }

    module.f = f
    return saved(path, module, f, s=np.array([b"b", b"c", b"a"]), x=np.float32(7.0))


@model
def preprocessing(path: Path) -> dict[str, dict[str, Any]]:
    """Layers of Keras that look up words and numbers."""
    words = keras.Input((2,), dtype="string", name="words")
    numbers = keras.Input((1,), dtype="int64", name="n")
    counts = layers.StringLookup(vocabulary=["red", "green", "blue"], output_mode="count", num_oov_indices=2)
    hot = layers.IntegerLookup(vocabulary=[10, 20, 30], output_mode="one_hot")
    hashed = layers.Hashing(5)
    text = layers.TextVectorization(
        vocabulary=["a", "b", "a b", "c"], ngrams=2, output_mode="tf_idf", idf_weights=[0.5, 1.0, 2.0, 0.25]
    )
    back = layers.StringLookup(vocabulary=["red", "green", "blue"], invert=True, oov_token="?")
    outputs = {
        "counts": counts(words),
        "hot": hot(numbers),
        "hashed": hashed(words),
        "weights": text(words[:, :1]),
        "back": back(layers.StringLookup(vocabulary=["red", "green", "blue"])(words)),
    }
    network = keras.Model([words, numbers], outputs)
    texts = np.array([[b"red", b"blue"], [b"a b", b"green"], [b"b c a", b"red"]])
    return exported(path, network, texts, np.array([[10], [99], [30]]))


@model
def tables_v1(path: Path) -> dict[str, dict[str, Any]]:
    v1 = tf.compat.v1
    words = Path("words.txt")
    words.write_text("zero\none\ntwo\n")
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.string, [None], "x")
        pairs = tf.lookup.KeyValueTensorInitializer(["one", "four"], tf.constant([1.5, 4.5]))
        plain = v1.lookup.StaticHashTable(pairs, 0.5)
        index = tf.lookup.TextFileIndex
        lines = tf.lookup.TextFileInitializer(
            str(words), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
        )
        table = v1.lookup.StaticHashTable(lines, -1)
        outputs = {"plain": plain.lookup(x), "numbers": table.lookup(x)}
        session.run(v1.tables_initializer())
        v1.saved_model.simple_save(session, str(path), {"x": x}, outputs, v1.tables_initializer())
    words.unlink()
    return {"serving_default": {"x": np.array([b"two", b"one", b"four", b"five"])}}


@model
def images(path: Path) -> dict[str, dict[str, Any]]:
    """Contents of files that are decoded, and images that are encoded."""
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="contents")])
    def f(contents: Any) -> Any:
        image = tf.io.decode_png(contents, channels=3)
        return {
            "image": image,
            "any": tf.io.decode_image(contents, channels=1, expand_animations=False),
            "small": tf.image.resize(tf.cast(image, tf.float32), [2, 2]),
            "again": tf.io.decode_png(tf.io.encode_png(image[::-1])),
        }

    module.f = f
    contents = tf.io.encode_png((255.0 * np.random.default_rng(0).random((4, 5, 3))).astype(np.uint8))
    return saved(path, module, f, contents=np.array(contents.numpy()))


@model
def dense_table_v1(path: Path) -> dict[str, dict[str, Any]]:
    """A table that the operation which runs when the model is loaded inserts into."""
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.int64, [None], "x")
        table = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.float32, default_value=-1.0, empty_key=-1, deleted_key=-2
        )
        insert = table.insert(tf.constant([1, 2], tf.int64), tf.constant([10.0, 20.0]))
        outputs = {"y": table.lookup(x)}
        session.run(insert)
        v1.saved_model.simple_save(session, str(path), {"x": x}, outputs, insert)
    return {"serving_default": {"x": np.array([2, 3, 1])}}


@model
def recurrent_cell(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()
    module.w = tf.Variable(0.5 * noise(4, 4))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 4], name="x")])
    def f(x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            return tf.tanh(state @ module.w + row)

        return {"states": tf.scan(step, tf.transpose(x, [1, 0, 2]), tf.zeros([tf.shape(x)[0], 4]))}

    module.f = f
    return saved(path, module, f, x=noise(2, 5, 4))


@model
def frozen_v1(path: Path) -> dict[str, dict[str, Any]]:
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], "x")
        y = tf.nn.relu(tf.matmul(x, tf.constant(noise(3, 2))) + 0.5, name="y")
        v1.saved_model.simple_save(session, str(path), {"x": x}, {"y": y})
    return {"serving_default": {"x": noise(4, 3)}}


@model
def variables_v1(path: Path) -> dict[str, dict[str, Any]]:
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], "x")
        with v1.variable_scope("net"):
            w = v1.get_variable("w", initializer=noise(3, 2), use_resource=False)
            b = v1.get_variable("b", initializer=noise(2), use_resource=True)
        y = tf.nn.softmax(tf.matmul(x, w) + b, name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(path), {"x": x}, {"y": y, "best": tf.argmax(y, 1)})
    return {"serving_default": {"x": noise(4, 3)}}


@model
def custom_gradient(path: Path) -> dict[str, dict[str, Any]]:
    module = tf.Module()
    module.v = tf.Variable([1.0, -2.0], name="v")

    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.5, 0.5)

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")])
    def f(x: Any) -> Any:
        return {"y": clipped(x * module.v) * 3.0}

    module.f = f
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(module, str(path), f, options)
    return {"serving_default": {"x": noise(2)}}


def large(make: Callable[..., Any]) -> None:
    """A network of Keras with random weights, which gives logits: a softmax of large ones is no test."""

    def build(path: Path) -> dict[str, dict[str, Any]]:
        network = make(weights=None, input_shape=(224, 224, 3), classifier_activation=None)
        return exported(path, network, 0.5 * noise(1, 224, 224, 3), most=1)

    LARGE[make.__name__.lower()] = build


for application in ("ResNet50V2", "MobileNetV2", "EfficientNetB0"):
    large(getattr(keras.applications, application))


def write(
    name: str, make: Callable[[Path], dict[str, dict[str, Any]]], directory: Path, with_gradients: bool
) -> None:
    """Writes one model and what it gives."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    path = directory / name
    shutil.rmtree(path, ignore_errors=True)
    given = make(path)
    loaded = tf.saved_model.load(str(path))
    expected = {}
    for signature, inputs in given.items():
        function = loaded.signatures[signature]
        with tf.GradientTape() as tape:
            outputs = function(**{key: tf.constant(value) for key, value in inputs.items()})
            total = tf.add_n([tf.reduce_sum(y) for y in outputs.values() if y.dtype == tf.float32] or [0.0])
        variables = {v.name: v for v in function.trainable_variables if v.dtype == tf.float32}
        gradients = tape.gradient(total, variables) if with_gradients else {}
        for key, value in inputs.items():
            expected[f"{signature}/in/{key}"] = np.asarray(value)
        for key, value in outputs.items():
            value = value.numpy()
            expected[f"{signature}/out/{key}"] = value.astype("S") if value.dtype == object else value
        for key, value in gradients.items():
            if value is not None:
                expected[f"{signature}/gradient/{key}"] = tf.convert_to_tensor(value).numpy()
    np.savez_compressed(path / "expected.npz", **expected)
    (path / "fingerprint.pb").unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--large", action="store_true", help="the large networks in place of the small ones")
    parser.add_argument("--only", help="the name of one of them")
    arguments = parser.parse_args()
    arguments.directory = arguments.directory.absolute()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    # Models tell nothing of the machine that they were made on.
    os.chdir(arguments.directory)
    for name, make in (LARGE if arguments.large else MODELS).items():
        if arguments.only in (None, name):
            write(name, make, arguments.directory, not arguments.large)
            shutil.make_archive(str(arguments.directory / name), "zip", arguments.directory / name)
            shutil.rmtree(arguments.directory / name)
            print(name)


if __name__ == "__main__":
    main()
