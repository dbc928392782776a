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


@given(st.text(max_size=8), st.sampled_from(["UTF-8", "UTF-16-BE", "UTF-32-BE"]))
def test_offsets_are_the_places_of_first_bytes(text: str, encoding: str) -> None:
    name = encoding.lower()
    points, offsets = tf.strings.unicode_decode_with_offsets(text.encode(name), encoding)
    assert points.numpy().tolist() == list(map(ord, text))
    assert offsets.dtype == tf.int64
    assert offsets.numpy().tolist() == [len(text[:i].encode(name)) for i in range(len(text))]
    characters, places = tf.strings.unicode_split_with_offsets(text.encode(name), encoding)
    assert [c.decode(name) for c in characters.numpy()] == list(text)
    assert places.numpy().tolist() == offsets.numpy().tolist()


def test_offsets_of_malformed_text() -> None:
    bad = b"a\xffb\xe2\x82"
    decode = tf.strings.unicode_decode_with_offsets
    assert [t.numpy().tolist() for t in decode(bad, "UTF-8")] == [[97, 0xFFFD, 98, 0xFFFD], [0, 1, 2, 3]]
    assert [t.numpy().tolist() for t in decode(bad, "UTF-8", "ignore")] == [[97, 98], [0, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        decode(bad, "UTF-8", "strict")
    nested = tf.ragged.constant([["a\u00e9", ""], ["b"]])
    points, offsets = decode(nested, "UTF-8")
    assert points.to_list() == [[[97, 233], []], [[98]]]
    assert offsets.to_list() == [[[0, 1], []], [[0]]]
    points, offsets = decode([["ab"], ["c"]], "UTF-8")
    assert (points.shape.as_list(), offsets.to_list()) == ([2, 1, None], [[[0, 1]], [[0]]])


@given(st.text(max_size=8), st.sampled_from(["UTF-8", "UTF-16-BE", "UTF-32-BE"]))
def test_transcoding_is_decoding_and_encoding(text: str, encoding: str) -> None:
    made = tf.strings.unicode_transcode([text, ""], "UTF-8", encoding)
    assert made.shape.as_list() == [2]
    assert made.numpy().tolist() == [text.encode(encoding.lower()), b""]


def test_transcoding_keeps_rows_and_replaces_what_is_no_character() -> None:
    transcode = tf.strings.unicode_transcode
    assert transcode(b"a\xff", "UTF-8", "UTF-8").numpy() == "a\ufffd".encode()
    assert transcode(b"a\xff", "UTF-8", "UTF-8", "ignore").numpy() == b"a"
    assert transcode("a\x01", "UTF-8", "UTF-8", replace_control_characters=True).numpy() == "a\ufffd".encode()
    assert transcode(tf.ragged.constant([["a"], []]), "UTF-8", "UTF-16-BE").to_list() == [[b"\0a"], []]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.string)])
    def f(x: tf.Tensor) -> tf.Tensor:
        return transcode(x, "UTF-8", "UTF-32-BE")

    assert f([["a", "b"]]).numpy().tolist() == [[b"\0\0\0a", b"\0\0\0b"]]


def test_scripts_have_the_numbers_of_icu() -> None:
    text = "a \u03b1\u044f\u05d0\u6587\u3042\u30a2\uac00\u0301\u0378"
    due = [25, 0, 14, 8, 19, 17, 20, 22, 18, 1, 103]
    assert tf.strings.unicode_script([ord(c) for c in text]).numpy().tolist() == due
    assert tf.strings.unicode_script(tf.ragged.constant([[97], []], tf.int32)).to_list() == [[25], []]
    assert tf.strings.unicode_script([-1, 0x110000]).numpy().tolist() == [-1, -1]


def test_segments_are_joined_in_their_order() -> None:
    join = tf.strings.unsorted_segment_join
    assert join(["a", "b", "c", "d"], [1, 0, 1, -1], 3, "-").numpy().tolist() == [b"b", b"a-c", b""]
    assert join([["a", "b"], ["c", "d"]], [0, 0], 1).numpy().tolist() == [[b"ac", b"bd"]]
    assert join([["a", "b"], ["c", "d"]], [[0, 1], [1, 0]], 2).numpy().tolist() == [b"ad", b"bc"]
    assert join(tf.zeros([0], tf.string), tf.zeros([0], tf.int32), 2).numpy().tolist() == [b"", b""]
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment_ids"):
        join(["a"], [2], 2)


def test_quick_hashes_spread_and_repeat() -> None:
    words = [str(i) for i in range(200)]
    found = tf.strings.to_hash_bucket(words, 7).numpy().tolist()
    assert set(found) == set(range(7))
    assert tf.strings.to_hash_bucket(words, 7).numpy().tolist() == found
    assert tf.strings.to_hash_bucket(tf.ragged.constant([["a"], []]), 1).to_list() == [[0], []]
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_buckets"):
        tf.strings.to_hash_bucket(["a"], 0)


def distance(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    near = distance(a[1:], b[1:]) + (a[0] != b[0])
    return min(near, distance(a[1:], b) + 1, distance(a, b[1:]) + 1)


@given(st.lists(st.tuples(st.text("ab", max_size=3), st.text("ab", max_size=3)), min_size=1, max_size=4))
def test_edit_distances(pairs: list[tuple[str, str]]) -> None:
    def sparse(words: list[str]) -> tf.SparseTensor:
        return tf.ragged.constant([list(w) for w in words], tf.string, ragged_rank=1).to_sparse()

    made = tf.edit_distance(*(sparse([p[i] for p in pairs]) for i in (0, 1)), normalize=False)
    assert made.numpy().tolist() == [distance(a, b) for a, b in pairs]


def test_edit_distances_by_length_and_of_missing_sequences() -> None:
    hypothesis = tf.SparseTensor([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [1, 2, 3], [2, 2, 1])
    truth = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]], [1, 5, 6, 2], [2, 2, 2])
    assert tf.edit_distance(hypothesis, truth).numpy().tolist() == [[0.5, 1.0], [0.0, float("inf")]]
    assert tf.edit_distance(hypothesis, truth, False).numpy().tolist() == [[1.0, 1.0], [0.0, 1.0]]
    with pytest.raises(TypeError, match="truth"):
        tf.edit_distance(hypothesis, tf.SparseTensor([[0, 0, 0]], ["a"], [1, 1, 1]))
    traced = tf.function(lambda: tf.edit_distance(hypothesis, truth))
    assert traced().numpy().tolist() == [[0.5, 1.0], [0.0, float("inf")]]
