"""Checkpoints, which hold the values of objects; means of variables; messages that hold rows of data sets."""

from penstock._runtime.cluster import ClusterSpec as ClusterSpec
from penstock._runtime.protos import (
    BytesList as BytesList,
    Example as Example,
    Feature as Feature,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    FloatList as FloatList,
    Int64List as Int64List,
    SequenceExample as SequenceExample,
)
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
from penstock.train import experimental as experimental
from penstock.train._averages import ExponentialMovingAverage as ExponentialMovingAverage
from penstock.train._coordinator import Coordinator as Coordinator
from penstock.train._views import CheckpointView as CheckpointView, TrackableView as TrackableView

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointReader",
    "CheckpointState",
    "CheckpointView",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "TrackableView",
    "checkpoints_iterator",
    "experimental",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]

_publish(__name__)
