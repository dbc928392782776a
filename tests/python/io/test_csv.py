"""Lines of comma-separated values, beside Python's own reader where both take them."""

import csv
import io

import numpy as np
import pytest

import penstock as tf

REQUIRED = tf.constant([], tf.string)


def test_dtypes_and_defaults() -> None:
    lines = ["1,2,3.5,4.25,word", " -1 , 9223372036854775807 ,inf,1e-300,", ",,,,x"]
    defaults = [[7], tf.constant([8], tf.int64), [0.5], tf.constant([0.25], tf.float64), ["none"]]
    found = tf.io.decode_csv(lines, defaults)
    assert [x.dtype for x in found] == [tf.int32, tf.int64, tf.float32, tf.float64, tf.string]
    assert found[0].numpy().tolist() == [1, -1, 7]
    assert found[1].numpy().tolist() == [2, 2**63 - 1, 8]
    assert found[2].numpy().tolist() == [3.5, np.inf, 0.5]
    assert found[3].numpy().tolist() == [4.25, 1e-300, 0.25]
    assert found[4].numpy().tolist() == [b"word", b"none", b"x"]


def test_fields_in_quotes_are_those_of_pythons_reader() -> None:
    pieces = ["plain", "", "a,b", 'say "so"', '"', "line\nbreak", " spaces ", "ü"]
    rows = [[a, b, c] for a in pieces for b in pieces for c in ("x", "y,z")]
    text = io.StringIO()
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        lines = []
        for row in rows:
            text = io.StringIO()
            csv.writer(text, quoting=quoting, lineterminator="\n").writerow(row)
            lines.append(text.getvalue().removesuffix("\n"))
        found = tf.io.decode_csv(lines, [[""]] * 3)
        for column, values in zip(zip(*rows, strict=True), found, strict=True):
            assert [value.decode() for value in values.numpy()] == list(column)


def test_shapes_delimiters_and_values_that_stand_for_none() -> None:
    found = tf.io.decode_csv([["1|NA"], ["2|3"]], [[0], [9]], field_delim="|", na_value="NA")
    assert [x.numpy().tolist() for x in found] == [[[1], [2]], [[9], [3]]]
    assert [x.shape for x in tf.io.decode_csv("1,2", [[0], [0]])] == [(), ()]
    assert tf.io.decode_csv(tf.constant([], tf.string), [[0]])[0].shape == (0,)
    (quote,) = tf.io.decode_csv(['"a"'], [[""]], use_quote_delim=False)
    assert quote.numpy().tolist() == [b'"a"']
    assert tf.io.decode_csv(["1,2,"], [[0], [0], [5]])[2].numpy().tolist() == [5]


def test_some_fields_are_read() -> None:
    found = tf.io.decode_csv(["0,1,2,3", "4,5,6,7"], [[0], [0]], select_cols=[1, 3])
    assert [x.numpy().tolist() for x in found] == [[1, 5], [3, 7]]
    with pytest.raises(ValueError, match="'select_cols' must be strictly rising"):
        tf.io.decode_csv(["0,1"], [[0], [0]], select_cols=[1, 0])
    with pytest.raises(ValueError, match="'select_cols' has 1 fields"):
        tf.io.decode_csv(["0,1"], [[0], [0]], select_cols=[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected 2 fields, got 1 in record 1"):
        tf.io.decode_csv(["0,1,2", "0,1"], [[0], [0]], select_cols=[0, 2])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1", "expected 2 fields, got 1 in record 0"),
        ("1,2,3", "expected 2 fields, got 3 in record 0"),
        ("", "expected 2 fields, got 0 in record 0"),
        ("one,2", "field 0 in record 0 is not a valid int32: one"),
        ("99999999999,2", "field 0 in record 0 is not a valid int32"),
        ("1,", "field 1 is required, and missing in record 0"),
        ('1,a"b', "has a quote or a line break"),
        ('1,"ab', "must end with one"),
        ('1,"a"b"', "must be doubled"),
    ],
)
def test_lines_that_do_not_fit(line: str, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
        tf.io.decode_csv([line], [[0], REQUIRED])
    assert "'records'" in str(caught.value)


def test_arguments_that_cannot_be() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'field_delim': must be one byte"):
        tf.io.decode_csv(["1"], [[0]], field_delim=";;")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'record_defaults"):
        tf.io.decode_csv(["1"], [[0, 1]])
    with pytest.raises(TypeError, match="'record_defaults"):
        tf.io.decode_csv(["1"], [[True]])


def test_many_lines_are_read_in_order_by_several_threads() -> None:
    lines = [f"{i},{i / 8},w{i}" for i in range(20000)]
    ints, floats, words = tf.io.decode_csv(lines, [[0], [0.0], [""]])
    np.testing.assert_array_equal(ints, np.arange(20000))
    np.testing.assert_array_equal(floats, np.arange(20000, dtype=np.float32) / 8)
    assert words.numpy()[[0, 777, 19999]].tolist() == [b"w0", b"w777", b"w19999"]
    lines[15000] = "x,1,y"
    lines[3000] = "1"
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 3000"):
        tf.io.decode_csv(lines, [[0], [0.0], [""]])


def test_in_functions_and_data_sets() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def read(lines):
        found = tf.io.decode_csv(lines, [[0], [""]])
        assert [x.shape.as_list() for x in found] == [[None], [None]]
        return found

    ints, words = read(["1,a", "2,b"])
    assert (ints.numpy().tolist(), words.numpy().tolist()) == ([1, 2], [b"a", b"b"])
    ds = tf.data.Dataset.from_tensor_slices(["1,a", "2,b"]).map(
        lambda line: tf.io.decode_csv(line, [[0], [""]])
    )
    assert [(int(n), w.numpy()) for n, w in ds] == [(1, b"a"), (2, b"b")]
