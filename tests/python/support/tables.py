"""A module with a table of each kind, for tests of files."""

from __future__ import annotations

from typing import Any

import penstock as tf

__all__ = ["ARGUMENT", "RESULTS", "Tables"]

# What `look` takes, and what it gives in its first call.
ARGUMENT = [b"b", b"d", b"a"]
RESULTS = {
    "fixed": [2, -1, 1],
    "numbered": [1, 2, 0],
    "changed": [[0.0, 0.0], [5.0, 6.0], [1.0, 2.0]],
    "places": [34, -1],
    "size": 2,
}


class Tables(tf.Module):
    """Tables of constants, of numbers, one that changes and one whose keys are rows."""

    def __init__(self) -> None:
        super().__init__()
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        self.fixed = tf.lookup.StaticHashTable(pairs, -1)
        numbers = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
        self.numbered = tf.lookup.StaticVocabularyTable(numbers, 1)
        experimental = tf.lookup.experimental
        self.changed = experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
        self.changed.insert(["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
        self.places = experimental.DenseHashTable(tf.int64, tf.int64, -1, [-1, -1], [-2, -2])
        self.places.insert(tf.constant([[1, 2], [3, 4]], tf.int64), tf.constant([12, 34], tf.int64))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="keys")])
    def look(self, keys: Any) -> Any:
        self.changed.remove(["b"])
        self.changed.insert(["d"], [[5.0, 6.0]])
        return {
            "fixed": self.fixed.lookup(keys),
            "numbered": self.numbered.lookup(keys),
            "changed": self.changed.lookup(keys),
            "places": self.places.lookup(tf.constant([[3, 4], [5, 6]], tf.int64)),
            "size": self.changed.size(),
        }
