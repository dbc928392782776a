"""`tf.train.Coordinator`: threads that stop together."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["Coordinator"]


class Coordinator:
    """What some threads ask whether to stop, and what waits for their ends.

    A thread that fails says so by `stop_on_exception`, and `join` raises its error.

    Args:
        clean_stop_exception_types: classes of errors that end threads without being failures; by default
            `tf.errors.OutOfRangeError`.

    >>> import threading
    >>> import penstock as tf
    >>> coordinator, done = tf.train.Coordinator(), []
    >>> def work():
    ...     with coordinator.stop_on_exception():
    ...         while not coordinator.should_stop():
    ...             done.append(1)
    ...             if len(done) == 3:
    ...                 coordinator.request_stop()
    >>> threads = [threading.Thread(target=work)]
    >>> threads[0].start()
    >>> coordinator.join(threads)
    >>> len(done)
    3
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        if clean_stop_exception_types is None:
            from penstock.errors import OutOfRangeError  # the default

            clean_stop_exception_types = (OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex: BaseException | tuple[Any, BaseException | None, Any] | None = None) -> None:
        """Ask the threads to stop.

        Args:
            ex: an error, or what `sys.exc_info()` gives, which `join` raises; one of a class that ends
                threads cleanly is none.

        Raises:
            BaseException: `ex`, where the threads were joined already.

        >>> import penstock as tf
        >>> coordinator = tf.train.Coordinator()
        >>> coordinator.request_stop()
        >>> coordinator.should_stop()
        True
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        with self._lock:
            if self._joined:
                if isinstance(error, BaseException) and not isinstance(error, self._clean):
                    raise error
                return
            first = not self._stop.is_set()
            if first and error is not None and not isinstance(error, self._clean):
                self._error = error if isinstance(error, BaseException) else RuntimeError(str(error))
            self._stop.set()

    def clear_stop(self) -> None:
        """Take back that threads were asked to stop, and why.

        >>> import penstock as tf
        >>> coordinator = tf.train.Coordinator()
        >>> coordinator.request_stop()
        >>> coordinator.clear_stop()
        >>> coordinator.should_stop()
        False
        """
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Tell whether threads were asked to stop.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.train.Coordinator().should_stop()
        False
        """
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask the threads to stop where an error leaves the block, which ends here.

        Returns:
            A context manager.

        >>> import penstock as tf
        >>> coordinator = tf.train.Coordinator()
        >>> with coordinator.stop_on_exception():
        ...     raise tf.errors.OutOfRangeError(None, None, "the end")
        >>> coordinator.should_stop()
        True
        """
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until threads are asked to stop.

        Args:
            timeout: the longest to wait, in seconds.

        Returns:
            Whether they were.

        >>> import penstock as tf
        >>> tf.train.Coordinator().wait_for_stop(timeout=0)
        False
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for a thread.

        Args:
            thread: the thread.

        >>> import threading
        >>> import penstock as tf
        >>> tf.train.Coordinator().register_thread(threading.Thread())
        """
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the ends of threads, and raise the error that one of them ended with.

        Args:
            threads: threads besides those that are registered.
            stop_grace_period_secs: how long threads may take once they are asked to stop.
            ignore_live_threads: whether threads that still run then are no error.

        Raises:
            RuntimeError: where threads still run when their time is over.
            Exception: what `request_stop` was given.

        >>> import penstock as tf
        >>> tf.train.Coordinator().join()
        """
        with self._lock:
            waited = list(self._threads | set(threads or ()))
        while any(t.is_alive() for t in waited) and not self._stop.wait(0.01):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            if thread.ident is not None:
                thread.join(max(end - time.monotonic(), 0))
        alive = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined, self._threads = True, set()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"threads still run after {stop_grace_period_secs} s: {' '.join(alive)}")

    @property
    def joined(self) -> bool:
        """Whether `join` has come to its end."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the error that `request_stop` was given; nothing without one.

        Raises:
            Exception: the error.

        >>> import penstock as tf
        >>> tf.train.Coordinator().raise_requested_exception()
        """
        with self._lock:
            error = self._error
        if error is not None:
            raise error
