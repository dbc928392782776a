"""Files that belong to a saved program, and options of saving and loading."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock import _core
from penstock._types.argument_names import expect
from penstock._values.variable import Variable

__all__ = ["Asset", "LoadOptions", "SaveOptions"]


class Asset:
    """A file that a saved program takes along, such as a vocabulary.

    It is copied into the saved directory. Functions that read `asset_path` find the copy when they are
    loaded.

    Args:
        path: the file.

    Raises:
        TypeError: for what is no path.

    >>> import penstock as tf
    >>> tf.saved_model.Asset("vocabulary.txt").asset_path.numpy()
    b'vocabulary.txt'
    """

    def __init__(self, path: str | bytes | os.PathLike[str] | _core.Tensor) -> None:
        given = path.numpy() if isinstance(path, _core.Tensor) else path
        text = os.fsdecode(expect(given, (str, bytes, os.PathLike), "path", "a path"))
        with _core._Outside():
            # A variable, so that a loaded function can find the file elsewhere.
            self._path = Variable(text, trainable=False, dtype=_core.string, name="asset_path")

    @property
    def asset_path(self) -> Any:
        """The path of the file: a `string` scalar."""
        return self._path.read_value()

    def _trackable_children(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        return f"<tf.saved_model.Asset {self._path.numpy()!r}>"


@dataclass
class SaveOptions:
    """How a program is saved.

    Attributes:
        namespace_whitelist: accepted and ignored.
        save_debug_info: whether the places where operations were written are saved with the paths of their
            files; by default with the names of the files alone.
        function_aliases: accepted and ignored.
        experimental_debug_stripper: whether no such places are saved.
        experimental_io_device: accepted and ignored.
        experimental_variable_policy: accepted and ignored.
        experimental_custom_gradients: accepted and ignored: a saved function keeps its gradients.
        experimental_image_format: accepted and ignored.
        experimental_skip_saver: accepted and ignored.
        experimental_sharding_callback: accepted and ignored.
        extra_tags: accepted and ignored.
        format: `"penstock"`, a program of this engine; or `"tensorflow"`, a SavedModel that TensorFlow loads.

    Raises:
        ValueError: for another format.

    >>> import penstock as tf
    >>> tf.saved_model.SaveOptions().save_debug_info
    False
    """

    namespace_whitelist: Sequence[str] | None = None
    save_debug_info: bool = False
    function_aliases: dict[str, Any] | None = None
    experimental_debug_stripper: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: Any = None
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Any = None
    extra_tags: Any = None
    format: str = field(default="penstock", kw_only=True)

    def __post_init__(self) -> None:
        if self.format not in ("penstock", "tensorflow"):
            raise ValueError(f"argument 'format' must be 'penstock' or 'tensorflow', got {self.format!r}")


@dataclass
class LoadOptions:
    """How a program is loaded.

    Attributes:
        allow_partial_checkpoint: accepted and ignored: a program is one file.
        experimental_io_device: accepted and ignored.
        experimental_skip_checkpoint: whether variables are left without their values.
        experimental_variable_policy: accepted and ignored.
        experimental_load_function_aliases: accepted and ignored.
        allow_files: whether the program may read and write files, by `tf.io.read_file` and `write_file`, and
            by `tf.print` with a stream `file://<path>`.

    >>> import penstock as tf
    >>> tf.saved_model.LoadOptions().allow_files
    False
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: str | None = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: Any = None
    experimental_load_function_aliases: bool = False
    allow_files: bool = field(default=False, kw_only=True)
