"""Operations on tensors of byte strings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._ops.text import as_string as as_string
from penstock._runtime.arguments import axes, extents, integer, known_rank, product, sizes
from penstock._types.argument_names import expect
from penstock._values.ragged import RaggedTensor

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

    Strings are quoted.

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
    expect(template, str, "template", "a string")
    parts = template.split(expect(placeholder, str, "placeholder", "a string"))
    if len(parts) - 1 != len(tensors):
        raise ValueError(
            f"argument 'template' has {len(parts) - 1} placeholders, argument 'inputs' {len(tensors)} tensors"
        )
    tensors = [_core._to_tensor(t) for t in tensors]
    text = parts[0].replace("{", "{{").replace("}", "}}")
    for tensor, part in zip(tensors, parts[1:], strict=True):
        # Strings are quoted, in tensors by the operator.
        bare = tensor.dtype == _core.string and tensor.shape.rank == 0
        text += ('"{}"' if bare else "{}") + part.replace("{", "{{").replace("}", "}}")
    return raw_ops.string_format(tensors, template=text, summarize=summarize)


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> _core.Tensor:
    """The strings of several tensors joined elementwise; scalars broadcast.

    Args:
        inputs: tensors of strings, whose shapes broadcast.
        separator: what to put between the strings.
        name: ignored.

    >>> join([["a", "b"], "c"], separator="-").numpy().tolist()
    [b'a-c', b'b-c']
    """
    if not inputs:
        raise ValueError("join: argument 'inputs' must hold at least one tensor")
    return raw_ops.string_join(list(inputs), separator=separator)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """The number of bytes, or with `unit="UTF8_CHAR"` of characters, of each string.

    Args:
        input: strings, in a tensor or a ragged one.
        unit: `"BYTE"` or `"UTF8_CHAR"`.
        name: ignored.

    Returns:
        `int32`.

    >>> length(['abc', '']).numpy()
    array([3, 0], dtype=int32)
    """
    return _elementwise(lambda x: raw_ops.string_length(x, unit=unit), input)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Each string in lower case: its ASCII letters, or with `encoding="utf-8"` all.

    Args:
        input: strings, in a tensor or a ragged one.
        encoding: `""` or `"utf-8"`.
        name: ignored.

    >>> lower(['AbC']).numpy().tolist()
    [b'abc']
    """
    return _elementwise(lambda x: raw_ops.string_lower(x, encoding=encoding), input)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Each string in upper case: its ASCII letters, or with `encoding="utf-8"` all.

    Args:
        input: strings, in a tensor or a ragged one.
        encoding: `""` or `"utf-8"`.
        name: ignored.

    >>> upper(['AbC']).numpy().tolist()
    [b'ABC']
    """
    return _elementwise(lambda x: raw_ops.string_upper(x, encoding=encoding), input)


def strip(input: Any, name: str | None = None) -> Any:
    """Each string without white space at its ends.

    Args:
        input: strings, in a tensor or a ragged one.
        name: ignored.

    >>> strip([' a b ']).numpy().tolist()
    [b'a b']
    """
    return _elementwise(raw_ops.string_strip, input)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Any:
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
    return _elementwise(lambda x: raw_ops.substr(x, pos, len, unit=unit), input)


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Any:
    """Whether each string matches a regular expression as a whole.

    Args:
        input: strings, in a tensor or a ragged one.
        pattern: the regular expression, in the syntax of the `regex` crate, which is RE2's.
        name: ignored.

    Returns:
        `bool`.

    Raises:
        InvalidArgumentError: for a pattern that is none.

    >>> regex_full_match(['a1', 'a'], '[a-z][0-9]').numpy()
    array([ True, False])
    """
    text = _pattern(pattern, "pattern")
    return _elementwise(lambda x: raw_ops.regex_full_match(x, pattern=text), input)


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Any:
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
    options = {"pattern": _pattern(pattern, "pattern"), "rewrite": _pattern(rewrite, "rewrite")}
    return _elementwise(lambda x: raw_ops.regex_replace(x, replace_global=replace_global, **options), input)


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


def to_number(input: Any, out_type: Any = _core.float32, name: str | None = None) -> Any:
    """The number that each string says.

    Args:
        input: strings, in a tensor or a ragged one.
        out_type: `float32`, `float64`, `int32` or `int64`.
        name: ignored.

    Raises:
        InvalidArgumentError: for a string that is no number.

    >>> to_number(['1.5', '-2']).numpy()
    array([ 1.5, -2. ], dtype=float32)
    """
    return _elementwise(lambda x: raw_ops.string_to_number(x, dtype=_core.DType(out_type)), input)


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The hash of each string modulo `num_buckets`, `int64`.

    The hash is FarmHash's `Fingerprint64`, as in TensorFlow: the same on every machine.

    Args:
        input: strings, in a tensor or a ragged one.
        num_buckets: how many buckets there are.
        name: ignored.

    Raises:
        InvalidArgumentError: where `num_buckets` is below 1.

    >>> to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist()
    [0, 2, 2]
    """
    buckets = integer(num_buckets, "num_buckets")
    return _elementwise(lambda x: raw_ops.string_to_hash_bucket_fast(x, num_buckets=buckets), input)


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


