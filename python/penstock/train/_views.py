"""Graphs of objects to look at: those of a program, and those of a checkpoint."""

from __future__ import annotations

import os
from typing import Any

from penstock._saving.checkpoint_reader import Bundle
from penstock._saving.object_graph import edges
from penstock._types.argument_names import path_of

__all__ = ["CheckpointView", "TrackableView"]


class TrackableView:
    """The objects that one owns, as a checkpoint sees them.

    Args:
        root: the object.

    >>> import penstock as tf
    >>> module = tf.Module()
    >>> module.v = tf.Variable(1.0)
    >>> view = tf.train.TrackableView(module)
    >>> list(view.children(view.root)), len(view.descendants())
    (['v'], 2)
    """

    def __init__(self, root: object) -> None:
        self._root: Any = root

    @property
    def root(self) -> Any:
        """The object."""
        return self._root

    @classmethod
    def children(cls, obj: object, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """List what an object owns.

        Args:
            obj: the object.
            save_type: `"checkpoint"`.
            **kwargs: accepted and ignored.

        Returns:
            The objects by name.

        >>> import penstock as tf
        >>> list(tf.train.TrackableView.children(tf.Module()))
        []
        """
        return dict(edges(obj))

    def descendants(self) -> list[Any]:
        """List the object and all that it owns, what is nearest first.

        Returns:
            The objects.

        >>> import penstock as tf
        >>> len(tf.train.TrackableView(tf.Module()).descendants())
        1
        """
        found, seen = [self._root], {id(self._root)}
        for owner in found:
            for item in self.children(owner).values():
                if id(item) not in seen:
                    seen.add(id(item))
                    found.append(item)
        return found


class CheckpointView:
    """The objects of a checkpoint, by their numbers: 0 is the one that was saved.

    Args:
        save_path: the path of the checkpoint.

    Raises:
        NotFoundError: where there is none.
        ValueError: for one that says nothing of objects.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(os.path.join(tempfile.mkdtemp(), "values"))
    >>> view = tf.train.CheckpointView(path)
    >>> view.children(0), view.descendants()
    ({'v': 1}, [0, 1])
    """

    def __init__(self, save_path: str | os.PathLike[str]) -> None:
        self._path = path_of(save_path, "save_path")
        nodes = Bundle(self._path).objects()
        if nodes is None:
            raise ValueError(
                f"{self._path} says nothing of objects: it was not written by tf.train.Checkpoint"
            )
        self._nodes: list[Any] = nodes

    def children(self, node_id: int) -> dict[str, int]:
        """List what an object owns.

        Args:
            node_id: the number of the object.

        Returns:
            The numbers of the objects by name.

        Raises:
            IndexError: where there is no such object.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(os.path.join(tempfile.mkdtemp(), "values"))
        >>> tf.train.CheckpointView(path).children(1)
        {}
        """
        if not 0 <= node_id < len(self._nodes):
            raise IndexError(f"argument 'node_id' must be from 0 to {len(self._nodes) - 1}, got {node_id}")
        return {name: number for number, name in self._nodes[node_id][0]}

    def descendants(self) -> list[int]:
        """List the numbers of all objects, those that are nearest to the first one first.

        Returns:
            The numbers.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(os.path.join(tempfile.mkdtemp(), "values"))
        >>> tf.train.CheckpointView(path).descendants()
        [0, 1]
        """
        found = [0]
        seen = {0}
        for owner in found:
            for number in self.children(owner).values():
                if number not in seen:
                    seen.add(number)
                    found.append(number)
        return found

    def match(self, obj: object) -> dict[int, Any]:
        """Find the objects of a program that stand where those of the checkpoint do.

        Args:
            obj: the object, or a `TrackableView` of it, that stands for the first one.

        Returns:
            The objects by number, those alone that both have.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> v = tf.Variable(1.0)
        >>> path = tf.train.Checkpoint(v=v).write(os.path.join(tempfile.mkdtemp(), "values"))
        >>> tf.train.CheckpointView(path).match(tf.train.Checkpoint(v=v))[1] is v
        True
        """
        root = obj.root if isinstance(obj, TrackableView) else obj
        matched, due = {0: root}, [(0, root)]
        while due:
            number, value = due.pop(0)
            owned = TrackableView.children(value)
            for name, child in self.children(number).items():
                if name in owned and child not in matched:
                    matched[child] = owned[name]
                    due.append((child, owned[name]))
        return matched

    def diff(self, obj: object) -> tuple[list[int], list[Any], dict[int, Any]]:
        """Tell what a checkpoint and an object of a program have, and have not, in common.

        Args:
            obj: the object, or a `TrackableView` of it, that stands for the first one.

        Returns:
            The numbers of objects that the checkpoint alone has, the objects that the program alone has, and
            what `match` gives.

        >>> import os, tempfile
        >>> import penstock as tf
        >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(os.path.join(tempfile.mkdtemp(), "values"))
        >>> alone, others, matched = tf.train.CheckpointView(path).diff(tf.train.Checkpoint())
        >>> alone, others, list(matched)
        ([1], [], [0])
        """
        view = obj if isinstance(obj, TrackableView) else TrackableView(obj)
        matched = self.match(view)
        known = {id(value) for value in matched.values()}
        alone = [number for number in self.descendants() if number not in matched]
        return alone, [value for value in view.descendants() if id(value) not in known], matched
