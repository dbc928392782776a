"""Names that TensorFlow has under `tf.saved_model.experimental`."""

from __future__ import annotations

import enum
import hashlib
import os
from pathlib import Path
from typing import Any, ClassVar

from penstock._runtime.messages import Field, Message
from penstock._runtime.public_names import publish as _publish
from penstock._saving.save import FILE
from penstock._types.argument_names import path_of
from penstock._values.module import Module
from penstock.errors import DataLossError

__all__ = ["Fingerprint", "TrackableResource", "VariablePolicy", "read_fingerprint"]

_PARTS = (
    "saved_model_checksum",
    "graph_def_program_hash",
    "signature_def_hash",
    "saved_object_graph_hash",
    "checkpoint_hash",
)


class _Version(Message):
    FIELDS: ClassVar = {"producer": Field(1, "int32"), "min_consumer": Field(2, "int32")}


class _FingerprintDef(Message):
    FIELDS: ClassVar = {
        **{name: Field(number, "uint64") for number, name in enumerate(_PARTS, 1)},
        "version": Field(6, _Version),
    }


class VariablePolicy(enum.Enum):
    """What a saved program says of the devices of variables. Here it says nothing of them.

    >>> import penstock as tf
    >>> tf.saved_model.experimental.VariablePolicy.NONE.value is None
    True
    """

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"


class Fingerprint:
    """What tells a saved program from others.

    Args:
        saved_model_checksum: a hash of the file of the program.
        graph_def_program_hash: a hash of its graph.
        signature_def_hash: a hash of its signatures.
        saved_object_graph_hash: a hash of what its objects own.
        checkpoint_hash: a hash of the values of its variables.
        version: the version of the way in which these were computed.

    >>> import penstock as tf
    >>> print(tf.saved_model.experimental.Fingerprint(1, 2, 3, 4, 5).singleprint())
    2/3/4/5
    """

    def __init__(
        self,
        saved_model_checksum: int | None = None,
        graph_def_program_hash: int | None = None,
        signature_def_hash: int | None = None,
        saved_object_graph_hash: int | None = None,
        checkpoint_hash: int | None = None,
        version: Any = None,
    ) -> None:
        self.saved_model_checksum = saved_model_checksum
        self.graph_def_program_hash = graph_def_program_hash
        self.signature_def_hash = signature_def_hash
        self.saved_object_graph_hash = saved_object_graph_hash
        self.checkpoint_hash = checkpoint_hash
        self.version = version

    @classmethod
    def from_proto(cls, proto: bytes | Message) -> Fingerprint:
        """Make a fingerprint of a message, or of its bytes.

        Args:
            proto: a message with these fields, or its bytes.

        Returns:
            The fingerprint.

        >>> import penstock as tf
        >>> tf.saved_model.experimental.Fingerprint.from_proto(bytes([8, 7])).saved_model_checksum
        7
        """
        read = _FingerprintDef.FromString(proto) if isinstance(proto, bytes) else proto
        return cls(**{name: getattr(read, name) for name in _PARTS}, version=read.version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and all(
            getattr(self, name) == getattr(other, name) for name in _PARTS
        )

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in _PARTS))

    def __repr__(self) -> str:
        return f"Fingerprint({', '.join(f'{name}={getattr(self, name)}' for name in _PARTS)})"

    __str__ = __repr__

    def singleprint(self) -> str:
        """Write the hashes of graph, signatures, objects and values as one text.

        Returns:
            The hashes with slashes between them.

        Raises:
            ValueError: where one is not known.

        >>> import penstock as tf
        >>> tf.saved_model.experimental.Fingerprint(1, 2, 3, 4, 5).singleprint()
        '2/3/4/5'
        """
        hashes = [getattr(self, name) for name in _PARTS[1:]]
        if None in hashes:
            raise ValueError(f"a hash of the fingerprint is not known: {self}")
        return "/".join(map(str, hashes))


def read_fingerprint(export_dir: str | os.PathLike[str]) -> Fingerprint:
    """Read what tells a saved program from others.

    TensorFlow writes it into a file of its own. Of a program that this package has saved, which is one file,
    all hashes are that of the file.

    Args:
        export_dir: the directory of the program.

    Returns:
        The fingerprint.

    Raises:
        FileNotFoundError: where there is none.
        RuntimeError: for a damaged one.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> module, path = tf.Module(), os.path.join(tempfile.mkdtemp(), "program")
    >>> module.v = tf.Variable(1.0)
    >>> tf.saved_model.save(module, path)
    >>> a, b = (tf.saved_model.experimental.read_fingerprint(path) for _ in "ab")
    >>> a == b
    True
    """
    directory = Path(path_of(export_dir, "export_dir"))
    written, own = directory / "fingerprint.pb", directory / FILE
    if written.is_file():
        try:
            return Fingerprint.from_proto(written.read_bytes())
        except DataLossError as error:
            raise RuntimeError(f"{written} is damaged: {error}") from None
    if own.is_file():
        with own.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        return Fingerprint(*[int.from_bytes(digest[:8], "little")] * len(_PARTS))
    raise FileNotFoundError(f"argument 'export_dir' has no fingerprint: {export_dir}")


class TrackableResource(Module):
    """The base of objects that hold something outside of the program, such as a connection.

    A class of one's own defines `_create_resource`, which makes it and gives what stands for it; where it
    needs to, also `_initialize`, which fills it, and `_destroy_resource`.

    Args:
        device: accepted; the resource is where the program puts it.

    >>> import penstock as tf
    >>> class Numbers(tf.saved_model.experimental.TrackableResource):
    ...     def _create_resource(self):
    ...         return [1, 2, 3]
    >>> Numbers().resource_handle
    [1, 2, 3]
    """

    def __init__(self, device: str = "") -> None:
        super().__init__()
        self._resource_device = device

    def _create_resource(self) -> Any:
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self) -> None:
        """Fills the resource, where there is anything to fill."""

    def _destroy_resource(self) -> None:
        """Releases the resource, where there is anything to release."""

    @property
    def resource_handle(self) -> Any:
        """What stands for the resource, which is made when it is first asked for."""
        if "_resource_handle" not in vars(self):
            self._resource_handle = self._create_resource()
            self._initialize()
        return self._resource_handle

    def __del__(self) -> None:
        if "_resource_handle" in vars(self):
            self._destroy_resource()


_publish(__name__)
