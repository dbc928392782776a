"""Operations on tensors of byte strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._array import as_string as as_string
from penstock._wrap import axes, extents, integer, product, sizes
from penstock.errors import UnimplementedError

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket_fast",
    "to_number",
    "unicode_decode",
    "unicode_encode",
    "upper",
]


def format(
    template: str, inputs: Any = (), placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> _core.Tensor:
    """The template with each placeholder replaced by the text of the next tensor, as a string scalar.

    Args:
        template: text with placeholders.
        inputs: a tensor for each, or a nest of them.
        placeholder: what to replace.
        summarize: how many elements to show at both ends of each dimension, -1 for all.
        name: ignored.

    Raises:
        ValueError: where the number of placeholders is not that of tensors.

    >>> format("x is {}", [[1, 2]]).numpy()
    b'x is [1 2]'
    """
    if isinstance(inputs, list | tuple):
        tensors = list(inputs)
    else:
        tensors = nest.flatten(inputs)
    parts = template.split(placeholder)
    if len(parts) - 1 != len(tensors):
        raise ValueError(
            f"argument 'template' has {len(parts) - 1} placeholders, argument 'inputs' {len(tensors)} tensors"
        )
    text = "{}".join(part.replace("{", "{{").replace("}", "}}") for part in parts)
    return raw_ops.string_format([_core._convert(t) for t in tensors], template=text, summarize=summarize)


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> _core.Tensor:
    """The strings of several tensors joined elementwise; scalars broadcast.

    >>> join([["a", "b"], "c"], separator="-").numpy().tolist()
    [b'a-c', b'b-c']
    """
    if not inputs:
        raise ValueError("join: argument 'inputs' must hold at least one tensor")
    return raw_ops.string_join(list(inputs), separator=separator)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> _core.Tensor:
    """The number of bytes, or with `unit="UTF8_CHAR"` of characters, of each string."""
    return raw_ops.string_length(input, unit=unit)


def lower(input: Any, encoding: str = "", name: str | None = None) -> _core.Tensor:
    """Each string in lower case: its ASCII letters, or with `encoding="utf-8"` all."""
    return raw_ops.string_lower(input, encoding=encoding)


def upper(input: Any, encoding: str = "", name: str | None = None) -> _core.Tensor:
    """Each string in upper case: its ASCII letters, or with `encoding="utf-8"` all."""
    return raw_ops.string_upper(input, encoding=encoding)


def strip(input: Any, name: str | None = None) -> _core.Tensor:
    """Each string without white space at its ends."""
    return raw_ops.string_strip(input)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> _core.Tensor:
    """The part of each string that starts at `pos` and has at most `len` bytes, or characters.

    Args:
        input: strings.
        pos: where to start; from the end where negative.
        len: how much to take; broadcasts with `input`, as `pos` does.
        unit: `"BYTE"` or `"UTF8_CHAR"`.
        name: ignored.

    Raises:
        InvalidArgumentError: for a position outside of the string.

    >>> substr("penstock", 3, 5).numpy()
    b'stock'
    """
    return raw_ops.substr(input, pos, len, unit=unit)


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> _core.Tensor:
    """Whether each string matches a regular expression as a whole."""
    return raw_ops.regex_full_match(input, pattern=_pattern(pattern, "pattern"))


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> _core.Tensor:
    r"""Each string with the matches of a regular expression replaced.

    Args:
        input: strings.
        pattern: the regular expression.
        rewrite: what to put in place of a match; `\1` stands for its first group.
        replace_global: whether to replace all matches, or the first alone.
        name: ignored.

    >>> regex_replace("a1b22", "[0-9]+", "#").numpy()
    b'a#b#'
    """
    return raw_ops.regex_replace(
        input,
        pattern=_pattern(pattern, "pattern"),
        rewrite=_pattern(rewrite, "rewrite"),
        replace_global=replace_global,
    )


def _pattern(value: Any, argument: str) -> Any:
    """A pattern as text; a constant tensor will do."""
    if isinstance(value, _core.Tensor):
        known = _core._known_value(value)
        if known is None:
            raise TypeError(
                f"argument '{argument}' must be constant while a function is traced, got a symbolic tensor"
            )
        value = known.numpy()
    return value.decode() if isinstance(value, bytes) else value


def to_number(input: Any, out_type: Any = _core.float32, name: str | None = None) -> _core.Tensor:
    """The number that each string says.

    Raises:
        InvalidArgumentError: for a string that is no number.
    """
    return raw_ops.string_to_number(input, dtype=_core.DType(out_type))


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> _core.Tensor:
    """The hash of each string modulo `num_buckets`, `int64`.

    The hash is FarmHash's `Fingerprint64`, as in TensorFlow: the same on every machine.

    Raises:
        InvalidArgumentError: where `num_buckets` is below 1.

    >>> to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist()
    [0, 2, 2]
    """
    return raw_ops.string_to_hash_bucket_fast(input, num_buckets=integer(num_buckets, "num_buckets"))


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> _core.Tensor:
    """The strings joined along dimensions.

    Args:
        inputs: strings.
        axis: the dimensions, joined one after the other; by default all, from the last to the first.
        keepdims: whether to keep them with size 1.
        separator: what to put between the strings.
        name: ignored.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_join([["a", "b"], ["c", "d"]], axis=-1, separator="-").numpy().tolist()
    [b'a-b', b'c-d']
    """
    return raw_ops.string_reduce_join(inputs, axes=axes(axis), keepdims=keepdims, separator=separator)


def _row(parts: Sequence[_core.Tensor], x: _core.Tensor, function: str) -> _core.Tensor:
    """The parts of a scalar; those of several strings are rows of different lengths."""
    if x.shape.rank != 0:
        raise UnimplementedError(
            f"{function}: argument 'input' must be a scalar, got shape {x.shape}: the parts of several "
            "strings are rows of different lengths, which no tensor holds; the operators in raw_ops give "
            "them as values and row splits"
        )
    return parts[0]


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> _core.Tensor:
    """The pieces of a string between separators, a vector.

    Args:
        input: a string scalar.
        sep: the separator; None or the empty string for any run of white space.
        maxsplit: how often to split at most, where it is above 0.
        name: ignored.

    Raises:
        UnimplementedError: where `input` is no scalar.

    >>> split("a b  c").numpy().tolist()
    [b'a', b'b', b'c']
    """
    x = _core._convert(input)
    separator = "" if sep is None else _pattern(sep, "sep")
    return _row(raw_ops.string_split(x, sep=separator, maxsplit=integer(maxsplit, "maxsplit")), x, "split")


def bytes_split(input: Any, name: str | None = None) -> _core.Tensor:
    """The bytes of a string as strings, a vector.

    Raises:
        UnimplementedError: where `input` is no scalar.

    >>> bytes_split("abc").numpy().tolist()
    [b'a', b'b', b'c']
    """
    x = _core._convert(input)
    return _row(raw_ops.string_bytes_split(x), x, "bytes_split")


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """The code points of a string, a vector of `int32`.

    Args:
        input: a string scalar.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a malformed sequence, `"replace"` to put `replacement_char` in its
            place, `"ignore"` to leave it out.
        replacement_char: a code point.
        replace_control_characters: whether code points below 32 are replaced, too.
        name: ignored.

    Raises:
        InvalidArgumentError: for a malformed string, where `errors` is `"strict"`, or another encoding.
        UnimplementedError: where `input` is no scalar.

    >>> unicode_decode("h\u00e9", "UTF-8").numpy().tolist()
    [104, 233]
    """
    x = _core._convert(input)
    parts = raw_ops.unicode_decode(
        x,
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    return _row(parts, x, "unicode_decode")


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> _core.Tensor:
    """The strings whose code points are the rows of a tensor.

    Args:
        input: `int32`, of rank 1 or more and known sizes.
        output_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a number that is no code point, `"replace"` to put `replacement_char` in
            its place, `"ignore"` to leave it out.
        replacement_char: a code point.
        name: ignored.

    Returns:
        Strings of the shape of `input` without its last dimension.

    Raises:
        InvalidArgumentError: for a number that is no code point, where `errors` is `"strict"`, or another
            encoding.

    >>> unicode_encode([104, 233], "UTF-8").numpy().decode()
    'h\u00e9'
    """
    x = _core._convert(input, None, _core.int32)
    dims = sizes(x)
    if not dims:
        raise ValueError("argument 'input' must have at least one dimension, got a scalar")
    rows, length = product(dims[:-1]), dims[-1]
    step = raw_ops.range(0, raw_ops.cast(_core._convert(rows + 1), dtype=_core.int32), 1)
    encoded = raw_ops.unicode_encode(
        raw_ops.reshape(x, [-1]),
        step * length,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
    )
    return raw_ops.reshape(encoded, extents(dims[:-1]))
