"""Hooks of sessions of TensorFlow 1: what is done before and after each run of a monitored session."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.compat.v1 import logging
from penstock.compat.v1._graph import get_collection, get_default_graph
from penstock.compat.v1._training import Saver, get_global_step
from penstock.compat.v1.summary import FileWriterCache, Summary
from penstock.io import write_graph

if TYPE_CHECKING:
    from penstock.compat.v1._session import Session

__all__ = [
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
]


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run.

    Attributes:
        fetches: what is fetched for it.
        feed_dict: what is fed for it.
        options: accepted and ignored.
    """

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave a hook.

    Attributes:
        results: the values of its fetches; None where it had none.
        options: None.
        run_metadata: None.
    """

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """A run of a monitored session, for hooks.

    Args:
        original_args: what the caller fetches and feeds.
        session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self._original_args, self._session, self._stop_requested = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the caller fetches and feeds."""
        return self._original_args

    @property
    def session(self) -> Session:
        """The session."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Have `should_stop()` of the monitored session be true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """What is done around the runs of a monitored session: a base class whose methods do nothing.

    >>> import penstock as tf
    >>> class Count(tf.compat.v1.train.SessionRunHook):
    ...     runs = 0
    ...     def after_run(self, run_context, run_values):
    ...         self.runs += 1
    >>> hook = Count()
    >>> with tf.Graph().as_default():
    ...     x = tf.constant(1.0) + 1.0
    ...     with tf.compat.v1.train.MonitoredSession(hooks=[hook]) as session:
    ...         _ = session.run(x), session.run(x)
    >>> hook.runs
    2
    """

    def begin(self) -> None:
        """Add to the graph, before the session is made."""

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Look at a new session, whose variables have their values.

        Args:
            session: the session.
            coord: the coordinator of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Say what is fetched and fed beside what the caller does.

        Args:
            run_context: the run.

        Returns:
            The fetches and feeds, or None.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at what a run gave.

        Args:
            run_context: the run.
            run_values: the values of what `before_run` fetches.
        """

    def end(self, session: Session) -> None:
        """Look at the session a last time; not where it ends by an error.

        Args:
            session: the session.
        """


