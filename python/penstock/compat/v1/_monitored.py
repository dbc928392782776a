"""Monitored sessions of TensorFlow 1: they begin with checkpoints, run hooks, and stop when one says so."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock import _core
from penstock.compat.v1._graph import get_collection, get_default_graph, group
from penstock.compat.v1._session import Session
from penstock.compat.v1._session_hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
    SummarySaverHook,
)
from penstock.compat.v1._training import Saver
from penstock.compat.v1._variables import global_variables_initializer, local_variables_initializer
from penstock.compat.v1.summary import merge_all
from penstock.errors import OutOfRangeError

__all__ = [
    "ChiefSessionCreator",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "Scaffold",
    "SessionCreator",
    "SingularMonitoredSession",
]

# The value of an argument that was left out, where None says something.
_DEFAULT: Any = object()


def _kept(key: str, make: Callable[[], Any]) -> Any:
    """What a collection holds; where it holds nothing, what is made and put there."""
    found = get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        get_default_graph().add_to_collection(key, made)
    return made


class Scaffold:
    """What a session needs to begin: operations that give variables their values, a saver, summaries.

    Args:
        init_op: gives global variables their first values; by default for all of the graph.
        init_feed_dict: what is fed for that.
        init_fn: a function of the scaffold and the session, which is called after it.
        ready_op: accepted and ignored.
        ready_for_local_init_op: accepted and ignored.
        local_init_op: gives local variables their first values; by default for all of the graph.
        summary_op: the summaries; by default all of the graph.
        saver: writes and reads checkpoints; by default of all variables.
        copy_from_scaffold: another one, which has what is not given here.
        local_init_feed_dict: what is fed for `local_init_op`.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1.0)
    ...     tf.compat.v1.train.Scaffold().finalize().init_op.type
    'NoOp'
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[..., Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        def given(value: Any, name: str) -> Any:
            return (
                value
                if value is not None or copy_from_scaffold is None
                else getattr(copy_from_scaffold, name)
            )

        self._init_op = given(init_op, "_init_op")
        self._init_feed_dict = given(init_feed_dict, "_init_feed_dict")
        self._init_fn = given(init_fn, "_init_fn")
        self._local_init_op = given(local_init_op, "_local_init_op")
        self._local_init_feed_dict = given(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op = given(summary_op, "_summary_op")
        self._saver = given(saver, "_saver")

    def finalize(self) -> Scaffold:
        """Make what was not given, for the default graph.

        Returns:
            The scaffold.
        """
        self._init_op = self._init_op or group(
            global_variables_initializer(), *get_collection("resources"), name="init"
        )
        self._local_init_op = self._local_init_op or local_variables_initializer()
        if self._summary_op is None:
            self._summary_op = _kept("summary_op", merge_all)
        if self._saver is None:
            self._saver = _kept("savers", lambda: Saver(allow_empty=True, defer_build=True))
        return self

    @property
    def init_op(self) -> Any:
        """The operation that gives global variables their first values."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What is fed for it."""
        return self._init_feed_dict

    @property
    def init_fn(self) -> Any:
        """The function that is called after it."""
        return self._init_fn

    @property
    def local_init_op(self) -> Any:
        """The operation that gives local variables their first values."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """What is fed for it."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """The summaries, or None."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """What writes and reads checkpoints."""
        return self._saver


class SessionCreator(abc.ABC):
    """An interface: makes sessions for monitored ones."""

    @abc.abstractmethod
    def create_session(self) -> Session:
        """Make a session whose variables have their values.

        Returns:
            The session.
        """


class ChiefSessionCreator(SessionCreator):
    """Makes sessions that begin with the latest checkpoint, or without one with first values.

    Args:
        scaffold: what they begin with.
        master: accepted and ignored.
        config: accepted and ignored.
        checkpoint_dir: the directory of checkpoints.
        checkpoint_filename_with_path: a checkpoint, in place of the latest one of a directory.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._checkpoint_dir, self._checkpoint = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Make a session whose variables have their values.

        Returns:
            The session.
        """
        from penstock.train import latest_checkpoint  # which is above this in the package

        scaffold = self._scaffold.finalize()
        session = Session()
        found = self._checkpoint
        if found is None and self._checkpoint_dir is not None:
            found = latest_checkpoint(os.fspath(self._checkpoint_dir))
        if found is not None:
            scaffold.saver.restore(session, found)
        else:
            session.run(scaffold.init_op, feed_dict=scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(scaffold, session)
        session.run(scaffold.local_init_op, feed_dict=scaffold.local_init_feed_dict)
        return session


class _StepContext:
    """What a function gets that runs one step by itself.

    Attributes:
        session: the session without hooks.
    """

    def __init__(self, monitored: MonitoredSession) -> None:
        self._monitored = monitored
        self.session = monitored._inner

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run as `MonitoredSession.run`."""
        return self._monitored.run(*args, **kwargs)

    def request_stop(self) -> None:
        """Have the session stop."""
        self._monitored._coordinator.request_stop()
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession:
    """A session whose runs have hooks.

    Errors `OutOfRangeError` and `StopIteration` end it: they do not leave its block. Its graph is that which
    was open when it was made, which is finished then.

    Args:
        session_creator: makes the session.
        hooks: the hooks.
        stop_grace_period_secs: accepted and ignored.

    >>> import penstock as tf
    >>> train = tf.compat.v1.train
    >>> with tf.Graph().as_default():
    ...     step = train.get_or_create_global_step()
    ...     advance = step.assign_add(1)
    ...     with train.MonitoredSession(hooks=[train.StopAtStepHook(last_step=3)]) as session:
    ...         while not session.should_stop():
    ...             last = session.run(advance)
    >>> int(last)
    3
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        from penstock.train import Coordinator  # which is above this in the package

        self._graph = get_default_graph()
        self._hooks = list(hooks or ())
        self._coordinator = Coordinator()
        for hook in self._hooks:
            hook.begin()
        creator = session_creator or ChiefSessionCreator()
        self._inner: Session | None = creator.create_session()
        self._graph.finalize()
        for hook in self._hooks:
            hook.after_create_session(self._inner, self._coordinator)

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> bool:
        ended = kind is not None and issubclass(kind, OutOfRangeError | StopIteration)
        self._close(kind is None or ended)
        return ended

    def should_stop(self) -> bool:
        """Tell whether a hook asked to stop, or the session is closed.

        Returns:
            Whether it is so.
        """
        return self._inner is None or bool(self._coordinator.should_stop())

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run as `Session.run`, and beside it what hooks fetch.

        Args:
            fetches: what is fetched.
            feed_dict: what is fed.
            options: accepted and ignored.
            run_metadata: accepted and ignored.

        Returns:
            The values of `fetches`.

        Raises:
            RuntimeError: where the session is closed, or hooks feed one tensor in two ways.
        """
        session = self._open()
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), session)
        asked = [hook.before_run(context) for hook in self._hooks]
        fed: dict[Any, Any] = {}
        for feeds in (feed_dict, *(args.feed_dict for args in asked if args is not None)):
            for tensor, value in (feeds or {}).items():
                key = tensor.ref() if isinstance(tensor, _core.Tensor) else tensor
                if key in fed:
                    raise RuntimeError(f"{tensor!r} is fed twice: by hooks, or by a hook and the caller")
                fed[key] = value
        wanted = {"": fetches}
        for place, args in enumerate(asked):
            if args is not None and args.fetches is not None:
                wanted[str(place)] = args.fetches
        found = session.run(wanted, feed_dict=fed)
        for place, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(found.get(str(place))))
        if context.stop_requested:
            self._coordinator.request_stop()
        return found[""]

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call a function that runs a step by itself.

        Args:
            step_fn: takes a `step_context` with `session`, `run_with_hooks` and `request_stop`.

        Returns:
            What it gives.
        """
        self._open()
        return step_fn(_StepContext(self))

    def close(self) -> None:
        """End the session, hooks first."""
        self._close(True)

    def _open(self) -> Session:
        if self._inner is None:
            raise RuntimeError("Run called even after should_stop requested.")
        return self._inner

    def _close(self, well: bool) -> None:
        if self._inner is None:
            return
        try:
            if well:
                for hook in self._hooks:
                    hook.end(self._inner)
        finally:
            self._coordinator.request_stop()
            self._inner.close()
            self._inner = None


class SingularMonitoredSession(MonitoredSession):
    """A monitored session that also gives the session that it is made of.

    Args:
        hooks: the hooks.
        scaffold: what it begins with.
        master: accepted and ignored.
        config: accepted and ignored.
        checkpoint_dir: the directory of checkpoints to begin with.
        stop_grace_period_secs: accepted and ignored.
        checkpoint_filename_with_path: a checkpoint to begin with.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Session | None:
        """Find the session without hooks.

        Returns:
            The session; None after the end.
        """
        return self._inner


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | os.PathLike[str] | None = None,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = _DEFAULT,
    save_summaries_steps: Any = _DEFAULT,
    save_summaries_secs: Any = _DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _DEFAULT,
    summary_dir: str | os.PathLike[str] | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Make a monitored session that writes checkpoints and summaries, and begins with the latest checkpoint.

    Args:
        master: accepted and ignored.
        is_chief: whether it writes; one that does not only runs `hooks`.
        checkpoint_dir: the directory of checkpoints; without one none are written.
        scaffold: what the session begins with.
        hooks: the hooks.
        chief_only_hooks: hooks for a session that writes.
        save_checkpoint_secs: the seconds from one checkpoint to the next; 600 where nothing is said.
        save_summaries_steps: the steps from one summary to the next; 100 where nothing is said.
        save_summaries_secs: the seconds from one summary to the next.
        config: accepted and ignored.
        stop_grace_period_secs: accepted and ignored.
        log_step_count_steps: the steps from one count of steps by the second to the next; None for none.
        max_wait_secs: accepted and ignored.
        save_checkpoint_steps: the steps from one checkpoint to the next.
        summary_dir: the directory of summaries; by default `checkpoint_dir`.
        save_graph_def: accepted and ignored.

    Returns:
        The session.

    >>> import tempfile
    >>> import penstock as tf
    >>> train = tf.compat.v1.train
    >>> def steps(folder):
    ...     with tf.Graph().as_default():
    ...         advance = train.get_or_create_global_step().assign_add(1)
    ...         with train.MonitoredTrainingSession(checkpoint_dir=folder) as session:
    ...             return int(session.run(advance))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     steps(folder), steps(folder)
    (1, 2)
    """
    scaffold = scaffold or Scaffold()
    every = list(hooks or ())
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    if not is_chief:
        return MonitoredSession(creator, every, stop_grace_period_secs)
    if save_checkpoint_secs is _DEFAULT:
        save_checkpoint_secs = 600 if save_checkpoint_steps is _DEFAULT else None
    save_checkpoint_steps = None if save_checkpoint_steps is _DEFAULT else save_checkpoint_steps
    if save_summaries_steps is _DEFAULT:
        save_summaries_steps = 100 if save_summaries_secs is _DEFAULT else None
    save_summaries_secs = None if save_summaries_secs is _DEFAULT else save_summaries_secs
    folder = summary_dir or checkpoint_dir
    every += chief_only_hooks or ()
    if folder is not None:
        if log_step_count_steps:
            every.append(StepCounterHook(log_step_count_steps, output_dir=folder))
        if save_summaries_steps or save_summaries_secs:
            every.append(
                SummarySaverHook(save_summaries_steps, save_summaries_secs, folder, scaffold=scaffold)
            )
    if checkpoint_dir is not None and (save_checkpoint_secs or save_checkpoint_steps):
        every.append(
            CheckpointSaverHook(
                checkpoint_dir, save_checkpoint_secs, save_checkpoint_steps, scaffold=scaffold
            )
        )
    return MonitoredSession(creator, every, stop_grace_period_secs)
