"""Operations on tensors of byte strings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from penstock import _core, nest, raw_ops
from penstock._ops.ngrams import ngrams as ngrams
from penstock._ops.text import as_string as as_string
from penstock._ops.unicode import (
    rows_of_parts,
    strings_of,
    unicode_decode as unicode_decode,
    unicode_decode_with_offsets as unicode_decode_with_offsets,
    unicode_encode as unicode_encode,
    unicode_script as unicode_script,
    unicode_split as unicode_split,
    unicode_split_with_offsets as unicode_split_with_offsets,
    unicode_transcode as unicode_transcode,
)
from penstock._runtime.arguments import axes, integer, items
from penstock._runtime.dispatch import dispatched
from penstock._runtime.public_names import publish as _publish
from penstock._types.argument_names import expect
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, IntLike, Nested, TensorLike

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]


def format(
    template: str,
    inputs: Nested[TensorLike] = (),
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> _core.Tensor:
    """Replace each placeholder of a template by the text of the next tensor; strings are quoted.

    Args:
        template: text with placeholders.
        inputs: a tensor for each, or a nest of them.
        placeholder: what to replace.
        summarize: how many elements to show at both ends of each dimension, -1 for all.
        name: a name for the result in a graph.

    Returns:
        A string scalar.

    Raises:
        ValueError: where the number of placeholders is not that of tensors.

    >>> import penstock as tf
    >>> tf.strings.format("x is {}", [[1, 2]]).numpy()
    b'x is [1 2]'
    """
    if isinstance(inputs, list | tuple):
        tensors = list(inputs)
    else:
        tensors = nest.flatten(inputs)
    expect(template, str, "template", "a string")
    parts = template.split(expect(placeholder, str, "placeholder", "a string"))
    if len(parts) - 1 != len(tensors):
        raise InvalidArgumentError(
            f"argument 'template' has {len(parts) - 1} placeholders, argument 'inputs' {len(tensors)} tensors"
        )
    tensors = [_core._to_tensor(t) for t in tensors]
    text = parts[0].replace("{", "{{").replace("}", "}}")
    for tensor, part in zip(tensors, parts[1:], strict=True):
        # Strings are quoted, in tensors by the operator.
        bare = tensor.dtype == _core.string and tensor.shape.rank == 0
        text += ('"{}"' if bare else "{}") + part.replace("{", "{{").replace("}", "}}")
    return raw_ops.string_format(tensors, template=text, summarize=summarize, name=name)


@dispatched
def join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> _core.Tensor:
    """Join the strings of several tensors elementwise.

    Args:
        inputs: tensors of strings, whose shapes broadcast.
        separator: what to put between the strings.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings with the shape to which the operands broadcast; of no tensors the empty string.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.strings.join([["a", "b"], "c"], separator="-").numpy().tolist()
    [b'a-c', b'b-c']
    """
    if not inputs:
        return _core._to_tensor("")
    return raw_ops.string_join(items(inputs, "inputs"), separator=separator, name=name)


@overload
def length(input: RaggedTensor, unit: str = "BYTE", name: str | None = None) -> RaggedTensor: ...
@overload
def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> _core.Tensor: ...
def length(
    input: TensorLike | RaggedTensor, unit: str = "BYTE", name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Count the bytes of each string, or its characters.

    Args:
        input: strings, in a tensor or a ragged one.
        unit: `"BYTE"` or `"UTF8_CHAR"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `int32` of the shape of `input`.

    Raises:
        InvalidArgumentError: for another unit.

    >>> import penstock as tf
    >>> tf.strings.length(['abc', '']).numpy()
    array([3, 0], dtype=int32)
    """
    return _elementwise(raw_ops.string_length, input, unit=unit, name=name)


