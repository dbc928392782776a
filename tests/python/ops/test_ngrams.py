"""Strings of neighbours, characters of strings, and hashes under a key."""

import pytest

import penstock as tf

WORDS = tf.ragged.constant([["a", "b", "c"], ["d"], []], dtype=tf.string)


def texts(x):
    return [[word.decode() for word in row] for row in (x.to_list() if hasattr(x, "to_list") else x.numpy())]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ngram_width": 2}, [["a b", "b c"], [], []]),
        ({"ngram_width": [1, 2]}, [["a", "b", "c", "a b", "b c"], ["d"], []]),
        ({"ngram_width": (3, 2), "separator": ""}, [["abc", "ab", "bc"], [], []]),
        ({"ngram_width": 3, "preserve_short_sequences": True}, [["a b c"], ["d"], []]),
        (
            {"ngram_width": 2, "pad_values": ("<", ">")},
            [["< a", "a b", "b c", "c >"], ["< d", "d >"], ["< >"]],
        ),
    ],
)
def test_runs_of_ragged_rows(options, expected, traced):
    def function(words):
        return tf.strings.ngrams(words, **options)

    assert texts((tf.function(function) if traced else function)(WORDS)) == expected


def test_runs_of_dense_rows_are_dense():
    rows = tf.constant([["a", "b", "c"], ["d", "e", "f"]])
    assert texts(tf.strings.ngrams(rows, 2)) == [["a b", "b c"], ["d e", "e f"]]
    assert tf.strings.ngrams(rows, 5).shape == (2, 0)


def test_widths_below_1_are_an_error():
    with pytest.raises(ValueError, match="argument 'ngram_width'"):
        tf.strings.ngrams(["a"], 0)


def test_strings_are_split_into_characters():
    assert texts(tf.strings.unicode_split(["héy", "", "ab"], "UTF-8")) == [["h", "é", "y"], [], ["a", "b"]]


def test_hashes_under_a_key_are_those_of_siphash():
    key = [0x0706050403020100, 0x0F0E0D0C0B0A0908]
    message = bytes(range(15))
    found = tf.strings.to_hash_bucket_strong([message, b""], 2**62, key)
    assert found.numpy().tolist() == [0xA129CA6149BE45E5 % 2**62, 0x726FDB47DD0E0E31 % 2**62]
    with pytest.raises(ValueError, match="argument 'key' must be two integers"):
        tf.strings.to_hash_bucket_strong(["a"], 3, [1])


def test_a_width_beyond_all_rows_costs_nothing() -> None:
    assert tf.strings.ngrams(["a", "b"], 2**31).shape == (0,)
    assert tf.strings.ngrams(["a", "b"], 2**31, preserve_short_sequences=True).numpy().tolist() == [b"a b"]
