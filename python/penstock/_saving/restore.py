"""Values of a checkpoint for objects that are there, and for those that come later.

The objects of the program and those of the file are walked over together, by the names of what they own. What
the file has and an object does not own yet waits: modules, optimisers and checkpoints say when they own
something new (`penstock._values.module.changed`). A file of TensorFlow 1 knows no objects: its values are for
variables of their names.

In a graph of TensorFlow 1 variables have values in sessions: those of the file wait for one.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

from penstock import _core, raw_ops
from penstock._runtime import v1_graph_state
from penstock._saving.checkpoint_reader import Bundle
from penstock._saving.object_graph import edges, ends_of, is_container, objects_of
from penstock._types.argument_names import path_of
from penstock._values.module import waiting

__all__ = ["CheckpointLoadStatus", "Restoration", "restoration_of"]


def restoration_of(path: str | os.PathLike[str]) -> Restoration:
    """A file for objects, or for variables by their names where it says nothing of objects."""
    path = path_of(path, "save_path")
    reader = Bundle(path)
    nodes = reader.objects()
    return _Names(path, reader) if nodes is None else Restoration(path, reader, nodes)


class Restoration:
    """One file, and what of it was given to objects.

    Args:
        path: the prefix of the file.
        reader: what reads its tensors.
        nodes: what it says of objects.
    """

    def __init__(self, path: str, reader: Bundle, nodes: list[Any]) -> None:
        self.path, self.reader, self.nodes = path, reader, nodes
        # What gives the object of each number, while the program keeps it; nothing, of a container.
        self.matched: dict[int, Callable[[], Any]] = {}
        # In a graph of TensorFlow 1 the values that variables get in each session; else None.
        self._of_sessions: list[tuple[Any, _core.Tensor]] | None = (
            None if v1_graph_state.current() is None else []
        )

    @property
    def has_counter(self) -> bool:
        """Whether `Checkpoint.save` wrote it, which counts."""
        return any(name == "save_counter" for _, name in self.nodes[0][0])

    def run(self, session: Any) -> None:
        """Gives the variables of a graph of TensorFlow 1 their values in a session."""
        for variable, value in self._of_sessions or ():
            session.load(variable, value)

    def match(self, value: Any, number: int, thorough: bool = False) -> None:
        """Gives an object what the file has under a number, and what it owns the same.

        Args:
            value: the object.
            number: its number in the file.
            thorough: whether to look again at what was given its values before.
        """
        # A container cannot say that it has changed: its owner does.
        due = [(value, number, value, number)]
        seen: set[int] = set()
        while due:
            value, number, *owner = due.pop()
            if number in seen:
                continue
            seen.add(number)
            if is_container(value):
                self.matched.setdefault(number, lambda: None)
            else:
                owner = [value, number]
                known = self._object(number)
                if known is None:
                    self.matched[number] = _reference(value)
                    self._give(value, number)
                elif known is not value:
                    continue
            owned = dict(edges(value))
            for child, name in self.nodes[number][0]:
                if name not in owned:
                    waiting.add(owner[0], self, owner[1])
                elif thorough or is_container(owned[name]) or self._object(child) is not owned[name]:
                    due.append((owned[name], child, *owner))

    def _object(self, number: int) -> Any:
        found = self.matched.get(number)
        return None if found is None else found()

    def _give(self, value: Any, number: int) -> None:
        for _, _, key in self.nodes[number][1] if ends_of(value) else []:
            try:
                states = [self.reader.read(key + end) for end in ends_of(value)]
                if isinstance(value, _core._Variable):
                    self._assign(value, _fitting(states[0], value.dtype))
                else:
                    value._restore_state(*states)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{self.path}: cannot restore '{key}': {error}") from None

    def _assign(self, variable: Any, value: _core.Tensor) -> None:
        if self._of_sessions is None or variable.initializer is None:
            variable._assign(value)
            return
        if not variable.shape.is_compatible_with(value.shape):
            raise ValueError(f"the variable has shape {variable.shape}, and the value {value.shape}")
        self._of_sessions.append((variable, value))

    def changed(self, value: Any, number: int) -> None:
        """An object may own more than before."""
        with _core._Outside():
            self.match(value, number)

    def finish(self, root: Any) -> None:
        """Looks at all objects again."""
        with _core._Outside():
            self.match(root, 0, thorough=True)

    def objects(self) -> set[int]:
        """The identities of the objects that have their values from the file."""
        return {id(found()) for found in self.matched.values()}

    def unused(self) -> list[str]:
        """The keys that no object has asked for."""
        return [
            key
            for number, (_, attributes, _) in enumerate(self.nodes)
            for _, _, key in attributes
            if number not in self.matched
        ]


class _Names(Restoration):
    """A file that knows variables by their names alone; any number of them may have one name.

    Args:
        path: the prefix of the file.
        reader: what reads its tensors.
    """

    def __init__(self, path: str, reader: Bundle) -> None:
        super().__init__(path, reader, [([], [], [])])
        self._keys = {key for key, _, _ in reader.entries()}
        self._restored: dict[int, Any] = {}

    def match(self, value: Any, number: int, thorough: bool = False) -> None:
        """Gives the variables that an object owns the values of their names.

        Args:
            value: the object.
            number: any number.
            thorough: accepted and ignored: all are looked at.
        """
        for item in objects_of(value):
            found = item.value
            if not is_container(found):
                waiting.add(found, self, 0)
            named = isinstance(found, _core._Variable) and found._name in self._keys
            if named and id(found) not in self._restored:
                # The variable is kept, so that its identity stays its own.
                self._restored[id(found)] = found
                self._give_named(found)

    def _give_named(self, variable: Any) -> None:
        try:
            self._assign(variable, _fitting(self.reader.read(variable._name), variable.dtype))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self.path}: cannot restore '{variable._name}': {error}") from None

    def objects(self) -> set[int]:
        """The identities of the variables that have their values from the file."""
        return set(self._restored)

    def unused(self) -> list[str]:
        """Nothing: TensorFlow asks only whether each variable has a value."""
        return []


def _left(restoration: Restoration, root: Any) -> list[str]:
    """The keys of the objects that have no value from the file."""
    restored = restoration.objects()
    return [
        attribute.key
        for owner in objects_of(root)
        for attribute in owner.attributes
        if id(owner.value) not in restored
    ]


class CheckpointLoadStatus:
    """What came of restoring.

    Args:
        restoration: what was restored; None where there was nothing to restore.
        root: the object that it was restored to.
    """

    def __init__(self, restoration: Restoration | None, root: Any) -> None:
        self._restoration, self._root = restoration, root
        self._in_graph = v1_graph_state.current() is not None

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Check that all values of the file were restored, and all objects have theirs from it.

        Returns:
            This object.

        Raises:
            AssertionError: where it is not so; it names what is left.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> _ = tf.train.Checkpoint(v=tf.Variable(2.0)).restore(path).assert_consumed()
        """
        if self._restoration is not None:
            self._restoration.finish(self._root)
            unused = self._restoration.unused()
            if unused:
                raise AssertionError(f"{self._restoration.path}: no object has taken {_listed(unused)}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Check that all objects have their values from the file; it may have others for objects to come.

        Returns:
            This object.

        Raises:
            AssertionError: where it is not so; it names the objects.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> tf.train.Checkpoint(w=tf.Variable(2.0)).restore(path).assert_existing_objects_matched()
        Traceback (most recent call last):
        AssertionError: ... has no value for w/.ATTRIBUTES/VARIABLE_VALUE
        """
        if self._restoration is None:
            return self
        self._restoration.finish(self._root)
        left = _left(self._restoration, self._root)
        if left:
            raise AssertionError(f"{self._restoration.path} has no value for {_listed(left)}")
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Check that some object besides the root was restored.

        Returns:
            This object.

        Raises:
            AssertionError: where none was.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> _ = tf.train.Checkpoint(v=tf.Variable(2.0)).restore(path).assert_nontrivial_match()
        """
        if isinstance(self._restoration, _Names):  # of which TensorFlow asks the same each time
            return self.assert_existing_objects_matched()
        if self._restoration is not None and not any(self._restoration.matched):
            raise AssertionError(f"{self._restoration.path}: no object has taken anything")
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Say that the rest of the file is not needed. Nothing is reported about it in any case.

        Returns:
            This object.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(os.path.join(tempfile.mkdtemp(), "ckpt"))
        >>> _ = tf.train.Checkpoint().restore(path).expect_partial()
        """
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Give variables of a graph of TensorFlow 1 their values in a session; elsewhere they have them.

        Those that have no value in the file get their first ones.

        Args:
            session: the session; by default the one that is open.

        Raises:
            ValueError: in a graph, where no session is given or open.

        >>> import penstock as tf
        >>> tf.train.Checkpoint().restore(None).initialize_or_restore()
        """
        if not self._in_graph:
            return
        session = v1_graph_state.session(session)
        self.run_restore_ops(session)
        restored = set() if self._restoration is None else self._restoration.objects()
        left = (owner.value for owner in objects_of(self._root) if id(owner.value) not in restored)
        first = [getattr(value, "initializer", None) for value in left if isinstance(value, _core._Variable)]
        session.run([operation for operation in first if operation is not None])

    def run_restore_ops(self, session: Any = None) -> None:
        """Give variables of a graph of TensorFlow 1 their values in a session; elsewhere they have them.

        Args:
            session: the session; by default the one that is open.

        Raises:
            ValueError: in a graph, where no session is given or open.

        >>> import penstock as tf
        >>> tf.train.Checkpoint().restore(None).run_restore_ops()
        """
        if self._in_graph:
            session = v1_graph_state.session(session)
            if self._restoration is not None:
                self._restoration.run(session)


def _fitting(value: _core.Tensor, dtype: _core.DType) -> _core.Tensor:
    """An integer of another width as one of the variable's, where that holds it.

    Keras counts steps by 32 or 64 bits, as the backend has it.
    """
    if value.dtype == dtype or not (value.dtype.is_integer and dtype.is_integer):
        return value
    cast = raw_ops.cast(value, dtype=dtype)
    same = raw_ops.reduce_all(raw_ops.equal(raw_ops.cast(cast, dtype=value.dtype), value))
    return cast if bool(same) else value


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more
