"""Strategies of distribution, for programs that are written for several devices, on one.

A strategy here has one replica: `Strategy` itself stands for the default one, `OneDeviceStrategy` and
`MirroredStrategy` name their device. So a program that uses `strategy.scope`, `strategy.run`,
`strategy.reduce` and `experimental_distribute_dataset` runs as it is, and gives the results of one device.
"""

from penstock._runtime.public_names import publish as _publish
from penstock.distribute._context import (
    ReplicaContext as ReplicaContext,
    experimental_set_strategy as experimental_set_strategy,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from penstock.distribute._input import (
    DistributedDataset as DistributedDataset,
    DistributedIterator as DistributedIterator,
    DistributedValues as DistributedValues,
    InputContext as InputContext,
    InputOptions as InputOptions,
    InputReplicationMode as InputReplicationMode,
    RunOptions as RunOptions,
)
from penstock.distribute._strategy import (
    MirroredStrategy as MirroredStrategy,
    OneDeviceStrategy as OneDeviceStrategy,
    ReduceOp as ReduceOp,
    Strategy as Strategy,
    StrategyExtended as StrategyExtended,
)

__all__ = [
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "StrategyExtended",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]

_publish(__name__)
