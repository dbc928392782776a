"""Strategies: one replica in each process, alone or together with other processes."""

from __future__ import annotations

import enum
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import _core, config, nest
from penstock._control.flow import converted
from penstock._ops.arrangement import transpose
from penstock._ops.casts import cast
from penstock._ops.reductions import reduce_mean, reduce_sum
from penstock._ops.shapes import shape
from penstock._runtime.arguments import integer
from penstock._runtime.scope import device
from penstock._values.variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    variable_creator_scope,
)
from penstock.distribute import _context
from penstock.distribute._gradients import broadcast_variables
from penstock.distribute._input import InputContext, share
from penstock.distribute._variables import SyncOnReadVariable, combine_assigned, made_with

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, Nested, TensorLike
    from penstock.data import Dataset
    from penstock.distribute._group import ProcessGroup
    from penstock.distribute._input import InputOptions, RunOptions
    from penstock.distribute.cluster_resolver import ClusterResolver

__all__ = ["OneDeviceStrategy", "ReduceOp", "Strategy", "StrategyExtended", "check_device"]

_R = TypeVar("_R")


class ReduceOp(enum.Enum):
    """How values of replicas are combined."""

    SUM = "SUM"
    MEAN = "MEAN"


class StrategyExtended:
    """What a strategy offers to those who write training loops and optimizers.

    Args:
        container_strategy: the strategy.

    >>> import penstock as tf
    >>> tf.distribute.get_strategy().extended.worker_devices
    ('/device:CPU:0',)
    """

    def __init__(self, container_strategy: Strategy) -> None:
        self._strategy = container_strategy
        self._made: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that replicas run on."""
        return self._strategy._devices()

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that variables are on."""
        return self.worker_devices

    def variable_created_in_scope(self, v: Variable) -> bool:
        """Tell whether a variable was made in the scope of the strategy.

        Args:
            v: a variable.

        Returns:
            Whether it is so; always for the default strategy.

        >>> import penstock as tf
        >>> strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
        >>> strategy.extended.variable_created_in_scope(tf.Variable(1))
        False
        """
        return self._strategy is _context._plain() or self._made.get(id(v)) is v

    def value_container(self, value: object) -> Any:
        """Find what holds the value of a replica: with one replica, the value itself.

        Args:
            value: a value of a replica.

        Returns:
            The value.

        >>> import penstock as tf
        >>> tf.distribute.get_strategy().extended.value_container(3)
        3
        """
        return value

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Variable) -> Iterator[None]:
        """Make a context in which variables are made where another one is: there is one place.

        Args:
            colocate_with_variable: a variable.

        Returns:
            A context.

        >>> import penstock as tf
        >>> with tf.distribute.get_strategy().extended.colocate_vars_with(tf.Variable(1)):
        ...     pass
        """
        yield

    def reduce_to(
        self, reduce_op: ReduceOp | str, value: TensorLike, destinations: object, options: object = None
    ) -> Any:
        """Combine the values of all replicas.

        Args:
            reduce_op: how.
            value: the values.
            destinations: accepted; there is one place.
            options: accepted and ignored.

        Returns:
            With one replica, its value.

        Raises:
            ValueError: for another `reduce_op`.

        >>> import penstock as tf
        >>> float(tf.distribute.get_strategy().extended.reduce_to("SUM", tf.constant(2.0), None))
        2.0
        """
        return self._strategy._combined(_context._reduction(reduce_op), value, options)

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[TensorLike, object]],
        options: object = None,
    ) -> list[Any]:
        """Combine several values of all replicas.

        Args:
            reduce_op: how.
            value_destination_pairs: the values, each with its place.
            options: accepted and ignored.

        Returns:
            With one replica, its values.

        Raises:
            ValueError: for another `reduce_op`.

        >>> import penstock as tf
        >>> [int(x) for x in tf.distribute.get_strategy().extended.batch_reduce_to("SUM", [(1, None)])]
        [1]
        """
        values = [value for value, _ in value_destination_pairs]
        return list(self._strategy._combined(_context._reduction(reduce_op), values, options))

    def update(
        self,
        var: Variable,
        fn: Callable[..., _R],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        group: bool = True,
    ) -> _R:
        """Call a function that changes a variable, on every device that has a copy.

        Args:
            var: the variable.
            fn: called with the variable and the arguments.
            args: its further arguments.
            kwargs: its keyword arguments.
            group: accepted; there is one result.

        Returns:
            What it returns.

        >>> import penstock as tf
        >>> v = tf.Variable(1)
        >>> tf.distribute.get_strategy().extended.update(v, lambda v, x: v.assign_add(x), args=(2,)).numpy()
        np.int32(3)
        """
        return fn(var, *args, **(kwargs or {}))


