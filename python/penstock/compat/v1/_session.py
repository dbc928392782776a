"""Sessions: they run the parts of a graph that are fetched."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, nest
from penstock._types.argument_names import shown
from penstock.compat.v1._graph import Graph, Operation, get_default_graph
from penstock.compat.v1._session_handles import TensorHandle
from penstock.compat.v1._session_values import parts_of, value_of
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._runtime.graph import GraphDef
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


class DeviceAttributes(NamedTuple):
    """A device of a session.

    Attributes:
        name: such as `/job:localhost/replica:0/task:0/device:CPU:0`.
        device_type: `CPU` or `GPU`.
        memory_limit_bytes: 0: memory is not limited.
        incarnation: 0.
    """

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 0


_handles = itertools.count(1)


class _Steps:
    """A run in several steps: what is left to fetch, and the values that are known."""

    def __init__(self, left: list[Any]) -> None:
        self.left = left
        self.known: dict[Any, Any] = {}


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
        if not isinstance(target, str | bytes):
            raise TypeError(f"argument 'target' must be a string, got {shown(target)}")
        if not isinstance(graph, Graph | None):
            raise TypeError(f"argument 'graph' must be a tf.Graph, got {shown(graph)}")
        self.graph: Graph = get_default_graph() if graph is None else graph
        self._closed = False
        self._values = _core._SessionValues()
        self._steps: dict[str, _Steps] = {}

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
            fetches: a tensor, variable or operation, the name of a tensor (`x:0`) or of an operation (`x`),
                or a nest of them.
            feed_dict: values for tensors of the graph, which are not computed then. For a sparse tensor it is
                a `SparseTensorValue` or a tuple of the parts, for a ragged one a `RaggedTensorValue`.
            options: ignored.
            run_metadata: ignored.

        Returns:
            `fetches` with a NumPy value for each tensor and variable, a `SparseTensorValue` and the like for
            sparse and ragged tensors, and None for each operation.

        Raises:
            InvalidArgumentError: where a placeholder is needed and not fed.
            RuntimeError: after `close`, and for a graph without operations.
            TypeError: for something that cannot be fetched or fed.
            ValueError: for the name of something that is not in the graph.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     x = tf.compat.v1.placeholder(tf.float32, [])
        ...     found = tf.compat.v1.Session().run({"y": x * 2.0, "z": x + 1.0}, feed_dict={x: 3.0})
        >>> float(found["y"]), float(found["z"])
        (6.0, 4.0)
        """
        if self._closed:
            raise RuntimeError("attempted to use a closed Session")
        if not len(self.graph.engine) and not self.graph.get_operations():
            raise RuntimeError("the graph of the Session is empty: add operations to it before run()")
        whole = [self._element(fetch) for fetch in nest.flatten(fetches)]
        made = [value_of(fetch) for fetch in whole]
        flat = [part for fetch, entry in zip(whole, made, strict=True) for part in (entry or [[fetch]])[0]]
        tensors = [f for f in flat if isinstance(f, _core.Tensor)]
        forced = [n for f in flat if isinstance(f, Operation) for n in f._instructions]
        feeds, values = self._feeds(feed_dict)
        for variable, begin in self.graph.begun_by_sessions:
            if not self._values.has(variable):
                self._part([], [], list(begin._instructions))([], self._values)
        part = self._part(tensors, feeds, forced)
        found = iter(part(values, self._values))
        arrays: list[Any] = []
        for fetch in flat:
            if isinstance(fetch, _core.Tensor):
                arrays.append(self._fetched(fetch, next(found).numpy()))
            elif isinstance(fetch, Operation):
                arrays.append(None)
            else:
                arrays.append(self._values.read(fetch).numpy())
        rest = iter(arrays)
        out = [next(rest) if entry is None else entry[1](*(next(rest) for _ in entry[0])) for entry in made]
        return nest.pack_sequence_as(fetches, out) if nest.is_nested(fetches) else out[0]

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Make a function that runs what `fetches` need.

        Args:
            fetches: as for `run`.
            feed_list: the tensors that the arguments of the function are values for.
            accept_options: accepted; options and metadata, which it takes by keyword, are ignored.

        Returns:
            The function, which gives what `run` does.

        Raises:
            ValueError: from the function, for another number of arguments.

        >>> import penstock as tf
        >>> with tf.Graph().as_default():
        ...     x = tf.compat.v1.placeholder(tf.float32, [])
        ...     double = tf.compat.v1.Session().make_callable(2.0 * x, [x])
        >>> float(double(3.0))
        6.0
        """
        keys = list(feed_list or ())

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(values) != len(keys):
                raise ValueError(f"the function takes {len(keys)} values, got {len(values)}")
            return self.run(fetches, dict(zip(map(_key, keys), values, strict=True)))

        return call

    def partial_run_setup(self, fetches: Any, feeds: Iterable[Any] | None = None) -> str:
        """Begin a run in several steps. A step may feed values computed from the results of earlier steps.

        Args:
            fetches: all that the steps will fetch, as for `run`.
            feeds: all tensors that they will feed.

        Returns:
            A handle, for `partial_run`.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        ...     x, y = tf.compat.v1.placeholder(tf.float32, []), tf.compat.v1.placeholder(tf.float32, [])
        ...     double, whole = x * 2.0, x * 2.0 * y
        ...     handle = sess.partial_run_setup([double, whole], [x, y])
        ...     first = sess.partial_run(handle, double, {x: 3.0})
        ...     float(sess.partial_run(handle, whole, {y: first}))
        36.0
        """
        handle = f"partial_run_{next(_handles)}"
        self._steps[handle] = _Steps([_key(self._element(fetch)) for fetch in nest.flatten(fetches)])
        return handle

    def partial_run(
        self, handle: str, fetches: Any, feed_dict: Mapping[Any, TensorLike] | None = None
    ) -> Any:
        """Do a step of a run. What was fetched in a step before is not computed again.

        Args:
            handle: what `partial_run_setup` gave.
            fetches: as for `run`, of what was said there.
            feed_dict: values for tensors, which the steps that follow have too.

        Returns:
            As `run`.

        Raises:
            InvalidArgumentError: for a handle whose fetches are done, and for fetches that are not left.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        ...     x = tf.compat.v1.placeholder(tf.float32, [])
        ...     double = x * 2.0
        ...     float(sess.partial_run(sess.partial_run_setup([double], [x]), double, {x: 3.0}))
        6.0
        """
        steps = self._steps.get(handle)
        if steps is None:
            raise InvalidArgumentError("must run 'setup' before performing partial runs")
        wanted = [self._element(fetch) for fetch in nest.flatten(fetches)]
        keys = [_key(fetch) for fetch in wanted]
        if unknown := [fetch for fetch, key in zip(wanted, keys, strict=True) if key not in steps.left]:
            raise InvalidArgumentError(f"argument 'fetches' has {unknown[0]!r}, which is not left to fetch")
        steps.known.update((_key(tensor), value) for tensor, value in (feed_dict or {}).items())
        found = self.run(wanted, steps.known)
        for fetch, key, value in zip(wanted, keys, found, strict=True):
            steps.left.remove(key)
            if isinstance(fetch, _core.Tensor):
                steps.known[key] = value
        if not steps.left:
            del self._steps[handle]
        return nest.pack_sequence_as(fetches, found) if nest.is_nested(fetches) else found[0]

    def list_devices(self) -> list[DeviceAttributes]:
        """List the devices that operations run on.

        Returns:
            Their names and types.

        >>> import penstock as tf
        >>> tf.compat.v1.Session(graph=tf.Graph()).list_devices()[0].device_type
        'CPU'
        """
        from penstock.config import list_logical_devices  # start-up does without it

        return [
            DeviceAttributes(f"/job:localhost/replica:0/task:0{device.name}", device.device_type)
            for device in list_logical_devices()
        ]

    @property
    def graph_def(self) -> GraphDef:
        """The operations of the graph, as `Graph.as_graph_def` lists them."""
        return self.graph.as_graph_def()

    def load(self, variable: _core._Variable, value: TensorLike) -> None:
        """Make `value` the value of a variable in this session.

        Args:
            variable: the variable.
            value: a tensor of its dtype and shape.
        """
        with _core._Outside():
            self._values.write(variable, _core._to_tensor(value, variable.dtype))

    def _fetched(self, fetch: _core.Tensor, value: Any) -> Any:
        dtype = self.graph.handles.get(fetch._id)
        return value if dtype is None else TensorHandle(value, dtype, self)

    def _element(self, fetch: Any) -> Any:
        if isinstance(fetch, str):
            named = self.graph.get_tensor_by_name if ":" in fetch else self.graph.get_operation_by_name
            try:
                return named(fetch)
            except KeyError as error:
                raise ValueError(f"argument 'fetches': {error.args[0]}") from None
        if isinstance(fetch, _core._Variable | Operation) or value_of(fetch) is not None:
            return fetch
        if isinstance(fetch, _core.Tensor) and fetch._is_symbolic:
            return fetch
        raise TypeError(
            f"argument 'fetches' has {fetch!r}, which is no tensor, variable or operation of a graph"
        )

    def _feeds(self, feed_dict: Any) -> tuple[list[_core.Tensor], list[_core.Tensor]]:
        feeds, values = [], []
        if not isinstance(feed_dict, Mapping | None):
            raise TypeError(f"argument 'feed_dict' must be a dict, got {shown(feed_dict)}")
        for tensor, value in self._fed((feed_dict or {}).items()):
            with _core._Outside():
                given = _given(value, tensor.dtype)
            if not given.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"argument 'feed_dict': cannot feed a value of shape {given.shape} for tensor of shape "
                    f"{tensor.shape}"
                )
            feeds.append(tensor)
            values.append(given)
        told = {tensor._id for tensor in feeds}
        for tensor, tell in self.graph.told_by_sessions:
            if tensor._id not in told:
                feeds.append(tensor)
                with _core._Outside():
                    values.append(_core._to_tensor(tell(self), tensor.dtype))
        return feeds, values

    def _fed(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[_core.Tensor, Any]]:
        """The tensors that are fed, with the value of each."""
        for key, value in pairs:
            tensor = key.deref() if isinstance(key, _core.Reference) else key
            if isinstance(key, str):
                try:
                    tensor = self.graph.get_tensor_by_name(key)
                except KeyError as error:
                    raise TypeError(f"argument 'feed_dict': {error.args[0]}") from None
            if isinstance(tensor, _core.Tensor):
                yield tensor, value
            elif isinstance(tensor, tuple):
                yield from self._fed(zip(tensor, value, strict=True))
            else:
                yield from parts_of(tensor, value)

    def _part(self, fetches: list[Any], feeds: list[Any], forced: list[int]) -> Any:
        graph = self.graph
        # Order between instructions may be added as long as the graph is: it is part of the key.
        key = (tuple(t._id for t in fetches), tuple(t._id for t in feeds), tuple(forced), len(graph.after))
        part = graph.parts.get(key)
        if part is None:
            part = graph.parts[key] = graph.engine.part(fetches, feeds, forced, graph.after)
        return part


def _given(value: Any, dtype: _core.DType) -> _core.Tensor:
    """The tensor of a value that is fed: what NumPy makes of it in an array of this dtype."""
    if isinstance(value, TensorHandle):
        value = value.handle if dtype == _core.string else value.eval()
    try:
        return _core._to_tensor(value, dtype)
    except (TypeError, ValueError):
        if value is None or dtype == _core.string or isinstance(value, _core.Tensor | _core._Variable):
            raise
        import numpy as np  # start-up does without it

        try:
            return _core._to_tensor(np.asarray(value, dtype.as_numpy_dtype), dtype)
        except OverflowError:
            error = TypeError(
                f"argument 'feed_dict': a value does not fit dtype {dtype.name}: {shown(value)}"
            )
            raise error from None


def _key(tensor: Any) -> Any:
    """What stands for a tensor in a dict of values."""
    return tensor.ref() if isinstance(tensor, _core.Tensor) else tensor


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
