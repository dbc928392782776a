"""What a program hands to the workers of a `ParameterServerStrategy`, and what it gets back."""

from penstock._runtime.public_names import publish as _publish
from penstock.distribute._coordinator import (
    ClusterCoordinator as ClusterCoordinator,
    PerWorkerValues as PerWorkerValue,
    RemoteValue as RemoteValue,
    experimental_get_current_worker_index as experimental_get_current_worker_index,
)

__all__ = ["ClusterCoordinator", "PerWorkerValue", "RemoteValue", "experimental_get_current_worker_index"]

_publish(__name__)
