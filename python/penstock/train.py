"""Checkpoints: the values of objects, in TensorFlow's files."""

from penstock._runtime.public_names import publish as _publish
from penstock._saving.checkpoint import Checkpoint as Checkpoint, CheckpointOptions as CheckpointOptions
from penstock._saving.checkpoint_manager import CheckpointManager as CheckpointManager
from penstock._saving.checkpoint_reader import (
    CheckpointReader as CheckpointReader,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from penstock._saving.checkpoint_state import (
    CheckpointState as CheckpointState,
    checkpoints_iterator as checkpoints_iterator,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
)

__all__ = [
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointReader",
    "CheckpointState",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]

_publish(__name__)
