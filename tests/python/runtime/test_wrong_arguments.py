"""Arguments that a function cannot take: errors that name them."""

import numpy as np
import pytest

import penstock as tf


@tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
def ragged_with_values(values):
    return tf.RaggedTensor.from_row_splits(["a"], [0, 1]).with_flat_values(values)


BAD = {
    "a text for a bound": (lambda: tf.random.uniform([2], minval="a"), TypeError, "argument 'minval'"),
    "a text for a mean": (lambda: tf.random.normal([2], mean="a"), TypeError, "argument 'mean'"),
    "a text for a limit": (
        lambda: tf.clip_by_value(tf.ones([2]), "a", 1.0),
        TypeError,
        "argument 'clip_value_min' cannot be 'a'",
    ),
    "a text for features": (lambda: tf.nn.relu("a"), TypeError, "argument 'features' cannot be 'a'"),
    "a text for a factor": (
        lambda: tf.nn.batch_normalization([1.0], 0.0, 1.0, None, "a", 1e-3),
        TypeError,
        "argument 'scale' cannot be 'a'",
    ),
    "a map for a list": (
        lambda: tf.nn.batch_normalization([1.0], 0.0, 1.0, {}, None, 1e-3),
        TypeError,
        "argument 'offset' cannot be {}",
    ),
    "a map for a shape": (lambda: tf.zeros({2: 3}), TypeError, "argument 'shape' must hold integers"),
    "a map for axes": (lambda: tf.reduce_sum([1.0], {0: 1}), TypeError, "argument 'axis' must hold integers"),
    "nothing for a difference": (
        lambda: tf.image.random_hue(tf.ones([2, 2, 3]), None),
        TypeError,
        "argument 'max_delta' cannot be None",
    ),
    "an object for an operand of a function that others call": (
        lambda: tf.image.random_brightness(tf.ones([2, 2, 3]), object()),
        TypeError,
        "argument 'max_delta' cannot be",
    ),
    "a text for a block": (
        lambda: tf.batch_to_space(tf.ones([4, 1, 1, 1]), "a", [[0, 0], [0, 0]]),
        TypeError,
        "argument 'block_shape'",
    ),
    "a node that is none": (lambda: tf.Operation.from_node_def(True, tf.Graph()), TypeError, "node_def"),
    "a graph that is none": (
        lambda: tf.Operation.from_node_def(tf.compat.v1.NodeDef("y", "Neg", ["x"]), [], inputs=[]),
        TypeError,
        "'g'",
    ),
    "a dimension that is not there": (
        lambda: tf.compat.dimension_at_index([2], 1),
        IndexError,
        "argument 'index' is 1, of a shape of rank 1",
    ),
    "an axis of a scalar": (
        lambda: tf.nn.sufficient_statistics(tf.constant(1.0), [0]),
        tf.errors.InvalidArgumentError,
        "axes",
    ),
    "an axis that is not there": (
        lambda: tf.nn.sufficient_statistics(tf.ones([2, 3]), [2]),
        tf.errors.InvalidArgumentError,
        r"argument 'axes' must be within \[-2, 2\)",
    ),
    "as many threads as no machine has": (
        lambda: tf.config.threading.set_inter_op_parallelism_threads(2**200),
        ValueError,
        "num_threads",
    ),
    "a number for a list": (lambda: tf.data.experimental.from_list(np.int8(3)), TypeError, "elements"),
    "splits that are a number": (
        lambda: tf.experimental.RowPartition(tf.constant(2.5)),
        ValueError,
        "row_splits",
    ),
    "features that are no dict": (
        lambda: tf.data.experimental.make_batched_features_dataset("a", 2, range(2**40)),
        TypeError,
        "features",
    ),
    "a file of weights that is not there": (
        lambda: tf.random.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 3, vocab_file="no/such/file"),
        tf.errors.NotFoundError,
        "vocab_file",
    ),
    "lengths that are text": (
        lambda: tf.TensorArray(tf.float32, 2).split(tf.constant([1.0, 2.0]), ""),
        TypeError,
        "lengths",
    ),
    "a time without end": (
        lambda: tf.summary.create_file_writer("logs", flush_millis=float("inf")),
        ValueError,
        "flush_millis",
    ),
    "three numbers of processes": (
        lambda: tf.distribute.launch(print, (1, 2, 3)),
        ValueError,
        "num_workers",
    ),
    "processors without end": (
        lambda: tf.distribute.launch(print, 2, resources={"CPU": float("inf")}),
        ValueError,
        "resources",
    ),
    "rows of patterns": (
        lambda: tf.data.Dataset.list_files([["no/such/a", "no/such/b"]]),
        tf.errors.InvalidArgumentError,
        "file_pattern",
    ),
    "a file for a directory": (
        lambda: tf.data.Dataset.load(__file__),
        tf.errors.NotFoundError,
        "no saved data set",
    ),
    "a file within a file": (
        lambda: next(iter(tf.data.TextLineDataset(f"{__file__}/a"))),
        tf.errors.NotFoundError,
        "Not a directory",
    ),
    "numbers for the handle of a data set": (
        lambda: tf.data.experimental.from_variant(tf.zeros([0]), tf.TensorSpec([])),
        tf.errors.InvalidArgumentError,
        "stands for one",
    ),
    "a scalar for values in rows": (
        lambda: ragged_with_values(tf.constant("a")).to_list(),
        tf.errors.InvalidArgumentError,
        "no rows",
    ),
    "a variable for a table": (
        lambda: tf.raw_ops.table_remove(tf.Variable(1), [1]),
        (tf.errors.InvalidArgumentError, TypeError, ValueError),
        "table",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_an_argument_that_a_function_cannot_take_is_named(case):
    call, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("loss", [tf.nn.nce_loss, tf.nn.sampled_softmax_loss])
def test_a_sampled_loss_of_no_weights_is_an_error(loss):
    with pytest.raises((ValueError, TypeError, tf.errors.OpError)):
        loss([], tf.zeros([3]), tf.constant([[0]]), tf.ones([1, 2]), 1, 3)
