"""Tables that change."""

from penstock._runtime.public_names import publish as _publish
from penstock.lookup._tables import DenseHashTable as DenseHashTable, MutableHashTable as MutableHashTable

__all__ = ["DenseHashTable", "MutableHashTable"]

_publish(__name__)
