"""Strings and the code points that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from penstock import _core, raw_ops
from penstock._runtime.arguments import extents, known_rank, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "rows_of_parts",
    "strings_of",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
]


def strings_of(input: TensorLike | RaggedTensor) -> _core.Tensor:
    """The strings of a tensor, or of a ragged one."""
    if isinstance(input, RaggedTensor):
        return input.flat_values  # type: ignore[no-any-return]
    return _core._to_tensor(input)


def rows_of_parts(
    parts: tuple[_core.Tensor, _core.Tensor], input: TensorLike | RaggedTensor, x: _core.Tensor
) -> _core.Tensor | RaggedTensor:
    """The parts of each string: a vector for a scalar, else the rows of a ragged tensor."""
    values, splits = parts
    if isinstance(input, RaggedTensor):
        around = input
    else:
        rank = len(known_rank(x))
        if rank < 2:
            return values if rank == 0 else RaggedTensor(values, splits)
        around = RaggedTensor.from_tensor(x, ragged_rank=rank - 1)
    made: RaggedTensor = around.with_flat_values(RaggedTensor(values, splits))
    return made


@overload
def unicode_decode(
    input: str | bytes,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> _core.Tensor: ...
@overload
def unicode_decode(
    input: RaggedTensor | list[Any] | tuple[Any, ...],
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def unicode_decode(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor: ...
@dispatched
def unicode_decode(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    """Decode each string into its code points.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a malformed sequence, `"replace"` to put `replacement_char` in its
            place, `"ignore"` to leave it out.
        replacement_char: a code point.
        replace_control_characters: whether code points below 32 are replaced, too.
        name: a name for the result in a graph.

    Returns:
        `int32`: a vector for a scalar, else a `tf.RaggedTensor` with one dimension more than `input`.

    Raises:
        InvalidArgumentError: for a malformed string, where `errors` is `"strict"`, or another encoding.
        ValueError: where the rank of `input` is not known.

    >>> import penstock as tf
    >>> tf.strings.unicode_decode("hé", "UTF-8").numpy().tolist()
    [104, 233]
    >>> tf.strings.unicode_decode(["ab", "c"], "UTF-8")
    <tf.RaggedTensor [[97, 98], [99]]>
    """
    x = strings_of(input)
    parts = raw_ops.unicode_decode(
        x,
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )
    return rows_of_parts(parts, input, x)


@overload
def unicode_encode(
    input: RaggedTensor,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor: ...
@overload
def unicode_encode(
    input: TensorLike,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> _core.Tensor: ...
@dispatched
def unicode_encode(
    input: TensorLike | RaggedTensor,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    """Encode rows of code points as strings.

    Args:
        input: `int32`, of rank 1 or more, or ragged: then the innermost rows are strings.
        output_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a number that is no code point, `"replace"` to put `replacement_char` in
            its place, `"ignore"` to leave it out.
        replacement_char: a code point.
        name: a name for the result in a graph.

    Returns:
        Strings of the shape of `input` without its last dimension; ragged, where rows of strings are.

    Raises:
        InvalidArgumentError: for a number that is no code point, where `errors` is `"strict"`, or another
            encoding.

    >>> import penstock as tf
    >>> tf.strings.unicode_encode([104, 233], "UTF-8").numpy().decode()
    'hé'
    """
    options: dict[str, Any] = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    if isinstance(input, RaggedTensor):
        if isinstance(input.values, RaggedTensor):
            inner = unicode_encode(input.values, output_encoding, errors, replacement_char, name)
            made: RaggedTensor = input.with_values(inner)
            return made
        return raw_ops.unicode_encode(input.values, input.row_splits, **options, name=name)
    x = _core._to_tensor_hinted(input, _core.int32)
    dims = sizes(x)
    if not dims:
        raise InvalidArgumentError("argument 'input' must have at least one dimension, got a scalar")
    rows, length = product(dims[:-1]), dims[-1]
    step = raw_ops.range(0, raw_ops.cast(_core._to_tensor(rows + 1), dtype=_core.int32), 1)
    encoded = raw_ops.unicode_encode(raw_ops.reshape(x, [-1]), step * length, **options)
    return raw_ops.reshape(encoded, extents(dims[:-1]), name=name)


def _with_offsets(
    input: Any, encoding: str, errors: str, replacement_char: int, replace_controls: bool
) -> tuple[Any, Any]:
    """The code points of each string, and where they begin."""
    x = strings_of(input)
    points, offsets, splits = raw_ops.unicode_decode_with_offsets(
        x,
        input_encoding=encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_controls,
    )
    return rows_of_parts((points, splits), input, x), rows_of_parts((offsets, splits), input, x)


def _characters(points: Any, encoding: str) -> Any:
    """Each code point as a string."""
    if isinstance(points, RaggedTensor):
        return points.with_flat_values(_characters(points.flat_values, encoding))
    return unicode_encode(raw_ops.expand_dims(points, axis=-1), encoding)


@scoped
def unicode_decode_with_offsets(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor | RaggedTensor, _core.Tensor | RaggedTensor]:
    """Decode each string into its code points, and tell where each begins.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        errors: `"strict"` to fail at a malformed sequence, `"replace"` to put `replacement_char` in its
            place, `"ignore"` to leave it out.
        replacement_char: a code point.
        replace_control_characters: whether code points below 32 are replaced, too.
        name: a scope for the names of its operations in a graph.

    Returns:
        The code points, `int32`, and the place of the first byte of each, `int64`: vectors for a scalar, else
        ragged tensors with one dimension more than `input`.

    Raises:
        InvalidArgumentError: for a malformed string, where `errors` is `"strict"`, or another encoding.
        ValueError: where the rank of `input` is not known.

    >>> import penstock as tf
    >>> points, offsets = tf.strings.unicode_decode_with_offsets(["hé!", "a"], "UTF-8")
    >>> points.to_list(), offsets.to_list()
    ([[104, 233, 33], [97]], [[0, 1, 3], [0]])
    """
    return _with_offsets(input, input_encoding, errors, replacement_char, replace_control_characters)


@scoped
def unicode_split(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    """Divide each string into its characters.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`; the characters are in it too.
        errors: what to do with bytes that are no character: `"replace"`, `"ignore"` or `"strict"`.
        replacement_char: the code point to replace them by.
        name: a scope for the names of its operations in a graph.

    Returns:
        The characters: a vector of a scalar, else a ragged tensor with a dimension more.

    Raises:
        InvalidArgumentError: for such bytes where `errors` is `"strict"`.

    >>> import penstock as tf
    >>> tf.strings.unicode_split("ab", "UTF-8").numpy().tolist()
    [b'a', b'b']
    """
    points = unicode_decode(input, input_encoding, errors=errors, replacement_char=replacement_char)
    made: _core.Tensor | RaggedTensor = _characters(points, input_encoding)
    return made


@scoped
def unicode_split_with_offsets(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[_core.Tensor | RaggedTensor, _core.Tensor | RaggedTensor]:
    r"""Divide each string into its characters, and tell where each begins.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`; the characters are in it too.
        errors: what to do with bytes that are no character: `"replace"`, `"ignore"` or `"strict"`.
        replacement_char: the code point to replace them by.
        name: a scope for the names of its operations in a graph.

    Returns:
        The characters, and the place of the first byte of each, `int64`: vectors for a scalar, else ragged
        tensors with one dimension more than `input`.

    Raises:
        InvalidArgumentError: for such bytes where `errors` is `"strict"`.

    >>> import penstock as tf
    >>> characters, offsets = tf.strings.unicode_split_with_offsets("é!", "UTF-8")
    >>> characters.numpy().tolist(), offsets.numpy().tolist()
    ([b'\xc3\xa9', b'!'], [0, 2])
    """
    points, offsets = _with_offsets(input, input_encoding, errors, replacement_char, False)
    return _characters(points, input_encoding), offsets


@scoped
def unicode_transcode(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> _core.Tensor | RaggedTensor:
    r"""Write each string in another encoding.

    Args:
        input: strings, in a tensor of known rank or a ragged one.
        input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
        output_encoding: one of these.
        errors: `"strict"` to fail at a malformed sequence, `"replace"` to put `replacement_char` in its
            place, `"ignore"` to leave it out.
        replacement_char: a code point.
        replace_control_characters: whether code points below 32 are replaced, too.
        name: a scope for the names of its operations in a graph.

    Returns:
        Strings of the shape of `input`.

    Raises:
        InvalidArgumentError: for a malformed string, where `errors` is `"strict"`, or another encoding.
        ValueError: where the rank of `input` is not known.

    >>> import penstock as tf
    >>> tf.strings.unicode_transcode(["Hi", "é"], "UTF-8", "UTF-16-BE").numpy().tolist()
    [b'\x00H\x00i', b'\x00\xe9']
    """
    points, splits = raw_ops.unicode_decode(
        strings_of(input),
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    flat = raw_ops.unicode_encode(points, splits, output_encoding=output_encoding)
    if isinstance(input, RaggedTensor):
        made: RaggedTensor = input.with_flat_values(flat)
        return made
    x = strings_of(input)
    shaped = raw_ops.reshape(flat, raw_ops.shape(x))
    return raw_ops.ensure_shape(shaped, shape=x.shape._dims) if x.shape.rank is not None else shaped


@overload
def unicode_script(input: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def unicode_script(input: TensorLike, name: str | None = None) -> _core.Tensor: ...
def unicode_script(input: TensorLike | RaggedTensor, name: str | None = None) -> _core.Tensor | RaggedTensor:
    """Tell which script each code point belongs to.

    Args:
        input: code points, `int32`, in a tensor or a ragged one.
        name: a name for the result in a graph.

    Returns:
        The number that ICU gives to the script, `int32`, in the shape of `input`: 0 for what many scripts
        share, 25 for Latin, 103 for a code point of none, -1 for a number that is no code point.

    >>> import penstock as tf
    >>> tf.strings.unicode_script([1, 31, 38, 97, 1071]).numpy().tolist()
    [0, 0, 0, 25, 8]
    """
    if isinstance(input, RaggedTensor):
        made: RaggedTensor = input.with_flat_values(unicode_script(input.flat_values, name))
        return made
    return raw_ops.unicode_script(_core._to_tensor_hinted(input, _core.int32), name=name)
