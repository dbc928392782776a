"""The names that `tf.distribute.coordinator` had before."""

from penstock._runtime.public_names import publish as _publish
from penstock.distribute._coordinator import (
    ClusterCoordinator as ClusterCoordinator,
    PerWorkerValues as PerWorkerValues,
    RemoteValue as RemoteValue,
)

__all__ = ["ClusterCoordinator", "PerWorkerValues", "RemoteValue"]

_publish(__name__)
