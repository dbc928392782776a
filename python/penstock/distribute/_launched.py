"""What a process knows that `launch` has started, and steps that survive the end of other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import penstock.errors as errors
from penstock import _core
from penstock._saving.checkpoint import Checkpoint
from penstock._saving.object_graph import objects_of
from penstock._saving.trackables import is_keras_optimizer
from penstock._values.variable import Variable
from penstock.data import Iterator
from penstock.distribute._group import Listener, ProcessGroup
from penstock.distribute.cluster_resolver import SimpleClusterResolver
from penstock.optimizers import Optimizer

if TYPE_CHECKING:
    from penstock._saving.checkpoint_manager import CheckpointManager

__all__ = ["Membership", "Worker", "run_steps", "set_worker", "worker"]


class Membership(NamedTuple):
    """Who belongs to a group, and which member a process is.

    Attributes:
        members: the addresses of all.
        rank: the number of this process.
        generation: how many groups there were before.
    """

    members: list[str]
    rank: int
    generation: int


class Worker:
    """A process that `launch` has started.

    Args:
        address: where it listens, as `"host:port"`; port 0 stands for a free one.
        timeout: for how many seconds another process may be silent.
        varies: whether groups may have other numbers of members.
    """

    def __init__(self, address: str, timeout: float, varies: bool = False) -> None:
        self.listener = Listener(address)
        self.timeout, self._varies = timeout, varies
        self.state = "starting"
        self._changed = threading.Condition()
        self._next: Membership | None = None
        self._membership: Membership | None = None
        self._group: ProcessGroup | None = None

    def assign(self, membership: Membership) -> None:
        """Tells of a new group; another thread joins it when it needs one."""
        with self._changed:
            self._next = membership
            self._changed.notify_all()
            stale = self._group if self.state == "running" else None
        if stale is not None:
            # A thread that waits in the old group would wait for a process that has ended.
            stale.abort("another group takes its place")

    @property
    def generation(self) -> int:
        """The number of the group that it belongs to; -1 for none."""
        return -1 if self._membership is None else self._membership.generation

    @property
    def group(self) -> ProcessGroup:
        """Its group."""
        return self._join() if self._group is None else self._group

    @property
    def is_late(self) -> bool:
        """Whether it takes the place of a process that ended."""
        assigned = self._membership or self._next
        return assigned is not None and assigned.generation > 0

    def _join(self) -> ProcessGroup:
        """Waits for a group other than that of before, and joins it."""
        before, self.state = self.generation, "waiting"
        with self._changed:
            self._changed.wait_for(lambda: self._next is not None and self._next.generation > before)
            found = self._next
        assert found is not None
        if self._group is None:
            self._group = ProcessGroup(
                found.members,
                found.rank,
                timeout=self.timeout,
                listener=self.listener,
                generation=found.generation,
            )
            if self._varies:
                self._group._vary()
        else:
            self._group.rejoin(found.members, found.rank, found.generation)
        with self._changed:
            self._membership, self.state = found, "running"
            latest = self._next
        if latest is not found:
            self._group.abort("another group takes its place")
        return self._group

    def recover(self) -> None:
        """Goes on in the next group."""
        # Who waits for this process finds out at once.
        self.group.abort("another process cannot be reached")
        self._join()

    def resolver(self) -> SimpleClusterResolver:
        """The addresses of its group."""
        group = self.group
        return SimpleClusterResolver({"worker": list(group.members)}, task_type="worker", task_id=group.rank)


class _Current:
    worker: Worker | None = None


def worker() -> Worker | None:
    """What this process knows of the others, where `launch` has started it."""
    return _Current.worker


def set_worker(found: Worker | None) -> None:
    """Says that `launch` has started this process."""
    _Current.worker = found


def run_steps(
    step: Callable[[], object],
    counter: Variable,
    until: int,
    state: Mapping[str, Any],
    manager: CheckpointManager | None = None,
    save_every: int = 0,
) -> None:
    """Make steps until a counter has a value, and go on where another process ends.

    Where a process of `tf.distribute.launch` ends or cannot be reached, the others keep their state. One
    takes the place of what ended, and all begin with the state of the process that has made the most steps.
    A step is all or nothing where it combines gradients before it changes a variable, as optimizers do. So
    the variables are in the end what they are in an undisturbed run. Where no process is left, the steps go
    on from the last checkpoint.

    Args:
        step: makes a step, and adds 1 to the counter at its end.
        counter: a scalar integer variable: how many steps have been made.
        until: the value at which the steps end.
        state: all that steps change, by names for a `tf.train.Checkpoint`: models, optimizers, iterators of
            data sets, generators of random numbers. The counter needs not be among it.
        manager: a `tf.train.CheckpointManager` of a checkpoint of the same state, with the counter as
            `counter`.
        save_every: after how many steps the first process saves; 0 for never.

    Raises:
        RuntimeError: where a step does not add to the counter.
        UnavailableError: where another process cannot be reached and `launch` has not started this one.

    >>> import penstock as tf
    >>> count, total = tf.Variable(0), tf.Variable(0)
    >>> def step():
    ...     total.assign_add(count + 1)
    ...     count.assign_add(1)
    >>> tf.distribute.run_steps(step, count, 4, {"total": total})
    >>> int(total)
    10
    """
    own = worker()
    checkpoint = Checkpoint(counter=counter, **state)
    undo = _Undo(checkpoint)
    if manager is not None and manager.latest_checkpoint and int(counter) == 0:
        checkpoint.restore(manager.latest_checkpoint)
    fresh = own is not None
    while True:
        try:
            if own is not None and fresh:
                _agree(own.group, checkpoint, counter)
                fresh = False
            if int(counter) >= until:
                if own is not None:
                    # Nobody leaves while others may have to begin with its state.
                    own.group.barrier()
                return
            made = int(counter)
            if own is not None:
                undo.note()
            step()
            undo.forget()
            if int(counter) <= made:
                raise RuntimeError("argument 'step' must add to the counter at the end of each step")
        except errors.UnavailableError:
            if own is None:
                raise
            undo.back()
            own.recover()
            fresh = True
            continue
        first = own is None or own.group.rank == 0
        if manager is not None and save_every and first and int(counter) % save_every == 0:
            manager.save(checkpoint_number=int(counter))


class _Undo:
    """What a step changes before it combines gradients, which is all that a step that fails has changed.

    That is all but what is trained, and what belongs to optimizers: moving means, metrics, generators of
    random numbers, the places of iterators.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._steps = 0
        self._variables: list[Variable] = []
        self._iterators: list[Any] = []
        self._values: list[Any] = []
        self._places: list[Any] = []

    def note(self) -> None:
        """Notes what there is before a step."""
        if self._steps < 2:
            # The first step may make some.
            self._find()
        self._steps += 1
        self._values = [variable.value() for variable in self._variables]
        self._places = [iterator._save_state()[0] for iterator in self._iterators]

    def _find(self) -> None:
        objects = objects_of(self._checkpoint)
        owners = [x.path for x in objects if isinstance(x.value, Optimizer) or is_keras_optimizer(x.value)]
        early = [x.value for x in objects if not any(x.path[: len(path)] == path for path in owners)]
        variables = [x for x in early if isinstance(x, Variable)]
        self._variables = [x for x in variables if not (x.trainable and x.dtype.is_floating)]
        self._iterators = [x for x in early if isinstance(x, Iterator)]

    def back(self) -> None:
        """Gives everything the value that it had before the step."""
        for variable, value in zip(self._variables, self._values, strict=False):
            variable.assign(value)
        for iterator, place in zip(self._iterators, self._places, strict=False):
            iterator._restore_state(place)
        self.forget()

    def forget(self) -> None:
        """Forgets what was noted: the step is made."""
        self._values, self._places = [], []


