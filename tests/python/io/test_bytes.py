"""Tensors as bytes and bytes as tensors."""

import base64

import numpy as np
import pytest

import penstock as tf

NUMBERS = [
    tf.uint8, tf.int8, tf.uint16, tf.int16, tf.uint32, tf.int32, tf.uint64, tf.int64,
    tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128,
]  # fmt: skip

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


@pytest.mark.parametrize("dtype", [*NUMBERS, tf.bool, tf.string])
@pytest.mark.parametrize("shape", [[], [0], [2, 3]])
def test_tensors_of_every_dtype_come_back(dtype, shape):
    x = tf.reshape(tf.range(int(np.prod(shape))), shape)
    x = tf.strings.as_string(x) if dtype == tf.string else tf.cast(x, dtype)
    again = tf.io.parse_tensor(tf.io.serialize_tensor(x), dtype)
    assert (again.dtype, again.shape) == (dtype, x.shape)
    np.testing.assert_array_equal(again.numpy(), x.numpy())


def test_damaged_messages_are_invalid_or_another_tensor():
    content = tf.io.serialize_tensor(tf.reshape(tf.range(6), [2, 3])).numpy()
    rng = np.random.default_rng(1)
    refused = []
    for _ in range(500):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        try:
            tf.io.parse_tensor(bytes(damaged[: rng.integers(len(content) + 1)]), tf.int32)
        except tf.errors.InvalidArgumentError as error:
            refused.append(str(error))
    assert 0 < len(refused) < 500
    assert all("'serialized'" in message for message in refused)


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


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("little_endian", [True, False])
def test_bytes_of_every_dtype_are_those_of_numpy(dtype, little_endian):
    own = np.dtype(dtype.as_numpy_dtype)
    # No pattern of these bytes is a NaN.
    content = np.random.default_rng(dtype.size).integers(1, 60, (3, 4 * own.itemsize)).astype(np.uint8)
    numbers = np.frombuffer(content.tobytes(), own).reshape(3, 4)
    if not little_endian:
        numbers = numbers.byteswap()
    found = tf.io.decode_raw([row.tobytes() for row in content], dtype, little_endian)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), numbers)


def test_every_byte_but_0_is_true():
    assert tf.io.decode_raw(b"\x00\x01\x02\xff", tf.bool).numpy().tolist() == [False, True, True, True]


def test_strings_that_are_read_as_numbers_may_be_absent_or_empty():
    none = tf.zeros([0, 2], tf.string)
    assert tf.io.decode_raw(none, tf.int32).shape == [0, 2, 0]
    assert tf.io.decode_raw(none, tf.int32, fixed_length=8).shape == [0, 2, 2]
    assert tf.io.decode_raw([["", ""]], tf.float64).shape == [1, 2, 0]
    assert tf.io.decode_raw(["", "abcdef"], tf.uint8, fixed_length=3).numpy().tolist() == [
        [0, 0, 0],
        [97, 98, 99],
    ]


def test_the_length_of_numbers_is_known_where_it_is_given():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def lengths(x):
        read = tf.io.decode_raw(x, tf.int16), tf.io.decode_raw(x, tf.int16, fixed_length=6)
        assert [one.shape.as_list() for one in read] == [[None, None], [None, 3]]
        return read

    assert [one.numpy().tolist() for one in lengths(["a\0b\0"])] == [[[97, 98]], [[97, 98, 0]]]


def test_examples_are_read_as_numbers_together():
    found = tf.vectorized_map(lambda x: tf.io.decode_raw(x, tf.uint8), tf.constant(["ab", "cd"]))
    assert found.numpy().tolist() == [[97, 98], [99, 100]]


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


def test_base64_of_any_bytes_is_that_of_python():
    rng = np.random.default_rng(0)
    texts = [rng.bytes(n) for n in [*range(20), 1000]]
    for pad in (False, True):
        found = tf.io.encode_base64(texts, pad)
        due = [base64.urlsafe_b64encode(text) for text in texts]
        assert found.numpy().tolist() == (due if pad else [text.rstrip(b"=") for text in due])
        assert tf.io.decode_base64(found).numpy().tolist() == texts


@pytest.mark.parametrize(
    "text", ["Y=Q", "====", "YWI==", "YWJj=", "YWJjZ", "\n", "Y", "Y!==", "YQ=", "Y Q", "+/"]
)
def test_what_is_no_base64_is_invalid(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="'input'"):
        tf.io.decode_base64(text)
