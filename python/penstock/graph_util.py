"""Graphs of TensorFlow in programs."""

from penstock._runtime.public_names import publish as _publish
from penstock._saving.graph_import import import_graph_def as import_graph_def

__all__ = ["import_graph_def"]

_publish(__name__)
