"""Several replicas that train one model: on the devices of a process, in several processes, on many machines.

`MirroredStrategy` has a replica on each device of a process, `MultiWorkerMirroredStrategy` one in each
process. `launch` starts processes on a Ray cluster, `run_steps` goes on where one of them ends. Below that, a
`ProcessGroup` combines tensors of its members, with derivatives.

`Strategy` itself stands for the default strategy, which has one replica; so has `OneDeviceStrategy`. Programs
that use `strategy.scope`, `strategy.run`, `strategy.reduce` and `experimental_distribute_dataset` run with
each of them.
"""

from penstock._runtime.public_names import publish as _publish
from penstock.distribute import (
    cluster_resolver as cluster_resolver,
    coordinator as coordinator,
    experimental as experimental,
)
from penstock.distribute._context import (
    ReplicaContext as ReplicaContext,
    experimental_set_strategy as experimental_set_strategy,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from penstock.distribute._cross_device import (
    CrossDeviceOps as CrossDeviceOps,
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    NcclAllReduce as NcclAllReduce,
    ReductionToOneDevice as ReductionToOneDevice,
)
from penstock.distribute._gradients import (
    DistributedGradientTape as DistributedGradientTape,
    broadcast_variables as broadcast_variables,
)
from penstock.distribute._group import Listener as Listener, ProcessGroup as ProcessGroup
from penstock.distribute._input import (
    DistributedDataset as DistributedDataset,
    DistributedIterator as DistributedIterator,
    DistributedValues as DistributedValues,
    InputContext as InputContext,
    InputOptions as InputOptions,
    InputReplicationMode as InputReplicationMode,
    RunOptions as RunOptions,
)
from penstock.distribute._launch import launch as launch
from penstock.distribute._launched import run_steps as run_steps
from penstock.distribute._mirrored import MirroredStrategy as MirroredStrategy
from penstock.distribute._multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from penstock.distribute._parameter_server import ParameterServerStrategy as ParameterServerStrategy
from penstock.distribute._strategy import (
    OneDeviceStrategy as OneDeviceStrategy,
    ReduceOp as ReduceOp,
    Strategy as Strategy,
    StrategyExtended as StrategyExtended,
)

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedGradientTape",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "Listener",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ProcessGroup",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "StrategyExtended",
    "broadcast_variables",
    "cluster_resolver",
    "coordinator",
    "experimental",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "launch",
    "run_steps",
]

_publish(__name__)
