"""Tensors as bytes and bytes as tensors."""

import numpy as np
import pytest

import penstock as tf

# What TensorFlow 2.21 writes.
SERIALIZED = [
    (lambda: tf.constant([1, 2]), "080312041202080222080100000002000000"),
    (lambda: tf.constant(1.5), "0801120022040000c03f"),
    (lambda: tf.constant(["a", "b"]), "0807120412020802420161420162"),
    (lambda: tf.constant([[True]]), "080a12081202080112020801220101"),
    (lambda: tf.zeros([0, 2]), "08011206120012020802"),
    (lambda: tf.constant(1, tf.bfloat16), "080e12002202803f"),
    (lambda: tf.constant(1 + 2j), "081212002210000000000000f03f0000000000000040"),
]


@pytest.mark.parametrize(("make", "expected"), SERIALIZED)
def test_tensors_are_the_bytes_of_tensorflow_and_come_back(make, expected):
    tensor = make()
    content = tf.io.serialize_tensor(tensor)
    assert content.numpy().hex() == expected
    again = tf.io.parse_tensor(content, tensor.dtype)
    assert again.shape == tensor.shape
    np.testing.assert_array_equal(again.numpy(), tensor.numpy())


def test_the_last_of_several_values_stands_for_the_rest():
    content = bytes.fromhex("0803120412020803") + b"\x3a\x01\x07"
    assert tf.io.parse_tensor(content, tf.int32).numpy().tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("content", "words"), [(b"zzz", "no tensor"), (b"", "no tensor"), (bytes.fromhex("08011200"), "dtype")]
)
def test_bytes_that_are_no_tensor_are_invalid(content, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.io.parse_tensor(content, tf.int32)


def test_functions_serialize_and_parse():
    @tf.function
    def there_and_back(x):
        return tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.float32)

    assert there_and_back(tf.constant([1.0, 2.0])).numpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((["abcd", "efgh"], tf.int16), [[25185, 25699], [26213, 26727]]),
        (("ab", tf.uint8), [97, 98]),
        (("abcd", tf.int16, False), [24930, 25444]),
        ((["ab", "abcd"], tf.int16, True, 4), [[25185, 0], [25185, 25699]]),
        (("", tf.int16), []),
    ],
)
def test_strings_are_read_as_numbers(arguments, expected):
    assert tf.io.decode_raw(*arguments).numpy().tolist() == expected
    assert (
        tf.function(lambda x: tf.io.decode_raw(x, *arguments[1:]))(arguments[0]).numpy().tolist() == expected
    )


@pytest.mark.parametrize(
    "arguments", [(["abc"], tf.int16), (["ab", "abcd"], tf.int16), (["ab"], tf.int16, True, 3)]
)
def test_lengths_that_do_not_fit_are_invalid(arguments):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"input_bytes|fixed_length"):
        tf.io.decode_raw(*arguments)


def test_base64_is_that_of_urls():
    assert tf.io.encode_base64([b"a\xc3\xbf", b"abc"]).numpy().tolist() == [b"YcO_", b"YWJj"]
    assert tf.io.encode_base64("a", pad=True).numpy() == b"YQ=="
    assert tf.io.decode_base64([["YQ", "YQ==", "YcO_", ""]]).numpy().tolist() == [
        [b"a", b"a", b"a\xc3\xbf", b""]
    ]


@pytest.mark.parametrize("text", ["Y", "Y!==", "YQ=", "Y Q", "+/"])
def test_what_is_no_base64_is_invalid(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="'input'"):
        tf.io.decode_base64(text)
