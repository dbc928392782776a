"""A strategy of several processes, each of which runs the same program."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

from penstock import config
from penstock._types.argument_names import shown
from penstock.distribute import _launched
from penstock.distribute._group import Listener, ProcessGroup
from penstock.distribute._strategy import Strategy, StrategyExtended
from penstock.distribute.cluster_resolver import ClusterResolver, TFConfigClusterResolver

if TYPE_CHECKING:
    from penstock.distribute.experimental import CommunicationOptions

__all__ = ["MultiWorkerMirroredStrategy"]

# Strategies of one cluster are numbered: each makes a group of its own, at the same addresses.
_numbers: defaultdict[tuple[str, ...], itertools.count[int]] = defaultdict(itertools.count)
_listeners: dict[str, Listener] = {}
_JOBS = ("chief", "master", "worker")


def _timeout_of(options: CommunicationOptions) -> float | None:
    seconds = getattr(options, "timeout_seconds", ())
    if seconds is not None and not isinstance(seconds, int | float):
        raise TypeError(
            f"argument 'communication_options' must be CommunicationOptions, got {shown(options)}"
        )
    return seconds


class MultiWorkerMirroredStrategy(Strategy):
    """A strategy whose replicas are processes that run the same program, on one machine or several.

    Each process has a replica, with variables of its own. Variables that are made in the scope start with
    the values of the first process, and stay equal where all apply the same updates: within `run`,
    optimizers add the gradients of all replicas up, and `ReplicaContext.all_reduce` combines what it is
    given. Data sets are divided by `experimental_distribute_dataset`.

    The processes find each other by the variable `TF_CONFIG`, by what `tf.distribute.launch` knows, or by
    `cluster_resolver`: its jobs `chief` and `worker` are the replicas. Without any there is one replica.

    Args:
        cluster_resolver: what knows the addresses, and which one is this process.
        communication_options: `CommunicationOptions`, of which `timeout_seconds` is used: for how long
            another process may be silent while this one waits for it, by default 60.

    Raises:
        TypeError: for another `cluster_resolver`, or other options.
        ValueError: where this process is not in the cluster.
        UnavailableError: for an address that cannot be had; later, where another process ended or was silent
            for too long.

    >>> import penstock as tf
    >>> strategy = tf.distribute.MultiWorkerMirroredStrategy()
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> strategy.num_replicas_in_sync
    1
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        super().__init__(StrategyExtended(self))
        seconds = None if communication_options is None else _timeout_of(communication_options)
        worker = _launched.worker()
        if cluster_resolver is None and worker is not None:
            self._resolver: ClusterResolver = worker.resolver()
            self._group = worker.group
            return
        if cluster_resolver is not None and not isinstance(cluster_resolver, ClusterResolver):
            raise TypeError(
                f"argument 'cluster_resolver' must be a ClusterResolver, got {cluster_resolver!r}"
            )
        self._resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        spec = self._resolver.cluster_spec()
        members = [(job, i) for job in _JOBS if job in spec.jobs for i in spec.task_indices(job)]
        if not members:
            return
        own = (self._resolver.task_type, self._resolver.task_id)
        if own not in members:
            raise ValueError(
                f"argument 'cluster_resolver': task {own[1]} of job {own[0]!r} is none of the cluster "
                f"{spec.as_dict()}"
            )
        addresses = [spec.task_address(job, i) for job, i in members]
        rank = members.index(own)
        if addresses[rank] not in _listeners:
            _listeners[addresses[rank]] = Listener(addresses[rank])
        self._group = ProcessGroup(
            addresses,
            rank,
            timeout=60.0 if seconds is None else seconds,
            listener=_listeners[addresses[rank]],
            generation=next(_numbers[tuple(addresses)]),
        )

    @property
    def cluster_resolver(self) -> ClusterResolver | None:
        """What knows the addresses of the processes."""
        return self._resolver

    @property
    def group(self) -> ProcessGroup | None:
        """The processes; None where there is one."""
        return self._group

    def _devices(self) -> tuple[str, ...]:
        there = config.list_logical_devices("GPU") or config.list_logical_devices("CPU")
        return (there[0].name,)

    def _begin_together(self) -> bool:
        worker = _launched.worker()
        return worker is None or worker.group is not self._group or not worker.is_late
