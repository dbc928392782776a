"""Tables that give a value for each key."""

from penstock._runtime.public_names import publish as _publish
from penstock.lookup import experimental as experimental
from penstock.lookup._initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from penstock.lookup._tables import (
    StaticHashTable as StaticHashTable,
    StaticVocabularyTable as StaticVocabularyTable,
)

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]

_publish(__name__)
