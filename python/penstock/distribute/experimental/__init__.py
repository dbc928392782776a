"""Options of communication, and names that TensorFlow has kept for strategies."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from penstock._runtime.public_names import publish as _publish
from penstock.distribute import _multi_worker, _parameter_server
from penstock.distribute._context import ValueContext as ValueContext
from penstock.distribute._mirrored import CentralStorageStrategy as CentralStorageStrategy
from penstock.distribute._preemption import (
    PreemptionCheckpointHandler as PreemptionCheckpointHandler,
    PreemptionWatcher as PreemptionWatcher,
    TerminationConfig as TerminationConfig,
)
from penstock.distribute.experimental import coordinator as coordinator, partitioners as partitioners

if TYPE_CHECKING:
    from penstock.distribute.cluster_resolver import ClusterResolver

ParameterServerStrategy = _parameter_server.ParameterServerStrategy

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CollectiveHints",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "PreemptionCheckpointHandler",
    "PreemptionWatcher",
    "TerminationConfig",
    "ValueContext",
    "coordinator",
    "partitioners",
]


class CommunicationImplementation(enum.Enum):
    """How values travel: always over TCP here."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


CollectiveCommunication = CommunicationImplementation


class CollectiveHints(NamedTuple):
    """The name that `CommunicationOptions` had before.

    Attributes:
        bytes_per_pack: tensors travel together in packs of about so many bytes; 0 for a default.
        timeout_seconds: for how long another process may be silent; None for a default.
    """

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None


class CommunicationOptions(NamedTuple):
    """How values of replicas are combined.

    Attributes:
        bytes_per_pack: tensors travel together in packs of about so many bytes; 0 for a default.
        timeout_seconds: for how long another process may be silent; None for a default.
        implementation: accepted and ignored.
    """

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: CommunicationImplementation = CommunicationImplementation.AUTO


class MultiWorkerMirroredStrategy(_multi_worker.MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy` with the arguments that it had before.

    Args:
        communication: how values travel: accepted and ignored, as it is over TCP.
        cluster_resolver: what knows the addresses, and which one is this process.

    Raises:
        TypeError: for another `cluster_resolver`.
        ValueError: where this process is not in the cluster.
        UnavailableError: for an address that cannot be had; later, where another process ended or was silent
            for too long.

    >>> import penstock as tf
    >>> tf.distribute.experimental.MultiWorkerMirroredStrategy().num_replicas_in_sync
    1
    """

    def __init__(
        self,
        communication: CommunicationImplementation = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        super().__init__(cluster_resolver)


_publish(__name__)
