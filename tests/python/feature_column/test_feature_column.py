"""`tf.feature_column`, against what TensorFlow 2.21 gives."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

fc = tf.feature_column
FEATURES = {
    "city": tf.constant(["a", "zz", "", "c"]),
    "day": tf.constant(["x", "y", "z", "x"]),
    "age": tf.constant([5.0, 15.0, 16.0, 30.0]),
    "n": tf.constant([3, -1, 7, 0]),
}


def city(**options):
    return fc.categorical_column_with_vocabulary_list("city", ["a", "b", "c"], **options)


def ages():
    return fc.bucketized_column(fc.numeric_column("age"), [10.0, 20.0])


def sparse(column, features=None):
    return column.get_sparse_tensors(fc.FeatureTransformationCache(features or FEATURES), None).id_tensor


def dense(*columns, features=None):
    return fc.DenseFeatures(list(columns))(features or FEATURES).numpy().tolist()


def test_numbers_and_ranges_stand_in_the_order_of_names():
    features = {"age": tf.constant([5.0, 10.0, 25.0])}
    assert dense(ages(), fc.numeric_column("age"), features=features) == [
        [5, 1, 0, 0],
        [10, 0, 1, 0],
        [25, 0, 0, 1],
    ]


def test_ranges_of_several_numbers_are_categories_of_their_own():
    column = fc.bucketized_column(fc.numeric_column("two", shape=(2,)), [0.0])
    made = sparse(column, {"two": [[-1.0, 1.0], [2.0, -3.0]]})
    assert made.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert made.values.numpy().tolist() == [0, 3, 1, 2]
    assert column.num_buckets == 4
    assert column.variable_shape == [2, 2]


def test_words_of_a_list():
    assert dense(fc.indicator_column(city(num_oov_buckets=2))) == [
        [1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
    ]
    assert dense(fc.indicator_column(city(default_value=1)))[1] == [0, 1, 0]
    numbers = fc.categorical_column_with_vocabulary_list("n", [7, 3])
    assert dense(fc.indicator_column(numbers)) == [[0, 1], [0, 0], [1, 0], [0, 0]]


def test_words_of_a_file(tmp_path):
    path = tmp_path / "words"
    path.write_text("a\nb\nc\nd\n")
    column = fc.categorical_column_with_vocabulary_file("city", str(path), vocabulary_size=3)
    assert column.num_buckets == 3
    assert sparse(column).values.numpy().tolist() == [0, -1, 2]
    with pytest.raises(ValueError, match="'vocabulary_size'"):
        fc.categorical_column_with_vocabulary_file("city", str(path), vocabulary_size=5)
    with pytest.raises(ValueError, match="'vocabulary_file'"):
        fc.categorical_column_with_vocabulary_file("city", str(tmp_path / "none"))


def test_crosses_have_tensorflows_hashes():
    column = fc.crossed_column(["day", city(num_oov_buckets=2), ages()], 100)
    assert column.name == "age_bucketized_X_city_X_day"
    made = sparse(column)
    assert made.indices.numpy().tolist() == [[0, 0], [1, 0], [3, 0]]
    assert made.values.numpy().tolist() == [63, 51, 43]
    nested = fc.crossed_column([fc.crossed_column(["day", "city"], 7), "n"], 50, hash_key=5)
    assert nested.name == "city_X_day_X_n"
    assert sparse(nested).values.numpy().tolist() == [37, 32, 40, 29]


def test_hashes_and_numbers():
    made = sparse(fc.categorical_column_with_hash_bucket("n", 10, tf.int64))
    assert made.indices.numpy().tolist() == [[0, 0], [2, 0], [3, 0]]
    assert made.values.numpy().tolist() == [1, 8, 5]
    numbers = fc.categorical_column_with_identity("n", 5, default_value=4)
    assert dense(fc.indicator_column(numbers)) == [
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [1, 0, 0, 0, 0],
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'n' has a category"):
        sparse(fc.categorical_column_with_identity("n", 5))


def test_weights():
    places = [[0, 0], [0, 1], [2, 0]]
    features = {
        "city": tf.SparseTensor(places, ["a", "a", "b"], [3, 2]),
        "w": tf.SparseTensor(places, [0.5, 2.0, 3.0], [3, 2]),
    }
    column = fc.weighted_categorical_column(city(), "w")
    shown = fc.indicator_column(column)
    assert dense(shown, features=features) == [[2.5, 0, 0], [0, 0, 0], [0, 3, 0]]
    assert shown.name == "city_weighted_by_w_indicator"
    start = tf.initializers.Constant([[1.0], [2.0], [4.0]])
    row = fc.embedding_column(column, 1, combiner="sum", initializer=start)
    assert dense(row, features=features) == [[2.5], [0], [6]]


def test_embeddings_train():
    layer = fc.DenseFeatures(
        [fc.embedding_column(city(), 2, initializer=tf.initializers.Ones()), fc.numeric_column("age")]
    )
    assert [v.name for v in layer.trainable_variables] == ["city_embedding/embedding_weights:0"]
    run = tf.function(layer.__call__)
    for call in layer, run:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(call(FEATURES))
        (gradient,) = tape.gradient(y, layer.trainable_variables)
        assert tf.convert_to_tensor(gradient).numpy().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert not fc.DenseFeatures(fc.embedding_column(city(), 2), trainable=False).trainable_variables
    assert run(FEATURES).shape == [4, 3]


def test_shared_embeddings_have_one_table():
    a, b = (fc.categorical_column_with_identity(key, 4) for key in "ab")
    columns = fc.shared_embeddings([a, b], 3)
    layer = fc.DenseFeatures(columns)
    made = layer({"a": [1], "b": [1]}).numpy()
    assert len(layer.variables) == 1
    assert made[0, :3].tolist() == made[0, 3:].tolist()
    assert [c.name for c in columns] == ["a_shared_embedding", "b_shared_embedding"]
    with pytest.raises(ValueError, match="as many categories"):
        fc.shared_embeddings([a, fc.categorical_column_with_identity("c", 5)], 3)


def test_an_embedding_starts_from_a_checkpoint(tmp_path):
    table = tf.Variable([[1.0], [2.0], [3.0]])
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "c"))
    key = "table/.ATTRIBUTES/VARIABLE_VALUE"
    column = fc.embedding_column(city(), 1, ckpt_to_load_from=path, tensor_name_in_ckpt=key)
    assert dense(column, features={"city": ["c", "a"]}) == [[3], [1]]


def test_sequences():
    x = fc.sequence_numeric_column("x", shape=(2,), default_value=-1.0)
    places = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]]
    given = tf.SparseTensor(places, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 4])
    values, lengths = fc.SequenceFeatures(x)({"x": given})
    assert values.numpy().tolist() == [[[1, 2], [3, 4]], [[5, 6], [-1, -1]]]
    assert lengths.numpy().tolist() == [2, 1]
    words = fc.sequence_categorical_column_with_vocabulary_list("w", ["a", "b"])
    layer = fc.SequenceFeatures(
        [
            fc.embedding_column(words, 1, initializer=tf.initializers.Constant([[1.0], [2.0]])),
            fc.indicator_column(words),
        ]
    )
    values, lengths = layer({"w": tf.ragged.constant([["b", "a", "c"], ["a"]])})
    assert values.numpy().tolist() == [[[2, 0, 1], [1, 1, 0], [0, 0, 0]], [[1, 1, 0], [0, 0, 0], [0, 0, 0]]]
    assert lengths.numpy().tolist() == [3, 1]
    with pytest.raises(ValueError, match="one of sequences"):
        fc.DenseFeatures(fc.indicator_column(words))({"w": ["a"]})


def test_sequences_of_other_lengths_are_an_error():
    layer = fc.SequenceFeatures([fc.sequence_numeric_column("x"), fc.sequence_numeric_column("y")])
    with pytest.raises(tf.errors.InvalidArgumentError, match="different lengths"):
        layer({"x": tf.ragged.constant([[1.0]]), "y": tf.ragged.constant([[1.0, 2.0]])})


def test_what_examples_are_read_as():
    column = fc.crossed_column(["day", city(), ages()], 100)
    spec = fc.make_parse_example_spec([ages(), city(), column, fc.weighted_categorical_column(city(), "w")])
    assert spec == {
        "age": tf.io.FixedLenFeature((1,), tf.float32),
        "city": tf.io.VarLenFeature(tf.string),
        "day": tf.io.VarLenFeature(tf.string),
        "w": tf.io.VarLenFeature(tf.float32),
    }
    with pytest.raises(ValueError, match="'city' as"):
        fc.make_parse_example_spec([city(), fc.numeric_column("city")])


def test_columns_in_a_saved_model(tmp_path):
    layer = fc.DenseFeatures([fc.indicator_column(city()), fc.embedding_column(city(), 2)])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def serve(words):
        return layer({"city": words})

    module = tf.Module()
    module.layer, module.serve = layer, serve
    due = serve(tf.constant(["b", "x"])).numpy()
    tf.saved_model.save(module, tmp_path / "m")
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path / "m").serve(tf.constant(["b", "x"])), due)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fc.numeric_column(3), "'key'"),
        (lambda: fc.numeric_column("x", shape=0), "'shape'"),
        (lambda: fc.numeric_column("x", dtype=tf.string), "'dtype'"),
        (lambda: fc.bucketized_column(city(), [1.0]), "'source_column'"),
        (lambda: fc.bucketized_column(fc.numeric_column("x"), [2.0, 1.0]), "'boundaries'"),
        (lambda: fc.categorical_column_with_identity("x", 0), "'num_buckets'"),
        (lambda: city(num_oov_buckets=1, default_value=0), "'num_oov_buckets'"),
        (lambda: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]), "each entry once"),
        (lambda: fc.crossed_column(["x"], 10), "'keys'"),
        (lambda: fc.crossed_column(["x", fc.categorical_column_with_hash_bucket("y", 9)], 10), "is a hash"),
        (lambda: fc.embedding_column(city(), 0), "'dimension'"),
        (lambda: fc.embedding_column(city(), 2, combiner="max"), "'combiner'"),
        (lambda: fc.indicator_column(fc.numeric_column("x")), "'categorical_column'"),
        (lambda: fc.DenseFeatures([]), "at least one"),
        (lambda: fc.DenseFeatures([city()]), "columns of numbers"),
        (lambda: fc.DenseFeatures([fc.numeric_column("x")])({"y": [1.0]}), "no feature 'x'"),
        (lambda: fc.DenseFeatures([fc.numeric_column("x")])({"x": 1.0}), "is a scalar"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
