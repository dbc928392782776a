"""Arguments of public functions: which one a value was given for, and whether it is what it must be."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, Final

from penstock import _core

_VARARGS: Final = 0x04  # CO_VARARGS
# Annotations of parameters that take numbers, and what numbers come as.
_NUMBERS: Final = {
    *("AxisLike", "BoolLike", "IntLike", "ShapeLike", "SizesLike", "TensorLike", "WindowLike"),
    *("IndexedSlices", "RaggedTensor", "SparseTensor", "Tensor", "_core"),
    *("Iterable", "None", "Sequence", "bool", "complex", "float", "int", "list", "tuple"),
}
_CONVERT: Final = ("__array__", "__tf_tensor__", "__dlpack__", "__index__", "__float__", "_type_spec")
# What errors say of texts.
_OF_TEXT: Final = re.compile(r"\b(str|string|bytes|0 dimension)\b|shape \(\)")


def frame_of_program() -> FrameType | None:
    """The frame that called into this package, or into a library of its list; None where there is none."""
    from penstock._runtime.libraries import FOLDERS  # which is above this in the package

    folders = tuple(FOLDERS)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        frame.f_globals.get("__name__", "").partition(".")[0] == "penstock"
        or frame.f_code.co_filename.startswith(folders)
    ):
        frame = frame.f_back
    return frame


def place_in_program() -> str:
    """The line that called into this package, as a traceback shows it; empty where there is none."""
    frame = frame_of_program()
    if frame is None:
        return ""
    return f'File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_name}'


def place_of(value: Any) -> str:
    """What goes in front of an error about a value: the argument by which it came into this package.

    Called where an error is made, so that a call that succeeds pays nothing.
    """
    frame: FrameType | None = sys._getframe(1)
    entered: FrameType | None = None
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "penstock":
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        # A wrapper, of `*args` alone or of a class, has no names to give.
        if names and not (names == ("cls",) and code.co_flags & _VARARGS):
            entered = frame
        frame = frame.f_back
    if entered is None:
        return ""
    code = entered.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    local = entered.f_locals
    return next((f"argument '{name}': " for name in names if local.get(name) is value), "")


def path_of(value: Any, argument: str) -> str:
    """A path as a text: of a text, bytes, an object of `pathlib`, or a tensor of a string.

    Raises:
        TypeError: for anything else; names the argument.
    """
    if isinstance(value, _core.Tensor) and not value._is_symbolic and value.dtype == _core.string:
        value = value.numpy()
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"argument '{argument}' must be a path, got {value!r}") from None


def expect(value: Any, kind: type | tuple[type, ...], argument: str, what: str) -> Any:
    """The value of an argument, which must be of a class.

    Args:
        value: what was given.
        kind: the class, or several.
        argument: the name of the argument.
        what: the class in words.

    Raises:
        TypeError: where it is something else.
    """
    if not isinstance(value, kind):
        raise TypeError(f"argument '{argument}' must be {what}, got {shown(value)}")
    return value


def name_culprit(error: BaseException, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Let the error of a call of a public function name the argument at fault, where one stands out.

    One does that takes numbers, by its annotation, and is no number; an error that names an argument stays.

    Args:
        error: the error, whose message is changed.
        function: the public function.
        given: the arguments by their names.
    """
    if not isinstance(error, TypeError | ValueError) or not error.args or not isinstance(error.args[0], str):
        return
    if error.args[0] == f"'{type(given.get('name')).__name__}' object is not an instance of 'str'":
        error.args = (f"argument 'name' must be a string, got {shown(given['name'])}",)
        return
    blamed, message = getattr(error, "_penstock_blames", (None, error.args[0]))
    # The argument that another operator names is its own.
    others = re.match(r"(?!argument)(\w+): argument '\w+'", error.args[0])
    own = others is None or others[1] == function.__name__
    if own and any(f"'{name}'" in error.args[0] for name in given):
        return
    annotations = function.__annotations__
    found = [name for name, value in given.items() if _is_no_number(value, annotations.get(name), message)]
    if len(found) != 1 or (blamed is not None and blamed is not given[found[0]]):
        return
    text = f"argument '{found[0]}' cannot be {shown(given[found[0]])}: {message}"
    error.args = (text, *error.args[1:])
    if hasattr(error, "message"):
        error.message = text
    error._penstock_blames = given[found[0]], message  # type: ignore[union-attr]


def _is_no_number(value: Any, annotation: Any, message: str) -> bool:
    """Whether a value is none that a parameter takes, which takes numbers and nothing else."""
    words = set(re.findall(r"\w+", annotation)) if isinstance(annotation, str) else {"Any"}
    if not words <= _NUMBERS:
        return False
    if value is None:
        return "None" not in words
    if isinstance(value, str | bytes):
        return "TensorLike" not in words or _OF_TEXT.search(message) is not None
    if isinstance(value, int | float | complex | list | tuple):
        return False
    if isinstance(value, Mapping):
        return True
    return not any(hasattr(value, name) for name in _CONVERT) and not isinstance(value, Iterable)


def shown(value: Any) -> str:
    """A value in an error, also where it cannot be printed."""
    try:
        text = repr(value)
    except Exception:
        return f"an object of class {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:100]}…"
