"""Functions that a program hands to workers, one after the other, and what becomes of them."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import penstock.errors as errors
from penstock import nest
from penstock._types.argument_names import expect
from penstock.data import Dataset

if TYPE_CHECKING:
    from penstock._types.aliases import Nested
    from penstock.distribute._parameter_server import ParameterServerStrategy

__all__ = [
    "Closure",
    "ClusterCoordinator",
    "PerWorkerValues",
    "RemoteValue",
    "WorkerLostError",
    "experimental_get_current_worker_index",
    "in_worker",
]

_numbers = itertools.count()
# The number of the worker that the program is within.
in_worker: ContextVar[int | None] = ContextVar("penstock_worker", default=None)


def experimental_get_current_worker_index() -> int:
    """Find the worker that runs this.

    Returns:
        Its number.

    Raises:
        RuntimeError: outside of what `ClusterCoordinator.schedule` runs.

    >>> import penstock as tf
    >>> tf.distribute.coordinator.experimental_get_current_worker_index()
    Traceback (most recent call last):
    ...
    RuntimeError: experimental_get_current_worker_index is for functions that a ClusterCoordinator schedules
    """
    found = in_worker.get()
    if found is None:
        raise RuntimeError(
            "experimental_get_current_worker_index is for functions that a ClusterCoordinator schedules"
        )
    return found


class WorkerLostError(Exception):
    """A worker has ended; another one takes its place."""


class PerWorkerValues:
    """A value for each worker. Given to `ClusterCoordinator.schedule`, each worker gets its own.

    Args:
        values: the values, by the numbers of the workers.

    >>> import penstock as tf
    >>> tf.distribute.coordinator.PerWorkerValue([1, 2]).values
    (1, 2)
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values: tuple[Any, ...] = tuple(values)

    def _of_worker(self, index: int, made: dict[int, Any]) -> Any:
        """The value of a worker, which keeps what it has made for such values."""
        return self.values[index]


class PerWorkerMade(PerWorkerValues):
    """A value that each worker makes for itself, when it first needs it.

    Args:
        build: makes the value.
        source: what `build` is called with, made before.
    """

    def __init__(self, build: Callable[..., Any], source: PerWorkerMade | None = None) -> None:
        self.number: int = next(_numbers)
        self._build, self._source = build, source

    def _of_worker(self, index: int, made: dict[int, Any]) -> Any:
        if self.number not in made:
            given = () if self._source is None else (self._source._of_worker(index, made),)
            made[self.number] = self._build(*given)
        return made[self.number]

    def __iter__(self) -> Iterator[Any]:
        return PerWorkerIterator(iter, self)


class PerWorkerIterator(PerWorkerMade):
    """Iterators of the data sets of workers."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise TypeError("each worker has an iterator of its own: next() is called in what schedule runs")


class RemoteValue:
    """What a function gives that a worker runs, when it has.

    It is made by `ClusterCoordinator.schedule`.
    """

    def __init__(self) -> None:
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def fetch(self) -> Any:
        """Wait for the value.

        Returns:
            The result, tensors as NumPy arrays.

        Raises:
            Exception: what the function raised; CancelledError where another one had failed before.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        >>> coordinator.schedule(lambda: tf.constant(3)).fetch()
        np.int32(3)
        """
        return nest.map_structure(lambda x: x.numpy() if hasattr(x, "numpy") else x, self.get())

    def get(self) -> Any:
        """Wait for the value, and leave tensors as they are.

        Returns:
            The result.

        Raises:
            Exception: as `fetch`.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        >>> coordinator.schedule(lambda: tf.constant(3)).get()
        <tf.Tensor: shape=(), dtype=int32, numpy=3>
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def _set(self, value: Any = None, error: BaseException | None = None) -> None:
        self._value, self._error = value, error
        self._done.set()


class Closure:
    """A function with its arguments, and where its result goes."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.result = RemoteValue()

    def arguments(self, index: int, made: dict[int, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a worker."""
        found: tuple[tuple[Any, ...], dict[str, Any]] = nest.map_structure(
            lambda x: x._of_worker(index, made) if isinstance(x, PerWorkerValues) else x,
            (self.args, self.kwargs),
        )
        return found


