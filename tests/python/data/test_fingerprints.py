"""Numbers that stand for what data sets are made of."""

import subprocess
import sys

import pytest

import penstock as tf

Dataset = tf.data.Dataset

PROGRAM = """
import penstock as tf
ds = tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": ["x", "y"]})
print(int(ds.map(lambda row: row["a"] * 3.0).batch(2).fingerprint()))
"""


def of(dataset):
    found = dataset.fingerprint()
    assert (found.dtype, found.shape) == (tf.uint64, [])
    return int(found)


def test_data_sets_that_are_made_alike_have_the_same():
    def made():
        return Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2 + 1).batch(2).repeat()

    assert of(made()) == of(made())
    x = tf.constant([1, 2])
    assert of(Dataset.range(3).map(lambda n: x)) == of(Dataset.range(3).map(lambda n: x))


def test_data_sets_that_differ_have_others():
    x, y = tf.constant([1, 2]), tf.constant([1, 3])
    sets = [
        Dataset.range(3),
        Dataset.range(4),
        Dataset.range(3, output_type=tf.int32),
        Dataset.range(3).batch(2),
        Dataset.range(3).batch(2, drop_remainder=True),
        Dataset.range(3).map(lambda n: n + 1),
        Dataset.range(3).map(lambda n: n + 2),
        Dataset.range(3).map(lambda n: x),
        Dataset.range(3).map(lambda n: y),
        Dataset.from_tensor_slices(["a", "bc"]),
        Dataset.from_tensor_slices(["ab", "c"]),
        Dataset.from_tensors(tf.ragged.constant([[1], []])),
        Dataset.from_tensors(tf.ragged.constant([[], [1]])),
        Dataset.zip(Dataset.range(3), Dataset.range(4)),
        Dataset.zip(Dataset.range(4), Dataset.range(3)),
        Dataset.from_generator(lambda: [1], output_signature=tf.TensorSpec([], tf.int32)),
        Dataset.from_generator(lambda: [1], output_signature=tf.TensorSpec([], tf.int32)),
    ]
    assert len({of(ds) for ds in sets}) == len(sets)


def test_runs_of_a_program_have_the_same(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    found = {subprocess.run([sys.executable, file], check=True, capture_output=True).stdout for _ in range(2)}
    assert len(found) == 1


def test_data_sets_of_functions_have_none():
    @tf.function
    def f(x):
        return Dataset.from_tensors(x).fingerprint()

    with pytest.raises(tf.errors.InvalidArgumentError, match="outside of traced functions"):
        f(tf.constant(1))
