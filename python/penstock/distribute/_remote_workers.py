"""Workers and parameter servers as actors of a Ray cluster.

A server keeps the values of variables. A worker has a copy of each variable that its functions refer to.
Before it calls one it takes over the values that have changed, and afterwards it sends what the function has
changed: a server that has no newer value stores the new one, else it adds the difference.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import pickle
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import penstock.errors as errors
from penstock import _core
from penstock._function.function import Function, _rebuilt
from penstock._values.variable import Variable, variable_creator_scope
from penstock.distribute import _keras_pickles
from penstock.distribute._coordinator import Closure, WorkerLostError, in_worker
from penstock.distribute._ray import ray_package

__all__ = ["Cluster"]

# How many functions a worker has at hand.
_FUNCTIONS = 64
# How many workers may be replaced.
_RESTARTS = 100


class _Key(NamedTuple):
    """What a variable is called: by the program, or by the function that made it, with a number."""

    maker: int
    number: int


class _Kept(NamedTuple):
    """What servers know of a variable.

    Attributes:
        key: what it is called.
        server: the number of the server that has it.
        name: a name for people.
        dtype: the name of the element type.
        trainable: whether tapes watch it.
        shape: the extents that values have.
    """

    key: _Key
    server: int
    name: str
    dtype: str
    trainable: bool
    shape: tuple[int | None, ...] | None


class Server:
    """A server: what it keeps for each variable is a version and a value."""

    def __init__(self) -> None:
        self._kept: dict[_Key, tuple[int, Any]] = {}

    def create(self, key: _Key, value: Any) -> tuple[int, Any]:
        """Keeps a first value, where there is none yet; the version and the value."""
        return self._kept.setdefault(key, (0, value))

    def pull(self, known: Mapping[_Key, int]) -> dict[_Key, tuple[int, Any]]:
        """The values that are newer than the versions that somebody knows."""
        return {key: self._kept[key] for key, version in known.items() if self._kept[key][0] > version}

    def push(self, changes: Mapping[_Key, tuple[int, Any, Any]]) -> dict[_Key, int]:
        """Takes over changes: the version that one began with, the new value, and the difference or None."""
        found = {}
        for key, (version, value, difference) in changes.items():
            now, kept = self._kept[key]
            if now != version and difference is not None:
                value = kept + difference
            self._kept[key] = now + 1, value
            # Who began with another version does not know the sum.
            found[key] = now + 1 if now == version else version
        return found


class _Copies:
    """The copies of variables that a process has."""

    def __init__(self, ray: Any, servers: list[Any]) -> None:
        self._ray, self._servers = ray, servers
        # For each: where it is kept, the copy, the version and the value that it began with.
        self._all: dict[_Key, tuple[_Kept, Variable]] = {}
        self._versions: dict[_Key, int] = {}
        self._values: dict[_Key, Any] = {}

    def add(self, kept: _Kept, variable: Variable) -> None:
        """A variable is among them, with the value of the server, or as its first value."""
        value = _array(variable)
        version, found = self._ray.get(self._servers[kept.server].create.remote(kept.key, value))
        self._all[kept.key] = kept, variable
        self._versions[kept.key] = -1
        self._set(kept.key, version, found)

    def get(self, kept: _Kept, first: Any) -> Variable:
        """The copy of a variable."""
        if kept.key not in self._all:
            made = Variable(first, kept.trainable, name=kept.name, dtype=kept.dtype, shape=kept.shape)
            self.add(kept, made)
        return self._all[kept.key][1]

    def _set(self, key: _Key, version: int, value: Any) -> None:
        _core._Variable._assign(self._all[key][1], value)
        self._versions[key], self._values[key] = version, value

    def _by_server(self, keys: Any) -> dict[int, list[_Key]]:
        found: dict[int, list[_Key]] = {}
        for key in keys:
            found.setdefault(self._all[key][0].server, []).append(key)
        return found

    def pull(self, keys: Any = None) -> None:
        """Takes over the values that have changed."""
        asked = [
            self._servers[server].pull.remote({key: self._versions[key] for key in of_server})
            for server, of_server in self._by_server(list(self._all) if keys is None else keys).items()
        ]
        for changed in self._ray.get(asked):
            for key, (version, value) in changed.items():
                self._set(key, version, value)

    def push(self, keys: Any = None) -> None:
        """Sends what was changed."""
        told = []
        for server, of_server in self._by_server(list(self._all) if keys is None else keys).items():
            changes = {}
            for key in of_server:
                before, now = self._values[key], _array(self._all[key][1])
                if not _is_same(now, before):
                    additive = now.dtype.kind in "iufcV" and now.shape == before.shape
                    changes[key] = self._versions[key], now, now - before if additive else None
                    self._values[key] = now
            if changes:
                told.append(self._servers[server].push.remote(changes))
        for versions in self._ray.get(told):
            self._versions.update(versions)


def _array(variable: Variable) -> Any:
    """The value that this process has, as an array: that of a text is no scalar of NumPy."""
    import numpy as np  # not loaded with the package

    value = _core._Variable.numpy(variable)
    return np.asarray(value, object) if isinstance(value, bytes) else np.asarray(value)


def _is_same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool((a == b).all()) if a.dtype.kind == "O" else a.tobytes() == b.tobytes()


class _Pickler:
    """Pickles functions with references to variables, and to what each worker has of its own."""

    def __init__(self, serve: Callable[[Any], _Kept], cloudpickle: Any) -> None:
        self._serve, self._module = serve, cloudpickle

    def dumps(self, value: Any) -> bytes:
        outer = self

        class Pickler(self._module.Pickler):  # type: ignore[misc, name-defined]
            def persistent_id(self, obj: Any) -> Any:
                if isinstance(obj, Variable):
                    return "variable", outer._serve(obj), _array(obj)
                return None

            def reducer_override(self, obj: Any) -> Any:
                if isinstance(obj, Function):
                    return _rebuilt, (obj.python_function, vars(obj)["_options"])
                of_keras = _keras_pickles.reduced(obj)
                return super().reducer_override(obj) if of_keras is None else of_keras

        file = io.BytesIO()
        Pickler(file).dump(value)
        return file.getvalue()


class Worker:
    """What runs functions in another process.

    Args:
        index: its number.
        servers: the actors of the servers.
    """

    def __init__(self, index: int, servers: list[Any]) -> None:
        self._ray = ray_package("tf.distribute.ParameterServerStrategy")
        self._servers = servers
        self._copies = _Copies(self._ray, servers)
        self._functions: dict[int, Callable[..., Any]] = {}
        self._made: dict[int, Any] = {}
        self._counts: dict[int, int] = {}
        in_worker.set(index)
        self._index = index

    def process(self) -> int:
        """The number of the process."""
        return os.getpid()

    def _loads(self, data: bytes) -> Any:
        copies = self._copies

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, pid: Any) -> Any:
                _, kept, first = pid
                return copies.get(kept, first)

        return Unpickler(io.BytesIO(data)).load()

    def run(self, number: int, function: bytes | None, arguments: bytes, with_keras: bool) -> Any:
        """What a function gives that was sent before, or is sent now."""
        if with_keras:
            _keras_pickles.load()
        if function is not None:
            self._functions[number] = self._loads(function)
        args, kwargs = self._loads(arguments)
        closure = Closure(self._functions[number], args, kwargs)

        def make(create: Callable[..., Variable], **given: Any) -> Variable:
            made = create(**given)
            count = self._counts[number] = self._counts.get(number, -1) + 1
            extents = made.shape
            shape = None if extents.rank is None else tuple(extents.as_list())
            server = count % len(self._servers)
            key = _Key(number, count)
            with _core._Outside():
                self._copies.add(_Kept(key, server, made._name, made.dtype.name, made.trainable, shape), made)
            return made

        in_worker.set(self._index)
        self._copies.pull()
        # All workers make the variables of a function in one order: those of one name are one.
        with variable_creator_scope(make):
            args, kwargs = closure.arguments(self._index, self._made)
            value = closure.function(*args, **kwargs)
        self._copies.push()
        return value


class _Served(Variable):
    """A variable of the program that a server keeps."""

    _cluster: Cluster
    _key: _Key

    def read_value(self) -> Any:
        self._pull()
        return super().read_value()

    def value(self) -> Any:
        self._pull()
        return super().value()

    def numpy(self) -> Any:
        self._pull()
        return super().numpy()

    def _pull(self) -> None:
        if not _core._is_tracing():
            self._cluster.pull(self._key)

    def _assign(self, value: Any) -> None:
        self._change(super()._assign, value)

    def _assign_add(self, delta: Any) -> None:
        self._change(super()._assign_add, delta)

    def _assign_sub(self, delta: Any) -> None:
        self._change(super()._assign_sub, delta)

    def _change(self, assign: Callable[[Any], None], value: Any) -> None:
        self._pull()
        assign(value)
        if not _core._is_tracing():
            self._cluster.push(self._key)


class Cluster:
    """The servers and workers of a strategy, as the program sees them.

    Args:
        workers: how many workers there are.
        servers: how many servers there are.

    Raises:
        ImportError: without Ray.
    """

    def __init__(self, workers: int, servers: int) -> None:
        self._ray = ray = ray_package("tf.distribute.ParameterServerStrategy")
        if not ray.is_initialized():
            count = max(os.cpu_count() or 1, workers)
            ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False)
        there = ray.cluster_resources().get("CPU", 0)
        if workers > there:
            raise ValueError(
                f"argument 'cluster_resolver': {workers} workers need as many CPUs, and the Ray cluster has "
                f"{math.floor(there)}"
            )
        self._servers = [ray.remote(num_cpus=0)(Server).remote() for _ in range(servers)]
        self.workers: dict[int, Any] = {}
        self._copies = _Copies(ray, self._servers)
        self._kept: dict[int, tuple[_Kept, Any]] = {}
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._pickler = _Pickler(self.serve, ray.cloudpickle)
        # Functions that were pickled: each with its number.
        self._functions: dict[int, tuple[Any, int, bytes]] = {}
        self._makers = itertools.count(1)
        self._restarts = _RESTARTS

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What servers answer.

        Raises:
            UnavailableError: where one has ended.
        """
        try:
            with self._lock:
                return ask()
        except self._ray.exceptions.RayActorError as error:
            message = "a parameter server has ended: its variables are lost"
            raise errors.UnavailableError(None, None, message) from error

    def serve(self, variable: Variable) -> _Kept:
        """Has a server keep a variable; what is known of it."""
        with self._lock:
            known = self._kept.get(id(variable))
            if known is not None:
                return known[0]
            key = _Key(0, next(self._numbers))
            extents = variable.shape
            shape = None if extents.rank is None else tuple(extents.as_list())
            server = key.number % len(self._servers)
            kept = _Kept(key, server, variable._name, variable.dtype.name, variable.trainable, shape)
            # A server keeps the value as long as there is one: so does the program.
            self._kept[id(variable)] = kept, variable
            with _core._Outside():
                self._asked(lambda: self._copies.add(kept, variable))
            if type(variable) is Variable:
                variable.__class__ = _Served
                variable.__dict__.update(_cluster=self, _key=key)
            return kept

    def pull(self, key: _Key) -> None:
        """Has a variable the value of its server."""
        with _core._Outside():
            self._asked(lambda: self._copies.pull([key]))

    def push(self, key: _Key) -> None:
        """Tells a server the value of a variable."""
        with _core._Outside():
            self._asked(lambda: self._copies.push([key]))

    def refresh(self) -> None:
        """Has all variables the values of the servers."""
        with _core._Outside():
            self._asked(self._copies.pull)

    def function(self, function: Callable[..., Any]) -> tuple[int, bytes]:
        """The number of a function, and what a worker is sent for it."""
        with self._lock:
            if id(function) not in self._functions:
                if len(self._functions) >= _FUNCTIONS:
                    del self._functions[next(iter(self._functions))]
                self._functions[id(function)] = function, next(self._makers), self._pickler.dumps(function)
            return self._functions[id(function)][1:]

    def arguments(self, closure: Closure) -> bytes:
        """The arguments of a closure, for a worker."""
        with self._lock:
            return self._pickler.dumps((closure.args, closure.kwargs))

    def worker(self, index: int) -> RemoteWorker:
        """A worker."""
        return RemoteWorker(self, self._ray, index)

    def start(self, index: int) -> Any:
        """The actor of a worker."""
        self.workers[index] = self._ray.remote(num_cpus=1)(Worker).remote(index, self._servers)
        return self.workers[index]

    def end(self) -> None:
        """Ends all actors."""
        self._restarts = 0
        if self._ray.is_initialized():
            for actor in (*self._servers, *self.workers.values()):
                self._ray.kill(actor)

    def spend(self) -> None:
        """A worker is replaced.

        Raises:
            UnavailableError: where that was too often.
        """
        self._restarts -= 1
        if self._restarts < 0:
            raise errors.UnavailableError(None, None, f"more than {_RESTARTS} workers have ended")


class RemoteWorker:
    """A worker, as the thread sees it that hands functions to it."""

    def __init__(self, cluster: Cluster, ray: Any, index: int) -> None:
        self._cluster, self._ray, self._index = cluster, ray, index
        self._actor = cluster.start(index)
        self._sent: set[int] = set()

    def run(self, closure: Closure) -> Any:
        """What a closure gives.

        Raises:
            WorkerLostError: where the worker has ended; another one is there then.
        """
        number, function = self._cluster.function(closure.function)
        arguments = self._cluster.arguments(closure)
        try:
            sent = None if number in self._sent else function
            found = self._ray.get(self._actor.run.remote(number, sent, arguments, _keras_pickles.used()))
        except self._ray.exceptions.RayTaskError as error:
            cause = error.as_instanceof_cause()
            if isinstance(cause, self._ray.exceptions.RayActorError):
                message = "a parameter server has ended: its variables are lost"
                raise errors.UnavailableError(None, None, message) from cause
            raise cause from None
        except self._ray.exceptions.RayActorError:
            self._cluster.spend()
            self._actor = self._cluster.start(self._index)
            self._sent = set()
            raise WorkerLostError from None
        self._sent.add(number)
        return found
