"""Scopes of names with the parameters of TensorFlow 1, and containers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from penstock._runtime import scope as _scope, v1_graph_state
from penstock.compat.v1._variables import VariableScope, variable_scope

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["container", "device", "name_scope", "op_scope", "variable_op_scope"]


class name_scope(_scope.name_scope):
    """Within it, operations and other scopes have names below this one.

    Args:
        name: a name; one that ends in `/` stands for itself, and an empty one for no scope at all. Where it
            is None, `default_name` is taken, and without this no scope either.
        default_name: the name where `name` is None.
        values: accepted and ignored: tensors that operations within it take.

    Raises:
        TypeError: where a name is no string.
        ValueError: where there are `values` and no name.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     with tf.compat.v1.name_scope(None, "sum", [1.0]) as scope:
    ...         scope
    'sum/'
    """

    def __init__(
        self,
        name: str | None,
        default_name: str | None = None,
        values: Iterable[TensorLike] | None = None,
    ) -> None:
        for given in (name, default_name):
            if not isinstance(given, str | None):
                raise TypeError(f"argument 'name' must be a string, got {given!r}")
        found = default_name if name is None else name
        if found is None and values is not None:
            raise ValueError("at least one of the arguments 'name' and 'default_name' must be given")
        super().__init__(found or "")


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Place operations within it on a device, as `tf.device` does.

    Args:
        device_name_or_function: the name of a device, a `tf.DeviceSpec`, or None; in a graph also a function
            of operations, which leaves their places open.

    Returns:
        A context manager.

    Raises:
        RuntimeError: for a function outside of graphs.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.device(lambda op: "/CPU:0"):
    ...     x = tf.constant(1)
    """
    graph = v1_graph_state.current()
    if graph is not None and callable(device_name_or_function):
        made: AbstractContextManager[None] = graph.device(device_name_or_function)
        return made
    return _scope.device(device_name_or_function)


@contextmanager
def op_scope(
    values: Iterable[TensorLike], name: str | None, default_name: str | None = None
) -> Iterator[str]:
    """Open a `name_scope`, with the parameters in another order.

    Args:
        values: accepted and ignored.
        name: the name.
        default_name: the name where `name` is None.

    Returns:
        A context manager, which gives the scope.

    >>> import penstock as tf
    >>> with tf.compat.v1.op_scope([1.0], None, "sum") as scope:
    ...     scope
    'sum/'
    """
    with name_scope(name, default_name, values) as scope:
        yield scope


@contextmanager
def variable_op_scope(
    values: Iterable[TensorLike],
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """Open a `variable_scope`, with the parameters in another order.

    Args:
        values: accepted and ignored.
        name_or_scope: a name, or a scope that was open before.
        default_name: the name where `name_or_scope` is None.
        initializer: as for `variable_scope`.
        regularizer: as for `variable_scope`.
        caching_device: as for `variable_scope`.
        partitioner: as for `variable_scope`.
        custom_getter: as for `variable_scope`.
        reuse: as for `variable_scope`.
        dtype: as for `variable_scope`.
        use_resource: as for `variable_scope`.
        constraint: as for `variable_scope`.

    Returns:
        A context manager, which gives the scope.

    >>> import penstock as tf
    >>> with tf.compat.v1.variable_op_scope([1.0], "layer") as scope:
    ...     scope.name
    'layer'
    """
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    ) as scope:
        yield scope


def container(container_name: str) -> AbstractContextManager[None]:
    """Do nothing: variables belong to their program and its sessions.

    Args:
        container_name: accepted and ignored.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.compat.v1.container("jobs"):
    ...     v = tf.Variable(1.0)
    """
    return contextlib.nullcontext()