def _agree(group: ProcessGroup, checkpoint: Checkpoint, counter: Variable) -> None:
    """Has all processes begin with the state of the one that has made the most steps."""
    made = group.all_gather(_core._to_tensor([int(counter)])).numpy().tolist()
    root = made.index(max(made))
    content = _written(checkpoint) if group.rank == root else {}
    names = _sent(group, "\n".join(sorted(content)).encode(), root).decode().split("\n")
    files = {name: _sent(group, content.get(name, b""), root) for name in names if name}
    if group.rank != root:
        import tempfile  # slow to load, as is the next
        from pathlib import Path  # see above

        with tempfile.TemporaryDirectory() as folder:
            for name, data in files.items():
                (Path(folder) / name).write_bytes(data)
            checkpoint.read(str(Path(folder) / "state"))


def _written(checkpoint: Checkpoint) -> dict[str, bytes]:
    """The files of a checkpoint."""
    import tempfile  # slow to load, as is the next
    from pathlib import Path  # see above

    with tempfile.TemporaryDirectory() as folder:
        checkpoint.write(str(Path(folder) / "state"))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def _sent(group: ProcessGroup, data: bytes, root: int) -> bytes:
    """Bytes of one process, for all."""
    import numpy as np  # not loaded with the package

    size = int(group.broadcast(_core._to_tensor(len(data), _core.int64), root))
    array = np.zeros(size, np.uint8)
    if group.rank == root:
        array[:] = np.frombuffer(data, np.uint8)
    found: bytes = group.broadcast(_core._to_tensor(array), root).numpy().tobytes()
    return found
