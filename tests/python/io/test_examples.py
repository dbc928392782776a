"""Features of `tf.train.Example` messages: each kind, missing and wrong ones, in functions and data sets."""

import numpy as np
import pytest

import penstock as tf

KINDS = {float: ("float_list", tf.train.FloatList), int: ("int64_list", tf.train.Int64List)}


def feature(values):
    kind, message = KINDS.get(type(values[0]) if values else int, ("bytes_list", tf.train.BytesList))
    return tf.train.Feature(**{kind: message(value=values)})


def example(**features):
    made = {name: feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def steps(context, **lists):
    made = {k: tf.train.FeatureList(feature=[feature(s) for s in v]) for k, v in lists.items()}
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={k: feature(v) for k, v in context.items()}),
        feature_lists=tf.train.FeatureLists(feature_list=made),
    ).SerializeToString()


FIRST = example(a=[1.5, 2.5], n=[7], words=[b"x", b"y"], at=[3, 1], lengths=[1, 1], pad=[1, 2, 3, 4])
SECOND = example(a=[0.0, -1.0], words=[b"z"], at=[0], lengths=[0, 1, 0], pad=[5, 6])
FEATURES = {
    "a": tf.io.FixedLenFeature([2], tf.float32),
    "n": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    "words": tf.io.VarLenFeature(tf.string),
    "rows": tf.io.RaggedFeature(tf.string, value_key="words", row_splits_dtype=tf.int64),
    "nested": tf.io.RaggedFeature(
        tf.string, value_key="words", partitions=[tf.io.RaggedFeature.RowLengths("lengths")]
    ),
    "placed": tf.io.SparseFeature("at", "words", tf.string, size=5),
    "pad": tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True),
    "none": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=9),
}


def check(found):
    assert found["a"].numpy().tolist() == [[1.5, 2.5], [0.0, -1.0]]
    assert found["a"].shape[1:] == [2]
    assert found["n"].numpy().tolist() == [7, -1]
    assert tf.sparse.to_dense(found["words"]).numpy().tolist() == [[b"x", b"y"], [b"z", b""]]
    assert found["rows"].to_list() == [[b"x", b"y"], [b"z"]]
    assert found["nested"].to_list() == [[[b"x"], [b"y"]], [[], [b"z"], []]]
    assert found["nested"].row_splits.dtype == tf.int32
    assert found["placed"].indices.numpy().tolist() == [[0, 1], [0, 3], [1, 0]]
    assert found["placed"].values.numpy().tolist() == [b"y", b"x", b"z"]
    assert found["pad"].numpy().tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert found["none"].shape == [2, 0]


def test_features_become_tensors():
    check(tf.io.parse_example([FIRST, SECOND], FEATURES))
    traced = tf.function(
        lambda x: tf.io.parse_example(x, FEATURES), input_signature=[tf.TensorSpec([None], tf.string)]
    )
    check(traced(tf.constant([FIRST, SECOND])))
    nothing = tf.io.parse_example(tf.constant([], tf.string), FEATURES)
    assert nothing["a"].shape == [0, 2]
    assert nothing["rows"].to_list() == []


def test_single_messages():
    found = tf.io.parse_single_example(FIRST, FEATURES)
    assert found["a"].numpy().tolist() == [1.5, 2.5]
    assert tf.sparse.to_dense(found["words"]).numpy().tolist() == [b"x", b"y"]
    assert found["nested"].to_list() == [[b"x"], [b"y"]]
    ds = tf.data.Dataset.from_tensor_slices([FIRST, SECOND])
    ds = ds.map(lambda x: tf.io.parse_single_example(x, {k: FEATURES[k] for k in ("a", "n", "words")}))
    assert [int(x["n"]) for x in ds] == [7, -1]
    batch = next(iter(ds.map(lambda x: x["a"]).batch(2)))
    np.testing.assert_array_equal(batch.numpy(), [[1.5, 2.5], [0.0, -1.0]])


@pytest.mark.parametrize(
    ("partition", "values"),
    [
        (tf.io.RaggedFeature.RowSplits("p"), [0, 2, 2, 3]),
        (tf.io.RaggedFeature.RowStarts("p"), [0, 2, 2]),
        (tf.io.RaggedFeature.RowLimits("p"), [2, 2, 3]),
        (tf.io.RaggedFeature.ValueRowIds("p"), [0, 0, 2]),
        (tf.io.RaggedFeature.RowLengths("p"), [2, 0, 1]),
    ],
)
def test_values_are_cut_into_rows(partition, values):
    config = {"v": tf.io.RaggedFeature(tf.int64, partitions=[partition])}
    found = tf.io.parse_single_example(example(v=[1, 2, 3], p=values), config)["v"]
    assert found.to_list() == [[1, 2], [], [3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not fit"):
        tf.io.parse_single_example(example(v=[1], p=[7, 9]), config)


def test_what_does_not_fit_is_refused():
    error = tf.errors.InvalidArgumentError
    with pytest.raises(error, match="'b' is required"):
        tf.io.parse_single_example(FIRST, {"b": tf.io.FixedLenFeature([], tf.int64)})
    with pytest.raises(error, match="'a' must have 3"):
        tf.io.parse_single_example(FIRST, {"a": tf.io.FixedLenFeature([3], tf.float32)})
    with pytest.raises(error, match="'a' holds a float_list"):
        tf.io.parse_single_example(FIRST, {"a": tf.io.FixedLenFeature([2], tf.int64)})
    with pytest.raises(error, match="no Example"):
        tf.io.parse_single_example(b"\xff\xff\xff", {"a": tf.io.VarLenFeature(tf.int64)})
    with pytest.raises(ValueError, match="'serialized' must be a vector"):
        tf.io.parse_example(FIRST, FEATURES)
    with pytest.raises(ValueError, match="'features'"):
        tf.io.parse_example([FIRST], {})
    with pytest.raises(ValueError, match="dtype must be"):
        tf.io.parse_example([FIRST], {"a": tf.io.VarLenFeature(tf.int32)})


def test_sequences():
    first = steps({"n": [3]}, x=[[1.0, 2.0], [3.0, 4.0]], w=[[b"a"], [b"b", b"c"]])
    second = steps({"n": [4]}, x=[[5.0, 6.0]], w=[])
    context, found, lengths = tf.io.parse_sequence_example(
        [first, second],
        {"n": tf.io.FixedLenFeature([], tf.int64)},
        {"x": tf.io.FixedLenSequenceFeature([2], tf.float32), "w": tf.io.RaggedFeature(tf.string)},
    )
    assert context["n"].numpy().tolist() == [3, 4]
    assert found["x"].numpy().tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert found["w"].to_list() == [[[b"a"], [b"b", b"c"]], []]
    assert lengths["x"].numpy().tolist() == [2, 1]
    context, found = tf.io.parse_single_sequence_example(
        first, {"n": tf.io.FixedLenFeature([], tf.int64)}, {"w": tf.io.VarLenFeature(tf.string)}
    )
    assert int(context["n"]) == 3
    assert tf.sparse.to_dense(found["w"]).numpy().tolist() == [[b"a", b""], [b"b", b"c"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="missing"):
        tf.io.parse_sequence_example([second], None, {"q": tf.io.FixedLenSequenceFeature([], tf.int64)})
