"""Sessions: they run the parts of a graph that are fetched."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock.compat.v1._graph import Graph, Operation, get_default_graph

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["InteractiveSession", "Session", "get_default_session"]


class _Stack(threading.local):
    """The sessions that the thread is inside of, innermost last."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []


_stack = _Stack()


def get_default_session() -> Session | None:
    """Find the session that the thread is inside of.

    Returns:
        The session, or None.

    >>> import penstock as tf
    >>> with tf.compat.v1.Session(graph=tf.Graph()) as session:
    ...     tf.compat.v1.get_default_session() is session
    True
    """
    return _stack.sessions[-1] if _stack.sessions else None


def session_for(session: Session | None) -> Session:
    """The session given, or the default one."""
    found = session or get_default_session()
    if found is None:
        raise ValueError(
            "no default session is open: use `with sess.as_default()` or pass argument 'session'"
        )
    return found


class Session:
    """Runs parts of a graph.

    A session has its own values of the variables that were made in the graph, from the run of an initialiser
    on until it is closed. Variables that were made outside of graphs are the same in all sessions.

    Args:
        target: accepted and ignored.
        graph: the graph; by default the default graph.
        config: accepted and ignored.

    >>> import penstock as tf
    >>> with tf.compat.v1.Graph().as_default() as graph:
    ...     x = tf.compat.v1.placeholder('float32', [])
    ...     y = 2.0 * x
    >>> with Session(graph=graph) as session:
    ...     float(session.run(y, {x: 3.0}))
    6.0
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph: Graph = graph or get_default_graph()
        self._closed = False
        self._values = _core._SessionValues()

    def __enter__(self) -> Session:
        self._graph_context = self.graph.entered()
        self._graph_context.__enter__()
        _stack.sessions.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _stack.sessions.remove(self)
        self._graph_context.__exit__(*exc)
        self.close()

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Make the session the default one within it.

        Returns:
            A context manager, which gives the session.

        >>> import penstock as tf
        >>> session = tf.compat.v1.Session(graph=tf.Graph())
        >>> with session.as_default():
        ...     tf.compat.v1.get_default_session() is session
        True
        """
        _stack.sessions.append(self)
        try:
            yield self
        finally:
            _stack.sessions.remove(self)

    def close(self) -> None:
        """End the session: it runs nothing any more, and its values of variables are gone.

        >>> import penstock as tf
        >>> tf.compat.v1.Session(graph=tf.Graph()).close()
        """
        self._closed = True
        self._values = _core._SessionValues()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, TensorLike] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run what `fetches` need, and nothing else, in the order of the program.

        Args:
            fetches: a tensor, variable, operation or name of a tensor, or a nest of them.
            feed_dict: values for tensors of the graph, which are not computed then.
            options: ignored.
            run_metadata: ignored.

        Returns:
            `fetches` with a NumPy value for each tensor and variable, and None for each operation.

        Raises:
            InvalidArgumentError: where a placeholder is needed and not fed.
            RuntimeError: after `close`.
            TypeError: for something that cannot be fetched or fed.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     x = tf.compat.v1.placeholder(tf.float32, [])
        ...     found = tf.compat.v1.Session().run({"y": x * 2.0, "z": x + 1.0}, feed_dict={x: 3.0})
        >>> float(found["y"]), float(found["z"])
        (6.0, 4.0)
        """
        if self._closed:
            raise RuntimeError("attempted to use a closed Session")
        flat = [self._element(fetch) for fetch in nest.flatten(fetches)]
        tensors = [f for f in flat if isinstance(f, _core.Tensor)]
        forced = [n for f in flat if isinstance(f, Operation) for n in f._instructions]
        feeds, values = self._feeds(feed_dict)
        for variable, begin in self.graph.begun_by_sessions:
            if not self._values.has(variable):
                self._part([], [], list(begin._instructions))([], self._values)
        part = self._part(tensors, feeds, forced)
        found = iter(part(values, self._values))
        out = []
        for fetch in flat:
            if isinstance(fetch, _core.Tensor):
                out.append(next(found).numpy())
            elif isinstance(fetch, Operation):
                out.append(None)
            else:
                out.append(self._values.read(fetch).numpy())
        return nest.pack_sequence_as(fetches, out) if nest.is_nested(fetches) else out[0]

    def load(self, variable: _core._Variable, value: TensorLike) -> None:
        """Make `value` the value of a variable in this session.

        Args:
            variable: the variable.
            value: a tensor of its dtype and shape.
        """
        with _core._Outside():
            self._values.write(variable, _core._to_tensor(value, variable.dtype))

    def _element(self, fetch: Any) -> Any:
        if isinstance(fetch, str):
            return self.graph.get_tensor_by_name(fetch)
        if isinstance(fetch, _core._Variable | Operation):
            return fetch
        if isinstance(fetch, _core.Tensor) and fetch._is_symbolic:
            return fetch
        raise TypeError(
            f"argument 'fetches' has {fetch!r}, which is no tensor, variable or operation of a graph"
        )

    def _feeds(self, feed_dict: Any) -> tuple[list[_core.Tensor], list[_core.Tensor]]:
        feeds, values = [], []
        for key, value in (feed_dict or {}).items():
            tensor = key.deref() if isinstance(key, _core.Reference) else key
            tensor = self.graph.get_tensor_by_name(key) if isinstance(key, str) else tensor
            if not isinstance(tensor, _core.Tensor):
                raise TypeError(f"argument 'feed_dict' has the key {key!r}, which is no tensor of a graph")
            with _core._Outside():
                given = _core._to_tensor(value, tensor.dtype)
            if not given.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"argument 'feed_dict': cannot feed a value of shape {given.shape} for tensor of shape "
                    f"{tensor.shape}"
                )
            feeds.append(tensor)
            values.append(given)
        return feeds, values

    def _part(self, fetches: list[Any], feeds: list[Any], forced: list[int]) -> Any:
        graph = self.graph
        # Order between instructions may be added as long as the graph is: it is part of the key.
        key = (tuple(t._id for t in fetches), tuple(t._id for t in feeds), tuple(forced), len(graph.after))
        part = graph.parts.get(key)
        if part is None:
            part = graph.parts[key] = graph.engine.part(fetches, feeds, forced, graph.after)
        return part


class InteractiveSession(Session):
    """A session that is the default one from when it is made until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        _stack.sessions.append(self)

    def close(self) -> None:
        """End the session, which is the default one no more.

        >>> import penstock as tf
        >>> tf.compat.v1.InteractiveSession(graph=tf.Graph()).close()
        """
        if self in _stack.sessions:
            _stack.sessions.remove(self)
        super().close()
