"""What says into how many parts the variables of a `ParameterServerStrategy` are divided."""

from penstock._runtime.public_names import publish as _publish
from penstock.distribute._sharded import (
    FixedShardsPartitioner as FixedShardsPartitioner,
    MaxSizePartitioner as MaxSizePartitioner,
    MinSizePartitioner as MinSizePartitioner,
    Partitioner as Partitioner,
)

__all__ = ["FixedShardsPartitioner", "MaxSizePartitioner", "MinSizePartitioner", "Partitioner"]

_publish(__name__)