@overload
def lower(input: RaggedTensor, encoding: str = "", name: str | None = None) -> RaggedTensor: ...
@overload
def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> _core.Tensor: ...
def lower(
    input: TensorLike | RaggedTensor, encoding: str = "", name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Write each string in lower case: its ASCII letters, or with `encoding="utf-8"` all.

    Args:
        input: strings, in a tensor or a ragged one.
        encoding: `""` or `"utf-8"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings of the shape of `input`.

    Raises:
        InvalidArgumentError: for another encoding.

    >>> import penstock as tf
    >>> tf.strings.lower(['AbC']).numpy().tolist()
    [b'abc']
    """
    return _elementwise(raw_ops.string_lower, input, encoding=encoding, name=name)


@overload
def upper(input: RaggedTensor, encoding: str = "", name: str | None = None) -> RaggedTensor: ...
@overload
def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> _core.Tensor: ...
def upper(
    input: TensorLike | RaggedTensor, encoding: str = "", name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Write each string in upper case: its ASCII letters, or with `encoding="utf-8"` all.

    Args:
        input: strings, in a tensor or a ragged one.
        encoding: `""` or `"utf-8"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings of the shape of `input`.

    Raises:
        InvalidArgumentError: for another encoding.

    >>> import penstock as tf
    >>> tf.strings.upper(['AbC']).numpy().tolist()
    [b'ABC']
    """
    return _elementwise(raw_ops.string_upper, input, encoding=encoding, name=name)


@overload
def strip(input: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def strip(input: TensorLike, name: str | None = None) -> _core.Tensor: ...
def strip(input: TensorLike | RaggedTensor, name: str | None = None) -> _core.Tensor | RaggedTensor:
    """Remove white space at both ends of each string.

    Args:
        input: strings, in a tensor or a ragged one.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings of the shape of `input`.

    >>> import penstock as tf
    >>> tf.strings.strip([' a b ']).numpy().tolist()
    [b'a b']
    """
    return _elementwise(raw_ops.string_strip, input, name=name)


@overload
def substr(
    input: RaggedTensor,
    pos: TensorLike,
    len: TensorLike,
    unit: str = "BYTE",
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def substr(
    input: TensorLike,
    pos: TensorLike,
    len: TensorLike,
    unit: str = "BYTE",
    name: str | None = None,
) -> _core.Tensor: ...
def substr(
    input: TensorLike | RaggedTensor,
    pos: TensorLike,
    len: TensorLike,
    unit: str = "BYTE",
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    """Take the part of each string that starts at `pos` and has at most `len` bytes, or characters.

    Args:
        input: strings.
        pos: where to start; from the end where negative.
        len: how much to take; broadcasts with `input`, as `pos` does.
        unit: `"BYTE"` or `"UTF8_CHAR"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings of the shape to which the operands broadcast.

    Raises:
        InvalidArgumentError: for a position outside of the string.

    >>> import penstock as tf
    >>> tf.strings.substr("penstock", 3, 5).numpy()
    b'stock'
    """
    return _elementwise(raw_ops.substr, input, pos, len, unit=unit, name=name)


@overload
def regex_full_match(
    input: RaggedTensor, pattern: str | bytes | _core.Tensor, name: str | None = None
) -> RaggedTensor: ...
@overload
def regex_full_match(
    input: TensorLike, pattern: str | bytes | _core.Tensor, name: str | None = None
) -> _core.Tensor: ...
def regex_full_match(
    input: TensorLike | RaggedTensor, pattern: str | bytes | _core.Tensor, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Tell whether each string matches a regular expression as a whole.

    Args:
        input: strings, in a tensor or a ragged one.
        pattern: the regular expression, in the syntax of the `regex` crate, which is RE2's.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans of the shape of `input`.

    Raises:
        InvalidArgumentError: for a pattern that is none.

    >>> import penstock as tf
    >>> tf.strings.regex_full_match(['a1', 'a'], '[a-z][0-9]').numpy()
    array([ True, False])
    """
    text = _pattern(pattern, "pattern")
    return _elementwise(raw_ops.regex_full_match, input, pattern=text, name=name)


@overload
def regex_replace(
    input: RaggedTensor,
    pattern: str | bytes | _core.Tensor,
    rewrite: str | bytes | _core.Tensor,
    replace_global: bool = True,
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def regex_replace(
    input: TensorLike,
    pattern: str | bytes | _core.Tensor,
    rewrite: str | bytes | _core.Tensor,
    replace_global: bool = True,
    name: str | None = None,
) -> _core.Tensor: ...
def regex_replace(
    input: TensorLike | RaggedTensor,
    pattern: str | bytes | _core.Tensor,
    rewrite: str | bytes | _core.Tensor,
    replace_global: bool = True,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    r"""Replace the matches of a regular expression in each string.

    Args:
        input: strings.
        pattern: the regular expression.
        rewrite: what to put in place of a match; `\1` stands for its first group.
        replace_global: whether to replace all matches, or the first alone.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings of the shape of `input`.

    Raises:
        InvalidArgumentError: for a pattern that is none.

    >>> import penstock as tf
    >>> tf.strings.regex_replace("a1b22", "[0-9]+", "#").numpy()
    b'a#b#'
    """
    options = {"pattern": _pattern(pattern, "pattern"), "rewrite": _pattern(rewrite, "rewrite")}
    return _elementwise(raw_ops.regex_replace, input, replace_global=replace_global, **options, name=name)


def _pattern(value: Any, argument: str) -> str:
    """A pattern as text; a constant tensor will do."""
    if isinstance(value, _core.Tensor):
        known = _core._known_value(value)
        if known is None:
            raise TypeError(
                f"argument '{argument}' must be constant while a function is traced, got a symbolic tensor"
            )
        value = known.numpy()
    return value.decode() if isinstance(value, bytes) else value


@overload
def to_number(
    input: RaggedTensor, out_type: DTypeLike = _core.float32, name: str | None = None
) -> RaggedTensor: ...
@overload
def to_number(
    input: TensorLike, out_type: DTypeLike = _core.float32, name: str | None = None
) -> _core.Tensor: ...
def to_number(
    input: TensorLike | RaggedTensor, out_type: DTypeLike = _core.float32, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Read the number that each string says.

    Args:
        input: strings, in a tensor or a ragged one.
        out_type: `float32`, `float64`, `int32` or `int64`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `out_type` of the shape of `input`.

    Raises:
        InvalidArgumentError: for a string that is no number.

    >>> import penstock as tf
    >>> tf.strings.to_number(['1.5', '-2']).numpy()
    array([ 1.5, -2. ], dtype=float32)
    """
    return _elementwise(raw_ops.string_to_number, input, dtype=_core.DType(out_type), name=name)


@overload
def to_hash_bucket_fast(
    input: RaggedTensor, num_buckets: IntLike, name: str | None = None
) -> RaggedTensor: ...
@overload
def to_hash_bucket_fast(input: TensorLike, num_buckets: IntLike, name: str | None = None) -> _core.Tensor: ...
def to_hash_bucket_fast(
    input: TensorLike | RaggedTensor, num_buckets: IntLike, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Compute the hash of each string modulo a number of buckets.

    The hash is FarmHash's `Fingerprint64`, as in TensorFlow: the same on every machine.

    Args:
        input: strings, in a tensor or a ragged one.
        num_buckets: how many buckets there are.
        name: a name for the result in a graph.

    Returns:
        A tensor of `int64` of the shape of `input`.

    Raises:
        InvalidArgumentError: where `num_buckets` is below 1.

    >>> import penstock as tf
    >>> tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist()
    [0, 2, 2]
    """
    buckets = integer(num_buckets, "num_buckets")
    return _elementwise(raw_ops.string_to_hash_bucket_fast, input, num_buckets=buckets, name=name)


@overload
def to_hash_bucket_strong(
    input: RaggedTensor, num_buckets: IntLike, key: Sequence[int], name: str | None = None
) -> RaggedTensor: ...
@overload
def to_hash_bucket_strong(
    input: TensorLike, num_buckets: IntLike, key: Sequence[int], name: str | None = None
) -> _core.Tensor: ...
def to_hash_bucket_strong(
    input: TensorLike | RaggedTensor, num_buckets: IntLike, key: Sequence[int], name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Compute the hash of each string under a key modulo a number of buckets.

    The hash is SipHash-2-4, as in TensorFlow: who does not know the key cannot choose strings that collide.

    Args:
        input: strings, in a tensor or a ragged one.
        num_buckets: how many buckets there are.
        key: two integers of 64 bits.
        name: a name for the result in a graph.

    Returns:
        A tensor of `int64` of the shape of `input`.

    Raises:
        InvalidArgumentError: where `num_buckets` is below 1.
        ValueError: where `key` is not two integers.

    >>> import penstock as tf
    >>> tf.strings.to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy().tolist()
    [2, 0]
    """
    if not isinstance(key, Sequence) or len(key) != 2:
        raise InvalidArgumentError(f"argument 'key' must be two integers, got {key}")
    # Attributes are signed.
    signed = [(integer(half, "key") + 2**63) % 2**64 - 2**63 for half in key]
    buckets = integer(num_buckets, "num_buckets")
    op = raw_ops.string_to_hash_bucket_strong
    return _elementwise(op, input, num_buckets=buckets, key=signed, name=name)


@dispatched
def reduce_join(
    inputs: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Join strings along dimensions.

    Args:
        inputs: strings.
        axis: the dimensions, joined one after the other; by default all, from the last to the first.
        keepdims: whether to keep them with size 1.
        separator: what to put between the strings.
        name: a name for the result in a graph.

    Returns:
        A tensor of strings without the dimensions of `axis`.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=-1, separator="-").numpy().tolist()
    [b'a-b', b'c-d']
    """
    return raw_ops.string_reduce_join(
        inputs, axes=axes(axis), keepdims=keepdims, separator=separator, name=name
    )


def _elementwise(
    function: Callable[..., _core.Tensor], input: TensorLike | RaggedTensor, *operands: Any, **attributes: Any
) -> _core.Tensor | RaggedTensor:
    """What a function makes of strings one by one: a tensor of one, a ragged one of such."""
    if isinstance(input, RaggedTensor):
        made: RaggedTensor = input.with_flat_values(function(input.flat_values, *operands, **attributes))
        return made
    return function(input, *operands, **attributes)


@overload
def split(
    input: str | bytes,
    sep: str | bytes | _core.Tensor | None = None,
    maxsplit: IntLike = -1,
    name: str | None = None,
) -> _core.Tensor: ...
@overload
def split(
    input: RaggedTensor | list[Any] | tuple[Any, ...],
    sep: str | bytes | _core.Tensor | None = None,
    maxsplit: IntLike = -1,
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def split(
    input: TensorLike,
    sep: str | bytes | _core.Tensor | None = None,
    maxsplit: IntLike = -1,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor: ...
@dispatched
def split(
    input: TensorLike | RaggedTensor,
    sep: str | bytes | _core.Tensor | None = None,
    maxsplit: IntLike = -1,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    """Cut each string into the pieces between separators.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        sep: the separator; None or the empty string for any run of white space.
        maxsplit: how often to split at most, where it is above 0.
        name: a name for the result in a graph.

    Returns:
        A vector for a scalar, else a `tf.RaggedTensor` with one dimension more than `input`.

    Raises:
        ValueError: where the rank of `input` is not known.

    >>> import penstock as tf
    >>> tf.strings.split("a b  c").numpy().tolist()
    [b'a', b'b', b'c']
    >>> tf.strings.split(["a b", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    x = strings_of(input)
    separator = "" if sep is None else _pattern(sep, "sep")
    return rows_of_parts(
        raw_ops.string_split(x, sep=separator, maxsplit=integer(maxsplit, "maxsplit"), name=name), input, x
    )


@overload
def bytes_split(input: str | bytes, name: str | None = None) -> _core.Tensor: ...
@overload
def bytes_split(
    input: RaggedTensor | list[Any] | tuple[Any, ...], name: str | None = None
) -> RaggedTensor: ...
@overload
def bytes_split(input: TensorLike, name: str | None = None) -> _core.Tensor | RaggedTensor: ...
@dispatched
def bytes_split(input: TensorLike | RaggedTensor, name: str | None = None) -> _core.Tensor | RaggedTensor:
    """Cut each string into its bytes.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        name: a name for the result in a graph.

    Returns:
        A vector for a scalar, else a `tf.RaggedTensor` with one dimension more than `input`.

    Raises:
        ValueError: where the rank of `input` is not known.

    >>> import penstock as tf
    >>> tf.strings.bytes_split("abc").numpy().tolist()
    [b'a', b'b', b'c']
    >>> tf.strings.bytes_split(["ab", ""])
    <tf.RaggedTensor [[b'a', b'b'], []]>
    """
    x = strings_of(input)
    return rows_of_parts(raw_ops.string_bytes_split(x, name=name), input, x)


@dispatched
def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Join the strings that have the same number.

    Args:
        inputs: strings.
        segment_ids: a number for each of the first dimensions of `inputs`; negative ones drop their strings.
        num_segments: how many numbers there are.
        separator: what to put between the strings.
        name: a name for the result in a graph.

    Returns:
        Strings, with `num_segments` in place of the dimensions of `segment_ids`; empty where there are none.

    Raises:
        InvalidArgumentError: for a number that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.strings.unsorted_segment_join(["this", "is", "a", "test"], [1, 0, 0, 1], 2, ":").numpy().tolist()
    [b'is:a', b'this:test']
    """
    return raw_ops.string_unsorted_segment_join(
        inputs, segment_ids, num_segments, separator=separator, name=name
    )


@overload
def to_hash_bucket(input: RaggedTensor, num_buckets: IntLike, name: str | None = None) -> RaggedTensor: ...
@overload
def to_hash_bucket(input: TensorLike, num_buckets: IntLike, name: str | None = None) -> _core.Tensor: ...
def to_hash_bucket(
    input: TensorLike | RaggedTensor, num_buckets: IntLike, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Compute a quick hash of each string modulo a number of buckets.

    The hash is MurmurHash64A, which may change; `to_hash_bucket_fast` computes one that stays.

    Args:
        input: strings, in a tensor or a ragged one.
        num_buckets: how many buckets there are.
        name: a name for the result in a graph.

    Returns:
        A tensor of `int64` of the shape of `input`.

    Raises:
        InvalidArgumentError: where `num_buckets` is below 1.

    >>> import penstock as tf
    >>> tf.strings.to_hash_bucket(["a", "a"], 1).numpy().tolist()
    [0, 0]
    """
    buckets = integer(num_buckets, "num_buckets")
    return _elementwise(raw_ops.string_to_hash_bucket, input, num_buckets=buckets, name=name)


_publish(__name__)
