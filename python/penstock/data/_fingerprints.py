"""A number that stands for what a data set is made of."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from penstock import _core
from penstock._ops.fingerprints import farm_hashes
from penstock._types.specs import own_spec
from penstock.data._functions import Traced
from penstock.data._node import Node
from penstock.data._structure import Structure
from penstock.errors import InvalidArgumentError

__all__ = ["fingerprint_of"]

_PLAIN = (bool, int, float, str, bytes, type(None), _core.DType)


def fingerprint_of(dataset: Node) -> _core.Tensor:
    """The fingerprint of a data set.

    Raises:
        InvalidArgumentError: where it is made of tensors of a graph.
    """
    digest = hashlib.sha256()
    for piece in _pieces(dataset):
        digest.update(len(piece).to_bytes(8, "little") + piece)
    return _core._to_tensor(farm_hashes([digest.digest()])[0], dtype=_core.uint64)


def _pieces(value: Any) -> Iterator[bytes]:
    """What tells a part of a data set from others."""
    if isinstance(value, Node):
        yield f"data set {value._kind.name} {len(value._inputs)} {len(value._args)}".encode()
        yield repr(value._structure.spec).encode()
        for part in (*value._inputs, *value._args):
            yield from _pieces(part)
    elif isinstance(value, _core.Tensor):
        yield from _of_tensor(value)
    elif isinstance(value, Traced):
        yield from _of_function(value)
    elif isinstance(value, Structure):
        yield repr(value.spec).encode()
    elif isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, list | tuple):
        yield f"{type(value).__name__} {len(value)}".encode()
        for part in value:
            yield from _pieces(part)
    elif isinstance(value, dict):
        yield f"dict {len(value)}".encode()
        for key, part in value.items():
            yield repr(key).encode()
            yield from _pieces(part)
    elif (spec := own_spec(value)) is not None:
        yield repr(spec).encode()
        for tensor in spec.to_tensors(value):
            yield from _pieces(tensor)
    else:
        # Of what is not known, no two are the same.
        yield f"{type(value).__module__}.{type(value).__qualname__} {id(value)}".encode()


def _of_tensor(tensor: Any) -> Iterator[bytes]:
    if tensor._is_symbolic:
        raise InvalidArgumentError("a data set has a fingerprint outside of traced functions")
    yield f"tensor {tensor.dtype.name} {tensor.shape}".encode()
    array = tensor.numpy()
    if tensor.dtype == _core.string:
        yield from [array] if isinstance(array, bytes) else array.ravel().tolist()
    else:
        yield array.tobytes()


def _of_function(function: Traced) -> Iterator[bytes]:
    """A function as its graph, without its names and lines."""
    text = re.sub(r'\s+; [^"\n]*$', "", function._concrete.graph.to_text(), flags=re.MULTILINE)
    names = {name: f"@{i}" for i, name in enumerate(dict.fromkeys(re.findall(r"@[\w.<>/-]+", text)))}
    yield re.sub(r"@[\w.<>/-]+", lambda found: names[found.group()], text).encode()
    for captured in function.captures:
        if isinstance(captured, _core.Tensor):
            yield from _of_tensor(captured)
        else:
            yield f"variable {id(captured)}".encode()
