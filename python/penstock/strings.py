"""Operations on tensors of byte strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._array import as_string as as_string

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "regex_full_match",
    "regex_replace",
    "strip",
    "substr",
    "to_number",
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
