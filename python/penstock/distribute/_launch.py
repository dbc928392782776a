"""Processes of one program on the machines of a Ray cluster, and what replaces those that end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import penstock.errors as errors
from penstock._runtime.arguments import integer
from penstock.distribute import _launched
from penstock.distribute._launched import Membership, Worker
from penstock.distribute._ray import ray_package

__all__ = ["launch"]

# How often the processes are asked how they are, in seconds.
_TICK = 0.1
# For how many seconds a group with fewer processes waits for those that are to come.
_PATIENCE = 10.0


class _Actor:
    """What runs in each process. Ray calls methods from several threads: one of them runs the program."""

    def __init__(self, threads: int, timeout: float, varies: bool) -> None:
        from penstock import config  # in the new process

        if threads:
            config.threading.set_intra_op_parallelism_threads(threads)
        ray = ray_package("tf.distribute.launch")
        self._worker = Worker(f"{ray.util.get_node_ip_address()}:0", timeout, varies)
        _launched.set_worker(self._worker)

    def address(self) -> str:
        return self._worker.listener.address

    def process(self) -> int:
        return os.getpid()

    def assign(self, membership: Membership) -> None:
        self._worker.assign(membership)

    def how(self) -> tuple[str, int]:
        """What it does, and the number of its group."""
        return self._worker.state, self._worker.generation

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._worker.group  # noqa: B018
        return fn(*args, **kwargs)


class _Process:
    """A process: its actor, its address when it is known, and the program that it runs."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.asked = actor.address.remote()
        self.address: str | None = None
        self.run: Any = None
        self.returned = False
        self.result: Any = None


