"""Which strategy is in force, and whether a program is within a replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from penstock import _core
from penstock._runtime import replicas

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, Nested, TensorLike
    from penstock.distribute._strategy import ReduceOp, Strategy

__all__ = [
    "ReplicaContext",
    "ValueContext",
    "entered",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "within",
]

_R = TypeVar("_R")


class _Default:
    """The strategies that no scope names."""

    strategy: Strategy | None = None  # that of `experimental_set_strategy`
    plain: Strategy | None = None


# The open contexts: a strategy, and the replica that the program is within; None for between replicas.
_open: ContextVar[tuple[tuple[Any, int | None], ...]] = ContextVar("penstock_strategies", default=())


@contextmanager
def entered(strategy: Strategy, replica: int | None) -> Iterator[None]:
    """A context of a strategy: within a replica, or, with None, between all of them."""
    token = _open.set((*_open.get(), (strategy, replica)))
    # Optimizers, which know no strategies, take their steps by it.
    step = replicas.take_step.set(None if replica is None else strategy._step)
    try:
        yield
    finally:
        replicas.take_step.reset(step)
        _open.reset(token)


def within() -> tuple[Strategy, int] | None:
    """The strategy and the number of the replica that the program is within, where one was entered."""
    if not _open.get():
        return None
    strategy, replica = _open.get()[-1]
    return None if replica is None else (strategy, replica)


def _plain() -> Strategy:
    if _Default.plain is None:
        from penstock.distribute._strategy import Strategy, StrategyExtended  # which asks for contexts

        strategy = Strategy.__new__(Strategy)
        Strategy.__init__(strategy, StrategyExtended(strategy))
        _Default.plain = strategy
    return _Default.plain


def get_strategy() -> Strategy:
    """Find the strategy in force.

    Returns:
        That of the innermost scope; else that of `experimental_set_strategy`; else the default one.

    >>> import penstock as tf
    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    return _open.get()[-1][0] if _open.get() else _Default.strategy or _plain()


def has_strategy() -> bool:
    """Tell whether another strategy than the default one is in force.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.distribute.has_strategy()
    False
    """
    return get_strategy() is not _plain()


def in_cross_replica_context() -> bool:
    """Tell whether the program is between replicas: within `Strategy.scope`, and not within `Strategy.run`.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> with tf.distribute.OneDeviceStrategy("/CPU:0").scope():
    ...     tf.distribute.in_cross_replica_context()
    True
    """
    if _open.get():
        return _open.get()[-1][1] is None
    return _Default.strategy is not None


def get_replica_context() -> ReplicaContext | None:
    """Find the replica that the program is within.

    Returns:
        Its context; None between replicas.

    >>> import penstock as tf
    >>> tf.distribute.get_replica_context().replica_id_in_sync_group
    0
    """
    if in_cross_replica_context():
        return None
    strategy = get_strategy()
    inside = within()
    return ReplicaContext(strategy, strategy._rank() if inside is None else inside[1])


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Let a strategy be in force outside of all scopes.

    Args:
        strategy: the strategy; None for the default one.

    Raises:
        RuntimeError: within a scope.

    >>> import penstock as tf
    >>> tf.distribute.experimental_set_strategy(None)
    """
    if _open.get():
        raise RuntimeError("a strategy cannot be set within the scope of another one")
    _Default.strategy = strategy


class ReplicaContext:
    """What a replica knows of itself, and how it talks to the others.

    Args:
        strategy: its strategy.
        replica_id_in_sync_group: its number.

    >>> import penstock as tf
    >>> context = tf.distribute.get_replica_context()
    >>> float(context.all_reduce(tf.distribute.ReduceOp.SUM, 3.0))
    3.0
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: int) -> None:
        self._strategy = strategy
        self._id = replica_id_in_sync_group

    @property
    def strategy(self) -> Strategy:
        """Its strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """Its number."""
        return self._id

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that it runs on."""
        return self._strategy._devices_of(self._id)

    def all_reduce(self, reduce_op: ReduceOp | str, value: Nested[TensorLike], options: object = None) -> Any:
        """Combine the values of all replicas, for all of them.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or their names.
            value: a nest of tensors.
            options: `CommunicationOptions`, of which `bytes_per_pack` is used.

        Returns:
            The nest: with one replica, its own values.

        Raises:
            ValueError: for another `reduce_op`.

        >>> import penstock as tf
        >>> float(tf.distribute.get_replica_context().all_reduce("MEAN", 2.0))
        2.0
        """
        return self._strategy._combined(_reduction(reduce_op), value, options)

    def all_gather(self, value: Nested[TensorLike], axis: IntLike, options: object = None) -> Any:
        """Put the values of all replicas one behind the other, for all of them.

        Args:
            value: a nest of tensors.
            axis: the dimension along which they are joined.
            options: accepted and ignored.

        Returns:
            The nest: with one replica, its own values.

        >>> import penstock as tf
        >>> tf.distribute.get_replica_context().all_gather([1, 2], axis=0)[0].numpy()
        np.int32(1)
        """
        return self._strategy._gathered(value, axis)

    def merge_call(
        self, merge_fn: Callable[..., _R], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> _R:
        """Call a function between replicas, with the values of all of them.

        Args:
            merge_fn: called with the strategy and the arguments.
            args: its further arguments.
            kwargs: its keyword arguments.

        Returns:
            What it returns.

        Raises:
            RuntimeError: between replicas.

        >>> import penstock as tf
        >>> tf.distribute.get_replica_context().merge_call(lambda strategy, x: x + 1, args=(1,))
        2
        """
        if in_cross_replica_context():
            raise RuntimeError("merge_call is for a function within a replica")
        return self._strategy._merged(merge_fn, args, kwargs or {})  # type: ignore[no-any-return]

    def __enter__(self) -> None:
        self._within = entered(self._strategy, self._id)
        self._within.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._within.__exit__(*error)


class ValueContext(NamedTuple):
    """For which replica a function makes a value.

    Attributes:
        replica_id_in_sync_group: its number.
        num_replicas_in_sync: how many replicas there are.

    >>> import penstock as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> strategy.experimental_distribute_values_from_function(lambda context: context.num_replicas_in_sync)
    1
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1


def _reduction(reduce_op: Any) -> str:
    """The name of a reduction.

    Raises:
        ValueError: for another one.
    """
    name = getattr(reduce_op, "name", reduce_op)
    if not isinstance(name, str) or name.upper() not in ("SUM", "MEAN"):
        raise ValueError(f"argument 'reduce_op' must be ReduceOp.SUM or ReduceOp.MEAN, got {reduce_op!r}")
    return name.upper()


def _tensor(value: Any) -> Any:
    return value if hasattr(value, "dtype") else _core._to_tensor(value)
