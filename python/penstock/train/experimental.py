"""Names that TensorFlow has under `tf.train.experimental`."""

from __future__ import annotations

import abc
from typing import Any

from penstock import _core
from penstock._runtime.public_names import publish as _publish
from penstock._saving.sharding import (
    MaxShardSizePolicy as MaxShardSizePolicy,
    ShardableTensor as ShardableTensor,
    ShardByTaskPolicy as ShardByTaskPolicy,
    ShardingCallback as ShardingCallback,
)

__all__ = [
    "MaxShardSizePolicy",
    "PythonState",
    "ShardByTaskPolicy",
    "ShardableTensor",
    "ShardingCallback",
]


class PythonState(abc.ABC):
    """An object whose state a checkpoint holds as a string.

    A class of one's own defines `serialize` and `deserialize`.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> class Count(tf.train.experimental.PythonState):
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def serialize(self):
    ...         return str(self.value)
    ...     def deserialize(self, string_value):
    ...         self.value = int(string_value)
    >>> path = tf.train.Checkpoint(count=Count(3)).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> restored = Count(0)
    >>> _ = tf.train.Checkpoint(count=restored).restore(path)
    >>> restored.value
    3
    """

    _checkpoint_part = ("py_state", ("",))

    @abc.abstractmethod
    def serialize(self) -> str | bytes:
        """Write the state.

        Returns:
            The state.

        >>> import penstock as tf
        >>> class Word(tf.train.experimental.PythonState):
        ...     def serialize(self):
        ...         return "word"
        ...     def deserialize(self, string_value):
        ...         pass
        >>> Word().serialize()
        'word'
        """

    @abc.abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Take over the state that was written.

        Args:
            string_value: what `serialize` gave, as bytes.

        >>> import penstock as tf
        >>> class Word(tf.train.experimental.PythonState):
        ...     def serialize(self):
        ...         return self.word
        ...     def deserialize(self, string_value):
        ...         self.word = string_value
        >>> word = Word()
        >>> word.deserialize(b"word")
        >>> word.serialize()
        b'word'
        """

    def _trackable_children(self) -> dict[str, Any]:
        return {}

    def _save_state(self) -> list[Any]:
        return [_core._to_tensor(self.serialize(), _core.string)]

    def _restore_state(self, state: Any) -> None:
        self.deserialize(state.numpy())


_publish(__name__)
