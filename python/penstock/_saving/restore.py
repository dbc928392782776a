"""Values of a checkpoint for objects that are there, and for those that come later.

The objects of the program and those of the file are walked over together, by the names of what they own. What
the file has and an object does not own yet waits: modules, optimisers and checkpoints say when they own
something new (`penstock._values.module.changed`).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

from penstock import _core, raw_ops
from penstock._saving.checkpoint_reader import Bundle
from penstock._saving.object_graph import edges, ends_of, is_container, objects_of
from penstock._types.argument_names import path_of
from penstock._values.module import waiting

__all__ = ["CheckpointLoadStatus", "Restoration"]


class Restoration:
    """One file, and what of it was given to objects.

    Args:
        path: the prefix of the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: str = path_of(path, "save_path")
        self.reader: Bundle = Bundle(self.path)
        self.nodes: list[Any] = self.reader.objects() or [([], [], [])]
        if self.reader.objects() is None:
            raise ValueError(
                f"{self.path} says nothing of objects: it was not written by tf.train.Checkpoint; read it by "
                "tf.train.load_checkpoint"
            )
        # What gives the object of each number, while the program keeps it; nothing, of a container.
        self.matched: dict[int, Callable[[], Any]] = {}

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
                    value._assign(_fitting(states[0], value.dtype))
                else:
                    value._restore_state(*states)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{self.path}: cannot restore '{key}': {error}") from None

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


class CheckpointLoadStatus:
    """What came of restoring.

    Args:
        restoration: what was restored; None where there was nothing to restore.
        root: the object that it was restored to.
    """

    def __init__(self, restoration: Restoration | None, root: Any) -> None:
        self._restoration, self._root = restoration, root

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
        restored = self._restoration.objects()
        left = [
            attribute.key
            for owner in objects_of(self._root)
            for attribute in owner.attributes
            if id(owner.value) not in restored
        ]
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
        if self._restoration is not None and not any(number for number in self._restoration.matched):
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

    def initialize_or_restore(self, session: object = None) -> None:
        """Do nothing: values are restored at once.

        Args:
            session: accepted and ignored.

        >>> import penstock as tf
        >>> tf.train.Checkpoint().restore(None).initialize_or_restore()
        """

    def run_restore_ops(self, session: object = None) -> None:
        """Do nothing: values are restored at once.

        Args:
            session: accepted and ignored.

        >>> import penstock as tf
        >>> tf.train.Checkpoint().restore(None).run_restore_ops()
        """


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