class _Queue:
    """Closures that wait for workers, and how many are under way."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Closure] = deque()
        self._running = 0
        self._error: BaseException | None = None
        self._closed = False

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def put(self, closure: Closure, most: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < most or self._error is not None)
            self._raise()
            self._waiting.append(closure)
            self._changed.notify_all()

    def take(self) -> Closure | None:
        """The next closure; None where there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
            if self._closed:
                return None
            self._running += 1
            return self._waiting.popleft()

    def back(self, closure: Closure) -> None:
        """Another worker takes a closure."""
        with self._changed:
            self._running -= 1
            if self._error is None:
                self._waiting.appendleft(closure)
            else:
                closure.result._set(error=_cancelled())
            self._changed.notify_all()

    def ended(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._running -= 1
            if error is not None:
                self._error = self._error or error
                # The others were to run after this one.
                while self._waiting:
                    self._waiting.popleft().result._set(error=_cancelled())
            self._changed.notify_all()

    def join(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._running)
            self._raise()

    def is_done(self) -> bool:
        with self._changed:
            self._raise()
            return not self._waiting and not self._running

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _cancelled() -> BaseException:
    return errors.CancelledError(None, None, "another scheduled function has failed before")


class ClusterCoordinator:
    """Hands functions to the workers of a strategy, each to one that has time.

    Args:
        strategy: a `ParameterServerStrategy`.

    Raises:
        TypeError: for another strategy.

    >>> import penstock as tf
    >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
    ...     {"worker": ["a", "b"], "ps": ["c"]}, environment="threads"
    ... )
    >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
    >>> with strategy.scope():
    ...     v = tf.Variable(0)
    >>> coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    >>> for number in range(4):
    ...     _ = coordinator.schedule(lambda x: v.assign_add(x), args=(number,))
    >>> coordinator.join()
    >>> int(v)
    6
    """

    # Closures that wait, for each worker.
    _WAITING = 256

    def __new__(cls, strategy: ParameterServerStrategy) -> ClusterCoordinator:
        from penstock.distribute import _parameter_server  # which makes workers of what is here

        expect(strategy, _parameter_server.ParameterServerStrategy, "strategy", "a ParameterServerStrategy")
        # There is one for a strategy.
        if strategy._coordinator is None:
            self = super().__new__(cls)
            self._strategy, self._queue = strategy, _Queue()
            for index in range(strategy._workers):
                work = threading.Thread(
                    target=_serve,
                    args=(self._queue, strategy._worker(index)),
                    name=f"worker {index}",
                    daemon=True,
                )
                work.start()
            strategy._coordinator = self
        return strategy._coordinator

    def __init__(self, strategy: ParameterServerStrategy) -> None:
        self._strategy: ParameterServerStrategy
        self._queue: _Queue

    @property
    def strategy(self) -> ParameterServerStrategy:
        """The strategy."""
        return self._strategy

    def _end(self) -> None:
        """Ends the workers, and the servers of the strategy."""
        self._queue.close()
        if self._strategy._cluster is not None:
            self._strategy._cluster.end()

    def schedule(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> RemoteValue:
        """Have some worker call a function, when one has time. Where that worker ends, another one calls it.

        A worker in another process gets the function once: what it refers to has the values of that moment,
        but for variables, which are those of the program.

        Args:
            fn: the function, often a `tf.function`.
            args: its arguments; of `PerWorkerValues` the worker gets its own.
            kwargs: its keyword arguments.

        Returns:
            What stands for the result.

        Raises:
            TypeError: for what cannot be called.
            Exception: what a function raised that was scheduled before; the ones behind it are cancelled.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        >>> coordinator.schedule(tf.square, args=(3.0,)).fetch()
        np.float32(9.0)
        """
        if not callable(fn):
            raise TypeError(f"argument 'fn' must be a function, got {fn!r}")
        given, named = nest.map_structure(
            lambda x: x.get() if isinstance(x, RemoteValue) else x, (tuple(args or ()), dict(kwargs or {}))
        )
        closure = Closure(fn, given, named)
        self._queue.put(closure, self._WAITING * self._strategy._workers)
        return closure.result

    def join(self) -> None:
        """Wait for all functions that were scheduled.

        Raises:
            Exception: what one of them raised, the first one that did.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> tf.distribute.coordinator.ClusterCoordinator(strategy).join()
        """
        self._queue.join()
        self._strategy._refresh()

    def done(self) -> bool:
        """Tell whether all functions that were scheduled have been run.

        Returns:
            Whether it is so.

        Raises:
            Exception: as `join`.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> tf.distribute.coordinator.ClusterCoordinator(strategy).done()
        True
        """
        return self._queue.is_done()

    def fetch(self, val: Nested[Any]) -> Any:
        """Wait for the results in a nest.

        Args:
            val: a nest with what `schedule` returned.

        Returns:
            The nest with the results.

        Raises:
            Exception: what a function raised.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        >>> coordinator.fetch([coordinator.schedule(lambda: 1), 2])
        [1, 2]
        """
        return nest.map_structure(lambda x: x.fetch() if isinstance(x, RemoteValue) else x, val)

    def create_per_worker_dataset(
        self, dataset_fn: Callable[[], Dataset[Any]] | Dataset[Any]
    ) -> PerWorkerMade:
        """Have each worker make a data set.

        Args:
            dataset_fn: makes the data set; or a data set, which all workers read.

        Returns:
            The data sets; `iter` gives the iterators, one in each worker.

        Raises:
            TypeError: for what is neither a function nor a data set.

        >>> import penstock as tf
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     {"worker": ["a"], "ps": ["b"]}, environment="threads"
        ... )
        >>> strategy = tf.distribute.ParameterServerStrategy(resolver)
        >>> coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        >>> data = coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(3))
        >>> coordinator.schedule(lambda i: next(i), args=(iter(data),)).fetch()
        np.int64(0)
        """
        if isinstance(dataset_fn, Dataset):
            whole = dataset_fn
            return PerWorkerMade(lambda: whole)
        if not callable(dataset_fn):
            raise TypeError(f"argument 'dataset_fn' must be a function or a data set, got {dataset_fn!r}")
        return PerWorkerMade(dataset_fn)


def _serve(queue: _Queue, worker: Any) -> None:
    """Has a worker run closures as long as there are some."""
    while (closure := queue.take()) is not None:
        try:
            value = worker.run(closure)
        except WorkerLostError:
            queue.back(closure)
        except BaseException as error:
            # The error is raised again by the next call.
            queue.ended(error)
            closure.result._set(error=error)
        else:
            closure.result._set(value)
            queue.ended()
        # It would keep what it refers to until the next one comes.
        del closure
