"""A strategy whose variables belong to servers, which workers change whenever they have a result."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock._runtime.scope import current_name_scope
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.variable import Variable
from penstock.distribute import _remote_workers
from penstock.distribute._coordinator import Closure, in_worker
from penstock.distribute._sharded import ShardedVariable, parts_of
from penstock.distribute._strategy import Strategy, StrategyExtended
from penstock.distribute.cluster_resolver import ClusterResolver

if TYPE_CHECKING:
    from penstock.distribute._coordinator import ClusterCoordinator

__all__ = ["ParameterServerStrategy"]

_THREADS = "threads"


class _ThreadWorker:
    """A worker that is a thread of this process: it changes the variables themselves."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._made: dict[int, Any] = {}
        self._context = contextvars.Context()

    def run(self, closure: Closure) -> Any:
        return self._context.run(self._inside, closure)

    def _inside(self, closure: Closure) -> Any:
        in_worker.set(self._index)
        args, kwargs = closure.arguments(self._index, self._made)
        return closure.function(*args, **kwargs)


class ParameterServerStrategy(Strategy):
    """A strategy whose workers compute on their own, and change variables of servers whenever they are ready.

    A `tf.distribute.coordinator.ClusterCoordinator` hands functions to workers. A worker begins with the
    values that the variables have then, and what it changes is added to the values that they have when it
    ends. Workers do not wait for each other.

    Servers and workers are actors of a Ray cluster (`pip install penstock-engine[ray]`): as many as the jobs
    `ps` and `worker` of the cluster have tasks, wherever Ray has room. With
    `SimpleClusterResolver(..., environment="threads")` workers are threads of this process.

    Args:
        cluster_resolver: what knows how many tasks the jobs `worker` and `ps` have.
        variable_partitioner: says into how many parts variables are divided, as those of
            `tf.distribute.experimental.partitioners`; called with `shape` and `dtype`. None for one.

    Raises:
        TypeError: for another `cluster_resolver`.
        ValueError: where the cluster has no task of the job `worker` or `ps`.
        ImportError: without Ray.

    >>> import penstock as tf
    >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
    ...     {"worker": ["a", "b"], "ps": ["c"]}, environment="threads"
    ... )
    >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> strategy.num_replicas_in_sync
    1
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver,
        variable_partitioner: Callable[[TensorShape, Any], list[int]] | None = None,
    ) -> None:
        expect(cluster_resolver, ClusterResolver, "cluster_resolver", "a ClusterResolver")
        super().__init__(StrategyExtended(self))
        self._resolver, self._partitioner = cluster_resolver, variable_partitioner
        spec = cluster_resolver.cluster_spec()
        counts = {job: spec.num_tasks(job) if job in spec.jobs else 0 for job in ("worker", "ps")}
        for job, count in counts.items():
            if not count:
                raise ValueError(
                    f"argument 'cluster_resolver': the cluster has no task of the job '{job}': "
                    f"{spec.as_dict()}"
                )
        self._workers, self._servers = counts["worker"], counts["ps"]
        self._coordinator: ClusterCoordinator | None = None
        self._cluster: _remote_workers.Cluster | None = None
        if cluster_resolver.environment != _THREADS:
            self._cluster = _remote_workers.Cluster(self._workers, self._servers)

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """What knows how many tasks there are."""
        return self._resolver

    def _worker(self, index: int) -> Any:
        return _ThreadWorker(index) if self._cluster is None else self._cluster.worker(index)

    def _refresh(self) -> None:
        """Has the variables of this process the values of the servers."""
        if self._cluster is not None:
            self._cluster.refresh()

    def _variable(self, create: Callable[..., Variable], kwargs: dict[str, Any]) -> Any:
        if in_worker.get() is not None:
            return create(**kwargs)
        whole = create(**kwargs)
        count = 1
        if self._partitioner is not None and whole.shape.rank:
            count = max(self._partitioner(shape=whole.shape, dtype=whole.dtype))  # type: ignore[call-arg]
        if count == 1:
            return self._served(whole)
        value, name = whole.value(), whole._name.removeprefix(current_name_scope())
        parts = [
            self._served(
                create(
                    **{**kwargs, "initial_value": value[start:end], "shape": None, "name": f"{name}/part_{k}"}
                )
            )
            for k, (start, end) in enumerate(parts_of(len(whole.numpy()), count))
        ]
        return ShardedVariable(parts, name)

    def _served(self, variable: Variable) -> Variable:
        if self._cluster is not None:
            self._cluster.serve(variable)
        return variable

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_worker, ()


class _InWorker(Strategy):
    """The strategy as a worker in another process sees it."""

    def _variable(self, create: Callable[..., Variable], kwargs: dict[str, Any]) -> Any:
        return create(**kwargs)


_only: list[_InWorker] = []


def _of_worker() -> _InWorker:
    if not _only:
        strategy = _InWorker.__new__(_InWorker)
        Strategy.__init__(strategy, StrategyExtended(strategy))
        _only.append(strategy)
    return _only[0]