class _Supervisor:
    """Keeps `least` to `most` processes at work."""

    def __init__(self, ray: Any, make: Callable[[], Any], least: int, most: int, most_restarts: int) -> None:
        self._ray, self._make = ray, make
        self._least, self._most = least, most
        self._restarts_left = most_restarts
        # The members of the group, by rank, and processes that are on their way. What takes the place of a
        # member gets its rank, which traces may have.
        self._ranks: list[_Process | None] = []
        self._coming = [_Process(make()) for _ in range(most)]
        self._generation = -1
        # Since when a group is due.
        self._due: float | None = time.monotonic()

    @property
    def _members(self) -> list[_Process]:
        return [process for process in self._ranks if process is not None]

    def work(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The results of a function in all processes, by rank."""
        while not self._members or not all(process.returned for process in self._members):
            self._greet()
            if self._is_time():
                self._regroup()
                for process in self._members:
                    if process.run is None:
                        process.run = process.actor.run.remote(fn, args, kwargs)
            running = [process.run for process in self._members if not process.returned]
            waiting = running or [process.asked for process in self._coming if process.address is None]
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_TICK) if waiting else ([], [])
            self._collect([process for process in self._members if process.run in ready])
            if running and not ready and self._due is None and self._have_lost_each_other():
                self._spend(1)
                self._due = time.monotonic()
        return [process.result for process in self._members]

    def _collect(self, ended: list[_Process]) -> None:
        """Takes results, and has others come for those that are no more."""
        for process in ended:
            try:
                process.result = self._ray.get(process.run)
                process.returned = True
            except self._ray.exceptions.RayActorError:
                self._ranks[self._ranks.index(process)] = None
                self._replace(process)
                if any(other.returned for other in self._members):
                    message = "a process ended after others had returned: it cannot be replaced"
                    raise errors.UnavailableError(None, None, message) from None
                self._due = self._due or time.monotonic()
            except self._ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() from None

    def _replace(self, process: _Process) -> None:
        self._ray.kill(process.actor)
        self._spend(1)
        self._coming.append(_Process(self._make()))

    def _spend(self, count: int) -> None:
        self._restarts_left -= count
        if self._restarts_left < 0:
            message = "processes ended more often than argument 'max_restarts' allows"
            raise errors.UnavailableError(None, None, message)

    def _greet(self) -> None:
        """Learns the addresses of those that have come."""
        for process in [p for p in self._coming if p.address is None]:
            if not self._ray.wait([process.asked], timeout=0)[0]:
                continue
            try:
                process.address = self._ray.get(process.asked)
            except self._ray.exceptions.RayActorError:
                self._coming.remove(process)
                self._replace(process)

    def _is_time(self) -> bool:
        """Whether there should be a new group: with all, or with enough where the rest does not come soon."""
        arrived = sum(process.address is not None for process in self._coming)
        if self._due is None:
            return arrived > 0
        there = len(self._members) + arrived
        late = time.monotonic() - self._due > _PATIENCE
        return there == self._most or (there >= self._least and late)

    def _have_lost_each_other(self) -> bool:
        """Whether all processes wait for another group, though none has ended."""
        asked = [process.actor.how.remote() for process in self._members if not process.returned]
        try:
            states = self._ray.get(asked, timeout=10)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            # The end of one is seen by what it runs.
            return False
        return all(state == "waiting" and generation >= self._generation for state, generation in states)

    def _regroup(self) -> None:
        """Tells all processes of a new group."""
        arrived = [process for process in self._coming if process.address is not None]
        self._coming = [process for process in self._coming if process.address is None]
        for rank, process in enumerate(self._ranks):
            if process is None and arrived:
                self._ranks[rank] = arrived.pop(0)
        self._ranks = [*self._members, *arrived]
        self._generation += 1
        self._due = None
        addresses = [str(process.address) for process in self._members]
        for rank, process in enumerate(self._members):
            process.actor.assign.remote(Membership(addresses, rank, self._generation))

    def end(self) -> None:
        """Ends all processes."""
        for process in [*self._members, *self._coming]:
            self._ray.kill(process.actor)


def _check_room(there: Mapping[str, float], needs: Mapping[str, float], count: int) -> None:
    """Raises ValueError where a cluster has too little for `count` processes: Ray would wait for ever."""
    for name, amount in needs.items():
        if amount * count > there.get(name, 0):
            raise ValueError(
                f"argument 'resources': {count} processes need {amount * count:g} {name}, "
                f"and the cluster has {there.get(name, 0):g}"
            )


def launch(
    fn: Callable[..., Any],
    num_workers: int | tuple[int, int],
    *,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    resources: Mapping[str, float] | None = None,
    address: str | None = None,
    timeout: float = 60.0,
    max_restarts: int = 100,
) -> list[Any]:
    """Run a function in several processes, on the machines of a Ray cluster.

    Within the function `tf.distribute.MultiWorkerMirroredStrategy()` has a replica in each process, and
    `tf.distribute.run_steps` goes on where a process ends: another one takes its place. It needs Ray:
    `pip install penstock-engine[ray]`. Where Ray was started by `ray.init`, that cluster is used.

    Args:
        fn: the function. What it refers to has to be on all machines, or to be pickled by `cloudpickle`.
        num_workers: how many processes there are; or the least and the most: then the program goes on with
            fewer where the cluster has no room for what replaces a process, and with more when it has.
        args: its arguments.
        kwargs: its keyword arguments.
        resources: what each process needs: `{"CPU": 2, "GPU": 1}`; by default one CPU. The engine uses as
            many threads as there are CPUs.
        address: of the Ray cluster, where Ray was not started; by default one is started on this machine.
        timeout: for how many seconds a process may be silent while others wait for it.
        max_restarts: how many processes may be replaced.

    Returns:
        What the function returned, by rank.

    Raises:
        ImportError: without Ray.
        TypeError: for a number of processes that is no integer.
        ValueError: for fewer than one process, and where the cluster has too little for all.
        UnavailableError: where more processes ended than may be replaced, or one after others had returned.
        Exception: what the function raises in a process.

    >>> import penstock as tf
    >>> def ranks():
    ...     strategy = tf.distribute.MultiWorkerMirroredStrategy()
    ...     return int(strategy.gather(tf.constant([strategy.group.rank]), axis=0)[1])
    >>> tf.distribute.launch(ranks, 2)  # doctest: +SKIP
    [1, 1]
    """
    bounds = num_workers if isinstance(num_workers, tuple) else (num_workers, num_workers)
    if len(bounds) != 2:
        raise ValueError(f"argument 'num_workers' must be a number, or a least and a most, got {num_workers}")
    least, most = (integer(bound, "num_workers") for bound in bounds)
    if not 1 <= least <= most:
        raise ValueError(
            f"argument 'num_workers' must be at least 1, or a least and a most, got {num_workers}"
        )
    needs = {"CPU": 1.0, **(resources or {})}
    for name, amount in needs.items():
        if not isinstance(amount, int | float) or not 0 <= amount < math.inf:
            raise ValueError(
                f"argument 'resources' must have numbers of at least 0, got {amount!r} for {name!r}"
            )
    ray = ray_package("tf.distribute.launch")
    if not ray.is_initialized():
        # Processes on this machine may be more than its processors.
        own = None if address else max(os.cpu_count() or 1, math.ceil(needs["CPU"] * most))
        ray.init(address=address, num_cpus=own, include_dashboard=False, log_to_driver=False)
    _check_room(ray.cluster_resources(), needs, least)
    others = {name: count for name, count in needs.items() if name not in ("CPU", "GPU")}
    remote = ray.remote(
        num_cpus=needs["CPU"], num_gpus=needs.get("GPU", 0), resources=others or None, max_concurrency=4
    )(_Actor)

    def make() -> Any:
        return remote.remote(int(needs["CPU"]), timeout, least != most)

    supervisor = _Supervisor(ray, make, least, most, max_restarts)
    try:
        return supervisor.work(fn, tuple(args), dict(kwargs or {}))
    finally:
        supervisor.end()
