"""Reading the tensors of a checkpoint by key, with no object of the program."""

from __future__ import annotations

import os
from typing import Any

from penstock import _core
from penstock._saving.checkpoint_state import resolve
from penstock._types.argument_names import expect, path_of

__all__ = ["Bundle", "CheckpointReader", "list_variables", "load_checkpoint", "load_variable"]

# The numbers of TensorFlow's dtypes whose values a checkpoint does not hold.
_OTHERS = {20: _core.resource, 21: _core.variant}


class Bundle:
    """The tensors of a checkpoint by key, and its objects.

    Args:
        path: the prefix of the files.

    Raises:
        NotFoundError: where there are none.
        DataLossError: where they are damaged, also by `read`.
    """

    def __init__(self, path: str) -> None:
        self._reader = _core._BundleReader(path)

    def entries(self) -> list[tuple[str, _core.DType | int, list[int]]]:
        """The key, dtype and extents of each tensor; of a dtype that the engine has not, its number."""
        return self._reader.entries()

    def read(self, key: str) -> _core.Tensor:
        """The tensor of a key."""
        return self._reader.read(key)

    def objects(self) -> Any:
        """What each object owns; None where the files say nothing of objects."""
        return self._reader.objects()


class CheckpointReader:
    """Reads the tensors of a checkpoint.

    Args:
        path: the path of the checkpoint.

    Raises:
        NotFoundError: where there is none.
        DataLossError: where it is damaged.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> tf.train.load_checkpoint(path).get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
    array([1.], dtype=float32)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path_of(path, "path")
        self._reader = Bundle(self._path)
        self._entries = {key: (dtype, shape) for key, dtype, shape in self._reader.entries()}

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """List the extents of the tensors.

        Returns:
            The extents by key.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> tf.train.load_checkpoint(path).get_variable_to_shape_map()["v/.ATTRIBUTES/VARIABLE_VALUE"]
        [1]
        """
        return {key: shape for key, (_, shape) in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, _core.DType]:
        """List the dtypes of the tensors.

        Returns:
            The dtypes by key.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> tf.train.load_checkpoint(path).get_variable_to_dtype_map()["v/.ATTRIBUTES/VARIABLE_VALUE"]
        tf.float32
        """
        return {
            key: _OTHERS.get(dtype, _core.variant) if isinstance(dtype, int) else dtype
            for key, (dtype, _) in self._entries.items()
        }

    def has_tensor(self, tensor_str: str) -> bool:
        """Tell whether there is a tensor of a key.

        Args:
            tensor_str: the key.

        Returns:
            Whether it is so.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> tf.train.load_checkpoint(path).has_tensor("w")
        False
        """
        return tensor_str in self._entries

    def get_tensor(self, tensor_str: str) -> Any:
        """Read a tensor.

        Args:
            tensor_str: its key.

        Returns:
            An array; bytes for a scalar of texts.

        Raises:
            NotFoundError: where there is none.
            DataLossError: for data that are damaged.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(b"text")).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> tf.train.load_checkpoint(path).get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
        b'text'
        """
        return self._reader.read(tensor_str).numpy()

    def debug_string(self) -> bytes:
        """Describe the tensors, a line each.

        Returns:
            The text.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).write(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> b"v/.ATTRIBUTES/VARIABLE_VALUE (float32) [1]" in tf.train.load_checkpoint(path).debug_string()
        True
        """
        dtypes = self.get_variable_to_dtype_map()
        lines = (f"{key} ({dtypes[key].name}) {shape}\n" for key, (_, shape) in self._entries.items())
        return "".join(lines).encode()

    def __repr__(self) -> str:
        return f"<CheckpointReader of {self._path!r} with {len(self._entries)} tensors>"


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint to read its tensors by key.

    Args:
        ckpt_dir_or_file: its path, or a directory, of which it is the latest.

    Returns:
        What reads it.

    Raises:
        NotFoundError: where there is none.
        DataLossError: for one that is damaged.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> tf.train.load_checkpoint(path).has_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
    True
    """
    return CheckpointReader(resolve(ckpt_dir_or_file))


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """List the tensors of a checkpoint.

    Args:
        ckpt_dir_or_file: its path, or a directory, of which it is the latest.

    Returns:
        The key and the extents of each, by key.

    Raises:
        NotFoundError: where there is none.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).write(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> tf.train.list_variables(path)
    [('_CHECKPOINTABLE_OBJECT_GRAPH', []), ('v/.ATTRIBUTES/VARIABLE_VALUE', [1])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Read a tensor of a checkpoint.

    Args:
        ckpt_dir_or_file: its path, or a directory, of which it is the latest.
        name: the key of the tensor.

    Returns:
        An array; bytes for a scalar of texts.

    Raises:
        NotFoundError: where there is no such checkpoint or tensor.
        TypeError: for a key that is no string.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = tf.train.Checkpoint(v=tf.Variable([1.0])).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE")
    array([1.], dtype=float32)
    """
    key = expect(name, str, "name", "a string").removesuffix(":0")
    return load_checkpoint(ckpt_dir_or_file).get_tensor(key)
