"""`tf.train.Checkpoint`: the values of objects, in TensorFlow's files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import _core
from penstock._runtime import v1_graph_state
from penstock._saving.checkpoint_state import record
from penstock._saving.object_graph import edges, objects_of, tensors_of
from penstock._saving.restore import CheckpointLoadStatus, restoration_of
from penstock._saving.shard_files import object_graph, write_shards
from penstock._saving.sharding import (
    GRAPH_KEY,
    ShardableTensor,
    ShardingCallback,
    Written,
    divided,
    extents_of,
)
from penstock._saving.trackables import is_function, is_trackable
from penstock._types.argument_names import expect, path_of
from penstock._values.module import Module, changed
from penstock._values.variable import SaveSliceInfo, Variable

__all__ = ["Checkpoint", "CheckpointOptions"]


@dataclass
class CheckpointOptions:
    """How a checkpoint is written.

    Attributes:
        experimental_io_device: accepted and ignored.
        experimental_enable_async_checkpoint: the old name of `enable_async`.
        experimental_write_callbacks: functions that are called when a checkpoint is on the disk, with its
            path if they take an argument.
        enable_async: whether files are written by a thread in the background: values are those of the moment
            of saving, and `Checkpoint.sync` waits.
        experimental_skip_slot_variables: accepted and ignored.
        experimental_sharding_callback: what divides the tensors among files, such as a
            `tf.train.experimental.MaxShardSizePolicy`; by default all are in one.

    >>> import penstock as tf
    >>> tf.train.CheckpointOptions(enable_async=True).enable_async
    True
    """

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool = False
    experimental_write_callbacks: list[Callable[..., object]] | None = None
    enable_async: bool = False
    experimental_skip_slot_variables: bool = False
    experimental_sharding_callback: ShardingCallback | None = None

    @property
    def _in_background(self) -> bool:
        return self.enable_async or self.experimental_enable_async_checkpoint


# What a checkpoint holds for itself.
_OWN = frozenset({"_root", "_counter", "_writing"})


class Checkpoint:
    """Saves the values of objects and restores them.

    These are variables, modules, optimisers, lists, dicts, random generators and iterators of data sets.
    Values are found by the names of what objects own, from this object on: the attributes of modules, keys,
    positions. What an object does not own yet when values are restored gets its value when it comes: a
    variable that a module makes in its first call, what an optimiser keeps for a variable. Files are
    TensorFlow's: each of the two reads what the other has written.

    Args:
        root: an object whose parts are found as if they were this object's own.
        **kwargs: objects by names.

    Attributes:
        save_counter: how often `save` was called, once it was: an `int64` variable.

    Raises:
        ValueError: for an object that owns nothing, or a name that `root` has for something else.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> step, weights = tf.Variable(1), [tf.Variable([1.0, 2.0])]
    >>> path = tf.train.Checkpoint(step=step, weights=weights).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
    >>> restored = tf.Variable([0.0, 0.0])
    >>> _ = tf.train.Checkpoint(weights=[restored]).restore(path)
    >>> restored.numpy()
    array([1., 2.], dtype=float32)
    """

    _counter: Variable | None
    _root: Any

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        for name, value in {"root": root, **kwargs}.items():
            owns = isinstance(value, list | tuple | dict | Module | Checkpoint) or is_trackable(value)
            if not (owns and not is_function(value)) and not (name == "root" and value is None):
                raise ValueError(
                    f"argument '{name}' must be a variable, or an object that owns variables, got {value!r}"
                )
        owned = {} if root is None else dict(edges(root))
        for name, value in kwargs.items():
            if owned.get(name, value) is not value:
                raise ValueError(f"argument '{name}' is not what 'root' has under that name")
        self.__dict__.update(_root=root, _counter=None, _writing=None)
        for name in sorted(kwargs):
            setattr(self, name, kwargs[name])

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        changed(self)

    def _trackable_children(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name not in _OWN}
        counter = {} if self._counter is None else {"save_counter": self._counter}
        return {**({} if self._root is None else dict(edges(self._root))), **own, **counter}

    @property
    def save_counter(self) -> Variable:
        """How often `save` was called."""
        if self._counter is None:
            with _core._Outside():
                self._counter = Variable(0, trainable=False, dtype=_core.int64, name="save_counter")
        counter: Variable = self._counter
        return counter

    def write(self, file_prefix: str | os.PathLike[str], options: CheckpointOptions | None = None) -> str:
        """Write the values under a path as it is, without counting.

        Args:
            file_prefix: the path, to which endings are added.
            options: how it is written.

        Returns:
            The path.

        Raises:
            NotFoundError: where the directory cannot be made.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "values")
        >>> tf.train.Checkpoint(v=tf.Variable(1.0)).write(path) == path
        True
        """
        return self._write(path_of(file_prefix, "file_prefix"), options, lambda: None)

    def save(self, file_prefix: str | os.PathLike[str], options: CheckpointOptions | None = None) -> str:
        """Write the values under a path with a number, and note it as the latest of its directory.

        Args:
            file_prefix: the path, to which `-` and the number are added.
            options: how it is written.

        Returns:
            The path with the number, for `restore`.

        Raises:
            NotFoundError: where the directory cannot be made.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> checkpoint, directory = tf.train.Checkpoint(v=tf.Variable(1.0)), tempfile.mkdtemp()
        >>> path = checkpoint.save(os.path.join(directory, "ckpt"))
        >>> path == tf.train.latest_checkpoint(directory), os.path.basename(path)
        (True, 'ckpt-1')
        """
        prefix = path_of(file_prefix, "file_prefix")
        with _core._Outside():
            self.save_counter.assign_add(1)
            path = f"{prefix}-{int(self.save_counter.numpy())}"
        return self._write(path, options, lambda: record(Path(path).parent, path, [path]))

    def _write(self, path: str, options: CheckpointOptions | None, then: Callable[[], None]) -> str:
        if options is None:
            options = CheckpointOptions()
        expect(options, CheckpointOptions, "options", "a CheckpointOptions")
        self.sync()
        session = None if v1_graph_state.current() is None else v1_graph_state.session(None)
        with _core._Outside():
            found = objects_of(self)
            owned = [(key, parts, item.value) for item in found for key, parts in tensors_of(item, session)]
        nodes: list[_core._Object] = [(item.children, list(item.attributes), []) for item in found]
        tensors = [(key, parts) for key, parts, _ in owned]
        callback = options.experimental_sharding_callback
        files = None if callback is None else _files(callback, owned, nodes)

        def write() -> None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            if files is None:
                _core._write_bundle(path, tensors, nodes)
            else:
                write_shards(path, *files)
            then()
            for callback in options.experimental_write_callbacks or ():
                _call_back(callback, path)

        if options._in_background:
            self.__dict__["_writing"] = _Background(write)
        else:
            write()
        return path

    def sync(self) -> None:
        """Wait until what is written in the background is on the disk.

        Raises:
            Exception: what went wrong while it was written.

        >>> import penstock as tf
        >>> tf.train.Checkpoint().sync()
        """
        writing = self.__dict__["_writing"]
        if writing is not None:
            self.__dict__["_writing"] = None
            writing.wait()

    def read(
        self, save_path: str | os.PathLike[str], options: CheckpointOptions | None = None
    ) -> CheckpointLoadStatus:
        """Restore what `write` wrote.

        Args:
            save_path: the path.
            options: accepted and ignored.

        Returns:
            What was restored, to check.

        Raises:
            NotFoundError: where there is no such file.
            DataLossError: for one that is damaged.
            ValueError: for a value of another shape or dtype than its variable, which names both.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> v, path = tf.Variable(1.0), os.path.join(tempfile.mkdtemp(), "values")
        >>> checkpoint = tf.train.Checkpoint(v=v)
        >>> _ = checkpoint.write(path)
        >>> _ = v.assign(5.0)
        >>> _ = checkpoint.read(path).assert_consumed()
        >>> float(v)
        1.0
        """
        self.sync()
        restoration = restoration_of(save_path)
        with _core._Outside():
            restoration.match(self, 0)
        return CheckpointLoadStatus(restoration, self)

    def restore(
        self, save_path: str | os.PathLike[str] | None, options: CheckpointOptions | None = None
    ) -> CheckpointLoadStatus:
        """Restore what `save` saved; the count goes on from there.

        Args:
            save_path: the path that `save` gave; None does nothing.
            options: accepted and ignored.

        Returns:
            What was restored, to check.

        Raises:
            NotFoundError: where there is no such file.
            DataLossError: for one that is damaged.
            ValueError: for a value of another shape or dtype than its variable, which names both.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> v = tf.Variable(1.0)
        >>> path = tf.train.Checkpoint(v=v).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> _ = v.assign(5.0)
        >>> _ = tf.train.Checkpoint(v=v).restore(path).assert_consumed()
        >>> float(v)
        1.0
        """
        if save_path is None:
            return CheckpointLoadStatus(None, self)
        status = self.read(save_path)
        # The counter is made now, so that the file has an object for its value.
        if status._restoration is not None and status._restoration.has_counter:
            _ = self.save_counter
        return status


def _files(
    callback: Any, owned: list[tuple[str, list[_core.Tensor], Any]], nodes: list[_core._Object]
) -> tuple[int, dict[str, Written]]:
    """How many files a callback makes, and which tensors are in them."""
    expect(callback, ShardingCallback, "experimental_sharding_callback", "a ShardingCallback")
    tensors = []
    for key, parts, owner in [*owned, (GRAPH_KEY, [object_graph(nodes)], None)]:
        begin, rows = 0, sum(extents_of(part)[0] for part in parts) if len(parts) > 1 else 0
        for part in parts:
            spec, extents = "", extents_of(part)
            if len(parts) > 1:
                places = [begin, *[0] * (len(extents) - 1)]
                spec = SaveSliceInfo(key, [rows, *extents[1:]], places, extents).spec
                begin += extents[0]
            name = getattr(owner, "_name", key) if isinstance(owner, _core._Variable) else key
            tensors.append(
                ShardableTensor(None, part, part.dtype, part.device, name, part.shape, spec, key, owner)
            )
    with _core._Outside():
        return divided(tensors, callback)


def _call_back(callback: Callable[..., object], path: str) -> None:
    import inspect  # start-up does without it

    if inspect.signature(callback).parameters:
        callback(path)
    else:
        callback()


class _Background:
    """Work of a thread of its own."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name="checkpoint")
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        """Waits for the end, and raises what went wrong."""
        self._thread.join()
        if self._error is not None:
            raise self._error
