"""Operators of strings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock._nodes._parts import ints, rows, static, text

__all__ = ["NODES"]


def _text(value: Any, argument: str) -> str:
    return str(text(static(value, argument)))


def _split(input: Any, delimiter: Any, skip_empty: bool) -> tuple[Any, Any, Any]:
    """The parts at each of the characters of a delimiter; at each character where it is empty."""
    signs = _text(delimiter, "delimiter")
    if signs:
        marked = input
        for sign in signs[1:]:
            marked = tf.strings.regex_replace(marked, _literal(sign), signs[0])
        parts = tf.strings.split(marked, signs[0])
    else:
        parts = tf.strings.bytes_split(input)
    if skip_empty:
        parts = tf.ragged.boolean_mask(parts, parts != "")
    return _of_rows(parts)


def _literal(sign: str) -> str:
    return "\\" + sign if not sign.isalnum() and sign.isascii() else sign


def _of_rows(parts: Any) -> tuple[Any, Any, Any]:
    sparse = parts.to_sparse()
    return sparse.indices, sparse.values, sparse.dense_shape


def _split_v2(input: Any, sep: Any, maxsplit: int) -> tuple[Any, Any, Any]:
    mark = _text(sep, "sep")
    return _of_rows(tf.strings.split(input, mark or None, maxsplit))


def _reduce_join(inputs: Any, axes: Any, keep_dims: bool, separator: str) -> Any:
    return tf.strings.reduce_join(inputs, ints(axes, "reduction_indices"), keep_dims, separator)


def _ngrams(
    data: Any,
    splits: Any,
    separator: str,
    widths: Sequence[int],
    left: str,
    right: str,
    pad_width: int,
    short: bool,
) -> tuple[Any, Any]:
    pads = (left, right) if left or right else None
    found: Any = tf.strings.ngrams(
        rows(data, [splits]),
        list(widths),
        separator,
        pads,
        pad_width if pads and pad_width >= 0 else None,
        short,
    )
    return found.values, tf.cast(found.row_splits, splits.dtype)


def _decoded(
    input: Any, encoding: str, errors: str, char: int, control: bool, splits: Any
) -> tuple[Any, Any]:
    found: Any = tf.strings.unicode_decode(tf.reshape(input, [-1]), encoding, errors, char, control)
    return tf.cast(found.row_splits, splits), found.values


def _decoded_offsets(
    input: Any, encoding: str, errors: str, char: int, control: bool, splits: Any
) -> tuple[Any, Any, Any]:
    pair: Any = tf.strings.unicode_decode_with_offsets(
        tf.reshape(input, [-1]), encoding, errors, char, control
    )
    chars, starts = pair
    return tf.cast(chars.row_splits, splits), chars.values, starts.values


def _encoded(values: Any, splits: Any, encoding: str, errors: str, char: int) -> Any:
    return tf.strings.unicode_encode(rows(values, [splits]), encoding, errors, char)


def _replaced(input: Any, pattern: Any, rewrite: Any, all_: bool) -> Any:
    return tf.strings.regex_replace(input, pattern, rewrite, all_)


def _format(inputs: Sequence[Any], template: str, placeholder: str, summarize: int) -> Any:
    return tf.strings.format(template, list(inputs), placeholder, summarize)


def _shard(basename: Any, shard: Any, count: Any) -> Any:
    return tf.strings.join([basename, "-", _digits(shard), "-of-", _digits(count)])


def _digits(number: Any) -> Any:
    return tf.strings.as_string(number, width=5, fill="0")


NODES: Final[dict[str, Callable[..., Any]]] = {
    "AsString": tf.strings.as_string,
    "Fingerprint": tf.fingerprint,
    "ReduceJoin": _reduce_join,
    "RegexFullMatch": tf.strings.regex_full_match,
    "RegexReplace": _replaced,
    "ShardedFilename": _shard,
    "ShardedFilespec": lambda basename, count: tf.strings.join([basename, "-?????-of-", _digits(count)]),
    "StaticRegexFullMatch": tf.strings.regex_full_match,
    "StaticRegexReplace": _replaced,
    "StringFormat": _format,
    "StringJoin": tf.strings.join,
    "StringLength": tf.strings.length,
    "StringLower": tf.strings.lower,
    "StringNGrams": _ngrams,
    "StringSplit": _split,
    "StringSplitV2": _split_v2,
    "StringStrip": tf.strings.strip,
    "StringToHashBucket": tf.strings.to_hash_bucket,
    "StringToHashBucketFast": tf.strings.to_hash_bucket_fast,
    "StringToHashBucketStrong": tf.strings.to_hash_bucket_strong,
    "StringToNumber": tf.strings.to_number,
    "StringUpper": tf.strings.upper,
    "Substr": tf.strings.substr,
    "UnicodeDecode": _decoded,
    "UnicodeDecodeWithOffsets": _decoded_offsets,
    "UnicodeEncode": _encoded,
    "UnicodeScript": tf.strings.unicode_script,
    "UnicodeTranscode": tf.strings.unicode_transcode,
    "UnsortedSegmentJoin": lambda inputs, ids, count, separator: tf.strings.unsorted_segment_join(
        inputs, ids, count, separator
    ),
}