class SecondOrStepTimer:
    """Decide at which steps an action is due: at intervals of steps, or of seconds.

    Args:
        every_secs: the seconds from one to the next.
        every_steps: the steps from one to the next.

    Raises:
        ValueError: where both are given, or none.

    >>> import penstock as tf
    >>> timer = tf.compat.v1.train.SecondOrStepTimer(every_steps=2)
    >>> timer.should_trigger_for_step(1)
    True
    >>> timer.update_last_triggered_step(1)
    (None, None)
    >>> timer.should_trigger_for_step(2), timer.should_trigger_for_step(3)
    (False, True)
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("exactly one of arguments 'every_secs' and 'every_steps' must be given")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forget when it was due last."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Tell whether it is due.

        Args:
            step: the step.

        Returns:
            Whether it is; the first time always, and not twice for a step.
        """
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        return step >= self._last_step + (self._every_steps or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Say that it was done.

        Args:
            step: at which step.

        Returns:
            The seconds and steps since the time before; None where there was none.
        """
        now, since = time.monotonic(), (None, None)
        found: tuple[float | None, int | None] = since
        if self._last_step is not None and self._last_time is not None:
            found = now - self._last_time, step - self._last_step
        self._last_step, self._last_time = step, now
        return found

    def last_triggered_step(self) -> int | None:
        """Tell at which step it was done last.

        Returns:
            The step; None where it was not.
        """
        return self._last_step


class _Never(SecondOrStepTimer):
    """A timer that is never due."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        return False


def _step() -> Any:
    """The step counter of the default graph.

    Raises:
        RuntimeError: where there is none.
    """
    found = get_global_step()
    if found is None:
        raise RuntimeError(
            "a global step must be created: call tf.compat.v1.train.get_or_create_global_step()"
        )
    return found


class StopAtStepHook(SessionRunHook):
    """Stops after some steps, or at a step.

    Args:
        num_steps: how many steps there are from the first run on.
        last_step: the step after which to stop.

    Raises:
        ValueError: where both are given, or none.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("exactly one of arguments 'num_steps' and 'last_step' must be given")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._global_step = _step()

    def after_create_session(self, session: Session, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = int(session.run(self._global_step)) + (self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._last_step is not None
        # What was fetched may be the step before the run added to it.
        near = run_values.results + 1 >= self._last_step
        if near and int(run_context.session.run(self._global_step)) >= self._last_step:
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """A loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops where a loss is NaN.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: whether to raise `NanLossDuringTrainingError`, in place of stopping.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not math.isnan(run_values.results):
            return
        if self._fail_on_nan_loss:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Log tensors at intervals of runs or of seconds, or at the end.

    Args:
        tensors: the tensors or their names: a list, or a dict of them by what they are called.
        every_n_iter: the runs from one time to the next.
        every_n_secs: the seconds from one time to the next.
        at_end: whether to log once at the end.
        formatter: makes the text of a dict of values.

    Raises:
        ValueError: where it is not said when, or in two ways.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        if every_n_iter is not None and every_n_secs is not None:
            raise ValueError("at most one of arguments 'every_n_iter' and 'every_n_secs' may be given")
        if every_n_iter is None and every_n_secs is None and not at_end:
            raise ValueError("one of arguments 'every_n_iter', 'every_n_secs' and 'at_end' must be given")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"argument 'every_n_iter' must be above 0, got {every_n_iter}")
        named = tensors if isinstance(tensors, Mapping) else {_name(item): item for item in tensors}
        self._tensors = dict(named)
        self._at_end, self._formatter = at_end, formatter
        when = every_n_iter is not None or every_n_secs is not None
        self._timer = SecondOrStepTimer(every_n_secs, every_n_iter) if when else _Never()

    def begin(self) -> None:
        self._timer.reset()
        self._runs = 0
        graph = get_default_graph()
        self._current = {tag: graph.as_graph_element(item) for tag, item in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._due = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._current) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._due:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Session) -> None:
        if self._at_end:
            self._log(session.run(self._current))

    def _log(self, values: dict[str, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        if self._formatter is not None:
            logging.info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tensors)
        logging.info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _name(item: Any) -> str:
    return item if isinstance(item, str) else item.name


class StepCounterHook(SessionRunHook):
    """Counts steps by the second, and logs and writes that.

    Args:
        every_n_steps: the steps from one time to the next.
        every_n_secs: the seconds from one time to the next.
        output_dir: the directory of summaries.
        summary_writer: what writes them, in place of one for `output_dir`.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
    ) -> None:
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir, self._summary_writer = output_dir, summary_writer

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step = _step()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._global_step))
        if not self._timer.should_trigger_for_step(step):
            return
        seconds, steps = self._timer.update_last_triggered_step(step)
        if seconds is None or steps is None:
            return
        rate = steps / max(seconds, 1e-9)
        tag = f"{self._global_step._name}/sec"
        if self._summary_writer is not None:
            self._summary_writer.add_summary(Summary(value=[{"tag": tag, "simple_value": rate}]), step)
        logging.info(f"{tag}: {rate:g}")


class SummarySaverHook(SessionRunHook):
    """Write summaries at intervals of steps or of seconds.

    Args:
        save_steps: the steps from one time to the next.
        save_secs: the seconds from one time to the next.
        output_dir: the directory of summaries.
        summary_writer: what writes them, in place of one for `output_dir`.
        scaffold: whose `summary_op` is run where none is given.
        summary_op: the summaries, one or several.

    Raises:
        ValueError: where there are no summaries to run, or two.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("exactly one of arguments 'scaffold' and 'summary_op' must be given")
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._output_dir, self._summary_writer = output_dir, summary_writer
        self._scaffold, self._summary_op = scaffold, summary_op

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step = _step()
        self._next_step: int | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        fetches = {"global_step": self._global_step}
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if self._due and found is not None:
            fetches["summary"] = list(found) if isinstance(found, list | tuple) else [found]
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._summary_writer is None:
            return
        step = int(run_values.results["global_step"])
        if self._next_step is None or self._due:
            step = int(run_context.session.run(self._global_step))
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Session) -> None:
        if self._summary_writer is not None:
            self._summary_writer.flush()


