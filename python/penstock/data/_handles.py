"""Python objects that graphs hand on: data sets and iterators, as tensors that keep them alive.

A handle is a vector whose memory belongs to a Python object, which holds the data set. So a data set that a
graph made lives as long as some tensor of that memory, wherever loops, branches and results carry it, and
needs nobody to let go of it.
"""

from __future__ import annotations

import itertools
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import _core, raw_ops
from penstock._runtime.arguments import results
from penstock._types.specs import Composite, TensorSpec
from penstock.autograph._traceback import USER_LINES
from penstock.errors import FailedPreconditionError, InvalidArgumentError

__all__ = ["HANDLE", "ByHandle", "handle", "held", "in_graph", "number_of", "of_number"]

# Memory of more than 64 bytes is never copied.
_WORDS = 9

_NUMBER = struct.Struct("=q")

HANDLE = TensorSpec([_WORDS], _core.int64)


class _Kept:
    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value


class _Memory(bytes):
    kept: _Kept


_numbers = itertools.count(1)
# As a `WeakValueDictionary`, whose methods take as long as a step of a loop.
_objects: dict[int, weakref.ref[_Kept]] = {}


def handle(value: Any) -> Any:
    """A tensor of specification `HANDLE` that keeps an object alive."""
    number = next(_numbers)
    memory = _Memory(_NUMBER.pack(number) * _WORDS)
    memory.kept = _Kept(value)
    _objects[number] = weakref.ref(memory.kept, lambda _: _objects.pop(number, None))
    # A constant of a trace would live as long as that.
    with _core._Outside():
        return _core._to_tensor(np.frombuffer(memory, np.int64))


def held(tensor: Any) -> Any:
    """The object of a handle.

    Raises:
        FailedPreconditionError: where the handle has outlived it.
        InvalidArgumentError: where it is none.
    """
    return _kept(number_of(tensor)).value


def number_of(tensor: Any) -> int:
    """The number of the object of a handle, which tells it from all others.

    Raises:
        InvalidArgumentError: where it is none.
    """
    if tensor.dtype != HANDLE.dtype or tensor.shape != HANDLE.shape:
        raise InvalidArgumentError(
            f"a data set, or iterator, is made of a tensor that stands for one, got {tensor!r}"
        )
    number: int = _NUMBER.unpack_from(tensor)[0]
    return number


def of_number(number: int) -> Any:
    """Another handle of the object that has a number.

    Raises:
        FailedPreconditionError: where it is gone.
    """
    return handle(_kept(number).value)


def _kept(number: int) -> _Kept:
    reference = _objects.get(number)
    kept = None if reference is None else reference()
    if kept is None:
        raise FailedPreconditionError("the data set, or iterator, of this handle is gone")
    return kept


class ByHandle(Composite):
    """A composite value whose only part is a handle: what is the same for data sets and iterators."""

    __slots__ = ()

    def _with_spec(self, element_spec: Any) -> Any:
        """What its handle stands for, as of another specification."""
        raise NotImplementedError

    def _check_like(self, other: Any) -> None:
        if self._type_spec.most_specific_common_supertype([other._type_spec]) is None:
            mine, its = self._type_spec.element_spec, other._type_spec.element_spec
            raise TypeError(f"one has elements of {mine}, the other of {its}")

    def _joined(self, other: Any) -> Any:
        spec = self._type_spec.most_specific_common_supertype([other._type_spec])
        return self if spec in (None, self._type_spec) else self._with_spec(spec.element_spec)

    def _after_loop(self, after: Any) -> Any:
        if not after._type_spec.is_subtype_of(self._type_spec):
            mine, its = self._type_spec.element_spec, after._type_spec.element_spec
            raise InvalidArgumentError(
                f"elements must keep their specification in a loop: it is {mine} before the loop and {its} "
                "after an iteration"
            )
        return self


def in_graph(
    function: Callable[..., Sequence[Any]], specs: Sequence[TensorSpec], inputs: Sequence[Any]
) -> list[Any]:
    """Has the graph call a Python function with tensors, in program order; the tensors that it gives."""

    def call(*tensors: Any) -> Sequence[Any]:
        with USER_LINES:
            return function(*tensors)

    host = _core._HostFunction(call, specs)
    return list(results(raw_ops.host_call(list(inputs), func=host, outs=list(specs), stateful=True)))
