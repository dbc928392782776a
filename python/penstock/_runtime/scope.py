"""Where operations run, and what they are called: devices, name scopes, and questions about tracing."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast

from penstock import _core, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.device_spec import DeviceSpec
from penstock._runtime.dispatch import redirected
from penstock._types.argument_names import shown
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

_scopes: ContextVar[tuple[str, ...]] = ContextVar("penstock_name_scopes", default=())

# The names that nodes of TensorFlow may have. Below a scope any of the characters may come first.
_NAME: Final = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_NAME_IN_SCOPE: Final = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Placement:
    """What is to happen with devices that the machine lacks."""

    soft = True
    hidden: tuple[str, ...] = ()
    # How many devices a device of the machine counts as, where it is not one.
    copies: Mapping[str, int] = {}


def executing_eagerly() -> bool:
    """Tell whether operations run at once: unless a function is being traced.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.executing_eagerly()
    True
    """
    return not _core._is_tracing()


def inside_function() -> bool:
    """Tell whether a function is being traced.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.inside_function()
    False
    """
    return _core._is_tracing()


def is_symbolic_tensor(tensor: object) -> bool:
    """Tell whether a tensor is of a function that is being traced, and so has no value yet.

    Args:
        tensor: anything.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.is_symbolic_tensor(tf.constant(1))
    False
    """
    return isinstance(tensor, _core.Tensor) and tensor._is_symbolic


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """Find the value of a tensor where it is known while tracing.

    Args:
        tensor: a tensor.
        partial: accepted; a value is known as a whole or not at all.

    Returns:
        A NumPy array, for rank 0 a scalar; None where it is not known. What is no tensor is given as it is.
        In a traced function constants are known, and small integers that are computed of them and of known
        extents.

    >>> import penstock as tf
    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if isinstance(tensor, _core._Variable):
        return None
    if not isinstance(tensor, _core.Tensor):
        return tensor
    known = _core._known_value(tensor)
    return None if known is None else known.numpy()


def check_name(name: object) -> None:
    """Raise where nodes of a graph cannot have a name below the open scopes. An empty name stands for none.

    Raises:
        TypeError: for what is no string.
        ValueError: for a string with characters that names cannot have there.
    """
    if not isinstance(name, str):
        raise TypeError(f"argument 'name' must be a string, got {shown(name)}")
    pattern, kind = (_NAME_IN_SCOPE, "scope name") if _scopes.get() else (_NAME, "root scope name")
    if name and not pattern.fullmatch(name):
        raise ValueError(
            f"argument 'name': {name!r} is not a valid {kind}. A {kind} has to match the following pattern: "
            f"{pattern.pattern}"
        )


def named(tensor: _core.Tensor, name: str | None) -> _core.Tensor:
    """A tensor that is made just now, called so in the graph of the function that is traced."""
    if name is not None and _core._is_tracing():
        check_name(name)
        _core._set_name(tensor, name)
    return tensor