class CheckpointSaverListener:
    """What is done around the writing of checkpoints: a base class whose methods do nothing."""

    def begin(self) -> None:
        """Add to the graph, before the session is made."""

    def before_save(self, session: Session, global_step_value: int) -> None:
        """Look at the session before a checkpoint is written.

        Args:
            session: the session.
            global_step_value: the step.
        """

    def after_save(self, session: Session, global_step_value: int) -> bool | None:
        """Look at the session after a checkpoint is written.

        Args:
            session: the session.
            global_step_value: the step.

        Returns:
            Whether to stop.
        """
        return None

    def end(self, session: Session, global_step_value: int) -> None:
        """Look at the session a last time.

        Args:
            session: the session.
            global_step_value: the step.
        """


class CheckpointSaverHook(SessionRunHook):
    """Write checkpoints at intervals of steps or of seconds, at the start of the session, and at its end.

    Args:
        checkpoint_dir: their directory.
        save_secs: the seconds from one to the next.
        save_steps: the steps from one to the next.
        saver: what writes them; by default one for all variables.
        checkpoint_basename: what their names begin with.
        scaffold: whose saver is taken where none is given.
        listeners: what is done around the writing.
        save_graph_def: accepted and ignored: a program makes its graph.

    Raises:
        ValueError: where both a saver and a scaffold are given.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("at most one of arguments 'saver' and 'scaffold' may be given")
        self._saver, self._scaffold, self._listeners = saver, scaffold, list(listeners or ())
        self._checkpoint_dir = os.fspath(checkpoint_dir)
        self._path = str(Path(self._checkpoint_dir) / checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step = _step()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Any) -> None:
        write_graph(session.graph, self._checkpoint_dir, "graph.pbtxt")
        step = int(session.run(self._global_step))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._global_step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: Session) -> None:
        last = int(session.run(self._global_step))
        if last != self._timer.last_triggered_step():
            self._save(session, last)
        for listener in self._listeners:
            listener.end(session, last)

    def _save(self, session: Session, step: int) -> bool:
        """Writes a checkpoint; gives whether a listener asks to stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        self._found().save(session, self._path, global_step=step)
        stops = [listener.after_save(session, step) for listener in self._listeners]
        return any(stops)

    def _found(self) -> Saver:
        if self._saver is None:
            if self._scaffold is not None:
                self._saver = self._scaffold.saver
            else:
                given = get_collection("savers")
                self._saver = given[0] if given else Saver()
        assert self._saver is not None
        return self._saver


class GlobalStepWaiterHook(SessionRunHook):
    """Waits before the first run until the step counter, which others advance, is at a step.

    Args:
        wait_until_step: the step.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._is_there = False
        self._global_step = _step()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        pause = 0.001
        while not self._is_there:
            self._is_there = int(run_context.session.run(self._global_step)) >= self._wait_until_step
            if not self._is_there:
                time.sleep(pause)
                pause = min(2.0 * pause, 0.5)
        return None


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end.

    Args:
        final_ops: what is fetched: an operation, a tensor, or a nest of them.
        final_ops_feed_dict: what is fed for that.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._final_ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self) -> Any:
        """What they gave; None before the end."""
        return self._values

    def end(self, session: Session) -> None:
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what a function gives, for each run.

    Args:
        feed_fn: gives a dict of values by tensors.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
