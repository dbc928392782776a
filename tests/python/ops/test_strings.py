"""Strings taken apart, put together and hashed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

import penstock as tf


@given(st.text("ab ,\t", max_size=12), st.sampled_from([None, "", ",", "a,"]), st.integers(-1, 3))
def test_split_is_pythons(text: str, sep: str | None, maxsplit: int) -> None:
    due = text.split(sep or None, maxsplit if maxsplit > 0 else -1)
    assert [s.decode() for s in tf.strings.split(text, sep, maxsplit).numpy()] == due


@given(st.text(max_size=8), st.sampled_from(["UTF-8", "UTF-16-BE", "UTF-32-BE"]))
def test_code_points_round_trip(text: str, encoding: str) -> None:
    points = tf.strings.unicode_decode(text.encode(encoding.lower()), encoding)
    assert points.numpy().tolist() == list(map(ord, text))
    assert tf.strings.unicode_encode(points, encoding).numpy() == text.encode(encoding.lower())


def test_malformed_text() -> None:
    bad = b"a\xffb\xe2\x82"
    decode = tf.strings.unicode_decode
    assert decode(bad, "UTF-8").numpy().tolist() == [97, 0xFFFD, 98, 0xFFFD]
    assert decode(bad, "UTF-8", "replace", ord("?")).numpy().tolist() == [97, 63, 98, 63]
    assert decode(bad, "UTF-8", errors="ignore").numpy().tolist() == [97, 98]
    assert decode("a\tb", "UTF-8", replace_control_characters=True).numpy().tolist() == [97, 0xFFFD, 98]
    with pytest.raises(tf.errors.InvalidArgumentError):
        decode(bad, "UTF-8", errors="strict")
    encode = tf.strings.unicode_encode
    assert encode([[97, 0xD800], [98, 99]], "UTF-8", "ignore").numpy().tolist() == [b"a", b"bc"]
    with pytest.raises(tf.errors.InvalidArgumentError):
        encode([-1], "UTF-8", "strict")


def test_in_a_graph_whose_strings_are_unknown() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def f(x: tf.Tensor) -> Any:
        words = tf.strings.split(x)
        return tf.size(words), tf.strings.reduce_join(words, separator="-"), tf.strings.upper(words[0])

    count, joined, first = f("ab cd  e")
    assert (count.numpy(), joined.numpy(), first.numpy()) == (3, b"ab-cd-e", b"AB")


def test_bytes_split_and_strip() -> None:
    assert tf.strings.bytes_split("h\u00e9").numpy().tolist() == [b"h", b"\xc3", b"\xa9"]
    spaced = " \x0b\x0ca b\n\r"
    assert tf.strings.strip(spaced).numpy() == b"a b"


def test_reduce_join_goes_along_one_axis_after_the_other() -> None:
    x = [["a", "b"], ["c", "d"]]
    assert tf.strings.reduce_join(x).numpy() == b"abcd"
    assert tf.strings.reduce_join(x, [0, 1]).numpy() == b"acbd"
    assert tf.strings.reduce_join(x, 0, keepdims=True).numpy().tolist() == [[b"ac", b"bd"]]
    assert tf.strings.reduce_join(tf.zeros([0], tf.string)).numpy() == b""


def test_hashes_are_those_of_farmhash() -> None:
    buckets = tf.strings.to_hash_bucket_fast
    assert buckets(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist() == [0, 2, 2]
    # The fingerprint of nothing, 0x9ae16a3b2f90404f.
    assert buckets("", 2**62).numpy() == 0x9AE16A3B2F90404F % 2**62


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.strings.unicode_decode("a", "EBCDIC"), tf.errors.InvalidArgumentError),
        (lambda: tf.strings.unicode_decode("a", "UTF-8", "explode"), tf.errors.InvalidArgumentError),
        (lambda: tf.strings.unicode_encode(97, "UTF-8"), ValueError),
        (lambda: tf.strings.reduce_join(["a"], 1), tf.errors.InvalidArgumentError),
        (lambda: tf.strings.to_hash_bucket_fast("a", 0), tf.errors.InvalidArgumentError),
        (lambda: tf.strings.split(7), TypeError),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