def within(name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What a function gives, whose operations have names below `name` in a graph."""
    if not _core._is_tracing():
        return function(*args, **kwargs)
    check_name(name)
    with name_scope(name):
        return function(*args, **kwargs)


_F = TypeVar("_F", bound=Callable[..., Any])


def scoped(function: _F) -> _F:
    """Let the argument `name` of a function of several operations be their scope of names in a graph.

    Where it fails, composite arguments may take the call over, as `dispatched` says.
    """
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    place = positional.index("name") if "name" in positional else sys.maxsize

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        name = args[place] if len(args) > place else kwargs.get("name")
        try:
            if name is None:
                return function(*args, **kwargs)
            return within(name, function, *args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, Exception):
                made = redirected(called, args, kwargs)
                if made is not NotImplemented:
                    return made
            from penstock.autograph._traceback import hide_library  # builds on this, for errors alone

            hide_library(error)
            raise

    return cast("_F", called)


def no_op(name: str | None = None) -> Any:
    """Do nothing; in a graph of TensorFlow 1, run what the open control dependencies name.

    Args:
        name: the name of the operation in a graph.

    Returns:
        The operation in an open graph, otherwise None.

    >>> import penstock as tf
    >>> tf.no_op() is None
    True
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     v = tf.Variable(1.0)
    ...     session.run(v.initializer)
    ...     with tf.control_dependencies([v.assign_add(2.0)]):
    ...         train = tf.no_op("train")
    ...     session.run(train)
    ...     float(session.run(v))
    3.0
    """
    graph = v1_graph_state.current()
    return None if graph is None else graph.composite((), name or "NoOp")


@scoped
def timestamp(name: str | None = None) -> _core.Tensor:
    """Tell the time when the operation runs.

    Args:
        name: a scope for the names of its operations in a graph.

    Returns:
        The seconds since 1970-01-01 00:00 UTC, a `float64` scalar.

    >>> import penstock as tf
    >>> float(tf.timestamp()) > 1e9
    True
    """
    return raw_ops.timestamp()


class name_scope:
    """Within it, variables, nodes of graphs and other scopes have names below this one.

    While a function is traced, a scope that its graph has already gets a number: `a`, `a_1`.

    Args:
        name: a name; one that ends in `/` stands for itself, whatever scope is open and was opened before.

    Raises:
        ValueError: where it is no string; on entry, while a graph is made, where its nodes cannot have such
            names.

    >>> import penstock as tf
    >>> with tf.name_scope("model") as scope:
    ...     scope
    'model/'
    """

    # Whether nodes of graphs can have the name.
    _checked: ClassVar[bool] = True

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(f"argument 'name' must be a string, got {name!r}")
        self._name = name
        self._tokens: list[Any] = []

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    def __enter__(self) -> str:
        if self._checked and _core._is_tracing():
            check_name(self._name)
        outer = _scopes.get()
        if self._name.endswith("/"):
            inner = tuple(self._name.rstrip("/").split("/"))
        else:
            inner = (
                tuple(_core._unique_scope("/".join((*outer, self._name))).split("/")) if self._name else ()
            )
        self._tokens.append(_scopes.set(inner))
        scope = current_name_scope()
        _core._set_scope(scope)
        return scope

    def __exit__(self, *exc: object) -> None:
        _scopes.reset(self._tokens.pop())
        _core._set_scope(current_name_scope())


class imported_scope(name_scope):
    """A scope of a graph that is imported: within functions there are names that no program can give."""

    _checked = False


def current_name_scope() -> str:
    """The names of the open scopes, each followed by `/`."""
    scopes = _scopes.get()
    return "/".join(scopes) + "/" if scopes else ""


def get_current_name_scope() -> str:
    """Tell the open name scopes.

    Returns:
        Their names with slashes between them.

    >>> import penstock as tf
    >>> with tf.name_scope("a"), tf.name_scope("b"):
    ...     tf.get_current_name_scope()
    'a/b'
    """
    return current_name_scope().removesuffix("/")


def visible_devices() -> Sequence[tuple[str, str]]:
    """The devices that may be used: `(kind, name)`."""
    return [d for d in _core._devices() if d[1] not in Placement.hidden]


class device:
    """Runs the operations within on a device, and puts there what they make.

    Outside of it an operation runs on the device of its operands. A device runs elementwise operations and
    groups of them; the others run on the host, and their results go to the device. Tensors of 16 bytes or
    less stay on the host. A function runs as a whole where its call asks for it, or where an argument or a
    variable of it is.

    Args:
        device_name: such as `"/CPU:0"`, `"/device:GPU:0"` or `"GPU:1"`, or a `tf.DeviceSpec`; None for the
            device of the operands. Jobs, replicas and tasks in it are left aside.

    Raises:
        ValueError: for something that names no device, or several.
        RuntimeError: for a function.
        InvalidArgumentError: on entry, for a device that the machine lacks, where
            `tf.config.set_soft_device_placement(False)` lets no other take its place.

    >>> import penstock as tf
    >>> with tf.device('/CPU:0'):
    ...     x = tf.constant([1.0, 2.0])
    >>> x.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    def __init__(self, device_name: str | DeviceSpec | None) -> None:
        self._wanted = None if device_name is None else _parse_device(device_name)
        self._name = device_name
        self._before: list[tuple[str, int] | None] = []

    def __enter__(self) -> None:
        self._before.append(_core._set_device(self._found()))

    def __exit__(self, *exc: object) -> None:
        _core._set_device(self._before.pop())

    def _found(self) -> tuple[str, int] | None:
        """The device of the machine that is asked for; None where any will do."""
        if self._wanted is None:
            return None
        kind, number = self._wanted
        present = [
            int(name.rpartition(":")[2])
            for k, name in visible_devices()
            if k == kind
            for _ in range(Placement.copies.get(name, 1))
        ]
        if number < len(present):
            return kind, present[number]
        if Placement.soft:
            return None
        known = ", ".join(name for _, name in visible_devices())
        raise InvalidArgumentError(
            f"device: argument 'device_name' asks for {self._name!r}; the devices are {known}"
        )


def _parse_device(name: Any) -> tuple[str, int] | None:
    """The kind and number of a device; None where the name leaves both open."""
    if isinstance(name, DeviceSpec):
        name = name.to_string()
    if callable(name):
        raise RuntimeError("argument 'device_name' is a function, which only graphs of TensorFlow 1 take")
    if not isinstance(name, str):
        raise ValueError(f"argument 'device_name' must be a string, a tf.DeviceSpec or None, got {name!r}")
    found: list[tuple[str, int]] = []
    for part in filter(None, name.split("/")):
        key, _, rest = part.partition(":")
        if key.lower() == "job" or (key.lower() in ("replica", "task") and rest.isdecimal()):
            continue
        kinds = r"cpu|gpu|tpu"
        if key.lower() == "device":
            # Other machines may have devices of any kind.
            (key, _, rest), kinds = rest.partition(":"), r"\w+|\*"
        if not re.fullmatch(kinds, key, re.IGNORECASE) or not (rest in ("", "*") or rest.isdecimal()):
            raise ValueError(f"argument 'device_name' names no device: {name!r}")
        if key != "*":
            found.append((key.upper(), int(rest) if rest.isdecimal() else 0))
    if len(found) > 1:
        raise ValueError(f"argument 'device_name' must name one device, got {name!r}")
    return found[0] if found else None
