"""Options of communication, and names that TensorFlow has kept for strategies."""

from __future__ import annotations

import enum
from typing import NamedTuple

from penstock._runtime.public_names import publish as _publish
from penstock.distribute import _parameter_server
from penstock.distribute._context import ValueContext as ValueContext
from penstock.distribute._mirrored import CentralStorageStrategy as CentralStorageStrategy
from penstock.distribute._multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from penstock.distribute._preemption import (
    PreemptionCheckpointHandler as PreemptionCheckpointHandler,
    PreemptionWatcher as PreemptionWatcher,
    TerminationConfig as TerminationConfig,
)
from penstock.distribute.experimental import coordinator as coordinator, partitioners as partitioners

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


_publish(__name__)
