"""`tf.train.CheckpointManager`: the latest checkpoints of a directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock import _core
from penstock._saving import checkpoint_state
from penstock._saving.checkpoint import Checkpoint, CheckpointOptions
from penstock._types.argument_names import expect, path_of

__all__ = ["CheckpointManager"]


class CheckpointManager:
    """Keeps the latest checkpoints of a directory, and removes those before.

    Args:
        checkpoint: what is saved.
        directory: the directory, which is made where it does not exist.
        max_to_keep: how many checkpoints are kept; None for all.
        keep_checkpoint_every_n_hours: after so many hours one is kept for good.
        checkpoint_name: how the files are called, before `-` and a number.
        step_counter: a variable with the number of steps, for `checkpoint_interval`.
        checkpoint_interval: the least number of steps between two checkpoints.
        init_fn: what `restore_or_initialize` calls where there is no checkpoint.
        last_checkpoint_step: the step of the last checkpoint, from which the first interval counts.

    Raises:
        ValueError: for a `max_to_keep` below 1, or an interval without a counter.

    >>> import tempfile
    >>> import penstock as tf
    >>> v = tf.Variable(0.0)
    >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tempfile.mkdtemp(), max_to_keep=2)
    >>> for _ in range(3):
    ...     _ = manager.save()
    >>> [path.rsplit("-")[-1] for path in manager.checkpoints]
    ['2', '3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], object] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        self._checkpoint: Checkpoint = expect(checkpoint, Checkpoint, "checkpoint", "a tf.train.Checkpoint")
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(f"argument 'max_to_keep' must be None or at least 1, got {max_to_keep!r}")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("argument 'checkpoint_interval' needs a 'step_counter'")
        self._directory, self._name = Path(path_of(directory, "directory")), checkpoint_name
        self._limit, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._steps, self._interval, self._init = step_counter, checkpoint_interval, init_fn
        self._last_step: int | None = last_checkpoint_step
        self._directory.mkdir(parents=True, exist_ok=True)
        # The time of writing of each path that counts towards `max_to_keep`.
        self._kept: dict[str, float] = {}
        self._latest: str | None = None
        self._preserved = time.time()
        state = checkpoint_state.get_checkpoint_state(directory)
        if state is not None:
            times = state.all_model_checkpoint_timestamps
            known = state.all_model_checkpoint_paths
            if len(times) != len(known):
                times = [self._preserved] * len(known)
            self._preserved = state.last_preserved_timestamp or self._preserved
            self._latest = state.model_checkpoint_path
            self._kept = dict(zip(known, times, strict=True))

    @property
    def directory(self) -> str:
        """The directory."""
        return str(self._directory)

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The least number of steps between two checkpoints, or None."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of those that are kept, the oldest first; without those that are kept for good."""
        return list(self._kept)

    def save(
        self,
        checkpoint_number: int | None = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Write a checkpoint, and remove what is beyond the limit.

        Args:
            checkpoint_number: a number for its name; by default how often was saved.
            check_interval: whether nothing is saved before the interval is over.
            options: how it is written.

        Returns:
            The path; None where the interval is not over.

        >>> import tempfile
        >>> import penstock as tf
        >>> checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
        >>> manager = tf.train.CheckpointManager(checkpoint, tempfile.mkdtemp(), max_to_keep=1)
        >>> manager.save(7).endswith("ckpt-7")
        True
        """
        if self._interval is not None:
            step = int(self._steps)
            if check_interval and self._last_step is not None and step < self._last_step + self._interval:
                return None
            self._last_step = step
        with _core._Outside():
            self._checkpoint.save_counter.assign_add(1)
            number = (
                int(self._checkpoint.save_counter.numpy())
                if checkpoint_number is None
                else int(checkpoint_number)
            )
        path = str(self._directory / f"{self._name}-{number}")
        return self._checkpoint._write(path, options, lambda: self._note(path))

    def _note(self, path: str) -> None:
        self._latest = path
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        old = []
        while self._limit is not None and len(self._kept) > self._limit:
            first, when = next(iter(self._kept.items()))
            del self._kept[first]
            if self._hours is not None and when - self._preserved >= self._hours * 3600:
                self._preserved = when
            else:
                old.append(first)
        times = list(self._kept.values())
        checkpoint_state.record(self._directory, path, list(self._kept), times, self._preserved)
        for removed in old:
            checkpoint_state.remove(removed)

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint, or call `init_fn` where there is none.

        Returns:
            The path of the checkpoint, or None.

        >>> import tempfile
        >>> import penstock as tf
        >>> v, directory = tf.Variable(1.0), tempfile.mkdtemp()
        >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), directory, max_to_keep=1)
        >>> manager.restore_or_initialize() is None
        True
        >>> path = manager.save()
        >>> _ = v.assign(2.0)
        >>> manager.restore_or_initialize() == path, float(v)
        (True, 1.0)
        """
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._steps is not None:
                self._last_step = int(self._steps)
            return self._latest
        if self._init is not None:
            self._init()
        return None

    def sync(self) -> None:
        """Wait until what is written in the background is on the disk.

        >>> import tempfile
        >>> import penstock as tf
        >>> tf.train.CheckpointManager(tf.train.Checkpoint(), tempfile.mkdtemp(), max_to_keep=1).sync()
        """
        self._checkpoint.sync()
