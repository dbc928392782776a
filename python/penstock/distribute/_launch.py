"""Processes of one program on the machines of a Ray cluster, and what replaces those that end."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import penstock.errors as errors
from penstock.distribute import _launched
from penstock.distribute._launched import Membership, Worker

__all__ = ["launch"]

# How often the processes are asked how they are, in seconds.
_TICK = 0.1


def _ray() -> Any:
    """Ray's package.

    Raises:
        ImportError: where it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("tf.distribute.launch needs Ray: pip install penstock-engine[ray]") from error


class _Actor:
    """What runs in each process. Ray calls methods from several threads: one of them runs the program."""

    def __init__(self, threads: int, timeout: float) -> None:
        from penstock import config  # in the new process

        if threads:
            config.threading.set_intra_op_parallelism_threads(threads)
        ray = _ray()
        self._worker = Worker(f"{ray.util.get_node_ip_address()}:0", timeout)
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


class _Supervisor:
    """Keeps a number of processes at work."""

    def __init__(self, ray: Any, make: Callable[[], Any], count: int, most_restarts: int) -> None:
        self._ray, self._make = ray, make
        self._actors = [make() for _ in range(count)]
        self._runs: list[Any] = [None] * count
        self._generation = -1
        self._restarts_left = most_restarts

    def work(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The results of a function in all processes, by rank."""
        self._regroup()
        self._runs = [actor.run.remote(fn, args, kwargs) for actor in self._actors]
        results: dict[int, Any] = {}
        while len(results) < len(self._actors):
            pending = [run for i, run in enumerate(self._runs) if i not in results]
            ready, _ = self._ray.wait(pending, num_returns=1, timeout=_TICK)
            ended = []
            for i, run in enumerate(self._runs):
                if run not in ready:
                    continue
                try:
                    results[i] = self._ray.get(run)
                except self._ray.exceptions.RayActorError:
                    ended.append(i)
                except self._ray.exceptions.RayTaskError as error:
                    raise error.as_instanceof_cause() from None
            if ended:
                self._replace(ended, results)
                self._regroup()
                for i in ended:
                    self._runs[i] = self._actors[i].run.remote(fn, args, kwargs)
            elif not ready and self._all_wait(results):
                # They have lost each other, and all are alive.
                self._spend(1)
                self._regroup()
        return [results[i] for i in range(len(self._actors))]

    def _spend(self, count: int) -> None:
        self._restarts_left -= count
        if self._restarts_left < 0:
            raise errors.UnavailableError(
                None, None, "processes ended more often than argument 'max_restarts' allows"
            )

    def _replace(self, ended: list[int], results: dict[int, Any]) -> None:
        self._spend(len(ended))
        if results:
            raise errors.UnavailableError(
                None, None, f"process {ended[0]} ended after others had returned: it cannot be replaced"
            )
        for i in ended:
            self._actors[i] = self._make()

    def _all_wait(self, results: dict[int, Any]) -> bool:
        alive = [actor for i, actor in enumerate(self._actors) if i not in results]
        try:
            states = self._ray.get([actor.how.remote() for actor in alive], timeout=10)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            # The end of one is seen by what it runs.
            return False
        return all(state == "waiting" and generation >= self._generation for state, generation in states)

    def _regroup(self) -> None:
        """Tells all processes of a new group."""
        self._generation += 1
        while True:
            ended = []
            addresses = [actor.address.remote() for actor in self._actors]
            members = []
            for i, address in enumerate(addresses):
                try:
                    members.append(self._ray.get(address))
                except self._ray.exceptions.RayActorError:
                    ended.append(i)
            if not ended:
                break
            self._spend(len(ended))
            for i in ended:
                self._actors[i] = self._make()
        for i, actor in enumerate(self._actors):
            actor.assign.remote(Membership(members, i, self._generation))

    def end(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)


def _check_room(there: Mapping[str, float], needs: Mapping[str, float], count: int) -> None:
    """Raises ValueError where a cluster has too little for so many processes, which Ray would wait for."""
    for name, amount in needs.items():
        if amount * count > there.get(name, 0):
            raise ValueError(
                f"argument 'resources': {count} processes need {amount * count:g} {name}, "
                f"and the cluster has {there.get(name, 0):g}"
            )


def launch(
    fn: Callable[..., Any],
    num_workers: int,
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
        num_workers: how many processes there are.
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
    if num_workers < 1:
        raise ValueError(f"argument 'num_workers' must be at least 1, got {num_workers}")
    ray = _ray()
    needs = {"CPU": 1.0, **(resources or {})}
    if not ray.is_initialized():
        # Processes on this machine may be more than its processors.
        own = None if address else max(os.cpu_count() or 1, math.ceil(needs["CPU"] * num_workers))
        ray.init(address=address, num_cpus=own, include_dashboard=False, log_to_driver=False)
    _check_room(ray.cluster_resources(), needs, num_workers)
    others = {name: count for name, count in needs.items() if name not in ("CPU", "GPU")}
    remote = ray.remote(
        num_cpus=needs["CPU"], num_gpus=needs.get("GPU", 0), resources=others or None, max_concurrency=4
    )(_Actor)
    supervisor = _Supervisor(
        ray, lambda: remote.remote(int(needs["CPU"]), timeout), num_workers, max_restarts
    )
    try:
        return supervisor.work(fn, tuple(args), dict(kwargs or {}))
    finally:
        supervisor.end()