def _flat(input: Any) -> _core.Tensor:
    """The strings of a tensor, or of a ragged one."""
    if isinstance(input, RaggedTensor):
        return input.flat_values  # type: ignore[no-any-return]
    return _core._to_tensor(input)


def _rows(parts: tuple[_core.Tensor, _core.Tensor], input: Any, x: _core.Tensor) -> Any:
    """The parts of each string: a vector for a scalar, else the rows of a ragged tensor."""
    values, splits = parts
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(RaggedTensor(values, splits))
    rank = len(known_rank(x))
    if rank == 0:
        return values
    rows = RaggedTensor(values, splits)
    return rows if rank == 1 else RaggedTensor.from_tensor(x, ragged_rank=rank - 1).with_flat_values(rows)


def _elementwise(function: Callable[..., Any], input: Any) -> Any:
    """A function of strings one by one, of a tensor or of a ragged one."""
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(function(input.flat_values))
    return function(input)


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The pieces of each string between separators.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        sep: the separator; None or the empty string for any run of white space.
        maxsplit: how often to split at most, where it is above 0.
        name: ignored.

    Returns:
        A vector for a scalar, else a `tf.RaggedTensor` with one dimension more than `input`.

    Raises:
        ValueError: where the rank of `input` is not known.

    >>> split("a b  c").numpy().tolist()
    [b'a', b'b', b'c']
    >>> split(["a b", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    x = _flat(input)
    separator = "" if sep is None else _pattern(sep, "sep")
    return _rows(raw_ops.string_split(x, sep=separator, maxsplit=integer(maxsplit, "maxsplit")), input, x)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of each string as strings.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        name: ignored.

    Returns:
        A vector for a scalar, else a `tf.RaggedTensor` with one dimension more than `input`.

    Raises:
        ValueError: where the rank of `input` is not known.

    >>> bytes_split("abc").numpy().tolist()
    [b'a', b'b', b'c']
    >>> bytes_split(["ab", ""])
    <tf.RaggedTensor [[b'a', b'b'], []]>
    """
    x = _flat(input)
    return _rows(raw_ops.string_bytes_split(x), input, x)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each string, `int32`.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a malformed sequence, `"replace"` to put `replacement_char` in its
            place, `"ignore"` to leave it out.
        replacement_char: a code point.
        replace_control_characters: whether code points below 32 are replaced, too.
        name: ignored.

    Returns:
        A vector for a scalar, else a `tf.RaggedTensor` with one dimension more than `input`.

    Raises:
        InvalidArgumentError: for a malformed string, where `errors` is `"strict"`, or another encoding.
        ValueError: where the rank of `input` is not known.

    >>> unicode_decode("h\u00e9", "UTF-8").numpy().tolist()
    [104, 233]
    >>> unicode_decode(["ab", "c"], "UTF-8")
    <tf.RaggedTensor [[97, 98], [99]]>
    """
    x = _flat(input)
    parts = raw_ops.unicode_decode(
        x,
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    return _rows(parts, input, x)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """The strings whose code points are the rows of a tensor.

    Args:
        input: `int32`, of rank 1 or more, or ragged: then the innermost rows are strings.
        output_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a number that is no code point, `"replace"` to put `replacement_char` in
            its place, `"ignore"` to leave it out.
        replacement_char: a code point.
        name: ignored.

    Returns:
        Strings of the shape of `input` without its last dimension; ragged, where rows of strings are.

    Raises:
        InvalidArgumentError: for a number that is no code point, where `errors` is `"strict"`, or another
            encoding.

    >>> unicode_encode([104, 233], "UTF-8").numpy().decode()
    'h\u00e9'
    """
    options: dict[str, Any] = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    if isinstance(input, RaggedTensor):
        if isinstance(input.values, RaggedTensor):
            encoded = unicode_encode(input.values, output_encoding, errors, replacement_char)
            return input.with_values(encoded)
        return raw_ops.unicode_encode(input.values, input.row_splits, **options)
    x = _core._to_tensor_hinted(input, _core.int32)
    dims = sizes(x)
    if not dims:
        raise ValueError("argument 'input' must have at least one dimension, got a scalar")
    rows, length = product(dims[:-1]), dims[-1]
    step = raw_ops.range(0, raw_ops.cast(_core._to_tensor(rows + 1), dtype=_core.int32), 1)
    encoded = raw_ops.unicode_encode(raw_ops.reshape(x, [-1]), step * length, **options)
    return raw_ops.reshape(encoded, extents(dims[:-1]))
