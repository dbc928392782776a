"""Tracebacks that show the user's lines, and errors that say why a variable has no value."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

from penstock import _core, debugging, raw_ops
from penstock.autograph import _convert
from penstock.autograph._slots import Attribute, Note, unset_name
from penstock.autograph._values import flatten, is_made_here
from penstock.errors import InaccessibleTensorError, OperatorNotAllowedInGraphError, UnsetError

__all__ = ["USER_LINES", "check_results", "explained", "filtered", "hide_library"]


def filtered(found: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package, unless filtering is off.

    A function whose body runs in pieces has a frame for each; the innermost is the one that shows its line.
    """
    return (_users(found) or found) if debugging.is_traceback_filtering_enabled() else found


def _users(found: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is the user's: without what this package calls of the standard library."""
    kept: list[TracebackType] = []
    within = False
    while found is not None:
        code = found.tb_frame.f_code
        within = _convert.is_own(code) or (within and _convert.is_standard(code.co_filename))
        if not within:
            if kept and _convert.is_part(code) and _runs(found.tb_frame) is kept[-1].tb_frame:
                kept.pop()
            kept.append(found)
        found = found.tb_next
    out: TracebackType | None = None
    for entry in reversed(kept):
        out = TracebackType(out, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return out


def hide_library(error: BaseException) -> None:
    """Takes the frames of this package from an error, or an interrupt, that goes on from where it is caught.

    One that a `with` or a bare `raise` sends on has the frames that it is given here, and those further out.
    Where the filtering of tracebacks is off, all stay.
    """
    if debugging.is_traceback_filtering_enabled():
        error.__traceback__ = _users(error.__traceback__)


class _UserLines:
    """A context whose exceptions leave the function that it is in without a frame of this package."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, found: TracebackType | None) -> None:
        if isinstance(error, Exception | KeyboardInterrupt):
            hide_library(error)


USER_LINES = _UserLines()


def _runs(piece: FrameType) -> FrameType | None:
    """The frame of the function, or of the piece of it, that runs a piece."""
    frame = piece.f_back
    while frame is not None and _convert.is_own(frame.f_code):
        frame = frame.f_back
    return frame


def explained(error: Exception, notes: Sequence[Note]) -> Exception:
    """The error, or one that says which traced statement left the variable without a value."""
    if isinstance(error, RecursionError) and "tf.function" not in str(error):
        return RecursionError(
            f"{error}: a function that calls itself under a condition on tensors is traced without end. "
            "Decorate it with tf.function(input_signature=...), which makes it a function of the graph"
        )
    if isinstance(error, OperatorNotAllowedInGraphError) and not hasattr(error, "__notes__"):
        _say_why(error)
    for note in reversed(notes):
        if _is_unset(error, note):
            return UnsetError(note.message)
        if isinstance(error, InaccessibleTensorError) and _is_left(error, note):
            _, _, where = str(error).partition("\n")
            return InaccessibleTensorError(f"{note.message}\n{where}" if where else note.message)
    return error


def check_results(results: Any, notes: Sequence[Note]) -> None:
    """Raises the error of a tensor that a traced function returns though a statement left it behind."""
    left = [leaf for note in notes for leaf in flatten(note.left) if isinstance(leaf, _core.Tensor)]
    for leaf in flatten(results) if left else ():
        if any(leaf is tensor for tensor in left) and is_made_here(leaf):
            raw_ops.identity(leaf)


def _is_unset(error: Exception, note: Note) -> bool:
    """Whether an error is that the variable of a note has no value."""
    slot = note.slot
    if isinstance(error, NameError):
        return slot.entry.name == unset_name(error)
    if not isinstance(error, AttributeError) or not isinstance(slot, Attribute):
        return False
    return error.obj is slot.owner and error.name == slot.name


def _is_left(error: InaccessibleTensorError, note: Note) -> bool:
    """Whether an error is about a tensor that a statement left in the variable of a note."""
    return any(_named_in_errors(leaf) in str(error) for leaf in flatten(note.left) if is_made_here(leaf))


def _named_in_errors(tensor: _core.Tensor) -> str:
    """What errors call a tensor that is out of scope, which has another name elsewhere."""
    try:
        raw_ops.identity(tensor)
    except InaccessibleTensorError as error:
        found = re.search(r"<tf\.Tensor '[^']*'", str(error))
        if found is not None:
            return found.group()
    return repr(tensor)


def _say_why(error: Exception) -> None:
    """Says of an error for want of conversion why the code in which it came up was not converted."""
    codes = [f.f_code for f, _ in traceback.walk_tb(error.__traceback__) if not _convert.is_own(f.f_code)]
    why = _convert.why_plain(codes[-1]) if codes else None
    if why is not None:
        error.add_note(f"AutoGraph left {codes[-1].co_qualname} as it is: {why}")