class Strategy:
    """The base of strategies, and the class of the default one: one replica, on the devices there are.

    Args:
        extended: what it offers to those who write training loops.

    >>> import penstock as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> float(strategy.run(lambda x: x * 2, args=(tf.constant(3.0),)))
    6.0
    """

    # The processes that have a replica each, where there are others.
    _group: ProcessGroup | None = None

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    def _begin_together(self) -> bool:
        """Whether all processes make their variables at the same time."""
        return True

    def _rank(self) -> int:
        return 0 if self._group is None else self._group.rank

    def _combined(self, name: str, value: Any, options: Any = None) -> Any:
        """A nest combined over the replicas."""
        if self._group is None:
            return nest.map_structure(_context._tensor, value)
        return self._group.all_reduce(
            value, name.lower(), bytes_per_pack=int(getattr(options, "bytes_per_pack", 0))
        )

    @property
    def _step(self) -> Callable[[list[Any], Callable[[list[Any]], Any]], Any] | None:
        """What an optimizer takes a step by, where there are several replicas: it adds gradients up."""
        if self._group is None:
            return None
        return lambda gradients, take: take(list(self._combined("SUM", gradients)))

    def _merged(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Within a replica: what a function gives that is called between the replicas."""
        with _context.entered(self, None):
            return function(self, *args, **kwargs)

    def _assigned(self, variable: Variable, assign: Callable[[Any], Any], value: Any) -> Any:
        """Assigns to a variable what the replicas assign to it, combined as its aggregation says."""
        if self._group is not None and _context.within() is not None:
            value = _core._to_tensor_hinted(value, variable.dtype)
            if variable.aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
                value = self._group.broadcast(value)
            else:
                value = self._combined(variable.aggregation.name, value)
        return assign(value)

    def _of_first(self, values: Sequence[Variable]) -> Any:
        """The value of the first replica, of the variables that the replicas of this process have."""
        value = values[0].value()
        return value if self._group is None else self._group.broadcast(value)

    def _of_all(self, name: str, values: Sequence[Variable]) -> Any:
        """What the variables that the replicas of this process have combine to, over all processes."""
        return self._combined(name, values[0].value())

    def _variable(self, create: Callable[..., Variable], kwargs: dict[str, Any]) -> Any:
        """A variable that is made in the scope, as the replicas use it."""
        if self._group is None:
            return create(**kwargs)
        begin = functools.partial(broadcast_variables, group=self._group) if self._begin_together() else None
        if kwargs["synchronization"] == VariableSynchronization.ON_READ:
            return SyncOnReadVariable(self, [made_with(create, kwargs, begin)], kwargs["aggregation"])
        variable = made_with(create, kwargs, begin)
        if variable.aggregation != VariableAggregation.NONE:
            combine_assigned(variable, self)
        return variable

    def _gathered(self, value: Any, axis: IntLike) -> Any:
        """A nest whose tensors are joined over the replicas."""
        if self._group is None:
            return nest.map_structure(_context._tensor, value)
        group, along = self._group, integer(axis, "axis")

        def joined(x: Any) -> Any:
            x = _context._tensor(x)
            rank = x.shape.rank
            if rank is None:
                raise ValueError("argument 'value' must have a known number of dimensions")
            if not -rank <= along < rank:
                raise ValueError(
                    f"argument 'axis' is out of range for a tensor of {rank} dimension(s): {along}"
                )
            at = along % rank
            if at == 0:
                return group.all_gather(x)
            turned = [at, *range(at), *range(at + 1, rank)]
            back = [*range(1, at + 1), 0, *range(at + 1, rank)]
            return transpose(group.all_gather(transpose(x, turned)), back)

        return nest.map_structure(joined, value)

    @property
    def extended(self) -> StrategyExtended:
        """What it offers to those who write training loops and optimizers."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return 1 if self._group is None else self._group.size

    @property
    def cluster_resolver(self) -> ClusterResolver | None:
        """What knows the addresses of the processes; None where there are no others."""
        return None

    def _devices(self) -> tuple[str, ...]:
        return (config.list_logical_devices("CPU")[0].name,)

    def _devices_of(self, replica: int) -> tuple[str, ...]:
        """Those that a replica runs on."""
        return self._devices()

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Make a context in which the strategy is in force, and variables are made for it.

        Returns:
            A context that gives the strategy.

        Raises:
            RuntimeError: within the scope of another strategy.

        >>> import penstock as tf
        >>> strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
        >>> with strategy.scope():
        ...     tf.distribute.get_strategy() is strategy
        True
        """
        current = _context.get_strategy()
        if current is not self and current is not _context._plain():
            raise RuntimeError("the scope of a strategy is entered within that of another one")

        def made(create: Callable[..., Variable], **kwargs: Any) -> Any:
            variable = self._variable(create, kwargs)
            self._extended._made[id(variable)] = variable
            return variable

        default = self is _context._plain()
        replica = self._rank() if default else None
        with _context.entered(self, replica), device(self._devices()[0]):
            if default:
                yield self
                return
            with variable_creator_scope(made):
                yield self

    def run(
        self,
        fn: Callable[..., _R],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> _R:
        """Call a function in every replica, each with its part of the arguments.

        Args:
            fn: a function, often a step of a training loop.
            args: its arguments.
            kwargs: its keyword arguments.
            options: accepted and ignored.

        Returns:
            What it returns.

        Raises:
            TypeError: for arguments that are no tuple or list.

        >>> import penstock as tf
        >>> float(tf.distribute.get_strategy().run(tf.square, args=(3.0,)))
        9.0
        """
        if not isinstance(args, tuple | list):
            raise TypeError(f"argument 'args' must be a tuple, got {args!r}")
        with _context.entered(self, self._rank()), device(self._devices()[0]):
            return converted(fn)(*args, **(kwargs or {}))  # type: ignore[no-any-return]

    def reduce(self, reduce_op: ReduceOp | str, value: Nested[TensorLike], axis: IntLike | None) -> Any:
        """Combine the values of all replicas, and their elements along a dimension.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or their names.
            value: a nest of tensors.
            axis: the dimension; None to combine replicas alone.

        Returns:
            The nest.

        Raises:
            ValueError: for another `reduce_op`.

        >>> import penstock as tf
        >>> float(tf.distribute.get_strategy().reduce("MEAN", [1.0, 3.0], axis=None)[1])
        3.0
        """
        name = _context._reduction(reduce_op)
        if axis is None:
            return self._combined(name, value)
        along = integer(axis, "axis")
        if self._group is None:
            one = reduce_sum if name == "SUM" else reduce_mean
            return nest.map_structure(lambda x: one(x, along), value)

        # Replicas may have different numbers of elements: a mean is that of all of them.
        def whole(x: Any) -> Any:
            x = _context._tensor(x)
            total = self._combined("SUM", reduce_sum(x, along))
            if name == "SUM":
                return total
            return total / cast(self._combined("SUM", shape(x)[along]), total.dtype)

        return nest.map_structure(whole, value)

    def gather(self, value: Nested[TensorLike], axis: IntLike) -> Any:
        """Put the values of all replicas one behind the other.

        Args:
            value: a nest of tensors.
            axis: the dimension along which they are joined.

        Returns:
            The nest.

        >>> import penstock as tf
        >>> tf.distribute.get_strategy().gather(tf.constant([1, 2]), axis=0).numpy().tolist()
        [1, 2]
        """
        return self._gathered(value, axis)

    def experimental_local_results(self, value: object) -> tuple[Any, ...]:
        """List the values of the replicas of this process.

        Args:
            value: what `run` returned.

        Returns:
            A tuple: with one replica, of its value.

        >>> import penstock as tf
        >>> tf.distribute.get_strategy().experimental_local_results(3)
        (3,)
        """
        return (value,)

    def unwrap(self, value: object) -> tuple[Any, ...]:
        """List the values of the replicas of this process, as `experimental_local_results`, its newer name.

        Args:
            value: what `run` returned.

        Returns:
            A tuple with a value for each replica.

        >>> import penstock as tf
        >>> tf.distribute.get_strategy().unwrap(3)
        (3,)
        """
        return self.experimental_local_results(value)

    def experimental_distribute_dataset(
        self, dataset: Dataset[Any], options: InputOptions | None = None
    ) -> Dataset[Any]:
        """Divide the batches of a data set among the replicas.

        Each process reads all, and takes its part of each batch. So a training with several replicas is that
        with one and the same batches. A data set whose options have
        `experimental_distribute.auto_shard_policy` as `AutoShardPolicy.OFF` is left as it is. By `FILE` each
        process reads some of the files alone, of which all should give as many batches; for `HINT`, which is
        an error, use `distribute_datasets_from_function`.

        Args:
            dataset: a data set of batches.
            options: accepted; nothing depends on it.

        Returns:
            With one replica, the data set.

        Raises:
            ValueError: for another policy, and for elements that are no batches.

        >>> import penstock as tf
        >>> batches = tf.data.Dataset.range(4).batch(2)
        >>> [x.shape for x in tf.distribute.get_strategy().experimental_distribute_dataset(batches)]
        [TensorShape([2]), TensorShape([2])]
        """
        return dataset if self._group is None else share(dataset, self._group)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Dataset[Any]], options: InputOptions | None = None
    ) -> Dataset[Any]:
        """Make the data set of each worker by a function.

        Args:
            dataset_fn: called with an `InputContext`; returns a data set of batches for one replica.
            options: accepted; with one replica nothing depends on it.

        Returns:
            A data set.

        >>> import penstock as tf
        >>> def make(context):
        ...     return tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))
        >>> len(tf.distribute.get_strategy().distribute_datasets_from_function(make))
        2
        """
        replicas = self.num_replicas_in_sync
        return dataset_fn(InputContext(replicas, self._rank(), replicas))

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], _R]) -> _R:
        """Make the value of each replica by a function.

        Args:
            value_fn: called with a context that has `replica_id_in_sync_group` and `num_replicas_in_sync`.

        Returns:
            With one replica, its value.

        >>> import penstock as tf
        >>> strategy = tf.distribute.get_strategy()
        >>> strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group)
        0
        """
        return value_fn(_context.ValueContext(self._rank(), self.num_replicas_in_sync))


class OneDeviceStrategy(Strategy):
    """A strategy of one replica on one device.

    Args:
        device: the device, such as `"/GPU:0"`.

    Raises:
        ValueError: for something that names no device.

    >>> import penstock as tf
    >>> tf.distribute.OneDeviceStrategy("/CPU:0").extended.worker_devices
    ('/CPU:0',)
    """

    def __init__(self, device: str) -> None:
        check_device(device)
        self._device = device
        super().__init__(StrategyExtended(self))

    def _devices(self) -> tuple[str, ...]:
        return (self._device,)


def check_device(name: str) -> None:
    """Raises ValueError for something that names no device."""
    device(name)
