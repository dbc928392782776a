"""Checkpoints of processes that are told to end."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core
from penstock._saving.checkpoint import Checkpoint
from penstock._saving.checkpoint_manager import CheckpointManager
from penstock._types.argument_names import expect
from penstock.distribute import _context
from penstock.distribute.cluster_resolver import ClusterResolver

if TYPE_CHECKING:
    from penstock.distribute._group import ProcessGroup

__all__ = ["PreemptionCheckpointHandler", "PreemptionWatcher", "TerminationConfig"]

# What a process that is to be started again ends with.
_STATUS = 143


class TerminationConfig(NamedTuple):
    """When a process ends, and what it does then.

    Attributes:
        termination_watcher_fn: tells whether this process is to end; by default whether it got the signal
            SIGTERM.
        exit_fn: ends the process; by default with status 143.
        grace_period: for how many seconds the program goes on after it was told; 0 or None for not at all.
        save_fn: saves, in place of the handler.
    """

    termination_watcher_fn: Callable[[], bool] | None = None
    exit_fn: Callable[[], Any] | None = None
    grace_period: float | None = None
    save_fn: Callable[[], Any] | None = None


class _Signal:
    """Whether this process got SIGTERM."""

    told = threading.Event()

    @classmethod
    def watch(cls) -> None:
        """Has the signal noted from now on, in place of ending the process or what else was done for it.

        Raises:
            RuntimeError: outside of the main thread, which alone can do that.
        """
        # Others, such as Ray, may have set theirs since.
        if signal.getsignal(signal.SIGTERM) is _note:
            return
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("the signal SIGTERM is watched from the main thread")
        signal.signal(signal.SIGTERM, _note)


def _note(number: int, frame: Any) -> None:
    _Signal.told.set()


class PreemptionWatcher:
    """Notes whether this process was told to end, by the signal SIGTERM.

    Raises:
        RuntimeError: outside of the main thread.

    >>> import penstock as tf
    >>> tf.distribute.experimental.PreemptionWatcher().preemption_message is None
    True
    """

    def __init__(self) -> None:
        _Signal.watch()

    @property
    def preemption_message(self) -> str | None:
        """What it was told; None where it was not."""
        return "the process got the signal SIGTERM" if _Signal.told.is_set() else None

    def block_until_worker_exit(self) -> None:
        """Do nothing, as with all that are no TPUs.

        >>> import penstock as tf
        >>> tf.distribute.experimental.PreemptionWatcher().block_until_worker_exit()
        """


class PreemptionCheckpointHandler:
    """Saves a checkpoint where a process is told to end, and goes on from it when it is started again.

    All processes of a strategy save at the same step: where one is told to end, all save and end. The name of
    a checkpoint has the number of calls of `run` that were made before.

    Args:
        cluster_resolver: what knows the processes.
        checkpoint_or_checkpoint_manager: a `tf.train.Checkpoint` or a `tf.train.CheckpointManager`, whose
            latest checkpoint is restored.
        checkpoint_dir: the folder, for a `tf.train.Checkpoint`.
        termination_config: a `TerminationConfig`.

    Raises:
        TypeError: for something else than a checkpoint or a manager.
        ValueError: for a checkpoint without a folder.
        RuntimeError: outside of the main thread, where signals are watched.

    >>> import penstock as tf, tempfile
    >>> v = tf.Variable(0)
    >>> resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = tf.distribute.experimental.PreemptionCheckpointHandler(
    ...         resolver, tf.train.Checkpoint(v=v), folder
    ...     )
    ...     while handler.total_run_calls < 3:
    ...         _ = handler.run(v.assign_add, 1)
    >>> int(v)
    3
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver,
        checkpoint_or_checkpoint_manager: Checkpoint | CheckpointManager,
        checkpoint_dir: str | None = None,
        termination_config: TerminationConfig | None = None,
    ) -> None:
        expect(cluster_resolver, ClusterResolver, "cluster_resolver", "a ClusterResolver")
        expect(
            checkpoint_or_checkpoint_manager,
            (Checkpoint, CheckpointManager),
            "checkpoint_or_checkpoint_manager",
            "a tf.train.Checkpoint or a tf.train.CheckpointManager",
        )
        self._config = termination_config or TerminationConfig()
        if isinstance(checkpoint_or_checkpoint_manager, CheckpointManager):
            self._manager = checkpoint_or_checkpoint_manager
        else:
            if not checkpoint_dir:
                raise ValueError("argument 'checkpoint_dir' is needed for a tf.train.Checkpoint")
            self._manager = CheckpointManager(checkpoint_or_checkpoint_manager, checkpoint_dir, max_to_keep=1)
        if self._config.termination_watcher_fn is None:
            _Signal.watch()
        self._calls = 0
        # When it was told to end.
        self._since: float | None = None
        # All processes make the variable that counts; one of them saves.
        _ = self._manager.checkpoint.save_counter
        latest = self._manager.latest_checkpoint
        if latest is not None:
            self._manager.restore_or_initialize()
            number = latest.rpartition("-")[2]
            self._calls = int(number) if number.isdigit() else 0

    @property
    def total_run_calls(self) -> int:
        """How many calls of `run` there were, those before the restart among them."""
        return self._calls

    @property
    def _group(self) -> ProcessGroup | None:
        return _context.get_strategy()._group

    def run(self, distributed_train_function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function, often a step, and save where a process is to end.

        Args:
            distributed_train_function: the function.
            *args: its arguments.
            **kwargs: its keyword arguments.

        Returns:
            What it returns.

        >>> import penstock as tf, tempfile
        >>> resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = tf.distribute.experimental.PreemptionCheckpointHandler(
        ...         resolver, tf.train.Checkpoint(), folder
        ...     )
        ...     handler.run(lambda x: x + 1, 2)
        3
        """
        with self.watch_preemption_scope():
            return distributed_train_function(*args, **kwargs)

    @contextmanager
    def watch_preemption_scope(self) -> Iterator[None]:
        """Make a context that counts as a call of `run`: where a process is to end, it saves at its end.

        Returns:
            A context.

        >>> import penstock as tf, tempfile
        >>> resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = tf.distribute.experimental.PreemptionCheckpointHandler(
        ...         resolver, tf.train.Checkpoint(), folder
        ...     )
        ...     with handler.watch_preemption_scope():
        ...         pass
        >>> handler.total_run_calls
        1
        """
        yield
        self._calls += 1
        if self._since is None and self._is_told():
            self._since = time.monotonic()
            self._save()
            if self._config.grace_period:
                return
            self._end()
        elif self._since is not None and self._agree(
            time.monotonic() - self._since >= float(self._config.grace_period or 0)
        ):
            self._save()
            self._end()

    def _is_told(self) -> bool:
        watcher = self._config.termination_watcher_fn
        return self._agree(_Signal.told.is_set() if watcher is None else bool(watcher()))

    def _agree(self, here: bool) -> bool:
        """Whether it is so in some process."""
        if self._group is None:
            return here
        return bool(int(self._group.all_reduce(_core._to_tensor(int(here)), "max")))

    def _save(self) -> None:
        if self._config.save_fn is not None:
            self._config.save_fn()
        elif self._group is None or self._group.rank == 0:
            self._manager.save(checkpoint_number=self._calls)
        if self._group is not None:
            # Nobody ends before the checkpoint is there.
            self._group.barrier()

    def _end(self) -> None:
        if self._config.exit_fn is not None:
            self._config.exit_fn()
        else:
            sys.exit(_STATUS)
