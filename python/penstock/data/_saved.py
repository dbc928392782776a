"""Data sets in files: what `save` writes and `load` reads.

A directory holds the specification of the elements, as JSON, and a file of arrays in NumPy's format: for rows
their number and whether they are stacked, then each tensor of a leaf. Of strings that is their lengths and
their bytes; bfloat16 is read as integers.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from penstock import _core, nest, raw_ops
from penstock._ragged_spec import RaggedTensorSpec
from penstock._spec import TensorSpec
from penstock.data._rows import Pull, Rows
from penstock.data._structure import NoneTensorSpec, Structure
from penstock.errors import DataLossError, NotFoundError

__all__ = ["check", "load_spec", "loaded", "save", "snapshot"]

_SPEC, _ROWS = "element_spec.json", "elements.npy"

# What tells apart the files of those who write at once.
_writers = itertools.count()


def save(dataset: Any, path: str) -> None:
    """Writes all elements.

    Raises:
        TypeError: for elements that hold more than tensors and ragged tensors.
    """
    pull = _writing(dataset._open(), path, dataset._structure)
    while pull(64) is not None:
        pass


def snapshot(source: Any, path: str) -> Pull:
    """The elements, which are written when all of them were asked for, and read from then on."""
    structure = source._structure
    if (Path(path) / _ROWS).exists():
        check(structure.spec, load_spec(path), path)
        return loaded(path, structure)
    return _writing(source._open(), path, structure)


def _writing(pull: Pull, path: str, structure: Structure) -> Pull:
    """The rows of a stage, which are in files when it has ended."""
    spec, folder = json.dumps(_portable(structure.spec)), Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{_ROWS}.{os.getpid()}.{next(_writers)}.part"
    file: Any = None

    def run(limit: int) -> Rows | None:
        nonlocal file
        if file is None:
            file = unfinished.open("wb")
        rows = pull(limit)
        if rows is not None:
            np.save(file, np.array([rows.count, rows.stacked], np.int64))
            for tensor in structure.to_tensors(rows.columns):
                _write(file, tensor)
        elif not file.closed:
            file.close()
            (folder / _SPEC).write_text(spec)
            unfinished.replace(folder / _ROWS)
        return rows

    return run


def load_spec(path: str) -> Any:
    """The specification of the elements that `save` wrote.

    Raises:
        NotFoundError: where it wrote nothing.
    """
    try:
        return _spec(json.loads((Path(path) / _SPEC).read_text()))
    except FileNotFoundError:
        raise NotFoundError(f"argument 'path': there is no saved data set in {path!r}") from None


def loaded(path: str, structure: Structure) -> Pull:
    """The elements that `save` wrote."""

    def pieces() -> Iterator[Rows]:
        with (Path(path) / _ROWS).open("rb") as file:
            while file.peek(1):
                try:
                    count, stacked = np.load(file).tolist()
                    tensors = [_read(file, spec.dtype) for spec in structure.tensor_specs]
                except (ValueError, EOFError) as error:
                    raise DataLossError(f"the data set in {path!r} is corrupted: {error}") from None
                yield Rows(count, structure.from_tensors(tensors), bool(stacked))

    source, held = pieces(), None

    def pull(limit: int) -> Rows | None:
        nonlocal held
        rows = next(source, None) if held is None else held
        if rows is None:
            return None
        count = min(limit, rows.count)
        held = rows.part(count, rows.count) if count < rows.count else None
        return rows.part(0, count)

    return pull


def _write(file: IO[bytes], tensor: Any) -> None:
    if tensor.dtype == _core.bfloat16:
        tensor = raw_ops.bitcast(tensor, dtype=_core.uint16)
    values = np.asarray(tensor.numpy())
    if tensor.dtype != _core.string:
        np.save(file, values)
        return
    flat = values.reshape(-1).tolist()
    np.save(file, np.array([len(s) for s in flat], np.int64).reshape(values.shape))
    np.save(file, np.frombuffer(b"".join(flat), np.uint8))


def _read(file: IO[bytes], dtype: Any) -> Any:
    values = np.load(file)
    if dtype == _core.bfloat16:
        return raw_ops.bitcast(_core._convert(values), dtype=dtype)
    if dtype != _core.string:
        return _core._convert(values, dtype)
    content, ends = np.load(file).tobytes(), np.cumsum(values.reshape(-1)).tolist()
    words = [content[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return raw_ops.reshape(_core._convert(words, _core.string), np.array(values.shape, np.int64))


def _portable(spec: Any) -> Any:
    """A specification as what JSON has."""
    if isinstance(spec, dict):
        return {"mapping": [[key, _portable(value)] for key, value in spec.items()]}
    if isinstance(spec, tuple):
        return {"tuple": [_portable(item) for item in spec]}
    if isinstance(spec, NoneTensorSpec):
        return {"none": True}
    if isinstance(spec, TensorSpec):
        return {"tensor": [spec.shape.dims, spec.dtype.name]}
    if isinstance(spec, RaggedTensorSpec):
        return {"ragged": [spec.shape.dims, spec.dtype.name, spec.ragged_rank, spec.row_splits_dtype.name]}
    raise TypeError(f"save: elements of {spec} cannot be saved")


def _spec(portable: Any) -> Any:
    ((kind, parts),) = portable.items()
    if kind == "mapping":
        return {key: _spec(value) for key, value in parts}
    if kind == "tuple":
        return tuple(map(_spec, parts))
    if kind == "none":
        return NoneTensorSpec()
    return TensorSpec(*parts) if kind == "tensor" else RaggedTensorSpec(*parts)


def check(spec: Any, found: Any, path: str) -> None:
    """Raises unless elements of one specification are what another one says.

    Raises:
        TypeError: where they are not.
    """
    try:
        nest.assert_same_structure(spec, found)
        pairs = zip(nest.flatten(spec), nest.flatten(found), strict=True)
        fits = all(a.is_compatible_with(b) for a, b in pairs)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise TypeError(
            f"argument 'element_spec' is {spec}, the data set in {path!r} has elements of {found}"
        )
