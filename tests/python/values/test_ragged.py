"""Ragged tensors: construction, inspection, rows, conversion, and the string operators that give them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=5)
NESTED = st.lists(ROWS, max_size=4)
SOME = settings(max_examples=25, deadline=None)


def ragged(rows, depth=1):
    """A ragged tensor of lists that may all be empty."""
    return tf.ragged.constant(rows, tf.int32, ragged_rank=depth)


def padded(rows, fill=0):
    width = max(map(len, rows), default=0)
    return [row + [fill] * (width - len(row)) for row in rows]


@SOME
@given(ROWS)
def test_every_way_of_saying_where_rows_are(rows):
    flat = tf.constant([x for row in rows for x in row], tf.int32)
    lengths = [len(row) for row in rows]
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype("int64")
    of = tf.RaggedTensor
    made = [
        of.from_row_splits(flat, splits),
        of.from_row_lengths(flat, tf.constant(lengths, tf.int64)),
        of.from_row_starts(flat, splits[:-1]),
        of.from_row_limits(flat, splits[1:]),
        of.from_value_rowids(flat, tf.constant(np.repeat(range(len(rows)), lengths), tf.int64), len(rows)),
        ragged(rows),
    ]
    for x in made:
        assert x.to_list() == rows
        assert x.row_splits.numpy().tolist() == splits.tolist()
        assert x.row_lengths().numpy().tolist() == lengths
        assert x.value_rowids().numpy().tolist() == np.repeat(range(len(rows)), lengths).tolist()
        assert (int(x.nrows()), len(x)) == (len(rows), len(rows))
        assert x.bounding_shape().numpy().tolist() == [len(rows), max(lengths, default=0)]
        assert (x.ragged_rank, x.dtype, x.shape.as_list()) == (1, tf.int32, [len(rows), None])


@SOME
@given(
    ROWS, st.integers(-6, 6) | st.none(), st.integers(-6, 6) | st.none(), st.sampled_from([None, 1, 2, -1])
)
def test_rows_and_parts_of_rows_are_those_of_lists(rows, start, stop, step):
    x = ragged(rows)
    for i in range(-len(rows), len(rows)):
        assert x[i].numpy().tolist() == rows[i]
    assert x[start:stop:step].to_list() == rows[start:stop:step]
    assert x[:, start:stop].to_list() == [row[start:stop] for row in rows]
    assert x[start:, :stop].to_list() == [row[:stop] for row in rows[start:]]


@SOME
@given(NESTED)
def test_dimensions_nest(rows):
    x = ragged(rows, 2)
    assert x.to_list() == rows
    assert (x.ragged_rank, x.shape.as_list()) == (2, [len(rows), None, None])
    assert x.row_lengths(2).to_list() == [[len(inner) for inner in row] for row in rows]
    again = tf.RaggedTensor.from_nested_row_splits(x.flat_values, x.nested_row_splits)
    assert again.to_list() == rows
    again = tf.RaggedTensor.from_nested_value_rowids(
        x.flat_values, x.nested_value_rowids(), [len(rows), sum(map(len, rows))]
    )
    assert again.to_list() == rows
    assert x[:, :, 1:].to_list() == [[inner[1:] for inner in row] for row in rows]
    assert x[:, 1:].to_list() == [row[1:] for row in rows]
    for i, row in enumerate(rows):
        assert x[i].to_list() == row
        assert x[i, 1:].to_list() == row[1:]
    width = max((len(inner) for row in rows for inner in row), default=0)
    height = max(map(len, rows), default=0)
    dense = np.full((len(rows), height, width), -7)
    for i, row in enumerate(rows):
        for j, inner in enumerate(row):
            dense[i, j, : len(inner)] = inner
    np.testing.assert_array_equal(x.to_tensor(-7).numpy(), dense)


@SOME
@given(ROWS, st.integers(0, 6), st.integers(0, 5))
def test_rows_fill_a_tensor(rows, height, width):
    x = ragged(rows)
    want = np.array(padded(rows, -1), dtype="int32").reshape(len(rows), max(map(len, rows), default=0))
    np.testing.assert_array_equal(x.to_tensor(-1).numpy(), want)
    cut = x.to_tensor(-1, shape=[height, width]).numpy()
    want = np.full((height, width), -1)
    for i, row in enumerate(rows[:height]):
        want[i, : len(row[:width])] = row[:width]
    np.testing.assert_array_equal(cut, want)
    back = tf.RaggedTensor.from_tensor(x.to_tensor(), lengths=x.row_lengths())
    assert back.to_list() == rows
    kept = [[v for v in row if v] for row in rows]
    assert tf.RaggedTensor.from_tensor(ragged(kept).to_tensor(), padding=0).to_list() == kept


def test_inner_dimensions_are_uniform():
    x = tf.RaggedTensor.from_row_splits([[1, 2], [3, 4], [5, 6]], [0, 2, 2, 3])
    assert x.shape.as_list() == [3, None, 2]
    assert x.to_tensor().numpy().tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[5, 6], [0, 0]]]
    assert x.bounding_shape().numpy().tolist() == [3, 2, 2]
    assert x[:, :, 1].to_list() == [[2, 4], [], [6]]
    assert tf.ragged.constant([[[1, 2]], []], inner_shape=[2]).shape.as_list() == [2, None, 2]
    uniform = tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2)
    assert (uniform.shape.as_list(), uniform.to_list()) == ([2, 2], [[1, 2], [3, 4]])
    assert uniform.to_tensor().shape == [2, 2]
    assert tf.RaggedTensor.from_uniform_row_length([], 0, nrows=3).to_list() == [[], [], []]
    outer = tf.RaggedTensor.from_tensor(np.arange(12).reshape(2, 3, 2), ragged_rank=2)
    assert (outer.shape.as_list(), outer.to_list()) == ([2, 3, 2], np.arange(12).reshape(2, 3, 2).tolist())


def test_arrays():
    x = tf.ragged.constant([[1, 2], [3]]).numpy()
    assert (x.dtype, [row.tolist() for row in x]) == (object, [[1, 2], [3]])
    assert tf.ragged.constant([[1], [3]]).numpy().tolist() == [[1], [3]]
    assert tf.ragged.constant(3).numpy() == 3
    assert repr(tf.ragged.constant([[1], []])) == "<tf.RaggedTensor [[1], []]>"


def test_a_ragged_tensor_is_shown_in_lines_as_an_array_is():
    assert repr(tf.ragged.constant([[1, 2], [3, 4]])) == "<tf.RaggedTensor [[1, 2],\n [3, 4]]>"
    assert repr(tf.ragged.constant([["a", "b"], ["c"]])) == "<tf.RaggedTensor [[b'a', b'b'], [b'c']]>"
    assert repr(tf.RaggedTensor.from_row_splits(tf.zeros([0, 3]), [0, 0])) == "<tf.RaggedTensor [[]]>"


def test_a_long_ragged_tensor_prints_the_ends_of_its_rows():
    rows = tf.RaggedTensor.from_row_lengths(tf.range(2000), [1, 1991, 8])
    assert repr(rows) == (
        "<tf.RaggedTensor [[0], [1, 2, 3, ..., 1989, 1990, 1991],\n"
        " [1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999]]>"
    )
    many = tf.RaggedTensor.from_row_lengths([7], [1] + [0] * 2000)
    assert repr(many) == "<tf.RaggedTensor [[7], [], [], ..., [], [], []]>"


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda t: t.from_row_splits([1, 2], [1, 2]), tf.errors.InvalidArgumentError, "begin with 0"),
        (lambda t: t.from_row_splits([1, 2], [0, 2, 1, 2]), tf.errors.InvalidArgumentError, "descend"),
        (lambda t: t.from_row_splits([1, 2], [0, 1]), tf.errors.InvalidArgumentError, "end with"),
        (lambda t: t.from_row_splits([1, 2], []), ValueError, "empty"),
        (lambda t: t.from_row_splits([1, 2], [[0, 2]]), ValueError, "vector"),
        (lambda t: t.from_row_splits([1, 2], [0.0, 2.0]), (ValueError, TypeError), "row_splits|int64|dtype"),
        (lambda t: t.from_row_splits(1, [0, 1]), ValueError, "values"),
        (lambda t: t.from_row_lengths([1, 2], [3, -1]), tf.errors.InvalidArgumentError, "negative"),
        (lambda t: t.from_row_lengths([1, 2], [1]), tf.errors.InvalidArgumentError, "add up"),
        (lambda t: t.from_value_rowids([1, 2], [1, 0]), tf.errors.InvalidArgumentError, "descend"),
        (lambda t: t.from_value_rowids([1, 2], [0, 3], 2), tf.errors.InvalidArgumentError, "nrows"),
        (
            lambda t: t.from_uniform_row_length([1, 2, 3], 2),
            tf.errors.InvalidArgumentError,
            "uniform_row_length",
        ),
        (lambda t: t.from_uniform_row_length([], 0), ValueError, "nrows"),
        (lambda t: t.from_tensor([1, 2]), ValueError, "ragged_rank"),
        (lambda t: t.from_tensor([[1]], [1], 0), ValueError, "padding"),
        (lambda t: tf.ragged.constant([[1], 2]), ValueError, "depths"),
        (lambda t: tf.ragged.constant([[1], [[2]]]), ValueError, "depths"),
        (lambda t: tf.ragged.constant([[1]], ragged_rank=3), ValueError, "ragged_rank"),
        (lambda t: tf.ragged.constant([["one", "two"], [3, 4]]), ValueError, "pylist.*string and int32"),
        (lambda t: tf.ragged.constant([[1], [2]], dtype=tf.string), TypeError, "string"),
        (lambda t: tf.ragged.constant([[1], [2]])[:, 0], ValueError, "ragged dimension"),
        (lambda t: tf.ragged.constant([[1], [2]]).row_lengths(2), ValueError, "axis"),
        (lambda t: tf.ragged.constant([[1], [2]]).to_tensor(shape=[1]), ValueError, "shape"),
        (lambda t: bool(tf.ragged.constant([[1]])), TypeError, "neither"),
        (lambda t: tf.RaggedTensorSpec(None), ValueError, "ragged_rank"),
        (lambda t: tf.RaggedTensorSpec([None], ragged_rank=1), ValueError, "ragged_rank"),
    ],
)
def test_what_is_no_ragged_tensor(make, error, match):
    with pytest.raises(error, match=match):
        make(tf.RaggedTensor)


def test_functions_take_and_return_ragged_tensors():
    @tf.function
    def doubled(x):
        return x.with_values(x.values * 2), x.to_tensor(), x.row_lengths()

    for rows in ([[1, 2], [3]], [[], [4, 5, 6]]):
        made, dense, lengths = doubled(tf.ragged.constant(rows, tf.int32))
        assert made.to_list() == [[2 * v for v in row] for row in rows]
        assert dense.numpy().tolist() == padded(rows)
        assert lengths.numpy().tolist() == list(map(len, rows))
    assert doubled.experimental_get_tracing_count() == 1

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def total(x):
        return tf.reduce_sum(x.flat_values)

    assert int(total(tf.ragged.constant([[1, 2], [3]]))) == 6
    assert int(total(tf.ragged.constant([[1]]))) == 1
    assert total.experimental_get_tracing_count() == 1
    concrete = tf.function(lambda x: x.row_lengths()).get_concrete_function(
        tf.RaggedTensorSpec([None, None], tf.int32)
    )
    assert concrete(tf.ragged.constant([[1], [], [2, 3]])).numpy().tolist() == [1, 0, 2]


def test_branches_and_gradients():
    @tf.function
    def either(p, x):
        return tf.cond(
            p, lambda: tf.RaggedTensor.from_row_lengths(x, [1, 2]), lambda: tf.ragged.constant([[9.0], []])
        )

    assert either(tf.constant(True), tf.constant([1.0, 2.0, 3.0])).to_list() == [[1.0], [2.0, 3.0]]
    assert either(tf.constant(False), tf.constant([1.0, 2.0, 3.0])).to_list() == [[9.0], []]
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        dense = tf.RaggedTensor.from_row_splits(v, [0, 1, 3]).to_tensor()
        y = tf.reduce_sum(dense * [[1.0, 10.0], [2.0, 20.0]])
    assert tape.gradient(y, v).numpy().tolist() == [1.0, 2.0, 20.0]


def test_flat_values_map_where_rows_are_equal():
    a, b = tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[10, 20], [30]])
    assert tf.ragged.map_flat_values(tf.add, a, b).to_list() == [[11, 22], [33]]
    assert tf.ragged.map_flat_values(tf.add, a, 1).to_list() == [[2, 3], [4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="same rows"):
        tf.ragged.map_flat_values(tf.add, a, tf.ragged.constant([[1], [2, 3]]))
    with pytest.raises(ValueError, match="number of ragged dimensions"):
        tf.ragged.map_flat_values(tf.add, a, tf.ragged.constant([[[1]], []]))


def test_specifications_compare():
    spec = tf.RaggedTensorSpec([2, None], tf.int32)
    x = tf.ragged.constant([[1], [2, 3]])
    assert tf.type_spec_from_value(x) == spec
    assert spec.is_compatible_with(x)
    assert spec.is_subtype_of(tf.RaggedTensorSpec([None, None], tf.int32))
    assert not tf.RaggedTensorSpec([None, None], tf.int32).is_subtype_of(spec)
    joined = spec.most_specific_common_supertype([tf.RaggedTensorSpec([3, None], tf.int32)])
    assert joined == tf.RaggedTensorSpec([None, None], tf.int32)
    assert spec.most_specific_common_supertype([tf.RaggedTensorSpec([2, None], tf.int64)]) is None
    assert tf.nest.flatten(x, expand_composites=True)[0] is x.flat_values
    again = tf.nest.pack_sequence_as(x, tf.nest.flatten(x, expand_composites=True), expand_composites=True)
    assert again.to_list() == x.to_list()


TEXTS = st.lists(st.text(st.sampled_from("ab \u00e9\u4e2d"), max_size=6), max_size=4)


@SOME
@given(TEXTS)
def test_parts_of_strings_are_rows(texts):
    x = tf.constant(texts, tf.string, shape=[len(texts)])
    assert tf.strings.split(x).to_list() == [[w.encode() for w in t.split()] for t in texts]
    assert tf.strings.split(x, "a").to_list() == [[w.encode() for w in t.split("a")] for t in texts]
    assert tf.strings.bytes_split(x).to_list() == [[bytes([b]) for b in t.encode()] for t in texts]
    points = tf.strings.unicode_decode(x, "UTF-8")
    assert points.to_list() == [[ord(c) for c in t] for t in texts]
    assert tf.strings.unicode_encode(points, "UTF-8").numpy().tolist() == [t.encode() for t in texts]
    words = tf.function(tf.strings.split)(x)
    assert words.to_list() == tf.strings.split(x).to_list()
    assert tf.strings.length(words).to_list() == [[len(w.encode()) for w in t.split()] for t in texts]


def test_parts_of_strings_in_other_shapes():
    x = tf.constant([["a b", "c"], ["", "d e"]])
    words = tf.strings.split(x)
    assert words.to_list() == [[[b"a", b"b"], [b"c"]], [[], [b"d", b"e"]]]
    assert words.shape.as_list() == [2, 2, None]
    assert tf.strings.split("a b").numpy().tolist() == [b"a", b"b"]
    letters = tf.strings.bytes_split(tf.strings.split(["ab c", "d"]))
    assert letters.to_list() == [[[b"a", b"b"], [b"c"]], [[b"d"]]]
    points = tf.strings.unicode_decode(words, "UTF-8")
    assert points.ragged_rank == 3
    assert tf.strings.unicode_encode(points, "UTF-8").to_list() == words.to_list()
    upper = tf.strings.upper(words)
    assert tf.strings.regex_replace(upper, "[AD]", "x").flat_values.numpy().tolist() == [
        b"x",
        b"B",
        b"C",
        b"x",
        b"E",
    ]
    with pytest.raises(ValueError, match="rank"):
        tf.function(tf.strings.split, input_signature=[tf.TensorSpec(None, tf.string)])(tf.constant(["a"]))
