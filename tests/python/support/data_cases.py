"""Data sets and the elements that they have, and what tests of data sets share."""

import collections

import numpy as np

import penstock as tf
from support import plain

Dataset = tf.data.Dataset
INT = tf.TensorSpec([], tf.int64)
Pair = collections.namedtuple("Pair", ["left", "right"])


def listed(dataset):
    return [plain(x) for x in dataset]


def numbers(*args):
    return Dataset.range(*args)


def asked(n=10):
    """The numbers below `n` from a generator, and the list of those that were asked for."""
    seen = []

    def make():
        for i in range(n):
            seen.append(i)
            yield i

    return Dataset.from_generator(make, output_signature=INT), seen


LENGTHS = numbers(1, 5).map(lambda n: tf.fill([n], n))

BEHAVIOUR = {
    "tensors": (Dataset.from_tensors(([1, 2], {"a": "x"})), [([1, 2], {"a": b"x"})]),
    "none": (Dataset.from_tensors((1, None)), [(1, None)]),
    "named tuples": (Dataset.from_tensor_slices(Pair([1, 2], [3, 4])), [(1, 3), (2, 4)]),
    "slices": (Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]]), [[1, 2], [3, 4], [5, 6]]),
    "slices of nests": (
        Dataset.from_tensor_slices({"a": [1, 2], "b": (["x", "y"],)}),
        [{"a": 1, "b": (b"x",)}, {"a": 2, "b": (b"y",)}],
    ),
    "slices of nothing": (Dataset.from_tensor_slices(np.zeros([0, 3])), []),
    "slices of ragged": (
        Dataset.from_tensor_slices(tf.ragged.constant([[1], [], [2, 3]])),
        [[1], [], [2, 3]],
    ),
    "range": (numbers(3), [0, 1, 2]),
    "range with a step": (numbers(7, 1, -2), [7, 5, 3]),
    "range of nothing": (numbers(5, 2), []),
    "range of floats": (Dataset.range(3, output_type=tf.float32), [0.0, 1.0, 2.0]),
    "counter": (Dataset.counter(3, 4).take(3), [3, 7, 11]),
    "map": (numbers(4).map(lambda x: x * x), [0, 1, 4, 9]),
    "map to a nest": (
        numbers(2).map(lambda x: {"a": x, "b": (x + 1, None)}),
        [{"a": i, "b": (i + 1, None)} for i in (0, 1)],
    ),
    "map to a list": (numbers(2).map(lambda x: [x, [x, x]]), [(0, [0, 0]), (1, [1, 1])]),
    "map to a constant": (numbers(40).map(lambda x: 7), [7] * 40),
    "map of a tuple": (Dataset.zip(numbers(2), numbers(5, 7)).map(lambda a, b: a * b), [0, 6]),
    "map of a mapping": (numbers(2).map(lambda x: {"a": x}).map(lambda d: d["a"]), [0, 1]),
    "map of a named tuple": (
        Dataset.from_tensor_slices(Pair([1, 2], [3, 4])).map(lambda p: p.left + p.right),
        [4, 6],
    ),
    "map with branches": (
        numbers(40).map(lambda x: x // 2 if x % 2 == 0 else 3 * x + 1),
        [i // 2 if i % 2 == 0 else 3 * i + 1 for i in range(40)],
    ),
    "map to varying shapes": (numbers(20).map(lambda n: tf.range(n)), [list(range(i)) for i in range(20)]),
    "map to ragged": (
        numbers(2).map(lambda n: tf.RaggedTensor.from_row_lengths(tf.range(n + 1), [n, 1])),
        [[[], [0]], [[0], [1]]],
    ),
    "filter": (numbers(50).filter(lambda x: x % 7 == 3), list(range(3, 50, 7))),
    "filter to nothing": (numbers(50).filter(lambda x: x > 99), []),
    "take": (numbers(9).take(3), [0, 1, 2]),
    "take of more": (numbers(2).take(3), [0, 1]),
    "take of none": (numbers(2).take(0), []),
    "take of all": (numbers(2).take(-1), [0, 1]),
    "skip": (numbers(30).skip(27), [27, 28, 29]),
    "skip of more": (numbers(2).skip(3), []),
    "skip of all": (numbers(2).skip(-1), []),
    "take_while": (numbers(90).take_while(lambda x: x < 41), list(range(41))),
    "repeat": (numbers(2).repeat(3), [0, 1] * 3),
    "repeat of nothing": (numbers(0).repeat(), []),
    "repeat never": (numbers(3).repeat(0), []),
    "repeat without end": (numbers(2).repeat().take(5), [0, 1, 0, 1, 0]),
    "batch": (numbers(5).batch(2), [[0, 1], [2, 3], [4]]),
    "batch of whole ones": (numbers(5).batch(2, drop_remainder=True), [[0, 1], [2, 3]]),
    "batch of less": (numbers(2).batch(5), [[0, 1]]),
    "batch of too few": (numbers(2).batch(5, drop_remainder=True), []),
    "batch of batches": (numbers(5).batch(2).take(2).batch(2), [[[0, 1], [2, 3]]]),
    "batch of nests": (
        numbers(3).map(lambda x: (x, {"a": -x})).batch(2),
        [([0, 1], {"a": [0, -1]}), ([2], {"a": [-2]})],
    ),
    "batch of ragged": (
        Dataset.from_tensor_slices(tf.ragged.constant([[[1], []], [[2, 3], [4]]])).batch(2),
        [[[[1], []], [[2, 3], [4]]]],
    ),
    "unbatch": (Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch(), [1, 2, 3, 4]),
    "unbatch of batches": (numbers(7).batch(3).unbatch(), list(range(7))),
    "unbatch of nothing": (Dataset.from_tensors(np.zeros([0], np.int32)).unbatch(), []),
    "unbatch of ragged": (Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])).unbatch(), [[1], [2, 3]]),
    "rebatch": (numbers(7).batch(2).rebatch(3), [[0, 1, 2], [3, 4, 5], [6]]),
    "rebatch in turn": (numbers(7).batch(4).rebatch([1, 2]), [[0], [1, 2], [3], [4, 5], [6]]),
    "padded_batch": (LENGTHS.padded_batch(3), [[[1, 0, 0], [2, 2, 0], [3, 3, 3]], [[4, 4, 4, 4]]]),
    "padded_batch to a shape": (
        LENGTHS.take(2).padded_batch(2, [3], padding_values=-1),
        [[[1, -1, -1], [2, 2, -1]]],
    ),
    "padded_batch of nests": (
        LENGTHS.map(lambda x: (x, tf.size(x))).padded_batch(2, ([None], []), (np.int64(9), 0), True),
        [([[1, 9], [2, 2]], [1, 2]), ([[3, 3, 3, 9], [4, 4, 4, 4]], [3, 4])],
    ),
    "padded_batch of strings": (
        Dataset.from_tensor_slices(tf.ragged.constant([["a"], ["b", "c"]])).padded_batch(2),
        [[[b"a", b""], [b"b", b"c"]]],
    ),
    "ragged_batch": (LENGTHS.ragged_batch(3), [[[1], [2, 2], [3, 3, 3]], [[4, 4, 4, 4]]]),
    "ragged_batch of fixed sizes": (numbers(3).ragged_batch(2), [[0, 1], [2]]),
    "zip": (Dataset.zip((numbers(3), {"a": numbers(5, 9)})), [(0, {"a": 5}), (1, {"a": 6}), (2, {"a": 7})]),
    "zip of one": (Dataset.zip(numbers(2)), [0, 1]),
    "enumerate": (numbers(5, 8).enumerate(10), [(10, 5), (11, 6), (12, 7)]),
    "concatenate": (numbers(2).concatenate(numbers(7, 9)), [0, 1, 7, 8]),
    "concatenate of shapes": (
        Dataset.from_tensors([1]).concatenate(Dataset.from_tensors([2, 3])),
        [[1], [2, 3]],
    ),
    "shard": (numbers(10).shard(4, 2), [2, 6]),
    "window": (numbers(7).window(3, shift=2, stride=2), [[0, 2, 4], [2, 4, 6], [4, 6], [6]]),
    "window of whole ones": (numbers(7).window(3, 2, 2, drop_remainder=True), [[0, 2, 4], [2, 4, 6]]),
    "window with gaps": (numbers(9).window(2, shift=4), [[0, 1], [4, 5], [8]]),
    "window of nests": (numbers(3).map(lambda x: (x, -x)).window(2), [([0, 1], [0, -1]), ([2], [-2])]),
    "windows as batches": (
        numbers(5).window(3, 1, 1, True).flat_map(lambda w: w.batch(3)),
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]],
    ),
    "flat_map": (numbers(4).flat_map(numbers), [0, 0, 1, 0, 1, 2]),
    "flat_map of slices": (
        Dataset.from_tensor_slices([[1, 2], [3, 4]]).flat_map(Dataset.from_tensor_slices),
        [1, 2, 3, 4],
    ),
    "interleave": (
        numbers(1, 6).interleave(lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4),
        [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5],
    ),
    "interleave of different lengths": (
        numbers(4).interleave(numbers, cycle_length=3),
        [0, 0, 0, 1, 1, 2],
    ),
    "scan": (numbers(1, 5).scan(np.int64(0), lambda s, x: (s + x, s * x)), [0, 2, 9, 24]),
    "group_by_window": (
        numbers(7).group_by_window(lambda x: 1 - x % 2, lambda k, w: w.batch(2).map(lambda b: (k, b)), 2),
        [(1, [0, 2]), (0, [1, 3]), (1, [4, 6]), (0, [5])],
    ),
    "group_by_window of sizes": (
        numbers(6).group_by_window(
            lambda x: x % 2, lambda k, w: w.batch(9), window_size_func=lambda k: k + 1
        ),
        [[0], [2], [1, 3], [4], [5]],
    ),
    "bucket_by_sequence_length": (
        LENGTHS.bucket_by_sequence_length(lambda x: tf.size(x), [3], [2, 2]),
        [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]],
    ),
    "buckets to their boundary": (
        LENGTHS.take(2).bucket_by_sequence_length(
            lambda x: tf.size(x), [5], [2, 2], pad_to_bucket_boundary=True
        ),
        [[[1, 0, 0, 0], [2, 2, 0, 0]]],
    ),
    "unique": (Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique(), [3, 1, 2]),
    "unique strings": (Dataset.from_tensor_slices(["a", "b", "a"]).unique(), [b"a", b"b"]),
    "unique strings with zeros": (
        Dataset.from_tensor_slices([b"a", b"a\0", b"a", b""]).unique(),
        [b"a", b"a\0", b""],
    ),
    "unique pairs": (
        Dataset.from_tensor_slices(([1, 1, 2, 1], [["a", "b"], ["a", "b"], ["a", "b"], ["a", ""]])).unique(),
        [(1, [b"a", b"b"]), (2, [b"a", b"b"]), (1, [b"a", b""])],
    ),
    "unique rows": (Dataset.range(4).map(lambda n: tf.range(n % 2)).unique(), [[], [0]]),
    "cache": (numbers(3).cache(), [0, 1, 2]),
    "prefetch": (numbers(3).prefetch(2), [0, 1, 2]),
    "choose": (
        Dataset.choose_from_datasets(
            [numbers(2), numbers(9, 12)], Dataset.from_tensor_slices([1, 0, 1, 1, 0])
        ),
        [9, 0, 10, 11, 1],
    ),
    "choose until one is empty": (
        Dataset.choose_from_datasets([numbers(1), numbers(9, 12)], numbers(2).repeat(3)),
        [0, 9],
    ),
    "choose past empty ones": (
        Dataset.choose_from_datasets([numbers(1), numbers(9, 12)], numbers(2).repeat(3), False),
        [0, 9, 10, 11],
    ),
    "apply": (numbers(3).apply(lambda ds: ds.take(1)), [0]),
}


def i64(value):
    return tf.constant(value, tf.int64)
