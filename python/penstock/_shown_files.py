"""What files of models, values and events hold: for `python -m penstock show`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from penstock import convert, errors, train
from penstock.summary import _reading

__all__ = ["UnreadableError", "lines"]


class UnreadableError(Exception):
    """A file that is not there, is damaged, or of another kind."""


def lines(path: Path) -> Iterator[str]:
    """What a file or directory holds, line by line.

    Raises:
        UnreadableError: where that cannot be told.
    """
    if path.name in ("saved_model.pb", "saved_model.pbtxt"):
        path = path.parent
    checkpoint = _checkpoint(path)
    if checkpoint is not None:
        return _values(path, checkpoint)
    if not path.exists():
        raise UnreadableError(f"there is neither a file nor a checkpoint {path}")
    if _reading.is_event_file(path) or (path.is_dir() and not _is_model(path) and _reading.files_below(path)):
        return _reading.described(path)
    if path.suffix == ".keras":
        return _of_keras(path)
    if path.suffix in (".h5", ".hdf5"):
        return _of_hdf5(path, path)
    if not path.is_dir() and path.suffix not in (".penstock", ".onnx"):
        raise UnreadableError(
            f"{path} is no SavedModel (a directory), .penstock, .onnx, .keras, .h5, event file, "
            "or prefix of a checkpoint"
        )
    return _program(path)


def _is_model(directory: Path) -> bool:
    return any(directory.glob("saved_model.p*"))


def _checkpoint(path: Path) -> str | None:
    """The prefix of the checkpoint that a path means, if it is one's, its index's, or a directory of such."""
    if path.is_dir():
        return train.latest_checkpoint(str(path))
    prefix = path.with_suffix("") if path.suffix == ".index" else path
    return str(prefix) if Path(f"{prefix}.index").exists() else None


def _values(path: Path, checkpoint: str) -> Iterator[str]:
    try:
        reader = train.load_checkpoint(checkpoint)
    except errors.OpError as error:
        raise UnreadableError(f"{path}: {error}") from None
    dtypes = reader.get_variable_to_dtype_map()
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        yield f"{name}: {dtypes[name].name} {shape}"


def _program(path: Path) -> Iterator[str]:
    try:
        program, refused = convert._read(path)
    except errors.NotFoundError:
        raise UnreadableError(f"there is neither a SavedModel nor a checkpoint in {path}") from None
    except errors.OpError as error:
        raise UnreadableError(f"{path}: {error}") from None
    for name in program.signatures or program.functions:
        function = program.function(name)
        yield f"{'signature' if program.signatures else 'function'} {name}"
        for part, specs in (("takes", function.inputs), ("gives", function.outputs)):
            for key, spec in specs.items():
                yield f"  {part} {key}: {_described(spec)}"
    for variable, dtype, extents, trainable, _ in program._described():
        yield f"variable {variable}: {dtype.name} {extents}{'' if trainable else ', not trainable'}"
    for name, reason in refused.items():
        yield f"not read: {name}: {reason}"


def _described(spec: Any) -> str:
    return f"{spec.dtype.name} {spec.shape}" if hasattr(spec, "dtype") else str(spec)


def _of_keras(path: Path) -> Iterator[str]:
    """The layers of a model of Keras, and its weights: neither needs Keras, nor runs code of the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read("config.json"))
            version = json.loads(archive.read("metadata.json")).get("keras_version", "?")
            yield f"model of Keras {version}: {_named(config)}"
            for layer in config.get("config", {}).get("layers", ()):
                yield f"  {_named(layer)}"
            with archive.open("model.weights.h5") as weights:
                yield from _of_hdf5(path, weights)
    except (OSError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise UnreadableError(f"{path} is no model of Keras, or is damaged: {error}") from None


def _named(config: dict[str, Any]) -> str:
    """The class of an object of Keras, and its name."""
    name = config.get("config", {}).get("name", config.get("name", ""))
    return f"{config.get('class_name', '?')} {name}".rstrip()


def _of_hdf5(path: Path, file: Path | IO[bytes]) -> Iterator[str]:
    """The arrays of a file of HDF5, by their paths."""
    try:
        import h5py  # comes with Keras
    except ImportError:
        yield "the weights are in HDF5, which h5py reads: pip install h5py"
        return
    found: list[str] = []

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found.append(f"{name}: {item.dtype} {list(item.shape or ())}")

    try:
        with h5py.File(file, "r") as content:
            content.visititems(note)
    except OSError as error:
        raise UnreadableError(f"{path} is no file of HDF5, or is damaged: {error}") from None
    yield from found or ["no arrays"]
