"""What the operators on strings give, by Python."""

from __future__ import annotations

import base64
import codecs
import itertools
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support.reference_models import (
    Array,
    Model,
    is_float,
)


def each(f: Callable[..., Any], *operands: Array, dtype: Any = object) -> Array:
    """The results of `f` for each element of the operands, broadcast."""
    operands = tuple(np.broadcast_arrays(*operands))
    out = np.empty(operands[0].shape, dtype)
    for at in np.ndindex(out.shape):
        out[at] = f(*(x[at] for x in operands))
    return out


def over_text(f: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda s: f(s.decode()).encode()


def changed_case(to: str) -> Model:
    ascii_only = getattr(bytes, to)
    return lambda x, encoding="": each(over_text(getattr(str, to)) if encoding == "utf-8" else ascii_only, x)


def string_length(x: Array, unit: str = "BYTE") -> Array:
    return each(lambda s: len(s.decode() if unit == "UTF8_CHAR" else s), x, dtype="int32")


def substr(x: Array, pos: Array, len: Array, unit: str = "BYTE") -> Array:
    def part(s: Any, start: int, count: int) -> Any:
        rest = s[start:]
        return rest if count < 0 else rest[:count]

    def of_characters(s: bytes, start: int, count: int) -> bytes:
        return part(s.decode(), start, count).encode()

    return each(of_characters if unit == "UTF8_CHAR" else part, x, pos, len)


def as_string(
    x: Array,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
) -> Array:
    conversion = "e" if scientific else "g" if shortest else "f"
    form = (
        f"%{fill.strip()}{width if width > 0 else ''}{f'.{precision}' if precision >= 0 else ''}{conversion}"
    )

    def text(value: Any) -> bytes:
        if x.dtype.kind == "O":
            return value
        if x.dtype.kind == "b":
            return b"true" if value else b"false"
        if x.dtype.kind == "c":
            return f"({form % value.real},{form % value.imag})".encode()
        if is_float(x.dtype):
            return (form % float(value)).encode()
        return (form.replace(conversion, "d") % int(value)).encode()

    return each(text, x)


def string_to_number(x: Array, dtype: Any = None) -> Array:
    target = np.dtype("float32" if dtype is None else dtype.as_numpy_dtype)
    return each(float if target.kind == "f" else int, x, dtype=target)


def regex_replace(x: Array, pattern: str, rewrite: str, replace_global: bool = True) -> Array:
    return each(over_text(lambda s: re.sub(pattern, rewrite, s, count=0 if replace_global else 1)), x)


def shown(x: Array, summarize: int) -> str:
    """As `tf.print` writes it, for numbers that few digits say."""
    if x.ndim == 0:
        return f"{x.item():g}"
    if x.size == 0:
        return "[]"
    rows = [shown(row, summarize) if x.dtype.kind != "O" or x.ndim > 1 else quoted(row) for row in x]
    if summarize >= 0 and len(rows) > 2 * summarize:
        rows[summarize : len(rows) - summarize] = ["..."]
    return "[" + (" " if x.ndim == 1 else "\n" * (x.ndim - 1) + " ").join(rows) + "]"


def quoted(s: bytes) -> str:
    return '"' + s.decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def string_format(*data: Array, template: str, summarize: int = 3) -> Array:
    text = template.format(*(shown(x, summarize) for x in data))
    return each(lambda _: text.encode(), np.zeros(()))


def parts(f: Callable[[bytes], list[Any]], dtype: Any = object) -> Model:
    """The parts of all strings in one list, and the splits between its rows."""

    def model(x: Array) -> tuple[Array, Array]:
        rows = [f(s) for s in x.ravel()]
        values = np.empty(sum(map(len, rows)), dtype)
        values[:] = [part for row in rows for part in row]
        return values, np.cumsum([0, *map(len, rows)], dtype="int64")

    return model


def string_split(x: Array, sep: str = "", maxsplit: int = -1) -> tuple[Array, Array]:
    most = maxsplit if maxsplit > 0 else -1

    def pieces(s: bytes) -> list[bytes]:
        return s.split(sep.encode(), most) if sep else s.split(maxsplit=most)

    return parts(pieces)(x)


PYTHON_ENCODING = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def unicode_decode(
    x: Array,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
) -> tuple[Array, Array]:
    def points(s: bytes) -> list[int]:
        # What is no character is decoded as a surrogate, which no sample has.
        text = s.decode(PYTHON_ENCODING[input_encoding], "strict" if errors == "strict" else "mark")
        out = []
        for c in map(ord, text):
            if c == 0xD800:
                out += [replacement_char] if errors == "replace" else []
            else:
                out.append(replacement_char if replace_control_characters and c < 32 else c)
        return out

    return parts(points, "int32")(x)


def unicode_decode_with_offsets(
    x: Array,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
) -> tuple[Array, Array, Array]:
    options = (input_encoding, errors, replacement_char, replace_control_characters)
    values, splits = unicode_decode(x, *options)

    def places(s: bytes) -> list[int]:
        # The pieces between malformed stretches, each stretch one place.
        found, at = [], 0
        name = PYTHON_ENCODING[input_encoding]
        while at < len(s):
            try:
                text, end = s[at:].decode(name), len(s)
            except UnicodeDecodeError as error:
                text, end = s[at : at + error.start].decode(name), at + error.start
                bad = [end] if errors == "replace" else []
                skip = error.end - error.start
            else:
                bad, skip = [], 0
            for c in text:
                found.append(at)
                at += len(c.encode(name))
            found += bad
            at = end + skip
        return found

    return values, parts(places, "int64")(x)[0], splits


def unsorted_segment_join(data: Array, ids: Array, n: Array, separator: str = "") -> Array:
    inner = data.shape[ids.ndim :]
    rows: list[list[Array]] = [[] for _ in range(int(n))]
    for at in np.ndindex(ids.shape):
        if ids[at] >= 0:
            rows[int(ids[at])].append(data[at])
    out = np.empty((int(n), *inner), object)
    for segment in range(int(n)):
        for at in np.ndindex(inner):
            out[(segment, *at)] = separator.encode().join(row[at] if inner else row for row in rows[segment])
    return out


def edit_distance(h: Array, hs: Array, t: Array, ts: Array, normalize: bool = True) -> Array:
    def distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        if not a or not b:
            return len(a) + len(b)
        ways = (distance(a[:-1], b) + 1, distance(a, b[:-1]) + 1)
        return min(*ways, distance(a[:-1], b[:-1]) + (a[-1] != b[-1]))

    out = np.zeros(hs.size - 1, "float32")
    for i, ((a, b), (c, d)) in enumerate(zip(itertools.pairwise(hs), itertools.pairwise(ts), strict=True)):
        steps = distance(tuple(h[a:b]), tuple(t[c:d]))
        out[i] = steps if not normalize else steps / (d - c) if d > c else np.inf if steps else 0
    return out


def script(point: int) -> int:
    """The scripts of what the samples have."""
    if not 0 <= point < 0x110000:
        return -1
    name = unicodedata.name(chr(point), "").partition(" ")[0]
    return {"LATIN": 25, "GREEK": 14, "CYRILLIC": 8, "HEBREW": 19, "CJK": 17, "HIRAGANA": 20}.get(name, 0)


codecs.register_error("mark", lambda error: ("\ud800", error.end))


def unicode_encode(
    codepoints: Array,
    row_splits: Array,
    output_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
) -> Array:
    def text(row: Array) -> bytes:
        valid = [0 <= c < 0x110000 and not 0xD800 <= c < 0xE000 for c in row]
        if errors == "ignore":
            points = [c for c, good in zip(row, valid, strict=True) if good]
        else:
            points = [c if good else replacement_char for c, good in zip(row, valid, strict=True)]
        return "".join(map(chr, points)).encode(PYTHON_ENCODING[output_encoding])

    out = np.empty(row_splits.size - 1, object)
    out[:] = [text(codepoints[a:b]) for a, b in itertools.pairwise(row_splits)]
    return out


def string_reduce_join(
    x: Array, axes: Sequence[int] | None = None, keepdims: bool = False, separator: str = ""
) -> Array:
    for axis in range(x.ndim - 1, -1, -1) if axes is None else axes:
        moved = np.moveaxis(x, axis, -1)
        joined = np.empty((*moved.shape[:-1], 1), object)
        for at in np.ndindex(moved.shape[:-1]):
            joined[(*at, 0)] = separator.encode().join(moved[at])
        x = np.moveaxis(joined, -1, axis)
    gone = tuple(range(x.ndim)) if axes is None else tuple(axes)
    return x if keepdims else np.asarray(np.squeeze(x, gone))


def decode_raw(x: Array, out_type: Any, little_endian: bool = True, fixed_length: int = -1) -> Array:
    dtype = np.dtype(out_type.as_numpy_dtype)
    texts = [
        bytes(s) if fixed_length < 0 else bytes(s)[:fixed_length].ljust(fixed_length, b"\0") for s in x.flat
    ]
    numbers = np.frombuffer(b"".join(texts), "uint8" if dtype.kind == "b" else dtype)
    numbers = numbers if little_endian else numbers.byteswap()
    length = len(texts[0]) if texts else max(fixed_length, 0)
    return numbers.reshape([*x.shape, length // dtype.itemsize]).astype(dtype)


STRING: dict[str, Model] = {
    "decode_raw": decode_raw,
    "encode_base64": lambda x, pad=False: each(
        lambda s: base64.urlsafe_b64encode(s) if pad else base64.urlsafe_b64encode(s).rstrip(b"="), x
    ),
    "decode_base64": lambda x: each(lambda s: base64.urlsafe_b64decode(s + b"=" * (-len(s) % 4)), x),
    "string_add": lambda x, y: each(lambda a, b: a + b, x, y),
    "string_equal": lambda x, y: each(lambda a, b: a == b, x, y, dtype="bool"),
    "string_not_equal": lambda x, y: each(lambda a, b: a != b, x, y, dtype="bool"),
    "string_length": string_length,
    "string_join": lambda *xs, separator="": each(
        lambda *parts: separator.encode().join(parts[1:]), np.zeros(()), *xs
    ),
    "string_lower": changed_case("lower"),
    "string_upper": changed_case("upper"),
    "string_strip": lambda x: each(bytes.strip, x),
    "substr": substr,
    "as_string": as_string,
    "string_to_number": string_to_number,
    "regex_replace": regex_replace,
    "regex_full_match": lambda x, pattern: each(
        lambda s: re.fullmatch(pattern, s.decode()) is not None, x, dtype="bool"
    ),
    "string_format": string_format,
    "string_split": string_split,
    "string_bytes_split": parts(lambda s: [s[i : i + 1] for i in range(len(s))]),
    "unicode_decode": unicode_decode,
    "unicode_encode": unicode_encode,
    "string_reduce_join": string_reduce_join,
    "unicode_decode_with_offsets": unicode_decode_with_offsets,
    "unicode_script": lambda x: each(lambda point: script(int(point)), x, dtype="int32"),
    "string_unsorted_segment_join": unsorted_segment_join,
    "edit_distance": edit_distance,
}
