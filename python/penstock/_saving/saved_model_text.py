"""SavedModels as text, `saved_model.pbtxt`: to and from the bytes of `saved_model.pb`."""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from penstock._runtime.messages import Field, Message
from penstock.errors import DataLossError

__all__ = ["TEXT_FILE", "content_of", "in_directory", "text_of"]

TEXT_FILE: Final = "saved_model.pbtxt"
_ROOT: Final = "SavedModel"
_DEEPEST: Final = 100

# White space and comments, then a string, a name or number, or a mark.
_TOKEN: Final = re.compile(
    r"""(?:\s|\#[^\n]*)*
    (?: (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<word>[-+.\w]+) | (?P<mark>[{}<>\[\]:;,/]) | $ )""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u(\w{4})|U(\w{8})|(.))", re.DOTALL)
_SINGLE: Final = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_TRUTH: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
# Directories with assets of models that were text: what was loaded has their paths.
_kept: list[tempfile.TemporaryDirectory[str]] = []


class _Described:
    """The classes of messages, and the names of enums with their numbers."""

    def __init__(self, lines: str) -> None:
        described = [line.split() for line in lines.splitlines() if not line.startswith("#")]
        self.enums = {
            name: {key: int(number) for key, _, number in (part.partition("=") for part in parts)}
            for kind, name, *parts in (line for line in described if line[0] == "enum")
        }
        messages = {name: parts for name, *parts in described if name != "enum"}
        self.classes: dict[str, type[Message]] = {
            name: type(name, (Message,), {"FIELDS": {}}) for name in messages
        }
        # The enum of a field, by its message and name.
        self.enum_of: dict[tuple[type[Message], str], Mapping[str, int]] = {}
        for name, parts in messages.items():
            made = self.classes[name]
            for part in parts:
                key, number, kind, repeated, group = _FIELD.fullmatch(part).groups()  # type: ignore[union-attr]
                if kind in self.enums:
                    self.enum_of[made, key], kind = self.enums[kind], "enum"
                field = Field(int(number), self.classes.get(kind, kind), bool(repeated), group)
                made.FIELDS[key] = field


_FIELD: Final = re.compile(r"(\w+)=(\d+):([\w.]+)(\*?)(?:/(\w+))?")


@functools.cache
def _described() -> _Described:
    return _Described(Path(__file__).with_name("saved_model_messages.txt").read_text("utf-8"))


def text_of(content: bytes, kind: str = _ROOT) -> str:
    """The text form of the bytes of a SavedModel, or another message. Enums are numbers in it."""
    return str(_described().classes[kind].FromString(content))


def content_of(path: Path, kind: str = _ROOT) -> bytes:
    """The bytes of a SavedModel, or another message, that a file holds as text.

    Fields that are not known are left out.

    Raises:
        DataLossError: for a text that is none of such a message; names the line.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataLossError(f"{path} is no text: {error}") from None
    message: Message = _Parser(text).message(_described().classes[kind], "", 0)
    return message.SerializeToString()


class _Parser:
    """Reads a text token by token."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._next()

    def _next(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise self._error("what stands there is no token")
        self._kind, self._token = found.lastgroup, found[found.lastgroup] if found.lastgroup else ""
        self._at = found.end()

    def _error(self, reason: str) -> DataLossError:
        line = self._text.count("\n", 0, self._at) + 1
        return DataLossError(f"line {line} of the text of a message: {reason}")

    def _take(self, mark: str) -> bool:
        """Whether the next token is a mark, which is passed then."""
        if self._kind != "mark" or self._token != mark:
            return False
        self._next()
        return True

    def message(self, cls: type[Message] | None, end: str, depth: int) -> Any:
        """The fields up to a mark, as a message; None where the class is not known."""
        if depth > _DEEPEST:
            raise self._error(f"messages are nested in more than {_DEEPEST} others")
        fields: dict[str, Any] = {}
        while not (self._kind == "mark" and self._token == end):
            if end == "" and self._kind is None:
                break
            name = self._name()
            field = None if cls is None else cls.FIELDS.get(name)
            values = self._values(cls, name, field, depth)
            if field is not None and field.repeated:
                fields.setdefault(name, []).extend(values)
            elif field is not None and values:
                # Of a group of fields the last one counts.
                fields.pop(name, None)
                fields[name] = values[-1]
            if not self._take(";"):
                self._take(",")
        if end:
            self._next()
        try:
            return None if cls is None else cls(**fields)
        except (TypeError, ValueError) as error:
            raise self._error(str(error)) from None

    def _name(self) -> str:
        if self._take("["):  # an extension, or the type of what is within
            while not self._take("]"):
                if self._kind is None:
                    raise self._error("the text ends within a name")
                self._next()
            return ""
        name = self._token
        if self._kind != "word":
            raise self._error(f"the name of a field must stand where {name!r} does")
        self._next()
        return name

    def _values(self, cls: type[Message] | None, name: str, field: Field | None, depth: int) -> list[Any]:
        self._take(":")
        if self._take("["):
            values: list[Any] = []
            while not self._take("]"):
                values.append(self._value(cls, name, field, depth))
                self._take(",")
            return values
        return [self._value(cls, name, field, depth)]

    def _value(self, cls: type[Message] | None, name: str, field: Field | None, depth: int) -> Any:
        for begin, end in ("{}", "<>"):
            if self._take(begin):
                kind = None if field is None or isinstance(field.kind, str) else field.kind
                if field is not None and kind is None:
                    raise self._error(f"field '{name}' is no message")
                return self.message(kind, end, depth + 1)
        if field is not None and not isinstance(field.kind, str):
            raise self._error(f"field '{name}' is a message, which braces must be around")
        if self._kind == "text":
            parts = []
            while self._kind == "text":
                parts.append(_unescaped(self._token))
                self._next()
            return self._checked(name, field, b"".join(parts))
        if self._kind != "word":
            raise self._error(f"the value of field '{name}' must stand where {self._token!r} does")
        word = self._token
        self._next()
        names = {} if cls is None else _described().enum_of.get((cls, name), {})
        return self._checked(name, field, names.get(word, word))

    def _checked(self, name: str, field: Field | None, value: Any) -> Any:
        """The value that a token is for a field."""
        kind = None if field is None else field.kind
        try:
            if kind is None or kind == "bytes" or isinstance(value, int):
                return value
            if kind == "string":
                return value.decode()
            if kind == "bool":
                return _TRUTH[value.lower()]
            if kind in ("float", "double"):
                return float(
                    value.rstrip("fF") if value[-1:] in "fF" and "inf" not in value.lower() else value
                )
            octal = re.fullmatch(r"-?0[0-7]+", value)
            return int(value, 8 if octal else 0)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._error(f"field '{name}' cannot be {value!r}") from None


def _unescaped(token: str) -> bytes:
    def one(found: re.Match[bytes]) -> bytes:
        octal, hexadecimal, short, long, single = found.groups()
        if octal or hexadecimal:
            return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 255])
        if short or long:
            return chr(int(short or long, 16)).encode("utf-8", "replace")
        return bytes([_SINGLE.get(single[0], single[0])])

    return _ESCAPE.sub(one, token[1:-1].encode())


@contextlib.contextmanager
def in_directory(directory: Path, content: bytes) -> Iterator[Path]:
    """A directory like one of a SavedModel, whose description is other bytes.

    Its other files are links. Where there are assets, it stays until the program ends.
    """
    made = tempfile.TemporaryDirectory(prefix="saved_model")
    (Path(made.name) / "saved_model.pb").write_bytes(content)
    for path in directory.iterdir():
        if path.name in (TEXT_FILE, "saved_model.pb"):
            continue
        target = Path(made.name) / path.name
        try:
            target.symlink_to(path.absolute())
        except OSError:  # a system without links
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, target)
    if (directory / "assets").exists():
        _kept.append(made)
        yield Path(made.name)
        return
    with made:
        yield Path(made.name)
